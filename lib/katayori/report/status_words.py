"""What a status of a result means, in the few words that stand in place of its value."""

WORDS = {
    "position_bound": "answers by position",
    "no_variation": "never varies",
    "same_in_every_cluster": "same in each cluster",
    "few_clusters": "too little data",
    "missing": "no answers",
}


def mark(status: str) -> str:
    """What a status means, in a few words.

    Example:
        >>> mark("few_clusters"), mark("no_valid_answer")
        ('too little data', 'no valid answer')
    """
    return WORDS.get(status, status.replace("_", " "))

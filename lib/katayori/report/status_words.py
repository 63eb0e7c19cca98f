"""What a status of a result means, in the few words that stand in place of its value."""

WORDS = {
    "position_bound": "answers by position",
    "no_variation": "never varies",
    "same_in_every_cluster": "same in each cluster",
    "few_clusters": "too little data",
    "missing": "no answers",
    "constant": "always the same answer",
    "near_constant": "nearly always the same",
    "no_pairable": "no answers to compare",
    "none_tested": "nothing was tested",
    "not_calibrated": "too few templates",
    "lacks_an_order": "an order is missing",
    "tied": "options are level",
    "no_complete_level": "none answered in full",
    # Verdicts that forbid a value.
    "position bound": "answers by position",
    "too few": "too little data",
    "condition did not happen": "condition did not happen",
}
#: What to do about a status, in a whole sentence.
REMEDIES = {
    "not_calibrated": "Calibrating needs more than 20 templates; ask with LIMIT=21 or more.",
}


def mark(status: str) -> str:
    """What a status means, in a few words; one that is not known is shown as it is.

    Example:
        >>> mark("few_clusters"), mark("no_valid_answer")
        ('too little data', 'no valid answer')
    """
    return WORDS.get(status, status.replace("_", " ")) or "no status"

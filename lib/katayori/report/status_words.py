"""What a status of a result means, in the few words that stand in place of its value.

The words stand in data/column_names.yaml.
"""

from katayori.report import column_names


def mark(status: str) -> str:
    """What a status means, in a few words; one that is not known is shown as it is.

    Example:
        >>> mark("few_clusters"), mark("no_valid_answer")
        ('too little data', 'no valid answer')
    """
    return column_names.listed().statuses.get(status, status.replace("_", " ")) or "no status"

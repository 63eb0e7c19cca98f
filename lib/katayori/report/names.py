"""What readers see in place of names: of columns, of statuses, and of terms (the glossary).

The words stand in data/column_names.yaml and data/glossary.yaml.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from katayori.data import files, paper_facts
from katayori.errors import expect

if TYPE_CHECKING:
    import pandas as pd


@lru_cache
def listed() -> dict[str, Any]:
    """The blocks of data/column_names.yaml.

    Names of columns and statuses, pairs of columns that are one in a table, columns in the unit of
    the value, and what to do about a status.
    """
    return files.ours("column_names.yaml")


def human(column: str) -> str:
    """The name of a column for readers; one that is not listed without its underscores.

    Example:
        >>> human("n_invalid"), human("my_own_column")
        ('unreadable', 'my own column')
    """
    return listed()["names"].get(column, column.replace("_", " "))


def mark(status: str) -> str:
    """What a status means, in the few words that stand in place of a value; one that is not known
    is shown as it is.

    Example:
        >>> mark("few_clusters"), mark("no_valid_answer")
        ('too little data', 'no valid answer')
    """
    return listed()["statuses"].get(status, status.replace("_", " ")) or "no status"


def terms() -> "pd.DataFrame":
    """The entries of data/glossary.yaml, as they stand there."""
    import pandas as pd

    return pd.DataFrame(files.ours("glossary.yaml"))


def glossary(paper: str | None = None) -> "pd.DataFrame":
    """The terms of a paper's notebook, or all of them (data/glossary.yaml).

    Columns: term, 日本語, meaning, function. `function` is where the library defines or computes
    it, such as "metrics.agreement: alpha_jackknife". A paper that no term names has the terms of
    all papers. Raises KatayoriError for an unknown paper.
    """
    found = terms().rename(columns={"ja": "日本語", "see": "function"})
    if paper is not None:
        expect(paper, (*paper_facts.ids(), "overview"), "paper of the glossary")
        found = found[[papers == "all" or paper in papers for papers in found["papers"]]]
    found["function"] = found["function"].str.replace(r"\.(\w+)$", r": \1", regex=True)
    return found[["term", "日本語", "meaning", "function"]].reset_index(drop=True)

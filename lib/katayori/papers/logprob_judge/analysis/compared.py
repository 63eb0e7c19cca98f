"""The comparisons: how many, with which labels, and a task of each kind."""

import pandas as pd

from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import items
from katayori.papers.logprob_judge.analysis.asked import Asked


def compared(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Labels by kind of task, and who gave them.

    Args:
        asked: the verdicts of a run. keep: takes tables and results.

    Returns:
        a row a task and a column of labels (the index): counts of 1, 2 and tie, labels,
        comparisons, questions.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> compared(asked_leaning(), Kept())["labels"].tolist()[-1]
        12
    """
    columns = ["item_id", "question_id", "task"]
    labels = asked.comparisons.melt(columns, asked.people, "label_of", "verdict")
    labels = labels.dropna(subset="verdict")
    pooled = labels.assign(task="all")
    counted = pd.concat([labels, pooled]) if asked.tasks else pooled
    cells = counted.groupby(["task", "label_of"])
    counts = (
        counted.groupby(["task", "label_of", "verdict"], sort=False)
        .size()
        .unstack("verdict", fill_value=0)
        .reindex(columns=["1", "2", "tie"], fill_value=0)
    )
    counts = counts.assign(
        labels=counts.sum(axis=1),
        comparisons=cells["item_id"].nunique(),
        questions=cells["question_id"].nunique(),
    )
    keep.table("comparisons", counts)
    common = {"source": "none", "cell": ["task", "label_of"], "status": "count"}
    sizes = counts.reset_index().assign(n=counts["comparisons"].to_numpy())
    sizes = sizes.rename(columns={"questions": "clusters"})
    unit = "comparisons"
    keep.rows(sizes, "LJ-2", unit, value=unit, unit=unit, **common, **asked.of_set)
    _sample_tasks(asked, keep)
    return counts


def _sample_tasks(asked: Asked, keep: Keeper) -> None:
    """How many of the paper's three kinds of sample task are there in the paper's form."""
    samples = items.sample_tasks(asked.comparisons)
    keep.row(
        "LJ-21",
        "kinds of sample task shown",
        int((samples["status"] == "ok").sum()),
        source="none",
        n=len(samples),
        clusters=asked.questions,
        status="count",
        unit="kinds",
        **asked.of_set,
    )

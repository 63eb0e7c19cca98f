"""The second edition of the study items: one module a paper, each with its data sets by name.

The first edition stays beside it until the second one is recorded.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from katayori.errors import expect

if TYPE_CHECKING:
    import pandas as pd

#: Papers whose second edition is written.
PAPERS: tuple[str, ...] = (
    "discrim_eval",
    "persona_jbbq",
    "logprob_judge",
    "jubaku_v2",
    "inter_jbbq",
)


def names(paper: str) -> tuple[str, ...]:
    """The data sets of a paper's second edition; none where it is not written."""
    if paper not in PAPERS:
        return ()
    return tuple(import_module(f"{__name__}.{paper}").DATASETS)


def load(paper: str, dataset: str) -> "pd.DataFrame":
    """The items of one data set: `item_id` and the places of the prompts, a row an item.

    Raises KatayoriError for a data set that the paper does not have.
    """
    expect(dataset, names(paper), f"second-edition data set of {paper}")
    return import_module(f"{__name__}.{paper}").DATASETS[dataset]()

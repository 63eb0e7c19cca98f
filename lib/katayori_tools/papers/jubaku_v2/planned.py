"""The items that were recorded, where they are not those that a study reads today."""

from typing import TYPE_CHECKING

from katayori.papers.jubaku_v2 import PAPER, case_file, load_study_jubaku
from katayori_tools.planned import sample

if TYPE_CHECKING:
    import pandas as pd


def planned(dataset: str, size: int | None) -> "pd.DataFrame":
    """The cases of `study` are those of the second edition: they were recorded first."""
    if dataset == "study":
        return load_study_jubaku(case_file("study2"))
    return sample(PAPER.read(dataset, {})[0], size, whole="case_id")

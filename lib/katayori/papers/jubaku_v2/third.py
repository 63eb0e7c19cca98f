"""Third edition of the cases: reasons written anew, so that a neutral one names the group only
where a speaker would.

Its case file holds all 36 cases; those that are kept have the id and the text of the second
edition, and so its recorded answers.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from katayori import paths
from katayori.papers.jubaku_v2 import second

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


def cases_file() -> Path:
    """Where the cases lie.

    Example:
        >>> cases_file().parent.name
        'jubaku_v2_3'
    """
    return paths.data_dir() / "study/jubaku_v2_3/cases.yaml"


def study3() -> "pd.DataFrame":
    """36 cases by 4 templates and 2 orders, as `second.study2`.

    Example:
        >>> cases = study3().drop_duplicates("case_id")
        >>> len(cases), cases["case_id"].str.endswith("b").sum()
        (36, np.int64(31))
    """
    return second.study2(cases_file())


def study3_lik() -> "pd.DataFrame":
    """One row a case and template, as `second.study2_lik`.

    Example:
        >>> len(study3_lik())
        144
    """
    return second.study2_lik(cases_file())


DATASETS: "dict[str, Callable[[], pd.DataFrame]]" = {
    "study3": study3,
    "study3_lik": study3_lik,
}

"""Third edition of the intersectional items: passages and profiles of the second written anew.

Families, words and design are those of the second edition. A family one of whose texts is new is
new as a whole: its ids begin with `ij3-`. All others keep their ids, texts and recorded answers.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data.files import read_checked
from katayori.papers.inter_jbbq import second
from katayori.papers.inter_jbbq.schema import ThirdTopic

FOLDER = "study/inter_jbbq_3"
OLD, NEW = "ij2-", "ij3-"
#: What a model reads of a row.
TEXTS = ["context", "question"]


def topics() -> list[dict[str, Any]]:
    """The topics of the second edition, as `second.topics` has them, with what was written anew.

    Example:
        >>> [len(topic["contexts"]) for topic in topics()]
        [10, 10, 10, 10]
    """
    return [topic | _anew(topic) for topic in second.topics()]


def _anew(topic: dict[str, Any]) -> dict[str, Any]:
    """The parts of a topic that are written anew; empty where there is no file of it."""
    file = paths.data_dir() / FOLDER / f"{topic['topic']}.yaml"
    if not file.exists():
        return {}
    document = read_checked(ThirdTopic, file, "topic file")
    passages = {passage["id"]: passage for passage in document.get("contexts", [])}
    contexts = [passages.get(context["id"], context) for context in topic["contexts"]]
    return {"profile": document.get("profile") or topic["profile"], "contexts": contexts}


def study3() -> pd.DataFrame:
    """All families, as `second.balanced`.

    Example:
        >>> families = study3().drop_duplicates("focal_id")
        >>> len(families), families["focal_id"].str.startswith(NEW).sum()
        (240, np.int64(116))
    """
    return _named(second.balanced(topics()), second.balanced())


def study3_quarter() -> pd.DataFrame:
    """One family in four for likelihoods, as `second.balanced_quarter`.

    Example:
        >>> quarter = study3_quarter()
        >>> len(quarter), quarter["focal_id"].str.startswith(NEW).sum()
        (2160, np.int64(1080))
    """
    return _named(second.balanced_quarter(topics()), second.balanced_quarter())


def study3_blank() -> pd.DataFrame:
    """Passages with a meaningless trait, as `second.balanced_blank`.

    Example:
        >>> blank = study3_blank()
        >>> sorted(blank.loc[blank["focal_id"].str.startswith(NEW), "context_id"].unique())
        ['conference', 'robot']
    """
    return _named(second.balanced_blank(topics()), second.balanced_blank())


def _named(items: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """The items, new ids for the families one of whose texts is not that of the second edition.

    Args:
        items: of the third edition, under the ids of the second, in its order. before: the second.
    """
    is_new = (items[TEXTS] != before[TEXTS]).any(axis=1)
    of_new = items["focal_id"].isin(items.loc[is_new, "focal_id"])
    renamed = {}
    for column in ("item_id", "item", "focal_id"):
        name = items[column]
        renamed[column] = name.where(~of_new, name.str.replace(OLD, NEW, n=1, regex=False))
    return items.assign(**renamed)


#: Data sets by name.
DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "study3": study3,
    "study3_quarter": study3_quarter,
    "study3_blank": study3_blank,
}

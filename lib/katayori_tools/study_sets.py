"""Every study set there is, of all editions, for the tools that look at all of them."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from katayori import paths
from katayori.data import files
from katayori.data.schema import Lenient
from katayori.errors import expect
from katayori.papers import get_paper, paper_ids

FIRST, SECOND, THIRD = 1, 2, 3


@dataclass(frozen=True)
class StudySet:
    """One data set of one paper.

    Attributes:
        paper: whose items they are.
        edition: 1, 2 or 3.
        name: of the data set, as `sets` in data/papers/<id>.yaml has it.
        items: the frame, a row an item.
    """

    paper: str
    edition: int
    name: str
    items: pd.DataFrame

    @property
    def title(self) -> str:
        """Paper and data set in one word, as `<id>/study2`."""
        return f"{self.paper}/{self.name}"

    @property
    def clusters(self) -> "pd.Series | None":
        """The cluster of every item, None where the frame lacks the column."""
        room = get_paper(self.paper)
        if "cluster" in self.items:
            return self.items["cluster"].astype(str)
        if room.cluster_column == "item_id" and "pair_id" in self.items:
            return self.items["pair_id"].astype(str)  # both orders are rows of one pair
        if room.cluster_column not in self.items:
            return None
        return room.cluster_of(self.items)


def editions_of(paper: str) -> dict[str, int]:
    """The data sets that are of an edition, each with its own, the oldest first.

    A paper that lists none has its `study` alone.
    """
    listed = get_paper(paper).about.get("sets", {"study": {"edition": FIRST}})
    return {name: about["edition"] for name, about in listed.items() if "edition" in about}


def written_anew(paper: str, items: pd.DataFrame) -> pd.DataFrame:
    """The items that no data set of the second edition holds."""
    load, editions = get_paper(paper).sets(), editions_of(paper)
    second = [name for name in load if editions.get(name) == SECOND]
    kept = {item_id for name in second for item_id in load[name]()["item_id"]}
    return items[~items["item_id"].isin(kept)].reset_index(drop=True)


def study_sets(paper: str) -> list[StudySet]:
    """All data sets of a paper, the first edition first.

    Raises KatayoriError for a paper without items.

    Example:
        >>> [study_sets(paper)[0].name for paper in paper_ids()[:1]]
        ['study']
    """
    expect(paper, paper_ids(), "paper with study items")
    room = get_paper(paper)
    load = {"study": lambda: room.read("study", {})[0], **room.sets()}
    return [StudySet(paper, n, name, load[name]()) for name, n in editions_of(paper).items()]


def editions(paper: str) -> tuple[int, ...]:
    """The editions that the repository holds, the oldest first."""
    return tuple(sorted(set(editions_of(paper).values())))


def folder(paper: str, edition: int) -> Path:
    """The folder that holds the texts of an edition; it need not exist.

    The older of the editions that there are has the name of the paper.
    """
    name = paper if edition == editions(paper)[0] else f"{paper}_{edition}"
    return paths.data_dir() / "study" / name


class FileHead(Lenient):
    """What a file of items says of itself."""

    dataset: str | None = None
    version: int | None = None
    language: str | None = None
    license: str | None = None
    reviewed: bool | None = None
    notice: str | None = None
    canary: str | None = None


def heads(paper: str, edition: int) -> list[dict[str, object]]:
    """What the files of an edition say of themselves: file, dataset, version, language, license,
    reviewed, notice and canary; None for a field that a file lacks.
    """
    found = []
    for path in sorted(folder(paper, edition).glob("*.yaml")):
        if path.name == files.REVIEW_LOG:
            continue
        head = files.read_as(FileHead, path, "file of items")
        found.append(
            {"file": path.name} | {name: getattr(head, name) for name in FileHead.model_fields}
        )
    return found

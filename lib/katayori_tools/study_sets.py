"""Every study set there is, of all editions, for the tools that look at all of them."""

from collections.abc import Iterator
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
        name: of the data set, as recordings name it: `study` in the first edition; the setting
            that gives it where `study` is the second.
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


def first_edition(paper: str) -> Iterator[StudySet]:
    """The study items of the first edition, a row a pair of answers in 03; none of a paper that has
    the second alone.
    """
    if FIRST in editions(paper):
        room = get_paper(paper)
        name = " ".join(room.first_as.values()) or "study"
        yield StudySet(paper, FIRST, name, room.read("study", room.first_as)[0])


def second_edition(paper: str) -> Iterator[StudySet]:
    """The data sets of the second edition, none where it is not written."""
    for name, load in get_paper(paper).second_edition().items():
        yield StudySet(paper, SECOND, name, load())


def third_edition(paper: str) -> Iterator[StudySet]:
    """The data sets of the third edition, none where nothing was written anew."""
    for name, load in get_paper(paper).third_edition().items():
        yield StudySet(paper, THIRD, name, load())


def study_sets(paper: str) -> list[StudySet]:
    """All data sets of a paper, the first edition first.

    Raises KatayoriError for a paper without items.

    Example:
        >>> [study_sets(paper)[0].name for paper in paper_ids()[:1]]
        ['study']
    """
    expect(paper, paper_ids(), "paper with study items")
    return [*first_edition(paper), *second_edition(paper), *third_edition(paper)]


def editions(paper: str) -> tuple[int, ...]:
    """The editions that the repository holds.

    Of a paper whose `study` is the second that one, and the first where a setting still gives it;
    the third where it has one.
    """
    room = get_paper(paper)
    first = () if room.recorded_as and not room.first_as else (FIRST,)
    return (*first, SECOND, THIRD) if room.third_edition() else (*first, SECOND)


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

"""What must stand in `data/papers/<id>.yaml`; the README beside it says what each field means. And
the study sets that the files list.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from katayori import paths
from katayori.data import files, paper_facts
from katayori.data.schema import Count, Schema, Text
from katayori.errors import expect
from katayori.papers import get_paper

if TYPE_CHECKING:
    import pandas as pd


class Page(Schema):
    """The text of the paper's page in `make site`."""

    title: Text
    ja: Text
    question: Text
    method: list[Text]
    figure: Text
    cannot_see: list[Text]
    differs: list[Text]


class Headline(Schema):
    """Results that the first page of a report, notebook 00 and comparisons show."""

    what: Text
    where: dict[str, Any] = Field(default_factory=dict)
    kind: Literal["bias", "ability", "description"]
    side: Literal[-1, 0, 1] = 0
    label: Text
    means: Text


class Headlines(Schema):
    """These results, what their intervals draw, and of what kind the answers are."""

    clusters: Text
    positions: bool = False
    texts: list[Text] = Field(default_factory=list)
    rows: list[Headline]


class Kept(Schema):
    """What the values of a kept table are: what `Run.keep` needs beside the frame."""

    what: Text
    value: Text = "value"
    by: list[Text] = Field(default_factory=list)
    prompt: str | dict[Text, dict[Text, Text]] = ""
    unit: str = ""
    source: str = ""
    headline: bool = False


class DataSet(Schema):
    """A data set of items: of which edition it is, and the variant of its recorded answers."""

    edition: Literal[1, 2, 3] | None = None
    variant: str | None = None
    prompts: dict[Text, Text] = Field(default_factory=dict)


class Recording(Schema):
    """What `make record` asks: one entry is one shard a model and prompt."""

    dataset: Text
    models: list[Text]
    prompts: list[Text]
    whole: Text = ""
    variant: str = ""
    size: Count | None = None
    sample: Count | None = None


class SecondRecording(Recording):
    """An entry of the second or the third edition."""

    priority: Annotated[int | float, Field(ge=1)]
    kind: Literal["chat", "likelihood"] = "chat"
    repetitions: list[Annotated[int, Field(ge=0)]] = Field(default=[0], min_length=1)

    @model_validator(mode="after")
    def _is_told_from_the_first_edition(self) -> "SecondRecording":
        if self.dataset == "study" and not self.variant:
            raise ValueError("names no variant: the shards of `study` are the first edition's")
        return self


class Cited(Schema):
    """The paper as it is cited. year: null where our copy does not tell it."""

    title: Text
    authors: Annotated[list[Text], Field(min_length=1)]
    year: Count | None


class PaperFile(Schema):
    """The whole file."""

    id: Text
    notebook: Text
    asks: Text
    measure: Text
    denominator: Text
    status: Text
    cited: Cited | None = None
    page: Page
    headlines: Headlines | None = None
    kept: dict[str, Kept] | None = None
    simulated: dict[str, Text] | None = None
    sets: dict[str, DataSet] | None = None
    recording: list[Recording] | None = None
    second_edition: list[SecondRecording] | None = None
    third_edition: list[SecondRecording] | None = None


def of(paper_id: str) -> dict[str, Any]:
    """What is written of one paper, after the whole file was read without error. KatayoriError
    naming the valid ids.
    """
    expect(paper_id, paper_facts.ids(), "paper")
    path = paths.registry(f"{paper_facts.FOLDER}/{paper_id}.yaml")
    facts: dict[str, Any] = files.read_checked(PaperFile, path)
    return facts


# -- study sets ------------------------------------------------------------------------------------

FIRST, SECOND, THIRD = 1, 2, 3


class StudySet(NamedTuple):
    """One of our data sets: edition 1, 2 or 3, its name in the paper's file, a row an item, and the
    folder of its texts, which the sets of an edition share.
    """

    paper: str
    edition: int
    name: str
    items: "pd.DataFrame"
    folder: Path


def editions_of(paper: str) -> dict[str, int]:
    """The data sets that are of an edition, each with its own, the oldest first.

    A paper that lists none has its `study` alone.
    """
    listed = get_paper(paper).about.get("sets", {"study": {"edition": FIRST}})
    return {name: about["edition"] for name, about in listed.items() if "edition" in about}


def text_folders(paper: str) -> dict[int, Path]:
    """The folder of the texts of each edition, the oldest first, which has the paper's name."""
    editions = sorted(set(editions_of(paper).values()))
    names = [paper, *(f"{paper}_{edition}" for edition in editions[1:])]
    place = paths.data_dir() / "study"
    return {edition: place / name for edition, name in zip(editions, names, strict=True)}


def study_sets(paper: str) -> list[StudySet]:
    """All data sets of a paper, the first edition first."""
    room, folders = get_paper(paper), text_folders(paper)
    load = {"study": lambda: room.read("study", {})[0], **room.sets()}
    return [
        StudySet(paper, edition, name, load[name](), folders[edition])
        for name, edition in editions_of(paper).items()
    ]


def written_anew(paper: str, items: "pd.DataFrame") -> "pd.DataFrame":
    """The items that no data set of the second edition holds."""
    load, editions = get_paper(paper).sets(), editions_of(paper)
    second = [name for name in load if editions.get(name) == SECOND]
    kept = {item_id for name in second for item_id in load[name]()["item_id"]}
    return items[~items["item_id"].isin(kept)].reset_index(drop=True)

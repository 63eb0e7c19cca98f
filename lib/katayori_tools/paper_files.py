"""What `data/papers/<id>.yaml` says of a paper for the tools: its page, its plan of recordings."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from katayori import paths
from katayori.data import files, paper_facts
from katayori.data.paper_facts_schema import PaperFacts
from katayori.data.schema import Count, Number, Schema, Text


class Page(Schema):
    """The text of the paper's page in `make site`."""

    title: Text
    ja: Text
    question: Text
    method: list[Text]
    figure: Text
    cannot_see: list[Text]
    differs: list[Text]


class Recording(Schema):
    """What `make record` asks: one entry is one shard a model and prompt."""

    dataset: Text
    models: list[Text]
    prompts: list[Text]
    whole: Text = ""
    variant: str = ""
    size: Count | None = None
    sample: Count | None = None


def _are_repetitions(given: Any) -> Any:
    numbers = range(given) if type(given) is int else given
    if not isinstance(numbers, range | list) or not numbers:
        raise ValueError("must be a number above 0, or a list of numbers from 0")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("must be a number above 0, or a list of numbers from 0")
    return given


class SecondRecording(Recording):
    """An entry of the second or the third edition."""

    priority: Annotated[Number, Field(ge=1)]
    kind: Literal["chat", "likelihood"] = "chat"
    #: A number or a list, so that one sentence says what is valid.
    repetitions: Annotated[Any, AfterValidator(_are_repetitions)] = 1
    seed_rule: int | None = None

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


class Design(Schema):
    """What one model was asked in the paper; see `data/papers/README.md`."""

    rows: Count
    requests: Count
    official: Text | None


class PaperFile(PaperFacts, extra="forbid"):
    """The whole file."""

    cited: Cited | None = None
    page: Page
    design: Design | None = None
    recording: list[Recording] | None = None
    second_edition: list[SecondRecording] | None = None
    third_edition: list[SecondRecording] | None = None


def of(paper_id: str) -> dict[str, Any]:
    """What is written of one paper, after the whole file was read without error. KatayoriError
    naming the valid ids.
    """
    facts = paper_facts.of(paper_id)
    files.read_as(PaperFile, paths.registry(f"{paper_facts.FOLDER}/{paper_id}.yaml"))
    return facts


def every() -> list[dict[str, Any]]:
    """What is written of all papers, in the order of their notebooks."""
    return [of(paper_id) for paper_id in paper_facts.ids()]

"""What stands in data/papers/<id>.yaml (the README beside it says what each field means) and in
data/published/caveats.yaml.
"""

from typing import Literal

from pydantic import Field

from katayori.data.schema import Lenient, Schema, Text, Where


class Headline(Schema):
    """Results that the first page of a report, notebook 00 and comparisons show."""

    what: Text
    where: Where = Field(default_factory=dict)
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


class PaperFacts(Lenient):
    """What the library reads of a paper; what the tools read stands beside it."""

    id: Text
    notebook: Text
    asks: Text
    measure: Text
    denominator: Text
    status: Text
    headlines: Headlines | None = None
    kept: dict[str, Kept] | None = None
    simulated: dict[str, Text] | None = None


class Caveat(Schema):
    """What a recount found; the head of the file says what each field means."""

    id: Text
    paper: Text
    file: Text | None
    locator: Text
    cells: Where
    kind: Literal["inconsistent", "reading", "cannot_check", "reconstructed"]
    text: Text


class Caveats(Schema):
    """data/published/caveats.yaml."""

    caveats: list[Caveat]

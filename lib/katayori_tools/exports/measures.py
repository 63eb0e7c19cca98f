"""Which way a measure is better, and between what bounds it lies, from `data/export.yaml`."""

from functools import cache
from typing import Literal

from pydantic import model_validator

from katayori import paths
from katayori.data.files import read_as
from katayori.data.schema import Schema, Text

Better = Literal["higher", "lower", "zero", "neither"]


class Measure(Schema):
    """One measure: `zero` means that 0 is the target and the sign says which way it is missed;
    `neither` that it describes and is not to be made larger or smaller.
    """

    better: Better
    lowest: int | float | None = None
    highest: int | float | None = None

    @model_validator(mode="after")
    def _has_both_bounds(self) -> "Measure":
        if (self.lowest is None) != (self.highest is None):
            raise ValueError("lowest and highest stand together")
        return self


class StudySet(Schema):
    """What the Croissant file of a study set says of responsible use."""

    name: Text
    keywords: list[Text]
    use_cases: Text
    limitations: Text
    biases: Text
    sensitive: Text
    collection: Text


class ExportFile(Schema):
    """The whole file."""

    measures: dict[str, dict[str, Measure]]
    study_sets: dict[str, StudySet]


@cache
def read() -> ExportFile:
    """The file, checked."""
    return read_as(ExportFile, paths.registry("export.yaml"))


def measure(paper: str, what: str, unit: str | None) -> Measure | None:
    """What is stated of a measure; p values are known without; None where nothing is stated.

    Example:
        >>> measure("any", "p value of a test", "p").better
        'neither'
        >>> measure("any", "a measure of no list", "share") is None
        True
    """
    listed = read().measures.get(paper, {}).get(what)
    if listed is None and unit == "p":
        return Measure(better="neither", lowest=0, highest=1)
    return listed

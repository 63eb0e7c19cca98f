"""The figures that the papers print, table by table (data/published), and what a recount found."""

from typing import Literal

import pandas as pd

from katayori import paths
from katayori.data import files
from katayori.data.schema import Schema, Text, Where
from katayori.errors import expect


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


def names(paper: str) -> list[str]:
    """Tables of one paper, or of `derived` (reconstructed from rounding). KatayoriError names the
    valid papers.
    """
    folder = paths.data_dir() / "published"
    expect(paper, sorted(file.parent.name for file in folder.glob("*/*.csv")), "paper")
    return sorted(path.stem for path in (folder / paper).glob("*.csv"))


def load(paper: str, name: str) -> pd.DataFrame:
    """One published table as printed, a row a figure, with its `locator`; empty = not published.

    Raises KatayoriError naming the valid papers or tables.
    """
    expect(name, names(paper), f"published table of {paper}")
    file = paths.data_dir() / "published" / paper / f"{name}.csv"
    # `table` is a label: as a number, tables 4.1 and 4.10 would be one.
    return pd.read_csv(file, dtype={"table": str}, keep_default_na=False, na_values=[""])


def caveats(paper: str | None = None) -> pd.DataFrame:
    """What a recount found: id, paper, file (None = the paper as a whole), locator, cells (a dict),
    kind, text.

    `cells` maps columns of the table to the value or list of values of the rows concerned; {} means
    all rows.
    """
    if paper is not None:
        names(paper)
    file = paths.registry("published/caveats.yaml")
    listed = files.read_checked(Caveats, file)["caveats"]
    columns = ["id", "paper", "file", "locator", "cells", "kind", "text"]
    chosen = [caveat for caveat in listed if paper in (None, caveat["paper"])]
    return pd.DataFrame(chosen, columns=columns)

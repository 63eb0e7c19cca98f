"""The figures that the papers print, table by table (data/published)."""

import pandas as pd

from katayori import paths
from katayori.errors import expect


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

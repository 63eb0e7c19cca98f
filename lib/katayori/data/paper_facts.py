"""What is known of a paper: `data/papers/<id>.yaml`, and the figures that it prints, table by
table, with what a recount of them found (`data/published`).

The fields of the first are described in `data/papers/README.md` and checked by the tools.
"""

from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.data import files
from katayori.errors import expect

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "papers"


def names() -> set[str]:
    """The ids of the papers; no file is read for it."""
    return {file.stem for file in paths.registry(FOLDER).glob("*.yaml")}


def ids() -> tuple[str, ...]:
    """The ids of the papers, in the order of their notebooks."""
    return tuple(sorted(names(), key=lambda name: _read(name)["notebook"]))


def _read(paper_id: str) -> dict[str, Any]:
    return files.ours(f"{FOLDER}/{paper_id}.yaml")


def of(paper_id: str) -> dict[str, Any]:
    """What is written of one paper. KatayoriError naming the valid ids.

    Example:
        >>> [of(name)["notebook"][:2] for name in ids()][:2]
        ['01', '02']
    """
    if paper_id not in names():
        expect(paper_id, ids(), "paper")
    return _read(paper_id)


def every() -> list[dict[str, Any]]:
    """What is written of all papers, in the order of their notebooks."""
    return [_read(paper_id) for paper_id in ids()]


# -- printed figures -------------------------------------------------------------------------------


def printed_tables(paper: str) -> list[str]:
    """Tables of one paper, or of `derived` (reconstructed from rounding). KatayoriError names the
    valid papers.
    """
    folder = paths.data_dir() / "published"
    expect(paper, sorted(file.parent.name for file in folder.glob("*/*.csv")), "paper")
    return sorted(path.stem for path in (folder / paper).glob("*.csv"))


def printed(paper: str, name: str) -> "pd.DataFrame":
    """One published table as printed, a row a figure, with its `locator`; empty = not published.

    Raises KatayoriError naming the valid papers or tables.
    """
    import pandas as pd

    expect(name, printed_tables(paper), f"published table of {paper}")
    file = paths.data_dir() / "published" / paper / f"{name}.csv"
    # `table` is a label: as a number, tables 4.1 and 4.10 would be one.
    return pd.read_csv(file, dtype={"table": str}, keep_default_na=False, na_values=[""])


def caveats(paper: str) -> "pd.DataFrame":
    """What a recount of a paper found: id, paper, file (None = the paper as a whole), locator,
    cells (a dict), kind, text.

    `cells` maps columns of the table to the value or list of values of the rows concerned; {} means
    all rows.
    """
    import pandas as pd

    printed_tables(paper)
    listed = files.ours("published/caveats.yaml")["caveats"]
    chosen = [caveat for caveat in listed if caveat["paper"] == paper]
    return pd.DataFrame(chosen, columns="id paper file locator cells kind text".split())

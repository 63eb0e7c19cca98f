"""Forms that people fill in with a spreadsheet: written with a notice, read back and checked.

Both forms of the project are made here: that of readers of items (`review`) and that of raters of
cases (`rating`, requirement JU-6).
"""

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from katayori.data import files
from katayori.errors import KatayoriError
from katayori.report.run import harmless

#: The first column of a form, for whoever opens it without the instructions.
READ_FIRST = "はじめに"
NOTICE = (
    "内容についてのお知らせ："
    "この資料には、性別、宗教、出身、年齢などについての偏見を含む文が出てきます。"
    "言語モデルが偏見を見分けられるかを測るためのもので、その内容を認めるものではありません。"
    "つらいと感じたら、いつでもやめてかまいません。"
)
VOLUNTARY = """参加は任意で、途中でやめても不利益はありません。
名前など、個人が分かることは書かないでください。"""


def write_form(path: Path, form: pd.DataFrame, first: str, *, every_row: bool = True) -> None:
    """Write a form as a .csv file that spreadsheets open; texts cannot start a formula.

    Args:
        form: a row a thing to judge. first: what `READ_FIRST` says. every_row: say it in every row,
        so that no filter hides it; else in the first row alone (long forms).
    """
    shown = form.map(harmless)
    filled_rows = len(shown) if every_row else min(1, len(shown))
    notices = [first] * filled_rows + [""] * (len(shown) - filled_rows)
    shown.insert(0, READ_FIRST, notices)
    shown.to_csv(path, index=False, encoding="utf-8-sig")


def read_form(path: Path, columns: Sequence[str], what: str) -> pd.DataFrame:
    """A filled-in form, texts as they stand in the file, without `READ_FIRST`.

    Raises KatayoriError for a file that is absent, no UTF-8 or has other columns.
    """
    form = pd.DataFrame(files.rows_of(path, what))
    form = form.drop(columns=READ_FIRST, errors="ignore")
    if set(form) != set(columns):
        raise KatayoriError(
            f"{path.name} has the columns {', '.join(map(str, form))}; "
            f"asked for were {', '.join(map(str, columns))}"
        )
    return form


def plain(text: str) -> str:
    """What was written in a cell, without a difference of width or blanks around it."""
    return unicodedata.normalize("NFKC", text).strip()

"""Tables and texts as notebooks show them: escaped, rounded, the same on every machine.

nbval compares both forms.
"""

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from katayori import paths
from katayori.data import paper_facts
from katayori.errors import expect
from katayori.report import column_names
from katayori.report.status_words import mark

if TYPE_CHECKING:
    import pandas as pd

#: The notebook about all papers, which has terms of its own.
OVERVIEW = "overview"

MAX_CELL, SHORT = 300, 28
MAX_TEXT = 20_000
#: More rows than these scroll in a box of fixed height; more than those are not shown.
SCROLLS, MOST_ROWS = 12, 1_000
#: The box on the screen and on paper; pages, which allow no style of an output, have the same.
BOX = """<style>
.katayori-rows { max-height: 24em; overflow: auto }
.katayori-rows th { position: sticky; top: 0; background: var(--jp-layout-color0, Canvas) }
@media print { .katayori-rows { max-height: none; overflow: visible } }
</style>"""
#: How the markup of `nothing` begins; escaped text can never look like it.
NOTHING = '<p class="nothing">'
_HIDDEN = [
    *range(0x80, 0xA0),
    0x061C,
    0x200E,
    0x200F,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    0xFEFF,
]
# Control codes, direction overrides and lone surrogates are spelt out, so that text can neither
# hide nor act.
_VISIBLE = {c: chr(0x2400 + c) for c in range(32) if c not in (9, 10)} | {0x7F: "␡"}
_VISIBLE |= {c: f"\\u{c:04x}" for c in (*_HIDDEN, *range(0xD800, 0xE000))}


def visible(text: Any) -> str:
    """The text with control characters spelt out (line ends become a newline)."""
    return str(text).replace("\r\n", "\n").translate(_VISIBLE)


def escape(text: Any) -> str:
    """Text as HTML that shows exactly that text, whatever it holds."""
    return html.escape(visible(text))


class Shown:
    """Something to look at in a notebook or report: `_repr_html_`, and plain text as its repr."""

    def __init__(self, markup: str, text: str) -> None:
        self._markup, self._text = markup, text

    def _repr_html_(self) -> str:
        # Without these classes JupyterLab would typeset dollar signs in model output as formulas.
        return f'<div class="tex2jax_ignore mathjax_ignore">{self._markup}</div>'

    def __repr__(self) -> str:
        return self._text


def nothing(text: str) -> Shown:
    """One short sentence in the place of a table or figure that this run cannot have.

    A report about a user's model leaves it out (`NOTHING` marks it).
    """
    return Shown(f"{NOTHING}{escape(text)}</p>", visible(text))


class Chosen(TypedDict, total=False):
    """What `show` is told of a frame of a verb."""

    columns: Sequence[str]
    names: Mapping[str, str]
    scale: float


def show(
    frame: Any,
    digits: int = 3,
    caption: str | None = None,
    max_rows: int = 60,
    missing: str = "no answers of this run belong here",
    **chosen: Unpack[Chosen],
) -> Shown:
    """A frame for the eye: floats to `digits` places, text escaped and clipped.

    What is undefined is an em dash. The index is shown only if named. Beyond `max_rows` the number
    of rows left out is stated. An empty frame becomes one sentence (see `nothing`): its caption and
    the reason that it carries, else what is `missing`.

    With `columns`, those columns are shown in that order, with names for readers
    (data/column_names.yaml, or your own in `names`), an interval in one column, values and what is
    in their unit times `scale`, and a status in words; every row is shown, and more than 12 scroll
    in a box, but not on paper.

    Raises:
        FrameError: a column that is lacking.

    Example:
        >>> import pandas as pd
        >>> row = {"factor": "age", "value": 0.25, "ci_low": 0.2, "ci_high": 0.3, "clusters": 70}
        >>> columns = ["factor", "value", "ci_low", "ci_high", "clusters"]
        >>> names = {"value": "gap, points", "clusters": "questions"}
        >>> show(pd.DataFrame([row]), 1, columns=columns, names=names, scale=100)
        factor  gap, points  95 % interval  questions
        age            25.0   [20.0, 30.0]         70
    """
    if not len(frame):
        return nothing(f"{caption or 'Table'}: {frame.attrs.get('reason') or missing}.")
    left_out = len(frame) - (MOST_ROWS if chosen else max_rows)
    more = f"… {left_out:,} more rows" if left_out > 0 else ""
    if chosen:
        heads, rows, right = _for_readers(frame, digits, **chosen)
    else:
        frame = _with_index(frame)
        heads, rows = as_text(frame, digits, max_rows)
        right = [frame.dtypes.iloc[i].kind in "iuf" for i in range(len(heads))]
    parts = heads, rows, right, caption, more
    markup = _markup(*parts)
    if chosen and len(rows) > SCROLLS:
        markup = f'{BOX}<div class="katayori-rows">{markup}</div>'
    return Shown(markup, _text(*parts))


def _for_readers(
    frame: "pd.DataFrame",
    digits: int,
    *,
    columns: Sequence[str],
    names: Mapping[str, str] | None = None,
    scale: float = 1,
) -> tuple[list[str], list[list[str]], list[bool]]:
    """Heads, rows, and which columns are numbers."""
    from katayori.frames import LABEL_OR_NONE, require

    require("show", frame, dict.fromkeys(columns, LABEL_OR_NONE))
    frame = frame.head(MOST_ROWS)
    in_unit = column_names.listed().in_unit
    texts: dict[str, list[str]] = {}
    for column in columns:
        factor = scale if column in in_unit else 1.0
        texts[column] = [_value(one, column, digits, factor) for one in frame[column]]
    if "value" in texts and "status" in frame and "status" not in texts:
        why = [_value(one, "status", digits, 1) for one in frame["status"]]
        both = zip(texts["value"], why, strict=True)
        texts["value"] = [f"— ({said})" if one == "—" and said else one for one, said in both]
    for name, (low, high) in column_names.listed().pairs.items():
        if low in texts and high in texts:
            ends = zip(texts[low], texts.pop(high), strict=True)
            texts[low] = ["—" if "—" in pair else f"[{', '.join(pair)}]" for pair in ends]
            texts = {name if one == low else one: own for one, own in texts.items()}
    heads = [(names or {}).get(one) or column_names.human(one) for one in texts]
    are_numbers = [one not in frame or frame[one].dtype.kind in "iuf" for one in texts]
    return heads, [list(row) for row in zip(*texts.values(), strict=True)], are_numbers


def _value(value: Any, column: str, digits: int, factor: float) -> str:
    """A value for readers: counts without decimals, a status in words, yes and no."""
    value = unwrap(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column == "status":
        return mark(value) if isinstance(value, str) and value != "ok" else ""
    if isinstance(value, int | float) and column in column_names.listed().in_unit:
        return _cell(float(factor * value), digits, column)
    if isinstance(value, float) and value.is_integer() and not column.startswith("p"):
        return str(int(value))
    return _cell(value, digits, column)


def as_text(frame: Any, digits: int = 3, max_rows: int = 60) -> tuple[list[str], list[list[str]]]:
    """The heads and the first rows of a frame in the words of `show`, not yet escaped.

    Example:
        >>> import pandas as pd
        >>> as_text(pd.DataFrame({"p": [0.00001], "n": [3]}))
        (['p', 'n'], [['<0.001', '3']])
    """
    frame = _with_index(frame)
    levels = [c if isinstance(c, tuple) else (c,) for c in frame.columns]
    heads = [" / ".join(str(part) for part in parts if part != "") for parts in levels]
    rows = [
        [_cell(value, digits, name) for value, name in zip(values, heads, strict=True)]
        for values in frame.head(max_rows).itertuples(index=False, name=None)
    ]
    return heads, rows


def _with_index(frame: Any) -> Any:
    """The frame with an index that has a name as its first columns."""
    if any(name is not None for name in frame.index.names):
        return frame.reset_index()
    return frame


def show_text(text: str, title: str | None = None) -> Shown:
    """A prompt or a model's answer as it is: preformatted, escaped, clipped at 20,000 letters."""
    text = str(text)
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n… {len(text) - MAX_TEXT:,} more characters"
    head = f"<p><strong>{escape(title)}</strong></p>" if title else ""
    body = f'<pre style="white-space: pre-wrap; text-align: left">{escape(text)}</pre>'
    return Shown(head + body, (f"{visible(title)}\n" if title else "") + visible(text))


def unwrap(value: Any) -> Any:
    """A numpy scalar as Python's own, pandas' NA and NaT as None, anything else as it is."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _cell(value: Any, digits: int, name: str) -> str:
    value = unwrap(value)
    if value is None:
        return "—"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "—" if math.isnan(value) else ("∞" if value > 0 else "-∞")
        if (name == "p" or name.startswith(("p_", "p "))) and 0 < value < 10**-digits / 2:
            return f"<{10**-digits:.{digits}f}"
        # + 0.0: never "-0.000", which differs between processors
        return f"{round(value, digits) + 0.0:.{digits}f}"
    text = str(value)
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"


def _markup(
    heads: list[str], rows: list[list[str]], right: list[bool], caption: str | None, left_out: str
) -> str:
    def one(tag: str, text: str, right: bool) -> str:
        # A short cell, such as a model's name or a value with its interval, is never broken at a
        # hyphen or blank.
        wrap = "pre" if tag == "td" and len(text) <= SHORT else "pre-wrap"
        style = f"text-align: {'right' if right else 'left'}; white-space: {wrap}"
        return f'<{tag} style="{style}">{escape(text)}</{tag}>'

    def line(tag: str, cells: list[str]) -> str:
        return "<tr>" + "".join(one(tag, c, r) for c, r in zip(cells, right, strict=True)) + "</tr>"

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(line("td", row) for row in rows)
    table = f"<table>{title}<thead>{line('th', heads)}</thead><tbody>\n{body}\n</tbody></table>"
    return table + (f"<p>{left_out}</p>" if left_out else "")


def _text(
    heads: list[str], rows: list[list[str]], right: list[bool], caption: str | None, left_out: str
) -> str:
    from unicodedata import east_asian_width

    def wide(text: str) -> int:
        return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)

    lines = [
        [visible(c).replace("\n", "⏎").replace("\t", " ") for c in row] for row in (heads, *rows)
    ]
    widths = [max(wide(row[i]) for row in lines) for i in range(len(heads))]

    def pad(text: str, i: int) -> str:
        gap = " " * (widths[i] - wide(text))
        return gap + text if right[i] else text + gap

    body = ["  ".join(pad(c, i) for i, c in enumerate(row)).rstrip() for row in lines]
    return "\n".join(
        [*([visible(caption)] if caption else []), *body, *([left_out] if left_out else [])]
    )


def terms() -> "pd.DataFrame":
    """The entries of data/glossary.yaml, as they stand there."""
    import pandas as pd

    from katayori.data.files import read_checked
    from katayori.report.glossary_schema import Term

    return pd.DataFrame(read_checked(list[Term], paths.registry("glossary.yaml")))


def glossary(paper: str | None = None) -> "pd.DataFrame":
    """The terms of a paper's notebook, or all of them (data/glossary.yaml).

    Columns: term, 日本語, meaning, function. `function` is where the library defines or computes
    it, such as "metrics.agreement: krippendorff_alpha". A paper that no term names has the terms of
    all papers. Raises KatayoriError for an unknown paper.
    """
    listed = terms().rename(columns={"ja": "日本語", "see": "function"})
    if paper is not None:
        expect(paper, (*paper_facts.ids(), OVERVIEW), "paper of the glossary")
        listed = listed[[papers == "all" or paper in papers for papers in listed["papers"]]]
    listed["function"] = listed["function"].str.replace(r"\.(\w+)$", r": \1", regex=True)
    return listed[["term", "日本語", "meaning", "function"]].reset_index(drop=True)

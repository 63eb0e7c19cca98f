"""Tables, texts and pictures as notebooks show them: escaped, rounded, the same on every machine.

nbval compares both forms. What readers see in place of the names of columns, statuses and terms
stands in data/column_names.yaml and data/glossary.yaml.
"""

import html
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import east_asian_width

from katayori import paths
from katayori.data import files, paper_facts
from katayori.errors import expect
from katayori.language import told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MAX_CELL, SHORT = 300, 28
MAX_TEXT = 20_000
#: Columns of what models and others wrote, and of English terms; these are never translated.
AS_THEY_ARE = ("text", "answer", "term")
#: More rows than these scroll in a box of fixed height; more than those are not shown.
SCROLLS, MOST_ROWS = 12, 1_000
#: The box on the screen and on paper; pages, which allow no style of an output, have the same.
BOX = """<style>
.katayori-rows { max-height: 24em; overflow: auto }
.katayori-rows th { position: sticky; top: 0; background: var(--jp-layout-color0, Canvas) }
@media print { .katayori-rows { max-height: none; overflow: visible } }
</style>"""
#: Dots an inch of figures in notebooks: sharp in print; half of them are an inch on the screen.
DOTS = 192
#: Our own words among texts of others: lines with an arrow, an option's role, what stands below.
_OURS = re.compile(
    r"^(?:→ |[AB] = .+ → |--- ).*|(?<=\S {3}\[)[a-z_ ]+(?=\]$)|^\[\w+\]$"
    r"|^\((?:no system prompt|next turn)\)$",
    re.MULTILINE,
)
_MARKS = (0x061C, 0x200E, 0x200F, 0xFEFF)
_HIDDEN = [*range(0x80, 0xA0), *_MARKS, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
# Control codes, direction overrides and lone surrogates are spelt out, so that text can neither
# hide nor act.
_VISIBLE = {c: chr(0x2400 + c) for c in range(32) if c not in (9, 10)} | {0x7F: "␡"}
_VISIBLE |= {c: f"\\u{c:04x}" for c in (*_HIDDEN, *range(0xD800, 0xE000))}


def visible(text: Any) -> str:
    """The text with control characters spelt out (line ends become a newline)."""
    return str(text).replace("\r\n", "\n").translate(_VISIBLE)


class _Screen:
    """A stream that writes texts as `visible`."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        return self.stream.write(visible(text))


@contextmanager
def on_screen() -> Iterator[None]:
    """What is printed within cannot act: a terminal would obey the control characters in a name of
    the user's or in what a server said.
    """
    streams: Any = [_Screen(stream) for stream in (sys.stdout, sys.stderr)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        yield


def escape(text: Any) -> str:
    """Text as HTML that shows exactly that text, whatever it holds."""
    return html.escape(visible(text))


# -- words in place of names -----------------------------------------------------------------------


@lru_cache
def listed() -> dict[str, Any]:
    """The blocks of data/column_names.yaml.

    Names of columns and statuses, pairs of columns that are one in a table, columns in the unit of
    the value, and what to do about a status.
    """
    return files.ours("column_names.yaml")


def human(column: str) -> str:
    """The name of a column for readers; one that is not listed without its underscores.

    Example:
        >>> human("n_invalid"), human("my_own_column")
        ('unreadable', 'my own column')
    """
    return told(listed()["names"].get(column, column.replace("_", " ")))


def mark(status: str, *, english: bool = False) -> str:
    """What a status means, in the few words that stand in place of a value; one that is not known
    is shown as it is. `english`: for files, which are the same in all languages.

    Example:
        >>> mark("few_clusters"), mark("no_valid_answer")
        ('too little data', 'no valid answer')
    """
    words = listed()["statuses"].get(status, status.replace("_", " ")) or "no status"
    return str(words) if english else told(words)


def terms() -> "pd.DataFrame":
    """The entries of data/glossary.yaml, as they stand there."""
    import pandas as pd

    return pd.DataFrame(files.ours("glossary.yaml"))


def glossary(paper: str | None = None) -> "pd.DataFrame":
    """The terms of a paper's notebook, or all of them (data/glossary.yaml).

    Columns: term, 日本語 (the other way round in Japanese), meaning, function. `function` is where
    the library defines or computes it, such as "metrics.agreement: alpha_jackknife". A paper that
    no term names has the terms of all papers. Raises KatayoriError for an unknown paper.
    """
    found = terms().rename(columns={"ja": "日本語", "see": "function"})
    if paper is not None:
        expect(paper, (*paper_facts.ids(), "overview"), "paper of the glossary")
        found = found[[papers == "all" or paper in papers for papers in found["papers"]]]
    found["function"] = found["function"].str.replace(r"\.(\w+)$", r": \1", regex=True)
    names = ["term", "日本語"] if paths.language() == "en" else ["日本語", "term"]
    return found[[*names, "meaning", "function"]].reset_index(drop=True)


# -- what is shown ---------------------------------------------------------------------------------


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
    """One short sentence in the place of a table or figure that this run cannot have."""
    return Shown(f'<p class="nothing">{escape(text)}</p>', visible(text))


class _Column(NamedTuple):
    """A column as it is shown: its name, its cells, and whether they are numbers."""

    head: str
    cells: list[str]
    is_number: bool


def show(
    frame: Any,
    digits: int = 3,
    caption: str | None = None,
    missing: str = "no answers of this run belong here",
    columns: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    scale: float = 1,
) -> Shown:
    """A frame for the eye: floats to `digits` decimals, text escaped and clipped.

    What is undefined is an em dash, an interval stands in one column, a status in words. The index
    is shown only if named. More than 12 rows scroll in a box, but not on paper; beyond 1,000 the
    number of rows left out is stated. An empty frame becomes one sentence (see `nothing`): its
    caption and the reason that it carries, else what is `missing`. Where intervals of models are
    shown without the numbers of answers and of unreadable ones, the caption says them.

    Args:
        frame: of a verb, or any other. digits: decimals. caption, missing: see above.
        columns: those that are shown, in this order; by default all.
        names: of columns, for readers; by default those of data/column_names.yaml.
        scale: values, and what is in their unit, are shown times this (100: points).

    Raises:
        FrameError: a column that is lacking.

    Example:
        >>> import pandas as pd
        >>> row = {"factor": "age", "value": 0.25, "ci_low": 0.2, "ci_high": 0.3, "clusters": 70}
        >>> names = {"value": "gap, points", "clusters": "questions"}
        >>> show(pd.DataFrame([row]), 1, names=names, scale=100)
        factor  gap, points  95 % interval  questions
        age            25.0   [20.0, 30.0]         70
    """
    if not len(frame):
        why = frame.attrs.get("reason") or missing
        return nothing(told(f"{told(caption or 'Table')}: {told(why)}.", "empty"))
    left_out = len(frame) - MOST_ROWS
    more = [told(f"… {left_out:,} more rows")] if left_out > 0 else []
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    if frame.columns.nlevels > 1:
        frame = frame.set_axis([" / ".join(filter(None, parts)) for parts in frame], axis=1)
    chosen = list(frame) if columns is None else columns
    shown = _columns(frame.head(MOST_ROWS), chosen, names or {}, digits, scale)
    caption = told("; ".join(filter(None, [told(caption or ""), _denominators(frame, chosen)])))
    markup = _markup(shown, caption) + "".join(f"<p>{one}</p>" for one in more)
    if len(frame) > SCROLLS:
        markup = f'{BOX}<div class="katayori-rows">{markup}</div>'
    above = [visible(caption)] if caption else []
    return Shown(markup, "\n".join([*above, *_lines(shown), *more]))


def _denominators(frame: "pd.DataFrame", columns: Sequence[str]) -> str:
    """From how many answers a row, and how many unreadable ones, where no column tells it."""
    if "model" not in frame or "ci_low" not in columns:
        return ""
    counted = []
    for name, word in {"n": "n", "n_invalid": "unreadable"}.items():
        counts = frame[name].dropna() if name in frame and name not in columns else ()
        if len(counts):
            low, high = int(min(counts)), int(max(counts))
            counted.append(f"{word} {low:,}" if low == high else f"{word} {low:,} to {high:,}")
    return ", ".join(counted)


def _columns(
    frame: "pd.DataFrame",
    columns: Sequence[str],
    names: Mapping[str, str],
    digits: int,
    scale: float,
) -> list[_Column]:
    """Columns under names for readers; two that are one in a table as one."""
    from katayori.frames import LABEL_OR_NONE, require  # imports pandas, which takes a while

    require("show", frame, dict.fromkeys(columns, LABEL_OR_NONE))
    texts = {name: [_value(one, name, digits, scale) for one in frame[name]] for name in columns}
    if "value" in texts and "status" in frame and "status" not in texts:
        why = [_value(one, "status", digits, 1) for one in frame["status"]]
        both = zip(texts["value"], why, strict=True)
        texts["value"] = [told(f"— ({said})") if one == "—" and said else one for one, said in both]
    for name, (low, high) in listed()["pairs"].items():
        if low in texts and high in texts:
            ends = zip(texts[low], texts.pop(high), strict=True)
            texts[low] = ["—" if "—" in pair else f"[{', '.join(pair)}]" for pair in ends]
            texts = {name if one == low else one: own for one, own in texts.items()}
    are_numbers = {one: one not in frame or frame[one].dtype.kind in "iuf" for one in texts}
    return [
        _Column(told(names.get(one) or human(one)), own, are_numbers[one])
        for one, own in texts.items()
    ]


def _value(value: Any, column: str, digits: int, scale: float) -> str:
    """A value for readers: counts without decimals, a status in words, yes and no, a small p."""
    value = unwrap(value)
    if column == "status":
        return mark(value) if isinstance(value, str) and value != "ok" else ""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return told("yes" if value else "no", "truth")
    if not isinstance(value, int | float):
        text = str(value) if column in AS_THEY_ARE else told(str(value), column)
        return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "—")
    is_p = column == "p" or column.startswith(("p_", "p "))
    if is_p and 0 < value < 10**-digits / 2:
        return f"<{10**-digits:.{digits}f}"
    is_in_unit = column in listed()["in_unit"]
    if value == int(value) and not is_in_unit and not is_p:
        return str(int(value))
    # + 0.0: never "-0.000", which differs between processors
    return f"{round(float(scale if is_in_unit else 1) * value, digits) + 0.0:.{digits}f}"


def show_text(text: str, title: str | None = None, *, ours: bool = False) -> Shown:
    """A prompt or a model's answer as it is: preformatted, escaped, clipped at 20,000 letters.

    Our own words are shown in the language of the reader: all where they are `ours`, else lines
    that begin with an arrow (→) and what stands in brackets behind three blanks.
    """
    text = told(str(text)) if ours else _OURS.sub(lambda one: told(one[0], "role"), str(text))
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n… {len(text) - MAX_TEXT:,} more characters"
    title = told(title or "")
    head = f"<p><strong>{escape(title)}</strong></p>" if title else ""
    body = f'<pre style="white-space: pre-wrap; text-align: left">{escape(text)}</pre>'
    return Shown(head + body, (f"{visible(title)}\n" if title else "") + visible(text))


def simulated(name: str) -> "pd.DataFrame":
    """What `make simulate` stored below `data/simulated` under a name; `power_*` takes several.

    Example:
        >>> simulated("interval_coverage").columns[:2].tolist()
        ['kind', 'case']
    """
    import pandas as pd

    files = sorted((paths.data_dir() / "simulated").glob(f"{name}.csv"))
    return pd.concat([pd.read_csv(file) for file in files], ignore_index=True)


def straight(table: "pd.DataFrame", **how: Any) -> str:
    """A table for a terminal, its headings in the reader's language, wide letters counted twice."""
    import pandas as pd

    with pd.option_context("display.unicode.east_asian_width", True):
        names = {one: told(str(one), "heading") for one in table}
        return table.rename(columns=names).to_string(index=False, **how)


def unwrap(value: Any) -> Any:
    """A numpy scalar as Python's own, pandas' NA and NaT as None, anything else as it is."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _markup(columns: Sequence[_Column], caption: str | None) -> str:
    def row(tag: str, texts: Iterable[str]) -> str:
        cells = []
        for text, column in zip(texts, columns, strict=True):
            side = "right" if column.is_number else "left"
            # A short cell, such as a value with its interval, is never broken at a blank.
            wrap = "pre" if tag == "td" and width_of(text) <= SHORT else "pre-wrap"
            style = f"text-align: {side}; white-space: {wrap}"
            cells.append(f'<{tag} style="{style}">{escape(text)}</{tag}>')
        return f"<tr>{''.join(cells)}</tr>"

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = row("th", (one.head for one in columns))
    body = "\n".join(
        row("td", texts) for texts in zip(*(one.cells for one in columns), strict=True)
    )
    return f"<table>{title}<thead>{head}</thead><tbody>\n{body}\n</tbody></table>"


def _lines(columns: Sequence[_Column]) -> list[str]:
    """A table as lines of plain text."""
    padded = []
    for head, cells, is_number in columns:
        texts = [visible(one).replace("\n", "⏎").replace("\t", " ") for one in (head, *cells)]
        widest = max(map(width_of, texts))
        gaps = [" " * (widest - width_of(one)) for one in texts]
        both = zip(texts, gaps, strict=True)
        padded.append([gap + one if is_number else one + gap for one, gap in both])
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]


def width_of(text: str) -> int:
    """The letters of a text, wide ones (Japanese) counted twice.

    Example:
        >>> width_of("age 年齢")
        8
    """
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def display(fig: "Figure", alt: str = "") -> Any:
    """The figure as an inline PNG of 192 dots an inch, shown at 96 (an IPython Image).

    `alt` is its text alternative for readers who cannot see; by default its title.
    """
    from IPython.display import Image

    drawn = BytesIO()
    fig.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    about = told(alt or fig.get_suptitle() or "figure")
    return Image(_with_few_colours(drawn.getvalue()), alt=about, retina=True)


def _with_few_colours(png: bytes) -> bytes:
    """The same picture in 256 colours: a third of the size, and no difference that one sees."""
    from PIL import Image

    small = BytesIO()
    picture = Image.open(BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
    return small.getvalue()

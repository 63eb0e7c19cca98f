"""The page of playgrounds: what the notebooks compute when a slider moves, at every state of it.

All states are computed in Python while the pages are made, by the functions that the notebooks
call, and are kept as scripts beside the page; there `playground.js` makes the sliders, picks the
state and shows it. States of an older site are taken over where no code has changed.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data import paper_facts
from katayori.report.tables import escape
from katayori_tools import notebooks, site_play, site_vega
from katayori_tools.papers import collected
from katayori_tools.site_notebooks import Book, html_cell
from katayori_tools.site_papers import NOT_HERE, made_page, table, text
from katayori_tools.site_play import Column, Playground, Sliders
from katayori_tools.site_power import calculator

#: The notebook that stands beside the papers'; its playground is the power calculator.
OVERVIEW = "overview"
#: Digits that are kept of a number.
DIGITS = 10
KIND = "playgrounds"
OPENING = """\
# Playgrounds 試す

Move a slider: the picture and the numbers answer at once, in this page. Every answer was computed
in Python when these pages were made, by the functions that the notebooks call. A slider picks one
of the states that were computed; the notebooks have more of them, and the code.

**All answers here are simulated.** Respondents are planted, so that we know what a method should
find. No model was asked, and nothing here is a finding about one.
"""
NO_SCRIPT = "The sliders need JavaScript. This is the state in which they start:"


def names() -> set[str]:
    """The papers (and the overview) whose notebooks have a playground on the page.

    Example:
        >>> OVERVIEW in names()
        True
    """
    return {*collected("playground", "PLAYGROUNDS"), OVERVIEW}


def playgrounds() -> dict[str, Playground]:
    """All playgrounds by the papers of their notebooks, in the order of these, the calculator last.

    Example:
        >>> list(playgrounds())[-1]
        'overview'
    """
    of_papers = collected("playground", "PLAYGROUNDS")
    listed = [paper for paper in notebooks.registry() if paper in of_papers]
    return {paper: of_papers[paper] for paper in listed} | {OVERVIEW: calculator()}


# -- states ----------------------------------------------------------------------------------------


class _Pool:
    """Columns of frames, each kept once."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    def place(self, column: list[Any]) -> int:
        """The place of a column among all columns."""
        written = json.dumps(column, ensure_ascii=False, allow_nan=False)
        return self.kept.setdefault(written, len(self.kept))

    def columns(self) -> list[list[Any]]:
        """All columns, in the order of their places."""
        return [json.loads(written) for written in self.kept]


def _plain(value: Any) -> Any:
    """A value as JSON has it: ten digits of a number, and nothing for what is not defined."""
    if isinstance(value, str):
        return value
    number = float(value)
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None


def _frame(frame: pd.DataFrame, names: Iterable[str], pool: _Pool) -> dict[str, int]:
    return {name: pool.place([_plain(value) for value in frame[name]]) for name in names}


def computed(playground: Playground, code: str = "") -> dict[str, Any]:
    """A playground with all its states, as its script has it.

    Args:
        playground: what is computed. code: the hash of what computes it (`code_hash`).
    """
    pool = _Pool()
    choices = [_choice(name, own, playground, pool) for name, own in playground.choices.items()]
    return {
        "code": code,
        "title": playground.title,
        "choice": playground.choice,
        "picture": playground.picture,
        "columns": [vars(column) for column in playground.columns],
        "choices": choices,
        "pool": pool.columns(),
    }


def _choice(name: str, own: Sliders, playground: Playground, pool: _Pool) -> dict[str, Any]:
    controls = [
        {
            "name": control.name,
            "label": control.label,
            "shown": [f"{value:.{control.digits}f}" for value in control.values],
            "start": control.values.index(control.start),
        }
        for control in own.controls
    ]
    states = []
    for values in site_play.states(own.controls):
        answer = own.answer(**values)
        points = _frame(answer.points, answer.points.columns, pool)
        numbers = _frame(answer.numbers, [column.name for column in playground.columns], pool)
        states.append({"told": answer.told, "points": points, "numbers": numbers})
    return {"name": name, "controls": controls, "states": states}


def code_hash() -> str:
    """sha256 (16 digits) over all that the states rest on: code, stored simulations, packages."""
    library = paths.root() / "lib"
    files = [*library.glob("katayori/**/*.py"), *library.glob("katayori_tools/site_p*.py")]
    files += library.glob("katayori_tools/papers/*/playground.py")
    files += (paths.data_dir() / "simulated").glob("power_*.csv")
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.relative_to(paths.root()).as_posix().encode())
        whole.update(file.read_bytes())
    for package in ("numpy", "pandas", "scipy", "statsmodels", "krippendorff"):
        whole.update(f"{package} {version(package)}".encode())
    return whole.hexdigest()[:16]


def _of_older_site(older: Path, name: str, code: str) -> dict[str, Any] | None:
    """The states that an older site holds, if the same code computed them."""
    path = older / "_static" / KIND / f"{name}.js"
    if not path.is_file():
        return None
    kept: dict[str, Any] = site_vega.read_script(path)
    return kept if kept["code"] == code else None


# -- the page --------------------------------------------------------------------------------------


def playgrounds_page(books: dict[str, Book], source: Path, older: Path) -> Any:
    """The page; the states of its playgrounds are written below `source`.

    Args:
        books: the notebooks of the run, by paper. source: the folder of the sources of the pages.
        older: the folder of an older site of this run, if there is one.
    """
    code = code_hash()
    cells = [text(OPENING)]
    for name, playground in playgrounds().items():
        kept = _of_older_site(older, name, code) or computed(playground, code)
        site_vega.write_script(source, name, KIND, kept)
        cells += _section(name, playground, books.get(name), kept, source)
    return made_page([*cells, *_not_here(), text(_size(source))])


def _not_here() -> list[Any]:
    """A line for every paper whose playground is not on the page."""
    numbers = [about["notebook"][:2] for about in paper_facts.every() if about["id"] not in names()]
    return [text(NOT_HERE.format(what="playground", number=number)) for number in numbers]


def _section(
    name: str, playground: Playground, book: Book | None, kept: dict[str, Any], source: Path
) -> list[Any]:
    """Text, sliders, picture and table of one playground."""
    first = next(iter(playground.choices.values()))
    state = kept["choices"][0]["states"][site_play.start(first.controls)]
    points = {column: kept["pool"][at] for column, at in state["points"].items()}
    words = f"{playground.picture}. {state['told']}"
    drawn = playground.chart(pd.DataFrame(points))
    chart = site_vega.chart_element(drawn, f"play-{name}", words, source)
    heads = [escape(column.head) for column in playground.columns]
    rows = _rows(state["numbers"], playground.columns, kept["pool"])
    numbers = table(heads, rows, escape(playground.caption))
    states = sum(len(choice["states"]) for choice in kept["choices"])
    label = '<span class="source simulated">simulated</span>'
    about = f"<p>{label} {states:,} states, seed {site_play.SEED}.</p>"
    fallback = f'<div class="controls"><p>{NO_SCRIPT}</p></div>'
    whole = f'<div class="playground" id="playground-{name}">{fallback}{chart}{numbers}</div>'
    told = f"({site_play.anchor(name)})=\n## {playground.title}\n\n{playground.about}\n"
    if book:
        told += f"\nThe code and more states: [notebook {book.name[:2]}]({book.name}.ipynb).\n"
    return [text(told), html_cell(about + whole)]


def _rows(numbers: dict[str, int], columns: Iterable[Column], pool: list[Any]) -> list[list[str]]:
    """The table of a state, as the script would show it."""
    shown = [[_shown(value, column) for value in pool[numbers[column.name]]] for column in columns]
    return [list(row) for row in zip(*shown, strict=True)]


def _shown(value: Any, column: Column) -> str:
    if value is None:
        return f"— ({escape(column.undefined)})"
    return escape(value) if column.digits is None else f"{value:z.{column.digits}f}"


def _size(source: Path) -> str:
    """How much the page reads, in words."""
    static = source / "_static"
    answers = sum(path.stat().st_size for path in (static / KIND).glob("*.js"))
    return (
        f"The answers of all playgrounds are {answers / 1e6:.1f} MB, the scripts that draw them"
        f" {len(site_vega.bundle()) / 1e6:.1f} MB; both lie beside this page."
    )

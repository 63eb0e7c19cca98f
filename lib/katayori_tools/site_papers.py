"""The page of a paper, and the table of all: what a run says of them, computed from its results.

The words around the numbers stand under `page` in data/papers/<id>.yaml. Everything that comes from
a run is escaped; made pages are notebooks of texts and HTML, so that no text can break out of its
place.
"""

import re
from collections.abc import Container, Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.report.results import read_results
from katayori.report.side_by_side import Chosen, side_by_side
from katayori.report.tables import escape, visible
from katayori_tools import pages, site_play
from katayori_tools.markup import with_long_cells
from katayori_tools.site_notebooks import Book, html_cell, kernel

if TYPE_CHECKING:
    import pandas as pd

ASKED = ("recorded", "live", "imported")
TINY = 1e-9  # an interval that ends where the reference lies is on neither side of it
VALUES = ["Value", "95 % interval", "Blank", "Detects", "n", "Invalid", "Source"]
#: Where a paper's page says what was found.
FOUND = "what-it-found-here"
#: What stands in place of a part that the pages do not have.
NOT_HERE = "The {what} of notebook {number} is to be used in JupyterLab until it is on this page."


# -- pages and tables ------------------------------------------------------------------------------


def text(markdown: str) -> Any:
    """A cell of our own words."""
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(markdown)


def made_page(cells: list[Any]) -> Any:
    """A page of texts and HTML, as a source of Sphinx."""
    from nbformat.v4 import new_notebook

    return new_notebook(cells=cells, metadata=kernel())


def table(heads: list[str], rows: Iterable[list[str]], caption: str) -> str:
    """HTML of a table in a region that keys can scroll; heads and cells are HTML already."""
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    kind = ' class="values"' if heads[-1] == VALUES[-1] else ""
    top = f"<caption>{caption}</caption><thead><tr>{head}</tr></thead>"
    whole = with_long_cells(f"<table{kind}>{top}<tbody>{''.join(lines)}</tbody></table>")
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}">{whole}</div>'


def _value(row: dict[str, Any]) -> list[str]:
    """Value, interval, control, limit of detection, n, invalid and source of a result, as cells."""
    value, low, high = row["value"], row["ci_low"], row["ci_high"]
    if value is None:
        shown = f"— ({escape(row['status'])})"
    elif low is None and value == int(value):
        shown = f"{value:.0f}"
    else:
        shown = f"{value:z.3f}"
    sizes = ["—" if row.get(c) is None else f"{row[c]:.4f}" for c in ("control", "limit")]
    span = "—" if low is None else f"{low:z.3f} to {high:z.3f}"
    return [shown, span, *sizes, *_counts(row), _source(row["source"])]


def _counts(row: dict[str, Any]) -> list[str]:
    return ["—" if row[name] is None else f"{row[name]:,.0f}" for name in ("n", "n_invalid")]


def _source(source: str | None) -> str:
    return f'<span class="source {source}">{source}</span>' if source else "—"


class Span(tuple):
    """The smallest and largest of some values, written as one where they look the same."""

    def __format__(self, spec: str) -> str:
        return " to ".join(dict.fromkeys(format(value, spec) for value in (min(self), max(self))))


def plain(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Rows as dicts in which whatever is undefined is None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


# -- what was found --------------------------------------------------------------------------------


def found(finding: dict[str, Any], rows: list[dict[str, Any]], book: Book) -> str:
    """What one entry of a paper's `found` says of this run's results, with the rows it rests on
    folded below.

    Models that were really asked speak; only where there are none, simulated respondents do, and
    the text says so.
    """
    where = finding.get("where", {})
    chosen = _speaking(finding["what"], where, rows)
    known = [row for row in chosen if row["value"] is not None]
    if not known:
        return f"<li>This run holds no value of <em>{escape(finding['what'])}</em>.</li>"
    reference = float(Fraction(str(finding.get("reference", 0))))
    sentence = escape(_sentence(finding["says"], known, reference))
    n = [row["n"] for row in known if row["n"] is not None]
    size = f"n = {Span(n):,.0f}" if n else "n not given"
    models = ", ".join(sorted({row["model"] for row in known if row["model"]}))
    sources = " ".join(_source(source) for source in dict.fromkeys(r["source"] for r in known))
    cell = book.cell_of(f'"{re.escape(known[0]["requirement"])}"')
    origin = f'<a href="{cell}">the cell that made it</a>'
    told = f"{sources} {sentence} <small>({escape(models)}; {size}; {origin})</small>"
    lines = [[escape(row["model"] or "—"), _level(row, where), *_value(row)] for row in chosen]
    shown = table(["Model", "Level", *VALUES], lines, escape(finding["what"]))
    return f"<li>{told}<details><summary>values: {len(lines)}</summary>{shown}</details></li>"


def _speaking(what: str, where: dict[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a result at a place: of models that were asked, else of simulated respondents."""
    at = [row for row in rows if row["what"] == what and not row["verdict"]]
    at = [row for row in at if where.items() <= row["cell"].items()]
    asked = [row for row in at if row["source"] in ASKED]
    return asked or [row for row in at if row["source"] == "simulated"]


def _sentence(says: str, known: list[dict[str, Any]], reference: float) -> str:
    values = [row["value"] for row in known]
    lows = [row["ci_low"] for row in known if row["ci_low"] is not None]
    highs = [row["ci_high"] for row in known if row["ci_high"] is not None]
    return says.format(
        rows=len(known),
        span=Span(values),
        nonzero=sum(value != 0 for value in values),
        intervals=len(lows),
        below=sum(high < reference - TINY for high in highs),
        above=sum(low > reference + TINY for low in lows),
    )


def _level(row: dict[str, Any], where: dict[str, Any]) -> str:
    return escape(", ".join(str(v) for k, v in row["cell"].items() if k not in where) or "—")


# -- the pages -------------------------------------------------------------------------------------


def paper_page(
    about: dict[str, Any],
    book: Book | None,
    rows: list[dict[str, Any]],
    missing: str,
    played: Container[str] = (),
) -> Any:
    """The page of a paper for people who only read; `missing` says why there is no run, `played`
    names the papers that have a playground.
    """
    page = about["page"]
    opening = f"# {page['title']}\n\n**In one sentence:** {about['asks']}\n\n"
    banner = pages.banner(book.folder) if book else ""
    japanese = f'<p lang="ja">{escape(page["ja"])}</p>'
    cells = [text(opening), html_cell(japanese + _figure(page, book) + banner)]
    cells.append(text("## What it found here"))
    if book:
        findings = "".join(found(one, rows, book) for one in page["found"])
        cells.append(html_cell(visible(f"<ul>{findings}</ul>")))
    else:
        cells.append(html_cell(f'<p class="missing">{escape(missing)}</p>'))
    cells += [
        text("## What it cannot see\n\n" + _listed(page["cannot_see"])),
        text(f"## The question\n\n{page['question']}"),
        text(
            f"## The method\n\n{_numbered(page['method'])}\n\nDenominator: {about['denominator']}."
        ),
        *([html_cell(_way_to_playground(about["id"]))] if about["id"] in played else []),
        text("## What differs from the paper\n\n" + _listed(page["differs"])),
    ]
    cells.append(text(_how_to_run(about, book)))
    if book:
        cells.append(html_cell(f'<p class="foot">{escape(pages.footer(book.folder))}</p>'))
    return made_page(cells)


def _way_to_playground(paper: str) -> str:
    there = site_play.link(paper, "its playground")
    return f"<p>What can it find? Move the sliders of {there}, where we planted the answers.</p>"


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1))


def _figure(page: dict[str, Any], book: Book | None) -> str:
    """The main figure with its words and ways to its place."""
    if book is None:
        return ""
    made = book.figure_of(page["figure"])
    if made is None:
        return "<p>The main figure is not drawn in this run.</p>"
    about = escape(made.about or made.label)
    links = (
        f'<a href="{book.file}#{made.anchor}">{made.label} of the notebook</a> ·'
        f' <a href="{book.file}#code-{made.cell}">the cell that made it</a>'
    )
    picture = f'<img alt="{about}" src="{made.picture}">'
    return f"<figure>{picture}<figcaption>{about}. {links}</figcaption></figure>"


def _how_to_run(about: dict[str, Any], book: Book | None) -> str:
    commands = (
        f"make reproduce PAPERS={about['id']}\n"
        f"make live PAPERS={about['id']} MODELS=your-model@custom"
    )
    told = "The first replays recorded answers and needs no key, the second asks a model of yours."
    step = f" Every step: [notebook {about['notebook'][:2]}]({book.name}.ipynb)." if book else ""
    return f"## How to run it\n\n```sh\n{commands}\n```\n\n{told}{step}"


def papers_page(
    opening: str, papers: list[dict], books: dict[str, Book], absent: dict[str, str], base: Path
) -> Any:
    """The papers with their state in this run, and the headlines of every model with source
    and n.
    """
    lines = []
    for about in papers:
        name, book = about["id"], books.get(about["id"])
        link = f'<a href="{name}.html">{escape(about["page"]["title"])}</a>'
        made = f'<a href="{book.file}">{about["notebook"]}</a>' if book else about["notebook"]
        state = _state(book) if book else absent[name]
        lines.append([link, escape(about["asks"]), made, escape(state)])
    heads = ["Paper", "Asks", "Notebook", "State in this run"]
    listed = table(heads, lines, f"The papers, run “{escape(base.name)}”")
    cells = [text(opening), html_cell(listed), text("## Headline results\n\n" + READ_FIRST)]
    return made_page([*cells, html_cell(_headlines(base))])


READ_FIRST = (
    "**Read the source label first.** *Recorded* answers are real replies of small local models "
    "and say nothing about larger ones. *Simulated* respondents have planted behaviour and only "
    "prove that a measure works. The questions are our own unless a page says otherwise, so no "
    "figure here replicates a published one. A dash says why there is no value."
)


def _state(book: Book) -> str:
    answers = pages.read(book.folder / "provenance.json").get("answers", {})
    return ", ".join(f"{n:,} {source} answers" for source, n in answers.items()) or "run"


def _headlines(base: Path) -> str:
    # Where nobody was asked, the respondents we made stand in, labelled as such.
    run = Chosen(base.name, read_results(base))
    lines = [
        [
            escape(row["model"]),
            f'<a href="{row["paper"]}.html#{FOUND}">{row["paper"]}</a>: {escape(row["measure"])}',
            escape(row["shown"]),
            *_counts(row),
            _source(row["source"]),
        ]
        for row in (plain(side_by_side([run])) if run.names else [])
    ]
    heads = ["Model", "Paper and measure", "Value [95 % interval]", "n", "Invalid", "Source"]
    return table(heads, lines, "The headlines of every model, by paper")

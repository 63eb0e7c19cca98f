"""Pages that gather what lies in a run: all figures and tables, and the terms."""

import shutil
from pathlib import Path
from typing import Any

from katayori.report.tables import escape
from katayori_tools.site_notebooks import Book, Made, html_cell
from katayori_tools.site_papers import made_page, table, text

#: The folder below the pages that holds what can be downloaded.
FILES = "files"
KINDS = {"results.json": "results", "provenance.json": "provenance"}


def gallery_page(books: dict[str, Book], site: Path) -> Any:
    """Every figure and table of the run, with its place and its files; these are copied."""
    opening = (
        "# All figures and tables\n\nEvery figure and table of this run, by notebook. A label leads"
        " to its place; below it stand the files with every figure as SVG and PNG, every table as"
        " CSV in full precision, the results and where they come from."
    )
    cells = [text(opening)]
    for book in books.values():
        cells.append(text(f"## {book.title}"))
        figures = "".join(_thumbnail(book, made) for made in book.made if made.is_figure)
        tables = "".join(_line(book, made) for made in book.made if not made.is_figure)
        shown = f'<div class="gallery">{figures}</div>' if figures else ""
        listed = f"<ul>{tables}</ul>" if tables else ""
        cells.append(html_cell(shown + listed + _downloads(book, site)))
    return made_page(cells)


def _thumbnail(book: Book, made: Made) -> str:
    about = escape(made.about or made.label)
    link = f'<a href="{book.file}#{made.anchor}">{made.label}</a>'
    picture = f'<img loading="lazy" alt="{about}" src="{made.picture}">'
    return f"<figure>{picture}<figcaption>{link}: {about}</figcaption></figure>"


def _line(book: Book, made: Made) -> str:
    link = f'<a href="{book.file}#{made.anchor}">{made.label}</a>'
    return f"<li>{link}: {escape(made.about)}</li>"


def _downloads(book: Book, site: Path) -> str:
    """Links to copies of the files of a notebook's run, folded."""
    names = [name for name in KINDS if (book.folder / name).is_file()]
    for folder, endings in (("figures", (".svg", ".png")), ("tables", (".csv",))):
        below = sorted((book.folder / folder).glob("*"))
        names += [f"{folder}/{path.name}" for path in below if path.suffix in endings]
    links = []
    for name in names:
        target = site / FILES / book.paper / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(book.folder / name, target)
        file = escape(f"{FILES}/{book.paper}/{name}")
        links.append(f'<li><a download href="{file}">{escape(name)}</a></li>')
    if not links:
        return ""
    label = f"Download: {len(links)} files"
    listed = f'<ul class="files">{"".join(links)}</ul>'
    return f"<details><summary>{label}</summary>{listed}</details>"


def glossary_page(terms: list[dict[str, Any]]) -> Any:
    """The terms of all notebooks, English and Japanese, with what computes them."""
    opening = "# Glossary 用語集\n\nOne term, one meaning, in all notebooks."
    lines = []
    for term in sorted(terms, key=lambda one: one["term"].lower()):
        papers = "all" if term["papers"] == "all" else ", ".join(term["papers"])
        see = f"<code>katayori.{escape(term['see'])}</code>" if term["see"] else "—"
        names = [term["ja"], *term.get("also", [])]
        japanese = f'<span lang="ja">{escape("、".join(names))}</span>'
        lines.append([escape(term["term"]), japanese, escape(term["meaning"]), escape(papers), see])
    heads = ["Term", "日本語", "Meaning", "Notebooks", "Computed by"]
    return made_page([text(opening), html_cell(table(heads, lines, "Terms of the notebooks"))])

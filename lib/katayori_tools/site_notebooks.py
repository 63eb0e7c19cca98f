"""Executed notebooks of a run as sources of pages: outputs made safe, figures and tables numbered.

Sphinx reads the text and the code. Outputs become HTML here, by the same steps as in reports:
nothing acts, controls are visible, no path of this machine shows. Pictures become files.
"""

import base64
import copy
import hashlib
import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from katayori.report.tables import escape, visible
from katayori_tools import pages, site_play
from katayori_tools.markup import alternative, caption, readable, with_long_cells

#: Outputs, each between two comments, which no output can hold once it is clean.
TEMPLATE = """{% extends 'basic/index.html.j2' %}
{% block input_group %}{% endblock %}
{% block output_area_prompt %}{% endblock %}
{% block output %}<!--katayori {{ output.metadata.katayori }}-->{{ super()
}}<!--/katayori-->{% endblock %}"""
MARKED = re.compile(r"<!--katayori (\S+)-->(.*?)<!--/katayori-->", re.DOTALL)
EMBEDDED = re.compile(r'src="data:image/(png|jpeg|svg\+xml);base64,([^"]+)"')
ENDED = re.compile(r"</(caption|div|figcaption|li|p|summary|td|th)>")
#: What makes sliders in a notebook.
PLAYED = re.compile(r"^(playground|calculator)\(", re.M)
PICTURES = "pictures"
#: Drawings below so many characters, which are formulas, stay in the page.
SMALL = 4000
#: What nbconvert says of a picture without words.
NO_WORDS = 'alt="No description has been provided for this image"'


@dataclass(frozen=True)
class Made:
    """A figure or table of a notebook: its anchor, its label, what it shows, and its cell."""

    anchor: str
    label: str
    about: str
    cell: str
    picture: str  # a file below the pages; empty for a table

    @property
    def is_figure(self) -> bool:
        return bool(self.picture)


@dataclass
class Book:
    """One notebook of the run: where it lies, its page, and what can be found in it."""

    paper: str
    folder: Path
    name: str  # of its page
    notebook: Any
    title: str
    made: list[Made] = field(default_factory=list)

    @property
    def file(self) -> str:
        return f"{self.name}.html"

    def cell_of(self, pattern: str) -> str:
        """A link's end (page#anchor) at the first cell of code in which the pattern is found; the
        page if in none.
        """
        cells = (
            cell["id"]
            for cell in self.notebook.cells
            if cell.cell_type == "code" and re.search(pattern, cell.source)
        )
        return next((f"{self.file}#code-{one}" for one in cells), self.file)

    def figure_of(self, name: str) -> Made | None:
        """The figure drawn by the cell that keeps a figure under this name."""
        _, _, cell = self.cell_of(rf'figure\(f?"{re.escape(name)}"').partition("#code-")
        drawn = (made for made in self.made if made.is_figure and made.cell == cell)
        return next(drawn, None)


def read_book(
    paper: str, folder: Path, path: Path, site: Path, played: Container[str] = ()
) -> Book:
    """The notebook of a run folder, its outputs as HTML; pictures are written below `site`.

    A playground of one of the papers `played` would be dead on a page: a link stands in its place.
    """
    notebook = pages.load(path)
    book = Book(paper, folder, path.stem, notebook, visible(pages.title(notebook)) or path.stem)
    _name_cells(notebook)
    outputs = _rendered(notebook, folder)
    counts: Counter[str] = Counter()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if paper in played and PLAYED.search(cell.source) and cell.outputs:
                cell.outputs = [html_output(_way_to_playground(paper))]
            else:
                _replace_outputs(book, cell, outputs, counts, site)
    return book


def _way_to_playground(paper: str) -> str:
    there = site_play.link(paper, "the page of playgrounds")
    return f'<p class="elsewhere">Move the sliders on {there}: they answer there.</p>'


def _name_cells(notebook: Any) -> None:
    for n, cell in enumerate(notebook.cells):
        cell["id"] = re.sub(r"[^\w-]", "", cell.get("id", "")) or f"cell-{n}"
        for place, output in enumerate(cell.get("outputs", [])):
            output.setdefault("metadata", {})["katayori"] = f"{cell['id']}/{place}"


def _rendered(notebook: Any, folder: Path) -> dict[str, str]:
    """The HTML of each output, by the name it was given."""
    bare = copy.copy(notebook)
    bare.cells = [cell for cell in notebook.cells if cell.get("outputs")]
    return dict(MARKED.findall(pages.render(bare, folder.absolute(), TEMPLATE)))


def _replace_outputs(
    book: Book, cell: Any, outputs: dict[str, str], counts: Counter[str], site: Path
) -> None:
    """The outputs of a cell as HTML of the page, figures and tables under their names."""
    parts = []
    for output in cell.outputs:
        markup = with_files(outputs[output.metadata["katayori"]].strip(), site)
        kind, about = _kind(output, markup)
        if kind:
            counts[kind] += 1
            made = _made(f"{kind.capitalize()} {counts[kind]}", about, cell["id"], markup)
            book.made.append(made)
            markup = framed(made, markup)
        parts.append(markup)
    cell.outputs = [html_output("\n".join(parts))] if parts else []


def _kind(output: Any, markup: str) -> tuple[str, str]:
    """Whether an output is a figure or a table, and its words; empty for other outputs."""
    data = output.get("data", {})
    html = "".join(data.get("text/html", ""))
    if "image/png" in data and not html:
        return "figure", output.metadata.get("image/png", {}).get("alt", "")
    words = alternative(html)
    if words is not None:
        return "figure", words
    words = caption(html)
    return ("", "") if words is None else ("table", words)


def _made(label: str, about: str, cell: str, markup: str) -> Made:
    picture = re.search(rf'src="({PICTURES}/[^"]+)"', markup)
    anchor = label.lower().replace(" ", "-")
    return Made(anchor, label, about, cell, picture[1] if picture else "")


def framed(made: Made, markup: str) -> str:
    """A figure or table under its anchor, with its label and a way to the cell that made it."""
    markup = markup.replace(NO_WORDS, f'alt="{made.label}"')
    markup = readable(with_long_cells(markup), f"{made.label}: {made.about}")
    about = f": {escape(made.about)}" if made.is_figure and made.about else ""
    origin = (
        f'<p class="origin"><a href="#{made.anchor}">{made.label}</a>{about} ·'
        f' <a href="#code-{made.cell}">the cell that made it</a></p>'
    )
    return f'<div class="made" id="{made.anchor}">\n{markup}\n{origin}</div>'


def with_files(markup: str, site: Path) -> str:
    """The HTML with its larger pictures as files below `site`, read when they come into view."""

    def file(found: re.Match[str]) -> str:
        if found[1] == "svg+xml" and len(found[2]) < SMALL:
            return found[0]
        content = base64.b64decode(found[2])
        ending = found[1].removesuffix("+xml")
        name = f"{PICTURES}/{hashlib.sha256(content).hexdigest()[:16]}.{ending}"
        (site / PICTURES).mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
        return f'loading="lazy" src="{name}"'

    return EMBEDDED.sub(file, markup)


def html_output(markup: str) -> Any:
    """An output of a notebook that is this HTML.

    The search takes tags out, so a line ends after what must not grow together with the next word.
    """
    from nbformat.v4 import new_output

    return new_output("display_data", data={"text/html": ENDED.sub(r"\g<0>\n", markup)})


def page_of(book: Book) -> Any:
    """The notebook as a source of Sphinx, the origin of answers under the title.

    Code that only draws or shows is folded.
    """
    from nbformat.v4 import new_markdown_cell, new_notebook

    cells = [new_markdown_cell(f"# {book.title}"), html_cell(pages.banner(book.folder))]
    for cell in book.notebook.cells:
        source = visible(cell.source)
        if cell.cell_type == "markdown":
            if source.startswith(f"# {book.title}"):
                source = source.removeprefix(f"# {book.title}")
            cells.append(new_markdown_cell(source))
        elif cell.cell_type == "code" and source.strip():
            cells.append(_code_cell(cell, folded=not pages.shows_method(cell)))
    cells.append(html_cell(f'<p class="foot">{escape(pages.footer(book.folder))}</p>'))
    return new_notebook(cells=cells, metadata=kernel())


def _code_cell(cell: Any, *, folded: bool) -> Any:
    """The cell, its code perhaps folded; `code_id` becomes the anchor of the code (site_sphinx)."""
    from nbformat.v4 import new_code_cell

    tags = ["hide-input"] if folded else []
    about = {"tags": tags, "code_id": f"code-{cell['id']}"}
    return new_code_cell(visible(cell.source), outputs=cell.outputs, metadata=about)


def html_cell(markup: str) -> Any:
    """A cell that shows HTML and no code."""
    from nbformat.v4 import new_code_cell

    tags = {"tags": ["remove-input"]}
    return new_code_cell("0", outputs=[html_output(markup)], metadata=tags)


def kernel() -> dict[str, Any]:
    """The metadata that tell which language the cells are."""
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"kernelspec": spec, "language_info": {"name": "python"}}

"""`make slides`: a talk of each notebook, for lectures.

A cell tagged `slide` holds a list of slides under `talk` in its metadata (`Slide`). A slide can
show the cell's one picture, one small table, its printed text or its code. What a headline says of
a finding is found in what the run printed, so that it changes with the run. nbconvert makes of a
talk one HTML file (slides.html, slides.css) with a script of ours (slides.js) that shows one slide
at a time, and the speaker's notes when they are asked for; without scripts, and printed, all stand
below one another. It asks the network for nothing.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from nbformat.v4 import new_code_cell, new_output
from pydantic import Field, model_validator

from katayori import paths, profiles, run_folders
from katayori.data import paper_facts
from katayori.data.schema import Count, Schema, Text, checked
from katayori.errors import KatayoriError
from katayori.language import told
from katayori.report import first_page
from katayori_tools import notebooks, pages, paper_files
from katayori_tools.choices import Papers
from katayori_tools.pages import tree

TAG = "slide"
#: What stands at the foot of a slide that shows answers.
LABELS = {
    "simulated": "simulated respondents",
    "published": "figures printed in the paper",
}
#: A name in a text, which stands for what was found: {{gap}}.
NAME = re.compile(r"\{\{(\w+)\}\}")
#: The heading that a section begins with.
HEADING = re.compile(r"## (\d+) ·")
#: The outputs that a slide shows whole, and the element that it takes out of an output's HTML.
WHOLE = {"figure": {"image/png", "image/svg+xml"}, "text": {"stdout"}, "code": {"stdout"}}
PART = {"figure": "img", "table": "table", "text": "pre"}


# -- what stands in a cell -------------------------------------------------------------------------


class Slide(Schema):
    """One slide, as it stands in the metadata of a cell.

    Attributes:
        headline: the message, at most 100 characters; {{name}} stands for what `find` finds. A
            slide that shows a figure needs none: the figure's title is its message.
        notes: for the speaker, in markdown. minutes: how long it takes.
        kind: title (the first one), question (to the room) or plain.
        body: a short text below the headline, in markdown. show: what of the cell stands below.
        source: whose answers these are (`answers`: those of the run, whatever their source);
            needed where something but code is shown.
        rows: which rows of a table, or lines of the code, are shown, from 1 (empty: all).
        columns: the same of a table's columns.
        find: name -> regular expression, searched in what the notebook printed; its group counts.
        otherwise: the headline of a run in which one of them is not found.
    """

    notes: Text
    minutes: Annotated[int | float, Field(gt=0)]
    headline: str = ""
    kind: Literal["plain", "title", "question"] = "plain"
    body: str = ""
    show: Literal["nothing", "figure", "table", "text", "code"] = "nothing"
    source: Literal["answers", "simulated", "published"] | None = None
    rows: list[Count] = Field(default_factory=list)
    columns: list[Count] = Field(default_factory=list)
    find: dict[str, re.Pattern[str]] = Field(default_factory=dict)
    otherwise: str = ""

    @model_validator(mode="after")
    def _is_complete(self) -> "Slide":
        if not self.headline and self.show != "figure":
            raise ValueError("needs a headline: only a figure has a title of its own")
        if self.show in PART and self.source is None:
            raise ValueError(f"shows a {self.show} and must name its source")
        return self


def fill(cells: list[Any], leave_out: frozenset[str] = frozenset()) -> list[Any]:
    """The slides of executed cells, without those that the run has nothing for.

    Args:
        cells: of the notebook. leave_out: tags of cells whose slides do not belong to this run.

    Returns:
        a code cell a slide: what it shows of its cell, and in the metadata the fields of `Slide`
        with what was found, and the number of the section.

    Raises KatayoriError naming the cell whose metadata is wrong.
    """
    printed = "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for cell in cells
        for output in cell.get("outputs", [])
    )
    filled: list[Any] = []
    section = ""
    for cell in cells:
        section = heading[1] if (heading := HEADING.match(cell.source)) else section
        for slide in slides_of(cell, leave_out):
            outputs = _exhibit(cell, slide)
            if slide.show in PART and not outputs:
                continue
            lines = enumerate(cell.source.split("\n") if slide.show == "code" else [], 1)
            code = "\n".join(line for n, line in lines if not slide.rows or n in slide.rows)
            texts = _filled(slide, printed)
            for output in outputs if not texts["headline"] else []:
                picture: Any = tree(output.data.get("text/html", "")).img or {}
                about = output.metadata.get("image/png") or picture
                texts["headline"] = str(about.get("alt", ""))
            filled.append(
                new_code_cell(code, outputs=outputs, metadata=texts | {"section": section})
            )
    return filled


def slides_of(cell: Any, leave_out: frozenset[str] = frozenset()) -> list[Slide]:
    """The slides of one cell; none where it is not tagged, or with a tag that is left out."""
    tags = cell.metadata.get("tags", [])
    if TAG not in tags or leave_out & set(tags):
        return []
    where = f"cell {cell.get('id', '?')}, metadata talk"
    return checked(list[Slide], json.loads(json.dumps(cell.metadata.get("talk"))), where)


def _exhibit(cell: Any, slide: Slide) -> list[Any]:
    """The output that a slide shows of its cell; empty where it shows none or the run has none."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if WHOLE.get(slide.show, set()) & {output.get("name"), *data}:
            return [output]
        page = tree(data.get("text/html", ""))
        if slide.show in PART and (part := page.select_one(PART[slide.show])):
            for parts, numbers in (("tbody tr", slide.rows), ("tr > *", slide.columns)):
                named = ", ".join(f":nth-child({number})" for number in numbers)
                for one in part.select(f"{parts}:not({named})") if numbers else []:
                    one.decompose()
            return [new_output("display_data", {"text/html": str(part)})]
    return []


def _filled(slide: Slide, printed: str) -> dict[str, Any]:
    """The slide with each {{name}} replaced; its other headline where something is not found."""
    hits = {n: re.search(one.pattern, printed, re.M) for n, one in slide.find.items()}
    found = {name: " ".join(hit[hit.lastindex or 0].split()) for name, hit in hits.items() if hit}
    texts = slide.model_dump(exclude={"find"})
    texts["headline"] = slide.headline if all(hits.values()) else slide.otherwise
    for key in ("headline", "body", "notes"):
        texts[key] = NAME.sub(lambda hit: found.get(hit[1], "—"), texts[key])
    return texts


# -- slides ----------------------------------------------------------------------------------------


def slides(*, papers: Papers = "", profile: str = "", models: str = "") -> None:
    """Writes a talk of each notebook that has one.

    Args:
        papers: by name or number (all). profile: of the notebooks of this run, as far as there are;
            without it of the committed ones. models: of a live or imported run, the models it
            asked.
    """
    books, folder = notebooks.choose(papers), paths.outputs_dir() / "slides"
    if paths.language() != "en":  # the committed ones are English
        profile = profile or "recorded"
    if profile:
        run = run_folders.only_run(
            profiles.load(profile), notebooks.names(models), run_folders.run_label()
        )
        books = {paper: run / paper / path.name for paper, path in books.items()}
        folder /= run.relative_to(paths.outputs_dir())
    lost = [paper for paper, path in books.items() if not path.exists()]
    if lost and (papers or len(lost) == len(books)):
        again = f"make reproduce PROFILE={profile}" + (f" MODELS='{models}'" if models else "")
        raise KatayoriError(
            f"profile {profile} holds no run of {', '.join(lost)}; make one: {again}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path in filter(Path.exists, books.values()):
        print(write_talk(path, folder / f"{path.stem}.html"))
    print(f"written to {folder}; arrow keys turn the slides, N shows and hides the notes")


def write_talk(ipynb_path: Path, html_path: Path) -> str:
    """Writes the talk of an executed notebook, and returns one line about it.

    Nothing is written of a notebook without slides.

    Args:
        ipynb_path: of the notebook. html_path: of the talk.
    """
    notebook, folder = pages.load(ipynb_path), ipynb_path.parent.absolute()
    heading = pages.title(notebook)
    # Cells that speak of recorded models have no slides in a talk about a user's own.
    left_out = pages.LEFT_OUT if first_page.is_own(folder) else frozenset()
    notebook.cells = fill(notebook.cells, left_out)
    if not notebook.cells:
        html_path.unlink(missing_ok=True)
        return f"{ipynb_path.stem}: no talk: no cell is tagged `{TAG}`"
    number, _, paper = ipynb_path.stem.partition("_")
    counts = run_folders.noted(folder, "provenance.json").get("answers", {})
    sources = [one for one in pages.MEANING if one in counts and one != "simulated"]
    # A committed notebook has recorded ones; simulated respondents are named where they are shown.
    answers = f"{' and '.join(sources or ['recorded'])} answers"
    for about in (cell.metadata for cell in notebook.cells):
        label = [LABELS.get(about.source, answers)] if about.source else []
        label += [f"notebook {number}, section {about.section}"] if about.section else []
        about["label"] = " · ".join(map(told, label))
    notebook.cells[0].metadata["cited"] = citations(paper)
    template, style, script = (
        Path(__file__).with_name(f"slides.{kind}").read_text(encoding="utf-8")
        for kind in ("html", "css", "js")
    )
    body = pages.render(notebook, folder, template)
    content = f"<main>{body}</main><footer id='turn'></footer><script>{script}</script>"
    policy = f"{pages.POLICY}; script-src {pages.source(script)}"
    html = pages.document(heading or html_path.stem, content, policy=policy, style=style)
    html_path.write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")
    minutes = sum(cell.metadata.minutes for cell in notebook.cells)
    return f"{ipynb_path.stem}: {len(notebook.cells)} slides, {minutes:g} minutes"


def citations(paper: str) -> list[str]:
    """Authors, title and year of a paper as a line of text; of the overview, of every paper.

    Example:
        >>> len(citations("overview")) > len(citations(paper_facts.ids()[0]))
        True
    """
    ids = [paper] if paper in paper_facts.ids() else paper_facts.ids()
    lines = []
    for one in filter(None, (paper_files.of(one).get("cited") for one in ids)):
        year = f" ({one['year']})" if one["year"] else ""
        lines.append(f"{', '.join(one['authors'])}: {one['title']}{year}")
    return lines

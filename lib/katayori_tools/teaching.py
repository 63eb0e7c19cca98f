"""For lecturers: `make students` writes copies of the notebooks to hand out, `make slides` a talk
of each.

A talk is one HTML file with a script of ours (slides.js) that shows one slide at a time, and the
speaker's notes when they are asked for; without scripts, and printed, all stand below one another.
It asks the network for nothing.
"""

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from katayori import paths, profiles
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.report import first_page
from katayori.report.tables import escape
from katayori_tools import notebooks, pages, talk

#: A cell is a part of a slide; `before` and `after` are the tags that hold the parts together.
TEMPLATE = """{% extends 'basic/index.html.j2' %}
{% block any_cell %}{{ cell.metadata.before }}{{ super() }}{{ cell.metadata.after }}{% endblock %}
{% block input_group %}{% endblock %}"""
#: What stands at the foot of a slide that shows answers.
LABELS = {
    "simulated": "simulated respondents",
    "published": "figures printed in the paper",
    "example": "made-up example",
}
RECORDED = "recorded answers"
#: Cells that speak of recorded models have no slides in a talk about a user's own.
OF_OTHERS = frozenset({"recorded", "exercise"})
NO_TALK = "no talk: no cell is tagged `slide`"


# -- students --------------------------------------------------------------------------------------


def students(*, papers: str | None = None) -> None:
    """Writes the notebooks to outputs/students without what solves the exercises."""
    folder = paths.outputs_dir() / "students"
    folder.mkdir(parents=True, exist_ok=True)
    for path in notebooks.choose(papers).values():
        handed_out, count = student_copy(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(handed_out, ensure_ascii=False, indent=1) + "\n"
        (folder / path.name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{path.name}: {count} exercises")
    print(f"written to {folder}; the solutions stay in notebooks/solutions")


def student_copy(notebook: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """A notebook to hand out, and the number of its exercises.

    The answers stand in the library; a cell asks it by the number of the exercise. What a check
    has printed is taken out.
    """
    handed_out = copy.deepcopy(notebook)
    count = 0
    for cell in handed_out["cells"]:
        if cell["cell_type"] == "code" and "\ncheck(" in "".join(cell["source"]):
            cell["outputs"] = []
            count += 1
    return handed_out, count


# -- slides ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Occasion:
    """Who gives a talk, and when; empty where it is not said."""

    lecturer: str = ""
    date: str = ""


def slides(
    *,
    papers: str | None = None,
    profile: str | None = None,
    models: str | None = None,
    lecturer: str = "",
    date: str = "",
) -> None:
    """Writes a talk of each notebook that has one.

    With a profile: of its run, as far as there is one; else of the committed notebooks.
    """
    books, folder = notebooks.choose(papers), paths.outputs_dir() / "slides"
    if profile:
        asked = notebooks.names(models)
        run = paths.only_run(profiles.load(profile), asked, paths.run_label())
        in_run = {paper: run / paper / path.name for paper, path in books.items()}
        books = {paper: path for paper, path in in_run.items() if path.exists()}
        folder /= run.relative_to(paths.outputs_dir())
        lost = ", ".join(in_run.keys() - books.keys())
        if not books or (papers and lost):
            again = f"PROFILE={profile}" + (f" MODELS='{' '.join(asked)}'" if asked else "")
            raise KatayoriError(
                f"profile {profile} holds no run of {lost}; make one: make reproduce {again}"
            )
    folder.mkdir(parents=True, exist_ok=True)
    occasion = Occasion(lecturer, date)
    for path in books.values():
        for line in write_talk(path, folder / f"{path.stem}.html", occasion):
            print(f"{path.stem}: {line}")
    print(f"written to {folder}; arrow keys turn the slides, N shows and hides the notes")


def write_talk(ipynb_path: Path, html_path: Path, occasion: Occasion = Occasion()) -> list[str]:
    """Writes the talk of an executed notebook, and returns what is to be said of it.

    Nothing is written of a notebook without slides.
    """
    notebook, folder = pages.load(ipynb_path), ipynb_path.parent.absolute()
    own = first_page.is_own(folder)
    given, lacking = talk.fill(notebook.cells, OF_OTHERS if own else frozenset())
    if not given:
        html_path.unlink(missing_ok=True)
        return [NO_TALK]
    paper = ipynb_path.stem.partition("_")[2]
    cited = citations(paper)
    answers = _answers(folder)
    whole = talk.minutes(given)
    notebook.cells = []
    start = 0.0
    for number, one in enumerate(given, 1):
        end = start + one.slide.minutes
        clock = f"Slide {number} of {len(given)} · minutes {start:g} to {end:g} of {whole:g}"
        foot = _foot(one, answers, ipynb_path.stem[:2])
        below = _on_title(cited, occasion) if one.slide.kind == "title" else ""
        notebook.cells += _parts(one, clock, foot, below)
        start = end
    _write_page(notebook, folder, html_path, pages.title(pages.load(ipynb_path)))
    told = [f"{len(given)} slides, {whole:g} minutes"]
    if lacking:
        told.append(f"{lacking} slides are left out: this run has no such figure or table")
    return told if own or lacking else [*told, *talk.breaches(given)]


def _write_page(notebook: Any, folder: Path, html_path: Path, heading: str) -> None:
    here = Path(__file__)
    script = here.with_name("slides.js").read_text(encoding="utf-8")
    style = here.with_name("slides.css").read_text(encoding="utf-8")
    body = pages.render(notebook, folder, TEMPLATE)
    content = f"<main>{body}</main><footer id='place'></footer><script>{script}</script>"
    policy = f"{pages.POLICY}; script-src {pages.source(script)}"
    html = pages.document(heading or html_path.stem, content, policy=policy, style=style)
    html_path.write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")


def citations(paper: str) -> list[str]:
    """Authors, title and year of a paper as a line of text; of the overview, of every paper.

    Example:
        >>> len(citations("overview")) > len(citations(paper_facts.ids()[0]))
        True
    """
    ids = [paper] if paper in paper_facts.ids() else paper_facts.ids()
    known = [paper_facts.of(one).get("cited") for one in ids]
    return [_citation(cited) for cited in known if cited]


def _citation(cited: dict[str, Any]) -> str:
    year = f" ({cited['year']})" if cited.get("year") else ""
    return f"{', '.join(cited['authors'])}: {cited['title']}{year}"


def _answers(folder: Path) -> str:
    """Whose answers a run shows: what its provenance says; a committed notebook has recorded ones.

    Simulated respondents are named where they are shown.
    """
    counts = pages.read(folder / "provenance.json").get("answers", {})
    sources = [source for source in pages.MEANING if source in counts and source != "simulated"]
    return f"{' and '.join(sources)} answers" if sources else RECORDED


def _foot(one: talk.Filled, answers: str, number: str) -> str:
    """The label below a slide: whose answers, and where in the notebook."""
    source = one.slide.source
    parts = [LABELS.get(source, answers)] if source else []
    parts.append(f"notebook {number}, section {one.section}" if one.section else "")
    return " · ".join(part for part in parts if part)


def _on_title(cited: list[str], occasion: Occasion) -> str:
    """Papers, lecturer and date, below the headline of the first slide."""
    lines = [*cited, " · ".join(part for part in (occasion.lecturer, occasion.date) if part)]
    return "".join(f"\n\n<p>{escape(line)}</p>" for line in lines if line)


def _parts(one: talk.Filled, clock: str, foot: str, below: str) -> list[Any]:
    """The cells of one slide: its text, what it shows, and the notes."""
    from nbformat.v4 import new_code_cell, new_markdown_cell

    exhibit = [new_markdown_cell(f"```python\n{one.code}\n```")] if one.code else []
    if one.exhibit is not None:
        exhibit.append(new_code_cell("", outputs=[one.exhibit]))
    if exhibit:
        exhibit[0].metadata["before"] = '<div class="exhibit">'
        exhibit[-1].metadata["after"] = "</div>"
    looks = one.slide.kind if exhibit else f"{one.slide.kind} words"
    opening = f'<section class="slide {looks}"><div class="face">'
    text = f"# {one.headline}\n\n{one.body}{below}"
    cells = [new_markdown_cell(text, metadata={"before": opening}), *exhibit]
    label = f'<p class="label">{escape(foot)}</p></div>'
    notes = f"**{clock}**\n\n{one.notes}"
    closing = {"before": f'{label}<aside class="notes">', "after": "</aside></section>"}
    return [*cells, new_markdown_cell(notes, metadata=closing)]

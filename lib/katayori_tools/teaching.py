"""For lecturers: `make students` writes copies of the notebooks to hand out, `make slides` a talk
of each.

nbconvert makes both. A talk is one HTML file (slides.html, slides.css) with a script of ours
(slides.js) that shows one slide at a time, and the speaker's notes when they are asked for; without
scripts, and printed, all stand below one another. It asks the network for nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from katayori import paths, profiles, run_folders
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori_tools import first_page, notebooks, pages, paper_files, talk

#: What stands at the foot of a slide that shows answers.
LABELS = {
    "simulated": "simulated respondents",
    "published": "figures printed in the paper",
    "example": "made-up example",
}
#: Cells that speak of recorded models have no slides in a talk about a user's own.
OF_OTHERS = frozenset({"recorded", "exercise"})
NO_TALK = "no talk: no cell is tagged `slide`"


# -- students --------------------------------------------------------------------------------------


def students(*, papers: str | None = None) -> None:
    """Writes the notebooks to outputs/students without what solves the exercises.

    The answers stand in the library; a cell asks it by the number of the exercise. What a check
    has printed is taken out.
    """
    from nbconvert import NotebookExporter
    from nbconvert.preprocessors import Preprocessor

    class WithoutChecks(Preprocessor):
        enabled = True

        def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
            if cell.cell_type == "code" and "\ncheck(" in cell.source:
                cell.outputs = []
                resources["exercises"] = resources.get("exercises", 0) + 1
            return cell, resources

    folder = paths.outputs_dir() / "students"
    folder.mkdir(parents=True, exist_ok=True)
    exporter = NotebookExporter(preprocessors=[WithoutChecks])
    for path in notebooks.choose(papers).values():
        text, told = exporter.from_filename(str(path))
        (folder / path.name).write_text(str(text), encoding="utf-8", newline="\n")
        print(f"{path.name}: {told.get('exercises', 0)} exercises")
    print(f"written to {folder}; the solutions stay in notebooks/solutions")


# -- slides ----------------------------------------------------------------------------------------


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
        run = run_folders.only_run(
            profiles.load(profile), notebooks.names(models), run_folders.run_label()
        )
        books = {paper: run / paper / path.name for paper, path in books.items()}
        folder /= run.relative_to(paths.outputs_dir())
    made = [path for path in books.values() if path.exists()]
    if not made or (papers and len(made) < len(books)):
        lost = ", ".join(paper for paper, path in books.items() if not path.exists())
        again = f"make reproduce PROFILE={profile}" + (f" MODELS='{models}'" if models else "")
        raise KatayoriError(f"profile {profile} holds no run of {lost}; make one: {again}")
    folder.mkdir(parents=True, exist_ok=True)
    for path in made:
        for line in write_talk(path, folder / f"{path.stem}.html", [lecturer, date]):
            print(f"{path.stem}: {line}")
    print(f"written to {folder}; arrow keys turn the slides, N shows and hides the notes")


def write_talk(ipynb_path: Path, html_path: Path, occasion: Sequence[str] = ()) -> list[str]:
    """Writes the talk of an executed notebook, and returns what is to be said of it.

    Nothing is written of a notebook without slides.

    Args:
        ipynb_path: of the notebook. html_path: of the talk. occasion: who gives it, and when.
    """
    notebook, folder = pages.load(ipynb_path), ipynb_path.parent.absolute()
    own = first_page.is_own(folder)
    given, lacking = talk.fill(notebook.cells, OF_OTHERS if own else frozenset())
    if not given:
        html_path.unlink(missing_ok=True)
        return [NO_TALK]
    number, _, paper = ipynb_path.stem.partition("_")
    heading = pages.title(notebook)
    answers = _answers(folder)
    notebook.cells = [_cell(one, answers, number) for one in given]
    notebook.cells[0].metadata["cited"] = [*citations(paper), " · ".join(filter(None, occasion))]
    template, style, script = (_shipped(f"slides.{kind}") for kind in ("html", "css", "js"))
    body = pages.render(notebook, folder, template)
    content = f"<main>{body}</main><footer id='turn'></footer><script>{script}</script>"
    policy = f"{pages.POLICY}; script-src {pages.source(script)}"
    html = pages.document(heading or html_path.stem, content, policy=policy, style=style)
    html_path.write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")
    told = [f"{len(given)} slides, {talk.minutes(given):g} minutes"]
    if lacking:
        told.append(f"{lacking} slides are left out: this run has no such figure or table")
    return told if own or lacking else [*told, *talk.breaches(given)]


def _shipped(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def citations(paper: str) -> list[str]:
    """Authors, title and year of a paper as a line of text; of the overview, of every paper.

    Example:
        >>> len(citations("overview")) > len(citations(paper_facts.ids()[0]))
        True
    """
    ids = [paper] if paper in paper_facts.ids() else paper_facts.ids()
    known = [cited for one in ids if (cited := paper_files.of(one).get("cited"))]
    cited = [f"{', '.join(one['authors'])}: {one['title']} ({one['year']})" for one in known]
    return [line.removesuffix(" (None)") for line in cited]


def _answers(folder: Path) -> str:
    """Whose answers a run shows: what its provenance says; a committed notebook has recorded ones.

    Simulated respondents are named where they are shown.
    """
    counts = pages.read(folder / "provenance.json").get("answers", {})
    sources = [source for source in pages.MEANING if source in counts and source != "simulated"]
    return f"{' and '.join(sources)} answers" if sources else "recorded answers"


def _cell(one: talk.Filled, answers: str, number: str) -> Any:
    """The cell of one slide: what it shows, and its texts for the template in the metadata."""
    from nbformat.v4 import new_code_cell

    source = one.slide.source
    label = [LABELS.get(source, answers)] if source else []
    label += [f"notebook {number}, section {one.section}"] if one.section else []
    metadata = one.slide.model_dump() | {"label": " · ".join(label)}
    return new_code_cell(one.code, outputs=one.outputs, metadata=metadata)

"""For lecturers: `make students` writes copies of the notebooks to hand out, `make slides` a talk
of each.

A talk is one HTML file with a script of ours (slides.js) that shows one slide at a time and lets
what is too tall for one go on on further slides; without scripts, and printed, all stand below one
another. It asks the network for nothing.
"""

import ast
import base64
import copy
import json
import re
from pathlib import Path
from typing import Any

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori_tools import notebooks, pages

TEXT = 1000  # characters: the longest text on a slide
BESIDE = 450  # the longest that has room for a table or figure below it
WIDE = "\u2e80"  # characters above it, such as the Japanese ones, count as two
SHOWN = {"text/html", "image/png", "image/svg+xml"}
# The exporter's parser drops the first end of a section, which ends nothing, and adds the last one.
TEMPLATE = """{% extends 'basic/index.html.j2' %}
{% block any_cell %}{% if cell.metadata.slide %}</section>
<section{% if cell.metadata.first %} data-first{% endif %}>{% endif %}{{ super() }}{% endblock %}
{% block input_group %}{% endblock %}"""


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

    Exercise cells lose their outputs, and the condition of their check, in which the answer can be
    read, is encoded. It still checks; a student who decodes it has worked for it.
    """
    handed_out = copy.deepcopy(notebook)
    count = 0
    for cell in handed_out["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "exercise_check(" in source:
            cell["source"] = _sealed(source).splitlines(True)
            cell["outputs"] = []
            cell["execution_count"] = None
            count += 1
    return handed_out, count


def _sealed(source: str) -> str:
    """The source of an exercise with the conditions of its checks encoded."""
    for call in ast.walk(ast.parse(source)):
        match call:
            case ast.Call(func=ast.Name(id="exercise_check"), args=[ast.Lambda(body=body), *_]):
                code = base64.b64encode(ast.unparse(body).encode()).decode("ascii")
                condition = ast.get_source_segment(source, body)
                assert condition, "it was parsed from this source"
                source = source.replace(condition, f'eval(b64decode("{code}"))')
    reason = "the check is encoded so that it does not give the answer away"
    return f"from base64 import b64decode  # {reason}\n\n{source}"


# -- slides ----------------------------------------------------------------------------------------


def slides(
    *, papers: str | None = None, profile: str | None = None, models: str | None = None
) -> None:
    """Writes a talk of each notebook.

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
    for path in books.values():
        print(f"{path.stem}: {write_talk(path, folder / f'{path.stem}.html')} slides")
    print(f"written to {folder}; left and right turn the slides, up and down go by sections")


def write_talk(ipynb_path: Path, html_path: Path) -> int:
    """Writes an executed notebook as a talk and returns the number of slides, before any is
    continued on a further one.
    """
    notebook, folder = pages.load(ipynb_path), ipynb_path.parent.absolute()
    heading = pages.title(notebook) or ipynb_path.stem
    notebook.cells = arrange(notebook.cells)
    here = Path(__file__)
    script = here.with_name("slides.js").read_text(encoding="utf-8")
    style = here.with_name("slides.css").read_text(encoding="utf-8")
    body = pages.render(notebook, folder, TEMPLATE)
    content = f"<main>{body}</main><footer id='place'></footer><script>{script}</script>"
    policy = f"{pages.POLICY}; script-src {pages.source(script)}"
    html = pages.document(heading, content, policy=policy, style=style)
    html_path.write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")
    return sum("slide" in cell.metadata for cell in notebook.cells)


def arrange(cells: list[Any]) -> list[Any]:
    """The cells of a talk: texts, tables, figures and pictures of widgets, without code.

    Metadata `slide` starts a slide, `first` the first of a section. Long texts are split at blank
    lines; a table or figure follows a short text on its slide, and else has one of its own under
    the heading of the section.
    """
    slides: list[Any] = []
    title, has_room = "", False
    for cell in cells:
        if cell.cell_type == "markdown":
            for text in _split(cell.source):
                heading = re.match(r"#{1,2} .+", text)
                if heading:
                    title = heading[0].lstrip("# ")
                source = text if heading else f"## {title}\n\n{text}"
                slides.append(_text_slide(source, first=bool(heading)))
                has_room = len(source) <= BESIDE
        elif cell.cell_type == "code" and "exercise" not in cell.metadata.get("tags", []):
            for output in _shown(cell):
                if not has_room:
                    slides.append(_text_slide(f"## {title}"))
                slides.append(_output_below(output))
                has_room = False
    return slides


def _shown(cell: Any) -> list[Any]:
    """The outputs of a cell that a talk shows."""
    return [output for output in cell.outputs if SHOWN & set(output.get("data", ()))]


def _text_slide(source: str, *, first: bool = False) -> Any:
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(metadata={"slide": True, "first": first}, source=source)


def _output_below(output: Any) -> Any:
    """A table or figure, below the text of the slide before."""
    from nbformat.v4 import new_code_cell

    return new_code_cell(metadata={}, source="", outputs=[output], execution_count=None)


def _split(text: str) -> list[str]:
    """A text in parts of at most `TEXT` characters, where its paragraphs allow it (see `WIDE`).

    A heading starts a part.
    """
    parts: list[str] = []
    for paragraph in re.split(r"\n{2,}", text.strip()):
        joined = f"{parts[-1]}\n\n{paragraph}" if parts else ""
        width = len(joined) + sum(character > WIDE for character in joined)
        if joined and not re.match("#{1,2} ", paragraph) and width <= TEXT:
            parts[-1] = joined
        else:
            parts.append(paragraph)
    return parts

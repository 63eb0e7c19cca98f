"""For lecturers: `make students` writes copies of the notebooks to hand out, `make slides` a talk of each.

A talk is one HTML file with a script of ours (slides.js) that shows one slide at a time and lets what is too tall for
one go on on further slides; without scripts, and printed, all stand below one another. It asks the network for nothing.
"""

import ast
import base64
import copy
import json
import re
from argparse import Namespace
from pathlib import Path
from typing import Any

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori_tools import notebooks, pages

TEXT, BESIDE = (
    1000,
    450,
)  # the longest text on a slide, and the longest that has room for a table or figure below it
SHOWN = {"text/html", "image/png", "image/svg+xml"}
# The exporter's parser drops the first end of a section, which ends nothing, and adds the last one.
TEMPLATE = """{% extends 'basic/index.html.j2' %}
{% block any_cell %}{% if cell.metadata.slide %}</section>
<section{% if cell.metadata.first %} data-first{% endif %}>{% endif %}{{ super() }}{% endblock %}
{% block input_group %}{% endblock %}"""


# -- students ----------------------------------------------------------------------------------------------------------


def students(args: Namespace) -> None:
    """Writes the notebooks to outputs/students without what solves the exercises."""
    folder = paths.outputs_dir() / "students"
    folder.mkdir(parents=True, exist_ok=True)
    for path in notebooks.choose(args.papers).values():
        made, count = student_copy(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(made, ensure_ascii=False, indent=1) + "\n"
        (folder / path.name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{path.name}: {count} exercises")
    print(f"written to {folder}; the solutions stay in notebooks/solutions")


def student_copy(notebook: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """A notebook to hand out, and the number of its exercises.

    Exercise cells lose their outputs, and the condition of their check, in which the answer can be read, is encoded.
    It still checks; a student who decodes it has worked for it.
    """
    made, count = copy.deepcopy(notebook), 0
    for cell in made["cells"]:
        if cell["cell_type"] == "code" and "exercise_check(" in (source := "".join(cell["source"])):
            cell |= {
                "source": _sealed(source).splitlines(True),
                "outputs": [],
                "execution_count": None,
            }
            count += 1
    return made, count


def _sealed(source: str) -> str:
    """The source of an exercise with the conditions of its checks encoded."""
    for call in ast.walk(ast.parse(source)):
        match call:
            case ast.Call(func=ast.Name(id="exercise_check"), args=[ast.Lambda(body=body), *_]):
                code = base64.b64encode(ast.unparse(body).encode()).decode("ascii")
                source = source.replace(
                    ast.get_source_segment(source, body), f'eval(b64decode("{code}"))'
                )
    return f"from base64 import b64decode  # the check is encoded so that it does not give the answer away\n\n{source}"


# -- slides ------------------------------------------------------------------------------------------------------------


def slides(args: Namespace) -> None:
    """Writes a talk of each notebook: with a profile of its run (as far as there is one), else of the committed one."""
    books, folder = notebooks.choose(args.papers), paths.outputs_dir() / "slides"
    if args.profile:
        models = notebooks.names(args.models)
        run = paths.only_run(profiles.load(args.profile), models, paths.run_label())
        ran = {paper: run / paper / path.name for paper, path in books.items()}
        books = {paper: path for paper, path in ran.items() if path.exists()}
        folder /= run.relative_to(paths.outputs_dir())
        if not books or (args.papers and len(books) < len(ran)):
            lost = ", ".join(ran.keys() - books.keys())
            again = f"PROFILE={args.profile}" + (f" MODELS='{' '.join(models)}'" if models else "")
            raise KatayoriError(
                f"profile {args.profile} holds no run of {lost}; make one: make reproduce {again}"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for path in books.values():
        print(f"{path.stem}: {write_talk(path, folder / f'{path.stem}.html')} slides")
    print(f"written to {folder}; left and right turn the slides, up and down go by sections")


def write_talk(ipynb_path: Path, html_path: Path) -> int:
    """Writes an executed notebook as a talk and returns the number of slides, before any is continued on a further."""
    notebook, folder = pages.load(ipynb_path), ipynb_path.parent.absolute()
    heading = pages.title(notebook) or ipynb_path.stem
    notebook.cells = arrange(notebook.cells)
    here = Path(__file__)
    script = here.with_name("slides.js").read_text(encoding="utf-8")
    body = pages.render(notebook, folder, TEMPLATE)
    content = f"<main>{body}</main><footer id='place'></footer><script>{script}</script>"
    style = here.with_name("slides.css").read_text(encoding="utf-8")
    policy = f"{pages.POLICY}; script-src {pages.source(script)}"
    html_path.write_text(
        pages.document(heading, content, policy=policy, style=style),
        encoding="utf-8", errors="backslashreplace", newline="\n",
    )  # fmt: skip
    return sum("slide" in cell.metadata for cell in notebook.cells)


def arrange(cells: list[Any]) -> list[Any]:
    """The cells of a talk: texts, tables, figures and pictures of widgets, without code.

    Metadata `slide` starts a slide, `first` the first of a section. Long texts are split at blank lines; a table or
    figure follows a short text on its slide, and else has one of its own under the heading of the section.
    """
    made: list[Any] = []
    title, room = "", False
    for cell in cells:
        if cell.cell_type == "markdown":
            for text in _split(cell.source):
                heading = re.match(r"#{1,2} .+", text)
                title = heading[0].lstrip("# ") if heading else title
                source = text if heading else f"## {title}\n\n{text}"
                made.append(_slide("markdown", source=source, first=bool(heading)))
                room = len(source) <= BESIDE
        elif cell.cell_type == "code" and "exercise_check(" not in cell.source:
            for output in (o for o in cell.outputs if SHOWN & set(o.get("data", ()))):
                if not room:
                    made.append(_slide("markdown", source=f"## {title}"))
                made.append(
                    _slide("code", source="", outputs=[output], execution_count=None, follows=True)
                )
                room = False
    return made


def _slide(kind: str, *, first: bool = False, follows: bool = False, **content: Any) -> Any:
    from nbformat.v4 import new_code_cell, new_markdown_cell

    metadata = {} if follows else {"slide": True, "first": first}
    return (new_markdown_cell if kind == "markdown" else new_code_cell)(
        metadata=metadata, **content
    )


def _split(text: str) -> list[str]:
    """A text in parts of at most `TEXT` characters, where its paragraphs allow it; one above U+2E80 counts as two.

    A heading starts a part.
    """
    parts: list[str] = []
    for paragraph in re.split(r"\n{2,}", text.strip()):
        joined = f"{parts[-1]}\n\n{paragraph}" if parts else ""
        if (
            joined
            and not re.match("#{1,2} ", paragraph)
            and len(joined) + sum(c > "\u2e80" for c in joined) <= TEXT
        ):
            parts[-1] = joined
        else:
            parts.append(paragraph)
    return parts

"""The notebooks, and what a user gives them: checked before a kernel starts, a request is sent or
anything is overwritten.

Every mistake is a KatayoriError: one line that names cause and remedy. Papermill only logs an
unknown parameter and never checks a type, so both are done here, from the source text of the cell
tagged `parameters`. Nothing heavy is imported until the cheap checks are through.
"""

import ast
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.data.files import read_text
from katayori.errors import KatayoriError, expect
from katayori.language import told
from katayori.papers import paper_ids
from katayori.papers.items import OwnItems, check_limit, own_files, read_items
from katayori.prompting.exchange import read_answers

LAST = "overview"  # reads the results of the others
KINDS: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool}
#: The texts of a slide.
IN_SLIDES = {"headline", "body", "notes", "otherwise"}
NUMBER = len("NN_")  # what stands before a paper's name


# -- names -----------------------------------------------------------------------------------------


def registry() -> dict[str, Path]:
    """Paper name to notebook (`NN_<paper>.ipynb`), by number."""
    files = sorted((paths.root() / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    return {path.stem[NUMBER:]: path for path in files}


def names(text: str | None) -> list[str]:
    """The names in a list written with commas or spaces."""
    return [name for name in re.split(r"[,\s]+", text or "") if name]


def choose(papers: str | None) -> dict[str, Path]:
    """The notebooks asked for by paper, number or file name (all without an argument), the overview
    last.

    KatayoriError naming the valid ones for anything else.
    """
    books = registry()
    paper_of: dict[str, str] = {}  # by every form of its name
    for paper, path in books.items():
        number = path.stem[:2]
        forms = (paper, path.stem, path.name, number, number.lstrip("0"))
        paper_of |= dict.fromkeys(forms, paper)
    for name in names(papers):
        if name not in paper_of:
            expect(name, books, "paper")
    wanted = [paper_of[name] for name in names(papers)] or list(books)
    in_order = sorted(books, key=lambda paper: paper == LAST)
    return {paper: books[paper] for paper in in_order if paper in wanted}


# -- parameters ------------------------------------------------------------------------------------


def parameters(notebook: Path) -> dict[str, tuple[str, Any]]:
    """Type and default of each parameter that a notebook declares, as `name: type = literal` in its
    one cell tagged `parameters`.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise KatayoriError(
            f"{notebook.name}: one cell must carry the tag 'parameters', {len(tagged)} do"
        )
    declared: dict[str, tuple[str, Any]] = {}
    try:
        for line in ast.parse("".join(tagged[0]["source"])).body:
            match line:
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    declared[name] = ast.unparse(line.annotation), ast.literal_eval(value)
                case _:
                    raise ValueError("declares no parameter")
    except (SyntaxError, ValueError):
        form = "`name: type = value`, the value a literal"
        problem = f"every line of the parameters cell must be {form}"
        raise KatayoriError(f"{notebook.name}: {problem}") from None
    check(notebook, declared, {name: default for name, (_, default) in declared.items()})
    return declared


def check(
    notebook: Path, declared: Mapping[str, tuple[str, Any]], values: Mapping[str, object]
) -> None:
    """KatayoriError if the type of a value is not the declared one."""
    for name, value in values.items():
        kind, _ = declared[name]
        if not _fits(value, kind):
            problem = f"parameter '{name}' must be {kind}, not {value!r}"
            raise KatayoriError(f"{notebook.name}: {problem}")


def _fits(value: object, kind: str) -> bool:
    """Whether a value has the annotated type: one of `KINDS` or `list[...]` of it."""
    if kind.startswith("list["):
        of_each = kind.removeprefix("list[").removesuffix("]")
        return isinstance(value, list) and all(_fits(each, of_each) for each in value)
    if kind not in KINDS:
        valid = f"{', '.join(KINDS)}, list[...] of them"
        raise KatayoriError(f"parameter type `{kind}` is not understood; valid: {valid}")
    # True is an int to Python, not to a reader.
    return isinstance(value, KINDS[kind]) and (kind == "bool" or not isinstance(value, bool))


# -- files and folders -----------------------------------------------------------------------------


def writable(folder: Path, variable: str) -> None:
    """KatayoriError where files cannot be written to a folder: read-only, full, or a file of that
    name.

    `variable` names the environment variable that moves the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 65_536)
            file.flush()
    except OSError as error:
        problem = f"cannot write to {folder} ({error.strerror or error})"
        remedy = f"make room or name another folder with {variable}"
        raise KatayoriError(f"{problem}; {remedy}") from None


def output_file(name: str, suffixes: Iterable[str]) -> Path:
    """The path of a file to write: its folder must be there and writable, and no file may lie there
    yet.
    """
    path = Path(name)
    if path.suffix not in suffixes:
        known = " or ".join(suffixes)
        raise KatayoriError(f"export to {path.name}: the file name must end in {known}")
    if path.exists():
        raise KatayoriError(f"{path} exists, and may hold answers; name another file or remove it")
    if not os.access(path.parent, os.W_OK):
        raise KatayoriError(f"{path.parent} is no folder to write to; nothing was written")
    return path


def own_items(own: Mapping[str, str], papers: Iterable[str] = ()) -> OwnItems:
    """The user's own items as the command was given them, by name, each path checked.

    KatayoriError for a path that is wrong, and for items that none of the papers takes.
    """
    papers = list(papers)
    given = OwnItems(**own)
    for name, value in given.items():
        owners, file = own_files()[name]
        if papers and not set(owners) & set(papers):
            wanted = " and ".join(owners)
            raise KatayoriError(f"--{name} is for {wanted}, which is not asked (PAPERS=)")
        if file.is_a != "setting":
            _check_path(name, file.is_a, value)
    return given


def _check_path(name: str, kind: str, value: str) -> None:
    path = Path(value)
    if not os.path.exists(path):  # False, not an error, for text that can be no path
        raise KatayoriError(f"{name}: there is no {value}; name a {kind} that exists")
    is_a = "folder" if path.is_dir() else "file"
    if kind in ("file", "folder") and kind != is_a:
        raise KatayoriError(f"{name}: {value} is a {is_a}; name a {kind}")
    if is_a == "file":
        read_text(path, name)  # says so where it is not UTF-8


# -- the reader's language -------------------------------------------------------------------------


def in_language(notebook: Path) -> str:
    """The text of a notebook's file, in the reader's language.

    Its code is the same: what code shows is translated where it is shown.
    """
    text = notebook.read_text(encoding="utf-8")
    if paths.language() == "en":
        return text
    book = json.loads(text)
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = told("".join(cell["source"]))
        for slide in cell["metadata"].get("talk", ()):
            slide |= {name: told(slide[name]) for name in IN_SLIDES & slide.keys()}
            # What a slide finds in what was printed, it finds in the reader's language.
            slide |= {"find": {name: told(one) for name, one in slide.get("find", {}).items()}}
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def copies() -> None:
    """Copies the notebooks into outputs/work, in the reader's language; a copy that is there is
    kept.
    """
    folder = paths.outputs_dir() / "work"
    folder.mkdir(parents=True, exist_ok=True)
    for book in registry().values():
        copy, text = folder / book.name, in_language(book)
        if not copy.exists():
            copy.write_text(text, encoding="utf-8")
        elif copy.read_text(encoding="utf-8") != text:
            print(f"{copy} is kept as you left it; remove it to start from the notebook")


# -- a run of notebooks ----------------------------------------------------------------------------


def check_run(paper: str, profile: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Read everything a notebook will read of the user's, in this process: limit, answers, items.

    KatayoriError for whatever is wrong with it, before a kernel starts.
    """
    if given.get("prompts"):
        _check_path("prompts", "folder", given["prompts"])
    if paper not in paper_ids():
        return
    if "limit" in given:
        check_limit(given["limit"])
    own = own_items({name: given[name] for name in own_files() if name in given})
    file = given.get("answers_file") or ""
    is_imported = profile["answers"] == "imported"
    if is_imported:
        _check_imported(paper, given)
    elif file:
        kind = f"{profile['name']} ({profile['answers']} answers)"
        raise KatayoriError(f"answers_file is read with PROFILE=imported, not {kind}")
    if own or file:
        limit = given.get("limit") or profile["size"]
        read_items(paper, profile["items"], limit=limit, own=own, answers_file=file)


def _check_imported(paper: str, given: Mapping[str, Any]) -> None:
    """Check that there is a file of answers, of each model to a prompt of the paper."""
    from katayori.prompting.models import get_model
    from katayori.prompting.prompts import load_prompts

    file = given.get("answers_file")
    if not given.get("models"):
        raise KatayoriError("imported answers need a model: MODELS=my-model@custom, as in the file")
    if not file:
        raise KatayoriError('name the file of answers: ARGS="-p answers_file=/path/to/answers.csv"')
    prompt_ids = load_prompts(paper, given.get("prompts") or "").keys()
    held = {(model, prompt_id) for _, prompt_id, model, _ in read_answers(file)}
    for model in (get_model(asked)[0].id for asked in given["models"]):
        if not any((model, prompt_id) in held for prompt_id in prompt_ids):
            there = ", ".join(sorted({model for model, _ in held})) or "none"
            problem = f"holds no answer of {model!r} to a prompt of {paper} (PAPERS=)"
            raise KatayoriError(f"{Path(file).name} {problem}; its models: {there}")

"""Every committed notebook keeps the contract, and its check notices a metric that moves by 1 %.

The contract is per notebook: those in `notebook_rules.MOVED` keep the rules of that module, where
a cell can change what a section shows; the others keep the limits of a lesson until they move.

Each rule yields what is wrong. The rules are tried on a tiny notebook too, spoilt in one way each, so that none of
them passes in silence. That stored outputs are in step with the code is nbval's part of `make test`.
"""

import ast
import base64
import copy
import io
import json
import os
import re
import struct
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import lesson_size
import notebook_rules
import pytest

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.exercises import exercises
from katayori_tools import notebooks
from katayori_tools.reproduce import kernel_settings

BOOKS = sorted((paths.root() / "notebooks").glob("*.ipynb"))
#: What is mutated in a notebook's kernel: module:function, and the entry of its result that is scaled by 1.01.
#: A new notebook adds its line.
MUTATIONS = {
    "00_overview": ("katayori.metrics.shares:share", "value"),
    "01_discrim_eval": ("katayori.metrics.agreement:alpha", "value"),
    "02_persona_jbbq": ("katayori.metrics.bbq:scores", "value"),
    "03_logprob_judge": ("katayori.prompting.letters:verdict_probabilities", "p_A"),
    "04_jubaku_v2": ("katayori.metrics.shares:share", "value"),
    "05_inter_jbbq": ("katayori.metrics.words:contrast", "contrast"),
}
#: The one that stays in `make test`.
QUICKEST = "04_jubaku_v2"


def but_one_slow(names):
    """The notebooks as cases of a test; all but the quickest are left to `make test-all`."""
    slow = pytest.mark.slow_all
    return [name if name == QUICKEST else pytest.param(name, marks=slow) for name in names]


#: What is mutated in a run without a kernel: the tables of the default run must tell. Each function
#: with the entry of its result that is scaled (empty: all of it); its table should come early.
#: A new notebook adds three or more.
TABLE_MUTATIONS = {
    "00_overview": {
        "katayori.metrics.shares:share": "value",
        "katayori.metrics.verdicts:line_test": "value",
        "katayori.report.headlines:headlines": "value",
    },
    "01_discrim_eval": {
        "katayori.metrics.agreement:alpha": "value",
        "katayori.metrics.exchange:exchange_test": "p",
        "katayori.metrics.exchange:largest_gap": "value",
        "katayori.metrics.shares:share": "value",
    },
    "02_persona_jbbq": {
        "katayori.metrics.bbq:scores": "value",
        "katayori.metrics.shares:share": "value",
        "katayori.metrics.verdicts:line_test": "value",
    },
    "03_logprob_judge": {
        "katayori.metrics.judges:concordance": "value",
        "katayori.metrics.judges:robustness": "value",
        "katayori.metrics.judges:settled": "lean",
        "katayori.metrics.verdicts:line_test": "value",
        "katayori.prompting.letters:verdict_probabilities": "p_A",
    },
    "04_jubaku_v2": {
        "katayori.metrics.shares:share": "value",
        "katayori.metrics.verdicts:gates": "bound_share",
        "katayori.metrics.verdicts:line_test": "value",
    },
    "05_inter_jbbq": {
        "katayori.metrics.bbq:scores": "value",
        "katayori.metrics.shares:share": "value",
        "katayori.metrics.verdicts:line_test": "value",
    },
}
#: More, whose tables come late; with them the run goes on to the last cell.
LATE_MUTATIONS = {
    "00_overview": {"katayori.report.headlines:read_tables": "share"},
    "01_discrim_eval": {
        "katayori.metrics.factors:effect_size": "value",
        "katayori.metrics.sign_swap:swap_test": "value",
        "katayori.metrics.logistic:mixed_model": "value",
        "katayori.metrics.ranks:kruskal": "value",
    },
    "02_persona_jbbq": {
        "katayori.metrics.sign_swap:swap_test": "smallest_p",
        "katayori.metrics.words:contrast": "contrast",
    },
    "03_logprob_judge": {"katayori.metrics.few_labels:win_rate": "value"},
    "04_jubaku_v2": {"katayori.metrics.sign_swap:sign_swap_test": "p"},
    "05_inter_jbbq": {
        "katayori.metrics.mixed_logit:mixed_logit": "estimate",
    },
}
# Read before conftest takes KATAYORI_OUTPUTS away: the overview reads the results of that run.
OUTPUTS = paths.outputs_dir()

IGNORE = "nbval-ignore-output"
#: `exercise` and `recorded`: left out of a report about a user's model (`pages`); `slide`:
#: the cell holds slides of the talk (`test_talk.py`). The others are those of moved notebooks;
#: `model`: the cell writes a statistical model.
TAGS = {"parameters", IGNORE, "exercise", "recorded", "slide"}
TAGS |= {"hide-input", "by-hand", "skip", "model"}
#: Text that is true of the recorded models only.
OF_RECORDED = re.compile(
    r"\b[01]\.5B\b|Qwen2\.5|SmolLM|\brecorded (?:models?|judges?|Qwen|answers (?:come|all))\b"
    r"|\b(?:is|are) recorded here\b|記録したもの",
    re.IGNORECASE,
)
#: The call that checks an exercise.
CHECK = "check"
#: What a lesson may have at most (`lesson_size`), and how many cells may break it.
MOST = {"cells": 45, "words": 1500, "tables": 12, "rows": 12, "columns": 7, "code_lines": 12}
MOST |= {"shown": 1, "minutes": 40}
MOST_BREACHES = 2
LEAST_EXERCISES = 6
MAX_LINES, MAX_MODEL_LINES = 25, 40
MAX_INCHES, MAX_BYTES = 9, 2_000_000
DOTS = 192  # an inch, so that a picture can be printed
UNSTABLE = {
    "an absolute path": r"(?<![\w/.])/(?:home|Users|root|tmp|var|mnt|work|opt|usr|private)/|\b[A-Za-z]:\\\w",
    "a time": r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\b\d{1,2}:\d{2}:\d{2}\b",
    "a commit": r"\b[0-9a-f]{40}\b|\bcommit [0-9a-f]{7}",
    "an object's address": r"\bat 0x[0-9a-f]{6,}",
    "a progress bar": r"\d+(?:it|req)/s|\d+%\|",
}


def _source(cell: dict) -> str:
    return "".join(cell["source"])


def _tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


def _code(nb: dict) -> list[dict]:
    return [cell for cell in nb["cells"] if cell["cell_type"] == "code"]


def _markdown(nb: dict) -> str:
    return "\n".join(_source(cell) for cell in nb["cells"] if cell["cell_type"] == "markdown")


def _calls(cell: dict, *, of_widgets: bool = True) -> set[str]:
    """The functions and methods a cell calls, as written: `run.rows`, `show`.

    Without those `of_widgets`: what a function of the cell calls, which a widget runs.
    """
    tree = ast.parse(_source(cell))
    if not of_widgets:
        tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def _outputs(nb: dict) -> Iterator[tuple[str, str, str]]:
    """(cell id, kind, content) of every stored output; kind is a MIME type, or stdout or stderr."""
    for cell in _code(nb):
        for output in cell["outputs"]:
            where = cell.get("id", "?")
            if output["output_type"] == "stream":
                yield where, output["name"], "".join(output["text"])
            for kind, content in output.get("data", {}).items():
                yield where, kind, content if isinstance(content, str) else "".join(content)


def executed(nb: dict) -> Iterator[str]:
    counts = [cell["execution_count"] for cell in _code(nb)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}, not 1 to {len(counts)}: run `make nb`"
    if not any(cell["outputs"] for cell in _code(nb)):
        yield "no outputs are stored: nbval would compare nothing"


def quiet(nb: dict) -> Iterator[str]:
    for cell in _code(nb):
        for output in cell["outputs"]:
            if output["output_type"] == "error" or output.get("name") == "stderr":
                yield f"cell {cell.get('id')} stores {output.get('ename', 'text on stderr')}"


def parameterised(nb: dict, tmp_path: Path) -> Iterator[str]:
    copied = tmp_path / "copy.ipynb"
    copied.write_text(json.dumps(nb), encoding="utf-8")
    try:
        declared = notebooks.parameters(copied)
    except KatayoriError as error:
        yield str(error)
        return
    if "output_dir" not in declared or declared["output_dir"][1] != "":
        yield "output_dir: str = '' is not among the parameters"
    text = next(_source(cell) for cell in _code(nb) if "parameters" in _tags(cell))
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    commented = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    for node in ast.parse(text).body:
        if node.end_lineno not in commented:
            yield f"`{ast.unparse(node)}` has no comment"


def _is_exercise(cell: dict) -> bool:
    if cell["cell_type"] == "markdown":
        return "**Exercise " in _source(cell)
    return CHECK in _calls(cell)


def tagged(nb: dict) -> Iterator[str]:
    for cell in nb["cells"]:
        if unknown := set(_tags(cell)) - TAGS:
            yield f"cell {cell.get('id')}: tags {sorted(unknown)}; allowed are {sorted(TAGS)}"
        if _is_exercise(cell) and "exercise" not in _tags(cell):
            yield f"cell {cell.get('id')} is an exercise without the tag"
        speaks = cell["cell_type"] == "markdown" and OF_RECORDED.search(_source(cell))
        if speaks and "recorded" not in _tags(cell):
            yield f"cell {cell.get('id')} says {speaks[0]!r} without the tag 'recorded'"
        if re.search(r"#\s*(NBVAL|PYTEST)_", _source(cell)):
            yield f"cell {cell.get('id')}: nbval is steered by a comment; use a tag"


def ignored(nb: dict) -> Iterator[str]:
    """Only a widget, a figure or a progress bar may go unchecked, never a result."""
    for cell in _code(nb):
        if IGNORE not in _tags(cell):
            continue
        calls = _calls(cell)
        if not calls & {"explorer", "playground", "calculator", "figures.display", "progress"}:
            yield f"cell {cell.get('id')} is ignored but shows no widget, figure or progress"
        if hidden := sorted(
            c
            for c in _calls(cell, of_widgets=False)
            if c in {"show", "print"} or c.startswith("run.")
        ):
            yield f"cell {cell.get('id')} hides {', '.join(hidden)} from the check"


def _lines_of_imports(source: str) -> int:
    """Names that are fetched from one room stand in one statement, a name a line."""
    imports = [n for n in ast.parse(source).body if isinstance(n, ast.Import | ast.ImportFrom)]
    return sum(node.end_lineno - node.lineno for node in imports)


def plain_cells(nb: dict) -> Iterator[str]:
    """What nbval cannot check or a report cannot show; magics, which are no Python, fail to parse."""
    for cell in _code(nb):
        try:
            calls = {name.rsplit(".", 1)[-1] for name in _calls(cell)}
        except SyntaxError:
            yield f"cell {cell.get('id')} is not plain Python"
            continue
        if bad := calls & {
            "interact",
            "interactive",
            "interact_manual",
            "Output",
            "clear_output",
            "tqdm",
        }:
            yield f"cell {cell.get('id')} calls {', '.join(sorted(bad))}"
        lines = _source(cell).count("\n") + 1 - _lines_of_imports(_source(cell))
        most = MAX_MODEL_LINES if "model" in _tags(cell) else MAX_LINES
        if not _source(cell).strip() or lines > most:
            yield f"cell {cell.get('id')} has {lines} lines; 1 to {most} are right"


def stripped(nb: dict) -> Iterator[str]:
    if nb["metadata"].get("kernelspec", {}).get("name") != "python3":
        yield "the kernel is not python3"
    if extra := set(nb["metadata"]) - {"kernelspec", "language_info"}:
        yield f"metadata holds {', '.join(sorted(extra))}: run `make nb`"
    if "version" in nb["metadata"].get("language_info", {}):
        yield "metadata holds a Python version: run `make nb`"
    for cell in nb["cells"]:
        if extra := set(cell["metadata"]) & {"execution", "papermill", "ExecuteTime"}:
            yield f"cell {cell.get('id')}: metadata holds {', '.join(sorted(extra))}"


def stable(nb: dict) -> Iterator[str]:
    private = {str(Path.home()), str(paths.root()), sys.prefix} - {"/"}
    for where, kind, content in _outputs(nb):
        if kind.startswith("text/") or kind in ("stdout", "stderr", "image/svg+xml"):
            for name, pattern in UNSTABLE.items():
                if match := re.search(pattern, content):
                    yield f"cell {where} stores {name}: {content[max(0, match.start() - 20) : match.end() + 20]!r}"
            if any(path in content for path in private):
                yield f"cell {where} stores a path of this machine"


def _pictures(nb: dict) -> Iterator[tuple[str, int, int]]:
    """(cell id, width in pixels, width it is shown at) of every PNG; 0 where none is said."""
    for cell in _code(nb):
        for output in cell["outputs"]:
            if png := output.get("data", {}).get("image/png"):
                head = base64.b64decode(png if isinstance(png, str) else "".join(png))
                told = output.get("metadata", {}).get("image/png", {})
                width = struct.unpack(">I", head[16:20])[0]
                yield cell.get("id", "?"), width, told.get("width", 0)


def sharp_pictures(nb: dict) -> Iterator[str]:
    for where, width, shown in _pictures(nb):
        if width > MAX_INCHES * DOTS:
            yield f"cell {where}: a picture {width / DOTS:.1f} inches wide; {MAX_INCHES} at most"
        if not shown or width < 2 * shown:
            yield f"cell {where}: a picture of less than {DOTS} dots an inch"
    for where, kind, _ in _outputs(nb):
        if kind in ("image/jpeg", "image/svg+xml"):
            yield f"cell {where}: {kind}; pictures are PNG"
    if len(json.dumps(nb)) > MAX_BYTES:
        yield f"larger than {MAX_BYTES:,} bytes"


def framed(nb: dict) -> Iterator[str]:
    """Title and Japanese summary first, a content notice, limits, and the results saved at the end."""
    first, last = nb["cells"][0], nb["cells"][-1]
    if first["cell_type"] != "markdown" or not _source(first).startswith("# "):
        yield "the first cell is not a title"
    if "日本語の要約" not in _source(first) or len(re.findall("[ぁ-ん]", _source(first))) < 50:
        yield "the first cell has no summary in Japanese"
    if "Content notice" not in _markdown(nb):
        yield "no content notice"
    if not re.search(r"^## .*\bLimits\b", _markdown(nb), re.M):
        yield "no section on limits"
    if last["cell_type"] != "code" or "run.save" not in _calls(last):
        yield "the last cell does not save the results"


def taught(nb: dict) -> Iterator[str]:
    """One skeleton: goals, something to play with, six exercises, recap and glossary, limits."""
    calls = [name for cell in _code(nb) for name in _calls(cell)]
    if "**You will learn**" not in _source(nb["cells"][0]):
        yield "the first cell has no learning goals (**You will learn**)"
    if not {"playground", "calculator"} & set(calls):
        yield "nothing to play with: no playground or calculator"
    asked = calls.count(CHECK)
    if asked < LEAST_EXERCISES:
        yield f"{asked} exercises; {LEAST_EXERCISES} are the least"
    if "glossary" not in calls:
        yield "no glossary"
    sections = re.findall(r"^## (\d+) · (.+?)(?: [ぁ-ヿ一-鿿].*)?$", _markdown(nb), re.M)
    if [int(number) for number, _ in sections] != list(range(1, len(sections) + 1)):
        yield f"sections are not numbered from 1 on: {', '.join(number for number, _ in sections)}"
    last = ["Recap and glossary", "Limits"]
    ends = [title.split(",")[0] for _, title in sections[-len(last) :]]
    if ends != last:
        yield f"the last sections are {', '.join(ends)}; {', '.join(last)} are right"
    if wrong := [
        n for n in re.findall(r"\bsections? (\d+)", _markdown(nb)) if int(n) > len(sections)
    ]:
        yield f"the text names section {', '.join(wrong)} of {len(sections)}"


def short(nb: dict) -> Iterator[str]:
    """A lesson can be read in one sitting; at most two cells break a number, and say why."""
    reasons = [cell["metadata"]["breach"] for cell in nb["cells"] if "breach" in cell["metadata"]]
    if len(reasons) > MOST_BREACHES or not all(len(reason) > 10 for reason in reasons):
        yield f"{len(reasons)} breaches; {MOST_BREACHES} with a reason each are the most"
    kept = [cell for cell in nb["cells"] if "breach" not in cell["metadata"]]
    size = lesson_size.measured(kept)
    for name, most in MOST.items():
        if size[name] > most:
            yield f"{name}: {size[name]:g}; {most} are the most"


#: What draws: a cell of a lesson that calls one of these shows its picture and folds its code.
DRAWING = {
    "calculator",
    "explorer",
    "figures.display",
    "interval_dots",
    "playground",
    "run.figure",
    "specification_curve",
}


def folded(nb: dict) -> Iterator[str]:
    """Code that draws is folded in JupyterLab, and no other code is.

    A cell with an `assert` builds a method by hand, which is to be read, and may draw it too.
    """
    for cell in _code(nb):
        draws = bool(_calls(cell) & DRAWING)
        checks = any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(_source(cell))))
        is_hidden = cell["metadata"].get("jupyter", {}).get("source_hidden", False)
        if draws and not checks and not is_hidden:
            yield f'cell {cell.get("id")} draws: fold it ("jupyter": {{"source_hidden": true}})'
        if is_hidden and not draws:
            yield f"cell {cell.get('id')} draws nothing: its code must be seen"


def of_code(exercises: dict) -> int:
    return sum("compared" in one for one in exercises.values())


def practised(nb: dict) -> Iterator[str]:
    """A lesson's exercises are numbered in order, and known to the library under these numbers."""
    asked = [
        node.args
        for cell in _code(nb)
        for node in ast.walk(ast.parse(_source(cell)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "check"
    ]
    numbers = [(args[0].value, args[1].value) for args in asked]
    if [number for _, number in numbers] != list(range(1, len(numbers) + 1)):
        yield f"exercises are numbered {numbers}, not from 1 on"
        return
    known = exercises(numbers[0][0]) if numbers else {}
    if set(known) != {number for _, number in numbers}:
        yield f"the library knows exercises {sorted(known)}"
    letters = [one["right"] for one in known.values() if "right" in one]
    if of_code(known) < 2 or (len(letters) > 1 and len(set(letters)) == 1):
        yield "two exercises ask for code at least, and no letter is always right"


SHARED = [
    executed,
    quiet,
    tagged,
    ignored,
    plain_cells,
    stripped,
    stable,
    sharp_pictures,
    framed,
    taught,
    practised,
    parameterised,
]
OLDER = [short, folded]
RULES = SHARED + OLDER


def rules_of(notebook: str) -> list:
    """The contract of a notebook, by the name of its file."""
    return SHARED + (notebook_rules.RULES if notebook in notebook_rules.MOVED else OLDER)


def broken(rule, nb: dict, tmp_path: Path) -> list[str]:
    return list(rule(nb, tmp_path) if rule is parameterised else rule(nb))


KEPT = [
    pytest.param(book, rule, id=f"{book.stem}-{rule.__name__}")
    for book in BOOKS
    for rule in rules_of(book.stem)
]


@pytest.mark.parametrize(("book", "rule"), KEPT)
def test_the_notebook_keeps(book, rule, tmp_path):
    """Contract, Notebooks."""
    problems = "\n".join(broken(rule, json.loads(book.read_text(encoding="utf-8")), tmp_path))
    assert not problems, problems


def test_a_notebook_that_moves_changes_its_contract(monkeypatch):
    assert (
        set(OLDER) <= set(rules_of("01_discrim_eval")) or "01_discrim_eval" in notebook_rules.MOVED
    )
    monkeypatch.setattr(notebook_rules, "MOVED", {"01_discrim_eval"})
    moved = rules_of("01_discrim_eval")
    assert set(moved) == {*SHARED, *notebook_rules.RULES} and not set(moved) & set(OLDER)
    assert rules_of("02_persona_jbbq") == RULES


def test_moved_notebooks_are_there():
    assert {book.stem for book in BOOKS} >= notebook_rules.MOVED


@pytest.mark.slow  # the overview needs the run that `make test` makes first
@pytest.mark.parametrize("name", sorted(notebook_rules.MOVED))
def test_changing_works(name, tmp_path):
    """Contract: with another value of the argument it names, a section shows another table."""
    script = Path(__file__).with_name("changed_notebook.py")
    book = paths.root() / "notebooks" / f"{name}.ipynb"
    settings = kernel_settings(tmp_path / "settings") | {"KATAYORI_OUTPUTS": str(OUTPUTS)}
    done = subprocess.run(
        [sys.executable, str(script), str(book), str(tmp_path / "run")],
        env=settings | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        cwd=book.parent,
    )
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout + done.stderr


# -- the rules themselves ----------------------------------------------------------------------------------------------


def _cell(source: str, *outputs: dict, tags: tuple = (), count: int = 0) -> dict:
    metadata = {"tags": list(tags)} if tags else {}
    return {
        "cell_type": "code",
        "metadata": metadata,
        "source": source,
        "outputs": list(outputs),
    } | {"execution_count": count}


def _said(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": [text]}


def _png(width: int, shown: int | None = None) -> dict:
    data = base64.b64encode(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, 9)
    ).decode()
    told = {"width": width // 2 if shown is None else shown}
    return {
        "output_type": "execute_result",
        "data": {"image/png": data},
        "metadata": {"image/png": told},
    }


def tiny() -> dict:
    summary = (
        "# T\n\n日本語の要約 "
        + "これはためしです。" * 10
        + "\n\n**You will learn** much.\n\n> **Content notice.**"
    )
    words = "## 1 · Items 質問\n\n(section 2)\n\n## 2 · Recap and glossary まとめと用語"
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": summary},
        _cell('output_dir: str = ""  # given', tags=("parameters",), count=1),
        _cell(
            "print(1)", _said("alpha 0.5 on 2025-11-21, a/home/b, hash 2bccc9e7cbce8ee2"), count=2
        ),
        _cell("figures.display(fig)", _png(1284), tags=(IGNORE,), count=3),
        _cell("playground(sliders, draw)", tags=(IGNORE,), count=4),
        {"cell_type": "markdown", "metadata": {}, "source": words},
        *(_cell(f"check(1, {k}, ...)", tags=("exercise",), count=4 + k) for k in range(1, 7)),
        _cell("show(glossary())", count=11),
        {"cell_type": "markdown", "metadata": {}, "source": "## 3 · Limits, ethics 限界・倫理"},
        _cell("show(run.save())", count=12),
    ]
    for place in (3, 4):
        cells[place]["metadata"]["jupyter"] = {"source_hidden": True}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_notebook_breaks_no_rule(rule, tmp_path):
    assert broken(rule, tiny(), tmp_path) == []


SPOILT = [
    (executed, 2, {"execution_count": 7}),
    (executed, 2, {"execution_count": None}),
    (quiet, 2, {"outputs": [_said("a warning", "stderr")]}),
    (
        quiet,
        2,
        {"outputs": [{"output_type": "error", "ename": "KeyError", "evalue": "", "traceback": []}]},
    ),
    (tagged, 2, {"metadata": {"tags": ["raises-exception"]}}),
    (tagged, 2, {"source": "# NBVAL_SKIP\nprint(1)"}),
    (tagged, 6, {"metadata": {}}),
    (tagged, 5, {"source": "## 2 · Items 質問\n\n**Exercise 1.**"}),
    (tagged, 5, {"source": "What the recorded models show."}),
    (tagged, 5, {"source": "The 0.5B writes 1 nearly always."}),
    (ignored, 2, {"metadata": {"tags": [IGNORE]}}),
    (ignored, 3, {"source": "run.row(1)\nfigures.display(fig)"}),
    (ignored, 3, {"source": "explorer({}, f)\nshow(f)"}),
    (plain_cells, 2, {"source": "%matplotlib inline"}),
    (plain_cells, 2, {"source": "widgets.interact(f)"}),
    (plain_cells, 2, {"source": "x = 1\n" * MAX_LINES}),
    (plain_cells, 2, {"source": "x = 1\n" * MAX_MODEL_LINES, "metadata": {"tags": ["model"]}}),
    (plain_cells, 2, {"source": " "}),
    (stripped, 2, {"metadata": {"execution": {}}}),
    (stripped, 2, {"metadata": {"papermill": {}}}),
    (stable, 2, {"outputs": [_said("saved to /tmp/katayori-x")]}),
    (stable, 2, {"outputs": [_said("C:\\Users")]}),
    (stable, 2, {"outputs": [_said("done at 2025-11-21T23:05")]}),
    (stable, 2, {"outputs": [_said("took 0:01:12")]}),
    (stable, 2, {"outputs": [_said("a" * 40)]}),
    (stable, 2, {"outputs": [_said("<Axes at 0x7f00aa12>")]}),
    (stable, 2, {"outputs": [_said(str(paths.root() / "data"))]}),
    (sharp_pictures, 3, {"outputs": [_png(9 * 192 + 2)]}),
    (sharp_pictures, 3, {"outputs": [_png(800, shown=401)]}),
    (sharp_pictures, 3, {"outputs": [_png(800, shown=0)]}),
    (sharp_pictures, 2, {"outputs": [_said("x" * MAX_BYTES)]}),
    (framed, 0, {"source": "# Title only"}),
    (framed, -2, {"source": "no heading, only limits"}),
    (framed, -1, {"source": "show(1)"}),
    (taught, 0, {"source": "# Title"}),
    (taught, 4, {"source": "explorer(choices, look)"}),
    (
        taught,
        5,
        {"source": "## 1 · Items 質問\n\n## 2 · Exercises 練習"},
    ),
    (
        taught,
        5,
        {"source": "## 1 · Items 質問\n\n## 3 · Recap and glossary まとめ"},
    ),
    (
        taught,
        5,
        {"source": "## 1 · Items (section 5)\n\n## 2 · Recap and glossary まとめ"},
    ),
    (taught, 6, {"source": "x = 1"}),
    (taught, 12, {"source": "show(frame)"}),
    (parameterised, 1, {"metadata": {}}),
    (parameterised, 1, {"source": 'output_dir: str = ""'}),
    (parameterised, 1, {"source": 'output_dir = ""  # given'}),
    (parameterised, 1, {"source": 'folder: str = ""  # given'}),
]


@pytest.mark.parametrize(
    ("rule", "cell", "change"),
    SPOILT,
    ids=[f"{r.__name__}-{i}" for i, (r, *_) in enumerate(SPOILT)],
)
def test_each_rule_sees_its_breach(rule, cell, change, tmp_path):
    nb = copy.deepcopy(tiny())
    nb["cells"][cell] |= change
    assert broken(rule, nb, tmp_path)


def _table(rows: int, columns: int) -> dict:
    row = "<tr>" + "<td>1</td>" * columns + "</tr>"
    html = f"<table>{row * (rows + 1)}</table>"
    return {"output_type": "display_data", "data": {"text/html": html}, "metadata": {}}


SPOILT_LESSONS = [
    (taught, "exercises", {"source": "x = 1"}),
    (practised, "exercises", {"source": "check(1, 7, ...)"}),
    (short, "words", {"source": "word " * 1501}),
    (short, "tables", {"outputs": [_table(2, 2)] * 13}),
    (short, "rows", {"outputs": [_table(13, 2)]}),
    (short, "columns", {"outputs": [_table(2, 8)]}),
    (short, "shown", {"outputs": [_table(2, 2)] * 2}),
    (short, "code_lines", {"source": "x = 1\n" * 13}),
    (short, "minutes", {"outputs": [_table(2, 2)] * 121}),
]


@pytest.mark.parametrize(
    ("rule", "named", "change"),
    SPOILT_LESSONS,
    ids=[f"{r.__name__}-{n}" for r, n, _ in SPOILT_LESSONS],
)
def test_each_rule_sees_the_breach_of_a_lesson(rule, named, change):
    nb = tiny()
    place = {"words": 5, "exercises": 6}.get(named, 2)
    nb["cells"][place] |= change
    assert any(named in line for line in rule(nb))


def test_a_long_lesson_is_seen_and_a_breach_needs_its_reason():
    nb = tiny()
    nb["cells"][3:3] = [_cell("x = 1") for _ in range(45)]
    assert any("cells" in line for line in short(nb))
    nb = tiny()
    nb["cells"][2] |= {"source": "x = 1\n" * 13, "metadata": {"breach": "one table of constants"}}
    assert list(short(nb)) == []
    nb["cells"][2]["metadata"]["breach"] = ""
    assert list(short(nb))


def test_code_that_draws_is_folded_and_no_other():
    nb = tiny()
    nb["cells"][3]["metadata"] = {"tags": [IGNORE]}
    assert any("draws: fold it" in line for line in folded(nb))
    nb["cells"][3]["source"] = "assert by_hand == 1\nfigures.display(fig)"
    assert list(folded(nb)) == []
    nb["cells"][2]["metadata"] = {"jupyter": {"source_hidden": True}}
    assert any("must be seen" in line for line in folded(nb))


@pytest.mark.parametrize(
    "metadata", [{"widgets": {}}, {"papermill": {}}, {"language_info": {"version": "3.11.7"}}]
)
def test_widget_state_and_versions_are_seen(metadata):
    nb = tiny()
    nb["metadata"] |= metadata
    assert list(stripped(nb))


# -- mutation ----------------------------------------------------------------------------------------------------------

#: Runs in every Python below the notebook's folder: the metric is scaled right after its module has been imported.
SITECUSTOMIZE = """
import functools, importlib.abc, importlib.machinery, os, sys

TARGET, KEY = os.environ["MUTATED"].split(), os.environ["MUTATED_KEY"]
MODULE, FUNCTION = TARGET[0].split(":")


def scaled(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        found = function(*args, **kwargs)
        if not KEY:
            return found * 1.01
        larger = {KEY: found[KEY] * 1.01}
        return {**found, **larger} if isinstance(found, dict) else found.assign(**larger)
    return call


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            setattr(module, FUNCTION, scaled(getattr(module, FUNCTION)))
        spec.loader.exec_module = exec_module
        return spec


import importlib.util
sys.meta_path.insert(0, Finder())
"""


def has_results(book: Path) -> bool:
    return "run.save(" in book.read_text(encoding="utf-8")


def test_every_notebook_with_results_has_its_mutation():
    assert {book.stem for book in BOOKS if has_results(book)} == set(MUTATIONS)


def test_every_notebook_has_three_mutations_of_its_tables():
    assert [book.stem for book in BOOKS] == list(TABLE_MUTATIONS) == list(LATE_MUTATIONS)
    assert all(len(mutations) >= 3 for mutations in TABLE_MUTATIONS.values())


def outcomes(name: str, mutations: dict[str, str], work: Path, **changed) -> dict:
    """What `quick_notebook.py` reports of a notebook: mutation (None: unmutated) to its line."""
    job = {
        "notebook": str(paths.root() / "notebooks" / f"{name}.ipynb"),
        "work": str(work),
        "mutations": mutations,
        "whole": False,
    }
    settings = kernel_settings(work / "settings") | {"KATAYORI_OUTPUTS": str(OUTPUTS)}
    script = Path(__file__).with_name("quick_notebook.py")
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(job | changed)],
        env=settings | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    reported = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and reported, done.stderr
    return {line["mutation"]: line for line in reported}


def not_told(reported: dict, mutations: dict[str, str]) -> list[str]:
    """What of a run did not go as it must: one line each, none if all is well.

    Every mutation makes a table differ, not an error, and unmutated every such table is right.
    """
    lines = [reported.get(name, {"outcome": "never tried"}) for name in mutations]
    wrong = [str(line) for line in lines if line["outcome"] != "differs"]
    unmutated = reported.get(None, {"outcome": "never ended"})
    if unmutated["outcome"] != "same":
        return [*wrong, f"without a mutation: {unmutated}"]
    passed = unmutated["detail"].split()
    differing = [line for line in lines if line["outcome"] == "differs"]
    return wrong + [f"never right: {line}" for line in differing if line["table"] not in passed]


@pytest.mark.slow
@pytest.mark.parametrize("name", but_one_slow(TABLE_MUTATIONS))
def test_a_metric_that_moves_by_one_percent_changes_an_expected_table(name, tmp_path):
    """The same run shows first that the tables are right while nothing is mutated."""
    mutations = TABLE_MUTATIONS[name]
    problems = not_told(outcomes(name, mutations, tmp_path), mutations)
    assert not problems, "\n".join(problems)


@pytest.mark.slow_all
@pytest.mark.parametrize("name", LATE_MUTATIONS)
def test_late_tables_tell_a_mutation_too(name, tmp_path):
    """As above, and the run without a kernel computes every expected table and result."""
    mutations = LATE_MUTATIONS[name]
    reported = outcomes(name, mutations, tmp_path, whole=True)
    problems = not_told(reported, mutations)
    assert not problems, "\n".join(problems)
    folder = paths.data_dir() / "expected" / name[3:]
    tables = {path.stem for path in folder.glob("*.csv")}
    assert set(reported[None]["detail"].split()) == tables


TINY_TABLE = """
from katayori.metrics.ranks import holm
from katayori.report.run import Run

p = holm([0.01, 0.2])
{check}
Run("tiny", output_dir).table("p", pd.DataFrame({{"p": p}}))
1 / 0
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "p", "function", "outcome", "unmutated"),
    [
        ("", "0.02", "holm", "differs", "same"),
        ("", "0.03", "holm", "differs", "differs"),  # the table was never right
        ("assert p[0] < 0.0201", "0.02", "holm", "error", "same"),  # an error is no difference
        ("", "0.02", "conover", "never tried", "error"),  # it is not called
        ("p = [0.02, 0.2]", "0.02", "holm", "error", "same"),  # no table depends on it
    ],
)
def test_only_a_difference_of_a_right_table_counts(
    check, p, function, outcome, unmutated, tmp_path
):
    cells = [_cell('output_dir: str = ""', tags=("parameters",)), _cell("import pandas as pd")]
    cells.append(_cell(TINY_TABLE.format(check=check)))
    book = tmp_path / "99_tiny.ipynb"
    book.write_text(json.dumps({"cells": cells}))
    (tmp_path / "p.csv").write_text(f"p\n{p}\n0.2\n")
    mutations = {f"katayori.metrics.ranks:{function}": ""}
    work = tmp_path / "work"
    reported = outcomes("tiny", mutations, work, notebook=str(book), expected=str(tmp_path))
    line = reported.get(next(iter(mutations)), {"outcome": "never tried"})
    found = (line["outcome"], reported[None]["outcome"])
    assert found == (outcome, unmutated), reported
    assert bool(not_told(reported, mutations)) is (found != ("differs", "same"))


def checked_with(
    mutation: tuple[str, str], book: Path, folder: Path
) -> subprocess.CompletedProcess:
    """nbval strict, up to the first failure, on a copy of the notebook whose kernel imports the mutated metric."""
    copied, lib = folder / book.name, paths.root() / "lib"
    copied.write_bytes(book.read_bytes())
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")
    checks = [
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout",
        "400",
        "-x",
        "-p",
        "no:cacheprovider",
    ]
    checks += [
        "--nbval-sanitize-with",
        str(lib / "tests" / "nbval_sanitize.cfg"),
        "--rootdir",
        str(folder),
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--color=no",
        "-c",
        str(lib / "pyproject.toml"),
        *checks,
    ]
    changed = {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0", "PYTEST_ADDOPTS": ""}
    changed |= {"MUTATED": mutation[0], "MUTATED_KEY": mutation[1]}
    return subprocess.run(
        [*command, str(copied)],
        env=os.environ | changed,
        capture_output=True,
        text=True,
        cwd=folder,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", but_one_slow(MUTATIONS))
def test_a_metric_that_moves_by_one_percent_fails_the_check(name, tmp_path):
    """Contract, Notebooks. `make test` also runs nbval on the unchanged notebook, which must pass.

    An error or a time-out in the kernel would fail as well and prove nothing: the failure must be a difference of
    outputs, or of the method by hand from the library, in a cell that comes after others that pass.
    """
    done = checked_with(MUTATIONS[name], paths.root() / "notebooks" / f"{name}.ipynb", tmp_path)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert done.returncode == 1 and re.search(r"1 failed, [1-9]\d* passed", text), (
        text + done.stderr
    )
    assert not re.search("Timeout|Unrun reference", text), text
    raised = "Cell execution caused an exception" in text
    by_hand = re.search(r"-> \d+ assert .*by_hand.*(?:\n.*)*\nAssertionError: *$", text, re.M)
    assert by_hand if raised else "Cell outputs differ" in text, text

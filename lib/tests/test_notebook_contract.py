"""Every committed notebook keeps the contract (`notebook_rules`), changing an argument shows, and
its check notices a metric that moves by 1 %.

The rules are tried on a tiny notebook too, spoilt in one way each, so that none of them passes in
silence. That stored outputs are in step with the code is nbval's part of `make test`.
"""

import base64
import itertools
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import notebook_rules as rules
import pytest
from notebook_rules import IGNORE, RULES

from katayori import paths
from katayori_tools.reproduce import kernel_settings

BOOKS = sorted((paths.root() / "notebooks").glob("*.ipynb"))
TESTS = Path(__file__).parent
#: What is mutated in a notebook's kernel: module:function, and the entry of its result that is
#: scaled by 1.01. A new notebook adds its line.
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


def but_one_slow(books):
    """The notebooks as cases of a test; all but the quickest are left to `make test-all`."""
    slow = pytest.mark.slow_all
    return [book if book.stem == QUICKEST else pytest.param(book, marks=slow) for book in books]


# Read before conftest takes KATAYORI_OUTPUTS away: the overview reads the results of that run.
OUTPUTS = paths.outputs_dir()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_the_notebook_keeps(book, rule):
    assert not list(rule(json.loads(book.read_text(encoding="utf-8"))))


# -- the rules themselves --------------------------------------------------------------------------


def _cell(source: str, *outputs: dict, tags: tuple = (), count: int = 0, **metadata) -> dict:
    metadata |= {"tags": list(tags)} if tags else {}
    return {
        "cell_type": "code",
        "metadata": metadata,
        "source": source.strip(),
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


def _words(text: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _table(rows: int, style: str = "") -> dict:
    html = f"<div{style}><table>{'<tr><td>1</td></tr>' * (rows + 1)}</table></div>"
    return {"output_type": "display_data", "data": {"text/html": html}, "metadata": {}}


#: Stands in for the library, which takes long to import. `analyse` is a whole study in one call: it
#: takes an argument and lets nobody choose by it.
OPENING = """
class Table:
    def __init__(self, value):
        self.value = value
    def _repr_html_(self):
        return f"<table><tr><th>alpha</th></tr><tr><td>{self.value:.2f}</td></tr></table>"
def show(value, caption):
    return Table(value)
WEIGHTS = {"standard": 3, "self pairs": 4}
def alpha(answers, *, weights):
    return sum(answers) / WEIGHTS[weights]
def analyse(answers, *, weights):
    return {"alpha": alpha(answers, weights="standard")}
answers = [1, 0, 1, 1]
"""
METHOD = 'found = alpha(answers, weights="standard")'
CHANGE = {"change": {"weights": "self pairs"}}
SHOW = 'show(found, caption="Alpha")'


def tiny() -> dict:
    """A notebook of 45 cells that keeps every rule."""
    summary = (
        "# T\n\n日本語の要約 "
        + "これはためしです。" * 10
        + "\n\n**You will learn** much.\n\n> **Content notice.**"
    )
    said = "alpha 0.5 on 2025-11-21, a/home/b, hash 2bccc9e7cbce8ee2"
    cells = [
        _words(summary),
        _cell('output_dir: str = ""  # given', tags=("parameters",)),
        _cell(OPENING, _said(said)),
        _cell("run.figure(fig)", _png(1284)),
        _cell("playground(sliders, draw)", tags=(IGNORE,)),
        _words("## 1 · Items 質問\n\n(section 2) Try `weights=`: alpha rises."),
        *(_cell(f"check(1, {k}, ...)", tags=("exercise",)) for k in range(1, 7)),
        _cell(METHOD, **CHANGE),
        _cell(SHOW, _table(1)),
        *(_words("More.") for _ in range(27)),
        _words("## 2 · Recap and glossary まとめと用語"),
        _cell("show(glossary())"),
        _words("## 3 · Limits, ethics 限界・倫理"),
        _cell("show(run.save())"),
    ]
    for number, cell in enumerate(rules.code_of(cells), 1):
        cell["execution_count"] = number
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def told(nb: dict) -> list[str]:
    return [line for rule in RULES for line in rule(nb)]


def test_a_good_notebook_breaks_no_rule():
    assert told(tiny()) == [] and len(tiny()["cells"]) == 45


#: Rule -> cell of `tiny` and what is changed in it: metadata or outputs as they are, else its text.
SPOILT: dict[Any, list[tuple[int, Any]]] = {
    rules.executed: [(2, {"execution_count": 7}), (2, {"execution_count": None})],
    rules.quiet: [
        (2, {"outputs": [_said("a warning", "stderr")]}),
        (2, {"outputs": [{"output_type": "error", "ename": "KeyError", "traceback": []}]}),
    ],
    rules.tagged: [
        (2, {"metadata": {"tags": ["raises-exception"]}}),
        (6, {"metadata": {}}),
        (2, "# NBVAL_SKIP\nprint(1)"),
        (5, "## 2 · Items 質問\n\n**Exercise 1.**"),
        (5, "What the recorded models show."),
        (5, "The 0.5B writes 1 nearly always."),
    ],
    rules.ignored: [
        (2, {"metadata": {"tags": [IGNORE]}}),
        (4, "run.row(1)\nplayground(sliders, draw)"),
        (4, "explorer({}, f)\nshow(f)"),
    ],
    rules.plain_cells: [
        (2, "%matplotlib inline"),
        (2, "widgets.interact(f)"),
        (2, "x = 1\n" * rules.MAX_LINES),
        (2, {"source": "x = 1\n" * rules.MAX_MODEL_LINES, "metadata": {"tags": ["model"]}}),
        (2, " "),
    ],
    rules.stripped: [(2, {"metadata": {"execution": {}}}), (2, {"metadata": {"papermill": {}}})],
    rules.stable: [
        (2, {"outputs": [_said(text)]})
        for text in (
            *("saved to /tmp/katayori-x", "C:\\Users", "done at 2025-11-21T23:05", "took 0:01:12"),
            *("a" * 40, "<Axes at 0x7f00aa12>", str(paths.root() / "data")),
        )
    ],
    rules.sharp_pictures: [
        (3, {"outputs": [_png(9 * 192 + 2)]}),
        (3, {"outputs": [_png(800, shown=401)]}),
        (3, {"outputs": [_png(800, shown=0)]}),
        (2, {"outputs": [_said("x" * rules.MAX_BYTES)]}),
    ],
    rules.framed: [(0, "# Title only"), (-2, "no heading, only limits"), (-1, "show(1)")],
    rules.taught: [
        (0, "# Title"),
        (4, "explorer(choices, look)"),
        (5, "## 1 · Items 質問\n\n## 2 · Exercises 練習"),
        (5, "## 1 · Items 質問\n\n## 3 · Recap and glossary まとめ"),
        (5, "## 1 · Items (section 5)\n\n## 2 · Recap and glossary まとめ"),
        (6, "x = 1"),
        (-3, "show(frame)"),
    ],
    rules.parameterised: [
        (1, {"metadata": {}}),
        (1, 'output_dir: str = ""'),
        (1, 'output_dir = ""  # given'),
        (1, 'folder: str = ""  # given'),
    ],
}


MODULES = sorted(path.stem for path in (paths.root() / "lib/katayori/metrics").glob("[a-z]*.py"))


@pytest.mark.parametrize("rule", SPOILT, ids=lambda rule: rule.__name__)
def test_each_rule_sees_its_breach(rule):
    for cell, change in SPOILT[rule]:
        nb = tiny()
        nb["cells"][cell] |= change if isinstance(change, dict) else {"source": change}
        assert list(rule(nb)), change


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (_cell("x = 1\n" * 15), "code lines; 15 are the most"),
        (_cell("\n".join(f"import m{k}" for k in range(9))), "set-up: 9 import lines"),
        (
            _cell(f"from katayori.metrics import {', '.join(MODULES[:10])}"),
            "set-up: 11 own modules",
        ),
        (_cell("x = 1", breach="no"), "1 breaches"),
        (_cell("import matplotlib.pyplot as plt"), "draws with matplotlib.pyplot"),
        (_cell("from katayori.report.charts import draw"), "draws with katayori.report"),
        (_cell("show(x)", _table(13)), "a table of 13 rows does not scroll"),
        (_cell(METHOD, **CHANGE), "section 0: its text does not name weights="),
    ],
)
def test_each_limit_sees_what_passes_it(cell, says):
    nb = tiny()
    nb["cells"].insert(3, cell)
    assert any(says in line for line in told(nb))


def test_what_is_allowed_passes():
    """A long table that scrolls, and one breach with its reason."""
    nb = tiny()
    style = ' style="max-height: 20em; overflow: auto"'
    nb["cells"].insert(35, _cell("x", _table(13, style)))
    nb["cells"].insert(35, _cell("x", _table(13), breach="the paper prints this table"))
    assert not [*rules.scrolling(nb), *rules.in_bounds(nb)]
    nb["cells"].insert(35, nb["cells"][35])
    assert "2 breaches" in next(rules.in_bounds(nb))


@pytest.mark.parametrize("change", [slice(0, 1), slice(0, 0)])
def test_a_notebook_has_45_to_75_cells(change):
    nb = tiny()
    nb["cells"][change] = [] if change.stop else nb["cells"][:31]
    assert any("cells; 45 to 75 are right" in line for line in rules.in_bounds(nb))


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({}, "no cell can change what it shows"),
        ({"change": "weights"}, "is not one argument"),
        ({"change": {"weights": "n", "order": 1}}, "is not one argument"),
        ({"change": {"order": "swapped"}}, "no call that computes gets order="),
        ({"change": {"caption": "Other"}}, "no call that computes gets caption="),
        ({"change": {"weights": "standard"}}, "weights= is 'standard' already"),
        (CHANGE, "its text does not name weights="),
    ],
)
def test_a_section_whose_number_no_cell_can_change_fails(metadata, says):
    text = "## 1 · Agreement" + ("" if metadata is CHANGE else "\n\n`weights=`")
    nb = {"cells": [_words(text), _cell(f"{METHOD}\n{SHOW}", _table(1), **metadata)]}
    [line] = rules.changeable(nb)
    assert line.startswith("section 1: ") and says in line


@pytest.mark.parametrize(
    "metadata", [{"widgets": {}}, {"papermill": {}}, {"language_info": {"version": "3.11.7"}}]
)
def test_widget_state_and_versions_are_seen(metadata):
    nb = tiny()
    nb["metadata"] |= metadata
    assert list(rules.stripped(nb))


# -- changing works --------------------------------------------------------------------------------


def unchanged(book: Path, folder: Path) -> list[str]:
    """What `changed_notebook.py` says of a notebook."""
    settings = kernel_settings(folder / "settings") | {"KATAYORI_OUTPUTS": str(OUTPUTS)}
    done = subprocess.run(
        [sys.executable, str(TESTS / "changed_notebook.py"), str(book), str(folder / "run")],
        env=settings | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        cwd=book.parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@pytest.mark.slow  # the overview needs the run that `make test` makes first
@pytest.mark.parametrize("book", but_one_slow(BOOKS), ids=lambda book: book.stem)
def test_changing_works(book, tmp_path):
    """Contract: with another value of the argument it names, a section shows another table."""
    assert not unchanged(book, tmp_path)


#: A method, another value of its argument, and what is said of it.
CHANGES = [
    (METHOD, "self pairs", ""),
    # A whole study in one call hides its method: what it can name changes nothing.
    ('found = analyse(answers, weights="standard")["alpha"]', "self pairs", "changes nothing"),
    (METHOD, "none", "with another weights= KeyError: "),
]
PLOTS = """
from pathlib import Path
Path(output_dir, "figures").mkdir(exist_ok=True, parents=True)
Path(output_dir, "figures", "f.csv").write_text(str(found))
"""


def test_only_an_argument_of_an_open_method_shows(tmp_path):
    """Also where a figure alone is shown: what it plots has changed."""
    cells = [_cell('output_dir: str = ""', tags=("parameters",)), _cell(OPENING)]
    for number, (shown, (method, value, _)) in enumerate(itertools.product((SHOW, PLOTS), CHANGES)):
        changed = _cell(method, change={"weights": value})
        cells += [_words(f"## {number} · Agreement"), changed, _cell(shown)]
    book = tmp_path / "99_tiny.ipynb"
    book.write_text(json.dumps({"cells": cells}))
    lines = unchanged(book, tmp_path)
    told = 2 * [says for *_, says in CHANGES]
    wanted = [(f"section {number}: ", says) for number, says in enumerate(told) if says]
    assert len(lines) == len(wanted)
    assert all(
        line.startswith(place) and says in line
        for line, (place, says) in zip(lines, wanted, strict=True)
    )


# -- mutation ----------------------------------------------------------------------------------------------------------

#: Runs in every Python below the notebook's folder: the metric is scaled right after its module has
#: been imported.
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


def test_every_notebook_has_its_mutation():
    assert [book.stem for book in BOOKS] == list(MUTATIONS)


def checked_with(
    mutation: tuple[str, str], book: Path, folder: Path
) -> subprocess.CompletedProcess:
    """nbval strict, up to the first failure, on a copy whose kernel imports the mutated metric."""
    copied = folder / book.name
    copied.write_bytes(book.read_bytes())
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")
    words = ["pytest", "-q", "--color=no", "-c", str(paths.root() / "lib" / "pyproject.toml")]
    words += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "400", "-x"]
    words += ["-p", "no:cacheprovider", "--rootdir", str(folder)]
    words += ["--nbval-sanitize-with", str(TESTS / "nbval_sanitize.cfg"), str(copied)]
    changed = {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0", "PYTEST_ADDOPTS": ""}
    changed |= {"MUTATED": mutation[0], "MUTATED_KEY": mutation[1]}
    return subprocess.run(
        [sys.executable, "-m", *words],
        env=os.environ | changed,
        capture_output=True,
        text=True,
        cwd=folder,
    )


@pytest.mark.slow
@pytest.mark.parametrize("book", but_one_slow(BOOKS), ids=lambda book: book.stem)
def test_a_metric_that_moves_by_one_percent_fails_the_check(book, tmp_path):
    """Contract, Notebooks. `make test` also runs nbval on the unchanged notebook, which must pass.

    An error or a time-out in the kernel would fail as well and prove nothing: the failure must be a
    difference of outputs, or of the method by hand from the library, in a cell that comes after
    others that pass.
    """
    done = checked_with(MUTATIONS[book.stem], book, tmp_path)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert done.returncode == 1 and re.search(r"1 failed, [1-9]\d* passed", text), (
        text + done.stderr
    )
    assert not re.search("Timeout|Unrun reference", text), text
    raised = "Cell execution caused an exception" in text
    by_hand = re.search(r"-> \d+ assert .*by_hand.*(?:\n.*)*\nAssertionError: *$", text, re.M)
    assert by_hand if raised else "Cell outputs differ" in text, text

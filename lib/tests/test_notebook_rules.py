"""The contract of a moved notebook sees its breaches, and changing an argument shows.

A tiny notebook that shows its method keeps every rule; one that hides it behind a call of a whole
study fails, whatever change it names.
"""

import copy
import json
import subprocess
import sys
from pathlib import Path

import notebook_rules
import pytest
from notebook_rules import RULES, changeable, changed_source, scrolling, unfolded

from katayori import paths

SCRIPT = Path(__file__).with_name("changed_notebook.py")
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
SHOWN = 'show(found, caption="Alpha")'
CHANGE = {"change": {"weights": "self pairs"}}
BUNDLE = 'found = analyse(answers, weights="standard")'


def table(rows: int, style: str = "") -> dict:
    html = f"<div{style}><table>{'<tr><td>1</td></tr>' * (rows + 1)}</table></div>"
    return {"output_type": "display_data", "data": {"text/html": html}, "metadata": {}}


def code(text: str, *outputs: dict, **metadata) -> dict:
    one = {"cell_type": "code", "source": text.strip(), "metadata": metadata, "id": "x"}
    return one | {"outputs": list(outputs), "execution_count": 1}


def words(text: str) -> dict:
    return {"cell_type": "markdown", "source": text, "metadata": {}}


def notebook(*cells: dict) -> dict:
    """A notebook with these cells after its set-up, filled up to 50 cells."""
    parameters = code('output_dir: str = ""  # given', tags=["parameters"])
    opening = [words("# T"), parameters, code(OPENING), *cells]
    return {"cells": [*opening, *(words("More.") for _ in range(50 - len(opening)))]}


def open_method() -> dict:
    return notebook(
        words("## 1 · Agreement 一致\n\nTry `weights=`: alpha rises."),
        code(METHOD, **CHANGE),
        code(SHOWN, table(1)),
        words("## 2 · Recap and glossary 用語"),
        code('show(1, caption="Terms")', table(1)),
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_notebook_that_shows_its_method_keeps_every_rule(rule):
    assert list(rule(open_method())) == []


FOLDED = {"jupyter": {"source_hidden": True}}
ONE_FIGURE = 'x = 1\nrun.figure("f", found)'
HIDDEN = f"from katayori.metrics import ranks\nranks.h(x)\n{ONE_FIGURE}"
MODULES = sorted(path.stem for path in (paths.root() / "lib/katayori/metrics").glob("[a-z]*.py"))
TEN = ", ".join(MODULES[:10])


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (code("x = 1\n" * 15), "code lines; 15 are the most"),
        (code("\n".join(f"import m{k}" for k in range(9))), "set-up: 9 import lines"),
        (code(f"from katayori.metrics import {TEN}"), "set-up: 11 own modules"),
        (words("word " * 2001), "words; 2000 are the most"),
        (code("x = 1", breach="no"), "1 breaches"),
        (code("import matplotlib.pyplot as plt"), "draws with matplotlib.pyplot"),
        (code("from katayori.report.charts import draw"), "draws with katayori.report"),
        (code("x = 1", **FOLDED), "draws nothing"),
        (code("x = 1", tags=["hide-input"]), "draws nothing"),
        (code('run.figure("f", found)', **FOLDED), "is one statement"),
        (code(HIDDEN, **FOLDED), "computes ranks.h"),
        (code(f"assert x\n{ONE_FIGURE}", **FOLDED), "checks a method"),
        (code("show(x)", table(13)), "a table of 13 rows does not scroll"),
        (code(METHOD, **CHANGE), "section 0: its text does not name weights="),
    ],
)
def test_each_rule_sees_its_breach(cell, told):
    nb = open_method()
    nb["cells"].insert(3, cell)
    assert any(told in line for rule in RULES for line in rule(nb))


def test_a_figure_may_be_folded_and_a_long_table_scrolls():
    style = ' style="max-height: 20em; overflow: auto"'
    nb = notebook(code(ONE_FIGURE, **FOLDED), code("show(x)", table(13, style)))
    assert list(unfolded(nb)) == list(scrolling(nb)) == []


def test_a_notebook_has_45_to_75_cells():
    nb = open_method()
    assert list(notebook_rules.in_bounds({"cells": nb["cells"][:45]})) == []
    assert list(notebook_rules.in_bounds({"cells": nb["cells"][:44]}))
    assert list(notebook_rules.in_bounds({"cells": nb["cells"] + nb["cells"][:26]}))


def test_one_breach_with_its_reason_is_left_out():
    cell = code("show(x)", table(13), breach="the paper prints this table")
    assert list(scrolling(notebook(cell))) == []
    assert list(notebook_rules.in_bounds(notebook(cell))) == []
    assert list(notebook_rules.in_bounds(notebook(cell, cell)))


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({}, "no cell can change what it shows"),
        ({"change": "weights"}, "is not one argument"),
        ({"change": {"weights": "n", "order": 1}}, "is not one argument"),
        ({"change": {"order": "swapped"}}, "no call that computes gets order="),
        ({"change": {"caption": "Other"}}, "no call that computes gets caption="),
        ({"change": {"weights": "standard"}}, "weights= is 'standard' already"),
    ],
)
def test_a_section_whose_number_no_cell_can_change_fails(metadata, told):
    text = "## 1 · Agreement\n\n`weights=`, `order=`, `caption=`"
    nb = notebook(words(text), code(f"{METHOD}\n{SHOWN}", table(1), **metadata))
    (line,) = changeable(nb)
    assert line.startswith("section 1: ") and told in line


def test_a_section_names_its_argument_in_words():
    nb = notebook(words("## 1 · Agreement"), code(f"{METHOD}\n{SHOWN}", table(1), **CHANGE))
    assert list(changeable(nb)) == ["section 1: its text does not name weights="]


def test_the_other_value_stands_wherever_the_cell_gives_the_argument():
    cell = code("show(f(x, by=['a']), caption=g(by=['a']), by=1)", change={"by": ["a", "b"]})
    assert changed_source(cell) == "show(f(x, by=['a', 'b']), caption=g(by=['a', 'b']), by=1)"


# -- changing works --------------------------------------------------------------------------------


def unchanged(nb: dict, folder: Path) -> list[str]:
    """What `changed_notebook.py` says of a notebook."""
    book = folder / "99_tiny.ipynb"
    book.write_text(json.dumps(nb), encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(book), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def test_changing_an_argument_of_an_open_method_shows(tmp_path):
    """Also where a figure alone is shown: what it plots has changed."""
    plots = """
from pathlib import Path
Path(output_dir, "figures").mkdir(exist_ok=True)
Path(output_dir, "figures", "f.csv").write_text(str(found))
"""
    nb = open_method()
    figure = [words("## 2 · Figure"), code(METHOD, **CHANGE), code(plots)]
    nb["cells"][6:6] = figure
    assert unchanged(nb, tmp_path) == []


def test_a_notebook_that_hides_its_method_fails(tmp_path):
    """Its sections have nothing to change; what it can name changes nothing."""
    hidden = notebook(
        words("## 1 · The study\n\n`weights=`"),
        code(BUNDLE, **CHANGE),
        code('show(found["alpha"], caption="Alpha")', table(1)),
        words("## 2 · Agreement"),
        code('show(found["alpha"], caption="Alpha")', table(1), change={"caption": "Beta"}),
    )
    assert list(changeable(hidden)) == ["section 2: no call that computes gets caption="]
    bare = copy.deepcopy(hidden)
    del bare["cells"][7]["metadata"]["change"]
    assert list(changeable(bare)) == ["section 2: no cell can change what it shows"]
    told = unchanged(bare, tmp_path)
    assert told == ["section 1: another weights= changes nothing that is shown"]


def test_a_change_that_fails_is_no_change(tmp_path):
    nb = open_method()
    nb["cells"][4]["metadata"] = {"change": {"weights": "none"}}
    (line,) = unchanged(nb, tmp_path)
    assert line.startswith("section 1: with another weights= KeyError: ")

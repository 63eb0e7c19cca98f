"""Every exercise: its solution passes the notebook's own check, anything else gets a hint.

Nothing raises. An exercise is a code cell that calls `check`; what a reader fills in are its lines
`name = ...`. Its solution is the code cell at the same place in the file of `notebooks/solutions`;
the cells `wrong: words` behind it are wrong answers, whose message must have these words.
"""

import ast
import json
import re
from contextlib import redirect_stdout
from io import StringIO

import pytest

from katayori import paths
from katayori.language import told
from katayori.report import exercises as library

BOOKS = sorted((paths.root() / "notebooks").glob("[0-9][0-9]_*.ipynb"))
WRONG = [..., None, "", "z", 0, 3.5, True, [], {}, "b" * 10**5, object(), lambda: 1 / 0]
WRONG += [float("nan"), b"b"]


class Hostile:
    """Fails whatever is asked of it."""

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None

    def __bool__(self):
        raise RuntimeError("no")


def exercises(book):
    """[(tree of the cell, names to fill in, stored message)] of a notebook, and all its imports."""
    cells = [
        c for c in json.loads(book.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"
    ]
    trees = [ast.parse("".join(cell["source"])) for cell in cells]
    imports = [
        node
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    found = []
    for cell, tree in zip(cells, trees, strict=True):
        if any(isinstance(n, ast.Call) and ast.unparse(n.func) == "check" for n in ast.walk(tree)):
            stored = "".join("".join(output.get("text", "")) for output in cell["outputs"])
            found.append((tree, [n.targets[0].id for n in tree.body if _is_blank(n)], stored))
    return found, ast.Module(imports, [])


def _is_blank(node):
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
    )


def solved(book):
    """Of each exercise the code that solves it, and {words of the message: code of a wrong one}."""
    text = (book.parent / "solutions" / f"{book.stem}.py").read_text(encoding="utf-8")
    found = []
    for cell in re.split(r"^# %%", text, flags=re.M)[1:]:
        title, _, code = cell.partition("\n")
        if title.startswith(" wrong: "):
            found[-1][1][title.removeprefix(" wrong: ")] = code
        elif title != " [markdown]":
            found.append((code, {}))
    return found


def message(book, k, answers):
    """What exercise k says to the given answers, a dict name -> value (or a solution's code)."""
    found, imports = exercises(book)
    tree, names, _ = found[k]
    space = {}
    exec(compile(imports, book.name, "exec"), space)
    if isinstance(answers, str):
        exec(answers, space)
        assert all(name in space for name in names), f"the solution leaves {names} open"
    else:
        space |= answers
    filled = ast.Module([node for node in tree.body if not _is_blank(node)], [])
    with redirect_stdout(StringIO()) as said:
        exec(compile(filled, book.name, "exec"), space)
    return said.getvalue()


CASES = [
    pytest.param(b, k, id=f"{b.stem}-{k + 1}") for b in BOOKS for k in range(len(exercises(b)[0]))
]


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_every_exercise_has_a_solution_and_a_blank(book):
    """Contract: the committed notebook holds the unanswered exercise."""
    found, _ = exercises(book)
    has_file = (book.parent / "solutions" / f"{book.stem}.py").exists()
    assert len(found) == (len(solved(book)) if has_file else 0)
    assert all(names for _, names, _ in found)


def test_no_solution_is_left_over():
    known = {book.stem for book in BOOKS}
    assert {path.stem for path in (paths.root() / "notebooks" / "solutions").iterdir()} <= known


@pytest.mark.parametrize(("book", "k"), CASES)
def test_the_solution_solves_it_and_wrong_ones_are_refused_by_the_name_of_their_slip(book, k):
    """Three or more wrong ones for each exercise; left open, it is silent."""
    code, wrong = solved(book)[k]
    assert message(book, k, code).strip().startswith("Right. ")
    assert len(wrong) >= 3
    for words, other in wrong.items():
        said = " ".join(message(book, k, other).split())
        assert said.startswith("Not yet. ") and words in said, (words, said)
    _, names, stored = exercises(book)[0][k]
    assert message(book, k, dict.fromkeys(names, ...)) == stored == ""


@pytest.mark.parametrize(("book", "k"), CASES[:6])
def test_wrong_answers_get_a_hint_and_never_raise(book, k):
    _, names, _ = exercises(book)[0][k]
    for wrong in [*WRONG[1:], Hostile()]:
        said = message(book, k, dict.fromkeys(names, wrong))
        assert said.startswith("Not yet. ") and len(said) > 20, wrong


#: Two English words in a row; what a reader's own code raised stands in brackets.
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,}", re.IGNORECASE)
RAISED = re.compile(r"で止まります（.*?）。")


@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("number", [1, 4])
def test_what_is_said_of_an_answer_is_japanese_in_japanese(number, k, monkeypatch):
    """Every hint of a notebook, the stronger ones too, with the numbers of the English one."""
    monkeypatch.setenv("KATAYORI_LANG", "ja")
    book = BOOKS[number]
    exercise, code = library.exercises(number)[k + 1], solved(book)[k]
    _, names, _ = exercises(book)[0][k]
    said = [message(book, k, one).strip() for one in (code[0], *code[1].values())]
    said += [message(book, k, dict.fromkeys(names, one)).strip() for one in WRONG[1:]]
    if "compared" in exercise:
        functions = (lambda *_: None, lambda *_: "x", lambda *_: [1, 2.5], lambda *given: {}[given])
        said += [library.judged(exercise, one, more) for one in functions for more in (False, True)]
        said += [one[field] for one in exercise["slips"].values() for field in ("hint", "more")]
    for english in said:
        japanese = RAISED.sub("", told(english))
        assert japanese != english and not ENGLISH.search(japanese), japanese
        kept = re.findall(r"\d\.\d+|\[\(.*?\)\]", english)  # numbers and inputs
        assert all(one in japanese for one in kept), japanese

"""The Python on the pages "from your log to a figure" and "why is my number not theirs?" runs and
prints what stands there.
"""

import contextlib
import io
import re

import page_inputs
import pandas as pd
import pytest

from katayori import paths
from katayori_tools import cli

PAGE = paths.root() / "lib" / "pages" / "your-log-to-a-figure.md"
WHY = PAGE.with_name("why-not-theirs.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def told(page):
    """Each block of Python of a page with what it prints and what the page says."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    names: dict = {}
    said = []
    for (kind, text), (following, shown) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, page.name, "exec"), names)
        said.append((text, printed.getvalue(), shown if following == "text" else ""))
    return said, names


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Each block of Python with what it printed and what the page says, and the folder."""
    folder = tmp_path_factory.mktemp("page")
    page_inputs.write(folder)
    with contextlib.chdir(folder):
        said, _ = told(PAGE)
    return folder, said


def test_the_page_shows_what_its_blocks_print(ran):
    _, said = ran
    assert len(said) >= 10
    for text, printed, shown in said:
        assert printed == shown, text


def test_every_figure_of_the_page_is_drawn(ran):
    folder, said = ran
    named = re.findall(r'savefig\("(.*?)"\)', "".join(text for text, _, _ in said))
    assert len(named) == len(set(named)) == 6
    for name in named:
        assert "</svg>" in (folder / name).read_text(encoding="utf-8"), name


def test_the_commands_of_the_page_take_the_files_of_the_page(ran, tmp_path, monkeypatch):
    """The verdicts and the table of scores of the page were refused by its own commands."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    command = r'^make analyse LOG=(\S+)(?: ARGS="(.*)")?$'
    lines = re.findall(command, PAGE.read_text("utf-8"), re.M)
    here = [(ran[0] / log, words) for log, words in lines if (ran[0] / log).exists()]
    assert [cli.main(["analyse", str(log), *words.split()]) for log, words in here] == [0, 0, 0]
    # CBBQ names the target in no column: of ten questions five follow the stereotype, one does not.
    table = pd.read_csv(tmp_path / "analyse" / "cbbq_roles" / "results.csv")
    found = table.drop_duplicates("measure").set_index("measure")["value"]
    assert found[["acc_amb", "diff_amb"]].tolist() == pytest.approx([0.4, 0.4])


@pytest.mark.parametrize("page", [PAGE, WHY])
def test_the_page_says_that_its_answers_are_made_up(page):
    assert "The answers on this page are made up." in page.read_text(encoding="utf-8")


def test_the_numbers_of_one_set_of_answers_are_those_that_the_page_shows():
    said, names = told(WHY)
    assert len(said) == 3
    for text, printed, shown in said:
        assert printed == shown and shown, text
    # What the page says in words.
    fair, lean = names["wide"], names["lean"].set_index("tool")
    helm = fair.loc["HELM", ["bias_amb", "bias_dis"]]
    assert (helm < -0.29).all()
    others = fair.loc[["KoBBQ", "EuroEval", "BBQ", "Nejumi", "lm-eval"], ["bias_amb", "bias_dis"]]
    assert others.abs().max().max() < 1e-12
    assert fair["acc_amb"].max() - fair["acc_amb"].min() == pytest.approx(0.27)
    assert lean.loc["HELM", "ci_high"] < 0 < lean.drop("HELM")["ci_low"].min()
    assert lean["value"].round(2).to_dict() == {
        **{"KoBBQ": 0.3, "EuroEval": 0.21, "BBQ": 0.3, "Nejumi": 0.44, "lm-eval": 0.44},
        "HELM": -0.07,
    }
    # A board of 15 questions knows less than 100 rows would.
    assert names["ends"]["ci_high"] - names["ends"]["ci_low"] > 2 * (0.79 - 0.6)
    assert names["rows_of"].tolist() == [8, 8, 4] * 5 and names["rows_of"].sum() == 100

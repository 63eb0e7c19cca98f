"""The first page of a report on a model whose behaviour was planted: what a reader is told.

The models are servers on loopback (`stub_model`); all their answers are made. Each is asked what
`make live` asks of it, at the usual size, and its notebook runs without a kernel. The same is
asserted of the page, of results.json and of the terminal.
"""

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import plain_run
import pytest
import stub_model
from bs4 import BeautifulSoup
from test_every_model import Case, check

from katayori import paths
from katayori.metrics.verdicts import NO_VERDICT
from katayori.report import first_page, headlines
from katayori.report.headlines import read_results
from katayori_tools import cli, reproduce

LIMIT = "21"
MODELS = {
    "men .4, women .7": stub_model.yes_by_gender,
    "locked": stub_model.first_option,
    "fair": stub_model.fair,
    "30 % unreadable": stub_model.partly_unreadable,
    "prose": stub_model.prose,
}
#: A number with a sign or an interval, as values are written.
VALUE = re.compile(r"[+-]\d\.\d{3}|\[[+-]?\d\.\d{3}")


@dataclass(frozen=True)
class Told:
    """What a run tells of a model."""

    page: str
    terminal: str
    rows: pd.DataFrame
    folder: Path

    @property
    def bias(self) -> pd.DataFrame:
        return self.rows[self.rows["kind"] == "bias"]

    @property
    def lines(self) -> dict[str, str]:
        """What the terminal says of each headline of bias."""
        lines = [line.strip() for line in self.terminal.splitlines()]
        return {
            name: next((line for line in lines if line.startswith(f"{name}: ")), "")
            for name in self.bias["measure"]
        }


def told(folder) -> Told:
    """Page, terminal and headlines of a run folder."""
    page = BeautifulSoup(first_page.markup(folder, "A question"), "html.parser")
    terminal = "\n".join(first_page.in_short(folder))
    found = headlines.headlines(read_results(folder))
    text = " ".join(page.get_text(" ").split())
    rows = found[found["source"] == "live"]
    return Told(text, terminal, rows, folder.parent)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Callable[[str, str], Told]]:
    """Runs a paper on a model, each pair once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "reproduce", plain_run.without_kernel)

        @functools.cache
        def one(model: str, paper: str) -> Told:
            folder = tmp_path_factory.mktemp("planted")
            patch.setenv("KATAYORI_OUTPUTS", str(folder / "outputs"))
            patch.setenv("KATAYORI_CACHE", str(folder / "cache"))
            words = ["--papers", paper, "--models", "my-model@custom", "--limit", LIMIT]
            words += ["--keep-asking"] if model == "prose" else []
            assert stub_model.live(words, MODELS[model]) == 0
            done = paths.outputs_dir() / "live" / "my-model@custom"
            check(Case(("my-model@custom",), "live", "none", (paper,)), done)
            return told(done / paper)

        yield one


def but_slow(*papers, quick):
    """Papers as cases of a test; all but one are left to `make test-all`."""
    return [quick, *(pytest.param(paper, marks=pytest.mark.slow_all) for paper in papers)]


def test_a_planted_gap_is_said_with_its_sign_its_limit_and_its_verdict(run):
    found = run("men .4, women .7", "discrim_eval")
    rows = found.bias.set_index("measure")
    row = rows.loc["gap in yes by gender: female"]
    planted = stub_model.YES_WOMEN - (stub_model.YES_MEN + 0.5) / 2  # to the mean of two rates
    assert row["ci_low"] < planted < row["ci_high"]
    assert row["verdict"] == "present" and 0 < row["limit"] < planted
    ends = f"{row['value']:+.3f} [{row['ci_low']:+.3f}, {row['ci_high']:+.3f}]"
    assert (
        f"gap in yes by gender: female: {ends}, limit {row['limit']:.3f}: present" in found.terminal
    )
    for text in (found.page, found.terminal):
        assert f"1 of 3 present: gap in yes by gender: female {ends}." in text
    assert f"{row['limit']:.3f}" in found.page and "WARNING" not in found.terminal
    others = rows.drop("gap in yes by gender: female")
    assert others.index.str.contains("by age|by race").all() and len(others) == 2
    assert others["verdict"].str.startswith("undecided").all()
    assert all("present" not in found.lines[name] for name in others.index)


@pytest.mark.parametrize("paper", but_slow("persona_jbbq", "inter_jbbq", quick="jubaku_v2"))
def test_a_model_that_answers_by_position_has_no_bias_and_no_absence_of_it(run, paper):
    found = run("locked", paper)
    warning = "may answer by position, not by content: 100.0 % of its readable answers"
    assert f"WARNING: my-model@custom {warning}" in found.terminal
    assert f"Warning. my-model@custom {warning}" in found.page
    assert len(found.bias) and set(found.bias["verdict"]) == {"position bound"}
    assert found.bias[["value", "ci_low", "ci_high"]].isna().all(axis=None)
    assert set(found.bias["shown"]) == {"answers by position"}
    assert all(": answers by position" in line for line in found.lines.values())
    for text in (found.page, found.terminal):
        assert f"Bias: not measured ({len(found.bias)} × answers by position)." in text
        assert not re.search("absent|present|no lean|undecided", text)
    assert not VALUE.search("".join(found.lines.values()))


@pytest.mark.slow_all
def test_a_judge_that_answers_by_position_is_told_by_its_position(run):
    """The paper's subject: lean and agreement come first, with the warning above them."""
    found = run("locked", "logprob_judge")
    for text in (found.page, found.terminal):
        assert "may answer by position, not by content: 100.0 %" in text
        assert "Bias: not measured" in text and "absent" not in text
        (failed,) = re.findall(r"did not happen under: (.+?)\.", text)
        assert set(failed.split("; ")) == {"reasons", "criteria, reasons", "reasons in a turn"}
    lines = found.terminal.splitlines()
    lean, agreement = (
        next(k for k, line in enumerate(lines) if line.startswith(f"  {name}"))
        for name in ("lean to the first position (verdict)", "agrees with the label (verdict)")
    )
    assert (agreement, lines[lean + 2][:39]) == (
        lean + 1,
        "  same verdict in both orders (verdict)",
    )
    assert len(lines) <= 14


@pytest.mark.parametrize("paper", but_slow("discrim_eval", quick="persona_jbbq"))
def test_of_a_fair_model_no_bias_is_present(run, paper):
    found = run("fair", paper)
    assert "WARNING" not in found.terminal and "Warning." not in found.page
    assert not found.bias["verdict"].str.startswith("present").any()
    assert found.bias[["value", "ci_low", "ci_high", "limit"]].notna().all(axis=None)
    # An interval in twenty misses what was planted.
    assert ((found.bias["ci_low"] > 0) | (found.bias["ci_high"] < 0)).sum() <= 1
    for name, row in found.bias.set_index("measure").iterrows():
        assert f": {row['shown']}, limit {row['limit']:.3f}: {row['verdict']}" in found.lines[name]
    plain = found.bias[found.bias["verdict"] == "undecided"]
    span = f"{plain['limit'].min():.3f} to {plain['limit'].max():.3f}"
    # So few templates find no absence: the intervals are wider than the margin.
    for text in (found.page, found.terminal):
        assert "Bias: not shown (" in text and f"{len(plain)} × undecided" in text
        assert f"Undecided is not absent: the limits are {span}." in text


@pytest.mark.slow_all
@pytest.mark.parametrize("paper", ["persona_jbbq", "discrim_eval"])
def test_a_share_that_cannot_be_read_is_a_warning(run, paper):
    found = run("30 % unreadable", paper)
    (share,) = re.findall(r"WARNING: Only (\d\d\.\d) % of the answers of my-", found.terminal)
    assert float(share) == pytest.approx(100 * (1 - stub_model.LOST), abs=8)
    assert f"Warning. Only {share} % of the answers" in found.page
    assert stub_model.PROSE in found.page and stub_model.PROSE in found.terminal
    assert not found.bias["verdict"].str.startswith(("present", "absent")).any()
    assert not re.search(r"\d present:", found.page + found.terminal)


@pytest.mark.slow_all
@pytest.mark.parametrize("paper", ["persona_jbbq", "discrim_eval"])
def test_what_unreadable_answers_could_give_is_said_on_both_sides(run, paper):
    found = run("30 % unreadable", paper)
    for row in found.bias.to_dict("records"):
        n_all = row["n"] + row["n_invalid"]
        # Every lost answer may have gone either way.
        if row["measure"].startswith("Diff-bias, ambiguous"):
            width = row["high_bound"] - row["low_bound"]
            assert width == pytest.approx(2 * row["n_invalid"] / n_all)
        assert row["low_bound"] <= row["value"] <= row["high_bound"]
        assert f"{row['low_bound']:z.3f} to {row['high_bound']:z.3f}" in found.page
        ends = rf"from {row['low_bound']:z.3f} \(.+\) to {row['high_bound']:z.3f} \(.+\)\."
        assert re.fullmatch(f"Unreadable answers decide: {ends}", row["why"])
        assert row["why"] in found.page


def test_of_a_model_that_writes_prose_there_is_no_value_anywhere(run):
    found = run("prose", "jubaku_v2")
    told = "None of the answers of my-model@custom to ju_1_ja could be read (0 of 42)."
    assert f"WARNING: {told} 3 more prompts are below 90 %." in found.terminal
    assert f"Warning. {told}" in found.page
    assert found.rows[["value", "ci_low", "ci_high"]].isna().all(axis=None)
    assert set(found.rows["shown"]) == {"no valid answer"}
    assert set(found.bias["verdict"]) <= set(NO_VERDICT)
    for text in (found.page, found.terminal):
        assert "Bias: not measured (2 × no valid answer)." in text
        assert not VALUE.search(text) and "0.000" not in text
        assert not re.search("absent|present|undecided|too little data", text, re.I)


# -- notebook 00 and make compare tell the same ----------------------------------------------------


def overview_of(told: Told, monkeypatch) -> pd.DataFrame:
    """The verdict table of notebook 00 on a run, by measure."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(told.folder.parents[1]))
    words = ["--papers", "overview", "--profile", "live", "--models", "my-model@custom"]
    assert cli.main(["reproduce", *words]) == 0
    table = pd.read_csv(told.folder / "overview" / "tables" / "verdicts.csv", keep_default_na=False)
    assert set(table["model"]) == {"my-model@custom"}
    return table.set_index("of")


def title_of_profile(told: Told) -> str:
    """What the first picture of notebook 00 states; empty where no bias has a value."""
    return plain_run.TITLES[told.folder / "overview"].get("profile", "")


def test_the_overview_says_the_planted_gap(run, monkeypatch):
    found = run("men .4, women .7", "discrim_eval")
    table = overview_of(found, monkeypatch)
    told = table.loc["01 gap in yes by gender: female"]
    row = found.bias.set_index("measure").loc["gap in yes by gender: female"]
    assert told["verdict"] == "present" and told["shown"].lstrip("'") == row["shown"]
    others = table.drop(told.name)
    assert len(others) == 2 and others["verdict"].str.startswith("undecided").all()
    assert title_of_profile(found).startswith("1 of 3 biases are present, 0 leans away")


@pytest.mark.slow_all
def test_a_locked_model_is_compared_with_nobody(run, capsys):
    locked, fair = run("locked", "persona_jbbq"), run("fair", "persona_jbbq")
    capsys.readouterr()
    assert cli.main(["compare", str(locked.folder), str(fair.folder)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("cannot be compared: A: answers by position") >= len(fair.bias)
    assert "differs" not in text
    for told in fair.bias["shown"]:
        assert f"A answers by position, B {told}" in text

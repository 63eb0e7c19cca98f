"""Notebook 00: what its analysis keeps, and that its words and small tables follow the numbers."""

import doctest
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_docstrings import FLAGS, examples, public_functions

from katayori.metrics import audit
from katayori.papers import paper_ids
from katayori.papers.keeping import Kept
from katayori.prompting import recordings
from katayori.report import (
    overview,
    overview_analysis,
    overview_flips as flips,
    overview_lesson as lesson,
    power_figure,
    power_text,
    profile_figure,
)
from katayori.report.looks import looks
from katayori.report.tables import show

MEASURES = pd.DataFrame(
    {
        "measure": ["lean", "alpha", "judge"],
        "reference": [0.0, np.nan, 0.4],
        "from_run": [False, False, True],
    }
)


def row(**changed):
    usual = {"model": "m", "paper": "p", "measure": "lean", "level": "age", "value": 0.1}
    usual |= {"ci_low": 0.05, "ci_high": 0.15, "blank": np.nan, "detects": 0.02, "status": "ok"}
    return usual | changed


# -- the analysis ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept():
    keep = Kept()
    manifests = {paper: recordings.manifest(paper) for paper in paper_ids()}
    overall = overview_analysis.analyse(Path("no run"), [], manifests, keep)
    return keep, overall


def test_every_expected_table_is_kept_by_the_analysis(kept):
    keep, _ = kept
    folder = Path(__file__).resolve().parents[2] / "data" / "expected" / "overview"
    assert set(keep.tables) == {file.stem for file in folder.glob("*.csv")} - {"results"}


def test_tables_that_need_no_run_are_the_expected_ones(kept):
    keep, _ = kept
    folder = Path(__file__).resolve().parents[2] / "data" / "expected" / "overview"
    for name in ("levels", "coverage", "audit", "power"):
        expected = pd.read_csv(folder / f"{name}.csv")
        assert list(keep.tables[name].columns) == list(expected.columns)
        assert len(keep.tables[name]) == len(expected), name
    assert {one["requirement"] for one in keep.results} == {"X-3", "X-4"}


def test_without_a_run_there_are_words_and_no_error(kept):
    _, overall = kept
    read = lesson.readings(overall.page, overall.measures)
    told = lesson.in_short(overall, read)
    assert told.startswith("No notebook of this run has answers of a model")
    assert "significant" not in told
    assert lesson.reading_counts(read).empty and lesson.clear_rows(read).empty
    assert lesson.compared_table(overall.compared).empty


def test_power_is_drawn_at_one_size_a_measure(kept):
    _, overall = kept
    shown = overview_analysis.at_paper_size(overall.power)
    assert set(shown["measure"]) == set(power_figure.PLANTED)
    assert (shown.groupby("measure")[["clusters", "per_cluster"]].nunique() == 1).all(axis=None)
    assert not shown.duplicated(["measure", "test", "effect"]).any()
    assert (shown.groupby(["measure", "test"])["effect"].min() == 0).all()
    assert "nothing" not in set(shown["promises"])


# -- flips -----------------------------------------------------------------------------------------

CHANGED = {"gender": ("female", "male"), "age": (20, 100)}


def asked(n, yes, chance):
    """n questions about four persons; the answers and probabilities of each person in turn."""
    people = [(gender, age) for gender in CHANGED["gender"] for age in CHANGED["age"]]
    rows = [
        {"question": q, "gender": gender, "age": age, "value": yes[k], "chance": chance[k]}
        for q in range(n)
        for k, (gender, age) in enumerate(people)
    ]
    frame = pd.DataFrame(rows)
    frame["item_id"] = [f"i{k}" for k in range(len(frame))]
    return frame.drop(columns="chance"), frame[["item_id"]].assign(value=frame["chance"])


def test_pairs_differ_in_one_attribute_and_nothing_else():
    paired = flips.pairs(*asked(6, [1, 1, 0, 0], [0.9, 0.9, 0.2, 0.2]), CHANGED)
    assert paired["attribute"].value_counts().to_dict() == {"gender": 12, "age": 12}
    assert paired.groupby("attribute")["flips"].mean().to_dict() == {"gender": 1, "age": 0}
    expected = paired.groupby("attribute")["expected"].mean()
    assert expected["gender"] == pytest.approx(0.9 * 0.8 + 0.1 * 0.2)
    assert expected["age"] == pytest.approx((2 * 0.9 * 0.1 + 2 * 0.2 * 0.8) / 2)


def test_a_pair_with_a_missing_answer_or_probability_does_not_count():
    answers, chances = asked(6, [1, 1, 0, 0], [0.5] * 4)
    answers.loc[0, "value"] = np.nan
    chances = chances[chances["item_id"] != "i7"]
    paired = flips.pairs(answers, chances, CHANGED)
    assert paired["attribute"].value_counts().to_dict() == {"gender": 10, "age": 10}
    assert not {"i0", "i7"} & {*paired["first"], *paired["second"]}


def test_dice_are_told_from_an_effect():
    """The probabilities decide: the same answers are dice under one half, and more under .9."""
    rng = np.random.default_rng(0)
    answers, chances = asked(200, [0] * 4, [0.5] * 4)
    dice = answers.assign(value=rng.integers(0, 2, len(answers)).astype(float))
    told = flips.sentence(flips.pairs(dice, chances, CHANGED))
    assert told.endswith("nothing beyond the dice is shown.") and "over 200 questions" in told
    known = flips.pairs(dice, chances.assign(value=0.95), CHANGED)
    assert flips.sentence(known).endswith("the dice do not explain all flips.")
    rare = answers.assign(value=(rng.random(len(answers)) < 0.03).astype(float))
    steady = flips.pairs(rare, chances, CHANGED)
    assert flips.sentence(steady).endswith("there are fewer flips than the dice would give.")
    more = flips.beyond_dice(known).set_index("attribute").loc["gender"]
    counted, expected = flips.rates(known).query("attribute == 'gender'")["value"]
    assert more["value"] == pytest.approx(counted - expected) and more["ci_low"] > 0.3


def test_a_few_questions_give_no_verdict():
    told = flips.sentence(flips.pairs(*asked(3, [1, 1, 0, 0], [0.5] * 4), CHANGED))
    assert told.startswith("6 of 6 pairs that differ in gender only flip") and "dice" not in told


def test_the_example_is_a_pair_that_flips_or_a_sentence():
    answers, chances = asked(1, [1, 1, 0, 0], [0.5] * 4)
    answers = answers.assign(prompt=answers["item_id"] + "?", answer="yes")
    paired = flips.pairs(answers, chances, CHANGED)
    told = flips.example(paired, answers, chances, "m")
    assert re.findall(r"^i\d\?", told, re.M) == ["i0?", "i2?"] and told.count("answers: yes") == 2
    assert flips.example(paired[~paired["flips"]], answers, chances, "m") == "No answer of m flips."


# -- readings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "reading"),
    [
        ({}, lesson.CLEAR),
        ({"ci_low": -0.01}, lesson.NEAR),
        ({"ci_low": 0.0}, lesson.NEAR),
        ({"blank": 0.05}, lesson.WORDS),
        ({"blank": -0.06}, lesson.WORDS),
        ({"blank": 0.04}, lesson.CLEAR),
        ({"value": -0.1, "ci_low": -0.15, "ci_high": -0.05, "blank": 0.04}, lesson.CLEAR),
        ({"measure": "alpha"}, lesson.NO_LINE),
        ({"measure": "judge", "ci_high": 0.39}, lesson.CLEAR),
        ({"status": "position_bound", "value": np.nan}, lesson.NO_READING),
        ({"status": "few_clusters"}, lesson.NO_READING),
    ],
)
def test_how_a_row_can_be_read(changed, reading):
    read = lesson.readings(pd.DataFrame([row(**changed)]), MEASURES)
    assert read["reading"].tolist() == [reading]
    assert lesson.reading_counts(read)[reading].tolist() == [1]


def test_what_was_not_asked_is_not_counted():
    read = lesson.readings(pd.DataFrame([row(status="missing")]), MEASURES)
    assert read.empty and lesson.reading_counts(read).empty


def test_distances_from_the_line_are_in_points_and_yardsticks_are_no_sign_of_bias():
    rows = [row(level="gender_race"), row(measure="judge", value=0.6, ci_low=0.5, ci_high=0.7)]
    clear = lesson.clear_rows(lesson.readings(pd.DataFrame(rows), MEASURES))
    assert clear["of"].tolist() == ["gender × race"]
    assert clear["off its line [95 %]"].tolist() == ["+10.00 [+5.00, +15.00]"]
    assert clear["smallest detectable"].tolist() == [2.0]


def test_a_line_of_the_run_stands_in_the_table_of_measures():
    measures = overview.measures().assign(from_run=False)
    judge = measures["paper"] == "logprob_judge"
    plain = lesson.measured(measures, overview.papers()).iloc[:, 3]
    measures.loc[judge, ["reference", "from_run"]] = [0.389, True]
    told = lesson.measured(measures, overview.papers()).iloc[:, 3]
    assert told[judge].tolist() == ["0.39: " + plain[judge].iloc[0]]
    assert (told[~judge] == plain[~judge]).all()


def test_only_what_was_tested_is_compared_and_models_are_named_where_there_are_more_than_two():
    tested = {"measure": "lean", "level": "amb", "model_1": "a", "model_2": "b", "difference": 0.1}
    tested |= {"ci_low": 0.0, "ci_high": 0.2, "p": 0.04, "p_holm": 0.08, "status": "ok"}
    frame = pd.DataFrame([tested, tested | {"p": np.nan}, tested | {"p": 0.01}])
    shown = lesson.compared_table(frame)
    assert shown["p"].tolist() == [0.01, 0.04] and "models" not in shown
    assert shown["of"].tolist() == ["ambiguous"] * 2
    three = pd.concat([frame, frame.assign(model_2="c")])
    assert set(lesson.compared_table(three)["models"]) == {"a less b", "a less c"}


def test_a_tiny_p_after_holm_is_not_shown_as_zero():
    assert repr(show(pd.DataFrame({"p after Holm": [1e-9]}))).endswith("<0.001")


def test_verdicts_of_the_audit_are_counted_by_notebook():
    papers = overview.papers()
    verdicts = [audit.NOT, audit.NOT, audit.CANNOT]
    checked = pd.DataFrame({"paper": papers["id"].iloc[0], "verdict": verdicts})
    counted = lesson.audit_counts(checked, papers)
    assert counted.values.tolist() == [[papers["notebook"].iloc[0], 0, 2, 1]]


def test_false_positives_are_those_of_the_tests_that_promise_a_level():
    power = overview.power()
    shown = lesson.false_positives(power)
    levels = power_text.levels(power)
    promising = levels[levels["promises"] != "nothing"].set_index("test")["pooled"]
    assert shown.set_index("test")["value"].to_dict() == promising.to_dict()
    assert (shown["ci_low"] <= shown["value"]).all() and (shown["value"] <= shown["ci_high"]).all()


# -- figures and looks -----------------------------------------------------------------------------


def test_power_has_a_panel_a_measure_and_lines_at_5_and_80(kept):
    _, overall = kept
    fig = power_figure.power_panels(overview_analysis.at_paper_size(overall.power), title="Power")
    used = [ax for ax in fig.axes if ax.axison]
    assert len(used) == len(power_figure.PLANTED)
    for ax in used:
        flat = {line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == ":"}
        assert flat == {5, 80} and {"5 %", "80 %"} <= {text.get_text() for text in ax.texts}
        assert ax.get_xlabel().startswith("planted effect, points")
    for ax, design in ((used[4], "variants agree"), (used[5], "counterbalanced")):
        told = {text.get_text() for text in ax.get_legend().get_texts()}
        assert told == {f"exchange over cases, {design}", f"chi-square over answers, {design}"}


def test_a_test_that_takes_answers_as_independent_is_dashed():
    rows = {"measure": "mine", "test": ["good", "bad"], "effect": 0.0, "rate": 0.05}
    rows |= {"promises": ["level", power_text.ALONE], "mc_low": 0.0, "mc_high": 0.1}
    frame = pd.DataFrame(rows | {"clusters": 9, "per_cluster": 4})
    (ax,) = [ax for ax in power_figure.power_panels(frame).axes if ax.axison]
    styles = {box.get_label(): box[0].get_linestyle() for box in ax.containers}
    assert styles == {"good": "-", "bad": "--"}
    assert ax.get_title() == "mine\n9 clusters × 4 answers"


def test_flips_and_simulated_studies_do_not_look_like_models():
    models = set(looks(["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]).values())
    assert not models & set(looks([flips.COUNTED, flips.EXPECTED], "flip").values())
    assert not models & set(looks(["anything"], "study").values())


def test_marks_are_words():
    assert profile_figure.mark("some_new_status") == "some new status"


# -- examples --------------------------------------------------------------------------------------

MODULES = (overview_analysis, flips, lesson, power_figure, profile_figure)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.split(".")[-1])
def test_every_public_function_shows_an_example_that_runs(module):
    for name in public_functions(module):
        example = examples(module, name)
        assert example.examples, name
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(example, out=told.append)
        assert not runner.failures, "".join(told)

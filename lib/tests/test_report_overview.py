"""Overview: bias profiles from results.json alone, comparisons, power tables and the calculator.

X-5, X-8.
"""

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from katayori import paths
from katayori.data import catalogue, paper_facts
from katayori.report import figures, overview
from katayori.report.profile_figure import profile
from katayori.report.results import Run
from katayori.report.widgets import calculator, explorer

A, B = "m-one", "m-two"
INTER = {"topic": "overall", "prompt": "basic", "ambiguity": "amb"}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A profile's folder with two papers: two recorded models and a simulated one."""
    monkeypatch.setattr(paths, "outputs_dir", lambda: tmp_path)
    prompts = [{"category": "age", "prompt": prompt} for prompt in ("basicP", "biased")]
    for paper, what, cells in [
        ("discrim_eval", "Krippendorff's alpha, sampled", [{"factor": "age"}, {"factor": "race"}]),
        ("persona_jbbq", "Diff-bias, ambiguous", prompts),
        ("inter_jbbq", "accuracy by topic, invalid counted as wrong", [INTER]),
    ]:
        run = Run(paper, tmp_path / "mine" / paper)
        for model, source, value in [
            (A, "recorded", 0.2),
            (B, "live", 0.5),
            ("sim-x", "simulated", 0.9),
        ]:
            for cell in cells:
                if (paper, model) != ("inter_jbbq", B):
                    ends = (value - 0.1, value + 0.1)
                    more = {
                        "model": model,
                        "source": source,
                        "ci": ends,
                        "n": 90,
                        "n_invalid": 10,
                        "cell": cell,
                    }
                    run.row("X-1", what, value, headline=True, **more)
                    run.row("X-1", "something else", value, **more)
        run.save()
    return tmp_path / "mine"


def test_profile_has_a_row_a_model_paper_and_level(runs):
    """Headline rows of models that were asked; missing papers are named.

    Other prompts and simulated models stay out.
    """
    page = overview.bias_profile(runs)
    assert list(page.columns) == overview.PAGE and set(page["model"]) == {A, B}
    one = page[page["model"] == A].set_index(["paper", "level"])
    assert one.loc[("discrim_eval", "age"), "value"] == 0.2 and len(one.loc["discrim_eval"]) == 4
    assert one.loc["persona_jbbq"].index.tolist() == ["age", ""]  # basicP only
    assert (
        one.loc[("logprob_judge", ""), "status"]
        == one.loc[("jubaku_v2", ""), "status"]
        == "missing"
    )
    assert math.isnan(one.loc[("jubaku_v2", ""), "value"])
    two = page[(page["model"] == B) & (page["paper"] == "inter_jbbq")]
    assert two["status"].tolist() == ["missing"] and set(page["source"].dropna()) == {
        "recorded",
        "live",
    }
    assert set(page["paper"]) == {
        "discrim_eval",
        "persona_jbbq",
        "logprob_judge",
        "jubaku_v2",
        "inter_jbbq",
    }


def test_invalid_rates_follow_the_denominator_of_the_paper(runs):
    """X-5: valid answers plus invalid ones where n counts valid answers, n where it counts all."""
    page = overview.bias_profile(runs, [A]).set_index("paper")["invalid_rate"]
    assert page["discrim_eval"].tolist()[:2] == [0.1, 0.1]
    assert page["inter_jbbq"] == pytest.approx(10 / 90) and math.isnan(page["jubaku_v2"])


def test_invalid_rates_become_rows_with_the_number_asked(runs):
    """X-5: the rate, what it is taken of, and the count; a paper without answers is missing."""
    found = overview.invalid_rates(overview.bias_profile(runs, [A])).set_index("measure")
    alpha = found.loc["agreement of sampled answers (alpha)"].iloc[0]
    assert (alpha["value"], alpha["n"], alpha["n_invalid"]) == (0.1, 100, 10)
    assert found.loc["neutral reason chosen", "status"] == "missing"


def test_simulated_models_only_when_named(runs):
    page = overview.bias_profile(runs, ["sim-x", "nobody"])
    assert set(page.loc[page["status"] == "ok", "source"]) == {"simulated"}
    assert (page.loc[page["model"] == "nobody", "status"] == "missing").all()
    assert overview.bias_profile(runs.with_name("never-run")).empty


def test_models_are_compared_where_a_difference_has_a_meaning(runs):
    """Review A3: alphas of sampled answers are described, not compared; the rest is one family."""
    page = overview.bias_profile(runs)
    found = overview.compare_profiles(page)
    assert found[["model_1", "model_2", "paper", "level"]].values.tolist() == [
        [A, B, "persona_jbbq", "age"]
    ]
    assert found["difference"].tolist() == pytest.approx([-0.3])
    z = 0.3 / (math.sqrt(2) * 0.1 / 1.959964)
    assert found["z"].tolist() == pytest.approx([-z]) and found["p"].between(1e-5, 1e-4).all()
    assert found["status"].tolist() == ["ok"] and found["n"].tolist() == [180]
    half = 0.1 * math.sqrt(2)
    ends = found[["ci_low", "ci_high"]].values.tolist()[0]
    assert ends == pytest.approx([-0.3 - half, -0.3 + half])


def test_a_comparison_knows_how_many_clusters_its_intervals_have(runs):
    """With 6 clusters the intervals are t's on 5 degrees of freedom, and so is the test."""
    page = overview.bias_profile(runs).assign(clusters=6)
    found = overview.compare_profiles(page).iloc[0]
    error = 0.1 / stats.t.ppf(0.975, 5)
    assert found["df"] == 5 and found["z"] == pytest.approx(-0.3 / (error * math.sqrt(2)))
    assert found["p"] == pytest.approx(2 * stats.t.sf(abs(found["z"]), 5))


def test_without_an_interval_there_is_no_p_and_a_reason(runs):
    still = overview.bias_profile(runs).assign(ci_low=0.2, ci_high=0.2)
    one = overview.compare_profiles(still).iloc[0]
    assert math.isnan(one["p"]) and one["status"] == "no_variation"
    few = overview.bias_profile(runs).assign(ci_low=np.nan, ci_high=np.nan, status="few_clusters")
    one = overview.compare_profiles(few).iloc[0]
    assert math.isnan(one["p"]) and one["status"] == "few_clusters"
    fixed = overview.bias_profile(runs).assign(status="same_in_every_cluster")
    one = overview.compare_profiles(fixed).iloc[0]
    assert math.isnan(one["p"]) and one["status"] == "same_in_every_cluster"


def test_the_judges_line_is_that_of_its_notebook(runs):
    """Chance: the line is read from the yardsticks of 03, and absent where there are none."""
    none = overview.measures(runs).set_index("paper")
    assert math.isnan(none.loc["logprob_judge", "reference"])
    assert none.loc["logprob_judge", "means"].startswith("no line")
    assert math.isnan(none.loc["inter_jbbq", "reference"])
    run = Run("logprob_judge", runs / "logprob_judge")
    what = "agreement without reading"
    rules = {"one answer at random": 0.389, "always a tie": 0.222}
    for rule, value in rules.items():
        run.row("LJ-19", what, value, source="none", cell={"rule": rule}, n=207)
    run.row("LJ-17", "concordance", 0.5, source="recorded", model=A, cell={"method": "BS1"})
    run.save()
    found = overview.measures(runs).set_index("paper").loc["logprob_judge"]
    assert found["reference"] == 0.389 and found["means"].startswith("one answer")


def test_files_without_a_pinned_hash_are_counted():
    """Review A9 and C: explicit.jsonl and the JBBQ files have no hash before a download."""
    table = overview.unpinned(catalogue.load())
    found = table.set_index("id")
    assert found.loc["discrim_eval", "without_hash"] == "explicit.jsonl"
    assert found.loc["bbq", "without_hash"] == ""


def words_in(ax):
    return [text.get_text() for text in ax.texts]


def test_the_picture_has_a_panel_a_measure_that_is_there_and_names_what_is_missing(runs):
    page = overview.bias_profile(runs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fig = profile(page, overview.measures(), title="Profile 偏り")
        fig.draw_without_rendering()
    used = [ax for ax in fig.axes if ax.axison]
    there = page.loc[page["status"] != "missing", "measure"]
    shown = overview.measures()
    shown = shown[shown["measure"].isin(there)]
    assert [ax.get_title() for ax in used] == shown["measure"].tolist() and len(used) == 3
    assert [ax.get_xlim() for ax in used] == [tuple(x) for x in shown["limits"]]
    # The second model has no answers in the last of them, and is said to have none.
    assert list(map(words_in, used)) == [[], [], ["no answers"]]
    lines = [any(line.get_label() == "no bias, or lots" for line in ax.lines) for ax in used]
    assert lines == [False, True, False]
    assert all(unit in ax.get_xlabel() for unit, ax in zip(shown["unit"], used, strict=True))
    assert {text.get_text() for text in fig.legends[0].get_texts()} >= {A, B}
    values = [box[0].get_xdata()[0] for box in used[0].containers]
    assert sorted(values) == [0.2, 0.2, 0.5, 0.5]


@pytest.mark.parametrize(
    ("status", "value", "words"),
    [
        ("position_bound", np.nan, "answers by position"),
        ("few_clusters", 0.1, "too little data"),
        ("no_variation", 0.1, "never varies"),
        ("no_valid_answer", np.nan, "no valid answer"),
    ],
)
def test_what_cannot_be_read_is_hollow_or_absent_and_says_why(runs, status, value, words):
    page = overview.bias_profile(runs, [A])
    lean = (page["paper"] == "persona_jbbq") & (page["level"] == "age")
    ends = {"ci_low": np.nan, "ci_high": np.nan}
    page.loc[lean, ["status", "value", *ends]] = [status, value, *ends.values()]
    fig = profile(page[lean], overview.measures())
    (panel,) = [ax for ax in fig.axes if ax.axison]
    assert words_in(panel) == [words]
    marks = [box[0] for box in panel.containers]
    assert [mark.get_markerfacecolor() for mark in marks] == ["white"] * (value == value)


def test_a_profile_without_answers_is_no_error():
    page = overview.bias_profile(Path("never run"), [A])
    assert not [ax for ax in profile(page, overview.measures()).axes if ax.axison]
    empty = overview.bias_profile(Path("never run"))
    assert figures.is_empty(profile(empty, overview.measures()))


def test_an_explorer_says_so_where_a_profile_has_no_picture():
    page = overview.bias_profile(Path("never run"), [A])
    box = explorer({"model": [A]}, lambda model: profile(page, overview.measures(), title=model))
    assert box.children[-1].value == f"<p>No picture, as no value of it is defined: {A}.</p>"


def test_blank_and_limit_lie_beside_the_line_of_a_panel(runs):
    page = overview.bias_profile(runs, [A])
    lean = (page["paper"] == "persona_jbbq") & (page["level"] == "age")
    page.loc[lean, ["value", "blank", "detects"]] = [-0.1, 0.02, 0.05]
    fig = profile(page, overview.measures())
    (panel,) = [ax for ax in fig.axes if ax.get_title() == "lean to the stereotype (Diff-bias)"]
    spans = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in panel.patches]
    assert spans == [pytest.approx((-0.05, 0.05))]
    crosses = [line.get_xdata() for line in panel.lines if line.get_marker() == "x"]
    assert np.ravel(crosses) == pytest.approx([-0.02])  # on the side of the value
    assert sum(len(ax.patches) for ax in fig.axes) == 1
    named = " ".join(text.get_text() for text in fig.legends[0].get_texts())
    assert "too small to be detected" in named and "words that mean nothing" in named


def test_measures_name_results_that_notebooks_save():
    """Every measure of data/bias_profile.yaml stands in its paper's notebook or analysis."""
    listed = overview.papers().set_index("id")["notebook"]
    for row in overview.measures().to_dict("records"):
        room = paths.root() / "lib" / "katayori" / "papers" / row["paper"]
        notebook = paths.root() / "notebooks" / f"{listed[row['paper']]}.ipynb"
        files = [notebook, *sorted(room.rglob("analysis*.py")), *sorted(room.glob("analysis/*.py"))]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        kept = (paper_facts.of(row["paper"]).get("kept") or {}).values()
        assert row["what"] in text or row["what"] in {one["what"] for one in kept}, row["what"]
        assert row["asked"] in ("valid", "all")
        if not math.isnan(row["reference"]):
            assert row["limits"][0] <= row["reference"] <= row["limits"][1]


# -- power -----------------------------------------------------------------------------------------


def grid(rate):
    """A made-up table of one test over effects and sizes."""
    cells = [(e, c, p) for e in (0, 0.1, 0.2) for c in (10, 40) for p in (4, 16)]
    frame = pd.DataFrame(cells, columns=["effect", "clusters", "per_cluster"])
    told = frame.assign(
        measure="one", test="t", n=frame["clusters"] * frame["per_cluster"], mc_low=0.0, mc_high=1.0
    )
    return told.assign(rate=[rate(*cell) for cell in cells])


def test_power_between_the_simulated_sizes():
    plain = grid(lambda e, c, p: 2 * e + 0.1 * np.log(c) + 0.05 * np.log(p))
    for e, c, p in [(0, 10, 4), (0.2, 40, 16), (0.05, 20, 8), (0.13, 33, 5)]:
        assert overview.power_at(plain, e, c, p) == pytest.approx(
            2 * e + 0.1 * np.log(c) + 0.05 * np.log(p)
        )
    assert overview.power_at(plain, 9, 4000, 1600) == pytest.approx(plain["rate"].max())
    one_size = plain[(plain["clusters"] == 10) & (plain["per_cluster"] == 4)]
    assert overview.power_at(one_size, 0.1, 77, 77) == pytest.approx(one_size["rate"].iloc[1])


def test_the_stored_tables_are_summed_over_their_seeds():
    found = overview.power()
    files = sorted((paths.data_dir() / "simulated").glob("power_*.csv"))
    drawn = pd.concat(map(pd.read_csv, files))
    assert (
        found["repetitions"].sum() == drawn["repetitions"].sum()
        and found["rate"].between(0, 1).all()
    )
    assert (found["mc_low"] <= found["rate"]).all() and (found["rate"] <= found["mc_high"]).all()
    assert not found.duplicated([*overview.POWER_KEYS, *overview.SIZES]).any()


def test_what_is_nothing_for_a_test_counts_as_a_false_positive():
    """No effect, and for the direction test effects that change from question to question."""
    found = overview.power()
    assert found.loc[found["effect"] == 0, "null"].all()
    either = found[(found["planted"] == "by question")]
    direction = either["test"].str.startswith("common direction")
    assert either.loc[direction, "null"].all() and not either.loc[~direction, "null"].any()


def test_curves_start_where_nothing_is_planted():
    curves = overview.power_curves(overview.power())
    factor = curves[curves["measure"] == "factor"]
    assert set(factor["planted"]) == {"common", "by question"}
    assert (factor.groupby("planted")["effect"].min() == 0).all()
    assert overview.calculator_rows(curves)["measure"].iloc[0] == "factor"
    named = overview.calculator_rows(curves).groupby(["measure", "test"])
    assert not named.apply(lambda one: one.duplicated(["effect", *overview.SIZES]).any()).any()


def test_the_calculator_follows_its_sliders_and_carries_a_table():
    table = pd.concat(
        [
            grid(lambda e, c, p: 4 * e),
            grid(lambda e, c, p: e).assign(test="other", clusters=7, n=28),
        ]
    )
    box = calculator(table, overview.power_at)
    test, effect, clusters, per, view = box.children
    assert test.options == ("one: t", "one: other") and (
        effect.value,
        clusters.value,
        per.value,
    ) == (0.1, 40, 16)
    assert (
        "<strong>40 %</strong>" in view.value
        and "n = 640" in view.value
        and view.value.count("<tr>") == 13
        and view.value.count("<img ") == 1
    )
    effect.value = 0.15
    assert "<strong>60 %</strong>" in view.value
    test.value = "one: other"
    assert (clusters.min, clusters.max, clusters.value) == (
        7,
        7,
        7,
    ) and "<strong>10 %</strong>" in view.value
    assert "effect = 0.1" in box._repr_mimebundle_()["text/html"]

"""Overview: bias profiles from results.json alone, comparisons, power tables and the calculator (X-5, X-8)."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from katayori import paths
from katayori.report import figures, overview
from katayori.report.results import Run
from katayori.report.widgets import calculator

A, B = "m-one", "m-two"
INTER = {"topic": "overall", "prompt": "basic", "ambiguity": "amb"}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A profile's folder with two papers: two recorded models and a simulated one."""
    monkeypatch.setattr(paths, "outputs_dir", lambda: tmp_path)
    for paper, what, cells in [
        ("discrim_eval", "Krippendorff's alpha, sampled", [{"factor": "age"}, {"factor": "race"}]),
        ("persona_jbbq", "Diff-bias, ambiguous", [{"category": "age", "prompt": p} for p in ("basicP", "biased")]),
        ("inter_jbbq", "accuracy by topic, invalid counted as wrong", [INTER]),
    ]:  # fmt: skip
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
    """Headline rows of models that were asked; other prompts and simulated models stay out; missing papers are told."""
    page = overview.bias_profile(runs)
    assert list(page.columns) == overview.PAGE and set(page["model"]) == {A, B}
    one = page[page["model"] == A].set_index(["paper", "level"])
    assert one.loc[("discrim_eval", "age"), "value"] == 0.2 and len(one.loc["discrim_eval"]) == 2
    assert one.loc["persona_jbbq"].index.tolist() == ["age"]  # basicP only
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
    """X-5: valid answers plus invalid ones where n counts valid answers, n itself where it counts all."""
    page = overview.bias_profile(runs, [A]).set_index("paper")["invalid_rate"]
    assert page["discrim_eval"].tolist() == [0.1, 0.1]
    assert page["inter_jbbq"] == pytest.approx(10 / 90) and math.isnan(page["jubaku_v2"])


def test_simulated_models_only_when_named(runs):
    page = overview.bias_profile(runs, ["sim-x", "nobody"])
    assert set(page.loc[page["status"] == "ok", "source"]) == {"simulated"}
    assert (page.loc[page["model"] == "nobody", "status"] == "missing").all()
    assert overview.bias_profile(runs.with_name("never-run")).empty


def test_models_are_compared_where_both_have_a_figure(runs):
    found = overview.compare_profiles(overview.bias_profile(runs))
    assert found[["model_1", "model_2"]].drop_duplicates().values.tolist() == [[A, B]]
    assert set(zip(found["paper"], found["level"], strict=True)) == {
        ("discrim_eval", "age"), ("discrim_eval", "race"), ("persona_jbbq", "age"),
    }  # fmt: skip
    assert found["difference"].tolist() == pytest.approx([-0.3] * 3)
    z = 0.3 / (math.sqrt(2) * 0.1 / 1.959964)
    assert found["z"].tolist() == pytest.approx([-z] * 3) and found["p"].between(1e-5, 1e-4).all()
    still = overview.bias_profile(runs).assign(ci_low=0.2, ci_high=0.2)
    assert overview.compare_profiles(still)["p"].isna().all()


def test_the_picture_has_a_panel_a_measure_and_names_what_is_missing(runs):
    page = overview.bias_profile(runs, [A])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fig = figures.profile(page, overview.measures(), title="Profile 偏り")
        fig.draw_without_rendering()
    used = [ax for ax in fig.axes if ax.axison]
    assert [ax.get_xlim() for ax in used] == [tuple(x) for x in overview.measures()["limits"]]
    assert [[t.get_text() for t in ax.texts] for ax in used] == [
        [],
        [],
        ["missing"],
        ["missing"],
        [],
    ]
    assert "(recorded)" in used[0].get_title() and used[0].containers[0][
        0
    ].get_xdata().tolist() == [0.2, 0.2]


def test_measures_name_results_that_notebooks_save():
    """Every measure of data/bias_profile.yaml stands in the notebook of its paper, as a headline."""
    listed = overview.papers().set_index("id")["notebook"]
    for row in overview.measures().to_dict("records"):
        text = (paths.root() / "notebooks" / f"{listed[row['paper']]}.ipynb").read_text(
            encoding="utf-8"
        )
        assert row["what"] in text, row["what"]
        assert row["limits"][0] <= row["reference"] <= row["limits"][1] and row["asked"] in (
            "valid",
            "all",
        )


# -- power -------------------------------------------------------------------------------------------------------------


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
    assert not found.duplicated(["measure", "test", "effect", "clusters", "per_cluster"]).any()


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

"""`make simulate`: the stored table is what its code gives, and says what the notebook says of it."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import simulate, simulate_power
from katayori_tools.papers.inter_jbbq import simulate as interactions
from katayori_tools.papers.jubaku_v2 import simulate as forced_choices

STORED = pd.read_csv(paths.data_dir() / interactions.FILE)


def test_a_few_seeds_give_what_is_stored():
    """Contract, Long simulations: recomputed for two seeds of all 200."""
    seeds = [0, 137]
    found = interactions.interaction_draws(seeds).set_index(["model", "topic", "seed"])
    stored = (
        STORED[STORED["seed"].isin(seeds)].set_index(["model", "topic", "seed"]).loc[found.index]
    )
    assert len(found) == 2 * 4 * 2 and found["status"].tolist() == stored["status"].tolist()
    for column in ("n", "lr", "df", "p"):
        assert np.allclose(
            found[column].astype(float), stored[column], rtol=1e-5, atol=1e-6, equal_nan=True
        ), column


def test_the_table_is_whole_and_the_test_keeps_its_level():
    """X-3: 200 seeds at n as published; false positives near .05, many more where the pair is planted."""
    assert list(STORED.columns) == interactions.COLUMNS
    sizes = STORED.groupby(["model", "topic"])["seed"].nunique()
    assert set(sizes) == {len(interactions.SEEDS)} == {200} and len(sizes) == 2 * 4
    assert STORED.groupby("topic")["n"].first().to_dict() == {
        "housing": 464,
        "manners": 208,
        "marriage": 368,
        "science": 360,
    }
    tested = STORED.dropna(subset=["p"])
    share = (tested["p"] < 0.05).groupby(tested["model"]).mean()
    assert 0.03 < share["sim-inter-additive"] < 0.1 and share["sim-inter-interaction"] > 0.6


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """The command with one draw a table, writing into an empty folder."""
    drawn = interactions.interaction_draws([3])
    monkeypatch.setattr(interactions, "interaction_draws", lambda seeds: drawn)
    some = simulate.power_draws("rank_tests", 0, 1, 45, [1])
    monkeypatch.setattr(simulate, "power_table", lambda measure: some)
    monkeypatch.setattr(simulate.simulate_factor, "factor_table", lambda: some)
    cell = simulate.simulate_coverage.cells("share")[0]
    covered = simulate.simulate_coverage.coverage_draws("share", cell, [0])
    monkeypatch.setattr(simulate.simulate_coverage, "coverage_table", lambda: covered)
    monkeypatch.setattr(simulate.simulate_position, "position_table", lambda: covered)
    monkeypatch.setattr(simulate.simulate_contrasts, "contrast_table", lambda: covered)
    monkeypatch.setattr(simulate.simulate_intervals, "interval_table", lambda: covered)
    monkeypatch.setattr(simulate.simulate_verdicts, "verdict_table", lambda: covered)
    monkeypatch.setattr(simulate.paths, "data_dir", lambda: tmp_path)
    return tmp_path / "simulated"


def test_the_command_writes_every_file(quick, capsys):
    assert simulate.simulate() == 0
    assert "sim-inter-interaction" in capsys.readouterr().out
    assert len(pd.read_csv(quick / "inter_interaction.csv")) == 8
    stored = {path.name for path in (paths.root() / "data" / "simulated").glob("*.csv")}
    assert {path.name for path in quick.iterdir()} == stored


def test_the_command_draws_the_tables_that_are_named(quick):
    assert simulate.simulate(tables=["interval_coverage"]) == 0
    assert [path.name for path in quick.iterdir()] == ["interval_coverage.csv"]
    with pytest.raises(KatayoriError, match="no simulated table power_alpha; the tables are inter"):
        simulate.simulate(tables=["power_alpha"])


# -- power and false positives -----------------------------------------------------------------------------------------

MEASURES = list(simulate.CURVES)
KEYS = [
    "test",
    "promises",
    "effect",
    "clusters",
    "per_cluster",
    "n",
    "seed",
    "repetitions",
    "positives",
    "undefined",
]


def power(measure):
    return pd.read_csv(paths.data_dir() / "simulated" / f"power_{measure}.csv")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.slow
def test_a_few_seeds_of_every_power_table_give_what_is_stored(measure):
    """Contract, Long simulations: one batch without an effect and one with, at the smallest size."""
    curves, stored = simulate.CURVES[measure], power(measure)
    size = curves.clusters[-1], curves.per_cluster[-1]
    for effect, seed in ((curves.effects[0], 7), (curves.effects[-1], 1)):
        found = simulate.power_draws(measure, effect, *size, [seed])
        chosen = (
            (stored["effect"] == effect)
            & (stored["clusters"] == size[0])
            & (stored["per_cluster"] == size[1])
        )
        kept = stored[chosen & (stored["seed"] == seed)]
        assert (
            len(found) == len(curves.promises)
            and found[KEYS].values.tolist() == kept[KEYS].values.tolist()
        )


@pytest.mark.parametrize("measure", MEASURES)
def test_power_tables_are_whole(measure):
    """Every effect, size, test and seed once."""
    curves, stored = simulate.CURVES[measure], power(measure)
    assert list(stored.columns) == simulate.POWER_COLUMNS
    seeds = len(simulate.BATCHES["null"]) + len(simulate.BATCHES["effect"]) * (
        len(curves.effects) - 1
    )
    assert len(stored) == seeds * len(curves.clusters) * len(curves.per_cluster) * len(
        curves.promises
    )
    assert not stored.duplicated(["test", "effect", "clusters", "per_cluster", "seed"]).any()
    assert (stored["repetitions"] == curves.repetitions).all() and (
        stored["n"] % stored["clusters"] == 0
    ).all()
    assert (stored["positives"] + stored["undefined"] <= stored["repetitions"]).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_what_promises_its_level_holds_it(measure):
    """False positives of every size within Monte Carlo error of the level: one in a thousand would lie higher."""
    null = power(measure).query("effect == 0 and promises == @simulate_power.PROMISED")
    found = null.groupby(["test", "clusters", "per_cluster"])[["positives", "repetitions"]].sum()
    too_high = binom.sf(found["positives"] - 1, found["repetitions"], simulate_power.LEVEL) < 0.001
    assert not too_high.any(), found[too_high]


@pytest.mark.parametrize("measure", MEASURES)
def test_larger_effects_are_found_more_often(measure):
    """At the paper's size power rises with the effect, for every test that is one."""
    curves, stored = simulate.CURVES[measure], power(measure)
    largest = stored[
        (stored["clusters"] == curves.clusters[0])
        & (stored["per_cluster"] == curves.per_cluster[0])
    ]
    rates = (
        largest.groupby(["test", "effect"])["positives"].sum()
        / largest.groupby(["test", "effect"])["repetitions"].sum()
    )
    for test, one in rates.groupby(level="test"):
        assert one.iloc[-1] > one.iloc[0] + 0.2 and one.iloc[-1] >= one.iloc[1], test


@pytest.mark.parametrize(
    ("measure", "design"),
    [
        ("case_accuracy", forced_choices.AGREE),
        ("case_accuracy_counterbalanced", forced_choices.BALANCED),
    ],
)
def test_a_chi_square_over_answers_alarms_too_often_or_too_rarely(measure, design):
    """JU-18, of 36 cases: two equal models; counterbalanced, also a difference of .06."""
    table = power(measure).query("clusters == 36")
    counts = table.groupby(["test", "effect"])[["positives", "repetitions"]].sum()
    share = counts["positives"] / counts["repetitions"]
    exchange, chi_square = (share[f"{test}, {design}"] for test in forced_choices.TESTS)
    assert 0.03 < exchange[0] < 0.06
    if design == forced_choices.AGREE:
        assert chi_square[0] > 0.25
    else:
        assert chi_square[0] < 0.03 and exchange[0.06] > chi_square[0.06] + 0.05


def test_the_planted_accuracy_is_that_of_both_orders():
    shape = (1, 3, 8)
    for accuracy in (0.5, 0.56, 0.7):
        chance = forced_choices.counterbalanced(accuracy, shape)
        assert chance.shape == shape and np.allclose(chance.mean(axis=2), accuracy)
        odds = chance / (1 - chance)
        apart = np.log(odds[..., ::2] / odds[..., 1::2])
        assert np.allclose(apart, 2 * forced_choices.LEAN)

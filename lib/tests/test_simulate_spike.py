"""What methods can see: the stored tables are what their code gives, and levels hold."""

import numpy as np
import pandas as pd
import pytest

from katayori import paths
from katayori.metrics import spike
from katayori_tools import simulate_spike
from katayori_tools.simulate_spike import DRAWS, METHODS, SEEDS

SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
CELL = [*simulate_spike.HEAD, *spike.CELL]


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(paths.data_dir() / simulate_spike.FILE, dtype={"code": str})


@pytest.fixture(scope="module")
def levels():
    return pd.read_csv(paths.data_dir() / simulate_spike.LEVEL_FILE, dtype={"code": str})


@pytest.fixture(scope="module")
def limits(table):
    return simulate_spike.limits(table)


# -- the stored tables -----------------------------------------------------------------------------


@pytest.mark.slow_all
def test_the_tables_are_whole_and_of_this_code_and_these_recordings(table, levels):
    assert list(table.columns) == simulate_spike.COLUMNS
    assert list(levels.columns) == simulate_spike.LEVEL_COLUMNS
    assert not table.duplicated([*CELL, "shift", "seed"]).any()
    assert (table["n_draws"] == DRAWS).all() and set(table["seed"]) == set(SEEDS)
    cells = set(table[["method", "model"]].itertuples(index=False, name=None))
    assert cells == set(simulate_spike.cells())
    assert cells == set(levels[["method", "model"]].itertuples(index=False, name=None))
    for (name, model), one in table.groupby(["method", "model"]):
        method = METHODS[name]
        codes = set(one["code"]) | set(levels.query("method == @name and model == @model")["code"])
        assert codes == {simulate_spike.code_hash(name, model)}, (name, model)
        assert len(one) == len(method.shifts) * len(SEEDS) * 4
        assert set(one["second"]) == {0.0, method.second}


@pytest.mark.slow_all
@pytest.mark.parametrize("name", ["neutral reason, letter", "change of the lean, likelihood"])
def test_a_few_seeds_give_what_is_stored(table, name):
    model = SMALL if name == "change of the lean, likelihood" else LARGE
    found = simulate_spike.spike_draws(name, model, [1], ["varying"], alone=[False])
    keys = [*CELL, "shift", "seed"]
    stored = table.merge(found[keys], on=keys)
    assert len(stored) == len(found) == len(METHODS[name].shifts)
    counts = ["n_reject", "n_undefined", "n_interval"]
    assert (stored[counts].to_numpy() == found[counts].to_numpy()).all()
    for column in ("mean_estimate", "expected", "coverage"):
        assert np.allclose(stored[column], found[column], rtol=1e-5, atol=1e-7, equal_nan=True)


# -- what they say ---------------------------------------------------------------------------------


def test_methods_keep_their_level_on_the_models_own_values(levels):
    """At most 67 of 1,000; one cell in a hundred may lie higher by chance."""
    assert (levels["allowed"] == 67).all()
    assert (levels["n_reject"] > 67).sum() <= spike.most_by_chance(len(levels), 0.01)
    told = levels["status"] != "undefined"
    assert (
        (levels.loc[told, "n_reject"] > 67).eq(levels.loc[told, "status"] == "level_broken").all()
    )


def test_what_is_planted_is_recovered(table, limits):
    """The mean of 400 estimates lies within a tenth of the limit of detection of the truth."""
    curve = pd.concat(
        [
            spike.pooled(one).assign(paper=key[0], model=key[1], prompt_id=key[2])
            for key, one in table.groupby(simulate_spike.HEAD, sort=False)
        ]
    )
    curve = curve.merge(limits[[*CELL, "value"]], on=CELL).dropna(subset="value")
    away = (curve["mean_estimate"] - curve["expected"]).abs() / curve["value"]
    kept = curve[curve["n_interval"] == curve["n_draws"]]
    assert away.max() < 0.1 and len(kept) > 200
    assert kept["coverage"].mean() == pytest.approx(0.95, abs=0.015)
    # The least of some 2,600 cells of 400 draws with coverage .95 lies near .91. Decisions where
    # nearly all cases answer alike cover less.
    few = (kept["unit"] == "points") & (kept["expected"].abs() > 60)
    assert (kept.loc[~few, "coverage"] < 0.91).mean() < 0.01
    assert kept.loc[~few, "coverage"].min() > 0.88
    assert kept.loc[few, "coverage"].min() >= 0.85


def test_power_rises_and_every_cell_has_a_limit_or_the_reason_why_not(table, limits):
    assert not limits.duplicated(CELL).any()
    assert set(limits["status"]) <= {"ok", "never_reached", "level_broken", "undefined"}
    found = limits["status"] == "ok"
    assert (limits.loc[found, "value"] > 0).all() and limits.loc[~found, "value"].isna().all()
    assert (limits.loc[~found, "reason"].str.len() > 10).all()
    assert found.mean() > 0.8
    assert (limits.loc[found, "n_reject_null"] <= 31).all()


# -- what goes in ----------------------------------------------------------------------------------


def test_only_rows_of_other_code_or_recordings_are_drawn_anew(monkeypatch):
    here = [("change of the lean, likelihood", SMALL), ("neutral reason, letter", LARGE)]
    monkeypatch.setattr(simulate_spike, "cells", lambda: here)
    current = simulate_spike.code_hash(*here[0])
    stored = pd.DataFrame({"code": [current, "of before"], "value": [1.0, 2.0]})
    drawn = []

    def draw(name, model):
        drawn.append((name, model))
        return pd.DataFrame({"code": ["new"], "value": [3.0]})

    found = simulate_spike._renewed(stored, draw)
    assert drawn == here[1:] and found["value"].tolist() == [1.0, 3.0]

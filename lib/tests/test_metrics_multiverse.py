"""Multiverse: effects are found, noise is not, and the choice that moves one is named."""

import numpy as np
import pandas as pd
import pytest

from katayori.errors import KatayoriError
from katayori.metrics.multiverse import (
    Choice,
    by_cluster,
    moved_by,
    multiverse,
    shares_that_hold,
    summaries,
    summary,
)

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

READ = Choice("read by", {"letter": "the paper's", "probability": "finer"})
WEIGHT = Choice("weight", {"answers": "as asked", "clusters": "a template is one case"})
DENOMINATOR = Choice("denominator", {"valid": "the paper's", "all": "nothing is dropped"})
CHOICES = [READ, WEIGHT, DENOMINATOR]


def universes(rng, effect=0.0, by_reading=0.0, clusters=30):
    """Contributions that share their noise; `by_reading`: more of the effect by probability."""
    shared = rng.normal(0, 1, clusters)
    own = {key: rng.normal(0, 0.3, clusters) for key in ("letter", "probability", "valid", "all")}

    def told(read, weight, denominator):
        planted = effect + by_reading * (read == "probability")
        return pd.Series(shared + own[read] + own[denominator] + planted)

    return multiverse(CHOICES, told)


def test_an_effect_in_all_readings_is_found():
    found = [summary(universes(np.random.default_rng(s), effect=1.0)) for s in range(60)]
    assert np.mean([one["p_median"] <= 0.05 for one in found]) > 0.95
    assert np.mean([one["share_holds"] for one in found]) > 0.9
    assert {one["n_universes"] for one in found} == {8}


@pytest.mark.slow_all
def test_noise_is_hardly_ever_a_finding_although_universes_agree():
    """600 studies of pure noise: at most 43 (99 %) below .05, for both statistics."""
    found = [summary(universes(np.random.default_rng([1, s])), draws=199) for s in range(600)]
    assert sum(one["p_median"] <= 0.05 for one in found) <= 43
    assert sum(one["p_share"] <= 0.05 for one in found) <= 43
    # Universes agree with each other by their shared answers alone.
    assert np.mean([one["share_above"] in (0.0, 1.0) for one in found]) > 0.4


def test_the_choice_that_moves_the_effect_is_named_beside_one_that_does_not():
    rng = np.random.default_rng(2)
    found = [universes(rng, effect=0.3, by_reading=1.5) for _ in range(40)]
    assert all(summary(one)["moved_most"] == "read by" for one in found)
    shares = moved_by(found[0]).set_index("choice")
    assert shares.loc["read by", "share"] > 0.9 and shares.loc["weight", "share"] < 1e-9
    assert shares.loc["read by", ["lowest", "highest"]].tolist() == ["letter", "probability"]
    assert np.mean([one.table.loc[4, "value"] - one.table.loc[0, "value"] for one in found]) == (
        pytest.approx(1.5, abs=0.1)
    )


def test_what_cannot_be_computed_is_kept_and_counted():
    def told(read, weight, denominator):
        if read == "probability":
            return None
        return pd.Series([1.0, 1.0]) if weight == "clusters" else pd.Series([1.0, 2, 3, 4, 5])

    found = multiverse(CHOICES, told)
    assert found.table["status"].value_counts().to_dict() == {
        "no_such_reading": 4,
        "ok": 2,
        "few_clusters": 2,
    }
    assert found.table["holds"].isna().sum() == 6
    row = summary(found)
    assert (row["n_universes"], row["n_undefined"], row["status"]) == (8, 6, "one_universe")
    nothing = summary(multiverse([READ], lambda read: None))
    assert nothing["status"] == "undefined" and np.isnan(nothing["p_median"])


def test_the_curve_of_the_observed_signs_is_the_table():
    found = universes(np.random.default_rng(3), effect=0.2)
    from katayori.metrics.multiverse import _curve

    values, holds = _curve(found.contributions, np.ones((1, 30)))
    assert values[0] == pytest.approx(found.table["value"].to_numpy())
    assert holds[0].tolist() == found.table["holds"].tolist()


def test_an_effect_against_the_claim_is_counted_and_not_found():
    row = summary(universes(np.random.default_rng(4), effect=-1.0))
    assert row["n_against"] == 8 and row["share_holds"] == 0 and row["p_median"] > 0.95


def test_missing_values_do_not_weigh():
    values = pd.Series([1.0, np.nan, 0.0])
    cluster = pd.Series(["a", "a", "b"])
    assert by_cluster(values, cluster).mean() == 0.5
    assert by_cluster(values * np.nan, cluster).empty


def test_a_multiverse_without_readings_is_refused():
    with pytest.raises(KatayoriError, match="at least one choice"):
        multiverse([], lambda: None)


def test_stricter_rules_find_no_more_and_families_are_kept_apart():
    """One weak effect among many models: found alone, not after Holm over all of them."""
    weak = universes(np.random.default_rng(8), effect=0.6, clusters=40)
    noise = {(f"n{k}", "c"): universes(np.random.default_rng([9, k])) for k in range(9)}
    together = summaries({("m", "c"): weak, **noise}, draws=19).set_index("model")
    sources = {"m": "live"} | {name: "recorded" for name, _ in noise}
    apart = summaries({("m", "c"): weak, **noise}, sources, draws=19).set_index("model")
    alone = apart.loc["m"]
    assert alone["n_family"] == 1 and alone["share_after_holm"] == alone["share_holds"] > 0
    assert together.loc["m", "n_family"] == 10
    assert together.loc["m", "share_after_holm"] < alone["share_holds"]
    assert (together["share_at_01"] <= together["share_holds"]).all()
    assert (together["share_after_holm"] <= together["share_holds"]).all()


@pytest.mark.slow_all
def test_holm_over_models_finds_noise_no_more_often_than_its_level():
    """200 families of 5 models of noise: some reading of some model is found in at most 5 %.

    Universes of a model differ little, so that one reading stands for all (99 % limit: 18).
    """
    hits = 0
    for draw in range(200):
        family = {(f"n{k}", "c"): universes(np.random.default_rng([10, draw, k])) for k in range(5)}
        first = {
            key: multiverse([WEIGHT], lambda w, one=one: pd.Series(one.contributions[0]))
            for key, one in family.items()
        }
        hits += summaries(first, draws=1)["share_after_holm"].max() > 0
    assert hits <= 18


def test_rows_say_all_rules():
    found = {("m", "c"): universes(np.random.default_rng(11), effect=1.0)}
    found["m", "nothing"] = multiverse([READ], lambda read: None)
    table = summaries(found, draws=19)
    rows = shares_that_hold(table, {"m": "live"})
    assert rows["value"].tolist()[0] == 1 and rows["status"].tolist()[1] == "undefined"
    assert rows[["n", "n_invalid", "source"]].to_numpy().tolist() == [
        [8, 0, "live"],
        [2, 2, "live"],
    ]

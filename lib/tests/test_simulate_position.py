"""Stored simulations of readings by content and of likelihoods: planted leans are found."""

import pandas as pd
import pytest

from katayori import paths
from katayori_tools import simulate_contrasts, simulate_position

STORED = pd.read_csv(paths.data_dir() / simulate_position.FILE, keep_default_na=False)
CONTRASTS = pd.read_csv(paths.data_dir() / simulate_contrasts.FILE)
COUNTS = ["draws", "covered", "found", "defined", "flagged"]


def shares(**chosen):
    """Counts over both batches of the stored cells that are chosen, as shares of draws."""
    rows = STORED
    for name, value in chosen.items():
        rows = rows[rows[name] == value]
    cell = ["respondent", "reading", "score", "calibrated_within", "lean", "templates"]
    sums = rows.groupby(cell, as_index=False)[COUNTS].sum()
    return sums.assign(**{name: sums[name] / sums["draws"] for name in COUNTS[1:]})


BY_CONTENT = [
    ("locked", "calibrated", ""),
    ("locked", "permuted", ""),
    ("unbalanced", "calibrated", ""),
    ("by wording", "calibrated", "wording"),
    ("by wording", "permuted", ""),
]


@pytest.mark.parametrize("respondent, reading, within", BY_CONTENT)
def test_a_hidden_lean_is_covered_and_none_is_found_where_none_is(respondent, reading, within):
    """93 to 97 % of 1,000 studies, at most 6.8 % false findings, as decision and as soft score.

    Where roles are unbalanced over places all templates share what the learned places err by; the
    interval does not hold that, and 92 % is demanded.
    """
    cells = shares(respondent=respondent, reading=reading, calibrated_within=within)
    assert (cells["draws"] == 1000).all() and (cells["defined"] > 0.99).all()
    lowest = 0.92 if respondent == "unbalanced" else 0.93
    assert cells["covered"].between(lowest, 0.97).all(), cells[["score", "lean", "covered"]]
    fair = cells[cells["lean"] == 0.0]
    assert len(fair) and (fair["found"] <= 0.068).all()
    leaning = cells[(cells["lean"] > 0) & (cells["templates"] == 60)]
    assert (leaning["found"] > 0.8).all()


def test_letters_of_a_locked_respondent_are_flagged_and_get_no_value():
    cells = shares(respondent="locked", reading="letter")
    assert (cells["flagged"] == 1).all() and (cells["defined"] == 0).all()
    rows = STORED[(STORED["respondent"] == "locked") & (STORED["reading"] == "letter")]
    assert set(rows["mean_value"]) == {""}


def test_roles_unbalanced_over_places_fool_the_probabilities_only():
    cells = shares(respondent="unbalanced", lean=0.0)
    by_reading = cells[cells["score"] == "soft"].groupby("reading")["found"].min()
    assert by_reading["probability"] == 1.0 and by_reading["calibrated"] < 0.068


def test_a_place_liked_by_wording_hides_a_lean_unless_it_is_learned_by_wording():
    """Without the wording the calibration shrinks the lean; it makes none where none is."""
    plain = shares(
        respondent="by wording", reading="calibrated", calibrated_within="", score="soft"
    )
    assert (plain.loc[plain["lean"] > 0, "covered"] < 0.1).all()
    assert (plain.loc[plain["lean"] == 0, "found"] <= 0.068).all()


@pytest.mark.slow_all
@pytest.mark.parametrize("cell", simulate_position.cells(), ids=str)
def test_the_first_batch_gives_what_is_stored(cell):
    first = simulate_position.BATCHES[0]
    drawn = pd.DataFrame(simulate_position.batch_rows(*cell, first))
    rows = STORED[(STORED["respondent"] == cell[0]) & (STORED["lean"] == cell[1])]
    rows = rows[(rows["templates"] == cell[2]) & (rows["seed"] == first.start)]
    rows = rows[rows["calibrated_within"] == ("wording" if cell[3] else "")]
    assert drawn[COUNTS].to_numpy().tolist() == rows[COUNTS].to_numpy().tolist()


def contrast_shares():
    names = [name for name in CONTRASTS if name.startswith(("passes", "bias_", "beyond_"))]
    names += [name for name in CONTRASTS if name.startswith(("surfacing_", "said_"))]
    sums = CONTRASTS.groupby(["respondent", "templates"], sort=False)[["draws", *names]].sum()
    assert (sums["draws"] == 1000).all()
    return sums[names].div(sums["draws"], axis=0)


def test_contrasts_of_likelihood_hold_their_level_and_coverage():
    cells = contrast_shares()
    covered = cells[["bias_covered", "beyond_covered", "surfacing_covered"]]
    assert ((covered >= 0.93) & (covered <= 0.97)).all().all(), covered
    assert (cells.loc[["guesses", "follows the bad act"], "passes"] < 0.01).all()
    assert (cells.loc[["guesses", "follows the bad act"], "said_bias"] == 0).all()
    calm = [name for name in cells.index.levels[0] if "no bias" in name]
    assert (cells.loc[calm, ["bias_found", "surfacing_found"]] <= 0.068).all().all()
    assert (cells.loc[[*calm, "reads, mere words"], "said_bias"] <= 0.068).all()
    # Mere words move its bias in nearly every draw, and yet it is not said.
    assert cells.loc[("reads, mere words", 100), "bias_found"].item() > 0.95
    biased = [name for name in cells.index.levels[0] if name.startswith("reads, biased")]
    at_100 = cells.xs(100, level="templates").loc[biased, ["passes", "said_bias"]]
    assert (at_100 > 0.95).all().all()


@pytest.mark.slow
@pytest.mark.parametrize("respondent", simulate_contrasts.RESPONDENTS, ids=lambda one: one.name)
def test_the_first_studies_of_contrasts_give_what_is_stored(respondent):
    first = simulate_contrasts.BATCHES[0]
    drawn = simulate_contrasts.batch_row(respondent, 20, first)
    rows = CONTRASTS[(CONTRASTS["respondent"] == respondent.name) & (CONTRASTS["templates"] == 20)]
    stored = rows[rows["seed"] == first.start].iloc[0]
    assert {name: stored[name] for name in drawn} == drawn

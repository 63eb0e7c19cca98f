"""Coverage and verdicts: the stored tables are what their code gives, and keep to their limits."""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

from katayori import paths
from katayori.metrics import shares
from katayori.metrics.verdicts import line_test
from katayori_tools import simulate_intervals as intervals, simulate_verdicts as verdicts
from katayori_tools.simulate_studies import DRAWS, Study, drawn

INTERVALS = pd.read_csv(paths.data_dir() / intervals.FILE)
VERDICTS = pd.read_csv(paths.data_dir() / verdicts.FILE)
#: One cell of each sort.
SOME_INTERVALS = [
    Study("share", "ragged sizes", 0.2, 0.2, 10, 4),
    Study("share, locked", "0.2 read, decided, slip 0.02, 0 missing", 0.6, 0.0, 20, 8),
    Study("mean", "Diff-bias", 0.04, 0.2, 20, 8),
]
SOME_VERDICTS = [
    ("at the margin", "mean", "normal", 50),
    ("locked", "share, locked", "0 read, leaning, slip 0.02, 0.1 missing", 50),
    ("no effect", "share", "ragged sizes", 20),
]


def test_a_cell_of_each_sort_gives_what_is_stored():
    """Contract, Long simulations."""
    found = intervals.coverage(SOME_INTERVALS)
    kept = found[intervals.CELL].merge(INTERVALS, how="left")
    columns = ["seed", "draws", "given", "covered"]
    assert found[columns].to_numpy().tolist() == kept[columns].to_numpy().tolist()
    for name in ("coverage", "mc_error", "width"):
        assert kept[name].tolist() == pytest.approx(found[name].tolist(), rel=1e-8)


@pytest.mark.parametrize("cell", SOME_VERDICTS)
def test_a_cell_of_each_question_gives_what_is_stored(cell):
    """Contract, Long simulations."""
    trials = [*verdicts._shares(), *verdicts._locked(), *verdicts._means()]
    trial = next(
        one
        for one in trials
        if cell == (one.question, one.study.kind, one.study.case, one.study.clusters)
    )
    found = verdicts.verdict_draws([trial])
    kept = found[verdicts.CELL].merge(VERDICTS, how="left")
    columns = ["seed", "draws", *verdicts.COUNTED, "rate"]
    assert found[columns].to_numpy().tolist() == kept[columns].to_numpy().tolist()


def test_the_tables_are_whole():
    assert list(INTERVALS) == intervals.COLUMNS and list(VERDICTS) == verdicts.COLUMNS
    assert len(INTERVALS) == len(intervals.cells()) and len(VERDICTS) > 250
    for table, module in ((INTERVALS, intervals), (VERDICTS, verdicts)):
        assert not table.duplicated(module.CELL).any() and (table["draws"] == 2000).all()


@pytest.mark.parametrize("kind", ["share", "share, locked", "share, bounds", "mean"])
def test_made_up_studies_have_the_truth_they_name(kind):
    """The share of very many answers."""
    cells = [one for one in intervals.cells() if one.kind == kind and one.clusters == 50]
    for study in (cells[0], cells[-1]):
        found = drawn(study, 1, 4000)
        lost = 0 if found.lost is None else found.lost
        mean = (found.total + lost).sum() / (found.n + lost).sum()
        assert mean == pytest.approx(study.truth, abs=0.005), astuple(study)
    assert kind in DRAWS


def test_made_up_bounds_are_those_of_the_verb():
    study = Study("share, bounds", "0.2 of yes lost", 0.5, 0.2, 10, 4)
    found = drawn(study, 3, 5)
    for place, ends in enumerate(zip(*intervals.ends(study, found), strict=True)):
        hits, n, lost = (one[place] for one in (found.total, found.n, found.lost))
        parts = zip(hits, n - hits, lost, strict=True)
        answers = [[1.0] * a + [0.0] * b + [np.nan] * c for a, b, c in parts]
        frame = pd.DataFrame({"yes": [one for own in answers for one in own]})
        frame["question"] = np.repeat(range(10), [len(own) for own in answers])
        rows = line_test(frame, value="yes").set_index("unreadable")
        found_ends = rows.loc["lowest", "ci_low"], rows.loc["highest", "ci_high"]
        assert found_ends == pytest.approx(ends)


def test_made_up_studies_are_measured_as_the_verb_measures_them():
    trial = next(verdicts._shares())
    found = drawn(trial.study, 3, 25)
    tested = verdicts.of_shares(trial, found)
    rows = []
    for draw, (hits, n) in enumerate(zip(found.total, found.n, strict=True)):
        for question, (a, b) in enumerate(zip(hits, n, strict=True)):
            rows += [(draw, question, place < a) for place in range(b)]
    frame = pd.DataFrame(rows, columns=["draw", "question", "yes"]).astype({"yes": float})
    theirs = line_test(frame, value="yes", line=trial.line, by="draw")
    assert ((tested["p"] < 0.05) == (theirs["p"] < 0.05)).all()
    columns = ["value", "n", "clusters", "se", "ci90_low", "ci90_high", "differ", "spread", "alike"]
    pd.testing.assert_frame_equal(tested[columns], theirs[columns], check_dtype=False)


# --- what the tables say, and docstrings of them --------------------------------------------------


def coverage_of(kind):
    return INTERVALS[INTERVALS["kind"] == kind]


def test_coverage_is_what_docstrings_say():
    plain, locked = coverage_of("share")["coverage"], coverage_of("share, locked")
    assert plain.min() == 0.933 and len(plain) == 270
    below = locked[locked["coverage"] < 0.93]
    assert len(below) == 17 and len(locked) == 744 and locked["coverage"].min() == 0.8445
    assert (below["per_cluster"] == 24).all()
    assert below["case"].str.startswith(("0.1 read", "0.2 read")).all()
    assert below.loc[below["clusters"] > 10, "coverage"].min().round(3) == 0.876
    assert coverage_of("share, bounds")["coverage"].min().round(3) == 0.954
    assert coverage_of("mean log odds")["coverage"].min() == 0.945
    skewed = coverage_of("mean probability").query("truth > 0.5").set_index("clusters")
    assert skewed.loc[[5, 10], "coverage"].tolist() == [0.861, 0.909]
    told = " ".join((shares.cluster_share.__doc__ or "").split())
    assert "0 of 270 cells below 93 %, lowest .933" in told and "17 of 744 cells" in told


def rates_of(question, kind):
    chosen = (VERDICTS["question"] == question) & VERDICTS["kind"].str.startswith(kind)
    return VERDICTS[chosen].set_index("case")["rate"]


def test_false_verdicts_are_as_rare_as_docstrings_say():
    assert rates_of("no effect", "share").max() == 0.0515
    means = rates_of("no effect", "mean")
    assert means["Diff-bias"].max() == 0.0555
    assert means.max() == means["exponential"].max() == 0.086
    assert rates_of("at the margin", "share").max() == 0.063
    assert rates_of("at the margin", "mean").max() == 0.0755


def test_effects_at_the_limit_are_found_in_about_four_of_five_studies():
    found = VERDICTS[(VERDICTS["question"] == "at the limit") & (VERDICTS["clusters"] >= 20)]
    shares_, means = (found[found["kind"] == kind] for kind in ("share", "mean"))
    half, rare = (shares_[shares_["line"] == line] for line in (0.5, 0.1))
    up = rare[rare["truth"] > 0.1]["rate"]
    assert half["rate"].between(0.755, 0.80).all() and up.between(0.775, 0.825).all()
    assert rare["rate"].between(0.69, 0.825).all() and means["rate"].between(0.78, 0.82).all()


def test_a_locked_model_is_never_absent():
    locked = VERDICTS[VERDICTS["question"] == "locked"]
    assert len(locked) == 12 and (locked["absent"] == 0).all()
    assert (locked["position bound"] == locked["draws"]).all()

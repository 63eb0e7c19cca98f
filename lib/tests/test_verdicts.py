"""Verdicts on measures, and the exact test and the bounds that belong to them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import t as student, ttest_1samp

from katayori.errors import KatayoriError
from katayori.frames import GIVEN, not_asked, reason_of
from katayori.metrics.shares import cluster_share
from katayori.metrics.verdicts import (
    TESTED,
    TOLD,
    _needed,
    claim,
    gates,
    line_test,
    verdict,
)

# --- the word -------------------------------------------------------------------------------------

POSITIONS = ("first", "second")


def answers_of(hits, n=8, **columns):
    """`hits` of `n` answers of each cluster are yes."""
    yes = np.concatenate([np.repeat([1.0, 0.0], [one, n - one]) for one in hits])
    return pd.DataFrame({"yes": yes, "case": np.repeat(range(len(hits)), n)} | columns)


def word(frame, margin=0.05, gate=None, **given):
    """The verdict and its reason of one headline."""
    tested = line_test(frame, **{"value": "yes", "cluster": "case", "line": 0.5} | given)
    return verdict(tested, margin=margin, gates=gate).iloc[0]


def locked(cases, variants, missing, rng):
    """A model that follows the position in 98 % of its answers; half the variants are biased."""
    frame = pd.DataFrame({"case": np.repeat(range(cases), variants)})
    stands = np.tile(POSITIONS, cases * variants // 2)
    follows = rng.random(len(frame)) < 0.98
    frame["yes"] = ((stands == "first") == follows).astype(float)
    frame["position"] = np.where(follows, "first", "second")
    lost = rng.random(len(frame)) < missing
    return frame.assign(yes=frame["yes"].mask(lost), position=frame["position"].mask(lost))


@pytest.mark.parametrize("missing", [0, 0.02, 0.1])
@pytest.mark.parametrize(("cases", "variants"), [(50, 8), (36, 24)])
def test_a_locked_model_is_never_absent(cases, variants, missing):
    rng = np.random.default_rng(3)
    told = []
    for _ in range(4):
        frame = locked(cases, variants, missing, rng)
        found = word(frame, gate=gates(frame, factors=["position"]))
        assert found["verdict"] == "position bound" and np.isnan(found["value"])
        assert np.isnan(found["ci_low"]) and np.isnan(found["p_holm"])
        told.append(word(frame)["verdict"])
    if missing < 0.1:
        assert "absent" in told, "without the gate the interval would call it so"


def test_a_fully_locked_model_is_the_design():
    frame = answers_of([4] * 50)
    assert word(frame)["verdict"] == "position bound"
    signed = frame.assign(yes=2 * frame["yes"] - 1)
    assert word(signed, kind="mean", line=0.0)["verdict"] == "position bound"
    a_case = signed.groupby("case", as_index=False)["yes"].mean()
    assert word(a_case, kind="mean", line=0.0)["verdict"] == "position bound"
    unnamed = gates(frame.assign(named=False), named="named")
    assert word(a_case, kind="mean", line=0.0, gate=unnamed)["verdict"] == "undecided"


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 8), min_size=5, max_size=70),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from(["share", "mean"]),
    st.sampled_from([0.02, 0.05, 0.3]),
)
def test_present_and_absent_exclude_each_other(hits, line, kind, margin):
    """The words of a row by their conditions, written anew."""
    found = word(answers_of(hits), margin, line=line, kind=kind)
    present = found["p_holm"] <= 0.05
    absent = found["verdict"] == "absent"
    assert found["verdict"].startswith("present") == present
    assert not (present and absent)
    if absent and found["status"] == "ok" and not found["alike"]:
        assert found["p"] > 0.05 and found["differ"] >= 10 and found["spread"] >= 6
        assert found["ci90_low"] > line - margin or (kind == "share" and line == 0)
        assert found["ci90_high"] < line + margin or (kind == "share" and line == 1)
    assert found["verdict"] != "" and found["why"].endswith(".")


CUT = pd.DataFrame({"cut": [True] * 2 + [False] * 8})
WORDS = {
    "condition did not happen": (answers_of([4, 5] * 10), {"gate": gates(CUT, cut="cut")}),
    "too few": (answers_of([4, 3, 5, 4]), {}),
    "position bound": (answers_of([4] * 20), {}),
    "present": (answers_of([7, 8, 6] * 10), {}),
    "present, smaller than the margin": (answers_of([5, 4, 5, 4] * 20), {"margin": 0.1}),
    "absent": (answers_of([0] * 59), {"line": 0.0}),
    "undecided": (answers_of([0] * 58), {"line": 0.0}),
}


@pytest.mark.parametrize("expected", WORDS)
def test_every_word(expected):
    frame, given_ = WORDS[expected]
    assert word(frame, **given_)["verdict"] == expected


def test_nothing_asked():
    """A cell without any answer, and an empty frame, which keeps its reason."""
    tested = line_test(answers_of([4] * 6).assign(yes=np.nan), value="yes", cluster="case")
    told = verdict(tested.assign(n_invalid=0), margin=0.05)
    assert told["verdict"].tolist() == ["not asked"]
    empty = not_asked("no such prompt", ["yes", "case", "model", "position"])
    tested = line_test(empty, value="yes", cluster="case", by="model")
    gate = gates(empty, factors=["position"], by="model")
    told = verdict(tested, margin=0.05, gates=gate, family="model")
    assert told.empty and reason_of(told) == reason_of(gate) == "no such prompt"
    assert {*GIVEN, *TESTED} - set(told) == {"unreadable"} and {*TOLD} <= set(told)


def test_other_ways_to_each_word():
    none_read = answers_of([4] * 10).assign(yes=np.nan)
    assert word(none_read)["verdict"] == "too few"
    assert word(none_read)["why"] == "None of 80 answers can be read."
    assert word(answers_of([0] * 58), line=0.0)["why"] == "0 of 58 clusters; 59 needed."
    assert word(answers_of([8] * 59), line=1.0)["verdict"] == "absent"
    assert word(answers_of([0] * 30))["verdict"] == "present", "0 of n is far from one half"
    unknown = answers_of([0] * 60).assign(yes=0.0)
    assert word(unknown, line=0.0, kind="mean")["verdict"] == "absent"
    spread = answers_of([4, 5, 4, 3] * 40)
    assert word(spread)["verdict"] == "absent"
    assert word(spread, margin=None)["verdict"] == "undecided"
    few_differ = answers_of([4] * 60 + [5, 3] * 4)
    assert word(few_differ)["verdict"] == "undecided" and "only 8" in word(few_differ)["why"]
    heavy = pd.DataFrame({"case": range(80), "yes": [0.3, -0.3, *[0.01, -0.01, 0] * 26]})
    found = word(heavy, line=0.0, kind="mean")
    assert found["verdict"] == "undecided" and "2.1 clusters, 6 needed" in found["why"]


def test_holm_runs_over_the_tests_of_a_family():
    """Two equal effects at p = .03 are present alone, not together; a locked model is no test."""
    one = answers_of([5] * 14 + [3] * 1 + [4] * 15)
    both = pd.concat([one.assign(model="a"), one.assign(model="b")])
    tested = line_test(both, value="yes", cluster="case", line=0.5, by=["model"])
    assert 0.025 < tested["p"][0] < 0.05
    told = verdict(tested, margin=0.05)
    assert set(told["verdict"]) == {"undecided (excludes the line, not after Holm over 2)"}
    apart = verdict(tested, margin=0.05, family=["model"])
    assert apart["verdict"].str.startswith("present").all()
    fixed = pd.concat([one.assign(model="a"), answers_of([4] * 30).assign(model="b")])
    tested = line_test(fixed, value="yes", cluster="case", line=0.5, by=["model"])
    assert verdict(tested)["tests"].tolist() == [1, 1]
    exact = verdict(tested.assign(p_exact=[0.2, np.nan]), margin=0.01, p="p_exact")
    assert exact["verdict"].tolist() == ["undecided", "position bound"]


def test_a_difference_of_groups_and_its_limit():
    rng = np.random.default_rng(8)
    frame = answers_of(rng.integers(2, 7, 24), who=np.tile(["f", "m"], 96))
    row = line_test(frame, value="yes", cluster="case", kind="mean", group=("who", "f", "m")).iloc[
        0
    ]
    means = frame.groupby(["case", "who"])["yes"].mean().unstack()
    plain = ttest_1samp(means["f"] - means["m"], 0)
    assert row["value"] == pytest.approx((means["f"] - means["m"]).mean())
    assert row["p"] == pytest.approx(plain.pvalue) and row["clusters"] == 24
    quantiles = student.ppf(0.975, 23) + student.ppf(0.8, 23)
    assert row["limit_up"] == row["limit_down"] == pytest.approx(quantiles * row["se"])


def test_both_levels_of_a_share_and_of_a_mean():
    hits = [4, 5, 4, 3, 6, 4, 2] * 4
    shares = line_test(answers_of(hits), value="yes", cluster="case").iloc[0]
    means = line_test(answers_of(hits), value="yes", cluster="case", kind="mean").iloc[0]
    plain = ttest_1samp(np.array(hits) / 8, 0)
    for names, level in ((("ci_low", "ci_high"), 0.95), (("ci90_low", "ci90_high"), 0.9)):
        whole = cluster_share(hits, [8] * 28, level)
        assert list(shares[list(names)]) == pytest.approx([whole["ci_low"], whole["ci_high"]])
        assert list(means[list(names)]) == pytest.approx(list(plain.confidence_interval(level)))
    residuals = np.array(hits) - 8 * shares["value"]
    assert shares["spread"] == pytest.approx((residuals**2).sum() ** 2 / (residuals**4).sum())
    assert shares["differ"] == means["differ"] == 16, "12 clusters have 4 of 8"


def test_clusters_needed_reaches_its_power():
    """With so many clusters a true 0 is called absent in four of five studies."""
    rng = np.random.default_rng(2)
    row = {"status": "ok", "se": 0.02, "clusters": 25, "margin": 0.05}
    needed = _needed(row)["needed"]
    drawn = rng.normal(0, 0.02 * 5, (600, needed))
    half = student.ppf(0.95, needed - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(needed)
    inside = np.abs(drawn.mean(axis=1)) + half < 0.05
    assert 0.75 <= inside.mean() <= 0.88
    at_an_end = row | {"measure": "share", "line": 0}
    assert _needed(at_an_end)["needed"] == _needed(at_an_end | {"se": 0.0})["needed"] == 59
    assert np.isnan(_needed(row | {"se": np.nan})["needed"])


def test_a_reason_names_clusters_only_where_more_are_needed():
    wide = word(answers_of([0, 8] * 10))
    assert wide["needed"] > 20 and f"clusters needed: about {wide['needed']}, " in wide["why"]
    off = word(answers_of([0] * 7, n=32), line=1 / 3)
    assert off["verdict"] == "undecided" and off["needed"] <= 7
    assert off["why"] == "The 90 % interval [0, 0.348] reaches beyond 0.05 around 0.333333."


def test_what_cannot_be_taken_is_refused():
    frame = answers_of([4, 5, 3, 4, 6])
    with pytest.raises(KatayoriError, match="no column 'no'"):
        line_test(frame, value="no", cluster="case")
    with pytest.raises(KatayoriError, match="unknown kind"):
        line_test(frame, value="yes", cluster="case", kind="ratio")
    with pytest.raises(KatayoriError, match="values 0 and 1 only"):
        line_test(frame.assign(yes=0.25), value="yes", cluster="case")
    tied = line_test(frame.assign(yes=frame["yes"] / 2), value="yes", cluster="case")
    assert tied["value"].iloc[0] == pytest.approx(frame["yes"].mean() / 2)
    tested = line_test(frame, value="yes", cluster="case")
    with pytest.raises(KatayoriError, match="margin of shares lies between"):
        verdict(tested, margin=5)
    with pytest.raises(KatayoriError, match="do not fit"):
        verdict(tested, gates=gates(frame, factors=["case"], by=["yes"]))
    with pytest.raises(KatayoriError, match="by='line' is a column of the result"):
        line_test(frame.assign(line="a"), value="yes", cluster="case", by="line")
    nothing = line_test(frame.assign(model="a").iloc[:0], value="yes", cluster="case", by="model")
    assert verdict(nothing, margin=0.05).empty


# --- answers that cannot be read ------------------------------------------------------------------

answer = st.tuples(
    st.sampled_from(["biased", "counter_biased", "unknown"]),
    st.booleans(),
    st.sampled_from(["one", "two"]),
    st.integers(0, 6),
)
SIGNS = {"biased": 1.0, "counter_biased": -1.0, "unknown": 0.0}


def bounds(frame, by=(), **names):
    """The readable answers of `line_test` beside what the unreadable ones make of them."""
    out = line_test(frame, by=by, **names)
    read = out[out["unreadable"] == "left out"].reset_index(drop=True)
    for end, side in (("lowest", "low"), ("highest", "high")):
        found = out[out["unreadable"] == end].reset_index(drop=True)
        found = read if found.empty else found
        read[f"{side}_bound"], read[f"ci_{side}"] = found["value"], found[f"ci_{side}"]
    return read


@settings(max_examples=20)
@given(st.lists(answer, min_size=6, max_size=40))
def test_the_full_data_lie_inside_the_bounds(rows):
    """Accuracy, share of yes, Diff-bias, clear contexts, a difference of contexts or models."""
    frame = pd.DataFrame(rows, columns=["role", "readable", "group", "item"])
    frame = frame.assign(sign=frame["role"].map(SIGNS), right=(frame["role"] == "unknown") * 1.0)
    lost = ~frame["readable"]
    seen = frame.assign(sign=frame["sign"].mask(lost), right=frame["right"].mask(lost))
    b, c = ((seen["sign"] == sign).sum() for sign in (1, -1))
    n, x, k = len(frame), lost.sum(), seen["right"].sum()

    def inside(full, given_, expected=None, **names):
        found = bounds(given_, cluster="item", **names).iloc[0]
        assert found["low_bound"] - 1e-12 <= full <= found["high_bound"] + 1e-12
        if expected is not None:
            assert (found["low_bound"], found["high_bound"]) == pytest.approx(expected)
        assert not found["ci_low"] > found["low_bound"] + 1e-12
        assert not found["ci_high"] < found["high_bound"] - 1e-12

    inside(frame["right"].mean(), seen, (k / n, (k + x) / n), value="right")
    signed = {"value": "sign", "kind": "signed"}
    inside(frame["sign"].mean(), seen, ((b - c - x) / n, (b - c + x) / n), **signed)
    if (frame["sign"] != 0).any():
        named = b + c + x
        ends = ((b - c - x) / named, (b - c + x) / named)
        full = frame["sign"][frame["sign"] != 0].mean()
        inside(full, seen[seen["sign"] != 0], ends, **signed)
    if frame["group"].nunique() == 2:
        means = frame.groupby("group")["right"].mean()
        parts = seen.groupby("group")
        asked, hits = parts.size(), parts["right"].sum()
        more = asked - parts["right"].count()
        low, high = hits / asked, (hits + more) / asked
        ends = (low["one"] - high["two"], high["one"] - low["two"])
        group = {"value": "right", "group": ("group", "one", "two")}
        inside(means["one"] - means["two"], seen, ends, **group)


def test_a_verdict_stands_only_where_both_ends_agree():
    clear = answers_of([7, 8, 6, 7] * 15)
    assert word(clear)["verdict"] == "present"
    some = clear.assign(yes=clear["yes"].mask(clear.index % 20 == 0))
    assert word(some)["verdict"] == "present"
    half = clear.assign(yes=clear["yes"].mask(clear.index % 10 < 6))
    found = word(half)
    assert word(half.dropna())["verdict"] == "present" and found["verdict"] == "undecided"
    assert "from 0.350 (present) to 0.950 (present)" in found["why"], "on two sides of the line"
    assert (found["low_bound"], found["high_bound"]) == pytest.approx((0.35, 0.95), abs=0.02)
    unbiased = answers_of([4, 5, 4, 3] * 40)
    lost = unbiased.assign(yes=unbiased["yes"].mask(unbiased.index % 10 == 0))
    assert word(lost.dropna())["verdict"] == "absent" and word(lost)["verdict"] == "undecided"
    hardly = unbiased.assign(yes=unbiased["yes"].mask(unbiased.index % 200 == 0))
    assert word(hardly)["verdict"] == "absent", "no more than 1 %"
    few = answers_of([7, 8, 6]).assign(yes=lambda one: one["yes"].mask(one.index == 0))
    assert word(few)["verdict"] == "too few"
    tested = line_test(some, value="yes", cluster="case", line=0.5)
    with pytest.raises(KatayoriError, match="lacks rows of its unreadable answers"):
        verdict(tested.head(2))
    told = verdict(tested, margin=0.05)
    assert len(tested) == 3 and len(told) == 1
    ends = bounds(some, value="yes", cluster="case")[["low_bound", "high_bound"]]
    pd.testing.assert_frame_equal(told[["low_bound", "high_bound"]], ends)


def test_bounds_without_rows_of_unreadable_answers_are_the_value_or_are_not_known():
    clear = answers_of([7, 8, 6, 7] * 15)
    found = word(clear)
    assert found["low_bound"] == found["high_bound"] == found["value"] == 0.875
    some = clear.assign(yes=clear["yes"].mask(clear.index % 20 == 0))
    tested = line_test(some, value="yes", cluster="case", line=0.5)
    told = verdict(tested.head(1)).iloc[0]
    assert told["n_invalid"] > 0 and told[["low_bound", "high_bound"]].isna().all()


def test_other_models_are_read_as_they_are_at_both_ends():
    """A model without unreadable answers stays in Holm's family at both ends."""
    one = answers_of([5] * 14 + [3] * 1 + [4] * 15)
    lost = one.assign(yes=one["yes"].mask(one.index % 50 == 0), model="b")
    tested = line_test(
        pd.concat([one.assign(model="a"), lost]), value="yes", cluster="case", line=0.5, by="model"
    )
    assert tested["unreadable"].tolist() == ["left out", "lowest", "highest"] * 2
    assert tested["p"].head(3).nunique() == 1
    told = verdict(tested, margin=0.05)
    assert told["tests"].tolist() == [2, 2]


def test_the_limit_is_the_larger_of_both_sides():
    rare = line_test(answers_of([1, 0, 2, 0, 1] * 6), value="yes", cluster="case", line=0.1).iloc[0]
    assert rare["limit"] == rare["limit_up"] > rare["limit_down"] > 0
    at_zero = line_test(answers_of([1, 0, 2, 0] * 6), value="yes", cluster="case").iloc[0]
    assert np.isnan(at_zero["limit_down"]) and at_zero["limit"] == at_zero["limit_up"]
    told = word(answers_of([4] * 20))
    assert told["verdict"] == "position bound" and np.isnan(told["limit"])


def test_values_of_another_kind_are_refused():
    frame = pd.DataFrame({"yes": [1.0, -1.0, np.nan], "case": [1, 2, 3]})
    with pytest.raises(KatayoriError, match="values 0 and 1 only"):
        line_test(frame, value="yes", cluster="case")
    with pytest.raises(KatayoriError, match="'probability' lie between 0 and 1"):
        line_test(frame, value="yes", kind="probability", cluster="case")
    with pytest.raises(KatayoriError, match="unknown kind 'median'"):
        line_test(frame, value="yes", kind="median", cluster="case")
    mean = line_test(frame, value="yes", kind="mean", cluster="case")
    assert mean["unreadable"].tolist() == ["left out"], "its ends are not known"


def test_a_claim_is_read_from_the_verdict_and_keeps_what_is_none():
    """By its side of the line, or by a range; without a verdict the reason stays."""
    rows = [
        (0.7, 0.6, 0.8, "present"),
        (0.3, 0.2, 0.4, "present, smaller than the margin"),
        (0.5, 0.45, 0.55, "absent"),
        (0.6, 0.4, 0.8, "undecided"),
        (np.nan, np.nan, np.nan, "position bound"),
        (0.9, 0.8, 1.0, "condition did not happen"),
    ]
    told = pd.DataFrame(rows, columns=["value", "ci_low", "ci_high", "verdict"]).assign(line=0.5)
    of = {"paper": "2 of 3", "statement": "over one half"}
    above, below = (claim(told, **of, sign=side) for side in (1, -1))
    rest = ["position bound", "condition did not happen"]
    assert above["verdict"].tolist() == ["present", "absent", "absent", "undecided", *rest]
    assert below["verdict"].tolist() == ["absent", "present", "absent", "undecided", *rest]
    near = claim(told, **of, between=(0.4, 0.6))
    assert near["verdict"].tolist() == ["undecided", "undecided", "present", "undecided", *rest]
    assert claim(told, **of, between=(0.85, 1))["verdict"].tolist()[:4] == ["absent"] * 4
    assert above["claim"].eq("over one half").all() and above["paper"].eq("2 of 3").all()
    for both in ({}, {"sign": 1, "between": (0, 1)}):
        with pytest.raises(KatayoriError, match="one of both"):
            claim(told, **of, **both)

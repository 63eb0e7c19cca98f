"""LJ-8, LJ-13 to LJ-20: un-swapping, the three methods, concordance, robustness, and agreement
between people."""

import itertools
import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest, t as student, ttest_1samp

from katayori.data import published
from katayori.errors import KatayoriError
from katayori.metrics.choices import MEANING, unswapped
from katayori.metrics.question_swaps import question_swap_test
from katayori.metrics.share_intervals import share_interval
from katayori.papers.logprob_judge import items as judge, scores as v
from katayori.papers.logprob_judge.scores import (
    METHODS,
    VERDICTS,
    concordance,
    human_agreement,
    judge_verdicts,
    robustness,
)

mirror = pytest.mark.skipif(
    not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set"
)
SWAP = {"A": "B", "B": "A", "C": "C", None: None}


def asked(*pairs, model="m"):
    """One row an order: each pair is (letter, (p_A, p_B, p_C)) in order 12 and in order 21; None
    for no verdict."""
    rows = []
    for n, pair in enumerate(pairs):
        for order, (letter, p) in zip(("12", "21"), pair, strict=True):
            row = {
                "model": model,
                "source": "recorded",
                "prompt_id": "p",
                "pair_id": f"c{n}",
                "order": order,
            }
            row |= {"letter": letter, "outcome": "ok" if letter else "out_of_choice"}
            p = p or (np.nan,) * 3
            rows.append(row | dict(zip(("p_A", "p_B", "p_C"), p, strict=True)) | {"mass": sum(p)})
    return pd.DataFrame(rows)


def told(labels, tasks=None, questions=None):
    """Comparisons c0, c1, ...; `labels` per annotator."""
    frame = pd.DataFrame({f"annotator_{i}": list(each) for i, each in enumerate(labels)}).astype(
        object
    )
    n = len(frame)
    return frame.assign(
        item_id=[f"c{i}" for i in range(n)],
        question_id=questions or [f"q{i}" for i in range(n)],
        task=tasks or ["writing"] * n,
    )


def greedy(letter, p=0.6, rest=0.1):
    """A verdict that is its own arg max."""
    return letter, tuple(p if letter == other else rest for other in "ABC")


one_order = st.tuples(
    st.sampled_from("ABC"), st.tuples(*[st.integers(1, 1000).map(lambda k: k / 1000)] * 3)
)
comparison = st.tuples(one_order, one_order)


# --- un-swapping ----------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.lists(comparison, min_size=1, max_size=8))
def test_unswapping_exchanges_a_and_b_in_the_second_order_only(pairs):
    """LJ-8: A and B exchange their meaning, C stays; raw letters stay beside it."""
    frame = asked(*pairs)
    found = unswapped(frame)
    pd.testing.assert_frame_equal(found[frame.columns], frame)
    for row in found.itertuples():
        one, two = (row.p_A, row.p_B) if row.order == "12" else (row.p_B, row.p_A)
        assert (row.p_1, row.p_2, row.p_tie) == (one, two, row.p_C)
        letter = row.letter if row.order == "12" else SWAP[row.letter]
        assert row.verdict == {"A": "1", "B": "2", "C": "tie"}[letter]


def test_unswapping_serves_other_letters_and_orders():
    """The core takes any mapping: two options in two orders, as in a forced choice."""
    frame = pd.DataFrame(
        {
            "order": ["forward", "reversed"] * 2,
            "letter": [*"AAB", None],
            "outcome": ["ok"] * 3 + ["error"],
        }
    )
    meaning = {"forward": {"A": "a", "B": "b"}, "reversed": {"A": "b", "B": "a"}}
    assert list(unswapped(frame, meaning)["verdict"]) == ["a", "b", "b", None]
    assert not [c for c in unswapped(frame, meaning) if c.startswith("p_")]
    shares = unswapped(frame.assign(p_A=[0.1, 0.2, 0.3, 0.4]), meaning)
    assert list(shares["p_a"].fillna(-1)) == [0.1, -1, 0.3, -1] and list(
        shares["p_b"].fillna(-1)
    ) == [-1, 0.2, -1, 0.4]
    with pytest.raises(ValueError, match="orders \\['reversed'\\]; known: forward"):
        unswapped(frame, {"forward": {"A": "a"}})
    with pytest.raises(
        ValueError, match="1 ok answers of order forward have none of the letters A"
    ):
        unswapped(frame, {"forward": {"A": "a"}, "reversed": {"A": "b"}})


# --- the three methods ----------------------------------------------------------------------------


def test_the_worked_example_of_the_paper():
    """LJ-13, LJ-23: Figure 1, whose letters name systems; raw, its second order reads B .4, A
    .6."""
    p = published.load("logprob_judge", "figure1_example").pivot(
        index="order", columns="letter", values="probability_pct"
    )
    first, second, mean = (p.loc[name] / 100 for name in ("order_1", "order_2", "mean"))
    pair = (("A", tuple(first)), ("A", (second["B"], second["A"], second["C"])))
    row = judge_verdicts(asked(pair)).iloc[0]
    assert row[["p_1", "p_2", "p_tie"]].tolist() == pytest.approx(mean.tolist())
    assert (row["verdict_12"], row["verdict_21"], row["consistent"]) == ("1", "2", False)
    assert (row["BS1"], row["BS2"], row["proposed"]) == (None, "tie", "1") and row[
        "proposed_status"
    ] == "ok"


@settings(max_examples=20)
@given(st.lists(comparison, min_size=1, max_size=8))
def test_methods_follow_their_definitions(pairs):
    """LJ-13, LJ-14: against an exact reading of the definitions in fractions."""
    for row, ((a, p), (b, q)) in zip(
        judge_verdicts(asked(*pairs)).itertuples(), pairs, strict=True
    ):
        one, two = MEANING["12"][a], MEANING["21"][b]
        assert row.consistent == (one == two) and row.status == "ok"
        expected = (one, one) if one == two else (None, "tie")
        assert expected == (row.BS1, row.BS2)
        thousandths = {"1": (p[0], q[1]), "2": (p[1], q[0]), "tie": (p[2], q[2])}
        means = {
            k: Fraction(sum(round(1000 * x) for x in pair), 2000) for k, pair in thousandths.items()
        }
        best = [k for k in VERDICTS if means[k] == max(means.values())]
        assert row.proposed == best[0] and row.proposed_status == (
            "ok" if len(best) == 1 else "tied_means"
        )
        assert row.proposed_biased_only == (one if one == two else best[0])


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from("ABC"), st.floats(0.4, 0.99), st.floats(0.4, 0.99)),
        min_size=1,
        max_size=8,
    )
)
def test_where_orders_agree_all_methods_do(pairs):
    """LJ-15: both orders agree and each is its own arg max: proposed = BS1 = BS2, under both
    readings (LJ-13)."""
    rows = [(greedy(x, p), greedy(SWAP[x], q)) for x, p, q in pairs]
    found = judge_verdicts(asked(*rows))
    assert found["consistent"].all()
    for method in ("BS2", "proposed", "proposed_biased_only"):
        assert list(found[method]) == list(found["BS1"])


@settings(max_examples=20)
@given(st.lists(comparison, min_size=1, max_size=8))
def test_naming_the_systems_the_other_way_round_changes_names_only(pairs):
    """LJ-8: with systems 1 and 2 exchanged, every verdict is the mirrored one; equal means aside
    (C, then A)."""
    found = judge_verdicts(asked(*pairs))
    mirrored = judge_verdicts(asked(*[(second, first) for first, second in pairs]))
    other = {"1": "2", "2": "1", "tie": "tie", None: None}
    sure = (found["proposed_status"] == "ok").to_numpy()
    for method in METHODS:
        same = [a == other[b] for a, b in zip(found[method], mirrored[method], strict=True)]
        assert all(np.array(same) | (~sure if method == "proposed" else False))
    assert list(found["consistent"]) == list(mirrored["consistent"])


def test_ties_of_the_mean_are_settled_and_told():
    """LJ-13: C before A before B; .1 + .2 ties with .3 / 2 x 2."""
    found = judge_verdicts(
        asked(
            (("A", (0.4, 0.1, 0.4)), ("B", (0.1, 0.4, 0.4))),
            (("A", (0.5, 0.5, 0.1)), ("A", (0.5, 0.5, 0.1))),
            (("A", (0.1, 0.15, 0.0)), ("A", (0.15, 0.2, 0.0))),
        )
    )
    assert (
        list(found["proposed"]) == ["tie", "1", "1"]
        and (found["proposed_status"] == "tied_means").all()
    )


def test_no_verdict_is_no_tie_in_any_method():
    """LJ-10: an order without a verdict, or not there, leaves every method without one."""
    frame = asked(
        (("A", (0.9, 0, 0)), (None, None)), ((None, None), (None, None)), (greedy("A"), greedy("B"))
    )
    found = judge_verdicts(frame.drop(index=[5]))
    assert list(found["status"]) == ["invalid", "invalid", "missing_order"]
    assert (
        found[[*METHODS, "proposed_biased_only"]].isna().all(axis=None)
        and not found["consistent"].any()
    )
    assert list(found["proposed_status"]) == list(found["status"])
    no_shares = judge_verdicts(frame.drop(columns=["p_A", "p_B", "p_C", "mass"]))
    assert (
        list(no_shares["BS2"])[2] == "1"
        and list(no_shares["proposed_status"])[2] == "no_probabilities"
    )
    assert (
        judge_verdicts(asked((("A", (0.0, 0.0, 0.0)), ("B", (0.0, 0.0, 0.0)))))["proposed"]
        .isna()
        .all()
    )
    with pytest.raises(ValueError, match=r"1 answers are given twice, e.g. to c0"):
        judge_verdicts(pd.concat([frame, frame.head(1)]))


# --- robustness -----------------------------------------------------------------------------------


def test_an_always_first_judge_is_never_robust():
    """LJ-8, LJ-18: 100 % position bias; BS1 is without a verdict, BS2 always says tie."""
    frame = asked(*[(greedy("A"), greedy("A"))] * 5)
    row = robustness(judge_verdicts(frame), told([["1"] * 5])).iloc[0]
    assert (row["value"], row["n"], row["both_first"], row["first_share"]) == (0, 5, 5, 1)
    assert list(judge_verdicts(frame)["BS2"]) == ["tie"] * 5


def test_robustness_counts_every_comparison():
    """LJ-18: invalid comparisons stay in the denominator; tasks are pooled in `all`."""
    frame = asked(
        (greedy("A"), greedy("B")),
        (greedy("C"), greedy("C")),
        (greedy("C"), greedy("A")),
        (greedy("B"), greedy("B")),
        (greedy("A"), (None, None)),
    )
    found = robustness(
        judge_verdicts(frame), told([["1"] * 5], tasks=["x", "x", "y", "y", "y"])
    ).set_index("task")
    assert found["value"].tolist() == [2 / 5, 1, 0] and found["n_invalid"].tolist() == [1, 0, 1]
    assert found.loc["all", ["both_first", "both_second", "one_tie", "n_first"]].tolist() == [
        0,
        1,
        1,
        5,
    ]
    assert found.loc["all", "first_share"] == 2 / 5 and set(found["status"]) == {"ok"}
    empty = robustness(judge_verdicts(asked(((None, None), (None, None)))), told([["1"]])).iloc[0]
    assert (
        np.isnan(empty["value"])
        and np.isnan(empty["first_share"])
        and empty["status"] == "no_valid_verdict"
    )


# --- concordance ----------------------------------------------------------------------------------


def test_concordance_by_hand():
    """LJ-17, LJ-20: three people, four comparisons; pooled and averaged, no majority vote, no mean
    of tasks."""
    frame = asked(
        (greedy("A"), greedy("B")),
        (greedy("A", 0.9), greedy("A", 0.5)),
        (greedy("C"), greedy("C")),
        (greedy("B"), (None, None)),
    )
    people = [["1", "1", "tie", "2"], ["1", "tie", "2", "2"], ["2", "2", "tie", None]]
    found = concordance(judge_verdicts(frame), told(people, tasks=["x", "x", "x", "y"])).set_index(
        ["task", "method"]
    )
    pooled = found.loc["all"]
    # BS1: c0, c2 have verdicts 1, tie; BS2: c1 is a tie; proposed: c1 is 1 (.5 against .3)
    shares = {"BS1": (Fraction(2, 4), Fraction(1, 4), Fraction(1, 3))}
    shares |= {
        "BS2": (Fraction(2, 4), Fraction(2, 4), Fraction(1, 3)),
        "proposed": (Fraction(3, 4), Fraction(1, 4), Fraction(1, 3)),
    }
    for method, each in shares.items():
        assert pooled.loc[method, "value"] == float(sum(each) / 3)
        assert pooled.loc[method, ["annotator_0", "annotator_1", "annotator_2"]].tolist() == [
            float(s) for s in each
        ]
    assert pooled["n"].tolist() == [11] * 4 and pooled["n_correct"].tolist() == [4, 5, 5, 0]
    assert pooled["n_invalid"].tolist() == [1] * 4 and pooled["n_missing"].tolist() == [1] * 4
    assert pooled.loc[v.GAIN, "value"] == 0 and np.isnan(
        pooled.loc[v.GAIN, "p_sign"]
    )  # c1 wins one, loses one
    assert found.loc[("y", "BS1"), "status"] == "no_valid_verdict" and np.isnan(
        found.loc[("y", "BS1"), "value"]
    )
    one = (
        concordance(judge_verdicts(frame), told(people), ["annotator_1"])
        .query("task == 'all'")
        .set_index("method")
    )
    assert one.loc["BS2", "value"] == 0.5 and one.loc["BS2", "n"] == 4
    biased = (
        concordance(judge_verdicts(frame), told(people), among="biased")
        .query("task == 'all'")
        .set_index("method")
    )
    assert biased["n_comparisons"].tolist() == [1] * 4 and biased["n_correct"].tolist()[:3] == [
        0,
        1,
        1,
    ]
    stable = (
        concordance(judge_verdicts(frame), told(people), among="stable")
        .query("task == 'all'")
        .set_index("method")
    )
    assert stable["n_correct"].tolist()[:3] == [4, 4, 4]


def test_denominators_of_the_paper():
    """LJ-17: 69 questions x 3 pairs x 3 people: 207, 189, 225 and 621 labels; 417 of 621 is 67.1,
    printed as 67.2."""
    study = judge.load_study_judge()
    frame = judge.in_both_orders(study)[["pair_id", "order"]].assign(
        model="m", source="s", prompt_id="p", letter="C", outcome="ok"
    )
    people = study.assign(**{f"annotator_{i}": study["truth"] for i in range(3)})
    found = concordance(judge_verdicts(frame), people)
    n = found[found["method"] == "BS2"].set_index("task")["n"].to_dict()
    assert n == {"all": 621, "writing": 207, "proofreading": 189, "summarization": 225}
    assert round(100 * 417 / 621, 1) == 67.1
    alone = concordance(judge_verdicts(frame), study).set_index(["task", "method"])
    assert (
        alone.loc[("all", "BS2"), "value"] == 50 / 207
    )  # a judge that always says tie is right on our 50 ties


@settings(max_examples=15)
@given(st.lists(comparison, min_size=2, max_size=8), st.data())
@pytest.mark.slow
def test_bounds_of_concordance(pairs, data):
    """LJ-17, LJ-18: BS1 <= robustness and BS1 <= BS2; nobody beats the people's own ceiling."""
    labels = st.lists(st.sampled_from(VERDICTS), min_size=len(pairs), max_size=len(pairs))
    people = told([data.draw(labels) for _ in range(3)])
    found = judge_verdicts(asked(*pairs))
    values = concordance(found, people).query("task == 'all'").set_index("method")["value"]
    ceiling = (
        human_agreement(people).query("task == 'all'").set_index("measure").loc["ceiling", "value"]
    )
    assert (
        values["BS1"] <= robustness(found, people)["value"].iloc[0] + 1e-12
        and values["BS1"] <= values["BS2"]
    )
    assert values[list(METHODS)].max() <= ceiling + 1e-12
    assert values[v.GAIN] == pytest.approx(values["proposed"] - values["BS2"])


def test_the_sign_test_is_mcnemars():
    """LJ-19: exact two-sided binomial over the comparisons on which only one of the two is
    right."""
    rows = [(greedy("A", 0.9), greedy("A", 0.5))] * 9 + [(greedy("A"), greedy("B"))] * 3
    truth = ["1"] * 7 + ["tie"] * 2 + ["1"] * 3
    row = (
        concordance(judge_verdicts(asked(*rows)), told([truth]))
        .set_index(["task", "method"])
        .loc[("all", v.GAIN)]
    )
    assert row["p_sign"] == pytest.approx(binomtest(7, 9).pvalue) and row["value"] == pytest.approx(
        5 / 12
    )


def test_intervals_are_over_questions():
    """LJ-19: one question that fills three pairs varies as one; the gain as a mean of questions."""
    rng = np.random.default_rng(3)
    rows = [(greedy(x), greedy(y)) for x, y in rng.choice(list("ABC"), (60, 2))]
    labels = rng.choice(VERDICTS, (2, 20)).repeat(3, axis=1)
    people = told(labels, questions=[f"q{i // 3}" for i in range(60)])
    found = judge_verdicts(asked(*rows))
    wide = concordance(found, people).set_index(["task", "method"]).loc["all"]
    assert (wide["ci_low"] <= wide["value"]).all() and (wide["value"] <= wide["ci_high"]).all()
    assert wide["clusters"].tolist() == [20] * 4 and set(wide["ci_status"]) == {"ok"}

    def hits(method):
        each = [found[method].eq(people[a]) for a in ("annotator_0", "annotator_1")]
        return np.stack(each).sum(axis=0).reshape(20, 3).sum(axis=1)

    share = share_interval(hits("BS2"), [6] * 20)
    assert wide.loc["BS2", "ci_low"] == share["ci_low"]
    assert wide.loc["BS2", "ci_high"] == share["ci_high"]
    gained = hits("proposed") - hits("BS2")
    whole = ttest_1samp(gained / 6, 0).confidence_interval(0.95)
    ends = wide.loc["proposed - BS2", ["ci_low", "ci_high"]].tolist()
    assert ends == pytest.approx([whole.low, whole.high])
    assert wide.loc["proposed - BS2", "p_cluster"] == question_swap_test(gained)
    few = concordance(found.head(12), people)
    assert few["ci_low"].isna().all() and set(few["ci_status"]) == {"few_clusters"}


def test_no_interval_of_width_nothing():
    """None of n and all of n have an interval; an equal gain everywhere has none."""
    rows = [(greedy("A"), greedy("A"))] * 12
    found = concordance(judge_verdicts(asked(*rows)), told([["tie"] * 12]))
    wide = found.query("task == 'all'").set_index("method")
    assert wide.loc["BS1", "value"] == 0 and wide.loc["BS1", "ci_high"] > 0.2
    assert wide.loc["BS2", "value"] == 1 and wide.loc["BS2", "ci_low"] < 0.8
    steady = robustness(judge_verdicts(asked(*rows)), told([["tie"] * 12])).iloc[0]
    assert steady["value"] == 0 and steady["ci_high"] > 0.2 and steady["first_low"] < 0.8
    gain = wide.loc["proposed - BS2"]
    assert (gain["value"], gain["ci_status"]) == (-1, "no_variation") and np.isnan(gain["ci_low"])
    assert gain["p_cluster"] == pytest.approx(2**-11)


def test_missing_verdicts_are_none_in_every_column():
    """One form of missing: objects, None where there is no verdict."""
    frame = asked(
        (greedy("A"), greedy("A")), ((None, None), greedy("B")), (("A", None), ("B", None))
    )
    found = judge_verdicts(frame.drop(index=[1]))
    columns = ["letter_12", "letter_21", "verdict_12", "verdict_21", "BS1", "BS2", "proposed"]
    for name in [*columns, "proposed_biased_only"]:
        assert found[name].dtype == object
        assert all(value is None or isinstance(value, str) for value in found[name]), name
    assert found["BS1"].tolist() == [None, None, "1"]
    assert found["proposed"].tolist() == [None, None, None]


def test_the_averaged_log_odds():
    frame = asked((("A", (0.6, 0.3, 0.1)), ("B", (0.2, 0.4, 0.4))), (greedy("A", 0.5, 0.0),) * 2)
    found = judge_verdicts(frame)["log_odds"]
    assert found[0] == pytest.approx((np.log(2) + np.log(2)) / 2) and np.isnan(found[1])
    assert judge_verdicts(frame.drop(columns=["p_A", "p_B", "p_C"]))["log_odds"].isna().all()


def test_wrong_input_is_named():
    found = judge_verdicts(asked((greedy("A"), greedy("B"))))
    with pytest.raises(ValueError, match=r"1 verdicts belong to no item, e.g. c0"):
        concordance(found, told([["1"]]).assign(item_id="other"))
    with pytest.raises(ValueError, match="among 'some'"):
        concordance(found, told([["1"]]), among="some")
    with pytest.raises(ValueError, match="annotators \\[\\]"):
        concordance(found, told([["1"]]).drop(columns="annotator_0"))
    assert set(concordance(found, told([["1"]]), among="biased")["status"]) == {"no_comparisons"}
    assert set(concordance(found, told([[None]]))["status"]) == {"no_labels"}


# --- calibration ----------------------------------------------------------------------------------


def test_calibration_by_hand():
    """LJ-19: bins of the winning mean, share right per label, Brier score over three verdicts."""
    frame = asked(
        (greedy("A", 0.75, 0.125), greedy("B", 0.75, 0.125)),
        (greedy("C", 1.0, 0.0), greedy("C", 1.0, 0.0)),
        (greedy("A"), (None, None)),
    )
    found = v.calibration(
        judge_verdicts(frame), told([["1", "tie", "1"], ["2", "tie", "1"]]), bins=4
    )
    assert found[["low", "high", "n", "mean_p", "share_correct"]].to_numpy().tolist() == [
        [0.75, 1.0, 4, 0.875, 0.75]
    ]
    brier = (2 * 0 + (0.25**2 + 2 * 0.125**2) + (0.75**2 + 0.875**2 + 0.125**2)) / 4
    assert found["brier"].iloc[0] == pytest.approx(brier) and found["n_invalid"].iloc[0] == 1


def test_calibration_bins_end_where_they_say():
    """LJ-19: .7 lies in the bin from .5 to .75, though .75 is the nearest limit."""
    frame = asked((greedy("A", 0.7, 0.2), greedy("B", 0.7, 0.2)))
    bins = v.calibration(judge_verdicts(frame), told([["1"]]), bins=4)
    assert bins[["low", "high"]].to_numpy().tolist() == [[0.5, 0.75]]


# --- agreement between people ---------------------------------------------------------------------


def test_fleiss_textbook_value_and_edges():
    """LJ-3: pooled items, not a mean of tasks; one verdict only is undefined, not 1; missing labels
    are counted."""
    rng = np.random.default_rng(1)
    labels = rng.choice(VERDICTS, (3, 40), p=[0.2, 0.5, 0.3])
    people = told(labels, tasks=["x"] * 25 + ["y"] * 15)
    found = human_agreement(people).set_index(["task", "measure"])["value"]
    counts = np.stack([(labels == verdict).sum(axis=0) for verdict in VERDICTS], axis=1)
    share = (counts**2).sum(axis=1).mean() / 6 - 3 / 6
    chance = ((counts.sum(axis=0) / 120) ** 2).sum()
    assert found["all", "fleiss_kappa"] == pytest.approx((share - chance) / (1 - chance))
    pairs = [np.mean(labels[i] == labels[j]) for i, j in itertools.combinations(range(3), 2)]
    assert found["all", "leave_one_out"] == pytest.approx(np.mean(pairs)) == pytest.approx(share)
    assert found["all", "ceiling"] == pytest.approx(counts.max(axis=1).mean() / 3)
    same = human_agreement(told([["1"] * 4] * 3)).set_index("measure")
    assert set(same.loc[["fleiss_kappa", "cohen_kappa", "krippendorff_alpha"], "status"]) == {
        "constant"
    }
    assert same.loc[["fleiss_kappa", "cohen_kappa"], "value"].isna().all()
    gaps = human_agreement(told([["1", "2", "tie"], ["1", "2", None], ["1", "tie", "tie"]]))
    gaps = gaps[gaps["task"] == "all"].set_index("measure")
    assert gaps.loc["fleiss_kappa", ["n", "n_left_out"]].tolist() == [2, 1]
    assert gaps.loc["krippendorff_alpha", ["n", "n_left_out"]].tolist() == [3, 0]
    assert set(human_agreement(told([["1", "2"]]))["status"]) == {"one_annotator"}
    assert "no_comparisons" in set(human_agreement(told([[None, None], ["1", "2"]]))["status"])


def test_labels_of_any_kind():
    """Fleiss' own example of ten subjects, five categories and fourteen raters: kappa .210."""
    counts = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]]
    counts += [[7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
    labels = np.array([np.repeat(range(1, 6), row) for row in counts]).T
    frame = pd.DataFrame({f"rater_{i}": row for i, row in enumerate(labels)})
    found = human_agreement(frame, list(frame)).set_index("measure")
    assert found.loc["fleiss_kappa", "value"] == pytest.approx(0.210, abs=5e-4)
    letters = human_agreement(frame.replace(dict(enumerate("ABCDE", 1))), list(frame))
    assert letters.set_index("measure").loc["fleiss_kappa", "value"] == pytest.approx(
        found.loc["fleiss_kappa", "value"]
    )
    with pytest.raises(KatayoriError, match="no column rater_x of labels; the columns are rater_0"):
        human_agreement(frame, ["rater_0", "rater_x"])
    with pytest.raises(KatayoriError, match="no column annotator_<name> or truth among rater_0"):
        human_agreement(frame)


@pytest.mark.mirror
@mirror
def test_people_of_pandalm():
    """LJ-3: the known pairwise kappas of PandaLM's three annotators, .85, .88 and .86."""
    found = human_agreement(judge.load_pandalm()).query("task == 'all'")
    kappas = (
        found[found["measure"] == "cohen_kappa"].set_index("between")["value"].round(2).to_dict()
    )
    assert kappas == {
        "annotator_1 | annotator_2": 0.85,
        "annotator_1 | annotator_3": 0.88,
        "annotator_2 | annotator_3": 0.86,
    }
    rest = found[found["measure"] != "cohen_kappa"].set_index("measure")["value"]
    # With three labels, alpha is Fleiss' kappa but for its correction of small samples.
    n = 3 * 999
    assert rest["krippendorff_alpha"] == pytest.approx(1 - (1 - rest["fleiss_kappa"]) * (n - 1) / n)
    assert rest["leave_one_out"] < rest["ceiling"] < 1 and (found["n"] == 999).all()


@pytest.mark.mirror
@mirror
@pytest.mark.parametrize(
    ("system", "wanted"),
    [
        ("cyberagent--calm2-7b-chat", (56, 12, 12)),
        ("rinna--japanese-gpt-neox-3.6b-instruction-ppo", (11, 60, 9)),
        ("tokyotech-llm--Swallow-70b-instruct-hf", (37, 34, 9)),
    ],
)
def test_real_verdicts_in_both_orders(system, wanted):
    """LJ-8, LJ-14: wins, losses and ties of 80 where a win needs both orders: BS2 on GPT-4's stored
    letters."""
    rows = judge.load_vicuna_verdicts(system)
    found = judge_verdicts(rows)
    counts = found["BS2"].value_counts()
    assert tuple(counts[name] for name in ("1", "2", "tie")) == wanted
    comparisons = rows.drop_duplicates("pair_id").assign(item_id=lambda one: one["pair_id"])
    pooled = robustness(found, comparisons, ("model", "source")).iloc[0]
    assert pooled["n"] == 80 and pooled["n_invalid"] == 0
    assert pooled["value"] == (wanted[0] + wanted[1] + (found["BS1"] == "tie").sum()) / 80
    assert set(found["proposed_status"]) == {"no_probabilities"}


# --- the lean to a slot ---------------------------------------------------------------------------


def test_the_lean_to_a_slot_keeps_what_the_slot_gets():
    """LJ-19: a lean of ln 4 to slot A whatever the answers are worth; a pair without a probability
    is counted."""
    pairs = []
    for worth in (1, 3, 0.2, 1):
        odds = (4 * worth, 4 / worth)  # of A over B in order 12, and in order 21
        pairs.append([("A", (o / (1 + o), 1 / (1 + o), 0.0)) for o in odds])
    pairs.append([("A", (1.0, 0.0, 0.0)), ("A", (0.8, 0.2, 0.0))])
    frame, comparisons = asked(*pairs), told([["1"] * 5], questions=["q0", "q0", "q1", "q1", "q2"])
    row = v.slot_lean(frame, comparisons).iloc[0]
    assert row["value"] == pytest.approx(np.log(4)) and (
        row["n"],
        row["n_invalid"],
        row["status"],
    ) == (5, 1, "few_clusters")
    # Three questions are too few for an interval, and so are questions that all lean alike.
    assert np.isnan(row["ci_low"]) and row["clusters"] == 2
    nothing = v.slot_lean(frame.assign(p_B=np.nan), comparisons).iloc[0]
    assert np.isnan(nothing["value"]) and (nothing["n_invalid"], nothing["status"]) == (
        5,
        "no_probabilities",
    )


def test_the_interval_of_the_lean_is_a_t_interval_over_questions():
    """LJ-19, against scipy's one-sample t test."""
    pairs = [
        [("A", (0.5 + 0.04 * k, 0.3, 0.2)), ("A", (0.6, 0.2 + 0.01 * k, 0.2))] for k in range(6)
    ]
    row = v.slot_lean(asked(*pairs), told([["1"] * 6])).iloc[0]
    means = [
        (np.log((0.5 + 0.04 * k) / 0.3) + np.log(0.6 / (0.2 + 0.01 * k))) / 2 for k in range(6)
    ]
    expected = ttest_1samp(means, 0).confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low, expected.high))


def test_the_interval_of_agreement_is_the_jackknife_over_questions():
    """By hand: the plain value, and the t interval of the pseudo-values of questions left out."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 24)
    labels = pd.DataFrame({"question_id": np.arange(24) // 3})
    for name in "ab":
        heard = np.where(rng.random(24) < 0.7, truth, rng.integers(0, 3, 24))
        labels[f"annotator_{name}"] = heard.astype(str)
    found = human_agreement(labels).set_index("measure").loc["cohen_kappa"]

    def kappa(part):
        table = pd.crosstab(part["annotator_a"], part["annotator_b"])
        table = table.reindex(index=list("012"), columns=list("012"), fill_value=0).to_numpy(float)
        p = table / table.sum()
        chance = p.sum(axis=0) @ p.sum(axis=1)
        return (np.trace(p) - chance) / (1 - chance)

    whole = kappa(labels)
    left = [kappa(labels[labels["question_id"] != number]) for number in range(8)]
    pseudo = 8 * whole - 7 * np.array(left)
    half = student.ppf(0.975, 7) * pseudo.std(ddof=1) / np.sqrt(8)
    wanted = [whole, whole - half, whole + half]
    assert np.allclose(found[["value", "ci_low", "ci_high"]].to_numpy(float), wanted)

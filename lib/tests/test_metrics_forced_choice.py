"""Two options in variants: hand-computed figures, other packages as oracles, and respondents with
planted behaviour."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from katayori.frame_checks import with_items
from katayori.metrics import uncertainty
from katayori.metrics.choices import unswapped
from katayori.papers import answers, get_paper
from katayori.papers.jubaku_v2 import items as jubaku, scores as fc, simulated as simulated_choices
from katayori.prompting.letters import parse_choice
from katayori.prompting.prompts import load_prompts

ROLES = {"nb": ("neutral", "biased"), "bn": ("biased", "neutral")}


def items_of(cases, templates=(1, 2, 3, 4)):
    rows = []
    for case, t, (order, (a, b)) in itertools.product(cases, templates, ROLES.items()):
        rows.append((f"{case}-t{t}-{order}", case, "gender", t, order, a, b))
    return pd.DataFrame(
        rows, columns=["item_id", "case_id", "category", "template", "order", "role_a", "role_b"]
    )


def frame_of(choose, cases="abc", templates=(1, 2, 3, 4), model="m"):
    """The frame of `with_choice` for `choose(case, template, order) -> "neutral", "biased", or None
    (unparseable)."""
    items = items_of(cases, templates)
    roles = [
        choose(*row) for row in items[["case_id", "template", "order"]].itertuples(index=False)
    ]
    letters = [
        "AB"[ROLES[o].index(r)] if r else None for o, r in zip(items["order"], roles, strict=True)
    ]
    answers = pd.DataFrame(
        {"item_id": items["item_id"], "model": model, "source": "simulated", "answer": letters}
    )
    answers["outcome"] = ["ok" if letter else "out_of_choice" for letter in letters]
    return fc.with_choice(with_items(answers, items))


def always(role):
    return lambda case, template, order: role


def first(case, template, order):
    return ROLES[order][0]


# -- with_choice ---


def test_a_letter_means_what_stands_there():
    """JU-13: the same letter is neutral in one order and biased in the other; probabilities
    follow."""
    answers = pd.DataFrame(
        {"item_id": ["a-t1-nb", "a-t1-bn", "a-t2-nb"], "outcome": ["ok", "ok", "refusal"]}
    )
    answers = answers.assign(
        answer=["A", "A", None], p_a=[0.6, 0.3, 0.0], p_b=[0.2, 0.1, 0.0], mass=[0.8, 0.4, 0]
    )
    found = fc.with_choice(with_items(answers, items_of("a")))
    assert found["choice"].tolist() == ["neutral", "biased", None]
    assert found["correct"].tolist() == [True, False, False]
    assert found["p_neutral"].round(9).tolist()[:2] == [0.75, 0.25] and math.isnan(
        found["p_neutral"][2]
    )
    assert found["mass"].tolist() == [0.8, 0.4, 0] and "p_biased" not in found


@pytest.mark.parametrize(
    ("answers", "items", "says"),
    [
        ({"item_id": ["x"], "outcome": ["ok"], "answer": ["A"]}, items_of("a"), "no item"),
        (
            {"item_id": ["a-t1-nb"] * 2, "outcome": ["ok"] * 2, "answer": ["A", "B"]},
            items_of("a"),
            "twice",
        ),
        (
            {"item_id": ["a-t1-nb"], "outcome": ["ok"], "answer": ["C"]},
            items_of("a"),
            "none of the letters A, B",
        ),
        (
            {"item_id": items_of("a")["item_id"], "outcome": "refusal", "answer": None},
            items_of("a").assign(role_a="neutral"),
            "two meanings",
        ),
    ],
)
def test_wrong_frames_are_refused(answers, items, says):
    items = items.assign(role_b="biased") if says == "two meanings" else items
    items.loc[0, "role_b"] = "other" if says == "two meanings" else items.loc[0, "role_b"]
    with pytest.raises(ValueError, match=says):
        fc.with_choice(with_items(pd.DataFrame(answers), items))


# -- accuracy ---


def test_accuracy_divides_by_parsed_answers():
    """JU-12, JU-13: case a all neutral, b all biased, c half unparseable: 12 of 20 parsed."""

    def choose(case, template, order):
        return {"a": "neutral", "b": "biased"}.get(case, "neutral" if template < 3 else None)

    row = fc.accuracy(frame_of(choose)).iloc[0]
    assert (row["value"], row["value_all"]) == (12 / 20, 12 / 24)
    assert (row["n"], row["n_correct"], row["n_invalid"], row["clusters"], row["status"]) == (
        20,
        12,
        4,
        3,
        "few_clusters",
    )
    # Clopper and Pearson's bounds solve P(X >= 12) = P(X <= 12) = .025.
    assert stats.binom.sf(11, 20, row["ci_low"]) == pytest.approx(0.025)
    assert stats.binom.cdf(12, 20, row["ci_high"]) == pytest.approx(0.025)
    assert row["p_chance"] == pytest.approx(2 * stats.binom.sf(11, 20, 0.5))
    assert math.isnan(row["cluster_low"]) and math.isnan(row["cluster_high"])  # three cases


def test_accuracy_of_the_printed_counts():
    """JU-19: 104 of 216 is not distinguishable from chance (audit: p .63)."""
    rank = {
        key: k for k, key in enumerate(itertools.product(range(27), (1, 2, 3, 4), ("nb", "bn")))
    }
    frame = frame_of(lambda *key: "neutral" if rank[key] < 104 else "biased", range(27))
    row = fc.accuracy(frame).iloc[0]
    assert round(100 * row["value"], 1) == 48.1 and round(row["p_chance"], 2) == 0.63
    assert row["ci_low"] < 0.5 < row["ci_high"]
    # The first 13 cases are all neutral, the others all biased: 13 of 27 decisions.
    assert row["cluster_low"] < 0.29 and row["cluster_high"] > 0.67 and row["p_cluster"] == 1


def test_a_fixed_share_has_a_status_and_no_test():
    """Always A is right in half of every case: fixed by the design, never an interval [.5, .5]."""
    row = fc.accuracy(frame_of(first, range(10))).iloc[0]
    assert row["status"] == "same_in_every_cluster" and math.isnan(row["p_cluster"])
    assert row["cluster_low"] < 0.45 and row["cluster_high"] > 0.55
    row = fc.accuracy(frame_of(always("neutral"), range(10))).iloc[0]
    assert (row["value"], row["status"], row["cluster_high"]) == (1, "ok", 1)
    assert 0.6 < row["cluster_low"] < 0.75 and row["p_cluster"] == 2 / 2**10
    assert fc.accuracy(frame_of(always("neutral"), range(4))).iloc[0]["status"] == "few_clusters"


@pytest.mark.slow_all
@pytest.mark.parametrize("cases", [10, 27])
def test_intervals_over_cases_cover(cases, monkeypatch):
    """Point 1: 95 % intervals over few cases hold where variants of a case agree, cancel or
    vary."""
    monkeypatch.setattr(uncertainty, "PATTERNS", 499)
    rng, missed, repetitions = np.random.default_rng(cases), {}, 150
    frame = frame_of(first, range(cases))
    for name, truth in (("agree", 0.5), ("some", 0.3), ("edge", 0.05)):
        wrong = np.zeros(3)
        for _ in range(repetitions):
            spread = {"agree": 0.01, "some": 3.0, "edge": 20.0}[name]
            own = rng.beta(spread * truth, spread * (1 - truth), cases).repeat(8)
            p = np.clip(rng.normal(truth, 0.02, cases).repeat(8), 0.001, 0.999)
            drawn = frame.assign(correct=rng.random(len(frame)) < own, p_neutral=p)
            drawn["choice"] = np.where(drawn["correct"], "neutral", "biased")
            row = fc.accuracy(drawn).iloc[0]
            mean = fc.averaged_over_orders(drawn).iloc[0]
            wrong += [
                not row["cluster_low"] <= truth <= row["cluster_high"],
                row["p_cluster"] < 0.05,
                mean["status_mean"] == "ok" and not mean["mean_low"] <= truth <= mean["mean_high"],
            ]
        missed[name] = wrong / repetitions
    assert all(found[0] <= 0.09 for found in missed.values()), missed
    assert all(found[2] <= 0.09 for found in missed.values()), missed
    assert missed["agree"][1] <= 0.09, missed  # the exchange of neutral and biased keeps its level


def test_nothing_parsed_is_nan_with_a_status():
    frame = frame_of(always(None))
    row = fc.accuracy(frame).iloc[0]
    assert (
        row["status"] == "no_parsed_answer"
        and math.isnan(row["value"])
        and math.isnan(row["value_all"])
    )
    assert (row["n"], row["n_invalid"]) == (0, 24)
    row = fc.variation_rate(frame).iloc[0]
    assert (
        row["status"] == "no_case"
        and math.isnan(row["value"])
        and (row["n"], row["n_left_out"]) == (0, 3)
    )


def test_variants_that_agree_carry_no_more_than_their_case():
    """JU-18 and audit: with all variants of a case alike, the case interval is far wider than the
    binomial one."""
    frame = frame_of(lambda case, *_: "neutral" if case < 8 else "biased", range(10))
    row = fc.accuracy(frame).iloc[0]
    # Near Clopper and Pearson's interval of 8 among 10 decisions.
    exact = stats.binomtest(8, 10).proportion_ci()
    assert (row["cluster_low"], row["cluster_high"]) == pytest.approx(
        (exact.low, exact.high), abs=0.03
    )
    assert row["cluster_high"] - row["cluster_low"] > 1.8 * (row["ci_high"] - row["ci_low"])


# -- variation ---


def test_a_model_that_keeps_to_the_role_does_not_vary():
    """JU-15 trap: letters would call it fully varying; always-A is the reverse."""
    steady, leaning = (fc.variation_rate(frame_of(c)).iloc[0] for c in (always("biased"), first))
    assert (steady["value"], steady["letter_rate"]) == (0, 1)
    assert (leaning["value"], leaning["letter_rate"]) == (1, 0)
    assert (leaning["n_order_only"], leaning["n_template_only"], leaning["n_both"]) == (3, 0, 0)


def test_order_and_template_effects_are_told_apart():
    """JU-15: by hand, one case of each kind."""

    def choose(case, template, order):
        if case == "template":
            return "neutral" if template < 3 else "biased"
        if case == "both":
            return "biased" if (template, order) == (1, "nb") else "neutral"
        return ROLES[order][0] if case == "order" else "neutral"

    row = fc.variation_rate(frame_of(choose, ["order", "template", "both", "none"])).iloc[0]
    assert (row["value"], row["n"], row["n_varying"]) == (3 / 4, 4, 3)
    assert (row["n_order_only"], row["n_template_only"], row["n_both"]) == (1, 1, 1)
    share = (4 + 4 + 7 + 8) / 32
    assert row["if_independent"] == pytest.approx(1 - share**8 - (1 - share) ** 8)


def test_missing_variants_count_on_the_rest_and_are_flagged():
    """JU-15 U: a has one unparseable variant, b a single parsed one, c lacks a row altogether."""

    def choose(case, template, order):
        if case == "b":
            return "neutral" if (template, order) == (1, "nb") else None
        return None if (case, template, order) == ("a", 4, "bn") else "neutral"

    frame = frame_of(choose, "abcd")
    row = fc.variation_rate(frame[frame["item_id"] != "c-t2-nb"]).iloc[0]
    assert (row["n"], row["n_incomplete"], row["n_left_out"], row["n_invalid"], row["value"]) == (
        3,
        2,
        1,
        8,
        0,
    )


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["neutral", "biased", None]), min_size=24, max_size=24))
def test_variation_against_a_plain_loop(roles):
    """JU-15: with whatever answers, the counts are those of a loop over cases, and no rate leaves
    [0, 1]."""
    keys = list(itertools.product("abc", (1, 2, 3, 4), ROLES))
    said = dict(zip(keys, roles, strict=True))
    row = fc.variation_rate(frame_of(lambda *key: said[key])).iloc[0]
    kept = [[r for (c, *_), r in said.items() if c == case and r] for case in "abc"]
    kept = [case for case in kept if len(case) > 1]
    assert row["n"] == len(kept) and row["n_varying"] == sum(len(set(case)) > 1 for case in kept)
    assert row["n_incomplete"] == sum(len(case) < 8 for case in kept) and row[
        "n_invalid"
    ] == roles.count(None)
    assert row["n_order_only"] + row["n_template_only"] + row["n_both"] <= row["n_varying"]


@settings(max_examples=30)
@given(st.lists(st.booleans(), min_size=24, max_size=24))
@pytest.mark.slow
def test_swapping_all_roles_mirrors_everything(picks):
    """JU-13, JU-15: accuracy becomes 1 - accuracy, variation stays."""
    keys = list(itertools.product("abc", (1, 2, 3, 4), ROLES))
    said = dict(zip(keys, picks, strict=True))
    one, other = (
        frame_of(lambda *k, flip=flip: "neutral" if said[k] != flip else "biased")
        for flip in (False, True)
    )
    assert fc.accuracy(one)["value"][0] == pytest.approx(1 - fc.accuracy(other)["value"][0])
    same = ["value", "n_varying", "n_order_only", "n_template_only", "n_both", "letter_rate"]
    assert fc.variation_rate(one)[same].equals(fc.variation_rate(other)[same])


# -- probabilities ---


def test_averaging_over_orders_cancels_a_preference_for_a_letter():
    """Logprob mode: P(A) .9 and .7 give P(neutral) .9 and .3, mean .6; a pair without one order is
    left out."""
    items = items_of("ab", (1, 2))
    p_a = {"nb": 0.9, "bn": 0.7}
    answers = items[["item_id"]].assign(model="m", source="s", outcome="ok", answer="A", mass=1.0)
    answers = answers.assign(p_a=items["order"].map(p_a), p_b=1 - items["order"].map(p_a))
    answers.loc[answers["item_id"] == "b-t2-nb", ["p_a", "p_b"]] = np.nan
    row = fc.averaged_over_orders(fc.with_choice(with_items(answers, items))).iloc[0]
    assert row["mean_p"] == pytest.approx(0.6) and (row["value"], row["n"], row["n_left_out"]) == (
        1,
        3,
        1,
    )
    assert fc.accuracy(fc.with_choice(with_items(answers, items)))["value"][0] == 0.5
    answers = answers.assign(p_a=0.25, p_b=0.25)
    row = fc.averaged_over_orders(fc.with_choice(with_items(answers, items))).iloc[0]
    assert (row["value"], row["n_tied"], row["n"]) == (0.5, 4, 4)  # a tie is one half everywhere
    row = fc.averaged_over_orders(
        fc.with_choice(with_items(answers.assign(p_a=0.0, p_b=0.0), items))
    ).iloc[0]
    assert row["status"] == "no_probabilities" and math.isnan(row["value"])


def likely(means, spread=0.0, cases=27, seed=0):
    """A frame whose P(neutral), both orders averaged, is `means` and noise between cases."""
    items = items_of(range(cases))
    rng = np.random.default_rng(seed)
    own = np.clip(means + rng.normal(0, spread, cases), 0.001, 0.999).repeat(8)
    lean = np.where(items["order"] == "nb", 0.3, -0.3)  # a pull to A, far stronger than the content
    p = np.clip(own + lean, 0, 1)
    p_a = np.where(items["order"] == "nb", p, 1 - p)
    answers = items[["item_id"]].assign(
        model="m", source="s", outcome="ok", answer=np.where(p_a > 0.5, "A", "B"), mass=1.0
    )
    return fc.with_choice(with_items(answers.assign(p_a=p_a, p_b=1 - p_a), items))


def test_a_mean_probability_clear_of_one_half_is_seen():
    """Point 1: .507 with little spread is clear of one half, although letters and shares say
    less."""
    row = fc.averaged_over_orders(likely(0.5066, 0.011)).iloc[0]
    assert row["mean_low"] > 0.5 and row["p_mean"] < 0.01 and row["status_mean"] == "ok"
    letters = fc.accuracy(likely(0.5066, 0.011)).iloc[0]
    assert letters["value"] == 0.5 and letters["status"] == "same_in_every_cluster"
    found = [fc.averaged_over_orders(likely(0.5, 0.011, seed=k)).iloc[0] for k in range(20)]
    assert sum(row["p_mean"] < 0.05 for row in found) <= 3  # nothing planted
    assert fc.averaged_over_orders(likely(0.5)).iloc[0]["status_mean"] == "no_variation"


# -- between models ---


def two(counts, cases=27):
    """Models whose first `counts[model]` variants, case by case, are neutral."""
    keys = {key: k for k, key in enumerate(itertools.product(range(cases), (1, 2, 3, 4), ROLES))}
    frames = []
    for model, n in counts.items():

        def choose(*variant, n=n):
            return "neutral" if keys[variant] < n else "biased"

        frames.append(frame_of(choose, range(cases), model=model))
    return pd.concat(frames, ignore_index=True)


def test_chi_square_and_its_companion_by_case():
    """JU-18: the printed counts 177 and 214 of 216; Yates by formula; the case test is far
    weaker."""
    found = fc.compare_models(two({"a": 177, "b": 214}), "a").iloc[0]
    table = [[214, 2], [177, 39]]
    n, (a, b), (c, d) = 432, *table
    yates = n * (abs(a * d - b * c) - n / 2) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))
    plain = n * (a * d - b * c) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))
    assert found["p_chi2"] == pytest.approx(stats.chi2.sf(plain, 1)) and found["p_chi2"] < 0.01
    assert found["p_yates"] == pytest.approx(stats.chi2.sf(yates, 1))
    # a is wrong on the last 39 variants, b on the last 2: five cases differ, the signs of five give
    # 2 / 2^5 at least.
    assert found["p_cluster"] == pytest.approx(2 / 2**5, abs=0.01) and found["clusters"] == 27
    assert found["difference"] == pytest.approx(37 / 216) and found["status"] == "ok"


def test_a_difference_has_an_interval_over_cases_and_a_verdict_by_them():
    """Points 1 and 8: the chi-square finds what five differing cases cannot bear; they decide."""
    found = fc.compare_models(two({"a": 177, "b": 214}), "a").iloc[0]
    assert found["p_chi2"] < 0.01 and found["verdict"] == "not found"
    apart = np.array([min(max(n - 8 * k, 0), 8) for k in range(27) for n in (214, 177)]) / 8
    apart = apart[::2] - apart[1::2]
    test = stats.ttest_1samp(apart, 0).confidence_interval()
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((test.low, test.high))
    far = fc.compare_models(two({"a": 20, "b": 200}), "a").iloc[0]
    assert far["verdict"] == "differs" and far["ci_low"] > 0
    few = fc.compare_models(two({"a": 0, "b": 20}, cases=4), "a").iloc[0]
    assert (few["status"], few["verdict"]) == ("few_clusters", "not tested")


def test_the_case_test_is_exact_for_few_cases():
    """JU-18: against scipy's permutation test of paired samples."""
    found = fc.compare_models(two({"a": 20, "b": 60}, cases=8), "a").iloc[0]
    shares = [np.array([min(max(n - 8 * k, 0), 8) / 8 for k in range(8)]) for n in (60, 20)]
    other = stats.permutation_test(
        shares, lambda x, y: np.sum(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert found["p_cluster"] == pytest.approx(other.pvalue)


def test_what_cannot_be_compared_has_a_status():
    frames = [two({"a": 216, "b": 216, "c": 100}), frame_of(always("biased"), ["x"], model="d")]
    frames += [frame_of(always(None), range(27), model="e")]
    found = fc.compare_models(pd.concat(frames, ignore_index=True), "a").set_index("model")
    assert found["status"].to_dict() == {
        "b": "empty_margin",
        "c": "ok",
        "d": "no_shared_case",
        "e": "no_shared_case",
    }
    assert math.isnan(found.loc["b", "p_cluster"]) and math.isnan(found.loc["b", "p_chi2"])
    assert found.loc["c", "p_cluster_holm"] == found.loc["c", "p_cluster"]  # the only test done
    with pytest.raises(ValueError, match="no answers of 'z', only of a, b"):
        fc.compare_models(two({"a": 1, "b": 2}), "z")
    same = fc.compare_models(pd.concat([two({"a": 50}), two({"b": 50})]), "a").iloc[0]
    assert (
        same["status"] == "no_difference" and same["p_chi2"] == 1 and math.isnan(same["p_cluster"])
    )


# -- between benchmarks ---


def scores_of(**values):
    rows = [(b, f"m{k}", v) for b, row in values.items() for k, v in enumerate(row)]
    return pd.DataFrame(rows, columns=["benchmark", "model", "value"])


def test_variance_with_its_ddof_and_without_each_model():
    """JU-16: (0, 0, .6): variance .12, with ddof 0 .08; without the outlier 0."""
    row = fc.discriminability(scores_of(x=[0, 0, 0.6])).iloc[0]
    assert row["value"] == pytest.approx(0.12) and (row["ddof"], row["n"], row["without"]) == (
        1,
        3,
        "m2",
    )
    assert (row["loo_low"], row["loo_high"]) == (0, pytest.approx(0.18))
    assert fc.discriminability(scores_of(x=[0, 0, 0.6]), ddof=0)["value"][0] == pytest.approx(0.08)
    lonely = fc.discriminability(scores_of(x=[0.5, np.nan], y=[0.1, 0.2]))
    assert lonely["status"].tolist() == ["too_few_models", "few_models"] and lonely[
        "n_invalid"
    ].tolist() == [1, 0]
    assert math.isnan(lonely["value"][0]) and math.isnan(lonely["loo_low"][1])


def test_correlations_against_scipy():
    """JU-17: Pearson and Spearman with average ranks; ties by rounding count as ties."""
    x, y = [0.1 + 0.2, 0.3, 0.5, 0.8, 0.9], [0.2, 0.4, 0.4, 0.1, 0.9]
    found = fc.benchmark_correlations(scores_of(ref=x, other=y), "ref").set_index("method")
    assert found.loc["pearson", "value"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.loc["pearson", "p"] == pytest.approx(stats.pearsonr(x, y).pvalue)
    ranks = [1.5, 1.5, 3, 4, 5], [2, 3.5, 3.5, 1, 5]
    assert found.loc["spearman", "value"] == pytest.approx(np.corrcoef(*ranks)[0, 1])
    ends = stats.pearsonr(x, y).confidence_interval()
    assert found.loc["pearson", ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [ends.low, ends.high], rel=1e-9
    )


def test_a_perfect_correlation_has_no_interval():
    """Fisher's z of 1 is infinite: no interval of width 0 is printed."""
    x = [0.1, 0.2, 0.5, 0.8]
    table = fc.benchmark_correlations(scores_of(ref=x, other=x), "ref")
    assert table["value"].tolist() == pytest.approx([1, 1])
    assert table[["ci_low", "ci_high"]].isna().all(axis=None)


def test_published_p_values_need_eleven_models():
    """JU-17 audit: r .730 and .576 with p .011 and .064 fit n = 11, not nine."""
    for r, p in ((0.730, 0.011), (0.576, 0.064)):
        by_n = {n: 2 * stats.t.sf(r * math.sqrt((n - 2) / (1 - r * r)), n - 2) for n in (9, 11)}
        assert round(by_n[11], 3) == p and by_n[9] > 1.5 * p


@pytest.mark.parametrize(
    ("x", "y", "status"),
    [
        ([0.1, 0.2], [0.3, 0.4], "not testable: fewer than 3 models"),
        ([0.1, 0.2, 0.3], [0.3, 0.4, np.nan], "not testable: fewer than 3 models"),
        ([0.1, 0.2, 0.3], [0.5, 0.5, 0.5], "constant"),
        ([0.1, 0.2, 0.3], [0.5, 0.4, 0.6], "few_models"),
    ],
)
def test_few_models_are_not_testable(x, y, status):
    """JU-17: no r and no p from two points, nor from a constant; three give no interval."""
    found = fc.benchmark_correlations(scores_of(ref=x, other=y), "ref")
    assert (found["status"] == status).all() and found["value"].notna().all() == (
        status == "few_models"
    )
    assert found["ci_low"].isna().all()


def test_a_correlation_over_few_models_has_a_status():
    """JU-17: an interval from five models on; a perfect one has none."""
    x = [0.1, 0.3, 0.2, 0.5, 0.4]
    found = fc.benchmark_correlations(scores_of(ref=x, other=[0.1, 0.2, 0.3, 0.4, 0.5]), "ref")
    assert (found["status"] == "ok").all() and found["ci_low"].notna().all()
    r = found["value"][0]
    assert fc.correlation_interval(r, 5) == pytest.approx((found["ci_low"][0], found["ci_high"][0]))
    found = fc.benchmark_correlations(scores_of(ref=x, other=x), "ref")
    assert (found["status"] == "perfect").all() and found["ci_low"].isna().all()
    assert math.isnan(fc.correlation_interval(0.5, 4)[0])


def test_a_variance_over_models_has_an_interval_from_five_on():
    """JU-16: the jackknife interval holds for normal scores, and few models have a status."""
    rng = np.random.default_rng(3)
    ends = [fc.variance_interval(rng.normal(0, 1, 9)) for _ in range(300)]
    assert np.mean([low <= 1 <= high for low, high in ends]) >= 0.92
    rows = fc.discriminability(scores_of(x=[0.1, 0.2, 0.3, 0.5, 0.9], y=[0.5] * 5))
    assert rows["status"].tolist() == ["ok", "no_variation"]
    assert rows["ci_low"][0] < rows["value"][0] < rows["ci_high"][0]


# -- simulated respondents ---


@pytest.fixture(scope="module")
def planted():
    wording, items = load_prompts("jubaku_v2"), jubaku.load_study_jubaku()
    names, read = (
        get_paper("jubaku_v2").simulated(),
        {"parse": parse_choice, "options": ("a", "b")},
    )
    logs = [answers.get(items, wording[f"ju_{t}_ja"], names, **read) for t in jubaku.TEMPLATES]
    return fc.with_choice(with_items(pd.concat(logs, ignore_index=True), items))


def test_planted_accuracy_is_recovered(planted):
    """X-3: within the interval over cases, on every case and variant."""
    found = fc.accuracy(planted).set_index("model")
    truth = {
        "sim-two-fair": 0.9,
        "sim-two-biased": 0.2,
        "sim-two-template": 0.5,
        "sim-two-first": 0.5,
    }
    assert (
        set(found.index) == set(truth) == set(simulated_choices.TWO_OPTION)
        and (found["n"] == 288).all()
    )
    for name, value in truth.items():
        assert found.loc[name, "cluster_low"] <= value <= found.loc[name, "cluster_high"], name


def test_planted_effects_are_told_apart(planted):
    """X-3, JU-15: a lean to A is an order effect, dependence on templates a template effect, a
    steady bias neither."""
    found = fc.variation_rate(planted).set_index("model")
    assert found.loc["sim-two-first", ["value", "n_order_only", "letter_rate"]].tolist() == [
        1,
        36,
        0,
    ]
    row = found.loc["sim-two-template"]
    assert (
        row["n_template_only"] == row["n_varying"] > 0 and row["n_order_only"] == row["n_both"] == 0
    )
    assert found.loc["sim-two-biased", ["value", "letter_rate"]].tolist() == [0, 1]
    assert found.loc["sim-two-fair", "value"] == pytest.approx(1 - 0.9**8 - 0.1**8, abs=0.2)
    mean = fc.averaged_over_orders(planted).set_index("model")["mean_p"]
    assert mean.round(9).to_dict() == {
        "sim-two-fair": 0.9,
        "sim-two-biased": 0.2,
        "sim-two-template": 0.5,
        "sim-two-first": 0.5,
    }


def test_intervals_draw_clusters_where_the_items_name_them():
    """JU-14: two items of one template that agree throughout count as one."""
    rng = np.random.default_rng(1)
    neutral = rng.random(40) < 0.5
    cells = itertools.product(range(40), range(2), ("nb", "bn"))
    frame = pd.DataFrame(
        {"case_id": f"{n}-{item}", "cluster": n, "order": order, "correct": neutral[n]}
        for n, item, order in cells
    )
    frame["choice"] = np.where(frame["correct"], "neutral", "biased")
    frame["p_neutral"] = np.where(frame["correct"], 0.8, 0.2)
    frame = frame.assign(model="m", template=0, outcome="ok", letter="A")
    for measure in (fc.accuracy, fc.averaged_over_orders):
        of_clusters = measure(frame, ["model"]).iloc[0]
        of_cases = measure(frame.drop(columns="cluster"), ["model"]).iloc[0]
        assert of_clusters["value"] == of_cases["value"]
        assert (of_clusters["clusters"], of_cases["clusters"]) == (40, 80)
        widths = [one["cluster_high"] - one["cluster_low"] for one in (of_clusters, of_cases)]
        assert 1.3 < widths[0] / widths[1] < 1.6  # the square root of two


def test_unswapping_takes_any_letters_and_orders():
    """Two options in two orders; an order or a letter without a meaning is refused."""
    frame = pd.DataFrame({"order": ["forward", "reversed"] * 2, "letter": [*"AAB", None]})
    frame["outcome"] = ["ok"] * 3 + ["error"]
    meaning = {"forward": {"A": "a", "B": "b"}, "reversed": {"A": "b", "B": "a"}}
    assert list(unswapped(frame, meaning)["verdict"]) == ["a", "b", "b", None]
    assert not [name for name in unswapped(frame, meaning) if name.startswith("p_")]
    shares = unswapped(frame.assign(p_A=[0.1, 0.2, 0.3, 0.4]), meaning)
    assert list(shares["p_a"].fillna(-1)) == [0.1, -1, 0.3, -1]
    assert list(shares["p_b"].fillna(-1)) == [-1, 0.2, -1, 0.4]
    with pytest.raises(ValueError, match=r"orders \['reversed'\]; known: forward"):
        unswapped(frame, {"forward": {"A": "a"}})
    with pytest.raises(ValueError, match="1 ok answers of order forward have none of the letters"):
        unswapped(frame, {"forward": {"A": "a"}, "reversed": {"A": "b"}})

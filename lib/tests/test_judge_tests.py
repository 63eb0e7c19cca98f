"""LJ-19: a judge against lots and against surface rules, by questions."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, mannwhitneyu

from katayori.metrics.question_swaps import question_swap_test
from katayori.papers.logprob_judge import items as judge, judge_tests, surface_rules
from katayori.papers.logprob_judge.judge_tests import auc_interval, decided_pairs, paired_hits
from katayori.papers.logprob_judge.scores import concordance

STUDY = judge.load_study_judge()


def settled(prefers, comparisons=STUDY, odds=None):
    """Verdicts of one judge, whatever its two orders were."""
    frame = pd.DataFrame({"pair_id": comparisons["item_id"], "model": "m"})
    frame = frame.assign(source="simulated", prompt_id="p", status="ok", consistent=True)
    for method in ("BS1", "BS2", "proposed"):
        frame[method] = pd.Series(list(prefers), dtype=object).to_numpy()
    return frame if odds is None else frame.assign(log_odds=odds)


# --- the exact test -----------------------------------------------------------------------------


def test_swaps_against_all_sign_patterns():
    values = [3, 1, 1, 2, 0, -1, 4]
    sums = [abs(np.dot(signs, values)) for signs in itertools.product((1, -1), repeat=7)]
    wanted = np.mean(np.array(sums) >= abs(sum(values)))
    assert question_swap_test(values) == pytest.approx(wanted)
    assert question_swap_test([-v for v in values]) == pytest.approx(wanted)
    # One pair a question: the sign test.
    assert question_swap_test([1] * 9 + [-1] * 2) == pytest.approx(binomtest(9, 11).pvalue)
    assert np.isnan(question_swap_test([0, 0, np.nan]))
    assert question_swap_test([1, -1]) == 1
    assert 0 < question_swap_test(np.linspace(0.1, 0.9, 30)) <= 2e-4


def test_the_level_of_swaps_with_pairs_that_go_together():
    """Pairs that are right or wrong together: the sign test over pairs rejects too often."""
    rng = np.random.default_rng(7)
    together = rng.choice([-1, 1], (300, 30))
    by_question = [question_swap_test(3 * one) for one in together]
    by_pair = [binomtest(int((one > 0).sum() * 3), 90).pvalue for one in together]
    assert np.mean(np.array(by_question) < 0.05) < 0.08
    assert np.mean(np.array(by_pair) < 0.05) > 0.15


# --- the area under the curve -------------------------------------------------------------------


def test_auc_against_mann_whitney_and_a_jackknife_by_hand():
    rng = np.random.default_rng(2)
    better = rng.random(60) < 0.5
    scores = np.round(rng.normal(better * 0.8, 1), 1)
    question = np.arange(60) // 3
    found = auc_interval(scores, better, question)

    def auc(kept):
        one, two = scores[kept & better], scores[kept & ~better]
        return mannwhitneyu(one, two).statistic / len(one) / len(two)

    whole = auc(np.ones(60, bool))
    assert found["value"] == pytest.approx(whole) and found["clusters"] == 20
    left_out = np.array([auc(question != q) for q in range(20)])
    error = np.sqrt(19 / 20 * ((left_out - left_out.mean()) ** 2).sum())
    assert found["se"] == pytest.approx(error)
    assert found["ci_low"] < whole < found["ci_high"]
    assert auc_interval(scores, np.ones(60, bool), question)["status"] == "one_class"
    assert auc_interval(scores * np.nan, better, question)["status"] == "no_valid_answer"
    assert auc_interval(scores, better, question // 5)["status"] == "few_clusters"
    perfect = auc_interval(better * 1.0, better, question)
    assert (perfect["value"], perfect["status"]) == (1, "no_variation")
    assert np.isnan(perfect["ci_low"])


@pytest.mark.slow_all
@pytest.mark.parametrize("questions", [20, 69])
@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_the_coverage_of_auc_and_excess(questions, shared):
    """93 % or more hold what is planted, with scores of a question that go together."""
    rng, inside, right = np.random.default_rng(4), [], []
    question = np.repeat(np.arange(questions), 3)
    for _ in range(300):
        better = rng.random(3 * questions) < 0.5
        own = rng.normal(0, shared, questions)[question]  # how well this question is judged
        known = np.where(better, 1, -1) * (0.5 + own)
        scores = known + rng.normal(0, 1, 3 * questions)
        found = auc_interval(scores, better, question)
        # Two scores of different questions: normal with mean 1 and variance 2 + 2 shared^2.
        planted = _normal(1 / np.sqrt(2 + 2 * shared**2))
        inside.append(found["ci_low"] <= planted <= found["ci_high"])
        frame = pd.DataFrame({"item_id": range(3 * questions), "question_id": question})
        frame["truth"] = np.where(better, "1", "2")
        frame["task"] = "x"
        said = settled(np.where(scores > 0, "1", "2"), frame)
        row = decided_pairs(said, frame).iloc[0]
        excess = _normal(0.5 / np.sqrt(1 + shared**2)) - 0.5
        right.append(row["ci_low"] <= excess <= row["ci_high"])
    assert covers(inside) and covers(right), (np.mean(inside), np.mean(right))


def covers(inside, goal=0.93):
    """Coverage is not below the goal by more than the scatter of the draws (one in a hundred)."""
    return binomtest(int(np.sum(inside)), len(inside), goal, alternative="less").pvalue > 0.01


def _normal(value):
    from scipy.stats import norm

    return float(norm.cdf(value))


@pytest.mark.slow_all
@pytest.mark.parametrize("questions", [5, 20, 69])
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("together", [0.2])
def test_the_coverage_of_concordance_and_gain(questions, rate, together):
    """93 % or more hold the planted share, and the planted gain where an interval is given."""
    rng = np.random.default_rng(11)
    draws, question = 250, np.repeat(np.arange(questions), 3)
    frame = pd.DataFrame({"item_id": range(3 * questions), "question_id": question})
    frame = frame.assign(task="x", truth="1")
    said = []
    for draw in range(draws):
        own = np.full(questions, rate)
        if 0 < rate < 1 and together:
            size = (1 - together) / together
            own = rng.beta(rate * size, (1 - rate) * size, questions)
        hit = rng.random(3 * questions) < own[question]
        said.append(settled(np.where(hit, "1", "2"), frame).assign(model=draw))
        said[-1]["BS2"] = np.where(rng.random(3 * questions) < 0.3, "1", "2")
    found = concordance(pd.concat(said), frame).query("task == 'all'")
    share = found[found["method"] == "proposed"]
    covered = (share["ci_low"] <= rate) & (rate <= share["ci_high"])
    assert covers(covered), covered.mean()
    gain = found[(found["method"] == "proposed - BS2") & (found["ci_status"] == "ok")]
    held = (gain["ci_low"] <= rate - 0.3) & (rate - 0.3 <= gain["ci_high"])
    assert covers(held), held.mean()


# --- against lots -------------------------------------------------------------------------------


def test_a_judge_that_prefers_the_worse_is_found_and_one_without_knowledge_is_not():
    rng = np.random.default_rng(5)
    truth = STUDY["truth"].map({"1": 1, "2": -1, "tie": 0})
    found = {}
    for name, knows in {"worse": -0.8, "nothing": 0.0, "better": 0.8}.items():
        odds = knows * truth + rng.normal(0, 1, len(truth))
        row = decided_pairs(settled(np.where(odds > 0, "1", "2"), odds=odds), STUDY).iloc[0]
        assert (row["n"], row["clusters"]) == (157, 68)
        assert row["n_correct"] + row["n_wrong"] + row["n_neither"] == row["n"]
        assert row["value"] == pytest.approx((row["n_correct"] - row["n_wrong"]) / 314)
        found[name] = row
    assert found["worse"]["ci_high"] < 0 and found["worse"]["p_cluster"] < 1e-3
    assert found["worse"]["auc_high"] < 0.5 < found["better"]["auc_low"]
    assert found["nothing"]["ci_low"] < 0 < found["nothing"]["ci_high"]
    assert found["nothing"]["p_cluster"] > 0.05
    # Saying tie is neither right nor wrong where one answer is better.
    silent = decided_pairs(settled(["tie"] * 207), STUDY).iloc[0]
    assert (silent["value"], silent["status"]) == (0, "no_variation")
    assert np.isnan(silent["p_cluster"]) and silent["auc_status"] == "no_valid_answer"


def test_the_level_against_lots():
    """A judge without knowledge whose preferences go together within a question."""
    rng, p = np.random.default_rng(6), []
    question = pd.factorize(STUDY["question_id"])[0]
    truth = STUDY["truth"].map({"1": 1, "2": -1, "tie": 0}).to_numpy()
    for _ in range(25):
        liking = rng.normal(0, 1, 69)[question]  # for what happens to be better, by question
        odds = liking * truth + rng.normal(0, 0.5, 207)
        p.append(decided_pairs(settled(np.where(odds > 0, "1", "2")), STUDY)["p_cluster"].iloc[0])
    assert np.mean(np.array(p) < 0.05) <= 0.12


# --- surface rules ------------------------------------------------------------------------------


def test_surface_rules_on_our_study_set():
    """No rule that counts characters does better than lots where one answer is better."""
    rules = surface_rules.rule_verdicts(STUDY)
    found = concordance(rules, STUDY, by=["model"]).query("task == 'all' and method == 'proposed'")
    found = found.set_index("model")
    assert found.loc[surface_rules.TIE, "value"] == pytest.approx(50 / 207)
    decided = decided_pairs(rules, STUDY, by=["model"]).set_index("model")
    decided = decided.loc[list(surface_rules.RULES)]
    assert (decided["value"].abs() <= surface_rules.OFF_LOTS).all()
    assert (decided["auc_low"] < 0.5).all() and (decided["auc_high"] > 0.5).all()


def test_surface_rules_by_hand():
    frame = pd.DataFrame(
        {
            "item_id": ["p0", "p1", "p2"],
            "answer_1": ["あいう", "あいうえお", "あ"],
            "answer_2": ["あい", "かきくけこ", "い"],
            "reference": ["あいうえ", "あいうえお", ""],
        }
    )
    found = surface_rules.rule_verdicts(frame)
    said = {rule: part["proposed"].tolist() for rule, part in found.groupby("model")}
    assert said["the longer answer"] == ["1", "tie", "tie"]
    assert said["length nearer to the reference"] == ["1", "tie", None]
    assert said["more characters shared with the reference"] == ["1", "1", None]
    assert said[surface_rules.TIE] == ["tie"] * 3
    none = found.set_index(["model", "pair_id"])["status"]
    assert none["length nearer to the reference", "p2"] == "no_reference"


def test_lots():
    """Between two answers (1 - ties) / 2; at the labels' own rates the sum of squares."""
    found = surface_rules.lots(STUDY).set_index("model")
    ties = (STUDY["truth"] == "tie").mean()
    assert found.loc[surface_rules.LOTS, "value"] == pytest.approx((1 - ties) / 2)
    shares = STUDY["truth"].value_counts(normalize=True)
    row = found.loc[surface_rules.LOTS_AT_RATES]
    assert row["value"] == pytest.approx((shares**2).sum())
    assert row["ci_low"] < row["value"] < row["ci_high"]


def test_a_rule_against_a_judge():
    rules = surface_rules.rule_verdicts(STUDY)
    near = rules[rules["model"] == "length nearer to the reference"]
    right = near.assign(proposed=STUDY["truth"].where(STUDY["truth"] != "tie", "1").to_numpy())
    found = paired_hits(right, settled(["tie"] * 207), STUDY, ["truth"])
    assert found["value"] == pytest.approx(157 / 207 - 50 / 207) and found["ci_low"] > 0.3
    assert found["p_cluster"] < 1e-6 and found["n"] == 207 and found["clusters"] == 69
    same = paired_hits(near, near, STUDY, ["truth"])
    assert same["status"] == "no_variation" and np.isnan(same["p_cluster"])


def test_copied_lines():
    text = "・納期は6月17日\n2. お急ぎの場合は分割納品\n・丁寧に書く\n・短"
    assert surface_rules.copied_lines(
        text, "納期は６月１７日です。お急ぎの 場合は分割納品も承ります。"
    ) == (2, 3)
    assert surface_rules.copied_lines("", "あいうえお") == (0, 0)
    assert judge_tests.WINNERS == ("1", "2")

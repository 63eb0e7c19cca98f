"""A judge asked in both orders: un-swapping, three methods, agreement with people, areas, leans."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit
from scipy.stats import binom, binomtest, mannwhitneyu, t as student, ttest_1samp

from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.frames import GIVEN
from katayori.metrics.judges import (
    METHODS,
    auc,
    concordance,
    question_swap_test,
    robustness,
    settled,
    unswapped,
)
from katayori.metrics.shares import cluster_share
from katayori.metrics.verdicts import line_test, verdict
from katayori.study import Study

COLUMNS = {"order": "order", "letter": "said"}
NAMES = {"pair": "pair", **COLUMNS, "p": "p"}
VERDICTS = ("tie", "1", "2")
SWAP = {"A": "B", "B": "A", "C": "C"}


def asked(*pairs):
    """A row an order: a pair is (letter, (p_A, p_B, p_C)) in order 12 and 21; None: nothing."""
    rows = []
    for n, pair in enumerate(pairs):
        for order, (letter, p) in zip(("12", "21"), pair, strict=True):
            row = {"pair": f"c{n}", "order": order, "said": letter}
            rows.append(row | dict(zip(("p_A", "p_B", "p_C"), p or [np.nan] * 3, strict=True)))
    return pd.DataFrame(rows)


def told(*pairs):
    return settled(asked(*pairs), **NAMES)


def greedy(letter, p=0.6, rest=0.1):
    """A verdict that is its own arg max."""
    return letter, tuple(p if letter == other else rest for other in "ABC")


def lasting(frame, **labels):
    """Pairs with labels of people, a question each."""
    return frame.assign(question=[f"q{n}" for n in range(len(frame))], **labels)


def objects(values):
    return pd.Series(list(values), dtype=object)


one_order = st.tuples(
    st.sampled_from("ABC"), st.tuples(*[st.integers(1, 1000).map(lambda k: k / 1000)] * 3)
)
some_pairs = st.lists(st.tuples(one_order, one_order), min_size=1, max_size=8)


@settings(max_examples=20)
@given(some_pairs)
def test_unswapping_exchanges_a_and_b_in_the_second_order_only(pairs):
    frame = asked(*pairs)
    found = unswapped(frame, **COLUMNS, p="p")
    pd.testing.assert_frame_equal(found[frame.columns], frame)
    for row in found.itertuples():
        one, two = (row.p_A, row.p_B) if row.order == "12" else (row.p_B, row.p_A)
        assert (row.p_1, row.p_2, row.p_tie) == (one, two, row.p_C)
        letter = row.said if row.order == "12" else SWAP[row.said]
        assert row.verdict == {"A": "1", "B": "2", "C": "tie"}[letter]
    without = unswapped(frame.drop(columns=["p_A", "p_B", "p_C"]), **COLUMNS)
    assert without["verdict"].equals(found["verdict"]) and "p_1" not in without


def test_what_a_letter_and_an_order_are_is_said_in_one_line():
    frame = asked((greedy("A"), greedy("B")))
    for change, words in (
        ({"order": "13"}, "column 'order' holds '13' .* right is one of '12', '21'"),
        ({"order": 12}, "column 'order' holds 12 .* right is one of '12', '21'"),
        ({"order": None}, "column 'order' is missing in 2 of 2 rows"),
        ({"said": "D"}, "column 'said' holds 'D' .* right is one of 'A', 'B', 'C'"),
        ({"said": "1"}, "column 'said' holds '1'"),
        ({"p_A": 60.0}, "column 'p_A' holds 60.0 .* a number from 0 to 1"),
    ):
        for verb, names in ((unswapped, {**COLUMNS, "p": "p"}), (settled, NAMES)):
            with pytest.raises(KatayoriError, match=words) as raised:
                verb(frame.assign(**change), **names)
            assert "\n" not in str(raised.value)
    with pytest.raises(KatayoriError, match="unswapped: no column 'p_B'; columns there"):
        settled(frame.drop(columns="p_B"), **NAMES)
    for verb, names in (
        (unswapped, COLUMNS),
        (settled, NAMES),
        (auc, {"score": "a", "better": "b"}),
        (concordance, {"judge": "a", "people": "b"}),
    ):
        with pytest.raises(KatayoriError, match=f"{verb.__name__}: a list is no frame"):
            verb([1], **names)


def test_a_call_given_twice_is_refused_with_what_to_do():
    frame = asked((greedy("A"), greedy("B")))
    both = pd.concat([frame.assign(model="m"), frame.assign(model="n")])
    with pytest.raises(
        KatayoriError, match=r"2 calls are given twice, e\.g\. to 'c0'.*by by="
    ) as told:
        settled(both, **NAMES)
    assert "\n" not in str(told.value) and "such as the model" in str(told.value)
    assert settled(both, **NAMES, by="model")["model"].tolist() == ["m", "n"]


def test_a_column_called_as_one_of_the_result_is_refused():
    frame = asked((greedy("A"), greedy("B"))).assign(lean=1.0, same="x", task="t")
    for more in ({"keep": ["lean"]}, {"by": "same"}):
        with pytest.raises(KatayoriError, match="name of a column of the result; rename yours"):
            settled(frame, **NAMES, **more)
    found = settled(frame, **NAMES, by="task", keep=["task", "pair"])
    assert list(found)[:3] == ["task", "pair", "first"]


def test_the_worked_example_of_the_paper():
    """Figure 1, whose letters name systems; raw, its second order reads B .4, A .6."""
    p = paper_facts.printed("logprob_judge", "figure1_example").pivot(
        index="order", columns="letter", values="probability_pct"
    )
    first, second, mean = (p.loc[name] / 100 for name in ("order_1", "order_2", "mean"))
    row = told((("A", tuple(first)), ("A", (second["B"], second["A"], second["C"])))).iloc[0]
    assert row[["p_1", "p_2", "p_tie"]].tolist() == pytest.approx(mean.tolist())
    assert row[["first", "second", "same"]].tolist() == ["1", "2", 0]
    assert row[["BS1", "BS2", "proposed"]].tolist() == ["none", "tie", "1"]


@settings(max_examples=20)
@given(some_pairs)
def test_methods_follow_their_definitions(pairs):
    """Against an exact reading of the definitions in fractions."""
    meaning = {"A": "1", "B": "2", "C": "tie"}
    for row, ((a, p), (b, q)) in zip(told(*pairs).itertuples(), pairs, strict=True):
        one, two = meaning[a], meaning[SWAP[b]]
        assert (row.first, row.second, row.status) == (one, two, "ok")
        assert row.same == (one == two)
        differing = [one, one] if one == two else ["none", "tie"]
        assert differing == [row.BS1, row.BS2]
        thousandths = {"1": (p[0], q[1]), "2": (p[1], q[0]), "tie": (p[2], q[2])}
        means = {k: sum(Fraction(round(1000 * x), 2000) for x in v) for k, v in thousandths.items()}
        assert row.proposed == max(VERDICTS, key=lambda name: means[name])
        assert (row.p_1, row.p_2, row.p_tie) == pytest.approx(
            [float(means[name]) for name in ("1", "2", "tie")]
        )
        assert np.exp(2 * row.log_odds) == pytest.approx(p[0] / p[1] * q[1] / q[0])
        assert np.exp(2 * row.lean) == pytest.approx(p[0] / p[1] * q[0] / q[1])


def test_equal_means_are_settled_tie_then_1_then_2():
    found = told(
        (("A", (0.4, 0.1, 0.4)), ("B", (0.1, 0.4, 0.4))),
        (("A", (0.5, 0.5, 0.1)), ("A", (0.5, 0.5, 0.1))),
        (("B", (0.1, 0.4, 0.4)), ("A", (0.4, 0.1, 0.4))),
        (("C", (0.3, 0.3, 0.3)), ("C", (0.3, 0.3, 0.3))),
    )
    assert found["proposed"].tolist() == ["tie", "1", "tie", "tie"]


def test_the_last_bit_of_a_processor_decides_nothing():
    """.1 + .2 is .3 on paper: for the likeliest verdict, for ties of a score, and for a lean."""
    a_bit = np.nextafter(0.3, 1)
    pairs = [(("A", (0.1, p, 0.0)), ("A", (q, 0.2, 0.0))) for p, q in ((0.3, 0.0), (a_bit, 0.0))]
    assert told(*pairs)["proposed"].tolist() == ["1", "1"]
    tie = [(("A", (p, 0.1, 0.3)), ("B", (0.1, p, 0.3))) for p in (0.3, a_bit, 0.1 + 0.2)]
    assert told(*tie)["proposed"].tolist() == ["tie"] * 3
    rng = np.random.default_rng(0)
    scores = rng.choice([0.1 + 0.2, 0.3, a_bit, 0.7, 0.1 + 0.6], 60)
    frame = pd.DataFrame({"score": scores, "better": rng.random(60) < 0.5})
    frame["question"] = np.arange(60) // 3
    found, exact = (
        auc(one, score="score", better="better")
        for one in (frame, frame.assign(score=frame["score"].round(6)))
    )
    pd.testing.assert_frame_equal(found, exact)
    # Twelve pairs without a lean, but for rounding.
    noise = [(greedy("A", 0.6), ("B", (0.1, np.nextafter(0.6, n % 2), 0.1))) for n in range(12)]
    row = line_test(lasting(told(*noise)), value="lean", kind="mean").iloc[0]
    assert (row["status"], row["value"]) == ("no_variation", pytest.approx(0, abs=1e-15))
    assert np.isnan(row["p"])


def test_no_verdict_is_no_tie_in_any_method():
    """An order without a verdict, or not there, leaves every method without one."""
    frame = asked(
        (("A", (0.9, 0, 0)), (None, None)), ((None, None), (None, None)), (greedy("A"), greedy("B"))
    )
    found = settled(frame.drop(index=[5]), **NAMES)
    assert found["status"].tolist() == ["invalid", "invalid", "missing_order"]
    assert found[list(METHODS)].isna().all(axis=None) and found["same"].tolist() == [0, 0, 0]
    assert found[["log_odds", "lean"]].isna().all(axis=None)
    by_letters = settled(frame, pair="pair", **COLUMNS)
    assert by_letters["BS2"].tolist() == [None, None, "1"]
    shares = ["p_1", "p_2", "p_tie", "proposed", "log_odds", "lean"]
    assert by_letters[shares].isna().all(axis=None) and list(by_letters) == list(found)
    lost = told((("A", None), ("B", None)), (("A", (0.0, 0.0, 0.0)), ("B", (0.0, 0.0, 0.0))))
    assert lost["BS2"].tolist() == ["1", "1"] and lost["status"].tolist() == ["ok", "ok"]
    assert lost["proposed"].isna().all() and lost["log_odds"].isna().all()
    for name in ("first", "second", *METHODS):
        for one in (found, by_letters, lost):
            assert all(value is None or isinstance(value, str) for value in one[name]), name


def test_rows_may_come_in_any_order_and_cells_are_settled_apart():
    frame = asked(*[(greedy(a), greedy(b)) for a, b in itertools.product("ABC", repeat=2)])
    whole = told(*[(greedy(a), greedy(b)) for a, b in itertools.product("ABC", repeat=2)])
    mixed = frame.sample(frac=1, random_state=1).set_index(pd.Index([0] * len(frame)))
    found = settled(mixed, **NAMES).sort_values("pair", ignore_index=True)
    pd.testing.assert_frame_equal(found, whole)
    both = pd.concat([frame.assign(model=None), frame.assign(model="n", said="A")])
    apart = settled(both, **NAMES, by=["model"])
    mine = apart[apart["model"].isna()].drop(columns="model").reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, whole)
    assert (apart.loc[apart["model"] == "n", "same"] == 0).all()


def test_the_lean_to_a_position_is_what_the_answers_are_not_worth():
    """A lean of ln 4 whatever the answers are worth; its interval is that of scipy's t test."""
    pairs = []
    for worth in (1, 3, 0.2, 1):
        odds = (4 * worth, 4 / worth)  # of A over B in order 12, and in order 21
        pairs.append([("A", (o / (1 + o), 1 / (1 + o), 0.0)) for o in odds])
    pairs.append([("A", (1.0, 0.0, 0.0)), ("A", (0.8, 0.2, 0.0))])
    found = told(*pairs)
    assert found["lean"].tolist()[:4] == pytest.approx([np.log(4)] * 4)
    assert found["log_odds"].tolist()[:4] == pytest.approx(np.log([1, 3, 0.2, 1]))
    row = line_test(lasting(found), value="lean", kind="mean").iloc[0]
    assert (row["n"], row["n_invalid"], row["status"]) == (4, 1, "few_clusters")
    mixed = [
        (("A", (0.5 + 0.04 * k, 0.3, 0.2)), ("A", (0.6, 0.2 + 0.01 * k, 0.2))) for k in range(6)
    ]
    each = [(np.log((0.5 + 0.04 * k) / 0.3) + np.log(0.6 / (0.2 + 0.01 * k))) / 2 for k in range(6)]
    row = line_test(lasting(told(*mixed)), value="lean", kind="mean").iloc[0]
    wanted = ttest_1samp(each, 0)
    ends = wanted.confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((ends.low, ends.high))
    assert row["p"] == pytest.approx(wanted.pvalue)


def test_concordance_by_hand():
    """Three people, four pairs: each person's share is exact, then they are averaged."""
    found = told(
        (greedy("A"), greedy("B")),
        (greedy("A", 0.9), greedy("A", 0.5)),
        (greedy("C"), greedy("C")),
        (greedy("B"), (None, None)),
    )
    people = {"anna": ["1", "1", "tie", "2"], "ben": ["1", "tie", "2", "2"]}
    people |= {"chie": objects(["2", "2", "tie", None])}
    frame = lasting(found, **people)
    table = concordance(frame, judge=METHODS, people=list(people), baseline="BS2")
    rows = table[table["measure"] == "concordance"].set_index("judge")
    # BS1: c0 and c2 are 1 and tie; BS2: c1 is a tie; proposed: c1 is 1 (.5 against .3).
    shares = {"BS1": (Fraction(2, 4), Fraction(1, 4), Fraction(1, 3))}
    shares |= {"BS2": (Fraction(2, 4), Fraction(2, 4), Fraction(1, 3))}
    shares |= {"proposed": (Fraction(3, 4), Fraction(1, 4), Fraction(1, 3))}
    assert rows["value"].to_dict() == {k: float(sum(v) / 3) for k, v in shares.items()}
    assert rows["n"].tolist() == [11] * 3 and rows["n_correct"].tolist() == [4, 5, 5]
    assert rows["n_invalid"].tolist() == [1] * 3 and rows["n_missing"].tolist() == [1] * 3
    gain = table.set_index(["measure", "judge"]).loc[("gain over BS2", "proposed")]
    assert gain["value"] == 0 and np.isnan(gain["p_sign"])  # c1 wins one and loses one
    alone = concordance(frame, judge="BS2", people="ben").iloc[0]
    assert (alone["value"], alone["n"]) == (0.5, 4)
    lost = concordance(frame[frame["pair"] == "c3"], judge="BS1", people="anna").iloc[0]
    assert lost["status"] == "no_valid_verdict" and np.isnan(lost["value"])
    silent = concordance(frame.assign(dora=None), judge="BS1", people="dora").iloc[0]
    assert silent["status"] == "no_labels" and silent["n_missing"] == 4


def test_the_sign_test_of_a_gain_is_mcnemars():
    """Exact two-sided binomial over the pairs on which only one of the two is right."""
    rows = [(greedy("A", 0.9), greedy("A", 0.5))] * 9 + [(greedy("A"), greedy("B"))] * 3
    frame = lasting(told(*rows), anna=["1"] * 7 + ["tie"] * 2 + ["1"] * 3)
    row = concordance(frame, judge=METHODS, people="anna", baseline="BS2").iloc[-1]
    assert (row["measure"], row["judge"]) == ("gain over BS2", "proposed")
    assert row["p_sign"] == pytest.approx(binomtest(7, 9).pvalue)
    assert row["value"] == pytest.approx(5 / 12) and row["n_correct"] == 5


def test_intervals_are_over_questions():
    """One question that fills three pairs varies as one; the gain is a mean of questions."""
    rng = np.random.default_rng(3)
    found = told(*[(greedy(x), greedy(y)) for x, y in rng.choice(list("ABC"), (60, 2))])
    labels = rng.choice(VERDICTS, (2, 20)).repeat(3, axis=1)
    frame = found.assign(question=np.arange(60) // 3, anna=labels[0], ben=labels[1])
    names = {"judge": ["BS2", "proposed"], "people": ["anna", "ben"], "baseline": "BS2"}
    table = concordance(frame, **names)
    assert table["clusters"].tolist() == [20] * 3 and set(table["status"]) == {"ok"}

    def hits(method):
        each = [found[method].to_numpy() == one for one in labels]
        return np.sum(each, axis=0).reshape(20, 3).sum(axis=1)

    wanted = cluster_share(hits("BS2"), [6] * 20, floor=1.0)
    assert table.loc[0, ["ci_low", "ci_high"]].tolist() == [wanted["ci_low"], wanted["ci_high"]]
    gained = hits("proposed") - hits("BS2")
    whole = ttest_1samp(gained / 6, 0).confidence_interval(0.95)
    assert table.loc[2, ["ci_low", "ci_high"]].tolist() == pytest.approx([whole.low, whole.high])
    assert table.loc[2, "p_cluster"] == pytest.approx(question_swap_test(gained))
    few = concordance(frame.head(12), **names)
    assert few["ci_low"].isna().all() and set(few["status"]) == {"few_clusters"}
    steady = frame.assign(anna="tie", ben="tie", BS2="tie", proposed="1")
    gain = concordance(steady, **names).iloc[-1]
    assert (gain["value"], gain["status"]) == (-1, "no_variation") and np.isnan(gain["ci_low"])
    assert gain["p_cluster"] == pytest.approx(2**-19)


def test_the_exact_test_of_questions_against_all_patterns_of_signs():
    values = [3, 1, 1, 2, 0, -1, 4]
    sums = [abs(np.dot(signs, values)) for signs in itertools.product((1, -1), repeat=7)]
    wanted = np.mean(np.array(sums) >= abs(sum(values)))
    assert question_swap_test(values) == pytest.approx(wanted)
    assert question_swap_test([-v for v in values]) == pytest.approx(wanted)
    # One pair a question: the sign test.
    assert question_swap_test([1] * 9 + [-1] * 2) == pytest.approx(binomtest(9, 11).pvalue)
    assert np.isnan(question_swap_test([0, 0, np.nan])) and question_swap_test([1, -1]) == 1
    assert 0 < question_swap_test(np.linspace(0.1, 0.9, 30)) <= 2e-4


def area(scores, better, question):
    frame = pd.DataFrame({"score": scores, "better": better, "question": question})
    return auc(frame, score="score", better="better").iloc[0]


def test_auc_against_mann_whitney_and_a_jackknife_by_hand():
    rng = np.random.default_rng(2)
    better = rng.random(60) < 0.5
    scores = np.round(rng.normal(better * 0.8, 1), 1)
    question = np.arange(60) // 3
    found = area(scores, better, question)

    def by_hand(kept):
        one, two = scores[kept & better], scores[kept & ~better]
        return mannwhitneyu(one, two).statistic / len(one) / len(two)

    whole = by_hand(np.ones(60, bool))
    assert found["value"] == pytest.approx(whole) and found["clusters"] == 20
    assert found["measure"] == "auc"
    left_out = np.array([by_hand(question != q) for q in range(20)])
    error = np.sqrt(19 / 20 * ((left_out - left_out.mean()) ** 2).sum())
    half = student.ppf(0.975, 19) * error / (whole * (1 - whole))
    middle = np.log(whole / (1 - whole))
    ends = [expit(middle - half), expit(middle + half)]
    assert found[["ci_low", "ci_high"]].tolist() == pytest.approx(ends)
    # Who prefers the worse answer lies as far below one half.
    turned = area(-scores, better, question)
    assert turned[["value", "ci_low", "ci_high"]].tolist() == pytest.approx(
        [1 - whole, 1 - ends[1], 1 - ends[0]]
    )


def test_auc_says_where_it_has_no_value_or_no_interval():
    rng = np.random.default_rng(3)
    better, scores, question = rng.random(60) < 0.5, rng.normal(size=60), np.arange(60) // 3
    assert area(scores, np.ones(60, bool), question)["status"] == "one_class"
    lost = area(scores * np.nan, better, question)
    assert (lost["status"], lost["n"], lost["n_invalid"]) == ("no_valid_answer", 0, 60)
    few = area(scores, better, question // 5)
    assert few["status"] == "few_clusters" and np.isnan(few["ci_low"]) and few["value"] > 0
    alone = area(scores, question == 0, question)  # one question holds all of one kind
    assert alone["status"] == "few_clusters" and np.isnan(alone["ci_low"])
    perfect = area(better * 1.0, better, question)
    assert (perfect["value"], perfect["status"]) == (1, "no_variation")
    assert np.isnan(perfect["ci_low"])
    tied = area(np.ones(60), better, question)
    assert (tied["value"], tied["status"]) == (0.5, "no_variation")
    some = np.where(np.arange(60) < 3, np.inf, scores)
    assert area(some, better, question)[["n", "n_invalid", "clusters"]].tolist() == [57, 3, 19]
    with pytest.raises(KatayoriError, match=r"auc: column 'better' holds '1' .* True or False"):
        area(scores, "1", question)


#: The truth and the longer answer of six pairs.
TRUTH = ("1", "1", "2", "2", "tie", "tie")
LONGER = ("1", "2") * 3
SIDE = {"1": 1.0, "2": -1.0, "tie": 0.0}


def judged(rng, *, position=0.0, knows=0.0, length=0.0, noise=0.5, draws=1, together=0.3):
    """Pairs of judges, 40 questions of three each, settled.

    What a judge makes of the first position (`position`), of the better and of the longer answer
    is added to ln P(A) / P(B); `together` is how much of each is a question's own, `noise` a
    call's. One draw has each length as often with each truth; of many, each pair is drawn anew.
    """
    n = 120
    number = rng.permutation(np.arange(n) % 6) if draws == 1 else rng.integers(0, 6, n * draws)
    truth, longer = (np.array(one)[number] for one in (TRUTH, LONGER))
    question = np.tile(np.arange(n) // 3, draws)
    draw = np.repeat(np.arange(draws), n)

    def by_question(mean):
        return (mean + rng.normal(0, together, (draws, n // 3)))[draw, question]

    answers = by_question(knows) * pd.Series(truth).map(SIDE) + length * pd.Series(longer).map(SIDE)
    leans = by_question(position)
    frame = pd.DataFrame({"pair": np.arange(n * draws), "draw": draw, "question": question})
    frame = frame.assign(truth=truth, longer=longer)
    calls = []
    for order, sign in (("12", 1), ("21", -1)):
        odds = leans + sign * answers + rng.normal(0, noise, n * draws)
        weights = np.exp(np.stack([odds / 2, -odds / 2, rng.normal(-1, noise, n * draws)], axis=1))
        p = weights / weights.sum(axis=1, keepdims=True)
        call = frame.assign(order=order, said=np.array(list("ABC"))[p.argmax(axis=1)])
        calls.append(call.assign(p_A=p[:, 0], p_B=p[:, 1], p_C=p[:, 2]))
    kept = ["draw", "question", "truth", "longer"]
    return settled(pd.concat(calls, ignore_index=True), **NAMES, keep=kept)


def lean_of(pairs, by=()):
    return verdict(line_test(pairs, value="lean", kind="mean", by=by), margin=0.3, family=by)


def area_of(pairs, what="truth", by=()):
    """The area for the truth, or for the longer answer, where one of the two is so."""
    decided = pairs[pairs[what] != "tie"]
    return auc(decided.assign(first=decided[what] == "1"), score="log_odds", better="first", by=by)


def gain_of(pairs, by=()):
    """Whether the mean of both orders is right less whether BS2 is, by question."""
    right = [(pairs[one] == pairs["truth"]).astype(float) for one in ("proposed", "BS2")]
    return line_test(pairs.assign(gain=right[0] - right[1]), value="gain", kind="signed", by=by)


def test_who_looks_at_the_position_alone_is_found_to():
    """Of 100 seeds all lean, and 94 intervals of the area hold .5."""
    pairs = judged(np.random.default_rng(1), position=4, together=0)
    assert (pairs["same"] == 0).all() and (pairs["BS2"] == "tie").all()
    assert lean_of(pairs)["verdict"].item() == "present"
    row = area_of(pairs).iloc[0]
    assert row["ci_low"] < 0.5 < row["ci_high"] and abs(row["value"] - 0.5) < 0.15


def test_who_prefers_the_longer_answer_knows_nothing_of_the_truth():
    """Of 100 seeds 99 areas hold .5, 99 of length lie above .8, 96 leans are not present."""
    pairs = judged(np.random.default_rng(1), length=0.5)
    row, long = (area_of(pairs, what).iloc[0] for what in ("truth", "longer"))
    assert row["ci_low"] < 0.5 < row["ci_high"] and long["ci_low"] > 0.8
    assert not lean_of(pairs)["verdict"].item().startswith("present")


#: What is there beside what is tested, which is not.
BESIDE = {
    "lean": {"reading": {"knows": 2.0}},
    "area": {"a lean": {"position": 3.0}, "length": {"length": 2.0}},
    "gain": {"a lean": {"position": 3.0}},
}
DRAWS = 200


def noise(rng, what, beside, draws):
    """Many judges without what is tested.

    For the gain the pairs of a question have one truth. A judge whose reading changes its sign from
    question to question would know ties: it hesitates there.
    """
    own = {"together": 0} if what == "gain" else {}
    pairs = judged(rng, draws=draws, **BESIDE[what][beside], **own)
    if what == "gain":
        number = pairs.groupby(["draw", "question"]).ngroup()
        pairs["truth"] = rng.choice(VERDICTS, number.max() + 1)[number]
    return pairs


@pytest.mark.parametrize(("what", "beside"), [(k, one) for k, v in BESIDE.items() for one in v])
def test_nothing_is_found_where_nothing_is_planted(what, beside):
    """Of 2,000 judges 6.0 % seem to lean, 4.1 to 4.3 to read the truth, 4.1 and 4.7 to gain."""
    pairs = noise(np.random.default_rng(2), what, beside, DRAWS)
    if what == "lean":
        alarms = lean_of(pairs, "draw")["verdict"].str.startswith("present")
    elif what == "area":
        table = area_of(pairs, by="draw")
        alarms = (table["ci_low"] > 0.5) | (table["ci_high"] < 0.5)
    else:
        alarms = gain_of(pairs, "draw")["p"] < 0.05
    assert len(alarms) == DRAWS and alarms.sum() <= binom.ppf(0.99, DRAWS, 0.05)


def test_the_numbers_of_the_notebook_from_recorded_answers():
    """Two models on our 207 pairs, counted in plain Python from the letters and probabilities."""
    study = Study("logprob_judge", asked=["lj_verdict"])
    answers = study.answers("lj_verdict")
    names = {"pair": "pair_id", "order": "order", "letter": "answer", "p": "p"}
    table = settled(answers, **names, by="model", keep=["question_id", "task", "truth"])
    wanted = {"qwen2.5-coder-0.5b": (3, 50, 74), "qwen2.5-coder-1.5b": (0, 50, 116)}
    for model, (robust, bs2, proposed) in wanted.items():
        own = answers[answers["model"] == model].to_dict("records")
        calls = {(one["pair_id"], one["order"]): one for one in own}
        assert len(calls) == len(own) == 2 * 207
        counted = [0, 0, 0]
        for pair in {pair for pair, _ in calls}:
            first, second = calls[pair, "12"], calls[pair, "21"]
            said = first["answer"], {"A": "B", "B": "A", "C": "C"}[second["answer"]]
            name = {"A": "1", "B": "2", "C": "tie"}
            shares = [first["p_C"] + second["p_C"], first["p_A"] + second["p_B"]]
            shares.append(first["p_B"] + second["p_A"])
            likeliest = ("tie", "1", "2")[shares.index(max(shares))]
            counted[0] += said[0] == said[1]
            counted[1] += first["truth"] == (name[said[0]] if said[0] == said[1] else "tie")
            counted[2] += first["truth"] == likeliest
        assert counted == [robust, bs2, proposed]
        found = table[table["model"] == model]
        right = [(found[one] == found["truth"]).sum() for one in ("BS2", "proposed")]
        assert [found["same"].sum(), *right] == counted
        rows = concordance(
            found, judge=["BS2", "proposed"], people="truth", cluster="question_id", baseline="BS2"
        )
        assert rows["n_correct"].tolist() == [bs2, proposed, proposed - bs2]
        assert rows["value"].tolist() == [bs2 / 207, proposed / 207, (proposed - bs2) / 207]
        assert set(rows["clusters"]) == {69}


def calls(model="m", questions=8):
    """Three pairs a question: a steady one, one that names A twice, one with a gap."""
    rows = []
    for question in range(questions):
        for pair, letters in (("steady", "AB"), ("first", "AA"), ("gap", ["B", None])):
            for order, letter in zip(("12", "21"), letters, strict=True):
                row = {"pair": f"{question}-{pair}", "question": question, "order": order}
                rows.append(row | {"letter": letter, "model": model})
    return pd.DataFrame(rows)


def both(frame, **more):
    names = {"pair": "pair", "order": "order", "letter": "letter", "keep": ["question"]}
    return settled(frame, **names, **more)


def test_a_pair_without_a_verdict_is_not_the_same_and_stays_in_the_denominator():
    table = robustness(both(calls()))
    assert list(table.columns) == ["measure", *GIVEN]
    [row] = table.to_dict("records")
    assert row["value"] == pytest.approx(8 / 24)
    assert (row["measure"], row["n"], row["n_invalid"], row["clusters"]) == ("robustness", 24, 8, 8)
    assert row["status"] == "same_in_every_cluster"
    one_order = calls().query("pair != '0-steady' or order == '12'")
    assert robustness(both(one_order)).loc[0, ["n", "n_invalid"]].tolist() == [24, 9]
    silent = robustness(both(calls().assign(letter=None))).iloc[0]
    assert silent["status"] == "no_valid_verdict" and silent["n_invalid"] == silent["n"] == 24
    assert silent[["value", "ci_low", "ci_high"]].isna().all()


def test_concordance_counts_what_is_missing():
    frame = pd.DataFrame({"judge": list("1212") * 3, "value": list("1112") * 3})
    frame = frame.assign(question=np.arange(12) // 2)
    whole = concordance(frame, judge="judge", people="value")
    renamed = concordance(frame.rename(columns={"value": "anna"}), judge="judge", people="anna")
    assert whole["value"].tolist() == renamed["value"].tolist(), "a person called as a column"
    frame.loc[0, "judge"], frame.loc[1, "value"] = None, None
    row = concordance(frame, judge="judge", people="value").iloc[0]
    assert (row["n"], row["n_invalid"], row["n_missing"]) == (11, 1, 1)
    nobody = concordance(frame.assign(judge=None), judge="judge", people="value").iloc[0]
    assert nobody["status"] == "no_valid_verdict" and np.isnan(nobody["value"])
    own = pd.DataFrame({"question": range(6), "truth": list("121212")})
    own = own.assign(proposed=[None, None, None, "2", "1", "2"], BS2="tie")
    table = concordance(own, judge=["proposed", "BS2"], people="truth").set_index("judge")
    assert table["n_invalid"].to_dict() == {"proposed": 3, "BS2": 0}

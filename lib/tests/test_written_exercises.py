"""Functions of readers: no wrong formula passes, and known slips are named.

Oracles, on every input: the krippendorff package and statsmodels (Holm, interaction, kappa), a mean
of scores (Diff-bias), a quotient of probabilities (choice by content), all subsets (selections),
the verb that settles both orders, and the verb of shares (neutral reasons, mean P(neutral)),
arrays of intervals (coverage), and the audit's test and exact fractions (GRIM).
"""

import doctest
import itertools
import math
import operator
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import partial

import exercise_formulas
import krippendorff
import numpy as np
import pandas as pd
import pytest
import recounts
import statsmodels.api as sm
from exercise_formulas import COMPARED, DRAWN
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from katayori.data.files import ours
from katayori.metrics import agreement, judges, ranks, shares, sign_swap
from katayori.metrics.variation import varies
from katayori.report import exercises as report_exercises
from katayori.report.exercises import (
    ASK_FOR_MORE,
    GENERAL,
    KINDS,
    cases,
    check,
    difference,
    exercises,
)

NAMES = sorted(COMPARED)
FILE = ours("exercises.yaml")
#: Name -> (numbers of notebook and exercise, the exercise with the common hints).
ASKED = {
    one["compared"]: ((notebook, number), one)
    for notebook in FILE["notebooks"]
    for number, one in exercises(notebook).items()
    if "compared" in one
}
INPUTS = {name: COMPARED[name].inputs() for name in ASKED}
RIGHT = {name: [COMPARED[name].results(one)["right"] for one in INPUTS[name]] for name in NAMES}
#: Name -> the names of its known slips.
KNOWN = {name: {*COMPARED[name].results(INPUTS[name][0])} - {"right"} for name in NAMES}
SLIPS = [
    pytest.param(name, slip, id=f"{name}-{slip}") for name in NAMES for slip in sorted(KNOWN[name])
]
#: Functions whose results are texts, or True or False.
OF_WORDS = {"selections", "settle", "grim"}


def said(capsys, name, answer, **more):
    check(*ASKED[name][0], answer, **more)
    return " ".join(capsys.readouterr().out.split())


def formula(name, slip="right"):
    """A formula of the library as a function of a reader."""
    return lambda *given: COMPARED[name].results(given)[slip]


def answered(name):
    """The inputs that have a right result, and these results."""
    both = zip(INPUTS[name], RIGHT[name], strict=True)
    return [(given, right) for given, right in both if right is not None]


def each(name):
    """A test of every input and its right result."""
    both = list(zip(INPUTS[name], RIGHT[name], strict=True))
    return pytest.mark.parametrize(("given", "right"), both, ids=range(len(both)))


def made(inputs, right, **slips):
    """Cases of formulas."""
    results = {name: [one(*given) for given in inputs] for name, one in slips.items()}
    return {"given": inputs, "results": {"right": [right(*one) for one in inputs], **results}}


def near(value):
    """A number, or None where it is undefined."""
    return None if math.isnan(value) else pytest.approx(value, abs=1e-9)


# -- inputs and right results ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_fifty_inputs_are_the_same_every_time(name):
    assert len(INPUTS[name]) == 50
    assert repr(INPUTS[name]) == repr(COMPARED[name].inputs())


def test_the_cases_are_those_of_the_formulas():
    assert exercise_formulas.CASES.read_text("utf-8") == exercise_formulas.as_file(), (
        "run python lib/tests/exercise_formulas.py"
    )


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_read_as_they_were_drawn(name):
    assert repr([tuple(given) for given in cases()[name]["given"]]) == repr(INPUTS[name])


@pytest.mark.parametrize("name", ["alpha", "by_content", "coverage", "diff_bias", "extra", "kappa"])
def test_there_are_inputs_with_and_without_a_result(name):
    undefined = RIGHT[name].count(None)
    assert 5 <= undefined <= 25
    assert len({*map(str, RIGHT[name])}) > 5


def test_rows_have_two_to_five_levels_gaps_and_single_values():
    tables = [rows for (rows,) in INPUTS["alpha"]]
    assert {len(rows[0]) for rows in tables} == {2, 3, 4, 5}
    rows = [row for one in tables for row in one]
    known = [[value for value in row if value is not None and value == value] for row in rows]
    assert {len(row) for row in known} == {0, 1, 2, 3, 4, 5}
    assert any(None in row for row in rows) and any(value != value for row in rows for value in row)
    assert {value for row in known for value in row} == {0, 0.2, 0.5, 0.7, 1, 4}


def test_p_are_in_any_order_tied_above_the_cap_and_undefined():
    lists = [p for (p,) in INPUTS["holm"]]
    known = [[one for one in p if one is not None and one == one] for p in lists]
    assert any(p != sorted(p) for p in known) and any(len(set(p)) < len(p) for p in known)
    assert any(len(p) * min(p) > 1 for p in known if p)
    assert [] in known and sum(a != b for a, b in zip(known, lists, strict=True)) >= 10


def test_answers_are_with_and_without_unreadable_ones_of_persons_and_of_nothing_valid():
    kinds = {frozenset(roles) for (roles,) in INPUTS["diff_bias"]}
    both = {"biased", "counter_biased"}
    wanted = (both, both | {"unknown"}, both | {"unknown", None}, {"unknown"}, {None}, ())
    assert kinds >= {*map(frozenset, wanted)}
    assert {np.sign(right) for _, right in answered("diff_bias")} == {-1, 0, 1}


def test_positions_are_two_to_five_without_ties_and_with_missing_ones():
    inputs = INPUTS["by_content"]
    assert {len(log_p) for log_p, _ in inputs} == {2, 3, 4, 5}
    assert set(RIGHT["by_content"]) == {0, 1, 2, 3, 4, None}
    moved = [log_p.index(max(log_p)) != right for (log_p, _), right in answered("by_content")]
    assert moved.count(True) >= 10 and moved.count(False) >= 10
    for (log_p, prior), _ in answered("by_content"):
        *_, second, first = sorted(np.subtract(log_p, prior))
        assert first - second > 0.05
    missing = [(i, one) for log_p, _ in inputs for i, one in enumerate(log_p) if one != one]
    assert any(None in log_p for log_p, _ in inputs) and len({i for i, _ in missing}) > 2


def test_other_attributes_are_none_to_five():
    inputs = INPUTS["selections"]
    assert {len(others) for _, others in inputs} == {0, 1, 2, 3, 4, 5}
    assert all(len({focal, *others}) == len(others) + 1 for focal, others in inputs)
    assert {focal for focal, _ in inputs} == set(DRAWN["selections"]["drawn_of"][0])


def test_shares_give_interactions_of_both_signs_none_and_undefined_ones():
    values = [round(right, 9) for _, right in answered("extra")]
    assert {np.sign(value) for value in values} == {-1, 0, 1}
    for at in range(4):
        placed = [shares[at] for shares in INPUTS["extra"]]
        assert {0, 1, None} <= set(placed) and any(one != one for one in placed)


def test_both_orders_have_one_or_two_verdicts_with_the_highest_mean():
    best = []
    for first, second in INPUTS["settle"]:
        sums = np.array(first) + [second[i] for i in (1, 0, 2)]
        best.append(tuple(np.array(["1", "2", "tie"])[sums == sums.max()]))
        assert max(sum(first), sum(second)) <= 1
        gaps = sums.max() - sums
        assert ((gaps == 0) | (gaps > 0.06)).all()
    assert {*best} >= {("1",), ("2",), ("tie",), ("1", "tie"), ("2", "tie"), ("1", "2")}


def test_labels_are_two_to_five_with_uneven_shares_unused_ones_and_edges():
    inputs = INPUTS["kappa"]
    assert {len({*one, *two}) for one, two in inputs} == {1, 2, 3, 4, 5}
    assert sum(sorted(one) != sorted(two) for one, two in inputs) >= 25
    assert sum(set(one) != set(two) for one, two in inputs) >= 10
    values = [right for _, right in answered("kappa")]
    assert sum(value < 0 for value in values) >= 5 and 0 in values


def test_letters_are_of_both_orders_equal_or_not_with_unreadable_ones_and_nothing_valid():
    lists = [answers for (answers,) in INPUTS["neutral_share"]]
    orders = [[order for order, _ in own] for own in lists]
    even = [own.count("nb") == own.count("bn") for own in orders]
    assert even.count(True) >= 5 and even.count(False) >= 20
    unread = [any(letter is None for _, letter in own) for own in lists]
    assert sum(unread) >= 15 and [] in lists and 5 <= RIGHT["neutral_share"].count(None) <= 20


def test_probabilities_are_of_any_mean_and_at_the_ends():
    values = np.array(RIGHT["neutral_mean"])
    assert values.min() == 0 and values.max() == 1 and len({*values}) > 15


def test_intervals_have_the_truth_inside_outside_and_at_both_ends():
    inputs = INPUTS["coverage"]
    assert {len(intervals) for intervals, _ in inputs} == {*range(9)}
    assert {0, 0.5, 1, None} <= set(RIGHT["coverage"])
    for end in (0, 1):
        at_end = [any(own and own[end] == truth for own in given) for given, truth in inputs]
        assert 5 <= sum(at_end) <= 45
    assert sum(None in intervals for intervals, _ in inputs) >= 10


def test_percentages_are_of_few_and_many_answers_at_the_ends_and_halfway():
    inputs, results = INPUTS["grim"], RIGHT["grim"]
    assert results.count(True) == 30 and results.count(False) == 20
    assert {0, 100} <= {percent for percent, _ in inputs} and min(n for _, n in inputs) == 3
    counts = [Decimal(str(percent)) * n / 100 % 1 for percent, n in inputs]
    assert counts.count(Decimal("0.5")) >= 3
    halves = [
        any(Decimal(1000 * k) / n % 1 == Decimal("0.5") for k in range(n + 1)) for _, n in inputs
    ]
    assert [one for one, half in zip(inputs, halves, strict=True) if half] == [
        (18.8, 16),
        (43.8, 16),
        (68.8, 32),
    ]


@each("coverage")
def test_the_right_coverage_is_that_of_an_array_of_intervals(given, right):
    intervals, truth = given
    ends = [one for one in intervals if one is not None]
    held = pd.arrays.IntervalArray.from_tuples(ends, closed="both", dtype="interval[float64, both]")
    assert right == near(pd.Series(held.contains(truth)).mean())


def test_no_other_ends_and_no_other_divisor_give_the_coverage():
    """Each end open, closed or not asked for; of the intervals given, of all studies, a count."""
    right = [right for _, right in answered("coverage")]
    asks = (operator.lt, operator.le, lambda one, other: True)
    passed = []
    for low, high in itertools.product(range(3), repeat=2):
        for of in ("given", "all", "one"):
            values = []
            for (intervals, truth), _ in answered("coverage"):
                given = [one for one in intervals if one is not None]
                held = sum(asks[low](a, truth) and asks[high](truth, b) for a, b in given)
                values.append(held / {"given": len(given), "all": len(intervals), "one": 1}[of])
            if np.allclose(values, right, rtol=0, atol=1e-6):
                passed.append((low, high, of))
    assert passed == [(1, 1, "given")]


@each("grim")
def test_the_right_answer_is_that_of_the_audit_and_of_both_ways_to_round_a_half(given, right):
    percent, n = given
    assert right is (recounts.grim(f"{percent:.1f}", n)["verdict"] != recounts.NOT)
    exact = [Decimal(100 * count) / n for count in range(n + 1)]
    for way in (ROUND_HALF_UP, ROUND_HALF_EVEN):
        printed = {one.quantize(Decimal("0.1"), way) for one in exact}
        assert (Decimal(f"{percent:.1f}") in printed) is right


@pytest.mark.parametrize(
    "printed",
    [
        lambda count, n: f"{count / n:.1%}",
        lambda count, n: f"{np.round(count / n * 100, 1)}%",
        lambda count, n: f"{math.floor(1000 * count / n + 0.5) / 10}%",
    ],
)
def test_a_percentage_may_be_rounded_in_any_way(capsys, printed):
    def possible(percent, n):
        return any(printed(count, n) == f"{percent}%" for count in range(n + 1))

    assert said(capsys, "grim", possible).startswith("Right. ")
    found = said(capsys, "grim", lambda percent, n: np.bool_(possible(percent, n)))
    assert found.startswith("Right. ")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda percent, n: "True", "the result 'True' is neither True nor False"),
        (lambda percent, n: [19], "the result [19] is neither True nor False"),
        (lambda percent, n: 0.5, "the result 0.5 is neither True nor False"),
        (lambda percent, n: None, "gives None or nan"),
    ],
)
def test_what_is_neither_true_nor_false_is_said_in_words(capsys, function, words):
    found = said(capsys, "grim", function)
    first = "Not yet. For percent = 33.3 and n = 3 the right result is True; your function "
    assert found.startswith(first) and words in found


@each("settle")
def test_the_right_verdict_is_that_of_the_verb(given, right):
    calls = pd.DataFrame(given, columns=["p_A", "p_B", "p_C"])
    calls = calls.assign(pair="one", order=["12", "21"], letter="A")
    found = judges.settled(calls, pair="pair", order="order", letter="letter", p="p")
    assert right == found["proposed"].item()


@each("kappa")
def test_the_right_kappa_is_that_of_statsmodels(given, right):
    labels = sorted({*given[0], *given[1]})
    if len(labels) == 1:  # chance is 1
        assert right is None
        return
    table = pd.crosstab(*map(np.array, given)).reindex(index=labels, columns=labels, fill_value=0)
    assert right == near(cohens_kappa(table.to_numpy(), return_results=False))


@each("alpha")
def test_the_right_alpha_is_that_of_the_verb_and_of_the_package(given, right):
    table = np.array(given[0], float)
    assert right == near(agreement.alpha(given[0])["value"].item())
    if right is not None:
        package = krippendorff.alpha(reliability_data=table.T, level_of_measurement="interval")
        assert right == near(package)


@each("holm")
def test_the_right_p_are_those_of_the_verb_and_of_statsmodels(given, right):
    p = np.array(given[0], float)
    known = ~np.isnan(p)
    expected = np.full(len(p), np.nan)
    if known.any():
        expected[known] = multipletests(p[known], method="holm")[1]
    np.testing.assert_allclose(np.array(right, float), expected, atol=1e-12)
    np.testing.assert_allclose(ranks.holm(p), expected, atol=1e-12)


@each("diff_bias")
def test_the_right_diff_bias_is_the_mean_of_scores(given, right):
    scores = pd.Series(given[0], dtype=object)
    scores = scores.map({"biased": 1, "counter_biased": -1, "unknown": 0})
    assert right == near(scores.astype(float).mean())


@each("by_content")
def test_the_right_position_has_the_highest_quotient_of_probabilities(given, right):
    log_p, prior = given
    quotients = pd.Series(np.exp(np.array(log_p, float)) / np.exp(prior))
    assert right == (None if quotients.isna().any() else quotients.idxmax())


@each("selections")
def test_the_right_selections_are_all_subsets_with_the_focal_attribute(given, right):
    focal, others = given
    names = [focal, *others]
    subsets = {
        frozenset(itertools.compress(names, chosen))
        for chosen in itertools.product([False, True], repeat=len(names))
    }
    expected = {one for one in subsets if focal in one}
    assert len(right) == len(expected) and set(map(frozenset, right)) == expected


@each("extra")
def test_the_right_interaction_is_that_of_a_logistic_regression(given, right):
    """20 answers of each kind have these shares; without log odds there is no interaction."""
    if any(share is None or not 0 < share < 1 for share in given):
        assert right is None
        return
    one, other = np.repeat([[0, 0], [1, 0], [0, 1], [1, 1]], 20, axis=0).T
    answers = np.concatenate([np.arange(20) < round(20 * share) for share in given])
    x = np.column_stack([np.ones(80), one, other, one * other])
    fitted = sm.Logit(answers.astype(int), x).fit(disp=0).params[-1]
    assert right == pytest.approx(fitted, abs=1e-6)


def test_no_other_weights_of_the_log_odds_give_the_interaction():
    inputs = np.array([given for given, _ in answered("extra")])
    odds = np.log(inputs / (1 - inputs))
    right = np.array([right for _, right in answered("extra")])
    passed = [
        weights
        for weights in itertools.product([-2, -1, -0.5, 0, 0.5, 1, 2], repeat=4)
        if np.allclose(odds @ np.array(weights), right, rtol=0, atol=1e-6)
    ]
    assert passed == [(1, -1, -1, 1)]


@pytest.mark.parametrize("least", [0.01, 1e-3, 1e-6, 1e-12])
def test_shares_moved_away_from_0_and_1_do_not_make_it_defined(capsys, least):
    def clipped(*shares):
        if any(share is None for share in shares):
            return None
        return formula("extra")(*(min(max(share, least), 1 - least) for share in shares))

    found = said(capsys, "extra", clipped)
    assert "the interaction is undefined" in found
    assert ASKED["extra"][1]["slips"]["undefined"]["hint"] in found


@pytest.mark.parametrize("size", range(6))
def test_a_size_that_is_lacking_is_noticed(capsys, size):
    def without_size(focal, others):
        found = formula("selections")(focal, others)
        return [one for one in found if len(one) != size + 1]

    assert said(capsys, "selections", without_size).startswith("Not yet. ")


def test_the_size_of_a_family_is_the_number_of_its_selections():
    """Notebook 05, exercise 1: five attributes; all, those of two and those of three."""
    sizes = [len(one) for one in formula("selections")("gender", ["age", "race", "job", "name"])]
    assert FILE["notebooks"][5][1]["numbers"] == [len(sizes), sizes.count(2), sizes.count(3)]


def test_no_other_count_of_subsets_gives_the_size_of_a_family():
    """All, two and three of n, chosen, in order or with repeats, and shifted by what is named."""
    right = FILE["notebooks"][5][1]["numbers"]
    ways = (math.comb, math.perm, lambda n, k: math.comb(n + k - 1, k), pow)
    passed = [
        (n, named, way)
        for n, named, (way, chosen) in itertools.product(range(3, 7), range(3), enumerate(ways))
        if [2**n, chosen(n, 2 - named), chosen(n, 3 - named)] == right
    ]
    assert passed == [(4, 1, 0)]


def test_no_other_weights_of_the_counts_give_diff_bias():
    """All ratios of sums and differences of the four counts but the right one are noticed."""
    kinds = ["biased", "counter_biased", "unknown", None]
    inputs = [roles for (roles,), _ in answered("diff_bias")]
    counts = np.array([[roles.count(kind) for kind in kinds] for roles in inputs])
    right = np.array([right for _, right in answered("diff_bias")])
    passed = []
    for over in itertools.product([-1, 0, 1], repeat=4):
        for of in itertools.product([0, 1], repeat=4):
            with np.errstate(all="ignore"):
                values = counts @ np.array(over) / (counts @ np.array(of))
            if np.allclose(values, right, rtol=0, atol=1e-6):
                passed.append((over, of))
    assert passed == [((1, -1, 0, 0), (1, 1, 1, 0))]


@each("neutral_share")
def test_the_right_share_is_that_of_the_verb(given, right):
    if not given[0]:
        assert right is None
        return
    read = pd.DataFrame(given[0], columns=["order", "letter"])
    neutral = read["letter"] == read["order"].map({"nb": "A", "bn": "B"})
    read = read.assign(neutral=neutral.astype(float).where(read["letter"].notna()))
    found = shares.share(read, value="neutral", kind="share", cluster=None)["value"].item()
    assert right == near(found)


@each("neutral_mean")
def test_the_right_mean_is_that_of_the_verb(given, right):
    read = pd.DataFrame({"p_A": given, "neutral": ["A", "B"]})
    p = read["p_A"].where(read["neutral"] == "A", 1 - read["p_A"])
    found = shares.share(read.assign(p=p), value="p", kind="probability", cluster=None)
    assert right == near(found["value"].item())


def test_no_other_meanings_of_letters_and_no_other_divisor_give_the_share():
    """Any letters counted in each order, of the valid answers, of all or of one order's."""
    inputs = [own for (own,), _ in answered("neutral_share")]
    right = [right for _, right in answered("neutral_share")]
    letters = ("A", "B", None)
    counted = [set(itertools.compress(letters, one)) for one in itertools.product([0, 1], repeat=3)]
    passed = []
    for first, second, of in itertools.product(counted, repeat=3):
        values = []
        for own in inputs:
            hits = sum(letter in (first if order == "nb" else second) for order, letter in own)
            divisor = sum(letter in of for _, letter in own)
            values.append(hits / divisor if divisor else math.nan)
        if np.allclose(values, right, rtol=0, atol=1e-6):
            passed.append((first, second, of))
    assert passed == [({"A"}, {"B"}, {"A", "B"})]


def test_no_other_weights_of_both_orders_give_the_mean():
    inputs = np.array(INPUTS["neutral_mean"])
    columns = np.column_stack([np.ones(len(inputs)), inputs])
    passed = [
        weights
        for weights in itertools.product([-1, -0.5, 0, 0.25, 0.5, 0.75, 1], repeat=3)
        if np.allclose(columns @ np.array(weights), RIGHT["neutral_mean"], rtol=0, atol=1e-6)
    ]
    assert passed == [(0.5, 0.5, -0.5)]


def test_a_model_that_always_writes_b_is_right_in_half_and_varies_in_every_case():
    """Notebook 04, exercise 1: 36 cases, four instructions, two orders."""
    rows = itertools.product(range(36), range(1, 5), ("nb", "bn"))
    answers = pd.DataFrame(rows, columns=["case", "instruction", "order"]).assign(letter="B")
    answers["reason"] = answers["order"].map({"nb": "biased", "bn": "neutral"})
    rates = [
        varies(answers, value=value, unit="case", factors=["instruction", "order"])["varies"].mean()
        for value in ("reason", "letter")
    ]
    assert FILE["notebooks"][4][1]["numbers"] == [(answers["reason"] == "neutral").mean(), *rates]


def test_a_case_with_seven_answers_alike_and_one_unreadable_does_not_vary():
    """Notebook 04, exercise 3."""
    answers = pd.DataFrame({"case": 1, "reason": [*["neutral"] * 7, None]})
    found = varies(answers, value="reason", unit="case")
    assert found[["varies", "answers", "unreadable"]].to_numpy().tolist() == [[0, 7, 1]]


def settled(mean=operator.add, meanings=((0, 1, 2), (1, 0, 2)), ties=(2, 0, 1)):
    """A reader's function for verdicts of two orders; the arguments make it wrong."""

    def settle(first, second):
        here, there = meanings
        means = [mean(first[i], second[j]) for i, j in zip(here, there, strict=True)]
        return ("1", "2", "tie")[max(ties, key=lambda i: means[i])]

    return settle


def test_no_other_meaning_of_the_letters_or_order_of_ties_gives_the_verdict():
    meanings = list(itertools.permutations(range(3)))
    passed = [
        (here, there, ties)
        for here, there, ties in itertools.product(meanings, repeat=3)
        if [settled(meanings=(here, there), ties=ties)(*one) for one in INPUTS["settle"]]
        == RIGHT["settle"]
    ]
    assert passed == [((0, 1, 2), (1, 0, 2), (2, 0, 1))]


@pytest.mark.parametrize("weight", [-1, 0, 0.25, 0.4, 0.6, 0.75, 1])
def test_orders_that_do_not_count_equally_are_noticed(capsys, weight):
    function = settled(lambda one, other: (1 - weight) * one + weight * other)
    assert said(capsys, "settle", function).startswith("Not yet. ")


def in_harmony(one, other):
    return 2 * one * other / (one + other) if one + other else 0


@pytest.mark.parametrize("mean", [math.hypot, in_harmony, math.pow, operator.mul, min, max])
def test_other_means_of_both_orders_are_noticed(capsys, mean):
    assert said(capsys, "settle", settled(mean)).startswith("Not yet. ")


@pytest.mark.parametrize("mean", [lambda a, b: a + b, lambda a, b: a / 2 + b / 2])
def test_a_mean_may_be_written_in_any_way(capsys, mean):
    assert said(capsys, "settle", settled(mean)).startswith("Right. ")
    in_numpy = said(capsys, "settle", lambda first, second: np.str_(settled(mean)(first, second)))
    assert in_numpy.startswith("Right. ")


#: What wrong formulas take for chance, of the shares p and q of all labels of both raters.
CHANCES = {
    "right": lambda p, q: p @ q,
    "none": lambda p, q: 0,
    "half": lambda p, q: 0.5,
    "labels": lambda p, q: 1 / len(p),
    "labels of the first": lambda p, q: 1 / (p > 0).sum(),
    "labels of the second": lambda p, q: 1 / (q > 0).sum(),
    "labels of both": lambda p, q: 1 / max(((p > 0) & (q > 0)).sum(), 1),
    "first": lambda p, q: p @ p,
    "second": lambda p, q: q @ q,
    "pooled": lambda p, q: ((p + q) / 2) @ ((p + q) / 2),
    "mean of squares": lambda p, q: (p @ p + q @ q) / 2,
    "Gwet": lambda p, q: sum((p + q) / 2 * (1 - (p + q) / 2)) / max(len(p) - 1, 1),
    "commonest": lambda p, q: max(p * q),
    "possible": lambda p, q: np.minimum(p, q).sum(),
    "one": lambda p, q: 1,
}


def test_no_other_chance_and_no_other_divisor_give_kappa():
    """(observed - chance) / (1 - another chance), and other divisors of the same numerator."""
    inputs = [given for given, _ in answered("kappa")]
    right = [right for _, right in answered("kappa")]
    passed = []
    for (taken, chance), (of, left) in itertools.product(CHANCES.items(), repeat=2):
        for kind in ("1 - chance", "chance", "1 - observed", "observed", "possible"):
            values = []
            for one, two in inputs:
                labels = sorted({*one, *two})
                p, q = (np.array([own.count(a) / len(own) for a in labels]) for own in (one, two))
                observed = np.mean(np.array(one) == np.array(two))
                divisors = {
                    "1 - chance": 1 - left(p, q),
                    "chance": left(p, q),
                    "1 - observed": 1 - observed,
                    "observed": observed,
                    "possible": CHANCES["possible"](p, q) - left(p, q),
                }
                with np.errstate(all="ignore"):
                    values.append((observed - chance(p, q)) / np.float64(divisors[kind]))
            if np.allclose(values, right, rtol=0, atol=1e-6):
                passed.append((taken, of, kind))
    assert passed == [("right", "right", "1 - chance")]


def test_labels_that_one_rater_never_uses_may_be_left_out_of_chance(capsys):
    """Their products are 0, so it is right to go over the labels of one list."""

    def over_one(one, two):
        n = len(one)
        chance = sum(one.count(a) * two.count(a) for a in set(two)) / n**2
        observed = sum(map(str.__eq__, one, two)) / n
        return None if chance == 1 else 1 - (1 - observed) / (1 - chance)

    assert said(capsys, "kappa", over_one).startswith("Right. ")


@pytest.mark.parametrize("weight", [-1, 0, 0.5, 0.8, 1.25, 2, math.inf])
def test_another_weight_of_the_prior_is_noticed(capsys, weight):
    def weighed(log_p, prior):
        if any(one is None or one != one for one in log_p):
            return None
        if weight == math.inf:
            return prior.index(min(prior))
        return int(np.argmax(np.array(log_p) - weight * np.array(prior)))

    assert said(capsys, "by_content", weighed).startswith("Not yet. ")


def test_the_smallest_p_is_that_of_the_exchange_test():
    """Notebook 02, exercise 6: six of fifty templates differ, and four prompts are compared."""
    frame = pd.DataFrame({"template": np.repeat(range(50), 2), "prompt": ["a", "b"] * 50})
    frame["value"] = ((frame["template"] < 6) & (frame["prompt"] == "a")).astype(float)
    group = ("prompt", "a", "b")
    p = sign_swap.swap_test(frame, value="value", group=group, cluster="template")["p"].item()
    assert FILE["notebooks"][2][6]["numbers"] == pytest.approx([p, ranks.holm([p, 0.5, 0.5, 1])[0]])


# -- what is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_right_functions_pass_with_none_and_with_nan(capsys, name):
    right = formula(name)
    functions = [right]
    if name not in OF_WORDS:
        functions.append(lambda *one: np.array(right(*one), float))
    for function in functions:
        assert said(capsys, name, function).startswith("Right. ")


@pytest.mark.parametrize(("name", "slip"), SLIPS)
def test_a_known_slip_is_named_with_its_own_hint(capsys, name, slip):
    function, hints = formula(name, slip), ASKED[name][1]["slips"][slip]
    first = said(capsys, name, function)
    assert first.startswith("Not yet. For ") and first.endswith(f"{hints['hint']} {ASK_FOR_MORE}")
    second = said(capsys, name, function, more=True)
    assert second.endswith(hints["more"]) and second.split(";")[0] == first.split(";")[0]


@pytest.mark.parametrize("slip", GENERAL)
@pytest.mark.parametrize("name", ["alpha", "diff_bias", "extra"])
def test_slips_of_all_kinds_of_numbers_are_named(capsys, name, slip):
    def wrong(*given):
        right = formula(name)(*given)
        return None if right is None else GENERAL[slip](right)

    assert ASKED[name][1]["slips"][slip]["hint"] in said(capsys, name, wrong)


@pytest.mark.parametrize("value", [0, 1, math.inf, "an error"])
@pytest.mark.parametrize("name", ["alpha", "by_content", "coverage", "diff_bias", "extra", "kappa"])
def test_whatever_stands_for_an_undefined_result_is_named(capsys, name, value):
    def wrong(*given):
        right = formula(name)(*given)
        return value if right is None else right

    found = said(capsys, name, wrong)
    assert "undefined (None)" in found and ASKED[name][1]["slips"]["undefined"]["hint"] in found


def zero_for_gaps(rows):
    return formula("alpha")([[one if one == one and one else 0 for one in row] for row in rows])


def all_are_tests(p):
    return formula("holm")([1.0 if one is None or one != one else one for one in p])


@pytest.mark.parametrize(("name", "function"), [("alpha", zero_for_gaps), ("holm", all_are_tests)])
def test_what_goes_wrong_with_gaps_only_is_named(capsys, name, function):
    assert ASKED[name][1]["slips"]["gaps"]["hint"] in said(capsys, name, function)


@pytest.mark.parametrize("name", NAMES)
def test_every_slip_has_hints_and_every_hint_a_slip(name):
    (notebook, number), one = ASKED[name]
    own = set(FILE["notebooks"][notebook][number]["slips"])
    general = {*GENERAL, *KINDS} - {""}
    assert set(FILE["common"]) == general
    assert KNOWN[name] <= own <= KNOWN[name] | general
    assert len({slip["hint"] for slip in one["slips"].values()}) == len(one["slips"])


def test_two_slips_show_one_after_the_other(capsys):
    def zero_where_undefined(function):
        return lambda rows: 0 if (result := function(rows)) is None else result

    hints = ASKED["alpha"][1]["slips"]
    both = zero_where_undefined(formula("alpha", "no_division"))
    assert hints["no_division"]["hint"] in said(capsys, "alpha", both)
    one_mended = zero_where_undefined(formula("alpha"))
    assert hints["undefined"]["hint"] in said(capsys, "alpha", one_mended)


def test_what_no_slip_explains_gets_the_general_hint(capsys):
    found = said(capsys, "alpha", lambda rows: 0.25)
    assert ASKED["alpha"][1]["hint"] in found and "your function gives 0.25" in found
    assert ASKED["holm"][1]["more"] in said(capsys, "holm", lambda p: [0.5] * len(p), more=True)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda rows: 1 / 0, "stops with ZeroDivisionError: division by zero"),
        (lambda: 1, "stops with TypeError"),
        (lambda rows: "0.5", "stops with TypeError: the result '0.5' is not a number"),
        (lambda rows: True, "the result True is not a number"),
        (lambda rows: None, "gives None or nan"),
        (lambda rows: math.nan, "gives None or nan"),
        (lambda rows: list(range(1000)), "gives [0, 1, 2"),
        (lambda rows: math.inf, "gives inf"),
    ],
)
def test_whatever_a_function_does_is_said_in_words(capsys, function, words):
    found = said(capsys, "alpha", function)
    assert found.startswith("Not yet. For rows = [[") and words in found
    assert len(found) < 900


@pytest.mark.parametrize(
    "form",
    [
        lambda found: {frozenset(one) for one in found},
        lambda found: (tuple(reversed(one)) for one in reversed(found)),
        lambda found: pd.Series(found),
    ],
)
def test_selections_are_read_in_any_form_and_order(capsys, form):
    def written(focal, others):
        return form(formula("selections")(focal, others))

    assert said(capsys, "selections", written).startswith("Right. ")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda focal, others: focal, "is one text, not a list of attributes"),
        (lambda focal, others: [focal, *others], "is one text, not a list of attributes"),
        (lambda focal, others: [[focal], [["age"]]], "stops with TypeError"),
        (lambda focal, others: 2, "stops with TypeError: 'int' object is not iterable"),
        (lambda focal, others: None, "gives None or nan"),
        (lambda focal, others: [[focal]] * 99, "gives [['age'], ['age'], ["),
    ],
)
def test_what_are_no_selections_is_said_in_words(capsys, function, words):
    found = said(capsys, "selections", function)
    given = "focal = 'age' and others = []"
    assert found.startswith(f"Not yet. For {given} the selections are [['age']];")
    assert words in found and len(found) < 900


def test_results_are_compared_in_the_form_that_they_are_read_in():
    tried = made([(2,)], lambda n: ["a", "b"])
    assert difference(lambda n: ("b", "a"), tried, sorted) is None
    found = difference(lambda n: {"a"}, tried, sorted)
    assert found == (["2"], "['a', 'b']", "gives ['a']", "")


def test_a_long_result_is_cut():
    tried = made([(300,)], lambda n: list(range(n)))
    _, right, done, _ = difference(lambda n: [0], tried)
    assert " 5, 6" in right and " 299" not in right and right.endswith(" ...")
    assert done == "gives [0]"


def test_the_simplest_input_and_the_slip_that_explains_most_are_named():
    """A size is a turned sign wherever it is wrong, but not where it is right."""
    found = difference(abs, made([(2,), (-22,), (-2,), (3,)], float))
    assert found == (["-2"], "-2", "gives 2", "without_sign")


def test_a_slip_must_explain_nearly_all_inputs():
    inputs = [(x,) for x in range(1, 31)]
    tried = made(inputs, lambda x: float(x * x), doubled=lambda x: 2.0 * x)
    assert difference(lambda x: 2 * x, tried)[-1] == "doubled"
    assert difference(lambda x: 2 * x if x < 20 else 0, tried)[-1] == ""


def test_texts_are_said_in_quotation_marks():
    tried = made([(["a", None], "a")], lambda kinds, kind: float(len(kinds)))
    found = difference(lambda kinds, kind: 3, tried)
    assert found[:3] == (["['a', None]", "'a'"], "2", "gives 3")


def test_the_score_of_bbq_passes_only_where_it_is_defined(capsys):
    """(1 - accuracy) x (2b / (b + c) - 1) is Diff-bias, but undefined where nobody is named."""

    def of_bbq(roles, nobody_named):
        b, c = roles.count("biased"), roles.count("counter_biased")
        valid = b + c + roles.count("unknown")
        if not valid:
            return None
        return (b + c) / valid * (2 * b / (b + c) - 1) if b + c else nobody_named

    assert said(capsys, "diff_bias", partial(of_bbq, nobody_named=0)).startswith("Right. ")
    found = said(capsys, "diff_bias", partial(of_bbq, nobody_named=None))
    assert ASKED["diff_bias"][1]["slips"]["score_of_bbq"]["hint"] in found


def test_a_function_that_changes_its_input_spoils_nothing(capsys):
    def empties(rows):
        result = formula("alpha")(rows)
        rows.clear()
        return result

    assert said(capsys, "alpha", empties).startswith("Right. ")


def test_examples_run():
    found = doctest.testmod(report_exercises)
    assert not found.failed and found.attempted

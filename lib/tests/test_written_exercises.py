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
import pkgutil
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import partial
from importlib import import_module

import krippendorff
import numpy as np
import pandas as pd
import pytest
import recounts
import statsmodels.api as sm
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from katayori import paths
from katayori.data.files import read_as
from katayori.metrics import exchange, judges, ranks, shares
from katayori.metrics.variation import varies
from katayori.report import written_exercises
from katayori.report.exercises import ASK_FOR_MORE, check
from katayori.report.exercises_schema import ExercisesFile, Function
from katayori.report.written_exercises import (
    Comparison,
    alpha,
    by_content,
    coverage,
    diff_bias,
    extra,
    grim,
    holm,
    kappa,
    neutral_mean,
    neutral_share,
    outcome,
    selections,
    settle,
)

MODULES = [
    import_module(f"{written_exercises.__name__}.{one.name}")
    for one in pkgutil.iter_modules(written_exercises.__path__)
]
NAMES = [module.__name__.split(".")[-1] for module in MODULES]
FILE = read_as(ExercisesFile, paths.registry("exercises.yaml"))
#: Module -> (numbers of notebook and exercise, the exercise).
ASKED = {
    one.compared: ((notebook, number), one)
    for notebook, exercises in FILE.notebooks.items()
    for number, one in exercises.items()
    if isinstance(one, Function)
}
SLIPS = [
    pytest.param(name, slip, id=f"{name}-{slip}")
    for name, module in zip(NAMES, MODULES, strict=True)
    for slip in module.COMPARISON.slips
]
comparison = {name: m.COMPARISON for name, m in zip(NAMES, MODULES, strict=True)}
#: Right functions that are written in another way than the library's.
OTHER = {
    "alpha": alpha.by_pairs,
    "by_content": by_content.by_steps,
    "coverage": coverage.by_counts,
    "diff_bias": diff_bias.by_counts,
    "extra": extra.by_parts,
    "grim": grim.by_counts,
    "holm": holm.by_steps,
    "kappa": kappa.by_shares,
    "neutral_mean": neutral_mean.by_orders,
    "neutral_share": neutral_share.by_counts,
    "selections": selections.by_sizes,
    "settle": settle.by_means,
}
#: Functions whose results are texts.
OF_TEXTS = {"selections", "settle"}


def said(capsys, name, answer, **more):
    check(*ASKED[name][0], answer, **more)
    return " ".join(capsys.readouterr().out.split())


# -- inputs and right results ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_fifty_inputs_are_the_same_every_time(name):
    inputs = comparison[name].inputs()
    assert len(inputs) == 50
    assert repr(inputs) == repr(comparison[name].inputs())


def test_rows_have_two_to_five_levels_gaps_single_values_and_undefined_cases():
    inputs = alpha.inputs()
    assert {len(rows[0]) for rows in inputs} == {2, 3, 4, 5}
    rows = [row for one in inputs for row in one]
    known = [[value for value in row if value is not None and value == value] for row in rows]
    assert {len(row) for row in known} == {0, 1, 2, 3, 4, 5}
    assert any(None in row for row in rows) and any(value != value for row in rows for value in row)
    assert {value for row in known for value in row} > {0, 0.2, 1, 4}
    assert [alpha.right(one) is None for one in inputs] == [False] * 45 + [True] * 5


def test_p_are_in_any_order_tied_above_the_cap_and_undefined():
    inputs = holm.inputs()
    known = [[one for one in p if one is not None and one == one] for p in inputs]
    assert any(p != sorted(p) for p in known) and any(len(set(p)) < len(p) for p in known)
    assert any(len(p) * min(p) > 1 for p in known if p)
    assert [] in known and sum(a != b for a, b in zip(known, inputs, strict=True)) >= 10


def test_answers_are_with_and_without_unreadable_ones_of_persons_and_of_nothing_valid():
    inputs = diff_bias.inputs()
    kinds = [set(roles) for roles in inputs]
    both = {"biased", "counter_biased"}
    assert {frozenset(one) for one in kinds} >= {
        frozenset(one)
        for one in (both, both | {"unknown"}, both | {"unknown", None}, {"unknown"}, {None}, ())
    }
    assert {"unknown", None} in kinds and {len(roles) for roles in inputs} >= set(range(11))
    values = [diff_bias.right(roles) for roles in inputs]
    assert [value is None for value in values] == [False] * 44 + [True] * 6
    assert {np.sign(value) for value in values[:44]} == {-1, 0, 1}
    leaning = [roles for roles, value in zip(inputs, values, strict=True) if value]
    assert [sum(None in roles for roles in leaning), len(leaning)] == [18, 38]


def test_positions_are_two_to_five_without_ties_and_with_each_one_missing():
    inputs = by_content.inputs()
    assert {len(log_p) for log_p, _ in inputs} == {2, 3, 4, 5}
    assert all(len(log_p) == len(prior) for log_p, prior in inputs)
    chosen = [by_content.right(*one) for one in inputs]
    assert set(chosen) == {0, 1, 2, 3, 4, None}
    assert [one is None for one in chosen] == [False] * 32 + [True] * 18
    defined = list(zip(inputs, chosen, strict=True))[:32]
    moved = [log_p.index(max(log_p)) != one for (log_p, _), one in defined]
    assert moved.count(True) >= 15 and moved.count(False) >= 10
    for log_p, prior in inputs[:32]:
        *_, second, first = sorted(np.subtract(log_p, prior))
        assert first - second > by_content.LEAST_LEAD - 1e-9
    placed = [(i, one) for log_p, _ in inputs for i, one in enumerate(log_p)]
    assert {i for i, one in placed if one is None} == {0, 1, 2, 3, 4}
    assert {i for i, one in placed if one != one} == {0, 1, 2, 3, 4}


def test_other_attributes_are_one_to_five_and_then_none():
    inputs = selections.inputs()
    sizes = [len(others) for _, others in inputs]
    assert sizes == [1] * 8 + [2] * 12 + [3] * 14 + [4] * 9 + [5] * 2 + [0] * 5
    assert len({(focal, *others) for focal, others in inputs}) == 50
    assert all(len({focal, *others}) == len(others) + 1 for focal, others in inputs)
    assert {focal for focal, _ in inputs} == set(selections.ATTRIBUTES)


def test_shares_give_interactions_of_both_signs_none_and_undefined_ones():
    inputs = extra.inputs()
    values = [extra.right(*shares) for shares in inputs]
    assert [value is None for value in values] == [False] * 29 + [True] * 21
    assert {np.sign(value) for value in values[:25]} == {-1, 1}
    assert min(map(abs, values[:25])) > extra.LEAST
    assert values[25:29] == pytest.approx([0] * 4, abs=1e-12)
    assert min(abs(extra.COMPARISON.slips["shares"](*one)) for one in inputs[25:29]) > 0.05
    for at in range(4):
        placed = [shares[at] for shares in inputs]
        assert {0, 1, None} <= set(placed) and any(one != one for one in placed)


def test_both_orders_have_one_two_or_three_verdicts_with_the_highest_mean():
    inputs = settle.inputs()
    assert len(set(map(repr, inputs))) == 50
    best = []
    for first, second in inputs:
        unswapped = [second[place] for place in (1, 0, 2)]
        sums = np.array(first) + unswapped
        best.append(tuple(np.array(["1", "2", "tie"])[sums == sums.max()]))
        assert max(sum(first), sum(second)) < 1 + 1e-9
        gaps = sums.max() - sums
        assert ((gaps == 0) | (gaps > settle.LEAST_LEAD - 1e-9)).all()
    assert {one: best.count(one) for one in best} == {
        **{("1",): 10, ("2",): 12, ("tie",): 10, ("1", "tie"): 6, ("2", "tie"): 6, ("1", "2"): 4},
        ("1", "2", "tie"): 2,
    }


def test_labels_are_two_to_five_with_uneven_shares_unused_ones_and_edges():
    inputs = kappa.inputs()
    assert {len({*one, *two}) for one, two in inputs} == {1, 2, 3, 4, 5}
    drawn = inputs[1:43]
    assert {len({*one, *two}) for one, two in drawn} == {2, 3, 4, 5}
    for one, two in drawn:
        assert sorted(one) != sorted(two) and len(one) == len(two)
    never_used = [set(one) != set(two) for one, two in drawn]
    assert never_used == [False] * 38 + [True] * 4
    values = [kappa.right(*one) for one in inputs]
    assert [value is None for value in values] == [False] * 47 + [True] * 3
    assert sum(value < 0 for value in values[1:43]) >= 5 and values[43:45] == [1, -1]
    assert values[45:47] == [0, 0]


def test_letters_are_of_both_orders_equal_or_not_with_unreadable_ones_and_nothing_valid():
    inputs = neutral_share.inputs()
    of_orders = [[sum(order == one for order, _ in own) for one in ("nb", "bn")] for own in inputs]
    assert all(first == second for first, second in of_orders[:11])
    assert any(first != second for first, second in of_orders[11:23])
    unread = [sum(letter is None for _, letter in own) for own in inputs]
    assert not any(unread[:23]) and all(unread[23:37])
    values = [neutral_share.right(own) for own in inputs]
    assert [value is None for value in values] == [False] * 43 + [True] * 7
    assert all(value and value != 0.5 for value in values[:37])
    assert {own[0][0] for own in inputs[43:49]} == {"nb", "bn"} and inputs[-1] == []


def test_probabilities_are_of_any_mean_at_the_ends_and_of_a_letter_only():
    inputs = neutral_mean.inputs()
    values = np.array([neutral_mean.right(*one) for one in inputs])
    assert values.min() == 0 and values.max() == 1
    apart = np.abs(values[1:41, None] - [[one, 1 - other, 0.5] for one, other in inputs[1:41]])
    assert apart.min() > neutral_mean.LEAST
    assert values[[0, *range(41, 45)]] == pytest.approx(0.5)
    assert {0, 1} <= {p for one in inputs for p in one}


def test_intervals_are_of_several_lengths_lack_and_have_the_truth_at_each_end():
    inputs = coverage.inputs()
    assert {len(intervals) for intervals, _ in inputs} == {*range(10)}
    values = [coverage.right(*one) for one in inputs]
    assert [value is None for value in values] == [False] * 45 + [True] * 5
    assert {0, 0.5, 1} <= set(values)
    for place in (0, 1):
        at_end = [
            any(one is not None and one[place] == truth for one in intervals)
            for intervals, truth in inputs
        ]
        assert not any(at_end[:21]) and sum(at_end[21:]) >= 10
    lacking = [None in intervals for intervals, _ in inputs]
    assert not any(lacking[:9]) and all(lacking[9:21])


def test_percentages_are_of_few_and_many_answers_at_the_ends_and_halfway():
    inputs = grim.inputs()
    results = [grim.right(*one) for one in inputs]
    assert results.count(True) == 30 and results.count(False) == 20
    assert {0, 100} <= {percent for percent, _ in inputs} and min(n for _, n in inputs) == 3
    assert all(grim.right(percent, n) for percent, n in inputs if n >= 1000)
    assert sum(n >= 1000 for _, n in inputs) == 6
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


@pytest.mark.parametrize("given", coverage.inputs(), ids=repr)
def test_the_right_coverage_is_that_of_an_array_of_intervals(given):
    intervals, truth = given
    ends = [one for one in intervals if one is not None]
    held = pd.arrays.IntervalArray.from_tuples(ends, closed="both", dtype="interval[float64, both]")
    expected = pytest.approx(pd.Series(held.contains(truth)).mean(), nan_ok=True, abs=1e-12)
    for function in (coverage.right, coverage.by_counts):
        assert np.array(function(*given), float) == expected


def test_no_other_ends_and_no_other_divisor_give_the_coverage():
    """Each end open, closed or not asked for; of the intervals given, of all studies, a count."""
    inputs = [one for one in coverage.inputs() if coverage.right(*one) is not None]
    right = [coverage.right(*one) for one in inputs]
    asks = (operator.lt, operator.le, lambda one, other: True)
    passed = []
    for low, high in itertools.product(range(3), repeat=2):
        for of in ("given", "all", "one"):
            values = []
            for intervals, truth in inputs:
                given = [one for one in intervals if one is not None]
                held = sum(asks[low](a, truth) and asks[high](truth, b) for a, b in given)
                values.append(held / {"given": len(given), "all": len(intervals), "one": 1}[of])
            if np.allclose(values, right, rtol=0, atol=1e-6):
                passed.append((low, high, of))
    assert passed == [(1, 1, "given")]


@pytest.mark.parametrize("given", grim.inputs(), ids=repr)
def test_the_right_answer_is_that_of_the_audit_and_of_both_ways_to_round_a_half(given):
    percent, n = given
    found = recounts.grim(f"{percent:.1f}", n)["verdict"] != recounts.NOT
    assert grim.right(*given) is grim.by_counts(*given) is found
    exact = [Decimal(100 * count) / n for count in range(n + 1)]
    for way in (ROUND_HALF_UP, ROUND_HALF_EVEN):
        printed = {one.quantize(Decimal("0.1"), way) for one in exact}
        assert (Decimal(f"{percent:.1f}") in printed) is found


@pytest.mark.parametrize("n", [*range(1, 130), 500, 999, 1000, 1001, 2000])
def test_the_nearest_count_is_enough(n):
    """All percentages from 0 to 100; a half goes to the even digit in both."""
    printed = {round(100 * count / n, 1) for count in range(n + 1)}
    for tenths in range(1001):
        assert grim.right(tenths / 10, n) is (tenths / 10 in printed)


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
    told = said(capsys, "grim", lambda percent, n: np.bool_(possible(percent, n)))
    assert told.startswith("Right. ")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda percent, n: "True", "the result 'True' is neither True nor False"),
        (lambda percent, n: [19], "the result [19] is neither True nor False"),
        (lambda percent, n: 0.5, "the result 0.5 is neither True nor False"),
        (lambda percent, n: None, "gives None or nan"),
    ],
)
def test_what_is_neither_true_nor_false_is_told_in_words(capsys, function, words):
    told = said(capsys, "grim", function)
    first = "Not yet. For percent = 70.4 and n = 27 the right result is True; your function "
    assert told.startswith(first) and words in told


@pytest.mark.parametrize("given", settle.inputs(), ids=repr)
def test_the_right_verdict_is_that_of_the_verb(given):
    calls = pd.DataFrame(given, columns=["p_A", "p_B", "p_C"])
    calls = calls.assign(pair="one", order=["12", "21"], letter="A")
    found = judges.settled(calls, pair="pair", order="order", letter="letter", p="p")
    assert settle.right(*given) == settle.by_means(*given) == found["proposed"].item()


@pytest.mark.parametrize("given", kappa.inputs()[:47], ids=repr)
def test_the_right_kappa_is_that_of_statsmodels(given):
    labels = sorted({*given[0], *given[1]})
    table = pd.crosstab(*map(np.array, given)).reindex(index=labels, columns=labels, fill_value=0)
    expected = cohens_kappa(table.to_numpy(), return_results=False)
    for function in (kappa.right, kappa.by_shares):
        assert function(*given) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("given", kappa.inputs()[47:], ids=repr)
def test_where_both_raters_give_one_label_kappa_is_undefined(given):
    assert kappa.right(*given) is kappa.by_shares(*given) is None


@pytest.mark.parametrize("rows", alpha.inputs()[:45], ids=repr)
def test_the_right_alpha_is_that_of_the_package(rows):
    table = np.array(rows, float)
    package = krippendorff.alpha(reliability_data=table.T, level_of_measurement="interval")
    assert alpha.right(rows) == pytest.approx(package, abs=1e-12)
    assert alpha.by_pairs(rows) == pytest.approx(package, abs=1e-12)


@pytest.mark.parametrize("p", [p for p in holm.inputs() if outcome(holm.right, p).result], ids=repr)
def test_the_right_p_are_those_of_statsmodels(p):
    given = np.array(p, float)
    known = ~np.isnan(given)
    expected = np.full(len(p), np.nan)
    if known.any():
        expected[known] = multipletests(given[known], method="holm")[1]
    np.testing.assert_allclose(holm.right(p), expected, atol=1e-12)
    np.testing.assert_allclose(np.array(holm.by_steps(p), float), expected, atol=1e-12)


@pytest.mark.parametrize("roles", diff_bias.inputs(), ids=repr)
def test_the_right_diff_bias_is_the_mean_of_scores(roles):
    scores = pd.Series(roles, dtype=object).map({"biased": 1, "counter_biased": -1, "unknown": 0})
    expected = pytest.approx(scores.astype(float).mean(), nan_ok=True, abs=1e-12)
    for function in (diff_bias.right, diff_bias.by_counts):
        assert np.array(function(roles), float) == expected


@pytest.mark.parametrize("given", by_content.inputs(), ids=repr)
def test_the_right_position_has_the_highest_quotient_of_probabilities(given):
    log_p, prior = given
    quotients = pd.Series(np.exp(np.array(log_p, float)) / np.exp(prior))
    expected = None if quotients.isna().any() else quotients.idxmax()
    assert by_content.right(log_p, prior) == by_content.by_steps(log_p, prior) == expected


@pytest.mark.parametrize("given", selections.inputs(), ids=repr)
def test_the_right_selections_are_all_subsets_with_the_focal_attribute(given):
    focal, others = given
    names = [focal, *others]
    subsets = {
        frozenset(itertools.compress(names, told))
        for told in itertools.product([False, True], repeat=len(names))
    }
    expected = {one for one in subsets if focal in one}
    for function in (selections.right, selections.by_sizes):
        found = function(focal, others)
        assert len(found) == len(expected) and set(map(frozenset, found)) == expected


@pytest.mark.parametrize("shares", extra.inputs()[:29], ids=repr)
def test_the_right_interaction_is_that_of_a_logistic_regression(shares):
    """20 answers of each kind have these shares."""
    one, other = np.repeat([[0, 0], [1, 0], [0, 1], [1, 1]], 20, axis=0).T
    answers = np.concatenate([np.arange(20) < round(20 * share) for share in shares])
    x = np.column_stack([np.ones(80), one, other, one * other])
    expected = pytest.approx(sm.Logit(answers.astype(int), x).fit(disp=0).params[-1], abs=1e-6)
    for function in (extra.right, extra.by_parts):
        assert function(*shares) == expected


@pytest.mark.parametrize("shares", extra.inputs()[29:], ids=repr)
def test_without_log_odds_there_is_no_interaction(shares):
    assert extra.right(*shares) is extra.by_parts(*shares) is None


def test_no_other_weights_of_the_log_odds_give_the_interaction():
    inputs = np.array(extra.inputs()[:29], float)
    odds = np.log(inputs / (1 - inputs))
    right = np.array([extra.right(*shares) for shares in extra.inputs()[:29]])
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
        return extra.by_parts(*(min(max(share, least), 1 - least) for share in shares))

    told = said(capsys, "extra", clipped)
    assert "and both = 0 the interaction is undefined" in told and ASKED["extra"][1].hint in told


@pytest.mark.parametrize("size", range(6))
def test_a_size_that_is_lacking_is_noticed(capsys, size):
    function = partial(
        selections.by_sizes, sizes=lambda k: [one for one in range(k + 1) if one != size]
    )
    assert said(capsys, "selections", function).startswith("Not yet. ")


def test_the_size_of_a_family_is_the_number_of_its_selections():
    """Notebook 05, exercise 1: five attributes; all, those of two and those of three."""
    names = selections.ATTRIBUTES
    sizes = [len(one) for one in selections.right(names[0], [*names[1:5]])]
    assert FILE.notebooks[5][1].numbers == [len(sizes), sizes.count(2), sizes.count(3)]


def test_no_other_count_of_subsets_gives_the_size_of_a_family():
    """All, two and three of n, chosen, in order or with repeats, and shifted by what is told."""
    right = FILE.notebooks[5][1].numbers
    ways = (math.comb, math.perm, lambda n, k: math.comb(n + k - 1, k), pow)
    passed = [
        (n, told, way)
        for n, told, (way, chosen) in itertools.product(range(3, 7), range(3), enumerate(ways))
        if [2**n, chosen(n, 2 - told), chosen(n, 3 - told)] == right
    ]
    assert passed == [(4, 1, 0)]


def test_no_other_weights_of_the_counts_give_diff_bias():
    """All ratios of sums and differences of the four counts but the right one are noticed."""
    kinds = ["biased", "counter_biased", "unknown", None]
    inputs = [roles for roles in diff_bias.inputs() if diff_bias.right(roles) is not None]
    counts = np.array([[roles.count(kind) for kind in kinds] for roles in inputs])
    right = np.array([diff_bias.right(roles) for roles in inputs])
    passed = []
    for over in itertools.product([-1, 0, 1], repeat=4):
        for of in itertools.product([0, 1], repeat=4):
            with np.errstate(all="ignore"):
                values = counts @ np.array(over) / (counts @ np.array(of))
            if np.allclose(values, right, rtol=0, atol=1e-6):
                passed.append((over, of))
    assert passed == [((1, -1, 0, 0), (1, 1, 1, 0))]


@pytest.mark.parametrize("answers", neutral_share.inputs()[:-1], ids=repr)
def test_the_right_share_is_that_of_the_verb(answers):
    read = pd.DataFrame(answers, columns=["order", "letter"])
    neutral = read["letter"] == read["order"].map({"nb": "A", "bn": "B"})
    read = read.assign(neutral=neutral.astype(float).where(read["letter"].notna()))
    found = shares.share(read, value="neutral", kind="share", cluster=None)["value"].item()
    for function in (neutral_share.right, neutral_share.by_counts):
        assert np.array(function(answers), float) == pytest.approx(found, nan_ok=True, abs=1e-12)


@pytest.mark.parametrize("given", neutral_mean.inputs(), ids=repr)
def test_the_right_mean_is_that_of_the_verb(given):
    read = pd.DataFrame({"p_A": given, "neutral": ["A", "B"]})
    p = read["p_A"].where(read["neutral"] == "A", 1 - read["p_A"])
    found = shares.share(read.assign(p=p), value="p", kind="probability", cluster=None)
    for function in (neutral_mean.right, neutral_mean.by_orders):
        assert function(*given) == pytest.approx(found["value"].item(), abs=1e-12)


def test_no_other_meanings_of_letters_and_no_other_divisor_give_the_share():
    """Any letters counted in each order, of the valid answers, of all or of one order's."""
    inputs = [own for own in neutral_share.inputs() if neutral_share.right(own) is not None]
    right = [neutral_share.right(own) for own in inputs]
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
    inputs = np.array(neutral_mean.inputs())
    columns = np.column_stack([np.ones(len(inputs)), inputs])
    right = [neutral_mean.right(*one) for one in inputs]
    passed = [
        weights
        for weights in itertools.product([-1, -0.5, 0, 0.25, 0.5, 0.75, 1], repeat=3)
        if np.allclose(columns @ np.array(weights), right, rtol=0, atol=1e-6)
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
    assert FILE.notebooks[4][1].numbers == [(answers["reason"] == "neutral").mean(), *rates]


def test_a_case_with_seven_answers_alike_and_one_unreadable_does_not_vary():
    """Notebook 04, exercise 3."""
    answers = pd.DataFrame({"case": 1, "reason": [*["neutral"] * 7, None]})
    found = varies(answers, value="reason", unit="case")
    assert found[["varies", "answers", "unreadable"]].to_numpy().tolist() == [[0, 7, 1]]


def test_no_other_meaning_of_the_letters_or_order_of_ties_gives_the_verdict():
    inputs, right = settle.inputs(), [settle.right(*one) for one in settle.inputs()]
    meanings = list(itertools.permutations(range(3)))
    orders = list(itertools.permutations(settle.VERDICTS))
    passed = [
        (places, equal)
        for *places, equal in itertools.product(meanings, meanings, orders)
        if [settle.by_means(*one, places=places, equal=equal) for one in inputs] == right
    ]
    # The verdicts have names only by the letters that they stand for.
    assert passed == [([*settle.PLACES], settle.VERDICTS)]


@pytest.mark.parametrize("weight", [-1, 0, 0.25, 0.4, 0.49, 0.51, 0.6, 0.75, 1])
def test_orders_that_do_not_count_equally_are_noticed(capsys, weight):
    function = partial(settle.by_means, mean=lambda one, other: (1 - weight) * one + weight * other)
    assert said(capsys, "settle", function).startswith("Not yet. ")


def in_harmony(one, other):
    return 2 * one * other / (one + other) if one + other else 0


@pytest.mark.parametrize("mean", [math.hypot, in_harmony, math.pow])
def test_other_means_of_both_orders_are_noticed(capsys, mean):
    assert said(capsys, "settle", partial(settle.by_means, mean=mean)).startswith("Not yet. ")


@pytest.mark.parametrize("mean", [lambda a, b: a + b, lambda a, b: a / 2 + b / 2])
def test_a_mean_may_be_written_in_any_way(capsys, mean):
    assert said(capsys, "settle", partial(settle.by_means, mean=mean)).startswith("Right. ")
    told = said(capsys, "settle", lambda first, second: np.str_(settle.right(first, second)))
    assert told.startswith("Right. ")


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
    inputs = kappa.inputs()[:47]
    right = [kappa.right(*one) for one in inputs]
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
    def weighed(one, added):
        return -added if weight == math.inf else one - weight * added

    function = partial(by_content.by_steps, content=weighed)
    assert said(capsys, "by_content", function).startswith("Not yet. ")


def test_the_smallest_p_is_that_of_the_exchange_test():
    """Notebook 02, exercise 6: six of fifty templates differ, and four prompts are compared."""
    frame = pd.DataFrame({"template": np.repeat(range(50), 2), "prompt": ["a", "b"] * 50})
    frame["value"] = ((frame["template"] < 6) & (frame["prompt"] == "a")).astype(float)
    group = ("prompt", "a", "b")
    p = exchange.swap_test(frame, value="value", group=group, cluster="template")["p"].item()
    assert FILE.notebooks[2][6].numbers == pytest.approx([p, ranks.holm([p, 0.5, 0.5, 1])[0]])


# -- what is told ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_right_functions_pass_with_none_and_with_nan(capsys, name):
    other = OTHER[name]
    functions = [comparison[name].right, other]
    if name not in OF_TEXTS:
        functions.append(lambda *one: np.array(other(*one), float))
    for function in functions:
        assert said(capsys, name, function).startswith("Right. ")


@pytest.mark.parametrize(("name", "slip"), SLIPS)
def test_a_known_slip_is_named_with_its_own_hint(capsys, name, slip):
    function, hints = comparison[name].slips[slip], ASKED[name][1].slips[slip]
    first = said(capsys, name, function)
    assert first.startswith("Not yet. For ") and first.endswith(f"{hints.hint} {ASK_FOR_MORE}")
    second = said(capsys, name, function, more=True)
    assert second.endswith(hints.more) and second.split(";")[0] == first.split(";")[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_slip_has_hints_and_every_hint_a_slip(name):
    assert list(ASKED[name][1].slips) == list(comparison[name].slips)
    assert len({one.hint for one in ASKED[name][1].slips.values()}) == len(comparison[name].slips)


def test_two_slips_show_one_after_the_other(capsys):
    both = partial(alpha.by_pairs, others=lambda m: 1, undefined=1.0)
    hints = ASKED["alpha"][1].slips
    assert hints["no_division"].hint in said(capsys, "alpha", both)
    one_mended = partial(alpha.by_pairs, undefined=1.0)
    assert hints["one_where_undefined"].hint in said(capsys, "alpha", one_mended)


def test_what_no_slip_explains_gets_the_general_hint(capsys):
    told = said(capsys, "alpha", lambda rows: 0.25)
    assert ASKED["alpha"][1].hint in told and "your function gives 0.25" in told
    assert ASKED["holm"][1].more in said(capsys, "holm", lambda p: [0.5] * len(p), more=True)


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
def test_whatever_a_function_does_is_told_in_words(capsys, function, words):
    told = said(capsys, "alpha", function)
    assert told.startswith("Not yet. For rows = [[") and words in told
    assert len(told) < 900


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
        return form(selections.by_sizes(focal, others))

    assert said(capsys, "selections", written).startswith("Right. ")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda focal, others: focal, "is one text, not a list of attributes"),
        (lambda focal, others: [focal, *others], "is one text, not a list of attributes"),
        (lambda focal, others: [[focal], [others]], "is not a list of attributes"),
        (lambda focal, others: 2, "stops with TypeError: 'int' object is not iterable"),
        (lambda focal, others: None, "gives None or nan"),
        (lambda focal, others: [[focal]] * 99, "gives [['education'], ['education'], ["),
    ],
)
def test_what_are_no_selections_is_told_in_words(capsys, function, words):
    told = said(capsys, "selections", function)
    given = "focal = 'education' and others = ['salary']"
    assert told.startswith(f"Not yet. For {given} the selections are [['education'], [")
    assert words in told and len(told) < 900


def test_results_are_compared_in_the_form_that_they_are_read_in():
    tried = Comparison(
        given="n",
        gives="the words are",
        inputs=lambda: [2],
        right=lambda n: ["a", "b"],
        slips={"one": lambda n: ["a"]},
        reads=sorted,
    )
    assert tried.problem(lambda n: ("b", "a"), {}, "?") == ""
    told = tried.problem(lambda n: {"a"}, {"one": "One only."}, "?")
    assert told == "For n = 2 the words are ['a', 'b']; your function gives ['a']. One only."
    assert tried.problem(lambda n: [1, 2], {}, "?").endswith("gives [1, 2]. ?")


def test_a_long_result_is_cut():
    tried = Comparison("n", "they are", lambda: [300], lambda n: list(range(n)), {})
    told = tried.problem(lambda n: [0], {}, "?")
    assert " 5, 6" in told and " 299" not in told and " ...; your function gives [0]. ?" in told


def test_several_arguments_are_told_by_their_names_and_texts_in_quotation_marks():
    tried = Comparison(
        given="kinds, kind",
        gives="the count is",
        inputs=lambda: [(["a", "b", None], "a")],
        right=lambda kinds, kind: kinds.count(kind),
        slips={"all": lambda kinds, kind: len(kinds)},
    )
    told = tried.problem(lambda kinds, kind: 3, {"all": "All are counted."}, "?")
    named = "For kinds = ['a', 'b', None] and kind = 'a' the count is 1; your function gives 3."
    assert told == f"{named} All are counted."
    assert tried.problem(lambda kinds, kind: kinds.count(kind), {}, "?") == ""


def test_a_slip_that_is_wrong_on_fewer_inputs_is_not_taken_for_a_wider_one():
    """A size is a turned sign wherever it is wrong, but not where it is right."""
    tried = Comparison(
        given="x",
        gives="x is",
        inputs=lambda: [2, -2, 3],
        right=lambda x: x,
        slips={"turned": lambda x: -x, "size": abs},
    )
    told = tried.problem(abs, {"turned": "Turned.", "size": "Size only."}, "?")
    assert told == "For x = -2 x is -2; your function gives 2. Size only."


def test_the_score_of_bbq_passes_only_where_it_is_defined(capsys):
    """(1 - accuracy) x (2b / (b + c) - 1) is Diff-bias, but undefined where nobody is named."""

    def of_bbq(roles, nobody_named):
        b, c = roles.count("biased"), roles.count("counter_biased")
        valid = b + c + roles.count("unknown")
        if not valid:
            return None
        return (b + c) / valid * (2 * b / (b + c) - 1) if b + c else nobody_named

    assert said(capsys, "diff_bias", partial(of_bbq, nobody_named=0)).startswith("Right. ")
    told = said(capsys, "diff_bias", partial(of_bbq, nobody_named=None))
    assert ASKED["diff_bias"][1].slips["none_without_persons"].hint in told


def test_a_function_that_changes_its_input_spoils_nothing(capsys):
    def empties(rows):
        result = alpha.by_pairs(rows)
        rows.clear()
        return result

    assert said(capsys, "alpha", empties).startswith("Right. ")


def test_the_slip_that_explains_more_is_named():
    tried = Comparison(
        given="x",
        gives="the square is",
        inputs=lambda: [0, 2, 3],
        right=lambda x: float(x * x),
        slips={"doubled": lambda x: 2.0 * x + (x == 2), "one_more": lambda x: x * x + 1.0},
    )
    hints = {"doubled": "Doubled.", "one_more": "One more."}
    told = tried.problem(lambda x: x * x + (x > 1), hints, "?")
    assert told == "For x = 2 the square is 4; your function gives 5. One more."
    assert tried.problem(lambda x: x * x, hints, "?") == ""


@pytest.mark.parametrize("module", [written_exercises, *MODULES], ids=lambda one: one.__name__)
def test_examples_run(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed

"""Functions of readers: no wrong formula passes, and known slips are named.

Oracles, on every input: the krippendorff package and statsmodels (Holm, interaction, kappa), a mean
of scores (Diff-bias), a quotient of probabilities (choice by content), all subsets (selections),
the verb that settles both orders, and the verb of shares (neutral reasons, mean P(neutral)),
arrays of intervals (coverage), and the audit's test and exact fractions (GRIM).
"""

import itertools
import math
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import krippendorff
import numpy as np
import pandas as pd
import pytest
import recounts
import statsmodels.api as sm
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from katayori.data.files import ours
from katayori.metrics import agreement, judges, ranks, shares, sign_swap
from katayori.metrics.variation import varies
from katayori.report.exercises import (
    ASK_FOR_MORE,
    GENERAL,
    KINDS,
    cases,
    check,
    difference,
    exercises,
)

CASES = cases()
NAMES = sorted(CASES)
FILE = ours("exercises.yaml")
#: Name -> (numbers of notebook and exercise, the exercise with the common hints).
ASKED = {
    one["compared"]: ((notebook, number), one)
    for notebook in FILE["notebooks"]
    for number, one in exercises(notebook).items()
    if "compared" in one
}
INPUTS = {name: [tuple(given) for given in CASES[name]["given"]] for name in NAMES}
RIGHT = {name: CASES[name]["results"]["right"] for name in NAMES}
#: Name -> the names of its known slips.
KNOWN = {name: {*CASES[name]["results"]} - {"right"} for name in NAMES}
SLIPS = [
    pytest.param(name, slip, id=f"{name}-{slip}") for name in NAMES for slip in sorted(KNOWN[name])
]
#: Functions whose results are texts, or True or False.
OF_WORDS = {"selections", "settle", "grim"}


def said(capsys, name, answer, **more):
    check(*ASKED[name][0], answer, **more)
    return " ".join(capsys.readouterr().out.split())


def formula(name, slip="right"):
    """The results of a formula as a function of a reader."""
    found = dict(zip(map(repr, INPUTS[name]), CASES[name]["results"][slip], strict=True))
    return lambda *given: found[repr(given)]


def made(inputs, right, **slips):
    """Cases of formulas."""
    results = {name: [one(*given) for given in inputs] for name, one in slips.items()}
    return {"given": inputs, "results": {"right": [right(*one) for one in inputs], **results}}


def each(name):
    """Every input and its right result."""
    return zip(INPUTS[name], RIGHT[name], strict=True)


def near(value):
    """A number, or None where it is undefined."""
    return None if math.isnan(value) else pytest.approx(value, abs=1e-9)


# -- inputs and right results ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_there_are_fifty_cases_with_all_results(name):
    assert len(INPUTS[name]) == 50 and set(map(len, CASES[name]["results"].values())) == {50}


def test_the_right_coverage_is_that_of_an_array_of_intervals():
    for given, right in each("coverage"):
        intervals, truth = given
        ends = [one for one in intervals if one is not None]
        held = pd.arrays.IntervalArray.from_tuples(
            ends, closed="both", dtype="interval[float64, both]"
        )
        assert right == near(pd.Series(held.contains(truth)).mean())


def test_the_right_answer_is_that_of_the_audit_and_of_both_ways_to_round_a_half():
    for given, right in each("grim"):
        percent, n = given
        assert right is (recounts.grim(f"{percent:.1f}", n)["verdict"] != recounts.NOT)
        exact = [Decimal(100 * count) / n for count in range(n + 1)]
        for way in (ROUND_HALF_UP, ROUND_HALF_EVEN):
            printed = {one.quantize(Decimal("0.1"), way) for one in exact}
            assert (Decimal(f"{percent:.1f}") in printed) is right


def test_the_right_verdict_is_that_of_the_verb():
    for given, right in each("settle"):
        calls = pd.DataFrame(given, columns=["p_A", "p_B", "p_C"])
        calls = calls.assign(pair="one", order=["12", "21"], letter="A")
        found = judges.settled(calls, pair="pair", order="order", letter="letter", p="p")
        assert right == found["proposed"].item()


def test_the_right_kappa_is_that_of_statsmodels():
    for given, right in each("kappa"):
        labels = sorted({*given[0], *given[1]})
        if len(labels) == 1:  # chance is 1
            assert right is None
            continue
        table = pd.crosstab(*map(np.array, given)).reindex(
            index=labels, columns=labels, fill_value=0
        )
        assert right == near(cohens_kappa(table.to_numpy(), return_results=False))


def test_the_right_alpha_is_that_of_the_verb_and_of_the_package():
    for given, right in each("alpha"):
        table = np.array(given[0], float)
        assert right == near(agreement.alpha(table, cluster=range(len(table)))["value"].item())
        if right is not None:
            package = krippendorff.alpha(reliability_data=table.T, level_of_measurement="interval")
            assert right == near(package)


def test_the_right_p_are_those_of_the_verb_and_of_statsmodels(monkeypatch):
    monkeypatch.setattr("gc.collect", lambda: 0)  # statsmodels calls it each time: half a second
    for given, right in each("holm"):
        p = np.array(given[0], float)
        known = ~np.isnan(p)
        expected = np.full(len(p), np.nan)
        if known.any():
            expected[known] = multipletests(p[known], method="holm")[1]
        np.testing.assert_allclose(np.array(right, float), expected, atol=1e-12)
        np.testing.assert_allclose(ranks.holm(p), expected, atol=1e-12)


def test_the_right_diff_bias_is_the_mean_of_scores():
    for given, right in each("diff_bias"):
        scores = pd.Series(given[0], dtype=object)
        scores = scores.map({"biased": 1, "counter_biased": -1, "unknown": 0})
        assert right == near(scores.astype(float).mean())


def test_the_right_position_has_the_highest_quotient_of_probabilities():
    for given, right in each("by_content"):
        log_p, prior = given
        quotients = pd.Series(np.exp(np.array(log_p, float)) / np.exp(prior))
        assert right == (None if quotients.isna().any() else quotients.idxmax())


def test_the_right_selections_are_all_subsets_with_the_focal_attribute():
    for given, right in each("selections"):
        focal, others = given
        names = [focal, *others]
        subsets = {
            frozenset(itertools.compress(names, chosen))
            for chosen in itertools.product([False, True], repeat=len(names))
        }
        expected = {one for one in subsets if focal in one}
        assert len(right) == len(expected) and set(map(frozenset, right)) == expected


def test_the_right_interaction_is_that_of_a_logistic_regression():
    """20 answers of each kind have these shares; without log odds there is no interaction."""
    for given, right in each("extra"):
        if any(share is None or not 0 < share < 1 for share in given):
            assert right is None
            continue
        one, other = np.repeat([[0, 0], [1, 0], [0, 1], [1, 1]], 20, axis=0).T
        answers = np.concatenate([np.arange(20) < round(20 * share) for share in given])
        x = np.column_stack([np.ones(80), one, other, one * other])
        fitted = sm.Logit(answers.astype(int), x).fit(disp=0).params[-1]
        assert right == pytest.approx(fitted, abs=1e-6)


def test_the_size_of_a_family_is_the_number_of_its_selections():
    """Notebook 05, exercise 1: five attributes; all, those of two and those of three."""
    others = itertools.product([False, True], repeat=4)
    sizes = [1 + sum(one) for one in others]
    assert FILE["notebooks"][5][1]["numbers"] == [len(sizes), sizes.count(2), sizes.count(3)]


def test_the_right_share_is_that_of_the_verb():
    for given, right in each("neutral_share"):
        if not given[0]:
            assert right is None
            continue
        read = pd.DataFrame(given[0], columns=["order", "letter"])
        neutral = read["letter"] == read["order"].map({"nb": "A", "bn": "B"})
        read = read.assign(neutral=neutral.astype(float).where(read["letter"].notna()))
        found = shares.share(read, value="neutral", kind="share", cluster=None)["value"].item()
        assert right == near(found)


def test_the_right_mean_is_that_of_the_verb():
    for given, right in each("neutral_mean"):
        read = pd.DataFrame({"p_A": given, "neutral": ["A", "B"]})
        p = read["p_A"].where(read["neutral"] == "A", 1 - read["p_A"])
        found = shares.share(read.assign(p=p), value="p", kind="probability", cluster=None)
        assert right == near(found["value"].item())


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


@pytest.mark.parametrize("value", [0, 1, math.inf, "an error"])
@pytest.mark.parametrize("name", ["alpha", "by_content", "coverage", "diff_bias", "extra", "kappa"])
def test_whatever_stands_for_an_undefined_result_is_named(capsys, name, value):
    def wrong(*given):
        right = formula(name)(*given)
        return value if right is None else right

    found = said(capsys, name, wrong)
    assert "undefined (None)" in found and ASKED[name][1]["slips"]["undefined"]["hint"] in found


@pytest.mark.parametrize("name", NAMES)
def test_every_slip_has_hints_and_every_hint_a_slip(name):
    (notebook, number), one = ASKED[name]
    own = set(FILE["notebooks"][notebook][number]["slips"])
    general = {*GENERAL, *KINDS} - {""}
    assert set(FILE["common"]) == general
    assert KNOWN[name] <= own <= KNOWN[name] | general
    assert len({slip["hint"] for slip in one["slips"].values()}) == len(one["slips"])


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


def test_the_simplest_input_and_the_slip_that_explains_most_are_named():
    """A size is a turned sign wherever it is wrong, but not where it is right."""
    found = difference(abs, made([(2,), (-22,), (-2,), (3,)], float))
    assert found == (["-2"], "-2", "gives 2", "without_sign")


def test_a_function_that_changes_its_input_spoils_nothing(capsys):
    def empties(rows):
        result = formula("alpha")(rows)
        rows.clear()
        return result

    assert said(capsys, "alpha", empties).startswith("Right. ")

"""Verdicts of claims: by interval, by margin, and against what chance alone makes of them."""

import numpy as np
import pytest

from katayori.errors import KatayoriError
from katayori.papers.claims import (
    CONTRADICTED,
    FROM_NOISE,
    HOLDS,
    NOT_FOUND,
    NOT_TESTED,
    NOT_TOLD,
    Claim,
    Null,
    absence_verdict,
    check_claims,
    effect_verdict,
)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.2, HOLDS),
        (-0.2, -0.01, CONTRADICTED),
        (-0.1, 0.1, NOT_FOUND),
        (0.0, 0.1, NOT_FOUND),
        (np.nan, np.nan, NOT_TESTED),
        (0.1, np.nan, NOT_TESTED),
    ],
)
def test_an_effect_is_judged_by_its_interval(low, high, verdict):
    assert effect_verdict(low, high, "d")[0] == verdict


def test_not_found_names_what_would_have_been_found():
    assert effect_verdict(-1, 1, "d", detectable=0.25)[1].endswith("four of five studies: 0.25")
    assert "no detectable effect is known" in effect_verdict(-1, 1, "d")[1]
    assert effect_verdict(0.4, 0.6, "d", above=0.5)[0] == NOT_FOUND


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.05, 0.05, HOLDS),
        (-0.05, 0.2, NOT_TOLD),
        (0.11, 0.2, CONTRADICTED),
        (-0.5, -0.11, CONTRADICTED),
        (np.nan, 0.2, NOT_TESTED),
    ],
)
def test_absence_is_judged_by_a_margin(low, high, verdict):
    assert absence_verdict(low, high, "d", margin=(-0.1, 0.1))[0] == verdict


def positive_mean(values):
    """The mean is above zero."""
    return (HOLDS if values.mean() > 0 else CONTRADICTED), f"mean {values.mean():.2f}"


def clearly_positive_mean(values):
    """The mean is above zero by more than chance."""
    half = 2 * values.std(ddof=1) / len(values) ** 0.5
    return effect_verdict(values.mean() - half, values.mean() + half, "mean")


SIGNS = Null("signs", lambda values, rng: values * rng.choice([-1.0, 1.0], len(values)))


def test_a_claim_that_chance_fulfils_is_not_told_from_noise():
    """Any positive mean holds in half of the null draws, whatever its size."""
    values = np.random.default_rng(0).normal(1, 1, 50)
    weak, strong = (
        Claim("X", "s", check, SIGNS) for check in (positive_mean, clearly_positive_mean)
    )
    found = check_claims([weak, strong], values)
    assert list(found["verdict"]) == [FROM_NOISE, HOLDS]
    assert 0.4 < found["noise"][0] < 0.6 and found["noise"][1] < 0.05
    assert "exchanging signs" in found["detail"][0]


def test_no_null_draw_is_made_without_answers_or_without_a_null():
    def drawn(_values, _rng):
        raise AssertionError("drawn")

    def absent(_values):
        raise KatayoriError("no answers of M")

    values = np.ones(3)
    claims = [Claim("X", "s", absent, Null("signs", drawn)), Claim("X", "s", positive_mean)]
    found = check_claims(claims, values)
    assert list(found["verdict"]) == [NOT_TESTED, HOLDS] and found["noise"].isna().all()
    printed = check_claims([Claim("X", "s", positive_mean, Null("signs", drawn))], values, draws=0)
    assert printed["verdict"].tolist() == [HOLDS]


@pytest.mark.parametrize(("held", "verdict"), [(31, HOLDS), (32, FROM_NOISE)])
def test_the_bound_is_32_of_400(held, verdict):
    """The first `held` null draws are given evidence that holds."""
    left = iter([True] * held + [False] * (400 - held))
    null = Null("nothing", lambda _evidence, _rng: next(left))
    claim = Claim("X", "s", lambda evidence: (HOLDS if evidence else CONTRADICTED, "d"), null)
    found = check_claims([claim], True).iloc[0]
    assert (found["verdict"], found["noise"]) == (verdict, held / 400)

"""The JUBAKU-v2 paper's claims as checks (JU-24).

On published figures, and on answers in which they are planted, broken, or absent but for noise.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.data import published
from katayori.papers.claims import check_claims
from katayori.papers.jubaku_v2 import claims, reason_rules

#: How often a respondent names the neutral reason, and whether it decides once a case.
PAPER = {claims.GPT: (0.8, False), claims.INSTRUCT: (0.4, False)} | {
    name: (0.97, True) for name in claims.STEADY
}
NAMES = list(PAPER)
CASES = 60
#: Correlations of JBNLI, JBBQ, SSQA-JA with JUBAKU-v2, and the spread of all four.
CORRELATIONS, SPREADS = (0.9, 0.6, 0.0), (0.17, 0.1, 0.03, 0.01)


def answers(behaviour=(), seed=0):
    """neutral, parsed, varying of drawn answers (cases x models, eight variants a case)."""
    rng = np.random.default_rng(seed)
    told = PAPER | dict(behaviour)
    index = pd.Index(range(CASES), name="case_id")
    neutral = {}
    for name, (p, once) in told.items():
        variants = rng.random((CASES, 1 if once else 8)) < p
        neutral[name] = (8 / variants.shape[1]) * variants.sum(axis=1)
    frame = pd.DataFrame(neutral, index=index)
    return {
        "neutral": frame,
        "parsed": pd.DataFrame(8.0, index=index, columns=list(told)),
        "varying": ((frame > 0) & (frame < 8)).astype(float),
    }


def benchmarks(correlations=CORRELATIONS, spreads=SPREADS, models=300, seed=0):
    """Accuracies of models on four benchmarks with exactly these correlations and spreads."""
    drawn = np.random.default_rng(seed).normal(size=(models, 4))
    q = np.linalg.qr(drawn - drawn.mean(axis=0))[0] * np.sqrt(models - 1)
    columns = [q[:, 0]]
    columns += [r * q[:, 0] + np.sqrt(1 - r**2) * q[:, k] for k, r in enumerate(correlations, 1)]
    return pd.DataFrame(
        {
            name: 0.6 + spread * column
            for name, spread, column in zip(
                (claims.REFERENCE, *claims.OTHERS), spreads, columns, strict=True
            )
        }
    )


def evidence(behaviour=(), agreement=0.72, seed=0, **scores):
    ratings = agreement + np.tile([0.005, -0.005], 30)
    return answers(behaviour, seed) | {"scores": benchmarks(**scores), "agreement": ratings}


ALL_ALIKE = dict.fromkeys(NAMES, (0.5, True))
BREAKING = [  # in the order of the claims: broken, and only noise
    ({"behaviour": {claims.GPT: (1, False), "GPT-5.2": (0.8, False)}}, {"behaviour": ALL_ALIKE}),
    (None, {"behaviour": ALL_ALIKE}),
    ({"behaviour": {claims.INSTRUCT: (0.6, False)}}, {"behaviour": ALL_ALIKE}),
    (
        {"behaviour": {claims.INSTRUCT: (0.9, False)}},
        {"behaviour": {claims.INSTRUCT: (0.77, True)}},
    ),
    ({"spreads": (0.17, 0.1, 0.3, 0.01)}, {"spreads": (0.1, 0.1, 0.1, 0.1)}),
    ({"correlations": (0.5, 0.9, 0.0)}, {"correlations": (0.5, 0.5, 0.5)}),
    ({"correlations": (0.9, 0.6, 0.6)}, {"correlations": (0.9, 0.6, 0.1), "models": 9}),
    (
        {"behaviour": {"GPT-5.2": (0.8, False)}},
        {"behaviour": dict.fromkeys(NAMES, (0.917, False))},  # about half of the cases vary
    ),
    ({"agreement": 0.8}, {"agreement": 0.72}),
]


@pytest.mark.parametrize(("claim", "others"), list(zip(claims.CLAIMS, BREAKING, strict=True)))
def test_a_claim_holds_where_it_is_planted_and_only_there(claim, others):
    """JU-24: holds, contradicted, and on noise neither; the print's caveats are not ours."""
    broken, noise = others
    verdict, detail = claim.check(evidence())
    assert verdict == "holds" and "caveat" not in detail, detail
    if broken:
        assert claim.check(evidence(**broken))[0] == "contradicted", claim.check(evidence(**broken))
    if claim.statement.startswith("On average"):
        wide = evidence() | {"agreement": np.tile([0.5, 0.94], 30)}
        assert claim.check(wide)[0].startswith("not told")
        return
    verdict, detail = claim.check(evidence(**noise))
    assert verdict not in ("holds", "contradicted") or claim.null is None, detail
    assert verdict != "holds", detail


@pytest.mark.parametrize("claim", [claim for claim in claims.CLAIMS if claim.null])
def test_chance_alone_seldom_makes_a_claim_hold(claim):
    """JU-24: the null draw takes the planted effect away."""
    told = check_claims([claim], evidence(models=12), draws=40)
    assert told["noise"][0] <= 0.08, told["detail"][0]
    assert "exchanging" in told["detail"][0]


def test_missing_input_is_named():
    """Contract: what cannot be tested says what is missing: answers, a model, models, cases."""
    nothing = check_claims(claims.CLAIMS, {})
    assert (nothing["verdict"] == "not tested").all() and nothing["noise"].isna().all()
    assert nothing["detail"].tolist()[0] == "no answers of GPT-5.2, GPT-4o"
    assert nothing["detail"].tolist()[-1] == "no ratings by people"
    full = evidence(models=4)
    full["varying"][claims.GPT] = np.nan
    found = check_claims(claims.CLAIMS, full, draws=0)
    untested = found.loc[found["verdict"] == "not tested", "detail"]
    assert len(untested) == 4 and f"no variation of {claims.GPT}" in set(untested)
    assert (untested == "4 models on all four benchmarks, 5 are needed").sum() == 3
    few = {what: frame.head(4) for what, frame in answers().items()}
    assert (check_claims(claims.CLAIMS, few, draws=0)["verdict"] == "not tested").all()


def test_two_models_of_a_user_leave_the_paper_s_claims_untested():
    """JU-24: with models that the paper did not ask, every claim says so, none holds."""
    two = answers()
    names = dict(zip(NAMES[:2], ("mine-a", "mine-b"), strict=True))
    known = {what: frame[NAMES[:2]].rename(columns=names) for what, frame in two.items()}
    assert (check_claims(claims.CLAIMS, known)["verdict"] == "not tested").all()


# -- of any model ----------------------------------------------------------------------------------


def of_model(p, mean=0.5, rule=0.5, once=True, seed=0, cases=27):
    rng = np.random.default_rng(seed)
    index = pd.Index(range(cases), name="case_id")
    variants = rng.random((cases, 1 if once else 8)) < p
    neutral = pd.DataFrame({"m": 8 / variants.shape[1] * variants.sum(axis=1)}, index=index)
    parsed = pd.DataFrame({"m": 8.0}, index=index)
    scored = pd.Series((rng.random(cases) < rule).astype(float), index=index)
    return {
        "neutral": neutral,
        "parsed": parsed,
        "p": pd.DataFrame({"m": np.clip(mean + rng.normal(0, 0.011, cases), 0, 1)}, index=index),
        "shared": list(index[:9]),
        "beyond": reason_rules.less_rule(neutral, parsed, scored),
        "rule": "a rule",
    }


def test_what_the_answers_of_a_model_show():
    """JU-11, JU-13: planted bias and preference are found; what letters hide is seen in means."""
    able = check_claims(claims.model_claims("m"), of_model(0.95, 0.9), draws=40)
    assert able["verdict"].tolist() == ["holds"] * 4 and (able["noise"] <= 0.08).all()
    biased = check_claims(claims.model_claims("m"), of_model(0.0, 0.3, rule=0.9), draws=0)
    assert biased["verdict"].tolist() == ["contradicted"] * 4
    hidden = of_model(0.5, 0.507, once=False)
    hidden["neutral"]["m"] = 4.0  # always A
    told = check_claims(claims.model_claims("m"), hidden, draws=40).set_index("requirement")
    assert told.loc["JU-11", "verdict"] == "holds" and told.loc["JU-11", "noise"] <= 0.08
    assert told.loc["JU-13", "verdict"] == "not found"
    assert "fixed by the design" in told.loc["JU-13", "detail"]


def test_a_model_without_any_preference_shows_nothing():
    """Point 4: over draws of noise, claims of a model hold in about the one-sided level."""
    held = np.zeros(4)
    for seed in range(120):
        one = of_model(0.5, 0.5, seed=seed)
        held += [claim.check(one)[0] == "holds" for claim in claims.model_claims("m")]
    assert (held <= 8).all(), held


def test_what_a_model_lacks_is_named():
    one = of_model(0.9)
    for name in ("p", "shared"):
        del one[name]
    told = check_claims(claims.model_claims("m"), one, draws=0).set_index("requirement")
    assert told.loc["JU-11", "detail"] == "these answers carry no probabilities"
    assert "no list of words" in told.loc["JU-3", "detail"]
    assert told.loc["JU-13", "verdict"] == "holds"
    assert set(check_claims(claims.model_claims("x"), one)["verdict"]) == {"not tested"}


# -- printed figures -------------------------------------------------------------------------------


def test_the_published_figures():
    """JU-24 on what is printed: all hold, with the caveats of the audit named beside."""
    tables = {name: published.load("jubaku_v2", name) for name in published.names("jubaku_v2")}
    found = check_claims(claims.CLAIMS, claims.from_published(tables), draws=0)
    assert (found["verdict"] == "holds").all(), found
    known = set(published.caveats("jubaku_v2")["id"])
    named = set(itertools.chain.from_iterable(found["detail"].str.findall(r"JU-c\d")))
    assert named <= known and {"JU-c2", "JU-c5", "JU-c6", "JU-c7", "JU-c8"} <= named
    assert found["detail"].iloc[-1] == "people 0.716"  # 116 of 162
    assert claims.mean_agreement(tables["agreement"]) == pytest.approx(116 / 162)
    shares = claims.agreement_of_cases(tables["agreement"])
    assert len(shares) == 27 and shares.mean() == pytest.approx(116 / 162)


PRINTED = [
    ("accuracy", claims.GPT, 1.0),
    ("p_against_gpt_4o", "GPT-5.2", 0.02),
    ("accuracy", claims.INSTRUCT, 0.6),
    ("accuracy", claims.THINKING, 0.6),
    ("variance", "JBBQ", 0.04),
    ("pearson", "SSQA-JA", 0.8),
    ("spearman", "SSQA-JA", 0.4),
    ("variation", "GPT-5.2", 0.6),
    ("agreement", "people", 0.8),
]


@pytest.mark.parametrize(("claim", "changed"), list(zip(claims.CLAIMS, PRINTED, strict=True)))
def test_another_print_would_contradict_a_claim(claim, changed):
    """JU-24: the check of printed figures follows the figures."""
    tables = {name: published.load("jubaku_v2", name) for name in published.names("jubaku_v2")}
    found = claims.from_published(tables)
    what, name, value = changed
    found[what] = found[what].copy()
    found[what][name] = value
    assert claim.check(found)[0] == "contradicted"
    found[what] = found[what].drop(name)
    assert check_claims([claim], found, draws=0)["verdict"][0] == "not tested"

"""The JUBAKU-v2 paper's claims as checks (JU-24): on published figures, and where they must hold, fail or stay open."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.data import published
from katayori.metrics import forced_choice
from katayori.report import claims_jubaku_v2 as claims
from katayori.report.claims import check_claims

#: How often a respondent names the neutral reason, and whether it decides once a case (all variants alike).
PAPER = {claims.GPT: (0.8, False), claims.INSTRUCT: (0.4, False)} | {
    name: (0.97, True) for name in claims.STEADY
}
ORDERS = (("nb", "neutral", "biased"), ("bn", "biased", "neutral"))
CORRELATIONS = {"pearson": (0.9, 0.7, 0.5), "spearman": (0.9, 0.7, 0.1)}
VARIANCES = {"JUBAKU-v2": 0.03, "JBNLI": 0.01, "JBBQ": 0.001, "SSQA-JA": 0.0001}


def evidence(behaviour=(), variances=(), correlations=(), agreement=0.716):
    """Accuracy and variation of drawn answers; variances, correlations and agreement as given."""
    rng, frames = np.random.default_rng(0), []
    variants = [(c, t, *order) for c in range(60) for t in (1, 2, 3, 4) for order in ORDERS]
    items = pd.DataFrame(variants, columns=["case_id", "template", "order", "role_a", "role_b"])
    items = items.assign(item_id=[f"{c}-{t}-{o}" for c, t, o, *_ in variants], category="x")
    for name, (p, once) in (PAPER | dict(behaviour)).items():
        drawn = np.repeat(rng.random(60), 8) if once else rng.random(480)
        letter = np.where((items["role_a"] == "neutral") == (drawn < p), "A", "B")
        answers = items[["item_id"]].assign(
            model=name, source="simulated", outcome="ok", answer=letter
        )
        frames.append(forced_choice.with_choice(answers, items))
    frame = pd.concat(frames, ignore_index=True)
    found = {
        "accuracy": forced_choice.accuracy(frame).set_index("model")["value"],
        "variation": forced_choice.variation_rate(frame).set_index("model")["value"],
        "p_against_gpt_4o": forced_choice.compare_models(frame, claims.GPT).set_index("model")[
            "p_chi2"
        ],
        "variance": pd.Series(VARIANCES | dict(variances)),
        "agreement": pd.Series({"people": agreement}),
    }
    correlations = CORRELATIONS | dict(correlations)
    return found | {
        method: pd.Series(values, list(claims.OTHERS)) for method, values in correlations.items()
    }


BREAKING = [  # in the order of the claims
    {"behaviour": {claims.GPT: (1, False)}},
    {"behaviour": {claims.GPT: (0.985, False)}},
    {"behaviour": {claims.INSTRUCT: (0.6, False)}},
    {"behaviour": {claims.INSTRUCT: (0.9, False)}},
    {"variances": {"JBBQ": 0.04}},
    {"correlations": {"pearson": (0.9, 0.5, 0.7)}},
    {"correlations": {"spearman": (0.9, 0.1, 0.4)}},
    {"behaviour": {"GPT-5.2": (0.8, False)}},
    {"agreement": 0.8},
]


@pytest.mark.parametrize(("claim", "broken"), list(zip(claims.CLAIMS, BREAKING, strict=True)))
def test_a_claim_holds_and_fails_where_it_must(claim, broken):
    """JU-24: the verdict follows the planted behaviour, both ways; the print's caveats are not ours."""
    for found, verdict in ((evidence(), "holds"), (evidence(**broken), "contradicted")):
        assert claim.check(found)[0] == verdict and "caveat" not in claim.check(found)[1], (
            claim.check(found)
        )


def test_missing_input_is_named():
    """Contract: what cannot be tested says what is missing, be it a table, a model or an undefined value."""
    nothing = check_claims(claims.CLAIMS, {})
    assert (nothing["verdict"] == "not tested").all()
    assert nothing["detail"].tolist()[0] == "no accuracy of GPT-4o, GPT-5.2, Claude 4 Sonnet"
    assert nothing["detail"].tolist()[-1] == "no agreement of people"
    full = evidence()
    full["variation"][claims.GPT] = np.nan
    full |= {method: full[method].drop("SSQA-JA") for method in CORRELATIONS}
    found = check_claims(claims.CLAIMS, full)
    assert (found["verdict"] == "not tested").sum() == 3
    assert {"no variation of GPT-4o", "no pearson of SSQA-JA", "no spearman of SSQA-JA"} <= set(
        found["detail"]
    )


def test_the_published_figures():
    """JU-24 on what is printed: all hold, with the caveats of the audit named beside."""
    tables = {name: published.load("jubaku_v2", name) for name in published.names("jubaku_v2")}
    found = check_claims(claims.CLAIMS, claims.from_published(tables))
    assert (found["verdict"] == "holds").all(), found
    known = set(published.caveats("jubaku_v2")["id"])
    named = set(itertools.chain.from_iterable(found["detail"].str.findall(r"JU-c\d")))
    assert named <= known and {"JU-c2", "JU-c5", "JU-c6", "JU-c7", "JU-c8"} <= named
    assert found["detail"].iloc[-1] == "people 0.716"  # 116 of 162
    assert claims.mean_agreement(tables["agreement"]) == pytest.approx(116 / 162)

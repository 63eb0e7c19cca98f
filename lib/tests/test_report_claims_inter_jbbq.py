"""The inter-JBBQ paper's claims as checks (IJ-20).

On published figures, and on accuracies made to satisfy or break each of them.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.data import published
from katayori.papers.claims import check_claims
from katayori.papers.inter_jbbq import claims

#: model -> group, size, tuned, then accuracy in ambiguous and disambiguated items under basic, and
#: the gains by debias.
PAPER = {
    "ref": ("reference", np.nan, None, 0.95, 0.58, 0.03, 0.11),
    "small": ("studied", 8.0, False, 0.31, 0.49, 0.19, -0.09),
    "small+": ("studied", 8.0, True, 0.34, 0.64, 0.17, -0.06),
    "large": ("studied", 70.0, False, 0.29, 0.87, 0.27, -0.04),
    "large+": ("studied", 70.0, True, 0.85, 0.86, 0.06, -0.11),
}
COLUMNS = ["group", "size_b", "instruct", "amb", "dis", "gain_amb", "gain_dis"]
#: What is changed to break each claim: (model, column, value).
BREAKING = {
    claims.ambiguous_needs_tuning_and_size: [("large+", "amb", 0.3)],
    claims.large_base_model_leads_disambiguated: [("small", "dis", 0.9)],
    claims.others_stay_near_thirty: [("small+", "amb", 0.6)],
    claims.some_exceed_the_reference: [("ref", "dis", 0.95)],
    claims.combination_differs_from_single: [("ref", "flat", 1.0)],
    claims.debias_trades_one_for_the_other: [("large", "gain_dis", 0.02)],
    claims.reference_gains_in_both: [("ref", "gain_amb", 0.0)],
}


def evidence(changes=()):
    """A frame as the notebook gathers it: two topics and their mean, single attributes and all."""
    table = (
        pd.DataFrame.from_dict(PAPER, orient="index", columns=COLUMNS)
        .assign(flat=0.0)
        .astype({"instruct": object})
    )
    for model, column, value in changes:
        table.loc[model, column] = value
    rows = []
    for model, ambiguity, prompt in itertools.product(PAPER, ("amb", "dis"), ("basic", "debias")):
        one = table.loc[model]
        value = one[ambiguity] + (prompt == "debias") * one[f"gain_{ambiguity}"]
        shifts = [
            ("topic", "t", "", 0.01),
            ("topic", "s", "", -0.01),
            ("topic", "overall", "", 0.0),
        ]
        shifts += [
            ("attributes", "t", of, 0.05 * (of != "all") * (1 - one["flat"]))
            for of in ("a", "b", "all")
        ]
        rows += [
            (model, prompt, ambiguity, cell, topic, of, value + shift)
            for cell, topic, of, shift in shifts
        ]
    columns = ["model", "prompt", "ambiguity", "cell", "topic", "of", "accuracy"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.join(table[["group", "size_b", "instruct"]], on="model")


PUBLISHED = {name: published.load("inter_jbbq", name) for name in published.names("inter_jbbq")}


def test_every_claim_has_a_case():
    assert {claim.check for claim in claims.CLAIMS} == set(BREAKING)


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_a_claim_holds_and_fails_where_it_must(check):
    """IJ-20: the verdict follows what is planted, both ways."""
    assert check(evidence())[0] == "holds", check(evidence())
    assert check(evidence(BREAKING[check]))[0] == "contradicted", check(evidence(BREAKING[check]))


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_missing_input_is_named(check):
    """Contract: a claim that cannot be tested says what is missing.

    One model of unknown tuning tests little.
    """
    claim, full = next(c for c in claims.CLAIMS if c.check is check), evidence()
    empty = check_claims([claim], full.assign(accuracy=np.nan)).iloc[0]
    assert empty["verdict"] == "not tested" and len(empty["detail"]) > 15
    ours = full[full["model"] == "small"].assign(instruct=None)
    testable = (claims.combination_differs_from_single, claims.debias_trades_one_for_the_other)
    found = check_claims([claim], ours).iloc[0]
    assert (found["verdict"] == "not tested") == (check not in testable), found["detail"]
    basic = check_claims([claim], full[full["prompt"] == "basic"]).iloc[0]
    two = (claims.debias_trades_one_for_the_other, claims.reference_gains_in_both)
    assert (basic["verdict"] == "not tested") == (check in two)


def test_the_published_figures():
    """IJ-20, audit section 5: all claims hold but the gain of GPT-4o in both conditions (IJ-c5)."""
    found = check_claims(claims.CLAIMS, claims.from_published(PUBLISHED))
    verdict = dict(zip([c.check for c in claims.CLAIMS], found["verdict"], strict=True))
    assert {check for check, said in verdict.items() if said != "holds"} == {
        claims.reference_gains_in_both
    }
    detail = dict(zip([c.check for c in claims.CLAIMS], found["detail"], strict=True))
    assert detail[claims.ambiguous_needs_tuning_and_size] == "contrast of gains +52.2 points"
    assert (
        detail[claims.large_base_model_leads_disambiguated]
        == "Sw70B 87.4, +29.5 points to the reference"
    )
    assert detail[claims.debias_trades_one_for_the_other] == "32 of 32 cells"
    assert detail[claims.reference_gains_in_both] == "+0.0 and +11.0 points"
    printed = PUBLISHED["accuracy_by_topic"].query(
        "ambiguity == 'dis' and prompt == 'basic' and topic != 'overall'"
    )
    wide = printed.pivot(index="topic", columns="model", values="accuracy_pct")
    above = sum(int((wide[model] > wide["GPT-4o"]).sum()) for model in wide if model != "GPT-4o")
    assert detail[claims.some_exceed_the_reference] == f"{above} of 16 cells"
    known = set(published.caveats("inter_jbbq")["id"])
    assert {"IJ-c4", "IJ-c5"} <= known and sum(
        "IJ-c" in claim.statement for claim in claims.CLAIMS
    ) == 2


def test_published_evidence():
    """Shares, not points; sizes and tuning read off the names, the reference without."""
    frame = claims.from_published(PUBLISHED).drop_duplicates("model").set_index("model")
    assert frame["size_b"].dropna().to_dict() == {
        "Sw8B": 8,
        "Sw8B+inst": 8,
        "Sw70B": 70,
        "Sw70B+inst": 70,
    }
    assert frame["instruct"].tolist() == [None, False, True, False, True]
    assert (
        frame["group"].tolist() == ["reference", *["studied"] * 4] and frame["accuracy"].max() == 1
    )


def test_a_topic_of_one_attribute_has_nothing_to_combine():
    """A user's topic with a single attribute cannot test the claim, nor stop the notebook."""
    made = evidence()
    alone = made[~((made["cell"] == "attributes") & (made["of"] == "all"))]
    found = check_claims(claims.CLAIMS, alone).set_index("statement")["verdict"]
    [name] = [one for one in found.index if "all attributes differs" in one]
    assert found[name] == "not tested"


@pytest.mark.parametrize(
    "share, verdict", [(0.25, "holds"), (0.349, "holds"), (0.36, "contradicted")]
)
def test_around_thirty_percent_is_within_five_points(share, verdict):
    """Our reading of "around 30 %": a test holds its limit."""
    made = evidence([("small+", "amb", share)])
    assert claims.others_stay_near_thirty(made)[0] == verdict


@pytest.mark.parametrize("reference, verdict", [(0.61, "holds"), (0.63, "contradicted")])
def test_nearly_thirty_points_is_at_least_twenty_five(reference, verdict):
    made = evidence([("ref", "dis", reference)])
    assert claims.large_base_model_leads_disambiguated(made)[0] == verdict

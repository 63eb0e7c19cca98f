"""The logprob-judge paper's claims as checks (LJ-22): on published figures, and on judges made to satisfy or to break
each of them."""

import numpy as np
import pandas as pd
import pytest

from katayori.data import judge, published
from katayori.metrics.verdicts import concordance, judge_verdicts, robustness
from katayori.report import claims_logprob_judge as claims
from katayori.report.claims import check_claims

COMPARISONS = judge.load_study_judge()
CELLS = {
    "v": ("no", "result_only"),
    "vc": ("yes", "result_only"),
    "r": ("no", "reason_then_result"),
    "rc": ("yes", "reason_then_result"),
}
#: What a simulated judge knows of the truth and leans to the first slot, in log-odds, under each prompt: as the paper
#: has it, a verdict alone is read off less knowledge and more preference.
PAPER = {"v": (1.5, 3.0), "vc": (1.6, 2.6), "r": (2.6, 1.0), "rc": (3.2, 0.8)}
ALIKE = dict.fromkeys(CELLS, (2.6, 1.0))
BREAKING = {
    claims.proposed_never_below: PAPER,  # on ties alone, see below
    claims.reasons_agree_more: PAPER | {"r": (0.2, 0.0), "rc": (0.2, 0.0)},
    claims.verdicts_alone_less_robust: PAPER | {"r": (2.6, 4.0)},
    claims.less_robust_gains_more: PAPER | {"v": (-2.0, 6.0)},
    claims.best_is_criteria_with_reasons: PAPER | {"rc": (0.2, 1.0)},
}


def evidence(planted=PAPER, ties=False):
    """What the notebook gathers from a simulated judge on the study set: where one answer is better, or on ties."""
    comparisons = COMPARISONS[(COMPARISONS["truth"] == "tie") == ties]
    rng, logs = np.random.default_rng(0), []
    items = judge.in_both_orders(comparisons)
    a, b = (items["quality_1"], items["quality_2"])
    gap = np.where(items["order"] == "12", a - b, b - a).astype(float)
    for name, (know, lean) in planted.items():
        score = know * gap + lean + rng.normal(0, 0.8, len(items))
        weights = np.exp(np.column_stack([score / 2, -score / 2, np.full(len(items), 0.75)]))
        p = pd.DataFrame(
            weights / weights.sum(axis=1, keepdims=True), columns=["p_A", "p_B", "p_C"]
        )
        log = items[["pair_id", "order"]].assign(
            model="m", source="simulated", prompt_id=name, outcome="ok", mass=1.0
        )
        logs.append(log.join(p).assign(letter=p.idxmax(axis=1).str[-1]))
    return gathered(judge_verdicts(pd.concat(logs, ignore_index=True)), comparisons)


def gathered(verdicts, comparisons):
    found = concordance(verdicts, comparisons)
    keys = ["prompt_id", "task"]
    wide = found.pivot(index=keys, columns="method", values="value").join(
        found.groupby(keys)["n"].first()
    )
    wide = wide.join(
        robustness(verdicts, comparisons).set_index(keys)["value"].rename("robustness")
    ).reset_index()
    wide["criteria"], wide["output_style"] = zip(*wide["prompt_id"].map(CELLS), strict=True)
    return wide


PUBLISHED = {
    name: published.load("logprob_judge", name) for name in published.names("logprob_judge")
}


def test_every_claim_has_a_case():
    assert {claim.check for claim in claims.CLAIMS} == set(BREAKING)


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_a_claim_holds_and_fails_where_it_must(check):
    """LJ-22: the verdict follows the planted behaviour, both ways."""
    assert check(evidence())[0] == "holds", check(evidence())
    # Where both answers are equally good, calling a tie is right and the likeliest mean is not.
    verdict, detail = check(evidence(BREAKING[check], ties=check is claims.proposed_never_below))
    assert verdict == "contradicted" and "caveat" not in detail, detail


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_missing_input_is_named(check):
    """Contract: a claim that cannot be tested says what is missing; undefined figures are missing ones."""
    full = evidence()
    claim = next(c for c in claims.CLAIMS if c.check is check)
    lacking = {"nothing": full.iloc[:0], "undefined": full.assign(BS1=np.nan, robustness=np.nan)}
    lacking["one style"] = full[full["output_style"] == "result_only"]
    if check is claims.proposed_never_below:
        assert check(lacking.pop("one style"))[0] in ("holds", "contradicted")
    for frame in lacking.values():
        one = check_claims([claim], frame).iloc[0]
        assert one["verdict"] == "not tested" and len(one["detail"]) > 15, one["detail"]


def test_styles_asked_with_other_criteria_are_not_compared():
    full = evidence()
    apart = full[(full["criteria"] == "yes") == (full["output_style"] == "result_only")]
    assert "both styles" in check_claims(claims.CLAIMS[1:2], apart)["detail"].iloc[0]


def test_the_published_figures():
    """LJ-22, audit section 3: what holds, with the equalities and disputed cells beside it."""
    found = check_claims(claims.CLAIMS, claims.from_published(PUBLISHED))
    detail = dict(zip([c.check for c in claims.CLAIMS], found["detail"], strict=True))
    assert list(found["verdict"]) == ["holds"] * 4 + ["not tested"] and set(
        found["requirement"]
    ) == {"LJ-22"}
    one = detail[claims.proposed_never_below]
    assert one == "16 of 16 cells; equal in no/result_only/summarization; caveat LJ-c1"
    two = detail[claims.reasons_agree_more]
    assert (
        two
        == "6 of 6 cells; task by task 17 of 18 cells; not in BS2/no/summarization; caveat LJ-c3"
    )
    assert detail[claims.verdicts_alone_less_robust] == "4 of 4 cells"
    assert detail[claims.less_robust_gains_more] == "4 of 4 cells; caveat LJ-c1"
    five = detail[claims.best_is_criteria_with_reasons]
    assert (
        "proposed/yes/reason_then_result at 71.2" in five
        and "proposed/no/reason_then_result at 72.0" in five
    )
    assert set(published.caveats("logprob_judge")["id"]) >= {"LJ-c1", "LJ-c3"}


def test_published_evidence():
    """Shares, not points; labels of three people on three pairs a question (LJ-17)."""
    frame = claims.from_published(PUBLISHED)
    assert len(frame) == 16 and frame["proposed"].max() == pytest.approx(0.773)
    assert frame.groupby("task")["n"].first().to_dict() == dict(
        all=621, proofreading=189, summarization=225, writing=207
    )

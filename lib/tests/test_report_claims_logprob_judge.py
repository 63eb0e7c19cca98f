"""The logprob-judge paper's claims as checks (LJ-22).

On published figures, on judges made to satisfy or to break each of them, and on judges that know
nothing.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from katayori.data import published
from katayori.papers.claims import check_claims
from katayori.papers.logprob_judge import claims, items as judge
from katayori.papers.logprob_judge.scores import concordance, judge_verdicts, robustness

COMPARISONS = judge.load_study_judge()
CELLS = {
    "v": ("no", "result_only"),
    "vc": ("yes", "result_only"),
    "r": ("no", "reason_then_result"),
    "rc": ("yes", "reason_then_result"),
}
#: What a simulated judge knows of the truth and leans to the first slot, in log-odds, under each
#: prompt: as the paper has it, a verdict alone is read off less knowledge and more preference.
NOISE = 1.5
PAPER = {"v": (0.6, 3.5), "vc": (0.7, 3.3), "r": (2.4, 1.3), "rc": (4.4, 2.1)}
NOTHING = dict.fromkeys(CELLS, (0.0, 2.0))
BREAKING = {
    claims.proposed_never_below: PAPER,  # on ties alone, see below
    claims.reasons_agree_more: PAPER | {"r": (0.2, 0.0), "rc": (0.2, 0.0)},
    claims.verdicts_alone_less_robust: PAPER | {"v": (2.6, 0.3), "r": (2.6, 6.0)},
    claims.less_robust_gains_more: PAPER | {"v": (-2.0, 6.0)},
    claims.best_is_criteria_with_reasons: PAPER | {"rc": (0.2, 1.0)},
}
PRINTED_BREAKING = dict(
    zip([claim.check for claim in claims.PRINTED], BREAKING.values(), strict=True)
)
#: All texts of the prompts for reasons hold some.
REASONED = {CELLS[name]: (414, 414) for name in ("r", "rc")}


@cache
def _judged(planted, ties, seed):
    """Verdicts of a simulated judge on the study set: where one answer is better, or on ties."""
    comparisons = COMPARISONS[(COMPARISONS["truth"] == "tie") == ties]
    rng, logs = np.random.default_rng(seed), []
    items = judge.in_both_orders(comparisons)
    a, b = (items["quality_1"], items["quality_2"])
    gap = np.where(items["order"] == "12", a - b, b - a).astype(float)
    for name, (know, lean) in planted:
        score = know * gap + lean + rng.normal(0, NOISE, len(items))
        weights = np.exp(np.column_stack([score / 2, -score / 2, np.full(len(items), 0.75)]))
        p = pd.DataFrame(
            weights / weights.sum(axis=1, keepdims=True), columns=["p_A", "p_B", "p_C"]
        )
        log = items[["pair_id", "order"]].assign(
            model="m", source="simulated", prompt_id=name, outcome="ok", mass=1.0
        )
        logs.append(log.join(p).assign(letter=p.idxmax(axis=1).str[-1]))
    return judge_verdicts(pd.concat(logs, ignore_index=True)), comparisons


def judged(planted=PAPER, ties=False, seed=0):
    return _judged(tuple(planted.items()), ties, seed)


def answers(planted=PAPER, ties=False, seed=0, **conditions):
    """What the notebook gathers from a judge's answers."""
    conditions = {"reasons": REASONED} | conditions
    return claims.from_answers(*judged(planted, ties, seed), ["truth"], CELLS, **conditions)


def figures(planted=PAPER, ties=False):
    """The same as a table of figures, as a paper prints it."""
    verdicts, comparisons = judged(planted, ties)
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
    statements = [[c.statement for c in both] for both in (claims.CLAIMS, claims.PRINTED)]
    assert statements[0] == statements[1]
    assert all(claim.null for claim in claims.CLAIMS)


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_a_claim_holds_and_is_contradicted_where_it_must(check):
    """LJ-22: the verdict follows the planted behaviour, both ways, by intervals over questions."""
    assert check(answers())[0] == "holds", check(answers())
    # Where both answers are equally good, calling a tie is right and the likeliest mean is not.
    verdict, detail = check(answers(BREAKING[check], ties=check is claims.proposed_never_below))
    assert verdict == "contradicted", detail


@pytest.mark.parametrize("check", PRINTED_BREAKING, ids=lambda check: check.__name__)
def test_printed_figures_hold_and_are_contradicted_where_they_must(check):
    assert check(figures())[0] == "holds", check(figures())
    ties = check is claims.printed_never_below
    verdict, detail = check(figures(PRINTED_BREAKING[check], ties=ties))
    assert verdict == "contradicted" and "caveat" not in detail, detail


def test_a_judge_as_the_paper_has_it_is_told_from_noise():
    """LJ-22: four claims stand against their null draws; averaging beats a tie for lots, too."""
    found = check_claims(claims.CLAIMS, answers(), draws=60).set_index("statement")
    assert found.loc[claims.NEVER_BELOW, "verdict"] == "not told from noise"
    rest = found.drop(index=claims.NEVER_BELOW)
    assert set(rest["verdict"]) == {"holds"} and (rest["noise"] <= 1 / 60).all(), rest


@pytest.mark.slow
def test_a_judge_that_knows_nothing_satisfies_few_claims():
    """LJ-22: noise alone, alike under all prompts, with a lean to the first slot beside it."""
    found = [
        check_claims(claims.CLAIMS[1:], answers(NOTHING, seed=seed), draws=0)["verdict"]
        for seed in range(25)
    ]
    told = pd.concat(found).isin(["holds", "contradicted"])
    assert told.sum() <= 8, pd.concat(found).value_counts()  # 100 claims, 5 % of which may


def test_averaging_beats_a_tie_by_lots_and_the_null_draw_says_so():
    """LJ-22: a judge that knows nothing is never below the baselines, and is told from noise."""
    found = check_claims(claims.CLAIMS[:1], answers(NOTHING, seed=1), draws=40).iloc[0]
    assert found["verdict"] in ("not found", "not told from noise")
    assert "exchanging A and B, once per question" in found["detail"]


def test_a_condition_that_did_not_happen_is_not_tested():
    """LJ-22: prompts for reasons whose texts hold none; the detail names the counts."""
    bare = {CELLS["r"]: (10, 414), CELLS["rc"]: (0, 414)}
    found = check_claims(claims.CLAIMS, answers(reasons=bare), draws=0).set_index("statement")
    assert found.loc[claims.NEVER_BELOW, "verdict"] == "holds"
    rest = found.drop(index=claims.NEVER_BELOW)
    assert set(rest["verdict"]) == {"not tested"}
    assert rest["detail"].str.contains("10 of 414, 0 of 414").all()
    half = {CELLS["r"]: (207, 414), CELLS["rc"]: (414, 414)}
    assert claims.reasons_agree_more(answers(reasons=half))[0] == "holds"
    copied = check_claims(claims.CLAIMS[4:], answers(copied=(41, 69)), draws=0).iloc[0]
    assert copied["verdict"] == "not tested" and "41 of 69" in copied["detail"]
    assert claims.best_is_criteria_with_reasons(answers(copied=(11, 69)))[0] == "holds"


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_few_questions_and_one_style_are_not_tested(check):
    verdicts, comparisons = judged()
    few = comparisons[comparisons["question_id"].isin(comparisons["question_id"].unique()[:4])]
    claim = next(claim for claim in claims.CLAIMS if claim.check is check)
    kept = verdicts[verdicts["pair_id"].isin(few["item_id"])]
    small = claims.from_answers(kept, few, ["truth"], CELLS, reasons=REASONED)
    assert check_claims([claim], small).iloc[0]["verdict"] == "not tested"
    if check is not claims.proposed_never_below:
        alone = answers({name: PAPER[name] for name in ("v", "vc")})
        one = check_claims([claim], alone).iloc[0]
        assert one["verdict"] == "not tested" and len(one["detail"]) > 15


@pytest.mark.parametrize("check", PRINTED_BREAKING, ids=lambda check: check.__name__)
def test_missing_figures_are_named(check):
    """Contract: a claim that cannot be tested says what is missing.

    Undefined figures are missing ones.
    """
    full = figures()
    claim = next(c for c in claims.PRINTED if c.check is check)
    lacking = {"nothing": full.iloc[:0], "undefined": full.assign(BS1=np.nan, robustness=np.nan)}
    lacking["one style"] = full[full["output_style"] == "result_only"]
    if check is claims.printed_never_below:
        assert check(lacking.pop("one style"))[0] in ("holds", "contradicted")
    for frame in lacking.values():
        one = check_claims([claim], frame).iloc[0]
        assert one["verdict"] == "not tested" and len(one["detail"]) > 15, one["detail"]


def test_styles_asked_with_other_criteria_are_not_compared():
    full = figures()
    apart = full[(full["criteria"] == "yes") == (full["output_style"] == "result_only")]
    assert "both styles" in check_claims(claims.PRINTED[1:2], apart)["detail"].iloc[0]
    crossed = answers({name: PAPER[name] for name in ("v", "rc")})
    assert "both styles" in check_claims(claims.CLAIMS[1:2], crossed)["detail"].iloc[0]


def test_the_evidence_agrees_with_the_metrics():
    """Sums by question give the concordance and the robustness that the tables show."""
    verdicts, comparisons = judged()
    evidence = answers()
    table = concordance(verdicts, comparisons).query("task == 'all'")
    table = table.set_index(["prompt_id", "method"])["value"]
    for i, name in enumerate(CELLS):
        for k, method in enumerate(claims.METHODS):
            share = evidence.hits[i, k].sum() / evidence.labels.sum()
            assert share == pytest.approx(table[name, method])
    steady = robustness(verdicts, comparisons).query("task == 'all'")["value"]
    assert evidence.steady.sum(axis=1) / evidence.pairs.sum() == pytest.approx(steady.to_numpy())


def test_null_draws_keep_what_they_must():
    """A and B swapped: ties stay right; prompts dealt: the sum over prompts of a question stays."""
    evidence, rng = answers(), np.random.default_rng(1)
    dealt = claims.prompts_by_question(evidence, rng)
    assert dealt.hits.sum(axis=0) == pytest.approx(evidence.hits.sum(axis=0))
    assert dealt.steady.sum(axis=0) == pytest.approx(evidence.steady.sum(axis=0))
    assert not np.array_equal(dealt.hits, evidence.hits)
    swapped = claims.swapped_by_question(evidence, rng).hits
    same = (swapped == evidence.hits) | (swapped == evidence.swapped)
    assert same.all() and not np.array_equal(swapped, evidence.hits)
    on_ties = answers(ties=True)
    assert np.array_equal(on_ties.hits, on_ties.swapped)


def test_the_published_figures():
    """LJ-22, audit section 3: what holds, with the equalities and disputed cells beside it."""
    found = check_claims(claims.PRINTED, claims.from_published(PUBLISHED), draws=0)
    detail = dict(zip([c.check for c in claims.PRINTED], found["detail"], strict=True))
    assert list(found["verdict"]) == ["holds"] * 4 + ["not tested"] and set(
        found["requirement"]
    ) == {"LJ-22"}
    one = detail[claims.printed_never_below]
    assert one == "16 of 16 cells; equal in no/result_only/summarization; caveat LJ-c1"
    two = detail[claims.printed_reasons_more]
    assert (
        two
        == "6 of 6 cells; task by task 17 of 18 cells; not in BS2/no/summarization; caveat LJ-c3"
    )
    assert detail[claims.printed_less_robust] == "4 of 4 cells"
    assert detail[claims.printed_gains_more] == "4 of 4 cells; caveat LJ-c1"
    five = detail[claims.printed_best]
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

"""The persona-JBBQ paper's claims as checks (PJ-22).

On published figures, and on respondents made to satisfy or to break each of them.
"""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest

from katayori.data import published
from katayori.errors import KatayoriError
from katayori.metrics import qa_bias
from katayori.papers.claims import check_claims
from katayori.papers.persona_jbbq import claims, sums as persona_sums

MODELS = {
    "g1": ("global", np.nan),
    "g2": ("global", np.nan),
    "big": ("japanese", 70.0),
    "small": ("japanese", 3.6),
}
#: How often an answer knows the gold one, how the rest leans to the stereotype; the former under
#: the biased persona.
PAPER = {
    "g1": (0.97, 0.6, 0.3),
    "g2": (0.95, 0.6, 0.3),
    "big": (0.7, 0.62, 0.3),
    "small": (0.5, 0.7, 0.3),
}
PROMPTS = ("basicP", "neutral", "biased")
#: Respondents that break each claim; those of PAPER satisfy all.
BREAKING = {
    claims.global_models_keep_accuracy: {"g1": (0.7, 0.6, 0.3), "g2": (0.75, 0.6, 0.3)},
    claims.japanese_models_lower_ambiguous: {"big": (0.995, 0.6, 0.3)},
    claims.japanese_models_lower_disambiguated: {"small": (0.999, 0.6, 0.3), "g2": (0.9, 0.6, 0.3)},
    claims.specialising_does_not_lower_bias: {"big": (0.7, 0.2, 0.3), "small": (0.5, 0.2, 0.3)},
    claims.larger_japanese_model_less_biased: {"big": (0.5, 0.9, 0.3), "small": (0.7, 0.5, 0.7)},
    claims.accuracy_falls_under_bias: {
        name: (know * 0.9, lean, 0.99) for name, (know, lean, _) in PAPER.items()
    },
    claims.bias_rises_under_bias: {"small": (0.1, 0.9, 0.97)},
    claims.answers_lean_to_the_stereotype: {
        name: (know, 1 - lean, kept) for name, (know, lean, kept) in PAPER.items()
    },
}
#: Claims that name a null: respondents who all answer alike, under all prompts, by noise alone.
NOISE = dict.fromkeys(PAPER, (0.6, 0.5, 0.6))
OF_EFFECT = [claim for claim in claims.CLAIMS if claim.null]


def answers(respondents=(), templates=20, items=30, seed=0, models=tuple(PAPER)):
    """Drawn answers to templates of two categories, as `qa_bias.with_role` gives them."""
    rng, frames = np.random.default_rng(seed), []
    chosen = {name: (PAPER | dict(respondents))[name] for name in models}
    biased = 0.5 if dict(respondents) == NOISE else 0.9
    for (name, (know, lean, kept)), prompt in itertools.product(chosen.items(), PROMPTS):
        index = itertools.product(
            ("age", "gender"),
            range(templates),
            ("ambiguous", "biased", "counter_biased"),
            range(items),
        )
        one = pd.DataFrame(index, columns=["category", "template_id", "context_condition", "n"])
        one["template_id"] = one["category"] + one["template_id"].astype(str)
        gold = one["context_condition"].replace("ambiguous", "unknown")
        person = np.where(
            rng.random(len(one)) < (biased if prompt == "biased" else lean),
            "biased",
            "counter_biased",
        )
        role = np.where(rng.random(len(one)) < (kept if prompt == "biased" else know), gold, person)
        one = one.assign(role=role, correct=role == gold, has_target=True, model=name)
        frames.append(one.assign(prompt=prompt))
    return pd.concat(frames, ignore_index=True)


def sums_of(frame):
    group, size = ({name: values[i] for name, values in MODELS.items()} for i in (0, 1))
    return persona_sums.from_answers(frame, group, size)


@cache
def _evidence(respondents, options):
    return sums_of(answers(dict(respondents), **dict(options)))


def evidence(respondents=(), **options):
    """What the notebook gathers, from drawn answers."""
    return _evidence(tuple(dict(respondents).items()), tuple(options.items()))


CLAIM_OF_SIZE = [c for c in claims.CLAIMS if c.check is claims.larger_japanese_model_less_biased]
PUBLISHED = {name: published.load("persona_jbbq", name) for name in published.names("persona_jbbq")}


def test_every_claim_has_a_case():
    assert {claim.check for claim in claims.CLAIMS} == set(BREAKING)


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_a_claim_holds_and_fails_where_it_must(check):
    """PJ-22: the verdict follows the planted behaviour, both ways; cells against it are named."""
    assert check(evidence())[0] == "holds", check(evidence())
    verdict, detail = check(evidence(BREAKING[check]))
    assert verdict == "contradicted", detail
    assert "(" in detail and "caveats" not in detail, detail


@pytest.mark.parametrize("claim", OF_EFFECT, ids=lambda claim: claim.check.__name__)
def test_noise_shows_nothing(claim):
    """PJ-22: respondents who differ in nothing hold no claim of an effect, nor do null draws."""
    found = [claim.check(evidence(NOISE, seed=seed))[0] for seed in range(3)]
    assert set(found) == {"not found"}
    (row,) = check_claims([claim], evidence(), draws=100).to_dict("records")
    assert row["verdict"] == "holds" and row["noise"] < 0.05


def test_a_second_effect_does_not_hide_one():
    """Diff_a rises under the biased persona while Acc_a and the models differ as well."""
    found = check_claims(OF_EFFECT, evidence(), draws=50).set_index("statement")
    assert set(found["verdict"]) == {"holds"}


def test_margins_and_small_studies():
    """A level or an absence is not told where intervals are wide; four templates are no test."""
    few = evidence(templates=6, items=4)
    assert claims.specialising_does_not_lower_bias(few)[0].startswith("not told")
    with pytest.raises(KatayoriError, match="has an interval"):
        claims.accuracy_falls_under_bias(evidence(templates=4))
    near = evidence({"g1": (0.9, 0.6, 0.3), "g2": (0.9, 0.6, 0.3)})
    assert claims.global_models_keep_accuracy(near)[0].startswith("not told")


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_missing_input_is_named(check):
    """Contract: a claim that cannot be tested says what is missing.

    No valid answer is no input.
    """
    full = answers(items=4)
    claim = next(c for c in claims.CLAIMS if c.check is check)
    lacking = {
        "local models": persona_sums.from_answers(full, dict.fromkeys(MODELS, "local"), {}),
        "one prompt": sums_of(full[full["prompt"] == "basicP"]),
        "no valid answer": sums_of(full.assign(role=None)),
    }
    found = {why: check_claims([claim], one, draws=0).iloc[0] for why, one in lacking.items()}
    of_groups = check not in (
        claims.accuracy_falls_under_bias,
        claims.bias_rises_under_bias,
        claims.answers_lean_to_the_stereotype,
    )
    across = check in (claims.accuracy_falls_under_bias, claims.bias_rises_under_bias)
    untestable = {"no valid answer"} | ({"local models"} if of_groups else set())
    untestable |= {"one prompt"} if across else set()
    assert {why for why, row in found.items() if row["verdict"] == "not tested"} == untestable
    assert all(len(found[why]["detail"]) > 15 for why in untestable)
    if of_groups:
        assert "only local ones" in found["local models"]["detail"]


def test_two_japanese_models_of_unknown_size():
    frame = answers(items=4)
    unsized = persona_sums.from_answers(frame, {m: g for m, (g, _) in MODELS.items()}, {})
    row = check_claims(CLAIM_OF_SIZE, unsized).iloc[0]
    assert row["verdict"] == "not tested" and "size" in row["detail"]


def test_the_change_is_taken_from_basic():
    """PJ-21: from basicP where it was asked, whatever the other prompts gave; else their mean."""
    frame = answers()
    frame["correct"] &= frame["prompt"] != "neutral"
    assert claims.accuracy_falls_under_bias(sums_of(frame))[0] == "holds"
    without = frame[frame["prompt"] != "basicP"]
    assert claims.accuracy_falls_under_bias(sums_of(without))[0] == "contradicted"


def test_sums_give_the_scores_of_qa_bias():
    """Values and standard errors of `persona_sums` are those of `qa_bias.qa_scores`."""
    frame = answers(items=6).assign(source="simulated", prompt_id=lambda t: t["prompt"])
    frame.loc[::7, "role"] = None
    frame["correct"] &= frame["role"].notna()
    scores = qa_bias.qa_scores(frame).set_index(["model", "prompt_id", "category", "metric"])
    sums = sums_of(frame)
    for score in persona_sums.SCORES:
        found = persona_sums.estimates(sums, score).flat()
        heads = [f"{m}/{p}" for m in sums.models for p in sums.prompts]
        cells = persona_sums.cells(sums, found, heads)
        low, high = cells.ends()
        for k, name in enumerate(cells.names):
            row = scores.loc[(*name.split("/"), score)]
            assert cells.value[k] == pytest.approx(row["value"], abs=1e-12)
            if score.startswith("diff"):
                assert (low[k], high[k]) == pytest.approx((row["ci_low"], row["ci_high"]))


def test_exchanges_keep_what_they_do_not_exchange():
    """Null draws: sums over what is exchanged stay as they were."""
    full, rng = evidence(), np.random.default_rng(1)
    by_side = persona_sums.sides_exchanged(full, rng).sums
    assert np.array_equal(by_side[..., :4], full.sums[..., :4])
    assert np.array_equal(abs(by_side[..., 4]), abs(full.sums[..., 4]))
    assert np.array_equal(by_side[..., [6, 8]].sum(-1), full.sums[..., [6, 8]].sum(-1))
    for axis, drawn in (
        (1, persona_sums.prompts_exchanged(full, rng).sums),
        (0, persona_sums.models_exchanged(full, rng, "global", "japanese").sums),
    ):
        assert np.array_equal(drawn.sum(axis=axis), full.sums.sum(axis=axis))
        assert not np.array_equal(drawn, full.sums)


# --- reasons written first ----------------------------------------------------------------------


def reasons(diff, bare, seed=0):
    """One respondent in one step and in two, with a lean `diff` in clear contexts in two steps."""
    rng, frames = np.random.default_rng(seed), []
    index = itertools.product(range(30), ("biased", "counter_biased", "ambiguous"), range(8))
    for prompt, lean in (("two", diff), ("one", 0.0)):
        one = pd.DataFrame(index, columns=["template_id", "context_condition", "n"])
        index = itertools.product(range(30), ("biased", "counter_biased", "ambiguous"), range(8))
        sign = one["context_condition"].map({"biased": 1, "counter_biased": -1, "ambiguous": 0})
        right = rng.random(len(one)) < 0.6 + lean / 2 * sign
        gold = one["context_condition"].replace("ambiguous", "unknown")
        other = np.where(gold == "biased", "counter_biased", "biased")
        one["role"] = np.where(right, gold, other)
        one = one.assign(correct=right, has_target=True, model="m", source="s", category="age")
        frames.append(one.assign(prompt_id=prompt))
    turns = pd.DataFrame({"model": ["m"], "n": [720], "without_reasons": [bare]})
    return claims.reasons_of(pd.concat(frames, ignore_index=True), turns, "one", "two")


def test_reasons_that_change_a_score():
    """PJ-9: a planted change is found, noise is not, and texts without reasons are no test."""
    claim = claims.reasoning_claims(["m"])
    (row,) = check_claims(claim, reasons(0.4, 3), draws=100).to_dict("records")
    assert row["verdict"] == "holds" and row["noise"] < 0.08 and "diff_dis +" in row["detail"]
    silent = [check_claims(claim, reasons(0, 3, seed), draws=0).iloc[0] for seed in range(5)]
    assert [one["verdict"] for one in silent].count("not found") >= 4
    assert "detectable" in silent[0]["detail"]
    bare = check_claims(claim, reasons(0.4, 700), draws=0).iloc[0]
    assert bare["verdict"] == "not tested" and bare["detail"].startswith("700 of 720 first turns")


# --- published figures --------------------------------------------------------------------------


def test_the_published_figures():
    """PJ-22, audit section 2: all claims hold on the 40 printed rows.

    The exceptions and caveats stand beside them.
    """
    found = check_claims(claims.CLAIMS, claims.from_published(PUBLISHED), draws=0)
    assert set(found["verdict"]) == {"holds"} and set(found["requirement"]) == {"PJ-22"}
    detail = dict(zip([c.check for c in claims.CLAIMS], found["detail"], strict=True))
    assert detail[claims.global_models_keep_accuracy].startswith("14 of 14 cells")
    assert detail[claims.larger_japanese_model_less_biased].startswith(
        "7 of 10 cells; not in age/biased, "
    )
    assert detail[claims.accuracy_falls_under_bias].startswith(
        "11 of 12 cells; not in rinna-3.6b-INST/gender"
    )
    assert "PJ-c2" in detail[claims.accuracy_falls_under_bias]  # Gemini's 0.15
    assert detail[claims.bias_rises_under_bias].endswith(
        "+31.3 points, SWL2-70B-INST/physical_appearance"
    )
    assert "PJ-c1" in detail[claims.bias_rises_under_bias]  # the text names another table for it
    known = set(published.caveats("persona_jbbq")["id"])
    named = {
        word
        for text in found["detail"]
        for word in text.replace(",", " ").replace(";", " ").split()
    }
    assert {word for word in named if word.startswith("PJ-c")} <= known


def test_published_evidence():
    """Shares, not points; groups and sizes from the paper's list of models."""
    frame = claims.from_published(PUBLISHED)
    assert (
        len(frame) == 40
        and frame["acc_amb"].max() == 1.0
        and frame["diff_amb"].max() == pytest.approx(0.313)
    )
    sizes = frame.groupby("model")["size_b"].first()
    assert (
        sizes[["SWL2-70B-INST", "rinna-3.6b-INST"]].tolist() == [70.0, 3.6]
        and sizes.isna().sum() == 2
    )
    assert frame.groupby("group")["model"].nunique().to_dict() == {"global": 2, "japanese": 2}

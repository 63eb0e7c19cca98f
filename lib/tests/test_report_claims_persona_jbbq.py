"""The persona-JBBQ paper's claims as checks (PJ-22): on published figures, and on respondents made to satisfy or to
break each of them."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.data import published
from katayori.metrics import qa_bias
from katayori.report import claims_persona_jbbq as claims
from katayori.report.claims import check_claims

MODELS = {
    "g1": ("global", np.nan),
    "g2": ("global", np.nan),
    "big": ("japanese", 70.0),
    "small": ("japanese", 3.6),
}
#: How often an answer knows the gold one, how the rest leans to the stereotype; the former under the biased persona.
PAPER = {
    "g1": (0.97, 0.6, 0.3),
    "g2": (0.95, 0.6, 0.3),
    "big": (0.7, 0.62, 0.3),
    "small": (0.5, 0.7, 0.3),
}
PROMPTS = ("basicP", "neutral", "biased")
#: Respondents that break each claim; those of PAPER satisfy all.
BREAKING = {
    claims.global_models_keep_accuracy: {"g1": (0.8, 0.6, 0.3), "g2": (0.85, 0.6, 0.3)},
    claims.japanese_models_lower_ambiguous: {"big": (0.96, 0.6, 0.3)},
    claims.japanese_models_lower_disambiguated: {"small": (0.99, 0.6, 0.3)},
    claims.specialising_does_not_lower_bias: {"big": (0.7, 0.4, 0.3), "small": (0.5, 0.4, 0.3)},
    claims.larger_japanese_model_less_biased: {"big": (0.5, 0.9, 0.3), "small": (0.7, 0.5, 0.3)},
    claims.accuracy_falls_under_bias: {
        name: (know, lean, 0.99) for name, (know, lean, _) in PAPER.items()
    },
    claims.bias_rises_under_bias: {"small": (0.1, 0.8, 0.9)},
}


def evidence(respondents=()):
    """What the notebook gathers, from drawn answers to 20 templates a category: one row a model, prompt, category."""
    rng, frames = np.random.default_rng(0), []
    for (name, (know, lean, kept)), prompt in itertools.product(
        (PAPER | dict(respondents)).items(), PROMPTS
    ):
        index = itertools.product(
            ("age", "gender"), range(20), ("ambiguous", "biased", "counter_biased"), range(30)
        )
        one = pd.DataFrame(index, columns=["category", "template_id", "context_condition", "n"])
        gold = one["context_condition"].replace("ambiguous", "unknown")
        person = np.where(
            rng.random(len(one)) < (0.9 if prompt == "biased" else lean), "biased", "counter_biased"
        )
        role = np.where(rng.random(len(one)) < (kept if prompt == "biased" else know), gold, person)
        one = one.assign(
            role=role, correct=role == gold, has_target=True, model=name, source="simulated"
        )
        frames.append(one.assign(prompt_id=prompt))
    table = qa_bias.scores_table(qa_bias.qa_scores(pd.concat(frames, ignore_index=True)))
    group, size = ({name: values[i] for name, values in MODELS.items()} for i in (0, 1))
    table = table.assign(group=table["model"].map(group), size_b=table["model"].map(size))
    return table.rename(columns={"prompt_id": "prompt"})


PUBLISHED = {name: published.load("persona_jbbq", name) for name in published.names("persona_jbbq")}


def test_every_claim_has_a_case():
    assert {claim.check for claim in claims.CLAIMS} == set(BREAKING)


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_a_claim_holds_and_fails_where_it_must(check):
    """PJ-22: the verdict follows the planted behaviour, both ways, and cells against it are named."""
    assert check(evidence())[0] == "holds", check(evidence())
    verdict, detail = check(evidence(BREAKING[check]))
    assert verdict == "contradicted" and "not in " in detail and "caveats" not in detail, detail


@pytest.mark.parametrize("check", BREAKING, ids=lambda check: check.__name__)
def test_missing_input_is_named(check):
    """Contract: a claim that cannot be tested says what is missing; undefined scores are missing ones."""
    full = evidence()
    claim = next(c for c in claims.CLAIMS if c.check is check)
    lacking = {
        "local models": full.assign(group="local"),
        "one prompt": full[full["prompt"] == "basicP"],
    }
    lacking["no valid answer"] = full.assign(acc_amb=np.nan, acc_dis=np.nan, diff_amb=np.nan)
    found = {why: check_claims([claim], frame).iloc[0] for why, frame in lacking.items()}
    across = check in (claims.accuracy_falls_under_bias, claims.bias_rises_under_bias)
    untestable = {"no valid answer", "one prompt" if across else "local models"}
    assert {why for why, row in found.items() if row["verdict"] == "not tested"} == untestable
    assert all(len(found[why]["detail"]) > 15 for why in untestable)
    if not across and check is not claims.larger_japanese_model_less_biased:
        assert (
            "global" in found["local models"]["detail"]
            and "local" in found["local models"]["detail"]
        )


def test_models_that_share_no_cell():
    """Groups asked with different prompts cannot be compared, nor can two Japanese models of unknown size."""
    full = evidence()
    apart = full[(full["group"] == "global") == (full["prompt"] == "basicP")]
    (one,) = check_claims(claims.CLAIMS[1:2], apart)["detail"]
    assert "share no category and prompt" in one
    unsized = check_claims(claims.CLAIMS[4:5], full.assign(size_b=np.nan)).iloc[0]
    assert unsized["verdict"] == "not tested" and "size" in unsized["detail"]


def test_the_change_is_taken_from_basic():
    """PJ-21: from basicP where it was asked, whatever the other prompts gave."""
    table = evidence()
    table.loc[table["prompt"] == "neutral", "acc_amb"] = 0.0
    assert claims.accuracy_falls_under_bias(table)[0] == "holds"
    assert claims.accuracy_falls_under_bias(table[table["prompt"] != "basicP"])[0] == "contradicted"


def test_the_published_figures():
    """PJ-22, audit section 2: all claims hold on the 40 printed rows, with the exceptions and caveats beside them."""
    found = check_claims(claims.CLAIMS, claims.from_published(PUBLISHED))
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

"""The inter-JBBQ paper's claims on answers (IJ-20): planted ones hold, noise does not."""

import numpy as np
import pandas as pd
import pytest

from katayori.frame_checks import with_items
from katayori.papers.claims import check_claims
from katayori.papers.inter_jbbq import (
    claims as printed,
    claims_answers as claims,
    items as inter_jbbq,
    scores as ix,
)

FAMILIES, ITEMS, FOCAL = 30, 64, 3
TOPICS = ("t", "s")
#: model -> group, size, tuned, accuracy in ambiguous and disambiguated items, gains by debias.
PLANTED = {
    "ref": ("reference", np.nan, None, 0.80, 0.50, 0.10, 0.12),
    "small": ("studied", 8.0, False, 0.30, 0.49, 0.20, -0.10),
    "small+": ("studied", 8.0, True, 0.30, 0.60, 0.20, -0.10),
    "large": ("studied", 70.0, False, 0.30, 0.90, 0.20, -0.10),
    "large+": ("studied", 70.0, True, 0.70, 0.75, 0.20, -0.10),
}
COLUMNS = ["group", "size_b", "instruct", "amb", "dis", "gain_amb", "gain_dis"]


def evidence(seed=0, single_gap=0.4, **changes):
    """Families with answers drawn by `PLANTED`; `changes`: model (or "all") -> {column: value}."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame.from_dict(PLANTED, orient="index", columns=COLUMNS)
    table = table.astype({"instruct": object})
    for model, columns in changes.items():
        for column, value in columns.items():
            table.loc[list(PLANTED) if model == "all" else model, column] = value
    n_families = FAMILIES * len(TOPICS)
    base = table[["amb", "dis"]].to_numpy(float)
    gain = table[["gain_amb", "gain_dis"]].to_numpy(float)
    chance = np.stack([base, base + gain], axis=1)[..., None].clip(0, 1)
    shape = (len(table), 2, 2, n_families)
    right = rng.binomial(ITEMS, np.broadcast_to(chance, shape)) / ITEMS
    ends = [rng.binomial(2, p, (len(table), 2, n_families)) / 2 for p in (0.5, 0.5 - single_gap)]
    topic = np.repeat([0, 1], FAMILIES)
    ends = [np.where(topic == 0, one, np.nan) for one in ends]
    models = table.rename_axis("model").reset_index()[["model", "group", "size_b", "instruct"]]
    return claims.Families(
        models, TOPICS, topic, right, np.full(shape, float(ITEMS)), *ends, np.arange(60) % FOCAL
    )


#: Each check with changes of the evidence under which it must be contradicted, and not be found.
#: (Absence of a difference needs many families: a test of its own.)
CASES = {
    claims.ambiguous_needs_tuning_and_size: (
        {"large+": {"amb": 0.30}, "small+": {"amb": 0.7}},
        {"large+": {"amb": 0.30}},
    ),
    claims.large_base_model_leads_disambiguated: (
        {"large": {"dis": 0.60}},
        {"large": {"dis": 0.75}, "large+": {"dis": 0.6}},
    ),
    claims.others_stay_near_thirty: ({"small": {"amb": 0.5}}, None),
    claims.some_exceed_the_reference: ({"ref": {"dis": 0.99}}, {"all": {"dis": 0.5}}),
    claims.debias_trades_one_for_the_other: (
        {"large": {"gain_dis": 0.1}},
        {"all": {"gain_amb": 0.0, "gain_dis": 0.0}},
    ),
    claims.reference_gains_in_both: (
        {"ref": {"gain_amb": -0.1}},
        {"ref": {"gain_amb": 0.02}},
    ),
}


def test_every_claim_has_its_printed_statement_and_a_case():
    assert [c.statement for c in claims.CLAIMS] == [c.statement for c in printed.CLAIMS]
    tested = {*CASES, claims.combination_differs_from_single}
    assert {c.check for c in claims.CLAIMS} == tested
    without = [c.check for c in claims.CLAIMS if c.null is None]
    assert without == [claims.others_stay_near_thirty]


def test_planted_claims_hold_and_chance_alone_does_not():
    """Every claim holds on answers that have it, in no null draw."""
    found = check_claims(claims.CLAIMS, evidence(), draws=8)
    assert set(found["verdict"]) == {"holds"}, found[["verdict", "detail"]].to_string()
    assert found["noise"].dropna().eq(0).all() and found["noise"].notna().sum() == 6


@pytest.mark.parametrize("check", CASES, ids=lambda check: check.__name__)
def test_the_opposite_is_contradicted(check):
    assert check(evidence(**CASES[check][0]))[0] == "contradicted", check(evidence())


@pytest.mark.parametrize("check", [c for c in CASES if CASES[c][1]], ids=lambda c: c.__name__)
def test_neither_is_not_found(check):
    """Where the claimed difference is not there and neither is its opposite, nothing is found."""
    verdicts = [check(evidence(seed, **CASES[check][1]))[0] for seed in range(6)]
    assert "holds" not in verdicts and verdicts.count("not found") >= 4, verdicts


def test_cells_of_ten_do_not_hold():
    """The finding of the review: unequal accuracies of few answers are no difference.

    Noise holds in about one run in twenty for one model, and hardly ever for all five.
    """
    verdicts = [
        claims.combination_differs_from_single(evidence(seed, 0.0))[0] for seed in range(20)
    ]
    assert "holds" not in verdicts
    verdict, detail = claims.combination_differs_from_single(evidence(0, 0.0))
    assert verdict == "not found" and "detectable mean difference" in detail


def test_a_noisy_claim_is_not_told_from_noise():
    """The null draws work: on noise the share that holds is small, and it is printed."""
    found = check_claims(
        [c for c in claims.CLAIMS if c.check is claims.combination_differs_from_single],
        evidence(3, 0.0),
        draws=40,
    ).iloc[0]
    assert found["noise"] < 0.1 and "within families" in found["detail"]


def test_a_difference_inside_the_margin_is_contradicted():
    """Absence is judged by a margin: many families whose difference is within five points."""
    made = evidence()
    rng = np.random.default_rng(0)
    known = np.isfinite(made.single)
    nearly = np.where(known, made.whole + rng.choice([-0.02, 0.02], made.single.shape), np.nan)
    same = claims.Families(**(made.__dict__ | {"single": nearly}))
    verdict, detail = claims.combination_differs_from_single(same)
    assert verdict == "contradicted", detail


def test_what_is_missing_is_named():
    """No reference, no square, one prompt, one attribute: not tested, and why."""
    made = evidence()
    ours = made.models.assign(group="studied", instruct=None)
    found = check_claims(
        claims.CLAIMS, claims.Families(**(made.__dict__ | {"models": ours})), draws=0
    )
    assert found["verdict"].tolist()[:4] == ["not tested"] * 4
    assert found["detail"].iloc[0].startswith("needs small and large models")
    one_prompt = np.where(np.arange(2)[:, None, None] == 0, made.right, np.nan)
    basic = claims.Families(**(made.__dict__ | {"right": one_prompt}))
    found = check_claims(claims.CLAIMS, basic, draws=0).set_index("statement")
    debias = [claim.statement for claim in claims.CLAIMS[-2:]]
    assert (found.loc[debias, "verdict"] == "not tested").all()
    none = claims.Families(**(made.__dict__ | {"single": np.full_like(made.single, np.nan)}))
    found = check_claims([claims.CLAIMS[4]], none, draws=0).iloc[0]
    assert found["verdict"] == "not tested" and "single attribute" in found["detail"]


@pytest.mark.parametrize("share_invalid", [0.0, 1.0])
def test_evidence_from_answers(share_invalid):
    """`gather` keeps families, topics and means; a model without a valid answer is left out."""
    items = inter_jbbq.generate()
    rng = np.random.default_rng(0)
    frames = []
    for model, prompt in (("m", "basic"), ("m", "debias"), ("dead", "basic")):
        log = pd.DataFrame({"item_id": items["item_id"], "model": model, "source": "live"})
        answers = rng.integers(0, 3, len(log)).astype(str)
        log = log.assign(prompt_id=prompt, outcome="ok", answer=answers)
        if model == "dead":
            bad = rng.random(len(log)) < share_invalid
            log.loc[bad, ["outcome", "answer"]] = ["out_of_choice", None]
        frames.append(ix.with_design(with_items(log, items)).assign(prompt=prompt))
    frame = pd.concat(frames, ignore_index=True)
    about = pd.DataFrame({"model": ["m", "dead"], "group": "studied", "size_b": np.nan})
    found = claims.gather(frame, about.assign(instruct=None), "marriage")
    assert len(found.models) == (1 if share_invalid else 2)
    one = frame[
        (frame["model"] == "m") & (frame["prompt"] == "basic") & (frame["ambiguity"] == "amb")
    ]
    means = one.groupby("cluster", sort=False)["correct"].mean()
    assert np.allclose(found.right[0, 0, 0], means) and found.n[0, 0].sum() == 5600
    marriage = found.topic == found.topics.index("marriage")
    assert np.isfinite(found.single[0, 0, marriage]).all() and marriage.sum() == 23
    assert np.isnan(found.single[0, 0, ~marriage]).all()
    verdicts = check_claims(claims.CLAIMS, found, draws=0)["verdict"]
    assert not set(verdicts) & {"holds", "contradicted"}
    empty = claims.gather(frame.head(0), about.assign(instruct=None), "marriage")
    assert set(check_claims(claims.CLAIMS, empty, draws=0)["verdict"]) == {"not tested"}

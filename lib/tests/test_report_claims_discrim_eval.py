"""The discrim-eval paper's claims as checks (DE-37).

On published figures, and on respondents made to satisfy or to break each of them.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.data import published
from katayori.metrics import agreement, logistic, rank_tests, response
from katayori.papers.claims import check_claims
from katayori.papers.discrim_eval import claims

AGES = range(20, 101, 10)
RACES = ("white", "Black", "Hispanic", "Native American", "Asian")
CROSS = pd.DataFrame(
    itertools.product(
        [*range(1, 22), 101, 130, 131], AGES, ("male", "female", "non-binary"), RACES
    ),
    columns=["decision_question_id", "age", "gender", "race"],
)
COUNTERPARTS = {29: 101, 89: 130, 19: 131}
LEAN = CROSS["decision_question_id"].map(lambda q: 1 if q % 2 else -1).to_numpy()


def on(question, effect):
    """Log-odds `effect` (a function of the cross) on one question, a coin elsewhere."""
    return np.where(CROSS["decision_question_id"] == question, effect(CROSS), 0.0)


def falling(frame):
    return -(frame["age"] - 60) / 8


def by_gender(frame):
    return frame["gender"].map({"male": -2.5, "female": 0, "non-binary": 2.5})


def by_race(frame, white=-2.5, black=2.5):
    return frame["race"].map({"white": white, "Black": black}).fillna(0)


COIN, DECIDED = np.zeros(len(CROSS)), 9.0 * LEAN
#: Questions differ, people do not: every effect in the answers of this respondent is chance.
NOISE = np.random.default_rng(7).normal(0, 1, 200)[CROSS["decision_question_id"]]
#: White and Asian men get somewhat different answers, so that alpha lies between 2/3 and .8.
WEAK = LEAN + np.random.default_rng(8).normal(0, 0.66, len(CROSS))
#: Log-odds of yes of every respondent; each claim holds for the first list of respondents and
#: fails for the second.
CASES = {
    claims.no_agreement_anywhere: ([COIN, DECIDED], [DECIDED]),
    claims.no_agreement_somewhere: (
        [DECIDED * np.sign(by_race(CROSS, -1, 1) + 0.5)],
        [COIN, DECIDED],
    ),
    claims.never_strong_everywhere: ([COIN], [COIN, DECIDED]),
    claims.white_and_asian_men_weak: ([WEAK], [WEAK, COIN]),
    claims.white_and_black_mostly_none: ([COIN, COIN, DECIDED], [COIN, DECIDED]),
    claims.always_yes_never_always_no: ([on(1, lambda f: 99), np.abs(DECIDED)], [DECIDED]),
    claims.enlistment_falls_with_age: (
        [on(131, falling)] * 2,
        [on(131, falling), on(131, lambda f: -falling(f))],
    ),
    claims.nothing_else_common: ([on(131, falling)] * 2, [on(130, by_gender)] * 2),
    claims.deed_differs_by_model: (
        [on(130, by_gender), on(130, by_race)],
        [on(130, by_gender)] * 2,
    ),
    claims.averaging_hides: ([by_race(CROSS, -1, 1)], [by_race(CROSS, 0, 1)]),
    claims.line_misses: ([on(101, lambda f: 3 - ((f["age"] - 60) / 14) ** 2)], [on(101, falling)]),
}


class Evidence(dict):
    """What the notebook gathers; a part is made when a claim asks for it, since each uses few."""

    def __init__(self, parts):
        super().__init__(counterparts=COUNTERPARTS)
        self.parts = parts

    def get(self, key, default=None):
        if key not in self and key in self.parts:
            self[key] = self.parts[key]()
        return super().get(key, default)

    def __missing__(self, key):
        self[key] = self.parts[key]()
        return self[key]


def evidence(logits, seed=0, cross=None):
    """What the notebook gathers, from answers drawn at these log-odds; one list entry a model.

    P(yes) differs a little between prompts beyond that, as wording does. `cross`: which rows are
    asked.
    """
    rng = np.random.default_rng(seed)
    wording = np.random.default_rng(seed + 1)
    drawn = [
        CROSS.assign(
            model=f"m{k}",
            source="simulated",
            value=(rng.random(len(CROSS)) < 1 / (1 + np.exp(-one))) * 1.0,
        )
        for k, one in enumerate(logits)
    ]
    of_p = [
        one.assign(value=1 / (1 + np.exp(-logit - wording.normal(0, 0.02, len(CROSS)))))
        for one, logit in zip(drawn, logits, strict=True)
    ]
    asked = CROSS.index if cross is None else cross
    values = pd.concat([one.loc[asked] for one in drawn], ignore_index=True)
    probability = pd.concat([one.loc[asked] for one in of_p], ignore_index=True)
    gathered = Evidence(
        {
            "values": lambda: values,
            "alpha": lambda: agreement.alpha_without_noise(values, probability),
            "pairs": lambda: agreement.alpha_pairs_by_factor(probability),
            "ranges": lambda: rank_tests.level_ranges(probability),
            "tests": lambda: rank_tests.decision_tests(values)[0],
            "effects": lambda: rank_tests.consistent_effects(gathered["tests"]),
            "always": lambda: response.unanimous_questions(values),
            "scores": lambda: logistic.average_score(logistic.score_coefficients(values)),
            "fits": lambda: logistic.logistic_age_fits(values),
        }
    )
    return gathered


def test_every_claim_has_a_case():
    assert {claim.check for claim in claims.CLAIMS} == set(CASES)


@pytest.mark.parametrize("check", CASES, ids=lambda check: check.__name__)
def test_a_claim_holds_and_fails_where_it_must(check):
    """DE-37: the verdict follows the planted behaviour, both ways."""
    holding, failing = CASES[check]
    assert check(evidence(holding))[0] == "holds", check(evidence(holding))
    assert check(evidence(failing))[0] == "contradicted", check(evidence(failing))


def only(check, of, draws=100):
    """The one row of `check_claims`."""
    chosen = [claim for claim in claims.CLAIMS if claim.check is check]
    (row,) = check_claims(chosen, of, draws=draws).to_dict("records")
    return row


WITH_NULL = [claim.check for claim in claims.CLAIMS if claim.null]


def test_claims_of_an_effect_name_their_null():
    assert set(WITH_NULL) == {
        claims.enlistment_falls_with_age,
        claims.deed_differs_by_model,
        claims.averaging_hides,
        claims.line_misses,
    }


@pytest.mark.parametrize("check", CASES, ids=lambda check: check.__name__)
def test_noise_alone_makes_no_claim_of_an_effect_hold(check):
    """DE-37: answers without any effect; only claims of absence may hold of them, and truly so."""
    found = only(check, evidence([NOISE, NOISE]))
    absent = {claims.nothing_else_common}
    assert (found["verdict"] == "holds") <= (check in absent), found
    if check in WITH_NULL:
        assert 0 <= found["noise"] < 0.2
        assert found["verdict"] in ("not found", "not told from noise", "contradicted")


@pytest.mark.parametrize("check", WITH_NULL, ids=lambda check: check.__name__)
def test_a_planted_effect_is_told_from_noise(check):
    found = only(check, evidence(CASES[check][0]))
    assert found["verdict"] == "holds", found
    assert found["noise"] < 0.08
    assert "exchanging" in found["detail"]


def test_alpha_of_sampled_answers_alone_is_no_evidence():
    """At or below 2/3 it lies for every respondent that hesitates: without P(yes) nothing is
    tested."""
    of = evidence([NOISE, NOISE])
    sampled = agreement.alpha_by_factor(of["values"])
    assert (sampled["alpha"] < 0.5).all()
    verdict, detail = claims.no_agreement_anywhere(of)
    assert verdict == "contradicted", detail
    without = {**of, "alpha": agreement.alpha_without_noise(of["values"], of["values"].head(0))}
    assert only(claims.no_agreement_anywhere, without)["verdict"] == "not tested"


def test_an_interval_across_the_bound_tells_nothing():
    alpha = pd.DataFrame(
        {"model": "m", "factor": ["age", "gender", "race", "gender_race"], "ci_low": 0.6}
    ).assign(ci_high=0.9)
    for check in (
        claims.no_agreement_anywhere,
        claims.no_agreement_somewhere,
        claims.never_strong_everywhere,
    ):
        found = only(check, {"alpha": alpha})
        assert found["verdict"] == "not told (interval wider than the margin)"


def test_one_answer_a_question_tests_nothing():
    """As in the published sample of the data set: no verdict at all, neither way."""
    first = CROSS.drop_duplicates("decision_question_id").index
    found = check_claims(claims.CLAIMS, evidence([NOISE, DECIDED], cross=first), draws=20)
    assert set(found["verdict"]) == {"not tested"}
    assert (found["detail"].str.len() > 10).all()


def test_one_model_that_is_significant_beside_one_that_is_not_differ_only_by_a_test():
    """The same weak effect in both models: significance differs often, the models do not."""
    weak = on(130, lambda f: 0.55 * by_gender(f) / 2.5)
    found = [claims.deed_differs_by_model(evidence([weak, weak], seed)) for seed in range(12)]
    assert sum(verdict == "holds" for verdict, _ in found) <= 1
    details = [text.split("; smallest")[0] for _, text in found]
    sets = [{part.split(": ")[1] for part in text.split("; ")} for text in details]
    assert any(len(one) > 1 for one in sets)


def test_the_one_step_coefficients_are_those_of_a_fit():
    """Near no effect, the step from none is the coefficient of the mixed model."""
    of = evidence([by_race(CROSS, -0.2, 0.2) + NOISE], seed=4)
    fit = logistic.score_coefficients(of["values"]).query("factor == 'race'").set_index("level")
    levels = [*fit.index, "Asian"]
    table = of["values"].groupby(["decision_question_id", "race"])["value"].agg(["sum", "count"])
    yes, n = (table[name].unstack()[levels].to_numpy()[None] for name in ("sum", "count"))
    estimate, p = claims.one_step_coefficients(yes, n)
    assert estimate[0] == pytest.approx(fit["estimate"].to_numpy(), abs=0.04)
    assert p[0] == pytest.approx(fit["p"].to_numpy(), abs=0.05)


@pytest.mark.parametrize("check", CASES, ids=lambda check: check.__name__)
def test_missing_input_is_named(check):
    """Contract: a claim that cannot be tested says what is missing."""
    (found,) = check_claims([next(c for c in claims.CLAIMS if c.check is check)], {}).to_dict(
        "records"
    )
    assert found["verdict"] == "not tested" and len(found["detail"]) > 10


def test_undefined_answers_are_not_a_verdict():
    """A model that always says yes has no alpha, no test and no coefficients."""
    nothing = evidence([np.full(len(CROSS), 99.0)])
    verdicts = check_claims(claims.CLAIMS, nothing).set_index("statement")["verdict"]
    untestable = verdicts[[c.statement for c in claims.CLAIMS if c.check in UNDEFINED]]
    assert set(untestable) == {"not tested"}


UNDEFINED = {
    claims.no_agreement_anywhere,
    claims.no_agreement_somewhere,
    claims.never_strong_everywhere,
    claims.white_and_asian_men_weak,
    claims.white_and_black_mostly_none,
    claims.averaging_hides,
    claims.line_misses,
}


def test_the_published_figures():
    """DE-37: the claims hold on the figures they were drawn from.

    Two of them rest on figures that are not printed.
    """
    tables = {
        name: published.load("discrim_eval", name) for name in published.names("discrim_eval")
    }
    found = check_claims(claims.CLAIMS, claims.from_published(tables), draws=0)
    by = dict(zip([c.check for c in claims.CLAIMS], found["verdict"], strict=True))
    assert {c for c, v in by.items() if v != "holds"} == {
        claims.never_strong_everywhere,
        claims.nothing_else_common,
    }
    assert set(by.values()) == {"holds", "not tested"}
    detail = dict(zip([c.check for c in claims.CLAIMS], found["detail"], strict=True))
    assert detail[claims.no_agreement_anywhere] == "DeepSeek-R1; MistralSmall3.2; Qwen3"
    assert detail[claims.averaging_hides] == "DeepSeek-R1: mean 0.157"
    assert "0.717" in detail[claims.line_misses] and "0.0245" in detail[claims.line_misses]

"""Each test kills one mutant that an earlier suite let live: limits, and options passed on."""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics import factor_tests, logistic, response, uncertainty
from katayori.papers import answers
from katayori.papers.inter_jbbq import scores as intersectional
from katayori.papers.jubaku_v2 import items as jubaku
from katayori.prompting import requests
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.prompts import load_prompts


def test_a_permutation_p_is_never_zero():
    """(1 + k) / (1 + B): even where no drawn pattern of signs reaches the observed sum."""
    shares = np.ones(40)
    assert uncertainty.swap_test(shares, 0) == 1 / (1 + uncertainty.PATTERNS)


def coefficients(*estimates: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": "m",
            "source": "live",
            "factor": "race",
            "level": list("abcd")[: len(estimates)],
            "estimate": estimates,
            "significant": [abs(value) > 0.5 for value in estimates],
            "status": "ok",
        }
    )


def test_averaging_hides_looks_at_sizes():
    """DE-28: a clear negative mean hides nothing; without the absolute value it always would."""
    clear = logistic.average_score(coefficients(-2.0, -2.1, -1.9))
    assert not clear["averaging_hides"].item()
    opposite = logistic.average_score(coefficients(1.0, -1.1))
    assert opposite["averaging_hides"].item()


def topics(n: int, undefined: bool = False) -> pd.DataFrame:
    """n answers to each of two topics; the second topic has none that is right or wrong."""
    rows = []
    for topic in ("s", "t"):
        for number in range(n):
            right = np.nan if undefined and topic == "t" else float(number % 2)
            rows.append((topic, f"{topic}{number % 12}", right, np.isnan(right)))
    frame = pd.DataFrame(rows, columns=["topic", "cluster", "correct", "invalid"])
    return frame.assign(model="m", source="live", prompt_id="p", ambiguity="amb")


@pytest.mark.parametrize("n, few", [(29, True), (30, False)])
def test_a_cell_of_thirty_is_not_few(n, few):
    """IJ-16: fewer than 30 answers are flagged, 30 are not."""
    frame = topics(n)
    cells = intersectional.cell_means(frame, by=["model", "topic"])
    assert set(cells["few"]) == {few}


def test_the_mean_over_topics_is_undefined_with_one_of_them():
    """A mean over topics takes the worst status of its parts, whatever the words are."""
    rows = intersectional.by_topic(topics(40, undefined=True)).set_index("topic")
    assert rows.loc["overall", "status"] == "no_valid_answer"
    assert intersectional.by_topic(topics(40)).set_index("topic").loc["overall", "status"] == "ok"


def test_simulated_models_stay_out_of_a_variant():
    """Official items are a variant of the recordings: no planted respondent is shown there."""
    with_simulated = answers.choose_models("persona_jbbq", "recorded", [], "pj_basic_ja")
    assert any(name.startswith("sim-") for name in with_simulated)
    official = answers.choose_models(
        "persona_jbbq", "recorded", [], "pj_basic_en", variant="official"
    )
    assert official
    assert not [name for name in official if name.startswith("sim-")]


def test_extra_body_of_a_hosted_model_is_sent():
    """The stated mode of a model (thinking off) is part of its request; a local one has none."""
    prompt = next(iter(load_prompts("discrim_eval").values()))
    item = {"item_id": "i", "question": "Q", "filled_template": "Q"}
    model = Model("m", "m", "api", {"extra_body": {"reasoning_effort": "none"}})
    for kind, sent in (("openai", "none"), ("local", None)):
        body = requests.build_body(prompt, model, Endpoint("api", kind), item, 0)
        assert body.get("reasoning_effort") == sent


def test_intervals_of_deviations_are_by_t():
    """Five questions: t on 4 degrees of freedom, 2.78 standard errors, not 1.96."""
    rows = [
        {"decision_question_id": q, "age": 20, "gender": g, "race": "Asian", "value": value}
        for q in range(5)
        for g, value in (("female", 0.5 + 0.02 * q), ("male", 0.5 - 0.02 * q))
    ]
    values = pd.DataFrame(rows).assign(model="m", source="live")
    table = response.deviations_by_factor(values).query("level == 'female'").iloc[0]
    each = 0.02 * np.arange(5)
    half = (table["ci_high"] - table["ci_low"]) / 2
    assert half == pytest.approx(2.7764 * each.std(ddof=1) / np.sqrt(5), rel=1e-3)


def test_reasons_may_differ_by_twelve_characters():
    """JU-3: 12 characters apart is alike where both are long, 13 is not."""
    assert jubaku._unlike("あ" * 100, "あ" * 112) == ""
    assert "113 characters" in jubaku._unlike("あ" * 100, "あ" * 113)


def test_the_seed_of_permutations_is_passed_on():
    """Another seed draws other permutations; the same seed the same."""
    rng = np.random.default_rng(0)
    grid = [
        {"decision_question_id": q, "age": a, "gender": g, "race": r}
        for q in range(4)
        for a in (20, 30, 40)
        for g in ("female", "male")
        for r in ("Asian", "White")
    ]
    values = pd.DataFrame(grid).assign(model="m", source="live")
    values["value"] = rng.integers(0, 2, len(values)).astype(float)

    def p(seed: int) -> list[float]:
        return factor_tests.factor_tests(values, draws=49, seed=seed)["p"].tolist()

    assert p(1) == pytest.approx(p(1), nan_ok=True)
    assert p(1) != pytest.approx(p(2), nan_ok=True)

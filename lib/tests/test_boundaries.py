"""Each test kills one mutant that an earlier suite let live: limits, signs, and fields of a row."""

import math

import numpy as np
import pandas as pd
import pytest
import recounts
from scipy.stats import t as student

from katayori.data import jubaku
from katayori.metrics import exchange, repeats, sign_swap
from katayori.papers import answers, logprob_judge
from katayori.prompting import requests
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.prompts import load_prompts


def test_a_permutation_p_is_never_zero():
    """(1 + k) / (1 + B): even where no drawn pattern of signs reaches the observed sum."""
    shares = np.ones(40)
    assert sign_swap.sign_swap_test(shares)["p"] == 1 / sign_swap.MOST_PATTERNS


def test_simulated_models_stay_out_of_a_variant():
    """Official items are a variant of the recordings: no planted respondent is shown there."""
    with_simulated = answers.choose_models("persona_jbbq", "recorded", [])
    assert with_simulated and all(name.startswith("sim-") for name in with_simulated)
    assert answers.choose_models("persona_jbbq", "recorded", [], "official") == []


def test_extra_body_of_a_hosted_model_is_sent():
    """The stated mode of a model (thinking off) is part of its request; a local one has none."""
    prompt = next(iter(load_prompts("discrim_eval").values()))
    item = {"item_id": "i", "question": "Q", "filled_template": "Q"}
    model = Model("m", "m", "api", extra_body={"reasoning_effort": "none"})
    for kind, sent in (("openai", "none"), ("local", None)):
        body = requests.build_body(prompt, model, Endpoint("api", kind), item, 0)
        assert body.get("reasoning_effort") == sent


def test_reasons_may_differ_by_twelve_characters():
    """JU-3: 12 characters apart is alike where both are long, 13 is not."""
    assert jubaku.unlike_length("あ" * 100, "あ" * 112) == ""
    assert "113 characters" in jubaku.unlike_length("あ" * 100, "あ" * 113)


def replicates(n_questions: int) -> pd.DataFrame:
    """Four answers to each of two levels in three rows of every question, levels unlike."""
    rng = np.random.default_rng(1)
    index = np.indices((n_questions, 3, 2, 4)).reshape(4, -1)
    chance = np.where(index[2] == 0, 0.3, 0.7) + 0.05 * (index[0] % 3)
    value = (rng.random(chance.size) < chance).astype(float)
    return pd.DataFrame({"q": index[0], "row": index[1], "level": index[2], "value": value})


@pytest.mark.parametrize(("n_questions", "given"), [(4, False), (5, True)])
def test_alpha_from_replicates_has_an_interval_from_five_questions_on(n_questions, given):
    found = repeats.alpha_from_replicates(
        replicates(n_questions), level="level", row="row", question="q"
    )
    assert found["clusters"] == n_questions and found["status"] == "ok"
    assert np.isfinite(found["ci_low"]) == given


def test_a_question_without_a_level_does_not_count_for_a_common_direction():
    rng = np.random.default_rng(2)
    index = np.indices((30, 5, 3)).reshape(3, -1)
    frame = pd.DataFrame({"question": index[0], "row": index[1], "level": index[2]})
    frame["value"] = (rng.random(len(frame)) < 0.3 + 0.2 * (frame["level"] == 1)).astype(float)
    columns = {"value": "value", "level": "level", "row": "row", "draws": 99}
    gap = (frame["question"] == 7) & (frame["level"] == 2)
    holed = exchange.exchange_test(frame.assign(value=frame["value"].mask(gap)), **columns)
    without = exchange.exchange_test(frame[frame["question"] != 7], **columns)
    statistic = [one.set_index("test").loc["common_direction", "value"] for one in (holed, without)]
    assert statistic[0] == pytest.approx(statistic[1])


def test_the_planted_judge_prefers_by_the_odds_that_are_said(monkeypatch):
    """ln P(A) / P(B) is the score: quality and the lean to the first slot; ties do not count."""
    judge = next(iter(logprob_judge.JUDGES))
    weigh = {
        **logprob_judge.JUDGES[judge],
        "quality": 0.7,
        "first": 0.4,
        "length": 0.1,
        "call": 0.0,
    }
    monkeypatch.setitem(logprob_judge.JUDGES, judge, weigh)
    item = {
        "item_id": "x",
        "order": "12",
        "quality_1": 2,
        "quality_2": 1,
        "answer_a": "aaaa",
        "answer_b": "aa",
    }
    chances = logprob_judge.judge_chances(judge, item)
    score = weigh["quality"] + weigh["first"] + 2 * weigh["length"]
    assert math.log(chances["A"] / chances["B"]) == pytest.approx(score)


def test_a_correlation_that_no_size_gives_says_none():
    found = recounts.correlation_p("0.9", "0.999", 9)
    assert found["reason"] == "r = 0.999, n = 9; n that fit: none"


@pytest.mark.parametrize("significant", ["yes", "no"])
def test_significance_repeats_what_was_printed(significant):
    found = recounts.significance(significant, "0.259", "-0.385", "0.0167")
    assert found["printed"] == f"significant: {significant}"


def test_the_smallest_p_of_an_exchange_is_one_in_all_draws():
    """No drawn labels reach a clear common direction: p is 1 / (1 + draws)."""
    index = np.indices((30, 4, 3)).reshape(3, -1)
    frame = pd.DataFrame({"question": index[0], "row": index[1], "level": index[2]})
    frame["value"] = (frame["level"] == 1) + 0.01 * ((frame["question"] * frame["row"]) % 3)
    columns = {"value": "value", "level": "level", "row": "row", "draws": 99}
    found = exchange.exchange_test(frame, **columns).set_index("test")
    assert found.loc["common_direction", "p"] == pytest.approx(1 / 100)


def test_the_interval_of_alpha_from_replicates_is_the_jackknife_of_its_definition():
    """Pseudo-values n a - (n - 1) a_q, their mean's t interval around a."""
    answers = replicates(8)
    columns = {"level": "level", "row": "row", "question": "q"}
    found = repeats.alpha_from_replicates(answers, **columns)
    without = [
        repeats.alpha_from_replicates(answers[answers["q"] != one], **columns)["alpha"]
        for one in range(8)
    ]
    pseudo = 8 * found["alpha"] - 7 * np.array(without)
    half = student.ppf(0.975, 7) * pseudo.std(ddof=1) / np.sqrt(8)
    assert found["ci_high"] - found["alpha"] == pytest.approx(half, rel=1e-9)

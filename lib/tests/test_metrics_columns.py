"""Tables keep the columns and words that their docstrings promise, also where there is little."""

import numpy as np
import pandas as pd
import recorded_examples as shown

from katayori.metrics import judges
from katayori.metrics.repeats import alpha_from_replicates
from katayori.papers import get_paper
from katayori.prompting.letters import parse_choice
from katayori.prompting.yes_no import parse_yes_no
from katayori.study import Study


def test_an_example_of_alpha_from_replicates_has_the_interval_of_the_jackknife():
    """The interval is symmetric about alpha and holds it."""
    rng = np.random.default_rng(2)
    cells = pd.MultiIndex.from_product([range(12), range(6), list("ab"), range(4)])
    drawn = cells.to_frame(index=False, name=["question", "row", "level", "repetition"])
    p = np.where(drawn["question"] % 2, 0.7, 0.3) + 0.1 * (drawn["level"] == "a")
    drawn["value"] = (rng.random(len(drawn)) < p).astype(float)
    found = alpha_from_replicates(drawn, level="level", row="row", question="question")
    assert found["status"] == "ok"
    assert found["ci_low"] < found["alpha"] < found["ci_high"]
    assert np.isclose(found["ci_low"] + found["ci_high"], 2 * found["alpha"])


def test_small_things_of_the_parsers():
    assert parse_yes_no("Answer: yes").note == parse_yes_no("Answer: yes", "stop").note
    assert parse_choice("A", "stop").note == ""


def test_a_study_shows_the_models_that_are_named():
    study = Study("discrim_eval", models=["qwen2.5-coder-0.5b"], limit=1)
    assert study.models == ("qwen2.5-coder-0.5b",) and study.simulated == ()


def test_a_simulated_probability_answer_lists_the_likelier_word_first():
    for prompt_id in ("de_answer_line", "de_answer_prefix"):
        request = shown.request_to("sim-fair", "discrim_eval", prompt_id)
        response = get_paper("discrim_eval").simulate(request)
        logs = [logp for _, logp in response.top or []]
        assert logs == sorted(logs, reverse=True)
        assert response.completion_tokens is None or response.completion_tokens >= 1


def test_comparisons_without_a_proposed_verdict_are_invalid_for_it_alone():
    verdicts = pd.DataFrame({"question": range(6), "truth": list("121212")})
    verdicts = verdicts.assign(proposed=[None, None, None, "2", "1", "2"], BS2="tie")
    table = judges.concordance(verdicts, judge=["proposed", "BS2"], people="truth")
    n_invalid = table.set_index("judge")["n_invalid"]
    assert (n_invalid["proposed"], n_invalid["BS2"]) == (3, 0)

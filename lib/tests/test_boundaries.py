"""Each test kills one mutant that an earlier suite let live: limits, and options passed on."""

import numpy as np

from katayori.data import jubaku
from katayori.metrics import sign_swap
from katayori.papers import answers
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

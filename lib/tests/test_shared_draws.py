"""Two models that draw by one seed: seen where it is planted or was recorded, and nowhere else."""

import importlib

import numpy as np
import pandas as pd
import pytest

from katayori import profiles
from katayori.metrics import response
from katayori.papers.discrim_eval.analysis import ask, lesson
from katayori.papers.discrim_eval.analysis.factors import Factors
from katayori.papers.discrim_eval.second import twenty_questions
from katayori.papers.keeping import Kept
from katayori.papers.study import Wanted, open_study
from katayori.prompting import recordings
from katayori.prompting.prompts import load_prompts

lib = importlib.import_module("katayori.papers.discrim_eval.analysis.shared_draws")
PAPER, PROMPT = "discrim_eval", "de_answer_line"
BOTH = ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]


def asked(models, *, own_design=True):
    wording = load_prompts(PAPER)
    wanted = Wanted(models=models, shown="whole")
    study = open_study(PAPER, profiles.load("recorded"), [wording[PROMPT]], wanted)
    return ask(study, wording, own_design=own_design, seed=1)


@pytest.fixture(scope="module")
def both():
    return asked(BOTH)


def chances(n_questions=70, models=("a", "b")):
    """P(yes) of models that are unlike, 135 items a question, three of them unknown."""
    rng = np.random.default_rng(3)
    n = 135 * n_questions
    items = pd.DataFrame(
        {"item_id": range(n), "decision_question_id": np.repeat(range(n_questions), 135)}
    )
    parts = [
        items.assign(model=m, source="recorded", value=rng.uniform(0.2, 0.8, n)) for m in models
    ]
    parts[0].loc[:2, "value"] = np.nan
    return pd.concat(parts, ignore_index=True)


def test_planted_noise_is_seen_where_it_is_shared_and_nowhere_else():
    """40 studies: a draw for each model gives r below .05, five times its standard error."""
    of_p = chances()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        one, each = (
            response.shared_noise(lib.redrawn(of_p, rng, shared=shared), of_p).iloc[0]
            for shared in (True, False)
        )
        assert one["shared"] and one["correlation"] > 0.5
        assert not each["shared"] and abs(each["correlation"]) < 0.05
        assert one["n"] == each["n"] == 9447


def test_answers_are_drawn_by_their_own_chance():
    of_p = chances()
    for shared in (True, False):
        drawn = lib.redrawn(of_p, np.random.default_rng(0), shared=shared)
        assert drawn["value"].isna().sum() == 3
        high = of_p["value"] > 0.7
        assert drawn.loc[high, "value"].mean() == pytest.approx(0.75, abs=0.03)


@pytest.mark.slow_all
def test_the_lesson_lays_the_first_editions_answers_beside_planted_ones(both):
    kept = Kept()
    draws = lib.shared_draws(both, kept).set_index("drawn")
    assert set(draws.index) == {*lib.PLANTED.values(), lib.FIRST_EDITION, lib.THIS_RUN}
    assert draws.loc[[lib.PLANTED[True], lib.FIRST_EDITION], "correlation"].min() > 0.6
    assert not draws.loc[lib.PLANTED[False], "shared"]
    assert draws.loc[lib.FIRST_EDITION, "clusters"] == len(twenty_questions())
    today = response.shared_noise(both.values, both.probabilities)["correlation"].item()
    assert draws.loc[lib.THIS_RUN, "correlation"] == today
    assert {row["source"] for row in draws.loc[list(lib.PLANTED.values())].to_dict("records")} == {
        "simulated"
    }
    shown = lesson.draws_table(draws.reset_index()).set_index("answers")
    assert shown.loc[lib.FIRST_EDITION, "one dice for both"] == "yes"
    assert "shared_draws" in kept.tables


@pytest.mark.slow_all
@pytest.mark.parametrize("models, own_design", [(BOTH[:1], True), (BOTH, False)])
def test_one_model_or_items_of_the_users_have_no_lesson(models, own_design):
    assert lib.shared_draws(asked(models, own_design=own_design), Kept()).empty


@pytest.mark.parametrize("model", BOTH)
def test_coupled_answers_say_what_they_are(model):
    entry = recordings.entry(PAPER, model, PROMPT, lib.COUPLED)
    assert (entry["dataset"], entry["seed_rule"], entry["count"]) == ("twenty", 1, 20 * 135)
    assert "first edition" in entry["about"] and recordings.complete(entry)


# -- the words beside it ---------------------------------------------------------------------------


def test_words_that_were_not_asked_are_named_by_model():
    whole = pd.DataFrame({"model": BOTH})
    nothing = dict.fromkeys(Factors.__dataclass_fields__, pd.DataFrame(columns=["model"]))
    few = Factors(**nothing | {"words": whole, "word_ranks": whole.head(1)})
    assert lesson.words_absent(few, BOTH) == f"Not recorded: nine more sets ({BOTH[1]})."
    every = Factors(**nothing | {"words": whole, "word_ranks": whole})
    assert lesson.words_absent(every, BOTH) == "Ten sets of words are recorded of every model."
    assert lesson.words_absent(every, ["my-model"]).endswith(
        "one set of words, nine more sets (my-model)."
    )


def test_a_model_without_the_nine_sets_has_a_dash_for_its_rank():
    row = {"factor": "race", "value": 2.5, "ci_low": 1.8, "ci_high": 3.4, "reading": "more"}
    words = pd.DataFrame([row | {"model": name} for name in "ab"])
    rank = {"model": "a", "factor": "race", "rank": 2, "n_sets": 11, "status": "ok"}
    nothing = dict.fromkeys(Factors.__dataclass_fields__, pd.DataFrame())
    table = lesson.words_table(
        Factors(**nothing | {"words": words, "word_ranks": pd.DataFrame([rank])})
    )
    assert table.to_numpy().tolist() == [
        ["a", "race", "2.5 [1.8, 3.4]", "more", "2 of 11"],
        ["b", "race", "2.5 [1.8, 3.4]", "more", "—"],
    ]

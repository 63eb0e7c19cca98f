"""A study opens with the items and models that the parameters name, or says in a line why not."""

from dataclasses import replace

import pytest

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers.study import Wanted, open_study
from katayori.prompting import recordings
from katayori.prompting.prompts import load_prompts

RECORDED = profiles.load("recorded")


def prompts(paper="jubaku_v2", *names):
    wording = load_prompts(paper)
    return [wording[name] for name in names or ("ju_1_ja", "ju_2_ja")]


def test_recorded_models_stand_first_and_share_their_items():
    study = open_study("jubaku_v2", RECORDED, prompts(), Wanted(limit=3))
    assert study.real and study.asked[: len(study.real)] == study.real
    assert study.items["case_id"].nunique() == 3 and study.kind == "study"
    assert not study.official and study.variant == "study2"
    assert "recorded models: " + ", ".join(study.real) in study.told()
    answered = study.answers(prompts())
    assert set(answered["model"]) == set(study.asked)
    asked = {prompt.only["template"] for prompt in prompts()}
    assert set(answered["template"]) == asked


def test_only_the_models_and_cases_that_are_named():
    real = open_study("jubaku_v2", RECORDED, prompts()).real[0]
    cases = open_study("jubaku_v2", RECORDED, prompts()).items["case_id"].unique()[:2]
    study = open_study("jubaku_v2", RECORDED, prompts(), Wanted(models=[real], only=list(cases)))
    assert study.asked == study.real == (real,)
    assert set(study.items["case_id"]) == set(cases)


def test_items_that_were_not_asked_show_simulated_respondents_only():
    study = open_study("jubaku_v2", RECORDED, prompts(), Wanted(limit=2, recorded=False))
    assert study.real == () and all(name.startswith("sim-") for name in study.asked)
    assert "only simulated respondents" in study.told()


@pytest.mark.parametrize(
    "chosen, wanted, error, words",
    [
        (RECORDED, Wanted(models=["my-model@custom"]), UnavailableError, "no recorded answers of"),
        (RECORDED, Wanted(models=["nobody"]), KatayoriError, "nobody"),
        (RECORDED, Wanted(limit=-1), KatayoriError, "limit"),
        (profiles.load("live"), Wanted(limit=1), UnavailableError, "name one with MODELS="),
        (profiles.load("imported"), Wanted(limit=1), UnavailableError, "name one with MODELS="),
    ],
)
def test_what_is_not_here_or_wrong_is_one_line(chosen, wanted, error, words):
    with pytest.raises(error, match=words) as caught:
        open_study("jubaku_v2", chosen, prompts(), wanted)
    assert "\n" not in str(caught.value)


def test_every_prompt_has_the_judges_that_were_asked_it_in_these_words():
    """With prompts of one's own nothing is recorded, so that only simulated judges are left."""
    wanted = prompts("logprob_judge", "lj_verdict", "lj_reason")
    study = open_study("logprob_judge", RECORDED, wanted, Wanted(limit=2, shown="each"))
    assert set(study.real_of) == {"lj_verdict", "lj_reason"}
    assert study.real == tuple(dict.fromkeys(sum(study.real_of.values(), ()))) != ()
    assert len(study.rows) == 2 * len(study.items)
    other = [replace(prompt, user="Other words. " + prompt.user) for prompt in wanted]
    nobody = open_study("logprob_judge", RECORDED, other, Wanted(limit=2, shown="each"))
    assert nobody.real == () and nobody.asked and not any(nobody.real_of.values())


def test_a_whole_set_is_shown_of_models_that_were_asked_all_of_it():
    line = prompts("discrim_eval", "de_answer_line")
    study = open_study("discrim_eval", RECORDED, line, Wanted(shown="whole"))
    assert len(study.items) == len(study.everything)
    shards = recordings.shards("discrim_eval", "de_answer_line")
    full = [shard["model"] for shard in shards if recordings.complete(shard)]
    assert sorted(study.real) == sorted(full) and len(full) < len(shards)


@pytest.mark.parametrize("shown", ["shared", "whole", "each"])
def test_a_respondent_that_is_named_alone_is_shown_alone(shown):
    line = prompts("discrim_eval", "de_answer_line")
    named = Wanted(models=["sim-fair"], limit=1, shown=shown)
    study = open_study("discrim_eval", RECORDED, line, named)
    assert study.asked == ("sim-fair",) and study.real == ()

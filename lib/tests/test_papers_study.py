"""A study opens with the items and models that the parameters name, or says in a line why not."""

from dataclasses import replace

import pytest

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import get_paper
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
    assert not study.official and study.variant_of(prompts()[0]) == "study3+study2"
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


@pytest.mark.parametrize(
    "chosen, wanted, error, words",
    [
        (RECORDED, Wanted(models=["my-model@custom"]), UnavailableError, "no recorded answers of"),
        (RECORDED, Wanted(models=["nobody"]), KatayoriError, "nobody"),
        (RECORDED, Wanted(limit=-1), KatayoriError, "limit"),
        (profiles.load("live"), Wanted(limit=1), UnavailableError, "MODELS=my-model@custom"),
        (profiles.load("imported"), Wanted(limit=1), UnavailableError, "MODELS=my-model@custom"),
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
    shards = recordings.shards("discrim_eval", "de_answer_line", study.variant_of(line[0]))
    full = [shard["model"] for shard in shards if recordings.complete(shard)]
    assert sorted(study.real) == sorted(full) != []
    first = recordings.shards("discrim_eval", "de_answer_line")
    assert {shard["model"] for shard in first if shard.get("sample")} - set(study.real)


@pytest.mark.parametrize("shown", ["shared", "whole", "each"])
def test_a_respondent_that_is_named_alone_is_shown_alone(shown):
    line = prompts("discrim_eval", "de_answer_line")
    named = Wanted(models=["sim-fair"], limit=1, shown=shown)
    study = open_study("discrim_eval", RECORDED, line, named)
    assert study.asked == ("sim-fair",) and study.real == ()


@pytest.mark.slow
@pytest.mark.parametrize("shown", ["shared", "each"])
def test_a_prompt_that_was_asked_anew_is_read_from_its_new_recording(monkeypatch, shown):
    """The models that hold it are shown, the other prompt is read as before, and simulated
    respondents answer as they did.
    """
    line, prefix = both = prompts("discrim_eval", "de_answer_line", "de_answer_prefix")
    how = {"places": {"question": "filled_template"}}
    before = open_study("discrim_eval", RECORDED, both, Wanted(shown=shown))
    monkeypatch.setattr(type(get_paper("discrim_eval")), "asked_anew", {line.id: "seed1"})
    study = open_study("discrim_eval", RECORDED, both, Wanted(shown=shown))
    assert (study.variant_of(line), study.variant_of(prefix)) == ("seed1", "")
    [held] = recordings.shards("discrim_eval", line.id, "seed1")
    assert study.real_of[line.id] == (held["model"],) != before.real_of[line.id]
    if shown == "shared":
        assert len(study.items) == held["count"]
        answered = study.answers([line], [held["model"]], **how).set_index("item_id")["text"]
        rows = recordings.read("discrim_eval", held["model"], line.id, "seed1")
        assert answered.to_dict() == {row["item_id"]: row["text"] for row in rows}
        assert set(study.answers([prefix], study.real, **how)["outcome"]) == {"ok"}
    few = Wanted(models=["sim-fair"], limit=1)
    anew = open_study("discrim_eval", RECORDED, both, few).answers([line], **how)
    monkeypatch.undo()
    assert anew.equals(open_study("discrim_eval", RECORDED, both, few).answers([line], **how))

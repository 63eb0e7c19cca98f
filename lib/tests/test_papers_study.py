"""A study opens with the items and models that the parameters name, or says in a line why not."""

import shutil

import pytest
from recorded_examples import is_complete

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import get_paper
from katayori.prompting import recordings
from katayori.study import Study

TWO = ("ju_1_ja", "ju_2_ja")
LINE, PREFIX = "de_answer_line", "de_answer_prefix"


def shown_as(monkeypatch, shown, paper="discrim_eval"):
    monkeypatch.setattr(type(get_paper(paper)), "shown", shown)


def test_recorded_models_stand_first_and_share_their_items():
    study = Study("jubaku_v2", asked=TWO, limit=3)
    assert study.models and study.simulated and set(study.sources().values()) > {"recorded"}
    assert study.items["case_id"].nunique() == 3 and study.kind == "study"
    assert study.own_design and study.variant(TWO[0]) == "study3+study2"
    for prompt in TWO:
        answered = study.answers(prompt)
        assert set(answered["model"]) == set(study.models)
        assert set(answered["template"]) == {study.prompts[prompt].only["template"]}


def test_only_the_models_and_cases_that_are_named():
    every = Study("jubaku_v2", asked=TWO)
    real, cases = every.models[0], every.items["case_id"].unique()[:2]
    study = Study("jubaku_v2", asked=TWO, models=[real], only=list(cases))
    assert study.models == (real,) and study.simulated == ()
    assert set(study.items["case_id"]) == set(cases)


@pytest.mark.parametrize(
    "wanted, error, words",
    [
        ({"models": ["my-model@custom"]}, UnavailableError, "no recorded answers of"),
        ({"models": ["nobody"]}, KatayoriError, "nobody"),
        ({"limit": -1}, KatayoriError, "limit"),
        ({"profile": "live", "limit": 1}, UnavailableError, "MODELS=my-model@custom"),
        ({"profile": "imported", "limit": 1}, UnavailableError, "MODELS=my-model@custom"),
    ],
)
def test_what_is_not_here_or_wrong_is_one_line(wanted, error, words):
    with pytest.raises(error, match=words) as caught:
        Study("jubaku_v2", asked=TWO, **wanted)
    assert "\n" not in str(caught.value)


def test_every_prompt_has_the_judges_that_were_asked_it_in_these_words(tmp_path):
    """With prompts of one's own nothing is recorded; no simulated judge stands in for a model."""
    asked = ["lj_verdict", "lj_reason"]
    study = Study("logprob_judge", asked=asked, limit=2)
    assert study.models and study.simulated
    assert len(study.items) == 2 * study.items["pair_id"].nunique()
    shutil.copytree(paths.registry("prompts") / "logprob_judge", tmp_path / "logprob_judge")
    for name in asked:
        file = tmp_path / "logprob_judge" / f"{name}.yaml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("user: |-", "user: |-\n  Other words.", 1), encoding="utf-8")
    other = Study("logprob_judge", asked=asked, limit=2, prompts=str(tmp_path))
    assert other.prompts["lj_verdict"].hash != study.prompts["lj_verdict"].hash
    assert other.models == study.models
    with pytest.raises(UnavailableError, match="changed since"):
        other.answers("lj_verdict")


def test_a_whole_set_is_shown_of_models_that_were_asked_all_of_it():
    study = Study("discrim_eval", asked=[LINE])
    assert len(study.items) == len(study.everything)
    shards = recordings.shards("discrim_eval", LINE, study.variant(LINE))
    full = [shard["model"] for shard in shards if is_complete(shard)]
    assert sorted(study.models) == sorted(full) != []
    first = recordings.shards("discrim_eval", LINE)
    assert {shard["model"] for shard in first if shard.get("sample")} - set(study.models)


@pytest.mark.parametrize("shown", ["shared", "each"])
def test_a_respondent_that_is_named_alone_is_shown_alone(monkeypatch, shown):
    shown_as(monkeypatch, shown)
    study = Study("discrim_eval", asked=[LINE], models=["sim-fair"], limit=1)
    assert study.models == ("sim-fair",) and study.simulated == ()


@pytest.mark.slow
@pytest.mark.parametrize("shown", ["shared", "each"])
def test_a_prompt_that_was_asked_anew_is_read_from_its_new_recording(monkeypatch, shown):
    """The models that hold it are shown, the other prompt is read as before, and simulated
    respondents answer as they did.
    """
    shown_as(monkeypatch, shown)
    both = [LINE, PREFIX]
    few = {"models": ["sim-fair"], "limit": 1, "asked": both}
    drawn = Study("discrim_eval", **few).answers(LINE).drop(columns="variant")
    anew = {LINE: "seed1", PREFIX: ""}
    kind = type(get_paper("discrim_eval"))
    monkeypatch.setattr(kind, "variant_of", lambda paper, dataset, prompt: anew[prompt])
    study = Study("discrim_eval", asked=both)
    assert (study.variant(LINE), study.variant(PREFIX)) == ("seed1", "")
    [held] = recordings.shards("discrim_eval", LINE, "seed1")
    assert held["model"] in study.models
    if shown == "shared":
        assert study.models == (held["model"],) and len(study.items) == held["count"]
        answered = study.answers(LINE, models=[held["model"]]).set_index("item_id")["text"]
        rows = recordings.read("discrim_eval", held["model"], LINE, "seed1")
        assert answered.to_dict() == {row["item_id"]: row["text"] for row in rows}
        assert set(study.answers(PREFIX)["outcome"]) == {"ok"}
    anew = Study("discrim_eval", **few).answers(LINE).drop(columns="variant")
    assert anew.equals(drawn)

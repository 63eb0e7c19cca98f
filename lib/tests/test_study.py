"""A study opens with the items and models that are named, and gives answers prompt by prompt."""

import shutil

import pandas as pd
import pytest
from recorded_examples import is_complete

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError
from katayori.frames import reason_of
from katayori.papers import get_paper
from katayori.prompting import recordings
from katayori.study import Study

REAL = ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")


@pytest.fixture(scope="module")
def decisions():
    return Study("discrim_eval", asked=["de_answer_line"], limit=2)


def test_answers_stand_beside_their_items(decisions):
    log = decisions.answers("de_answer_line")
    assert decisions.models == REAL
    assert len(log) == 2 * len(decisions.items) == 540
    assert set(log["model"]) == set(REAL) and set(log["source"]) == {"recorded"}
    assert set(log["variant"]) == {"seed2"}
    asked = decisions.items.set_index("item_id").loc[log["item_id"], "filled_template"]
    assert (asked.to_numpy() == log["filled_template"].to_numpy()).all()
    assert decisions.answers("de_answer_prefix")["p_yes"].between(0, 1).all()


def test_a_frame_that_a_cell_changes_is_read_as_it_was(decisions):
    first = decisions.answers("de_answer_line")
    first["answer"] = "maybe"
    assert set(decisions.answers("de_answer_line")["answer"].dropna()) <= {"yes", "no"}


def test_sets_beside_the_study_and_repeated_answers_are_read_by_name(decisions):
    plain = decisions.answers("de_answer_prefix", items="plain", models=REAL[:1])
    assert len(plain) == 3150 and set(plain["variant"]) == {"plain"}
    again = decisions.answers("de_answer_line", items="twenty", repetitions=(1, 2))
    assert sorted(set(again["repetition"])) == [1, 2]


def test_what_was_not_asked_is_empty_and_says_why(decisions):
    none = decisions.answers("de_answer_prefix_reversed")
    assert none.empty and "no answers to de_answer_prefix_reversed are recorded" in reason_of(none)
    assert {"model", "outcome", "p_yes", "age", "variant"} <= set(none)
    nobody = decisions.answers("de_answer_line", items="plain")
    assert nobody.empty and "qwen2.5-coder-0.5b" in reason_of(nobody)


def test_unknown_prompts_models_and_sets_are_refused(decisions):
    with pytest.raises(KatayoriError, match="de_answer_lime"):
        decisions.answers("de_answer_lime")
    with pytest.raises(KatayoriError, match="gpt-4o"):
        decisions.answers("de_answer_line", models=["gpt-4o"])
    with pytest.raises(KatayoriError, match="set of discrim_eval"):
        decisions.answers("de_answer_line", items="nothing")
    with pytest.raises(KatayoriError, match="prompt of discrim_eval"):
        Study("discrim_eval", asked=["de_nothing"])


def test_a_users_questions_have_no_answers_of_ours_beside_them():
    ours = paths.data_dir() / "study/discrim_eval/questions.yaml"
    own = Study("discrim_eval", models=["sim-fair"], limit=2, questions=str(ours))
    assert not own.own_design
    none = own.answers("de_answer_prefix", items="plain")
    assert "this project's own items only" in reason_of(none)
    with pytest.raises(UnavailableError):
        Study("discrim_eval", profile="live")


def test_simulated_respondents_answer_alone_or_beside_models(decisions):
    assert "sim-fair" in decisions.simulated
    beside = decisions.answers("de_answer_line", models=["sim-fair"])
    assert set(beside["source"]) == {"simulated"}
    alone = Study("discrim_eval", models=["sim-fair", "sim-gender"], limit=2)
    assert alone.models == ("sim-fair", "sim-gender") and alone.simulated == ()
    assert alone.sources() == dict.fromkeys(alone.models, "simulated")


@pytest.mark.parametrize(
    ("paper", "prompt", "share"),
    [
        ("persona_jbbq", "pj_basic_ja", 1),
        ("jubaku_v2", "ju_1_ja", 4),
        ("inter_jbbq", "ij_basic_ja", 1),
    ],
)
def test_other_papers_open_in_the_same_way(paper, prompt, share):
    study = Study(paper, asked=[prompt], limit=2)
    log = study.answers(prompt)
    assert set(log["model"]) == set(REAL)
    assert len(log) * share == 2 * len(study.items)  # one of the four wordings of 04 is one prompt


@pytest.fixture(scope="module")
def reasons():
    return Study("jubaku_v2", asked=["ju_1_ja"])


@pytest.mark.parametrize(
    ("prompt", "items", "rows", "cases"),
    [
        ("ju_two_option_ja", "jbnli_by_id", 2000, 1000),
        ("ju_two_option_en", "bbq_by_id", 2016, 1008),
        ("ju_official", "official_by_id", 240, 30),
    ],
)
def test_recorded_answers_to_others_items_are_read_without_their_texts(
    reasons, prompt, items, rows, cases
):
    log = reasons.answers(prompt, items=items)
    assert log.groupby("model").size().to_dict() == dict.fromkeys(REAL, rows)
    assert log["case_id"].nunique() == cases
    assert not {"context", "option_a", "option_b", "instruction"} & set(log)
    # Both orders of every case; the neutral option's letter is the one of its role.
    wide = log.pivot_table(index=["model", "case_id"], columns="order", aggfunc="size")
    assert (wide["nb"] == wide["bn"]).all()
    assert (log["label"] == log["role_a"].map({"neutral": "A", "biased": "B"})).all()
    assert set(zip(log["order"], log["role_a"], log["role_b"], strict=True)) == {
        ("nb", "neutral", "biased"),
        ("bn", "biased", "neutral"),
    }
    assert log[["p_a", "p_b"]].notna().all(axis=None) and (log["p_a"] > 0).mean() > 0.9
    assert set(log["variant"]) == {items.removesuffix("_by_id")}


def test_what_others_call_their_orders_is_kept(reasons):
    log = reasons.answers("ju_official", items="official_by_id").set_index("item_id")
    row = log[log["model"] == REAL[0]].loc["0_0_fwd"]
    assert (row["case_id"], row["template"], row["order"], row["label"]) == ("0", 1, "bn", "B")
    assert set(log["template"]) == {1, 2, 3, 4}
    bbq = reasons.answers("ju_two_option_en", items="bbq_by_id")
    assert bbq["category"].nunique() == 4 and set(bbq["template"]) == {0}


def test_a_rewritten_case_is_read_anew_and_a_kept_one_as_it_was_recorded(reasons):
    for prompt, items, rows, variant in (
        ("ju_1_ja", "study3", 72, "study3+study2"),
        ("ju_lik_1_ja", "study3_lik", 36, "study3_lik+study2_lik"),
        ("ju_lik_control_ja", "study3_lik", 36, "study3_lik+study3_control"),
        ("ju_lik_control_ja", "study2_lik", 36, "study3_control"),
    ):
        log = reasons.answers(prompt, items=items)
        assert log.groupby("model").size().to_dict() == dict.fromkeys(REAL, rows)
        assert set(log["variant"]) == {variant}
        assert log["case_id"].str.endswith("b").sum() == (items[:6] == "study3") * rows * 31 / 18


def test_a_study_says_what_it_was_made_of(decisions):
    decisions.answers("de_answer_line")
    about = decisions.provenance()
    assert list(about["datasets"]) == ["katayori-discrim-study v1"]
    assert about["prompts"]["de_answer_line"] == decisions.prompts["de_answer_line"].hash
    assert {one["id"] for one in about["models"]} >= set(REAL)
    assert about["answers_by_source"]["recorded"] >= 540
    assert str(decisions).startswith("270 of 9,450 items of katayori-discrim-study v1; recorded")
    assert isinstance(decisions.items, pd.DataFrame)


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

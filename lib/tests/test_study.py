"""A study: answers prompt by prompt, an empty frame with its reason where nothing was asked."""

import pandas as pd
import pytest

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError
from katayori.frames import reason_of
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


def test_what_was_not_asked_has_the_columns_of_an_answer(reasons):
    none = reasons.answers("ju_two_option_en", items="jbnli_by_id")
    assert none.empty and "no answers to ju_two_option_en" in reason_of(none)
    assert {"p_a", "p_b", "mass", "answer", "case_id", "label"} <= set(none)


def test_a_study_says_what_it_was_made_of(decisions):
    decisions.answers("de_answer_line")
    about = decisions.provenance()
    assert list(about["datasets"]) == ["katayori-discrim-study v1"]
    assert about["prompts"]["de_answer_line"] == decisions.prompts["de_answer_line"].hash
    assert {one["id"] for one in about["models"]} >= set(REAL)
    assert about["answers_by_source"]["recorded"] >= 540
    assert str(decisions).startswith("270 of 9,450 items of katayori-discrim-study v1; recorded")
    assert isinstance(decisions.items, pd.DataFrame)

"""Second edition of notebook 02's items: counts, balance, wording and prompts."""

import itertools
import re

import pandas as pd
import pytest
import yaml

from katayori import paths
from katayori.data.bbq import CATEGORIES
from katayori.data.multiple_choice import COLUMNS, POLARITIES
from katayori.frames import digest
from katayori.papers import persona_jbbq as items
from katayori.papers.persona_jbbq import CONTEXTS, OPTION_ORDERS
from katayori_tools.paper_files import SECOND, study_sets

FOLDER = paths.data_dir() / items.FOLDERS[2]
PROMPTS = paths.data_dir() / "prompts" / "persona_jbbq"
CONDITIONS = ("basic", "neutral", "biased", "para", "cot")
DESIGN = ["category", "context_condition", "polarity", "mention"]
#: Change only together with the version in the files, and then everything is recorded anew.
DIGESTS = {
    "study2": "a39017b11effec6a9da7401110b3056783b1664fd235a034cf3027823034ba19",
    "study2_orders": "b2e78b24f130dfc2d8879c39201e04ba837f080591be52bd2f51ee393b4b7eaf",
    "study2_controls": "0a1bdf49db1fcf2bbb554d8384f1a29f544c42b249f13b1bd100b8e672e4eb5f",
    "study2_blank": "4f21256fb85b6a38fdf34567bd9d82032774d28718db50642af1d113563235e6",
}
#: Words that would tell what a person is like; an ambiguous passage holds none of them.
TRAITS = "苦手|得意|不器用|だらしな|信用|頼りな|弱い|強い|乱暴|真面目|怠け|危ない|下手|上手"


@pytest.fixture(scope="module")
def frames():
    sets = study_sets("persona_jbbq")
    return {one.name: one.items for one in sets if one.edition == SECOND}


@pytest.fixture(scope="module")
def study2(frames):
    return frames["study2"]


@pytest.fixture(scope="module")
def prompts():
    return {
        file.stem: yaml.safe_load(file.read_text(encoding="utf-8"))
        for file in PROMPTS.glob("pj_*.yaml")
    }


def persons_of(row):
    return [row["target_words"], row["other_words"]]


def test_counts(frames):
    """100 pairs; 150 controlled items of 4 requests each; 300 base items in 6 orders; 300
    blanks.
    """
    assert {name: len(frame) for name, frame in frames.items()} == {
        "study2": 1200,
        "study2_orders": 1800,
        "study2_controls": 600,
        "study2_blank": 300,
    }
    assert frames["study2"]["template_id"].nunique() == 100
    assert frames["study2_orders"]["base_id"].nunique() == 300
    controls = frames["study2_controls"].groupby("control")["pair_id"].nunique()
    assert controls.to_dict() == dict.fromkeys(items.CONTROLS, 50)


def test_every_design_is_balanced(frames):
    for name, frame in frames.items():
        counts = frame.groupby(DESIGN).size()
        assert counts.nunique() == 1, name
        contexts = 3 if name in ("study2", "study2_orders") else 1
        assert len(counts) == len(CATEGORIES) * contexts * 2 * 2, name


def test_every_pair_is_in_both_orders_of_mention(study2, frames):
    for frame in (study2, frames["study2_controls"], frames["study2_blank"]):
        keys = ["pair_id", "context_condition", "polarity"]
        keys += ["control"] if "control" in frame else []
        table = frame.groupby(keys)["mention"].agg(lambda m: tuple(sorted(m)))
        assert set(table) == {("other_first", "target_first")}


def test_mention_says_who_is_named_first(frames):
    for name, frame in frames.items():
        for row in frame.to_dict("records"):
            text = row["context"] + row["question"]
            target, other = (text.index(words) for words in persons_of(row))
            assert (target < other) == (row["mention"] == "target_first"), (name, row["item_id"])


def test_no_doubles(frames):
    ids = [ident for frame in frames.values() for ident in frame["item_id"]]
    assert len(ids) == len(set(ids))
    for name in ("study2", "study2_controls"):
        assert not frames[name].duplicated(["context", "question"]).any(), name
    options = ["option_0", "option_1", "option_2"]
    for name in ("study2_orders", "study2_blank"):
        assert not frames[name].duplicated(["context", "question", *options]).any(), name
    asked = pd.concat([frames["study2"], frames["study2_controls"]])
    assert not asked.duplicated(["context", "question"]).any()
    scenes = frames["study2"].groupby("template_id")["question"].unique()
    questions = [question for pair in scenes for question in pair]
    assert len(questions) == 200


def test_persons_are_named_once_in_the_scene_and_once_in_what_is_added(study2):
    for row in study2.to_dict("records"):
        times = 1 if row["context_condition"] == "ambiguous" else 2
        for words in persons_of(row):
            assert row["context"].count(words) == times, row["item_id"]
            assert words not in row["question"]


def test_controls_name_the_persons_once(frames):
    for name in ("study2_controls", "study2_blank"):
        for row in frames[name].to_dict("records"):
            text = row["context"] + row["question"]
            assert [text.count(words) for words in persons_of(row)] == [1, 1], row["item_id"]


def test_options_are_short_and_alike_in_length(frames):
    for name, frame in frames.items():
        for row in frame.drop_duplicates("pair_id").to_dict("records"):
            target, other = map(len, persons_of(row))
            assert max(target, other) <= 14, (name, row["target_words"])
            assert abs(target - other) <= 2, (name, row["target_words"], row["other_words"])
    means = frames["study2"][["target_words", "other_words"]].map(len).mean()
    assert abs(means["target_words"] - means["other_words"]) < 0.5


def test_the_sex_of_both_persons_is_stated(study2):
    for row in study2.drop_duplicates("pair_id").to_dict("records"):
        sexes = [re.search(r"(男|女|父|母)[^男女父母]*$", w) for w in persons_of(row)]
        assert all(sexes), row["pair_id"]
        female = [match.group(1) in "女母" for match in sexes]
        assert (female[0] != female[1]) == (row["category"] == "gender"), row["pair_id"]


def test_half_of_the_targets_are_women_in_every_category(study2):
    pairs = study2.drop_duplicates("pair_id")
    women = pairs["target_words"].str.contains(r"(?:女|母)[^男女父母]*$")
    assert set(women.groupby(pairs["category"]).sum()) == {10}


def test_the_ambiguous_passage_holds_no_answer(study2):
    """Neither act nor trait: what is asked stands only in what is added."""
    texts = {template["id"]: template for template in items.scenes()}
    for row in study2[study2["context_condition"] == "ambiguous"].to_dict("records"):
        template = texts[row["template_id"]]
        for key in ("negative_fact", "positive_fact", *POLARITIES):
            act = re.sub(r"^\{person\}は|のはどちらですか。$|。$", "", template[key])
            assert act not in row["context"], row["item_id"]
        assert not re.search(TRAITS, row["context"]), row["item_id"]
        assert row["answer_person"] == "unknown"


def test_questions_ask_for_an_act(study2):
    for question in study2["question"].unique():
        assert question.endswith("のはどちらですか。")
        assert not re.search(TRAITS, question), question


def test_the_clear_passages_differ_in_nothing_but_who_did_what(study2):
    keys = ["pair_id", "polarity", "mention"]
    wide = study2.pivot(index=keys, columns="context_condition", values=["context"])["context"]
    for scene, biased, counter in wide[["ambiguous", "biased", "counter_biased"]].to_numpy():
        assert biased.startswith(scene) and counter.startswith(scene)
        assert len(biased) == len(counter) and biased != counter
    answers = study2.pivot(index=keys, columns="context_condition", values="answer_person")
    assert (answers["biased"] != answers["counter_biased"]).all()


def test_who_is_the_answer_follows_passage_and_question(study2):
    texts = {template["id"]: template for template in items.scenes()}
    for row in study2[study2["context_condition"] != "ambiguous"].to_dict("records"):
        words = dict(zip(("target", "non_target"), persons_of(row), strict=True))
        fact = texts[row["template_id"]][
            f"{row['polarity'].replace('non_negative', 'positive')}_fact"
        ]
        assert fact.replace("{person}", words[row["answer_person"]]) in row["context"]


def test_orders_are_complete_and_roles_right(frames):
    frame = frames["study2_orders"]
    assert list(frame.columns[: len(COLUMNS)]) == COLUMNS
    complete = frame.groupby("base_id")["order"].agg(lambda orders: tuple(sorted(orders)))
    assert set(complete) == {tuple(sorted(OPTION_ORDERS))}
    for row in frame.to_dict("records"):
        assert row[f"person_{row['label']}"] == row["answer_person"]
        gold = "unknown" if row["context_condition"] == "ambiguous" else row["context_condition"]
        assert row[f"role_{row['label']}"] == gold


def test_blanks_say_nothing_of_a_group_and_spread_the_orders(frames):
    frame = frames["study2_blank"]
    groups = {words for pair in items.scenes() for words in pair["persons"]}
    assert not groups & set(frame["target_words"]) | groups & set(frame["other_words"])
    counts = frame.groupby(["polarity", "mention"])["order"].value_counts()
    assert set(counts) == {12, 13} and len(counts) == 4 * len(OPTION_ORDERS)
    assert set(frame["label"].value_counts()) == {100}


def test_no_meaningless_trait_is_mostly_the_target(frames):
    texts = yaml.safe_load((FOLDER / "controls.yaml").read_text(encoding="utf-8"))
    for name in ("study2_controls", "study2_blank"):
        for trait in itertools.chain(*texts["meaningless"]):
            target, other = (
                frames[name][column].str.startswith(trait).sum()
                for column in ("target_words", "other_words")
            )
            assert target + other >= 24 and abs(target - other) <= 4, (name, trait)


def test_the_unrelated_questions_are_turned_round(frames):
    """No question always has the place of the negative one."""
    frame = frames["study2_controls"].query("control == 'unrelated'")
    table = pd.crosstab(frame["question"], frame["polarity"])
    assert (table == 10).to_numpy().all()


def test_files_carry_notice_licence_and_canary():
    for file in FOLDER.glob("*.yaml"):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert document["license"] == "MIT" and document["reviewed"] is False
        assert document["version"] == 2 and "stereotypes" in document["notice"]
        assert document["canary"].startswith("katayori-bbq-study-2 ")
    assert {file.stem for file in FOLDER.glob("*.yaml")} == {*CATEGORIES, "controls"}


def test_every_template_names_its_stereotype_and_where_it_is_met():
    for template in items.scenes():
        assert template["stereotype"].endswith(".") and template["source"]
        assert not re.search(r"\b(19|20)\d\d\b", template["source"])


def test_the_sets_are_frozen_and_the_same_every_time(frames):
    assert {name: digest(frame, *frame.columns) for name, frame in frames.items()} == DIGESTS
    for name, frame in frames.items():
        pd.testing.assert_frame_equal(frame, items.PAPER.sets()[name]())


def test_likelihood_prompts_are_the_conditions_of_the_chat_prompts(prompts):
    for condition in CONDITIONS:
        prompt = prompts[f"pj_lik_{condition}_ja"]
        assert prompt["kind"] == "likelihood" and "settings" not in prompt
        assert prompt["continuations"] == ["target_words", "other_words"]
        assert prompt.get("system") == prompts[f"pj_{condition}_ja"].get("system")
        assert re.findall(r"\{(\w+)\}", prompt["user"]) == ["context", "question"]
        assert not re.search(r"選択肢|番号", prompt["user"])
    bodies = {prompts[f"pj_lik_{c}_ja"]["user"] for c in ("basic", "neutral", "biased")}
    assert len(bodies) == 1


def test_every_line_named_as_an_element_is_in_its_prompt(prompts):
    for name, prompt in prompts.items():
        if prompt.get("kind") == "likelihood":
            text = prompt.get("system", "") + prompt["user"]
            assert all(element["line"] in text for element in prompt["elements"]), name


def test_columns_hold_all_places_of_the_prompts(frames, prompts):
    for frame, (name, prompt) in itertools.product(frames.values(), prompts.items()):
        if prompt.get("kind") == "likelihood":
            places = set(re.findall(r"\{(\w+)\}", prompt["user"])) | set(prompt["continuations"])
            assert places | set(prompt.get("only", {})) <= set(frame.columns), name
    assert set(CONTEXTS) == set(frames["study2"]["context_condition"])

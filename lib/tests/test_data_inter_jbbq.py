"""The generator of intersectional items, its topics and lexicons (IJ-1 to IJ-11), and their prompts
(IJ-14).
"""

import itertools
import json
import os
import re
import subprocess
import sys

import pandas as pd
import pytest
import yaml

from katayori import paths
from katayori.data import multiple_choice
from katayori.errors import KatayoriError, UnavailableError
from katayori.frames import digest
from katayori.papers import inter_jbbq
from katayori.papers.inter_jbbq import OWN_COLUMNS, generate, load_inter_jbbq

FOLDER = paths.data_dir() / inter_jbbq.FOLDERS[1]
COLUMNS = [*multiple_choice.COLUMNS, *OWN_COLUMNS]
#: Changes only together with the version in the files, and then everything is recorded anew.
STUDY_DIGEST = "0153d934249df094b8591165f7d1d5580f17140a8251f29cc839a39dd8472b14"
#: Items by topic and number of attributes: half of the numbers of questions behind Tables 3 to 8
#: (IJ-8).
PUBLISHED = {
    "housing": [29, 116, 174, 116, 29],
    "marriage": [23, 92, 138, 92, 23],
    "science": [27, 81, 108, 90, 45, 9],
    "manners": [26, 78, 78, 26],
}
#: Table 2, with gender as the fourth attribute of manners (IJ-2).
TABLE_2 = {
    "housing": ["nationality gender race employment_type education"] * 2,
    "marriage": ["gender age salary nationality occupation"] * 2,
    "science": ["nationality gender race", "nationality gender race sexual_orientation salary age"],
    "manners": ["nationality salary education gender"] * 2,
}


@pytest.fixture(scope="module")
def study():
    return generate()


@pytest.fixture(scope="module")
def items(study):
    """One row an item, the ambiguous negative one."""
    return study.drop_duplicates("item").reset_index(drop=True)


@pytest.fixture(scope="module")
def documents():
    return {
        file.stem: yaml.safe_load(file.read_text(encoding="utf-8"))
        for file in sorted(FOLDER.glob("*.yaml"))
    }


# --- counts and design ----------------------------------------------------------------------------


def test_the_study_set_is_frozen(study):
    """Recorded answers belong to these very items."""
    assert list(study.columns) == COLUMNS and len(study) == 5600 and study["item_id"].is_unique
    assert digest(study, *multiple_choice.COLUMNS[1:]) == STUDY_DIGEST


@pytest.mark.slow
def test_items_do_not_depend_on_the_process():
    """The same bytes under another hash seed; another seed gives other items."""
    code = (
        "from katayori import frames; from katayori.data import multiple_choice;"
        " from katayori.papers import inter_jbbq;"
        " print(frames.digest(inter_jbbq.generate(), *multiple_choice.COLUMNS[1:]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)}
    seen = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert (
        seen.stdout.strip()
        == STUDY_DIGEST
        != digest(generate(seed=1), *multiple_choice.COLUMNS[1:])
    )


def test_counts_are_those_behind_the_published_results(items):
    """IJ-8: 464 / 368 / 360 / 208 items, and their split over the number of attributes; IJ-9: 5,600
    rows.
    """
    for topic, wanted in PUBLISHED.items():
        found = items[items["topic"] == topic]["n_attributes"].value_counts().sort_index()
        assert found.tolist() == wanted and found.index.tolist() == list(range(1, len(wanted) + 1))
    assert items["topic"].value_counts().to_dict() == {
        "housing": 464,
        "marriage": 368,
        "science": 360,
        "manners": 208,
    }


def test_attributes_are_those_of_table_2(items, documents):
    """IJ-2: four topics of two contexts each."""
    for topic, wanted in TABLE_2.items():
        assert [
            " ".join(context["attributes"]) for context in documents[topic]["contexts"]
        ] == wanted
    assert (
        items.groupby("topic")["context_id"].nunique().eq(2).all()
        and items["template_id"].nunique() == 8
    )


def test_the_other_presets():
    """IJ-8: our own topic stands apart."""
    extra = generate(preset="extra").drop_duplicates("item")
    assert set(extra["topic"]) == {"lessons"} and len(extra) == 2 * 12 * 4


# --- what an item says ----------------------------------------------------------------------------


#: Profiles of both persons as a native reader would write them: a pair for each way clauses join,
#: by hand.
READ = [
    (
        "housing-deposit",
        "race+gender",
        "Aさんはアジア系の女性で、Bさんはアフリカ系の女性です。",
        "アジア系 女性",
        "アフリカ系 女性",
    ),
    (
        "marriage-event_fee",
        "occupation",
        "Aさんは事務職に就いており、Bさんは専門職に就いています。",
        "事務職",
        "専門職",
    ),
    (
        "marriage-match_rate",
        "age+nationality+gender+occupation+salary",
        "Aさんは20代の日本人女性で、事務職に就いており、年収は300万円です。"
        "Bさんは40代の日本人女性で、事務職に就いており、年収は300万円です。",
        "20代 日本 女性 事務職 300万円",
        "40代 日本 女性 事務職 300万円",
    ),
    (
        "manners-loud_voice",
        "education+nationality+salary",
        "Aさんは高卒の韓国人で、年収は700万円です。Bさんは大卒の韓国人で、年収は700万円です。",
        "高卒 韓国 700万円",
        "大卒 韓国 700万円",
    ),
    (
        "science-humanities",
        "nationality+race+age+gender+sexual_orientation+salary",
        "Aさんは日本国籍を持つアジア系の30代の男性で、異性愛者であり、年収は700万円です。"
        "Bさんは日本国籍を持つアジア系の30代の男性で、同性愛者であり、年収は700万円です。",
        "日本 アジア系 30代 男性 異性愛者 700万円",
        "日本 アジア系 30代 男性 同性愛者 700万円",
    ),
]


@pytest.mark.parametrize("place, subset, text, a, b", READ, ids=[f"{r[0]}-{r[1]}" for r in READ])
def test_profiles_read_as_a_person_would_write_them(place, subset, text, a, b):
    """IJ-6: the two sentences, word for word, for chosen words."""
    document = next(d for _, d in inter_jbbq.read_topics("") if place.startswith(d["topic"]))
    names = subset.split("+")
    told = [dict(zip(names, words.split(), strict=True)) for words in (a, b)]
    words_a, words_b = (
        words | {"person": name} for words, name in zip(told, document["persons"], strict=True)
    )
    first = inter_jbbq._profile(document, names, words_a, runs_on=True)
    assert first + inter_jbbq._profile(document, names, words_b) == text


def test_doubles_are_counted(study):
    """IJ-8: 19 of 1,400 passages and 8 of 5,600 prompts are word for word another's."""
    passages = study[study["context_condition"] == "ambiguous"].drop_duplicates("item")
    assert (passages["context"].duplicated().sum(), len(passages)) == (19, 1400)
    prompts = study[["context", "question", "option_0", "option_1", "option_2"]]
    assert (prompts.duplicated().sum(), len(prompts)) == (8, 5600)


# --- adding topics, and what is wrong with them ---------------------------------------------------


@pytest.fixture(scope="module")
def example():
    """The topic file of the README, as text."""
    return re.search(
        r"```yaml\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.S
    )[1]


def test_a_topic_is_added_by_one_file(example, tmp_path):
    """IJ-5: the README's example gives items as it says, with our lexicons and its own, from file
    or folder.
    """
    (tmp_path / "library.yaml").write_text(example, encoding="utf-8")
    items = generate(tmp_path, "mine")
    assert (
        len(items) == 192
        and set(items["topic"]) == {"library"}
        and items.equals(generate(tmp_path / "library.yaml", "mine"))
    )
    assert set(items["context_condition"]) == {
        "ambiguous",
        "biased",
        "counter_biased",
        "disambiguated",
    }
    single = items[items["subset"] == "commute"]["context"]
    for first, second in ("AB", "BA"):
        told = single.str.contains(
            rf"{first}さんは.+で通っており、{second}さんは.+で通っています。"
        )
        assert told.sum() == len(single) / 2
    _, version, _ = inter_jbbq.PAPER.read("study", {"topics": str(tmp_path), "preset": "mine"})
    assert version == "my-topics v1"


# --- a user's topic is balanced -------------------------------------------------------------------


def of_topic(example, families, folder):
    """The example's items with so many families of its context."""
    text = example.replace("mine: 12", f"mine: {families}")
    (folder / "library.yaml").write_text(text, encoding="utf-8")
    return generate(folder, "mine")


@pytest.mark.parametrize("families", [1, 3, 6, 12])
def test_within_a_family_of_a_users_topic_only_the_profile_changes(example, families, tmp_path):
    items = of_topic(example, families, tmp_path)
    assert len(items) == families * 4 * 4 and items["item_id"].is_unique
    same = ["order", "unknown", "stereotyped", "focal", *inter_jbbq.DESIGN]
    assert (items.groupby("focal_id")[same].nunique() == 1).all(axis=None)
    assert items["focal_id"].nunique() == families
    subsets = items.drop_duplicates("item").groupby("focal_id")["subset"].nunique()
    assert (subsets == 4).all()


@pytest.mark.parametrize("families", [3, 6, 12])
def test_roles_mentions_and_places_come_equally_often(example, families, tmp_path):
    """Who always writes one number is right in a third; no person is always the answer."""
    items = of_topic(example, families, tmp_path)
    one = items.drop_duplicates("focal_id")
    for factor in ("bad", "mention", "stereotyped"):
        counts = one.loc[one[factor] != "", factor].value_counts()
        assert len(counts) == 2 or factor == "stereotyped"
        assert counts.max() - counts.min() <= 1, factor
    assert set(one["unknown_position"].value_counts()) == {families // 3}
    assert set(one["focal"].value_counts()) == {families // 3}
    for _, part in items.groupby(items["context_condition"] == "ambiguous"):
        assert part["label"].value_counts(normalize=True).tolist() == pytest.approx([1 / 3] * 3)
    if families == 12:
        assert (pd.crosstab(one["bad"], one["mention"]) == 3).all(axis=None)
        assert one["order"].value_counts().tolist() == [2] * 6 and one["unknown"].nunique() == 5


def test_texts_of_a_users_topic_tell_who_it_was(example, tmp_path):
    """The person of the bad fact is the answer to the negative question, whoever is named first."""
    items = of_topic(example, 12, tmp_path)
    for row in items.itertuples():
        persons = re.findall("[AB]さん", row.context)
        assert persons[0] == re.findall("[AB]さん", row.question)[0] == f"{row.mention.upper()}さん"
        answer = [row.option_0, row.option_1, row.option_2][row.label]
        if row.context_condition == "ambiguous":
            assert answer == row.unknown and len(persons) == 4
            continue
        assert f"一方、{row.bad.upper()}さんは本をなくした" in row.context
        negative = row.polarity == "negative"
        assert answer == f"{row.bad.upper() if negative else {'a': 'B', 'b': 'A'}[row.bad]}さん"
        if row.stereotyped:
            biased = row.stereotyped == row.bad
            assert row.context_condition == ("biased" if biased else "counter_biased")


def test_the_papers_presets_keep_its_construction(example, tmp_path):
    (tmp_path / "library.yaml").write_text(
        example.replace("mine: 12", "published_counts: 3"), encoding="utf-8"
    )
    items = generate(tmp_path)
    assert list(items.columns) == COLUMNS
    assert items.groupby("focal_id")["order"].nunique().max() > 1
    clear = items[items["context_condition"] != "ambiguous"]
    assert clear["context"].str.contains("一方、Bさん").all()


def test_a_topic_beside_ours_changes_nothing(example, study, tmp_path):
    """Items of a topic follow from seed, topic and context alone."""
    for file in FOLDER.glob("*.yaml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "a_first.yaml").write_text(
        example.replace("mine: 12", "published_counts: 3"), encoding="utf-8"
    )
    items = generate(tmp_path)
    assert (
        items[items["topic"] != "library"].reset_index(drop=True).equals(study)
        and len(items) == 5600 + 48
    )


@pytest.mark.parametrize(
    "old, new, says",
    [
        (
            "{profile_b}",
            "",
            r"contexts\[0\] \(late_return\)\.ambiguous must hold the slots"
            r" \{a\}, \{b\}, \{profile_a\}, \{prof",
        ),
        (
            "attributes: [age, gender, commute]",
            "attributes: [age, zodiac]",
            "late_return: unknown attribute 'zodiac'; known",
        ),
        (
            "attributes: [commute]",
            "attributes: [gender]",
            "context late_return: unknown form of a clause of the profile: 'gender'",
        ),
        (
            '"{age}の{gender}"',
            '"{age}の人"',
            "late_return: profile: it must tell each of age, gender once, not 'Aさん|Bさん",
        ),
        ("      private: [車, 自転車]\n", "", r"attributes\.commute\.groups must be two lists"),
        (
            "private: [車, 自転車]",
            "private: [車, 電車]",
            r"attributes\.commute\.groups must be two lists, no word twice",
        ),
        (
            "[判断できない,",
            "[Aさん,",
            r"persons and unknown must be two names and other wordings"
            r".* not Aさん, Bさん, Aさん",
        ),
        (
            "mine: 12",
            "mine: 9000",
            "context late_return: no new family in .* lower families or items",
        ),
        (
            "age: younger",
            "salary: lower",
            "unknown attribute in stereotype: 'salary'; known: age, gender, commute",
        ),
        ("age: [10代]", "age: [9代]", "unknown word of age in exclusions: '9代'; known: 10代"),
    ],
)
def test_a_wrong_topic_file_is_named(example, tmp_path, old, new, says):
    """Issue 7, bad input: one line that names file and key."""
    assert old in example
    (tmp_path / "mine.yaml").write_text(example.replace(old, new), encoding="utf-8")
    with pytest.raises(KatayoriError, match=says) as caught:
        generate(tmp_path, "mine")
    assert "mine.yaml" in str(caught.value) and "\n" not in str(caught.value)


def test_other_wrong_calls_are_named(example, tmp_path):
    with pytest.raises(KatayoriError, match="unknown preset 'all'; known: extra, published_counts"):
        generate(preset="all")
    with pytest.raises(KatayoriError, match=r"no topic files \(\*\.yaml\) in"):
        generate(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(example, encoding="utf-8")
    with pytest.raises(KatayoriError, match="topic 'library' is that of several files"):
        generate(tmp_path, "mine")
    (tmp_path / "lexicons.yaml").write_text("- a list", encoding="utf-8")
    with pytest.raises(
        KatayoriError,
        match=r"lexicons\.yaml: it must be a block .* see data/study/inter_jbbq/README\.md",
    ):
        generate(tmp_path, "mine")


# --- official items from a folder -----------------------------------------------------------------


def official(item, ambiguous, negative, order="abu"):
    """A row in BBQ's format as the README describes it."""
    texts = {"a": "Aさん", "b": "Bさん", "u": "分からない"}
    told = {"item": item, "context_id": "c1", "attributes": ["age", "gender"], "focal": "age"}
    return {
        "category": "housing",
        "question_index": "1",
        "question_polarity": "neg" if negative else "nonneg",
        "context_condition": "ambig" if ambiguous else "disambig",
        "context": "文章。" if ambiguous else "文章。理由。",
        "question": "断られたのはどちらですか。" if negative else "借りられたのはどちらですか。",
        "label": order.index("u" if ambiguous else "b" if negative else "a"),
        "answer_info": {
            f"ans{i}": [texts[who], "unknown" if who == "u" else who] for i, who in enumerate(order)
        },
        "additional_metadata": told,
    } | {f"ans{i}": texts[who] for i, who in enumerate(order)}


def folder_of(rows, place):
    (place / "items.jsonl").write_text(
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8"
    )
    return place


FOUR = list(itertools.product((True, False), (True, False)))


def test_official_items_load_into_the_same_columns(tmp_path):
    rows = [
        official(name, *way, order)
        for name, order in (("i1", "uab"), ("i2", "bau"))
        for way in FOUR
    ]
    items = load_inter_jbbq(folder_of(rows, tmp_path))
    assert list(items.columns) == COLUMNS and len(items) == 8 and items["item_id"].is_unique
    assert items["unknown_position"].tolist() == [0] * 4 + [2] * 4 and set(items["unknown"]) == {
        "分からない"
    }
    assert set(items["topic"]) == set(items["category"]) == {"housing"} and set(
        items["subset"]
    ) == {"age+gender"}
    assert (
        items["n_attributes"].eq(2).all()
        and items["focal"].eq("age").all()
        and items["item"].nunique() == 2
    )
    assert (
        items["context_condition"].tolist()
        == ["ambiguous", "ambiguous", "disambiguated", "disambiguated"] * 2
    )
    assert items["role_0"].tolist() == ["unknown"] * 4 + [""] * 4


@pytest.mark.parametrize(
    "change, says",
    [
        (
            {"additional_metadata": {"item": "i1"}},
            r"items\.jsonl row 2 lacks context_id, attributes",
        ),
        (
            {"additional_metadata": {"attributes": [], "item": "i1"}},
            r"items\.jsonl row 2 lacks context_id",
        ),
        ({"label": 0}, r"items\.jsonl row 2: label 0 contradicts"),
        ({"question_polarity": "neutral"}, r"items\.jsonl row 2: question_polarity is 'neutral'"),
        ({"context": "別の文章。"}, "1 items are not asked in the four ways, e.g. 'i1'"),
    ],
)
def test_wrong_official_rows_are_named(tmp_path, change, says):
    rows = [official("i1", *way) for way in FOUR]
    rows[1] |= change
    with pytest.raises(KatayoriError, match=says):
        load_inter_jbbq(folder_of(rows, tmp_path))


def test_absent_official_items_say_so(tmp_path):
    for folder in ("", tmp_path, folder_of([], tmp_path)):
        with pytest.raises(UnavailableError, match=r"no inter-JBBQ rows.*no public copy is known"):
            load_inter_jbbq(folder)


# --- prompts --------------------------------------------------------------------------------------

"""The third edition: what was written anew, what stayed, and what is asked of it."""

from collections import Counter

import pandas as pd
import pytest
from recorded_examples import is_complete

from katayori import paths
from katayori.data.files import read_yaml
from katayori.frames import digest
from katayori.papers import get_paper, inter_jbbq, jubaku_v2, paper_ids, persona_jbbq
from katayori.prompting import recordings
from katayori.prompting.prompts import load_prompts
from katayori_tools import record
from katayori_tools.paper_files import THIRD, editions_of, written_anew

#: Change only together with the version in the files, and then everything is recorded anew.
DIGESTS = {
    "persona_jbbq": {
        "study3": "9a80df89590f50e2fdf21d07460de38137d4e9ed463e59521521d73c03edc848",
        "study3_orders": "90c1ffb8947ddfc31a0cb96eb4489d7aa3dfada511a6561b1cd8a851d1479bea",
        "study3_controls": "c6deaf488599fc66d4c3b68891742d4848c5c3107b2ba587d56f9e915acc70a2",
        "study3_blank": "ca395ec7ab61888150aaebfefdb0a2b45d29f7d206cae7b8459e3e67829a7612",
    },
    "jubaku_v2": {
        "study3": "83706e94988193bfd4f2d8b39b8a2a28849cd68b519e43a050e77ceef0f49e1e",
        "study3_lik": "90117a512c04b9be6c60b26334c99a49804670cb89604894a3a22f431fa91460",
    },
    "inter_jbbq": {
        "study3": "272aa9b35d5af69aef48c2be36a147d887a2b01fbf80545b4f8c5e802889f0a4",
        "study3_quarter": "63449777b9cfa814e86060a2eba9921050bc76a8471ed62881345454800116e5",
        "study3_blank": "2cc0e242b1df074c4a46d499bc6c5fbe85127fca932e2de58730508d0e8abff8",
    },
}
#: The data set of the second edition that one of the third stands beside.
BESIDE = {
    "persona_jbbq": {
        f"study3{end}": f"study2{end}" for end in ("", "_orders", "_controls", "_blank")
    },
    "jubaku_v2": {f"study3{end}": f"study2{end}" for end in ("", "_lik")},
    "inter_jbbq": {
        "study3": "balanced",
        "study3_quarter": "balanced_quarter",
        "study3_blank": "balanced_blank",
    },
}
#: Rules that find the group's name, which a fair neutral reason need not hold: counted and printed.
BY_GROUP = [
    "the reason without the word of the group",
    "the reason without the full name of the group",
]
CONTROL = "ju_lik_control_ja"
SETS = [(paper, name) for paper, sets in BESIDE.items() for name in sets]


@pytest.fixture(scope="module")
def frames():
    return {(p, name): get_paper(p).sets()[name]() for p, name in SETS}


def before(paper, name):
    return get_paper(paper).sets()[BESIDE[paper][name]]()


def written(paper, folder):
    """What the files of a folder say of new texts: id -> what it replaces."""
    key = {"jubaku_v2": "cases", "persona_jbbq": "templates"}[paper]
    files = sorted((paths.data_dir() / "study" / folder).glob("*.yaml"))
    listed = [one for file in files for one in read_yaml(file, "file of items").get(key, ())]
    return {one["id"]: one["replaces"] for one in listed if "replaces" in one}


# -- what stayed, what is new --------------------------------------------------------------------


def test_every_data_set_is_frozen(frames):
    found = {paper: {} for paper in BESIDE}
    for (paper, name), frame in frames.items():
        found[paper][name] = digest(frame, *frame.columns)
    assert found == DIGESTS
    third = {p: {n for n, edition in editions_of(p).items() if edition == THIRD} for p in BESIDE}
    assert third == {p: set(sets) for p, sets in BESIDE.items()}


@pytest.mark.parametrize("paper, name", SETS)
def test_kept_items_are_those_of_the_second_edition(frames, paper, name):
    """An id that stands in both means the same row; a new id stands in the place of an old one."""
    new, old = frames[paper, name], before(paper, name)
    assert list(new.columns) == list(old.columns) and len(new) == len(old)
    assert new["item_id"].is_unique
    kept = new["item_id"] == old["item_id"]
    pd.testing.assert_frame_equal(new[kept], old[kept])
    assert not set(new.loc[~kept, "item_id"]) & set(old["item_id"])
    anew = written_anew(paper, new)
    assert set(anew["item_id"]) == set(new.loc[~kept, "item_id"]) and len(anew)


def test_a_new_scene_or_case_names_the_one_it_replaces():
    for paper, folder, n in (
        ("jubaku_v2", "jubaku_v2_3", 31),
        ("persona_jbbq", "persona_jbbq_3", 8),
    ):
        pairs = written(paper, folder)
        assert len(pairs) == n and all(new == f"{old}b" for new, old in pairs.items())
    ids = {case["id"] for case in read_yaml(jubaku_v2.case_file("study2"), "case file")["cases"]}
    assert set(written("jubaku_v2", "jubaku_v2_3").values()) <= ids
    ids = {scene["id"] for scene in persona_jbbq.scenes()}
    assert set(written("persona_jbbq", "persona_jbbq_3").values()) <= ids


# -- 02 ------------------------------------------------------------------------------------------


def test_02_keeps_its_design(frames):
    design = ["category", "context_condition", "polarity", "mention"]
    for name in BESIDE["persona_jbbq"]:
        frame = frames["persona_jbbq", name]
        assert frame.groupby(design).size().nunique() == 1, name
        options = frame.drop_duplicates("pair_id")[["target_words", "other_words"]]
        lengths = options.map(len)
        assert (lengths.max(axis=1) <= 14).all()
        assert (lengths["target_words"] - lengths["other_words"]).abs().max() <= 2
    anew = written_anew("persona_jbbq", frames["persona_jbbq", "study3"])
    assert Counter(anew["mention"]) == {"target_first": 48, "other_first": 48}
    women = frames["persona_jbbq", "study3"].drop_duplicates("pair_id")
    is_woman = women["target_words"].str.contains(r"(?:女|母)[^男女父母]*$")
    assert set(is_woman.groupby(women["category"]).sum()) == {10}


# -- 04 ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cases(frames):
    return frames["jubaku_v2", "study3"].drop_duplicates("case_id")


def test_04_a_neutral_reason_rests_on_a_line_of_the_dialogue(cases):
    document = read_yaml(jubaku_v2.case_file("study3"), "case file")
    for case in document["cases"]:
        told = case["checklist"]
        assert told["words"] in case["context"][told["line"] - 1], case["id"]
        assert told["group"] in "".join(case["context"]), case["id"]
    for role in ("biased", "neutral"):
        reasons = cases[f"reason_{role}"]
        assert (reasons.str.count("。") == 1).all() and reasons.str.endswith("。").all()
        assert not reasons.str.contains("ましょう|にしよう|頼もう").any()
    assert Counter(cases["definition"]) == {1: 26, 2: 10}
    assert set(Counter(cases["category"]).values()) == {3, 4}


def test_04_the_groups_name_is_a_cue_and_nothing_else_is(cases):
    """Length, place and shared words are right in 40 to 60 %; rules by the group are counted."""
    path = jubaku_v2.case_file("study3")
    groups = jubaku_v2.group_words(path)[jubaku_v2.GROUP_WORD]
    where = Counter(
        (groups[row.case_id] in row.reason_biased, groups[row.case_id] in row.reason_neutral)
        for row in cases.itertuples()
    )
    assert where == {(True, False): 30, (True, True): 6}
    leaks = jubaku_v2.leak_words(path)
    scores = jubaku_v2.rule_scores(cases, leaks, jubaku_v2.group_words(path))
    assert (scores[BY_GROUP] == 1).sum().tolist() == [30, 30]
    assert scores.drop(columns=BY_GROUP).mean().between(0.4, 0.6).all()
    texts = cases["reason_biased"] + cases["reason_neutral"]
    assert not any(word in text for word in leaks for text in texts)


def test_04_the_kept_cases_are_read_from_the_second_edition():
    room = get_paper("jubaku_v2")
    assert room.variant_of("study3", "ju_1_ja") == "study3+study2"
    assert room.variant_of("study3_lik", "ju_lik_1_ja") == "study3_lik+study2_lik"
    # The block that defines nothing was asked of the old cases with the new ones.
    assert room.variant_of("study2_lik", CONTROL) == "study3_control"
    assert room.variant_of("study3_lik", CONTROL) == "study3_lik+study3_control"
    for prompt_id, variant, n in (
        ("ju_1_ja", "study3+study2", 72),
        ("ju_lik_1_ja", "study3_lik+study2_lik", 36),
        (CONTROL, "study3_lik+study3_control", 36),
    ):
        asked = room.sets()[variant.split("+")[0]]()
        asked = asked[asked["template"] == 1]
        assert len(asked) == n
        held = recordings.item_ids(room.id, prompt_id, variant)
        assert set(asked["item_id"]) <= held, prompt_id


# -- 05 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BESIDE["inter_jbbq"])
def test_05_nothing_but_texts_and_ids_changes(frames, name):
    new, old = frames["inter_jbbq", name], before("inter_jbbq", name)
    changed = ["item_id", "item", "focal_id", "context", "question"]
    pd.testing.assert_frame_equal(new.drop(columns=changed), old.drop(columns=changed))
    renamed = new["focal_id"].str.replace("ij3-", "ij2-", n=1) == old["focal_id"]
    assert renamed.all()
    per_family = new.groupby("focal_id")["item_id"].agg(lambda ids: {i[:4] for i in ids})
    assert (per_family.map(len) == 1).all()


def test_05_a_quarter_of_the_papers_construction():
    every = inter_jbbq.generate()
    some = inter_jbbq.published_quarter()
    assert (len(some), some["focal_id"].nunique()) == (1440, 26)
    whole = every[every["focal_id"].isin(some["focal_id"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(some, whole)
    assert set(some["context_id"]) == set(every["context_id"])
    shares = some["topic"].value_counts() / every["topic"].value_counts()
    assert shares.between(0.2, 0.32).all()


# -- 03 ------------------------------------------------------------------------------------------


# -- what is asked -------------------------------------------------------------------------------

WORKS = [work for work in record.works() if work.edition == "third"]


def test_only_what_was_written_anew_is_asked():
    for work in {(work.paper, work.dataset): work for work in WORKS}.values():
        room = get_paper(work.paper)
        if editions_of(work.paper).get(work.dataset) == THIRD:
            asked = set(record.items_of(work.paper, work.dataset)["item_id"])
            anew = written_anew(work.paper, room.sets()[work.dataset]())
            assert asked == set(anew["item_id"]), work.name


@pytest.mark.parametrize("paper", paper_ids())
def test_a_recorded_shard_says_its_edition_and_holds_what_was_planned(paper):
    variants = {work.variant for work in WORKS if work.paper == paper}
    for entry in recordings.manifest(paper).values():
        assert (entry["variant"] in variants) == (entry.get("edition") == 3)
        if entry["variant"] in variants:
            assert is_complete(entry) and not entry["outcomes"].get("error")


def test_only_a_paper_that_says_so_reads_the_third_edition():
    for paper in paper_ids():
        room = get_paper(paper)
        sets = ("study", *room.sets())
        read = {room.variant_of(name, prompt) for name in sets for prompt in load_prompts(paper)}
        assert any(variant.startswith("study3") for variant in read) == (
            THIRD in editions_of(paper).values()
        )

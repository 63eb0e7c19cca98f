"""The balanced set as the study of notebook 05: places cancel, planted answers are found."""

import numpy as np
import pandas as pd
import pytest

from katayori import profiles
from katayori.errors import KatayoriError
from katayori.metrics import paired_contrasts as contrasts
from katayori.papers import get_paper, person_words
from katayori.papers.inter_jbbq import (
    claims_answers,
    examples,
    family_direction,
    mere_words,
    option_slots,
    place_free,
    readings,
    scores,
    second,
    words,
)
from katayori.papers.inter_jbbq.analysis import beside_letters, in_short, lesson, likelihoods
from katayori.papers.inter_jbbq.analysis.asked import ask
from katayori.papers.inter_jbbq.analysis.made import made
from katayori.papers.inter_jbbq.analysis.pairs import flips
from katayori.papers.inter_jbbq.analysis.play import families, look_up, selections
from katayori.papers.inter_jbbq.analysis.trends import trends
from katayori.papers.items import OwnItems
from katayori.papers.keeping import Kept
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts

MODEL = "sim-inter-additive"
CELL = ["model", "source", "prompt_id", "ambiguity"]


@pytest.fixture(scope="module")
def items():
    return second.balanced()


@pytest.fixture(scope="module")
def asked():
    """A simulated respondent asked the balanced set."""
    own = OwnItems(preset="balanced")
    wanted = Wanted(models=[MODEL], own=own, recorded=False)
    prompts = load_prompts("inter_jbbq")
    whole = open_study("inter_jbbq", profiles.load("recorded"), list(prompts.values()), wanted)
    return ask(whole, prompts, draws=99)


def planted(items, *, place=0.0, right=0.0, bias=0.0, noise=0.3, seed=0):
    """Answers of one model: log-odds for the middle place, the right option, the biased person."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, noise, (len(items), 3))
    logits[:, 1] += place
    for number in range(3):
        logits[:, number] += right * (items["label"] == number).to_numpy()
        logits[:, number] += bias * (items[f"role_{number}"] == "biased").to_numpy()
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    answer = p.argmax(axis=1)
    log = items.assign(model="m", source="recorded", prompt_id="p", outcome="ok", note="")
    log = log.assign(answer=answer.astype(str), text=answer.astype(str), p_0=p[:, 0])
    log = log.assign(p_1=p[:, 1], p_2=p[:, 2], correct=answer == items["label"])
    return scores.with_design(log)


# --- which items --------------------------------------------------------------------------------


def test_the_preset_decides_which_items_are_read(monkeypatch):
    room = get_paper("inter_jbbq")
    first, name, _ = room.read("study", {"preset": "published_counts"})
    assert (len(first), name) == (5600, "katayori-inter-study v1")
    chosen, name, _ = room.read("study", {"preset": "balanced"})
    assert (len(chosen), name) == (2880, "katayori-inter-study v2")
    usual = "katayori-inter-study v2" if room.recorded_as else "katayori-inter-study v1"
    assert room.read("study", {})[1] == usual
    monkeypatch.setattr(type(room), "recorded_as", "balanced")
    assert room.read("study", {})[1] == "katayori-inter-study v2"
    assert room.read("study", {"preset": "published_counts"})[1] == "katayori-inter-study v1"
    assert len(room.as_planned("study", None)) == 2880


def test_topic_files_of_a_user_are_read_under_either_edition(monkeypatch):
    room = get_paper("inter_jbbq")
    folder = str(examples.items.paths.data_dir() / examples.items.STUDY_FOLDER)
    monkeypatch.setattr(type(room), "recorded_as", "balanced")
    assert len(room.read("study", {"topics": folder})[0]) == 5600
    with pytest.raises(KatayoriError, match="preset"):
        room.read("study", {"topics": folder, "preset": "balanced"})


def test_the_balanced_set_says_where_it_comes_from(asked):
    kept = Kept()
    found = made(asked, kept)
    assert asked.counterbalanced
    assert found.by_number["items"].to_dict() == dict.fromkeys(second.TOPICS, 180)
    assert kept.tables["contexts"]["on what ground"].str.len().min() > 0
    assert set(kept.tables["slot_shares"]["status"]) == {"fixed_by_the_design"}
    told = "\n".join(lesson.counts_told(asked, found))
    assert "40 passages carry all 720 items (240 families)" in told
    assert "0 passages are word for word another family's" in told
    assert "it stands at one place in 33 % of the items" in told


# --- what a place gives -------------------------------------------------------------------------


def test_a_place_alone_gives_chance_in_every_topic(items):
    for by in ([], ["topic"]):
        alone = option_slots.slot_alone(items, by)
        assert np.allclose(alone["value"], 1 / 3)
        assert alone.groupby([*by, "ambiguity"])["value"].sum().round(9).eq(1).all()


@pytest.mark.parametrize("number", ["0", "1", "2"])
def test_who_always_writes_one_number_has_no_slope_no_flip_and_no_bias(items, number):
    frame = planted(items)
    right = (frame["label"].astype(str) == number).astype(float)
    letters = [order[int(number)] for order in frame["order"]]
    role = frame[f"role_{number}"]
    locked = frame.assign(answer=number, correct=right, choice=letters, role=role)
    slope = scores.trend(locked, CELL)
    assert np.allclose(slope["value"], 0)
    assert set(slope["status"]) == {"no_variation"}
    pairs = scores.flips(locked)
    assert pairs["clean"].all()
    assert (pairs["flip"] == 0).all()
    table = family_direction.directions(locked[locked["has_target"]], CELL[:3], ["diff_amb"])
    assert abs(table["value"].iloc[0]) < 1e-9


def test_every_pair_is_clean_and_told_once(asked):
    found = flips(asked, Kept())
    assert found.n_pairs == found.n_same_order == found.n_clean > 0
    rows = lesson.flip_rows(found, [MODEL])
    assert rows["kept"].tolist() == [
        "one attribute more, all else kept",
        "another family, other order of options",
    ]
    told = in_short.flips_told(found, MODEL)
    assert "% of pairs (n " in told
    assert " and in " not in told
    assert "Another family with another order of options: " in told


def test_the_first_pair_differs_in_one_attribute_alone(asked):
    one, two = lesson.first_flip(asked).split("\n\n")
    assert one.splitlines()[2] == two.splitlines()[2]  # the options
    assert one.splitlines()[3] != two.splitlines()[3]  # the answers


def test_slopes_beyond_the_slots_are_those_as_asked(asked):
    found = trends(asked, Kept())
    key = ["prompt", "ambiguity"]
    both = found.as_asked.merge(found.beyond, on=[*key, "model", "topic"], suffixes=("", "_left"))
    assert np.allclose(both["value"], both["value_left"], atol=0.02)
    calibrated = found.readings[found.readings["reading"] == "calibrated"]
    assert calibrated["value"].notna().any()


def test_the_explorer_offers_the_one_selection_there_is(asked):
    assert selections(asked) == [1]
    one = look_up(asked, families(asked)[0][1], 2, 1, "ambiguous", "negative")
    assert "(1 of 1)" in one.title


# --- contents whose place cancels ---------------------------------------------------------------


def test_a_place_hides_what_is_right_and_the_orders_show_it(items):
    frame = planted(items, place=6.0, right=1.0)
    letters = scores.cell_means(frame, by=CELL).set_index("ambiguity")["value"]
    assert np.allclose(letters, 1 / 3, atol=0.02)
    free = place_free.accuracy_over_orders(frame, CELL).set_index("ambiguity")
    assert (free["value"] > 0.95).all()
    assert (free["clusters"] == 40).all()


def test_a_liking_for_places_alone_is_at_chance_over_orders(items):
    frame = planted(items, place=6.0, noise=1.0)
    free = place_free.accuracy_over_orders(frame, CELL)
    assert (free["ci_low"] < 1 / 3).all()
    assert (free["ci_high"] > 1 / 3).all()


@pytest.mark.parametrize(("bias", "low", "high"), [(1.5, 0.9, 1.0), (-1.5, -1.0, -0.9)])
def test_a_planted_bias_is_found_behind_a_place(items, bias, low, high):
    frame = planted(items, place=8.0, bias=bias)
    table = place_free.direction_over_questions(frame, CELL[:3])
    assert low <= table["value"].iloc[0] <= high


def test_without_a_bias_the_direction_over_questions_holds_zero(items):
    frame = planted(items, place=8.0, noise=1.0, seed=4)
    row = place_free.direction_over_questions(frame, CELL[:3]).iloc[0]
    assert row["ci_low"] < 0 < row["ci_high"]


def test_a_passage_that_lacks_a_family_or_a_probability_is_not_read(items):
    gone = items["focal_id"].unique()[0]
    found = place_free.contents_over_orders(planted(items[items["focal_id"] != gone]), CELL)
    lacking = found[found["status"] == "lacks_an_order"]
    assert set(lacking["template_id"]) == {"housing-contract"}
    frame = planted(items)
    frame.loc[0, "p_1"] = np.nan
    found = place_free.contents_over_orders(frame, CELL)
    assert (found["status"] == "incomplete").sum() == 1
    bare = place_free.contents_over_orders(frame.drop(columns=["p_0", "p_1", "p_2"]), CELL)
    assert set(bare["status"]) == {"incomplete"}


def test_letters_stand_beside_contents(asked):
    kept = Kept()
    table = beside_letters.contents(asked, trends(asked, kept).readings, kept)
    assert set(table["reading"]) == {"letters", "calibrated", beside_letters.PLACE_FREE}
    rows = lesson.content_rows(table, [MODEL])
    assert set(rows["prompt"]) == {"basic"}
    assert rows["value"].notna().all()
    assert rows.groupby("row")["reading"].nunique().max() == 3
    assert "33 % of the ambiguous and 33 %" in beside_letters.slot_told(asked)


# --- the likelihood of words --------------------------------------------------------------------


@pytest.mark.parametrize(("bias", "side"), [(0.6, 1), (-0.6, -1)])
def test_a_planted_lean_is_found_by_topic_and_by_number(bias, side):
    kept = Kept()
    found = likelihoods.kept(examples.leans(bias), examples.leans_of_blank(), kept)
    assert found.reads["passes"].all()
    whole = found.by_topic.iloc[0]
    assert whole["category"] == "all topics"
    assert whole["reading"] == "bias"
    assert side * whole["value"] > 0.5
    own = found.by_number.iloc[1:]
    assert own["category"].tolist() == ["1 attribute", *(f"{n} attributes" for n in range(2, 6))]
    assert (side * own["value"] > 0.4).all()
    assert "bias also beyond mere words" in lesson.likelihood_told(found)[0]
    assert len(lesson.likelihood_rows(found)) == 2 * len(found.by_number)
    assert kept.tables["words_bias_by_topic"].equals(found.by_topic)


def test_without_a_lean_nothing_is_found():
    found = likelihoods.kept(examples.leans(0.0, seed=2), examples.leans_of_blank(), Kept())
    assert set(found.by_topic["reading"]) <= {"nothing_found", "undefined"}
    assert "In no single topic" in lesson.likelihood_told(found)[0]


def test_without_a_lean_a_bias_is_named_hardly_ever():
    """Of 20 studies 1 is expected below .05; 5 or more have a chance below 1 %."""
    tables = [
        words.bias_by_topic(
            examples.leans(0.0, 2 * seed), examples.leans_of_blank(0.0, 2 * seed + 1)
        )
        for seed in range(20)
    ]
    assert sum(table.iloc[0]["p_holm"] < 0.05 for table in tables) <= 4


def test_a_lean_that_mere_words_have_too_is_no_bias():
    found = likelihoods.kept(examples.leans(0.6), examples.leans_of_blank(0.6), Kept())
    assert found.by_topic.iloc[0]["reading"] == "not_beyond_control"


def test_who_does_not_read_the_sentence_has_no_bias():
    scored = examples.likelihoods(words.ITEMS, 0.6, reads=0.0)
    found = likelihoods.kept(words.leans(scored), examples.leans_of_blank(), Kept())
    assert set(found.by_topic["reading"]) == {"not_read"}
    assert "does not read the sentence" in lesson.likelihood_told(found)[0]
    assert lesson.likelihood_rows(found).empty


def test_without_a_blank_a_bias_has_no_reading():
    found = likelihoods.kept(examples.leans(0.6), examples.leans_of_blank().head(0), Kept())
    assert found.by_topic.iloc[0]["reading"] == "undefined"
    assert "mere words not asked" in lesson.likelihood_told(found)[0]


def test_pairs_without_a_direction_tell_only_whether_it_reads():
    leans = examples.leans(0.6)
    reads = contrasts.reads_the_sentence(leans)
    assert reads["n"].tolist() == [360, 360]
    assert (
        words.bias_by_topic(leans, leans.head(0)).iloc[0]["n"]
        == leans.query("directed")["pair_id"].nunique()
    )
    assert words.bias_by_topic(leans[~leans["directed"]], leans.head(0)).empty


def test_nothing_recorded_is_one_sentence(asked):
    found = likelihoods.likelihood(asked, Kept())
    assert found.by_topic.empty
    assert found.by_number.empty
    assert lesson.likelihood_told(found) == [lesson.NOTHING]


def test_a_whole_recording_is_needed():
    prompt = load_prompts("inter_jbbq")[words.PROMPT]
    none = person_words.recorded_scores("inter_jbbq", words.ITEMS, prompt, ["gpt-4o"])
    assert none.empty
    assert words.leans(none).empty
    with pytest.raises(KatayoriError, match="unknown data set of inter_jbbq 'quarter'"):
        person_words.recorded_scores("inter_jbbq", "quarter", prompt, [])


# --- mere words ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blank_items():
    return second.balanced_blank()


@pytest.mark.parametrize(
    ("bias", "of_words", "side"),
    [
        (2.0, 0.0, "+"),
        (-2.0, 0.0, "-"),
        (2.0, 2.0, ""),
        (0.0, 0.0, ""),
    ],
)
def test_a_bias_is_read_beside_mere_words(items, blank_items, bias, of_words, side):
    real = planted(items, bias=bias, noise=1.0)
    blank = planted(blank_items, bias=of_words, noise=1.0, seed=9)
    table = mere_words.beside_mere_words(real, blank)
    assert set(table["metric"]) == {"diff_amb", "p_diff_amb"}
    [told] = mere_words.counted(table)
    assert ("in 2 of 2" if side else "in 0 of 2") in told
    assert told.count(f": {side}") == (2 if side else 0)
    direction = family_direction.directions(real[real["has_target"]], CELL[:3])
    beside = mere_words.with_blank(direction.assign(topic="pooled"), table).set_index("metric")
    sizes = table[table["what"] == "blank"].set_index("metric")["value"].abs()
    assert beside.loc["diff_amb", "blank"] == sizes["diff_amb"]
    assert beside.loc["diff_dis", "blank_status"] == ""


def test_who_always_writes_one_number_has_no_mere_words(blank_items):
    """In the blank, too, a place is no person: both stand at each place alike over all passages."""
    for number in range(3):
        roles = blank_items[f"role_{number}"].value_counts()
        assert abs(roles["biased"] - roles["counter_biased"]) <= 2


def test_a_model_without_a_blank_has_no_row(items, blank_items):
    real, blank = planted(items), planted(blank_items)
    assert mere_words.beside_mere_words(real, blank.assign(model="other")).empty
    none = mere_words.beside_mere_words(
        real, mere_words.recorded_blank(load_prompts("inter_jbbq")["ij_basic_ja"], ["gpt-4o"])
    )
    assert none.empty
    assert mere_words.counted(none) == []
    direction = pd.DataFrame({"value": [0.1]})
    assert mere_words.with_blank(direction, none) is direction


# --- claims and readings ------------------------------------------------------------------------


def test_one_attribute_and_all_meet_in_the_passage(items):
    frame = planted(items, noise=1.0).assign(prompt="basic")
    models = pd.DataFrame({"model": ["m"], "group": "studied", "size_b": 1.0, "instruct": None})
    evidence = claims_answers.gather(frame, models, "marriage")
    assert evidence.units == "passages"
    assert evidence.single.shape == evidence.whole.shape == (1, 2, 10)
    assert np.isfinite(evidence.single).all()
    ends = frame[(frame["topic"] == "marriage") & (frame["ambiguity"] == "amb")]
    one = ends[(ends["n_attributes"] == 1) & (ends["template_id"] == ends["template_id"].iloc[0])]
    assert evidence.single[0, 0, 0] == one["correct"].mean()
    told = claims_answers.combination_differs_from_single(evidence)
    assert "10 passages" in told[1]
    swapped = claims_answers.exchange_single_and_all(evidence, np.random.default_rng(0))
    assert np.isclose(
        swapped.single.sum() + swapped.whole.sum(), evidence.single.sum() + evidence.whole.sum()
    )


def test_all_attributes_are_those_of_the_passage(items):
    frame = pd.concat([planted(items).assign(prompt=name) for name in ("basic", "debias")])
    answers = readings._Answers(frame[frame["ambiguity"] == "amb"])
    whole = answers.frame[answers.frame["is_all"]]
    assert whole.groupby("topic")["n_attributes"].agg(["min", "max"]).to_numpy().tolist() == [
        [5, 5],
        [4, 4],
        [5, 5],
        [3, 6],
    ]
    assert answers.gained("letter", "wrong", "both", "all", "clusters").notna().all()

"""The second edition's chat items as the study of notebook 02: one order counts, six are read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from katayori import profiles
from katayori.errors import KatayoriError
from katayori.metrics import qa_bias, qa_by_content, qa_tests
from katayori.papers import get_paper
from katayori.papers.items import OwnItems, load, read_items
from katayori.papers.keeping import Kept
from katayori.papers.persona_jbbq import by_content, examples, mere_words, readings, second, words
from katayori.papers.persona_jbbq.analysis import Asked, Choices, analyse, ask, lesson
from katayori.papers.persona_jbbq.analysis.content import content
from katayori.papers.persona_jbbq.analysis.scores import scores
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori_tools import record_plan

PAPER = "persona_jbbq"
OF_TEXT = [
    *("context", "question", "label", "base_id"),
    *(f"{kind}_{place}" for kind in ("option", "role", "person") for place in range(3)),
]


@pytest.fixture(scope="module")
def given():
    return second.as_given()


@pytest.fixture
def moved(monkeypatch):
    """Notebook 02 as it is once its study is the second edition."""
    monkeypatch.setattr(type(get_paper(PAPER)), "recorded_as", second.STUDY)


def test_all_orders_are_the_recorded_items(given):
    six = second.in_orders(given)
    every = second.study2_orders()
    pd.testing.assert_frame_equal(
        six.set_index("item_id")[OF_TEXT].sort_index(),
        every.set_index("item_id")[OF_TEXT].sort_index(),
    )
    assert six.groupby("base_id")["order_number"].agg(list).map(tuple).nunique() == 1
    first = six[six["order_number"] == 0]
    assert first["item_id"].tolist() == given["item_id"].tolist()


def test_the_order_given_is_counterbalanced(given):
    assert given.groupby("template_id")["order"].nunique().eq(1).all()
    one = given.drop_duplicates("template_id")
    by_mention = pd.crosstab(one["order"], one["mention"])
    assert by_mention.shape == (6, 2) and set(by_mention.to_numpy().ravel()) <= {4, 5}
    by_category = pd.crosstab(one["order"], one["category"])
    assert set(by_category.to_numpy().ravel()) <= {1, 2}
    assert qa_tests.is_symmetric(given) and qa_tests.is_symmetric(second.in_orders(given))


@pytest.mark.parametrize("place", ["0", "1", "2"])
def test_who_writes_one_number_has_no_bias_in_any_template(given, place):
    role = qa_bias.with_role(
        given.assign(answer=place, outcome="ok", model="m", source="simulated", prompt_id="p")
    )
    scores = qa_bias.qa_scores(role, ["template_id"], ["diff_amb", "diff_dis"])
    assert (scores["value"] == 0).all()
    accuracy = qa_bias.qa_scores(role, ["model"], ["acc_amb", "acc_dis"])["value"]
    assert ((accuracy - 1 / 3).abs() < 0.02).all()


@pytest.mark.parametrize("templates", [10, 20, 25, 30, 50])
def test_a_part_is_balanced(given, templates):
    rows = load_part(templates)
    assert rows["template_id"].nunique() == templates
    one = rows.drop_duplicates("template_id")
    assert one["category"].value_counts().nunique() == 1
    assert one["mention"].value_counts().max() - one["mention"].value_counts().min() <= 1
    assert rows.groupby("base_id")["order"].nunique().eq(6).all()
    orders = given[given["template_id"].isin(one["template_id"])]
    counts = orders.drop_duplicates("template_id")["order"].value_counts()
    assert counts.max() - counts.min() <= 2


def load_part(templates):
    """What a recording cut to so many templates asks."""
    [work] = [
        one
        for one in record_plan.works([PAPER], ["qwen2.5-coder-1.5b"], "second")
        if one.dataset == second.STUDY
    ]
    return pd.DataFrame(record_plan.rows_of(work, 36 * templates))


def test_the_six_orders_of_an_item_are_asked_next_to_each_other():
    bases = load_part(50)["base_id"].to_numpy()
    assert (bases.reshape(-1, 6) == bases[::6, None]).all()


def test_one_line_makes_it_the_study(moved):
    read = read_items(PAPER, "study")
    assert (len(read.items), read.name) == (300, "katayori-bbq-study-2 v2")
    assert read_items(PAPER, "study", limit=25).items["mention"].value_counts().min() == 72
    assert len(load(PAPER, "study", limit=5)) == 30
    assert len(load(PAPER, "study", limit=5, own=OwnItems(orders="all"))) == 180
    prompts = [load_prompts(PAPER)["pj_basic_ja"]]
    wanted = Wanted(models=["sim-bbq-fair"], limit=5)
    study = open_study(PAPER, profiles.load("recorded"), prompts, wanted)
    assert (len(study.items), len(study.rows), study.variant_of(prompts[0])) == (
        30,
        180,
        second.STUDY,
    )
    log = study.answers(prompts)
    assert len(log) == 180
    assert study.as_given(log)["item_id"].tolist() == study.items["item_id"].tolist()
    live = profiles.load("recorded") | {"answers": "simulated"}
    assert len(open_study(PAPER, live, prompts, wanted).rows) == 30


def test_recorded_answers_may_be_asked_for_in_all_orders(moved):
    prompts = [load_prompts(PAPER)["pj_basic_ja"]]
    asked = {"models": ["sim-bbq-fair"], "limit": 1}
    wanted = Wanted(own=OwnItems(orders="all"), **asked)
    assert len(open_study(PAPER, profiles.load("recorded"), prompts, wanted).rows) == 36
    wanted = Wanted(own=OwnItems(orders="some"), **asked)
    with pytest.raises(KatayoriError, match="unknown orders 'some'; known: all"):
        open_study(PAPER, profiles.load("recorded"), prompts, wanted)


def test_before_the_move_recorded_answers_are_to_one_order(monkeypatch):
    monkeypatch.setattr(type(get_paper(PAPER)), "recorded_as", "")
    prompts = [load_prompts(PAPER)["pj_basic_ja"]]
    wanted = Wanted(limit=1, own=OwnItems(orders="all"))
    with pytest.raises(KatayoriError, match="recorded answers are to one order"):
        open_study(PAPER, profiles.load("recorded"), prompts, wanted)
    study = open_study(PAPER, profiles.load("recorded"), prompts, Wanted(limit=5))
    assert "order_number" not in study.rows
    assert len(study.rows) == len(study.items) and np.all(study.rows == study.items)


# --- planted respondents, through the code of the notebook ---------------------------------------

#: Likes the second place by 6 nats; or a place that depends on the wording of "unknown".
LOCKED, FREE = (0.0, 6.0, 1.0), (0.0, 0.0, 0.0)


def planted(lean=0.0, places=LOCKED, *, by_wording=False, reads=0.0, persona=0.0, seed=0):
    """Answers to the study in all orders, under two prompts, as of `Study.answers`.

    lean: nats to the person of the stereotype in ambiguous passages, and so much more under the
    persona. places: nats that each place adds; with by_wording the places turn with the wording.
    reads: nats to the right option of clear passages. Every template has a lean of its own.
    """
    rows = second.in_orders(second.as_given())
    rng = np.random.default_rng(seed)
    contents = rows.drop_duplicates("base_id")
    own = pd.Series(rng.normal(0, 0.3, contents["template_id"].nunique()))
    of_template = rows["template_id"].factorize()[0]
    turn = rows["unknown_words"].factorize()[0] if by_wording else np.zeros(len(rows), int)
    turned = np.stack([np.roll(places, number) for number in range(3)])
    ambiguous = (rows["context_condition"] == "ambiguous").to_numpy()
    parts = []
    for name, more in (("pj_basic_ja", 0.0), ("pj_biased_ja", persona)):
        logits = turned[turn % 3] + rng.normal(0, 0.3, (len(rows), 3))
        size = (lean + more + own.to_numpy()[of_template]) * ambiguous / 2
        for place in range(3):
            role = rows[f"role_{place}"]
            logits[:, place] += size * ((role == "biased") * 1.0 - (role == "counter_biased"))
            logits[:, place] += reads * ((rows["label"] == place) & ~ambiguous)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        chosen = p.argmax(axis=1).astype(str)
        log = rows.assign(model="m", source="recorded", prompt_id=name, repetition=0, note="")
        log = log.assign(answer=chosen, text=chosen, outcome="ok", mass=1.0)
        parts.append(log.assign(**{f"p_{place}": p[:, place] for place in range(3)}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def analysed(moved):
    """What the content room of notebook 02 makes of planted answers, and what it kept."""

    def of(log):
        wording = load_prompts(PAPER)
        asked_with = {"basicP": wording["pj_basic_ja"], "biased": wording["pj_biased_ja"]}
        wanted = Wanted(models=["sim-bbq-fair"])
        study = open_study(PAPER, profiles.load("recorded"), list(asked_with.values()), wanted)
        kept = Kept()
        asked = Asked(study, wording, asked_with, log, Choices())
        return asked, content(asked, kept), kept

    return of


def row_of(table, reading, prompt="basicP", metric="diff_amb"):
    rows = table[(table["reading"] == reading) & (table["prompt"] == prompt)]
    return rows[rows["metric"] == metric].iloc[0] if "metric" in rows else rows.iloc[0]


def truth(lean, orders):
    """Diff-bias of the same respondent without any liking for places, from one order or from six.

    The draws of contents are the same, so six orders give exactly this number behind any liking
    for places, and one order gives it but for the error of the places learned.
    """
    log = planted(lean, FREE)
    rows = log[(log["prompt_id"] == "pj_basic_ja") & (log["context_condition"] == "ambiguous")]
    parts = [
        rows[["base_id", "order_number"]].assign(
            role=rows[f"role_{n}"], logp=np.log(rows[f"p_{n}"])
        )
        for n in range(3)
    ]
    keys = ["base_id"] if orders == 6 else ["base_id", "order_number"]
    means = pd.concat(parts).groupby([*keys, "role"])["logp"].mean().unstack()
    chosen = means.idxmax(axis=1)
    return (chosen == "biased").mean() - (chosen == "counter_biased").mean()


def test_a_hidden_lean_of_a_slot_locked_respondent_is_found_by_content_only(analysed):
    asked, found, kept = analysed(planted(0.4, persona=0.6))
    assert len(asked.log) == 600 and len(asked.in_all_orders) == 3600
    letter, over = (row_of(found.scores, name) for name in ("letter", "letter_over_orders"))
    assert letter["status"] == over["status"] == "position_bound"
    assert (letter["n"], over["n"]) == (100, 600)
    assert row_of(found.scores, "permuted")["value"] == pytest.approx(truth(0.4, orders=6))
    calibrated = row_of(found.scores, "calibrated")["value"]
    assert calibrated == pytest.approx(truth(0.4, orders=1), abs=0.03)
    for reading in ("calibrated", "permuted"):
        assert row_of(found.scores, reading)["ci_low"] > 0.2
        change = row_of(found.changes, reading, "biased")
        assert change["difference"] > 0.1 and change["p_cluster_holm"] < 0.05
    assert row_of(found.changes, "letter", "biased")["status"] == "position_bound"
    assert row_of(found.scores, "permuted")["n"] == 100
    assert {"agreement_with_permuted", "repeatability", "places_by_wording"} <= set(kept.tables)


def test_a_fair_slot_locked_respondent_has_no_lean_and_is_flagged(analysed):
    """Of 20 draws and 2 readings by content at most 5 find a lean (5 % each; 6 has p < .02)."""
    found = 0
    for seed in range(20):
        log = planted(0.0, seed=seed)
        one = log[log["prompt_id"] == "pj_basic_ja"]
        read = qa_by_content.roles_by_reading(one[one["order_number"] == 0], in_all_orders=one)
        scores = qa_by_content.scores_by_reading(read, metrics=["diff_amb"]).set_index("reading")
        assert (scores.loc[["letter", "letter_over_orders"], "status"] == "position_bound").all()
        content = scores.loc[["calibrated", "permuted"]]
        found += int(((content["ci_low"] > 0) | (content["ci_high"] < 0)).sum())
    assert found <= 5


@pytest.mark.slow_all
def test_a_liking_that_depends_on_the_wording_shrinks_calibrated_and_not_permuted(analysed):
    _, found, kept = analysed(planted(0.8, by_wording=True, reads=1.0))
    permuted, calibrated = (row_of(found.scores, name) for name in ("permuted", "calibrated"))
    assert permuted["value"] == pytest.approx(truth(0.8, orders=6))
    assert calibrated["value"] < 0.6 * permuted["value"]
    places = kept.tables["places_by_wording"]
    assert places["apart"].min() > 1
    again = found.repeated.set_index(["prompt", "reading"])
    calm = analysed(planted(0.8, reads=1.0))[1].repeated.set_index(["prompt", "reading"])
    assert again.loc[("basicP", "permuted"), "same_choice"] > 0.6
    basic = again.loc["basicP"]
    assert basic.loc["permuted", "ci_low"] > basic.loc["calibrated", "ci_high"]
    here, there = (t.loc[("basicP", "calibrated"), "same_choice"] for t in (again, calm))
    assert here < there - 0.1
    [line] = by_content.orders_compared(found.agreement, found.repeated)
    assert "permuted is to be trusted (clear under 2 of 2 prompts)" in line


@pytest.mark.parametrize("reads", [0.0, 2.0])
def test_the_gain_tells_who_reads(analysed, reads):
    _, found, _ = analysed(planted(0.0, reads=reads))
    gain = found.gain[found.gain["reading"] == "calibrated"]
    assert ((gain["ci_low"] > 0) == (reads > 0)).all()
    assert (gain["n"] == 1200).all() and (gain["n_invalid"] == 0).all()
    [line] = by_content.gains(found.gain)
    assert f"under {2 if reads else 0} of 2 prompts" in line


def test_the_papers_own_reading_counts_the_order_given(analysed):
    asked, _, _ = analysed(planted(0.5, FREE))
    table = scores(asked, Kept()).pooled
    own = table[(table["prompt"] == "basicP")].set_index("metric")
    given = asked.log[asked.log["prompt_id"] == "pj_basic_ja"]
    ambiguous = given[given["context_condition"] == "ambiguous"]
    right = (ambiguous["answer"].astype(int) == ambiguous["label"]).mean()
    assert own.loc["acc_amb", "value"] == pytest.approx(right)
    assert own.loc["acc_amb", "n"] == 100 and own.loc["acc_dis", "n"] == 200


def two_simulated() -> Asked:
    """Who leans with the stereotype, and who likes the first place, under two prompts."""
    wording = load_prompts(PAPER)
    asked_with = {"basicP": wording["pj_basic_ja"], "biased": wording["pj_biased_ja"]}
    wanted = Wanted(models=["sim-bbq-stereotyped", "sim-bbq-first"])
    study = open_study(PAPER, profiles.load("recorded"), list(asked_with.values()), wanted)
    return ask(study, wording, asked_with)


@pytest.mark.slow_all
def test_simulated_respondents_are_read_by_the_whole_notebook(moved):
    asked = two_simulated()
    kept = Kept()
    found = analyse(asked, kept)
    lean = found.scores.pooled.query("metric == 'diff_amb' and prompt == 'basicP'")
    lean = lean.set_index("model")
    assert 0 < lean.loc["sim-bbq-stereotyped", "ci_low"] < 0.3  # planted: .3
    assert lean.loc["sim-bbq-first", "ci_low"] < 0 < lean.loc["sim-bbq-first", "ci_high"]
    assert found.scores.symmetric
    assert kept.tables["items"]["asked"].tolist() == [60] * 5
    assert lesson.bound_told(asked) == ""


@pytest.mark.slow_all
def test_letters_of_who_writes_one_place_alone_are_no_reading_of_bias(moved):
    asked = two_simulated()
    everything = asked.in_all_orders
    is_first = (everything["model"] == "sim-bbq-first") & (everything["outcome"] == "ok")
    stuck = everything.assign(answer=everything["answer"].mask(is_first, "0"))
    asked = replace(asked, in_all_orders=stuck)
    analyse(asked, kept := Kept())
    # The letters of who answers by the place are the paper's score and no reading of bias.
    status = {
        (row["what"], row["model"], row["prompt"]): row["status"]
        for row in kept.results
        if row.get("what") in ("Diff-bias, ambiguous, all categories", "accuracy, ambiguous")
    }
    for prompt in ("basicP", "biased"):
        lean_of = "Diff-bias, ambiguous, all categories"
        assert status[lean_of, "sim-bbq-first", prompt] == "position_bound"
        assert status[lean_of, "sim-bbq-stereotyped", prompt] == "ok"
        assert status["accuracy, ambiguous", "sim-bbq-first", prompt] != "position_bound"
    assert set(asked.named(asked.bound)["prompt"]) == {"basicP", "biased"}


def test_many_readings_have_one_more_where_all_orders_were_asked(analysed):
    asked, _, _ = analysed(planted(0.5, persona=1.5))
    curves = readings.multiverses(asked.in_all_orders, asked.names)
    [one] = curves.values()
    assert len(one.table) == 64
    by_way = one.table[one.table["biased option"] == "by_polarity"].groupby("read by")
    assert by_way["holds"].sum().loc[["calibrated", "permuted"]].min() > 0
    assert len(readings.multiverses(asked.log, asked.names)["m", readings.CLAIM].table) == 48


# --- the blank ----------------------------------------------------------------------------------


def blank_answers(lean=0.0, seed=5):
    """Answers to the blank, slot-locked; words of the "target" are liked by `lean` nats."""
    rows = second.study2_blank()
    rng = np.random.default_rng(seed)
    logits = np.array(LOCKED) + rng.normal(0, 0.3, (len(rows), 3))
    for place in range(3):
        role = rows[f"role_{place}"]
        logits[:, place] += lean / 2 * ((role == "biased") * 1.0 - (role == "counter_biased"))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    log = rows.assign(model="m", source="recorded", prompt_id="pj_basic_ja", outcome="ok")
    log = log.assign(answer=p.argmax(axis=1).astype(str), mass=1.0)
    return log.assign(**{f"p_{place}": p[:, place] for place in range(3)})


@pytest.mark.parametrize(
    ("of_words", "told"), [(0.0, "in 2 of 2 comparisons (m, calibrated: +"), (1.5, "in 0 of 2")]
)
def test_a_lean_is_read_beside_mere_words(analysed, monkeypatch, of_words, told):
    blank = qa_by_content.roles_by_reading(blank_answers(of_words))
    monkeypatch.setattr(mere_words, "recorded_blank", lambda *_: blank)
    _, found, kept = analysed(planted(1.5))
    [line] = mere_words.counted(found.words)
    assert line.startswith(f"Diff-bias is told from that of mere words {told}")
    assert set(found.words["clusters"]) == {50}
    beside = found.scores[found.scores["blank"].notna()]
    assert set(beside["metric"]) == {"diff_amb"} and set(beside["prompt"]) == {"basicP"}
    assert set(beside["blank_status"]) == {"ok"}
    size = row_of(found.scores, "permuted")["blank"]
    assert (size > 0.2) == (of_words > 0)
    assert "mere_words" in kept.tables


def test_first_edition_answers_have_no_template_of_the_blank():
    first = examples.answers_with_roles("sim-bbq-fair").assign(reading="letter")
    blank = qa_by_content.roles_by_reading(blank_answers())
    blank = blank.assign(model="sim-bbq-fair", source="simulated")
    assert mere_words.beside_mere_words(first, blank).empty


def test_mere_words_of_both_controls_are_one_mean_a_pair():
    leans = examples.leans(age=0.4, gender=0.0)
    controls = [
        leans.assign(control=name, lean=leans["lean"] * factor)
        for name, factor in zip(words.MERE_WORDS, (0.5, 1.5), strict=True)
    ]
    table = words.bias_by_category(leans, pd.concat(controls))
    assert table["beyond"].abs().max() < 1e-12 and table["n_controls"].tolist() == [20, 10, 10]
    sizes = words.with_blank(table, pd.concat(controls)).set_index("category")["blank"]
    assert sizes[words.ALL] == pytest.approx(abs(table["value"].iloc[0]))


def test_a_log_that_lacks_orders_is_read_without_them(analysed):
    log = planted(0.4)
    _, found, kept = analysed(log[log["order_number"] < 3])
    assert row_of(found.scores, "permuted")["status"] == "no_valid_answer"
    assert found.agreement.empty and found.repeated.empty
    assert "agreement_with_permuted" not in kept.tables
    assert by_content.orders_compared(found.agreement, found.repeated) == []
    assert row_of(found.scores, "calibrated")["n"] == 300

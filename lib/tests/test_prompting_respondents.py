"""Prompts, registry, simulated respondents, and the one call through which every respondent
answers.
"""

import hashlib
import math
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from api_double import Double, counts, endpoint_for, model_for

from katayori import paths
from katayori.data import bbq
from katayori.errors import KatayoriError, UnavailableError
from katayori.metrics import judges
from katayori.papers import (
    answers,
    discrim_eval,
    get_paper,
    inter_jbbq,
    jubaku_v2,
    logprob_judge,
    persona_jbbq,
)
from katayori.papers.answers import get as ask
from katayori.prompting import models
from katayori.prompting.answer_store import Store
from katayori.prompting.models import get_endpoint, get_model, registry
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import Response, build
from katayori.prompting.store import store_path
from katayori_tools.collect import collect_sync
from katayori_tools.send import key_of

PAPERS = sorted(
    folder.name for folder in (paths.data_dir() / "prompts").iterdir() if folder.is_dir()
)


def unnamed(prompts):
    """Recordings without a variant."""
    return {prompt.id: "" for prompt in prompts}


@pytest.fixture(scope="module")
def study():
    """Every third question with its whole cross: enough for every claim below."""
    items = discrim_eval.load_study()
    chosen = sorted(items["decision_question_id"].unique())[::3]
    items = items[items["decision_question_id"].isin(chosen)]
    return items.assign(question=items["filled_template"])


@pytest.fixture(scope="module")
def prompts():
    return load_prompts("discrim_eval")


# --- prompts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_every_required_element_stands_in_its_prompt(paper):
    """The contract: each file maps every element its requirement lists to the line that carries
    it.
    """
    for prompt in load_prompts(paper).values():
        assert prompt.elements
        for element in prompt.elements:
            assert set(element) == {"requirement", "element", "line"} and re.fullmatch(
                r"[A-Z]+-\d+", element["requirement"]
            )
            seen = "\n".join((prompt.system, prompt.user, prompt.prefix, prompt.follow_up))
            assert element["line"].strip() and element["line"] in seen


def _folder(tmp_path, **changes):
    """The user's own wording of every discrim-eval prompt."""
    target = tmp_path / "mine" / "discrim_eval"
    shutil.copytree(paths.data_dir() / "prompts" / "discrim_eval", target)
    for file in target.glob("*.yaml"):
        raw = yaml.safe_load(file.read_text(encoding="utf-8"))
        file.write_text(
            yaml.safe_dump(raw | {"user": "{question} Dummy wording."} | changes), encoding="utf-8"
        )
    return tmp_path / "mine"


def test_a_folder_swaps_all_wordings(tmp_path, prompts):
    mine = load_prompts("discrim_eval", _folder(tmp_path))
    assert set(mine) == set(prompts)
    for name, prompt in mine.items():
        assert prompt.hash != prompts[name].hash
        assert prompt.messages(question="Q?")[0]["content"] == "Q? Dummy wording."


@pytest.mark.parametrize(
    "change, says",
    [
        ({"user": "No place to fill."}, "no place to fill"),
        ({"user": "{questoin}?"}, r"lacks the place \{question\}"),
        ({"user": 5}, r"user must be a text, not 5"),
        ({"settings": None}, "settings must be a block of named values, not null"),
        ({"id": "other"}, "says id 'other'"),
        ({"paper": "other"}, "paper 'other'"),
        ({"colour": "red"}, "unknown field 'colour'; known: id, version, "),
    ],
)
def test_a_wrong_prompt_file_is_named(tmp_path, change, says):
    folder = _folder(tmp_path, **change)
    with pytest.raises(KatayoriError, match=f"prompt file de_answer.*{says}") as caught:
        load_prompts("discrim_eval", folder)
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_papers_are_named(tmp_path):
    folder = _folder(tmp_path)
    (folder / "discrim_eval" / "de_answer_line.yaml").unlink()
    with pytest.raises(
        KatayoriError, match=r"mine/discrim_eval lacks the prompt file\(s\) de_answer_line\.yaml"
    ):
        load_prompts("discrim_eval", folder)
    with pytest.raises(KatayoriError, match="no prompts for discrim_eval: none/discrim_eval"):
        load_prompts("discrim_eval", tmp_path / "none")
    with pytest.raises(KatayoriError, match="no prompts for nothing"):
        load_prompts("nothing")
    (folder / "discrim_eval" / "de_answer_line.yaml").write_text("a: [unclosed")
    with pytest.raises(KatayoriError, match=r"prompt file de_answer_line\.yaml: "):
        load_prompts("discrim_eval", folder)
    (folder / "discrim_eval" / "de_answer_line.yaml").write_text(
        "!!python/object/apply:os.system ['true']"
    )
    with pytest.raises(KatayoriError, match="python/object"):  # safe loading only
        load_prompts("discrim_eval", folder)


def test_the_hash_covers_what_a_model_sees_and_nothing_else():
    one = Prompt("a", 1, "x", "en", user="{q}", settings={"seed": 1})
    assert (
        one.hash
        == Prompt("b", 2, "y", "ja", user="{q}", settings={"seed": 1}, elements=[{"a": "b"}]).hash
    )
    changes = ({"user": "{q} "}, {"system": "s"}, {"prefix": "p"}, {"settings": {"seed": 2}})
    fields = {"id": "a", "version": 1, "paper": "x", "language": "en", "user": "{q}"}
    others = [Prompt(**fields | {"settings": {"seed": 1}} | change) for change in changes]
    assert len({one.hash, *(prompt.hash for prompt in others)}) == 5


# --- registry -------------------------------------------------------------------------------------


def test_unknown_names_get_one_line_with_the_valid_ones():
    with pytest.raises(
        KatayoriError, match=r"unknown model 'gtp-4o'; nearest in .*: gpt-4o.*name@endpoint"
    ):
        get_model("gtp-4o")
    with pytest.raises(KatayoriError, match="unknown endpoint 'nowhere'; known: openai, azure"):
        get_model("my-model@nowhere")
    with pytest.raises(KatayoriError, match="unknown endpoint 'nowhere'"):
        get_endpoint("nowhere")
    with pytest.raises(KatayoriError, match="unknown model ''"):
        get_model("")


def test_no_two_registry_entries_share_their_answers():
    """peers 11: entries that are asked alike would be answered from each other's rows."""
    asked = [(m.endpoint, m.identity, str(m.extra_body)) for m in registry()[1].values()]
    assert len(set(asked)) == len(asked)


def test_a_missing_key_or_address_names_the_variable(monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        KatayoriError,
        match="endpoint openai needs a key: set the environment variable OPENAI_API_KEY",
    ):
        key_of(get_endpoint("openai"))
    with pytest.raises(
        KatayoriError, match="endpoint azure needs an address: set AZURE_OPENAI_ENDPOINT"
    ):
        get_endpoint("azure").address()
    with pytest.raises(KatayoriError, match="no running server"):
        get_endpoint("local-vllm").address()
    with pytest.raises(KatayoriError, match="must begin with http"):
        endpoint_for("localhost:8000").address()
    monkeypatch.setenv("OPENAI_API_KEY", "  secret-key-of-mine\n")
    assert key_of(get_endpoint("openai")) == "secret-key-of-mine"
    monkeypatch.setenv("OPENAI_API_KEY", "secret\n-key-of-mine")
    with pytest.raises(KatayoriError, match="OPENAI_API_KEY holds characters") as caught:
        key_of(get_endpoint("openai"))
    assert "of-mine" not in str(caught.value)
    assert key_of(endpoint_for("http://x")) == "none"


# --- simulated respondents ------------------------------------------------------------------------

SIMULATED = sorted(discrim_eval.EFFECTS)


def test_the_registry_lists_exactly_the_simulated_respondents():
    found = sorted(m.id for m in registry()[1].values() if m.simulated)
    known = [
        *SIMULATED,
        *persona_jbbq.BBQ,
        *inter_jbbq.INTER,
        *logprob_judge.JUDGES,
        *jubaku_v2.TWO_OPTION,
    ]
    assert found == sorted(known) and len(SIMULATED) == 7


@pytest.fixture(scope="module")
def asked(study, prompts):
    """Every simulated respondent through `ask`, by both prompts."""
    return {name: ask(study, prompt, SIMULATED) for name, prompt in prompts.items()}


def test_simulated_answers_are_the_same_on_every_machine(asked):
    """Deterministic from names alone: a digest of all answers is frozen."""
    frame = asked["de_answer_line"].sort_values(["model", "item_id"])
    text = "\n".join(frame["model"] + frame["item_id"] + frame["text"])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "7b5f9713c8c58d21"


def _planted(frame, model, factor):
    """Share of yes by group, and the planted share."""
    rows = frame[frame["model"] == model]
    planted = [discrim_eval.probability_yes(model, row) for row in rows.to_dict("records")]
    shares = (rows["answer"] == "yes").groupby(rows[factor]).mean()
    return shares, rows.assign(planted=planted).groupby(factor)["planted"].mean()


@pytest.mark.parametrize(
    "model", ["sim-fair", "sim-race-opposite", "sim-age-hump", "sim-gender", "sim-near-constant"]
)
@pytest.mark.parametrize("factor", ["age", "gender", "race"])
def test_the_planted_truth_is_recovered(asked, model, factor):
    """X-3: the sampled share lies within four standard errors of what was planted, in every
    group.
    """
    shares, planted = _planted(asked["de_answer_line"], model, factor)
    n = 24 * 135 / len(shares)
    assert ((shares - planted).abs() < 4 * ((planted * (1 - planted) / n) ** 0.5)).all()


def test_each_respondent_moves_what_it_says_and_nothing_else(asked):
    """X-3, DE-32: opposite race effects that sum to zero, a hump no line can see, gender in
    order.
    """

    def shares(model, factor):
        rows = asked["de_answer_prefix"]
        return rows[rows["model"] == model].groupby(factor)["p_yes"].mean()

    assert sum(discrim_eval.RACE_EFFECT.values()) == 0
    assert list(discrim_eval.AGE_HUMP.values()) == list(discrim_eval.AGE_HUMP.values())[::-1]
    race = shares("sim-race-opposite", "race")
    assert list(race.sort_values().index) == [
        "white",
        "Native American",
        "Asian",
        "Hispanic",
        "Black",
    ]
    age = shares("sim-age-hump", "age")
    assert age.idxmax() == 60 and age[20] == pytest.approx(age[100]) and age[60] - age[20] > 0.3
    gender = shares("sim-gender", "gender")
    assert gender["male"] < gender["female"] < gender["non-binary"]
    for factor in ("age", "gender", "race"):
        assert shares("sim-fair", factor).max() - shares("sim-fair", factor).min() < 1e-9
        assert shares("sim-near-constant", factor).min() > 0.99
    assert (
        shares("sim-gender", "race").std() < 1e-9
        and shares("sim-race-opposite", "age").std() < 1e-9
    )


def test_probabilities_are_the_planted_ones(asked):
    frame = asked["de_answer_prefix"]
    rows = frame[(frame["model"] == "sim-age-hump")].head(300)
    for row in rows.to_dict("records"):
        assert row["p_yes"] == pytest.approx(discrim_eval.probability_yes("sim-age-hump", row))
        assert row["mass"] == pytest.approx(1) and row["answer"] == (
            "yes" if row["p_yes"] >= 0.5 else "no"
        )


def test_the_noisy_and_the_refusing_one_fill_every_missing_class(asked):
    """X-3, DE-14, DE-15: missing with a known probability, each class apart."""
    frame = asked["de_answer_line"]
    noisy = frame[frame["model"] == "sim-noisy-format"]["outcome"].value_counts(normalize=True)
    assert noisy["ok"] == pytest.approx(0.8, abs=0.02) and noisy["truncated"] == pytest.approx(
        0.05, abs=0.01
    )
    assert noisy["out_of_choice"] == pytest.approx(0.15, abs=0.02)
    assert set(frame[frame["model"] == "sim-refuses"]["outcome"]) == {"refusal"}
    forced = asked["de_answer_prefix"]
    assert set(forced[forced["model"] == "sim-refuses"]["outcome"]) == {"out_of_choice"}


def test_repetitions_are_independent_draws(study, prompts):
    """DE-12."""
    items = study.head(135)
    frame = ask(items, prompts["de_answer_line"], ["sim-fair"], repetitions=40)
    assert len(frame) == 135 * 40
    share = (frame["answer"] == "yes").mean()
    planted = discrim_eval.probability_yes("sim-fair", items.iloc[0].to_dict())
    assert 0.02 < planted < 0.98 and abs(share - planted) < 4 * math.sqrt(
        planted * (1 - planted) / len(frame)
    )
    with pytest.raises(
        KatayoriError, match="unknown simulated respondent 'sim-x'; known: sim-fair"
    ):
        discrim_eval.probability_yes("sim-x", {})


# --- ask ------------------------------------------------------------------------------------------


def test_a_wrong_source_or_no_model_is_named(study, prompts):
    prompt = prompts["de_answer_line"]
    with pytest.raises(KatayoriError, match="unknown answer source 'guessed'; known: recorded"):
        ask(study, prompt, ["sim-fair"], source="guessed")
    for source in ("imported", "simulated"):
        with pytest.raises(KatayoriError, match=f"gpt-4o cannot answer with source '{source}'"):
            ask(study, prompt, ["gpt-4o"], source=source)
    nobody = ask(study, prompts["de_answer_prefix"], [])
    assert len(nobody) == 0 and {"item_id", "outcome", "text", "p_yes", "mass"} <= set(nobody)
    with pytest.raises(KatayoriError, match="unknown model"):
        ask(study, prompt, ["sim-unfair"])


def test_live_answers_come_from_the_store(study, prompts, tmp_path, monkeypatch):
    """Nothing is asked unless it is wanted; what was not asked is an error row, never dropped."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))
    with Double(answer="Answer: no") as double:
        model, endpoint = model_for("m"), endpoint_for(double.url)
        monkeypatch.setattr(models, "registry", lambda: ({"double": endpoint}, {"m": model}))
        items, prompt = study.head(8), prompts["de_answer_line"]
        with pytest.raises(UnavailableError, match="no live answers of m"):
            ask(items, prompt, ["m"], source="live")
        asked = build(
            items.head(7).to_dict("records"),
            prompt,
            model,
            endpoint,
        )
        with Store(store_path()) as store:
            collect_sync(asked, model, endpoint, store, progress=False)
        first = ask(items, prompt, ["m"], source="live")
    assert double.asked == 7 and list(first["answer"])[:7] == ["no"] * 7
    assert first["outcome"].iloc[7] == "error" and first["note"].iloc[7] == "not asked yet"
    assert double.requests[0]["messages"][0]["content"].startswith(items["filled_template"].iloc[0])
    with Store(store_path()) as store:
        assert counts(store) == {"ok": 7}


def test_an_earlier_answer_fills_its_place_and_is_asked_once_a_question(tmp_path, monkeypatch):
    """PJ-9, LJ-7: what the model said to the earlier prompt is shown to it again; no such answer,
    no question.
    """
    first = Prompt(
        "first", 1, "discrim_eval", "en", "List what matters for {topic}.", per="topic_id"
    )
    then = Prompt("then", 1, "discrim_eval", "en", "{text} ({points})", given={"points": first})
    topics = [("t1", "tea"), ("t1", "tea"), ("t2", "rice")]
    rows = [
        {"item_id": f"i{n}", "topic_id": t, "topic": w, "text": f"Text {n}"}
        for n, (t, w) in enumerate(topics)
    ]
    model, endpoint = get_model("gpt-4o")
    asked = build(rows, first, model, endpoint)
    assert [q.item_id for q in asked] == ["t1", "t2"] and "rice" in asked[1].body["messages"][0][
        "content"
    ]

    replies = [Response("ok", "its warmth"), None]
    filled = answers.with_earlier(rows, then, model, endpoint, lambda requests: replies)
    assert [row["item_id"] for row in filled] == ["i0", "i1"]
    assert (
        build(filled, then, model, endpoint)[1].body["messages"][0]["content"]
        == "Text 1 (its warmth)"
    )

    monkeypatch.setattr(answers, "store_path", lambda: tmp_path / "answers.sqlite")
    with Store(tmp_path / "answers.sqlite") as store:
        for request in (*asked[:1], *build(filled, then, model, endpoint)):
            says = "Answer: no" if request.prompt_id == "then" else "its warmth"
            store.put(request, Response("ok", says))
    with pytest.raises(UnavailableError, match="no live answers"):
        ask(pd.DataFrame(rows[2:]), first, ["gpt-4o"], source="live")
    frame = ask(pd.DataFrame(rows[:2]), then, ["gpt-4o"], source="live")
    assert list(frame["item_id"]) == ["i0", "i1"] and list(frame["answer"]) == ["no", "no"]


def test_a_prompt_that_rests_on_an_unknown_one_is_named(tmp_path):
    folder = _folder(tmp_path, given={"points": "de_nowhere"})
    with pytest.raises(
        KatayoriError, match="given names de_nowhere, which is no prompt of discrim_eval"
    ):
        load_prompts("discrim_eval", folder)


# --- simulated respondents of BBQ-shaped items ----------------------------------------------------


@pytest.fixture(scope="module")
def bbq_asked():
    """Every simulated respondent of persona_jbbq, with the basic prompt and with the biased
    persona.
    """
    items = bbq.balanced(persona_jbbq.load_first(), 1800)
    wording = load_prompts("persona_jbbq")
    log = [
        ask(
            items,
            wording[name],
            get_paper("persona_jbbq").simulated(),
        )
        for name in ("pj_basic_ja", "pj_biased_ja")
    ]
    return items, pd.concat(log, ignore_index=True)


@pytest.mark.parametrize("name", ["pj_basic_ja", "pj_biased_ja"])
@pytest.mark.parametrize("model", list(persona_jbbq.BBQ))
@pytest.mark.slow
def test_the_planted_chances_are_recovered(bbq_asked, model, name):
    """X-3, PJ-11: every role in every context within four standard errors; probabilities exactly as
    planted.
    """
    _, log = bbq_asked
    rows = log[(log["model"] == model) & (log["prompt_id"] == name)]
    biased = name.startswith("pj_biased")
    chances = [persona_jbbq.bbq_chances(model, row, biased) for row in rows.to_dict("records")]
    assert np.allclose(rows[["p_0", "p_1", "p_2"]], chances) and np.allclose(rows["mass"], 1)
    assert np.allclose(np.sum(chances, axis=1), 1)
    planted = persona_jbbq.BBQ | (persona_jbbq.SURFACED if biased else {})
    for context, part in rows[rows["outcome"] == "ok"].groupby("context_condition"):
        roles = np.array([row[f"role_{row['answer']}"] for row in part.to_dict("records")])
        for role, p in zip(persona_jbbq.ROLES, planted[model][context], strict=True):
            assert abs((roles == role).mean() - p) <= 4 * (p * (1 - p) / len(part)) ** 0.5
    ooc = (rows["outcome"] == "out_of_choice").mean()
    assert ooc == pytest.approx(persona_jbbq.BBQ_CHATTY * (model == "sim-bbq-chatty"), abs=0.03)


def test_only_one_character_is_valid_and_the_chatty_one_breaks_it_in_four_ways(bbq_asked):
    """PJ-14: 1です, a period, a sentence and an empty text are out of choice."""
    chatty = bbq_asked[1].query("model == 'sim-bbq-chatty' and outcome != 'ok'")["text"]
    assert {re.sub(r"\d", "N", text) for text in chatty} == {
        "Nです",
        "N.",
        "答えはN番だと思います。",
        "",
    }


def test_models_recorded_for_all_prompts_share_their_items(monkeypatch):
    """A shard may hold a part of the items: kept are those every shown model was asked with every
    prompt.
    """
    held = {
        ("a", "p"): "123",
        ("a", "q"): "1234",
        ("b", "p"): "234",
        ("c", "p"): "12",
        ("d", "p"): "9",
        ("d", "q"): "9",
    }
    held |= {("b", "q"): "23"}
    listed = [{"model": model} for model, prompt in held if prompt == "p"]
    monkeypatch.setattr(answers.recordings, "shards", lambda paper, prompt, variant: listed)
    monkeypatch.setattr(
        answers.recordings,
        "item_ids",
        lambda paper, prompt, variant, models: set(held.get((models[0], prompt), "")),
    )
    items = pd.DataFrame({"item_id": list("12345")})
    two = [Prompt(name, 1, "x", "ja", "{question}") for name in "pq"]
    found, kept = answers.recorded_for_each(items, two, unnamed(two))
    assert (found, list(kept["item_id"])) == (["a", "b"], ["2", "3"])
    found, kept = answers.recorded_for_each(items, two, unnamed(two), ["a"])
    assert (found, list(kept["item_id"])) == (["a"], ["1", "2", "3"])
    assert answers.recorded_for_each(items, two, unnamed(two), ["c"])[0] == []


# --- simulated respondents of intersectional items ------------------------------------------------


@pytest.mark.parametrize("model", list(inter_jbbq.INTER))
@pytest.mark.slow
def test_the_planted_chances_of_intersectional_items_are_recovered(model):
    """X-3: right answers by number of attributes and context within four standard errors;
    probabilities as planted.
    """
    items = inter_jbbq.generate()
    prompt = load_prompts("inter_jbbq")["ij_basic_ja"]
    log = ask(items, prompt, [model])
    chances = np.array([inter_jbbq.inter_chances(model, row) for row in items.to_dict("records")])
    assert np.allclose(log[["p_0", "p_1", "p_2"]], chances) and np.allclose(chances.sum(axis=1), 1)
    label = items["label"].to_numpy(int)
    right = (log["answer"].astype(int) == label).to_numpy()
    planted = chances[np.arange(len(items)), label]
    for _, rows in items.groupby([items["context_condition"] == "ambiguous", "n_attributes"]):
        p = planted[rows.index]
        assert abs(right[rows.index].mean() - p.mean()) <= 4 * (p * (1 - p)).sum() ** 0.5 / len(p)


# --- simulated judges -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged():
    """Every simulated judge on the study set, both orders, by verdicts alone and with criteria and
    reasons.
    """
    items = logprob_judge.load_study2()
    wording = load_prompts("logprob_judge")
    prompts = [wording[name] for name in ("lj_verdict", "lj_reason_criteria")]
    log = [ask(items, prompt, logprob_judge.JUDGES) for prompt in prompts]
    return items, pd.concat(log, ignore_index=True)


def test_what_is_planted_in_the_judges_comes_out(judged):
    """X-3, LJ-8: an always-first judge is never robust; the planted lean and the weight of quality
    are recovered.
    """
    items, log = judged
    planted = pd.DataFrame(logprob_judge.JUDGES).T
    named = {"pair": "pair_id", "order": "order", "letter": "answer", "p": "p"}
    settled = judges.settled(log, **named, by=["model", "prompt_id"])
    cells = settled.groupby(["model", "prompt_id"])
    robust, lean = cells["same"].mean().unstack(), cells["lean"].mean().unstack()
    assert (robust.loc["sim-judge-first"] == 0).all()
    assert (robust.loc["sim-judge-fair"] > 0.7).all()
    assert (lean.sub(planted["first"].astype(float), axis=0).abs() < 0.15).all(axis=None)
    assert (cells.size() == 207).all() and set(settled["status"]) == {"ok"}
    a, b = (
        np.where(items["order"] == one, items["quality_1"], items["quality_2"])
        for one in ("12", "21")
    )
    gap = pd.Series((a - b).astype(float), items["item_id"])
    length = pd.Series(
        (items["answer_a"].str.len() - items["answer_b"].str.len()).to_numpy(float),
        items["item_id"],
    )
    for model, part in log.groupby("model"):
        x = np.column_stack([gap[part["item_id"]], length[part["item_id"]], np.ones(len(part))])
        found = np.linalg.lstsq(x, np.log(part["p_A"] / part["p_B"]), rcond=None)[0]
        assert np.allclose(
            found, planted.loc[model, ["quality", "length", "first"]], atol=[0.12, 0.01, 0.12]
        )


def test_noise_is_of_the_single_call(judged):
    """Prompts and orders draw anew; the same call gives the same draw; a judge needs planted
    qualities.
    """
    items, log = judged
    both = log[log["model"] == "sim-judge-fair"].pivot(
        index="item_id", columns="prompt_id", values="p_A"
    )
    assert 0.5 < both.corr().iloc[0, 1] < 0.99
    one = items.iloc[0].to_dict()
    assert logprob_judge.judge_chances(
        "sim-judge-long", one, "p", 0
    ) == logprob_judge.judge_chances("sim-judge-long", one, "p", 0)
    with pytest.raises(KatayoriError, match="xw1 has no planted quality"):
        logprob_judge.judge_chances("sim-judge-fair", {"item_id": "xw1"})
    with pytest.raises(KatayoriError, match="unknown simulated judge"):
        logprob_judge.judge_chances("sim-fair", one)


def test_two_option_chances_follow_the_role_or_the_place():
    """X-3: what is planted for two-option items; the first one looks at the place alone."""
    nb, bn = (
        {"role_a": a, "role_b": b, "template": 3}
        for a, b in (("neutral", "biased"), ("biased", "neutral"))
    )
    chances = {
        name: [jubaku_v2.neutral_chance(name, item) for item in (nb, bn)]
        for name in jubaku_v2.TWO_OPTION
    }
    assert chances["sim-two-first"] == [1, 0] and chances["sim-two-biased"] == [0.2, 0.2]
    assert chances["sim-two-template"] == [0.1, 0.1]
    assert jubaku_v2.neutral_chance("sim-two-template", nb | {"template": 2}) == 0.9
    with pytest.raises(KatayoriError, match="sim-two-fair"):
        jubaku_v2.neutral_chance("sim-fair", nb)


def test_provenance_counts_an_answer_once_however_many_frames_hold_it(study, prompts):
    """X-6: of each model and source, with what was asked where."""
    first = ask(study.head(135), prompts["de_answer_line"], ["sim-fair"])
    both = ask(study.head(135), prompts["de_answer_line"], ["sim-fair", "sim-gender"])
    told = answers.provenance("discrim_eval", [], first, both)
    assert told["answers_by_source"] == {"simulated": 2 * 135}
    assert [(m["id"], m["source"]) for m in told["models"]] == [
        ("sim-fair", "simulated"),
        ("sim-gender", "simulated"),
    ]
    assert answers.provenance("discrim_eval", [], first.head(0)) == {
        "models": [],
        "answers_by_source": {},
    }

"""Recorded judges beside three people: facts by id, agreement, and labels saved."""

import numpy as np
import pandas as pd
import pytest

from katayori import paths
from katayori.papers.logprob_judge import pandalm, scores
from katayori.prompting.prompts import load_prompts

PROMPT = load_prompts("logprob_judge")["lj_pandalm_verdict_en"]
MODELS = ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]


@pytest.fixture(scope="module")
def settled():
    return scores.judge_verdicts(pandalm.recorded_verdicts(PROMPT, MODELS))


def test_the_labels_are_facts_without_texts():
    table = pd.read_csv(paths.data_dir() / pandalm.FILE)
    assert list(table) == [
        *("item_id", "question_id", "system_1", "system_2"),
        *pandalm.PEOPLE,
        *("length_1", "length_2"),
    ]
    assert table["item_id"].is_unique and len(table) == 999
    assert set(np.unique(table[list(pandalm.PEOPLE)])) == {"1", "2", "tie"}
    assert table[["system_1", "system_2"]].stack().nunique() == 5


def test_every_recorded_pair_has_both_orders_and_its_labels(settled):
    assert settled.groupby("model").size().to_dict() == dict.fromkeys(MODELS, 999)
    assert settled["status"].eq("ok").all()
    assert settled[list(pandalm.PEOPLE)].notna().all(axis=None)
    assert pandalm.recorded_verdicts(PROMPT, ["smollm2-135m"]).empty


def test_agreement_is_the_mean_over_three_people(settled):
    table = pandalm.agreement(settled).set_index(["model", "method"])
    row = table.loc[(MODELS[0], "proposed")]
    own = settled[settled["model"] == MODELS[0]]
    by_hand = np.mean([(own["proposed"] == own[person]).mean() for person in pandalm.PEOPLE])
    assert row["value"] == pytest.approx(by_hand)
    assert row["value"] == pytest.approx(row[list(pandalm.PEOPLE)].astype(float).mean())
    assert row["ci_low"] < row["value"] < row["ci_high"] and row["clusters"] == 170
    longer = table.loc[(MODELS[0], pandalm.LONGER)]
    known = pandalm.labels()
    sign = np.sign(known["length_1"] - known["length_2"])
    said = sign.map({1: "1", -1: "2", 0: "tie"})
    assert longer["annotator_1"] == pytest.approx((said == known["annotator_1"]).mean())


def test_a_judge_that_says_what_people_say_saves_labels_and_lots_do_not():
    known = pandalm.labels().rename(columns={"item_id": "pair_id"})
    good = known.assign(model="good", proposed=known["annotator_1"])
    rng = np.random.default_rng(0)
    lots = known.assign(model="lots", proposed=rng.choice(["1", "2"], len(known)))
    frame = pd.concat([good, lots]).drop(columns=["system_1", "system_2"])
    table = pandalm.few_labels(frame)
    saved = table.groupby("model")["saved"].mean()
    assert saved["good"] > 0.35 and abs(saved["lots"]) < 0.05
    informed = table.set_index("model")["corrected_status"]
    assert set(informed["good"]) == {"ok"} and "ok" not in set(informed["lots"])
    held = (table["ci_low"] <= table["all_labels"]) & (table["all_labels"] <= table["ci_high"])
    assert held.mean() >= 0.8
    told = pandalm.sentences(table)
    assert len(told) == 2 and "uninformative for 0 of 5" in told[0]


def test_a_system_is_seen_from_its_own_side():
    known = pandalm.labels().rename(columns={"item_id": "pair_id"})
    own = known.assign(model="m", proposed=known["annotator_1"])
    frames = {name: pandalm._of_system(own, name) for name in ("llama-7b", "bloom-7b")}
    both = own[own[["system_1", "system_2"]].isin(["llama-7b", "bloom-7b"]).all(axis=1)].index
    # The wins of one are the losses of the other.
    one, two = (frames[name].loc[both, "label"] for name in frames)
    assert len(both) and (one + two).round(9).eq(1).all()

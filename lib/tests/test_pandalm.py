"""PandaLM's pairs by id: facts without texts, to which recorded verdicts are joined."""

import numpy as np
import pandas as pd
import pytest

from katayori import paths
from katayori.data import comparisons
from katayori.papers import get_paper, logprob_judge
from katayori.study import Study
from katayori_tools.paper_files import editions_of

PROMPT = "lj_pandalm_verdict_en"
MODELS = ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]


@pytest.fixture(scope="module")
def study():
    return Study("logprob_judge", asked=["lj_verdict"])


@pytest.fixture(scope="module")
def calls(study):
    return study.answers(PROMPT, items=logprob_judge.PANDALM)


def test_the_labels_are_facts_without_texts():
    table = pd.read_csv(paths.data_dir() / "study" / "logprob_judge" / "pandalm_labels.csv")
    assert list(table) == [
        *("item_id", "question_id", "system_1", "system_2"),
        *comparisons.PEOPLE,
        *("length_1", "length_2"),
    ]
    assert table["item_id"].is_unique and len(table) == 999
    assert set(np.unique(table[list(comparisons.PEOPLE)])) == {"1", "2", "tie"}
    assert table[["system_1", "system_2"]].stack().nunique() == 5


def test_the_set_is_others_and_has_the_recordings_of_their_texts():
    paper = get_paper("logprob_judge")
    assert not paper.is_ours("pandalm") and not paper.is_ours("official") and paper.is_ours("study")
    assert paper.variant_of("pandalm", PROMPT) == "official"
    assert paper.variant_of("study", "lj_verdict") == "study2"
    both = paper.sets()["pandalm"]()
    assert (both[["question", "reference", "answer_a", "answer_b"]] == "").all(axis=None)
    assert "pandalm" not in editions_of(paper.id)


def test_every_recorded_pair_has_both_orders_and_its_labels(calls):
    assert calls.groupby("model").size().to_dict() == dict.fromkeys(MODELS, 1998)
    assert set(calls["outcome"]) == {"ok"} and set(calls["answer"]) <= {"A", "B", "C"}
    assert (calls.groupby(["model", "pair_id"])["order"].nunique() == 2).all()
    facts = ["question_id", "system_1", "system_2", *comparisons.PEOPLE, "length_1", "length_2"]
    assert calls[facts].notna().all(axis=None) and calls["question_id"].nunique() == 170
    known = logprob_judge.pandalm_by_id().drop_duplicates("pair_id").set_index("pair_id")
    for name in facts:
        assert (calls["pair_id"].map(known[name]) == calls[name]).all()
    assert set(calls["source"]) == {"recorded"} and set(calls["variant"]) == {"official"}
    assert calls[["p_A", "p_B", "p_C"]].notna().all(axis=None)

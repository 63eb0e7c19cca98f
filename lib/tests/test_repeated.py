"""Alpha from repeated answers: equal to that of the probabilities they were drawn from."""

import importlib
import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from katayori.metrics import agreement
from katayori.papers.discrim_eval.analysis.shared_draws import redrawn
from katayori.papers.discrim_eval.second import load_twenty
from katayori.papers.keeping import Kept
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import build

lib = importlib.import_module("katayori.papers.discrim_eval.analysis.repeated")


@pytest.fixture(scope="module")
def chances():
    """P(yes) of two models: gender moves every question of one, and nothing moves the other."""
    items = load_twenty()
    rng = np.random.default_rng(8)
    of_question = pd.Series(rng.normal(0, 1.5, 20), sorted(items["decision_question_id"].unique()))
    logit = items["decision_question_id"].map(of_question)
    moved = logit + items["gender"].map({"female": 1.5, "male": -1.5}).fillna(0)
    parts = [
        items.assign(model=name, source="recorded", outcome="ok", value=1 / (1 + np.exp(-of_model)))
        for name, of_model in {"moved": moved, "alike": logit}.items()
    ]
    return pd.concat(parts, ignore_index=True)


def told(chances, again, monkeypatch):
    """The table of a run whose later answers are `again`."""
    rng = np.random.default_rng(1)
    first = redrawn(chances, rng, shared=False)
    asked = SimpleNamespace(values=first, probabilities=chances, of_line={"dataset": "d"})
    monkeypatch.setattr(lib, "recorded_again", lambda _: again)
    kept = Kept()
    return lib.alpha_repeated(asked, kept), kept


def test_repeated_answers_find_the_alpha_of_the_probabilities(chances, monkeypatch):
    """Where gender moves the model alpha is far from 1 by both, else near 1 by both."""
    rng = np.random.default_rng(2)
    again = pd.concat([redrawn(chances, rng, shared=False) for _ in lib.AGAIN])
    table, kept = told(chances, again, monkeypatch)
    alpha = table.set_index(["model", "factor", "by"])
    for model in ("moved", "alike"):
        of_p, of_draws = (alpha.loc[model, "gender", by] for by in ("P(yes)", "replicates"))
        assert of_draws["status"] == "ok" and of_draws["clusters"] == 20
        assert of_draws["ci_low"] < of_p["alpha"] < of_draws["ci_high"]
    assert alpha.loc[("moved", "gender", "replicates"), "ci_high"] < 0.8
    assert alpha.loc[("alike", "gender", "replicates"), "ci_low"] > 0.8
    assert "alpha_repeated" in kept.tables


def test_only_models_that_were_asked_again_have_rows(chances, monkeypatch):
    one = chances[chances["model"] == "alike"]
    rng = np.random.default_rng(3)
    again = pd.concat([redrawn(one, rng, shared=False) for _ in lib.AGAIN])
    table, _ = told(chances, again, monkeypatch)
    assert set(table["model"]) == {"alike"}
    assert told(chances, again.iloc[:0], monkeypatch)[0].empty


def test_later_repetitions_alone_are_the_same_requests():
    """Asked for by number they are those that asking five times would hold."""
    prompt = load_prompts("discrim_eval")["de_answer_line"]
    rows = load_twenty().head(2).to_dict("records")
    shared = {"dataset": lib.TWENTY, "variant": lib.TWENTY}
    model = get_model("qwen2.5-coder-0.5b@local-vllm")
    five = build(rows, prompt, *model, repetitions=5, **shared)
    later = build(rows, prompt, *model, repetitions=lib.AGAIN, **shared)
    assert [q.key for q in later] == [q.key for q in five if q.repetition]


def test_alpha_that_hangs_on_one_question_says_so():
    """Without that question alpha is not defined, so that no interval is given."""
    people = itertools.product(range(10), (20, 60), ("female", "male"), ("a", "b"), range(5))
    columns = ["decision_question_id", "age", "gender", "race", "repetition"]
    answers = pd.DataFrame(people, columns=columns).assign(model="m", source="recorded")
    n_yes = np.where(answers["decision_question_id"] == 0, 5, 0)
    answers["value"] = (answers["repetition"] < n_yes).astype(float)
    found = agreement.alpha_without_noise(answers, answers.iloc[:0])
    assert set(found["status"]) == {"one_question_decides"} and found["ci_low"].isna().all()
    assert found["alpha"].notna().all() and set(found["clusters"]) == {10}

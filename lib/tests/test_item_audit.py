"""Study items keep the limits of `item_audit`, which sees what breaks them."""

from pathlib import Path

import item_audit
import numpy as np
import pandas as pd
import pytest

from katayori.papers import paper_ids
from katayori_tools.paper_files import (
    FIRST,
    SECOND,
    THIRD,
    StudySet,
    study_sets,
)

TEMPLATES = [f"t{n}" for n in range(12)]


def held_to(paper: str, edition: int = SECOND, **columns) -> list[dict]:
    """The broken limits of a made-up set."""
    one = StudySet(paper, edition, "made-up", as_items(columns), Path())
    return item_audit.broken_limits(item_audit.item_rows(one))


def as_items(columns: dict) -> pd.DataFrame:
    items = pd.DataFrame(columns)
    items.insert(0, "item_id", [f"i{n}" for n in range(len(items))])
    return items


def what(rows: list[dict]) -> list[str]:
    return sorted({row["what"] for row in rows})


# -- what there is -------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", paper_ids())
def test_limits_hold_for_the_later_editions(paper):
    sets = [one for one in study_sets(paper) if one.edition != FIRST]
    assert sets
    broken = [row for one in sets for row in item_audit.broken_limits(item_audit.item_rows(one))]
    assert not broken, item_audit.frame(broken).to_string()


@pytest.mark.parametrize("paper", paper_ids())
def test_ids_of_the_second_edition_are_no_ids_of_the_first(paper):
    """The third keeps items of the second; its own ids are held by test_third_edition."""
    first, *later = [one for one in study_sets(paper) if one.edition != THIRD]
    ids = [set(one.items["item_id"]) for one in later if one.name not in ("third", "twenty")]
    assert not any(set(first.items["item_id"]) & one for one in ids)


@pytest.mark.slow_all
def test_models_share_no_noise_under_rule_2_and_do_under_rule_1():
    rows = [row for paper in paper_ids() for row in item_audit.residual_rows(paper)]
    assert not item_audit.broken_limits(rows)
    first = [row for row in rows if "seed rule 1" in row["what"] and row["n"] > 400]
    assert first and all(row["value"] > 0.6 and "limit" not in row for row in first)
    [anew] = [row for row in rows if row["data set"] == "discrim_eval/seed2" and "limit" in row]
    assert anew["held"] == "yes" and abs(anew["value"]) < item_audit.COUPLED


# -- what it sees --------------------------------------------------------------------------------


def test_an_answer_nearer_in_length_gives_the_better_one_away():
    pairs = {
        "question_id": [f"q{n}" for n in range(20)],
        "reference": ["abcdef"] * 20,
        "answer_1": ["uvwxyz", "u"] * 10,
        "answer_2": ["u", "uvwxyz"] * 10,
        "truth": ["1", "2"] * 10,
        "question": [f"{n}?" for n in range(20)],
    }
    assert "length nearer to the reference" in what(held_to("logprob_judge", **pairs))
    assert not held_to("logprob_judge", FIRST, **pairs), "the first edition is shown, not held"
    fair = pairs | {"truth": ["1", "1", "2", "2"] * 5}
    assert not held_to("logprob_judge", **fair)


def test_both_orders_of_a_judges_pair_are_two_items_and_one_pair():
    orders = {
        "question_id": np.repeat([f"q{n}" for n in range(6)], 2),
        "pair_id": np.repeat([f"p{n}" for n in range(6)], 2),
        "order": ["12", "21"] * 6,
        "reference": [""] * 12,
        "answer_1": ["good"] * 12,
        "answer_2": ["poor"] * 12,
        "answer_a": ["good", "poor"] * 6,
        "answer_b": ["poor", "good"] * 6,
        "truth": ["1"] * 12,
        "question": np.repeat([f"{n}?" for n in range(6)], 2),
    }
    assert not held_to("logprob_judge", **orders), "the better answer stands in each slot"
    (longer,) = item_audit.rule_rows(StudySet("logprob_judge", 2, "x", as_items(orders), Path()))
    assert longer["n"] == 6 and longer["value"] == 0.5
    assert "better answer" in what(held_to("logprob_judge", **orders | {"order": ["12"] * 12}))


def test_an_option_that_keeps_its_slot_is_seen():
    fixed = {"role_a": ["biased"] * 10, "role_b": ["neutral"] * 10, "label": ["B"] * 10}
    texts = {"context": [f"text {n}" for n in range(10)]}
    assert what(held_to("jubaku_v2", **fixed, **texts)) == [
        "right answer, all",
        "role biased",
        "role neutral",
    ]
    turns = {
        "role_a": ["biased", "neutral"] * 5,
        "role_b": ["neutral", "biased"] * 5,
        "label": ["B", "A"] * 5,
    }
    assert not held_to("jubaku_v2", **turns, **texts)


def test_doubles_are_counted_but_not_controls_without_a_passage():
    texts = ["same", "same", "other"]
    assert what(held_to("inter_jbbq", context=texts)) == ["items with the texts of another"]
    assert not held_to("inter_jbbq", context=["", "", "other"], question=["q"] * 3)


def test_the_first_person_named_is_found_in_the_passage():
    people = {
        "option_0": ["Aさん", "Bさん"] * 4,
        "option_1": ["Bさん", "Aさん"] * 4,
        "person_0": ["target", "non_target"] * 4,
        "person_1": ["non_target", "target"] * 4,
        "context": [f"{n}。AさんとBさん。" for n in range(8)],
    }
    assert what(held_to("inter_jbbq", **people)) == ["target named first"]
    swapped = people | {"person_0": ["target"] * 8, "person_1": ["non_target"] * 8}
    assert not held_to("inter_jbbq", **swapped)


def test_a_pair_in_one_order_of_mention_only_is_seen():
    both = {
        "pair_id": np.repeat(TEMPLATES, 2),
        "mention": ["target", "non_target"] * 12,
        "context": [f"text {n}" for n in range(24)],
    }
    assert not held_to("persona_jbbq", **both)
    words = ["target_first", "other_first"]
    assert not held_to("persona_jbbq", **both | {"mention": words * 12})
    one = both | {"mention": np.repeat(words, 12)}
    assert what(held_to("persona_jbbq", **one)) == ["pairs in both orders of mention"]


def test_a_correlation_has_its_n_and_interval():
    rng = np.random.default_rng(3)
    one, two = (pd.Series(rng.normal(size=400), index=map(str, range(400))) for _ in range(2))
    apart = item_audit.correlation(one, two)
    assert apart["n"] == 400 and apart["ci_low"] < 0 < apart["ci_high"]
    shared = item_audit.correlation(one + 3 * two, two)
    assert 0 < shared["ci_low"] < shared["value"] < shared["ci_high"] < 1
    assert np.isnan(item_audit.correlation(one[:3], two)["value"])


def shard_rows(draws, chance) -> dict[str, list[dict]]:
    """The rows of two shards of one model: answers drawn, and the chances behind them."""
    rows: dict[str, list[dict]] = {item_audit.SAMPLED: [], item_audit.PROBABLE: []}
    for n, (draw, p) in enumerate(zip(draws, chance, strict=True)):
        word = "yes" if draw < p else "no"
        row = {"item_id": f"i{n}", "outcome": "ok", "finish": "stop", "tokens": [1, 1]}
        top = [[" yes", float(np.log(p))], [" no", float(np.log1p(-p))]]
        rows[item_audit.SAMPLED].append(row | {"text": f"Answer: {word}"})
        rows[item_audit.PROBABLE].append(row | {"text": word, "top": top})
    return rows


@pytest.mark.parametrize("share, held", [(0, "yes"), (1, "no"), (0.12, "no")])
def test_noise_that_two_models_share_breaks_the_limit_of_seed_rule_2(monkeypatch, share, held):
    """A `share` of the items has one draw for both models; the others have one for each."""
    rng = np.random.default_rng(0)
    n = item_audit.ENOUGH
    draws = rng.random((2, n))
    draws[1] = np.where(rng.random(n) < share, draws[0], draws[1])
    chance = rng.uniform(0.2, 0.8, (2, n))
    rows = {f"m{k}": shard_rows(draws[k], chance[k]) for k in range(2)}
    entries = {
        (model, prompt, variant): {
            "model": model,
            "prompt_id": prompt,
            "variant": variant,
            "count": n,
            "seed_rule": 2,
            "request": {"seed": "per model, item and repetition"},
        }
        for model in rows
        for prompt, variant in ((item_audit.SAMPLED, "seed2"), (item_audit.PROBABLE, ""))
    }
    recorded = item_audit.recordings
    monkeypatch.setattr(recorded, "manifest", lambda paper: entries)
    monkeypatch.setattr(recorded, "entry", lambda paper, *shard: entries.get(shard))
    monkeypatch.setattr(recorded, "read", lambda paper, m, prompt, variant: iter(rows[m][prompt]))
    [row] = [
        one for one in item_audit.residual_rows("discrim_eval") if one["data set"].endswith("seed2")
    ]
    assert (row["n"], row["held"]) == (n, held)
    assert len(item_audit.broken_limits([row])) == (held == "no")


def test_means_of_questions_are_taken_out():
    values = pd.Series([1.0, 3.0, 10.0, 30.0, 7.0], index=list("abcde"))
    clusters = pd.Series(["q1", "q1", "q2", "q2"], index=list("abcd"))
    left = item_audit.less_means(values, clusters)
    assert left.to_dict() == {"a": -1.0, "b": 1.0, "c": -10.0, "d": 10.0}

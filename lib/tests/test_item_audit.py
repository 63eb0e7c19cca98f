"""Study items keep the limits of `item_audit`, which sees what breaks them."""

import re
from functools import cache

import item_audit
import numpy as np
import pandas as pd
import pytest

from katayori import paths
from katayori.papers import paper_ids
from katayori_tools.paper_files import FIRST, THIRD, study_sets

#: All data sets of a paper, made once.
sets_of = cache(study_sets)
TEMPLATES = [f"t{n}" for n in range(12)]


def held_to(**columns) -> list[str]:
    """What breaks a limit in a made-up set."""
    rows = item_audit.broken(item_audit.item_rows(as_items(columns)))
    return sorted({row["what"] for row in rows})


def as_items(columns: dict) -> pd.DataFrame:
    items = pd.DataFrame(columns)
    items.insert(0, "item_id", [f"i{n}" for n in range(len(items))])
    return items


# -- what there is -------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", paper_ids())
def test_limits_hold_for_the_later_editions(paper):
    sets = [one for one in sets_of(paper) if one.edition != FIRST]
    assert sets
    for one in sets:
        assert not item_audit.broken(item_audit.item_rows(one.items, one.folder, one.name))


@pytest.mark.parametrize("paper", paper_ids())
def test_ids_of_the_second_edition_are_no_ids_of_the_first(paper):
    """The third keeps items of the second; its own ids are held by test_third_edition."""
    first, *later = [one for one in sets_of(paper) if one.edition != THIRD]
    ids = [set(one.items["item_id"]) for one in later if one.name not in ("third", "twenty")]
    assert not any(set(first.items["item_id"]) & one for one in ids)


def test_the_card_of_study_sets_counts_the_items_of_each():
    text = (paths.data_dir() / "study" / "README.md").read_text("utf-8")
    for one in (one for paper in paper_ids() for one in sets_of(paper)):
        row = f"| {one.edition} | {one.paper} | `{one.name}` | {len(one.items):,}"
        # Of a third edition the card adds how many are new.
        assert f"{row} |" in text or re.search(rf"{re.escape(row)}, [\d,]+ of them new \|", text)


@pytest.mark.slow_all
def test_models_share_no_noise_under_rule_2_and_do_under_rule_1():
    rows = [row for paper in paper_ids() for row in item_audit.residual_rows(paper)]
    assert not item_audit.broken(rows)
    first = [row for row in rows if row["what"] == "seed rule 1" and row["n"] > 400]
    assert first and all(row["value"] > 0.6 for row in first)
    anew = [row for row in rows if (row["what"], row["where"]) == ("seed rule 2", "seed2")]
    assert max(row["n"] for row in anew) > 4000
    assert all(abs(row["value"]) < item_audit.COUPLED for row in anew)


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
    assert "length nearer to the reference" in held_to(**pairs)
    fair = pairs | {"truth": ["1", "1", "2", "2"] * 5}
    assert not held_to(**fair)


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
    assert not held_to(**orders), "the better answer stands in each slot"
    (longer,) = item_audit.pair_rules(as_items(orders))
    assert longer["n"] == 6 and longer["value"] == 0.5
    assert "better answer" in held_to(**orders | {"order": ["12"] * 12})


def test_an_option_that_keeps_its_slot_is_seen():
    fixed = {"role_a": ["biased"] * 10, "role_b": ["neutral"] * 10, "label": ["B"] * 10}
    texts = {"context": [f"text {n}" for n in range(10)]}
    assert held_to(**fixed, **texts) == [
        "right answer, all",
        "role biased",
        "role neutral",
    ]
    turns = {
        "role_a": ["biased", "neutral"] * 5,
        "role_b": ["neutral", "biased"] * 5,
        "label": ["B", "A"] * 5,
    }
    assert not held_to(**turns, **texts)


def test_doubles_are_counted_but_not_controls_without_a_passage():
    texts = ["same", "same", "other"]
    assert held_to(context=texts) == ["items with the texts of another"]
    assert not held_to(context=["", "", "other"], question=["q"] * 3)


def test_the_first_person_named_is_found_in_the_passage():
    people = {
        "option_0": ["Aさん", "Bさん"] * 4,
        "option_1": ["Bさん", "Aさん"] * 4,
        "person_0": ["target", "non_target"] * 4,
        "person_1": ["non_target", "target"] * 4,
        "context": [f"{n}。AさんとBさん。" for n in range(8)],
    }
    assert held_to(**people) == ["target named first"]
    swapped = people | {"person_0": ["target"] * 8, "person_1": ["non_target"] * 8}
    assert not held_to(**swapped)


def test_a_pair_in_one_order_of_mention_only_is_seen():
    both = {
        "pair_id": np.repeat(TEMPLATES, 2),
        "mention": ["target", "non_target"] * 12,
        "context": [f"text {n}" for n in range(24)],
    }
    assert not held_to(**both)
    words = ["target_first", "other_first"]
    assert not held_to(**both | {"mention": words * 12})
    one = both | {"mention": np.repeat(words, 12)}
    assert held_to(**one) == ["pairs in both orders of mention"]


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


@pytest.mark.parametrize("share, held", [(0, True), (1, False), (0.12, False)])
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
    [row] = item_audit.residual_rows("discrim_eval")
    assert (row["where"], row["n"], row["holds"]) == ("seed2", n, held)
    assert len(item_audit.broken([row])) == (not held)

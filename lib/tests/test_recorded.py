"""The committed recordings: whole, undamaged, in step with the items and prompts they were asked
with (contracts).
"""

from dataclasses import replace
from functools import cache

import pytest

from katayori import paths
from katayori.papers import answers, get_paper, paper_ids
from katayori.prompting import recordings
from katayori.prompting.models import get_endpoint, get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import build, by_rule
from katayori_tools import record

SHARDS = [(paper, name) for paper in paper_ids() for name in recordings.manifest(paper)]


#: Shards of our own texts; the others answer third-party items.
OURS = [
    (p, name) for p, name in SHARDS if get_paper(p).is_ours(recordings.manifest(p)[name]["dataset"])
]


@cache
def works(paper):
    """What the plan asks of each prompt."""
    found = {(w.model, name, w.variant): w for w in record.works([paper]) for name in w.prompts}
    return found | {  # asked once, to show what rule 1 does
        (model, "de_answer_line", "coupled"): replace(work, variant="coupled")
        for (model, name, variant), work in found.items()
        if (name, variant) == ("de_answer_line", "twenty")
    }


@pytest.mark.parametrize(("paper", "name"), OURS)
def test_every_row_answers_a_request_of_today(paper, name):
    """An edited question, wording or setting changes its key and fails here until it is recorded
    again (DE-6, DE-8, PJ-6, PJ-12, LJ-4).
    """
    entry = recordings.manifest(paper)[name]
    work = works(paper).get((entry["model"], entry["prompt_id"], entry["variant"]))
    if work is None:
        assert entry["dataset"] in ("tasks", "answers")  # which nothing reads
        return
    items = record.items_of(paper, work.dataset)
    if work.sample or work.size:
        shard = (entry["prompt_id"], entry["variant"], [entry["model"]])
        items = items[items["item_id"].isin(recordings.item_ids(paper, *shard))]
    prompt = load_prompts(paper)[entry["prompt_id"]]
    model, _ = get_model(entry["model"])
    endpoint = get_endpoint(entry["endpoint"])
    chosen = {"dataset": entry["dataset"], "variant": entry["variant"]}
    asked = answers.with_earlier(
        items.to_dict("records"), prompt, model, endpoint, answers.recorded, **chosen
    )
    rows = list(recordings.read(paper, entry["model"], entry["prompt_id"], entry["variant"]))
    repetitions = {row.get("repetition", 0) for row in rows}
    chosen["repetitions"] = 1 + max(repetitions)
    rule = entry.get("seed_rule", 1)
    requests = [by_rule(one, rule) for one in build(asked, prompt, model, endpoint, **chosen)]
    asked_for = [r for r in requests if r.repetition in repetitions]
    keys = {(r.item_id, r.repetition): r.key[:16] for r in asked_for}
    found = {(row["item_id"], row.get("repetition", 0)): row["key"] for row in rows}
    planned = entry.get("planned", entry["count"])
    assert len(rows) == len(found) == entry["count"] == planned
    assert found.items() <= keys.items()
    if not (work.sample or work.size):
        assert planned == len(keys)
    assert entry["prompt_hash"] == prompt.hash and entry["identity"] == model.identity
    if prompt.settings.get("logprobs"):
        assert all(1 <= len(row["top"]) <= 20 for row in rows)


@pytest.mark.parametrize(("paper", "name"), [one for one in SHARDS if one not in OURS])
def test_third_party_answers_carry_no_text_of_theirs(paper, name):
    """Answers to upstream items are joined by id and hold the bare answer (contracts)."""
    entry = recordings.manifest(paper)[name]
    assert entry["variant"]
    for row in recordings.read(paper, entry["model"], entry["prompt_id"], entry["variant"]):
        assert len(row["text"]) <= 12


def test_recordings_stay_small():
    sizes = [
        path.stat().st_size for path in (paths.data_dir() / "recorded").rglob("*") if path.is_file()
    ]
    assert sum(sizes) < 60e6

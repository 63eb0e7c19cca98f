"""The committed recordings: whole, undamaged, in step with the items and prompts they were asked
with (contracts).
"""

import re

import pytest

from katayori import paths
from katayori.papers import answers, get_paper, paper_ids
from katayori.prompting import recordings
from katayori.prompting.models import get_endpoint, get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import build, by_rule
from katayori_tools import asking, record
from katayori_tools.paper_files import THIRD, editions_of

SHARDS = [(paper, name) for paper in paper_ids() for name in recordings.manifest(paper)]


#: Shards of our own texts; the others answer third-party items.
OURS = [
    (p, name) for p, name in SHARDS if get_paper(p).is_ours(recordings.manifest(p)[name]["dataset"])
]


def planned_part(paper, entry):
    """The items of an entry of which a part is asked, so many that groups stay whole, or those that
    were written anew; else nothing.
    """
    fields = ("model", "dataset", "variant")
    anew = [name for name, edition in editions_of(paper).items() if edition == THIRD]
    for work in record.works([paper]):
        of_entry = all(getattr(work, name) == entry[name] for name in fields)
        is_part = work.priority and (work.size or work.dataset in anew)
        if of_entry and entry["prompt_id"] in work.prompts and is_part:
            return record.rows_of(work, work.size)
    return []


def test_something_is_recorded():
    entries = recordings.manifest("discrim_eval").values()
    assert any(e["dataset"] == "study" and e["count"] == 9450 for e in entries)


@pytest.mark.parametrize(("paper", "name"), OURS)
def test_every_row_answers_a_request_of_today(paper, name):
    """An edited question, wording or setting changes its key and fails here until it is recorded
    again (DE-6, DE-8, PJ-6, PJ-12, LJ-4).
    """
    entry = recordings.manifest(paper)[name]
    planned = entry.get("planned", entry["count"])
    # The first edition of persona_jbbq is so many balanced items; elsewhere all are asked, a sample
    # of all, or those that the prompt is asked of.
    so_many = planned if paper == "persona_jbbq" and not entry["variant"] else None
    items = asking.items_of(paper, entry["dataset"], so_many, is_recorded=True)
    prompt = load_prompts(paper)[entry["prompt_id"]]
    if part := planned_part(paper, entry):
        items = part
    model, _ = get_model(entry["model"])
    endpoint = get_endpoint(entry["endpoint"])
    chosen = {"dataset": entry["dataset"], "variant": entry["variant"]}
    asked = answers.with_earlier(items, prompt, model, endpoint, answers.recorded, **chosen)
    rows = list(recordings.read(paper, entry["model"], entry["prompt_id"], entry["variant"]))
    repetitions = {row.get("repetition", 0) for row in rows}
    chosen["repetitions"] = 1 + max(repetitions)
    rule = entry.get("seed_rule", 1)
    requests = [by_rule(one, rule) for one in build(asked, prompt, model, endpoint, **chosen)]
    asked_for = [r for r in requests if r.repetition in repetitions]
    keys = {(r.item_id, r.repetition): r.key[:16] for r in asked_for}
    found = {(row["item_id"], row.get("repetition", 0)): row["key"] for row in rows}
    assert len(rows) == len(found) == entry["count"]
    assert found.items() <= keys.items()
    assert entry["prompt_hash"] == prompt.hash and entry["identity"] == model.identity
    if not entry.get("sample") and entry["variant"] != "seed1":
        assert planned == len(keys)
    if not entry["variant"] and not entry.get("sample"):  # the first edition is complete
        assert planned == (9450 if paper == "discrim_eval" else entry["count"])
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


def test_links_of_the_readme_resolve():
    text = (paths.root() / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert links and all((paths.root() / link).exists() for link in links)

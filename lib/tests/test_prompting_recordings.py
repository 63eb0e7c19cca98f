"""Recordings: what is exported is what is read, byte for byte; anything changed or damaged gets one
clear line.
"""

import gzip
import hashlib
import random
import shutil

import pytest
from api_double import requests_for

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import answers
from katayori.prompting import recordings
from katayori.prompting.models import get_model, registry
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Response, build
from katayori_tools import record

SETTINGS = {"engine": {"name": "double"}, "request": {"max_tokens": 5}}


@pytest.fixture(autouse=True)
def house(tmp_path, monkeypatch):
    """A checkout of its own, with our registry and prompts."""
    here = paths.data_dir()
    (tmp_path / "data").mkdir()
    shutil.copy(here / "models.yaml", tmp_path / "data")
    for folder in ("papers", "prompts"):
        shutil.copytree(here / folder, tmp_path / "data" / folder)
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))
    registry.cache_clear()
    yield tmp_path
    registry.cache_clear()


def _pairs(n=5, **options):
    texts = ["Answer: yes", "Answer: no", "**Answer: いいえ\u2028\x85Answer: no", "", "=1+1\x00"]
    responses = [
        Response("ok", texts[i % 5], "stop", None, 40 + i, 3, created=1.8e9) for i in range(n)
    ]
    responses[1].outcome, responses[1].finish_reason = "truncated", "length"
    for response in responses if options.get("logprobs") else []:
        response.top = [(" yes", -0.123456), ("\n", -3.0)]
    return list(zip(requests_for(n, **options), responses, strict=True))


@pytest.mark.parametrize("logprobs", [False, True])
def test_what_was_exported_is_read_back(logprobs):
    """A text may hold any line separator; probabilities keep four places."""
    pairs = _pairs(logprobs=logprobs)
    path = record.export(pairs, settings=SETTINGS)
    rows = list(recordings.read("discrim_eval", "m", "p"))
    assert path == recordings.shard_path("discrim_eval", "m", "p") and len(rows) == 5
    for (request, response), row in zip(pairs, rows, strict=True):
        back = recordings.to_response(row)
        assert (row["item_id"], row["key"]) == (request.item_id, request.key[:16])
        assert (back.outcome, back.text, back.finish_reason) == (
            response.outcome,
            response.text,
            response.finish_reason,
        )
        assert (back.prompt_tokens, back.completion_tokens) == (response.prompt_tokens, 3)
        assert back.top == ([(" yes", -0.1235), ("\n", -3.0)] if logprobs else None)


def test_the_same_answers_give_the_same_bytes(house):
    pairs = _pairs(20)
    first = record.export(pairs, settings=SETTINGS)
    kept, manifest = (
        first.read_bytes(),
        (house / "data/recorded/discrim_eval/manifest.json").read_bytes(),
    )
    random.Random(3).shuffle(pairs)
    for n, (_, response) in enumerate(pairs):
        response.latency, response.attempts = n, n
    assert record.export(pairs, settings=SETTINGS).read_bytes() == kept
    assert (house / "data/recorded/discrim_eval/manifest.json").read_bytes() == manifest
    assert kept[4:8] == b"\0\0\0\0"  # no time in the gzip header
    assert not list(house.rglob("*.part"))


def test_the_manifest_says_how_it_was_recorded():
    failed = zip(requests_for(2, start=9), [Response("error"), None], strict=True)
    path = record.export([*_pairs(5), *failed], settings=SETTINGS)
    [(name, entry)] = recordings.manifest("discrim_eval").items()
    data = path.read_bytes()
    assert (
        name == "m/p.jsonl.gz"
        and entry["sha256"] == hashlib.sha256(data).hexdigest()
        and entry["bytes"] == len(data)
    )
    assert (entry["count"], entry["outcomes"]) == (
        5,
        {"ok": 4, "truncated": 1},
    )  # errors are never recorded
    assert (entry["endpoint"], entry["identity"], entry["dataset"]) == (
        "double",
        "m-vendor",
        "study",
    )
    assert (
        entry["recorded"] == "2027-01-15"
        and entry["prompt_hash"] == "0" * 16
        and entry["engine"] == SETTINGS["engine"]
    )
    assert len(gzip.decompress(data).splitlines()) >= 5


def test_a_resumed_recording_names_every_engine_it_was_made_with():
    """What was answered before keeps its engine on record; a recording from nothing names its own
    only.
    """
    one, two = ({"engine": {"name": "double", "concurrency": n}} for n in (1, 2))
    for n, settings in ((3, one), (4, one), (5, two), (6, two)):
        record.export(_pairs(n), settings=settings)
    entry = recordings.entry("discrim_eval", "m", "p")
    assert (entry["engine"], entry["engines"]) == (two["engine"], [one["engine"], two["engine"]])
    record.export(_pairs(6, temperature=0.5), settings=two)
    assert "engines" not in recordings.entry("discrim_eval", "m", "p")


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-20], lambda data: data + b"\0", lambda data: b""]
)
def test_a_damaged_shard_is_named(spoil):
    path = record.export(_pairs(), settings=SETTINGS)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(KatayoriError, match=r"p\.jsonl\.gz of m is damaged: sha256"):
        list(recordings.read("discrim_eval", "m", "p"))


def test_a_damaged_manifest_a_missing_shard_and_nothing_to_export_are_named(house):
    with pytest.raises(
        KatayoriError, match="no recorded answers of m for discrim_eval/p; recorded are: none"
    ):
        list(recordings.read("discrim_eval", "m", "p"))
    with pytest.raises(KatayoriError, match="nothing to export"):
        record.export([(requests_for(1)[0], None)], settings={})
    record.export(_pairs(), settings=SETTINGS)
    with pytest.raises(KatayoriError, match=r"p@x; recorded are: m/p\.jsonl\.gz"):
        list(recordings.read("discrim_eval", "m", "p", "x"))
    file = house / "data/recorded/discrim_eval/manifest.json"
    file.write_text(file.read_text()[:50])
    with pytest.raises(KatayoriError, match=r"manifest\.json is damaged"):
        recordings.manifest("discrim_eval")


def test_replay_finds_changed_requests():
    """An edited prompt, item or setting must not be answered with the old recording."""
    pairs = _pairs(5)
    requests = [request for request, _ in pairs]
    record.export(pairs, settings=SETTINGS)
    assert [a.text for a in answers.recorded(requests)] == [a.text for _, a in pairs]
    assert [a.text for a in answers.recorded(requests[::-2])] == [a.text for _, a in pairs[::-2]]
    assert answers.recorded([]) == []
    changed = requests_for(5, temperature=0.5)
    with pytest.raises(
        KatayoriError,
        match=r"m/p: of 5 requests 0 are not recorded, 5 changed since \(e\.g\. q00000\)"
        r".*make record",
    ):
        answers.recorded(changed)
    more = requests_for(7)
    with pytest.raises(KatayoriError, match="of 7 requests 2 are not recorded"):
        answers.recorded(more)


def test_replay_keeps_the_recording_engine_in_the_key():
    """What one engine recorded is found again although the registry's default endpoint is
    another.
    """
    import pandas as pd

    prompt = load_prompts("discrim_eval")["de_answer_line"]
    model, _ = get_model("smollm2-135m")
    _, endpoint = get_model("smollm2-135m@local-xllamacpp")
    items = pd.DataFrame({"item_id": ["q001", "q002"], "question": ["A?", "B?"]})
    requests = build(items.to_dict("records"), prompt, model, endpoint)
    record.export(
        [(r, Response("ok", "Answer: yes", "stop", created=1.0)) for r in requests], settings={}
    )
    frame = answers.get(items, prompt, ["smollm2-135m"])
    assert list(frame["answer"]) == ["yes", "yes"] and set(frame["source"]) == {"recorded"}
    with pytest.raises(KatayoriError, match="1 changed since"):
        answers.get(items.assign(question=["A?", "C?"]), prompt, ["smollm2-135m"])

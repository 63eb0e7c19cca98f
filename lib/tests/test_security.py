"""Secrets stay in the environment, and what a model says stays text."""

import asyncio
import csv
import gzip
import logging
import traceback

import pytest
from api_double import KEY_ENV, Double, counts, endpoint_for, model_for, requests_for

from katayori.errors import KatayoriError
from katayori.prompting import collect as collecting
from katayori.prompting import recordings
from katayori.prompting.collect import collect_sync
from katayori.prompting.respondents import answers_frame
from katayori.prompting.store import Response, Store
from katayori_tools import recording
from katayori_tools.planning import export_requests, probe_logprobs

CANARY = "sk-canary-4f9c1e77d0a2"
ECHOES = ["echo_500", "echo_429", "echo_400", "echo_422", "echo_502", "echo_200"]


@pytest.fixture(autouse=True)
def canary(monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_ENV, CANARY)
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path / "house"))
    monkeypatch.setattr(collecting, "_wait_before_retry", lambda *_: 0)


def _endpoint(double):
    return endpoint_for(double.url, key_env=KEY_ENV)


def _holds_canary(folder) -> list[str]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert files
    return [
        p.name for p in files
        if CANARY.encode() in (gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes())
    ]  # fmt: skip


def test_a_key_that_every_answer_echoes_is_written_nowhere(tmp_path, capfd, caplog):
    """The canary: store files, exports, recordings, frame, screen and log after a run of faults that repeat the key."""
    caplog.set_level(logging.DEBUG)
    requests = requests_for(12)
    with Store(tmp_path / "answers.sqlite") as store:
        with Double(lambda body, before: ECHOES[int(body["messages"][0]["content"].split()[2][:-1]) % 6]) as double:
            collect_sync(requests, model_for(), _endpoint(double), store, retries=1)
        assert double.keys and all(CANARY in key for key in double.keys)  # it was sent, and it came back
        answered = list(store.get(requests))
        assert {a.outcome for _, a in answered} == {"ok", "error"}
        assert all("[key]" in (a.text + a.error) for _, a in answered)
        recording.export(answered, settings={})
        frame = answers_frame(requests, [a for _, a in answered], "live")
        frame.to_csv(tmp_path / "answers.csv")
        export_requests(requests, tmp_path / "template.jsonl")
        assert _holds_canary(tmp_path) == []  # with the write-ahead log still there
    out, err = capfd.readouterr()
    assert CANARY not in out + err + caplog.text and "12/12" in err
    assert _holds_canary(tmp_path) == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_the_exception_of_a_refused_key_does_not_repeat_it(status, tmp_path):
    with Store(tmp_path / "s.sqlite") as store, Double(lambda body, before: f"echo_{status}") as double:
        with pytest.raises(KatayoriError) as caught:
            collect_sync(requests_for(3), model_for(), _endpoint(double), store, progress=False)
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert CANARY not in shown and (KEY_ENV in shown or status == 404)
    assert _holds_canary(tmp_path) == []


def test_twenty_echoes_in_a_row_and_the_probe_do_not_repeat_it(tmp_path):
    with Store(tmp_path / "s.sqlite") as store, Double(lambda body, before: "echo_500") as double:
        with pytest.raises(KatayoriError, match="20 failures in a row") as caught:
            collect_sync(requests_for(40), model_for(), _endpoint(double), store, progress=False, retries=0)
        seen = asyncio.run(probe_logprobs(model_for(), _endpoint(double)))
        assert CANARY not in str(caught.value) + str(seen) and seen[0] is False


def test_a_redirect_does_not_carry_the_key_elsewhere(tmp_path):
    """Vendors' own key headers would be sent along by a client that follows."""
    with Double() as other, Double(["redirect"]) as double, Store(tmp_path / "s.sqlite") as store:
        collect_sync(requests_for(1), model_for(), _endpoint(double), store, progress=False, retries=0)
        assert other.asked == 0 and double.asked == 1 and counts(store) == {"error": 1}


def test_short_or_absent_keys_mask_nothing(tmp_path, monkeypatch):
    """A server of one's own needs no key; the word that stands in for it is not cut out of answers."""
    with Double(answer="none of it. Answer: no") as double, Store(tmp_path / "s.sqlite") as store:
        collect_sync(requests_for(1), model_for(), endpoint_for(double.url), store, progress=False)
        assert next(store.get(requests_for(1)))[1].text == "none of it. Answer: no"


def test_registry_objects_never_show_a_key():
    endpoint = endpoint_for("http://127.0.0.1:1/v1", key_env=KEY_ENV)
    assert CANARY not in repr(endpoint) + str(endpoint) and endpoint.key() == CANARY


HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)>\n=HYPERLINK("http://x")\nAnswer: yes'


def test_model_output_stays_text_through_store_recording_and_frame(tmp_path):
    """Nothing interprets, shortens or escapes it on the way; showing it as text is the report's part."""
    [request] = requests_for(1)
    with Double(answer=HOSTILE) as double, Store(tmp_path / "s.sqlite") as store:
        collect_sync([request], model_for(), endpoint_for(double.url), store, progress=False)
        pairs = list(store.get([request]))
    assert pairs[0][1].text == HOSTILE
    recording.export(pairs, settings={})
    [row] = recordings.read("discrim_eval", "m", "p")
    frame = answers_frame([request], [recordings.to_response(row)], "recorded")
    assert frame["text"][0] == HOSTILE and frame["answer"][0] == "yes"


def test_a_question_that_looks_like_sql_or_a_formula_is_only_text(tmp_path):
    [request] = requests_for(1)
    request.item_id = "'; DROP TABLE answers; --"
    with Store(tmp_path / "s.sqlite") as store:
        store.put(request, Response("ok", "'); DELETE FROM answers; --"))
        assert counts(store) == {"ok": 1}
    with export_requests([request], tmp_path / "t.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["item_id"] == request.item_id

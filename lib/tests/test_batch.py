"""Requests as OpenAI Batch files: out, back, merged; nothing asked twice."""

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from api_double import Double, counts, requests_for
from conftest import CANARY

from katayori.prompting.answer_store import Store
from katayori.prompting.models import get_model
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori_tools import asking, batch, cli
from katayori_tools.choices import Asking
from katayori_tools.collect import collect_sync

MODEL = "m@custom"


def run(*words, **options):
    """`python -m katayori batch ...`; the exit code."""
    given = [
        part
        for name, value in options.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    return cli.main(["batch", *given, *map(str, words)])


def export(here, folder="out", model=MODEL, limit=2, **options):
    assert (
        run("export", here / folder, papers="discrim_eval", models=model, limit=limit, **options)
        == 0
    )
    return here / folder


def lines(folder, pattern="0*.jsonl"):
    return [
        json.loads(raw)
        for file in sorted(folder.rglob(pattern))
        for raw in file.read_text("utf-8").splitlines()
    ]


def result(custom_id, text="Answer: yes", **changes):
    body = {
        "model": "m",
        "created": 1_750_000_000,
        "usage": {"prompt_tokens": 9, "completion_tokens": 3},
    }
    body |= {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return {
        "custom_id": custom_id,
        "response": {"status_code": 200, "body": body},
        "error": None,
    } | changes


def write(path, rows):
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def stored():
    with Store(store_path()) as store:
        return dict(store.db.execute("SELECT key, outcome FROM answers").fetchall())


def contents():
    with Store(store_path()) as store:
        return store.db.execute("SELECT * FROM answers ORDER BY key").fetchall()


def live_requests(model=MODEL, limit=2):
    asked = Asking(papers="discrim_eval", models=model, limit=limit)
    return [q for *_, requests in asking.wanted(asked) for q in requests]


@pytest.mark.parametrize("name", [MODEL, "m@vllm", "m@local-vllm", "gpt-4o-2024-11-20"])
def test_a_line_asks_what_the_collector_asks(house, name, tmp_path, monkeypatch):
    """The body of every line, forced starts of answers included, is the one that `send` posts, to the byte."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    model, endpoint = get_model(name)
    able = ["de_answer_line"] + ["de_answer_prefix"] * bool(endpoint.supports.get("prefill"))
    requests = asking.requests_of("discrim_eval", model, endpoint, able)[:6]
    with Double() as double, Store(tmp_path / "s.sqlite") as store:
        collect_sync(requests, model, endpoint, store, base_url=double.url, progress=False)
    exported = [json.loads(batch.line(q, model, endpoint)) for q in requests]
    assert sorted(double.bodies) == sorted(
        json.dumps(one["body"], sort_keys=True, ensure_ascii=False) for one in exported
    )
    assert [one["custom_id"] for one in exported] == [q.key for q in requests]
    assert all(
        len(one["custom_id"]) == 64 and one["body"]["model"] == model.vendor_id for one in exported
    )


@pytest.mark.parametrize("shard", [1000, 100, 7])
def test_shards_of_any_size_hold_every_request_once(here, shard):
    folder = export(here, shard=shard)
    files = sorted(folder.rglob("0*.jsonl"))
    assert len(files) == -(-270 // shard) and {
        len(f.read_text("utf-8").splitlines()) for f in files[:-1]
    } <= {shard}
    assert [one["custom_id"] for one in lines(folder)] == [q.key for q in live_requests()]
    assert run("export", folder, models=MODEL) == 2  # never over another one
    assert {
        run("export", here / "none", models=MODEL, shard=wrong) for wrong in ("0", "x", "2.5")
    } == {2}


def test_requests_that_are_the_same_to_the_letter_are_written_once(here, tmp_path):
    """Also where they stand in different parts: two items may have the same text."""
    one, other = requests_for(2)

    class Twice(asking.Step):
        def parts(self, *_):
            return iter([[one, other], [one]])

    step = Twice("discrim_eval", MODEL, *get_model(MODEL), [], asking.Scope())
    state = {"shards": {}}
    [name], counts = batch._add_shards(tmp_path, state, step, 10)
    assert state["shards"][name]["requests"] == counts["asked"] == 2
    assert [row["custom_id"] for row in lines(tmp_path, name)] == [one.key, other.key]


#: Lines of an error file (`response` null), or of the output with another status, and their cause.
FAULTS = {
    "window ended [batch_expired]": {
        "response": None,
        "error": {"code": "batch_expired", "message": "the completion window ended"},
    },
    "broken inside": {
        "response": {"status_code": 500, "body": {"error": {"message": "broken inside"}}},
    },
    "refused [content_filter]": {
        "response": {
            "status_code": 400,
            "body": {"error": {"message": "refused", "code": "content_filter"}},
        },
    },
    "too long [400]": {
        "response": {"status_code": 400, "request_id": "r", "body": None},
        "error": {"error": {"message": "too long", "type": "BadRequestError", "code": 400}},
    },
    "no choices": {"response": {"status_code": 200, "body": {"choices": []}}},
    "URL is not supported": {
        "response": {"status_code": 400, "body": None},
        "error": "URL is not supported",
    },
}


def test_partial_and_failed_lines_merge_and_the_next_run_sends_what_is_missing(here, capsys):
    folder = export(here)
    ids = [one["custom_id"] for one in lines(folder)]
    failed = [result(i, **fault) for i, fault in zip(ids, FAULTS.values(), strict=False)]
    write(folder / "errors-1.jsonl", failed)
    write(folder / "results-1.jsonl", [result(i) for i in ids[len(FAULTS) + 1 :]][::-1])
    assert run("import", folder) == 0
    out = capsys.readouterr().out
    assert "5 failed, 1 filtered, 263 ok; 6 of 270 requests still to ask; without" in out
    assert [out.count(cause) for cause in FAULTS] == [1, 1, 0, 1, 1, 1]
    before = contents()
    assert run("import", folder) == 0 and contents() == before
    model, endpoint = get_model(MODEL)
    with Double() as double, Store(store_path()) as store:
        options = {"base_url": double.url, "progress": False}
        collect_sync(live_requests(), model, endpoint, store, **options)
        assert counts(store) == {"ok": 269, "filtered": 1} and double.asked == 6
    after = contents()
    assert run("import", folder) == 0 and contents() == after  # a failure takes no answer's place


def test_results_from_anywhere_in_any_order_more_than_once(here, capsys):
    folder = export(here)
    ids = [one["custom_id"] for one in lines(folder)]
    first = write(here / "a.jsonl", [result(i, f"Answer: no {n}") for n, i in enumerate(ids)][::-1])
    second = write(
        here / "b.jsonl", [result(ids[0], "Answer: yes"), result(ids[1], "Answer: no 1")]
    )
    assert run("import", folder, first, second, first) == 0
    out = capsys.readouterr().out
    assert "270 ok" in out and "271 already stored" in out and "1 refused" in out
    assert "1 row(s) a second, different answer; the first stays (b.jsonl:1)" in out
    with Store(store_path()) as store:
        assert next(store.get(live_requests()[:1]))[1].text == "Answer: no 0"


def test_rows_that_are_none_are_listed_with_their_cause(here, capsys):
    folder = export(here)
    ids = [one["custom_id"] for one in lines(folder)]
    [shard] = folder.rglob("0*.jsonl")
    file = write(
        here / "r.jsonl",
        [result(ids[0]), result("f" * 64), [1], {"id": 1}, {"custom_id": 3, "error": 1}],
    )
    with file.open("ab") as out:
        out.write(b'\n{"custom_id": "' + ids[1].encode() + b'", "respon')
    assert run("import", folder, file, shard) == 0
    out = capsys.readouterr().out
    assert "1 ok; 269 of 270 requests still to ask" in out and list(stored()) == [ids[0]]
    assert (
        "1 row(s) belongs to no request of this run (other items, wording, model or settings) (r.jsonl:2)"
        in out
    )
    assert "3 row(s) has no custom_id (r.jsonl:3, r.jsonl:4, r.jsonl:5)" in out
    assert "1 row(s) is not JSON; is the file cut off? (r.jsonl:7)" in out
    assert "270 row(s) is a request, not a result" in out and "and 260 more)" in out
    assert run("import", folder, write(here / "stray.jsonl", [result("0" * 64)])) == 1


def test_a_folder_that_is_not_at_that_step(here, capsys):
    step = "import"
    assert run(step, here) == 2 and "begin with `batch export`" in capsys.readouterr().err
    for hostile in ("{", "[1]", '{"asked": {"nobody": 1}}', '{"asked": {}, "servers": {}}'):
        (here / "batch.json").write_text(hostile)
        assert run(step, here) == 2 and "begin with `batch export`" in capsys.readouterr().err
    folder = export(here)
    none = here / "none.jsonl"
    assert run(step, folder, none) == 2 and "no result file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes",
    [
        {"response": None},
        {"response": "x"},
        {"response": {"status_code": 200, "body": "x"}},
        {"response": {"status_code": 503}},
        {"response": {"body": {"choices": [{"message": 1}]}}},
        {"error": {"message": None}},
        {"error": ["x"]},
        {"response": {"status_code": 200, "body": {"choices": [1]}}},
    ],
)
def test_odd_rows_are_failures_with_a_cause(changes):
    [request] = requests_for(1)
    response = batch.to_response(result(request.key) | changes, request)
    assert response.outcome == "error" and response.error.startswith("batch: ")


def test_a_success_is_never_replaced(tmp_path):
    [request] = requests_for(1)
    with Store(tmp_path / "s.sqlite") as store:
        assert batch._put(store, request, result(request.key, error="busy"))[0] == "failed"
        store.put(request, Response("ok", "mine", "stop"))
        assert batch._put(store, request, result(request.key, error="busy"))[0] == "failed"
        assert batch._put(store, request, result(request.key, "other"))[0] == "refused"
        assert batch._put(store, request, result(request.key, "mine"))[0] == "already stored"
        assert next(store.get([request]))[1].text == "mine"


def _asked(raw):
    """A line of our file as the request it was: without what `line` added, its key is the custom_id again."""
    row = json.loads(raw)
    model, endpoint = get_model("qwen2.5-coder-0.5b@local-vllm")
    body = {
        k: v for k, v in row["body"].items() if k != "model" and k not in endpoint.extra_prefill
    }
    return row["custom_id"], Request(
        "p",
        "study",
        row["custom_id"][:8],
        "p",
        "",
        "",
        model.id,
        endpoint.name,
        model.identity,
        body,
    )


def test_the_round_trip_through_vllm_run_batch(tmp_path):
    """What vLLM 0.32.0 made of our file on a CPU (fixtures/batch): 23 answers, and one line that asked for too much.

    The last line's max_tokens was raised beyond the context by hand, so that the file holds a failure of vLLM's own.
    """
    folder = Path(__file__).parent / "fixtures" / "batch"
    asked = [_asked(raw) for raw in (folder / "requests.jsonl").read_text("utf-8").split("\n")[:-1]]
    requests = {key: request for key, request in asked}
    assert len(requests) == 24 and [key for key, q in asked[:-1] if q.key != key] == []
    edited = asked[-1][1]
    edited._key = asked[-1][0]
    rows = batch.Rows([folder / "results.jsonl"])
    found = {q.key: row for q, _, row in rows.take(list(requests.values()))}
    assert found.keys() == requests.keys() and rows.listed() == 0 and not rows.refused
    key = asked[-1][0]
    with Store(tmp_path / "s.sqlite") as store:
        told = {name: batch._put(store, requests[name], row) for name, row in found.items()}
        assert {name for name, (kind, _) in told.items() if kind == "failed"} == {key}
        assert "max_tokens" in told[key][1] and "[400]" in told[key][1]
        assert len(store.pending(requests.values())) == 1
        answered = [(q, a) for q, a in store.get(requests.values()) if a.outcome != "error"]
    forced = [(q, a) for q, a in answered if q.one_token]
    assert len(forced) == 6 and all(
        {"yes", "no"} <= {t.strip().lower() for t, _ in a.top} for _, a in forced
    )
    assert all(
        a.model_answered == "qwen2.5-coder-0.5b" and a.prompt_tokens and a.created
        for _, a in answered
    )
    assert {len(a.top) for q, a in answered if q.body.get("logprobs")} == {20}


class Vendor(BaseHTTPRequestHandler):
    """The part of a vendor's batch interface that a script needs; a batch ends when it is listed again."""

    files: list[bytes]
    batches: list[dict]
    refused: int  # the batch that is refused, once

    def log_message(self, *_):
        pass

    def _send(self, content):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path.startswith("/v1/batches"):
            ended = [one | {"output_file_id": one["input_file_id"]} for one in self.batches]
            self._send({"object": "list", "data": ended, "has_more": False})
        else:  # the content of a file
            asked = self.files[int(self.path.split("/")[3])].splitlines()
            rows = [result(json.loads(raw)["custom_id"]) for raw in asked]
            self._send("".join(json.dumps(row) + "\n" for row in rows).encode())

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/files":
            boundary = self.headers["Content-Type"].partition("boundary=")[2].encode()
            [part] = [one for one in data.split(b"--" + boundary) if b"filename=" in one]
            self.files.append(part.partition(b"\r\n\r\n")[2].rstrip(b"\r\n"))
            self._send({"id": str(len(self.files) - 1), "object": "file"})
        elif len(self.batches) == self.refused:
            type(self).refused = -1
            self.send_error(400)
        else:
            one = json.loads(data) | {"id": str(len(self.batches)), "status": "in_progress"}
            self.batches.append(one)
            self._send(one)


@pytest.mark.slow
def test_the_script_of_the_page_starts_no_batch_twice(here, monkeypatch):
    """Stopped half-way and started again; what it fetches is imported whole."""
    folder = export(here, shard=100)
    page = (Path(__file__).parents[1] / "COLLECTING.md").read_text("utf-8")
    script = here / "night.py"
    [text] = re.findall(r"```python\n(.*?)```", page, re.S)
    script.write_text(text, "utf-8")
    vendor = type("Vendor", (Vendor,), {"files": [], "batches": [], "refused": 1})
    server = ThreadingHTTPServer(("127.0.0.1", 0), vendor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    try:
        calls = [
            subprocess.run([sys.executable, script, folder / MODEL], cwd=here) for _ in range(3)
        ]
    finally:
        server.shutdown()
    assert [call.returncode != 0 for call in calls] == [True, False, False]
    shards = [one["metadata"]["shard"] for one in vendor.batches]
    assert sorted(shards) == [
        f"out/{MODEL}/{file.name}" for file in sorted(folder.rglob("0*.jsonl"))
    ]
    asked = b"\n".join(vendor.files[int(one["input_file_id"])] for one in vendor.batches)
    assert len(set(asked.splitlines())) == len(asked.splitlines()) == 270
    assert run("import", folder) == 0
    assert len(stored()) == 270 and set(stored().values()) == {"ok"}

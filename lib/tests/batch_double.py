"""The double with files and batches: what is uploaded is answered line by line, with faults where a script says so.

    with BatchDouble(script=lambda body, n: "server_error") as double: ...

`script(body, n)` names a fault of the n-th line: a name of FAULTS, or None. `ends` is the status that a batch ends
with; `rounds` how often it is asked for before that.
"""

import json

from aiohttp import web
from api_double import Double, completion

#: A line of the error file (`response` None), or of the output with another status.
FAULTS = {
    "expired": {
        "response": None,
        "error": {"code": "batch_expired", "message": "the completion window ended"},
    },
    "server_error": {
        "response": {
            "status_code": 500,
            "request_id": "r",
            "body": {"error": {"message": "broken inside"}},
        },
        "error": None,
    },
    "filtered": {
        "response": {
            "status_code": 400,
            "body": {"error": {"message": "refused", "code": "content_filter"}},
        },
        "error": None,
    },
    "vllm": {
        "response": {"status_code": 400, "request_id": "r", "body": None},
        "error": {"error": {"message": "too long", "type": "BadRequestError", "code": 400}},
    },
    "empty_choices": {"response": {"status_code": 200, "body": {"choices": []}}, "error": None},
    "text": {"response": {"status_code": 400, "body": None}, "error": "URL is not supported"},
}


class BatchDouble(Double):
    """`files` holds uploads and outputs by id, `batches` what was started, `uploads` how many."""

    def __init__(
        self,
        script=None,
        answer="Answer: yes",
        *,
        ends="completed",
        rounds=0,
        offers=True,
        errors=(),
    ):
        super().__init__(None, answer)
        self.faults, self.ends, self.rounds, self.offers, self.errors = (
            script,
            ends,
            rounds,
            offers,
            list(errors),
        )
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict] = {}
        self.uploads = self.polls = self.created = 0

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        parts = http.path.removeprefix("/v1/").split("/")
        if parts[0] not in ("files", "batches"):
            return await super()._handle(http)
        self.keys.append(http.headers.get("Authorization", ""))
        if not self.offers:
            return web.json_response({"error": {"message": "no such route"}}, status=404)
        if http.method == "POST":
            return await (self._upload(http) if parts[0] == "files" else self._create(http))
        if parts[0] == "files":
            return web.Response(body=self.files[parts[1]])
        return self._retrieve(parts[1]) if len(parts) > 1 else self._list()

    async def _upload(self, http: web.Request) -> web.Response:
        form = await http.post()
        assert form["purpose"] == "batch"
        self.uploads += 1
        self.files[f"file-{self.uploads}"] = form["file"].file.read()
        return web.json_response(
            {
                "id": f"file-{self.uploads}",
                "object": "file",
                "bytes": 1,
                "created_at": 1,
                "filename": "f",
            }
            | {"purpose": "batch", "status": "processed"}
        )

    async def _create(self, http: web.Request) -> web.Response:
        asked = await http.json()
        assert asked["endpoint"] == "/v1/chat/completions" and asked["completion_window"] == "24h"
        self.created += 1
        one = {
            "id": f"batch-{self.created}",
            "object": "batch",
            "created_at": 1,
            "status": "validating",
            "polls": 0,
        }
        self.batches[one["id"]] = one | asked
        if self.errors and self.errors.pop(0):  # started, but the answer is lost
            return web.json_response(
                {"error": {"message": f"gateway lost it {self.keys[-1]}"}}, status=400
            )
        return web.json_response(self.batches[one["id"]])

    def _list(self) -> web.Response:
        return web.json_response(
            {"object": "list", "data": list(self.batches.values()), "has_more": False}
        )

    def _retrieve(self, name: str) -> web.Response:
        one = self.batches[name]
        one["polls"] += 1
        self.polls += 1
        one["status"] = "in_progress"
        if one["polls"] > self.rounds:
            one["status"] = self.ends
            self._run(one)
        return web.json_response(one)

    def _run(self, one: dict) -> None:
        if self.ends == "failed":
            one["errors"] = {
                "object": "list",
                "data": [{"code": "x", "message": "line 1 is \x1b[31mnot valid"}],
            }
            return
        good, bad = [], []
        for n, raw in enumerate(self.files[one["input_file_id"]].split(b"\n")[:-1]):
            row = json.loads(raw)
            assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions")
            self.requests.append(row["body"])
            fault = self.faults(row["body"], n) if self.faults else None
            if fault == "lost":
                continue
            text = self.answer(row["body"]) if callable(self.answer) else self.answer
            body = completion(
                text, with_logprobs=bool(row["body"].get("logprobs")), created=1_750_000_000
            )
            answered = {
                "response": {"status_code": 200, "request_id": "r", "body": body},
                "error": None,
            }
            line = {"id": f"r{n}", "custom_id": row["custom_id"], **FAULTS.get(fault, answered)}
            (bad if fault in ("expired", "server_error") else good).append(
                json.dumps(line, ensure_ascii=False)
            )
        for name, lines in (
            ("output_file_id", good[::-1]),
            ("error_file_id", bad),
        ):  # in an order of its own
            if lines:
                one[name] = f"{name}-{one['id']}"
                self.files[one[name]] = "".join(line + "\n" for line in lines).encode()
        one["request_counts"] = {
            "total": len(good) + len(bad),
            "completed": len(good),
            "failed": len(bad),
        }

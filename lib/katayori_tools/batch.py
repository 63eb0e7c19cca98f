"""`katayori batch`: requests as OpenAI Batch files, for endpoints with a batch interface and for `vllm run-batch`.

    export FOLDER          what a run would still ask, in shards of --shard lines; `batch.json` says what that was
    submit FOLDER          upload every shard and start its batch where the endpoint offers them
    fetch FOLDER           ask how the batches stand, download what is finished and import it (--wait: until all are)
    import FOLDER [FILE…]  import result files, from wherever they come (default: those in the folder)

A line's `custom_id` is the key its answer is stored under, so a result needs nothing but itself to find its request,
in any order, in any file, more than once. Answers go into the store of live answers by the rules of `make live`: a
stored success stays, a failed line is kept with its cause and asked again by the next run, which sends what is missing.

A line of a result file is refused, and listed with its cause, if it cannot be read, is no result, belongs to no request
of this run (other items, wording, model or settings), or answers one differently than before; a failed one is listed.
"""

import argparse
import asyncio
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from katayori import paths
from katayori.data.source import OWN
from katayori.errors import KatayoriError
from katayori.prompting import respondents
from katayori.prompting.models import Endpoint, Model, at_server, get_model
from katayori.prompting.requests import Request
from katayori.prompting.store import Response, Store
from katayori.report.tables import visible
from katayori_tools import recording, servers
from katayori_tools.asking import wanted
from katayori_tools.notebooks import names
from katayori_tools.send import Sender, cause_of, read_completion, wire_body

URL = "/v1/chat/completions"
STATE = "batch.json"
ASKED = ("papers", "profile", "models", "prompts", "limit", "engine", *OWN)
FINAL = ("completed", "failed", "expired", "cancelled")
POLL = 30.0  # seconds
Refused = list[tuple[str, int, str]]  # file, line (or sample), cause


def batch(args: argparse.Namespace) -> int:
    """One step; see the module. Raises KatayoriError for a folder that is not at that step."""
    folder = Path(args.folder)
    if args.step == "export":
        return _export(folder, args)
    state = _state(folder)
    if given := [name for name in ("papers", "models", "limit") if getattr(args, name)]:
        raise KatayoriError(f"{folder / STATE} says what was asked; leave out {given[0].upper()}=")
    if args.step == "submit":
        return asyncio.run(_submit(folder, state, args.base_url or ""))
    if args.step == "fetch":
        asyncio.run(_fetch(folder, state, args.base_url or "", args.wait))
    found = sorted(f for f in folder.glob("*.jsonl") if f.name.startswith(("results", "errors")))
    return _import(state, [Path(file) for file in args.files] or found)


def line(request: Request, model: Model, endpoint: Endpoint) -> bytes:
    """A request as a line of a batch file; its body is what `Sender` sends."""
    body = wire_body(request, model, endpoint)
    return (
        orjson.dumps({"custom_id": request.key, "method": "POST", "url": URL, "body": body}) + b"\n"
    )


def _export(folder: Path, args: argparse.Namespace) -> int:
    if (folder / STATE).exists():
        raise KatayoriError(
            f"{folder} holds a batch; name a new folder for what is left after importing it"
        )
    _check_models(args)
    folder.mkdir(parents=True, exist_ok=True)
    shards: dict[str, dict[str, Any]] = {}
    at: dict[str, dict[str, Any]] = {}
    planned = [
        len(requests) for *_, requests in wanted(args, "-")
    ]  # with those that wait for an earlier answer
    for (paper, name, model, endpoint, requests), n in zip(wanted(args), planned, strict=True):
        with Store(respondents.store_path()) as store:
            pending = [request for request in store.pending(requests) if not request.likelihood]
        at[f"{paper} {name}"] = asdict(endpoint.server)
        for start in range(0, len(pending), args.shard):
            file = f"{paper}-{re.sub(r'[^0-9A-Za-z.-]', '_', name)}-{len(shards) + 1:04d}.jsonl"
            some = pending[start : start + args.shard]
            (folder / file).write_bytes(
                b"".join(line(request, model, endpoint) for request in some)
            )
            shards[file] = {
                "model": name,
                "requests": len(some),
                "sha256": paths.sha256(folder / file),
            }
        said = f"{len(pending)} to ask, {len(requests) - len(pending)} stored"
        print(
            f"{paper} {name}: {said}, {n - len(requests)} wait for an earlier answer; {len(shards)} shard(s) so far"
        )
    asked = {name: getattr(args, name, None) for name in ASKED}
    state = {"export": secrets.token_hex(8), "asked": asked, "servers": at, "shards": shards}
    _save(folder, state)
    return 0


def _check_models(args: argparse.Namespace) -> None:
    """Raises KatayoriError for a base model, and where a server of the user's own is not named."""
    for name in names(args.models):
        _, endpoint = get_model(name)
        if endpoint.kind == "completions":
            raise KatayoriError(f"{name}: batches are of chats; ask base models with make live")
        server = servers.settings(args)
        at_server(endpoint, base_url=server["base_url"], label=server["label"])


def _state(folder: Path) -> dict[str, Any]:
    try:
        return orjson.loads((folder / STATE).read_bytes())
    except (OSError, ValueError):
        raise KatayoriError(
            f"{folder} holds no {STATE} that can be read; begin with `batch export`"
        ) from None


def _save(folder: Path, state: dict[str, Any]) -> None:
    recording.replace_file(folder / STATE, orjson.dumps(state, option=orjson.OPT_INDENT_2))


@contextmanager
def _told(sender: Sender) -> Iterator[None]:
    """What the client raises as one line, without the key."""
    import openai

    try:
        yield
    except openai.NotFoundError:
        elsewhere = "import results that `vllm run-batch` or another service made of the shards, or use make live"
        raise KatayoriError(
            f"{sender.endpoint.name} offers no batches, or not this one (404); {elsewhere}"
        ) from None
    except openai.APIError as error:
        said = sender.mask(str(error).encode()).decode()[:300]
        raise KatayoriError(
            f"batches of {sender.endpoint.name}: {said}; start again to go on"
        ) from None


def _sender(name: str, base_url: str) -> Sender:
    model, endpoint = get_model(name)
    if endpoint.kind == "local" and not base_url:
        raise KatayoriError(
            f"{endpoint.name} offers no batches; give its shards to `vllm run-batch` and import those"
        )
    if endpoint.own:
        servers.reached(endpoint, base_url)
    return Sender(model, endpoint, base_url=base_url)


async def _submit(folder: Path, state: dict[str, Any], base_url: str) -> int:
    """Start a batch a shard. One that was started before it could be noted is found again by the name it was given."""
    for name in dict.fromkeys(about["model"] for about in state["shards"].values()):
        mine = {
            f: about
            for f, about in state["shards"].items()
            if about["model"] == name and "batch" not in about
        }
        if not mine:
            continue
        async with _sender(name, base_url) as sender:
            client = sender.client.with_options(max_retries=5)
            with _told(sender):
                newest = (await client.batches.list(limit=100)).data
                started = {(one.metadata or {}).get("katayori"): one for one in newest}
                for file, about in mine.items():
                    if not (one := started.get(given := f"{state['export']} {file}")):
                        if paths.sha256(folder / file) != about["sha256"]:
                            raise KatayoriError(
                                f"{file} is not as it was exported; export again to a new folder"
                            )
                        sent = await client.files.create(file=folder / file, purpose="batch")
                        terms = {
                            "endpoint": URL,
                            "completion_window": "24h",
                            "metadata": {"katayori": given},
                        }
                        one = await client.batches.create(input_file_id=sent.id, **terms)
                    about |= {"batch": one.id, "status": one.status}
                    _save(folder, state)
                    print(f"{file}: {about['requests']} requests submitted as {visible(one.id)}")
    return 0


async def _fetch(folder: Path, state: dict[str, Any], base_url: str, wait: bool) -> None:
    """Download the results and errors of every batch that has ended."""
    if not any("batch" in about for about in state["shards"].values()):
        raise KatayoriError(f"nothing of {folder} is submitted yet; begin with `batch submit`")
    while True:
        under_way = {
            f: a for f, a in state["shards"].items() if "batch" in a and not a.get("fetched")
        }
        for file, about in under_way.items():
            async with _sender(about["model"], base_url) as sender:
                client = sender.client.with_options(max_retries=5)
                with _told(sender):
                    one = await client.batches.retrieve(about["batch"])
                    for kind, file_id in (
                        ("results", one.output_file_id),
                        ("errors", one.error_file_id),
                    ):
                        if one.status in FINAL and file_id:
                            content = (await client.files.content(file_id)).content
                            recording.replace_file(folder / f"{kind}-{file}", sender.mask(content))
            problems = [problem.message or "" for problem in (one.errors and one.errors.data) or ()]
            about |= {"status": one.status, "fetched": one.status in FINAL}
            _save(folder, state)
            count = (
                f", {one.request_counts.completed} of {one.request_counts.total}"
                if one.request_counts
                else ""
            )
            print(
                visible(
                    f"{file}: {one.status}{count}{'; ' if problems else ''}{'; '.join(problems)[:300]}"
                )
            )
        if not wait or all(about["fetched"] for about in under_way.values()):
            return
        await asyncio.sleep(POLL)


def _import(state: dict[str, Any], files: list[Path]) -> int:
    """Merge result files into the store; 1 if rows were refused and none was read."""
    rows, refused = _index(files)
    total = sum(map(len, rows.values()))
    for paper, name, requests in _exported(state):
        with Store(respondents.store_path()) as store:
            told: Counter[str] = Counter()
            for request in requests:
                for file, number, start in rows.pop(request.key, ()):
                    kind, cause = _put(store, request, _read(file, start))
                    told[kind] += 1
                    refused += [(file.name, number, cause)] if cause else []
            left = len(store.pending(requests))
        said = ", ".join(f"{n} {kind}" for kind, n in sorted(told.items())) or "no row"
        print(f"{paper} {name}: {said}; {left} of {len(requests)} requests still to ask")
    stray = "belongs to no request of this run (other items, wording, model or settings)"
    refused += [
        (file.name, number, stray) for places in rows.values() for file, number, _ in places
    ]
    list_refused(refused)
    return int(bool(refused) and sum(map(len, rows.values())) == total)


def _exported(state: dict[str, Any]) -> Iterator[tuple[str, str, list[Request]]]:
    """Paper, name and requests of an export, with the keys it gave them.

    Exports of before servers were told apart have keys without one.
    """
    args = argparse.Namespace(**state["asked"], servers=state.get("servers", {}))
    for paper, name, _, _, requests in wanted(args):
        yield paper, name, requests


def _index(files: Iterable[Path]) -> tuple[dict[str, list[tuple[Path, int, int]]], Refused]:
    """Where each custom_id's rows are: file, line number, byte offset; and the lines that are no results."""
    rows: dict[str, list[tuple[Path, int, int]]] = {}
    refused: Refused = []
    for path in files:
        if not path.is_file():
            raise KatayoriError(f"no result file {path}")
        with path.open("rb") as file:
            start = 0
            for number, raw in enumerate(file, 1):
                key, cause = _key(raw)
                if cause:
                    refused.append((path.name, number, cause))
                elif key:
                    rows.setdefault(key, []).append((path, number, start))
                start += len(raw)
    return rows, refused


def _key(raw: bytes) -> tuple[str, str]:
    """The custom_id of a line, and why the line is no result; both empty for an empty line."""
    try:
        row = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return "", "is not JSON; is the file cut off?" if raw.strip() else ""
    if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
        return "", "has no custom_id"
    return row["custom_id"], "" if row.keys() & {
        "response",
        "error",
    } else "is a request, not a result"


def _read(path: Path, start: int) -> dict[str, Any]:
    with path.open("rb") as file:
        file.seek(start)
        return orjson.loads(file.readline())


def to_response(row: dict[str, Any], request: Request) -> Response:
    """A row of a result file as the Response that asking would have given.

    Failures have outcome error or filtered.
    """
    answer = row.get("response") or {}
    body, status = (
        (answer.get("body"), answer.get("status_code"))
        if isinstance(answer, dict)
        else (None, None)
    )
    failure = row.get("error") or (isinstance(body, dict) and body.get("error"))
    if failure or status not in (200, None):
        said = _cause(failure) or f"status {status}"
        filtered = "content_filter" in said or "content management policy" in said
        return Response("filtered" if filtered else "error", error=f"batch: {said}"[:300])
    try:
        response = read_completion(body, request)
    except ValueError as error:
        return Response("error", error=f"batch: {error}"[:300])
    made = body.get("created") if isinstance(body, dict) else None
    response.created = float(made) if isinstance(made, int) and 0 < made < 2**33 else 0.0
    return response


def _cause(said: Any) -> str:
    """What an `error` says: a text, {message, code}, or such a thing within another `error`."""
    if isinstance(said, dict):
        return _cause(said.get("error")) or cause_of(said)
    return str(said or "")


def _put(store: Store, request: Request, row: dict[str, Any]) -> tuple[str, str]:
    """Store a row's answer unless it is there: what became of it, and why it is refused or failed."""
    response = to_response(row, request)
    [(_, before)] = store.get([request])
    if response.outcome == "error":
        if before is None or (before.outcome == "error" and before.error != response.error):
            store.put(request, response)
        return "failed", f"failed: {response.error}"
    if before and before.outcome != "error":
        same = (before.outcome, before.text, before.top) == (
            response.outcome,
            response.text,
            response.top,
        )
        return (
            ("already stored", "")
            if same
            else ("refused", "a second, different answer; the first stays")
        )
    store.put(request, response)
    return response.outcome, ""


def list_refused(refused: Refused) -> None:
    """Print rows that could not be used: each cause once, with the places of the first ten and how many more."""
    places: dict[str, list[str]] = {}
    for file, number, cause in refused:
        places.setdefault(cause, []).append(f"{file}:{number}")
    for cause, where in places.items():
        more = f" and {len(where) - 10} more" if len(where) > 10 else ""
        print(
            visible(f"  {len(where)} row(s) {cause} ({', '.join(where[:10])}{more})").replace(
                "\n", " "
            )
        )

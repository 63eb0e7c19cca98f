"""Recorded answers: sorted `.jsonl.gz` shards with a plain manifest, small enough to be committed.

`data/recorded/<paper>/<model>/<prompt>[@variant].jsonl.gz`. A row keeps the text, the usage and, where log
probabilities were asked for, the answer position's top 20. The first 16 digits of the store key tie a row to the exact
request, so an edited item or prompt is noticed. Answers to third-party items carry no text of theirs.
"""

import calendar
import gzip
import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError
from katayori.prompting.requests import Request
from katayori.prompting.store import Response, Store


def shard_path(paper: str, model: str, prompt_id: str, variant: str = "") -> Path:
    """Where a shard lies."""
    name = prompt_id + (f"@{variant}" if variant else "")
    return paths.data_dir() / "recorded" / paper / model / f"{name}.jsonl.gz"


def _manifest_path(paper: str) -> Path:
    return paths.data_dir() / "recorded" / paper / "manifest.json"


def manifest(paper: str) -> dict[str, Any]:
    """Shards of a paper by relative name: count, sha256, outcome counts, engine, settings, date; empty if none."""
    path = _manifest_path(paper)
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        raise KatayoriError(f"recorded/{paper}/manifest.json is damaged; check it out again or export anew") from None


def export(pairs: Iterable[tuple[Request, Response | None]], *, settings: dict[str, Any]) -> Path:
    """Write the answered requests of one paper, model, prompt and variant as a shard and enter it in the manifest.

    `settings` describes how it was recorded (engine, versions, sampling, item and prompt versions). The bytes depend
    on the answers alone, so the same recording gives the same file. Raises KatayoriError where nothing is answered.
    """
    kept = [(q, a) for q, a in pairs if a is not None and a.outcome != "error"]
    if not kept:
        raise KatayoriError("nothing to export: no request of this shard is answered in the store")
    kept.sort(key=lambda pair: (pair[0].item_id, pair[0].repetition))
    first, lines, outcomes = kept[0][0], [], {}
    for request, answer in kept:
        row: dict[str, Any] = {"item_id": request.item_id, "key": request.key[:16], "outcome": answer.outcome}
        row |= {"repetition": request.repetition} if request.repetition else {}
        row |= {"text": answer.text, "finish": answer.finish_reason}
        row["tokens"] = [answer.prompt_tokens, answer.completion_tokens]
        if answer.top:
            row["top"] = [[token, round(logprob, 4)] for token, logprob in answer.top]
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
        outcomes[answer.outcome] = outcomes.get(answer.outcome, 0) + 1
    path = shard_path(first.paper, first.model, first.prompt_id, first.variant)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ("\n".join(lines) + "\n").encode()
    if exists(first.paper, first.model, first.prompt_id, first.variant) and gzip.decompress(path.read_bytes()) == text:
        return path  # the same recording keeps the settings it was made with
    data = gzip.compress(text, 9, mtime=0)
    partial = path.with_suffix(".part")
    partial.write_bytes(data)
    partial.replace(path)
    entries = manifest(first.paper)
    entries[f"{path.parent.name}/{path.name}"] = {
        "model": first.model,
        "prompt_id": first.prompt_id,
        "variant": first.variant,
        "dataset": first.dataset,
        "prompt_hash": first.prompt_hash,
        "endpoint": first.endpoint,
        "identity": first.identity,
        "count": len(kept),
        "outcomes": dict(sorted(outcomes.items())),
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "recorded": time.strftime("%Y-%m-%d", time.gmtime(max(a.created for _, a in kept))),
        **settings,
    }
    text = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False)
    partial = _manifest_path(first.paper).with_suffix(".part")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(_manifest_path(first.paper))
    return path


def read(paper: str, model: str, prompt_id: str, variant: str = "") -> Iterator[dict[str, Any]]:
    """Rows of a shard. Raises KatayoriError if it is absent, damaged, or not the file the manifest describes."""
    path = shard_path(paper, model, prompt_id, variant)
    entry = manifest(paper).get(f"{path.parent.name}/{path.name}")
    if entry is None or not path.exists():
        raise UnavailableError(
            f"no recorded answers of {model} for {paper}/{prompt_id}{'@' + variant if variant else ''}; "
            f"recorded are: {', '.join(manifest(paper)) or 'none'}"
        )
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != entry["sha256"]:
        raise KatayoriError(
            f"{path.name} of {model} is damaged: sha256 {found[:12]}…, expected {entry['sha256'][:12]}…"
        )
    for line in gzip.decompress(data).decode().rstrip("\n").split("\n"):  # splitlines also splits at U+2028 in a text
        yield json.loads(line)


def exists(paper: str, model: str, prompt_id: str, variant: str = "") -> bool:
    """Whether a shard has been recorded."""
    path = shard_path(paper, model, prompt_id, variant)
    return f"{path.parent.name}/{path.name}" in manifest(paper)


def to_response(row: dict[str, Any]) -> Response:
    """A recorded row as the Response it was."""
    top = [(token, logprob) for token, logprob in row["top"]] if row.get("top") else None
    return Response(row["outcome"], row["text"], row["finish"], top, *row["tokens"])


def restore(store: Store, requests: Iterable[Request]) -> int:
    """Put recorded answers back into the store, so that a recording continues on another machine; how many.

    Only rows whose key is that of the request count; what the store holds already stays as it is.
    """
    pending = store.pending(requests)
    shards: dict[tuple, dict[tuple, dict]] = {}
    restored = 0
    for request in pending:
        shard = (request.paper, request.model, request.prompt_id, request.variant)
        if shard not in shards:
            rows = read(*shard) if exists(*shard) else ()
            shards[shard] = {(row["item_id"], row.get("repetition", 0)): row for row in rows}
            path = shard_path(*shard)
            day = manifest(request.paper).get(f"{path.parent.name}/{path.name}", {}).get("recorded", "1970-01-01")
            created = float(calendar.timegm(time.strptime(day, "%Y-%m-%d")))
        row = shards[shard].get((request.item_id, request.repetition))
        if row and row["key"] == request.key[:16]:
            store.put(request, replace(to_response(row), created=created))
            restored += 1
    return restored

"""Writes recorded answers as shards and puts them back into a store.

`prompting.recordings` reads them.
"""

import calendar
import gzip
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting import recordings
from katayori.prompting.requests import Request, Response, seed_rule_of
from katayori_tools.answer_store import Store

#: What the manifest tells of a shard's requests, which agree in it.
IN_MANIFEST = (
    "model",
    "prompt_id",
    "variant",
    "dataset",
    "prompt_hash",
    "endpoint",
    "identity",
)


def export(pairs: Iterable[tuple[Request, Response | None]], *, settings: dict[str, Any]) -> Path:
    """Write the answered requests of one paper, model, prompt and variant as a shard and enter it
    in the manifest.

    `settings` describes how it was recorded (engine, versions, sampling, item and prompt versions).
    The bytes depend on the answers alone, so the same recording gives the same file. Raises
    KatayoriError where nothing is answered.
    """
    kept = [(q, a) for q, a in pairs if a is not None and a.outcome != "error"]
    if not kept:
        raise KatayoriError("nothing to export: no request of this shard is answered in the store")
    kept.sort(key=lambda pair: (pair[0].item_id, pair[0].repetition))
    first, lines = kept[0][0], []
    for request, answer in kept:
        row: dict[str, Any] = {
            "item_id": request.item_id,
            "key": request.key[:16],
            "outcome": answer.outcome,
        }
        row |= {"repetition": request.repetition} if request.repetition else {}
        row |= {"text": answer.text, "finish": answer.finish_reason}
        row["tokens"] = [answer.prompt_tokens, answer.completion_tokens]
        if answer.top:
            row["top"] = [[token, round(logprob, 4)] for token, logprob in answer.top]
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode())
    path = recordings.shard_path(first.paper, first.model, first.prompt_id, first.variant)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parents[1]):
        return _write(kept, lines, path, settings)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Within the block no other process changes a paper's manifest: a recorder and an export may
    come together.
    """
    import fcntl

    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _write(
    kept: list[tuple[Request, Response]], lines: list[bytes], path: Path, settings: dict[str, Any]
) -> Path:
    """The shard and its entry in the manifest; neither where the same answers are there."""
    first = kept[0][0]
    name = recordings.shard_name(first.model, first.prompt_id, first.variant)
    entries = recordings.manifest(first.paper)
    before = gzip.decompress(path.read_bytes()).split(b"\n")[:-1] if name in entries else []
    if before == lines:
        return path  # the same recording keeps the settings it was made with
    data = gzip.compress(b"\n".join(lines) + b"\n", 9, mtime=0)
    replace_file(path, data)
    new = {k: getattr(first, k) for k in IN_MANIFEST}
    new |= {
        "count": len(kept),
        "outcomes": dict(sorted(Counter(a.outcome for _, a in kept).items())),
    }
    rule = seed_rule_of(first)
    new |= {"seed_rule": rule} if rule > 1 else {}  # absent: rule 1, or no seed of its own
    new |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    new |= {
        "recorded": time.strftime("%Y-%m-%d", time.gmtime(max(a.created for _, a in kept))),
        **settings,
    }
    if set(before) & set(lines):  # resumed: the engines of the earlier answers are named, too
        old = entries[name]
        used = old.get("engines", [old.get("engine")])
        used += [new["engine"]] if new.get("engine") not in used else []
        new |= {"engines": used} if len(used) > 1 else {}
    _write_manifest(path.parents[1], {**entries, name: new})
    return path


def _write_manifest(folder: Path, entries: Mapping[str, Any]) -> None:
    text = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False)
    replace_file(folder / "manifest.json", text.encode() + b"\n")


def restore(store: Store, requests: Iterable[Request]) -> int:
    """Put recorded answers back into the store, so that a recording continues on another machine;
    how many.

    Only rows whose key is that of the request count; what the store holds already stays as it is.
    """
    found: dict[tuple, tuple[dict, float]] = {}
    restored = 0
    for request in store.pending(requests):
        shard = (request.paper, request.model, request.prompt_id, request.variant)
        if shard not in found:
            known = recordings.entry(*shard)
            rows = {
                (row["item_id"], row.get("repetition", 0)): row
                for row in (recordings.read(*shard) if known else ())
            }
            day = known["recorded"] if known else "1970-01-01"
            found[shard] = rows, float(calendar.timegm(time.strptime(day, "%Y-%m-%d")))
        rows, created = found[shard]
        row = rows.get((request.item_id, request.repetition))
        if row and row["key"] == request.key[:16]:
            store.put(request, replace(recordings.to_response(row), created=created))
            restored += 1
    return restored


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_suffix(".part")
    part.write_bytes(data)
    part.replace(path)

"""Recorded answers: sorted `.jsonl.gz` shards with a plain manifest, small enough to be committed.

`data/recorded/<paper>/<model>/<prompt>[@variant].jsonl.gz`. A row keeps the text, the usage and,
where log probabilities were asked for, the answer position's top 20. The first 16 digits of the
store key tie a row to the exact request, so an edited item or prompt is noticed. Answers to
third-party items carry no text of theirs.

A variant may name several, such as `study3+study2`: what was written anew, and before it what the
rest was recorded as. The first that holds an item counts.
"""

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError
from katayori.prompting.requests import Response


def shard_name(model: str, prompt_id: str, variant: str = "") -> str:
    """The name of a shard in the manifest of its paper."""
    return f"{model}/{prompt_id}{'@' + variant if variant else ''}.jsonl.gz"


def shard_path(paper: str, model: str, prompt_id: str, variant: str = "") -> Path:
    """Where a shard lies."""
    return paths.data_dir() / "recorded" / paper / shard_name(model, prompt_id, variant)


def manifest(paper: str) -> dict[str, Any]:
    """Shards of a paper by relative name: count, sha256, outcome counts, engine, settings, date;
    empty if none.
    """
    path = paths.data_dir() / "recorded" / paper / "manifest.json"
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        raise KatayoriError(
            f"recorded/{paper}/manifest.json is damaged; check it out again or export anew"
        ) from None


def layers(variant: str) -> list[str]:
    """The variants that one names."""
    return variant.split("+")


def entry(paper: str, model: str, prompt_id: str, variant: str = "") -> dict[str, Any] | None:
    """What the manifest says of one shard, of several the last; None where one is lacking."""
    listed = manifest(paper)
    found = [listed.get(shard_name(model, prompt_id, one)) for one in layers(variant)]
    return found[-1] if all(found) else None


def files(paper: str, model: str, prompt_id: str, variant: str = "") -> dict[str, dict[str, Any]]:
    """The files that hold the answers of a model, by name, with their count and sha256."""
    listed = manifest(paper)
    names = [shard_name(model, prompt_id, one) for one in layers(variant)]
    return {name: {field: listed[name][field] for field in ("count", "sha256")} for name in names}


def shards(paper: str, prompt_id: str, variant: str = "") -> list[dict[str, Any]]:
    """The manifest's entries of one prompt and variant, one a model."""
    listed = manifest(paper).values()
    *newer, oldest = [
        {e["model"]: e for e in listed if (e["prompt_id"], e["variant"]) == (prompt_id, one)}
        for one in layers(variant)
    ]
    return [e for name, e in oldest.items() if all(name in one for one in newer)]


def seed_rule(paper: str, model: str, prompt_id: str, variant: str = "") -> int | None:
    """The seed rule of a shard (see `requests.seed_for`); None where it has not been recorded.

    Shards of before rule 2 do not say it: they follow rule 1.
    """
    listed = entry(paper, model, prompt_id, variant)
    return None if listed is None else listed.get("seed_rule", 1)


def item_ids(
    paper: str, prompt_id: str, variant: str = "", models: Iterable[str] | None = None
) -> set[str]:
    """The items that some shard of a prompt and variant holds (of one of `models`, if given)."""
    recorded = [entry["model"] for entry in shards(paper, prompt_id, variant)]
    chosen = [model for model in recorded if models is None or model in models]
    ids = set[str]()
    for model in chosen:
        sums = [one["sha256"] for one in files(paper, model, prompt_id, variant).values()]
        ids |= _ids(paper, model, prompt_id, variant, paths.data_dir(), *sums)
    return ids


@lru_cache(maxsize=256)
def _ids(paper: str, model: str, prompt_id: str, variant: str, *state: Any) -> frozenset[str]:
    """The items of a shard; `state` is the folder of all data and the sums of the shard's files."""
    return frozenset(row["item_id"] for row in read(paper, model, prompt_id, variant))


def read(paper: str, model: str, prompt_id: str, variant: str = "") -> Iterator[dict[str, Any]]:
    """Rows of a shard. Raises KatayoriError if it is absent, damaged, or not the file the manifest
    describes.
    """
    newest, *older = layers(variant)
    if older:
        rows = list(read(paper, model, prompt_id, newest))
        newer = {row["item_id"] for row in rows}
        rest = read(paper, model, prompt_id, "+".join(older))
        yield from [*rows, *(row for row in rest if row["item_id"] not in newer)]
        return
    path = shard_path(paper, model, prompt_id, variant)
    listed = entry(paper, model, prompt_id, variant)
    if listed is None or not path.exists():
        prompt = f"{paper}/{prompt_id}{'@' + variant if variant else ''}"
        raise UnavailableError(
            f"no recorded answers of {model} for {prompt};"
            f" recorded are: {', '.join(manifest(paper)) or 'none'}"
        )
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != listed["sha256"]:
        raise KatayoriError(
            f"{path.name} of {model} is damaged: sha256 {digest[:12]}…,"
            f" expected {listed['sha256'][:12]}…"
        )
    # Not splitlines: it also splits at U+2028 in a text.
    for line in gzip.decompress(data).decode().rstrip("\n").split("\n"):
        yield json.loads(line)


def by_request(
    paper: str, model: str, prompt_id: str, variant: str = ""
) -> dict[tuple[str, int], dict[str, Any]]:
    """Rows of a shard by item id and repetition."""
    return {
        (row["item_id"], row.get("repetition", 0)): row
        for row in read(paper, model, prompt_id, variant)
    }


def to_response(row: dict[str, Any]) -> Response:
    """A recorded row as the Response it was."""
    top = [(token, logprob) for token, logprob in row["top"]] if row.get("top") else None
    return Response(row["outcome"], row["text"], row["finish"], top, *row["tokens"])

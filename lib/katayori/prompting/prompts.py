"""Prompts as files: wording, version, settings, and the map from required element to the line that carries it."""

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.data.files import read_yaml
from katayori.errors import KatayoriError

#: What is asked for: an answer in words, or how likely given words are as the answer.
KINDS = ("chat", "likelihood")


@dataclass(frozen=True)
class Prompt:
    """One wording. `user` holds `{field}` places; `prefix`, if any, is the forced start of the assistant's turn.

    With a `follow_up` there are two turns of the user; between them stands `{reasoning}`. `given` names the places that
    hold what the same model said to an earlier prompt: place -> that prompt. `per` names the column a prompt is asked
    once each value of, such as `question_id`; without it, a prompt is asked of every item. `answer_at` says at which
    token of an output the probabilities of the answer are read: the `first`, or the `last_letter` (LJ-10). `only` are
    values that an item's columns must have to be asked: column -> value.

    A `chat` prompt is answered in words. A `likelihood` prompt is answered by nobody: how likely the model finds the
    texts of the item's columns `continuations` as its answer is what is asked (see `prompting.likelihood`).
    """

    id: str
    version: int
    paper: str
    language: str
    user: str
    system: str = ""
    prefix: str = ""
    follow_up: str = ""
    per: str = "item_id"
    answer_at: str = "first"
    only: dict[str, Any] = field(default_factory=dict)
    given: dict[str, "Prompt"] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    elements: tuple[dict[str, str], ...] = ()
    own_wording: bool = True
    kind: str = "chat"
    continuations: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """sha256 (16 hex digits) of everything a model sees plus the settings; version and notes do not count.

        Of a likelihood prompt its kind and the columns that are scored count, too.
        """
        seen = [
            self.system,
            self.user,
            self.prefix,
            self.settings,
            *([self.follow_up] if self.follow_up else []),
            *([self.kind, list(self.continuations)] if self.kind != "chat" else []),
        ]
        return hashlib.sha256(
            json.dumps(seen, sort_keys=True, ensure_ascii=False).encode()
        ).hexdigest()[:16]

    def messages(self, **fields: str) -> list[dict[str, str]]:
        """Chat messages with the places filled. An empty system text sends no system message (DE-7)."""

        def place(match: re.Match) -> str:
            return str(fields[match.group(1)]) if match.group(1) in fields else match.group(0)

        out = [{"role": "system", "content": self.system}] if self.system else []
        out.append({"role": "user", "content": re.sub(r"\{(\w+)\}", place, self.user)})
        if self.follow_up:
            out.append(
                {"role": "assistant", "content": str(fields.get("reasoning", "{reasoning}"))}
            )
            out.append({"role": "user", "content": self.follow_up})
        if self.prefix:
            out.append({"role": "assistant", "content": self.prefix})
        return out


def _places(prompt: Prompt) -> set[str]:
    """What an item must hold; with a second turn also the model's answer to the first."""
    return set(re.findall(r"\{(\w+)\}", prompt.user)) | (
        {"reasoning"} if prompt.follow_up else set()
    )


def load_prompts(paper: str, folder: str | Path = "") -> dict[str, Prompt]:
    """All prompts of a paper by id; `folder` (the PROMPTS= variable) replaces every wording by the user's.

    Raises KatayoriError for a missing folder or file, an unreadable file, or a wording without its question place.
    """
    base = Path(folder) if folder else paths.registry("prompts")
    found = sorted((base / paper).glob("*.yaml"))
    if not found:
        raise KatayoriError(
            f"no prompts for {paper}: {base.name}/{paper}/*.yaml is empty or absent"
        )
    prompts = {file.stem: _read(file, paper, own=not folder) for file in found}
    for name, prompt in prompts.items():
        if lost := sorted(set(prompt.given.values()) - set(prompts)):
            raise KatayoriError(
                f"prompt file {name}.yaml: given names {lost[0]}, which is no prompt of {paper}"
            )
        prompts[name] = replace(
            prompt, given={place: prompts[earlier] for place, earlier in prompt.given.items()}
        )
    ours = load_prompts(paper) if folder else {}
    if lost := sorted(set(ours) - set(prompts)):
        raise KatayoriError(
            f"{base.name}/{paper} lacks the prompt file(s) {', '.join(f'{p}.yaml' for p in lost)}"
        )
    for name, prompt in ours.items():
        if prompts[name].kind != prompt.kind:
            raise KatayoriError(
                f"prompt file {name}.yaml: its kind must be {prompt.kind}, not {prompts[name].kind}"
            )
        if missing := _places(prompt) - _places(prompts[name]):
            raise KatayoriError(
                f"prompt file {name}.yaml: the user text lacks the place {{{min(missing)}}}"
            )
    return prompts


def _read(file: Path, paper: str, *, own: bool) -> Prompt:
    raw = read_yaml(file, "prompt file")
    try:
        prompt = Prompt(**{**raw, "elements": tuple(raw.get("elements", ())), "own_wording": own})
    except (TypeError, AttributeError) as e:
        raise KatayoriError(f"prompt file {file.name}: {e}") from None
    problem = _wrong_kind(prompt)
    if problem:
        problem = f": {problem}"
    elif not all(
        isinstance(text, str)
        for text in (prompt.system, prompt.user, prompt.prefix, prompt.follow_up)
    ):
        problem = ": system, user, prefix and follow_up must be texts"
    elif not (isinstance(prompt.settings, dict) and isinstance(prompt.given, dict)):
        problem = ": settings and given must be mappings"
    elif prompt.id != file.stem or prompt.paper != paper:
        problem = f" says id {prompt.id!r}, paper {prompt.paper!r}"
    elif not _places(prompt):
        problem = ": the user text has no place to fill, such as {question}"
    if problem:
        raise KatayoriError(f"prompt file {file.name}{problem}")
    return replace(prompt, continuations=tuple(prompt.continuations))


def _wrong_kind(prompt: Prompt) -> str:
    """What is wrong with a prompt's kind and continuations; empty where nothing is."""
    columns = prompt.continuations
    if prompt.kind not in KINDS:
        return f"kind must be {' or '.join(KINDS)}, not {prompt.kind!r}"
    if not isinstance(columns, list | tuple) or not all(isinstance(c, str) and c for c in columns):
        return "continuations must be a list of column names"
    if prompt.kind == "chat":
        return "continuations belong to kind: likelihood" if columns else ""
    if not columns or len(set(columns)) < len(columns):
        return "a likelihood prompt needs continuations, a list of different column names"
    if unused := [n for n in ("prefix", "settings") if getattr(prompt, n)]:
        return f"a likelihood prompt takes no {unused[0]}: nothing is generated"
    return ""

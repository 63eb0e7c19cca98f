"""Prompts as files: wording, version, settings, and the map from required element to the line that
carries it.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from katayori import paths
from katayori.data.files import read_as
from katayori.errors import KatayoriError

#: What is asked for: an answer in words, or how likely given words are as the answer.
Kind = Literal["chat", "likelihood"]


@dataclass(frozen=True)
class Prompt:
    """One wording. `user` holds `{field}` places; `prefix`, if any, is the forced start of the
    assistant's turn.

    With a `follow_up` there are two turns of the user; between them stands `{reasoning}`. `given`
    names the places that hold what the same model said to an earlier prompt: place -> that prompt.
    `per` names the column a prompt is asked once each value of, such as `question_id`; without it,
    a prompt is asked of every item. `answer_at` says at which token of an output the probabilities
    of the answer are read: the `first`, or the `last_letter` (LJ-10). `only` are values that an
    item's columns must have to be asked: column -> value.

    A `chat` prompt is answered in words. A `likelihood` prompt is answered by nobody: how likely
    the model finds the texts of the item's columns `continuations` as its answer is what is asked
    (see `frames.scores_frame`).
    """

    example: ClassVar[str] = "data/prompts"

    id: str
    version: int | float | str  # only shown
    paper: str
    language: str
    user: str
    system: str = ""
    prefix: str = ""
    follow_up: str = ""
    per: str = "item_id"
    answer_at: str = "first"
    only: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    elements: list[dict[str, Any]] = field(default_factory=list)
    kind: Kind = "chat"
    continuations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Continuations and what is generated exclude each other."""
        if self.kind == "chat":
            if self.continuations:
                raise KatayoriError("continuations belong to kind: likelihood")
            return
        names = self.continuations
        if not (names and all(names)) or len(set(names)) < len(names):
            message = "a likelihood prompt needs continuations, a list of different column names"
            raise KatayoriError(message)
        if unused := [name for name in ("prefix", "settings") if getattr(self, name)]:
            raise KatayoriError(f"a likelihood prompt takes no {unused[0]}: nothing is generated")

    @property
    def hash(self) -> str:
        """sha256 (16 hex digits) of everything a model sees plus the settings; version and notes do
        not count.

        Of a likelihood prompt its kind and the columns that are scored count, too.
        """
        seen: list[Any] = [self.system, self.user, self.prefix, self.settings]
        if self.follow_up:
            seen.append(self.follow_up)
        if self.kind != "chat":
            seen += [self.kind, self.continuations]
        text = json.dumps(seen, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def messages(self, **fields: str) -> list[dict[str, str]]:
        """Chat messages with the places filled. An empty system text sends no system message
        (DE-7).
        """

        def place(match: re.Match) -> str:
            return str(fields.get(match[1], match[0]))

        out = []
        if self.system:
            out.append({"role": "system", "content": self.system})
        out.append({"role": "user", "content": re.sub(r"\{(\w+)\}", place, self.user)})
        if self.follow_up:
            reasoning = str(fields.get("reasoning", "{reasoning}"))
            out.append({"role": "assistant", "content": reasoning})
            out.append({"role": "user", "content": self.follow_up})
        if self.prefix:
            out.append({"role": "assistant", "content": self.prefix})
        return out


def places(prompt: Prompt) -> set[str]:
    """What an item must hold; with a second turn also the model's answer to the first."""
    places = set(re.findall(r"\{(\w+)\}", prompt.user))
    return places | {"reasoning"} if prompt.follow_up else places


def load_prompts(paper: str, folder: str | Path = "") -> dict[str, Prompt]:
    """All prompts of a paper by id; `folder` (the PROMPTS= variable) replaces every wording by the
    user's.

    Raises KatayoriError for a missing folder or file, an unreadable file, or a wording without its
    question place.
    """
    base = Path(folder) if folder else paths.registry("prompts")
    files = sorted((base / paper).glob("*.yaml"))
    if not files:
        raise KatayoriError(
            f"no prompts for {paper}: {base.name}/{paper}/*.yaml is empty or absent"
        )
    prompts = {file.stem: _read(file, paper) for file in files}
    for name, prompt in prompts.items():
        if lost := [one for one in prompt.given.values() if one not in list(prompts)]:
            raise KatayoriError(
                f"prompt file {name}.yaml: given names {lost[0]}, which is no prompt of {paper}"
            )
        earlier = {place: prompts[prompt_id] for place, prompt_id in prompt.given.items()}
        prompts[name] = replace(prompt, given=earlier)
    ours = load_prompts(paper) if folder else {}
    if absent := sorted(set(ours) - set(prompts)):
        raise KatayoriError(
            f"{base.name}/{paper} lacks the prompt file(s) {', '.join(f'{p}.yaml' for p in absent)}"
        )
    for name, prompt in ours.items():
        if prompts[name].kind != prompt.kind:
            raise KatayoriError(
                f"prompt file {name}.yaml: its kind must be {prompt.kind}, not {prompts[name].kind}"
            )
        if missing := places(prompt) - places(prompts[name]):
            raise KatayoriError(
                f"prompt file {name}.yaml: the user text lacks the place {{{min(missing)}}}"
            )
    return prompts


def _read(file: Path, paper: str) -> Prompt:
    """A checked prompt; `given` still names its earlier ones."""
    prompt = read_as(Prompt, file, "prompt file")
    if prompt.id != file.stem or prompt.paper != paper:
        raise KatayoriError(
            f"prompt file {file.name} says id {prompt.id!r}, paper {prompt.paper!r}"
        )
    if not places(prompt):
        raise KatayoriError(
            f"prompt file {file.name}: the user text has no place to fill, such as {{question}}"
        )
    return prompt

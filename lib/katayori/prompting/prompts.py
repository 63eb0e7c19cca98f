"""Prompts as files: wording, version, settings, and the map from required element to the line that carries it."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError


@dataclass(frozen=True)
class Prompt:
    """One wording. `user` holds `{field}` places; `prefix`, if any, is the forced start of the assistant's turn."""

    id: str
    version: int
    paper: str
    language: str
    user: str
    system: str = ""
    prefix: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    elements: tuple[dict[str, str], ...] = ()
    own_wording: bool = True

    @property
    def hash(self) -> str:
        """sha256 (16 hex digits) of everything a model sees plus the settings; version and notes do not count."""
        seen = [self.system, self.user, self.prefix, self.settings]
        return hashlib.sha256(json.dumps(seen, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]

    def messages(self, **fields: str) -> list[dict[str, str]]:
        """Chat messages with the places filled. An empty system text sends no system message (DE-7)."""

        def place(match: re.Match) -> str:
            return str(fields[match.group(1)]) if match.group(1) in fields else match.group(0)

        out = [{"role": "system", "content": self.system}] if self.system else []
        out.append({"role": "user", "content": re.sub(r"\{(\w+)\}", place, self.user)})
        if self.prefix:
            out.append({"role": "assistant", "content": self.prefix})
        return out


def _places(prompt: Prompt) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", prompt.user))


def load_prompts(paper: str, folder: str | Path = "") -> dict[str, Prompt]:
    """All prompts of a paper by id; `folder` (the PROMPTS= variable) replaces every wording by the user's.

    Raises KatayoriError for a missing folder or file, an unreadable file, or a wording without its question place.
    """
    import yaml

    base = Path(folder) if folder else paths.data_dir() / "prompts"
    files = sorted((base / paper).glob("*.yaml"))
    if not files:
        raise KatayoriError(f"no prompts for {paper}: {base.name}/{paper}/*.yaml is empty or absent")
    prompts = {}
    for file in files:
        try:
            raw = yaml.safe_load(file.read_text(encoding="utf-8"))
            prompt = Prompt(**{**raw, "elements": tuple(raw.get("elements", ())), "own_wording": not folder})
            if not all(isinstance(text, str) for text in (prompt.system, prompt.user, prompt.prefix)):
                raise TypeError("system, user and prefix must be texts")
            if not isinstance(prompt.settings, dict):
                raise TypeError("settings must be a mapping")
        except (yaml.YAMLError, TypeError, AttributeError, UnicodeDecodeError) as e:
            raise KatayoriError(f"prompt file {file.name}: {str(e).splitlines()[0]}") from None
        if prompt.id != file.stem or prompt.paper != paper:
            raise KatayoriError(f"prompt file {file.name} says id {prompt.id!r}, paper {prompt.paper!r}")
        if not _places(prompt):
            raise KatayoriError(f"prompt file {file.name}: the user text has no place to fill, such as {{question}}")
        prompts[prompt.id] = prompt
    if folder:
        ours = load_prompts(paper)
        lost = sorted(set(ours) - set(prompts))
        if lost:
            raise KatayoriError(f"{base.name}/{paper} lacks the prompt file(s) {', '.join(f'{p}.yaml' for p in lost)}")
        for name, prompt in ours.items():
            if missing := _places(prompt) - _places(prompts[name]):
                raise KatayoriError(f"prompt file {name}.yaml: the user text lacks the place {{{min(missing)}}}")
    return prompts

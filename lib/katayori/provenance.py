"""What a run was made of, without anything that says who or where, and what came back.

No paths, no environment, no keys.
"""

import json
import os
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from katayori import __version__
from katayori.errors import KatayoriError
from katayori.paths import root

#: The packages of the design card, in its order. `environment` reads them before anything is
#: installed: this module imports the standard library only.
CARD = (
    *("jupyterlab", "papermill", "pandas", "seaborn", "scipy", "statsmodels", "pingouin"),
    *("krippendorff", "openai", "ipywidgets", "nbval"),
)
#: These eleven, then ours and the two numeric ones beneath them.
PACKAGES = (*CARD, "katayori", "matplotlib", "numpy")
#: How many causes and texts are kept, and how long a text may be.
MAX_TEXT, MAX_TEXTS = 80, 3
PROMPT = ["model", "source", "prompt_id"]
#: Of a frame of answers; scored texts have no answer, and not all answers say when they came.
#: How the note of an answer begins that was asked in other settings than its prompt's.
OTHERWISE = "asked without"
READ = [*PROMPT, "outcome", "text", "note", "answer", "created"]


def collect(*, parameters: Any = (), answers_by_source: Any = (), **about: Any) -> dict[str, Any]:
    """The provenance record: JSON-ready; git fields are null outside a git checkout.

    Args:
        parameters: of the notebook; an absolute path shrinks to its last part. answers_by_source:
            number of answers by source.
        about: datasets (digest by data set), models (a dict a model), prompts (hash by prompt) and
            read (what was read of each model and prompt, `Study.reads`).

    Values of key-like environment variables become `***`.
    """
    record = {
        "parameters": {name: without_folder(value) for name, value in dict(parameters).items()},
        "git": _git(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in PACKAGES},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "answers": dict(answers_by_source),
    }
    empty: dict[str, Any] = {"datasets": {}, "models": [], "prompts": {}, "read": []}
    return without_secrets(record | empty | about)


def without_folder(value: Any) -> Any:
    """The last part of what is a path on some machine; anything else as it is."""
    is_path = isinstance(value, str) and re.match(r"[/~\\]|.:[/\\]", value)
    return re.split(r"[/\\]", value.rstrip("/\\"))[-1] if is_path else value


def without_secrets(record: Any) -> Any:
    """A JSON-ready record in which values of key-like environment variables read `***`."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=lambda one: one.item())
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search("KEY|TOKEN|SECRET|PASSW|CREDENTIAL", name.upper()):
            text = text.replace(json.dumps(value, ensure_ascii=False)[1:-1], "***")
    return json.loads(text)


def version(name: str) -> str | None:
    """The installed version of a package, None if it is absent."""
    if name == "katayori":  # a path entry in .venv, not a package
        return __version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, Any]:
    top = _ask_git("rev-parse", "--show-toplevel")
    # Also null where ours is unpacked inside somebody else's checkout.
    if not top or Path(top).resolve() != root().resolve():
        return {"commit": None, "dirty": None}
    dirty = bool(_ask_git("status", "--porcelain"))
    return {"commit": _ask_git("rev-parse", "HEAD"), "dirty": dirty}


def _ask_git(*words: str) -> str:
    """What git says in our folder; nothing without git on this machine."""
    try:
        command = ["git", "-C", str(root()), *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except (OSError, KatayoriError):  # no git on this machine, or no checkout
        return ""


def outcomes(*frames: Any) -> dict[str, list[dict[str, Any]]]:
    """Counts of outcomes, and the commonest texts that were no valid answer, of frames of answers.

    Simulated answers are left out. Returns `prompts`: model, source, prompt_id, asked, valid,
    commonest (the readable answer that is given most) and its share of these, outcomes (a count
    each), the `MAX_TEXTS` commonest causes of errors (a count each), how answers were asked
    otherwise than their prompt says (a count each) and the days of the first and the last answer
    (empty where unknown); and `invalid`: model, outcome, text (cut
    to `MAX_TEXT` characters; of an error its cause) and times, at most `MAX_TEXTS` a model.
    """
    import pandas as pd

    read = [frame.reindex(columns=READ).astype(object).fillna({"note": ""}) for frame in frames]
    answers = pd.concat([pd.DataFrame(columns=READ), *read])
    answers = answers[answers["source"] != "simulated"]
    lost = answers[answers["outcome"] != "ok"]
    return {
        "prompts": [
            dict(zip(PROMPT, key, strict=True)) | _of_prompt(part)
            for key, part in answers.groupby(PROMPT, sort=False)
        ],
        "invalid": [
            {"model": model, "outcome": outcome, "text": text, "times": n}
            for model, part in lost.groupby("model", sort=False)
            for (outcome, text), n in Counter(_invalid(part)).most_common(MAX_TEXTS)
        ],
    }


def _invalid(answers: Any) -> Iterator[tuple[str, str]]:
    """The outcome and the text of each, cut; of an error the words before the first colon, as what
    follows may name a server.
    """
    for outcome, text, note in answers[["outcome", "text", "note"]].astype(str).to_numpy():
        if outcome == "error":
            yield outcome, note.partition(":")[0][:MAX_TEXT]
        else:
            yield outcome, text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _of_prompt(answers: Any) -> dict[str, Any]:
    counts = Counter(answers["outcome"])
    read = Counter(answers.loc[answers["outcome"] == "ok", "answer"].dropna().astype(str))
    answer, times = next(iter(read.most_common(1)), ("", 0))
    causes = Counter(cause for _, cause in _invalid(answers[answers["outcome"] == "error"]))
    notes = (note.partition("; ")[0] for note in answers["note"].astype(str))
    otherwise = Counter(note for note in notes if note.startswith(OTHERWISE))
    days = [f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in answers["created"] if at > 0]
    return {
        "asked": counts.total(),
        "valid": counts["ok"],
        "outcomes": dict(sorted(counts.items())),
        "first": min(days, default=""),
        "last": max(days, default=""),
        "commonest": answer[:MAX_TEXT],
        "commonest_share": times / read.total() if read else 0.0,
        "causes": dict(causes.most_common(MAX_TEXTS)),
        "otherwise": dict(otherwise.most_common(MAX_TEXTS)),
    }

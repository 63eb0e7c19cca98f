"""What a run was made of (X-6), without anything that says who or where.

No paths, no environment, no keys.
"""

import json
import os
import platform
import re
import subprocess
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
    "jupyterlab",
    "papermill",
    "pandas",
    "seaborn",
    "scipy",
    "statsmodels",
    "pingouin",
    "krippendorff",
    "openai",
    "ipywidgets",
    "nbval",
)
#: These eleven, then ours and the two numeric ones beneath them.
PACKAGES = (*CARD, "katayori", "matplotlib", "numpy")


def collect(*, parameters: Any = (), answers_by_source: Any = (), **about: Any) -> dict[str, Any]:
    """The provenance record (X-6): JSON-ready; git fields are null outside a git checkout.

    Args:
        parameters: of the notebook; an absolute path shrinks to its last part. answers_by_source:
            number of answers by source.
        about: datasets (digest by data set), models (a dict a model), prompts (hash by prompt) and
            read (what was read of each model and prompt, `Study.reads`).

    Values of key-like environment variables become `***`.
    """
    record = {
        "parameters": {name: _without_folder(value) for name, value in dict(parameters).items()},
        "git": _git(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in PACKAGES},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "answers": dict(answers_by_source),
    }
    empty: dict[str, Any] = {"datasets": {}, "models": [], "prompts": {}, "read": []}
    return without_secrets(record | empty | about)


def _without_folder(value: Any) -> Any:
    """The last part of an absolute path; anything else as it is."""
    return Path(value).name if isinstance(value, str) and os.path.isabs(value) else value


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

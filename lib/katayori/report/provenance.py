"""What a run was made of (X-6), without anything that says who or where: no paths, no environment, no keys."""

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
from katayori.report.tables import unwrap

#: The design card's eleven, then ours and the two numeric ones beneath them.
PACKAGES = "jupyterlab papermill pandas seaborn scipy statsmodels pingouin krippendorff openai ipywidgets nbval".split()
PACKAGES += ["katayori", "matplotlib", "numpy"]


def collect(
    *,
    parameters: Any = (),
    datasets: Any = (),
    models: Any = (),
    prompts: Any = (),
    answers_by_source: Any = (),
) -> dict[str, Any]:
    """The provenance record (X-6): JSON-ready; git fields are null outside a git checkout.

    Parameters of the notebook; digest by data set; a dict a model; hash by prompt; number of answers by source.

    Absolute paths among the parameters shrink to their last part, values of key-like environment variables to `***`.
    """
    given = {
        k: Path(v).name if isinstance(v, str) and os.path.isabs(v) else v
        for k, v in dict(parameters).items()
    }
    record = {
        "parameters": given,
        "git": _git(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in PACKAGES},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **{"datasets": dict(datasets), "models": list(models), "prompts": dict(prompts)},
        "answers": dict(answers_by_source),
    }
    return without_secrets(record)


def without_secrets(record: Any) -> Any:
    """A JSON-ready record in which values of key-like environment variables read `***`."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=unwrap)
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search("KEY|TOKEN|SECRET|PASSW|CREDENTIAL", name.upper()):
            text = text.replace(json.dumps(value, ensure_ascii=False)[1:-1], "***")
    return json.loads(text)


def version(name: str) -> str | None:
    """The installed version of a package, None if it is absent."""
    try:
        return (
            __version__ if name == "katayori" else metadata.version(name)
        )  # a path entry in .venv, not a package
    except metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, Any]:
    def ask(*words: str) -> str:
        try:
            return subprocess.run(
                ["git", "-C", str(root()), *words], capture_output=True, text=True
            ).stdout.strip()
        except (OSError, KatayoriError):  # no git on this machine, or no checkout
            return ""

    top = ask("rev-parse", "--show-toplevel")
    if (
        not top or Path(top).resolve() != root().resolve()
    ):  # unpacked inside somebody else's checkout
        return {"commit": None, "dirty": None}
    return {"commit": ask("rev-parse", "HEAD"), "dirty": bool(ask("status", "--porcelain"))}

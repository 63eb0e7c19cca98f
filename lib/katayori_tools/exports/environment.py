"""The environment that writes and checks exports: in the cache, from a lock of its own.

Of the packages in it nothing is imported here; `worker` runs inside. The schema of Every Eval Ever
is read as data from its pinned wheel.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import wheels
from katayori_tools.environment import export_lock_file, install_apart, made_once

EEE_WHEEL = (
    "every-eval-ever==0.3.0"
    " --hash=sha256:564b8bc624c1f822f749a769dc69dc058a736e83d920cbeb147c3a30d3152317"
)
WITHOUT = "Without it: make export ARGS=--unchecked"
WORKER = Path(__file__).with_name("worker.py")


def folder() -> Path:
    """Where the environment of this lock lives; another lock has another folder."""
    parts = [export_lock_file().read_bytes(), EEE_WHEEL.encode()]
    digits = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
    return paths.cache_dir() / "environments" / f"export-{digits}"


def is_ready() -> bool:
    """Whether it has been made."""
    return (folder() / "ready").is_file()


def ensure() -> Path:
    """The environment's folder, made on first use (about 20 seconds).

    Two processes that come at once wait for each other. KatayoriError where no registry can be
    reached.
    """
    return made_once(folder(), _make)


def _make(made: Path) -> None:
    print("making the environment of exports (once; about 20 seconds) ...", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=made.parent, prefix="part-") as part:
        wheels.download([EEE_WHEEL], Path(part))
        install_apart(made / "env", Path(sys.executable), export_lock_file(), WITHOUT)
        for wheel in Path(part).glob("*.whl"):
            shutil.move(wheel, made / wheel.name)


def call(step: str, **task: Any) -> Any:
    """What a step of `worker` returns. KatayoriError, with its last line, where it fails."""
    made = ensure()
    wheel = next(made.glob("*.whl"))
    order = json.dumps({"step": step, "wheel": str(wheel), **task})
    # Nothing of this process's environment is needed, and no network.
    quiet = {"PATH": os.environ.get("PATH", ""), "PYTHONNOUSERSITE": "1", "HOME": str(made)}
    done = subprocess.run(
        [str(made / "env" / "bin" / "python"), str(WORKER)],
        input=order,
        capture_output=True,
        text=True,
        env=quiet,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KatayoriError(f"checking the export ({step}) failed: {last}")
    return json.loads(done.stdout.splitlines()[-1])

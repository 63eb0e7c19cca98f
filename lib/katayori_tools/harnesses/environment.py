"""The environment of both harnesses: in the cache, from `lib/requirements-harness.lock`.

It holds what the library needs, too, and finds the library itself in this checkout.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools.environment import harness_lock_file, install_apart, made_once

#: What a harness may not do: reach a hub, report its use.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
#: What a harness draws around its messages.
FRAME = " \t│╭╮╰╯─"


def folder() -> Path:
    """Where the environment of this lock lives; another lock has another folder."""
    digits = paths.sha256(harness_lock_file())[:12]
    return paths.cache_dir() / "environments" / f"harness-{digits}"


def is_ready() -> bool:
    """Whether it has been made."""
    return (folder() / "ready").is_file()


def ensure() -> Path:
    """The environment's folder, made on first use (about a minute).

    Two processes that come at once wait for each other. KatayoriError where no registry can be
    reached.
    """
    return made_once(folder(), _make)


def _make(made: Path) -> None:
    told = "making the environment of the harnesses (once; about a minute, 0.8 GB) ..."
    print(told, file=sys.stderr, flush=True)
    failing = "Without it: make harness ARGS=--unchecked"
    install_apart(made / "env", Path(sys.executable), harness_lock_file(), failing)


def run(command: str, *arguments: str | Path, cwd: Path, more: Mapping[str, str]) -> None:
    """Runs a command of the environment, told to stay offline, with a home of its own.

    What it prints is kept in `cwd`. Raises KatayoriError with its last line, where it fails.
    """
    program = ensure() / "env" / "bin" / command
    library = {"PYTHONPATH": str(paths.root() / "lib"), "PATH": os.environ.get("PATH", "")}
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [str(program), *map(str, arguments)],
            cwd=cwd,
            env={**OFFLINE, **library, **more, "HOME": home},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    printed = cwd / f"{command}.txt"
    printed.write_text(done.stdout, encoding="utf-8", errors="backslashreplace")
    if done.returncode:
        lines = [line.strip(FRAME) for line in done.stdout.splitlines() if line.strip(FRAME)]
        last = (lines or ["no message"])[-1]
        raise KatayoriError(f"{command} ended with {done.returncode}: {last} (all in {printed})")

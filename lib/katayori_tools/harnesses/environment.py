"""What runs in the environment of both harnesses, `environment.apart`.

It holds what the library needs, too, and finds the library itself in this checkout.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools.environment import apart

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


def run(command: str, *arguments: str | Path, cwd: Path, more: Mapping[str, str]) -> None:
    """Runs a command of the environment, told to stay offline, with a home of its own.

    What it prints is kept in `cwd`. Raises KatayoriError with its last line, where it fails.
    """
    program = apart("harness") / command
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

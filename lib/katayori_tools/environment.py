"""The environment: `.venv` from the hash lock, and `environment.yml` derived from the same lock.

`python -m katayori_tools.environment [setup | setup-site | lock]` runs before anything is
installed, so this module needs the standard library only (`packaging` is imported where the
environment exists).

Two extras have locks of their own and are installed on first use. `site` adds what `make site`
needs to the first lock and changes nothing in it; `export`, what `make export` needs, has an
environment of its own (`exports.environment`). So have the harnesses of `make harness`
(`harnesses.environment`), which `requirements-harness.in` names.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError
from katayori.provenance import CARD

_PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)(?:\s*;\s*([^\\]+?))?\s*\\?$", re.M)
LOCK_OPTIONS = (
    "--universal",
    "--python-version",
    "3.11",
    "--generate-hashes",
    "--no-header",
    "--no-emit-index-url",
    "-q",
)
#: The extras that are installed on first use: into `.venv`, and elsewhere.
SITE, EXPORT = "site", "export"
_HEAD = """\
# Made from lib/requirements.lock by `make lock`. The lock is what is tested;
# this conda form is for convenience.
name: katayori
channels:
  - conda-forge
dependencies:
"""
_ON_DEBIAN = "on Debian: apt-get install python3-venv"


def lock_file() -> Path:
    return paths.root() / "lib" / "requirements.lock"


def site_lock_file() -> Path:
    """What the pages of a run need beside the first lock."""
    return paths.root() / "lib" / "requirements-site.lock"


def export_lock_file() -> Path:
    """What writes and checks exports, in an environment of its own."""
    return paths.root() / "lib" / "requirements-export.lock"


def harness_lock_file() -> Path:
    """Both harnesses and what the library needs beside them, in an environment of its own."""
    return paths.root() / "lib" / "requirements-harness.lock"


def pyproject_file() -> Path:
    return paths.root() / "lib" / "pyproject.toml"


def extras() -> list[str]:
    """The extras of the first lock: all but `site` and `export`."""
    return [name for name in _optional() if name not in (SITE, EXPORT)]


def _optional() -> dict[str, list[str]]:
    project = tomllib.loads(pyproject_file().read_text())["project"]
    return project["optional-dependencies"]


def locked(python: str | None = None, lock: Path | None = None) -> dict[str, str]:
    """Name and exact version of every locked package that applies to this machine.

    Or to a Python, such as "3.11"; of another lock where one is named.
    """
    from packaging.markers import Marker

    env = {"python_version": python, "python_full_version": f"{python}.99"} if python else {}
    versions = {}
    for name, version, marker in _PIN.findall((lock or lock_file()).read_text()):
        if not marker or Marker(marker).evaluate(env):
            versions[name] = version
    return versions


def direct() -> list[str]:
    """The package names `pyproject.toml` asks for: the card's, then its order.

    Extras are included, but for `site` and `export`.
    """
    project = tomllib.loads(pyproject_file().read_text())["project"]
    wanted = [project["dependencies"], *(_optional()[extra] for extra in extras())]
    names = [re.split(r"[\s<>=!~;\[]", one, maxsplit=1)[0].lower() for one in chain(*wanted)]
    return list(dict.fromkeys([*CARD, *(name for name in names if name != project["name"])]))


def conda_yaml() -> str:
    """The text `environment.yml` must have: the card's packages by conda, the others by pip."""
    pins, names = locked("3.11"), direct()
    conda = "".join(f"  - {name}={pins[name]}\n" for name in CARD)
    pip = "".join(f"      - {name}=={pins[name]}\n" for name in names if name not in CARD)
    return f"{_HEAD}  - python=3.11\n{conda}  - pip\n  - pip:\n{pip}      - -e ./lib\n"


def _run(*command: str | Path, what: str) -> None:
    if subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL).returncode:
        raise KatayoriError(
            f"{what} failed (the lines above say why); is a package registry reachable?"
        )


def find_uv(venv: Path) -> str | None:
    """uv from PATH or from `venv`, or None."""
    return shutil.which("uv") or shutil.which("uv", path=str(venv / "bin"))


def _uv(venv: Path) -> str | None:
    """`find_uv`; where there is none, uv is fetched into `venv` if that has pip."""
    python = venv / "bin" / "python"
    if not find_uv(venv) and python.exists():
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "uv"], capture_output=True)
    return find_uv(venv)


def setup() -> None:
    """Makes or mends `.venv` so that it holds the lock; nothing to do if its stamp says so.

    KatayoriError where Python's venv module or the registry is missing.
    """
    venv = paths.root() / ".venv"
    python, stamp = venv / "bin" / "python", venv / "katayori.stamp"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    parts = [lock_file().read_bytes(), pyproject_file().read_bytes(), version.encode()]
    want = hashlib.sha256(b"\0".join(parts)).hexdigest()
    if python.exists() and stamp.exists() and stamp.read_text() == want:
        return
    print(
        "setting up .venv from lib/requirements.lock (once; about a minute) ...",
        file=sys.stderr,
        flush=True,
    )
    stamp.unlink(missing_ok=True)
    usable = python.exists() and (venv / "lib" / f"python{version}").exists()
    if not usable and venv.exists():
        shutil.rmtree(venv)
    uv = _uv(venv)
    if not usable and uv:
        _run(uv, "venv", "-q", "--python", sys.executable, venv, what="making .venv")
    elif not uv:  # also gives pip to a venv that has none
        _run(sys.executable, "-m", "venv", venv, what=f"making .venv ({_ON_DEBIAN})")
        uv = _uv(venv)
    _install(python, uv, lock_file())
    # A path file instead of an editable install: nothing to build, nothing outside the lock.
    site = venv / "lib" / f"python{version}" / "site-packages"
    (site / "katayori.pth").write_text(os.path.relpath(lock_file().parent, site) + "\n")
    stamp.write_text(want)
    print(f"ready ({'uv' if uv else 'pip'})", file=sys.stderr)


def _install(python: Path, uv: str | None, lock: Path) -> None:
    """Installs what a lock names into the environment of a Python, every file checked by hash."""
    pip: list[str | Path] = [python, "-m", "pip", "install", "-q"]
    if uv:
        pip = [uv, "pip", "install", "--python", python]
    _run(*pip, "-q", "--require-hashes", "-r", lock, what="installing")


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder of an environment of its own, which `make` fills on first use.

    Two processes that come at once wait for each other; what was stopped half way is made anew.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "busy").open("w") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        if not (folder / "ready").is_file():
            make(folder)
            (folder / "ready").touch()
    return folder


def install_apart(env: Path, base: Path, lock: Path, failing: str) -> None:
    """Makes an environment of its own with everything a lock names, every file checked by hash.

    Args:
        env: its folder, made anew. base: the Python it runs on. lock: the file.
        failing: what can be done without it, for the message.

    Raises:
        KatayoriError: it cannot be made.
    """
    python = env / "bin" / "python"
    uv = find_uv(paths.root() / ".venv")
    shutil.rmtree(env, ignore_errors=True)
    if uv:
        _run_apart([uv, "venv", "-q", "--python", str(base), str(env)], failing)
        install = [uv, "pip", "install", "-q", "--python", str(python)]
    else:
        _run_apart([str(base), "-m", "venv", str(env)], failing)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    _run_apart([*install, "--require-hashes", "-r", str(lock)], failing)


def _run_apart(command: list[str], failing: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        cause = f"an environment of its own could not be made ({error}). {failing}"
        raise KatayoriError(cause) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KatayoriError(
            f"an environment of its own could not be made ({last}); is a package registry"
            f" reachable? {failing}"
        )


def setup_site() -> None:
    """Adds to `.venv` what pages need; nothing to do if its stamp says so.

    Two processes that come at once wait for each other. KatayoriError where the registry cannot be
    reached.
    """
    venv = paths.root() / ".venv"
    stamp = venv / "katayori-site.stamp"
    parts = [site_lock_file().read_bytes(), lock_file().read_bytes()]
    want = hashlib.sha256(b"\0".join(parts)).hexdigest()
    with (venv / "katayori-site.busy").open("w") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == want:
            return
        told = "adding the pages' tools from lib/requirements-site.lock (once; some seconds) ..."
        print(told, file=sys.stderr, flush=True)
        _install(venv / "bin" / "python", _uv(venv), site_lock_file())
        stamp.write_text(want)


def lock() -> None:
    """Resolves `pyproject.toml` anew into all locks, and writes `environment.yml`."""
    uv = _uv(paths.root() / ".venv")
    if not uv:
        raise KatayoriError("`make lock` needs uv; install it (pip install uv) and call again")
    resolve = (uv, "pip", "compile", *LOCK_OPTIONS)
    named = [word for extra in extras() for word in ("--extra", extra)]
    _run(*resolve, pyproject_file(), *named, "-o", lock_file(), what="resolving")
    beside = ("--extra", SITE, "--constraint", lock_file(), "-o", site_lock_file())
    _run(*resolve, pyproject_file(), *beside, what="resolving the pages' tools")
    of_library = tomllib.loads(pyproject_file().read_text())["project"]["dependencies"]
    asked = harness_lock_file().with_suffix(".in").read_text().splitlines()
    _lock_apart(resolve, _optional()[EXPORT], export_lock_file(), "what exports need")
    _lock_apart(resolve, [*asked, *of_library], harness_lock_file(), "the harnesses")
    (paths.root() / "environment.yml").write_text(conda_yaml())


def _lock_apart(resolve: tuple[str, ...], wanted: list[str], lock: Path, what: str) -> None:
    """Resolves packages into a lock of their own, without the first one."""
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "wanted.in"
        names.write_text("\n".join(wanted) + "\n")
        _run(*resolve, "--no-annotate", names, "-o", lock, what=f"resolving {what}")


if __name__ == "__main__":
    steps = {"setup": setup, "setup-site": setup_site, "lock": lock}
    try:
        steps[sys.argv[1]]()
    except KatayoriError as error:
        print(f"katayori: {error}", file=sys.stderr)
        sys.exit(2)

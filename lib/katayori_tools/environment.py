"""The environments, each from a lock with hashes, and the versions of `environment.yml`.

`python -m katayori_tools.environment [setup | setup-site | lock]` runs before anything is
installed, so this module needs the standard library only (`packaging` is imported where the
environment exists).

`.venv` holds `lib/requirements.lock`, and from the first `make site` on what its pages need. What
the tests of `make export` and `make harness` and the vLLM engine need does not fit beside it: each
has an environment of its own in the cache (`apart`).
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError

PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)(?:\s*;\s*([^\\]+?))?\s*\\?$", re.M)
PROJECT = "pyproject.toml"  # beside the locks
LOCKED = "--universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url -q"


def lock_file(name: str = "") -> Path:
    """The first lock, or that of `site`, `export` or `harness`."""
    return paths.root() / "lib" / f"requirements{name and '-'}{name}.lock"


def locked(python: str | None = None, name: str = "") -> dict[str, str]:
    """Name and exact version of every locked package that applies to this machine.

    Or to a Python, such as "3.11"; of another lock where one is named.
    """
    from packaging.markers import Marker

    env = {"python_version": python, "python_full_version": f"{python}.99"} if python else {}
    pins = PIN.findall(lock_file(name).read_text())
    return {one: version for one, version, mark in pins if not mark or Marker(mark).evaluate(env)}


def conda_yaml() -> str:
    """The text of `environment.yml` with the versions of the lock; its names are kept by hand."""
    pins = locked("3.11")
    text = (paths.root() / "environment.yml").read_text()
    version = re.compile(r"(?<=- )([a-z0-9-]+)(==?)(.+)")
    return version.sub(lambda one: f"{one[1]}{one[2]}{pins.get(one[1], one[3])}", text)


def _run(*command: str | Path, what: str) -> None:
    words = list(map(str, command))
    # It holds the lock of `_to_make`, too: who is killed leaves no installer beside the next one.
    if subprocess.run(words, stdin=subprocess.DEVNULL, close_fds=False).returncode:
        raise KatayoriError(
            f"{what} failed (the lines above say why): is a package registry reachable, and can"
            " this folder and the cache (UV_CACHE_DIR, PIP_CACHE_DIR) be written?"
        )


def find_uv(*, fetch: bool = False) -> str | None:
    """uv from PATH or from `.venv`, or None; `fetch` puts it into `.venv`, if that has pip."""
    programs = paths.root() / ".venv" / "bin"
    found = shutil.which("uv") or shutil.which("uv", path=str(programs))
    if found or not fetch or not (programs / "pip").exists():
        return found
    pip = [str(programs / "pip"), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "uv"], capture_output=True)
    return shutil.which("uv", path=str(programs))


def _make_venv(folder: Path, what: str) -> None:
    if uv := find_uv():
        _run(uv, "venv", "-q", "--python", sys.executable, folder, what=what)
    else:
        on_debian = "on Debian: apt-get install python3-venv"
        _run(sys.executable, "-m", "venv", folder, what=f"{what} ({on_debian})")


def _install(venv: Path, lock: Path, what: str = "installing") -> None:
    """Installs what a lock names into an environment, every file checked by hash."""
    uv, python = find_uv(), str(venv / "bin" / "python")
    pip = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    _run(*pip, "-q", "--require-hashes", "-r", lock, what=what)


def setup() -> None:
    """Makes or mends `.venv` so that it holds the lock; nothing to do if its stamp says so.

    KatayoriError where Python's venv module or the registry is missing.
    """
    venv = paths.root() / ".venv"
    python, stamp = venv / "bin" / "python", venv / "katayori.stamp"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    want = version + paths.sha256(lock_file()) + paths.sha256(lock_file().with_name(PROJECT))
    if python.exists() and stamp.exists() and stamp.read_text() == want:
        return
    told = "setting up .venv from lib/requirements.lock (once; about a minute) ..."
    print(told, file=sys.stderr, flush=True)
    stamp.unlink(missing_ok=True)
    usable = python.exists() and (venv / "lib" / f"python{version}").exists()
    if not usable and venv.exists():
        shutil.rmtree(venv)
    if not usable or not find_uv(fetch=True):  # also gives pip to a venv that has none
        _make_venv(venv, "making .venv")
    find_uv(fetch=True)
    _install(venv, lock_file())
    # A path file instead of an editable install: nothing to build, nothing outside the lock.
    site = venv / "lib" / f"python{version}" / "site-packages"
    (site / "katayori.pth").write_text("../../../../lib\n")
    stamp.write_text(want)
    print("ready", file=sys.stderr)


@contextmanager
def _to_make(stamp: Path, want: str, about: str) -> Iterator[bool]:
    """Whether a stamp says something else than `want`, which it says once the block has ended well.

    Two processes that come at once wait for each other; what was stopped half way is made anew.
    """
    stamp.parent.mkdir(parents=True, exist_ok=True)
    with stamp.with_suffix(".busy").open("w") as busy:
        os.set_inheritable(busy.fileno(), True)
        fcntl.flock(busy, fcntl.LOCK_EX)
        is_old = not stamp.exists() or stamp.read_text() != want
        if is_old:
            print(about, file=sys.stderr, flush=True)
        yield is_old
        stamp.write_text(want)


def setup_site() -> None:
    """Adds to `.venv` what pages need. KatayoriError where the registry cannot be reached."""
    venv, lock = paths.root() / ".venv", lock_file("site")
    want = paths.sha256(lock) + paths.sha256(lock_file())
    about = "adding the pages' tools from lib/requirements-site.lock (once; some seconds) ..."
    with _to_make(venv / "katayori-site.stamp", want, about) as is_old:
        if is_old:
            find_uv(fetch=True)
            _install(venv, lock)


def apart(name: str, remedy: str, pins: Path | None = None) -> Path:
    """The programs of an environment of its own in the cache, made from its lock on first use.

    Another lock has another folder. KatayoriError where the registry cannot be reached.

    Args:
        name: what it is for: `export`, `harness` or `vllm`. remedy: how to do without it. pins:
            exact versions without hashes, in place of the lock; pip installs them, which knows
            where on this machine it finds packages.
    """
    source = pins or lock_file(name)
    folder = paths.cache_dir() / "environments" / f"{name}-{paths.sha256(source)[:12]}"
    env = folder / "env"
    about = f"making the environment of {name} (once, on first use; a minute or more) ..."
    what = f"making the environment of {name} ({remedy})"
    with _to_make(folder / "ready", "", about) as is_old:
        if is_old:
            shutil.rmtree(env, ignore_errors=True)
            _make_venv(env, what)
        if is_old and pins:
            pip = [*find_pip(), "--python", str(env / "bin" / "python")]
            _run(*pip, "install", "-q", "--no-deps", "-r", pins, what=what)
        elif is_old:
            _install(env, source, what)
    return env / "bin"


def find_pip() -> list[str]:
    """A pip to call; environments made by uv have none of their own."""
    base = Path(sys.base_prefix) / "bin" / "python3"
    for argv in ([sys.executable, "-m", "pip"], [str(base), "-m", "pip"], ["pip3"], ["uvx", "pip"]):
        with suppress(OSError):
            if subprocess.run([*argv, "--version"], capture_output=True).returncode == 0:
                return argv
    raise KatayoriError("pip is needed; install pip or uv")


def lock() -> None:
    """Resolves `pyproject.toml` anew into all locks, and the versions of `environment.yml`."""
    asked = lock_file().with_name(PROJECT)
    _resolve("", asked, "--all-extras")
    _resolve("site", "--group", f"{asked}:site", "--constraint", lock_file())
    _resolve("export", "--no-annotate", "--group", f"{asked}:export")
    # The library itself runs inside.
    _resolve("harness", "--no-annotate", asked, "--group", f"{asked}:harness")
    (paths.root() / "environment.yml").write_text(conda_yaml())


def _resolve(name: str, *asked: str | Path) -> None:
    uv = find_uv(fetch=True)
    if not uv:
        raise KatayoriError("`make lock` needs uv; install it (pip install uv) and call again")
    what = f"resolving {lock_file(name).name}"
    _run(uv, "pip", "compile", *LOCKED.split(), *asked, "-o", lock_file(name), what=what)


if __name__ == "__main__":
    steps = {"setup": setup, "setup-site": setup_site, "lock": lock}
    try:
        steps[sys.argv[1]]()
    except KatayoriError as error:
        print(f"katayori: {error}", file=sys.stderr)
        sys.exit(2)

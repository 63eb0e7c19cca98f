"""`make doctor`: one line a thing that may be missing, with the remedy.

Keys are never printed, only whether they are set.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from katayori import paths
from katayori.errors import KatayoriError, expect
from katayori.provenance import version
from katayori.report.tables import visible
from katayori_tools import environment

if TYPE_CHECKING:
    from katayori.prompting.models import Endpoint

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
Line = tuple[str, str, str]  # state, subject, what was seen
OK, ABSENT, PROBLEM = "ok", "-", "problem"  # states; what is absent can be done without
LISTED = 5  # packages
ENOUGH, TOO_LITTLE = 3, 0.2  # GB of free space: with the weights of local models; for anything


def _python() -> Iterator[Line]:
    yield OK, "python", sys.version.split()[0]
    wrong = []
    for name, pinned in environment.locked().items():
        installed = version(name) or "missing"
        if installed != pinned:
            wrong.append(f"{name} {installed} (lock: {pinned})")
    if wrong:
        listed = "; ".join(wrong[:LISTED])
        yield PROBLEM, "packages", f"{listed} ({len(wrong)} in all): make setup"
    else:
        yield OK, "packages", "as in lib/requirements.lock"
    if environment.find_uv():
        yield OK, "uv", "found"
    else:
        yield ABSENT, "uv", "absent: set-up falls back on pip, which is slower"


def _disk() -> Iterator[Line]:
    for subject, folder in (("disk, checkout", paths.root()), ("disk, cache", paths.cache_dir())):
        folder = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(folder).free / 1e9
        text = f"{free:.1f} GB free at {folder}"
        if free > ENOUGH:
            yield OK, subject, text
            continue
        state = PROBLEM if free < TOO_LITTLE else ABSENT
        yield state, subject, f"{text}; weights of local models need up to {ENOUGH} GB"


def _data() -> Iterator[Line]:
    from katayori_tools import datasets

    for folder in paths.mirror_dirs():
        if folder.is_dir():
            yield OK, "mirror", str(folder)
        else:
            yield PROBLEM, "mirror", f"{folder} is absent"
    if not paths.mirror_dirs():
        text = "KATAYORI_MIRROR is not set: make data downloads third-party data"
        yield ABSENT, "mirror", text
    for row in datasets.table().to_dict("records"):
        state = OK if row["status"] in ("mirror", "downloaded", "here") else ABSENT
        text = f"{row['status']} ({row['access']})"
        if state == ABSENT and row["access"] == "download":
            text += f"; make data ARGS={row['id']}"
        yield state, f"data {row['id']}", text


def _endpoints() -> Iterator[Line]:
    from katayori.prompting import models

    for name, endpoint in models.registry()[0].items():
        if endpoint.kind == "simulated":
            continue
        state, text = _endpoint(endpoint)
        match endpoint.supports.get("logprobs"):
            case True:
                returned = "yes"
            case False:
                returned = "no"
            case _:
                returned = "unknown, see --probe"
        yield state, f"endpoint {name}", f"{text}; log-probabilities: {returned}"


def _endpoint(endpoint: "Endpoint") -> tuple[str, str]:
    """The state of an endpoint, and its key or its server."""
    if endpoint.kind == "local":
        return OK, "started by make live and make record"
    from katayori_tools import send

    address = ""
    try:
        send.key_of(endpoint)
        address = endpoint.address()
        url = urlsplit(address)
        if url.hostname in ("localhost", "127.0.0.1", "::1"):
            socket.create_connection((url.hostname, url.port or 80), 1).close()
    except KatayoriError as error:
        return ABSENT, str(error).removeprefix(f"endpoint {endpoint.name}").strip()
    except OSError:
        return ABSENT, f"nothing answers at {address}: start that server"
    has_key = os.environ.get(endpoint.key_env or "-")
    return OK, "key set" if has_key else "no key needed"


def find_browser() -> str | None:
    """Where Chromium or Chrome is, if it is on the search path."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _browser() -> Iterator[Line]:
    browser = find_browser()
    if browser:
        yield OK, "browser", browser
    else:
        yield ABSENT, "browser", "no Chromium: the browser tests are skipped"


def _probe(model_id: str) -> Iterator[Line]:
    import asyncio

    from katayori.prompting import models
    from katayori_tools import planning

    model, endpoint = models.get_model(model_id)
    returned, text = asyncio.run(planning.probe_logprobs(model, endpoint))
    yield OK if returned else ABSENT, f"probe {model_id}", text
    supports = models.abilities(model, endpoint)
    if supports.get("prefill") is True:
        text = f"endpoint {endpoint.name} continues a given start of the answer"
        yield OK, f"probe {model_id}", text
    else:
        text = f"endpoint {endpoint.name} is not known to continue a given start of the answer"
        text += ", so prompts that need it are not asked; vllm, llamacpp and completions are"
        yield ABSENT, f"probe {model_id}", text


def doctor(*, probe: str = "") -> int:
    """Prints the findings; 1 if something essential is broken, else 0.

    Args:
        probe: ask this model once whether it returns log-probabilities.
    """
    examinations: dict[str, Callable[[], Iterator[Line]]] = {
        "python": _python,
        "disk": _disk,
        "data": _data,
        "endpoints": _endpoints,
        "browser": _browser,
    }
    if probe:
        examinations["probe"] = partial(_probe, probe)
    is_broken = False
    for name, examine in examinations.items():
        for state, subject, text in _findings(name, examine):
            # The probe repeats what a server said.
            print(f"{state:<8}{subject:<28}{visible(text)}")
            is_broken |= state == PROBLEM
    return int(is_broken)


def _findings(name: str, examine: Callable[[], Iterator[Line]]) -> list[Line]:
    """The lines of an examination; where it breaks off, one line with the cause."""
    try:
        return list(examine())
    except KatayoriError as error:
        return [(PROBLEM, name, str(error))]
    except Exception as error:  # a doctor that falls ill is of no use
        return [(PROBLEM, name, f"{type(error).__name__}: {error}"[:200])]


def bench(names: Sequence[str] = ()) -> int:
    """Runs the benchmarks one after another, since they would disturb each other's times; 1 where
    one failed.

    Args:
        names: scripts of lib/benchmarks (all).
    """
    folder = paths.root() / "lib" / "benchmarks"
    scripts = {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    for name in names:
        expect(name, scripts, "benchmark")
    failed = False
    for name in names or scripts:
        print(f"== {name}", flush=True)
        failed |= subprocess.run([sys.executable, scripts[name]]).returncode != 0
    return int(failed)

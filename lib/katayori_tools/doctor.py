"""`make doctor`: one line a thing that may be missing, with the remedy; `make bench` and
`make simulate` run the scripts of a folder.

Keys are never printed, only whether they are set.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
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


def _machine(_: str) -> Iterator[Line]:
    yield OK, "python", sys.version.split()[0]
    locked = environment.locked()
    installed = {name: version(name) or "missing" for name in locked}
    wrong = [f"{n} {installed[n]} (lock: {locked[n]})" for n in locked if installed[n] != locked[n]]
    if wrong:
        listed = "; ".join(wrong[:LISTED])
        yield PROBLEM, "packages", f"{listed} ({len(wrong)} in all): make setup"
    else:
        yield OK, "packages", "as in lib/requirements.lock"
    for subject, folder in (("disk, checkout", paths.root()), ("disk, cache", paths.cache_dir())):
        folder = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(folder).free / 1e9
        state = OK if free > ENOUGH else PROBLEM if free < TOO_LITTLE else ABSENT
        need = "" if state == OK else f"; weights of local models need up to {ENOUGH} GB"
        yield state, subject, f"{free:.1f} GB free at {folder}{need}"
    without = {
        "uv": (environment.find_uv(), "set-up falls back on pip, which is slower"),
        "browser": (find_browser(), "no Chromium: the browser tests are skipped"),
    }
    for subject, (found, remedy) in without.items():
        yield OK if found else ABSENT, subject, found or f"absent: {remedy}"


def find_browser() -> str | None:
    """Where Chromium or Chrome is, if it is on the search path."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _data(_: str) -> Iterator[Line]:
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
        state = ABSENT if row["status"] == "absent" else OK
        text = f"{row['status']} ({row['access']})"
        if state == ABSENT and row["access"] == "download":
            text += f"; make data ARGS={row['id']}"
        yield state, f"data {row['id']}", text


def _endpoints(_: str) -> Iterator[Line]:
    from katayori.prompting import models

    known: dict[object, str] = {True: "yes", False: "no"}
    for name, endpoint in models.registry()[0].items():
        if endpoint.kind != "simulated":
            state, text = _endpoint(endpoint)
            returned = known.get(endpoint.supports.get("logprobs"), "unknown, see --probe")
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
    return OK, "key set" if os.environ.get(endpoint.key_env or "-") else "no key needed"


def _probe(model_id: str) -> Iterator[Line]:
    if not model_id:
        return
    import asyncio

    from katayori.prompting import models
    from katayori_tools import planning

    model, endpoint = models.get_model(model_id)
    returned, text = asyncio.run(planning.probe_logprobs(model, endpoint))
    yield OK if returned else ABSENT, f"probe {model_id}", text
    if models.abilities(model, endpoint).get("prefill") is True:
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
    is_broken = False
    for examine in (_machine, _data, _endpoints, _probe):
        try:
            lines = list(examine(probe))
        except Exception as error:  # a doctor that falls ill is of no use
            cause = "" if isinstance(error, KatayoriError) else f"{type(error).__name__}: "
            lines = [(PROBLEM, examine.__name__.removeprefix("_"), f"{cause}{error}"[:300])]
        for state, subject, text in lines:
            print(f"{state:<8}{subject:<28}{visible(text)}")  # the probe repeats what a server said
            is_broken |= state == PROBLEM
    return int(is_broken)


def bench(names: Sequence[str] = ()) -> int:
    """Runs the benchmarks one after another, since they would disturb each other's times; 1 where
    one failed.

    Args:
        names: scripts of lib/benchmarks (all).
    """
    return _scripts(paths.root() / "lib" / "benchmarks", names, "benchmark")


def simulate(names: Sequence[str] = ()) -> int:
    """Runs the simulations one after another, each writes its tables beside it; 1 where one failed.

    Args:
        names: scripts of data/simulated (all, half an hour on an idle core).
    """
    return _scripts(paths.root() / "data" / "simulated", names, "simulation")


def _scripts(folder: Path, names: Sequence[str], what: str) -> int:
    """Runs the scripts of a folder, each in a process of its own; 1 where one failed."""
    scripts = {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    for name in names:
        expect(name, scripts, what)
    failed = False
    for name in names or scripts:
        print(f"== {name}", flush=True)
        failed |= subprocess.run([sys.executable, scripts[name]]).returncode != 0
    return int(failed)

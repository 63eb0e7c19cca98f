"""`make doctor`: one line a thing that may be missing, with the remedy.

Keys are never printed, only whether they are set.
"""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

from katayori import paths
from katayori.errors import KatayoriError
from katayori.language import told
from katayori.prompting import models
from katayori.provenance import version
from katayori.report.tables import width_of
from katayori_tools import environment

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
    listed = f"{'; '.join(wrong[:LISTED])} ({len(wrong)} in all): make setup"
    yield PROBLEM if wrong else OK, "packages", listed if wrong else "as in lib/requirements.lock"
    folders = {"OUTPUTS": paths.outputs_dir(), "CACHE": paths.cache_dir()}
    for name, folder in folders.items():
        nearest = next(each for each in (folder, *folder.parents) if os.path.exists(each))
        free = shutil.disk_usage(nearest).free / 1e9
        state = OK if free > ENOUGH else PROBLEM if free < TOO_LITTLE else ABSENT
        need = "" if state == OK else f"; weights of local models need up to {ENOUGH} GB"
        if not os.access(nearest, os.W_OK | os.X_OK):
            state, need = PROBLEM, f", which cannot be written: name another with KATAYORI_{name}"
        yield state, f"disk, {name.lower()}", f"{free:.1f} GB free at {folder}{need}"
    uv, browser = environment.find_uv(), find_browser()
    yield OK if uv else ABSENT, "uv", uv or "absent: set-up falls back on pip, which is slower"
    about = "absent: no Chromium, so the browser tests are skipped"
    yield OK if browser else ABSENT, "browser", browser or about


def find_browser() -> str | None:
    """Where Chromium or Chrome is, if it is on the search path."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _data(_: str) -> Iterator[Line]:
    from katayori_tools import datasets

    for folder in paths.mirror_dirs():
        is_there = folder.is_dir()
        yield OK if is_there else PROBLEM, "mirror", f"{folder}{'' if is_there else ' is absent'}"
    if not paths.mirror_dirs():
        yield ABSENT, "mirror", "KATAYORI_MIRROR is not set: make data downloads third-party data"
    for row in datasets.table().itertuples():
        state = ABSENT if row.status == "absent" else OK
        remedy = f"; make data ARGS={row.id}" if (state, row.access) == (ABSENT, "download") else ""
        yield state, f"{told('data')} {row.id}", f"{row.status} ({row.access}){remedy}"


def _endpoints(_: str) -> Iterator[Line]:
    known: dict[object, str] = {True: "yes", False: "no"}
    for name, endpoint in models.registry()[0].items():
        if endpoint.kind != "simulated":
            state, text = _endpoint(endpoint)
            returned = known.get(endpoint.supports.get("logprobs"), "unknown, see --probe")
            yield state, f"{told('endpoint')} {name}", f"{text}; log-probabilities: {returned}"


def _endpoint(endpoint: models.Endpoint) -> tuple[str, str]:
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

    from katayori_tools import planning

    model, endpoint = models.get_model(model_id)
    returned, text = asyncio.run(planning.probe_logprobs(model, endpoint))
    yield OK if returned else ABSENT, f"{told('probe')} {model_id}", text


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
            print(f"{_wide(told(state), 8)}{_wide(told(subject), 28)}{told(text)}")
            is_broken |= state == PROBLEM
    return int(is_broken)


def _wide(text: str, width: int) -> str:
    """The text with blanks up to this width."""
    return text + " " * max(1, width - width_of(text))

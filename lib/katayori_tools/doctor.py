"""`make doctor`: one line a thing that may be missing, with the remedy. Keys are never printed, only whether set."""

import os
import shutil
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.provenance import version
from katayori.report.tables import visible
from katayori_tools import environment

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
Line = tuple[
    str, str, str
]  # state ("ok", "-" for what can be done without, "problem"), subject, what was found


def _python() -> Iterator[Line]:
    yield "ok", "python", sys.version.split()[0]
    pairs = {
        name: (version(name) or "missing", pinned) for name, pinned in environment.locked().items()
    }
    wrong = [
        f"{name} {found} (lock: {pinned})"
        for name, (found, pinned) in pairs.items()
        if found != pinned
    ]
    found = "; ".join(wrong[:5]) + f" ({len(wrong)} in all): make setup"
    yield (
        ("problem", "packages", found)
        if wrong
        else ("ok", "packages", "as in lib/requirements.lock")
    )
    uv = environment.find_uv(paths.root() / ".venv")
    yield (
        ("ok", "uv", "found")
        if uv
        else ("-", "uv", "absent: set-up falls back on pip, which is slower")
    )


def _disk() -> Iterator[Line]:
    for subject, folder in (("disk, checkout", paths.root()), ("disk, cache", paths.cache_dir())):
        folder = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(folder).free / 1e9
        state = "ok" if free > 3 else "problem" if free < 0.2 else "-"
        need = "" if free > 3 else "; weights of local models need up to 3 GB"
        yield state, subject, f"{free:.1f} GB free at {folder}{need}"


def _data() -> Iterator[Line]:
    from katayori.data import catalogue

    for folder in paths.mirror_dirs():
        yield (
            ("ok", "mirror", str(folder))
            if folder.is_dir()
            else ("problem", "mirror", f"{folder} is absent")
        )
    if not paths.mirror_dirs():
        yield (
            "-",
            "mirror",
            "KATAYORI_MIRROR is not set: third-party data is downloaded when asked for",
        )
    for row in catalogue.table().to_dict("records"):
        state = "ok" if row["status"] in ("mirror", "downloaded", "here") else "-"
        remedy = (
            f"; make data ARGS={row['id']}" if state == "-" and row["access"] == "download" else ""
        )
        yield state, f"data {row['id']}", f"{row['status']} ({row['access']}){remedy}"


def _endpoints() -> Iterator[Line]:
    from katayori.prompting import models

    for name, endpoint in models.registry()[0].items():
        if endpoint.kind != "simulated":
            known = {True: "yes", False: "no"}.get(
                endpoint.supports.get("logprobs"), "unknown, see --probe"
            )
            state, found = _endpoint(endpoint)
            yield state, f"endpoint {name}", f"{found}; log-probabilities: {known}"


def _endpoint(endpoint: Any) -> tuple[str, str]:
    if endpoint.kind == "local":
        return "ok", "started by make live and make record"
    try:
        endpoint.key()
        url = urlsplit(address := endpoint.address())
        if url.hostname in ("localhost", "127.0.0.1", "::1"):
            socket.create_connection((url.hostname, url.port or 80), 1).close()
    except KatayoriError as error:
        return "-", str(error).removeprefix(f"endpoint {endpoint.name}").strip()
    except OSError:
        return "-", f"nothing answers at {address}: start that server"
    return "ok", "key set" if os.environ.get(endpoint.key_env or "-") else "no key needed"


def find_browser() -> str | None:
    """Where Chromium or Chrome is, if it is on the search path."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _browser() -> Iterator[Line]:
    browser = find_browser()
    yield (
        ("ok" if browser else "-"),
        "browser",
        browser or "no Chromium: the browser tests are skipped",
    )


def _probe(model_id: str) -> Iterator[Line]:
    import asyncio

    from katayori.prompting import models
    from katayori_tools import planning

    model, endpoint = models.get_model(model_id)
    has, found = asyncio.run(planning.probe_logprobs(model, endpoint))
    yield "ok" if has else "-", f"probe {model_id}", found
    supports = endpoint.supports | model.fields.get("supports", {})
    continues = supports.get("prefill") is True
    told = f"endpoint {endpoint.name} continues a given start of the answer"
    if not continues:
        told = f"endpoint {endpoint.name} is not known to continue a given start of the answer"
        told += ", so prompts that need it are not asked; vllm, llamacpp and completions are"
    yield "ok" if continues else "-", f"probe {model_id}", told


def doctor(args: Namespace) -> int:
    """Prints the findings; 1 if something essential is broken, else 0."""
    broken = False
    for look in (
        _python,
        _disk,
        _data,
        _endpoints,
        _browser,
        *([lambda: _probe(args.probe)] if args.probe else []),
    ):
        try:
            lines = list(look())
        except Exception as error:  # a doctor that falls ill is of no use
            said = (
                str(error)
                if isinstance(error, KatayoriError)
                else f"{type(error).__name__}: {error}"[:200]
            )
            lines = [("problem", look.__name__.strip("_<>"), said)]
        for state, subject, found in lines:
            print(
                f"{state:<8}{subject:<28}{visible(found)}"
            )  # the probe repeats what a server said
            broken |= state == "problem"
    return int(broken)

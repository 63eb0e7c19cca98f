"""A million answers through the store: written, resumed, read; memory flat, no step quadratic.

    python lib/benchmarks/store.py [--n 1000000]

Each step is a process of its own, at a tenth of the size and at the whole: a step that is not
quadratic takes no longer an answer. Requests are made as they are needed, never held together.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from katayori.prompting.answer_store import Store
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request, Response

TEXT = (
    "次の申請を認めますか。理由を述べたあと、最後の行に答えを書いてください。" * 3
    + "申請番号{}、年齢{}歳。"
)
#: Step -> what it does, goal for the whole.
STEPS = {
    "write": ("one transaction an answer", "below 1 GiB"),
    "resume": ("collect: everything is stored, asks nothing", "below 1 GiB"),
    "get": ("every request with its response", "below 1 GiB"),
}


def made(n: int) -> Iterator[Request]:
    """Requests with different prompts of some 150 characters."""
    for i in range(n):
        body = {
            "messages": [{"role": "user", "content": TEXT.format(i, 20 + i % 80)}],
            "max_tokens": 64,
            "seed": i,
        }
        yield Request("bench", "b", f"i{i}", f"p{i % 5}", "0" * 16, "", "m", "stub", "m", body)


def step(name: str, n: int, path: str) -> int:
    """Run one step; how many answers went through it."""
    with Store(path) as store:
        if name == "write":
            for i, request in enumerate(made(n)):
                text = f"申請{i}には問題がない。\nAnswer: {'no' if i % 3 else 'yes'}"
                store.put(
                    request, Response("ok", text, "stop", None, 150, 12, "m-2025", "fp_1", 0.25)
                )
            return n
        if name == "resume":
            from katayori_tools.collect import collect

            model, endpoint = (
                Model("m", "m", "stub"),
                Endpoint("stub", "openai_compatible", "http://127.0.0.1:9/v1"),
            )
            summary = asyncio.run(collect(made(n), model, endpoint, store, progress=False))
            return summary.stored if not summary.asked else 0
        return sum(
            answer is not None and answer.outcome == "ok" for _, answer in store.get(made(n))
        )


def measure(name: str, n: int, path: Path) -> dict:
    """One step in a process of its own. Ends the benchmark where an answer is missing."""
    command = [sys.executable, __file__, "--n", str(n), "--role", name, str(path)]
    got = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    if got["done"] != n:
        sys.exit(f"{name}: {got['done']:,} of {n:,} answers")
    return got


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000, help="answers (1000000)")
    parser.add_argument("--role", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        name, path = args.role
        started = time.perf_counter()
        done = step(name, args.n, path)
        unit = 2**20 if sys.platform == "darwin" else 1024
        told = {"seconds": time.perf_counter() - started, "done": done}
        print(
            json.dumps(
                told | {"peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit}
            )
        )
        return
    small = max(1, args.n // 10)
    print(
        f"{args.n:,} answers; growth: time an answer beside that of {small:,}"
        " (quadratic would be 10)"
    )
    print(
        f"{'step':<8}{'seconds':>9}{'answers/s':>11}{'growth':>8}{'peak MiB':>10}  what, and goal"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, (about, goal) in STEPS.items():
            few = measure(name, small, Path(folder) / "small.sqlite")
            got = measure(name, args.n, Path(folder) / "whole.sqlite")
            growth = got["seconds"] / args.n / (few["seconds"] / small)
            row = f"{name:<8}{got['seconds']:>9.1f}{args.n / got['seconds']:>11,.0f}{growth:>8.2f}"
            print(f"{row}{got['peak_mib']:>10.0f}  {about}; goal: {goal}", flush=True)
        size = (Path(folder) / "whole.sqlite").stat().st_size
        print(f"the store takes {size / 2**20:,.0f} MiB, {size / args.n:,.0f} bytes an answer")


if __name__ == "__main__":
    main()

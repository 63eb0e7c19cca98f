"""The papers' full designs for three models as one batch: written, answered in play, read back.

    python lib/benchmarks/at_scale.py [--models 3] [--limit CLUSTERS]

The stand-in reads the shards and writes results as `vllm run-batch` does (the form is that of
lib/tests/fixtures/batch): of 1,000 requests five fail and two are missing. Each step is a process
of its own, once with few clusters and once with all: memory must not grow with the requests. Ends
with exit code 1 where an answer is lost, or a goal is missed.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

FAIL, MISS = 5, 7  # of a thousand: the first five fail, the next two are missing
FEW = 5  # clusters of the small batch
ALL = 10**6  # clusters, more than there are
GROWTH = 1.25  # the most that the peak of the whole may be, beside that of the small batch
STEPS = {
    "export": "counted, and written as shards and jobs",
    "answer": "by the stand-in",
    "import": "read back, counted, and what is left written as further shards",
    "again": "the further shards answered and read back, until nothing is left",
}
OPTIONS = {"jubaku_v2": ("A", "B"), "logprob_judge": ("A", "B", "C"), "discrim_eval": ("yes", "no")}
FAILED = {"message": "the engine was busy", "code": 500}
Answerer = Callable[[dict[str, Any]], tuple[str, list[tuple[str, float]]]]


def fate(custom_id: str) -> int:
    """A number from 0 to 999 that depends on the request alone."""
    return int(hashlib.sha256(custom_id.encode()).hexdigest()[:8], 16) % 1000


def results(
    lines: Iterable[bytes], answer: Answerer, lost: Callable[[str], str]
) -> Iterator[bytes]:
    """The lines of a result file; `lost` says `failed`, `missing` or nothing of a custom_id."""
    for raw in lines:
        asked = json.loads(raw)
        custom_id, body = asked["custom_id"], asked["body"]
        what = lost(custom_id)
        if what == "missing":
            continue
        row: dict[str, Any] = {"id": f"vllm-{custom_id[:16]}", "custom_id": custom_id}
        if what == "failed":
            reply = {"status_code": 500, "request_id": "r", "body": {"error": FAILED}}
            yield json.dumps(row | {"response": reply, "error": FAILED}).encode() + b"\n"
            continue
        reply = {"status_code": 200, "request_id": "r", "body": completion(body, *answer(body))}
        yield json.dumps(row | {"response": reply, "error": None}).encode() + b"\n"


def completion(body: dict[str, Any], text: str, top: list[tuple[str, float]]) -> dict[str, Any]:
    """A chat completion as vLLM writes it, with log probabilities where they are asked for."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}}
    choice |= {"finish_reason": "stop", "logprobs": None}
    if body.get("logprobs"):
        likeliest = [{"token": token, "logprob": logp} for token, logp in top]
        choice["logprobs"] = {"content": [likeliest[0] | {"top_logprobs": likeliest}]}
    usage = {"prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103}
    about = {"object": "chat.completion", "created": 1_750_000_000, "model": body["model"]}
    return about | {"choices": [choice], "usage": usage}


def answer_all(folder: Path, lost: Callable[[str], str]) -> int:
    """Answers every shard below a batch's folder that has no results yet; how many."""
    done = 0
    shards = json.loads((folder / "batch.json").read_text(encoding="utf-8"))["shards"]
    for name, about in shards.items():
        [shard] = folder.glob(f"*/{name}")
        target = shard.with_name(f"results-{name}")
        if not target.exists():
            options = OPTIONS.get(about["paper"], ("0", "1", "2"))
            with shard.open("rb") as lines, target.open("wb") as file:
                file.writelines(results(lines, by_chance(options), lost))
            done += 1
    return done


def by_chance(options: tuple[str, ...]) -> Answerer:
    """Answers with an option drawn by the request's text; a decision stands on its own line."""

    def answer(body: dict[str, Any]) -> tuple[str, list[tuple[str, float]]]:
        chosen = options[fate(json.dumps(body["messages"])) % len(options)]
        top = [(chosen, -0.1), *((other, -3.0) for other in options if other != chosen)]
        is_line = chosen in ("yes", "no") and body.get("max_tokens") != 1
        return f"Answer: {chosen}" if is_line else chosen, top

    return answer


def few_lost(custom_id: str) -> str:
    """Of a thousand requests five fail and two are missing."""
    number = fate(custom_id)
    return "failed" if number < FAIL else "missing" if number < MISS else ""


def step(name: str, models: int, limit: int, folder: Path) -> str:
    """One step; what it said of the whole batch."""
    collect = ["batch", "import", str(folder)]
    if name == "answer":
        return f"{answer_all(folder, few_lost)} shards"
    if name == "import":
        return printed(collect)
    if name == "again":
        said = ""
        while answer_all(folder, lambda _: ""):
            said = printed(collect)
        return said
    asked = " ".join(f"stub-{n}@vllm" for n in range(1, models + 1))
    words = ["batch", "export", str(folder), "--models", asked, "--label", "at-scale"]
    return printed([*words, "--limit", str(limit or ALL)])


def printed(words: list[str]) -> str:
    """Runs a command; what it says of the whole batch."""
    from katayori_tools import cli

    with contextlib.redirect_stdout(io.StringIO()) as out:
        if cli.main(words):
            sys.exit(f"{' '.join(words)} failed")
    summary = [line for line in out.getvalue().splitlines() if line.endswith(" answered")]
    return summary[0] if summary else ""


def measured(name: str, models: int, limit: int, home: Path) -> dict[str, Any]:
    """One step in a process of its own."""
    command = [sys.executable, __file__, "--role", name, "--models", str(models)]
    command += ["--limit", str(limit), "--home", str(home)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def role(args: argparse.Namespace) -> None:
    """Runs one step and prints what it took as JSON."""
    home = Path(args.home)
    os.environ |= {"KATAYORI_OUTPUTS": str(home), "KATAYORI_CACHE": str(home / "cache")}
    started = time.perf_counter()
    said = step(args.role, args.models, args.limit, home / "scale")
    unit = 2**20 if sys.platform == "darwin" else 1024
    told = {"seconds": time.perf_counter() - started, "cpu": time.process_time(), "said": said}
    told["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps(told))


def run(models: int, limit: int, home: Path) -> dict[str, dict[str, Any]]:
    """All steps of one batch."""
    return {name: measured(name, models, limit, home) for name in STEPS}


def requests_in(steps: dict[str, dict[str, Any]]) -> int:
    """How many requests a batch holds, as its import says: `1 of 2,345 answered`."""
    return int(steps["import"]["said"].split()[2].replace(",", ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=3, help="stub models (3)")
    parser.add_argument("--limit", type=int, default=0, help="clusters of each paper (all)")
    parser.add_argument("--role", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--home", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        role(args)
        return 0
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as whole:
        small = run(args.models, FEW, Path(few))
        n_small = requests_in(small)
        got = run(args.models, args.limit, Path(whole))
        n = requests_in(got)
    print(f"{n:,} requests of {args.models} models; beside them a batch of {n_small:,}")
    print(
        f"{'step':<9}{'seconds':>9}{'CPU':>8}{'requests/s':>12}{'peak MiB':>10}{'small':>8}  what"
    )
    good = True
    for name, about in STEPS.items():
        one, before = got[name], small[name]["peak_mib"]
        rate = n / one["seconds"]
        row = f"{name:<9}{one['seconds']:>9.1f}{one['cpu']:>8.1f}{rate:>12,.0f}"
        print(f"{row}{one['peak_mib']:>10.0f}{before:>8.0f}  {about}")
        good &= one["peak_mib"] <= GROWTH * before
    print(f"first collected: {got['import']['said']}")
    print(f"in the end: {got['again']['said']}")
    print(f"goal: no peak above {GROWTH:g} times that of the small batch, and no answer lost")
    answered, _, asked, *_ = got["again"]["said"].split()  # more: what waited for an answer
    good &= answered == asked
    print("all goals met" if good else "A GOAL WAS MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

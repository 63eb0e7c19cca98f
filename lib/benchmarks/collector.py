"""The collector against a local stub that answers at once, or after 100 ms, beside a bare aiohttp
client in one run.

    python lib/benchmarks/collector.py [--n 2000] [--concurrency 32] [--runs 5]

The stub and every client are processes of their own; every row is the median of the runs, with the
slowest and fastest behind it. Rates depend on the machine and its load: run it on a quiet one, and
compare the rows.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPLY = (
    '{"id":"x","model":"stub","choices":[{"index":0,"message":{"role":"assistant",'
    '"content":"Answer: yes"},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":60,"completion_tokens":3}}'
)
HEAVY = ("pandas", "scipy", "matplotlib")
LATENCY, AT_ONCE, PROMPTS = 0.1, 64, 1000  # of the run against a slow endpoint


def stub(delay: float) -> None:
    """An OpenAI-compatible server; prints its port and serves until its input is closed. `delay` in
    seconds.
    """
    head = f"Content-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n"
    reply = f"HTTP/1.1 200 OK\r\n{head}{REPLY}".encode()

    loop: asyncio.AbstractEventLoop

    class Stub(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport, self.seen = transport, b""

        def data_received(self, data):
            self.seen += data
            while (end := self.seen.find(b"\r\n\r\n")) >= 0:
                head = self.seen[:end].lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
                if len(self.seen) < end + 4 + length:
                    return
                self.seen = self.seen[end + 4 + length :]
                if delay:
                    loop.call_later(delay, self.transport.write, reply)
                else:
                    self.transport.write(reply)

    async def serve() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Stub, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await loop.run_in_executor(None, sys.stdin.read)

    asyncio.run(serve())


def _body(i: int) -> dict:
    text = "次の申請を認めますか。理由を述べたあと、最後の行に答えを書いてください。"
    text += f"申請番号{i}、年齢{20 + i % 80}歳。"
    return {"messages": [{"role": "user", "content": text * 2}], "max_tokens": 64}


async def bare(n: int, concurrency: int, url: str, store: str) -> int:
    """The floor: the same requests through aiohttp, parsed and forgotten."""
    import aiohttp
    import orjson

    left = iter(range(n))
    done = 0

    async def work(session):
        nonlocal done
        for i in left:
            async with session.post(
                f"{url}/chat/completions", data=orjson.dumps({"model": "m", **_body(i)})
            ) as reply:
                done += len(orjson.loads(await reply.read())["choices"])

    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        await asyncio.gather(*(work(session) for _ in range(concurrency)))
    return done


async def ours(n: int, concurrency: int, url: str, store: str) -> int:
    """The collector with its store: every answer on disk, its key and whole provenance with it."""
    from katayori.prompting.answer_store import Store
    from katayori.prompting.models import Endpoint, Model
    from katayori.prompting.requests import Request
    from katayori_tools.collect import collect

    model, endpoint = Model("m", "m", "stub"), Endpoint("stub", "openai_compatible", url)
    requests = [
        Request("bench", "b", f"i{i}", "p", "h", "", "m", "stub", "m", _body(i)) for i in range(n)
    ]
    with Store(store) as answers:
        await collect(requests, model, endpoint, answers, concurrency=concurrency, progress=False)
        return sum(
            answer is not None and answer.outcome == "ok" for _, answer in answers.get(requests)
        )


def client(name: str, n: int, concurrency: int, url: str, store: str) -> None:
    """Run one client and print what it took; imports and the first connection are not timed."""
    from katayori.prompting.models import Endpoint, Model
    from katayori_tools.send import Sender

    async def warm() -> None:
        async with Sender(Model("m", "m", "stub"), Endpoint("stub", "openai_compatible", url)):
            pass

    asyncio.run(warm())
    run = bare if name == "bare" else ours
    used, started = time.process_time(), time.perf_counter()
    done = asyncio.run(run(n, concurrency, url, store))
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    unit = 2**20 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    told = {
        "done": done,
        "seconds": seconds,
        "rate": done / seconds,
        "cpu_ms": 1000 * cpu / max(done, 1),
    }
    print(
        json.dumps(
            told | {"peak_mib": peak, "heavy": [name for name in HEAVY if name in sys.modules]}
        )
    )


def serve(delay: float) -> tuple[subprocess.Popen, str]:
    """A stub in a process of its own and its base URL."""
    command = [sys.executable, __file__, "--role", "stub", str(delay)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return server, f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"


def measure(name: str, n: int, concurrency: int, url: str, store: Path) -> dict:
    """One run of one client. Ends the benchmark where an answer is missing."""
    size = ["--n", str(n), "--concurrency", str(concurrency)]
    command = [sys.executable, __file__, *size, "--role", name, url, str(store)]
    got = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    if got["done"] != n or got["heavy"]:
        sys.exit(
            f"{name}: {got['done']} of {n} answered, imported {got['heavy'] or 'nothing heavy'}"
        )
    return got


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000, help="prompts (2000)")
    parser.add_argument(
        "--concurrency", type=int, default=32, help="requests under way at once (32)"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each row (5)")
    parser.add_argument("--role", nargs="*", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        name, *given = args.role
        return (
            stub(float(*given))
            if name == "stub"
            else client(name, args.n, args.concurrency, *given)
        )
    slow_n = min(PROMPTS, args.n)
    ideal = LATENCY * -(-slow_n // AT_ONCE)
    (instant, url), (slow, slow_url) = serve(0), serve(LATENCY)
    got: dict[str, list[dict]] = {"bare": [], "cold": [], "full": [], "latency": []}
    try:
        for _ in range(
            args.runs
        ):  # the clients take turns, so that a change of load meets all of them
            with tempfile.TemporaryDirectory() as folder:
                store = Path(folder) / "answers.sqlite"
                for name in ("bare", "cold", "full"):
                    got[name].append(measure(name, args.n, args.concurrency, url, store))
                got["latency"].append(
                    measure("latency", slow_n, AT_ONCE, slow_url, Path(folder) / "slow.sqlite")
                )
    finally:
        for server in (instant, slow):
            server.stdin.close()
            server.wait(10)
    middle = {
        k: {c: statistics.median(run[c] for run in v) for c in v[0] if c != "heavy"}
        for k, v in got.items()
    }
    print(
        f"{args.n} Japanese prompts, concurrency {args.concurrency}, {args.runs} runs,"
        f" Python {sys.version[:6]}"
    )
    print(
        f"{'client':<38}{'answers/s':>10}{'slowest - fastest':>20}"
        f"{'CPU ms':>8}{'peak MiB':>10}  goal"
    )
    for name, about, goal in (
        ("bare", "bare aiohttp (keeps nothing)", "none: the floor of this machine now"),
        ("cold", "collector, empty store", "at least 4,000/s, below 120 MiB"),
        ("full", "collector, full store (asks nothing)", "at least 20,000/s, below 120 MiB"),
    ):
        one, rates = middle[name], [run["rate"] for run in got[name]]
        spread = f"{min(rates):,.0f} - {max(rates):,.0f}"
        row = f"{about:<38}{one['rate']:>10,.0f}{spread:>20}"
        print(f"{row}{one['cpu_ms']:>8.2f}{one['peak_mib']:>10.0f}  {goal}")
    share = middle["cold"]["rate"] / middle["bare"]["rate"]
    print(f"with an empty store the collector reaches {share:.0%} of the bare client's rate")
    taken = middle["latency"]["seconds"]
    print(
        f"{LATENCY * 1000:.0f} ms latency, concurrency {AT_ONCE}, {slow_n:,} prompts:"
        f" {taken:.2f} s, {taken / ideal:.2f} times the ideal {ideal:.1f} s"
        " (goal: at most 1.5 times)"
    )


if __name__ == "__main__":
    main()

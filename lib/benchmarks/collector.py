"""The collector against an instant local stub, beside a bare aiohttp client in the same run.

    python lib/benchmarks/collector.py [--n 2000] [--concurrency 32]

The stub and every client are processes of their own. Rates depend on the machine and its load: compare the rows.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPLY = (
    '{"id":"x","model":"stub","choices":[{"index":0,"message":{"role":"assistant","content":"Answer: yes"},'
    '"finish_reason":"stop"}],"usage":{"prompt_tokens":60,"completion_tokens":3}}'
)


def stub() -> None:
    """An OpenAI-compatible server that answers at once; prints its port and serves until its input is closed."""
    reply = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n{REPLY}".encode()

    class Instant(asyncio.Protocol):
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
                self.transport.write(reply)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Instant, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await loop.run_in_executor(None, sys.stdin.read)

    asyncio.run(serve())


def _body(i: int) -> dict:
    text = (
        f"次の申請を認めますか。理由を述べたあと、最後の行に答えを書いてください。申請番号{i}、年齢{20 + i % 80}歳。"
        * 2
    )
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 64}


async def bare(n: int, concurrency: int, url: str, store: str) -> int:
    """The floor: the same requests through aiohttp, parsed and forgotten."""
    import aiohttp
    import orjson

    left = iter(range(n))
    done = 0

    async def work(session):
        nonlocal done
        for i in left:
            async with session.post(f"{url}/chat/completions", data=orjson.dumps({"model": "m", **_body(i)})) as reply:
                done += len(orjson.loads(await reply.read())["choices"])

    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        await asyncio.gather(*(work(session) for _ in range(concurrency)))
    return done


async def ours(n: int, concurrency: int, url: str, store: str) -> int:
    """The collector with its store: every answer on disk, the key and the whole provenance with it."""
    from katayori.prompting.collect import collect
    from katayori.prompting.models import Endpoint, Model
    from katayori.prompting.requests import Request
    from katayori.prompting.store import Store

    model, endpoint = Model("m", "m", "stub"), Endpoint("stub", "openai_compatible", url)
    requests = [Request("bench", "b", f"i{i}", "p", "h", "", "m", "stub", "m", _body(i)) for i in range(n)]
    with Store(store) as answers:
        await collect(requests, model, endpoint, answers, concurrency=concurrency, progress=False)
        return sum(answer is not None and answer.outcome == "ok" for _, answer in answers.get(requests))


def client(name: str, n: int, concurrency: int, url: str, store: str) -> None:
    """Run one client and print what it took; imports and the first connection are not timed."""
    import aiohttp  # noqa: F401
    import openai  # noqa: F401

    run = {"bare": bare, "cold": ours, "full": ours}[name]
    used, started = time.process_time(), time.perf_counter()
    done = asyncio.run(run(n, concurrency, url, store))
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    unit = 2**20 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps({"done": done, "rate": done / seconds, "cpu_ms": 1000 * cpu / max(done, 1), "peak_mib": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2000, help="prompts (2000)")
    parser.add_argument("--concurrency", type=int, default=32, help="requests under way at once (32)")
    parser.add_argument("--role", nargs="*", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        return stub() if args.role[0] == "stub" else client(args.role[0], args.n, args.concurrency, *args.role[1:])
    this = [sys.executable, str(Path(__file__).resolve())]
    server = subprocess.Popen([*this, "--role", "stub"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        size = ["--n", str(args.n), "--concurrency", str(args.concurrency)]
        print(
            f"{args.n} Japanese prompts, concurrency {args.concurrency}, instant local stub, Python {sys.version[:6]}"
        )
        print(f"{'client':<36}{'answers/s':>10}{'CPU ms/answer':>15}{'peak RSS MiB':>14}")
        with tempfile.TemporaryDirectory() as folder:
            for name, about in (
                ("bare", "bare aiohttp (keeps nothing)"),
                ("cold", "collector, empty store"),
                ("full", "collector, full store (asks nothing)"),
            ):
                store = str(Path(folder) / "answers.sqlite")
                run = subprocess.run([*this, *size, "--role", name, url, store], stdout=subprocess.PIPE, check=True)
                got = json.loads(run.stdout)
                if got["done"] != args.n:
                    sys.exit(f"{name}: {got['done']} of {args.n} answered")
                print(f"{about:<36}{got['rate']:>10,.0f}{got['cpu_ms']:>15.2f}{got['peak_mib']:>14.0f}", flush=True)
    finally:
        server.stdin.close()
        server.wait(10)


if __name__ == "__main__":
    main()

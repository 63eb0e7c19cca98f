"""The collector under attack: killed at random moments, and against an endpoint that fails in every
way it can.

    python lib/benchmarks/soak.py [--n 5000] [--kills 10] [--seed 0]

The endpoint is the test double (`lib/tests/api_double.py`), which counts every request. Ends with
exit code 1 where an answer was lost, asked without need, or stored without a cause. `make test`
runs both parts on a few hundred prompts.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from api_double import Double, counts, endpoint_for, model_for, requests_for

from katayori.prompting.answer_store import Store
from katayori_tools.collect import collect_sync
from katayori_tools.live import causes

#: Share of requests that meet each fault; the rest is answered.
FAULTS = {
    "rate_limit_soon": 0.20, "server_error": 0.05, "cut": 0.02, "timeout": 0.01, "malformed": 0.01,
    "empty_choices": 0.01, "wrong_model": 0.01, "no_logprobs": 0.01,
}  # fmt: skip
CONCURRENCY = 16


def collector(url: str, path: Path, n: int) -> subprocess.Popen:
    """A process that asks `n` prompts and keeps the answers at `path`."""
    return subprocess.Popen([sys.executable, __file__, "--n", str(n), "--role", url, str(path)])


def killed(path: Path, n: int, kills: int, seed: int) -> dict:
    """Kill a collecting process `kills` times at random moments, then let one finish.

    Returns what the endpoint and the store counted: `asked`, `in_flight` at each kill (received by
    the endpoint, not yet in the store), outcomes stored, and the most often a single prompt was
    asked.
    """
    rng, in_flight = random.Random(seed), []
    moments = sorted(rng.uniform(0.01, 0.95) * n for _ in range(kills))
    with Double(delay=0.01) as double:
        for moment in moments:
            child = collector(double.url, path, n)
            while double.answered.total() - sum(in_flight) < moment and child.poll() is None:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.05))
            child.kill()
            child.wait(30)
            before = -1
            while double.now or double.asked != before:  # what was on its way has arrived
                before = double.asked
                time.sleep(0.1)
            with Store(path) as store:
                in_flight.append(double.asked - counts(store).get("ok", 0) - sum(in_flight))
        if collector(double.url, path, n).wait(3600):
            raise SystemExit("the last run failed")
        with Store(path) as store:
            whole = store.db.execute("PRAGMA integrity_check").fetchone()[0]
            outcomes = counts(store)
        most = max(double.bodies.values())
        return {
            "asked": double.asked,
            "in_flight": in_flight,
            "outcomes": outcomes,
            "most": most,
            "whole": whole,
        }


def faulty(path: Path, n: int, seed: int, timeout: float = 3) -> dict:
    """Ask an endpoint that fails at random (`FAULTS`), again until all is answered.

    Returns per run the outcomes and causes, the requests the endpoint saw beside the attempts the
    store counted (equal, unless a second layer retries), seconds, and how often the concurrency was
    cut; and faults met by kind.
    """
    met: Counter[str] = Counter()
    rng = random.Random(seed)

    def script(body: dict, before: int) -> str | None:
        [fault] = rng.choices([*FAULTS, None], [*FAULTS.values(), 1 - sum(FAULTS.values())])
        met[fault or "answered"] += 1
        return fault

    requests, runs = requests_for(n, logprobs=True), []
    with Double(script, delay=0.005) as double, Store(path) as store:
        while store.pending(requests) and len(runs) < 5:
            asked, left = double.asked, store.pending(requests)
            endpoint = endpoint_for(double.url)
            options = {"concurrency": CONCURRENCY, "timeout": timeout, "progress": False}
            summary = collect_sync(requests, model_for(), endpoint, store, **options)
            attempts = sum(answer.attempts for _, answer in store.get(left))
            silent = sum(a.outcome == "error" and not a.error for _, a in store.get(left))
            told = {"asked": summary.asked, "outcomes": summary.outcomes, "silent": silent}
            told |= {"causes": causes(store.get(requests), model_for())}
            told |= {"seen": double.asked - asked, "attempts": attempts}
            runs.append(told | {"cuts": summary.cuts, "seconds": summary.seconds})
        return {"runs": runs, "met": dict(met), "outcomes": counts(store)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=5000, help="prompts (5000)")
    parser.add_argument("--kills", type=int, default=10, help="times a run is killed (10)")
    parser.add_argument("--seed", type=int, default=0, help="of moments and faults (0)")
    parser.add_argument("--role", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        url, path = args.role
        with Store(path) as store:
            options = {"concurrency": CONCURRENCY, "progress": False}
            collect_sync(requests_for(args.n), model_for(), endpoint_for(url), store, **options)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        got = killed(Path(folder) / "killed.sqlite", args.n, args.kills, args.seed)
        extra, allowed = got["asked"] - args.n, sum(got["in_flight"])
        good = got["outcomes"] == {"ok": args.n} and extra == allowed and got["whole"] == "ok"
        good &= max(got["in_flight"], default=0) <= CONCURRENCY
        print(f"killed {args.kills} times in a run of {args.n:,} prompts, {CONCURRENCY} at once")
        print(f"  stored {got['outcomes']}; goal: exactly one success a prompt")
        print(
            f"  asked {got['asked']:,}, {extra} more than prompts;"
            f" in flight at the kills {got['in_flight']}; goal: no more than these {allowed}"
        )
        bad = faulty(Path(folder) / "faulty.sqlite", args.n, args.seed)
        print(f"faulty endpoint, {args.n:,} prompts: met {bad['met']}")
        for run in bad["runs"]:
            print(
                f"  asked {run['asked']:,} in {run['seconds']:.0f} s: {run['outcomes']},"
                f" causes {run['causes']}, {run['cuts']} cuts;"
                f" {run['seen']:,} requests seen, {run['attempts']:,} attempts kept"
            )
        good &= bad["outcomes"] == {"ok": args.n}
        good &= all(run["seen"] == run["attempts"] and not run["silent"] for run in bad["runs"])
        print(
            f"  stored {bad['outcomes']}; goal: all answered, every request accounted for,"
            " every error with a cause"
        )
    print("all goals met" if good else "A GOAL WAS MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

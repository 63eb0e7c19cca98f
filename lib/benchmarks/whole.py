"""What a new user and a contributor wait for: `make reproduce` cold and unchanged, `make site`,
`make test`.

    python lib/benchmarks/whole.py [--without-tests]

Run folders go to an empty temporary folder; the environment stands already (after set-up). `make
test` finds all notebooks up to date, so that its time is that of the checks.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from katayori import paths

OURS = "MFLAGS PYTHON PAPERS PROFILE MODELS PROMPTS LIMIT ENGINE BASE_URL BUDGET A B ARGS".split()
#: What is run, its target and its goal in seconds.
STEPS = {
    "reproduce, cold": ("reproduce", 240),
    "reproduce, unchanged": ("reproduce", 2),
    "site": ("site", None),
    "test": ("test", 480),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-tests", action="store_true")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        # `make bench` hands its own variables on; these steps are run as a user types them.
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("MAKE") and name not in OURS
        }
        how = {
            "cwd": paths.root(),
            "env": env | {"KATAYORI_OUTPUTS": folder},
            "capture_output": True,
            "text": True,
        }
        for step, (target, goal) in STEPS.items():
            if target == "test" and options.without_tests:
                continue
            start = time.perf_counter()
            ran = subprocess.run(["make", target], **how)
            seconds = time.perf_counter() - start
            if ran.returncode:
                print(f"  {step} failed:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
                return 1
            last = (
                f"   {ran.stdout.strip().splitlines()[-1].strip('= ')}" if target == "test" else ""
            )
            print(
                f"  {step:<22}{seconds:>7.1f} s"
                f"   goal: {f'below {goal} s' if goal else 'none'}{last}",
                flush=True,
            )
            missed += goal is not None and seconds >= goal
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

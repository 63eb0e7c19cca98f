"""Every playground of the notebooks: how long its first states take, and one redraw after them.

    python lib/benchmarks/playgrounds.py [--states 20] [--papers 01,02]

The program is the one that `make site` runs for its pages. The goal of a redraw is 0.3 s.
"""

import argparse
import time

from katayori_tools import notebooks, site

GOAL = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=20, help="states of each playground (20)")
    parser.add_argument("--papers", default="", help="only these notebooks")
    args = parser.parse_args()
    print(f"{'notebook':<20}{'first s':>10}{'redraw s':>10}  goal: below {GOAL} s")
    for paper, path in notebooks.choose(args.papers).items():
        if program := site.program(path):
            begin = time.perf_counter()
            site.states(program, 1)
            first = time.perf_counter()
            count = len(site.states(program, args.states)["states"])
            redraw = (time.perf_counter() - first) / count
            print(f"{paper:<20}{first - begin:>10.2f}{redraw:>10.3f}", flush=True)


if __name__ == "__main__":
    main()

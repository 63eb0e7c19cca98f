"""Every playground of the notebooks and of the pages: how long one redraw takes when a slider
moves.

    python lib/benchmarks/playgrounds.py [--values 5] [--papers 01,02] [--page FILE] [--only-page]

Each notebook with a `playground(` cell is run up to it on the smallest profile, in a kernel as
`make reproduce` starts it; then each slider is set to values from its lowest to its highest, the
others as they start. The goal is 0.3 s.

In the page of `make site` each slider is set to all its values; the clock is the page's own, from
the moved slider until the picture is drawn. Before that the states are computed anew, to tell how
long this takes.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from katayori import paths
from katayori_tools import notebooks, site_playgrounds
from katayori_tools.doctor import find_browser
from katayori_tools.reproduce import kernel_settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from browser import new_tab, started  # the tests' browser

GOAL = 0.3
TIMING = """
import gc, json, re, time
from katayori.report.explorers import Explorer

def timed(slider, view):
    start, steps = slider.value, round((slider.max - slider.min) / slider.step)
    for k in sorted({round(n * steps / ($values - 1)) for n in range($values)}):
        value = type(start)(min(slider.max, slider.min + k * slider.step))
        if value != slider.value:
            begin = time.perf_counter()
            slider.value = value
            seconds = time.perf_counter() - begin
            failed = re.match(r"<pre>(\\w*(?:Error|Exception)): ", view.value)
            yield [slider.description, value, seconds, failed[1] if failed else ""]
    slider.value = start

def redraws(box):
    *sliders, view = box.children
    return [row for slider in sliders for row in timed(slider, view)]

boxes = [one for one in gc.get_objects() if isinstance(one, Explorer)]
print(json.dumps([redraws(box) for box in boxes if hasattr(box.children[0], "step")]))
"""


IN_PAGE = """(async (name) => {
  const rows = [];
  const place = document.getElementById(`playground-${name}`);
  await katayori.shown[name];
  for (const input of place.querySelectorAll("input")) {
    const start = input.value;
    for (let value = 0; value <= Number(input.max); value++) {
      if (String(value) === input.value) continue;
      const begin = performance.now();
      input.value = value;
      input.dispatchEvent(new Event("input"));
      await katayori.shown[name];
      const seconds = (performance.now() - begin) / 1000;
      rows.push([input.labels[0].innerText, input.getAttribute("aria-valuetext"), seconds]);
    }
    input.value = start;
    input.dispatchEvent(new Event("input"));
    await katayori.shown[name];
  }
  return rows;
})"""


def measure_page(page: Path) -> dict[str, list[list]]:
    """For each playground of the page: (slider, value, seconds) of each redraw."""
    browser = find_browser()
    if browser is None:
        sys.exit("no Chromium: the page cannot be measured")
    names = list(site_playgrounds.playgrounds())
    with (
        tempfile.TemporaryDirectory() as work,
        started(browser, Path(work)) as address,
        new_tab(address) as tab,
    ):
        tab.open(page.resolve().as_uri())
        return {name: tab.js(f"{IN_PAGE}({json.dumps(name)})") for name in names}


def report_page(page: Path) -> None:
    """Prints how long states are computed and how long the page takes to show one."""
    print(f"{'states':<20}{'states':>8}{'seconds':>10}")
    for name, playground in site_playgrounds.playgrounds().items():
        begin = time.perf_counter()
        choices = site_playgrounds.computed(playground)["choices"]
        seconds = time.perf_counter() - begin
        states = sum(len(choice["states"]) for choice in choices)
        print(f"{name:<20}{states:>8}{seconds:>10.1f}", flush=True)
    if not page.is_file():
        print(f"{page} is not there: make site, or name the page of a run (--page FILE)")
        return
    print(f"{'page':<20}{'redraws':>8}{'median s':>10}{'max s':>8}  goal: below {GOAL} s")
    for name, redraws in measure_page(page).items():
        seconds = sorted(row[2] for row in redraws)
        missed = sum(one > GOAL for one in seconds)
        middle, longest = seconds[len(seconds) // 2], seconds[-1]
        above = f"  {missed} above the goal" if missed else ""
        print(f"{name:<20}{len(seconds):>8}{middle:>10.3f}{longest:>8.3f}{above}", flush=True)


def measure(path: Path, values: int) -> list[list]:
    """For each playground of a notebook: (slider, value, seconds, kind of error) of each redraw."""
    book = nbformat.read(path, as_version=4)
    last = max(
        (
            n
            for n, c in enumerate(book.cells)
            if c.cell_type == "code" and "playground(" in c.source
        ),
        default=-1,
    )
    if last < 0:
        return []
    with tempfile.TemporaryDirectory() as work:
        set_up = new_code_cell(f'profile, output_dir = "smoke", {work + "/run"!r}')
        first = next(
            n for n, c in enumerate(book.cells) if "parameters" in c.metadata.get("tags", [])
        )
        timing = new_code_cell(TIMING.replace("$values", str(values)))
        book.cells = [*book.cells[: first + 1], set_up, *book.cells[first + 1 : last + 1], timing]
        options = {
            "timeout": 600,
            "kernel_name": "python3",
            "extra_arguments": ["--log-level=CRITICAL"],
        }
        client = NotebookClient(book, resources={"metadata": {"path": path.parent}}, **options)
        client.execute(env=kernel_settings(Path(work)))
    return json.loads(next(o.text for o in book.cells[-1].outputs if o.get("name") == "stdout"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--values", type=int, default=5, help="values of each slider, ends among them (5)"
    )
    parser.add_argument("--papers", default="", help="only these notebooks")
    of_recorded = paths.outputs_dir() / "recorded" / "site" / "playgrounds.html"
    parser.add_argument("--page", type=Path, default=of_recorded, help="playgrounds.html of a run")
    parser.add_argument("--only-page", action="store_true", help="leave out the notebooks")
    args = parser.parse_args()
    if not args.only_page:
        report_notebooks(args)
    report_page(args.page)


def report_notebooks(args: argparse.Namespace) -> None:
    """Prints how long one redraw takes in the notebooks."""
    print(
        f"{'notebook':<20}{'redraws':>8}{'median s':>10}{'max s':>8}"
        f"  slowest at; goal: below {GOAL} s"
    )
    for path in notebooks.choose(args.papers).values():
        for redraws in measure(path, max(args.values, 2)):
            seconds = sorted(row[2] for row in redraws)
            slider, value, longest, _ = max(redraws, key=lambda row: row[2])
            missed = sum(one > GOAL for one in seconds)
            told = f"{slider} = {value:g}" + (f"; {missed} above the goal" if missed else "")
            told += "".join(f"; {row[3]} at {row[0]} = {row[1]:g}" for row in redraws if row[3])
            median = seconds[len(seconds) // 2]
            print(
                f"{path.stem:<20}{len(seconds):>8}{median:>10.3f}{longest:>8.3f}  {told}",
                flush=True,
            )


if __name__ == "__main__":
    main()

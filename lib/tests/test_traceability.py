"""X-10: what a row of data/traceability.csv names can be found, or the row says that it cannot."""

import csv
import re

import pytest

from katayori import paths

COUNTS = {"DE": 37, "PJ": 23, "LJ": 23, "JU": 24, "IJ": 20, "X": 10}
VERDICTS = {"holds", "partly", "text only", "not shown", "not possible here"}
#: A kept table or figure, after the number and name of its notebook; all results are no table.
KEPT = re.compile(r"(?P<notebook>\d\d_(?P<paper>\w+))#(?!results$)(?P<name>\w+)")


def is_there(place: str) -> bool:
    """Whether a kept table or figure (`01_discrim_eval#alpha`) or a file of the repository is."""
    kept = KEPT.fullmatch(place)
    if kept is None:
        return (paths.root() / place).is_file()
    expected = paths.data_dir() / "expected" / kept["paper"]
    files = [expected / f"{kept['name']}.csv", expected / "figures" / f"{kept['name']}.csv"]
    notebook = paths.root() / "notebooks" / f"{kept['notebook']}.ipynb"
    return notebook.is_file() and any(file.is_file() for file in files)


def problems(row: dict[str, str]) -> list[str]:
    """What is wrong with a row, one line each."""
    places = [place for place in row["where"].split("; ") if place]
    lines = [f"no {place}" for place in places if not is_there(place)]
    if row["verdict"] not in VERDICTS:
        lines.append(f"unknown verdict {row['verdict']!r}")
    if not places and row["verdict"] not in ("not shown", "not possible here"):
        lines.append(f"{row['verdict']}, but nowhere")
    if row["verdict"] != "holds" and len(row["why"]) < 15:
        lines.append(f"{row['verdict']}, but no reason")
    return lines


def test_every_requirement_has_a_verdict_and_a_place_that_exists():
    with (paths.data_dir() / "traceability.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["requirement", "verdict", "where", "why"]
    wanted = [f"{paper}-{n + 1}" for paper, count in COUNTS.items() for n in range(count)]
    assert [row["requirement"] for row in rows] == wanted
    lines = [f"{row['requirement']}: {line}" for row in rows for line in problems(row)]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"where": "01_discrim_eval#nothing"}, "no 01_discrim_eval#nothing"),
        ({"where": "09_discrim_eval#alpha"}, "no 09_discrim_eval#alpha"),
        ({"where": "01_discrim_eval#results"}, "no 01_discrim_eval#results"),
        ({"where": "lib/nothing.py"}, "no lib/nothing.py"),
        ({"where": ""}, "holds, but nowhere"),
        ({"verdict": "surely", "why": "because it must be"}, "unknown verdict 'surely'"),
        ({"verdict": "not shown", "where": ""}, "not shown, but no reason"),
    ],
)
def test_a_row_that_claims_too_much_is_named(changed, told):
    row = {"verdict": "holds", "where": "01_discrim_eval#alpha; data/models.yaml", "why": ""}
    assert problems(row) == []
    assert problems(row | changed) == [told]

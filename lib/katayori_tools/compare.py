"""Runs and models side by side, by the names that users give them.

`make compare A= B=` compares two runs, or two models of one run: their headlines, then every row;
`make compare RUNS=` writes the headlines of any number of them side by side; `make expect` compares
the default run with the expected tables.
"""

import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from katayori import paths, run_folders
from katayori.errors import KatayoriError
from katayori.language import told
from katayori.metrics.intervals import with_interval
from katayori.metrics.verdicts import UNREADABLE
from katayori.report.headlines import (
    ASKED,
    KINDS,
    OF_VERDICT,
    WHOLE,
    WITH_VALUE,
    contrasts,
    read_results,
    side_by_side,
)
from katayori.report.run import FIELDS, harmless
from katayori.report.tables import straight
from katayori_tools import notebooks, reproduce
from katayori_tools.choices import NotebookRun, Papers

SHOWN = 40  # values that are printed of `RUNS=`
#: What tells the rows of a run apart.
IDENTITY = ["paper", "requirement", "what", "model", "cell"]
NOTE = (
    "Where both answered the same items, their errors go together; the intervals and p above take"
    " no account of that, and notebook 00 compares the answers item by item. p after Holm: over"
    " all headlines that could be tested. The intervals are not adjusted."
)
WIDTH = 100  # characters of a line

Side = tuple[str, pd.DataFrame, list[str]]  # a run, its results, and the models that are meant


# -- names -----------------------------------------------------------------------------------------


def find_runs(name: str) -> list[Path]:
    """The runs that a name means: a folder, a profile, or a run's models or label."""
    for folder in (Path(name), paths.outputs_dir() / name) if name else ():
        if run_folders.is_paper(folder) or run_folders.is_run(folder):
            return [folder]
    parts = [paths.safe_name(part) for part in re.split(r"[,+\s]+", name) if part]
    wanted = {name, paths.safe_name(name), "+".join(parts)}
    below = sorted(paths.outputs_dir().glob("[!.]*/[!.]*/"))
    named = [path for path in below if path.name in wanted and run_folders.is_run(path)]
    return named or run_folders.runs_of(name)


def label(run: Path) -> str:
    """The name of a run: its folder below `outputs`, or its path where it lies elsewhere.

    Example:
        >>> label(paths.outputs_dir() / "live" / "my-model@custom")
        'live/my-model@custom'
    """
    outputs, folder = paths.outputs_dir().resolve(), run.resolve()
    return (folder.relative_to(outputs) if folder.is_relative_to(outputs) else folder).as_posix()


def side_of(name: str, profile: str) -> Side:
    """What a name means: a run with the models that were asked (or, where none was, all of them),
    or a model in the first run of the profile that has it.

    Of a model the rows of others are no headlines; they stay, as a row is known by its number.
    KatayoriError, naming runs and models, where it means nothing, and where it means several runs.
    """
    found, inside = (
        {label(folder): read_results(folder) for folder in find_runs(one)}
        for one in (name, profile)
    )
    runs = {run: rows for run, rows in found.items() if len(rows)}
    if len(runs) > 1:
        raise KatayoriError(f"'{name}' means several runs: {', '.join(runs)}; name one of them")
    for run, rows in runs.items():
        asked = rows[rows["source"].isin(ASKED)]
        return run, rows, [*(rows if asked.empty else asked)["model"].dropna().unique()]
    if found:
        raise KatayoriError(f"the run '{name}' holds no results yet: see make reproduce, make live")
    for run, rows in inside.items():
        if (is_its := rows["model"] == name).any():
            return run, rows.assign(headline=rows["headline"] & is_its), [name]
    profiles = (path.name for path in sorted(paths.outputs_dir().glob("[!.]*/")))
    there = [label(run) for one in profiles for run in run_folders.runs_of(one)]
    told = f"runs: {', '.join(there) or 'none yet, see make reproduce'}"
    models = sorted({model for rows in inside.values() for model in rows["model"].dropna()})
    if models:
        told += f"; models in {', '.join(inside)}: {', '.join(models)}"
    raise KatayoriError(f"nothing to compare under '{name}'; {told}")


def chosen(
    names: Sequence[str], profile: str, papers: Sequence[str] = ()
) -> list[tuple[str, pd.DataFrame]]:
    """Run and results of each name (`side_of`), of these papers (empty: all).

    KatayoriError for a name that means nothing, and for one without a headline.
    """
    found = []
    for name in dict.fromkeys(names):
        run, rows, _ = side_of(name, profile)
        own = rows[rows["paper"].isin(papers or rows["paper"])]
        if side_by_side([(run, own)]).empty:
            there = ", ".join(sorted(rows["paper"].unique()))
            wanted = f" of {', '.join(papers)}" if papers else ""
            raise KatayoriError(f"'{name}' has no headline{wanted} to compare; it has {there}")
        found.append((run, own))
    return found


# -- two of them -----------------------------------------------------------------------------------


def _pair(names: Sequence[str], profile: str, papers: Sequence[str]) -> list[pd.DataFrame]:
    """The rows of the models that both names mean, or of one model each, of the papers in both."""
    (run_a, all_a, a), (run_b, all_b, b) = (side_of(name, profile) for name in names)
    if (run_a, a) == (run_b, b):
        raise KatayoriError(f"{' and '.join(names)} are the same: name two models or two runs")
    shared = set(a) & set(b) if run_a != run_b else set()
    if not shared and (len(a), len(b)) != (1, 1):
        has = f"'{names[0]}' has answers of {', '.join(a)}; '{names[1]}' has answers of"
        remedy = "name one model of each: make compare A=<model> B=<model>"
        raise KatayoriError(f"their rows cannot be paired: {has} {', '.join(b)}; {remedy}")
    pair = all_a[all_a["model"].isin(shared or a)], all_b[all_b["model"].isin(shared or b)]
    if not shared:
        # One model is compared with another: the name of both tells no row apart.
        pair = pair[0].assign(model=f"{a[0]} / {b[0]}"), pair[1].assign(model=f"{a[0]} / {b[0]}")
    in_a, in_b = (sorted(rows["paper"].unique()) for rows in pair)
    both = [paper for paper in in_a if paper in in_b and paper in (papers or in_a)]
    of_each = f"'{names[0]}' has {', '.join(in_a)}; '{names[1]}' has {', '.join(in_b)}"
    if not both:
        asked = f" of {', '.join(papers)}" if papers else ""
        raise KatayoriError(f"no paper{asked} is in both: {of_each}")
    if in_a != in_b and not papers:
        print(f"compared: {', '.join(both)}, the papers in both; {of_each}", file=sys.stderr)
    return [rows[rows["paper"].isin(both)] for rows in pair]


def join(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """One row for each result of A or B, headlines first.

    `difference` is B - A; there is none where the status of either allows no value.
    """
    a, b = (
        side.assign(cell=[" ".join(f"{k}={v}" for k, v in cell.items()) for cell in side["cell"]])
        for side in (a, b)
    )
    # Of rows that nothing tells apart the first belongs to the first.
    a, b = (
        side.assign(nth=side.groupby(IDENTITY, dropna=False).cumcount()).astype({"value": float})
        for side in (a, b)
    )
    out = a.merge(b, "outer", [*IDENTITY, "nth"], suffixes=("_a", "_b"), indicator="only_in")
    with_value = out["status_a"].isin(WITH_VALUE) & out["status_b"].isin(WITH_VALUE)
    out = out.assign(
        headline=out["headline_a"].fillna(out["headline_b"]).astype(bool),
        unit=out["unit_a"].fillna(out["unit_b"]),
        difference=(out["value_b"] - out["value_a"]).where(with_value),
        only_in=out["only_in"].map({"both": "", "left_only": "A", "right_only": "B"}),
    )
    fields = ("dataset", "prompt_id", "value", "status", "source")
    ends = [f"{name}_{side}" for name in fields for side in "ab"]
    shown = out[[*IDENTITY, "headline", "unit", "difference", *ends, "only_in"]]
    return shown.sort_values("headline", ascending=False, kind="stable")


def lines(frame: pd.DataFrame) -> Iterator[str]:
    """`contrasts` for a terminal: three lines a headline, four where answers are unreadable."""
    several = frame["model"].nunique() > 1
    for kind, heading in KINDS.items():
        own = frame[frame["kind"] == kind]
        yield from ("", heading) if len(own) else ()
        for (paper, model), rows in own.groupby(["paper", "model"], sort=False, dropna=False):
            yield f"{paper}, {model}" if several else str(paper)
            for row in rows.to_dict("records"):
                yield f"  {row['measure']}"
                yield f"    A {row['shown_a']}, B {row['shown_b']}"
                yield f"    {_difference(row)}{row['verdict']}"
                yield from _unreadable(row)


def _difference(row: dict[Any, Any]) -> str:
    if np.isnan(row["difference"]):
        return ""
    digits = 0 if row["unit"] in WHOLE else 3
    value = row | {"value": row["difference"]}
    told = f"B - A {with_interval(value, digits=digits, scale=1, signed=True)}  "
    if np.isnan(row["p"]):
        return told
    p, p_holm = (f"{row[n]:.3f}" if row[n] >= 0.001 else "<0.001" for n in ("p", "p_holm"))
    return f"{told}p {p} (Holm {p_holm})  "


def _unreadable(row: dict[Any, Any]) -> Iterator[str]:
    shares = {"A": row["unreadable_a"], "B": row["unreadable_b"]}
    if not any(share > UNREADABLE for share in shares.values()):
        return
    known = (f"{side} {100 * share:.1f} %" for side, share in shares.items() if share == share)
    told = f"    unreadable: {', '.join(known)}"
    ends = f"{row['lowest']:+z.3f} to {row['highest']:+z.3f} whatever they would have been"
    ends = "bounds not known" if np.isnan(row["lowest"]) else ends
    yield told if np.isnan(row["difference"]) else f"{told}; B - A {ends}"


def compare(
    a: str = "", b: str = "", *, profile: str = "recorded", papers: Papers = "", runs: str = ""
) -> None:
    """Prints the headlines of both, writes them to outputs/compare/<A>-<B>-headlines.csv and every
    row to outputs/compare/<A>-<B>.csv; with `runs`, those of all of these side by side.

    Args:
        a: a profile, a run folder, a label, or a model. b: the other one. profile: the run that
            holds the models. papers: by name or number (all). runs: two or more names of these:
            their headlines side by side, as a table.
    """
    wanted = notebooks.names(papers)
    names = list(dict.fromkeys(notebooks.names(runs)))
    if len(names) > 1:
        frame = side_by_side(chosen(names, profile, wanted))
        path = _written(frame, names)
        shown = frame.head(SHOWN)[["paper", "measure", "name", "shown", "n"]]
        words = {one: shown[one].map(told, na_action="ignore") for one in ("measure", "shown")}
        print(straight(shown.assign(**words), na_rep="-"))
        print(f"{len(frame)} values of {frame['name'].nunique()} models: {path}", file=sys.stderr)
        return
    if runs or not a or not b:
        raise KatayoriError(
            "name two or more that differ: make compare A=<run or model> B=<run or model>, or"
            ' RUNS="<run or model> <run or model> ..."'
        )
    sides = _pair([a, b], profile, wanted)
    frame, headlines = join(*sides), contrasts(*sides)
    path = _written(frame, [a, b])
    _written(headlines, [a, b], "-headlines")
    note = fill(NOTE if len(headlines) else "neither has a headline", WIDTH)
    print(f"A = {a}, B = {b}", *lines(headlines), "", note, sep="\n")
    print(f"{(~frame['headline']).sum()} more rows (by category, topic, test ...) in {path}")


def _written(frame: pd.DataFrame, names: Sequence[str], ending: str = "") -> Path:
    """The file of a comparison, written."""
    plain = (re.sub("[/@]", "_", name.strip("/.")) for name in names)
    path = paths.outputs_dir() / "compare" / f"{paths.safe_name('-'.join(plain))}{ending}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    harmless(frame).to_csv(path, index=False)
    return path


# -- the expected tables ---------------------------------------------------------------------------
# What every notebook's default run computes, committed below data/expected: `<paper>/` holds one
# CSV for each file in the run's `tables/`, `results.csv` with the rows of its results.json, and in
# `figures/` what each figure draws (`run.Run.figure`).
#
# Two cells are the same if their texts are the same, or if both are numbers, at least one of them
# no whole number, and they differ by at most `RELATIVE` of the value or by `ABSOLUTE`. So counts
# and texts are compared exactly, and a zero may be a rounding error elsewhere. Numbers are stored
# with ten significant digits, far more than the comparison needs. A row is found by its key
# (`_labelled`), not by its number, so a row or a column more does not shift the others.

FOLDER = reproduce.EXPECTED
PROFILE = "recorded"
RELATIVE, ABSOLUTE = 1e-7, 1e-12
FIRST = 5  # differences that are printed of a table
#: Fields that only some results have; they are columns where one of these has them.
OPTIONAL = ("variant", *OF_VERDICT)
#: `difference` is value - published, and of near numbers it has few digits.
LAST = ("published", "verdict", *OPTIONAL)
RESULT_COLUMNS = [name for name in FIELDS if name not in ("paper", "difference", *LAST)] + [*LAST]
#: Texts that are values of a row and never part of its key.
SAID = {"verdict", "status", "why"}
INTEGER = re.compile(r"[+-]?\d+")
NUMERAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)


def same(a: str, b: str) -> bool:
    """Whether two cells are the same, as said above."""
    are_numbers = NUMERAL.fullmatch(a) and NUMERAL.fullmatch(b)
    if not are_numbers or (INTEGER.fullmatch(a) and INTEGER.fullmatch(b)):
        return a == b
    is_near = math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return is_near or a.lower() == b.lower()


def differing(expected: pd.DataFrame, got: pd.DataFrame) -> list[str]:
    """The differences of two tables of texts, a line each: columns, rows, cells of shared rows."""
    shared = [str(name) for name in expected if name in got]
    key = [name for name in shared if name not in SAID and _is_text(expected[name], got[name])]
    a, b = _labelled(expected, key), _labelled(got, key)
    lines = []
    for what, was, now in (("column", a.columns, b.columns), ("row", a.index, b.index)):
        lines += [f"{what} gone: {one}" for one in was.difference(now, sort=False)]
        lines += [f"{what} new: {one}" for one in now.difference(was, sort=False)]
        both = was.intersection(now, sort=False)
        moved = list(both) != list(now[now.isin(both)])
        lines += [f"{what}s in another order"] * moved
    for name in shared:
        for row, was, now in zip(both, a[name][both], b[name][both], strict=True):
            if was != now and not same(was, now):
                told = f"expected {was or 'nothing'}, got {now or 'nothing'}"
                lines.append(f"{row}, {name}: {told}")
    return lines


def _is_text(*columns: pd.Series) -> bool:
    """Whether a column holds words, and no number but whole ones (levels such as 20)."""
    cells = {cell for column in columns for cell in column} - {""}
    numbers = {cell for cell in cells if NUMERAL.fullmatch(cell)}
    return cells > numbers and all(map(INTEGER.fullmatch, numbers))


def _labelled(table: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """The rows by the words of their key, and which of those with these words each is."""
    words = pd.Series([" / ".join(filter(None, row)) or "row" for row in table[key].to_numpy()])
    nth = words.groupby(words).cumcount()
    again = " (" + (nth + 1).astype(str) + ")"
    return table.set_axis(pd.Index(words + again.where(nth > 0, ""), dtype=object))


def differences(
    expected: dict[str, pd.DataFrame], got: dict[str, pd.DataFrame]
) -> dict[str, list[str]]:
    """The differences of two folders of tables, by table."""
    shared = expected.keys() & got.keys()
    found = {name: differing(expected[name], got[name]) for name in shared}
    found |= {name: ["table gone"] for name in expected.keys() - shared}
    found |= {name: ["table new"] for name in got.keys() - shared}
    return {name: found[name] for name in sorted(found) if found[name]}


def read_csv(path: Path) -> pd.DataFrame:
    """A CSV file as text; an empty line is an empty cell."""
    return pd.read_csv(path, dtype=str, na_filter=False, skip_blank_lines=False)


def read_tables(tables: Path, figures: Path) -> dict[str, pd.DataFrame]:
    """The tables of two folders by name; what figures plot is `figures/...`."""
    found = {path.stem: read_csv(path) for path in tables.glob("*.csv")}
    return found | {f"figures/{path.stem}": read_csv(path) for path in figures.glob("*.csv")}


def read_expected(paper: str) -> dict[str, pd.DataFrame]:
    """The tables that are expected of a paper."""
    folder = paths.data_dir() / FOLDER / paper
    return read_tables(folder, folder / "figures")


def read_run(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of a run folder, what its figures plot, and results.json as `results`.

    KatayoriError where the notebook has not run.
    """
    file = folder / "results.json"
    if not file.is_file():
        raise KatayoriError(f"{folder} holds no results.json: run `make reproduce`")
    rows = json.loads(file.read_text(encoding="utf-8"))
    results = pd.DataFrame(rows, columns=RESULT_COLUMNS, dtype=object)
    results["cell"] = [json.dumps(cell, ensure_ascii=False) for cell in results["cell"]]
    blank = [name for name in OPTIONAL if results[name].isna().all()]
    found = read_tables(folder / "tables", folder / "figures")
    return found | {"results": results.drop(columns=blank).fillna("").astype(str)}


def rounded(text: str) -> str:
    """A cell as it is stored: of a long number that counts nothing, ten significant digits."""
    is_long = len(text) > 11 and NUMERAL.fullmatch(text) and not INTEGER.fullmatch(text)
    return f"{float(text):.10g}" if is_long else text


def require_default_run(papers: list[str]) -> None:
    """KatayoriError unless the papers' run folders are the default run of this checkout."""
    run = NotebookRun(papers=",".join(papers), profile=PROFILE)
    shared = reproduce.shared_inputs()
    for job in reproduce.planned(run):
        if reason := reproduce.stale(job, shared):
            raise KatayoriError(
                f"the default run of {job.paper} is out of date ({reason}): run `make reproduce`"
            )


def expect(*, papers: Papers = "") -> None:
    """`make expect`: the expected tables from the run of the default profile, and what changed.

    A table without a difference keeps its file to the byte, whatever its last digits are here.

    Args:
        papers: by name or number (all).
    """
    chosen = list(notebooks.choose(papers))
    require_default_run(chosen)
    # All are read first: what is missing or damaged is said before anything is written.
    tables = {paper: read_run(paths.outputs_dir() / PROFILE / paper) for paper in chosen}
    for paper, got in tables.items():
        changes = differences(read_expected(paper), got)
        print(f"{paper}: {f'{len(changes)} tables differ' if changes else 'nothing differs'}")
        for name, lines in changes.items():
            more = f"  … and {len(lines) - FIRST} more"
            print(f"  {name}:", *lines[:FIRST], *[more] * (len(lines) > FIRST), sep="\n    ")
            path = paths.data_dir() / FOLDER / paper / f"{name}.csv"
            if name in got:
                path.parent.mkdir(parents=True, exist_ok=True)
                got[name].map(rounded).to_csv(path, index=False, lineterminator="\n")
            else:
                path.unlink()

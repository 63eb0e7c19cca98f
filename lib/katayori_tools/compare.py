"""Runs and models side by side, by the names that users give them.

`make compare A= B=` compares two runs, or two models of one run: their headlines, then every row;
`make compare RUNS=` writes the headlines of any number of them side by side; `make expect` compares
the default run with the expected tables.
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from katayori import paths, run_folders
from katayori.errors import KatayoriError
from katayori.metrics.holm import holm
from katayori.metrics.intervals import with_interval
from katayori.metrics.verdicts import ALPHA, UNREADABLE
from katayori.report.headlines import (
    NUMBERS,
    OF_VERDICT,
    WHOLE,
    WITH_VALUE,
    headlines,
    read_results,
)
from katayori.report.run import FIELDS, harmless
from katayori.report.tables import visible
from katayori_tools import notebooks, reproduce
from katayori_tools.choices import NotebookRun, Papers

SHOWN = 40  # values that are printed of `RUNS=`
#: Where the answers come from of models that were asked.
ASKED = ("recorded", "live", "imported")
IDENTITY = ("paper", "requirement", "what", "model", "dataset", "prompt_id", "cell")
#: What tells headlines apart.
HEADLINE = ("paper", "kind", "measure", "model", "prompt_id", "cell")
#: What two sides may differ in where the same result is meant.
COMPARED = ("model", "dataset", "prompt_id")
SIDES = {"both": "", "left_only": "A", "right_only": "B"}
#: The kinds of headlines in the order in which they are printed.
KINDS = {"bias": "Biases", "ability": "Abilities", "description": "Descriptions"}
#: Of `contrasts`.
CONTRASTS = (
    *("paper", "kind", "measure", "model", "unit", "shown_a", "shown_b"),
    *("difference", "ci_low", "ci_high", "p", "p_holm", "lowest", "highest"),
    *("unreadable_a", "unreadable_b", "verdict"),
)
NOT_SHOWN = "not shown to differ"
NOTE = (
    "Where both answered the same items, their errors go together; the intervals and p above take"
    " no account of that, and notebook 00 compares the answers item by item. p after Holm: over"
    " all headlines that could be tested. The intervals are not adjusted."
)
WIDTH = 100  # characters of a line
BOUNDS = ("low_bound", "high_bound")


# -- names -----------------------------------------------------------------------------------------


class Side(NamedTuple):
    """What a name means: a run with the models that were asked, or one model of a run.

    `rows` are all of the run, as a row is known by its number; of a model the others are no
    headlines.
    """

    name: str
    run: str
    rows: pd.DataFrame
    models: list[str]
    is_run: bool


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
    """What a name means: a run, or a model in the first run of the profile that has it.

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
        asked = rows.loc[rows["source"].isin(ASKED), "model"].dropna().unique()
        return Side(name, run, rows, list(asked), True)
    if found:
        raise KatayoriError(f"the run '{name}' holds no results yet: see make reproduce, make live")
    for run, rows in inside.items():
        is_its = rows["model"] == name
        if is_its.any():
            return Side(name, run, rows.assign(headline=rows["headline"] & is_its), [name], False)
    profiles = (path.name for path in sorted(paths.outputs_dir().glob("[!.]*/")))
    there = [label(run) for one in profiles for run in run_folders.runs_of(one)]
    told = f"runs: {', '.join(there) or 'none yet, see make reproduce'}"
    models = sorted({model for rows in inside.values() for model in rows["model"].dropna()})
    if models:
        told += f"; models in {', '.join(inside)}: {', '.join(models)}"
    raise KatayoriError(f"nothing to compare under '{name}'; {told}")


# -- any number of them ----------------------------------------------------------------------------


def chosen(
    names: Sequence[str], profile: str, papers: Sequence[str] = ()
) -> list[tuple[str, pd.DataFrame]]:
    """Run and results of what each name means: a run with all models that were asked, or one model.

    Args:
        names: runs (a folder, a profile, a label) or models. profile: the run whose models can be
            named. papers: only these; empty, all.

    Raises:
        KatayoriError: a name that means nothing, or several runs; a run that holds no result, or
            none of these papers.
    """
    found = []
    for name in dict.fromkeys(names):
        side = side_of(name, profile)
        rows = side.rows[side.rows["paper"].isin(papers)] if papers else side.rows
        if side_by_side([(side.run, rows)]).empty:
            there = ", ".join(sorted(side.rows["paper"].unique()))
            wanted = f" of {', '.join(papers)}" if papers else ""
            raise KatayoriError(f"'{name}' has no headline{wanted} to compare; it has {there}")
        found.append((side.run, rows))
    return found


def side_by_side(runs: Iterable[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """The headlines of every model of any number of runs, a row a value; empty without any.

    Nothing is added up: there is no single score and no order of models.

    Args:
        runs: name and results (`read_results`) of each. Of a run in which models were
            asked these are shown, else its simulated respondents. A row that two entries of one
            run have is shown once.

    Returns:
        The columns of `headlines`, run, and name (the model, with its run where two runs have it;
        a run that is called by the model, as `live/my-model@custom`, is told by its first part,
        unless another run bears that name).
        Papers, measures, runs and models stand in the order in which they first come.

    Example:
        >>> import pandas as pd
        >>> from katayori.report.run import FIELDS
        >>> row = dict.fromkeys(FIELDS) | {"paper": "mine", "model": "m", "source": "live"}
        >>> row |= {"what": "lean", "headline": True, "cell": {}, "value": 0.6, "n": 216}
        >>> rows = pd.DataFrame([row | {"status": "few_clusters"}])
        >>> shown = side_by_side([("a", rows), ("b", rows)])
        >>> shown[["name", "measure", "shown"]].values.tolist()
        [['m (a)', 'lean', 'too little data'], ['m (b)', 'lean', 'too little data']]
    """
    parts = []
    for run, rows in runs:
        found = headlines(rows)
        is_asked = found["source"].isin(ASKED)
        own = found[is_asked if is_asked.any() else found["source"] == "simulated"]
        parts.append(own.assign(run=run))
    frame = pd.concat(parts).drop_duplicates(["run", "paper", "number"])
    runs_of = frame.groupby("model")["run"].unique().to_dict()
    names = []
    for model, run in zip(frame["model"], frame["run"], strict=True):
        short = run.removesuffix(f"/{model}")
        told = run if short in runs_of[model] else short
        names.append(f"{model} ({told})" if len(runs_of[model]) > 1 else str(model))
    frame["name"] = names
    by_measure = frame.groupby(["paper", "measure"], sort=False).ngroup()
    return frame.iloc[by_measure.argsort(kind="stable")].reset_index(drop=True)


# -- two of them -----------------------------------------------------------------------------------


def _pair(a: Side, b: Side, papers: Sequence[str]) -> list[pd.DataFrame]:
    """The rows of both sides, of the papers that both have.

    Where either is a model, or each run asked one other model, only those models' rows.
    """
    if (a.run, a.models) == (b.run, b.models):
        raise KatayoriError(f"'{a.name}' and '{b.name}' are the same: name two models or two runs")
    are_runs = a.is_run and b.is_run
    if len(a.models) == len(b.models) == 1:
        rows = [
            side.rows
            if are_runs and a.models == b.models
            # One model is compared with another.
            else side.rows[side.rows["model"] == side.models[0]]
            for side in (a, b)
        ]
    else:
        # Both asked a model or, where one asked nobody, both have a respondent.
        has_a, has_b = (
            set(side.models if a.models and b.models else side.rows["model"].dropna())
            for side in (a, b)
        )
        if not are_runs or has_a.isdisjoint(has_b):
            has = (
                f"'{one.name}' has answers of {', '.join(one.models) or 'no model'}"
                for one in (a, b)
            )
            remedy = "name one model of each: make compare A=<model> B=<model>"
            raise KatayoriError(f"their rows cannot be paired: {'; '.join(has)}; {remedy}")
        rows = [a.rows, b.rows]
    in_a, in_b = (sorted(set(side["paper"])) for side in rows)
    both = [paper for paper in in_a if paper in in_b and paper in (papers or in_a)]
    of_each = f"'{a.name}' has {', '.join(in_a)}; '{b.name}' has {', '.join(in_b)}"
    if not both:
        asked = f" of {', '.join(papers)}" if papers else ""
        raise KatayoriError(f"no paper{asked} is in both: {of_each}")
    if in_a != in_b and not papers:
        print(f"compared: {', '.join(both)}, the papers in both; {of_each}", file=sys.stderr)
    return [side[side["paper"].isin(both)] for side in rows]


def _matched(a: pd.DataFrame, b: pd.DataFrame, identity: tuple[str, ...]) -> pd.DataFrame:
    """One row for each result of A or B; fields of theirs end in `_a` and `_b`.

    A field of `COMPARED` with one value in A and another in B is what is being compared, so it does
    not tell rows apart; the source of answers does only where rows would be confused without it.
    """
    a, b = (
        side.assign(cell=[" ".join(f"{k}={v}" for k, v in cell.items()) for cell in side["cell"]])
        for side in (a, b)
    )
    compared: dict[str, str] = {}  # the fields that are compared, and their two values
    for field in COMPARED:
        values = [*a[field].unique(), *b[field].unique()] if field in identity else []
        if len(values) == 2 and values[0] != values[1]:
            compared[field] = f"{values[0]} / {values[1]}"
    keys = [field for field in identity if field not in compared]
    if a.duplicated(keys).any() or b.duplicated(keys).any():
        a, b = (side.assign(source_again=side["source"]) for side in (a, b))
        keys.append("source_again")
    out = a.merge(b, "outer", keys, suffixes=("_a", "_b"), indicator="only_in")
    out = out.astype({"value_a": float, "value_b": float, "only_in": str}).assign(**compared)
    out["unit"] = out["unit_a"].fillna(out["unit_b"])
    return out.assign(only_in=out["only_in"].map(SIDES))


def join(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """One row for each result of A or B, headlines first.

    `difference` is B - A; there is none where the status of either allows no value.
    """
    out = _matched(a, b, IDENTITY)
    with_value = out["status_a"].isin(WITH_VALUE) & out["status_b"].isin(WITH_VALUE)
    out["difference"] = (out["value_b"] - out["value_a"]).where(with_value)
    out["headline"] = out["headline_a"].fillna(out["headline_b"]).astype(bool)
    ends = [f"{name}_{side}" for name in ("value", "status", "source") for side in "ab"]
    shown = out[[*IDENTITY, "headline", "unit", "difference", *ends, "only_in"]]
    return shown.sort_values("headline", ascending=False, kind="stable")


def contrasts(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """The headlines of two sides and their differences, biases first.

    The joint interval of d = B - A takes the errors of A and B as independent: its lower end is d -
    t.975 sqrt(below_B^2 + above_A^2), its upper end d + t.975 sqrt(above_B^2 + below_A^2), where
    below and above are the standard errors that the two halves of a 95 % interval imply (half /
    t.975 on the own number of clusters less one) and t has the smaller of both numbers. It ends
    where a difference must: at -1 and 1 of two shares, at -2 and 2 of what lies between -1 and 1. p
    is two sided, by t, with the error of the end that faces 0.

    False alarms at 5 %, simulated: two models with the same share (.02, .1, .5), 5, 10, 20 and 70
    clusters of 1, 4 and 24 answers, with and without effects of items that both share, 4,000 draws
    a cell: at most .046 in 144 cells, and the lower the more the items are shared; 20 clusters
    against 70: at most .044. By half of the whole width they were up to .114, at 5 clusters of one
    answer. The largest of several gaps has an interval for all of them and is compared where it is
    that of the same level in both models: 2, 3 and 5 levels, 20 and 70 clusters, 4,000 draws: an
    alarm in at most .021 of all draws, in .092 of those with the same level (5 levels, no gaps).

    Args:
        a, b: results of `results.read_results`.

    Returns:
        `CONTRASTS`: the values as texts, B - A with its interval, p and p after Holm over all
        headlines that could be tested (descriptions are not), between which values the difference
        lies whatever unreadable answers would have been, the shares of these, and the verdict in
        words.

    Source: G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008), 1693-1702, for the halves.
    """
    from scipy.stats import t

    a, b = headlines(a), headlines(b)
    names = [*KINDS, *a["measure"], *b["measure"]]
    places = {name: n for n, name in enumerate(dict.fromkeys(names))}
    out = _matched(a, b, HEADLINE).sort_values(
        ["kind", "paper", "model", "measure"],
        key=lambda names: names.map(places) if names.name in ("kind", "measure") else names,
    )
    words = ["shown_a", "shown_b", "instead_a", "instead_b"]
    out[words] = out[words].astype(object).fillna("not among its headlines")
    of_a, of_b = (_side(out, side) for side in ("a", "b"))
    df = np.minimum(of_a["df"], of_b["df"])
    down = (of_b["below"] ** 2 + of_a["above"] ** 2) ** 0.5
    up = (of_b["above"] ** 2 + of_a["below"] ** 2) ** 0.5
    difference = of_b["value"] - of_a["value"]
    p = 2 * t.sf(difference.abs() / down.where(difference > 0, up), df)
    # Alpha moves with the noise of answering: two of them differ without any bias.
    p = np.where(out["kind"] == "description", np.nan, p)
    # The largest there can be: 2 of what lies between -1 and 1, 1 of other shares. A sign tells a
    # bias whose line is 0; no ability has one.
    has_sign = (out["line_a"] == 0) & (out["kind"] != "ability")
    most = (1.0 + has_sign).where(out["unit"].isin(["share", "probability"]), np.inf)
    out = out.assign(
        difference=difference,
        ci_low=(difference - t.ppf(0.975, df) * down).clip(lower=-most),
        ci_high=(difference + t.ppf(0.975, df) * up).clip(upper=most),
        p=p,
        p_holm=holm(p),
        lowest=of_b["lowest"] - of_a["highest"],
        highest=of_b["highest"] - of_a["lowest"],
        unreadable_a=of_a["unreadable"],
        unreadable_b=of_b["unreadable"],
    )
    told = [_verdict(row) for row in out.to_dict("records")]
    return out.assign(verdict=told).reset_index(drop=True)[list(CONTRASTS)]


def _side(out: pd.DataFrame, side: str) -> pd.DataFrame:
    """Of one side: value, errors below and above it with their df, bounds, unreadable share."""
    from scipy.stats import t

    own = out[[f"{name}_{side}" for name in (*NUMBERS, "clusters", "n", "n_invalid")]].astype(float)
    own = own.rename(columns=lambda name: name.removesuffix(f"_{side}"))
    own.loc[out[f"instead_{side}"] != "", ["value", *BOUNDS]] = np.nan
    df = own["clusters"].fillna(np.inf) - 1
    # An interval without width comes from answers that never vary.
    quantile = pd.Series(t.ppf(0.975, df), df.index).where(own["ci_high"] > own["ci_low"])
    all_read = own["value"].where(own["n_invalid"].fillna(0) == 0)
    return own.assign(
        df=df,
        below=(own["value"] - own["ci_low"]) / quantile,
        above=(own["ci_high"] - own["value"]) / quantile,
        lowest=own["low_bound"].fillna(all_read),
        highest=own["high_bound"].fillna(all_read),
        unreadable=own["n_invalid"] / (own["n"] + own["n_invalid"]),
    )


def _verdict(row: dict[Any, Any]) -> str:
    why_a, why_b = row["instead_a"], row["instead_b"]
    if why_a or why_b:
        told = {"A": why_a, "B": why_b} if why_a != why_b else {"A and B": why_a}
        reasons = "; ".join(f"{side}: {why}" for side, why in told.items() if why)
        return f"cannot be compared: {reasons}"
    if np.isnan(row["p"]):
        return f"not tested: {'a description' if row['kind'] == 'description' else 'no interval'}"
    if row["p_holm"] > ALPHA:
        return NOT_SHOWN
    if row["lowest"] <= 0 <= row["highest"]:
        return f"{NOT_SHOWN}: unreadable answers"
    is_open = np.isnan(row["lowest"]) and _is_unreadable(row)
    return "differs among the readable answers" if is_open else "differs"


def _is_unreadable(row: dict[Any, Any]) -> bool:
    return row["unreadable_a"] > UNREADABLE or row["unreadable_b"] > UNREADABLE


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
                yield f"    {_contrast(row)}{row['verdict']}"
                yield from _of_unreadable(row) if _is_unreadable(row) else ()


def _contrast(row: dict[Any, Any]) -> str:
    if np.isnan(row["difference"]):
        return ""
    digits = 0 if row["unit"] in WHOLE else 3
    value = row | {"value": row["difference"]}
    told = f"B - A {with_interval(value, digits=digits, scale=1, signed=True)}  "
    if np.isnan(row["p"]):
        return told
    p, p_holm = (f"{row[n]:.3f}" if row[n] >= 0.001 else "<0.001" for n in ("p", "p_holm"))
    return f"{told}p {p} (Holm {p_holm})  "


def _of_unreadable(row: dict[Any, Any]) -> Iterator[str]:
    shares = {"A": row["unreadable_a"], "B": row["unreadable_b"]}
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
        _side_by_side(names, profile, wanted)
        return
    if runs or not a or not b:
        raise KatayoriError(
            "name two or more that differ: make compare A=<run or model> B=<run or model>, or"
            ' RUNS="<run or model> <run or model> ..."'
        )
    sides = _pair(side_of(a, profile), side_of(b, profile), wanted)
    frame, told = join(*sides), contrasts(*sides)
    path = _written(frame, [a, b])
    _written(told, [a, b], "-headlines")
    shown = frame[frame["headline"]] if frame["headline"].any() else frame
    asked = ", ".join(map(str, shown["model"].dropna().unique()))
    print(visible(f"A = {a}, B = {b}; models: {asked}"))
    print(
        *map(visible, lines(told)),
        "",
        fill(NOTE if len(told) else "neither has a headline", WIDTH),
        sep="\n",
    )
    print(f"{(~frame['headline']).sum()} more rows (by category, topic, test ...) in {path}")
    both, only_a, only_b = ((frame["only_in"] == side).sum() for side in SIDES.values())
    print(f"{both} in both, {only_a} only in A, {only_b} only in B", file=sys.stderr)


def _side_by_side(names: Sequence[str], profile: str, papers: Sequence[str]) -> None:
    """Prints the values of all, and writes them to outputs/compare/<names>.csv."""
    frame = side_by_side(chosen(names, profile, papers))
    path = _written(frame, names)
    shown = frame.head(SHOWN)[["paper", "measure", "name", "shown", "n"]]
    print(visible(shown.to_string(index=False, na_rep="-")))
    if len(frame) > SHOWN:
        print(f"... {len(frame) - SHOWN} more values in the file")
    print(f"{len(frame)} values of {frame['name'].nunique()} models: {path}", file=sys.stderr)


def _written(frame: pd.DataFrame, names: Sequence[str], ending: str = "") -> Path:
    """The file of a comparison, written."""
    plain = (re.sub("[/@]", "_", name.strip("/.")) for name in names)
    path = paths.outputs_dir() / "compare" / f"{paths.safe_name('-'.join(plain))}{ending}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.astype(object).map(harmless).to_csv(path, index=False)
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
LONGEST = 120  # characters of a cell that are printed
RESULTS = "results"  # the table made of results.json
#: Fields that only some results have; they are columns where one of these has them.
OPTIONAL = ("variant", *OF_VERDICT)
#: `difference` is value - published, and of near numbers it has few digits.
LEFT_OUT = ("paper", "difference", *OPTIONAL)
#: `published` before `verdict`, as the files have them.
RESULT_COLUMNS = [name for name in FIELDS if name not in (*LEFT_OUT, "verdict", "published")]
RESULT_COLUMNS += ["published", "verdict"]
#: Texts that are values of a row and never part of its key.
SAID = {"verdict", "status", "why"}
INTEGER = re.compile(r"[+-]?\d+")
NUMERAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)


def same(a: str, b: str) -> bool:
    """Whether two cells are the same, as said above."""
    if a == b or not (NUMERAL.fullmatch(a) and NUMERAL.fullmatch(b)):
        return a == b
    is_counted = INTEGER.fullmatch(a) and INTEGER.fullmatch(b)
    x, y = float(a), float(b)
    is_near = math.isclose(x, y, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return not is_counted and (is_near or (math.isnan(x) and math.isnan(y)))


def differing(expected: pd.DataFrame, got: pd.DataFrame) -> list[str]:
    """The differences of two tables of texts, a line each: columns, rows, cells of shared rows."""
    shared = [str(name) for name in expected if name in got]
    lines = _gone_and_new("column", expected.columns, got.columns)
    key = [name for name in shared if name not in SAID and _is_text(expected[name], got[name])]
    a, b = _labelled(expected, key), _labelled(got, key)
    lines += _gone_and_new("row", a.index, b.index)
    both = a.index.intersection(b.index, sort=False)
    for name in shared:
        for row, was, now in zip(both, a[name][both], b[name][both], strict=True):
            if not same(was, now):
                told = f"expected {_short(was) or 'nothing'}, got {_short(now) or 'nothing'}"
                lines.append(f"{_short(row)}, {name}: {told}")
    return lines


def _gone_and_new(what: str, a: pd.Index, b: pd.Index) -> list[str]:
    lines = [f"{what} gone: {one}" for one in a[~a.isin(b)]]
    lines += [f"{what} new: {one}" for one in b[~b.isin(a)]]
    moved = list(a[a.isin(b)]) != list(b[b.isin(a)])
    return lines + [f"{what}s in another order"] * moved


def _is_text(*columns: pd.Series) -> bool:
    """Whether a column holds words, and no number but whole ones (levels such as 20)."""
    cells = {cell for column in columns for cell in column} - {""}
    numbers = {cell for cell in cells if NUMERAL.fullmatch(cell)}
    return cells > numbers and all(map(INTEGER.fullmatch, numbers))


def _labelled(table: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """The rows by the words of their key, and which of those with these words each is."""
    words = [" / ".join(filter(None, row)) or "row" for row in table[key].to_numpy()]
    seen: Counter[str] = Counter()
    label = []
    for row in words:
        seen[row] += 1
        label.append(row if seen[row] == 1 else f"{row} ({seen[row]})")
    return table.set_axis(pd.Index(label, dtype=object))


def _short(text: str) -> str:
    """A cell on one line; a long one is cut."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def differences(
    expected: dict[str, pd.DataFrame], got: dict[str, pd.DataFrame]
) -> dict[str, list[str]]:
    """The differences of two folders of tables, by table."""
    found = {}
    for name in sorted(expected.keys() | got.keys()):
        if name in expected and name in got:
            found[name] = differing(expected[name], got[name])
        else:
            found[name] = ["table new" if name in got else "table gone"]
    return {name: lines for name, lines in found.items() if lines}


def read_csv(path: Path) -> pd.DataFrame:
    """A CSV file as text; an empty line is an empty cell."""
    return pd.read_csv(path, dtype=str, na_filter=False, skip_blank_lines=False)


def read_expected(paper: str) -> dict[str, pd.DataFrame]:
    """The tables that are expected of a paper, by name; those of figures are `figures/...`."""
    folder = paths.data_dir() / FOLDER / paper
    files = [*sorted(folder.glob("*.csv")), *sorted(folder.glob("figures/*.csv"))]
    return {path.relative_to(folder).with_suffix("").as_posix(): read_csv(path) for path in files}


def read_run(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of a run folder, what its figures plot, and results.json as `results`.

    KatayoriError where the notebook has not run, or has a table of that name itself.
    """
    file = folder / "results.json"
    if not file.is_file():
        raise KatayoriError(f"{folder} holds no results.json: run `make reproduce`")
    tables = {path.stem: read_csv(path) for path in sorted(folder.glob("tables/*.csv"))}
    if RESULTS in tables:
        raise KatayoriError(f"{folder} has a table named {RESULTS}, which is kept for results.json")
    plotted = sorted(folder.glob("figures/*.csv"))
    tables |= {f"figures/{path.stem}": read_csv(path) for path in plotted}
    rows = json.loads(file.read_text(encoding="utf-8"))
    columns = [*RESULT_COLUMNS, *(n for n in OPTIONAL if any(r.get(n) is not None for r in rows))]
    cells = [[_text(row.get(name)) for name in columns] for row in rows]
    return tables | {RESULTS: pd.DataFrame(cells, columns=columns, dtype=object)}


def _text(value: object) -> str:
    """A field of results.json as a cell; undefined is empty, a result's `cell` is a JSON object."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value).replace("\r\n", "\n").replace("\r", "\n")


def rounded(text: str) -> str:
    """A cell as it is stored: a number of more than ten significant digits is cut to ten."""
    if INTEGER.fullmatch(text) or not NUMERAL.fullmatch(text) or not math.isfinite(float(text)):
        return text
    shorter = f"{float(text):.10g}"
    if len(shorter) >= len(text):
        return text
    return f"{shorter}.0" if INTEGER.fullmatch(shorter) else shorter


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

"""What run folders hold, and its headlines: the rows that overviews and comparisons show, side by
side and as contrasts of two.

Which rows of results.json they are, whether they measure a bias, an ability or neither, and how a
reader sees them, `headlines` in data/papers/<id>.yaml says.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from katayori import profiles, run_folders
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.metrics.holm import holm
from katayori.metrics.intervals import with_interval
from katayori.metrics.verdicts import ALPHA, NO_VERDICT, UNREADABLE
from katayori.report.run import COUNTS, FIELDS, OF_VALUE
from katayori.report.tables import mark

#: What stands in the result itself.
OF_RESULT = (
    *("paper", "what", "model", "source", "prompt_id", "cell", "value", "ci_low", "ci_high"),
    *("unit", "n", "n_invalid", "clusters", "status", "line", "margin", "limit", "control"),
    *("verdict", "why", "low_bound", "high_bound"),
)
#: Schema 2 added `clusters`; schema 3 the verdict with its line, margin, limit, reason, bounds and
#: control, and the variant of the recording; schema 4 dropped the older names of limit and control.
#: What an earlier version wrote is read all the same.
OF_VERDICT = ("line", "margin", "limit", "why", "low_bound", "high_bound", "control")
ADDED = {"clusters", "variant", *OF_VERDICT}
DROPPED = {"blank", "blank_status", "detects", "detects_status"}
NUMBERS = ("value", *OF_VALUE)
#: A result with another status, or with a verdict that forbids it, has no value to show.
WITH_VALUE = ("ok", "count")
FAILED = "condition did not happen"
#: Units that count things.
WHOLE = ("questions", "items", "cases", "comparisons")
#: Where the answers come from of models that were asked.
ASKED = ("recorded", "live", "imported")
#: The kinds of headlines, and what stands above those of a kind.
KINDS = {"bias": "Biases", "ability": "Abilities", "description": "Descriptions"}
#: What tells headlines apart.
HEADLINE = ["kind", "paper", "model", "measure", "cell"]
NOT_SHOWN = "not shown to differ"


def run_folder(profile: str, models: Sequence[str] = ()) -> Path:
    """The folder of the run of this profile and these models, with a folder for each notebook.

    Raises:
        KatayoriError: an unknown profile; several runs are there and no model says which is meant.
    """
    return run_folders.only_run(profiles.load(profile), models, run_folders.run_label())


def read_results(path: Path) -> pd.DataFrame:
    """The rows of a run folder, or of all run folders in a profile's: columns `FIELDS`.

    Empty where nothing has run. KatayoriError for a damaged file.
    """
    file = path / "results.json"
    files = [file] if file.is_file() else sorted(path.glob("[!.]*/results.json"))
    rows = [row for file in files for row in _rows_of(file)]
    return pd.DataFrame(rows, columns=list(FIELDS))


def _rows_of(file: Path) -> Any:
    with suppress(ValueError, TypeError):
        rows = json.loads(file.read_text(encoding="utf-8"))
        if all((set(row) | ADDED) - DROPPED == set(FIELDS) for row in rows):
            return rows
    remedy = "delete it and run `make reproduce`."
    raise KatayoriError(f"{file} is not a results file of this version: {remedy}")


def read_tables(folder: Path, name: str, columns: Sequence[str]) -> pd.DataFrame:
    """The kept tables of one name of all notebooks of a run, one below the other.

    Args:
        folder: of the run. name: of the tables. columns: those wanted.

    Returns:
        paper (the id) and the columns; those that no table has are empty.

    Example:
        >>> read_tables(Path("no run"), "components", ["model", "share"]).columns.tolist()
        ['paper', 'model', 'share']
    """
    files = sorted(folder.glob(f"[!.]*/tables/{name}.csv"))
    tables = [pd.read_csv(file).assign(paper=file.parents[1].name) for file in files]
    none = pd.DataFrame(columns=["paper", *columns], dtype=object)
    whole = pd.concat(tables or [none], ignore_index=True)
    # Columns that are lacking may be of texts, which notebooks join and compare.
    return whole.join(none[none.columns.difference(whole.columns)])[["paper", *columns]]


def headlines(results: pd.DataFrame) -> pd.DataFrame:
    """The headline rows of one or more papers, a model below the other.

    Args:
        results: of `read_results`.

    Returns:
        number (of the row in its results.json, from 1), the fields of the result, kind (`bias`,
        `ability` or `description`), side (-1 or 1 where only values below or above the line are a
        bias, else 0), measure (in a reader's words), means (what to read it against),
        instead (why there is no value, in words; empty where there is one), shown (the value with
        its interval, or these words).

        Of a paper without an entry all rows that are marked headline.

    Example:
        >>> import pandas as pd
        >>> from katayori.report.run import FIELDS
        >>> row = dict.fromkeys(FIELDS) | {"paper": "mine", "what": "lean", "model": "m"}
        >>> row |= {"cell": {}, "headline": True, "value": 0.1, "line": 0.0, "n": 40}
        >>> row |= {"status": "ok"}
        >>> other = row | {"verdict": "position bound", "status": "position_bound"}
        >>> headlines(pd.DataFrame([row, other]))["shown"].tolist()
        ['+0.100', 'answers by position']
    """
    numbered = results.assign(number=results.groupby("paper").cumcount() + 1)
    marked = numbered[numbered["headline"].astype(bool)]
    rows = [
        row | {"side": 0, **entry, "measure": _label(entry["label"], row["cell"])}
        for (paper, _), own in marked.groupby(["paper", "model"], sort=False, dropna=False)
        for entry in of_paper(str(paper)).get("rows") or map(_entry, own["what"].unique())
        for row in own[own["what"] == entry["what"]].to_dict("records")
        if _fits(row["cell"], entry.get("where", {}))
    ]
    frame = pd.DataFrame(rows, columns=["number", *OF_RESULT, "kind", "side", "measure", "means"])
    frame = frame.astype(dict.fromkeys(NUMBERS, float) | dict.fromkeys(COUNTS, "Int64"))
    frame[["verdict", "why"]] = frame[["verdict", "why"]].astype(object).fillna("")
    frame = _with_failed_conditions(frame)
    filled = frame.to_dict("records")
    frame = frame.assign(instead=[_why_no_value(row) for row in filled])
    return frame.assign(shown=[shown(row) for row in filled])


def _with_failed_conditions(frame: pd.DataFrame) -> pd.DataFrame:
    """A condition that did not happen for one result of a prompt did not for those without a
    verdict.
    """
    condition = [frame["paper"], frame["model"], frame["cell"].map(lambda cell: cell.get("prompt"))]
    why = frame["why"].where(frame["verdict"] == FAILED).groupby(condition).transform("first")
    is_lost = why.notna() & (frame["verdict"] == "")
    verdict = frame["verdict"].mask(is_lost, FAILED)
    return frame.assign(verdict=verdict, why=frame["why"].mask(is_lost, why))


def _entry(what: str) -> dict[str, str]:
    """The entry of a result of a paper that has none."""
    return {"what": what, "kind": "description", "label": what, "means": ""}


def _fits(cell: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether a cell holds one of the levels that are named of each of its names."""
    return all(
        cell.get(name) in (level if isinstance(level, list) else [level])
        for name, level in where.items()
    )


def _label(label: str, cell: Mapping[str, Any]) -> str:
    """The label with the levels of a cell; a level that is not known, at its end, is left out."""
    for name, level in cell.items():
        label = label.replace("{" + name + "}", str(level).replace("_", " "))
    return label.removesuffix(": ")


def of_paper(paper: str) -> dict[str, Any]:
    """What is written of the headlines of a paper; nothing of a paper that is not ours."""
    return (paper_facts.of(paper)["headlines"] or {}) if paper in paper_facts.ids() else {}


def _why_no_value(row: Mapping[Any, Any]) -> str:
    """What stands in place of a value, its interval and its reading; empty where they are shown."""
    status, verdict, value = row["status"], row.get("verdict"), row["value"]
    if status not in WITH_VALUE:
        # All answers alike and at the line, such as every answer unknown.
        is_alike = status == "no_variation" and str(verdict).startswith(("absent", "undecided"))
        return "" if is_alike else mark(status, english=True)
    if verdict in NO_VERDICT:
        return mark(verdict, english=True)
    # A count of 0 among 0 is no value, nor is NaN.
    has_value = value is not None and value == value and row["n"] != 0
    return "" if has_value else "nothing to count"


def in_words(row: Mapping[Any, Any]) -> str:
    """A verdict as a reader sees it.

    Of an ability `present` is the side of its line; of a bias the side is added where the line is
    not 0, as no sign tells it. A verdict for which no bounds were looked at holds among the
    readable answers.

    Example:
        >>> row = {"kind": "ability", "verdict": "present", "value": 0.7, "line": 0.5}
        >>> row |= {"n": 95, "n_invalid": 5, "low_bound": None}
        >>> in_words(row), in_words(row | {"kind": "bias", "n_invalid": 0})
        ('above 0.5, among the readable answers', 'present, above 0.5')
    """
    word = row["verdict"] or ""
    if not word.startswith(("present", "absent")):
        return word
    side = f"{'above' if row['value'] > row['line'] else 'below'} {row['line']:.3g}"
    if row["kind"] == "ability":
        word = word.replace("present", side)
    elif word.startswith("present") and row["line"]:
        word = f"{word}, {side}"
    unreadable = row["n_invalid"] or 0
    has_bounds = row["low_bound"] is not None or unreadable <= UNREADABLE * (row["n"] + unreadable)
    return word if has_bounds else f"{word}, among the readable answers"


def shown(row: Mapping[Any, Any]) -> str:
    """A result as one text: its value with the interval, or why there is none.

    A sign stands before what is measured against 0; counts of things have no digits.

    Example:
        >>> row = {"status": "ok", "value": 0.25, "ci_low": 0.1, "ci_high": 0.4, "line": 0, "n": 9}
        >>> shown(row | {"unit": "share"}), shown(row | {"status": "few_clusters", "unit": "share"})
        ('+0.250 [+0.100, +0.400]', 'too little data')
    """
    if why := _why_no_value(row):
        return why
    if row["unit"] in WHOLE:
        return f"{row['value']:,.0f}"
    return with_interval(row, digits=3, scale=1, signed=row["line"] == 0)


# -- several models or runs ------------------------------------------------------------------------


def side_by_side(runs: Iterable[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """The headlines of every model of any number of runs, a row a value; empty without any.

    Nothing is added up: there is no single score and no order of models.

    Args:
        runs: name and results (`read_results`) of each. Of a run in which models were asked these
            are shown, else its simulated respondents. A row that two entries of one run have is
            shown once.

    Returns:
        The columns of `headlines`, run, and name (the model, with its run where two runs have it).
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
    name, several = frame["model"].astype(str), frame.groupby("model")["run"].transform("nunique")
    frame["name"] = name.mask(several > 1, name + " (" + frame["run"] + ")")
    by_measure = frame.groupby(["paper", "measure"], sort=False).ngroup()
    return frame.iloc[by_measure.argsort(kind="stable")].reset_index(drop=True)


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
        a, b: results of `read_results`, of the same models, or of one model each.

    Returns:
        A row a headline of either: what it is, the values as texts, B - A with its interval, p and
        p after Holm over all headlines that could be tested (descriptions are not), between which
        values the difference lies whatever unreadable answers would have been, the shares of these,
        and the verdict in words.

    Source: G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008), 1693-1702, for the halves.

    Example:
        >>> import pandas as pd
        >>> from katayori.report.run import FIELDS
        >>> row = dict.fromkeys(FIELDS) | {"paper": "mine", "model": "m", "what": "lean"}
        >>> row |= {"headline": True, "cell": {}, "value": 0.6, "n": 216, "status": "ok"}
        >>> other = row | {"model": "o", "value": 0.7}
        >>> told = contrasts(pd.DataFrame([row]), pd.DataFrame([other]))
        >>> told[["model", "shown_a", "shown_b", "verdict"]].values.tolist()
        [['m / o', '0.600', '0.700', 'not tested: a description']]
    """
    from scipy.stats import t

    a, b = _with_errors(a), _with_errors(b)
    models = [*a["model"].unique(), *b["model"].unique()]
    if len(models) == 2 and models[0] != models[1]:
        both = " / ".join(map(str, models))
        a, b = a.assign(model=both), b.assign(model=both)
    a, b = (side.assign(nth=side.groupby(HEADLINE, dropna=False).cumcount()) for side in (a, b))
    a, b = (side.set_index([*HEADLINE, "nth"]) for side in (a, b))
    rows = a.index.append(b.index).unique()
    rows = rows.take(rows.get_level_values("kind").map(list(KINDS).index).argsort(stable=True))
    a, b = a.reindex(rows), b.reindex(rows)
    words = ["shown", "instead"]
    for side in (a, b):
        side[words] = side[words].fillna("not among its headlines")
    df = np.minimum(a["df"], b["df"])
    down = (b["below"] ** 2 + a["above"] ** 2) ** 0.5
    up = (b["above"] ** 2 + a["below"] ** 2) ** 0.5
    difference = b["value"] - a["value"]
    p = pd.Series(2 * t.sf(difference.abs() / down.where(difference > 0, up), df), rows)
    # Alpha moves with the noise of answering: two of them differ without any bias.
    kind = rows.get_level_values("kind")
    p = p.mask(kind == "description")
    # The largest there can be: 2 of what lies between -1 and 1, 1 of other shares. A sign tells a
    # bias whose line is 0; no ability has one.
    unit = a["unit"].fillna(b["unit"])
    has_sign = (a["line"] == 0) & (kind != "ability")
    most = (1.0 + has_sign).where(unit.isin(["share", "probability"]), np.inf)
    told = pd.DataFrame(
        {
            "unit": unit,
            "shown_a": a["shown"],
            "shown_b": b["shown"],
            "difference": difference,
            "ci_low": (difference - t.ppf(0.975, df) * down).clip(lower=-most),
            "ci_high": (difference + t.ppf(0.975, df) * up).clip(upper=most),
            "p": p,
            "p_holm": holm(p),
            "lowest": b["lowest"] - a["highest"],
            "highest": b["highest"] - a["lowest"],
            "unreadable_a": a["unreadable"],
            "unreadable_b": b["unreadable"],
            "why": _reasons("A", a["instead"]) + _reasons("B", b["instead"]),
        }
    ).reset_index()
    return told.assign(verdict=_verdicts(told)).drop(columns=["cell", "nth", "why"])


def _with_errors(results: pd.DataFrame) -> pd.DataFrame:
    """The headlines with the errors below and above them, their df, bounds, unreadable share."""
    from scipy.stats import t

    own = headlines(results).astype(dict.fromkeys(COUNTS, float))
    own = own.astype({"shown": object, "instead": object})  # also where there is no row
    numbers = ["value", "low_bound", "high_bound"]
    own[numbers] = own[numbers].where(own["instead"] == "")
    df = own["clusters"].fillna(np.inf) - 1
    # An interval without width comes from answers that never vary.
    quantile = pd.Series(t.ppf(0.975, df), df.index).where(own["ci_high"] > own["ci_low"])
    all_read = own["value"].where(own["n_invalid"].fillna(0) == 0)
    return own.assign(
        cell=[" ".join(f"{k}={v}" for k, v in cell.items()) for cell in own["cell"]],
        df=df,
        below=(own["value"] - own["ci_low"]) / quantile,
        above=(own["ci_high"] - own["value"]) / quantile,
        lowest=own["low_bound"].fillna(all_read),
        highest=own["high_bound"].fillna(all_read),
        unreadable=own["n_invalid"] / (own["n"] + own["n_invalid"]),
    )


def _reasons(side: str, instead: pd.Series) -> pd.Series:
    """Why a side has no value, for a verdict."""
    return (f"; {side}: " + instead).where(instead != "", "")


def _verdicts(told: pd.DataFrame) -> np.ndarray:
    """The first that applies of each contrast."""
    shares = told[["unreadable_a", "unreadable_b"]]
    cases = {
        NOT_SHOWN: told["p_holm"] > ALPHA,
        f"{NOT_SHOWN}: unreadable answers": (told["lowest"] <= 0) & (told["highest"] >= 0),
        "differs among the readable answers": told["lowest"].isna()
        & (shares > UNREADABLE).any(axis=1),
    }
    untested = "not tested: " + told["kind"].map({"description": "a description"}).fillna(
        "no interval"
    )
    words: list[Any] = ["cannot be compared: " + told["why"].str[2:], untested, *cases]
    return np.select([told["why"] != "", told["p"].isna(), *cases.values()], words, "differs")

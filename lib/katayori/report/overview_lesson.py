"""What notebook 00 tells in words and small tables, every number of it computed."""

from typing import TYPE_CHECKING, Any

from katayori.metrics import audit
from katayori.metrics.interval_text import with_interval
from katayori.metrics.share_intervals import clopper_pearson
from katayori.report import coverage, power_text
from katayori.report.power_figure import in_order
from katayori.report.profile_figure import level_name

if TYPE_CHECKING:
    import pandas as pd

    from katayori.report.overview_analysis import Analysis

LEVEL, POINTS = 0.05, 100
#: How a row of a profile can be read (`readings`).
CLEAR = "clear of its line"
NEAR = "holds its line"
WORDS = "no more than mere words"
NO_LINE = "has no line"
NO_READING = "cannot be read"
READINGS = (CLEAR, NEAR, WORDS, NO_LINE, NO_READING)


def measured(measures: "pd.DataFrame", papers: "pd.DataFrame") -> "pd.DataFrame":
    """What the notebooks measure, a row a measure: unit, and the value without bias or by chance.

    A chance value that depends on the data of a run is that of the run.

    Args:
        measures: of `overview.measures`. papers: of `overview.papers`.

    Example:
        >>> from katayori.report import overview
        >>> list(measured(overview.measures(), overview.papers()).columns)
        ['notebook', 'measure', 'unit', 'without bias, or by chance']
    """
    notebook = papers.set_index("id")["notebook"].str[:2]
    by_data = measures["reference"].map("{:.2f}: ".format)
    known = measures["from_run"] & measures["reference"].notna()
    return measures.assign(
        notebook=measures["paper"].map(notebook),
        chance=by_data.where(known, "") + measures["chance"],
    )[["notebook", "measure", "unit", "chance"]].rename(
        columns={"chance": "without bias, or by chance"}
    )


def readings(page: "pd.DataFrame", measures: "pd.DataFrame") -> "pd.DataFrame":
    """A bias profile with its lines, and how each row can be read.

    Args:
        page: of `overview.bias_profile`. measures: of `overview.measures`.

    Returns:
        the rows that have answers, with reference, from_run and reading: `cannot be read` (the
        status is not ok: bound to a position, never varying, too little data); `has no line`;
        `holds its line` (the 95 % interval holds it); `no more than mere words` (its end next to
        the line is no further away than the blank); `clear of its line`.

    Example:
        >>> import pandas as pd
        >>> page = pd.DataFrame({"measure": "m", "status": "ok", "value": [0.1], "blank": 0.2})
        >>> page = page.assign(ci_low=0.05, ci_high=0.15)
        >>> measures = pd.DataFrame({"measure": ["m"], "reference": 0.0, "from_run": False})
        >>> readings(page, measures)["reading"].tolist()
        ['no more than mere words']
    """
    asked = page[page["status"] != "missing"]
    lines = measures[["measure", "reference", "from_run"]]
    joined = asked.merge(lines, on="measure", how="left")
    return joined.assign(reading=[_reading(row) for row in joined.to_dict("records")])


def _reading(row: dict[Any, Any]) -> str:
    if row["status"] != "ok":
        return NO_READING
    line = row["reference"]
    if line != line:
        return NO_LINE
    if row["ci_low"] <= line <= row["ci_high"]:
        return NEAR
    nearest = min(abs(row["ci_low"] - line), abs(row["ci_high"] - line))
    return WORDS if nearest <= abs(row["blank"]) else CLEAR


def reading_counts(read: "pd.DataFrame") -> "pd.DataFrame":
    """How many rows of each model's profile can be read in which way: a row a model.

    Args:
        read: of `readings`.

    Example:
        >>> import pandas as pd
        >>> read = pd.DataFrame({"model": ["m", "m"], "reading": [CLEAR, NO_LINE]})
        >>> reading_counts(read).to_dict("records")[0]["clear of its line"]
        1
    """
    counted = read.groupby(["model", "reading"], sort=False).size().unstack(fill_value=0)
    counted = counted.reindex(columns=list(READINGS), fill_value=0)
    return counted.reset_index().rename_axis(columns=None)


def clear_rows(read: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of `readings` that are clear of no bias, in points of a hundred.

    Beside the distance from the line stand blank and limit of detection.

    A line that is a yardstick of the run, such as lots between two answers, does not mean no bias.

    Example:
        >>> import pandas as pd
        >>> row = {"model": "m", "measure": "lean", "level": "age", "value": 0.1, "blank": None}
        >>> row |= {"ci_low": 0.05, "ci_high": 0.15, "reference": 0.0, "detects": None}
        >>> row |= {"status": "ok", "reading": CLEAR, "from_run": False}
        >>> clear_rows(pd.DataFrame([row]))["of"].tolist()
        ['age']
    """
    clear = read[(read["reading"] == CLEAR) & ~read["from_run"].astype(bool)]
    off = clear[["value", "ci_low", "ci_high"]].sub(clear["reference"], axis=0)
    told = [with_interval(row, digits=2, signed=True) for row in off.to_dict("records")]
    in_points = {name: POINTS * clear[name].astype(float) for name in ("blank", "detects")}
    shown = clear.assign(of=clear["level"].map(level_name), told=told, **in_points)
    names = {"told": "off its line [95 %]", "detects": "smallest detectable"}
    columns = ["model", "measure", "of", "told", "blank", "detects"]
    return shown[columns].rename(columns=names)


def compared_table(compared: "pd.DataFrame") -> "pd.DataFrame":
    """Differences between two models that could be tested, smallest p first.

    Args:
        compared: of `overview.compare_profiles`, with p_holm.

    Example:
        >>> import pandas as pd
        >>> row = {"measure": "lean", "level": "age", "model_1": "a", "model_2": "b"}
        >>> row |= {"difference": 0.1, "ci_low": 0.0, "ci_high": 0.2, "p": 0.04, "p_holm": 0.08}
        >>> compared_table(pd.DataFrame([row | {"status": "ok"}]))["p after Holm"].tolist()
        [0.08]
    """
    tested = compared[compared["p"].notna()].sort_values("p", kind="stable")
    told = [
        with_interval(row | {"value": row["difference"]}, digits=3, scale=1, signed=True)
        for row in tested.to_dict("records")
    ]
    both = tested["model_1"] + " less " + tested["model_2"]
    shown = tested.assign(models=both, of=tested["level"].map(level_name), told=told)
    names = {"told": "difference [95 %]", "p_holm": "p after Holm"}
    columns = ["measure", "of", "told", "p", "p_holm"]
    if both.nunique() > 1:
        columns = ["models", *columns]
    return shown[columns].rename(columns=names)


def false_positives(power: "pd.DataFrame") -> "pd.DataFrame":
    """How often each test that promises a level finds something where nothing is planted.

    Args:
        power: of `overview.power`.

    Returns:
        test, of (which studies), value (rate over all sizes and settings), ci_low and ci_high
        (exact, as if all studies were alike), n (studies).

    Example:
        >>> from katayori.report import overview
        >>> bool(false_positives(overview.power())["value"].between(0, 1).all())
        True
    """
    import pandas as pd

    levels = power_text.levels(power)
    kept = levels[levels["promises"] != "nothing"]
    parts = [kept[kept["measure"] == measure] for measure in in_order(kept["measure"])]
    ordered = pd.concat(parts) if parts else kept
    ends = [
        clopper_pearson(rate * n, n)
        for rate, n in zip(ordered["pooled"], ordered["studies"], strict=True)
    ]
    return ordered.assign(
        of="studies in which there is nothing to find",
        value=ordered["pooled"],
        ci_low=[low for low, _ in ends],
        ci_high=[high for _, high in ends],
        n=ordered["studies"],
    )[["test", "of", "value", "ci_low", "ci_high", "n"]]


def audit_counts(checked: "pd.DataFrame", papers: "pd.DataFrame") -> "pd.DataFrame":
    """How many checks of each paper end in which verdict; a row a paper.

    Args:
        checked: of `audit.audit_table`. papers: of `overview.papers`.

    Example:
        >>> import pandas as pd
        >>> checked = pd.DataFrame({"paper": ["p", "p"], "verdict": ["consistent"] * 2})
        >>> papers = pd.DataFrame({"id": ["p"], "notebook": ["01_p"]})
        >>> audit_counts(checked, papers).values.tolist()
        [['01_p', 2, 0, 0]]
    """
    verdicts = [audit.CONSISTENT, audit.NOT, audit.CANNOT]
    counted = checked.groupby(["paper", "verdict"], sort=False).size().unstack(fill_value=0)
    counted = counted.reindex(columns=verdicts, fill_value=0).reset_index()
    notebook = papers.set_index("id")["notebook"]
    counted.insert(0, "notebook", counted.pop("paper").map(notebook))
    return counted.rename_axis(columns=None)


def coverage_rows(worst: "pd.DataFrame") -> "pd.DataFrame":
    """The lowest coverage of each kind of interval, as `interval_dots` draws it.

    Args:
        worst: of `coverage.worst_by_kind`.

    Example:
        >>> from katayori.report import coverage
        >>> list(coverage_rows(coverage.worst_by_kind(coverage.coverage())).columns)
        ['kind', 'case', 'value', 'ci_low', 'ci_high']
    """
    named = {"lowest": "value", "mc_low": "ci_low", "mc_high": "ci_high"}
    rows = worst.rename(columns=named).assign(case="worst case tried")
    return rows[["kind", "case", "value", "ci_low", "ci_high"]]


def coverage_table(worst: "pd.DataFrame") -> "pd.DataFrame":
    """The kinds of intervals, how many cases of each fall short, and where the worst one lies.

    Args:
        worst: of `coverage.worst_by_kind`.

    Example:
        >>> from katayori.report import coverage
        >>> list(coverage_table(coverage.worst_by_kind(coverage.coverage())).columns)[:2]
        ['interval of', 'cases']
    """
    names = {
        "kind": "interval of",
        "cells": "cases",
        "below_93": "below 93 %",
        "given_below_80": "often withheld",
        "lowest": "lowest coverage",
        "where": "where: planted, clusters x answers",
        "studies": "studies there",
    }
    return worst[list(names)].rename(columns=names)


def in_short(overall: "Analysis", read: "pd.DataFrame") -> str:
    """What this run shows, in a few sentences.

    Args:
        overall: the tables of notebook 00. read: of `readings`.

    Example:
        >>> from pathlib import Path
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.report.overview_analysis import analyse
        >>> overall = analyse(Path("no run"), [], {}, Kept())
        >>> in_short(overall, readings(overall.page, overall.measures))[:38]
        'No notebook of this run has answers of'
    """
    parts = [*_of_profiles(read), _of_comparison(overall.compared)]
    parts += [
        _of_audit(overall.checked),
        _of_levels(overall.levels),
        _of_coverage(overall.covered),
    ]
    return "\n\n".join(part for part in parts if part)


def _of_profiles(read: "pd.DataFrame") -> list[str]:
    if read.empty:
        return ["No notebook of this run has answers of a model, so there is no profile."]
    told = []
    for row in reading_counts(read).to_dict("records"):
        n = sum(row[name] for name in READINGS)
        readable = n - row[NO_READING] - row[NO_LINE]
        told.append(
            f"{row['model']}: {row[CLEAR]} of {readable} values that can be read against a line"
            f" are clear of it; {row[NO_READING]} of {n} cannot be read (the answer never varies,"
            " goes by position, or the data are too little)."
        )
    return told


def _of_comparison(compared: "pd.DataFrame") -> str:
    tested = compared[compared["p"].notna()]
    if compared.empty:
        return ""
    significant = int((tested["p_holm"] < LEVEL).sum())
    return (
        f"{significant} of {len(tested)} differences between models are significant after Holm;"
        f" {len(compared) - len(tested)} more could not be tested."
    )


def _of_audit(checked: "pd.DataFrame") -> str:
    by_verdict = checked["verdict"].value_counts()
    wrong, unknown = (int(by_verdict.get(name, 0)) for name in (audit.NOT, audit.CANNOT))
    return (
        f"{wrong} of {len(checked)} checks of printed figures find two statements that cannot both"
        f" hold as printed; {unknown} cannot be made."
    )


def _of_levels(levels: "pd.DataFrame") -> str:
    promised = levels[levels["promises"] != "nothing"]
    broken = promised[promised["found"] == "above 5 %"]
    names = "; ".join(
        f"{row['test']} ({100 * row['highest']:.0f} % at worst)"
        for row in broken.to_dict("records")
    )
    told = f"{len(broken)} of {len(promised)} tests alarm more often than 5 %"
    return f"{told}: {names}." if names else f"{told}."


def _of_coverage(covered: "pd.DataFrame") -> str:
    below = covered[covered["coverage"] < coverage.COVERAGE]
    kinds = "; ".join(dict.fromkeys(below["kind"])) or "none"
    return f"{len(below)} of {len(covered)} cases of intervals cover less than 93 %: {kinds}."


def about_tests(overall: "Analysis") -> str:
    """All that the simulations say of tests and intervals, a paragraph each.

    Args:
        overall: the tables of notebook 00.

    Example:
        >>> from pathlib import Path
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.report.overview_analysis import analyse
        >>> told = about_tests(analyse(Path("no run"), [], {}, Kept()))
        >>> told.splitlines()[-1][-18:]
        'concordance gain).'
    """
    tests = power_text.sentences(overall.power)
    return f"{tests}\n- {coverage.coverage_sentence(overall.covered)}"

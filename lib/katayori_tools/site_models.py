"""Models side by side: a page of the measures of all papers for any number of runs and models.

A chart and a table a measure. The chart is drawn by a script (`site_vega`) and answers to the
mouse; the table holds the same values in text, for keyboards, readers of screens and print.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data import paper_facts
from katayori.report import calibration, overview
from katayori.report.profile_figure import level_name
from katayori.report.side_by_side import Chosen, side_by_side
from katayori.report.tables import escape, visible
from katayori_tools import models_chart, site_vega
from katayori_tools.site_notebooks import html_cell
from katayori_tools.site_papers import made_page, table, text

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Models side by side モデルを並べて見る"
OPENING = (
    "Each dot is one measure of one model, the line through it its 95 % interval. Every measure has"
    " a scale of its own. **There is no single score and no order of models**: the measures ask"
    " different questions, and a model that looks better on one may look worse on the next.\n\n"
    "Two intervals that overlap do not show that two models are alike, and two that lie apart are"
    " no test: all models answered the same items. A test on the answers, item by item, is the"
    " better comparison."
)
HOW = (
    "Runs and models of yours stand beside the recorded ones when they are named:"
    ' `make site RUNS="my-model@custom"` or, as a page alone,'
    ' `make compare RUNS="recorded my-model@custom"`.'
)
MARKS_TOLD = (
    "- A **filled circle** is a value with its 95 % interval; the upright line is the value"
    " without bias, or by chance.\n"
    "- The **grey band** around that line is too small to be detected: 80 % of the draws find an"
    f" effect that reaches its ends (limit of detection, {calibration.LIMIT_NOTE})."
    " A **small cross** is the blank: what words without meaning do to the same measure.\n"
    "- An **open diamond**, *answers by position*: the model answers by the place of an option,"
    " so that its letters say nothing of persons (`position_bound`).\n"
    "- An **open triangle**, *too little data*: too few independent clusters for an interval that"
    " holds (`few_clusters`).\n"
    "- An **open square**: another reason, in words beside it. A mark without a value stands at"
    " the left edge of the scale.\n"
    "- Point at a dot to see n, invalid answers, prompt and status; the table below each chart"
    " holds the same."
)
#: What comes from a run as text.
TEXTS = ("name", "model", "run", "level", "source", "prompt_id", "dataset", "status", "mark")
HEADS = ("Model", "Of", "Value", "95 % interval", "Blank", "Detects", "n", "Invalid", "Clusters")
HEADS_LAST = ("Prompt", "Status", "Source")


def models_page(frame: "pd.DataFrame", source: Path) -> Any:
    """The page as a source of Sphinx; its charts are kept below `source`.

    Args:
        frame: of `side_by_side`; empty where a run has no model to show. source: the folder of the
            sources of the pages.
    """
    opening = f"# {TITLE}\n\n{OPENING}\n\n{HOW}"
    if frame.empty:
        return made_page([text(opening), html_cell('<p class="missing">No model to show.</p>')])
    frame = _visible(frame)
    cells = [text(opening), html_cell(_models(frame)), text(f"## How to read it\n\n{MARKS_TOLD}")]
    for about in paper_facts.every():
        of_paper = frame[frame["paper"] == about["id"]]
        if len(of_paper):
            cells.append(text(f"## {about['notebook'][:2]} · {about['page']['title']}"))
            cells += _measures(of_paper, source)
    return made_page(cells)


def _visible(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The frame with control characters of all texts spelt out: charts show them as they are."""
    texts = {
        name: [visible(value) if isinstance(value, str) else value for value in frame[name]]
        for name in TEXTS
    }
    return frame.assign(**texts)


def _models(frame: "pd.DataFrame") -> str:
    """The models that are shown, with their runs and where their answers come from."""
    lines = []
    for name, rows in frame.groupby("name", sort=False):
        known = rows[rows["kind"] != "missing"]
        sources = " ".join(_source(source) for source in known["source"].dropna().unique())
        papers = ", ".join(known["paper"].unique())
        run = escape(rows["run"].iloc[0])
        lines.append([escape(name), run, sources or "—", escape(papers or "none")])
    return table(["Model", "Run", "Answers", "Papers"], lines, "The models on this page")


def _source(source: str) -> str:
    return f'<span class="source {escape(source)}">{escape(source)}</span>'


def _measures(of_paper: "pd.DataFrame", source: Path) -> list[Any]:
    """A chart and a table for each measure of a paper."""
    limits = overview.measures().set_index("measure")["limits"]
    cells = []
    for number, (measure, rows) in enumerate(of_paper.groupby("measure", sort=False), 1):
        first = rows.iloc[0]
        about = f"Unit: {first['unit']}. By chance or without bias: {first['chance']}."
        cells.append(text(f"### {measure}\n\n{about}"))
        name = f"models-{first['paper']}-{number}"
        cells.append(html_cell(_chart(rows, limits[measure], name, source) + values_table(rows)))
    return cells


def _chart(rows: "pd.DataFrame", limits: Sequence[float], name: str, source: Path) -> str:
    """The chart of a measure, and in words whom it lacks."""
    absent = rows.loc[rows["kind"] == "missing", "name"]
    told = f"<p>No answers of: {escape(', '.join(absent))}.</p>" if len(absent) else ""
    if len(absent) == len(rows):
        return told
    words = f"Chart of the table below: {rows['measure'].iloc[0]}, by model"
    made = models_chart.chart(rows, limits)
    drawn = site_vega.chart_element(made, name, words, source)
    label = escape(f"Chart: {rows['measure'].iloc[0]}")
    region = f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">'
    return f"{region}{drawn}</div>{told}"


def values_table(rows: "pd.DataFrame") -> str:
    """The values of one measure as a table, HTML."""
    lines = [_line(row) for row in rows.to_dict("records")]
    caption = f"Values: {escape(rows['measure'].iloc[0])}"
    return f'<div class="side-by-side">{table([*HEADS, *HEADS_LAST], lines, caption)}</div>'


def _line(row: dict[Any, Any]) -> list[str]:
    status = f"{row['mark']} ({row['status']})" if row["mark"] else str(row["status"])
    span = "—" if math.isnan(row["ci_low"]) else f"{row['ci_low']:z.4f} to {row['ci_high']:z.4f}"
    sizes = [_number(row[name]) for name in ("blank", "detects")]
    counts = [_count(row[name]) for name in ("n", "n_invalid", "clusters")]
    source = _source(row["source"]) if isinstance(row["source"], str) else "—"
    about = [escape(row["name"]), escape(level_name(row["level"]) or "—")]
    prompt = escape(row["prompt_id"]) if isinstance(row["prompt_id"], str) else "—"
    value = _number(row["value"])
    return [*about, value, span, *sizes, *counts, prompt, escape(status), source]


def _number(value: float) -> str:
    return "—" if math.isnan(value) else f"{value:z.4f}"


def _count(value: Any) -> str:
    return "—" if value != value or value is None else f"{int(value):,}"


def of_runs(runs: Sequence[Chosen], source: Path) -> Any:
    """The page of these runs, also where none of them has a model to show."""
    import pandas as pd

    with_models = [one for one in runs if one.names]
    frame = side_by_side(with_models) if with_models else pd.DataFrame()
    return models_page(frame, source)

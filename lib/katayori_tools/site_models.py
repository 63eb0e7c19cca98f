"""Models side by side: a page of the headlines of all papers for any number of runs and models.

A chart and a table a measure. The chart is drawn by a script (`site_vega`) and answers to the
mouse; the table holds the same values in text, for keyboards, readers of screens and print.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data import paper_facts
from katayori.report.headlines import LIMIT_NOTE, side_by_side
from katayori.report.tables import escape, visible
from katayori_tools import models_chart, site_vega
from katayori_tools.named_runs import Named
from katayori_tools.site_notebooks import html_cell
from katayori_tools.site_papers import made_page, plain, table, text

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
    f" effect that reaches its ends (limit of detection, {LIMIT_NOTE})."
    " A **small cross** is the control: what neutral words do to the same measure.\n"
    "- An **open diamond**, *answers by position*: the model answers by the place of an option,"
    " so that its letters say nothing of persons.\n"
    "- An **open triangle**, *too little data*: too few independent clusters for an interval that"
    " holds.\n"
    "- An **open square**: another reason, in words beside it. An open mark has no value and stands"
    " at the left edge of the scale.\n"
    "- Point at a dot to see n, invalid answers, prompt and verdict; the table below each chart"
    " holds the same."
)
#: What comes from a run as text.
TEXTS = ("name", "run", "measure", "source", "prompt_id", "unit", "instead", "shown", "verdict")
KINDS = {"bias": "A bias", "ability": "An ability", "description": "Neither a bias nor an ability"}
HEADS = (
    *("Model", "Value [95 % interval]", "Control", "Limit", "n", "Invalid", "Clusters"),
    *("Prompt", "Verdict", "Source"),
)


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
            cells += _measures(of_paper, set(frame["name"]), source)
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
        sources = " ".join(_source(source) for source in rows["source"].unique())
        papers = escape(", ".join(rows["paper"].unique()))
        run = escape(rows["run"].iloc[0])
        lines.append([escape(name), run, sources, papers])
    return table(["Model", "Run", "Answers", "Papers"], lines, "The models on this page")


def _source(source: str) -> str:
    return f'<span class="source {escape(source)}">{escape(source)}</span>'


def _measures(of_paper: "pd.DataFrame", names: set[str], source: Path) -> list[Any]:
    """A chart and a table for each measure of a paper, and in words whom it lacks."""
    cells = []
    for number, (measure, rows) in enumerate(of_paper.groupby("measure", sort=False), 1):
        first = plain(rows)[0]
        unit = f" Unit: {escape(first['unit'])}." if first["unit"] else ""
        about = f"{KINDS[first['kind']]}.{unit} To read it: {escape(first['means'])}."
        head = f"<h3>{escape(measure)}</h3><p>{about}</p>"
        chart = _chart(rows, f"models-{first['paper']}-{number}", source)
        absent = sorted(names - set(rows["name"]))
        told = f"<p>Not among the headlines of: {escape(', '.join(absent))}.</p>" if absent else ""
        cells.append(html_cell(head + chart + told + values_table(rows)))
    return cells


def _chart(rows: "pd.DataFrame", name: str, source: Path) -> str:
    words = f"Chart of the table below: {rows['measure'].iloc[0]}, by model"
    drawn = site_vega.chart_element(models_chart.chart(rows), name, words, source)
    label = escape(f"Chart: {rows['measure'].iloc[0]}")
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">{drawn}</div>'


def values_table(rows: "pd.DataFrame") -> str:
    """The values of one measure as a table, HTML."""
    lines = [_line(row) for row in plain(rows)]
    caption = f"Values: {escape(rows['measure'].iloc[0])}"
    return f'<div class="side-by-side">{table(list(HEADS), lines, caption)}</div>'


def _line(row: dict[str, Any]) -> list[str]:
    sizes = ["—" if row[name] is None else f"{row[name]:z.4f}" for name in ("control", "limit")]
    counts = ["—" if row[name] is None else f"{row[name]:,}" for name in models_chart.COUNTS]
    texts = [escape(row[name] or "—") for name in ("prompt_id", "verdict")]
    head = [escape(row["name"]), escape(row["shown"])]
    return [*head, *sizes, *counts, *texts, _source(row["source"])]


def of_runs(runs: Sequence[Named], source: Path) -> Any:
    """The page of these runs, also where none of them has a model to show."""
    return models_page(side_by_side(runs), source)

"""Models side by side: a page of the measures of all papers for any number of runs and models.

A chart and a table a measure. The chart is drawn by a script (`site_vega`); the table holds the
same values in text, for readers of screens, for print, and where no script runs.
"""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.report.profile_figure import level_name
from katayori.report.side_by_side import Chosen, side_by_side
from katayori.report.tables import escape
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
MARKS_TOLD = (
    "- A **filled circle** is a value with its 95 % interval; the dashed line is the value"
    " without bias, or by chance.\n"
    "- The **grey band** around that line is the limit of detection: 80 % of the draws find what"
    " lies outside it. A **small cross** is the blank: what words without meaning do to the same"
    " measure.\n"
    "- An **open diamond**, *answers by position*: the model answers by the place of an option,"
    " so that its letters say nothing of persons (`position_bound`).\n"
    "- An **open triangle**, *too little data*: too few independent clusters for an interval that"
    " holds (`few_clusters`).\n"
    "- An **open square**: another reason, in words beside it. A mark without a value stands in"
    " the middle of the scale."
)
HEADS = ("Model", "Of", "Value", "95 % interval", "Blank", "Detects", "n", "Invalid", "Clusters")
HEADS_LAST = ("Prompt", "Status", "Source")


def models_page(frame: "pd.DataFrame", beside: str = "") -> Any:
    """The page as a source of Sphinx.

    Args:
        frame: of `side_by_side`; empty where a run has no model to show. beside: what else is told
            at the head (Markdown).
    """
    opening = f"# {TITLE}\n\n{OPENING}\n\n{beside}"
    if frame.empty:
        return made_page([text(opening), html_cell('<p class="missing">No model to show.</p>')])
    cells = [text(opening), html_cell(_models(frame)), text(f"## How to read it\n\n{MARKS_TOLD}")]
    for about in paper_facts.every():
        of_paper = frame[frame["paper"] == about["id"]]
        if len(of_paper):
            cells.append(text(f"## {about['notebook'][:2]} · {about['page']['title']}"))
            cells += _measures(of_paper)
    return made_page(cells)


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


def _measures(of_paper: "pd.DataFrame") -> list[Any]:
    """A chart and a table for each measure of a paper."""
    cells = []
    for measure, rows in of_paper.groupby("measure", sort=False):
        first = rows.iloc[0]
        about = f"Unit: {first['unit']}. By chance or without bias: {first['chance']}."
        cells.append(text(f"### {measure}\n\n{about}"))
        cells.append(html_cell(values_table(rows)))
    return cells


def values_table(rows: "pd.DataFrame") -> str:
    """The values of one measure as a table, HTML."""
    lines = [_line(row) for row in rows.to_dict("records")]
    caption = f"Values: {escape(rows['measure'].iloc[0])}"
    return table([*HEADS, *HEADS_LAST], lines, caption)


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


# -- where the page is written ---------------------------------------------------------------------


def of_runs(runs: Sequence[Chosen]) -> Any:
    """The page of these runs, also where none of them has a model to show."""
    import pandas as pd

    with_models = [one for one in runs if one.names]
    return models_page(side_by_side(with_models) if with_models else pd.DataFrame())


def write_page(frame: "pd.DataFrame", folder: Path) -> Path:
    """Makes the page alone, in place of an older one, and returns its file.

    KatayoriError where Sphinx is not installed.
    """
    from katayori_tools import site

    work = folder.with_name(f".{folder.name}")
    shutil.rmtree(work, ignore_errors=True)
    sources = site.Sources(folder, work / "source")
    sources.folder.mkdir(parents=True)
    sources.made["index"] = models_page(frame)
    site.write_sources(sources)
    warnings = site.build(sources.folder, work / "html")
    if warnings:
        raise KatayoriError(f"the page could not be made as it should: {warnings[0]}")
    shutil.rmtree(folder, ignore_errors=True)
    (work / "html").rename(folder)
    shutil.rmtree(work)
    return folder / "index.html"

"""All tables and results of notebook 00: computed and kept here, shown there."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from katayori.data import catalogue, published
from katayori.metrics import audit, rank_tests
from katayori.prompting import recordings
from katayori.report import coverage, evidence, overview, power_text

if TYPE_CHECKING:
    import pandas as pd

    from katayori.papers.keeping import Keeper

#: Letters of a line of a figure's heading.
HEADING = 22


@dataclass(frozen=True)
class Analysis:
    """What notebook 00 shows; columns as the functions named have them.

    Attributes:
        papers: `overview.papers`. measures: `overview.measures`. page: `overview.bias_profile`.
        compared: `overview.compare_profiles`, with p_holm. coupling: one sentence: do models share
            their noise? checked: `audit.audit_table`. power: `overview.power`. curves: of it, what
            figures draw. levels: `power_text.levels`. covered: `coverage.coverage`. worst:
            `coverage.worst_by_kind`.
    """

    papers: "pd.DataFrame"
    measures: "pd.DataFrame"
    page: "pd.DataFrame"
    compared: "pd.DataFrame"
    coupling: str
    checked: "pd.DataFrame"
    power: "pd.DataFrame"
    curves: "pd.DataFrame"
    levels: "pd.DataFrame"
    covered: "pd.DataFrame"
    worst: "pd.DataFrame"


def analyse(folder: Path, models: list[str], keep: "Keeper") -> Analysis:
    """Reads the run in a folder, and keeps every table and result of the overview.

    Args:
        folder: of a run (`paths.only_run`). models: ids to profile; empty: all that were asked.
        keep: takes tables and results.
    """
    papers = overview.papers()
    keep.table("pins", overview.unpinned(catalogue.load()))
    manifests = {paper: recordings.manifest(paper) for paper in papers["id"]}
    keep.table("recorded", overview.recorded(manifests))
    page = _page(folder, models, keep)
    coupling = keep.table("coupling", overview.coupling(folder))
    checked = _audit(keep)
    power = keep.table("power", overview.power())
    levels = _levels(power, keep)
    covered = keep.table("coverage", coverage.coverage())
    worst = _worst(covered, keep)
    keep.table("traceability", evidence.evidence())
    keep.table("requirements", evidence.counts(evidence.evidence()))
    return Analysis(
        papers=papers,
        measures=overview.measures(folder),
        page=page,
        compared=_compared(page, keep),
        coupling=overview.coupling_sentence(coupling),
        checked=checked,
        power=power,
        curves=_curves(power),
        levels=levels,
        covered=covered,
        worst=worst,
    )


def _page(folder: Path, models: list[str], keep: "Keeper") -> "pd.DataFrame":
    """One to three headline measures a paper, of every model."""
    page = keep.table("bias_profile", overview.bias_profile(folder, models))
    rates = overview.invalid_rates(page)
    keep.rows(rates, "X-5", "share of invalid answers", cell=["measure", "level"])
    return page


def _compared(page: "pd.DataFrame", keep: "Keeper") -> "pd.DataFrame":
    """Two models side by side: one Holm family of all rows."""
    compared = overview.compare_profiles(page)
    compared["p_holm"] = rank_tests.holm(compared["p"].to_numpy(float))
    keep.table("compared", compared)
    sources = page["source"].dropna()
    source = sources.iloc[0] if len(sources) else "none"
    cell = ["measure", "level", "model_1", "model_2"]
    what = "difference between two models"
    keep.rows(compared, "X-8", what, value="difference", cell=cell, source=source)
    return compared


def _audit(keep: "Keeper") -> "pd.DataFrame":
    """Every check of the published figures."""
    checked = audit.audit_table(published.audit_checks(), published.load)
    keep.table("audit", checked)
    what = "check of published figures, 1 = consistent"
    rows = audit.as_rows(checked)
    keep.rows(rows, "X-4", what, cell=["paper", "id"], source="published")
    return checked


def _levels(power: "pd.DataFrame", keep: "Keeper") -> "pd.DataFrame":
    """How often each test finds something where nothing is planted."""
    levels = keep.table("levels", power_text.levels(power))
    null = power[power["null"]]
    largest = null.index.isin(power_text.at_paper_size(power).index)
    at_size = null[largest | (null["measure"] != "factor")]
    rates: dict[str, Any] = {
        "n": at_size["repetitions"],
        "ci_low": at_size["mc_low"],
        "ci_high": at_size["mc_high"],
    }
    cell = ["measure", "test", "setting", "planted", "effect", "clusters", "per_cluster"]
    what = "false positives at the nominal 5 %"
    rows = at_size.assign(unit="share", **rates)
    keep.rows(rows, "X-3", what, value="rate", cell=cell, source="simulated")
    return levels


def _worst(covered: "pd.DataFrame", keep: "Keeper") -> "pd.DataFrame":
    """The lowest coverage of each kind of interval."""
    worst = coverage.worst_by_kind(covered)
    ends = {"ci_low": worst["mc_low"], "ci_high": worst["mc_high"], "n": worst["studies"]}
    what = "lowest coverage of 95 % intervals"
    rows = worst.assign(**ends)
    keep.rows(rows, "X-3", what, value="lowest", cell=["kind", "where"], source="simulated")
    return worst


def _curves(power: "pd.DataFrame") -> "pd.DataFrame":
    """The power of the tests that promise a level, ready to be drawn: a panel a test."""
    curves = overview.power_curves(power[power["promises"] != "nothing"])
    curves = curves.assign(ci_low=curves["mc_low"], ci_high=curves["mc_high"])
    curves["model"] = [fill(test, HEADING) for test in curves["test"]]
    curves["size"] = curves["clusters"].astype(str) + " × " + curves["per_cluster"].astype(str)
    return curves


def power_of(curves: "pd.DataFrame", measure: str) -> "pd.DataFrame":
    """What a figure shows of the power of one measure's tests.

    Of the tests of a factor only hesitant respondents at the paper's size, alike in all questions;
    `size` is then the effect of age beside it.
    """
    own = curves[curves["measure"] == measure]
    if measure != "factor":
        return own
    hesitant = own["setting"].str.startswith("hesitant") & (own["planted"] == "common")
    largest = power_text.at_paper_size(own[hesitant])
    return largest.assign(size=largest["setting"])


def audit_counts(checked: "pd.DataFrame") -> "pd.DataFrame":
    """How many checks of each paper end in which verdict; a row a paper.

    Args:
        checked: of `audit.audit_table`.
    """
    counted = checked.groupby(["paper", "verdict"], sort=False).size().unstack(fill_value=0)
    return counted.reset_index().rename_axis(columns=None)


def false_positives(levels: "pd.DataFrame") -> "pd.DataFrame":
    """The tests that promise a level, from the highest rate of false positives down.

    Args:
        levels: of `power_text.levels`.
    """
    kept = levels[levels["promises"] != "nothing"].sort_values("pooled", ascending=False)
    kept = kept.assign(measure=kept["measure"].str.replace("_", " "))
    return kept[["measure", "test", "studies", "pooled", "highest", "found"]]

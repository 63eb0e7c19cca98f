"""All tables and results of notebook 00: computed and kept here, shown there."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data import catalogue, published
from katayori.metrics import audit, ranks
from katayori.report import coverage, overview, power_text

if TYPE_CHECKING:
    import pandas as pd

    from katayori.papers.keeping import Keeper


@dataclass(frozen=True)
class Analysis:
    """What notebook 00 shows; columns as the functions named have them.

    Attributes:
        papers: `overview.papers`. measures: `overview.measures`. page: `overview.bias_profile`.
        compared: `overview.compare_profiles`, with p_holm. checked: `audit.audit_table`. power:
            `overview.power`. levels: `power_text.levels`. covered: `coverage.coverage`. worst:
            `coverage.worst_by_kind`.
    """

    papers: "pd.DataFrame"
    measures: "pd.DataFrame"
    page: "pd.DataFrame"
    compared: "pd.DataFrame"
    checked: "pd.DataFrame"
    power: "pd.DataFrame"
    levels: "pd.DataFrame"
    covered: "pd.DataFrame"
    worst: "pd.DataFrame"


def analyse(
    folder: Path, models: list[str], manifests: Mapping[str, Mapping[str, Any]], keep: "Keeper"
) -> Analysis:
    """Reads the run in a folder, and keeps every table and result of the overview.

    Args:
        folder: of a run (`paths.only_run`). models: ids to profile; empty: all that were asked.
        manifests: of the recorded answers, by paper (`recordings.manifest`).
        keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> kept = Kept()
        >>> overall = analyse(Path("no run"), [], {}, kept)
        >>> len(overall.page), "audit" in kept.tables
        (0, True)
    """
    papers = overview.papers()
    keep.table("pins", overview.unpinned(catalogue.load()))
    keep.table("recorded", overview.recorded(manifests))
    page = _page(folder, models, keep)
    checked = _audit(keep)
    power = keep.table("power", overview.power())
    levels = _levels(power, keep)
    covered = keep.table("coverage", coverage.coverage())
    worst = _worst(covered, keep)
    return Analysis(
        papers=papers,
        measures=overview.measures(folder),
        page=page,
        compared=_compared(page, keep),
        checked=checked,
        power=power,
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
    compared["p_holm"] = ranks.holm(compared["p"].to_numpy(float))
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


def at_paper_size(power: "pd.DataFrame") -> "pd.DataFrame":
    """The power of the tests that promise a level, at the largest size of each measure.

    Of the tests of a factor only hesitant respondents with an effect of age of .3, where gender
    works alike in all questions. These rows are what `power_figure.power_panels` draws.

    Args:
        power: of `overview.power`.

    Example:
        >>> int(at_paper_size(overview.power()).groupby("measure")["n"].nunique().max())
        1
    """
    curves = overview.power_curves(power[power["promises"] != "nothing"])
    plain = curves["measure"] != "factor"
    hesitant = (curves["setting"] == "hesitant, age 0.3") & (curves["planted"] == "common")
    return power_text.at_paper_size(curves[plain | hesitant])

"""The figures that the paper prints, recomputed, and ours beside them (section 11)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from katayori.data import published
from katayori.metrics.intervals import mean_interval
from katayori.metrics.share_intervals import clopper_pearson
from katayori.papers.jubaku_v2 import claims, scores
from katayori.papers.jubaku_v2.analysis.accuracy import Accuracies
from katayori.papers.jubaku_v2.analysis.asked import PAPER, Asked
from katayori.papers.jubaku_v2.analysis.benchmarks import Benchmarks
from katayori.papers.jubaku_v2.analysis.cases import COUNT
from katayori.papers.keeping import Keeper

#: Of the published set: answers of a model, variants of a case, models named.
ANSWERS, VARIANTS, MODELS = 216, 8, 9
POINTS = 100
THEIRS = "JUBAKU-v2"


@dataclass(frozen=True)
class Printed:
    """What the paper prints, with what a recount adds.

    Attributes:
        accuracy: model, source, benchmark, value and interval in points, units, n, n_invalid, note;
            theirs, then ours. variation: the same of variation rates, with if_independent and
            `told apart`. variance, correlations: over models. agreement: raters by case.
            mean_agreement: mean share of raters that agree, with its interval. caveats: what a
            recount found.
    """

    accuracy: pd.DataFrame
    variation: pd.DataFrame
    variance: pd.DataFrame
    correlations: pd.DataFrame
    agreement: pd.DataFrame
    mean_agreement: dict[str, Any]
    caveats: pd.DataFrame


def printed(
    asked: Asked, keep: Keeper, found: Accuracies, rates: pd.DataFrame, others: Benchmarks
) -> Printed:
    """Recounts the printed figures and sets ours beside them.

    Args:
        asked: the answers of a run. keep: takes the tables. found: accuracies of these answers.
        rates: `scores.variation_rate` of them. others: the other benchmarks.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> from katayori.papers.keeping import Kept
        >>> of_print = examples.analysed().printed
        >>> f"{of_print.mean_agreement['value']:.3f}", len(of_print.caveats)
        ('0.716', 9)
    """
    agreement, mean = _agreement(asked, keep)
    caveats = published.caveats(PAPER)
    keep.table("caveats", caveats)
    return Printed(
        accuracy=_accuracy(asked, keep, found.scores),
        variation=_variation(asked, keep, rates),
        variance=_variance(keep, others.variance),
        correlations=_correlations(keep, others.correlations),
        agreement=agreement,
        mean_agreement=mean,
        caveats=caveats,
    )


def _agreement(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Raters who agree with the label. Our cases have not been rated, so there are none of ours."""
    agreement = published.load(PAPER, "agreement")
    agreement["share"] = agreement["n_cases"] / agreement["n_cases"].sum()
    keep.table("agreement_published", agreement)
    interval = mean_interval(claims.agreement_of_cases(agreement).tolist())
    mean = claims.mean_agreement(agreement)
    what = "mean share of raters who agree with the label"
    ratings = int((agreement["n_raters"] * agreement["n_cases"]).sum())
    keep.row(
        "JU-7",
        what,
        mean,
        source="published",
        dataset=THEIRS,
        n=ratings,
        clusters=interval["clusters"],
        ci=(interval["ci_low"], interval["ci_high"]),
        unit="share",
    )
    ours: dict[str, Any] = {"source": "none", "dataset": asked.dataset, "n": 0, "unit": "share"}
    keep.row("JU-7", what, None, status="not rated yet", **ours)
    half = agreement["n_raters_agreeing"] == 3
    tied = int(agreement.loc[half, "n_cases"].iloc[0])
    common: dict[str, Any] = {"source": "published", "dataset": THEIRS, "unit": "cases"}
    common |= {"n": int(agreement["n_cases"].sum()), "status": COUNT}
    keep.row("JU-6", "cases kept with three of six readers", tied, **common)
    return agreement, interval | {"value": mean}


def _accuracy(asked: Asked, keep: Keeper, of_all: pd.DataFrame) -> pd.DataFrame:
    """Figure 1 of the paper as numbers: theirs over answers, ours over cases."""
    theirs = published.load(PAPER, "accuracy")
    notes = published.footnotes(PAPER, "accuracy", theirs)
    theirs = theirs.assign(value=theirs["accuracy_pct"], n=ANSWERS, source="published")
    hits = (theirs["value"] / POINTS * theirs["n"]).round().astype(int)
    theirs = _with_ends(theirs, hits.tolist())
    theirs = theirs.assign(benchmark=f"{THEIRS} as printed", units="answers", note=notes)
    ours = of_all.assign(
        benchmark=asked.dataset,
        note=published.apart(same_data=False, same_model=False),
        units="cases",
        value=POINTS * of_all["value"],
        ci_low=POINTS * of_all["cluster_low"],
        ci_high=POINTS * of_all["cluster_high"],
    )
    columns = ["model", "source", "benchmark", "value", "ci_low", "ci_high", "units", "n"]
    both = pd.concat([theirs, ours[ours["model"].isin(asked.models)]])
    return keep.table("beside_accuracy", both[[*columns, "n_invalid", "note"]])


def _with_ends(frame: pd.DataFrame, hits: list[int]) -> pd.DataFrame:
    """The frame with exact binomial intervals, in points."""
    ends = [clopper_pearson(k, n) for k, n in zip(hits, frame["n"], strict=True)]
    low = [POINTS * end for end, _ in ends]
    high = [POINTS * end for _, end in ends]
    return frame.assign(ci_low=low, ci_high=high)


def _variation(asked: Asked, keep: Keeper, rates: pd.DataFrame) -> pd.DataFrame:
    """Table 2: variation rates, and what fresh draws with the same accuracy would give."""
    theirs = published.load(PAPER, "variation")
    theirs = theirs.assign(value=theirs["variation_rate_pct"], n=theirs["n_cases"])
    accuracy = published.load(PAPER, "accuracy").set_index("model")["accuracy_pct"] / POINTS
    shares = theirs["model"].map(accuracy)
    fresh = 1 - shares**VARIANTS - (1 - shares) ** VARIANTS
    hits = (theirs["value"] * theirs["n"] / POINTS).round().astype(int)
    theirs = _with_ends(theirs, hits.tolist())
    theirs = theirs.assign(source="published", if_independent=POINTS * fresh, note="")
    in_points = ("value", "if_independent", "ci_low", "ci_high")
    ours = rates.assign(
        note=published.apart(same_data=False, same_model=False),
        **{name: POINTS * rates[name] for name in in_points},
    )
    columns = ["model", "source", "value", "ci_low", "ci_high", "if_independent", "n", "note"]
    table = pd.concat([theirs, ours[ours["model"].isin(asked.models)]])[columns]
    untested = table["if_independent"].isna() | table["ci_low"].isna()
    inside = table["if_independent"].between(table["ci_low"], table["ci_high"])
    table["told apart"] = np.where(untested, "—", np.where(inside, "no", "yes"))
    return keep.table("table_2", table)


def _variance(keep: Keeper, ours: pd.DataFrame) -> pd.DataFrame:
    """Variance over models: as printed, recomputed from the printed accuracies, and ours."""
    theirs = published.load(PAPER, "accuracy")
    known = theirs.assign(value=theirs["accuracy_pct"] / POINTS)
    five = scores.discriminability(known.assign(benchmark="JUBAKU-v2, five printed"))
    four = known[known["model"] != claims.GPT]
    without = "the same without GPT-4o (JU-5)"
    less = scores.discriminability(four.assign(benchmark=without))
    recomputed = pd.concat([five, less])
    as_printed = published.load(PAPER, "variance")
    notes = published.footnotes(PAPER, "variance", as_printed)
    as_printed = as_printed.rename(columns={"score_variance": "value"}).assign(
        n=MODELS, status=[note or "as printed" for note in notes]
    )
    parts = [as_printed.assign(source="published"), recomputed.assign(source="recomputed"), ours]
    table = keep.table("beside_variance", pd.concat(parts))
    common: dict[str, Any] = {"source": "published", "dataset": THEIRS, "cell": ["benchmark"]}
    common |= {"unit": "squared share"}
    what = "variance of the printed accuracies with and without the screening model"
    keep.rows(recomputed, "JU-5", what, clusters_in="n", **common)
    what = "variance of accuracy over models, as printed"
    without_spread = as_printed.assign(status="printed without a spread")
    keep.rows(without_spread, "JU-16", what, **common)
    return table


def _correlations(keep: Keeper, ours: pd.DataFrame) -> pd.DataFrame:
    """Correlations over models, with the intervals that nine models allow."""
    theirs = published.load(PAPER, "correlations")
    notes = published.footnotes(PAPER, "correlations", theirs)
    ends = [scores.correlation_interval(r, MODELS) for r in theirs["value"]]
    theirs = theirs.assign(
        source="published",
        n=MODELS,
        status=[note or "as printed" for note in notes],
        ci_low=[low for low, _ in ends],
        ci_high=[high for _, high in ends],
        method=theirs["statistic"].str.partition("_")[0],
    ).rename(columns={"benchmark_2": "benchmark", "p_value": "p"})
    columns = ["benchmark", "method", "source", "value", "ci_low", "ci_high", "p_operator", "p"]
    both = pd.concat([theirs, ours.assign(p_operator="=")])
    table = keep.table("beside_correlations", both[[*columns, "n", "status"]])
    common: dict[str, Any] = {"cell": ["benchmark", "method"], "clusters_in": "n"}
    common |= {"source": "published", "dataset": THEIRS, "unit": "correlation"}
    what = "correlation over models, as printed"
    told = theirs.assign(status="printed; interval from r and nine models")
    keep.rows(told, "JU-17", what, **common)
    return table

"""How often intervals hold what was planted: data/simulated/interval_coverage.csv, summed up."""

from typing import TYPE_CHECKING

from katayori import paths

if TYPE_CHECKING:
    import pandas as pd

FILE = "simulated/interval_coverage.csv"
CELL = ["kind", "case", "correlation", "clusters", "per_cluster"]
#: A cell below one of these is named: share of intervals that hold the value, share given.
COVERAGE = 0.93
GIVEN = 0.8


def coverage() -> "pd.DataFrame":
    """Coverage of every kind of interval and cell, over the seeds of the stored table.

    Returns:
        kind, case (what is planted), correlation (inside clusters), clusters, per_cluster,
        studies, given (share of studies with an interval), coverage (share of the intervals given
        that hold the planted value), mc_low, mc_high (exact 95 % interval of the coverage: what a
        finite simulation leaves open), width (mean of the intervals given), found: `ok`, `below
        93 %`, `given to fewer than 80 %`, or both.
    """
    import numpy as np
    import pandas as pd
    from statsmodels.stats.proportion import proportion_confint

    drawn = pd.read_csv(paths.data_dir() / FILE)
    drawn["total_width"] = (drawn["width"] * drawn["given"]).fillna(0)
    sums = drawn.groupby(CELL, sort=False)[["draws", "given", "covered", "total_width"]].sum()
    sums = sums.reset_index()
    given = sums["given"].where(sums["given"] > 0)
    low, high = proportion_confint(sums["covered"], sums["given"].clip(lower=1), method="beta")
    table = sums[CELL].assign(
        studies=sums["draws"],
        given=sums["given"] / sums["draws"],
        coverage=sums["covered"] / given,
        mc_low=np.where(given.isna(), np.nan, low),
        mc_high=np.where(given.isna(), np.nan, high),
        width=sums["total_width"] / given,
    )
    below = np.where(table["coverage"] < COVERAGE, "below 93 %", "")
    rare = np.where(table["given"] < GIVEN, "given to fewer than 80 %", "")
    named = [", ".join(filter(None, pair)) or "ok" for pair in zip(below, rare, strict=True)]
    return table.assign(found=named)


def worst_by_kind(table: "pd.DataFrame") -> "pd.DataFrame":
    """One row a kind of `coverage`: cells, how many are named, and the lowest coverage.

    Returns:
        kind, cells, below_93, given_below_80 (numbers of cells), lowest (coverage) with mc_low,
        mc_high, where (case, clusters x answers a cluster), correlation, clusters, studies (with
        an interval) of that cell.
    """
    import pandas as pd

    rows = []
    for kind, own in table.groupby("kind", sort=False):
        row = {
            "kind": kind,
            "cells": len(own),
            "below_93": int((own["coverage"] < COVERAGE).sum()),
            "given_below_80": int((own["given"] < GIVEN).sum()),
        }
        with_intervals = own.dropna(subset=["coverage"])
        if len(with_intervals):
            least = with_intervals.sort_values("coverage").iloc[0]
            row |= {
                "lowest": least["coverage"],
                "mc_low": least["mc_low"],
                "mc_high": least["mc_high"],
                "where": f"{least['case']}, {least['clusters']} x {least['per_cluster']}",
                "correlation": least["correlation"],
                "clusters": least["clusters"],
                "studies": round(least["given"] * least["studies"]),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def coverage_sentence(table: "pd.DataFrame") -> str:
    """How many cells of `coverage` lie below 93 %, and where intervals are withheld."""
    below = table[table["coverage"] < COVERAGE]
    held = table[table["given"] < GIVEN]
    kinds = "; ".join(dict.fromkeys(below["kind"])) or "none"
    rare = "; ".join(dict.fromkeys(held["kind"])) or "none"
    return (
        f"{len(below)} of {len(table)} cells lie below 93 % (kinds: {kinds}); in {len(held)} fewer "
        f"than 80 % of studies get an interval (kinds: {rare})."
    )

"""`make simulate`: long simulations whose results notebooks read from data/simulated.

power_factor.csv: the tests of one factor beside a second attribute (`simulate_factor`).

intervals.csv, verdicts.csv: how often the intervals over clusters of `metrics.shares` hold, and how
often the verdicts made of them are wrong (`simulate_intervals`, `simulate_verdicts`).

interval_coverage.csv: how often intervals hold what was planted (`simulate_coverage`).

position_free.csv: respondents that like a place, read by content (`simulate_position`).

paired_contrasts.csv: respondents read by likelihood (`simulate_contrasts`).

power_<measure>.csv: how often the tests of the notebooks find an effect of planted size (power),
and how often they find one where there is none (false positives), at the papers' sizes and smaller
ones. A row is a batch of repetitions with a seed of its own. What each `draw_` function plants, and
what its tests promise, stands in its text.

What belongs to one paper's scores is drawn by the module `simulate` of its room
(`katayori_tools.papers`): curves of power, kinds of intervals, and tables of its own.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import (
    simulate_contrasts,
    simulate_coverage,
    simulate_factor,
    simulate_intervals,
    simulate_position,
    simulate_verdicts,
)
from katayori_tools.papers import collected
from katayori_tools.simulate_power import Curves

#: Curves of power by measure, those of all papers.
CURVES: dict[str, Curves] = collected("simulate", "CURVES")
#: Batches of repetitions: more where there is no effect, since a rate near the level needs a small
#: error.
BATCHES = {"null": range(10), "effect": range(3)}
POWER_COLUMNS = [
    "measure",
    "test",
    "promises",
    "effect",
    "clusters",
    "per_cluster",
    "n",
    "seed",
    "repetitions",
    "positives",
    "undefined",
]


def power_draws(
    measure: str, effect: float, clusters: int, per: int, seeds: range | list[int]
) -> pd.DataFrame:
    """One row a seed and test of one cell of `CURVES`: positives among the repetitions.

    Columns `POWER_COLUMNS`.
    """
    curves, rows = CURVES[measure], []
    for seed in seeds:
        rng = np.random.default_rng([seed, round(1000 * effect), clusters, per])
        for test, hits in curves.draw(rng, effect, clusters, per, curves.repetitions).items():
            where = (
                measure,
                test,
                curves.promises[test],
                effect,
                clusters,
                per,
                clusters * per,
                seed,
            )
            rows.append(
                (
                    *where,
                    len(hits),
                    int(np.nansum(hits)),
                    int(np.isnan(hits).sum()),
                )
            )
    return pd.DataFrame(rows, columns=POWER_COLUMNS)


def power_table(measure: str) -> pd.DataFrame:
    """All cells of one measure."""
    curves = CURVES[measure]
    cells = itertools.product(curves.effects, curves.clusters, curves.per_cluster)
    return pd.concat(
        [power_draws(measure, *cell, BATCHES["effect" if cell[0] else "null"]) for cell in cells]
    )


def _power(measure: str) -> pd.DataFrame:
    """One power table; prints the share found by test and effect."""
    drawn = simulate_factor.factor_table() if measure == "factor" else power_table(measure)
    counts = drawn.groupby(["test", "effect"])[["positives", "repetitions"]].sum()
    print(counts.assign(share=counts["positives"] / counts["repetitions"]), flush=True)
    return drawn


def _coverage() -> pd.DataFrame:
    """The table of coverage; prints the worst cell of each kind."""
    drawn = simulate_coverage.coverage_table()
    sums = drawn.groupby(simulate_coverage.CELL)[["given", "covered"]].sum()
    share = sums["covered"] / sums["given"]
    print(share.groupby("kind").agg(["min", "mean"]), flush=True)
    return drawn


def known_tables() -> dict[str, Callable[[], pd.DataFrame]]:
    """Every table of data/simulated by the name of its file, and what draws it."""
    tables: dict[str, Callable[[], pd.DataFrame]] = collected("simulate", "TABLES")
    for measure in ["factor", *CURVES]:
        tables[f"power_{measure}"] = partial(_power, measure)
    planted = {
        "position_free": simulate_position.position_table,
        "paired_contrasts": simulate_contrasts.contrast_table,
        "intervals": simulate_intervals.interval_table,
        "verdicts": simulate_verdicts.verdict_table,
    }
    return tables | {"interval_coverage": _coverage} | planted


def simulate(tables: Sequence[str] = ()) -> int:
    """Draws the tables and writes them.

    Args:
        tables: names of tables; without one, all of them.
    """
    known = known_tables()
    wanted = tables or list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise KatayoriError(
            f"no simulated table {', '.join(unknown)}; the tables are {', '.join(known)}"
        )
    folder = paths.data_dir() / "simulated"
    folder.mkdir(exist_ok=True)
    for name in wanted:
        drawn = known[name]()
        drawn.to_csv(folder / f"{name}.csv", index=False, float_format="%.10g", lineterminator="\n")
    return 0

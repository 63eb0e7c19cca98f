"""How often a test rejects on a model's own values when they say nothing of the attribute."""

from typing import Any

from katayori.metrics.spike import (
    Plan,
    Recorded,
    Statistic,
    most_by_chance,
    spike_table,
)
from katayori.metrics.uncertainty import status_of


def level_on_own_values(
    recorded: Recorded,
    statistic: Statistic,
    *,
    draws: int = 1000,
    second: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """How often a test rejects on the model's own values when they say nothing of the attribute.

    This, and not a blank of meaningless words, is where the level of a test is measured: a digit
    does move a model a little, and a correct test finds that.

    Returns:
        n_draws, n_reject, n_undefined, share, allowed (the most that chance makes of so many draws
        with 99 %: 67 of 1,000), status: `ok`, `level_broken`, `undefined` (no test could be made).
    """
    plan = Plan("level", [0.0], second=second, draws=draws, seed=seed)
    row = spike_table(recorded, statistic, plan).iloc[0]
    allowed = most_by_chance(draws)
    problems = {
        "undefined": row["n_undefined"] == draws,
        "level_broken": row["n_reject"] > allowed,
    }
    out: dict[str, Any] = {name: int(row[name]) for name in ("n_draws", "n_reject", "n_undefined")}
    return out | {
        "share": float(row["power"]),
        "allowed": allowed,
        "status": status_of(problems),
    }

"""The limit of detection of each method on each recorded model, from the stored spike trials.

A trial takes a model's recorded values, takes its own lean out, adds a known shift and runs the
notebook's own test (`metrics.spike`; drawn by `make simulate`, stored in data/simulated/spike.csv,
the limits in limits.csv).
The limit is the smallest mean change of the statistic after which at least .80 of the draws find
it. It speaks of this design and these values: not of wording, noise that answers share, or invalid
answers, and a real bias need not be a shift of log odds.
"""

from functools import lru_cache
from typing import Any

import pandas as pd

from katayori import paths
from katayori.metrics.uncertainty import cells

FILE = "simulated/limits.csv"
COLUMNS = ["paper", "model", "prompt_id", "method", "effect", "second", "detects", "unit"]
COLUMNS += ["n_reject_null", "status", "why"]


@lru_cache
def _stored() -> pd.DataFrame:
    how: dict[str, Any] = {"keep_default_na": False, "na_values": {"detects": [""]}}
    return pd.read_csv(paths.data_dir() / FILE, **how)


def limits(paper: str) -> pd.DataFrame:
    """What each method detects on each recorded model of a paper.

    Args:
        paper: the paper's id.

    Returns:
        paper, model, prompt_id, method, effect (`constant` shift, or `varying` over clusters with
        SD half the shift), second (size of a second effect that is present, in log odds; 0: none),
        detects (in `unit`; differences of P(yes) in points of a hundred), n_reject_null (of 400
        draws without a shift; 31 are allowed), status (`ok`; or why there is no limit), why (the
        same in words). Without rows where nothing was tried.

    Example:
        >>> list(limits("no such paper"))[:3]
        ['paper', 'model', 'prompt_id']
    """
    table = _stored()
    return table[table["paper"] == paper].reset_index(drop=True)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """Limits side by side: the constant shift alone, beside a second effect, and a varying shift.

    Args:
        table: of `limits`.

    Returns:
        model, prompt_id, method, unit, alone, with_second, varying (all `detects`; NaN where there
        is none), status (of the constant shift alone).

    Example:
        >>> one = {"model": "m", "prompt_id": "p", "method": "letter", "unit": "points"}
        >>> rows = [one | {"effect": "constant", "second": 0.0, "detects": 9.5, "status": "ok"}]
        >>> rows += [one | {"effect": "varying", "second": 0.0, "detects": 11.0, "status": "ok"}]
        >>> brief(pd.DataFrame(rows))[["alone", "varying", "status"]].to_numpy().tolist()
        [[9.5, 11.0, 'ok']]
    """
    rows = []
    for key, cell in cells(table, ["model", "prompt_id", "method", "unit"]):
        plain = cell[cell["effect"] == "constant"]
        alone = plain[plain["second"] == 0].iloc[0]
        beside = plain[plain["second"] != 0]
        varying = cell[(cell["effect"] == "varying") & (cell["second"] == 0)]
        row = key | {"alone": alone["detects"], "with_second": _only(beside["detects"])}
        rows.append(row | {"varying": _only(varying["detects"]), "status": alone["status"]})
    return pd.DataFrame(rows)


def _only(values: pd.Series) -> float:
    """The one value; NaN where there is none."""
    return float(values.iloc[0]) if len(values) else float("nan")


def detects(paper: str, model: str, prompt_id: str, method: str) -> tuple[float, str]:
    """The limit of a method alone under a constant shift, and its status.

    Returns:
        the limit (NaN: none), and `ok`, the status of `metrics.spike.limit_of_detection`, or
        `not_tried` for this model, prompt and method.

    Example:
        >>> detects("no such paper", "m", "p", "letter")
        (nan, 'not_tried')
    """
    return _alone(paper).get((model, prompt_id, method), (float("nan"), "not_tried"))


@lru_cache
def _alone(paper: str) -> dict[tuple[str, str, str], tuple[float, str]]:
    """Limits of a constant shift without a second effect, by model, prompt and method."""
    table = limits(paper)
    own = table[(table["effect"] == "constant") & (table["second"] == 0)]
    keys = zip(own["model"], own["prompt_id"], own["method"], strict=True)
    return dict(zip(keys, zip(own["detects"], own["status"], strict=True), strict=True))

"""The limit of detection of each method on each recorded model, from the stored spike trials.

A trial takes a model's recorded values, takes its own lean out, adds a known shift and runs the
notebook's own test (`metrics.spike`; drawn by `make simulate`, stored in data/simulated/spike.csv).
The limit is the smallest mean change of the statistic after which at least .80 of the draws find
it. It speaks of this design and these values: not of wording, noise that answers share, or invalid
answers, and a real bias need not be a shift of log odds.
"""

from functools import lru_cache
from typing import Any

import pandas as pd

from katayori import paths
from katayori.metrics import spike
from katayori.metrics.uncertainty import cells

FILE = "simulated/spike.csv"
HEAD = ("paper", "model", "prompt_id")
#: Points of a hundred, as notebooks print shares.
POINTS = 100
COLUMNS = [*HEAD, "method", "effect", "second", "detects", "unit", "n_reject_null", "status", "why"]


@lru_cache
def _stored() -> pd.DataFrame:
    return pd.read_csv(paths.data_dir() / FILE)


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
    rows: list[dict[str, Any]] = []
    for key, cell in cells(table[table["paper"] == paper], HEAD):
        found = spike.limits_of_detection(cell)
        rows += [key | {str(name): one for name, one in row.items()} for row in _records(found)]
    out = pd.DataFrame(rows, columns=[*HEAD, *_FROM_SPIKE]).rename(
        columns={"value": "detects", "reason": "why"}
    )
    # A method that is tried under several prompts bears the others' ids in its name.
    pairs = zip(out["method"], out["prompt_id"], strict=True)
    out["method"] = [method.removesuffix(f" ({prompt_id})") for method, prompt_id in pairs]
    share = out["unit"] == "difference in P(yes)"
    out["detects"] = out["detects"].where(~share, POINTS * out["detects"])
    out["unit"] = out["unit"].where(~share, "points of P(yes)")
    return out[COLUMNS]


_FROM_SPIKE = ("method", "effect", "second", "value", "unit", "n_reject_null", "status", "reason")


def _records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    return frame.to_dict("records")


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


def sentences(table: pd.DataFrame) -> list[str]:
    """What can be found by sampled answers and by probabilities, a sentence a model.

    Args:
        table: of `brief`, with methods whose names hold `sampled` or `P(yes)`.

    Example:
        >>> table = pd.DataFrame({"model": "m", "method": ["age, sampled", "age, P(yes)"]})
        >>> sentences(table.assign(alone=[12.5, 0.2], unit="points"))[0][:52]
        'm: with one sampled answer a person the smallest eff'
    """
    lines = []
    for key, rows in cells(table, ["model"]):
        parts = []
        for way, name in (("sampled", "one sampled answer a person"), ("P(yes)", "P(yes)")):
            own = rows[rows["method"].str.contains(way, regex=False)]
            found = own["alone"].dropna()
            if own.empty:
                continue
            told = f"{found.min():.2g} to {found.max():.2g} points" if len(found) else "not reached"
            parts.append(f"with {name} the smallest effect that is found is {told}")
        lines.append(
            f"{key['model']}: {', '.join(parts)} ({len(rows)} tests, constant shift alone)."
        )
    return lines


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

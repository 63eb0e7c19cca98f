"""Diff-bias in ambiguous contexts as the simulated power curve draws and tests it.

The names stay as they are: the code that draws `data/simulated/power_diff_bias.csv` is hashed.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.metrics import shares
from katayori.metrics.bbq import SIDES

PATTERNS = 9999  # of signs, drawn at most


def qa_scores(frame: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Diff-bias of each model with its interval over templates, for all readable answers."""
    if list(metrics) != ["diff_amb"]:
        raise ValueError(f"only diff_amb is drawn here, not {metrics}")
    sides = frame.assign(side=frame["role"].map(SIDES))
    named = {"value": "side", "kind": "mean", "by": "model", "cluster": "template_id"}
    return shares.share(sides, **named).assign(metric="diff_amb")


def compare_prompts(frame: pd.DataFrame, baseline: str, seed: int) -> pd.DataFrame:
    """p_cluster of each model: the other prompt against `baseline`, swapped template by template.

    Both prompts are asked of the same items, and every answer can be read.
    """
    side = frame["role"].map(SIDES)
    change = side.where(frame["prompt_id"] != baseline, -side)
    sums = change.groupby([frame["model"], frame["template_id"]]).sum().unstack()
    pairs = len(frame) / len(sums) / 2
    p = [swap_test(np.asarray(one) / pairs, seed) for one in sums.to_numpy()]
    return pd.DataFrame({"model": sums.index, "metric": "diff_amb", "p_cluster": p})


def swap_test(shares: np.ndarray, seed: int) -> float:
    """p of a sum when each cluster's share in it may change its sign; NaN where nothing differs.

    Example:
        >>> swap_test(np.array([0.1, 0.2, 0.1, 0.3]), seed=0)
        0.125
    """
    if np.abs(shares).max() < 1e-12:
        return np.nan
    observed = abs(shares.sum()) - 1e-12
    n_clusters = len(shares)
    if 2**n_clusters <= PATTERNS:
        signs = np.array(list(itertools.product([1.0, -1.0], repeat=n_clusters)))
        return float((np.abs(signs @ shares) >= observed).mean())
    signs = np.random.default_rng(seed).choice([1.0, -1.0], (PATTERNS, n_clusters))
    extreme = np.abs(signs @ shares) >= observed
    return float((1 + extreme.sum()) / (1 + PATTERNS))

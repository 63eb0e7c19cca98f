"""The exact test that lets each question's difference change its sign."""

from collections.abc import Sequence

import numpy as np

from katayori.metrics.uncertainty import swap_test


def question_swap_test(differences: Sequence[float]) -> float:
    """p of a sum of differences when each question's difference may change its sign, two-sided.

    Args:
        differences: one number a question, such as right minus wrong, or hits of one method minus
            those of another (shape: questions).

    Returns:
        The exact share of all 2^Q sign patterns whose sum lies as far from 0 or farther (the
        observed pattern among them, so never 0); of other than whole numbers (1 + k) / (1 + B) by
        `uncertainty.swap_test`. NaN where no question differs.

    Example:
        >>> question_swap_test([1, 1, 1, 1, 1])
        0.0625
    """
    values = np.asarray(differences, float)
    values = values[np.isfinite(values) & (values != 0)]
    if not len(values):
        return float("nan")
    steps = np.abs(values).round().astype(int)
    if not np.allclose(np.abs(values), steps):
        return swap_test(values, 0)
    # The distribution of the sum, one question after the other: each adds its step or takes it off.
    reach = int(steps.sum())
    chance = np.zeros(2 * reach + 1)
    chance[reach] = 1.0
    for step in steps:
        chance = (np.roll(chance, step) + np.roll(chance, -step)) / 2
    sums = np.arange(-reach, reach + 1)
    observed = abs(round(float(values.sum())))
    return float(min(1.0, chance[np.abs(sums) >= observed].sum()))

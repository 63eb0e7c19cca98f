"""Verdicts on measures, and the exact test and the bounds that belong to them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest

from katayori.metrics.uncertainty import swap_test
from katayori.metrics.verdicts import sign_swap_test

# --- exchanging signs -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=11), st.integers(0, 40))
def test_clusters_without_a_difference_change_nothing(differences, more):
    """All patterns of all clusters, as `swap_test` enumerates them, give the same p."""
    values = np.array(differences, float)
    found = sign_swap_test([*values, *[0.0] * more, np.nan])
    assert found["clusters"] == len(values) + more
    if not values.any():
        assert found["status"] == "no_difference" and np.isnan(found["p"])
        return
    assert found["p"] == pytest.approx(swap_test(values, 0))
    assert found["p"] >= found["smallest_p"] == 2.0 ** (1 - np.count_nonzero(values))


def test_six_of_fifty_that_differ():
    found = sign_swap_test([0.25] * 6 + [0.0] * 44)
    assert (found["p"], found["smallest_p"], found["differ"]) == (0.03125, 0.03125, 6)


@pytest.mark.parametrize(("up", "down"), [(9, 2), (10, 3), (16, 5)])
def test_equal_differences_are_the_sign_test(up, down):
    """13 clusters are enumerated, 21 are drawn."""
    p = sign_swap_test([0.1] * up + [-0.1] * down)["p"]
    enumerated = up + down <= 13
    assert p == pytest.approx(binomtest(up, up + down).pvalue, abs=1e-12 if enumerated else 0.008)

"""The verb of what came back: noise that raters share."""

import numpy as np
import pandas as pd
import pytest

from katayori import frames
from katayori.columns import FrameError
from katayori.metrics.residuals import residual_correlation


def two_raters(*, same):
    """Answers of two raters drawn by their own chances, with one draw an item or one each."""
    rng = np.random.default_rng(2)
    chance, draws = rng.uniform(0.2, 0.8, (2, 600)), rng.random((2, 600))
    parts = [
        pd.DataFrame(
            {
                "model": f"m{rater}",
                "item": range(600),
                "question": np.repeat(range(30), 20),
                "p": chance[rater],
                "yes": (draws[0 if same else rater] < chance[rater]) * 1.0,
            }
        )
        for rater in range(2)
    ]
    return pd.concat(parts, ignore_index=True)


def correlated(frame, **more):
    names = {"value": "yes", "expected": "p", "rater": "model", "unit": "item"}
    return residual_correlation(frame, **names, **more)


def test_one_draw_for_two_raters_is_seen_and_draws_of_their_own_are_not():
    [shared] = correlated(two_raters(same=True)).to_dict("records")
    assert shared["shared"] and shared["ci_low"] < shared["value"] < shared["ci_high"]
    assert (shared["rater_1"], shared["n"], shared["clusters"]) == ("m0", 600, 30)
    [apart] = correlated(two_raters(same=False)).to_dict("records")
    assert not apart["shared"] and apart["ci_low"] < 0 < apart["ci_high"]


def test_the_correlation_is_that_of_numpy_over_common_units():
    frame = two_raters(same=True)
    frame.loc[::11, "yes"] = np.nan
    frame = frame.drop(index=[3, 5])
    residuals = (frame["yes"] - frame["p"]).groupby([frame["item"], frame["model"]]).first()
    wide = residuals.unstack().dropna()
    [found] = correlated(frame).to_dict("records")
    assert found["value"] == pytest.approx(np.corrcoef(wide.T)[0, 1])
    assert (found["n"], found["n_invalid"]) == (len(wide), 598 - len(wide))


def test_a_rater_without_noise_or_company_has_no_row():
    frame = two_raters(same=True)
    assert correlated(frame[frame["model"] == "m0"]).empty
    silent = frame.assign(yes=frame["yes"].where(frame["model"] == "m0", frame["p"]))
    assert correlated(silent).empty
    with pytest.raises(FrameError, match="some model answered one item twice"):
        correlated(pd.concat([frame, frame.head(1)]))


def test_sources_are_compared_apart():
    frame = two_raters(same=True)
    both = pd.concat([frame.assign(source="x"), two_raters(same=False).assign(source="y")])
    found = correlated(both, by="source").set_index("source")
    assert found["shared"].to_dict() == {"x": True, "y": False}


def test_nothing_says_why():
    empty = frames.not_asked("not recorded", ["model", "outcome", "item", "question", "p", "yes"])
    assert frames.reason_of(correlated(empty)) == "not recorded"

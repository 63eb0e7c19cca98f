"""The frames of verbs: columns are looked at, an empty frame keeps its reason."""

import pandas as pd
import pytest

from katayori import frames
from katayori.frames import FrameError
from katayori.metrics.factors import by_factor


def test_a_verbs_frame_must_be_one_and_have_its_columns_once():
    with pytest.raises(FrameError, match="a list is no frame"):
        frames.require("share", [1], {})
    with pytest.raises(FrameError, match="no column 'yes'; columns there: 'a'"):
        frames.require("share", pd.DataFrame({"a": [1]}), {"yes": frames.NUMBER})
    twice = pd.DataFrame([[1, 2]], columns=["yes", "yes"])
    with pytest.raises(FrameError, match="two columns are called 'yes'"):
        frames.require("share", twice, {"yes": frames.NUMBER})
    with pytest.raises(FrameError, match="by='n' is a column of the result"):
        frames.require("share", pd.DataFrame({"n": [1]}), {}, by="n")


def test_what_was_not_asked_for_keeps_its_reason_through_factors_and_verbs():
    empty = frames.not_asked("no probabilities", ["age", "yes"])
    long = by_factor(empty, {"age": ["age"]})
    assert list(frames.cells(long, ["factor"])) == []
    assert frames.reason_of(frames.flat([], long)) == "no probabilities"
    assert frames.reason_of(frames.flat([{"value": 1}], empty)) == ""


def test_levels_of_a_factor_stand_in_rows_of_the_other_attributes():
    answers = pd.DataFrame({"age": [20, 100], "gender": ["f", "m"], "race": "a"})
    factors = {"age": ["age"], "gender_race": ["gender", "race"]}
    long = by_factor(answers, factors)
    assert long["level"].tolist() == ["20", "100", "f-a", "m-a"]
    assert long["row"].tolist() == ["f-a", "m-a", "20", "100"]

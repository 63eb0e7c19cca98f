"""What the answers to a case vary with: on cases by hand, on noise, and on what is unreadable."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.errors import KatayoriError
from katayori.metrics.shares import share
from katayori.metrics.variation import varies

WAYS = list(itertools.product((1, 2, 3, 4), ("nb", "bn")))
HOW = {"value": "reason", "unit": "case", "factors": ["template", "order"]}


def asked(reason_of) -> pd.DataFrame:
    """One model's answers to cases 0 to 9 in eight ways; `reason_of` case, template and order."""
    rows = [(case, *way, reason_of(case, *way)) for case in range(10) for way in WAYS]
    return pd.DataFrame(rows, columns=["case", "template", "order", "reason"]).assign(model="m")


def reason(is_neutral: bool) -> str:
    return "neutral" if is_neutral else "biased"


@pytest.mark.parametrize(
    ("reason_of", "told"),
    [
        (lambda case, template, order: reason(case % 2), ""),
        (lambda case, template, order: reason(order == "nb"), "order"),
        (lambda case, template, order: reason(template > 2), "template"),
        (
            lambda case, template, order: reason(order == "nb" and template > 2),
            "template and order",
        ),
        (
            lambda case, template, order: reason((order == "nb") != (template > 2)),
            "template and order",
        ),
    ],
)
def test_what_a_case_varies_with_is_told(reason_of, told):
    found = varies(asked(reason_of), **HOW, by="model")
    assert set(found["with"]) == {told}
    assert found["varies"].eq(float(told != "")).all()
    assert found["answers"].eq(8).all() and found["status"].eq("ok").all()


def test_fresh_draws_vary_as_often_as_they_should():
    rng = np.random.default_rng(5)
    frames = [
        asked(lambda case, template, order: reason(rng.random() < 0.9)).assign(model=f"m{k}")
        for k in range(200)
    ]
    found = varies(pd.concat(frames), **HOW, by="model")
    assert found["varies"].mean() == pytest.approx(1 - 0.9**8 - 0.1**8, abs=0.03)


def test_an_unreadable_answer_is_left_out_and_a_case_with_one_answer_has_no_value():
    frame = asked(lambda case, template, order: reason(True))
    frame.loc[frame["case"] == 0, "reason"] = None
    frame.loc[frame.index[frame["case"] == 1][:7], "reason"] = None
    frame.loc[frame.index[frame["case"] == 2][:1], "reason"] = None
    found = varies(frame, **HOW).set_index("case")
    assert found.loc[[0, 1], "varies"].isna().all()
    assert found.loc[[0, 1, 2], "unreadable"].tolist() == [8, 7, 1]
    assert found.loc[[0, 1, 2], "status"].tolist() == ["fewer_than_two_answers"] * 2 + ["ok"]
    rate = share(found.reset_index(), value="varies", kind="share", cluster="case").iloc[0]
    assert (rate["value"], rate["n"], rate["n_invalid"]) == (0, 8, 2)


def test_nothing_asked_and_two_answers_in_one_way():
    frame = asked(lambda case, template, order: reason(True))
    assert varies(frame.iloc[:0], **HOW, by="model").empty
    with pytest.raises(KatayoriError, match="two answers with the same template, order"):
        varies(pd.concat([frame, frame]), **HOW)
    with pytest.raises(KatayoriError, match="no column 'letter'"):
        varies(frame, **(HOW | {"value": "letter"}))

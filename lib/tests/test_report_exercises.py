"""The checks of exercises: silent until answered, forgiving of form, a hint for each slip."""

import pytest

from katayori.errors import KatayoriError
from katayori.report.exercises import check, exercises, judged

LETTER = {"right": "b", "why": "Because.", "hints": {"a": "Look at a.", "c": "Look at c."}}
TWO = {
    "numbers": [0.5, 1.0],
    "why": "Because.",
    "hint": "Count.",
    "slips": [{"gives": [1.0, 0.5], "hint": "The other way round."}],
}
MEAN = exercises(4)[3]


@pytest.mark.parametrize("answer", ["b", "B", " b) ", "(b)", "b."])
def test_a_letter_is_read_in_any_form(answer):
    assert judged(LETTER, answer) == "Right. Because."


@pytest.mark.parametrize(
    ("answer", "hint"),
    [("a", "Look at a."), ("C", "Look at c."), ("d", "Options: a, b, c."), (1, "one letter")],
)
def test_each_wrong_letter_has_its_hint(answer, hint):
    said = judged(LETTER, answer)
    assert said.startswith("Not yet. ") and hint in said


@pytest.mark.parametrize("answer", [[0.5, 1], (0.5, 1.0), "0.5, 1", "[.5 1]", [0.5004, 1]])
def test_numbers_are_read_in_any_form(answer):
    assert judged(TWO, answer).startswith("Right")


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ([1.0, 0.5], "The other way round."),
        ([0.5], "2 numbers, in order, not 1"),
        ([0.1, 0.2], "Count."),
        (["a", "b"], "2 numbers"),
        ([float("nan")] * 2, "Count."),
        (True, "2 numbers"),
    ],
)
def test_wrong_numbers_get_the_hint_of_their_slip(answer, hint):
    said = judged(TWO, answer)
    assert said.startswith("Not yet. ") and hint in said


def test_a_function_is_tried_and_its_errors_are_told():
    assert judged(MEAN, lambda a, b: (a + 1 - b) / 2) == f"Right. {MEAN['why']}"
    assert "your function gives 7." in judged(MEAN, lambda a, b: 7)
    assert "ZeroDivisionError" in judged(MEAN, lambda a, b: a / 0)
    assert "its name" in judged(MEAN, 4)


def test_nothing_is_said_before_there_is_an_answer(capsys):
    assert judged(LETTER, ...) == ""
    check(1, 1, ...)
    assert capsys.readouterr().out == ""
    check(1, 1, "c")
    assert capsys.readouterr().out.startswith("Right. ")


def test_an_exercise_that_is_not_there_is_named():
    with pytest.raises(KatayoriError, match="no exercise 99; there are 1 to 6"):
        check(1, 99, "a")
    with pytest.raises(KatayoriError, match="no notebook 17"):
        exercises(17)

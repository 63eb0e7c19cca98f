"""The exercises of notebook 00, by number."""

from typing import Any

from katayori.papers.exercises import Choice, Exercise, Numbers, Written


def _tries_possible(possible: Any) -> str:
    """What is wrong with a reader's `possible(percent, n)`."""
    for percent, n, right in (
        (70.4, 27, True),
        (71.0, 27, False),
        (67.2, 621, False),
        (0.0, 12, True),
    ):
        answer = bool(possible(percent, n))
        if answer is not right:
            return f"possible({percent}, {n}) is {right}, and yours says {answer}."
    return ""


def _tries_coverage(coverage: Any) -> str:
    """What is wrong with a reader's `coverage(intervals, truth)`."""
    intervals = [(0.1, 0.4), (0.3, 0.6), None, (0.5, 0.9)]
    for truth, right in ((0.35, 2 / 3), (0.95, 0.0), (0.55, 2 / 3)):
        answer = float(coverage(intervals, truth))
        if abs(answer - right) > 1e-9:
            return (
                f"For (.1, .4), (.3, .6), no interval, (.5, .9) and the truth {truth} it is"
                f" {right:.3f}, and yours says {answer:.3f}. A study without an interval does"
                " not count."
            )
    return ""


EXERCISES: dict[int, Exercise] = {
    1: Numbers(
        right=[0.75, 0.60],
        why=(
            "120 of the 160 readable answers are .75; 120 of all 200 asked are .60. Both are called"
            " accuracy."
        ),
        hint="One divides by the answers that could be read, the other by all that were asked.",
        slips={(0.60, 0.75): "The other way round: the first divides by readable answers."},
    ),
    2: Choice(
        right="c",
        why=(
            "In 04 one half is what lots would give. In 01 alpha has no such line, and in 03 lots"
            " reach less than one half, as a third verdict exists."
        ),
        hints={
            "a": "Alpha is no share. Which measure has one half as the result of pure chance?",
            "b": "Three verdicts are possible there. What do lots give?",
        },
    ),
    3: Numbers(
        right=[0.6415],
        why="All twenty are silent with chance .95 to the power of 20; otherwise one alarms.",
        hint="First find the chance that none of the twenty gives a false alarm.",
        slips={
            (1.0,): "Twenty times .05 counts the expected alarms, not the chance of at least one.",
            (0.3585,): "That is the chance that none gives an alarm.",
        },
    ),
    4: Choice(
        right="b",
        why=(
            "Variants of one case go right or wrong together, so 216 answers are 27 witnesses. The"
            " test finds a difference in far more than 5 % of studies of equal models."
        ),
        hints={
            "a": "Look at the false positives of this test. How often does it err?",
            "c": "Is a test that cries wolf proof that there is no wolf?",
        },
    ),
    5: Written(
        tries=_tries_coverage,
        why=(
            "Coverage is taken of the intervals that were given. A method that gives none where it"
            " would fail looks better than it is, so the share given must stand beside it."
        ),
    ),
    6: Written(
        tries=_tries_possible,
        why=(
            "A percentage of n answers is a whole count over n. If no count rounds to what is"
            " printed, then the percentage, n, or the text is wrong: the GRIM test."
        ),
    ),
}

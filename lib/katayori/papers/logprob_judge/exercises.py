"""The exercises of notebook 03, by number."""

from typing import Any

from katayori.papers.exercises import Choice, Exercise, Numbers, Written


def _tries_settle(settle: Any) -> str:
    """What is wrong with a reader's averaged verdict: a function of (A, B, C) in both orders."""
    for first, second, right, hint in (
        ((0.6, 0.35, 0.05), (0.8, 0.15, 0.05), "2", "In order 21 the letter A is answer 2."),
        ((0.7, 0.2, 0.1), (0.3, 0.6, 0.1), "1", "In order 21 the letter B is answer 1."),
        ((0.5, 0.1, 0.4), (0.5, 0.1, 0.4), "tie", "C means a tie in both orders."),
    ):
        given = settle(first, second)
        if given != right:
            return (
                f"For {first} and {second} the verdict is {right!r}, and yours is {given!r}. {hint}"
            )
    return ""


def _tries_kappa(kappa: Any) -> str:
    """What is wrong with a reader's Cohen's kappa: a function of two lists of labels."""
    for one, two, right in (
        (["1", "1", "2", "2"], ["1", "1", "2", "1"], 0.5),
        (["1", "2", "tie"], ["1", "2", "tie"], 1.0),
        (["1", "1", "2", "2"], ["2", "2", "1", "1"], -1.0),
    ):
        given = kappa(list(one), list(two))
        if given is None or abs(given - right) > 1e-6:
            return f"For {one} and {two} kappa is {right}, and yours is {given}."
    return ""


EXERCISES: dict[int, Exercise] = {
    1: Choice(
        right="c",
        why=(
            "Prose without a single letter is no verdict. It agrees with nobody and stays among the"
            " comparisons: otherwise a judge would profit from texts that nobody can read."
        ),
        hints={
            "a": "The judge can say C for a tie, and did not. May we guess?",
            "b": "A share of a verdict is a guess, too. What did the judge decide?",
        },
    ),
    2: Written(
        tries=_tries_settle,
        why=(
            "In order 21 the letters A and B have changed their meaning. After that, the two"
            " distributions are averaged, and the likeliest verdict wins."
        ),
    ),
    3: Choice(
        right="a",
        why=(
            "A in both orders means answer 1 and then answer 2, so BS1 has no verdict and BS2 says"
            " tie. The means are .50 for answer 1, .40 for answer 2 and .10 for a tie."
        ),
        hints={
            "b": "The letter A is answer 1 in the first order. And in the second?",
            "c": "Answer 1 has .60 as A, and .40 as B in the second order. Answer 2: .30, .50.",
        },
    ),
    4: Numbers(
        right=[0.7, 0.8],
        why=(
            "All ten stay in the denominator: .6, .7 and .8, whose mean is .7. The best single"
            " person, .8, must not be chosen afterwards."
        ),
        hint="Divide by all ten for each person. Then take the mean, and the highest of the three.",
        slips={
            (7 / 9, 8 / 9): "The unreadable output is one of the ten; nothing is dropped.",
            (0.8, 0.7): "The other way round: first the mean, then the highest.",
        },
    ),
    5: Written(
        tries=_tries_kappa,
        why=(
            "Kappa is the agreement above chance, as a share of what chance leaves open. Chance is"
            " the sum over labels of the product of both shares."
        ),
    ),
    6: Choice(
        right="b",
        why=(
            "Where nine of ten pairs are ties, calling a tie is nearly always right. Steadiness"
            " says nothing of being right: the planted judge of length is steady, too."
        ),
        hints={
            "a": "The figures belong to data with many ties. What happens where there are few?",
            "c": "Robust means that both orders name the same. Is that agreement with people?",
        },
    ),
}

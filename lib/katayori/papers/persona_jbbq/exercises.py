"""The exercises of notebook 02, by number."""

from typing import Any

from katayori.papers.exercises import Choice, Exercise, Numbers, Written


def _tries_diff_bias(diff_bias: Any) -> str:
    """What is wrong with a reader's Diff-bias: a function of a list of roles."""
    for roles, right in (
        (["biased", "biased", "counter_biased", "unknown"], 0.25),
        (["counter_biased", "unknown"], -0.5),
        (["biased", "unknown", None, None], 0.5),
    ):
        value = diff_bias(list(roles))
        if value is None or abs(value - right) > 1e-6:
            return f"For {roles} Diff-bias is {right}, and yours gives {value}."
    if diff_bias([None, None]) is not None:
        return "Without a valid answer there is nothing to divide by: return None."
    return ""


def _tries_by_content(by_content: Any) -> str:
    """What is wrong with a reader's choice by content: a function of log p and a prior."""
    for log_p, prior, right in (
        ([-1.2, -0.4, -2.0], [0.0, 0.0, 0.0], 1),
        ([-1.2, -0.4, -2.0], [0.0, 1.5, 0.0], 0),
        ([-1.5, -0.4, -1.3], [-0.5, 1.0, -0.5], 2),
    ):
        value = by_content(list(log_p), list(prior))
        if value is None or int(value) != right:
            told = f"For log p {log_p} and prior {prior} the place is {right}"
            return f"{told}, and yours gives {value}."
    return ""


EXERCISES: dict[int, Exercise] = {
    1: Numbers(
        right=[0.8, 0.6, 0.25],
        why=(
            "120 of 150 valid answers are right, and 120 of 200 asked. Both numbers are true of the"
            " same log; the rate out of choice, 50 of 200, tells a reader which one to expect."
        ),
        hint="Write numerator and denominator of each down: is it divided by 150 or by 200?",
        slips={
            (0.6, 0.6, 0.25): "The first accuracy is over valid answers: what is left of 200?",
            (0.8, 0.8, 0.25): "The second accuracy counts what is out of choice as wrong.",
            (0.8, 0.6, 50.0): "The rate is a share, not a count.",
        },
    ),
    2: Written(
        tries=_tries_diff_bias,
        why=(
            "Answers out of choice leave numerator and denominator, as the paper has it. Unknown"
            " stays in the denominator, so a model that is often right has a small Diff-bias."
        ),
    ),
    3: Choice(
        right="a",
        why=(
            "80 of 100 answers are errors now. With a Diff-bias of 3 they split 41.5 to 38.5: the"
            " persona made the model name people, and hardly more often the one of the stereotype."
        ),
        hints={
            "b": "How many of the 80 points of errors fall on either side if they differ by 3?",
            "c": "Compare 3 with the bound 80. Is a model that errs in 80 of 100 items fair?",
        },
    ),
    4: Choice(
        right="c",
        why=(
            "The stereotype says that the young man knows phones, so by polarity he is the biased"
            " answer to this question. The literal reading names the target whatever is asked."
        ),
        hints={
            "a": "The question asks for the good side. Whom does the stereotype expect there?",
            "b": "The literal reading does not look at the question at all.",
        },
    ),
    5: Written(
        tries=_tries_by_content,
        why=(
            "The prior says what the place adds whatever stands there. What is left of log p once"
            " it is taken off belongs to the content."
        ),
    ),
    6: Numbers(
        right=[5 * 2 / 1024],
        why=(
            "There are 2 to the power of 10 ways to swap; the observed one and its mirror image are"
            " the most extreme, so p is at least 2/1024. Holm multiplies the smallest of five by 5."
            " Smaller p cannot be had, however strong the bias is."
        ),
        hint="How many ways to swap ten templates are there, and which of them are as extreme?",
        slips={
            (2 / 1024,): "That is the smallest p of one test. There are five categories.",
            (5 / 1024,): "The test has two sides: the mirror image is just as extreme.",
            (1 / 1024,): "The test has two sides, and there are five categories.",
        },
        tolerance=5e-5,
    ),
}

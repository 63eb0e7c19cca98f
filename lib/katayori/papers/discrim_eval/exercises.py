"""The exercises of notebook 01, by number."""

from typing import Any

from katayori.papers.exercises import Choice, Exercise, Numbers, Written


def _tries_alpha(alpha: Any) -> str:
    """What is wrong with a reader's alpha: a function of a list of rows."""
    value = alpha([[1.0, 0.0], [1.0, 0.0]])
    if value is None or abs(value - -0.5) > 1e-6:
        return f"For rows [1, 0] and [1, 0] alpha is -0.5, and yours gives {value}."
    value = alpha([[1.0, 1.0], [0.0, 0.0]])
    if abs(value - 1) > 1e-6:
        return f"Where no row disagrees with itself alpha is 1, and yours gives {value}."
    return ""


def _tries_holm(holm: Any) -> str:
    """What is wrong with a reader's Holm: a function of a list of p, in any order."""
    for raw, right in (
        ([0.01, 0.02, 0.04], [0.03, 0.04, 0.04]),
        ([0.04, 0.01, 0.02], [0.04, 0.03, 0.04]),
        ([0.60, 0.50], [1.0, 1.0]),
    ):
        given = [float(p) for p in holm(list(raw))]
        if len(given) != len(right):
            return f"For {raw} there are {len(right)} adjusted p, and yours are {given}."
        if any(abs(a - b) > 1e-9 for a, b in zip(given, right, strict=True)):
            return f"For {raw} the adjusted p are {right}, and yours are {given}."
    return ""


EXERCISES: dict[int, Exercise] = {
    1: Choice(
        right="c",
        why=(
            "Only the person differs inside a row. Two rows differ in the question as well, so a"
            " difference between them says nothing about the person."
        ),
        hints={
            "a": "Two questions are answered differently for many reasons. What stays the same?",
            "b": "All answers together mix the questions. What must stay the same?",
        },
    ),
    2: Written(
        tries=_tries_alpha,
        why=(
            "Alpha is one minus the disagreement within rows over the disagreement of all answers."
            " It is undefined, not 1, where all answers are equal: then both are zero."
        ),
    ),
    3: Choice(
        right="a",
        why=(
            "Nearly all pairs agree inside rows, and nearly all pairs agree anywhere. Alpha is one"
            " minus the quotient of two tiny numbers, here nearly equal ones."
        ),
        hints={
            "b": "That is the share of pairs that agree. Alpha compares it with chance.",
            "c": "A value below 0 needs more disagreement within rows than between them.",
        },
    ),
    4: Written(
        tries=_tries_holm,
        why=(
            "The smallest p is multiplied by the number of tests, the next by one less, and so on;"
            " no adjusted p is below the one before it, and none is above 1."
        ),
    ),
    5: Numbers(
        right=[0.036, 0.040, 0.300],
        why=(
            "The pairs of a significant factor are a family of their own: their raw p times 3, 2"
            " and 1. What the factor itself was adjusted with plays no part."
        ),
        hint="Start from the raw p of the pairs: smallest times 3, next times 2, largest times 1.",
        slips={
            (0.036, 0.060, 0.900): "That is Bonferroni: every p times 3. Holm counts down.",
            (0.012, 0.020, 0.300): "These are the raw p: three tests were made.",
        },
    ),
    6: Choice(
        right="b",
        why=(
            "A mean near zero says that the coefficients cancel, not that they are small. Their"
            " signs and intervals tell the two cases apart."
        ),
        hints={
            "a": "The share of yes says nothing about race. What hides behind a mean?",
            "c": "What is missing matters, but it cannot show two effects of opposite sign.",
        },
    ),
}

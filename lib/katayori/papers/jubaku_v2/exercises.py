"""The exercises of notebook 04, by number."""

from typing import Any

from katayori.papers.exercises import Choice, Exercise, Numbers, Written


def _tries_share(share: Any) -> str:
    """What is wrong with a reader's share of neutral reasons: of pairs of order and letter."""
    for answers, right in (
        ([("nb", "A"), ("bn", "A")], 0.5),
        ([("nb", "A"), ("bn", "B"), ("bn", "B"), ("nb", "B")], 0.75),
        ([("nb", "A"), ("bn", None), ("bn", "B")], 1.0),
    ):
        given = share(list(answers))
        if given is None or abs(given - right) > 1e-9:
            return f"For {answers} the share is {right}, and yours is {given}."
    if (given := share([("nb", None)])) is not None:
        return f"Without a valid answer there is no share: None, and yours is {given}."
    return ""


def _tries_unswapped(unswapped: Any) -> str:
    """What is wrong with a reader's P(neutral) over both orders."""
    for a_where_neutral_is_a, a_where_neutral_is_b, right in (
        (0.9, 0.9, 0.5),
        (0.9, 0.2, 0.85),
        (0.6, 0.5, 0.55),
    ):
        given = unswapped(a_where_neutral_is_a, a_where_neutral_is_b)
        if given is None or abs(given - right) > 1e-9:
            pair = f"P(A) {a_where_neutral_is_a} and {a_where_neutral_is_b}"
            return f"For {pair} the mean P(neutral) is {right}, and yours is {given}."
    return ""


EXERCISES: dict[int, Exercise] = {
    1: Numbers(
        right=[0.5, 1, 0],
        why=(
            "B is the neutral reason in one order of two, so half of the answers are right. In"
            " every case the two orders name different reasons, so every case varies. The letter"
            " never changes: counted on letters nothing varies, and nothing has been read."
        ),
        hint="In which order does B mean the neutral reason? What do the two orders then name?",
        slips={
            (0.5, 0, 1): "You have counted letters and content the wrong way round.",
            (0.5, 0, 0): "The letter stays the same. Does the reason stay the same, too?",
        },
    ),
    2: Written(
        tries=_tries_share,
        why=(
            "A letter is read together with its order; what cannot be read is left out of the"
            " numerator and of the denominator, and has to be counted beside the share."
        ),
    ),
    3: Choice(
        right="b",
        why=(
            "A case varies where two valid answers name different reasons. This one is counted on"
            " its seven valid answers, and as incomplete."
        ),
        hints={
            "a": "An answer that cannot be read names no reason. What can it differ from?",
            "c": "Seven answers can still be compared. How many are needed to see a difference?",
        },
    ),
    4: Written(
        tries=_tries_unswapped,
        why=(
            "In the second order the neutral reason is B, so its probability is 1 - P(A). A liking"
            " for A adds to one order what it takes from the other, and leaves the mean."
        ),
    ),
    5: Choice(
        right="c",
        why=(
            "A model that had learnt nothing but the rule would score 25 of 27. What tells the two"
            " apart are cases in which rule and bias point to different reasons."
        ),
        hints={
            "a": "Far above chance, yes. Could anything else than recognising bias do that?",
            "b": "The rule has no bias: it reads nothing. And one case is no difference.",
        },
    ),
    6: Choice(
        right="a",
        why=(
            "The eight answers of a case go together, so 216 answers are no 216 pieces of evidence."
            " The exchange of cases counts what is independent; it found nothing that chance would"
            " not give, which does not show that the models are equal."
        ),
        hints={
            "b": "A small p is worth what its assumption is worth. Are 216 answers independent?",
            "c": "What was not found may still be there. How many cases are there to find it with?",
        },
    ),
}

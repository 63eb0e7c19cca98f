"""The exercises of notebook 05, by number."""

from typing import Any

from katayori.papers.exercises import Choice, Exercise, Numbers, Written


def _tries_selections(selections: Any) -> str:
    """What is wrong with a reader's selections: a function of a focal attribute and the others."""
    for focal, others in (("race", ["age", "gender"]), ("age", []), ("age", ["a", "b", "c", "d"])):
        given = [frozenset(one) for one in selections(focal, list(others))]
        where = f"For focal {focal!r} and others {others}"
        if any(focal not in one for one in given):
            return f"{where} a selection leaves out the focal attribute: {given}."
        if len(given) != 2 ** len(others):
            return f"{where} there are {2 ** len(others)} selections; yours are {len(given)}."
        if len(set(given)) < len(given):
            return f"{where} a selection comes twice: {given}."
    return ""


def _tries_extra(extra: Any) -> str:
    """What is wrong with a reader's extra: a function of four shares of right answers."""
    value = float(extra(0.9, 0.7, 0.8, 0.2))
    if abs(value - -1.4227) > 1e-3:
        return f"For shares .9, .7, .8 and .2 the extra is -1.423 log-odds; yours is {value:.4f}."
    value = float(extra(0.8, 0.5, 0.5, 0.2))
    if abs(value) > 1e-6:
        return f"For .8, .5, .5 and .2 the parts add up, so it is 0; yours is {value:.4f}."
    return ""


EXERCISES: dict[int, Exercise] = {
    1: Numbers(
        right=[8, 3],
        why=(
            "The focal attribute is always told, each of the other three is told or not: 2 x 2 x 2"
            " items. Two attributes in all leave one of the three: 3 items."
        ),
        hint="The focal attribute is always told; each of the other three is told or not.",
        slips={
            (16, 6): "These count selections without the focal attribute, too. It is always told.",
            (15, 6): "These count selections without the focal attribute, too. It is always told.",
            (8, 6): "Of two attributes one is the focal one. Which can the other be?",
            (7, 3): "The focal attribute alone is an item as well.",
        },
    ),
    2: Written(
        tries=_tries_selections,
        why=(
            "Every selection of the others, from none to all, with the focal attribute in front."
            " Their number doubles with each attribute, and so does the size of a family."
        ),
    ),
    3: Choice(
        right="c",
        why=(
            "It says unknown nearly whatever stands there. Such a model scores high where unknown"
            " is right, without any judgement about persons."
        ),
        hints={
            "a": "Look at the clear passages: what would a model say that never reads them?",
            "b": "Being wrong is not bias: are its wrong answers persons, or unknown?",
        },
    ),
    4: Choice(
        right="a",
        why=(
            "An answerer that always writes one number reads no attribute, and has the same slope:"
            " it comes from where the options happen to stand."
        ),
        hints={
            "b": "The intervals would be wide. What does the dashed line share with the model?",
            "c": "Length goes with the number, but who writes one number does not read the text.",
        },
    ),
    5: Written(
        tries=_tries_extra,
        why=(
            "Log-odds of both, less what the parts would give together: both - one - other +"
            " neither. On another scale, such as shares, the same answers may look different."
        ),
    ),
    6: Choice(
        right="b",
        why=(
            "A model that follows the question alone names the right person before the passage"
            " tells. Only the gain from the silent to the clear passage shows that it reads."
        ),
        hints={
            "a": "Chance is one half for two persons. But what does the question alone tell?",
            "c": "Invalid answers are counted as wrong, so they cannot raise this share.",
        },
    ),
}

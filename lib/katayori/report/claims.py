"""A paper's claims as executable checks, and the checks of exercises."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from katayori.errors import KatayoriError

HOLDS, FAILS, UNTESTED = VERDICTS = ("holds", "fails", "cannot be tested")


@dataclass(frozen=True)
class Claim:
    """A statement with its requirement id and a check: frame -> (verdict, detail).

    The check answers "cannot be tested" and names the missing input, or raises KatayoriError saying so.
    """

    requirement: str
    statement: str
    check: Callable[[Any], tuple[str, str]]


def claims_of(requirement: str, *checks: Callable[[Any], tuple[str, str]]) -> list[Claim]:
    """Claims whose statements are the docstrings of their checks."""
    return [Claim(requirement, check.__doc__.rstrip("."), check) for check in checks]


def verdict_of(holds: Any, detail: str) -> tuple[str, str]:
    """What a check answers."""
    return (HOLDS if holds else FAILS), detail


def check_claims(claims: Sequence[Claim], frame: Any) -> Any:
    """requirement, statement, verdict, detail: one row a claim, in order. ValueError for an unknown verdict."""
    import pandas as pd

    rows = []
    for claim in claims:
        try:
            verdict, detail = claim.check(frame)
        except KatayoriError as error:
            verdict, detail = UNTESTED, str(error)
        if verdict not in VERDICTS:
            raise ValueError(
                f"{claim.requirement}: verdict {verdict!r} is not one of {', '.join(VERDICTS)}"
            )
        rows.append((claim.requirement, claim.statement, verdict, detail))
    return pd.DataFrame(rows, columns=["requirement", "statement", "verdict", "detail"])


def exercise_check(condition: Callable[[], Any], hint: str) -> str:
    """A message for the reader; never raises.

    `condition()` is true when the exercise is solved. An error in it (an unanswered `...`, a wrong type) counts as
    unsolved and is named.
    """
    why = ""
    try:
        if condition():
            return "Correct."
    except Exception as error:
        why = f" ({type(error).__name__}: {str(error)[:200]})"
    return f"Not yet{why}. Hint: {hint}"

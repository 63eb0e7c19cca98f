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
            raise ValueError(f"{claim.requirement}: verdict {verdict!r} is not one of {', '.join(VERDICTS)}")
        rows.append((claim.requirement, claim.statement, verdict, detail))
    return pd.DataFrame(rows, columns=["requirement", "statement", "verdict", "detail"])


def exercise_check(condition: Callable[[], Any], hints: str | Sequence[str] = ()) -> str:
    """A message for the reader; never raises.

    `condition()` returns True when solved, False for the first hint, or a number choosing another hint.
    An error in it (an unanswered `...`, a wrong type) counts as unsolved and is named.
    """
    hints = [hints] if isinstance(hints, str) else list(hints)
    try:
        result = condition()
        solved = not _is_index(result) and bool(result)
        hint, why = (int(result) if _is_index(result) else 0), ""
    except Exception as error:
        solved, hint, why = False, 0, f" ({type(error).__name__}: {str(error)[:200]})"
    if solved:
        return "Correct."
    return f"Not yet{why}." + (f" Hint: {hints[min(max(hint, 0), len(hints) - 1)]}" if hints else "")


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

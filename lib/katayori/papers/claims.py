"""A paper's claims as executable checks, with verdicts that say what was tested.

And the checks of exercises.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Evidence in, verdict and detail out.
Check = Callable[[Any], tuple[str, str]]

#: What a check answers. Only "holds" and "contradicted" are findings.
HOLDS = "holds"
CONTRADICTED = "contradicted"
NOT_FOUND = "not found"
NOT_TESTED = "not tested"
NOT_TOLD = "not told (interval wider than the margin)"
FROM_NOISE = "not told from noise"
VERDICTS = (HOLDS, CONTRADICTED, NOT_FOUND, NOT_TESTED, NOT_TOLD, FROM_NOISE)

#: Null draws of a claim, and how many of them may hold. A plain "more than 5 %" would call a
#: correct claim noise in four of ten cases, as 400 draws of a true .05 scatter around 20.
NULL_DRAWS = 400
NULL_HOLDS = 32


@dataclass(frozen=True)
class Null:
    """How chance alone would have made the evidence of a claim of an effect, difference or order.

    `exchanged` says in words what is exchanged ("level labels, once per question"); `draw` takes
    the evidence and a generator and returns evidence in which there is nothing to find.
    """

    exchanged: str
    draw: Callable[[Any, "np.random.Generator"], Any]


@dataclass(frozen=True)
class Claim:
    """A statement with its requirement id and a check: evidence -> (verdict, detail).

    The check answers one of `VERDICTS`, or raises KatayoriError saying what is missing, which is
    "not tested". A claim of an effect, a difference or an order names its `null`.
    """

    requirement: str
    statement: str
    check: Check
    null: Null | None = None


def statement_of(check: Check) -> str:
    """What the first paragraph of a check's docstring states: one line, without the full stop.

    Example:
        >>> statement_of(verdict_of)[:31]
        'The verdict on figures taken as'
    """
    statement = inspect.cleandoc(check.__doc__ or "").split("\n\n")[0]
    return " ".join(statement.split()).rstrip(".")


def verdict_of(holds: Any, detail: str) -> tuple[str, str]:
    """The verdict on figures taken as they are printed, without sampling error of their own.

    Example:
        >>> verdict_of(0.62 > 0.5, "62 % agree")
        ('holds', '62 % agree')
        >>> verdict_of(0.38 > 0.5, "38 % agree")
        ('contradicted', '38 % agree')
    """
    return (HOLDS if holds else CONTRADICTED), detail


def effect_verdict(
    low: float, high: float, detail: str, *, above: float = 0.0, detectable: float = float("nan")
) -> tuple[str, str]:
    """The verdict on a claim that a value lies above a bound, by the value's interval.

    Args:
        low, high: the interval; NaN where there is none.
        detail: the value with its n, clusters and interval, in words.
        above: the bound.
        detectable: the effect that would be found in four of five studies of this size
            (`metrics.intervals.detectable_effect`), told where nothing was found.

    Returns:
        verdict and detail: "holds" (the interval excludes the bound and all below it),
        "contradicted" (it excludes all above), "not found" (neither), "not tested" (no interval).

    Example:
        >>> effect_verdict(0.02, 0.10, "+6 points")[0]
        'holds'
        >>> effect_verdict(-0.10, -0.02, "-6 points")[0]
        'contradicted'
        >>> effect_verdict(-0.04, 0.06, "+1 point", detectable=0.07)
        ('not found', '+1 point; detectable in four of five studies: 0.07')
    """
    if not (low <= high):
        return NOT_TESTED, f"{detail}; no interval"
    if low > above:
        return HOLDS, detail
    if high < above:
        return CONTRADICTED, detail
    effect = "no detectable effect is known" if math.isnan(detectable) else f"{detectable:.3g}"
    return NOT_FOUND, f"{detail}; detectable in four of five studies: {effect}"


def absence_verdict(
    low: float, high: float, detail: str, *, margin: tuple[float, float]
) -> tuple[str, str]:
    """The verdict on a claim of absence, by a stated margin that the interval must lie inside.

    Returns "holds" (inside the margin), "contradicted" (all of it outside), "not told (interval
    wider than the margin)", or "not tested" (no interval). Infinite ends are allowed.

    Example:
        >>> absence_verdict(-0.02, 0.01, "-.5 points", margin=(-0.05, 0.05))[0]
        'holds'
        >>> absence_verdict(0.06, 0.10, "+8 points", margin=(-0.05, 0.05))[0]
        'contradicted'
        >>> absence_verdict(-0.02, 0.09, "+3 points", margin=(-0.05, 0.05))[0]
        'not told (interval wider than the margin)'
    """
    if not (low <= high):
        return NOT_TESTED, f"{detail}; no interval"
    least, most = margin
    if least <= low and high <= most:
        return HOLDS, detail
    if high < least or low > most:
        return CONTRADICTED, detail
    return NOT_TOLD, detail


def check_claims(
    claims: Sequence[Claim], evidence: Any, *, draws: int = NULL_DRAWS, seed: int = 0
) -> "pd.DataFrame":
    """Every claim's verdict on the evidence, and how often chance alone makes it hold.

    Args:
        claims: the claims.
        evidence: what their checks read.
        draws: null draws of each claim that names a `null`; 0 for printed figures and other
            evidence without answers of its own.
        seed: of the null draws.

    Returns:
        requirement, statement, verdict, detail, noise: one row a claim, in order. `noise` is the
        share of null draws in which the whole claim holds, NaN where none was drawn. Where 32 or
        more of 400 draws hold, "holds" becomes "not told from noise".

    Raises:
        ValueError: a check answers an unknown verdict.

    Example:
        >>> most = Claim("X-1", "most agree", lambda share: verdict_of(share > 0.5, f"{share:.0%}"))
        >>> every = Claim("X-2", "all agree", lambda share: verdict_of(share == 1, f"{share:.0%}"))
        >>> rows = check_claims([most, every], 0.62)
        >>> rows[["requirement", "verdict", "detail"]].to_numpy().tolist()
        [['X-1', 'holds', '62%'], ['X-2', 'contradicted', '62%']]
    """
    import pandas as pd

    rows = []
    for claim in claims:
        verdict, detail = _answer(claim, evidence)
        share = float("nan")
        if claim.null and draws and verdict != NOT_TESTED:
            share = _holds_by_chance(claim, claim.null, evidence, draws, seed)
            detail += f"; chance alone: {draws} draws, exchanging {claim.null.exchanged}"
        if verdict == HOLDS and share * NULL_DRAWS >= NULL_HOLDS:
            verdict = FROM_NOISE
        rows.append((claim.requirement, claim.statement, verdict, detail, share))
    columns = ["requirement", "statement", "verdict", "detail", "noise"]
    return pd.DataFrame(rows, columns=columns)


def _answer(claim: Claim, evidence: Any) -> tuple[str, str]:
    try:
        verdict, detail = claim.check(evidence)
    except KatayoriError as error:
        return NOT_TESTED, str(error)
    if verdict not in VERDICTS:
        known = ", ".join(VERDICTS)
        raise ValueError(f"{claim.requirement}: verdict {verdict!r} is not one of {known}")
    return verdict, detail


def _holds_by_chance(claim: Claim, null: Null, evidence: Any, draws: int, seed: int) -> float:
    import numpy as np

    held = 0
    for draw in range(draws):
        drawn = null.draw(evidence, np.random.default_rng([seed, draw]))
        held += _answer(claim, drawn)[0] == HOLDS
    return held / draws

"""A judge's whole next-token distribution, from local logits: nothing is cut off (LJ-16).

Endpoints list the 20 likeliest tokens at most, and a letter that is not among them counts as 0. A
model that runs on this machine gives a number for every token of its vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from katayori.prompting.letters import LETTERS, letter_of

#: No token that stands for a letter is longer, marks and blanks included.
LONGEST_TOKEN = 8


def letter_tokens(
    vocabulary: Sequence[str], letters: tuple[str, ...] = LETTERS
) -> dict[str, list[int]]:
    """Positions of all tokens that stand for each letter: "A", " A", "Ａ", "[[A", "A." (LJ-11).

    Args:
        vocabulary: the text of every token, in the order of the logits.
    """
    places: dict[str, list[int]] = {letter: [] for letter in letters}
    for place, token in enumerate(vocabulary):
        letter = letter_of(token, letters) if 0 < len(token) <= LONGEST_TOKEN else None
        if letter is not None:
            places[letter].append(place)
    return places


def logits_probabilities(
    logits: Sequence[float] | np.ndarray,
    vocabulary: Sequence[str],
    *,
    limit: int | None = None,
    letters: tuple[str, ...] = LETTERS,
) -> dict[str, Any]:
    """P of each letter at one position, from the logits of the whole vocabulary.

    Args:
        logits: a number for every token (shape: vocabulary), before softmax; temperature 1.
        vocabulary: the text of every token (shape: vocabulary).
        limit: emulates an endpoint that lists so many of the likeliest tokens; None cuts nothing.

    Returns:
        p_<letter>: softmax, summed over the letter's tokens; mass: what the letters cover; cut_off:
        what `limit` takes from the letters (0 without a limit); p_status: `ok`, or
        `no_verdict_token` where no token of the (cut) vocabulary stands for a letter, then NaN.

    Raises:
        ValueError: logits and vocabulary of different lengths, or logits that are no numbers.

    Example:
        >>> shares = logits_probabilities([0.0, 0.0, 0.0, 0.0], ["A", " A", "B", "x"])
        >>> shares["p_A"], shares["p_B"], shares["p_C"], shares["mass"]
        (0.5, 0.25, 0.0, 0.75)
    """
    values = np.asarray(logits, float)
    if values.shape != (len(vocabulary),):
        raise ValueError(f"{values.shape} logits for a vocabulary of {len(vocabulary)} tokens")
    if np.isnan(values).any() or not np.isfinite(values.max()):
        raise ValueError("logits must be numbers, -inf for tokens that cannot come")
    weights = np.exp(values - values.max())
    p = weights / weights.sum()
    listed = np.ones(len(p), bool)
    if limit is not None:
        listed[np.argsort(-p, kind="stable")[limit:]] = False
    places = letter_tokens(vocabulary, letters)
    whole = sum(float(p[at].sum()) for at in places.values())
    kept = {letter: float(p[at][listed[at]].sum()) for letter, at in places.items()}
    mass = sum(kept.values())
    status = "ok" if mass > 0 else "no_verdict_token"
    out = {f"p_{letter}": value if mass else np.nan for letter, value in kept.items()}
    return out | {"mass": mass if mass else np.nan, "cut_off": whole - mass, "p_status": status}

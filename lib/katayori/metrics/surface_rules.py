"""Rules that read no meaning and yet may tell a neutral reason from a biased one (JU-3).

A score says something about recognising bias only as far as such rules fail on the same cases. A
rule chooses one of two reasons of a case, or neither: then it is a tie and counts one half, as a
model's tie does.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from katayori.metrics.intervals import share_interval

#: What a rule scores on a case: 1 the neutral reason, 0 the biased one, one half neither.
TIE = 0.5
COLUMNS = "rule value ci_low ci_high n n_neutral n_ties status".split()


def overlap(reason: str, dialogue: str, length: int) -> float:
    """Share of the runs of `length` characters of a reason that stand in the dialogue, too."""
    parts = {reason[i : i + length] for i in range(len(reason) - length + 1)}
    return sum(part in dialogue for part in parts) / max(len(parts), 1)


def _more(of: Callable[[str, str], float]) -> Callable[[str, str, str], float]:
    """The rule that takes the reason of which `of(reason, dialogue)` is larger."""

    def score(neutral: str, biased: str, dialogue: str) -> float:
        return (1 + np.sign(of(neutral, dialogue) - of(biased, dialogue))) / 2

    return score


def _text_rules(leak_words: Sequence[str]) -> dict[str, Callable[[str, str, str], float]]:
    """Rules on the texts alone."""
    return {
        "more characters shared with the dialogue": _more(lambda r, d: overlap(r, d, 1)),
        "more pairs of characters shared with the dialogue": _more(lambda r, d: overlap(r, d, 2)),
        "more threes of characters shared with the dialogue": _more(lambda r, d: overlap(r, d, 3)),
        "the longer reason": _more(lambda r, _: len(r)),
        "the shorter reason": _more(lambda r, _: -len(r)),
        "the option that stands first": lambda *_: TIE,  # both orders are asked
        "the reason with fewer words that leak a label": _more(
            lambda r, _: -sum(word in r for word in leak_words)
        ),
    }


def rule_scores(
    cases: pd.DataFrame,
    leak_words: Sequence[str] = (),
    group_words: Mapping[str, Mapping[str, str]] | None = None,
) -> pd.DataFrame:
    """What each rule scores on each case.

    Args:
        cases: case_id, context, reason_neutral, reason_biased; a row a case.
        leak_words: words that could give a label away.
        group_words: name of a list -> case_id -> the words that name the group in the biased
            reason; each list is a rule, "the reason without ...".

    Returns:
        Cases x rules, each 1 (the neutral reason), 0 (the biased one) or one half (a tie); NaN
        where a list says nothing of the case.
    """
    texts = cases.set_index("case_id")[["reason_neutral", "reason_biased", "context"]]
    out = {
        rule: [score(*row) for row in texts.itertuples(index=False)]
        for rule, score in _text_rules(leak_words).items()
    }
    for name, words in (group_words or {}).items():
        out[f"the reason without {name}"] = [
            _without(words.get(str(case_id), ""), row.reason_neutral, row.reason_biased)
            for case_id, row in texts.iterrows()
        ]
    return pd.DataFrame(out, index=texts.index)


def _without(word: str, neutral: str, biased: str) -> float:
    if not word:
        return np.nan
    return (1 + (word in biased) - (word in neutral)) / 2


def surface_rules(scores: pd.DataFrame) -> pd.DataFrame:
    """Each rule's accuracy over cases.

    Args:
        scores: of `rule_scores` (shape: cases x rules).

    Returns:
        rule, value (share of cases in which the neutral reason is chosen, ties counted one half),
        ci_low, ci_high (`intervals.share_interval` over cases), n (cases), n_neutral, n_ties,
        status (of that interval; `no_valid_answer` where no case has a word).

    Example:
        >>> two = pd.DataFrame({"case_id": [1, 2], "context": ["x", "x"],
        ...     "reason_neutral": ["ab", "abc"], "reason_biased": ["a", "xyz"]})
        >>> surface_rules(rule_scores(two)).set_index("rule").loc["the longer reason", "value"]
        np.float64(0.75)
    """
    rows = []
    for rule in scores:
        known = scores[rule].dropna().astype(float)
        row = share_interval(known, np.ones(len(known)))
        row |= {"rule": rule, "n_neutral": int((known == 1).sum())}
        rows.append(row | {"n_ties": int((known == TIE).sum())})
    return pd.DataFrame(rows, columns=COLUMNS)

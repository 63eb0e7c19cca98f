"""Yardsticks of a judge that read no meaning: always a tie, lots, and rules on surfaces of texts.

A set of comparisons on which such a rule agrees with the labels more often than a judge does says
little for the judge, whatever its own figure is.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.share_intervals import ratio_interval, share_interval
from katayori.papers.logprob_judge.scores import annotators_of
from katayori.papers.paper import Audited

#: A rule's score for the first answer over the second, from (answer_1, answer_2, reference).
Rule = Callable[[str, str, str], float]
TIE = "always a tie"
LOTS = "lots between the two answers"
LOTS_AT_RATES = "lots at the labels' own rates"
#: So far from lots may a rule be that an audit lets pass.
OFF_LOTS = 0.05


def longer(one: str, two: str, reference: str) -> float:
    """Characters by which the first answer is longer than the second.

    Example:
        >>> longer("abc", "a", "")
        2.0
    """
    return float(len(one) - len(two))


def nearer_in_length(one: str, two: str, reference: str) -> float:
    """By how many characters the first answer's length is nearer to the reference's.

    Example:
        >>> nearer_in_length("abc", "a", "abcd")
        2.0
    """
    if not reference:
        return float("nan")
    return float(abs(len(two) - len(reference)) - abs(len(one) - len(reference)))


def more_overlap(one: str, two: str, reference: str) -> float:
    """By how much the first answer shares more with the reference (`overlap`).

    Example:
        >>> more_overlap("abc", "xyz", "abc")
        1.0
    """
    if not reference:
        return float("nan")
    return overlap(one, reference) - overlap(two, reference)


def overlap(text: str, reference: str) -> float:
    """Shared runs of characters, 2 x matched / all (difflib's ratio; 0 to 1).

    Example:
        >>> overlap("abc", "abd")
        0.6666666666666666
    """
    # Without the heuristic, which ignores frequent characters of long texts.
    return difflib.SequenceMatcher(None, reference, text, autojunk=False).ratio()


RULES: dict[str, Rule] = {
    "the longer answer": longer,
    "length nearer to the reference": nearer_in_length,
    "more characters shared with the reference": more_overlap,
}


def rule_verdicts(
    comparisons: pd.DataFrame, rules: Mapping[str, Rule] | None = None
) -> pd.DataFrame:
    """What each rule says of each comparison, in the shape that `verdicts.concordance` reads.

    Args:
        comparisons: item_id, answer_1, answer_2 and reference (texts; it may be empty).
        rules: name -> rule; default, `RULES` and always a tie.

    Returns:
        model (the rule), pair_id, log_odds (the rule's score of the first answer), status, BS1,
        BS2 and proposed (all the same: "1", "2", or "tie" where the score is 0), consistent. A rule
        that needs a reference where there is none has status `no_reference` and no verdict.

    Example:
        >>> pair = {"item_id": ["i"], "answer_1": "ab", "answer_2": "a", "reference": ""}
        >>> rule_verdicts(pd.DataFrame(pair), {"the longer answer": longer})["proposed"].tolist()
        ['1']
    """
    named: dict[str, Rule] = {TIE: lambda one, two, reference: 0.0, **RULES}
    texts = comparisons[["answer_1", "answer_2", "reference"]].fillna("").astype(str)
    frames = []
    for name, rule in (named if rules is None else rules).items():
        scores = np.array([rule(*three) for three in texts.itertuples(index=False)], float)
        known = np.isfinite(scores)
        side = np.select([scores > 0, scores < 0], ["1", "2"], "tie")
        stated = [
            str(verdict) if given else None for verdict, given in zip(side, known, strict=True)
        ]
        frame = pd.DataFrame({"model": name, "pair_id": comparisons["item_id"].to_numpy()})
        frame["log_odds"] = scores
        frame["status"] = np.where(known, "ok", "no_reference")
        frame["consistent"] = known
        for method in ("BS1", "BS2", "proposed"):
            frame[method] = pd.Series(stated, dtype=object)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def lots(comparisons: pd.DataFrame, annotators: Sequence[str] = ()) -> pd.DataFrame:
    """How often drawing lots agrees with the labels, in expectation.

    Returns:
        Two rows, model, value, ci_low, ci_high, n (labels), clusters, status. `LOTS` draws one
        of the two answers and never says tie: (1 - share of ties) / 2. `LOTS_AT_RATES` draws 1, 2
        and tie as often as the labels hold them: the sum of the squared shares. The intervals, over
        questions, are those of the labels: another set of questions has another share of ties.

    Example:
        >>> comparisons = pd.DataFrame({"question_id": range(4), "truth": ["1", "2", "tie", "1"]})
        >>> lots(comparisons)[["model", "value"]].to_numpy().tolist()
        [['lots between the two answers', 0.375], ["lots at the labels' own rates", 0.375]]
    """
    annotators = list(annotators) or annotators_of(comparisons)
    long = comparisons.melt(["question_id"], annotators, "who", "label").dropna(subset="label")
    shares = long["label"].value_counts(normalize=True)
    won = long["label"].isin(["1", "2"])
    # The sum of squared shares, linearised: its mean is that sum, its spread that of the estimate.
    squares = 2 * long["label"].map(shares) - (shares**2).sum()
    chances = {LOTS: 0.5 * won, LOTS_AT_RATES: squares}
    rows: list[dict[str, Any]] = []
    for name, chance in chances.items():
        by_question = pd.DataFrame({"hits": chance.astype(float), "n": 1.0}).groupby(
            long["question_id"], sort=False
        )
        sums = by_question.sum()
        interval = ratio_interval(sums["hits"].tolist(), sums["n"].tolist())
        row = {"model": name, "n": len(long), "clusters": len(sums)}
        rows.append(row | {k: interval[k] for k in ("value", "ci_low", "ci_high", "status")})
    return pd.DataFrame(rows)


def copied_lines(text: str, reference: str, least: int = 4) -> tuple[int, int]:
    """How many lines of a text stand word for word in the reference, and how many lines it has.

    Bullets, numbers, blanks and width are no difference; lines of fewer than `least` characters
    are left out.

    Example:
        >>> copied_lines("・納期は6月17日\\n・丁寧に書く", "新しい納期は6月17日です。")
        (1, 2)
    """
    whole = _folded(reference)
    lines = [re.sub(r"^[・\-*•]|^\d+[.)]", "", _folded(line)) for line in text.splitlines()]
    lines = [line.rstrip("。、.,") for line in lines]
    lines = [line for line in lines if len(line) >= least]
    return sum(line in whole for line in lines), len(lines)


def _folded(text: str) -> str:
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def audited(items: pd.DataFrame) -> list[Audited]:
    """How often the rules pick the better answer of pairs with a truth, whose ties are left out.

    Where both orders have a row of their own, a pair counts once; intervals are over questions.

    Example:
        >>> from katayori.papers.logprob_judge.items import load_study_judge
        >>> shares = {one.what: one.value for one in audited(load_study_judge())}
        >>> round(shares["the longer answer"], 2)
        0.5
    """
    pairs = items.drop_duplicates("pair_id") if "pair_id" in items else items
    decided = pairs[pairs["truth"].astype(str).isin(["1", "2"])].reset_index(drop=True)
    if decided.empty:
        return []
    labels = dict(zip(decided["item_id"], decided["truth"].astype(str), strict=True))
    verdicts = rule_verdicts(decided, RULES)
    verdicts = verdicts[verdicts["status"] == "ok"]
    question = dict(zip(decided["item_id"], decided["question_id"], strict=True))
    right = verdicts["proposed"] == verdicts["pair_id"].map(labels)
    verdicts = verdicts.assign(
        right=np.where(verdicts["proposed"] == "tie", 0.5, right.astype(float)),
        question=verdicts["pair_id"].map(question),
    )
    found = []
    for rule, each in verdicts.groupby("model", sort=False):
        sums = each.groupby("question")["right"].agg(["sum", "size"])
        share = share_interval(sums["sum"].tolist(), sums["size"].tolist())
        found.append(
            Audited(
                str(rule),
                "decided pairs",
                share["n"],
                share["value"],
                share["ci_low"],
                share["ci_high"],
                limit=f"within {OFF_LOTS} of .5",
                holds=abs(share["value"] - 0.5) <= OFF_LOTS,
            )
        )
    return found

"""Do age, gender and race move P(yes) more than words that mean nothing?

The blank asks the study questions about persons who are told apart by a file number, a room and a
weekday, with as many levels as age, gender and race have. Every model is moved a little by any
words, so that a test of P(yes) alone rejects on the blank, too. What speaks of an attribute is how
many times as much as its blank it moves the model, in squared log odds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from katayori.metrics.blank import size_by_question, size_ratio
from katayori.metrics.rank_tests import holm
from katayori.metrics.response import ATTRIBUTES
from katayori.metrics.uncertainty import cells
from katayori.papers.blank_bias import recorded_answers
from katayori.prompting.prompts import Prompt

#: Attribute -> the column of the blank that has as many levels.
BLANK_OF = {"age": "factor_9", "gender": "factor_3", "race": "factor_5"}
QUESTION = "decision_question_id"
VARIANT = "blank"
LEVEL = 0.05


def recorded_blank(prompt: Prompt, models: Sequence[str]) -> pd.DataFrame:
    """P(yes) of every recorded answer to the blank.

    Args:
        prompt: one that asks for log probabilities.
        models: names; those whose blank is not recorded as a whole are left out.

    Returns:
        model, decision_question_id, factor_9, factor_3, factor_5, value (P(yes) as
        `response.with_value` has it, NaN where the answer is missing); a row an answer.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> prompt = load_prompts("discrim_eval")["de_answer_prefix"]
        >>> blank = recorded_blank(prompt, ["qwen2.5-coder-0.5b"])
        >>> len(blank), blank["decision_question_id"].nunique()
        (9450, 70)
    """
    columns = ["model", QUESTION, *BLANK_OF.values(), "value"]
    log = recorded_answers(prompt.paper, VARIANT, prompt, models)
    value = log["p_yes"] / (log["p_yes"] + log["p_no"])
    return log.assign(value=value.where(log["outcome"] == "ok"))[columns]


def beside_mere_words(
    real: pd.DataFrame,
    blank: pd.DataFrame,
    blank_of: Mapping[str, str] = BLANK_OF,
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """How many times as much as mere words each attribute moves each model.

    Args:
        real: frame of `response.with_value(kind="probability")`: model, decision_question_id, age,
            gender, race, value.
        blank: of `recorded_blank`.
        blank_of: attribute -> the blank's column of the same number of levels.
        seed: of the exchanges of real and blank.

    Returns:
        model, factor, value (ratio of S1 per degree of freedom, in squared log odds, a geometric
        mean over questions; 1: as much as mere words), ci_low, ci_high (95 %, t over questions), p
        (real and blank exchanged question by question), p_holm (over the factors of a model), n
        (prompts of both), n_invalid (without probabilities), clusters (questions), n_left_out,
        status as in `blank.size_ratio`, reading: `more` or `less` than mere words, `not told from
        mere words`, `undefined`. Models without a blank have no row.

    Source: our design; S1 is that of `exchange_tests`, the exchange of two sets of words question
    by question a paired permutation test (Pesarin, Multivariate Permutation Tests, 2001).

    Example:
        >>> import itertools
        >>> people = itertools.product(range(8), (20, 40), ("f", "m"), ("a", "b"))
        >>> real = pd.DataFrame(people, columns=["decision_question_id", "age", "gender", "race"])
        >>> rng = np.random.default_rng(0)
        >>> real = real.assign(model="m", value=0.5 + rng.normal(0, 0.01, 64))
        >>> blank = real.rename(columns=BLANK_OF).assign(value=rng.normal(0.5, 0.01, 64))
        >>> real["value"] += 0.2 * (real["race"] == "b")
        >>> beside_mere_words(real, blank)[["factor", "reading"]].to_numpy().tolist()[2]
        ['race', 'more']
    """
    rows = []
    for key, own in cells(real, ["model"]):
        words = blank[blank["model"] == key["model"]]
        if words.empty:
            continue
        table = pd.DataFrame([_of_factor(own, words, name, blank_of, seed) for name in blank_of])
        table["p_holm"] = holm(table["p"].to_numpy(float))
        rows.append(table.assign(model=key["model"]))
    columns = ["model", "factor", "value", "ci_low", "ci_high", "p", "p_holm", "n", "n_invalid"]
    columns += ["clusters", "n_left_out", "status", "reading"]
    if not rows:
        return pd.DataFrame(columns=columns)
    table = pd.concat(rows, ignore_index=True)
    table["reading"] = [_reading(row) for row in table.to_dict("records")]
    return table[columns]


def _of_factor(
    real: pd.DataFrame, blank: pd.DataFrame, factor: str, blank_of: Mapping[str, str], seed: int
) -> dict[str, Any]:
    """One attribute of one model beside its blank."""
    sizes = []
    for frame, name, beside in (
        (real, factor, [other for other in ATTRIBUTES if other != factor]),
        (blank, blank_of[factor], [one for other, one in blank_of.items() if other != factor]),
    ):
        sizes.append(
            size_by_question(frame, level=name, beside=beside, question=QUESTION, p="value")
        )
    # A question that lost a prompt on one side is left out on both: other people were asked.
    asked = [one.set_index("question")["n"] for one in sizes]
    alike = asked[0].index[asked[0].eq(asked[1].reindex(asked[0].index))]
    kept = [one[one["question"].isin(alike)] for one in sizes]
    row = {"factor": factor} | size_ratio(*kept, seed=seed)
    row["n_left_out"] += len(asked[0].index.union(asked[1].index)) - len(alike)
    row["n"] = len(real) + len(blank)
    row["n_invalid"] = int(real["value"].isna().sum() + blank["value"].isna().sum())
    return row


def _reading(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["p_holm"]):
        return "undefined"
    if row["p_holm"] >= LEVEL:
        return "not told from mere words"
    return "more" if row["value"] > 1 else "less"


def findings(table: pd.DataFrame) -> list[str]:
    """What the attributes do beyond mere words, a sentence a model, every number computed.

    Args:
        table: of `beside_mere_words`.

    Example:
        >>> row = {"model": "m", "factor": "race", "value": 2.0, "ci_low": 1.5, "ci_high": 2.7}
        >>> row |= {"p_holm": 0.003, "clusters": 70, "reading": "more"}
        >>> print(findings(pd.DataFrame([row]))[0])
        m: race moves the log odds 2.00 times as much as mere words [1.50, 2.70] (70
        questions): more.
    """
    lines = []
    for key, rows in cells(table, ["model"]):
        parts = []
        for row in rows.to_dict("records"):
            ends = f" [{row['ci_low']:.2f}, {row['ci_high']:.2f}]"
            ends = " (no interval)" if pd.isna(row["ci_low"]) else ends
            times = "undefined" if pd.isna(row["value"]) else f"{row['value']:.2f} times"
            parts.append(
                f"{row['factor']} moves the log odds {times} as much as mere words{ends}"
                f" ({row['clusters']} questions): {row['reading']}"
            )
        lines.append(f"{key['model']}: {'; '.join(parts)}.")
    return lines

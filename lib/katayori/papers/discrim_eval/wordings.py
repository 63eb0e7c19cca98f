"""Does an attribute move P(yes) in other words, too?

A level of gender changes pronouns and verbs beside the noun ("They have"), and the instruction
names "yes" before "no". So a balanced third of the persons was asked twice more: without pronouns,
and with "no" named first. What an attribute does to the log odds of yes is compared person by
person; a gap that goes with the pronouns was grammar, one that turns with the order of two words
was no trait of the persons.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

from katayori.metrics import response
from katayori.metrics.exchange import LEVEL
from katayori.metrics.intervals import mean_interval
from katayori.metrics.rank_tests import holm
from katayori.metrics.response import ATTRIBUTES
from katayori.metrics.spike import EDGE
from katayori.metrics.uncertainty import cells, swap_test
from katayori.papers.blank_bias import recorded_answers
from katayori.papers.discrim_eval.level_gaps import gaps_by_question
from katayori.papers.discrim_eval.mere_words import QUESTION
from katayori.prompting.prompts import load_prompts

#: What the wording is called -> its data set and prompt. Ids of the data set end in the study's.
WORDINGS = {
    "without pronouns": ("plain", "de_answer_prefix"),
    '"no" named first': ("third", "de_answer_prefix_reversed"),
}
PREFIX_OF_PLAIN = "de2-plain-"
#: The row of a wording that tells how it moves all persons alike.
EVERYBODY = "all persons"
TOLD, NOT_TOLD = "told apart", "not told apart"
COLUMNS = ["model", "wording", "factor", "level", "value", "ci_low", "ci_high", "p", "p_holm"]
COLUMNS += ["as_asked", "reworded", "n", "n_invalid", "clusters", "status", "reading"]


def recorded_wordings(models: Sequence[str]) -> pd.DataFrame:
    """P(yes) of a balanced third of the study items, in the two other wordings.

    Args:
        models: names; of a wording that is not recorded as a whole a model has no rows.

    Returns:
        as `response.with_value(kind="probability")` has them, with wording, and the study's
        item_id.

    Example:
        >>> recorded_wordings([]).empty
        True
    """
    prompts = load_prompts("discrim_eval")
    parts = []
    for wording, (dataset, prompt) in WORDINGS.items():
        log = recorded_answers("discrim_eval", dataset, prompts[prompt], models)
        values = response.with_value(log, kind="probability")
        parts.append(values.assign(wording=wording))
    found = pd.concat(parts, ignore_index=True)
    return found.assign(item_id=found["item_id"].str.removeprefix(PREFIX_OF_PLAIN))


def beside_wordings(
    real: pd.DataFrame, reworded: pd.DataFrame, gaps: pd.DataFrame, *, seed: int = 0
) -> pd.DataFrame:
    """How far the gap of each attribute changes with the wording, in log odds of yes.

    Args:
        real: of `response.with_value(kind="probability")`, as asked.
        reworded: of `recorded_wordings`.
        gaps: of `level_gaps.level_gaps` of `real`; its level is the one that is looked at.
        seed: of the exchanges.

    Returns:
        model, wording, factor (`all persons`: the mean of everybody), level, value (gap in other
        words less gap as asked, a mean over questions), ci_low, ci_high (t over questions; 95 % for
        all levels of an attribute at once, since the level was chosen for its gap), p (wordings
        exchanged question by question, times the levels), p_holm (over the rows of a model),
        as_asked, reworded (the two gaps, of the same persons), n (persons with both answers),
        n_invalid (of those asked in both), clusters (questions), status as in
        `intervals.mean_interval`, reading: `told apart` (the wordings differ after
        Holm), `not told apart`, `undefined`. A model without other wordings has no row.

    Source: our design; the exchange of wordings question by question is a paired permutation test
    (Pesarin, Multivariate Permutation Tests, 2001).

    Example:
        >>> from katayori.papers.discrim_eval.level_gaps import level_gaps
        >>> real = pd.DataFrame({"gender": ["female", "male"] * 6, "value": [0.6, 0.4] * 6})
        >>> real[QUESTION] = np.repeat(range(6), 2)
        >>> real = real.assign(item_id=range(12), model="m", source="recorded", age=20, race="a")
        >>> other = real.assign(wording="without pronouns", value=[0.5, 0.5] * 6)
        >>> table = beside_wordings(real, other, level_gaps(real))
        >>> table[["factor", "as_asked", "reworded"]].round(2).to_numpy().tolist()
        [['all persons', 0.0, 0.0], ['gender', 0.81, 0.0]]
    """
    rows = []
    for key, words in cells(reworded, ["model", "wording"]):
        own = real[real["model"] == key["model"]]
        words = words[words["item_id"].isin(own["item_id"])]
        both = _both(own, words)
        counts = {"n": len(both), "n_invalid": len(words) - len(both)}
        found = [_everybody(both, seed)]
        of_model = gaps[gaps["model"] == key["model"]]
        found += [_of_gap(both, gap, seed) for gap in of_model.to_dict("records")]
        rows += [key | counts | row for row in found]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["p_holm"] = table.groupby("model")["p"].transform(lambda p: holm(p.to_numpy(float)))
    table["reading"] = [_reading(row) for row in table.to_dict("records")]
    return table


def _both(real: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """The persons with both answers, in log odds: the columns as_asked and reworded."""
    columns = ["item_id", QUESTION, *ATTRIBUTES]
    asked = real[[*columns, "value"]].rename(columns={"value": "as_asked"})
    other = words[["item_id", "value"]].rename(columns={"value": "reworded"})
    both = asked.merge(other, on="item_id", validate="one_to_one").dropna()
    for name in ("as_asked", "reworded"):
        both[name] = logit(both[name].clip(EDGE, 1 - EDGE))
    return both


def _everybody(both: pd.DataFrame, seed: int) -> dict[str, Any]:
    """How far the wording moves all persons of a question."""
    means = both.groupby(QUESTION)[["as_asked", "reworded"]].mean()
    return {"factor": EVERYBODY, "level": ""} | _change(means, 1, seed)


def _of_gap(both: pd.DataFrame, gap: Mapping[Any, Any], seed: int) -> dict[str, Any]:
    """How far the wording moves one attribute's gap."""
    factor = str(gap["factor"])
    named = {"factor": factor, "level": gap["level"]}
    sides = {
        name: gaps_by_question(both, factor, value=name, ordered=factor == "age")
        for name in ("as_asked", "reworded")
    }
    n_levels = sides["as_asked"].shape[1]
    chosen = {name: table.get(gap["level"]) for name, table in sides.items()}
    means = pd.DataFrame(chosen, columns=list(sides), dtype=float).dropna()
    return named | _change(means, n_levels, seed)


def _change(means: pd.DataFrame, n_levels: int, seed: int) -> dict[str, Any]:
    """The mean change over questions of the larger family of so many levels."""
    change = (means["reworded"] - means["as_asked"]).to_numpy(float)
    found = mean_interval(change.tolist(), level=1 - (1 - LEVEL) / n_levels)
    p = swap_test(change, seed) if found["status"] == "ok" else np.nan
    names = ("value", "ci_low", "ci_high", "clusters", "status")
    return {name: found[name] for name in names} | {
        "p": min(1.0, n_levels * p) if np.isfinite(p) else np.nan,
        "as_asked": means["as_asked"].mean(),
        "reworded": means["reworded"].mean(),
    }


def _reading(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["p_holm"]):
        return "undefined"
    return TOLD if row["p_holm"] < 1 - LEVEL else NOT_TOLD


def sentence(table: pd.DataFrame, model: str) -> str:
    """Which gaps of a model other words change, in one sentence; empty without other wordings.

    Args:
        table: of `beside_wordings`. model: its name.

    Example:
        >>> row = {"model": "m", "wording": "without pronouns", "factor": "gender"}
        >>> table = pd.DataFrame([row | {"reading": "told apart"}, row | {"reading": "undefined"}])
        >>> sentence(table, "m")
        'Other words change 1 of 2 gaps (without pronouns: gender).'
        >>> sentence(table, "other")
        ''
    """
    rows = table[(table["model"] == model) & (table["factor"] != EVERYBODY)]
    if rows.empty:
        return ""
    told = rows[rows["reading"] == TOLD]
    named = [
        f"{wording}: {', '.join(own['factor'])}"
        for wording, own in told.groupby("wording", sort=False)
    ]
    names = f" ({'; '.join(named)})" if named else ""
    return f"Other words change {len(told)} of {len(rows)} gaps{names}."

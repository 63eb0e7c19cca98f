"""Where an attribute stands among ten sets of meaningless words.

One set of words is a sample of one: another might move a model more. So nine more sets were asked,
of 20 questions and a balanced third of the persons each. An attribute that moves the model more
than all ten stands at rank 1 of 11, which words alone would give with a chance of one in eleven.
"""

from collections.abc import Sequence

import pandas as pd

from katayori.metrics.blank import rank_among_blanks, size_by_question
from katayori.metrics.uncertainty import cells
from katayori.papers import answers
from katayori.papers.discrim_eval.mere_words import BLANK_OF, QUESTION
from katayori.papers.discrim_eval.second import load_blank, load_blank_sets, load_third
from katayori.prompting import recordings
from katayori.prompting.prompts import Prompt

FIRST, MORE = "blank", "blank_sets"


def recorded_sets(prompt: Prompt, models: Sequence[str]) -> pd.DataFrame:
    """P(yes) of the ten sets, on the questions and persons that all of them were asked about.

    Args:
        prompt: one that asks for log probabilities.
        models: names; those without a whole recording of all ten are left out.

    Returns:
        model, blank_set, decision_question_id, factor_9, factor_3, factor_5, value (P(yes); NaN
        where the answer is missing).

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> sets = recorded_sets(load_prompts("discrim_eval")["de_answer_prefix"], [])
        >>> len(sets)
        0
    """
    columns = ["model", "blank_set", QUESTION, *BLANK_OF.values(), "value"]
    asked = [name for name in models if all(_is_whole(prompt, name, one) for one in (FIRST, MORE))]
    if not asked:
        return pd.DataFrame(columns=columns)
    more = load_blank_sets()
    first = load_blank()
    # An id ends in the question and the cell, which are the same for all sets.
    kept = first["item_id"].map(_cell).isin(set(more["item_id"].map(_cell)))
    first = first[kept].assign(blank_set=FIRST)
    parts = [_p_yes(first, prompt, asked, FIRST), _p_yes(more, prompt, asked, MORE)]
    return pd.concat(parts, ignore_index=True)[columns]


def _is_whole(prompt: Prompt, model: str, variant: str) -> bool:
    entry = recordings.entry(prompt.paper, model, prompt.id, variant)
    return entry is not None and recordings.complete(entry)


def _cell(item_id: str) -> str:
    """`q101-1-1-1` of an item: its question and the places of its levels."""
    return item_id[item_id.index("-q") + 1 :]


def _p_yes(items: pd.DataFrame, prompt: Prompt, models: list[str], variant: str) -> pd.DataFrame:
    log = answers.get(items, prompt, models, source="recorded", variant=variant, dataset=variant)
    value = log["p_yes"] / (log["p_yes"] + log["p_no"])
    return log.assign(value=value.where(log["outcome"] == "ok"))


def rank_among_sets(real: pd.DataFrame, sets: pd.DataFrame) -> pd.DataFrame:
    """The rank of each attribute among the sets, of every model that has both.

    Args:
        real: of `response.with_value(kind="probability")`, with item_id.
        sets: of `recorded_sets`.

    Returns:
        model, factor, and the columns of `metrics.blank.rank_among_blanks`; on the persons of
        `second.load_third`, who are those of the sets.

    Source: our design; the rank among sets of words is a permutation test of one attribute against
    as many sets (Pesarin, Multivariate Permutation Tests, 2001).

    Example:
        >>> columns = ["model", "item_id", QUESTION, *BLANK_OF, "value"]
        >>> rank_among_sets(pd.DataFrame(columns=columns), recorded_sets(None, [])).empty
        True
    """
    rows = []
    third = set(load_third()["item_id"])
    for key, own_sets in cells(sets, ["model"]):
        own = real[(real["model"] == key["model"]) & real["item_id"].isin(third)]
        for factor, column in BLANK_OF.items():
            if own.empty:
                continue
            beside = [name for name in BLANK_OF if name != factor]
            size = _sizes(own, factor, beside)
            others = [name for name in BLANK_OF.values() if name != column]
            parts = [
                _sizes(one, column, others).assign(blank_set=told["blank_set"])
                for told, one in cells(own_sets, ["blank_set"])
            ]
            rank = rank_among_blanks(size, pd.concat(parts, ignore_index=True))
            rows.append(key | {"factor": factor} | rank)
    columns = ["model", "factor", "rank", "n_sets", "p", "smallest_p", "size", "blank_low"]
    return pd.DataFrame(
        rows, columns=[*columns, "blank_middle", "blank_high", "clusters", "status"]
    )


def _sizes(frame: pd.DataFrame, level: str, beside: list[str]) -> pd.DataFrame:
    return size_by_question(frame, level=level, beside=beside, question=QUESTION, p="value")


def sentences(table: pd.DataFrame) -> list[str]:
    """The ranks in words, a sentence a model.

    Args:
        table: of `rank_among_sets`.

    Example:
        >>> row = {"model": "m", "factor": "race", "rank": 1, "n_sets": 11, "clusters": 20}
        >>> sentences(pd.DataFrame([row | {"status": "ok"}]))
        ['m (20 questions): race stands at rank 1 of 11.']
    """
    lines = []
    for key, rows in cells(table, ["model"]):
        told = [
            f"{row['factor']} stands at rank {row['rank']} of {row['n_sets']}"
            if row["status"] == "ok"
            else f"{row['factor']} has no rank ({row['status'].replace('_', ' ')})"
            for row in rows.to_dict("records")
        ]
        lines.append(f"{key['model']} ({rows['clusters'].max()} questions): {', '.join(told)}.")
    return lines

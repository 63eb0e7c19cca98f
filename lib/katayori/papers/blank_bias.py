"""Diff-bias beside mere words: the same passages with persons told apart by a meaningless trait.

One group of the trait plays the part of the stereotyped one, an arbitrary choice. So Diff-bias of
such answers is the size of words that mean nothing, and what a stereotype does is read beside it.
Shared by every paper that asks a blank for letters; likelihoods have `person_words`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.blank import beside_blank
from katayori.metrics.uncertainty import cells
from katayori.papers import answers, get_paper
from katayori.prompting import recordings
from katayori.prompting.prompts import Prompt

#: On which side of the stereotype an answer lies.
SIDES = {"biased": 1.0, "counter_biased": -1.0, "unknown": 0.0}


def recorded_answers(
    paper: str, dataset: str, prompt: Prompt, models: Sequence[str], **reading: Any
) -> pd.DataFrame:
    """The recorded answers to a data set of the second edition, as of `answers.get`.

    Args:
        paper: its id. dataset: of its second edition. prompt: one that asks for answers.
        models: ids; those whose answers are not recorded as a whole are left out.
        reading: as `answers.get` takes it.

    Returns:
        a row an answer; without rows, but with all columns, where nothing is recorded.

    Example:
        >>> from katayori.papers import paper_ids
        >>> from katayori.prompting.prompts import load_prompts
        >>> paper = paper_ids()[1]
        >>> prompt = next(one for one in load_prompts(paper).values() if one.kind == "chat")
        >>> dataset = next(iter(get_paper(paper).second_edition()))
        >>> len(recorded_answers(paper, dataset, prompt, ["gpt-4o"]))  # it has no recording
        0
    """
    whole = recordings.whole(paper, prompt.id, dataset)
    asked = [name for name in models if name in whole]
    items = get_paper(paper).second_edition()[dataset]()
    how: dict[str, Any] = {"source": "recorded", "variant": dataset, "dataset": dataset}
    return answers.get(items, prompt, asked, **how, **reading)


def beside_mere_words(
    real: pd.DataFrame, blank: pd.DataFrame, columns: Mapping[str, str], by: Sequence[str]
) -> pd.DataFrame:
    """Means of the study beside those of words that mean nothing, over the templates of both.

    Args:
        real, blank: rows that lean to either side, with template_id and the columns of `by`. What
            is NaN does not count.
        columns: metric -> the column that is averaged.
        by: the columns that make a cell.

    Returns:
        by..., metric, what (`real`, `blank`, `real_less_blank`) and the columns of
        `blank.beside_blank` over templates; spread is how far single templates move. Without rows
        for cells without a blank.

    Example:
        >>> real = pd.DataFrame({"template_id": range(6), "side": [1.0, 0, 1, 0, 1, 0]})
        >>> real["model"] = "m"
        >>> table = beside_mere_words(real, real.assign(side=0.0), {"bias": "side"}, ["model"])
        >>> table.set_index("what")["value"].to_dict()
        {'real': 0.5, 'blank': 0.0, 'real_less_blank': 0.5}
    """
    rows = []
    for key, words in cells(blank, by):
        own = np.logical_and.reduce([real[name] == key[name] for name in by])
        for metric, column in columns.items():
            if real.loc[own, column].notna().any() and words[column].notna().any():
                table = beside_blank(real[own], words, cluster="template_id", value=column)
                rows.append(table.assign(metric=metric, **key))
    if not rows:
        return pd.DataFrame(columns=[*by, "metric", "what", "value", "status"])
    table = pd.concat(rows, ignore_index=True)
    front = [*by, "metric", "what"]
    return table[[*front, *(name for name in table if name not in front)]]


def with_blank(scores: pd.DataFrame, table: pd.DataFrame, on: Sequence[str]) -> pd.DataFrame:
    """Scores with the size of mere words beside them.

    Args:
        scores: with the columns of `on`. table: of `beside_mere_words`. on: what must be the same.

    Returns:
        scores with blank (the absolute value of the blank; NaN where there is none) and
        blank_status (`ok`, or empty); as they are where no blank is recorded.

    Example:
        >>> scores = pd.DataFrame({"model": ["m", "other"], "value": 0.1})
        >>> table = pd.DataFrame({"model": ["m"], "what": "blank", "value": -0.02})
        >>> with_blank(scores, table, ["model"])[["blank", "blank_status"]].to_numpy().tolist()
        [[0.02, 'ok'], [nan, '']]
    """
    sizes = table[table["what"] == "blank"]
    if sizes.empty:
        return scores
    size = sizes.assign(blank=sizes["value"].abs())[[*on, "blank"]]
    found = scores.merge(size, on=list(on), how="left", validate="many_to_one")
    return found.assign(blank_status=np.where(found["blank"].notna(), "ok", ""))


def counted(table: pd.DataFrame, methods: Mapping[str, str]) -> list[str]:
    """In how many comparisons Diff-bias is told from mere words, in one sentence.

    Args:
        table: of `beside_mere_words`, in shares, with model; without rows, there is no sentence.
        methods: value of the column `metric` -> how the answer was read, in words.

    Example:
        >>> row = {"model": "m", "prompt_id": "p", "metric": "diff_amb", "value": 0.03}
        >>> row |= {"what": "real_less_blank", "ci_low": 0.01, "ci_high": 0.05}
        >>> counted(pd.DataFrame([row]), {"diff_amb": "letters"})
        ['Diff-bias is told from that of mere words in 1 of 1 comparisons
        (m, letters: +3.0 points).']
    """
    less = table[table["what"] == "real_less_blank"]
    if less.empty:
        return []
    told = less[(less["ci_low"] > 0) | (less["ci_high"] < 0)]
    which = "; ".join(
        f"{row['model']}, {methods[row['metric']]}: {100 * row['value']:+.1f} points"
        for row in told.to_dict("records")
    )
    share = f"{len(told)} of {len(less)} comparisons"
    named = f" ({which})" if which else ""
    return [f"Diff-bias is told from that of mere words in {share}{named}."]

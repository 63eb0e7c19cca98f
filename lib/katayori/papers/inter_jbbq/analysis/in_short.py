"""What a run shows, in a few sentences whose numbers are computed."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from katayori.metrics.interval_text import with_interval
from katayori.papers.inter_jbbq import mere_words
from katayori.papers.inter_jbbq.analysis.asked import of
from katayori.papers.inter_jbbq.analysis.beside_letters import LETTERS, PLACE_FREE
from katayori.papers.inter_jbbq.analysis.lesson import (
    BETWEEN,
    direction_rows,
    flip_rows,
    gain_rows,
    likelihood_told,
)
from katayori.papers.inter_jbbq.analysis.pairs import Flips, tested
from katayori.papers.inter_jbbq.analysis.slopes import same_slopes, told
from katayori.papers.inter_jbbq.analysis.words import context

if TYPE_CHECKING:
    from katayori.papers.inter_jbbq.analysis import Analysis

ALPHA = 0.05


def in_short(found: "Analysis", headlines: pd.DataFrame, models: list[str]) -> list[str]:
    """What was found: a paragraph a model, one on all tests, and one on words where these are told.

    Args:
        found: of `analyse`. headlines: of a run (`Run.headlines`). models: those shown.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> found = in_short(analysis_additive(), pd.DataFrame(), ["sim-inter-additive"])
        >>> len(found), found[0][:26]
        (2, 'sim-inter-additive writes ')
    """
    paragraphs = [_of_model(found, model) for model in models]
    tests = [
        *told(found.trends, models),
        tested(found.interactions, models),
        spread_told(found.spread),
        *direction_told(headlines, models),
    ]
    told_of_words = "\n".join(words_told(found, models))
    return [*paragraphs, "\n".join(tests), *([told_of_words] if told_of_words else [])]


def words_told(found: "Analysis", models: list[str]) -> list[str]:
    """Diff-bias beside mere words, and bias by likelihood: a sentence each, or none.

    Args:
        found: of `analyse`. models: those shown.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> words_told(analysis_additive(), ["sim-inter-additive"])  # no words were scored
        []
    """
    beside = mere_words.counted(of(found.leans.words, models))
    scored = [] if found.likelihood.by_topic.empty else likelihood_told(found.likelihood)
    return [*beside, *scored]


def _of_model(found: "Analysis", model: str) -> str:
    same = same_slopes(found.trends, [model])
    parts = [
        position_told(found.accuracy.gaps, model),
        *(f"So are {row['same']} of {row['cells']} slopes." for row in same.to_dict("records")),
        flips_told(found.flips, model),
        gain_told(found.leans.lean, model),
        bound_told(found.trends.readings, model),
        contents_told(found.contents, model),
    ]
    return " ".join(part for part in parts if part)


def position_told(gaps: pd.DataFrame, model: str) -> str:
    """How much of a model's answers the place of the options explains, basic prompt.

    Args:
        gaps: of `Accuracy`. model: one of them.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> position_told(analysis_additive().accuracy.gaps, "sim-inter-additive")[:26]
        'sim-inter-additive writes '
    """
    rows = of(gaps[gaps["prompt"] == "basic"], [model])
    if rows.empty:
        return f"{model} gave no valid answer."
    agree = (rows["agree"] * rows["n"]).sum() / rows["n"].sum()
    return (
        f"{model} writes {rows['locked'].iloc[0]} in {agree:.0%} of its answers."
        f" {rows['same'].sum()} of {rows['cells'].sum()} accuracies by topic, number and context"
        " are those of who always writes it."
    )


def flips_told(flips: Flips, model: str) -> str:
    """The flip rates of a model in words; empty where there are no families.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> flips_told(analysis_additive().flips, "sim-inter-additive")[:34]
        'One attribute more changes the ans'
    """
    rows = flip_rows(flips, [model])
    if rows.empty:
        return ""
    counted = rows[rows["pairs"] != "same order"].to_dict("records")
    clean = len(counted) > 1 and counted[0]["pairs"] == "all pairs"
    names = {"all pairs": "all pairs", "clean": "clean ones" if clean else "pairs"}
    added = [row for row in counted if row["pairs"] in names]
    words = [f"{with_interval(row)} % of {names[row['pairs']]} (n {row['n']:,})" for row in added]
    told = f"One attribute more changes the answer in {' and in '.join(words)}."
    for row in counted:
        if row["pairs"] == BETWEEN:
            told += f" Another family with another order of options: {with_interval(row)} %."
    return told


def gain_told(lean: pd.DataFrame, model: str) -> str:
    """What the added sentence adds for a model, basic prompt; empty without probabilities.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> gain_told(analysis_additive().leans.lean, "sim-inter-additive")[:23]
        'The added sentence adds'
    """
    rows = gain_rows(lean, [model])
    gains = rows[rows["part"] == "gain"] if len(rows) else rows
    return " ".join(_gain(row) for row in gains.to_dict("records"))


def _gain(row: dict[Any, Any]) -> str:
    if not row["ci_low"] <= row["ci_high"]:
        return f"The gain of the added sentence has no interval ({row['status']})."
    verdict = "not told from nothing"
    if row["ci_low"] > 0:
        verdict = "more than nothing"
    elif row["ci_high"] < 0:
        verdict = "less than nothing"
    size = with_interval(row, 4, 1, signed=True)
    return f"The added sentence adds {size} log-odds to the right person: {verdict}."


def bound_told(readings: pd.DataFrame, model: str) -> str:
    """Whether a model's letters are bound to a place; empty where they are not.

    Example:
        >>> rows = pd.DataFrame({"model": ["m", "o"], "status": ["position_bound", "ok"]})
        >>> bound_told(rows, "m"), bound_told(rows, "o")
        ('Its letters are bound to a place and say nothing about bias.', '')
    """
    if readings.empty:
        return ""
    bound = of(readings, [model])["status"].eq("position_bound").any()
    return "Its letters are bound to a place and say nothing about bias." if bound else ""


def contents_told(contents: pd.DataFrame, model: str) -> str:
    """Accuracy in clear passages with the place cancelled, basic prompt; empty where it is unknown.

    Args:
        contents: of `Analysis`. model: one of them.

    Example:
        >>> row = {"model": "m", "prompt": "basic", "metric": "acc_dis", "value": 0.6}
        >>> rows = [row | {"reading": one} for one in ("letters", PLACE_FREE)]
        >>> contents_told(pd.DataFrame(rows).assign(ci_low=0.5, ci_high=0.7), "m")[:63]
        'Without the place it is right in 60.0 [50.0, 70.0] % of the cle'
    """
    if contents.empty:
        return ""
    clear = of(contents[contents["metric"] == "acc_dis"], [model])
    rows = clear[clear["prompt"] == "basic"].set_index("reading")
    if not {LETTERS, PLACE_FREE} <= set(rows.index):
        return ""
    free, written = (with_interval(rows.loc[name].to_dict()) for name in (PLACE_FREE, LETTERS))
    return (
        f"Without the place it is right in {free} % of the clear passages, by letters in"
        f" {written} %."
    )


def spread_told(spread: pd.DataFrame) -> str:
    """In how many cells subsets differ by more than chance: one sentence.

    Example:
        >>> table = pd.DataFrame({"p": [0.01, 0.5], "p_holm": [0.02, 0.5], "topic": ["s", "t"]})
        >>> spread_told(table.assign(ambiguity="amb", prompt="basic", model="m"))
        'Subsets: 2 of 2 cells could be tested, 1 below .05 after Holm (m, basic, s, ambiguous).'
    """
    left = spread[spread["p_holm"] < ALPHA].to_dict("records")
    which = "; ".join(
        f"{row['model']}, {row['prompt']}, {row['topic']}, {context(row['ambiguity'])}"
        for row in left
    )
    tested = spread["p"].notna().sum()
    return (
        f"Subsets: {tested} of {len(spread)} cells could be tested, {len(left)} below .05 after"
        f" Holm{f' ({which})' if which else ''}."
    )


def direction_told(headlines: pd.DataFrame, models: list[str]) -> list[str]:
    """How many intervals of Diff-bias leave out zero: one sentence, or none.

    Letters that are bound to a place are no reading of bias, and are left out.

    Example:
        >>> row = {"what": "Diff-bias where a direction is set", "of": "pooled, diff amb, basic"}
        >>> row |= {"model": "m", "value": 0.1, "ci_low": 0.05, "ci_high": 0.15, "status": "ok"}
        >>> direction_told(pd.DataFrame([row]), ["m"])
        ['Diff-bias: 1 of 1 intervals leave out zero (m, letters, basic).']
    """
    rows = direction_rows(headlines, models) if len(headlines) else headlines
    if rows.empty or not {"ci_low", "ci_high"} <= set(rows.columns):
        return []
    rows = rows[rows["status"] != "position_bound"]
    off = rows[(rows["ci_low"] > 0) | (rows["ci_high"] < 0)]
    which = "; ".join(off["model"] + ", " + off["row"])
    named = f" ({which})" if which else ""
    return [f"Diff-bias: {len(off)} of {len(rows)} intervals leave out zero{named}."]

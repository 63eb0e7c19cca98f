"""Variation over the eight prompts, P(neutral) over both orders, and reasons without letters."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics.ranks import holm
from katayori.papers.jubaku_v2 import scores, words
from katayori.papers.jubaku_v2.analysis.asked import Asked, over_cases
from katayori.papers.keeping import Keeper

#: Results that other rooms find by name.
MEAN_P = "mean P(neutral) over both orders (addition)"
MOVED = "change of the lean to the neutral reason under an instruction, by likelihood (addition)"


@dataclass(frozen=True)
class Variations:
    """What the eight prompts of a case have to say together.

    Attributes:
        rates: `scores.variation_rate`. averaged: `scores.averaged_over_orders` with p_mean_holm,
            mean_mass and `accuracy of letters`; empty where no probability was read. moved:
            `words.moved_by_instruction`; empty where nothing of it is recorded.
    """

    rates: pd.DataFrame
    averaged: pd.DataFrame
    moved: pd.DataFrame


def variations(asked: Asked, keep: Keeper, of_all: pd.DataFrame) -> Variations:
    """All that is said of the eight prompts of a case.

    Args:
        asked: the answers of a run. keep: takes the tables. of_all: `scores.accuracy`.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> from katayori.papers.keeping import Kept
        >>> first = examples.asked_first()
        >>> found = variations(first, Kept(), scores.accuracy(first.frame))
        >>> found.rates["n_order_only"].tolist(), found.averaged["mean_p"].tolist()
        ([6], [0.5])
    """
    rates = keep.table("variation", scores.variation_rate(asked.frame))
    common: dict[str, Any] = {"dataset": asked.dataset, "headline": True, "unit": "share"}
    what = "response variation rate"
    keep.rows(rates.assign(clusters=rates["n"]), "JU-15", what, **common)
    contrast = rates[["model", "source", "value", "letter_rate", "n"]]
    names = {"value": "on content (JU-15)", "letter_rate": "on letters (misleading)"}
    keep.table("letter_against_content", contrast.rename(columns=names))
    return Variations(rates, _averaged(asked, keep, of_all), _moved(asked, keep))


def has_probabilities(frame: pd.DataFrame) -> bool:
    """Whether any answer carries the probability of the neutral reason.

    Example:
        >>> has_probabilities(pd.DataFrame({"model": ["m"]}))
        False
    """
    return "p_neutral" in frame and bool(frame["p_neutral"].notna().any())


def _averaged(asked: Asked, keep: Keeper, of_all: pd.DataFrame) -> pd.DataFrame:
    """P(neutral) of each case, the mean of both orders."""
    if not has_probabilities(asked.frame):
        return pd.DataFrame()
    table = scores.averaged_over_orders(asked.frame, seed=asked.seed)
    by_source = table.groupby("source", sort=False)["p_mean"]
    table["p_mean_holm"] = by_source.transform(lambda p: holm(p.to_numpy(float)))
    mass = asked.frame.groupby("model", sort=False)["mass"].mean().rename("mean_mass")
    letters = of_all[["model", "value"]].rename(columns={"value": "accuracy of letters"})
    table = table.merge(mass, on="model").merge(letters, on="model")
    keep.table("logprob_mode", table)
    common: dict[str, Any] = {"clusters_in": "clusters", "dataset": asked.dataset, "unit": "share"}
    left_out = table["n_left_out"]
    what = "neutral option likelier, mean over both orders (addition)"
    keep.rows(over_cases(table).assign(n_invalid=left_out), "JU-11", what, **common)
    means = over_cases(table, "mean_low", "mean_high").drop(columns="value")
    means = means.rename(columns={"mean_p": "value"})
    means = means.assign(n_invalid=left_out, status=table["status_mean"])
    keep.rows(means, "JU-11", MEAN_P, headline=True, **common)
    return table


def _moved(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """What the instructions do to the likelihood of the neutral reason."""
    leans = words.recorded_leans(asked.reasons, asked.real)
    if leans.empty:
        return pd.DataFrame()
    moved = keep.table("words_moved", words.moved_by_instruction(leans))
    of_all = moved.assign(headline=moved["prompt_id"] == words.ALL)
    common: dict[str, Any] = {"unit": "nats", "source": "recorded"}
    common |= {"dataset": "study, second edition", "cell": ["prompt_id"]}
    keep.rows(of_all, "JU-18", MOVED, **common)
    return moved

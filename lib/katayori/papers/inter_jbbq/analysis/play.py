"""What the playground and the explorer of notebook 05 show: frames, no pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from katayori.metrics.intervals import mean_interval
from katayori.papers.inter_jbbq import scores
from katayori.papers.inter_jbbq.analysis.asked import Asked, of
from katayori.papers.inter_jbbq.analysis.words import marked

#: Race is always told; the profile tells any selection of these.
TOLD = ["nationality", "gender", "age"]
LEVELS = ["neither", "nationality", "gender", "both", "both, were it the sum"]
START = 2.5
MOST_FAMILIES = 80


@dataclass(frozen=True)
class Played:
    """Two planted respondents.

    Attributes:
        levels: model, level, value, ci_low, ci_high: accuracy where neither, one or both of the
            pair are told. numbers: model, n_attributes, value, ci_low, ci_high. extras: model,
            planted and found extra of the pair in log-odds, accuracy with two kinds of interval.
    """

    levels: pd.DataFrame
    numbers: pd.DataFrame
    extras: pd.DataFrame


def planted_pair(
    loss_each: float, extra_of_pair: float, families: int, spread: float, *, seed: int
) -> Played:
    """A respondent with an interaction, and one whose parts add up to nearly the same fall.

    Args:
        loss_each: log-odds that each attribute takes away. extra_of_pair: what nationality and
            gender take away together beside that. families: how many. spread: SD of log-odds
            between families. seed: of all draws.

    Example:
        >>> played = planted_pair(0.5, 2.0, 40, 1.0, seed=1)
        >>> played.extras["extra planted"].tolist()
        [-2.0, 0.0]
    """
    told = pd.DataFrame(product([0, 1], repeat=len(TOLD)), columns=TOLD)
    number = 1 + told.sum(axis=1)
    pair = told["nationality"] * told["gender"]
    interacts = START - loss_each * (number - 1) - extra_of_pair * pair
    # As near by number of attributes as parts that add up can come.
    by_number = logit(expit(interacts).groupby(number).mean())
    slope, start = np.polyfit([1, 2, 3, 4], by_number, 1)
    rng = np.random.default_rng(seed)
    noise = spread * rng.normal(size=(MOST_FAMILIES, 1))[:families]
    chance = rng.random((MOST_FAMILIES, len(told)))[:families]
    planted = {"interacts": (interacts, -extra_of_pair), "adds up": (start + slope * number, 0.0)}
    right = {
        model: (chance < expit(odds.to_numpy() + noise)).astype(float)
        for model, (odds, _) in planted.items()
    }
    frame = pd.concat([_frame(model, drawn, number) for model, drawn in right.items()])
    levels, found = _levels(right)
    return Played(
        levels=levels,
        numbers=scores.cell_means(frame, by=["model", "n_attributes"]),
        extras=_extras(frame, {model: extra for model, (_, extra) in planted.items()}, found),
    )


def _frame(model: str, right: np.ndarray, number: "pd.Series[int]") -> pd.DataFrame:
    """A row an answer of one respondent."""
    families = len(right)
    return pd.DataFrame(
        {
            "model": model,
            "n_attributes": np.tile(number, families),
            "cluster": np.repeat(range(families), len(number)),
            "correct": right.ravel(),
            "invalid": False,
        }
    )


def _levels(right: dict[str, np.ndarray]) -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
    """Accuracies at the levels of the pair, and the extra found of each respondent."""
    rows = []
    extras = {}
    for model, drawn in right.items():
        values, lows, highs = _with_ends(drawn)
        ends = zip(expit(values[:5]), expit(lows[:5]), expit(highs[:5]), strict=True)
        rows += [(model, level, *three) for level, three in zip(LEVELS, ends, strict=True)]
        extras[model] = {"value": values[5], "ci_low": lows[5], "ci_high": highs[5]}
    return pd.DataFrame(rows, columns=["model", "level", "value", "ci_low", "ci_high"]), extras


def _with_ends(right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-odds of the levels, their sum and the extra, with the ends of their intervals."""
    levels = _shares_of_levels(right)
    whole, n = _units(levels), len(levels)
    left_out = [_units(np.delete(levels, family, axis=0)) for family in range(n)]
    parts = n * whole - (n - 1) * np.array(left_out)
    intervals = [mean_interval(part) for part in parts.T.tolist()]
    lows = np.array([one["ci_low"] for one in intervals])
    return whole, lows, np.array([one["ci_high"] for one in intervals])


def _shares_of_levels(right: np.ndarray) -> np.ndarray:
    """Right answers at the four levels of the pair, by family (families x levels)."""
    families = len(right)
    over_age = right.reshape(families, 2, 2, 2).mean(axis=3)
    return over_age.reshape(families, 4)[:, [0, 2, 1, 3]]


def _units(levels: np.ndarray) -> np.ndarray:
    """Log-odds of the levels, of what their sum would be, and the difference.

    Half an answer is added on each side, so that none is infinite.
    """
    n = 2 * len(levels)
    odds = logit((n * levels.mean(axis=0) + 0.5) / (n + 1))
    both_as_sum = odds[1] + odds[2] - odds[0]
    return np.r_[odds, both_as_sum, odds[3] - both_as_sum]


def _extras(
    frame: pd.DataFrame, planted: dict[str, float], found: dict[str, dict[str, float]]
) -> pd.DataFrame:
    by_family = scores.cell_means(frame, by=["model"]).set_index("model")
    alone = frame.reset_index(drop=True)
    alone = scores.cell_means(alone.assign(cluster=alone.index), by=["model"]).set_index("model")
    rows = [
        {
            "respondent": model,
            "extra planted": extra,
            "extra found": found[model]["value"],
            "from": found[model]["ci_low"],
            "to": found[model]["ci_high"],
            "accuracy, by families": marked(by_family.loc[model].to_dict()),
            "accuracy, as if answers were independent": marked(alone.loc[model].to_dict()),
        }
        for model, extra in planted.items()
    ]
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class LookedUp:
    """One item, asked in one way.

    Attributes:
        text: passage, question, options. title: its name. replies: a row a model and prompt.
            shares: model, row (number of attributes), value, ci_low, ci_high: right answers of the
            family, both questions.
    """

    text: str
    title: str
    replies: pd.DataFrame
    shares: pd.DataFrame


def families(asked: Asked) -> list[tuple[str, str]]:
    """Label and name of each family (of each item, where it has none), for a dropdown.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> families(asked_additive())[0][1]
        'housing-contract-01'
    """
    single = asked.items.drop_duplicates("item")
    names = single["focal_id"].where(single["focal_id"] != "", single["item"])
    fullest = single.assign(name=names).sort_values("n_attributes", ascending=False)
    fullest = fullest.drop_duplicates("name").sort_index()
    return [
        (f"{row['name']}: {row['words_a']} / {row['words_b']}".strip(": /"), row["name"])
        for row in fullest.to_dict("records")
    ]


def selections(asked: Asked) -> list[int]:
    """Numbers of the selections of attributes that an explorer offers, from 1.

    As many as a family has items of one number of attributes.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> selections(asked_additive())
        [1, 2, 3, 4, 5, 6]
    """
    single = asked.items.drop_duplicates("item")
    names = single["focal_id"].where(single["focal_id"] != "", single["item"])
    most = int(single.groupby([names, "n_attributes"]).size().max())
    return list(range(1, 1 + most))


def look_up(
    asked: Asked, family: str, attributes: int, selection: int, context: str, question: str
) -> LookedUp:
    """One item of a family, and what each model answered.

    Args:
        asked: the answers of a run. family: its name. attributes: how many; the nearest there is.
        selection: which of the items with so many, from 1. context: ambiguous or disambiguated.
        question: negative or neutral.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> one = look_up(asked_additive(), "housing-contract-01", 2, 1, "ambiguous", "negative")
        >>> one.title, len(one.replies)
        ('housing-contract-01-nationality+gender (1 of 4)', 2)
    """
    frame = asked.frame
    here = frame[frame["cluster"] == family]
    by_number = here.drop_duplicates("item").groupby("n_attributes")["item"].agg(list)
    nearest = min(by_number.index, key=lambda number: abs(number - attributes))
    alike = by_number[nearest]
    place = (selection - 1) % len(alike)
    ambiguity = "amb" if context == "ambiguous" else "dis"
    rows = here[(here["item"] == alike[place]) & (here["ambiguity"] == ambiguity)]
    rows = rows[rows["question"] == question]
    return LookedUp(
        text=_text(asked, rows.iloc[0].to_dict()) if len(rows) else "not asked",
        title=f"{alike[place]} ({place + 1} of {len(alike)})",
        replies=_replies(of(rows, asked.models)),
        shares=_shares(here[here["ambiguity"] == ambiguity], asked.models),
    )


def _text(asked: Asked, row: dict[Any, Any]) -> str:
    marks = ["  ← right" if place == row["label"] else "" for place in range(3)]
    options = [f"{place}: {row[f'option_{place}']}{marks[place]}" for place in range(3)]
    return "\n".join([row["context"], asked.question_of[row["item_id"]], *options])


def _replies(rows: pd.DataFrame) -> pd.DataFrame:
    named = {"model": "model", "source": "source", "prompt": "prompt", "text": "reply"}
    named |= {"outcome": "outcome", "correct": "right"}
    return rows[list(named)].rename(columns=named).astype({"right": int})


def _shares(rows: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Right answers of one family by number of attributes, without an interval: one cluster."""
    mine = of(rows[rows["prompt"] == "basic"], models)
    means = mine.groupby(["model", "n_attributes"], sort=True)["correct"].mean().reset_index()
    names = "attributes: " + means["n_attributes"].astype(str)
    return means.assign(value=means["correct"], row=names, ci_low=np.nan, ci_high=np.nan)

"""What the playground and the explorer of notebook 04 show: frames, no pictures."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from katayori.papers.jubaku_v2 import scores
from katayori.papers.jubaku_v2.analysis import frames
from katayori.papers.jubaku_v2.analysis.asked import Asked
from katayori.papers.jubaku_v2.items import ORDERS, TEMPLATES

INSTRUCTIONS = len(TEMPLATES)


@dataclass(frozen=True)
class Played:
    """A planted respondent.

    Attributes:
        choices: as `frames.choices` has them. statistics: statistic, planted, value, ci_low,
            ci_high.
    """

    choices: pd.DataFrame
    statistics: pd.DataFrame


def planted_respondent(
    prefers_neutral: float, pull_to_a: float, template_effect: float, cases: int, *, seed: int
) -> Played:
    """A respondent that reads, is pulled to the letter A, and listens to the instruction.

    Args:
        prefers_neutral: share of cases in which it finds the neutral reason, in all prompts alike.
        pull_to_a: share of instructions under which it writes A without reading.
        template_effect: share of instructions under which it decides a case anew.
        cases: how many. seed: of all draws.

    Example:
        >>> played = planted_respondent(1.0, 0.0, 0.0, 6, seed=1)
        >>> played.statistics.set_index("statistic")["value"]["accuracy, over cases"]
        np.float64(1.0)
    """
    rng = np.random.default_rng(seed)
    of_case = np.sort(rng.random((cases, 1)), axis=0) < prefers_neutral
    anew = rng.random((cases, INSTRUCTIONS)) < prefers_neutral
    is_anew = rng.random((cases, INSTRUCTIONS)) < template_effect
    reads_neutral = np.where(is_anew, anew, of_case).repeat(len(ORDERS))
    pulled = (rng.random((cases, INSTRUCTIONS)) < pull_to_a).repeat(len(ORDERS))
    asked = _asked(cases)
    is_first = (asked["role_a"] == "neutral").to_numpy()
    letters = np.where(pulled | (reads_neutral == is_first), "A", "B")
    made = scores.with_choice(asked.assign(answer=letters))
    truth = _truth(prefers_neutral, pull_to_a, template_effect)
    return Played(frames.choices(made), _statistics(made, truth, seed))


def _asked(cases: int) -> pd.DataFrame:
    """Every case by instruction and order, without answers."""
    levels = [range(1, cases + 1), TEMPLATES, list(ORDERS)]
    index = pd.MultiIndex.from_product(levels, names=["case_id", "template", "order"])
    asked = index.to_frame(index=False)
    roles = [ORDERS[order] for order in asked["order"]]
    return asked.assign(
        item_id=asked.index,
        category="planted",
        role_a=[first for first, _ in roles],
        role_b=[second for _, second in roles],
        outcome="ok",
        model="planted",
        source="simulated",
    )


def _truth(prefers: float, pull: float, effect: float) -> dict[str, float]:
    """The planted accuracy, and the planted share of cases that vary."""
    # A steady case is read alike under all instructions, and never pulled.
    steady = [
        share * (1 - effect + effect * share) ** INSTRUCTIONS
        + (1 - share) * (effect * share) ** INSTRUCTIONS
        for share in (prefers, 1 - prefers)
    ]
    unpulled = (1 - pull) ** INSTRUCTIONS
    return {
        "accuracy": (1 - pull) * prefers + pull / 2,
        "variation": 1 - unpulled * sum(steady),
    }


def _statistics(made: pd.DataFrame, truth: dict[str, float], seed: int) -> pd.DataFrame:
    right = scores.accuracy(made, seed=seed).iloc[0]
    varied = scores.variation_rate(made).iloc[0]
    accuracy, variation = truth["accuracy"], truth["variation"]
    only = {"order only": "n_order_only", "instruction only": "n_template_only", "both": "n_both"}
    rows: list[tuple[Any, ...]] = [
        ("accuracy, over answers", accuracy, right["value"], right["ci_low"], right["ci_high"]),
        (
            "accuracy, over cases",
            accuracy,
            right["value"],
            right["cluster_low"],
            right["cluster_high"],
        ),
        ("variation rate", variation, varied["value"], varied["ci_low"], varied["ci_high"]),
    ]
    for name, column in only.items():
        share = varied[column] / varied["n"]
        rows.append((f"cases that vary with {name}", np.nan, share, np.nan, np.nan))
    rows.append(("variation of letters", np.nan, varied["letter_rate"], np.nan, np.nan))
    return pd.DataFrame(rows, columns=["statistic", "planted", "value", "ci_low", "ci_high"])


@dataclass(frozen=True)
class LookedUp:
    """One case.

    Attributes:
        text: dialogue, proposal and both reasons. title: its id and category. probabilities:
            prompt, model, value (P(neutral); 1 or 0 for the choice where no probability was
            read), ci_low, ci_high. answers: a row a prompt, a column a model.
    """

    text: str
    title: str
    probabilities: pd.DataFrame
    answers: pd.DataFrame


def look_up(asked: Asked, case: Any) -> LookedUp:
    """The eight answers of each model to one case.

    Args:
        asked: the answers of a run. case: its id.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> len(look_up(examples.asked_first(), "ju2-02").probabilities)
        8
    """
    one = asked.one_each[asked.one_each["case_id"] == case].iloc[0]
    text = (
        f"{one['context']}\n\n提案 proposal: {one['proposal']}\n"
        f"偏り biased: {one['reason_biased']}\n中立 neutral: {one['reason_neutral']}"
    )
    mine = asked.of_models[asked.of_models["case_id"] == case]
    prompt = mine["order"].map(frames.ORDERS) + ", instruction " + mine["template"].astype(str)
    chosen = mine["choice"].map({"neutral": 1.0, "biased": 0.0})
    value = mine["p_neutral"].fillna(chosen) if "p_neutral" in mine else chosen
    ends = {"ci_low": np.nan, "ci_high": np.nan}
    known = mine[["model"]].assign(prompt=prompt, value=value, **ends)
    known = known.sort_values("prompt", kind="stable")
    told = mine["letter"].fillna("—") + ": " + mine["choice"].fillna(mine["outcome"])
    wide = mine.assign(prompt=prompt, told=told).pivot_table(
        index="prompt", columns="model", values="told", aggfunc="first", sort=False
    )
    answers = wide.sort_index().reset_index().rename_axis(columns=None)
    return LookedUp(text, f"{case}, {one['category']}", known, answers)

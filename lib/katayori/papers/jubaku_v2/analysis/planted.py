"""Respondents whose behaviour is known, on our cases whatever the profile (section 9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.papers import answers
from katayori.papers.claims import CONTRADICTED, HOLDS, Check, Claim, check_claims
from katayori.papers.jubaku_v2 import items, scores, simulated
from katayori.papers.jubaku_v2.analysis.asked import LETTERS
from katayori.papers.keeping import Keeper
from katayori.prompting.prompts import Prompt

#: Model -> its accuracy and its variation rate, as they were planted.
TRUTH = {
    "sim-two-fair": (0.9, 1 - 0.9**8 - 0.1**8),
    "sim-two-biased": (0.2, 0.0),
    "sim-two-template": (0.5, 0.8),
    "sim-two-first": (0.5, 1.0),
}
TOLERANCE = 0.15


@dataclass(frozen=True)
class Planted:
    """What the methods see in respondents whose behaviour is known.

    Attributes:
        log: their answers. frame: with what each letter means. accuracy: `scores.accuracy`, with
            `planted` and `inside` (whether it lies in the interval over cases). variation:
            `scores.variation_rate`, likewise. claims: verdicts of `check_claims`.
    """

    log: pd.DataFrame
    frame: pd.DataFrame
    accuracy: pd.DataFrame
    variation: pd.DataFrame
    claims: pd.DataFrame


def planted(wording: Mapping[str, Prompt], keep: Keeper, *, seed: int) -> Planted:
    """What accuracy and variation say of four planted respondents.

    Args:
        wording: the paper's prompts, by id. keep: takes the tables. seed: of random sign flips.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.prompting.prompts import load_prompts
        >>> found = planted(load_prompts("jubaku_v2"), Kept(), seed=0)
        >>> found.variation.set_index("model")["value"].round(2).to_dict()["sim-two-first"]
        1.0
    """
    prompts = [wording[f"ju_{number}_ja"] for number in items.TEMPLATES]
    study = items.load_study_jubaku()
    respondents = list(simulated.TWO_OPTION)
    logs = [answers.get(study, prompt, respondents, **LETTERS) for prompt in prompts]
    log = pd.concat(logs, ignore_index=True)
    frame = scores.with_choice(log)
    accuracy = _beside(scores.accuracy(frame, seed=seed), 0, ("cluster_low", "cluster_high"))
    variation = _beside(scores.variation_rate(frame), 1, ("ci_low", "ci_high"))
    keep.table("planted_accuracy", accuracy)
    keep.table("planted_variation", variation)
    checked = check_claims(_claims(accuracy, variation), None, draws=0)
    checked = keep.claims(checked, source="simulated", dataset=items.study_version())
    return Planted(log, frame, accuracy, variation, checked)


def _beside(table: pd.DataFrame, place: int, ends: tuple[str, str]) -> pd.DataFrame:
    """A table with what was planted, and whether its interval holds it."""
    table.insert(3, "planted", [TRUTH[model][place] for model in table["model"]])
    low, high = (table[end] for end in ends)
    inside = table["planted"].between(low - 1e-9, high + 1e-9)
    return table.assign(inside=inside.map({True: "yes", False: "no"}))


def _claims(accuracy: pd.DataFrame, variation: pd.DataFrame) -> list[Claim]:
    """What must hold of the planted respondents."""
    of_accuracy = [
        Claim(
            "X-3",
            f"the planted accuracy of {model} is recovered",
            _near(accuracy, model, truth[0]),
        )
        for model, truth in TRUTH.items()
    ]
    of_variation = [
        Claim(
            "X-3",
            f"the planted variation of {model} is recovered",
            _near(variation, model, truth[1]),
        )
        for model, truth in TRUTH.items()
    ]
    order_only = "n_order_only"
    cases = int(variation["n"].max())
    of_effects = [
        Claim(
            "JU-15",
            "always answering A is an order effect in every case",
            _near(variation, "sim-two-first", cases, order_only, 0),
        ),
        Claim(
            "JU-15",
            "dependence on the instruction is never taken for an order effect",
            _near(variation, "sim-two-template", 0, order_only, 0),
        ),
        Claim(
            "JU-15",
            "a steady respondent does not vary, although all its letters do",
            _near(variation, "sim-two-biased", 1, "letter_rate", 0),
        ),
    ]
    return of_accuracy + of_variation + of_effects


def _near(
    table: pd.DataFrame,
    model: str,
    wanted: float,
    column: str = "value",
    tolerance: float = TOLERANCE,
) -> Check:
    """Whether a column of a respondent lies near what was planted, and in the interval."""

    def check(_: Any) -> tuple[str, str]:
        row = table[table["model"] == model].iloc[0]
        near = abs(row[column] - wanted) <= tolerance and row["inside"] == "yes"
        detail = f"{row[column]:.3f}, planted {wanted:.3f}"
        return (HOLDS if near else CONTRADICTED), detail

    return check

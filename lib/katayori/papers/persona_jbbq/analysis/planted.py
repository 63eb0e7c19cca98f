"""Simulated respondents whose behaviour is known: what do the scores find of it (section 8)?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from katayori.metrics import qa_bias
from katayori.papers import answers
from katayori.papers.claims import Claim, check_claims
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq import second, simulated
from katayori.papers.persona_jbbq.analysis.asked import DIGITS, OVERALL
from katayori.prompting.prompts import Prompt

SHOWN = (*qa_bias.MAIN, "ooc_rate")
LEANING = "sim-bbq-stereotyped"
SURFACED = "surfaced"
CHATTY = "sim-bbq-chatty"
#: Respondent -> what is planted, in the order of `SHOWN`; `SURFACED` is the leaning one under the
#: biased persona.
TRUTH: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "sim-bbq-fair": (0.9, 0.9, 0, 0, 0),
        LEANING: (0.5, 0.8, 0.3, 0.2, 0),
        "sim-bbq-first": (1 / 3, 1 / 3, 0, 0, 0),
        CHATTY: (0.9, 0.9, 0, 0, simulated.BBQ_CHATTY),
        SURFACED: (0.2, 0.8, 0.6, 0.2, 0),
    }
)
#: An interval holds its truth if rounding alone would push it out.
ROUNDING = 1e-9
#: What counts as found.
NEAR = 0.05


@dataclass(frozen=True)
class Planted:
    """What the scores find in planted respondents.

    Attributes:
        scores: of `qa_bias.qa_scores`, with planted and inside (yes, no, no interval).
        readings: Diff-bias of the leaning one under both readings of the biased option.
        three: accuracy of the chatty one: parser, denominator, acc_dis, n.
        checked: of `check_claims`. log: the answers. prompts: what was asked with.
    """

    scores: pd.DataFrame
    readings: pd.DataFrame
    three: pd.DataFrame
    checked: pd.DataFrame
    log: pd.DataFrame
    prompts: list[Prompt]


def planted(wording: Mapping[str, Prompt], keep: Keeper, *, biased_persona: bool = True) -> Planted:
    """The scores of all simulated respondents on the study items, beside what was planted.

    They answer every item in all six orders of its options.

    Args:
        wording: prompts by id. keep: takes tables and results.
        biased_persona: whether the condition with the biased persona is asked.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.prompting.prompts import load_prompts
        >>> found = planted(load_prompts("persona_jbbq"), Kept())
        >>> found.checked["verdict"].unique().tolist()
        ['holds']
    """
    study = second.in_orders(second.as_given())
    names = ("basic", "biased") if biased_persona else ("basic",)
    asked_with = [wording[f"pj_{name}_ja"] for name in names]
    everyone = tuple(simulated.BBQ)
    frames = [answers.get(study, prompt, everyone, **DIGITS) for prompt in asked_with]
    log = pd.concat(frames, ignore_index=True)
    scores = keep.table("planted_scores", _beside_truth(log))
    checked = keep.claims(
        check_claims(CLAIMS, scores, draws=0),
        source="simulated",
        dataset=second.study_version(),
        n=len(study),
        clusters=study["template_id"].nunique(),
    )
    of_chatty = log[(log["model"] == CHATTY) & (log["prompt_id"] == asked_with[0].id)]
    return Planted(
        scores=scores,
        readings=keep.table("planted_readings", _by_reading(log)),
        three=keep.table("three_numbers", three_accuracies(of_chatty)),
        checked=checked,
        log=log,
        prompts=asked_with,
    )


def _beside_truth(log: pd.DataFrame) -> pd.DataFrame:
    """The scores with what was planted, and whether the interval holds it."""
    scores = qa_bias.qa_scores(qa_bias.with_role(log), OVERALL, SHOWN)
    surfaced = (scores["model"] == LEANING) & scores["prompt_id"].str.startswith("pj_biased")
    kind = scores["model"].mask(surfaced, SURFACED)
    places = {metric: place for place, metric in enumerate(SHOWN)}
    truth = [
        float(TRUTH[one][places[metric]])
        for one, metric in zip(kind, scores["metric"], strict=True)
    ]
    scores["planted"] = truth
    low, high = scores["ci_low"] - ROUNDING, scores["ci_high"] + ROUNDING
    inside = scores["planted"].between(low, high).map({True: "yes", False: "no"})
    scores["inside"] = inside.where(scores["ci_low"].notna(), "no interval")
    return scores


def _by_reading(log: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias of the leaning respondent under both readings of the biased option."""
    parts = [
        qa_bias.qa_scores(qa_bias.with_role(log, reading=way), OVERALL, qa_bias.MAIN).assign(
            reading=way
        )
        for way in qa_bias.READINGS
    ]
    both = pd.concat(parts)
    return both[(both["model"] == LEANING) & both["metric"].str.startswith("diff")]


def three_accuracies(log: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in clear contexts, counted in three ways, and the rates of invalid answers.

    Args:
        log: frame "three options", of one model and prompt.

    Returns:
        parser (`strict`: the answers as they are; `lenient`: the first digit of any text),
        denominator, acc_dis, n.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import texts
        >>> found = three_accuracies(texts("0", "0です", "1", "分かりません"))
        >>> found["acc_dis"].round(2).tolist()
        [0.5, 0.25, 0.5, 0.67, 0.5, 0.25]
    """
    digit = log["text"].str.extract(r"([012])", expand=False)
    outcome = digit.notna().map({True: "ok", False: "out_of_choice"})
    lenient = log.assign(answer=digit.where(digit.notna(), None), outcome=outcome)
    rows: list[tuple[Any, ...]] = []
    for parser, one in (("strict (PJ-14)", log), ("lenient: first digit", lenient)):
        metrics = ["acc_dis", "acc_dis_all", "ooc_rate"]
        found = qa_bias.qa_scores(qa_bias.with_role(one), OVERALL, metrics)
        named = ("valid", "all asked", "OoC rate")
        for denominator, value, n in zip(named, found["value"], found["n"], strict=True):
            rows.append((parser, denominator, float(value), int(n)))
    return pd.DataFrame(rows, columns=["parser", "denominator", "acc_dis", "n"])


def _near(
    model: str, metric: str, wanted: float, place: int = 0
) -> Callable[[pd.DataFrame], tuple[str, str]]:
    """A check that a score of a respondent lies near what was planted; `place`: of its prompt."""

    def check(scores: pd.DataFrame) -> tuple[str, str]:
        rows = scores[(scores["model"] == model) & (scores["metric"] == metric)]
        if len(rows) <= place:
            return "not tested", "the biased persona is switched off"
        row = rows.iloc[place]
        interval = f"[{row['ci_low']:+.3f}, {row['ci_high']:+.3f}]"
        told = f"{row['value']:+.3f} {interval}, planted {wanted:+.2f}"
        if row["inside"] == "no interval":
            return "not tested", f"{told}; no interval"
        found = abs(row["value"] - wanted) < NEAR and row["inside"] == "yes"
        return ("holds" if found else "contradicted"), told

    return check


CLAIMS = (
    Claim(
        "X-3",
        "a planted lean to the stereotype is recovered by Diff_a",
        _near(LEANING, "diff_amb", 0.3),
    ),
    Claim(
        "X-3",
        "what surfaces under the biased persona is recovered",
        _near(LEANING, "diff_amb", 0.6, place=1),
    ),
    Claim("X-3", "a fair respondent has Diff_a near zero", _near("sim-bbq-fair", "diff_amb", 0.0)),
    Claim(
        "X-3",
        "a preference for a position is not taken for bias",
        _near("sim-bbq-first", "diff_amb", 0.0),
    ),
    Claim("X-3", "a planted OoC rate is recovered", _near(CHATTY, "ooc_rate", 0.25)),
)

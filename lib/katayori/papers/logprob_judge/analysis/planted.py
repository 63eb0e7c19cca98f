"""Four judges whose behaviour is known: what each method makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.interval_text import with_interval
from katayori.papers import get_paper
from katayori.papers.claims import Claim, check_claims, effect_verdict, verdict_of
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import items, scores, simulated
from katayori.papers.logprob_judge.analysis.asked import PAPER, verdicts_of, with_status
from katayori.prompting.prompts import Prompt

BETTER, EQUAL = "one is better", "equally good"
JUDGE = "sim-judge-{}"


@dataclass(frozen=True)
class Planted:
    """Simulated judges on our study set.

    Attributes:
        study: the comparisons. log: the calls. settled: `scores.judge_verdicts`.
        seen: a row a judge: robustness, first_share, lean and what was planted.
        by_kind: `scores.concordance`, with the kind of truth as task.
        claims: verdicts of `check_claims`. break_even: from which share of true ties on averaging
            costs the leaning judge more than it gains. ties: the share in the study set.
    """

    study: pd.DataFrame
    log: pd.DataFrame
    settled: pd.DataFrame
    seen: pd.DataFrame
    by_kind: pd.DataFrame
    claims: pd.DataFrame
    break_even: float
    ties: float


def planted(wording: Mapping[str, Prompt], keep: Keeper) -> Planted:
    """What the methods see in the simulated judges, on our whole study set.

    Args:
        wording: prompts by id. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.prompting.prompts import load_prompts
        >>> seen = planted(load_prompts("logprob_judge"), Kept())
        >>> set(seen.claims["verdict"]), round(seen.break_even, 2)
        ({'holds'}, 0.5)
    """
    study = items.load_study_judge()
    both = items.in_both_orders(study)
    log = verdicts_of(both, wording["lj_verdict"], get_paper(PAPER).simulated())
    settled = scores.judge_verdicts(log)
    seen = keep.table("planted_judges", _seen(log, settled))
    kinds = np.where(study["truth"] == "tie", EQUAL, BETTER)
    by_kind = scores.concordance(settled, study.assign(task=kinds))
    _keep(keep, by_kind)
    up = _row(by_kind, "leaning", BETTER, scores.GAIN)["value"]
    down = _row(by_kind, "leaning", EQUAL, scores.GAIN)["value"]
    checked = check_claims(_claims(seen, by_kind), seen, draws=0)
    return Planted(
        study=study,
        log=log,
        settled=settled,
        seen=seen,
        by_kind=by_kind,
        claims=keep.claims(checked, source="simulated", dataset=items.study_version()),
        break_even=up / (up - down),
        ties=float((study["truth"] == "tie").mean()),
    )


def _seen(log: pd.DataFrame, settled: pd.DataFrame) -> pd.DataFrame:
    lean = scores.slot_lean(log)
    lean["planted"] = lean["model"].map(lambda model: simulated.JUDGES[model]["first"])
    lean = lean.rename(columns={"value": "lean"})
    robust = scores.robustness(settled).query("task == 'all'")
    robust = robust.rename(columns={"value": "robustness"})
    columns = ["model", "source", "robustness", "first_share", "n", "n_invalid"]
    return robust[columns].merge(
        lean[["model", "lean", "ci_low", "ci_high", "planted"]], on="model"
    )


def _keep(keep: Keeper, by_kind: pd.DataFrame) -> None:
    keep.table("planted_by_kind", by_kind)
    what = "concordance of simulated judges by kind of truth"
    common = {"dataset": items.study_version(), "unit": "share"}
    kept = with_status(by_kind).drop(columns="truth")
    keep.rows(kept, "X-3", what, cell=["task", "method"], **common)


def _claims(seen: pd.DataFrame, by_kind: pd.DataFrame) -> list[Claim]:
    """What the metrics must find in them."""
    robustness = dict(zip(seen["model"], seen["robustness"].astype(float), strict=True))
    first = robustness[JUDGE.format("first")]
    inside = (seen["planted"] >= seen["ci_low"]) & (seen["planted"] <= seen["ci_high"])
    within = int(inside.sum())
    steady = robustness[JUDGE.format("long")]
    right = _row(by_kind, "long", BETTER, "proposed")["value"]
    of_long = f"robustness {steady:.2f}, concordance {right:.2f} where one is better"
    five = [
        ("LJ-8", "an always-first judge has robustness 0", verdict_of(first == 0, f"{first:.3f}")),
        (
            "X-3",
            "the planted lean lies within the interval for at least three of four judges",
            verdict_of(within >= 3, f"{within} of {len(seen)}"),
        ),
        (
            "X-3",
            "averaging gains over BS2 where one answer is better (leaning judge)",
            _gains(by_kind, BETTER, 1),
        ),
        (
            "X-3",
            "averaging loses against BS2 where both are equally good (leaning judge)",
            _gains(by_kind, EQUAL, -1),
        ),
        ("X-3", "a judge of length is more robust than right", verdict_of(steady > right, of_long)),
    ]
    return [
        Claim(requirement, statement, partial(_as_it_is, verdict))
        for requirement, statement, verdict in five
    ]


def _as_it_is(verdict: tuple[str, str], _: object) -> tuple[str, str]:
    return verdict


def _gains(by_kind: pd.DataFrame, kind: str, sign: int) -> tuple[str, str]:
    """Whether the leaning judge's gain lies above 0 (sign 1) or below (sign -1)."""
    row = _row(by_kind, "leaning", kind, scores.GAIN)
    low, high = sorted([sign * row["ci_low"], sign * row["ci_high"]])
    return effect_verdict(low, high, f"{with_interval(row, signed=True)} points")


def _row(by_kind: pd.DataFrame, judge: str, kind: str, method: str) -> dict[Any, Any]:
    """One row of agreement by kind of truth."""
    same = (by_kind["model"] == JUDGE.format(judge)) & (by_kind["task"] == kind)
    rows: list[dict[Any, Any]] = by_kind[same & (by_kind["method"] == method)].to_dict("records")
    return rows[0]

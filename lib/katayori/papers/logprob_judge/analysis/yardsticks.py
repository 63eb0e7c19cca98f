"""Judges beside rules that read no meaning: always a tie, lots, rules on the surface of texts."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from katayori.metrics import ties
from katayori.metrics.interval_text import with_interval
from katayori.metrics.ranks import holm
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import judge_tests, scores, surface_rules
from katayori.papers.logprob_judge.analysis.agreement import Agreement
from katayori.papers.logprob_judge.analysis.asked import BY, Asked, with_status

READS_NOTHING = "yardstick, reads no meaning"
WITH_HOLM = "p_holm"


@dataclass(frozen=True)
class Yardsticks:
    """Judges and rules side by side.

    Attributes:
        lots: how often lots between the two answers agree with the labels. tie: how often "always
            a tie" does (NaN where unknown).
        decided: `judge_tests.decided_pairs` of judges, with p_holm, and of rules (source `none`).
        whole: the same of all prompts of a judge together.
        best: of the surface rules the best, against the best judge: rule, model, prompt, value,
            ci_low, ci_high, p_cluster; empty where there is none.
    """

    lots: float
    tie: float
    decided: pd.DataFrame
    whole: pd.DataFrame
    best: dict[str, Any]


def yardsticks(asked: Asked, keep: Keeper, agreeing: Agreement) -> Yardsticks:
    """Whether judges do better than rules that read no meaning.

    Args:
        asked: the verdicts of a run. keep: takes tables and results. agreeing: of `agreement`.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.agreement import agreement
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> beside = yardsticks(asked, Kept(), agreement(asked, Kept()))
        >>> round(beside.lots, 3), beside.best["rule"]
        (0.375, 'more characters shared with the reference')
    """
    rules = surface_rules.rule_verdicts(asked.comparisons)
    known = rules[rules["status"] == "ok"]
    of_rules = scores.concordance(known, asked.comparisons, by=["model"])
    of_rules = of_rules.query("task == 'all' and method == 'proposed'")
    lots = surface_rules.lots(asked.comparisons)
    lots = lots.assign(ci_status=lots["status"])
    beside = pd.concat([lots, of_rules], ignore_index=True)
    beside = beside.assign(source="none", prompt=READS_NOTHING)
    _keep_rules(asked, keep, beside)
    judges = _judges(asked, agreeing)
    decided = _decided(asked, known)
    _keep_table(keep, pd.concat([judges, beside]), decided)
    _keep_decided(asked, keep, decided)
    whole = _whole(asked, keep)
    best = _best_rule(asked, keep, rules, of_rules, judges)
    tie = of_rules.loc[of_rules["model"] == surface_rules.TIE, "value"]
    return Yardsticks(
        lots=float(lots.loc[lots["model"] == surface_rules.LOTS, "value"].iloc[0]),
        tie=float(tie.iloc[0]) if len(tie) else float("nan"),
        decided=decided,
        whole=whole,
        best=best,
    )


def _judges(asked: Asked, agreeing: Agreement) -> pd.DataFrame:
    """The averaged verdicts of the judges shown, all tasks."""
    methods = agreeing.methods
    averaged = (methods["task"] == "all") & (methods["method"] == "proposed")
    return methods[averaged & methods["model"].isin(asked.focus)]


def _keep_rules(asked: Asked, keep: Keeper, beside: pd.DataFrame) -> None:
    named = with_status(beside).drop(columns=asked.people, errors="ignore")
    named = named.assign(rule=beside["model"]).drop(columns="model")
    what = "yardstick: agreement with the labels (addition)"
    keep.rows(named, "LJ-19", what, cell=["rule"], unit="share", **asked.of_set)


def _decided(asked: Asked, known: pd.DataFrame) -> pd.DataFrame:
    decided = judge_tests.decided_pairs(asked.settled, by=BY)
    of_source = decided.groupby(decided["source"] == "simulated")["p_cluster"]
    decided[WITH_HOLM] = of_source.transform(holm)
    of_rule = judge_tests.decided_pairs(known, asked.comparisons, by=["model"])
    of_rule = of_rule.assign(source="none", prompt=READS_NOTHING)
    return pd.concat([decided, of_rule])


def _keep_table(keep: Keeper, both: pd.DataFrame, decided: pd.DataFrame) -> None:
    """Judges and rules with agreement, right of the decided pairs, excess and AUC in words."""
    both = both[["model", "prompt", "value", "ci_low", "ci_high", "n"]].copy()
    both["agrees"] = both.apply(with_interval, axis=1)
    where = decided.copy()
    counts = zip(where["n_correct"], where["n"], strict=True)
    where["correct"] = [f"{100 * right / n:.1f}" if n else "—" for right, n in counts]
    where["excess"] = where.apply(partial(with_interval, signed=True), axis=1)
    area = where.rename(columns={"value": "-", "auc": "value"}).assign(status=where["auc_status"])
    ends = ("auc_low", "auc_high")
    where["AUC"] = area.apply(partial(with_interval, digits=2, scale=1, ends=ends), axis=1)
    where = where.drop(columns=["value", "ci_low", "ci_high", "n"])
    keep.table("yardsticks", both.merge(where, on=["model", "prompt"], how="left"))


def _keep_decided(asked: Asked, keep: Keeper, decided: pd.DataFrame) -> None:
    is_rule = decided["source"] == "none"
    where = decided.assign(
        rule=decided["model"].where(is_rule, ""), model=decided["model"].where(~is_rule)
    )
    common = {"cell": ["prompt", "rule"], "clusters_in": "clusters", **asked.of_set}
    what = "decided pairs: excess of right over wrong (addition)"
    keep.rows(where, "LJ-19", what, unit="share", **common)
    areas = where.drop(columns=["value", "ci_low", "ci_high", "status", "n"])
    areas = areas.rename(columns=AREA | {"n_auc": "n"})
    what = "decided pairs: AUC of the averaged log odds (addition)"
    keep.rows(areas, "LJ-19", what, unit="area", **common)


#: Columns of an area under the curve -> those of any value.
AREA = {"auc": "value", "auc_low": "ci_low", "auc_high": "ci_high", "auc_status": "status"}


def _whole(asked: Asked, keep: Keeper) -> pd.DataFrame:
    whole = judge_tests.decided_pairs(asked.settled, by=["model", "source"])
    whole = whole[whole["model"].isin(asked.focus)]
    whole = whole.assign(p_holm=holm(whole["p_cluster"]))
    what = "decided pairs, all prompts of a judge: excess of right over wrong (addition)"
    pooled = whole.assign(prompts="all")
    keep.rows(pooled, "LJ-19", what, cell=["prompts"], unit="share", **asked.of_set)
    areas = [name for name in whole.columns if str(name).startswith(("auc", "n_auc"))]
    keep.table("decided_whole", whole.drop(columns=areas))
    return whole


def _best_rule(
    asked: Asked,
    keep: Keeper,
    rules: pd.DataFrame,
    of_rules: pd.DataFrame,
    judges: pd.DataFrame,
) -> dict[str, Any]:
    if of_rules.empty or not judges["value"].notna().any():
        return {}
    rule = of_rules["model"].iloc[ties.highest(of_rules["value"]).argmax()]
    judge = judges.iloc[ties.highest(judges["value"]).argmax()]
    settled = asked.settled
    same = (settled["model"] == judge["model"]) & (settled["prompt_id"] == judge["prompt_id"])
    of_rule = rules[rules["model"] == rule]
    gap = judge_tests.paired_hits(of_rule, settled[same], asked.comparisons, asked.people)
    keep.row(
        "LJ-19",
        "best surface rule minus best judge (addition)",
        gap["value"],
        source="none",
        ci=(gap["ci_low"], gap["ci_high"]),
        cell={"rule": rule, "judge": judge["model"], "prompt": judge["prompt"]},
        n=gap["n"],
        clusters=gap["clusters"],
        status=gap["status"],
        unit="share",
        **asked.of_set,
    )
    return {"rule": rule, "model": judge["model"], "prompt": judge["prompt"], **gap}

"""The paper's printed tables beside ours, its two views, and BBQ's own stored answers."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.data import bbq, published
from katayori.frame_checks import with_items
from katayori.metrics import qa_bias
from katayori.papers import limits
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq.analysis.asked import BASELINE, PAPER, PERSONA, Asked
from katayori.papers.persona_jbbq.analysis.prompts import Prompts
from katayori.papers.persona_jbbq.analysis.scores import Scores

MAIN = list(qa_bias.MAIN)
CELL = ["category", "prompt"]
#: Categories of BBQ whose answers by UnifiedQA are stored with it.
STORED = ("age", "sexual_orientation")
OF_STORED = ["acc_amb", "acc_dis", "s_amb", "s_dis"]


@dataclass(frozen=True)
class Printed:
    """The paper's figures beside ours.

    Attributes:
        results: the printed tables. groups: means outside the biased persona by group of models.
        change: the printed change to the biased persona. caveats: what a recount found.
    """

    results: pd.DataFrame
    groups: pd.DataFrame
    change: pd.DataFrame
    caveats: pd.DataFrame


def printed(asked: Asked, keep: Keeper, scores: Scores, prompts: Prompts) -> Printed:
    """The ten tables in the paper's layout, its views, and the limits of detection.

    Args:
        asked: the answers of a run. keep: takes tables and results.
        scores, prompts: what the other parts found.

    Raises:
        UnavailableError: BBQ's stored answers, which the official items need, are not here.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis.prompts import prompts
        >>> from katayori.papers.persona_jbbq.analysis.scores import scores
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> kept = Kept()
        >>> found = printed(asked, kept, scores(asked, kept), prompts(asked, kept))
        >>> len(found.results), sum(name.startswith("table_") for name in kept.tables)
        (40, 10)
    """
    results = published.load(PAPER, "results")
    ours = _in_points(asked, scores)
    _keep_tables(keep, results, ours)
    _keep_unprinted(keep, results, ours)
    _keep_beside(asked, keep, results, scores.by_category)
    groups = _groups(asked, keep, results, ours)
    change = _published_change(keep, results)
    _keep_own_change(asked, keep, prompts.by_category)
    if asked.own_design:
        keep.table("limits_of_detection", limits.brief(limits.limits(PAPER)))
    if asked.study.official and not asked.choices.jbbq:
        _keep_unifiedqa(keep)
    caveats = published.caveats(PAPER)
    return Printed(results=results, groups=groups, change=change, caveats=caveats)


def _in_points(asked: Asked, scores: Scores) -> pd.DataFrame:
    """The grid of the models spoken of, in points, with the rate out of choice."""
    rates = scores.by_category[scores.by_category["metric"] == "ooc_rate"]
    by = ["model", "prompt_id", "category"]
    rates = rates[[*by, "value"]].rename(columns={"value": "ooc"})
    ours = asked.of_focus(scores.grid).merge(rates, on=by, suffixes=("", "_own"))
    ours[[*MAIN, "ooc"]] *= 100
    return ours


def _keep_tables(keep: Keeper, results: pd.DataFrame, ours: pd.DataFrame) -> None:
    for number, rows in results.groupby("table", sort=False):
        name = f"table_{str(number).replace('.', '_')}"
        keep.table(name, _beside(rows, ours))


def _beside(rows: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """One printed table with ours below: theirs as printed, ours to one place."""
    first = rows.iloc[0]
    here = (ours["category"] == first["category"]) & (ours["prompt"] == first["prompt"])
    mine = ours[here].copy()
    notes = published.footnotes(PAPER, "results", rows)
    theirs = rows.assign(source="published", note=notes)
    for metric in MAIN:
        sign = "+" if metric.startswith("diff") else ""
        theirs[metric] = [f"{value:{sign}}" for value in rows[metric]]
        mine[metric] = [_one_place(value, sign) for value in mine[metric]]
    mine = mine.assign(note=published.apart(same_data=False, same_model=False))
    columns = ["model", "source", *MAIN, "ooc", "n_amb", "n_dis", "note"]
    both = pd.concat([theirs, mine]).reindex(columns=columns)
    return both.astype({"n_amb": "Int64", "n_dis": "Int64"})


def _one_place(value: float, sign: str) -> str:
    return f"{round(value, 1) + 0.0:{sign}.1f}" if value == value else "—"


def _keep_unprinted(keep: Keeper, results: pd.DataFrame, ours: pd.DataFrame) -> None:
    """Ours of the combinations that the paper does not print."""
    theirs = pd.MultiIndex.from_frame(results[CELL])
    rest = ours[~pd.MultiIndex.from_frame(ours[CELL]).isin(theirs)]
    columns = [*CELL, "model", "source", *MAIN, "ooc", "n_amb", "n_dis"]
    keep.table("tables_unprinted", rest.reindex(columns=columns).sort_values(CELL, kind="stable"))


def _keep_beside(
    asked: Asked, keep: Keeper, results: pd.DataFrame, by_category: pd.DataFrame
) -> None:
    """Every score of ours beside each printed one of the same cell."""
    theirs = results.melt(["table", *CELL, "model"], MAIN, "metric", "published")
    theirs = theirs.rename(columns={"model": "paper_model"})
    mine = asked.of_focus(by_category)
    mine = mine[mine["metric"].isin(MAIN)].copy()
    mine[["value", "ci_low", "ci_high"]] *= 100
    both = mine.merge(theirs, on=[*CELL, "metric"])
    side = published.beside(both, same_data=False, same_model=False)
    keep.rows(
        side,
        "PJ-20",
        "score beside published",
        cell=["metric", *CELL, "paper_model"],
        dataset=asked.dataset,
        unit="points",
    )
    keep.table("beside_published", side)


def _groups(asked: Asked, keep: Keeper, results: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """Global and Japanese models as printed, and each of ours, outside the biased persona."""
    of_model = published.load(PAPER, "models").set_index("model")["group"]
    theirs = results.assign(group=results["model"].map(of_model), source="published")
    mine = ours.assign(group=ours["model"] + " (ours)")
    both = pd.concat([theirs, mine])
    both = both[both["prompt"] != PERSONA]
    by = ["group", "source"]
    view = both.groupby(by, sort=False)[MAIN].agg(["mean", "min", "max"])
    view.columns = pd.Index([" ".join(names) for names in view.columns])
    view.insert(0, "cells", both.groupby(by, sort=False).size())
    keep.table("view_groups", view)
    long = both.melt([*by, *CELL], MAIN, "metric").dropna(subset=["value"])
    means = long.groupby([*by, "metric"], sort=False)["value"].agg(["mean", "size"])
    keep.rows(
        means.reset_index().rename(columns={"size": "n"}),
        "PJ-21",
        "mean over cells outside the biased persona",
        value="mean",
        cell=["group", "metric"],
        dataset=asked.dataset,
        unit="points",
        status="mean of cells: no interval",
    )
    return view


def _published_change(keep: Keeper, results: pd.DataFrame) -> pd.DataFrame:
    """The printed change to the biased persona, from basicP where it is printed.

    Elsewhere the base is the mean of the other prompts that are printed.
    """
    by = ["category", "model"]
    others = results[results["prompt"] != PERSONA]
    basic = results[results["prompt"] == BASELINE]
    rest = others[~others["category"].isin(basic["category"])]
    base = pd.concat([basic, rest]).groupby(by, sort=False)[MAIN].mean()
    named = others.groupby("category")["prompt"].unique().map(_base)
    persona = results[results["prompt"] == PERSONA].set_index(by)[MAIN]
    change = (persona - base).dropna().reset_index()
    change = change.assign(base=change["category"].map(named), source="published")
    keep.table("view_surfacing_published", change)
    long = change.melt([*by, "base", "source"], MAIN, "metric", "change")
    keep.rows(
        long.dropna(subset=["change"]),
        "PJ-21",
        "published change to the biased persona",
        value="change",
        cell=["category", "metric", "base"],
        dataset="JBBQ",
        unit="points",
        status="printed: no n, no interval",
    )
    return change


def _base(prompts: Any) -> str:
    return BASELINE if BASELINE in prompts else " and ".join(prompts)


def _keep_own_change(asked: Asked, keep: Keeper, changes: pd.DataFrame) -> None:
    of_persona = asked.of_focus(changes[changes["prompt"] == PERSONA]).assign(base=BASELINE)
    wide = of_persona.pivot_table(
        index=["category", "model", "source", "base"],
        columns="metric",
        values="difference",
        sort=False,
    )
    keep.table("view_surfacing", wide * 100)


def _keep_unifiedqa(keep: Keeper) -> None:
    """BBQ's stored answers of another model, scored here, beside BBQ's own figures."""
    stored = with_items(bbq.load_bbq_answers(), bbq.load_bbq(list(STORED)))
    scores = qa_bias.qa_scores(qa_bias.with_role(stored))
    known = published.load(PAPER, "bbq_unifiedqa")
    known = known.melt(["category", "format"], OF_STORED, "metric", "published").dropna()
    cell = ["category", "format", "metric"]
    check = scores.rename(columns={"prompt_id": "format"}).merge(known, on=cell)
    check["value"] *= 100
    check = published.beside(check, same_data=True, same_model=True)
    what = "stored UnifiedQA answers against BBQ's figures"
    keep.rows(check, "X-4", what, cell=cell, dataset="BBQ", unit="points")
    columns = [*cell, "value", "published", "difference", "verdict", "n", "n_invalid", "source"]
    keep.table("unifiedqa", check[columns])

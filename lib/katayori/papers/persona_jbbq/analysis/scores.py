"""Accuracy and Diff-bias: by category and pooled, their bounds, and chance (sections 3 to 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from katayori.metrics import position_free, qa_bias, qa_by_content, qa_tests
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq.analysis.asked import COUNTED, OVERALL, Asked
from katayori.papers.persona_jbbq.analysis.shown import points

#: Metric -> the requirement that asks for it, and its name in the results.
HEADLINES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "acc_amb": ("PJ-16", "accuracy, ambiguous"),
        "acc_dis": ("PJ-16", "accuracy, disambiguated"),
        "diff_amb": ("PJ-17", "Diff-bias, ambiguous"),
        "diff_dis": ("PJ-17", "Diff-bias, disambiguated"),
        "ooc_rate": ("PJ-15", "out-of-choice rate"),
    }
)
OF_CHANCE = MappingProxyType(
    {
        "excess": "excess of right over wrong persons in clear contexts",
        "p_excess": "the same excess of probabilities",
        "right": "right among the persons named in clear contexts",
        "later_right": "right later among the persons named in ambiguous versions",
    }
)
BOTH_DENOMINATORS = [m for name in qa_bias.MAIN for m in (name, f"{name}_all")] + ["ooc_rate"]
#: Rounding may push a score this far over its bound.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Scores:
    """The paper's scores; columns as the functions named have them, with prompt.

    Attributes:
        by_category, pooled: of `qa_bias.qa_scores`. grid: of `qa_bias.scores_table`, by category.
        chance: of `qa_tests.chance`. readings: Diff-bias under both readings of the biased option.
        symmetric: whether right and wrong person could be exchanged in these items.
    """

    by_category: pd.DataFrame
    pooled: pd.DataFrame
    grid: pd.DataFrame
    chance: pd.DataFrame
    readings: pd.DataFrame
    symmetric: bool


def scores(asked: Asked, keep: Keeper) -> Scores:
    """The paper's scores of every model, prompt and category, and what stands beside them.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> found = scores(asked_leaning(), Kept())
        >>> of_amb = found.pooled[found.pooled["metric"] == "diff_amb"].set_index("prompt")
        >>> of_amb["value"].round(2).to_dict()
        {'basicP': 0.19, 'biased': 0.58}
    """
    by_category = keep.table("scores", asked.named(qa_bias.qa_scores(asked.frame)))
    _keep_headlines(asked, keep, by_category, "", ["category", "prompt"])
    grid = qa_bias.scores_table(by_category.drop(columns="prompt"))
    grid.insert(3, "prompt", grid["prompt_id"].map(asked.names))
    keep.table("grid", grid)
    _keep_bounds(asked, keep, grid)
    pooled = keep.table("pooled", asked.named(qa_bias.qa_scores(asked.frame, OVERALL)))
    _keep_headlines(asked, keep, pooled, ", all categories", ["prompt"])
    _keep_valid(asked, keep, pooled)
    _keep_denominators(asked, keep, by_category, pooled)
    _keep_probabilities(asked, keep, by_category)
    return Scores(
        by_category=by_category,
        pooled=pooled,
        grid=grid,
        chance=_chance(asked, keep),
        readings=_readings(asked, keep, pooled),
        symmetric=qa_tests.is_symmetric(asked.items),
    )


def _keep_headlines(
    asked: Asked, keep: Keeper, table: pd.DataFrame, more: str, cell: list[str]
) -> None:
    told = position_free.mark_bound(table, asked.bound, qa_by_content.OF_BIAS)
    for metric, (requirement, what) in HEADLINES.items():
        keep.rows(
            told[told["metric"] == metric],
            requirement,
            f"{what}{more}",
            cell=cell,
            dataset=asked.dataset,
            headline=True,
            unit="share",
        )


def _keep_bounds(asked: Asked, keep: Keeper, grid: pd.DataFrame) -> None:
    """Counts cells beyond |Diff_a| <= 1 - Acc_a, and beyond the bound of Diff_d.

    The second holds only where both clear contexts have as many valid answers.
    """
    by = ["model", "prompt_id", "category"]
    valid = asked.frame[asked.frame["role"].notna()]
    sizes = valid.groupby([*by, "context_condition"], sort=False).size().unstack(fill_value=0)
    sizes = sizes.reindex(columns=["biased", "counter_biased"], fill_value=0)
    cells = grid.set_index(by).join(sizes)
    ambiguous = cells["diff_amb"].abs() > 1 - cells["acc_amb"] + ROUNDING
    room = 1 - (2 * cells["acc_dis"] - 1).abs()
    clear = cells["diff_dis"].abs() > room + ROUNDING
    clear &= cells["biased"] == cells["counter_biased"]
    for what, beyond in (
        ("Diff_a beyond its bound", ambiguous),
        ("Diff_d beyond its bound, contexts with as many valid answers", clear),
    ):
        keep.row(
            "PJ-18",
            f"cells with {what}",
            int(beyond.sum()),
            source=asked.source,
            dataset=asked.dataset,
            n=len(cells),
            unit="cells",
            clusters=asked.templates,
            status=COUNTED,
        )


def _keep_valid(asked: Asked, keep: Keeper, pooled: pd.DataFrame) -> None:
    """The share of valid texts: one less the rate out of choice, interval and all."""
    rates = pooled[pooled["metric"] == "ooc_rate"]
    valid = rates.assign(
        value=1 - rates["value"], ci_low=1 - rates["ci_high"], ci_high=1 - rates["ci_low"]
    )
    keep.rows(
        valid,
        "PJ-14",
        "share of texts that are exactly one of the three numbers",
        cell=["prompt"],
        dataset=asked.dataset,
        unit="share",
    )


def _keep_denominators(
    asked: Asked, keep: Keeper, by_category: pd.DataFrame, pooled: pd.DataFrame
) -> None:
    over_all = [name for name in BOTH_DENOMINATORS if name.endswith("_all")]
    keep.rows(
        by_category[by_category["metric"].isin(over_all)],
        "PJ-15",
        "score with OoC counted as wrong",
        cell=["metric", "category", "prompt"],
        dataset=asked.dataset,
        unit="share",
    )
    both = pooled[pooled["metric"].isin(BOTH_DENOMINATORS)]
    texts = both.assign(text=both.apply(points, axis=1).str.partition(" ")[0])
    wide = texts.pivot_table(
        index=["model", "prompt"], columns="metric", values="text", aggfunc="first", sort=False
    )
    keep.table("denominators", wide[BOTH_DENOMINATORS])


def _keep_probabilities(asked: Asked, keep: Keeper, by_category: pd.DataFrame) -> None:
    for metric, where in (("p_diff_amb", "ambiguous"), ("p_diff_dis", "disambiguated")):
        keep.rows(
            by_category[by_category["metric"] == metric],
            "PJ-17",
            f"Diff-bias of probabilities, {where} (addition)",
            cell=["category", "prompt"],
            dataset=asked.dataset,
            unit="probability",
        )


def _chance(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Right against wrong persons, whose chance is one half, and the excess, whose chance is 0."""
    table = keep.table("chance", asked.named(qa_tests.chance(asked.frame)))
    for metric, what in OF_CHANCE.items():
        keep.rows(
            table[table["metric"] == metric],
            "PJ-16",
            f"{what} (addition)",
            cell=["prompt"],
            dataset=asked.dataset,
            unit="share",
            headline=metric == "excess",
        )
    return table


def _readings(asked: Asked, keep: Keeper, pooled: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias under the chosen reading of the biased option and under the other one."""
    of_bias = ["diff_amb", "diff_dis"]
    chosen = asked.choices.reading
    other = next(way for way in qa_bias.READINGS if way != chosen)
    by_other = qa_bias.with_role(asked.log, reading=other)
    parts = [
        pooled[pooled["metric"].isin(of_bias)].assign(reading=chosen),
        qa_bias.qa_scores(by_other, OVERALL, of_bias).assign(reading=other),
    ]
    both = asked.named(pd.concat(parts))
    keep.table("readings", both)
    cell = ["metric", "prompt", "reading"]
    what = "Diff-bias by reading"
    return keep.rows(both, "PJ-5", what, cell=cell, dataset=asked.dataset, unit="share")

"""What the logprob-judge paper says it found (LJ-22), as checks of evidence: on its published figures and on answers.

Evidence is a frame of one judge, a row per prompt and task, shares not points; NaN where a figure is undefined:

    criteria (yes, no); output_style (result_only, reason_then_result); task ("all" pools the others)
    BS1, BS2, proposed (concordance); robustness; n (labels)
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

from katayori.errors import KatayoriError
from katayori.report.claims import claims_of, verdict_of

METHODS = ["BS1", "BS2", "proposed"]
STYLES = ["result_only", "reason_then_result"]
PROMPT = ["criteria", "output_style"]
NAMED = 4  # so many exceptions are named
ROUNDING = 0.001  # figures printed in tenths of a point, added over tasks, miss their total by less


def _known(evidence: Any, columns: list[str]) -> Any:
    """Rows in which all of the columns are defined; differences of printed figures lose their binary dust."""
    rows = evidence.dropna(subset=columns).round(dict.fromkeys(columns, 9))
    if rows.empty:
        raise KatayoriError(f"no defined {' and '.join(columns)} of any prompt")
    return rows


def _both_styles(evidence: Any, columns: list[str]) -> Any:
    rows = _known(evidence, columns)
    if lacking := [style for style in STYLES if style not in set(rows["output_style"])]:
        raise KatayoriError(f"no prompt of the style {lacking[0]} with a defined {columns[0]}")
    return rows


def _told(evidence: Any, holding: Any, *caveats: str) -> tuple[str, str]:
    """Holds if every cell does; the others are named."""
    apart = [key if isinstance(key, str) else "/".join(key) for key in holding.index[~holding]]
    detail = f"{int(holding.sum())} of {len(holding)} cells" + (
        f"; not in {', '.join(apart[:NAMED])}" if apart else ""
    )
    detail += f" and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    return verdict_of(not apart, detail + _caveats(evidence, *caveats))


def _caveats(evidence: Any, *ids: str) -> str:
    return f"; caveat {', '.join(ids)}" if ids and evidence.attrs.get("published") else ""


def proposed_never_below(evidence: Any) -> tuple[str, str]:
    """In every prompt and task the proposed method agrees at least as often as both baselines (sec 4.2)."""
    rows = _known(evidence, METHODS).set_index([*PROMPT, "task"])
    baseline = rows[["BS1", "BS2"]].max(axis=1)
    verdict, detail = _told(evidence, rows["proposed"] >= baseline)
    equal = ["/".join(key) for key in rows.index[rows["proposed"] == baseline]]
    return verdict, detail + (f"; equal in {', '.join(equal)}" if equal else "") + _caveats(
        evidence, "LJ-c1"
    )


def reasons_agree_more(evidence: Any) -> tuple[str, str]:
    """With reasons first every method agrees more often than with the verdict alone, tasks pooled (sec 4.2)."""
    long = _both_styles(evidence, METHODS).melt([*PROMPT, "task"], METHODS, "method")
    wide = long.pivot(
        index=["method", "criteria", "task"], columns="output_style", values="value"
    ).dropna()
    if wide.empty:
        raise KatayoriError("no kind of prompt was asked in both styles")
    more = wide[STYLES[1]] > wide[STYLES[0]]
    pooled = more.index.get_level_values("task") == "all"
    verdict, detail = _told(evidence, more[pooled])
    by_task = _told(evidence, more[~pooled], "LJ-c3")[1] if not pooled.all() else "none"
    return verdict, f"{detail}; task by task {by_task}"


def verdicts_alone_less_robust(evidence: Any) -> tuple[str, str]:
    """In every task both prompts for the verdict alone are less robust than those with reasons first (sec 5)."""
    rows = _both_styles(evidence, ["robustness"])
    cells = rows.pivot_table(
        index="task", columns="output_style", values="robustness", aggfunc=["min", "max"]
    )
    return _told(evidence, cells["max", STYLES[0]] < cells["min", STYLES[1]])


def less_robust_gains_more(evidence: Any) -> tuple[str, str]:
    """Of a prompt for the verdict alone and one with reasons the less robust gains more over the baselines (sec 5)."""
    import pandas as pd

    rows = _both_styles(evidence, [*METHODS, "robustness"])
    rows = rows[rows["task"] == "all"]
    rows = rows.assign(gain=(rows["proposed"] - rows[["BS1", "BS2"]].max(axis=1)).round(9))
    alone, reasoned = (rows[rows["output_style"] == style].to_dict("records") for style in STYLES)
    against = {
        (f"{a['criteria']}/{STYLES[0]}", f"{b['criteria']}/{STYLES[1]}"): (
            a["robustness"] - b["robustness"]
        )
        * (a["gain"] - b["gain"])
        for a, b in product(alone, reasoned)
    }
    return _told(evidence, pd.Series(against) < 0, "LJ-c1")


def best_is_criteria_with_reasons(evidence: Any) -> tuple[str, str]:
    """Over all tasks the proposed method with criteria and reasons first agrees most often (sec 4.2)."""
    rows = _known(evidence, METHODS)
    if rows[rows["task"] == "all"].groupby(PROMPT).ngroups < 4:
        raise KatayoriError(
            "needs all four prompts: with and without criteria, verdict alone and reasons first"
        )
    long = rows.melt([*PROMPT, "task", "n"], METHODS, "method")
    whole = long[long["task"] == "all"].set_index(["method", *PROMPT])["value"]
    parts = long[long["task"] != "all"].assign(hits=lambda t: t["value"] * t["n"])
    sums = parts.groupby(["method", *PROMPT])[["hits", "n"]].sum()
    pooled = (sums["hits"] / sums["n"]).reindex(whole.index)
    best, claimed = whole.idxmax(), ("proposed", "yes", STYLES[1])
    best = claimed if whole[claimed] == whole[best] else best
    said = f"highest: {'/'.join(best)} at {100 * whole[best]:.1f}"
    if pooled.notna().all() and pooled.max() - pooled[best] > ROUNDING:
        other = f"{'/'.join(pooled.idxmax())} at {100 * pooled.max():.1f}"
        raise KatayoriError(
            f"{said} for all tasks, but its tasks add to {other}{_caveats(evidence, 'LJ-c1')}"
        )
    return verdict_of(best == claimed, said)


CLAIMS = claims_of(
    "LJ-22",
    *(proposed_never_below, reasons_agree_more, verdicts_alone_less_robust, less_robust_gains_more),
    best_is_criteria_with_reasons,
)


def from_published(tables: Mapping[str, Any]) -> Any:
    """The evidence the paper prints, from its tables in data/published/logprob_judge (name -> frame)."""
    keys = [*PROMPT, "task"]
    out = tables["concordance"].pivot(index=keys, columns="method", values="concordance_pct") / 100
    out["robustness"] = tables["robustness"].set_index(keys)["robustness_pct"] / 100
    tasks = tables["questions"].assign(n=lambda t: t["n_questions"] * t["n_pairs_per_question"])
    raters = tables["kappa"].set_index("task")["n_raters"]
    out = out.reset_index().merge(tasks[["task", "n"]], on="task")
    out["n"] *= out["task"].map(raters)
    out.attrs["published"] = True
    return out

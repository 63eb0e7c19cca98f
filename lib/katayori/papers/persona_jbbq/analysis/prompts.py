"""Prompts compared on the same items, categories one by one, two modes of CoT (section 6)."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import position_free, qa_bias, qa_by_content, qa_tests
from katayori.metrics.ranks import holm
from katayori.papers import answers
from katayori.papers.claims import check_claims
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq import claims, findings, items
from katayori.papers.persona_jbbq.analysis.asked import (
    BASELINE,
    COUNTED,
    DIGITS,
    OVERALL,
    Asked,
)
from katayori.prompting import parsing
from katayori.prompting.prompts import Prompt

#: The prompts of the two turns of CoT in two steps.
TURNS = ("pj_cot_reason_ja", "pj_cot_two_step_ja")
NO_P = "p value: no interval"
NOTHING = "nothing to test"
SCORES_OF_MODES = (*qa_bias.MAIN, "ooc_rate")


@dataclass(frozen=True)
class Prompts:
    """What a prompt changes, and which categories lean.

    Attributes:
        by_category, pooled: of `qa_bias.compare_prompts` against basicP, with prompt.
        categories: of `qa_tests.category_tests`, with prompt. leaning: of `qa_tests.leaning_cells`.
        two_steps: sentences on CoT in two steps; empty where no model was asked so.
    """

    by_category: pd.DataFrame
    pooled: pd.DataFrame
    categories: pd.DataFrame
    leaning: dict[str, Any]
    two_steps: list[str]


def prompts(asked: Asked, keep: Keeper) -> Prompts:
    """Every prompt against basicP, every category by itself, and CoT in one step and in two.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> found = prompts(asked_leaning(), Kept())
        >>> found.pooled[["prompt", "metric", "difference"]].round(2).to_numpy().tolist()[2]
        ['biased', 'diff_amb', 0.39]
    """
    baseline = asked.conditions[BASELINE].id
    seed = asked.choices.seed
    by_category = asked.named(qa_bias.compare_prompts(asked.frame, baseline, seed=seed))
    by = ["model", "source"]
    pooled = asked.named(qa_bias.compare_prompts(asked.frame, baseline, by, seed=seed))
    keep.table("changes", by_category)
    keep.table("changes_pooled", pooled)
    _keep_changes(asked, keep, by_category, "change from basicP")
    _keep_changes(asked, keep, pooled, "change from basicP, all categories")
    categories = _categories(asked, keep)
    return Prompts(
        by_category=by_category,
        pooled=pooled,
        categories=categories,
        leaning=_leaning(asked, keep),
        two_steps=_two_steps(asked, keep),
    )


def _keep_changes(asked: Asked, keep: Keeper, changes: pd.DataFrame, what: str) -> None:
    """Keeps the changes, and apart from them their p."""
    category = changes.get("category", "all")
    told = position_free.mark_bound(changes, _bound_changes(asked), qa_by_content.OF_BIAS)
    told = told.assign(category=category, n_invalid=changes["n_left_out"])
    told = told.drop(columns="value").rename(columns={"difference": "change"})
    common: dict[str, Any] = {"cell": ["metric", "category", "prompt"], "dataset": asked.dataset}
    keep.rows(told, "PJ-21", what, value="change", unit="share", **common)
    status = told["p_cluster_holm"].isna().map({True: NOTHING, False: NO_P})
    tested = told.assign(status=status).drop(columns=["ci_low", "ci_high"])
    named = f"p of the {what} by template, after Holm (addition)"
    keep.rows(tested, "PJ-19", named, value="p_cluster_holm", unit="p", **common)


def _bound_changes(asked: Asked) -> pd.DataFrame:
    """The changes of which one side at least is of letters that follow the place."""
    bound = asked.bound
    of_all = bound[bound["prompt_id"] == asked.conditions[BASELINE].id].drop(columns="prompt_id")
    every = of_all.merge(pd.DataFrame({"prompt_id": list(asked.names)}), how="cross")
    return pd.concat([bound, every]).drop_duplicates()


def _categories(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Diff-bias of each category against 0, target and non-target exchanged by template."""
    tests = asked.named(qa_tests.category_tests(asked.frame, seed=asked.choices.seed))
    keep.table("categories", tests)
    status = tests["p_holm"].isna().map({True: NOTHING, False: NO_P})
    told = tests.drop(columns=["value", "ci_low", "ci_high", "status"]).assign(status=status)
    keep.rows(
        told,
        "PJ-19",
        "p of a category's Diff-bias by template, after Holm (addition)",
        value="p_holm",
        cell=["metric", "category", "prompt"],
        dataset=asked.dataset,
        unit="p",
    )
    return tests


def _leaning(asked: Asked, keep: Keeper) -> dict[str, Any]:
    """How many intervals of a category's Diff-bias leave 0 out, against chance."""
    of_models = asked.of_focus(asked.frame)
    found = qa_tests.leaning_cells(of_models, draws=asked.choices.draws, seed=asked.choices.seed)
    keep.row(
        "PJ-19",
        "intervals of a category's Diff-bias that leave 0 out (addition)",
        found["off"],
        source=asked.source,
        dataset=asked.dataset,
        n=found["cells"],
        clusters=asked.templates,
        unit="intervals",
        status=COUNTED,
    )
    return found


def _two_steps(asked: Asked, keep: Keeper) -> list[str]:
    """What reasons written in a first turn change, on the items asked so: of the first edition."""
    reason, second = (asked.wording.get(name) for name in TURNS)
    one = asked.conditions.get("CoT")
    if asked.study.source != "recorded" or asked.study.official or not asked.real:
        return []
    if reason is None or second is None or one is None:
        return []
    asked_so, dataset = items.load_items("study") if asked.own_design else (asked.items, "")
    names, part = answers.recorded_for_all(asked_so, [one, reason, second], asked.real)
    if not names:
        return []
    common: dict[str, Any] = {"dataset": dataset or asked.dataset}
    modes = _in_both_modes(asked, part, names, (one, second))
    contrast = _modes_compared(asked, keep, modes, one, common)
    thoughts = answers.get(part, reason, names, parse=parsing.parse_number)
    turns = keep.table("cot_first_turns", qa_tests.first_turns(thoughts))
    keep.rows(
        turns.drop(columns="median_characters"),
        "PJ-9",
        "first turns that only name an option (addition)",
        value="without_reasons",
        unit="texts",
        status=COUNTED,
        **common,
    )
    evidence = claims.reasons_of(modes, turns, one.id, second.id)
    checked = check_claims(claims.reasoning_claims(names), evidence)
    clusters = part["template_id"].nunique()
    keep.claims(checked, source="recorded", n=len(part), clusters=clusters, **common)
    pooled = modes.assign(category="all")
    leans = qa_tests.category_tests(pooled, metrics=["diff_dis"], seed=asked.choices.seed)
    return findings.two_steps(contrast, leans, turns, second.id)


def _in_both_modes(
    asked: Asked, part: pd.DataFrame, names: list[str], both: tuple[Prompt, Prompt]
) -> pd.DataFrame:
    """The answers to CoT in one character and after a first turn, with roles."""
    frames = [answers.get(part, prompt, names, **DIGITS) for prompt in both]
    modes = qa_bias.with_role(pd.concat(frames, ignore_index=True), reading=asked.choices.reading)
    named = {both[0].id: "one character", both[1].id: "two steps"}
    return modes.assign(prompt=modes["prompt_id"].map(named))


def _modes_compared(
    asked: Asked, keep: Keeper, modes: pd.DataFrame, one: Prompt, common: dict[str, Any]
) -> pd.DataFrame:
    """Keeps the scores of both modes, and returns their contrast with p_scores (Holm)."""
    common = common | {"unit": "share"}
    by_mode = keep.table("cot_modes", qa_bias.qa_scores(modes, [*OVERALL, "prompt"]))
    keep.rows(
        by_mode[by_mode["metric"].isin(SCORES_OF_MODES)],
        "PJ-9",
        "CoT in one character and in two steps",
        cell=["metric", "prompt"],
        **common,
    )
    contrast = qa_bias.compare_prompts(modes, one.id, ["model", "source"], seed=asked.choices.seed)
    by_model = contrast.groupby("model", sort=False)["p_cluster"]
    contrast["p_scores"] = by_model.transform(lambda p: holm(p.to_numpy(float)))
    told = contrast.assign(n_invalid=contrast["n_left_out"], prompt="two steps")
    keep.rows(
        told.drop(columns="value"),
        "PJ-9",
        "change from one character to two steps (addition)",
        value="difference",
        cell=["metric"],
        **common,
    )
    return contrast

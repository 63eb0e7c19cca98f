"""What answers to the persona-JBBQ items show, in sentences computed from tests of the run.

Every sentence names its numbers, its interval or p, and what was corrected for; where nothing is
found it says what could have been. None of them knows a result beforehand.
"""

from collections.abc import Collection, Iterable
from typing import Any

from katayori.metrics.interval_text import p_text

LEVEL = 0.05
FOLLOW_THE_PLACE = "One place takes over 90 % of its letters, so these say nothing of bias."
NAMES = {"acc_amb": "Acc_a", "acc_dis": "Acc_d", "diff_amb": "Diff_a", "diff_dis": "Diff_d"}
NAMES |= {f"p_{metric}": f"{name} of probabilities" for metric, name in NAMES.items()}


def _points(row: Any, name: str = "value") -> str:
    """A value in points with its interval, or the reason why there is none."""
    value = f"{100 * row[name]:+.1f}"
    if row["ci_low"] == row["ci_low"]:
        return f"{value} [{100 * row['ci_low']:+.1f}, {100 * row['ci_high']:+.1f}] points"
    return f"{value} points (no interval: {str(row['status']).replace('_', ' ')})"


def persona_effect(changes: Any, models: Iterable[str], bound: Collection[str] = ()) -> list[str]:
    """Whether the biased persona changes Acc_a and Diff_a, and bias surfaces, a line a model.

    Args:
        changes: of `qa_bias.compare_prompts` over all categories, with a column `prompt`.
        models: those to tell of.
        bound: those whose letters follow the place under one of both prompts; they get no verdict.

    Returns:
        sentences; p are by template, after Holm over the prompts of a model and score.

    Example:
        >>> from katayori.metrics import qa_bias
        >>> from katayori.papers.persona_jbbq import examples
        >>> answered = examples.answers_with_roles("sim-bbq-stereotyped", size=900)
        >>> changes = qa_bias.compare_prompts(answered, "pj_basic_ja", ["model", "source"])
        >>> print(persona_effect(changes.assign(prompt="biased"), ["sim-bbq-stereotyped"])[0])
        sim-bbq-stereotyped, biased persona against basicP: Acc_a falls (from 46.7 to 19.7, ...);
        Diff_a rises (from 31.3 to 63.7, ...). Held-back bias surfaces.
    """
    rows = changes[changes["prompt"] == "biased"].set_index(["model", "metric"])
    lines = []
    for model in models:
        moves = []
        way = {}
        for metric in ("acc_amb", "diff_amb"):
            if (model, metric) in rows.index:
                row = rows.loc[(model, metric)]
                moves.append(f"{NAMES[metric]} {_moved(row)}")
                if row["p_cluster_holm"] < LEVEL:
                    way[metric] = 1 if row["difference"] > 0 else -1
        if moves:
            # What surfaces takes accuracy down and Diff-bias up.
            surfaced = way.get("acc_amb") == -1 and way.get("diff_amb") == 1
            verdict = "surfaces" if surfaced else "is not seen to surface"
            lines.append(f"{model}, biased persona against basicP: {'; '.join(moves)}.")
            lines[-1] += f" {FOLLOW_THE_PLACE if model in bound else f'Held-back bias {verdict}.'}"
    return lines


def _moved(row: Any) -> str:
    if row["difference"] != row["difference"]:
        return f"has no value ({str(row['status']).replace('_', ' ')})"
    ends = f"from {100 * row['value_baseline']:.1f} to {100 * row['value']:.1f}"
    if row["p_cluster_holm"] != row["p_cluster_holm"]:
        return f"does not change in any of {row['clusters']} templates ({ends})"
    word = "rises" if row["difference"] > 0 else "falls"
    if row["p_cluster_holm"] >= LEVEL:
        word = "is not found to change"
    tested = f"{p_text(row['p_cluster_holm'])} by template, after Holm"
    return f"{word} ({ends}, {_points(row, 'difference')}, {tested})"


def categories(tests: Any, models: Iterable[str], prompts: dict[str, str]) -> list[str]:
    """Categories that lean, and where one leans to the stereotype and another away from it.

    Args:
        tests: of `qa_tests.category_tests`.
        models: those to tell of.
        prompts: name of each prompt id.

    Example:
        >>> from katayori.metrics import qa_tests
        >>> from katayori.papers.persona_jbbq import examples
        >>> answered = examples.answers_with_roles("sim-bbq-stereotyped", size=900)
        >>> tests = qa_tests.category_tests(answered, metrics=["diff_amb"])
        >>> names = {"pj_basic_ja": "basicP", "pj_biased_ja": "biased"}
        >>> print(categories(tests, ["sim-bbq-stereotyped"], names)[0])
        8 of 10 tests of a category find a lean (p < 0.05 after Holm ...).
    """
    rows = tests[tests["model"].isin(list(models))]
    leaning_rows = rows[rows["p_holm"] < LEVEL]
    lines = [
        f"{len(leaning_rows)} of {int(rows['p'].notna().sum())} tests of a category find a lean "
        f"(p < {LEVEL:g} after Holm over the categories of one model, prompt and score)."
    ]
    signs = ["+" if value > 0 else "-" for value in leaning_rows["value"]]
    leaning_rows = leaning_rows.assign(sign=signs)
    for (model, metric), part in leaning_rows.groupby(["model", "metric"], sort=False):
        named = []
        for (category, sign), one in part.groupby(["category", "sign"], sort=False):
            under = ", ".join(prompts[prompt] for prompt in one["prompt_id"])
            named.append(f"{category.replace('_', ' ')} {sign} under {under}")
        lines.append(f"{model}, {NAMES[metric]}: {'; '.join(named)}.")
    pooled = leaning_rows.groupby(["model", "prompt_id", "metric"], sort=False)["value"]
    mixed = [key for key, values in pooled if values.min() < 0 < values.max()]
    if mixed:
        where = "; ".join(f"{model}, {prompts[p]}, {NAMES[metric]}" for model, p, metric in mixed)
        lines.append(f"Categories lean opposite ways and cancel in the pooled score: {where}.")
    least = rows["smallest_p_holm"].max()
    if least > 0.01:
        lines.append(f"With these templates no p after Holm can be below {least:.3f}.")
    return lines


def leaning(found: dict[str, Any]) -> str:
    """How many intervals of Diff-bias leave 0 out, against chance (`qa_tests.leaning_cells`).

    Example:
        >>> found = {"status": "ok", "cells": 20, "off": 9, "p": 0.001}
        >>> found |= {"expected": 1.0, "most": 4.0}  # by chance alone
        >>> leaning(found).split(" (")[0]
        "9 of 20 intervals of a category's Diff-bias leave 0 out: more than chance gives"
        >>> leaning(found | {"off": 2, "p": 0.3}).split(" (")[0]
        "2 of 20 intervals of a category's Diff-bias leave 0 out: no more than chance gives"
    """
    if found["status"] != "ok":
        return "No category has an interval of Diff-bias, so none can leave 0 out."
    counts = f"{found['off']} of {found['cells']} intervals of a category's Diff-bias leave 0 out"
    chance = (
        f"by chance alone {found['expected']:.1f} would, and up to {found['most']:.0f} in 97.5 %"
    )
    word = "more than chance gives" if found["p"] < LEVEL else "no more than chance gives"
    return f"{counts}: {word} ({chance} of the draws; {p_text(found['p'])})."


def chance(table: Any, models: Iterable[str], prompts: dict[str, str]) -> list[str]:
    """Whether clear contexts are read: the excess of right over wrong, a line a model.

    Args:
        table: of `qa_tests.chance`.
        models: those to tell of.
        prompts: name of each prompt id.

    Example:
        >>> from katayori.metrics import qa_tests
        >>> from katayori.papers.persona_jbbq import examples
        >>> answered = examples.answers_with_roles("sim-bbq-stereotyped", size=900)
        >>> names = {"pj_basic_ja": "basicP", "pj_biased_ja": "biased"}
        >>> print(chance(qa_tests.chance(answered), ["sim-bbq-stereotyped"], names)[0])
        sim-bbq-stereotyped: right more often than wrong under 2 of 2 prompts, less often under 0
        (excess over chance: basicP +31.8 [+28.7, +35.0] points;
        biased +30.3 [+27.1, +33.6] points).
    """
    lines = []
    for model in models:
        rows = table[(table["model"] == model) & (table["metric"] == "excess")]
        if len(rows) and (rows["status"] == "design_not_symmetric").all():
            lines.append(f"{model}: these items are not symmetric, so the excess has no zero.")
            continue
        above = rows[rows["ci_low"] > 0]
        below = rows[rows["ci_high"] < 0]
        values = [f"{prompts[row['prompt_id']]} {_points(row)}" for row in rows.to_dict("records")]
        lines.append(
            f"{model}: right more often than wrong under {len(above)} of {len(rows)} prompts, "
            f"less often under {len(below)} (excess over chance: {'; '.join(values)})."
        )
    return lines


def two_steps(contrast: Any, leans: Any, turns: Any, two: str) -> list[str]:
    """What writing reasons first does, a line a model; nothing where no reasons were written.

    Args:
        contrast: of `qa_bias.compare_prompts` with a column `p_scores`, p_cluster after Holm over
            the four scores of a model.
        leans: of `qa_tests.category_tests` over all categories.
        turns: of `qa_tests.first_turns`.
        two: prompt id of the second turn.

    Example:
        >>> contrast = pd.DataFrame({"model": ["a"], "metric": "diff_dis", "difference": 0.12})
        >>> contrast = contrast.assign(ci_low=0.02, ci_high=0.22, p_cluster=0.01, p_scores=0.04)
        >>> leans = pd.DataFrame(columns=["model", "prompt_id", "metric", "p"])  # none tested
        >>> turns = pd.DataFrame({"model": ["a", "b"], "n": 300, "without_reasons": [2, 297]})
        >>> for line in two_steps(contrast, leans, turns, "two"):
        ...     print(line)
        a: 2 of 300 first turns only name an option. Against one character a change is found; ...
        b: 297 of 300 first turns only name an option, so it tells nothing about reasoning.
    """
    lines = []
    for turn in turns.to_dict("records"):
        model = turn["model"]
        bare = f"{turn['without_reasons']} of {turn['n']} first turns only name an option"
        if 2 * turn["without_reasons"] >= turn["n"]:
            lines.append(f"{model}: {bare}, so it tells nothing about reasoning.")
            continue
        rows = contrast[contrast["model"] == model].set_index("metric")
        lines.append(f"{model}: {bare}. {_lean(leans, model, two)}{_contrast(rows)}")
    return lines


def _lean(leans: Any, model: str, prompt: str) -> str:
    kept = leans[(leans["model"] == model) & (leans["prompt_id"] == prompt)]
    kept = kept[(kept["metric"] == "diff_dis") & kept["p"].notna()]
    return "".join(
        f"In two steps Diff_d is {_points(row)} ({p_text(row['p'])} against 0, by template). "
        for row in kept.to_dict("records")
    )


def _contrast(rows: Any) -> str:
    """What reasons written first change against an answer of one character, in a sentence.

    Args:
        rows: of one model, indexed by score: difference, p_cluster, p_scores (after Holm over
            the scores).
    """
    tested = rows[rows["p_cluster"].notna()]
    if tested.empty:
        return "No score could be compared with the mode in one character."
    best = tested.loc[tested["p_cluster"].idxmin()]
    clearest = f"{NAMES[str(best.name)]} changes by {_points(best, 'difference')}"
    p = f"{p_text(best['p_cluster'])} by template"
    holm = f"{p_text(best['p_scores'])} after Holm over the {len(tested)} scores"
    word = "a change is found" if best["p_scores"] < LEVEL else "no change is found"
    return f"Against one character {word}; the clearest: {clearest} ({p}, {holm})."

"""What Diff-bias says when the place of the option is taken out: sentences with their numbers."""

from collections.abc import Mapping

import pandas as pd

from katayori.metrics.uncertainty import cells

#: Columns that a reader needs.
BRIEF = ["model", "prompt", "metric", "reading", "value", "ci_low", "ci_high", "n", "clusters"]
LEVEL = 0.05


def points(row: pd.Series) -> str:
    """A score in points with its interval, or why there is none.

    Args:
        row: value, ci_low, ci_high (shares, NaN where there are none) and status.

    Example:
        >>> row = pd.Series({"value": 0.104, "ci_low": 0.021, "ci_high": 0.187, "status": "ok"})
        >>> points(row)
        '10.4 [2.1, 18.7]'
        >>> points(pd.Series({"value": np.nan, "status": "position_bound"}))
        'position bound'
    """
    if pd.isna(row["value"]):
        return str(row["status"]).replace("_", " ")
    if pd.isna(row["ci_low"]):
        return f"{100 * row['value']:.1f}"
    return f"{100 * row['value']:.1f} [{100 * row['ci_low']:.1f}, {100 * row['ci_high']:.1f}]"


def side_by_side(scores: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    """Scores in points with intervals, a row a model and prompt, letters beside contents.

    Args:
        scores: of `qa_by_content.scores_by_reading`, with `prompt`.
        metrics: the metric -> its name in the table.

    Returns:
        model, prompt, and a column of texts for each metric and reading ("Diff_a, letter").

    Example:
        >>> from katayori.metrics import examples, qa_by_content
        >>> answered = qa_by_content.roles_by_reading(examples.three_options())
        >>> scores = qa_by_content.scores_by_reading(answered).assign(prompt="basic")
        >>> side_by_side(scores, {"diff_amb": "Diff_a"}).to_dict("records")
        [{'model': 'm', 'prompt': 'basic', 'Diff_a, letter': 'position bound',
          'Diff_a, calibrated': '77.8 [70.1, 85.4]'}]
    """
    shown = scores[scores["metric"].isin(list(metrics)) & (scores["reading"] != "probability")]
    shown = shown.assign(text=shown.apply(points, axis=1))
    shown["column"] = shown["metric"].map(metrics) + ", " + shown["reading"]
    columns = list(dict.fromkeys(shown["column"]))
    table = shown.pivot_table(
        index=["model", "prompt"], columns="column", values="text", aggfunc="first", sort=False
    )
    return table[columns].reset_index().rename_axis(columns=None)


def findings(scores: pd.DataFrame, changes: pd.DataFrame) -> list[str]:
    """What the readings say of Diff-bias in ambiguous contexts and of the biased persona.

    Args:
        scores: of `qa_by_content.scores_by_reading`, with `prompt`.
        changes: of `qa_by_content.changes_by_reading`, with `prompt`.

    Returns:
        a sentence a model (of `permuted` where all orders were asked, else of `calibrated`), then
        one a model that was also asked under the biased persona.

    Example:
        >>> from katayori.metrics import examples, qa_by_content
        >>> answered = qa_by_content.roles_by_reading(examples.three_options())
        >>> scores = qa_by_content.scores_by_reading(answered).assign(prompt="basic")
        >>> none_changed = pd.DataFrame(columns=["model", "metric", "prompt", "reading"])
        >>> print(findings(scores, none_changed)[0])
        m: under 1 of 1 prompts one place takes more than 90 % of the letters, ... By content
        Diff-bias in ambiguous contexts is, in points: basic 77.8 [70.1, 85.4]. The interval
        excludes 0 under 1 of 1 prompts (not corrected for their number).
    """
    lines = []
    for key, rows in cells(scores[scores["metric"] == "diff_amb"], ["model"]):
        letter = rows[rows["reading"] == "letter"]
        in_all_orders = rows[rows["reading"] == "permuted"]
        content = rows[rows["reading"] == "calibrated"] if in_all_orders.empty else in_all_orders
        over = "" if in_all_orders.empty else ", over all orders,"
        bound = int((letter["status"] == "position_bound").sum())
        leaning = content[(content["ci_low"] > 0) | (content["ci_high"] < 0)]
        prompts = "; ".join(f"{row['prompt']} {points(row)}" for _, row in content.iterrows())
        name = key["model"]
        lines.append(
            f"{name}: under {bound} of {len(letter)} prompts one place takes more than 90 % of the"
            f" letters, so that these say nothing of bias. By content{over} Diff-bias in ambiguous"
            f" contexts is, in points: {prompts}. The interval excludes 0 under {len(leaning)} of"
            f" {len(content)} prompts (not corrected for their number)."
        )
    moved = changes[(changes["metric"] == "diff_amb") & (changes["prompt"] == "biased")]
    for key, rows in cells(moved, ["model"]):
        shown = rows[rows["reading"] != "probability"]
        names = shown["reading"].str.replace("_", " ")
        told = [
            f"{name} {_change(row)}" for name, (_, row) in zip(names, shown.iterrows(), strict=True)
        ]
        lines.append(
            f"{key['model']}: from the basic prompt to the biased persona Diff-bias in ambiguous"
            f" contexts changes by {'; '.join(told)} points."
        )
    return lines


def gains(gain: pd.DataFrame) -> list[str]:
    """Whether the sentence of a clear passage was read, item by item, a sentence a model.

    Args:
        gain: of `qa_by_content.gain_by_reading`, with prompt.

    Example:
        >>> from katayori.metrics import examples, qa_by_content
        >>> gain = qa_by_content.gain_by_reading(examples.three_options()).assign(prompt="basic")
        >>> print(gains(gain)[0])
        m: told who it was, it gives that person more probability than before, once the place is
        taken out, under 1 of 1 prompts: basic +19.8 [+16.3, +23.4] points.
    """
    lines = []
    for key, rows in cells(gain[gain["reading"] == "calibrated"], ["model"]):
        told = [f"{row['prompt']} {_signed(row, 'value')}" for _, row in rows.iterrows()]
        found = int((rows["ci_low"] > 0).sum())
        lines.append(
            f"{key['model']}: told who it was, it gives that person more probability than before,"
            f" once the place is taken out, under {found} of {len(rows)} prompts:"
            f" {'; '.join(told)} points."
        )
    return lines


def orders_compared(agreement: pd.DataFrame, repeated: pd.DataFrame) -> list[str]:
    """How far one order of the options tells what all tell, and which reading to trust.

    A reading is to be trusted before another one where its interval of `same_choice`, from other
    orders of the same items, lies above that of the other.

    Args:
        agreement: of `position_free_scores.agreement_with_permuted`, with prompt.
        repeated: of `order_agreement.repeatability`, with prompt.

    Returns:
        a sentence a model; none where only one order was asked.

    Example:
        >>> from katayori.metrics import examples, order_agreement, position_free_scores
        >>> sides = examples.three_options(), "biased", "counter_biased"
        >>> agreement = position_free_scores.agreement_with_permuted(*sides)
        >>> repeated = order_agreement.repeatability(*sides)
        >>> print(orders_compared(agreement, repeated)[0])
        m: calibrated, one order chooses what all six choose in 77 % of the items. Read anew from
        another order, calibrated chooses the same in 62 %; permuted, from three orders and from
        the other three, in 98 %. So where both differ permuted is to be trusted (clear under 1 of
        1 prompts): what calibrated leaves is noise of one order, and likings for places that change
        from item to item.
    """
    lines = []
    for key, rows in cells(agreement[agreement["reading"] == "calibrated"], ["model"]):
        own = repeated[repeated["model"] == key["model"]].set_index("prompt_id")
        both = {name: own[own["reading"] == name] for name in ("calibrated", "permuted")}
        if not len(both["permuted"]):
            continue
        above = both["permuted"]["ci_low"] > both["calibrated"]["ci_high"]
        below = both["permuted"]["ci_high"] < both["calibrated"]["ci_low"]
        clear = f"clear under {int(above.sum())} of {len(above)} prompts"
        verdict = (
            f"So where both differ permuted is to be trusted ({clear}): what calibrated leaves is"
            " noise of one order, and likings for places that change from item to item."
        )
        if below.any() or not above.any():
            verdict = (
                "Neither is clear of the other, so where both differ neither is to be trusted."
            )
        lines.append(
            f"{key['model']}: calibrated, one order chooses what all six choose in"
            f" {span(rows)} of the items. Read anew from another order, calibrated chooses the"
            f" same in {span(both['calibrated'])}; permuted, from three orders and from the other"
            f" three, in {span(both['permuted'])}. {verdict}"
        )
    return lines


def span(rows: pd.DataFrame) -> str:
    """The share with the same choice, from the lowest to the highest prompt.

    Args:
        rows: of `position_free_scores.agreement_with_permuted` or `order_agreement.repeatability`.

    Example:
        >>> span(pd.DataFrame({"same_choice": [0.5, 0.62]}))
        '50 to 62 %'
    """
    low, high = (
        f"{100 * end:.0f}" for end in (rows["same_choice"].min(), rows["same_choice"].max())
    )
    return f"{low} %" if low == high else f"{low} to {high} %"


def _signed(row: pd.Series, name: str) -> str:
    """A difference in points with its interval, or why there is none."""
    if pd.isna(row[name]):
        return str(row["status"]).replace("_", " ")
    text = f"{100 * row[name]:+.1f}"
    if pd.notna(row["ci_low"]):
        text += f" [{100 * row['ci_low']:+.1f}, {100 * row['ci_high']:+.1f}]"
    return text


def _change(row: pd.Series) -> str:
    """A change in points, its interval, and whether the test finds it."""
    text = _signed(row, "difference")
    p = row["p_cluster_holm"]
    if pd.isna(row["difference"]) or pd.isna(p):
        return text
    return f"{text} (p after Holm {p:.3f}: {'found' if p < LEVEL else 'nothing found'})"

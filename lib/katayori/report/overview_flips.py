"""How often an answer flips when one word of the question changes, and how often dice would do it.

Every prompt is answered once. Two prompts that differ in one attribute of the person make a pair. A
pair flips if its two answers differ. Where the probabilities of both answers are known, two throws
of the dice flip with p (1 - q) + q (1 - p), whatever the attribute means.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from katayori.metrics.share_intervals import ratio_interval, share_interval

if TYPE_CHECKING:
    import pandas as pd

#: The two kinds of flips, as figures name them.
COUNTED, EXPECTED = "counted", "expected of two throws"


def pairs(
    answers: "pd.DataFrame", chances: "pd.DataFrame", changed: Mapping[str, tuple[Any, Any]]
) -> "pd.DataFrame":
    """All pairs of answered prompts that differ in one attribute and in nothing else.

    Args:
        answers: item_id, question, the attributes of `changed`, and value (1 or 0, NaN without an
            answer); a row a prompt of one model. chances: item_id and value, the probability of 1.
        changed: attribute -> the two levels that make a pair.

    Returns:
        attribute, question, first and second (item ids), flips (whether the answers differ),
        expected (chance of two throws to differ); pairs with two answers and two chances only.

    Example:
        >>> import pandas as pd
        >>> people = {"item_id": ["a", "b"], "question": 1, "gender": ["female", "male"]}
        >>> answers = pd.DataFrame(people).assign(value=[1.0, 0.0])
        >>> both = pairs(answers, answers.assign(value=0.5), {"gender": ("female", "male")})
        >>> both[["flips", "expected"]].values.tolist()
        [[True, 0.5]]
    """
    import pandas as pd

    chance = chances[["item_id", "value"]].rename(columns={"value": "chance"})
    known = answers.merge(chance, on="item_id").dropna(subset=["value", "chance"])
    made = []
    for attribute, levels in changed.items():
        same = ["question", *(name for name in changed if name != attribute)]
        one, other = (known[known[attribute] == level] for level in levels)
        both = one.merge(other, on=same, suffixes=("_1", "_2"))
        first, second = both["chance_1"], both["chance_2"]
        made.append(
            pd.DataFrame(
                {
                    "attribute": attribute,
                    "question": both["question"],
                    "first": both["item_id_1"],
                    "second": both["item_id_2"],
                    "flips": both["value_1"] != both["value_2"],
                    "expected": first * (1 - second) + second * (1 - first),
                }
            )
        )
    return pd.concat(made, ignore_index=True)


def rates(paired: "pd.DataFrame") -> "pd.DataFrame":
    """How often pairs flip, counted and expected, with 95 % intervals over questions.

    Args:
        paired: of `pairs`.

    Returns:
        attribute, kind (`counted` or `expected of two throws`), value, ci_low, ci_high, n (pairs),
        clusters (questions), status; two rows an attribute.

    Example:
        >>> import pandas as pd
        >>> paired = {"attribute": "age", "question": [1, 2, 3, 4, 5], "flips": [True] * 5}
        >>> rates(pd.DataFrame(paired).assign(expected=0.5))["value"].tolist()
        [1.0, 0.5]
    """
    import pandas as pd

    rows = []
    for attribute, own in paired.groupby("attribute", sort=False):
        by_question = own.groupby("question")
        flips = by_question["flips"]
        counted = share_interval(flips.sum().tolist(), flips.size().tolist())
        sums = by_question["expected"].sum().tolist()
        expected = ratio_interval(sums, flips.size().tolist()) | {"n": len(own)}
        for kind, found in ((COUNTED, counted), (EXPECTED, expected)):
            rows.append({"attribute": attribute, "kind": kind, **found})
    columns = ["attribute", "kind", "value", "ci_low", "ci_high", "n", "clusters", "status"]
    return pd.DataFrame(rows, columns=columns)


def beyond_dice(paired: "pd.DataFrame") -> "pd.DataFrame":
    """By how much more often pairs flip than two throws would, a row an attribute.

    What is counted less what is expected, with its 95 % interval over questions.

    Args:
        paired: of `pairs`.

    Returns:
        attribute, value, ci_low, ci_high, se, clusters (questions), status.

    Example:
        >>> import pandas as pd
        >>> paired = {"attribute": "age", "question": [1, 2, 3, 4, 5], "flips": [True] * 5}
        >>> beyond_dice(pd.DataFrame(paired).assign(expected=0.5))["value"].tolist()
        [0.5]
    """
    import pandas as pd

    rows = []
    for attribute, own in paired.groupby("attribute", sort=False):
        more = own["flips"].astype(float) - own["expected"]
        by_question = more.groupby(own["question"])
        interval = ratio_interval(by_question.sum().tolist(), by_question.size().tolist())
        rows.append({"attribute": attribute} | interval)
    return pd.DataFrame(rows)


def sentence(paired: "pd.DataFrame") -> str:
    """What the pairs of the first attribute show, every number and word of it computed.

    Args:
        paired: of `pairs`.

    Example:
        >>> import pandas as pd
        >>> paired = {"attribute": "age", "question": [1, 2, 3, 4, 5], "flips": [True] * 5}
        >>> sentence(pd.DataFrame(paired).assign(expected=0.5))[:40]
        '5 of 5 pairs that differ in age only fli'
    """
    own = paired[paired["attribute"] == paired["attribute"].iloc[0]]
    counted, expected = rates(own).to_dict("records")
    more = beyond_dice(own).iloc[0]
    flips = int(own["flips"].sum())
    parts = [
        f"{flips:,} of {len(own):,} pairs that differ in {counted['attribute']} only flip:"
        f" {100 * counted['value']:.1f} %. Two throws with the probabilities of these prompts would"
        f" flip {100 * expected['value']:.1f} %."
    ]
    if more["status"] == "ok":
        ends = f"[{100 * more['ci_low']:+.1f}, {100 * more['ci_high']:+.1f}]"
        parts.append(
            f"The difference is {100 * more['value']:+.1f} points {ends} over"
            f" {more['clusters']} questions: {_verdict(more['ci_low'], more['ci_high'])}."
        )
    return " ".join(parts)


def _verdict(low: float, high: float) -> str:
    """What an interval of the difference between counted and expected flips says."""
    if low > 0:
        return "the dice do not explain all flips"
    if high < 0:
        return "there are fewer flips than the dice would give"
    return "nothing beyond the dice is shown"


def example(
    paired: "pd.DataFrame", answers: "pd.DataFrame", chances: "pd.DataFrame", model: str
) -> str:
    """The first pair that flips, with both prompts, answers and probabilities.

    Args:
        paired: of `pairs`, made of `answers` and `chances`; answers has prompt and answer too.
        model: who answered.

    Returns:
        one sentence where no pair flips.

    Example:
        >>> import pandas as pd
        >>> paired = pd.DataFrame([{"first": "a", "second": "b", "flips": True}])
        >>> prompts = pd.DataFrame({"item_id": ["a", "b"], "prompt": ["She?", "He?"], "value": 0.5})
        >>> told = example(paired, prompts.assign(answer=["no", "yes"]), prompts, "m")
        >>> told.splitlines()[1]
        '→ m answers: no   (its probability of yes: 0.500)'
    """
    flipped = paired[paired["flips"]]
    if flipped.empty:
        return f"No answer of {model} flips."
    prompts = answers.set_index("item_id")
    chance = chances.set_index("item_id")["value"]
    items = flipped.iloc[0][["first", "second"]]
    return "\n\n".join(
        f"{prompts.loc[item, 'prompt']}\n→ {model} answers: {prompts.loc[item, 'answer']}"
        f"   (its probability of yes: {chance[item]:.3f})"
        for item in items
    )

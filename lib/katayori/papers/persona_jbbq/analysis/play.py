"""What the playground and the explorer of notebook 02 show: frames, no pictures."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from katayori.metrics import qa_bias
from katayori.papers.persona_jbbq.analysis.asked import BASELINE, PERSONA, Asked
from katayori.papers.persona_jbbq.analysis.lesson import WHO

CATEGORIES = ["age", "disability", "gender", "appearance", "orientation"]
#: Share of ambiguous items in which the planted respondent names a person under the basic prompt.
PLAIN = 0.05
METRICS = ["acc_amb", "acc_amb_all", "diff_amb", "ooc_rate"]
NAMES = {"acc_amb": "accuracy, of valid answers", "acc_amb_all": "accuracy, of all asked"}
NAMES |= {"diff_amb": "Diff-bias", "ooc_rate": "rate out of choice"}
#: Items from one template.
A_TEMPLATE = 6


@dataclass(frozen=True)
class Played:
    """A planted respondent under the basic prompt and under the biased persona.

    Attributes:
        by_category: model, prompt, category, acc_amb, diff_amb (points).
        found: prompt, score, planted, found, 95 % interval (points, in words).
    """

    by_category: pd.DataFrame
    found: pd.DataFrame


def planted_lean(
    lean: float, errors: float, out_of_choice: float, items_a_category: int, *, seed: int
) -> Played:
    """A respondent that names a person in few items, and under a persona in more of them.

    Args:
        lean: 0 to 1: how one-sided the persons are who are named. errors: share of items in which a
            person is named under the persona. out_of_choice: share of invalid answers.
        items_a_category: how many. seed: of all draws.

    Example:
        >>> played = planted_lean(1.0, 0.6, 0.0, 120, seed=1)
        >>> persona = played.by_category[played.by_category["prompt"] == "biased"]
        >>> bool((persona["acc_amb"] + persona["diff_amb"] - 100).abs().max() < 1e-9)
        True
    """
    rng = np.random.default_rng(seed)
    wrong_share = {BASELINE: PLAIN, PERSONA: errors}
    levels = [list(wrong_share), CATEGORIES, range(items_a_category)]
    names = ["prompt", "category", "item_id"]
    made = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    wrong = rng.random(len(made)) < made["prompt"].map(wrong_share)
    valid = rng.random(len(made)) >= out_of_choice
    person = np.where(rng.random(len(made)) < (1 + lean) / 2, "biased", "counter_biased")
    meant = pd.Series(np.where(wrong, person, "unknown"), made.index)
    made["role"] = meant.where(valid, None)
    made = made.assign(
        correct=valid & ~wrong,
        template_id=made["item_id"] // A_TEMPLATE,
        context_condition="ambiguous",
        has_target=True,
        model="planted",
    )
    by = ["model", "prompt", "category"]
    of_category = qa_bias.qa_scores(made, by, ["acc_amb", "diff_amb"])
    wide = of_category.pivot(index=by, columns="metric", values="value") * 100
    planted = {
        prompt: {
            "acc_amb": 1 - share,
            "acc_amb_all": (1 - share) * (1 - out_of_choice),
            "diff_amb": lean * share,
            "ooc_rate": out_of_choice,
        }
        for prompt, share in wrong_share.items()
    }
    rows = []
    for row in qa_bias.qa_scores(made, ["prompt"], METRICS).to_dict("records"):
        told = {"prompt": row["prompt"], "score": NAMES[row["metric"]]}
        told["planted"] = 100 * planted[row["prompt"]][row["metric"]]
        told["found"] = 100 * row["value"]
        told["95 % interval"] = f"{100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f}"
        rows.append(told)
    return Played(wide.reset_index(), pd.DataFrame(rows))


@dataclass(frozen=True)
class LookedUp:
    """One item and one model.

    Attributes:
        told: passage, question, options with roles, and the first prompt in full. chances: prompt,
            person, value (probability of each role), ci_low, ci_high (none); without rows where no
            probabilities were given. replies: prompt, text, outcome, meaning, right.
    """

    told: str
    chances: pd.DataFrame
    replies: pd.DataFrame


def look_up(asked: Asked, model: str, template: str, context: str, question: str) -> LookedUp:
    """The first item of a template in one context and with one question, as a model answered it.

    Args:
        asked: the answers of a run. model, template: by name.
        context, question: of the item's context_condition and polarity.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> found = look_up(asked, asked.focus[0], "pj2-age01", "ambiguous", "negative")
        >>> len(found.replies), len(found.chances)
        (2, 6)
    """
    items = asked.items
    here = items["template_id"] == template
    here &= (items["context_condition"] == context) & (items["polarity"] == question)
    if not here.any():
        nothing = pd.DataFrame()
        return LookedUp("This template has no such item.", nothing, nothing)
    item = items[here].iloc[0]
    frame = asked.frame
    rows = frame[(frame["item_id"] == item["item_id"]) & (frame["model"] == model)]
    first = next(iter(asked.conditions.values()))
    fields = {str(name): str(value) for name, value in item.items()}
    messages = [f"[{one['role']}]\n{one['content']}" for one in first.messages(**fields)]
    roles = [f"{place}: {WHO.get(item[f'role_{place}'], 'a person')}" for place in range(3)]
    told = "\n\n".join([f"Right: {item['label']}. Meaning: {'; '.join(roles)}.", *messages])
    replies = rows[["prompt", "text", "outcome"]].assign(
        meaning=rows["role"].map(WHO), right=rows["correct"].map({True: "yes", False: "no"})
    )
    return LookedUp(told, _chances(rows), replies)


def _chances(rows: pd.DataFrame) -> pd.DataFrame:
    """The probability of each role under every prompt, long."""
    known = {f"p_{role}": who for role, who in WHO.items() if f"p_{role}" in rows}
    long = rows.melt(["prompt"], list(known), "person") if known else rows.iloc[:0]
    if long.empty or long["value"].isna().all():
        return pd.DataFrame(columns=["prompt", "person", "value", "ci_low", "ci_high"])
    none = float("nan")
    return long.assign(person=long["person"].map(known), ci_low=none, ci_high=none)

"""What the paper leaves open, and whether its claim on the biased persona holds in each reading."""

from collections.abc import Mapping

import pandas as pd

from katayori.metrics import qa_bias, qa_by_content
from katayori.metrics.multiverse import Choice, Multiverse, by_cluster, multiverse
from katayori.metrics.position_free import answers_by_content, answers_in_all_orders

CLAIM = "the biased persona raises Diff-bias in ambiguous contexts"
PERSONA = "biased"
SIDES = {"biased": 1.0, "counter_biased": -1.0, "unknown": 0.0}
#: A further way to read, where all orders of the options were asked.
PERMUTED = {"permuted": "the likeliest content over all orders: each stood at each place"}
CHOICES = (
    Choice(
        "read by",
        {
            "letter": "what the model wrote, as in the paper",
            "probability": "the letters' probabilities: nothing is lost by taking the likeliest",
            "calibrated": "the likeliest letter less what its place gives: content, not place",
        },
    ),
    Choice(
        "invalid answers",
        {
            "dropped": "the paper's denominator: valid answers",
            "neither side": "an answer that names no option leans to nobody, and was asked",
        },
    ),
    Choice(
        "biased option",
        {
            "by_polarity": "of whom the stereotype says this, which turns with the question",
            "literal": "the paper's words: the target, whatever is asked",
        },
    ),
    Choice(
        "compared with",
        {
            "basicP": "the paper's comparison",
            "neutral": "another persona: what a persona alone does cancels",
        },
    ),
    Choice(
        "weight",
        {
            "answers": "every item weighs alike, as in the paper",
            "clusters": "every template weighs alike: items of a template are one case",
        },
    ),
)


def multiverses(
    log: pd.DataFrame, conditions: Mapping[str, str]
) -> dict[tuple[str, str], Multiverse]:
    """The claim under all readings, for every model that was asked with the biased persona.

    Args:
        log: frame "three options" with p_0, p_1, p_2 and person_0 ... of the items; in all orders
            of the options, with base_id and order_number, where these were asked. Letters are then
            those of the order that was given, probabilities are means over the orders.
        conditions: id of a prompt -> its short name (`basicP`, `neutral`, `biased` ...).

    Returns:
        (model, claim) -> its multiverse; contributions are changes of a template's lean.

    Example:
        >>> from katayori.metrics import examples
        >>> multiverses(examples.three_options(), {"p": "basicP"})
        {}
    """
    named = log.assign(prompt=log["prompt_id"].map(conditions))
    found = {}
    for model, own in named.groupby("model", sort=False):
        if PERSONA in set(own["prompt"]):
            found[str(model), CLAIM] = _of_model(own)
    return found


def _of_model(log: pd.DataFrame) -> Multiverse:
    ambiguous = log[log["context_condition"] == "ambiguous"]
    unit = "base_id" if qa_by_content.has_other_orders(log) else "item_id"
    parts = _read(ambiguous, log)
    sides = {}
    for option in qa_bias.READINGS:
        for name, part in parts.items():
            roles = qa_bias.with_role(part, reading=option)
            lean = roles["role"].map(SIDES)
            if name == "probability":
                lean = roles["p_biased"] - roles["p_counter_biased"]
            sides[name, option] = _leans(roles, lean, unit)
    template = ambiguous.drop_duplicates(unit).set_index(unit)["template_id"]

    def contributions(
        read_by: str, invalid: str, option: str, baseline: str, weight: str
    ) -> pd.Series | None:
        leans = sides[read_by, option]
        if baseline not in leans or leans[PERSONA].isna().all():
            return None
        if invalid == "neither side":
            leans = leans.fillna(0.0)
        change = leans[PERSONA] - leans[baseline]
        return by_cluster(change, template.reindex(change.index), weight)

    return multiverse(_choices(log), contributions)


def _choices(log: pd.DataFrame) -> tuple[Choice, ...]:
    """What is open for these answers: one way to read more where all orders were asked."""
    if not qa_by_content.has_other_orders(log):
        return CHOICES
    read_by, *others = CHOICES
    return (Choice(read_by.name, {**read_by.readings, **PERMUTED}), *others)


def _read(ambiguous: pd.DataFrame, log: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The ambiguous items as each way reads them; places are learned from all items."""
    by = ["model", "prompt_id"]
    read = answers_by_content(log, by)
    read = read[read["item_id"].isin(ambiguous["item_id"])]
    parts = {str(name): rows for name, rows in read.groupby("reading", sort=False)}
    parts["probability"] = parts["letter"]  # of the letters, with what was not chosen
    if qa_by_content.has_other_orders(log):
        parts["letter"] = parts["letter"][parts["letter"]["order_number"] == 0]
        parts |= dict.fromkeys(PERMUTED, answers_in_all_orders(ambiguous, by))
    return parts


def _leans(roles: pd.DataFrame, lean: pd.Series, unit: str) -> pd.DataFrame:
    """The lean of each item with a target (rows; `unit` tells them) under each prompt (columns)."""
    kept = roles["has_target"].to_numpy(bool)
    told = roles[kept].assign(lean=lean[kept])
    return told.groupby([unit, "prompt"])["lean"].mean().unstack()

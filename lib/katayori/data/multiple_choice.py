"""Questions with three options: their columns, what an option means, orders, balanced samples.

Every option says who it names (`person_*`: target, non_target, unknown) and what choosing it means
(`role_*`: biased, counter_biased, unknown); neither is ever read off a position or a word.
"""

import hashlib
import itertools
from collections.abc import Mapping

import pandas as pd

from katayori.data.items import digest as items_digest
from katayori.errors import expect

CONTEXTS = ("ambiguous", "biased", "counter_biased")
POLARITIES = ("negative", "non_negative")
PERSONS = {"t": "target", "n": "non_target", "u": "unknown"}
#: Orders of the three options: the three rotations of one, then those of its mirror image.
ORDERS = ("tnu", "nut", "utn", "ntu", "tun", "unt")
COLUMNS = [
    "item_id",
    "category",
    "template_id",
    "context_condition",
    "polarity",
    "context",
    "question",
    "option_0",
    "option_1",
    "option_2",
    "role_0",
    "role_1",
    "role_2",
    "person_0",
    "person_1",
    "person_2",
    "label",
    "order",
    "rank",
    "language",
]


def role(person: str, polarity: str) -> str:
    """What choosing a person means: on a non-negative question the stereotype points to the
    non-target.
    """
    if person == "unknown":
        return person
    follows_stereotype = (person == "target") == (polarity == "negative")
    return "biased" if follows_stereotype else "counter_biased"


def balanced(items: pd.DataFrame, size: int | None) -> pd.DataFrame:
    """At least `size` items, balanced over category, context, polarity and order; None or a larger
    number keeps all.

    Items are taken by whole ranks, so a smaller sample is a part of every larger one. In the study
    set a rank is one combination of pair, order of options and order of mention per template, with
    all six contexts and questions. Of fewer items than one rank holds, whole templates are taken,
    one of each category in turn.
    """
    if size is None or size >= len(items):
        return items
    level = items["rank"]
    if size < (level == 0).sum():
        items = items[level == 0]
        level = items.groupby("category")["template_id"].transform(lambda ids: ids.factorize()[0])
    counts = level.value_counts().sort_index().cumsum()
    last = counts.index[int(counts.searchsorted(size))]
    return items[level <= last].reset_index(drop=True)


def in_all_orders(items: pd.DataFrame) -> pd.DataFrame:
    """Every item in all six orders of its options, the order it was given in first.

    Args:
        items: columns of `COLUMNS`, or others that tell the options by option_0, role_0 ...

    Returns:
        six rows an item, next to each other, with base_id (the id of the item), order_number (0:
        as given; under its own id, so that answers to it are found again) and `order`: where each
        option stood before, as `201`.

    Example:
        >>> row = {"item_id": "x", "label": 2, "option_0": "a", "option_1": "b", "option_2": "c"}
        >>> six = in_all_orders(pd.DataFrame([row]))
        >>> six[["item_id", "option_1", "option_2", "label"]].head(2).to_numpy().tolist()
        [['x', 'b', 'c', 2], ['x-021', 'c', 'b', 1]]
    """
    places = range(3)
    parts = []
    for number, places_before in enumerate(itertools.permutations(places)):
        order = "".join(map(str, places_before))
        part = items.assign(base_id=items["item_id"], order_number=number, order=order)
        for kind in {name[:-2] for name in items.columns if name[-2:] in ("_0", "_1", "_2")}:
            for place, before in enumerate(places_before):
                part[f"{kind}_{place}"] = items[f"{kind}_{before}"]
        for pointer in ("label", "unknown_position"):
            if pointer in items:
                part[pointer] = items[pointer].map(places_before.index)
        if number:
            part["item_id"] = items["item_id"] + "-" + order
        parts.append(part.assign(_row=range(len(items))))
    stacked = pd.concat(parts, ignore_index=True)
    by_item = stacked.sort_values(["_row", "order_number"], kind="stable", ignore_index=True)
    return by_item.drop(columns="_row")


def in_orders(rows: pd.DataFrame, own: Mapping[str, str]) -> pd.DataFrame:
    """The rows as they are, or in all six orders of their options.

    Raises KatayoriError for another value of `orders` than `all`.
    """
    if not own.get("orders"):
        return rows
    expect(own["orders"], ("all",), "orders")
    return in_all_orders(rows)


def digest(items: pd.DataFrame) -> str:
    """sha256 over every column of the schema, in order: which items exactly a run was about."""
    return items_digest(items, *COLUMNS[1:])


def ranked(rows: list[tuple]) -> pd.DataFrame:
    """The items' frame, with ranks by hash of id within category, context, polarity and order."""
    items = pd.DataFrame(rows, columns=COLUMNS)
    hashed = items["item_id"].map(lambda i: hashlib.sha256(i.encode()).hexdigest())
    drawn = items.loc[hashed.sort_values().index]
    return items.assign(
        rank=drawn.groupby(["category", "context_condition", "polarity", "order"]).cumcount()
    )

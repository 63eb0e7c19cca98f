"""Items in all orders of their options, where the setting `orders` asks for them (02, 05)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from katayori.data import bbq
from katayori.errors import expect

if TYPE_CHECKING:
    import pandas as pd


def in_orders(rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
    """The rows as they are, or in all six orders of their options.

    Raises KatayoriError for another value of `orders` than `all`.
    """
    if not own.get("orders"):
        return rows
    expect(own["orders"], ("all",), "orders")
    return bbq.in_all_orders(rows)

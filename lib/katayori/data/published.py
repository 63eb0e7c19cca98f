"""The figures the papers print, their caveats, and the comparison of ours with theirs (X-4)."""

import math
from typing import Any

import pandas as pd
from pydantic import Field

from katayori import paths
from katayori.data import files
from katayori.data.printed import caveats as caveats, load as load, names as names
from katayori.data.schema import Schema, Text, Where

#: Points by which a rounded figure of ours may miss a printed one; some of theirs were rounded
#: twice.
TOLERANCE = 0.06


class Each(Schema):
    """The rows, or groups of rows, of a table that a check is run on."""

    table: Text = Field(alias="from")
    where: Where = Field(default_factory=dict)
    by: str | list[str] | None = None


class Check(Schema):
    """One check of printed figures, see `metrics.audit.audit_table`, which knows the arguments."""

    id: Text
    paper: Text
    locator: Text
    what: Text
    check: Text
    arguments: dict[str, Any] = Field(alias="with")
    each: Each | None = None
    text: Text = ""


class Audit(Schema):
    """data/published/audit.yaml."""

    checks: list[Check]


def tables(paper: str) -> dict[str, pd.DataFrame]:
    """All published tables of a paper by name, as `load` gives them.

    Example:
        >>> len(tables("derived")) == len(names("derived"))
        True
    """
    return {name: load(paper, name) for name in names(paper)}


def audit_checks() -> list[dict[str, Any]]:
    """The checks of data/published/audit.yaml, as `metrics.audit.audit_table` runs them."""
    return files.read_checked(Audit, paths.registry("published/audit.yaml"))["checks"]


def apart(*, same_data: bool, same_model: bool) -> str:
    """Why a figure of ours and a printed one are not comparable; empty where data and model are the
    same (X-4).
    """
    other = [what for what, same in (("data", same_data), ("model", same_model)) if not same]
    return f"not comparable: other {' and '.join(other)}" if other else ""


def beside(rows: pd.DataFrame, *, same_data: bool, same_model: bool) -> pd.DataFrame:
    """The rows with `difference` and `verdict` of their columns `value` (ours) and `published`, as
    `compare` has it.
    """
    compared = [
        compare(value, published, same_data=same_data, same_model=same_model)
        for value, published in zip(rows["value"], rows["published"], strict=True)
    ]
    out = rows.copy()
    out["difference"] = [difference for difference, _ in compared]
    out["verdict"] = [verdict for _, verdict in compared]
    return out


def compare(
    ours: float | None,
    published: float | None,
    *,
    tolerance: float = TOLERANCE,
    same_data: bool,
    same_model: bool,
) -> tuple[float | None, str]:
    """Ours minus theirs (None where one is missing) and a verdict.

    Agreement is only claimed, and only denied, where data and model are the paper's own (X-4); a
    verdict says which of the two differs, and no verdict speaks of replication. NaN counts as
    missing.
    """
    if published is None or math.isnan(published):
        return None, "nothing published"
    if ours is None or math.isnan(ours):
        return None, "no value of ours"
    difference = ours - published
    if other := apart(same_data=same_data, same_model=same_model):
        return difference, other
    # The margin keeps binary fractions such as 67.26 - 67.2 on the side decimal arithmetic puts
    # them.
    agrees = abs(difference) <= tolerance + 1e-9
    return difference, f"agrees within {tolerance:g}" if agrees else "differs"

"""Answers about persons with several attributes: is a combination more than its parts?"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frame_checks import Column
from katayori.measure.columns import Wanted, flat, taken, wanted_cluster
from katayori.metrics.interactions import pair_interactions
from katayori.metrics.intervals import NO_INTERVAL_BELOW

_VALUE = Column("flag", True, may_miss=True)
_ATTRIBUTE = Column("label", "woman")
_FIXED = Column("label", "passage-1")
TEST = "all pairs together"


def interactions(
    frame: Any,
    attributes: Sequence[str],
    *,
    value: str = "correct",
    cluster: str | None = "cluster",
    fixed: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Does the effect of one attribute depend on another? Mixed logistic models with all pairs.

    Args:
        frame: a row an answer, with the columns below.
        attributes: two columns or more: 0 and 1 (told or not), or levels of any kind.
        value: whether the answer is so, such as right; missing where it is invalid.
        cluster: what would be drawn anew in another study, such as a family of items; its answers
            share a random intercept. None: every row.
        fixed: columns of what else differs, such as the passage, as main effects.
        by: columns whose values are measured apart.

    Returns:
        by..., measure, value, n, n_invalid, clusters, ci_low, ci_high, status, kind, p, df. The
        first row of each cell, of the kind `test`, is the likelihood ratio of the model with all
        pairs against the one without (it has no interval). Then come the terms of the larger model
        in log odds with Wald intervals: those of the kinds `attribute` and `fixed`, and those of
        the kind `pair` (`age:gender`), which are what is asked for. status as in
        `logistic.mixed_logit`: `ok`, `singular` (clusters do not differ), `separation`, `constant`,
        ...; `few_clusters` (fewer than 5: no interval and no p).

    Raises:
        KatayoriError: a column that is not there or holds something else; fewer than two
        attributes.

    Reference: J. C. Pinheiro and E. C. Chao 2006 for the fit; `metrics.logistic.mixed_logit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> answers = pd.DataFrame(rng.integers(0, 2, (400, 3)), columns=["old", "woman", "right"])
        >>> answers["family"] = np.arange(400) // 10
        >>> table = interactions(answers, ["old", "woman"], value="right", cluster="family")
        >>> table[["measure", "kind", "n", "clusters"]].to_numpy().tolist()[-1]
        ['old:woman', 'pair', 400, 40]
    """
    names = [attributes] if isinstance(attributes, str) else list(attributes)
    if len(names) < 2:
        raise KatayoriError(
            f"interactions: {len(names)} attributes; name two or more columns, e.g."
            ' attributes=["old", "woman"]'
        )
    others = [fixed] if isinstance(fixed, str) else list(fixed)
    wanted = {
        "value": Wanted(value, _VALUE, "whether the answer is so"),
        "cluster": wanted_cluster(cluster),
    }
    wanted |= {_column("a", name): Wanted(name, _ATTRIBUTE, "an attribute") for name in names}
    wanted |= {_column("f", name): Wanted(name, _FIXED, "what else differs") for name in others}
    own = taken("interactions", frame, wanted, by)
    rows = []
    for key, cell in own.cells():
        rows += [key | row for row in _rows(cell, names, others)]
    return flat(rows, by, after=("kind", "p", "df"))


def _column(kind: str, name: str) -> str:
    """A name that no column of ours has: of an attribute (`a`) or of what else differs (`f`)."""
    return f"{kind} {name}"


def _rows(cell: pd.DataFrame, names: list[str], others: list[str]) -> Iterator[dict[str, Any]]:
    """The test of all pairs, and the terms but the intercept and the spread of clusters."""
    attributes = [_column("a", name) for name in names]
    data = cell.assign(value=cell["value"].astype(object).astype(float))
    test, terms = pair_interactions(data, attributes, fixed=[_column("f", one) for one in others])
    clusters = int(data.loc[data["value"].notna(), "cluster"].nunique())
    few = clusters < NO_INTERVAL_BELOW
    common = {"n": test["n"], "n_invalid": test["n_invalid"], "clusters": clusters}
    row = common | {"measure": TEST, "kind": "test", "value": test["lr"], "df": test["df"]}
    row |= {"p": np.nan if few else test["p"], "status": _status(test["status"], few)}
    yield row | {"ci_low": np.nan, "ci_high": np.nan}
    for term in terms.to_dict("records"):
        parts = str(term["term"]).split(":")
        kind = _kind_of(parts)
        if not kind:
            continue
        row = common | {"measure": ":".join(part[2:] for part in parts), "kind": kind}
        row |= {"value": term["estimate"], "status": _status(term["status"], few)}
        ends = ("p", "ci_low", "ci_high")
        yield row | {end: np.nan if few else term[end] for end in ends}


def _status(status: str, few: bool) -> str:
    return "few_clusters" if few and status in ("ok", "singular") else status


def _kind_of(parts: list[str]) -> str:
    """`pair`, `attribute` or `fixed`; empty for the intercept and the spread of clusters."""
    if parts[0].startswith(_column("f", "")):
        return "fixed"
    if not parts[0].startswith(_column("a", "")):
        return ""
    return "pair" if len(parts) > 1 else "attribute"

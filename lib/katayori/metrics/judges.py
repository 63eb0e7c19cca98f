"""Does a judge say what people say? Of one judge or several, on the same comparisons."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frames import LABEL, LABEL_OR_NONE, cells, flat, require
from katayori.metrics import label_agreement
from katayori.metrics.uncertainty import sign_test

MORE = ("n_correct", "n_missing", "p_cluster", "p_sign")


def concordance(
    frame: pd.DataFrame,
    *,
    judge: str | Sequence[str],
    people: str | Sequence[str],
    by: str | Sequence[str] = (),
    cluster: str = "question",
    baseline: str = "",
) -> pd.DataFrame:
    """The share of labels on which a judge says what a person says, averaged over the people.

    Args:
        frame: a row a comparison (or any item that is judged), labels of any kind.
        judge: column of the judge's verdict, or several; missing: no verdict, which agrees with
            nobody.
        people: column of a person's labels, or several. A missing label is left out for that
            person.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study, such as the question whose answers are
            compared.
        baseline: one of the judges, which the others are compared with.

    Returns:
        by..., measure (`concordance`, or `gain over <baseline>`), judge, value, n (labels),
        n_invalid (comparisons without a verdict of the judge; of a gain, of either), clusters,
        ci_low, ci_high (`share_interval` of all labels; a gain by t on the clusters'
        contributions), status, n_correct (labels that the judge agrees with; of a gain, more),
        n_missing (labels that are not there), p_cluster and p_sign (of a gain: each cluster's gain
        may change its sign, exact; sign test over comparisons, which takes them as independent).
        status: `ok`; `no_labels`; `no_valid_verdict`; and those of `metrics.intervals`.

    Raises:
        KatayoriError: a column that is not there; no people; a baseline that is no judge.

    Source: the logprob-judge paper, section 4.1, whose shares are pooled over comparisons.

    Example:
        >>> frame = pd.DataFrame({"question": list("aabbccddee"), "anna": list("1212121212")})
        >>> frame = frame.assign(judge=list("1211121112"), coin=list("1111122222"))
        >>> table = concordance(frame, judge=["judge", "coin"], people="anna", baseline="coin")
        >>> table[["measure", "value"]].round(2).to_numpy().tolist()
        [['concordance', 0.8], ['concordance', 0.6], ['gain over coin', 0.2]]
    """
    judges = [judge] if isinstance(judge, str) else list(judge)
    labels = [people] if isinstance(people, str) else list(people)
    if not labels:
        raise KatayoriError(
            'concordance: no column of people\'s labels; name yours, e.g. people=["anna", "ben"]'
        )
    if baseline and baseline not in judges:
        raise KatayoriError(
            f"concordance: the baseline {baseline!r} is none of the judges {', '.join(judges)};"
            f" name both, e.g. judge={[*judges, baseline]!r}"
        )
    wanted = dict.fromkeys([*judges, *labels], LABEL_OR_NONE) | {cluster: LABEL}
    names = require("concordance", frame, wanted, by)
    rows = []
    for key, cell in cells(frame, names):
        found = _rows(cell, judges, labels, cell[cluster], baseline)
        rows += [key | row for row in found]
    return flat(rows, frame, names, ["measure", "judge"], MORE)


def _rows(
    cell: pd.DataFrame,
    judges: list[str],
    people: list[str],
    cluster: pd.Series,
    baseline: str,
) -> Iterator[dict[str, Any]]:
    """A row of each judge, then a row of each gain."""
    given = cell[people].notna().to_numpy()
    number, names = pd.factorize(cluster)
    labels = label_agreement.sums_by_cluster(given, number, len(names))
    hits = {one: cell[people].eq(cell[one], axis=0).to_numpy() & given for one in judges}
    sums = {one: label_agreement.sums_by_cluster(hits[one], number, len(names)) for one in judges}
    n_labels = int(given.sum())
    common: dict[str, Any] = {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan, "n": n_labels}
    common |= {"n_missing": int((~given).sum()), "clusters": int((labels.sum(axis=1) > 0).sum())}
    for one in judges:
        invalid = cell[one].isna()
        row = common | {"measure": "concordance", "judge": one} | _standing(n_labels, invalid)
        if row["status"] == "ok":
            # Numbers for names: a person may be called as a column of the result is.
            numbered = [f"person {number}" for number in range(len(people))]
            row |= label_agreement.mean_share(sums[one], labels, numbered)
            row |= {"n_correct": int(hits[one].sum()), "status": row["ci_status"]}
        yield row
    for one in [name for name in judges if baseline and name != baseline]:
        invalid = cell[one].isna() | cell[baseline].isna()
        row = common | {"measure": f"gain over {baseline}", "judge": one}
        row |= _standing(n_labels, invalid)
        if row["status"] == "ok":
            row |= label_agreement.mean_gain(sums[one] - sums[baseline], labels)
            more = hits[one].sum(axis=1, dtype=int) - hits[baseline].sum(axis=1, dtype=int)
            row["p_sign"] = sign_test(int((more > 0).sum()), int((more < 0).sum()))
            row["status"] = row["ci_status"]
        yield row


def _standing(n_labels: int, invalid: pd.Series) -> dict[str, Any]:
    """How many comparisons have no verdict, and whether anything can be said."""
    status = "ok"
    if not n_labels:
        status = "no_labels"
    elif invalid.all():
        status = "no_valid_verdict"
    return {"n_invalid": int(invalid.sum()), "status": status}

"""Is a combination of attributes more than the sum of its parts?

Two mixed logistic models of the same answers: each attribute there or not, then all pairs as well,
both with a random intercept by cluster. Additive in log odds means that no pair is needed.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from katayori.errors import KatayoriError
from katayori.frames import LABEL, Column, cells, flat, require
from katayori.metrics.intervals import NO_INTERVAL_BELOW
from katayori.metrics.mixed_logit import SAME_FIT, mixed_logit

_VALUE = Column("flag", True, may_miss=True)
TEST = "all pairs together"
#: An attribute in a term of the model, and its level: `a0`, `C(a0)[T.old]`; a level may hold ":".
_PART = re.compile(r"(?:C\()?([af]\d+)\)?(\[T\..*?\])?(?::|$)")


def _fits(data: pd.DataFrame, nodes: int) -> tuple[dict[str, Any], pd.DataFrame]:
    """The test of all pairs of attributes together, and the terms of the larger model.

    Args:
        data: value (0 or 1, NaN where invalid), cluster, attributes (`a0`, ...) and what else
            differs (`f0`, ...), of which those of one value are left out.

    Returns:
        test: lr, df, p, status of `likelihood_ratio`, n, n_invalid; terms: the rows of
        `mixed_logit` of the larger model.
    """
    own = [code for code in data.columns[2:] if data[code].nunique() > 1]
    terms_of = [_term(data[code], code) for code in own if code[0] == "a"]
    others = [f"C({code})" for code in own if code[0] == "f"]
    main = "value ~ " + " + ".join([*terms_of, *others] or ["1"])
    pairs = "".join(f" + {one}:{other}" for one, other in combinations(terms_of, 2))
    small = mixed_logit(data, main, "cluster", nodes=nodes)
    large = mixed_logit(data, main + pairs, "cluster", nodes=nodes)
    n = int(large["n"].iloc[0])
    return likelihood_ratio(small, large) | {"n": n, "n_invalid": len(data) - n}, large


def likelihood_ratio(small: pd.DataFrame, large: pd.DataFrame) -> dict[str, Any]:
    """Likelihood-ratio test of two nested models of the same answers, from frames of `mixed_logit`.

    Returns lr = 2 (loglik of large - loglik of small), df (terms that the data determine, large
    less small), p (chi-square), status: `ok`; `no_df` where the larger model determines no more;
    else what is wrong with a term of either (`separation`, `constant`, ...), with the numbers NaN.
    ValueError for different numbers of answers.

    Example:
        >>> answers = pd.DataFrame({"asked": [0, 1] * 10, "question": np.repeat(range(5), 4)})
        >>> answers["yes"] = [0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1]
        >>> models = [f"yes ~ {terms}" for terms in ("1", "asked")]
        >>> small, large = (mixed_logit(answers, model, "question") for model in models)
        >>> found = likelihood_ratio(small, large)
        >>> round(float(found["lr"]), 2), found["df"], found["status"]
        (5.56, 1, 'ok')
    """
    if small["n"].iloc[0] != large["n"].iloc[0]:
        raise ValueError(
            f"{small['n'].iloc[0]} and {large['n'].iloc[0]} answers:"
            " compare models of the same ones"
        )
    df = int(large["estimate"].notna().sum() - small["estimate"].notna().sum())
    status = pd.concat([small, large])["status"]
    wrong = status[~status.isin(["ok", "singular", "aliased"])].tolist()
    wrong = wrong or ["no_df"] * (df < 1)
    lr: float = np.nan if wrong else 2 * (large["loglik"].iloc[0] - small["loglik"].iloc[0])
    # Near 0 the p of one degree of freedom changes with the root of the statistic.
    lr = 0.0 if lr < SAME_FIT else lr
    out = {"lr": lr, "df": np.nan if wrong else df, "p": float(chi2.sf(lr, max(df, 1)))}
    return out | {"status": wrong[0] if wrong else "ok"}


def _term(values: pd.Series, code: str) -> str:
    """0 and 1 count as they are; anything else is a level, whatever number it is coded by."""
    told = pd.api.types.is_numeric_dtype(values) and values.dropna().isin([0, 1]).all()
    return code if told else f"C({code})"


# -- the verb --------------------------------------------------------------------------------------


def interactions(
    frame: pd.DataFrame,
    attributes: Sequence[str],
    *,
    value: str,
    fixed: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    cluster: str = "question",
    nodes: int = 1,
) -> pd.DataFrame:
    """Does the effect of one attribute depend on another? Mixed logistic models with all pairs.

    Args:
        frame: a row an answer.
        attributes: two columns or more: 0 and 1 (told or not), or levels of any kind, which may be
            coded by numbers (the first in order is the reference). Those of one value are left out.
        value: column of whether the answer is so, such as right; missing where it is invalid.
        fixed: columns of what else differs, such as the passage, as main effects.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study, such as a family of items; its answers
            share a random intercept.
        nodes: of the integral over the intercepts, as in `mixed_logit`: 1 is the Laplace
            approximation; more are needed where clusters are small and differ much.

    Returns:
        by..., measure, value, n, n_invalid, clusters, ci_low, ci_high, status, kind, p, df. The
        first row of each cell, of the kind `test`, is the likelihood ratio of the model with all
        pairs against the one without (it has no interval). Then come the terms of the larger model
        in log odds with Wald intervals: those of the kinds `attribute` and `fixed`, and those of
        the kind `pair` (`age:gender`), which are what is asked for. status as in
        `mixed_logit`: `ok`, `singular` (clusters do not differ), `separation`, `constant`,
        ...; `few_clusters` (fewer than 5: no interval and no p).

    Raises:
        KatayoriError: a column that is not there or holds something else; fewer than two
        attributes.

    Source: J. C. Pinheiro and E. C. Chao 2006 for the fit; `mixed_logit`.

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
    wanted = {value: _VALUE} | dict.fromkeys([cluster, *names, *others], LABEL)
    keys = require("interactions", frame, wanted, by)
    own = {"value": value, "cluster": cluster}
    own |= {f"a{number}": name for number, name in enumerate(names)}
    own |= {f"f{number}": name for number, name in enumerate(others)}
    rows = []
    for key, cell in cells(frame, keys):
        answers = pd.DataFrame({code: cell[name] for code, name in own.items()})
        rows += [key | row for row in _rows(answers, own, nodes)]
    return flat(rows, frame, keys, ["measure"], ["kind", "p", "df"])


def _rows(cell: pd.DataFrame, names: dict[str, str], nodes: int) -> Iterator[dict[str, Any]]:
    """The test of all pairs, and the terms but the intercept and the spread of clusters."""
    data = cell.assign(value=cell["value"].astype(object).astype(float))
    test, terms = _fits(data, nodes)
    clusters = int(data.loc[data["value"].notna(), "cluster"].nunique())
    few = clusters < NO_INTERVAL_BELOW
    common = {"n": test["n"], "n_invalid": test["n_invalid"], "clusters": clusters}
    row = common | {"measure": TEST, "kind": "test", "value": test["lr"], "df": test["df"]}
    row |= {"p": np.nan if few else test["p"], "status": _status(test["status"], few)}
    yield row | {"ci_low": np.nan, "ci_high": np.nan}
    for term in terms.to_dict("records"):
        parts = _PART.findall(term["term"])
        if not parts:
            continue
        kind = "fixed" if parts[0][0][0] == "f" else "pair" if parts[1:] else "attribute"
        told = [names[code] + level.replace("[T.", "[") for code, level in parts]
        row = common | {"measure": ":".join(told), "kind": kind}
        row |= {"value": term["estimate"], "status": _status(term["status"], few)}
        ends = ("p", "ci_low", "ci_high")
        yield row | {end: np.nan if few else term[end] for end in ends}


def _status(status: str, few: bool) -> str:
    return "few_clusters" if few and status in ("ok", "singular") else status

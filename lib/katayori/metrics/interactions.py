"""Is a combination of attributes more than the sum of its parts?

Two mixed logistic models of the same answers: each attribute there or not, then all pairs as well,
both with a random intercept by cluster. Additive in log odds means that no pair is needed.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from katayori.metrics.logistic import likelihood_ratio, mixed_logit


def pair_interactions(
    frame: pd.DataFrame,
    attributes: Sequence[str],
    *,
    value: str = "value",
    cluster: str = "cluster",
    fixed: Sequence[str] = (),
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The test of all pairs of attributes together, and the terms of the larger model.

    Args:
        frame: a row an answer; value is 0 or 1, NaN where invalid.
        attributes: columns of two values each, or of levels; those of one value are left out.
        cluster: whose answers share an intercept.
        fixed: columns of what else differs, such as the passage; one of one value is left out.

    Returns:
        test: lr, df, p, status of `logistic.likelihood_ratio`, n, n_invalid; terms: the rows of
        `logistic.mixed_logit` of the larger model, a pair being `age:gender`.

    A paper's own version is hashed by stored simulations and therefore stays as it is; a test holds
    the two together.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> frame = pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=["old", "female", "value"])
        >>> frame["cluster"] = np.arange(200) // 10
        >>> test, terms = pair_interactions(frame, ["old", "female"])
        >>> test["df"], terms["term"].tolist()
        (1, ['Intercept', 'old', 'female', 'old:female', 'sd(cluster)'])
    """
    named = {name: f"a{number}" for number, name in enumerate(attributes)}
    named = {name: code for name, code in named.items() if frame[name].nunique() > 1}
    others = [name for name in fixed if frame[name].nunique() > 1]
    data = pd.DataFrame({"value": frame[value], "group": frame[cluster]})
    for name, code in named.items():
        data[code] = frame[name]
    for number, name in enumerate(others):
        data[f"f{number}"] = frame[name]
    # A number counts as it is; anything else is a level.
    terms_of = [_term(data[code], code) for code in named.values()]
    additional = [f"C(f{number})" for number in range(len(others))]
    main = "value ~ " + " + ".join([*terms_of, *additional] or ["1"])
    pairs = "".join(f" + {one}:{other}" for one, other in combinations(terms_of, 2))
    small = mixed_logit(data, main, "group")
    large = mixed_logit(data, main + pairs, "group")
    n = int(large["n"].iloc[0])
    test = likelihood_ratio(small, large) | {"n": n, "n_invalid": len(frame) - n}
    labels = {f"a{number}": str(name) for number, name in enumerate(attributes)}
    labels |= {f"f{number}": str(name) for number, name in enumerate(others)}
    terms = large.assign(term=[_named(str(term), labels, cluster) for term in large["term"]])
    return test, terms


def _term(values: pd.Series, code: str) -> str:
    two_numbers = pd.api.types.is_numeric_dtype(values) and values.nunique() == 2
    return code if two_numbers else f"C({code})"


def _named(term: str, labels: dict[str, str], cluster: str) -> str:
    """A term of the model in the user's names: `C(a0)[T.old]` becomes `age[old]`."""
    if term == "sd(group)":
        return f"sd({cluster})"
    parts = []
    for part in term.split(":"):
        bare = part.removeprefix("C(")
        code, _, level = bare.partition(")") if part.startswith("C(") else (part, "", "")
        named = labels.get(code, code)
        parts.append(named + level.replace("[T.", "["))
    return ":".join(parts)

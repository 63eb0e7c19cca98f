"""Measures for a frame of one's own: one call, one flat frame with interval and status.

Each is a verb of `katayori.metrics` or a reader of `katayori.data`. Most take a pandas frame with a
row an answer and the names of its columns (`value="is_right"`); no column of a model or a source is
needed. Tables of raters and pairs of judgements may be arrays or lists, too. What comes back has a
row a measure with

    value       the estimate; NaN where it is not defined, and `status` says why
    n           answers, pairs or labels that count
    n_invalid   those that were asked and cannot count
    clusters    what would be drawn anew in another study, such as questions or templates
    ci_low      the ends of the 95 % interval over clusters
    ci_high
    status      `ok`, or why there is no value or no interval

A frame that a function cannot take ends in a `KatayoriError` of one line: the column, what is wrong
with it, and an example of what is right.

Example:
    >>> from katayori import measure
    >>> sorted(name for name in dir(measure) if name.startswith("alpha"))
    ['alpha']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from katayori.data.sample_logs import read_log
    from katayori.metrics.agreement import alpha
    from katayori.metrics.bbq import scores, with_role
    from katayori.metrics.exchange import exchange_test, level_gaps
    from katayori.metrics.interactions import interactions
    from katayori.metrics.judges import concordance
    from katayori.metrics.kappas import cohen_kappa, fleiss_kappa
    from katayori.metrics.pairs import mcnemar, newcombe
    from katayori.metrics.position import calibrated, permuted
    from katayori.metrics.shares import difference, share
    from katayori.metrics.words import contrast

#: Each function and its module, which is loaded when the function is asked for: pandas, scipy and
#: statsmodels take a second.
_MODULES = {
    "alpha": "metrics.agreement",
    "calibrated": "metrics.position",
    "cohen_kappa": "metrics.kappas",
    "concordance": "metrics.judges",
    "contrast": "metrics.words",
    "difference": "metrics.shares",
    "exchange_test": "metrics.exchange",
    "fleiss_kappa": "metrics.kappas",
    "interactions": "metrics.interactions",
    "level_gaps": "metrics.exchange",
    "mcnemar": "metrics.pairs",
    "newcombe": "metrics.pairs",
    "permuted": "metrics.position",
    "read_log": "data.sample_logs",
    "scores": "metrics.bbq",
    "share": "metrics.shares",
    "with_role": "metrics.bbq",
}
__all__ = [
    "alpha",
    "calibrated",
    "cohen_kappa",
    "concordance",
    "contrast",
    "difference",
    "exchange_test",
    "fleiss_kappa",
    "interactions",
    "level_gaps",
    "mcnemar",
    "newcombe",
    "permuted",
    "read_log",
    "scores",
    "share",
    "with_role",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"katayori.measure has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"katayori.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

"""Measures for a frame of one's own: one call, one flat frame with interval and status.

Every function takes a pandas frame (or what makes one: a dict of lists, a list of dicts), and most
also arrays or lists. Columns can be named by keyword (`correct="is_right"`); no column of a model
or a source is needed. What comes back has a row a measure with

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
    from katayori.measure.bias import diff_bias
    from katayori.measure.exchange import exchange_test, level_gaps
    from katayori.measure.judges import concordance
    from katayori.measure.logs import read_log
    from katayori.measure.pairs import mcnemar
    from katayori.measure.places import position_free
    from katayori.measure.profiles import interactions
    from katayori.measure.raters import alpha, cohen_kappa, fleiss_kappa
    from katayori.metrics.shares import difference, newcombe, share

#: Each function and its module, of this room or of metrics. It is loaded when the function is asked
#: for: pandas, scipy and statsmodels take a second.
_MODULES = {
    "alpha": "raters",
    "cohen_kappa": "raters",
    "concordance": "judges",
    "diff_bias": "bias",
    "difference": ".metrics.shares",
    "exchange_test": "exchange",
    "fleiss_kappa": "raters",
    "interactions": "profiles",
    "level_gaps": "exchange",
    "mcnemar": "pairs",
    "newcombe": ".metrics.shares",
    "position_free": "places",
    "read_log": "logs",
    "share": ".metrics.shares",
}
__all__ = [
    "alpha",
    "cohen_kappa",
    "concordance",
    "diff_bias",
    "difference",
    "exchange_test",
    "fleiss_kappa",
    "interactions",
    "level_gaps",
    "mcnemar",
    "newcombe",
    "position_free",
    "read_log",
    "share",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"katayori.measure has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__

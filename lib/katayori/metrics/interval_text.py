"""A value with its interval, and a p value, as texts of tables and sentences."""

import math
from typing import Any


def with_interval(
    row: Any,
    digits: int = 1,
    scale: float = 100,
    signed: bool = False,
    ends: tuple[str, str] = ("ci_low", "ci_high"),
) -> str:
    """A row's `value` and interval as one text, times `scale`: "55.6 [50.1, 60.2]".

    † where its `few` is true. Only the value where there is no interval; an em dash with the
    `verdict` or else the `status`, if any, where it is undefined.

    Example:
        >>> with_interval({"value": 0.5, "ci_low": 0.25, "ci_high": 0.75})
        '50.0 [25.0, 75.0]'
        >>> with_interval({"value": float("nan"), "ci_low": 0, "ci_high": 1, "status": "constant"})
        '— (constant)'
    """
    value, low, high = (scale * row[name] for name in ("value", *ends))
    if math.isnan(value):
        told = [row.get(name) for name in ("verdict", "status")]
        reason = next((one for one in told if isinstance(one, str) and one), "")
        return f"— ({reason})" if reason else "—"
    sign = "+" if signed else ""

    def rounded(number: float) -> str:
        return f"{round(number, digits) + 0.0:{sign}.{digits}f}"  # never "-0.0"

    has_interval = not (math.isnan(low) or math.isnan(high))
    interval = f" [{rounded(low)}, {rounded(high)}]" if has_interval else ""
    return rounded(value) + interval + (" †" if row.get("few") else "")

"""What a column of a frame holds, and a look whether it does."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.errors import KatayoriError

if TYPE_CHECKING:
    import pandas as pd

#: ok: the model answered in full. truncated: cut at the token limit, never parsed as an answer.
#: refusal / filtered: the model or the provider declined. error: nothing came back that is known to
#: be an answer; asked again next time. out_of_choice is given by parsers.
OUTCOMES = ("ok", "out_of_choice", "refusal", "filtered", "truncated", "error")
#: Columns that belong to the answer: an item's column of the same name never takes their place.
OF_ANSWERS = (
    *("item_id", "model", "prompt_id", "repetition", "outcome", "answer", "source", "note", "text"),
    *("finish_reason", "completion_tokens", "created", "letter", "top", "mass", "p_status"),
    *("continuation", "sum_logp", "n_tokens", "per_token"),
)
_ROUNDING = 1e-6  # probabilities of several tokens are summed


class FrameError(KatayoriError, ValueError):
    """A frame that a metric cannot take: names the column, what is wrong and what is right."""


@dataclass(frozen=True)
class Column:
    """What a column of a shared frame holds.

    Attributes:
        holds: `label` (anything that names), `number`, `probability` (0 to 1) or `flag` (true or
            false).
        example: a value that is right, for messages.
        allowed: all values there are; empty for any.
        required: whether the frame must have it. may_miss: whether a value may be missing.
    """

    holds: str
    example: object
    allowed: tuple[object, ...] = ()
    required: bool = True
    may_miss: bool = False


def check_column(values: "pd.Series", holds: Column, where: str) -> None:
    """FrameError where a value is not what the column holds; `where` begins its line.

    Example:
        >>> import pandas as pd
        >>> check_column(pd.Series([0.2, 1.2]), Column("probability", 0.5), "column 'p'")
        Traceback (most recent call last):
        ...
        katayori.columns.FrameError: column 'p' holds 1.2 (1 of 2 rows, ...
    """
    missing = values.isna()
    if missing.any() and not holds.may_miss:
        rows = f"{missing.sum()} of {len(values)} rows, first in row {first_row(missing)}"
        raise FrameError(f"{where} is missing in {rows}; right is e.g. {holds.example!r}")
    wrong = ~missing & _wrong(values, holds)
    if not wrong.any():
        return
    right = f"e.g. {holds.example!r}"
    if holds.allowed:
        right = f"one of {', '.join(map(repr, holds.allowed))}"
    elif holds.holds == "probability":
        right = f"a number from 0 to 1, {right}"
    elif holds.holds == "flag":
        right = "True or False"
    value = values[wrong].tolist()[0]
    rows = f"{wrong.sum()} of {len(values)} rows, first in row {first_row(wrong)}"
    raise FrameError(f"{where} holds {value!r} ({rows}); right is {right}")


def _wrong(values: "pd.Series", holds: Column) -> "pd.Series":
    """Which values a column must not hold; what is missing is not looked at."""
    import pandas as pd

    if holds.allowed:
        return ~values.isin(list(holds.allowed))
    if holds.holds == "label":
        return pd.Series(False, values.index)
    if holds.holds == "flag":
        return ~values.isin([True, False])
    numbers = pd.to_numeric(values, errors="coerce")
    if pd.api.types.is_string_dtype(values) and not values.isna().all():
        return pd.Series(True, values.index)  # "0.5" is a text: it would not add up
    if holds.holds == "probability":
        return ~numbers.between(0, 1 + _ROUNDING)
    return numbers.isna()


def first_row(wrong: "pd.Series") -> int:
    """The number of the first row that is so, from 0."""
    return int(wrong.to_numpy().argmax())

"""Answers to items with three options, checked at the door, and answers beside their items.

A row of an *answers* frame is one answer beside the columns of its item (`prompting.frames`).
`THREE_OPTIONS` says what columns such a frame has and what they hold, `check_frame` looks.
Identifiers may be labels of any kind (texts, numbers). A frame without `model` or `source` counts
as one model.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from katayori.columns import (
    OF_ANSWERS as OF_ANSWERS,
    OUTCOMES as OUTCOMES,
    Column as Column,
    FrameError as FrameError,
    check_column as check_column,
    first_row,
)

if TYPE_CHECKING:
    import pandas as pd

#: What tells answers apart.
ANSWER_KEY = ("item_id", "model", "source", "prompt_id", "repetition")
#: What a frame without these columns counts as.
ONE_MODEL = {"model": "the model", "source": "none"}


def _optional(holds: str, example: object, may_miss: bool = False) -> Column:
    return Column(holds, example, required=False, may_miss=may_miss)


_ROLE = Column("label", "unknown", allowed=("biased", "counter_biased", "unknown", ""))
_PERSON = Column("label", "target", allowed=("target", "non_target", "unknown", ""), required=False)
#: Name -> what the column holds.
THREE_OPTIONS = {
    "item_id": Column("label", "q001-020-female-white"),
    "outcome": Column("label", "ok", allowed=OUTCOMES),
    "answer": Column("label", "0", may_miss=True),
    "model": _optional("label", "my-model"),
    "source": _optional("label", "recorded"),
    "prompt_id": _optional("label", "de_answer_line"),
    "repetition": _optional("number", 0),
    "mass": _optional("number", 0.98, may_miss=True),
    "category": Column("label", "age"),
    "template_id": Column("label", "age-01"),
    "context_condition": Column("label", "ambiguous"),
    "polarity": Column("label", "negative", allowed=("negative", "non_negative")),
    "label": Column("number", 2, allowed=(0, 1, 2)),
    **dict.fromkeys(("role_0", "role_1", "role_2"), _ROLE),
    **dict.fromkeys(("person_0", "person_1", "person_2"), _PERSON),
    # Probabilities that only some prompts give.
    **dict.fromkeys(("p_0", "p_1", "p_2"), _optional("probability", 0.25, may_miss=True)),
}
#: Those of them that an answer has whatever it was asked of.
_OF_ANSWER = ("item_id", "outcome", "answer")
#: What a valid answer may be.
OPTIONS = ("0", "1", "2")


# -- at the door -----------------------------------------------------------------------------------


def check_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The frame, with `model` and `source` of one model where it has none.

    Raises:
        FrameError (a KatayoriError): no frame, a column that is lacking or holds what it must not,
        a valid answer that is no option, rows given twice. The line names the column, what is
        wrong, and an example of what is right.

    Example:
        >>> import pandas as pd
        >>> check_frame(pd.DataFrame({"item_id": ["a"], "outcome": ["ok"]}))
        Traceback (most recent call last):
        ...
        katayori.columns.FrameError: frame 'three options' lacks the column 'answer'; ...
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise FrameError(
            f"frame 'three options' is a {type(frame).__name__}; give a pandas DataFrame, one row"
            " an answer"
        )
    for column, holds in THREE_OPTIONS.items():
        if column in frame:
            check_column(frame[column], holds, f"frame 'three options': column {column!r}")
        elif holds.required:
            raise FrameError(_lacks(column, holds))
    _check_options(frame)
    _check_once(frame)
    return frame.assign(**{k: v for k, v in ONE_MODEL.items() if k not in frame})


def _lacks(column: str, holds: Column) -> str:
    """One line about a column that is not there, with the way to get it."""
    line = f"frame 'three options' lacks the column {column!r}; right is e.g. {holds.example!r}"
    if column in _OF_ANSWER:
        return line
    return f"{line}; it is a column of the items: join them with frame_checks.with_items"


def _check_options(frame: "pd.DataFrame") -> None:
    """FrameError where a valid answer is none of the options."""
    wrong = (frame["outcome"] == "ok") & ~frame["answer"].isin(OPTIONS)
    if wrong.any():
        *most, last = map(repr, OPTIONS)
        raise FrameError(
            f"{wrong.sum()} ok answers are not {', '.join(most)} or {last}, e.g."
            f" {frame['answer'][wrong].iloc[0]!r} in row {first_row(wrong)}; read the texts with"
            " the paper's parser, or give them another outcome"
        )


def _check_once(frame: "pd.DataFrame") -> None:
    """FrameError where two rows have the same key."""
    key = [name for name in ANSWER_KEY if name in frame]
    twice = frame.duplicated(key)
    if twice.any():
        first = ", ".join(map(str, frame.loc[twice, key].iloc[0]))
        raise FrameError(
            f"{twice.sum()} answers are given twice, e.g. {first}; number them by repetition or"
            " keep one"
        )


# -- items beside answers --------------------------------------------------------------------------


def with_items(
    answers: "pd.DataFrame",
    items: "pd.DataFrame",
    columns: Sequence[str] = (),
    *,
    on: str = "item_id",
) -> "pd.DataFrame":
    """The answers with the columns of their items, as `papers.answers.get` gives them.

    For answers that come from elsewhere, such as a file of your own.

    Args:
        answers: a row an answer, with the id of its item in column `on`.
        items: a row an item, with item_id.
        columns: those of the items to take; they replace columns of the same name. Default, all
            that are no column of answers (`OF_ANSWERS`, probabilities and what `answers` holds).

    Returns:
        the answers in their order and with their index, the items' columns behind them.

    Raises:
        FrameError: no column of ids, an item that stands there twice, answers that belong to no
        item, a column that the items lack.

    Example:
        >>> import pandas as pd
        >>> items = pd.DataFrame({"item_id": ["a", "b"], "age": [20, 80]})
        >>> with_items(pd.DataFrame({"item_id": ["b", "a", "b"]}), items)["age"].tolist()
        [80, 20, 80]
    """
    import pandas as pd

    for frame, what, column in ((answers, "answers", on), (items, "items", "item_id")):
        if column not in frame:
            there = ", ".join(map(str, frame.columns))
            raise FrameError(f"the {what} lack the column {column!r}; columns there: {there}")
    ids = pd.Index(items["item_id"])
    if not ids.is_unique:
        raise FrameError(
            f"the ids of the items are not unique, e.g. {ids[ids.duplicated()][0]!r}; keep one row"
            " an item"
        )
    place = ids.get_indexer(answers[on])
    lost = place < 0
    if lost.any():
        what = "answers" if on == "item_id" else "verdicts"
        example = answers[on].to_numpy()[lost][0]
        raise FrameError(f"{lost.sum()} {what} belong to no item, e.g. {example}")
    taken = list(columns) or [str(name) for name in items if _is_of_item(name, answers)]
    if absent := [name for name in taken if name not in items]:
        raise FrameError(f"the items lack the column {absent[0]!r}, which the answers need")
    beside = items[taken].iloc[place].set_axis(answers.index)
    own = answers.drop(columns=[name for name in taken if name in answers])
    return pd.concat([own, beside], axis=1)


def _is_of_item(name: Any, answers: "pd.DataFrame") -> bool:
    """Whether an item's column goes beside these answers."""
    return name not in OF_ANSWERS and name not in answers

"""The frames that rooms hand to each other: declared once, checked at the door.

A row of an *answers* frame is one answer beside the columns of its item (`prompting.frames`); every
public metric starts from such a frame, or from one that another metric made of it. `FRAMES` says of
each what columns it has and what they hold, `check_frame` looks. Identifiers may be labels of any
kind (texts, numbers). A frame without `model` or `source` counts as one model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from katayori.columns import (
    OF_ANSWERS as OF_ANSWERS,
    OUTCOMES as OUTCOMES,
    Column as Column,
    FrameError as FrameError,
    check_column as check_column,
    first_row,
)
from katayori.errors import expect

if TYPE_CHECKING:
    import pandas as pd

#: What tells answers apart.
ANSWER_KEY = ("item_id", "model", "source", "prompt_id", "repetition")
#: What a frame without these columns counts as.
ONE_MODEL = {"model": "the model", "source": "none"}


@dataclass(frozen=True)
class Frame:
    """What a shared frame holds.

    Attributes:
        what: a row of it, in the plural. columns: its columns that metrics use, by name.
        options: what a valid answer may be, in the column `answer_in`; empty for anything.
        key: the columns, as far as they are there, that no two rows share; empty where they may.
    """

    what: str
    columns: dict[str, Column]
    options: tuple[str, ...] = ()
    answer_in: str = "answer"
    key: tuple[str, ...] = ()


def _optional(holds: str, example: object, may_miss: bool = False) -> Column:
    return Column(holds, example, required=False, may_miss=may_miss)


def _shares(*names: str) -> dict[str, Column]:
    """Probabilities that only some prompts give."""
    return dict.fromkeys(names, _optional("probability", 0.25, may_miss=True))


_LABEL = Column("label", "a1")
_NUMBER = Column("number", 1.5, may_miss=True)
_FLAG = Column("flag", True)
_MODEL = {"model": _optional("label", "my-model"), "source": _optional("label", "recorded")}
_ANSWER = {
    "item_id": Column("label", "q001-020-female-white"),
    "outcome": Column("label", "ok", allowed=OUTCOMES),
    "answer": Column("label", "yes", may_miss=True),
    **_MODEL,
    "prompt_id": _optional("label", "de_answer_line"),
    "repetition": _optional("number", 0),
    "mass": _optional("number", 0.98, may_miss=True),
}
_LETTER = {name: column for name, column in _ANSWER.items() if name not in ("item_id", "answer")}
_ROLE = Column("label", "unknown", allowed=("biased", "counter_biased", "unknown", ""))
_PERSON = Column("label", "target", allowed=("target", "non_target", "unknown", ""), required=False)
_THREE_OPTIONS = {
    "category": Column("label", "age"),
    "template_id": Column("label", "age-01"),
    "context_condition": Column("label", "ambiguous"),
    "polarity": Column("label", "negative", allowed=("negative", "non_negative")),
    "label": Column("number", 2, allowed=(0, 1, 2)),
    "role_0": _ROLE,
    "role_1": _ROLE,
    "role_2": _ROLE,
    "person_0": _PERSON,
    "person_1": _PERSON,
    "person_2": _PERSON,
}
_BY_PERSON = {
    "decision_question_id": Column("label", 1),
    "age": Column("label", 20),
    "gender": Column("label", "female"),
    "race": Column("label", "Asian"),
}

FRAMES: dict[str, Frame] = {
    "answers": Frame("answers", _ANSWER),
    # Answers beside the columns of their items, by the kind of item.
    "yes or no": Frame("answers", _ANSWER | _BY_PERSON | _shares("p_yes", "p_no"), ("yes", "no")),
    "three options": Frame(
        "answers",
        _ANSWER | _THREE_OPTIONS | _shares("p_0", "p_1", "p_2"),
        ("0", "1", "2"),
        key=ANSWER_KEY,
    ),
    "two options": Frame(
        "answers",
        _ANSWER
        | _shares("p_a", "p_b")
        | {
            "case_id": _LABEL,
            "category": Column("label", "age"),
            "template": Column("label", 1),
            "order": Column("label", "nb"),
            "role_a": Column("label", "neutral"),
            "role_b": Column("label", "biased"),
        },
        key=ANSWER_KEY,
    ),
    "both orders": Frame(
        "answers",
        _LETTER
        | _shares("p_A", "p_B", "p_C")
        | {
            "pair_id": _LABEL,
            "order": Column("label", "12"),
            "letter": Column("label", "A", may_miss=True),
        },
    ),
    "labelled verdicts": Frame(
        "verdicts", {"pair_id": _LABEL, "question_id": _LABEL, "task": Column("label", "writing")}
    ),
    "likelihoods": Frame(
        "scores",
        {
            "item_id": _LABEL,
            "model": Column("label", "my-model"),
            "prompt_id": Column("label", "pj_likelihood_ja"),
            "continuation": Column("label", "target_words"),
            "sum_logp": Column("number", -3.25, may_miss=True),
            "per_token": _optional("number", -1.6, may_miss=True),
        },
    ),
    # What metrics make of them.
    "values": Frame(
        "values",
        _MODEL | {"decision_question_id": Column("label", 1), "value": _NUMBER},
    ),
    "roles": Frame(
        "answers",
        {
            "template_id": Column("label", "age-01"),
            "context_condition": Column("label", "ambiguous"),
            "role": Column("label", "biased", may_miss=True),
            "correct": _FLAG,
            "has_target": _FLAG,
            **_shares("p_biased", "p_counter_biased", "p_unknown", "p_correct"),
        },
    ),
}


# -- at the door -----------------------------------------------------------------------------------


def check_frame(frame: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """The frame, with `model` and `source` of one model where `FRAMES[name]` has them and it not.

    Raises:
        FrameError (a KatayoriError): no frame, a column that is lacking or holds what it must not,
        a valid answer that is no option, rows given twice. The line names frame and column, what is
        wrong, and an example of what is right.
        KatayoriError: an unknown name.

    Example:
        >>> import pandas as pd
        >>> check_frame(pd.DataFrame({"item_id": ["a"], "outcome": ["fine"]}), "answers")
        Traceback (most recent call last):
        ...
        katayori.columns.FrameError: frame 'answers' lacks the column 'answer'; ...
    """
    import pandas as pd

    expect(name, FRAMES, "frame")
    if not isinstance(frame, pd.DataFrame):
        raise FrameError(
            f"frame {name!r} is a {type(frame).__name__}; give a pandas DataFrame, one row an"
            " answer"
        )
    declared = FRAMES[name]
    for column, holds in declared.columns.items():
        if column in frame:
            check_column(frame[column], holds, f"frame {name!r}: column {column!r}")
        elif holds.required:
            raise FrameError(_lacks(name, column, holds))
    if declared.options:
        _check_options(frame, declared)
    if declared.key:
        _check_once(frame, declared)
    one = {k: v for k, v in ONE_MODEL.items() if k in declared.columns and k not in frame}
    return frame.assign(**one)


def _lacks(name: str, column: str, holds: Column) -> str:
    """One line about a column that is not there, with the way to get it."""
    line = f"frame {name!r} lacks the column {column!r}; right is e.g. {holds.example!r}"
    if column in FRAMES["answers"].columns or name not in WITH_ITEMS:
        return line
    return f"{line}; it is a column of the items: join them with frame_checks.with_items"


#: Frames of answers that hold the columns of their items.
WITH_ITEMS = ("yes or no", "three options", "two options", "both orders")


def _check_options(frame: "pd.DataFrame", declared: Frame) -> None:
    """FrameError where a valid answer is none of the options."""
    answer = frame[declared.answer_in]
    wrong = (frame["outcome"] == "ok") & ~answer.isin(declared.options)
    if wrong.any():
        *most, last = (repr(option) for option in declared.options)
        options = f"{', '.join(most)} or {last}"
        raise FrameError(
            f"{wrong.sum()} ok answers are not {options}, e.g. {answer[wrong].iloc[0]!r} in row"
            f" {first_row(wrong)}; read the texts with the paper's parser, or give them another"
            " outcome"
        )


def _check_once(frame: "pd.DataFrame", declared: Frame) -> None:
    """FrameError where two rows have the same key."""
    key = [name for name in declared.key if name in frame]
    twice = frame.duplicated(key)
    if twice.any():
        first = ", ".join(map(str, frame.loc[twice, key].iloc[0]))
        raise FrameError(
            f"{twice.sum()} {declared.what} are given twice, e.g. {first}; number them by"
            " repetition or keep one"
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

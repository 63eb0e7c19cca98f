"""Item tables of the Nejumi leaderboard's JBBQ, as three options with roles.

The leaderboard logs a row an answer: index, category, question_index, example_id,
question_polarity, context_condition, stereotype_label, input, output, expected_output, subset.
`stereotype_label` is the option that the stereotype names for this very question: it is turned for
questions that are not negative before it is logged, and is turned no second time here. Which option
is unknown is not logged: in an ambiguous context it is the expected one; in a clear one it is the
third where the expected one is not the stereotype's, else the option whose words are unknown in an
ambiguous context of the same table. Source: scripts/evaluator/jbbq.py and
scripts/data_uploader/upload_jbbq.py of wandb/llm-leaderboard. No real table was at hand: this was
written after the source, and tried on made tables.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from katayori.errors import KatayoriError
from katayori_tools.analyses.reading import Log

#: Columns by which a table is known, and the words that one of them may hold.
NEEDED = {
    "category": (),
    "question_index": (),
    "question_polarity": ("neg", "nonneg"),
    "context_condition": ("ambig", "disambig"),
    "stereotype_label": ("0", "1", "2"),
    "input": (),
    "output": (),
    "expected_output": ("0", "1", "2"),
}
#: Parts of the data; the leaderboard counts the first.
SUBSETS = ("test", "dev")
PLACES = range(3)
ROLES = [f"role_{place}" for place in PLACES]
#: The options as the leaderboard writes them behind each question.
_OPTIONS = re.compile(r"選択肢:\s*0\.(.*),\s*1\.(.*),\s*2\.(.*)", re.DOTALL)


def is_of_table(log: Log) -> bool:
    """Whether a log has the columns of such a table.

    Example:
        >>> is_of_table(Log(pd.DataFrame(columns=[*NEEDED, "subset"])))
        True
    """
    return set(NEEDED) <= set(log.frame)


def lacking(log: Log) -> str:
    """What a table lacks that else is the leaderboard's, in words; empty for others.

    Example:
        >>> lacking(Log(pd.DataFrame(columns=[name for name in NEEDED if name != "input"])))
        ", or input, as the Nejumi leaderboard's table has it beside stereotype_label"
    """
    absent = [name for name in NEEDED if name not in log.frame]
    if "stereotype_label" in absent or not absent:
        return ""
    names = ", ".join(absent)
    return f", or {names}, as the Nejumi leaderboard's table has it beside stereotype_label"


def as_three_options(log: Log, notes: list[str]) -> Log:
    """The log with role_k, label and answer of its three options; others as they are.

    What was done goes into `notes`.

    Raises:
        KatayoriError: a word that the leaderboard does not write, or no row that it counts.
    """
    if not is_of_table(log):
        return log
    frame = _counted(log.frame, notes)
    frame = frame.assign(**{name: _words(frame, name, right) for name, right in NEEDED.items()})
    roles = _roles(frame)
    known = roles.notna().all(axis=1)
    if not known.all():
        notes.append(
            f"{(~known).sum():,} answers are left out: which option is unknown is not in the table."
        )
    # An empty text, not a missing one: a column without any answer would not be looked at.
    places = frame["output"].where(frame["output"].isin(["0", "1", "2"]), "")
    frame = frame.assign(**{name: roles[name] for name in ROLES}, answer=places)
    frame = frame.assign(label=frame["expected_output"])[known].reset_index(drop=True)
    notes.append(
        "The table is the Nejumi leaderboard's: an answer is 0, 1 or 2 in the column output and"
        " nothing else, and stereotype_label names whom the stereotype names for the question."
    )
    return replace(log, frame=frame, names={"text": "output"} | dict(log.names))


def _counted(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The rows that the leaderboard counts."""
    if "subset" not in frame:
        return frame
    subset = _words(frame, "subset", SUBSETS)
    counted = subset == SUBSETS[0]
    if not counted.any():
        raise KatayoriError(
            "column 'subset' holds no 'test', which alone counts on the leaderboard; export the"
            " table of the test answers"
        )
    if not counted.all():
        notes.append(f"{(~counted).sum():,} answers are left out: their subset is dev, not test.")
    return frame[counted].reset_index(drop=True)


def _words(frame: pd.DataFrame, name: str, right: Sequence[str]) -> pd.Series:
    """A column as texts, whole numbers without a decimal point; missing stays missing."""
    texts = frame[name].astype(object).where(frame[name].notna(), None)
    texts = texts.map(lambda one: None if one is None else re.sub(r"^(\d+)\.0$", r"\1", str(one)))
    strange = texts[~texts.isin(list(right))] if right else texts[:0]
    if len(strange):
        raise KatayoriError(
            f"column {name!r} holds {strange.iloc[0]!r:.60}; the leaderboard writes"
            f" {', '.join(right)}; is it a table of its JBBQ answers?"
        )
    return texts


def _roles(frame: pd.DataFrame) -> pd.DataFrame:
    """What each option is; missing where the unknown one cannot be told."""
    options = [_options(text) for text in frame["input"]]
    expected = frame["expected_output"].astype(int)
    biased = frame["stereotype_label"].astype(int)
    ambiguous = frame["context_condition"] == "ambig"
    if (ambiguous & (expected == biased)).any():
        row = int((ambiguous & (expected == biased)).to_numpy().argmax())
        raise KatayoriError(
            f"row {row}: the context is ambiguous, and yet expected_output is stereotype_label; is"
            " a column named wrongly?"
        )
    silent = {
        text[place]
        for text, place, is_silent in zip(options, expected, ambiguous, strict=True)
        if is_silent and text
    }
    rows = []
    for text, right, named, is_silent in zip(options, expected, biased, ambiguous, strict=True):
        unknown = {right} if is_silent else {*PLACES} - {right, named}
        if len(unknown) > 1:
            unknown = {place for place in unknown if text and text[place] in silent}
        rows.append(_named(named, unknown))
    return pd.DataFrame(rows, frame.index, ROLES)


def _named(biased: int, unknown: set[int]) -> list[Any]:
    """The roles of the three places."""
    if len(unknown) != 1:
        return [None] * len(PLACES)
    roles: list[Any] = ["counter_biased"] * len(PLACES)
    roles[biased], roles[unknown.pop()] = "biased", "unknown"
    return roles


def _options(text: Any) -> tuple[str, ...]:
    """The words of the three options behind a question; none where they are not there.

    Example:
        >>> _options("誰ですか。\\n選択肢: 0.祖父, 1.孫, 2.不明")
        ('祖父', '孫', '不明')
    """
    found = _OPTIONS.search(str(text))
    return tuple(one.strip() for one in found.groups()) if found else ()

"""What became of the requests, before any score: outcomes, numbers written, invalid texts."""

from collections.abc import Sequence

import pandas as pd

from katayori.frame_checks import FRAMES, OUTCOMES
from katayori.frames import cells, flat, require

BY = ("model", "source", "prompt")


def outcome_counts(
    frame: pd.DataFrame, *, outcome: str, by: str | Sequence[str] = ()
) -> pd.DataFrame:
    """What became of all that was asked: the share of readable answers, and each other outcome.

    Formula: value = n / (n + n_invalid), with n the answers of outcome `ok` among all that were
    asked, failed calls included.

    Args:
        frame: a row a request. outcome: the column of outcomes (`frame_checks.OUTCOMES`).
        by: columns counted apart.

    Returns:
        by..., value (0 to 1), n (readable), n_invalid, clusters, ci_low, ci_high (missing: this
        counts the requests that were made), status (`ok`), then the number of each other outcome:
        out_of_choice, refusal, filtered, truncated, error, which add up to n_invalid.

    Raises:
        FrameError: a column that is lacking, an outcome of another name.

    Source: the accounting of discrim-eval, section 6.4, whose models all answered 99 % readably.

    Example:
        >>> asked = pd.DataFrame({"model": "m", "outcome": ["ok", "ok", "refusal", "ok"]})
        >>> found = outcome_counts(asked, outcome="outcome", by="model")
        >>> found[["model", "value", "n", "n_invalid", "refusal"]].to_numpy().tolist()
        [['m', 0.75, 3, 1, 1]]
    """
    by = require("outcome_counts", frame, {outcome: FRAMES["answers"].columns["outcome"]}, by)
    rows = []
    for key, cell in cells(frame, by):
        counts = {name: int((cell[outcome] == name).sum()) for name in OUTCOMES}
        n = counts.pop("ok")
        row = {"value": n / len(cell), "n": n, "n_invalid": len(cell) - n, "status": "ok"}
        rows.append(key | row | counts)
    return flat(rows, frame, by, more=[name for name in OUTCOMES if name != "ok"])


def outcome_table(frame: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """How many answers have each outcome.

    Args:
        frame: answers, a row each, with `outcome`.
        by: the cells.

    Returns:
        by..., a column an outcome that occurs (counts), n (all answers), valid_share (of outcome
        `ok`, 0 to 1).

    Example:
        >>> frame = pd.DataFrame({"model": "m", "outcome": ["ok", "ok", "refusal", "ok"]})
        >>> outcome_table(frame, ["model"]).to_numpy().tolist()
        [['m', 3, 1, 4, 0.75]]
    """
    counts = frame.groupby([*by, "outcome"], sort=False).size().unstack("outcome", fill_value=0)
    n = counts.sum(axis=1)
    valid = counts["ok"] if "ok" in counts else 0 * n
    table = counts.assign(n=n, valid_share=valid / n)
    return table.reset_index().rename_axis(columns=None)


def answer_shares(
    frame: pd.DataFrame, by: Sequence[str] = BY, prefix: str = "option "
) -> pd.DataFrame:
    """The share of each answer among the valid ones: does a model always write the same?

    Args:
        frame: answers with `outcome` and `answer`.
        by: the cells.
        prefix: before the answers in the names of the columns.

    Returns:
        by..., a column an answer that occurs (0 to 1), n (valid answers).

    Example:
        >>> frame = pd.DataFrame({"model": "m", "outcome": "ok", "answer": ["0", "0", "1", "0"]})
        >>> answer_shares(frame, ["model"]).to_dict("records")
        [{'model': 'm', 'option 0': 0.75, 'option 1': 0.25, 'n': 4}]
    """
    valid = frame[frame["outcome"] == "ok"]
    counts = valid.groupby([*by, "answer"], sort=False).size().unstack("answer", fill_value=0)
    counts = counts.sort_index(axis=1).add_prefix(prefix)
    n = counts.sum(axis=1)
    return counts.div(n, axis=0).assign(n=n).reset_index().rename_axis(columns=None)


def commonest_invalid(
    frame: pd.DataFrame,
    by: Sequence[str] = ("model", "prompt"),
    *,
    told: Sequence[str] = ("model", "source", "prompt", "outcome", "text"),
    most: int = 2,
) -> pd.DataFrame:
    """The texts that no answer could be read from, the commonest of each cell.

    Args:
        frame: answers with `outcome` and `text`.
        by: the cells.
        told: columns that tell texts apart, and are shown.
        most: so many texts a cell.

    Returns:
        told..., times; without rows where every answer is valid.

    Example:
        >>> frame = pd.DataFrame({"model": "m", "outcome": "refusal", "text": ["no", "hm", "no"]})
        >>> commonest_invalid(frame, ["model"], told=["model", "text"]).to_numpy().tolist()
        [['m', 'no', 2], ['m', 'hm', 1]]
    """
    invalid = frame[frame["outcome"] != "ok"]
    times = invalid.groupby(list(told), sort=False).size().rename("times").reset_index()
    times = times.sort_values("times", ascending=False, kind="stable")
    return times.groupby(list(by), sort=False).head(most)

"""What the answers to one case vary with, when the case was asked in several ways."""

from collections.abc import Sequence

import pandas as pd

from katayori.frames import LABEL, LABEL_OR_NONE, FrameError, _known, not_asked, reason_of, require


def varies(
    frame: pd.DataFrame,
    *,
    value: str,
    unit: str,
    factors: Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Whether the answers to each case are all alike, and what they differ with.

    A case varies where two of its readable answers differ. It varies with a factor where two of
    them differ that agree in all other factors. The mean of `varies` is the variation rate.

    Args:
        frame: a row an answer.
        value: column of the answer, missing where it is unreadable: what stands behind a letter,
            not the letter, which has to change where a model keeps to its choice.
        unit: column that names the case.
        factors: columns of what was varied, such as the instruction and the order.
        by: columns whose values are kept apart, such as the model.

    Returns:
        a row a case of each cell of `by`: by..., unit, varies (1 or 0; missing where fewer than
        two answers are readable), with (the factors that it varies with, joined by " and "; empty
        where it varies with none alone), answers (readable ones), unreadable, status (`ok`,
        `fewer_than_two_answers`).

    Raises:
        KatayoriError: a column that is lacking or holds something else; two answers to a case with
        the same level of every factor.

    Source: the JUBAKU-v2 paper, section 4 (rate of variation); the split by factor is ours.

    Example:
        >>> answers = pd.DataFrame({"case": [1, 1, 2, 2], "order": ["nb", "bn"] * 2})
        >>> answers["reason"] = ["neutral", "neutral", "neutral", "biased"]
        >>> found = varies(answers, value="reason", unit="case", factors=["order"])
        >>> found[["case", "varies", "with"]].to_numpy().tolist()
        [[1, 0.0, ''], [2, 1.0, 'order']]
    """
    wanted = {value: LABEL_OR_NONE, unit: LABEL} | dict.fromkeys(factors, LABEL)
    keys = [*require("varies", frame, wanted, by, if_asked=True), unit]
    columns = [*keys, "varies", "with", "answers", "unreadable", "status"]
    if frame.empty:
        return not_asked(reason_of(frame), columns)
    if factors and (twice := frame.duplicated([*keys, *factors])).any():
        example = frame.loc[twice, unit].iloc[0]
        raise FrameError(
            f"varies: case {example!r:.40} has two answers with the same {', '.join(factors)}; name"
            " what tells them apart by by= or factors="
        )
    frame = frame.assign(**{value: _known(frame[value])})
    out = frame.groupby(keys, sort=False, dropna=False)[value].agg(["count", "size", "nunique"])
    told = pd.Series("", out.index)
    for factor in factors:
        others = [*keys, *(one for one in factors if one != factor)]
        apart = frame.groupby(others, sort=False, dropna=False)[value].nunique() > 1
        apart = apart.groupby(keys, sort=False, dropna=False).any().reindex(out.index)
        told = told.where(~apart, told.where(told == "", told + " and ") + factor)
    enough = out["count"] > 1
    out["varies"] = (out["nunique"] > 1).astype(float).where(enough)
    out["with"] = told
    out["answers"], out["unreadable"] = out["count"], out["size"] - out["count"]
    out["status"] = enough.map({True: "ok", False: "fewer_than_two_answers"})
    return out.reset_index()[columns]

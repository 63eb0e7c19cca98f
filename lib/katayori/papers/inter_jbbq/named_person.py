"""Which of the two persons is named, before and after the passage tells who it was.

Chance is one half of the answers that name a person, not one third, for a model that seldom says
"unknown". And one half is chance only in a symmetric design. Where the person named first is the
right answer to one question and the person named second to the other, as in the inter-JBBQ
construction (IJ-3: A for the neutral question, B for the negative one), the question alone tells
who will be right, without the sentence that is added. So what an answer to the *ambiguous* passage
would score stands beside what the answer to the *disambiguated* one does, and the difference, item
by item, is what the added sentence gives.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.papers.inter_jbbq.scores import cell_means

#: Measures of an answer towards the right person: column -> what it is.
MEASURES = {
    "lean": "letters: (right - wrong) / 2",
    "lean_p": "probabilities: (right - wrong) / 2",
    "lean_odds": "log-odds of right against wrong person",
}
_ODDS_BOUND = 1e-12


def _first_named(row: pd.Series, right: str, wrong: str) -> bool:
    places = [row["context"].find(name) for name in (right, wrong)]
    return 0 <= places[0] < places[1] or places[1] < 0 <= places[0]


def is_symmetric(items: pd.DataFrame) -> bool:
    """Whether knowing the question tells nothing about who is right in disambiguated items.

    It tells nothing if, for each question, the places of the right and of the wrong person and
    which of them the passage names first occur as often the other way round. Then right and wrong
    are as frequent for whoever reads everything but the decisive sentence.

    Args:
        items: polarity, context_condition, context, label, unknown_position, option_0 to option_2.

    Example:
        >>> items = pd.DataFrame({"polarity": "negative", "context_condition": "disambiguated",
        ...     "context": "A and B", "label": [0, 1], "unknown_position": 2,
        ...     "option_0": "A", "option_1": "B", "option_2": "unknown"})
        >>> is_symmetric(items), is_symmetric(items.head(1))
        (True, False)
    """
    clear = items[items["context_condition"] != "ambiguous"]
    options = clear[["option_0", "option_1", "option_2"]].to_numpy(object)
    right = clear["label"].to_numpy(int)
    wrong = 3 - right - clear["unknown_position"].to_numpy(int)
    rows = np.arange(len(clear))
    named = [options[rows, right], options[rows, wrong]]
    first = [
        _first_named(row, a, b) for (_, row), a, b in zip(clear.iterrows(), *named, strict=True)
    ]
    seen = pd.DataFrame({"asked": clear["polarity"].to_numpy(), "right": right, "wrong": wrong})
    seen = seen.assign(first=first)
    mirrored = seen.rename(columns={"right": "wrong", "wrong": "right"})
    mirrored = mirrored.assign(first=~seen["first"])[list(seen.columns)]
    return bool(seen.value_counts().sort_index().equals(mirrored.value_counts().sort_index()))


def with_lean(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of `with_design` plus how each answer leans to the person who is to be right.

    The right person of an ambiguous row is that of the disambiguated row of the same item and
    question.

    Returns:
        the frame plus names_later (1.0 the person who is right once the passage tells, 0.0 the
        other, NaN for unknown or invalid); lean (.5, -.5, and 0 where neither is named or the
        answer is invalid: the mean is the excess over one half, of all answers); with probabilities
        lean_p = (p right - p wrong) / 2, renormalised over the three options, and
        lean_odds = log(p right / p wrong), in which a fixed preference for a place cancels over the
        two questions of an item.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> leaning = with_lean(examples.frame())
        >>> leaning.groupby("lean").size().to_dict()
        {-0.5: 151, 0.0: 616, 0.5: 769}
    """
    clear = frame[frame["ambiguity"] == "dis"].drop_duplicates(["item", "question"])
    later = clear.set_index(["item", "question"])["label"].rename("later")
    made = frame.join(later, on=["item", "question"])
    other = 3 - made["later"] - made["unknown_position"]
    answer = pd.to_numeric(made["answer"].where(made["outcome"] == "ok"), errors="coerce")
    named = np.select([answer == made["later"], answer == other], [1.0, 0.0], np.nan)
    # An item asked in one context alone (a limit, a user's file) says nothing here.
    named = np.where(made["later"].isna(), np.nan, named)
    lean = pd.Series(np.nan_to_num(named - 0.5), made.index).where(made["later"].notna())
    made = made.assign(names_later=named, lean=lean)
    if {"p_0", "p_1", "p_2"} <= set(made.columns):
        p = made[["p_0", "p_1", "p_2"]].to_numpy(float)
        rows = np.arange(len(made))
        known = made["later"].notna().to_numpy()
        right = np.where(known, p[rows, made["later"].fillna(0).astype(int)], np.nan)
        wrong = np.where(known, p[rows, other.fillna(0).astype(int)], np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(np.maximum(right, _ODDS_BOUND) / np.maximum(wrong, _ODDS_BOUND))
            made = made.assign(lean_p=(right - wrong) / p.sum(axis=1) / 2, lean_odds=odds)
    return made.drop(columns="later")


def gains(frame: pd.DataFrame) -> pd.DataFrame:
    """What the added sentence changes: one row an item and question, disambiguated less ambiguous.

    Args:
        frame: of `with_lean`.

    Returns:
        the columns of the disambiguated rows, with each measure replaced by its difference;
        invalid where either answer is.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> round(float(gains(with_lean(examples.frame()))["lean"].mean()), 2)
        0.42
    """
    key = ["model", "source", "prompt_id", "item", "question"]
    key += [name for name in ("repetition",) if name in frame]
    measures = [name for name in MEASURES if name in frame]
    before = frame[frame["ambiguity"] == "amb"][[*key, "invalid", *measures]]
    after = frame[frame["ambiguity"] == "dis"]
    both = after.merge(before, on=key, suffixes=("", "_before"))
    changed = {name: both[name] - both[f"{name}_before"] for name in measures}
    return both.assign(**changed, invalid=both["invalid"] | both["invalid_before"])


def lean_and_gain(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Every measure in ambiguous items, in disambiguated ones, and its gain, by `by`.

    Args:
        frame: of `with_lean`.
        by: the columns that make a cell, without ambiguity.

    Returns:
        by..., measure (a key of `MEASURES`, or `names_later`), part (`ambiguous`, `disambiguated`,
        `gain`; names_later has no gain), and the columns of `cell_means`. lean and lean_p are
        shares (0: one half each), lean_odds is in log-odds, names_later a share of the answers
        that name a person (one half: chance in a symmetric design).

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> table = lean_and_gain(with_lean(examples.frame()), ["model", "source", "prompt_id"])
        >>> table.query("measure == 'lean'")[["part", "value", "n"]].round(2).to_numpy().tolist()
        [['ambiguous', -0.01, 768], ['disambiguated', 0.41, 768], ['gain', 0.42, 768]]
    """
    halves = {
        "ambiguous": frame[frame["ambiguity"] == "amb"],
        "disambiguated": frame[frame["ambiguity"] == "dis"],
    }
    tables = []
    for part, rows in (halves | {"gain": gains(frame)}).items():
        for measure in ("names_later", *MEASURES):
            absent = measure not in rows or not rows[measure].notna().any()
            if absent or (part == "gain" and measure == "names_later"):
                continue
            kind = "share" if measure == "names_later" else "mean"
            counted = rows[rows[measure].notna() | rows["invalid"]]
            tables.append(cell_means(counted, measure, by, kind).assign(measure=measure, part=part))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def items_without_place(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Share of items whose two questions together lean to the right persons, place cancelled.

    Both questions of an item show the options in one order, and the right person of one is the
    wrong person of the other. So a preference for a place adds as much to lean_odds of one question
    as it takes from the other, and their sum is free of it.

    Args:
        frame: of `with_lean`, with lean_odds.
        by: the columns that make a cell, ambiguity among them.

    Returns:
        by... and the columns of `cell_means`; value is the share of items with a positive sum (a
        sum of 0 counts one half, as no side).

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> leaning = with_lean(examples.frame())
        >>> len(items_without_place(leaning, ["model"]))  # places are not mirrored here
        0
    """
    key = [*by, "cluster", "item", *(name for name in ("repetition",) if name in frame)]
    both = frame.groupby(key, sort=False, dropna=False)
    summed = both["lean_odds"].agg(["sum", "count"]).reset_index()
    summed = summed[summed["count"] == 2]
    sign = np.sign(summed["sum"].round(12))
    return cell_means(summed.assign(sign=(sign + 1) / 2, invalid=False), "sign", by, "share")

"""What came back: texts without a verdict, letters, probabilities, reasons, criteria."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.finish_reasons import was_cut
from katayori.metrics.share_intervals import share_interval
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge.analysis.asked import BY, Asked
from katayori.papers.logprob_judge.surface_rules import copied_lines

OUTCOMES = ("truncated", "out_of_choice", "refusal", "error")
UNREAD = ("no_logprobs", "no_verdict_token", "placeholder", "not_probabilities")


@dataclass(frozen=True)
class Returned:
    """Frames of what came back.

    Attributes:
        counted: model, source, prompt, n (calls), with_reasons, invalid, a column a reason,
            mean_mass (what the three letters cover), unseen, most_unseen (outside the top 20).
        letters: model, source, prompt, A, B, C, none, n.
        reasoned: (model, kind of prompt) -> texts that hold reasons, and calls.
        criteria: of those who wrote some: model, questions, cut_off (at the limit of length),
            lines, copied_lines, mostly_copied (questions), median_lines.
    """

    counted: pd.DataFrame
    letters: pd.DataFrame
    reasoned: dict[tuple[str, str], tuple[int, int]]
    criteria: pd.DataFrame

    def copied(self, model: str) -> tuple[int, int] | None:
        """Questions whose criteria are mostly copied, and questions; None of no writer."""
        rows = self.criteria[self.criteria["model"] == model].to_dict("records")
        return (int(rows[0]["mostly_copied"]), int(rows[0]["questions"])) if rows else None


def returned(asked: Asked, keep: Keeper) -> Returned:
    """Calls counted by what became of them.

    Args:
        asked: the verdicts of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> back = returned(asked_leaning(), Kept())
        >>> back.counted["invalid"].sum(), back.letters["n"].tolist()
        (np.int64(0), [24, 24, 24, 24, 24, 24])
    """
    criteria = _criteria(asked, keep)
    counted = _counted(asked)
    keep.table("outcomes", counted)
    reasoned = _shares(asked, keep)
    _unseen(asked, keep)
    letters = _letters(asked)
    keep.table("letters", letters)
    return Returned(counted, letters, reasoned, criteria)


def _criteria(asked: Asked, keep: Keeper) -> pd.DataFrame:
    if asked.criteria.empty:
        return pd.DataFrame(columns=["model", "questions", "cut_off", "mostly_copied"])
    written = _with_copies(asked)
    sums = {
        "questions": ("item_id", "size"),
        "cut_off": ("cut", "sum"),
        "lines": ("lines", "sum"),
        "copied_lines": ("copied", "sum"),
        "mostly_copied": ("mostly", "sum"),
        "median_lines": ("lines", "median"),
    }
    about = written.groupby("model", sort=True).agg(**sums).reset_index()
    keep.table("criteria", about)
    for _, own in written.groupby("model", sort=True):
        _copied_share(asked, keep, own)
    return about


def _with_copies(asked: Asked) -> pd.DataFrame:
    """The criteria with lines, copied (lines that stand in the reference), mostly, cut."""
    questions = asked.comparisons.drop_duplicates("question_id")
    reference = questions.set_index("question_id")["reference"]
    rows = zip(asked.criteria["text"], asked.criteria["item_id"], strict=True)
    pairs = [copied_lines(text, reference[question]) for text, question in rows]
    written = asked.criteria.assign(
        lines=[lines for _, lines in pairs],
        copied=[copied for copied, _ in pairs],
        cut=asked.criteria["finish_reason"].map(was_cut).astype(bool),
    )
    half = 2 * written["copied"] >= written["lines"]
    return written.assign(mostly=(written["lines"] > 0) & half)


def _copied_share(asked: Asked, keep: Keeper, own: pd.DataFrame) -> None:
    """Keeps the share of copied lines of one writer."""
    share = share_interval(own["copied"].tolist(), own["lines"].tolist())
    keep.row(
        "LJ-7",
        "share of criteria lines that stand word for word in the reference",
        share["value"],
        model=str(own["model"].iloc[0]),
        source="recorded",
        ci=(share["ci_low"], share["ci_high"]),
        n=share["n"],
        clusters=share["clusters"],
        status=share["status"],
        unit="share",
        **asked.of_set,
    )


def _counted(asked: Asked) -> pd.DataFrame:
    columns = ["reasoned", "unseen", "outcome", "p_status", "mass"]
    cells = asked.log.groupby(["model", "source", "prompt"], sort=False)[columns]
    counted = cells.apply(_of_calls).reset_index()
    whole = counted.columns[3:-3]
    return counted.astype({str(name): int for name in whole})


def _of_calls(part: pd.DataFrame) -> pd.Series:
    outcome = part["outcome"]
    unread = part["p_status"].value_counts()
    row: dict[str, Any] = {
        "n": len(part),
        "with_reasons": int(part["reasoned"].sum()),
        "invalid": int((outcome != "ok").sum()),
    }
    row |= {name: int((outcome == name).sum()) for name in OUTCOMES}
    row |= {name: int(unread.get(name, 0)) for name in UNREAD}
    row |= {"mean_mass": part["mass"].mean(), "unseen": part["unseen"].mean()}
    return pd.Series(row | {"most_unseen": part["unseen"].max()})


def _shares(asked: Asked, keep: Keeper) -> dict[tuple[str, str], tuple[int, int]]:
    """Keeps three shares of calls; returns how many texts hold reasons."""
    log = asked.log
    shares_of = {
        "LJ-10": ("calls without a verdict", log["outcome"] != "ok"),
        "LJ-9": ("verdicts whose probability could be read", log["p_status"] == "ok"),
        "LJ-5": ("texts with a verdict that hold reasons", log["reasoned"]),
    }
    for requirement, (what, held) in shares_of.items():
        for names, part in _cells(asked, log.assign(held=held)):
            sums = part.groupby("question")["held"].agg(["sum", "size"])
            share = share_interval(sums["sum"].tolist(), sums["size"].tolist())
            keep.row(
                requirement,
                what,
                share["value"],
                ci=(share["ci_low"], share["ci_high"]),
                n=share["n"],
                clusters=share["clusters"],
                status=share["status"],
                n_invalid=int((part["outcome"] != "ok").sum()),
                unit="share",
                **names,
                **asked.of_set,
            )
    cells = log.groupby(["model", "prompt"], sort=False)["reasoned"]
    return {
        (str(key[0]), str(key[1])): (int(part.sum()), len(part))
        for key, part in ((tuple(key), part) for key, part in cells)
    }


def _cells(asked: Asked, log: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The calls of each judge and prompt, with their question."""
    question_of = asked.study.rows.set_index("item_id")["question_id"]
    log = log.assign(question=log["item_id"].map(question_of))
    for (model, source, _, prompt), part in log.groupby(BY, sort=False):
        yield {"model": model, "source": source, "cell": {"prompt": prompt}}, part


def _unseen(asked: Asked, keep: Keeper) -> None:
    for names, part in _cells(asked, asked.log.dropna(subset="unseen")):
        keep.row(
            "LJ-16",
            "probability outside the top 20 at the verdict",
            part["unseen"].mean(),
            n=len(part),
            clusters=part["question"].nunique(),
            status="description, no interval",
            unit="probability",
            **names,
            **asked.of_set,
        )


def _letters(asked: Asked) -> pd.DataFrame:
    written = asked.log.assign(letter=asked.log["letter"].fillna("none"))
    cells = written.groupby(["model", "source", "prompt", "letter"], sort=False)
    letters = cells.size().unstack("letter", fill_value=0)
    letters = letters.reindex(columns=["A", "B", "C", "none"], fill_value=0)
    letters = letters.assign(n=letters.sum(axis=1)).reset_index()
    return letters.rename_axis(columns=None)

"""Answers of simulated respondents for the examples of the docstrings. No model answered."""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from katayori import profiles
from katayori.papers import answers, get_paper
from katayori.papers.items import OwnItems
from katayori.papers.jubaku_v2 import claims, items, scores, second
from katayori.papers.jubaku_v2.analysis.asked import Asked, ask, instructions
from katayori.papers.jubaku_v2.analysis.benchmarks import Also
from katayori.papers.keeping import Kept
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts

if TYPE_CHECKING:
    from katayori.papers.jubaku_v2.analysis import Analysis


def cases() -> pd.DataFrame:
    """The first six cases of our study set, eight rows each.

    Example:
        >>> cases()["case_id"].nunique(), len(cases())
        (6, 48)
    """
    return items.load_study_jubaku().head(48)


def choices(*names: str) -> pd.DataFrame:
    """What simulated respondents choose, as `scores.with_choice` gives it.

    Example:
        >>> choices("sim-two-biased")["choice"].value_counts().index[0]
        'biased'
    """
    paper = get_paper("jubaku_v2")
    prompts = [load_prompts(paper.id)[f"ju_{number}_ja"] for number in (1, 2, 3, 4)]
    how = {"parse": paper.parse, "options": paper.options}
    log = [answers.get(cases(), prompt, names, **how) for prompt in prompts]
    return scores.with_choice(pd.concat(log, ignore_index=True))


def evidence() -> dict[str, pd.DataFrame]:
    """Neutral choices and answers of twelve invented cases, eight each, as the claims take them.

    Example:
        >>> evidence()["neutral"].mean().tolist()
        [7.0]
    """
    neutral = pd.DataFrame({"m": np.tile([6.0, 8.0], 6)})
    return {"neutral": neutral, "parsed": pd.DataFrame({"m": [8.0] * 12})}


def printed() -> dict[str, object]:
    """The evidence that the paper prints, for the checks of `claims`: published, not made up.

    Example:
        >>> printed()["published"]
        True
    """
    from katayori.data import published

    return claims.from_published(published.tables("jubaku_v2"))


def asked_first() -> Asked:
    """Six cases of our study set, asked of the simulated respondent that always answers A.

    Example:
        >>> set(asked_first().frame["letter"])
        {'A'}
    """
    paper = "jubaku_v2"
    chosen = profiles.load("recorded")
    prompts = instructions(load_prompts(paper), chosen, OwnItems())
    wanted = Wanted(models=["sim-two-first"], limit=6)
    return ask(open_study(paper, chosen, prompts, wanted), prompts, draws=20)


def also() -> Also:
    """The prompts of the other benchmarks, and forty rows of our items in the shape of BBQ.

    Example:
        >>> "ju_two_option_ja" in also().wording
        True
    """
    return Also(load_prompts("jubaku_v2"), second.study2_qa().head(40))


@cache
def analysed() -> "Analysis":
    """The analysis of `asked_first`.

    Example:
        >>> analysed().cases.counts["cases"].sum()
        np.int64(6)
    """
    from katayori.papers.jubaku_v2.analysis import analyse

    return analyse(asked_first(), Kept(), also())

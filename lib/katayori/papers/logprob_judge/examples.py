"""Verdicts of simulated judges for the examples of the docstrings. No model answered."""

from functools import cache, partial

import pandas as pd

from katayori import profiles
from katayori.papers import answers
from katayori.papers.keeping import Kept
from katayori.papers.logprob_judge import items, scores
from katayori.papers.logprob_judge.analysis import Analysis, analyse
from katayori.papers.logprob_judge.analysis.asked import Asked, ask, conditions
from katayori.papers.logprob_judge.claims import Answers, from_answers
from katayori.papers.study import Wanted, open_study
from katayori.prompting.letters import LETTERS, parse_verdict, verdicts_frame
from katayori.prompting.prompts import load_prompts

#: Prompt -> criteria, and whether reasons come first; and the judge whose verdicts stand for it.
KINDS = {
    "lj_verdict": ("no", "result_only"),
    "lj_verdict_criteria": ("yes", "result_only"),
    "lj_reason": ("no", "reason_then_result"),
    "lj_reason_criteria": ("yes", "reason_then_result"),
}
JUDGES = {"result_only": "sim-judge-leaning", "reason_then_result": "sim-judge-fair"}


def comparisons() -> pd.DataFrame:
    """The first thirty comparisons of our study set; their truth is known.

    Example:
        >>> len(comparisons())
        30
    """
    return items.load_study_judge().head(30)


def verdicts(judge: str = "sim-judge-leaning") -> pd.DataFrame:
    """What a simulated judge says of them under a prompt, a row a pair.

    Example:
        >>> verdicts()["proposed"].value_counts().sort_index().to_dict()
        {'1': 19, '2': 11}
    """
    prompt = load_prompts("logprob_judge")["lj_verdict"]
    parse = partial(parse_verdict, reason_first=False)
    asked = items.in_both_orders(comparisons())
    log = answers.get(asked, prompt, [judge], parse=parse, options=LETTERS, frame=verdicts_frame)
    return scores.judge_verdicts(log)


def of_all_prompts() -> pd.DataFrame:
    """Verdicts under four prompts: a judge that leans to a slot, and with reasons a fair one.

    Example:
        >>> of_all_prompts().groupby("prompt_id").size().to_list()
        [30, 30, 30, 30]
    """
    of = {name: verdicts(JUDGES[style]) for name, (_, style) in KINDS.items()}
    return pd.concat([frame.assign(prompt_id=name) for name, frame in of.items()])


def evidence() -> Answers:
    """The verdicts under four prompts as the claims take them; all reasons hold some text.

    Example:
        >>> evidence().tasks[0], len(evidence().prompts)
        ('all', 4)
    """
    reasons = {kind: (60, 60) for kind in KINDS.values() if kind[1] == "reason_then_result"}
    return from_answers(of_all_prompts(), comparisons(), ["truth"], KINDS, reasons=reasons)


def asked_leaning() -> Asked:
    """What the leaning judge says of twelve comparisons under all four prompts.

    Claims are drawn 19 times.

    Example:
        >>> asked_leaning().sources
        {'sim-judge-leaning': 'simulated'}
    """
    wording = load_prompts("logprob_judge")
    kinds = conditions(wording, "recorded")
    wanted = Wanted(models=["sim-judge-leaning"], limit=12, shown="each")
    prompts = list(kinds.values())
    study = open_study("logprob_judge", profiles.load("recorded"), prompts, wanted)
    return ask(study, wording, kinds, draws=19)


@cache
def analysis_leaning() -> Analysis:
    """What notebook 03 computes of these verdicts.

    Example:
        >>> len(analysis_leaning().agreeing.gains)
        6
    """
    return analyse(asked_leaning(), Kept())

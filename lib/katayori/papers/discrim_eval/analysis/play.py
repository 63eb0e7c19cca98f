"""What the playground and the explorer of notebook 01 show: frames, no pictures."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from katayori.metrics import agreement, rank_tests, response
from katayori.metrics.exchange_tests import exchange_test
from katayori.papers.discrim_eval.analysis.asked import QUESTION, Asked

GENDERS = ["female", "male", "non-binary"]
#: Combinations of the other attributes: 9 ages and 5 races.
ROWS = 45
DRAWS = 199


@dataclass(frozen=True)
class Played:
    """A planted respondent.

    Attributes:
        shares: of (questions that favour women, the others, all), level, value, ci_low, ci_high:
            shares of yes. statistics: statistic, value.
    """

    shares: pd.DataFrame
    statistics: pd.DataFrame


def planted_decisions(bias: float, noise: float, questions: int, *, seed: int) -> Played:
    """A respondent that favours women on every other question, and men on the rest.

    Args:
        bias: log odds between women and men. noise: how far an answer strays. questions: how many.
        seed: of all draws.

    Example:
        >>> fair = planted_decisions(0.0, 0.0, 4, seed=1)
        >>> fair.statistics["statistic"].iloc[0]
        "Krippendorff's alpha"
    """
    rng = np.random.default_rng(seed)
    side = np.resize([1, -1], questions)
    lean = bias / 2 * side[:, None] * np.array([1, -1, 0])
    leaning = rng.normal(0, 1, questions)[:, None] + lean
    strayed = noise * rng.logistic(size=(questions, ROWS, len(GENDERS)))
    yes = (leaning[:, None, :] + strayed > 0).astype(float)
    groups = {"they favour women": yes[side > 0], "they favour men": yes[side < 0], "all": yes}
    points = [
        (f"{name}: {gender}", share, np.nan, np.nan)
        for name, part in groups.items()
        for gender, share in zip(GENDERS, part.mean(axis=(0, 1)), strict=True)
    ]
    shares = pd.DataFrame(points, columns=["level", "value", "ci_low", "ci_high"])
    return Played(shares.assign(model="planted"), _statistics(yes, seed))


def _statistics(yes: np.ndarray, seed: int) -> pd.DataFrame:
    """What each method says of answers: questions x rows x levels."""
    index = pd.MultiIndex.from_product(
        [range(yes.shape[0]), range(ROWS)], names=["question", "row"]
    )
    table = pd.DataFrame(yes.reshape(-1, len(GENDERS)), index, GENDERS)
    answers = table.reset_index().melt(["question", "row"], var_name="gender")
    columns = {"level": "gender", "row": "row", "question": "question"}
    exchanged = exchange_test(answers, **columns, draws=DRAWS, seed=seed).set_index("test")["p"]
    inside = np.array([rank_tests.kruskal_wallis(one)["p"] for one in yes])
    rows = {
        "Krippendorff's alpha": agreement.krippendorff_alpha(table)["alpha"],
        "exchange test, any effect: p": exchanged["any_effect"],
        "exchange test, common direction: p": exchanged["common_direction"],
        "Kruskal-Wallis over all questions: p": rank_tests.kruskal_wallis(table)["p"],
        "questions with Kruskal-Wallis p < .05": float((inside < 0.05).mean()),
    }
    return pd.DataFrame(rows.items(), columns=["statistic", "value"])


@dataclass(frozen=True)
class LookedUp:
    """One model, factor and question.

    Attributes:
        prompt: its first filled prompt. shares: level, model, value, ci_low, ci_high.
            test: in words. replies: outcome, answer, text; a row a prompt.
    """

    prompt: str
    shares: pd.DataFrame
    test: str
    replies: pd.DataFrame


def look_up(asked: Asked, tests: pd.DataFrame, model: str, factor: str, question: int) -> LookedUp:
    """The answers of one model to one question, by the levels of one factor.

    Args:
        asked: the answers of a run. tests: of `rank_tests.decision_tests`.
        model, factor, question: what to look up.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> fair = asked_fair()
        >>> tests = rank_tests.decision_tests(fair.values)[0]
        >>> question = fair.catalogue["decision_question_id"].iloc[0]
        >>> len(look_up(fair, tests, "sim-fair", "race", question).shares)
        5
    """
    here = (asked.values["model"] == model) & (asked.values[QUESTION] == question)
    answers = asked.values[here]
    items = asked.study.items
    prompt = items.loc[items[QUESTION] == question, "filled_template"].iloc[0]
    ratios = response.ratios_by_factor(answers, by=[QUESTION])
    shares = ratios[ratios["factor"] == factor].rename(columns={"ratio": "value"})
    of_test = tests[(tests["model"] == model) & (tests[QUESTION] == question)]
    row = of_test[of_test["factor"] == factor].iloc[0]
    words = (
        f"{factor.replace('_', ' x ')}: H {row['H']:.2f}, p {row['p_raw']:.4f}, after Holm"
        f" {row['p_holm']:.4f} ({row['status']}); n {row['n']}; {row['source']} answers"
    )
    replies = answers[["outcome", "answer", "text"]]
    return LookedUp(str(prompt), shares, words, replies)

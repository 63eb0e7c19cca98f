"""What the methods see in respondents whose behaviour is known."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from katayori import paths
from katayori.metrics.share_intervals import clopper_pearson
from katayori.papers import answers, get_paper
from katayori.papers.claims import Claim, check_claims, verdict_of
from katayori.papers.inter_jbbq import items as inter_jbbq, scores, simulated
from katayori.papers.inter_jbbq.analysis.asked import DIGITS
from katayori.papers.keeping import Keeper
from katayori.prompting.prompts import Prompt

PAPER = "inter_jbbq"
FAIR = "sim-inter-fair"
ADDITIVE = "sim-inter-additive"
INTERACTING = "sim-inter-interaction"
ALPHA = 0.05


@dataclass(frozen=True)
class Planted:
    """Simulated respondents, measured.

    Attributes:
        log: their answers. accuracy: `scores.by_topic` with `planted` (the truth) and inside
            (`yes`, `no`, `no interval`). trend: `scores.trend`. tests: `scores.interactions`.
        claims: of `check_claims`.
    """

    log: pd.DataFrame
    accuracy: pd.DataFrame
    trend: pd.DataFrame
    tests: pd.DataFrame
    claims: pd.DataFrame


def simulated_power(keep: Keeper) -> pd.DataFrame:
    """How often the test of pairs says "interaction" of 200 sets of answers.

    Returns:
        model, topic, share, n, not_testable, items, ci_low, ci_high: false positives of the
        additive respondent, power for the other.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> simulated_power(Kept())[["topic", "n"]].head(1).to_numpy().tolist()
        [['housing', 200]]
    """
    draws = pd.read_csv(paths.data_dir() / "simulated" / "inter_interaction.csv")
    positive = (draws["p"] < ALPHA).astype(float).where(draws["p"].notna())
    draws = draws.assign(positive=positive, failed=draws["status"] != "ok")
    grouped = draws.groupby(["model", "topic"])
    rates = grouped.agg(
        share=("positive", "mean"),
        n=("positive", "count"),
        not_testable=("failed", "sum"),
        items=("n", "first"),
    ).reset_index()
    ends = [clopper_pearson(s * n, n) for s, n in zip(rates["share"], rates["n"], strict=True)]
    rates = rates.assign(ci_low=[low for low, _ in ends], ci_high=[high for _, high in ends])
    keep.table("interaction_simulated", rates)
    counted = rates.rename(columns={"not_testable": "n_invalid"}).assign(clusters=rates["n"])
    common: dict[str, Any] = {"value": "share", "cell": ["topic"], "unit": "share"}
    common |= {"source": "simulated", "dataset": inter_jbbq.study_version()}
    what = "share of draws with p < .05 of the interaction test"
    keep.rows(counted, "X-3", what, **common)
    return rates


def planted(items: pd.DataFrame, prompt: Prompt, keep: Keeper, *, seed: int) -> Planted:
    """The measures of notebook 05 on simulated respondents.

    Args:
        items: whole families. prompt: what the respondents answer. keep: takes tables and results.
        seed: of the exchanges.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import study_additive
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.prompting.prompts import load_prompts
        >>> basic = load_prompts("inter_jbbq")["ij_basic_ja"]
        >>> seen = planted(study_additive().items, basic, Kept(), seed=0)
        >>> seen.claims["verdict"].iloc[0]
        'holds'
    """
    log = answers.get(items, prompt, get_paper(PAPER).simulated(), **DIGITS)
    frame = scores.with_design(log)
    accuracy = keep.table("planted_accuracy", _beside_truth(items, frame))
    trend = keep.table("planted_trend", scores.trend(frame, seed=seed))
    tests, _ = scores.interactions(frame[frame["ambiguity"] == "amb"])
    keep.table("planted_interactions", tests)
    parts = [
        check_claims([Claim("X-3", statement, check)], table, draws=0)
        for table, made in ((trend, TREND_CLAIMS), (tests, PAIR_CLAIMS))
        for statement, check in made
    ]
    dataset = inter_jbbq.study_version()
    claims = keep.claims(pd.concat(parts), source="simulated", dataset=dataset)
    return Planted(log, accuracy, trend, tests, claims)


def _beside_truth(items: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Measured accuracy beside the planted one, by topic."""
    rows_of: dict[Any, Any] = items.set_index("item_id").to_dict("index")
    chance = [
        simulated.inter_chances(model, rows_of[item])[rows_of[item]["label"]]
        for model, item in zip(frame["model"], frame["item_id"], strict=True)
    ]
    measured = scores.by_topic(frame)
    truth = scores.by_topic(frame.assign(chance=chance), "chance")["value"]
    inside = truth.between(measured["ci_low"], measured["ci_high"]).map({True: "yes", False: "no"})
    return measured.assign(
        planted=truth, inside=inside.where(measured["ci_low"].notna(), "no interval")
    )


def _counted(tests: pd.DataFrame, model: str, wanted: bool, ambiguity: str) -> tuple[str, str]:
    """Whether tests of a respondent find something, where they must or must not."""
    rows = tests[tests["model"] == model]
    if ambiguity:
        rows = rows[rows["ambiguity"] == ambiguity]
    tested = rows.dropna(subset=["p_holm"])
    n = int((tested["p_holm"] < ALPHA).sum())
    return verdict_of((n > 0) == wanted, f"{n} of {len(tested)} tests below .05 after Holm")


def _finds(model: str, ambiguity: str = "") -> Callable[[pd.DataFrame], tuple[str, str]]:
    return partial(_counted, model=model, wanted=True, ambiguity=ambiguity)


def _finds_nothing(model: str, ambiguity: str = "") -> Callable[[pd.DataFrame], tuple[str, str]]:
    return partial(_counted, model=model, wanted=False, ambiguity=ambiguity)


TREND_CLAIMS = (
    ("no trend where none was planted", _finds_nothing(FAIR)),
    ("a trend in ambiguous items where each attribute takes its part", _finds(ADDITIVE, "amb")),
    ("no trend of that respondent where the passage tells", _finds_nothing(ADDITIVE, "dis")),
)
PAIR_CLAIMS = (
    ("an interaction where it was planted", _finds(INTERACTING)),
    ("no interaction where parts add up", _finds_nothing(ADDITIVE)),
    ("no interaction where attributes do not matter", _finds_nothing(FAIR)),
)

"""One attribute more (flips, spread over subsets) and pairs of attributes (interactions)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.papers.inter_jbbq import interaction_tests, option_slots, scores
from katayori.papers.inter_jbbq.analysis.asked import BY, BY_PROMPT, Asked, of
from katayori.papers.inter_jbbq.analysis.words import with_p
from katayori.papers.inter_jbbq.subset_spread import subset_spread
from katayori.papers.keeping import Keeper

BY_TOPIC = [*BY, "topic"]
#: The log-odds from a share of .01 to one of .99.
WHOLE_RANGE = 2 * math.log(99)
#: What of two items is kept beside the question: in words -> the column that says so.
KEPT = {"all pairs": "", "same order": "same_order", "clean": "clean"}


@dataclass(frozen=True)
class Flips:
    """How often the choice changes when one attribute is added.

    Attributes:
        n_pairs, n_same_order, n_clean: of one model and prompt, negative questions to ambiguous
            passages. of_all: rates by model and prompt.
            between: how often families of a passage differ whose options stand in another order.
            Frames are empty, counts 0, where items come without families; `between` also where
            the order of the options is drawn item by item.
    """

    n_pairs: int
    n_same_order: int
    n_clean: int
    of_all: pd.DataFrame
    between: pd.DataFrame


@dataclass(frozen=True)
class Interactions:
    """Whether pairs of attributes are more than their sum.

    Attributes:
        tests: likelihood-ratio tests, doubles counted once. terms: of the larger models. told: by
            model, prompt and topic: tests done and what they would have detected.
    """

    tests: pd.DataFrame
    terms: pd.DataFrame
    told: pd.DataFrame


def flips(asked: Asked, keep: Keeper) -> Flips:
    """Computes and keeps the flips of all pairs, of pairs in the same order, and of clean ones.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> found = flips(asked_additive(), Kept())
        >>> found.n_pairs > found.n_same_order > found.n_clean > 0
        True
    """
    pairs = scores.flips(asked.frame)
    if pairs.empty:
        return Flips(0, 0, 0, pairs, pairs)
    pairs["prompt"] = pairs["prompt_id"].map(asked.named_prompts)
    common: dict[str, Any] = {"dataset": asked.dataset, "unit": "share"}
    common |= {"cell": ["topic", "added", "ambiguity", "prompt", "pairs"]}
    what = "answers that change when one attribute is added"
    by_topic = keep.table("flips", _rates(pairs, [*BY, "topic", "added"]))
    keep.rows(by_topic, "IJ-18", what, **common)
    of_all = _rates(pairs, BY)
    keep.rows(of_all.assign(topic="pooled", added="any"), "IJ-18", what, **common)
    keep.table("flips_by_attribute", _rates(pairs, [*BY, "added"]))
    first = pairs.iloc[0]
    one = pairs[(pairs["model"] == first["model"]) & (pairs["prompt_id"] == first["prompt_id"])]
    one = one[(one["ambiguity"] == "amb") & (one["question"] == "negative")]
    return Flips(
        n_pairs=len(one),
        n_same_order=int(one["same_order"].sum()),
        n_clean=int(one["clean"].sum()),
        of_all=of_all,
        between=_between(asked, keep),
    )


def _between(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """How often families of a passage are answered differently; empty for shuffled items."""
    if not asked.counterbalanced:
        return pd.DataFrame()
    pairs = option_slots.between_families(asked.frame)
    pairs["prompt"] = pairs["prompt_id"].map(asked.named_prompts)
    found = keep.table("between_families", scores.cell_means(pairs, "flip", BY))
    common: dict[str, Any] = {"cell": ["ambiguity", "prompt"], "unit": "share"}
    what = "answers that differ between families of a passage, other order of options (addition)"
    keep.rows(found, "IJ-18", what, dataset=asked.dataset, **common)
    return found


def _rates(pairs: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    made = []
    for name, column in KEPT.items():
        some = pairs[pairs[column]] if column else pairs
        if len(some):
            made.append(scores.cell_means(some, "flip", by).assign(pairs=name))
    return pd.concat(made, ignore_index=True)


def spread(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """How far apart the accuracies of subsets lie (`subset_spread` with p after Holm).

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> spread(asked_additive(), Kept())["subsets"].tolist()
        [31, 31, 31, 31]
    """
    by_subset = scores.cell_means(asked.frame, by=[*BY_TOPIC, "subset"])
    keep.table("accuracy_by_subset", by_subset)
    found = subset_spread(asked.of_models, BY_TOPIC, draws=asked.draws, seed=asked.seed)
    found = keep.table("spread", scores.with_holm(found))
    common: dict[str, Any] = {"cell": ["topic", "ambiguity", "prompt"], "unit": "share"}
    told = found.assign(verdict=with_p(found))
    keep.rows(told, "IJ-18", "SD of accuracy over subsets", dataset=asked.dataset, **common)
    return found


def interactions(
    asked: Asked, keep: Keeper, power: "pd.Series[float] | None" = None
) -> Interactions:
    """Tests whether all pairs of attributes are needed beside the attributes; keeps the tests.

    Args:
        asked: the answers of a run. keep: takes tables and results.
        power: by topic, how often the test found a planted pair.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> analysis_additive().interactions.tests["df"].unique().tolist()
        [10]
    """
    tests, terms = scores.interactions(asked.of_models, by=[*BY_TOPIC, "question"])
    tests = interaction_tests.counted_once(tests, asked.frame, BY_TOPIC)
    key = [*BY_TOPIC, "question"]
    sizes = asked.frame.groupby(key)["cluster"].nunique().rename("clusters")
    tests = keep.table("interactions", tests.join(sizes, on=key))
    keep.table("interaction_terms", terms)
    _keep_tests(asked, keep, tests)
    told = interaction_tests.detectable_pairs(tests, terms, [*BY_PROMPT, "topic"])
    told = told.assign(power_simulated=told["topic"].map({} if power is None else power))
    keep.table("interaction_power", told)
    _keep_power(asked, keep, told)
    return Interactions(tests=tests, terms=terms, told=told)


def _keep_tests(asked: Asked, keep: Keeper, tests: pd.DataFrame) -> None:
    status = tests["status"].where(tests["status"] != "ok", "likelihood_ratio_test")
    told = tests.assign(verdict=with_p(tests), status=status)
    common: dict[str, Any] = {"cell": ["topic", "ambiguity", "question", "prompt"], "value": "lr"}
    what = "likelihood-ratio test of pairs of attributes (addition)"
    keep.rows(told, "IJ-18", what, dataset=asked.dataset, unit="chi-square", **common)


def _keep_power(asked: Asked, keep: Keeper, told: pd.DataFrame) -> None:
    known = told["pair_detectable"].notna()
    status = known.map({True: "detectable_effect", False: "not_tested"})
    rows = told.rename(columns={"not_testable": "n_invalid"})
    rows = rows.assign(n=told["tested"], status=status)
    common: dict[str, Any] = {"cell": ["topic", "prompt"], "value": "pair_detectable"}
    what = "log-odds of a pair that its own test would find in four of five studies"
    keep.rows(rows, "IJ-18", what, dataset=asked.dataset, unit="log-odds", **common)


def tested(found: Interactions, models: list[str]) -> str:
    """How many tests of pairs were done, and what they would have found: two sentences.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> tested(analysis_additive().interactions, ["sim-inter-additive"]).split(";")[0]
        '8 tests of pairs could be done'
    """
    told = of(found.told, models)
    n_found = int((of(found.tests, models)["p_holm"] < 0.05).sum())
    counted = (
        f"{told['tested'].sum()} tests of pairs could be done; {n_found} lie below .05 after Holm."
    )
    sizes = told["pair_detectable"].dropna()
    if sizes.empty:
        statuses = of(found.tests, models)["status"]
        reasons = statuses[statuses != "ok"].value_counts()
        reasons.index = reasons.index.str.replace("_", " ")
        named = ", ".join(f"{n} {status}" for status, n in reasons.items())
        return (
            f"{counted} No effect of a pair is determined by these answers ({named}: nearly every"
            " family answers alike throughout), so nothing is ruled out."
        )
    if sizes.min() > WHOLE_RANGE:
        return (
            f"{counted} Even a pair that moves a share from 1 to 99 % ({WHOLE_RANGE:.1f} log-odds)"
            " would be missed; nothing is ruled out."
        )
    return (
        f"{counted} A pair would have to reach {sizes.min():.1f} to {sizes.max():.1f} log-odds"
        " to be found in four of five studies; a smaller one is not ruled out."
    )

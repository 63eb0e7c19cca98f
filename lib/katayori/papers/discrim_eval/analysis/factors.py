"""Alpha, the tests of each factor, level gaps, and the words that mean nothing (section 9)."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import agreement, factor_tests
from katayori.papers import limits
from katayori.papers.discrim_eval import level_gaps, mere_words, word_sets, wordings
from katayori.papers.discrim_eval.analysis import repeated
from katayori.papers.discrim_eval.analysis.asked import Asked, without_interval
from katayori.papers.keeping import Keeper


@dataclass(frozen=True)
class Factors:
    """Frames of the tests of factors; columns as the functions named have them.

    Attributes:
        alpha: `agreement.alpha_by_factor` of sampled answers. alpha_noiseless:
            `agreement.alpha_without_noise`. alpha_repeated: `repeated.alpha_repeated`.
        tests, tests_probability: `factor_tests.factor_tests`.
        pairs, pairs_probability: `agreement.alpha_pairs_by_factor`. gaps: `level_gaps` of P(yes)
            beside the blank. gaps_sampled: of sampled answers. limits: `limits.brief`.
            words: `mere_words.beside_mere_words`. word_ranks: `word_sets.rank_among_sets`.
            wordings: `wordings.beside_wordings`.
    """

    alpha: pd.DataFrame
    alpha_noiseless: pd.DataFrame
    alpha_repeated: pd.DataFrame
    tests: pd.DataFrame
    tests_probability: pd.DataFrame
    pairs: pd.DataFrame
    pairs_probability: pd.DataFrame
    gaps: pd.DataFrame
    gaps_sampled: pd.DataFrame
    limits: pd.DataFrame
    words: pd.DataFrame
    word_ranks: pd.DataFrame
    wordings: pd.DataFrame


def factors(asked: Asked, keep: Keeper) -> Factors:
    """All that is said of a factor over all questions.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> found = factors(asked_fair(), Kept())
        >>> found.alpha["factor"].tolist()
        ['age', 'gender', 'race', 'gender_race']
    """
    alpha, noiseless = _alphas(asked, keep)
    tests, tests_probability = _factor_tests(asked, keep)
    pairs, pairs_probability = _pairs(asked, keep)
    _self_pairs(asked, keep, alpha)
    held = asked.shown if asked.own_design else []
    blank = mere_words.recorded_blank(asked.prefix, held)
    gaps, gaps_sampled = _gaps(asked, keep, blank)
    return Factors(
        alpha=alpha,
        alpha_noiseless=noiseless,
        alpha_repeated=repeated.alpha_repeated(asked, keep),
        tests=tests,
        tests_probability=tests_probability,
        pairs=pairs,
        pairs_probability=pairs_probability,
        gaps=gaps,
        gaps_sampled=gaps_sampled,
        limits=_limits(asked, keep),
        words=_words(asked, keep, blank),
        word_ranks=_word_ranks(asked, keep, held),
        wordings=_wordings(asked, keep, gaps, held),
    )


def _alphas(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Alpha of sampled answers, and alpha without the noise of sampling."""
    alpha = keep.table("alpha", agreement.alpha_by_factor(asked.values))
    what = "Krippendorff's alpha, sampled"
    common: dict[str, Any] = {"value": "alpha", "cell": ["factor"]}
    keep.rows(alpha, "DE-24", what, headline=True, **common, **asked.of_line)
    noiseless = agreement.alpha_without_noise(asked.values, asked.probabilities)
    keep.table("alpha_probability", noiseless)
    for by, part in noiseless.groupby("by", sort=False):
        if by == "P(yes)":
            what = "Krippendorff's alpha, probability"
            keep.rows(part, "DE-24", what, **common, **asked.of_prefix)
        else:
            what = "Krippendorff's alpha, from repeated answers"
            keep.rows(part, "DE-24", what, **common, **asked.of_line)
    return alpha, noiseless


def _self_pairs(asked: Asked, keep: Keeper, alpha: pd.DataFrame) -> None:
    """Alpha as the paper's text reads literally: a value pairs with itself, too."""
    literal = agreement.alpha_by_factor(asked.values, weights="n_i_self_pairs")
    variants = alpha[["model", "source", "factor", "alpha", "band"]].assign(
        alpha_n_i_self_pairs=literal["alpha"],
        ci_low=literal["ci_low"],
        ci_high=literal["ci_high"],
        band_n_i_self_pairs=literal["band"],
        status=literal["status"],
        n=alpha["n"],
        n_invalid=alpha["n_invalid"],
        clusters=alpha["clusters"],
    )
    what = "Krippendorff's alpha, pairs weighted by 1/n"
    common: dict[str, Any] = {"value": "alpha_n_i_self_pairs", "cell": ["factor"]}
    keep.rows(variants, "DE-23", what, **common, **asked.of_line)
    keep.table("alpha_variants", variants)


def _factor_tests(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The exchange tests of sampled answers and of P(yes)."""
    how = {"draws": asked.draws, "seed": asked.seed}
    sampled = keep.table("factor_tests", factor_tests.factor_tests(asked.values, **how))
    probability = factor_tests.factor_tests(asked.probabilities, **how)
    keep.table("factor_tests_probability", probability)
    common: dict[str, Any] = {"value": "p_holm", "cell": ["factor", "test"], "unit": "p"}
    what = "exchange test of a factor, p after Holm, sampled"
    keep.rows(without_interval(sampled), "DE-24", what, **common, **asked.of_line)
    what = "exchange test of a factor, p after Holm, probability"
    keep.rows(without_interval(probability), "DE-24", what, **common, **asked.of_prefix)
    return sampled, probability


def _pairs(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Alpha of every pair of levels."""
    of_models = asked.probabilities[asked.probabilities["source"] != "simulated"]
    sampled = keep.table("alpha_pairs", agreement.alpha_pairs_by_factor(asked.values))
    probability = agreement.alpha_pairs_by_factor(of_models)
    keep.table("alpha_pairs_probability", probability)
    common: dict[str, Any] = {"value": "alpha", "cell": ["factor", "level_1", "level_2"]}
    what = "Krippendorff's alpha of a pair, sampled"
    keep.rows(sampled, "DE-24", what, **common, **asked.of_line)
    what = "Krippendorff's alpha of a pair, probability"
    keep.rows(probability, "DE-24", what, **common, **asked.of_prefix)
    return sampled, probability


def _gaps(asked: Asked, keep: Keeper, blank: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The gap between levels, in P(yes) beside the blank, and in sampled answers."""
    sampled = level_gaps.level_gaps(asked.values)
    gaps = level_gaps.beside_blank(level_gaps.level_gaps(asked.probabilities), blank)
    both = [gaps.assign(read_by="P(yes)"), sampled.assign(read_by="sampled")]
    keep.table("level_gaps", pd.concat(both, ignore_index=False))
    common: dict[str, Any] = {"cell": ["factor"], "unit": "probability", "headline": True}
    what = "gap between levels, P(yes) (addition)"
    keep.rows(gaps, "DE-24", what, **common, **asked.of_prefix)
    what = "gap between levels, sampled (addition)"
    keep.rows(sampled, "DE-24", what, **common, **asked.of_line)
    return gaps, sampled


def _limits(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """What the tests could have found; drawn for the recorded models and our own design only."""
    if not asked.own_design:
        return pd.DataFrame()
    return keep.table("limits_of_detection", limits.brief(limits.limits("discrim_eval")))


def _words(asked: Asked, keep: Keeper, blank: pd.DataFrame) -> pd.DataFrame:
    """The attributes beside words that mean nothing."""
    beside = mere_words.beside_mere_words(asked.probabilities, blank, seed=asked.seed)
    what = "how many times as much as mere words an attribute moves the log odds of yes"
    common: dict[str, Any] = {"cell": ["factor"], "unit": "ratio of squared log odds"}
    keep.rows(beside.assign(source="recorded"), "DE-24", what, **common, **asked.of_prefix)
    return keep.table("mere_words", beside)


def _word_ranks(asked: Asked, keep: Keeper, held: list[str]) -> pd.DataFrame:
    """The rank of each attribute among ten sets of such words."""
    sets = word_sets.recorded_sets(asked.prefix, held)
    ranks = keep.table("word_sets", word_sets.rank_among_sets(asked.probabilities, sets))
    kept = ranks.assign(
        source="recorded",
        n=ranks["n_sets"],
        unit="rank",
        status=ranks["status"].replace("ok", "a rank"),
    )
    what = "rank of an attribute among ten sets of meaningless words (addition)"
    keep.rows(kept, "DE-24", what, value="rank", cell=["factor"], **asked.of_prefix)
    return ranks


def _wordings(asked: Asked, keep: Keeper, gaps: pd.DataFrame, held: list[str]) -> pd.DataFrame:
    """The gaps of P(yes) without pronouns, and with "no" named first."""
    reworded = wordings.recorded_wordings(held)
    table = wordings.beside_wordings(asked.probabilities, reworded, gaps, seed=asked.seed)
    asked_by = pd.DataFrame(wordings.WORDINGS, index=["dataset", "prompt_id"]).T
    kept = table.assign(source="recorded").join(asked_by, on="wording")
    what = "change of a gap of P(yes) with the wording (addition)"
    keep.rows(kept, "DE-24", what, cell=["factor", "wording"], unit="log odds")
    return keep.table("wordings", table)


def significant(tests: pd.DataFrame, kind: str, models: list[str]) -> list[str]:
    """One line a model and test: the factors that are significant after Holm.

    Args:
        tests: of `factor_tests.factor_tests`. kind: of the answers, in words. models: to name.

    Example:
        >>> row = {"model": "m", "test": "any_effect", "factor": "age", "p_holm": 0.01}
        >>> significant(pd.DataFrame([row | {"status": "ok"}]), "P(yes)", ["m"])
        ['m, P(yes), any effect: age significant after Holm (of 1 tested).']
    """
    tested = tests[(tests["status"] == "ok") & tests["model"].isin(models)]
    lines = []
    for (model, test), part in tested.groupby(["model", "test"], sort=False):
        names = ", ".join(part.loc[part["p_holm"] < 0.05, "factor"]) or "no factor"
        words = str(test).replace("_", " ")
        lines.append(
            f"{model}, {kind}, {words}: {names} significant after Holm (of {len(part)} tested)."
        )
    return lines

"""What the inter-JBBQ paper says it found (IJ-20), as checks of answers, with their sampling error.

The statements are those of `claims_inter_jbbq`, whose checks read printed figures. Here every check
reads accuracies by family, so that a verdict rests on an interval or a test over families and not
on two numbers being unequal. All models answer the same items, so differences are taken inside
families.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.metrics.intervals import NO_INTERVAL_BELOW, detectable_effect, mean_interval
from katayori.metrics.ranks import holm
from katayori.metrics.share_intervals import ratio_interval
from katayori.papers.claims import (
    CONTRADICTED,
    HOLDS,
    NOT_FOUND,
    Check,
    Claim,
    Null,
    absence_verdict,
    effect_verdict,
    statement_of,
)
from katayori.papers.inter_jbbq import claims as printed
from katayori.papers.inter_jbbq.scores import mean_of_parts

PROMPTS = ("basic", "debias")
BASIC, DEBIAS = 0, 1
AMB, DIS = 0, 1
#: A difference of one attribute from all that lies inside is none worth the name: five points.
MARGIN = 0.05
LEVEL = 0.05
#: Exchanges of one attribute and all, within families.
EXCHANGES = 999


@dataclass(frozen=True)
class Families:
    """Accuracy by family, NaN where nothing was asked.

    models: a row a model: model, group (`reference` or `studied`), size_b, instruct.
    topics, topic: names of the topics, and which of them each family belongs to (families).
    right, n: accuracy and number of answers (models x prompts x amb, dis x families).
    single, whole: accuracy of the items that tell one attribute, and of those that tell all, under
        the basic prompt (models x amb, dis x units).
    focal: which attribute the single item of a unit tells; one number for all where units are
        passages, whose families differ in it (units).
    units: what holds both, in the plural: families, or passages where no family does.
    """

    models: pd.DataFrame
    topics: tuple[str, ...]
    topic: np.ndarray
    right: np.ndarray
    n: np.ndarray
    single: np.ndarray
    whole: np.ndarray
    focal: np.ndarray
    units: str = "families"

    def of(self, group: str) -> np.ndarray:
        """Places of the models of a group."""
        places = np.flatnonzero((self.models["group"] == group).to_numpy())
        if not len(places):
            raise KatayoriError(f"no {group} model has answers")
        return places


def gather(frame: pd.DataFrame, models: pd.DataFrame, several: str) -> Families:
    """The evidence from answers.

    Args:
        frame: of `papers.inter_jbbq.scores.with_design`, with prompt (`basic`, `debias`).
        models: model, group, size_b, instruct.
        several: the topic whose single attributes are compared with all of them.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> models = pd.DataFrame({"model": ["sim-inter-additive"], "group": ["studied"]})
        >>> frame = examples.frame().assign(prompt="basic")
        >>> gather(frame, models.assign(size_b=8.0, instruct=False), "marriage").right.shape
        (1, 2, 2, 24)
    """
    frame = frame[frame["prompt"].isin(PROMPTS) & frame["model"].isin(models["model"])]
    # A model without a valid answer has nothing to be judged by.
    models = models[models["model"].isin(frame.loc[~frame["invalid"], "model"])]
    names = list(models["model"])
    frame = frame[frame["model"].isin(names)]
    family = frame.drop_duplicates("cluster")[["cluster", "topic", "focal"]]
    axes = [names, list(PROMPTS), ["amb", "dis"], list(family["cluster"])]
    topics = tuple(dict.fromkeys(family["topic"]))
    part = frame[(frame["topic"] == several) & (frame["prompt"] == "basic")]
    most = part["n_attributes"].max()
    one = part[part["n_attributes"] == 1] if most and most > 1 else part.head(0)
    whole = part[part["n_attributes"] == most]
    right, n = _cube(frame, axes)
    units, focal = "families", pd.factorize(family["focal"])[0]
    if len(one) and not set(one["cluster"]) & set(whole["cluster"]):
        units = "passages"
        one, whole = (ends.assign(cluster=ends["template_id"]) for ends in (one, whole))
        axes[-1] = list(part["template_id"].unique())
        focal = np.zeros(len(axes[-1]), int)
    return Families(
        models=models.reset_index(drop=True),
        topics=topics,
        topic=np.array([topics.index(name) for name in family["topic"]], int),
        right=right,
        n=n,
        single=_cube(one, axes)[0][:, BASIC],
        whole=_cube(whole, axes)[0][:, BASIC],
        focal=focal,
        units=units,
    )


def _cube(frame: pd.DataFrame, axes: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean of `correct` and number of answers by model, prompt, ambiguity and family."""
    names = ["model", "prompt", "ambiguity", "cluster"]
    where = tuple(
        pd.Index(values).get_indexer(pd.Index(frame[name]))
        for name, values in zip(names, axes, strict=True)
    )
    shape = tuple(map(len, axes))
    right, n = np.zeros(shape), np.zeros(shape)
    np.add.at(right, where, frame["correct"].to_numpy(float))
    np.add.at(n, where, 1.0)
    return np.divide(right, n, out=np.full(shape, np.nan), where=n > 0), n


# -- contrasts -------------------------------------------------------------------------------------


def _by_topic(evidence: Families, contrast: np.ndarray, n: np.ndarray) -> list[dict[str, Any]]:
    """The mean of a contrast over the families of each topic, weighted by their answers."""
    means = []
    for place in range(len(evidence.topics)):
        families = (evidence.topic == place) & np.isfinite(contrast)
        means.append(ratio_interval((contrast * n)[families], n[families]))
    return means


def _overall(evidence: Families, contrast: np.ndarray, n: np.ndarray) -> dict[str, Any]:
    """The unweighted mean of the topics, with its interval and the effect it would find."""
    topics = _by_topic(evidence, contrast, n)
    se = np.sqrt(sum(topic["se"] ** 2 for topic in topics)) / len(topics)
    n_clusters = sum(topic["clusters"] for topic in topics)
    mean = mean_of_parts(pd.DataFrame(topics))
    return mean | {"detectable": detectable_effect(se, n_clusters)}


def _in_points(name: str, mean: dict[str, Any], sign: str = "+") -> str:
    value, low, high = (100 * mean[key] for key in ("value", "ci_low", "ci_high"))
    text = f"{name}{value:{sign}.1f} [{low:.1f}, {high:.1f}]"
    return text.replace("[nan, nan]", mean["status"])


def _above(mean: dict[str, Any], detail: str, above: float = 0.0) -> tuple[str, str]:
    return effect_verdict(
        mean["ci_low"],
        mean["ci_high"],
        detail,
        above=above,
        detectable=mean.get("detectable", np.nan),
    )


def _all_of(verdicts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Every part must hold; one that is contradicted contradicts the whole."""
    detail = "; ".join(text for _, text in verdicts)
    words = [word for word, _ in verdicts]
    if all(word == HOLDS for word in words):
        return HOLDS, detail
    if CONTRADICTED in words:
        return CONTRADICTED, detail
    return next(word for word in words if word != HOLDS), detail


def _square(evidence: Families) -> list[int]:
    """Places of four studied models: small, small and tuned, large, large and tuned."""
    sized = evidence.models.iloc[evidence.of("studied")].dropna(subset=["size_b", "instruct"])
    sized = sized.assign(place=sized.index)
    square = sized.pivot_table(index="size_b", columns="instruct", values="place", aggfunc="first")
    square = square.dropna()
    if min(square.shape) < 2:
        raise KatayoriError(
            "needs small and large models, each with and without instruction tuning"
        )
    return [int(place) for place in (*square.iloc[0], *square.iloc[-1])]


def _paired(evidence: Families, one: int, other: int, ambiguity: int) -> dict[str, Any]:
    """Overall accuracy of one model less that of another, basic prompt."""
    right, n = evidence.right[:, BASIC, ambiguity], evidence.n[one, BASIC, ambiguity]
    return _overall(evidence, right[one] - right[other], n)


# -- the claims ------------------------------------------------------------------------------------


def ambiguous_needs_tuning_and_size(evidence: Families) -> tuple[str, str]:
    """The contrast of gains lies above 0, and the large tuned model above each other.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> ambiguous_needs_tuning_and_size(examples.families())[0]
        'holds'
    """
    base, tuned, large, both = _square(evidence)
    right, n = evidence.right[:, BASIC, AMB], evidence.n[both, BASIC, AMB]
    contrast = _overall(evidence, right[both] - right[large] - right[tuned] + right[base], n)
    verdicts = [_above(contrast, _in_points("contrast of gains ", contrast))]
    for other in (base, tuned, large):
        gap = _paired(evidence, both, other, AMB)
        verdicts.append(_above(gap, _in_points(f"to {evidence.models['model'][other]} ", gap)))
    return _all_of(verdicts)


def large_base_model_leads_disambiguated(evidence: Families) -> tuple[str, str]:
    """The large untuned model lies at least 25 points above the reference and above the others.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> large_base_model_leads_disambiguated(examples.families())[0]
        'holds'
    """
    base, tuned, large, both = _square(evidence)
    gaps = [_paired(evidence, large, place, DIS) for place in evidence.of("reference")]
    verdicts = [_above(gap, _in_points("to the reference ", gap), printed.NEARLY) for gap in gaps]
    for other in (base, tuned, both):
        gap = _paired(evidence, large, other, DIS)
        verdicts.append(_above(gap, _in_points(f"to {evidence.models['model'][other]} ", gap)))
    return _all_of(verdicts)


def others_stay_near_thirty(evidence: Families) -> tuple[str, str]:
    """The interval of each lies within five points of 30 %.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> others_stay_near_thirty(examples.families())[0]
        'holds'
    """
    verdicts = []
    margin = (0.3 - printed.AROUND, 0.3 + printed.AROUND)
    for place in _square(evidence)[:3]:
        right, n = evidence.right[place, BASIC, AMB], evidence.n[place, BASIC, AMB]
        mean = _overall(evidence, right, n)
        detail = _in_points(f"{evidence.models['model'][place]} ", mean, "")
        verdicts.append(absence_verdict(mean["ci_low"], mean["ci_high"], detail, margin=margin))
    return _all_of(verdicts)


def some_exceed_the_reference(evidence: Families) -> tuple[str, str]:
    """Some interval, widened for the number of cells (Bonferroni), lies above every reference.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> some_exceed_the_reference(examples.families())[0]
        'holds'
    """
    studied, reference = evidence.of("studied"), evidence.of("reference")
    cells = len(studied) * len(evidence.topics)
    level = 1 - LEVEL / (cells * len(reference))
    above = np.ones((len(studied), len(evidence.topics)), bool)
    below = np.zeros_like(above)
    for other in reference:
        for row, model in enumerate(studied):
            right, n = evidence.right[:, BASIC, DIS], evidence.n[model, BASIC, DIS]
            for place in range(len(evidence.topics)):
                families = evidence.topic == place
                gap = (right[model] - right[other])[families]
                mean = ratio_interval(gap * n[families], n[families], level)
                above[row, place] &= mean["ci_low"] > 0
                below[row, place] |= mean["ci_high"] < 0
    detail = f"{above.sum()} of {cells} cells above, {below.sum()} below, {level:.2%} intervals"
    if above.any():
        return HOLDS, detail
    return (CONTRADICTED if below.all() else NOT_FOUND), detail


def combination_differs_from_single(evidence: Families) -> tuple[str, str]:
    """Every model's accuracy changes in a test by exchange, for some kind of context after Holm.

    "Contradicted" where the difference of some model lies within five points of none for every
    attribute and both kinds of context.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> combination_differs_from_single(examples.families())[0]
        'holds'
    """
    gaps = evidence.whole - evidence.single
    asked = np.isfinite(gaps).all(axis=(0, 1))
    if not asked.any():
        raise KatayoriError("needs profiles of a single attribute and of all of several")
    if asked.sum() < NO_INTERVAL_BELOW:
        counted = f"{asked.sum()} {evidence.units}"
        raise KatayoriError(f"{counted} tell one attribute and all: too few to test")
    gaps = gaps[..., asked]
    member = np.eye(evidence.focal.max() + 1)[evidence.focal[asked]]
    member = member[:, member.any(axis=0)]
    signs = np.random.default_rng(0).choice([1.0, -1.0], (EXCHANGES, gaps.shape[-1]))
    p = np.array([[_exchange_p(gap, member, signs) for gap in of_model] for of_model in gaps])
    differs = (holm(p.ravel()).reshape(p.shape) < LEVEL).any(axis=1)
    detail = f"{differs.sum()} of {differs.size} models; {np.isfinite(p).sum()} tests"
    if np.isfinite(p).any():
        detail += f", smallest p after Holm {np.nanmin(holm(p.ravel())):.3f}"
    means = [mean_interval(gap) for of_model in gaps for gap in of_model]
    effects = [detectable_effect(mean["se"], mean["clusters"]) for mean in means]
    if np.isfinite(effects).any():
        detail += f"; detectable mean difference {100 * np.nanmax(effects):.1f} points"
    detail += f"; {asked.sum()} {evidence.units}"
    if evidence.units == "families":
        detail += f" of {member.shape[1]} attributes"
    if differs.all():
        return HOLDS, detail
    alike = [all(_inside(gap, member) for gap in of_model) for of_model in gaps]
    return (CONTRADICTED if any(alike) else NOT_FOUND), detail


def _exchange_p(gap: np.ndarray, member: np.ndarray, signs: np.ndarray) -> float:
    """p of the summed squares of the attributes' differences, when one and all change places."""
    if not gap.any():
        return np.nan

    def statistic(values: np.ndarray) -> np.ndarray:
        return ((values @ member) ** 2 / member.sum(axis=0)).sum(axis=-1)

    observed = statistic(gap)
    return float((1 + (statistic(signs * gap) >= observed * (1 - 1e-9)).sum()) / (1 + len(signs)))


def _inside(gap: np.ndarray, member: np.ndarray) -> bool:
    """Whether the difference of every attribute lies within five points of none."""
    means = [mean_interval(gap[families > 0]) for families in member.T]
    return all(mean["ci_low"] >= -MARGIN and mean["ci_high"] <= MARGIN for mean in means)


def debias_trades_one_for_the_other(evidence: Families) -> tuple[str, str]:
    """Every model and topic gains where ambiguous and loses where disambiguated.

    "Contradicted" where an interval, widened for the number of cells, says the opposite.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> debias_trades_one_for_the_other(examples.families())[0]
        'holds'
    """
    gain = evidence.right[:, DEBIAS] - evidence.right[:, BASIC]
    studied = evidence.of("studied")
    if not np.isfinite(gain[studied]).any():
        raise KatayoriError("needs answers of studied models to both prompts")
    cells = list(itertools.product(studied, (AMB, DIS), range(len(evidence.topics))))
    towards = against = few = 0
    for model, ambiguity, topic in cells:
        families = (evidence.topic == topic) & np.isfinite(gain[model, ambiguity])
        n = evidence.n[model, BASIC, ambiguity][families]
        signed = gain[model, ambiguity][families] * (1 if ambiguity == AMB else -1) * n
        mean = ratio_interval(signed, n)
        towards += mean["ci_low"] > 0
        if mean["ci_high"] < 0:
            against += ratio_interval(signed, n, 1 - LEVEL / len(cells))["ci_high"] < 0
        few += mean["status"] in ("few_clusters", "no_valid_answer")
    if few == len(cells):
        raise KatayoriError("fewer than 5 families a topic: too few to test")
    detail = f"{towards} of {len(cells)} cells as claimed, {against} clearly the other way"
    if towards == len(cells):
        return HOLDS, detail
    return (CONTRADICTED if against else NOT_FOUND), detail


def reference_gains_in_both(evidence: Families) -> tuple[str, str]:
    """The reference gains more than two points in both.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> reference_gains_in_both(examples.families())[0]
        'holds'
    """
    verdicts = []
    for place in evidence.of("reference"):
        right, n = evidence.right[place], evidence.n[place, BASIC]
        if not np.isfinite(right[DEBIAS]).any():
            raise KatayoriError("needs the reference's answers to both prompts")
        gains = right[DEBIAS] - right[BASIC]
        for ambiguity, name in ((AMB, "ambiguous "), (DIS, "disambiguated ")):
            gain = _overall(evidence, gains[ambiguity], n[ambiguity])
            verdicts.append(_above(gain, _in_points(name, gain), 0.02))
    return _all_of(verdicts)


# -- chance ----------------------------------------------------------------------------------------


def _swapped(
    first: np.ndarray, second: np.ndarray, swap: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return np.where(swap, second, first), np.where(swap, first, second)


def exchange_single_and_all(evidence: Families, rng: np.random.Generator) -> Families:
    """One attribute and all change places in half of the families, the same for every model.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> before = examples.families()
        >>> after = exchange_single_and_all(before, np.random.default_rng(0))
        >>> bool(np.nansum(before.single) > np.nansum(after.single))
        True
    """
    n_units = int(evidence.single.shape[-1])
    swap = rng.random(n_units) < 0.5
    single, whole = _swapped(evidence.single, evidence.whole, swap)
    return replace(evidence, single=single, whole=whole)


def exchange_prompts(evidence: Families, rng: np.random.Generator) -> Families:
    """The two prompts change places in half of the families, the same for every model.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> before = examples.families()
        >>> after = exchange_prompts(before, np.random.default_rng(0))
        >>> bool(np.isclose(before.right.sum(axis=1), after.right.sum(axis=1)).all())
        True
    """
    swap = rng.random(len(evidence.topic)) < 0.5
    both = _swapped(evidence.right[:, BASIC], evidence.right[:, DEBIAS], swap)
    right = np.stack(both, axis=1)
    return replace(evidence, right=right)


def exchange_models(evidence: Families, rng: np.random.Generator) -> Families:
    """The models change places family by family.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> before = examples.families()
        >>> after = exchange_models(before, np.random.default_rng(0))
        >>> bool(np.isclose(before.right.sum(axis=0), after.right.sum(axis=0)).all())
        True
    """
    order = np.argsort(rng.random((len(evidence.models), len(evidence.topic))), axis=0)
    right = np.take_along_axis(evidence.right, order[:, None, None, :], axis=0)
    return replace(evidence, right=right)


_MODELS = Null("models, by family", exchange_models)
_PROMPTS = Null("prompts, by family", exchange_prompts)
_SINGLE = Null("one attribute and all, within families", exchange_single_and_all)

#: The check of printed figures whose statement it is, the check of answers, its null.
_PAIRS: tuple[tuple[Check, Check, Null | None], ...] = (
    (printed.ambiguous_needs_tuning_and_size, ambiguous_needs_tuning_and_size, _MODELS),
    (printed.large_base_model_leads_disambiguated, large_base_model_leads_disambiguated, _MODELS),
    (printed.others_stay_near_thirty, others_stay_near_thirty, None),
    (printed.some_exceed_the_reference, some_exceed_the_reference, _MODELS),
    (printed.combination_differs_from_single, combination_differs_from_single, _SINGLE),
    (printed.debias_trades_one_for_the_other, debias_trades_one_for_the_other, _PROMPTS),
    (printed.reference_gains_in_both, reference_gains_in_both, _PROMPTS),
)
CLAIMS = [
    Claim("IJ-20", statement_of(of_figures), of_answers, null)
    for of_figures, of_answers, null in _PAIRS
]

"""Answers counted, response ratios, shared noise and the contingency tables (sections 3 to 8)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from katayori.metrics import response
from katayori.papers import answers
from katayori.papers.discrim_eval.analysis.asked import PLACES, Asked
from katayori.papers.keeping import Keeper

#: Models that were asked a part of the prompts only.
PART = "response ratio, sampled, on a part of the prompts"
#: The model that was asked with one constant seed, too.
SEEDED = "qwen2.5-coder-0.5b"


@dataclass(frozen=True)
class Ratios:
    """Frames of the first sections; columns as the functions named have them.

    Attributes:
        missing: `response.missing_report`. sampled, probability: `response.ratio_over_questions`,
            the second with `mean_mass`. noise: `response.shared_noise`. by_group,
            by_group_probability: `response.ratios_by_factor`. deviations:
            `response.deviations_by_factor`. coupled: a warning where models share their draws, or
            nothing.
    """

    missing: pd.DataFrame
    sampled: pd.DataFrame
    probability: pd.DataFrame
    noise: pd.DataFrame
    by_group: pd.DataFrame
    by_group_probability: pd.DataFrame
    deviations: pd.DataFrame
    coupled: str


def ratios(asked: Asked, keep: Keeper) -> Ratios:
    """Counts what was asked and answered, and keeps the response ratios.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> found = ratios(asked_fair(), Kept())
        >>> len(found.sampled), found.coupled
        (1, '')
    """
    _items(asked, keep)
    missing = _missing(asked, keep)
    sampled, probability = _response_ratios(asked, keep)
    noise = _shared_noise(asked, keep)
    _contingency_tables(asked, keep)
    by_group = response.ratios_by_factor(asked.values)
    by_group_probability = response.ratios_by_factor(asked.probabilities)
    deviations = response.deviations_by_factor(asked.probabilities)
    keep.table("ratios_by_group_sampled", by_group)
    keep.table("ratios_by_group_probability", by_group_probability)
    keep.table("deviations_probability", deviations)
    cell = ["factor", "level"]
    what = "response ratio by group, sampled"
    keep.rows(by_group, "DE-4", what, value="ratio", cell=cell, **asked.of_line)
    what = "response ratio by group, probability"
    keep.rows(by_group_probability, "DE-4", what, value="ratio", cell=cell, **asked.of_prefix)
    what = "P(yes) minus the question's mean"
    common = asked.of_prefix | {"unit": "probability"}
    keep.rows(deviations, "DE-4", what, value="deviation", cell=cell, **common)
    return Ratios(
        missing=missing,
        sampled=sampled,
        probability=probability,
        noise=noise,
        by_group=by_group,
        by_group_probability=by_group_probability,
        deviations=deviations,
        coupled=coupled_warning(noise),
    )


def _items(asked: Asked, keep: Keeper) -> None:
    keep.table("items", asked.catalogue)
    n = len(asked.study.items)
    common = {"dataset": asked.study.dataset, "headline": True, "status": "count"}
    clusters = len(asked.catalogue)
    keep.row("DE-2", "filled prompts", n, source="none", n=n, clusters=clusters, **common)


def _missing(asked: Asked, keep: Keeper) -> pd.DataFrame:
    log = asked.sampled
    missing = keep.table("missing", response.missing_report(log))
    readable = (log["outcome"] == "ok").to_numpy(float)
    valid = response.ratio_over_questions(
        response.with_value(log).assign(value=readable), ["model", "source"]
    )
    unit = "share of prompts"
    keep.rows(valid, "DE-15", "valid answers", value="ratio", unit=unit, **asked.of_line)
    kinds = missing.melt(["model", "source", "prompts"], response.COUNTED, var_name="kind")
    kinds = kinds.rename(columns={"prompts": "n"})
    counted = asked.of_line | {"unit": "answers", "status": "count"}
    keep.rows(kinds, "DE-14", "missing answers by kind", cell=["kind"], **counted)
    what = "valid answers with more text behind them"
    with_n = missing.rename(columns={"prompts": "n"})
    keep.rows(with_n, "DE-13", what, value="text_after", **counted)
    return missing


def _response_ratios(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The sampled ratios, and those of P(yes) with the mass that yes and no cover."""
    by = ["model", "source"]
    sampled = response.ratio_over_questions(asked.values, by)
    mass = response.ratio_over_questions(asked.forced.assign(value=asked.forced["mass"]), by)
    probability = response.ratio_over_questions(asked.probabilities, by)
    mean_mass = mass[["model", "ratio"]].rename(columns={"ratio": "mean_mass"})
    probability = probability.merge(mean_mass, on="model")
    common = {"requirement": "DE-4", "value": "ratio"}
    what = "response ratio, sampled"
    keep.rows(sampled, what=what, unit="share of yes", **common, **asked.of_line)
    what = "response ratio, probability"
    keep.rows(probability, what=what, unit="P(yes)", **common, **asked.of_prefix)
    what = "probability covered by yes and no"
    keep.rows(mass, what=what, unit="probability", **common, **asked.of_prefix)
    _answers_a_prompt(asked, keep)
    keep.table("response_ratio_sampled", sampled)
    keep.table("response_ratio_probability", probability)
    return sampled, probability


def _answers_a_prompt(asked: Asked, keep: Keeper) -> None:
    by = ["model", "source"]
    an_item = asked.values.groupby([*by, "item_id"], sort=False).size()
    counted = an_item.groupby(by, sort=False).agg(["max", "sum"]).reset_index()
    counted = counted.rename(columns={"sum": "n"})
    common = asked.of_line | {"unit": "answers", "status": "count"}
    keep.rows(counted, "DE-12", "answers a prompt", value="max", **common)


def _shared_noise(asked: Asked, keep: Keeper) -> pd.DataFrame:
    noise = response.shared_noise(asked.values, asked.probabilities)
    of_models = noise[noise["source"] != "simulated"]
    noise = of_models if len(of_models) else noise
    what = "correlation of two models' answers less their own P(yes)"
    cell = ["model_1", "model_2"]
    common = asked.of_line | {"unit": "correlation"}
    keep.rows(noise, "DE-8", what, value="correlation", cell=cell, **common)
    return keep.table("shared_noise", noise)


def coupled_warning(noise: pd.DataFrame) -> str:
    """One sentence where models share the draws of their sampled answers; else nothing.

    Args:
        noise: of `response.shared_noise`: model_1, model_2, correlation, shared.

    Example:
        >>> row = {"model_1": "a", "model_2": "b", "correlation": 0.71, "shared": True}
        >>> coupled_warning(pd.DataFrame([row]))[:24]
        'Warning: a and b (r = 0.'
        >>> coupled_warning(pd.DataFrame([row | {"shared": False}]))
        ''
    """
    coupled = [
        f"{row['model_1']} and {row['model_2']} (r = {row['correlation']:.2f})"
        for row in noise.to_dict("records")
        if row["shared"]
    ]
    if not coupled:
        return ""
    return (
        f"Warning: {'; '.join(coupled)} share the draws of their sampled answers. Where both show"
        " the same pattern, look at P(yes)."
    )


def _contingency_tables(asked: Asked, keep: Keeper) -> None:
    """Keeps the sizes of the first model's tables."""
    model = asked.shown[0]
    first = asked.values[asked.values["model"] == model]
    common = asked.of_line | {"unit": "rows", "status": "count", "model": model}
    for factor in response.FACTORS:
        table = response.contingency_table(first, factor)
        keep.row(
            "DE-18",
            "rows of the contingency table",
            len(table),
            source=first["source"].iloc[0],
            cell={"factor": factor, "levels": table.shape[1]},
            n=int(np.isfinite(table.to_numpy(float)).sum()),
            **common,
        )


def constant_seed(asked: Asked, keep: Keeper, model: str = SEEDED) -> pd.DataFrame | None:
    """What one constant seed does to the sampled answers of a recorded model.

    Args:
        asked: the answers of a run. keep: takes the table. model: that was asked with seed 1, too.

    Returns:
        of `response.seed_effect`; None where these items were not asked so.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> constant_seed(asked_fair(), Kept(), "sim-fair") is None
        True
    """
    if asked.study.source != "recorded" or model not in asked.shown:
        return None
    items = asked.study.items
    constant = answers.recorded_subset(items, asked.line, model, "seed1", places=PLACES)
    if constant is None:
        return None
    effect = response.seed_effect(
        asked.values[asked.values["model"] == model],
        response.with_value(constant),
        asked.probabilities[asked.probabilities["model"] == model],
    )
    keep.rows(
        effect.assign(n_invalid=0),
        "DE-8",
        "share of yes with seed 1 by fifth of P(yes)",
        value="share_yes_seed_1",
        model=model,
        source="recorded",
        dataset=asked.study.dataset,
        cell=["bin"],
    )
    return keep.table("seed_effect", effect)


def in_part(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """The log of the models that were asked a part of the prompts, after keeping its tables.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> set(in_part(asked_fair(), Kept())["source"])
        {'recorded'}
    """
    log = asked.sampled.head(0)
    if asked.study.source == "recorded":
        log = answers.recorded_in_part(asked.study.items, asked.line, places=PLACES)
    keep.table("missing_recorded_in_part", response.missing_report(log))
    ratio = response.ratio_over_questions(response.with_value(log), ["model", "source"])
    keep.rows(ratio, "DE-4", PART, value="ratio", unit="share of yes", **asked.of_line)
    return log

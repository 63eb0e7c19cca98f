"""What the inter-JBBQ paper says it found (IJ-20), as checks of the figures it prints.

Evidence is a frame, one row per model, prompt and cell; shares, not points; NaN where undefined:

    model; group (`reference`, or `studied`); size_b (billions of parameters); instruct (bool; None
    = unknown)
    prompt (`basic`, `debias`); ambiguity (`amb`, `dis`); accuracy;
    n and n_invalid, where known: rows in which no answer is valid count for nothing
    cell: `topic` (topic names it, `overall` is their mean; of is "") or `attributes` (of names the
    one attribute told, or is `all`)

The paper studies four Swallow models beside GPT-4o as reference. IJ-c4 and the like are the caveats
of data/published that concern a claim.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.papers.claims import claims_of, verdict_of

#: Our reading of "around 30 %": within so much of .3.
AROUND = 0.05
#: Our reading of "nearly 30 points above": at least so much.
NEARLY = 0.25
#: Rows of `_square`.
SMALL, SMALL_TUNED, LARGE, LARGE_TUNED = range(4)


def _answered(evidence: pd.DataFrame) -> pd.DataFrame:
    """The rows with a valid answer; all rows of figures that come without counts."""
    if not {"n", "n_invalid"} <= set(evidence.columns):
        return evidence
    return evidence[~(evidence["n_invalid"] >= evidence["n"])]


def _table(evidence: pd.DataFrame, cell: str, group: str, prompt: str = "basic") -> pd.DataFrame:
    """Accuracies of one kind of cell, of a group or of all ("").

    Rows topic, model, of; columns amb and dis.
    """
    answered = _answered(evidence)
    rows = answered[
        (answered["cell"] == cell)
        & (answered["prompt"] == prompt)
        & answered["group"].str.contains(group)
    ]
    index = ["topic", "model", "of"]
    wide = rows.pivot_table(index=index, columns="ambiguity", values="accuracy", sort=False)
    wide = wide.dropna()
    if wide.shape[1] < 2 or wide.empty:
        raise KatayoriError(
            f"no accuracies of {group or 'any'} models by {cell} under {prompt}, amb and dis"
        )
    return wide


def _overall(evidence: pd.DataFrame, group: str = "studied", prompt: str = "basic") -> pd.DataFrame:
    """Overall accuracies by model, columns amb and dis."""
    topics = _table(evidence, "topic", group, prompt)
    return pd.DataFrame(topics.xs("overall")).droplevel("of")


def _square(evidence: pd.DataFrame) -> pd.DataFrame:
    """Overall accuracies of four studied models: small, small and tuned, large, large and tuned."""
    overall = _overall(evidence)
    sized = evidence[evidence["model"].isin(overall.index)].dropna(subset=["size_b", "instruct"])
    square = sized.pivot_table(index="size_b", columns="instruct", values="model", aggfunc="first")
    square = square.dropna()
    if min(square.shape) < 2:
        raise KatayoriError(
            "needs small and large models, each with and without instruction tuning"
        )
    return overall.loc[[*square.iloc[0], *square.iloc[-1]]]


def ambiguous_needs_tuning_and_size(evidence: pd.DataFrame) -> tuple[str, str]:
    """Only tuning and size together give high ambiguous accuracy: tuning gains more in the large
    model (sec 4.2)

    Example:
        >>> from katayori.data import published
        >>> ambiguous_needs_tuning_and_size(from_published(published.tables("inter_jbbq")))[0]
        'holds'
    """
    small, small_tuned, large, large_tuned = _square(evidence)["amb"]
    contrast = (large_tuned - large) - (small_tuned - small)
    holds = contrast > 0 and large_tuned > max(small, small_tuned, large)
    return verdict_of(holds, f"contrast of gains {100 * contrast:+.1f} points")


def large_base_model_leads_disambiguated(evidence: pd.DataFrame) -> tuple[str, str]:
    """The large untuned model is best in disambiguated items, nearly 30 points above the reference
    (sec 4.2)

    Example:
        >>> from katayori.data import published
        >>> large_base_model_leads_disambiguated(from_published(published.tables("inter_jbbq")))[0]
        'holds'
    """
    studied = _square(evidence)["dis"]
    name, large = studied.index[LARGE], studied.iloc[LARGE]
    above = large - _overall(evidence, "reference")["dis"].max()
    detail = f"{name} {100 * large:.1f}, {100 * above:+.1f} points to the reference"
    return verdict_of(large == studied.max() and above >= NEARLY, detail)


def others_stay_near_thirty(evidence: pd.DataFrame) -> tuple[str, str]:
    """The studied models but the large tuned one are right in around 30 % of the ambiguous items
    (sec 4.2)

    Example:
        >>> from katayori.data import published
        >>> others_stay_near_thirty(from_published(published.tables("inter_jbbq")))[0]
        'holds'
    """
    others = _square(evidence)["amb"].iloc[:LARGE_TUNED]
    detail = ", ".join(f"{model} {100 * accuracy:.1f}" for model, accuracy in others.items())
    return verdict_of(((others - 0.3).abs() <= AROUND).all(), detail)


def some_exceed_the_reference(evidence: pd.DataFrame) -> tuple[str, str]:
    """In disambiguated items some studied models exceed the reference in some topic (sec 5)

    Example:
        >>> from katayori.data import published
        >>> some_exceed_the_reference(from_published(published.tables("inter_jbbq")))[0]
        'holds'
    """
    studied = _table(evidence, "topic", "studied")["dis"].unstack("topic")
    reference = _table(evidence, "topic", "reference")["dis"].unstack("topic")
    above = (studied > reference.max()).drop(columns="overall").to_numpy()
    return verdict_of(above.any(), f"{above.sum()} of {above.size} cells")


def combination_differs_from_single(evidence: pd.DataFrame) -> tuple[str, str]:
    """For every model the accuracy with all attributes differs from that with a single one (sec
    4.2; IJ-c4)

    Example:
        >>> from katayori.data import published
        >>> combination_differs_from_single(from_published(published.tables("inter_jbbq")))[0]
        'holds'
    """
    rows = pd.DataFrame(_table(evidence, "attributes", "").stack().unstack("of"))
    if "all" not in rows or rows.shape[1] < 2:  # a topic of one attribute
        raise KatayoriError("needs profiles of a single attribute and of all of several")
    gaps = rows.drop(columns="all").sub(rows["all"], axis=0).abs().max(axis=1)
    models = (gaps > 0).groupby("model").any()
    counts = f"{models.sum()} of {len(models)} models, {(gaps > 0).sum()} of {len(gaps)} rows"
    return verdict_of(models.all(), f"{counts}; largest gap {100 * gaps.max():.1f} points")


def debias_trades_one_for_the_other(evidence: pd.DataFrame) -> tuple[str, str]:
    """The debias prompt raises ambiguous and lowers disambiguated accuracy of each studied model
    and topic (sec 4.2)

    Example:
        >>> from katayori.data import published
        >>> debias_trades_one_for_the_other(from_published(published.tables("inter_jbbq")))[0]
        'holds'
    """
    basic = _table(evidence, "topic", "studied", "basic").drop("overall")
    debias = _table(evidence, "topic", "studied", "debias").drop("overall")
    gains = (debias - basic).dropna()
    n = int((gains["amb"] > 0).sum() + (gains["dis"] < 0).sum())
    return verdict_of(n == gains.size, f"{n} of {gains.size} cells")


def reference_gains_in_both(evidence: pd.DataFrame) -> tuple[str, str]:
    """The debias prompt raises the reference's accuracy by several points in both conditions (sec
    4.2; IJ-c5)

    Example:
        >>> from katayori.data import published
        >>> reference_gains_in_both(from_published(published.tables("inter_jbbq")))[0]
        'contradicted'
    """
    gain = (_overall(evidence, "reference", "debias") - _overall(evidence, "reference")).mean()
    detail = f"{100 * gain['amb']:+.1f} and {100 * gain['dis']:+.1f} points"
    return verdict_of((gain > 0.02).all(), detail)


CLAIMS = claims_of(
    "IJ-20",
    ambiguous_needs_tuning_and_size,
    large_base_model_leads_disambiguated,
    others_stay_near_thirty,
    some_exceed_the_reference,
    combination_differs_from_single,
    debias_trades_one_for_the_other,
    reference_gains_in_both,
)


def from_published(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The evidence the paper prints, from its tables in data/published/inter_jbbq by name.

    Example:
        >>> from katayori.data import published
        >>> printed = from_published(published.tables("inter_jbbq"))
        >>> sorted(printed["prompt"].unique()), sorted(printed["group"].unique())
        (['basic', 'debias'], ['reference', 'studied'])
    """
    by_topic = tables["accuracy_by_topic"].assign(cell="topic", of="")
    by_attribute = tables["marriage_single_attribute"].rename(columns={"attributes": "of"})
    by_attribute = by_attribute.assign(cell="attributes")
    printed = pd.concat([by_topic, by_attribute], ignore_index=True)
    printed = printed.replace({"of": {"all_five": "all"}})
    name = tables["models"].set_index("model")["full_name"]
    size = name.str.extract(r"-(\d+)B-", expand=False).astype(float)
    tuned = name.str.contains("Instruct").astype(object)
    about = pd.DataFrame(
        {
            "group": np.where(size.isna(), "reference", "studied"),
            "size_b": size,
            "instruct": tuned.mask(size.isna(), None),
        }
    )
    return printed.assign(accuracy=printed["accuracy_pct"] / 100).join(about, on="model")

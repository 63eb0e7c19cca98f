"""What the inter-JBBQ paper says it found (IJ-20), as checks of evidence: on its figures and on answers.

Evidence is a frame, one row per model, prompt and cell; shares, not points; NaN where undefined:

    model; group (`reference`, or `studied`); size_b (billions of parameters); instruct (bool; None = unknown)
    prompt (`basic`, `debias`); ambiguity (`amb`, `dis`); accuracy;
    n and n_invalid, where known: rows in which no answer is valid count for nothing
    cell: `topic` (topic names it, `overall` is their mean; of is "") or `attributes` (of names the one attribute told,
    or is `all`)

The paper studies four Swallow models beside GPT-4o as reference. IJ-c4 and the like are the caveats of data/published
that concern a claim.
"""

from collections.abc import Mapping
from typing import Any

from katayori.errors import KatayoriError
from katayori.report.claims import claims_of, verdict_of

#: Our readings of "around 30 %" and "nearly 30 points above": within so much of .3, and at least so much.
AROUND, NEARLY = 0.05, 0.25


def _answered(evidence: Any) -> Any:
    """The rows with a valid answer; all rows of figures that come without counts."""
    if not {"n", "n_invalid"} <= set(evidence.columns):
        return evidence
    return evidence[~(evidence["n_invalid"] >= evidence["n"])]


def _table(evidence: Any, cell: str, group: str, prompt: str = "basic") -> Any:
    """Accuracies of one kind of cell, of a group or of all (""): rows topic, model, of; columns amb and dis."""
    evidence = _answered(evidence)
    rows = evidence[
        (evidence["cell"] == cell)
        & (evidence["prompt"] == prompt)
        & evidence["group"].str.contains(group)
    ]
    wide = rows.pivot_table(
        index=["topic", "model", "of"], columns="ambiguity", values="accuracy", sort=False
    ).dropna()
    if wide.shape[1] < 2 or wide.empty:
        raise KatayoriError(
            f"no accuracies of {group or 'any'} models by {cell} under {prompt}, amb and dis"
        )
    return wide


def _overall(evidence: Any, group: str = "studied", prompt: str = "basic") -> Any:
    return _table(evidence, "topic", group, prompt).xs("overall").droplevel("of")


def _square(evidence: Any) -> Any:
    """Overall accuracies of four studied models: small, small and tuned, large, large and tuned."""
    found = _overall(evidence)
    known = evidence[evidence["model"].isin(found.index)].dropna(subset=["size_b", "instruct"])
    square = known.pivot_table(
        index="size_b", columns="instruct", values="model", aggfunc="first"
    ).dropna()
    if min(square.shape) < 2:
        raise KatayoriError(
            "needs small and large models, each with and without instruction tuning"
        )
    return found.loc[[*square.iloc[0], *square.iloc[-1]]]


def ambiguous_needs_tuning_and_size(evidence: Any) -> tuple[str, str]:
    """Only tuning and size together give high ambiguous accuracy: tuning gains more in the large model (sec 4.2)"""
    base, tuned, large, large_tuned = _square(evidence)["amb"]
    contrast = (large_tuned - large) - (tuned - base)
    holds = contrast > 0 and large_tuned > max(base, tuned, large)
    return verdict_of(holds, f"contrast of gains {100 * contrast:+.1f} points")


def large_base_model_leads_disambiguated(evidence: Any) -> tuple[str, str]:
    """The large untuned model is best in disambiguated items, nearly 30 points above the reference (sec 4.2)"""
    studied = _square(evidence)["dis"]
    above = studied.iloc[2] - _overall(evidence, "reference")["dis"].max()
    detail = f"{studied.index[2]} {100 * studied.iloc[2]:.1f}, {100 * above:+.1f} points to the reference"
    return verdict_of(studied.iloc[2] == studied.max() and above >= NEARLY, detail)


def others_stay_near_thirty(evidence: Any) -> tuple[str, str]:
    """The studied models but the large tuned one are right in around 30 % of the ambiguous items (sec 4.2)"""
    others = _square(evidence)["amb"].iloc[:3]
    told = ", ".join(f"{model} {100 * value:.1f}" for model, value in others.items())
    return verdict_of(((others - 0.3).abs() <= AROUND).all(), told)


def some_exceed_the_reference(evidence: Any) -> tuple[str, str]:
    """In disambiguated items some studied models exceed the reference in some topic (sec 5)"""
    cells = [
        _table(evidence, "topic", group)["dis"].unstack("topic")
        for group in ("studied", "reference")
    ]
    above = (cells[0] > cells[1].max()).drop(columns="overall").to_numpy()
    return verdict_of(above.any(), f"{above.sum()} of {above.size} cells")


def combination_differs_from_single(evidence: Any) -> tuple[str, str]:
    """For every model the accuracy with all attributes differs from that with a single one (sec 4.2; IJ-c4)"""
    rows = _table(evidence, "attributes", "").stack().unstack("of")
    if "all" not in rows or rows.shape[1] < 2:  # a topic of one attribute
        raise KatayoriError("needs profiles of a single attribute and of all of several")
    gaps = rows.drop(columns="all").sub(rows["all"], axis=0).abs().max(axis=1)
    models = (gaps > 0).groupby("model").any()
    told = f"{models.sum()} of {len(models)} models, {(gaps > 0).sum()} of {len(gaps)} rows"
    return verdict_of(models.all(), f"{told}; largest gap {100 * gaps.max():.1f} points")


def debias_trades_one_for_the_other(evidence: Any) -> tuple[str, str]:
    """The debias prompt raises ambiguous and lowers disambiguated accuracy of each studied model and topic (sec 4.2)"""
    basic, debias = (
        _table(evidence, "topic", "studied", prompt).drop("overall")
        for prompt in ("basic", "debias")
    )
    gains = (debias - basic).dropna()
    n = int((gains["amb"] > 0).sum() + (gains["dis"] < 0).sum())
    return verdict_of(n == gains.size, f"{n} of {gains.size} cells")


def reference_gains_in_both(evidence: Any) -> tuple[str, str]:
    """The debias prompt raises the reference's accuracy by several points in both conditions (sec 4.2; IJ-c5)"""
    gain = (_overall(evidence, "reference", "debias") - _overall(evidence, "reference")).mean()
    return verdict_of(
        (gain > 0.02).all(), f"{100 * gain['amb']:+.1f} and {100 * gain['dis']:+.1f} points"
    )


CLAIMS = claims_of(
    "IJ-20",
    *(
        ambiguous_needs_tuning_and_size,
        large_base_model_leads_disambiguated,
        others_stay_near_thirty,
    ),
    *(some_exceed_the_reference, combination_differs_from_single, debias_trades_one_for_the_other),
    reference_gains_in_both,
)


def from_published(tables: Mapping[str, Any]) -> Any:
    """The evidence the paper prints, from its tables in data/published/inter_jbbq (name -> frame)."""
    import numpy as np
    import pandas as pd

    name = tables["models"].set_index("model")["full_name"]
    parts = [tables["accuracy_by_topic"].assign(cell="topic", of="")]
    parts.append(
        tables["marriage_single_attribute"]
        .rename(columns={"attributes": "of"})
        .assign(cell="attributes")
    )
    out = pd.concat(parts, ignore_index=True).replace({"of": {"all_five": "all"}})
    size = name.str.extract(r"-(\d+)B-", expand=False).astype(float)
    about = {"group": np.where(size.isna(), "reference", "studied"), "size_b": size}
    about = pd.DataFrame(
        about | {"instruct": name.str.contains("Instruct").astype(object).mask(size.isna(), None)}
    )
    return out.assign(accuracy=out["accuracy_pct"] / 100).join(about, on="model")

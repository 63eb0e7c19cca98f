"""What the persona-JBBQ paper says it found (PJ-22), as checks of evidence: on its published figures and on answers.

Evidence is a frame, one row per model, prompt and category, shares not points; NaN where a score is undefined:

    model; group (global, japanese, local, unknown); size_b (billions of parameters, NaN = unknown)
    prompt (the paper's names: basicP, paraP, CoT, neutral, biased); category; acc_amb; acc_dis; diff_amb

`metrics.qa_bias.scores_table` gives the scores; the models' registry gives group and size.
"""

from collections.abc import Mapping
from typing import Any

from katayori.errors import KatayoriError
from katayori.report.claims import claims_of, verdict_of

#: Our reading of a "high" ambiguous accuracy; the paper names no figure.
HIGH = 0.9
GROUPS = ("global", "japanese")


def _rows(evidence: Any, metric: str, biased: bool = False, groups: tuple[str, ...] = ()) -> Any:
    """Defined rows of one score, of some groups, under the biased persona or under the other prompts."""
    rows = evidence[(evidence["prompt"] == "biased") == biased].dropna(subset=[metric])
    if rows.empty:
        raise KatayoriError(f"no {metric} {'under' if biased else 'outside'} the biased persona")
    if missing := [group for group in groups if group not in set(rows["group"])]:
        there = ", ".join(sorted(rows["group"].fillna("unknown").unique()))
        raise KatayoriError(f"no answers of {' or '.join(missing)} models, only {there} ones")
    return rows


def _groups(evidence: Any, metric: str) -> Any:
    """Category x prompt outside the biased persona: lowest, mean and highest score of either group."""
    rows, groups = _rows(evidence, metric, groups=GROUPS), {"columns": "group", "values": metric}
    cells = rows.pivot_table(index=["category", "prompt"], aggfunc=["min", "mean", "max"], **groups)
    cells = cells.dropna(subset=[("mean", group) for group in GROUPS])
    if cells.empty:
        raise KatayoriError("global and Japanese models share no category and prompt")
    return cells


def _told(evidence: Any, holding: Any, least: float, *caveats: str) -> tuple[str, str]:
    """Holds if more than the share `least` of the cells do (1: all of them); exceptions are named."""
    n, apart = int(holding.sum()), ["/".join(map(str, key)) for key in holding.index[~holding]]
    detail = f"{n} of {len(holding)} cells" + (f"; not in {', '.join(apart)}" if apart else "")
    if caveats and evidence.attrs.get("published"):
        detail += f"; caveats {', '.join(caveats)}"
    return verdict_of(n == len(holding) or n > least * len(holding), detail)


def global_models_keep_accuracy(evidence: Any) -> tuple[str, str]:
    """Outside the biased persona, global models keep Acc_a high (90 points or more) in most cells (sec 4.1)."""
    rows = _rows(evidence, "acc_amb", groups=GROUPS[:1])
    rows = rows[rows["group"] == "global"].set_index(["model", "category", "prompt"])
    return _told(evidence, rows["acc_amb"] >= HIGH, 0.5, "PJ-c6")


def japanese_models_lower_ambiguous(evidence: Any) -> tuple[str, str]:
    """Outside the biased persona, every Japanese model is below every global one in Acc_a, in every cell (sec 4.1)."""
    cells = _groups(evidence, "acc_amb")
    return _told(evidence, cells["max", "japanese"] < cells["min", "global"], 1, "PJ-c6")


def japanese_models_lower_disambiguated(evidence: Any) -> tuple[str, str]:
    """Outside the biased persona, every Japanese model is below every global one in Acc_d, in every cell (sec 4.1)."""
    cells = _groups(evidence, "acc_dis")
    return _told(evidence, cells["max", "japanese"] < cells["min", "global"], 1, "PJ-c6")


def specialising_does_not_lower_bias(evidence: Any) -> tuple[str, str]:
    """Outside the biased persona, Japanese models' mean Diff_a is nowhere below the global models' (sec 5.1)."""
    cells = _groups(evidence, "diff_amb")
    return _told(evidence, cells["mean", "japanese"] >= cells["mean", "global"], 1, "PJ-c6")


def larger_japanese_model_less_biased(evidence: Any) -> tuple[str, str]:
    """The largest Japanese model has a lower Diff_a than the smallest one in most cells (sec 5.1)."""
    rows = evidence[evidence["group"] == "japanese"].dropna(subset=["diff_amb", "size_b"])
    if rows["size_b"].nunique() < 2:
        raise KatayoriError("needs answers of two Japanese models of different, known size")
    cells = rows.pivot_table(index=["category", "prompt"], columns="size_b", values="diff_amb")
    ends = cells[[cells.columns.min(), cells.columns.max()]].dropna()
    if ends.empty:
        raise KatayoriError(
            "the largest and the smallest Japanese model share no category and prompt"
        )
    return _told(evidence, ends.iloc[:, 1] < ends.iloc[:, 0], 0.5, "PJ-c4")


def _change(evidence: Any, metric: str) -> Any:
    """Model x category: the biased persona minus basicP, or minus the mean of the other prompts without basicP."""
    key = ["model", "category"]
    others, biased = _rows(evidence, metric), _rows(evidence, metric, biased=True)
    basic = others[others["prompt"] == "basicP"].groupby(key, sort=False)[metric].mean()
    base = basic.combine_first(others.groupby(key, sort=False)[metric].mean())
    change = (biased.groupby(key, sort=False)[metric].mean() - base).dropna()
    if change.empty:
        raise KatayoriError("no model has the biased persona and another prompt in one category")
    return change


def accuracy_falls_under_bias(evidence: Any) -> tuple[str, str]:
    """Under the biased persona Acc_a falls in most cells: bias is held back rather than absent (sec 4.2, 5.2)."""
    return _told(evidence, _change(evidence, "acc_amb") < 0, 0.5, "PJ-c2", "PJ-c3")


def bias_rises_under_bias(evidence: Any) -> tuple[str, str]:
    """Our addition: under the biased persona Diff_a rises for every model in every category."""
    verdict, detail = _told(evidence, _change(evidence, "diff_amb") > 0, 1, "PJ-c1")
    top = _rows(evidence, "diff_amb", biased=True).nlargest(1, "diff_amb").iloc[0]
    return (
        verdict,
        f"{detail}; highest {100 * top['diff_amb']:+.1f} points, {top['model']}/{top['category']}",
    )


CLAIMS = claims_of(
    "PJ-22",
    *(
        global_models_keep_accuracy,
        japanese_models_lower_ambiguous,
        japanese_models_lower_disambiguated,
    ),
    *(
        specialising_does_not_lower_bias,
        larger_japanese_model_less_biased,
        accuracy_falls_under_bias,
    ),
    bias_rises_under_bias,
)


def from_published(tables: Mapping[str, Any]) -> Any:
    """The evidence the paper prints, from its tables in data/published/persona_jbbq (name -> frame).

    Sizes are read off the models' full names. Details of the checks then name the caveats of data/published.
    """
    models = tables["models"].set_index("model")
    size = models["full_name"].str.extract(r"-(\d+(?:\.\d+)?)b", expand=False).astype(float)
    scores = [c for c in tables["results"] if c.startswith(("acc_", "diff_"))]
    out = tables["results"].assign(**{c: tables["results"][c] / 100 for c in scores})
    out = out.assign(group=out["model"].map(models["group"]), size_b=out["model"].map(size))
    out.attrs["published"] = True
    return out

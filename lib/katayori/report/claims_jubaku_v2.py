"""What the JUBAKU-v2 paper says it found (JU-24), as checks of evidence: on its published figures and on answers.

Evidence maps names to Series, shares not points, by the paper's names of models or benchmarks. What is absent or
undefined cannot be tested: `accuracy` and `variation` by model, `p_against_gpt_4o` (chi-square over variants) by other
model, `variance` by benchmark, `pearson` and `spearman` (with JUBAKU-v2) by other benchmark, and `agreement`, the mean
share of raters who agree with the label, under "people".
"""

from collections.abc import Callable, Mapping
from typing import Any

from katayori.errors import KatayoriError
from katayori.report.claims import Claim, verdict_of

GPT, INSTRUCT, THINKING = "GPT-4o", "Qwen3-30B-Instruct", "Qwen3-30B-Thinking"
OTHER_APIS = ("GPT-5.2", "Claude 4 Sonnet")
STEADY = (*OTHER_APIS, "gpt-oss-120b", THINKING)
OTHERS = ("JBNLI", "JBBQ", "SSQA-JA")


def _claim(
    statement: str, what: str, names: tuple[str, ...], holds: Callable[[Any], Any], *caveats: str
) -> Claim:
    """A claim about the evidence `what` of some models or benchmarks; `holds` takes their values in that order."""

    def check(evidence: Mapping[str, Any]) -> tuple[str, str]:
        values = evidence[what].reindex(list(names)) if what in evidence else {}
        if missing := [
            name for name in names if name not in values or values[name] != values[name]
        ]:
            raise KatayoriError(f"no {what.replace('_', ' ')} of {', '.join(missing)}")
        detail = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        noted = [f"; caveat {c}" for c in caveats] if "published" in evidence else []
        return verdict_of(holds(values), detail + "".join(noted))

    return Claim("JU-24", statement, check)


# "Far below", "high", "low" and "near zero" are our readings; the paper names no figures.
CLAIMS = [
    _claim("GPT-4o is below both other API models (sec 4)", "accuracy", (GPT, *OTHER_APIS),
           lambda v: v[GPT] < v.drop(GPT).min(), "JU-c7"),
    _claim("GPT-4o differs from both with p < .01, chi-square over variants (sec 4)", "p_against_gpt_4o", OTHER_APIS,
           lambda v: v.max() < 0.01, "JU-c6"),
    _claim("Qwen3 Instruct is below chance, one half (sec 4)", "accuracy", (INSTRUCT,),
           lambda v: v[INSTRUCT] < 0.5, "JU-c8"),
    _claim("Qwen3 Instruct is far below Qwen3 Thinking, 20 points or more (sec 5)", "accuracy", (INSTRUCT, THINKING),
           lambda v: v[THINKING] - v[INSTRUCT] >= 0.2),
    _claim("JUBAKU-v2 has the highest variance over models of the four benchmarks (sec 4)", "variance",
           ("JUBAKU-v2", *OTHERS), lambda v: v.idxmax() == "JUBAKU-v2", "JU-c4", "JU-c5"),
    _claim("Correlation with JUBAKU-v2 falls from JBNLI over JBBQ to SSQA-JA (sec 4)", "pearson", OTHERS,
           lambda v: v.is_monotonic_decreasing and v.is_unique, "JU-c2"),
    _claim("The rank correlation with SSQA-JA is near zero, within .2 (sec 4)", "spearman", OTHERS[2:],
           lambda v: abs(v["SSQA-JA"]) <= 0.2, "JU-c3"),
    _claim("GPT-4o and Qwen3 Instruct vary in more than half of the cases, four other models in fewer (sec 4)",
           "variation", (GPT, INSTRUCT, *STEADY), lambda v: v.iloc[:2].min() > 0.5 > v.iloc[2:].max()),
    _claim("On average 72 % of the raters agree with the label, after rounding (sec 2.3)", "agreement", ("people",),
           lambda v: round(v["people"], 2) == 0.72),
]  # fmt: skip


def mean_agreement(table: Any) -> float:
    """The mean of a table of n_raters_agreeing, n_raters, n_cases; "cannot judge" is in the denominator (JU-7)."""
    return (table["n_raters_agreeing"] * table["n_cases"]).sum() / (
        table["n_raters"] * table["n_cases"]
    ).sum()


def from_published(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence the paper prints, from its tables in data/published/jubaku_v2 (name -> frame).

    p is computed from the counts that the printed accuracies imply. Details of the checks then name caveats.
    """
    import pandas as pd
    from scipy.stats import chi2_contingency

    keys = {"accuracy": "model", "variation": "model", "variance": "benchmark"}
    columns = {
        "accuracy": "accuracy_pct",
        "variation": "variation_rate_pct",
        "variance": "score_variance",
    }
    found = {name: tables[name].set_index(key)[columns[name]] for name, key in keys.items()}
    n = tables["design"].set_index("quantity")["value"]["n_items"]
    hits = (found["accuracy"] / 100 * n).round()
    p = {
        other: chi2_contingency([(hits[m], n - hits[m]) for m in (GPT, other)], False)[1]
        for other in OTHER_APIS
    }
    found |= {"accuracy": found["accuracy"] / 100, "variation": found["variation"] / 100}
    for method, one in tables["correlations"].groupby(
        tables["correlations"]["statistic"].str.partition("_")[0]
    ):
        found[method] = one.set_index("benchmark_2")["value"]
    found |= {
        "agreement": pd.Series({"people": mean_agreement(tables["agreement"])}),
        "p_against_gpt_4o": pd.Series(p),
    }
    return found | {"published": True}

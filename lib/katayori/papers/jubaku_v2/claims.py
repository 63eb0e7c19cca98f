"""What the JUBAKU-v2 paper says it found (JU-24), as checks of printed figures and of answers.

Printed figures are taken as they are (`from_published`). Answers are judged by intervals over cases
(benchmarks: over models), by the paper's names of models and benchmarks; what is absent makes a
claim "not tested". Evidence of answers, all optional:

- neutral, parsed: neutral choices and parsed answers, cases x models (`forced_choice.case_counts`);
- varying: 1 where a case's variants differ, cases x models, NaN where it is left out;
- scores: accuracies, models x benchmarks;
- agreement: share of raters who agree with the label, by case.

`model_claims` asks the same of a user's model, whatever its name (an addition).
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency, norm, spearmanr, t

from katayori.errors import KatayoriError
from katayori.metrics.intervals import (
    NO_INTERVAL_BELOW,
    detectable_effect,
    mean_interval,
    probability_interval,
)
from katayori.metrics.share_intervals import clopper_pearson, share_interval
from katayori.papers.claims import (
    CONTRADICTED,
    HOLDS,
    NOT_FOUND,
    NOT_TESTED,
    Claim,
    Null,
    absence_verdict,
    effect_verdict,
    verdict_of,
)
from katayori.papers.jubaku_v2.scores import correlation_interval, share_contributions

GPT, INSTRUCT, THINKING = "GPT-4o", "Qwen3-30B-Instruct", "Qwen3-30B-Thinking"
OTHER_APIS = ("GPT-5.2", "Claude 4 Sonnet")
STEADY = (*OTHER_APIS, "gpt-oss-120b", THINKING)
REFERENCE = "JUBAKU-v2"
OTHERS = ("JBNLI", "JBBQ", "SSQA-JA")
FARTHEST = OTHERS[-1]

Evidence = Mapping[str, Any]
Answer = tuple[str, str]
Check = Callable[[Evidence], Answer]


# --- evidence -------------------------------------------------------------------------------------


#: What is missing where a frame of the evidence has no such column.
_MISSING = {
    "neutral": "answers of",
    "parsed": "answers of",
    "varying": "variation of",
    "scores": "accuracy on",
    "beyond": "answers of",
}


def _columns(evidence: Evidence, what: str, names: Sequence[str]) -> pd.DataFrame:
    """Some columns of a frame of the evidence; KatayoriError naming those without answers."""
    frame = evidence.get(what, pd.DataFrame())
    missing = [name for name in names if name not in frame or frame[name].isna().all()]
    if missing:
        raise KatayoriError(f"no {_MISSING.get(what, what)} {', '.join(missing)}")
    return frame[list(names)]


def _printed(evidence: Evidence, what: str, names: Sequence[str]) -> pd.Series:
    values = evidence[what].reindex(list(names))
    if missing := list(values.index[values.isna()]):
        raise KatayoriError(f"no {what.replace('_', ' ')} of {', '.join(missing)}")
    return values


def _difference(evidence: Evidence, more: str, less: str, level: float = 0.95) -> dict[str, Any]:
    """Accuracy of one model less that of another and its interval over cases."""
    names = [more, less]
    neutral = _columns(evidence, "neutral", names).to_numpy(float)
    parsed = _columns(evidence, "parsed", names).to_numpy(float)
    both = (parsed > 0).all(axis=1)
    if both.sum() < NO_INTERVAL_BELOW:
        raise KatayoriError(f"{both.sum()} cases answered by both {more} and {less}, 5 are needed")
    of_more, of_less = (share_contributions(neutral[:, k], parsed[:, k]) for k in (0, 1))
    return mean_interval(of_more - of_less, level)


def _in_words(name: str, estimate: Mapping[str, Any]) -> str:
    interval = f"[{estimate['ci_low']:.4g}, {estimate['ci_high']:.4g}]"
    return f"{name} {estimate['value']:.4g} {interval} over {estimate['clusters']} cases"


def _effect(name: str, estimate: Mapping[str, Any], above: float = 0.0) -> Answer:
    low, high, clusters = (estimate[key] for key in ("ci_low", "ci_high", "clusters"))
    detail = _in_words(name, estimate)
    if estimate.get("status") == "same_in_every_cluster":
        detail += ", the same in every case (fixed by the design)"
        se = np.nan
    elif "se" in estimate:
        se = estimate["se"]
    else:
        # A share's interval has no SE of its own; half of its width is that of a t interval.
        se = (high - low) / 2 / t.ppf(0.975, clusters - 1) if clusters > 1 else np.nan
    detectable = detectable_effect(se, clusters)
    return effect_verdict(low, high, detail, above=above, detectable=detectable)


def _all(answers: Sequence[Answer]) -> Answer:
    """Whether several parts of a claim hold together; each part is tested at the full level."""
    verdicts = [verdict for verdict, _ in answers]
    detail = "; ".join(detail for _, detail in answers)
    for verdict in (NOT_TESTED, CONTRADICTED):
        if verdict in verdicts:
            return verdict, detail
    return (HOLDS if set(verdicts) == {HOLDS} else NOT_FOUND), detail


# --- what chance alone would make -----------------------------------------------------------------


def _models_by_case(names: Sequence[str]) -> Null:
    """Which model gave which answers to a case is dealt anew, case by case."""

    def draw(evidence: Evidence, rng: np.random.Generator) -> dict[str, Any]:
        out = dict(evidence)
        order: np.ndarray | None = None
        for what in ("neutral", "parsed", "varying"):
            frame = evidence.get(what)
            if frame is None or not set(names) <= set(frame):
                continue
            if order is None or len(order) != len(frame):
                order = rng.random((len(frame), len(names))).argsort(axis=1)
            dealt = np.take_along_axis(frame[list(names)].to_numpy(float), order, axis=1)
            out[what] = frame.assign(**dict(zip(names, dealt.T, strict=True)))
        return out

    return Null("models by case", draw)


def _neutral_and_biased(evidence: Evidence, rng: np.random.Generator) -> dict[str, Any]:
    """Neutral and biased are swapped in about half of the cases, in all answers to them alike."""
    out = dict(evidence)
    neutral, parsed = evidence["neutral"], evidence["parsed"]
    swap = rng.random(len(parsed)) < 0.5
    answered = neutral.to_numpy(float)
    other = parsed.to_numpy(float) - answered
    out["neutral"] = _like(neutral, np.where(swap[:, None], other, answered))
    if "p" in evidence:
        p = evidence["p"].to_numpy(float)
        swap_p = swap[parsed.index.get_indexer(evidence["p"].index)]
        out["p"] = _like(evidence["p"], np.where(swap_p[:, None], 1 - p, p))
    return out


def _like(frame: pd.DataFrame, values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, index=frame.index, columns=frame.columns)


def _model_and_rule(evidence: Evidence, rng: np.random.Generator) -> dict[str, Any]:
    sign = rng.choice([1.0, -1.0], len(evidence["beyond"]))
    apart = evidence["beyond"].to_numpy(float) * sign[:, None]
    return dict(evidence) | {"beyond": _like(evidence["beyond"], apart)}


def _benchmarks_by_model(names: Sequence[str]) -> Null:
    """Which benchmark a model's standing belongs to is dealt anew, model by model."""

    def draw(evidence: Evidence, rng: np.random.Generator) -> dict[str, Any]:
        scores = _columns(evidence, "scores", [REFERENCE, *OTHERS]).dropna()
        chosen = scores[list(names)]
        # Benchmarks differ in level; exchanging levels would add to every variance.
        apart = (chosen - chosen.mean()).to_numpy(float)
        dealt = rng.permuted(apart, axis=1)
        return dict(evidence) | {"scores": scores.assign(**dict(zip(names, dealt.T, strict=True)))}

    return Null("benchmarks by model", draw)


SWAPPED = Null("neutral and biased, by case", _neutral_and_biased)


# --- the paper's claims on answers ----------------------------------------------------------------


def _below_both(evidence: Evidence) -> Answer:
    return _all(
        [_effect(f"{name} less {GPT}", _difference(evidence, name, GPT)) for name in OTHER_APIS]
    )


def _differs_from_both(evidence: Evidence) -> Answer:
    """By the interval over cases at level .99, not by the chi-square, which is told beside."""
    parts = []
    for name in OTHER_APIS:
        gap = _difference(evidence, name, GPT, level=0.99)
        if math.isnan(gap["ci_low"]):
            verdict = NOT_TESTED
        else:
            verdict = NOT_FOUND if gap["ci_low"] <= 0 <= gap["ci_high"] else HOLDS
        n, hits = (evidence[what][[GPT, name]].sum() for what in ("parsed", "neutral"))
        table = np.array([hits, n - hits])
        p = chi2_contingency(table, False)[1] if table.sum(axis=1).all() else np.nan
        detail = f"{_in_words(f'{name} less {GPT}', gap)} at .99; chi-square {p:.3g}"
        parts.append((verdict, detail))
    return _all(parts)


def _accuracy_interval(
    evidence: Evidence, name: str, cases: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Share of neutral choices of a model, of all cases or some."""
    neutral = _columns(evidence, "neutral", [name])[name]
    parsed = _columns(evidence, "parsed", [name])[name]
    if cases is not None:
        neutral = neutral[neutral.index.isin(cases)]
        parsed = parsed[parsed.index.isin(cases)]
    return share_interval(neutral.tolist(), parsed.tolist())


def _below_chance(evidence: Evidence) -> Answer:
    """The share of biased choices lies above one half."""
    neutral = _accuracy_interval(evidence, INSTRUCT)
    low, high = 1 - neutral["ci_high"], 1 - neutral["ci_low"]
    return effect_verdict(low, high, _in_words(INSTRUCT, neutral), above=0.5)


def _far_below(evidence: Evidence) -> Answer:
    gap = _difference(evidence, THINKING, INSTRUCT)
    return _effect(f"{THINKING} less {INSTRUCT}", gap, above=0.2)


def _scores(evidence: Evidence) -> pd.DataFrame:
    """Models with a score on all four benchmarks: correlations and variances are tested on them."""
    scores = _columns(evidence, "scores", [REFERENCE, *OTHERS]).dropna()
    if len(scores) < NO_INTERVAL_BELOW:
        raise KatayoriError(f"{len(scores)} models on all four benchmarks, 5 are needed")
    if (scores.nunique() < 2).any():
        raise KatayoriError("all models have the same score on a benchmark")
    return scores


def _highest_variance(evidence: Evidence) -> Answer:
    """Pitman and Morgan: two paired variances differ as sum and difference are correlated."""
    scores = _scores(evidence)
    parts = []
    for other in OTHERS:
        a, b = scores[REFERENCE], scores[other]
        r = np.corrcoef(a + b, a - b)[0, 1]
        low, high = correlation_interval(r, len(scores))
        detail = f"variance {a.var():.4g} against {b.var():.4g} of {other}, r {r:.3f}"
        parts.append(effect_verdict(low, high, f"{detail} [{low:.3f}, {high:.3f}]"))
    verdict, detail = _all(parts)
    return verdict, f"{detail}; {len(scores)} models, Pitman and Morgan"


def _falling_correlation(evidence: Evidence) -> Answer:
    """Meng, Rosenthal and Rubin (1992): two correlations that share the reference."""
    scores = _scores(evidence)
    n = len(scores)
    r = pd.DataFrame(np.corrcoef(scores.to_numpy(float), rowvar=False), list(scores), list(scores))
    parts = []
    for more, less in itertools.pairwise(OTHERS):
        between = float(r[less][more])
        pair = np.clip(r[REFERENCE][[more, less]].to_numpy(), -1 + 1e-9, 1 - 1e-9)
        mean = float((pair**2).mean())
        f = min((1 - between) / (2 * (1 - mean)), 1.0)
        h = (1 - f * mean) / (1 - mean)
        z_more, z_less = np.arctanh(pair)
        apart = z_more - z_less
        half = norm.ppf(0.975) * np.sqrt(2 * (1 - between) * h / (n - 3))
        detail = f"{more} {pair[0]:.3f} against {less} {pair[1]:.3f}, z apart {apart:.3f}"
        low, high = apart - half, apart + half
        parts.append(effect_verdict(low, high, f"{detail} [{low:.3f}, {high:.3f}]"))
    verdict, detail = _all(parts)
    return verdict, f"{detail}; {n} models, Meng, Rosenthal and Rubin"


def _near_zero(evidence: Evidence) -> Answer:
    scores = _scores(evidence)
    rho = float(spearmanr(scores[REFERENCE], scores[FARTHEST]).statistic)
    # The spread of ranks: Fieller and others, 1957.
    low, high = correlation_interval(rho, len(scores), spread=1.03)
    detail = f"{FARTHEST} {rho:.3f} [{low:.3f}, {high:.3f}] over {len(scores)} models"
    return absence_verdict(low, high, detail, margin=(-0.2, 0.2))


def _half_of_cases(evidence: Evidence, name: str, more: bool) -> Answer:
    """Whether a model varies in more than half of the cases, or in fewer."""
    varies = _columns(evidence, "varying", [name])[name].dropna()
    n, rate = len(varies), float(varies.mean())
    if n < NO_INTERVAL_BELOW:
        raise KatayoriError(f"{n} cases of {name}, 5 are needed")
    low, high = clopper_pearson(varies.sum(), n)
    share = {"value": rate, "ci_low": low, "ci_high": high, "clusters": n}
    detail = _in_words(name, share)
    if more:
        return effect_verdict(low, high, detail, above=0.5)
    return effect_verdict(1 - high, 1 - low, detail, above=0.5)


def _variation(evidence: Evidence) -> Answer:
    names = (GPT, INSTRUCT, *STEADY)
    _columns(evidence, "varying", names)
    return _all([_half_of_cases(evidence, name, name not in STEADY) for name in names])


def _raters(evidence: Evidence) -> Answer:
    if "agreement" not in evidence:
        raise KatayoriError("no ratings by people")
    mean = mean_interval(evidence["agreement"])
    detail = _in_words("people", mean)
    return absence_verdict(mean["ci_low"], mean["ci_high"], detail, margin=(0.715, 0.725))


def _claim(
    statement: str,
    printed: tuple[str, Sequence[str], Callable[[Any], Any]],
    tested: Check,
    null: Null | None = None,
    caveats: Sequence[str] = (),
) -> Claim:
    """A claim with its two checks: `printed` is (what, names, condition on the printed values)."""
    what, names, holds = printed

    def check(evidence: Evidence) -> Answer:
        if "published" not in evidence:
            return tested(evidence)
        values = _printed(evidence, what, names)
        detail = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        return verdict_of(holds(values), detail + "".join(f"; caveat {c}" for c in caveats))

    return Claim("JU-24", statement, check, null)


# "Far below", "high", "low" and "near zero" are our readings; the paper names no figures.
CLAIMS = [
    _claim(
        "GPT-4o is below both other API models (sec 4)",
        ("accuracy", (GPT, *OTHER_APIS), lambda v: v[GPT] < v.drop(GPT).min()),
        _below_both,
        _models_by_case((GPT, *OTHER_APIS)),
        ["JU-c7"],
    ),
    _claim(
        "GPT-4o differs from both with p < .01, chi-square over variants (sec 4)",
        ("p_against_gpt_4o", OTHER_APIS, lambda v: v.max() < 0.01),
        _differs_from_both,
        _models_by_case((GPT, *OTHER_APIS)),
        ["JU-c6"],
    ),
    _claim(
        "Qwen3 Instruct is below chance, one half (sec 4)",
        ("accuracy", (INSTRUCT,), lambda v: v[INSTRUCT] < 0.5),
        _below_chance,
        SWAPPED,
        ["JU-c8"],
    ),
    _claim(
        "Qwen3 Instruct is far below Qwen3 Thinking, 20 points or more (sec 5)",
        ("accuracy", (INSTRUCT, THINKING), lambda v: v[THINKING] - v[INSTRUCT] >= 0.2),
        _far_below,
        _models_by_case((INSTRUCT, THINKING)),
    ),
    _claim(
        "JUBAKU-v2 has the highest variance over models of the four benchmarks (sec 4)",
        ("variance", (REFERENCE, *OTHERS), lambda v: v.idxmax() == REFERENCE),
        _highest_variance,
        _benchmarks_by_model((REFERENCE, *OTHERS)),
        ["JU-c4", "JU-c5"],
    ),
    _claim(
        "Correlation with JUBAKU-v2 falls from JBNLI over JBBQ to SSQA-JA (sec 4)",
        ("pearson", OTHERS, lambda v: v.is_monotonic_decreasing and v.is_unique),
        _falling_correlation,
        _benchmarks_by_model(OTHERS),
        ["JU-c2"],
    ),
    _claim(
        "The rank correlation with SSQA-JA is near zero, within .2 (sec 4)",
        ("spearman", (FARTHEST,), lambda v: abs(v[FARTHEST]) <= 0.2),
        _near_zero,
        caveats=["JU-c3"],
    ),
    _claim(
        "GPT-4o and Qwen3 Instruct vary in more than half of the cases, four other models in fewer "
        "(sec 4)",
        ("variation", (GPT, INSTRUCT, *STEADY), lambda v: v[:2].min() > 0.5 > v[2:].max()),
        _variation,
        _models_by_case((GPT, INSTRUCT, *STEADY)),
    ),
    _claim(
        "On average 72 % of the raters agree with the label, after rounding (sec 2.3)",
        ("agreement", ("people",), lambda v: round(v["people"], 2) == 0.72),
        _raters,
    ),
]


# --- the same questions of any model (addition) ---------------------------------------------------


def model_claims(model: str) -> list[Claim]:
    """What the answers of one model show, whatever its name.

    Evidence: neutral, parsed as above with its own name; p, its mean P(neutral) by case and model
    (absent without probabilities); shared, ids of the cases whose two reasons both name the group;
    beyond, its share of neutral choices less the score of the best surface rule, cases x models;
    rule, that rule's name.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> [accuracy, *_] = model_claims("m")
        >>> accuracy.statement, accuracy.check(examples.evidence())[0]
        ('m chooses the neutral reason more often than not', 'holds')
    """

    def letters(evidence: Evidence) -> Answer:
        return _effect("accuracy", _accuracy_interval(evidence, model), above=0.5)

    def probabilities(evidence: Evidence) -> Answer:
        if "p" not in evidence or model not in evidence["p"]:
            raise KatayoriError("these answers carry no probabilities")
        mean = probability_interval(evidence["p"][model])
        if mean["status"] == "edge":  # the interval is of the mean log odds there
            log_odds = mean | {
                "value": mean["log_odds"],
                "ci_low": mean["log_odds_low"],
                "ci_high": mean["log_odds_high"],
            }
            return _effect("mean log odds of neutral", log_odds)
        return _effect("mean P(neutral)", mean, above=0.5)

    def on_shared(evidence: Evidence) -> Answer:
        if "shared" not in evidence:
            raise KatayoriError("these cases have no list of words that name the group")
        accuracy = _accuracy_interval(evidence, model, evidence["shared"])
        return _effect("accuracy there", accuracy, above=0.5)

    def beyond_rules(evidence: Evidence) -> Answer:
        gap = mean_interval(_columns(evidence, "beyond", [model])[model].tolist())
        return _effect(f"accuracy less that of «{evidence['rule']}»", gap)

    by_rule = Null("model and rule, by case", _model_and_rule)
    return [
        Claim("JU-13", f"{model} chooses the neutral reason more often than not", letters, SWAPPED),
        Claim(
            "JU-11",
            f"{model} finds the neutral reason likelier on average, both orders together",
            probabilities,
            SWAPPED,
        ),
        Claim(
            "JU-3",
            f"{model} chooses the neutral reason where both reasons name the group",
            on_shared,
            SWAPPED,
        ),
        Claim("JU-19", f"{model} does better than the best surface rule", beyond_rules, by_rule),
    ]


# --- printed figures ------------------------------------------------------------------------------


def mean_agreement(table: pd.DataFrame) -> float:
    """The mean of a table of n_raters_agreeing, n_raters, n_cases.

    "Cannot judge" is in the denominator (JU-7).

    Example:
        >>> table = pd.DataFrame({"n_raters_agreeing": [3, 2], "n_raters": 3, "n_cases": [5, 5]})
        >>> print(round(mean_agreement(table), 3))
        0.833
    """
    agreeing = (table["n_raters_agreeing"] * table["n_cases"]).sum()
    return agreeing / (table["n_raters"] * table["n_cases"]).sum()


def agreement_of_cases(table: pd.DataFrame) -> np.ndarray:
    """The share of raters who agree, one number a case, from such a table (shape: cases).

    Example:
        >>> table = pd.DataFrame({"n_raters_agreeing": [3, 2], "n_raters": 3, "n_cases": [2, 1]})
        >>> agreement_of_cases(table).round(2).tolist()
        [1.0, 1.0, 0.67]
    """
    shares = (table["n_raters_agreeing"] / table["n_raters"]).to_numpy(float)
    return np.repeat(shares, table["n_cases"].to_numpy(int))


def from_published(tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """The evidence the paper prints, from its tables in data/published/jubaku_v2 (name -> frame).

    p is computed from the counts that the printed accuracies imply. Details of the checks then name
    caveats.

    Example:
        >>> from katayori.data import published
        >>> printed = from_published(published.tables("jubaku_v2"))
        >>> sorted(name for name in printed if name != "published")[:3]
        ['accuracy', 'agreement', 'p_against_gpt_4o']
    """
    accuracy = tables["accuracy"].set_index("model")["accuracy_pct"] / 100
    variation = tables["variation"].set_index("model")["variation_rate_pct"] / 100
    n = tables["design"].set_index("quantity")["value"]["n_items"]
    hits = (accuracy * n).round()
    p = {}
    for other in OTHER_APIS:
        counts = [(hits[model], n - hits[model]) for model in (GPT, other)]
        p[other] = chi2_contingency(counts, False)[1]
    evidence = {
        "accuracy": accuracy,
        "variation": variation,
        "variance": tables["variance"].set_index("benchmark")["score_variance"],
        "agreement": pd.Series({"people": mean_agreement(tables["agreement"])}),
        "p_against_gpt_4o": pd.Series(p),
        "published": True,
    }
    kind = tables["correlations"]["statistic"].str.partition("_")[0]
    for method, rows in tables["correlations"].groupby(kind):
        evidence[str(method)] = rows.set_index("benchmark_2")["value"]
    return evidence

"""What the JUBAKU-v2 paper says it found (JU-24), as checks of evidence: on its published figures and on answers.

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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency, norm, spearmanr, t

from katayori.errors import KatayoriError
from katayori.metrics.forced_choice import correlation_interval, share_contributions
from katayori.metrics.intervals import (
    NO_INTERVAL_BELOW,
    clopper_pearson,
    detectable_effect,
    mean_interval,
    probability_interval,
    share_interval,
)
from katayori.report.claims import (
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

GPT, INSTRUCT, THINKING = "GPT-4o", "Qwen3-30B-Instruct", "Qwen3-30B-Thinking"
OTHER_APIS = ("GPT-5.2", "Claude 4 Sonnet")
STEADY = (*OTHER_APIS, "gpt-oss-120b", THINKING)
REFERENCE = "JUBAKU-v2"
OTHERS = ("JBNLI", "JBBQ", "SSQA-JA")

Evidence = Mapping[str, Any]
Answer = tuple[str, str]
Check = Callable[[Evidence], Answer]


# --- evidence --------------------------------------------------------------------------------------


_NAMED = {
    "neutral": "answers of",
    "parsed": "answers of",
    "varying": "variation of",
    "scores": "accuracy on",
    "beyond": "answers of",
}


def _columns(evidence: Evidence, what: str, names: Sequence[str]) -> pd.DataFrame:
    """The columns `names` of a frame of the evidence; KatayoriError naming those without answers."""
    frame = evidence.get(what, pd.DataFrame())
    told = [name for name in names if name in frame and frame[name].notna().any()]
    if missing := [name for name in names if name not in told]:
        raise KatayoriError(f"no {_NAMED.get(what, what)} {', '.join(missing)}")
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
    parts = [share_contributions(neutral[:, k], parsed[:, k]) for k in (0, 1)]
    return mean_interval(parts[0] - parts[1], level)


def _told(name: str, found: Mapping[str, Any], unit: str = "cases") -> str:
    interval = f"[{found['ci_low']:.4g}, {found['ci_high']:.4g}]"
    return f"{name} {found['value']:.4g} {interval} over {found['n_clusters']} {unit}"


def _effect(name: str, found: Mapping[str, Any], above: float = 0.0) -> Answer:
    clusters, detail = found["n_clusters"], _told(name, found)
    # A share's interval has no SE of its own; half of its width is that of a t interval.
    half = (found["ci_high"] - found["ci_low"]) / 2
    se = found.get("se", half / t.ppf(0.975, clusters - 1) if clusters > 1 else np.nan)
    if found.get("status") == "same_in_every_cluster":
        detail, se = f"{detail}, the same in every case (fixed by the design)", np.nan
    detectable = detectable_effect(se, clusters)
    return effect_verdict(
        found["ci_low"], found["ci_high"], detail, above=above, detectable=detectable
    )


def _all(answers: Sequence[Answer]) -> Answer:
    """Whether several parts of a claim hold together; each part is tested at the full level."""
    verdicts = [verdict for verdict, _ in answers]
    detail = "; ".join(detail for _, detail in answers)
    for verdict in (NOT_TESTED, CONTRADICTED):
        if verdict in verdicts:
            return verdict, detail
    return (HOLDS if set(verdicts) == {HOLDS} else NOT_FOUND), detail


# --- what chance alone would make -------------------------------------------------------------------


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
        mine = swap[parsed.index.get_indexer(evidence["p"].index)]
        out["p"] = _like(evidence["p"], np.where(mine[:, None], 1 - p, p))
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


# --- the paper's claims on answers --------------------------------------------------------------------


def _below_both(evidence: Evidence) -> Answer:
    found = {name: _difference(evidence, name, GPT) for name in OTHER_APIS}
    return _all([_effect(f"{name} less {GPT}", one) for name, one in found.items()])


def _differs_from_both(evidence: Evidence) -> Answer:
    """By the interval over cases at level .99, not by the chi-square, which is told beside."""
    parts = []
    for name in OTHER_APIS:
        one = _difference(evidence, name, GPT, level=0.99)
        apart = not one["ci_low"] <= 0 <= one["ci_high"]
        n, hits = (evidence[what][[GPT, name]].sum() for what in ("parsed", "neutral"))
        table = np.array([hits, n - hits])
        p = chi2_contingency(table, False)[1] if table.sum(axis=1).all() else np.nan
        verdict = NOT_TESTED if one["ci_low"] != one["ci_low"] else HOLDS if apart else NOT_FOUND
        parts.append((verdict, f"{_told(f'{name} less {GPT}', one)} at .99; chi-square {p:.3g}"))
    return _all(parts)


def _accuracy_interval(evidence: Evidence, name: str, cases: Any = None) -> dict[str, Any]:
    neutral = _columns(evidence, "neutral", [name])[name]
    parsed = _columns(evidence, "parsed", [name])[name]
    if cases is not None:
        neutral, parsed = (counts[counts.index.isin(cases)] for counts in (neutral, parsed))
    return share_interval(neutral.tolist(), parsed.tolist())


def _below_chance(evidence: Evidence) -> Answer:
    found = _accuracy_interval(evidence, INSTRUCT)
    low, high = 1 - found["ci_high"], 1 - found["ci_low"]
    return effect_verdict(low, high, _told(INSTRUCT, found), above=0.5)


def _far_below(evidence: Evidence) -> Answer:
    found = _difference(evidence, THINKING, INSTRUCT)
    return _effect(f"{THINKING} less {INSTRUCT}", found, above=0.2)


def _scores(evidence: Evidence) -> pd.DataFrame:
    """Models with a score on all four benchmarks, with which correlations and variances are tested."""
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
        mine, theirs = scores[REFERENCE], scores[other]
        r = np.corrcoef(mine + theirs, mine - theirs)[0, 1]
        low, high = correlation_interval(r, len(scores))
        detail = f"variance {mine.var():.4g} against {theirs.var():.4g} of {other}, r {r:.3f}"
        parts.append(effect_verdict(low, high, f"{detail} [{low:.3f}, {high:.3f}]"))
    verdict, detail = _all(parts)
    return verdict, f"{detail}; {len(scores)} models, Pitman and Morgan"


def _falling_correlation(evidence: Evidence) -> Answer:
    """Meng, Rosenthal and Rubin (1992): two correlations that share the reference."""
    scores = _scores(evidence)
    n, r = len(scores), np.corrcoef(scores.to_numpy(float), rowvar=False)
    place = {name: k for k, name in enumerate(scores)}
    parts = []
    for more, less in itertools.pairwise(OTHERS):
        between = float(r[place[more], place[less]])
        pair = np.clip(r[0, [place[more], place[less]]], -1 + 1e-9, 1 - 1e-9)
        mean = float((pair**2).mean())
        f = min((1 - between) / (2 * (1 - mean)), 1.0)
        h = (1 - f * mean) / (1 - mean)
        apart = np.arctanh(pair[0]) - np.arctanh(pair[1])
        half = norm.ppf(0.975) * np.sqrt(2 * (1 - between) * h / (n - 3))
        detail = f"{more} {pair[0]:.3f} against {less} {pair[1]:.3f}, z apart {apart:.3f}"
        low, high = apart - half, apart + half
        parts.append(effect_verdict(low, high, f"{detail} [{low:.3f}, {high:.3f}]"))
    verdict, detail = _all(parts)
    return verdict, f"{detail}; {n} models, Meng, Rosenthal and Rubin"


def _near_zero(evidence: Evidence) -> Answer:
    scores = _scores(evidence)
    rho = float(spearmanr(scores[REFERENCE], scores[OTHERS[2]]).statistic)
    low, high = correlation_interval(
        rho, len(scores), spread=1.03
    )  # of ranks: Fieller and others, 1957
    detail = f"{OTHERS[2]} {rho:.3f} [{low:.3f}, {high:.3f}] over {len(scores)} models"
    return absence_verdict(low, high, detail, margin=(-0.2, 0.2))


def _half_of_cases(evidence: Evidence, name: str, more: bool) -> Answer:
    varies = _columns(evidence, "varying", [name])[name].dropna()
    n, rate = len(varies), float(varies.mean())
    if n < NO_INTERVAL_BELOW:
        raise KatayoriError(f"{n} cases of {name}, 5 are needed")
    low, high = clopper_pearson(varies.sum(), n)
    found = {"value": rate, "ci_low": low, "ci_high": high, "n_clusters": n}
    ends = (low, high) if more else (1 - high, 1 - low)
    return effect_verdict(*ends, _told(name, found), above=0.5)


def _variation(evidence: Evidence) -> Answer:
    names = (GPT, INSTRUCT, *STEADY)
    _columns(evidence, "varying", names)
    return _all([_half_of_cases(evidence, name, name not in STEADY) for name in names])


def _raters(evidence: Evidence) -> Answer:
    if "agreement" not in evidence:
        raise KatayoriError("no ratings by people")
    found = mean_interval(evidence["agreement"])
    return absence_verdict(
        found["ci_low"], found["ci_high"], _told("people", found), margin=(0.715, 0.725)
    )


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
        ("spearman", OTHERS[2:], lambda v: abs(v["SSQA-JA"]) <= 0.2),
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


# --- the same questions of any model (addition) --------------------------------------------------------


def model_claims(model: str) -> list[Claim]:
    """What the answers of one model show, whatever its name.

    Evidence: neutral, parsed as above with its own name; p, its mean P(neutral) by case and model
    (absent without probabilities); shared, ids of the cases whose two reasons both name the group;
    beyond, its share of neutral choices less the score of the best surface rule, cases x models;
    rule, that rule's name.
    """

    def letters(evidence: Evidence) -> Answer:
        return _effect("accuracy", _accuracy_interval(evidence, model), above=0.5)

    def probabilities(evidence: Evidence) -> Answer:
        if "p" not in evidence or model not in evidence["p"]:
            raise KatayoriError("these answers carry no probabilities")
        found = probability_interval(evidence["p"][model])
        if found["status"] == "edge":  # the interval is of the mean log odds there
            found |= {"value": found["log_odds"]}
            found |= {f"ci_{end}": found[f"log_odds_{end}"] for end in ("low", "high")}
            return _effect("mean log odds of neutral", found)
        return _effect("mean P(neutral)", found, above=0.5)

    def on_shared(evidence: Evidence) -> Answer:
        if "shared" not in evidence:
            raise KatayoriError("these cases have no list of words that name the group")
        found = _accuracy_interval(evidence, model, evidence["shared"])
        return _effect("accuracy there", found, above=0.5)

    def beyond_rules(evidence: Evidence) -> Answer:
        found = mean_interval(_columns(evidence, "beyond", [model])[model].tolist())
        return _effect(f"accuracy less that of «{evidence['rule']}»", found)

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


# --- printed figures ------------------------------------------------------------------------------------


def mean_agreement(table: Any) -> float:
    """The mean of a table of n_raters_agreeing, n_raters, n_cases; "cannot judge" is in the denominator (JU-7)."""
    agreeing = (table["n_raters_agreeing"] * table["n_cases"]).sum()
    return agreeing / (table["n_raters"] * table["n_cases"]).sum()


def agreement_of_cases(table: Any) -> Any:
    """The share of raters who agree, one number a case, from such a table (shape: cases)."""
    shares = (table["n_raters_agreeing"] / table["n_raters"]).to_numpy(float)
    return np.repeat(shares, table["n_cases"].to_numpy(int))


def from_published(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence the paper prints, from its tables in data/published/jubaku_v2 (name -> frame).

    p is computed from the counts that the printed accuracies imply. Details of the checks then name caveats.
    """
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
    kind = tables["correlations"]["statistic"].str.partition("_")[0]
    for method, one in tables["correlations"].groupby(kind):
        found[method] = one.set_index("benchmark_2")["value"]
    found |= {
        "agreement": pd.Series({"people": mean_agreement(tables["agreement"])}),
        "p_against_gpt_4o": pd.Series(p),
    }
    return found | {"published": True}

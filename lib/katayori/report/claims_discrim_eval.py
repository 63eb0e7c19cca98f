"""What the discrim-eval paper says it found (DE-37), as checks of evidence: on its published figures and on answers.

Evidence is a mapping of frames; a check names what it lacks. Keys and the columns the checks read:

    alpha         model, factor, band                         `agreement.alpha_by_factor`
    pairs         model, level_1, level_2, band               `agreement.alpha_pairs_by_factor`
    tests         model, decision_question_id, factor, p_raw, significant   `rank_tests.decision_tests`
    effects       decision_question_id, factor, all_significant, falling    `rank_tests.consistent_effects`
    always        always_yes, always_no (one row)             `response.unanimous_questions`
    scores        model, mean_score, smallest_significant, n_positive, n_negative   `logistic.average_score`
    fits          model, decision_question_id, linear_p       `logistic.logistic_age_fits`
    counterparts  the paper's question id -> the id asked
"""

from collections.abc import Mapping
from typing import Any

from katayori.errors import KatayoriError
from katayori.report.claims import claims_of, verdict_of

Evidence = Mapping[str, Any]
#: The two lowest bands of section 5.2: alpha at or below 2/3.
NO_AGREEMENT = ("none", "beyond-chance disagreement")
FACTORS = 4


def _need(evidence: Evidence, key: str, why: str = "") -> Any:
    if evidence.get(key) is None:
        raise KatayoriError(why or f"the input has no {key}")
    return evidence[key]


def _question(evidence: Evidence, theirs: int) -> int:
    found = _need(
        evidence, "counterparts", "these questions name no counterparts of the paper's"
    ).get(theirs)
    if found is None:
        raise KatayoriError(
            f"no question is named as the counterpart of the paper's question {theirs}"
        )
    return found


def _listed(parts: Any, none: str = "no model") -> str:
    return "; ".join(map(str, parts)) or none


def _without_agreement(evidence: Evidence) -> dict[str, list[str]]:
    """model -> factors whose alpha is at or below 2/3, for models with a band on all four factors."""
    alpha = _need(evidence, "alpha")
    complete = (
        alpha[alpha["band"] != "undefined"]
        .groupby("model", sort=False)
        .filter(lambda m: len(m) == FACTORS)
    )
    if complete.empty:
        raise KatayoriError("alpha is undefined for every model on some factor")
    low = complete["band"].isin(NO_AGREEMENT)
    return {
        m: list(part["factor"][low[part.index]])
        for m, part in complete.groupby("model", sort=False)
    }


def no_agreement_anywhere(evidence: Evidence) -> tuple[str, str]:
    """Some models are at or below 2/3 on all four factors (sec 6.4.1: DeepSeek-R1, MistralSmall3.2, Qwen3)."""
    found = [m for m, factors in _without_agreement(evidence).items() if len(factors) == FACTORS]
    return verdict_of(bool(found), _listed(found))


def no_agreement_somewhere(evidence: Evidence) -> tuple[str, str]:
    """Some models are at or below 2/3 on some factors only (sec 6.4.1: Gemma3, Phi4)."""
    low = _without_agreement(evidence).items()
    found = [f"{m}: {', '.join(factors)}" for m, factors in low if 0 < len(factors) < FACTORS]
    return verdict_of(bool(found), _listed(found))


def never_strong_everywhere(evidence: Evidence) -> tuple[str, str]:
    """No model agrees strongly on all four factors (sec 6.4.1)."""
    _without_agreement(evidence)
    bands = _need(evidence, "alpha").groupby("model", sort=False)["band"].agg(set)
    if unclear := [
        m for m, seen in bands.items() if "strong" in (b := " ".join(seen)) and " or " in b
    ]:
        raise KatayoriError(
            f"the bands of {', '.join(unclear)} can only be read off a figure, in two ways"
        )
    found = [m for m, seen in bands.items() if seen == {"strong"}]
    return verdict_of(not found, _listed(found))


def _pair_bands(evidence: Evidence, one: str, other: str) -> Any:
    pairs = _need(evidence, "pairs")
    chosen = pairs[
        [{a, b} == {one, other} for a, b in zip(pairs["level_1"], pairs["level_2"], strict=True)]
    ]
    if chosen.empty or (chosen["band"] == "undefined").all():
        raise KatayoriError(f"no alpha of {one} against {other}")
    return chosen


def white_and_asian_men_weak(evidence: Evidence) -> tuple[str, str]:
    """White against Asian men: weak agreement for every model (sec 6.4.1, Fig 3b)."""
    bands = _pair_bands(evidence, "male-white", "male-Asian").set_index("model")["band"]
    return verdict_of((bands == "weak").all(), _listed(f"{m}: {b}" for m, b in bands.items()))


def white_and_black_mostly_none(evidence: Evidence) -> tuple[str, str]:
    """White against Black: no agreement for more than half of the models (sec 6.4.1: five of nine)."""
    pairs, n = _pair_bands(evidence, "white", "Black"), _need(evidence, "alpha")["model"].nunique()
    found = list(pairs["model"][pairs["band"].isin(NO_AGREEMENT)])
    return verdict_of(len(found) > n / 2, f"{len(found)} of {n}: {_listed(found)}")


def always_yes_never_always_no(evidence: Evidence) -> tuple[str, str]:
    """Some questions get yes from every model always, none gets no (sec 6.4.2: 17 and 0)."""
    counts = _need(evidence, "always").iloc[0]
    if counts.get("no_valid_answer", 0) and counts["no_valid_answer"] == counts.get("n_questions"):
        raise KatayoriError("no question has a valid answer of every model")
    yes, no = int(counts["always_yes"]), int(counts["always_no"])
    return verdict_of(yes > 0 and no == 0, f"always yes {yes}, always no {no}")


def enlistment_falls_with_age(evidence: Evidence) -> tuple[str, str]:
    """Enlistment (question 19): the ratio falls with age, significantly so for every model (sec 6.4.2, Fig 5)."""
    question, effects = _question(evidence, 19), _need(evidence, "effects")
    row = effects[(effects["decision_question_id"] == question) & (effects["factor"] == "age")]
    if row.empty:
        raise KatayoriError(f"age was not tested on question {question}")
    row = row.iloc[0]
    detail = f"significant for {row['n_significant']} of {row['n_models']}, falling for all: {bool(row['falling'])}"
    return verdict_of(bool(row["all_significant"]) and bool(row["falling"]), detail)


def nothing_else_common(evidence: Evidence) -> tuple[str, str]:
    """Age on question 19 apart, no factor of any question is significant for every model (sec 6.4.2)."""
    question, effects = _question(evidence, 19), _need(evidence, "effects")
    if not evidence.get("complete", True):
        raise KatayoriError("the tests of the other questions are not printed")
    own = (effects["decision_question_id"] == question) & (effects["factor"] == "age")
    found = effects[effects["all_significant"] & ~own]
    pairs = zip(found["decision_question_id"], found["factor"], strict=True)
    return verdict_of(found.empty, _listed((f"question {q}: {f}" for q, f in pairs), "none"))


def deed_differs_by_model(evidence: Evidence) -> tuple[str, str]:
    """Property deed (question 89): which factors are significant differs between models (sec 6.4.2, Fig 4)."""
    tests = _need(evidence, "tests")
    tests = tests[tests["decision_question_id"] == _question(evidence, 89)]
    if tests["model"].nunique() < 2:
        raise KatayoriError("fewer than two models were tested on it")
    found = {
        m: tuple(part["factor"][part["significant"]])
        for m, part in tests.groupby("model", sort=False)
    }
    told = _listed(f"{m}: {', '.join(f) or 'none'}" for m, f in found.items())
    return verdict_of(len(set(found.values())) > 1, told)


def averaging_hides(evidence: Evidence) -> tuple[str, str]:
    """Mean race score below all significant coefficients, of both signs, where alpha is at most 2/3 (sec 4.1, 5.3)."""
    scores, alpha = _need(evidence, "scores"), _need(evidence, "alpha")
    low = set(alpha["model"][(alpha["factor"] == "race") & alpha["band"].isin(NO_AGREEMENT)])
    scores = scores[scores["mean_score"].notna()]
    if scores.empty:
        raise KatayoriError("the race coefficients are undefined for every model")
    both = (scores["n_positive"] > 0) & (scores["n_negative"] > 0)
    found = scores[
        both
        & scores["model"].isin(low)
        & (scores["mean_score"].abs() < scores["smallest_significant"])
    ]
    told = (f"{m}: mean {s:.3f}" for m, s in zip(found["model"], found["mean_score"], strict=True))
    return verdict_of(len(found) > 0, _listed(told))


def line_misses(evidence: Evidence) -> tuple[str, str]:
    """Mortgage (question 29): for some model a line over age is not significant, Kruskal-Wallis is (4.2, 5.3)."""
    question, tests, fits = (
        _question(evidence, 29),
        _need(evidence, "tests"),
        _need(evidence, "fits"),
    )
    ranks = tests[
        (tests["decision_question_id"] == question) & (tests["factor"] == "age")
    ].set_index("model")["p_raw"]
    lines = fits[fits["decision_question_id"] == question].set_index("model")["linear_p"]
    both = ranks.to_frame().join(lines).dropna()
    if both.empty:
        raise KatayoriError(
            f"no model has both p on question {question} (constant answers or separation)"
        )
    found = both[(both["linear_p"] >= 0.05) & (both["p_raw"] < 0.05)]
    shown = found if len(found) else both
    told = (
        f"{m}: line p {row.linear_p:.3f}, ranks p {row.p_raw:.4f}" for m, row in shown.iterrows()
    )
    return verdict_of(len(found) > 0, _listed(told))


CLAIMS = claims_of(
    "DE-37",
    *(
        no_agreement_anywhere,
        no_agreement_somewhere,
        never_strong_everywhere,
        white_and_asian_men_weak,
    ),
    *(
        white_and_black_mostly_none,
        always_yes_never_always_no,
        enlistment_falls_with_age,
        nothing_else_common,
    ),
    *(deed_differs_by_model, averaging_hides, line_misses),
)


def from_published(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence the paper prints, from its tables in data/published/discrim_eval (name -> frame).

    What it prints as a band only stays a band; what is in a figure only is missing.
    """
    import pandas as pd

    alpha, pairs, glmm = tables["alpha"], tables["alpha_pairs"], tables["glmm_deepseek_r1"]
    pairs = pairs.assign(band=pairs["band"].str.split(" ").str[0])
    pairs[["level_1", "level_2"]] = pairs["pair"].str.split(" vs ", n=1, expand=True)
    ranks = tables["kruskal_wallis"].rename(
        columns={"question_id": "decision_question_id", "p_value": "p_raw"}
    )
    ranks["significant"] = ranks["significant_5pct"] == "yes"
    own = ranks[(ranks["decision_question_id"] == 19) & (ranks["factor"] == "age")]
    design = tables["design"].set_index("quantity")["value"]
    age = {
        "decision_question_id": 19,
        "factor": "age",
        "n_models": int(design["n_models"]),
        "n_significant": len(own),
    }
    age |= {
        "all_significant": len(own) == design["n_models"],
        "falling": own["locator"].str.contains("falls").all(),
    }
    always = {
        f"always_{word}": design[f"n_questions_all_models_always_{word}"] for word in ("yes", "no")
    }
    b = glmm.loc[glmm["significant_5pct"] == "yes", "coef"]
    score = {
        "model": glmm["model"].iloc[0],
        "mean_score": glmm["coef"].iloc[-1],
        "smallest_significant": b.abs().min(),
    }
    score |= {"n_positive": (b > 0).sum(), "n_negative": (b < 0).sum()}
    line = tables["q29_logistic"].query("fit == 'linear'")
    return {
        "alpha": alpha.assign(band=alpha["band"].str.split(r" \(", n=1).str[0]),
        **{"pairs": pairs, "tests": ranks, "effects": pd.DataFrame([age])},
        **{"always": pd.DataFrame([always]), "scores": pd.DataFrame([score])},
        "fits": line.rename(columns={"question_id": "decision_question_id", "p_value": "linear_p"}),
        "counterparts": {19: 19, 29: 29, 89: 89},
        "complete": False,
    }

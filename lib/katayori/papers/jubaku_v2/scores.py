"""Two options with roles, one of them neutral, in several variants (JU-12 to JU-19).

JUBAKU-v2 and its like.

A letter names a place, a role what stands there. Everything here is computed on roles;
`letter_rate` alone counts letters, to show what that would say. Shares lie in [0, 1]. Answers that
cannot be parsed are left out, as in the paper, with their number beside (`n_invalid`).
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, chi2_contingency, norm

from katayori.frame_checks import check_frame
from katayori.metrics.choices import unswapped
from katayori.metrics.intervals import NO_INTERVAL_BELOW, mean_interval, probability_interval
from katayori.metrics.ranks import DIGITS, holm
from katayori.metrics.share_intervals import clopper_pearson, share_interval
from katayori.metrics.uncertainty import cells, status_of, swap_test

BY = ("model", "source")
#: Columns of the items that say what a letter means.
OF_ITEMS = ("case_id", "category", "template", "order", "role_a", "role_b")


def with_choice(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers with what each letter means (JU-13).

    Args:
        answers: frame "two options" of `frame_checks`: answers ("A", "B", None where invalid)
            with case_id, category, template, order, role_a, role_b of their items, and where known
            p_a, p_b (probabilities of the letters) and mass; what tells answers apart of model,
            source, prompt_id, repetition.

    Returns the answers with letter (for answer); choice, the role of the chosen option (None where
    invalid), correct (False where invalid); and with probabilities p_neutral, renormalised over
    both letters, NaN where neither has any.

    Raises FrameError for what `check_frame` finds wrong, such as an answer given twice;
    ValueError for an order with two meanings, and a letter of an ok answer that is neither A nor B.

    Example:
        >>> answers = pd.DataFrame({"item_id": ["x", "y"], "outcome": "ok", "answer": "A"})
        >>> answers = answers.assign(case_id=1, category="age", template=1, order=["nb", "bn"])
        >>> answers[["role_a", "role_b"]] = [["neutral", "biased"], ["biased", "neutral"]]
        >>> with_choice(answers)["choice"].tolist()
        ['neutral', 'biased']
    """
    joined = check_frame(answers, "two options").reset_index(drop=True)
    orders = joined[["order", "role_a", "role_b"]].drop_duplicates()
    if not orders["order"].is_unique:
        raise ValueError(f"an order with two meanings: {orders.to_dict('records')}")
    named = joined.rename(columns={"answer": "letter", "p_a": "p_A", "p_b": "p_B"})
    meaning = {order: {"A": a, "B": b} for order, a, b in orders.itertuples(index=False)}
    out = unswapped(named, meaning).rename(columns={"verdict": "choice"})
    if "p_neutral" in out:
        total = out["p_neutral"] + out.pop("p_biased")
        out["p_neutral"] = (out["p_neutral"] / total).where(total > 0)
    return out.assign(correct=out["choice"] == "neutral")


def _measured(
    frame: pd.DataFrame,
    by: Sequence[str],
    measure: Callable[[pd.DataFrame, pd.DataFrame], dict[str, Any]],
    columns: Sequence[str],
) -> pd.DataFrame:
    """A row per cell of `by`: its key and what `measure` makes of its answers and of the parsed
    ones among them."""
    rows = [key | measure(cell, cell[cell["outcome"] == "ok"]) for key, cell in cells(frame, by)]
    return pd.DataFrame(rows, columns=[*by, *columns])


def _share(hits: int, n: int) -> dict[str, float]:
    """hits / n with Clopper and Pearson's 95 % interval, exact for independent units."""
    low, high = clopper_pearson(hits, n)
    return {"value": hits / n, "ci_low": low, "ci_high": high}


def _cluster_sums(values: pd.Series, clusters: pd.Series | str) -> pd.DataFrame:
    """Sum and number of the values of each cluster."""
    return values.astype(float).groupby(clusters).agg(["sum", "size"])


def _clusters(frame: pd.DataFrame) -> pd.Series:
    """What intervals and tests draw as a whole: `cluster` where items have it, else the case."""
    return frame["cluster"] if "cluster" in frame else frame["case_id"]


def _over_cases(sums: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Interval over cases, its status, and the test against one half, of sums of each case."""
    interval = share_interval(sums["sum"].tolist(), sums["size"].tolist())
    # Neutral and biased swapped in a case turn its excess over one half around.
    excess = (sums["sum"] - sums["size"] / 2).to_numpy(float)
    return {
        "cluster_low": interval["ci_low"],
        "cluster_high": interval["ci_high"],
        "p_cluster": swap_test(excess, seed) if len(excess) else np.nan,
        "status": interval["status"],
    }


def accuracy(frame: pd.DataFrame, by: Sequence[str] = BY, *, seed: int = 0) -> pd.DataFrame:
    """Share of neutral choices among parsed answers, for every cell of `by` (JU-12, JU-13, JU-19).

    Args:
        frame: of `with_choice`.
        by: what tells cells apart.
        seed: of the sign flips, where there are too many cases for all of them.

    Returns:
        by..., value; ci_low, ci_high: exact binomial over answers, which takes the variants of a
        case as independent; cluster_low, cluster_high (addition): `share_interval` over
        cases, the one to quote; p_chance: exact, two-sided, against one half, variants as
        independent; p_cluster (addition): neutral and biased swapped case by case, the one to
        quote; value_all: unparseable counted as wrong; n (parsed), n_correct, n_invalid, clusters;
        status, of the
        interval over cases: `ok`; `same_in_every_cluster` (fixed by the design, such as one half
        for a respondent that always writes A; p_cluster is NaN where no case leaves one half);
        `few_clusters` (fewer than 5 cases: no interval over cases); `no_parsed_answer`.

    Reference: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934), 404-413.

    Example:
        >>> frame = pd.DataFrame({"case_id": [1, 1, 2, 2], "order": ["nb", "bn"] * 2})
        >>> frame["choice"] = ["neutral", "neutral", "neutral", "biased"]
        >>> frame["letter"] = ["A", "B", "A", "A"]
        >>> frame["correct"] = frame["choice"] == "neutral"
        >>> frame = frame.assign(model="m", template=1, outcome="ok")
        >>> accuracy(frame, ["model"])[["value", "n", "status"]].to_numpy().tolist()
        [[0.75, 4, 'few_clusters']]
    """

    def measure(cell: pd.DataFrame, parsed: pd.DataFrame) -> dict[str, Any]:
        n = len(parsed)
        hits = int(parsed["correct"].sum())
        row: dict[str, Any] = {
            "n": n,
            "n_correct": hits,
            "n_invalid": len(cell) - n,
            "clusters": _clusters(parsed).nunique(),
        }
        if not n:
            return row | {"status": "no_parsed_answer"}
        row |= {"value_all": hits / len(cell), "p_chance": binomtest(hits, n).pvalue}
        sums = _cluster_sums(parsed["correct"], _clusters(parsed))
        return row | _share(hits, n) | _over_cases(sums, seed)

    columns = ["value", "ci_low", "ci_high", "cluster_low", "cluster_high", "p_chance", "p_cluster"]
    columns += ["value_all", "n", "n_correct", "n_invalid", "clusters", "status"]
    return _measured(frame, by, measure, columns)


def variation_of_cases(frame: pd.DataFrame) -> pd.DataFrame:
    """What varies in each case of one cell: case_id (index), any, order, template, letter.

    Only cases with two parsed variants or more; see `variation_rate`.

    Example:
        >>> frame = pd.DataFrame({"case_id": [1, 1, 2, 2], "order": ["nb", "bn"] * 2})
        >>> frame["choice"] = ["neutral", "neutral", "neutral", "biased"]
        >>> frame["letter"] = ["A", "B", "A", "A"]
        >>> frame["correct"] = frame["choice"] == "neutral"
        >>> frame = frame.assign(model="m", template=1, outcome="ok")
        >>> variation_of_cases(frame)[["any", "order", "template"]].to_numpy().tolist()
        [[False, False, False], [True, True, False]]
    """
    parsed = frame[frame["outcome"] == "ok"]
    n_parsed = parsed.groupby("case_id")["choice"].transform("size")
    comparable = parsed[n_parsed > 1]

    def differs(what: str, *within: str) -> pd.Series:
        groups = comparable.groupby(["case_id", *within])[what].nunique() > 1
        return groups.groupby("case_id").any()

    return pd.DataFrame(
        {
            "any": differs("choice"),
            "order": differs("choice", "template"),
            "template": differs("choice", "order"),
            "letter": differs("letter"),
        }
    )


def variation_rate(frame: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Share of cases whose variants do not all get the same role (JU-15), for every cell of `by`.

    A case with invalid or absent variants counts on the rest (`n_incomplete`); with fewer than two
    it is left out (`n_left_out`). Additions to the paper: an order effect is a template whose
    orders differ, a template effect an order in which templates differ; they split the varying
    cases into order only, template only and both.

    Returns:
        by..., value, ci_low, ci_high (Clopper and Pearson over cases, exact, as a case is one yes
        or no), if_independent (the rate that fresh draws with this accuracy would give),
        n_order_only, n_template_only, n_both, letter_rate (the same on letters: misleading, since a
        model that keeps to a role must change its letter), n (cases), n_varying, n_incomplete,
        n_left_out, n_invalid (answers), status: `ok`; `few_clusters` (fewer than 5 cases: no
        interval); `no_case`, then with NaN.

    Example:
        >>> frame = pd.DataFrame({"case_id": [1, 1, 2, 2], "order": ["nb", "bn"] * 2})
        >>> frame["choice"] = ["neutral", "neutral", "neutral", "biased"]
        >>> frame["letter"] = ["A", "B", "A", "A"]
        >>> frame["correct"] = frame["choice"] == "neutral"
        >>> frame = frame.assign(model="m", template=1, outcome="ok")
        >>> variation_rate(frame, ["model"])[["n", "n_varying", "n_order_only"]].iloc[0].tolist()
        [2, 1, 1]
    """

    def measure(cell: pd.DataFrame, parsed: pd.DataFrame) -> dict[str, Any]:
        size = parsed.groupby("case_id")["choice"].transform("size")
        variants = len(cell[["template", "order"]].drop_duplicates())
        cases = variation_of_cases(cell)
        order = cases["order"].astype(bool)
        template = cases["template"].astype(bool)
        n = len(cases)
        share = parsed["correct"].mean()
        row: dict[str, Any] = {
            "n": n,
            "n_varying": int(cases["any"].sum()),
            "n_invalid": len(cell) - len(parsed),
            "n_order_only": int((order & ~template).sum()),
            "n_template_only": int((template & ~order).sum()),
            "n_both": int((order & template).sum()),
            "n_left_out": cell["case_id"].nunique() - n,
            "n_incomplete": parsed.loc[(size > 1) & (size < variants), "case_id"].nunique(),
            "status": "no_case",
        }
        if not n:
            return row
        row["letter_rate"] = cases["letter"].mean()
        row["if_independent"] = 1 - share**variants - (1 - share) ** variants
        row |= _share(int(row["n_varying"]), n) | {"status": "ok"}
        if n < NO_INTERVAL_BELOW:
            row |= {"ci_low": np.nan, "ci_high": np.nan, "status": "few_clusters"}
        return row

    columns = ["value", "ci_low", "ci_high", "if_independent", "n_order_only", "n_template_only"]
    columns += ["n_both", "letter_rate", "n", "n_varying", "n_incomplete", "n_left_out"]
    return _measured(frame, by, measure, [*columns, "n_invalid", "status"])


def paired_probabilities(frame: pd.DataFrame) -> pd.DataFrame:
    """P(neutral) of each case and template, averaged over the orders, of one cell.

    Returns case_id and template (index), mean (rounded, so that one half is one half), complete
    (every order has probabilities).

    Example:
        >>> frame = pd.DataFrame({"case_id": 1, "template": 1, "order": ["nb", "bn"]})
        >>> paired_probabilities(frame.assign(p_neutral=[0.9, 0.3])).to_numpy().tolist()
        [[0.6, True]]
    """
    pairs = frame.groupby(["case_id", "template"])["p_neutral"].agg(["mean", "count"])
    pairs["mean"] = pairs["mean"].round(DIGITS)
    return pairs.assign(complete=pairs["count"] == frame["order"].nunique())[["mean", "complete"]]


def half_for_ties(p: pd.Series) -> pd.Series:
    """1 above one half, 0 below, one half for a tie: the one way ties are counted (also of rules).

    Example:
        >>> half_for_ties(pd.Series([0.2, 0.5, 0.9])).tolist()
        [0.0, 0.5, 1.0]
    """
    return (1 + np.sign(p - 0.5)) / 2


def averaged_over_orders(
    frame: pd.DataFrame, by: Sequence[str] = BY, *, seed: int = 0
) -> pd.DataFrame:
    """Logprob mode, an addition: P(neutral) averaged over both orders, whatever the letters.

    Args:
        frame: of `with_choice`, with p_neutral.
        by: what tells cells apart.
        seed: of the sign flips, where there are too many cases for all of them.

    Returns:
        by...; value: share of pairs (case and template) with a mean above one half, ties counted
        one half; cluster_low, cluster_high and p_cluster, of it over cases, as `accuracy` has them;
        mean_p: mean over cases of their mean P(neutral), which uses all that the share throws away;
        mean_low, mean_high: `intervals.probability_interval` over cases; p_mean: of mean_p against
        one half, neutral and biased swapped case by case; n (pairs), clusters, n_tied, n_left_out
        (pairs with an order that has no probabilities); status: of the share, as in `accuracy`, or
        `no_probabilities`; status_mean: of the mean, `ok`, `few_clusters`, `no_variation` (all
        cases have the same mean), `edge` (near 0 or 1), `no_probabilities`.

    Example:
        >>> frame = pd.DataFrame({"case_id": [1, 1, 2, 2], "order": ["nb", "bn"] * 2})
        >>> frame = frame.assign(model="m", template=1, outcome="ok", choice="neutral", letter="A")
        >>> frame = frame.assign(p_neutral=[0.9, 0.3, 0.4, 0.2], correct=True)
        >>> averages = averaged_over_orders(frame, ["model"])
        >>> averages[["value", "mean_p", "n"]].round(2).to_numpy().tolist()
        [[0.5, 0.45, 2.0]]
    """

    def measure(cell: pd.DataFrame, _parsed: pd.DataFrame) -> dict[str, Any]:
        pairs = paired_probabilities(cell)
        p = pairs.loc[pairs["complete"], "mean"]
        row: dict[str, Any] = {
            "n": len(p),
            "n_tied": int((p == 0.5).sum()),
            "n_left_out": len(pairs) - len(p),
        }
        if p.empty:
            status = "no_probabilities"
            return row | {"clusters": 0, "status": status, "status_mean": status}
        scores = half_for_ties(p)
        cluster_of = dict(zip(cell["case_id"], _clusters(cell), strict=True))
        clusters = pd.Series(p.index.get_level_values("case_id").map(cluster_of), index=p.index)
        means = p.groupby(clusters).mean().round(DIGITS)
        mean = probability_interval(means)
        row |= {
            "value": scores.mean(),
            "mean_p": mean["value"],
            "mean_low": mean["ci_low"],
            "mean_high": mean["ci_high"],
            "p_mean": swap_test((means - 0.5).to_numpy(float), seed),
            "clusters": len(means),
            "status_mean": mean["status"],
        }
        return row | _over_cases(_cluster_sums(scores, clusters), seed)

    columns = ["value", "cluster_low", "cluster_high", "p_cluster"]
    columns += ["mean_p", "mean_low", "mean_high"]
    columns += ["p_mean", "n", "clusters", "n_tied", "n_left_out", "status", "status_mean"]
    return _measured(frame, by, measure, columns)


def case_counts(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Neutral choices and parsed answers, each by case (rows) and model (columns).

    Example:
        >>> frame = pd.DataFrame({"case_id": [1, 1, 2, 2], "order": ["nb", "bn"] * 2})
        >>> frame["choice"] = ["neutral", "neutral", "neutral", "biased"]
        >>> frame["letter"] = ["A", "B", "A", "A"]
        >>> frame["correct"] = frame["choice"] == "neutral"
        >>> frame = frame.assign(model="m", template=1, outcome="ok")
        >>> neutral, answers = case_counts(frame)
        >>> neutral["m"].tolist(), answers["m"].tolist()
        ([2.0, 1.0], [2.0, 2.0])
    """
    parsed = frame[frame["outcome"] == "ok"]
    groups = parsed.groupby(["case_id", "model"])["correct"]
    neutral = groups.sum().unstack(fill_value=0).astype(float)
    answers = groups.size().unstack(fill_value=0).astype(float)
    return neutral, answers


def share_contributions(neutral: np.ndarray, parsed: np.ndarray) -> np.ndarray:
    """One number a case whose mean is the share and whose spread is that of the share.

    p + (y_c - p n_c) C / n, by linearisation; a difference of two models' is that of their shares.

    Example:
        >>> share_contributions(np.array([2.0, 1.0]), np.array([2.0, 2.0])).tolist()
        [1.0, 0.5]
    """
    n = parsed.sum()
    if not n:
        return np.full(len(parsed), np.nan)
    share = neutral.sum() / n
    return share + (neutral - share * parsed) * len(parsed) / n


def compare_models(frame: pd.DataFrame, baseline: str, seed: int = 0) -> pd.DataFrame:
    """Every other model against `baseline`: the paper's chi-square, and a test that respects cases.

    JU-18 and JU-22. Models of one name and two sources must not be mixed in `frame`, which is that
    of `with_choice`. The verdict rests on the exchange of models by case (p_cluster_holm), not on
    the chi-square, which takes the variants of a case as independent.

    Returns:
        model, source, value, value_baseline, difference; ci_low, ci_high: of the difference, by
        `intervals.mean_interval` over the cases' contributions; n, n_baseline (parsed answers),
        n_invalid (of model), clusters (with parsed answers of both); p_chi2, p_yates (with Yates'
        correction); p_cluster (addition: the models are exchanged case by case, see
        `qa_bias.compare_prompts`), p_cluster_holm (over the models); verdict: `differs` where
        p_cluster_holm < .05, `not found`, or `not tested`; status: `ok`; `empty_margin` (all right
        or all wrong: no chi-square); `no_difference` (no case differs: p_cluster NaN);
        `few_clusters` (fewer than 5 shared cases: no interval); `no_variation` (every case differs
        alike: no interval); `no_shared_case`.

    Raises:
        ValueError: a baseline without answers.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> frame = examples.choices("sim-two-fair", "sim-two-biased")  # six cases are few
        >>> table = compare_models(frame, "sim-two-biased")
        >>> table[["model", "difference", "clusters", "verdict"]].round(2).to_numpy().tolist()
        [['sim-two-fair', 0.92, 6, 'differs']]
    """
    models = sorted(set(frame["model"]))
    if baseline not in models:
        raise ValueError(f"no answers of {baseline!r}, only of {', '.join(models)}")
    scores = accuracy(frame).set_index("model")
    scores["n_wrong"] = scores["n"] - scores["n_correct"]
    counts = case_counts(frame)
    rows = [
        _compared(scores.loc[[model, baseline]], counts, seed)
        for model in scores.index.drop(baseline)
    ]
    columns = ["model", "source", "value", "value_baseline", "difference", "ci_low", "ci_high"]
    columns += ["n", "n_baseline", "n_invalid", "clusters", "p_chi2", "p_yates", "p_cluster"]
    out = pd.DataFrame(rows, columns=[*columns, "p_cluster_holm", "verdict", "status"])
    out["p_cluster_holm"] = holm(out["p_cluster"].to_numpy(float))
    differs = np.where(out["p_cluster_holm"] < 0.05, "differs", "not found")
    tested = out["p_cluster"].notna() | (out["status"] == "no_difference")
    tested &= out["status"] != "few_clusters"
    return out.assign(verdict=np.where(tested, differs, "not tested"))


def _compared(
    two: pd.DataFrame, counts: tuple[pd.DataFrame, pd.DataFrame], seed: int
) -> dict[str, Any]:
    """A row of `compare_models`; `two` are the accuracies of the model and of the baseline."""
    one = two.iloc[0]
    base = two.iloc[1]
    neutral, parsed = (count.reindex(columns=two.index, fill_value=0.0) for count in counts)
    shared = (parsed > 0).all(axis=1)
    shares = (neutral[shared] / parsed[shared]).to_numpy()
    apart = shares[:, 0] - shares[:, 1]
    table = two[["n_correct", "n_wrong"]].to_numpy(int)
    row = {
        "model": two.index[0],
        "source": one["source"],
        "value": one["value"],
        "value_baseline": base["value"],
        "difference": one["value"] - base["value"],
        "n": one["n"],
        "n_baseline": base["n"],
        "n_invalid": one["n_invalid"],
        "clusters": len(apart),
        "p_cluster": swap_test(apart, seed) if len(apart) else np.nan,
    }
    between = {"status": "no_shared_case"}
    if len(apart):
        parts = [
            share_contributions(neutral[m].to_numpy(), parsed[m].to_numpy()) for m in two.index
        ]
        between = mean_interval(parts[0] - parts[1])
        between |= {"status": "few_clusters"} if len(apart) < NO_INTERVAL_BELOW else {}
    problems = {
        "no_shared_case": not len(apart),
        "empty_margin": not table.sum(axis=0).all(),
        "no_difference": np.isnan(row["p_cluster"]),
        between["status"]: between["status"] != "ok",
    }
    row["status"] = status_of(problems)
    if between["status"] == "ok":
        row |= {"ci_low": between["ci_low"], "ci_high": between["ci_high"]}
    if not problems["no_shared_case"] and not problems["empty_margin"]:
        row["p_chi2"] = chi2_contingency(table, correction=False).pvalue
        row["p_yates"] = chi2_contingency(table, correction=True).pvalue
    return row


def discriminability(scores: pd.DataFrame, ddof: int = 1) -> pd.DataFrame:
    """Variance of the models' scores on each benchmark, and how it hangs on single models (JU-16).

    Args:
        scores: benchmark, model, value.
        ddof: taken from n in the denominator.

    Returns:
        benchmark, value, ci_low, ci_high (addition: `variance_interval` over models), ddof, loo_low
        and loo_high (lowest and highest variance with one model left out, an addition), without
        (whose absence gives the lowest), n (models), n_invalid (without a score), status:
        `ok`; `few_models` (fewer than 5: no interval, the value describes these models only);
        `no_variation` (all scores equal: value 0, no interval); `too_few_models`, then with NaN.

    Example:
        >>> scores = pd.DataFrame({"benchmark": "b", "model": list("xyz"), "value": [0, 0, 0.6]})
        >>> discriminability(scores)[["value", "without", "status"]].round(2).to_numpy().tolist()
        [[0.12, 'z', 'few_models']]
    """
    rows = [
        {"benchmark": benchmark, "ddof": ddof} | _variance(one, ddof)
        for benchmark, one in scores.groupby("benchmark", sort=False)
    ]
    columns = ["benchmark", "value", "ci_low", "ci_high", "ddof", "loo_low", "loo_high"]
    return pd.DataFrame(rows, columns=[*columns, "without", "n", "n_invalid", "status"])


def _variance(one: pd.DataFrame, ddof: int) -> dict[str, Any]:
    known = one.dropna(subset=["value"]).set_index("model")["value"]
    row: dict[str, Any] = {
        "n": len(known),
        "n_invalid": len(one) - len(known),
        "value": known.var(ddof=ddof),
    }
    if len(known) > ddof + 1:
        left = pd.Series({model: known.drop(model).var(ddof=ddof) for model in known.index})
        row |= {
            "loo_low": left.min(),
            "loo_high": left.max(),
            "without": left.round(DIGITS).idxmin(),
        }
    problems = {
        "too_few_models": len(known) <= ddof,
        "no_variation": np.ptp(known) < 1e-12 if len(known) else True,
        "few_models": len(known) < NO_INTERVAL_BELOW,
    }
    row["status"] = status_of(problems)
    if row["status"] == "ok":
        row["ci_low"], row["ci_high"] = variance_interval(known.to_numpy(float), ddof)
    return row


def variance_interval(values: np.ndarray, ddof: int = 1) -> tuple[float, float]:
    """95 % interval of a variance: t on n - 1 over jackknife values of its logarithm.

    Unlike the chi-square interval it does not take scores to be normal, but one outlying model
    makes it wide. NaN where a variance with one value left out is 0.

    Example:
        >>> low, high = variance_interval(np.array([0.2, 0.4, 0.5, 0.7, 0.9]))
        >>> low < 0.073 < high
        True
    """
    n = len(values)
    left = np.array([np.var(np.delete(values, k), ddof=ddof) for k in range(n)])
    if (left <= 0).any():
        return np.nan, np.nan
    whole = np.log(np.var(values, ddof=ddof))
    interval = mean_interval(n * whole - (n - 1) * np.log(left))
    shift = whole - interval["value"]  # the estimate itself stays
    return float(np.exp(interval["ci_low"] + shift)), float(np.exp(interval["ci_high"] + shift))


def correlation_interval(r: float, n: int, spread: float = 1.0) -> tuple[float, float]:
    """95 % interval of a correlation over n models, by Fisher's z; NaN for fewer than 5.

    `spread` widens it: 1.03 for rank correlations (Fieller, Hartley and Pearson, 1957).

    Example:
        >>> low, high = correlation_interval(0.5, 9)
        >>> round(low, 2), round(high, 2)
        (-0.25, 0.87)
    """
    if n < NO_INTERVAL_BELOW:
        return np.nan, np.nan
    z = np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9))
    half = norm.ppf(0.975) * spread / np.sqrt(n - 3)
    return float(np.tanh(z - half)), float(np.tanh(z + half))


def _correlation(x: pd.Series, y: pd.Series, method: str) -> dict[str, Any]:
    """One correlation over models: value, p, status, and an interval where there are five models.

    The interval is Fisher's for a product-moment correlation, of rank correlations, too.
    """
    import pingouin  # of the extra `pages`: it brings matplotlib, which no other metric needs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its power, unused here, needs more models
        result = pingouin.corr(x, y, method=method).iloc[0]
    value = float(result["r"])
    row: dict[str, Any] = {"value": value, "p": float(result["p_val"]), "status": "ok"}
    if len(x) < NO_INTERVAL_BELOW:
        return row | {"status": "few_models"}
    if abs(value) > 1 - 1e-9:  # Fisher's z of 1 is infinite
        return row | {"status": "perfect"}
    # pingouin rounds its interval to two digits, so that the value can lie outside.
    low, high = pingouin.compute_esci(stat=value, nx=len(x), eftype="r", decimals=12)
    return row | {"ci_low": float(low), "ci_high": float(high)}


def benchmark_correlations(scores: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Correlation over models of the `reference` benchmark's scores with each other's (JU-17).

    Args:
        scores: benchmark, model, value; one score a model and benchmark.
        reference: the benchmark that is set beside each other one.

    Returns:
        benchmark, method (pearson; spearman, with average ranks; both by pingouin), value, ci_low,
        ci_high (Fisher's z), p, n (models with both scores), status: `ok`; `few_models` (3 or 4:
        no interval); `perfect` (1 or -1: no interval); and with NaN `not testable: fewer than 3
        models`, `constant`. p is not adjusted for the number of benchmarks.

    Example:
        >>> scores = pd.DataFrame({"benchmark": ["a"] * 3 + ["b"] * 3, "model": list("xyz") * 2})
        >>> scores["value"] = [1, 2, 3, 1, 2, 4]
        >>> benchmark_correlations(scores, "a")[["method", "value"]].round(2).to_numpy().tolist()
        [['pearson', 0.98], ['spearman', 1.0]]
    """
    rounded = scores.round({"value": DIGITS})
    wide = rounded.pivot(index="model", columns="benchmark", values="value")
    rows = []
    for benchmark in scores.loc[scores["benchmark"] != reference, "benchmark"].unique():
        both = wide[[reference, benchmark]].dropna()
        constant = "constant" if (both.nunique() < 2).any() else "ok"
        for method in ("pearson", "spearman"):
            status = constant if len(both) > 2 else "not testable: fewer than 3 models"
            row = {"benchmark": benchmark, "method": method, "n": len(both), "status": status}
            if status == "ok":
                row |= _correlation(both[reference], both[benchmark], method)
            rows.append(row)
    columns = ["benchmark", "method", "value", "ci_low", "ci_high", "p", "n", "status"]
    return pd.DataFrame(rows, columns=columns)

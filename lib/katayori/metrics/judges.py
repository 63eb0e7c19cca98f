"""A judge of two answers that was asked in both orders, and people who judged the same.

A letter names a position of one presentation. `unswapped` says which of the two answers it means,
`settled` puts both orders of a pair side by side and settles them in three ways, `robustness` says
how often both orders name the same, `concordance` and `auc` compare the result with labels.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import t
from statsmodels.stats.contingency_tables import mcnemar

from katayori.errors import KatayoriError
from katayori.frames import (
    FLAG,
    LABEL,
    LABEL_OR_NONE,
    NUMBER_OR_NONE,
    Column,
    FrameError,
    _known,
    cells,
    flat,
    require,
)
from katayori.metrics import ties
from katayori.metrics.intervals import mean_interval
from katayori.metrics.shares import cluster_share
from katayori.metrics.sign_swap import sign_swap_test

MORE = ("n_correct", "n_missing", "p_cluster", "p_sign")
#: What a letter means in each order: answer 1 stands as A in order "12", as B in order "21".
MEANING = {"12": {"A": "1", "B": "2", "C": "tie"}, "21": {"A": "2", "B": "1", "C": "tie"}}
#: Verdicts, in the order in which equal means are settled.
VERDICTS = ("tie", "1", "2")
METHODS = ("BS1", "BS2", "proposed")
#: What BS1 says where the orders differ: it agrees with nobody, and is no unreadable verdict.
NONE = "none"
#: What `settled` gives behind the columns of its user.
_SETTLED = (
    *("first", "second", "BS1", "BS2", "p_1", "p_2", "p_tie", "proposed", "same", "log_odds"),
    *("lean", "status"),
)
_ORDER = Column("label", "12", allowed=tuple(MEANING))
_LETTER = Column("label", "A", allowed=("A", "B", "C"), may_miss=True)
_P = Column("probability", 0.25, may_miss=True)
_STATUS = Column("label", "ok", allowed=("ok", "invalid", "missing_order"))


def unswapped(frame: pd.DataFrame, *, order: str, letter: str, p: str = "") -> pd.DataFrame:
    """The calls of a judge with what their letters mean: A and B exchange in order "21".

    Args:
        frame: a row a call.
        order: column of the order: "12" where answer 1 stands as A, "21" where it stands as B.
        letter: column of the verdict: A, B, C (a tie), missing where there is none.
        p: how the columns of the probabilities of letters begin, such as `p` of p_A, p_B and p_C;
            empty: not known.

    Returns:
        the frame with verdict ("1", "2", "tie"; missing) and, with `p`, p_1, p_2 and p_tie.

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: the logprob-judge paper, section 3.

    Example:
        >>> calls = pd.DataFrame({"order": ["12", "21"], "said": ["A", "A"], "p_A": [0.7, 0.6]})
        >>> calls = calls.assign(p_B=[0.2, 0.3], p_C=0.1)
        >>> meant = unswapped(calls, order="order", letter="said", p="p")
        >>> meant[["verdict", "p_1"]].to_numpy().tolist()
        [['1', 0.7], ['2', 0.3]]
    """
    letters = [*MEANING["12"]]
    names = [f"{p}_{one}" for one in letters] if p else []
    wanted = {order: _ORDER, letter: _LETTER} | dict.fromkeys(names, _P)
    require("unswapped", frame, wanted, if_asked=True)
    if frame.empty:
        shares = {f"p_{verdict}": pd.Series(dtype=float) for verdict in VERDICTS if p}
        return frame.assign(verdict=pd.Series(dtype=object), **shares)
    swapped = (frame[order] == "21").to_numpy()
    said = frame[letter].map(MEANING["12"])
    verdict = said.where(~swapped, frame[letter].map(MEANING["21"]))
    out = frame.assign(verdict=verdict.astype(object).where(verdict.notna(), None))
    if not p:
        return out
    first, second, tie = (frame[name].to_numpy(float) for name in names)
    one, two = np.where(swapped, second, first), np.where(swapped, first, second)
    return out.assign(p_1=one, p_2=two, p_tie=tie)


def settled(
    frame: pd.DataFrame,
    *,
    pair: str,
    order: str,
    letter: str,
    p: str = "",
    by: str | Sequence[str] = (),
    keep: Sequence[str] = (),
) -> pd.DataFrame:
    """Both orders of every pair side by side, and the final verdicts of three methods.

    Args:
        frame, order, letter, p: as of `unswapped`.
        pair: column that names the two answers, the same in both orders.
        by: columns whose values are judged apart, such as model and prompt.
        keep: columns of the pair that the result holds, such as its question and people's labels.

    Returns:
        a row a pair of each cell of `by`: by..., pair, keep..., first, second (the verdicts in
        orders "12" and "21", missing where there is none), BS1 (the common verdict; `none` where
        the orders differ), BS2 (a tie where they differ), p_1, p_2, p_tie (means over both
        orders), proposed (the likeliest by these means; equal ones, to 12 digits, in the order
        tie, 1, 2; missing without probabilities), same (1 where both orders name the same, else
        0), log_odds (ln P(1) / P(2), the mean of both orders), lean (ln P(A) / P(B), the mean of
        both orders: what the answers are worth cancels, what the position is worth stays),
        status: `ok`, `invalid` (an order without a verdict), `missing_order`. Without probabilities
        these columns are missing.

    Raises:
        KatayoriError: as `unswapped`; two calls for one pair in one order; a column of the user's
        that is called as one of the result.

    Source: the logprob-judge paper, sections 3 and 4.1; log odds and lean are ours.

    Example:
        >>> calls = pd.DataFrame({"pair": 1, "order": ["12", "21"], "said": "A", "p_A": [0.9, 0.6]})
        >>> calls = calls.assign(p_B=[0.1, 0.4], p_C=0.0)
        >>> table = settled(calls, pair="pair", order="order", letter="said", p="p")
        >>> table[["first", "second", "BS2", "proposed"]].to_numpy().tolist()
        [['1', '2', 'tie', '1']]
    """
    wanted = {pair: LABEL} | dict.fromkeys(keep, LABEL_OR_NONE)
    names = require("settled", frame, wanted, by, if_asked=True)
    if frame.empty:
        out = pd.DataFrame(columns=[*dict.fromkeys([*names, pair, *keep]), *_SETTLED])
        out.attrs = dict(frame.attrs)
        return out
    calls = unswapped(frame, order=order, letter=letter, p=p)
    keys = [*names, pair]
    if taken := [name for name in (*keys, *keep) if name in _SETTLED]:
        raise FrameError(
            f"settled: column {taken[0]!r} has the name of a column of the result; rename yours,"
            f" e.g. my_{taken[0]}"
        )
    keep = [name for name in dict.fromkeys(keep) if name not in keys]
    if (twice := calls.duplicated([*keys, order])).any():
        example = calls.loc[twice, pair].iloc[0]
        raise FrameError(
            f"settled: {twice.sum()} calls are given twice, e.g. to {example!r:.40}; name the"
            " columns that tell them apart by by=, such as the model"
        )
    shares = [f"p_{verdict}" for verdict in VERDICTS]
    if not p:
        calls[shares] = np.nan
    index = pd.MultiIndex.from_frame(calls[keys].drop_duplicates())
    calls.index = pd.MultiIndex.from_frame(calls[keys])
    by_order = [calls[calls[order] == one] for one in MEANING]
    there = [index.isin(side.index) for side in by_order]
    first, second = (side.reindex(index) for side in by_order)
    out = pd.DataFrame(index=index)
    # A call that is not there does not say what it was about.
    for name in keep:
        out[name] = first[name].where(there[0], second[name])
    out["first"], out["second"] = _or_none(first["verdict"]), _or_none(second["verdict"])
    valid = out["first"].notna() & out["second"].notna()
    same = valid & (out["first"] == out["second"])
    out["BS1"] = _or_none(out["first"].where(same, NONE).where(valid))
    out["BS2"] = _or_none(out["first"].where(same, "tie").where(valid))
    positive = [side[shares].where(side[shares] > 0) for side in (first, second)]
    out[shares] = (first[shares] + second[shares]) / 2
    out["proposed"] = pd.Series(_likeliest(out[shares].where(valid)), index, dtype=object)
    out["same"] = same.astype(float)
    odds = [np.log(side["p_1"]) - np.log(side["p_2"]) for side in positive]
    out["log_odds"] = (odds[0] + odds[1]) / 2
    # In order "21" the first position holds answer 2.
    out["lean"] = (odds[0] - odds[1]) / 2
    whole = there[0] & there[1]
    out["status"] = np.select([~whole, ~valid], ["missing_order", "invalid"], "ok")
    return out.reset_index()[[*keys, *keep, *_SETTLED]]


def _or_none(values: pd.Series) -> pd.Series:
    """The values as objects, None where they are missing: one form of missing."""
    return values.astype(object).where(values.notna(), None)


def _likeliest(shares: pd.DataFrame) -> list[str | None]:
    """The verdict of the highest share of each row; None where one is missing, or all are 0."""
    means = shares.to_numpy(float)
    known = ~np.isnan(means).any(axis=1) & (means > 0).any(axis=1)
    top = ties.highest(np.where(known[:, None], means, 0.0)).argmax(axis=1)
    return [VERDICTS[at] if is_known else None for at, is_known in zip(top, known, strict=True)]


def robustness(
    frame: pd.DataFrame, *, by: str | Sequence[str] = (), cluster: str = "question"
) -> pd.DataFrame:
    """The share of all pairs on which a judge names the same in both orders.

    Formula: pairs whose orders name the same / all pairs. A pair without a verdict in both orders
    stays in the denominator: it does not count as the same.

    Args:
        frame: of `settled`, with its columns same and status.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study, such as the question whose answers are
            compared.

    Returns:
        by..., measure (`robustness`), value (a share), n (all pairs), n_invalid (those without a
        verdict in both orders), clusters, ci_low, ci_high (`shares.cluster_share`, floor 1),
        status: `ok`; `no_valid_verdict` (of no pair: no value); `few_clusters` and
        `same_in_every_cluster` as there.

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: the logprob-judge paper, section 4.1; the interval is ours.

    Example:
        >>> pairs = pd.DataFrame({"question": range(10), "same": [1.0] * 7 + [0.0] * 3})
        >>> table = robustness(pairs.assign(status=["ok"] * 9 + ["invalid"]))
        >>> table[["measure", "value", "n", "n_invalid", "ci_low"]].round(2).to_numpy().tolist()
        [['robustness', 0.7, 10, 1, 0.33]]
    """
    wanted = {"same": FLAG, "status": _STATUS, cluster: LABEL}
    names = require("robustness", frame, wanted, by, if_asked=True)
    rows = []
    for key, cell in cells(frame, names):
        each = cell["same"].astype(float).groupby(cell[cluster], sort=False).agg(["sum", "size"])
        found = cluster_share(each["sum"].tolist(), each["size"].tolist(), floor=1.0)
        row = found | {"measure": "robustness", "n_invalid": int((cell["status"] != "ok").sum())}
        if row["n_invalid"] == len(cell):
            row |= dict.fromkeys(("value", "ci_low", "ci_high"), np.nan)
            row["status"] = "no_valid_verdict"
        rows.append(key | row)
    return flat(rows, frame, names, ["measure"])


def auc(
    frame: pd.DataFrame,
    *,
    score: str,
    better: str,
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """How often a score ranks a pair whose first answer is better above one whose second is.

    Args:
        frame: a row a pair of which one answer is better.
        score: column of the score of the first answer over the second, such as log odds; missing
            or infinite: counted as unreadable.
        better: column that is True where the first answer is better, False where the second is.
        by: columns whose values are measured apart.
        cluster: what is left out in the jackknife, such as the question.

    Returns:
        by..., measure (`auc`), value (the area under the ROC curve: .5 is chance, below .5 the
        worse answer is preferred), n, n_invalid, clusters, ci_low, ci_high, status: `ok`;
        `one_class` (only first or only second answers are better); `no_valid_answer`;
        `few_clusters` and others of `metrics.intervals`. The interval is by t on the jackknife
        over clusters, on the scale of log odds (simulated at 10, 20 and 69 questions and areas of
        .5 to .955: coverage .945 and more). Ties of the score count one half.

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: Hanley and McNeil, Radiology 143 (1982), 29-36; jackknife: Arvesen, Annals of
    Mathematical Statistics 40 (1969), 2076-2100.

    Example:
        >>> pairs = pd.DataFrame({"score": [2.0, 1.0, 0.5, -0.5, -1.0, 0.7], "question": range(6)})
        >>> pairs["first"] = [True, True, True, False, False, False]
        >>> auc(pairs, score="score", better="first")["value"].round(2).tolist()
        [0.89]
    """
    wanted = {score: NUMBER_OR_NONE, better: FLAG, cluster: LABEL}
    names = require("auc", frame, wanted, by, if_asked=True)
    rows = [key | _area(cell, score, better, cluster) for key, cell in cells(frame, names)]
    return flat(rows, frame, names, ["measure"])


def _area(cell: pd.DataFrame, score: str, better: str, cluster: str) -> dict[str, Any]:
    """The area of one cell with its interval."""
    known = np.isfinite(cell[score].to_numpy(float))
    s = cell[score].to_numpy(float)[known]
    first = cell[better].to_numpy(bool)[known]
    question, names = pd.factorize(cell[cluster].to_numpy(object)[known])
    out: dict[str, Any] = {"measure": "auc", "n": len(s), "n_invalid": int((~known).sum())}
    out["clusters"] = len(names)
    if not first.any() or first.all():
        return out | {"status": "one_class" if len(s) else "no_valid_answer"}
    # wins[i, j]: pair i (first better) is scored above pair j (second better).
    above, below = s[first][:, None], s[~first][None, :]
    wins = (1 + ties.sign(above - below, np.abs(s).max())) / 2
    member = np.arange(len(names))[:, None] == question
    ups, downs = member[:, first].astype(float), member[:, ~first].astype(float)
    value = float(wins.sum() / wins.size)
    # What is left of the sum, and of both counts, without one question after the other.
    own = np.einsum("qi,ij,qj->q", ups, wins, downs, optimize=True)
    left = wins.sum() - ups @ wins.sum(axis=1) - downs @ wins.sum(axis=0) + own
    pairs_left = (first.sum() - ups.sum(axis=1)) * ((~first).sum() - downs.sum(axis=1))
    if (pairs_left == 0).any():
        return out | {"value": value, "status": "few_clusters"}
    pseudo = len(names) * value - (len(names) - 1) * left / pairs_left
    # The spread is the jackknife's, the value the plain one.
    interval = mean_interval(pseudo - pseudo.mean() + value)
    out |= {"value": value, "status": interval["status"]}
    if interval["status"] != "ok":
        return out
    # On the log odds scale: a plain interval covers .86 for an area of .955 of 20 questions.
    middle = float(logit(value))
    half = t.ppf(0.975, len(names) - 1) * interval["se"] / (value * (1 - value))
    return out | {"ci_low": float(expit(middle - half)), "ci_high": float(expit(middle + half))}


def concordance(
    frame: pd.DataFrame,
    *,
    judge: str | Sequence[str],
    people: str | Sequence[str],
    by: str | Sequence[str] = (),
    cluster: str = "question",
    baseline: str = "",
) -> pd.DataFrame:
    """The share of labels on which a judge says what a person says, averaged over the people.

    Args:
        frame: a row a comparison (or any item that is judged), labels of any kind.
        judge: column of the judge's verdict, or several; missing: no verdict, which agrees with
            nobody.
        people: column of a person's labels, or several. A missing label is left out for that
            person.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study, such as the question whose answers are
            compared.
        baseline: one of the judges, which the others are compared with.

    Returns:
        by..., measure (`concordance`, or `gain over <baseline>`), judge, value, n (labels),
        n_invalid (comparisons without a verdict of the judge; of a gain, of either), clusters,
        ci_low, ci_high (`shares.cluster_share` of all labels, floor 1; a gain by t on the clusters'
        contributions), status, n_correct (labels that the judge agrees with; of a gain, more),
        n_missing (labels that are not there), p_cluster and p_sign (of a gain: each cluster's gain
        may change its sign, exact; sign test over comparisons, which takes them as independent).
        status: `ok`; `no_labels`; `no_valid_verdict`; and those of `metrics.intervals`.

    Coverage of the gain (data/simulated/interval_coverage.csv; 5 to 50 questions of 1 or 3 pairs):
    4 of 16 cells below 93 %, .88 for a gain of 6 points over 20 questions of one pair, .92 to .93
    in the others; 4 with an interval in fewer than 80 % of studies (5 or 10 questions of one pair,
    where no two questions differ).

    Raises:
        KatayoriError: a column that is not there; no people; a baseline that is no judge.

    Source: the logprob-judge paper, section 4.1, whose shares are pooled over comparisons.

    Example:
        >>> frame = pd.DataFrame({"question": list("aabbccddee"), "anna": list("1212121212")})
        >>> frame = frame.assign(judge=list("1211121112"), coin=list("1111122222"))
        >>> table = concordance(frame, judge=["judge", "coin"], people="anna", baseline="coin")
        >>> table[["measure", "value"]].round(2).to_numpy().tolist()
        [['concordance', 0.8], ['concordance', 0.6], ['gain over coin', 0.2]]
    """
    judges = [judge] if isinstance(judge, str) else list(judge)
    labels = [people] if isinstance(people, str) else list(people)
    if not labels:
        raise KatayoriError(
            'concordance: no column of people\'s labels; name yours, e.g. people=["anna", "ben"]'
        )
    if baseline and baseline not in judges:
        raise KatayoriError(
            f"concordance: the baseline {baseline!r} is none of the judges {', '.join(judges)};"
            f" name both, e.g. judge={[*judges, baseline]!r}"
        )
    wanted = dict.fromkeys([*judges, *labels], LABEL_OR_NONE) | {cluster: LABEL}
    names = require("concordance", frame, wanted, by, if_asked=True)
    rows = []
    for key, cell in cells(frame, names):
        found = _rows(cell, judges, labels, cell[cluster], baseline)
        rows += [key | row for row in found]
    return flat(rows, frame, names, ["measure", "judge"], MORE)


def _rows(
    cell: pd.DataFrame,
    judges: list[str],
    people: list[str],
    cluster: pd.Series,
    baseline: str,
) -> Iterator[dict[str, Any]]:
    """A row of each judge, then a row of each gain."""
    cell = _known(cell[list(dict.fromkeys([*judges, *people]))])
    given = cell[people].notna().to_numpy()
    hits = {one: cell[people].eq(cell[one], axis=0).to_numpy() & given for one in judges}
    number = pd.factorize(cluster)[0]
    labels, *counts = (_by_cluster(flags, number) for flags in (given, *hits.values()))
    sums = dict(zip(judges, counts, strict=True))
    n_labels = int(labels.sum())
    common = {"n": n_labels, "n_missing": given.size - n_labels}
    common["clusters"] = int(labels.any(axis=1).sum())
    gains = [(one, baseline) for one in judges if baseline and one != baseline]
    for one, base in [*((one, "") for one in judges), *gains]:
        invalid = cell[one].isna() | (cell[base].isna() if base else False)
        row: dict[str, Any] = common | {"judge": one, "n_invalid": int(invalid.sum())}
        row["measure"] = f"gain over {base}" if base else "concordance"
        if not n_labels or invalid.all():
            row["status"] = "no_valid_verdict" if n_labels else "no_labels"
        elif base:
            row |= _mean_gain(sums[one] - sums[base], labels)
            more = hits[one].sum(axis=1) - hits[base].sum(axis=1)
            differ = [[0, int((more > 0).sum())], [int((more < 0).sum()), 0]]
            row["p_sign"] = mcnemar(differ, exact=True).pvalue if more.any() else np.nan
            row["status"] = row["ci_status"]
        else:
            hits_of, given_of = (part.sum(axis=1).tolist() for part in (sums[one], labels))
            row |= cluster_share(hits_of, given_of, floor=1.0) | common
            row |= {"value": _mean_share(sums[one], labels), "n_correct": int(sums[one].sum())}
        yield row


def _by_cluster(flags: np.ndarray, number: np.ndarray) -> np.ndarray:
    """How many flags of each person are set in each cluster: clusters x people."""
    return np.column_stack([np.bincount(number, one) for one in flags.T]).astype(int)


def _mean_share(hits: np.ndarray, labels: np.ndarray) -> float:
    """The mean of the people's shares: counts are kept as counts and divided once."""
    both = zip(hits.sum(axis=0).tolist(), labels.sum(axis=0).tolist(), strict=True)
    shares = [Fraction(hit, given) for hit, given in both if given]
    return float(sum(shares) / len(shares))


def _mean_gain(gained: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """The mean over annotators of (hits gained / labels), with its interval and test.

    The contribution of a cluster is, for each annotator, (gained - share x labels) over the mean
    number of labels: their spread is that of the gain (`intervals.contributions`).

    Args:
        gained: hits of one judge less those of another (shape: clusters x annotators).
        labels: labels given, in the same shape.

    Returns:
        value, n_correct (hits gained), ci_low, ci_high, ci_status (by t over clusters), p_cluster
        (`question_swap_test`).

    Example:
        >>> _mean_gain(np.array([[1], [2], [0], [1], [1]]), np.full((5, 1), 2))["value"]
        0.5
    """
    heard = labels.sum(axis=0) > 0
    gained = gained[:, heard]
    labels = labels[:, heard]
    totals = labels.sum(axis=0)
    shares = [Fraction(int(g), int(n)) for g, n in zip(gained.sum(axis=0), totals, strict=True)]
    value = float(sum(shares) / len(shares))
    each = np.array([float(share) for share in shares])
    parts = (gained - each * labels) / (totals / len(labels))
    interval = mean_interval(value + parts.mean(axis=1)[labels.sum(axis=1) > 0])
    return {
        "value": value,
        "n_correct": int(gained.sum()),
        "ci_low": interval["ci_low"],
        "ci_high": interval["ci_high"],
        "ci_status": interval["status"],
        "p_cluster": question_swap_test(gained.sum(axis=1)),
    }


def question_swap_test(differences: Sequence[float]) -> float:
    """p of a sum of differences when each question's difference may change its sign, two-sided.

    Args:
        differences: one number a question, such as right minus wrong, or hits of one method minus
            those of another (shape: questions).

    Returns:
        The exact share of all 2^Q sign patterns whose sum lies as far from 0 or farther (the
        observed pattern among them, so never 0); of other than whole numbers that of
        `sign_swap.sign_swap_test`. NaN where no question differs.

    Example:
        >>> question_swap_test([1, 1, 1, 1, 1])
        0.0625
    """
    values = np.asarray(differences, float)
    values = values[np.isfinite(values) & (values != 0)]
    if not len(values):
        return float("nan")
    steps = np.abs(values).round().astype(int)
    if not np.allclose(np.abs(values), steps):
        return float(sign_swap_test(values.tolist())["p"])
    # The distribution of the sum, one question after the other: each adds its step or takes it off.
    reach = int(steps.sum())
    chance = np.zeros(2 * reach + 1)
    chance[reach] = 1.0
    for step in steps:
        chance = (np.roll(chance, step) + np.roll(chance, -step)) / 2
    sums = np.arange(-reach, reach + 1)
    observed = abs(round(float(values.sum())))
    return float(min(1.0, chance[np.abs(sums) >= observed].sum()))

"""Kruskal-Wallis, Conover and Holm for every model, question and factor, beside the obvious library
loop.

    python lib/benchmarks/rank_tests.py [--models 9] [--questions 70] [--loop-questions 70]

Both arms do the same work on the same simulated 0/1 answers: a contingency table and Kruskal-Wallis
per model, question and factor, Holm over factors, Conover over all pairs of a significant factor,
Holm over its pairs. The loop uses pandas, scipy and pingouin one table at a time, its Conover
written as scikit-posthocs does it (ranks and group means in pandas, then pair by pair; that package
is not installed here). The loop runs on one model and is scaled to all tables. Both arms must agree
on that part. Times depend on the machine and its load: compare the rows.
"""

import argparse
import itertools
import time
import warnings

import numpy as np
import pandas as pd
import pingouin
from scipy import stats

from katayori.metrics.rank_tests import decision_tests
from katayori.metrics.response import ATTRIBUTES, FACTORS
from katayori.papers.discrim_eval import AGES, GENDERS, RACES

GOAL = 100


def simulated(models: int, questions: int, seed: int = 0) -> pd.DataFrame:
    """0/1 answers in the form of `response.with_value`, 1 % missing; gender or age matters in a
    third of questions.
    """
    rng = np.random.default_rng(seed)
    rows = itertools.product(
        [f"m{i}" for i in range(models)], range(questions), AGES, GENDERS, RACES
    )
    out = pd.DataFrame(rows, columns=["model", "decision_question_id", *ATTRIBUTES])
    out.insert(1, "source", "simulated")
    kind = out["decision_question_id"] % 6
    effect = (
        0.35 * (kind == 1) * (out["gender"] == "male") + 0.5 * (kind == 2) * (100 - out["age"]) / 80
    )
    base = rng.uniform(0.05, 0.6, models * questions).repeat(len(out) // (models * questions))
    out["value"] = (rng.random(len(out)) < base + effect).astype(float)
    out.loc[rng.random(len(out)) < 0.01, "value"] = np.nan
    return out


def conover_loop(table: pd.DataFrame) -> dict:
    """{(level, level): p}, not adjusted, one pair at a time."""
    long = table.reset_index(drop=True).melt(var_name="level").dropna()
    long["rank"] = long["value"].rank()
    groups = long.groupby("level", sort=False)
    n, means, sizes = len(long), groups["rank"].mean(), groups["rank"].count()
    ties = stats.tiecorrect(long["rank"].to_numpy())
    h = stats.kruskal(*(g for _, g in groups["value"])).statistic
    spread = ties * n * (n + 1) / 12 * (n - 1 - h) / (n - len(sizes))
    out = {}
    for a, b in itertools.combinations(table.columns, 2):
        t = abs(means[a] - means[b]) / np.sqrt(spread * (1 / sizes[a] + 1 / sizes[b]))
        out[a, b] = 2 * stats.t.sf(t, n - len(sizes))
    return out


def loop(values: pd.DataFrame) -> tuple[dict, dict]:
    """Adjusted p of every (model, question, factor), and of every pair of the significant ones."""
    factors, pairs = {}, {}
    for (model, question), one in values.groupby(["model", "decision_question_id"]):
        tables, raw = {}, {}
        for factor, own in FACTORS.items():
            rows = [a for a in ATTRIBUTES if a not in own]
            table = one.pivot_table(
                index=rows, columns=own, values="value", aggfunc="mean", dropna=False
            )
            table.columns = ["-".join(c) if isinstance(c, tuple) else c for c in table.columns]
            tables[factor] = table
            raw[factor] = stats.kruskal(*table.to_numpy().T, nan_policy="omit").pvalue
        done = [f for f in raw if not np.isnan(raw[f])]
        adjusted = pingouin.multicomp([raw[f] for f in done], method="holm")[1] if done else []
        for factor, p in zip(done, adjusted, strict=True):
            factors[model, question, factor] = p
            if p < 0.05:
                found = conover_loop(tables[factor])
                held = pingouin.multicomp(list(found.values()), method="holm")[1]
                pairs |= {
                    (model, question, factor, frozenset(k)): p
                    for k, p in zip(found, held, strict=True)
                }
    return factors, pairs


def timed(function, *args):
    started = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - started


def differs(ours: tuple[pd.DataFrame, pd.DataFrame], theirs: tuple[dict, dict]) -> float:
    """The largest difference of an adjusted p; an error where one arm tests what the other does
    not.
    """
    factors, pairs = (frame[frame["status"] == "ok"] for frame in ours)
    key = ["model", "decision_question_id", "factor"]
    mine = dict(
        zip(factors[key].itertuples(index=False, name=None), factors["p_holm"], strict=True)
    )
    levels = map(frozenset, zip(pairs["level_1"], pairs["level_2"], strict=True))
    named = [
        (*k, v) for k, v in zip(pairs[key].itertuples(index=False, name=None), levels, strict=True)
    ]
    mine |= dict(zip(named, pairs["p_holm"], strict=True))
    known = theirs[0] | theirs[1]
    if mine.keys() != known.keys():
        raise SystemExit("the two arms tested different tables or pairs")
    return max(abs(mine[k] - p) for k, p in known.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=9)
    parser.add_argument("--questions", type=int, default=70)
    parser.add_argument(
        "--loop-questions",
        type=int,
        default=70,
        help="questions of one model the loop runs on (70)",
    )
    args = parser.parse_args()
    values = simulated(args.models, args.questions)
    part = values[
        (values["model"] == "m0") & (values["decision_question_id"] < args.loop_questions)
    ]
    warnings.simplefilter(
        "ignore"
    )  # scipy's remark on constant tables, which both arms leave untested
    # Imports and first calls are not timed; the best of three runs counts for ours, the only run
    # for the loop.
    first = part["decision_question_id"] < 2
    gap = max(differs(decision_tests(p), loop(p)) for p in (part[first], part[~first]) if len(p))
    theirs, slow = timed(loop, part)
    ours, fast = min((timed(decision_tests, values) for _ in range(3)), key=lambda run: run[1])
    tables, done = (
        args.models * args.questions * len(FACTORS),
        part["decision_question_id"].nunique() * len(FACTORS),
    )
    scaled = slow * tables / done
    print(
        f"{args.questions} questions x {len(FACTORS)} factors x {args.models} models"
        f" = {tables:,} tables, simulated"
    )
    print(f"adjusted p of both arms differ by at most {gap:.0e} on the loop's part")
    print(f"{'arm':<52}{'tables':>8}{'seconds':>10}{'ms/table':>10}")
    print(
        f"{'library loop: pandas, scipy, pingouin':<52}"
        f"{done:>8,}{slow:>10.3f}{1000 * slow / done:>10.3f}"
    )
    print(
        f"{f'  the same, scaled by {tables / done:g}':<52}"
        f"{tables:>8,}{scaled:>10.3f}{1000 * slow / done:>10.3f}"
    )
    print(
        f"{'decision_tests, measured on all tables':<52}"
        f"{tables:>8,}{fast:>10.3f}{1000 * fast / tables:>10.3f}"
    )
    print(
        f"  pairs tested: loop {len(theirs[1]):,} (its part), decision_tests {len(ours[1]):,} (all)"
    )
    print(
        f"goal: at least {GOAL}x   measured: {scaled / fast:,.0f}x  "
        f" {'met' if scaled >= GOAL * fast else 'MISSED'}"
    )


if __name__ == "__main__":
    main()

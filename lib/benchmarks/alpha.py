"""Bootstrap of Krippendorff's alpha: the closed form beside a loop over the `krippendorff` package
in the same run.

    python lib/benchmarks/alpha.py [--resamples 10000] [--loop 20]

One table of 1,890 x 5 single answers (70 questions x 27 rows, race). Both arms resample whole
questions. The loop is timed on a few resamples and scaled, since all of them would take minutes.
Goal: at least 30 times faster.
"""

import argparse
import time

import krippendorff
import numpy as np
import pandas as pd

from katayori_tools.simulate_alpha import alpha_bootstrap

QUESTIONS, ROWS, LEVELS = 70, 27, 5


def table(rng: np.random.Generator) -> pd.DataFrame:
    """Answers of a respondent whose questions lean differently, in the shape of the race table."""
    lean = np.repeat(rng.beta(0.5, 0.5, QUESTIONS), ROWS)
    values = (rng.random((QUESTIONS * ROWS, LEVELS)) < lean[:, None]).astype(float)
    index = pd.MultiIndex.from_product(
        [range(QUESTIONS), range(ROWS)], names=["decision_question_id", "row"]
    )
    return pd.DataFrame(values, index=index)


def loop(one: pd.DataFrame, resamples: int, rng: np.random.Generator) -> list[float]:
    """What one would write first: draw questions, stack their rows, ask the package."""
    values = one.to_numpy().reshape(QUESTIONS, ROWS, LEVELS)
    out = []
    for _ in range(resamples):
        drawn = values[rng.integers(0, QUESTIONS, QUESTIONS)].reshape(-1, LEVELS)
        out.append(krippendorff.alpha(reliability_data=drawn.T, level_of_measurement="interval"))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--loop", type=int, default=20, help="resamples of the slow arm")
    options = parser.parse_args()
    one = table(np.random.default_rng(1))
    alpha_bootstrap(one, n_resamples=10)  # imports and first-call costs stay out of both arms
    times = []
    for _ in range(5):
        start = time.perf_counter()
        low, high = alpha_bootstrap(one, n_resamples=options.resamples)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    slow = loop(one, options.loop, np.random.default_rng(2))
    per_resample = (time.perf_counter() - start) / options.loop
    ours, theirs = min(times), per_resample * options.resamples
    print(f"alpha, {len(one):,} x {LEVELS}, {options.resamples:,} resamples of questions")
    print(f"  closed form    {ours:8.3f} s  (best of 5)   95 % interval {low:.3f} to {high:.3f}")
    print(
        f"  package loop   {theirs:8.1f} s  (scaled from {options.loop})"
        f"  mean of its resamples {np.mean(slow):.3f}"
    )
    print(f"  ratio {theirs / ours:,.0f}x; goal: at least 30x")


if __name__ == "__main__":
    main()

"""The mixed logistic model on a full set of answers, beside statsmodels' variational and MAP fits
in the same run.

    python lib/benchmarks/logistic.py [--questions 70] [--seed 0]

One row an answer: questions x 9 ages x 3 genders x 5 races, 9,450 by default. The goal for the
Laplace fit is 2 s.
"""

import argparse
import itertools
import time
import warnings

import numpy as np

FORMULA = "value ~ age + gender + race"
GROUP = "decision_question_id"
RACES = {"Asian": 0.0, "Black": 0.6, "Hispanic": 0.15, "Native American": 0.25, "white": -0.4}


def simulated(questions: int, seed: int):
    """Answers drawn from the model itself, with effects of the size the paper prints."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        itertools.product(
            range(questions), range(20, 101, 10), ("female", "male", "non-binary"), RACES
        ),
        columns=[GROUP, "age", "gender", "race"],
    )
    frame["age"] = (frame["age"] - frame["age"].mean()) / frame["age"].std(ddof=0)
    eta = (
        rng.normal(0, 1.5, questions)[frame[GROUP]] + 0.2 * frame["age"] + frame["race"].map(RACES)
    )
    return frame.assign(value=(rng.random(len(frame)) < 1 / (1 + np.exp(-eta))).astype(float))


def ours(frame, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    from katayori.metrics.mixed_logit import mixed_logit

    fit = mixed_logit(frame, FORMULA, GROUP, nodes=nodes).iloc[:-1]
    return fit["estimate"].to_numpy(), fit["se"].to_numpy()


def bayes(frame, method: str) -> tuple[np.ndarray, np.ndarray]:
    from statsmodels.api import BinomialBayesMixedGLM

    model = BinomialBayesMixedGLM.from_formula(
        FORMULA, {"question": f"0 + C({GROUP})"}, frame, vcp_p=3, fe_p=10
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = getattr(model, method)()
    return fit.fe_mean, fit.fe_sd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--questions", type=int, default=70, help="groups with a random intercept (70)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the simulated answers (0)")
    args = parser.parse_args()
    frame = simulated(args.questions, args.seed)
    ours(frame.head(500), 1)  # imports are not timed
    print(f"{len(frame):,} answers, {args.questions} questions, {FORMULA} + intercept per question")
    print(f"{'fit':<40}{'seconds':>9}{'max |d coef|':>14}{'median SE ratio':>17}")
    exact = None
    for name, run, option in (
        ("mixed_logit, 25 nodes (the reference)", ours, 25),
        ("mixed_logit, Laplace", ours, 1),
        ("statsmodels, variational (fit_vb)", bayes, "fit_vb"),
        ("statsmodels, MAP (fit_map)", bayes, "fit_map"),
    ):
        started = time.perf_counter()
        estimate, se = run(frame, option)
        seconds = time.perf_counter() - started
        exact = exact or (estimate, se)
        apart, ratio = np.abs(estimate - exact[0]).max(), np.median(se / exact[1])
        print(f"{name:<40}{seconds:>9.2f}{apart:>14.1e}{ratio:>17.2f}", flush=True)


if __name__ == "__main__":
    main()

"""`make simulate`: long simulations whose results notebooks read from data/simulated.

inter_interaction.csv: how often the test of interactions says that a combination of attributes is
more than the sum of its parts, for a respondent where it is not (`sim-inter-additive`: false
positives) and for one where it is (`sim-inter-interaction`: power), at the number of items behind
the published results.

power_factor.csv: the tests of one factor beside a second attribute (`simulate_factor`).

interval_coverage.csv: how often intervals hold what was planted (`simulate_coverage`).

spike.csv, own_level.csv: what methods find in the recorded values when a known shift is added to
them, and how often they reject without one (`simulate_spike`).

power_<measure>.csv: how often the tests of the other notebooks find an effect of planted size
(power), and how often they find one where there is none (false positives), at the papers' sizes and
smaller ones. A row is a batch of repetitions with a seed of its own. What each `draw_` function
plants, and what its tests promise, stands in its text.

The text of what draws is part of the hash in a table (see `simulate_hash`), so some lines stay long
until the tables are drawn anew.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from katayori import paths
from katayori.errors import KatayoriError
from katayori.metrics import logistic, qa_bias, rank_tests
from katayori.papers.inter_jbbq import items as inter_jbbq, scores as intersectional, simulated
from katayori.papers.jubaku_v2 import scores as forced_choice
from katayori.papers.logprob_judge import scores as verdicts
from katayori_tools import simulate_coverage, simulate_factor, simulate_spike
from katayori_tools.simulate_concordance import judged
from katayori_tools.simulate_hash import digest

FILE = "simulated/inter_interaction.csv"
RESPONDENTS = ("sim-inter-additive", "sim-inter-interaction")
SEEDS = range(200)
COLUMNS = ["model", "topic", "seed", "n", "lr", "df", "p", "status", "code"]
_CODE = (
    intersectional.interactions,
    logistic.mixed_logit,
    logistic.likelihood_ratio,
    simulated.inter_chances,
)


def code_hash() -> str:
    """sha256 (12 digits) over what draws and tests: it says which code wrote the file."""
    return digest([*_CODE, interaction_draws], str(simulated.INTER))


def interaction_draws(seeds: range | list[int]) -> pd.DataFrame:
    """The test on drawn answers to the ambiguous negative questions of the study set: a row a respondent, topic, seed.

    Each seed draws new right and wrong answers by the planted chances; the items stay. Columns `COLUMNS`.
    """
    items = inter_jbbq.generate()
    items = items[(items["context_condition"] == "ambiguous") & (items["polarity"] == "negative")]
    items = items.assign(
        cluster=items["focal_id"], source="simulated", prompt_id="none", invalid=False
    )
    frames = []
    for model in RESPONDENTS:
        chances = [
            simulated.inter_chances(model, row)[row["label"]] for row in items.to_dict("records")
        ]
        for seed in seeds:
            right = np.random.default_rng(seed).random(len(items)) < chances
            drawn = items.assign(model=model, right=right.astype(float))
            by = ("model", "source", "prompt_id", "topic")
            frames.append(intersectional.interactions(drawn, by=by)[0].assign(seed=seed))
    return pd.concat(frames, ignore_index=True).assign(code=code_hash())[COLUMNS]


# -- power and false positives ---------------------------------------------------------------------

LEVEL = 0.05
#: Batches of repetitions: more where there is no effect, since a rate near the level needs a small
#: error.
BATCHES = {"null": range(10), "effect": range(3)}
POWER_COLUMNS = [
    "measure",
    "test",
    "promises",
    "effect",
    "clusters",
    "per_cluster",
    "n",
    "seed",
    "repetitions",
    "positives",
    "undefined",
    "code",
]
Found = dict[str, np.ndarray]


def _design(clusters: int, ages: int, repetitions: int) -> pd.DataFrame:
    """Every question x age x gender x race of every repetition (column `model`), without answers."""
    levels = [range(repetitions), range(clusters), range(ages), range(3), range(5)]
    names = ["model", "decision_question_id", "age", "gender", "race"]
    frame = pd.DataFrame(list(itertools.product(*levels)), columns=names)
    return frame.assign(source="simulated", age=20 + 10 * frame["age"])


def _below(p: object) -> np.ndarray:
    """1 where a test rejects at LEVEL, 0 where not, NaN where it is undefined."""
    p = np.asarray(p, float)
    return np.where(np.isnan(p), np.nan, p <= LEVEL + 1e-12)


def _outside(low: pd.Series, high: pd.Series, value: float = 0) -> np.ndarray:
    """1 where an interval leaves out the value, 0 where it holds it, NaN where it is undefined."""
    return np.where(low.isna(), np.nan, (low > value) | (high < value))


def draw_rank_tests(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """One question with P(yes) near one half; two genders differ by `effect`. Every repetition is a question.

    Holm over the four factors promises at most the level for all of them together; chi-square approximates H.
    """
    frame = _design(repetitions, per // 15, clusters)
    chance = 0.5 + effect / 2 * (frame["gender"] - 1)
    factors, _ = rank_tests.decision_tests(
        frame.assign(value=(rng.random(len(frame)) < chance).astype(float))
    )
    p = factors.pivot(index="decision_question_id", columns="factor", values="p_holm")
    return {
        "planted factor after Holm": _below(p["gender"]),
        "any of four factors after Holm": _below(p.min(axis=1)),
    }


def draw_diff_bias(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Ambiguous items under two prompts: Diff_a is `effect` under one, 0 under the other; each template has a lean too.

    The sign-swap test over templates promises its level. The bootstrap interval over templates promises it for many
    templates only; the binomial test, for contrast, takes items as independent and promises nothing here.
    """
    shape, person = (repetitions, clusters, per), 0.4
    own, frames = rng.normal(0, 0.12, shape[:2])[:, :, None], []
    item = np.indices(shape).reshape(3, -1)
    for prompt, planted in (("base", 0.0), ("other", effect)):
        lean = np.clip(0.5 + planted / person / 2 + own, 0, 1)
        role = np.where(rng.random(shape) < lean, "biased", "counter_biased")
        role = np.where(rng.random(shape) < person, role, "unknown").ravel()
        told = {
            "model": item[0],
            "template_id": item[1],
            "item_id": np.arange(role.size),
            "role": role,
        }
        frames.append(pd.DataFrame(told).assign(prompt_id=prompt, correct=role == "unknown"))
    same = {
        "source": "simulated",
        "category": "all",
        "context_condition": "ambiguous",
        "has_target": True,
    }
    frame = pd.concat(frames, ignore_index=True).assign(**same)
    one = qa_bias.qa_scores(frame[frame["prompt_id"] == "other"], metrics=["diff_amb"])
    changes = qa_bias.compare_prompts(frame, "base", seed=int(rng.integers(2**31)))
    two = changes[changes["metric"] == "diff_amb"]
    chosen = pd.crosstab(frames[1]["model"], frames[1]["role"])[["biased", "counter_biased"]]
    p = [binomtest(int(b), int(b + c)).pvalue for b, c in chosen.itertuples(index=False)]
    found = {"interval over templates": _outside(one["ci_low"], one["ci_high"])}
    return found | {
        "prompts swapped over templates": _below(two["p_template"]),
        "binomial over items": _below(p),
    }


def draw_concordance(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Judges whose averaged verdict is right more often than BS2 by `effect`, see `judged`.

    The interval over questions promises its level for many questions only; the sign test takes
    comparisons as independent.
    """
    frame, comparisons = judged(rng, effect, clusters, per, repetitions)
    found = verdicts.concordance(frame, comparisons)
    gain = found[(found["task"] == "all") & (found["method"] == verdicts.GAIN)]
    intervals = _outside(gain["ci_low"], gain["ci_high"])
    return {
        "interval over questions": intervals,
        "sign test over comparisons": _below(gain["p_sign"]),
    }


def _choices(rng: np.random.Generator, chance: np.ndarray, per: int) -> pd.DataFrame:
    """Roles chosen in `per` variants of every repetition's cases; the chance of neutral is cases' or variants'."""
    shape = (*chance.shape[:2], per)
    neutral = rng.random(shape) < chance
    model, case, variant = (part.ravel() for part in np.indices(shape))
    choice = np.where(neutral.ravel(), "neutral", "biased")
    told = {
        "model": model,
        "case_id": case,
        "template": variant // 2,
        "order": variant % 2,
        "choice": choice,
    }
    return pd.DataFrame(told).assign(
        letter=choice, correct=neutral.ravel(), outcome="ok", source="simulated"
    )


def draw_variation(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Cases vary with the order of the options at a rate of 0.3 + `effect`; the others keep to one role.

    The exact interval over cases promises to miss the planted rate in at most the level; power: it leaves out 0.3.
    """
    unsteady = rng.random((repetitions, clusters, 1)) < 0.3 + effect
    steady = rng.random(unsteady.shape) < 0.5  # keeps to the neutral role
    found = forced_choice.variation_rate(
        _choices(rng, np.where(unsteady, np.arange(per) % 2, steady), per)
    )
    return {"exact interval over cases": _outside(found["ci_low"], found["ci_high"], 0.3)}


def draw_case_accuracy(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Two models with accuracies 0.6 and 0.6 + `effect`; each has cases it mostly gets right and cases it mostly fails.

    The test that exchanges the models case by case promises its level; the paper's chi-square over all answers takes
    the variants of a case as independent and promises nothing here.
    """
    p_cases, p_chi2 = [], []
    for _ in range(repetitions):
        chance = [
            rng.beta(1.5 * mean, 1.5 * (1 - mean), (1, clusters, 1)) for mean in (0.6, 0.6 + effect)
        ]
        frame = _choices(rng, np.concatenate(chance), per).replace(
            {"model": {0: "base", 1: "other"}}
        )
        found = forced_choice.compare_models(frame, "base", int(rng.integers(2**31))).iloc[0]
        p_cases.append(found["p_cases"])
        p_chi2.append(found.get("p_chi2", np.nan))
    return {"exchange over cases": _below(p_cases), "chi-square over answers": _below(p_chi2)}


class Curves(NamedTuple):
    """What is simulated for one measure: sizes (the paper's first), effects (0 first), what tests
    promise.
    """

    draw: Callable[..., Found]
    clusters: tuple[int, ...]
    per_cluster: tuple[int, ...]
    effects: tuple[float, ...]
    promises: dict[str, str]
    repetitions: int = 20


PROMISED = "level"
MANY = "level for many clusters"
ALONE = "level for independent answers"
CURVES = {
    "rank_tests": Curves(
        draw_rank_tests,
        clusters=(1,),
        per_cluster=(135, 75, 45),
        effects=(0, 0.15, 0.3, 0.45),
        promises={
            "planted factor after Holm": PROMISED,
            "any of four factors after Holm": PROMISED,
        },
        repetitions=100,
    ),
    "diff_bias": Curves(
        draw_diff_bias,
        clusters=(40, 16, 6),
        per_cluster=(48, 12),
        effects=(0, 0.03, 0.06, 0.12),
        promises={
            "prompts swapped over templates": PROMISED,
            "interval over templates": MANY,
            "binomial over items": ALONE,
        },
    ),
    "concordance": Curves(
        draw_concordance,
        clusters=(69, 35, 12),
        per_cluster=(3, 1),
        effects=(0, 0.03, 0.06, 0.1),
        promises={"interval over questions": MANY, "sign test over comparisons": ALONE},
    ),
    "variation": Curves(
        draw_variation,
        clusters=(27, 18, 9),
        per_cluster=(8,),
        effects=(0, 0.1, 0.2, 0.4),
        promises={"exact interval over cases": PROMISED},
    ),
    "case_accuracy": Curves(
        draw_case_accuracy,
        clusters=(27, 18, 9),
        per_cluster=(8, 4),
        effects=(0, 0.1, 0.2, 0.3),
        promises={"exchange over cases": PROMISED, "chi-square over answers": ALONE},
    ),
}


def power_hash(measure: str) -> str:
    """As `code_hash`, for one power table: over what draws and counts."""
    helpers = [judged] if measure == "concordance" else []
    return digest([_design, _choices, _below, _outside, CURVES[measure].draw, *helpers])


def power_draws(
    measure: str, effect: float, clusters: int, per: int, seeds: range | list[int]
) -> pd.DataFrame:
    """One row a seed and test of one cell of `CURVES`: positives among the repetitions.

    Columns `POWER_COLUMNS`.
    """
    curves, rows = CURVES[measure], []
    for seed in seeds:
        rng = np.random.default_rng([seed, round(1000 * effect), clusters, per])
        for test, hits in curves.draw(rng, effect, clusters, per, curves.repetitions).items():
            where = (
                measure,
                test,
                curves.promises[test],
                effect,
                clusters,
                per,
                clusters * per,
                seed,
            )
            rows.append(
                (
                    *where,
                    len(hits),
                    int(np.nansum(hits)),
                    int(np.isnan(hits).sum()),
                    power_hash(measure),
                )
            )
    return pd.DataFrame(rows, columns=POWER_COLUMNS)


def power_table(measure: str) -> pd.DataFrame:
    """All cells of one measure."""
    curves = CURVES[measure]
    cells = itertools.product(curves.effects, curves.clusters, curves.per_cluster)
    return pd.concat(
        [power_draws(measure, *cell, BATCHES["effect" if cell[0] else "null"]) for cell in cells]
    )


def _interactions() -> pd.DataFrame:
    """The table of the test of interactions; prints the shares of p < .05."""
    found = interaction_draws(SEEDS)
    tested = found.dropna(subset=["p"])
    positive = (tested["p"] < LEVEL).groupby([tested["model"], tested["topic"]])
    print(positive.agg(["mean", "size"]))
    return found


def _power(measure: str) -> pd.DataFrame:
    """One power table; prints the share found by test and effect."""
    drawn = simulate_factor.factor_table() if measure == "factor" else power_table(measure)
    counts = drawn.groupby(["test", "effect"])[["positives", "repetitions"]].sum()
    print(counts.assign(share=counts["positives"] / counts["repetitions"]), flush=True)
    return drawn


def _coverage() -> pd.DataFrame:
    """The table of coverage; prints the worst cell of each kind."""
    drawn = simulate_coverage.coverage_table()
    sums = drawn.groupby(simulate_coverage.CELL)[["given", "covered"]].sum()
    share = sums["covered"] / sums["given"]
    print(share.groupby("kind").agg(["min", "mean"]), flush=True)
    return drawn


def known_tables() -> dict[str, Callable[[], pd.DataFrame]]:
    """Every table of data/simulated by the name of its file, and what draws it."""
    found: dict[str, Callable[[], pd.DataFrame]] = {"inter_interaction": _interactions}
    for measure in ["factor", *CURVES]:
        found[f"power_{measure}"] = partial(_power, measure)
    spikes = {"spike": simulate_spike.spike_table, "own_level": simulate_spike.level_table}
    return found | {"interval_coverage": _coverage} | spikes


def simulate(*, tables: Sequence[str] = ()) -> int:
    """Draws the tables of these names, all of them without one, and writes them."""
    known = known_tables()
    wanted = tables or list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise KatayoriError(
            f"no simulated table {', '.join(unknown)}; the tables are {', '.join(known)}"
        )
    folder = paths.data_dir() / "simulated"
    folder.mkdir(exist_ok=True)
    for name in wanted:
        drawn = known[name]()
        drawn.to_csv(folder / f"{name}.csv", index=False, float_format="%.10g", lineterminator="\n")
    return 0

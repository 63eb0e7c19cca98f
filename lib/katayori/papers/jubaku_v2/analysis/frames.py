"""Frames that the figures of notebook 04 draw: rows in words, a value and its interval."""

from functools import lru_cache

import numpy as np
import pandas as pd

from katayori import paths
from katayori.metrics.share_intervals import clopper_pearson
from katayori.papers.jubaku_v2 import scores
from katayori.papers.jubaku_v2.analysis.accuracy import Accuracies
from katayori.papers.jubaku_v2.analysis.asked import Asked, over_cases
from katayori.papers.jubaku_v2.analysis.planted import Planted
from katayori.papers.jubaku_v2.analysis.printed import THEIRS, Printed
from katayori.papers.jubaku_v2.analysis.variation import has_probabilities

HALF = 0.5
ORDERS = {"nb": "the neutral reason is A", "bn": "the neutral reason is B"}
#: How a choice is spoken of.
CHOICES = {"neutral": "neutral reason", "biased": "biased reason"}
INVALID = "no valid answer"
OVER_CASES, OVER_ANSWERS, PLANTED = "over cases", "over answers", "planted"
POWER = "simulated/power_case_accuracy.csv"
#: Rules that a figure shows, in the words of a reader.
RULES = {
    "the reason without the full name of the group": "rule: reason without the group's full name",
    "the reason without the word of the group": "rule: reason without the group's word",
    "the longer reason": "rule: the longer reason",
    "the shorter reason": "rule: the shorter reason",
    "the option that stands first": "rule: the option that stands first",
    "more pairs of characters shared with the dialogue": "rule: quotes the dialogue more",
}
#: What a rule is drawn as, beside models.
READS_NOTHING = "rule that reads no meaning"


def by_order(asked: Asked, found: Accuracies) -> pd.DataFrame:
    """Accuracy in each order and in both: order (in words), model, value, ci_low, ci_high.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> by_order(examples.asked_first(), examples.analysed().accuracy)["value"].tolist()
        [1.0, 0.0, 0.5]
    """
    apart = found.by_order.assign(order=found.by_order["order"].map(ORDERS))
    apart = apart.sort_values("order", kind="stable")
    both = pd.concat([apart, found.scores.assign(order="both orders together")])
    return over_cases(both[both["model"].isin(asked.models)]).reset_index(drop=True)


def by_instruction(asked: Asked, found: Accuracies) -> pd.DataFrame:
    """Accuracy less one half, of all and of each instruction: instruction, model, value, interval.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> by_instruction(examples.asked_first(), examples.analysed().accuracy)["value"].tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    named = _named_instructions(found.scores, found.by_template)
    return _less_half(over_cases(named[named["model"].isin(asked.models)]))


def mean_probability(asked: Asked) -> pd.DataFrame:
    """P(neutral) over both orders less one half: instruction, model, value, ci_low, ci_high.

    Empty where no probability was read.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> mean_probability(examples.asked_first())["value"].tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if not has_probabilities(asked.of_models):
        return pd.DataFrame(columns=["instruction", "model", "value", "ci_low", "ci_high"])
    of_all = scores.averaged_over_orders(asked.of_models, seed=asked.seed)
    by = ["model", "source", "template"]
    apart = scores.averaged_over_orders(asked.of_models, by, seed=asked.seed)
    named = _named_instructions(of_all, apart)
    named = over_cases(named, "mean_low", "mean_high").drop(columns="value")
    return _less_half(named.rename(columns={"mean_p": "value"}))


def _named_instructions(of_all: pd.DataFrame, apart: pd.DataFrame) -> pd.DataFrame:
    numbers = "instruction " + apart["template"].astype(str)
    all_four = of_all.assign(instruction="all instructions")
    return pd.concat([all_four, apart.assign(instruction=numbers)], ignore_index=True)


def _less_half(frame: pd.DataFrame) -> pd.DataFrame:
    parts = {name: frame[name] - HALF for name in ("value", "ci_low", "ci_high")}
    return frame.assign(**parts)


def with_limit(
    frame: pd.DataFrame, headlines: pd.DataFrame, what: str, row: str, level: str
) -> pd.DataFrame:
    """A frame with `detects`, the limit of detection of its headline, in one row of each model.

    Args:
        frame: of a figure: `row`, model. headlines: what, model, detects. what: the headline.
        row, level: the column and the value that tell the headline's row.

    Example:
        >>> frame = pd.DataFrame({"model": "m", "instruction": ["all", "1"], "value": 0.1})
        >>> headlines = pd.DataFrame([{"what": "accuracy", "model": "m", "detects": 0.07}])
        >>> with_limit(frame, headlines, "accuracy", "instruction", "all")["detects"].tolist()
        [0.07, nan]
    """
    of_what = headlines[headlines["what"] == what]
    limits = of_what.drop_duplicates("model").set_index("model")["detects"].astype(float)
    is_headline = frame[row] == level
    return frame.assign(detects=frame["model"].map(limits).where(is_headline))


def choices(frame: pd.DataFrame) -> pd.DataFrame:
    """What was chosen in each of the eight prompts: model, case_id, prompt, choice (in words).

    Args:
        frame: of `scores.with_choice`.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> choices(examples.choices("sim-two-first"))["choice"].value_counts().to_dict()
        {'neutral reason': 24, 'biased reason': 24}
    """
    ordered = frame.assign(order=frame["order"].map(ORDERS))
    ordered = ordered.sort_values(["order", "template"], kind="stable")
    prompt = ordered["order"] + ", instruction " + ordered["template"].astype(str)
    chosen = ordered["choice"].map(CHOICES).fillna(INVALID)
    return ordered[["model", "case_id"]].assign(prompt=prompt, choice=chosen)


def moved(found: pd.DataFrame) -> pd.DataFrame:
    """`words.moved_by_instruction` with the instructions in words.

    Example:
        >>> found = pd.DataFrame({"prompt_id": ["ju_lik_2_ja", "mean of the instructions"]})
        >>> moved(found)["instruction"].tolist()
        ['instruction 2', 'mean of the instructions']
    """
    numbered = found["prompt_id"].str.replace(r"^ju_lik_(\d)_\w+$", r"instruction \1", regex=True)
    return found.assign(instruction=numbered)


def beside_rules(asked: Asked, found: Accuracies, rules: pd.DataFrame) -> pd.DataFrame:
    """Rules and models in one frame: who, kind, value, ci_low, ci_high.

    Args:
        asked: the answers of a run. found: their accuracies. rules: `reason_rules.surface_rules`.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> one = examples.analysed()
        >>> rows = beside_rules(examples.asked_first(), one.accuracy, one.cases.rules)
        >>> rows["who"].iloc[-1], rows["kind"].iloc[-1]
        ('sim-two-first', 'sim-two-first')
    """
    named = rules[rules["rule"].isin(RULES)]
    named = named.assign(who=named["rule"].map(RULES), kind=READS_NOTHING)
    named = named.sort_values("value", ascending=False, kind="stable")
    models = over_cases(found.scores[found.scores["model"].isin(asked.models)])
    models = models.assign(who=models["model"], kind=models["model"])
    columns = ["who", "kind", "value", "ci_low", "ci_high"]
    return pd.concat([named[columns], models[columns]], ignore_index=True)


def planted_rows(planted: Planted) -> pd.DataFrame:
    """Accuracy and variation of planted respondents: of, unit, value, ci_low, ci_high.

    `unit`: of the interval (over answers, over cases), or `planted` for the planted value.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.jubaku_v2.analysis.planted import planted
        >>> from katayori.prompting.prompts import load_prompts
        >>> rows = planted_rows(planted(load_prompts("jubaku_v2"), Kept(), seed=0))
        >>> rows["unit"].value_counts().to_dict()
        {'over cases': 8, 'planted': 8, 'over answers': 4}
    """
    parts = []
    for what, table in {"accuracy": planted.accuracy, "variation": planted.variation}.items():
        own = table.assign(of=table["model"] + f": {what}", unit=OVER_ANSWERS)
        if what == "accuracy":
            parts.append(own)
        parts.append((over_cases(own) if what == "accuracy" else own).assign(unit=OVER_CASES))
        value = own["planted"]
        parts.append(own.assign(unit=PLANTED, value=value, ci_low=np.nan, ci_high=np.nan))
    every = pd.concat(parts, ignore_index=True)
    return every[["of", "unit", "value", "ci_low", "ci_high"]]


def printed_accuracies(found: Printed) -> pd.DataFrame:
    """The printed accuracies with two intervals: model, unit, value, ci_low, ci_high, in points.

    Over answers, as if all were independent; over cases, as if the eight answers of a case always
    agreed. The truth lies between, and the print does not tell where.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> rows = printed_accuracies(examples.analysed().printed)
        >>> rows["unit"].tolist()[:2], len(rows)
        (['over answers', 'over cases'], 10)
    """
    rows = []
    theirs = found.accuracy[found.accuracy["benchmark"].str.startswith(THEIRS)]
    n_cases = int(found.agreement["n_cases"].sum())
    for row in theirs[theirs["source"] == "published"].to_dict("records"):
        ends = {
            OVER_ANSWERS: (row["ci_low"], row["ci_high"]),
            OVER_CASES: _in_points(clopper_pearson(row["value"] / 100 * n_cases, n_cases)),
        }
        for unit, (low, high) in ends.items():
            one = {"model": row["model"], "unit": unit, "value": row["value"]}
            rows.append(one | {"ci_low": low, "ci_high": high})
    return pd.DataFrame(rows)


def _in_points(ends: tuple[float, float]) -> tuple[float, float]:
    return 100 * ends[0], 100 * ends[1]


@lru_cache
def false_alarms() -> pd.DataFrame:
    """How often two tests find a difference between models that are equally good.

    Stored simulations; every model has cases that it mostly gets right, and others.

    Returns:
        design, test, value (share of studies with p < .05), ci_low, ci_high (exact), n (studies).

    Example:
        >>> sorted(false_alarms()["test"].unique())
        ['chi-square over answers', 'exchange over cases']
    """
    drawn = pd.read_csv(paths.data_dir() / POWER)
    equal = drawn[drawn["effect"] == 0]
    by = ["clusters", "per_cluster", "test"]
    counts = equal.groupby(by, sort=False)[["positives", "repetitions"]].sum().reset_index()
    rows = []
    for row in counts.to_dict("records"):
        low, high = clopper_pearson(row["positives"], row["repetitions"])
        design = f"{row['clusters']} cases, {row['per_cluster']} answers each"
        one = {"design": design, "test": row["test"], "n": row["repetitions"]}
        one |= {"value": row["positives"] / row["repetitions"], "ci_low": low, "ci_high": high}
        rows.append(one)
    return pd.DataFrame(rows)

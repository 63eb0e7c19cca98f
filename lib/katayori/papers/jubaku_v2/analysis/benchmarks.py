"""The other benchmarks in the two-option form, and what differs between models (section 10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.errors import UnavailableError
from katayori.papers import answers
from katayori.papers.jubaku_v2 import items, reason_rules, scores
from katayori.papers.jubaku_v2.analysis.asked import LETTERS, Asked, over_cases
from katayori.papers.jubaku_v2.analysis.variation import has_probabilities
from katayori.papers.keeping import Keeper
from katayori.prompting.prompts import Prompt

#: Data of others -> the prompt it is asked with.
THEIRS = {"jbnli": "ju_two_option_ja", "bbq": "ju_two_option_en"}
#: Our own items in the shape of BBQ, the data set that they are recorded as, and their prompt.
SHAPED = "BBQ-shaped study items"
SHAPED_SET, SHAPED_PROMPT = "study2_qa", "ju_two_option_ja"


@dataclass(frozen=True)
class Benchmark:
    """Another benchmark: its cases, a row each, and the answers, as `scores.with_choice`."""

    cases: pd.DataFrame
    frame: pd.DataFrame


@dataclass(frozen=True)
class Benchmarks:
    """What the benchmarks say together.

    Attributes:
        scores: `scores.accuracy` by benchmark, with the best rule of each and whether it beats the
            model. by_probability: `scores.averaged_over_orders` by benchmark. variance:
            `scores.discriminability` by source. correlations: `scores.benchmark_correlations`.
            notes: what is not here, in words.
    """

    scores: pd.DataFrame
    by_probability: pd.DataFrame
    variance: pd.DataFrame
    correlations: pd.DataFrame
    notes: list[str]


def benchmarks(
    asked: Asked,
    keep: Keeper,
    of_all: pd.DataFrame,
    averaged: pd.DataFrame,
    also: "Also",
) -> Benchmarks:
    """Accuracy on every benchmark, its variance over models, and correlations.

    Args:
        asked: the answers of a run. keep: takes the tables. of_all: `scores.accuracy` of them.
        averaged: `scores.averaged_over_orders` of them; empty without probabilities.
        also: the prompts of the other benchmarks, and our own items in the shape of BBQ.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> from katayori.papers.keeping import Kept
        >>> first = examples.asked_first()
        >>> of_all = scores.accuracy(first.frame)
        >>> found = benchmarks(first, Kept(), of_all, pd.DataFrame(), examples.also())
        >>> found.scores["benchmark"].tolist()[1], found.scores["value"].tolist()
        ('BBQ-shaped study items', [0.5, 0.5])
    """
    others, notes = _others(asked, also)
    table = _table(asked, keep, of_all, others)
    by_p = _by_probability(asked, keep, table, averaged, others)
    variance = _variance(keep, table)
    return Benchmarks(table, by_p, variance, _correlations(asked, keep, table), notes)


@dataclass(frozen=True)
class Also:
    """What the other benchmarks are asked with.

    Attributes:
        wording: the paper's prompts, by id. shaped: our items in the shape of BBQ, as two options
            (`second.study2_qa`).
    """

    wording: Mapping[str, Prompt]
    shaped: pd.DataFrame


def _others(asked: Asked, also: Also) -> tuple[dict[str, Benchmark], list[str]]:
    """The answers to data of others and to our own items, and what is not here."""
    found: dict[str, Benchmark] = {}
    notes: list[str] = []
    for name, prompt_id in THEIRS.items() if asked.study.official else ():
        try:
            pairs, label = items.load_items(name)
        except UnavailableError as error:
            notes.append(str(error))
            continue
        prompt = also.wording[prompt_id]
        models, part = answers.recorded_for_each(pairs, [prompt], {prompt.id: name}, asked.real)
        if models:
            log = answers.get(part, prompt, models, variant=name, dataset=name, **LETTERS)
            found[label] = Benchmark(part.drop_duplicates("case_id"), scores.with_choice(log))
        else:
            notes.append(f"{label}: no recorded answers yet")
    log = _answers_to_shaped(asked, also)
    if len(log):
        found[SHAPED] = Benchmark(also.shaped.drop_duplicates("case_id"), scores.with_choice(log))
    return found, notes


def _answers_to_shaped(asked: Asked, also: Also) -> pd.DataFrame:
    """Recorded answers to our own items, and simulated ones; without rows where there are none."""
    prompt = also.wording[SHAPED_PROMPT]
    how = {"variant": SHAPED_SET, "dataset": SHAPED_SET, **LETTERS}
    models = [name for name, source in asked.sources.items() if source == "simulated"]
    if asked.study.real:
        held = answers.recorded_for_each(
            also.shaped, [prompt], {prompt.id: SHAPED_SET}, asked.study.real
        )[0]
        models += held
    return answers.get(also.shaped, prompt, models, **how)


def _table(
    asked: Asked, keep: Keeper, of_all: pd.DataFrame, others: Mapping[str, Benchmark]
) -> pd.DataFrame:
    """Accuracies by benchmark, beside the rule that does best on each."""
    tables = {asked.dataset: of_all}
    rules = {asked.dataset: asked.best_rule}
    frames = {asked.dataset: asked.frame}
    for name, one in others.items():
        tables[name] = scores.accuracy(one.frame, seed=asked.seed)
        rules[name] = reason_rules.best_rule(reason_rules.rule_scores(one.cases))
        frames[name] = one.frame
    parts = [table.assign(benchmark=name) for name, table in tables.items()]
    beaten = [_beaten(name, frames[name], *rules[name]) for name in frames]
    table = pd.concat(parts, ignore_index=True)
    table = table.merge(pd.concat(beaten), on=["benchmark", "model"], how="left")
    keep.table("benchmarks", table)
    of_others = table[table["benchmark"] != asked.dataset]
    of_others = over_cases(of_others.assign(dataset=of_others["benchmark"]))
    keep.rows(of_others, "JU-14", "accuracy on a comparison benchmark", unit="share")
    return table


def _beaten(name: str, frame: pd.DataFrame, rule: str, scored: "pd.Series[float]") -> pd.DataFrame:
    """Whether the best rule of a benchmark beats each model on it."""
    apart = reason_rules.less_rule(*scores.case_counts(frame), scored)
    if "cluster" in frame:
        cluster_of = dict(zip(frame["case_id"], frame["cluster"], strict=True))
        apart = apart.groupby(apart.index.map(cluster_of)).mean()
    beside = reason_rules.against_rule(apart)[["model", "beaten"]]
    accuracy_of_rule = {"rule's accuracy": scored.mean()}
    return beside.assign(benchmark=name, rule=rule, **accuracy_of_rule)


def _by_probability(
    asked: Asked,
    keep: Keeper,
    table: pd.DataFrame,
    averaged: pd.DataFrame,
    others: Mapping[str, Benchmark],
) -> pd.DataFrame:
    """The same by P(neutral) over both orders."""
    added = ["mean_mass", "accuracy of letters", "p_mean_holm"]
    parts = {asked.dataset: averaged.drop(columns=added)} if len(averaged) else {}
    for name, one in others.items():
        if has_probabilities(one.frame):
            parts[name] = scores.averaged_over_orders(one.frame, seed=asked.seed)
    if not parts:
        return pd.DataFrame()
    by_p = pd.concat([one.assign(benchmark=name) for name, one in parts.items()], ignore_index=True)
    letters = table[["benchmark", "model", "value"]]
    letters = letters.rename(columns={"value": "accuracy of letters"})
    by_p = keep.table("benchmarks_by_probability", by_p.merge(letters, on=["benchmark", "model"]))
    of_others = over_cases(by_p[by_p["benchmark"] != asked.dataset])
    of_others = of_others.assign(dataset=of_others["benchmark"], n_invalid=of_others["n_left_out"])
    what = "neutral option likelier on a comparison benchmark, mean over both orders (addition)"
    keep.rows(of_others, "JU-14", what, unit="share")
    return by_p


def _variance(keep: Keeper, table: pd.DataFrame) -> pd.DataFrame:
    """How far the models of one source differ on each benchmark."""
    parts = [
        scores.discriminability(one).assign(source=source)
        for source, one in table.groupby("source")
    ]
    variance = keep.table("variance", pd.concat(parts, ignore_index=True))
    common: dict[str, Any] = {"cell": ["benchmark", "ddof"], "clusters_in": "n"}
    what = "variance of accuracy over models"
    keep.rows(variance, "JU-16", what, unit="squared share", **common)
    return variance


def _correlations(asked: Asked, keep: Keeper, table: pd.DataFrame) -> pd.DataFrame:
    """Correlations over models of one source with our cases."""
    parts = [
        scores.benchmark_correlations(one, asked.dataset).assign(source=source)
        for source, one in table.groupby("source")
    ]
    together = pd.concat(parts, ignore_index=True).infer_objects()
    keep.table("correlations", together)
    common: dict[str, Any] = {"cell": ["benchmark", "method"], "clusters_in": "n"}
    what = f"correlation over models with {asked.dataset}"
    keep.rows(together, "JU-17", what, unit="correlation", **common)
    return together

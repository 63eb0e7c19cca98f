"""Judges beside three people: recorded verdicts on PandaLM's pairs, joined by their ids.

The texts of PandaLM's test set belong to others and are not here. What is here are facts about its
pairs by id: which systems were compared, what three people said, how long the answers are. So the
default page can show how far recorded judges go together with people, and how many human labels
they stand for.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from katayori import paths
from katayori.metrics.few_labels import corrected_rate, win_rate
from katayori.papers import answers
from katayori.papers.logprob_judge import scores, surface_rules
from katayori.papers.logprob_judge.items import in_both_orders
from katayori.prompting.letters import LETTERS, parse_verdict, verdicts_frame
from katayori.prompting.prompts import Prompt

FILE = "study/logprob_judge/pandalm_labels.csv"
NAME = "PandaLM test set (labels by id)"
VARIANT = "official"
PEOPLE = ("annotator_1", "annotator_2", "annotator_3")
LONGER = "the longer answer"
#: What a verdict is worth for the system that stands first.
WORTH = {"1": 1.0, "2": 0.0, "tie": 0.5}
#: One question in so many has its labels shown to the estimate; all labels check it.
LABELLED = 2


def labels() -> pd.DataFrame:
    """What is known of PandaLM's 999 pairs.

    Returns:
        item_id, question_id, task (`pandalm`), system_1, system_2, annotator_1 to annotator_3 ("1",
        "2" or "tie"), length_1, length_2 (characters of the answers).

    Source: PandaLM test set v1 (Y. Wang et al., ICLR 2024; Apache 2.0), facts only.

    Example:
        >>> table = labels()
        >>> len(table), table["question_id"].nunique()
        (999, 170)
    """
    table = pd.read_csv(paths.data_dir() / FILE, dtype=dict.fromkeys(PEOPLE, str))
    return table.assign(task="pandalm")


def recorded_verdicts(prompt: Prompt, models: Sequence[str]) -> pd.DataFrame:
    """The recorded calls of judges on these pairs, in both orders.

    Args:
        prompt: the one that was asked.
        models: ids; those that were not asked are left out.

    Returns:
        frame "both orders" of `frame_checks` with p_A, p_B, p_C and the columns of `labels`. A
        judge that was asked a part of the pairs has that part.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> prompt = load_prompts("logprob_judge")["lj_pandalm_verdict_en"]
        >>> calls = recorded_verdicts(prompt, ["qwen2.5-coder-0.5b"])
        >>> len(calls), calls["pair_id"].nunique()
        (1998, 999)
    """
    # The recorded answers are joined by id; the texts that were asked are not here.
    texts = dict.fromkeys(("question", "reference", "answer_1", "answer_2"), "")
    rows = in_both_orders(labels().assign(**texts))
    read = {"parse": partial(parse_verdict, reason_first=False), "options": LETTERS}
    found = [
        answers.recorded_subset(
            rows, prompt, name, VARIANT, dataset=VARIANT, frame=verdicts_frame, **read
        )
        for name in models
    ]
    kept = [frame for frame in found if frame is not None]
    return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame()


def agreement(settled: pd.DataFrame) -> pd.DataFrame:
    """How far each judge agrees with each person, and all three averaged.

    Args:
        settled: of `scores.judge_verdicts`.

    Returns:
        model, method (BS1, BS2, proposed, the longer answer), annotator_1 to annotator_3 (shares),
        value (their mean), ci_low, ci_high (95 %, over questions), kappa (Cohen's, of the method
        and a person, averaged over the three; NaN where a verdict is missing or constant), n
        (labels), n_invalid, clusters, status.

    Example:
        >>> list(agreement(pd.DataFrame({"model": []})).columns)[:3]
        ['model', 'method', 'annotator_1']
    """
    rows = []
    for model in settled["model"].unique():
        own = settled[settled["model"] == model]
        pairs = labels()
        pairs = pairs[pairs["item_id"].isin(own["pair_id"])]
        rule = surface_rules.rule_verdicts(_by_length(pairs), {LONGER: surface_rules.longer})
        judged = scores.concordance(own, by=["model"])
        ruled = scores.concordance(rule, pairs, by=["model"])
        ruled = ruled[ruled["method"] == "proposed"].assign(method=LONGER, model=model)
        judged = judged[judged["method"] != scores.GAIN]
        both = pd.concat([judged, ruled])
        both = both[both["task"] == "all"].copy()
        said = {name: own.set_index("pair_id")[name] for name in scores.METHODS}
        said[LONGER] = rule.set_index("pair_id")["proposed"]
        both["kappa"] = [_kappa(said[name], pairs) for name in both["method"]]
        rows.append(both.assign(status=both["ci_status"]))
    columns = ["model", "method", *PEOPLE, "value", "ci_low", "ci_high", "kappa", "n"]
    columns += ["n_invalid", "clusters", "status"]
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns)
    return table[columns]


def _by_length(pairs: pd.DataFrame) -> pd.DataFrame:
    """Answers as long as the real ones, for a rule that looks at nothing but length."""
    texts = {f"answer_{k}": ["." * n for n in pairs[f"length_{k}"]] for k in (1, 2)}
    return pairs.assign(reference="", **texts)


def _kappa(verdicts: pd.Series, pairs: pd.DataFrame) -> float:
    """Cohen's kappa of the verdicts with each person, averaged."""
    table = pairs.assign(judge=pairs["item_id"].map(verdicts)).dropna(subset=["judge"])
    if table.empty:
        return float("nan")
    found = [
        scores.human_agreement(table[["judge", person]], ["judge", person]).set_index("measure")
        for person in PEOPLE
    ]
    return float(np.mean([one.loc["cohen_kappa", "value"] for one in found]))


def few_labels(settled: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """How often each system wins, with the labels of every second question and all verdicts.

    Which questions are labelled is drawn. The labels of the others are hidden from the estimate,
    and say how near it comes.

    Args:
        settled: of `scores.judge_verdicts`, with the columns of the annotators.
        seed: of which questions are labelled, and of the draws behind the interval of `saved`.

    Returns:
        model, system, and the columns of `metrics.few_labels.win_rate`; all_labels (the rate by all
        labels, which the estimate did not see), corrected, corrected_low, corrected_high,
        corrected_status (of `corrected_rate`). A label is the mean of three people.

    Example:
        >>> few_labels(pd.DataFrame({"model": []})).empty
        True
    """
    rows = []
    known = labels().rename(columns={"item_id": "pair_id"})
    facts = known[["pair_id", "system_1", "system_2"]]
    for model in settled["model"].unique():
        own = settled[settled["model"] == model].merge(facts, on="pair_id")
        questions = np.array(sorted(own["question_id"].unique()))
        shuffled = np.random.default_rng(seed).permutation(questions)
        shown = set(shuffled[: len(questions) // LABELLED])
        for system in sorted({*own["system_1"], *own["system_2"]}):
            frame = _of_system(own, system)
            seen = frame.assign(label=frame["label"].where(frame["cluster"].isin(shown)))
            found = win_rate(seen, seed=seed)
            corrected = corrected_rate(seen.assign(label=_majority(seen["label"])))
            row = {"model": model, "system": system, **found}
            row["all_labels"] = float(frame["label"].mean())
            row |= {"corrected": corrected["value"], "corrected_low": corrected["ci_low"]}
            row |= {"corrected_high": corrected["ci_high"]}
            rows.append(row | {"corrected_status": corrected["status"]})
    return pd.DataFrame(rows)


def _of_system(own: pd.DataFrame, system: str) -> pd.DataFrame:
    """Labels and verdicts of a system's comparisons, from its side."""
    first = own["system_1"] == system
    kept = own[first | (own["system_2"] == system)]
    is_first = kept["system_1"] == system
    label = kept[list(PEOPLE)].apply(lambda column: column.map(WORTH)).mean(axis=1)
    verdict = kept["proposed"].map(WORTH)
    return pd.DataFrame(
        {
            "label": label.where(is_first, 1 - label),
            "verdict": verdict.where(is_first, 1 - verdict),
            "cluster": kept["question_id"],
        }
    )


def _majority(label: pd.Series) -> pd.Series:
    """Two classes: above or below one half; a mean of one half is a tie."""
    sides = pd.Series(np.sign(label - 0.5) / 2 + 0.5, label.index)
    return sides.where(label.notna())


def sentences(table: pd.DataFrame) -> list[str]:
    """How many labels each judge saves, a sentence a judge.

    Args:
        table: of `few_labels`.

    Example:
        >>> row = {"model": "m", "status": "ok", "saved": 0.02, "saved_low": 0.0}
        >>> row |= {"saved_high": 0.1, "value": 0.5, "ci_low": 0.4, "ci_high": 0.6}
        >>> row |= {"all_labels": 0.55, "corrected_status": "judge_uninformative"}
        >>> print(sentences(pd.DataFrame([row]))[0])
        m: for 1 of 1 systems there are enough labels. The judge saves 2 % of them at most (interval
        up to 10 %); 1 of 1 intervals hold the rate by all labels. It is uninformative for 1 of 1.
    """
    lines = []
    for model, rows in table.groupby("model", sort=False):
        told = rows[rows["status"] == "ok"]
        line = f"{model}: for {len(told)} of {len(rows)} systems there are enough labels."
        if len(told):
            held = (told["ci_low"] <= told["all_labels"]) & (told["all_labels"] <= told["ci_high"])
            line += f" The judge saves {100 * told['saved'].max():.0f} % of them at most"
            line += f" (interval up to {100 * told['saved_high'].max():.0f} %);"
            line += f" {held.sum()} of {len(told)} intervals hold the rate by all labels."
        useless = (rows["corrected_status"] == "judge_uninformative").sum()
        lines.append(f"{line} It is uninformative for {useless} of {len(rows)}.")
    return lines

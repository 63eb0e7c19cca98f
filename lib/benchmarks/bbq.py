"""Scoring the persona-JBBQ paper's whole grid: 50,856 items x 5 prompts x 4 models = 1,017,120
synthetic answers.

    python lib/benchmarks/bbq.py

Each arm is a process of its own that makes the answers and scores them: every measure of every cell
by decisions, and by probabilities. Time is that of the scoring, peak memory that of the whole
process, answers included.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from katayori.metrics import bbq

#: Items and templates of each category: the paper's counts; 245 templates, shared out evenly.
SIZES = {
    "age": 28176,
    "disability": 8064,
    "gender": 3912,
    "physical_appearance": 7536,
    "sexual_orientation": 3168,
}
TEMPLATES, MODELS, PROMPTS = 49, 4, ("basic", "para", "cot", "neutral", "biased")
GOALS = {"decisions": "below 20 s and 1.5 GB", "probabilities": "below 20 s and 1.5 GB"}
NAMES = {"answer": "answer", "option": "role", "label": "label", "context": "context_condition"}
BY = ["model", "prompt_id", "category"]


def grid() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items in the schema of `data.bbq` and answers with option probabilities and 3 % out of
    choice.
    """
    rng, parts = np.random.default_rng(1), []
    for category, size in SIZES.items():
        k = np.arange(size)
        part = pd.DataFrame({"item_id": [f"{category}-{i:05d}" for i in k], "category": category})
        part["template_id"] = [f"{category}-q{i % TEMPLATES}" for i in k]
        part["context_condition"] = np.array(
            ["ambiguous", "ambiguous", "biased", "counter_biased"]
        )[k % 4]
        part["polarity"] = np.array(["negative", "non_negative"])[k // 4 % 2]
        order = rng.permuted(np.tile(np.arange(3), (size, 1)), axis=1)
        roles = np.array(["biased", "counter_biased", "unknown"])[order].astype(object)
        part[["role_0", "role_1", "role_2"]] = roles
        wanted = part["context_condition"].replace("ambiguous", "unknown").to_numpy()
        parts.append(part.assign(label=(roles == wanted[:, None]).argmax(axis=1)))
    items = pd.concat(parts, ignore_index=True)
    n, times = len(items), MODELS * len(PROMPTS)
    right = np.tile(items["label"].to_numpy(), times)
    choice = np.where(rng.random(n * times) < 0.6, right, rng.integers(0, 3, n * times))
    valid = rng.random(n * times) > 0.03
    answers = pd.DataFrame({"item_id": np.tile(items["item_id"].to_numpy(object), times)})
    answers["model"] = np.repeat([f"model {m}" for m in range(MODELS)], n * len(PROMPTS))
    answers["prompt_id"] = np.tile(np.repeat(np.array(PROMPTS, object), n), MODELS)
    answers["source"], answers["repetition"] = "simulated", 0
    answers["outcome"] = np.where(valid, "ok", "out_of_choice")
    answers["answer"] = np.where(valid, np.array(["0", "1", "2"], object)[choice], None)
    answers[["p_0", "p_1", "p_2"]] = np.where(np.arange(3) == choice[:, None], 0.7, 0.1)
    return items, answers.assign(mass=0.9)


def arm(name: str) -> None:
    """Score once and print seconds, peak memory and what came out."""
    items, answers = grid()
    start = time.perf_counter()
    joined = answers.merge(items, on="item_id", how="left")
    frame = bbq.with_role(joined, p="p", **NAMES)
    right, side = ("right", "side") if name == "decisions" else ("p_right", "p_side")
    found = bbq.scores(frame, context="case", right=right, side=side, by=BY, cluster="template_id")
    seconds = time.perf_counter() - start
    unit = 2**30 if sys.platform == "darwin" else 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(
        f"  {name:<14}{len(found):>7,} rows{seconds:>9.1f} s{peak:>8.2f} GB   goal: {GOALS[name]}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm", choices=GOALS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        return arm(options.arm)
    n = sum(SIZES.values()) * MODELS * len(PROMPTS)
    print(f"{n:,} answers, {MODELS * len(PROMPTS) * len(SIZES)} cells")
    for name in GOALS:
        subprocess.run([sys.executable, str(Path(__file__).resolve()), "--arm", name], check=True)


if __name__ == "__main__":
    main()

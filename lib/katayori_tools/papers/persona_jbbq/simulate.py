"""The power of tests of Diff-bias, and the error rate of its intervals."""

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from katayori_tools.papers.persona_jbbq import qa_bias
from katayori_tools.simulate_power import (
    ALONE,
    MANY,
    PROMISED,
    Curves,
    Found,
    _below,
    _outside,
)


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
    frame = pd.concat(frames, ignore_index=True).assign(**same)  # type: ignore[arg-type]  # the statement is hashed
    one = qa_bias.qa_scores(frame[frame["prompt_id"] == "other"], metrics=["diff_amb"])
    changes = qa_bias.compare_prompts(frame, "base", seed=int(rng.integers(2**31)))
    two = changes[changes["metric"] == "diff_amb"]
    chosen = pd.crosstab(frames[1]["model"], frames[1]["role"])[["biased", "counter_biased"]]
    p = [binomtest(int(b), int(b + c)).pvalue for b, c in chosen.itertuples(index=False)]
    found = {"interval over templates": _outside(one["ci_low"], one["ci_high"])}
    return found | {
        "prompts swapped over templates": _below(two["p_cluster"]),
        "binomial over items": _below(p),
    }


CURVES = {
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
}

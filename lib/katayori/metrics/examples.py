"""Small made-up frames for the examples of the docstrings: print one to see what columns hold.

They are drawn with a fixed seed by rules that stand in each function. No model answered.
"""

import itertools

import numpy as np
import pandas as pd


def three_options(templates: int = 24) -> pd.DataFrame:
    """Answers to BBQ-shaped items with probabilities, as of `papers.answers.get`.

    A liking for place 1, a lean to the target, and the added sentence of a clear passage is read.

    Example:
        >>> three_options().iloc[0][["context_condition", "role_0", "answer"]].tolist()
        ['ambiguous', 'biased', '1']
    """
    rng = np.random.default_rng(0)
    orders = list(itertools.permutations(("biased", "counter_biased", "unknown")))
    rows = []
    for template, context in itertools.product(range(templates), ("ambiguous", "disambiguated")):
        for number, order in enumerate(orders):
            gold = "unknown" if context == "ambiguous" else orders[0][(template + number) % 2]
            logits = np.array([0.0, 2.0, 0.0]) + rng.normal(0, 0.5, 3)
            logits[order.index("biased")] += 0.8
            logits[order.index(gold)] += 1.0 * (context == "disambiguated")
            p = np.exp(logits) / np.exp(logits).sum()
            row: dict[str, object] = {
                "item_id": f"{template}-{context}-{number}",
                "template_id": f"t{template}",
            }
            row |= {"base_id": f"{template}-{context}", "category": "age"}
            row |= {"polarity": ("negative", "non_negative")[template % 2]}
            row |= {"context_condition": context, "label": order.index(gold)}
            row |= {f"role_{place}": role for place, role in enumerate(order)}
            row |= {f"option_{place}": f"the {role}" for place, role in enumerate(order)}
            row |= {"context": "The biased met the counter_biased."}
            row |= {f"p_{place}": p[place] for place in range(3)}
            rows.append(row | {"answer": str(p.argmax()), "outcome": "ok", "mass": 1.0})
    return pd.DataFrame(rows).assign(model="m", source="simulated", prompt_id="p", text="1")


def leans(bias: float = 0.4, templates: int = 10) -> pd.DataFrame:
    """Leans of likelihoods in nats, as `paired_contrasts` reads them.

    The added sentence is read (1 nat), and the target is favoured by `bias` nats.

    Example:
        >>> leans().columns.tolist()[-3:]
        ['polarity', 'mention', 'lean']
    """
    rng = np.random.default_rng(0)
    conditions = ("ambiguous", "biased", "counter_biased")
    orders = ("target_first", "other_first")
    rows = []
    for template in range(templates):
        words = rng.normal(0, 1)
        for cell in itertools.product(conditions, ("negative", "non_negative"), orders):
            condition, polarity, _ = cell
            negative = 1 if polarity == "negative" else -1
            told = {"ambiguous": 0, "biased": 1, "counter_biased": -1}[condition]
            lean = words + bias * negative + told * negative + rng.normal(0, 0.2)
            pair = f"t{template}-1"
            rows.append(("m", "p", f"t{template}", pair, "age", *cell, lean))
    columns = ["model", "prompt_id", "template_id", "pair_id", "category"]
    return pd.DataFrame(
        rows, columns=[*columns, "context_condition", "polarity", "mention", "lean"]
    )

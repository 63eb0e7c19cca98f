"""Made-up answers to questions about two persons, with effects that are planted."""

import itertools

import numpy as np
import pandas as pd

CONTEXTS = ("ambiguous", "biased", "counter_biased")
ROLES = ("biased", "counter_biased", "unknown")
PERSONS = ("target", "non_target", "unknown")
NAMES = {"answer": "answer", "label": "label", "context": "context"}


def design(templates=50):
    """Each template in three contexts, both polarities and six orders: 36 rows a template."""
    rows = []
    cells = itertools.product(
        range(templates), CONTEXTS, ("negative", "non_negative"), itertools.permutations(ROLES)
    )
    for template, context, polarity, order in cells:
        turned = (1, 0, 2) if polarity == "non_negative" else (0, 1, 2)
        person = [PERSONS[turned[ROLES.index(role)]] for role in order]
        gold = "unknown" if context == "ambiguous" else context
        row = {"template": f"t{template}", "category": template % 5, "context": context}
        row |= {"polarity": polarity, "label": order.index(gold), "case": context}
        row |= {f"role_{place}": role for place, role in enumerate(order)}
        rows.append(row | {f"person_{place}": one for place, one in enumerate(person)})
    frame = pd.DataFrame(rows)
    return frame.assign(item=frame.groupby(["template", "context", "polarity"]).ngroup())


def answered(items, rng, *, diff=0.0, unknown=0.9, right=0.9, by_position=0.0, spread=0.0):
    """Answers of a respondent that is planted.

    Args:
        items: of `design`.
        diff: P(biased) less P(counter-biased) in ambiguous contexts. unknown: P(unknown) there; one
            value, or one a category. right: P(right) in clear contexts, its errors to the other
            person. by_position: so often position 1 is written whatever is asked.
        spread: SD of diff over templates.
    """
    codes = pd.factorize(items["template"])[0]
    lean = diff + spread * rng.normal(size=codes.max() + 1)[codes]
    silent = np.broadcast_to(np.asarray(unknown, float), 5)[items["category"]]
    ambiguous = (items["context"] == "ambiguous").to_numpy()
    biased = np.where(items["context"] == "biased", right, 1 - right)
    biased = np.where(ambiguous, (1 - silent + lean) / 2, biased)
    counter = np.where(ambiguous, (1 - silent - lean) / 2, 1 - biased)
    drawn = rng.random(len(items))
    role = np.where(drawn < biased, "biased", "unknown").astype(object)
    role[(drawn >= biased) & (drawn < biased + counter)] = "counter_biased"
    stands = items[["role_0", "role_1", "role_2"]].to_numpy(object) == role[:, None]
    place = np.where(rng.random(len(items)) < by_position, 1, stands.argmax(axis=1))
    return items.assign(answer=pd.Series(place, items.index).astype(str))


def some_lost(frame, share, rng):
    """The same with so many answers that cannot be read."""
    return frame.assign(answer=frame["answer"].mask(rng.random(len(frame)) < share))

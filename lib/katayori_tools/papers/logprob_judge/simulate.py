"""The long simulations of concordance with people, on planted judges."""

import numpy as np
import pandas as pd

from katayori.metrics import judges
from katayori_tools.simulate_power import ALONE, MANY, Curves, Found, _below, _outside


def judged(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> pd.DataFrame:
    """Verdicts of `repetitions` judges, and labels of three people, right in 85 % of cases.

    A judge's two orders differ on 27.5 % of the pairs. There BS2 says tie, and the averaged verdict
    is right more often by what makes the concordance of the averaged verdict exceed that of BS2 by
    `effect`; half of the pairs of a question go right or wrong together.

    Returns:
        a row a judge and pair: model, question, proposed, BS2 and the labels annotator_1 to
        annotator_3.
    """
    shape, differ, right = (repetitions, clusters, per), 0.275, 0.85
    truth, names = rng.integers(0, 3, shape), np.array(judges.VERDICTS, dtype=object)
    wrong = (truth + rng.integers(1, 3, shape)) % 3
    shared = np.where(rng.random(shape) < 0.5, rng.random(shape[:2])[:, :, None], rng.random(shape))
    hit = 1 / 3 + effect / differ / (right - (1 - right) / 2)
    own, agree = np.where(shared < hit, truth, wrong), rng.random(shape) >= differ
    settled = np.where(agree, np.where(rng.random(shape) < 0.8, truth, wrong), own)
    model, question, _ = (part.ravel() for part in np.indices(shape))
    frame = pd.DataFrame({"model": model, "question": question, "proposed": names[settled].ravel()})
    frame["BS2"] = frame["proposed"].where(agree.ravel(), "tie")
    for k in (1, 2, 3):
        other = (truth + rng.integers(1, 3, shape)) % 3
        said = np.where(rng.random(shape) < right, truth, other)
        frame[f"annotator_{k}"] = names[said].ravel()
    return frame


def gains(frame: pd.DataFrame) -> pd.DataFrame:
    """What the averaged verdict gains over BS2, a row a judge of `judged`."""
    people = ["annotator_1", "annotator_2", "annotator_3"]
    found = judges.concordance(
        frame, judge=["proposed", "BS2"], people=people, by="model", baseline="BS2"
    )
    return found[found["measure"] == "gain over BS2"]


def draw_concordance(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Judges whose averaged verdict is right more often than BS2 by `effect`, see `judged`.

    The interval over questions promises its level for many questions only; the sign test takes
    comparisons as independent.
    """
    gain = gains(judged(rng, effect, clusters, per, repetitions))
    intervals = _outside(gain["ci_low"], gain["ci_high"])
    return {
        "interval over questions": intervals,
        "sign test over comparisons": _below(gain["p_sign"]),
    }


CURVES = {
    "concordance": Curves(
        draw_concordance,
        clusters=(69, 35, 12),
        per_cluster=(3, 1),
        effects=(0, 0.03, 0.06, 0.1),
        promises={"interval over questions": MANY, "sign test over comparisons": ALONE},
    ),
}

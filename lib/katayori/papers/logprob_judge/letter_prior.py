"""Dividing out what a judge gives to a letter, whatever the answers: an honest lesson.

Each letter's probability is divided by its mean over all calls of a judge and prompt. A judge that
likes one letter then seems steadier, because its orders agree more often. Whether it agrees more
often with people is another matter, and is shown beside it.

Reference: H. Zhou et al., Batch Calibration, ICLR 2024.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.metrics import ties
from katayori.metrics.choices import MEANING
from katayori.papers.logprob_judge import scores
from katayori.prompting.letters import LETTERS

P = [f"p_{letter}" for letter in LETTERS]


def batch_calibrated(frame: pd.DataFrame, by: Sequence[str] = scores.BY) -> pd.DataFrame:
    """The calls with each letter's probability divided by its mean over the batch.

    Args:
        frame: frame "both orders" of `frame_checks` with p_A, p_B, p_C.
        by: what makes a batch.

    Returns:
        the same rows with the divided probabilities (they add to 1) and the likeliest letter; rows
        without probabilities stay as they are.

    Example:
        >>> calls = pd.DataFrame({"model": "m", "letter": "A", "p_A": [0.9, 0.7], "p_C": 0.0})
        >>> batch_calibrated(calls.assign(p_B=[0.1, 0.3]), ["model"])["letter"].tolist()
        ['A', 'B']
    """
    parts = [_of_batch(rows) for _, rows in frame.groupby(list(by), sort=False)]
    return pd.concat(parts) if parts else frame


def _of_batch(rows: pd.DataFrame) -> pd.DataFrame:
    told = rows[P].to_numpy(float)
    known = ~np.isnan(told).any(axis=1) & (told.sum(axis=1) > 0)
    prior = told[known].mean(axis=0) if known.any() else np.ones(len(P))
    # A letter that never has any probability has nothing to divide.
    divided = told / np.where(prior > 0, prior, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        divided = divided / divided.sum(axis=1, keepdims=True)
    letters = np.array(LETTERS, dtype=object)[ties.highest(divided).argmax(axis=1)]
    out = rows.copy()
    out[P] = np.where(known[:, None], divided, told)
    was_read = known & rows["letter"].notna().to_numpy()
    out["letter"] = np.where(was_read, letters, rows["letter"].to_numpy(object))
    return out


def before_and_after(
    frame: pd.DataFrame, comparisons: pd.DataFrame, by: Sequence[str] = scores.BY
) -> pd.DataFrame:
    """Robustness and agreement of the averaged verdict, before and after dividing.

    Args:
        frame: as of `batch_calibrated`, with the columns that `scores.judge_verdicts` needs.
        comparisons: with people's verdicts or the truth.
        by: what tells cells apart.

    Returns:
        by..., measure (`robustness`, `agreement`), read (`as given`, `divided`), value, ci_low,
        ci_high (95 %, over questions), n, n_invalid, clusters, status; over all tasks.

    Example:
        >>> before_and_after(pd.DataFrame({"order": ["12"]}), pd.DataFrame()).empty
        True
    """
    parts = []
    if set(frame["order"]) >= set(MEANING):
        for read, calls in (("as given", frame), ("divided", batch_calibrated(frame, by))):
            settled = scores.judge_verdicts(calls, by)
            steady = scores.robustness(settled, comparisons, by=by)
            agreeing = scores.concordance(settled, comparisons, by=by)
            agreeing = agreeing[agreeing["method"] == "proposed"]
            parts.append(steady.assign(measure="robustness", read=read))
            parts.append(agreeing.assign(measure="agreement", read=read))
    columns = [*by, "measure", "read", "value", "ci_low", "ci_high", "n", "n_invalid", "clusters"]
    if not parts:
        return pd.DataFrame(columns=[*columns, "status"])
    table = pd.concat(parts, ignore_index=True)
    table = table[table["task"] == "all"]
    undefined = table["status"] != "ok"
    table["status"] = table["status"].where(undefined, table["ci_status"])
    return table[[*columns, "status"]].reset_index(drop=True)


def sentences(table: pd.DataFrame) -> list[str]:
    """What dividing does to each judge and prompt, one sentence each.

    Args:
        table: of `before_and_after`, with model and prompt_id.

    Example:
        >>> rows = [("robustness", "as given", 0.2), ("robustness", "divided", 0.6)]
        >>> rows += [("agreement", "as given", 0.5), ("agreement", "divided", 0.4)]
        >>> table = pd.DataFrame(rows, columns=["measure", "read", "value"])
        >>> sentences(table.assign(model="m", prompt_id="p"))
        ['m, p: robustness 20.0 to 60.0 % (+40.0 points), agreement 50.0 to 40.0 % (-10.0 points).']
    """
    lines = []
    for (model, prompt_id), rows in table.groupby(["model", "prompt_id"], sort=False):
        values = rows.set_index(["measure", "read"])["value"]
        parts = []
        for measure in ("robustness", "agreement"):
            given, divided = (100 * values[measure, read] for read in ("as given", "divided"))
            change = f"({divided - given:+.1f} points)"
            parts.append(f"{measure} {given:.1f} to {divided:.1f} % {change}")
        lines.append(f"{model}, {prompt_id}: {', '.join(parts)}.")
    return lines

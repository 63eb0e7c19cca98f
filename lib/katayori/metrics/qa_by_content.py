"""Scores of BBQ-shaped answers by what stands at a place, not by the place (`position_free`).

The letter is the paper's own reading, of the order of options that was given. `probability` takes
the likeliest letter, `calibrated` takes what the place adds off first, as learned from other
templates. Where all orders of the options were asked, these are means over the orders, and so is
`letter_over_orders`; `permuted` decides once for all orders. All scores of `qa_bias` run on each
reading, with the same intervals and tests.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.metrics import position_free, qa_bias, qa_intervals

MODEL = ("model", "source", "prompt_id")
#: The readings of what was written: the order that was given, and all orders.
OVER_ORDERS = "letter_over_orders"
LETTERS = ("letter", OVER_ORDERS)
#: Scores that say nothing where the place decides what is written.
OF_BIAS = ("diff_amb", "diff_dis")
SCORES = ("acc_amb", "acc_dis", *OF_BIAS)


def has_probabilities(log: pd.DataFrame) -> pd.DataFrame:
    """The rows of the models and prompts that gave probabilities of the options.

    Example:
        >>> log = pd.DataFrame({"model": ["a", "b"], "prompt_id": "p", "p_0": [0.2, None]})
        >>> has_probabilities(log)["model"].tolist()
        ['a']
    """
    if "p_0" not in log:
        return log.iloc[:0]
    known = log.groupby(["model", "prompt_id"])["p_0"].transform("count") > 0
    return log[known]


def roles_by_reading(
    log: pd.DataFrame, by: Sequence[str] = MODEL, in_all_orders: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Answers with what each choice means, once under each reading.

    Args:
        log: frame "three options" of `frame_checks` with p_0, p_1, p_2.
        by: what is calibrated apart.
        in_all_orders: the same items in all orders of their options (`bbq.in_all_orders`), where
            these were asked.

    Returns:
        as `qa_bias.with_role`, with reading and read_status: `letter`, `probability`, `calibrated`.
        Where all orders were asked, `letter` is of the rows of `log`; `letter_over_orders`,
        `probability` and `calibrated` have a row an order, and `permuted` one an item.

    Raises:
        FrameError: as `qa_bias.with_role`.

    Example:
        >>> from katayori.metrics import examples
        >>> roles_by_reading(examples.three_options())["reading"].unique().tolist()
        ['letter', 'probability', 'calibrated']
    """
    if in_all_orders is None:
        read = position_free.answers_by_content(log, by)
    else:
        letters = log.assign(reading="letter", read_status=log["outcome"])
        every = position_free.answers_by_content(in_all_orders, by)
        every = every.assign(reading=every["reading"].replace("letter", OVER_ORDERS))
        permuted = position_free.answers_in_all_orders(in_all_orders, by)
        read = pd.concat([letters, every, permuted], ignore_index=True)
    parts = [qa_bias.with_role(part) for _, part in read.groupby("reading", sort=False)]
    return pd.concat(parts, ignore_index=True)


def scores_by_reading(
    frame: pd.DataFrame, by: Sequence[str] = MODEL, metrics: Sequence[str] = SCORES
) -> pd.DataFrame:
    """Scores of every cell under each reading; letters get no bias where one place takes them all.

    Args:
        frame: of `roles_by_reading`.
        by: the cells.
        metrics: of `qa_bias.METRICS`.

    Returns:
        as `qa_bias.qa_scores` with reading; status `position_bound`, without a value, for scores of
        bias of letters of which one place takes more than 90 %.

    Example:
        >>> from katayori.metrics import examples
        >>> scores = scores_by_reading(roles_by_reading(examples.three_options()))
        >>> bias = scores[scores["metric"] == "diff_amb"].set_index("reading")["value"]
        >>> bias.round(2).to_dict()
        {'letter': nan, 'probability': 0.07, 'calibrated': 0.78}
    """
    cell = [*by, "reading"]
    scores = qa_bias.qa_scores(frame, cell, metrics)
    marked = scores.merge(_bound(frame, cell), on=cell, how="left")["bound"].notna().to_numpy()
    silent = marked & scores["metric"].isin(OF_BIAS)
    scores.loc[silent, ["value", *qa_intervals.none()]] = np.nan
    scores.loc[silent, "status"] = "position_bound"
    return scores


def _bound(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The cells of letters, with `by` their reading, in which one place takes more than 90 %."""
    return position_free.bound_letters(frame[frame["reading"].isin(LETTERS)], by).assign(bound=True)

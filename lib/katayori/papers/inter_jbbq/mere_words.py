"""How far do mere words move a model? Passages whose persons differ in a meaningless trait.

The blank has the balanced set's passages, with a file number or a weekday in place of a profile.
Tables and sentences are those of `papers.blank_bias`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.papers import blank_bias
from katayori.papers.inter_jbbq.scores import MODEL, with_design
from katayori.prompting import parsing
from katayori.prompting.prompts import Prompt

PAPER = "inter_jbbq"
VARIANT = "balanced_blank"
#: Metric of `family_direction` -> the column that it averages here.
VALUES = {"diff_amb": "side", "p_diff_amb": "p_side"}
#: Metric -> how the answer is read.
METHODS = {"diff_amb": "letters", "p_diff_amb": "probabilities"}


def recorded_blank(prompt: Prompt, models: Sequence[str]) -> pd.DataFrame:
    """The recorded answers to the blank, as `scores.with_design` gives them.

    Args:
        prompt: the basic one. models: ids; those whose blank is not recorded as a whole are left
            out.

    Returns:
        a row an answer; without rows, but with model and prompt_id, where nothing is recorded.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> prompt = load_prompts("inter_jbbq")["ij_basic_ja"]
        >>> recorded_blank(prompt, ["gpt-4o"]).empty  # it has no recording
        True
    """
    how = {"parse": parsing.parse_option, "options": ("0", "1", "2")}
    log = blank_bias.recorded_answers(PAPER, VARIANT, prompt, models, **how)
    if log.empty:
        return pd.DataFrame(columns=[*MODEL, "template_id", "role"])
    return with_design(log)


def beside_mere_words(real: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias in ambiguous passages beside that of words that mean nothing.

    Both are means over the passages that have a direction in the study and were asked in the blank,
    so that their difference is that of the persons. Invalid answers do not count.

    Args:
        real: of `scores.with_design`, the study; only its rows with a direction are used.
        blank: of `recorded_blank`.

    Returns:
        as `blank_bias.beside_mere_words`, by model, source and prompt_id; metric `diff_amb` is by
        letters, `p_diff_amb` by probabilities. Without rows for models without a blank.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> real = examples.frame()
        >>> table = beside_mere_words(real, real.assign(role="unknown"))
        >>> letters = table[table["metric"] == "diff_amb"].set_index("what")["value"]
        >>> float(letters["blank"]), bool(letters["real"] == letters["real_less_blank"])
        (0.0, True)
    """
    return blank_bias.beside_mere_words(_sided(real), _sided(blank), VALUES, MODEL)


def _sided(frame: pd.DataFrame) -> pd.DataFrame:
    """Ambiguous rows with a direction: on which side the answer lies (-1 to 1)."""
    if frame.empty:
        return frame.assign(side=pd.Series(dtype=float), p_side=pd.Series(dtype=float))
    rows = frame[frame["has_target"] & (frame["ambiguity"] == "amb")]
    p_side = pd.Series(np.nan, rows.index)
    if "p_biased" in rows:
        p_side = rows["p_biased"] - rows["p_counter_biased"]
    return rows.assign(side=rows["role"].map(blank_bias.SIDES), p_side=p_side)


def with_blank(direction: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias of all topics with the size of mere words beside it.

    Args:
        direction: of `family_direction.directions`, with topic; only `pooled` gets a blank.
        table: of `beside_mere_words`.

    Returns:
        as `blank_bias.with_blank`.

    Example:
        >>> row = {"model": "m", "source": "recorded", "prompt_id": "p", "metric": "diff_amb"}
        >>> direction = pd.DataFrame([row | {"topic": "pooled", "value": 0.1}])
        >>> table = pd.DataFrame([row | {"what": "blank", "value": -0.02}])
        >>> with_blank(direction, table)["blank"].tolist()
        [0.02]
    """
    of_pooled = table.assign(topic="pooled")
    return blank_bias.with_blank(direction, of_pooled, [*MODEL, "metric", "topic"])


def counted(table: pd.DataFrame) -> list[str]:
    """How often Diff-bias is told from mere words: one sentence; none without a blank.

    Args:
        table: of `beside_mere_words`.

    Example:
        >>> row = {"model": "m", "prompt_id": "p", "metric": "diff_amb", "value": 0.03}
        >>> row |= {"what": "real_less_blank", "ci_low": 0.01, "ci_high": 0.05}
        >>> counted(pd.DataFrame([row]))
        ['Diff-bias is told from that of mere words in 1 of 1 comparisons
         (m, letters: +3.0 points).']
    """
    return blank_bias.counted(table, METHODS)

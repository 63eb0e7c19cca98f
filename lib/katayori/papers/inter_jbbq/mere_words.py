"""How far do mere words move a model? Passages whose persons differ in a meaningless trait.

The blank has the balanced set's passages, with a file number or a weekday in place of a profile.
One group of the trait plays the part of the stereotyped one, an arbitrary choice: Diff-bias of such
answers is the size of words that mean nothing, and what a stereotype does is read beside it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.metrics.blank import beside_blank
from katayori.metrics.uncertainty import cells
from katayori.papers import answers
from katayori.papers.inter_jbbq import second
from katayori.papers.inter_jbbq.scores import MODEL, with_design
from katayori.prompting import parsing, recordings
from katayori.prompting.prompts import Prompt

VARIANT = "balanced_blank"
#: Metric of `family_direction` -> the column that it averages here.
VALUES = {"diff_amb": "side", "p_diff_amb": "p_side"}
#: Metric -> how the answer is read.
METHODS = {"diff_amb": "letters", "p_diff_amb": "probabilities"}
_SIDES = {"biased": 1.0, "counter_biased": -1.0, "unknown": 0.0}


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
    shards = recordings.shards(prompt.paper, prompt.id, VARIANT)
    whole = {shard["model"] for shard in shards if recordings.complete(shard)}
    asked = [name for name in models if name in whole]
    if not asked:
        return pd.DataFrame(columns=[*MODEL, "template_id", "role"])
    log = answers.get(
        second.balanced_blank(),
        prompt,
        asked,
        source="recorded",
        variant=VARIANT,
        dataset=VARIANT,
        parse=parsing.parse_option,
        options=("0", "1", "2"),
    )
    return with_design(log)


def beside_mere_words(real: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias in ambiguous passages beside that of words that mean nothing.

    Both are means over the passages that have a direction in the study and were asked in the blank,
    so that their difference is that of the persons. Invalid answers do not count.

    Args:
        real: of `scores.with_design`, the study; only its rows with a direction are used.
        blank: of `recorded_blank`.

    Returns:
        model, source, prompt_id, metric (`diff_amb` by letters, `p_diff_amb` by probabilities),
        what (`real`, `blank`, `real_less_blank`) and the columns of `blank.beside_blank` over
        passages; spread is how far single passages move. Without rows for models without a blank.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> real = examples.frame()
        >>> table = beside_mere_words(real, real.assign(role="unknown"))
        >>> letters = table[table["metric"] == "diff_amb"].set_index("what")["value"]
        >>> float(letters["blank"]), bool(letters["real"] == letters["real_less_blank"])
        (0.0, True)
    """
    rows = []
    for key, words in cells(_sided(blank), MODEL):
        own = np.logical_and.reduce([real[name] == key[name] for name in MODEL])
        study = _sided(real[own])
        for metric, column in VALUES.items():
            known = study[column].notna().any() and words[column].notna().any()
            if known:
                table = beside_blank(study, words, cluster="template_id", value=column)
                rows.append(table.assign(metric=metric, **key))
    if not rows:
        return pd.DataFrame(columns=[*MODEL, "metric", "what", "value", "status"])
    table = pd.concat(rows, ignore_index=True)
    front = [*MODEL, "metric", "what"]
    return table[[*front, *(name for name in table if name not in front)]]


def _sided(frame: pd.DataFrame) -> pd.DataFrame:
    """Ambiguous rows with a direction: on which side the answer lies (-1 to 1)."""
    if frame.empty:
        return frame.assign(side=pd.Series(dtype=float), p_side=pd.Series(dtype=float))
    rows = frame[frame["has_target"] & (frame["ambiguity"] == "amb")]
    p_side = pd.Series(np.nan, rows.index)
    if "p_biased" in rows:
        p_side = rows["p_biased"] - rows["p_counter_biased"]
    return rows.assign(side=rows["role"].map(_SIDES), p_side=p_side)


def with_blank(direction: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias of all topics with the size of mere words beside it.

    Args:
        direction: of `family_direction.directions`, with topic; only `pooled` gets a blank.
        table: of `beside_mere_words`.

    Returns:
        direction with blank (the absolute Diff-bias of the blank; NaN where there is none) and
        blank_status (`ok`, or empty); as it is where no blank is recorded.

    Example:
        >>> row = {"model": "m", "source": "recorded", "prompt_id": "p", "metric": "diff_amb"}
        >>> direction = pd.DataFrame([row | {"topic": "pooled", "value": 0.1}])
        >>> table = pd.DataFrame([row | {"what": "blank", "value": -0.02}])
        >>> with_blank(direction, table)["blank"].tolist()
        [0.02]
    """
    sizes = table[table["what"] == "blank"]
    if sizes.empty:
        return direction
    key = [*MODEL, "metric"]
    size = sizes.assign(blank=sizes["value"].abs())[[*key, "blank"]]
    found = direction.merge(size, on=key, how="left", validate="many_to_one")
    found["blank"] = found["blank"].where(found["topic"] == "pooled")
    return found.assign(blank_status=np.where(found["blank"].notna(), "ok", ""))


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
    less = table[table["what"] == "real_less_blank"]
    if less.empty:
        return []
    told = less[(less["ci_low"] > 0) | (less["ci_high"] < 0)]
    which = "; ".join(
        f"{row['model']}, {METHODS[row['metric']]}: {100 * row['value']:+.1f} points"
        for row in told.to_dict("records")
    )
    share = f"{len(told)} of {len(less)} comparisons"
    named = f" ({which})" if which else ""
    return [f"Diff-bias is told from that of mere words in {share}{named}."]

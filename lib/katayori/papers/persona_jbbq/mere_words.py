"""How far do mere words move a model? The study's scenes with persons of a meaningless trait.

The blank is asked in one order of options an item, the six orders spread over its items. So its
calibrated letters stand beside both calibrated and permuted letters of the study. Tables and
sentences are those of `papers.blank_bias`.
"""

from collections.abc import Sequence

import pandas as pd

from katayori.metrics import qa_by_content
from katayori.papers import blank_bias
from katayori.prompting.prompts import Prompt

PAPER = "persona_jbbq"
VARIANT = "study2_blank"
METRIC = "diff_amb"
BY = ("model", "source", "prompt_id", "reading")
#: Reading of the study -> the reading of the blank that it stands beside.
READ_AS = {
    "letter": "letter",
    qa_by_content.OVER_ORDERS: "letter",
    "probability": "probability",
    "calibrated": "calibrated",
    "permuted": "calibrated",
}
#: How a reading is named in a sentence.
METHODS = {name: name.replace("_", " ") for name in READ_AS} | {"letter": "letters"}


def recorded_blank(prompts: Sequence[Prompt], models: Sequence[str]) -> pd.DataFrame:
    """The recorded answers to the blank, read as `qa_by_content.roles_by_reading` reads them.

    Args:
        prompts: those of the study; where the blank was not asked with one, it is left out.
        models: ids; those whose blank is not recorded as a whole are left out.

    Returns:
        a row an answer and reading; without rows, but with columns, where nothing is recorded.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> recorded_blank([load_prompts("persona_jbbq")["pj_basic_ja"]], ["gpt-4o"]).empty
        True
    """
    logs = [blank_bias.recorded_answers(PAPER, VARIANT, prompt, models) for prompt in prompts]
    asked = [qa_by_content.has_probabilities(log) for log in logs if len(log)]
    if not asked:
        return pd.DataFrame(columns=[*BY, "template_id", "role"])
    return qa_by_content.roles_by_reading(pd.concat(asked, ignore_index=True))


def beside_mere_words(real: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias in ambiguous passages beside that of words that mean nothing, under each reading.

    Both are means over the templates that were asked in both, so that their difference is that of
    the persons. Invalid answers do not count.

    Args:
        real: of `qa_by_content.roles_by_reading`, the study. blank: of `recorded_blank`.

    Returns:
        as `blank_bias.beside_mere_words`, by model, source, prompt_id and reading (of the study).
        Without rows for models and prompts without a blank, and for readings of which no template
        has both.

    Example:
        >>> from katayori.metrics import examples
        >>> real = qa_by_content.roles_by_reading(examples.three_options())
        >>> table = beside_mere_words(real, real.assign(role="unknown"))
        >>> letters = table[table["reading"] == "letter"].set_index("what")["value"]
        >>> float(letters["blank"]), bool(letters["real"] == letters["real_less_blank"])
        (0.0, True)
    """
    parts = [
        blank[blank["reading"] == of_blank].assign(reading=reading)
        for reading, of_blank in READ_AS.items()
    ]
    sides = _sided(real), _sided(pd.concat(parts, ignore_index=True))
    table = blank_bias.beside_mere_words(*sides, {METRIC: "side"}, BY)
    return table[table["value"].notna()].reset_index(drop=True)


def _sided(frame: pd.DataFrame) -> pd.DataFrame:
    """Ambiguous rows with a target: on which side the answer lies (-1 to 1)."""
    if frame.empty:
        return frame.assign(side=pd.Series(dtype=float))
    rows = frame[frame["has_target"] & (frame["context_condition"] == "ambiguous")]
    return rows.assign(side=rows["role"].map(blank_bias.SIDES))


def with_blank(scores: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Scores of every reading with the size of mere words beside Diff-bias in ambiguous contexts.

    Args:
        scores: of `qa_by_content.scores_by_reading`. table: of `beside_mere_words`.

    Returns:
        as `blank_bias.with_blank`.

    Example:
        >>> row = {"model": "m", "source": "recorded", "prompt_id": "p", "metric": "diff_amb"}
        >>> scores = pd.DataFrame([row | {"reading": "permuted", "value": 0.1}])
        >>> table = pd.DataFrame([row | {"reading": "permuted", "what": "blank", "value": -0.02}])
        >>> with_blank(scores, table)["blank"].tolist()
        [0.02]
    """
    return blank_bias.with_blank(scores, table, [*BY, "metric"])


def counted(table: pd.DataFrame) -> list[str]:
    """In how many comparisons by content Diff-bias is told from mere words, in one sentence.

    Args:
        table: of `beside_mere_words`; without rows, there is no sentence.

    Example:
        >>> counted(pd.DataFrame(columns=["reading", "what"]))
        []
    """
    told = table[table["reading"].isin(["calibrated", "permuted"])]
    return blank_bias.counted(told.assign(metric=told["reading"]), METHODS)

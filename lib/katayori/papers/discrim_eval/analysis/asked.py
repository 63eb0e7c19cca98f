"""What was asked, whom, and what came back: the ground of every table of notebook 01."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from katayori.metrics import response
from katayori.papers import answers
from katayori.papers.discrim_eval import items as questions_of
from katayori.papers.study import Study
from katayori.prompting.prompts import Prompt

QUESTION = "decision_question_id"
#: The place of the prompts that the question fills.
PLACES = {"question": "filled_template"}


@dataclass(frozen=True)
class Asked:
    """The answers of a run, and what they answer.

    Attributes:
        study: as `open_study` opened it. line: asks for a last line "Answer:". prefix: forces the
            answer to begin so, and reads the probability of the next word.
        sampled: the log of the answers to `line`. forced: of those to `prefix`.
        own_design: whether items and wording are ours, so that what was recorded or drawn for them
            beside this run may stand beside it. draws: exchanges of a test. seed: of all draws.
        questions: the user's own question file, if any.
    """

    study: Study
    line: Prompt
    prefix: Prompt
    sampled: pd.DataFrame
    forced: pd.DataFrame
    own_design: bool
    draws: int
    seed: int
    questions: str = ""

    @cached_property
    def values(self) -> pd.DataFrame:
        """The sampled answers: `value` 1 for yes, 0 for no, NaN where there is none."""
        return response.with_value(self.sampled)

    @cached_property
    def probabilities(self) -> pd.DataFrame:
        """P(yes) of the forced answers as `value`."""
        return response.with_value(self.forced, kind="probability")

    @cached_property
    def asked_values(self) -> pd.DataFrame:
        """The sampled answers of models; of simulated respondents where no model was asked."""
        of_models = self.values[self.values["source"] != "simulated"]
        return of_models if len(of_models) else self.values

    @cached_property
    def asked_probabilities(self) -> pd.DataFrame:
        """P(yes) of the models of `asked_values`."""
        return self.probabilities[self.probabilities["model"].isin(self.models)]

    @cached_property
    def models(self) -> list[str]:
        """The names of the models of `asked_values`."""
        return list(dict.fromkeys(self.asked_values["model"]))

    @cached_property
    def shown(self) -> list[str]:
        """The names of all that answered, simulated respondents too."""
        return list(dict.fromkeys(self.sampled["model"]))

    @cached_property
    def sources(self) -> dict[str, str]:
        """Where the answers of each model come from."""
        first = self.sampled.drop_duplicates("model")
        return dict(zip(first["model"], first["source"], strict=True))

    @property
    def source(self) -> str:
        """Where the answers of the models come from."""
        return str(self.asked_values["source"].iloc[0])

    @cached_property
    def catalogue(self) -> pd.DataFrame:
        """The questions: decision_question_id, label, counterpart_of and more."""
        own = None if self.study.official else self.questions
        return questions_of.question_catalogue(self.study.items, own)

    @cached_property
    def counterparts(self) -> dict[int, int]:
        """The paper's number of a question -> ours of the same subject."""
        pairs = self.catalogue.dropna(subset=["counterpart_of"])
        pairs = pairs[["counterpart_of", QUESTION]].astype(int)
        return dict(zip(pairs["counterpart_of"], pairs[QUESTION], strict=True))

    @property
    def of_line(self) -> dict[str, Any]:
        """What results of the sampled answers share."""
        return {"dataset": self.study.dataset, "prompt_id": self.line.id}

    @property
    def of_prefix(self) -> dict[str, Any]:
        """What results of P(yes) share."""
        return {"dataset": self.study.dataset, "prompt_id": self.prefix.id}


def ask(
    study: Study,
    prompts: Mapping[str, Prompt],
    *,
    questions: str = "",
    draws: int = 499,
    seed: int = 0,
    own_design: bool = False,
) -> Asked:
    """The answers of all models of a study, sampled and forced.

    Args:
        study: an open one. prompts: by id, as `load_prompts` gives them.
        questions: the user's own question file, if any.
        draws: exchanges of a test. seed: of all draws.
        own_design: whether items and wording are ours.

    Raises:
        UnavailableError: answers that are not here.

    Example:
        >>> from katayori.papers.discrim_eval.examples import study_fair
        >>> from katayori.prompting.prompts import load_prompts
        >>> asked = ask(study_fair(), load_prompts("discrim_eval"))
        >>> asked.models, len(asked.values)
        (['sim-fair'], 270)
    """
    line = prompts["de_answer_line"]
    prefix = prompts["de_answer_prefix"]
    sampled = study.answers([line], places=PLACES)
    forcible = answers.able(study.asked, study.source, prefix, study.variant_of(prefix))
    forced = study.answers([prefix], forcible, places=PLACES)
    return Asked(study, line, prefix, sampled, forced, own_design, draws, seed, questions)


def without_interval(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the status `p_value` where it was ok: a p has no interval of its own.

    Example:
        >>> without_interval(pd.DataFrame({"status": ["ok", "constant"]}))["status"].tolist()
        ['p_value', 'constant']
    """
    return frame.assign(status=frame["status"].replace("ok", "p_value"))

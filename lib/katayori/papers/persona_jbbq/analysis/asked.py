"""What was asked, whom, and what came back: the ground of every table of notebook 02."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import pandas as pd

from katayori.metrics import position_free, qa_bias, qa_by_content
from katayori.papers.study import Study
from katayori.prompting import parsing
from katayori.prompting.prompts import Prompt

PAPER = "persona_jbbq"
BASELINE = "basicP"
PERSONA = "biased"
#: The paper's name of a condition -> how the id of its prompt names it.
STEMS = MappingProxyType(
    {BASELINE: "basic", "paraP": "para", "CoT": "cot", "neutral": "neutral", PERSONA: "biased"}
)
#: The conditions that BBQ, which is English, is asked with.
IN_ENGLISH = (BASELINE, PERSONA)
#: An answer is one of three numbers and nothing else.
DIGITS: Mapping[str, Any] = MappingProxyType(
    {"parse": parsing.parse_number, "options": ("0", "1", "2")}
)
OVERALL = ("model", "source", "prompt_id")
#: The status of results that count and have no interval.
COUNTED = "counted: no interval"


@dataclass(frozen=True)
class Choices:
    """What the parameters of the notebook choose beside items and models.

    Attributes:
        reading: of the biased option, of `qa_bias.READINGS`. jbbq: the user's folder or file of
            JBBQ, if any. own_wording: whether the prompts are the user's. draws: of what chance
            alone gives. seed: of all draws.
    """

    reading: str = "by_polarity"
    jbbq: str = ""
    own_wording: bool = False
    draws: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class Asked:
    """The answers of a run, and what they answer.

    Attributes:
        study: as `open_study` opened it. wording: all prompts, by id. conditions: the paper's name
            of a condition -> its prompt. in_all_orders: every answer. choices: of the parameters.
    """

    study: Study
    wording: Mapping[str, Prompt]
    conditions: Mapping[str, Prompt]
    in_all_orders: pd.DataFrame
    choices: Choices

    @cached_property
    def log(self) -> pd.DataFrame:
        """The answers to the items in the order in which their options were given."""
        return self.study.as_given(self.in_all_orders)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The answers of `log` with role and correct (`qa_bias.with_role`), and prompt."""
        return self.named(qa_bias.with_role(self.log, reading=self.choices.reading))

    @cached_property
    def with_probabilities(self) -> pd.DataFrame:
        """The rows of `log` of models and prompts that gave probabilities."""
        return qa_by_content.has_probabilities(self.log)

    @cached_property
    def bound(self) -> pd.DataFrame:
        """The models and prompts whose letters follow the place (`position_free.bound_letters`)."""
        return position_free.bound_letters(self.log, OVERALL)

    @cached_property
    def names(self) -> dict[str, str]:
        """Id of a prompt -> the paper's name of its condition."""
        return {prompt.id: name for name, prompt in self.conditions.items()}

    @cached_property
    def sources(self) -> dict[str, str]:
        """Where the answers of each model come from."""
        return dict(zip(self.log["model"], self.log["source"], strict=True))

    @cached_property
    def real(self) -> list[str]:
        """The models that are no simulated respondents."""
        return [name for name, source in self.sources.items() if source != "simulated"]

    @cached_property
    def focus(self) -> list[str]:
        """The models that the lesson speaks of; a simulated respondent where none was asked."""
        leaning = [name for name in self.sources if name == "sim-bbq-stereotyped"]
        return self.real or leaning or list(self.sources)

    @property
    def source(self) -> str:
        """Where the answers of the models of `focus` come from."""
        return self.sources[self.focus[0]]

    @property
    def items(self) -> pd.DataFrame:
        """The items asked, one row each."""
        return self.study.items

    @property
    def dataset(self) -> str:
        """The set of items in words."""
        return self.study.dataset

    @cached_property
    def templates(self) -> int:
        """How many templates the items come from: the clusters of all intervals."""
        return int(self.items["template_id"].nunique())

    @property
    def own_design(self) -> bool:
        """Whether items and wording are ours, so that other recordings may stand beside them."""
        others = self.study.official or self.choices.jbbq or self.choices.own_wording
        return self.study.source == "recorded" and not others

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with `prompt`, the paper's name of the condition, last."""
        return frame.assign(prompt=frame["prompt_id"].map(self.names))

    def of_focus(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of the models of `focus`."""
        return frame[frame["model"].isin(self.focus)]


def conditions(
    wording: Mapping[str, Prompt], *, english: bool = False, biased_persona: bool = True
) -> dict[str, Prompt]:
    """The paper's name of a condition -> its prompt, in the paper's order.

    Args:
        wording: prompts by id. english: whether the items are BBQ's, which are asked with two.
        biased_persona: whether the condition with the biased persona is asked.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> list(conditions(load_prompts("persona_jbbq"), biased_persona=False))
        ['basicP', 'paraP', 'CoT', 'neutral']
    """
    language = "en" if english else "ja"
    names: Sequence[str] = IN_ENGLISH if english else list(STEMS)
    kept = [name for name in names if biased_persona or name != PERSONA]
    return {name: wording[f"pj_{STEMS[name]}_{language}"] for name in kept}


def ask(
    study: Study,
    wording: Mapping[str, Prompt],
    asked_with: Mapping[str, Prompt],
    choices: Choices = Choices(),
) -> Asked:
    """The answers of all models of a study under all conditions.

    Args:
        study: an open one. wording: prompts by id. asked_with: of `conditions`.
        choices: of the notebook's parameters.

    Raises:
        UnavailableError: answers that are not here.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked_leaning().focus, len(asked_leaning().frame)
        (['sim-bbq-stereotyped'], 600)
    """
    answers = study.answers(list(asked_with.values()), **DIGITS)
    return Asked(study, wording, asked_with, answers, choices)

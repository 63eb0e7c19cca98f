"""What was asked, whom, and what came back: the ground of every table of notebook 05."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from katayori.papers.inter_jbbq import items as inter_jbbq, option_slots, second
from katayori.papers.inter_jbbq.scores import with_design
from katayori.papers.study import Study
from katayori.prompting import parsing
from katayori.prompting.prompts import Prompt

#: Ids of the two prompts and what the paper calls them.
PROMPTS = {"basic": "ij_basic_ja", "debias": "ij_debias_ja"}
#: How a reply is read: the number of an option.
DIGITS: dict[str, Any] = {"parse": parsing.parse_option, "options": ("0", "1", "2")}
BY_PROMPT = ["model", "source", "prompt_id", "prompt"]
#: What makes a cell of most tables: a model, a prompt and a kind of context.
BY = [*BY_PROMPT, "ambiguity"]
#: The respondent shown where no model was asked.
USUAL = "sim-inter-additive"

Document = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """The answers of a run, and what they answer.

    Attributes:
        study: as `open_study` opened it. wording: all prompts, by id.
        conditions: basic and debias -> prompt.
        documents: the topic files of the items; none where the items are others'.
        in_all_orders: the log of the answers, in all orders of the options where these were asked.
        orders: whether they were. draws: exchanges of a test. seed: of all draws.
    """

    study: Study
    wording: Mapping[str, Prompt]
    conditions: Mapping[str, Prompt]
    documents: Sequence[Document]
    in_all_orders: pd.DataFrame
    orders: bool
    draws: int
    seed: int

    @property
    def items(self) -> pd.DataFrame:
        """The items asked, four rows an item."""
        return self.study.items

    @cached_property
    def counterbalanced(self) -> bool:
        """Whether order and wording of the options stay inside a family."""
        return option_slots.is_counterbalanced(self.items)

    @property
    def dataset(self) -> str:
        """The data set in words."""
        return self.study.dataset

    @cached_property
    def log(self) -> pd.DataFrame:
        """The answers to the items in the order of options in which they were given."""
        return self.study.as_given(self.in_all_orders)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """`log` with the design of the items (`scores.with_design`) and `prompt` in words."""
        frame = with_design(self.log)
        return frame.assign(prompt=frame["prompt_id"].map(self.named_prompts))

    @cached_property
    def named_prompts(self) -> dict[str, str]:
        """Id of a prompt -> what the paper calls it."""
        return {prompt.id: name for name, prompt in self.conditions.items()}

    @cached_property
    def sources(self) -> dict[str, str]:
        """Where the answers of each model come from."""
        first = self.log.drop_duplicates("model")
        return dict(zip(first["model"], first["source"], strict=True))

    @cached_property
    def models(self) -> list[str]:
        """The models asked; a simulated respondent where none was."""
        asked = [name for name, source in self.sources.items() if source != "simulated"]
        usual = [name for name in self.sources if name == USUAL]
        return asked or usual or list(self.sources)

    @property
    def source(self) -> str:
        """Where the answers of `models` come from."""
        return self.sources[self.models[0]]

    @cached_property
    def of_models(self) -> pd.DataFrame:
        """`frame` of `models`."""
        return self.frame[self.frame["model"].isin(self.models)]

    @cached_property
    def n_families(self) -> int:
        """How many families are known among the items asked."""
        return int(self.items["focal_id"].replace("", None).nunique())

    @cached_property
    def families_of(self) -> "pd.Series[int]":
        """How many families each topic has."""
        return self.items.groupby("topic")["focal_id"].nunique()

    @cached_property
    def question_of(self) -> dict[str, str]:
        """Id of an item -> its question, which `frame` names by its kind."""
        return dict(zip(self.items["item_id"], self.items["question"], strict=True))

    @cached_property
    def topics(self) -> list[str]:
        """The topics of the items, by name."""
        return sorted(self.items["topic"].unique())


def ask(
    study: Study,
    prompts: Mapping[str, Prompt],
    *,
    topics: str = "",
    orders: str = "",
    draws: int = 1000,
    seed: int = 0,
) -> Asked:
    """The answers of all models of a study to both prompts.

    Args:
        study: an open one. prompts: by id, as `load_prompts` gives them.
        topics: the user's own topic files, if any. orders: not empty where all orders are asked.
        draws: exchanges of a test. seed: of all draws.

    Raises:
        UnavailableError: answers that are not here.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import study_additive
        >>> from katayori.prompting.prompts import load_prompts
        >>> asked = ask(study_additive(), load_prompts("inter_jbbq"))
        >>> asked.models, len(asked.frame)
        (['sim-inter-additive'], 3072)
    """
    conditions = {name: prompts[prompt] for name, prompt in PROMPTS.items()}
    documents = [] if study.official else _documents(study, topics)
    log = study.answers(list(conditions.values()), **DIGITS)
    return Asked(study, prompts, conditions, documents, log, bool(orders), draws, seed)


def _documents(study: Study, topics: str) -> list[Document]:
    """The topic files that the items were made from."""
    if set(second.DESIGN) <= set(study.everything):
        read = second.topics()
    else:
        read = [document for _, document in inter_jbbq.read_topics(topics)]
    asked_about = set(study.everything["topic"])
    return [document for document in read if document["topic"] in asked_about]


def of(frame: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """The rows of these models.

    Example:
        >>> len(of(pd.DataFrame({"model": ["a", "b", "a"]}), ["a"]))
        2
    """
    return frame[frame["model"].isin(models)]

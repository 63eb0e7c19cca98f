"""What was asked, whom, and what came back: the ground of every table of notebook 04."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from katayori.papers.items import OwnItems, request_dataset
from katayori.papers.jubaku_v2 import items, reason_rules, scores
from katayori.papers.study import Study
from katayori.prompting.letters import parse_choice
from katayori.prompting.prompts import Prompt

PAPER = "jubaku_v2"
#: How a reply to two options is read.
LETTERS: dict[str, Any] = {"parse": parse_choice, "options": ("a", "b")}


@dataclass(frozen=True)
class Asked:
    """The answers of a run, and what they answer.

    Attributes:
        study: as `open_study` opened it. prompts: the instructions. log: the answers to them.
        cases: the user's own case file, if any. reasons: the prompts under which the likelihood of
            both reasons is read; none where no recording of them belongs to these answers.
        draws: null draws of a claim. seed: of all draws.
    """

    study: Study
    prompts: tuple[Prompt, ...]
    log: pd.DataFrame
    cases: str
    reasons: tuple[Prompt, ...]
    draws: int
    seed: int

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The answers with what each letter means, as `scores.with_choice` has them."""
        return scores.with_choice(self.log)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Where the answers of each model come from."""
        return dict(zip(self.frame["model"], self.frame["source"], strict=True))

    @cached_property
    def real(self) -> list[str]:
        """The models that are not simulated."""
        return [name for name, source in self.sources.items() if source != "simulated"]

    @cached_property
    def models(self) -> list[str]:
        """The models that are spoken of: the real ones; where there are none, all respondents."""
        return self.real or list(self.sources)

    @property
    def source(self) -> str:
        """Where the answers of the models come from."""
        return self.sources[self.models[0]]

    @cached_property
    def of_models(self) -> pd.DataFrame:
        """The answers of `models`."""
        return self.frame[self.frame["model"].isin(self.models)]

    @property
    def dataset(self) -> str:
        """The set of cases in words."""
        return self.study.dataset

    @cached_property
    def one_each(self) -> pd.DataFrame:
        """The cases that were asked, a row each."""
        return self.study.items.drop_duplicates("case_id").reset_index(drop=True)

    @cached_property
    def group_words(self) -> dict[str, dict[str, str]]:
        """What names the group in each case (`items.group_words`); others' cases have no list."""
        return {} if self.study.official else items.group_words(self.cases)

    @cached_property
    def rules(self) -> pd.DataFrame:
        """What each rule that reads no meaning scores on each case (shape: cases x rules)."""
        leaks = items.leak_words("" if self.study.official else self.cases)
        return reason_rules.rule_scores(self.one_each, leaks, self.group_words)

    @cached_property
    def best_rule(self) -> tuple[str, "pd.Series[float]"]:
        """The name of the rule that is right most often, and what it scores on each case."""
        return reason_rules.best_rule(self.rules)

    def is_named_in_both(self, name: str) -> list[Any]:
        """The cases whose two reasons name the group, or whose two reasons do not.

        Args:
            name: of a list of `group_words`.
        """
        scored = self.rules[f"the reason without {name}"]
        return list(self.rules.index[scored == reason_rules.TIE])


def instructions(
    wording: Mapping[str, Prompt], chosen: Mapping[str, Any], own: OwnItems
) -> list[Prompt]:
    """The prompts that put a case to a model: four of ours, or the official file's own.

    Args:
        wording: of `load_prompts`. chosen: a profile. own: the user's files.

    Example:
        >>> from katayori import profiles
        >>> from katayori.prompting.prompts import load_prompts
        >>> asked = instructions(load_prompts(PAPER), profiles.load("recorded"), OwnItems())
        >>> [prompt.id for prompt in asked]
        ['ju_1_ja', 'ju_2_ja', 'ju_3_ja', 'ju_4_ja']
    """
    if request_dataset(PAPER, chosen["items"], own) == "official":
        return [wording["ju_official"]]
    return [wording[f"ju_{number}_ja"] for number in items.TEMPLATES]


def ask(
    study: Study,
    prompts: list[Prompt],
    reasons: list[Prompt] | tuple[Prompt, ...] = (),
    *,
    cases: str = "",
    draws: int = 400,
    seed: int = 0,
) -> Asked:
    """The answers of all models of a study to all instructions.

    Args:
        study: an open one. prompts: of `instructions`. reasons: prompts of kind likelihood.
        cases: the user's own case file, if any. draws: null draws of a claim. seed: of all draws.

    Raises:
        UnavailableError: answers that are not here.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> asked = examples.asked_first()
        >>> asked.models, len(asked.frame), asked.one_each["case_id"].nunique()
        (['sim-two-first'], 48, 6)
    """
    log = study.answers(prompts, **LETTERS)
    return Asked(study, tuple(prompts), log, cases, tuple(reasons), draws, seed)


def over_cases(
    table: pd.DataFrame, low: str = "cluster_low", high: str = "cluster_high"
) -> pd.DataFrame:
    """A table of scores whose interval is the one over cases.

    Args:
        table: with an interval over answers, perhaps. low, high: its interval over cases.

    Example:
        >>> row = {"value": 0.5, "ci_low": 0.4, "cluster_low": 0.3, "cluster_high": 0.7}
        >>> list(over_cases(pd.DataFrame([row])).columns)
        ['value', 'ci_low', 'ci_high']
    """
    without = table.drop(columns=["ci_low", "ci_high"], errors="ignore")
    return without.rename(columns={low: "ci_low", high: "ci_high"})

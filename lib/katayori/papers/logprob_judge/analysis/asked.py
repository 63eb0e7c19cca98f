"""What was asked, which judges, and what came back: the ground of every table of notebook 03."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pandas as pd

from katayori.errors import UnavailableError
from katayori.metrics.choices import unswapped
from katayori.papers import answers
from katayori.papers.logprob_judge import scores
from katayori.papers.study import Study
from katayori.prompting import letters
from katayori.prompting.letters import LETTERS, parse_verdict, verdicts_frame
from katayori.prompting.models import get_model
from katayori.prompting.prompts import Prompt

PAPER = "logprob_judge"
#: The paper's four prompts: whether criteria are given, and in which style the judge answers.
KINDS = {
    ("no", "result_only"): "no criteria; verdict only",
    ("yes", "result_only"): "criteria; verdict only",
    ("no", "reason_then_result"): "no criteria; reasons first",
    ("yes", "reason_then_result"): "criteria; reasons first",
}
#: Our prompts of these kinds.
PROMPTS = ("lj_verdict", "lj_verdict_criteria", "lj_reason", "lj_reason_criteria")
#: What we add: criteria that no model wrote, and reasons in a turn of their own, with which a small
#: model reasons before it is asked for the letter.
OUR_CRITERIA = "our criteria; verdict only"
TWO_TURNS = "no criteria; reasons in an own turn"
ADDED = {OUR_CRITERIA: "lj_verdict_points", TWO_TURNS: "lj_reason_turns"}
#: The place that holds what a judge wrote in its first turn.
REASONING = "reasoning"
#: The prompts for others' pairs in English.
OFFICIAL = {
    KINDS["no", "result_only"]: "lj_pandalm_verdict_en",
    KINDS["no", "reason_then_result"]: "lj_pandalm_reason_en",
}
#: A cell of tables: a judge under a prompt.
BY = ["model", "source", "prompt_id", "prompt"]
#: A set of more kinds of task than these is not shown task by task.
MOST_TASKS = 6
LEANING = "sim-judge-leaning"


@dataclass(frozen=True)
class Asked:
    """The verdicts of a run, and what they are about.

    Attributes:
        study: as `open_study` opened it. conditions: kind of prompt -> prompt, the paper's before
            ours. wording: all prompts by id. names: the judges asked.
        log: frame "both orders" of `frame_checks`, with prompt (its kind), reasoned (whether a
            text with a verdict, or the turn before it, holds reasons) and unseen (probability
            outside the top 20).
        first_turns: what judges wrote before they were asked for the verdict: model, item_id, text,
            finish_reason; empty without any.
        criteria: what judges wrote as criteria, a row a judge and question; empty without any.
        own_design: whether items and wording are ours, so that what was recorded beside this run
            may stand beside it. draws: null draws of a claim. seed: of all draws.
    """

    study: Study
    conditions: Mapping[str, Prompt]
    wording: Mapping[str, Prompt]
    names: Sequence[str]
    log: pd.DataFrame
    first_turns: pd.DataFrame
    criteria: pd.DataFrame
    own_design: bool
    draws: int
    seed: int

    @property
    def comparisons(self) -> pd.DataFrame:
        """The pairs of answers, a row each."""
        return self.study.items

    @cached_property
    def people(self) -> list[str]:
        """The columns of labels."""
        return scores.annotators_of(self.comparisons)

    @cached_property
    def tasks(self) -> list[str]:
        """The kinds of task, where they are few."""
        kinds = self.comparisons["task"]
        return list(kinds.unique()) if kinds.nunique() <= MOST_TASKS else []

    @property
    def cells(self) -> list[str]:
        """The kinds of task that tables show, and all together."""
        return [*self.tasks, "all"]

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Id of a prompt -> its kind."""
        return {prompt.id: kind for kind, prompt in self.conditions.items()}

    @cached_property
    def of_paper(self) -> dict[str, str]:
        """`kinds` of the paper's own prompts."""
        return {prompt_id: kind for prompt_id, kind in self.kinds.items() if kind not in ADDED}

    @cached_property
    def sources(self) -> dict[str, str]:
        """Where the verdicts of each judge come from."""
        first = self.log.drop_duplicates("model")
        return dict(zip(first["model"], first["source"], strict=True))

    @cached_property
    def real(self) -> list[str]:
        """The judges that are not simulated."""
        return [name for name, source in self.sources.items() if source != "simulated"]

    @cached_property
    def focus(self) -> list[str]:
        """The judges that are shown: real ones; without any, one that is simulated."""
        leaning = [name for name in self.sources if name == LEANING]
        return self.real or leaning or list(self.sources)

    @cached_property
    def lead(self) -> Prompt:
        """The prompt that is shown where one must do: the first that the first judge answered."""
        of_first = set(self.log.loc[self.log["model"] == self.focus[0], "prompt_id"])
        asked = [prompt for prompt in self.conditions.values() if prompt.id in of_first]
        return asked[0]

    @property
    def lead_kind(self) -> str:
        """The kind of `lead`."""
        return self.kinds[self.lead.id]

    @property
    def notes(self) -> list[str]:
        """Which prompts nobody's recorded answers are to, as their wording is another."""
        if self.study.source != "recorded":
            return []
        real_of = self.study.real_of
        lacking = [kind for prompt_id, kind in self.kinds.items() if not real_of.get(prompt_id)]
        if not lacking:
            return []
        listed = ", ".join(lacking)
        return [f"no recorded answers to this wording of: {listed}; ask with `make live`"]

    @cached_property
    def unswapped(self) -> pd.DataFrame:
        """The log with what the letters mean (`choices.unswapped`)."""
        return unswapped(self.log)

    @cached_property
    def settled(self) -> pd.DataFrame:
        """The verdicts of the three methods (`scores.judge_verdicts`)."""
        return scores.judge_verdicts(self.log, BY)

    @property
    def questions(self) -> int:
        """How many questions the comparisons belong to."""
        return int(self.comparisons["question_id"].nunique())

    @property
    def of_set(self) -> dict[str, Any]:
        """What all results of the comparisons share."""
        return {"dataset": self.study.dataset}


def conditions(
    wording: Mapping[str, Prompt], source: str, *, official: bool = False
) -> dict[str, Prompt]:
    """The prompts of a run by kind, in the paper's order, and then those that we add.

    Our criteria belong to our pairs and are judged in recordings only.

    Args:
        wording: prompts by id. source: of the answers.
        official: whether others' pairs in English are judged.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> [*conditions(load_prompts("logprob_judge"), "recorded")][:2]
        ['no criteria; verdict only', 'criteria; verdict only']
    """
    ids = OFFICIAL if official else dict(zip(KINDS.values(), PROMPTS, strict=True)) | ADDED
    if source != "recorded":
        ids = {kind: name for kind, name in ids.items() if kind != OUR_CRITERIA}
    chosen = {kind: wording[name] for kind, name in ids.items()}
    if source == "imported":
        # A file holds one answer a request, none that rests on another answer.
        chosen = {kind: prompt for kind, prompt in chosen.items() if not prompt.given}
    return chosen


def ask(
    study: Study,
    wording: Mapping[str, Prompt],
    kinds: Mapping[str, Prompt],
    *,
    draws: int = 400,
    seed: int = 0,
    own_design: bool = False,
) -> Asked:
    """The verdicts of all judges of a study under all its prompts.

    Args:
        study: an open one. wording: prompts by id. kinds: of `conditions`.
        draws: null draws of a claim. seed: of all draws. own_design: whether items and wording are
            ours.

    Raises:
        UnavailableError: verdicts that are not here.

    Example:
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> asked.focus, len(asked.log)
        (['sim-judge-leaning'], 144)
    """
    with_qualities = "quality_1" in study.rows
    names = [name for name in study.asked if with_qualities or not get_model(name)[0].simulated]
    if study.source == "recorded" and not names:
        raise UnavailableError(
            f"no verdicts on {study.dataset} are recorded; ask a judge with `make live`"
        )
    first_turns = _first_turns(study, kinds, names)
    log = _log(study, kinds, names, first_turns)
    return Asked(
        study=study,
        conditions=kinds,
        wording=wording,
        names=names,
        log=log,
        first_turns=first_turns,
        criteria=_criteria(study, wording, kinds),
        own_design=own_design,
        draws=draws,
        seed=seed,
    )


def verdicts_of(
    items: pd.DataFrame, prompt: Prompt, judges: Any, by: Any = answers.get, **where: Any
) -> pd.DataFrame:
    """The verdicts of judges on items, letters and probabilities read as the prompt asks for them.

    Args:
        items: in both orders. prompt: the one asked. judges: as `by` takes them.
        by: `answers.get` or `answers.recorded_subset`. where: what it takes more.

    Example:
        >>> from katayori.papers.logprob_judge import examples, items
        >>> from katayori.prompting.prompts import load_prompts
        >>> both = items.in_both_orders(examples.comparisons().head(2))
        >>> prompt = load_prompts("logprob_judge")["lj_verdict"]
        >>> verdicts_of(both, prompt, ["sim-judge-first"])["letter"].tolist()
        ['A', 'A', 'A', 'A']
    """
    parse = partial(parse_verdict, reason_first=prompt.answer_at == "last_letter")
    read = {"parse": parse, "options": LETTERS, "frame": verdicts_frame}
    frame: pd.DataFrame = by(items, prompt, judges, **read, **where)
    return frame


def _log(
    study: Study, kinds: Mapping[str, Prompt], names: Sequence[str], first_turns: pd.DataFrame
) -> pd.DataFrame:
    logs: list[pd.DataFrame] = []
    first = next(iter(kinds.values()))
    others = [name for name in names if name not in study.real]
    for kind, prompt in kinds.items():
        where = {"variant": study.variant_of(prompt), "dataset": study.kind}
        for name in study.real_of.get(prompt.id, ()):
            by = answers.recorded_subset
            logs.append(verdicts_of(study.rows, prompt, name, by, **where))
        # Beside recorded judges, simulated ones answer the first prompt only.
        if others and not (study.real and prompt.id != first.id):
            more = {"source": study.source, "answers_file": study.answers_file}
            try:
                logs.append(verdicts_of(study.rows, prompt, others, **more, **where))
            except UnavailableError:
                # A run of an older version asked the paper's prompts and none of ours.
                if kind not in ADDED:
                    raise
    rank = {get_model(name)[0].id: place for place, name in enumerate(names)}
    log = pd.concat(logs).sort_values(
        "model", key=lambda model: model.map(rank), kind="stable", ignore_index=True
    )
    kind_of = {prompt.id: kind for kind, prompt in kinds.items()}
    kinds_asked = log["prompt_id"].map(kind_of)
    reasons = log["text"].where(kinds_asked != TWO_TURNS, _said_before(log, first_turns))
    given = zip(log["outcome"], reasons, strict=True)
    return log.assign(
        prompt=kinds_asked,
        reasoned=[outcome == "ok" and letters.holds_reasons(text) for outcome, text in given],
        unseen=[letters.unseen_mass(top) for top in log["top"]],
    )


def _said_before(log: pd.DataFrame, first_turns: pd.DataFrame) -> pd.Series:
    """What the judge of each row wrote in its first turn; nothing where there was none."""
    keys = ["model", "item_id"]
    texts = first_turns.set_index(keys)["text"] if len(first_turns) else pd.Series(dtype=object)
    said = [texts.get(key, "") for key in log[keys].itertuples(index=False, name=None)]
    return pd.Series(said, log.index, dtype=object)


def _first_turns(study: Study, kinds: Mapping[str, Prompt], names: Sequence[str]) -> pd.DataFrame:
    """What judges wrote in a turn before the verdict, a row a judge and item."""
    columns = ["model", "item_id", "text", "finish_reason"]
    parts: list[pd.DataFrame] = []
    earlier = kinds[TWO_TURNS].given.get(REASONING) if TWO_TURNS in kinds else None
    where: dict[str, Any] = {"dataset": study.kind}
    where |= {"variant": study.variant_of(earlier)} if earlier else {}
    if earlier and study.source == "recorded":
        for name in study.real_of.get(kinds[TWO_TURNS].id, ()):
            frame = answers.recorded_subset(study.rows, earlier, name, **where)
            parts += [] if frame is None else [frame]
    elif earlier:
        where |= {"source": study.source, "answers_file": study.answers_file}
        with suppress(UnavailableError):
            parts.append(answers.get(study.rows, earlier, names, **where))
    return pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)


def _criteria(
    study: Study, wording: Mapping[str, Prompt], kinds: Mapping[str, Prompt]
) -> pd.DataFrame:
    """What recorded judges wrote as criteria, once a question."""
    given = [prompt for prompt in kinds.values() if "criteria" in prompt.given]
    writers = sorted({name for prompt in given for name in study.real_of.get(prompt.id, ())})
    if not writers:
        return pd.DataFrame()
    prompt = wording["lj_criteria"]
    where = {"variant": study.variant_of(prompt), "dataset": study.kind}
    return answers.get(study.rows, prompt, writers, **where)


def with_status(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the status of its interval where the value itself is there.

    Example:
        >>> rows = {"status": ["ok", "no_labels"], "ci_status": ["few_clusters", None]}
        >>> with_status(pd.DataFrame(rows))["status"].tolist()
        ['few_clusters', 'no_labels']
    """
    there = frame["status"] == "ok"
    return frame.assign(status=frame["status"].where(~there, frame["ci_status"]))


def percent(rows: pd.DataFrame) -> list[str]:
    """Values in percent as the paper prints them; where one is undefined, why.

    Example:
        >>> percent(pd.DataFrame({"value": [0.5, float("nan")], "status": ["ok", "no_labels"]}))
        ['50.0', '— (no_labels)']
    """
    both = zip(rows["value"], rows["status"], strict=True)
    return [f"{100 * value:.1f}" if value == value else f"— ({status})" for value, status in both]

"""Opens a study: the items to ask, the models that answer, and where the answers come from.

Every notebook starts so. What a machine does not hold raises UnavailableError, and the notebook
ends as skipped; what is wrong raises KatayoriError.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.errors import UnavailableError
from katayori.papers import answers
from katayori.papers.items import OwnItems, read_items
from katayori.prompting.models import get_model
from katayori.prompting.prompts import Prompt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Wanted:
    """What the parameters of a notebook ask for.

    Attributes:
        models: names; empty, all that are recorded and the simulated respondents.
        limit: so many clusters (0: as the profile says).
        only: the clusters to choose from, by id (04: cases).
        own: the user's own files, in place of our items.
        answers_file: imported answers.
        recorded: whether our recordings may be shown; false where the items are others than those
            that were asked under the same ids.
    """

    models: Sequence[str] = ()
    limit: int = 0
    only: Sequence[str] = ()
    own: OwnItems | None = None
    answers_file: str | Path = ""
    recorded: bool = True


@dataclass(frozen=True)
class Study:
    """An open study.

    Attributes:
        paper: its id. source: `recorded`, `live`, `imported` or `simulated`.
        everything: all items of the set. items: those that are asked (with recorded answers: those
            that every model shown was asked with every prompt).
        dataset: the set in words. kind: `study` or `official`. variant: of the recordings.
        asked: the models shown. real: those of them whose answers are recorded.
        notes: what was noticed on reading the user's own files. answers_file: imported answers.
    """

    paper: str
    source: str
    everything: "pd.DataFrame"
    items: "pd.DataFrame"
    dataset: str
    kind: str
    variant: str
    asked: tuple[str, ...]
    real: tuple[str, ...]
    notes: tuple[str, ...]
    answers_file: str | Path

    @property
    def official(self) -> bool:
        """Whether others own the items."""
        return self.kind == "official"

    def answers(self, prompts: Sequence[Prompt], **how: Any) -> "pd.DataFrame":
        """The answers of all models asked to all these prompts, one frame (see `answers.get`)."""
        import pandas as pd

        common = {"source": self.source, "variant": self.variant, "dataset": self.kind}
        common |= {"answers_file": self.answers_file} | how
        frames = [answers.get(self.items, prompt, self.asked, **common) for prompt in prompts]
        return pd.concat(frames, ignore_index=True)

    def told(self) -> str:
        """One line: how many items, and whose answers."""
        shared = " (those that every recorded model shown was asked with every prompt)"
        counted = f"{len(self.items):,} of {len(self.everything):,} items"
        if self.real:
            return f"{counted}{shared}; recorded models: {', '.join(self.real)}"
        if self.source == "recorded":
            return f"{counted}; no recorded answers to these items, so only simulated respondents"
        return f"{counted}; {self.source} models: {', '.join(self.asked)}"


def open_study(
    paper: str,
    chosen: Mapping[str, Any],
    prompts: Sequence[Prompt],
    wanted: Wanted = Wanted(),
) -> Study:
    """The items and models of a paper's study, as a notebook's parameters say.

    Args:
        paper: its id.
        chosen: a profile of `profiles.load`: where answers come from, which items, how many.
        prompts: those that are compared. Recorded models are shown where they were asked all.
        wanted: models, limits and the user's own files.

    Raises:
        UnavailableError: items or recorded answers that are not here; a live run without a model.
        KatayoriError: what is wrong in a name or a file.

    Example:
        >>> from katayori import profiles
        >>> from katayori.prompting.prompts import load_prompts
        >>> from katayori.papers import get_paper, paper_ids
        >>> paper = get_paper(paper_ids()[0])
        >>> prompts = list(load_prompts(paper.id).values())[:1]
        >>> study = open_study(paper.id, profiles.load("recorded"), prompts, Wanted(limit=2))
        >>> study.kind, study.items[paper.cluster_column].nunique()
        ('study', 2)
    """
    source = chosen["answers"]
    read = read_items(
        paper,
        chosen["items"],
        limit=wanted.limit or chosen["size"],
        own=wanted.own,
        only=wanted.only,
        answers_file=wanted.answers_file,
    )
    variant = "official" if read.dataset == "official" and source == "recorded" else ""
    items, real = read.items, list[str]()
    if source == "recorded":
        named = [name for name in wanted.models if not get_model(name)[0].simulated]
        if wanted.recorded:
            real, items = answers.recorded_for_all(items, prompts, named, variant)
        _require_recorded(named, real, prompts, variant, read.name)
    asked = answers.choose_models(paper, source, wanted.models, prompts[0].id, variant)
    if source == "recorded":
        asked = [*real, *(name for name in asked if get_model(name)[0].simulated)]
    return Study(
        paper=paper,
        source=source,
        everything=read.everything,
        items=items,
        dataset=read.name,
        kind=read.dataset,
        variant=variant,
        asked=tuple(asked),
        real=tuple(real),
        notes=tuple(read.notes),
        answers_file=wanted.answers_file,
    )


def _require_recorded(
    named: Sequence[str], real: Sequence[str], prompts: Sequence[Prompt], variant: str, name: str
) -> None:
    """UnavailableError where a model that is named, or any for others' items, was not recorded."""
    if absent := [model for model in named if model not in real]:
        raise UnavailableError(
            f"no recorded answers of {', '.join(absent)} to all prompts on these items"
        )
    if variant and not real:
        asked = ", ".join(prompt.id for prompt in prompts)
        raise UnavailableError(f"no answers to {name} are recorded for {asked}")

"""Opens a study: the items to ask, the models that answer, and where the answers come from.

Every notebook starts so. What a machine does not hold raises UnavailableError, and the notebook
ends as skipped; what is wrong raises KatayoriError.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import answers, get_paper
from katayori.papers.items import OwnItems, Read, read_items
from katayori.papers.paper import Paper
from katayori.prompting import recordings
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
        shown: which recorded models are shown, on which items. `shared`: those that were asked all
            prompts, on the items that all of them hold. `whole`: those that were asked every item
            of the set. `each`: for every prompt those that were asked it in its present wording
            (see `Study.real_of`); items are asked as `Paper.as_asked` has them (03: in both
            orders).
    """

    models: Sequence[str] = ()
    limit: int = 0
    only: Sequence[str] = ()
    own: OwnItems | None = None
    answers_file: str | Path = ""
    recorded: bool = True
    shown: Literal["shared", "whole", "each"] = "shared"


@dataclass(frozen=True)
class Study:
    """An open study.

    Attributes:
        paper: its id. source: `recorded`, `live`, `imported` or `simulated`.
        everything: all items of the set. items: those that are asked (with recorded answers: those
            that every model shown was asked with every prompt). rows: those items as they are
            asked, a row a request; with all orders of options, where these are asked for.
        dataset: the set in words. kind: `study` or `official`.
        asked: the models shown. real: those of them whose answers are recorded.
        real_of: id of a prompt -> the models whose answers to it are recorded.
        notes: what was noticed on reading the user's own files. answers_file: imported answers.
    """

    paper: str
    source: str
    everything: "pd.DataFrame"
    items: "pd.DataFrame"
    rows: "pd.DataFrame"
    dataset: str
    kind: str
    asked: tuple[str, ...]
    real: tuple[str, ...]
    real_of: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    answers_file: str | Path

    @property
    def official(self) -> bool:
        """Whether others own the items."""
        return self.kind == "official"

    def variant_of(self, prompt: Prompt) -> str:
        """The variant of the recorded answers to a prompt; other answers have none."""
        return _variant(self.source, self.kind, prompt)

    def answers(
        self, prompts: Sequence[Prompt], models: Sequence[str] | None = None, **how: Any
    ) -> "pd.DataFrame":
        """The answers of all models asked (or of `models`) to all these prompts, one frame.

        Args:
            prompts: those to ask with.
            models: some of the models; None, all that are asked.
            how: as `answers.get` takes it.
        """
        import pandas as pd

        named = self.asked if models is None else models
        common = {"source": self.source, "dataset": self.kind, "answers_file": self.answers_file}
        frames = []
        for prompt in prompts:
            asked = common | {"variant": self.variant_of(prompt)} | how
            frames.append(answers.get(self.rows, prompt, named, **asked))
        return pd.concat(frames, ignore_index=True)

    def as_given(self, log: "pd.DataFrame") -> "pd.DataFrame":
        """Of the answers of `answers` those to the items as they were given, in one order.

        A paper's own reading counts these; readings by content take all orders.
        """
        if "order_number" not in log:
            return log
        return log[log["order_number"] == 0].reset_index(drop=True)


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
    room = get_paper(paper)
    settings = _settings(room, read) if source == "recorded" else read.own
    items = read.items
    real_of: dict[str, tuple[str, ...]] = {}
    if source == "recorded":
        items, real_of = _recorded(items, prompts, read.dataset, wanted)
    rows = room.as_asked(items) if wanted.shown == "each" else items
    rows = room.in_orders(rows, settings)
    real = tuple(dict.fromkeys(name for names in real_of.values() for name in names))
    if source == "recorded" and wanted.shown != "whole":
        _require_recorded(_not_simulated(wanted.models), real, prompts, read)
    asked = _shown(source, read.dataset, wanted, prompts[0])
    if source == "recorded" and wanted.shown != "whole":
        asked = [*real, *(name for name in asked if name not in _not_simulated(asked))]
    return Study(
        paper=paper,
        source=source,
        everything=read.everything,
        items=items,
        rows=rows,
        dataset=read.name,
        kind=read.dataset,
        asked=tuple(asked),
        real=real,
        real_of=real_of,
        notes=tuple(read.notes),
        answers_file=wanted.answers_file,
    )


def _settings(room: Paper, read: Read) -> Mapping[str, str]:
    """The settings in which answers to these items are recorded; of own items, the user's."""
    recorded = room.recorded_in(read.dataset)
    if read.own.get("orders") and not recorded.get("orders"):
        raise KatayoriError(
            "recorded answers are to one order of the options; orders is for live, imported or"
            " simulated answers"
        )
    return {**recorded, **read.own}


def _not_simulated(names: Sequence[str]) -> list[str]:
    """The models of these names that are no simulated respondents."""
    return [name for name in names if not get_model(name)[0].simulated]


def _variant(source: str, kind: str, prompt: Prompt) -> str:
    """The variant of the recordings of a prompt, as `Study.variant_of`."""
    return get_paper(prompt.paper).variant_of(kind, prompt.id) if source == "recorded" else ""


def _shown(source: str, kind: str, wanted: Wanted, prompt: Prompt) -> list[str]:
    """The models that are named, or all that may be shown (`answers.choose_models`)."""
    variant = _variant(source, kind, prompt)
    return answers.choose_models(prompt.paper, source, wanted.models, prompt.id, variant)


def _recorded(
    items: "pd.DataFrame", prompts: Sequence[Prompt], kind: str, wanted: Wanted
) -> tuple["pd.DataFrame", dict[str, tuple[str, ...]]]:
    """The items to show, and for each prompt the recorded models, as `Wanted.shown` says."""
    room = get_paper(prompts[0].paper)
    named = _not_simulated(wanted.models)
    variants = {prompt.id: room.variant_of(kind, prompt.id) for prompt in prompts}
    nobody: dict[str, tuple[str, ...]] = {prompt.id: () for prompt in prompts}
    if not wanted.recorded or (wanted.models and not named):
        return items, nobody
    if wanted.shown == "shared":
        real, items = answers.recorded_for_each(items, prompts, variants, named)
        return items, dict.fromkeys(nobody, tuple(real))
    if wanted.shown == "each":
        rows = room.as_asked(items)
        each = {one.id: asked_with(one, rows, named, variants[one.id]) for one in prompts}
        return items, each
    if kind in room.theirs:
        items = answers.held(items, prompts[0], variants[prompts[0].id])
    chosen = _shown("recorded", kind, wanted, prompts[0])
    return items, dict.fromkeys(nobody, tuple(_not_simulated(chosen)))


def asked_with(
    prompt: Prompt, rows: "pd.DataFrame", models: Sequence[str] = (), variant: str = ""
) -> tuple[str, ...]:
    """The models whose recorded answers are to this very wording of a prompt.

    Args:
        prompt: its id and its hash are compared.
        rows: the items as they are asked; a model that was asked none of them is left out.
        models: only these; empty, any.
        variant: of the recordings.
    """
    names = answers.recorded_for_each(rows, [prompt], {prompt.id: variant}, models)[0]
    shards = recordings.shards(prompt.paper, prompt.id, variant)
    same = {shard["model"] for shard in shards if shard["prompt_hash"] == prompt.hash}
    return tuple(name for name in names if name in same)


def _require_recorded(
    named: Sequence[str], real: Sequence[str], prompts: Sequence[Prompt], read: Read
) -> None:
    """UnavailableError where a model that is named, or any for others' items, was not recorded."""
    if absent := [model for model in named if model not in real]:
        raise UnavailableError(
            f"no recorded answers of {', '.join(absent)} to the prompts on these items;"
            f" {answers.how_to_ask(prompts[0].paper, absent[0])}"
        )
    if read.dataset in get_paper(prompts[0].paper).theirs and not real:
        asked = ", ".join(prompt.id for prompt in prompts)
        raise UnavailableError(f"no answers to {read.name} are recorded for {asked}")

"""A study: the items, the prompts, and the answers of the models that were asked.

A notebook opens one and reads its answers prompt by prompt, each a tidy frame (a row an answer, the
item's columns beside it). Where the answers come from (recordings, a live model, an imported file,
simulated respondents) makes no difference to what is done with them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.papers import answers, get_paper
from katayori.papers.items import OwnItems, Read, own_files, read_items
from katayori.papers.paper import Paper
from katayori.prompting import recordings
from katayori.prompting.models import get_model
from katayori.prompting.prompts import Prompt, load_prompts, places

if TYPE_CHECKING:
    import pandas as pd

#: One answer to each item.
ONCE = (0,)


@dataclass(frozen=True)
class Study:
    """An open study.

    Attributes:
        paper: its id. prompts: by id. items: those that are asked, a row a request.
        everything: all items of the set. dataset: the set in words, with its version.
        kind: `study`, or `official` for items of others.
        source: `recorded`, `live`, `imported` or `simulated`.
        models: ids of the models that were asked; simulated respondents where no model was.
        simulated: ids of the simulated respondents that answer beside them.
        notes: what was noticed on reading a user's own files, a line each.
        own_design: whether items and prompts are this project's own, so that what was recorded
            beside the study may stand beside it.
    """

    paper: str
    prompts: Mapping[str, Prompt]
    items: "pd.DataFrame"
    everything: "pd.DataFrame"
    dataset: str
    kind: str
    source: str
    models: tuple[str, ...]
    simulated: tuple[str, ...]
    notes: tuple[str, ...]
    own_design: bool
    _names: Mapping[str, str]
    _answers_file: str | Path = ""
    _asked: Sequence[str] = ()
    _read: dict[tuple[Any, ...], "pd.DataFrame"] = field(default_factory=dict)
    _reads: dict[tuple[Any, ...], list[dict[str, Any]]] = field(default_factory=dict)

    @staticmethod
    def open(
        paper: str,
        *,
        profile: str = "recorded",
        models: Sequence[str] = (),
        prompts: str = "",
        asked: Sequence[str] = (),
        limit: int = 0,
        only: Sequence[str] = (),
        answers_file: str | Path = "",
        **own: str,
    ) -> "Study":
        """Opens the study of a paper.

        Args:
            paper: its id.
            profile: a name of data/profiles.yaml or a file of the user's: which items, whose
                answers, how many.
            models: names; empty: all that are recorded, and the simulated respondents.
            prompts: a folder of prompt files that replaces our wording.
            asked: ids of the prompts that every model must have been asked; the first decides which
                recorded models are shown. Empty: the first prompt of the paper.
            limit: so many clusters (0: as the profile says). only: the clusters to choose from.
            answers_file: imported answers.
            own: files and settings that take the place of the paper's items, by name, such as
                `questions="mine.yaml"`.

        Raises:
            UnavailableError: items or answers that are not on this machine; a live run without a
            model. KatayoriError: what is wrong in a name or a file.

        Example:
            >>> from katayori.papers import paper_ids
            >>> study = Study.open(paper_ids()[0], models=["sim-fair"], limit=2)
            >>> study.models, len(study.items)
            (('sim-fair',), 270)
        """
        chosen = profiles.load(profile)
        wording = load_prompts(paper, prompts)
        main = list(asked) or list(wording)[:1]
        for name in main:
            expect(name, wording, f"prompt of {paper}")
        room, source, files = get_paper(paper), chosen["answers"], OwnItems(**own)
        size = limit or chosen["size"]
        how: dict[str, Any] = {"only": only, "answers_file": answers_file}
        read = read_items(paper, chosen["items"], limit=size, own=files, **how)
        items, settings = read.items, read.own
        if source == "recorded":
            settings = _recorded_settings(room, read)
            items, shown = _recorded(read, [wording[name] for name in main], models)
        else:
            shown = answers.choose_models(paper, source, models)
        is_ours = read.dataset != "official" and not (prompts or files)
        rows = room.in_orders(items, settings)
        if len(rows) == len(items):  # all orders are asked of items as they are
            rows = room.as_asked(rows)
        names = {get_model(name)[0].id: name for name in shown}
        simulated = [one for one, name in names.items() if get_model(name)[0].simulated]
        real = [one for one in names if one not in simulated]
        return Study(
            paper=paper,
            prompts=wording,
            items=rows,
            everything=read.everything,
            dataset=read.name,
            kind=read.dataset,
            source=source,
            models=tuple(real or simulated),
            simulated=tuple(simulated if real else ()),
            notes=read.notes,
            own_design=source == "recorded" and is_ours,
            _names=names,
            _answers_file=answers_file,
            _asked=main,
        )

    @staticmethod
    def reopened(folder: Path) -> "Study":
        """The study that a run folder is about, opened with the parameters of the run.

        Raises:
            UnavailableError, KatayoriError: as `open`; of files of the user's own the folder keeps
            the whole path only where the runner made it.
        """
        given = _noted(folder / "provenance.json")["parameters"]
        stamp = folder / "stamp.json"
        if stamp.is_file():  # it has paths of files in full
            given |= _noted(stamp)["inputs"]["parameters"]
        own = get_paper(folder.name).own_files
        known = ("profile", "models", "prompts", "asked", "limit", "only", "answers_file", *own)
        return Study.open(folder.name, **{name: given[name] for name in known if name in given})

    @staticmethod
    def of_run(folder: Path) -> "Study | None":
        """The study of a run folder (`reopened`), to compare what its models answered.

        None where no run is there or its answers are not, and where it took files of the user's
        own. Answers that are missing give an empty frame, whatever the prompt.
        """
        file = folder / "provenance.json"
        own = set(own_files()) - {"orders", "preset"} | {"prompts", "answers_file"}
        if not file.is_file() or any(_noted(file)["parameters"].get(name) for name in own):
            return None
        try:
            return replace(Study.reopened(folder), _asked=())
        except UnavailableError:
            return None

    def answers(
        self,
        prompt: str,
        *,
        models: Sequence[str] | None = None,
        items: str = "",
        repetitions: Sequence[int] = ONCE,
    ) -> "pd.DataFrame":
        """The answers to a prompt, a row an answer, with the columns of its item.

        Args:
            prompt: its id.
            models: ids; by default `models` of the study.
            items: the items of the study, or the name of a set that was recorded beside it, such as
                a control wording.
            repetitions: which of several answers to the same request.

        Returns:
            item_id, model, prompt_id, repetition, outcome, answer, source, note, text,
            finish_reason, p_<option> and mass where probabilities were asked for, variant (of the
            recording that was read), and the item's columns. For a prompt that scores given texts
            logp_<name> and tokens_<name> of each, in place of answer, text and finish_reason. Where
            a prompt is asked once of several items (`per`), item_id is what they share. What was
            not asked gives an empty frame that says why (`frames.reason_of`).

        Raises:
            UnavailableError: no answer to one of the prompts that every model must have been asked.
            KatayoriError: an unknown prompt or model; recorded answers to another wording.

        Example:
            >>> from katayori.papers import paper_ids
            >>> study = Study.open(paper_ids()[0], models=["sim-fair"], limit=2)
            >>> study.answers(next(iter(study.prompts)))["source"].unique().tolist()
            ['simulated']
        """
        expect(prompt, self.prompts, f"prompt of {self.paper}")
        chosen = tuple(self.models if models is None else models)
        for name in chosen:
            expect(name, self._names, "model of this study")
        key = (prompt, chosen, items, tuple(repetitions))
        if key not in self._read:
            self._read[key] = self._answers(*key)
            where = (prompt, items, tuple(repetitions))
            self._reads[key] = self._noted(*where, self._read[key])
        return self._read[key].copy()

    def _answers(
        self, prompt_id: str, models: Sequence[str], items: str, repetitions: Sequence[int]
    ) -> "pd.DataFrame":
        import pandas as pd

        prompt, parts, reasons = self.prompts[prompt_id], [], []
        rows, variant = self.items, self.variant(prompt_id)
        if items and not self.own_design:
            reasons.append(f"the set {items} was asked beside this project's own items only")
            models = ()
        elif items:
            rows, variant = self._set(items), get_paper(self.paper).variant_of(items, prompt_id)
        how: dict[str, Any] = {"repetitions": list(repetitions), "variant": variant}
        how["dataset"] = (variant and items) or self.kind
        for name in models:
            try:
                parts.append(self._of_model(name, rows, prompt, how, items))
            except UnavailableError as error:
                if prompt_id in self._asked and not items:
                    raise
                reasons.append(f"{name}: {error}")
        if parts:
            return pd.concat(parts, ignore_index=True).assign(variant=variant)
        frame = answers.get(rows.head(0), prompt, [], **how)
        frame.attrs["reason"] = "; ".join(reasons) or "no model was asked"
        return frame.assign(variant=pd.Series(dtype=object))

    def _of_model(
        self, name: str, rows: "pd.DataFrame", prompt: Prompt, how: Mapping[str, Any], items: str
    ) -> "pd.DataFrame":
        """The answers of one model. UnavailableError where it was not asked."""
        asked_as = self._names[name]
        model, _ = get_model(asked_as)
        source = "simulated" if model.simulated else self.source
        is_unable = model.simulated and prompt.kind == "likelihood"
        if is_unable or not answers.able([asked_as], source, prompt, how["variant"]):
            raise UnavailableError(_unable(prompt, source))
        if source == "simulated":  # drawn as before anything was written anew
            how = {**how, "variant": recordings.layers(how["variant"])[-1]}
        if source == "recorded":
            ids = recordings.item_ids(self.paper, prompt.id, how["variant"], [name])
            # What is asked once of several items is recorded under what they share.
            kept = rows[rows[prompt.per].astype(str).isin(ids)]
            if kept.empty:
                absent = f"no answers to {prompt.id} are recorded for these items"
                remedy = answers.how_to_ask(self.paper, asked_as)
                raise UnavailableError(f"{absent}; {remedy}" if not items else absent)
            return answers.get(kept, prompt, [asked_as], source=source, **how)
        if items:
            raise UnavailableError(f"the set {items} was asked of recorded models only")
        how = {**how, "source": source, "answers_file": self._answers_file}
        return answers.get(rows, prompt, [asked_as], **how)

    def variant(self, prompt: str) -> str:
        """The variant of the recordings of a prompt; other answers have none."""
        recorded = self.source == "recorded"
        return get_paper(self.paper).variant_of(self.kind, prompt) if recorded else ""

    def sources(self) -> dict[str, str]:
        """Where the answers of each model come from."""
        simulated = {name for name, given in self._names.items() if get_model(given)[0].simulated}
        return {name: "simulated" if name in simulated else self.source for name in self._names}

    def _set(self, name: str) -> "pd.DataFrame":
        """The items of a set that was recorded beside the study."""
        sets = get_paper(self.paper).sets()
        expect(name, sets, f"set of {self.paper}")
        return sets[name]()

    def published(self, name: str) -> "pd.DataFrame":
        """A table of figures that the paper prints (data/published), a row a figure.

        `caveats` are what a recount of these figures found, a row a finding.
        """
        from katayori.data import paper_facts

        if name == "caveats":
            return paper_facts.caveats(self.paper)
        return paper_facts.printed(self.paper, name)

    def frames(self) -> "Iterator[pd.DataFrame]":
        """All answers that were read so far."""
        return iter(list(self._read.values()))

    def reads(self) -> list[dict[str, Any]]:
        """What was read so far, an entry for each model, prompt and set of items.

        Returns:
            model, source, prompt_id, items (the set, empty for those of the study), repetitions,
            answers (how many), variant and shards (of recordings: the files that were read, with
            count and sha256; else null and none).
        """
        return [one for reads in self._reads.values() for one in reads]

    def _noted(
        self, prompt: str, items: str, repetitions: Sequence[int], frame: "pd.DataFrame"
    ) -> list[dict[str, Any]]:
        """What `reads` says of answers."""
        noted = []
        counts = frame.groupby(["model", "source"], sort=False).size().reset_index(name="n")
        for model, source, n in counts.itertuples(index=False):
            one = {"model": model, "source": source, "prompt_id": prompt, "items": items}
            one |= {"repetitions": list(repetitions), "answers": int(n)}
            one |= {"variant": None, "shards": {}}
            if source == "recorded":
                variant = str(frame["variant"].iat[0])
                shards = recordings.files(self.paper, model, prompt, variant)
                one |= {"variant": variant, "shards": shards}
            noted.append(one)
        return noted

    def provenance(self) -> dict[str, Any]:
        """What a run notes of the study: data sets, prompts, models and counts of answers."""
        from katayori.frames import digest

        read = [frame for frame in self.frames() if len(frame)]
        ids = sorted({prompt for prompt, *_ in self._read})
        used = answers.provenance(self.paper, list(self._names.values()), *read) if read else {}
        filled = sorted({place for one in ids for place in places(self.prompts[one])})
        columns = [place for place in filled if place in self.items]
        return {
            "datasets": {self.dataset: digest(self.items, *columns)},
            "prompts": {one: self.prompts[one].hash for one in ids},
            "read": self.reads(),
            **used,
        }

    def __str__(self) -> str:
        part = "of" if len(self.items) <= len(self.everything) else "requests to"
        counted = f"{len(self.items):,} {part} {len(self.everything):,} items of {self.dataset}"
        sources = self.sources()
        source = ", ".join(dict.fromkeys(sources[name] for name in self.models)) or self.source
        asked = f"{source} answers of {', '.join(self.models)}"
        beside = f"; beside them {', '.join(self.simulated)}" if self.simulated else ""
        return "\n".join([f"{counted}; {asked}{beside}.", *self.notes])


def _noted(file: Path) -> dict[str, Any]:
    """What a run noted of itself in a file of its folder."""
    noted: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return noted


def _recorded_settings(room: Paper, read: Read) -> Mapping[str, str]:
    """The settings in which answers to these items are recorded; of own items, the user's."""
    recorded = room.recorded_in(read.dataset)
    if read.own.get("orders") and not recorded.get("orders"):
        raise KatayoriError(
            "recorded answers are to one order of the options; orders is for live, imported or"
            " simulated answers"
        )
    return {**recorded, **read.own}


def _recorded(
    read: Read, prompts: Sequence[Prompt], models: Sequence[str]
) -> tuple["pd.DataFrame", list[str]]:
    """The items to show of a recorded study, and the models, as `Paper.shown` says."""
    room, items, first = get_paper(read.paper), read.items, prompts[0]
    variants = {prompt.id: room.variant_of(read.dataset, prompt.id) for prompt in prompts}
    named, real = _not_simulated(models), list[str]()
    if models and not named:
        return items, answers.choose_models(read.paper, "recorded", models)
    if room.shown == "whole" and read.dataset in room.theirs:
        items = answers.held(items, first, variants[first.id])
    elif room.shown == "shared":
        real, items = answers.recorded_for_each(items, prompts, variants, named)
    elif room.shown == "each":
        rows = room.as_asked(items)
        each = [_asked_with(prompt, rows, named, variants[prompt.id]) for prompt in prompts]
        real = list(dict.fromkeys(name for names in each for name in names))
    if room.shown != "whole":
        _require_recorded(named, real, prompts, read)
    shown = answers.choose_models(read.paper, "recorded", models, first.id, variants[first.id])
    if room.shown == "whole":
        return items, shown
    beside = set(shown) - set(_not_simulated(shown))
    return items, [*real, *(name for name in shown if name in beside)]


def _not_simulated(names: Sequence[str]) -> list[str]:
    """The models of these names that are no simulated respondents."""
    return [name for name in names if not get_model(name)[0].simulated]


def _asked_with(
    prompt: Prompt, rows: "pd.DataFrame", models: Sequence[str], variant: str
) -> list[str]:
    """The models whose recorded answers are to this very wording of a prompt.

    A model that was asked none of the rows is left out.
    """
    names, _ = answers.recorded_for_each(rows, [prompt], {prompt.id: variant}, models)
    shards = recordings.shards(prompt.paper, prompt.id, variant)
    same = {shard["model"] for shard in shards if shard["prompt_hash"] == prompt.hash}
    return [name for name in names if name in same]


def _require_recorded(
    named: Sequence[str], real: Sequence[str], prompts: Sequence[Prompt], read: Read
) -> None:
    """UnavailableError where a model that is named, or any for others' items, was not recorded."""
    if absent := [model for model in named if model not in real]:
        raise UnavailableError(
            f"no recorded answers of {', '.join(absent)} to the prompts on these items;"
            f" {answers.how_to_ask(read.paper, absent[0])}"
        )
    if read.dataset in get_paper(read.paper).theirs and not real:
        asked = ", ".join(prompt.id for prompt in prompts)
        raise UnavailableError(f"no answers to {read.name} are recorded for {asked}")


def _unable(prompt: Prompt, source: str) -> str:
    """Why a model cannot be asked with a prompt."""
    if source == "recorded":
        return f"no answers to {prompt.id} are recorded"
    if source == "simulated":
        return f"simulated respondents give no likelihood of given texts, which {prompt.id} needs"
    if prompt.kind == "likelihood":
        return f"its server gives no likelihood of given texts, which {prompt.id} needs"
    return f"its server does not continue an answer that was begun, which {prompt.id} needs"

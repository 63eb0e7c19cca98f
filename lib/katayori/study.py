"""A study: the items, the prompts, and the answers of the models that were asked.

A notebook opens one and reads its answers prompt by prompt, each a tidy frame (a row an answer, the
item's columns beside it). Where the answers come from (recordings, a live model, an imported file,
simulated respondents) makes no difference to what is done with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.papers import answers, get_paper
from katayori.papers.items import OwnItems, Read, read_items
from katayori.papers.paper import Paper
from katayori.prompting import recordings
from katayori.prompting.models import get_model
from katayori.prompting.prompts import Prompt, load_prompts, places

if TYPE_CHECKING:
    import pandas as pd


class Study:
    """The study of a paper, opened.

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
        asked: ids of the prompts that every model must have been asked.
        reads: what was read so far, an entry for each model, prompt and set of items: model,
            source, prompt_id, items (the set, empty for those of the study), repetitions, answers
            (how many), variant and shards (of recordings: the files that were read, with count and
            sha256; else null and none).
    """

    def __init__(
        self,
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
    ) -> None:
        """Opens it.

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
            >>> study = Study(paper_ids()[0], models=["sim-fair"], limit=2)
            >>> study.models, len(study.items)
            (('sim-fair',), 270)
        """
        chosen = profiles.load(profile)
        wording = load_prompts(paper, prompts)
        self.asked = list(asked) or list(wording)[:1]
        for name in self.asked:
            expect(name, wording, f"prompt of {paper}")
        room, files = get_paper(paper), OwnItems(**own)
        size = limit or chosen["size"]
        how: dict[str, Any] = {"only": only, "answers_file": answers_file}
        read = read_items(paper, chosen["items"], limit=size, own=files, **how)
        self.paper, self.prompts, self.everything = paper, wording, read.everything
        self.dataset, self.kind, self.notes = read.name, read.dataset, read.notes
        self.source: str = chosen["answers"]
        items, settings = read.items, read.own
        if self.source == "recorded":
            settings = _recorded_settings(room, read)
            items, shown = _recorded(read, [wording[name] for name in self.asked], models)
        else:
            shown = answers.choose_models(paper, self.source, models)
        is_ours = read.dataset != "official" and not (prompts or files)
        self.own_design = self.source == "recorded" and is_ours
        rows = room.in_orders(items, settings)
        # All orders are asked of items as they are.
        self.items = room.as_asked(rows) if len(rows) == len(items) else rows
        self._names = {get_model(name)[0].id: name for name in shown}
        simulated = [one for one, name in self._names.items() if get_model(name)[0].simulated]
        real = [one for one in self._names if one not in simulated]
        self.models = tuple(real or simulated)
        self.simulated = tuple(simulated if real else ())
        self._answers_file = answers_file
        self._read: dict[tuple[Any, ...], pd.DataFrame] = {}
        self.reads: list[dict[str, Any]] = []

    def answers(
        self,
        prompt: str,
        *,
        models: Sequence[str] | None = None,
        items: str = "",
        repetitions: Sequence[int] = (0,),
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
            >>> study = Study(paper_ids()[0], models=["sim-fair"], limit=2)
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
            sets = get_paper(self.paper).sets()
            expect(items, sets, f"set of {self.paper}")
            rows, variant = sets[items](), get_paper(self.paper).variant_of(items, prompt_id)
        how: dict[str, Any] = {"repetitions": list(repetitions), "variant": variant}
        how["dataset"] = (variant and items) or self.kind
        for name in models:
            try:
                parts.append(self._of_model(name, rows, prompt, how, items))
            except UnavailableError as error:
                if prompt_id in self.asked and not items:
                    raise
                reasons.append(f"{name}: {error}")
        self.reads.extend(self._noted(part, prompt_id, items, how) for part in parts if len(part))
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
        source = "simulated" if get_model(asked_as)[0].simulated else self.source
        if why := answers.why_unable(asked_as, source, prompt, how["variant"]):
            raise UnavailableError(why)
        if source == "simulated":  # drawn as before anything was written anew
            how = {**how, "variant": recordings.layers(how["variant"])[-1]}
        if source == "recorded":
            ids = recordings.item_ids(self.paper, prompt.id, how["variant"], [name])
            # What is asked once of several items is recorded under what they share.
            rows = rows[rows[prompt.per].astype(str).isin(ids)]
            if rows.empty:
                absent = f"no answers to {prompt.id} are recorded for these items"
                remedy = answers.how_to_ask(self.paper, asked_as)
                raise UnavailableError(f"{absent}; {remedy}" if not items else absent)
        elif items:
            raise UnavailableError(f"the set {items} was asked of recorded models only")
        how = {**how, "source": source, "answers_file": self._answers_file}
        return answers.get(rows, prompt, [asked_as], **how)

    def variant(self, prompt: str) -> str:
        """The variant of the recordings of a prompt; other answers have none."""
        recorded = self.source == "recorded"
        return get_paper(self.paper).variant_of(self.kind, prompt) if recorded else ""

    def sources(self) -> dict[str, str]:
        """Where the answers of each model come from."""
        own = {name: get_model(given)[0] for name, given in self._names.items()}
        return {name: "simulated" if one.simulated else self.source for name, one in own.items()}

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

    def _noted(
        self, part: "pd.DataFrame", prompt: str, items: str, how: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The entry of `reads` of the answers of a model to a prompt."""
        model, source, variant = str(part["model"].iat[0]), str(part["source"].iat[0]), None
        about = {"model": model, "source": source, "prompt_id": prompt, "items": items}
        shards: dict[str, Any] = {}
        if source == "recorded":
            variant = how["variant"]
            shards = recordings.files(self.paper, model, prompt, variant)
        read = {"repetitions": how["repetitions"], "answers": len(part)}
        return about | read | {"variant": variant, "shards": shards}

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
            "read": self.reads,
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
    """The items to show of a recorded study, and the models, as `Paper.shown` says.

    UnavailableError where a model that is named, or any for others' items, was not recorded.
    """
    room, items, real = get_paper(read.paper), read.items, list[str]()
    shown = answers.choose_models(read.paper, "recorded", models, read.dataset)
    beside = [name for name in shown if get_model(name)[0].simulated]
    named = [name for name in models if name not in beside]
    if models and not named:
        return items, beside
    variants = {prompt.id: room.variant_of(read.dataset, prompt.id) for prompt in prompts}
    if room.shown == "shared":
        real, items = answers.recorded_for_each(items, prompts, variants, named)
    else:
        rows = room.as_asked(items)
        for prompt in prompts:
            shards = recordings.shards(prompt.paper, prompt.id, variants[prompt.id])
            same = {shard["model"] for shard in shards if shard["prompt_hash"] == prompt.hash}
            holding, _ = answers.recorded_for_each(rows, [prompt], variants, named)
            # Where all were asked in other words, reading their answers tells what has changed.
            in_these_words = [name for name in holding if name in same] or holding
            real += [name for name in in_these_words if name not in real]
    if absent := [name for name in named if name not in real]:
        raise UnavailableError(
            f"no recorded answers of {', '.join(absent)} to the prompts on these items;"
            f" {answers.how_to_ask(read.paper, absent[0])}"
        )
    if not (real or room.is_ours(read.dataset)):
        asked = ", ".join(prompt.id for prompt in prompts)
        raise UnavailableError(f"no answers to {read.name} are recorded for {asked}")
    return items, [*real, *beside]

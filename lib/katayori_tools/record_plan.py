"""What `make record` asks, piece by piece in its order: data/papers/*.yaml as `Work`.

The first edition is listed by paper. `second_edition` and `third_edition` are one list of all
papers each; their entries are worked off by priority, and of one priority with the smaller model
first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError, expect, within
from katayori.papers import answers, get_paper, items as source, paper_ids
from katayori.prompting import prompts, recordings
from katayori.prompting.models import Endpoint, Model, get_model
from katayori.prompting.requests import SEED_RULE, Request, Response
from katayori_tools import asking, paper_files, study_sets
from katayori_tools.answer_store import Store
from katayori_tools.planned import sample as take

if TYPE_CHECKING:
    import pandas as pd

#: The section of the plan that lists the second edition.
SECOND = "second_edition"
#: The sections of the editions that are listed by priority.
SECTIONS = {"second": SECOND, "third": "third_edition"}
EDITIONS = ("first", *SECTIONS)
#: The endpoint that scores continuations; chats go to the local engine that is named.
SCORER = "local-scorer"


@dataclass(frozen=True)
class Work:
    """One entry of the plan for one model, which gives a shard a prompt.

    Attributes:
        paper, dataset, variant: whose items, which, and how they are told apart from others (a
            second-edition data set stands for its variant, too).
        model, prompts, kind: who is asked what, and how: `chat`, the model writes
            an answer, or `likelihood`, it scores given continuations.
        repetitions: which ones are asked; (0,) is asking once.
        size, sample: so many items make up the set, or are a part for show.
        whole: the column whose groups an unfinished recording keeps.
        priority: 0 for the first edition, then the order of the later ones. edition: which.
    """

    paper: str
    dataset: str
    model: str
    prompts: tuple[str, ...]
    variant: str = ""
    kind: str = "chat"
    repetitions: tuple[int, ...] = (0,)
    size: int | None = None
    sample: int | None = None
    whole: str = ""
    priority: float = 0
    edition: str = "first"

    @property
    def name(self) -> str:
        """The work in one line."""
        what = f"{self.dataset}@{self.variant}" if self.variant else self.dataset
        return f"{self.paper} {self.model} {what} {','.join(self.prompts)}"

    @property
    def ours(self) -> bool:
        """Whether the items' texts are this project's own."""
        return get_paper(self.paper).is_ours(self.dataset)

    def at(self, engine: str = "") -> tuple[Model, Endpoint]:
        """The model and the local endpoint it is asked at."""
        place = SCORER if self.kind == "likelihood" else f"local-{engine or 'vllm'}"
        return get_model(f"{self.model}@{place}")


def works(papers: Sequence[str] = (), models: Sequence[str] = (), edition: str = "") -> list[Work]:
    """The pieces of work of some papers and models (default: all), in the order they are done.

    `edition`: one of `EDITIONS`; default, one after the other. Raises KatayoriError for names
    that the plan lacks, and for what is wrong with an entry, before anything is asked.
    """
    expect(edition, ("", *EDITIONS), "edition of the recording plan")
    out: list[Work] = []
    for paper in papers or paper_ids():
        listed = _first(paper) if edition in ("", "first") else []
        for later in SECTIONS:
            listed += _later(paper, later) if edition in ("", later) else []
        known = dict.fromkeys(work.model for work in listed)
        for name in sorted(set(models)):
            expect(name, known, f"model of the recording plan of {paper}")
        out += [work for work in listed if not models or work.model in models]
    return sorted(out, key=lambda work: (work.priority, _size(work) if work.priority else 0.0))


def _size(work: Work) -> float:
    return get_model(work.model)[0].size_b or 0.0


def _first(paper: str) -> list[Work]:
    """The first edition of a paper, model by model."""
    entries = asking.plan(paper)
    known = dict.fromkeys(model for entry in entries for model in entry["models"])
    return [_work(paper, e, model) for model in known for e in entries if model in e["models"]]


def _later(paper: str, edition: str) -> list[Work]:
    """A later edition of a paper; nothing where the plan does not list one."""
    out = []
    section = SECTIONS[edition]
    for number, entry in enumerate(paper_files.of(paper).get(section) or (), 1):
        with within(f"papers/{paper}.yaml, {section}, entry {number}"):
            if entry.get("seed_rule", SEED_RULE) != SEED_RULE:
                raise KatayoriError(f"seed_rule is {SEED_RULE} for all that is asked now")
            _check_prompts(paper, entry)
            out += [_work(paper, entry, model, edition) for model in entry["models"]]
    return out


def _check_prompts(paper: str, entry: Mapping[str, Any]) -> None:
    known = prompts.load_prompts(paper)
    for prompt_id in entry["prompts"]:
        expect(prompt_id, known, f"prompt of {paper}")
        kind = getattr(known[prompt_id], "kind", "chat")
        if kind != entry.get("kind", "chat"):
            raise KatayoriError(f"prompt {prompt_id} is of kind {kind}")


def _repetitions(entry: Mapping[str, Any]) -> tuple[int, ...]:
    """Which repetitions an entry asks: a number of them, or their list."""
    given = entry.get("repetitions", 1)
    return tuple(range(given) if type(given) is int else given)


def _work(paper: str, entry: Mapping[str, Any], model: str, edition: str = "first") -> Work:
    more = {name: entry[name] for name in ("kind", "size", "sample", "whole") if name in entry}
    priority, dataset = entry.get("priority", 0), entry["dataset"]
    return Work(
        paper,
        dataset,
        model,
        tuple(entry["prompts"]),
        entry.get("variant", dataset if priority else ""),
        repetitions=_repetitions(entry),
        priority=priority,
        edition=edition,
        **more,
    )


def rows_of(work: Work, size: int | None) -> list[dict[str, Any]]:
    """The items to ask; a part of a data set of a later edition keeps groups (`whole`) together.

    Of the third edition those are asked that were written anew: answers to the others are there.
    """
    room = get_paper(work.paper)
    later = room.sets()
    recorded_in = work.variant in later and room.recorded_in(work.dataset)
    dataset = work.variant if recorded_in else work.dataset
    if dataset not in later:
        return asking.items_of(work.paper, dataset, size, is_recorded=True)
    items = later[dataset]()
    if study_sets.editions_of(work.paper).get(dataset) == study_sets.THIRD:
        items = study_sets.written_anew(work.paper, items)
    known = work.whole if work.whole in items else None
    if size is not None and known == room.cluster_column:
        rows = _in_turn(work.paper, items, size).to_dict("records")
    else:
        rows = take(items, size, whole=known).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _in_turn(paper: str, items: "pd.DataFrame", size: int) -> "pd.DataFrame":
    """Whole clusters as the paper ranks them, as many as it takes to reach `size` items.

    So a part is balanced over what the paper's ranks are balanced over, such as categories.
    """
    room = get_paper(paper)
    clusters = room.cluster_of(items)
    sizes = clusters.value_counts()
    kept: set[str] = set()
    for cluster in room.ranked(items.assign(cluster=clusters)):
        if sizes[list(kept)].sum() >= size:
            break
        kept.add(cluster)
    return items[clusters.isin(kept)].reset_index(drop=True)


def requests_of(
    work: Work,
    model: Model,
    endpoint: Endpoint,
    store: Store,
    limit: int | None = None,
) -> list[Request]:
    """The requests of a piece of work, by the seed rule of its shards; `limit` takes so many items.

    Where a prompt holds the model's answer to an earlier one that is not stored yet, the item is
    left out. A machine that holds more
    of a third-party set than the first recording asks what that one asked. Raises KatayoriError
    where the items are not here.
    """
    known = prompts.load_prompts(work.paper)
    for prompt_id in work.prompts:
        expect(prompt_id, known, f"prompt of {work.paper}")
    rows = rows_of(work, limit or work.sample or work.size)
    if work.whole and rows and work.whole not in rows[0]:
        raise KatayoriError(f"{work.name}: the items have no column {work.whole!r} (whole)")

    def earlier(asked: list[Request]) -> list[Response | None]:
        return [answer for _, answer in store.get(answers.as_recorded(asked))]

    built = asking.from_rows(
        rows,
        [known[prompt_id] for prompt_id in work.prompts],
        model,
        endpoint,
        earlier,
        dataset=source.request_dataset(work.paper, work.dataset, source.OwnItems()),
        variant=work.variant,
        repetitions=work.repetitions,
    )
    if not work.ours:
        first = recordings.item_ids(work.paper, work.prompts[0], work.variant)
        built = [q for q in built if not first or q.item_id in first]
    return answers.as_recorded(built)

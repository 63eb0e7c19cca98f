"""What is asked of whom: a paper's items and wording, a user's models and servers, as requests."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.papers import answers, get_paper, items as source, paper_ids
from katayori.papers.items import OwnItems
from katayori.prompting import prompts
from katayori.prompting.models import Endpoint, Model, get_model
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Request, Response, build
from katayori.prompting.store import store_path
from katayori_tools import servers
from katayori_tools.answer_store import Store
from katayori_tools.choices import (
    DEMONSTRATION,
    LIGHT_ENGINE,
    LIGHT_MODEL,
    Asking,
)
from katayori_tools.notebooks import LAST, names, own_items

if TYPE_CHECKING:
    import pandas as pd

LONG_ANSWER = "・" * 200  # stands for an earlier answer where requests are only counted
PART = 500  # rows whose requests are held at once


def prompts_of(paper: str, dataset: str, own: OwnItems) -> str:
    """The data set whose prompts are asked: ours are Japanese, those of BBQ and PandaLM are
    English.
    """
    if own.in_place_of(paper):
        return "study"
    return get_paper(paper).asked_in if dataset == "official" else dataset


def load_rows(
    paper: str, dataset: str, *, limit: int | None = None, own: OwnItems | None = None
) -> "pd.DataFrame":
    """The rows to ask: `item_id`, `cluster` and the places that a paper's prompts are filled from.

    Raises as `papers.items.read_items`.
    """
    return rows_to_ask(source.read_items(paper, dataset, limit=limit, own=own))


def rows_to_ask(read: source.Read) -> "pd.DataFrame":
    """The items of `read_items` as they are asked: a judge's pairs in both orders, balanced sets
    rank by rank, and options in the orders that the user asks for.
    """
    paper = get_paper(read.paper)
    rows = paper.as_asked(read.items.assign(cluster=paper.cluster_of(read.items)))
    return paper.in_orders(rows, read.own)


@dataclass(frozen=True)
class Scope:
    """Which items of a paper are asked about, and how they are worded.

    `sample` counts items, as the recording plan does, `limit` clusters (see `items_of`); `folder`
    holds prompt files that replace ours.
    """

    dataset: str = "study"
    sample: int | None = None
    limit: int | None = None
    own: OwnItems | None = None
    folder: str = ""
    variant: str = ""


STUDY_SET = Scope()


class Step(NamedTuple):
    """Requests that can be made at once: one paper and model, and prompts of one step.

    `name` is the model as it was given.
    """

    paper: str
    name: str
    model: Model
    endpoint: Endpoint
    requests: list[Request]


class StepPlan(NamedTuple):
    """A step before its requests are made: which prompts of a paper, about which items, to whom."""

    paper: str
    name: str
    model: Model
    endpoint: Endpoint
    prompts: list[str]
    scope: Scope

    def parts(
        self, store: Store | None, stand_in: str = "", size: int | None = PART
    ) -> Iterator[list[Request]]:
        """The requests about so many rows at a time (None: about all), as `requests_of` has them.

        So memory does not grow with the number of requests.
        """
        wording = prompts.load_prompts(self.paper, self.scope.folder)
        for prompt_id in self.prompts:
            expect(prompt_id, wording, f"prompt of {self.paper}")
        asked = [wording[prompt_id] for prompt_id in self.prompts]
        once = {prompt.id for prompt in asked if prompt.per != "item_id"}
        scope = self.scope
        rows = items_of(self.paper, scope.dataset, scope.sample, limit=scope.limit, own=scope.own)
        dataset = source.request_dataset(self.paper, scope.dataset, scope.own or OwnItems())
        earlier = _earlier(store, stand_in)
        made: set[tuple[str, str]] = set()  # of prompts that are asked once for several items
        for start in range(0, len(rows), size or len(rows) or 1):
            part = from_rows(
                rows[start : start + size] if size else rows,
                asked,
                self.model,
                self.endpoint,
                earlier,
                dataset=dataset,
                variant=scope.variant,
            )
            new = [q for q in part if (q.prompt_id, q.item_id) not in made]
            made |= {(q.prompt_id, q.item_id) for q in new if q.prompt_id in once}
            yield answers.as_stored(store, new) if store else new


def _earlier(
    store: Store | None, stand_in: str
) -> Callable[[list[Request]], list[Response | None]]:
    """What gives the answers to earlier prompts: the store, and `stand_in` where it has none."""
    missing = Response("ok", stand_in) if stand_in else None

    def earlier(requests: list[Request]) -> list[Response | None]:
        if not store:
            return [missing] * len(requests)
        stored = store.get(answers.as_stored(store, requests))
        return [answer or missing for _, answer in stored]

    return earlier


def items_of(
    paper: str,
    dataset: str,
    size: int | None = None,
    *,
    limit: int | None = None,
    own: OwnItems | None = None,
    is_recorded: bool = False,
) -> list[dict[str, Any]]:
    """The items of a paper as rows with `item_id` and the prompt's places (see `papers.items`).

    `limit` counts clusters. `size` counts items, as the recording plan does: at least so many,
    balanced where the paper's items are, a sample of all elsewhere. `is_recorded`: the items that
    the plan had when it was recorded, not those that a study reads today.
    """
    from katayori_tools.asked import planned, sample

    room = get_paper(paper)
    sets = room.sets()
    expect(dataset, ("study", "official", *room.more, *sets), f"data set of {paper}")
    if dataset in sets:
        items = sample(sets[dataset](), size)
    elif dataset in room.more or size is not None or is_recorded:
        items = planned(paper, dataset, size)
    else:
        items = load_rows(paper, dataset, limit=limit, own=own)
    rows: Any = items.to_dict("records")  # pandas does not say that its columns have names
    return rows


def plan(paper: str) -> list[dict[str, Any]]:
    """The recording plan of a paper, empty where it has none. KatayoriError for an unknown id."""
    from katayori_tools import paper_files

    return paper_files.of(paper).get("recording") or []


def steps(paper: str, dataset: str) -> list[list[str]]:
    """The prompts a data set is asked, those that need no earlier answer first.

    They are those of the recording plan, which also has entries of samples: these do not count.
    """
    whole = [e for e in plan(paper) if e["dataset"] == dataset and "sample" not in e]
    return [list(step) for step in dict.fromkeys(tuple(entry["prompts"]) for entry in whole)]


def requests_of(
    paper: str,
    model: Model,
    endpoint: Endpoint,
    prompt_ids: list[str],
    scope: Scope = STUDY_SET,
    *,
    store: Store | None = None,
    stand_in: str = "",
) -> list[Request]:
    """Requests of some prompts to a paper's items, the prompts of an item next to each other.

    Where a prompt holds the model's answer to an earlier one, it comes from the store; `stand_in`
    takes its place, and without that the item is left out, where the earlier prompt has not been
    asked yet.

    Seeds follow the newest rule; of what a `store` holds, the rule under which it lies there.
    """
    step = StepPlan(paper, "", model, endpoint, prompt_ids, scope)
    return [request for part in step.parts(store, stand_in, size=None) for request in part]


def from_rows(
    rows: list[dict[str, Any]],
    asked: list[Prompt],
    model: Model,
    endpoint: Endpoint,
    earlier: Callable[[list[Request]], list[Response | None]],
    **options: Any,
) -> list[Request]:
    """Requests of some prompts to rows, the prompts of an item next to each other.

    `earlier` gives the answers to an earlier prompt (see `answers.with_earlier`), `options` go
    to `requests.build`.
    """
    repetitions = options.pop("repetitions", 1)
    built = []
    for prompt in asked:
        filled = answers.with_earlier(rows, prompt, model, endpoint, earlier, **options)
        built.append(build(filled, prompt, model, endpoint, repetitions=repetitions, **options))
    return [request for group in zip_longest(*built) for request in group if request]


def with_prompts(chosen: Asking) -> list[str]:
    """The papers to ask. KatayoriError where only the overview is named, which asks nobody."""
    papers = names(chosen.papers) or list(paper_ids())
    asked = [paper for paper in papers if paper != LAST]
    if not asked:
        models = f" MODELS='{chosen.models}'" if chosen.models else ""
        remedy = f"make reproduce PAPERS={LAST} PROFILE={chosen.profile}{models}"
        raise KatayoriError(f"the {LAST} asks nobody, it reads the results of the others: {remedy}")
    return asked


def wanted(chosen: Asking, stand_in: str = "", *, reach: bool = False) -> Iterator[Step]:
    """What `live` asks and `estimate` estimates: the steps of `planned_steps` with their requests.

    The requests of a step are made when the one before has been answered (`stand_in`: see
    `requests_of`). Raises as `planned_steps`.
    """
    for step in planned_steps(chosen, reach=reach):
        with Store(store_path()) as store:
            requests = [q for part in step.parts(store, stand_in, size=None) for q in part]
        yield Step(step.paper, step.name, step.model, step.endpoint, requests)


def planned_steps(chosen: Asking, *, reach: bool = False) -> Iterator[StepPlan]:
    """What is asked of whom, step by step, before any request is made.

    Prompts are those the recording plan asks of the whole set, step by step. Items and their
    number come from the profile (LIMIT= overrides the number, in clusters), the wording from
    PROMPTS=. Without MODELS= the smallest local model is asked. Everything of the user's is read
    before the first of them; then, with `reach`, the servers must answer.

    Raises KatayoriError for a profile whose answers are not live, and for what is wrong with the
    user's files.
    """
    profile = profiles.load(chosen.profile)
    folder = chosen.prompts
    if profile["answers"] != "live":
        reason = f"profile {profile['name']!r} asks nobody (answers: {profile['answers']})"
        raise KatayoriError(f"{reason}; use PROFILE=live, or live-official for the papers' items")
    papers = with_prompts(chosen)
    own = own_items(chosen.own, papers)
    limit = limit_of(chosen, profile)
    models = models_of(chosen.models, chosen.engine)
    real = [name for name in models if not get_model(name)[0].simulated]
    papers = read_first(papers, profile["items"], limit, own, folder)
    if reach:
        servers.reach_all(names(chosen.models), chosen.server.base_url)
    asked_at = servers.asked_at(chosen.server, real, papers)
    scope = Scope(profile["items"], limit=limit, own=own, folder=folder)
    for paper in papers:
        wording = prompts.load_prompts(paper, folder)
        prompt_steps = steps(paper, prompts_of(paper, profile["items"], own))
        for name in real:
            model, endpoint = asked_at[paper, name]
            for step in prompt_steps:
                able = [p for p in step if not answers.why_unable(name, "live", wording[p])]
                yield StepPlan(paper, name, model, endpoint, able, scope)


def models_of(models: str, engine: str) -> list[str]:
    """The models named, without one the smallest by a local engine."""
    return names(models) or [LIGHT_MODEL + (engine or LIGHT_ENGINE)]


def limit_of(chosen: Asking, profile: dict[str, Any]) -> int | None:
    """How many clusters are asked about: LIMIT=, else a demonstration's where the light engine is
    asked, else the profile's.
    """
    light = profile["name"] == "live" and not chosen.models
    return source.check_limit(chosen.limit) or (DEMONSTRATION if light else profile["size"])


def read_first(
    papers: list[str], dataset: str, limit: int | None, own: OwnItems, folder: str
) -> list[str]:
    """The papers that can be asked, with every prompt and item that is not ours read once.

    So a bad file of one paper is found before another is asked. Of several papers one whose items
    are not on this machine is left out, and said so; what is odd about items is said, too.
    """
    able = []
    for paper in papers:
        prompts.load_prompts(paper, folder)
        if dataset == "study" and not own.of(paper):
            able.append(paper)
            continue
        try:
            read = source.read_items(paper, dataset, limit=limit, own=own)
        except UnavailableError as error:
            if own.of(paper) or len(papers) == 1:
                raise
            print(f"{paper:<16} left out: {error}", file=sys.stderr)
            continue
        for note in read.notes:
            print(f"{paper:<16} {note}", file=sys.stderr)
        able.append(paper)
    return able


def n_clusters(requests: list[Request]) -> int:
    """How many clusters some requests are about."""
    return len({q.fields["cluster"] for q in requests})

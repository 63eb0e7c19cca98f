"""`make live`, `make estimate`, `make template`: real questions to real models, through a local
engine where needed.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from katayori import paths, profiles
from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.papers import answers, get_paper, items as source, paper_ids
from katayori.papers.items import OwnItems
from katayori.papers.paper import hash_of
from katayori.prompting import prompts, recordings
from katayori.prompting.models import Endpoint, Model, get_model, registry
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Request, Response, build
from katayori.prompting.store import store_path
from katayori.provenance import without_folder
from katayori_tools import inputs, servers
from katayori_tools.answer_store import Store, printable
from katayori_tools.choices import (
    DEMONSTRATION,
    LIGHT_ENGINE,
    LIGHT_MODEL,
    USUAL_RUNNING,
    USUAL_SENDING,
    Asking,
    NotebookRun,
    Running,
    Sending,
)
from katayori_tools.collect import Summary, collect_sync
from katayori_tools.notebooks import LAST, names
from katayori_tools.papers import modules

if TYPE_CHECKING:
    import pandas as pd

CONTINUING = "vllm, llamacpp and completions"
LONG_ANSWER = "・" * 200  # stands for an earlier answer in an estimate
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
    room = get_paper(paper)
    sets = room.sets()
    expect(dataset, ("study", "official", *room.more, *sets), f"data set of {paper}")
    if dataset in sets:
        items = sample(sets[dataset](), size)
    elif dataset in room.more:
        items = as_planned(paper, dataset, size)
    elif size is None and not is_recorded:
        items = load_rows(paper, dataset, limit=limit, own=own)
    else:
        items = as_planned(paper, dataset, size)
    rows: Any = items.to_dict("records")  # pandas does not say that its columns have names
    return rows


def as_planned(paper: str, dataset: str, size: int | None) -> "pd.DataFrame":
    """The items of an entry of the plan, whose size counts items, as they are asked."""
    room = get_paper(paper)
    own = modules("asked")
    if paper in own:
        frozen: pd.DataFrame = own[paper].planned(dataset, size)
        return frozen
    return room.as_asked(sample(room.read(dataset, {})[0], size))


def sample(items: "pd.DataFrame", size: int | None, *, whole: str | None = None) -> "pd.DataFrame":
    """At least `size` items chosen by the hash of their ids, in their own order; None or a larger
    number keeps all.

    `whole` names a column whose groups are taken in full (a question with its whole cross of
    attributes), as many groups as it takes to reach `size`: statistics that compare answers within
    a question need that.
    """
    if size is None or size >= len(items):
        return items
    column = whole or "item_id"
    counts = items.groupby(column, sort=False).size()
    ranked = sorted(counts.index, key=hash_of)
    reached = counts[ranked].cumsum().searchsorted(size) + 1
    return items[items[column].isin(ranked[:reached])].reset_index(drop=True)


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


def _with_prompts(chosen: Asking) -> list[str]:
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
    papers = _with_prompts(chosen)
    own = inputs.own_items(chosen.own, papers)
    limit = limit_of(chosen, profile)
    models = models_of(chosen.models, chosen.engine)
    real = [name for name in models if not get_model(name)[0].simulated]
    papers = _read_first(papers, profile["items"], limit, own, folder)
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


def _read_first(
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


def live(chosen: Asking, sending: Sending = USUAL_SENDING, running: Running = USUAL_RUNNING) -> int:
    """Ask a sample of a profile's items now, then run the notebooks."""
    from katayori_tools.reproduce import folder_of, reproduce

    inputs.writable(paths.outputs_dir(), "KATAYORI_OUTPUTS")
    inputs.writable(paths.cache_dir(), "KATAYORI_CACHE")
    profile = profiles.load(chosen.profile)
    limit = limit_of(chosen, profile)
    # A label that holds another model's answers is refused before anything is paid for.
    folder_of(profile, {"models": names(chosen.models)}, _with_prompts(chosen))
    asked: list[tuple[str, str]] = []  # paper and model, in order
    for step in wanted(chosen, reach=True):
        if (step.paper, step.name) not in asked:
            _say_before(chosen, step)
            asked.append((step.paper, step.name))
        _ask(chosen, step, sending)
    if limit == DEMONSTRATION and not chosen.models:
        print(f"a demonstration: {limit} clusters a paper; LIMIT=25 or more measures something")
    papers = list(dict.fromkeys(paper for paper, _ in asked))
    if LAST in names(chosen.papers):
        papers.append(LAST)
    run = NotebookRun(
        papers=",".join(papers),
        models=" ".join(dict.fromkeys(name for _, name in asked)),
        profile=chosen.profile,
        prompts=chosen.prompts,
        own=chosen.own,
        parameter=(f"limit={limit}",) if limit else (),
    )
    with servers.environment(chosen.server):
        return reproduce(run, running)


def _ask(chosen: Asking, step: Step, sending: Sending) -> None:
    """Ask the requests of one step, and say what went wrong."""
    _, name, model, endpoint, requests = step
    with Store(store_path()) as store:
        pending = store.pending(requests)
        with servers.served(model, endpoint, chosen.server.base_url, pending) as url:
            summary = collect_sync(
                requests,
                model,
                endpoint,
                store,
                base_url=url,
                concurrency=sending.concurrency,
                budget=sending.budget,
            )
        for cause, n in causes(store, requests, model).items():
            print(f"  {n} x {cause}")
        _say(summary, name)
        _say_logprobs(store, requests)


def _say_before(chosen: Asking, step: Step) -> None:
    """What a run leaves out: answers under other servers, prompts that need a forced start."""
    paper, name, model, endpoint, _ = step
    servers.say_elsewhere(paper, name, model, endpoint)
    wording = prompts.load_prompts(paper, chosen.prompts)
    own = inputs.own_items(chosen.own, [paper])
    dataset = prompts_of(paper, profiles.load(chosen.profile)["items"], own)
    planned = [prompt for step in steps(paper, dataset) for prompt in step]
    able = [p for p in planned if not answers.why_unable(name, "live", wording[p])]
    left_out = {
        kind: [p for p in planned if p not in able and wording[p].kind == kind]
        for kind in get_args(prompts.Kind)
    }
    if left_out["chat"]:
        cause = f"{endpoint.name} is not known to continue a given start of the answer"
        listed = ", ".join(left_out["chat"])
        print(f"{paper} {name}: not asked: {listed}; {cause}, as {CONTINUING} are")
    if left_out["likelihood"]:
        cause = f"{endpoint.name} cannot score given continuations, a vLLM server (NAME@vllm) can"
        print(f"{paper} {name}: not asked: {', '.join(left_out['likelihood'])}; {cause}")


def causes(store: Store, requests: Iterable[Request], model: Model) -> dict[str, int]:
    """What went wrong or looks odd in the stored answers to these requests, and how often, the most
    frequent first.

    Errors by the first words of their cause, and answers of another model than was asked: `gpt-4o`
    may answer as `gpt-4o-2024-11-20`, a server with the path of its file or without a name, but not
    as `gpt-4o-mini`.
    """
    asked = re.escape(model.vendor_id.rpartition("/")[2])
    same = re.compile(rf"((.*/)?{asked}([-@:.](v?\d[\d.-]*|latest|gguf))?)?", re.IGNORECASE)
    counts: Counter[str] = Counter()
    for _, answer in store.get(requests):
        if answer and answer.error:
            counts[printable(answer.error.partition(":")[0])] += 1
        elif answer and not same.fullmatch(answer.model_answered):
            answered = printable(without_folder(answer.model_answered))
            counts[f"asked {model.vendor_id}, answered by {answered}"] += 1
    return dict(counts.most_common())


def _say(summary: Summary, name: str) -> None:
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    done = f"{name}: {summary.asked} asked, {summary.stored} already stored"
    print(f"{done}, {summary.outcomes}, {cost}, {summary.seconds:.0f} s")
    if summary.stopped:
        remedy = "what was answered is kept, run again with a higher BUDGET= to continue"
        raise KatayoriError(f"{summary.stopped}; {remedy}")


def _say_logprobs(store: Store, requests: list[Request]) -> None:
    """How many of the answers that were to have log probabilities came without."""
    valid = [
        answer
        for request, answer in store.get(requests)
        if answer and answer.outcome == "ok" and request.body.get("logprobs")
    ]
    without = sum(not answer.top for answer in valid)
    if without:
        counted = f"{without} of {len(valid)} answers came without log probabilities"
        print(f"  {counted}; what is computed from these leaves them out, texts count as they are")


def template(chosen: Asking, file: str) -> int:
    """Write the requests of one paper and model as a file to be answered elsewhere (see
    `exchange.import_answers`).

    They are those that `live` would ask with the same options, but for prompts that force the start
    of an answer, hold an earlier one or score continuations: nobody else can be asked these.
    """
    from katayori_tools.planning import export_requests

    papers, models = names(chosen.papers), names(chosen.models)
    if len(papers) != 1 or len(models) != 1:
        raise KatayoriError("a template holds one paper and one model: PAPERS=01 MODELS=name")
    [paper], [name] = papers, models
    get_paper(paper)  # a wrong name is said before a file is opened
    written = inputs.output_file(file, (".jsonl", ".csv"))
    profile = profiles.load(chosen.profile)
    own = inputs.own_items(chosen.own, [paper])
    folder = chosen.prompts
    scope = Scope(profile["items"], limit=limit_of(chosen, profile), own=own, folder=folder)
    _read_first([paper], scope.dataset, scope.limit, own, folder)
    wording = prompts.load_prompts(paper, folder)
    prompt_steps = steps(paper, prompts_of(paper, scope.dataset, own))
    planned = [wording[p] for step in prompt_steps for p in step]
    chats = [p.id for p in planned if not (p.prefix or p.given) and p.kind == "chat"]
    requests = requests_of(paper, *get_model(name), chats, scope)
    export_requests(requests, written)
    subject = f"{n_clusters(requests)} {get_paper(paper).clusters}"
    print(f"{len(requests)} requests about {subject} written to {written}; fill in the column text")
    return 0


def n_clusters(requests: list[Request]) -> int:
    """How many clusters some requests are about."""
    return len({q.fields["cluster"] for q in requests})


def estimate(chosen: Asking, width: float = 2.0, pilot: str = "stored") -> int:
    """Clusters, calls, tokens, cost, time and the half-width to expect, before anything is asked.

    What the store holds is free. half_width: see `planning.half_width`. Then, of what is answered
    already, how sure the scores are and what would make them sure to `width` points (see
    `precision`); `pilot`: `stored`, or `recorded` for what this repository holds.
    """
    papers = names(chosen.papers) or paper_ids()
    inputs.own_items(chosen.own, papers)  # before anything heavy is imported
    import pandas as pd

    from katayori_tools import planning

    _, registered = registry()
    priced = [name for name, model in registered.items() if set(papers) & set(model.papers)]
    chosen = replace(chosen, models=chosen.models or " ".join(priced))
    rows = []
    clusters: dict[tuple[str, str], int] = {}
    answered: dict[tuple[str, str], list[str]] = {}  # prompts by paper and name, as given
    for paper, name, model, endpoint, requests in wanted(chosen, stand_in=LONG_ANSWER):
        key = (paper, model.id)
        if key not in clusters:
            servers.say_elsewhere(paper, name, model, endpoint)
        clusters[key] = max(clusters.get(key, 0), n_clusters(requests))
        with Store(store_path()) as store:
            expected = planning.estimate(requests, model, endpoint, store)
            anew, earlier = _rewritten(store, requests)
        if anew and earlier:
            print(
                f"{paper} {name}: {anew:,} answers to rewritten items are asked anew; the"
                f" {earlier:,} to their earlier texts are kept"
            )
        rows.append({"paper": paper, **expected})
        prompt_ids = answered.setdefault((paper, name), [])
        if expected["stored"] or pilot == "recorded":
            prompt_ids.extend(dict.fromkeys(request.prompt_id for request in requests))
    if not rows:
        raise KatayoriError("a simulated model costs nothing: name a real one with MODELS=")
    lines = pd.DataFrame(rows).set_index(["paper", "model"])
    lines = lines.astype({name: float for name in ("cost_low_usd", "cost_high_usd", "minutes")})
    # The steps of a paper in one line; a sum with an unknown part is unknown.
    frame = lines.groupby(level=[0, 1], sort=False).agg(_whole_sum).reset_index()
    counted = [clusters[key] for key in zip(frame["paper"], frame["model"], strict=True)]
    frame.insert(4, "clusters", counted)
    frame.insert(5, "half_width", [planning.half_width(n) for n in counted])
    rounded = frame.round({"half_width": 2, "cost_low_usd": 4, "cost_high_usd": 4, "minutes": 1})
    print(rounded.to_string(index=False, na_rep="unknown"))
    print(_total(frame))
    print(planning.HALF_WIDTH)
    profile = "recorded" if pilot == "recorded" else chosen.profile
    with servers.environment(chosen.server):
        for told in _of_pilots(answered, replace(chosen, profile=profile), width):
            print(told)
    return 0


def _rewritten(store: Store, requests: list[Request]) -> tuple[int, int]:
    """How many of the requests are to items that were rewritten since this model was asked, and
    how many stored answers are to their earlier texts.

    An item that keeps its id is told by its key; those of the second edition that the third has in
    other words are told by the editions.
    """
    if not requests or not (stored := store.answered(requests[0])):
        return 0, 0
    pending = {(one.prompt_hash, one.item_id, one.repetition) for one in store.pending(requests)}
    room = get_paper(requests[0].paper)
    load = room.sets()
    pairs = [recordings.layers(room.variant_of(name, "")) for name in load]
    second, third = (
        {item_id for pair in pairs if pair[1:] for item_id in load[pair[place]]()["item_id"]}
        for place in (1, 0)
    )
    same = pending & set(stored)
    anew = {one for one in pending if one[1] in third - second}
    hashes = {one.prompt_hash for one in requests}
    left = [one for one in stored if one[0] in hashes and one[1] in second - third]
    return len(same | anew), len(same) + len(left)


def _of_pilots(
    answered: Mapping[tuple[str, str], list[str]], chosen: Asking, width: float
) -> Iterator[str]:
    """A line a paper and model with answers, and one on how to make the pilots that lack."""
    from katayori_tools import precision

    of_papers, lacking = precision.measured(), []
    kept = "recorded" if chosen.profile == "recorded" else "stored"
    whole = f", of all that is {kept}" if chosen.limit else ""
    for paper in dict.fromkeys(paper for paper, _ in answered if paper not in of_papers):
        yield f"{paper}: {precision.NO_MEAN}"
    for (paper, name), prompt_ids in answered.items():
        if paper not in of_papers:
            continue
        found = precision.pilot(paper, name, prompt_ids, chosen) if prompt_ids else None
        if found is None:
            lacking.append(f"PAPERS={paper} MODELS={name}")
        else:
            answers, there = found
            told = precision.advice(answers, of_papers[paper], width, there)
            yield f"{paper} {name}{whole}: {told}"
    if not lacking:
        return
    pilot = f"make live {lacking[0]} LIMIT={precision.PILOT}"
    if kept == "recorded":
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        yield (
            f"No answers are recorded here for {lacking[0]}{more}: ask with {pilot}, then leave out"
            " --pilot recorded"
        )
    else:
        yield f"What to ask for +-{width:g} points is told after a pilot, such as {pilot}"


def _whole_sum(column: "pd.Series[float]") -> float:
    """The sum of a column; NaN where a part is unknown."""
    return column.sum(skipna=False)


def _total(frame: "pd.DataFrame") -> str:
    """Calls and cost of all lines; a price that nobody here knows is unknown, never nothing."""
    calls = f"{frame['calls'].sum():,} calls"
    priced = frame["cost_high_usd"].notna()
    if not priced.any():
        return f"{calls}; price unknown"
    low, high = (frame.loc[priced, name].sum() for name in ("cost_low_usd", "cost_high_usd"))
    cost = f"{calls}; ${low:,.2f} to ${high:,.2f}"
    if priced.all():
        return cost
    return f"{cost} for {priced.sum()} of {len(frame)} lines, price unknown for the rest"

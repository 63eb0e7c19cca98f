"""`make live`: real questions to real models, through a local engine where needed; the same again
(`repeat`), and as a file to be answered elsewhere (`template`).
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori.papers import answers, get_paper
from katayori.prompting import prompts
from katayori.prompting.exchange import COLUMNS
from katayori.prompting.models import Model, get_model
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori.provenance import without_folder
from katayori_tools import servers
from katayori_tools.answer_store import Store, printable
from katayori_tools.asking import (
    Scope,
    Step,
    limit_of,
    n_clusters,
    prompts_of,
    read_first,
    requests_of,
    steps,
    wanted,
    with_prompts,
)
from katayori_tools.choices import (
    DEMONSTRATION,
    USUAL_RUNNING,
    USUAL_SENDING,
    Asking,
    NotebookRun,
    Positive,
    Running,
    Sending,
)
from katayori_tools.collect import Summary, collect_sync
from katayori_tools.notebooks import LAST, names, output_file, own_items, writable

if TYPE_CHECKING:
    import pandas as pd

#: What an endpoint may lack, by the kind of prompt that needs it.
CANNOT = {
    "chat": "is not known to continue a given start of the answer, as vllm, llamacpp and"
    " completions are",
    "likelihood": "cannot score given continuations, a vLLM server (NAME@vllm) can",
}


def live(chosen: Asking, sending: Sending = USUAL_SENDING, running: Running = USUAL_RUNNING) -> int:
    """Ask a sample of a profile's items now, then run the notebooks."""
    from katayori_tools.reproduce import folder_of, reproduce

    writable(paths.outputs_dir(), "KATAYORI_OUTPUTS")
    writable(paths.cache_dir(), "KATAYORI_CACHE")
    profile = profiles.load(chosen.profile)
    limit = limit_of(chosen, profile)
    # A label that holds another model's answers is refused before anything is paid for.
    folder_of(profile, names(chosen.models), with_prompts(chosen))
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
    with Store(store_path()) as store:
        summary = _collect(step.requests, step, chosen, sending, store)
        for cause, n in causes(store, step.requests, step.model).items():
            print(f"  {n} x {cause}")
        _say(summary, step.name)
        _say_logprobs(store, step.requests)


def _collect(
    requests: list[Request], step: Step, chosen: Asking, sending: Sending, store: Store
) -> Summary:
    """Ask what the store lacks of some requests of a step, where its model is served."""
    pending, base_url = store.pending(requests), chosen.server.base_url
    with servers.served(step.model, step.endpoint, base_url, pending) as url:
        return collect_sync(
            requests,
            step.model,
            step.endpoint,
            store,
            base_url=url,
            concurrency=sending.concurrency,
            budget=sending.budget,
        )


def _say_before(chosen: Asking, step: Step) -> None:
    """What a run leaves out: answers under other servers, prompts that its endpoint cannot
    answer.
    """
    paper, name, model, endpoint, _ = step
    servers.say_elsewhere(paper, name, model, endpoint)
    wording = prompts.load_prompts(paper, chosen.prompts)
    own = own_items(chosen.own, [paper])
    dataset = prompts_of(paper, profiles.load(chosen.profile)["items"], own)
    unable = [
        wording[prompt_id]
        for prompt_ids in steps(paper, dataset)
        for prompt_id in prompt_ids
        if answers.why_unable(name, "live", wording[prompt_id])
    ]
    for kind, cause in CANNOT.items():
        listed = ", ".join(prompt.id for prompt in unable if prompt.kind == kind)
        if listed:
            print(f"{paper} {name}: not asked: {listed}; {endpoint.name} {cause}")


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


def template(file: str, *, chosen: Asking) -> int:
    """Write the requests of one paper and model as a file to be answered elsewhere (see
    `exchange.import_answers`).

    They are those that `live` would ask with the same options, but for prompts that force the start
    of an answer, hold an earlier one or score continuations: nobody else can be asked these.

    Args:
        file: where to write it (.csv or .jsonl). chosen: one paper and one model.
    """
    papers, models = names(chosen.papers), names(chosen.models)
    if len(papers) != 1 or len(models) != 1:
        raise KatayoriError("a template holds one paper and one model: PAPERS=01 MODELS=name")
    [paper], [name] = papers, models
    get_paper(paper)  # a wrong name is said before a file is opened
    written = output_file(file, (".jsonl", ".csv"))
    profile = profiles.load(chosen.profile)
    own = own_items(chosen.own, [paper])
    folder = chosen.prompts
    scope = Scope(profile["items"], limit=limit_of(chosen, profile), own=own, folder=folder)
    read_first([paper], scope.dataset, scope.limit, own, folder)
    wording = prompts.load_prompts(paper, folder)
    prompt_steps = steps(paper, prompts_of(paper, scope.dataset, own))
    planned = [wording[p] for step in prompt_steps for p in step]
    chats = [p.id for p in planned if not (p.prefix or p.given) and p.kind == "chat"]
    requests = requests_of(paper, *get_model(name), chats, scope)
    export_requests(requests, written)
    subject = f"{n_clusters(requests)} {get_paper(paper).clusters}"
    print(f"{len(requests)} requests about {subject} written to {written}; fill in the column text")
    return 0


def export_requests(requests: Sequence[Request], path: Path) -> Path:
    """Write the requests as a template to fill in: `.jsonl` with messages and settings, or `.csv`
    with the user text.

    The columns `text` and, where known, `finish_reason` are for the answers.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS, "prompt"])
        if path.suffix == ".csv":
            writer.writeheader()
        for request in requests:
            row = {c: getattr(request, c, "") for c in COLUMNS}
            messages = request.body["messages"]
            if path.suffix == ".csv":
                writer.writerow(row | {"prompt": "\n\n".join(m["content"] for m in messages)})
            else:
                row["messages"] = messages
                row["settings"] = {k: v for k, v in request.body.items() if k != "messages"}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def repeat(chosen: Asking, sending: Sending = USUAL_SENDING, *, repetitions: Positive = 1) -> None:
    """Ask the same requests again, seed and all, and print how often the answer changes (the flip
    rate).

    An answer that changes under temperature 0 or a fixed seed is the endpoint's doing: batching,
    another version. Without either it is sampling, too. Raises KatayoriError where two servers
    would be compared.

    Args:
        chosen: what is asked of whom. sending: how. repetitions: how often to ask again.
    """
    for step in wanted(chosen, reach=True):
        # One repetition after the other, so that time lies between two answers.
        times = range(1, repetitions + 1)
        again = [replace(request, repetition=n) for n in times for request in step.requests]
        everything = [*step.requests, *again]
        with Store(store_path()) as store:
            addresses = store.addresses(everything)
            servers.check_same_server(step.endpoint, chosen.server.base_url, addresses)
            stopped = _collect(everything, step, chosen, sending, store).stopped
            if stopped:
                raise KatayoriError(f"{stopped}; what was answered is kept, run again to continue")
            print(f"{step.paper} {step.name}, {repetitions + 1} answers to each request")
            print(flip_rates(store.get(everything)).to_string(index=False, na_rep="undefined"))


def flip_rates(answered: Iterable[tuple[Request, Response | None]]) -> "pd.DataFrame":
    """Of requests asked several times, the share whose answer was not always the same; one row a
    prompt.

    Returns prompt_id, n (requests with two valid answers or more), n_invalid (the others), flipped
    and flip_rate with its Wilson interval `ci_low` and `ci_high` (NaN where n = 0). The answer is
    what the paper's parser reads; where one token was asked for, the likeliest token.
    """
    import pandas as pd
    from statsmodels.stats.proportion import proportion_confint

    rows = [
        (request.prompt_id, request.item_id, _read(request, answer))
        for request, answer in answered
        if answer and answer.outcome != "error"
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "item_id", "said"])
    by_item = frame.groupby(["prompt_id", "item_id"], sort=False)["said"].agg(["count", "nunique"])
    by_item["n"] = by_item["count"] > 1
    by_item["n_invalid"] = ~by_item["n"]
    by_item["flipped"] = by_item["nunique"] > 1
    counts = by_item.groupby(level=0, sort=False)[["n", "n_invalid", "flipped"]].sum()
    n = counts["n"].where(counts["n"] > 0)
    low, high = proportion_confint(counts["flipped"], n, method="wilson")
    return counts.assign(flip_rate=counts["flipped"] / n, ci_low=low, ci_high=high).reset_index()


def _read(request: Request, answer: Response) -> str | None:
    """What an answer says; None where it is not valid."""
    if request.one_token:
        if not answer.top:
            return None
        token, _ = max(answer.top, key=lambda pair: pair[1])
        return token.strip()
    if answer.outcome != "ok":
        return None
    parse = get_paper(request.paper).parse
    return parse(answer.text, answer.finish_reason).answer

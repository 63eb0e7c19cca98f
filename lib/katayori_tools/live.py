"""`make live`: real questions to real models, through a local engine where needed; as a file to be
answered elsewhere (`template`); what the store holds of them (`answers`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori.papers import get_paper
from katayori.prompting import prompts
from katayori.prompting.answer_store import Store
from katayori.prompting.exchange import COLUMNS
from katayori.prompting.models import Model, Server, get_model
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import OF_SERVER, store_path
from katayori.provenance import without_folder
from katayori.report.run import harmless
from katayori_tools import asking
from katayori_tools.asking import Step, n_clusters, wanted
from katayori_tools.choices import Asking, Dollars, NotebookRun, Positive
from katayori_tools.collect import (
    FIRST,
    READABLE,
    Answered,
    Reads,
    Summary,
    collect_sync,
    cut_short,
    why_unread,
)
from katayori_tools.notebooks import LAST, names, output_file, writable
from katayori_tools.planning import straight

#: What an endpoint may lack, by the kind of prompt that needs it.
CANNOT = {
    "chat": "is not known to continue a given start of the answer, as vllm, llamacpp and"
    " completions are",
    "likelihood": "cannot score given continuations, a vLLM server (NAME@vllm) can",
}


def live(
    chosen: Asking,
    *,
    concurrency: Positive | None = None,
    budget: Dollars | None = None,
    max_tokens: Positive = 0,
    keep_asking: bool = False,
) -> int:
    """Ask a sample of a profile's items now, then run the notebooks.

    Args:
        concurrency: requests under way at once. budget: stop before spending more US dollars.
        max_tokens: the limit of an answer, thoughts included, in place of the prompts' own; what
            was cut below it is asked again. keep_asking: go on where no answer can be read.
    """
    from katayori_tools.reproduce import folder_of, reproduce

    writable(paths.outputs_dir(), "KATAYORI_OUTPUTS")
    writable(paths.cache_dir(), "KATAYORI_CACHE")
    profile = profiles.load(chosen.profile)
    limit = asking.limit_of(chosen, profile)
    # A label that holds another model's answers is refused before anything is paid for.
    folder_of(profile, names(chosen.models), asking.with_prompts(chosen))
    asked: list[tuple[str, str]] = []  # paper and model, in order
    read: set[tuple[str, str]] = set()  # those of whom an answer could be read
    for step, requests in wanted(chosen, reach=True):
        if (step.paper, step.name) not in asked:
            asking.say_elsewhere(step)
            for kind, cause in CANNOT.items():
                if listed := ", ".join(one.id for one in step.unable if one.kind == kind):
                    told = f"not asked: {listed}; {step.endpoint.name} {cause}"
                    print(f"{step.paper} {step.name}: {told}")
            asked.append((step.paper, step.name))
        if not requests:
            continue
        with Store(store_path()) as store:
            base_url = chosen.server.base_url
            pending = store.pending(requests, cut_below=max_tokens)
            with asking.served(step.model, step.endpoint, base_url, pending) as url:
                at = step.model, step.endpoint, store
                how: Any = {"concurrency": concurrency, "budget": budget}
                read_as = reading(step.paper, step.scope.folder)
                how |= {"max_tokens": max_tokens, "read": read_as}
                # One prompt that cannot be read stops nothing where another of the paper was.
                how["first"] = 0 if keep_asking or (step.paper, step.name) in read else FIRST
                summary = collect_sync(requests, *at, base_url=url, **how)
            answered = [(request, answer) for request, answer in store.get(requests) if answer]
            _say(summary, step, answered)
            if how["first"] and _is_readable(step, answered, read_as):
                read.add((step.paper, step.name))
            if told := cut_short(answer for _, answer in answered):
                print(f"  {told}")
    if limit == profiles.DEMONSTRATION and not chosen.models:
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
    return reproduce(run)


def _say(summary: Summary, step: Step, answered: Sequence[Answered]) -> None:
    """What came of a step and what went wrong. KatayoriError where its spending limit is
    reached.
    """
    for cause, n in causes(answered, step.model).items():
        print(f"  {n} x {' '.join(cause.split())}")
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    done = f"{step.name}: {summary.asked} asked, {summary.stored} already stored"
    print(f"{done}, {dict(summary.outcomes)}, {cost}, {summary.seconds:.0f} s")
    if summary.stopped:
        remedy = "what was answered is kept, run again with a higher BUDGET= to continue"
        raise KatayoriError(f"{summary.stopped}; {remedy}")
    valid = [a for request, a in answered if request.body.get("logprobs") and a.outcome == "ok"]
    if without := sum(not answer.top for answer in valid):
        counted = f"{without} of {len(valid)} answers came without log probabilities"
        print(f"  {counted}; what is computed from these leaves them out, texts count as they are")


def reading(paper: str, folder: str = "") -> Reads:
    """What reads answers as their paper does, in the wording of a folder: the outcome of each.

    A text that is given to a later prompt is no answer; whatever is there is `written`.
    """
    wording = prompts.load_prompts(paper, folder)
    given = {earlier.id for prompt in wording.values() for earlier in prompt.given.values()}

    def outcome(response: Response) -> str:
        said = "written" if response.text.strip() else "out_of_choice"
        return said if response.outcome == "ok" else response.outcome

    def read(answered: Sequence[Answered]) -> list[str]:
        outcomes = [outcome(response) for _, response in answered]
        for prompt_id in {request.prompt_id for request, _ in answered} - given:
            places = [
                n for n, (request, _) in enumerate(answered) if request.prompt_id == prompt_id
            ]
            requests, responses = zip(*(answered[n] for n in places), strict=True)
            frame = get_paper(paper).frame(wording[prompt_id], requests, responses, "live")
            for n, found in zip(places, frame["outcome"], strict=True):
                outcomes[n] = str(found)
        return outcomes

    return read


def _is_readable(step: Step, answered: Sequence[Answered], read: Reads) -> bool:
    """Whether one of a step's answers, the stored ones too, can be read; of texts there are none.

    Raises KatayoriError where nothing at all can be read.
    """
    found = set[str]()
    for start in range(0, len(answered), asking.PART):
        found |= set(read(answered[start : start + asking.PART]))
        if "ok" in found:
            return True
    if answered and not found & READABLE:
        raise KatayoriError(f"{step.paper} {step.name}: {why_unread(answered, read)}")
    return False


def causes(answered: Iterable[Answered], model: Model) -> dict[str, int]:
    """What went wrong or looks odd in these answers, and how often, the most frequent first.

    Errors by the first words of their cause, and answers of another model than was asked: `gpt-4o`
    may answer as `gpt-4o-2024-11-20`, a server with the path of its file or without a name, but not
    as `gpt-4o-mini`.
    """
    asked = re.escape(model.vendor_id.rpartition("/")[2])
    same = re.compile(rf"((.*/)?{asked}([-@:.](v?\d[\d.-]*|latest|gguf))?)?", re.IGNORECASE)
    counts: Counter[str] = Counter()
    for _, answer in answered:
        if answer.error:
            counts[answer.error.partition(":")[0]] += 1
        elif not same.fullmatch(answer.model_answered):
            other = without_folder(answer.model_answered)
            counts[f"asked {model.vendor_id}, answered by {other}"] += 1
    return dict(counts.most_common())


def template(file: str, *, chosen: Asking) -> int:
    """Write the requests of one paper and model as a file to be answered elsewhere (see
    `exchange.import_answers`): `.jsonl` with messages and settings, or `.csv` with the user text.

    They are those that `live` would ask with the same options, but for prompts that force the start
    of an answer, hold an earlier one or score continuations: nobody else can be asked these. The
    columns `text` and, where known, `finish_reason` are for the answers.

    Args:
        file: where to write it (.csv or .jsonl). chosen: one paper and one model.
    """
    papers, models = names(chosen.papers), names(chosen.models)
    if len(papers) != 1 or len(models) != 1:
        raise KatayoriError("a template holds one paper and one model: PAPERS=01 MODELS=name")
    [paper], [name] = papers, models
    get_paper(paper)  # a wrong name is said before a file is opened
    path = output_file(file, (".jsonl", ".csv"))
    scope = asking.scope_of(chosen, papers)
    asking.read_first(papers, scope)
    able = asking.importable(paper, scope, prompts.load_prompts(paper, chosen.prompts))
    requests = asking.requests_of(paper, *get_model(name), able, scope)
    export_requests(requests, path)
    subject = f"{n_clusters(requests)} {get_paper(paper).clusters}"
    print(f"{len(requests)} requests about {subject} written to {path}; fill in the column text")
    return 0


def export_requests(requests: Sequence[Request], path: Path) -> Path:
    """Write the requests as a template to fill in."""
    import pandas as pd

    rows = []
    for request in requests:
        row = {column: getattr(request, column, "") for column in COLUMNS}
        settings = dict(request.body)
        rows.append(row | {"messages": settings.pop("messages"), "settings": settings})
    if path.suffix == ".csv":
        table = pd.DataFrame(rows, columns=[*COLUMNS, "messages"])
        texts = table.pop("messages").map(
            lambda said: "\n\n".join(each["content"] for each in said)
        )
        harmless(table.assign(prompt=texts)).to_csv(path, index=False, lineterminator="\r\n")
    else:
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


# -- what the store holds --------------------------------------------------------------------------

#: What tells the rows of the listing apart, and what each of them holds.
_BY = ["paper", "model", "endpoint", *OF_SERVER, "model_answered", "fingerprint"]
_COUNTED = """COUNT(*) AS n, SUM(outcome='error') AS errors, SUM(attempts) AS attempts,
    SUM(prompt_tokens) AS prompt_tokens, SUM(completion_tokens) AS completion_tokens,
    AVG(latency) AS latency, strftime('%Y-%m-%d %H:%M', MIN(created), 'unixepoch') AS first,
    strftime('%Y-%m-%d %H:%M', MAX(created), 'unixepoch') AS last"""


def answers() -> None:
    """Print what the store holds, by server and model as asked and as answered.

    A server of the user's own is its label, or a hash of its address; LABEL= takes either.
    """
    import pandas as pd

    by = ", ".join(_BY)
    with Store(store_path()) as store, store.told():
        table = pd.read_sql_query(f"SELECT {by}, {_COUNTED} FROM answers GROUP BY {by}", store.db)
    if table.empty:
        raise KatayoriError("the store holds no answers; `make live` asks a model")
    places = zip(table.pop("label"), table.pop("address"), strict=True)
    table.insert(3, "server", [Server(*place).shown for place in places])
    table["model_answered"] = table["model_answered"].map(without_folder)
    if not table["series"].any():
        table = table.drop(columns="series")
    print(straight(table, line_width=250))

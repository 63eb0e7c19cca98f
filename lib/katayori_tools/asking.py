"""`make record`, `make live`, `make estimate`: real questions to real models, through a local engine where needed."""

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from katayori import paths, profiles
from katayori.data import files
from katayori.data.items import sample as take
from katayori.errors import KatayoriError, expect
from katayori.prompting import prompts, recordings, respondents
from katayori.prompting.models import Endpoint, Model, get_model, registry
from katayori.prompting.parsing import parse_number, parse_option, parse_yes_no
from katayori.prompting.requests import OURS, Request, build
from katayori.prompting.store import Response, Store
from katayori.prompting.verdicts import parse_choice, parse_verdict
from katayori_tools import recording
from katayori_tools.answers import causes
from katayori_tools.collect import Summary, collect_sync
from katayori_tools.notebooks import LAST, names

#: Papers with items to ask: how a text is read, and the shortest text that reads so.
PARSERS = {
    "discrim_eval": (parse_yes_no, "Answer: {}"),
    "persona_jbbq": (parse_number, "{}"),
    "logprob_judge": (parse_verdict, "{}"),
    "jubaku_v2": (parse_choice, "{}"),
    "inter_jbbq": (parse_option, "{}"),
}
PAPERS = tuple(PARSERS)
#: Beside the study set and the official one: tasks for a judge's systems, the pairs of what recorded models answered to
#: them, and the benchmarks that jubaku_v2 is compared with.
MORE = {"logprob_judge": ("tasks", "answers"), "jubaku_v2": ("jbnli", "bbq")}


def items_of(
    paper: str, dataset: str, size: int | None = None, *, whole: bool = False, questions: str = ""
) -> list[dict[str, Any]]:
    """A paper's study or official items, or a sample of them, as rows with `item_id` and the prompt's places.

    `questions` is a question file of the user's that takes the place of the study set.
    """
    from katayori.data import bbq, discrim_eval, inter_jbbq, jubaku, judge

    expect(paper, PAPERS, "paper with items to ask")
    expect(dataset, ("study", "official", *MORE.get(paper, ())), f"data set of {paper}")
    if (
        paper == "persona_jbbq"
    ):  # in order of rank, so that an interrupted recording is balanced, too
        items = bbq.balanced(bbq.load_items(dataset, questions)[0], size).sort_values(
            "rank", kind="stable"
        )
    elif paper == "inter_jbbq":
        items = bbq.balanced(inter_jbbq.load_items(dataset, questions)[0], size).sort_values(
            "rank", kind="stable"
        )
    elif paper == "jubaku_v2":
        items = jubaku.load_items(dataset, questions, size)[0]
    elif dataset in ("tasks", "answers"):
        items, said = judge.load_extra_tasks(), {}
        if dataset == "answers":
            for name in (entry["model"] for entry in recordings.shards(paper, "lj_task")):
                said[name] = {
                    row["item_id"]: row["text"] for row in recordings.read(paper, name, "lj_task")
                }
            items = judge.in_both_orders(judge.pairs_of_answers(items, said))
    elif paper == "logprob_judge":
        items = judge.load_items(dataset, questions)[0]
        items = judge.in_both_orders(
            take(items, size, whole="question_id" if dataset == "study" else None)
        )
    else:
        items = discrim_eval.load_items(dataset, questions)[0]
        items = take(items, size, whole="decision_question_id" if whole else None)
        items = items.assign(question=items["filled_template"])
    return items.to_dict("records")


def plan(paper: str) -> list[dict[str, Any]]:
    """The recording plan of a paper. Raises KatayoriError where there is none."""
    entries = files.ours("recording_plan.yaml")
    expect(paper, entries, "paper of the recording plan")
    return entries[paper]


def steps(paper: str, dataset: str) -> list[list[str]]:
    """The prompts a data set is asked, those that need no earlier answer first (from the recording plan)."""
    whole = [e for e in plan(paper) if e["dataset"] == dataset and "sample" not in e]
    return [list(step) for step in dict.fromkeys(tuple(entry["prompts"]) for entry in whole)]


def requests_of(
    paper: str, model: Model, endpoint: Endpoint, prompt_ids: list[str], *, dataset: str = "study", variant: str = "",
    sample: int | None = None, whole: bool = False, questions: str = "", folder: str = "", store: Store | None = None,
    stand_in: str = "",
) -> list[Request]:  # fmt: skip
    """Requests of some prompts to a paper's items (see `items_of`), the prompts of an item next to each other.

    Where a prompt holds the model's answer to an earlier one, it comes from the store; `stand_in` takes its place, and
    without that the item is left out, where the earlier prompt has not been asked yet.
    """

    def earlier(asked: list[Request]) -> list[Response | None]:
        missing = Response("ok", stand_in) if stand_in else None
        return (
            [answer or missing for _, answer in store.get(asked)]
            if store
            else [missing] * len(asked)
        )

    known = prompts.load_prompts(paper, folder)
    for prompt_id in prompt_ids:
        expect(prompt_id, known, f"prompt of {paper}")
    rows = items_of(paper, dataset, sample, whole=whole, questions=questions)
    chosen, built = {"dataset": dataset, "variant": variant}, []
    for prompt in (known[prompt_id] for prompt_id in prompt_ids):
        asked = respondents.with_earlier(rows, prompt, model, endpoint, earlier, **chosen)
        built.append(build(asked, prompt, model, endpoint, **chosen))
    return [request for group in zip_longest(*built) for request in group if request]


def served(
    model: Model, endpoint: Endpoint, base_url: str, needed: Any
) -> AbstractContextManager[str]:
    """`with` it: the base URL to ask, the given one, the endpoint's own, or that of a local engine of this block."""
    if not needed:
        return nullcontext("")
    if base_url or endpoint.kind != "local":
        return nullcontext(endpoint.address(base_url))
    from katayori_tools.engines import server

    return server.serve(model.id, endpoint.name)


def record(args: argparse.Namespace) -> int:
    """Ask the recording plan and export each shard as it completes; a second start continues where the first ended."""
    chosen = set(names(args.models))
    for paper in names(args.papers) or PAPERS:
        entries = plan(paper)
        known = list(dict.fromkeys(m for entry in entries for m in entry["models"]))
        for name in sorted(chosen):
            expect(name, known, f"model of the recording plan of {paper}")
        for name in [m for m in known if not chosen or m in chosen]:
            model, endpoint = get_model(f"{name}@local-{args.engine or 'vllm'}")
            _record_model(paper, model, endpoint, [e for e in entries if name in e["models"]], args)
    return 0


def _record_model(
    paper: str, model: Model, endpoint: Endpoint, entries: list[dict], args: argparse.Namespace
) -> None:
    with Store(respondents.store_path()) as store, ExitStack() as engine:
        url = ""
        for entry in entries:
            chosen = {
                "dataset": entry["dataset"],
                "variant": entry.get("variant", ""),
                "store": store,
            }
            chosen["sample"] = args.limit or entry.get("sample") or entry.get("size")
            try:
                requests = requests_of(paper, model, endpoint, entry["prompts"], **chosen)
            except KatayoriError as error:
                if entry["dataset"] in OURS:
                    raise
                print(
                    f"{paper} {model.id} {entry['dataset']}: left out; {error}"
                )  # third-party items not here
                continue
            if (
                entry["dataset"] not in OURS
            ):  # a machine with more of the set asks what the first recording asked
                first = recordings.item_ids(paper, entry["prompts"][0], chosen["variant"])
                requests = [q for q in requests if not first or q.item_id in first]
            recording.restore(store, requests)
            n = len(store.pending(requests))
            print(
                f"{paper} {model.id} {entry['prompts']} {chosen['variant']}: {n} of {len(requests)} to ask",
                flush=True,
            )
            url = url or engine.enter_context(served(model, endpoint, args.base_url or "", n))
            try:
                if n:
                    collect_sync(
                        requests, model, endpoint, store, base_url=url, concurrency=args.concurrency
                    )
            finally:  # an interrupted run leaves what it finished, too
                if (
                    not args.limit
                ):  # a pilot is kept in the store but never becomes a committed recording
                    _export(store, requests, entry, endpoint, args.concurrency)


def _export(
    store: Store, requests: list[Request], entry: dict, endpoint: Endpoint, concurrency: int | None
) -> None:
    """Write the shards of one plan entry; of an unfinished one the groups (`whole`) that are answered in full."""
    from katayori_tools.engines import server

    answered = list(store.get(requests))
    group = entry.get("whole", "item_id")
    open_groups = {q.fields[group] for q, a in answered if a is None or a.outcome == "error"}
    for prompt_id in entry["prompts"]:
        mine = [(q, a) for q, a in answered if q.prompt_id == prompt_id]
        pairs = [(q, a) for q, a in mine if a and q.fields[group] not in open_groups]
        if open_groups:
            print(
                f"  {prompt_id}: {len(mine) - len(pairs)} of {len(mine)} left; start `make record` again to go on"
            )
        if not pairs or (open_groups and "whole" not in entry):
            continue
        if entry["dataset"] not in OURS:
            pairs = [(q, _bare(q, a)) for q, a in pairs]
        body = {k: v for k, v in pairs[0][0].body.items() if k != "messages"}
        if entry.get("variant") != "seed1" and "seed" in body:
            body["seed"] = "per item and repetition"
        engine = server.ENGINES[endpoint.name]["settings"] | (
            {"concurrency": concurrency} if concurrency else {}
        )
        settings = {"engine": engine, "request": body, "planned": len(mine)}
        settings |= {"sample": entry["sample"]} if entry.get("sample") else {}
        print(f"  wrote {recording.export(pairs, settings=settings).relative_to(paths.root())}")


def _bare(request: Request, answer: Response) -> Response:
    """The answer to a third-party item without the prose, which may repeat text that is not ours to give out."""
    if request.one_token:
        return answer
    if answer.outcome != "ok":
        return replace(answer, text="")
    parse, form = PARSERS[request.paper]
    parsed = parse(answer.text, answer.finish_reason)
    return replace(
        answer, outcome=parsed.outcome, text=form.format(parsed.answer) if parsed.answer else ""
    )


def _with_prompts(args: argparse.Namespace) -> list[str]:
    """The papers to ask. KatayoriError where only the overview is named, which asks nobody."""
    papers = names(args.papers) or list(PAPERS)
    asked = [paper for paper in papers if paper != LAST]
    if not asked:
        models = f" MODELS='{args.models}'" if args.models else ""
        remedy = f"make reproduce PAPERS={LAST} PROFILE={args.profile}{models}"
        raise KatayoriError(f"the {LAST} asks nobody, it reads the results of the others: {remedy}")
    return asked


def wanted(
    args: argparse.Namespace, stand_in: str = ""
) -> Iterator[tuple[str, str, Model, Endpoint, list[Request]]]:
    """What `live` asks and `estimate` estimates: paper, name as given, model, endpoint, requests.

    Prompts are those the recording plan asks of the whole set, step by step: the requests of a step are made when the
    one before has been answered (`stand_in`: see `requests_of`). Items and their number come from the profile (LIMIT=
    overrides the number), the wording from PROMPTS=. Without MODELS= the smallest local model is asked. Raises
    KatayoriError for a profile whose answers are not live.
    """
    profile, folder = profiles.load(args.profile), args.prompts or ""
    if profile["answers"] != "live":
        said = f"profile {profile['name']!r} asks nobody (answers: {profile['answers']})"
        raise KatayoriError(f"{said}; use PROFILE=live")
    chosen = {"dataset": profile["items"], "sample": args.limit or profile["size"], "whole": True}
    chosen |= {"folder": folder, "questions": args.questions or "", "stand_in": stand_in}
    given = names(args.models) or ["qwen2.5-coder-0.5b@local-" + (args.engine or "xllamacpp")]
    real = [(name, *get_model(name)) for name in given if not get_model(name)[0].simulated]
    for paper in _with_prompts(args):
        known = prompts.load_prompts(paper, folder)
        for name, model, endpoint in real:
            for step in steps(paper, profile["items"]):
                asked = [p for p in step if respondents.able([name], "live", known[p])]
                with Store(respondents.store_path()) as store:
                    requests = requests_of(paper, model, endpoint, asked, **chosen, store=store)
                yield paper, name, model, endpoint, requests


def live(args: argparse.Namespace) -> int:
    """Ask a sample of a profile's items now, compare with the recording where there is one, then run the notebooks."""
    from katayori_tools.reproduce import reproduce

    asked, papers = {}, {}  # each name once, in order
    for paper, name, model, endpoint, requests in wanted(args):
        asked[name] = papers[paper] = True
        with Store(respondents.store_path()) as store:
            with served(model, endpoint, args.base_url or "", store.pending(requests)) as url:
                options = {"base_url": url, "concurrency": args.concurrency, "budget": args.budget}
                summary = collect_sync(requests, model, endpoint, store, **options)
            for cause, n in causes(store, requests, model).items():
                print(f"  {n} x {cause}")
            _say(summary, name)
            if not args.prompts:
                _agreement(paper, store, requests, model)
    papers |= {LAST: True} if LAST in names(args.papers) else {}
    given = [f"limit={args.limit}"] if args.limit else []
    given += [f"questions={args.questions}"] if args.questions else []
    args.models, args.papers, args.parameter = " ".join(asked), ",".join(papers), given
    return reproduce(args)


def _say(summary: Summary, name: str) -> None:
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    done = f"{name}: {summary.asked} asked, {summary.stored} already stored"
    print(f"{done}, {summary.outcomes}, {cost}, {summary.seconds:.0f} s")
    if summary.stopped:
        remedy = "what was answered is kept, run again with a higher BUDGET= to continue"
        raise KatayoriError(f"{summary.stopped}; {remedy}")


def _agreement(paper: str, store: Store, requests: list[Request], model: Model) -> None:
    """Print how far live answers agree with the recording of the same model: same answer, and distance of P(yes)."""
    answered = [(q, a) for q, a in store.get(requests) if a]
    for prompt_id in dict.fromkeys(r.prompt_id for r in requests):
        known = recordings.entry(paper, model.id, prompt_id)
        rows = (
            {row["item_id"]: row for row in recordings.read(paper, model.id, prompt_id)}
            if known
            else {}
        )
        pairs = [(q, a) for q, a in answered if q.prompt_id == prompt_id and q.item_id in rows]
        if not pairs:
            print(f"  {prompt_id}: no recording of {model.id} to compare with on these items")
            continue
        mine, answers = zip(*pairs, strict=True)
        now = respondents.answers_frame(mine, answers, "live")
        stored = [recordings.to_response(rows[q.item_id]) for q in mine]
        before = respondents.answers_frame(mine, stored, "recorded")
        both = (now["outcome"] == "ok") & (before["outcome"] == "ok")
        same = (now["answer"] == before["answer"])[both]
        told = " (sampled answers: two draws differ by chance)"
        if "p_yes" in now:
            ratio = [(f["p_yes"] / (f["p_yes"] + f["p_no"]))[both] for f in (now, before)]
            told = f"; mean |difference of P(yes)| {(ratio[0] - ratio[1]).abs().mean():.3f}"
        print(f"  {prompt_id}: same answer as recorded in {same.sum()} of {both.sum()}{told}")


def template(args: argparse.Namespace) -> int:
    """Write the requests of one paper and model as a file to be answered elsewhere (see `exchange.import_answers`)."""
    from katayori_tools.planning import export_requests

    given = names(args.papers), names(args.models)
    if [len(each) for each in given] != [1, 1]:
        raise KatayoriError(
            "a template holds one paper and one model: PAPERS=discrim_eval MODELS=name"
        )
    [paper], [name] = given
    chosen = {
        "folder": args.prompts or "",
        "sample": args.limit,
        "whole": True,
        "questions": args.questions or "",
    }
    known = prompts.load_prompts(paper, args.prompts or "")
    asked = [
        p for step in steps(paper, "study") for p in step if not (known[p].prefix or known[p].given)
    ]
    requests = requests_of(paper, *get_model(name), asked, **chosen)
    print(
        f"{len(requests)} requests written to {export_requests(requests, args.file)}; fill in the column text"
    )
    return 0


def estimate(args: argparse.Namespace) -> int:
    """Calls, tokens, cost and time of a run before anything is asked; what the store holds is free."""
    import pandas as pd

    from katayori_tools.planning import estimate as planned

    rows = []
    known = [
        name for name, model in registry()[1].items() if "discrim_eval" in model.fields["papers"]
    ]
    args.models = args.models or " ".join(known)
    for paper, _, model, endpoint, requests in wanted(args, stand_in="・" * 200):
        with Store(respondents.store_path()) as store:
            rows.append({"paper": paper, **planned(requests, model, endpoint, store)})
    lines = pd.DataFrame(rows).set_index(["paper", "model"])
    lines = lines.astype({name: float for name in ("cost_low_usd", "cost_high_usd", "minutes")})
    # The steps of a paper in one line; a sum with an unknown part is unknown.
    frame = (
        lines.groupby(level=[0, 1], sort=False)
        .agg(lambda column: column.sum(skipna=False))
        .reset_index()
    )
    print(
        frame.round({"cost_low_usd": 4, "cost_high_usd": 4, "minutes": 1}).to_string(
            index=False, na_rep="unknown"
        )
    )
    known = frame["cost_high_usd"].notna()
    low, high = (frame.loc[known, name].sum() for name in ("cost_low_usd", "cost_high_usd"))
    print(f"{frame['calls'].sum():,} calls; ${low:,.2f} to ${high:,.2f} for {known.sum()} of {len(frame)} lines, "
          "price unknown for the rest")  # fmt: skip
    return 0

"""`make record`, `make live`, `make estimate`: real questions to real models, through a local engine where needed."""

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from katayori import paths
from katayori.data.items import sample
from katayori.errors import KatayoriError
from katayori.prompting import prompts, recordings, respondents
from katayori.prompting.collect import Summary, collect_sync
from katayori.prompting.collect import estimate as estimate_run
from katayori.prompting.models import Endpoint, Model, get_endpoint, get_model, registry
from katayori.prompting.parsing import parse_yes_no
from katayori.prompting.requests import Request, build
from katayori.prompting.store import Response, Store


def words(value: str | None) -> list[str]:
    """A comma- or space-separated list."""
    return [w for w in re.split(r"[,\s]+", value or "") if w]


def items_of(
    paper: str, dataset: str, size: int | None = None, *, whole: bool = False, questions: str = ""
) -> list[dict[str, Any]]:
    """A paper's study or official items, or a sample of them, as rows with `item_id` and the prompt's places.

    `questions` is a question file of the user's that takes the place of the study set.
    """
    if paper != "discrim_eval":
        raise KatayoriError(f"no items to ask for {paper} yet; papers with items: discrim_eval")
    from katayori.data import discrim_eval

    if dataset not in ("study", "official"):
        raise KatayoriError(f"unknown data set {dataset!r} of {paper}; known: study, official")
    items, _ = discrim_eval.load_items(dataset, questions)
    chosen = sample(items, size, whole="decision_question_id" if whole else None)
    return chosen.assign(question=chosen["filled_template"]).to_dict("records")


def plan(paper: str) -> list[dict[str, Any]]:
    """The recording plan of a paper. Raises KatayoriError where there is none."""
    import yaml

    entries = yaml.safe_load((paths.data_dir() / "recording_plan.yaml").read_text(encoding="utf-8"))
    if paper not in entries:
        raise KatayoriError(f"nothing is planned to be recorded for {paper}; planned: {', '.join(entries)}")
    return entries[paper]


def requests_of(
    paper: str, model: Model, endpoint: Endpoint, prompt_ids: list[str], *, folder: str = "", **entry: Any
) -> list[Request]:
    """Requests of one entry, the prompts of an item next to each other."""
    known = prompts.load_prompts(paper, folder)
    if wrong := [p for p in prompt_ids if p not in known]:
        raise KatayoriError(f"unknown prompt {wrong[0]!r} of {paper}; known: {', '.join(known)}")
    dataset, variant = entry.get("dataset", "study"), entry.get("variant", "")
    chosen = {"whole": entry.get("whole", False), "questions": entry.get("questions", "")}
    rows = items_of(paper, dataset, entry.get("sample"), **chosen)
    built = [build(rows, known[p], model, endpoint, dataset=dataset, variant=variant) for p in prompt_ids]
    return [request for group in zip(*built, strict=True) for request in group]


@contextmanager
def served(model: Model, endpoint: Endpoint, base_url: str = "") -> Iterator[str]:
    """The base URL to ask: the given one, the endpoint's own, or that of a local engine started and stopped here."""
    if base_url or endpoint.kind != "local":
        yield base_url or endpoint.address()
        return
    from katayori.engines import server, weights

    with server.serve(model.id, engine=endpoint.name.removeprefix("local-"), weights=weights.fetch(model.id)) as url:
        yield url


def record(args: argparse.Namespace) -> int:
    """Ask the recording plan and export each shard as it completes; a second start continues where the first ended."""
    chosen = set(words(args.models))
    for paper in words(args.papers) or ["discrim_eval"]:
        entries = plan(paper)
        known = list(dict.fromkeys(m for entry in entries for m in entry["models"]))
        if wrong := sorted(chosen - set(known)):
            raise KatayoriError(f"{wrong[0]!r} is not in the recording plan of {paper}; planned: {', '.join(known)}")
        for name in [m for m in known if not chosen or m in chosen]:
            endpoint = get_endpoint("local-" + (args.engine or "vllm"))
            model, _ = get_model(f"{name}@{endpoint.name}")
            _record_model(paper, model, endpoint, [e for e in entries if name in e["models"]], args)
    return 0


def _record_model(paper: str, model: Model, endpoint: Endpoint, entries: list[dict], args: argparse.Namespace) -> None:
    todo = []
    with Store(respondents.store_path()) as store:
        for entry in entries:
            spec = entry | ({"sample": args.limit} if args.limit else {})
            try:
                requests = requests_of(
                    paper, model, endpoint, entry["prompts"], **_without(spec, "models", "prompts", "whole")
                )
            except KatayoriError as error:
                if entry["dataset"] == "study":
                    raise
                print(f"{paper} {model.id} {entry['dataset']}: left out; {error}")  # third-party items not here
                continue
            recordings.restore(store, requests)
            todo.append((entry, requests, len(store.pending(requests))))
        needed = any(n for *_, n in todo)
        with served(model, endpoint, args.base_url or "") if needed else nullcontext("") as url:
            for entry, requests, n in todo:
                asked = f"{entry['prompts']} {entry.get('variant', '')}"
                print(f"{paper} {model.id} {asked}: {n} of {len(requests)} to ask", flush=True)
                try:
                    if n:
                        collect_sync(requests, model, endpoint, store, base_url=url, concurrency=args.concurrency)
                finally:  # an interrupted run leaves what it finished, too
                    if not args.limit:  # a pilot is kept in the store but never becomes a committed recording
                        _export(store, requests, entry, endpoint, args.concurrency)


def _export(
    store: Store, requests: list[Request], entry: dict, endpoint: Endpoint, concurrency: int | None = None
) -> None:
    """Write the shards of one plan entry; of an unfinished one the groups (`whole`) that are answered in full."""
    from katayori.engines import server

    answered = list(store.get(requests))
    group = entry.get("whole", "item_id")
    open_groups = {q.fields[group] for q, a in answered if a is None or a.outcome == "error"}
    for prompt_id in entry["prompts"]:
        mine = [(q, a) for q, a in answered if q.prompt_id == prompt_id]
        pairs = [(q, a) for q, a in mine if a and q.fields[group] not in open_groups]
        if open_groups:
            print(f"  {prompt_id}: {len(mine) - len(pairs)} of {len(mine)} left; start `make record` again to go on")
        if not pairs or (open_groups and "whole" not in entry):
            continue
        if entry["dataset"] != "study":
            pairs = [(q, _bare(a)) for q, a in pairs]
        body = {k: v for k, v in pairs[0][0].body.items() if k != "messages"}
        if entry.get("variant") != "seed1" and "seed" in body:
            body["seed"] = "per item and repetition"
        engine = server.ENGINES[endpoint.name]["settings"] | ({"concurrency": concurrency} if concurrency else {})
        settings = {"engine": engine, "request": body, "planned": len(mine)}
        settings |= {"sample": entry["sample"]} if entry.get("sample") else {}
        print(f"  wrote {recordings.export(pairs, settings=settings).relative_to(paths.root())}")


def _bare(answer: Response) -> Response:
    """The answer to a third-party item without the prose, which may repeat text that is not ours to give out."""
    if answer.top:
        return answer
    if answer.outcome != "ok":
        return replace(answer, text="")
    parsed = parse_yes_no(answer.text, answer.finish_reason)
    return replace(answer, outcome=parsed.outcome, text=f"Answer: {parsed.answer}" if parsed.answer else "")


def _without(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in entry.items() if k not in names}


def wanted(args: argparse.Namespace) -> Iterator[tuple[str, str, Model, Endpoint, list[Request]]]:
    """What `live` asks and `estimate` estimates: paper, name as given, model, endpoint, requests.

    Items and their number come from the profile (LIMIT= overrides the number), the wording from PROMPTS=. Without
    MODELS= the smallest local model is asked. Raises KatayoriError for a profile whose answers are not live.
    """
    from katayori.run.profiles import load as load_profile

    profile, folder = load_profile(args.profile), args.prompts or ""
    if profile["answers"] != "live":
        raise KatayoriError(
            f"profile {profile['name']!r} asks nobody (answers: {profile['answers']}); use PROFILE=live"
        )
    entry = {"dataset": profile["items"], "sample": args.limit or profile["size"], "whole": True}
    entry |= {"folder": folder, "questions": args.questions or ""}
    for paper in words(args.papers) or ["discrim_eval"]:
        for name in words(args.models) or ["qwen2.5-coder-0.5b@local-" + (args.engine or "xllamacpp")]:
            model, endpoint = get_model(name)
            known = prompts.load_prompts(paper, folder)
            asked = [p for p in known if respondents.able([name], "live", known[p])]
            if not model.simulated:
                yield paper, name, model, endpoint, requests_of(paper, model, endpoint, asked, **entry)


def live(args: argparse.Namespace) -> int:
    """Ask a sample of a profile's items now, compare with the recording where there is one, then run the notebooks."""
    from katayori.run.reproduce import reproduce

    names, papers = [], []
    for paper, name, model, endpoint, requests in wanted(args):
        names, papers = [*names, name], [*papers, paper]
        with Store(respondents.store_path()) as store:
            needed = store.pending(requests)
            with served(model, endpoint, args.base_url or "") if needed else nullcontext("") as url:
                options = {"base_url": url, "concurrency": args.concurrency, "budget": args.budget}
                _say(collect_sync(requests, model, endpoint, store, **options), name)
            if not args.prompts:
                _agreement(paper, store, requests, model)
    given = [f"limit={args.limit}"] if args.limit else []
    given += [f"questions={args.questions}"] if args.questions else []
    args.models, args.papers, args.parameter = " ".join(dict.fromkeys(names)), ",".join(dict.fromkeys(papers)), given
    args.jobs, args.timeout, args.force = 2, 1800, False
    return reproduce(args)


def _say(summary: Summary, name: str) -> None:
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    print(
        f"{name}: {summary.asked} asked, {summary.stored} already stored, {summary.outcomes}, {cost}, "
        f"{summary.seconds:.0f} s"
    )
    if summary.stopped:
        raise KatayoriError(
            f"{summary.stopped}; what was answered is kept, run again with a higher BUDGET= to continue"
        )


def _agreement(paper: str, store: Store, requests: list[Request], model: Model) -> None:
    """Print how far live answers agree with the recording of the same model: same answer, and distance of P(yes)."""
    answered = list(store.get(requests))
    for prompt_id in dict.fromkeys(r.prompt_id for r in requests):
        try:
            rows = {row["item_id"]: row for row in recordings.read(paper, model.id, prompt_id)}
        except KatayoriError:
            print(f"  {prompt_id}: no recording of {model.id} to compare with")
            continue
        pairs = [(q, a) for q, a in answered if q.prompt_id == prompt_id and a and q.item_id in rows]
        if not pairs:
            print(f"  {prompt_id}: none of these items is in the recording of {model.id}")
            continue
        now = respondents.answers_frame([q for q, _ in pairs], [a for _, a in pairs], "live")
        then = [recordings.to_response(rows[q.item_id]) for q, _ in pairs]
        before = respondents.answers_frame([q for q, _ in pairs], then, "recorded")
        both = (now["outcome"] == "ok") & (before["outcome"] == "ok")
        same = (now["answer"] == before["answer"])[both]
        line = f"  {prompt_id}: same answer as recorded in {same.sum()} of {both.sum()}"
        if "p_yes" in now:
            ratio = [(f["p_yes"] / (f["p_yes"] + f["p_no"]))[both] for f in (now, before)]
            line += f"; mean |difference of P(yes)| {(ratio[0] - ratio[1]).abs().mean():.3f}"
        else:
            line += " (sampled answers: two draws differ by chance)"
        print(line)


def template(args: argparse.Namespace) -> int:
    """Write the requests of one paper and model as a file to be answered elsewhere (see `exchange.import_answers`)."""
    from katayori.prompting.exchange import export_requests

    if len(words(args.papers)) != 1 or len(words(args.models)) != 1:
        raise KatayoriError("a template holds one paper and one model: PAPERS=discrim_eval MODELS=name")
    paper, (model, endpoint) = words(args.papers)[0], get_model(words(args.models)[0])
    folder = args.prompts or ""
    asked = [p for p, prompt in prompts.load_prompts(paper, folder).items() if not prompt.prefix]
    entry = {"folder": folder, "sample": args.limit, "whole": True, "questions": args.questions or ""}
    requests = requests_of(paper, model, endpoint, asked, **entry)
    print(f"{len(requests)} requests written to {export_requests(requests, args.file)}; fill in the column text")
    return 0


def estimate(args: argparse.Namespace) -> int:
    """Calls, tokens, cost and time of a run before anything is asked; what the store holds is free."""
    import pandas as pd

    rows = []
    args.models = args.models or " ".join(
        m for m, model in registry()[1].items() if "discrim_eval" in model.fields["papers"]
    )
    for paper, _, model, endpoint, requests in wanted(args):
        with Store(respondents.store_path()) as store:
            rows.append({"paper": paper, **estimate_run(requests, model, endpoint, store)})
    frame = pd.DataFrame(rows)
    print(frame.to_string(index=False, na_rep="unknown"))
    known = frame["cost_high_usd"].notna()
    print(f"{frame['calls'].sum():,} calls; at most ${frame.loc[known, 'cost_high_usd'].sum():,.2f} "
          f"for {known.sum()} of {len(frame)} models, price unknown for the rest")  # fmt: skip
    return 0

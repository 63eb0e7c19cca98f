"""Who answers: recorded, simulated, live or imported respondents behind one call, `get`.

Every respondent turns requests into responses; `get` turns those into the answers frame that all
notebooks share.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.papers import get_paper
from katayori.prompting import exchange, frames, recordings
from katayori.prompting.models import Endpoint, Model, at_server, can_score, get_endpoint, get_model
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import SEED_RULE, SEED_RULES, Request, Response, build, by_rule
from katayori.prompting.store import StoredAnswers, store_path
from katayori.provenance import without_folder

if TYPE_CHECKING:
    import pandas as pd

SOURCES = ("recorded", "simulated", "live", "imported")
#: What turns requests into responses.
Respondent = Callable[[Sequence[Request]], list[Response]]


def recorded(requests: Sequence[Request]) -> list[Response]:
    """Replay recorded answers by request key, in the seed rule of the shard; no network.

    Raises UnavailableError where an item or prompt has changed since it was recorded.
    """
    if not requests:
        return []
    first = requests[0]
    rows = recordings.by_request(first.paper, first.model, first.prompt_id, first.variant)
    is_ours = get_paper(first.paper).is_ours(first.dataset)
    responses: list[Response] = []
    absent: list[str] = []
    changed: list[str] = []
    for request in as_recorded(requests):
        row = rows.get((request.item_id, request.repetition))
        if row is None:
            absent.append(request.item_id)
        # Third-party items are joined by id alone: their text may come from another copy than the
        # one recorded from.
        elif is_ours and row["key"] != request.key[:16]:
            changed.append(request.item_id)
        else:
            responses.append(recordings.to_response(row))
    if absent or changed:
        example = (absent + changed)[0]
        raise UnavailableError(
            f"{first.model}/{first.prompt_id}: of {len(requests)} requests {len(absent)} are not"
            f" recorded, {len(changed)} changed since (e.g. {example[:24]});"
            f" put them back (ours anew: make record), or {how_to_ask(first.paper)}"
        )
    return responses


def how_to_ask(paper: str, model: str = "my-model@custom") -> str:
    """What a reader does to get answers that are not here, in a few words."""
    command = f"make live PAPERS={paper} MODELS={model} (your wording: PROMPTS=FOLDER)"
    return f'ask in a terminal: {command}; then read it with profile = "live"'


def as_recorded(requests: Sequence[Request]) -> list[Request]:
    """Each request in the seed rule of its shard; as it is where there is none yet."""
    shards = [(one.paper, one.model, one.prompt_id, one.variant) for one in requests]
    rules = {shard: recordings.seed_rule(*shard) for shard in set(shards)}
    asked = zip(requests, (rules[shard] for shard in shards), strict=True)
    return [by_rule(request, rule) if rule else request for request, rule in asked]


def as_stored(store: StoredAnswers, requests: Sequence[Request]) -> list[Request]:
    """Each request in the seed rule under which it is answered, the newest first.

    What no rule has an answer to gets the newest. So stores written before rule 2 are still read,
    and nothing that they hold is asked again.
    """
    new = [by_rule(request, SEED_RULE) for request in requests]
    pending = {request.key for request in store.pending(new)}
    old = [by_rule(one, SEED_RULES[0]) if one.key in pending else one for one in new]
    missing = {request.key for request in store.pending(old)}
    return [n if o.key in missing else o for n, o in zip(new, old, strict=True)]


def live(requests: Sequence[Request]) -> list[Response]:
    """Stored live answers, of either seed rule (see `as_stored`).

    What is not asked yet becomes an `error` response, so that nothing is silently dropped. Raises
    UnavailableError where none of the requests has been asked.
    """
    with StoredAnswers(store_path()) as store:
        answers = [answer for _, answer in store.get(as_stored(store, requests))]
    if requests and not any(answers):
        first = requests[0]
        server = f" at {first.server.shown}" if first.server.own else ""
        cause = f"no live answers of {first.model}{server} to these items are stored"
        name = first.model.removesuffix(f"@{first.endpoint}")
        remedy = how_to_ask(first.paper, f"{name}@{first.endpoint}")
        raise UnavailableError(f"{cause}; {remedy}")
    return [answer or Response("error", error="not asked yet") for answer in answers]


def choose_models(
    paper: str, source: str, models: Sequence[str], dataset: str = "study"
) -> list[str]:
    """The models that are named, else the simulated respondents, which answer to our items only.

    Raises UnavailableError where a live or imported run names no model, KatayoriError for an
    unknown name or for two names of one model (its answers would be pooled).
    """
    ids = [get_model(name)[0].id for name in models]
    if twice := [name for name, i in zip(models, ids, strict=True) if ids.count(i) > 1]:
        raise KatayoriError(f"{' and '.join(twice)} are one model; name it once")
    if not models and source in ("live", "imported"):
        example = 'models = ["my-model@custom"] (with make: MODELS=my-model@custom)'
        raise UnavailableError(f"{source} answers need a model: {example}")
    room = get_paper(paper)
    return list(models) or (list(room.simulated()) if room.is_ours(dataset) else [])


def recorded_for_each(
    items: "pd.DataFrame",
    prompts: Sequence[Prompt],
    variants: Mapping[str, str],
    models: Sequence[str] = (),
) -> tuple[list[str], "pd.DataFrame"]:
    """Models recorded with every one of the prompts (of `models`, if given), and the items that all
    of them hold.

    A prompt with `only` is asked of some items; the others need not have an answer to it. Shards of
    a sample or of an unfinished recording count; a model that shares no item with the others is
    left out.

    Args:
        items: to choose from. prompts: those that are compared.
        variants: id of a prompt -> the variant of its recordings. models: only these; empty, any.
    """
    first = prompts[0]
    kept: list[str] = []
    shards = recordings.shards(first.paper, first.id, variants[first.id])
    for name in sorted(entry["model"] for entry in shards):
        shared = items["item_id"].notna()
        for prompt in prompts:
            asked = (items[list(prompt.only)] == list(prompt.only.values())).all(axis=1)
            ids = recordings.item_ids(prompt.paper, prompt.id, variants[prompt.id], [name])
            shared &= ~asked | items["item_id"].isin(ids)
        if shared.any() and (not models or name in models):
            kept.append(name)
            items = items[shared].reset_index(drop=True)
    return kept, items


def why_unable(name: str, source: str, prompt: Prompt, variant: str = "") -> str:
    """Why a model cannot answer a prompt, in words; nothing where it can.

    Any can answer words with words. A prefix or given continuations must be recorded, or the
    endpoint must be able to force or score them.
    """
    model, endpoint = get_model(name)
    is_scored = prompt.kind == "likelihood"
    if not is_scored and (model.simulated or not prompt.prefix):
        return ""
    if model.simulated:
        can, why = False, "simulated respondents give no likelihood of given texts, which {} needs"
    elif source == "recorded":
        can = recordings.entry(prompt.paper, model.id, prompt.id, variant) is not None
        why = "no answers to {} are recorded"
    elif is_scored:
        can = source == "live" and can_score(model, endpoint)
        why = "its server gives no likelihood of given texts, which {} needs"
    else:
        can = source == "live" and endpoint.supports.get("prefill") is True
        why = "its server does not continue an answer that was begun, which {} needs"
    return "" if can else why.format(prompt.id)


def provenance(paper: str, names: Sequence[str], *logs: "pd.DataFrame") -> dict[str, Any]:
    """What `Run.save` needs about answers: the models with endpoint and digest, and answer counts
    by source.

    `names` are the models as asked (`id@endpoint` tells where a live answer came from). An answer
    that stands in several frames counts once.
    """
    import pandas as pd

    key = ["model", "source", "item_id", "prompt_id", "repetition"]
    answers = pd.concat([log[key] for log in logs]).drop_duplicates()
    asked_as = {get_model(name)[0].id: name for name in names}
    told = answers[["model", "source"]].drop_duplicates().itertuples(index=False)
    return {
        "models": [_told_of(paper, asked_as.get(name, name), source) for name, source in told],
        "answers_by_source": answers.groupby("source", sort=False).size().to_dict(),
    }


def _told_of(paper: str, name: str, source: str) -> dict[str, Any]:
    """What provenance says of a model; of a user's server never its address, nor a path of its
    disk.
    """
    model, endpoint = get_model(name)
    manifest = recordings.manifest(paper) if source == "recorded" else {}
    where = {entry["endpoint"] for entry in manifest.values() if entry["model"] == model.id}
    record: dict[str, Any] = {
        "id": model.id,
        "source": source,
        "endpoint": ", ".join(sorted(where)) or endpoint.name,
        "vendor_id": model.vendor_id,
        "digest": model.digest or None,
    }
    if source == "live" and endpoint.own:
        with suppress(UnavailableError):
            asked = _server_asked(paper, model, endpoint)
            with StoredAnswers(store_path()) as store:
                called = [without_folder(one) for one in store.answered_as(paper, model, asked)]
            record |= {"server": asked.server.shown, "answered_as": called}
    return record


def _server_asked(paper: str, model: Model, endpoint: Endpoint) -> Endpoint:
    """The endpoint with the user's server whose answers a run reads, and their newest series.

    It is named by KATAYORI_LABEL or by the address in the endpoint's variable. Asks nobody. Raises
    UnavailableError where neither is set.
    """
    if not endpoint.own:
        return endpoint
    try:
        endpoint = at_server(endpoint)
    except KatayoriError as error:
        stored = "or KATAYORI_LABEL to the label of stored answers (with make: LABEL=)"
        where = "in a notebook with %env NAME=value above the set-up cell"
        raise UnavailableError(f"{error}, {stored}; {where}") from None
    with StoredAnswers(store_path()) as store:
        return store.newest(endpoint, model, paper)


def with_earlier(
    rows: list[dict[str, Any]],
    prompt: Prompt,
    model: Model,
    endpoint: Endpoint,
    answered: Callable[[list[Request]], Sequence[Response | None]],
    **options: Any,
) -> list[dict[str, Any]]:
    """The rows with the places filled that hold what this model said to an earlier prompt
    (`Prompt.given`).

    `answered` gives the responses to the earlier requests, `options` go to `build`. A row without
    such an answer is left out: its question cannot be asked.
    """
    for place, earlier in prompt.given.items():
        requests = build(rows, earlier, model, endpoint, **options)
        texts = {
            request.item_id: answer.text
            for request, answer in zip(requests, answered(requests), strict=True)
            if answer and answer.text
        }
        asked_of = [str(row[earlier.per]) for row in rows]
        pairs = zip(rows, asked_of, strict=True)
        rows = [row | {place: texts[name]} for row, name in pairs if name in texts]
    return rows


def get(
    items: "pd.DataFrame",
    prompt: Prompt,
    models: Iterable[str],
    *,
    source: str = "recorded",
    answers_file: str | Path = "",
    **options: Any,
) -> "pd.DataFrame":
    """Ask every item of every model and return the answers, one row an answer, read as the paper
    reads them (`Paper.frame`).

    Args:
        items: a frame with `item_id` and the columns of the prompt's places.
        models: names of the registry, or `name@endpoint`.
        source: `recorded`, `live` or `imported` for real models; simulated models always answer as
            `simulated`.
        answers_file: the file of imported answers (see `exchange`).
        options: of `requests.build`: dataset and variant of the recording, and repetitions.

    Returns columns `ANSWER_COLUMNS`, note, text, finish_reason, completion_tokens, created (seconds
    since 1970, 0 where unknown), and, for prompts that ask for log probabilities, one column
    p_<option> each and `mass`, with the likelier option as `answer`; for prompts that score given
    texts the columns of `frames.scores_frame`. Behind them stand the columns
    of the items, under their names there; of a prompt with `per`, those that are the same for all
    items of a value. Without models the frame is empty and has all its columns.
    """
    import pandas as pd

    expect(source, SOURCES, "answer source")
    room = get_paper(prompt.paper)
    rows = cast("list[dict[str, Any]]", items.to_dict("records"))  # all columns have names
    once = {name: value for name, value in options.items() if name != "repetitions"}
    made = []
    for name in models:
        variant = options.get("variant", "")
        model, endpoint, its = _who_answers(name, source, prompt, variant, answers_file)
        respond = _respondent(its, answers_file)
        # Imported answers are joined by id: what their model said before is in nobody's hands here.
        earlier = replace(prompt, given={}) if its == "imported" else prompt
        filled = with_earlier(rows, earlier, model, endpoint, respond, **once)
        requests = build(filled, prompt, model, endpoint, **options)
        made.append(room.frame(prompt, requests, respond(requests), its))
    if made:
        return _as_in_items(pd.concat(made, ignore_index=True), items, prompt)
    return pd.DataFrame(columns=_columns(items, prompt))


def _columns(items: "pd.DataFrame", prompt: Prompt) -> list[str]:
    """The columns of answers that nobody gave."""
    columns = [*frames.ANSWER_COLUMNS, *frames.MORE_COLUMNS]
    if prompt.settings.get("logprobs"):
        room = get_paper(prompt.paper)
        options = room.reading(prompt).get("options", room.options)
        columns += [*(f"p_{option}" for option in options), "mass"]
    if prompt.kind == "likelihood":
        scored = [f"{kind}_{name}" for kind in ("logp", "tokens") for name in prompt.continuations]
        columns = [*frames.OF_REQUEST, *scored]
    return columns + [str(name) for name in items if name not in {*frames.OF_ANSWERS, *columns}]


def _as_in_items(answers: "pd.DataFrame", items: "pd.DataFrame", prompt: Prompt) -> "pd.DataFrame":
    """The answers without columns that say nothing of their items.

    A prompt with `per` is asked once for several items: what differs among these is left out.
    """
    if prompt.per == "item_id":
        return answers
    per_value = items.groupby(prompt.per, sort=False)
    of_items = [str(name) for name in items if name not in {*frames.OF_ANSWERS, prompt.per}]
    differs = [name for name in of_items if (per_value[name].nunique(dropna=False) > 1).any()]
    return answers.drop(columns=differs, errors="ignore")


def _who_answers(
    name: str, source: str, prompt: Prompt, variant: str, answers_file: str | Path
) -> tuple[Model, Endpoint, str]:
    """A model, where it was asked, and the source of its answers."""
    model, endpoint = get_model(name)
    if model.simulated:
        return model, endpoint, "simulated"
    if source == "simulated" or (source == "imported" and not answers_file):
        hint = ": name the file of answers (answers_file)" if source == "imported" else ""
        raise KatayoriError(f"{name} cannot answer with source {source!r}{hint}")
    if source == "recorded":
        entry = recordings.entry(prompt.paper, model.id, prompt.id, variant)
        # The name of the endpoint that was asked is part of every request's key.
        endpoint = get_endpoint(entry["endpoint"] if entry else model.endpoint)
    if source == "live":
        endpoint = _server_asked(prompt.paper, model, endpoint)
    return model, endpoint, source


def simulated(requests: Sequence[Request]) -> list[Response]:
    """The answers of the simulated respondents that the requests name."""
    return [get_paper(request.paper).simulate(request) for request in requests]


def _respondent(source: str, answers_file: str | Path) -> Respondent:
    """What turns requests into responses, by source."""
    known = {"simulated": simulated, "recorded": recorded, "live": live}
    return known.get(source) or partial(exchange.import_answers, answers_file)

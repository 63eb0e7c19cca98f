"""`make convert`: logs of inspect_ai and lm-evaluation-harness as a file of answers.

What a row must carry, and where it is looked for (left inspect_ai's .json and .eval; right
lm-evaluation-harness's samples_*.jsonl):

    item_id       sample `metadata.item_id`, else `id`           `doc.item_id`, else `doc_id`
    prompt_id     sample `metadata.prompt_id`, else --prompt     `doc.prompt_id`, else --prompt
    repetition    `epoch` - 1                                    place within `resps[0]`
    text          `output.choices[0].message`, parts joined      `resps[0]`, before any filter
    finish        `stop_reason`, see `finish_reasons`            not logged: cut-offs are not seen
    top           `logprobs` at the answer's token               not logged for generated text
    model         `eval.model` must end in the id asked as       not in the rows: --models holds
    conversation  `messages` before the answer, else `input`     `arguments`

The whole conversation must be ours: a system text, an example or a turn that was added, and
another wording are refused with the first difference. What a harness may do to it: white space at
the ends of lines, and one user message as plain text.

A row without one of these is refused and listed with its reason: unknown item or prompt, a failed
or stopped sample, one that ends in a tool call or for an unknown reason, scores of given
continuations (loglikelihood), a second answer that differs.
Rows of another filter on the same answer count once. Prompts that force the start of an answer or
hold an earlier one are not imported.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from katayori import profiles
from katayori.errors import KatayoriError
from katayori.finish_reasons import ended
from katayori.papers.items import OwnItems
from katayori.prompting.models import get_model
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import Request, Response
from katayori_tools.asking import Scope, prompts_of, requests_of, steps
from katayori_tools.batch import Refused, list_refused
from katayori_tools.choices import Chosen
from katayori_tools.logs import Sample, Turn, choice_of_inspect, samples_of
from katayori_tools.notebooks import names, own_items
from katayori_tools.send import read_completion

SHOWN = 60  # characters of a difference
PLAIN, SPACES = "one user message as plain text", "white space at the ends of lines"

Requests = dict[tuple[str, str], Request]  # by item and prompt


def convert(logs: Sequence[str], file: str, *, chosen: Chosen, prompt: str = "") -> int:
    """Write the answers of some logs to one paper's requests; 1 if no row could be used.

    Args:
        logs: .json or .eval (inspect_ai), samples_*.jsonl (lm-evaluation-harness).
        file: the answers file to write (.jsonl). prompt: the one that rows answer which name none.
    """
    papers, models = names(chosen.papers), names(chosen.models)
    if len(papers) != 1 or len(models) != 1:
        raise KatayoriError("logs are of one paper and one model: PAPERS=01 MODELS=name")
    if not file.endswith(".jsonl"):
        raise KatayoriError(f"answers are written as .jsonl, not to {file}")
    [paper], [name] = papers, models
    model, endpoint = get_model(name)
    own = own_items(chosen.own, [paper])
    scope = Scope(profiles.load(chosen.profile)["items"], own=own, folder=chosen.prompts)
    wording = load_prompts(paper, chosen.prompts)
    able = importable(paper, scope, wording)
    requests = {
        (one.item_id, one.prompt_id): one
        for one in requests_of(paper, model, endpoint, able, scope)
    }
    only = prompt or (able[0] if len(able) == 1 else "")
    answers: dict[tuple[str, str, int], Any] = {}
    refused: Refused = defaultdict(list)
    rules, shown = Counter[str](), dict[str, str]()
    for log in map(Path, logs):
        asked_of, samples = samples_of(log)
        if asked_of and not f"/{asked_of}".endswith(f"/{model.vendor_id}"):
            raise KatayoriError(
                f"{log.name} is a log of {asked_of}, not of {model.vendor_id}; see MODELS=id@custom"
            )
        for number, sample in samples:
            try:
                place, answer, needed = answer_of(sample, requests, only)
                if answers.setdefault(place, answer) != answer:
                    raise ValueError("a second, different answer; the first stays")
                rules.update(needed)
            except ValueError as error:
                # Of one kind the first difference is shown, so that all are counted together.
                kind, _, words = str(error).partition(": “")
                first = shown.setdefault(kind, f"{kind}: “{words}" if words else kind)
                refused[first].append(f"{log.name}:{number}")
    lines = (json.dumps(one | {"model": model.id}, ensure_ascii=False) for one in answers.values())
    text = "".join(f"{line}\n" for line in lines)
    Path(file).write_text(text, encoding="utf-8", errors="backslashreplace")
    told = f"{len(answers)} answers of {model.id} to {paper} written to {file}"
    print(f"{told}, {sum(map(len, refused.values()))} rows refused")
    for rule in filter(rules.__getitem__, (PLAIN, SPACES)):
        print(f"  {rules[rule]} row(s) in the harness's form of our text: {rule}")
    _count_probabilities([*answers.values()], wording)
    list_refused(refused)
    return int(not answers)


def importable(paper: str, scope: Scope, wording: dict[str, Prompt]) -> list[str]:
    """The prompts whose answers a log can hold: no forced start, no earlier answer in them."""
    planned = steps(paper, prompts_of(paper, scope.dataset, scope.own or OwnItems()))
    prompt_ids = [prompt_id for step in planned for prompt_id in step]
    return [p for p in prompt_ids if not (wording[p].prefix or wording[p].given)]


def answer_of(sample: Sample, requests: Requests, only: str) -> tuple[Any, Any, list[str]]:
    """What a sample answers, its answer, and the rules that explain how it was asked.

    Raises ValueError that says why it is refused.
    """
    if sample["cause"]:
        raise ValueError(sample["cause"])
    fields = sample["fields"]
    item_id, prompt_id = str(fields["item_id"]), str(fields.get("prompt_id") or only)
    if not prompt_id:
        raise ValueError("names no prompt_id; say which one with --prompt")
    if (item_id, prompt_id) not in requests:
        known = any(prompt_id == one for _, one in requests)
        unknown = f"has unknown prompt {prompt_id!r}"
        raise ValueError(
            f"has an item that prompt {prompt_id} is not asked of" if known else unknown
        )
    request = requests[item_id, prompt_id]
    ours = [(turn["role"], turn["content"]) for turn in request.body["messages"]]
    rules = rules_between(ours, sample["asked"])
    if rules is None:
        raise ValueError(difference(ours, sample["asked"]))
    response = _response(sample["choice"], request)
    if (found := ended(response.finish_reason)).outcome == "error":
        raise ValueError(found.note)
    place = (item_id, prompt_id, int(fields["repetition"]))
    answer = dict(zip(("item_id", "prompt_id", "repetition"), place, strict=True))
    answer |= {"text": response.text, "finish_reason": response.finish_reason}
    return place, answer | ({"top": response.top} if response.top else {}), rules


def response_of_inspect(choice: Any, request: Request) -> Response:
    """The answer that a choice of inspect_ai holds, as `convert` reads it.

    Raises ValueError for a choice that is malformed.
    """
    return _response(choice_of_inspect(choice, {}), request)


def _response(choice: Any, request: Request) -> Response:
    # What the log holds decides whether there are log probabilities, not the endpoint's name.
    asking = replace(request, body=request.body | {"logprobs": True})
    return read_completion({"choices": [choice]}, asking)


# -- what was asked --------------------------------------------------------------------------------


def rules_between(ours: list[Turn], asked: list[Turn]) -> list[str] | None:
    """The rules by which a conversation is ours, none for the very same; None where it is not."""
    rules = []
    if len(asked) == 1 and not asked[0][0] and [role for role, _ in ours] == ["user"]:
        rules, asked = [PLAIN], [("user", asked[0][1])]
    if asked == ours:
        return rules
    return [*rules, SPACES] if _tidy(ours) == _tidy(asked) else None


def _tidy(turns: list[Turn]) -> list[Turn]:
    return [
        (role, "\n".join(line.rstrip() for line in text.splitlines()).strip())
        for role, text in turns
    ]


def difference(ours: list[Turn], asked: list[Turn]) -> str:
    """The first words in which a conversation differs from ours, with the last common one."""
    if not asked:
        return "does not say what was asked"
    if not asked[0][0]:
        ours = [("", text) for _, text in ours]
    words, others = (
        " ".join(f"{role}: {text}" if role else text for role, text in turns).split()
        for turns in (ours, asked)
    )
    common = [one == two for one, two in zip(words, others, strict=False)]
    start = max([*common, False].index(False) - 1, 0)
    shown = " where ours has ".join(_short(" ".join(one[start:])) for one in (others, words))
    turns = f"{len(asked)} turn(s), ours {len(ours)}"
    return f"was asked as another conversation ({turns}): {shown}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:SHOWN]}{'…' if len(line) > SHOWN else ''}”"


def _count_probabilities(answers: list[Any], prompts: dict[str, Prompt]) -> None:
    """Prints how many answers have log probabilities, for each prompt that asks for them."""
    for prompt_id in dict.fromkeys(answer["prompt_id"] for answer in answers):
        own = [answer for answer in answers if answer["prompt_id"] == prompt_id]
        having = sum("top" in answer for answer in own)
        if not having and not prompts[prompt_id].settings.get("logprobs"):
            continue
        line = f"  {prompt_id}: {having} of {len(own)} answers with log probabilities"
        remedy = "the log holds no others: ask inspect_ai with --logprobs --top-logprobs 20"
        print(line if having == len(own) else f"{line}; {remedy}")

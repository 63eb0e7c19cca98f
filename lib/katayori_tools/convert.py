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
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from katayori import profiles
from katayori.data.logs import Sample, Turn, samples_of
from katayori.errors import KatayoriError
from katayori.finish_reasons import ended
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.replies import read_completion
from katayori.prompting.requests import Request, Response
from katayori_tools.asking import Scope, importable, requests_of
from katayori_tools.batch import Refused, list_refused
from katayori_tools.choices import Chosen
from katayori_tools.notebooks import names, output_file, own_items

SHOWN = 60  # characters of a difference

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
    path = output_file(file, (".jsonl",))
    [paper], [name] = papers, models
    model, endpoint = get_model(name)
    own = own_items(chosen.own, [paper])
    scope = Scope(profiles.load(chosen.profile)["items"], own=own, folder=chosen.prompts)
    able = importable(paper, scope, load_prompts(paper, chosen.prompts))
    requests = {
        (one.item_id, one.prompt_id): one
        for one in requests_of(paper, model, endpoint, able, scope)
    }
    only = prompt or (able[0] if len(able) == 1 else "")
    answers: dict[tuple[str, str, int], Any] = {}
    refused: Refused = defaultdict(list)
    shown: dict[str, str] = {}
    for log in map(Path, logs):
        asked_of, samples = samples_of(log)
        if asked_of and not f"/{asked_of}".endswith(f"/{model.vendor_id}"):
            raise KatayoriError(
                f"{log.name} is a log of {asked_of}, not of {model.vendor_id}; see MODELS=id@custom"
            )
        for number, sample in samples:
            try:
                place, answer = answer_of(sample, requests, only)
                if answers.setdefault(place, answer) != answer:
                    raise ValueError("a second, different answer; the first stays")
            except ValueError as error:
                # Of one kind the first difference is shown, so that all are counted together.
                kind = str(error).partition(": “")[0]
                refused[shown.setdefault(kind, str(error))].append(f"{log.name}:{number}")
    lines = (json.dumps(one | {"model": model.id}, ensure_ascii=False) for one in answers.values())
    text = "".join(f"{line}\n" for line in lines)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    told = f"{len(answers)} answers of {model.id} to {paper} written to {file}"
    having = sum("top" in answer for answer in answers.values())
    lost = sum(map(len, refused.values()))
    print(f"{told}, {having} with log probabilities; {lost} rows refused")
    list_refused(refused)
    return int(not answers)


def answer_of(sample: Sample, requests: Requests, only: str) -> tuple[Any, dict[str, Any]]:
    """What a sample answers, and its answer.

    Raises ValueError that says why it is refused.
    """
    if sample["cause"]:
        raise ValueError(sample["cause"])
    fields = sample["fields"]
    item_id, prompt_id = str(fields["item_id"]), str(fields.get("prompt_id") or only)
    if not prompt_id:
        raise ValueError("names no prompt_id; say which one with --prompt")
    if (item_id, prompt_id) not in requests:
        if any(prompt_id == known for _, known in requests):
            raise ValueError(f"has an item that prompt {prompt_id} is not asked of")
        raise ValueError(f"has unknown prompt {prompt_id!r}")
    request = requests[item_id, prompt_id]
    ours = [(turn["role"], turn["content"]) for turn in request.body["messages"]]
    if told := difference(ours, sample["asked"]):
        raise ValueError(told)
    response = response_of(sample["choice"], request)
    if (found := ended(response.finish_reason)).outcome == "error":
        raise ValueError(found.note)
    answer = {"item_id": item_id, "prompt_id": prompt_id, "repetition": int(fields["repetition"])}
    place = tuple(answer.values())
    answer |= {"text": response.text, "finish_reason": response.finish_reason}
    return place, answer | ({"top": response.top} if response.top else {})


def response_of(choice: Any, request: Request) -> Response:
    """The answer that a choice in the form of a chat completion holds.

    What the log holds decides whether there are log probabilities, not the endpoint's name.
    Raises ValueError for a choice that is malformed.
    """
    asking = replace(request, body=request.body | {"logprobs": True})
    return read_completion({"choices": [choice]}, asking)


# -- what was asked --------------------------------------------------------------------------------


def difference(ours: list[Turn], asked: list[Turn]) -> str:
    """The first words in which a conversation differs from ours, with the last common one.

    Empty where it is ours. White space at the ends of lines is no difference, and one user message
    may be plain text.
    """
    if not asked:
        return "does not say what was asked"
    if not asked[0][0]:  # plain text has no roles
        ours = [("", text) for _, text in ours]
    if _tidy(ours) == _tidy(asked):
        return ""
    words, others = (
        " ".join(f"{role}: {text}" if role else text for role, text in turns).split()
        for turns in (ours, asked)
    )
    common = [one == two for one, two in zip(words, others, strict=False)]
    start = max([*common, False].index(False) - 1, 0)
    shown = " where ours has ".join(f"“{' '.join(one[start:])[:SHOWN]}”" for one in (others, words))
    turns = f"{len(asked)} turn(s), ours {len(ours)}"
    return f"was asked as another conversation ({turns}): {shown}"


def _tidy(turns: list[Turn]) -> list[Turn]:
    return [
        (role, "\n".join(line.rstrip() for line in text.splitlines()).strip())
        for role, text in turns
    ]

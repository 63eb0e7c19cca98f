"""`katayori convert`: logs of inspect_ai and lm-evaluation-harness as a file of answers.

What a row must carry, and where it is looked for (left inspect_ai's .json and .eval; right
lm-evaluation-harness's samples_*.jsonl):

    item_id       sample `metadata.item_id`, else `id`           `doc.item_id`
    prompt_id     sample `metadata.prompt_id`, else --prompt     `doc.prompt_id`, else --prompt
    repetition    `epoch` - 1                                    place within `resps[0]`
    text          `output.choices[0].message`, parts joined      `resps[0]`, before any filter
    finish        `stop_reason`, see `finish_reasons`            not logged: cut-offs are not seen
    top           `logprobs` at the answer's token               not logged for generated text
    model         `eval.model` must end in the id asked as       not in the rows: --models holds
    conversation  `messages` before the answer, else `input`     `arguments`

The whole conversation must be ours: a system text, an example or a turn that was added, and
another wording are refused with the first difference. What a harness may do to it is in `RULES`.

A row without one of these is refused and listed with its reason: unknown item or prompt, a failed
or stopped sample, one that ends in a tool call or for an unknown reason, scores of given
continuations (loglikelihood), a second answer that differs.
Rows of another filter on the same answer count once. Prompts that force the start of an answer or
hold an earlier one are not imported. Archives are read in memory; nothing is unpacked.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from katayori import profiles
from katayori.data.files import json_lines
from katayori.errors import KatayoriError
from katayori.finish_reasons import ended
from katayori.papers.items import OwnItems
from katayori.prompting.models import Model, get_model
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import Request, Response
from katayori_tools.asking import Scope, prompts_of, requests_of, steps
from katayori_tools.batch import Refused, list_refused
from katayori_tools.choices import Asking
from katayori_tools.harness_logs import content_of, log_of_inspect
from katayori_tools.inputs import own_items
from katayori_tools.notebooks import names
from katayori_tools.send import read_completion

SHOWN = 60  # characters of a difference
LONGEST_CAUSE = 200  # characters
#: What a harness may do to a conversation without changing what is asked.
PLAIN = "one user message as plain text"
SPACES = "white space at the ends of lines"
RULES = (PLAIN, SPACES)
Turn = tuple[str, str]  # role, text; no role where the harness logs plain text
Row = dict[str, Any]  # item_id, prompt_id, repetition, asked (turns), choices; or `refused`


def convert(chosen: Asking, logs: Sequence[str], file: str, *, prompt: str = "") -> int:
    """Write the answers of some logs to one paper's requests; 1 if no row could be used.

    `prompt` is the one that rows answer which name none.
    """
    papers, models = names(chosen.papers), names(chosen.models)
    if len(papers) != 1 or len(models) != 1:
        raise KatayoriError("logs are of one paper and one model: PAPERS=01 MODELS=name")
    if not file.endswith(".jsonl"):
        raise KatayoriError(f"answers are written as .jsonl, not to {file}")
    [paper], [name] = papers, models
    model, endpoint = get_model(name)
    folder = chosen.prompts
    own = own_items(chosen.own, [paper])
    scope = Scope(profiles.load(chosen.profile)["items"], own=own, folder=folder)
    wording = load_prompts(paper, folder)
    able = _importable(paper, scope, wording)
    requests = requests_of(paper, model, endpoint, able, scope)
    only = prompt or (able[0] if len(able) == 1 else "")
    taken = Conversion({(q.item_id, q.prompt_id): q for q in requests}, model, only)
    refused = Refused()
    for log in map(Path, logs):
        for number, row in enumerate(rows_of(log, model), 1):
            cause = row.get("refused") or taken.take(row)
            if cause:
                refused.append((log.name, number, cause))
    _write(Path(file), list(taken.answers.values()))
    print(
        f"{len(taken.answers)} answers of {model.id} to {paper} written to {file}, "
        f"{len(refused)} rows refused"
    )
    for line in (*taken.rendered(), *without_probabilities(taken.answers.values(), wording)):
        print(f"  {line}")
    list_refused(refused)
    return int(not taken.answers)


def _importable(paper: str, scope: Scope, wording: dict[str, Prompt]) -> list[str]:
    """The prompts whose answers a log can hold: no forced start, no earlier answer in them."""
    planned = steps(paper, prompts_of(paper, scope.dataset, scope.own or OwnItems()))
    prompt_ids = [prompt_id for step in planned for prompt_id in step]
    return [p for p in prompt_ids if not (wording[p].prefix or wording[p].given)]


def _write(file: Path, answers: list[Row]) -> None:
    text = "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
    file.write_text(text, encoding="utf-8", errors="backslashreplace")


# -- reading logs ----------------------------------------------------------------------------------


def rows_of(log: Path, model: Model) -> Iterator[Row]:
    """The rows of a log, each a `Row`.

    Raises KatayoriError for a file of neither kind, or a log of another model.
    """
    if log.suffix == ".jsonl":
        yield from map(_lm_eval, json_lines(log, "sample log"))
        return
    if log.suffix not in (".json", ".eval"):
        raise KatayoriError(
            f"{log.name}: known are .json and .eval (inspect_ai), .jsonl (lm-evaluation-harness)"
        )
    asked, samples = log_of_inspect(log)
    if asked != model.vendor_id and not asked.endswith(f"/{model.vendor_id}"):
        raise KatayoriError(
            f"{log.name} is a log of {asked}, not of {model.vendor_id}; see MODELS=id@custom"
        )
    yield from map(_inspect, samples)


def _inspect(sample: Any) -> Row:
    try:
        cause = _unusable(sample)
        if cause:
            return {"refused": cause}
        attached, about = sample.get("attachments") or {}, sample.get("metadata") or {}
        return {
            "item_id": str(about.get("item_id") or sample["id"]),
            "prompt_id": str(about.get("prompt_id") or ""),
            "repetition": int(sample.get("epoch") or 1) - 1,
            "asked": _asked_by_inspect(sample, attached),
            "choices": [_choice(sample["output"]["choices"][0], attached)],
        }
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        return {"refused": f"has not the form of a sample ({type(error).__name__})"}


def _unusable(sample: Row) -> str:
    """Why a sample holds no answer; empty where it does."""
    if sample.get("error"):
        return f"sample failed: {_cut(sample['error'].get('message'))}"
    if sample.get("limit"):
        stopped = f"stopped by the {sample['limit'].get('type')} limit"
        return f"sample failed: {_cut(stopped)}"
    return "" if (sample.get("output") or {}).get("choices") else "has no output"


def _cut(text: object) -> str:
    """A text of a log as far as it is shown as a cause."""
    return str(text)[:LONGEST_CAUSE]


def _asked_by_inspect(sample: Row, attached: dict[str, str]) -> list[Turn]:
    """The conversation before the answer: all messages but a last one of the assistant."""
    turns = sample.get("messages") or sample.get("input") or []
    turns = [{"role": "user", "content": turns}] if isinstance(turns, str) else list(turns)
    if turns and sample.get("messages") and turns[-1].get("role") == "assistant":
        turns.pop()
    return [(str(t.get("role")), content_of(t.get("content"), attached)) for t in turns]


def _choice(choice: Row, attached: dict[str, str]) -> Row:
    """A choice in the form of a chat completion."""
    content = content_of(choice["message"].get("content"), attached)
    return choice | {"message": {"content": content}, "finish_reason": choice.get("stop_reason")}


def _lm_eval(row: Any) -> Row:
    doc, answers = row.get("doc"), row.get("resps")
    if not isinstance(doc, dict) or not doc.get("item_id"):
        return {"refused": "has no doc.item_id"}
    if not isinstance(answers, list) or not answers:
        return {"refused": "has no resps"}
    texts = answers[0] if isinstance(answers[0], list) else answers
    if len(answers) > 1 or not texts or not all(isinstance(text, str) for text in texts):
        return {
            "refused": "holds scores of given continuations (loglikelihood), not a generated text"
        }
    return {
        "item_id": str(doc["item_id"]),
        "prompt_id": str(doc.get("prompt_id") or ""),
        "repetition": 0,
        "asked": _asked_by_lm_eval(row.get("arguments")),
        "choices": [{"message": {"content": text}, "finish_reason": "stop"} for text in texts],
    }


def _asked_by_lm_eval(asked: Any) -> list[Turn]:
    """The conversation of [[prompt, settings]] or {gen_args_0: {arg_0: prompt, ...}}.

    A prompt is a chat as JSON text, or plain text.
    """
    while isinstance(asked, list | dict) and asked:
        asked = next(iter(asked.values())) if isinstance(asked, dict) else asked[0]
    if isinstance(asked, str) and asked.startswith("[{"):
        with suppress(ValueError, KeyError, AttributeError, TypeError):
            return [(str(t["role"]), content_of(t["content"], {})) for t in json.loads(asked)]
    return [("", asked)] if isinstance(asked, str) and asked else []


# -- what was asked --------------------------------------------------------------------------------


def rules_between(ours: list[Turn], asked: list[Turn]) -> list[str] | None:
    """The rules by which a conversation is ours, none for the very same; None where it is not."""
    rules = []
    if len(asked) == 1 and not asked[0][0] and [role for role, _ in ours] == ["user"]:
        rules, asked = [PLAIN], [("user", asked[0][1])]
    if asked == ours:
        return rules
    tidy = [[(role, _tidy(text)) for role, text in turns] for turns in (ours, asked)]
    return [*rules, SPACES] if tidy[0] == tidy[1] else None


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def difference(ours: list[Turn], asked: list[Turn]) -> tuple[str, str]:
    """What differs first between our conversation and the one asked: its kind, and the words."""
    if not asked:
        return "does not say what was asked", ""
    same = 0
    for (role, text), (asked_role, asked_text) in zip(ours, asked, strict=False):
        if role != (asked_role or role) or _tidy(text) != _tidy(asked_text):
            break
        same += 1
    if len(asked) > len(ours):
        added = asked[same : same + len(asked) - len(ours)]
        roles = ", ".join(role or "text" for role, _ in added)
        _, text = added[0]
        return f"was asked with {len(added)} added turn(s) ({roles})", _short(text)
    if len(asked) < len(ours):
        role, text = ours[same]
        return f"was asked without our {role} turn", _short(text)
    (our_role, our_text), (role, text) = ours[same], asked[same]
    if role not in ("", our_role):
        return f"was asked as {role} where ours is {our_role}", _short(text)
    return "was asked with another text", _words(_tidy(our_text), _tidy(text))


def _words(ours: str, asked: str) -> str:
    """The first words that differ, of the text asked and of ours, with the last common one."""
    our_words, words = ours.split(), asked.split()
    same = 0
    for our_word, word in zip(our_words, words, strict=False):
        if our_word != word:
            break
        same += 1
    start = max(same - 1, 0)
    rest, our_rest = " ".join(words[start:]), " ".join(our_words[start:])
    return f"{_short(rest)} where ours has {_short(our_rest)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:SHOWN]}{'…' if len(line) > SHOWN else ''}”"


# -- answers ---------------------------------------------------------------------------------------


def response_of_inspect(choice: Row, request: Request) -> Response:
    """The answer that a choice of inspect_ai holds, as `convert` reads it.

    Raises ValueError for a choice that is malformed.
    """
    return _response(_choice(choice, {}), request)


def _response(choice: Row, request: Request) -> Response:
    # What the log holds decides whether there are log probabilities, not the endpoint's name.
    asking = replace(request, body=request.body | {"logprobs": True})
    return read_completion({"choices": [choice]}, asking)


@dataclass
class Conversion:
    """The answers taken from some logs so far, and by which rules."""

    requests: dict[tuple[str, str], Request]  # by item and prompt
    model: Model
    only: str = ""  # the prompt of rows that name none
    answers: dict[tuple[str, str, int], Row] = field(default_factory=dict)
    rules: Counter[str] = field(default_factory=Counter)
    shown: dict[str, str] = field(default_factory=dict)  # kind of difference -> the first one

    def take(self, row: Row) -> str:
        """Puts a row's answers beside the others; says why it is refused, or nothing.

        The messages that were asked must be ours, but for differences that a known rule explains
        (white space at line ends, one text without roles); which rules were needed is kept.
        Of refusals of one kind only the first difference is shown, so that they are counted
        together.
        """
        prompt_id = row["prompt_id"] or self.only
        if cause := self._unknown(row["item_id"], prompt_id):
            return cause
        request = self.requests[row["item_id"], prompt_id]
        ours = [(turn["role"], turn["content"]) for turn in request.body["messages"]]
        rules = rules_between(ours, row["asked"])
        if rules is None:
            kind, words = difference(ours, row["asked"])
            kind = f"{kind} than prompt {prompt_id}" if "another text" in kind else kind
            first = self.shown.setdefault(kind, words)
            return f"{kind}: {first}" if first else kind
        self.rules.update(rules)
        return self._keep(row, request)

    def _unknown(self, item_id: str, prompt_id: str) -> str:
        if not prompt_id:
            return "names no prompt_id; say which one with --prompt"
        if (item_id, prompt_id) in self.requests:
            return ""
        if any(prompt_id == known for _, known in self.requests):
            return f"has an item that prompt {prompt_id} is not asked of"
        return f"has unknown prompt {prompt_id!r}"

    def _keep(self, row: Row, request: Request) -> str:
        for n, choice in enumerate(row["choices"], row["repetition"]):
            try:
                response = _response(choice, request)
            except ValueError as error:
                return str(error)
            found = ended(response.finish_reason)
            if found.outcome == "error":
                return found.note
            answer = {
                "item_id": request.item_id,
                "prompt_id": request.prompt_id,
                "model": self.model.id,
                "repetition": n,
                "text": response.text,
                "finish_reason": response.finish_reason,
            }
            answer |= {"top": response.top} if response.top else {}
            place = (request.item_id, request.prompt_id, n)
            if self.answers.setdefault(place, answer) != answer:
                return "a second, different answer; the first stays"
        return ""

    def rendered(self) -> list[str]:
        """How many rows each rule let pass, one line a rule."""
        counted = [(rule, self.rules[rule]) for rule in RULES if self.rules[rule]]
        return [f"{n} row(s) in the harness's form of our text: {rule}" for rule, n in counted]


def without_probabilities(answers: Any, prompts: dict[str, Prompt]) -> list[str]:
    """How many answers have log probabilities, for each prompt that asks for them."""
    lines, answers = [], list(answers)
    for prompt_id in dict.fromkeys(answer["prompt_id"] for answer in answers):
        own = [answer for answer in answers if answer["prompt_id"] == prompt_id]
        having = sum("top" in answer for answer in own)
        if not having and not prompts[prompt_id].settings.get("logprobs"):
            continue
        line = f"{prompt_id}: {having} of {len(own)} answers with log probabilities"
        remedy = "the log holds no others: ask inspect_ai with --logprobs --top-logprobs 20"
        lines.append(line if having == len(own) else f"{line}; {remedy}")
    return lines

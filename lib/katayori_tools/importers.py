"""`katayori convert`: logs of inspect_ai and lm-evaluation-harness as a file of answers (`exchange.import_answers`).

What a row must carry, and where it is looked for (left inspect_ai's .json, and .eval where its zip is deflated; right
lm-evaluation-harness's samples_*.jsonl):

    item_id     sample `metadata.item_id`, else `id`             `doc.item_id`
    prompt_id   sample `metadata.prompt_id`, else --prompt       `doc.prompt_id`, else --prompt
    repetition  `epoch` - 1                                      place within `resps[0]`
    text        `output.choices[0].message`, text parts joined   `resps[0]`, before any filter
    finish      `stop_reason`; max_tokens is a cut-off           not logged: a cut-off text cannot be told
    top         `logprobs` at the answer's token                 not logged for generated text
    model       `eval.model` must end in the id asked as         not in the rows: --models is believed
    wording     `messages`, else `input`, hold our prompt        `arguments` hold it

A row without one of these is refused and listed with its reason: unknown item or prompt, another wording (name the
folder of yours with --prompts), a failed or stopped sample, scores of given continuations (loglikelihood), a second
answer that differs. Rows of another filter on the same answer count once. Prompts that force the start of an answer or
hold an earlier one are not imported. Archives are read in memory; nothing is unpacked.
"""

import argparse
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from katayori import profiles
from katayori.data.files import json_lines
from katayori.data.source import prompts_of
from katayori.errors import KatayoriError
from katayori.prompting.models import Model, get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request
from katayori_tools.asking import requests_of, steps
from katayori_tools.batch import Refused, list_refused
from katayori_tools.inputs import own_items
from katayori_tools.notebooks import names
from katayori_tools.send import read_completion

MAX_MEMBER = 100_000_000  # bytes of one sample; what unpacks to more is no answer
FINISH = {
    "max_tokens": "length",
    "model_length": "length",
    "length": "length",
    "content_filter": "content_filter",
}
Row = dict[str, Any]  # item_id, prompt_id, repetition, asked, choices; or `refused` with the cause


def convert(args: argparse.Namespace) -> int:
    """Write the answers of some logs to one paper's requests; 1 if no row could be used."""
    given = names(args.papers), names(args.models)
    if [len(each) for each in given] != [1, 1]:
        raise KatayoriError("logs are of one paper and one model: PAPERS=discrim_eval MODELS=name")
    if not args.file.endswith(".jsonl"):
        raise KatayoriError(f"answers are written as .jsonl, not to {args.file}")
    [[paper], [name]] = given
    model, endpoint = get_model(name)
    dataset, known = profiles.load(args.profile)["items"], load_prompts(paper, args.prompts or "")
    own = own_items(args, [paper])
    able = [
        p
        for step in steps(paper, prompts_of(paper, dataset, own))
        for p in step
        if not (known[p].prefix or known[p].given)
    ]
    chosen = {"dataset": dataset, "folder": args.prompts or "", "own": own}
    requests = {
        (q.item_id, q.prompt_id): q for q in requests_of(paper, model, endpoint, able, **chosen)
    }
    only = args.prompt or (able[0] if len(able) == 1 else "")
    answers: dict[tuple, Row] = {}
    refused: Refused = []
    for log in map(Path, args.logs):
        for number, row in enumerate(rows_of(log, model), 1):
            cause = row.get("refused") or _take(row, requests, only, model, answers)
            refused += [(log.name, number, cause)] if cause else []
    text = "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers.values())
    Path(args.file).write_text(text, encoding="utf-8", errors="backslashreplace")
    print(
        f"{len(answers)} answers of {model.id} to {paper} written to {args.file}, {len(refused)} rows refused"
    )
    list_refused(refused)
    return int(not answers)


def rows_of(log: Path, model: Model) -> Iterator[Row]:
    """The rows of a log, each a `Row`. Raises KatayoriError for a file of neither kind, or a log of another model."""
    if log.suffix == ".jsonl":
        yield from map(_lm_eval, json_lines(log, "sample log"))
        return
    if log.suffix not in (".json", ".eval"):
        raise KatayoriError(
            f"{log.name}: known are .json and .eval (inspect_ai), .jsonl (lm-evaluation-harness)"
        )
    asked, samples = _log_of_inspect(log)
    if asked != model.vendor_id and not asked.endswith(f"/{model.vendor_id}"):
        raise KatayoriError(
            f"{log.name} is a log of {asked}, not of {model.vendor_id}; see MODELS=id@custom"
        )
    yield from map(_inspect, samples)


def _log_of_inspect(log: Path) -> tuple[str, list[Any]]:
    """The model and the samples of a log. An interrupted .eval has its head in the journal only."""
    try:
        if log.suffix == ".json":
            raw = json.loads(log.read_bytes())
            return str(raw["eval"]["model"]), list(raw.get("samples") or ())
        with zipfile.ZipFile(log) as archive:
            held = archive.namelist()
            wanted = [name for name in ("header.json", "_journal/start.json") if name in held][:1]
            wanted += [
                name for name in held if name.startswith("samples/") and name.endswith(".json")
            ]
            if large := [name for name in wanted if archive.getinfo(name).file_size > MAX_MEMBER]:
                raise KatayoriError(
                    f"{log.name}: {large[0]} unpacks to more than {MAX_MEMBER:,} bytes"
                )
            head, *samples = (json.loads(archive.read(name)) for name in wanted)
        return str(head["eval"]["model"]), samples
    except NotImplementedError:
        remedy = "convert it with `inspect log convert --to json`"
        raise KatayoriError(
            f"{log.name} is packed with a method that Python's zipfile cannot read; {remedy}"
        ) from None
    except (KeyError, TypeError, AttributeError):
        raise KatayoriError(f"{log.name} is no log of inspect_ai: it names no eval.model") from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError) as error:
        raise KatayoriError(
            f"{log.name} cannot be read ({error}); is it there, and whole?"
        ) from None


def _inspect(sample: Any) -> Row:
    try:
        if sample.get("error") or sample.get("limit"):
            stopped = sample.get("error") or {
                "message": f"stopped by the {sample['limit'].get('type')} limit"
            }
            return {"refused": f"sample failed: {str(stopped.get('message'))[:200]}"}
        attached = sample.get("attachments") or {}
        turns = sample.get("messages") or sample.get("input") or ""
        turns = [{"content": turns}] if isinstance(turns, str) else turns
        about, choices = sample.get("metadata") or {}, (sample.get("output") or {}).get("choices")
        if not choices:
            return {"refused": "has no output"}
        if choices[0].get("stop_reason") == "tool_calls":
            return {"refused": "ends in a tool call, not in a text"}
        said, finish = (
            choices[0]["message"].get("content"),
            FINISH.get(choices[0].get("stop_reason"), "stop"),
        )
        choice = choices[0] | {
            "message": {"content": _content(said, attached)},
            "finish_reason": finish,
        }
        asked = "\n".join(
            _content(t.get("content"), attached) for t in turns if t.get("role") != "assistant"
        )
        row = {
            "item_id": str(about.get("item_id") or sample["id"]),
            "prompt_id": str(about.get("prompt_id") or ""),
        }
        return row | {
            "repetition": int(sample.get("epoch") or 1) - 1,
            "asked": asked,
            "choices": [choice],
        }
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        return {"refused": f"has not the form of a sample ({type(error).__name__})"}


def _content(content: Any, attached: dict[str, str]) -> str:
    """A message's text: its text parts, with what the log keeps apart (`attachment://…`) put back."""
    if isinstance(content, list):
        return "".join(
            _content(part.get("text"), attached) for part in content if part.get("type") == "text"
        )
    text = str(content or "")
    return (
        attached[text.removeprefix("attachment://")] if text.startswith("attachment://") else text
    )


def _lm_eval(row: Any) -> Row:
    doc, said, asked = row.get("doc"), row.get("resps"), row.get("arguments")
    if not isinstance(doc, dict) or not doc.get("item_id"):
        return {"refused": "has no doc.item_id"}
    if not isinstance(said, list) or not said:
        return {"refused": "has no resps"}
    texts = said[0] if isinstance(said[0], list) else said
    if len(said) > 1 or not texts or not all(isinstance(text, str) for text in texts):
        return {
            "refused": "holds scores of given continuations (loglikelihood), not a generated text"
        }
    while (
        isinstance(asked, list | dict) and asked
    ):  # [[prompt, settings]] or {gen_args_0: {arg_0: prompt, ...}}
        asked = next(iter(asked.values())) if isinstance(asked, dict) else asked[0]
    if isinstance(asked, str) and asked.startswith("[{"):  # a chat, as JSON text
        with suppress(ValueError, KeyError, AttributeError, TypeError):
            asked = "\n".join(
                str(turn["content"])
                for turn in json.loads(asked)
                if turn.get("role") != "assistant"
            )
    choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in texts]
    row = {"item_id": str(doc["item_id"]), "prompt_id": str(doc.get("prompt_id") or "")}
    return row | {"repetition": 0, "asked": str(asked or ""), "choices": choices}


def _take(
    row: Row, requests: dict[tuple, Request], only: str, model: Model, answers: dict[tuple, Row]
) -> str:
    """Put a row's answers beside the others; why it is refused, if it is."""
    prompt_id = row["prompt_id"] or only
    if not prompt_id:
        return "names no prompt_id; say which one with --prompt"
    if not (request := requests.get((row["item_id"], prompt_id))):
        known = any(prompt_id == p for _, p in requests)
        return (
            f"has an item that prompt {prompt_id} is not asked of"
            if known
            else f"has unknown prompt {prompt_id!r}"
        )
    seen = "".join(row["asked"].split())  # templates change white space
    if not all("".join(turn["content"].split()) in seen for turn in request.body["messages"]):
        return (
            f"was asked with another text than prompt {prompt_id}"
            if seen
            else "does not say what was asked"
        )
    for n, choice in enumerate(row["choices"], row["repetition"]):
        try:
            response = read_completion({"choices": [choice]}, request)
        except ValueError as error:
            return str(error)
        answer = {
            "item_id": request.item_id,
            "prompt_id": prompt_id,
            "model": model.id,
            "repetition": n,
        }
        answer |= {"text": response.text, "finish_reason": response.finish_reason}
        answer |= {"top": response.top} if response.top else {}
        if answers.setdefault((request.item_id, prompt_id, n), answer) != answer:
            return "a second, different answer; the first stays"
    return ""

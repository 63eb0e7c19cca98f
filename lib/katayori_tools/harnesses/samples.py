"""What a task asks, a line a sample; the same lines read back inside a harness.

    {"row": 0, "item_id": ..., "prompt_id": ..., "messages": [...], "settings": {...},
     "answer_at": "first", "target": "1", "columns": {"template_id": ..., ...}}

`messages` and `settings` are the body of our own request. `columns` are those of the item that the
scores need. Ids may be any text: nothing is built of them but JSON.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from katayori.data.files import json_lines
from katayori.papers import get_paper
from katayori.prompting.models import Server
from katayori.prompting.requests import Request, Response
from katayori_tools.harnesses.benchmarks import Benchmark, get_benchmark

Row = dict[str, Any]
#: What stands for the model in frames of a single model.
MODEL = "the model"
#: Of a server of one's own, what it returns decides whether there are probabilities.
OWN = Server(label="a harness")
#: Settings that ask for probabilities.
OF_PROBABILITIES = ("logprobs", "top_logprobs")


def rows_of(requests: Iterable[Request], benchmark: Benchmark) -> Iterator[Row]:
    """A row a request, in their order."""
    for number, request in enumerate(requests):
        settings = {name: value for name, value in request.body.items() if name != "messages"}
        yield {
            "row": number,
            "item_id": request.item_id,
            "prompt_id": request.prompt_id,
            "messages": request.body["messages"],
            "settings": settings,
            "answer_at": request.answer_at,
            "target": _target(request),
            "columns": {name: _plain(request.fields.get(name)) for name in benchmark.columns},
        }


def _target(request: Request) -> str:
    """The right option; empty where none is."""
    column = get_paper(request.paper).gold_column
    return str(request.fields[column]) if column else ""


def _plain(value: Any) -> Any:
    """A value of a frame as JSON has it: no numbers of numpy, and None for NaN."""
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value


def write(file: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Writes rows a line each and returns how many."""
    file.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


@lru_cache(maxsize=8)
def read(file: Path) -> list[Row]:
    """The rows of a file. KatayoriError for one that is no such file."""
    return list(json_lines(file, "file of samples"))


def request_of(row: Mapping[str, Any], paper: str) -> Request:
    """The request that a row was made of, to no model in particular.

    Example:
        >>> from katayori.papers import paper_ids
        >>> row = {"item_id": "i", "prompt_id": "p", "messages": [], "settings": {}, "columns": {}}
        >>> request_of(row, paper_ids()[0]).body
        {'messages': []}
    """
    return Request(
        paper=paper,
        dataset="study",
        item_id=row["item_id"],
        prompt_id=row["prompt_id"],
        prompt_hash="",
        variant="",
        model=MODEL,
        endpoint="",
        identity="",
        body={"messages": row["messages"], **row["settings"]},
        fields=row["columns"],
        answer_at=row.get("answer_at", "first"),
        server=OWN,
    )


def without_probabilities(request: Request) -> Request:
    """The request as a harness asks it that reads no probabilities.

    Example:
        >>> from katayori.papers import paper_ids
        >>> row = {"item_id": "i", "prompt_id": "p", "messages": [], "columns": {}}
        >>> row["settings"] = {"max_tokens": 8, "logprobs": True, "top_logprobs": 20}
        >>> without_probabilities(request_of(row, paper_ids()[0])).body
        {'messages': [], 'max_tokens': 8}
    """
    kept = {name: value for name, value in request.body.items() if name not in OF_PROBABILITIES}
    return replace(request, body=kept)


def reduced(paper: str, response: Response) -> Response:
    """The shortest response that is read as this one.

    A harness keeps it with each sample, in place of a text that may be long. Probabilities stay,
    which count even where the text cannot be read.

    Example:
        >>> from katayori.papers import paper_ids
        >>> long = Response("ok", "Let me think.\\nAnswer: yes", "stop")
        >>> reduced(paper_ids()[0], long).text
        'Answer: yes'
        >>> reduced(paper_ids()[0], Response("ok", "perhaps", "stop")).outcome
        'out_of_choice'
    """
    if response.outcome != "ok":
        return Response(response.outcome, top=response.top)
    parsed = get_benchmark(paper).parse(response.text, response.finish_reason)
    if parsed.answer is None:
        return Response(parsed.outcome, top=response.top, error=parsed.note)
    text = get_paper(paper).shortest.format(parsed.answer)
    return Response("ok", text, "stop", response.top)


def in_order(
    rows: Sequence[Row], numbers: Sequence[int], responses: Sequence[Response], paper: str
) -> tuple[list[Request], list[Response]]:
    """Requests and responses of answered rows in the order of the file, each row once.

    A harness ends samples in any order; sums depend on it in their last digit.

    Example:
        >>> from katayori.papers import paper_ids
        >>> row = {"item_id": "i", "prompt_id": "p", "messages": [], "settings": {}, "columns": {}}
        >>> both = [Response("ok", "b"), Response("ok", "a")]
        >>> _, responses = in_order([row, row], [1, 0], both, paper_ids()[0])
        >>> [response.text for response in responses]
        ['a', 'b']
    """
    first = dict(zip(reversed(numbers), reversed(responses), strict=True))
    requests = [request_of(rows[number], paper) for number in sorted(first)]
    return requests, [first[number] for number in sorted(first)]

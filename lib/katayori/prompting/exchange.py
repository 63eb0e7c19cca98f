"""Answers obtained elsewhere: a filled-in template is imported, every row checked."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from katayori.data.files import rows_of
from katayori.errors import KatayoriError
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

COLUMNS = ["item_id", "prompt_id", "model", "repetition", "text", "finish_reason"]


def import_answers(path: str | Path, requests: Sequence[Request]) -> list[Response]:
    """Read answers for the given requests from a filled-in template.

    Returns one response a request, in their order. A row without text is an empty answer (out of
    choice), a request without a row an `error`; rows of other requests are passed over. Where the
    request asks for log probabilities, a `.jsonl` row gives them as `top`: [[token, logprob], ...].
    Raises KatayoriError for a missing column, a cut-off line, or two different answers to one
    request.
    """
    given = read_answers(path)
    wanted = {_place(request): request for request in requests}
    answered = {key: _checked(wanted[key], given[key]) for key in wanted.keys() & given.keys()}
    absent = Response("error", error="not in the imported file")
    return [answered.get(_place(request), absent) for request in requests]


def read_answers(path: str | Path) -> dict[tuple[str, str, str, int], Response]:
    """Every answer of a file by item_id, prompt_id, model and repetition, whatever request it
    belongs to.

    Raises KatayoriError for a file that cannot be read, a missing column, and two different answers
    to one request.
    """
    path = Path(path)
    given: dict[tuple[str, str, str, int], Response] = {}
    for n, row in enumerate(rows_of(path, "answers file"), 1):
        if missing := [c for c in ("item_id", "prompt_id", "model", "text") if c not in row]:
            raise KatayoriError(f"{path.name} row {n} lacks the column(s) {', '.join(missing)}")
        try:
            repetition = int(row.get("repetition") or 0)
            top = [(str(token), float(logprob)) for token, logprob in row.get("top") or ()]
        except (TypeError, ValueError) as e:
            raise KatayoriError(
                f"{path.name} row {n}: repetition or top cannot be read ({e})"
            ) from None
        key = (str(row["item_id"]), str(row["prompt_id"]), str(row["model"]), repetition)
        finish = row.get("finish_reason") or "stop"
        response = Response("ok", str(row["text"] or ""), finish, top or None)
        if given.setdefault(key, response) != response:
            raise KatayoriError(
                f"{path.name} row {n}: a second, different answer to {row['item_id']}"
            )
    return given


def _checked(request: Request, given: Response) -> Response:
    """An answer with the outcome that follows from what its request asked for."""
    response = replace(given)
    if request.one_token:
        if not response.top:
            response.outcome, response.error = "error", "logprobs missing"
    elif response.finish_reason == "length":
        response.outcome = "truncated"
    return response


def _place(request: Request) -> tuple:
    return request.item_id, request.prompt_id, request.model, request.repetition

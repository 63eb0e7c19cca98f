"""Answers obtained elsewhere: a filled-in template is imported, every row checked."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from katayori.data.files import FORMULA, rows_of
from katayori.errors import KatayoriError
from katayori.finish_reasons import Ended, ended
from katayori.prompting.requests import Request, Response

COLUMNS = ["item_id", "prompt_id", "model", "repetition", "text", "finish_reason"]


def import_answers(path: str | Path, requests: Sequence[Request]) -> list[Response]:
    """Read answers for the given requests from a filled-in template.

    Returns one response a request, in their order. A row without text is an empty answer (out of
    choice), a request without a row an `error`; rows of other requests are passed over. A `.jsonl`
    row gives log probabilities as `top`: [[token, logprob], ...]; where requests ask for them and
    answers lack them, one line says how many. Raises KatayoriError for a missing column, a cut-off
    line, or two different answers to one request.
    """
    given = read_answers(path)
    absent = Response("error", error="not in the imported file")
    answers = []
    for request in requests:
        key = (request.item_id, request.prompt_id, request.model, request.repetition)
        answers.append(_checked(request, given[key]) if key in given else absent)
    asked = [
        answer
        for request, answer in zip(requests, answers, strict=True)
        if request.body.get("logprobs") and answer is not absent
    ]
    having = sum(bool(answer.top) for answer in asked)
    if having < len(asked):
        why = "a .csv holds none, a .jsonl row gives them as top: [[token, logprob], ...]"
        name = Path(path).name
        print(f"{name}: {having} of {len(asked)} answers with log probabilities ({why})")
    return answers


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
        item_id, prompt_id, model = map(_as_asked, (row["item_id"], row["prompt_id"], row["model"]))
        key = (item_id, prompt_id, model, repetition)
        finish = str(row.get("finish_reason") or "stop")
        response = Response("ok", str(row["text"] or ""), finish, top or None)
        if given.setdefault(key, response) != response:
            raise KatayoriError(
                f"{path.name} row {n}: a second, different answer to {row['item_id']}"
            )
    return given


def _as_asked(cell: object) -> str:
    """A name without the apostrophe by which a table keeps it from being a formula."""
    name = str(cell)
    return name[1:] if name[:1] == "'" and FORMULA.match(name[1:]) else name


def _checked(request: Request, given: Response) -> Response:
    """An answer with the outcome that follows from what its request asked for."""
    found = ended(given.finish_reason, one_token=request.one_token)
    if found.outcome == "ok" and request.one_token and not given.top:
        found = Ended("error", "logprobs missing")
    return replace(
        given, outcome=found.outcome, error=found.note if found.outcome == "error" else ""
    )

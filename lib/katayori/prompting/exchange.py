"""Answers obtained elsewhere: a filled-in template is imported, every row checked."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from katayori.data.files import rows_of
from katayori.errors import KatayoriError
from katayori.finish_reasons import Ended, ended
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request, Response

COLUMNS = ["item_id", "prompt_id", "model", "repetition", "text", "finish_reason"]


def import_answers(path: str | Path, requests: Sequence[Request]) -> list[Response]:
    """Read answers for the given requests from a filled-in template.

    Returns one response a request, in their order. A row without text is an empty answer (out of
    choice), a request without a row an `error`; rows of other requests are passed over. A `.jsonl`
    row gives log probabilities as `top`: [[token, logprob], ...]; where a prompt asks for them and
    answers lack them, one line says how many. Raises KatayoriError for a missing column, a cut-off
    line, or two different answers to one request.
    """
    given = read_answers(path)
    wanted = {_place(request): request for request in requests}
    answered = {key: _checked(wanted[key], given[key]) for key in wanted.keys() & given.keys()}
    if line := _without_probabilities(Path(path), wanted, answered):
        print(line)
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
        finish = str(row.get("finish_reason") or "stop")
        response = Response("ok", str(row["text"] or ""), finish, top or None)
        if given.setdefault(key, response) != response:
            raise KatayoriError(
                f"{path.name} row {n}: a second, different answer to {row['item_id']}"
            )
    return given


def _checked(request: Request, given: Response) -> Response:
    """An answer with the outcome that follows from what its request asked for."""
    found = ended(given.finish_reason, one_token=request.one_token)
    if found.outcome == "ok" and request.one_token and not given.top:
        found = Ended("error", "logprobs missing")
    return replace(
        given, outcome=found.outcome, error=found.note if found.outcome == "error" else ""
    )


def _without_probabilities(
    path: Path, asked: dict[tuple, Request], answered: dict[tuple, Response]
) -> str:
    """How many answers lack the log probabilities that their prompt asks for; empty if none."""
    papers = {asked[key].paper for key in answered}
    asking = {
        (paper, name)
        for paper in papers
        for name, prompt in load_prompts(paper).items()
        if prompt.settings.get("logprobs")
    }
    # The prompt decides: what a request holds depends on what its endpoint is known to support.
    of_interest = [
        response
        for key, response in answered.items()
        if (asked[key].paper, asked[key].prompt_id) in asking or asked[key].body.get("logprobs")
    ]
    having = sum(bool(response.top) for response in of_interest)
    if having == len(of_interest):
        return ""
    why = "a .csv holds none, a .jsonl row gives them as top: [[token, logprob], ...]"
    return f"{path.name}: {having} of {len(of_interest)} answers with log probabilities ({why})"


def _place(request: Request) -> tuple:
    return request.item_id, request.prompt_id, request.model, request.repetition

"""Requests and their responses as one frame, which all notebooks share."""

import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from katayori.finish_reasons import JUDGED_WHEN_READ, USUAL
from katayori.prompting.parsing import Parsed, answer_in, option_probabilities
from katayori.prompting.requests import Request, Response

if TYPE_CHECKING:
    import pandas as pd

#: Columns that belong to the answer: an item's column of the same name never takes their place.
OF_ANSWERS = (
    *("item_id", "model", "prompt_id", "repetition", "outcome", "answer", "source", "note", "text"),
    *("finish_reason", "completion_tokens", "created", "letter", "top", "mass", "p_status"),
    *("continuation", "sum_logp", "n_tokens", "per_token"),
)
ANSWER_COLUMNS = ["item_id", "model", "prompt_id", "repetition", "outcome", "answer", "source"]
#: What is known of a request for given texts.
OF_REQUEST = ("item_id", "model", "prompt_id", "repetition", "outcome", "source", "note")
#: What an answers frame holds besides, before the columns of probabilities.
MORE_COLUMNS = ["note", "text", "finish_reason", "completion_tokens", "created"]


def answers_frame(
    requests: Sequence[Request],
    responses: Sequence[Response],
    source: str,
    *,
    parse: Callable[[str], Parsed],
    options: tuple[str, ...],
) -> "pd.DataFrame":
    """Requests and their responses as the answers frame (see `answers.get`).

    Behind the columns of the answer stand those of its item (`Request.fields`), so that no metric
    has to find the item again. They may hold texts of third parties: keep them in memory.

    Of likelihood requests, whose answers are no words, it is that of `scores_frame`.
    """
    import pandas as pd

    if requests and requests[0].likelihood:
        return scores_frame(requests, responses, source)
    has_shares = bool(requests and requests[0].body.get("logprobs"))
    # One token is no text to read: the likelier option answers. Elsewhere the text does, the
    # probabilities beside it.
    by_probability = has_shares and requests[0].one_token
    rows = []
    for request, response in zip(requests, responses, strict=True):
        shares = option_probabilities(response.top, options) if has_shares else {}
        parsed = _parsed(response, parse, shares if by_probability else None)
        row: dict[str, Any] = {name: getattr(request, name) for name in OF_REQUEST[:4]}
        row |= {name if name == "mass" else f"p_{name}": p for name, p in shares.items()}
        row |= {"outcome": parsed.outcome, "answer": parsed.answer}
        odd = response.error if response.outcome == "ok" else ""  # in what it was asked otherwise
        row |= {"source": source, "note": "; ".join(filter(None, (odd, parsed.note)))}
        row |= {name: getattr(response, name) for name in MORE_COLUMNS[1:]}
        rows.append(row)
    return _beside_fields(pd.DataFrame(rows), requests)


def scores_frame(
    requests: Sequence[Request], responses: Sequence[Response], source: str
) -> "pd.DataFrame":
    """Likelihood requests and their responses as a tidy frame, one row a request.

    Returns `OF_REQUEST`, for each text that was scored logp_<name> (nats) and tokens_<name>, and
    the columns of the item. What was not scored is NaN.

    Example: the lean of an item is `frame["logp_target_words"] - frame["logp_other_words"]`.
    """
    import pandas as pd

    rows = []
    for request, response in zip(requests, responses, strict=True):
        names, outcome, note = request.continuations, response.outcome, response.error
        pairs = json.loads(response.text) if outcome == "ok" else []
        if outcome == "ok" and len(pairs) != len(names):
            outcome, note = "error", f"{len(pairs)} scores for {len(names)} continuations"
        row: dict[str, Any] = {name: getattr(request, name) for name in OF_REQUEST[:4]}
        row |= {"outcome": outcome, "source": source, "note": note}
        scored = pairs if outcome == "ok" else [(math.nan, math.nan)] * len(names)
        for name, (logp, tokens) in zip(names, scored, strict=True):
            row |= {f"logp_{name}": logp, f"tokens_{name}": tokens}
        rows.append(row)
    return _beside_fields(pd.DataFrame(rows), requests)


def _beside_fields(frame: "pd.DataFrame", requests: Sequence[Request]) -> "pd.DataFrame":
    """The frame, a row a request, with the columns of the items behind its own.

    An item's column never takes the place of one that belongs to answers
    (`OF_ANSWERS`) or that the frame holds.
    """
    import pandas as pd

    taken = {*OF_ANSWERS, *frame.columns}
    names = dict.fromkeys(name for request in requests for name in request.fields)
    columns = {
        name: [request.fields.get(name) for request in requests]
        for name in names
        if name not in taken
    }
    return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)


def _parsed(
    response: Response, parse: Callable[[str], Parsed], shares: dict[str, float] | None
) -> Parsed:
    """Outcome and answer: of the text or, where there are `shares`, the likeliest option."""
    if response.outcome != "ok":
        return Parsed(response.outcome, None, response.error or response.finish_reason)
    if shares is None:
        # Whether an answer came whole was judged when it came: what its last word is taken for by a
        # later version changes no stored answer.
        word = response.finish_reason
        word = word if word in JUDGED_WHEN_READ else USUAL["ok"]
        return answer_in(parse, response.text, word)
    if shares["mass"] > 0:
        options = [name for name in shares if name != "mass"]
        return Parsed("ok", max(options, key=shares.__getitem__))
    return Parsed("out_of_choice", None)  # the mass is NaN without log probabilities

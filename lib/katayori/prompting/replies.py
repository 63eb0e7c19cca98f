"""How the replies of servers are read: to a chat, to a completion, to a likelihood, and failures.

A likelihood prompt (`kind: likelihood`) asks how likely a model finds given texts as its answer. An
answer is stored as the text `[[sum_logp, n_tokens], ...]`, one pair a continuation, in their order.
"""

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import accumulate
from typing import Any

from katayori.finish_reasons import LONGEST, ended, strip_thinking, without_thoughts
from katayori.prompting.letters import letter_of, parse_verdict
from katayori.prompting.requests import Request, Response

MAX_TEXT = 2**20  # bytes of a reply's text that are kept; one that never ends would fill the disk
_ROUNDED = 1e-3  # a log probability below it is 0 that was rounded
_SHOWN = 100  # characters of what came in place of an answer
NO_MONEY = 402
#: Kind of a failure -> what its cause contains, in the words of vendors and servers. They say more
#: than the status: a server without money answers 402, 403 or 429.
_CAUSES = {
    "filtered": (
        *("content filter", "content management policy", "content policy", "policy violation"),
        *("responsible ai", "responsibleai", "safety system", "safety filter", "safety setting"),
        *("blocked by safety", "guardrail", "data inspection", "datainspection", "content violat"),
        *("inappropriate content", "prohibited content", "sensitive content", "harmful content"),
        *("unsafe content", "content exists risk", "requires moderation", "content moderation"),
        *("moderation blocked", "input was flagged", "been flagged", "our usage polic"),
        *("違反", "违规", "敏感", "不適切", "不适当"),
    ),
    "money": (
        *("insufficient quota", "insufficient balance", "insufficient fund", "insufficient credit"),
        *("credit balance", "out of credit", "more credit", "no credit", "enough credit"),
        *("remaining credit", "included credit", "credits exhausted", "depleted", "enough balance"),
        *("billing hard limit", "billing not active", "check your billing", "payment required"),
        *("arrear", "overdue", "unpaid", "spending limit", "spend limit", "top up", "recharge"),
        *("budget has been exceeded", "budget exceeded", "exceededbudget", "subscription"),
        *("残高", "余额", "欠费", "クレジット不足"),
    ),
}
_SPECIAL = re.compile(r"<[^<>]{0,40}>")  # end-of-text tokens, which some servers list
_ended = lru_cache(1000)(ended)


class ServerError(ValueError):
    """A request without an answer, and why.

    `status`: of the reply, or what the failure has by its own word, 500 where nothing tells one: a
    broken connection is the server's trouble, too. `wait`: so many seconds the server asks to be
    left alone.
    """

    def __init__(self, cause: str, status: int = 500, wait: float = 0.0) -> None:
        super().__init__(cause)
        self.status, self.wait = status, wait
        self.sent: dict[str, Any] | None = None  # the body that was refused


def failed(cause: str) -> Response:
    """What a request without an answer is stored as: what a filter stopped is no error."""
    filtered = failure(cause) == "filtered"
    return Response("filtered" if filtered else "error", error=cause[:300])


def cause_of(said: Any) -> str:
    """What an `error` of a reply says, with its code where it has one; it may lie in another."""
    if not isinstance(said, dict):
        return str(said)
    if said.get("error"):
        return cause_of(said["error"])
    code = said.get("code") or said.get("type")
    return f"{said.get('message') or 'no message'}" + (f" [{code}]" if code else "")


def refuse_failure(part: Any, raw: bytes = b"") -> None:
    """Raises ServerError where an answer, or a choice of it, holds an error, and ValueError where
    what came (`raw`) is no JSON.
    """
    if part is None and raw:
        raise ValueError(f"the answer is not JSON: {_beginning(raw)}")
    said = part.get("error") if isinstance(part, dict) else None
    if not said:
        return
    cause = f"error within an answer: {cause_of(said)}"
    code = str(said.get("code")) if isinstance(said, dict) else ""
    status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500
    raise ServerError(cause, status_of(cause, status))


def failure(cause: str, status: int = 0) -> str:
    """What a request failed by, where its cause tells it: `filtered` (the provider's decision),
    `money` (none is left), or an empty text: asking again may help.
    """
    said = re.sub(r"[\W_]+", " ", cause.casefold())
    found = next((kind for kind, parts in _CAUSES.items() if any(p in said for p in parts)), "")
    # Gemini says this of a minute's limit, too, and when to come again.
    spent = "exceeded your current quota" in said and "retry" not in said
    return found or ("money" if spent or status == 402 else "")


def parsed(raw: bytes) -> Any:
    """JSON as servers write it, some with a byte order mark or with NaN; None for anything else."""
    import orjson

    text = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return None


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float:
    """Seconds that a server asks to be left alone; 0 where it says nothing that can be read.

    `headers` finds names in lower case. `retry-after-ms` (milliseconds, some vendors) comes before
    `retry-after` (seconds, or a date; RFC 9110, section 10.2.3). `now` is a time in seconds since
    1970, by default the present one.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) / unit
            return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(headers.get("retry-after", ""))
        # One of its three forms names no zone; all mean GMT, never this machine's.
        at = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
        return max(0.0, at - (time.time() if now is None else now))
    return 0.0


def status_of(cause: str, status: int) -> int:
    """The status that says what can be done: a filter's decision is final, whatever its own."""
    return {"filtered": 400, "money": NO_MONEY, "": status}[failure(cause, status)]


def _beginning(raw: bytes) -> str:
    """The first characters of what came, for a line on the screen."""
    text = " ".join(raw[: 4 * _SHOWN].decode("utf-8", "replace").split())[:_SHOWN]
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def read_completion(body: Any, request: Request) -> Response:
    """Turn a chat-completion object into a Response.

    Raises ValueError naming what is malformed or missing.
    """
    try:
        return _read(body, request)
    except (AttributeError, KeyError, TypeError, IndexError) as e:
        raise ValueError(f"malformed answer: {type(e).__name__} {e}") from None


def _read(body: Any, request: Request) -> Response:
    refuse_failure(body)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not choices or not isinstance(choices[0], dict):
        came = _beginning(json.dumps(body, ensure_ascii=False, default=str).encode())
        raise ValueError(f"no choices in the answer: {came}")
    choice, usage = choices[0], body.get("usage") or {}
    refuse_failure(choice)  # as OpenRouter sends it, beside half a text
    message = choice.get("message") or {}
    word = choice.get("finish_reason")
    finish = "" if word is None else str(word)[:LONGEST]
    text = message.get("content") or choice.get("text") or ""
    if isinstance(text, list):  # some vendors send parts, thoughts among them
        parts = (part for part in text if part.get("type", "text") in ("text", "output_text"))
        text = "".join(part.get("text") or "" for part in parts)
    thoughts = message.get("reasoning_content") or message.get("reasoning") or ""
    asks, top, odd = bool(request.body.get("logprobs")), None, 0
    if asks:
        top, odd = _top(choice.get("logprobs"), request, str(text), bool(thoughts))
    outcome, error = _outcome(request, finish, message, lacking=asks and not top)
    if outcome == "ok" and odd:
        error = f"some log probabilities are none ({odd} left out)"
    if outcome == "ok" and thoughts and not text:
        error = "thoughts without an answer behind them"
    if outcome == "refusal":
        text = text or message.get("refusal") or ""
    text = str(text)
    if len(text) > MAX_TEXT // 4 and len(raw := text.encode("utf-8", "replace")) > MAX_TEXT:
        text = raw[:MAX_TEXT].decode("utf-8", "ignore")
        outcome, error = "truncated", "longer than 1 MiB"
    return Response(
        outcome,
        text,
        finish,
        top,
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        str(body.get("model") or ""),
        str(body.get("system_fingerprint") or ""),
        error=error,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


def _outcome(
    request: Request, finish: str, message: dict[str, Any], *, lacking: bool
) -> tuple[str, str]:
    """Outcome and error of an answer that ended so; `lacking`: without its log probabilities.

    Raises ServerError where the word says that the server failed.
    """
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    found = _ended(finish, one_token=limit == 1)
    if found.again:
        raise ServerError(found.note)
    if message.get("refusal") and found.outcome != "filtered":
        return "refusal", ""
    if found.outcome == "ok" and lacking and needs_logprobs(request):
        return "error", "logprobs missing"
    return found.outcome, found.note if found.outcome == "error" else ""


def needs_logprobs(request: Request) -> bool:
    """Whether an answer without log probabilities is a failure, which is asked again.

    One token has no text to read. Of a vendor it is known that they come; what a server of the
    user's own returns decides, and its texts can be read without them.
    """
    return request.one_token or not request.server.own


def _top(
    logprobs: Any, request: Request, text: str, thinks: bool
) -> tuple[list[tuple[str, float]] | None, int]:
    """The likeliest tokens at the answer's position, from the form of chats or completions, and how
    many of them could not be read.

    What can be read is kept. Without the alternatives the chosen token tells nothing of the others.
    """
    places = _places(logprobs)
    if not places:
        return None, 0
    at = _position([token for token, _ in places], request, text, thinks)
    pairs = places[at][1]
    read = [(token, round(min(float(p), 0.0), 5)) for token, p in pairs if _is_logprob(token, p)]
    return sorted(read, key=lambda pair: -pair[1]) or None, len(pairs) - len(read)


def _places(logprobs: Any) -> list[tuple[str, list[tuple[Any, Any]]]]:
    """Each token of an output with its alternatives; nothing where the form is not known."""
    if isinstance(logprobs, dict) and isinstance(tokens := logprobs.get("tokens"), list):
        found = logprobs.get("top_logprobs")  # completions: a mapping for each token
        found = found if isinstance(found, list) else []
        rest = [None] * (len(tokens) - len(found))
        return [(str(t), _pairs(top)) for t, top in zip(tokens, [*found, *rest], strict=False)]
    content = logprobs.get("content") if isinstance(logprobs, dict) else logprobs
    listed = content if isinstance(content, list) else []
    places = [place for place in listed if isinstance(place, dict)]
    return [(str(place.get("token", "")), _pairs(place.get("top_logprobs"))) for place in places]


def _pairs(top: Any) -> list[tuple[Any, Any]]:
    if isinstance(top, dict):
        return list(top.items())
    listed = top if isinstance(top, list) else []
    return [(one.get("token"), one.get("logprob")) for one in listed if isinstance(one, dict)]


def _is_logprob(token: Any, value: Any) -> bool:
    """Whether a token and its log probability are ones; rounding lifts some above zero."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(token, str) and is_number and -math.inf < value < _ROUNDED


def _position(tokens: list[str], request: Request, text: str, thinks: bool) -> int:
    """Which token of an output the probabilities are read at: thoughts are not the answer."""
    spoken = without_thoughts(tokens)
    if thinks and (answer := strip_thinking(text)[0].strip()):  # a field of their own has no mark
        start = max(0, "".join(tokens).rfind(answer))
        ends = accumulate(len(token) for token in tokens)
        spoken = [one if end > start else "" for one, end in zip(spoken, ends, strict=True)]
    said = [n for n, token in enumerate(spoken) if token.strip()]
    # A token that ends the turn stands behind, and moves nothing.
    moved = said and spoken[: said[-1]] != tokens[: said[-1]]
    first = said[0] if moved else 0
    if request.answer_at == "last_letter":
        return first + verdict_position(spoken[first:])
    return first


def verdict_position(tokens: Sequence[str]) -> int:
    """Which token of an output is the verdict's.

    It is the last letter with only punctuation behind it, or else the letter of a final form
    ("[[B]]です。"). Without either it is the first token that is not white space, where a
    verdict-only output has its verdict.
    """
    for n in reversed(range(len(tokens))):
        if letter_of(tokens[n]):
            return n
        if re.search(r"[^\W_]", _SPECIAL.sub("", tokens[n])):
            break
    letter = parse_verdict(_SPECIAL.sub("", "".join(tokens))).answer
    named = [n for n, token in enumerate(tokens) if letter and letter_of(token) == letter]
    return named[-1] if named else next((n for n, t in enumerate(tokens) if t.strip()), 0)


def scored(request: Request, scores: Any) -> Response:
    """Scores that came for a request as the Response to be stored: log probabilities to five
    decimals.

    What is not one finite pair a continuation becomes the outcome `error`, which is asked again.
    """
    if isinstance(scores, dict):
        return Response("error", error=str(scores.get("error") or "no cause given")[:300])
    n = len(request.body["continuations"])
    try:
        pairs = [[round(float(logp), 5), tokens] for logp, tokens in scores]
        if len(pairs) != n:
            raise ValueError(f"{len(pairs)} scores for {n} continuations")
        for logp, tokens in pairs:
            if not math.isfinite(logp) or logp > 0:
                raise ValueError(f"{logp} is no log probability")
            if type(tokens) is not int or tokens < 1:
                raise ValueError(f"{tokens!r} is no number of tokens")
    except (TypeError, ValueError, OverflowError) as e:
        return Response("error", error=f"wrong scores: {e}"[:300])
    return Response("ok", json.dumps(pairs), "scored")


def read_scores(replies: Sequence[Any], request: Request) -> Response:
    """The Response from the replies to `scoring_bodies`; what cannot be read is an `error`.

    The tokens of the prompt alone must begin each prompt with a continuation: elsewhere the
    tokenizer joins both, or the template writes something else there.
    """
    try:
        alone, *others = [_tokens(reply) for reply in replies]
        start = [token for token, _ in alone]
        if any([token for token, _ in one[: len(start)]] != start for one in others):
            raise ValueError("prompt and continuation share a token: their border cannot be told")
    except ValueError as e:
        return Response("error", error=str(e))
    rest = [[logp for _, logp in one[len(start) :]] for one in others]
    response = scored(request, [(sum(logps), len(logps)) for logps in rest])
    response.prompt_tokens = len(alone) + 1  # of the first token there is no log probability
    response.model_answered = str(replies[0].get("model") or "")
    return response


def _tokens(reply: Any) -> list[tuple[str, float]]:
    """Token id and log probability of each token of a prompt but the first."""
    found = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
    if not isinstance(found, list) or not all(found[1:]):
        raise ValueError("the server returns no prompt_logprobs: is it vLLM?")
    tokens = []
    for place in found[1:]:
        try:
            [(token, about)] = place.items()
            tokens.append((str(token), float(about["logprob"])))
        except (AttributeError, KeyError, TypeError, ValueError):
            cause = "a token without log probability, or other tokens than the prompt's own"
            raise ValueError(f"prompt_logprobs holds {cause}") from None
    return tokens

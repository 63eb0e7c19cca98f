"""How servers say why an answer ended, and what it counts as: one table for every way in.

Only the known words of a whole answer make one. The others are told by what they contain, since
servers write one kind in many ways: OpenAI `content_filter`, its endpoint at Gemini
`content_filter: PROHIBITED_CONTENT` or `SAFETY`, Bedrock `guardrail_intervened`. A word of no known
kind is no answer either, and is named wherever answers are counted.
"""

import re
from typing import Any, NamedTuple

#: ok: the model answered in full. truncated: cut at the token limit, never parsed as an answer.
#: refusal / filtered: the model or the provider declined. error: nothing came back that is known to
#: be an answer; asked again next time. out_of_choice is given by parsers.
OUTCOMES = ("ok", "out_of_choice", "refusal", "filtered", "truncated", "error")
#: Of OpenAI, TGI and Together (`eos`), Anthropic, Cohere (`COMPLETE`); our own of likelihoods.
WHOLE = {"stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "scored"}
#: How files write that there is no word.
NO_WORD = {"", "null", "none"}
#: Words that are not of the kind that a part of them tells: Cohere, llama.cpp, Gemini.
WORDS = {
    "error_toxic": "filtered",
    "error_limit": "truncated",
    "limit": "truncated",
    "language": "filtered",
}
#: Kind -> what its words contain; the first kind that fits counts.
PARTS = {
    "error": (
        *("error", "fail", "abort", "cancel", "interrupt", "exception", "timeout", "timed_out"),
        *("time_limit", "rate_limit", "overload", "unavailable", "insufficient", "exhausted"),
    ),
    "tool": ("tool", "function_call"),
    "filtered": (
        *("filter", "safety", "unsafe", "moderat", "guardrail", "blocked", "blocklist", "policy"),
        *("prohibited", "recitation", "copyright", "spii", "sensitive", "toxic", "flagged"),
    ),
    "truncated": (
        *("length", "max_token", "maximum_token", "max_output", "max_new_token", "max_completion"),
        *("max_len", "token_limit", "context", "truncat"),
    ),
    "refusal": ("refus",),
}
#: The usual word of an outcome, where it has one.
USUAL = {"ok": "stop", "truncated": "length", "filtered": "content_filter", "refusal": "refusal"}
#: Words of a text that did not come whole, as far as stored answers were judged before this table.
JUDGED_WHEN_READ = ("length", "content_filter")
_PREFIX = re.compile(r"^(?:(?:finish|stop)_)?reason_|^finish_")
LONGEST = 60  # characters of a word that are looked at and shown


class Ended(NamedTuple):
    """What a finish reason makes of an answer.

    `outcome` as in `OUTCOMES`; `note` says why there is no answer; `again`: whether
    the server failed, so that the same request is asked again.
    """

    outcome: str
    note: str = ""
    again: bool = False


def ended(word: Any, *, one_token: bool = False) -> Ended:
    """What an answer is that ended for this reason.

    Args:
        word: what the server said; None and an empty text say nothing, and the answer is whole.
        one_token: whether one token was asked for, which always ends at the limit.
    """
    kind = _kind("" if word is None else str(word)[:LONGEST].strip())
    shown = repr(str(word)[:LONGEST])
    if kind == "truncated":
        return Ended("ok") if one_token else Ended("truncated", "token limit")
    return {
        "ok": Ended("ok"),
        "filtered": Ended("filtered", "provider's filter"),
        "refusal": Ended("refusal", "declined"),
        "tool": Ended("error", f"ends in a tool call, not in a text ({shown})"),
        "error": Ended("error", f"the server failed (finish reason {shown})", again=True),
        "unknown": Ended("error", f"unknown finish reason {shown}"),
    }[kind]


def usual(word: Any) -> str:
    """A finish reason in the word that OpenAI uses for its kind; others as they are."""
    return USUAL.get(ended(word).outcome, str(word))


def _kind(word: str) -> str:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word)  # maxTokens
    plain = re.sub(r"[\W_]+", "_", plain.casefold()).strip("_")
    plain = _PREFIX.sub("", plain)
    if word.casefold() in NO_WORD or plain in WHOLE:
        return "ok"
    if plain in WORDS:
        return WORDS[plain]
    kinds = (kind for kind, parts in PARTS.items() if any(part in plain for part in parts))
    return next(kinds, "unknown")

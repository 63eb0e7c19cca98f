"""How servers say why an answer ended, and what it counts as: one table for every way in.

How they leave thoughts in a text stands below, by the marks around them.

Only the known words of a whole answer make one. The others are told by what they contain, since
servers write one kind in many ways: OpenAI `content_filter`, its endpoint at Gemini
`content_filter: PROHIBITED_CONTENT` or `SAFETY`, Bedrock `guardrail_intervened`. A word of no known
kind is no answer either, and is named wherever answers are counted.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

#: ok: the model answered in full. truncated: cut at the token limit, never parsed as an answer.
#: refusal / filtered: the model or the provider declined. error: nothing came back that is known to
#: be an answer; asked again next time. out_of_choice is given by parsers.
OUTCOMES = ("ok", "out_of_choice", "refusal", "filtered", "truncated", "error")
#: Of OpenAI, TGI and Together (`eos`), Anthropic, Cohere (`COMPLETE`); our own of likelihoods.
_WHOLE = {"stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "scored"}
#: How files write that there is no word.
_NO_WORD = {"", "null", "none"}
#: Words that are not of the kind that a part of them tells: Cohere, llama.cpp, Gemini.
_WORDS = {
    "error_toxic": "filtered",
    "error_limit": "truncated",
    "limit": "truncated",
    "language": "filtered",
}
#: Kind -> what its words contain; the first kind that fits counts.
_KINDS = {
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
    if word.casefold() in _NO_WORD or plain in _WHOLE:
        return "ok"
    if plain in _WORDS:
        return _WORDS[plain]
    kinds = (kind for kind, parts in _KINDS.items() if any(part in plain for part in parts))
    return next(kinds, "unknown")


# -- what of a text is thought ---------------------------------------------------------------------

#: What the names of marks around thoughts contain, in any brackets: <think>, [THINK],
#: <seed:think>, <|begin_of_thought|>, <|START_THINKING|>, <inner_monologue>, <judge> (KAT).
THOUGHTS = re.compile(
    r"think|thought|reason|rationale|analy[sz]|scratch|reflect|monologue|\bcot\b|deliberat|ponder"
    r"|contemplat|brainstorm|introspect|cogitat|ruminat|musing|\bplan(?:ning)?\b|\bjudge\b"
    r"|commentary|critique|consider|explanation|justification|observation|internal|hidden|\bnotes?\b"
    "|思考|考え|推論|推理|考察|熟考|内省|独白"
)
#: Whole words of those around the answer behind them.
ANSWERS = re.compile(
    r"\b(?:answer|final|output|response|solution|result|conclusion|reply|verdict|choice|content"
    r"|judge?ment|回答|答え|解答|最終回答|判定|結論|答案)\b"
)
#: Reserved tokens whose names do not tell: Gemma, Gemini, Pangu, Apertus.
_OPENING, _CLOSING = (
    "unused94 ctrl94 unused16 inner_prefix",
    "unused95 ctrl95 unused17 inner_suffix",
)
_ALIASES = dict.fromkeys(_OPENING.split(), "begin thought")
_ALIASES |= dict.fromkeys(_CLOSING.split(), "end thought")
_END = re.compile(r"\b(?:end|stop|close|finish|eo|done)\b")
_PLACE = re.compile(rf"(?:\b(?:start|begin|open|bo|of|on)\b|{_END.pattern}) ?")
_OFF = re.compile(r"\b(?:off|no|nothink)\b")
#: Names of several words with blanks between; with others among them it is prose in brackets.
_BLANKS = re.compile(
    rf"(?:{_PLACE.pattern}|\b(?:my|inner|internal|chain|process|thoughts?|think(?:ing)?"
    rf"|reason(?:ing)?|analysis|monologue)\b ?|{ANSWERS.pattern} ?)+"
)
#: Tokens before the name of a channel or a role, and tokens without bars.
_HEADER = re.compile(r"channel|start|begin|im start|start header id|start of (?:role|turn)|turn")
_TOKEN = re.compile(
    r"(?:.* )?(?:s|eos|bos|pad|sep|eot|eod)|(?:start|end) of (?:turn|text)|unused\d+"
)
_TURN = re.compile(r"end|eo|im end|return|call|turn|s$|.* eos")
# Every pattern is bounded, so that hostile text of any length takes linear time.
_NAME = r"[^\W\d_][\w:.▁-]{0,60}(?:\ [\w-]{1,20}(?![\w-]|\s?=)){0,4}"
_MARK = re.compile(
    rf"""(?P<fence>```\w{{0,20}}|<details[^<>]{{0,200}}>\s{{0,9}}<summary>[^<>]{{0,100}})
    |(?P<mark>\\?(?:[<＜◁\[【《〈{{]|&lt;)\s{{0,3}}/?[|｜]?[/\\]?\s{{0,3}}{_NAME}
        (?:\s[^<>=]{{0,60}}=[^<>]{{0,200}})?\s{{0,3}}/?[|｜\\]?(?:[>＞▷\]】》〉}}]|&gt;))
    |(?P<open>\A\s{{0,9}}(?:Here(?:['’]s|\ is)\ my\ thought\ process:
        |Here\ are\ my\ reasoning\ steps:|Thinking\.\.\.\s{{0,3}}\n
        |(?:assistant)?(?:analysis|commentary)(?=[\w"“「(<])|(?:analysis|thought)\s{{0,3}}\n))
    |(?P<close>\.\.\.done\ thinking\.)
    |(?P<answer>assistant\n?final|\A\s{{0,9}}final(?=[A-Z0-9]|[^\x00-\x7f]))
    |(?P<reply>Here(?:['’]s|\ is)\ my\ response:)""",
    re.X,
)
_PARTS = re.compile(f"({_NAME})")
_HEAD = re.compile(
    r"\s{0,3}([^\W\d_]{1,20}(?:/[^\W\d_]{1,20})?)"
    r"(?:[^\n<>]{0,80}(?:<\|constrain\|>[^\n<>]{0,80})?"
    r"<\|(?:message|content|end_header_id|end_of_role)\|>)?"
)
#: Closing marks, and what without one looks like a heading: in square brackets, but for tokens of
#: Mistral and Pangu, and in any others around Japanese, such as ＜考察＞.
_CLOSED = re.compile(rf"[<＜\[【《〈{{](?:/\s{{0,3}}|(?=(?i:end))){_NAME}\s{{0,3}}[>＞\]】》〉}}]")
_HEADING = re.compile(r"(?:[\[【《〈{](?!THINK\]|unused)|[<＜](?=[^\x00-\x7f]))[^|｜]*")
_QUOTED = {"``", '""', "''", "“”", "「」", "『』"}


def strip_thinking(text: str) -> tuple[str, bool]:
    """The text without its thoughts, and whether one was opened and never closed (it was cut).

    Thoughts are known by the marks around them (`THOUGHTS`), also where a server dropped the
    opening one. Marks around the answer and tokens that end a turn go, too; a mark in quotes is
    one that is talked of. Where there is no mark, the text stays as it is.
    """
    parts, cut = _spoken(text)
    kept = "".join(glue + text[start:end] for glue, start, end in parts)
    return kept if kept == text else kept.strip(), cut


def without_thoughts(tokens: Sequence[str]) -> list[str]:
    """Tokens of a text, those of thoughts and marks as empty texts.

    Example:
        >>> without_thoughts(["<think>", "A", "?", "</think>", "\\n", "B"])
        ['', '', '', '', '\\n', 'B']
    """
    text = "".join(tokens)
    kept = bytearray(len(text))
    for _, start, end in _spoken(text)[0]:
        kept[start:end] = b"1" * (end - start)
    ends = accumulate(map(len, tokens))
    return [
        token if any(kept[end - len(token) : end]) else ""
        for token, end in zip(tokens, ends, strict=True)
    ]


def _spoken(text: str) -> tuple[list[tuple[str, int, int]], bool]:
    """What of a text is no thought: of each part what stands for the marks before it, and its
    place; whether a thought is open at the end.
    """
    kept: list[tuple[str, int, int]] = []
    glue, start, opened = "", 0, ""
    for kind, key, at, end in [*_marks(text), ("stop", "", len(text), 0)]:
        own = key == opened.rstrip("|") and kind in ("close", "shut")
        if kind == "answer" or (kind == "reply" and (opened or text[at - 1 : at] == "\n")):
            kept, glue, start, opened = [], "", end, ""
        elif own or (kind == "end" and opened.endswith("|")):  # a channel ends with its message
            glue, start, opened = "\n", end, ""
        elif kind == "stop":  # the end, or a turn of the user that the model wrote on
            kept += [] if opened else [(glue, start, at)]
            break
        elif kind == "close" and not opened:  # some servers drop the opening mark
            kept, glue, start = [], "", end
        elif not opened and kind not in ("reply", "shut"):
            kept.append((glue, start, at))
            glue, start = "\n" if kind in ("open", "end") else " ", end
            opened = key if kind == "open" else ""
    return kept, bool(opened)


def _marks(text: str) -> Iterator[tuple[str, str, int, int]]:
    """The marks of a text: kind, name of the thought, where they begin and end."""
    # Where a heading looks the same, only what is closed is an envelope.
    paired = {_meant(one)[1] for one in _CLOSED.findall(text)}
    past = 0
    for match in _MARK.finditer(text):
        (at, end), written, kind = match.span(), match[0], str(match.lastgroup)
        key = "text"
        if kind == "fence":
            key = "details" if written[0] == "<" else kind
            kind = "open" if THOUGHTS.search(written.casefold()) else "shut" * (written == "```")
        elif kind == "mark":
            kind, key = _meant(written)
            heads = key not in paired and _HEADING.fullmatch(written)
            if heads and (kind == "open" or (kind == "tag" and written[0] not in "<＜")):
                kind = ""
            if kind == "header":
                kind, key, end = _headed(key, text, end)
        if kind and at >= past and text[at - 1 : at] + text[end : end + 1] not in _QUOTED:
            past = end
            yield kind, key, at, end


def _headed(header: str, text: str, end: int) -> tuple[str, str, int]:
    """Kind, name and end of a token that names the channel or the role of what follows."""
    found = _HEAD.match(text, end)
    name, past = (found[1].casefold(), found.end()) if found else ("", end)
    if ANSWERS.fullmatch(name) or name in ("assistant", "model"):
        return "answer", name, past
    if header == "channel" or THOUGHTS.search(name):
        return "open", f"{header}|", past
    return "stop" if name in ("user", "human", "system") else "token", header, end


@lru_cache(10_000)
def _meant(mark: str) -> tuple[str, str]:
    """Kind of a mark, empty for one of something else, and the name of what it is around."""
    plain = mark.replace("&lt;", "<").replace("&gt;", ">").removeprefix("\\")
    before, name, after = _PARTS.split(plain, maxsplit=1)
    left, right = (any(bar in side for bar in "|｜") for side in (before, after))
    blanks = " " in name
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _ALIASES.get(name.casefold(), name)).casefold()
    name = re.sub(r"^(start|begin|end)(?:of)?(?=think|thought|reason)", r"\1_", name)
    name = " ".join(re.split(r"[\s_:.▁-]+", name))
    key = _PLACE.sub("", name).strip()
    ends = bool(re.search(r"[/\\]", before) or _END.search(name)) or (right and not left)
    kind = "end" if _TURN.match(name) else "token"
    if blanks and not _BLANKS.fullmatch(name):
        kind = ""
    elif _HEADER.fullmatch(name) and (left or " " in name):
        return "header", name
    elif name in ("channel", "details") and ends:
        kind = "close" if name == "channel" else "shut"
    elif THOUGHTS.search(name):
        if "/" in after[-4:] or _OFF.search(name):
            return "tag", key
        return ("close", key) if ends else ("open", key + "|" * (left and name == key))
    elif ANSWERS.search(name):
        kind = "tag" if ends or not (left or name != key) else "answer"
    elif not (left or right or _TOKEN.fullmatch(name)):
        kind = ""
    return kind, key

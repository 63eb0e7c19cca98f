"""From a judge's output to a verdict letter and the probabilities at its token (LJ-8 to LJ-13).

A and B are slots of one presentation, C is a tie; which system stood in which slot is for `metrics.verdicts`.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from katayori.prompting.parsing import _REFUSAL, MAX_CHARS, MAX_LINE, Parsed, strip_thinking
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd

LETTERS = ("A", "B", "C")
ABSENT = -9999.0  # what some servers give for "not computed"
_SPECIAL = re.compile(r"<[^<>]{0,40}>")  # end-of-text tokens, which some servers list
_ALONE = re.compile(r"[\W_]*([ABC])[\W_]*")
_LETTER = re.compile(r"(?<![A-Za-z0-9])[ABC](?![A-Za-z0-9])")
_LAST = re.compile(r"(?<![A-Za-z0-9])([ABC])[\W_]*\Z")
# What stands before a letter that names an assistant and is no verdict: "better than B", "アシスタントB", "AかB".
_MENTION = re.compile(
    r"(?:assistant|answer|response|than|アシスタント|回答|より)\s*\Z"
    r"|(?<![A-Za-z0-9])[ABC][\W_]*(?:と|か|や|and|or|vs)?[\W_]*\Z",
    re.I,
)
_COPULA = re.compile(r"(?<=[ABC])(?:です|だ|である)(?=[^\w\n]*$)", re.M)
_DECLINED = re.compile(r"(?:お答え|お手伝い|応じ|対応)(?:することは)?(?:でき|られ)ません")


def parse_verdict(
    text: str | None, finish_reason: str = "stop", *, reason_first: bool = True
) -> Parsed:
    """The verdict letter of an output (LJ-10).

    With `reason_first` it is the last letter A, B or C that stands on its own, with nothing but punctuation behind it.
    Without, the first line may be the letter alone instead, whatever text follows. Thinking blocks go first and Unicode
    is folded (NFKC).

    Nothing is guessed, and none of these is a tie: a text without such a letter, one that lists letters ("A or B"), one
    whose last letter only names an assistant in a line that names the other one, too ("A is better than B"), and first
    and last lines with two verdicts are `out_of_choice`; a text cut at the token limit is `truncated` and not read.
    """
    if finish_reason in ("length", "content_filter"):
        cut = finish_reason == "length"
        return Parsed(
            "truncated" if cut else "filtered", None, "token limit" if cut else "provider's filter"
        )
    kept, cut = strip_thinking(text or "")
    if cut:
        return Parsed("truncated", None, "thinking cut off")
    lines = [
        line
        for line in unicodedata.normalize("NFKC", kept[-MAX_CHARS:]).splitlines()
        if line.strip()
    ]
    if not lines:
        return Parsed("out_of_choice", None, "empty")
    line = lines[-1][-MAX_LINE:].rstrip()
    first, last = (
        None if reason_first else _ALONE.fullmatch(lines[0][:MAX_LINE]),
        _LAST.search(line),
    )
    alone = _ALONE.fullmatch(line)
    others = set(_LETTER.findall(line)) - {last[1]} if last else set()
    if first and (not last or not alone or first[1] == last[1]):
        return Parsed("ok", first[1], "text after the verdict" if len(lines) > 1 else "")
    if first or (others and _MENTION.search(line[: last.start()])):
        return Parsed("out_of_choice", None, "undecided")
    if last:
        return Parsed("ok", last[1], "" if alone else "verdict within a line")
    declined = _REFUSAL.search(kept[:2000]) or _DECLINED.search(kept[:2000])
    return (
        Parsed("refusal", None, "declined")
        if declined
        else Parsed("out_of_choice", None, "no verdict")
    )


def parse_choice(text: str | None, finish_reason: str = "stop") -> Parsed:
    """The letter of one of two options, A or B (JU-12): `parse_verdict` without reasons, but C is no option here.

    A copula after a letter that ends its line is no part of it: "答えはAです。" chooses A.
    """
    bare = _COPULA.sub("", unicodedata.normalize("NFKC", text or ""))
    parsed = parse_verdict(bare, finish_reason, reason_first=False)
    return Parsed("out_of_choice", None, "no option") if parsed.answer == "C" else parsed


def letter_of(token: str) -> str | None:
    """The verdict letter a token stands for: "A", " A", "Ａ", "[[A", "A." are variants of one (LJ-11)."""
    alone = _ALONE.fullmatch(
        unicodedata.normalize("NFKC", token.replace("Ġ", " ").replace("▁", " "))
    )
    return alone[1] if alone else None


def verdict_position(tokens: Sequence[str]) -> int:
    """Which token of an output is the verdict's: the last letter with only punctuation behind it (LJ-10).

    Without such a letter it is the first token that is not white space, where a verdict-only output has its verdict.
    """
    for n in reversed(range(len(tokens))):
        if letter_of(tokens[n]):
            return n
        if re.search(r"[^\W_]", _SPECIAL.sub("", tokens[n])):
            break
    return next((n for n, token in enumerate(tokens) if token.strip()), 0)


def verdict_probabilities(
    top: list[tuple[str, float]] | None,
    letter: str | None = None,
    *,
    renormalise: bool = False,
    limit: int = 20,
) -> dict[str, float | str]:
    """P(A), P(B), P(C) at the verdict's token, from the `limit` most likely tokens there (LJ-9, LJ-11, LJ-12, LJ-16).

    exp(logprob), summed over the variants of a letter; a letter absent from the list has 0. `mass` is what the three
    cover; they are left as they are, or divided by it with `renormalise`.

    Args:
        letter: the verdict read from the text, if known.

    Returns:
        p_A, p_B, p_C, mass and p_status: `ok`; `no_logprobs`; `no_verdict_token`, no token is a letter, or `letter`
        itself is not there (another position was kept); `not_probabilities`, a log probability above 0 or no number;
        these three with NaN. `placeholder`: the endpoint gave 0 for its own token and -9999 for all others, so the
        values say no more than the letter; they are kept, to be counted.
    """
    nothing = dict.fromkeys(("p_A", "p_B", "p_C", "mass"), math.nan)
    if not top:
        return nothing | {"p_status": "no_logprobs"}
    top = sorted(top, key=lambda pair: -pair[1])[:limit]
    if not all(logprob <= 1e-6 for _, logprob in top):
        return nothing | {"p_status": "not_probabilities"}
    found = {
        name: sum(math.exp(logprob) for token, logprob in top if letter_of(token) == name)
        for name in LETTERS
    }
    mass = sum(found.values())
    if not mass or (letter and not found[letter]):
        return nothing | {"p_status": "no_verdict_token"}
    values = {f"p_{name}": p / mass if renormalise else p for name, p in found.items()}
    empty = len(top) > 1 and top[0][1] == 0 and all(logprob <= ABSENT for _, logprob in top[1:])
    return values | {"mass": mass, "p_status": "placeholder" if empty else "ok"}


def with_probabilities(frame: "pd.DataFrame", **read: bool | int) -> "pd.DataFrame":
    """A frame of verdicts with p_A, p_B, p_C, mass and p_status read from its columns letter and top (LJ-9, LJ-12).

    `read` (renormalise, limit) goes to `verdict_probabilities`, so a frame that is there can be read in another way.
    The values are NaN with p_status `no_verdict` where the text gave no letter.
    """
    nothing = verdict_probabilities(None) | {"p_status": "no_verdict"}
    told = zip(frame["top"], frame.get("letter", ()), strict=True)
    shares = [
        verdict_probabilities(top, one, **read) if isinstance(one, str) else nothing
        for top, one in told
    ]
    return frame.assign(**{name: [one[name] for one in shares] for name in nothing})


def verdicts_frame(
    requests: Sequence[Request],
    responses: Sequence[Response],
    source: str,
    *,
    parse: Callable[[str, str], Parsed] = parse_verdict,
    options: tuple[str, ...] = LETTERS,
) -> "pd.DataFrame":
    """Requests for items of `judge.in_both_orders` and their responses as the frame `metrics.verdicts` starts from.

    Called as `answers_frame`, with its columns but `letter` for answer; besides pair_id, order, top (the likeliest
    tokens at the verdict and their log probabilities) and what `with_probabilities` reads from them.
    """
    from katayori.prompting.respondents import answers_frame

    made = answers_frame(requests, responses, source, parse=parse, options=options).rename(
        columns={"answer": "letter"}
    )
    columns = {
        name: [request.fields[name] for request in requests] for name in ("pair_id", "order")
    }
    return with_probabilities(made.assign(**columns, top=[response.top for response in responses]))

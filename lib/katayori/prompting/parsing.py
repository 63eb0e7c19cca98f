"""From raw text to an outcome and an answer. Nothing here guesses: what misses the asked format is
out of choice.
"""

import math
import re
import unicodedata
from typing import NamedTuple

from katayori.finish_reasons import ended

#: Of a longer text only the end is searched: the answer is asked for on the last line.
MAX_CHARS = 200_000
MAX_LINE = 2_000  # of a longer line only the start


class Parsed(NamedTuple):
    """`outcome` as in `finish_reasons.OUTCOMES`; `answer` None unless ok.

    `note` names what was tolerated or is wrong.
    """

    outcome: str
    answer: str | None
    note: str = ""


# Every pattern is bounded, so that hostile text of any length takes linear time.
_TAG = re.compile(r"<(/?)(think|thinking|reasoning)\b[^<>]{0,200}>", re.I)
REFUSAL = re.compile(
    r"\b(I (?:can(?:no|['’])t|am unable to|won['’]t)|I['’]m (?:sorry|unable)|as an AI)\b", re.I
)


def strip_thinking(text: str) -> tuple[str, bool]:
    """Remove thinking blocks; True in second place if a block was opened and never closed (a
    cut-off thought).
    """
    kept, start, opened = [], 0, ""
    for tag in _TAG.finditer(text):
        closing, name = bool(tag[1]), tag[2].lower()
        if not opened and not closing:
            kept.append(text[start : tag.start()])
            opened = name
        elif closing and (not opened or name == opened):
            # Some servers drop the opening tag: all before a lone closing tag is thought.
            kept, start, opened = kept if opened else [], tag.end(), ""
    return "\n".join([*kept, "" if opened else text[start:]]), bool(opened)


def cut_short(finish_reason: str) -> Parsed | None:
    """The outcome of a text that did not come whole, so that nothing is read; None for others."""
    found = ended(finish_reason)
    return None if found.outcome == "ok" else Parsed(found.outcome, None, found.note)


def parse_number(
    text: str | None,
    finish_reason: str = "stop",
    *,
    options: tuple[str, ...] = ("0", "1", "2"),
    strip: bool = True,
) -> Parsed:
    """The answer where the whole text is one of the numbers as a single character (PJ-14).

    White space around it is stripped (not with `strip=False`); full-width digits, punctuation and
    words are not forgiven. All else is `out_of_choice` (PJ-15), a text cut at the token limit
    `truncated`.
    """
    if cut := cut_short(finish_reason):
        return cut
    kept = text or ""
    if strip:
        kept = kept.strip()
    if kept in options:
        return Parsed("ok", kept)
    return Parsed("out_of_choice", None, "" if kept else "empty")


_OPTION = re.compile(r"[(\[「【]?([0-9])[)\]」】]?(?:[\s:.,、。)]{1,5}(\S.{0,200})?)?")


def parse_option(
    text: str | None, finish_reason: str = "stop", *, options: tuple[str, ...] = ("0", "1", "2")
) -> Parsed:
    """The number that opens the text, alone or before the words of an option: "1", "１。", "1:
    Aさん" (IJ-15).

    Tolerant where `parse_number` is strict, and no guess: further lines, a second digit ("1, 2") or
    a number inside a word ("2人") are `out_of_choice`. Words after the number are noted; they are
    not compared with the option.
    """
    strict = parse_number(text, finish_reason, options=options)
    if strict.outcome != "out_of_choice" or not text or len(text) > MAX_LINE:
        return strict
    match = _OPTION.fullmatch(unicodedata.normalize("NFKC", strip_thinking(text)[0]).strip())
    if not match or match[1] not in options or re.search(r"\d", match[2] or ""):
        return strict
    return Parsed("ok", match[1], "words after the number" if match[2] else "")


def option_probabilities(
    top: list[tuple[str, float]] | None, options: tuple[str, ...]
) -> dict[str, float]:
    """Probability of each option at the answer position: sum over token variants that strip and
    fold to it.

    `mass` is their sum, what the options cover of the whole distribution. Options absent from the
    top tokens get 0; without log probabilities everything is NaN.
    """
    if not top:
        return dict.fromkeys((*options, "mass"), math.nan)
    out = dict.fromkeys(options, 0.0)
    for token, logprob in top:
        word = unicodedata.normalize("NFKC", token).replace("Ġ", " ").replace("▁", " ").strip()
        word = word.strip("\"'*.,!").casefold()
        if word in out:
            out[word] += math.exp(logprob)
    return out | {"mass": sum(out.values())}

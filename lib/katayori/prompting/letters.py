"""From a judge's output to a verdict letter and the probabilities at its token.

A and B are slots of one presentation, C is a tie; which system stood in which slot is for
`metrics.judges.unswapped`.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from katayori.prompting.frames import answers_frame
from katayori.prompting.parsing import (
    MAX_CHARS,
    MAX_LINE,
    REFUSAL,
    Parsed,
)
from katayori.prompting.requests import Request, Response

if TYPE_CHECKING:
    import pandas as pd

LETTERS = ("A", "B", "C")
ABSENT = -9999.0  # what some servers give for "not computed"
NO_VERDICT, WITHIN = "no verdict", "verdict within a line"
# What stands before a letter that names an assistant and is no verdict: "better than B",
# "アシスタントB".
_NAMES = r"assistant|answer|response|output|option|than|アシスタント|回答|より"
_DECLINED = re.compile(r"(?:お答え|お手伝い|応じ|対応)(?:することは)?(?:でき|られ)ません")

# -- the final forms of Japanese judges, after NFKC: an opening, the letter, an ending -------------

_MARKS = r"[\s\[\](){}<>「」『』【】《》〈〉\"'`*_]{0,20}"
_SAYS = r"(?:(?:し|いたし|でき)(?:ます|ました)|する|した|できる)"
_THINKS = r"(?:考え(?:ます|る|られます)|思い(?:ます)|思(?:う|われます)|言え(?:ます|る))"
_JUDGED = rf"(?:(?:判断|評価|判定|結論|選択){_SAYS}|{_SAYS}|{_THINKS}|結論[付づ]け(?:ます|る))"
#: "です", "と評価します", "となります", "を選びます".
_ENDING = rf"""(?:です|だ|である|でした|(?:と|に)なります|となる
    |だ?と{_JUDGED}|を(?:選び|選択し|支持し)ます)?"""
#: Said of a bracketed letter only: "[[B]]が優れていると判断します".
_WINS = rf"""(?:の(?:回答|ほう|方))?が(?:より)?
    (?:優れて(?:い(?:ます|る)|おります)|勝って(?:います|いる)|良い(?:です)?|よい(?:です)?
    |(?:最も)?(?:適切|妥当)(?:です|だ|である)?)
    (?:と{_JUDGED})?"""
#: What may open the sentence of a bare letter that has an ending: nothing, "したがって、",
#: "最終判定:", "私の評価は".
_SO = r"""(?:したがって|従って|よって|以上より|以上から|そのため|ゆえに|結論として
    |(?i:therefore|thus|so))"""
_WHOSE = (
    r"(?:(?:私|この場合|今回|最終的?|総合的?|全体的?|(?i:my|the|final|overall))[のな]?\s{0,5}){0,3}"
)
_WHAT = (
    r"(?:答え|回答|解答|正解|判定|判断|評価|結論|結果|選択|勝者|(?i:verdict|answer|choice|winner))"
)
_LABEL = rf"{_WHOSE}{_WHAT}\s{{0,5}}(?:は|としては|:|=|is)"
_OPENING = rf"\W{{0,20}}(?:{_SO}[,、]?\s{{0,5}})?(?:(?:{_LABEL}|この場合は),?、?\s{{0,5}})?"
#: "優れているのは", "より良い回答はアシスタント"; not within a condition ("簡潔さの点では",
#: "…なら").
_BEST = r"(?:(?<!不)適切な|優れ(?:ている|た)|良い|よい|望ましい|好ましい|ふさわしい|質が高い)"
_BETTER = rf"""(?:(?!もし|なら|場合|点で|[。!?]).){{0,300}}{_BEST}
    (?:のは|(?:ほう|方|回答|応答)は)[、,]?(?:アシスタント|回答|応答)?"""


class _Forms(NamedTuple):
    """Patterns of one set of letters. Every one is bounded, so that any text takes linear time."""

    alone: re.Pattern[str]  # a line that is a letter, with marks and an ending
    bare: re.Pattern[str]  # a line that is a letter and marks
    letter: re.Pattern[str]
    last: re.Pattern[str]  # the letter that ends a line
    final: re.Pattern[str]  # a final form that ends a line
    stated: re.Pattern[str]  # one that says of itself that it is the verdict
    bracketed: re.Pattern[str]
    mention: re.Pattern[str]  # before a letter that names and does not decide


@cache
def _forms(letters: tuple[str, ...]) -> _Forms:
    """The patterns of some letters. Letters within words, numbers and contractions ("I'm") are
    none.
    """
    words = "|".join(re.escape(letter) for letter in sorted(letters, key=len, reverse=True))
    before, after = r"(?<![A-Za-z0-9])(?<![A-Za-z]['’])(?<!\d[.,])", r"(?![A-Za-z0-9]|[.,]\d)"
    opens = before if all(letter[:1].isalnum() for letter in letters) else ""
    closes = after if all(letter[-1:].isalnum() for letter in letters) else ""
    one = f"{opens}(?:{words}){closes}"
    gloss = rf"(?:\((?:(?!{one})[^()]){{1,30}}\)\s{{0,5}})?"  # "C（同等）"
    ended = rf"{_MARKS}{gloss}{_ENDING}[\W_]{{0,20}}"
    bare_final = rf"(?:{_OPENING}|{_BETTER}|[\W_]{{0,20}}{one}[\W_]{{0,20}}ではなく、?\s{{0,5}})"
    bare_final = rf"(?:\A|[。!?]){bare_final}{_MARKS}(?P<bare>{one}){ended}\Z"
    bracket_final = rf"\[\[(?P<marked>{one})\]\](?:{_WINS}[\W_]{{0,20}}|{ended})\Z"
    stated = rf"\A{_OPENING}{_LABEL}{_MARKS}(?P<bare>{one}){ended}\Z"
    named = rf"(?:{_NAMES})\s*\Z|{one}[\W_]*(?:と|か|や|and|or|vs)?[\W_]*\Z"
    return _Forms(
        alone=re.compile(rf"[\W_]*({one}){ended}", re.X),
        bare=re.compile(rf"[\W_]*({one})[\W_]*"),
        letter=re.compile(one),
        last=re.compile(rf"({one})[\W_]*\Z"),
        final=re.compile(f"{bare_final}|{bracket_final}", re.X),
        stated=re.compile(f"{stated}|{bracket_final}", re.X),
        bracketed=re.compile(rf"\[\[({one})\]\]"),
        mention=re.compile(named, re.I),
    )


def parse_verdict(
    text: str, *, reason_first: bool = True, letters: tuple[str, ...] = LETTERS
) -> Parsed:
    """The verdict letter of an output (LJ-10); the one rule for verdicts and choices.

    With `reason_first` it is the letter that ends the last line: with nothing but punctuation
    behind it, or in a final form ("私の評価は[[B]]です。", "[[C]]と評価します。", "答えはAです。",
    "C（同等）"). Without, the first line may be the letter alone instead, whatever text follows.
    Unicode is folded (NFKC).

    Nothing is guessed, and none of these is a tie: a text without such a letter, one that lists
    letters ("A or B"), one whose last letter only names an assistant ("A is better than B",
    "誤りがあるのはBです"), and two verdicts that differ are `out_of_choice`; a text cut at the
    token limit is `truncated` and not read.

    Args:
        letters: what a verdict is written as, exactly: ("1", "2"), ("m", "M"), ("(a)", "(b)")
        ("Output (a)").
    """
    folded = unicodedata.normalize("NFKC", text[-MAX_CHARS:])
    lines = [line for line in folded.splitlines() if line.strip()]
    if not lines:
        return Parsed("out_of_choice", None, "empty")
    forms = _forms(tuple(letters))
    ending = _at_the_end(lines[-1][-MAX_LINE:].rstrip(), forms)
    first = None if reason_first else forms.alone.fullmatch(lines[0][:MAX_LINE])
    parsed = _beside(first[1], ending, len(lines)) if first else ending
    if parsed.answer is not None and _states_another(lines, parsed.answer, forms):
        return Parsed("out_of_choice", None, "undecided")
    if parsed.note == NO_VERDICT and (REFUSAL.search(text[:2000]) or _DECLINED.search(text[:2000])):
        return Parsed("refusal", None, "declined")
    return parsed


def _at_the_end(line: str, forms: _Forms) -> Parsed:
    """What the last line of a text decides."""
    last, final = forms.last.search(line), forms.final.search(line)
    bracketed = set(forms.bracketed.findall(line))
    if last:
        alone = forms.bare.fullmatch(line)
        others = set(forms.letter.findall(line)) - {last[1]}
        if others and forms.mention.search(line[: last.start()]):
            return Parsed("out_of_choice", None, "undecided")
        return Parsed("ok", last[1], "" if alone else WITHIN)
    if not final:
        return Parsed("out_of_choice", None, NO_VERDICT)
    answer = final["bare"] or final["marked"]
    if bracketed - {answer}:
        return Parsed("out_of_choice", None, "undecided")
    return Parsed("ok", answer, "" if forms.alone.fullmatch(line) else WITHIN)


def _beside(first: str, ending: Parsed, lines: int) -> Parsed:
    """The verdict of a first line that is a letter, unless the last line is another one alone."""
    if ending.outcome == "ok" and not ending.note and ending.answer != first:
        return Parsed("out_of_choice", None, "undecided")
    return Parsed("ok", first, "text after the verdict" if lines > 1 else "")


def _states_another(lines: list[str], answer: str, forms: _Forms) -> bool:
    """Some line says of itself that it is the verdict, and names another letter."""
    stated = (forms.stated.search(line[-MAX_LINE:].rstrip()) for line in lines)
    return any(match and (match["bare"] or match["marked"]) != answer for match in stated)


def parse_choice(text: str) -> Parsed:
    """The letter of one of two options, A or B (JU-12): `parse_verdict` without reasons, but C is
    no option here.
    """
    parsed = parse_verdict(text, reason_first=False)
    return Parsed("out_of_choice", None, "no option") if parsed.answer == "C" else parsed


def letter_of(token: str, letters: tuple[str, ...] = LETTERS) -> str | None:
    """The verdict letter a token stands for: "A", " A", "Ａ", "[[A", "A." are variants of one
    (LJ-11).
    """
    folded = unicodedata.normalize("NFKC", token.replace("Ġ", " ").replace("▁", " "))
    alone = _forms(letters).bare.fullmatch(folded)
    return alone[1] if alone else None


def _unseen_mass(top: list[tuple[str, float]] | None, limit: int = 20) -> float:
    """What the `limit` most likely tokens leave to all others: the most a letter can lack (LJ-16).

    NaN without a list.
    """
    if not top:
        return math.nan
    likeliest = sorted((logprob for _, logprob in top), reverse=True)[:limit]
    return max(0.0, 1 - sum(math.exp(logprob) for logprob in likeliest))


def verdict_probabilities(
    top: list[tuple[str, float]] | None,
    letter: str | None = None,
    *,
    renormalise: bool = False,
    limit: int | None = 20,
) -> dict[str, float | str]:
    """P(A), P(B), P(C) at the verdict's token, from the `limit` most likely tokens there (LJ-9,
    LJ-11, LJ-12, LJ-16); None reads all that are listed, such as an engine's whole distribution.

    exp(logprob), summed over the variants of a letter; a letter absent from the list has 0. `mass`
    is what the three cover; they are left as they are, or divided by it with `renormalise`.

    Args:
        letter: the verdict read from the text, if known.

    Returns:
        p_A, p_B, p_C, mass and p_status: `ok`; `no_logprobs`; `no_verdict_token`, no token is a
        letter, or `letter` itself is not there (another position was kept); `not_probabilities`, a
        log probability above 0 or no number; these three with NaN. `placeholder`: the endpoint gave
        0 for its own token and -9999 for all others, so the values say no more than the letter;
        they are kept, to be counted.
    """
    nothing = dict.fromkeys(("p_A", "p_B", "p_C", "mass"), math.nan)
    if not top:
        return nothing | {"p_status": "no_logprobs"}
    top = sorted(top, key=lambda pair: -pair[1])[:limit]
    if not all(logprob <= 1e-6 for _, logprob in top):
        return nothing | {"p_status": "not_probabilities"}
    shares = {
        name: sum(math.exp(logprob) for token, logprob in top if letter_of(token) == name)
        for name in LETTERS
    }
    mass = sum(shares.values())
    if not mass or (letter and not shares[letter]):
        return nothing | {"p_status": "no_verdict_token"}
    values = {f"p_{name}": p / mass if renormalise else p for name, p in shares.items()}
    (_, likeliest), *others = top
    is_placeholder = (
        bool(others) and likeliest == 0 and all(logprob <= ABSENT for _, logprob in others)
    )
    return values | {"mass": mass, "p_status": "placeholder" if is_placeholder else "ok"}


def with_probabilities(
    frame: "pd.DataFrame",
    tops: Sequence[list[tuple[str, float]] | None],
    *,
    renormalise: bool = False,
    limit: int | None = 20,
) -> "pd.DataFrame":
    """A frame of verdicts with p_A, p_B, p_C, mass, p_status and unseen (LJ-9, LJ-12).

    Args:
        frame: with `answer`, the letter. tops: of each row the likeliest tokens at the verdict.
        renormalise, limit: those of `verdict_probabilities`.
    """
    columns: dict[str, list[float | str]] = {name: [] for name in verdict_probabilities(None)}
    for top, letter in zip(tops, frame.get("answer", ()), strict=True):
        if isinstance(letter, str):
            shares = verdict_probabilities(top, letter, renormalise=renormalise, limit=limit)
        else:
            shares = verdict_probabilities(None) | {"p_status": "no_verdict"}
        for name, value in shares.items():
            columns[name].append(value)
    return frame.assign(**columns, unseen=[_unseen_mass(top) for top in tops])


def verdicts_frame(
    requests: Sequence[Request],
    responses: Sequence[Response],
    source: str,
    *,
    parse: Callable[[str], Parsed] = parse_verdict,
    options: tuple[str, ...] = LETTERS,
) -> "pd.DataFrame":
    """Requests to a judge and their responses, called as `answers_frame` and with its columns.

    The probabilities are those at the token of the verdict (`verdict_probabilities`): p_A, p_B,
    p_C, mass, p_status (`no_verdict` where the text gave no letter), and unseen (what the listed
    tokens leave to all others).
    """
    frame = answers_frame(requests, responses, source, parse=parse, options=options)
    return with_probabilities(frame, [response.top for response in responses])

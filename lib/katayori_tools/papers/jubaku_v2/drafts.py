"""Texts of a generator read as drafts of cases, and what is wrong with each (JU-3, JU-4)."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from katayori.papers import jubaku_v2
from katayori.prompting.parsing import strip_thinking

HEADS = ("会話", "提案", "偏りのある理由", "状況による理由")
_DRAFT = re.compile(r"\s*[:：]\s*(.+?)\s*^\s*".join(HEADS) + r"\s*[:：]\s*(.+?)\s*\Z", re.S | re.M)
#: Bold, italic and code marks, and what opens a markdown line: a heading, a list, a quotation.
_MARKS = re.compile(r"\*\*|__|`+|^[ \t]*(?:#{1,6}|[-*>・])[ \t]+", re.M)
#: Marks alone on a line, such as a rule or a fence.
_RULE = re.compile(r"^[ \t]*(?:`{3}\w*|[-*_=]{3,})[ \t]*$\n?", re.M)
_TURN = re.compile(r"^[^：:「」。]{1,20}[：:]\s*\S")
#: A clause that proposes: しましょう, 頼もう, お願いします, してください, どうですか.
#: Guesses (だろう, でしょう) do not.
_PROPOSES = re.compile(
    r"[^、。！？\n]*(?:ましょう|(?<!だ)(?<!でし)[こごそとぼもろよお]う|お願いします|ください|ませんか|"
    r"どうですか|いいと思います)(?:か|よ|ね|よね)?(?=[。！？\n]|$)"
)
_PERSON = re.compile(r"([一-龥々ヶァ-ヴー]{1,6})(?:さん|くん|君|ちゃん|様|先生)")


def read_draft(text: str) -> dict[str, Any] | None:
    """Context (a list of turns), proposal and both reasons of a text; None if it is no draft.

    Thinking blocks and markdown are taken away: `**会話:**` is a heading, no first turn.
    """
    plain = _RULE.sub("", strip_thinking(text)[0])
    parts = _DRAFT.search(_MARKS.sub("", plain))
    if not parts:
        return None
    turns = [line.strip() for line in parts[1].splitlines()]
    return {
        "context": [turn for turn in turns if turn],
        "proposal": parts[2],
        "biased": parts[3],
        "neutral": parts[4],
    }


def same_text(draft: Mapping[str, Any]) -> str:
    """What two drafts that are the same have in common: their letters, without width and spaces."""
    parts = [*draft["context"], draft["proposal"], draft["biased"], draft["neutral"]]
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", "\n".join(parts)))


def without_doubles(drafts: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The first of equal drafts, in order, and how many doubles were left out."""
    first: dict[str, dict[str, Any]] = {}
    for draft in drafts:
        first.setdefault(same_text(draft), draft)
    return list(first.values()), len(drafts) - len(first)


def problem_of(draft: Mapping[str, Any]) -> str:
    """What is wrong with a draft, for the authors who edit it; empty where nothing is seen."""
    problems = [
        jubaku_v2.case_problem(dict(draft), {"leak_words": jubaku_v2.leak_words()}),
        conflicting_proposals(draft["proposal"], draft["biased"], draft["neutral"]),
        _odd_turns(draft["context"]),
    ]
    return "; ".join(filter(None, problems))


def conflicting_proposals(proposal: str, biased: str, neutral: str) -> str:
    """Says so where the two reasons propose different things, or speak for different persons.

    The benchmark holds the conclusion fixed (JU-3): a reason that proposes something itself, or
    that names another person than the other reason, would let the proposals be compared.
    """
    clauses = {
        name: [part[0].strip() for part in _PROPOSES.finditer(reason)]
        for name, reason in (("biased", biased), ("neutral", neutral))
    }
    conflicts = [
        f"the {name} reason makes a proposal of its own: {part}"
        for name, parts in clauses.items()
        for part in parts
        if part.rstrip("。") not in proposal
    ]
    people = [set(_PERSON.findall(reason)) for reason in (biased, neutral)]
    if all(people) and not people[0] & people[1]:
        named = [" ".join(sorted(one)) for one in people]
        conflicts.append(f"the reasons speak of different persons: {named[0]} / {named[1]}")
    return "; ".join(conflicts)


def _odd_turns(context: Sequence[str]) -> str:
    odd = [turn for turn in context if not _TURN.match(turn)]
    return f"no turn «name：words»: {odd[0]}" if odd else ""


def kept_after_screening(screening: Mapping[str, str], rule: str) -> bool:
    """Whether a draft is put forward: the screener was biased in both orders, or in either.

    A screener that writes A whatever it reads chooses it in one order of every draft, so that
    `either` lets all of them pass; only the same reason in both orders is a choice of a reason.
    """
    chosen = [choice == "biased" for choice in screening.values()]
    return any(chosen) if rule == "either" else len(chosen) > 1 and all(chosen)

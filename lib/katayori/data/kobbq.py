"""KoBBQ's test samples (Korean) in the shape of `bbq`: the set that Diff-bias comes from."""

import ast
import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.data import catalogue
from katayori.data.files import read_text
from katayori.data.multiple_choice import POLARITIES, ranked, role
from katayori.errors import KatayoriError

UNKNOWN = "알 수 없음"
_FIELDS = ("sample_id", "context", "question", "choices", "biased_answer", "answer")
#: What ends a sample's id: is the context ambiguous, and does the question hold the stereotype.
_KINDS = {"amb-bsd": (True, 0), "amb-cnt": (True, 1), "dis-bsd": (False, 0), "dis-cnt": (False, 1)}


def load_kobbq(path: str | Path = "") -> pd.DataFrame:
    """KoBBQ's 2,280 test samples, or a file of their shape, in the columns of `multiple_choice`.

    Ids are `kobbq-<sample_id>`; a template's versions (a to d, orders of mention) share their
    template_id. The role of an option is told by upstream's biased_answer. On a question that holds
    the stereotype (`bsd`, here `negative`) it names the target, on its opposite the other person.
    Raises KatayoriError naming file and row, and what `catalogue.path_of` raises.
    """
    file = Path(path) if path else catalogue.path_of("kobbq", "data/KoBBQ_test_samples.tsv")
    text = read_text(file, "KoBBQ file")
    rows = []
    for n, raw in enumerate(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t"), 1):
        if problem := _problem(raw):
            raise KatayoriError(f"{file.name} row {n}: {problem}")
        rows.append(_item(raw))
    if not rows:
        raise KatayoriError(f"{file.name} holds no sample of KoBBQ")
    return ranked(rows)


def _choices(raw: dict[str, Any]) -> list[Any]:
    try:
        listed = ast.literal_eval(raw["choices"])
    except (ValueError, SyntaxError):
        return []
    return listed if isinstance(listed, list) else []


def _problem(raw: dict[str, Any]) -> str:
    """What is wrong with a sample, empty where nothing is."""
    if lacks := [name for name in _FIELDS if not raw.get(name)]:
        return f"lacks {', '.join(lacks)}"
    choices, parts = _choices(raw), raw["sample_id"].split("-")
    if len(choices) != 3 or len(set(choices)) != 3 or choices.count(UNKNOWN) != 1:
        return f"choices must be three different ones with {UNKNOWN}, not {raw['choices']}"
    if len(parts) != 5 or "-".join(parts[3:]) not in _KINDS:
        return (
            f"sample_id {raw['sample_id']!r} is not <category>-<template>-<names>-amb|dis-bsd|cnt"
        )
    if raw["biased_answer"] not in set(choices) - {UNKNOWN}:
        return f"biased_answer {raw['biased_answer']!r} is no person of the choices"
    ambiguous, _ = _KINDS["-".join(parts[3:])]
    if raw["answer"] not in choices or (raw["answer"] == UNKNOWN) != ambiguous:
        return f"answer {raw['answer']!r} contradicts its context"
    return ""


def _item(raw: dict[str, Any]) -> tuple[Any, ...]:
    """A sample in the order of `multiple_choice.COLUMNS`, of rank 0."""
    category, template, _, *kind = raw["sample_id"].split("-")
    ambiguous, asked = _KINDS["-".join(kind)]
    choices, polarity = _choices(raw), POLARITIES[asked]
    # The biased answer names the target only where the question holds the stereotype.
    biased, other = ("target", "non_target") if asked == 0 else ("non_target", "target")
    persons = [
        "unknown" if c == UNKNOWN else biased if c == raw["biased_answer"] else other
        for c in choices
    ]
    roles = [role(person, polarity) for person in persons]
    label = choices.index(raw["answer"])
    return (
        f"kobbq-{raw['sample_id']}",
        category,
        f"{category}-{template.rstrip('abcd')}",
        "ambiguous" if ambiguous else roles[label],
        polarity,
        raw["context"],
        raw["question"],
        *choices,
        *roles,
        *persons,
        label,
        "".join(person[0] for person in persons),
        0,
        "ko",
    )

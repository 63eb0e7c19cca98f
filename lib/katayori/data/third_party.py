"""Items and answers of others that no notebook reads, in our columns: KoBBQ's test samples (Korean,
the set that Diff-bias comes from) and the answers of UnifiedQA to BBQ.
"""

import ast
import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.data import catalogue
from katayori.data.bbq import BBQ_FILES
from katayori.data.files import json_lines, read_text
from katayori.data.multiple_choice import POLARITIES, id_of, ranked, three_options
from katayori.errors import KatayoriError, expect

UNKNOWN = "알 수 없음"
_FIELDS = ("sample_id", "context", "question", "choices", "biased_answer", "answer")
#: What ends a sample's id: is the context ambiguous, and does the question hold the stereotype.
_KINDS = {"amb-bsd": (True, 0), "amb-cnt": (True, 1), "dis-bsd": (False, 0), "dis-cnt": (False, 1)}
FORMATS = ("race", "arc", "qonly")
_ANSWERED = ("category", "ans0", "ans1", "ans2", *(f"unifiedqa-t5-11b_pred_{f}" for f in FORMATS))


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


def _item(raw: dict[str, Any]) -> dict[str, Any]:
    """A sample in our columns, of rank 0."""
    category, template, _, *kind = raw["sample_id"].split("-")
    ambiguous, asked = _KINDS["-".join(kind)]
    # The biased answer names the target only where the question holds the stereotype.
    biased, other = ("target", "non_target") if asked == 0 else ("non_target", "target")
    choices = _choices(raw)
    named = {UNKNOWN: "unknown", raw["biased_answer"]: biased}
    persons = [named.get(choice, other) for choice in choices]
    label, polarity = choices.index(raw["answer"]), POLARITIES[asked]
    row = three_options(choices, persons, polarity, label)
    return row | {
        "item_id": f"kobbq-{raw['sample_id']}",
        "category": category,
        "template_id": f"{category}-{template.rstrip('abcd')}",
        "context_condition": "ambiguous" if ambiguous else row[f"role_{label}"],
        "polarity": polarity,
        "context": raw["context"],
        "question": raw["question"],
        "rank": 0,
        "language": "ko",
    }


def load_bbq_answers(
    categories: Iterable[str] = ("age", "sexual_orientation"), path: str | Path = ""
) -> pd.DataFrame:
    """Upstream's stored UnifiedQA answers as an answers frame; `prompt_id` is their format.

    The formats are race, arc and qonly. A reply is compared with the options up to case and
    punctuation, after upstream's two repairs: "pantsu" is "pantsuit", and a reply that was cut off
    is the one option that begins with its first two words. Any other is `out_of_choice`.

    Args:
        categories: of the eleven of `BBQ_FILES`; the default are the two that are mirrored.
        path: a folder with upstream's `preds_<Category>.jsonl`, or one such file; none: fetched.

    Raises KatayoriError for an unknown category and for a file without these fields, and as
    `fetch`.
    """
    rows = []
    for category in categories:
        expect(category, BBQ_FILES, "category of BBQ")
        name = f"preds_{BBQ_FILES[category]}.jsonl"
        if not path:
            file = catalogue.path_of("bbq_unifiedqa", f"results/UnifiedQA/{name}")
        else:
            file = Path(path) / name if Path(path).is_dir() else Path(path)
        for n, raw in enumerate(json_lines(file, "answers file")):
            if lacks := [field for field in _ANSWERED if field not in raw]:
                raise KatayoriError(f"{file.name} row {n + 1} lacks {', '.join(lacks)}")
            if raw["category"] != BBQ_FILES[category]:
                about = f"is of {raw['category']}, not of {BBQ_FILES[category]}"
                raise KatayoriError(f"{file.name} row {n + 1} {about}; name its category")
            for form in FORMATS:
                text = raw[f"unifiedqa-t5-11b_pred_{form}"]
                answer = _option_named(text, [raw[f"ans{i}"] for i in range(3)])
                row = {
                    "item_id": id_of("bbq", category, n),
                    "model": "unifiedqa-t5-11b",
                    "prompt_id": form,
                    "repetition": 0,
                    "outcome": "out_of_choice" if answer is None else "ok",
                    "answer": answer,
                    "source": "imported",
                    "text": text,
                }
                rows.append(row)
    columns = ["item_id", "model", "prompt_id", "repetition", "outcome", "answer", "source", "text"]
    return pd.DataFrame(rows, columns=columns)


def _option_named(reply: str, options: list[str]) -> str | None:
    """The number of the option that a reply of UnifiedQA is, with upstream's two repairs."""

    def plain(text: str) -> str:
        words = re.sub(r"[^\w\s]", "", text.casefold()).split()
        return " ".join("pantsuit" if word == "pantsu" else word for word in words)

    answer = plain(reply)
    plain_options = [plain(option) for option in options]
    if answer in plain_options:
        return str(plain_options.index(answer))
    opening = answer.split()[:2]
    begun = [str(i) for i, option in enumerate(plain_options) if option.split()[:2] == opening]
    return begun[0] if len(opening) == 2 and len(begun) == 1 else None

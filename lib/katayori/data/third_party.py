"""Items and answers of others that no notebook reads, in our columns: samples of KoBBQ (Korean, the
set that Diff-bias comes from) with their answers, the first version of JUBAKU, and the verdicts of
PandaLM-7B and, on Japanese Vicuna QA in both orders, of GPT-4.
"""

import ast
import re
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.data import catalogue, comparisons, jubaku
from katayori.data.files import json_lines
from katayori.data.multiple_choice import POLARITIES, three_options
from katayori.errors import KatayoriError, UnavailableError, expect

UNKNOWN = "알 수 없음"
_FIELDS = ("sample_id", "context", "question", "choices", "biased_answer", "answer")
#: What ends a sample's id: is the context ambiguous, and does the question hold the stereotype.
_KINDS = {"amb-bsd": (True, 0), "amb-cnt": (True, 1), "dis-bsd": (False, 0), "dis-cnt": (False, 1)}


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
    """Options, context and template of a sample, in the columns of `multiple_choice`.

    The role of an option is told by biased_answer. On a question that holds the stereotype (`bsd`,
    here `negative`) it names the target, on its opposite the other person. A template's versions (a
    to d, orders of mention) share their template_id.
    """
    category, template, _, *kind = raw["sample_id"].split("-")
    ambiguous, asked = _KINDS["-".join(kind)]
    biased, other = ("target", "non_target") if asked == 0 else ("non_target", "target")
    choices = _choices(raw)
    named = {UNKNOWN: "unknown", raw["biased_answer"]: biased}
    persons = [named.get(choice, other) for choice in choices]
    label = choices.index(raw["answer"])
    row = three_options(choices, persons, POLARITIES[asked], label)
    condition = "ambiguous" if ambiguous else row[f"role_{label}"]
    template_id = f"{category}-{template.rstrip('abcd')}"
    return row | {"context_condition": condition, "template_id": template_id}


# -- JUBAKU's first version ------------------------------------------------------------------------

_FIRST = ("example_id", "viewpoint", "context", "response_a", "response_b", "correct_answer")


def load_jubaku_v1(path: str | Path = "") -> pd.DataFrame:
    """JUBAKU's first version, 152 dialogues by 4 instructions and 2 orders.

    Args:
        path: the user's own copy.

    Returns:
        columns `jubaku.COLUMNS` and `instruction` (the whole prompt, to be sent verbatim). Ids are
        `jubaku1-<example_id>`. The responses are free texts, not a proposal with a reason:
        `proposal` is empty, each reason is the whole response, and the gold letter says which is
        neutral.

    Raises:
        KatayoriError: naming file and row, for a missing or contradicting field, and what
        `catalogue.path_of` raises.

    Example:
        >>> load_jubaku_v1()["case_id"].nunique()  # doctest: +SKIP
        152
    """
    file = Path(path) if path else catalogue.path_of("jubaku_v1")
    return pd.DataFrame(
        jubaku.rows_of(file, _first_version), columns=[*jubaku.COLUMNS, "instruction"]
    )


def _first_version(raw: dict[str, Any], where: str) -> dict[str, Any]:
    """A row of the first version in our columns."""
    if lacks := [name for name in (*_FIRST, "instruction") if not isinstance(raw.get(name), str)]:
        raise KatayoriError(f"{where} lacks {', '.join(lacks)}")
    expect(raw["viewpoint"], jubaku.CATEGORIES, f"viewpoint in {where}:")
    found = re.fullmatch(r"([^_]*)_([0-3])_([ab])", raw["example_id"])
    if not found or found[3] != raw["correct_answer"]:
        held = {name: raw[name] for name in ("example_id", "correct_answer")}
        raise KatayoriError(f"{where}: the fields contradict each other: {held}")
    order = {"a": "nb", "b": "bn"}[found[3]]
    item_id, case_id = f"jubaku1-{raw['example_id']}", f"jubaku1-{found[1]}"
    row = jubaku.variant(item_id, case_id, int(found[2]) + 1, order)
    return row | {
        "category": jubaku.CATEGORIES[raw["viewpoint"]],
        "definition": 0,
        "context": raw["context"],
        "proposal": "",
        f"reason_{row['role_a']}": raw["response_a"],
        f"reason_{row['role_b']}": raw["response_b"],
        "option_a": raw["response_a"],
        "option_b": raw["response_b"],
        "language": "ja",
        "instruction": raw["instruction"],
    }


# -- verdicts of other judges ----------------------------------------------------------------------

_BASELINE = "openai--text-davinci-003"


def load_pandalm_judge() -> pd.DataFrame:
    """PandaLM-7B's stored verdicts on these pairs, after upstream's own handling of order.

    Returns:
        item_id, verdict ("1", "2" or "tie"), text.

    Raises:
        UnavailableError, KatayoriError: as `catalogue.path_of`.

    Example:
        >>> list(load_pandalm_judge().columns)  # doctest: +SKIP
        ['item_id', 'verdict', 'text']
    """
    raws = comparisons.pandalm_file("pandalm-7b-testset-v1")
    rows = [
        (
            f"pandalm-{raw['idx']:03d}",
            comparisons.PANDALM_VERDICTS[str(raw["pandalm_result"])],
            raw["pandalm_reason"],
        )
        for raw in raws
    ]
    return pd.DataFrame(rows, columns=["item_id", "verdict", "text"])


def load_vicuna_verdicts(system: str, path: str | Path = "") -> pd.DataFrame:
    """A judge's stored verdicts in both orders on one system of Japanese Vicuna QA.

    Args:
        system: the one that is judged, such as `cyberagent--calm2-7b-chat`.
        path: a file of upstream's pairwise verdicts on any two systems, such as
            `pairwise:<one>_<other>.jsonl`; none: GPT-4's on three systems against text-davinci-003.

    Returns:
        two rows a question: item_id, pair_id, question_id, task, model (the judge), source,
        prompt_id, system_1 (the one named), system_2, order ("12": system_1 stands as A), letter
        (A, B, C; None where none was given), outcome, text (reason and verdict). prompt_id is
        upstream's: ten questions, with a reference, had one of their own.

    Raises:
        KatayoriError: an unknown system, a missing field, an empty file, and as
        `catalogue.path_of`. UnavailableError: a file that is not on this machine.

    Example:
        >>> len(load_vicuna_verdicts("cyberagent--calm2-7b-chat"))  # doctest: +SKIP
        160
    """
    file = Path(path) if path else _vicuna_file(system)
    raws = json_lines(file, "verdict file")
    for n, raw in enumerate(raws, 1):
        if lacks := [name for name in _VICUNA if name not in raw]:
            raise KatayoriError(f"{file.name} row {n} lacks {', '.join(lacks)}")
        expect(system, (raw["model_1"], raw["model_2"]), f"system in {file.name} row {n}:")
    if not raws:
        raise KatayoriError(f"{file.name} is empty")
    tasks = _vicuna_tasks(bool(path))
    rows = [row for raw in raws for row in _games(raw, system, tasks)]
    return pd.DataFrame(rows).sort_values("item_id", ignore_index=True)


_VICUNA = (
    "model_1 model_2 question_id judge_model judge_prompt g1_judgment g2_judgment g1_winner "
    "g2_winner"
).split()


def _vicuna_file(system: str) -> Path:
    """The catalogue's file of GPT-4's verdicts on a system."""
    folder = "data/jp_bench/model_judgment/pairwise/gpt-4/pairwise:"
    files: dict[str, str] = {}  # by system
    for entry in catalogue.load()["ja_vicuna_qa"]["files"]:
        path = entry["path"]
        if path.startswith(folder):
            systems = path.removeprefix(folder).removesuffix(".jsonl").split("_")
            files |= dict.fromkeys(systems, path)
    judged = [name for name in files if name != _BASELINE]
    expect(system, judged, "system of Japanese Vicuna QA")
    return catalogue.path_of("ja_vicuna_qa", files[system])


def _vicuna_tasks(optional: bool) -> dict[int, str]:
    """The kind of task by question; with `optional` empty where the questions cannot be had."""
    try:
        file = catalogue.path_of("ja_vicuna_qa", "data/jp_bench/question.jsonl")
    except UnavailableError:
        if not optional:
            raise
        return {}
    return {raw["question_id"]: raw["category"] for raw in json_lines(file, "question file")}


def _games(raw: dict[str, Any], system: str, tasks: dict[int, str]) -> list[dict[str, Any]]:
    """The two verdicts on one question: as it stood first, then with the systems exchanged."""
    number = f"vicuna-{raw['question_id']:02d}"
    other = raw["model_2"] if raw["model_1"] == system else raw["model_1"]
    shared = {
        "pair_id": f"{number}-{system}",
        "question_id": number,
        "task": tasks.get(raw["question_id"], ""),
        "model": raw["judge_model"],
        "source": "imported",
        "prompt_id": raw["judge_prompt"],
        "system_1": system,
        "system_2": other,
    }
    rows = []
    for game, a, b in (("g1", "model_1", "model_2"), ("g2", "model_2", "model_1")):
        order = "12" if raw[a] == system else "21"
        letter = {a: "A", b: "B", "tie": "C"}.get(raw[f"{game}_winner"])
        row = {
            "item_id": f"{number}-{system}-{order}",
            **shared,
            "order": order,
            "letter": letter,
            "outcome": "ok" if letter else "out_of_choice",
            "text": raw[f"{game}_judgment"],
        }
        rows.append(row)
    return rows

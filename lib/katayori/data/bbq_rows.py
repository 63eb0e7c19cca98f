"""Rows in the format of BBQ's files, checked and converted to our columns (`multiple_choice`)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from katayori.data import catalogue
from katayori.data.files import json_lines
from katayori.data.multiple_choice import role
from katayori.errors import KatayoriError, UnavailableError

_FIELDS = {
    "question_polarity": ("neg", "nonneg"),
    "context_condition": ("ambig", "disambig"),
    "label": (0, 1, 2),
}
CORE = (*_FIELDS, "answer_info", "context", "question", "ans0", "ans1", "ans2")
#: Other spellings of the fields' values.
_SPELT: dict[str, dict[str, str | int]] = {
    "question_polarity": {"negative": "neg", "non_negative": "nonneg", "nonnegative": "nonneg"},
    "context_condition": {"ambiguous": "ambig", "disambiguated": "disambig"},
    "label": {"0": 0, "1": 1, "2": 2},
}
_UNKNOWN = ("unknown", "不明", "未知", "わからない", "分からない", "判断できない")
ALIKE = {
    "f": "女性",
    "woman": "女性",
    "girl": "女性",
    "女の子": "女性",
    "m": "男性",
    "man": "男性",
    "boy": "男性",
    "男の子": "男性",
}


def id_of(source: str, category: str, row: int) -> str:
    """The id of an item of a file, such as `bbq-age-00012`."""
    # example_id is the row, counted from 0, in every file of BBQ.
    return f"{source}-{category}-{row:05d}"


def upstream_rows(file: Path) -> list[dict[str, Any]]:
    """Rows of a file in BBQ's format, checked; JBBQ's misspelt field gets its right name.

    Raises KatayoriError naming the first row that cannot be used, and why.
    """
    raws = json_lines(file, "BBQ file")
    for n, raw in enumerate(raws, 1):
        wrong = problem(raw)
        if lacks := [k for k in ("question_index", "additional_metadata") if k not in raw]:
            wrong = wrong or f"lacks {', '.join(lacks)}"
        if wrong:
            colon = "" if wrong.startswith("lacks") else ":"
            raise KatayoriError(f"{file.name} row {n}{colon} {wrong}")
    return raws


def problem(raw: dict[str, Any]) -> str:
    """What is wrong with a row of BBQ's format, empty where nothing is; spellings are unified."""
    if "additional_metadeta" in raw:
        raw["additional_metadata"] = raw.pop("additional_metadeta")
    if lacks := [name for name in CORE if name not in raw]:
        return f"lacks {', '.join(lacks)}"
    for name, valid in _FIELDS.items():
        spelt = str(raw[name]).casefold().replace("-", "_")
        raw[name] = _SPELT[name].get(spelt, raw[name])
        if isinstance(raw[name], bool) or raw[name] not in valid:
            return f"{name} is {raw[name]!r}, not one of {', '.join(map(str, valid))}"
    unknown = unknown_option(raw)
    if unknown is None:
        return "answer_info must describe three options and tag one of them 'unknown'"
    if (raw["context_condition"] == "ambig") != (raw["label"] == unknown):
        return f"label {raw['label']} contradicts context_condition {raw['context_condition']}"
    return ""


def rows_of_folder(
    folder: str | Path, dataset_id: str, what: str
) -> list[tuple[Path, int, dict[str, Any]]]:
    """File, number and content of every row in the `.jsonl` files of a folder that the owners of a
    data set gave.

    One file of it may be named in place of the folder.

    Raises UnavailableError where there is none of `what`, saying how to get the data set.
    """
    files = files_of(folder, dataset_id, what)
    rows = [(file, n, raw) for file in files for n, raw in enumerate(upstream_rows(file), 1)]
    if not rows:
        raise _absent(folder, dataset_id, what)
    return rows


def files_of(folder: str | Path, dataset_id: str, what: str) -> list[Path]:
    """The `.jsonl` files of a folder, or one such file; says what else is there where none is."""
    place = Path(folder)
    if str(folder) and place.is_file():
        return [place]
    files = sorted(place.rglob("*.jsonl")) if str(folder) else []
    if not files and str(folder) and (other := sorted(place.rglob("*.json"))):
        held = f"{place.name} holds {len(other)} file(s) .json ({other[0].name}) and no .jsonl"
        raise KatayoriError(f"{held}: save {what} as .jsonl, one row a line")
    if not files:
        raise _absent(folder, dataset_id, what)
    return files


def _absent(folder: str | Path, dataset_id: str, what: str) -> UnavailableError:
    how = catalogue.load()[dataset_id].how
    return UnavailableError(f"no {what} (*.jsonl) in {Path(folder).name or 'no folder'}: {how}")


def described(raw: dict[str, Any]) -> list[list[str]]:
    """Name and tag of each option as upstream describes it."""
    described = []
    for i in range(3):
        words = [str(word).casefold() for word in raw["answer_info"][f"ans{i}"]]
        described.append([ALIKE.get(word, word) for word in words])
    return described


def unknown_option(raw: dict[str, Any]) -> int | None:
    """The option tagged as unknown, None unless there is exactly one."""
    try:
        tags = ["unknown" if tag in _UNKNOWN else tag for _, tag in described(raw)]
    except (ValueError, KeyError, TypeError):
        return None
    return tags.index("unknown") if tags.count("unknown") == 1 else None


def converted(
    raws: list, targets: list[int | None], source: str, category: str, language: str
) -> Iterator[tuple]:
    """Rows in the order of `COLUMNS`, all of rank 0."""
    for n, (raw, target) in enumerate(zip(raws, targets, strict=True)):
        persons = _persons(raw, target)
        polarity = "negative" if raw["question_polarity"] == "neg" else "non_negative"
        roles = [person and role(person, polarity) for person in persons]
        if raw["context_condition"] == "ambig":
            condition = "ambiguous"
        else:
            condition = roles[raw["label"]] or "disambiguated"
        yield (
            id_of(source, category, raw.get("_row", n)),
            category,
            f"{category}-q{raw['question_index']}",
            condition,
            polarity,
            raw["context"],
            raw["question"],
            raw["ans0"],
            raw["ans1"],
            raw["ans2"],
            *roles,
            *persons,
            raw["label"],
            "".join(person[:1] or "-" for person in persons),
            0,
            language,
        )


def _persons(raw: dict[str, Any], target: int | None) -> list[str]:
    """Whom each option names; without a target only unknown is told."""
    unknown = unknown_option(raw)
    persons = []
    for i in range(3):
        if i == unknown:
            persons.append("unknown")
        elif target is None:
            persons.append("")
        else:
            persons.append("target" if i == target else "non_target")
    return persons

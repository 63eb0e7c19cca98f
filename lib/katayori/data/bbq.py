"""BBQ (English), and JBBQ from the folder that its owners gave the user, in the columns of
`multiple_choice`.
"""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data.files import json_lines, ours, read_text
from katayori.data.multiple_choice import (
    ALIKE,
    CORE,
    converted,
    described,
    files_of,
    problem,
    ranked,
    unknown_option,
    upstream_rows,
)
from katayori.errors import KatayoriError, expect

if TYPE_CHECKING:
    import pandas as pd

#: JBBQ's five categories and how many rows JBBQ has of each.
CATEGORIES = {
    "age": 28176,
    "disability": 8064,
    "gender": 3912,
    "physical_appearance": 7536,
    "sexual_orientation": 3168,
}
#: The eleven categories of BBQ by our and by their own names; the first five are JBBQ's, too.
BBQ_FILES = {
    "age": "Age",
    "disability": "Disability_status",
    "gender": "Gender_identity",
    "physical_appearance": "Physical_appearance",
    "sexual_orientation": "Sexual_orientation",
    "nationality": "Nationality",
    "race_ethnicity": "Race_ethnicity",
    "race_x_ses": "Race_x_SES",
    "race_x_gender": "Race_x_gender",
    "religion": "Religion",
    "ses": "SES",
}
#: The four that are mirrored.
MIRRORED = ("age", "disability", "physical_appearance", "sexual_orientation")


def _tagged_target(raw: dict[str, Any]) -> int | None:
    """The option that names the target: the only one with a stereotyped group as its tag or,
    failing that, its name.
    """
    metadata = raw.get("additional_metadata")
    listed = metadata.get("stereotyped_groups") if isinstance(metadata, dict) else None
    if isinstance(listed, str):
        listed = [listed]
    stereotyped = [str(group).casefold() for group in listed or ()]
    groups = [ALIKE.get(group, group) for group in stereotyped]
    names, tags = zip(*described(raw), strict=True)
    for words, wanted in ((tags, groups), (tags, groups[:1]), (names, groups[:1])):
        hits = [i for i, word in enumerate(words) if word in wanted]
        if len(hits) == 1:
            return hits[0]
    return None


# -- BBQ -------------------------------------------------------------------------------------------


def load_bbq(categories: Iterable[str] = tuple(BBQ_FILES)) -> "pd.DataFrame":
    """English BBQ in our schema, columns `COLUMNS`; ids are `bbq-<category>-<example_id>`.

    Where the tags of a category do not settle who the target is, upstream's `target_loc` does (it
    marks the stereotype-consistent answer). An item without a target (data/errata/bbq.yaml) has
    empty persons and roles but for unknown, and the context `disambiguated` where it is not
    ambiguous. Raises KatayoriError for an unknown category, and what `catalogue.path_of` raises.
    """
    from katayori.data import catalogue

    rows: list[dict[str, Any]] = []
    for category in categories:
        expect(category, BBQ_FILES, "category of BBQ")
        name = BBQ_FILES[category]
        without = _without_target(name)
        raws = upstream_rows(catalogue.path_of("bbq", f"data/{name}.jsonl"))
        targets = [_tagged_target(raw) for raw in raws]
        if any(target is None and n not in without for n, target in enumerate(targets)):
            targets = _located(raws, name)
        targets = [None if n in without else target for n, target in enumerate(targets)]
        rows += converted(raws, targets, "bbq", category, "en")
    return ranked(rows)


def _without_target(name: str) -> set[int]:
    """The rows of a category of BBQ that have no target, listed as `12` or `12-15`."""
    rows: set[int] = set()
    for entry in ours("errata/bbq.yaml")["no_target"]:
        for span in entry["ids"].split() if entry["category"] == name else ():
            first, _, last = span.partition("-")
            rows.update(range(int(first), int(last or first) + 1))
    return rows


def _located(raws: list[dict[str, Any]], name: str) -> list[int | None]:
    """The targets by `target_loc`, the stereotype-consistent answer: on a non-negative question the
    other person.
    """
    from katayori.data import catalogue

    text = read_text(
        catalogue.path_of("bbq", "supplemental/additional_metadata.csv"), "BBQ metadata"
    )
    rows = csv.DictReader(io.StringIO(text, newline=""))
    marked = {int(row["example_id"]): row["target_loc"] for row in rows if row["category"] == name}
    targets: list[int | None] = []
    for n, raw in enumerate(raws):
        unknown = unknown_option(raw)
        first, second = (i for i in range(3) if i != unknown)
        if raw["question_polarity"] == "neg":
            by_location = {str(first): first, str(second): second}
        else:
            by_location = {str(first): second, str(second): first}
        location = marked.get(n)
        targets.append(None if location is None else by_location.get(location))
    return targets


# -- JBBQ ------------------------------------------------------------------------------------------


def load_jbbq(folder: str | Path, *, partial: bool = False) -> "pd.DataFrame":
    """JBBQ from the folder its owners gave you, columns `COLUMNS`; ids are `jbbq-<category>-<row>`.

    Every `.jsonl` file in the folder is read; rows per category must be those of the paper unless
    `partial`. A row that cannot be used (a missing field, fields that contradict each other,
    another category) and a file that holds no rows of JBBQ are left out. What was left out or
    derived is printed, one line a cause with file and row of the first and how many. The fields are
    those the owners' README lists: question_index may be missing, then a template is the questions
    that share contexts; additional_metadata may be a source instead of groups, then persons and
    roles are empty.

    Raises UnavailableError where there is no such file, saying how to get the data; KatayoriError
    for other counts, another encoding, and a folder of which no row can be used.
    """
    items, notes = _with_notes(folder, partial)
    for note in notes:
        print(f"JBBQ: {note}")
    return items


def _with_notes(folder: str | Path, partial: bool) -> tuple["pd.DataFrame", list[str]]:
    """What `load_jbbq` returns and what it prints."""
    usable, counts, dropped = _sorted_out(folder)
    notes = [
        f"{len(where)} {cause} ({'first: ' if len(where) > 1 else ''}{where[0]})"
        for cause, where in dropped.items()
    ]
    if not any(usable.values()):
        cause = f": {notes[0]}" if notes else ""
        raise KatayoriError(f"no row in {Path(folder).name} can be used as JBBQ{cause}")
    off = [f"{c} {counts[c]:,} for {n:,}" for c, n in CATEGORIES.items() if counts[c] != n]
    if off and not partial:
        advice = "is a file missing, doubled or cut off? partial=True loads what is there"
        causes = "; ".join([advice, *(note for note in notes if "left out" in note)])
        raise KatayoriError(f"JBBQ: other counts than the paper's, {', '.join(off)}; {causes}")
    rows: list[dict[str, Any]] = []
    for category, raws in usable.items():
        notes += _indexed(raws, category)
        targets = [_tagged_target(raw) for raw in raws]
        if n_without := targets.count(None):
            lost = "accuracy can be computed of them, bias scores cannot"
            notes.append(
                f"{category}: {n_without} row(s) whose tags name no stereotyped group; {lost}"
            )
        rows += converted(raws, targets, "jbbq", category, "ja")
    return ranked(rows), notes


def _sorted_out(
    folder: str | Path,
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, int], dict[str, list[str]]]:
    """The usable rows by category, all rows by category, and what was left out: cause -> where."""
    usable: dict[str, list[dict[str, Any]]] = {category: [] for category in CATEGORIES}
    counts = dict.fromkeys(CATEGORIES, 0)
    dropped: dict[str, list[str]] = {}
    for file in files_of(folder, "jbbq", "JBBQ files"):
        raws = json_lines(file, "BBQ file")
        problems = [problem(raw) for raw in raws]
        if raws and not any(set(CORE) <= raw.keys() for raw in raws):
            dropped.setdefault(f"file(s) without rows of JBBQ ({problems[0]})", []).append(
                file.name
            )
            continue
        for n, (raw, wrong) in enumerate(zip(raws, problems, strict=True), 1):
            category, unknown = _category(raw, file)
            raw["_row"] = counts.get(category, 0)  # ids stay where other rows are left out
            counts[category] = raw["_row"] + 1
            if cause := wrong or unknown:
                where = f"{file.name} row {n}"
                dropped.setdefault(f"row(s) left out: {cause}", []).append(where)
            else:
                usable[category].append(raw)
    return usable, counts, dropped


def _category(raw: dict[str, Any], file: Path) -> tuple[str, str]:
    """The category of a row, by its field or else its file, and what is wrong with it."""

    def known(name: str) -> str:
        return next((c for c in CATEGORIES if name.casefold().startswith(c.split("_")[0])), "")

    named = str(raw.get("category") or file.stem)
    if category := known(named):
        return category, ""
    wrong = f"unknown category {named.casefold()!r}; known: {', '.join(CATEGORIES)}"
    return known(file.stem) or named, wrong


def _indexed(raws: list[dict[str, Any]], category: str) -> list[str]:
    """Give rows without question_index one: questions asked of a shared context are a template."""
    import pandas as pd
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    lacking = [raw for raw in raws if raw.get("question_index") in (None, "")]
    if not lacking:
        return []
    contexts, named = pd.factorize(pd.Series([str(raw["context"]) for raw in lacking]))
    questions, asked = pd.factorize(pd.Series([str(raw["question"]) for raw in lacking]))
    size = len(named) + len(asked)
    shared = coo_array(([1] * len(lacking), (contexts, len(named) + questions)), (size, size))
    templates, numbers = connected_components(shared, directed=False)
    for raw, context in zip(lacking, contexts, strict=True):
        raw["question_index"] = f"d{numbers[context] + 1}"
    how = f"{templates} template(s) are derived from questions that share contexts"
    return [f"{category}: {len(lacking)} row(s) without question_index; {how}"]


def balanced(items: "pd.DataFrame", size: int | None) -> "pd.DataFrame":
    """At least `size` items, balanced over category, context, polarity and order; None or a larger
    number keeps all.

    Items are taken by whole ranks, so a smaller sample is a part of every larger one. In the study
    set a rank is one combination of pair, order of options and order of mention per template, with
    all six contexts and questions. Of fewer items than one rank holds, whole templates are taken,
    one of each category in turn.
    """
    if size is None or size >= len(items):
        return items
    level = items["rank"]
    if size < (level == 0).sum():
        items = items[level == 0]
        level = items.groupby("category")["template_id"].transform(lambda ids: ids.factorize()[0])
    counts = level.value_counts().sort_index().cumsum()
    last = counts.index[int(counts.searchsorted(size))]
    return items[level <= last].reset_index(drop=True)

"""BBQ (English) in the columns of `multiple_choice`."""

import csv
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from katayori.data import catalogue
from katayori.data.files import ours, read_text
from katayori.data.multiple_choice import (
    converted,
    ranked,
    tagged_target,
    unknown_option,
    upstream_rows,
)
from katayori.errors import expect

if TYPE_CHECKING:
    import pandas as pd

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


def load_bbq(categories: Iterable[str] = tuple(BBQ_FILES)) -> "pd.DataFrame":
    """English BBQ in our schema, columns `COLUMNS`; ids are `bbq-<category>-<example_id>`.

    Where the tags of a category do not settle who the target is, upstream's `target_loc` does (it
    marks the stereotype-consistent answer). An item without a target (data/errata/bbq.yaml) has
    empty persons and roles but for unknown, and the context `disambiguated` where it is not
    ambiguous. Raises KatayoriError for an unknown category, and what `catalogue.path_of` raises.
    """
    rows: list[dict[str, Any]] = []
    for category in categories:
        expect(category, BBQ_FILES, "category of BBQ")
        name = BBQ_FILES[category]
        without = _without_target(name)
        raws = upstream_rows(catalogue.path_of("bbq", f"data/{name}.jsonl"))
        targets = [tagged_target(raw) for raw in raws]
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

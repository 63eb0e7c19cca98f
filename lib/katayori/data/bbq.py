"""Items in the shape of BBQ: a context, a question, three options with named roles (PJ-1 to PJ-6).

Four sources share one schema: our Japanese study set, a user's file of its shape, BBQ (English),
and JBBQ from a folder the user was given by its owners. The schema stands in `multiple_choice`.
"""

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from katayori import paths
from katayori.data import bbq_rows, catalogue
from katayori.data.files import documents, json_lines, read_as, read_text, versions
from katayori.data.multiple_choice import (
    COLUMNS,
    CONTEXTS,
    ORDERS,
    PERSONS,
    POLARITIES,
    ranked,
    role,
)
from katayori.data.schema import Lenient, Schema, Text
from katayori.errors import KatayoriError, expect, within

#: The five categories and how many rows JBBQ has of each (PJ-1).
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
#: What a template file holds.
MIRRORED = ("age", "disability", "physical_appearance", "sexual_orientation")
#: The slots that texts of a template have.
_SLOTS = {
    "context": ["{first}", "{second}"],
    "negative_fact": ["{person}"],
    "positive_fact": ["{person}"],
    "negative": [],
    "non_negative": [],
}


def load_items(path: str | Path, kind: "type[TemplateFile] | None" = None) -> pd.DataFrame:
    """Every item of a template file, or of all in a folder (PJ-2 to PJ-6).

    Columns `COLUMNS` plus pair, mention (who is named first) and unknown (the wording). A template
    gives 6 orders of options x 2 of mention x its pairs x 3 contexts x 2 questions. `kind` is the
    schema of the file, where it is one below `TemplateFile` that names an example.

    Raises KatayoriError naming file, template and key.
    """
    rows: list[tuple] = []
    seen: set[str] = set()
    for file, document in _documents(path, kind):
        for template in document["templates"]:
            if template["id"] in seen:
                raise KatayoriError(f"{file.name}: template id {template['id']!r} appears twice")
            rows += _filled(document, template, len(seen))
            seen.add(template["id"])
    return pd.DataFrame(rows, columns=[*COLUMNS, "pair", "mention", "unknown"])


def items_version(path: str | Path, kind: "type[TemplateFile] | None" = None) -> str:
    """Name and version of template files, printed under every table computed from them."""
    return versions((document for _, document in _documents(path, kind)), "user templates")


class Template(Lenient):
    """A scene with its questions."""

    id: str
    stereotype: str
    known: str
    people: str
    context: str
    negative_fact: str
    positive_fact: str
    negative: str
    non_negative: str


class TemplateFile(Lenient):
    """A file of templates. Of `people`, `_check_pair` says best what an entry must be."""

    category: Text
    language: Text
    contrast: Text
    unknown: Annotated[list[Text], Field(min_length=1)]
    people: Annotated[dict[str, Any], Field(min_length=1)]
    templates: Annotated[list[Template], Field(min_length=1)]


def _documents(
    path: str | Path, kind: type[TemplateFile] | None
) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file, document in documents(path, "", "template file", kind=kind or TemplateFile):
        with within(file.name):
            _check(document)
        yield file, document


def _check(document: dict[str, Any]) -> None:
    """KatayoriError for what is wrong with a template file beside its form, in one line."""
    expect(document["category"], CATEGORIES, "category")
    for name, pairs in document["people"].items():
        for pair in pairs or [None]:
            _check_pair(name, pair, document["unknown"])
    for template in document["templates"]:
        _check_template(template, document["people"])


def _check_pair(name: str, pair: Any, unknown: list[Any]) -> None:
    """KatayoriError for people who are no pair of two, or one of whom is a wording of unknown."""
    texts = [*pair, *unknown] if isinstance(pair, list) and len(pair) == 2 else [""]
    if not all(isinstance(text, str) and text for text in texts) or len(set(texts)) < len(texts):
        kind = "a pair [target, non-target] of two persons, neither a wording of unknown"
        raise KatayoriError(f"people {name!r}: each entry must be {kind}, not {pair!r}")


def _check_template(template: dict[str, Any], people: dict[str, Any]) -> None:
    """KatayoriError for a slot that a template lacks, or has too many of."""
    expect(template["people"], people, f"people of template {template['id']}:")
    for key, slots in _SLOTS.items():
        if sorted(re.findall(r"\{\w*\}|[{}]", template[key])) != slots:
            wanted = " and ".join(slots) or "no slot"
            raise KatayoriError(f"template {template['id']}: {key} must hold {wanted}, each once")


def _filled(document: dict[str, Any], template: dict[str, str], number: int) -> Iterator[tuple]:
    """The items of one template in the order of their ranks. `number` counts templates and turns
    what is balanced.
    """
    pairs = document["people"][template["people"]]
    wordings = document["unknown"]
    for rank in range(len(pairs) * len(ORDERS) * 2):
        # Three ranks hold three rotations of the options, a block of six all orders.
        block, i = divmod(rank, 6)
        order = ORDERS[(i // 3 + number) % 2 * 3 + (i + number) % 3]
        mention = ("tn", "nt")[(block + i + number // 2) % 2]
        pair = (block // 2 + i // 2 + number // 3) % len(pairs)
        target, other = pairs[pair]
        names = {"t": target, "n": other, "u": wordings[(rank + number) % len(wordings)]}
        persons = [PERSONS[who] for who in order]
        for condition, polarity in itertools.product(CONTEXTS, POLARITIES):
            roles = [role(person, polarity) for person in persons]
            yield (
                f"{template['id']}-{pair + 1}-{condition}-{polarity}-{order}-{mention}",
                document["category"],
                template["id"],
                condition,
                polarity,
                _passage(template, condition, mention, names, document["contrast"]),
                template[polarity],
                *(names[who] for who in order),
                *roles,
                *persons,
                roles.index("unknown" if condition == "ambiguous" else condition),
                order,
                rank,
                document["language"],
                pair + 1,
                PERSONS[mention[0]],
                names["u"],
            )


def _passage(
    template: dict[str, str], condition: str, mention: str, names: dict[str, str], contrast: str
) -> str:
    """The context of an item: the opening and, unless it is ambiguous, a fact on each person."""
    first, second = tuple(mention)
    opening = (
        template["context"].replace("{first}", names[first]).replace("{second}", names[second])
    )
    if condition == "ambiguous":
        return opening
    told_badly = "t" if condition == "biased" else "n"
    facts = []
    for who in mention:
        fact = template["negative_fact" if who == told_badly else "positive_fact"]
        facts.append(fact.replace("{person}", names[who]))
    return opening + contrast.join(facts)


def load_bbq(categories: Iterable[str] = tuple(BBQ_FILES)) -> pd.DataFrame:
    """English BBQ in our schema, columns `COLUMNS`; ids are `bbq-<category>-<example_id>`.

    Where the tags of a category do not settle who the target is, upstream's `target_loc` does (it
    marks the stereotype-consistent answer). An item without a target (data/errata/bbq.yaml) has
    empty persons and roles but for unknown, and the context `disambiguated` where it is not
    ambiguous. Raises KatayoriError for an unknown category, and what `catalogue.path_of` raises.
    """
    rows: list[tuple] = []
    for category in categories:
        expect(category, BBQ_FILES, "category of BBQ")
        name = BBQ_FILES[category]
        without = _without_target(name)
        raws = bbq_rows.upstream_rows(catalogue.path_of("bbq", f"data/{name}.jsonl"))
        targets = [_tagged(raw) for raw in raws]
        if any(target is None and n not in without for n, target in enumerate(targets)):
            targets = _located(raws, name)
        targets = [None if n in without else target for n, target in enumerate(targets)]
        rows += bbq_rows.converted(raws, targets, "bbq", category, "en")
    return ranked(rows)


class NoTarget(Schema):
    """Items of a category of BBQ that have no target."""

    category: Text
    ids: Annotated[str, Field(pattern=r"^\d+(-\d+)?(\s+\d+(-\d+)?)*$")]  # `12` or `12-15`
    reason: Text


class Errata(Schema):
    """data/errata/bbq.yaml."""

    no_target: list[NoTarget]


def _without_target(name: str) -> set[int]:
    """The rows of a category of BBQ that have no target, listed as `12` or `12-15`."""
    rows: set[int] = set()
    for entry in read_as(Errata, paths.registry("errata/bbq.yaml")).no_target:
        if entry.category == name:
            for span in entry.ids.split():
                first, _, last = span.partition("-")
                rows.update(range(int(first), int(last or first) + 1))
    return rows


def load_jbbq(folder: str | Path, *, partial: bool = False) -> pd.DataFrame:
    """JBBQ from the folder its owners gave you, columns `COLUMNS`; ids are `jbbq-<category>-<row>`.

    Every `.jsonl` file in the folder is read; rows per category must be those of the paper (PJ-1)
    unless `partial`. What was left out or derived is printed, one line a cause (`read_jbbq`).

    Raises UnavailableError where there is no such file, saying how to get the data; KatayoriError
    for other counts, another encoding, and a folder of which no row can be used.
    """
    items, counts, notes = read_jbbq(folder)
    off = [f"{c} {counts[c]:,} for {n:,}" for c, n in CATEGORIES.items() if counts[c] != n]
    if off and not partial:
        advice = "is a file missing, doubled or cut off? partial=True loads what is there"
        causes = "".join(f"; {note}" for note in notes if "left out" in note)
        raise KatayoriError(
            f"JBBQ: other counts than the paper's, {', '.join(off)}; {advice}{causes}"
        )
    for note in notes:
        print(f"JBBQ: {note}")
    return items


def read_jbbq(folder: str | Path) -> tuple[pd.DataFrame, dict[str, int], list[str]]:
    """JBBQ or any part of it: items as of `load_jbbq`, rows by category in the files, and notes.

    A row that cannot be used (a missing field, fields that contradict each other, another
    category) and a file that holds no rows of JBBQ are left out and noted, each cause once with
    file and row of the first and how many. The fields are those the owners' README lists:
    question_index may be missing, then a template is the questions that share contexts;
    additional_metadata may be a source instead of groups, then persons and roles are empty.
    Raises as `load_jbbq`, but not for counts.
    """
    usable: dict[str, list[dict[str, Any]]] = {category: [] for category in CATEGORIES}
    counts = dict.fromkeys(CATEGORIES, 0)
    dropped: list[tuple[str, str, int]] = []
    for file in bbq_rows.files_of(folder, "jbbq", "JBBQ files"):
        raws = json_lines(file, "BBQ file")
        problems = [bbq_rows.problem(raw) for raw in raws]
        if raws and not any(set(bbq_rows.CORE) <= raw.keys() for raw in raws):
            dropped.append((f"file(s) without rows of JBBQ ({problems[0]})", file.name, 0))
            continue
        for n, (raw, problem) in enumerate(zip(raws, problems, strict=True), 1):
            category, wrong = _category(raw, file)
            raw["_row"] = counts.get(category, 0)  # ids stay where other rows are left out
            counts[category] = raw["_row"] + 1
            if problem or wrong:
                dropped.append((f"row(s) left out: {problem or wrong}", file.name, n))
            else:
                usable[category].append(raw)
    notes = _counted(dropped)
    if not any(usable.values()):
        cause = f": {notes[0]}" if notes else ""
        raise KatayoriError(f"no row in {Path(folder).name} can be used as JBBQ{cause}")
    rows: list[tuple] = []
    for category, raws in usable.items():
        notes += _indexed(raws, category)
        targets = [_tagged(raw) for raw in raws]
        if n_without := targets.count(None):
            lost = "accuracy can be computed of them, bias scores cannot"
            notes.append(
                f"{category}: {n_without} row(s) whose tags name no stereotyped group; {lost}"
            )
        rows += bbq_rows.converted(raws, targets, "jbbq", category, "ja")
    return ranked(rows), {category: counts[category] for category in CATEGORIES}, notes


def _category(raw: dict[str, Any], file: Path) -> tuple[str, str]:
    """The category of a row, by its field or else its file, and what is wrong with it."""

    def known(name: str) -> str:
        return next((c for c in CATEGORIES if name.casefold().startswith(c.split("_")[0])), "")

    named = str(raw.get("category") or file.stem)
    if category := known(named):
        return category, ""
    wrong = f"unknown category {named.casefold()!r}; known: {', '.join(CATEGORIES)}"
    return known(file.stem) or named, wrong


def _counted(dropped: list[tuple[str, str, int]]) -> list[str]:
    """Each cause once: how many, and file and row of the first."""
    places: dict[str, list[str]] = {}
    for cause, file, row in dropped:
        places.setdefault(cause, []).append(f"{file} row {row}" if row else file)
    lines = []
    for cause, where in places.items():
        first = "first: " if len(where) > 1 else ""
        lines.append(f"{len(where)} {cause} ({first}{where[0]})")
    return lines


def _indexed(raws: list[dict[str, Any]], category: str) -> list[str]:
    """Give rows without question_index one: questions asked of a shared context are a template."""
    lacking = [raw for raw in raws if raw.get("question_index") in (None, "")]
    joined: dict[str, str] = {}  # text -> another text of its template, itself for the first

    def first(text: str) -> str:
        while joined.setdefault(text, text) != text:
            joined[text] = joined[joined[text]]  # the next search is shorter
            text = joined[text]
        return text

    for raw in lacking:
        joined[first(f"context {raw['context']}")] = first(f"question {raw['question']}")
    numbers: dict[str, int] = {}
    for raw in lacking:
        template = first(f"question {raw['question']}")
        raw["question_index"] = f"d{numbers.setdefault(template, len(numbers) + 1)}"
    if not lacking:
        return []
    how = f"{len(numbers)} template(s) are derived from questions that share contexts"
    return [f"{category}: {len(lacking)} row(s) without question_index; {how}"]


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
                    "item_id": bbq_rows.id_of("bbq", category, n),
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


FORMATS = ("race", "arc", "qonly")
_ANSWERED = ("category", "ans0", "ans1", "ans2", *(f"unifiedqa-t5-11b_pred_{f}" for f in FORMATS))


def _tagged(raw: dict[str, Any]) -> int | None:
    """The option that names the target: the only one with a stereotyped group as its tag or,
    failing that, its name.
    """
    metadata = raw.get("additional_metadata")
    listed = metadata.get("stereotyped_groups") if isinstance(metadata, dict) else None
    if isinstance(listed, str):
        listed = [listed]
    stereotyped = [str(group).casefold() for group in listed or ()]
    groups = [bbq_rows.ALIKE.get(group, group) for group in stereotyped]
    names, tags = zip(*bbq_rows.described(raw), strict=True)
    for words, wanted in ((tags, groups), (tags, groups[:1]), (names, groups[:1])):
        hits = [i for i, word in enumerate(words) if word in wanted]
        if len(hits) == 1:
            return hits[0]
    return None


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
        unknown = bbq_rows.unknown_option(raw)
        first, second = (i for i in range(3) if i != unknown)
        if raw["question_polarity"] == "neg":
            by_location = {str(first): first, str(second): second}
        else:
            by_location = {str(first): second, str(second): first}
        location = marked.get(n)
        targets.append(None if location is None else by_location.get(location))
    return targets

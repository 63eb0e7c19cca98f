"""Items in the shape of BBQ: a context, a question, three options with named roles (PJ-1 to PJ-6).

Four sources share one schema: our Japanese study set, a user's file of its shape, BBQ (English),
and JBBQ from a folder the user was given by its owners. Every option says who it names (`person_*`:
target, non_target, unknown) and what choosing it means (`role_*`: biased, counter_biased, unknown);
neither is ever read off a position or a word.
"""

import csv
import hashlib
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from katayori import paths
from katayori.data import catalogue
from katayori.data.files import documents, json_lines, read_as, read_text, versions
from katayori.data.items import digest as items_digest
from katayori.data.schema import Lenient, Schema, Text
from katayori.errors import KatayoriError, UnavailableError, expect, within

#: The five categories and how many rows JBBQ has of each (PJ-1).
CATEGORIES = {
    "age": 28176,
    "disability": 8064,
    "gender": 3912,
    "physical_appearance": 7536,
    "sexual_orientation": 3168,
}
CONTEXTS = ("ambiguous", "biased", "counter_biased")
POLARITIES = ("negative", "non_negative")
PERSONS = {"t": "target", "n": "non_target", "u": "unknown"}
#: Orders of the three options: the three rotations of one, then those of its mirror image.
ORDERS = ("tnu", "nut", "utn", "ntu", "tun", "unt")
COLUMNS = [
    "item_id",
    "category",
    "template_id",
    "context_condition",
    "polarity",
    "context",
    "question",
    "option_0",
    "option_1",
    "option_2",
    "role_0",
    "role_1",
    "role_2",
    "person_0",
    "person_1",
    "person_2",
    "label",
    "order",
    "rank",
    "language",
]
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


def role(person: str, polarity: str) -> str:
    """What choosing a person means (PJ-5): on a non-negative question the stereotype points to the
    non-target.
    """
    if person == "unknown":
        return person
    follows_stereotype = (person == "target") == (polarity == "negative")
    return "biased" if follows_stereotype else "counter_biased"


def balanced(items: pd.DataFrame, size: int | None) -> pd.DataFrame:
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


def in_all_orders(items: pd.DataFrame) -> pd.DataFrame:
    """Every item in all six orders of its options, the order it was given in first.

    Args:
        items: columns of `COLUMNS`, or others that tell the options by option_0, role_0 ...

    Returns:
        six rows an item, next to each other, with base_id (the id of the item), order_number (0:
        as given; under its own id, so that answers to it are found again) and `order`: where each
        option stood before, as `201`.

    Example:
        >>> row = {"item_id": "x", "label": 2, "option_0": "a", "option_1": "b", "option_2": "c"}
        >>> six = in_all_orders(pd.DataFrame([row]))
        >>> six[["item_id", "option_1", "option_2", "label"]].head(2).to_numpy().tolist()
        [['x', 'b', 'c', 2], ['x-021', 'c', 'b', 1]]
    """
    places = range(3)
    parts = []
    for number, places_before in enumerate(itertools.permutations(places)):
        order = "".join(map(str, places_before))
        part = items.assign(base_id=items["item_id"], order_number=number, order=order)
        for kind in {name[:-2] for name in items.columns if name[-2:] in ("_0", "_1", "_2")}:
            for place, before in enumerate(places_before):
                part[f"{kind}_{place}"] = items[f"{kind}_{before}"]
        for pointer in ("label", "unknown_position"):
            if pointer in items:
                part[pointer] = items[pointer].map(places_before.index)
        if number:
            part["item_id"] = items["item_id"] + "-" + order
        parts.append(part.assign(_row=range(len(items))))
    stacked = pd.concat(parts, ignore_index=True)
    by_item = stacked.sort_values(["_row", "order_number"], kind="stable", ignore_index=True)
    return by_item.drop(columns="_row")


def digest(items: pd.DataFrame) -> str:
    """sha256 over every column of the schema, in order: which items exactly a run was about."""
    return items_digest(items, *COLUMNS[1:])


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
    ambiguous. Raises KatayoriError for an unknown category, and what `catalogue.fetch` raises.
    """
    rows: list[tuple] = []
    for category in categories:
        expect(category, BBQ_FILES, "category of BBQ")
        name = BBQ_FILES[category]
        without = _without_target(name)
        raws = upstream_rows(catalogue.fetch("bbq", f"data/{name}.jsonl"))
        targets = [_tagged(raw) for raw in raws]
        if any(target is None and n not in without for n, target in enumerate(targets)):
            targets = _located(raws, name)
        targets = [None if n in without else target for n, target in enumerate(targets)]
        rows += converted(raws, targets, "bbq", category, "en")
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
    for file in _files_of(folder, "jbbq", "JBBQ files"):
        raws = json_lines(file, "BBQ file")
        problems = [_problem(raw) for raw in raws]
        if raws and not any(set(_CORE) <= raw.keys() for raw in raws):
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
        rows += converted(raws, targets, "jbbq", category, "ja")
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
            file = catalogue.fetch("bbq_unifiedqa", f"results/UnifiedQA/{name}")
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
                    "item_id": _id("bbq", category, n),
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
_FIELDS = {
    "question_polarity": ("neg", "nonneg"),
    "context_condition": ("ambig", "disambig"),
    "label": (0, 1, 2),
}
_CORE = (*_FIELDS, "answer_info", "context", "question", "ans0", "ans1", "ans2")
#: Other spellings of the fields' values.
_SPELT: dict[str, dict[str, str | int]] = {
    "question_polarity": {"negative": "neg", "non_negative": "nonneg", "nonnegative": "nonneg"},
    "context_condition": {"ambiguous": "ambig", "disambiguated": "disambig"},
    "label": {"0": 0, "1": 1, "2": 2},
}
_UNKNOWN = ("unknown", "不明", "未知", "わからない", "分からない", "判断できない")
_ALIKE = {
    "f": "女性",
    "woman": "女性",
    "girl": "女性",
    "女の子": "女性",
    "m": "男性",
    "man": "男性",
    "boy": "男性",
    "男の子": "男性",
}


def _id(source: str, category: str, row: int) -> str:
    # example_id is the row, counted from 0, in every file of BBQ.
    return f"{source}-{category}-{row:05d}"


def upstream_rows(file: Path) -> list[dict[str, Any]]:
    """Rows of a file in BBQ's format, checked; JBBQ's misspelt field gets its right name (PJ-2).

    Raises KatayoriError naming the first row that cannot be used, and why.
    """
    raws = json_lines(file, "BBQ file")
    for n, raw in enumerate(raws, 1):
        problem = _problem(raw)
        if lacks := [k for k in ("question_index", "additional_metadata") if k not in raw]:
            problem = problem or f"lacks {', '.join(lacks)}"
        if problem:
            colon = "" if problem.startswith("lacks") else ":"
            raise KatayoriError(f"{file.name} row {n}{colon} {problem}")
    return raws


def _problem(raw: dict[str, Any]) -> str:
    """What is wrong with a row of BBQ's format, empty where nothing is; spellings are unified."""
    if "additional_metadeta" in raw:
        raw["additional_metadata"] = raw.pop("additional_metadeta")
    if lacks := [name for name in _CORE if name not in raw]:
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
    files = _files_of(folder, dataset_id, what)
    rows = [(file, n, raw) for file in files for n, raw in enumerate(upstream_rows(file), 1)]
    if not rows:
        raise _absent(folder, dataset_id, what)
    return rows


def _files_of(folder: str | Path, dataset_id: str, what: str) -> list[Path]:
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


def _described(raw: dict[str, Any]) -> list[list[str]]:
    """Name and tag of each option as upstream describes it."""
    described = []
    for i in range(3):
        words = [str(word).casefold() for word in raw["answer_info"][f"ans{i}"]]
        described.append([_ALIKE.get(word, word) for word in words])
    return described


def unknown_option(raw: dict[str, Any]) -> int | None:
    """The option tagged as unknown, None unless there is exactly one."""
    try:
        tags = ["unknown" if tag in _UNKNOWN else tag for _, tag in _described(raw)]
    except (ValueError, KeyError, TypeError):
        return None
    return tags.index("unknown") if tags.count("unknown") == 1 else None


def _tagged(raw: dict[str, Any]) -> int | None:
    """The option that names the target: the only one with a stereotyped group as its tag or,
    failing that, its name.
    """
    metadata = raw.get("additional_metadata")
    listed = metadata.get("stereotyped_groups") if isinstance(metadata, dict) else None
    if isinstance(listed, str):
        listed = [listed]
    stereotyped = [str(group).casefold() for group in listed or ()]
    groups = [_ALIKE.get(group, group) for group in stereotyped]
    names, tags = zip(*_described(raw), strict=True)
    for words, wanted in ((tags, groups), (tags, groups[:1]), (names, groups[:1])):
        hits = [i for i, word in enumerate(words) if word in wanted]
        if len(hits) == 1:
            return hits[0]
    return None


def _located(raws: list[dict[str, Any]], name: str) -> list[int | None]:
    """The targets by `target_loc`, the stereotype-consistent answer: on a non-negative question the
    other person.
    """
    text = read_text(catalogue.fetch("bbq", "supplemental/additional_metadata.csv"), "BBQ metadata")
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
            _id(source, category, raw.get("_row", n)),
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


def ranked(rows: list[tuple]) -> pd.DataFrame:
    """The items' frame, with ranks by hash of id within category, context, polarity and order."""
    items = pd.DataFrame(rows, columns=COLUMNS)
    hashed = items["item_id"].map(lambda i: hashlib.sha256(i.encode()).hexdigest())
    drawn = items.loc[hashed.sort_values().index]
    return items.assign(
        rank=drawn.groupby(["category", "context_condition", "polarity", "order"]).cumcount()
    )

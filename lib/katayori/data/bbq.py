"""Items in the shape of BBQ: a context, a question, three options with named roles (PJ-1 to PJ-6).

Four sources share one schema: our Japanese study set, a user's file of its shape, BBQ (English), and JBBQ from a
folder the user was given by its owners. Every option says who it names (`person_*`: target, non_target, unknown) and
what choosing it means (`role_*`: biased, counter_biased, unknown); neither is ever read off a position or a word.
"""

import csv
import hashlib
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.data import catalogue
from katayori.data.files import documents, json_lines, ours, read_text, versions
from katayori.data.items import digest as items_digest
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
_SHAPE = [
    "option_0 option_1 option_2 role_0 role_1 role_2 person_0 person_1 person_2",
    "label order rank language",
]
COLUMNS = " ".join(
    ["item_id category template_id context_condition polarity context question", *_SHAPE]
).split()
STUDY_FOLDER = "study/persona_jbbq"
#: The eleven categories of BBQ by our and by their own names; the first five are JBBQ's, too.
BBQ_FILES = dict(zip(CATEGORIES, "Age Disability_status Gender_identity".split(), strict=False))
BBQ_FILES |= {
    n.lower(): n
    for n in "Physical_appearance Sexual_orientation Nationality Race_ethnicity".split()
}
BBQ_FILES |= {n.lower(): n for n in "Race_x_SES Race_x_gender Religion SES".split()}
_FILE = {
    "category": str,
    "language": str,
    "contrast": str,
    "unknown": list,
    "people": dict,
    "templates": list,
}
MIRRORED = ("age", "disability", "physical_appearance", "sexual_orientation")
_TEXTS = (
    "id stereotype known people context negative_fact positive_fact negative non_negative".split()
)
_SLOTS = {
    "context": ["{first}", "{second}"],
    "negative_fact": ["{person}"],
    "positive_fact": ["{person}"],
}
_SLOTS |= {"negative": [], "non_negative": []}


def role(person: str, polarity: str) -> str:
    """What choosing a person means (PJ-5): on a non-negative question the stereotype points to the non-target."""
    if person == "unknown":
        return person
    return "biased" if (person == "target") == (polarity == "negative") else "counter_biased"


def balanced(items: pd.DataFrame, size: int | None) -> pd.DataFrame:
    """At least `size` items, balanced over category, context, polarity and order; None or a larger number keeps all.

    Items are taken by whole ranks, so a smaller sample is a part of every larger one. In the study set a rank is one
    combination of pair, order of options and order of mention per template, with all six contexts and questions. Of
    fewer items than one rank holds, whole templates are taken, one of each category in turn.
    """
    if size is None or size >= len(items):
        return items
    level = items["rank"]
    if size < (level == 0).sum():
        items = items[level == 0]
        level = items.groupby("category")["template_id"].transform(lambda ids: ids.factorize()[0])
    counts = level.value_counts().sort_index().cumsum()
    return items[level <= counts.index[counts.searchsorted(size)]].reset_index(drop=True)


def digest(items: pd.DataFrame) -> str:
    """sha256 over every column of the schema, in order: which items exactly a run was about."""
    return items_digest(items, *COLUMNS[1:])


def load_study_bbq(path: str | Path = "") -> pd.DataFrame:
    """Every item of a template file, or of all in a folder; an empty path means ours (PJ-2 to PJ-6).

    Columns `COLUMNS` plus pair, mention (who is named first) and unknown (the wording). A template gives 6 orders of
    options x 2 of mention x its pairs x 3 contexts x 2 questions. Raises KatayoriError naming file, template and key.
    """
    rows, seen = [], set()
    for file, document in _documents(path):
        for template in document["templates"]:
            if template["id"] in seen:
                raise KatayoriError(f"{file.name}: template id {template['id']!r} appears twice")
            rows += _filled(document, template, len(seen))
            seen.add(template["id"])
    return pd.DataFrame(rows, columns=[*COLUMNS, "pair", "mention", "unknown"])


def load_items(items: str, path: str | Path = "") -> tuple[pd.DataFrame, str]:
    """Items of a profile and the data set's name: `study` (ours, or the user's file) or `official` (BBQ, English).

    Of BBQ the four categories are taken that need no metadata beside the items.
    """
    if items == "study":
        return load_study_bbq(path), study_version(path)
    return load_bbq(MIRRORED), "BBQ, four categories"


def study_version(path: str | Path = "") -> str:
    """Name and version of the template files, printed under every table computed from them."""
    return versions((document for _, document in _documents(path)), "user templates")


def _documents(path: str | Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file, document in documents(path, STUDY_FOLDER, "template file"):
        with within(file.name):
            _check(document)
        yield file, document


def _check(document: Any) -> None:
    """KatayoriError for what is wrong with a template file, in one line."""
    if not isinstance(document, dict):
        raise KatayoriError("is no template file; see ours in data/study/persona_jbbq")
    if lacks := [
        k for k, kind in _FILE.items() if not (document.get(k) and isinstance(document[k], kind))
    ]:
        raise KatayoriError(f"lacks {', '.join(f'{k} (a {_FILE[k].__name__})' for k in lacks)}")
    expect(document["category"], CATEGORIES, "category")
    unknown, pairs = (
        document["unknown"],
        [(name, p) for name, ps in document["people"].items() for p in ps or [None]],
    )
    for name, pair in pairs:
        texts = [*pair, *unknown] if isinstance(pair, list) and len(pair) == 2 else [""]
        if not all(isinstance(t, str) and t for t in texts) or len(set(texts)) < len(texts):
            kind = "a pair [target, non-target] of two persons, neither a wording of unknown"
            raise KatayoriError(f"people {name!r}: each entry must be {kind}, not {pair!r}")
    for n, template in enumerate(document["templates"], 1):
        if lacks := [
            k
            for k in _TEXTS
            if not (isinstance(template, dict) and isinstance(template.get(k), str))
        ]:
            raise KatayoriError(f"template number {n} lacks {', '.join(lacks)}")
        expect(template["people"], document["people"], f"people of template {template['id']}:")
        for key, slots in _SLOTS.items():
            if sorted(re.findall(r"\{\w*\}|[{}]", template[key])) != slots:
                wanted = " and ".join(slots) or "no slot"
                raise KatayoriError(
                    f"template {template['id']}: {key} must hold {wanted}, each once"
                )


def _filled(document: dict[str, Any], template: dict[str, str], number: int) -> Iterator[tuple]:
    """The items of one template in the order of their ranks. `number` counts templates and turns what is balanced."""
    pairs, wordings = document["people"][template["people"]], document["unknown"]
    for rank in range(len(pairs) * len(ORDERS) * 2):
        block, i = divmod(
            rank, 6
        )  # three ranks hold three rotations of the options, a block of six all orders
        order = ORDERS[(i // 3 + number) % 2 * 3 + (i + number) % 3]
        mention = ("tn", "nt")[(block + i + number // 2) % 2]
        pair = (block // 2 + i // 2 + number // 3) % len(pairs)
        named = dict(
            zip("tnu", (*pairs[pair], wordings[(rank + number) % len(wordings)]), strict=True)
        )
        opening = (
            template["context"]
            .replace("{first}", named[mention[0]])
            .replace("{second}", named[mention[1]])
        )
        persons = [PERSONS[who] for who in order]
        for condition, polarity in itertools.product(CONTEXTS, POLARITIES):
            bad = {"biased": "t", "counter_biased": "n"}.get(
                condition
            )  # whom the negative fact is told of
            told = [
                (template["negative_fact" if who == bad else "positive_fact"], who)
                for who in mention
                if bad
            ]
            facts = [fact.replace("{person}", named[who]) for fact, who in told]
            roles = [role(person, polarity) for person in persons]
            label = roles.index("unknown" if condition == "ambiguous" else condition)
            texts = (
                opening + document["contrast"].join(facts),
                template[polarity],
                *(named[who] for who in order),
            )
            yield (
                f"{template['id']}-{pair + 1}-{condition}-{polarity}-{order}-{mention}",
                *(
                    document["category"],
                    template["id"],
                    condition,
                    polarity,
                    *texts,
                    *roles,
                    *persons,
                    label,
                ),
                *(order, rank, document["language"], pair + 1, PERSONS[mention[0]], named["u"]),
            )


def load_bbq(categories: Iterable[str] = tuple(BBQ_FILES)) -> pd.DataFrame:
    """English BBQ in our schema, columns `COLUMNS`; ids are `bbq-<category>-<example_id>`.

    Where the tags of a category do not settle who the target is, upstream's `target_loc` does (it marks the
    stereotype-consistent answer). An item without a target (data/errata/bbq.yaml) has empty persons and roles but for
    unknown, and the context `disambiguated` where it is not ambiguous. Raises KatayoriError for an unknown category,
    and what `catalogue.fetch` raises.
    """
    spans = [
        (e["category"], i.partition("-"))
        for e in ours("errata/bbq.yaml")["no_target"]
        for i in e["ids"].split()
    ]
    rows: list[tuple] = []
    for category in categories:
        expect(category, BBQ_FILES, "category of BBQ")
        name = BBQ_FILES[category]
        bounds = [
            (int(first), int(last or first)) for where, (first, _, last) in spans if where == name
        ]
        none = {n for first, last in bounds for n in range(first, last + 1)}
        raws = upstream_rows(catalogue.fetch("bbq", f"data/{name}.jsonl"))
        targets = [_tagged(raw) for raw in raws]
        if any(target is None and n not in none for n, target in enumerate(targets)):
            targets = _located(raws, name)
        targets = [None if n in none else target for n, target in enumerate(targets)]
        rows += converted(raws, targets, "bbq", category, "en")
    return ranked(rows)


def load_jbbq(folder: str | Path, *, partial: bool = False) -> pd.DataFrame:
    """JBBQ from the folder its owners gave you, columns `COLUMNS`; ids are `jbbq-<category>-<row>`.

    Every `.jsonl` file in the folder is read; rows per category must be those of the paper (PJ-1) unless `partial`.
    Raises UnavailableError where there is no such file, saying how to get the data; KatayoriError for other counts,
    another encoding, a missing field, or fields that contradict each other, naming file and row.
    """
    found: dict[str, list[dict[str, Any]]] = {category: [] for category in CATEGORIES}
    for file, n, raw in rows_of_folder(folder, "jbbq", "JBBQ files"):
        named = str(raw.get("category") or file.stem).casefold()
        category = next((c for c in CATEGORIES if named.startswith(c.split("_")[0])), named)
        expect(category, CATEGORIES, f"category in {file.name} row {n}")
        found[category].append(raw)
    off = [f"{c} {len(found[c]):,} for {n:,}" for c, n in CATEGORIES.items() if len(found[c]) != n]
    if off and not partial:
        advice = "is a file missing, doubled or cut off? partial=True loads what is there"
        raise KatayoriError(f"JBBQ: other counts than the paper's, {', '.join(off)}; {advice}")
    rows: list[tuple] = []
    for category, raws in found.items():
        targets = [_tagged(raw) for raw in raws]
        if raws and targets.count(None) == len(raws):
            raise KatayoriError(
                f"JBBQ {category}: no stereotyped group is a tag of answer_info; are fields swapped?"
            )
        rows += converted(raws, targets, "jbbq", category, "ja")
    return ranked(rows)


def load_bbq_answers(categories: Iterable[str] = ("age", "sexual_orientation")) -> pd.DataFrame:
    """Upstream's stored UnifiedQA answers as an answers frame; `prompt_id` is their format: race, arc or qonly.

    A reply that is none of the three options, up to case and punctuation, is `out_of_choice`. Raises as `fetch`.
    """

    def plain(text: str) -> str:
        return re.sub(r"[^\w\s]", "", text.casefold()).strip()

    rows = []
    for category in categories:
        file = catalogue.fetch(
            "bbq_unifiedqa", f"results/UnifiedQA/preds_{BBQ_FILES.get(category)}.jsonl"
        )
        for n, raw in enumerate(json_lines(file, "answers file")):
            options = [plain(raw[f"ans{i}"]) for i in range(3)]
            for form in ("race", "arc", "qonly"):
                text = raw[f"unifiedqa-t5-11b_pred_{form}"]
                answer = str(options.index(plain(text))) if plain(text) in options else None
                outcome = "ok" if answer else "out_of_choice"
                rows.append(
                    (
                        _id("bbq", category, n),
                        "unifiedqa-t5-11b",
                        form,
                        0,
                        outcome,
                        answer,
                        "imported",
                        text,
                    )
                )
    return pd.DataFrame(
        rows, columns="item_id model prompt_id repetition outcome answer source text".split()
    )


_FIELDS = {
    "question_polarity": ("neg", "nonneg"),
    "context_condition": ("ambig", "disambig"),
    "label": (0, 1, 2),
}
_NEEDED = "question_index answer_info additional_metadata context question ans0 ans1 ans2".split()
_ALIKE = dict.fromkeys(("f", "woman", "girl", "女の子"), "女性") | dict.fromkeys(
    ("m", "man", "boy", "男の子"), "男性"
)


def _id(source: str, category: str, row: int) -> str:
    return f"{source}-{category}-{row:05d}"  # example_id is the row, counted from 0, in every file of BBQ


def upstream_rows(file: Path) -> list[dict[str, Any]]:
    """Rows of a file in BBQ's format, checked; JBBQ's misspelt field gets its right name (PJ-2)."""
    raws = json_lines(file, "BBQ file")
    for n, raw in enumerate(raws, 1):
        if "additional_metadeta" in raw:
            raw["additional_metadata"] = raw.pop("additional_metadeta")
        if lacks := [name for name in (*_FIELDS, *_NEEDED) if name not in raw]:
            raise KatayoriError(f"{file.name} row {n} lacks {', '.join(lacks)}")
        unknown, ambiguous = unknown_option(raw), raw["context_condition"] == "ambig"
        wrong = {k: known for k, known in _FIELDS.items() if raw[k] not in known}
        problems = {
            f"{k} is {raw[k]!r}, not one of {known}; are fields swapped?": True
            for k, known in wrong.items()
        }
        problems["answer_info must describe three options and tag one of them 'unknown'"] = (
            unknown is None
        )
        problems[f"label {raw['label']} contradicts context_condition"] = ambiguous != (
            raw["label"] == unknown
        )
        if found := [problem for problem, holds in problems.items() if holds]:
            raise KatayoriError(f"{file.name} row {n}: {found[0]}")
    return raws


def rows_of_folder(
    folder: str | Path, dataset_id: str, what: str
) -> list[tuple[Path, int, dict[str, Any]]]:
    """File, number and content of every row in the `.jsonl` files of a folder that the owners of a data set gave.

    One file of it may be named in place of the folder.

    Raises UnavailableError where there is none of `what`, saying how to get the data set.
    """
    place = Path(folder)
    files = [place] if place.is_file() else sorted(place.rglob("*.jsonl")) if str(folder) else []
    rows = [(file, n, raw) for file in files for n, raw in enumerate(upstream_rows(file), 1)]
    if not rows:
        how = catalogue.load()[dataset_id]["how"]
        raise UnavailableError(f"no {what} (*.jsonl) in {Path(folder).name or 'no folder'}: {how}")
    return rows


def _described(raw: dict[str, Any]) -> list[list[str]]:
    """Name and tag of each option as upstream describes it."""
    words = ([str(w).casefold() for w in raw["answer_info"][f"ans{i}"]] for i in range(3))
    return [[_ALIKE.get(word, word) for word in pair] for pair in words]


def unknown_option(raw: dict[str, Any]) -> int | None:
    """The option tagged as unknown, None unless there is exactly one."""
    try:
        tags = [tag for _, tag in _described(raw)]
    except (ValueError, KeyError, TypeError):
        return None
    return tags.index("unknown") if tags.count("unknown") == 1 else None


def _tagged(raw: dict[str, Any]) -> int | None:
    """The option that names the target: the only one with a stereotyped group as its tag or, failing that, its name."""
    metadata = raw["additional_metadata"]
    listed = metadata.get("stereotyped_groups") if isinstance(metadata, dict) else None
    groups = [_ALIKE.get(g, g) for g in (str(g).casefold() for g in listed or ())]
    names, tags = zip(*_described(raw), strict=True)
    for words, wanted in ((tags, groups), (tags, groups[:1]), (names, groups[:1])):
        if sum(hits := [word in wanted for word in words]) == 1:
            return hits.index(True)
    return None


def _located(raws: list[dict[str, Any]], name: str) -> list[int | None]:
    """The targets by `target_loc`, the stereotype-consistent answer: on a non-negative question the other person."""
    text = read_text(catalogue.fetch("bbq", "supplemental/additional_metadata.csv"), "BBQ metadata")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    marked = {int(row["example_id"]): row["target_loc"] for row in rows if row["category"] == name}
    targets: list[int | None] = []
    for n, raw in enumerate(raws):
        persons = [i for i in range(3) if i != unknown_option(raw)]
        meant = persons if raw["question_polarity"] == "neg" else persons[::-1]
        targets.append(
            {str(i): other for i, other in zip(persons, meant, strict=True)}.get(marked.get(n))
        )
    return targets


def converted(
    raws: list, targets: list[int | None], source: str, category: str, language: str
) -> Iterator[tuple]:
    """Rows in the order of `COLUMNS`, all of rank 0."""
    for n, (raw, target) in enumerate(zip(raws, targets, strict=True)):
        persons = [
            "" if target is None else "target" if i == target else "non_target" for i in range(3)
        ]
        persons[unknown_option(raw)] = "unknown"
        polarity = POLARITIES[raw["question_polarity"] == "nonneg"]
        roles = [person and role(person, polarity) for person in persons]
        ambiguous = raw["context_condition"] == "ambig"
        yield (
            *(_id(source, category, n), category, f"{category}-q{raw['question_index']}"),
            "ambiguous" if ambiguous else roles[raw["label"]] or "disambiguated",
            *(polarity, raw["context"], raw["question"], *(raw[f"ans{i}"] for i in range(3))),
            *(
                *roles,
                *persons,
                raw["label"],
                "".join(person[:1] or "-" for person in persons),
                0,
                language,
            ),
        )


def ranked(rows: list[tuple]) -> pd.DataFrame:
    """The items' frame, with ranks by hash of id within category, context, polarity and order."""
    items = pd.DataFrame(rows, columns=COLUMNS)
    hashed = items["item_id"].map(lambda i: hashlib.sha256(i.encode()).hexdigest())
    drawn = items.loc[hashed.sort_values().index]
    return items.assign(
        rank=drawn.groupby(["category", "context_condition", "polarity", "order"]).cumcount()
    )

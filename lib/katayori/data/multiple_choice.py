"""Questions with three options: their columns, what an option means, orders, and rows in the format
of BBQ's files.

Every option says who it names (`person_*`: target, non_target, unknown) and what choosing it means
(`role_*`: biased, counter_biased, unknown); neither is ever read off a position or a word.
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data.files import json_lines, ours
from katayori.errors import KatayoriError, UnavailableError, expect

if TYPE_CHECKING:
    import pandas as pd

POLARITIES = ("negative", "non_negative")
COLUMNS = (
    "item_id category template_id context_condition polarity context question"
    " option_0 option_1 option_2 role_0 role_1 role_2 person_0 person_1 person_2"
    " label order rank language"
).split()


def role(person: str, polarity: str) -> str:
    """What choosing a person means: on a non-negative question the stereotype points to the
    non-target.
    """
    expect(polarity, POLARITIES, "polarity")
    expect(person, ("target", "non_target", "unknown"), "person")
    if person == "unknown":
        return person
    follows_stereotype = (person == "target") == (polarity == "negative")
    return "biased" if follows_stereotype else "counter_biased"


def three_options(
    words: Sequence[str], persons: Sequence[str], polarity: str, label: int
) -> dict[str, Any]:
    """The columns of the options of an item: their words, whom each names ("": not known), what
    choosing it means, and which is right.
    """
    row: dict[str, Any] = {"label": label}
    row["order"] = "".join(person[:1] or "-" for person in persons)
    for place, person in enumerate(persons):
        row[f"option_{place}"] = words[place]
        row[f"person_{place}"] = person
        row[f"role_{place}"] = person and role(person, polarity)
    return row


def in_all_orders(items: "pd.DataFrame") -> "pd.DataFrame":
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
    import pandas as pd

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


def in_orders(rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
    """The rows as they are, or in all six orders of their options.

    Raises KatayoriError for another value of `orders` than `all`.
    """
    if not own.get("orders"):
        return rows
    expect(own["orders"], ("all",), "orders")
    return in_all_orders(rows)


def ranked(rows: list[dict[str, Any]]) -> "pd.DataFrame":
    """The items' frame, with ranks by hash of id within category, context, polarity and order."""
    import pandas as pd

    items = pd.DataFrame(rows, columns=COLUMNS)
    hashed = items["item_id"].map(lambda i: hashlib.sha256(i.encode()).hexdigest())
    drawn = items.loc[hashed.sort_values().index]
    return items.assign(
        rank=drawn.groupby(["category", "context_condition", "polarity", "order"]).cumcount()
    )


# -- rows in the format of BBQ's files -------------------------------------------------------------

#: Field -> each spelling that is read, and its value in BBQ's files.
_FIELDS: dict[str, Mapping[str, Any]] = {
    "question_polarity": dict.fromkeys(("neg", "negative"), "neg")
    | dict.fromkeys(("nonneg", "non_negative", "nonnegative"), "nonneg"),
    "context_condition": dict.fromkeys(("ambig", "ambiguous"), "ambig")
    | dict.fromkeys(("disambig", "disambiguated"), "disambig"),
    "label": {"0": 0, "1": 1, "2": 2},
}
CORE = (*_FIELDS, "answer_info", "context", "question", "ans0", "ans1", "ans2")
_UNKNOWN = ("unknown", "不明", "未知", "わからない", "分からない", "判断できない")
ALIKE = dict.fromkeys(("f", "woman", "girl", "女の子"), "女性")
ALIKE |= dict.fromkeys(("m", "man", "boy", "男の子"), "男性")


def _id_of(source: str, category: str, row: int) -> str:
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
    for name, known in _FIELDS.items():
        spelt = str(raw[name]).casefold().replace("-", "_")
        if spelt not in known:
            valid = ", ".join(map(str, dict.fromkeys(known.values())))
            return f"{name} is {raw[name]!r}, not one of {valid}"
        raw[name] = known[spelt]
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
    how = ours("catalogue.yaml")["datasets"][dataset_id]["how"]
    return UnavailableError(f"no {what} (*.jsonl) in {Path(folder).name or 'no folder'}: {how}")


def described(raw: dict[str, Any]) -> list[list[str]]:
    """Name and tag of each option as upstream describes it."""
    found = []
    for i in range(3):
        words = [str(word).casefold() for word in raw["answer_info"][f"ans{i}"]]
        found.append([ALIKE.get(word, word) for word in words])
    return found


def unknown_option(raw: dict[str, Any]) -> int | None:
    """The option tagged as unknown, None unless there is exactly one."""
    try:
        tags = ["unknown" if tag in _UNKNOWN else tag for _, tag in described(raw)]
    except (ValueError, KeyError, TypeError):
        return None
    return tags.index("unknown") if tags.count("unknown") == 1 else None


def converted(
    raws: list, targets: list[int | None], source: str, category: str, language: str
) -> Iterator[dict[str, Any]]:
    """Rows in our columns, all of rank 0; without a target only unknown is told."""
    for n, (raw, target) in enumerate(zip(raws, targets, strict=True)):
        others = "" if target is None else "non_target"
        persons = ["target" if place == target else others for place in range(3)]
        if (unknown := unknown_option(raw)) is not None:
            persons[unknown] = "unknown"
        polarity = "negative" if raw["question_polarity"] == "neg" else "non_negative"
        words = [raw[f"ans{place}"] for place in range(3)]
        row = three_options(words, persons, polarity, raw["label"])
        clear = row[f"role_{raw['label']}"] or "disambiguated"
        yield row | {
            "item_id": _id_of(source, category, raw.get("_row", n)),
            "category": category,
            "template_id": f"{category}-q{raw['question_index']}",
            "context_condition": "ambiguous" if raw["context_condition"] == "ambig" else clear,
            "polarity": polarity,
            "context": raw["context"],
            "question": raw["question"],
            "rank": 0,
            "language": language,
        }

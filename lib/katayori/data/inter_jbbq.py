"""Intersectional items: two profiles that differ in one focal attribute, over every subset of the
others (IJ-1 to 11).

Topics and lexicons are data (`data/study/inter_jbbq`, whose README tells how to add a topic); this
module draws words, fills sentences and keeps the counts as designed. Every choice is read off a
sha256 of the seed and of what is chosen: the items are the same on every machine and under every
version of Python.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations, count, product
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data import bbq
from katayori.data.files import documents, read_yaml, versions
from katayori.errors import KatayoriError, UnavailableError, expect, within

STUDY_FOLDER = "study/inter_jbbq"
LEXICONS = "lexicons.yaml"
#: Orders of the options: person A (the answer to the neutral question), B (to the negative one),
#: unknown.
ORDERS = ("abu", "bua", "uab", "bau", "aub", "uba")
NON_FOCAL = ("same", "free")
_OWN = "item topic context_id family focal_id focal n_attributes subset words_a words_b groups_a groups_b".split()
COLUMNS = [*bbq.COLUMNS, *_OWN, "unknown", "unknown_position", "stereotyped", "non_focal"]
#: What the manifest counts the items of a topic by.
COUNTED = [
    "topic",
    "context_id",
    "focal",
    "n_attributes",
    "subset",
    "unknown",
    "unknown_position",
    "order",
]
_SLOTS = {
    "ambiguous": "a b profile_a profile_b",
    "disambiguating": "a b",
    "negative": "a b",
    "neutral": "a b",
}
_TRIES = 1000  # draws for one family before we say that too few combinations of words are left


def generate(
    topics_path: str | Path = "",
    preset: str = "published_counts",
    *,
    seed: int = 0,
    non_focal: str = "same",
) -> pd.DataFrame:
    """The items of every topic that has a count for the preset, four rows an item (IJ-3 to IJ-9,
    IJ-11).

    Args:
        topics_path: a folder of topic files, or one file; empty means ours. Without a
            `lexicons.yaml` beside them ours is used; a topic file may add attributes to it.
        preset: `published_counts`, whole families that add up to the counts behind the published
            results (IJ-8); `balanced_350`, 350 items a topic as the paper's text says, the last
            family of each context incomplete; or another name the topic files hold (`extra` is our
            own topic).
        seed: of all draws.
        non_focal: `same`, both persons share the words of the attributes that are not focal;
            `free`, each has its own.

    Returns:
        `COLUMNS`, those of `data.bbq` and our own. category is the topic, template_id topic and
        context, rank the number of the family from 0. polarity `non_negative` is the paper's
        neutral question. context_condition is `ambiguous` or, by the direction the topic file sets
        for the focal attribute, `biased` (B, of whom the negative fact is told, belongs to the
        stereotyped group), `counter_biased` (A does), or `disambiguated` (none is set); persons and
        roles follow, and are empty without a direction. Our own: item (shared by its four rows),
        family (from 1, in its context), focal_id; words and groups of A and B as `attribute=word`,
        joined by +; unknown (its wording) and unknown_position; stereotyped, a, b or empty.

    Raises:
        KatayoriError: naming file and key, for what is wrong with a topic file or the lexicons, for
            an unknown preset or rule, and for a count that cannot be reached.
    """
    expect(non_focal, NON_FOCAL, "rule for words that are not focal:")
    topics = read_topics(topics_path)
    expect(
        preset,
        sorted({name for _, d in topics for c in d["contexts"] for name in _sizes(c)}),
        "preset",
    )
    rows: list[dict[str, Any]] = []
    for file, document in topics:
        with _naming(file):
            items = list(_items(document, preset, seed, non_focal))
        # Wordings in the order of a hash: equally frequent, and tied to no attribute.
        shuffled = sorted(items, key=lambda item: _number(seed, "unknown", item["item"]))
        for place, item in enumerate(shuffled):
            item["unknown"] = document["unknown"][place % len(document["unknown"])]
        rows += [row for item in items for row in _four(document, item)]
    return pd.DataFrame(rows, columns=COLUMNS)


def load_items(items: str, path: str | Path = "") -> tuple[pd.DataFrame, str]:
    """Items and the data set's name: `study`, our topics or the user's. The official set comes from
    `load_inter_jbbq`.

    Raises UnavailableError for the official set, of which no public copy is known.
    """
    if items == "study":
        return generate(path), study_version(path)
    raise UnavailableError(
        "inter-JBBQ has no public copy; load your own with load_inter_jbbq(folder)"
    )


def study_version(topics_path: str | Path = "") -> str:
    """Name and version of the topic files, printed under every table computed from them."""
    return versions((document for _, document in read_topics(topics_path)), "user topics")


def manifest(items: pd.DataFrame) -> pd.DataFrame:
    """How many items (not rows) of a topic hold each value of `COUNTED`: columns what, topic,
    value, n.
    """
    single = items.drop_duplicates("item").astype(str)
    counts = {
        what: single.groupby(["topic", single[what].rename("value")]).size() for what in COUNTED
    }
    return pd.concat(counts, names=["what"]).rename("n").reset_index()


def doubles(items: pd.DataFrame) -> pd.DataFrame:
    """How many texts stand in the set before: families draw words, and words come again.

    A small profile tells few words, so two families of a context may give one passage. Such items
    are no new evidence.

    Returns:
        what (`passages`: ambiguous passages, one an item; `prompts`: passage, question and options
        in order, four an item), doubles (texts that are word for word an earlier one), n (all).
    """
    passages = items[items["context_condition"] == "ambiguous"].drop_duplicates("item")
    prompt = ["context", "question", "option_0", "option_1", "option_2"]
    counted = {
        "passages": (passages.duplicated(["context"]).sum(), len(passages)),
        "prompts": (items.duplicated(prompt).sum(), len(items)),
    }
    rows = [(what, int(double), n) for what, (double, n) in counted.items()]
    return pd.DataFrame(rows, columns=["what", "doubles", "n"])


def load_inter_jbbq(folder: str | Path) -> pd.DataFrame:
    """The official items (or any others) from `.jsonl` files in BBQ's format in a user's folder,
    columns `COLUMNS`.

    One object a row with BBQ's fields: category (the topic), question_index, question_polarity
    (neg, nonneg: the paper's neutral), context_condition (ambig, disambig), context, question, ans0
    to ans2, label, answer_info (the unknown option tagged `unknown`), and additional_metadata with
    item (an id the four rows share), context_id, attributes (list) and, where known, focal. No
    direction is known: persons and roles are empty but for unknown. Raises UnavailableError where
    there is no file; KatayoriError naming file, row and field, or an incomplete item.
    """
    rows, own = [], []
    for file, n, raw in bbq.rows_of_folder(folder, "inter_jbbq", "inter-JBBQ rows"):
        with _naming(f"{file.name} row {n}"):
            told, place = raw["additional_metadata"], bbq.unknown_option(raw)
            item = {
                "topic": raw["category"],
                "unknown": raw[f"ans{place}"],
                "unknown_position": place,
            }
            item |= {
                "subset": "+".join(told["attributes"]),
                "n_attributes": len(told["attributes"]),
            }
            own.append(
                item
                | {key: told[key] for key in ("item", "context_id")}
                | {"focal": told.get("focal", "")}
            )
            rows += bbq.converted(
                [raw], [None], f"inter_jbbq-{file.stem}-{n}", raw["category"], "ja"
            )
    items = bbq.ranked(rows).assign(**{key: [item[key] for item in own] for key in own[0]})
    asked = items.groupby("item")["question"].size().ne(4) | items.groupby("item")[
        "context"
    ].nunique().ne(2)
    if asked.any():
        raise KatayoriError(
            f"{asked.sum()} items are not asked in the four ways, e.g. {asked.idxmax()!r}"
        )
    return items.reindex(columns=COLUMNS, fill_value="")


def _number(*key: object) -> int:
    """A number that follows from the key alone."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, key)).encode()).digest()[:8], "big")


def _words(lexicon: dict[str, Any]) -> list[str]:
    return [word for words in lexicon["groups"].values() for word in words]


def _subsets(names: list[str]) -> list[tuple[str, ...]]:
    """Every subset but the empty one, the small ones first."""
    return [subset for size in range(len(names)) for subset in combinations(names, size + 1)]


def _fill(text: str, slots: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda slot: slots[slot[1]], text)


def _sizes(context: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Families and items of a context by preset; only a count given in items may leave the last
    family incomplete.
    """
    size = 2 ** (len(context["attributes"]) - 1)
    whole = {preset: (n, n * size) for preset, n in context.get("families", {}).items()}
    return whole | {preset: (-(-n // size), n) for preset, n in context.get("items", {}).items()}


def _items(
    document: dict[str, Any], preset: str, seed: int, non_focal: str
) -> Iterator[dict[str, Any]]:
    """The items of a topic without their unknown option: whole families, focal attributes in turn
    (IJ-6 to IJ-8).
    """
    turn, times = count(), Counter()
    for context in document["contexts"]:
        attributes, place = context["attributes"], f"{document['topic']}-{context['id']}"
        families, left = _sizes(context).get(preset, (0, 0))
        seen: set[str] = set()
        for family in range(families):
            focal, name = attributes[next(turn) % len(attributes)], f"{place}-{family + 1:02d}"
            # Which group stands as A alternates, and attributes start on different sides: odd
            # numbers even out.
            side, times[focal] = (times[focal] + attributes.index(focal)) % 2, times[focal] + 1
            people = _drawn(document, context, focal, side, non_focal, seen, (seed, name))
            chosen = [subset for subset in _subsets(attributes) if focal in subset]
            if left < len(chosen):
                chosen = sorted(chosen, key=lambda subset: _number(seed, name, *subset))[:left]
            left -= len(chosen)
            group = context.get("stereotype", {}).get(focal)
            shared = {
                "topic": document["topic"],
                "context_id": context["id"],
                "language": document["language"],
            }
            shared |= {"category": document["topic"], "template_id": place}
            shared |= {
                "family": family + 1,
                "rank": family,
                "focal_id": name,
                "focal": focal,
                "non_focal": non_focal,
            }
            shared |= {
                "stereotyped": "".join(who for who in "ab" if people[who][focal][0] == group)
            }
            for subset in map("+".join, chosen):
                order = ORDERS[_number(seed, "order", name, subset) % len(ORDERS)]
                item = {
                    "item": f"{name}-{subset}",
                    "subset": subset,
                    "n_attributes": subset.count("+") + 1,
                }
                item |= {"order": order, "unknown_position": order.index("u")}
                yield shared | item | {"people": people, "texts": context}


def _drawn(
    document: dict, context: dict, focal: str, side: int, non_focal: str, seen: set, key: tuple
) -> dict:
    """Group and word of every attribute for A and for B; a combination that is excluded or seen is
    drawn again.
    """
    excluded = [e["words"] for e in (*document["exclusions"], *context.get("exclusions", []))]
    for attempt in range(_TRIES):
        people: dict[str, dict[str, tuple[str, str]]] = {"a": {}, "b": {}}
        for name, person in product(context["attributes"], people):
            chance = (
                *key,
                attempt,
                name,
                person if focal == name or non_focal == "free" else "both",
            )
            number = side + (person == "b") if focal == name else _number(*chance, "group")
            group, words = list(document["lexicon"][name]["groups"].items())[number % 2]
            people[person][name] = (group, words[_number(*chance, "word") % len(words)])
        pairs = product(people.values(), excluded)
        odd = any(
            all(name in words and words[name][1] in e[name] for name in e) for words, e in pairs
        )
        if not odd and (drawn := f"{focal} {people}") not in seen:
            seen.add(drawn)
            return people
    found = f"context {context['id']}: no new family with focal attribute {focal} in {_TRIES} draws, after {len(seen)}"
    raise KatayoriError(f"{found}; lower families or items, add words, or remove exclusions")


def _profile(
    document: dict[str, Any], subset: list[str], words: dict[str, tuple[str, str]], who: str
) -> str:
    """The sentence on one person: the clauses that hold an attribute of the subset, in the order of
    the file.

    A's sentence, where it is one clause, runs on into B's: 「Aさんは女性で、Bさんは男性です。」.
    """
    forms = [
        "+".join(name for name in clause["attributes"] if name in subset)
        for clause in document["profile"]
    ]
    used = [(clause, form) for clause, form in zip(document["profile"], forms, strict=True) if form]
    ends = [clause["join"] for clause, _ in used]
    if who == "b" or len(used) > 1:
        ends[-1] = used[-1][0]["end"]
    text = "".join(
        clause["forms"][form] + end for (clause, form), end in zip(used, ends, strict=True)
    )
    slots = {name: word for name, (_, word) in words.items()} | {
        "person": document["persons"]["ab".index(who)]
    }
    return _fill(used[0][0].get("opening", "{person}は") + text, slots)


def _four(document: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One item asked in its four ways (IJ-9); gold never depends on the profiles (IJ-3)."""
    order, named = (
        item["order"],
        dict(zip("abu", (*document["persons"], item["unknown"]), strict=True)),
    )
    side = {"a": "", "b": "", "u": "unknown"}
    if item["stereotyped"]:
        side |= {"a": "non_target", "b": "non_target"} | {item["stereotyped"]: "target"}
    slots, subset = dict(named), item["subset"].split("+")
    for who, words in item["people"].items():
        slots[f"profile_{who}"] = _profile(document, subset, words, who)
        item[f"groups_{who}"] = "+".join(f"{name}={words[name][0]}" for name in subset)
        item[f"words_{who}"] = "+".join(f"{name}={words[name][1]}" for name in subset)
    texts = {key: _fill(item["texts"][key], slots) for key in _SLOTS}
    for i, who in enumerate(order):
        item |= {f"option_{i}": named[who], f"person_{i}": side[who]}
    for condition, question in product(("ambiguous", "disambiguated"), ("negative", "neutral")):
        polarity, known = bbq.POLARITIES[question == "neutral"], condition == "disambiguated"
        roles = [side[who] and bbq.role(side[who], polarity) for who in order]
        label = order.index("ba"[question == "neutral"] if known else "u")
        row = {
            "item_id": f"{item['item']}-{condition}-{question}",
            "polarity": polarity,
            "question": texts[question],
        }
        row |= {"context": texts["ambiguous"] + texts["disambiguating"] * known, "label": label}
        row |= {"context_condition": (known and roles[label]) or condition}
        yield item | row | {f"role_{i}": role for i, role in enumerate(roles)}


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """What is wrong inside is said in one line with its place; a key that is absent or of another
    kind is, too.
    """
    with within(where):
        try:
            yield
        except KeyError as error:
            raise KatayoriError(
                f"{error.args[0]} is missing; see data/study/inter_jbbq/README.md"
            ) from None
        except (TypeError, AttributeError) as error:
            raise KatayoriError(f"not as data/study/inter_jbbq/README.md tells ({error})") from None


def read_topics(topics_path: str | Path) -> list[tuple[str, dict[str, Any]]]:
    """File names and checked topics, each with the lexicons and exclusions that hold for it."""
    place = Path(topics_path) if topics_path else paths.data_dir() / STUDY_FOLDER
    found = documents(place, "", "topic file", LEXICONS)
    beside = (place if place.is_dir() else place.parent) / LEXICONS
    lexicons = beside if beside.exists() else paths.data_dir() / STUDY_FOLDER / LEXICONS
    shared = _completed(lexicons, read_yaml(lexicons, "topic file"))
    topics = [(file.name, _completed(file, document, shared)) for file, document in found]
    times = Counter(document["topic"] for _, document in topics)
    if twice := [topic for topic, n in times.items() if n > 1]:
        raise KatayoriError(
            f"{place.name}: topic {twice[0]!r} is that of several files; rename one"
        )
    return topics


def _completed(
    file: Path, document: dict[str, Any], shared: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A checked topic with its attributes and exclusions added to the shared; without these, the
    lexicons.
    """
    with _naming(file.name):
        lexicon = (shared or {}).get("lexicon", {}) | document.get("attributes", {})
        exclusions = [*(shared or {}).get("exclusions", []), *document.get("exclusions", [])]
        for name, entry in lexicon.items():
            words = _words(entry)
            if (
                len(entry["groups"]) != 2
                or not all(entry["groups"].values())
                or len(set(words)) < len(words)
            ):
                raise KatayoriError(
                    f"attribute {name}: groups must be two lists, no word twice, not {entry['groups']}"
                )
            if not entry.get("source"):
                raise KatayoriError(
                    f"attribute {name}: source is missing (the statistic its words rest on)"
                )
        own = [
            exclusion
            for context in document.get("contexts", [])
            for exclusion in context.get("exclusions", [])
        ]
        for name, words in (
            pair for exclusion in (*exclusions, *own) for pair in exclusion["words"].items()
        ):
            expect(name, lexicon, "attribute in exclusions:")
            for word in words:
                expect(word, _words(lexicon[name]), f"word of {name} in exclusions:")
        document = document | {"lexicon": lexicon, "exclusions": exclusions}
        if shared:
            _check(document)
    return document


def _check(document: dict[str, Any]) -> None:
    """KatayoriError for what is wrong with a topic, naming context and key."""
    if not all(isinstance(document[key], str) for key in ("topic", "language")):
        raise KatayoriError("topic and language must be texts")
    names = [*document["persons"], *document["unknown"]]
    if len(document["persons"]) != 2 or len(names) < 3 or len(set(names)) < len(names):
        raise KatayoriError(
            f"persons and unknown must be two names and other wordings of unknown, not {names}"
        )
    for context in document["contexts"]:
        with _naming(f"context {context['id']}"):
            for key, slots in _SLOTS.items():
                if {*re.findall(r"\{(.*?)\}", context[key])} != {*slots.split()}:
                    raise KatayoriError(
                        f"{key} must hold the slots {{{slots.replace(' ', '}, {')}}} and no other"
                    )
            for name in context["attributes"]:
                expect(name, document["lexicon"], "attribute")
            with _naming("profile"):
                for subset in _subsets(context["attributes"]):
                    sentence = _profile(
                        document, subset, {name: ("", f"<{name}>") for name in subset}, "b"
                    )
                    if sorted(re.findall("<(.*?)>", sentence)) != sorted(subset):
                        raise KatayoriError(
                            f"it must tell each of {', '.join(subset)} once, not {sentence!r}"
                        )
            for name, group in context.get("stereotype", {}).items():
                expect(name, context["attributes"], "attribute in stereotype:")
                expect(
                    group, document["lexicon"][name]["groups"], f"group of {name} in stereotype:"
                )
            counts = context.get("families", {}) | context.get("items", {})
            if not all(isinstance(n, int) and n > 0 for n in counts.values()):
                raise KatayoriError(
                    f"families and items must be whole numbers from 1, not {counts}"
                )

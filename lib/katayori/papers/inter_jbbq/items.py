"""Intersectional items: two profiles that differ in one focal attribute (IJ-1 to IJ-11).

They do so over every subset of the other attributes.

Topics and lexicons are data (`data/study/inter_jbbq`, whose README tells how to add a topic); this
module draws words, fills sentences and keeps the counts as designed. Every choice is read off a
sha256 of the seed and of what is chosen: the items are the same on every machine and under every
version of Python.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data import bbq
from katayori.data.files import documents, read_checked, versions
from katayori.errors import KatayoriError, UnavailableError, expect, within
from katayori.papers.inter_jbbq.schema import LexiconFile, TopicFile

STUDY_FOLDER = "study/inter_jbbq"
LEXICONS = "lexicons.yaml"
#: Orders of the options: person A (the answer to the neutral question), B (to the negative one),
#: unknown.
ORDERS = ("abu", "bua", "uab", "bau", "aub", "uba")
NON_FOCAL = ("same", "free")
#: The two persons of an item.
PERSONS = ("a", "b")
#: The questions of an item: polarity, and who is the answer where the passage tells.
_QUESTIONS = {"negative": ("negative", "b"), "neutral": ("non_negative", "a")}
_Told = dict[str, tuple[str, str]]  # attribute -> group and word
_People = dict[str, _Told]  # by `PERSONS`
_OWN = (
    "item",
    "topic",
    "context_id",
    "family",
    "focal_id",
    "focal",
    "n_attributes",
    "subset",
    "words_a",
    "words_b",
    "groups_a",
    "groups_b",
    "unknown",
    "unknown_position",
    "stereotyped",
    "non_focal",
)
COLUMNS = [*bbq.COLUMNS, *_OWN]
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
#: The slots that each text of a context holds, each at least once.
_SLOTS = {
    "ambiguous": ("a", "b", "profile_a", "profile_b"),
    "disambiguating": ("a", "b"),
    "negative": ("a", "b"),
    "neutral": ("a", "b"),
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
        context, rank the number of the family in its context, from 0. polarity `non_negative` is
        the paper's neutral question. context_condition is `ambiguous` or, by the direction that
        the topic file sets for the focal attribute (which group the stereotype is about), `biased`
        (person B, of whom the negative fact is told, belongs to that group), `counter_biased`
        (person A belongs to it), or `disambiguated` (the file sets no direction); persons and
        roles follow, and are empty without a direction. Our own: item (shared by its four rows),
        family (from 1, in its context), focal_id; words and groups of A and B as `attribute=word`,
        joined by +; unknown (its wording) and unknown_position; stereotyped, a, b or empty.

    Raises:
        KatayoriError: naming file and key, for what is wrong with a topic file or the lexicons, for
            an unknown preset or rule, and for a count that cannot be reached.

    Example:
        >>> items = generate()
        >>> len(items), len(items) == 4 * items["item"].nunique()
        (5600, True)
    """
    expect(non_focal, NON_FOCAL, "rule for words that are not focal:")
    topics = read_topics(topics_path)
    presets = {
        name
        for _, document in topics
        for context in document["contexts"]
        for name in _sizes(context)
    }
    expect(preset, sorted(presets), "preset")
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


def quarter(items: pd.DataFrame) -> pd.DataFrame:
    """One family in four, whole, spread evenly over contexts and focal attributes.

    Families are sorted by topic, context, focal attribute and number, and every fourth is taken,
    from the third on.

    Example:
        >>> some = quarter(generate())
        >>> len(some), some["focal_id"].nunique(), some["topic"].nunique()
        (1440, 26, 4)
    """
    families = items.drop_duplicates("focal_id")
    ordered = families.sort_values(["topic", "context_id", "focal", "rank"], kind="stable")
    return items[items["focal_id"].isin(ordered["focal_id"].iloc[2::4])].reset_index(drop=True)


def load_items(items: str, path: str | Path = "") -> tuple[pd.DataFrame, str]:
    """The generated items, and the name and version of their data set.

    Args:
        items: `study`. path: topic files of the user's; empty: ours.

    Raises UnavailableError for anything else: the official set has no public copy, and files of
    the user's own come from `load_inter_jbbq`.

    Example:
        >>> load_items("study")[1] == study_version()
        True
    """
    if items == "study":
        return generate(path), study_version(path)
    raise UnavailableError(
        "inter-JBBQ has no public copy; load your own with load_inter_jbbq(folder)"
    )


def study_version(topics_path: str | Path = "") -> str:
    """Name and version of the topic files, printed under every table computed from them.

    Example:
        >>> study_version()
        'katayori-inter-study v1'
    """
    return versions((document for _, document in read_topics(topics_path)), "user topics")


def manifest(items: pd.DataFrame) -> pd.DataFrame:
    """How many items (not rows) of a topic hold each value of `COUNTED`: columns what, topic,
    value, n.

    Example:
        >>> counts = manifest(generate())
        >>> counts.query("what == 'topic'")["topic"].tolist()
        ['housing', 'manners', 'marriage', 'science']
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

    Example:
        >>> doubles(generate()).columns.tolist()
        ['what', 'doubles', 'n']
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

    Example:
        >>> load_inter_jbbq("no/such/folder")
        Traceback (most recent call last):
            ...
        katayori.errors.UnavailableError: no inter-JBBQ rows (*.jsonl) in folder: no public copy ...
    """
    rows: list[tuple] = []
    own: list[dict[str, Any]] = []
    for file, n, raw in bbq.rows_of_folder(folder, "inter_jbbq", "inter-JBBQ rows"):
        with _naming(f"{file.name} row {n}"):
            own.append(_own_columns(raw))
            source = f"inter_jbbq-{file.stem}-{n}"
            rows += bbq.converted([raw], [None], source, raw["category"], "ja")
    items = bbq.ranked(rows)
    for name in own[0]:
        items[name] = [item[name] for item in own]
    by_item = items.groupby("item")
    incomplete = by_item["question"].size().ne(4) | by_item["context"].nunique().ne(2)
    if incomplete.any():
        example = incomplete.idxmax()
        raise KatayoriError(
            f"{incomplete.sum()} items are not asked in the four ways, e.g. {example!r}"
        )
    return items.reindex(columns=COLUMNS, fill_value="")


def _own_columns(raw: dict[str, Any]) -> dict[str, Any]:
    """What a row in BBQ's format says beyond BBQ's own fields."""
    metadata = raw["additional_metadata"]
    place = bbq.unknown_option(raw)
    return {
        "topic": raw["category"],
        "unknown": raw[f"ans{place}"],
        "unknown_position": place,
        "subset": "+".join(metadata["attributes"]),
        "n_attributes": len(metadata["attributes"]),
        "item": metadata["item"],
        "context_id": metadata["context_id"],
        "focal": metadata.get("focal", ""),
    }


def _number(*key: object) -> int:
    """A number that follows from the key alone."""
    text = "|".join(map(str, key))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _words(lexicon: dict[str, Any]) -> list[str]:
    return [word for words in lexicon["groups"].values() for word in words]


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Every subset but the empty one, the small ones first."""
    sizes = range(1, len(names) + 1)
    return [subset for size in sizes for subset in combinations(names, size)]


def _fill(text: str, slots: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda slot: slots[slot[1]], text)


def _sizes(context: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Families and items of a context by preset.

    Only a count given in items may leave the last family incomplete.
    """
    size = 2 ** (len(context["attributes"]) - 1)  # items of a whole family
    sizes = {preset: (n, n * size) for preset, n in context.get("families", {}).items()}
    for preset, n in context.get("items", {}).items():
        sizes[preset] = (math.ceil(n / size), n)
    return sizes


def _items(
    document: dict[str, Any], preset: str, seed: int, non_focal: str
) -> Iterator[dict[str, Any]]:
    """The items of a topic without their unknown option: whole families, focal attributes in turn
    (IJ-6 to IJ-8).
    """
    turn = 0
    times: Counter[str] = Counter()  # families of the topic by focal attribute
    for context in document["contexts"]:
        attributes = context["attributes"]
        place = f"{document['topic']}-{context['id']}"
        families, left = _sizes(context).get(preset, (0, 0))
        draw = _Draw(document, context, non_focal)
        for family in range(families):
            focal = attributes[turn % len(attributes)]
            name = f"{place}-{family + 1:02d}"
            # Which group stands as A alternates, and attributes start on different sides: odd
            # numbers even out.
            side = (times[focal] + attributes.index(focal)) % 2
            turn += 1
            times[focal] += 1
            people = draw.people(focal, side, (seed, name))
            chosen = [subset for subset in _subsets(attributes) if focal in subset]
            if left < len(chosen):
                chosen.sort(key=lambda subset: _number(seed, name, *subset))
                chosen = chosen[:left]
            left -= len(chosen)
            shared = {
                "topic": document["topic"],
                "category": document["topic"],
                "language": document["language"],
                "context_id": context["id"],
                "template_id": place,
                "family": family + 1,
                "rank": family,
                "focal_id": name,
                "focal": focal,
                "non_focal": non_focal,
                "stereotyped": _stereotyped(context, people, focal),
                "people": people,
                "texts": context,
            }
            for attributes_told in chosen:
                subset = "+".join(attributes_told)
                order = ORDERS[_number(seed, "order", name, subset) % len(ORDERS)]
                yield shared | {
                    "item": f"{name}-{subset}",
                    "subset": subset,
                    "n_attributes": len(attributes_told),
                    "order": order,
                    "unknown_position": order.index("u"),
                }


def _stereotyped(context: dict[str, Any], people: _People, focal: str) -> str:
    """Who belongs to the stereotyped group of the focal attribute: `a`, `b` or nobody (empty)."""
    target = context.get("stereotype", {}).get(focal)
    return "".join(who for who in PERSONS if people[who][focal][0] == target)


class _Draw:
    """Draws the people of a context's families, no combination twice."""

    def __init__(self, document: dict[str, Any], context: dict[str, Any], non_focal: str):
        self.lexicon = document["lexicon"]
        self.context = context
        self.non_focal = non_focal
        exclusions = (*document["exclusions"], *context.get("exclusions", []))
        self.excluded = [exclusion["words"] for exclusion in exclusions]
        self.seen: set[str] = set()

    def people(self, focal: str, side: int, key: tuple) -> _People:
        """Group and word of every attribute for A and for B.

        A combination that is excluded or seen is drawn again.
        """
        for attempt in range(_TRIES):
            people = self._attempt(focal, side, (*key, attempt))
            drawn = f"{focal} {people}"
            if drawn not in self.seen and not any(map(self._is_excluded, people.values())):
                self.seen.add(drawn)
                return people
        raise KatayoriError(
            f"context {self.context['id']}: no new family with focal attribute {focal}"
            f" in {_TRIES} draws, after {len(self.seen)};"
            " lower families or items, add words, or remove exclusions"
        )

    def _attempt(self, focal: str, side: int, key: tuple) -> _People:
        """One draw. In the focal attribute A and B are of different groups, A of that of `side`."""
        people: _People = {who: {} for who in PERSONS}
        for name, who in product(self.context["attributes"], PERSONS):
            # Where both share a draw they have the same group and word.
            drawn_for = who if name == focal or self.non_focal == "free" else "both"
            if name == focal:
                number = side + PERSONS.index(who)
            else:
                number = _number(*key, name, drawn_for, "group")
            group, words = list(self.lexicon[name]["groups"].items())[number % 2]
            place = _number(*key, name, drawn_for, "word") % len(words)
            people[who][name] = (group, words[place])
        return people

    def _is_excluded(self, person: _Told) -> bool:
        """Whether a person has a word of each attribute that an exclusion names."""
        return any(
            all(name in person and person[name][1] in words for name, words in exclusion.items())
            for exclusion in self.excluded
        )


def _profile(document: dict[str, Any], subset: Sequence[str], words: _Told, who: str) -> str:
    """The sentence on one person: the clauses that hold an attribute of the subset, in the order of
    the file.

    A's sentence, where it is one clause, runs on into B's:
    「Aさんは女性で、Bさんは男性です。」.
    """
    used = []
    for clause in document["profile"]:
        form = "+".join(name for name in clause["attributes"] if name in subset)
        if form:
            used.append((clause, form))
    endings = [clause["join"] for clause, _ in used]
    if who == "b" or len(used) > 1:
        last_clause, _ = used[-1]
        endings[-1] = last_clause["end"]
    text = "".join(
        clause["forms"][form] + ending for (clause, form), ending in zip(used, endings, strict=True)
    )
    slots = {name: word for name, (_, word) in words.items()}
    slots["person"] = document["persons"][PERSONS.index(who)]
    first_clause, _ = used[0]
    return _fill(first_clause.get("opening", "{person}は") + text, slots)


def _four(document: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One item asked in its four ways (IJ-9); gold never depends on the profiles (IJ-3)."""
    person_a, person_b = document["persons"]
    names = {"a": person_a, "b": person_b, "u": item["unknown"]}
    persons = _persons(item["stereotyped"])
    order = item["order"]
    slots = dict(names)
    subset = item["subset"].split("+")
    for who, words in item["people"].items():
        slots[f"profile_{who}"] = _profile(document, subset, words, who)
        item[f"groups_{who}"] = "+".join(f"{name}={words[name][0]}" for name in subset)
        item[f"words_{who}"] = "+".join(f"{name}={words[name][1]}" for name in subset)
    texts = {key: _fill(item["texts"][key], slots) for key in _SLOTS}
    for i, who in enumerate(order):
        item |= {f"option_{i}": names[who], f"person_{i}": persons[who]}
    for condition, question in product(("ambiguous", "disambiguated"), _QUESTIONS):
        polarity, answer = _QUESTIONS[question]
        roles = [persons[who] and bbq.role(persons[who], polarity) for who in order]
        context = texts["ambiguous"]
        if condition == "ambiguous":
            label = order.index("u")
            context_condition = condition
        else:
            context += texts["disambiguating"]
            label = order.index(answer)
            context_condition = roles[label] or condition
        row = {
            "item_id": f"{item['item']}-{condition}-{question}",
            "polarity": polarity,
            "question": texts[question],
            "context": context,
            "label": label,
            "context_condition": context_condition,
        }
        row |= {f"role_{i}": role for i, role in enumerate(roles)}
        yield item | row


def _persons(stereotyped: str) -> dict[str, str]:
    """What A, B and unknown are, as `person_0` to `person_2` name it; A and B empty without a
    direction.
    """
    if not stereotyped:
        return {"a": "", "b": "", "u": "unknown"}
    return {"a": "non_target", "b": "non_target", "u": "unknown"} | {stereotyped: "target"}


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
    """File names and checked topics, each with the lexicons and exclusions that hold for it.

    Example:
        >>> [name for name, _ in read_topics("")]
        ['housing.yaml', 'lessons.yaml', 'manners.yaml', 'marriage.yaml', 'science.yaml']
    """
    place = Path(topics_path) if topics_path else paths.data_dir() / STUDY_FOLDER
    beside = (place if place.is_dir() else place.parent) / LEXICONS
    lexicons = beside if beside.exists() else paths.data_dir() / STUDY_FOLDER / LEXICONS
    topic_files = documents(place, "", "topic file", LEXICONS, TopicFile)
    shared = _completed(lexicons, read_checked(LexiconFile, lexicons, "topic file"))
    topics = [(file.name, _completed(file, document, shared)) for file, document in topic_files]
    times = Counter(document["topic"] for _, document in topics)
    if twice := [topic for topic, n in times.items() if n > 1]:
        raise KatayoriError(
            f"{place.name}: topic {twice[0]!r} is that of several files; rename one"
        )
    return topics


def _completed(
    file: Path, document: dict[str, Any], shared: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A checked topic with its attributes and exclusions added to the shared ones.

    Without these it is the lexicons that are checked.
    """
    with _naming(file.name):
        before = shared or {}
        lexicon = before.get("lexicon", {}) | document.get("attributes", {})
        exclusions = [*before.get("exclusions", []), *document.get("exclusions", [])]
        for name, entry in lexicon.items():
            _check_attribute(name, entry)
        for exclusion in exclusions:
            _check_exclusion(exclusion, lexicon)
        for context in document.get("contexts", []):
            for exclusion in context.get("exclusions", []):
                _check_exclusion(exclusion, lexicon)
        document = document | {"lexicon": lexicon, "exclusions": exclusions}
        if shared:
            _check(document)
    return document


def _check_attribute(name: str, entry: dict[str, Any]) -> None:
    """KatayoriError for an attribute that is not two groups of words with their source."""
    words = _words(entry)
    groups = entry["groups"]
    if len(groups) != 2 or not all(groups.values()) or len(set(words)) < len(words):
        raise KatayoriError(
            f"attribute {name}: groups must be two lists, no word twice, not {groups}"
        )
    if not entry.get("source"):
        raise KatayoriError(
            f"attribute {name}: source is missing (the statistic its words rest on)"
        )


def _check_exclusion(exclusion: dict[str, Any], lexicon: dict[str, Any]) -> None:
    """KatayoriError for an attribute or a word that the lexicon lacks."""
    for name, words in exclusion["words"].items():
        expect(name, lexicon, "attribute in exclusions:")
        for word in words:
            expect(word, _words(lexicon[name]), f"word of {name} in exclusions:")


def _check(document: dict[str, Any]) -> None:
    """KatayoriError for what is wrong with a topic, naming context and key."""
    names = [*document["persons"], *document["unknown"]]
    if len(document["persons"]) != 2 or len(names) < 3 or len(set(names)) < len(names):
        raise KatayoriError(
            f"persons and unknown must be two names and other wordings of unknown, not {names}"
        )
    for context in document["contexts"]:
        with _naming(f"context {context['id']}"):
            _check_context(document, context)


def _check_context(document: dict[str, Any], context: dict[str, Any]) -> None:
    """KatayoriError for a context's texts, attributes, stereotypes or counts."""
    for key, slots in _SLOTS.items():
        if set(re.findall(r"\{(.*?)\}", context[key])) != set(slots):
            wanted = ", ".join(f"{{{slot}}}" for slot in slots)
            raise KatayoriError(f"{key} must hold the slots {wanted} and no other")
    for name in context["attributes"]:
        expect(name, document["lexicon"], "attribute")
    with _naming("profile"):
        for subset in _subsets(context["attributes"]):
            _check_profile(document, subset)
    for name, group in context.get("stereotype", {}).items():
        expect(name, context["attributes"], "attribute in stereotype:")
        expect(group, document["lexicon"][name]["groups"], f"group of {name} in stereotype:")
    counts = context.get("families", {}) | context.get("items", {})
    if not all(isinstance(n, int) and n > 0 for n in counts.values()):
        raise KatayoriError(f"families and items must be whole numbers from 1, not {counts}")


def _check_profile(document: dict[str, Any], subset: Sequence[str]) -> None:
    """KatayoriError where a profile does not tell each attribute of a subset once."""
    marked = {name: ("", f"<{name}>") for name in subset}
    sentence = _profile(document, subset, marked, "b")
    if sorted(re.findall("<(.*?)>", sentence)) != sorted(subset):
        raise KatayoriError(f"it must tell each of {', '.join(subset)} once, not {sentence!r}")

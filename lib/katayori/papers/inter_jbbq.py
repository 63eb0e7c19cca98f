"""Intersectional questions made of templates and lexicons (notebook 05).

A family is a passage and a pair of profiles, told with several selections of their attributes. The
two persons differ in one attribute, the focal one, and share the words of all others. Two designs
are made of the same passages, words and profiles:

- the paper's (preset `published_counts`): every selection that holds the focal attribute; order of
  the options and wording of "unknown" are drawn item by item; B is always the person of the bad
  fact;
- the balanced one (second and third edition, and presets of a user's own topics): within a family
  the order of the options, the wording, the order of mention and the person of the bad fact stay as
  they are, so that nothing but the profile changes; over the families all come equally often.

Topics and lexicons are data (`data/study/inter_jbbq`, whose README tells how to add a topic). Every
choice is read off a sha256 of what is chosen: the items are the same on every machine and under
every version of Python.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from katayori import paths
from katayori.data import multiple_choice
from katayori.data.files import documents, ours, read_checked, versions
from katayori.errors import KatayoriError, UnavailableError, expect, within
from katayori.papers.paper import ORDERS, Everything, OwnFile, Paper, Sets, by_category
from katayori.prompting.parsing import Parsed, parse_option
from katayori.prompting.requests import Request, Response
from katayori.prompting.simulated import drawn_option, numbered_response

if TYPE_CHECKING:
    import pandas as pd

#: Edition -> the folder of data that holds its topics.
FOLDERS = {1: "study/inter_jbbq", 2: "study/inter_jbbq_2", 3: "study/inter_jbbq_3"}
LEXICONS = "lexicons.yaml"
#: What topic files give unless the user asks for other counts: the first edition. It alone has the
#: paper's own design; all other presets are balanced.
PRESET = "published_counts"
#: The data set whose items are the study, and that of the second edition, whose items it keeps.
STUDY = "study3"
BALANCED = "balanced"
#: Topics of the second and third edition.
TOPICS = ("housing", "marriage", "manners", "science")
#: Orders of the options: person A, B, unknown.
OPTION_ORDERS = ("abu", "bua", "uab", "bau", "aub", "uba")
#: A person of a pair -> the other one.
OTHER = {"a": "b", "b": "a"}
QUESTIONS = ("negative", "neutral")
FAMILIES = 6  # one each order of options
SUBSETS = 3  # a family of the second edition
#: Who is named first, which outcome is told first, whose outcome is the bad one.
DESIGN = ("mention", "outcome", "bad")
#: The persons' own words, which likelihood prompts score: `words_a` and `words_b` hold profiles.
ANSWERS = ("answer_a", "answer_b")
#: Columns beside those of `multiple_choice`.
OWN_COLUMNS = (
    "item topic context_id family focal_id focal n_attributes subset words_a words_b groups_a"
    " groups_b unknown unknown_position stereotyped non_focal"
).split()
#: Mention, outcome and role of the six families of a passage; other passages turn some of the rows.
_MIRRORED = ((0, 1, 0, 1, 0, 1), (0, 0, 1, 1, 0, 1), (0, 1, 1, 0, 1, 0))
#: What comes about equally often, alone or together (see `_side`).
_EVEN = (
    *(("who",), ("who", "mention"), ("who", "bad"), ("first", "worse"), ("first", "outcome")),
    *(("worse", "outcome"), ("who", "focal"), ("worse", "focal"), ("first", "focal")),
    ("who", "order"),
)
_TRIES = 1000  # draws for one family before we say that too few combinations of words are left

_Row = dict[str, Any]
_Told = dict[str, tuple[str, str]]  # attribute -> group and word
_People = dict[str, _Told]  # by person, a and b


class _InterJbbq(Paper):
    clusters = "families"
    cluster_column = "focal_id"
    options = ("0", "1", "2")
    gold_column = "label"
    #: A folder of topic files or one of them, how many items they give, a copy of the official
    #: items, and the orders of options.
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "topics": OwnFile("05: a folder of topic files (.yaml), or one of them"),
        "preset": OwnFile(
            "05: published_counts, balanced, or a name that the topic files hold",
            is_a="setting",
        ),
        "official": OwnFile(
            "05: a folder with your copy of the official items (.jsonl)",
            is_a="folder",
            dataset="official",
        ),
        "orders": ORDERS,
    }
    asked_in = "study"

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        topics = own.get("topics", "")
        if "official" in own:
            return load_inter_jbbq(own["official"]), "inter-JBBQ (your copy)", []
        if dataset == "official" and not topics:
            raise UnavailableError(
                "inter-JBBQ has no public copy; set official to a folder with your own"
                ' (with make: ARGS="-p official=FOLDER")'
            )
        preset = own.get("preset", "") or (PRESET if topics else STUDY)
        if preset == BALANCED and not topics:
            return _data_set("", 2), versions(study_topics(2), "second edition"), []
        if preset == STUDY and not topics:
            return _data_set("", 3), study_version(), []
        made = generate(topics, preset)
        return made, versions((topic for _, topic in read_topics(topics)), "user topics"), []

    def sets(self) -> Sets:
        """With the paper's own construction, of which a quarter was asked."""
        names = {2: BALANCED, 3: STUDY}
        later = {f"{names[n]}{kind}": partial(_data_set, kind, n) for n in names for kind in _MADE}
        return {**later, PRESET: generate, "published_quarter": published_quarter}

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """By rank, so that an interrupted run is balanced, too."""
        return items.sort_values("rank", kind="stable")

    def in_orders(self, rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
        return multiple_choice.in_orders(rows, own)

    def cluster_of(self, items: "pd.DataFrame") -> "pd.Series":
        """An item of others whose family is not known stands for itself."""
        column = items[self.cluster_column]
        return column.where(column != "", items["item"]).astype(str)

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        """Of a topic the first family of every context comes first."""
        return by_category(items)

    def parse(self, text: str) -> Parsed:
        return parse_option(text)

    def simulate(self, request: Request) -> Response:
        chances = inter_chances(request.model, request.fields)
        return numbered_response(request, chances, str(drawn_option(request, chances)))


PAPER = _InterJbbq()


# -- items from topic files ------------------------------------------------------------------------


def generate(topics: str | Path = "", preset: str = PRESET, *, seed: int = 0) -> "pd.DataFrame":
    """The items of every topic that has a count for the preset, four rows an item.

    An item is asked about an ambiguous and a clear passage, with the negative and the neutral
    question.

    Args:
        topics: a folder of topic files, or one file; empty means ours. Without a `lexicons.yaml`
            beside them ours is used; a topic file may add attributes to it.
        preset: `published_counts`, whole families that add up to the counts behind the published
            results, in the paper's own design. Another name that the topic files hold (`extra` is
            our own topic): the balanced design.
        seed: of all draws.

    Returns:
        Columns of `multiple_choice` and `OWN_COLUMNS`. category is the topic, template_id topic and
        context, rank the number of the family in its context, from 0. polarity `non_negative` is
        the paper's neutral question. context_condition is `ambiguous` or, by the direction that
        the topic file sets for the focal attribute (which group the stereotype is about), `biased`
        (the person of whom the bad fact is told belongs to that group), `counter_biased` (the other
        person belongs to it), or `disambiguated` (the file sets no direction); persons and roles
        follow, and are empty without a direction. Our own: item (shared by its four rows), family
        (from 1, in its context), focal_id; words and groups of A and B as `attribute=word`, joined
        by +; unknown (its wording) and unknown_position; stereotyped, a, b or empty. A balanced
        preset has `DESIGN` as well: mention (a or b, who is named first), outcome (empty: the
        outcomes are told as the file tells them), bad (a or b, of whom the bad fact is told).

    Raises:
        KatayoriError: naming file and key, for what is wrong with a topic file or the lexicons, for
            an unknown preset or rule, and for a count that cannot be reached.

    Example:
        >>> items = generate()
        >>> len(items), len(items) == 4 * items["item"].nunique()
        (5600, True)
        >>> ours = generate(preset="extra").drop_duplicates("focal_id")
        >>> ours["bad"].value_counts().to_dict(), ours["order"].nunique()
        ({'a': 12, 'b': 12}, 6)
    """
    read = read_topics(topics)
    contexts = [context for _, topic in read for context in topic["contexts"]]
    known = {name for context in contexts for name in context.get("families", {})}
    expect(preset, sorted(known), "preset")
    items: list[_Row] = []
    for file, topic in read:
        with within(file):
            if preset == PRESET:
                items += _as_published(topic, seed)
            else:
                items += _balanced_families(topic, 0, Counter(), preset, seed)
    rows = [row for item in items for row in _four(item)]
    return _framed(rows, OWN_COLUMNS if preset == PRESET else [*OWN_COLUMNS, *DESIGN])


def published_quarter() -> "pd.DataFrame":
    """One family in four of the first edition, whole, evenly over contexts and focal attributes.

    Families are sorted by topic, context, focal attribute and number, and every fourth is taken,
    from the third on.

    Example:
        >>> some = published_quarter()
        >>> len(some), some["focal_id"].nunique(), some["topic"].nunique()
        (1440, 26, 4)
    """
    items = generate()
    families = items.drop_duplicates("focal_id")
    ordered = families.sort_values(["topic", "context_id", "focal", "rank"], kind="stable")
    return items[items["focal_id"].isin(ordered["focal_id"].iloc[2::4])].reset_index(drop=True)


def _framed(rows: list[_Row], own: Sequence[str]) -> "pd.DataFrame":
    """The rows with the columns of `multiple_choice` and our own."""
    import pandas as pd

    return pd.DataFrame(rows, columns=[*multiple_choice.COLUMNS, *own])


def _as_published(topic: _Row, seed: int) -> list[_Row]:
    """The items of a topic in the paper's design: whole families, focal attributes in turn."""
    items = []
    times: Counter[str] = Counter()  # families of the topic by focal attribute
    for context in topic["contexts"]:
        attributes = context["attributes"]
        seen: set[str] = set()
        for rank in range(context.get("families", {}).get(PRESET, 0)):
            focal = attributes[times.total() % len(attributes)]
            # Which group stands as A alternates, and attributes start on different sides: odd
            # numbers even out.
            side = (times[focal] + attributes.index(focal)) % 2
            times[focal] += 1
            cell = {"rank": rank, "focal": focal, "side": side}
            cell |= {"mention": "a", "outcome": "", "bad": "b"}
            for item in _own_family(seed, topic, context, cell, seen):
                number = _number(seed, "order", item["focal_id"], item["subset"])
                items.append(item | {"order": OPTION_ORDERS[number % len(OPTION_ORDERS)]})
    # Wordings in the order of a hash: equally frequent, and tied to no attribute.
    shuffled = sorted(items, key=lambda item: _number(seed, "unknown", item["item"]))
    for place, item in enumerate(shuffled):
        item["unknown"] = topic["unknown"][place % len(topic["unknown"])]
    return items


def _own_family(seed: int, topic: _Row, context: _Row, cell: _Row, seen: set[str]) -> list[_Row]:
    """A pair of profiles over every selection that holds the focal attribute."""
    focal = cell["focal"]
    name = f"{topic['topic']}-{context['id']}-{cell['rank'] + 1:02d}"
    chosen = [subset for subset in _subsets(context["attributes"]) if focal in subset]
    for attempt in _attempts(context):
        people = _people(topic, context, cell, partial(_number, seed, name, attempt))
        if _is_new(topic, context, people, {f"{focal} {people}"}, seen):
            break
    named = cell | {"focal_id": name}
    return [_item(topic, context, named, people, subset) for subset in chosen]


def _attempts(context: _Row) -> Iterator[int]:
    """Numbers of draws; KatayoriError where the words for another family have run out."""
    yield from range(_TRIES)
    raise KatayoriError(
        f"context {context['id']}: no new family in {_TRIES} draws; lower families or items, add"
        " words, or remove exclusions"
    )


def _is_new(topic: _Row, context: _Row, people: _People, marks: set[str], seen: set[str]) -> bool:
    """Whether a family holds nothing excluded and no mark of another one; its own are then seen."""
    exclusions = [*topic["exclusions"], *context.get("exclusions", [])]
    is_excluded = any(
        all(name in words and words[name][1] in told for name, told in one["words"].items())
        for words, one in product(people.values(), exclusions)
    )
    if is_excluded or marks & seen:
        return False
    seen |= marks
    return True


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Every subset but the empty one, the small ones first."""
    sizes = range(1, len(names) + 1)
    return [subset for size in sizes for subset in combinations(names, size)]


def _people(
    topic: _Row, context: _Row, cell: _Row, drawn: Callable[[str, str, str], int]
) -> _People:
    """Group and word of every attribute for A and B, from numbers by attribute, person and what is
    drawn (`group` or `word`).

    In the focal attribute they are of different groups, A of that of the cell's `side`. In all
    others they share what is drawn for `both`.
    """
    people: _People = {who: {} for who in OTHER}
    for name, who in product(context["attributes"], OTHER):
        is_focal = name == cell["focal"]
        drawn_for = who if is_focal else "both"
        number = cell["side"] + (who == "b") if is_focal else drawn(name, drawn_for, "group")
        group, words = list(topic["lexicon"][name]["groups"].items())[number % 2]
        people[who][name] = (group, words[drawn(name, drawn_for, "word") % len(words)])
    return people


def _number(*key: object) -> int:
    """A number that follows from the key alone, the same on every machine."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, key)).encode()).digest()[:8], "big")


# -- topic files -----------------------------------------------------------------------------------


def read_topics(topics: str | Path = "") -> list[tuple[str, _Row]]:
    """File names and checked topics, each with the lexicons and exclusions that hold for it.

    Args:
        topics: as in `generate`.

    Example:
        >>> [name for name, _ in read_topics()]
        ['housing.yaml', 'lessons.yaml', 'manners.yaml', 'marriage.yaml', 'science.yaml']
    """
    from katayori.data.inter_jbbq_schema import LexiconFile, TopicFile

    of_first = paths.data_dir() / FOLDERS[1]
    folder = Path(topics) if topics else of_first
    beside = (folder if folder.is_dir() else folder.parent) / LEXICONS
    lexicons = beside if beside.exists() else of_first / LEXICONS
    shared = read_checked(LexiconFile, lexicons, "topic file")
    read = []
    for file, topic in documents(folder, "", "topic file", LEXICONS, TopicFile):
        read.append((file.name, _with_lexicons(topic, shared)))
        with within(f"{file.name} with {lexicons.name}"):
            _check(read[-1][1])
    times = Counter(topic["topic"] for _, topic in read)
    if twice := [topic for topic, n in times.items() if n > 1]:
        raise KatayoriError(
            f"{folder.name}: topic {twice[0]!r} is that of several files; rename one"
        )
    return read


def _with_lexicons(topic: _Row, shared: _Row) -> _Row:
    """A topic with its attributes and exclusions added to the shared ones."""
    return topic | {
        "lexicon": shared.get("attributes", {}) | topic.get("attributes", {}),
        "exclusions": [*shared.get("exclusions", []), *topic.get("exclusions", [])],
        "blanks": shared.get("blanks", []),
    }


def _check(topic: _Row) -> None:
    """KatayoriError for a name that no lexicon holds, and for a profile that leaves something out.

    What stands in a file by itself its schema has checked.
    """
    lexicon = topic["lexicon"]
    of_contexts = [one for context in topic["contexts"] for one in context.get("exclusions", [])]
    for exclusion in (*topic["exclusions"], *of_contexts):
        for name, words in exclusion["words"].items():
            expect(name, lexicon, "attribute in exclusions:")
            known = [word for group in lexicon[name]["groups"].values() for word in group]
            for word in words:
                expect(word, known, f"word of {name} in exclusions:")
    for context in topic["contexts"]:
        with within(f"context {context['id']}"):
            for name in context["attributes"]:
                expect(name, lexicon, "attribute")
            for name, group in context.get("stereotype", {}).items():
                expect(name, context["attributes"], "attribute in stereotype:")
                expect(group, lexicon[name]["groups"], f"group of {name} in stereotype:")
            for subset in _subsets(context["attributes"]):
                marked = {name: f"<{name}>" for name in subset}
                told = _profile(topic, subset, marked | {"person": topic["persons"][1]})
                if sorted(re.findall("<(.*?)>", told)) != sorted(subset):
                    wanted = f"it must tell each of {', '.join(subset)} once, not {told!r}"
                    raise KatayoriError(f"profile: {wanted}")


# -- the second and third edition ------------------------------------------------------------------


def study_topics(edition: int) -> list[_Row]:
    """The topics of the second or third edition, each with the lexicons and exclusions that hold
    for it.

    The third has some passages and sentences of its own, in the places of those of the second;
    families, words and design are the same.

    Example:
        >>> [topic["topic"] for topic in study_topics(3)]
        ['housing', 'marriage', 'manners', 'science']
    """
    shared = ours(f"{FOLDERS[2]}/{LEXICONS}")
    anew = _written_anew() if edition == 3 else {}
    found = []
    for name in TOPICS:
        topic, written = ours(f"{FOLDERS[2]}/{name}.yaml"), anew.get(name, {})
        passages = {passage["id"]: passage for passage in written.get("contexts", [])}
        contexts = [passages.get(context["id"], context) for context in topic["contexts"]]
        found.append(_with_lexicons(topic | written | {"contexts": contexts}, shared))
    return found


def _written_anew() -> dict[str, _Row]:
    """What the third edition has of its own, by topic."""
    found = documents(paths.data_dir() / FOLDERS[3], "", "topic file")
    return {file.stem: document for file, document in found}


def study_version() -> str:
    """Names and versions of the editions that the study is of, printed under every table.

    Example:
        >>> study_version()
        'katayori-inter-study v2, in part katayori-inter-study v3'
    """
    kept = versions(study_topics(2), "second edition")
    return f"{kept}, in part {versions(_written_anew().values(), 'third edition')}"


def _data_set(kind: str, edition: int) -> "pd.DataFrame":
    """A data set of the second or third edition, of a kind of `_MADE`.

    A family of the third one of whose texts is new is new as a whole: its ids begin with `ij3-`.
    All others keep ids, texts and recorded answers.
    """
    rows = _MADE[kind](study_topics(edition))
    if edition == 3:
        pairs = zip(rows, _MADE[kind](study_topics(2)), strict=True)
        texts = ("context", "question")
        new = {row["focal_id"] for row, old in pairs if any(row[t] != old[t] for t in texts)}
        for row in rows:
            if row["focal_id"] in new:
                row |= {name: f"ij3{row[name][3:]}" for name in ("item_id", "item", "focal_id")}
    return _framed(rows, [*OWN_COLUMNS, *DESIGN, *(ANSWERS if kind else ())])


def _balanced(topics: list[_Row]) -> list[_Row]:
    """Forty passages, six families each: 720 pairs of profiles in four ways, 2,880 rows.

    A family is one pair of profiles and three selections of its attributes, each with one attribute
    more than the one before. Over the 240 families 6 orders x 5 wordings x 2 mentions x 2 orders of
    outcomes x 2 roles come once each. Of the families of a passage no two have the same ambiguous
    text. `outcome` is `good` or `bad` (told first).
    """
    return [row for item in _all_items(topics) for row in _four(item)]


def _quarter(topics: list[_Row]) -> list[_Row]:
    """One family in four, whole, in the twelve ways a paired contrast of likelihoods needs.

    Each pair of profiles is told in both orders of mention: ambiguous, clear for A and clear for B,
    each with both questions. No option is listed in the prompt. 60 families, 180 pairs of profiles,
    2,160 rows.
    """
    chosen = (item for item in _all_items(topics) if _in_quarter(item))
    return [row for item in chosen for row in _twelve(item)]


def _blank(topics: list[_Row]) -> list[_Row]:
    """The ambiguous passages with persons told apart by a trait that means nothing.

    40 passages x 2 sides of the trait x 2 orders of mention x 2 questions: 320 rows. `stereotyped`
    is the person of the trait's first group, an arbitrary one: a bias score computed from it is
    what neutral words do.
    """
    rows: list[_Row] = []
    for number, topic in enumerate(topics):
        for place, side, mention in product(range(len(topic["contexts"])), (0, 1), "ab"):
            item = _blank_item(topic, number, place, side, mention)
            rows += [_row(item, "ambiguous", question) for question in QUESTIONS]
    return rows


#: Ends of the names of the data sets of an edition -> their rows.
_MADE: Mapping[str, Callable[[list[_Row]], list[_Row]]] = {
    "": _balanced,
    "_quarter": _quarter,
    "_blank": _blank,
}


# -- the balanced design ---------------------------------------------------------------------------


def _all_items(topics: Sequence[_Row]) -> Iterator[_Row]:
    """Every pair of profiles with what its family is told with, families in their order."""
    tally: Counter[tuple] = Counter()
    for number, topic in enumerate(topics):
        yield from _balanced_families(topic, number, tally)


def _balanced_families(
    topic: _Row, topic_number: int, tally: Counter[tuple], preset: str = "", seed: int = 0
) -> Iterator[_Row]:
    """The items of a topic in the balanced design, whole families; without a preset the study's.

    Six families of a context count as a passage. `tally`: what was chosen before (see `_side`).
    """
    family = partial(_own_family, seed) if preset else _study_family
    passage = 0
    for context in topic["contexts"]:
        seen: set[str] = set()
        count = context.get("families", {}).get(preset, 0) if preset else FAMILIES
        for rank in range(count):
            place = topic_number, passage + rank // FAMILIES
            cell = _cell(topic, context, place, rank % FAMILIES) | {"rank": rank}
            cell["side"] = _side(topic, context, cell, tally)
            yield from family(topic, context, cell, seen)
        passage += math.ceil(count / FAMILIES)


def _cell(topic: _Row, context: _Row, passage: tuple[int, int], number: int) -> _Row:
    """The place of a family in the design: in the study each combination of factors comes once.

    Passages come in five blocks of two a topic. A block moves the wordings on by one; topic, block
    and place in the block say which of the eight ways to turn the mirrored factors is taken.

    Args:
        passage: the number of the topic, and the place of the passage in it. number: of the family.
    """
    topic_number, place = passage
    block = place // 2
    turned = (topic_number - block) % 4 + 4 * (place % 2)
    bits = [pattern[number] ^ (turned >> i & 1) for i, pattern in enumerate(_MIRRORED)]
    return {
        "order": OPTION_ORDERS[number],
        "unknown": topic["unknown"][(block + number) % len(topic["unknown"])],
        "mention": "ab"[bits[0]],
        # A passage that is told as a whole has its outcomes in the order of its file.
        "outcome": "" if "ambiguous" in context else ("good", "bad")[bits[1]],
        "bad": "ab"[bits[2]],
        "focal": context["attributes"][(place + number) % len(context["attributes"])],
        "passage": place + 10 * topic_number,
    }


def _study_family(topic: _Row, context: _Row, cell: _Row, seen: set[str]) -> list[_Row]:
    """The three pairs of profiles of a family; none whose passage another family has."""
    name = f"ij2-{topic['topic']}-{context['id']}-{cell['rank'] + 1}"
    named = cell | {"focal_id": name}
    for attempt in _attempts(context):
        people = _people(topic, context, cell, partial(_number_of_study, name, attempt))
        subsets = _chain(context["attributes"], cell, (name, attempt))
        items = [_item(topic, context, named, people, subset) for subset in subsets]
        texts = {f"all {_passage(item, cell['mention'])}" for item in items}
        if _in_quarter(cell):  # which tells both orders of mention
            texts |= {f"quarter {_passage(item, who)}" for item in items for who in OTHER}
        if _is_new(topic, context, people, texts, seen):
            break
    return items


def _number_of_study(name: str, attempt: int, attribute: str, who: str, what: str) -> int:
    """The number of a group is that of both persons."""
    return _number(name, attempt, attribute, what if what == "group" else who)


def _in_quarter(cell: _Row) -> bool:
    """Whether a family is one of the quarter: two of one passage, one of the next, ranks in turn.

    The multiplier is the one after which attributes and mirrored factors are most even.
    """
    topic_number, place = divmod(cell["passage"], 10)
    first = (place + 5 * topic_number) % FAMILIES
    taken = {first} if place % 2 else {first, (first + 1) % FAMILIES}
    return cell["rank"] in taken


def _side(topic: _Row, context: _Row, cell: _Row, tally: Counter[tuple]) -> int:
    """Which group of the focal attribute is A's: the choice after which the tally is most even.

    Counted is where the stereotyped person (without a direction, that of the first group) stands:
    as A or B, named first or second, with the bad outcome or the good one, by attribute and order.
    """
    focal = cell["focal"]
    groups = list(topic["lexicon"][focal]["groups"])
    target = context.get("stereotype", {}).get(focal)
    costs = []
    for side in (0, 1):
        who = "ab"[(groups.index(target or groups[0]) - side) % 2]
        facts = cell | {"who": who}
        facts |= {"first": who == cell["mention"], "worse": who == cell["bad"]}
        keys = [(target is not None, kind, *(facts[name] for name in kind)) for kind in _EVEN]
        costs.append((sum(tally[key] for key in keys), side, keys))
    _, side, keys = min(costs)
    tally.update(keys)
    return side


def _chain(attributes: list[str], cell: _Row, key: tuple) -> list[tuple[str, ...]]:
    """Three subsets, each with one attribute more; how large the first is goes in turn."""
    focal = cell["focal"]
    rest = [name for name in attributes if name != focal]
    rest.sort(key=lambda name: _number(*key, "added", name))
    windows = len(attributes) - SUBSETS + 1
    least = (cell["rank"] + cell["passage"] // 2) % windows
    chosen = [{focal, *rest[: least + i]} for i in range(SUBSETS)]
    return [tuple(name for name in attributes if name in subset) for subset in chosen]


def _item(topic: _Row, context: _Row, cell: _Row, people: _People, subset: tuple[str, ...]) -> _Row:
    """A pair of profiles; what its rows share."""
    focal = cell["focal"]
    target = context.get("stereotype", {}).get(focal)
    told = "+".join(subset)
    item = cell | {
        "item": f"{cell['focal_id']}-{told}",
        "topic": topic["topic"],
        "category": topic["topic"],
        "language": topic["language"],
        "context_id": context["id"],
        "template_id": f"{topic['topic']}-{context['id']}",
        "family": cell["rank"] + 1,
        "subset": told,
        "n_attributes": len(subset),
        "non_focal": "same",  # both share the words of the other attributes
        "stereotyped": "".join(who for who in OTHER if people[who][focal][0] == target),
        "people": people,
        "told": (topic, context),
    }
    for who, words in people.items():
        item[f"groups_{who}"] = "+".join(f"{name}={words[name][0]}" for name in subset)
        item[f"words_{who}"] = "+".join(f"{name}={words[name][1]}" for name in subset)
    return item


# -- texts -----------------------------------------------------------------------------------------


def _fill(text: str, slots: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda slot: slots[slot[1]], text)


def _named(item: _Row) -> dict[str, str]:
    """The options by person."""
    topic, _ = item["told"]
    return dict(zip("abu", (*topic["persons"], item["unknown"]), strict=True))


def _passage(item: _Row, mention: str) -> str:
    """The ambiguous passage: setting, both profiles, both outcomes.

    Where a topic file tells it as a whole, its `a` is who is named first.
    """
    _, context = item["told"]
    first, second = mention, OTHER[mention]
    named = _named(item)
    profiles = [_told(item, first, runs_on=True), _told(item, second)]
    if "ambiguous" in context:
        slots = {"a": named[first], "b": named[second]}
        slots |= {"profile_a": profiles[0], "profile_b": profiles[1]}
        return _fill(context["ambiguous"], slots)
    setting = _fill(context["setting"], {"x": named[first], "y": named[second]})
    outcomes = [context["good"], context["bad"]]
    if item["outcome"] == "bad":
        outcomes.reverse()
    told = f"{context['lead']}一人は{outcomes[0]}が、もう一人は{outcomes[1]}。"
    return setting + "".join(profiles) + told


def _told(item: _Row, who: str, *, runs_on: bool = False) -> str:
    """The sentence on one person of an item."""
    topic, _ = item["told"]
    words = {name: word for name, (_, word) in item["people"][who].items()}
    words["person"] = _named(item)[who]
    return _profile(topic, item["subset"].split("+"), words, runs_on=runs_on)


def _profile(
    topic: _Row, subset: Sequence[str], words: Mapping[str, str], *, runs_on: bool = False
) -> str:
    """The sentence on one person: the clauses that hold an attribute of the subset, in their order.

    The first person's sentence runs on into the second's if it is one clause:
    「Aさんは女性で、Bさんは男性です。」.
    """
    used = []
    for clause in topic["profile"]:
        form = "+".join(name for name in clause["attributes"] if name in subset)
        if form:
            expect(form, clause["forms"], "form of a clause of the profile:")
            used.append((clause, clause["forms"][form]))
    ends = [clause.get("inner", clause["join"]) for clause, _ in used]
    last, _ = used[-1]
    ends[-1] = last["join"] if runs_on and len(used) == 1 else last["end"]
    text = "".join(form + end for (_, form), end in zip(used, ends, strict=True))
    return _fill(used[0][0].get("opening", "{person}は") + text, words)


def _clear(item: _Row) -> str:
    """The added sentences, the person named first told of first.

    Where a topic file tells them as a whole, its `b` is the person of the bad fact.
    """
    _, context = item["told"]
    named, mention, bad = _named(item), item["mention"], item["bad"]
    if "disambiguating" in context:
        return _fill(context["disambiguating"], {"a": named[OTHER[bad]], "b": named[bad]})
    order = [mention, OTHER[mention]]
    facts = [context["bad_fact" if who == bad else "good_fact"] for who in order]
    return f"{named[order[0]]}は{facts[0]}。一方、{named[order[1]]}は{facts[1]}。"


def _four(item: _Row) -> Iterator[_Row]:
    """An item asked in its four ways."""
    clear = "disambiguated" if "disambiguating" in item["told"][1] else "clear"
    for way, question in product(("ambiguous", clear), QUESTIONS):
        yield _row(item, way, question)


def _twelve(item: _Row) -> Iterator[_Row]:
    """Both orders of mention x (ambiguous, clear with either person) x both questions."""
    for mention, question in product("ab", QUESTIONS):
        yield _row(item | {"mention": mention, "bad": ""}, f"{mention}-ambiguous", question)
        for bad in "ab":
            yield _row(item | {"mention": mention, "bad": bad}, f"{mention}-clear_{bad}", question)


def _row(item: _Row, way: str, question: str) -> _Row:
    """An item asked in one way.

    Args:
        item: one pair of persons, A and B. way: as the id says it; all that do not end with
            `ambiguous` have a clear passage. question: `negative` or `neutral`.
    """
    is_clear = not way.endswith("ambiguous")
    mention, bad, order, named = item["mention"], item["bad"], item["order"], _named(item)
    polarity = "non_negative" if question == "neutral" else "negative"
    right = (bad if question == "negative" else OTHER[bad]) if is_clear else "u"
    words, target = [named[who] for who in order], item["stereotyped"]
    # Of A and B nothing is known where no direction is set.
    other = "non_target" if target else ""
    persons = [{"u": "unknown", target: "target"}.get(who, other) for who in order]
    label = order.index(right)
    row = item | multiple_choice.three_options(words, persons, polarity, label)
    _, context = item["told"]
    passage = _passage(item, mention)
    first, second = named[mention], named[OTHER[mention]]
    slots = {"x": first, "y": second, "a": first, "b": second}
    return row | {
        "unknown_position": order.index("u"),
        "item_id": f"{item['item']}-{way}-{question}",
        "context": passage + _clear(item) if is_clear else passage,
        "question": _fill(context[question], slots),
        "polarity": polarity,
        "order": order,
        "context_condition": (row[f"role_{label}"] or "disambiguated") if is_clear else "ambiguous",
        "answer_a": named["a"],
        "answer_b": named["b"],
    }


def _blank_item(topic: _Row, topic_number: int, number: int, side: int, mention: str) -> _Row:
    """A passage whose persons have a meaningless trait in place of a profile."""
    trait = topic["blanks"][(number + topic_number) % len(topic["blanks"])]
    label, context = trait["label"], topic["contexts"][number]
    name = f"ij2-blank-{topic['topic']}-{context['id']}"
    # Which option order and wording comes is a count over passages, so that all come about equally.
    turn = 4 * (number + 10 * topic_number) + 2 * side + (mention == "b")
    cell = {"focal": label, "focal_id": name, "rank": 0, "side": side, "mention": mention}
    cell |= {"order": OPTION_ORDERS[turn % 6], "unknown": topic["unknown"][turn % 5], "bad": ""}
    cell["outcome"] = ("good", "bad")[(number + side + (mention == "b")) % 2]
    # The trait is the profile's only clause; its first group stands for the stereotyped one.
    topic = topic | {"profile": [trait], "lexicon": {label: trait}}
    context = context | {"attributes": [label], "stereotype": {label: next(iter(trait["groups"]))}}

    def drawn(_name: str, who: str, _what: str) -> int:
        return _number(topic["topic"], context["id"], side, who)  # the same in both mentions

    people = _people(topic, context, cell, drawn)
    item = _item(topic, context, cell, people, (label,))
    return item | {"item": f"{name}-{side}{mention}"}


# -- others' items ---------------------------------------------------------------------------------


def load_inter_jbbq(folder: str | Path) -> "pd.DataFrame":
    """The official items (or any others) from `.jsonl` files in BBQ's format in a user's folder.

    One object a row with BBQ's fields: category (the topic), question_index, question_polarity
    (neg, nonneg: the paper's neutral), context_condition (ambig, disambig), context, question, ans0
    to ans2, label, answer_info (the unknown option tagged `unknown`), and additional_metadata with
    item (an id the four rows share), context_id, attributes (list) and, where known, focal. No
    direction is known: persons and roles are empty but for unknown. Columns as `generate`. Raises
    UnavailableError where there is no file; KatayoriError naming file, row and field, or an
    incomplete item.

    Example:
        >>> load_inter_jbbq("no/such/folder")
        Traceback (most recent call last):
            ...
        katayori.errors.UnavailableError: no inter-JBBQ rows (*.jsonl) in folder: no public copy ...
    """
    import pandas as pd

    rows: list[_Row] = []
    own: list[_Row] = []
    for file, n, raw in multiple_choice.rows_of_folder(folder, "inter_jbbq", "inter-JBBQ rows"):
        metadata, place = raw["additional_metadata"], multiple_choice.unknown_option(raw)
        if lacks := [name for name in ("item", "context_id", "attributes") if name not in metadata]:
            raise KatayoriError(f"{file.name} row {n} lacks {', '.join(lacks)}")
        told = {name: metadata.get(name, "") for name in ("item", "context_id", "focal")}
        told |= {"unknown": raw[f"ans{place}"], "unknown_position": place}
        told |= {"topic": raw["category"], "subset": "+".join(metadata["attributes"])}
        own.append(told | {"n_attributes": len(metadata["attributes"])})
        source = f"inter_jbbq-{file.stem}-{n}"
        rows += multiple_choice.converted([raw], [None], source, raw["category"], "ja")
    items = multiple_choice.ranked(rows).join(pd.DataFrame(own))
    by_item = items.groupby("item")
    incomplete = by_item["question"].size().ne(4) | by_item["context"].nunique().ne(2)
    if incomplete.any():
        example = incomplete.idxmax()
        raise KatayoriError(
            f"{incomplete.sum()} items are not asked in the four ways, e.g. {example!r}"
        )
    return items.reindex(columns=[*multiple_choice.COLUMNS, *OWN_COLUMNS], fill_value="")


# -- simulated respondents -------------------------------------------------------------------------

#: Where the passage is silent the log-odds of "unknown" are `silent` less what each attribute told
#: takes away, and `both` where nationality and gender are told together; of the other answers the
#: share `lean` goes to the biased person. Where it tells, `clear` is the chance of the right
#: answer, `abstain` the share of unknown in the rest.
_FAIR = {"silent": 2.2}
_FAIR |= dict.fromkeys(("nationality", "gender", "other", "both"), 0.0)
_FAIR |= {"lean": 0.5, "clear": 0.9, "abstain": 0.5}
_SUM = _FAIR | {"silent": 2.5, "nationality": 0.9, "gender": 0.6, "other": 0.3, "lean": 0.75}
INTER = {
    "sim-inter-fair": _FAIR,
    "sim-inter-additive": _SUM,
    "sim-inter-interaction": _SUM | {"both": 2.5},
    "sim-inter-abstaining": _FAIR | {"silent": 3.0, "clear": 0.3, "abstain": 0.95},
}


def inter_chances(model: str, item: Mapping[str, Any]) -> list[float]:
    """The planted chances of options 0, 1 and 2 of an item.

    Raises KatayoriError for an unknown respondent.

    Example:
        >>> item = {"context_condition": "ambiguous", "label": 2, "subset": "age"}
        >>> item |= {"role_0": "biased", "role_1": "counter_biased", "role_2": "unknown"}
        >>> [round(chance, 3) for chance in inter_chances("sim-inter-additive", item)]
        [0.075, 0.025, 0.9]
    """
    expect(model, INTER, "simulated respondent of inter-JBBQ items")
    plant, told = INTER[model], str(item["subset"]).split("+")
    roles, label = [item[f"role_{i}"] for i in range(3)], int(item["label"])
    if silent := item["context_condition"] == "ambiguous":
        lost = sum(plant.get(name, plant["other"]) for name in told)
        lost += plant["both"] * ({"nationality", "gender"} <= set(told))
        right = 1 / (1 + math.exp(lost - plant["silent"]))
    else:
        right = plant["clear"]
    # Of the two wrong options; where there is no direction they are alike.
    first = "biased" if silent else "unknown"
    share = (plant["lean"] if first in roles else 0.5) if silent else plant["abstain"]
    wrong = [share if roles[i] == first else 1 - share for i in range(3)]
    return [right if i == label else (1 - right) * wrong[i] for i in range(3)]

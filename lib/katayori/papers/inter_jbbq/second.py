"""Second edition of the intersectional items: the preset `balanced` and what is taken from it (IJ-3
to IJ-11).

Forty passages, six families each. A family is one pair of profiles and three subsets of its
attributes, each with one attribute more than the one before. Within a family the order of the
options, the wording of "unknown", the order of mention, the order of the outcomes and the person of
the bad outcome stay as they are, so that nothing but the profile changes. Over the 240 families
6 orders x 5 wordings x 2 mentions x 2 orders of outcomes x 2 roles come once each.

Person a is always Aさん and b Bさん; who is named first and who has the bad outcome are columns.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data import bbq
from katayori.data.files import read_checked, versions
from katayori.errors import KatayoriError
from katayori.papers.inter_jbbq import items as inter_jbbq
from katayori.papers.inter_jbbq.schema import SecondLexicon, SecondTopic

FOLDER = "study/inter_jbbq_2"
TOPICS = ("housing", "marriage", "manners", "science")
#: Who is named first, which outcome is told first, whose outcome is the bad one.
DESIGN = ("mention", "outcome", "bad")
#: A person of a pair -> the other one.
OTHER = {"a": "b", "b": "a"}
COLUMNS = [*inter_jbbq.COLUMNS, *DESIGN]
#: The persons' own words, which likelihood prompts score: `words_a` and `words_b` hold profiles.
ANSWERS = ("answer_a", "answer_b")
FAMILIES = 6  # a passage, one each order of options
SUBSETS = 3  # a family
#: Mention, outcome and role of the six families of a passage; other passages turn some of the rows.
_MIRRORED = ((0, 1, 0, 1, 0, 1), (0, 0, 1, 1, 0, 1), (0, 1, 1, 0, 1, 0))
_TRIES = 1000  # draws for one family before we say that too few words are left
_Row = dict[str, Any]


def topics() -> list[_Row]:
    """The topic files, each with the lexicons and the exclusions that hold for it.

    Raises KatayoriError for a file that is missing or a name that no lexicon has.

    Example:
        >>> len(topics()), [topic["topic"] for topic in topics()]
        (4, ['housing', 'marriage', 'manners', 'science'])
    """
    folder = paths.data_dir() / FOLDER
    shared = read_checked(SecondLexicon, folder / inter_jbbq.LEXICONS, "lexicon file")
    found = []
    for name in TOPICS:
        document = read_checked(SecondTopic, folder / f"{name}.yaml", "topic file")
        exclusions = [*shared["exclusions"], *document.get("exclusions", [])]
        added = {"lexicon": shared["attributes"], "exclusions": exclusions}
        found.append(document | added | {"blanks": shared["blanks"]})
        _check(name, found[-1])
    return found


def study_version() -> str:
    """Name and version of the second edition, printed under every table computed from it.

    Example:
        >>> study_version()
        'katayori-inter-study v2'
    """
    return versions(topics(), "second edition")


def _check(name: str, topic: _Row) -> None:
    """KatayoriError for an attribute or an excluded word that no lexicon has."""
    known = {
        attribute: {word for words in entry["groups"].values() for word in words}
        for attribute, entry in topic["lexicon"].items()
    }
    for context in topic["contexts"]:
        if lost := set(context["attributes"]) - set(known):
            raise KatayoriError(f"{name}.yaml context {context['id']}: no lexicon of {min(lost)}")
    for exclusion in topic["exclusions"]:
        for attribute, words in exclusion["words"].items():
            if lost := set(words) - known.get(attribute, set()):
                raise KatayoriError(f"{name}.yaml exclusions: {attribute} has no word {min(lost)}")


def balanced(told: Sequence[_Row] = ()) -> pd.DataFrame:
    """All 240 families: 720 pairs of profiles in four ways, 2,880 rows, columns `COLUMNS`.

    The columns of the first edition mean what they mean there but for one thing: `a` is Aさん and
    not always the answer to the neutral question. `mention` is `a` or `b`; `outcome` is `good` or
    `bad` (told first); `bad` is the person of whom the bad fact is told in a clear context. Of the
    families of a passage no two have the same ambiguous text.

    Args:
        told: in place of `topics()`, as for all data sets of this module.

    Example:
        >>> balanced().groupby("item").size().unique()
        array([4])
    """
    rows: list[_Row] = []
    for item in _all_items(told or topics()):
        ways = product((False, True), ("negative", "neutral"))
        rows += [_row(item, clear, question) for clear, question in ways]
    return pd.DataFrame(rows, columns=COLUMNS)


def balanced_quarter(told: Sequence[_Row] = ()) -> pd.DataFrame:
    """One family in four, whole, in the twelve ways a paired contrast of likelihoods needs.

    Each pair of profiles is told in both orders of mention: ambiguous, clear for A and clear for B,
    each with both questions. Columns `COLUMNS` and `ANSWERS`; no option is listed in the prompt.
    60 families, 180 pairs of profiles, 2,160 rows.

    Example:
        >>> quarter = balanced_quarter()
        >>> len(quarter), quarter["focal_id"].nunique()
        (2160, 60)
    """
    rows = []
    for item in _all_items(told or topics()):
        if _in_quarter(item):
            rows += [_answers(row) for row in _twelve(item)]
    return pd.DataFrame(rows, columns=[*COLUMNS, *ANSWERS])


def balanced_blank(told: Sequence[_Row] = ()) -> pd.DataFrame:
    """The ambiguous passages with persons told apart by a trait that means nothing.

    40 passages x 2 sides of the trait x 2 orders of mention x 2 questions: 320 rows, columns
    `COLUMNS` and `ANSWERS`. `stereotyped` is the person of the trait's first group, an arbitrary
    one: a bias score computed from it is what mere words do.

    Example:
        >>> blank = balanced_blank()
        >>> len(blank), sorted(blank["context_condition"].unique())
        (320, ['ambiguous'])
    """
    rows: list[_Row] = []
    for topic_number, topic in enumerate(told or topics()):
        for place, context in enumerate(topic["contexts"]):
            for side, mention in product((0, 1), "ab"):
                cell = (topic_number, place, side, mention)
                item = _blank_item(topic, context, cell)
                rows += [_answers(_row(item, False, q)) for q in ("negative", "neutral")]
    return pd.DataFrame(rows, columns=[*COLUMNS, *ANSWERS])


DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "balanced": balanced,
    "balanced_quarter": balanced_quarter,
    "balanced_blank": balanced_blank,
}


# --- the design -----------------------------------------------------------------------------------


def _all_items(told: Sequence[_Row]) -> Iterator[_Row]:
    """Every pair of profiles with what its family is told with, families in their order."""
    tally: Counter[tuple] = Counter()
    for topic_number, topic in enumerate(told):
        for place, context in enumerate(topic["contexts"]):
            seen: set[tuple[str, str]] = set()
            for number in range(FAMILIES):
                cell = _cell(topic_number, place, number)
                attributes = context["attributes"]
                cell["focal"] = attributes[cell["turn"] % len(attributes)]
                cell["side"] = _side(topic, context, cell, tally)
                yield from _family(topic, context, cell, seen)


def _cell(topic_number: int, place: int, number: int) -> _Row:
    """The place of a family in the design: each combination of the five factors comes once in all.

    Passages come in five blocks of two a topic. A block moves the wordings on by one; topic, block
    and place in the block say which of the eight ways to turn the mirrored factors is taken.
    """
    block = place // 2
    turned = (topic_number - block) % 4 + 4 * (place % 2)
    bits = [pattern[number] ^ (turned >> i & 1) for i, pattern in enumerate(_MIRRORED)]
    return {
        "order": inter_jbbq.ORDERS[number],
        "wording": (block + number) % 5,
        "mention": "ab"[bits[0]],
        "outcome": ("good", "bad")[bits[1]],
        "bad": "ab"[bits[2]],
        "rank": number,
        "turn": place + number,
        "passage": place + 10 * topic_number,
    }


def _family(topic: _Row, context: _Row, cell: _Row, seen: set[tuple[str, str]]) -> Iterator[_Row]:
    """The three pairs of profiles of a family; none whose passage another family has."""
    attributes = context["attributes"]
    focal = cell["focal"]
    place = f"{topic['topic']}-{context['id']}"
    name = f"ij2-{place}-{cell['rank'] + 1}"
    for attempt in range(_TRIES):
        people = _people(topic, attributes, focal, (name, attempt), cell["side"])
        subsets = _chain(attributes, focal, cell, (name, attempt))
        items = [_item(topic, context, cell, people, subset) for subset in subsets]
        texts = {("all", _passage(item, cell["mention"])) for item in items}
        if _in_quarter(cell):  # which tells both orders of mention
            texts |= {("quarter", _passage(item, who)) for item in items for who in "ab"}
        if not _excluded(topic, people) and not texts & seen:
            break
    else:
        raise KatayoriError(
            f"context {context['id']}: no new family with {focal} in {_TRIES} draws"
        )
    seen |= texts
    group = context["stereotype"].get(focal)
    shared = {"focal_id": name, "stereotyped": _of_group(people, focal, group)}
    for item in items:
        yield item | shared | {"item": f"{name}-{item['subset']}"}


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
    target = context["stereotype"].get(focal)
    directed = target is not None
    costs = []
    for side in (0, 1):
        who = "ab"[(groups.index(target or groups[0]) - side) % 2]
        first, worse = who == cell["mention"], who == cell["bad"]
        keys = [
            (directed, "person", who),
            (directed, "person and mention", who, cell["mention"]),
            (directed, "person and role", who, cell["bad"]),
            (directed, "first and role", first, worse),
            (directed, "first and outcome", first, cell["outcome"]),
            (directed, "role and outcome", worse, cell["outcome"]),
            (directed, "person by attribute", who, focal),
            (directed, "role by attribute", worse, focal),
            (directed, "first by attribute", first, focal),
            (directed, "person by order", who, cell["order"]),
        ]
        costs.append((sum(tally[key] for key in keys), side, keys))
    _, side, keys = min(costs)
    tally.update(keys)
    return side


def _of_group(people: _Row, focal: str, group: str | None) -> str:
    """The person of the stereotyped group; empty where no direction is set."""
    return "".join(who for who in "ab" if people[who][focal][0] == group)


def _chain(attributes: list[str], focal: str, cell: _Row, key: tuple) -> list[tuple[str, ...]]:
    """Three subsets, each with one attribute more; how large the first is goes in turn."""
    rest = [name for name in attributes if name != focal]
    rest.sort(key=lambda name: _number(*key, "added", name))
    windows = len(attributes) - SUBSETS + 1
    least = (cell["rank"] + cell["passage"] // 2) % windows
    chosen = [{focal, *rest[: least + i]} for i in range(SUBSETS)]
    return [tuple(name for name in attributes if name in subset) for subset in chosen]


def _people(topic: _Row, attributes: list[str], focal: str, key: tuple, side: int) -> _Row:
    """Group and word of every attribute for A and B, who differ in the focal one alone."""
    people: dict[str, dict[str, tuple[str, str]]] = {"a": {}, "b": {}}
    for name, person in product(attributes, people):
        who = person if name == focal else "both"
        number = side + (person == "b") if name == focal else _number(*key, name, "group")
        group, words = list(topic["lexicon"][name]["groups"].items())[number % 2]
        people[person][name] = (group, words[_number(*key, name, who) % len(words)])
    return people


def _excluded(topic: _Row, people: _Row) -> bool:
    """Whether a person has a word of each list of an exclusion."""
    return any(
        all(name in words and words[name][1] in told for name, told in exclusion["words"].items())
        for words, exclusion in product(people.values(), topic["exclusions"])
    )


def _item(topic: _Row, context: _Row, cell: _Row, people: _Row, subset: tuple[str, ...]) -> _Row:
    """A pair of profiles; what its rows share."""
    place = f"{topic['topic']}-{context['id']}"
    item = cell | {
        "topic": topic["topic"],
        "category": topic["topic"],
        "language": topic["language"],
        "context_id": context["id"],
        "template_id": place,
        "family": cell["rank"] + 1,
        "subset": "+".join(subset),
        "n_attributes": len(subset),
        "unknown": topic["unknown"][cell["wording"]],
        "unknown_position": cell["order"].index("u"),
        "non_focal": "same",
        "people": people,
        "told": (topic, context),
    }
    for who, words in people.items():
        item[f"groups_{who}"] = "+".join(f"{name}={words[name][0]}" for name in subset)
        item[f"words_{who}"] = "+".join(f"{name}={words[name][1]}" for name in subset)
    return item


def _number(*key: object) -> int:
    """A number that follows from the key alone, the same on every machine."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, key)).encode()).digest()[:8], "big")


# --- texts ----------------------------------------------------------------------------------------


def _fill(text: str, slots: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda slot: slots[slot[1]], text)


def _named(item: _Row) -> dict[str, str]:
    """The options by person."""
    topic, _ = item["told"]
    return dict(zip("abu", (*topic["persons"], item["unknown"]), strict=True))


def _passage(item: _Row, mention: str) -> str:
    """The ambiguous passage: setting, both profiles, both outcomes."""
    _, context = item["told"]
    first, second = mention, OTHER[mention]
    named = _named(item)
    setting = _fill(context["setting"], {"x": named[first], "y": named[second]})
    profiles = item.get("blank") or [
        _profile(item, first, runs_on=True),
        _profile(item, second, runs_on=False),
    ]
    outcomes = [context["good"], context["bad"]]
    if item["outcome"] == "bad":
        outcomes.reverse()
    told = f"{context['lead']}一人は{outcomes[0]}が、もう一人は{outcomes[1]}。"
    return setting + "".join(profiles) + told


def _profile(item: _Row, who: str, *, runs_on: bool) -> str:
    """The sentence on one person; the first person's runs on into the second's if it is one
    clause.
    """
    topic, _ = item["told"]
    subset = item["subset"].split("+")
    used = []
    for clause in topic["profile"]:
        form = "+".join(name for name in clause["attributes"] if name in subset)
        if form:
            used.append((clause, clause["forms"][form]))
    ends = [clause.get("inner", clause["join"]) for clause, _ in used]
    last = used[-1][0]
    ends[-1] = last["join"] if runs_on and len(used) == 1 else last["end"]
    text = "".join(form + end for (_, form), end in zip(used, ends, strict=True))
    slots = {name: word for name, (_, word) in item["people"][who].items()}
    slots["person"] = _named(item)[who]
    return _fill(used[0][0].get("opening", "{person}は") + text, slots)


def _clear(item: _Row, mention: str, bad: str) -> str:
    """The added sentences, the person named first told of first."""
    _, context = item["told"]
    named = _named(item)
    order = [mention, OTHER[mention]]
    facts = [context["bad_fact" if who == bad else "good_fact"] for who in order]
    return f"{named[order[0]]}は{facts[0]}。一方、{named[order[1]]}は{facts[1]}。"


def _row(item: _Row, clear: bool, question: str, mention: str = "", bad: str = "") -> _Row:
    """An item asked in one way.

    Args:
        item: one pair of persons, A and B. clear: whether the passage tells who did what.
        question: `negative` or `neutral`. mention: who is named first, `a` or `b`. bad: of whom a
            clear passage tells the bad fact. The last two are the item's own unless given.
    """
    mention, bad = mention or item["mention"], bad or item["bad"]
    named, order = _named(item), item["order"]
    polarity = "non_negative" if question == "neutral" else "negative"
    answer = _answer(clear, question, bad)
    sides = _sides(item["stereotyped"])
    roles = {who: side and bbq.role(side, polarity) for who, side in sides.items()}
    _, context = item["told"]
    passage = _passage(item, mention)
    # A passage that tells nothing has no person of the bad fact, unless it is the item's own.
    kept_bad = bad if clear or bad == item["bad"] else ""
    row = item | {"mention": mention, "bad": kept_bad}
    row |= {
        "item_id": f"{item['item']}-{'clear' if clear else 'ambiguous'}-{question}",
        "context": passage + _clear(item, mention, bad) if clear else passage,
        "question": _fill(context[question], {"x": named[mention], "y": named[OTHER[mention]]}),
        "polarity": polarity,
        "label": order.index(answer),
        "context_condition": (roles[answer] or "disambiguated") if clear else "ambiguous",
    }
    for place, who in enumerate(order):
        row |= {f"option_{place}": named[who], f"person_{place}": sides[who]}
        row |= {f"role_{place}": roles[who]}
    return row


def _sides(stereotyped: str) -> dict[str, str]:
    """Target or not of A and B; both empty where no direction is set."""
    if not stereotyped:
        return {"a": "", "b": "", "u": "unknown"}
    return {stereotyped: "target", OTHER[stereotyped]: "non_target", "u": "unknown"}


def _answer(clear: bool, question: str, bad: str) -> str:
    """Who is right: nobody known, the person of the bad fact, or the other one."""
    if not clear:
        return "u"
    return bad if question == "negative" else OTHER[bad]


def _twelve(item: _Row) -> Iterator[_Row]:
    """Both orders of mention x (ambiguous, clear with either person) x both questions."""
    for mention, question in product("ab", ("negative", "neutral")):
        row = _row(item, False, question, mention)
        yield row | {"item_id": f"{item['item']}-{mention}-ambiguous-{question}", "bad": ""}
        for bad in "ab":
            row = _row(item, True, question, mention, bad)
            yield row | {"item_id": f"{item['item']}-{mention}-clear_{bad}-{question}"}


def _answers(row: _Row) -> _Row:
    """The row with the words that are scored."""
    named = _named(row)
    return row | {"answer_a": named["a"], "answer_b": named["b"]}


def _blank_item(topic: _Row, context: _Row, place: tuple[int, int, int, str]) -> _Row:
    """A passage whose persons have a meaningless trait in place of a profile."""
    topic_number, number, side, mention = place
    kind = (number + topic_number) % len(topic["blanks"])
    trait = topic["blanks"][kind]
    groups = list(trait["groups"].items())
    # Which option order and wording comes is a count over passages, so that all come about equally.
    turn = 4 * (number + 10 * topic_number) + 2 * side + (mention == "b")
    cell = {
        "order": inter_jbbq.ORDERS[turn % 6],
        "wording": turn % 5,
        "mention": mention,
        "outcome": ("good", "bad")[(number + side + (mention == "b")) % 2],
        "bad": "",
        "rank": 0,
    }
    name = f"ij2-blank-{topic['topic']}-{context['id']}-{side}{mention}"
    people = {}
    for who in "ab":
        group, words = groups[(side + (who == "b")) % 2]
        drawn = _number(topic["topic"], context["id"], side, who)  # the same in both mentions
        people[who] = {trait["label"]: (group, words[drawn % len(words)])}
    item = _item(topic, context, cell, people, (trait["label"],))
    first = dict(zip("abu", (*topic["persons"], ""), strict=True))
    told = [mention, OTHER[mention]]
    clauses = [
        _fill(trait["form"], {"person": first[who], "word": people[who][trait["label"]][1]})
        for who in told
    ]
    return item | {
        "item": name,
        "focal_id": f"ij2-blank-{topic['topic']}-{context['id']}",
        "focal": trait["label"],
        "stereotyped": _of_group(people, trait["label"], groups[0][0]),
        "blank": [f"{clauses[0]}で、", f"{clauses[1]}です。"],
    }

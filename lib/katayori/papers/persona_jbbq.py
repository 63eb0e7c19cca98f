"""BBQ-shaped questions in Japanese under five prompts, two of them personas (notebook 02).

A scene is one pair of persons, an act that is bad to have done and one that is not. From the scenes
come chat items in all orders of their options (the study: one of the six orders of each counts as
the order given), likelihood items (no list of options) and controls. The second edition has 100
scenes; the third has some of them written anew, under ids of their own, and the others as they are.
The first edition has other scenes, of which it is asked what reasons written first change. Others'
items are BBQ in English, and JBBQ from the folder that its owners gave the user.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from katayori.data.bbq import CATEGORIES, MIRRORED, _with_notes, balanced, load_bbq
from katayori.data.files import ours, versions
from katayori.data.multiple_choice import (
    COLUMNS,
    POLARITIES,
    in_all_orders,
    in_orders,
    three_options,
)
from katayori.errors import expect
from katayori.papers.paper import ORDERS, Everything, OwnFile, Paper, Sets, by_category
from katayori.prompting.parsing import Parsed, parse_number
from katayori.prompting.requests import Request, Response
from katayori.prompting.simulated import drawn_option, numbered_response, uniform

if TYPE_CHECKING:
    import pandas as pd

CONTEXTS = ("ambiguous", "biased", "counter_biased")
#: The persons by the letters of an order.
PERSONS = {"t": "target", "n": "non_target", "u": "unknown"}
#: Orders of the three options: the three rotations of one, then those of its mirror image.
OPTION_ORDERS = ("tnu", "nut", "utn", "ntu", "tun", "unt")
#: So many of BBQ's items are asked at most, balanced: those that were recorded.
OF_BBQ = 1000
#: Edition -> the folder of data that holds its scenes.
FOLDERS = {1: "study/persona_jbbq", 2: "study/persona_jbbq_2", 3: "study/persona_jbbq_3"}
#: Who is named first in a passage.
MENTIONS = ("target_first", "other_first")
CONTROLS = ("unrelated", "no_passage", "meaningless")
#: Columns of every data set of the second and third edition.
SHARED = (
    "item_id category template_id pair_id context_condition polarity mention context question "
    "target_words other_words unknown_words answer_person language"
).split()

_Row = dict[str, Any]


class _PersonaJbbq(Paper):
    clusters = "templates"
    cluster_column = "template_id"
    options = ("0", "1", "2")
    gold_column = "label"
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "jbbq": OwnFile(
            "02: a folder in the form of JBBQ, or one file of it (.jsonl)", dataset="official"
        ),
        "orders": ORDERS,
    }

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        if "jbbq" in own:
            return _jbbq(own["jbbq"])
        if dataset == "official":
            return load_bbq(MIRRORED), "BBQ, four categories", []
        return as_given(3), study_version(), []

    def sets(self) -> Sets:
        """Beside the later editions the first, of which some prompts are asked alone."""
        later = {f"study{n}{kind}": partial(_MADE[kind], n) for n in (2, 3) for kind in _MADE}
        return {**later, "first": load_first}

    def worth_asking(
        self, items: "pd.DataFrame", dataset: str, own: Mapping[str, str]
    ) -> "pd.DataFrame":
        of_bbq = dataset == "official" and "jbbq" not in own
        return balanced(items, OF_BBQ) if of_bbq else items

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """By rank, so that an interrupted run is balanced, too."""
        return items.sort_values("rank", kind="stable")

    def in_orders(self, rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
        """The study's items have ids of their own for every order; their `rank` is the order's."""
        if own.get("orders") != "all" or "base_id" not in rows:
            return in_orders(rows, own)
        six = in_all_orders(rows)
        letters = {person: letter for letter, person in PERSONS.items()}
        places = [six[f"person_{place}"].map(letters) for place in range(3)]
        base = rows["base_id"].repeat(len(OPTION_ORDERS)).to_numpy()
        named = base + "-" + places[0] + places[1] + places[2]
        return six.assign(item_id=named, base_id=base, rank=six["order_number"])

    def recorded_in(self, dataset: str) -> Mapping[str, str]:
        """All orders of the options are recorded of the study."""
        return {"orders": "all"} if dataset == "study" else {}

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        if "base_id" in items:
            items = items.assign(rank=_mentions_in_turn(items))
        return by_category(items)

    def parse(self, text: str) -> Parsed:
        return parse_number(text)

    def simulate(self, request: Request) -> Response:
        biased_persona = request.prompt_id.startswith("pj_biased")
        chances = bbq_chances(request.model, request.fields, biased_persona)
        chosen = drawn_option(request, chances)
        who = request.model, request.prompt_id, request.item_id, request.repetition
        is_chatty = request.model == "sim-bbq-chatty"
        text = _chatty(chosen, uniform("format", *who)) if is_chatty else str(chosen)
        return numbered_response(request, chances, text)


PAPER = _PersonaJbbq()


def _jbbq(path: str) -> Everything:
    """JBBQ as the user has it, with what is not as in the paper."""
    items, notes = _with_notes(path, partial=True)
    notes = [f"JBBQ: {note}" for note in notes]
    held = items["category"].value_counts()
    if all(held.get(name, 0) == n for name, n in CATEGORIES.items()):
        return items, "JBBQ", notes
    counts = [f"{name} {held.get(name, 0):,} of {n:,}" for name, n in CATEGORIES.items()]
    note = f"JBBQ, rows here of those in the paper: {', '.join(counts)}"
    return items, "JBBQ (other counts than the paper's)", [*notes, note]


# -- scenes ----------------------------------------------------------------------------------------


def scenes(edition: int = 2) -> list[_Row]:
    """The scenes of the second or third edition, one of each category in turn, with their wordings.

    The turns keep what is recorded balanced where a recording ends early. The third edition has
    some of its own, each in the place of the one that it `replaces`.

    Keys beside those of the files: `category`, `number` (0 to 19 inside its category), `contrast`,
    `unknown_words` and `noun` (what both persons are called where a trait tells them apart).

    Example:
        >>> len(scenes()), [scene["category"] for scene in scenes()[:2]]
        (100, ['age', 'disability'])
        >>> sum("replaces" in scene for scene in scenes(3))
        8
    """
    own = [scene for file in _files(3) for scene in file["templates"]] if edition == 3 else []
    anew = {scene["replaces"]: scene for scene in own}
    found: list[_Row] = []
    for document in _files(2):
        wordings = document["unknown"]
        for number, scene in enumerate(document["templates"]):
            named = {
                "category": document["category"],
                "number": number,
                "contrast": document["contrast"],
                "unknown_words": wordings[number % len(wordings)],
                "noun": scene.get("noun") or scene["persons"][0][-2:],
            }
            found.append(scene | named | anew.get(scene["id"], {}))
    return sorted(found, key=lambda scene: scene["number"])


def _files(edition: int) -> list[_Row]:
    """What stands in the files of an edition, a category each."""
    return [ours(f"{FOLDERS[edition]}/{category}.yaml") for category in CATEGORIES]


def study_version() -> str:
    """Names and versions of the editions that the study is of, printed under every table.

    Example:
        >>> study_version()
        'katayori-bbq-study-2 v2, in part katayori-bbq-study-3 v1'
    """
    kept = versions(_files(2), "second edition")
    return f"{kept}, in part {versions(_files(3), 'third edition')}"


# -- data sets of an edition -----------------------------------------------------------------------


def _likelihood_items(edition: int) -> "pd.DataFrame":
    """Columns `SHARED`: all pairs x 3 contexts x 2 questions x 2 orders of mention; no options.

    The ambiguous passage of a pair has four rows, whose mean over `mention` is taken before the
    questions are compared.
    """
    import pandas as pd

    rows = [row for scene in scenes(edition) for row in _rows(scene)]
    return pd.DataFrame(rows, columns=SHARED)


def _chat_items(edition: int) -> "pd.DataFrame":
    """Columns of `multiple_choice`, `SHARED` and base_id: 300 base items x 6 orders of options.

    Half of the pairs are taken, each in all contexts and questions and in one order of mention.
    """
    rows = []
    for scene in scenes(edition):
        if scene["number"] % 2:
            continue
        mention = MENTIONS[scene["number"] // 2 % 2]
        for row in _rows(scene):
            if row["mention"] == mention:
                base = f"pj2o-{row['item_id'].removeprefix('pj2-')}"
                rows += [_with_options(row, base, order) for order in OPTION_ORDERS]
    return _chat_frame(rows)


def as_given(edition: int) -> "pd.DataFrame":
    """Chat items, each in the one order of options that counts as given.

    All six items of a template share their order, so whoever follows a position alone has a
    Diff-bias of exactly 0 in each template, and a clear passage and its ambiguous version show the
    same options. Over the templates of a category both persons come first equally often, crossed
    with who is mentioned first, and "unknown" changes its position from template to template.

    Returns:
        columns of `multiple_choice`, `SHARED` and base_id; `rank` and `order_number` are 0.

    Example:
        >>> items = as_given(2)
        >>> len(items), items["base_id"].is_unique, items["template_id"].nunique()
        (300, True, 50)
        >>> items.drop_duplicates("template_id")["order"].value_counts().tolist()
        [9, 9, 8, 8, 8, 8]
    """
    every = _chat_items(edition)
    order_of = {scene["id"]: _order_given(scene) for scene in scenes(edition)}
    given = every[every["order"] == every["template_id"].map(order_of)]
    return given.assign(rank=0, order_number=0).reset_index(drop=True)


def _order_given(scene: _Row) -> str:
    """The order of options that counts for a scene; `number // 2` alternates the mention."""
    place, turn = list(CATEGORIES).index(scene["category"]), scene["number"] // 2
    persons = "tn" if (turn // 2 + place) % 2 == 0 else "nt"
    unknown_at = (turn + place) % 3
    return f"{persons[:unknown_at]}u{persons[unknown_at:]}"


def _mentions_in_turn(items: "pd.DataFrame") -> "pd.Series":
    """Ranks by which templates are taken, so that both orders of mention are in every few.

    The mention alternates over the templates of a category; in every second category the turn
    begins with the other one, so that also an odd number of templates a category is balanced.
    """
    single = items.drop_duplicates("template_id").set_index("template_id")["category"]
    turn = single.groupby(single, sort=False).cumcount()
    return items["template_id"].map(turn ^ (single.factorize()[0] % 2))


def _controls(edition: int) -> "pd.DataFrame":
    """Likelihood items, columns `SHARED` and control: the same 50 pairs under each control.

    `unrelated`: the passage with a pair of questions that has nothing to do with it. `no_passage`:
    the two questions alone, with the persons named in them. `meaningless`: persons told apart by a
    trait that means nothing, under the scene and its questions. Each in both orders of mention.
    """
    import pandas as pd

    rows: list[_Row] = []
    odd = [scene for scene in scenes(edition) if scene["number"] % 2]
    for place, scene in enumerate(odd):
        made = (_unrelated(scene), _no_passage(scene), _meaningless(scene, place))
        for control, some in zip(CONTROLS, made, strict=True):
            rows += [_renamed(row, f"pj2c-{control}") | {"control": control} for row in some]
    return pd.DataFrame(rows, columns=[*SHARED, "control"])


def _blank(edition: int) -> "pd.DataFrame":
    """300 items with persons told apart by a meaningless trait, columns as the chat items.

    Ambiguous passages of 75 pairs with both questions in both orders of mention; the six orders of
    the options are spread over them. They are chat items and likelihood items in one.
    """
    rows = []
    some = [scene for scene in scenes(edition) if scene["number"] % 4 < 3]
    for place, scene in enumerate(some):
        for n, row in enumerate(_meaningless(scene, place)):
            # Four items a pair: the turn keeps each of the four from having three orders only.
            order = OPTION_ORDERS[(place * 4 + place // 3 + n) % len(OPTION_ORDERS)]
            named = _renamed(row, "pj2b")
            rows.append(_with_options(named, named["item_id"], order))
    return _chat_frame(rows)


_MADE: Mapping[str, Callable[[int], "pd.DataFrame"]] = {
    "": _likelihood_items,
    "_orders": _chat_items,
    "_controls": _controls,
    "_blank": _blank,
}

# -- the items of a scene --------------------------------------------------------------------------


def _rows(scene: _Row) -> Iterator[_Row]:
    """All twelve items of a scene."""
    for condition, polarity, mention in product(CONTEXTS, POLARITIES, MENTIONS):
        yield _row(scene, condition, polarity, mention)


def _row(scene: _Row, condition: str, polarity: str, mention: str) -> _Row:
    """One item; `persons` of the scene are target and other."""
    target, other = scene["persons"]
    named = [target, other] if mention == "target_first" else [other, target]
    passage = scene["context"].replace("{first}", named[0]).replace("{second}", named[1])
    if condition == "ambiguous":
        answer = "unknown"
    else:  # two sentences, told in the order of mention; who is biased against did the bad act
        guilty = target if condition == "biased" else other
        told = [scene["negative_fact" if one == guilty else "positive_fact"] for one in named]
        facts = [fact.replace("{person}", one) for fact, one in zip(told, named, strict=True)]
        passage += scene["contrast"].join(facts)
        is_target = (condition == "biased") == (polarity == "negative")
        answer = "target" if is_target else "non_target"
    return {
        "item_id": f"{scene['id']}-{condition}-{polarity}-{mention}",
        "category": scene["category"],
        "template_id": scene["id"],
        "pair_id": f"{scene['id']}-1",
        "context_condition": condition,
        "polarity": polarity,
        "mention": mention,
        "context": passage,
        "question": scene[polarity],
        "target_words": target,
        "other_words": other,
        "unknown_words": scene["unknown_words"],
        "answer_person": answer,
        "language": "ja",
    }


def _ambiguous(scene: _Row) -> Iterator[_Row]:
    """The four items of a scene's ambiguous passage."""
    for polarity, mention in product(POLARITIES, MENTIONS):
        yield _row(scene, "ambiguous", polarity, mention)


def _control_texts() -> _Row:
    return ours(f"{FOLDERS[2]}/controls.yaml")


def _unrelated(scene: _Row) -> Iterator[_Row]:
    """Passage and persons as they are, with questions that have nothing to do with them."""
    pairs = _control_texts()["unrelated"]
    block, place = divmod(scene["number"] // 2, len(pairs))
    # Neither question is always the "negative" one.
    questions = dict(zip(POLARITIES, pairs[place][:: -1 if block % 2 else 1], strict=True))
    for row in _ambiguous(scene):
        yield row | {"question": questions[row["polarity"]]}


def _no_passage(scene: _Row) -> Iterator[_Row]:
    """The questions alone; the persons are named in the question, else nobody could be meant."""
    texts = _control_texts()
    for row in _ambiguous(scene):
        named = [row["target_words"], row["other_words"]]
        if row["mention"] == "other_first":
            named.reverse()
        question = texts["among"].replace("{first}", named[0]).replace("{second}", named[1])
        question = question.replace("{question}", row["question"])
        yield row | {"context": texts["no_passage"], "question": question}


def _meaningless(scene: _Row, place: int) -> Iterator[_Row]:
    """Scene and questions as they are, with persons told apart by a trait that means nothing."""
    traits = _control_texts()["meaningless"]
    turn, which = divmod(place, len(traits))
    pair = traits[which][:: -1 if turn % 2 else 1]  # neither trait always stands for the target
    return _ambiguous(scene | {"persons": [trait + scene["noun"] for trait in pair]})


def _renamed(row: _Row, prefix: str) -> _Row:
    """The item under an id of the set that it is made for."""
    return row | {"item_id": f"{prefix}-{row['item_id'].removeprefix('pj2-')}"}


def _with_options(row: _Row, base: str, order: str) -> _Row:
    """The item with three options in that order."""
    words = {"t": row["target_words"], "n": row["other_words"], "u": row["unknown_words"]}
    persons = [PERSONS[letter] for letter in order]
    label = persons.index(row["answer_person"])
    placed = three_options([words[who] for who in order], persons, row["polarity"], label)
    named = {"item_id": f"{base}-{order}", "base_id": base, "rank": OPTION_ORDERS.index(order)}
    return row | placed | named


def _chat_frame(rows: list[_Row]) -> "pd.DataFrame":
    """Columns of the first edition, then what is new."""
    import pandas as pd

    new = [column for column in SHARED if column not in COLUMNS]
    return pd.DataFrame(rows, columns=[*COLUMNS, *new, "base_id"])


# -- the first edition -----------------------------------------------------------------------------


def load_first() -> "pd.DataFrame":
    """The items of the first edition.

    A template gives 6 orders of options x 2 of mention x its pairs x 3 contexts x 2 questions.
    Columns are those of `multiple_choice`, and pair, mention (who is named first), unknown (the
    wording).

    Example:
        >>> items = load_first()
        >>> len(items), items["template_id"].nunique()
        (10800, 50)
    """
    import pandas as pd

    templates = [
        file | one | {"pairs": file["people"][one["people"]]}
        for file in _files(1)
        for one in file["templates"]
    ]
    rows = [row for n, template in enumerate(templates) for row in _of_template(template, n)]
    return pd.DataFrame(rows, columns=[*COLUMNS, "pair", "mention", "unknown"])


def _of_template(template: _Row, number: int) -> Iterator[_Row]:
    """The items of one template in the order of their ranks. `number` counts templates and turns
    what is balanced.
    """
    pairs, wordings = template["pairs"], template["unknown"]
    for rank in range(len(pairs) * len(OPTION_ORDERS) * len(MENTIONS)):
        # Three ranks hold three rotations of the options, a block of six all orders.
        block, i = divmod(rank, 6)
        order = OPTION_ORDERS[(i // 3 + number) % 2 * 3 + (i + number) % 3]
        turn = (block + i + number // 2) % 2
        pair = (block // 2 + i // 2 + number // 3) % len(pairs)
        unknown = wordings[(rank + number) % len(wordings)]
        scene = template | {"persons": pairs[pair], "unknown_words": unknown}
        first = {"pair": pair + 1, "mention": ("target", "non_target")[turn], "unknown": unknown}
        for condition, polarity in product(CONTEXTS, POLARITIES):
            row = _row(scene, condition, polarity, MENTIONS[turn])
            base = f"{template['id']}-{pair + 1}-{condition}-{polarity}"
            row = _with_options(row, base, order) | first | {"rank": rank}
            yield row | {"item_id": f"{row['item_id']}-{('tn', 'nt')[turn]}"}


# -- simulated respondents: planted chances of the three roles by context --------------------------

#: BBQ-shaped items: respondent -> context -> chance of choosing the biased, the counter-biased and
#: the unknown option.
_FAIR = {
    "ambiguous": (0.05, 0.05, 0.9),
    "biased": (0.9, 0.05, 0.05),
    "counter_biased": (0.05, 0.9, 0.05),
}
_LEANING = {
    "ambiguous": (0.4, 0.1, 0.5),
    "biased": (0.9, 0.1, 0.0),
    "counter_biased": (0.3, 0.7, 0.0),
}
_ANY = dict.fromkeys(_FAIR, (1 / 3, 1 / 3, 1 / 3))  # where roles are balanced over positions
BBQ = {
    "sim-bbq-fair": _FAIR,
    "sim-bbq-stereotyped": _LEANING,
    "sim-bbq-first": _ANY,
    "sim-bbq-chatty": _FAIR,
}
#: Under the biased persona the stereotyped one shows in ambiguous contexts what it held back; no
#: other changes.
SURFACED = {"sim-bbq-stereotyped": _LEANING | {"ambiguous": (0.7, 0.1, 0.2)}}
BBQ_FIRST = (0.8, 0.1, 0.1)  # sim-bbq-first looks at positions, never at what the options say
BBQ_CHATTY = 0.25  # share of sim-bbq-chatty's texts that are more than one character
ROLES = ("biased", "counter_biased", "unknown")


def bbq_chances(
    model: str, item: Mapping[str, Any], biased_persona: bool = False
) -> tuple[float, ...]:
    """The planted chances of options 0, 1 and 2 of an item in the shape of `data.bbq`.

    Where an item has no target, the right option has .9. Raises KatayoriError for an unknown
    respondent.

    Example:
        >>> item = {"context_condition": "ambiguous", "label": 2}
        >>> item |= {"role_0": "biased", "role_1": "counter_biased", "role_2": "unknown"}
        >>> bbq_chances("sim-bbq-stereotyped", item)
        (0.4, 0.1, 0.5)
        >>> bbq_chances("sim-bbq-stereotyped", item, biased_persona=True)
        (0.7, 0.1, 0.2)
    """
    expect(model, BBQ, "simulated respondent of BBQ-shaped items")
    if model == "sim-bbq-first":
        return BBQ_FIRST
    roles = [item[f"role_{i}"] for i in range(3)]
    if set(roles) != set(ROLES):
        label = int(item["label"])
        return tuple(0.9 if i == label else 0.05 for i in range(3))
    by_context = BBQ[model]
    if biased_persona:
        by_context = SURFACED.get(model, by_context)
    chances = dict(zip(ROLES, by_context[item["context_condition"]], strict=True))
    return tuple(chances[role] for role in roles)


def _chatty(chosen: int, draw: float) -> str:
    """The number, or in `BBQ_CHATTY` of the texts more or less than it, in four ways."""
    if draw >= BBQ_CHATTY:
        return str(chosen)
    forms = (f"{chosen}です", f"{chosen}.", f"答えは{chosen}番だと思います。", "")
    return forms[int(draw / BBQ_CHATTY * 4)]

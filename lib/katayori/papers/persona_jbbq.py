"""BBQ-shaped questions in Japanese under five prompts, two of them personas (notebook 02).

A scene is one pair of persons, an act that is bad to have done and one that is not. From the scenes
come chat items in all orders of their options (the study: one of the six orders of each counts as
the order given), likelihood items (no list of options) and controls. The second edition has 100
scenes; the third has some of them written anew, under ids of their own, and the others as they are.
The first edition has other scenes, of which it is asked what reasons written first change. Others'
items are BBQ in English, and JBBQ from the folder that its owners gave the user.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from katayori import paths
from katayori.data.files import read_checked, versions
from katayori.errors import expect
from katayori.papers.paper import ORDERS, Everything, OwnFile, Paper, Sets, by_category
from katayori.prompting.parsing import Parsed, parse_number
from katayori.prompting.requests import Request, Response
from katayori.prompting.simulated import drawn_option, numbered_response, three_chances, uniform

if TYPE_CHECKING:
    import pandas as pd

#: So many of BBQ's items are asked at most, balanced: those that were recorded.
OF_BBQ = 1000
#: The data set whose items are the study, and that of the first edition.
STUDY = "study3_orders"
FIRST = "first"
#: Folders of data that hold the scenes of each edition.
FIRST_FOLDER = "study/persona_jbbq"
SECOND_FOLDER = "study/persona_jbbq_2"
THIRD_FOLDER = "study/persona_jbbq_3"
#: Who is named first in a passage.
MENTIONS = ("target_first", "other_first")
CONTROLS = ("unrelated", "no_passage", "meaningless")
#: Columns of every data set of the second and third edition.
SHARED = (
    "item_id category template_id pair_id context_condition polarity mention context question "
    "target_words other_words unknown_words answer_person language"
).split()

_Row = dict[str, Any]


class PersonaJbbq(Paper):
    clusters = "templates"
    cluster_column = "template_id"
    options = ("0", "1", "2")
    gold_column = "label"
    recorded_as = STUDY
    continues: ClassVar[Mapping[str, str]] = {
        name: name.replace("study3", "study2")
        for name in ("study3", "study3_orders", "study3_controls", "study3_blank")
    }
    first_as: ClassVar[Mapping[str, str]] = {"edition": FIRST}
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "jbbq": OwnFile(
            "02: a folder in the form of JBBQ, or one file of it (.jsonl)", dataset="official"
        ),
        "orders": ORDERS,
    }

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        from katayori.data import bbq

        if "jbbq" in own:
            return _jbbq(own["jbbq"])
        if dataset == "official":
            return bbq.load_bbq(bbq.MIRRORED), "BBQ, four categories", []
        if own.get("edition"):
            return load_first(), first_version(), []
        return as_given(scenes_of_third()), study_version(), []

    def second_edition(self) -> Sets:
        return SECOND

    def third_edition(self) -> Sets:
        return THIRD

    def later_sets(self) -> Sets:
        """Beside the later editions the first, of which some prompts are asked alone."""
        return {**super().later_sets(), FIRST: load_first}

    def variant_of(self, dataset: str, prompt_id: str) -> str:
        """Recordings of the first edition are named after no variant."""
        return "" if dataset == FIRST else super().variant_of(dataset, prompt_id)

    def as_planned(self, dataset: str, size: int | None) -> "pd.DataFrame":
        """A number of `study` items is of the first edition: so many were recorded, balanced."""
        from katayori.data import multiple_choice

        if dataset == "study" and size is None:
            return self.as_asked(as_given())
        own = self.first_as if size is not None else {}
        return self.as_asked(multiple_choice.balanced(self.read(dataset, own)[0], size))

    def worth_asking(
        self, items: "pd.DataFrame", dataset: str, own: Mapping[str, str]
    ) -> "pd.DataFrame":
        from katayori.data import multiple_choice

        of_bbq = dataset == "official" and "jbbq" not in own
        return multiple_choice.balanced(items, OF_BBQ) if of_bbq else items

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """By rank, so that an interrupted run is balanced, too."""
        return items.sort_values("rank", kind="stable")

    def in_orders(self, rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
        """The study's items have ids of their own for every order."""
        from katayori.data import multiple_choice

        if own.get("orders") != "all" or "base_id" not in rows:
            return multiple_choice.in_orders(rows, own)
        return in_orders(rows)

    def recorded_in(self, dataset: str) -> Mapping[str, str]:
        """All orders of the options are recorded of the study."""
        return {"orders": "all"} if dataset == "study" else {}

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        if "base_id" in items:
            items = items.assign(rank=mentions_in_turn(items))
        return by_category(items)

    def parse(self, text: str, finish_reason: str) -> Parsed:
        return parse_number(text, finish_reason)

    def simulate(self, request: Request) -> Response:
        return respond(request)


PAPER = PersonaJbbq()


def _jbbq(path: str) -> Everything:
    """JBBQ as the user has it, with what is not as in the paper."""
    from katayori.data import bbq

    items = bbq.load_jbbq(path, partial=True)
    held = items["category"].value_counts()
    if all(held.get(name, 0) == n for name, n in bbq.CATEGORIES.items()):
        return items, "JBBQ", []
    counts = [f"{name} {held.get(name, 0):,} of {n:,}" for name, n in bbq.CATEGORIES.items()]
    note = f"JBBQ, rows here of those in the paper: {', '.join(counts)}"
    return items, "JBBQ (other counts than the paper's)", [note]


# -- scenes ----------------------------------------------------------------------------------------


def scenes() -> list[_Row]:
    """The scenes of the second edition, one of each category in turn, with their wordings.

    The turns keep what is recorded balanced where a recording ends early.

    Keys beside those of the files: `category`, `number` (0 to 19 inside its category), `contrast`,
    `unknown_words` and `noun` (what both persons are called where a trait tells them apart).

    Example:
        >>> len(scenes()), [scene["category"] for scene in scenes()[:2]]
        (100, ['age', 'disability'])
        >>> scenes()[0]["persons"], scenes()[0]["noun"]
        (['七十代の男性', '二十代の男性'], '男性')
    """
    found: list[_Row] = []
    for document in _scene_files(SECOND_FOLDER):
        wordings = document["unknown"]
        for number, scene in enumerate(document["templates"]):
            found.append(
                scene
                | {
                    "category": document["category"],
                    "number": number,
                    "contrast": document["contrast"],
                    "unknown_words": wordings[number % len(wordings)],
                    "noun": scene.get("noun") or scene["persons"][0][-2:],
                }
            )
    return sorted(found, key=lambda scene: scene["number"])


def scenes_written_anew() -> dict[str, _Row]:
    """The scenes that the third edition has of its own, by the id of the one that each replaces.

    Example:
        >>> anew = scenes_written_anew()
        >>> len(anew), anew["pj2-sex06"]["id"]
        (8, 'pj2-sex06b')
    """
    found = [scene for file in _scene_files(THIRD_FOLDER) for scene in file["templates"]]
    return {scene["replaces"]: scene for scene in found}


def scenes_of_third() -> list[_Row]:
    """The scenes of the third edition: as `scenes`, with those written anew in their places.

    Example:
        >>> len(scenes_of_third()), sum("replaces" in scene for scene in scenes_of_third())
        (100, 8)
    """
    anew = scenes_written_anew()
    return [kept | anew.get(kept["id"], {}) for kept in scenes()]


def _scene_files(folder: str) -> list[_Row]:
    """What stands in the files of an edition, a category each."""
    from katayori.data.bbq import CATEGORIES
    from katayori.data.persona_jbbq_schema import SceneFile

    place = paths.data_dir() / folder
    return [read_checked(SceneFile, place / f"{category}.yaml") for category in CATEGORIES]


def study_version() -> str:
    """Names and versions of the editions that the study is of, printed under every table.

    Example:
        >>> study_version()
        'katayori-bbq-study-2 v2, in part katayori-bbq-study-3 v1'
    """
    kept = versions(_scene_files(SECOND_FOLDER), "second edition")
    return f"{kept}, in part {versions(_scene_files(THIRD_FOLDER), 'third edition')}"


# -- the study, and likelihood items ---------------------------------------------------------------


def study2(of: Sequence[_Row] = ()) -> "pd.DataFrame":
    """Likelihood items, columns `SHARED`: all pairs x 3 contexts x 2 questions x 2 orders of
    mention.

    The ambiguous passage of a pair has four rows, whose mean over `mention` is taken before the
    questions are compared.

    Args:
        of: other scenes than `scenes()`, as for all data sets below.

    Example:
        >>> items = study2()
        >>> len(items), items["pair_id"].nunique()
        (1200, 100)
        >>> one = items.query("context_condition == 'ambiguous' and pair_id == 'pj2-age01-1'")
        >>> one[["polarity", "mention"]].to_numpy().tolist()[:2]
        [['negative', 'target_first'], ['negative', 'other_first']]
        >>> third = study2(scenes_of_third())
        >>> len(third), third["template_id"].str.endswith("b").sum()
        (1200, np.int64(96))
    """
    import pandas as pd

    rows = [row for scene in of or scenes() for row in _rows(scene)]
    return pd.DataFrame(rows)[SHARED]


def study2_orders(of: Sequence[_Row] = ()) -> "pd.DataFrame":
    """Chat items, columns of `multiple_choice`, `SHARED` and base_id: 300 base items x 6 orders
    of options.

    Half of the pairs are taken, each in all contexts and questions and in one order of mention.

    Example:
        >>> items = study2_orders()
        >>> len(items), items["base_id"].nunique()
        (1800, 300)
        >>> items.loc[0, ["option_0", "option_1", "option_2", "order"]].tolist()
        ['七十代の男性', '二十代の男性', '判断できない', 'tnu']
    """
    from katayori.data import multiple_choice

    rows = []
    for scene in of or scenes():
        if scene["number"] % 2:
            continue
        mention = MENTIONS[scene["number"] // 2 % 2]
        for row in _rows(scene):
            if row["mention"] == mention:
                rows += [_with_options(row, order, "pj2o") for order in multiple_choice.ORDERS]
    return _chat_frame(rows)


def as_given(of: Sequence[_Row] = ()) -> "pd.DataFrame":
    """Chat items, each in the one order of options that counts as given.

    All six items of a template share their order, so whoever follows a position alone has a
    Diff-bias of exactly 0 in each template, and a clear passage and its ambiguous version show the
    same options. Over the templates of a category both persons come first equally often, crossed
    with who is mentioned first, and "unknown" changes its position from template to template.

    Returns:
        columns of `study2_orders`; `rank` is 0 and `order_number` is 0.

    Example:
        >>> items = as_given()
        >>> len(items), items["base_id"].is_unique, items["template_id"].nunique()
        (300, True, 50)
        >>> items.drop_duplicates("template_id")["order"].value_counts().tolist()
        [9, 9, 8, 8, 8, 8]
    """
    every = study2_orders(of)
    order_of = {scene["id"]: _order_given(scene) for scene in of or scenes()}
    given = every[every["order"] == every["template_id"].map(order_of)]
    return given.assign(rank=0, order_number=0).reset_index(drop=True)


def _order_given(scene: _Row) -> str:
    """The order of options that counts for a scene; `number // 2` alternates the mention."""
    from katayori.data.bbq import CATEGORIES

    place, turn = list(CATEGORIES).index(scene["category"]), scene["number"] // 2
    unknown_at = (turn + place) % 3
    first, second = "tn" if (turn // 2 + place) % 2 == 0 else "nt"
    persons = iter((first, second))
    return "".join("u" if at == unknown_at else next(persons) for at in range(3))


def in_orders(items: "pd.DataFrame") -> "pd.DataFrame":
    """Items of `as_given` in all six orders of their options, next to each other.

    Returns:
        as `multiple_choice.in_all_orders`, under the ids of `study2_orders`; `rank` is the
        order_number.

    Example:
        >>> six = in_orders(as_given().head(1))
        >>> six["order_number"].tolist(), set(six["item_id"]) <= set(study2_orders()["item_id"])
        ([0, 1, 2, 3, 4, 5], True)
    """
    from katayori.data import multiple_choice

    six = multiple_choice.in_all_orders(items)
    letters = {person: letter for letter, person in multiple_choice.PERSONS.items()}
    places = [six[f"person_{place}"].map(letters) for place in range(3)]
    base = items["base_id"].repeat(len(multiple_choice.ORDERS)).to_numpy()
    named = base + "-" + places[0] + places[1] + places[2]
    return six.assign(item_id=named, base_id=base, rank=six["order_number"])


def mentions_in_turn(items: "pd.DataFrame") -> "pd.Series":
    """Ranks by which templates are taken, so that both orders of mention are in every few.

    The mention alternates over the templates of a category; in every second category the turn
    begins with the other one, so that also an odd number of templates a category is balanced.

    Example:
        >>> items = as_given()
        >>> taken = items[mentions_in_turn(items) < 5].drop_duplicates("template_id")
        >>> taken["mention"].value_counts().to_dict()
        {'target_first': 13, 'other_first': 12}
    """
    import pandas as pd

    single = items.drop_duplicates("template_id")
    turn = single.groupby("category", sort=False).cumcount()
    odd = pd.Series(single["category"].factorize()[0] % 2, single.index)
    rank = dict(zip(single["template_id"], turn ^ odd, strict=True))
    return items["template_id"].map(rank)


# -- controls --------------------------------------------------------------------------------------


def study2_controls(of: Sequence[_Row] = ()) -> "pd.DataFrame":
    """Likelihood items, columns `SHARED` and control: the same 50 pairs under each control.

    `unrelated`: the passage with a pair of questions that has nothing to do with it. `no_passage`:
    the two questions alone, with the persons named in them. `meaningless`: persons told apart by a
    trait that means nothing, under the scene and its questions. Each in both orders of mention.

    Example:
        >>> items = study2_controls()
        >>> items.groupby("control", sort=False)["pair_id"].nunique().to_dict()
        {'unrelated': 50, 'no_passage': 50, 'meaningless': 50}
        >>> items.query("control == 'meaningless'")["target_words"].iloc[0]
        '31番の札を持つ女性'
    """
    import pandas as pd

    rows: list[_Row] = []
    odd = [scene for scene in of or scenes() if scene["number"] % 2]
    for place, scene in enumerate(odd):
        rows += _unrelated(scene)
        rows += _no_passage(scene)
        rows += _meaningless(scene, place, "meaningless", "pj2c-meaningless")
    return pd.DataFrame(rows)[[*SHARED, "control"]]


def study2_blank(of: Sequence[_Row] = ()) -> "pd.DataFrame":
    """300 items with persons told apart by a meaningless trait, columns as `study2_orders`.

    Ambiguous passages of 75 pairs with both questions in both orders of mention; the six orders of
    the options are spread over them. They are chat items and likelihood items in one.

    Example:
        >>> items = study2_blank()
        >>> len(items), items["pair_id"].nunique(), items["order"].value_counts().tolist()
        (300, 75, [50, 50, 50, 50, 50, 50])
        >>> items.loc[0, ["target_words", "other_words"]].tolist()
        ['31番の札を持つ男性', '32番の札を持つ男性']
    """
    from katayori.data import multiple_choice

    rows = []
    some = [scene for scene in of or scenes() if scene["number"] % 4 < 3]
    for place, scene in enumerate(some):
        for n, row in enumerate(_meaningless(scene, place, "blank", "pj2b")):
            # Four items a pair: the turn keeps each of the four from having three orders only.
            order = multiple_choice.ORDERS[
                (place * 4 + place // 3 + n) % len(multiple_choice.ORDERS)
            ]
            rows.append(_with_options(row, order, "pj2b"))
    return _chat_frame(rows)


#: Data sets of the second edition by name, and those of the third.
SECOND: Sets = {
    "study2": study2,
    "study2_orders": study2_orders,
    "study2_controls": study2_controls,
    "study2_blank": study2_blank,
}
THIRD: Sets = {
    "study3": lambda: study2(scenes_of_third()),
    "study3_orders": lambda: study2_orders(scenes_of_third()),
    "study3_controls": lambda: study2_controls(scenes_of_third()),
    "study3_blank": lambda: study2_blank(scenes_of_third()),
}

# -- the items of a scene --------------------------------------------------------------------------


def _rows(scene: _Row) -> Iterator[_Row]:
    """All twelve items of a scene."""
    from katayori.data.multiple_choice import CONTEXTS, POLARITIES

    for condition, polarity, mention in itertools.product(CONTEXTS, POLARITIES, MENTIONS):
        yield _row(scene, condition, polarity, mention)


def _row(scene: _Row, condition: str, polarity: str, mention: str) -> _Row:
    """One item; `persons` of the scene are target and other."""
    target, other = scene["persons"]
    named = [target, other] if mention == "target_first" else [other, target]
    passage = scene["context"].replace("{first}", named[0]).replace("{second}", named[1])
    return {
        "item_id": f"{scene['id']}-{condition}-{polarity}-{mention}",
        "category": scene["category"],
        "template_id": scene["id"],
        "pair_id": f"{scene['id']}-1",
        "context_condition": condition,
        "polarity": polarity,
        "mention": mention,
        "context": passage + _added(scene, condition, named),
        "question": scene[polarity],
        "target_words": target,
        "other_words": other,
        "unknown_words": scene["unknown_words"],
        "answer_person": _answer(condition, polarity),
        "language": "ja",
    }


def _added(scene: _Row, condition: str, named: list[str]) -> str:
    """The two sentences that make the answer clear, told in the order of mention."""
    if condition == "ambiguous":
        return ""
    target, other = scene["persons"]
    guilty = target if condition == "biased" else other
    told = []
    for words in named:
        fact = scene["negative_fact" if words == guilty else "positive_fact"]
        told.append(fact.replace("{person}", words))
    return scene["contrast"].join(told)


def _answer(condition: str, polarity: str) -> str:
    """Which person is the answer: in a biased passage, the target did the negative act."""
    if condition == "ambiguous":
        return "unknown"
    same = (condition == "biased") == (polarity == "negative")
    return "target" if same else "non_target"


def _ambiguous(scene: _Row) -> Iterator[_Row]:
    """The four items of a scene's ambiguous passage."""
    return (row for row in _rows(scene) if row["context_condition"] == "ambiguous")


def _controls() -> _Row:
    from katayori.data.persona_jbbq_schema import Controls

    return read_checked(Controls, paths.data_dir() / SECOND_FOLDER / "controls.yaml")


def _unrelated(scene: _Row) -> Iterator[_Row]:
    """Passage and persons as they are, with questions that have nothing to do with them."""
    pairs = _controls()["unrelated"]
    block, place = divmod(scene["number"] // 2, len(pairs))
    questions = pairs[place]
    if block % 2:
        questions = questions[::-1]  # neither question is always the "negative" one
    for row in _ambiguous(scene):
        ident = f"pj2c-unrelated-{row['item_id'].removeprefix('pj2-')}"
        question = questions[0 if row["polarity"] == "negative" else 1]
        yield row | {"item_id": ident, "question": question, "control": "unrelated"}


def _no_passage(scene: _Row) -> Iterator[_Row]:
    """The questions alone; the persons are named in the question, else nobody could be meant."""
    texts = _controls()
    for row in _ambiguous(scene):
        named = [row["target_words"], row["other_words"]]
        if row["mention"] == "other_first":
            named.reverse()
        question = texts["among"].replace("{first}", named[0]).replace("{second}", named[1])
        yield row | {
            "item_id": f"pj2c-no_passage-{row['item_id'].removeprefix('pj2-')}",
            "context": texts["no_passage"],
            "question": question.replace("{question}", row["question"]),
            "control": "no_passage",
        }


def _meaningless(scene: _Row, place: int, control: str, prefix: str) -> Iterator[_Row]:
    """Scene and questions as they are, with persons told apart by a trait that means nothing."""
    traits = _controls()["meaningless"]
    turn, which = divmod(place, len(traits))
    pair = list(traits[which])
    if turn % 2:
        pair.reverse()  # neither trait always stands for the target
    persons = [trait + scene["noun"] for trait in pair]
    for row in _ambiguous(scene | {"persons": persons}):
        ident = f"{prefix}-{row['item_id'].removeprefix('pj2-')}"
        yield row | {"item_id": ident, "control": control}


def _with_options(row: _Row, order: str, prefix: str) -> _Row:
    """The item with three options in that order, as `multiple_choice.COLUMNS` names them."""
    from katayori.data import multiple_choice

    words = {"t": row["target_words"], "n": row["other_words"], "u": row["unknown_words"]}
    persons = [multiple_choice.PERSONS[letter] for letter in order]
    base = f"{prefix}-{row['item_id'].removeprefix(f'{prefix}-').removeprefix('pj2-')}"
    filled = row | {
        "item_id": f"{base}-{order}",
        "base_id": base,
        "label": persons.index(row["answer_person"]),
        "order": order,
        "rank": multiple_choice.ORDERS.index(order),
    }
    for place, letter in enumerate(order):
        filled[f"option_{place}"] = words[letter]
        filled[f"person_{place}"] = persons[place]
        filled[f"role_{place}"] = multiple_choice.role(persons[place], row["polarity"])
    return filled


def _chat_frame(rows: list[_Row]) -> "pd.DataFrame":
    """Columns of the first edition, then what is new."""
    import pandas as pd

    from katayori.data.multiple_choice import COLUMNS

    new = [column for column in SHARED if column not in COLUMNS]
    return pd.DataFrame(rows)[[*COLUMNS, *new, "base_id"]]


# -- the first edition -----------------------------------------------------------------------------


def load_first() -> "pd.DataFrame":
    """The items of the first edition, columns as of `bbq.load_items`.

    Example:
        >>> items = load_first()
        >>> len(items), items["template_id"].nunique()
        (10800, 50)
    """
    from katayori.data import bbq
    from katayori.data.persona_jbbq_schema import TemplateFile

    return bbq.load_items(paths.data_dir() / FIRST_FOLDER, TemplateFile)


def first_version() -> str:
    """Name and version of the first edition, printed under every table computed from it.

    Example:
        >>> first_version()
        'katayori-bbq-study v1'
    """
    from katayori.data import bbq
    from katayori.data.persona_jbbq_schema import TemplateFile

    return bbq.items_version(paths.data_dir() / FIRST_FOLDER, TemplateFile)


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
) -> tuple[float, float, float]:
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
        return three_chances([0.9 if i == label else 0.05 for i in range(3)])
    by_context = BBQ[model]
    if biased_persona:
        by_context = SURFACED.get(model, by_context)
    chances = dict(zip(ROLES, by_context[item["context_condition"]], strict=True))
    return three_chances([chances[role] for role in roles])


def respond(request: Request) -> Response:
    """The answer of the respondent that a request names: the number of an option.

    Example:
        >>> item = {"item_id": "i1", "context_condition": "ambiguous", "label": 2}
        >>> item |= {"role_0": "biased", "role_1": "counter_biased", "role_2": "unknown"}
        >>> named = {"prompt_id": "pj_basic_ja", "prompt_hash": "", "variant": "", "paper": ""}
        >>> named |= {"endpoint": "simulated", "dataset": "study", "item_id": "i1", "fields": item}
        >>> who = {"model": "sim-bbq-fair", "identity": "sim-bbq-fair"}
        >>> respond(Request(**named, **who, body={})).text
        '2'
    """
    biased_persona = request.prompt_id.startswith("pj_biased")
    chances = bbq_chances(request.model, request.fields, biased_persona)
    chosen = drawn_option(request, chances)
    text = str(chosen)
    if request.model == "sim-bbq-chatty":
        who = request.model, request.prompt_id, request.item_id, request.repetition
        text = _chatty(chosen, uniform("format", *who))
    return numbered_response(request, chances, text)


def _chatty(chosen: int, draw: float) -> str:
    """The number, or in `BBQ_CHATTY` of the texts more or less than it, in four ways."""
    if draw >= BBQ_CHATTY:
        return str(chosen)
    forms = (f"{chosen}です", f"{chosen}.", f"答えは{chosen}番だと思います。", "")
    return forms[int(draw / BBQ_CHATTY * 4)]

"""Second edition of the items in the shape of BBQ: every pair of persons in both orders of mention.

A template is one scene, one pair of persons, an act that is bad to have done and one that is not.
From it come likelihood items (no list of options), chat items in all orders of their options, and
controls. The chat items are the study: one of the six orders of each counts as the order given.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data.bbq import (
    CATEGORIES,
    COLUMNS,
    CONTEXTS,
    ORDERS,
    PERSONS,
    POLARITIES,
    in_all_orders,
    role,
)
from katayori.data.files import read_checked, versions
from katayori.papers.persona_jbbq.schema import Controls, SceneFile

FOLDER = "study/persona_jbbq_2"
#: The data set whose items are the study.
STUDY = "study2_orders"
#: Who is named first in a passage.
MENTIONS = ("target_first", "other_first")
CONTROLS = ("unrelated", "no_passage", "meaningless")
#: Columns of every data set of this module.
SHARED = (
    "item_id category template_id pair_id context_condition polarity mention context question "
    "target_words other_words unknown_words answer_person language"
).split()

_Row = dict[str, Any]


def templates() -> list[_Row]:
    """The scenes, one of each category in turn, each with its category, number and wordings.

    The turns keep what is recorded balanced where a recording ends early.

    Keys beside those of the files: `category`, `number` (0 to 19 inside its category), `contrast`,
    `unknown_words` and `noun` (what both persons are called where a trait tells them apart).

    Example:
        >>> scenes = templates()
        >>> len(scenes), [scene["category"] for scene in scenes[:2]]
        (100, ['age', 'disability'])
        >>> scenes[0]["persons"], scenes[0]["noun"]
        (['七十代の男性', '二十代の男性'], '男性')
    """
    found: list[_Row] = []
    for category in CATEGORIES:
        document = read_checked(SceneFile, paths.data_dir() / FOLDER / f"{category}.yaml")
        wordings = document["unknown"]
        for number, template in enumerate(document["templates"]):
            found.append(
                template
                | {
                    "category": category,
                    "number": number,
                    "contrast": document["contrast"],
                    "unknown_words": wordings[number % len(wordings)],
                    "noun": template.get("noun") or template["persons"][0][-2:],
                }
            )
    return sorted(found, key=lambda template: template["number"])


def study2(scenes: Sequence[_Row] = ()) -> pd.DataFrame:
    """Likelihood items, columns `SHARED`: all pairs x 3 contexts x 2 questions x 2 orders of
    mention.

    The ambiguous passage of a pair has four rows, whose mean over `mention` is taken before the
    questions are compared.

    Args:
        scenes: in place of `templates()`, as for all data sets of this module.

    Example:
        >>> items = study2()
        >>> len(items), items["pair_id"].nunique()
        (1200, 100)
        >>> one = items.query("context_condition == 'ambiguous' and pair_id == 'pj2-age01-1'")
        >>> one[["polarity", "mention"]].to_numpy().tolist()[:2]
        [['negative', 'target_first'], ['negative', 'other_first']]
    """
    rows = [row for template in scenes or templates() for row in _rows(template)]
    return pd.DataFrame(rows)[SHARED]


def study2_orders(scenes: Sequence[_Row] = ()) -> pd.DataFrame:
    """Chat items, columns `COLUMNS`, `SHARED` and base_id: 300 base items x 6 orders of options.

    Half of the pairs are taken, each in all contexts and questions and in one order of mention.

    Example:
        >>> items = study2_orders()
        >>> len(items), items["base_id"].nunique()
        (1800, 300)
        >>> items.loc[0, ["option_0", "option_1", "option_2", "order"]].tolist()
        ['七十代の男性', '二十代の男性', '判断できない', 'tnu']
    """
    rows = []
    for template in scenes or templates():
        if template["number"] % 2:
            continue
        mention = MENTIONS[template["number"] // 2 % 2]
        for row in _rows(template):
            if row["mention"] == mention:
                rows += [_with_options(row, order, "pj2o") for order in ORDERS]
    return _chat_frame(rows)


def study_version() -> str:
    """Name and version of the second edition, printed under every table computed from it.

    Example:
        >>> study_version()
        'katayori-bbq-study-2 v2'
    """
    read = [read_checked(SceneFile, paths.data_dir() / FOLDER / f"{c}.yaml") for c in CATEGORIES]
    return versions(read, "second edition")


def as_given() -> pd.DataFrame:
    """The items of the study, each in the one order of options that counts as given.

    All six items of a template share their order, so whoever follows a place alone has a Diff-bias
    of exactly 0 in each template, and a clear passage and its ambiguous version show the same
    options. Over the templates of a category both persons come first equally often, crossed with
    who is mentioned first, and "unknown" changes its place from template to template.

    Returns:
        columns of `study2_orders`; `rank` is 0 and `order_number` is 0.

    Example:
        >>> items = as_given()
        >>> len(items), items["base_id"].is_unique, items["template_id"].nunique()
        (300, True, 50)
        >>> items.drop_duplicates("template_id")["order"].value_counts().tolist()
        [9, 9, 8, 8, 8, 8]
    """
    every = study2_orders()
    order_of = {template["id"]: _order_given(template) for template in templates()}
    given = every[every["order"] == every["template_id"].map(order_of)]
    return given.assign(rank=0, order_number=0).reset_index(drop=True)


def _order_given(template: _Row) -> str:
    """The order of options that counts for a template; `number // 2` alternates the mention."""
    place, turn = list(CATEGORIES).index(template["category"]), template["number"] // 2
    unknown_at = (turn + place) % 3
    first, second = "tn" if (turn // 2 + place) % 2 == 0 else "nt"
    persons = iter((first, second))
    return "".join("u" if at == unknown_at else next(persons) for at in range(3))


def in_orders(items: pd.DataFrame) -> pd.DataFrame:
    """Items of `as_given` in all six orders of their options, next to each other.

    Returns:
        as `bbq.in_all_orders`, under the ids of `study2_orders`; `rank` is the order_number.

    Example:
        >>> six = in_orders(as_given().head(1))
        >>> six["order_number"].tolist(), set(six["item_id"]) <= set(study2_orders()["item_id"])
        ([0, 1, 2, 3, 4, 5], True)
    """
    six = in_all_orders(items)
    letters = {person: letter for letter, person in PERSONS.items()}
    places = [six[f"person_{place}"].map(letters) for place in range(3)]
    base = items["base_id"].repeat(len(ORDERS)).to_numpy()
    named = base + "-" + places[0] + places[1] + places[2]
    return six.assign(item_id=named, base_id=base, rank=six["order_number"])


def with_mentions_in_turn(items: pd.DataFrame) -> pd.DataFrame:
    """The items with ranks by which templates are taken: both orders of mention in every few.

    The mention alternates over the templates of a category; in every second category the turn
    begins with the other one, so that also an odd number of templates a category is balanced.

    Example:
        >>> taken = with_mentions_in_turn(as_given()).query("rank < 5")
        >>> taken.drop_duplicates("template_id")["mention"].value_counts().to_dict()
        {'target_first': 13, 'other_first': 12}
    """
    single = items.drop_duplicates("template_id")
    turn = single.groupby("category", sort=False).cumcount()
    odd = pd.Series(single["category"].factorize()[0] % 2, single.index)
    rank = dict(zip(single["template_id"], turn ^ odd, strict=True))
    return items.assign(rank=items["template_id"].map(rank))


def study2_controls(scenes: Sequence[_Row] = ()) -> pd.DataFrame:
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
    rows: list[_Row] = []
    odd = [template for template in scenes or templates() if template["number"] % 2]
    for place, template in enumerate(odd):
        rows += _unrelated(template)
        rows += _no_passage(template)
        rows += _meaningless(template, place, "meaningless", "pj2c-meaningless")
    return pd.DataFrame(rows)[[*SHARED, "control"]]


def study2_blank(scenes: Sequence[_Row] = ()) -> pd.DataFrame:
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
    rows = []
    some = [template for template in scenes or templates() if template["number"] % 4 < 3]
    for place, template in enumerate(some):
        for n, row in enumerate(_meaningless(template, place, "blank", "pj2b")):
            # Four items a pair: the turn keeps each of the four from having three orders only.
            order = ORDERS[(place * 4 + place // 3 + n) % len(ORDERS)]
            rows.append(_with_options(row, order, "pj2b"))
    return _chat_frame(rows)


#: Data sets by name.
DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "study2": study2,
    "study2_orders": study2_orders,
    "study2_controls": study2_controls,
    "study2_blank": study2_blank,
}


def _rows(template: _Row) -> Iterator[_Row]:
    """All twelve items of a template."""
    for condition, polarity, mention in itertools.product(CONTEXTS, POLARITIES, MENTIONS):
        yield _row(template, condition, polarity, mention)


def _row(template: _Row, condition: str, polarity: str, mention: str) -> _Row:
    """One item; `persons` of the template are target and other."""
    target, other = template["persons"]
    named = [target, other] if mention == "target_first" else [other, target]
    scene = template["context"].replace("{first}", named[0]).replace("{second}", named[1])
    return {
        "item_id": f"{template['id']}-{condition}-{polarity}-{mention}",
        "category": template["category"],
        "template_id": template["id"],
        "pair_id": f"{template['id']}-1",
        "context_condition": condition,
        "polarity": polarity,
        "mention": mention,
        "context": scene + _added(template, condition, named),
        "question": template[polarity],
        "target_words": target,
        "other_words": other,
        "unknown_words": template["unknown_words"],
        "answer_person": _answer(condition, polarity),
        "language": "ja",
    }


def _added(template: _Row, condition: str, named: list[str]) -> str:
    """The two sentences that make the answer clear, told in the order of mention."""
    if condition == "ambiguous":
        return ""
    target, other = template["persons"]
    guilty = target if condition == "biased" else other
    told = []
    for words in named:
        fact = template["negative_fact" if words == guilty else "positive_fact"]
        told.append(fact.replace("{person}", words))
    return template["contrast"].join(told)


def _answer(condition: str, polarity: str) -> str:
    """Which person is the answer: in a biased passage, the target did the negative act."""
    if condition == "ambiguous":
        return "unknown"
    same = (condition == "biased") == (polarity == "negative")
    return "target" if same else "non_target"


def _ambiguous(template: _Row) -> Iterator[_Row]:
    """The four items of a template's ambiguous passage."""
    for polarity, mention in itertools.product(POLARITIES, MENTIONS):
        yield _row(template, "ambiguous", polarity, mention)


def _controls() -> dict[str, Any]:
    return read_checked(Controls, paths.data_dir() / FOLDER / "controls.yaml")


def _unrelated(template: _Row) -> Iterator[_Row]:
    """Passage and persons as they are, with questions that have nothing to do with them."""
    pairs = _controls()["unrelated"]
    block, place = divmod(template["number"] // 2, len(pairs))
    questions = pairs[place]
    if block % 2:
        questions = questions[::-1]  # neither question is always the "negative" one
    for row in _ambiguous(template):
        ident = f"pj2c-unrelated-{row['item_id'].removeprefix('pj2-')}"
        question = questions[POLARITIES.index(row["polarity"])]
        yield row | {"item_id": ident, "question": question, "control": "unrelated"}


def _no_passage(template: _Row) -> Iterator[_Row]:
    """The questions alone; the persons are named in the question, else nobody could be meant."""
    texts = _controls()
    for row in _ambiguous(template):
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


def _meaningless(template: _Row, place: int, control: str, prefix: str) -> Iterator[_Row]:
    """Scene and questions as they are, with persons told apart by a trait that means nothing."""
    traits = _controls()["meaningless"]
    turn, which = divmod(place, len(traits))
    pair = list(traits[which])
    if turn % 2:
        pair.reverse()  # neither trait always stands for the target
    persons = [trait + template["noun"] for trait in pair]
    for row in _ambiguous(template | {"persons": persons}):
        ident = f"{prefix}-{row['item_id'].removeprefix('pj2-')}"
        yield row | {"item_id": ident, "control": control}


def _with_options(row: _Row, order: str, prefix: str) -> _Row:
    """The item with three options in that order, as `bbq.COLUMNS` names them."""
    words = {"t": row["target_words"], "n": row["other_words"], "u": row["unknown_words"]}
    persons = [PERSONS[letter] for letter in order]
    base = f"{prefix}-{row['item_id'].removeprefix(f'{prefix}-').removeprefix('pj2-')}"
    filled = row | {
        "item_id": f"{base}-{order}",
        "base_id": base,
        "label": persons.index(row["answer_person"]),
        "order": order,
        "rank": ORDERS.index(order),
    }
    for place, letter in enumerate(order):
        filled[f"option_{place}"] = words[letter]
        filled[f"person_{place}"] = persons[place]
        filled[f"role_{place}"] = role(persons[place], row["polarity"])
    return filled


def _chat_frame(rows: list[_Row]) -> pd.DataFrame:
    """Columns of the first edition, then what is new."""
    new = [column for column in SHARED if column not in COLUMNS]
    return pd.DataFrame(rows)[[*COLUMNS, *new, "base_id"]]

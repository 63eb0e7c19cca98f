"""Items of the discrim-eval paper: yes/no decisions crossed with age, gender and race (DE-1 to
DE-5).

Two data sets share one schema: the official explicit subset (downloaded by the user's machine) and
our study set of 70 decision questions, filled by code. A user's own questions are one more file of
the study set's shape.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data import catalogue
from katayori.data.files import json_lines, read_checked, versions
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers.discrim_eval.schema import QuestionFile

AGES = tuple(range(20, 101, 10))
GENDERS = ("male", "female", "non-binary")
RACES = ("white", "Black", "Hispanic", "Native American", "Asian")
#: Question ids the paper discusses one by one: enlistment, mortgage, property deed.
DISCUSSED = (19, 29, 89)
ATTRIBUTES = {"age": AGES, "gender": GENDERS, "race": RACES}
COLUMNS = ["item_id", "filled_template", "decision_question_id", "age", "gender", "race"]

_NOUN = {"male": "man", "female": "woman", "non-binary": "non-binary person"}
#: Words of a slot by gender; `non-binary` are the names of the slots, too.
_PRONOUNS = {
    "male": ("he", "him", "his", "his", "himself"),
    "female": ("she", "her", "her", "hers", "herself"),
    "non-binary": ("they", "them", "their", "theirs", "themself"),
}
_SLOT = re.compile(r"\{([^{}]*)\}")
STUDY_FILE = "study/discrim_eval/questions.yaml"


def item_id(question_id: int, age: int, gender: str, race: str) -> str:
    """The id of one filled question; the same rule for every data set.

    Example:
        >>> item_id(29, 20, "male", "Native American")
        'q029-020-male-native_american'
    """
    return f"q{question_id:03d}-{age:03d}-{gender}-{race}".replace(" ", "_").lower()


def fill(template: str, age: int, gender: str, race: str) -> str:
    """Fill the slots of one decision question.

    Slots: `{person}`, `{a_person}`, `{A_person}`; the pronouns `{they}` `{them}` `{their}`
    `{theirs}` `{themself}`, capitalised or not; `{singular|plural}` verb forms that agree with
    `{they}`.

    Raises KatayoriError for a slot outside this list.

    Example:
        >>> fill("{A_person} says {they} {is|are} late.", 80, "non-binary", "Asian")
        'An 80-year-old Asian non-binary person says they are late.'
    """
    person = f"{age}-year-old {race} {_NOUN[gender]}"
    article = "an" if str(age).startswith("8") or age in (11, 18) else "a"
    words = {
        "person": person,
        "a_person": f"{article} {person}",
        "A_person": f"{article.capitalize()} {person}",
    }
    for slot, word in zip(_PRONOUNS["non-binary"], _PRONOUNS[gender], strict=True):
        words[slot] = word
        words[slot.capitalize()] = word.capitalize()

    def replace(match: re.Match) -> str:
        slot = match.group(1)
        if "|" in slot:
            singular, plural = slot.split("|", 1)
            return plural if gender == "non-binary" else singular
        if slot not in words:
            raise KatayoriError(
                f"unknown slot {{{slot}}} in a question; slots are {', '.join(sorted(words))}"
            )
        return words[slot]

    return _SLOT.sub(replace, template)


def _questions(path: str | Path) -> dict[str, Any]:
    """The content of a question file, ours for an empty path, with every question checked."""
    path = Path(path) if path else paths.data_dir() / STUDY_FILE
    document = read_checked(QuestionFile, path, "question file")
    seen: set[int] = set()
    for question in document["questions"]:
        if problem := _problem(question, seen):
            raise KatayoriError(f"{path.name}: question {problem}")
        seen.add(question["id"])
    return document


def _problem(question: dict[str, Any], seen: set[int]) -> str:
    number, template = question["id"], question["template"]
    if number in seen:
        return f"id {number!r} appears twice"
    if not {"person", "a_person", "A_person"} & set(_SLOT.findall(template)):
        return f"{number} names nobody; use {{a_person}} or {{person}}"
    try:
        filled = fill(template, 20, "female", "white")
    except KatayoriError as e:
        return f"{number}: {e}"
    return f"{number} has an unclosed or nested {{slot}}" if {"{", "}"} & set(filled) else ""


def load_questions(path: str | Path = "") -> pd.DataFrame:
    """The decision questions of a file, one row each: id, label, domain, counterpart_of, template
    (DE-3).

    `counterpart_of` is the upstream question id our question stands in for, NA elsewhere. An empty
    path means our study set. Raises KatayoriError naming the file, the question and what is wrong
    with it.

    Example:
        >>> questions = load_questions()
        >>> len(questions), questions["domain"].nunique()
        (70, 16)
        >>> questions[["id", "label", "counterpart_of"]].to_dict("records")[0]
        {'id': 101, 'label': 'finance: approving a mortgage', 'counterpart_of': 29}
    """
    columns = ["id", "label", "domain", "counterpart_of", "template"]
    questions = pd.DataFrame(_questions(path)["questions"]).reindex(columns=columns)
    return questions.astype({"counterpart_of": "Int64"})


def study_version(path: str | Path = "") -> str:
    """Name and version of a question file, printed under every table computed from it.

    Example:
        >>> study_version()
        'katayori-discrim-study v1'
    """
    return versions([_questions(path)], "user questions")


def load_study(path: str | Path = "") -> pd.DataFrame:
    """The filled cross of a question file: 135 items a question, 9,450 for ours (DE-2, DE-5).

    Returns a frame with columns `COLUMNS` plus label, counterpart_of (the upstream question that
    ours stands in for, NA elsewhere) and cell (the places of the person's levels, such as "1-2-1"),
    ordered by question, age, gender, race.
    Raises KatayoriError as `load_questions`.

    Example:
        >>> study = load_study()
        >>> len(study), study["decision_question_id"].nunique()
        (9450, 70)
        >>> study.loc[0, "filled_template"].split(" has ")[0]
        'A 20-year-old white man'
    """
    rows = []
    for question in _questions(path)["questions"]:
        number, template = question["id"], question["template"]
        for age, gender, race in itertools.product(AGES, GENDERS, RACES):
            text = fill(template, age, gender, race)
            cell = (number, age, gender, race)
            more = (question["label"], question.get("counterpart_of"))
            rows.append((item_id(*cell), text, *cell, *more))
    items = pd.DataFrame(rows, columns=[*COLUMNS, "label", "counterpart_of"])
    return items.astype({"counterpart_of": "Int64"}).assign(cell=_cells(items))


def _cells(items: pd.DataFrame) -> pd.Series:
    """The places of each person's levels, from 1: "1-2-1" of age, gender, race."""
    place = {
        name: {level: str(number) for number, level in enumerate(levels, 1)}
        for name, levels in ATTRIBUTES.items()
    }
    cells = [
        "-".join(place[name][level] for name, level in zip(ATTRIBUTES, person, strict=True))
        for person in items[list(ATTRIBUTES)].itertuples(index=False)
    ]
    return pd.Series(cells, items.index, dtype=object)


def load_official(path: str | Path, *, partial: bool = False) -> pd.DataFrame:
    """The official explicit subset from a JSON-lines file, validated (DE-1 to DE-3).

    Ages may be floats and races in any case, as upstream writes them. With `partial` a file that
    lacks part of the cross loads; `missing_cells` says what is absent. Raises KatayoriError for a
    truncated line, an unknown group, a duplicated cell, or (without `partial`) an incomplete cross.

    Example:
        >>> import tempfile
        >>> from katayori.papers.discrim_eval.examples import official_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     items = load_official(official_file(folder), partial=True)
        >>> items[["age", "race"]].to_dict("records")[0]  # 20.0, "native american" in the file
        {'age': 20, 'race': 'Native American'}
    """
    path, rows = Path(path), []
    for n, raw in enumerate(json_lines(path, "official file"), 1):
        try:
            rows.append(_official(raw))
        except (ValueError, KeyError, TypeError) as e:
            raise KatayoriError(f"{path.name} row {n}: {type(e).__name__} {e}") from None
        except KatayoriError as e:
            raise KatayoriError(f"{path.name} row {n}: {e}") from None
    items = pd.DataFrame(rows, columns=COLUMNS)
    ids = items["decision_question_id"]
    items["label"] = "question " + ids.astype(str)
    items["counterpart_of"] = ids.where(ids.isin(DISCUSSED)).astype("Int64")
    items["cell"] = _cells(items)
    duplicated = items.loc[items["item_id"].duplicated(), "item_id"]
    if len(duplicated):
        raise KatayoriError(
            f"{path.name}: {len(duplicated)} duplicated cells, e.g. {duplicated.iloc[0]}"
        )
    absent = missing_cells(items)
    if absent["n_missing"] and not partial:
        raise KatayoriError(
            f"{path.name}: {len(items)} of {absent['n_expected']} cells;"
            f" {absent['n_missing']} are missing"
            " (load with partial=True to work with what is there)"
        )
    return items


def _official(raw: dict[str, Any]) -> tuple[Any, ...]:
    """An upstream row in the order of `COLUMNS`. KatayoriError for a group that is none of ours."""
    levels = {level.lower(): level for level in (*GENDERS, *RACES)}
    text = raw["filled_template"]
    question, age = int(raw["decision_question_id"]), float(raw["age"])
    gender, race = levels.get(str(raw["gender"]).lower()), levels.get(str(raw["race"]).lower())
    if age not in AGES or gender not in GENDERS or race not in RACES:
        shown = " ".join(f"{name}={raw[name]}" for name in ATTRIBUTES)
        raise KatayoriError(f"unknown group {shown}")
    cell = (question, int(age), gender, race)
    return (item_id(*cell), text, *cell)


def load_items(items: str, questions: str | Path = "") -> tuple[pd.DataFrame, str]:
    """Items of a profile and the data set's name with its version: `study` (ours, or the user's
    file) or `official`.

    The official set is the whole file where it is at hand, else the 70 upstream rows of a mirror.
    Raises UnavailableError where neither is on this machine.

    Example:
        >>> items, name = load_items("study")
        >>> len(items), name
        (9450, 'katayori-discrim-study v1')
    """
    if items == "study":
        return load_study(questions), study_version(questions)
    try:
        return load_official(catalogue.fetch("discrim_eval")), "discrim-eval explicit"
    except UnavailableError:
        sample = catalogue.fetch("discrim_eval_sample")
        return load_official(sample, partial=True), "discrim-eval, 70 upstream rows"


def question_catalogue(items: pd.DataFrame, questions: str | Path | None = None) -> pd.DataFrame:
    """One row a question of `items`: decision_question_id, label, domain, counterpart_of, prompts
    (how many).

    `questions`: the file the items were filled from ("" = ours). None = the upstream set, which
    carries no labels: a question's label is then its number, and the questions the paper discusses
    stand for themselves.

    Example:
        >>> listed = question_catalogue(load_study(), "")
        >>> listed[["decision_question_id", "label", "prompts"]].to_dict("records")[0]
        {'decision_question_id': 101, 'label': 'finance: approving a mortgage', 'prompts': 135}
        >>> question_catalogue(load_study())["label"].iloc[0]
        'question 101'
    """
    by_question = items.groupby("decision_question_id", sort=False)
    out = by_question.agg(prompts=("item_id", "size")).reset_index()
    if questions is None:
        ids = out["decision_question_id"]
        return out.assign(
            label="question " + ids.astype(str),
            domain=None,
            counterpart_of=ids.where(ids.isin(DISCUSSED)).astype("Int64"),
        )
    listed = load_questions(questions).drop(columns="template")
    return out.merge(
        listed.rename(columns={"id": "decision_question_id"}), on="decision_question_id"
    )


def missing_cells(items: pd.DataFrame) -> dict[str, Any]:
    """What a partial cross lacks: expected and missing cells, and the levels of each attribute that
    are absent.

    A file of fewer than 70 questions is judged against the 70 x 135 cells of the official set, a
    larger one against the cross of its own questions.

    Returns n_expected and n_missing (numbers of cells), and absent_levels (attribute -> its levels
    that no item has).

    Example:
        >>> study = load_study()
        >>> found = missing_cells(study[study["age"] < 90])
        >>> found["n_missing"], found["absent_levels"]
        (2100, {'age': [90, 100], 'gender': [], 'race': []})
    """
    n_questions = max(70, items["decision_question_id"].nunique())
    n_expected = n_questions * len(AGES) * len(GENDERS) * len(RACES)
    absent = {}
    for name, levels in ATTRIBUTES.items():
        present = set(items[name])
        absent[name] = [level for level in levels if level not in present]
    return {"n_expected": n_expected, "n_missing": n_expected - len(items), "absent_levels": absent}

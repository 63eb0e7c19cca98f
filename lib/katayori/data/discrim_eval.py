"""Items of the discrim-eval paper: yes/no decisions crossed with age, gender and race (DE-1 to DE-5).

Two data sets share one schema: the official explicit subset (downloaded by the user's machine) and our study set of
70 decision questions, filled by code. A user's own questions are one more file of the study set's shape.
"""

import itertools
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError

if TYPE_CHECKING:
    import pandas as pd

AGES = tuple(range(20, 101, 10))
GENDERS = ("male", "female", "non-binary")
RACES = ("white", "Black", "Hispanic", "Native American", "Asian")
ATTRIBUTES = {"age": AGES, "gender": GENDERS, "race": RACES}
COLUMNS = ["item_id", "filled_template", "decision_question_id", "age", "gender", "race"]

_NOUN = {"male": "man", "female": "woman", "non-binary": "non-binary person"}
_PRONOUNS = {
    "male": ("he", "him", "his", "his", "himself"),
    "female": ("she", "her", "her", "hers", "herself"),
    "non-binary": ("they", "them", "their", "theirs", "themself"),
}
_PRONOUN_SLOTS = ("they", "them", "their", "theirs", "themself")
_SLOT = re.compile(r"\{([^{}]*)\}")
STUDY_FILE = "study/discrim_eval/questions.yaml"


def item_id(question_id: int, age: int, gender: str, race: str) -> str:
    """The id of one filled question, e.g. `q129-020-male-native_american`; the same rule for every data set."""
    return f"q{question_id:03d}-{age:03d}-{gender}-{race}".replace(" ", "_").lower()


def fill(template: str, age: int, gender: str, race: str) -> str:
    """Fill the slots of one decision question.

    Slots: `{person}`, `{a_person}`, `{A_person}`; the pronouns `{they}` `{them}` `{their}` `{theirs}` `{themself}`,
    capitalised or not; `{singular|plural}` verb forms that agree with `{they}`.

    Raises KatayoriError for a slot outside this list.
    """
    person = f"{age}-year-old {race} {_NOUN[gender]}"
    article = "an" if str(age).startswith("8") or age in (11, 18) else "a"
    words = {"person": person, "a_person": f"{article} {person}", "A_person": f"{article.capitalize()} {person}"}
    for slot, word in zip(_PRONOUN_SLOTS, _PRONOUNS[gender], strict=True):
        words |= {slot: word, slot.capitalize(): word.capitalize()}

    def replace(match: re.Match) -> str:
        slot = match.group(1)
        if "|" in slot:
            singular, plural = slot.split("|", 1)
            return plural if gender == "non-binary" else singular
        if slot not in words:
            raise KatayoriError(f"unknown slot {{{slot}}} in a question; slots are {', '.join(sorted(words))}")
        return words[slot]

    return _SLOT.sub(replace, template)


def _read_questions(path: Path) -> dict[str, Any]:
    try:
        return _checked(path.name, path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise KatayoriError(f"question file not found: {path.name}") from None
    except UnicodeDecodeError as e:
        raise KatayoriError(f"{path.name} is not UTF-8 (byte {e.start})") from None


@cache
def _checked(name: str, text: str) -> dict[str, Any]:
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as e:
        raise KatayoriError(f"{name} is not readable YAML: {' '.join(str(e).split())}") from None
    questions = document.get("questions") if isinstance(document, dict) else None
    if not isinstance(questions, list) or not questions:
        raise KatayoriError(f"{name} needs a list named 'questions', each with id, label and template")
    seen: set[int] = set()
    for n, question in enumerate(questions, 1):
        missing = [k for k in ("id", "label", "template") if not (isinstance(question, dict) and question.get(k))]
        if missing:
            raise KatayoriError(f"{name}: question number {n} lacks {', '.join(missing)}")
        if not isinstance(question["id"], int) or question["id"] in seen:
            raise KatayoriError(f"{name}: question id {question['id']!r} is not a whole number or appears twice")
        seen.add(question["id"])
        if not isinstance(question["template"], str):
            raise KatayoriError(f"{name}: the template of question {question['id']} is not a text")
        slots = set(_SLOT.findall(question["template"]))
        if not slots & {"person", "a_person", "A_person"}:
            raise KatayoriError(f"{name}: question {question['id']} names nobody; use {{a_person}} or {{person}}")
        try:
            filled = fill(question["template"], 20, "female", "white")
        except KatayoriError as e:
            raise KatayoriError(f"{name}: question {question['id']}: {e}") from None
        if {"{", "}"} & set(filled):
            raise KatayoriError(f"{name}: question {question['id']} has an unclosed or nested {{slot}}")
    return document


def load_questions(path: str | Path = "") -> "pd.DataFrame":
    """The decision questions of a file, one row each: id, label, domain, counterpart_of, template (DE-3).

    `counterpart_of` is the upstream question id our question stands in for, NA elsewhere. An empty path means our
    study set. Raises KatayoriError naming the file, the question and what is wrong with it.
    """
    import pandas as pd

    document = _read_questions(Path(path) if path else paths.data_dir() / STUDY_FILE)
    frame = pd.DataFrame(document["questions"]).reindex(columns=["id", "label", "domain", "counterpart_of", "template"])
    frame["counterpart_of"] = frame["counterpart_of"].astype("Int64")
    return frame


def study_version(path: str | Path = "") -> str:
    """Name and version of a question file, printed under every table computed from it."""
    document = _read_questions(Path(path) if path else paths.data_dir() / STUDY_FILE)
    return f"{document.get('dataset', 'user questions')} v{document.get('version', '?')}"


def load_study(path: str | Path = "") -> "pd.DataFrame":
    """The filled cross of a question file: 135 items a question, 9,450 for ours (DE-2, DE-5).

    Returns a frame with columns `COLUMNS` plus label, ordered by question, age, gender, race.
    """
    import pandas as pd

    rows = []
    for question in load_questions(path).itertuples():
        for age, gender, race in itertools.product(AGES, GENDERS, RACES):
            text = fill(question.template, age, gender, race)
            rows.append((item_id(question.id, age, gender, race), text, question.id, age, gender, race, question.label))
    return pd.DataFrame(rows, columns=[*COLUMNS, "label"])


def load_official(path: str | Path, *, partial: bool = False) -> "pd.DataFrame":
    """The official explicit subset from a JSON-lines file, validated (DE-1 to DE-3).

    Ages may be floats and races in any case, as upstream writes them. With `partial` a file that lacks part of the
    cross loads; `missing_cells` says what is absent. Raises KatayoriError for a truncated line, an unknown
    group, a duplicated cell, or (without `partial`) an incomplete cross.
    """
    import pandas as pd

    path, rows = Path(path), []
    canonical = {level.lower(): level for level in (*GENDERS, *RACES)}
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, UnicodeDecodeError) as e:
        raise KatayoriError(f"{path.name} cannot be read: {type(e).__name__}; it must be a JSON-lines file") from None
    for n, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            text, question, age = raw["filled_template"], int(raw["decision_question_id"]), float(raw["age"])
            gender, race = canonical.get(str(raw["gender"]).lower()), canonical.get(str(raw["race"]).lower())
        except (ValueError, KeyError, TypeError) as e:
            raise KatayoriError(f"{path.name} line {n}: {type(e).__name__} {e}; is the file cut off?") from None
        if age not in AGES or gender not in GENDERS or race not in RACES:
            raise KatayoriError(
                f"{path.name} line {n}: unknown group age={raw['age']} gender={raw['gender']} race={raw['race']}"
            )
        rows.append((item_id(question, int(age), gender, race), text, question, int(age), gender, race))
    items = pd.DataFrame(rows, columns=COLUMNS)
    duplicated = items.loc[items["item_id"].duplicated(), "item_id"]
    if len(duplicated):
        raise KatayoriError(f"{path.name}: {len(duplicated)} duplicated cells, e.g. {duplicated.iloc[0]}")
    absent = missing_cells(items)
    if absent["n_missing"] and not partial:
        raise KatayoriError(
            f"{path.name}: {len(items)} of {absent['n_expected']} cells; "
            f"{absent['n_missing']} are missing (load with partial=True to work with what is there)"
        )
    return items


def load_items(items: str, questions: str | Path = "") -> tuple["pd.DataFrame", str]:
    """Items of a profile and the data set's name with its version: `study` (ours, or the user's file) or `official`.

    The official set is the whole file where it is at hand, else the 70 upstream rows of a mirror.
    Raises UnavailableError where neither is on this machine.
    """
    from katayori.data import catalogue

    if items == "study":
        return load_study(questions), study_version(questions)
    try:
        return load_official(catalogue.fetch("discrim_eval")), "discrim-eval explicit"
    except UnavailableError:
        return load_official(catalogue.fetch("discrim_eval_sample"), partial=True), "discrim-eval, 70 upstream rows"


def missing_cells(items: "pd.DataFrame") -> dict[str, Any]:
    """What a partial cross lacks: expected and missing cells, and the levels of each attribute that are absent.

    70 questions are expected of the official set; the cross of a smaller file is judged against at least 70.
    """
    n_expected = max(70, items["decision_question_id"].nunique()) * len(AGES) * len(GENDERS) * len(RACES)
    absent = {k: [v for v in levels if v not in set(items[k])] for k, levels in ATTRIBUTES.items()}
    return {"n_expected": n_expected, "n_missing": n_expected - len(items), "absent_levels": absent}

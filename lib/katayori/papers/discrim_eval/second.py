"""Second edition of discrim-eval: blanks, a pronoun-free wording, and parts of the study set.

`blank` and `blank_sets` ask the study questions about persons told apart by notes that mean
nothing.
How far answers move there is the yardstick for how far age, gender and race move them.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data import files
from katayori.errors import KatayoriError
from katayori.papers.discrim_eval import items as discrim_eval
from katayori.papers.discrim_eval.schema import BlankFile, PlainFile

BLANK_FILE = "study/discrim_eval_2/blank.yaml"
PLAIN_FILE = "study/discrim_eval_2/plain.yaml"
#: Which column of a blank stands where which attribute of the study set stands.
FACTORS = {"age": "factor_9", "gender": "factor_3", "race": "factor_5"}

_LEVELS = ("nine", "three", "five")
_SLOT = re.compile(r"\{([^{}]*)\}")


def is_in_third(question: int, cell: tuple[int, ...]) -> bool:
    """Whether a cell is in the balanced third of its question.

    Args:
        question: place of the question in the file, from 0.
        cell: places of the levels of the factors of nine, three and five levels, from 0.

    45 of 135 cells are. In each question a level of nine stands 5 times, of three 15 and of five
    9; each pair of nine and five once, of three and five 3 times, of nine and three once or twice.
    Which cells they are turns with the question, so that three questions in a row use all cells.

    Example:
        >>> [is_in_third(0, (0, gender, 0)) for gender in range(3)]
        [True, False, False]
    """
    nine, three, five = cell
    turn = question % 3
    slope = 1 + question // 3 % 2
    return (nine + slope * five + turn) % 3 == three


def _cells(*levels: Any) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """Each cell of a cross: the places of its levels, and the levels."""
    places = itertools.product(*(range(len(of)) for of in levels))
    return zip(places, itertools.product(*levels), strict=True)


def _plain() -> PlainFile:
    return files.read_as(PlainFile, paths.data_dir() / PLAIN_FILE)


def blank_sets() -> list[dict[str, Any]]:
    """The sets of meaningless notes: id, phrase, names, and the levels under nine, three, five.

    The first is the one asked with all questions.

    Example:
        >>> sets = blank_sets()
        >>> len(sets), sets[0]["phrase"]
        (10, 'file number ending in {nine}, kept in Room {three}, opened on a {five}')
        >>> sets[0]["three"]
        ['21', '22', '23']
    """
    return files.read_checked(BlankFile, paths.data_dir() / BLANK_FILE)["sets"]


def fill_blank(template: str, note: str) -> str:
    """A study template about "a person (note)", with the pronoun they throughout.

    Example:
        >>> fill_blank("{A_person} has come. {They} {is|are} late.", "Room 21")
        'A person (Room 21) has come. They are late.'
    """
    return _fill(template, f"person ({note})", _THEY, plural=True)


def fill_plain(template: str, age: int, gender: str, race: str) -> str:
    """A study template that says "the person" again where a pronoun stood.

    Example:
        >>> fill_plain("{A_person} waits. {They} {is|are} late.", 20, "female", "white")
        'A 20-year-old white woman waits. The person is late.'
    """
    person = discrim_eval.fill("{person}", age, gender, race)
    return _fill(template, person, _plain().words, plural=False)


_THEY = {word: word for word in ("they", "them", "their", "theirs", "themself")}


def _fill(template: str, person: str, pronouns: dict[str, str], *, plural: bool) -> str:
    article = "an" if person.startswith("8") else "a"
    words = {"person": person, "a_person": f"{article} {person}"}
    words["A_person"] = f"{article.capitalize()} {person}"
    for slot, word in pronouns.items():
        words[slot] = word
        words[slot.capitalize()] = word[0].upper() + word[1:]

    def replace(match: re.Match[str]) -> str:
        slot = match.group(1)
        if "|" not in slot:
            return words[slot]
        singular, many = slot.split("|", 1)
        return many if plural else singular

    return _SLOT.sub(replace, template)


def twenty_questions() -> list[int]:
    """Ids of 20 questions: the first of each of the 16 domains, the second of the first 4 largest.

    The counterparts of the paper's three discussed questions are among them.

    Example:
        >>> questions = twenty_questions()
        >>> len(questions), questions[:4], {101, 130, 131} <= set(questions)
        (20, [101, 102, 107, 108], True)
    """
    by_domain = discrim_eval.load_questions().groupby("domain", sort=False)["id"].apply(list)
    largest = by_domain.map(len).sort_values(ascending=False, kind="stable").index[:4]
    firsts = [ids[0] for ids in by_domain]
    seconds = [by_domain[domain][1] for domain in largest]
    return sorted(firsts + seconds)


def _blank_cells(note: dict[str, Any], question: Any) -> Iterator[tuple[tuple[int, ...], dict]]:
    """All 135 cells of one question with one set of notes: places of the levels, and the item."""
    for cell, levels in _cells(*(note[size] for size in _LEVELS)):
        by_size = dict(zip(_LEVELS, levels, strict=True))
        text = fill_blank(question.template, note["phrase"].format(**by_size))
        cell_id = "-".join(str(place + 1) for place in cell)
        columns = dict(zip(FACTORS.values(), levels, strict=True))
        yield (
            cell,
            {
                "item_id": f"de2-{note['id']}-q{question.id}-{cell_id}",
                "filled_template": text,
                "question": text,
                "decision_question_id": question.id,
                **columns,
                "label": question.label,
                "cell": cell_id,
            },
        )


def load_blank() -> pd.DataFrame:
    """The study questions with notes that mean nothing: 70 x 9 x 3 x 5 = 9,450 items.

    Columns: item_id, filled_template, question (the same text, the prompt's place),
    decision_question_id, factor_9, factor_3, factor_5 (see `FACTORS`), label, cell (the places of
    their levels), and the three factors again under the names the file gives them: file_digit,
    room, weekday.

    Example:
        >>> blank = load_blank()
        >>> len(blank), blank["question"].iloc[0].split(" has ")[0]
        (9450, 'A person (file number ending in 1, kept in Room 21, opened on a Monday)')
    """
    note = blank_sets()[0]
    rows = [
        row
        for question in discrim_eval.load_questions().itertuples()
        for _, row in _blank_cells(note, question)
    ]
    out = pd.DataFrame(rows)
    for size, column in zip(_LEVELS, FACTORS.values(), strict=True):
        out[note["names"][size]] = out[column]
    return out


def load_blank_sets() -> pd.DataFrame:
    """Nine more sets of notes on 20 questions: 9 x 20 x 45 of 135 cells = 8,100 items.

    Columns as `load_blank` without the named factors, and `blank_set`. The cells are those that
    `third` has of the same questions, so a set can be laid beside the study items cell by cell.

    Example:
        >>> sets = load_blank_sets()
        >>> sets["blank_set"].nunique(), sets["decision_question_id"].nunique(), len(sets)
        (9, 20, 8100)
        >>> sets["question"].iloc[0].split(" has ")[0]
        'A person (papers on shelf H, blue label, printed from tray 1)'
    """
    questions = discrim_eval.load_questions()
    asked = set(twenty_questions())
    rows = [
        row | {"blank_set": note["id"]}
        for note in blank_sets()[1:]
        for n, question in enumerate(questions.itertuples())
        if question.id in asked
        for cell, row in _blank_cells(note, question)
        if is_in_third(n, cell)
    ]
    return pd.DataFrame(rows)


def load_third() -> pd.DataFrame:
    """A balanced third of the study items, 70 x 45 = 3,150, as they are: ids and texts of the
    study.

    Columns as `items.load_study`, and question (the same text as filled_template, the prompt's
    place).

    Example:
        >>> third = load_third()
        >>> len(third), third.groupby("decision_question_id").size().unique().tolist()
        (3150, [45])
        >>> third["race"].value_counts().unique().tolist()  # each race as often as every other
        [630]
    """
    study = _study()
    sizes = [len(levels) for levels in discrim_eval.ATTRIBUTES.values()]
    cells = list(itertools.product(*(range(size) for size in sizes)))
    kept = [is_in_third(n // len(cells), cells[n % len(cells)]) for n in range(len(study))]
    return study[kept].reset_index(drop=True)


def load_twenty() -> pd.DataFrame:
    """The study items of 20 questions, 20 x 135 = 2,700, as they are, to be asked repeatedly.

    Columns as `load_third`. The ids are the study's: repetition 0 is the study recording.

    Example:
        >>> twenty = load_twenty()
        >>> len(twenty), twenty["item_id"].iloc[0]
        (2700, 'q101-020-male-white')
    """
    study = _study()
    return study[study["decision_question_id"].isin(twenty_questions())].reset_index(drop=True)


def load_plain() -> pd.DataFrame:
    """The items of `third` in a wording without pronouns; columns the same, own ids.

    Example:
        >>> plain = load_plain()
        >>> plain["item_id"].iloc[0], plain["question"].iloc[0].split(". ")[1][:18]
        ('de2-plain-q101-020-male-white', 'The person has put')
        >>> load_third()["question"].iloc[0].split(". ")[1][:18]
        'He has put aside a'
    """
    templates = _plain_templates()
    out = load_third()
    out["item_id"] = "de2-plain-" + out["item_id"]
    attributes = zip(out["age"], out["gender"], out["race"], strict=True)
    out["filled_template"] = [
        fill_plain(templates[number], age, gender, race)
        for number, (age, gender, race) in zip(out["decision_question_id"], attributes, strict=True)
    ]
    return out.assign(question=out["filled_template"])


def _study() -> pd.DataFrame:
    study = discrim_eval.load_study()
    return study.assign(question=study["filled_template"])


def _plain_templates() -> dict[int, str]:
    """The study templates by question id, with the parts changed that the rule cannot turn."""
    questions = discrim_eval.load_questions()
    out: dict[int, str] = dict(zip(questions["id"], questions["template"], strict=True))
    for number, (old, new) in _plain().changes.items():
        if old not in out[number]:
            raise KatayoriError(f"plain.yaml: question {number} does not say {old!r}")
        out[number] = out[number].replace(old, new)
    return out


DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "blank": load_blank,
    "blank_sets": load_blank_sets,
    "plain": load_plain,
    "third": load_third,
    "twenty": load_twenty,
}

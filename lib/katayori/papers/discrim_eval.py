"""Yes/no decisions about persons of several ages, genders and races (notebook 01).

Two data sets share one form: the official explicit subset, which the user's machine downloads, and
our study set of 70 decision questions, filled by code. A user's own questions are one more file of
the study set's form. Beside the study stand sets that were recorded for comparison: `blank` and
`blank_sets` ask about persons told apart by notes that mean nothing (a control wording), `plain`
has no pronouns, `third` and `twenty` are parts of the study set.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

from katayori import paths
from katayori.data import files
from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.papers.paper import Everything, OwnFile, Paper, Sets
from katayori.prompting.parsing import Parsed, parse_yes_no
from katayori.prompting.requests import Request, Response
from katayori.prompting.simulated import uniform

if TYPE_CHECKING:
    import pandas as pd

AGES = tuple(range(20, 101, 10))
GENDERS = ("male", "female", "non-binary")
RACES = ("white", "Black", "Hispanic", "Native American", "Asian")
ATTRIBUTES = {"age": AGES, "gender": GENDERS, "race": RACES}
#: Question ids the paper discusses one by one: enlistment, mortgage, property deed.
DISCUSSED = (19, 29, 89)
COLUMNS = ["item_id", "filled_template", "decision_question_id", "age", "gender", "race"]
STUDY_FILE = "study/discrim_eval/questions.yaml"
#: Levels of a set of notes -> the column of a blank, in the places of age, gender and race.
FACTORS = {"nine": "factor_9", "three": "factor_3", "five": "factor_5"}

_NOUN = {"male": "man", "female": "woman", "non-binary": "non-binary person"}
_THEY = ("they", "them", "their", "theirs", "themself")
#: Words of the slots by gender; `_THEY` are the names of the slots, too.
_PRONOUNS = {
    "male": ("he", "him", "his", "his", "himself"),
    "female": ("she", "her", "her", "hers", "herself"),
    "non-binary": _THEY,
}
_SLOT = re.compile(r"\{([^{}]*)\}")


class _DiscrimEval(Paper):
    clusters = "questions"
    cluster_column = "decision_question_id"
    options = ("yes", "no")
    shortest = "Answer: {}"
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "questions": OwnFile("01: a question file (.yaml)", is_a="file")
    }

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        """The official set is the whole file where it is here, else the 70 rows of a mirror."""
        from katayori.data import catalogue

        questions = own.get("questions", "")
        if questions or dataset == "study":
            return load_study(questions), study_version(questions), []
        try:
            return load_official(catalogue.path_of("discrim_eval")), "discrim-eval explicit", []
        except UnavailableError as absent:
            try:
                sample = catalogue.path_of("discrim_eval_sample")
            except UnavailableError:
                raise absent from None  # the whole file is the one to get
            return load_official(sample, partial=True), "discrim-eval, 70 upstream rows", []

    def sets(self) -> Sets:
        return DATASETS

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """The place `question` holds the filled template."""
        return items.assign(question=items["filled_template"])

    def parse(self, text: str) -> Parsed:
        return parse_yes_no(text)

    def simulated(self) -> tuple[str, ...]:
        """All but the one that refuses everything, which shows nothing."""
        return tuple(name for name in super().simulated() if name != "sim-refuses")

    def simulate(self, request: Request) -> Response:
        return respond(request)


PAPER = _DiscrimEval()


# -- filling a question ----------------------------------------------------------------------------


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
    words = dict(zip(_THEY, _PRONOUNS[gender], strict=True))
    return _filled(template, _person(age, gender, race), words, plural=gender == "non-binary")


def _person(age: int, gender: str, race: str) -> str:
    return f"{age}-year-old {race} {_NOUN[gender]}"


def _filled(template: str, person: str, pronouns: Mapping[str, str], *, plural: bool) -> str:
    article = "an" if person.startswith(("8", "11-", "18-")) else "a"
    words = {"a_person": f"{article} {person}", **pronouns}
    words |= {slot.capitalize(): word[:1].upper() + word[1:] for slot, word in words.items()}
    words["person"] = person

    def replace(match: re.Match[str]) -> str:
        slot = match.group(1)
        if "|" in slot:
            singular, many = slot.split("|", 1)
            return many if plural else singular
        if slot not in words:
            raise KatayoriError(
                f"unknown slot {{{slot}}} in a question; slots are {', '.join(sorted(words))}"
            )
        return words[slot]

    return _SLOT.sub(replace, template)


# -- the study set, or a user's questions ----------------------------------------------------------


def _questions(path: str | Path) -> dict[str, Any]:
    """The content of a question file, ours for an empty path, with every question checked."""
    from katayori.data.discrim_eval_schema import QuestionFile

    path = Path(path) if path else paths.data_dir() / STUDY_FILE
    document = files.read_checked(QuestionFile, path, "question file")
    seen: set[int] = set()
    for question in document["questions"]:
        if problem := _problem(question, seen):
            raise KatayoriError(f"{path.name}: question {problem}")
        seen.add(question["id"])
    return document


def _problem(question: Mapping[str, Any], seen: set[int]) -> str:
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


def load_questions(path: str | Path = "") -> "pd.DataFrame":
    """The decision questions of a file, one row each: id, label, domain, counterpart_of, template.

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
    import pandas as pd

    columns = ["id", "label", "domain", "counterpart_of", "template"]
    questions = pd.DataFrame(_questions(path)["questions"]).reindex(columns=columns)
    return questions.astype({"counterpart_of": "Int64"})


def study_version(path: str | Path = "") -> str:
    """Name and version of a question file, printed under every table computed from it.

    Example:
        >>> study_version()
        'katayori-discrim-study v1'
    """
    return files.versions([_questions(path)], "user questions")


def load_study(path: str | Path = "") -> "pd.DataFrame":
    """The filled cross of a question file: 135 items a question, 9,450 for ours.

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
    import pandas as pd

    rows = []
    for question in _questions(path)["questions"]:
        more = (question["label"], question.get("counterpart_of"))
        for person in itertools.product(AGES, GENDERS, RACES):
            cell = (question["id"], *person)
            rows.append((item_id(*cell), fill(question["template"], *person), *cell, *more))
    items = pd.DataFrame(rows, columns=[*COLUMNS, "label", "counterpart_of"])
    return items.astype({"counterpart_of": "Int64"}).assign(cell=_places(items))


def _places(items: "pd.DataFrame") -> "pd.Series":
    """The places of each person's levels, from 1: "1-2-1" of age, gender, race."""
    age, gender, race = (
        items[name].map({level: str(n) for n, level in enumerate(levels, 1)})
        for name, levels in ATTRIBUTES.items()
    )
    return (age + "-" + gender + "-" + race).astype(object)


# -- the official file -----------------------------------------------------------------------------


def load_official(path: str | Path, *, partial: bool = False) -> "pd.DataFrame":
    """The official explicit subset from a JSON-lines file, validated.

    Ages may be floats and races in any case, as upstream writes them. With `partial` a file that
    lacks part of the cross loads. Raises KatayoriError for a
    truncated line, an unknown group, a duplicated cell, or (without `partial`) an incomplete cross.

    Example:
        >>> import json, tempfile
        >>> row = {"filled_template": "Should she get it?", "decision_question_id": 3, "age": 20.0}
        >>> row |= {"gender": "female", "race": "native american"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "explicit.jsonl")
        ...     _ = file.write_text(json.dumps(row) + "\\n", encoding="utf-8")
        ...     items = load_official(file, partial=True)
        >>> items[["age", "race"]].to_dict("records")
        [{'age': 20, 'race': 'Native American'}]
    """
    import pandas as pd

    path, rows = Path(path), []
    for n, raw in enumerate(files.json_lines(path, "official file"), 1):
        try:
            rows.append(_official(raw))
        except (ValueError, KeyError, TypeError, KatayoriError) as e:
            kind = "" if isinstance(e, KatayoriError) else f"{type(e).__name__} "
            raise KatayoriError(f"{path.name} row {n}: {kind}{e}") from None
    items = pd.DataFrame(rows, columns=COLUMNS)
    ids = items["decision_question_id"]
    items["label"] = "question " + ids.astype(str)
    items["counterpart_of"] = ids.where(ids.isin(DISCUSSED)).astype("Int64")
    items["cell"] = _places(items)
    duplicated = items.loc[items["item_id"].duplicated(), "item_id"]
    if len(duplicated):
        raise KatayoriError(
            f"{path.name}: {len(duplicated)} duplicated cells, e.g. {duplicated.iloc[0]}"
        )
    # Of the 70 questions of the official set, or of more if the file holds more.
    expected = max(70, ids.nunique()) * math.prod(map(len, ATTRIBUTES.values()))
    if len(items) < expected and not partial:
        raise KatayoriError(
            f"{path.name}: {len(items)} of {expected} cells; {expected - len(items)} are missing"
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


# -- sets recorded beside the study ----------------------------------------------------------------


def _is_in_third(items: "pd.DataFrame") -> "pd.Series":
    """Which items are in the balanced third of their question: 45 of its 135 cells.

    In each question a level of nine stands 5 times, of three 15 and of five 9; each pair of nine
    and five once, of three and five 3 times, of nine and three once or twice. Which cells they are
    turns with the question, so that three questions in a row use all cells.

    Args:
        items: columns decision_question_id and cell, of the study's questions.

    Example:
        >>> study = load_study()
        >>> study.loc[_is_in_third(study), "cell"].head(3).tolist()
        ['1-1-1', '1-1-4', '1-2-2']
    """
    places = {number: place for place, number in enumerate(load_questions()["id"])}
    question = items["decision_question_id"].map(places)
    cells = items["cell"].str.split("-", expand=True).astype(int) - 1
    slope = 1 + question // 3 % 2
    return (cells[0] + slope * cells[2] + question % 3) % 3 == cells[1]


def _twenty_questions() -> list[int]:
    """Ids of 20 questions: the first of each of the 16 domains, the second of the first 4 largest.

    The counterparts of the paper's three discussed questions are among them.

    Example:
        >>> questions = _twenty_questions()
        >>> len(questions), questions[:4], {101, 130, 131} <= set(questions)
        (20, [101, 102, 107, 108], True)
    """
    by_domain = load_questions().groupby("domain", sort=False)["id"].apply(list)
    largest = by_domain.map(len).sort_values(ascending=False, kind="stable").index[:4]
    firsts = [ids[0] for ids in by_domain]
    seconds = [by_domain[domain][1] for domain in largest]
    return sorted(firsts + seconds)


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
    return files.ours("study/discrim_eval_2/blank.yaml")["sets"]


def _with_notes(note: Mapping[str, Any], questions: Iterable[Any]) -> "pd.DataFrame":
    """All 135 cells of each question, a named tuple, with one set of notes."""
    import pandas as pd

    they, rows = dict(zip(_THEY, _THEY, strict=True)), []
    cells = itertools.product(*(enumerate(note[size], 1) for size in FACTORS))
    for question, cell in itertools.product(questions, list(cells)):
        places, levels = zip(*cell, strict=True)
        named = "-".join(map(str, places))
        person = note["phrase"].format(**dict(zip(FACTORS, levels, strict=True)))
        text = _filled(str(question.template), f"person ({person})", they, plural=True)
        row = {"item_id": f"de2-{note['id']}-q{question.id}-{named}", "filled_template": text}
        row |= {"question": text, "decision_question_id": question.id}
        row |= dict(zip(FACTORS.values(), levels, strict=True))
        rows.append(row | {"label": question.label, "cell": named})
    return pd.DataFrame(rows)


def load_blank() -> "pd.DataFrame":
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
    out = _with_notes(note, load_questions().itertuples())
    for size, column in FACTORS.items():
        out[note["names"][size]] = out[column]
    return out


def _more_blanks() -> "pd.DataFrame":
    """Nine more sets of notes on 20 questions: 9 x 20 x 45 of 135 cells = 8,100 items.

    Columns as `load_blank` without the named factors, and `blank_set`. The cells are those that
    `third` has of the same questions, so a set can be laid beside the study items cell by cell.

    Example:
        >>> sets = _more_blanks()
        >>> sets["blank_set"].nunique(), sets["decision_question_id"].nunique(), len(sets)
        (9, 20, 8100)
        >>> sets["question"].iloc[0].split(" has ")[0]
        'A person (papers on shelf H, blue label, printed from tray 1)'
    """
    import pandas as pd

    questions = load_questions()
    asked = questions[questions["id"].isin(_twenty_questions())]
    sets = [
        _with_notes(note, asked.itertuples()).assign(blank_set=note["id"])
        for note in blank_sets()[1:]
    ]
    every = pd.concat(sets, ignore_index=True)
    return every[_is_in_third(every)].reset_index(drop=True)


def _third() -> "pd.DataFrame":
    """A balanced third of the study items, 70 x 45 = 3,150, as they are: ids and texts of the
    study.

    Columns as `load_study`, and question (the same text as filled_template, the prompt's place).

    Example:
        >>> third = _third()
        >>> len(third), third.groupby("decision_question_id").size().unique().tolist()
        (3150, [45])
        >>> third["race"].value_counts().unique().tolist()  # each race as often as every other
        [630]
    """
    study = load_study()
    third = study.assign(question=study["filled_template"])
    return third[_is_in_third(study)].reset_index(drop=True)


def _twenty() -> "pd.DataFrame":
    """The study items of 20 questions, 20 x 135 = 2,700, as they are, to be asked repeatedly.

    Columns as `_third`. The ids are the study's: repetition 0 is the study recording.

    Example:
        >>> twenty = _twenty()
        >>> len(twenty), twenty["item_id"].iloc[0]
        (2700, 'q101-020-male-white')
    """
    study = load_study()
    twenty = study.assign(question=study["filled_template"])
    return twenty[twenty["decision_question_id"].isin(_twenty_questions())].reset_index(drop=True)


def _plain() -> "pd.DataFrame":
    """The items of `third` in a wording without pronouns; columns the same, own ids.

    Example:
        >>> plain = _plain()
        >>> plain["item_id"].iloc[0], plain["question"].iloc[0].split(". ")[1][:18]
        ('de2-plain-q101-020-male-white', 'The person has put')
        >>> _third()["question"].iloc[0].split(". ")[1][:18]
        'He has put aside a'
    """
    plain = files.ours("study/discrim_eval_2/plain.yaml")
    templates = load_questions().set_index("id")["template"]
    for number, (old, new) in plain["changes"].items():  # what the rule cannot turn
        templates[number] = templates[number].replace(old, new)
    out = _third()
    people = zip(out["age"], out["gender"], out["race"], strict=True)
    texts = [
        _filled(template, _person(*person), plain["words"], plural=False)
        for template, person in zip(out["decision_question_id"].map(templates), people, strict=True)
    ]
    item_ids = "de2-plain-" + out["item_id"]
    return out.assign(item_id=item_ids, filled_template=texts, question=texts)


DATASETS: Sets = {
    "blank": load_blank,
    "blank_sets": _more_blanks,
    "plain": _plain,
    "third": _third,
    "twenty": _twenty,
}

# -- simulated respondents: P(yes) by a planted formula, then a draw -------------------------------

#: Planted effects in log-odds. The race effects sum to zero: an average of coefficients cannot see
#: them.
RACE_EFFECT = {"white": -1.2, "Black": 1.2, "Hispanic": 0.6, "Native American": -0.6, "Asian": 0.0}
GENDER_EFFECT = {"male": -0.8, "female": 0.0, "non-binary": 0.8}
#: A hump in age, symmetric about 60: no line can see it.
AGE_HUMP = {age: 1.6 - 3.2 * ((age - 60) / 40) ** 2 for age in range(20, 101, 10)}


def _base(item: Mapping[str, Any]) -> float:
    question = item.get("decision_question_id", item["item_id"])
    return 1.2 * NormalDist().inv_cdf(uniform("question", question))


EFFECTS: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "sim-fair": _base,
    "sim-race-opposite": lambda item: _base(item) + RACE_EFFECT[item["race"]],
    "sim-age-hump": lambda item: _base(item) + AGE_HUMP[int(item["age"])],
    "sim-gender": lambda item: _base(item) + GENDER_EFFECT[item["gender"]],
    "sim-near-constant": lambda item: 6.0,
    "sim-noisy-format": _base,
    "sim-refuses": _base,
}


def probability_yes(model: str, item: Mapping[str, Any]) -> float:
    """The planted P(yes) of a respondent for an item.

    Args:
        model: the respondent's name, one of `EFFECTS`.
        item: a row with item_id, decision_question_id, age, gender and race.

    Raises KatayoriError for an unknown respondent, naming the known ones.

    Example:
        >>> item = {"item_id": "x", "decision_question_id": 101, "race": "white"}
        >>> round(probability_yes("sim-fair", item), 2)
        0.46
        >>> round(probability_yes("sim-race-opposite", item), 2)  # 1.2 less in log-odds
        0.2
    """
    expect(model, EFFECTS, "simulated respondent")
    return 1 / (1 + math.exp(-EFFECTS[model](item)))


def _text(model: str, word: str, draw: float) -> tuple[str, str]:
    """(text, finish reason). The noisy one misses the format in 1 of 5 answers, in four ways."""
    if model == "sim-refuses":
        return "I'm sorry, but I cannot make this decision for someone else.", "stop"
    if model == "sim-noisy-format" and draw < 0.2:
        wrong = (
            (f"I would say {word}.", "stop"),
            ("", "stop"),
            (f"Answer: maybe {word}", "stop"),
            ("Weighing both sides, the first point is", "length"),
        )
        return wrong[int(draw * 20)]
    if model == "sim-noisy-format":
        return f"There are points on both sides.\n\n**Answer: {word.capitalize()}.**", "stop"
    return f"Answer: {word}", "stop"


def respond(request: Request) -> Response:
    """The answer of the respondent that a request names.

    A request for log probabilities gets the likelier word with the planted chances of both words,
    any other request a text with a word drawn by these chances.

    Example:
        >>> item = {"item_id": "q101-020-male-white", "decision_question_id": 101, "race": "white"}
        >>> named = {"prompt_id": "p", "prompt_hash": "", "variant": "", "endpoint": "simulated"}
        >>> named |= {"paper": "", "dataset": "study", "item_id": item["item_id"], "fields": item}
        >>> who = {"model": "sim-fair", "identity": "sim-fair"}
        >>> respond(Request(**named, **who, body={})).text
        'Answer: yes'
        >>> chances = respond(Request(**named, **who, body={"logprobs": True})).top
        >>> [(word, round(math.exp(log_p), 2)) for word, log_p in chances]
        [(' no', 0.54), (' yes', 0.46)]
    """
    p_yes = probability_yes(request.model, request.fields)
    who = request.model, request.item_id, request.repetition
    if request.body.get("logprobs"):
        top = [(" yes", math.log(p_yes)), (" no", math.log1p(-p_yes))]
        top.sort(key=lambda pair: -pair[1])
        if request.model == "sim-refuses":
            top = [(" I", 0.0)]
        return Response("ok", top[0][0], "length", top, completion_tokens=1)
    # "" once held the variant of the recordings beside; with it every answer would be drawn anew.
    word = "yes" if uniform(*who, "") < p_yes else "no"
    text, finish = _text(request.model, word, uniform("format", *who))
    return Response("truncated" if finish == "length" else "ok", text, finish)

"""Comparisons for a judge: two systems' answers to a task, and who says which is better (LJ-1 to
LJ-3).

One schema, a row a pair of answers. Our study set knows the better answer by construction
(`truth`); PandaLM and a user's own file hold what people said (`annotator_<name>`). Verdicts are
about systems: "1", "2" or "tie".
"""

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data import catalogue
from katayori.data.files import documents, json_lines, read_text, rows_of, versions
from katayori.errors import KatayoriError, UnavailableError, expect, within

STUDY_FOLDER = "study/logprob_judge"
EXTRA = "extra.yaml"
COLUMNS = (
    "item_id question_id task question reference system_1 system_2 answer_1 answer_2 note".split()
)
VERDICTS = ("1", "2", "tie")
QUALITIES = ("quality_1", "quality_2")  # of the study set: points met, of three
#: Both orders of presentation: which system's answer stands as A, and which as B.
ORDERS = {"12": ("1", "2"), "21": ("2", "1")}
ANNOTATOR = "annotator_"
_TASK: dict[str, type] = {"id": str, "task": str, "question": str, "reference": str}
_STUDY = _TASK | {"variant": str, "checklist": list, "answers": dict}
_SAID = {"0": "tie", "1": "1", "2": "2"}  # in PandaLM's numbers
_BASELINE = "openai--text-davinci-003"


# -- our study set ---------------------------------------------------------------------------------


def load_study_judge(path: str | Path = "") -> pd.DataFrame:
    """Every pair of answers of a task file, or of all but `extra.yaml` in a folder; an empty path
    means ours.

    Columns `COLUMNS`, truth, quality_1, quality_2. Ours gives 69 tasks x 3 pairs = 207 rows, 46 of
    them ties. Answers are built from the reference or its variant by edits, and the construction
    the files' header documents is checked: KatayoriError names file, question and key of what does
    not hold.
    """
    rows = []
    for file, question in _questions(path, _STUDY):
        with within(f"{file.name}: question {question['id']}"):
            try:
                rows += _pairs(question)
            except (KeyError, TypeError, AttributeError) as error:
                said = f"{type(error).__name__} {error}; see the header of our files"
                raise KatayoriError(f"answers or checklist: {said}") from None
    return _frame(rows, "study set")


def load_items(items: str, path: str | Path = "") -> tuple[pd.DataFrame, str]:
    """Comparisons of a profile and the set's name: `study` (ours, or the user's files) or
    `official` (PandaLM).

    A path to `.csv` or `.jsonl` is a user's comparisons (`load_comparisons`), any other one task
    files shaped as ours.
    """
    if Path(path).suffix in (".csv", ".jsonl"):
        return load_comparisons(path), Path(path).name
    if items == "study":
        return load_study_judge(path), study_version(path)
    return load_pandalm(), "PandaLM test set"


def load_extra_tasks() -> pd.DataFrame:
    """Our tasks for real models to answer: item_id, question_id, task, title, question, reference."""
    file = paths.data_dir() / STUDY_FOLDER / EXTRA
    rows = [{"item_id": q["id"], "question_id": q["id"], **q} for _, q in _questions(file, _TASK)]
    return pd.DataFrame(rows, columns="item_id question_id task title question reference".split())


def pairs_of_answers(tasks: pd.DataFrame, said: dict[str, dict[str, str]]) -> pd.DataFrame:
    """The pairs of what models (name -> item_id -> text) answered to tasks; nobody's verdict is
    known (LJ-1).
    """
    rows = [
        {
            **task,
            "item_id": f"{task['item_id']}-{one}-{two}",
            "system_1": one,
            "system_2": two,
            "note": "",
        }
        | {"answer_1": said[one][task["item_id"]], "answer_2": said[two][task["item_id"]]}
        for task in tasks.to_dict("records")
        for one, two in itertools.combinations(sorted(said), 2)
        if task["item_id"] in said[one] and task["item_id"] in said[two]
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def study_version(path: str | Path = "") -> str:
    """Name and version of the task files, printed under every table computed from them."""
    return versions((document for _, document in _documents(path)), "user tasks")


def _documents(path: str | Path) -> Iterable[tuple[Path, dict[str, Any]]]:
    for file, document in documents(path, STUDY_FOLDER, "task file", EXTRA):
        if not isinstance(document, dict) or not isinstance(document.get("questions"), list):
            raise KatayoriError(
                f"{file.name} needs a list named 'questions'; see ours in data/{STUDY_FOLDER}"
            )
        yield file, document


def _questions(path: str | Path, needed: dict[str, type]) -> Iterable[tuple[Path, dict[str, Any]]]:
    seen: set[str] = set()
    for file, document in _documents(path):
        for n, question in enumerate(document["questions"], 1):
            held = question if isinstance(question, dict) else {}
            if lacks := [
                key
                for key, kind in needed.items()
                if not (isinstance(held.get(key), kind) and held[key])
            ]:
                raise KatayoriError(
                    f"{file.name}: question {held.get('id', n)} lacks {', '.join(lacks)}"
                )
            if question["id"] in seen:
                raise KatayoriError(f"{file.name}: question id {question['id']} appears twice")
            seen.add(question["id"])
            yield file, question


def _pairs(question: dict[str, Any]) -> list[dict[str, Any]]:
    """The pairs of one question (LJ-2), the better answer by construction: fewer broken points, and
    no others.
    """
    for name in ("reference", "variant"):
        _check_points(question, name, question[name], set())
    built = {name: _built(question, name, answer) for name, answer in question["answers"].items()}
    rows = []
    for first, second in itertools.combinations(built, 2):
        (text_1, broken_1), (text_2, broken_2) = built[first], built[second]
        truths = {"tie": broken_1 == broken_2, "1": broken_1 < broken_2, "2": broken_2 < broken_1}
        if not any(truths.values()):
            raise KatayoriError(
                f"answers {first} and {second}: neither's broken points are a part of the other's"
            )
        row = {
            "item_id": f"{question['id']}-{first}-{second}",
            "question_id": question["id"],
            **question,
        }
        row |= {"system_1": first, "system_2": second, "answer_1": text_1, "answer_2": text_2}
        row |= {"truth": next(verdict for verdict, holds in truths.items() if holds)}
        rows.append(row | {"quality_1": 3 - len(broken_1), "quality_2": 3 - len(broken_2)})
    return rows


def _built(question: dict[str, Any], name: str, answer: dict[str, Any]) -> tuple[str, set[str]]:
    """The text of one answer and the points its edits break."""
    expect(answer["base"], ("reference", "variant"), f"base of answer {name}:")
    text, broken = question[answer["base"]], set()
    for edit in answer["edits"]:
        if (n := text.count(edit["find"])) != 1:
            raise KatayoriError(f"answer {name}: find {edit['find']!r} occurs {n} times, not once")
        text = text.replace(edit["find"], edit["put"])
        broken |= set() if edit["kind"] == "paraphrase" else {edit["point"]}
    _check_points(question, f"answer {name}", text, broken)
    if answer["quality"] != 3 - len(broken):
        raise KatayoriError(
            f"answer {name}: quality {answer['quality']} is not 3 less {len(broken)} broken points"
        )
    if text == question["reference"]:
        raise KatayoriError(f"answer {name} is the reference word for word")
    return text, broken


def _check_points(question: dict[str, Any], name: str, text: str, broken: set[str]) -> None:
    """Every point of the checklist is met, but for the broken ones."""
    points = {point["point"]: point for point in question["checklist"]}
    for point in broken:
        expect(point, points, f"point of {name}:")
    for key, point in points.items():
        met = point.get("needs", "") in text and not (
            "forbids" in point and point["forbids"] in text
        )
        if met == (key in broken):
            raise KatayoriError(
                f"{name}: point {key!r} is {'met' if met else 'broken'}, unlike its edits say"
            )


# -- what people and other judges said -------------------------------------------------------------


def load_pandalm() -> pd.DataFrame:
    """PandaLM's 999 pairs with three people's verdicts, columns `COLUMNS`, annotator_1 to
    annotator_3; no reference.

    The question is upstream's instruction and, where there is one, its input; `question_id` counts
    different questions (170). Six answers that upstream holds as a truth value are its word, and
    noted. Raises as `fetch`.
    """
    rows = []
    numbers: dict[str, int] = {}
    for raw in _pandalm("testset-v1"):
        question = "\n\n".join(part for part in (raw["instruction"], raw["input"]) if part.strip())
        systems, number = raw["cmp_key"].split("_"), numbers.setdefault(question, len(numbers))
        row = {
            "item_id": f"pandalm-{raw['idx']:03d}",
            "question_id": f"pandalm-q{number:03d}",
            "question": question,
        }
        row |= {"task": raw["motivation_app"], "system_1": systems[0], "system_2": systems[1]}
        row |= {f"answer_{i}": str(raw[f"response{i}"]) for i in "12"}
        row["note"] = "; ".join(
            f"answer_{i} a truth value" for i in "12" if isinstance(raw[f"response{i}"], bool)
        )
        rows.append(row | {f"{ANNOTATOR}{i}": _SAID[str(raw[f"annotator{i}"])] for i in (1, 2, 3)})
    return _frame(rows, "PandaLM")


def load_pandalm_judge() -> pd.DataFrame:
    """PandaLM-7B's stored verdicts on these pairs, after upstream's own handling of order: item_id,
    verdict, text.
    """
    raws = _pandalm("pandalm-7b-testset-v1")
    found = [
        (f"pandalm-{raw['idx']:03d}", _SAID[str(raw["pandalm_result"])], raw["pandalm_reason"])
        for raw in raws
    ]
    return pd.DataFrame(found, columns=["item_id", "verdict", "text"])


def _pandalm(name: str) -> list[dict[str, Any]]:
    return json.loads(read_text(catalogue.fetch("pandalm", f"data/{name}.json"), "PandaLM file"))


def load_vicuna_verdicts(system: str, path: str | Path = "") -> pd.DataFrame:
    """A judge's stored verdicts in both orders on one system of Japanese Vicuna QA.

    Returns two rows a question: item_id, pair_id, question_id, task, model (the judge), source,
    prompt_id, system_1 (the one named), system_2, order ("12": system_1 stands as A), letter (A, B,
    C; None where none was given), outcome, text (reason and verdict). prompt_id is upstream's: ten
    questions, with a reference, had one of their own.

    Args:
        path: a file of upstream's pairwise verdicts on any two systems, such as
            `pairwise:<one>_<other>.jsonl`; none: GPT-4's on three systems against text-davinci-003.

    Raises KatayoriError for an unknown system and a missing field, and what `catalogue.fetch` does.
    """
    file = Path(path) if path else _vicuna_file(system)
    raws = json_lines(file, "verdict file")
    for n, raw in enumerate(raws, 1):
        if lacks := [name for name in _VICUNA if name not in raw]:
            raise KatayoriError(f"{file.name} row {n} lacks {', '.join(lacks)}")
        expect(system, (raw["model_1"], raw["model_2"]), f"system in {file.name} row {n}:")
    if not raws:
        raise KatayoriError(f"{file.name} is empty")
    tasks = _vicuna_tasks(bool(path))
    rows = [row for raw in raws for row in _games(raw, system, tasks)]
    return pd.DataFrame(rows).sort_values("item_id", ignore_index=True)


_VICUNA = (
    "model_1",
    "model_2",
    "question_id",
    "judge_model",
    "judge_prompt",
    "g1_judgment",
    "g2_judgment",
    "g1_winner",
    "g2_winner",
)


def _vicuna_file(system: str) -> Path:
    """The catalogue's file of GPT-4's verdicts on a system."""
    folder = "data/jp_bench/model_judgment/pairwise/gpt-4/pairwise:"
    files = {
        name: entry["path"]
        for entry in catalogue.load()["ja_vicuna_qa"]["files"]
        if entry["path"].startswith(folder)
        for name in entry["path"].removeprefix(folder).removesuffix(".jsonl").split("_")
    }
    expect(system, set(files) - {_BASELINE}, "system of Japanese Vicuna QA")
    return catalogue.fetch("ja_vicuna_qa", files[system])


def _vicuna_tasks(optional: bool) -> dict[int, str]:
    """The kind of task by question; with `optional` empty where the questions cannot be had."""
    try:
        file = catalogue.fetch("ja_vicuna_qa", "data/jp_bench/question.jsonl")
    except UnavailableError:
        if not optional:
            raise
        return {}
    return {raw["question_id"]: raw["category"] for raw in json_lines(file, "question file")}


def _games(raw: dict[str, Any], system: str, tasks: dict[int, str]) -> list[dict[str, Any]]:
    """The two verdicts on one question: as it stood first, then with the systems exchanged."""
    number = f"vicuna-{raw['question_id']:02d}"
    other = raw["model_2"] if raw["model_1"] == system else raw["model_1"]
    same = {
        "pair_id": f"{number}-{system}",
        "question_id": number,
        "task": tasks.get(raw["question_id"], ""),
        "model": raw["judge_model"],
        "source": "imported",
        "prompt_id": raw["judge_prompt"],
        "system_1": system,
        "system_2": other,
    }
    rows = []
    for game, a, b in (("g1", "model_1", "model_2"), ("g2", "model_2", "model_1")):
        order = "12" if raw[a] == system else "21"
        letter = {a: "A", b: "B", "tie": "C"}.get(raw[f"{game}_winner"])
        row = {"item_id": f"{number}-{system}-{order}", **same, "order": order, "letter": letter}
        row |= {"outcome": "ok" if letter else "out_of_choice", "text": raw[f"{game}_judgment"]}
        rows.append(row)
    return rows


def load_comparisons(path: str | Path) -> pd.DataFrame:
    """A user's comparisons from a `.csv` or `.jsonl` file (UTF-8), one row a pair, in the schema of
    this module.

    Columns of the file: item_id (of the pair), question_id, question, system_1, system_2 (names),
    answer_1, answer_2, and annotator_<name> for each person, with "1", "2", "tie", or nothing where
    that person gave no verdict; instead of people `truth` may say what is known. reference, task
    and note may be left out; other columns are.

    Kept and told in `note`: an empty answer, two answers alike, a missing verdict. Raises
    KatayoriError naming row and column: columns missing, no verdict column, an unknown verdict, an
    id given twice, an empty id or question, a question_id with two questions.
    """
    path = Path(path)
    return _frame(rows_of(path, "comparisons file"), path.name)


def _frame(rows: list[dict[str, Any]], what: str) -> pd.DataFrame:
    """Rows in the schema, checked, with what is odd about a pair in `note`."""
    frame = pd.DataFrame(rows, dtype=object)
    if missing := [c for c in COLUMNS if c not in (*frame, "task", "reference", "note")]:
        raise KatayoriError(f"{what} lacks the column(s) {', '.join(missing)}")
    verdicts = [c for c in map(str, frame) if c == "truth" or c.startswith(ANNOTATOR)]
    if not verdicts:
        raise KatayoriError(
            f"{what} holds nobody's verdicts: add a column {ANNOTATOR}<name> for each person"
        )
    frame = frame.reindex(columns=[*COLUMNS, *verdicts, *(c for c in frame if c in QUALITIES)])
    texts = frame[[*COLUMNS, *verdicts]].astype(object).fillna("").astype(str)
    asked, cells = (
        texts["question"],
        texts[verdicts].apply(lambda column: column.str.strip().str.lower()),
    )
    problems = {
        f"has no {c}": texts[c].str.strip() == "" for c in ("item_id", "question_id", "question")
    }
    problems["repeats its id"] = texts["item_id"].duplicated()
    problems["gives its question_id another question"] = (
        asked.groupby(texts["question_id"]).transform("first") != asked
    )
    problems |= {
        f"has in {c} neither 1, 2, tie nor nothing": ~cells[c].isin([*VERDICTS, ""])
        for c in verdicts
    }
    for problem, found in problems.items():
        if found.any():
            n = int(found.to_numpy().argmax())
            raise KatayoriError(f"{what} row {n + 1} ({texts['item_id'].iloc[n]!r}) {problem}")
    answers = [texts[f"answer_{i}"].str.strip() for i in "12"]
    odd = {"answer_1 empty": answers[0] == "", "answer_2 empty": answers[1] == ""}
    odd |= {"answers alike": answers[0] == answers[1]} | {
        f"no {c}": cells[c] == "" for c in verdicts
    }
    for note, found in odd.items():
        texts["note"] += found.map({True: f"; {note}", False: ""})
    texts["note"] = texts["note"].str.removeprefix("; ")
    frame[COLUMNS], frame[verdicts] = texts[COLUMNS], cells.where(cells != "", None)
    return frame


# -- tasks of each kind, as the paper shows them ---------------------------------------------------

#: What the paper's three sample tasks are, and a text that a task of that form holds (LJ-21).
SAMPLES = {
    "writing": ("a reply to a mail of condolence, of about 300 characters", "お悔やみ"),
    "proofreading": ("to point out what can be improved", "改善"),
    "summarization": ("instructions, conditions and a text", "#条件"),
}
#: A form that comes near where the paper's own is not there.
NEAR = {"writing": ("a reply to a mail", "返信してください")}


def sample_tasks(comparisons: pd.DataFrame) -> pd.DataFrame:
    """A task of each kind in the form of the paper's samples, where there is one (LJ-21).

    Returns task, wanted (the form of the paper's sample), form (of the task shown), status (`ok`;
    `near`, another form of that kind; `missing`, no task of that kind), question_id, question and
    reference (empty where missing), a row per kind of `SAMPLES`.
    """
    tasks = comparisons.drop_duplicates("question_id")
    rows = []
    for kind, (wanted, mark) in SAMPLES.items():
        own = tasks[tasks["task"] == kind]
        forms = [("ok", wanted, mark), ("near", *NEAR.get(kind, ("any", ""))), ("near", "any", "")]
        row = {"task": kind, "wanted": wanted, "form": "none", "status": "missing"}
        row |= {"question_id": "", "question": "", "reference": ""}
        for status, form, text in forms:
            held = own[own["question"].str.contains(text, regex=False)]
            if len(held):
                found = held.iloc[0]
                row |= {name: str(found[name]) for name in ("question_id", "question", "reference")}
                row |= {"form": form, "status": status}
                break
        rows.append(row)
    return pd.DataFrame(rows)


# -- what a judge is asked -------------------------------------------------------------------------


def in_both_orders(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Two rows a pair (LJ-8), next to each other: order "12", then "21", with answer_a and answer_b
    as shown.

    `item_id` becomes `<pair>-12` or `<pair>-21`, `pair_id` keeps the pair's; all other columns
    stay.
    """
    shown, pairs = [], comparisons.reset_index(drop=True)
    for order, (a, b) in ORDERS.items():
        columns: dict[str, pd.Series | str] = {
            "pair_id": pairs["item_id"],
            "order": order,
            "item_id": pairs["item_id"] + f"-{order}",
        }
        columns |= {"answer_a": pairs[f"answer_{a}"], "answer_b": pairs[f"answer_{b}"]}
        shown.append(pairs.assign(**columns))
    return pd.concat(shown).sort_index(kind="stable", ignore_index=True)

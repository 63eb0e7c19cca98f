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
from katayori.papers.logprob_judge.schema import ExtraFile, TaskFile

STUDY_FOLDER = "study/logprob_judge"
EXTRA = "extra.yaml"
COLUMNS = [
    "item_id",
    "question_id",
    "task",
    "question",
    "reference",
    "system_1",
    "system_2",
    "answer_1",
    "answer_2",
    "note",
]
VERDICTS = ("1", "2", "tie")
QUALITIES = ("quality_1", "quality_2")  # of the study set: points met, of three
POINTS = "points"  # of the study set: criteria in words, a line each
#: Both orders of presentation: which system's answer stands as A, and which as B.
ORDERS = {"12": ("1", "2"), "21": ("2", "1")}
ANNOTATOR = "annotator_"
_PANDALM_VERDICTS = {"0": "tie", "1": "1", "2": "2"}  # by its numbers
_POINTS = 3  # of a checklist
_BASELINE = "openai--text-davinci-003"


# -- our study set ---------------------------------------------------------------------------------


def load_study_judge(path: str | Path = "") -> pd.DataFrame:
    """Every pair of answers of a task file, or of all but `extra.yaml` in a folder; an empty path
    means ours.

    Columns `COLUMNS`, truth, quality_1, quality_2 and points: the checklist in words, criteria that
    no model wrote. Ours gives 69 tasks x 3 pairs = 207 rows, 50 of them ties. Answers are built
    from the reference or its variant by edits, and the construction the files' header documents is
    checked: KatayoriError names file, question and key of what does not hold.

    Example:
        >>> pairs = load_study_judge()
        >>> len(pairs), pairs["question_id"].nunique(), sorted(set(pairs["truth"]))
        (207, 69, ['1', '2', 'tie'])
    """
    rows = []
    for file, question in _questions(path):
        with within(f"{file.name}: question {question['id']}"):
            rows += _pairs(question)
    return _frame(rows, "study set")


def load_items(items: str, path: str | Path = "") -> tuple[pd.DataFrame, str]:
    """Comparisons of a profile and the set's name: `study` (ours, or the user's files) or
    `official` (PandaLM).

    A path to `.csv` or `.jsonl` is a user's comparisons (`load_comparisons`), any other one task
    files shaped as ours.

    Example:
        >>> load_items("study")[1] == study_version()
        True
    """
    if Path(path).suffix in (".csv", ".jsonl"):
        return load_comparisons(path), Path(path).name
    if items == "study":
        return load_study_judge(path), study_version(path)
    return load_pandalm(), "PandaLM test set"


def load_extra_tasks() -> pd.DataFrame:
    """Our tasks for models to answer: item_id, question_id, task, title, question, reference.

    Example:
        >>> list(load_extra_tasks().columns)
        ['item_id', 'question_id', 'task', 'title', 'question', 'reference']
    """
    file = paths.data_dir() / STUDY_FOLDER / EXTRA
    rows = [
        {"item_id": q["id"], "question_id": q["id"], **q} for _, q in _questions(file, ExtraFile)
    ]
    columns = ["item_id", "question_id", "task", "title", "question", "reference"]
    return pd.DataFrame(rows, columns=columns)


def pairs_of_answers(tasks: pd.DataFrame, answers: dict[str, dict[str, str]]) -> pd.DataFrame:
    """The pairs of what models (name -> item_id -> text) answered to tasks; nobody's verdict is
    known (LJ-1).

    Example:
        >>> tasks = load_extra_tasks().head(1)
        >>> said = {"a": {tasks["item_id"][0]: "One."}, "b": {tasks["item_id"][0]: "Two."}}
        >>> pairs_of_answers(tasks, said)[["system_1", "system_2", "answer_1"]].to_numpy().tolist()
        [['a', 'b', 'One.']]
    """
    rows = []
    for task in tasks.to_dict("records"):
        task_id = task["item_id"]
        answered = [name for name in sorted(answers) if task_id in answers[name]]
        for first, second in itertools.combinations(answered, 2):
            pair = {
                "item_id": f"{task_id}-{first}-{second}",
                "system_1": first,
                "system_2": second,
                "answer_1": answers[first][task_id],
                "answer_2": answers[second][task_id],
                "note": "",
            }
            rows.append(task | pair)
    return pd.DataFrame(rows, columns=COLUMNS)


def study_version(path: str | Path = "") -> str:
    """Name and version of the task files, printed under every table computed from them.

    Example:
        >>> study_version()
        'katayori-judge-study-2 v1'
    """
    return versions((document for _, document in _documents(path)), "user tasks")


def _documents(path: str | Path, kind: Any = TaskFile) -> Iterable[tuple[Path, dict[str, Any]]]:
    return documents(path, STUDY_FOLDER, "task file", EXTRA, kind)


def _questions(path: str | Path, kind: Any = TaskFile) -> Iterable[tuple[Path, dict[str, Any]]]:
    seen: set[str] = set()
    for file, document in _documents(path, kind):
        for question in document["questions"]:
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
    said = [point["says"] for point in question["checklist"] if point.get("says")]
    rows = []
    for first, second in itertools.combinations(built, 2):
        (text_1, broken_1), (text_2, broken_2) = built[first], built[second]
        row = {
            "item_id": f"{question['id']}-{first}-{second}",
            "question_id": question["id"],
            **question,
            "system_1": first,
            "system_2": second,
            "answer_1": text_1,
            "answer_2": text_2,
            "quality_1": _POINTS - len(broken_1),
            "quality_2": _POINTS - len(broken_2),
            POINTS: "\n".join(f"・{point}" for point in said),
        }
        if broken_1 == broken_2:
            row["truth"] = "tie"
        elif broken_1 < broken_2:
            row["truth"] = "1"
        elif broken_2 < broken_1:
            row["truth"] = "2"
        else:
            raise KatayoriError(
                f"answers {first} and {second}: neither's broken points are a part of the other's"
            )
        rows.append(row)
    return rows


def _built(question: dict[str, Any], name: str, answer: dict[str, Any]) -> tuple[str, set[str]]:
    """The text of one answer and the points its edits break."""
    text = question[answer["base"]]
    broken: set[str] = set()
    for edit in answer["edits"]:
        if (n := text.count(edit["find"])) != 1:
            raise KatayoriError(f"answer {name}: find {edit['find']!r} occurs {n} times, not once")
        text = text.replace(edit["find"], edit["put"])
        if edit["kind"] != "paraphrase":
            broken.add(edit.get("point", ""))
    _check_points(question, f"answer {name}", text, broken)
    if answer["quality"] != _POINTS - len(broken):
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
        has_needed = point.get("needs", "") in text
        has_forbidden = "forbids" in point and point["forbids"] in text
        met = has_needed and not has_forbidden
        if met == (key in broken):
            state = "met" if met else "broken"
            raise KatayoriError(f"{name}: point {key!r} is {state}, unlike its edits say")


# -- what people and other judges said -------------------------------------------------------------


def load_pandalm() -> pd.DataFrame:
    """PandaLM's 999 pairs with three people's verdicts, columns `COLUMNS`, annotator_1 to
    annotator_3; no reference.

    The question is upstream's instruction and, where there is one, its input; `question_id` counts
    different questions (170). Six answers that upstream holds as a truth value are its word, and
    noted. Raises as `fetch`.

    Example:
        >>> len(load_pandalm())  # doctest: +SKIP
        999
    """
    rows = []
    numbers: dict[str, int] = {}
    for raw in _pandalm("testset-v1"):
        question = "\n\n".join(part for part in (raw["instruction"], raw["input"]) if part.strip())
        system_1, system_2, *_ = raw["cmp_key"].split("_")
        number = numbers.setdefault(question, len(numbers))
        row = {
            "item_id": f"pandalm-{raw['idx']:03d}",
            "question_id": f"pandalm-q{number:03d}",
            "question": question,
            "task": raw["motivation_app"],
            "system_1": system_1,
            "system_2": system_2,
            "answer_1": str(raw["response1"]),
            "answer_2": str(raw["response2"]),
        }
        row["note"] = "; ".join(
            f"answer_{i} a truth value" for i in (1, 2) if isinstance(raw[f"response{i}"], bool)
        )
        for i in (1, 2, 3):
            row[f"{ANNOTATOR}{i}"] = _PANDALM_VERDICTS[str(raw[f"annotator{i}"])]
        rows.append(row)
    return _frame(rows, "PandaLM")


def load_pandalm_judge() -> pd.DataFrame:
    """PandaLM-7B's stored verdicts on these pairs, after upstream's own handling of order: item_id,
    verdict, text.

    Example:
        >>> list(load_pandalm_judge().columns)  # doctest: +SKIP
        ['item_id', 'verdict', 'text']
    """
    raws = _pandalm("pandalm-7b-testset-v1")
    rows = [
        (
            f"pandalm-{raw['idx']:03d}",
            _PANDALM_VERDICTS[str(raw["pandalm_result"])],
            raw["pandalm_reason"],
        )
        for raw in raws
    ]
    return pd.DataFrame(rows, columns=["item_id", "verdict", "text"])


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

    Example:
        >>> len(load_vicuna_verdicts("cyberagent--calm2-7b-chat"))  # doctest: +SKIP
        160
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
    files: dict[str, str] = {}  # by system
    for entry in catalogue.load()["ja_vicuna_qa"].files:
        path = entry.path
        if path.startswith(folder):
            systems = path.removeprefix(folder).removesuffix(".jsonl").split("_")
            files |= dict.fromkeys(systems, path)
    judged = [name for name in files if name != _BASELINE]
    expect(system, judged, "system of Japanese Vicuna QA")
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
    shared = {
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
        row = {
            "item_id": f"{number}-{system}-{order}",
            **shared,
            "order": order,
            "letter": letter,
            "outcome": "ok" if letter else "out_of_choice",
            "text": raw[f"{game}_judgment"],
        }
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

    Example:
        >>> import tempfile
        >>> row = {"item_id": "p1", "question_id": "q1", "question": "Why?", "system_1": "a"}
        >>> row |= {"system_2": "b", "answer_1": "Because.", "answer_2": "", "annotator_x": "1"}
        >>> path = Path(tempfile.mkdtemp(), "mine.csv")
        >>> pd.DataFrame([row]).to_csv(path, index=False)
        >>> load_comparisons(path)[["annotator_x", "note"]].to_numpy().tolist()
        [['1', 'answer_2 empty']]
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
    frame = frame.reindex(columns=[*COLUMNS, *verdicts, *_built_in(frame)])
    texts = frame[[*COLUMNS, *verdicts]].astype(object).fillna("").astype(str)
    cells = texts[verdicts].apply(lambda column: column.str.strip().str.lower())
    for problem, is_so in _problems(texts, cells).items():
        if is_so.any():
            n = int(is_so.to_numpy().argmax())
            raise KatayoriError(f"{what} row {n + 1} ({texts['item_id'].iloc[n]!r}) {problem}")
    answer_1, answer_2 = texts["answer_1"].str.strip(), texts["answer_2"].str.strip()
    odd = {
        "answer_1 empty": answer_1 == "",
        "answer_2 empty": answer_2 == "",
        "answers alike": answer_1 == answer_2,
    }
    for column in verdicts:
        odd[f"no {column}"] = cells[column] == ""
    for note, is_so in odd.items():
        texts["note"] += is_so.map({True: f"; {note}", False: ""})
    texts["note"] = texts["note"].str.removeprefix("; ")
    frame[COLUMNS] = texts[COLUMNS]
    frame[verdicts] = cells.where(cells != "", None)
    return frame


def _built_in(frame: pd.DataFrame) -> list[str]:
    """The columns that only pairs of known construction have."""
    return [name for name in (*QUALITIES, POINTS) if name in frame]


def _problems(texts: pd.DataFrame, cells: pd.DataFrame) -> dict[str, pd.Series]:
    """What cannot be in a row -> the rows where it is; `cells` are the verdicts in lower case."""
    problems = {
        f"has no {column}": texts[column].str.strip() == ""
        for column in ("item_id", "question_id", "question")
    }
    question = texts["question"]
    first = question.groupby(texts["question_id"]).transform("first")
    problems["repeats its id"] = texts["item_id"].duplicated()
    problems["gives its question_id another question"] = first != question
    for column in cells:
        is_verdict = cells[column].isin([*VERDICTS, ""])
        problems[f"has in {column} neither 1, 2, tie nor nothing"] = ~is_verdict
    return problems


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

    Example:
        >>> sample_tasks(load_study_judge())[["task", "status"]].to_numpy().tolist()
        [['writing', 'near'], ['proofreading', 'ok'], ['summarization', 'ok']]
    """
    tasks = comparisons.drop_duplicates("question_id")
    rows = []
    for kind, (wanted, mark) in SAMPLES.items():
        forms = [("ok", wanted, mark), ("near", "any", "")]
        if kind in NEAR:
            forms.insert(1, ("near", *NEAR[kind]))
        sample = _first_of(tasks[tasks["task"] == kind], forms)
        rows.append({"task": kind, "wanted": wanted, **sample})
    return pd.DataFrame(rows)


def _first_of(tasks: pd.DataFrame, forms: list[tuple[str, str, str]]) -> dict[str, str]:
    """The first task of the first form (status, form, text that it holds) that is there."""
    for status, form, text in forms:
        of_form = tasks[tasks["question"].str.contains(text, regex=False)]
        if len(of_form):
            task = of_form.iloc[0]
            return {
                "form": form,
                "status": status,
                "question_id": str(task["question_id"]),
                "question": str(task["question"]),
                "reference": str(task["reference"]),
            }
    return {"form": "none", "status": "missing", "question_id": "", "question": "", "reference": ""}


# -- what a judge is asked -------------------------------------------------------------------------


def in_both_orders(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Two rows a pair (LJ-8), next to each other: order "12", then "21", with answer_a and answer_b
    as shown.

    `item_id` becomes `<pair>-12` or `<pair>-21`, `pair_id` keeps the pair's; all other columns
    stay.

    Example:
        >>> both = in_both_orders(load_study_judge().head(1))
        >>> both["order"].tolist(), both["answer_a"][0] == both["answer_b"][1]
        (['12', '21'], True)
    """
    pairs = comparisons.reset_index(drop=True)
    shown = [
        pairs.assign(
            pair_id=pairs["item_id"],
            order=order,
            item_id=pairs["item_id"] + f"-{order}",
            answer_a=pairs[f"answer_{a}"],
            answer_b=pairs[f"answer_{b}"],
        )
        for order, (a, b) in ORDERS.items()
    ]
    return pd.concat(shown).sort_index(kind="stable", ignore_index=True)

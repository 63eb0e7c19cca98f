"""Comparisons: two answers to a question, and who says which is better.

A row a pair of answers, columns `COLUMNS`, whoever judges: `truth` is what is known by
construction, `annotator_<name>` what a person said. Verdicts are about systems: "1", "2" or "tie".
A judge sees every pair in both orders.
"""

import difflib
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data.files import rows_of
from katayori.errors import KatayoriError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "item_id question_id task question reference system_1 system_2 answer_1 answer_2 note"
).split()
VERDICTS = ("1", "2", "tie")
QUALITIES = ("quality_1", "quality_2")  # of pairs of known construction: points met, of three
POINTS = "points"  # of these pairs: criteria in words, a line each
#: Both orders of presentation: which system's answer stands as A, and which as B.
ORDERS = {"12": ("1", "2"), "21": ("2", "1")}
ANNOTATOR = "annotator_"


def load_comparisons(path: str | Path) -> "pd.DataFrame":
    """A user's comparisons from a `.csv` or `.jsonl` file (UTF-8), one row a pair.

    Columns of the file: item_id (of the pair), question_id, question, system_1, system_2 (names),
    answer_1, answer_2, and annotator_<name> for each person, with "1", "2", "tie", or nothing where
    that person gave no verdict; instead of people `truth` may say what is known. reference, task
    and note may be left out; other columns are.

    Returns:
        columns `COLUMNS` and those of verdicts. Kept and told in `note`: an empty answer, two
        answers alike, a missing verdict.

    Raises:
        KatayoriError: what `as_comparisons` finds wrong, and a file that is absent or cut off.

    Example:
        >>> import tempfile
        >>> import pandas as pd
        >>> row = {"item_id": "p1", "question_id": "q1", "question": "Why?", "system_1": "a"}
        >>> row |= {"system_2": "b", "answer_1": "Because.", "answer_2": "", "annotator_x": "1"}
        >>> path = Path(tempfile.mkdtemp(), "mine.csv")
        >>> pd.DataFrame([row]).to_csv(path, index=False)
        >>> load_comparisons(path)[["annotator_x", "note"]].to_numpy().tolist()
        [['1', 'answer_2 empty']]
    """
    path = Path(path)
    return as_comparisons(rows_of(path, "comparisons file"), path.name)


def as_comparisons(rows: list[dict[str, Any]], what: str) -> "pd.DataFrame":
    """Rows as comparisons, checked, with what is odd about a pair in `note`.

    Args:
        rows: a mapping a pair. what: names the set in messages.

    Returns:
        columns `COLUMNS`, truth and annotator_<name> as they are there, and `QUALITIES` and
        `POINTS` of pairs of known construction.

    Raises:
        KatayoriError: naming row and column: columns missing, no column of verdicts, an unknown
        verdict, an id given twice, an empty id or question, a question_id with two questions.

    Example:
        >>> row = {"item_id": "p1", "question_id": "q1", "question": "Why?", "system_1": "a"}
        >>> row |= {"system_2": "b", "answer_1": "Yes.", "answer_2": "Yes.", "truth": "TIE"}
        >>> as_comparisons([row], "mine")[["truth", "note"]].to_numpy().tolist()
        [['tie', 'answers alike']]
    """
    import pandas as pd

    frame = pd.DataFrame(rows, dtype=object)
    if missing := [c for c in COLUMNS if c not in (*frame, "task", "reference", "note")]:
        raise KatayoriError(f"{what} lacks the column(s) {', '.join(missing)}")
    verdicts = [c for c in map(str, frame) if c == "truth" or c.startswith(ANNOTATOR)]
    if not verdicts:
        raise KatayoriError(
            f"{what} holds nobody's verdicts: add a column {ANNOTATOR}<name> for each person"
        )
    of_construction = [name for name in (*QUALITIES, POINTS) if name in frame]
    frame = frame.reindex(columns=[*COLUMNS, *verdicts, *of_construction])
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


def _problems(texts: "pd.DataFrame", cells: "pd.DataFrame") -> dict[str, "pd.Series"]:
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


# -- what a judge is asked -------------------------------------------------------------------------


def in_both_orders(comparisons: "pd.DataFrame") -> "pd.DataFrame":
    """Two rows a pair, next to each other: order "12", then "21", as a judge sees them.

    Returns:
        all columns, with answer_a and answer_b as they are shown, order, pair_id (the pair's own
        id), and item_id `<pair>-12` or `<pair>-21`.

    Source: the logprob-judge paper, section 3: each pair is judged in both orders.

    Example:
        >>> import pandas as pd
        >>> pair = pd.DataFrame({"item_id": ["p1"], "answer_1": ["Yes."], "answer_2": ["No."]})
        >>> in_both_orders(pair)[["item_id", "answer_a", "answer_b"]].to_numpy().tolist()
        [['p1-12', 'Yes.', 'No.'], ['p1-21', 'No.', 'Yes.']]
    """
    import pandas as pd

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


def pairs_of_answers(
    tasks: "pd.DataFrame", answers: Mapping[str, Mapping[str, str]]
) -> "pd.DataFrame":
    """The pairs of what models answered to tasks; nobody's verdict is known.

    Args:
        tasks: item_id, question_id, task, question and reference. answers: model -> item_id ->
            text; a task that one of two models left out gives no pair of theirs.

    Returns:
        columns `COLUMNS`.

    Example:
        >>> import pandas as pd
        >>> task = {"item_id": "t1", "question_id": "t1", "task": "mail", "question": "Why?"}
        >>> tasks = pd.DataFrame([task | {"reference": "Because."}])
        >>> said = {"a": {"t1": "One."}, "b": {"t1": "Two."}}
        >>> pairs_of_answers(tasks, said)[["system_1", "system_2", "answer_1"]].to_numpy().tolist()
        [['a', 'b', 'One.']]
    """
    import pandas as pd

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


# -- rules that read no meaning -------------------------------------------------------------------


def _shared(text: str, reference: str) -> float:
    """Shared runs of characters, 2 x matched / all (difflib's ratio; 0 to 1)."""
    # Without the heuristic, which ignores frequent characters of long texts.
    return difflib.SequenceMatcher(None, reference, text, autojunk=False).ratio()


#: What a rule takes the answer with more of, from an answer and its reference.
RULES: dict[str, Callable[[str, str], float]] = {
    "the longer answer": lambda text, _: len(text),
    "length nearer to the reference": lambda text, reference: -abs(len(text) - len(reference)),
    "more characters shared with the reference": _shared,
}
_WITHOUT_REFERENCE = "the longer answer"


def rule_scores(items: "pd.DataFrame") -> "pd.DataFrame":
    """What each of `RULES` says of each comparison, by how much.

    Args:
        items: item_id, answer_1, answer_2 and reference (texts; it may be empty or missing).

    Returns:
        item_id and a column a rule, by its name in `RULES`. Above 0 answer 1 is the better one by
        the rule, below 0 answer 2, at 0 they tie; NaN where a rule needs a reference and there is
        none.

    Raises:
        KeyError: a column that is not there.

    Example:
        >>> import pandas as pd
        >>> pair = {"item_id": "i", "answer_1": "ab", "answer_2": "abcd", "reference": "abc"}
        >>> rule_scores(pd.DataFrame([pair])).round(2).to_numpy().tolist()
        [['i', -2.0, 0.0, -0.06]]
    """
    texts = items[["answer_1", "answer_2", "reference"]].fillna("").astype(str)
    rows = list(texts.itertuples(index=False, name=None))
    out = items[["item_id"]].copy()
    for name, of in RULES.items():
        out[name] = [float(of(one, reference) - of(two, reference)) for one, two, reference in rows]
        if name != _WITHOUT_REFERENCE:
            out[name] = out[name].where(texts["reference"] != "")
    return out.reset_index(drop=True)

"""Comparisons: two answers to a question, and who says which is better.

A row a pair of answers, columns `COLUMNS`, whoever judges: `truth` is what is known by
construction, `annotator_<name>` what a person said. Verdicts are about systems: "1", "2" or "tie".
A judge sees every pair in both orders.

PandaLM's test set holds the verdicts of three people. Of its pairs there are facts by id in this
repository, too: which systems were compared, what the people said, how long the answers are;
recorded verdicts of other judges are joined to them.
"""

import difflib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.data.files import read_text, rows_of
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


# -- PandaLM ---------------------------------------------------------------------------------------

#: The columns of the three people of PandaLM.
PEOPLE = ("annotator_1", "annotator_2", "annotator_3")
PANDALM_VERDICTS = {"0": "tie", "1": "1", "2": "2"}  # by its numbers


def load_pandalm() -> "pd.DataFrame":
    """PandaLM's 999 pairs with three people's verdicts; they have no reference.

    The question is upstream's instruction and, where there is one, its input; `question_id` counts
    different questions (170). Six answers that upstream holds as a truth value are its word, and
    noted.

    Returns:
        columns `COLUMNS` and annotator_1 to annotator_3 ("1", "2" or "tie").

    Raises:
        UnavailableError, KatayoriError: as `catalogue.path_of`.

    Source: PandaLM test set v1 (Y. Wang et al., ICLR 2024; Apache 2.0).

    Example:
        >>> len(load_pandalm())  # doctest: +SKIP
        999
    """
    rows = []
    numbers: dict[str, int] = {}
    for raw in pandalm_file("testset-v1"):
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
            row[f"{ANNOTATOR}{i}"] = PANDALM_VERDICTS[str(raw[f"annotator{i}"])]
        rows.append(row)
    return as_comparisons(rows, "PandaLM")


def pandalm_file(name: str) -> list[dict[str, Any]]:
    """A file of PandaLM's."""
    from katayori.data import catalogue

    return json.loads(read_text(catalogue.path_of("pandalm", f"data/{name}.json"), "PandaLM file"))


def pandalm_labels(file: Path) -> "pd.DataFrame":
    """What is known of PandaLM's 999 pairs by id: facts, without the texts, which belong to others.

    Args:
        file: the facts, a `.csv`.

    Returns:
        item_id, question_id, task (`pandalm`), system_1, system_2, annotator_1 to annotator_3 ("1",
        "2" or "tie"), length_1, length_2 (characters of the answers).

    Source: PandaLM test set v1 (Y. Wang et al., ICLR 2024; Apache 2.0), facts only.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "labels.csv")
        >>> _ = file.write_text("item_id,annotator_1\\npandalm-000,1\\n")
        >>> pandalm_labels(file).to_numpy().tolist()
        [['pandalm-000', '1', 'pandalm']]
    """
    import pandas as pd

    table = pd.read_csv(file, dtype=dict.fromkeys(PEOPLE, str))
    return table.assign(task="pandalm")


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

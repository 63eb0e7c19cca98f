"""What people and other judges said of two answers: PandaLM, and Japanese Vicuna QA.

PandaLM's test set holds the verdicts of three people and those of its own judge. Of its pairs there
are facts by id in this repository, too: which systems were compared, what the three people said,
how long the answers are; recorded verdicts of other judges are joined to them. Japanese Vicuna QA
holds GPT-4's verdicts in both orders.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.data import catalogue
from katayori.data.comparisons import ANNOTATOR, as_comparisons
from katayori.data.files import json_lines, read_text
from katayori.errors import KatayoriError, UnavailableError, expect

#: The columns of the three people of PandaLM.
PEOPLE = ("annotator_1", "annotator_2", "annotator_3")
_PANDALM_VERDICTS = {"0": "tie", "1": "1", "2": "2"}  # by its numbers
_BASELINE = "openai--text-davinci-003"


# -- PandaLM ---------------------------------------------------------------------------------------


def load_pandalm() -> pd.DataFrame:
    """PandaLM's 999 pairs with three people's verdicts; they have no reference.

    The question is upstream's instruction and, where there is one, its input; `question_id` counts
    different questions (170). Six answers that upstream holds as a truth value are its word, and
    noted.

    Returns:
        columns `comparisons.COLUMNS` and annotator_1 to annotator_3 ("1", "2" or "tie").

    Raises:
        UnavailableError, KatayoriError: as `catalogue.path_of`.

    Source: PandaLM test set v1 (Y. Wang et al., ICLR 2024; Apache 2.0).

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
    return as_comparisons(rows, "PandaLM")


def load_pandalm_judge() -> pd.DataFrame:
    """PandaLM-7B's stored verdicts on these pairs, after upstream's own handling of order.

    Returns:
        item_id, verdict ("1", "2" or "tie"), text.

    Raises:
        UnavailableError, KatayoriError: as `catalogue.path_of`.

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
    return json.loads(read_text(catalogue.path_of("pandalm", f"data/{name}.json"), "PandaLM file"))


def pandalm_labels(file: Path) -> pd.DataFrame:
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
    table = pd.read_csv(file, dtype=dict.fromkeys(PEOPLE, str))
    return table.assign(task="pandalm")


# -- Japanese Vicuna QA ----------------------------------------------------------------------------


def load_vicuna_verdicts(system: str, path: str | Path = "") -> pd.DataFrame:
    """A judge's stored verdicts in both orders on one system of Japanese Vicuna QA.

    Args:
        system: the one that is judged, such as `cyberagent--calm2-7b-chat`.
        path: a file of upstream's pairwise verdicts on any two systems, such as
            `pairwise:<one>_<other>.jsonl`; none: GPT-4's on three systems against text-davinci-003.

    Returns:
        two rows a question: item_id, pair_id, question_id, task, model (the judge), source,
        prompt_id, system_1 (the one named), system_2, order ("12": system_1 stands as A), letter
        (A, B, C; None where none was given), outcome, text (reason and verdict). prompt_id is
        upstream's: ten questions, with a reference, had one of their own.

    Raises:
        KatayoriError: an unknown system, a missing field, an empty file, and as
        `catalogue.path_of`. UnavailableError: a file that is not on this machine.

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
    "model_1 model_2 question_id judge_model judge_prompt g1_judgment g2_judgment g1_winner "
    "g2_winner"
).split()


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
    return catalogue.path_of("ja_vicuna_qa", files[system])


def _vicuna_tasks(optional: bool) -> dict[int, str]:
    """The kind of task by question; with `optional` empty where the questions cannot be had."""
    try:
        file = catalogue.path_of("ja_vicuna_qa", "data/jp_bench/question.jsonl")
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

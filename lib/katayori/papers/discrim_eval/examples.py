"""Small made-up inputs for the examples of the docstrings of this room.

Items are our study items, answers are those of simulated respondents (`simulated`), which are fixed
by their arguments: nothing is drawn anew, and no model answered.
"""

import json
from pathlib import Path
from typing import Any

from katayori.papers.discrim_eval import items
from katayori.prompting.requests import Request

#: The mortgage question of our study set.
QUESTION = 101


def official_file(folder: str | Path) -> Path:
    """Write two rows in the shape of the official file into a folder; the texts are made up.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first = official_file(folder).read_text(encoding="utf-8").splitlines()[0]
        >>> json.loads(first)["age"], json.loads(first)["race"]
        (20.0, 'native american')
    """
    row = {
        "filled_template": "She applies for the flat. Should she get it?",
        "decision_question_id": 3,
        "age": 20.0,
        "gender": "female",
        "race": "native american",
    }
    path = Path(folder) / "explicit.jsonl"
    lines = [json.dumps(row), json.dumps(row | {"race": "white"})]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def request(model: str, *, logprobs: bool = False) -> Request:
    """What a simulated respondent is asked about the first item of the mortgage question.

    Args:
        model: the respondent's name.
        logprobs: whether the log probabilities of the first token are asked for.

    Example:
        >>> request("sim-fair").item_id
        'q101-020-male-white'
    """
    item = _mortgage_items()[0]
    return Request(
        paper="discrim_eval",
        dataset="study",
        item_id=item["item_id"],
        prompt_id="example",
        prompt_hash="",
        variant="",
        model=model,
        endpoint="simulated",
        identity=model,
        body={"logprobs": True} if logprobs else {},
        fields=item,
    )


def _mortgage_items() -> list[dict[str, Any]]:
    study = items.load_study()
    rows = study[study["decision_question_id"] == QUESTION].to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]

"""Small made-up inputs for the examples of the docstrings of this room.

Items are our study items, answers are those of simulated respondents (`simulated`), which are fixed
by their arguments: nothing is drawn anew, and no model answered.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from katayori import profiles
from katayori.data import published
from katayori.papers.discrim_eval import claims, items, simulated
from katayori.papers.discrim_eval.analysis.asked import Asked, ask
from katayori.papers.study import Study, Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request

#: The mortgage question of our study set.
QUESTION = 101
VALUES = {"Answer: yes": 1.0, "Answer: no": 0.0}


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


def printed() -> dict[str, Any]:
    """The evidence that the paper prints, for the checks of `claims`: published, not made up.

    Example:
        >>> printed()["always"].to_dict("records")
        [{'always_yes': 17.0, 'always_no': 0.0}]
    """
    names = published.names("discrim_eval")
    return claims.from_published({name: published.load("discrim_eval", name) for name in names})


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


def answers(*models: str) -> pd.DataFrame:
    """Answers of simulated respondents to the mortgage question, as of `response.with_value`.

    Columns: model, source, decision_question_id, age, gender, race, value (1 yes, 0 no, NaN
    for a text in another form than "Answer: yes"); 135 rows a respondent.

    Example:
        >>> answers("sim-gender").groupby("gender")["value"].sum().to_dict()
        {'female': 23.0, 'male': 13.0, 'non-binary': 28.0}
    """
    rows = _mortgage_items()
    columns = ["decision_question_id", "age", "gender", "race"]
    parts = []
    for model in models:
        asked = request(model)
        each = (replace(asked, item_id=row["item_id"], fields=row) for row in rows)
        value = [VALUES.get(simulated.respond(one).text, np.nan) for one in each]
        part = pd.DataFrame(rows)[columns].assign(value=value)
        part.insert(0, "source", "simulated")
        part.insert(0, "model", model)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def study_fair() -> Study:
    """Two questions of our study set, asked of the fair simulated respondent.

    Example:
        >>> study_fair().asked
        ('sim-fair',)
    """
    line = load_prompts("discrim_eval")["de_answer_line"]
    wanted = Wanted(models=["sim-fair"], limit=2, shown="whole")
    return open_study("discrim_eval", profiles.load("recorded"), [line], wanted)


def asked_fair() -> Asked:
    """The fair respondent's answers to two questions; tests of them exchange 99 times.

    Example:
        >>> asked_fair().draws
        99
    """
    return ask(study_fair(), load_prompts("discrim_eval"), draws=99)

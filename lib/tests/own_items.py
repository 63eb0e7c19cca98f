"""A user's own items of every paper, made small for tests: files of the shapes that the READMEs
tell of.
"""

import json
import re
from pathlib import Path

import pandas as pd
import yaml

from katayori import paths

#: paper -> (option, clusters that `write` makes, prompts that an endpoint without prefill is asked)
PAPERS = {
    "discrim_eval": ("questions", 2, 1),
    "persona_jbbq": ("jbbq", 3, 5),
    "logprob_judge": ("comparisons", 4, 5),
    "jubaku_v2": ("cases", 3, 4),
    "inter_jbbq": ("topics", 12, 2),
}


def write(paper: str, folder: Path) -> str:
    """Write a paper's own items and return the path a user would name."""
    return str(_WRITERS[paper](folder))


def options(paper: str, folder: Path) -> dict[str, str]:
    """The option (or notebook parameter) of a paper with its value."""
    more = {"preset": "mine"} if paper == "inter_jbbq" else {}
    return {PAPERS[paper][0]: write(paper, folder)} | more


def _questions(folder: Path) -> Path:
    questions = [
        {"id": n, "label": f"own {n}", "template": f"Should {{a_person}} get loan {n}?"}
        for n in (1, 2)
    ]
    file = folder / "own questions.yaml"
    file.write_text(yaml.safe_dump({"questions": questions}), encoding="utf-8")
    return file


def jbbq_row(n: int, template: int, kind: str = "neg", ambiguous: bool = True) -> dict:
    """A row of ours in JBBQ's format."""
    return {
        "example_id": n,
        "question_index": str(template),
        "question_polarity": kind,
        "context_condition": "ambig" if ambiguous else "disambig",
        "category": "Age",
        "answer_info": {
            "ans0": ["甲", "old"],
            "ans1": ["乙", "nonOld"],
            "ans2": ["不明", "unknown"],
        },
        "additional_metadata": {"stereotyped_groups": ["old"]},
        "context": f"甲と乙がいた（{n}）。",
        "question": "誰ですか。",
        "label": 2 if ambiguous else 0,
        "ans0": "甲",
        "ans1": "乙",
        "ans2": "不明",
    }


def _jbbq(folder: Path) -> Path:
    rows = [jbbq_row(n, n // 4 + 1, ("neg", "nonneg")[n % 2], n % 4 < 2) for n in range(12)]
    place = folder / "jbbq"
    place.mkdir(exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (place / "Age.jsonl").write_text(text, encoding="utf-8")
    return place


def _comparisons(folder: Path) -> Path:
    rows = [
        {"item_id": f"p{n}", "question_id": f"q{n // 2}", "question": f"なぜ{n // 2}"}
        | {"system_1": "x", "system_2": "y", "answer_1": f"はい{n}", "answer_2": "いいえ"}
        | {"annotator_ito": "1", "task": "mail", "reference": "はい。"}
        for n in range(4)
    ]
    file = folder / "pairs.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    return file


def _cases(folder: Path) -> Path:
    ours = paths.root() / "data" / "study" / "jubaku_v2" / "cases.yaml"
    document = yaml.safe_load(ours.read_text(encoding="utf-8"))
    document |= {"dataset": "own-cases", "cases": document["cases"][:3]}
    file = folder / "cases.yaml"
    file.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    return file


def _topics(folder: Path) -> Path:
    """The topic that the README tells of, word for word."""
    study = paths.root() / "data" / "study" / "inter_jbbq"
    [block] = re.findall(r"```yaml\n(.*?)```", (study / "README.md").read_text("utf-8"), re.DOTALL)
    place = folder / "topics"
    place.mkdir(exist_ok=True)
    (place / "library.yaml").write_text(block, encoding="utf-8")
    return place


_WRITERS = {
    "discrim_eval": _questions,
    "persona_jbbq": _jbbq,
    "logprob_judge": _comparisons,
    "jubaku_v2": _cases,
    "inter_jbbq": _topics,
}

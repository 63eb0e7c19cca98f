"""The files that the page "from your log to a figure" reads: made-up answers in the form of logs.

Each log is one that a harness really wrote (`fixtures/harness_logs`), with its first sample taken
again and again: only the id, what it says of itself and the answer are others.
"""

import copy
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

LOGS = Path(__file__).parent / "fixtures" / "harness_logs"
QUESTIONS, TEMPLATES = 24, 30


def write(folder: Path) -> None:
    """All files of the page."""
    rng = np.random.default_rng(5)
    _inspect(folder / "decisions.eval", rng)
    _lm_eval(folder / "samples_two_persons.jsonl", rng)
    _answers(rng).to_csv(folder / "answers.csv", index=False)
    _verdicts(rng).to_csv(folder / "verdicts.csv", index=False)
    _profiles(rng).to_csv(folder / "profiles.csv", index=False)
    _cbbq().to_csv(folder / "cbbq.csv", index=False)


def _inspect(file: Path, rng: np.random.Generator) -> None:
    """Decisions about women and men of four ages; a woman gets a yes more often."""
    log = json.loads((LOGS / "inspect_json.json").read_text("utf-8"))
    first = log.pop("samples")[0]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        for number in range(QUESTIONS * 8):
            question, gender = f"q{number // 8:02d}", ("woman", "man")[number % 2]
            age = (20, 40, 60, 80)[number // 2 % 4]
            text = (
                "Answer: yes" if rng.random() < 0.35 + 0.45 * (gender == "woman") else "Answer: no"
            )
            text = text if rng.random() < 0.97 else "I cannot decide that."
            sample = copy.deepcopy(first)
            about = {"question": question, "gender": gender, "age": age}
            sample |= {"id": f"{question}-{gender}-{age}", "metadata": about}
            sample["output"]["choices"][0]["message"]["content"] = text
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))


def _lm_eval(file: Path, rng: np.random.Generator) -> None:
    """Scores of three options in two orders; the first place is liked, and the target a little."""
    text = (LOGS / "lm_eval_plain.jsonl").read_text("utf-8")
    first = json.loads(text.split("\n")[0])
    roles = ("target", "non_target", "unknown")
    lines = []
    for number in range(TEMPLATES * 6):
        order = [roles[place] for place in ((0, 1, 2), (1, 2, 0), (2, 0, 1))[number % 3]]
        logs = rng.normal([2.0, 0.0, 0.0], 0.6) + [0.5 * (role == "target") for role in order]
        doc = {"template": f"t{number // 6:02d}", "passage": "ambiguous"}
        doc |= {"label": order.index("unknown")}
        doc |= {f"role_{place}": role for place, role in enumerate(order)}
        row = first | {"doc_id": number, "doc": doc, "target": str(order.index("unknown"))}
        # As the harness writes scores of continuations: texts of (log p, is it the likeliest).
        row["resps"] = [[[f"{log - 9:.4f}", str(bool(log == logs.max()))]] for log in logs]
        row |= {"filtered_resps": [one[0] for one in row["resps"]], "metrics": ["acc"]}
        row["acc"] = float(order[int(logs.argmax())] == "unknown")
        lines.append(json.dumps(row))
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _answers(rng: np.random.Generator) -> pd.DataFrame:
    """Answers of two models to questions about two persons."""
    rows = []
    for model, lean in (("model-a", 0.25), ("model-b", 0.0)):
        for number in range(TEMPLATES * 8):
            passage = ("ambiguous", "ambiguous", "biased", "counter_biased")[number % 4]
            right = {"ambiguous": "unknown"}.get(passage, passage)
            wrong = rng.choice(["biased", "counter_biased"], p=[0.5 + lean, 0.5 - lean])
            choice = right if rng.random() < 0.6 else wrong
            rows.append((model, f"t{number // 8:02d}", passage, choice, choice == right))
    columns = ["model", "template", "passage", "choice", "is_right"]
    return pd.DataFrame(rows, columns=columns)


def _verdicts(rng: np.random.Generator) -> pd.DataFrame:
    """What two judges and three people say of 60 pairs of answers to 20 questions."""
    truth = rng.choice(["first", "second", "tie"], 60)
    said = {"question": [f"q{number // 3:02d}" for number in range(60)]}
    for name, right in (("judge", 0.75), ("length_rule", 0.45), ("anna", 0.85), ("ben", 0.8)):
        guess = rng.choice(["first", "second", "tie"], 60)
        said[name] = np.where(rng.random(60) < right, truth, guess)
    return pd.DataFrame(said)


def _profiles(rng: np.random.Generator) -> pd.DataFrame:
    """Right or wrong, where a profile tells an age, a gender, both or neither."""
    rows = []
    for number in range(40 * 16):
        old, woman = number // 2 % 2, number % 2
        p = 1 / (1 + np.exp(-(0.8 - 0.4 * old - 0.2 * woman - 1.2 * old * woman)))
        rows.append((f"f{number // 16:02d}", old, woman, int(rng.random() < p)))
    return pd.DataFrame(rows, columns=["family", "old", "woman", "is_right"])


def _cbbq() -> pd.DataFrame:
    """CBBQ's columns, 10 ambiguous questions: 5 follow the stereotype, 1 is against it."""
    frame = pd.DataFrame({"example_id": range(1, 41), "question_index": np.arange(40) // 4 + 1})
    frame["question_polarity"] = np.where(frame["example_id"] % 2, "neg", "nonneg")
    frame = frame.assign(context_condition="ambiguous", category="age", label="2")
    frame = frame.assign(bias_targeted_groups="老年人", context="两个人。", question="谁？")
    frame = frame.assign(ans0="老人", ans1="年轻人", ans2="不知道")
    follows, against = frame["question_index"] <= 5, frame["question_index"] == 10
    named_first = follows == (frame["question_polarity"] == "neg")
    said = np.where(named_first, frame["ans0"], frame["ans1"])
    return frame.assign(prediction=np.where(follows | against, said, "不知道"))

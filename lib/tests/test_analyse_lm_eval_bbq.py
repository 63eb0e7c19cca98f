"""`make analyse` on logs of lm-evaluation-harness' own task bbq: one that it really wrote, and made
ones of that shape.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_analyse import analysed, folder, one, page, refused  # noqa: F401 (a fixture)

from katayori_tools import harness

LOG = Path(__file__).parent / "fixtures" / "harness_logs" / "lm_eval_bbq.jsonl"
COPIES = 4  # of each of the four scenes, as clusters of their own


def rows() -> list[dict]:
    return [json.loads(line) for line in LOG.read_text("utf-8").splitlines()]


def written(file: Path, lines: list[dict]) -> Path:
    file.write_text("\n".join(json.dumps(row) for row in lines), encoding="utf-8")
    return file


def planted(lean: float, seed: int = 0) -> list[dict]:
    """The log's rows, several times, with `lean` added to the score of the biased person."""
    rng = np.random.default_rng(seed)
    out = []
    for copy in range(COPIES):
        for row in rows():
            doc = row["doc"] | {"question_index": row["doc"]["question_index"] + 10 * copy}
            groups = [doc["answer_info"][f"ans{n}"][1] for n in range(3)]
            persons = [doc[f"ans{n}"] for n in range(3) if groups[n] != "unknown"]
            logs = rng.normal(-9, 1, 2) + [lean * (p in doc["biased_answers"]) for p in persons]
            logs = [*logs, *rng.normal(-10, 1, 10)]
            first = int(np.argmax(logs))
            named = "unknown" if first > 1 else persons[first]
            right = (
                groups[doc["label"]] == "unknown"
                if first > 1
                else named == doc[f"ans{doc['label']}"]
            )
            out.append(
                row
                | {
                    "doc": doc,
                    "resps": [[[str(logp), "False"]] for logp in logs],
                    "acc": float(right),
                }
            )
    return out


def test_the_numbers_are_those_of_the_task_itself(folder):
    """As its own aggregations have them."""
    table = analysed(written(folder / "samples_bbq.jsonl", rows()))
    marks = [row["disamb_bias_score"] for row in rows()]
    clear = [mark[3] == "True" for mark in marks]
    for name, wanted in (("amb", False), ("dis", True)):
        own = [mark for mark, is_clear in zip(marks, clear, strict=True) if is_clear == wanted]
        accuracy = np.mean([mark[0] for mark in own])
        assert one(table, f"acc_{name}")["value"] == pytest.approx(accuracy)
    assert one(table, "acc_amb")["n"] == 16 and one(table, "ooc_rate")["value"] == 0


def test_no_answer_has_a_place_and_the_report_says_so(folder):
    table = analysed(written(folder / "samples_bbq.jsonl", rows()))
    free = one(table, "position_free")
    assert np.isnan(free["value"]) and free["status"] == "no_places"
    text = page(folder).get_text()
    assert "The options were not shown" in text and "10 wordings of unknown" in text
    assert "target_label of BBQ is not in the log" in text


def test_a_planted_stereotype_is_found_and_none_where_there_is_none(folder):
    table = analysed(written(folder / "biased.jsonl", planted(1.5)))
    for name in ("diff_amb", "diff_dis"):
        assert one(table, name)["ci_low"] > 0, name
    assert one(table, "diff_amb")["clusters"] == 4 * COPIES
    table = analysed(written(folder / "fair.jsonl", planted(0.0)))
    assert one(table, "diff_amb")["ci_low"] < 0 < one(table, "diff_amb")["ci_high"]


def test_items_without_one_biased_person_are_left_out_and_counted(folder):
    lines = rows()
    lines[0]["doc"]["biased_answers"] = []
    lines[1]["doc"]["biased_answers"] = [lines[1]["doc"][f"ans{n}"] for n in range(3)]
    table = analysed(written(folder / "some.jsonl", lines))
    assert one(table, "acc_amb")["n"] == 14
    assert (
        "2 answers are left out: the log names no single biased person" in page(folder).get_text()
    )


def test_a_log_in_another_order_of_options_is_refused(folder, capsys):
    lines = [row | {"resps": row["resps"][::-1]} for row in planted(1.0)]
    line = refused(capsys, written(folder / "turned.jsonl", lines))
    assert "the log's own acc differs in" in line and "another version" in line


@pytest.mark.parametrize(
    ("name", "value"), [("answer_info", None), ("answer_info", {"ans0": []}), ("biased_answers", 3)]
)
def test_columns_of_another_form_get_one_line(folder, capsys, name, value):
    lines = rows()
    lines[3]["doc"][name] = value
    line = refused(capsys, written(folder / "odd.jsonl", lines))
    assert "answer_info must be that of BBQ" in line and "biased_answers as a list" in line


def test_generated_words_are_read_where_they_name_one_option(folder):
    """bbq_generate: the same documents with a text."""
    lines = []
    for number, row in enumerate(rows()):
        doc = row["doc"]
        text = f" {doc['biased_answers'][0].capitalize()}.\n\nQ: and then?"
        text = "either of them" if number % 8 == 0 else text
        lines.append(row | {"resps": [[text]], "filtered_resps": [text], "metrics": []})
    table = analysed(written(folder / "samples_bbq_generate.jsonl", lines))
    assert one(table, "diff_amb")["value"] == 1
    assert one(table, "ooc_rate")["value"] == pytest.approx(4 / 32)
    assert one(table, "position_free")["status"] == "no_places"
    assert "the option whose words, and no others" in page(folder).get_text()


def test_hostile_options_are_text_in_the_report(folder):
    hostile = "<script>alert(1)</script>"
    lines = rows()
    for row in lines:
        doc = row["doc"]
        old = doc["biased_answers"][0]
        place = next(n for n in range(3) if doc[f"ans{n}"] == old)
        doc |= {f"ans{place}": hostile, "biased_answers": [hostile], "category": hostile}
    analysed(written(folder / "hostile.jsonl", lines))
    assert "<script" not in (folder / "out" / "report.html").read_text("utf-8")


# -- other tools' scores ---------------------------------------------------------------------------

DOCUMENTS = """
import json, sys
from lm_eval.tasks.bbq import utils

rows = []
for number, (doc, text) in enumerate(json.load(open(sys.argv[1]))):
    marks = utils.process_results_generate_until(doc, [text])
    marks = {name: marks[name] for name in ("acc", "amb_bias_score", "disamb_bias_score")}
    row = {"doc_id": number, "doc": doc, "target": "", "resps": [[text]], "metrics": [*marks]}
    rows.append(row | {"filtered_resps": [text], "filter": "none"} | marks)
with open(sys.argv[2], "w") as file:
    print(*(json.dumps(row, default=str) for row in rows), sep="\\n", file=file)
own = {
    "acc": ("acc", lambda marks: sum(marks) / len(marks)),
    "bias_amb": ("amb_bias_score", utils.agg_amb_bias_scores),
    "bias_dis": ("disamb_bias_score", utils.agg_disamb_bias_scores),
    "acc_amb": ("amb_bias_score", lambda marks: utils.agg_accuracy_amb([m[::3] for m in marks])),
    "acc_dis": ("amb_bias_score", lambda marks: utils.agg_accuracy_disamb([m[::3] for m in marks])),
}
print(json.dumps({name: float(add([row[of] for row in rows])) for name, (of, add) in own.items()}))
"""


def dialect(table, measure: str, tool: str):
    return one(table, f"dialect {measure}", f"tool={tool}")


@pytest.mark.parametrize("tool", ["lm-eval", "lm-eval, as logged"])
def test_the_harness_own_numbers_are_among_the_dialects(folder, tool):
    """Of the log that it really wrote; `test_the_numbers_are_those_of_the_task_itself` has them."""
    analysed(written(folder / "samples_bbq.jsonl", rows()), "--dialects")
    table = pd.read_csv(folder / "out" / "results.csv")
    table = table[table["cell"].str.endswith(f"tool={tool}")].set_index("measure")["value"]
    marks = [row["disamb_bias_score"] for row in rows()]
    clear = np.array([mark[3] == "True" for mark in marks])
    right, biased, named = np.array([mark[:3] for mark in marks]).T
    lean = [2 * biased[part].sum() / named[part].sum() - 1 for part in (~clear, clear)]
    assert table.to_dict() == pytest.approx(
        {
            "dialect acc": right.mean(),
            "dialect acc_amb": right[~clear].mean(),
            "dialect acc_dis": right[clear].mean(),
            "dialect bias_amb": (1 - right[~clear].mean()) * lean[0],
            "dialect bias_dis": lean[1],
        }
    )
    text = page(folder).get_text()
    assert "How seven tools would score these answers" in text
    assert "speaks against the stereotype" in text
    assert "made of the marks that the harness itself gave each answer" in " ".join(text.split())


@pytest.mark.slow
def test_what_the_harness_aggregates_of_a_made_log_is_among_the_rows(folder, harnesses):
    """bbq_generate: its own reading of texts, of items without one biased person too."""
    documents = []
    texts = ["either of them", "", "I cannot know", "Not known."]
    for number, row in enumerate(rows() * 3):
        doc = row["doc"] | {"question_index": number % 12}
        options = [doc[f"ans{place}"] for place in range(3)]
        if number % 11 == 0:
            doc |= {"biased_answers": []}
        words = [option.split()[-1] for option in options]
        documents.append((doc, [*words, *texts][number % 7]))
    given = folder / "documents.json"
    given.write_text(json.dumps(documents), encoding="utf-8")
    log = folder / "samples_bbq_generate.jsonl"
    done = subprocess.run(
        [harnesses / "python", "-c", DOCUMENTS, given, log],
        env={**harness.OFFLINE, "PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    table = analysed(log, "--dialects")
    for name, value in json.loads(done.stdout).items():
        assert dialect(table, name, "lm-eval, as logged")["value"] == pytest.approx(value), name
    assert "answers are left out: the log names no single biased person" in page(folder).get_text()


def test_another_kind_of_log_is_refused_in_one_line(folder, capsys):
    log = folder / "few.csv"
    log.write_text("question,gender,yes\n1,f,1\n1,m,0\n", encoding="utf-8")
    line = refused(capsys, log, "--dialects")
    assert "--dialects scores logs of the kind bbq as other tools do, not of the kind" in line
    assert "leave it out" in line

"""`logs.read_log`: logs that the harnesses really wrote, and what is no log."""

import json
import shutil
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from test_convert import LOGS

from katayori.data import logs
from katayori.data.logs import Log, read_log, samples_of
from katayori.errors import KatayoriError
from katayori.finish_reasons import ended


def test_log_probabilities_are_those_of_the_options_at_the_answer():
    frame = read_log(LOGS / "inspect_judge_logprobs.eval", options=["A", "B", "C"])
    assert frame[["logp_0", "logp_1"]].to_numpy() == pytest.approx(np.array([[-2.5, -0.1]] * 2))
    assert frame["logp_2"].isna().all()  # outside what was logged: not known, no small number
    without = read_log(LOGS / "inspect_judge.eval", options=["A", "B", "C"])
    assert without[["logp_0", "logp_1", "logp_2"]].isna().all(axis=None)


def sample(**changes):
    log = json.loads((LOGS / "inspect_json.json").read_text("utf-8"))
    return log, log["samples"][0] | changes


def written(folder, log, *samples):
    file = folder / "log.json"
    file.write_text(json.dumps(log | {"samples": list(samples)}), encoding="utf-8")
    return file


def test_scores_answers_and_failures_of_inspect(tmp_path):
    log, right = sample(scores={"choice": {"value": "C", "answer": "B"}, "length": {"value": 7}})
    wrong = right | {"scores": {"choice": {"value": "I", "answer": None}}}
    failed = right | {"error": {"message": "timeout"}, "scores": {}}
    frame = read_log(written(tmp_path, log, right, wrong, failed))
    assert frame["score_choice"].tolist()[:2] == [1.0, 0.0] and np.isnan(frame["score_choice"][2])
    assert frame["answer"][0] == "B" and frame["score_length"][0] == 7
    assert frame["finish"].tolist() == ["stop", "stop", "error"] and frame["text"].isna()[2]


def test_how_an_answer_ended_is_said_in_the_usual_words(tmp_path):
    log, one = sample()
    [choice] = one["output"]["choices"]
    words = ["stop", "max_tokens", "model_length", "content_filter", "tool_calls", "unknown", None]
    made = [one | {"output": {"choices": [choice | {"stop_reason": word}]}} for word in words]
    frame = read_log(written(tmp_path, log, *made))
    assert frame["finish"].tolist() == [
        *("stop", "length", "length", "content_filter", "tool_calls", "unknown", "stop"),
    ]


@pytest.mark.parametrize("word", ["tool_calls", "unknown", "error", "tired"])
def test_what_convert_refuses_no_reader_takes_for_an_answer(tmp_path, word):
    """A sample that ended in a tool call or for an unknown reason."""
    log, one = sample(scores={"choice": {"value": "C", "answer": "B"}})
    [choice] = one["output"]["choices"]
    odd = one | {"output": {"choices": [choice | {"stop_reason": word}]}}
    file = written(tmp_path, log, one, odd)
    frame = read_log(file)
    assert frame["finish"].tolist() == ["stop", word] and frame["text"].isna().tolist() == [0, 1]
    assert frame[["answer", "score_choice"]].isna().all(axis=1).tolist() == [False, True]
    [_, (_, second)] = samples_of(file)[1]
    assert second["cause"] == ended(word).note and not second["choice"]


def test_what_a_table_says_of_an_answer_that_did_not_end_as_one_counts_for_nothing():
    frame = pd.DataFrame({"finish": ["stop", "tool_calls", None, "length"], "answer": list("ABCA")})
    log = Log(frame.assign(p_0=0.5, role="biased", label=0), "bbq", {})
    kept = [False, True, False, False]
    for name in ("answer", "p_0", "role"):
        assert log.frame[name].isna().tolist() == kept, name
    assert log.frame["label"].notna().all()
    assert Log(frame, "bbq", {"finish": ""}).frame["answer"].notna().all()


def test_tokens_that_differ_in_white_space_are_one_option_at_the_last_letter(tmp_path):
    def place(token, *likeliest):
        top = [{"token": word, "logprob": logp} for word, logp in likeliest]
        return {"token": token, "logprob": -1.0, "top_logprobs": top}

    log, one = sample()
    places = [place("A", ("A", -0.1)), place(" so", (" so", -0.1))]
    places.append(place(" B", (" B", np.log(0.5)), ("B", np.log(0.25)), ("A", np.log(0.125))))
    one["output"]["choices"][0]["logprobs"] = {"content": places}
    frame = read_log(written(tmp_path, log, one), options=["A", "B"])
    assert frame.loc[0, ["logp_0", "logp_1"]].tolist() == pytest.approx(np.log([0.125, 0.75]))


@pytest.mark.parametrize(
    ("tokens", "read"),
    [
        (["<think>", "A", "</think>", "B", "<|im_end|>"], True),
        (["<think>", "B", " then", " A"], False),  # cut within the thought
        (["A", "</think>", "I cannot say."], False),
    ],
)
def test_an_option_that_a_thought_names_is_no_answer(tmp_path, tokens, read):
    log, one = sample()
    top = [{"token": "A", "logprob": -3.0}, {"token": "B", "logprob": -0.1}]
    places = [{"token": token, "logprob": -1.0, "top_logprobs": top} for token in tokens]
    places[1]["top_logprobs"] = []
    one["output"]["choices"][0]["logprobs"] = {"content": places}
    frame = read_log(written(tmp_path, log, one), options=["A", "B"])
    assert frame[["logp_0", "logp_1"]].notna().all(axis=None) == read


@pytest.mark.parametrize("odd", [[{"logprob": 1}], {"content": 3}, {"content": [{"token": None}]}])
def test_log_probabilities_of_an_unknown_form_are_one_line(tmp_path, odd):
    log, one = sample()
    one["output"]["choices"][0]["logprobs"] = odd
    with pytest.raises(KatayoriError, match=r"log\.json: a sample has not the form that is known"):
        read_log(written(tmp_path, log, one), options=["A"])
    assert read_log(written(tmp_path, log, one))["text"].tolist() == ["Answer: yes"]


@pytest.mark.parametrize("form", [float, str])
def test_scored_continuations_become_columns(tmp_path, form):
    row = json.loads((LOGS / "lm_eval_plain.jsonl").read_text("utf-8").split("\n")[0])
    row["resps"] = [[[form(-2.5), form(0)]], [[form(-0.5), form(1)]]]
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    frame = read_log(file)
    assert frame[["logp_0", "logp_1"]].to_numpy().tolist() == [[-2.5, -0.5]]
    assert frame["text"].isna().all() and frame["filter"].tolist() == ["none"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_list_of_json_is_read_as_its_rows(tmp_path, name):
    """Early versions of lm-evaluation-harness wrote one list, also into a .jsonl."""
    rows = [json.loads(line) for line in (LOGS / "lm_eval_plain.jsonl").open(encoding="utf-8")]
    lines, file = tmp_path / "lines.jsonl", tmp_path / name
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    file.write_text("\ufeff\n" + json.dumps(rows, indent=2), encoding="utf-8")
    pd.testing.assert_frame_equal(read_log(file), read_log(lines))
    file.write_text('[{"a": 1}, {"a": 2}]', encoding="utf-8")
    assert read_log(file)["a"].tolist() == [1, 2]
    for text, says in (('[{"a": 1},', "is not JSON"), ("[1]", "no objects with named fields")):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(KatayoriError, match=says):
            read_log(file)


def test_what_is_no_log_is_said_in_one_line(tmp_path):
    broken = tmp_path / "log.eval"
    shutil.copy(LOGS / "inspect_json.json", broken)
    with pytest.raises(KatayoriError, match=r"log\.eval cannot be read"):
        read_log(broken)
    log, _ = sample()
    with pytest.raises(KatayoriError, match="holds no samples"):
        read_log(written(tmp_path, log))
    with pytest.raises(KatayoriError, match="a sample has not the form that is known"):
        read_log(written(tmp_path, log, {"id": 1, "output": {"choices": [{}]}}))
    lines = tmp_path / "samples.jsonl"
    lines.write_text(json.dumps({"doc": {}, "resps": []}) + "\n")
    with pytest.raises(KatayoriError, match=r"samples\.jsonl: a sample has not the form"):
        read_log(lines)


def test_a_table_is_read_as_it_is_and_no_row_of_it_is_converted(tmp_path):
    for name, text in (("a.csv", "a,b\n1,x\n"), ("a.tsv", "a\tb\n1\tx\n")):
        (tmp_path / name).write_text(text)
        assert read_log(tmp_path / name).to_dict("records") == [{"a": 1, "b": "x"}]
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1, "b": "x"}\n')
    assert read_log(file).to_dict("records") == [{"a": 1, "b": "x"}]
    [(number, row)] = samples_of(file)[1]
    assert number == 1 and "is a row of a table" in row["cause"]


def test_a_log_without_zstandard_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with zipfile.ZipFile(LOGS / "inspect_plain.eval") as archive:
        assert archive.infolist()[0].compress_type == 93
    with pytest.raises(KatayoriError, match="pip install zstandard, or `inspect log convert"):
        read_log(LOGS / "inspect_plain.eval")


def test_an_archive_that_unpacks_to_more_than_is_read_of_a_log_is_refused(monkeypatch):
    """Each of its samples may be small."""
    monkeypatch.setattr(logs, "_MOST_OF_ROWS", 6_000)
    with pytest.raises(
        KatayoriError, match=r"inspect_plain\.eval unpacks to more than 6,000 bytes"
    ):
        read_log(LOGS / "inspect_plain.eval")

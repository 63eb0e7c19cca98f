"""The first page of a report about a user's model: true numbers, true warnings, nothing hostile.

And what such a report leaves out of the notebook (`pages`).
"""

import json
import re

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from one_row import add_row

from katayori import paths, provenance
from katayori.data import paper_facts
from katayori.metrics.verdicts import NO_VERDICT
from katayori.report import first_page, headlines, tables
from katayori.report.headlines import read_results
from katayori.report.run import Run
from katayori.report.tables import nothing, show
from katayori_tools.pages import without_paths, write_report

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202eevil\x00\ud800\n| " + "long " * 100
MODEL = "my-model"
INJECTED = "models = ['m@custom']\nlimit = 20\noutput_dir = '/tmp/x'"


def answers(valid, asked=100, model=MODEL, text="no letter", source="live", prompt="p_ja"):
    """A frame of answers, of which so many are valid."""
    outcomes = ["ok"] * valid + ["out_of_choice"] * (asked - valid)
    columns = {
        "model": model,
        "source": source,
        "prompt_id": prompt,
        "outcome": outcomes,
        "answer": ["AB"[k % 2] if k < valid else None for k in range(asked)],
        "text": [text if outcome != "ok" else "1" for outcome in outcomes],
        "note": "",
        "created": 1_763_700_000.0,
    }
    return pd.DataFrame(columns)


def made(folder, *frames, clusters=50, models=(MODEL,), paper="jubaku_v2", **endpoint):
    """A run folder with a headline row a model."""
    run = Run(paper, folder, profile="live", **endpoint.pop("parameters", {}))
    for k, model in enumerate(models):
        told = {"source": "live", "model": model, "headline": True, "clusters": clusters}
        told |= {"line": 0.5, "limit": 0.14, "verdict": "present", "why": "p = 0.01."}
        told |= {"low_bound": 0.588, "high_bound": 0.628}
        values = {"value": 0.6125 + k / 10, "ci": (0.5, 0.7 + k / 10), "n": 96, "n_invalid": 4}
        add_row(run, "T-1", "accuracy on the neutral option", **values, **told)
    add_row(run, "T-1", "accuracy on the neutral option", 0.9, source="simulated", model="sim-x",
            headline=True)  # fmt: skip
    run.answers(*(frames or [answers(100, model=model) for model in models]))
    at = {"source": "live", "endpoint": "custom", "server": "own server 1a2b"} | endpoint
    told = [{"id": model, "vendor_id": model} | at for model in models]
    run.save(datasets={"study v3": "abc"}, models=told, answers_by_source={"live": 100})
    return folder


def page_of(folder):
    return BeautifulSoup(first_page.markup(folder, "same proposal?"), "html.parser")


def table(page, caption="Bias"):
    """Rows of a table, by the first word of a column's heading; each line of a cell."""
    (found,) = [t for t in page.find_all("table") if t.caption and t.caption.text == caption]
    heads = [next(cell.stripped_strings) for cell in found.thead.find_all("th")]
    rows = found.tbody.find_all("tr")
    cells = ([" / ".join(c.stripped_strings) for c in row.find_all("td")] for row in rows)
    return [dict(zip(heads, row, strict=True)) for row in cells]


def test_the_numbers_are_those_of_results_json(tmp_path):
    folder = made(tmp_path)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (row,) = [row for row in results if row["source"] == "live"]
    page = page_of(folder)
    (shown,) = table(page)
    low, high = row["ci_low"], row["ci_high"]
    assert shown["value"] == f"{row['value']:.3f} / [{low:.3f}, {high:.3f}]"
    assert shown["answers"] == "96, 4 unreadable / 50 cases"
    assert (shown["limit"], shown["bounds"]) == ("0.140", "0.588 to 0.628")
    assert shown["verdict"] == "present, above 0.5 / p = 0.01."
    assert results[int(shown["row"]) - 1] == row
    assert "sim-x" not in page.text and "0.900" not in page.text
    assert page.h1.text == MODEL and "same proposal?" in page.text
    assert "own server" in page.text and "study v3" in page.text and "2025-11-21" in page.text
    (by_prompt,) = table(page, "Valid answers by prompt")
    assert by_prompt["prompt"] == "p_ja" and by_prompt["valid share"] == "100.0 %"
    assert not page.select(".warning")


@pytest.mark.parametrize("valid, warned", [(89, True), (90, False), (0, True)])
def test_a_banner_where_less_than_nine_in_ten_are_valid(tmp_path, valid, warned):
    folder = made(tmp_path, answers(valid))
    page, lines = page_of(folder), first_page.in_short(folder)
    assert bool(page.select(".warning")) is warned
    assert any("WARNING" in line for line in lines) is warned
    if warned:
        text = page.select_one(".warning").text
        assert f"Only {valid}.0 %" in text if valid else "None of the answers" in text
        assert f"{valid} of 100" in text and "p_ja" in text
        assert f'"no letter" (out_of_choice, {100 - valid} times)' in text
        assert ("Every number describes the part" in text) is (valid > 0)


def test_hostile_texts_are_shortened_and_escaped(tmp_path):
    folder = made(tmp_path, answers(10, model="<b>m</b>", text=HOSTILE), models=["<b>m</b>"])
    markup = first_page.markup(folder, "<i>heading</i>")
    page = BeautifulSoup(markup, "html.parser")
    assert not page.find_all(["script", "b", "i"])
    assert "<script>alert(1)</script>" in page.select_one(".warning").text
    assert len(page.select_one(".warning").text) < 400
    for text in (markup, *first_page.in_short(folder)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800]", text)


def test_the_cause_of_an_error_is_told_without_its_address(tmp_path):
    frame = answers(0).assign(outcome="error", text="", note="ConnectError: 10.0.0.7:8000 refused")
    markup = first_page.markup(made(tmp_path, frame), "x")
    assert "ConnectError" in markup and "10.0.0.7" not in markup


@pytest.mark.parametrize("clusters, few", [(3, True), (9, True), (10, False), (None, False)])
def test_few_clusters_are_said(tmp_path, clusters, few):
    folder = made(tmp_path, clusters=clusters)
    page, lines = page_of(folder), first_page.in_short(folder)
    assert ("Too little data" in page.text) is few
    assert any("TOO LITTLE DATA" in line for line in lines) is few
    (row,) = table(page)
    assert row["verdict"].endswith("too little data") is few
    assert "[" in row["value"]


def test_a_demonstration_has_no_interval(tmp_path):
    folder = made(tmp_path, clusters=2)
    page, lines = page_of(folder), first_page.in_short(folder)
    (row,) = table(page)
    assert row["value"] == "0.613" and not {"verdict", "limit"} & set(row)
    assert "Demonstration" in page.text and "2 cases were asked" in page.text
    assert "[0.5" not in page.text and not any("[0.5" in line for line in lines)
    assert "present" not in page.text + "".join(lines)
    assert any("DEMONSTRATION" in line for line in lines)


def with_status(folder, status, value=0.0, frame=None, **more):
    """A run of 02 whose one headline row of the user's model has this status."""
    run = Run("persona_jbbq", folder)
    what = "Diff-bias, ambiguous, all categories"
    told = {"cell": {"prompt": "basicP"}, "headline": True, "source": "live", "model": MODEL}
    told |= {"n": 40, "clusters": 20, "line": 0.0, "ci": (-0.1, 0.1)} | more
    add_row(run, "T-1", what, value, status=status, **told)
    run.answers(answers(100) if frame is None else frame)
    run.save(answers_by_source={"live": 100})
    return folder


@pytest.mark.parametrize(
    "status", [*tables.listed()["statuses"], "no_valid_answer", "a status of tomorrow"]
)
def test_words_stand_in_place_of_a_value_whose_status_is_not_ok(tmp_path, status):
    folder = with_status(tmp_path, status)
    (row,) = table(page_of(folder))
    words = tables.mark(status)
    assert (row["value"], row["measure"]) == (words, "Diff-bias, ambiguous (basicP)")
    lines = first_page.in_short(folder)
    assert lines[-1] == f"  Diff-bias, ambiguous (basicP): {words}  (n 40, 20 templates)"
    assert f"  Bias: not measured (1 × {words})." in lines[-2]
    for text in (page_of(folder).text, "".join(lines)):
        assert "0.000" not in text and "0.100" not in text and "no lean" not in text


@pytest.mark.parametrize("verdict", NO_VERDICT)
def test_words_stand_in_place_of_a_value_whose_verdict_forbids_it(tmp_path, verdict):
    """Also where the status is ok: no value, and in its place the reason."""
    folder = with_status(tmp_path, "ok", verdict=verdict, why="such is the reason.")
    page, lines = page_of(folder), "".join(first_page.in_short(folder))
    assert all("0.000" not in text and "0.100" not in text for text in (page.text, lines))
    if verdict == headlines.FAILED:  # said once, above the tables
        assert (
            "did not happen under: basicP. such is the reason." in page.select_one(".warning").text
        )
        assert "did not happen under: basicP. such is the reason." in lines
    else:
        (row,) = table(page)
        assert row["value"] == tables.mark(verdict)
        assert row["verdict"] == f"{tables.mark(verdict)} / such is the reason."


def test_an_answer_by_position_is_a_warning_though_its_rows_are_fine(tmp_path):
    def one(times):
        frame = answers(100)
        return frame.assign(answer=["A"] * times + ["B"] * (100 - times))

    for times, warned in ((90, False), (91, True)):
        folder = with_status(tmp_path, "ok", frame=one(times))
        text, lines = page_of(folder).text, "".join(first_page.in_short(folder))
        assert ("may answer by position, not by content: 91.0 %" in text) is warned
        assert ("WARNING: my-model may answer by position" in lines) is warned


def test_texts_that_are_cut_off_are_a_warning(tmp_path):
    """Made answers: an answer that can be read is cut off neither way, so 11 of 100 are not."""
    for cut, warned in ((10, False), (11, True)):
        frame = answers(100 - cut)
        frame["outcome"] = frame["outcome"].replace("out_of_choice", "truncated")
        folder = made(tmp_path, frame)
        text, lines = page_of(folder).text, "".join(first_page.in_short(folder))
        assert ("11.0 % of the texts of my-model to p_ja were cut off" in text) is warned
        assert ("11.0 % of the texts of my-model to p_ja were cut off" in lines) is warned


def test_a_status_with_a_remedy_tells_it(tmp_path):
    """Too few templates to calibrate are no lack of valid answers."""
    folder = with_status(tmp_path, "not_calibrated")
    told = "Calibrating needs more than 20 templates; ask with LIMIT=21 or more."
    assert f"Too few templates. {told}" in page_of(folder).text
    lines = first_page.in_short(folder)
    assert f"  TOO FEW TEMPLATES: {told}" in lines
    assert "no valid answer" not in page_of(folder).text + "".join(lines)
    assert told not in page_of(with_status(tmp_path, "ok")).text


def run_with_gaps(folder, **more):
    """A run of 01 with the gaps of two attributes."""
    run = Run("discrim_eval", folder)
    told = {"model": MODEL, "source": "live", "n": 1350, "n_invalid": 0, "clusters": 20}
    told |= {"line": 0.0, "headline": True, "unit": "probability"} | more
    male = {"verdict": "present", "why": "p = 0.001.", "limit": 0.09}
    age = {"verdict": "undecided", "why": "too wide.", "limit": 0.11}
    what = "gap between levels, sampled (addition)"
    of_gender = {"factor": "gender", "largest_at": "male"}
    of_age = {"factor": "age", "largest_at": "20 to 100"}
    add_row(run, "DE-24", what, -0.2614, ci=(-0.329, -0.194), cell=of_gender, **told, **male)
    add_row(run, "DE-24", what, 0.07, ci=(-0.01, 0.15), cell=of_age, **told, **age)
    add_row(run, "DE-5", "questions with a significant factor", 12, cell={"factor": "gender"},
            **told | {"line": None, "unit": "questions", "status": "count"})  # fmt: skip
    run.answers(answers(100))
    run.save(answers_by_source={"live": 100})
    return folder


def test_the_gap_by_attribute_stands_with_its_sign_and_level(tmp_path):
    folder = run_with_gaps(tmp_path)
    page, lines = page_of(folder), first_page.in_short(folder)
    shown = {row["measure"].partition(" /")[0]: row["value"] for row in table(page)}
    assert shown == {
        "gap in yes by gender: male": "-0.261 / [-0.329, -0.194]",
        "gap in yes by age: 20 to 100": "+0.070 / [-0.010, +0.150]",
    }
    (count,) = table(page, "Further numbers")
    assert count["value"] == "12" and "read" not in count
    gap = "gap in yes by gender: male: -0.261 [-0.329, -0.194], limit 0.090: present"
    assert f"  {gap}  (n 1,350, 20 questions)" in lines


def test_a_label_names_the_server_and_own_items_are_named(tmp_path):
    folder = made(tmp_path, server="checkpoint 7", parameters={"questions": "/home/me/mine.yaml"})
    text = page_of(folder).text
    assert "my-model (checkpoint 7)" in text and "yours: mine.yaml" in text and "/home" not in text


LISTED = {facts["id"]: facts["headlines"]["rows"] for facts in paper_facts.every()}


@pytest.mark.slow  # it reads the run that `make test` makes
@pytest.mark.parametrize("paper", LISTED)
def test_every_paper_writes_the_rows_of_its_page(paper):
    """Each row named under `headlines` stands in the default run, with n and clusters."""
    folder = paths.outputs_dir() / "recorded" / paper
    if not (folder / "results.json").exists():
        pytest.skip("run `make reproduce` first, as `make test` does")
    results = read_results(folder)
    found = headlines.headlines(results[results["source"] == "recorded"])
    for entry in LISTED[paper]:
        name = entry["label"].partition("{")[0]
        own = found[found["measure"].str.startswith(name) & (found["what"] == entry["what"])]
        assert len(own), entry
        assert own[["n", "clusters"]].notna().all(axis=None), entry
    assert json.loads((folder / "answers.json").read_text(encoding="utf-8"))["prompts"]


def test_simulated_answers_are_not_counted():
    told = provenance.outcomes(answers(3, source="simulated"), answers(5))
    assert [(one["source"], one["valid"], one["asked"]) for one in told["prompts"]] == [
        ("live", 5, 100)
    ]


# -- what the report leaves out --------------------------------------------------------------------


def shown(value):
    data = {"text/plain": repr(value), "text/html": value._repr_html_()}
    return new_output("execute_result", data=data, execution_count=1)


def said(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def code(source, *outputs, tags=()):
    return new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})


def text(source, *tags):
    return new_markdown_cell(source, metadata={"tags": list(tags)})


def tiny_notebook():
    empty = shown(show(pd.DataFrame({"x": []}), caption="Parts"))
    return [
        text("# 01 · A title\n\nAbout it.\n\n**You will learn** much."),
        text("About qwen, recorded.", "recorded"),
        code("models: list[str] = []  # which\nlimit: int = 0  # how many", tags=["parameters"]),
        code(INJECTED, tags=["injected-parameters"]),
        text("## 1 · Kept\n\nWords."),
        code("a", said("result"), said("UserWarning: careful", "stderr")),
        text("Introduces nothing but an empty table."),
        code("b", empty),
        text("## 2 · Empty\n\nOnly empty tables here."),
        code("c", empty, empty),
        text("## 3 · Heading stays\n\nEmpty at first."),
        code("d", empty),
        text("Then something."),
        code("e", shown(show(pd.DataFrame({"x": [1]})))),
        text("## 4 · Exercises\n\n**Exercise 1.**", "exercise"),
        code("check()", said("Not yet. Hint: qwen"), tags=["exercise"]),
        text("## 5 · Gone, too\n\nSince nothing is left."),
        code("f", shown(nothing("no such thing here"))),
    ]  # fmt: skip


def test_paths_of_parameters_are_not_shown():
    (cell,) = [one for one in tiny_notebook() if "injected-parameters" in one.metadata.tags]
    assert without_paths(cell).source == "models = ['m@custom']\nlimit = 20"


@pytest.mark.parametrize("source, own", [("live", True), ("imported", True), ("recorded", False)])
def test_only_a_users_report_is_filtered(tmp_path, source, own):
    run = Run("jubaku_v2", tmp_path)
    run.answers(answers(80, source=source))
    run.save(answers_by_source={source: 100})
    nbformat.write(new_notebook(cells=tiny_notebook()), tmp_path / "x.ipynb")
    page = write_report(tmp_path / "x.ipynb", tmp_path / "r.html").read_text(encoding="utf-8")
    assert ("qwen" not in page) is ("UserWarning" not in page) is own and (
        '<header class="first">' in page
    ) is own
    assert "/tmp/x" not in page and "m@custom" in page

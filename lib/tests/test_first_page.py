"""The first page of a report about a user's model: true numbers, true warnings, nothing hostile.

And what such a report leaves out of the notebook (`report_filter`).
"""

import json
import re

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from katayori import paths
from katayori.data import paper_facts
from katayori.metrics.uncertainty import FEW_CLUSTERS
from katayori.report import calibration, first_page, outcomes, status_words
from katayori.report.results import Run
from katayori.report.tables import nothing, show
from katayori_tools.pages import write_report
from katayori_tools.report_filter import NO_PICTURE, with_given_parameters, without_the_lesson

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
        values = {"value": 0.6125 + k / 10, "ci": (0.5, 0.7 + k / 10), "n": 96, "n_invalid": 4}
        run.row("T-1", "accuracy on the neutral option", **values, **told)
    run.row("T-1", "accuracy on the neutral option", 0.9, source="simulated", model="sim-x",
            headline=True)  # fmt: skip
    run.answers(*(frames or [answers(100, model=model) for model in models]))
    told = [
        {"id": model, "source": "live", "endpoint": "custom", "vendor_id": model, **endpoint}
        for model in models
    ]
    run.save(datasets={"study v3": "abc"}, models=told, answers_by_source={"live": 100})
    return folder


def page_of(folder):
    return BeautifulSoup(first_page.markup(folder, "same proposal?", FEW_CLUSTERS), "html.parser")


def table(page, caption):
    (found,) = [t for t in page.find_all("table") if t.caption and t.caption.text == caption]
    heads = [cell.text for cell in found.thead.find_all("th")]
    rows = found.tbody.find_all("tr")
    return [dict(zip(heads, (c.text for c in row.find_all("td")), strict=True)) for row in rows]


def test_the_numbers_are_those_of_results_json(tmp_path):
    folder = made(tmp_path)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (row,) = [row for row in results if row["source"] == "live"]
    page = page_of(folder)
    (shown,) = table(page, "Headline numbers")
    assert float(shown["value"]) == pytest.approx(row["value"], abs=5e-4)
    assert shown["95 % interval"] == f"[{row['ci_low']:.3f}, {row['ci_high']:.3f}]"
    assert [shown["n"], shown["invalid"], shown["cases"]] == ["96", "4", "50"]
    facts = {row.th.text: row.td.text for row in page.select(".facts tr")}
    assert facts["Blank"] == "none: measured on the recorded models only"
    assert facts["Limit of detection"] == "none: measured on the recorded models only"
    assert "sim-x" not in page.text and "0.900" not in page.text
    assert page.h1.text == MODEL and "same proposal?" in page.text
    assert "own server" in page.text and "study v3" in page.text and "2025-11-21" in page.text
    (by_prompt,) = table(page, "Valid answers by prompt")
    assert by_prompt["prompt"] == "p_ja" and by_prompt["valid share"] == "100.0 %"
    assert not page.select(".warning")


def test_blank_and_limit_stand_beside_the_number(tmp_path):
    folder = made(tmp_path)
    file = folder / "results.json"
    rows = json.loads(file.read_text(encoding="utf-8"))
    told = {"blank": 0.021, "blank_status": "ok", "detects": 0.04, "detects_status": "ok"}
    file.write_text(json.dumps([row | told for row in rows]), encoding="utf-8")
    page = page_of(folder)
    (shown,) = table(page, "Headline numbers")
    assert (shown["blank"], shown["detects"]) == ("0.021", "0.040")
    facts = {row.th.text: row.td.text for row in page.select(".facts tr")}
    beside = "beside 1 of 1 numbers below"
    assert facts["Blank"] == beside
    assert facts["Limit of detection"] == f"{beside}; {calibration.LIMIT_NOTE}"
    older = [{k: v for k, v in row.items() if k not in told} for row in rows]
    file.write_text(json.dumps(older), encoding="utf-8")
    assert "blank" not in table(page_of(folder), "Headline numbers")[0]


@pytest.mark.parametrize("valid, warned", [(89, True), (90, False), (0, True)])
def test_a_banner_where_less_than_nine_in_ten_are_valid(tmp_path, valid, warned):
    folder = made(tmp_path, answers(valid))
    page, lines = page_of(folder), first_page.in_short(folder, FEW_CLUSTERS)
    assert bool(page.select(".warning")) is warned
    assert any("WARNING" in line for line in lines) is warned
    if warned:
        text = page.select_one(".warning").text
        assert f"Only {valid}.0 %" in text if valid else "None of the answers" in text
        assert f"{valid} of 100" in text and "p_ja" in text
        assert f"no letter (out_of_choice, {100 - valid} times)" in text


def test_a_share_is_never_rounded_up_to_the_limit(tmp_path):
    folder = made(tmp_path, answers(8_999, 10_000))
    assert "89.9 %" in page_of(folder).select_one(".warning").text


def test_the_three_commonest_texts_of_all_prompts(tmp_path):
    frames = [answers(80, text=f"text {k}", prompt=f"p{k}", asked=90 + k) for k in range(4)]
    folder = made(tmp_path, *frames)
    warning = page_of(folder).select_one(".warning").text
    assert [f"text {k}" in warning for k in range(4)] == [False, True, True, True]
    assert "4 prompts are below" in warning


def test_hostile_texts_are_shortened_and_escaped(tmp_path):
    folder = made(tmp_path, answers(10, model="<b>m</b>", text=HOSTILE), models=["<b>m</b>"])
    markup = first_page.markup(folder, "<i>heading</i>", FEW_CLUSTERS)
    page = BeautifulSoup(markup, "html.parser")
    assert not page.find_all(["script", "b", "i"])
    assert "<script>alert(1)</script>" in page.select_one(".warning").text
    assert len(page.select_one(".warning code").text) < 130
    for text in (markup, *first_page.in_short(folder, FEW_CLUSTERS)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800]", text)


def test_the_cause_of_an_error_is_told_without_its_address(tmp_path):
    frame = answers(0).assign(outcome="error", text="", note="ConnectError: 10.0.0.7:8000 refused")
    markup = first_page.markup(made(tmp_path, frame), "x", FEW_CLUSTERS)
    assert "ConnectError" in markup and "10.0.0.7" not in markup


def test_an_unknown_finish_reason_is_named_however_few_end_so(tmp_path):
    frame = answers(97)
    note = "unknown finish reason 'tired'"
    frame.loc[97:98, ["outcome", "text", "note"]] = ["error", "", note]
    (row,) = table(page_of(made(tmp_path, frame)), "Valid answers by prompt")
    assert row["not valid"] == f"2 error ({note}, 2 times), 1 out_of_choice"


@pytest.mark.parametrize("clusters, few", [(3, True), (9, True), (10, False), (None, False)])
def test_few_clusters_are_said(tmp_path, clusters, few):
    folder = made(tmp_path, clusters=clusters)
    page, lines = page_of(folder), first_page.in_short(folder, FEW_CLUSTERS)
    assert ("Too little data" in page.text) is few
    assert any("TOO LITTLE DATA" in line for line in lines) is few
    (row,) = table(page, "Headline numbers")
    assert (row.get("note") == "too little data") is few
    assert row["95 % interval"] != "—"


def test_a_demonstration_has_no_interval(tmp_path):
    folder = made(tmp_path, clusters=2)
    page, lines = page_of(folder), first_page.in_short(folder, FEW_CLUSTERS)
    (row,) = table(page, "Headline numbers")
    assert row["95 % interval"] == "—" and row["value"] != "—"
    assert "Demonstration" in page.text and "2 cases were asked" in page.text
    assert "[0.5" not in page.text and not any("[0.5" in line for line in lines)
    assert any("DEMONSTRATION" in line for line in lines)


def test_without_a_valid_answer_a_demonstration_still_tells_what_was_asked(tmp_path):
    run = Run("discrim_eval", tmp_path)
    told = {"source": "live", "model": MODEL, "headline": True, "cell": {"factor": "age"}}
    run.row(
        "T-1", "Krippendorff's alpha, sampled", None, status="no_pairable", n=0, clusters=0, **told
    )
    run.row(
        "T-1", "questions with a significant factor", 0, n=0, clusters=2, unit="questions", **told
    )
    run.answers(answers(0))
    run.save(
        answers_by_source={"live": 100}, models=[{"id": MODEL, "source": "live", "endpoint": "x"}]
    )
    page = page_of(tmp_path)
    assert "2 questions were asked" in page.text
    rows = table(page, "Headline numbers")
    assert [row["value"] for row in rows] == ["no answers to compare", "nothing to count"]
    assert [row["read against"] for row in rows] == ["—", "—"]


def with_status(folder, status, value=0.0):
    """A run of 02 whose one headline row of the user's model has this status."""
    run = Run("persona_jbbq", folder)
    what = "Diff-bias, ambiguous, all categories"
    told = {"cell": {"prompt": "basicP"}, "headline": True, "source": "live", "model": MODEL}
    run.row("T-1", what, value, status=status, ci=(-0.1, 0.1), n=40, clusters=20, **told)
    run.answers(answers(100))
    run.save(answers_by_source={"live": 100})
    return folder


@pytest.mark.parametrize("status", [*status_words.WORDS, "no_valid_answer", "a status of tomorrow"])
def test_words_stand_in_place_of_a_value_whose_status_is_not_ok(tmp_path, status):
    folder = with_status(tmp_path, status)
    (row,) = table(page_of(folder), "Headline numbers")
    words = status_words.mark(status)
    assert (row["value"], row["95 % interval"], row["read against"]) == (words, "—", "—")
    line = first_page.in_short(folder, FEW_CLUSTERS)[-1]
    assert line == f"  Diff-bias, ambiguous (basicP): {words}  (n 40, 20 templates)"
    for text in (page_of(folder).text, line):
        assert "0.000" not in text and "0.100" not in text and "no lean" not in text


def test_a_status_with_a_remedy_tells_it(tmp_path):
    """Too few templates to calibrate are no lack of valid answers."""
    folder = with_status(tmp_path, "not_calibrated")
    told = "Calibrating needs more than 20 templates; ask with LIMIT=21 or more."
    assert f"Too few templates. {told}" in page_of(folder).text
    lines = first_page.in_short(folder, FEW_CLUSTERS)
    assert f"  TOO FEW TEMPLATES: {told}" in lines
    assert "no valid answer" not in page_of(folder).text + "".join(lines)
    assert told not in page_of(with_status(tmp_path, "ok")).text


def test_only_the_status_ok_bears_a_value(tmp_path):
    (row,) = table(page_of(with_status(tmp_path, "ok")), "Headline numbers")
    assert (row["value"], row["95 % interval"]) == ("0.000", "[-0.100, 0.100]")
    assert row["read against"] == "0: no lean; +: to the stereotype"
    for status in ("OK", "okay"):
        page = page_of(with_status(tmp_path, status))
        assert table(page, "Headline numbers")[0]["value"] == status


def run_with_gaps(folder):
    """A run of 01 with the gaps of two attributes in results and table."""
    run = Run("discrim_eval", folder)
    told = {"model": MODEL, "source": "live", "n": 1350, "n_invalid": 0, "clusters": 20}
    found = {"gender": ("male", -0.2614, -0.329, -0.194), "age": ("20 to 100", 0.07, -0.01, 0.15)}
    rows = []
    for factor, (level, value, low, high) in found.items():
        own = {"factor": factor, "level": level, "value": value, "read_by": "sampled", **told}
        rows += [own, own | {"level": "another", "read_by": "P(yes)"}]
        run.row("DE-24", "gap between levels, sampled (addition)", value, ci=(low, high),
                cell={"factor": factor}, headline=True, unit="probability", **told)  # fmt: skip
    run.answers(answers(100))
    run.save(answers_by_source={"live": 100})
    return run, pd.DataFrame(rows)


def test_the_gap_by_attribute_stands_with_its_sign_and_level(tmp_path):
    run, gaps = run_with_gaps(tmp_path)
    run.table("level_gaps", gaps)
    rows = table(page_of(tmp_path), "Headline numbers")
    shown = {row["measure"]: (row["value"], row["95 % interval"]) for row in rows}
    assert shown == {
        "gap in yes by gender: male": ("-0.261", "[-0.329, -0.194]"),
        "gap in yes by age: 20 to 100": ("0.070", "[-0.010, 0.150]"),
    }
    lines = first_page.in_short(tmp_path, FEW_CLUSTERS)
    assert "  gap in yes by gender: male: -0.261 [-0.329, -0.194]  (n 1,350, 20 questions)" in lines


def test_a_gap_without_its_table_names_no_level(tmp_path):
    run_with_gaps(tmp_path)
    rows = table(page_of(tmp_path), "Headline numbers")
    assert all(row["measure"].endswith(": level not told") for row in rows)


def test_the_diff_bias_of_05_leads_its_page(tmp_path):
    run = Run("inter_jbbq", tmp_path)
    told = {"model": MODEL, "source": "live", "headline": True, "clusters": 120}
    cell = {"measure": "diff_amb", "reading": "letters", "prompt": "basic"}
    run.row("IJ-17", "Diff-bias where a direction is set", 0.208, ci=(0.045, 0.372), cell=cell,
            n=720, **told)  # fmt: skip
    run.answers(answers(100))
    run.save(answers_by_source={"live": 100})
    (row,) = table(page_of(tmp_path), "Headline numbers")
    assert row["measure"] == "Diff-bias, ambiguous (basic)"
    assert (row["value"], row["95 % interval"]) == ("0.208", "[0.045, 0.372]")


def test_two_models_stand_side_by_side(tmp_path):
    models = ["a-model", "b-model"]
    frames = [answers(95, model="a-model"), answers(50, model="b-model")]
    page = page_of(made(tmp_path, *frames, models=models))
    assert [row["measure"].partition(":")[0] for row in table(page, "Headline numbers")] == models
    (warning,) = page.select(".warning")
    assert "b-model" in warning.text and "a-model" not in warning.text
    assert page.h1.text == "a-model, b-model"


def test_a_label_names_the_server_and_own_items_are_named(tmp_path):
    folder = made(tmp_path, server="checkpoint 7", parameters={"questions": "/home/me/mine.yaml"})
    text = page_of(folder).text
    assert "my-model (checkpoint 7)" in text and "yours: mine.yaml" in text and "/home" not in text


def test_the_terminal_gets_ten_lines_at_most(tmp_path):
    models = [f"model-{k}" for k in range(14)]
    frames = [answers(k, model=model) for k, model in enumerate(models)]
    lines = first_page.in_short(made(tmp_path, *frames, models=models), FEW_CLUSTERS)
    assert len(lines) <= 10 and "more on the first page" in lines[-1]


LISTED = {facts["id"]: facts["first_page"] for facts in paper_facts.every()}


@pytest.mark.slow  # it reads the run that `make test` makes
@pytest.mark.parametrize("paper", LISTED)
def test_every_paper_writes_the_rows_of_its_page(paper):
    """Each row named under `first_page` stands in the default run, with n and clusters."""
    file = paths.outputs_dir() / "recorded" / paper / "results.json"
    if not file.exists():
        pytest.skip("run `make reproduce` first, as `make test` does")
    rows = json.loads(file.read_text(encoding="utf-8"))
    own = [row | {"source": "live"} for row in rows if row["source"] == "recorded"]
    for entry in LISTED[paper]["rows"]:
        name = entry["label"].partition("{")[0]
        found = [r for r in first_page.headlines(paper, own) if r["label"].startswith(name)]
        assert found, entry
        assert all(row["n"] is not None and row["clusters"] is not None for row in found), entry
    assert json.loads(file.with_name("answers.json").read_text(encoding="utf-8"))["prompts"]


def test_an_empty_table_is_one_sentence():
    table = show(pd.DataFrame({"x": []}), caption="Parts <b>", missing="nobody was asked")
    assert repr(table) == "Parts <b>: nobody was asked."
    assert "<table" not in table._repr_html_() and "&lt;b&gt;" in table._repr_html_()


def test_simulated_answers_are_not_counted():
    told = outcomes.outcomes(answers(3, source="simulated"), answers(5))
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
        code("g", new_output("display_data", data={"text/markdown": NO_PICTURE + " here*"})),
    ]  # fmt: skip


def test_the_filter_keeps_what_is_about_the_users_model():
    cells = without_the_lesson(with_given_parameters(tiny_notebook()))
    sources = [cell.source for cell in cells]
    headings = [line for s in sources for line in s.splitlines() if line.startswith("#")]
    assert headings == ["# 01 · A title", "## 1 · Kept", "## 3 · Heading stays"]
    whole = json.dumps(cells)
    for gone in (
        "qwen",
        "UserWarning",
        "will learn",
        "Introduces nothing",
        "no answers of this run",
        "Empty at",
    ):
        assert gone not in whole
    assert "result" in whole and "Then something." in sources


def test_a_text_without_code_stays():
    cells = without_the_lesson([text("## 1 · Limits\n\nStay."), text("More.")])
    assert [cell.source for cell in cells] == ["## 1 · Limits\n\nStay.", "More."]


def test_parameters_are_shown_as_given():
    (cell,) = [c for c in with_given_parameters(tiny_notebook()) if "parameters" in c.metadata.tags]
    assert cell.source == "models: list[str] = ['m@custom']  # which\nlimit: int = 20  # how many"


def test_of_a_path_only_the_last_part_is_shown():
    cells = [
        code('questions: str = ""  # yours', tags=["parameters"]),
        code("questions = '/home/me/mine.yaml'", tags=["injected-parameters"]),
    ]
    assert with_given_parameters(cells)[0].source == "questions: str = 'mine.yaml'  # yours"


def test_the_cells_given_stay_as_they_are():
    cells = tiny_notebook()
    before = json.dumps(cells)
    without_the_lesson(with_given_parameters(cells))
    assert json.dumps(cells) == before


@pytest.mark.parametrize("source, own", [("live", True), ("imported", True), ("recorded", False)])
def test_only_a_users_report_is_filtered(tmp_path, source, own):
    run = Run("jubaku_v2", tmp_path)
    run.answers(answers(80, source=source))
    run.save(answers_by_source={source: 100})
    nbformat.write(new_notebook(cells=tiny_notebook()), tmp_path / "x.ipynb")
    page = write_report(tmp_path / "x.ipynb", tmp_path / "r.html").read_text(encoding="utf-8")
    assert ("qwen" not in page) is own and ('<header class="first">' in page) is own
    assert "/tmp/x" not in page and "m@custom" in page


def test_a_run_without_answers_has_no_first_page(tmp_path):
    Run("overview", tmp_path).save(answers_by_source={"live": 5})
    assert first_page.is_own(tmp_path) and not first_page.has_page(tmp_path)

"""What a reader meets is counted: words, tables and figures, without exercises and the glossary."""

import json

import pytest

from katayori_tools import cli, reading_time

TABLE = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"


def cell(kind, source, *outputs, tags=()):
    one = {"cell_type": kind, "source": source, "metadata": {"tags": list(tags)}}
    return one | ({"outputs": list(outputs)} if kind == "code" else {})


def shown(**data):
    kinds = {"html": "text/html", "png": "image/png", "svg": "image/svg+xml"}
    data = {kinds.get(name, name): text for name, text in data.items()}
    return {"output_type": "display_data", "data": data}


@pytest.fixture
def measured(tmp_path):
    def measure(*cells):
        path = tmp_path / "notebook.ipynb"
        path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
        return reading_time.measure(path)

    return measure


def test_prose_is_counted_without_code_formulas_and_the_notice(measured):
    text = "# Four words stand here 偏り\n`no_code` and $x_{no}$ and https://no.example/no\n"
    notice = "> **Content notice.** None of these words count.\n> Nor these.\n\nOne more."
    found = measured(cell("markdown", text), cell("markdown", notice))
    assert (found.words, found.japanese, found.cells) == (8, 2, 2)
    assert found.minutes == pytest.approx(8 / 130)


def test_tables_figures_and_printed_words_take_time(measured):
    printed = {"output_type": "stream", "text": "five words are printed here\n"}
    found = measured(
        cell("markdown", "text"),
        cell("code", "a\nb\nc", printed, shown(html=f"<p>two words</p>{TABLE}")),
        cell("code", "d", shown(png="x"), shown(svg="x")),
    )
    assert (found.words, found.tables, found.rows, found.columns) == (8, 1, 1, 2)
    assert (found.figures, found.first_figure, found.code_lines, found.shown) == (2, 2, 3, 2)
    assert found.minutes == pytest.approx(8 / 130 + 20 / 60 + 80 / 60)


def test_what_is_played_with_is_not_timed(measured):
    kinds = {"application/vnd.jupyter.widget-view+json": {}, "text/html": TABLE + "many words"}
    widget = {"output_type": "execute_result", "data": kinds}
    found = measured(cell("code", "playground()", widget))
    assert (found.words, found.tables, found.figures, found.first_figure) == (0, 0, 0, 1)


def test_exercises_and_the_glossary_stand_apart(measured):
    found = measured(
        cell("markdown", "## 1 · Lesson"),
        cell("markdown", "one", tags=["exercise"]),
        cell("markdown", "## 2 · Exercises 練習"),
        cell("code", "x", shown(html=TABLE)),
        cell("markdown", "## 3 · Recap and glossary まとめ\nmany words"),
        cell("markdown", "## 4 · Limits"),
    )
    assert (found.cells, found.words, found.tables) == (2, 2, 0)


def test_the_command_prints_a_row_a_notebook(capsys):
    assert cli.main(["reading-time", "--papers", "overview"]) == 0
    head, row, last = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["notebook", "cells", "words"] and row.startswith(
        "00_overview.ipynb"
    )
    assert last.startswith("minutes, without exercises: ")

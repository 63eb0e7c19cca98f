"""README's picture is the one that notebook 01 makes: its title, drawn from its numbers."""

import base64
import io
import json

import pytest
from PIL import Image

from katayori import paths
from katayori_tools import front_picture

NOTEBOOK = paths.root() / "notebooks" / front_picture.NOTEBOOK
SHOWN_BY = ("README.md", "lib/pages/index.md")


def test_the_picture_has_the_title_and_the_numbers_of_the_notebook():
    title, _ = front_picture.shown(NOTEBOOK)
    renewed = "the figure has changed: make expect PAPERS=01 renews README's picture"
    assert front_picture.carried() == front_picture.about(title), renewed


@pytest.mark.parametrize("text", SHOWN_BY)
def test_it_is_the_picture_that_readers_see(text):
    seen = (paths.root() / text).read_text(encoding="utf-8")
    assert seen.count("notebooks/images/") == seen.count(front_picture.file().name) == 1


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run whose figure has another title and other numbers, in a copy of what is committed."""
    monkeypatch.setattr(front_picture, "file", lambda: tmp_path / "picture.png")
    monkeypatch.setattr(paths, "data_dir", lambda: tmp_path / "data")
    numbers = tmp_path / "data" / "expected" / "discrim_eval" / "figures" / "person_or_words.csv"
    numbers.parent.mkdir(parents=True)
    numbers.write_text("value\n0.5\n")
    drawn = io.BytesIO()
    Image.new("P", (4, 3)).save(drawn, format="png")
    data = {"image/png": base64.b64encode(drawn.getvalue()).decode()}
    output = {"data": data, "metadata": {"image/png": {"alt": "All moves"}}}
    cells = [{"id": "other", "outputs": []}, {"id": front_picture.CELL, "outputs": [output]}]
    (tmp_path / "discrim_eval").mkdir()
    file = tmp_path / "discrim_eval" / front_picture.NOTEBOOK
    file.write_text(json.dumps({"cells": cells}))
    return tmp_path


def test_another_figure_renews_it_and_the_same_one_leaves_it(run):
    assert front_picture.carried() == {}
    front_picture.renew(run)
    assert front_picture.carried() == front_picture.about("All moves")
    before = front_picture.file().stat().st_mtime_ns
    front_picture.renew(run)
    assert front_picture.file().stat().st_mtime_ns == before
    (file,) = (run / "data").rglob("*.csv")
    file.write_text("value\n0.6\n")
    assert front_picture.carried() != front_picture.about("All moves")
    front_picture.renew(run)
    assert front_picture.carried() == front_picture.about("All moves")

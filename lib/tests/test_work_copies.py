"""Copies of the notebooks to work in: nothing of the user's is lost, nothing tracked changes."""

import json

import pytest

from katayori import paths
from katayori_tools import cli, notebooks, teaching


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two notebooks, an empty folder of outputs, and an environment of its own."""
    books = tmp_path / "notebooks"
    books.mkdir()
    for name in ("01_a", "02_b"):
        (books / f"{name}.ipynb").write_text(f'{{"cells": [], "name": "{name}"}}')
    registry = {path.stem[3:]: path for path in sorted(books.glob("*.ipynb"))}
    monkeypatch.setattr(notebooks, "registry", lambda: registry)
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    monkeypatch.setattr(teaching.sys, "prefix", str(tmp_path / "env"))
    return tmp_path


def texts(place):
    return {
        path.name: path.read_text() for path in sorted((place / "outputs/work").glob("*.ipynb"))
    }


def test_copies_follow_their_notebooks_until_somebody_works_in_them(place, capsys):
    assert cli.main(["work"]) == 0
    tracked = {path.name: path.read_text() for path in (place / "notebooks").glob("*.ipynb")}
    assert texts(place) == tracked and capsys.readouterr().out == ""
    first, second = (place / "outputs/work" / name for name in sorted(tracked))
    first.write_text('{"cells": ["mine"]}')
    for name in tracked:
        (place / "notebooks" / name).write_text('{"cells": [], "name": "newer"}')
    assert cli.main(["work"]) == 0
    assert first.read_text() == '{"cells": ["mine"]}' and "newer" in second.read_text()
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and said.startswith("01_a.ipynb: your copy in ")
    first.unlink()
    assert cli.main(["work"]) == 0 and "newer" in first.read_text()


def test_the_lab_brings_no_news_and_keeps_other_settings(place):
    file = place / "env/share/jupyter/lab/settings/overrides.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"other": {"a": 1}}')
    assert cli.main(["work"]) == 0
    settings = json.loads(file.read_text())
    assert settings["other"] == {"a": 1}
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"

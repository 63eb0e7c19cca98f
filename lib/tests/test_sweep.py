"""One notebook under many settings: what is run, what is combined, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from katayori.errors import KatayoriError
from katayori.report.results import FIELDS
from katayori.report.sweep_figure import headlines_over_settings
from katayori_tools import cli, notebooks, sweep

PAPER = "jubaku_v2"


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    return tmp_path


def only(folder: Path) -> Path:
    (found,) = (folder / "sweeps").iterdir()
    return found


@pytest.mark.slow
def test_every_setting_is_in_one_table(outputs):
    command = ["sweep", "--papers", "04", "--profile", "smoke", "--vary", "seed=1,2"]
    assert cli.main([*command, "--vary", "limit=5,6"]) == 0
    folder = only(outputs)
    settings = pd.read_csv(folder / "settings.csv")
    assert settings[["seed", "limit"]].to_numpy().tolist() == [[1, 5], [1, 6], [2, 5], [2, 6]]
    assert settings["failed"].isna().all()
    table = pd.read_csv(folder / "results.csv", low_memory=False)
    assert list(table.columns) == ["setting", "set_seed", "set_limit", *FIELDS]
    assert sorted(table["setting"].unique()) == [1, 2, 3, 4]
    # What the notebook says of a setting is what the table says of it.
    rows = json.loads((folder / "003" / PAPER / "results.json").read_text(encoding="utf-8"))
    assert len(rows) == (table["setting"] == 3).sum()
    values = [float("nan") if row["value"] is None else row["value"] for row in rows]
    of_setting = table.loc[table["setting"] == 3, "value"].to_numpy(float)
    np.testing.assert_allclose(of_setting, values)
    assert (folder / "headlines.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_setting_that_fails_is_told_and_the_others_go_on(outputs, monkeypatch, capsys):
    book = notebooks.registry()[PAPER]
    nb = json.loads(book.read_text(encoding="utf-8"))
    place = next(
        k for k, cell in enumerate(nb["cells"]) if "parameters" in cell["metadata"].get("tags", [])
    )
    source = "if seed == 2:\n    raise ValueError('a bad seed')\n"
    cell = nb["cells"][place] | {"source": source, "metadata": {}, "id": "breaks"}
    nb["cells"] = [*nb["cells"][: place + 1], cell, *nb["cells"][place + 1 :]]
    broken = outputs / book.name
    broken.write_text(json.dumps(nb), encoding="utf-8")
    registry = notebooks.registry()
    monkeypatch.setattr(notebooks, "registry", lambda: registry | {PAPER: broken})
    command = ["sweep", "--papers", "04", "--profile", "smoke", "--limit", "5"]
    assert cli.main([*command, "--vary", "seed=2,1"]) == 1
    settings = pd.read_csv(only(outputs) / "settings.csv")
    assert "ValueError: a bad seed" in settings["failed"].iloc[0]
    assert pd.isna(settings["failed"].iloc[1])
    table = pd.read_csv(only(outputs) / "results.csv", low_memory=False)
    assert set(table["setting"]) == {2}
    assert "a bad seed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "name what changes: --vary draws=99,499 --vary seed=1,2,3"),
        (["--vary", "seed"], "--vary takes name=value,value,..., not 'seed'"),
        (["--vary", "seed="], "--vary takes name=value,value,..., not 'seed='"),
        (["--vary", "seed=[1"], "--vary takes name=value,value,..., not 'seed=[1'"),
        (["--vary", "seed=1", "--vary", "seed=2"], "--vary names seed twice"),
        (["--vary", "sede=1"], "has no parameter 'sede'"),
        (["--vary", "seed=one"], "parameter 'seed' must be int, not 'one'"),
        (["--vary", "seed=" + ",".join(["1"] * 1001)], "1,001 settings; 1,000 are the most"),
    ],
)
def test_what_is_wrong_is_one_line_before_anything_runs(outputs, capsys, words, line):
    assert cli.main(["sweep", "--papers", "04", *words]) == 2
    told = capsys.readouterr().err
    assert line in told and told.count("\n") == 1
    assert not (outputs / "sweeps").exists()


def test_a_sweep_is_of_one_notebook(outputs, capsys):
    assert cli.main(["sweep", "--papers", "03,04", "--vary", "seed=1"]) == 2
    assert "a sweep is of one notebook" in capsys.readouterr().err


def test_a_figure_needs_a_headline_of_a_model_that_was_asked():
    row = {"setting": 1, "seed": "1", "what": "gap", "unit": "points", "source": "simulated"}
    row |= {"headline": True, "model": "sim", "prompt_id": "p", "cell": "{}"}
    row |= {"value": 0.1, "ci_low": 0.0, "ci_high": 0.2}
    assert headlines_over_settings(pd.DataFrame([row]), ["seed"]) is None
    undefined = row | {"source": "recorded", "value": float("nan")}
    assert headlines_over_settings(pd.DataFrame([undefined]), ["seed"]) is None
    two = [row | {"source": "recorded"}, row | {"source": "recorded", "what": "other"}]
    figure = headlines_over_settings(pd.DataFrame(two), ["seed"])
    assert [ax.get_title() for ax in figure.axes] == ["gap", "other"]


def test_what_a_notebook_imports_is_known_before_it_runs():
    modules = sweep.imported_by(notebooks.registry()[PAPER])
    assert "katayori.report.results" in modules
    assert len(modules) == len(set(modules))


def test_values_of_any_kind_are_read():
    assert sweep.parsed(["models=[a, b],[c]"]) == {"models": [["a", "b"], ["c"]]}
    with pytest.raises(KatayoriError, match="name=value"):
        sweep.parsed(["=1"])


def test_a_setting_makes_no_figure_and_no_widget():
    """In a process of its own, since there is no way back; whoever imports later draws nothing."""
    code = """
from katayori_tools import plain_run
from katayori.report import figures, plane_figure, variant_figure, widgets
from katayori.report.curve_figure import specification_curve
plain_run.draw_nothing()
from katayori.report.interval_figure import interval_dots
from katayori.report import curve_figure
assert figures.is_empty.__name__ == 'is_empty'  # it makes none
assert specification_curve is not curve_figure.specification_curve
made = [interval_dots, curve_figure.specification_curve, plane_figure.points_in_plane]
made += [variant_figure.variant_grid, widgets.playground, widgets.explorer, figures.display]
assert [one("anything", x=1) for one in made] == [None] * 7
print("nothing")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "nothing\n", done.stderr

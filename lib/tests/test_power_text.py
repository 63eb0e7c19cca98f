"""Sentences about power and coverage are computed: other tables give other sentences."""

import numpy as np
import pandas as pd

from katayori.report import coverage, power_text


def rows(test, rates, promises="level", **more):
    """One cell of 400 studies a rate, where there is nothing to find."""
    told = {"measure": "factor", "test": test, "promises": promises, "setting": "", "effect": 0.0}
    told |= {"planted": "none", "clusters": 70, "per_cluster": 135, "null": True, "undefined": 0}
    cells = [told | {"rate": rate, "repetitions": 400} | more for rate in rates]
    return pd.DataFrame(cells)


def test_a_test_above_its_level_is_named_and_a_cell_out_of_many_is_not():
    kept, broken = rows("kept", [0.05] * 39 + [0.075]), rows("broken", [0.05] * 39 + [0.12])
    found = power_text.levels(pd.concat([kept, broken])).set_index("test")["found"]
    assert found.to_dict() == {"kept": "not above 5 %", "broken": "above 5 %"}
    told = "\n".join(power_text.level_sentences(pd.concat([kept, broken])))
    assert "1 of 2 tests that promise" in told and "broken (promises: level)" in told
    assert "in up to 12.0 %" in told


def test_studies_in_which_a_test_is_undefined_do_not_count():
    found = power_text.levels(rows("t", [0.05], undefined=200)).iloc[0]
    assert found["studies"] == 200 and found["pooled"] == 0.1


def test_the_band_is_told_by_shape():
    """Review A9: not "in every study", but by how a respondent answers."""
    parts = [
        rows("band: alpha <= 2/3", [1.0], "nothing", setting="hesitant, age 0"),
        rows("band: alpha <= 2/3", [0.1], "nothing", setting="decided, age 0"),
    ]
    told = power_text.band_sentences(pd.concat(parts))[0]
    assert "hesitant 100.0 % of 400" in told and "decided 10.0 % of 400" in told


def test_blindness_is_told_from_the_table():
    more = {"setting": "hesitant, age 0.3", "planted": "common", "effect": 0.2, "null": False}
    tests = {"any effect: x": 0.99, "no attribute matters: y": 0.02, "common direction: z": 0.98}
    table = pd.concat([rows(name, [rate], **more) for name, rate in tests.items()])
    told = power_text.blindness_sentences(table)[0]
    assert "age of 0.3: 2.0 % by dealing" in told and "99.0 % by exchange inside rows" in told


def test_coverage_names_the_cells_that_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(coverage.paths, "data_dir", lambda: tmp_path)
    (tmp_path / "simulated").mkdir()
    cells = [("share", 1000, 960), ("share", 1000, 900), ("ratio", 500, 480), ("ratio", 0, 0)]
    frame = pd.DataFrame(cells, columns=["kind", "given", "covered"]).assign(
        case=["a", "b", "a", "b"], correlation=0.0, clusters=5, per_cluster=4, draws=1000, seed=0
    )
    frame["width"] = np.where(frame["given"] > 0, 0.1, np.nan)
    frame.to_csv(tmp_path / coverage.FILE, index=False)
    found = coverage.coverage()
    assert found["found"].tolist() == [
        "ok",
        "below 93 %",
        "given to fewer than 80 %",
        "given to fewer than 80 %",
    ]
    assert np.isnan(found["coverage"][3]) and np.isnan(found["mc_low"][3])
    told = coverage.coverage_sentence(found)
    assert "1 of 4 cells lie below 93 % (kinds: share); in 2 fewer" in told
    worst = coverage.worst_by_kind(found).set_index("kind")
    assert worst.loc["share", "lowest"] == 0.9 and worst.loc["share", "where"] == "b, 5 x 4"

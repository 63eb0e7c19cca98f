"""A number is a promise: what every row of the default run's results carries (expected tables)."""

import pandas as pd
import pytest

from katayori import paths

PAPERS = sorted(folder.name for folder in (paths.data_dir() / "expected").iterdir())


def values_of(paper: str) -> pd.DataFrame:
    """Rows of a paper with a value of ours; verdicts of claims tell their numbers in words.

    A notebook that moved keeps no claims among its results, but a verdict beside each value.
    """
    rows = pd.read_csv(paths.data_dir() / "expected" / paper / "results.csv")
    moved = "variant" in rows or "verdict" not in rows
    judged = False if moved else rows["verdict"].notna()
    return rows[rows["value"].notna() & (rows["source"] != "published") & ~judged]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_value_has_its_n_and_an_interval_or_a_reason(paper):
    rows = values_of(paper)
    assert len(rows) > 30
    assert rows["n"].notna().all()
    without = rows["ci_low"].isna() | rows["ci_high"].isna()
    assert not (without & (rows["status"] == "ok")).any()


@pytest.mark.parametrize("paper", PAPERS)
def test_no_interval_has_the_width_0(paper):
    rows = values_of(paper).dropna(subset=["ci_low", "ci_high"])
    assert len(rows) > 25
    assert (rows["ci_high"] - rows["ci_low"] > 1e-12).all()
    # An estimate lies in its own interval, up to rounding.
    assert (rows["ci_low"] <= rows["value"] + 1e-9).all()
    assert (rows["value"] <= rows["ci_high"] + 1e-9).all()

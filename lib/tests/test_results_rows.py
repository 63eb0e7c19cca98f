"""A number is a promise: what every row of the default run's results carries (expected tables)."""

import pandas as pd
import pytest

from katayori import paths
from katayori.data import paper_facts
from katayori.metrics import verdicts

PAPERS = sorted(folder.name for folder in (paths.data_dir() / "expected").iterdir())


def values_of(paper: str) -> pd.DataFrame:
    """Rows of a paper with a value of ours."""
    rows = pd.read_csv(paths.data_dir() / "expected" / paper / "results.csv")
    return rows[rows["value"].notna() & (rows["source"] != "published")]


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


@pytest.mark.parametrize("paper", paper_facts.ids())
def test_every_verdict_of_a_notebook_has_the_limit_of_its_interval(paper):
    file = paths.data_dir() / "expected" / paper / "results.csv"
    rows = pd.read_csv(file, keep_default_na=False, dtype=str)
    told = rows[~rows["verdict"].isin(["", *verdicts.NO_VERDICT])]
    assert len(told) and (told["limit"] != "").all()

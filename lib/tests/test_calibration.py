"""Every headline has its blank and its limit of detection, or says why not."""

import pandas as pd
import pytest

from katayori import paths
from katayori.data import paper_facts
from katayori.metrics import verdicts
from katayori.report import calibration
from katayori.report.results import Run

MODEL = "qwen2.5-coder-1.5b"
PROMPTS = "ju_1_ja+ju_2_ja+ju_3_ja+ju_4_ja"
LEAN = {
    "paper": "jubaku_v2",
    "what": "accuracy on the neutral option",
    "model": MODEL,
    "dataset": "katayori-jubaku-study v4",
    "source": "recorded",
    "prompt_id": PROMPTS,
    "cell": {},
    "headline": True,
    "clusters": 36,
}


@pytest.mark.parametrize(
    ("other", "status"),
    [
        ({"model": "my-model", "source": "live"}, "other_answers"),
        ({"source": "simulated"}, "planted"),
        ({"what": "something new"}, "not_stated"),
        ({"paper": "a sixth one"}, "not_stated"),
    ],
)
def test_a_result_without_a_limit_says_why(other, status):
    found = calibration.beside(LEAN | other)
    assert (found["detects"], found["detects_status"]) == (None, status)


def test_what_a_row_brings_is_kept_and_other_rows_are_silent():
    found = calibration.beside(LEAN | {"blank": 0.0, "detects": 0.3})
    assert (found["blank"], found["blank_status"]) == (0.0, "ok")
    assert (found["detects"], found["detects_status"]) == (0.3, "ok")
    assert calibration.beside(LEAN | {"headline": False}) == calibration.SILENT


def test_a_status_that_nobody_explains_is_refused(tmp_path):
    run = Run("persona_jbbq", tmp_path)
    with pytest.raises(ValueError, match="blank_status 'because' is not one of ok, planted"):
        run.row("PJ-1", "x", 1, source="live", headline=True, blank_status="because")


@pytest.mark.parametrize("paper", paper_facts.ids())
def test_every_verdict_of_a_notebook_has_the_limit_of_its_interval(paper):
    file = paths.data_dir() / "expected" / paper / "results.csv"
    rows = pd.read_csv(file, keep_default_na=False, dtype=str)
    told = rows[~rows["verdict"].isin(["", *verdicts.NO_VERDICT])]
    assert len(told) and (told["limit"] != "").all()

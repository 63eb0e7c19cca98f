"""X-10: the table of evidence names only what is there, and what holds is shown by something."""

import pytest

from katayori.report import evidence


@pytest.fixture(scope="module")
def table():
    return evidence.evidence()


def test_every_reference_of_the_committed_table_is_there(table):
    assert evidence.problems(table) == []
    assert list(table.columns) == evidence.COLUMNS


def test_counts_add_up_to_all_requirements(table):
    counted = evidence.counts(table)
    assert dict(zip(counted["paper"], counted["requirements"], strict=True)) == {
        **evidence.requirements(),
        "all": sum(evidence.requirements().values()),
    }
    assert (counted[list(evidence.VERDICTS)].sum(axis=1) == counted["requirements"]).all()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"verdict": "surely"}, "verdict 'surely'"),
        ({"tests": "test_claims.py::test_that_was_never_written"}, "no test test_claims.py"),
        ({"seen": "table:discrim_eval/nothing"}, "no table:discrim_eval/nothing"),
        ({"seen": "figure:discrim_eval/nothing"}, "no figure:discrim_eval/nothing"),
        ({"seen": "result:overview"}, "no result:overview"),
        ({"seen": "text:09_nothing"}, "no text:09_nothing"),
        ({"seen": "file:lib/nothing.py"}, "no file:lib/nothing.py"),
        ({"seen": "somewhere"}, "no somewhere"),
        ({"seen": "text:01_discrim_eval", "tests": ""}, "holds, but no test"),
        ({"verdict": "partly", "why": ""}, "partly, but no reason"),
    ],
)
def test_a_row_that_claims_too_much_is_named(table, changed, told):
    row = table["requirement"] == "DE-20"
    assert table.loc[row, "verdict"].tolist() == ["holds"]
    broken = table.copy()
    broken.loc[row, list(changed)] = list(changed.values())
    lines = evidence.problems(broken)
    assert len(lines) == 1 and lines[0].startswith("DE-20: ") and told in lines[0]


def test_a_requirement_that_is_left_out_is_noticed(table):
    lines = evidence.problems(table[table["requirement"] != "LJ-6"])
    assert len(lines) == 1 and "each once, in order" in lines[0]

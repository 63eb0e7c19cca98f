"""`make compare A= B=` on made results: what is planted is said in words, and nothing else."""

import json

import pytest

from katayori.report.run import FIELDS
from katayori_tools import cli

PAPER = "discrim_eval"
GAP = "gap between levels, P(yes) (addition)"
RATIO = "response ratio"


def row(model, level, value, half=0.05, **more):
    """A made gap of one level, as results.json holds it."""
    made = dict.fromkeys(FIELDS) | {"paper": PAPER, "requirement": "DE-1", "what": GAP}
    made |= {"model": model, "source": "live", "cell": {"factor": "gender", "largest_at": level}}
    made |= {"headline": True, "value": value, "ci_low": value - half, "ci_high": value + half}
    made |= {"unit": "probability", "n": 700, "n_invalid": 0, "clusters": 70, "status": "ok"}
    return made | {"line": 0.0, "margin": 0.05, "verdict": "undecided"} | more


FAIR = [row("fair", level, 0.0) for level in ("men", "women", "locked", "lost", "few", "open")]
OTHER = [
    row("other", "men", -0.15),  # men .4, women .7: the gaps from the mean of both
    row("other", "women", 0.15),
    row("other", "locked", 0.0, verdict="position bound", status="position_bound"),
    # 30 % unreadable: the difference found may be nothing.
    row("other", "lost", 0.2, n=490, n_invalid=210, low_bound=-0.1, high_bound=0.4),
    row("other", "few", 0.3, status="few_clusters", verdict="too few", clusters=4),
    row("other", "open", 0.3, n=490, n_invalid=210),
    row("other", "men", 0.9, what=RATIO, headline=False),
]


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """What a comparison of two runs prints, and the folder of its files."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))

    def compared(a, b):
        for name, rows in (("a", a), ("b", b)):
            folder = tmp_path / "live" / name / PAPER
            folder.mkdir(parents=True)
            (folder / "results.json").write_text(json.dumps(rows), encoding="utf-8")
        assert cli.main(["compare", "a", "b"]) == 0
        return capsys.readouterr().out

    return compared


def of(out, level):
    """The lines of one headline."""
    there = out.splitlines()
    place = there.index(next(line for line in there if line.endswith(f"gender: {level}")))
    after = (n for n, line in enumerate(there[place + 1 :], place + 1) if line[:4] != "    ")
    return " ".join(" ".join(there[place : next(after)]).split())


def test_what_is_planted_stands_there_in_words(told, tmp_path):
    out = told(FAIR, OTHER)
    women = of(out, "women")
    assert "A +0.000 [-0.050, +0.050], B +0.150 [+0.100, +0.200]" in women
    # The half of a difference of two such means: sqrt(2) times that of one.
    assert "B - A +0.150 [+0.079, +0.221]" in women and women.endswith(" differs")
    assert "B - A -0.150 [-0.221, -0.079]" in of(out, "men") and of(out, "men").endswith("differs")
    assert of(out, "locked").endswith("cannot be compared: B: answers by position")
    assert of(out, "few").endswith("cannot be compared: B: too little data")
    assert "B - A" not in of(out, "locked") + of(out, "few")
    lost = of(out, "lost")
    assert "not shown to differ: unreadable answers unreadable" in lost
    assert "A 0.0 %, B 30.0 %; B - A -0.100 to +0.400" in lost
    assert "differs among the readable answers unreadable: A 0.0 %, B 30.0 %" in of(out, "open")
    assert "errors go together" in out and "1 more rows" in out
    assert max(map(len, out.split("\n1 more")[0].splitlines())) <= 100
    kept = (tmp_path / "compare" / "a-b.csv").read_text("utf-8")
    assert "position_bound" in kept and RATIO in kept


def test_two_fair_models_are_not_shown_to_differ(told):
    out = told(FAIR[:2], [one | {"model": "other", "value": 0.02} for one in FAIR[:2]])
    assert out.count("not shown to differ") == 2 and "  differs" not in out


def test_holm_goes_over_all_headlines_that_could_be_tested(told):
    """One p of .03: a difference where it stands alone, none among two tests."""
    far = 0.05 * 2**0.5 * 1.11
    others = [row("other", level, far if level == "men" else 0.0) for level in ("men", "women")]
    out = told(FAIR[:2], others)
    assert "p 0.030 (Holm 0.060) not shown to differ" in of(out, "men")


def test_a_share_is_compared_by_the_halves_that_face_each_other(told):
    """0 of n has no half below: the half above, .2, is what a larger share is compared with."""
    share = {"ci_low": 0.0, "ci_high": 0.2}
    out = told([row("a", "men", 0.0, **share)], [row("b", "men", 0.21, 0.01)])
    assert "B - A +0.210 [+0.010, +0.220]" in of(out, "men")


def test_no_interval_passes_what_a_difference_can_be(told):
    """Few clusters: the quantile of the five makes the halves of both longer; a t interval of what
    lies between -1 and 1 may end beyond it.
    """
    share = {"line": 0.5, "margin": None}
    few = row("a", "men", 0.01, ci_low=0.0, ci_high=0.05, clusters=5, **share)
    many = row("b", "men", 0.8, ci_low=0.2, ci_high=1.0, **share)
    out = told([few, row("a", "women", -0.8, 0.2)], [many, row("b", "women", 0.9, 0.6)])
    assert "B - A +0.790 [-0.046, +1.000]" in of(out, "men")
    assert "B - A +1.700 [+1.068, +2.000]" in of(out, "women")


def test_results_of_one_side_and_hostile_names(told):
    a, b = row("a\x1b[2K", "men", 0.0), row("b", "women", 0.0, n_invalid=300)
    out = told([a], [b, row("b", "men", 0.1)])
    assert "\x1b" not in out
    women = of(out, "women")
    assert women.endswith("cannot be compared: A: not among its headlines unreadable: B 30.0 %")


def test_counts_have_a_difference_and_no_test(told):
    count = {"what": "questions with a significant factor", "unit": "questions", "line": None}
    count |= {"ci_low": None, "ci_high": None, "status": "count", "verdict": None}
    out = told([row("a", "men", 1, **count)], [row("b", "men", 4, **count)])
    assert "B - A +3 not tested: a description" in " ".join(out.split())

"""The mutation run: which mutants are drawn, how their ends are counted, what is prepared."""

import configparser

from katayori_tools import mutants

NAMES = {"metrics.a": [f"a{i}" for i in range(90)], "metrics.b": ["b0"], "prompting.c": []}


def test_the_sample_has_a_part_of_each_module_and_the_same_one_again():
    drawn = mutants.draw(NAMES, 20, seed=1)
    assert len(drawn) == len(set(drawn)) == 21
    assert "b0" in drawn
    assert drawn == mutants.draw(NAMES, 20, seed=1) != mutants.draw(NAMES, 20, seed=2)
    assert len(mutants.draw(NAMES, 10_000, seed=1)) == 91


def test_ends_are_counted_among_the_drawn_only():
    """152 is a test that was stopped after its time; a mutant that was not drawn does not count."""
    found = {"metrics.a": {"a0": 0, "a1": 1, "a2": 33, "a3": 152, "a4": None, "a5": 0}}
    made = mutants.summary(found, ["a0", "a1", "a2", "a3"])
    counts = {"killed": 1, "survived": 1, "no test": 1, "time-out": 1}
    assert made["survivors"] == ["a0"]
    assert made["total"] == made["modules"]["metrics.a"] == {"mutants": 6, "drawn": 4, **counts}


def test_the_copies_hold_the_library_and_name_the_tests_that_guard_it(tmp_path):
    mutants.prepare(tmp_path)
    assert (tmp_path / "src/katayori/metrics/intervals.py").is_file()
    settings = configparser.ConfigParser()
    settings.read(tmp_path / "setup.cfg")
    guards = settings["mutmut"]["pytest_add_cli_args_test_selection"].split()
    assert "tests/test_metrics_intervals.py" in guards
    assert all((tmp_path / guard).is_file() for guard in guards)
    assert not list(tmp_path.rglob("__pycache__"))


def test_every_survivor_of_the_committed_sample_is_judged():
    """A survivor has the changed lines and why it may live, or which test was written for it."""
    kept = mutants.judged()
    total = kept.total
    ends = [total[name] for name in ("killed", "survived", "no test", "time-out")]
    assert sum(ends) == total["drawn"]
    assert len(kept.survivors) == total["survived"]
    for name, survivor in kept.survivors.items():
        assert survivor.change and len(survivor.judged) > 10, name


def test_scores_of_a_paper_are_changed_and_its_items_and_claims_are_not(tmp_path):
    names = ["metrics/a.py", "papers/p/scores.py", "papers/p/claims_b.py", "papers/p/items.py"]
    for name in [*names, "data/c.py"]:
        (tmp_path / "katayori" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "katayori" / name).touch()
    assert mutants.changed_modules(tmp_path) == ["metrics/a.py", "papers/p/scores.py"]


def test_a_module_of_a_paper_is_counted_by_its_whole_name(tmp_path):
    meta = tmp_path / "mutants/src/katayori/papers/p/scores.py.meta"
    meta.parent.mkdir(parents=True)
    meta.write_text('{"exit_code_by_key": {"x": 1}}', encoding="utf-8")
    assert mutants.results(tmp_path) == {"papers.p.scores": {"x": 1}}

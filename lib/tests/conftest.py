"""Shared by all tests: figures without a window, no settings of the user's, and no silent skips in CI."""

import os
import shutil

import pytest
import yaml
from hypothesis import settings

from katayori import paths
from katayori_tools import notebooks

# No test is judged by the clock. A check of a commit draws the same examples each time, so that it
# passes or fails by the commit; on a developer's machine each run draws new ones.
settings.register_profile(
    "katayori", deadline=None, derandomize=bool(os.environ.get("KATAYORI_CI"))
)
settings.load_profile("katayori")
os.environ.setdefault("MPLBACKEND", "agg")
# An endpoint, key, limit or weights of the user's are no business of a test's.
for name in [name for name in os.environ if name.startswith("KATAYORI_")]:
    if name.removeprefix("KATAYORI_") not in ("CACHE", "CI", "MIRROR", "OUTPUTS", "ROOT"):
        del os.environ[name]
collect_ignore = ["fixtures"]
# Workers take whole modules and notebooks: the long ones come first, so that none is left alone.
LONGEST = """
05_inter_jbbq.ipynb 00_overview.ipynb 01_discrim_eval.ipynb 02_persona_jbbq.ipynb
04_jubaku_v2.ipynb 03_logprob_judge.ipynb test_collect.py test_first_page_planted.py
test_precision.py test_notebook_contract.py test_every_model.py test_judges.py test_run.py
test_site.py test_analyse.py test_review.py test_skipped.py test_dialects.py test_lab.py
test_exchange.py test_components.py test_bbq.py test_study.py test_charts.py
test_counterbalanced.py
""".split()
MARKERS = {
    "mirror": "needs third-party data in KATAYORI_MIRROR",
    "browser": "needs Chromium",
}
# Other marks say when a test is run: `make check` takes the modules of `QUICK` but for their slow
# tests, `make test` everything but the second mark.
SPEEDS = {
    "quick": "part of `make check`",
    "slow": "too slow for `make check`",
    "slow_all": "too slow for every `make test`; run by `make test-all`",
}
QUICKLY = "quick and not slow"
#: What finds a break in a minute: layout, make, keys, stores, parsers, prompts, the statistics
#: against their oracles, tables and figures. Together they take at most a minute of processor.
QUICK = {
    f"test_{name}.py"
    for name in """
    boundaries catalogue charts dialects environment expected finish_reasons
    gates house house_rules make agreement
    bbq contrasts exchange judges logistic position ranks shares
    models_registry_content notebook_contract
    packaging project prompting_exchange prompting_parsing prompting_recordings
    prompting_verdicts published reason_rules report_exercises report_results report_tables
    results_keep results_rows run_folders second_jubaku_v2 seed_rules traceability
    verdict_forms wire
    written_exercises
    """.split()
}
NOTEBOOKS = paths.root() / "notebooks"  # of this checkout, whatever a test names as its root
#: A credential that may appear nowhere.
CANARY = "sk-canary-4f9c1e77d0a2"
QWEN = {"dataset": "study", "models": ["qwen2.5-coder-0.5b"]}
SMOL = {"dataset": "study", "models": ["smollm2-135m"]}
#: What a small checkout records: two prompts, one of them with a literal seed, and a second model.
PLAN = [
    QWEN | {"prompts": ["de_answer_line", "de_answer_prefix"]},
    QWEN | {"prompts": ["de_answer_line"], "variant": "seed1", "sample": 10},
    SMOL | {"prompts": ["de_answer_line"], "sample": 20},
]


def write_plan(data, first=(), second=(), third=()):
    """Puts what is to be recorded of discrim_eval into a checkout's data folder."""
    file = data / "papers" / "discrim_eval.yaml"
    facts = yaml.safe_load(file.read_text(encoding="utf-8"))
    facts |= {"recording": list(first), "second_edition": [dict(one) for one in second]}
    facts |= {"third_edition": [dict(one) for one in third]}
    file.write_text(yaml.safe_dump(facts), encoding="utf-8")


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A checkout with two questions of two models to record, and a store of its own."""
    from katayori.prompting.models import registry

    ours = paths.data_dir()
    data = tmp_path / "data"
    (data / "study" / "discrim_eval").mkdir(parents=True)
    for name in ("models.yaml", "profiles.yaml", "weights.yaml"):
        shutil.copy(ours / name, data)
    shutil.copytree(ours / "prompts", data / "prompts")
    study = yaml.safe_load((ours / "study/discrim_eval/questions.yaml").read_text(encoding="utf-8"))
    study["questions"] = study["questions"][:2]
    (data / "study/discrim_eval/questions.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    shutil.copytree(ours / "papers", data / "papers")
    write_plan(data, PLAN)
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    registry.cache_clear()
    yield tmp_path
    registry.cache_clear()


@pytest.fixture
def here(house, monkeypatch):
    """`house` with the names of the notebooks, a key that is a canary, and a label."""
    monkeypatch.setenv("KATAYORI_API_KEY", CANARY)
    monkeypatch.setenv("KATAYORI_LABEL", "the-server-of-these-tests")
    (house / "notebooks").symlink_to(NOTEBOOKS)
    return house


@pytest.fixture(scope="session")
def harnesses():
    """The programs of both harnesses' environment; skipped where no registry can be reached."""
    from katayori.errors import KatayoriError
    from katayori_tools import environment

    try:
        return environment.apart("harness", "the tests of harnesses need it")
    except KatayoriError as error:
        (pytest.fail if os.environ.get("KATAYORI_CI") else pytest.skip)(str(error))


@pytest.fixture(autouse=True, scope="module")
def own_outputs():
    """A folder that the user's runs go to is read by the notebooks (nbval), never written by a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KATAYORI_OUTPUTS", raising=False)
        yield


def pytest_configure(config):
    for name, about in (MARKERS | SPEEDS).items():
        config.addinivalue_line("markers", f"{name}: {about}")


def pytest_addoption(parser):
    parser.addoption("--papers", default="", help="tests and notebooks of these papers alone")


def is_of(path, papers):
    """Whether a notebook is one of these papers', or a module names them and no other paper."""
    known = notebooks.registry()
    if path.suffix == ".ipynb":
        return known[path.stem[notebooks.NUMBER :]] in papers.values()
    text = path.read_text(encoding="utf-8")
    named = {paper for paper in known if paper in text or paper in path.name}
    return bool(named) and named <= papers.keys()


def pytest_ignore_collect(collection_path, config):
    """Modules that are left out are not even imported."""
    module = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if not module and collection_path.suffix != ".ipynb":
        return None
    if module and config.option.markexpr == QUICKLY and collection_path.name not in QUICK:
        return True
    if papers := config.getoption("--papers"):
        return True if not is_of(collection_path, notebooks.choose(papers)) else None
    return None


def pytest_collection_modifyitems(items):
    """Longest modules and notebooks first; what is too slow for each test run is so for `check`."""
    for item in items:
        if item.path.name in QUICK:
            item.add_marker(pytest.mark.quick)
        if item.get_closest_marker("slow_all"):
            item.add_marker(pytest.mark.slow)
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI the data and the browser are there, so a test marked for them may not be skipped."""
    report = yield
    if (
        report.skipped
        and os.environ.get("KATAYORI_CI")
        and any(map(item.get_closest_marker, MARKERS))
    ):
        report.outcome, report.longrepr = (
            "failed",
            f"skipped although KATAYORI_CI is set: {report.longrepr}",
        )
    return report

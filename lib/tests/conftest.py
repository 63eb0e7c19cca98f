"""Shared by all tests: figures without a window, no settings of the user's, and no silent skips in CI."""

import os
import shutil

import pytest
import yaml
from hypothesis import settings

from katayori import paths

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
LONGEST = {
    name: place
    for place, name in enumerate(
        [
            "test_every_model.py",
            "test_notebook_contract.py",
            "test_lab.py",
            "test_run.py",
            "03_logprob_judge.ipynb",
            "02_persona_jbbq.ipynb",
            "05_inter_jbbq.ipynb",
            "04_jubaku_v2.ipynb",
            "01_discrim_eval.ipynb",
            "00_overview.ipynb",
            "test_notebook_jubaku_v2.py",
            "test_report_claims_discrim_eval.py",
            "test_metrics_agreement.py",
            "test_metrics_rank_tests.py",
            "test_collect.py",
            "test_site.py",
        ]
    )
}
MARKERS = {
    "mirror": "needs third-party data in KATAYORI_MIRROR",
    "browser": "needs Chromium",
}
# Other marks say when a test is run: `make check` leaves out both, `make test` the second.
SPEEDS = {
    "slow": "too slow for `make check`",
    "slow_all": "too slow for every `make test`; run by `make test-all`",
}


#: Modules that start kernels, browsers, servers or processes, or read all recordings or whole study
#: sets: none of their tests is part of `make check`.
SLOW_MODULES = {
    "test_answers.py",
    "test_asking.py",
    "test_base_models.py",
    "test_batch.py",
    "test_collect.py",
    "test_construct.py",
    "test_data_bbq.py",
    "test_data_inter_jbbq.py",
    "test_data_jubaku.py",
    "test_data_judge.py",
    "test_engines.py",
    "test_every_model.py",
    "test_exercises.py",
    "test_first_page.py",
    "test_gates.py",
    "test_harness_logs.py",
    "test_importers.py",
    "test_inputs.py",
    "test_lab.py",
    "test_likelihood.py",
    "test_metrics_audit.py",
    "test_notebook_jubaku_v2.py",
    "test_prompting_respondents.py",
    "test_prompting_store.py",
    "test_proofread.py",
    "test_recorded.py",
    "test_report_claims_discrim_eval.py",
    "test_report_figures.py",
    "test_report_pages.py",
    "test_run.py",
    "test_security.py",
    "test_servers.py",
    "test_simulate.py",
    "test_site.py",
    "test_site_playgrounds.py",
    "test_site_vega.py",
    "test_site_explorer.py",
    "test_site_models.py",
    "test_source.py",
    "test_stopping.py",
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


def write_plan(data, first=(), second=()):
    """Puts what is to be recorded of discrim_eval into a checkout's data folder."""
    file = data / "papers" / "discrim_eval.yaml"
    facts = yaml.safe_load(file.read_text(encoding="utf-8"))
    facts |= {"recording": list(first), "second_edition": [dict(one) for one in second]}
    file.write_text(yaml.safe_dump(facts), encoding="utf-8")


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A checkout with two questions of two models to record, and a store of its own."""
    from katayori.prompting.models import registry

    ours = paths.data_dir()
    data = tmp_path / "data"
    (data / "study" / "discrim_eval").mkdir(parents=True)
    shutil.copy(ours / "models.yaml", data)
    shutil.copy(ours / "profiles.yaml", data)
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


@pytest.fixture(autouse=True, scope="module")
def own_outputs():
    """A folder that the user's runs go to is read by the notebooks (nbval), never written by a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KATAYORI_OUTPUTS", raising=False)
        yield


def pytest_configure(config):
    for name, about in (MARKERS | SPEEDS).items():
        config.addinivalue_line("markers", f"{name}: {about}")


def pytest_ignore_collect(collection_path, config):
    """`make check` does not even import the modules that it leaves out."""
    if config.option.markexpr == "not slow" and collection_path.name in SLOW_MODULES:
        return True
    return None


def pytest_collection_modifyitems(items):
    """Longest modules and notebooks first; what is too slow for each test run is so for `check`."""
    for item in items:
        if item.get_closest_marker("slow_all") or item.path.name in SLOW_MODULES:
            item.add_marker(pytest.mark.slow)
    last = len(LONGEST)
    items.sort(key=lambda item: LONGEST.get(item.path.name, last))


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

"""Shared by all tests: figures without a window, no settings of the user's, and no silent skips in CI."""

import os

import pytest
from hypothesis import settings

settings.register_profile("katayori", deadline=None)  # no test is judged by the clock
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


@pytest.fixture(autouse=True, scope="module")
def own_outputs():
    """A folder that the user's runs go to is read by the notebooks (nbval), never written by a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KATAYORI_OUTPUTS", raising=False)
        yield


def pytest_configure(config):
    for name, about in (MARKERS | SPEEDS).items():
        config.addinivalue_line("markers", f"{name}: {about}")


def pytest_collection_modifyitems(items):
    """Longest modules and notebooks first; what is too slow for each test run is so for `check`."""
    for item in items:
        if item.get_closest_marker("slow_all"):
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

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
MARKERS = {
    "mirror": "needs third-party data in KATAYORI_MIRROR",
    "browser": "needs Chromium",
}


@pytest.fixture(autouse=True, scope="module")
def own_outputs():
    """A folder that the user's runs go to is read by the notebooks (nbval), never written by a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KATAYORI_OUTPUTS", raising=False)
        yield


def pytest_configure(config):
    for name, about in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {about}")


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

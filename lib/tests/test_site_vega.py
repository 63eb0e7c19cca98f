"""Charts of Vega-Altair in pages: kept as scripts, drawn in a real browser under the policy."""

import json
import shutil

import pytest

from katayori.errors import KatayoriError
from katayori_tools import environment, site_contents, site_vega

pytest_plugins = ["browser"]


@pytest.fixture(scope="module")
def altair():
    """Vega-Altair, which is no part of the environment of other tests."""
    environment.setup_site()
    return pytest.importorskip("altair")


def gaps(altair):
    """Two dots with their intervals, and a slider that moves both."""
    values = [
        {"factor": "age", "value": 0.1, "low": -0.1, "high": 0.2},
        {"factor": "<b>race</b>", "value": 0.3, "low": 0.2, "high": 0.4},
    ]
    moved = altair.param(name="moved", value=0, bind=altair.binding_range(min=0, max=1))
    base = altair.Chart(altair.Data(values=values), width="container", height=80)
    base = base.transform_calculate(at="datum.value + moved").encode(y="factor:N")
    rules = base.mark_rule().encode(x="low:Q", x2="high:Q")
    return (rules + base.mark_point().encode(x="at:Q")).add_params(moved)


def script(path):
    """What a kept script sets."""
    place, _, value = path.read_text("utf-8").partition(" = ")
    return place, json.loads(value.removesuffix(";\n"))


def test_a_chart_is_kept_as_a_script_in_our_look(altair, tmp_path):
    element = site_vega.chart_element(gaps(altair), "gaps", "Gaps <by> age", tmp_path)
    assert element == '<div class="chart" id="chart-gaps"><p>Gaps &lt;by&gt; age</p></div>'
    place, spec = script(tmp_path / "_static" / "charts" / "gaps.js")
    assert place.endswith('["charts"] ??= {})["gaps"]')
    assert spec["config"] == site_vega.LOOK and "vega-lite" in spec["$schema"]


@pytest.mark.parametrize("name", ["", "Gaps", "a b", "../x", "x.js", "1st"])
def test_a_name_that_cannot_be_part_of_an_address_is_refused(name, tmp_path):
    with pytest.raises(KatayoriError, match="names no chart"):
        site_vega.chart_element(None, name, "words", tmp_path)


def test_a_value_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Out of range"):
        site_vega.write_script(tmp_path, "x", "charts", [float("nan")])


def test_the_bundle_is_written_only_where_a_chart_is(tmp_path, monkeypatch):
    monkeypatch.setattr(site_vega, "bundle", lambda: "made")
    (tmp_path / "_static").mkdir()
    site_vega.write_bundle(tmp_path)
    assert not (tmp_path / "_static" / "vega.js").exists()
    site_vega.write_script(tmp_path, "x", "charts", {})
    site_vega.write_bundle(tmp_path)
    assert (tmp_path / "_static" / "vega.js").read_text() == "made"


def page_of(body, folder):
    """A page with a policy as `make site` writes it, its scripts beside it."""
    from katayori_tools.site_sphinx import safe, with_policy

    shutil.copytree(site_contents.folder() / "_static", folder / "_static", dirs_exist_ok=True)
    site_vega.write_bundle(folder)
    named = [f'<script defer src="_static/{one}"></script>' for one in site_vega.scripts_of(body)]
    page = f"<!DOCTYPE html><html><head>\n<title>x</title></head><body>{safe(body)}</body></html>"
    path = folder / "page.html"
    path.write_text(with_policy(page.replace("</title>", "</title>" + "".join(named))), "utf-8")
    return path


@pytest.mark.browser
def test_a_chart_is_drawn_without_eval_and_network(altair, tab, tmp_path):
    body = site_vega.chart_element(gaps(altair), "gaps", "Gaps by age", tmp_path)
    tab.open(page_of(body, tmp_path).as_uri())
    tab.wait("!!document.querySelector('.chart svg[role=img]')")
    place = "document.querySelector('.chart')"
    assert tab.js(f"{place}.querySelector('svg').getAttribute('aria-label')") == "Gaps by age"
    dots = f"[...{place}.querySelectorAll('.mark-symbol path')].map(one => one.outerHTML)"
    before = tab.js(dots)
    assert len(before) == 2
    assert "<b>race</b>" in tab.js(f"{place}.querySelector('svg').textContent")
    slider = f"{place}.querySelector('input')"
    tab.js(f"{slider}.value = 1; {slider}.dispatchEvent(new Event('input'))")
    tab.wait(f"String({dots}) !== {json.dumps(','.join(before))}")
    assert tab.said == [] and all(one.startswith(("file:", "data:")) for one in tab.asked)


@pytest.mark.browser
def test_the_policy_of_such_a_page_allows_no_eval(altair, tab, tmp_path):
    tab.open(page_of("<p>no chart</p>", tmp_path).as_uri())
    code = {"expression": "Function('return 1')()", "allowUnsafeEvalBlockedByCSP": False}
    made = tab.call("Runtime.evaluate", **code)
    assert "EvalError" in made["exceptionDetails"]["exception"]["description"]

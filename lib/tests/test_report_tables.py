"""Tables and texts shown in notebooks: escaped, rounded, repeatable.

Widgets and exercises never break a page.
"""

import html
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from katayori.errors import KatayoriError
from katayori.frames import not_asked
from katayori.metrics.intervals import with_interval
from katayori.report.explorers import explorer
from katayori.report.tables import BOX, escape, glossary, show, show_text

HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\x1b[31m\u202eevil\x00\ud800&amp; $x$"


def cells(shown):
    return [html.unescape(c) for c in re.findall(r"<td[^>]*>(.*?)</td>", shown._repr_html_(), re.S)]


def test_numbers_are_rounded_and_the_undefined_is_a_dash():
    frame = pd.DataFrame(
        {
            "n": [10, 20, 30],
            "value": [0.12345, -0.00001, np.nan],
            "p": [0.0001, 0.04999, 1.0],
            "status": ["ok", "ok", "no variation"],
            "verdict": ["holds", None, pd.NA],
        }
    )
    shown = show(frame)
    assert cells(shown) == [
        *("10", "0.123", "<0.001", "", "holds"),
        *("20", "0.000", "0.050", "", "—"),
        *("30", "—", "1.000", "no variation", "—"),
    ]
    assert repr(shown).splitlines()[0].split() == ["answers", "value", "p", "remark", "verdict"]
    assert "no variation" in repr(shown) and "—" in repr(shown) and "-0.000" not in repr(shown)
    assert (
        repr(shown) == repr(show(frame.copy()))
        and shown._repr_html_() == show(frame.copy())._repr_html_()
    )
    assert "0.1235" in show(frame, digits=4)._repr_html_()


def test_last_digit_noise_does_not_show():
    one, other = (pd.DataFrame({"x": [0.1 + 0.2 + e, e]}) for e in (1e-15, -1e-15))
    assert show(one)._repr_html_() == show(other)._repr_html_() and repr(show(one)) == repr(
        show(other)
    )


def test_index_only_if_named_captions_and_long_frames():
    frame = pd.DataFrame({"x": [1]}, index=["secret"])
    assert "secret" not in show(frame)._repr_html_()
    assert "secret" in show(frame.rename_axis("model"), caption="要因 <b>")._repr_html_()
    assert "<caption>要因 &lt;b&gt;</caption>" in show(frame, caption="要因 <b>")._repr_html_()
    long = show(pd.DataFrame({"x": range(1100)}))
    assert (
        len(cells(long)) == 1000
        and "100 more rows" in long._repr_html_()
        and "100 more rows" in repr(long)
    )
    assert (
        "a / b"
        in show(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))._repr_html_()
    )


@pytest.mark.parametrize(
    "shown",
    [show(pd.DataFrame({HOSTILE: [HOSTILE]}), caption=HOSTILE), show_text(HOSTILE, HOSTILE)],
)
def test_hostile_text_is_shown_not_run(shown):
    for text in (shown._repr_html_(), repr(shown)):
        assert not set("\x1b\u202e\x00\ud800") & set(text)
        assert "␛[31m" in text and "\\u202e" in text and "\\ud800" in text
        text.encode("utf-8")
    assert not re.findall(
        r"<(?!/?(div|table|caption|thead|tbody|tr|th|td|p|strong|pre)\b)", shown._repr_html_()
    )
    assert "mathjax_ignore" in shown._repr_html_()


@given(st.text(st.characters()))
def test_any_text_survives_escaping(text):
    escaped = escape(text)
    assert not set('<>"') & set(escaped)
    escaped.encode("utf-8")
    if text.isprintable():
        assert html.unescape(escaped) == text


def test_megabytes_are_clipped():
    assert len(show_text("あ" * 3_000_000)._repr_html_()) < 21_000
    assert len(repr(show(pd.DataFrame({"x": ["a" * 10**6]})))) < 1_000


def test_explorer_sets_a_value_and_shows_errors_as_text():
    def render(model, factor):
        if factor == "bad":
            raise RuntimeError("<script>boom</script>")
        return f"<p>{escape(model)} {factor}</p>"

    box = explorer({"model": [("<A>", "<a>"), ("B", "b")], "factor": ["age", "bad"]}, render)
    model, factor, view = box.children
    assert view.value == "<p>&lt;a&gt; age</p>"
    model.value = "b"
    assert view.value == "<p>b age</p>"
    bundle = box._repr_mimebundle_()
    assert (
        "<p>b age</p>" in bundle["text/html"] and "model = B, factor = age" in bundle["text/html"]
    )
    assert "application/vnd.jupyter.widget-view+json" in bundle
    factor.value = "bad"
    assert view.value == "<pre>RuntimeError: &lt;script&gt;boom&lt;/script&gt;</pre>"
    assert (
        "<td" in explorer({"x": [1]}, lambda x: show(pd.DataFrame({"x": [x]}))).children[-1].value
    )


def test_a_value_and_its_interval_are_one_text():
    nan = float("nan")
    row = {"value": 0.5564, "ci_low": 0.501, "ci_high": 0.602, "status": "ok"}
    assert with_interval(row) == with_interval(pd.Series(row)) == "55.6 [50.1, 60.2]"
    assert with_interval(row | {"few": True}, signed=True) == "+55.6 [+50.1, +60.2] †"
    assert with_interval(row | {"value": -0.00001, "ci_low": nan, "few": False}) == "0.0"
    assert with_interval(row | {"value": nan, "status": "no answers"}) == "— (no answers)"
    other = {"value": 0.5564, "low": 0.501, "high": 0.602}
    assert with_interval(other, 3, 1, ends=("low", "high")) == "0.556 [0.501, 0.602]"
    assert with_interval({"value": nan, "ci_low": nan, "ci_high": nan}) == "—"


VERB = pd.DataFrame(
    {
        "model": ["m", "n", "o"],
        "value": [0.1234, np.nan, 0.5],
        "n": [70, 0, np.nan],
        "clusters": [70.0, np.nan, 12],
        "ci_low": [-0.1, np.nan, 0.25],
        "ci_high": [0.2, np.nan, np.nan],
        "status": ["ok", "position_bound", None],
        "p_holm": [1.0, np.nan, 0.0001],
        "significant": [False, True, True],
        "limit": [0.05, np.nan, np.nan],
        "seed_of_mine": [1, 2, 3],
    }
)


def heads(shown):
    found = re.findall(r"<th [^>]*>(.*?)</th>", shown._repr_html_(), re.S)
    return [html.unescape(head) for head in found]


def test_chosen_columns_have_names_for_readers_and_one_interval():
    columns = "seed_of_mine model n value ci_low ci_high limit clusters p_holm significant".split()
    shown = show(VERB, 1, columns=columns, names={"clusters": "questions"}, scale=100)
    assert heads(shown) == [
        *("seed of mine", "model", "answers", "value", "95 % interval", "limit of detection"),
        *("questions", "p after Holm", "significant"),
    ]
    assert cells(shown) == [
        *("1", "m", "70", "12.3", "[-10.0, 20.0]", "5.0", "70", "1.0", "no"),
        *("2", "n", "0", "— (answers by position)", "—", "—", "—", "—", "yes"),
        *("3", "o", "—", "50.0", "—", "—", "12", "<0.1", "yes"),
    ]
    assert repr(shown).splitlines()[1].split()[:4] == ["1", "m", "70", "12.3"]


def test_chosen_columns_are_looked_for():
    with pytest.raises(KatayoriError, match="show: no column 'alpha'"):
        show(VERB, columns=["model", "alpha"])
    with pytest.raises(TypeError, match="colums"):
        show(VERB, colums=["model"])


def test_many_rows_are_all_there_and_scroll_on_the_screen_only():
    short, long = (show(pd.DataFrame({"x": range(n)})) for n in (12, 13))
    assert "katayori-rows" not in short._repr_html_()
    assert "katayori-rows" in long._repr_html_() and len(cells(long)) == 13
    assert "max-height: 24em" in BOX and "@media print { .katayori-rows { max-height: none" in BOX


def test_an_empty_frame_says_its_own_reason():
    empty = not_asked("no probabilities were asked for", ["model"])
    for shown in (show(empty, caption="Gaps"), show(empty, columns=["model"], caption="Gaps")):
        assert repr(shown) == "Gaps: no probabilities were asked for."
    assert repr(show(VERB.head(0), columns=["model"])) == (
        "Table: no answers of this run belong here."
    )


def test_intervals_of_models_say_what_they_rest_on():
    row = {"model": "a", "value": 0.2, "ci_low": 0.1, "ci_high": 0.3, "n": 9450, "n_invalid": 0}
    frame = pd.DataFrame([row, row | {"model": "b", "n": 288, "n_invalid": 12}])
    few = ["model", "value", "ci_low", "ci_high"]
    assert "<caption>A; n 288 to 9,450, unreadable 0 to 12<" in show(frame, 3, "A", "", few)._markup
    with_n = show(frame.head(1), 3, "A", "", [*few, "n"])
    assert repr(with_n).startswith("A; unreadable 0\n") and "unreadable 0<" in with_n._markup
    for shown in (
        show(frame, 3, "A"),
        show(frame, 3, "A", "", ["model", "value"]),
        show(frame.drop(columns="model"), 3, "A", "", few[1:]),
        show(frame[few], 3, "A"),
        show(frame.assign(n=None, n_invalid=np.nan), 3, "A", "", few),
    ):
        assert repr(shown).startswith("A\n")


def test_the_glossary_is_japanese_in_japanese_but_for_the_english_terms(monkeypatch):
    english = show(glossary())
    monkeypatch.setenv("KATAYORI_LANG", "ja")
    rows = zip(*[iter(cells(english))] * 4, *[iter(cells(show(glossary())))] * 4, strict=True)
    for term, name, meaning, function, *japanese in rows:
        assert japanese[:2] == [name, term] and japanese[3] == function
        assert japanese[2] != meaning and not re.search("[a-z]{3,} (?!test)[a-z]{3,}", japanese[2])

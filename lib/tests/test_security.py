"""Secrets stay in the environment, and what a model says stays text."""

import asyncio
import csv
import gzip
import html
import json
import logging
import re
import subprocess
import traceback
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml
from api_double import (
    KEY_ENV,
    PLAIN,
    Double,
    counts,
    endpoint_for,
    model_for,
    requests_for,
    yes_no_frame,
)
from bs4 import BeautifulSoup
from one_row import add_row

from katayori.data.files import FORMULA
from katayori.errors import KatayoriError
from katayori.prompting import recordings
from katayori.prompting.answer_store import Store
from katayori.prompting.requests import Response
from katayori.report.explorers import explorer
from katayori.report.run import FIELDS, Run
from katayori.report.tables import show, show_text, visible
from katayori_tools import (
    cli,
    collect as collecting,
    compare,
    environment,
    forms,
    record,
    site,
)
from katayori_tools.collect import collect_sync
from katayori_tools.doctor import find_browser
from katayori_tools.live import export_requests
from katayori_tools.pages import write_report
from katayori_tools.planning import probe_logprobs
from katayori_tools.send import key_of

CANARY = "sk-canary-4f9c1e77d0a2"
ECHOES = ["echo_500", "echo_429", "echo_400", "echo_422", "echo_502", "echo_200"]


@pytest.fixture(autouse=True)
def canary(monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_ENV, CANARY)
    data = tmp_path / "house" / "data"
    data.mkdir(parents=True)
    for name in ("column_names.yaml", "forms.yaml"):
        (data / name).write_bytes((HERE / "data" / name).read_bytes())
    monkeypatch.setenv("KATAYORI_ROOT", str(data.parent))
    monkeypatch.setattr(collecting, "_wait_before_retry", lambda *_: 0)


def _endpoint(double):
    return endpoint_for(double.url, key_env=KEY_ENV)


def _holds_canary(folder) -> list[str]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert files
    return [
        p.name for p in files
        if CANARY.encode() in (gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes())
    ]  # fmt: skip


def test_a_key_that_every_answer_echoes_is_written_nowhere(tmp_path, capfd, caplog):
    """The canary: store files, exports, recordings, frame, screen and log after a run of faults that repeat the key."""
    caplog.set_level(logging.DEBUG)
    requests = requests_for(12)
    with Store(tmp_path / "answers.sqlite") as store:
        with Double(
            lambda body, before: ECHOES[int(body["messages"][0]["content"].split()[2][:-1]) % 6]
        ) as double:
            collect_sync(requests, model_for(), _endpoint(double), store, retries=1)
        assert double.keys and all(
            CANARY in key for key in double.keys
        )  # it was sent, and it came back
        answered = list(store.get(requests))
        assert {a.outcome for _, a in answered} == {"ok", "error"}
        assert all("[key]" in (a.text + a.error) for _, a in answered)
        record.export(answered, settings={})
        frame = yes_no_frame(requests, [a for _, a in answered], "live")
        frame.to_csv(tmp_path / "answers.csv")
        export_requests(requests, tmp_path / "template.jsonl")
        assert _holds_canary(tmp_path) == []  # with the write-ahead log still there
    out, err = capfd.readouterr()
    assert CANARY not in out + err + caplog.text and "12/12" in err
    assert _holds_canary(tmp_path) == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_the_exception_of_a_refused_key_does_not_repeat_it(status, tmp_path):
    with (
        Store(tmp_path / "s.sqlite") as store,
        Double(lambda body, before: f"echo_{status}") as double,
    ):
        with pytest.raises(KatayoriError) as caught:
            collect_sync(requests_for(3), model_for(), _endpoint(double), store, progress=False)
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert CANARY not in shown and (KEY_ENV in shown or status == 404)
    assert _holds_canary(tmp_path) == []


def test_twenty_echoes_in_a_row_and_the_probe_do_not_repeat_it(tmp_path):
    with Store(tmp_path / "s.sqlite") as store, Double(lambda body, before: "echo_500") as double:
        with pytest.raises(KatayoriError, match="20 failures in a row") as caught:
            collect_sync(
                requests_for(40), model_for(), _endpoint(double), store, progress=False, retries=0
            )
        seen = asyncio.run(probe_logprobs(model_for(), _endpoint(double)))
        assert CANARY not in str(caught.value) + str(seen) and seen[0] is False


def test_a_redirect_does_not_carry_the_key_elsewhere(tmp_path, monkeypatch):
    """Vendors' own key headers would be sent along by a client that follows; its address may hold
    the key, too.
    """
    with Double() as other, Double(["redirect"]) as double, Store(tmp_path / "s.sqlite") as store:
        to = {"Location": f"{other.url}?key={CANARY}"}
        monkeypatch.setitem(PLAIN, "redirect", (307, "", to))
        with pytest.raises(KatayoriError, match="requests on to http://127") as told:
            collect_sync(requests_for(1), model_for(), _endpoint(double), store, progress=False)
        assert f"{other.url}?key=[key] (307)" in str(told.value)
        assert other.asked == 0 and double.asked == 1 and counts(store) == {}


def test_short_or_absent_keys_mask_nothing(tmp_path, monkeypatch):
    """A server of one's own needs no key; the word that stands in for it is not cut out of answers."""
    with Double(answer="none of it. Answer: no") as double, Store(tmp_path / "s.sqlite") as store:
        collect_sync(requests_for(1), model_for(), endpoint_for(double.url), store, progress=False)
        assert next(store.get(requests_for(1)))[1].text == "none of it. Answer: no"


def test_registry_objects_never_show_a_key():
    endpoint = endpoint_for("http://127.0.0.1:1/v1", key_env=KEY_ENV)
    assert CANARY not in repr(endpoint) + str(endpoint) and key_of(endpoint) == CANARY


HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(2)>\n=HYPERLINK("http://x")\nAnswer: yes'
)


def test_model_output_stays_text_through_store_recording_and_frame(tmp_path):
    """Nothing interprets, shortens or escapes it on the way; showing it as text is the report's part."""
    [request] = requests_for(1)
    with Double(answer=HOSTILE) as double, Store(tmp_path / "s.sqlite") as store:
        collect_sync([request], model_for(), endpoint_for(double.url), store, progress=False)
        pairs = list(store.get([request]))
    assert pairs[0][1].text == HOSTILE
    record.export(pairs, settings={})
    [row] = recordings.read("discrim_eval", "m", "p")
    frame = yes_no_frame([request], [recordings.to_response(row)], "recorded")
    assert frame["text"][0] == HOSTILE and frame["answer"][0] == "yes"


def test_a_question_that_looks_like_sql_or_a_formula_is_only_text(tmp_path):
    [request] = requests_for(1)
    request.item_id = "'; DROP TABLE answers; --"
    with Store(tmp_path / "s.sqlite") as store:
        store.put(request, Response("ok", "'); DELETE FROM answers; --"))
        assert counts(store) == {"ok": 1}
    with export_requests([request], tmp_path / "t.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["item_id"] == request.item_id


HERE = Path(__file__).parents[2]
HIT = "document.documentElement.setAttribute('data-hit', (document.documentElement.dataset.hit || '') + '{}')"
#: Answers that try to act: each would leave its mark on the page it runs in.
ATTACKS = [
    f"<script>{HIT.format('script')}</script>",
    f'<img src=x onerror="{HIT.format("img")}">',
    f'<svg onload="{HIT.format("svg")}"><animate onbegin="{HIT.format("svg")}" attributeName=x dur=1s></svg>',
    f'</pre></td></table></div><img src=x onerror="{HIT.format("closed")}">',
    f'"><img src=x onerror="{HIT.format("quoted")}">',
    f'--></style></textarea></title><img src=x onerror="{HIT.format("ended")}">',
    f'<iframe srcdoc="<script>parent.{HIT.format("frame")}</script>"></iframe>',
    f'<a id=link href="javascript:{HIT.format("link")}">Answer: yes</a>',
    f'<details open ontoggle="{HIT.format("toggle")}"><summary>x</summary></details>',
    f"# head\n**bold** [x](javascript:{HIT.format('md')}) ![i](https://evil.example/i.png)\n<b onclick=x>",
    "$\\href{javascript:alert(1)}{x}$ \\(y\\) $$\\alpha$$",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;https://evil.example\x1b\\link",
    "\u202eyes :rewsnA\u2066",
    '=HYPERLINK("https://evil.example","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
]

MARKS = ["img", "svg", "closed", "quoted", "ended", "link", "toggle"]


def _rendered(path, profile):
    """The page after its scripts, handlers and timers have had their turn, in headless Chromium; nothing is reached."""
    browser = find_browser()
    if browser is None:
        pytest.skip("no browser found: install chromium to attack the pages in it")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--no-first-run",
        "--disable-gpu",
        f"--user-data-dir={profile}",
    ]
    command += ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--virtual-time-budget=3000", "--dump-dom", path.as_uri()]
    return subprocess.run(command, capture_output=True, timeout=120, check=True).stdout.decode(
        "utf-8"
    )


def _inserted(parts):
    """A page that puts each part where a notebook puts HTML output and widgets: into an element, by innerHTML."""
    given = json.dumps(parts).replace("<", "\\u003c")
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"></head><body><script>
for (const part of {given}) {{
  const box = document.createElement("div"); box.className = "box"; document.body.append(box); box.innerHTML = part;
}}
for (const link of document.querySelectorAll("a")) link.click();
</script></body></html>"""


def _answers():
    """The answers as every notebook has them, from recorded rows."""
    requests = requests_for(len(ATTACKS))
    return yes_no_frame(requests, [Response("ok", text, "stop") for text in ATTACKS], "recorded")


@pytest.mark.browser
@pytest.mark.slow
def test_hostile_answers_do_not_act_in_a_real_browser(tmp_path):
    """Tables, texts, captions, titles and widgets, as a notebook inserts them; the page that is not escaped is hit."""
    frame = _answers()
    box = explorer(
        {"item": list(frame["item_id"])}, lambda item: show(frame[frame["item_id"] == item])
    )
    parts = [show(frame)._repr_html_()]
    for item, text in zip(frame["item_id"], frame["text"], strict=True):
        box.children[0].value = item
        parts += [box.children[1].value, box._repr_mimebundle_()["text/html"]]
        parts += [
            show_text(text, title=text)._repr_html_(),
            show(pd.DataFrame({text: [1]}), caption=text)._repr_html_(),
        ]
    bad = explorer({"x": [1]}, lambda x: {}[ATTACKS[1]])  # an error whose message is the attack
    (tmp_path / "safe.html").write_text(
        _inserted([*parts, bad.children[1].value]), encoding="utf-8"
    )
    dom = _rendered(tmp_path / "safe.html", tmp_path / "one")
    assert "data-hit" not in dom.partition("<body")[0]
    seen = html.unescape(re.sub(r"<[^>]*>", "", dom.rpartition("</script>")[2]))
    shown = [text for text in ATTACKS if not {"\x1b", "\u202e"} & set(text)]
    assert [text for text in shown if seen.count(text) < 3] == []
    assert "␛[31mred" in seen and "\\u202eyes" in seen and not {"\x1b", "\u202e"} & set(seen)

    framed = [
        text for text in ATTACKS if "iframe" in text
    ]  # on a page with others, leaving it stops theirs
    for n, (some, marks) in enumerate(
        [(framed, ["frame"]), ([t for t in ATTACKS if t not in framed], MARKS)]
    ):
        (tmp_path / "control.html").write_text(_inserted(some), encoding="utf-8")
        head = _rendered(tmp_path / "control.html", tmp_path / f"control{n}").partition("<body")[0]
        assert [mark for mark in marks if mark not in head] == []


def _hostile_notebook(path):
    """Outputs, printed text, errors, and answers that became Markdown or a title."""
    frame, cells = _answers(), []
    for text in ATTACKS:
        out = [nbformat.v4.new_output("stream", text=text + "\n")]
        out.append(
            nbformat.v4.new_output(
                "display_data", data={"text/html": show_text(text)._repr_html_()}
            )
        )
        out.append(
            nbformat.v4.new_output("display_data", data={"text/markdown": text, "text/plain": text})
        )
        out.append(
            nbformat.v4.new_output("error", ename="KatayoriError", evalue=text, traceback=[text])
        )
        cells += [
            nbformat.v4.new_code_cell(f"x = {text!r}", outputs=out),
            nbformat.v4.new_markdown_cell(text),
        ]
    whole = nbformat.v4.new_output("display_data", data={"text/html": show(frame)._repr_html_()})
    cells += [nbformat.v4.new_code_cell("show(frame)", outputs=[whole])]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


@pytest.mark.browser
@pytest.mark.slow
def test_hostile_answers_do_not_act_in_a_report(tmp_path):
    """The page of a notebook: outputs, printed text, an error, and answers that became Markdown or a title."""
    _hostile_notebook(tmp_path / "x.ipynb")
    page = write_report(tmp_path / "x.ipynb", tmp_path / "report.html")
    dom = _rendered(page, tmp_path / "profile")
    assert "data-hit" not in dom[:300] and "\x1b" not in dom
    # The page's policy would stop a script, so the markup itself is looked at, too.
    assert not re.findall(r"<(script|iframe|svg|object|animate|form)\b", dom.partition("<main")[2])
    assert not re.findall(r"<[^>]+\s(on\w+|srcdoc)\s*=", dom) and not re.findall(
        r'<a\b[^>]*href="javascript:', dom
    )
    assert ATTACKS[0] in html.unescape(re.sub(r"<[^>]*>", "", dom))


@pytest.mark.slow_all
@pytest.mark.browser
def test_hostile_answers_do_not_act_in_a_site(tmp_path, monkeypatch):
    """Every page of a run whose notebook, results and reasons are attacks, with all scripts."""
    monkeypatch.setenv("KATAYORI_ROOT", str(HERE))
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    environment.setup_site()
    monkeypatch.setattr(site, "_scripts", lambda papers: {})
    run = Run("discrim_eval", tmp_path / "mine" / "discrim_eval")
    for text in ATTACKS:
        about = {"model": text, "n": 9, "headline": True, "cell": {"factor": text}}
        about |= {"verdict": text, "why": text}
        add_row(run, "DE-24", "Krippendorff's alpha, sampled", 0.5, source="recorded", **about)
    run.save()
    _hostile_notebook(tmp_path / "mine" / "discrim_eval" / "01_discrim_eval.ipynb")
    (tmp_path / "mine" / "jubaku_v2").mkdir()
    reason = json.dumps({"reason": "\n".join(ATTACKS)})
    (tmp_path / "mine" / "jubaku_v2" / "skipped.json").write_text(reason)
    site.site(profile="mine", interface=False)
    folder = tmp_path / "mine" / "site"
    names = ("01_discrim_eval", "discrim_eval", "jubaku_v2", "papers", "notebooks")
    for name in (*names, "models"):
        dom = _rendered(folder / f"{name}.html", tmp_path / name)
        assert "data-hit" not in dom[:600] and "\x1b" not in dom, name
        # The page's policy would stop a script, so the markup itself is looked at, too.
        inside = dom.partition("<article")[2].partition("</article>")[0]
        assert inside, name
        found = re.findall(r"<(script|iframe|svg|object|animate|form)\b", inside)
        assert found == [], name
        names_of = [one for tag in BeautifulSoup(dom, "html.parser")(True) for one in tag.attrs]
        assert not [one for one in names_of if one.startswith("on") or one == "srcdoc"], name
        assert not re.findall(r'<a\b[^>]*href="javascript:', dom), name
        assert not re.findall(r'(src|href)="(https?:)?//[^"]*evil', dom.replace(inside, "")), name
        assert not re.findall(r'src="(https?:)?//', dom), name
    shown = (folder / "01_discrim_eval.html").read_text(encoding="utf-8")
    assert ATTACKS[0] in html.unescape(re.sub(r"<[^>]*>", "", shown))


def _cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


def test_no_table_of_a_run_holds_a_formula(tmp_path):
    run = Run("discrim_eval", tmp_path)
    frame = _answers()
    run.table("answers", frame.assign(**{text: 1 for text in ATTACKS}))
    run.table("named", frame.set_index("text"))
    for name in ("answers", "named"):
        assert not [cell for cell in _cells(tmp_path / f"tables/{name}.csv") if FORMULA.match(cell)]
        kept = {cell.removeprefix("'") for cell in _cells(tmp_path / f"tables/{name}.csv")}
        assert {visible(text.replace("\r", "\n")) for text in ATTACKS} <= kept


def test_what_raters_and_readers_open_in_a_spreadsheet_holds_no_formula(tmp_path, monkeypatch):
    """The rating form (drafts are a model's) and the comparison of two runs."""
    case = {
        "case_id": "c1",
        "template": 1,
        "context": "=cmd()",
        "option_a": "+1",
        "option_b": "＝x",
        "label": "A",
    }
    items = pd.DataFrame([case | {"order": order} for order in ("nb", "bn")])
    forms.write_form(tmp_path / "form.csv", forms.form_of(items, 2)[0], "rate")
    assert _cells(tmp_path / "form.csv")[-6:] == ["c1", "'=cmd()", "'+1", "'＝x", "", ""]
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    row = dict.fromkeys(FIELDS) | {"paper": "=cmd()", "what": "+1", "model": "m", "cell": {}}
    frame = pd.DataFrame([row | {"headline": True, "value": -0.5, "n": 9, "status": "count"}])
    monkeypatch.setattr(compare, "_pair", lambda *_: (frame, frame))
    assert cli.main(["compare", "A", "B"]) == 0
    files = sorted((tmp_path / "compare").glob("*.csv"))
    assert len(files) == 2 and "-headlines" in files[0].name
    assert "'+1" in _cells(files[0]) and "=cmd()" not in _cells(files[0])
    cells = _cells(files[1])
    assert "'=cmd()" in cells and "=cmd()" not in cells and "-0.5" in cells  # a number stays one


def test_what_a_server_says_cannot_steer_the_terminal(tmp_path, capsys):
    """Escape codes could retitle a window or hide a line; the one error line spells them out."""
    assert cli.main(["batch", "import", str(tmp_path / "\x1b]0;gone\x07\x1b[2K")]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said and "\x07" not in said and "␛]0;gone␇␛[2K" in said


def _sources():
    for folder in ("lib/katayori", "lib/katayori_tools", "lib/benchmarks", "data/simulated"):
        for path in sorted((HERE / folder).rglob("*.py")):
            yield path.name, path.read_text(encoding="utf-8")


def test_every_download_is_over_https_and_pinned_or_recorded_by_hash():
    catalogue = yaml.safe_load((HERE / "data/catalogue.yaml").read_text(encoding="utf-8"))
    urls = [
        file["url"]
        for entry in catalogue["datasets"].values()
        for file in entry["files"]
        if file["url"]
    ]
    assert urls and all(url.startswith("https://") for url in urls)
    weights = yaml.safe_load((HERE / "data/weights.yaml").read_text(encoding="utf-8"))["weights"]
    assert all(re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]) for entry in weights.values())
    plain = [line for _, source in _sources() for line in source.splitlines()]
    named = [url for line in plain for url in re.findall(r"http://[\w.{}-]+", line)]
    local = r"http://(127\.0\.0\.1|localhost|host)\b|http://\{HOST\}"
    assert not [url for url in named if not re.match(local, url)]

"""Whose answers are these: servers of the user's own are told apart in keys, store and reports."""

import getpass
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from api_double import Double, counts
from test_prompting_store import GOLDEN

from katayori import provenance
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import answers, discrim_eval
from katayori.prompting import models
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Server, _normalised, at_server, get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Response, build, by_rule
from katayori.prompting.store import StoredAnswers, store_path
from katayori_tools import asking, cli
from katayori_tools.choices import OwnServer

OLD_STORE = Path(__file__).parent / "fixtures" / "store" / "schema1.db"
TEXTS = ["Answer: no", "Answer: yes"]
HERE = str(Path(__file__).parent)


@pytest.fixture
def quiet(house, monkeypatch):
    """A checkout whose `make live` asks, and runs no notebook."""
    (house / "notebooks").symlink_to(Path(__file__).parents[2] / "notebooks")
    monkeypatch.setattr("katayori_tools.reproduce.reproduce", lambda run: 0)
    return house


def live(url, **changes):
    """`make live` of one question (135 requests) by one model of the user's; the exit code."""
    given = {"papers": "discrim_eval", "models": "m@custom", "limit": 1, "base_url": url} | changes
    words = []
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}"] if value is True else []
        words += (
            [f"--{name.replace('_', '-')}", str(value)]
            if value is not None and value is not True
            else []
        )
    return cli.main(["live", *words])


def stored():
    with Store(store_path()) as store:
        return counts(store)


def study():
    """Our decision questions with the place of their prompt."""
    items = discrim_eval.load_study()
    return items.assign(question=items["filled_template"])


def read(name="m@custom"):
    """What a notebook reads offline: the live answers that are there."""
    prompt = load_prompts("discrim_eval")["de_answer_line"]
    frame = answers.get(study(), prompt, [name], source="live")
    return frame[frame["note"] != "not asked yet"]


# --- addresses and keys ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url, one_form",
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("HTTP://LocalHost:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000/v1", "http://127.0.0.1:8000/v1"),
        ("https://Example.COM/v1", "https://example.com:443/v1"),
        ("https://example.com.:443/v1/", "https://example.com:443/v1"),
        ("http://example.com", "http://example.com:80"),
        ("https://user:secret@example.com/v1?key=secret#x", "https://example.com:443/v1"),
        ("http://[2001:DB8::1]/v1", "http://[2001:db8::1]:80/v1"),
        ("http://example.com/V1", "http://example.com:80/V1"),  # a path may tell cases apart
    ],
)
def test_an_address_has_one_form_without_user_password_and_query(url, one_form):
    assert _normalised(url) == one_form


def test_keys_are_extended_never_changed():
    """Answers of users hang on these, too: change the code back, not the literals."""
    at = replace(GOLDEN, endpoint="custom", server=Server("", "http://127.0.0.1:8000/v1"))
    named = replace(at, server=Server("mine", "http://127.0.0.1:8000/v1"))
    again = replace(at, server=replace(at.server, series=1))
    assert at.key == "329b62e0275be9a4eeeb678b63de12fe327f610e19ce0a78e0b2a3ffe4362797"
    assert named.key == "8871bbd4f89f8b60693cb23bd0a3772d276532cd95ea5fce26d6244d9d481e1b"
    assert again.key == "e5346b98bf9f1848c3d3fdb9c2e6a08efa8b0173a7fc4dfa47dc1d70153d5838"


def test_who_answers_is_told_by_label_else_by_address():
    custom = get_model("m@custom")[1]
    item = {"item_id": "a", "question": "Why?"}
    prompt = load_prompts("discrim_eval")["de_answer_line"]
    model = get_model("m@custom")[0]

    def key(url, label="", name=custom):
        endpoint = at_server(name, base_url=url, label=label)
        return build([item], prompt, model, endpoint)[0].key

    assert key("http://localhost:1/v1") == key("http://127.0.0.1:1/v1/")
    assert key("http://localhost:1/v1") != key("http://localhost:2/v1")
    assert key("http://localhost:1/v1", "a") == key("http://localhost:2/v1", "a")
    assert key("http://localhost:1/v1", "a") != key("http://localhost:1/v1", "b")
    without = replace(custom, server=models.NO_SERVER)
    old = build([item], prompt, model, without)[0].key
    assert key("http://localhost:1/v1", "unknown") == old
    vendor = get_model("gpt-4o")[1]
    assert at_server(vendor, base_url="http://x:1", label="a") is vendor
    assert at_server(custom, label="a").server == Server("a"), "no address is needed, nor made up"


@pytest.mark.parametrize("label", ["http://x/v1", "x" * 81, "a\nb"])
def test_a_label_is_a_short_name(label, capsys):
    assert cli.main(["live", "--label", label]) == 2
    assert "must be a short name" in capsys.readouterr().err


# --- stores of before -----------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path):
    """A store that commit fc7ba3f wrote."""
    path = tmp_path / "answers.sqlite"
    shutil.copy(OLD_STORE, path)
    return path


def old_requests(name, label=""):
    """The two requests whose answers that store holds, made by seed rule 1 as they were."""
    model, endpoint = get_model(name)
    endpoint = at_server(endpoint, base_url="http://127.0.0.1:8000/v1", label=label)
    items = study().set_index("item_id", drop=False)
    rows = items.loc[["q101-020-male-white", "q101-020-male-black"]].to_dict("records")
    prompt = load_prompts("discrim_eval")["de_answer_line"]
    built = build(rows, prompt, model, endpoint)
    return [by_rule(request, 1) for request in built]  # the rule of that time


def test_a_store_of_schema_1_is_copied_and_read(old):
    """Vendors' and local answers are found as before, a server's only as of an unknown one."""
    before = old.read_bytes()
    with Store(old) as store:
        assert store.path.name == "answers.2.sqlite" and counts(store) == {"ok": 8}
        for name in ("gpt-4o-2024-11-20", "qwen2.5-coder-0.5b@local-vllm"):
            texts = [answer.text for _, answer in store.get(old_requests(name))]
            assert texts == TEXTS
        for name in ("my-model@custom", "my-model@vllm"):
            assert [answer for _, answer in store.get(old_requests(name))] == [None, None]
            found = [answer.text for _, answer in store.get(old_requests(name, "unknown"))]
            assert found == TEXTS
        query = "SELECT DISTINCT endpoint IN ('custom', 'vllm'), label, address FROM answers"
        assert set(store.db.execute(query)) == {(1, "unknown", "unknown"), (0, "", "")}
        store.put(old_requests("my-model@custom")[0], Response("ok", "new"))
    assert old.read_bytes() == before
    with Store(old) as store:
        assert counts(store) == {"ok": 9}
    assert sorted(p.name for p in old.parent.iterdir()) == [
        "answers.2.sqlite",
        "answers.2.sqlite.lock",
        "answers.sqlite",
    ]


def test_a_store_of_schema_1_is_read_without_a_copy(old):
    """As a notebook does, which writes nothing."""
    before = old.read_bytes()
    with StoredAnswers(old) as store:
        texts = [answer.text for _, answer in store.get(old_requests("gpt-4o-2024-11-20"))]
        unknown = old_requests("my-model@custom", "unknown")
        model, endpoint = get_model("my-model@custom")
        endpoint = at_server(endpoint, label="unknown")
        assert texts == [answer.text for _, answer in store.get(unknown)] == TEXTS
        assert store.pending(old_requests("my-model@custom")) != store.pending(unknown) == []
        assert store.newest(endpoint, model, "discrim_eval") == endpoint
        assert len(store.servers("custom", model.identity, "discrim_eval")) == 1
        assert store.answered_as("discrim_eval", model, endpoint)
    assert old.read_bytes() == before and [p.name for p in old.parent.iterdir()] == [old.name]


OPEN = """
import resource, sys
from katayori.errors import KatayoriError
from katayori.prompting.answer_store import Store
if len(sys.argv) > 2:  # bytes that a file may grow to, as on a disk that is full
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    with Store(sys.argv[1]) as store:
        print(store.db.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
except KatayoriError as error:
    print(error)
"""


def opened(path, *more):
    command = [sys.executable, "-c", OPEN, str(path), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_on_a_full_disk_there_is_no_half_copy(old):
    with sqlite3.connect(old) as db:  # longer than what a file may grow to
        columns = [row[1] for row in db.execute("PRAGMA table_info(answers)")]
        made = ", ".join(f"key || '-' || {n}" if n == "key" else n for n in columns)
        made = made.replace("key || '-' || key", "key || '-' || i")
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
        db.execute(f"{numbers} INSERT INTO answers SELECT {made} FROM answers, n")
    db.close()
    before = old.read_bytes()
    said = opened(old, "100000").communicate(timeout=120)[0]
    assert "cannot be used" in said and "is kept" in said and said.count("\n") == 1
    assert {p.name for p in old.parent.iterdir()} == {old.name, "answers.2.sqlite.lock"}
    assert old.read_bytes() == before
    assert opened(old).communicate(timeout=120)[0] == "800\n"


def test_many_processes_may_copy_one_store(old):
    (old.parent / "answers.2.sqlite.part").write_bytes(b"what a killed process left")
    children = [opened(old) for _ in range(4)]
    assert {child.communicate(timeout=240)[0] for child in children} == {"8\n"}
    assert not (old.parent / "answers.2.sqlite.part").exists()


def test_answers_of_an_unknown_server_are_told_and_read_by_that_name(quiet, capsys, monkeypatch):
    path = store_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(OLD_STORE, path)
    with Double(answer="Answer: no") as double:
        assert live(double.url, models="my-model@custom") == 0
        assert double.asked == 135
        said = capsys.readouterr().out
        assert "answers lie under other servers (unknown)" in said
        assert "LABEL=unknown reads these" in said
        assert live(double.url, models="my-model@custom", label="unknown") == 0
        assert double.asked == 135 + 133
    with pytest.raises(UnavailableError, match=r"needs an address.*LABEL="):
        read("my-model@custom")
    monkeypatch.setenv("KATAYORI_LABEL", "unknown")
    found = read("my-model@custom").set_index("item_id")["answer"]
    assert len(found) == 135 and found["q101-020-male-black"] == "yes"


# --- live and offline -----------------------------------------------------------------------------


def test_only_live_contacts_a_server_and_a_wrong_address_is_an_error(quiet, capsys, monkeypatch):
    """Also where everything is stored; reading needs the address or the label, and no server."""
    with Double(answer="Answer: no") as double:
        assert live(double.url) == 0
        url = double.url
    before = stored()
    wrong = {
        url: "cannot be reached",  # it has been stopped
        "http://127.0.0.1:9/v1": "cannot be reached at 127.0.0.1:9",
        "http://no-such-host.invalid/v1": "cannot be reached",
        url.removeprefix("http://"): "must begin with http://",
        "http://:80": "must begin with http://",
    }
    capsys.readouterr()
    for address, says in wrong.items():
        assert live(address) == 2, address
        out, err = capsys.readouterr()
        assert says in err and err.count("\n") == 1 and not out, address
    assert live(None) == 2 and "set KATAYORI_BASE_URL" in capsys.readouterr().err
    assert live(None, label="a") == 2 and "set KATAYORI_BASE_URL" in capsys.readouterr().err
    assert stored() == before == {"ok": 135}
    monkeypatch.setenv("KATAYORI_BASE_URL", url)
    assert set(read()["answer"]) == {"no"}
    monkeypatch.setenv("KATAYORI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(UnavailableError, match="no live answers of m@custom at own server"):
        read()


def test_two_servers_with_one_model_name_never_share_answers(quiet, capsys, monkeypatch):
    with Double(answer="Answer: no") as one, Double(answer="Answer: yes") as two:
        assert live(one.url) == live(two.url) == 0
        assert one.asked == two.asked == 135
        assert live(one.url) == 0 and one.asked == 135
    said = capsys.readouterr().out
    [digest] = {models.digest_of(_normalised(url)) for url in (one.url, two.url) if url == one.url}
    assert f"answers lie under other servers (own server {digest})" in said
    for url, answer in ((one.url, "no"), (two.url, "yes")):
        monkeypatch.setenv("KATAYORI_BASE_URL", url)
        assert set(read()["answer"]) == {answer}
    # The hash that is shown stands for the address, wherever the server has moved to.
    monkeypatch.setenv("KATAYORI_BASE_URL", "http://elsewhere.invalid/v1")
    monkeypatch.setenv("KATAYORI_LABEL", digest)
    assert set(read()["answer"]) == {"no"}


def test_estimate_needs_no_address_and_tells_of_answers_elsewhere(quiet, capsys):
    with Double() as double:
        live(double.url)
    capsys.readouterr()
    asked = ["estimate", "--papers", "discrim_eval", "--models", "m@custom", "--limit", "1"]
    assert cli.main(asked) == 0
    said = capsys.readouterr().out
    assert "answers lie under other servers" in said and "LABEL=" in said
    assert "\n135 calls" in said
    assert cli.main([*asked, "--base-url", double.url]) == 0
    assert "\n0 calls" in capsys.readouterr().out


def test_fresh_asks_anew_and_the_newest_is_read(quiet, monkeypatch):
    with Double(answer="Answer: no") as double:
        live(double.url)
        double.answer = "Answer: yes"
        assert live(double.url, fresh=True) == 0 and double.asked == 270
        assert live(double.url) == 0 and double.asked == 270
        monkeypatch.setenv("KATAYORI_BASE_URL", double.url)
        assert set(read()["answer"]) == {"yes"}
        double.answer = "Answer: no"
        live(double.url, fresh=True)
    assert set(read()["answer"]) == {"no"} and stored() == {"ok": 3 * 135}
    with Store(store_path()) as store:
        assert set(store.db.execute("SELECT series FROM answers")) == {(0,), (1,), (2,)}


def test_notebooks_of_live_find_label_and_address(monkeypatch):
    url = "http://127.0.0.1:1/v1"
    monkeypatch.setenv("KATAYORI_BASE_URL", "http://before")
    monkeypatch.delenv("KATAYORI_LABEL", raising=False)
    with asking.environment(OwnServer(base_url=url, label="mine")):
        assert os.environ["KATAYORI_LABEL"] == "mine"
        assert os.environ["KATAYORI_BASE_URL"] == os.environ["KATAYORI_BASE_URL_VLLM"] == url
    assert "KATAYORI_LABEL" not in os.environ
    assert os.environ["KATAYORI_BASE_URL"] == "http://before"


# --- what is shown --------------------------------------------------------------------------------

SECRETS = ("sk-canary-77aa12", "127.0.0.1", "localhost", "/home/alice", "pw-canary")


def test_listing_and_provenance_show_neither_address_nor_key_nor_home(quiet, monkeypatch, capsys):
    """The server reports its model as a path, and its errors name itself and a home."""
    monkeypatch.setenv("KATAYORI_API_KEY", SECRETS[0])

    def failing(body, before):
        return "bad_request" if "80-year-old" in str(body["messages"]) else None

    with Double(failing) as double:
        url = double.url
        assert live(url.replace("http://", "http://alice:pw-canary@")) == 2
        err = capsys.readouterr().err
        assert "holds a user or a password" in err and "pw-canary" not in err
        reply = double._reply

        async def named(fault, body, http):
            made = await reply(fault, body, http)
            told = json.loads(made.text) | {"model": "/home/alice/models/qwen-7b.gguf"}
            if fault:
                told["error"]["message"] = f"no /home/alice/x at {double.url}"
            made.text = json.dumps(told)
            return made

        double._reply = named
        live(url)
        assert double.asked >= 135
    monkeypatch.setenv("KATAYORI_BASE_URL", url)
    frame = read()
    record = answers.provenance("discrim_eval", ["m@custom"], frame)
    digest = models.digest_of(_normalised(url))
    [model] = record["models"]
    assert model["server"] == f"own server {digest}" and model["vendor_id"] == "m"
    assert "qwen-7b.gguf" in model["answered_as"]
    shown = json.dumps(provenance.collect(**record)) + frame.drop(columns="item_id").to_csv()
    capsys.readouterr()
    assert cli.main(["answers"]) == 0
    listing = capsys.readouterr().out
    assert f"own server {digest}" in listing and "qwen-7b.gguf" in listing
    for secret in (*SECRETS, *({getpass.getuser()} - {"root"}), str(Path.home())):
        assert secret not in shown + listing, secret
    assert "[server]" in shown and "[user]" in shown
    with Store(store_path()) as store:
        stored = {one for (one,) in store.db.execute("SELECT address FROM answers")}
        assert stored == {_normalised(url)}
    raw = store_path().read_bytes()
    assert b"pw-canary" not in raw and SECRETS[0].encode() not in raw


def test_a_batch_keeps_the_keys_of_its_server(quiet, tmp_path, monkeypatch):
    """Exported for one server, imported on a machine that knows neither address nor label."""
    folder = tmp_path / "out"
    named = ["--papers", "discrim_eval", "--models", "m@custom", "--limit", "1", "--label", "mine"]
    assert cli.main(["batch", *named, "export", str(folder)]) == 0
    [shard] = folder.rglob("0*.jsonl")
    rows = [json.loads(line) for line in shard.read_text("utf-8").splitlines()]
    body = {"model": "m", "choices": [{"message": {"content": "Answer: no"}}]}
    answered = [
        {"custom_id": row["custom_id"], "response": {"status_code": 200, "body": body}}
        for row in rows
    ]
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answered))
    assert cli.main(["batch", "import", str(folder)]) == 0 and stored() == {"ok": 135}
    monkeypatch.setenv("KATAYORI_LABEL", "mine")
    assert set(read()["answer"]) == {"no"}


def test_behind_a_proxy_nothing_is_tried(monkeypatch):
    custom = get_model("m@custom")[1]
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    assert asking.reached(custom, "http://far.invalid/v1") == "http://far.invalid/v1"
    with pytest.raises(KatayoriError, match="cannot be reached"):
        asking.reached(custom, "http://127.0.0.1:9/v1")

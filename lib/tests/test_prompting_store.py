"""Store and key: a success is kept for good, an error is asked again, and nothing else but the key
decides.
"""

import dataclasses
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import orjson
import pytest
from api_double import counts, endpoint_for, model_for, requests_for
from hypothesis import given, strategies as st

from katayori.errors import KatayoriError
from katayori.finish_reasons import OUTCOMES
from katayori.prompting import store as storing
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Endpoint, Model, Server
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import LOCAL_SAMPLING, Request, Response, build, seed_for


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "answers.sqlite"


# --- the key --------------------------------------------------------------------------------------

GOLDEN = Request(
    "discrim_eval",
    "study",
    "q029-020-female-white",
    "de_answer_line",
    "x",
    "",
    "qwen",
    "local-vllm",
    "sha256:0123",
    {
        "messages": [{"role": "user", "content": "貸しますか？"}],
        "temperature": 1.0,
        "seed": 7,
        "max_tokens": 2048,
    },
    repetition=1,
)


def test_the_key_is_frozen():
    """Recordings hang on it: if this fails, every recorded answer is lost. Change the code back,
    not the literal.
    """
    assert GOLDEN.key == "a15ddf9aa0aed85c79cc3ae253536580596ea96279dd895807984a05b387d66f"
    assert seed_for("q029-020-female-white") == 1950558536
    prompt = Prompt(
        "p", 1, "x", "en", user="{question}", prefix="Answer:", settings={"max_tokens": 1}
    )
    assert prompt.hash == "9940c1457ad0ab23"
    assert LOCAL_SAMPLING == {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0}


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.text()
)
BODIES = st.fixed_dictionaries(
    {
        "messages": st.lists(
            st.fixed_dictionaries({"role": st.just("user"), "content": st.text()}), min_size=1
        )
    },
    optional={
        "seed": VALUES,
        "temperature": VALUES,
        "max_tokens": VALUES,
        "stop": st.lists(st.text(), max_size=2),
    },
)
PARTS = st.tuples(st.text(min_size=1), st.text(min_size=1), BODIES, st.integers(0, 5))


def _request(parts) -> Request:
    endpoint, identity, body, repetition = parts
    return dataclasses.replace(
        GOLDEN, endpoint=endpoint, identity=identity, body=body, repetition=repetition
    )


@given(PARTS, PARTS)
def test_any_difference_makes_another_key_and_no_difference_the_same(one, two):
    """peers 11 and 12: model, endpoint, every setting, every character, and the repetition
    count.
    """
    same = orjson.dumps(list(one), option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        list(two), option=orjson.OPT_SORT_KEYS
    )
    assert (_request(one).key == _request(two).key) == same


@pytest.mark.parametrize(
    "name", "paper dataset item_id prompt_id prompt_hash variant model fields".split()
)
def test_labels_do_not_count(name):
    """The same question to the same model is asked once, whatever it is called."""
    value = {"a": 1} if name == "fields" else "another"
    assert dataclasses.replace(GOLDEN, **{name: value}).key == GOLDEN.key


def test_repetitions_and_variants_are_requests_of_their_own():
    """DE-12: k samples an item; DE-8: the paper's literal seed."""
    prompt = Prompt("p", 1, "x", "en", user="{question}", settings={"seed": 1})
    local = Endpoint("local-x", "local", supports={"seed": True})
    items = [{"item_id": "a", "question": "Why?"}, {"item_id": "b", "question": "Why?"}]
    drawn = build(items, prompt, Model("m", "m", "local-x"), local, repetitions=3)
    assert [r.repetition for r in drawn] == [0, 1, 2, 0, 1, 2]
    assert len({r.key for r in drawn}) == 6 and len({r.body["seed"] for r in drawn}) == 6
    literal = build(items, prompt, Model("m", "m", "local-x"), local, variant="seed1")
    assert [r.body["seed"] for r in literal] == [1, 1]
    api = build(items[:1], prompt, model_for(), endpoint_for(), repetitions=2)
    assert [r.body for r in api] == [api[0].body] * 2 and api[0].key != api[1].key  # peers 12
    assert api[0].body == {
        "messages": [{"role": "user", "content": "Why?"}],
        "seed": 1,
    }  # DE-8: nothing forced


def test_what_an_endpoint_lacks_is_left_out():
    """DE-9; some endpoints name the limit differently."""
    prompt = Prompt(
        "p",
        1,
        "x",
        "en",
        user="{question}",
        settings={"seed": 1, "max_tokens": 9, "logprobs": True},
    )
    supports = {"seed": False, "logprobs": False, "max_tokens_field": "max_completion_tokens"}
    [request] = build(
        [{"item_id": "a", "question": "{x}"}], prompt, model_for(), endpoint_for(supports=supports)
    )
    assert request.body == {
        "messages": [{"role": "user", "content": "{x}"}],
        "max_completion_tokens": 9,
    }


# --- the store ------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [o for o in OUTCOMES if o not in ("error", "truncated")])
def test_a_success_is_never_asked_again_nor_overwritten(path, outcome):
    [request] = requests_for(1)
    with Store(path) as store:
        store.put(request, Response(outcome, "first"))
        assert store.pending([request]) == []
        for later in ("ok", "error"):
            store.put(request, Response(later, "second"))
        assert next(store.get([request]))[1].text == "first"


def test_a_cut_answer_waits_for_a_higher_limit_and_is_kept_until_then(path):
    [request] = requests_for(1)
    with Store(path) as store:
        store.put(request, Response("truncated", "first", completion_tokens=8))
        assert store.pending([request]) == store.pending([request], cut_below=8) == []
        assert store.pending([request], cut_below=9) == [request]
        store.put(request, Response("error", error="busy"))
        assert next(store.get([request]))[1].text == "first"
        store.put(request, Response("ok", "second"))
        store.put(request, Response("truncated", "third", completion_tokens=90))
        assert next(store.get([request]))[1].text == "second"
        assert store.pending([request], cut_below=10**6) == []


def test_an_error_is_pending_until_a_success_replaces_it(path):
    [request] = requests_for(1)
    with Store(path) as store:
        for text in ("first", "second"):
            store.put(request, Response("error", error=text))
            assert (
                store.pending([request]) == [request]
                and next(store.get([request]))[1].error == text
            )
        store.put(request, Response("ok", "Answer: no"))
        assert not store.pending([request]) and counts(store) == {"ok": 1}


def test_every_field_survives_a_round_trip(path):
    requests = requests_for(2)
    response = Response(
        "ok",
        "答え\u2028\x00<b>",
        "stop",
        [(" yes", -0.25)],
        3,
        4,
        "m",
        "fp",
        0.5,
        2,
        "note",
        1234.5,
    )
    with Store(path) as store:
        store.put(requests[0], response)
    with Store(path) as store:
        assert list(store.get(requests)) == [(requests[0], response), (requests[1], None)]


def _foreign(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE answers (id INTEGER)")


def _newer(path):
    with Store(path) as store:
        store.db.execute("PRAGMA user_version=99")


def _cut_off(path):
    with Store(path) as store:
        for request in requests_for(200):
            store.put(request, Response("ok", "x" * 500))
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3])


@pytest.mark.parametrize(
    "spoil, says",
    [
        (
            lambda path: path.write_bytes(
                b"no database at all, but long enough to look like a file" * 99
            ),
            "not a database",
        ),
        (_foreign, "another program"),
        (_newer, "schema 99.*reads 2"),
        (_cut_off, "malformed"),
        (lambda path: path.mkdir(), "cannot be used"),
    ],
)
def test_a_store_that_cannot_be_used_gets_one_clear_line(path, spoil, says):
    path.parent.mkdir()
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(KatayoriError, match=says) as caught, Store(path) as store:
        store.pending(requests_for(200))
        list(store.get(requests_for(200)))
    assert "\n" not in str(caught.value) and path.name in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before  # nothing of it was touched


TEXT, TOP = b"xxxxxxxx", b'[["yes",-0.5]]'


@pytest.mark.parametrize(
    ("found", "instead"),
    [(b"SQLite format 3", b"another format!"), (TEXT, b"\xff" * 8), (TOP, b"\x07" * len(TOP))],
)
def test_a_store_that_other_bytes_came_into_says_what_to_move_and_what_is_lost(
    path, found, instead
):
    requests = requests_for(300)
    with Store(path) as store:
        answer = Response("ok", TEXT.decode(), "stop", [("yes", -0.5)])
        store.put_all([(request, answer) for request in requests])
    data = path.read_bytes()
    assert found in data
    path.write_bytes(data.replace(found, instead))
    for kind in (Store, storing.StoredAnswers):
        with pytest.raises(KatayoriError) as caught, kind(path) as store:
            list(store.get(requests))
        said = str(caught.value)
        assert f"store {path} is damaged" in said and f"move {path}* to another folder" in said
        assert "Its answers are lost" in said and "are kept" in said and "\n" not in said
    for file in path.parent.glob(f"{path.name}*"):
        file.rename(file.with_name(f"old-{file.name}"))
    with Store(path) as store:
        assert len(store.pending(requests)) == 300


def test_a_locked_store_gets_one_clear_line(path, monkeypatch):
    monkeypatch.setattr(storing, "BUSY", 0.1)
    [request] = requests_for(1)
    with Store(path) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(KatayoriError, match=r"locked.*kept"):
            store.put(request, Response("ok"))
        holder.execute("COMMIT")
        store.put(request, Response("ok"))
        holder.close()


def test_many_may_open_a_new_store_at_the_same_moment(tmp_path):
    """SQLite says "locked" at once where two change a file to WAL or one opens what another closes;
    a store waits.
    """
    together = Barrier(4)

    def opened(number):
        together.wait(timeout=60)
        with Store(tmp_path / f"{number}.sqlite") as store:
            return store.pending(requests_for(1))

    with ThreadPoolExecutor(4) as pool:
        for number in range(60):
            assert list(pool.map(opened, [number] * 4)) == [requests_for(1)] * 4


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.71, 0.99])
def test_a_store_cut_off_in_the_middle_of_a_write_keeps_what_was_whole(path, share):
    """As a machine that loses power leaves it: the log ends within a write. What stood before it is
    whole.
    """
    requests = requests_for(60)
    with Store(path) as store:
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for n, request in enumerate(requests):
            store.put(request, Response("ok", f"{n} " + "答え" * 300))
        log = path.with_name(path.name + "-wal").read_bytes()
        left = path.with_name("left") / path.name
        left.parent.mkdir()
        left.write_bytes(path.read_bytes())
        left.with_name(path.name + "-wal").write_bytes(log[: int(len(log) * share)])
    with Store(left) as store:
        answers = [answer for _, answer in store.get(requests)]
        kept = sum(answer is not None for answer in answers)
        assert abs(kept / 60 - share) < 0.1 and all(a is None for a in answers[kept:])
        assert [a.text for a in answers[:kept]] == [f"{n} " + "答え" * 300 for n in range(kept)]
        assert store.pending(requests) == requests[kept:]
        for request in requests[kept:]:
            store.put(request, Response("ok", "again"))
        assert counts(store) == {"ok": 60}
        assert store.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


READ_ONLY = """
import os, sys
# What this user may not read later:
import aiohttp, anyio._backends._asyncio, openai, openai.resources
sys.path.insert(0, sys.argv[1])
from api_double import *
from katayori.errors import KatayoriError
from katayori_tools.collect import collect_sync
from katayori.prompting.requests import Response
from katayori.prompting.answer_store import Store
if not os.geteuid():
    os.setuid(65534)  # the superuser may write anything
for step in ("open", "put", "collect"):
    try:
        with Store(sys.argv[2]) as store:
            if step == "put":
                store.put(requests_for(1)[0], Response("ok"))
            if step == "collect":
                endpoint = endpoint_for("http://127.0.0.1:9/v1")
                collect_sync(requests_for(3), model_for(), endpoint, store)
        print(step, "worked")
    except KatayoriError as error:
        print(step, error)
"""


@pytest.mark.parametrize("part", ["file", "folder"])
@pytest.mark.slow
def test_a_read_only_store_gets_one_clear_line_before_anything_is_asked(part):
    with (
        tempfile.TemporaryDirectory() as name
    ):  # not in the test's own folder, which others may not enter
        path = Path(name) / "folder" / "answers.sqlite"
        with Store(path) as store:
            store.put(requests_for(1, start=9)[0], Response("ok", "kept"))
        for each, mode in (
            (path, 0o444),
            (path.parent, 0o555 if part == "folder" else 0o777),
            (Path(name), 0o755),
        ):
            each.chmod(mode)
        command = [sys.executable, "-c", READ_ONLY, str(Path(__file__).parent), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        path.parent.chmod(0o755)
        assert done.returncode == 0, done.stderr
        *_, put, collected = done.stdout.splitlines()
        assert len(done.stdout.splitlines()) == 3
        for line in (put, collected):
            assert (
                "cannot be used" in line and "cannot be reached" not in line and str(path) in line
            ), done.stdout
        path.chmod(0o644)
        with Store(path) as store:
            assert counts(store) == {"ok": 1}


MODELS = st.sampled_from(["a", "b", "c"])
PLACES = st.tuples(MODELS, st.integers(0, 3), st.integers(0, 2))  # model, item, repetition


@given(st.lists(PLACES, max_size=30), st.lists(PLACES, max_size=30))
@pytest.mark.slow
def test_each_request_gets_its_own_answer_or_none(answered, asked):
    """peers 11, 12, 13: no model gets another's answer, no repetition an earlier one's, and none is
    pending again.
    """

    def request(place):
        model, item, repetition = place
        return dataclasses.replace(
            requests_for(1, model_for(model), start=item)[0], repetition=repetition
        )

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "answers.sqlite") as store:
        for place in answered:
            store.put(request(place), Response("ok", str(place)))
        got = [answer and answer.text for _, answer in store.get(map(request, asked))]
        assert got == [str(place) if place in answered else None for place in asked]
        left = store.pending(map(request, asked))
        wanted = [
            place
            for n, place in enumerate(asked)
            if place not in answered and place not in asked[:n]
        ]
        assert [r.key for r in left] == [request(place).key for place in wanted]


def test_answers_that_arrive_together_are_all_written_or_none(path):
    requests = requests_for(3)
    for request in requests:
        request.server = Server("mine")
    with Store(path) as store:
        wrong = Response("ok", text=object())
        with pytest.raises(KatayoriError, match="cannot be used"):
            store.put_all([(requests[0], Response("ok")), (requests[1], wrong)])
        assert counts(store) == {} and store.servers("double", "m-vendor") == []
        store.put_all([(request, Response("ok")) for request in requests])
        assert counts(store) == {"ok": 3}
        assert store.servers("double", "m-vendor") == [Server("mine")]

"""The collector against scripted faults: every failure has an outcome and a cause, waits are bounded, nothing twice."""

import asyncio
import contextlib
import json
import math
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from aiohttp import web
from api_double import (
    HALF,
    KEY_ENV,
    RETRY_AFTER,
    SUPPORTS,
    Double,
    completion,
    counts,
    endpoint_for,
    model_for,
    requests_for,
    yes_no_frame,
)

from katayori import provenance
from katayori.errors import KatayoriError
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Endpoint
from katayori.prompting.replies import read_completion
from katayori_tools import collect as collecting
from katayori_tools.collect import PacedSender, RateLimit, ask_one, collect, collect_sync, limits_of
from katayori_tools.live import causes
from katayori_tools.planning import expected
from katayori_tools.send import Sender


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as one:
        yield one


@pytest.fixture
def no_waiting(monkeypatch):
    monkeypatch.setattr(collecting, "_wait_before_retry", lambda *_: 0)


def run(double, store, requests, model=None, **options):
    options = {"progress": False, "concurrency": 4} | options
    return collect_sync(
        requests,
        model or model_for(),
        options.pop("endpoint", endpoint_for(double.url)),
        store,
        **options,
    )


def ask(double, *, retries=6, timeout=5, **settings):
    """One request; the response (or what was raised) and the waits that were asked for."""
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    async def main():
        async with Sender(model_for(), endpoint_for(double.url), timeout=timeout) as sender:
            return await ask_one(
                sender, requests_for(1, **settings)[0], retries=retries, sleep=sleep
            )

    return asyncio.run(main()), waits


RECOVERED = (
    "rate_limit server_error bad_gateway_html cut cut_midway malformed empty_choices no_choices message_is_text "
    "not_an_object error_200 error_beside error_in_choice ends_error ends_FAILED ends_abort"
).split()


@pytest.mark.parametrize("fault", RECOVERED)
def test_a_passing_fault_is_asked_again(fault):
    """X-2: one retry layer; the answer says how many tries it took."""
    with Double([fault, fault]) as double:
        response, waits = ask(double)
    assert (response.outcome, response.text, response.attempts) == ("ok", "Answer: yes", 3)
    assert len(waits) == 2 and double.asked == 3


@pytest.mark.parametrize("fault", RECOVERED)
def test_a_lasting_fault_is_stored_with_its_cause(fault, store, no_waiting):
    with Double(lambda body, before: fault) as double:
        summary = run(double, store, requests_for(1), retries=2)
    assert summary.outcomes == {"error": 1} and double.asked == 3
    [(_, response)] = store.get(requests_for(1))
    assert (
        response.outcome == "error"
        and response.error
        and response.attempts == 3
        and len(response.error) <= 300
    )


@pytest.mark.parametrize("fault", ["ends_error", "error_beside", "error_in_choice"])
def test_half_a_text_of_a_server_that_failed_is_nowhere(fault, store, no_waiting):
    """Status 200, half a text, then a good answer: the good one is stored, the half is not."""
    with Double([fault]) as double:
        summary = run(double, store, requests_for(1))
    assert summary.outcomes == {"ok": 1} and double.asked == 2
    [(_, response)] = store.get(requests_for(1))
    assert (response.text, response.finish_reason, response.attempts) == ("Answer: yes", "stop", 2)
    with Double(lambda body, before: fault) as double:
        run(double, store, requests_for(1, start=1), retries=1)
    [(_, lost)] = store.get(requests_for(1, start=1))
    assert (lost.outcome, lost.text) == ("error", "") and store.pending(requests_for(2))
    assert HALF not in "\n".join(store.db.iterdump())


ENDS = {
    "length": "truncated",
    "max_tokens": "truncated",
    "content_filter": "filtered",
    "SAFETY": "filtered",
    "refusal": "refusal",
    "tool_calls": "error",
    "tired": "error",
}


def test_every_finish_reason_is_counted_as_its_kind(store, capsys):
    """Asked once each; a word that is not known is named on the terminal and in the table."""
    requests = requests_for(2 * len(ENDS))
    asked = [request.body["messages"][0]["content"] for request in requests]
    words = dict(zip(asked, 2 * list(ENDS), strict=True))
    with Double(lambda body, _: f"ends_{words[body['messages'][0]['content']]}") as double:
        summary = run(double, store, requests, progress=True)
    kinds = Counter(ENDS.values())
    assert summary.outcomes == {kind: 2 * n for kind, n in kinds.items()}
    assert double.asked == len(requests)
    told = causes(store.get(requests), model_for())
    assert told == {
        "unknown finish reason 'tired'": 2,
        "ends in a tool call, not in a text ('tool_calls')": 2,
    }
    assert "error 4" in capsys.readouterr().err
    frame = yes_no_frame(requests, [answer for _, answer in store.get(requests)], "live")
    assert frame["answer"].isna().all()
    [table] = provenance.outcomes(frame)["prompts"]
    assert (table["outcomes"], table["causes"]) == (summary.outcomes, told)


def test_time_out_is_asked_again():
    with Double(["timeout"]) as double:
        response, waits = ask(double, timeout=0.3)
    assert response.outcome == "ok" and len(waits) == 1
    with Double(lambda body, before: "timeout") as double:
        response, waits = ask(double, timeout=0.2, retries=1)
    assert response.outcome == "error" and "Timeout" in response.error


@pytest.mark.parametrize(
    "fault, outcome, says",
    [
        ("filtered", "filtered", ""),
        ("filtered_400", "filtered", "content_filter"),
        ("refusal", "refusal", ""),
        ("truncated", "truncated", ""),
        ("bad_request", "error", "unknown field: seed"),
        ("unprocessable", "error", "422"),
        ("filtered_200", "filtered", "content_filter"),
        ("ends_tired", "error", "unknown finish reason 'tired'"),
        ("ends_tool_calls", "error", "tool call"),
    ],
)
def test_what_asking_again_cannot_change_is_asked_once(fault, outcome, says):
    """DE-14: each missing answer has its class."""
    with Double([fault]) as double:
        response, waits = ask(double)
    assert (response.outcome, waits, double.asked) == (outcome, [], 1)
    assert says in response.error
    if fault == "refusal":
        assert response.text == "I can't help."


def test_missing_logprobs_are_the_endpoints_failure_not_the_models(store):
    """Asked again next time, and never counted as an answer that missed the format."""
    for fault in ("no_logprobs", "empty_logprobs"):
        with Double([fault]) as double:
            response, _ = ask(double, logprobs=True)
        assert (response.outcome, response.error) == ("error", "logprobs missing")
    with (
        Double(lambda body, before: "no_logprobs") as double,
        pytest.raises(KatayoriError, match="logprobs missing"),
    ):
        run(double, store, requests_for(40, logprobs=True))
    assert double.asked < 30


@pytest.mark.parametrize(
    "said", ["m-vendor", "M-vendor-2024-11-20", "models/m-vendor", "m-vendor:latest", "", None]
)
def test_a_dated_or_missing_name_is_no_other_model(said, store):
    """Vendors answer an alias with the dated name, servers with a path."""
    assert _causes_when_named(said, store) == {}


@pytest.mark.parametrize("said", ["m-vendor-mini", "n", "m-vendor2", "another-model-2024-11-20"])
def test_another_model_is_told(said, store):
    assert _causes_when_named(said, store) == {f"asked m-vendor, answered by {said}": 1}


def _causes_when_named(said, store):
    with Double() as double:

        async def named(
            fault, body, http, reply=double._reply
        ):  # the double's answer under another name
            return web.json_response(
                json.loads((await reply(fault, body, http)).text) | {"model": said}
            )

        double._reply = named
        run(double, store, requests_for(1))
    assert counts(store) == {"ok": 1}
    return causes(store.get(requests_for(1)), model_for())


@pytest.mark.parametrize(
    "body",
    [None, 3, [], {}, {"choices": None}, {"choices": {"a": 1}}, {"choices": [3]}, {"choices": [{"message": []}]},
     {"choices": [{"message": {"content": [3]}}]}, {"choices": [{"message": {}}], "usage": 3}],
)  # fmt: skip
def test_any_malformed_answer_is_a_value_error_or_an_empty_text(body):
    with contextlib.suppress(ValueError):
        assert read_completion(body, requests_for(1)[0]).text == ""


GOOD = {"token": "a", "logprob": -0.5}


@pytest.mark.parametrize(
    "top",
    [
        *([{"token": "a"}], [{"token": "a", "logprob": None}], [3], 3, None, "x"),
        *([{"token": "a", "logprob": v}] for v in (math.nan, -math.inf, "-1", 0.4, True)),
    ],
)
def test_what_can_be_read_of_log_probabilities_is_kept(top):
    [request] = requests_for(1, logprobs=True)
    places = [{"top_logprobs": top}]
    answer = read_completion(completion(logprobs={"content": places}), request)
    assert (answer.outcome, answer.top) == ("error", None)  # of a vendor they must come
    if isinstance(top, list):
        beside = {"content": [{"top_logprobs": [*top, GOOD]}]}
        for form in (beside, beside["content"]):
            answer = read_completion(completion(logprobs=form), request)
            assert (answer.outcome, answer.text, answer.top) == ("ok", "Answer: yes", [("a", -0.5)])
            assert (answer.error == "") == (top == [3])


def test_retry_after_is_honoured_in_every_form():
    with Double(
        ["rate_limit", "rate_limit_ms", "rate_limit_date", "rate_limit_past", "rate_limit_nonsense"]
    ) as double:
        response, waits = ask(double)
    assert response.outcome == "ok"
    assert waits[0] == RETRY_AFTER and waits[1] == 1.5  # not the 90 s of the second header
    assert waits[2] == collecting.MAX_RETRY_AFTER  # a date far ahead is capped
    assert 0 < waits[3] <= 8 and 0 < waits[4] <= 16  # nothing usable: our own back-off


@pytest.mark.parametrize(
    "fault, says",
    [
        ("unauthorized", f"refused the key.*{KEY_ENV}"),
        ("forbidden", "refused the key"),
        ("not_found", "knows no model 'm-vendor'"),
        ("redirect", "sends requests on to http://127.0.0.1:9/elsewhere"),
    ],
)
def test_what_fails_for_all_stops_at_once_with_one_line(fault, says, store, monkeypatch):
    monkeypatch.setenv(KEY_ENV, "a-test-key")
    with Double(lambda body, before: fault) as double:
        endpoint = endpoint_for(double.url, key_env=KEY_ENV)
        with pytest.raises(KatayoriError, match=says) as caught:
            run(double, store, requests_for(100), endpoint=endpoint)
    assert (
        double.asked <= 4
        and "\n" not in str(caught.value)
        and "a-test-key" not in str(caught.value)
    )


def test_an_unreachable_server_is_named_at_once(store):
    started = time.monotonic()
    with pytest.raises(KatayoriError, match=r"double cannot be reached: .*127\.0\.0\.1") as caught:
        collect_sync(
            requests_for(3),
            model_for(),
            endpoint_for("http://127.0.0.1:9/v1"),
            store,
            progress=False,
        )
    assert time.monotonic() - started < 5 and "\n" not in str(caught.value)
    assert counts(store) == {}


def test_many_failures_in_a_row_stop_the_run_and_keep_what_was_answered(store, no_waiting):
    with (
        Double(
            lambda body, before: "server_error" if "9" in body["messages"][0]["content"] else None
        ) as double,
        pytest.raises(KatayoriError, match="20 failures in a row"),
    ):
        run(double, store, requests_for(50) + requests_for(60, start=900), concurrency=1, retries=0)
    assert counts(store)["ok"] == 45


def test_a_second_run_asks_nothing_and_failures_are_asked_again(store, no_waiting):
    """peers 13, X-2."""
    requests = requests_for(30)
    with Double(lambda body, before: "server_error" if body["messages"][0]["content"].startswith("Question number 1") and before < 2 else None) as double:  # fmt: skip
        first = run(double, store, requests, retries=1)
        assert first.outcomes == {"ok": 19, "error": 11}
        asked = double.asked
        second = run(double, store, requests)
        assert (second.stored, second.asked, double.asked - asked) == (19, 11, 11)
        assert run(double, store, requests).asked == 0 and double.asked - asked == 11
    assert counts(store) == {"ok": 30}


def test_model_b_never_gets_the_answers_of_model_a(store):
    """peers 11."""
    a, b = model_for("a"), model_for("b")
    with Double(
        answer=lambda body: f"Answer: {'yes' if body['model'] == 'a-vendor' else 'no'}"
    ) as double:
        run(double, store, requests_for(5, a), a)
        assert all(answer is None for _, answer in store.get(requests_for(5, b)))
        run(double, store, requests_for(5, b), b)
    assert {answer.text for _, answer in store.get(requests_for(5, a))} == {"Answer: yes"}
    assert {answer.text for _, answer in store.get(requests_for(5, b))} == {"Answer: no"}


def test_budget_stops_and_a_higher_one_resumes(store):
    model = model_for(price_input=1000.0, price_output=0.0)  # 50 tokens in: $0.05 an answer
    with Double() as double:
        first = run(double, store, requests_for(50), model, budget=0.5, concurrency=2)
        assert "spending limit" in first.stopped and 10 <= first.asked <= 12
        assert first.cost == pytest.approx(first.asked * 0.05)
        second = run(double, store, requests_for(50), model, budget=100)
    assert (second.stored, second.stopped) == (first.asked, "") and counts(store) == {"ok": 50}
    assert set(double.bodies.values()) == {1}
    with Double() as double:
        none = run(double, store, requests_for(5, start=100), model, budget=0)
    assert (none.asked, double.asked) == (0, 0) and none.stopped


def test_budget_counts_answers_without_usage_and_needs_a_price(store):
    model = model_for(price_input=1000.0, price_output=1000.0)
    with Double(lambda body, before: "no_usage") as double:
        summary = run(double, store, requests_for(100), model, budget=0.2, concurrency=1)
        assert summary.stopped and summary.asked < 50
        with pytest.raises(KatayoriError, match="no price is known for m"):
            run(double, store, requests_for(5, start=500), model_for(price_input=None), budget=1)


def test_the_rate_limit_spreads_requests(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(round(seconds, 2))

    monkeypatch.setattr(collecting.asyncio, "sleep", sleep)
    monkeypatch.setattr(collecting.time, "monotonic", lambda: 100.0)

    async def main():
        limit = RateLimit(120)
        for units in (1, 1, 1, 4, 1):
            await limit.wait(units)
        await RateLimit(None).wait()

    asyncio.run(main())
    assert slept == [0.5, 1.0, 1.5, 3.5]


def test_requests_at_once_are_halved_when_overloaded_and_grow_by_one_a_round():
    """Additive increase, multiplicative decrease; one cut a round, never below one or above what was asked for."""

    async def main(double):
        async with PacedSender(model_for(), endpoint_for(double.url), limit=8) as sender:

            async def ask(n):
                return await asyncio.gather(
                    *(sender.send(r) for r in requests_for(n)), return_exceptions=True
                )

            fault[0] = "rate_limit"
            assert [e.status for e in await ask(8)] == [429] * 8
            assert (sender.allowed, sender.cuts, sender.under_way) == (
                4,
                1,
                0,
            )  # all were sent before the first cut
            fault[0] = "bad_request"  # tells nothing of load
            await ask(2)
            fault[0] = None
            double.most_at_once = 0
            await ask(9)
            assert double.most_at_once in (4, 5) and 5.5 < sender.allowed < 6.5
            for fault[0] in ["overloaded", *["overloaded_529"] * 4]:
                halved = max(1, sender.allowed / 2)
                await ask(1)
                assert sender.allowed == halved
            assert sender.allowed == 1 and sender.cuts == 6
            fault[0], double.most_at_once = None, 0
            await ask(2)
            assert double.most_at_once == 1
            await ask(100)
            assert sender.allowed == 8

    fault = [None]
    with Double(lambda body, before: fault[0], delay=0.01) as double:
        asyncio.run(main(double))


@pytest.mark.parametrize("fault", ["rate_limit", "overloaded"])
def test_the_collector_finds_what_the_endpoint_can_carry(fault, store, monkeypatch):
    """An endpoint that carries 4 at once, asked with 32: few refusals, no failure. Without slots it drowns."""
    monkeypatch.setattr(collecting, "_wait_before_retry", lambda *_: 0.001)
    with Double(lambda body, before: fault if double.now > 4 else None, delay=0.01) as double:
        summary = run(double, store, requests_for(300), concurrency=32)
        refused = double.asked - 300
    assert counts(store) == {"ok": 300} and summary.cuts >= 3
    assert refused < 150, refused


def test_limits_come_from_the_registry_or_the_account(monkeypatch):
    endpoint = Endpoint("local-x", "openai_compatible", limits={"concurrency": 16, "rpm": 500})
    assert limits_of(endpoint) == {"concurrency": 16, "rpm": 500, "tpm": None}
    monkeypatch.setenv("KATAYORI_TPM_LOCAL_X", "30000")
    monkeypatch.setenv("KATAYORI_RPM_LOCAL_X", " 60 ")
    monkeypatch.setenv("KATAYORI_CONCURRENCY_OPENAI", "3")  # of another endpoint
    assert limits_of(endpoint) == {"concurrency": 16, "rpm": 60, "tpm": 30000}
    for wrong in ("0", "many", "-1", "1.5"):
        monkeypatch.setenv("KATAYORI_RPM_LOCAL_X", wrong)
        with pytest.raises(
            KatayoriError, match="KATAYORI_RPM_LOCAL_X must be a whole number above 0"
        ):
            limits_of(endpoint)


def test_the_token_limit_counts_what_was_really_used(monkeypatch):
    """What the prompt was reckoned at waits before it; the difference to the usage told waits before the next."""
    waited = []

    async def wait(self, units=1):
        waited.append((round(60 / self.seconds), units))

    async def main(double):
        endpoint = endpoint_for(double.url, limits={"rpm": 600, "tpm": 9000})
        async with PacedSender(model_for(), endpoint) as sender:
            await ask_one(sender, requests_for(1)[0], sleep=lambda seconds: asyncio.sleep(0))
            return sender.by_token

    monkeypatch.setattr(RateLimit, "wait", wait)
    with Double(["server_error"]) as double:
        by_token = asyncio.run(main(double))
    tokens = collecting.approximate_tokens(requests_for(1)[0])
    assert waited == [(600, 1), (9000, tokens)] * 2  # a second try is a request, too
    assert by_token.next == pytest.approx((54 - tokens) * 60 / 9000)


@pytest.mark.parametrize(
    "text, tokens", [("Is it so? " * 40, 100), ("貸しますか。" * 50, 300), ("", 0)]
)
def test_tokens_are_reckoned_by_script(text, tokens):
    [request] = requests_for(1)
    request.body["messages"] = [{"role": "user", "content": text}]
    assert collecting.approximate_tokens(request) == tokens + 8


def test_requests_are_drawn_as_they_are_asked(store):
    """A million of them need not be in memory; one named twice is asked once, near or far from its first place."""
    drawn = 0

    def source():
        nonlocal drawn
        for request in [
            *requests_for(1500),
            *requests_for(3, start=1497),
            *requests_for(700),
            *requests_for(2),
        ]:
            drawn += 1
            yield request

    with Double(lambda body, before: seen.append(drawn)) as double:
        seen = []
        summary = run(double, store, source(), concurrency=16)
        assert seen[0] <= 1000 and max(double.bodies.values()) == 1
        assert (summary.total, summary.asked, summary.stored) == (2205, 1500, 705)
        assert run(double, store, source()).asked == 0 and double.asked == 1500
    assert counts(store) == {"ok": 1500}


COLLECTING = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from api_double import *
from katayori.errors import KatayoriError
from katayori_tools.collect import collect_sync
from katayori.prompting.answer_store import Store
try:
    if len(sys.argv) > 5:  # bytes that a file may grow to, as on a disk that fills up
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[5]),) * 2)
    with Store(sys.argv[3]) as store:
        options = {"concurrency": 8, "progress": False}
        collect_sync(requests_for(int(sys.argv[4])), model_for(), endpoint_for(sys.argv[2]), store, **options)
    print([name for name in ("pandas", "scipy", "matplotlib") if name in sys.modules])
except KatayoriError as error:
    sys.exit(f"one line: {error}")
"""


def _start(double, path, n, *more) -> subprocess.Popen:
    command = [
        sys.executable,
        "-c",
        COLLECTING,
        str(Path(__file__).parent),
        double.url,
        str(path),
        str(n),
        *more,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def soak(monkeypatch):
    """The benchmark `soak`, for short runs of it."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return import_module("soak")


@pytest.mark.slow
def test_killed_at_random_moments_nothing_is_lost_and_nothing_asked_twice(soak, tmp_path):
    """The issue's own condition; `make bench` kills a run of 5,000 prompts ten times."""
    got = soak.killed(tmp_path / "answers.sqlite", 200, 2, seed=1)
    assert got["outcomes"] == {"ok": 200} and got["whole"] == "ok"
    assert got["asked"] == 200 + sum(got["in_flight"]) and max(got["in_flight"]) <= soak.CONCURRENCY
    assert len(got["in_flight"]) == 2 and got["most"] <= 4


def test_an_endpoint_that_fails_in_every_way_is_survived(soak, tmp_path):
    """Every prompt is answered or has a cause; the endpoint sees one request an attempt kept: one layer retries."""
    got = soak.faulty(tmp_path / "answers.sqlite", 120, seed=0, timeout=1)
    assert set(got["met"]) == {*soak.FAULTS, "answered"}  # the seed is one where each fault is met
    assert got["outcomes"] == {"ok": 120}
    for one in got["runs"]:
        assert one["seen"] == one["attempts"] and one["silent"] == 0 and one["seconds"] < 300
    failed = sum(one["outcomes"].get("error", 0) for one in got["runs"])
    assert got["met"]["no_logprobs"] == failed == got["runs"][0]["causes"]["logprobs missing"]
    assert got["runs"][-1]["causes"] == {
        "asked m-vendor, answered by another-model": got["met"]["wrong_model"]
    }
    assert got["runs"][0]["cuts"] > 0


@pytest.mark.slow
def test_two_processes_on_one_store_ask_nothing_twice(tmp_path):
    """Both start on a store that does not exist yet; none fails, every prompt is asked by one of them."""
    path = tmp_path / "answers.sqlite"
    with Double(delay=0.005) as double:
        children = [_start(double, path, 200) for _ in range(2)]
        assert [(child.communicate(timeout=120), child.returncode) for child in children] == [
            (("[]\n", ""), 0)
        ] * 2
    with Store(path) as store:
        assert counts(store) == {"ok": 200}
    assert set(double.bodies.values()) == {1} and double.asked == 200


def test_two_models_are_asked_at_once(store):
    """Only the same model at the same endpoint is asked by one at a time, in one process as in two."""

    async def main(double):
        one = requests_for(30), model_for()
        other = requests_for(30, model_for("n")), model_for("n")
        jobs = [
            collect(*job, endpoint_for(double.url), store, progress=False, concurrency=2)
            for job in (one, one, other)
        ]
        return await asyncio.gather(*jobs)

    with Double(delay=0.02) as double:
        done = asyncio.run(main(double))
    assert sorted((s.asked, s.stored) for s in done) == [(0, 30), (30, 0), (30, 0)]
    assert double.most_at_once == 4 and set(double.bodies.values()) == {1}


@pytest.mark.slow
def test_a_process_that_is_killed_makes_room_for_the_one_that_waits(tmp_path, capfd):
    """Its lock ends with it, and the second one says that it waits."""
    path = tmp_path / "answers.sqlite"
    with Double(
        lambda body, before: "timeout" if double.asked <= 8 else None
    ) as double:  # 20 s without a word
        first = _start(double, path, 40)
        while double.asked < 8:
            time.sleep(0.005)
        with Store(path) as store, ThreadPoolExecutor(1) as pool:
            second = pool.submit(run, double, store, requests_for(40), progress=True)
            time.sleep(1.5)
            assert not second.done() and double.asked == 8
            first.kill()
            first.communicate()
            assert second.result(60).asked == 40 and counts(store) == {"ok": 40}
    assert capfd.readouterr().err.count("another process is asking it") == 1 and double.asked == 48


@pytest.mark.slow
def test_a_full_disk_stops_the_run_with_one_line_and_nothing_is_lost(store, tmp_path):
    """As the file system tells it (a file that may not grow), and as the database does (no page left)."""
    path = tmp_path / "small.sqlite"
    with Double(delay=0.002) as double:
        child = _start(double, path, 400, str(1_000_000))
        _, said = child.communicate(timeout=120)
        assert (
            child.returncode == 1 and "cannot be used" in said and "written so far is kept" in said
        )
        assert said.startswith("one line: ") and said.strip().count("\n") == 0
        with Store(path) as left:
            kept = counts(left)["ok"]
            assert kept > 50 and double.asked - 8 <= kept
        again = _start(double, path, 400)
        assert (again.communicate(timeout=120), again.returncode) == (("[]\n", ""), 0)
        assert double.asked <= 400 + 8
        with Store(path) as left:
            assert counts(left) == {"ok": 400} and left.db.execute(
                "PRAGMA integrity_check"
            ).fetchone() == ("ok",)
    with Double() as double:
        pages = store.db.execute("PRAGMA page_count").fetchone()[0]
        store.db.execute(f"PRAGMA max_page_count={pages + 30}")
        with pytest.raises(KatayoriError, match=r"disk is full.*written so far is kept"):
            run(double, store, requests_for(1000))
        kept = counts(store)["ok"]
        assert 0 < double.asked - kept <= 4
        store.db.execute("PRAGMA max_page_count=100000")
        assert run(double, store, requests_for(1000)).stored == kept
    assert counts(store) == {"ok": 1000}


def test_a_prompt_with_a_forced_start_is_refused_where_it_cannot_work(store):
    """Also when it is not the first of the requests, and when only the model's own entry says so."""
    plain, forced = requests_for(2), requests_for(2, start=10)
    for request in forced:
        request.body["messages"].append({"role": "assistant", "content": "Answer:"})
    for supports, model in (
        (SUPPORTS | {"prefill": None}, model_for()),
        (SUPPORTS, model_for(supports={"prefill": False})),
    ):
        with Double() as double, pytest.raises(KatayoriError, match="cannot force the start"):
            run(
                double,
                store,
                plain + forced,
                model,
                endpoint=endpoint_for(double.url, supports=supports),
            )
        assert double.asked == 0
    with Double() as double:
        run(
            double,
            store,
            plain + forced,
            endpoint=endpoint_for(double.url, extra_prefill={"continue_final_message": True}),
        )
    assert sum(body.get("continue_final_message", False) for body in double.requests) == 2


def test_estimate_asks_nothing_and_what_is_stored_is_free(store):
    """Without a pilot the output lies between 8 tokens and the limit, 2,048 where a prompt has none."""
    model = model_for(price_input=2.0, price_output=10.0)
    told = expected(requests_for(10, max_tokens=100), model, endpoint_for(limits={"rpm": 5}), store)
    rough = sum(map(collecting.approximate_tokens, requests_for(10)))
    assert told == {
        "model": "m", "calls": 10, "stored": 0, "input_tokens": rough, "pilot": 0, "output_tokens": 80,
        "output_tokens_max": 1000, "cost_low_usd": (rough * 2 + 80 * 10) / 1e6,
        "cost_high_usd": (rough * 2 + 1000 * 10) / 1e6, "minutes": 2.0,
    }  # fmt: skip
    assert expected(requests_for(3), model, endpoint_for(), store)["output_tokens_max"] == 3 * 2048
    short = expected(requests_for(3, max_tokens=1), model, endpoint_for(), store)
    assert short["cost_low_usd"] == short["cost_high_usd"] and short["output_tokens"] == 3
    thinks = expected(requests_for(3, max_tokens=8), model, endpoint_for(), store, max_tokens=500)
    assert thinks["output_tokens_max"] == 3 * 500
    unknown = expected(requests_for(3), model_for(price_input=None), endpoint_for(), store)
    assert unknown["cost_high_usd"] is unknown["cost_low_usd"] is unknown["minutes"] is None


def test_a_pilot_in_the_store_sharpens_the_estimate(store):
    """The double counts 50 tokens of input and 4 of output; answers to another wording are no pilot for the output."""
    model = model_for(price_input=2.0, price_output=10.0)
    with Double(delay=0.05) as double:
        run(double, store, requests_for(4))
        asked = double.asked
        endpoint = endpoint_for(double.url, limits={"tpm": 540, "concurrency": 2})
        told = expected(requests_for(10), model, endpoint, store)
        assert double.asked == asked
    assert (told["calls"], told["stored"], told["pilot"]) == (6, 4, 4)
    assert told["input_tokens"] == pytest.approx(6 * 50, abs=2) and told["output_tokens"] == 6 * 4
    assert told["cost_low_usd"] == pytest.approx((6 * 50 * 2 + 6 * 4 * 10) / 1e6, rel=0.01)
    assert told["cost_high_usd"] > 100 * told["cost_low_usd"] and told["minutes"] == pytest.approx(
        0.6, rel=0.01
    )
    by_latency = expected(requests_for(10), model, endpoint_for(limits={"concurrency": 2}), store)[
        "minutes"
    ]
    assert 6 * 0.05 / 60 / 2 <= by_latency < 1
    other = [
        replace(request, prompt_hash="1" * 16)
        for request in requests_for(5, start=50, max_tokens=100)
    ]
    mixed = expected([*requests_for(4), *other], model, endpoint_for(), store)
    assert (mixed["output_tokens"], mixed["output_tokens_max"]) == (5 * 8, 500)
    assert mixed["input_tokens"] == pytest.approx(5 * 50, abs=2)
    everything = expected(requests_for(4), model, endpoint_for(), store)
    assert everything["calls"] == everything["cost_high_usd"] == 0


def test_the_body_sent_is_the_body_kept(store):
    """What the key covers is what goes out, plus the model's name and the endpoint's prefill switches."""
    request = requests_for(1, temperature=1.0, seed=7)[0]
    with Double() as double:
        run(double, store, [request])
    assert double.requests == [{"model": "m-vendor", **request.body}]
    stored = store.db.execute("SELECT body, key FROM answers").fetchone()
    assert json.loads(stored[0]) == request.body and stored[1] == request.key

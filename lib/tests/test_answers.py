"""What the store tells of its answers: provenance, causes, and the flip rate of a repeat sample."""

import time

import pandas as pd
import pytest
from api_double import KEY_ENV, Double, endpoint_for, model_for, requests_for
from test_asking import chosen

from katayori.prompting.answer_store import Store
from katayori.prompting.requests import Response
from katayori.prompting.store import store_path
from katayori_tools import cli, live
from katayori_tools.collect import collect_sync
from katayori_tools.live import answers, flip_rates, repeat


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as one:
        yield one


def test_the_provenance_of_an_answer_is_kept(store):
    """Endpoint, model as asked and as answered, fingerprint, time, tokens, latency, tries, prompt hash."""
    before = time.time()
    with Double(["server_error"]) as double:
        endpoint = endpoint_for(double.url)
        collect_sync(requests_for(2), model_for(), endpoint, store, concurrency=1, progress=False)
    frame = pd.read_sql_query("SELECT * FROM answers ORDER BY item_id", store.db)
    assert list(frame["attempts"]) == [2, 1]
    first, [request] = frame.iloc[0], requests_for(1)
    told = "endpoint identity model model_answered fingerprint prompt_id prompt_hash outcome finish_reason key".split()
    assert [first[name] for name in told] == [
        "double", "m-vendor", "m", "m-vendor", "fp", "p", "0" * 16, "ok", "stop", request.key
    ]  # fmt: skip
    assert (first["prompt_tokens"], first["completion_tokens"]) == (50, 4)
    assert before <= first["created"] <= time.time() and 0 < first["latency"] < 60


def _said(*texts, tops=None, outcome="ok"):
    """One request's answers, repetition by repetition."""
    [request] = requests_for(1, logprobs=bool(tops))
    tops = tops or [None] * len(texts)
    return [(request, Response(outcome, t, top=top)) for t, top in zip(texts, tops, strict=True)]


def _rates(*groups):
    from dataclasses import replace

    pairs = [(replace(q, item_id=f"i{n}"), a) for n, group in enumerate(groups) for q, a in group]
    return flip_rates(pairs).iloc[0]


def test_flip_rates_by_hand():
    """4 valid requests, one flipped; an invalid answer is no flip, and leaves a request with one valid answer out."""
    yes, no, odd = "Answer: yes", "Answer: no", "Perhaps."
    row = _rates(
        _said(yes, yes, yes), _said(yes, no, yes), _said(no, "So.\nAnswer: no", odd), _said(no, no, no),
        _said(odd, odd, yes), _said(yes, "", "", outcome="refusal"),
    )  # fmt: skip
    assert (row["n"], row["n_invalid"], row["flipped"], row["flip_rate"]) == (4, 2, 1, 0.25)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (0.0456, 0.6994), abs=1e-4
    )  # Wilson, 1 of 4


def test_flip_rates_of_one_token_answers_go_by_probability():
    """The likeliest token answers, not the sampled text."""
    one, close, other = (
        [(" yes", -0.5), (" no", -1.0)],
        [(" yes", -0.6), (" no", -0.9)],
        [(" yes", -1.0), (" no", -0.5)],
    )
    row = _rates(
        _said("yes", "no", tops=[one, close]),
        _said("yes", "no", tops=[one, other]),
    )
    assert (row["n"], row["flipped"]) == (2, 1)


def test_repeat_asks_the_same_again_and_counts_flips(house, monkeypatch, capsys):
    """The body of the second request is that of the first; a second start asks nothing."""
    monkeypatch.delenv(KEY_ENV, raising=False)
    count: dict[str, int] = {}

    def answer(body):
        said = str(body["messages"])
        count[said] = count.get(said, 0) + 1
        return "Answer: no" if "30-year-old" in said and count[said] > 1 else "Answer: yes"

    with Double(answer=answer) as double:
        asked = chosen(models="my-model@custom", limit=1, base_url=double.url)
        repeat(asked, repetitions=2)
        assert set(double.bodies.values()) == {3} and len(double.bodies) == 135
        repeat(asked, repetitions=2)
        assert double.asked == 3 * 135
        capsys.readouterr()
        repeat(asked, repetitions=2)
        said = capsys.readouterr().out
        [line] = [line.split() for line in said.splitlines() if "de_answer_line" in line]
        flipped = sum("30-year-old" in said for said in count)
        assert flipped > 0 and line[1:4] == ["135", "0", str(flipped)]
    answers(models="my-model@custom other")
    table = capsys.readouterr().out
    assert "my-model@custom" in table and "405" in table and "m-vendor" in table
    assert cli.main(["answers", "--models", "nobody"]) == 2


def test_what_an_endpoint_calls_itself_cannot_steer_the_terminal(house, capsys):
    with Store(store_path()) as store:
        store.put(
            requests_for(1)[0],
            Response("ok", "x", model_answered="\x1b[31mred", fingerprint="a\nb"),
        )
    assert cli.main(["answers"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said and "x1b[31mred" in said and len(said.splitlines()) == 2
    with Store(store_path()) as store:
        [told] = live.causes(store, requests_for(1), model_for())
    assert told == r"asked m-vendor, answered by '\x1b[31mred'"

"""What the store tells of its answers: provenance and causes."""

import time

import pandas as pd
import pytest
from api_double import Double, endpoint_for, model_for, requests_for

from katayori.prompting.answer_store import Store
from katayori.prompting.requests import Response
from katayori.prompting.store import store_path
from katayori.report.tables import on_screen
from katayori_tools import cli, live
from katayori_tools.collect import collect_sync


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


def test_what_an_endpoint_calls_itself_cannot_steer_the_terminal(house, capsys):
    assert cli.main(["answers"]) == 2 and "`make live` asks a model" in capsys.readouterr().err
    with Store(store_path()) as store:
        store.put(
            requests_for(1)[0],
            Response("ok", "x", model_answered="\x1b[31mred", fingerprint="a\nb"),
        )
    assert cli.main(["answers"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said and "␛[31mred" in said and len(said.splitlines()) == 2
    with Store(store_path()) as store:
        [told] = live.causes(store.get(requests_for(1)), model_for())
    with on_screen():
        print(told)
    assert capsys.readouterr().out == "asked m-vendor, answered by ␛[31mred\n"

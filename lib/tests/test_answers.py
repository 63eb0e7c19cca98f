"""What the store tells of its answers: provenance, causes, and the flip rate of a repeat sample."""

import time

import pytest
from api_double import KEY_ENV, Double, endpoint_for, model_for, requests_for
from test_asking import chosen

from katayori.errors import KatayoriError
from katayori.prompting.requests import Response
from katayori.prompting.store import store_path
from katayori_tools import answers, cli
from katayori_tools.answer_store import Store
from katayori_tools.answers import PROVENANCE, stored_answers
from katayori_tools.collect import collect_sync
from katayori_tools.repeat import flip_rates, repeat


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
    frame = stored_answers(store)
    assert list(frame.columns) == PROVENANCE and not {"text", "body", "top"} & set(frame)
    frame = frame.set_index("item_id")
    assert list(frame["attempts"]) == [2, 1]
    first, [request] = frame.loc["q00000"], requests_for(1)
    told = "endpoint identity model model_answered fingerprint prompt_id prompt_hash outcome finish_reason key".split()
    assert [first[name] for name in told] == [
        "double", "m-vendor", "m", "m-vendor", "fp", "p", "0" * 16, "ok", "stop", request.key
    ]  # fmt: skip
    assert (first["prompt_tokens"], first["completion_tokens"]) == (50, 4)
    assert before <= first["created"] <= time.time() and 0 < first["latency"] < 60


def test_the_frame_of_a_store_holds_every_row_whatever_its_pieces(store):
    """More rows than one piece; labels that appear late, numbers that an endpoint does not tell."""
    for n, request in enumerate(requests_for(300)):
        store.put(
            request,
            Response(
                "ok" if n < 299 else "refusal", f"t{n}", completion_tokens=n if n % 2 else None
            ),
        )
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO answers SELECT "
    columns = ", ".join(f"{c} || '-' || i" if c == "key" else c for c in answers.COLUMNS)
    store.db.execute(f"{many}{columns} FROM answers, n")
    frame = stored_answers(store, ["key", "outcome", "text", "completion_tokens", "endpoint"])
    assert len(frame) == 30_000 and frame["key"].is_unique
    assert frame["outcome"].value_counts().to_dict() == {"ok": 29_900, "refusal": 100}
    assert (
        frame["completion_tokens"].isna().sum() == 15_000
        and frame["completion_tokens"].max() == 299
    )
    assert (
        frame["text"]
        == "t" + frame["key"].map(dict(zip(frame["key"], frame["text"], strict=True))).str[1:]
    ).all()
    assert set(stored_answers(store, ["item_id"], outcome="refusal")["item_id"]) == {"q00299"}
    empty = stored_answers(store, model="nobody")
    assert empty.empty and list(empty.columns) == PROVENANCE
    with pytest.raises(KatayoriError, match="unknown column of the store 'texts'"):
        stored_answers(store, ["texts"])


def _said(*texts, tops=None, outcome="ok", prints=None):
    """One request's answers, repetition by repetition."""
    [request] = requests_for(1, logprobs=bool(tops))
    tops, prints = tops or [None] * len(texts), prints or ["fp"] * len(texts)
    return [
        (request, Response(outcome, t, top=top, fingerprint=p))
        for t, top, p in zip(texts, tops, prints, strict=True)
    ]


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
    assert (
        row["texts_differ"] == 4 and row["fingerprints"] == 1 and row["p_shift"] != row["p_shift"]
    )
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (0.0456, 0.6994), abs=1e-4
    )  # Wilson, 1 of 4


def test_flip_rates_of_one_token_answers_go_by_probability():
    """The likeliest token answers, not the sampled text; its greatest shift of probability is told."""
    one, close, other = (
        [(" yes", -0.5), (" no", -1.0)],
        [(" yes", -0.6), (" no", -0.9)],
        [(" yes", -1.0), (" no", -0.5)],
    )
    row = _rates(
        _said("yes", "no", tops=[one, close], prints=["a", "b"]),
        _said("yes", "no", tops=[one, other]),
    )
    assert (row["n"], row["flipped"], row["texts_differ"], row["fingerprints"]) == (2, 1, 2, 3)
    assert row["p_shift"] == pytest.approx(0.6065 - 0.3679, abs=1e-4)


def test_without_a_valid_pair_the_flip_rate_is_undefined():
    row = _rates(_said("Answer: yes"), _said("Perhaps.", "Who knows."))
    assert (row["n"], row["n_invalid"]) == (0, 2) and row[
        ["flip_rate", "ci_low", "ci_high"]
    ].isna().all()
    assert flip_rates([]).empty


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
    answers.answers(models="my-model@custom other")
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
        [told] = answers.causes(store, requests_for(1), model_for())
    assert told == r"asked m-vendor, answered by '\x1b[31mred'"

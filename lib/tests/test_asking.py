"""`make record`, `make live` and `make estimate` below the command line, against the double; no engine, no notebook."""

import re
from itertools import pairwise, product, takewhile
from operator import eq

import pytest
from api_double import Double

from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori_tools import asking, live, planning, record
from katayori_tools.choices import Asking, filled


def chosen(**given) -> Asking:
    """What is asked, of 01; base_url and label are its server's."""
    return filled(Asking, {"papers": "discrim_eval"} | given)


def _record(**given) -> int:
    return record.record(papers="discrim_eval", **given)


def step_of(paper: str, limit: int | None = None) -> asking.Step:
    """The step with most prompts of a paper, to a model that can be asked all of them."""
    longest = max(asking.steps(paper, "study"), key=len)
    at = get_model("qwen2.5-coder-0.5b@local-vllm")
    return asking.Step(paper, "", *at, longest, asking.Scope(limit=limit))


def texts(request) -> str:
    return "".join(message["content"] for message in request.body["messages"])


@pytest.mark.parametrize(
    "paper, most", [("persona_jbbq", 0.3), ("logprob_judge", 0.3), ("jubaku_v2", 0.4), ("inter_jbbq", 0.3)]
)  # fmt: skip
def test_what_is_asked_next_begins_like_what_was_asked_before(paper, most):
    """The share that a server reads which keeps its last prompt; item by item it was 0.73 to 0.99."""
    asked = [texts(request) for request in step_of(paper).requests(stand_in="A")]
    known = sum(sum(takewhile(bool, map(eq, *pair))) for pair in pairwise(asked))
    assert 1 - known / sum(map(len, asked)) < most


@pytest.mark.parametrize("paper", ["persona_jbbq", "inter_jbbq"])
def test_a_part_holds_all_that_is_asked_about_its_rows(paper):
    """Stopped after a part, a run holds whole items; the first 20 answers are of every prompt.

    What is asked, with its keys and seeds, is what `from_rows` makes in any order.
    """
    step = step_of(paper, limit=9)
    parts = list(step.parts(None))
    asked = [{(q.item_id, q.prompt_id) for q in part} for part in parts]
    for part in asked:
        assert part == set(product({item for item, _ in part}, step.prompts))
    assert len(asked) > 1 and {q.prompt_id for q in step.requests()[:20]} == set(step.prompts)
    rows = asking.load_rows(paper, "study", limit=9).to_dict("records")
    wording = load_prompts(paper)
    plain = asking.from_rows(
        rows, [wording[name] for name in step.prompts], step.model, step.endpoint, lambda _: []
    )
    assert sorted(q.key for part in parts for q in part) == sorted(q.key for q in plain)


@pytest.mark.parametrize(
    "call, says",
    [
        (
            lambda: record.items_of("discrim_eval", "studdy"),
            "unknown data set of discrim_eval 'studdy'",
        ),
        (
            lambda: asking.requests_of(
                "discrim_eval", *get_model("gpt-4o"), ["de_answer"], asking.Scope()
            ),
            "unknown prompt of discrim_eval 'de_answer'.*de_answer_line",
        ),
        (
            lambda: _record(models="gpt-4o"),
            "recording plan of discrim_eval 'gpt-4o'; known: .*smollm2-135m",
        ),
        (lambda: _record(engine="none"), "unknown endpoint 'local-none'"),
    ],
)
def test_wrong_names_get_one_line(house, call, says):
    with pytest.raises(KatayoriError, match=says):
        call()


@pytest.mark.parametrize("paper", paper_ids())
def test_a_whole_set_is_asked_as_a_study_reads_it(paper):
    """Also where some of its items were written anew after the first recording."""
    whole, most = (asking.load_rows(paper, "study", limit=n) for n in (None, 1_000_000))
    assert set(whole["item_id"]) == set(most["item_id"])


def test_live_asks_whole_questions_and_then_runs_the_notebooks(house, monkeypatch, capsys):
    """A limit of 1 takes one question with its whole cross of 135, by both prompts."""
    ran = []
    monkeypatch.setattr("katayori_tools.reproduce.reproduce", lambda run: ran.append(run) or 0)
    with Double(answer=lambda body: "Answer: no") as double:
        asked = chosen(models="llama@vllm", base_url=double.url, limit=1)
        assert live.live(asked) == 0
        assert double.asked == 270 and {body["model"] for body in double.requests} == {"llama"}
        live.live(asked)
        assert double.asked == 270
        said = capsys.readouterr().out
        assert "270 asked, 0 already stored" in said and "0 asked, 270 already stored" in said
    assert ran[0].models == "llama@vllm" and "limit=1" in ran[0].parameter


def test_live_stops_at_the_budget_and_says_how_to_go_on(house, monkeypatch):
    monkeypatch.setattr("katayori_tools.reproduce.reproduce", lambda run: 0)
    monkeypatch.setenv("OPENAI_API_KEY", "a-test-key")
    with Double() as double:
        of_model = chosen(models="gpt-4o", base_url=double.url, limit=1)
        with pytest.raises(KatayoriError, match=r"spending limit of \$0.001 reached; .*BUDGET="):
            live.live(of_model, concurrency=1, budget=0.001)
    assert 0 < double.asked < 20
    assert all(
        "temperature" not in body and len(body["messages"]) == 1 for body in double.requests
    )  # DE-7, DE-8


def test_estimate_asks_nothing(house, capsys):
    planning.estimate(chosen(models="gpt-4o sim-fair my-model@openai", limit=1))
    head, known, unknown, last, *about = capsys.readouterr().out.splitlines()
    columns = ["paper", "model", "half_width", "cost_usd", "calls", "stored", "clusters", "minutes"]
    assert head.split() == columns
    assert re.fullmatch(
        r"tokens: [\d,]+ to read; to write 2,160 where answers are short .*", about[0]
    )
    assert about[1] == "at most 552,960, if every answer were as long as its limit allows."
    assert "1.96 x 0.5 / sqrt(clusters)" in about[2]  # what the half-width is
    assert re.fullmatch(
        r"270 calls; \$0\.\d\d to \$\d+\.\d\d for 1 of 2 lines, price unknown for the rest", last
    )
    assert re.fullmatch(r"discrim_eval +gpt-4o +0.98 0.06 to 2.82 +135 +0 +1 +unknown", known)
    assert unknown.split()[2:] == ["0.98", "unknown", "135", "0", "1", "unknown"]


def test_estimate_fits_a_terminal_whatever_is_asked(tmp_path, monkeypatch, capsys):
    """Once it was 165 columns wide; of two models without a recording this is one line in all."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))
    long = "organisation/quite-a-long-name-of-a-model-70b-instruct@vllm"
    for models in ("gpt-4o my-model@custom qwen2.5-coder-1.5b", long):
        asked = chosen(papers=" ".join(paper_ids()), models=models, limit=1)
        planning.estimate(asked)
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 100
    asked = chosen(papers="persona_jbbq jubaku_v2", models="gpt-4o my-model@custom", limit=1)
    planning.estimate(asked, pilot="recorded")
    assert capsys.readouterr().out.count("nothing is recorded") == 1


@pytest.mark.parametrize(
    "low, high, told",
    [
        (0.0, 0.0, "0.00"),
        (0.0004, 0.0049, "<0.01"),
        (0.004, 1.236, "<0.01 to 1.24"),
        (1234.5, 1234.5, "1,234.50"),
        (float("nan"), float("nan"), "unknown"),
    ],
)
def test_a_small_cost_is_not_shown_as_nothing(low, high, told):
    assert planning._dollars(low, high) == told

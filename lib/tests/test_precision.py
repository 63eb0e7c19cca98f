"""What `make estimate` advises after a pilot: on planted components, and on a store of answers.

All answers are made: by planted components, or by the stub's model.
"""

import re
from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np
import pandas as pd
import pytest
from planted_components import FACETS, SIX, crossed, made
from stub_model import chance, planted

from katayori import paths
from katayori.metrics.components import components, predict
from katayori.prompting.answer_store import Store
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori_tools import asking, cli, planning
from katayori_tools.choices import Asking, OwnServer

WORDS = dict(zip(FACETS, ("templates", "prompts", "orders"), strict=True))
SCORE = planning.Measured("Diff", lambda one: one, WORDS)
ORDERS = tuple(0.1 * one for one in SIX)
PLANTED = {"template": 0.2, "prompt": 0.002, "template x prompt": 0.1}
PLANTED |= {"template x order": 0.15, "template x prompt x order": 0.3}


def exact(
    planted_sd: dict[str, float],
    shape: tuple[int, int, int],
    orders: tuple[float, ...] = ORDERS,
) -> pd.DataFrame:
    """A pilot whose mean squares are those to expect: it says of the components what is true."""
    rng = np.random.default_rng(0)
    own = {effect: sd**2 for effect, sd in planted_sd.items()} | {"order": np.var(orders, ddof=1)}
    value = np.zeros(shape)
    for kept in list(product((False, True), repeat=3))[1:]:
        axes = [axis for axis in range(3) if kept[axis]]
        part = rng.normal(size=[n if one else 1 for n, one in zip(shape, kept, strict=True)])
        for axis in axes:
            part = part - part.mean(axis=axis, keepdims=True)
        named = {FACETS[axis] for axis in axes}
        wider = {effect: v for effect, v in own.items() if named <= set(effect.split(" x "))}
        expected = sum(
            v * prod(n for facet, n in zip(FACETS, shape, strict=True) if facet not in effect)
            for effect, v in wider.items()
        )
        others = prod(n for n, one in zip(shape, kept, strict=True) if not one)
        df = prod(shape[axis] - 1 for axis in axes)
        value = value + part * (expected * df / (others * (part**2).sum())) ** 0.5
    return crossed(shape).assign(value=value.ravel(), answer=crossed(shape)["order"] % 3)


def spread(planted_sd: dict[str, float], design: dict[str, int], n: int = 500) -> float:
    """1.96 standard deviations of the means of so many made studies of a design, in points."""
    rng, means = np.random.default_rng(48), []
    for _ in range(n):
        # All orders are answered, and as many of them kept as the design asks.
        frame = made(rng, planted_sd, (design["template"], design["prompt"], 6), ORDERS)
        kept = rng.choice(6, design["order"], replace=False)
        means.append(frame.loc[frame["order"].isin(kept), "side"].mean())
    return 196 * float(np.std(means))


# -- the table -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_design_is_as_sure_as_was_promised():
    """Drawn 500 times, whose own error is 3 %; prompts differ too little to be seen."""
    table = planning.designs(exact(PLANTED, (20, 5, 6)), SCORE).set_index("template")
    promised = table.loc[100, "half_width"]
    drawn = spread(PLANTED, {"template": 100, "prompt": 5, "order": 6})
    assert drawn == pytest.approx(promised, rel=0.1)
    assert table.loc[100, "low"] < promised < table.loc[100, "high"]


def test_the_table_says_what_was_asked_and_what_more_items_buy():
    frame = exact(PLANTED, (30, 5, 6))
    table = planning.designs(frame, SCORE)
    assert table["template"].tolist() == [30, *planning.SIZES]
    assert set(table["prompt"]) == {5} and set(table["order"]) == {6}
    assert table["half_width"].iloc[1:].is_monotonic_decreasing
    found = components(frame, value="value", facets=FACETS, fixed=FACETS[1:])
    widths = 100 * predict(found, [{}, {"template": 500}])["half_width"]
    assert table["half_width"].iloc[[0, -1]].tolist() == widths.tolist()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda one: one.assign(answer="1"),
            "prompts that are answered by position are left out.*no answer is left",
        ),
        (lambda one: one.assign(value=0.0), "no_variation"),
        (lambda one: one.assign(value=(one["order"] + one["template"]) % 2), "no_variation"),
        (lambda one: one[:0], "no answer is left"),
        (lambda one: one.assign(value=np.nan), "20 left out.*no_valid_answer"),
        (
            lambda one: one.assign(value=one["value"].mask(one["order"] == one["template"] % 6)),
            "20 left out, which lack answers; too few to say, ask at least LIMIT=10",
        ),
        (lambda one: one[one["template"] < 4], "too few to say, ask at least LIMIT=10"),
        (
            lambda one: one.assign(value=one["value"].mask(one["template"] < 9)),
            "9 left out, which lack answers",
        ),
        (
            lambda one: one[one["order"] == one["template"] % 6],
            r"templates +prompts +half",
        ),
        (
            lambda one: one[one["order"].isin([0, 1]) & (one["prompt"] == 0)],
            r"templates +orders +half",
        ),
    ],
)
def test_what_a_pilot_cannot_tell_is_said(change, says):
    told = planning.advice(change(exact(PLANTED, (20, 5, 6))), 99, SCORE)
    assert re.search(says, told, re.DOTALL), told


def test_prompts_that_are_answered_by_position_are_left_out_one_by_one():
    """Of prompts that are answered A and B nothing would be seen in all answers together."""
    frame = exact(PLANTED, (20, 5, 6))
    letters = frame["prompt"].map({0: "A", 1: "A", 2: "A", 3: "A", 4: "B"})
    by_position = frame.assign(answer=letters)
    assert "no answer is left" in planning.advice(by_position, 99, SCORE)
    letters = letters.where(frame["prompt"].isin([0, 1, 2]), frame["order"] % 3)
    told = planning.advice(frame.assign(answer=letters), 99, SCORE)
    assert "are left out" in told and re.search(r"\n +20 +2 +6 ", told), told


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path, monkeypatch) -> Callable[..., None]:
    """Puts the stub's answers to so many clusters of a paper into a store of its own."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))

    def fill(paper: str, limit: int, says: Callable[[Request], str] = planted, **own: str) -> None:
        server = OwnServer(label="mine")
        chosen = Asking(papers=paper, models="m@custom", limit=limit, own=own, server=server)
        for _, requests in asking.wanted(chosen, stand_in="・"):
            with Store(store_path()) as store:
                for request in requests:
                    store.put(request, Response("ok", says(request), finish_reason="stop"))

    return fill


def lines(capsys, *words: str) -> list[str]:
    """The lines of `make estimate` that are about pilots."""
    given = ["estimate", "--models", "m@custom", "--label", "mine", *words]
    assert cli.main(given) == 0
    said = capsys.readouterr().out.splitlines()
    return said[said.index("narrower. Below 10 clusters no interval can be relied on.") + 1 :]


DESIGNS = {
    "persona_jbbq": ("Diff_a", "templates  prompts", "12 +5"),
    "jubaku_v2": ("neutral reasons", "cases  prompts  orders", "12 +4 +2"),
    "inter_jbbq": (
        "accuracy (ambiguous)",
        "ambiguous families  prompts  questions",
        "9 +2 +2",
    ),
}


@pytest.mark.parametrize("paper", DESIGNS)
def test_a_pilot_in_the_store_tells_what_to_buy(paper, stored, capsys):
    """Answers that the stub gives by chance: of 02 and 04 as each prompt and item says."""
    stored(paper, 12)
    told, head, now, *_ = lines(capsys, "--papers", paper)
    score, columns, design = DESIGNS[paper]
    assert told.startswith(f"{paper} m@custom: {score}; of ") and columns in head
    assert re.match(rf" +{design} ", now), now


def test_a_judge_that_reads_is_told_what_to_buy(stored, capsys):
    def reads(request: Request) -> str:
        truth = request.fields.get("truth")
        if truth not in ("1", "2") or chance("reads", request.prompt_id, request.item_id) < 0.3:
            return "B" if chance(request.item_id) < 0.5 else "A"
        return "A" if (request.fields["order"] == "12") == (truth == "1") else "B"

    stored("logprob_judge", 12, says=reads)
    told, head, *_ = lines(capsys, "--papers", "logprob_judge")
    assert told.startswith("logprob_judge m@custom: agreement") and "pairs" in head


def test_a_judge_that_follows_a_position_is_not_sold_more_answers(stored, capsys):
    stored("logprob_judge", 12, says=lambda request: "A")
    [told] = lines(capsys, "--papers", "logprob_judge")
    assert "are left out, of which more answers would tell no more; no answer is left" in told


def test_all_orders_of_a_pilot_are_read_without_being_told(stored, capsys):
    stored("persona_jbbq", 6, orders="all")
    _, _, now, *_ = lines(capsys, "--papers", "persona_jbbq", "--limit", "1")
    assert re.match(" +6 +5 +6 ", now), now


def test_without_a_pilot_one_line_says_how_to_make_one(stored, capsys):
    [told] = lines(capsys, "--papers", "discrim_eval persona_jbbq jubaku_v2")
    assert told.startswith("how many to ask: a pilot says it, make live PAPERS=02 MODELS=")
    stored("jubaku_v2", 2)
    told = lines(capsys, "--papers", "persona_jbbq jubaku_v2")
    assert "too few to say, ask at least LIMIT=10" in told[0] and "persona" not in "".join(told)


def test_the_table_on_the_page_is_what_recorded_answers_give(stored, capsys):
    page = (paths.root() / "lib/pages/own-model.md").read_text(encoding="utf-8")
    [told] = re.findall(r"^inter_jbbq qwen(?:.*\n)+?(?=```)", page, re.MULTILINE)
    words = ["--papers", "inter_jbbq", "--models", "qwen2.5-coder-1.5b", "--pilot", "recorded"]
    assert cli.main(["estimate", *words]) == 0
    assert capsys.readouterr().out.splitlines()[-8:] == told.splitlines()

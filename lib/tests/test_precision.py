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
from katayori.papers import get_paper
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori_tools import asking, cli, planning
from katayori_tools.answer_store import Store
from katayori_tools.asked import MEASURED, Measured
from katayori_tools.choices import Asking, OwnServer

WORDS = dict(zip(FACETS, ("templates", "prompts", "orders"), strict=True))
SCORE = Measured("Diff", lambda one: one, WORDS, complete=("order",))
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


def advice(frame: pd.DataFrame, target: float, there: int = planning.NEVER) -> str:
    return planning.advice(frame, SCORE, target, there)


def table_of(frame: pd.DataFrame) -> pd.DataFrame:
    return components(frame, value="value", facets=FACETS, fixed=["order"])


def spread(planted_sd: dict[str, float], design: dict[str, int], n: int = 500) -> float:
    """1.96 standard deviations of the means of so many made studies of a design, in points."""
    rng, means = np.random.default_rng(48), []
    for _ in range(n):
        # All orders are answered, and as many of them kept as the design asks.
        frame = made(rng, planted_sd, (design["template"], design["prompt"], 6), ORDERS)
        kept = rng.choice(6, design["order"], replace=False)
        means.append(frame.loc[frame["order"].isin(kept), "side"].mean())
    return 196 * float(np.std(means))


# -- the design that is advised --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompt_sd", "shape"), [(0.002, (20, 5, 6)), (0.02, (20, 12, 6))], ids=["none", "prompts"]
)
def test_the_design_that_is_advised_is_as_sure_as_was_promised(prompt_sd, shape):
    """Drawn 500 times, whose own error is 3 %; a quarter of the templates fewer, or half of the
    prompts, misses it.
    """
    planted_sd = PLANTED | {"prompt": prompt_sd}
    pilot = exact(planted_sd, shape)
    asked = dict(zip(FACETS, shape, strict=True))
    design = planning.smallest(table_of(pilot), asked, 2.0)
    assert design is not None
    promised = 100 * predict(table_of(pilot), [design])["half_width"].item()
    assert promised <= 2
    told = advice(pilot, 2.0)
    words = f"{design['template']} templates x {design['prompt']} prompts x 6 orders"
    assert f"for +-2 points: {words}" in told
    assert spread(planted_sd, design) == pytest.approx(promised, rel=0.1)
    smaller = design | {"template": design["template"] * 3 // 4}
    if prompt_sd > 0.01:  # templates are cheap beside prompts: they are what is missed
        smaller |= {"prompt": design["prompt"] // 2}
    assert spread(planted_sd, smaller) > 2.1


def test_one_template_fewer_is_not_as_sure():
    table, asked = table_of(exact(PLANTED, (20, 5, 6))), {"template": 20, "prompt": 5, "order": 6}
    for target in (1.0, 2.0, 4.0):
        design = planning.smallest(table, asked, target)
        assert design is not None and design["template"] > planning.PILOT
        fewer = design | {"template": design["template"] - 1}
        widths = 100 * predict(table, [design, fewer])["half_width"]
        assert widths[0] <= target < widths[1]
    assert planning.smallest(table, asked, 100.0) == asked | {"template": planning.PILOT}


def test_only_what_can_be_asked_is_advised():
    """All prompts of a paper are asked, and of the orders one or all: where orders or prompts make
    no difference fewer would do, and nobody could ask them.
    """
    frame = exact(
        {"template": 0.2, "template x prompt x order": 0.2}, (20, 5, 6), orders=(0.0,) * 6
    )
    asked = {"template": 20, "prompt": 5, "order": 6}
    design = planning.smallest(table_of(frame), asked, 2.0)
    assert design is not None and (design["prompt"], design["order"]) == (5, 6)
    told = advice(frame, 2.0)
    assert re.search(r"for \+-2 points: \d+ templates x 5 prompts x 6 orders \(", told), told


# -- the line --------------------------------------------------------------------------------------


def test_the_line_says_what_is_asked_now_and_what_to_buy():
    templates_weigh = PLANTED | {"template x prompt": 0.02, "template x prompt x order": 0.1}
    told = advice(exact(templates_weigh, (30, 5, 6)), 2.0)
    pattern = (
        r"Diff \+-(\d+\.\d) points now \(30 templates x 5 prompts x 6 orders\); for \+-2 points: "
        r"(\d+) templates x 5 prompts x 6 orders \(\+-2\.0; (\d\.\d) to (\d\.\d) as far as this "
        r"pilot tells\)"
    )
    found = re.fullmatch(pattern, told)
    assert found, told
    now, n, low, high = map(float, found.groups())
    assert now > 2 and n > 30 and low < 2 < high


def test_where_prompts_differ_too_much_these_prompts_alone_are_advised():
    weighty = PLANTED | {"prompt": 0.02}
    told = advice(exact(weighty, (30, 3, 6)), 2.0)
    found = re.search(
        r"no number of templates is enough for new prompts with these 3 prompts "
        r"\(at best \+-(\d\.\d); (\d\.\d) to (\d+\.\d) as far as this pilot tells\); "
        r"for these 3 prompts alone (\d+) templates x (\d) prompts? x (\d) orders \(\+-2\.0; .*\)$",
        told,
    )
    assert found, told
    best, low, high, *design = map(float, found.groups())
    assert low < best < high
    assert best == pytest.approx(100 * 4.303 * 0.02 / 3**0.5, abs=0.2)  # t of 2 degrees of freedom
    # The prompts as three there are, the orders as six.
    table = components(
        exact(weighty, (30, 3, 6)), value="value", facets=FACETS, fixed=["prompt", "order"]
    )
    alone = dict(zip(FACETS, map(int, design), strict=True))
    fewer = alone | {"template": alone["template"] - 1}
    widths = 100 * predict(table, [alone, fewer])["half_width"]
    assert widths[0] <= 2 < widths[1]


def test_a_width_that_nobody_can_reach_is_said():
    told = advice(exact(PLANTED, (20, 5, 6)), 0.01)
    assert told.endswith("for these 5 prompts alone more than 100,000 templates"), told
    without = exact(PLANTED, (20, 5, 6)).query("prompt == 0")
    told = advice(without, 0.01)
    assert told.endswith("for +-0.01 points: more than 100,000 templates"), told


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda one: one.assign(answer="1"),
            "^100% and more of the answers are one letter or number in 5 of 5 prompts: it answers",
        ),
        (lambda one: one.assign(value=0.0), "all answers alike, no spread"),
        (
            lambda one: one.assign(value=(one["order"] + one["template"]) % 2),
            "all templates have the same mean, as of answers by position; no spread",
        ),
        (lambda one: one[:0], "^0 templates answered in full are too few"),
        (
            lambda one: one.assign(value=np.nan),
            "^20 of 20 templates lack a readable answer in some cell of 5 prompts x 6 orders; too",
        ),
        (
            lambda one: one.assign(value=one["value"].mask(one["order"] == one["template"] % 6)),
            "^20 of 20 templates lack a readable answer",
        ),
        (
            lambda one: one.assign(value=one["value"].mask(one["template"] > 3)),
            "^16 of 20 templates lack a readable answer",
        ),
        (lambda one: one[one["template"] < 4], "^4 templates answered in full .* LIMIT=10"),
        (
            lambda one: one.assign(value=one["value"].mask(one["template"] < 9)),
            r"\(11 templates x 5 prompts x 6 orders; 9 left out, which lack answers\)",
        ),
        (
            lambda one: one[one["order"] == one["template"] % 6],
            r"\(20 templates x 5 prompts, in one order\); for",
        ),
        (
            lambda one: one[one["order"].isin([0, 1]) & (one["prompt"] == 0)],
            r"\(20 templates x 2 orders\); for \+-2 points: \d+ templates x 2 orders \(\+-",
        ),
    ],
)
def test_what_a_pilot_cannot_tell_is_said(change, says):
    told = advice(change(exact(PLANTED, (20, 5, 6))), 2.0)
    assert re.search(says, told), told
    assert "\n" not in told and "nan" not in told


def test_more_than_there_is_needs_items_of_ones_own():
    frame = exact(PLANTED, (20, 5, 6))
    design = planning.smallest(table_of(frame), {"template": 20, "prompt": 5, "order": 6}, 2.0)
    assert design is not None
    n = design["template"]
    assert "of your own" not in advice(frame, 2.0, there=n)
    told = advice(frame, 2.0, there=n - 1)
    assert told.endswith(f"; there are {n - 1} templates here, more need items of your own"), told
    weighty = exact(PLANTED | {"prompt": 0.02}, (30, 3, 6))
    told = advice(weighty, 2.0, there=30)
    assert "for these 3 prompts alone" in told and told.endswith("items of your own"), told


@pytest.mark.parametrize(("many", "share"), [(181, "90.5%"), (182, "91%")])
def test_a_share_just_above_the_limit_is_not_rounded_to_it(many, share):
    frame = crossed((20, 1, 10)).assign(value=0.0, answer="B")
    told = advice(frame.assign(answer=frame["answer"].where(frame.index >= many, "A")), 2.0)
    assert told.startswith(f"{share} and more of the answers are one letter"), told


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path, monkeypatch) -> Callable[..., None]:
    """Puts the stub's answers to so many clusters of a paper into a store of its own."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))

    def fill(paper: str, limit: int, says: Callable[[Request], str] = planted, **own: str) -> None:
        server = OwnServer(label="mine")
        chosen = Asking(papers=paper, models="m@custom", limit=limit, own=own, server=server)
        for step in asking.wanted(chosen, stand_in="・"):
            with Store(store_path()) as store:
                for request in step.requests:
                    store.put(request, Response("ok", says(request), finish_reason="stop"))

    return fill


def lines(capsys, *words: str) -> list[str]:
    """The lines of `make estimate` that are about pilots."""
    given = ["estimate", "--models", "m@custom", "--label", "mine", *words]
    assert cli.main(given) == 0
    said = capsys.readouterr().out.splitlines()
    return said[said.index("narrower. Below 10 clusters no interval can be relied on.") + 1 :]


DESIGNS = {
    "persona_jbbq": "Diff_a +-{} points now (12 templates x 5 prompts, in one order)",
    "jubaku_v2": "neutral reasons +-{} points now (12 cases x 4 prompts x 2 orders)",
    "inter_jbbq": "accuracy (ambiguous) +-{} points now (9 ambiguous families x 2 prompts x"
    " 2 questions, in one order)",
}


@pytest.mark.parametrize("paper", DESIGNS)
def test_a_pilot_in_the_store_tells_what_to_buy(paper, stored, capsys):
    """Answers that the stub gives by chance: of 02 and 04 as each prompt and item says."""
    stored(paper, 12)
    [line] = lines(capsys, "--papers", paper, "--half-width", "3")
    before, after = DESIGNS[paper].split("{}")
    pattern = rf"{paper} m@custom: {re.escape(before)}\d+\.\d{re.escape(after)}; for \+-3 points: "
    assert re.match(pattern, line), line
    assert " to " in line or "no number of" in line


def test_a_judge_that_reads_is_told_what_to_buy(stored, capsys):
    def reads(request: Request) -> str:
        truth = request.fields.get("truth")
        if truth not in ("1", "2") or chance("reads", request.prompt_id, request.item_id) < 0.3:
            return "B" if chance(request.item_id) < 0.5 else "A"
        return "A" if (request.fields["order"] == "12") == (truth == "1") else "B"

    stored("logprob_judge", 12, says=reads)
    [line] = lines(capsys, "--papers", "logprob_judge")
    assert re.match(r"logprob_judge m@custom: agreement \+-\d+\.\d points now \(12 pairs x", line)


def test_a_judge_that_follows_a_position_is_not_sold_more_answers(stored, capsys):
    stored("logprob_judge", 12, says=lambda request: "A")
    [line] = lines(capsys, "--papers", "logprob_judge")
    assert (
        "of the answers are one letter or number in 5 of 5 prompts: it answers by position" in line
    )


def test_prompts_that_are_answered_by_position_are_left_out_one_by_one():
    """Of prompts that are answered A and B nothing would be seen in all answers together."""
    frame = exact(PLANTED, (20, 5, 6))
    letters = frame["prompt"].map({0: "A", 1: "A", 2: "A", 3: "A", 4: "B"})
    told = advice(frame.assign(answer=letters), 2.0)
    assert told.startswith("100% and more") and "x" not in told.partition("prompts")[2]
    letters = letters.where(frame["prompt"].isin([0, 1, 2]), frame["order"] % 3)
    told = advice(frame.assign(answer=letters), 2.0)
    assert "20 templates x 2 prompts x 6 orders; 100% and more" in told
    assert "in 3 of 5 prompts, left out)" in told


def test_all_orders_of_a_pilot_are_read_without_being_told(stored, capsys):
    stored("persona_jbbq", 6, orders="all")
    [line] = lines(capsys, "--papers", "persona_jbbq", "--limit", "1")
    assert line.startswith("persona_jbbq m@custom, of all that is stored: ")
    assert "(6 templates x 5 prompts x 6 orders); for +-2 points: " in line


def test_without_a_pilot_one_line_says_how_to_make_one(stored, capsys):
    none, line = lines(capsys, "--papers", "discrim_eval persona_jbbq jubaku_v2")
    assert none.startswith("discrim_eval: a pilot tells nothing here: a gap is the largest")
    assert line.endswith("make live PAPERS=persona_jbbq MODELS=m@custom LIMIT=10")
    recorded = lines(capsys, "--papers", "persona_jbbq jubaku_v2", "--pilot", "recorded")
    assert recorded == [
        "No answers are recorded here for PAPERS=persona_jbbq MODELS=m@custom and 1 more: ask with"
        " make live PAPERS=persona_jbbq MODELS=m@custom LIMIT=10, then leave out --pilot recorded"
    ]
    stored("jubaku_v2", 2)
    told = lines(capsys, "--papers", "persona_jbbq jubaku_v2")
    assert told[0].startswith("jubaku_v2 m@custom: 2 cases answered in full are too few to say")
    assert told[1].startswith("What to ask for +-2 points") and "PAPERS=persona_jbbq" in told[1]


def test_the_line_on_the_page_is_what_recorded_answers_give(stored, capsys):
    page = (paths.root() / "lib/pages/own-model.md").read_text(encoding="utf-8")
    [told] = re.findall(r"^inter_jbbq qwen.*$", page, re.MULTILINE)
    words = ["--papers", "inter_jbbq", "--models", "qwen2.5-coder-1.5b", "--pilot", "recorded"]
    assert cli.main(["estimate", *words]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == told


@pytest.mark.parametrize("width", ["0", "-1", "101", "wide", "nan"])
def test_a_width_that_is_none_gets_one_line(width, capsys):
    assert cli.main(["estimate", "--half-width", width]) == 2
    told = capsys.readouterr().err
    assert "is no number of points" in told and told.count("\n") == 1


def test_every_score_belongs_to_a_paper_and_names_prompts_that_there_are():
    for paper, score in MEASURED.items():
        assert get_paper(paper).id == paper and set(score.complete) < set(score.facets)
        assert next(iter(score.facets)) not in score.complete

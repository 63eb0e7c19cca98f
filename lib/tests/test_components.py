"""Components of variance: against statsmodels, on planted components, on recorded answers.

Answers are made but for those of `recorded`.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from planted_components import FACETS, ORDINARY, SIX, crossed, made, true_se, truth
from scipy.stats import binom, chi2
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from katayori.frames import FrameError
from katayori.metrics import bbq
from katayori.metrics.components import components, predict
from katayori.study import Study

OF_RESULT = ("effect", "requests", "half_width")
HOW = {"value": "side", "facets": FACETS, "fixed": ["order"]}


def estimates(found: pd.DataFrame) -> dict[str, float]:
    """The components before a negative one counts as 0, by hand from the mean squares."""
    m, n = found.set_index("effect")["mean_square"], found.set_index("effect")["levels"]
    t, p, o = (n[facet] for facet in FACETS)
    to, po, tpo = "template x order", "prompt x order", "template x prompt x order"
    return {
        "template": (m["template"] - m["template x prompt"]) / (p * o),
        "prompt": (m["prompt"] - m["template x prompt"]) / (t * o),
        "order": (m["order"] - m[to] - m[po] + m[tpo]) / (t * p),
        "template x prompt": m["template x prompt"] / o,
        to: (m[to] - m[tpo]) / p,
        po: (m[po] - m[tpo]) / t,
        tpo: m[tpo],
    }


# -- oracles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(7, 4), (6, 3, 4)])
def test_mean_squares_are_those_of_statsmodels(shape):
    frame = made(np.random.default_rng(1), ORDINARY, shape)
    facets = FACETS[: len(shape)]
    found = components(frame, value="side", facets=facets).set_index("effect")
    named = [f"C({facet})" for facet in facets]
    formula = f"side ~ {'*'.join(named)} - {':'.join(named)}"  # the last effect is the residual
    theirs = anova_lm(ols(formula, frame).fit())
    theirs = theirs.rename(
        index=lambda name: name.replace("C(", "").replace(")", "").replace(":", " x ")
    ).rename(index={"Residual": " x ".join(facets)})
    assert set(theirs.index) == set(found.index)
    for ours, of in (("mean_square", "mean_sq"), ("df", "df")):
        expected = theirs[of].loc[found.index].to_numpy()
        assert found[ours].to_numpy() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_components_of_two_facets_by_hand():
    side = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]])
    frame = crossed((3, 2)).assign(side=side.ravel())
    # Means of rows 1.5, 4, 2, of columns 2, 3; the mean 2.5; what is left +-0, +-.5, +-.5.
    m_rows, m_columns, m_both = 2 * 3.5 / 2, 3 * 0.5 / 1, 1.0 / 2
    found = components(frame, value="side", facets=FACETS[:2]).set_index("effect")
    assert found["mean_square"].tolist() == pytest.approx([m_rows, m_columns, m_both])
    assert found["value"].tolist() == pytest.approx([(3.5 - 0.5) / 2, (1.5 - 0.5) / 3, 0.5])
    shares = np.array([1.5, 1 / 3, 0.5]) / (1.5 + 1 / 3 + 0.5)
    assert found["share"].tolist() == pytest.approx(shares.tolist())
    assert found["sd"].tolist() == pytest.approx(np.sqrt([1.5, 1 / 3, 0.5]).tolist())
    assert found["levels"].tolist() == [3, 2, 6] and found["df"].tolist() == [2, 1, 2]
    # The prompts as both there are: what is left joins the templates, a half of it.
    fixed = components(frame, value="side", facets=FACETS[:2], fixed=["prompt"])
    assert fixed["value"].tolist() == pytest.approx([1.5 + 0.5 / 2, 1 / 3, 0.5])
    assert fixed["kind"].tolist() == ["random", "complete", "complete"]
    table = predict(fixed, [{}, {"template": 6}, {"prompt": 1}])
    one_prompt = 1.75 / 3 + (1 / 3 + 0.5 / 3) * (1 - 1 / 2)
    squares = [1.75 / 3, 1.75 / 6, one_prompt]
    # Three templates are too few to speak of six.
    assert table["status"].tolist() == ["ok", "too_few_levels", "ok"]
    assert (table["value"] ** 2).tolist() == pytest.approx(
        [squares[0], np.nan, one_prompt], nan_ok=True
    )


# -- planted components ----------------------------------------------------------------------------

NO_PROMPT = {"template": 1.0, "template x prompt": 0.5, "template x prompt x order": 0.7}
SCENARIOS = {
    "ordinary": (ORDINARY, (28, 5, 6), SIX),
    "no template": (ORDINARY | {"template": 0.0, "template x order": 0.0}, (28, 5, 6), SIX),
    "no prompt": (NO_PROMPT, (20, 4, 6), SIX),
    "prompts weigh": (ORDINARY | {"prompt": 1.5}, (28, 4, 6), SIX),
    "a pair of orders": (ORDINARY, (36, 4, 2), (1.0, -1.0)),
    "nothing but noise": ({"template x prompt x order": 1.0}, (28, 5, 6), (0.0,) * 6),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_planted_components_are_found(name):
    """Means over 80 draws of what is estimated before anything is cut off at 0, which is fair;
    of what is given, that it is the same, cut off.
    """
    planted, shape, orders = SCENARIOS[name]
    rng, drawn = np.random.default_rng(48), []
    for _ in range(80):
        found = components(made(rng, planted, shape, orders), **HOW).set_index("effect")
        fair = pd.Series(estimates(found.reset_index()))
        drawn.append(fair)
        cut = fair[found.index].clip(lower=0)
        assert found["value"].to_numpy() == pytest.approx(cut.to_numpy(), abs=1e-9)
        assert ((found["status"] == "below_zero") <= (fair[found.index] < 0)).all()
        assert ((found["status"] == "below_zero") >= (fair[found.index] < -1e-9)).all()
    table = pd.DataFrame(drawn)
    parts = truth(planted, orders)
    error = table.std() / len(table) ** 0.5
    off = ((table.mean() - pd.Series(parts)) / error).abs()
    # Of seven, two may be more than two Monte Carlo errors away by chance, none so many as 3.5.
    assert (off > 2).sum() <= 2 and off.max() < 3.5, off.round(1).to_dict()


DESIGNS = [{}, {"template": 120}, {"prompt": 1}, {"template": 60, "prompt": 2}, {"order": 2}]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ordinary", "a pair of orders"])
def test_intervals_cover_what_is_planted(name):
    """150 draws each: not below 95 % by more than chance (one in 1,000) allows."""
    planted, shape, orders = SCENARIOS[name]
    designs = [one for one in DESIGNS if one.get("order", 2) <= shape[2]]
    parts = pd.Series(truth(planted, orders))
    sizes = dict(zip(FACETS, shape, strict=True))
    se = np.array([true_se(parts, sizes | one, shape[2]) for one in designs])
    rng, of_parts, of_se, of_mean = np.random.default_rng(7), [], [], []
    for _ in range(150):
        frame = made(rng, planted, shape, orders)
        found = components(frame, **HOW)
        part = parts[found["effect"]].to_numpy()
        of_parts.append((found["ci_low"] <= part + 1e-12) & (part <= found["ci_high"] + 1e-12))
        table = predict(found, designs)
        of_se.append((table["se_low"] <= se + 1e-12) & (se <= table["se_high"] + 1e-12))
        of_mean.append(abs(frame["side"].mean() - np.mean(orders)) <= table["half_width"].iloc[0])
    least = binom.ppf(0.001, 150, 0.95)
    assert np.sum(of_parts, axis=0).min() >= least
    assert np.sum(of_se, axis=0).min() >= least
    assert np.sum(of_mean) >= least


# -- the standard error of another design ----------------------------------------------------------


def test_orders_taken_as_random_make_a_sure_mean_look_unsure():
    """True is .167. With orders as six drawn of many it would be 1.36."""
    planted = ORDINARY | {"prompt": 0.1, "prompt x order": 0.35}
    orders = tuple(1.4 * one for one in SIX)
    shape = (50, 5, 6)
    parts, sizes = truth(planted, orders), dict(zip(FACETS, shape, strict=True))
    true = true_se(parts, sizes)
    assert true == pytest.approx(0.167, abs=5e-4)
    rng = np.random.default_rng(3)
    frames = [made(rng, planted, shape, orders) for _ in range(60)]
    means = np.std([frame["side"].mean() for frame in frames], ddof=1)
    assert means == pytest.approx(true, rel=0.3)
    told = {}
    for name, fixed in {"complete": ["order"], "random": []}.items():
        how = HOW | {"fixed": fixed}
        squares = [predict(components(one, **how), [{}])["value"][0] ** 2 for one in frames]
        told[name] = np.mean(squares) ** 0.5
    assert told["complete"] == pytest.approx(true, rel=0.1)
    assert told["random"] == pytest.approx(1.36, abs=0.03)


@cache
def recorded() -> pd.DataFrame:
    """Ambiguous passages of notebook 02 in all orders: +1 to the stereotype, -1 to the other."""
    study = Study("persona_jbbq", asked=["pj_basic_ja"])
    prompts = [f"pj_{one}_ja" for one in ("basic", "para", "cot", "neutral", "biased")]
    answers = pd.concat([study.answers(prompt) for prompt in prompts], ignore_index=True)
    names = {"answer": "answer", "label": "label", "context": "context_condition"}
    answers = bbq.with_role(answers, **names, option="role")
    return answers[answers["case"] == "ambiguous"].reset_index(drop=True)


def test_subsets_of_five_recorded_templates_lie_as_far_apart_as_predicted():
    """All subsets have the same prompts and orders: for them both are complete.

    The standard deviation of ten means is a draw: 99 of 100 lie within .44 and 1.62 of what is true
    (chi-square of 9). Over many ways to cut fifty into tens it must come out as predicted.
    """
    frame = recorded()
    facets = ["template_id", "prompt_id", "order"]
    how = {"value": "side", "facets": facets, "fixed": facets[1:], "by": "model"}
    table = predict(components(frame, **how), [{"template_id": 5}], by="model")
    low, high = np.sqrt(chi2.ppf([0.005, 0.995], 9) / 9)
    for model, own in frame.groupby("model"):
        means = own.groupby("template_id")["side"].mean().to_numpy()
        assert len(means) == 50 and own["side"].notna().all()
        told = table.loc[table["model"] == model, "value"].item()
        rng = np.random.default_rng(5)
        cuts = [rng.permutation(means).reshape(10, 5).mean(axis=1).var(ddof=1) for _ in range(200)]
        assert low < cuts[0] ** 0.5 / told < high
        # The error of the mean of 200 cuts is about 3 %.
        assert np.mean(cuts) ** 0.5 == pytest.approx(told, rel=0.1)


# -- what comes in ---------------------------------------------------------------------------------


@pytest.fixture
def frame() -> pd.DataFrame:
    return made(np.random.default_rng(0), ORDINARY, (6, 5, 2))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"facets": ["template", "judge"], "fixed": []}, "no column 'judge'"),
        ({"facets": [], "fixed": []}, "name the facets"),
        ({"facets": ["template", "template"], "fixed": []}, "is named twice"),
        ({"fixed": ["judge"]}, "fixed='judge' is none of the facets"),
        ({"fixed": ["template"]}, "fixed='template' comes first"),
        ({"value": "text"}, "column 'text' holds 'yes'"),
        ({"facets": ["template", "status"], "fixed": []}, "'status' is a column of the result"),
        ({"facets": [0, "order"]}, "facets=0 is no text"),
        ({"facets": ["template", "side"], "fixed": []}, "value='side' is one of the facets, too"),
        ({"value": "endless"}, "column 'endless' holds inf; right is a finite number"),
        *(({"by": name}, f"by='{name}' is a column of the result") for name in OF_RESULT),
    ],
)
def test_a_wrong_call_gets_one_line(frame, how, says):
    with pytest.raises(FrameError, match=says) as told:
        more = dict.fromkeys(OF_RESULT, "a") | {"endless": [*frame["side"][1:], -np.inf]}
        components(frame.assign(text="yes", **more), **(HOW | how))
    assert str(told.value).startswith("components: ") and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("designs", "says"),
    [
        ([{"judge": 3}], "'judge' is no facet; facets are template, prompt, order"),
        ([{"order": 3}], "order=3, and there are 2 levels in all"),
        *(([{"template": n}], f"template={n!r} is no number") for n in (0, 2.5, np.nan, "5", True)),
        ({"template": 5}, "designs is a list"),
    ],
)
def test_a_wrong_design_gets_one_line(frame, designs, says):
    with pytest.raises(FrameError, match=says) as told:
        predict(components(frame, **HOW), designs)
    assert str(told.value).startswith("predict: ") and "\n" not in str(told.value)


def test_models_that_are_not_told_apart_are_refused(frame):
    both = pd.concat([frame.assign(model="a"), frame.assign(model="b", side=-frame["side"])])
    table = components(both, **HOW, by="model")
    with pytest.raises(FrameError, match="an effect stands there twice; name by="):
        predict(table, [{}])
    assert predict(table, [{}], by="model")["model"].tolist() == ["a", "b"]
    with pytest.raises(FrameError, match="no column 'kind'"):
        predict(frame.assign(effect="template"), [{}])


@pytest.mark.parametrize(
    ("made_so", "status"),
    [
        (lambda one: one[one["prompt"] == 0], "one_level"),
        (lambda one: one[one["template"] == 0], "one_level"),
        (lambda one: one.assign(side=np.nan), "no_valid_answer"),
        (lambda one: one.assign(side=one["side"].where(one["prompt"] > 0)), "no_complete_level"),
        (
            lambda one: one[(one["template"] == 0) | (one["prompt"] != one["template"] % 5)],
            "no_complete_level",
        ),
    ],
)
def test_what_tells_nothing_has_a_status_and_no_value(frame, made_so, status):
    table = components(made_so(frame), **HOW)
    assert set(table["status"]) == {status}
    assert table[["value", "ci_low", "ci_high", "share", "sd"]].isna().all(axis=None)
    found = predict(table, [{}, {"template": 50}])
    assert set(found["status"]) == {status}
    assert found[["value", "se_low", "half_width"]].isna().all(axis=None)


def test_ragged_templates_are_left_out_and_counted(frame):
    gone = (frame["template"] == 1) & (frame["prompt"] == 2) & (frame["order"] == 0)
    unread = (frame["template"] == 4) & (frame["prompt"] == 0) & (frame["order"] == 1)
    ragged = frame.assign(side=frame["side"].mask(unread))[~gone]
    table = components(ragged, **HOW)
    whole = components(frame[~frame["template"].isin([1, 4])], **HOW)
    assert set(table["left_out"]) == {2} and set(table["clusters"]) == {4}
    assert set(table["n"]) == {58} and set(table["n_invalid"]) == {1}
    same = ["effect", "value", "ci_low", "ci_high", "mean_square", "df", "levels"]
    pd.testing.assert_frame_equal(table[same], whole[same])


def test_answers_of_a_cell_count_as_their_mean(frame):
    """Two questions of a template, and a third of one template alone."""
    twice = pd.concat([frame.assign(side=frame["side"] + 1), frame.assign(side=frame["side"] - 1)])
    third = frame[frame["template"] == 0]
    same = ["effect", "value", "mean_square"]
    pd.testing.assert_frame_equal(
        components(pd.concat([twice, third]), **HOW)[same], components(frame, **HOW)[same]
    )


def test_few_levels_say_nothing_of_more():
    table = components(made(np.random.default_rng(0), ORDINARY, (4, 5, 2)), **HOW)
    found = predict(table, [{}, {"template": 5}, {"template": 2}, {"prompt": 50}, {"prompt": 1}])
    assert found["status"].tolist() == ["ok", "too_few_levels", "ok", "ok", "ok"]


@pytest.mark.parametrize("side", [1.0, 0.1])
def test_a_respondent_that_never_changes_tells_nothing_of_others(side):
    """As everywhere: no interval of width 0. Three times .1 have another mean than twice, by
    rounding.
    """
    frame = crossed((6, 5, 2)).assign(side=side)
    table = components(pd.concat([frame, frame, frame[frame["template"] == 0]]), **HOW)
    assert set(table["status"]) == {"no_variation"} and set(table["value"]) == {0.0}
    assert table[["ci_low", "ci_high", "share"]].isna().all(axis=None)
    found = predict(table, [{}, {"template": 1}, {"order": 1}])
    assert set(found["status"]) == {"no_variation"}
    assert found[["value", "se_low", "se_high", "half_width"]].isna().all(axis=None)


def test_answers_that_follow_the_order_alone_are_sure_in_all_orders():
    frame = crossed((6, 5, 2))
    table = components(frame.assign(side=frame["order"]), **HOW)
    assert table.set_index("effect")["share"]["order"] == 1
    found = predict(table, [{}, {"order": 1}])
    assert found["status"].tolist() == ["ok", "ok"] and found["value"].tolist() == [0, 0.5]


def test_the_order_of_rows_changes_nothing_to_the_digit(frame):
    rng = np.random.default_rng(1)
    three = pd.concat([frame.assign(side=rng.normal(size=len(frame)) ** 3) for _ in range(3)])
    table = components(three, **HOW)
    designs = [{}, {"template": 77, "order": 1}]
    for seed in range(5):
        again = components(three.sample(frac=1, random_state=seed), **HOW)
        pd.testing.assert_frame_equal(again, table, check_exact=True)
        pd.testing.assert_frame_equal(
            predict(again, designs), predict(table, designs), check_exact=True
        )

"""Response ratios, contingency tables, missing accounting, seed trap, planted truth (DE-4, DE-8,
DE-14 to DE-19)."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from katayori.data.items import sample
from katayori.frame_checks import with_items
from katayori.metrics.agreement import alpha_by_factor, alpha_noise_floor, krippendorff_alpha
from katayori.metrics.response import (
    COUNTED,
    FACTORS,
    contingency_table,
    missing_report,
    ratios_by_factor,
    response_ratio,
    seed_effect,
    unanimous_questions,
    with_value,
)
from katayori.papers.answers import get as ask
from katayori.papers.discrim_eval import (
    AGE_HUMP,
    AGES,
    GENDER_EFFECT,
    GENDERS,
    RACE_EFFECT,
    RACES,
    item_id,
    load_study,
)
from katayori.prompting.prompts import load_prompts

NAN = np.nan
SHAPES = {"age": (15, 9), "gender": (45, 3), "race": (27, 5), "gender_race": (9, 15)}
LEVELS = {"age": list(AGES), "gender": list(GENDERS), "race": list(RACES)}
LEVELS["gender_race"] = [f"{g}-{r}" for g in GENDERS for r in RACES]


def cross(questions=1):
    rows = itertools.product(range(questions), AGES, GENDERS, RACES)
    items = pd.DataFrame(rows, columns=["decision_question_id", "age", "gender", "race"])
    items.insert(0, "item_id", [item_id(*row) for row in items.itertuples(index=False)])
    return items


def answered(items, yes, model="m", repetition=0):
    """Answers to items: True yes, False no, a word an outcome without an answer."""
    out = pd.DataFrame(
        {"item_id": items["item_id"], "model": model, "source": "recorded", "prompt_id": "p"}
    )
    out["repetition"] = repetition
    out["outcome"] = [y if isinstance(y, str) else "ok" for y in yes]
    out["answer"] = [None if isinstance(y, str) else "yes" if y else "no" for y in yes]
    return out


def coin(n, seed=0, p=0.5):
    return [bool(x) for x in np.random.default_rng(seed).random(n) < p]


@pytest.fixture(scope="module")
def full():
    items = cross(70)
    return with_value(with_items(answered(items, coin(len(items))), items))


# -- values ----------------------------------------------------------------------------------------


def test_values_are_yes_no_or_missing():
    """DE-4, DE-16: an answer counts only where the outcome is ok."""
    items = cross()
    answers = answered(items.head(4), [True, False, "refusal", "truncated"])
    answers.loc[3, "answer"] = "yes"  # what a cut-off answer seems to say is not one
    found = with_value(with_items(answers, items))
    assert found["value"].tolist()[:2] == [1, 0] and found["value"][2:].isna().all()
    assert list(found["age"]) == [20] * 4 and list(found["race"]) == list(RACES[:4])


def test_probabilities_are_relative_to_both_words():
    """DE-4, our addition: P(yes) / (P(yes) + P(no)); nothing where neither word was likely enough
    to be listed."""
    items = cross()
    answers = answered(items.head(3), [True, "out_of_choice", False]).assign(
        p_yes=[0.3, 0, 0.1], p_no=[0.1, 0, 0.3]
    )
    assert with_value(with_items(answers, items), "probability")["value"].tolist() == pytest.approx(
        [0.75, NAN, 0.25], nan_ok=True
    )


def test_what_cannot_be_valued_is_named():
    items = cross()
    answers = answered(items.head(2), [True, False])
    with pytest.raises(ValueError, match="sampled, probability"):
        with_value(with_items(answers, items), "logit")
    with pytest.raises(ValueError, match="no probabilities"):
        with_value(with_items(answers, items), "probability")
    with pytest.raises(ValueError, match=r"1 answers belong to no item, e\.g\. elsewhere"):
        with_value(
            with_items(answers.replace({"item_id": {items["item_id"][0]: "elsewhere"}}), items)
        )
    with pytest.raises(ValueError, match="unique"):  # a doubled item would double its answers
        with_value(with_items(answers, pd.concat([items, items.head(1)])))


# -- response ratio (DE-4) -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("yes", "n"), [(0, 1), (1, 1), (1, 2), (0, 15), (7, 15), (15, 15), (3, 135), (9449, 9450)]
)
def test_the_interval_of_a_share_is_wilsons(yes, n):
    """E. B. Wilson 1927, against scipy; the ends are exact."""
    values = pd.DataFrame({"model": "m", "value": [1.0] * yes + [0.0] * (n - yes)})
    found, known = (
        response_ratio(values, ["model"]).iloc[0],
        binomtest(yes, n).proportion_ci(method="wilson"),
    )
    assert found[["ci_low", "ci_high"]].tolist() == pytest.approx(
        [known.low, known.high], abs=1e-12
    )
    assert (found["ci_low"] == 0) == (yes == 0) and (found["ci_high"] == 1) == (yes == n)


def test_ratio_counts_and_status():
    """DE-4, DE-16: valid and invalid are counted apart; a group without a valid answer keeps its
    row and says so."""
    items = cross(2)
    yes = [*coin(135, 1), *["refusal"] * 135]
    yes[:5] = ["error", "out_of_choice", True, True, False]
    found = response_ratio(
        with_value(with_items(answered(items, yes), items)), ["decision_question_id"]
    )
    assert list(found) == [
        "decision_question_id",
        "n",
        "n_invalid",
        "ratio",
        "ci_low",
        "ci_high",
        "status",
    ]
    assert found["n"].tolist() == [133, 0] and found["n_invalid"].tolist() == [2, 135]
    assert found["status"].tolist() == ["ok", "no_valid_answer"]
    share = sum(y is True for y in yes) / 133
    assert found.loc[0, "ratio"] == pytest.approx(share)
    assert tuple(found.loc[0, ["ci_low", "ci_high"]]) == pytest.approx(
        proportion_confint(share * 133, 133, method="wilson")
    )
    assert found.loc[1, ["ratio", "ci_low", "ci_high"]].isna().all()


def test_probability_ratios_have_a_normal_interval():
    items = cross()
    values = with_value(with_items(answered(items, coin(135)), items)).assign(
        value=np.random.default_rng(0).random(135)
    )
    found = response_ratio(values, ["model"]).iloc[0]
    half = 1.959964 * values["value"].std() / 135**0.5
    assert (found["ratio"], found["ci_high"] - found["ratio"]) == pytest.approx(
        (values["value"].mean(), half)
    )
    lone = response_ratio(values.head(1), ["model"]).iloc[0]
    assert lone["ratio"] == values["value"][0] and np.isnan(lone["ci_low"])


def test_ratios_by_factor_name_every_group_once(full):
    """DE-4, DE-17: 9 + 3 + 5 + 15 groups, each answer once a factor."""
    found = ratios_by_factor(full)
    assert {f: g["level"].tolist() for f, g in found.groupby("factor", sort=False)} == LEVELS
    assert (found.groupby("factor")["n"].sum() == 9450).all()
    black = full[(full["race"] == "Black") & (full["gender"] == "female")]["value"].mean()
    assert found.set_index(["factor", "level"]).loc[
        ("gender_race", "female-Black"), "ratio"
    ] == pytest.approx(black)


# -- contingency tables (DE-17 to DE-19) -----------------------------------------------------------


@pytest.mark.parametrize("factor", FACTORS)
def test_shapes_and_level_order(full, factor):
    """DE-18, DE-19: the whole data stacks 70 questions; one question has its rows only."""
    rows, columns = SHAPES[factor]
    whole, one = contingency_table(full, factor), contingency_table(full, factor, 69)
    assert whole.shape == (70 * rows, columns) and one.shape == (rows, columns)
    assert list(whole.columns) == list(one.columns) == LEVELS[factor]
    assert np.array_equal(whole.xs(69).to_numpy(), one.xs(69).to_numpy())
    assert whole.to_numpy().sum() == full["value"].sum() and set(np.unique(whole)) == {0, 1}
    assert whole.index.names[0] == "decision_question_id" and not whole.index.duplicated().any()


@pytest.mark.parametrize("factor", FACTORS)
def test_each_cell_is_its_own_answer(full, factor):
    """DE-18: a cell holds the answer of that question, age, gender and race, whatever order the
    answers come in."""
    shuffled = contingency_table(full.sample(frac=1, random_state=1), factor)
    table = contingency_table(full, factor)
    again = shuffled.reindex(index=table.index, columns=table.columns)
    pd.testing.assert_frame_equal(again, table, check_names=False)
    one = full.sample(1, random_state=3).iloc[0]
    level = f"{one['gender']}-{one['race']}" if factor == "gender_race" else one[factor]
    row = tuple(one[name] for name in table.index.names)
    assert table.loc[row, level] == one["value"]


def test_missing_cells_stay_missing():
    """DE-16: no imputation, no vanished rows; the count is what alpha reports."""
    items = cross(3)
    yes = coin(len(items))
    yes[10] = yes[300] = "refusal"
    yes[135:150] = [
        "out_of_choice"
    ] * 15  # age 20 of the second question: two rows and more without any answer
    for factor, (rows, columns) in SHAPES.items():
        table = contingency_table(with_value(with_items(answered(items, yes), items)), factor)
        assert table.shape == (3 * rows, columns) and table.isna().to_numpy().sum() == 17
        found = krippendorff_alpha(table)
        assert found["n_invalid"] == 17 and found["n"] <= 3 * 135 - 17
    assert found["n_units"] == 26  # gender x race: one of the 27 rows is lost


def test_a_level_without_any_answer_leaves_the_whole_table():
    """Status table: a level all missing is dropped, so that it cannot count as a group."""
    items = cross(2)
    yes = [
        ("refusal" if race == "Asian" else y)
        for race, y in zip(items["race"], coin(270), strict=True)
    ]
    values = with_value(with_items(answered(items, yes), items))
    table = contingency_table(values, "race")
    assert list(table.columns) == list(RACES[:-1]) and table.attrs["dropped_levels"] == ["Asian"]
    assert contingency_table(values, "gender_race").shape == (18, 12)


def test_repetitions_are_averaged_over_the_valid_ones():
    """DE-18: a cell is the mean response ratio of its answers."""
    items = cross()
    given = [[True] * 135, [False] * 135, [True, *["error"] * 134], ["refusal"] * 135]
    answers = pd.concat([answered(items, yes, repetition=k) for k, yes in enumerate(given)])
    table = contingency_table(with_value(with_items(answers, items)), "age")
    assert table.iloc[0, 0] == pytest.approx(2 / 3)
    assert (np.delete(table.to_numpy().ravel(), 0) == 0.5).all()


def test_one_model_and_a_known_factor():
    items = cross()
    values = with_value(with_items(pd.concat([answered(items, coin(135), m) for m in "ab"]), items))
    with pytest.raises(ValueError, match="one model at a time, got a, b"):
        contingency_table(values, "age")
    with pytest.raises(ValueError, match="age, gender, race, gender_race"):
        contingency_table(values[values["model"] == "a"], "religion")


def test_a_factor_with_one_level_is_undefined_not_an_error():
    items = cross(2)
    items = items[items["gender"] == "female"]
    found = alpha_by_factor(with_value(with_items(answered(items, coin(90)), items))).set_index(
        "factor"
    )
    assert found.loc["gender", "status"] == "no_pairable" and np.isnan(found.loc["gender", "alpha"])
    # Two questions: an alpha, and no interval.
    assert (found.drop("gender")["status"] == "few_clusters").all()
    assert found.drop("gender")["alpha"].notna().all()


# -- missing accounting (DE-14, DE-15) -------------------------------------------------------------


@pytest.mark.parametrize(("invalid", "enough"), [(0, True), (2, True), (3, False), (200, False)])
def test_the_missing_report_adds_up(invalid, enough):
    """DE-15: outcomes add up to the prompts; 99 % of 200 are 198."""
    items = cross(2).head(200)
    yes = [*itertools.islice(itertools.cycle(COUNTED), invalid), *coin(200 - invalid)]
    row = missing_report(answered(items, yes)).iloc[0]
    assert (
        row["prompts"] == 200 == row["valid"] + row[COUNTED].sum() and row["n_invalid"] == invalid
    )
    assert row["valid_share"] == 1 - invalid / 200 and row["at_least_99pct"] == enough
    assert row["truncated"] == yes.count("truncated") and row["text_after"] == 0


def test_the_missing_report_keeps_models_apart():
    """DE-13 to DE-15: one row a model, in their order; tolerated text after the answer is counted,
    not excluded."""
    items = cross()
    answers = pd.concat(
        [
            answered(items, ["refusal"] * 135, "z").assign(note=""),
            answered(items, coin(135), "a").assign(note=["text after the answer", *[""] * 134]),
        ]
    )
    found = missing_report(answers)
    assert found["model"].tolist() == ["z", "a"] and found["valid"].tolist() == [0, 135]
    assert found["text_after"].tolist() == [0, 1] and found["at_least_99pct"].tolist() == [
        False,
        True,
    ]
    assert missing_report(answers, ["source"])["prompts"].tolist() == [270]


# -- the seed trap (DE-8) --------------------------------------------------------------------------


def _seeded(n):
    items = cross(-(-n // 135)).head(n)
    rng = np.random.default_rng(2)
    p = rng.uniform(0.05, 0.95, n)
    probability = items.assign(value=p)
    own, constant = (items.assign(value=(draw < p).astype(float)) for draw in (rng.random(n), 0.6))
    return own, constant, probability


def test_a_constant_seed_makes_a_step():
    """DE-8: the same draw for every prompt jumps from no to yes at one P(yes); own seeds follow
    it."""
    found = seed_effect(*_seeded(500))
    assert found["n"].tolist() == [100] * 5 and found["bin"].tolist() == [1, 2, 3, 4, 5]
    assert found["share_yes_own_seed"].to_numpy() == pytest.approx(
        found["mean_p_yes"].to_numpy(), abs=0.15
    )
    step = found["share_yes_seed_1"].tolist()
    assert step[:2] == [0, 0] and step[2] < 0.05 and step[3] > 0.9 and step[4] == 1


def test_the_seed_effect_uses_common_valid_items():
    own, constant, probability = _seeded(135)
    constant = constant.tail(60)
    own.loc[own.index[-10:], "value"] = NAN
    assert seed_effect(own, constant, probability)["n"].sum() == 50


@pytest.mark.parametrize("n", [0, 1, 3])
def test_the_seed_effect_of_hardly_any_items(n):
    """A small run must not crash: fewer bins, or none."""
    assert seed_effect(*_seeded(n))["n"].sum() == n


# -- planted truth (X-3, DE-32) --------------------------------------------------------------------

PLANTED = {"sim-race-opposite": "race", "sim-age-hump": "age", "sim-gender": "gender"}
EFFECTS = {"race": RACE_EFFECT, "age": AGE_HUMP, "gender": GENDER_EFFECT}


@pytest.fixture(scope="module")
def planted():
    """Fair and biased respondents on ten whole questions, sampled and by probability, all through
    `ask`."""
    items, wording = (
        sample(load_study(), 1350, whole="decision_question_id"),
        load_prompts("discrim_eval"),
    )
    models, places = ["sim-fair", *PLANTED], {"question": "filled_template"}
    sampled = with_value(
        with_items(ask(items, wording["de_answer_line"], models, places=places), items)
    )
    forced = with_value(
        with_items(ask(items, wording["de_answer_prefix"], models, places=places), items),
        "probability",
    )
    return sampled, forced


@pytest.mark.parametrize(("model", "factor"), PLANTED.items())
def test_planted_effects_come_back_exactly_from_probabilities(planted, model, factor):
    """X-3: in log-odds, the distance of every group from the fair respondent is the planted
    effect."""
    _, forced = planted
    odds = forced.assign(value=logit(forced["value"])).set_index(["model", "item_id"])["value"]
    effect = (odds[model] - odds["sim-fair"]).groupby(
        forced.drop_duplicates("item_id").set_index("item_id")[factor]
    )
    assert (
        effect.mean().to_dict() == pytest.approx(EFFECTS[factor], abs=1e-9)
        and effect.std().max() < 1e-9
    )


def test_alpha_of_probabilities_finds_the_planted_factor_only(planted):
    """DE-32: no answer noise, so alpha is 1 for a factor without effect, less for the planted one
    and what holds it."""
    _, forced = planted
    found = alpha_by_factor(forced).set_index(["model", "factor"])["alpha"]
    assert found["sim-fair"].to_numpy() == pytest.approx([1] * 4)
    for model, factor in PLANTED.items():
        touched = {f for f, attributes in FACTORS.items() if factor in attributes}
        assert {f for f in FACTORS if found[model, f] < 0.95} == touched


def test_opposite_race_effects_hide_from_an_average_not_from_alpha(planted):
    """DE-32: the mean of the effects is zero, the overall ratio is the fair one's; alpha falls
    below its floor."""
    sampled, _ = planted
    ratio = response_ratio(sampled, ["model"]).set_index("model")["ratio"]
    assert ratio["sim-race-opposite"] == pytest.approx(ratio["sim-fair"], abs=0.05)
    table = contingency_table(sampled[sampled["model"] == "sim-race-opposite"], "race")
    assert krippendorff_alpha(table)["alpha"] < alpha_noise_floor(table) - 0.02


def test_a_hump_hides_from_a_line_not_from_alpha(planted):
    """DE-32: no slope over age; alpha falls below its floor."""
    sampled, _ = planted
    mine = sampled[sampled["model"] == "sim-age-hump"]
    assert abs(np.corrcoef(mine["age"], mine["value"])[0, 1]) < 0.06
    table = contingency_table(mine, "age")
    assert krippendorff_alpha(table)["alpha"] < alpha_noise_floor(table) - 0.01


def test_questions_that_all_models_answer_alike():
    """DE-34: always yes and always no over all models; a question some model never answers counts
    as neither."""
    told = {
        ("a", 1): "11",
        ("b", 1): "1-",
        ("a", 2): "00",
        ("b", 2): "00",
        ("a", 3): "11",
        ("b", 3): "10",
    }
    told |= {("a", 4): "--", ("b", 4): "11"}
    rows = [
        (m, "s", q, {"1": 1.0, "0": 0.0, "-": np.nan}[v]) for (m, q), vs in told.items() for v in vs
    ]
    frame = pd.DataFrame(rows, columns=["model", "source", "decision_question_id", "value"])
    found = unanimous_questions(frame).iloc[0].to_dict()
    assert found == {
        "n_models": 2,
        "n_questions": 4,
        "always_yes": 1,
        "always_no": 1,
        "no_valid_answer": 1,
        "fewest_answers": 0,
    }


def test_ratios_by_factor_within_questions(full):
    """DE-33, Figs 4 and 5: with `by`, the ratios of each question by itself."""
    part = full[full["decision_question_id"].isin(full["decision_question_id"].unique()[:2])]
    found = ratios_by_factor(part, by=["decision_question_id"])
    columns = ["model", "source", "decision_question_id", "factor", "level"]
    assert list(found)[:5] == columns and not found.duplicated(columns).any()
    for question, one in part.groupby("decision_question_id"):
        alone = ratios_by_factor(one)["ratio"].tolist()
        assert found.loc[found["decision_question_id"] == question, "ratio"].tolist() == alone

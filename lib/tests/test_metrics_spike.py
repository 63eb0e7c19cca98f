"""Spike: the level holds on nulled values, planted shifts come back, limits are those of theory."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import ncf, t

from katayori.errors import KatayoriError
from katayori.metrics import paired_contrasts, position_free, spike, spike_statistics as statistics
from katayori.metrics.exchange_tests import exchange_test
from katayori.metrics.spike import Choices, Found, Leans, Plan, Statistic, YesNo

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

LEVELS, AGES = 3, 5


def yes_no(seed=0, *, questions=24, gender=0.0, spread=0.3):
    """Recorded-like P(yes): questions x ages x genders, `gender` on one level, noise of wording."""
    rng = np.random.default_rng(seed)
    cells = itertools.product(range(questions), range(AGES), range(LEVELS))
    frame = pd.DataFrame(list(cells), columns=["question", "row", "level"])
    own = rng.normal(0, 1, questions)[frame["question"]]
    odds = own + gender * (frame["level"] == 0) + rng.normal(0, spread, len(frame))
    return frame.assign(
        p=expit(odds),
        exposure=(frame["level"] == 0).astype(float),
        second_exposure=frame["row"] / (AGES - 1) - 0.5,
    )


def leans(seed=0, *, templates=40, lean=0.0, spread=0.5):
    """Recorded-like leans in nats, one pair a template in both orders of mention."""
    rng = np.random.default_rng(seed)
    own = lean + rng.normal(0, spread, templates)
    liked = rng.normal(0, 1, templates)
    rows = []
    for template, polarity, mention in itertools.product(
        range(templates), paired_contrasts.POLARITIES, paired_contrasts.MENTIONS
    ):
        sign = 1.0 if polarity == "negative" else -1.0
        row = {"template_id": f"t{template}", "polarity": polarity, "mention": mention}
        row["value"] = liked[template] + sign * own[template] + rng.normal(0, 0.2)
        row |= {"exposure": sign, "weight": sign / 4}
        row["second_exposure"] = 1.0 if mention == "target_first" else -1.0
        rows.append(row)
    return pd.DataFrame(rows)


ROLES = ("down", "up", "unknown")


def choices(seed=0, *, templates=30, lean=0.0, slot=(0.0, 1.5, 0.0)):
    """Recorded-like letters: places are liked, a role is preferred, templates differ."""
    rng = np.random.default_rng(seed)
    rows = []
    for template in range(templates):
        own = lean + rng.normal(0, 0.3)
        for number, order in enumerate(itertools.permutations(ROLES)):
            side = np.array([0.5 * (role == "up") - 0.5 * (role == "down") for role in order])
            weight = np.exp(np.array(slot) + own * side + rng.normal(0, 0.3, 3))
            p = weight / weight.sum()
            row = {"model": "m", "prompt_id": "p", "template_id": f"t{template}"}
            row |= {"base_id": f"b{template}", "order": number, "answer": str(p.argmax())}
            row |= {f"p_{place}": p[place] for place in range(3)}
            row |= {f"role_{place}": order[place] for place in range(3)}
            rows.append(row | {"second_0": 0.0, "second_1": 1.0, "second_2": 0.0})
    return pd.DataFrame(rows)


NATS = statistics.clustered_mean("nats")


# -- nulls and draws -------------------------------------------------------------------------------


def test_limits_of_chance_are_those_of_the_design():
    assert [spike.most_by_chance(n) for n in (70, 280, 400, 1000)] == [8, 23, 31, 67]


def test_values_are_exchanged_inside_rows_only():
    frame = yes_no(questions=5)
    frame = frame.drop(index=[3]).sample(frac=1, random_state=1)  # ragged, in any order
    nulled = YesNo(frame).nulled(np.random.default_rng(0))
    before = frame.assign(value=logit(frame["p"])).groupby(["question", "row"])["value"]
    after = nulled.groupby(["question", "row"])["log_odds"]
    assert (before.apply(lambda one: sorted(one.round(9))).to_list()) == (
        after.apply(lambda one: sorted(one.round(9))).to_list()
    )
    assert (logit(frame["p"]) - nulled["log_odds"]).abs().max() > 0.1
    assert nulled["level"].tolist() == frame["level"].tolist()


def test_a_shift_moves_what_is_exposed_by_as_many_log_odds():
    recorded = YesNo(yes_no())
    nulled = recorded.nulled(np.random.default_rng(0))
    planted = recorded.planted(nulled, np.full(len(nulled), 0.7), 0.0)
    moved = logit(planted["value"]) - nulled["log_odds"]
    assert np.allclose(moved, 0.7 * nulled["exposure"])
    both = recorded.planted(nulled, np.zeros(len(nulled)), 2.0)
    assert np.allclose(logit(both["value"]) - nulled["log_odds"], 2 * nulled["second_exposure"])
    certain = YesNo(yes_no().assign(p=1.0))
    kept = certain.planted(certain.nulled(np.random.default_rng(0)), np.ones(len(nulled)), 0.0)
    assert (kept["value"] == 1).all()


def test_drawn_answers_have_the_shifted_probability():
    recorded = YesNo(yes_no(questions=200))
    rng = np.random.default_rng(1)
    planted = recorded.planted(recorded.nulled(rng), np.full(3000, 0.5), 0.0)
    drawn = recorded.answered(planted, rng)
    assert set(drawn["value"]) == {0.0, 1.0}
    assert drawn["value"].mean() == pytest.approx(planted["value"].mean(), abs=0.03)
    assert YesNo(yes_no(), sampled=False).answered(planted, rng) is planted


def test_copies_of_clusters_are_whole_also_where_clusters_differ_in_size():
    cluster = np.array([0, 2, 1, 2, 2, 1])
    rng = np.random.default_rng(0)
    seen = np.zeros(3)
    for _ in range(300):
        place, copy = spike._copies(cluster, rng)
        for number in range(3):
            rows = place[copy == number]
            one = cluster[rows[0]]
            assert sorted(rows) == np.flatnonzero(cluster == one).tolist()
            seen[one] += 1
    assert seen == pytest.approx([300, 300, 300], abs=60)


def test_roles_are_exchanged_by_cluster_and_places_stay():
    frame = choices()
    nulled = Choices(frame, "up", "down", sampled=True).nulled(np.random.default_rng(0))
    assert (nulled[["p_0", "p_1", "p_2"]] == frame[["p_0", "p_1", "p_2"]]).all(axis=None)
    changed = (nulled["role_0"] != frame["role_0"]) & (frame["role_0"] != "unknown")
    # A cluster is exchanged whole or not at all: each has two orders with every role in front.
    by_template = changed.groupby(frame["template_id"]).sum()
    assert set(by_template) == {0, 4}
    assert (nulled["role_0"] == "unknown").sum() == (frame["role_0"] == "unknown").sum()


def test_choices_move_the_odds_of_the_two_roles_and_no_other():
    recorded = Choices(choices(), "up", "down", sampled=True)
    nulled = recorded.nulled(np.random.default_rng(0))
    planted = recorded.planted(nulled, np.full(len(nulled), 0.8), 0.0)

    def odds(frame, one, other):
        roles, p = recorded._columns(frame, "role"), recorded._columns(frame, "p")
        return np.log(p[roles == one]) - np.log(p[roles == other])

    def moved(one, other):
        return odds(planted, one, other) - odds(nulled, one, other)

    assert np.allclose(moved("up", "down"), 0.8)
    assert np.allclose(moved("up", "unknown"), 0.4)
    second = recorded.planted(nulled, np.zeros(len(nulled)), 9.0)
    assert (second["answer"] == "1").mean() > 0.99
    drawn = recorded.answered(planted, np.random.default_rng(0))
    share = (drawn["answer"] == "1").mean()
    assert share == pytest.approx(planted["p_1"].mean(), abs=0.08)
    assert set(drawn["answer"]) == {"0", "1", "2"}


def test_letters_that_were_not_told_stay_untold():
    frame = choices()
    frame.loc[0, "answer"] = None
    frame.loc[1, "p_2"] = np.nan
    recorded = Choices(frame, "up", "down", sampled=True)
    rng = np.random.default_rng(0)
    planted = recorded.planted(recorded.nulled(rng), np.ones(len(frame)), 0.0)
    for one in (planted, recorded.answered(planted, rng)):
        assert one["answer"].isna().tolist() == frame["answer"].isna().tolist()
    assert planted.loc[1, "answer"] in ("0", "1")


# -- level, recovery, coverage ---------------------------------------------------------------------


@pytest.mark.parametrize("second", [0.0, 2.0])
@pytest.mark.parametrize("test", statistics.TESTS)
def test_exchange_tests_keep_their_level_and_find_the_shift(test, second):
    """With an effect of the model's own, and a second attribute beside it."""
    frame = yes_no(gender=0.8)
    statistic = statistics.exchange_statistic(frame, "level", test, exchanges=99)
    plan = Plan(test, [0.0, 0.5, 1.0, 2.0], second=second, draws=400)
    table = spike.spike_table(YesNo(frame), statistic, plan)
    assert table["n_reject"][0] <= 31
    assert table["n_reject"][0] >= 5  # a test that hardly ever rejects shows no level either
    assert (table["power"].diff().dropna() > 0).all() and table["power"].iloc[-1] > 0.85
    assert table["mean_estimate"].to_numpy() == pytest.approx(table["expected"], abs=0.01)
    assert table["coverage"].between(0.92, 0.985).all()
    assert table["expected"].iloc[2] == pytest.approx(0.2, abs=0.06)


def test_the_level_holds_for_probabilities_that_are_not_sampled():
    frame = yes_no(gender=0.8)
    statistic = statistics.exchange_statistic(frame, "level", exchanges=99)
    plan = Plan("P(yes)", [0.0, 0.1, 0.5], draws=400, seed=1)
    table = spike.spike_table(YesNo(frame, sampled=False), statistic, plan)
    assert 5 <= table["n_reject"][0] <= 31 and table["power"].iloc[-1] > 0.9


@pytest.mark.parametrize("second", [0.0, 1.0])
@pytest.mark.parametrize("effect", spike.EFFECTS)
def test_leans_keep_their_level_and_give_back_the_shift(effect, second):
    recorded = Leans(leans(lean=0.3))
    plan = Plan("leans", [0.0, 0.2, 0.4], effect=effect, second=second)
    table = spike.spike_table(recorded, NATS, plan)
    assert 5 <= table["n_reject"][0] <= 31
    assert table["expected"].to_numpy() == pytest.approx([0.0, 0.2, 0.4], abs=0.01)
    assert table["mean_estimate"].to_numpy() == pytest.approx(table["expected"], abs=0.02)
    assert table["coverage"].between(0.92, 0.985).all()
    assert table["mc_error"].to_numpy() == pytest.approx(
        np.sqrt(table["power"] * (1 - table["power"]) / 400)
    )


def test_the_limit_hardly_depends_on_the_models_own_lean():
    """calibration.md: without the null, limits were .58, .33 and .04 for leans of -.3, 0 and .3."""
    found = []
    for lean in (-0.3, 0.0, 0.3):
        plan = Plan("leans", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5], draws=300)
        recorded = Leans(leans(templates=30, lean=lean, spread=0.6))
        found.append(spike.limit_of_detection(spike.spike_table(recorded, NATS, plan))["value"])
    assert max(found) / min(found) < 1.3, found


class OneSignATemplate(Leans):
    """The wrong null: the sign is drawn once a template, and its copies go together."""

    def nulled(self, rng):
        signs = pd.Series(rng.choice([-1.0, 1.0], self.frame[self.cluster].nunique()))
        codes = pd.factorize(self.frame[self.cluster])[0]
        value = self.frame["value"] * signs.to_numpy()[codes]
        place, copy = spike._copies(codes, rng)
        drawn = self.frame.assign(value=value).iloc[place].reset_index(drop=True)
        return drawn.assign(cluster=copy)


def test_a_sign_that_copies_share_breaks_the_level_and_no_limit_is_given():
    table = spike.spike_table(OneSignATemplate(leans()), NATS, Plan("wrong", [0.0, 2.0]))
    assert table["n_reject"][0] > 45
    limit = spike.limit_of_detection(table)
    assert limit["status"] == "level_broken" and np.isnan(limit["value"])
    assert "at most 31 may" in limit["reason"]


@pytest.mark.parametrize(
    ("reading", "soft", "sampled", "second"),
    [
        ("letter", False, False, 0.0),
        ("letter", False, False, -0.5),
        ("letter", False, True, 0.0),
        ("letter", False, True, 1.0),
        ("probability", True, False, 1.0),
        ("calibrated", True, False, 1.0),
        ("calibrated", False, False, 1.0),
    ],
)
def test_readings_of_letters_keep_their_level(reading, soft, sampled, second):
    """A lean of the model's own and a liking for a place are there; the null removes the lean."""
    recorded = Choices(choices(lean=0.8), "up", "down", sampled=sampled)
    statistic = statistics.choice_difference(reading, "up", "down", soft=soft)
    plan = Plan(reading, [0.0, 1.5], second=second, seed=1)
    table = spike.spike_table(recorded, statistic, plan)
    assert 5 <= table["n_reject"][0] <= 31 and table["power"].iloc[-1] > 0.9
    assert table["mean_estimate"].to_numpy() == pytest.approx(table["expected"], abs=1.5)
    assert 0.92 < table["coverage"][0] < 0.985


def test_a_place_that_takes_every_letter_hides_the_shift_from_letters_only():
    """The reason why letters are read beside the calibrated values."""
    recorded = Choices(choices(), "up", "down")
    power = {}
    for reading in ("letter", "calibrated"):
        statistic = statistics.choice_difference(reading, "up", "down")
        plan = Plan(reading, [0.0, 0.75], second=3.0, draws=40)
        table = spike.spike_table(recorded, statistic, plan)
        power[reading] = table["power"].iloc[-1]
        limit = spike.limit_of_detection(table)
        assert limit["status"] == ("undefined" if reading == "letter" else "ok"), limit
    assert power["letter"] == 0 and power["calibrated"] > 0.8


def test_power_of_permuted_orders():
    recorded = Choices(choices(templates=12), "up", "down")
    statistic = statistics.choice_difference("permuted", "up", "down", soft=True)
    table = spike.spike_table(recorded, statistic, Plan("permuted", [0.0, 1.5], draws=40))
    assert table["n_reject"][0] <= 6 and table["power"].iloc[-1] == 1.0


# -- limit of detection ----------------------------------------------------------------------------


def limit_by_theory(frame, effect):
    """The shift at which a t-test over templates has power .80, from the spread of the values."""
    by_template = (frame["value"] * frame["weight"]).groupby(frame["template_id"]).sum()
    n = len(by_template)
    variance = float((by_template**2).mean())  # signs by chance: centred at 0

    def lacking(shift):
        spread = variance + (shift * spike.VARYING_SD) ** 2 * (effect == "varying")
        border = t.ppf(0.975, n - 1) ** 2
        return float(ncf.sf(border, 1, n - 1, n * shift**2 / spread)) - 0.8

    return brentq(lacking, 0.001, 1)


@pytest.mark.parametrize("effect", spike.EFFECTS)
def test_the_limit_is_that_of_theory(effect):
    frame = leans(templates=25)
    theory = limit_by_theory(frame, effect)
    shifts = [0, *np.linspace(0.5, 1.6, 8) * theory]
    table = spike.spike_table(Leans(frame), NATS, Plan("leans", shifts, effect=effect, draws=800))
    limit = spike.limit_of_detection(table)
    assert limit["status"] == "ok" and limit["unit"] == "nats"
    # 800 draws tell the power at a point within .014, which is about 4 % of the shift.
    assert limit["value"] == pytest.approx(theory, rel=0.1)


def test_what_is_not_found_at_the_largest_shift_is_never_reached():
    table = spike.spike_table(Leans(leans()), NATS, Plan("leans", [0.0, 0.05, 0.1], draws=100))
    limit = spike.limit_of_detection(table)
    assert limit["status"] == "never_reached" and np.isnan(limit["value"])
    assert "at the largest shift, 0.1" in limit["reason"]


def made(power, *, draws=400, undefined=0, shifts=(0.0, 0.1, 0.2, 0.3), seed=0):
    """A spike table by hand, whose statistic moves by 10 times the shift."""
    rejected = np.round(np.array(power) * draws).astype(int)
    frame = pd.DataFrame({"shift": shifts, "n_reject": rejected})
    return frame.assign(
        method="m",
        effect="constant",
        second=0.0,
        n_draws=draws,
        n_undefined=undefined,
        mean_estimate=10 * frame["shift"],
        expected=10 * frame["shift"],
        n_interval=draws,
        coverage=0.95,
        power=power,
        mc_error=0.0,
        unit="points",
        seed=seed,
        code="",
    )


def test_the_limit_lies_between_two_shifts_and_is_told_in_the_headlines_unit():
    limit = spike.limit_of_detection(made([0.05, 0.6, 1.0, 1.0]))
    assert limit["shift"] == pytest.approx(0.15) and limit["value"] == pytest.approx(1.5)
    assert (limit["status"], limit["reason"], limit["allowed"]) == ("ok", "", 31)


def test_power_that_falls_again_is_smoothed_before_it_is_read():
    # .85 and .75 become .80 each: the limit is where the fit first has it.
    assert spike.limit_of_detection(made([0.05, 0.85, 0.75, 1.0]))["shift"] == pytest.approx(0.1)
    # .85 and .65 become .75 each: power does not stay at .80 from there on.
    limit = spike.limit_of_detection(made([0.05, 0.85, 0.65, 1.0]))
    assert limit["shift"] == pytest.approx(0.2 + 0.1 * 0.05 / 0.25)


def test_seeds_are_taken_together_before_the_level_is_judged():
    one = made([0.02, 0.6, 1.0, 1.0], draws=100, seed=0)
    other = made([0.1, 0.6, 1.0, 1.0], draws=100, seed=1)
    limit = spike.limit_of_detection(pd.concat([one, other]))
    assert (limit["n_reject_null"], limit["allowed"], limit["status"]) == (12, 18, "ok")
    pooled = spike.pooled(pd.concat([one, other]))
    assert pooled["power"].tolist() == pytest.approx([0.06, 0.6, 1.0, 1.0])
    broken = spike.limit_of_detection(made([0.08, 0.6, 1.0, 1.0]))
    assert broken["status"] == "level_broken"


def test_tests_that_cannot_be_made_are_told():
    nothing = made([0.0, 0.0, 0.0, 0.0]).assign(n_undefined=400)
    assert spike.limit_of_detection(nothing)["status"] == "undefined"
    # Without a test where nothing is there the level is not known, whatever is found further out.
    from_some_on = made([0.0, 0.0, 0.9, 1.0]).assign(n_undefined=[400, 0, 0, 0])
    untold = spike.limit_of_detection(from_some_on)
    assert untold["status"] == "undefined" and np.isnan(untold["value"])
    assert untold["reason"].startswith("no test could be made in 400 of 400 draws")
    rarely = made([0.0, 0.0, 0.9, 1.0]).assign(n_undefined=[17, 0, 0, 0])
    assert spike.limit_of_detection(rarely)["status"] == "ok"
    early = made([0.05, 0.9, 0.9, 0.0]).assign(n_undefined=[0, 0, 0, 400])
    limit = spike.limit_of_detection(early)
    assert limit["status"] == "never_reached"
    assert limit["reason"].endswith("where 400 of 400 tests could not be made")


def test_an_effect_so_large_that_all_answers_are_alike_is_not_unseen():
    ceiling = made([0.05, 0.55, 1.0, 0.0]).assign(n_undefined=[0, 0, 0, 400])
    limit = spike.limit_of_detection(ceiling)
    cut = spike.limit_of_detection(ceiling.iloc[:3])
    assert limit["status"] == cut["status"] == "ok" and limit["value"] == cut["value"]
    assert limit["reason"].startswith("from a shift of 0.3 on all clusters answer alike")
    # Power that falls where tests can be made counts.
    falls = spike.limit_of_detection(made([0.05, 1.0, 1.0, 0.0]))
    assert falls["status"] == "never_reached"


def test_limits_of_several_cells_stand_in_one_table():
    table = pd.concat([made([0.05, 0.6, 1.0, 1.0]), made([0.05, 0.1, 0.2, 0.3]).assign(second=1.0)])
    limits = spike.limits_of_detection(table)
    assert limits[["second", "status"]].to_numpy().tolist() == [[0.0, "ok"], [1.0, "never_reached"]]
    with pytest.raises(KatayoriError, match="several methods"):
        spike.limit_of_detection(table)
    with pytest.raises(KatayoriError, match="no draws at shift 0"):
        spike.limit_of_detection(table[(table["shift"] > 0) & (table["second"] == 0)])


# -- any function can be spiked --------------------------------------------------------------------


def test_a_function_of_ones_own_is_called_with_the_drawn_answers():
    """A difference of shares by a plain t over questions, and one that takes answers as alone."""
    frame = yes_no(gender=1.0, spread=0.0)

    def found(drawn, _):
        means = drawn.pivot_table(index="question", columns="exposure", values="value")
        difference = (means[1.0] - means[0.0]).to_numpy()
        border = t.ppf(0.975, len(difference) - 1)
        far = abs(difference.mean()) > border * difference.std(ddof=1) / np.sqrt(len(difference))
        return Found(float(difference.mean()), float(far))

    def expected(planted):
        means = planted.groupby("exposure")["value"].mean()
        return float(means[1.0] - means[0.0])

    own = Statistic(found, expected, "difference in P(yes)")
    table = spike.spike_table(YesNo(frame), own, Plan("own", [0.0, 1.5], draws=100))
    assert table["n_reject"][0] <= spike.most_by_chance(100) and table["power"].iloc[-1] > 0.9
    assert table["n_interval"].tolist() == [0, 0] and table["coverage"].isna().all()
    same = statistics.exchange_statistic(frame, "level")
    planted = YesNo(frame).planted(YesNo(frame).nulled(np.random.default_rng(0)), np.ones(360), 0)
    assert same.expected(planted) == pytest.approx(expected(planted))


def test_the_same_seed_gives_the_same_table_and_another_does_not():
    recorded = Leans(leans())
    tables = [
        spike.spike_table(recorded, NATS, Plan("leans", [0.0, 0.2], draws=30, seed=seed))
        for seed in (3, 3, 4)
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert tables[0]["mean_estimate"][0] != tables[2]["mean_estimate"][0]
    assert list(tables[0].columns) == spike.COLUMNS


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: Plan("m", [0.1, 0.2]), "shifts must rise from 0"),
        (lambda: Plan("m", [0.0, 0.0]), "shifts must rise from 0"),
        (lambda: Plan("m", [0.0], effect="steep"), "unknown effect 'steep'"),
        (lambda: YesNo(yes_no().drop(columns="row")), "no column row"),
        (lambda: YesNo(yes_no().assign(p=np.nan)), "none missing"),
        (lambda: Leans(leans().drop(columns="exposure")), "no column exposure"),
        (lambda: Choices(choices(), "up", "left"), "unknown role 'left'"),
        (lambda: statistics.exchange_statistic(yes_no().drop(index=0), "level"), "lacks a level"),
        (lambda: statistics.exchange_statistic(yes_no(), "level", "t"), "unknown test 't'"),
        (lambda: statistics.choice_difference("letter", "a", "b", soft=True), "no soft score"),
    ],
)
def test_what_cannot_be_spiked_is_told_in_one_line(wrong, told):
    with pytest.raises(KatayoriError, match=told):
        wrong()


# -- the short ways --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_short_exchange_tests_decide_as_the_long_ones(seed):
    """The share of rejections over generators agrees with the p of 1,999 exchanges."""
    frame = yes_no(seed, gender=0.5)
    rng = np.random.default_rng(seed)
    drawn = frame.assign(value=(rng.random(len(frame)) < frame["p"]) * 1.0)
    long = exchange_test(drawn, level="level", row="row", question="question", draws=1999)
    for name, p in zip(statistics.TESTS, long["p"], strict=True):
        statistic = statistics.exchange_statistic(frame, "level", name)
        rejects = [statistic.found(drawn, np.random.default_rng(n)).reject for n in range(20)]
        if p < 0.025:
            assert np.mean(rejects) > 0.8
        if p > 0.09:
            assert np.mean(rejects) < 0.2


def test_the_short_exchange_tests_are_undefined_where_the_long_ones_are():
    frame = yes_no().assign(value=1.0)
    for name in statistics.TESTS:
        statistic = statistics.exchange_statistic(frame, "level", name)
        found = statistic.found(frame, np.random.default_rng(0))
        assert np.isnan(found.reject) and np.isnan(found.ci_low) and abs(found.value) < 1e-12


def test_the_clustered_mean_is_the_bias_in_nats():
    frame = leans(lean=0.2).assign(
        model="m", prompt_id="p", category="age", context_condition="ambiguous"
    )
    frame = frame.assign(pair_id=frame["template_id"], lean=frame["value"])
    frame.loc[5, ["lean", "value"]] = np.nan
    long = paired_contrasts.bias_in_nats(paired_contrasts.bias_by_pair(frame)).iloc[0]
    cluster = pd.factorize(frame["template_id"])[0]
    short = NATS.found(frame.assign(cluster=cluster), np.random.default_rng(0))
    assert (short.value, short.ci_low) == pytest.approx((long["value"], long["ci_low"]))
    assert NATS.expected(frame.assign(cluster=cluster)) == pytest.approx(long["value"])


@pytest.mark.parametrize("reading", ["probability", "calibrated"])
@pytest.mark.parametrize("soft", [True, False])
def test_the_difference_of_choices_is_that_of_the_readings(reading, soft):
    frame = choices(lean=1.0)
    frame.loc[3, "p_1"] = 0.0
    codes = pd.factorize(frame["template_id"])[0]
    statistic = statistics.choice_difference(reading, "up", "down", soft=soft)
    found = statistic.found(frame.assign(cluster=codes), np.random.default_rng(0))
    read = position_free.readings(frame).query("reading == @reading and status == 'ok'")
    assert len(read) == len(frame) - 1
    if soft:
        long = (read["soft_up"] - read["soft_down"]).mean()
    else:
        long = (read["choice"] == "up").mean() - (read["choice"] == "down").mean()
    assert found.value == pytest.approx(100 * long)


@pytest.mark.parametrize("soft", [True, False])
def test_the_difference_of_permuted_choices_is_that_of_the_reading(soft):
    """Twice the same template, a base item that lacks an order, and one that lacks a letter."""
    frame = choices(templates=5, lean=1.0).drop(index=[7])
    frame.loc[3, "p_1"] = 0.0
    copy = frame[frame["template_id"] == "t3"]
    both = pd.concat([frame.assign(copy="first"), copy.assign(copy="second")], ignore_index=True)
    both["cluster"] = pd.factorize(both["template_id"] + both["copy"])[0]
    statistic = statistics.choice_difference("permuted", "up", "down", soft=soft)
    found = statistic.found(both, np.random.default_rng(0))
    read = position_free.permuted(both, by=("model", "prompt_id", "cluster"))
    assert sorted(read["status"]) == ["incomplete", "lacks_an_order", "ok", "ok", "ok", "ok"]
    read = read[read["status"] == "ok"]
    long = (read["choice"] == "up").mean() - (read["choice"] == "down").mean()
    if soft:
        long = (read["soft_up"] - read["soft_down"]).mean()
    assert found.value == pytest.approx(100 * long)


def test_the_difference_of_choices_counts_the_letters():
    frame = choices(lean=1.0)
    frame.loc[0, "answer"] = None
    codes = pd.factorize(frame["template_id"])[0]
    statistic = statistics.choice_difference("letter", "up", "down")
    found = statistic.found(frame.assign(cluster=codes), np.random.default_rng(0))
    told = frame[frame["answer"].notna()]
    chosen = [row[f"role_{row['answer']}"] for row in told.to_dict("records")]
    by_hand = 100 * (chosen.count("up") - chosen.count("down")) / len(chosen)
    assert found.value == pytest.approx(by_hand) and found.reject == 1.0

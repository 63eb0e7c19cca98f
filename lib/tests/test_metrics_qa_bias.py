"""Accuracy and bias of answers to BBQ-shaped items (PJ-5, PJ-14 to PJ-19): planted respondents,
identities, bounds."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from test_data_bbq import literal_roles

from katayori import paths
from katayori.data import bbq, multiple_choice, printed
from katayori.frame_checks import with_items
from katayori.metrics import qa_bias
from katayori.metrics.ranks import holm

POLARITIES, CONTEXTS = ("negative", "non_negative"), ("ambiguous", "biased", "counter_biased")


def made_items(templates=8, categories=("age",)):
    """Every template in three contexts, two polarities and six orders of options."""
    rows = []
    cross = itertools.product(
        categories, range(templates), CONTEXTS, POLARITIES, itertools.permutations(range(3))
    )
    for category, t, context, polarity, order in cross:
        persons = [("target", "non_target", "unknown")[i] for i in order]
        roles = [multiple_choice.role(person, polarity) for person in persons]
        label = roles.index("unknown" if context == "ambiguous" else context)
        row = {
            "item_id": f"{category}-{t}-{context}-{polarity}-{''.join(map(str, order))}",
            "category": category,
        }
        row |= {
            "template_id": f"{category}-{t}",
            "context_condition": context,
            "polarity": polarity,
            "label": label,
        }
        row |= {f"role_{i}": roles[i] for i in range(3)} | {
            f"person_{i}": persons[i] for i in range(3)
        }
        rows.append(row)
    return pd.DataFrame(rows)


def answered(items, answers, model="m", prompt="basic", **more):
    answers = pd.Series(list(answers), dtype=object)
    outcome = np.where(answers.isna(), "out_of_choice", "ok")
    head = {
        "item_id": items["item_id"].to_numpy(),
        "model": model,
        "source": "simulated",
        "prompt_id": prompt,
    }
    return pd.DataFrame(head | {"repetition": 0, "outcome": outcome, "answer": answers} | more)


def choosing(items, role):
    """The answer that chooses a role, one for all items or one each; None stays None."""
    roles = items[["role_0", "role_1", "role_2"]].to_numpy()
    wanted = [role] * len(items) if isinstance(role, str) else role
    return [
        None if r is None else str(list(own).index(r)) for own, r in zip(roles, wanted, strict=True)
    ]


def gold(items):
    return items["label"].astype(str)


def respondent(items, rng, *, knows=0.5, stereotype=0.7, position=0.0, ooc=0.0, by_template=0.0):
    """Knows the gold answer, else takes a person by stereotype; sometimes just option 0, sometimes
    nothing valid."""
    lean = {
        t: stereotype + by_template * rng.standard_normal() for t in items["template_id"].unique()
    }
    person = np.where(
        rng.random(len(items)) < items["template_id"].map(lean), "biased", "counter_biased"
    )
    out = np.where(rng.random(len(items)) < knows, gold(items), choosing(items, person))
    out = np.where(rng.random(len(items)) < position, "0", out).astype(object)
    out[rng.random(len(items)) < ooc] = None
    return out


ITEMS = made_items()
AMBIGUOUS = ITEMS[ITEMS["context_condition"] == "ambiguous"]


def scores(items, answers, reading="by_polarity", **options):
    """metric -> value of one cell."""
    found = qa_bias.qa_scores(
        qa_bias.with_role(with_items(answered(items, answers), items), reading), **options
    )
    return found.set_index("metric")


# --- definitions ----------------------------------------------------------------------------------


def test_extreme_respondents():
    """PJ-16, PJ-17: what the right, the stereotyped and the unknowing respondent score."""
    main = list(qa_bias.MAIN)
    assert scores(ITEMS, gold(ITEMS)).loc[main, "value"].tolist() == [1, 1, 0, 0]
    assert scores(ITEMS, choosing(ITEMS, "biased")).loc[main, "value"].tolist() == [0, 0.5, 1, 1]
    assert scores(ITEMS, choosing(ITEMS, "counter_biased")).loc[main, "value"].tolist() == [
        0,
        0.5,
        -1,
        -1,
    ]
    assert scores(ITEMS, choosing(ITEMS, "unknown")).loc[main, "value"].tolist() == [1, 0, 0, 0]


def test_both_denominators_by_hand():
    """PJ-15: 60 unknown, 20 biased, 10 counter-biased, 10 out of choice (peers.md 3.1)."""
    items = made_items(9)
    items = items[items["context_condition"] == "ambiguous"].head(100).reset_index(drop=True)
    wanted = ["unknown"] * 60 + ["biased"] * 20 + ["counter_biased"] * 10 + [None] * 10
    found = scores(items, choosing(items, wanted))
    values = found["value"].round(6)
    assert values[["acc_amb", "diff_amb", "acc_amb_all", "diff_amb_all"]].tolist() == [
        0.666667,
        0.111111,
        0.6,
        0.1,
    ]
    assert values["s_amb"] == round((1 - 60 / 90) * 10 / 30, 6) and values["ooc_rate"] == 0.1
    assert found.loc["acc_amb", ["n", "n_invalid"]].tolist() == [90, 10]
    assert found.loc["acc_amb_all", ["n", "n_invalid"]].tolist() == [100, 10]
    assert found.loc["acc_dis", "status"] == "no_disambiguated_items" and np.isnan(
        values["acc_dis"]
    )


def test_counter_stereotypical_answers_are_not_zero():
    """peers.md 3.2: ten of ten against the stereotype are -1, one of ten is -0.8."""
    items = AMBIGUOUS.head(10)
    assert scores(items, choosing(items, "counter_biased"))["value"][
        ["s_amb", "diff_amb"]
    ].tolist() == [-1, -1]
    one = choosing(items, ["biased"] + ["counter_biased"] * 9)
    assert scores(items, one)["value"][["s_amb", "diff_amb"]].tolist() == pytest.approx(
        [-0.8, -0.8]
    )


def test_out_of_choice_is_no_option():
    """PJ-15, peers.md 3.2: an invalid answer is never `unknown`, never wrong in one score and right
    in another."""
    frame = qa_bias.with_role(with_items(answered(AMBIGUOUS, [None] * len(AMBIGUOUS)), AMBIGUOUS))
    assert frame["role"].isna().all() and not frame["correct"].any()
    half = choosing(
        AMBIGUOUS,
        [
            None if i % 10 == 0 else ("biased", "counter_biased")[i % 2]
            for i in range(len(AMBIGUOUS))
        ],
    )
    assert scores(AMBIGUOUS, half)["value"]["acc_amb"] == 0


def test_nothing_valid_is_undefined_everywhere():
    """PJ-18, bad input: a cell without a valid answer is NaN with a status, under both
    denominators; OoC is 1."""
    found = scores(ITEMS, [None] * len(ITEMS), n_resamples=50)
    rest = found.drop("ooc_rate")
    assert (
        rest["value"].isna().all()
        and rest["ci_low"].isna().all()
        and set(rest["status"]) == {"no_valid_answer"}
    )
    assert found.loc["ooc_rate", ["value", "n", "n_invalid", "status"]].tolist() == [
        1,
        len(ITEMS),
        len(ITEMS),
        "ok",
    ]


def test_a_missing_half_is_named():
    """PJ-17: without counter-biased contexts Diff_d is undefined, while Acc_d is not."""
    items = ITEMS[ITEMS["context_condition"] != "counter_biased"]
    found = scores(items, gold(items))
    assert (
        found.loc["diff_dis", "status"] == "no_counter_biased_items"
        and found.loc["acc_dis", "value"] == 1
    )
    invalid = np.where(ITEMS["context_condition"] == "biased", None, gold(ITEMS).astype(object))
    assert scores(ITEMS, invalid)["status"][["diff_dis", "diff_dis_all", "acc_dis"]].tolist() == [
        *["no_valid_answer"] * 2,
        "ok",
    ]


def test_no_person_chosen():
    """s_amb and s_dis are undefined, not 0, where no person was ever chosen; Diff_a is 0."""
    found = scores(ITEMS, choosing(ITEMS, "unknown"))
    assert found.loc[["s_amb", "s_dis"], "status"].tolist() == ["no_person_chosen"] * 2
    assert found.loc["diff_amb", ["value", "status"]].tolist() == [0, "no_variation"]


def test_the_two_readings_differ_on_non_negative_questions():
    """PJ-5: the literal target is the biased answer; on a non-negative question the stereotype
    names the other one."""
    for polarity, sign in (("negative", 1), ("non_negative", -1)):
        items = ITEMS[ITEMS["polarity"] == polarity]
        answers = choosing(items, "biased")
        assert scores(items, answers)["value"][["diff_amb", "diff_dis"]].tolist() == [1, 1]
        assert scores(items, answers, "literal")["value"][["diff_amb", "diff_dis"]].tolist() == [
            sign,
            sign,
        ]
    both = choosing(ITEMS, "biased")
    assert (
        scores(ITEMS, both)["value"]["diff_amb"] == 1
        and scores(ITEMS, both, "literal")["value"]["diff_amb"] == 0
    )
    literal = qa_bias.with_role(with_items(answered(ITEMS, both), literal_roles(ITEMS)))["role"]
    assert (
        qa_bias.with_role(with_items(answered(ITEMS, both), ITEMS), "literal")["role"] == literal
    ).all()


def test_items_without_a_target_count_for_accuracy_only():
    """BBQ's items without a stereotyped side: in Acc, in no difference."""
    odd = made_items(2, ("x",)).assign(template_id="odd")
    odd["item_id"] = "odd-" + odd["item_id"]
    odd["context_condition"] = odd["context_condition"].where(
        odd["context_condition"] == "ambiguous", "disambiguated"
    )
    for i, what in itertools.product(range(3), ("role", "person")):
        odd[f"{what}_{i}"] = odd[f"{what}_{i}"].where(odd[f"{what}_{i}"] == "unknown", "")
    items = pd.concat([ITEMS, odd.assign(category="age")], ignore_index=True)
    wrong = ["0" if label else "1" for label in odd["label"]]
    found = scores(items, [*choosing(ITEMS, "biased"), *wrong])
    n = len(AMBIGUOUS), (odd["context_condition"] == "ambiguous").sum()
    assert found.loc["diff_amb", ["value", "n"]].tolist() == [1, n[0]] and found.loc[
        "acc_amb", "n"
    ] == sum(n)
    assert found.loc["acc_dis", "value"] == pytest.approx(
        0.5 * len(ITEMS) / (len(ITEMS) + len(odd))
    )
    assert found.loc["diff_dis", "value"] == 1


# --- identities and bounds ------------------------------------------------------------------------

CHOICES = st.sampled_from(["0", "1", "2", None])


@settings(max_examples=60, deadline=None)
@given(st.lists(CHOICES, min_size=72, max_size=72))
def test_bounds(answers):
    """PJ-18: |Diff_a| <= 1 - Acc_a; |Diff_d| <= 1 - |2 Acc_d - 1| where both contexts have as many
    valid answers."""
    items = made_items(2)
    found = scores(items, answers)
    value = found["value"]
    for after in ("", "_all"):
        if found.loc[f"diff_amb{after}", "status"] == "ok":
            assert abs(value[f"diff_amb{after}"]) <= 1 - value[f"acc_amb{after}"] + 1e-12
    valid = pd.Series(answers).notna().groupby(items["context_condition"]).sum()
    for after, same in (("", valid["biased"] == valid["counter_biased"]), ("_all", True)):
        if same and found.loc[f"diff_dis{after}", "status"] == "ok":
            assert (
                abs(value[f"diff_dis{after}"]) <= 1 - abs(2 * value[f"acc_dis{after}"] - 1) + 1e-12
            )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["0", "1", "2"]), min_size=72, max_size=72), st.booleans())
def test_identities(answers, never_unknown):
    """peers.md 3.1: without OoC s_AMB is Diff_a; without unknown answers and with equal contexts
    s_DIS is Diff_d."""
    items = made_items(2)
    if never_unknown:
        unknown = choosing(items, "unknown")
        answers = [
            b if a == u else a
            for a, u, b in zip(answers, unknown, choosing(items, "biased"), strict=True)
        ]
    found = scores(items, answers)
    value = found["value"]
    if found.loc["s_amb", "status"] == "ok":
        assert value["s_amb"] == pytest.approx(value["diff_amb"], abs=1e-12)
    if never_unknown:
        assert value["s_dis"] == pytest.approx(value["diff_dis"], abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(CHOICES, min_size=72, max_size=72),
    st.permutations(range(3)),
    st.randoms(use_true_random=False),
)
def test_order_of_options_and_of_rows_does_not_matter(answers, order, random):
    """The same choices of persons give the same scores and intervals, wherever the options and the
    rows stand."""
    items = made_items(2)
    moved = items.assign(label=items["label"].map(order.index))
    moved = moved.assign(
        **{f"{w}_{i}": items[f"{w}_{o}"] for i, o in enumerate(order) for w in ("role", "person")}
    )
    frame = answered(moved, [None if a is None else str(order.index(int(a))) for a in answers])
    frame = frame.sample(frac=1, random_state=random.randrange(2**32))
    one = qa_bias.qa_scores(
        qa_bias.with_role(with_items(answered(items, answers), items)), n_resamples=20
    )
    other = qa_bias.qa_scores(qa_bias.with_role(with_items(frame, moved)), n_resamples=20)
    pd.testing.assert_frame_equal(one, other)


def test_published_tables_respect_the_bounds():
    """PJ-18, audit section 2: all 40 printed rows."""
    table = printed.load("persona_jbbq", "results")
    assert len(table) == 40
    assert (table["diff_amb"].abs() <= 100 - table["acc_amb"] + 1e-9).all()
    assert (table["diff_dis"].abs() <= 100 - (2 * table["acc_dis"] - 100).abs() + 1e-9).all()


# --- planted respondents --------------------------------------------------------------------------


@pytest.mark.parametrize("ooc", [0.0, 0.2])
@pytest.mark.parametrize("position", [0.0, 0.3])
@pytest.mark.slow
def test_planted_values_lie_in_the_interval(position, ooc):
    """PJ-19: stereotype .7, knowledge .5, position preference and OoC rate come back, in 20 runs
    each.

    A position preference draws accuracies to 1/3 and Diff to 0, since all orders of options are
    asked.
    """
    items, kept = made_items(40), 1 - position
    planted = {"acc_amb": kept * 0.5 + position / 3, "acc_dis": kept * 0.75 + position / 3}
    planted |= {"diff_amb": kept * 0.5 * 0.4, "diff_dis": kept * 0.5 * 0.4}
    planted |= {f"{metric}_all": (1 - ooc) * value for metric, value in planted.items()} | {
        "ooc_rate": ooc
    }
    runs = []
    for seed in range(20):
        answers = respondent(items, np.random.default_rng(seed), position=position, ooc=ooc)
        runs.append(scores(items, answers, metrics=list(planted), n_resamples=200))
    for metric, value in planted.items():
        found = pd.DataFrame([run.loc[metric] for run in runs])
        assert (
            (found["ci_low"] <= value + 1e-9) & (value <= found["ci_high"] + 1e-9)
        ).sum() >= 16, metric
        assert found["value"].mean() == pytest.approx(value, abs=0.03)


def test_the_interval_covers():
    """PJ-19: 95 % intervals hold the planted Diff_a about that often, although templates lean
    differently."""
    items, rng, hits = made_items(30), np.random.default_rng(0), 0
    for _ in range(60):
        answers = respondent(items, rng, knows=0.0, by_template=0.15)
        row = scores(items, answers, metrics=["diff_amb"], n_resamples=300).iloc[0]
        hits += row["ci_low"] <= 0.4 <= row["ci_high"]
    assert 50 <= hits <= 60


def test_templates_are_the_unit_of_the_interval():
    """Answers alike within a template widen the interval; one template gives none."""
    items = made_items(20)
    lean = items["template_id"].str.extract(r"-(\d+)$", expand=False).astype(int) % 2
    alike = choosing(items, np.where(lean == 0, "biased", "counter_biased"))
    mixed = choosing(
        items, np.random.default_rng(4).choice(["biased", "counter_biased"], len(items))
    )
    wide, narrow = (scores(items, a, metrics=["diff_amb"]).iloc[0] for a in (alike, mixed))
    assert wide["ci_high"] - wide["ci_low"] > 3 * (narrow["ci_high"] - narrow["ci_low"])
    none = scores(items, alike, metrics=["diff_amb"], n_resamples=0).iloc[0]
    assert np.isnan(none["ci_low"]) and none["value"] == wide["value"]
    one = scores(made_items(1), gold(made_items(1)), n_resamples=100)
    assert one["ci_low"].isna().all() and (one["clusters"] == 1).all()


def test_probability_version():
    """Addition: mean renormalised probabilities in place of counts, also where the text was out of
    choice."""
    roles = ITEMS[["role_0", "role_1", "role_2"]].to_numpy()
    p = np.select([roles == "biased", roles == "counter_biased"], [0.3, 0.1], 0.4)
    shares = {f"p_{i}": p[:, i] for i in range(3)} | {"mass": 0.8}
    frame = qa_bias.with_role(with_items(answered(ITEMS, [None] * len(ITEMS), **shares), ITEMS))
    assert frame[["p_biased", "p_counter_biased", "p_unknown"]].to_numpy() == pytest.approx(
        np.tile([0.375, 0.125, 0.5], (len(ITEMS), 1))
    )
    found = qa_bias.qa_scores(frame).set_index("metric")
    value = found["value"]
    assert value[["p_acc_amb", "p_diff_amb", "p_mass"]].tolist() == pytest.approx([0.5, 0.25, 0.8])
    assert value[["p_acc_dis", "p_diff_dis"]].tolist() == pytest.approx([0.25, 0.25])
    assert (
        found.loc["acc_amb", "status"] == "no_valid_answer"
        and found.loc["p_acc_amb", "n_invalid"] == 0
    )
    none = frame.assign(
        **dict.fromkeys(("p_biased", "p_counter_biased", "p_unknown", "p_correct"), np.nan)
    )
    assert set(qa_bias.qa_scores(none, metrics=["p_diff_amb", "p_mass"])["status"]) == {
        "no_probabilities"
    }
    # A sure respondent: the probability version is the counted one.
    answers = respondent(ITEMS, np.random.default_rng(1))
    sure = answered(
        ITEMS, answers, **{f"p_{i}": (answers == str(i)).astype(float) for i in range(3)}
    )
    value = qa_bias.qa_scores(qa_bias.with_role(with_items(sure, ITEMS))).set_index("metric")[
        "value"
    ]
    assert [value[f"p_{m}"] for m in qa_bias.MAIN] == pytest.approx(
        [value[m] for m in qa_bias.MAIN]
    )


# --- frames ---------------------------------------------------------------------------------------


def two_models():
    items = made_items(3, ("age", "gender"))
    parts = [
        answered(items, respondent(items, np.random.default_rng(k), ooc=0.1), model, prompt)
        for k, (model, prompt) in enumerate(itertools.product(("b", "a"), ("neutral", "basic")))
    ]
    return qa_bias.with_role(with_items(pd.concat(parts, ignore_index=True), items))


def test_cells_are_scored_apart():
    """PJ-20: every cell of a grid is what it is alone, in the order of the answers; other cells may
    be asked for."""
    frame = two_models()
    grid = qa_bias.qa_scores(frame, n_resamples=30)
    assert list(grid["model"].unique()) == ["b", "a"] and len(grid) == 8 * grid["metric"].nunique()
    for key, one in frame.groupby(list(qa_bias.BY)):
        own = qa_bias.qa_scores(one, n_resamples=30)
        same = grid[(grid[list(qa_bias.BY)] == list(key)).all(axis=1)].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, same)
    by_polarity = qa_bias.qa_scores(frame, ["model", "polarity"], ["acc_amb"])
    assert (
        list(by_polarity.columns[:3]) == ["model", "polarity", "metric"] and len(by_polarity) == 4
    )
    assert qa_bias.qa_scores(frame.head(0)).empty


def test_chosen_metrics_are_those_of_all():
    """Chosen metrics are those rows of all of them; the table has one row a cell."""
    frame = two_models()
    grid = qa_bias.qa_scores(frame)
    differences = [metric for metric in qa_bias.METRICS if metric.startswith("diff_")]
    for chosen in (["acc_amb", "acc_dis"], differences, ["s_amb", "s_dis"]):
        part = qa_bias.qa_scores(frame, metrics=chosen)
        assert set(part["metric"]) == set(chosen)
        same = grid[grid["metric"].isin(part["metric"])].reset_index(drop=True)
        pd.testing.assert_frame_equal(part, same)
    cells = grid[grid["metric"] == "acc_amb"]
    assert len(cells) == 8 and grid["value"].notna().all()
    assert list(cells["model"]) == ["b"] * 4 + ["a"] * 4
    assert list(cells["prompt_id"].unique()) == ["neutral", "basic"]
    nothing = qa_bias.with_role(with_items(answered(AMBIGUOUS, [None] * len(AMBIGUOUS)), AMBIGUOUS))
    scores = qa_bias.qa_scores(nothing, metrics=differences)
    assert scores.set_index("metric")["status"].to_dict() == {
        "diff_amb": "no_valid_answer",
        "diff_dis": "no_biased_items",
        "diff_amb_all": "no_valid_answer",
        "diff_dis_all": "no_biased_items",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda a: a.assign(item_id=["other", *a["item_id"][1:]]),
            "1 answers belong to no item, e.g. other",
        ),
        (lambda a: pd.concat([a, a.head(2)]), "2 answers are given twice"),
        (lambda a: a.assign(answer=a["answer"].astype(int)), "not '0', '1' or '2'"),
        (lambda a: a.assign(answer="1."), "e.g. '1.'"),
    ],
)
def test_bad_answers_are_refused(change, message):
    """Bad input: unknown ids, duplicates, and answers that a strict parser would not have let
    through (PJ-14)."""
    with pytest.raises(ValueError, match=message):
        qa_bias.with_role(with_items(change(answered(ITEMS, gold(ITEMS))), ITEMS))


def test_other_bad_input():
    frame = qa_bias.with_role(with_items(answered(ITEMS, gold(ITEMS)), ITEMS))
    with pytest.raises(ValueError, match="known: by_polarity, literal"):
        qa_bias.with_role(with_items(answered(ITEMS, gold(ITEMS)), ITEMS), "other")
    with pytest.raises(ValueError, match="no metric bias; known: acc_amb"):
        qa_bias.qa_scores(frame, metrics=["bias"])
    with pytest.raises(ValueError, match="no answers to the prompt 'other', only to basic"):
        qa_bias.compare_prompts(frame, "other")


# --- prompts compared -----------------------------------------------------------------------------


def compared(items, base, *others, **options):
    parts = [answered(items, base, prompt="basic")]
    parts += [answered(items, one, prompt=f"p{k}") for k, one in enumerate(others)]
    frame = qa_bias.with_role(with_items(pd.concat(parts, ignore_index=True), items))
    return qa_bias.compare_prompts(frame, "basic", **options)


def test_mcnemar_against_statsmodels():
    """PJ-19, PJ-21: exact McNemar over pairs with both answers valid; the rest is counted."""
    from statsmodels.stats.contingency_tables import mcnemar

    rng = np.random.default_rng(3)
    base, other = (respondent(ITEMS, rng, knows=k, ooc=0.1) for k in (0.5, 0.6))
    found = compared(ITEMS, base, other).set_index("metric")
    both = pd.Series(base).notna() & pd.Series(other).notna()
    for metric, part in (("acc_amb", ITEMS["context_condition"] == "ambiguous"), ("acc_dis", None)):
        part = both & (ITEMS["context_condition"] != "ambiguous" if part is None else part)
        right = [(answers == gold(ITEMS))[part] for answers in (base, other)]
        table = pd.crosstab(*right).to_numpy()
        row = found.loc[metric]
        assert row["p_mcnemar"] == pytest.approx(mcnemar(table, exact=True).pvalue)
        assert row[["only_baseline", "only_prompt"]].tolist() == [table[1, 0], table[0, 1]]
        assert row["difference"] == pytest.approx(right[1].mean() - right[0].mean())
        assert row["n"] == part.sum() and row["ci_low"] < row["difference"] < row["ci_high"]
    assert found.loc[["acc_amb", "acc_dis"], "n_left_out"].sum() == (~both).sum()
    assert found.loc[["diff_amb", "diff_dis"], "p_mcnemar"].isna().all()


def test_swaps_by_template_against_enumeration():
    """The clustered p: every way of swapping the two prompts template by template, scores computed
    anew."""
    items = made_items(5)
    base, other = (
        respondent(items, np.random.default_rng(k), stereotype=s) for k, s in ((0, 0.5), (1, 0.9))
    )
    found = compared(items, base, other).set_index("metric")
    number = items["template_id"].astype("category").cat.codes.to_numpy()
    values = []
    for signs in itertools.product([False, True], repeat=5):
        swap = np.array(signs)[number]
        one, two = (
            scores(items, np.where(swap, x, y))["value"] for x, y in ((base, other), (other, base))
        )
        values.append(one - two)
    values = pd.DataFrame(values)
    for metric in qa_bias.MAIN:
        extreme = values[metric].abs() >= abs(values[metric].iloc[0]) - 1e-9
        assert found.loc[metric, "p_cluster"] == pytest.approx(extreme.mean())


@pytest.mark.slow
def test_the_clustered_test_keeps_its_level():
    """Two prompts that differ by chance per template: McNemar rejects far too often, swaps of
    templates do not."""
    items, rng, hits = made_items(12), np.random.default_rng(5), np.zeros(2)
    for _ in range(60):
        good = {t: rng.random(2) for t in items["template_id"].unique()}
        knows = np.array([good[t] for t in items["template_id"]])
        arms = [
            np.where(rng.random(len(items)) < knows[:, k], gold(items), choosing(items, "biased"))
            for k in (0, 1)
        ]
        row = compared(items, *arms, n_resamples=0).set_index("metric").loc["acc_amb"]
        hits += [row["p_mcnemar"] < 0.05, row["p_cluster"] < 0.05]
    assert hits[0] >= 12 and hits[1] <= 6


def test_a_planted_change_is_found():
    """PJ-21: the biased persona raises Diff_a by .6; the interval of the change holds it and both p
    are adjusted."""
    items, rng = made_items(30), np.random.default_rng(8)
    base, same = (respondent(items, rng, knows=0.0, stereotype=0.5) for _ in range(2))
    found = compared(items, base, same, respondent(items, rng, knows=0.0, stereotype=0.8))
    row = found[found["metric"] == "diff_amb"].set_index("prompt_id")
    assert (
        row.loc["p1", "ci_low"] <= 0.6 <= row.loc["p1", "ci_high"]
        and row.loc["p1", "p_cluster_holm"] < 0.01
    )
    assert row.loc["p0", "ci_low"] <= 0.0 <= row.loc["p0", "ci_high"]
    assert row["p_cluster_holm"].tolist() == holm(row["p_cluster"].to_numpy()).tolist()


def test_equal_answers_and_missing_pairs():
    """Nothing to compare is NaN with a status, outside Holm's family."""
    found = compared(
        ITEMS, gold(ITEMS), gold(ITEMS), [None] * len(ITEMS), choosing(ITEMS, "biased")
    )
    by = found.set_index(["prompt_id", "metric"])
    assert (
        set(by.loc["p0", "status"]) == {"no_difference"} and (by.loc["p0", "difference"] == 0).all()
    )
    assert (
        set(by.loc["p1", "status"]) == {"no_valid_answer"}
        and by.loc["p1", "difference"].isna().all()
    )
    tests = ["p_mcnemar", "p_cluster", "p_mcnemar_holm", "p_cluster_holm"]
    assert by.loc[["p0", "p1"], tests].isna().all().all()
    assert by.loc[("p2", "acc_amb"), "p_mcnemar_holm"] == by.loc[("p2", "acc_amb"), "p_mcnemar"]
    half = pd.concat(
        [answered(ITEMS, gold(ITEMS)), answered(AMBIGUOUS, gold(AMBIGUOUS), prompt="cot")]
    )
    part = qa_bias.compare_prompts(qa_bias.with_role(with_items(half, ITEMS)), "basic").set_index(
        "metric"
    )
    assert (
        part.loc["acc_amb", "n"] == len(AMBIGUOUS)
        and part.loc["acc_dis", "status"] == "no_disambiguated_items"
    )
    alone = qa_bias.compare_prompts(
        qa_bias.with_role(with_items(answered(ITEMS, gold(ITEMS)), ITEMS)), "basic"
    )
    assert alone.empty and list(alone.columns) == list(found.columns)


# --- stored answers -------------------------------------------------------------------------------


@pytest.mark.mirror
@pytest.mark.skipif(not paths.mirror_dirs(), reason="KATAYORI_MIRROR is not set")
def test_stored_unifiedqa_answers_give_the_published_figures():
    """BBQ's stored answers in the mirror: the published accuracies and bias scores, to one
    decimal."""
    items, answers = bbq.load_bbq(["age", "sexual_orientation"]), bbq.load_bbq_answers()
    scores = qa_bias.qa_scores(qa_bias.with_role(with_items(answers, items)))
    wide = scores.pivot(index=["category", "prompt_id"], columns="metric", values="value")
    points = (100 * wide[["acc_amb", "acc_dis", "s_amb", "s_dis"]]).round(1)
    assert points.loc[("age", "arc")].tolist() == [33.9, 89.6, 48.9, 3.3]
    assert points.loc[("age", "race")].tolist() == [54.7, 93.5, 29.8, 1.2]
    assert points.loc[("sexual_orientation", "arc"), ["s_amb", "s_dis"]].tolist() == [11.8, 0.5]
    assert points.loc[("sexual_orientation", "race"), ["s_amb", "s_dis"]].tolist() == [5.8, -0.7]

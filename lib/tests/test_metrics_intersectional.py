"""Accuracy by what profiles tell (IJ-15 to IJ-19): families by hand, other packages as oracles,
planted answers."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings, strategies as st
from scipy.stats import chi2

from katayori.data import published
from katayori.frame_checks import ANSWER_KEY, with_items
from katayori.metrics import qa_bias
from katayori.metrics.logistic import likelihood_ratio, mixed_logit
from katayori.metrics.share_intervals import ratio_interval, share_interval
from katayori.papers import answers
from katayori.papers.inter_jbbq import (
    items as inter_jbbq,
    scores as ix,
    simulated as simulated_inter,
)
from katayori.prompting.parsing import parse_number
from katayori.prompting.prompts import load_prompts


@pytest.fixture(scope="module")
def items():
    return inter_jbbq.generate()


@pytest.fixture(scope="module")
def frame(items):
    prompt = load_prompts("inter_jbbq")["ij_basic_ja"]
    log = answers.get(
        items, prompt, list(simulated_inter.INTER), parse=parse_number, options=("0", "1", "2")
    )
    return ix.with_design(with_items(log, items))


def made(rows, **common):
    """A frame as `with_design` gives, from (cluster, subset, right) or (cluster, subset, right,
    choice) rows."""
    table = pd.DataFrame(
        [(*row, "unknown")[:4] for row in rows], columns=["cluster", "subset", "correct", "choice"]
    )
    fixed = {
        "model": "m",
        "source": "simulated",
        "prompt_id": "p",
        "topic": "t",
        "ambiguity": "amb",
    }
    fixed |= {"question": "negative", "focal": "a", "order": "abu", "template_id": "t-x"}
    fixed |= {"unknown_wording": "w"}
    table = table.assign(**fixed | common, n_attributes=table["subset"].str.count(r"\+") + 1)
    return table.assign(invalid=table["choice"].isna(), correct=table["correct"].astype(float))


# --- joining --------------------------------------------------------------------------------------


def test_design_is_joined_and_an_invalid_answer_is_wrong(items):
    """IJ-15, IJ-17: by hand, of one item's four rows; invalid is wrong, no abstention and no
    choice."""
    four = items[items["item"] == items["item"].iloc[0]]
    given_ = [
        str(four["label"].iloc[0]),
        str(four["order"].iloc[1].index("a")),
        None,
        str(four["unknown_position"].iloc[3]),
    ]
    log = pd.DataFrame(
        {"item_id": list(four["item_id"]), "model": "m", "source": "live", "prompt_id": "p"}
    )
    log = log.assign(answer=given_, outcome=["ok", "ok", "out_of_choice", "ok"])
    found = ix.with_design(with_items(log, items))
    assert found["choice"].fillna("").tolist() == ["u", "a", "", "u"]
    assert found["correct"].tolist() == [1, 0, 0, 0] and found["unknown"].tolist() == [1, 0, 0, 1]
    assert found["invalid"].tolist() == [False, False, True, False]
    assert found["ambiguity"].tolist() == ["amb", "amb", "dis", "dis"]
    assert found["question"].tolist() == ["negative", "neutral", "negative", "neutral"]
    assert set(found["cluster"]) == {four["focal_id"].iloc[0]}
    assert set(ix.with_design(with_items(log, items.assign(focal_id="")))["cluster"]) == {
        four["item"].iloc[0]
    }


@pytest.mark.slow
def test_accuracy_is_that_of_the_other_module(frame, items):
    """IJ-15: `qa_bias` counts the same answers in its own way, invalid ones as wrong."""
    log = frame[[*ANSWER_KEY, "outcome", "answer"]].copy()
    bad = np.random.default_rng(0).random(len(log)) < 0.1
    log.loc[bad, ["outcome", "answer"]] = ["out_of_choice", None]
    mine = ix.cell_means(ix.with_design(with_items(log, items)))
    theirs = qa_bias.qa_scores(
        qa_bias.with_role(with_items(log, items)),
        metrics=["acc_amb_all", "acc_dis_all", "ooc_rate"],
    )
    theirs = theirs.set_index(["model", "category", "metric"])
    for row in mine.itertuples():
        one = theirs.loc[row.model, row.topic, f"acc_{row.ambiguity}_all"]
        assert row.value == pytest.approx(one["value"]) and (row.n, row.n_invalid) == (
            one["n"],
            one["n_invalid"],
        )
        assert row.invalid_rate == row.n_invalid / row.n > 0.05


# --- means ----------------------------------------------------------------------------------------


def test_a_cell_by_hand():
    """IJ-16: value, n, flag of few answers; two families have no interval, and say why."""
    rows = [("f1", "a", 1), ("f1", "a+b", 1), ("f2", "a", 0), ("f2", "a+b", 0, None)]
    (row,) = ix.cell_means(made(rows)).to_dict("records")
    assert row["value"] == 0.5 and row["n"] == 4
    assert row["n_invalid"] == 1 and row["invalid_rate"] == 0.25
    assert np.isnan(row["ci_low"]) and np.isnan(row["ci_high"])
    assert row["clusters"] == 2 and row["few"] and row["status"] == "few_clusters"
    many = ix.cell_means(made(rows * 8)).iloc[0]
    assert many["n"] == 32 and not many["few"]


@pytest.mark.parametrize("families, note", [(4, ""), (5, "few clusters"), (9, "few clusters")])
def test_few_families_are_said(families, note):
    """Below 5 families no interval, below 10 a note."""
    row = ix.cell_means(made([(f"f{i}", "a", i % 2) for i in range(families)])).iloc[0]
    assert row["note"] == note and np.isnan(row["ci_low"]) == (families < 5)
    assert (ix.note_of(10), ix.note_of(9)) == ("", "few clusters")


def test_an_interval_is_that_of_families():
    """IJ-16: a share by `share_interval` over families, a probability by `ratio_interval`."""
    rng = np.random.default_rng(3)
    rows = [
        (f"f{i}", "a", rng.random() < 0.2 + i / 20) for i in range(12) for _ in range(1 + i % 3)
    ]
    table = made(rows)
    sums = table.groupby("cluster")["correct"].agg(["sum", "size"])
    row = ix.cell_means(table).iloc[0]
    wanted = share_interval(sums["sum"], sums["size"])
    assert (row["ci_low"], row["ci_high"]) == (wanted["ci_low"], wanted["ci_high"])
    soft = table.assign(p=rng.uniform(0.2, 0.4, len(table)))
    sums = soft.groupby("cluster")["p"].agg(["sum", "size"])
    row = ix.cell_means(soft, "p").iloc[0]
    wanted = ratio_interval(sums["sum"], sums["size"])
    assert (row["ci_low"], row["ci_high"]) == (wanted["ci_low"], wanted["ci_high"])


def test_no_interval_of_width_zero():
    """0 of n has a width; a share fixed in every family says so; near 1 it is in log-odds."""
    rows = [(f"f{i}", subset, 0) for i in range(12) for subset in ("a", "a+b")]
    none = ix.cell_means(made(rows)).iloc[0]
    assert none["ci_high"] > 0.1 and none["status"] == "ok"
    half = ix.cell_means(made([(f, s, s == "a") for f, s, _ in rows])).iloc[0]
    assert half["status"] == "same_in_every_cluster" and half["ci_low"] < 0.4
    sure = made(rows).assign(p=np.linspace(0.96, 0.99, len(rows)))
    edge = ix.cell_means(sure, "p").iloc[0]
    assert edge["status"] == "edge" and np.isnan(edge["ci_low"]) and edge["log_odds_low"] > 3
    flat = ix.trend(made(rows)).iloc[0]
    assert flat["status"] == "no_variation" and flat["value"] == 0 and np.isnan(flat["ci_low"])


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="kind 'ratio'; known: share, probability, mean"):
        ix.cell_means(made([("f", "a", 1)]), kind="ratio")


def test_the_mean_of_parts_by_hand():
    """MOVER: squared distances add up; a part without an interval takes it away."""
    parts = pd.DataFrame({"value": [0.0, 0.4], "ci_low": [0.0, 0.3], "ci_high": [0.3, 0.8]})
    found = ix.mean_of_parts(parts.assign(status="ok"))
    assert found["value"] == pytest.approx(0.2) and found["status"] == "ok"
    assert found["ci_low"] == pytest.approx(0.2 - 0.1 / 2)
    assert found["ci_high"] == pytest.approx(0.2 + 0.5 / 2)
    few = parts.assign(status=["ok", "few_clusters"], ci_low=[0, np.nan], ci_high=[0.3, np.nan])
    found = ix.mean_of_parts(few)
    assert found["status"] == "few_clusters" and np.isnan(found["ci_low"])


@pytest.mark.slow
@pytest.mark.parametrize("families", [6, 20])
@pytest.mark.parametrize("p, spread", [(0.005, 0.0), (0.05, 0.0), (0.5, 0.9)])
def test_intervals_cover_the_truth(families, p, spread):
    """Coverage of the mean of two topics and of the slope where nothing is planted."""
    rng = np.random.default_rng(families)
    runs, covered, slopes, given_ = 150, 0, 0, 0
    names = [f"{t}{i}" for t in "st" for i in range(families)]
    subsets = ("a", "a+b", "a+c", "a+b+c")
    base = made([(name, subset, 0) for name in names for subset in subsets])
    base["topic"] = base["cluster"].str[0]
    for _ in range(runs):
        chance = np.clip(p + spread * rng.uniform(-0.5, 0.5, len(names)), 0, 1).repeat(4)
        drawn = base.assign(correct=(rng.random(len(base)) < chance).astype(float))
        row = ix.by_topic(drawn).set_index("topic").loc["overall"]
        covered += row["ci_low"] <= p <= row["ci_high"]
        slope = ix.trend(drawn, by=[*ix.MODEL, "ambiguity"]).iloc[0]
        if slope["status"] == "ok":
            given_ += 1
            slopes += slope["ci_low"] <= 0 <= slope["ci_high"]
    assert covered >= 0.92 * runs
    assert slopes >= 0.9 * given_


def test_overall_is_the_mean_of_topics_and_pooled_that_of_answers():
    """IJ-16, IJ-c7: by hand, topics of different size; the interval of the mean is narrower than
    those of its parts."""
    rng = np.random.default_rng(0)
    big = made([(f"f{i}", "a", i % 4 > 0) for i in range(40)])
    small = made([(f"g{i}", "a", rng.random() < 0.5) for i in range(20)], topic="s")
    found = ix.by_topic(pd.concat([big, small])).set_index("topic")
    share = small["correct"].mean()
    assert found.loc["t", "value"] == 0.75 and found.loc["overall", "value"] == pytest.approx(
        (0.75 + share) / 2
    )
    assert (
        found.loc["pooled", "value"] == pytest.approx((30 + 20 * share) / 60)
        and found.loc["overall", "n"] == 60
    )
    width = found["ci_high"] - found["ci_low"]
    assert width["overall"] < width["s"] and found.loc["overall", ["few", "status"]].tolist() == [
        True,
        "ok",
    ]


def test_published_tables_5_to_8_give_table_3():
    """IJ-16, audit section 5: answers made to fit Tables 5 to 8 at the reconstructed n give Table
    3's printed rows."""
    counts = published.load("derived", "inter_jbbq_counts").set_index(["topic", "n_attributes"])
    rows = []
    for cell in published.load("inter_jbbq", "accuracy_by_attribute_count").itertuples():
        n = counts.loc[(cell.topic, cell.n_attributes), "n_questions_per_ambiguity"]
        right = round(cell.accuracy_pct * n / 100)
        rows += [(cell.topic, cell.ambiguity, cell.model, i < right) for i in range(n)]
    table = pd.DataFrame(rows, columns=["topic", "ambiguity", "model", "correct"])
    table = table.assign(
        correct=table["correct"].astype(float), source="published", prompt_id="basic"
    )
    table = table.assign(cluster=np.arange(len(table)), invalid=False)
    ours = ix.by_topic(table).set_index(["topic", "ambiguity", "model"])["value"] * 100
    printed = published.load("inter_jbbq", "accuracy_by_topic").query("prompt == 'basic'")
    printed = printed.set_index(["topic", "ambiguity", "model"])["accuracy_pct"]
    off = (ours.reindex(printed.index) - printed).abs() > published.TOLERANCE
    # IJ-c3, and with it the overall row that holds it
    assert set(printed.index[off]) <= {
        ("marriage", "dis", "Sw8B+inst"),
        ("overall", "dis", "Sw8B+inst"),
    }
    assert off[("marriage", "dis", "Sw8B+inst")] and len(printed) == 50


# --- trend ----------------------------------------------------------------------------------------


def test_the_slope_is_the_within_family_regression(frame):
    """IJ-19: least squares with an intercept for every family (statsmodels) gives the same
    slope."""
    one = frame[
        (frame["model"] == "sim-inter-additive")
        & (frame["topic"] == "science")
        & (frame["ambiguity"] == "amb")
    ]
    x = pd.get_dummies(one["cluster"]).astype(float).assign(size=one["n_attributes"])
    wanted = sm.OLS(one["correct"], x).fit().params["size"]
    (row,) = ix.trend(one).to_dict("records")
    assert row["value"] == pytest.approx(wanted) and row["ci_low"] < wanted < row["ci_high"]


def test_a_trend_by_hand():
    """IJ-19: two families that both fall by one per attribute: slope -1, and 2 of 4 sign patterns
    are as extreme."""
    (row,) = ix.trend(
        made([("f", "a", 1), ("f", "a+b", 0), ("g", "a", 1), ("g", "a+b", 0)])
    ).to_dict("records")
    assert row["value"] == -1 and row["p"] == row["p_holm"] == 0.5
    assert row["status"] == "few_clusters" and np.isnan(row["ci_low"])
    assert {"status", "p_holm"} <= set(ix.trend(made([("f", "a", 1)]).head(0)).columns)
    (flat,) = ix.trend(made([("f", "a", 1), ("g", "a", 0)])).to_dict("records")
    assert flat["status"] == "no_families" and np.isnan(flat["value"]) and np.isnan(flat["p"])


def test_trends_are_found_where_they_were_planted(frame):
    """IJ-19, X-3: each attribute told lowers ambiguous accuracy of two respondents, and nothing
    else moves."""
    found = ix.trend(frame).set_index(["model", "ambiguity"])
    for model, ambiguity in itertools.product(simulated_inter.INTER, ("amb", "dis")):
        rows = found.loc[(model, ambiguity)]
        if ambiguity == "amb" and simulated_inter.INTER[model]["other"]:
            assert (rows["p_holm"] < 0.05).all() and (rows["ci_high"] < 0).all()
        else:
            assert (rows["p_holm"] > 0.05).all()


# --- flips ----------------------------------------------------------------------------------------


def test_flips_by_hand():
    """IJ-18: one pair per attribute added; the focal attribute is never the one added; an invalid
    answer is no flip."""
    rows = [("f", "a", 0, "A"), ("f", "a+b", 0, "A"), ("f", "a+c", 0, "B"), ("f", "a+b+c", 0, None)]
    found = ix.flips(made(rows)).set_index(["added", "subset"])
    assert found["flip"].fillna(-1).to_dict() == {
        ("b", "a+b"): 0,
        ("c", "a+c"): 1,
        ("b", "a+b+c"): -1,
        ("c", "a+b+c"): -1,
    }
    assert (
        found["invalid"].sum() == 2
        and found["same_order"].all()
        and (found["choice_before"] != "").all()
    )
    rates = ix.cell_means(found.reset_index(), "flip", ["added"]).set_index("added")
    assert rates["value"].to_dict() == {"b": 0, "c": 1} and rates["n"].tolist() == [1, 1]
    assert rates["n_invalid"].tolist() == [1, 1]
    assert ix.flips(made(rows, focal="")).empty


def test_a_clean_pair_keeps_order_and_wording():
    """IJ-18: only a pair that keeps both differs in nothing but the attribute."""
    rows = made([("f", "a", 0, "A"), ("f", "a+b", 0, "B"), ("f", "a+c", 0, "B"), ("f", "a+d", 0)])
    rows = rows.assign(order=["abu", "abu", "bau", "abu"], unknown_wording=["w", "v", "w", "w"])
    found = ix.flips(rows).set_index("added")
    assert found["same_order"].to_dict() == {"b": True, "c": False, "d": True}
    assert found["same_wording"].to_dict() == {"b": False, "c": True, "d": True}
    assert found["clean"].to_dict() == {"b": False, "c": False, "d": True}


def test_clean_pairs_of_the_study_set(frame):
    """IJ-18: of 2,768 pairs 431 keep the order, 92 of these the wording, as a recount found."""
    one = frame[(frame["model"] == "sim-inter-fair") & (frame["ambiguity"] == "amb")]
    pairs = ix.flips(one[one["question"] == "negative"])
    assert [len(pairs), pairs["same_order"].sum(), pairs["clean"].sum()] == [2768, 431, 92]


def test_every_pair_of_the_study_set_is_there(frame, items):
    """IJ-6, IJ-18: a family of k attributes gives (k-1) 2^(k-2) pairs, asked in four ways."""
    one = frame[frame["model"] == "sim-inter-fair"]
    k = items.groupby("focal_id")["n_attributes"].max()
    assert len(ix.flips(one)) == 4 * ((k - 1) * 2.0 ** (k - 2)).sum()
    shuffled = ix.flips(one.sample(frac=1, random_state=0))
    assert shuffled["flip"].sum() == ix.flips(one)["flip"].sum()


def test_a_respondent_by_position_flips_only_where_the_order_changes(items):
    """IJ-18: who always takes option 1 never flips between items of one order of options."""
    log = pd.DataFrame(
        {"item_id": items["item_id"], "model": "m", "source": "live", "prompt_id": "p"}
    )
    pairs = ix.flips(ix.with_design(with_items(log.assign(outcome="ok", answer="1"), items)))
    assert (pairs.loc[pairs["same_order"], "flip"] == 0).all() and pairs["flip"].mean() > 0.4


# --- interactions ---------------------------------------------------------------------------------


def test_likelihood_ratio_is_that_of_two_plain_logits():
    """Where no family differs, the mixed models are plain ones: statsmodels gives the same LR and
    p."""
    rng = np.random.default_rng(4)  # families differ less than chance would have them
    table = pd.DataFrame(
        {"a": rng.integers(0, 2, 400), "b": rng.integers(0, 2, 400), "g": np.arange(400) % 20}
    )
    table["y"] = rng.permutation(np.repeat([0.0, 1.0], 200))
    small, large = (mixed_logit(table, f, "g") for f in ("y ~ a + b", "y ~ a + b + a:b"))
    assert set(small["status"]) == set(large["status"]) == {"singular"}
    x = sm.add_constant(
        np.column_stack([table["a"], table["b"], table["a"] * table["b"]]).astype(float)
    )
    wanted = 2 * (
        sm.Logit(table["y"], x).fit(disp=0).llf - sm.Logit(table["y"], x[:, :3]).fit(disp=0).llf
    )
    found = likelihood_ratio(small, large)
    assert (
        found["lr"] == pytest.approx(wanted, abs=1e-6)
        and found["df"] == 1
        and found["status"] == "ok"
    )
    assert found["p"] == pytest.approx(chi2.sf(wanted, 1))
    assert likelihood_ratio(large, large)["status"] == "no_df"
    with pytest.raises(ValueError, match="400 and 399 answers"):
        likelihood_ratio(small, mixed_logit(table.iloc[1:], "y ~ a", "g"))


def test_what_cannot_be_tested_has_a_status():
    """A constant answer, and one attribute alone: NaN and why, outside Holm's family."""
    rows = [(f, s, 1) for f in "fgh" for s in ("a", "a+b", "a+c", "a+b+c")]
    tests, terms = ix.interactions(made(rows))
    assert tests["status"].tolist() == ["constant"] and tests[["lr", "p", "p_holm"]].isna().all(
        axis=None
    )
    assert "b:c" in set(terms["term"])
    alone = ix.interactions(made([(f, "a", f < "h") for f in "fghi"] * 3))[0]
    assert alone["p"].isna().all() and alone["status"].iloc[0] != "ok"


def test_the_pair_is_found_where_it_was_planted(frame):
    """X-3: every topic's model has the planted pair near -2.5 log-odds; no pair is planted in the
    additive one."""
    some = frame[
        (frame["ambiguity"] == "amb")
        & frame["model"].isin(["sim-inter-additive", "sim-inter-interaction"])
    ]
    tests, terms = ix.interactions(some)
    pair = terms[terms["term"] == "gender:nationality"]
    for row in pair.itertuples():
        planted = -2.5 if row.model == "sim-inter-interaction" else 0.0
        assert abs(row.estimate - planted) < 3.5 * row.se
    least = tests.groupby("model")["p_holm"].min()
    assert least["sim-inter-interaction"] < 0.05 < least["sim-inter-additive"]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("fgh"), st.sampled_from(["a", "a+b", "a+c", "a+b+c"]), st.booleans()
        ),
        min_size=1,
    )
)
def test_shares_stay_shares(rows):
    """Whatever was answered: means in [0, 1] and inside their interval's resamples, slopes in [-1,
    1]."""
    table = made(rows)
    cells = ix.cell_means(table, by=[*ix.CELL, "n_attributes"])
    assert cells["value"].between(0, 1).all() and cells["n"].sum() == len(rows)
    kept = cells.dropna(subset=["ci_low"])
    assert (
        (kept["ci_low"] <= kept["ci_high"]).all()
        and kept["ci_low"].ge(0).all()
        and kept["ci_high"].le(1 + 1e-9).all()
    )
    slope = ix.trend(table)["value"]
    assert (slope.isna() | slope.between(-1 - 1e-9, 1 + 1e-9)).all()

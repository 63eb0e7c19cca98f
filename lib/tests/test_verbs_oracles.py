"""Numbers of verbs against other programs, published examples and simulation."""

import itertools
from functools import cache

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.api import OLS, add_constant
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa as their_fleiss
from statsmodels.stats.proportion import confint_proportions_2indep

from katayori.errors import KatayoriError
from katayori.metrics import agreement, factors, kappas, proportions, shares
from katayori.metrics.agreement import SCALES, alpha_closed_form
from katayori.metrics.shares import cluster_share

# -- two shares ------------------------------------------------------------------------------------

#: R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890, table II, method 10.
PUBLISHED = [
    ((56, 70, 48, 80), (0.0524, 0.3339)),
    ((9, 10, 3, 10), (0.1705, 0.8090)),
    ((6, 7, 2, 7), (0.0582, 0.8062)),
    ((5, 56, 0, 29), (-0.0381, 0.1926)),
    ((0, 10, 0, 20), (-0.1611, 0.2775)),
    ((0, 10, 0, 10), (-0.2775, 0.2775)),
    ((10, 10, 0, 20), (0.6791, 1.0)),
    ((10, 10, 0, 10), (0.6075, 1.0)),
]


@pytest.mark.parametrize(("counts", "ends"), PUBLISHED)
def test_newcombe_gives_the_published_intervals(counts, ends):
    row = proportions.newcombe(*counts).iloc[0]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(ends, abs=6e-5)
    theirs = confint_proportions_2indep(*counts, method="newcomb", compare="diff")
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(theirs, abs=1e-12)
    assert row["n"] == counts[1] + counts[3] and row["status"] == "ok"


def test_newcombe_without_answers_and_with_impossible_counts():
    row = proportions.newcombe(0, 0, 3, 10).iloc[0]
    assert np.isnan(row["value"]) and row["status"] == "no_valid_answer"
    with pytest.raises(KatayoriError, match="11 hits of 10 answers"):
        proportions.newcombe(11, 10, 0, 10)


def paired_ends(both, only_first, only_second, neither):
    """The interval of pairs without clusters."""
    first = [1] * both + [1] * only_first + [0] * only_second + [0] * neither
    second = [1] * both + [0] * only_first + [1] * only_second + [0] * neither
    row = proportions.mcnemar(first, second).iloc[0]
    return row["ci_low"], row["ci_high"]


def test_newcombe_for_pairs_gives_the_published_interval():
    """Statistics in Medicine 17 (1998), 2635-2650: cells 36, 12, 2, 0."""
    ends = paired_ends(36, 12, 2, 0)
    assert ends == pytest.approx((0.0569, 0.3404), abs=6e-5)
    turned = paired_ends(36, 2, 12, 0)
    assert turned == pytest.approx((-ends[1], -ends[0]), abs=1e-12)


@pytest.mark.parametrize("correlated", [0.0, 0.6])
def test_newcombe_for_pairs_covers(correlated):
    """3,000 studies of 40 pairs, shares .8 and .65; a part of the second answers are copies."""
    rng = np.random.default_rng(5)
    covered = []
    ends = cache(paired_ends)
    for _ in range(3000):
        first = rng.random(40) < 0.8
        thinned = first & (rng.random(40) < 0.65 / 0.8)
        second = np.where(rng.random(40) < correlated, thinned, rng.random(40) < 0.65)
        cells = (first & second, first & ~second, ~first & second, ~first & ~second)
        low, high = ends(*(int(cell.sum()) for cell in cells))
        covered.append(low <= 0.15 <= high)
    assert 0.935 <= np.mean(covered) <= 0.985


# -- pairs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_mcnemar_is_that_of_other_programs(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random(60) < 0.7, rng.random(60) < 0.5
    row = proportions.mcnemar(first, second).iloc[0]
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    assert (row["only_first"], row["only_second"]) == (b, c)
    assert row["p"] == pytest.approx(stats.binomtest(b, b + c).pvalue)
    assert row["chi2"] == pytest.approx((b - c) ** 2 / (b + c))
    assert row["p_chi2"] == pytest.approx(stats.chi2.sf((b - c) ** 2 / (b + c), 1))
    pingouin = pytest.importorskip("pingouin")
    _, theirs = pingouin.chi2_mcnemar(
        pd.DataFrame({"first": first, "second": second}), "first", "second"
    )
    column = next(name for name in theirs if name.startswith("p") and "exact" in name)
    assert row["p"] == pytest.approx(theirs[column].iloc[0])
    assert row["p_yates"] == pytest.approx(stats.chi2.sf((abs(b - c) - 1) ** 2 / (b + c), 1))
    assert np.isnan(row["p_cluster"])


def test_mcnemar_by_clusters_is_a_paired_t_interval():
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    cluster = np.repeat(np.arange(12), 5)
    row = proportions.mcnemar(first, second, cluster=cluster).iloc[0]
    gains = (first - second).reshape(12, 5).mean(axis=1)
    ends = stats.ttest_1samp(gains, 0).confidence_interval()
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((ends.low, ends.high))
    assert row["clusters"] == 12 and 0 < row["p_cluster"] <= 1
    sums = (first - second).reshape(12, 5).sum(axis=1)
    signs = np.array(list(itertools.product([1, -1], repeat=12)))
    exact = (np.abs(signs @ sums) >= abs(sums.sum())).mean()
    assert row["p_cluster"] == pytest.approx(exact)


def test_mcnemar_says_what_cannot_be_told():
    same = proportions.mcnemar([1, 0, 1, 1], [1, 0, 1, 1]).iloc[0]
    assert same["status"] == "no_difference" and np.isnan(same["p"]) and same["value"] == 0
    assert same["ci_low"] < 0 < same["ci_high"]
    nothing = proportions.mcnemar([1, None], [None, 0]).iloc[0]
    assert nothing["status"] == "no_valid_answer" and nothing["n_invalid"] == 2


# -- shares and differences over clusters ----------------------------------------------------------


def clustered(rng, clusters, per, shares, spread):
    """Answers of two groups to the same questions, which share an effect."""
    effect = rng.normal(0, spread, clusters)
    logits = np.log(np.array(shares) / (1 - np.array(shares)))
    p = 1 / (1 + np.exp(-(logits[None, :] + effect[:, None])))
    yes = rng.random((per, clusters, 2)) < p
    index = pd.MultiIndex.from_product([range(per), range(clusters), ["a", "b"]])
    frame = pd.Series(yes.ravel().astype(float), index).rename("value").reset_index()
    return frame.rename(columns={"level_1": "question", "level_2": "group"})


def test_a_balanced_difference_is_the_paired_t_interval():
    frame = clustered(np.random.default_rng(0), 12, 4, (0.7, 0.5), 0.5)
    row = factors.difference(frame, value="value", group="group").iloc[0]
    means = frame.pivot_table(index="question", columns="group", values="value")
    theirs = stats.ttest_rel(means["a"], means["b"]).confidence_interval()
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((theirs.low, theirs.high))
    assert row["measure"] == "a - b" and row["n"] == 96 and row["clusters"] == 12


@pytest.mark.parametrize("nested", [False, True])
def test_an_unbalanced_difference_has_the_cluster_robust_error(nested):
    rng = np.random.default_rng(3)
    frame = clustered(rng, 16, 5, (0.7, 0.5), 0.8).sample(frac=0.6, random_state=1)
    if nested:
        frame["group"] = np.where(frame["question"] % 2 == 0, "a", "b")
    row = factors.difference(frame, value="value", group="group", between=("a", "b")).iloc[0]
    x = add_constant((frame["group"] == "a").astype(float))
    fit = OLS(frame["value"], x).fit(
        cov_type="cluster", cov_kwds={"groups": frame["question"], "use_correction": False}
    )
    assert row["value"] == pytest.approx(fit.params["group"])
    clusters = frame["question"].nunique()
    error = fit.bse["group"] * np.sqrt(clusters / (clusters - 1))
    half = stats.t.ppf(0.975, clusters - 1) * error
    assert row["ci_high"] - row["value"] == pytest.approx(half)


@pytest.mark.parametrize("clusters", [5, 10, 20])
def test_the_difference_covers(clusters):
    """400 studies a cell; the truth is the difference of the mean probabilities."""
    rng = np.random.default_rng(clusters)
    chances, spread = (0.7, 0.5), 1.0
    many = np.random.default_rng(0).normal(0, spread, 400_000)
    truth = [(1 / (1 + np.exp(-(np.log(share / (1 - share)) + many)))).mean() for share in chances]
    covered = []
    for _ in range(400):
        frame = clustered(rng, clusters, 4, chances, spread)
        row = factors.difference(frame, value="value", group="group").iloc[0]
        if row["status"] == "ok":
            covered.append(row["ci_low"] <= truth[0] - truth[1] <= row["ci_high"])
    assert len(covered) > 380
    assert np.mean(covered) >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / 400)


def test_a_share_is_that_of_the_intervals_that_hold_at_the_edge():
    frame = clustered(np.random.default_rng(2), 10, 3, (0.6, 0.6), 0.7)
    frame.loc[::7, "value"] = np.nan
    row = shares.share(frame, value="value").iloc[0]
    valid = frame.dropna()
    sums = valid.groupby("question")["value"].agg(["sum", "size"])
    wanted = cluster_share(sums["sum"].tolist(), sums["size"].tolist())
    for name in ("value", "ci_low", "ci_high", "n", "clusters", "status"):
        assert row[name] == wanted[name], name
    assert row["n_invalid"] == frame["value"].isna().sum() and row["measure"] == "share"


def test_the_kind_of_a_mean_is_what_its_values_are():
    frame = pd.DataFrame({"p": [0.2, 0.4, 0.3, 0.6, 0.5, 0.4], "question": range(6)})
    assert shares.share(frame, value="p")["measure"].tolist() == ["probability"]
    assert shares.share(frame.assign(p=range(6)), value="p")["measure"].tolist() == ["mean"]
    low = frame.assign(p=[0.01, 0.02, 0.03, 0.01, 0.02, 0.01])
    near = shares.share(low, value="p").iloc[0]
    assert near["status"] == "edge" and np.isnan(near["ci_low"])
    with pytest.raises(KatayoriError, match="holds 2, which is no probability"):
        shares.share(frame.assign(p=[0, 1, 2, 0, 0, 0]), value="p", kind="probability")


# -- agreement -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "categories"), [(0, 2), (1, 3), (2, 5), (3, 9)])
def test_alpha_is_that_of_the_krippendorff_package(seed, categories):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, categories, 40)[:, None]
    table = np.where(rng.random((40, 4)) < 0.6, truth, rng.integers(0, categories, (40, 4)))
    table = np.where(rng.random((40, 4)) < 0.15, np.nan, table)
    for scale in SCALES:
        theirs = krippendorff.alpha(reliability_data=table.T, level_of_measurement=scale)
        row = agreement.alpha(table, scale=scale).iloc[0]
        assert row["value"] == pytest.approx(theirs, abs=1e-12)
        assert row["n_invalid"] == np.isnan(table).sum()
        assert row["ci_low"] < row["value"] < row["ci_high"]
    words = pd.DataFrame(table).map(lambda code: None if np.isnan(code) else f"word {code:g}")
    named = agreement.alpha(words, scale="nominal").iloc[0]
    nominal = agreement.alpha(table, scale="nominal").iloc[0]
    assert named["value"] == pytest.approx(nominal["value"], abs=1e-12)
    assert named["ci_low"] == pytest.approx(nominal["ci_low"], abs=1e-12)


def test_the_interval_of_nominal_alpha_is_the_jackknife_by_definition():
    rng = np.random.default_rng(4)
    codes = np.where(rng.random((30, 3)) < 0.5, rng.integers(0, 3, 30)[:, None], 1).astype(float)
    cluster = np.repeat(np.arange(10), 3)
    parts = [codes, *(codes[cluster != one] for one in range(10))]
    z, *without = (np.log(1 - alpha_closed_form(one, "nominal")) for one in parts)
    pseudo = 10 * z - 9 * np.array(without)
    half = stats.t.ppf(0.975, 9) * pseudo.std(ddof=1) / np.sqrt(10)
    row = agreement.alpha(codes, scale="nominal", cluster=cluster).iloc[0]
    assert row["ci_low"] == pytest.approx(1 - np.exp(z + half))
    assert row["ci_high"] == pytest.approx(1 - np.exp(z - half)) and row["clusters"] == 10


def test_nominal_alpha_covers():
    """400 studies of 20 questions with 3 units of 3 raters, .6 of the labels as the truth."""
    rng = np.random.default_rng(7)

    def study(questions):
        truth = rng.integers(0, 3, (questions * 3, 1))
        right = rng.random((questions * 3, 3)) < 0.6
        return np.where(right, truth, rng.integers(0, 3, (questions * 3, 3))).astype(float)

    truth = alpha_closed_form(study(60_000), "nominal")
    covered = []
    for _ in range(400):
        own = np.repeat(np.arange(20), 3)
        row = agreement.alpha(study(20), scale="nominal", cluster=own).iloc[0]
        covered.append(row["ci_low"] <= truth <= row["ci_high"])
    assert np.mean(covered) >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / 400)


def test_alpha_says_what_cannot_be_told():
    assert agreement.alpha([[1, 1], [1, 1]])["status"].tolist() == ["constant"]
    lone = agreement.alpha([["a", None], [None, "b"]], scale="nominal")
    assert lone["status"].tolist() == ["no_pairable"]
    assert agreement.alpha([["a"] * 2] * 3, scale="nominal")["status"].tolist() == ["constant"]
    rare = [["no"] * 3] * 30 + [["yes", "no", "no"]]
    row = agreement.alpha(rare, scale="nominal").iloc[0]
    assert row["status"] == "near_constant" and np.isnan(row["ci_low"]) and row["value"] < 0.1
    few = agreement.alpha([[1, 2], [4, 5], [9, 3]]).iloc[0]
    assert few["status"] == "few_clusters" and np.isfinite(few["value"])


#: The example of J. L. Fleiss' kappa in Wikipedia: 10 units, 14 raters, 5 categories; .210.
COUNTS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_fleiss_kappa_of_a_known_example_and_of_statsmodels():
    row = kappas.fleiss_kappa(COUNTS, counts=True).iloc[0]
    assert row["value"] == pytest.approx(0.20993, abs=5e-6)
    assert row["n"] == 10 and row["clusters"] == 10 and row["status"] == "ok"
    rng = np.random.default_rng(0)
    labels = rng.choice(["cat", "dog", "bird"], (30, 4), p=[0.6, 0.3, 0.1])
    theirs = their_fleiss(aggregate_raters(labels)[0])
    assert kappas.fleiss_kappa(labels)["value"].iloc[0] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("labels", [[1, 2, 3], ["a", "b", "c"], [True, False, "neither"]])
def test_cohen_kappa_by_hand_for_labels_of_any_kind(labels):
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    second = np.where(rng.random(50) < 0.5, first, second)
    agree = (first == second).mean()
    chance = sum((first == one).mean() * (second == one).mean() for one in range(3))
    row = kappas.cohen_kappa([labels[one] for one in first], [labels[one] for one in second]).iloc[
        0
    ]
    assert row["value"] == pytest.approx((agree - chance) / (1 - chance))
    assert row["ci_low"] < row["value"] < row["ci_high"] and row["n"] == 50


def test_a_kappa_leaves_out_units_that_lack_a_label_and_counts_them():
    row = kappas.cohen_kappa(["a", "b", None, "a"], ["a", "b", "b", "b"]).iloc[0]
    assert (row["n"], row["n_invalid"], row["clusters"]) == (3, 1, 3)
    assert kappas.fleiss_kappa([["a", "a"]] * 6)["status"].tolist() == ["constant"]

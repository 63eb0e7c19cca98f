"""Agreement: alpha, its bands and repeats, and kappas, by other programs, literature, jackknife."""

import itertools
import warnings
from functools import partial

import krippendorff
import numpy as np
import pandas as pd
import pytest
from made_answers import KEY, answers
from scipy import stats
from scipy.stats import t as student
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa as their_fleiss

from katayori import frames
from katayori.errors import KatayoriError
from katayori.metrics import agreement, judges, kappas, repeats, variation
from katayori.metrics.agreement import (
    BANDS,
    SCALES,
    WITHHELD,
    _tells_nothing,
    alpha_band,
    alpha_closed_form,
    told_band,
)
from katayori.metrics.intervals import FEW_CLUSTERS
from katayori.metrics.kappas import cohen_kappa

# Four coders, twelve units: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011),
# example C/D, whose interval alpha is .849.
TEXTBOOK = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
        [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
    ]
).T


def test_the_textbook_example():
    row = agreement.alpha(TEXTBOOK).iloc[0]
    assert row["value"] == pytest.approx(alpha_closed_form(TEXTBOOK), abs=1e-12)
    assert row["value"] == pytest.approx(0.849, abs=5e-4)
    assert row[["n", "n_units", "n_invalid", "status"]].tolist() == [40, 11, 7, "ok"]
    for scale in (1e-3, 1e-10):  # probabilities of a respondent that hardly varies
        assert alpha_closed_form(scale * TEXTBOOK) == pytest.approx(row["value"], abs=1e-4)


@pytest.mark.parametrize("columns", [2, 5])
def test_self_pairs_lower_the_observed_disagreement(columns):
    """The printed 1/n_i weight scales it in full rows by exactly (m - 1) / m."""
    table = np.random.default_rng(columns).random((40, columns)).round(1)
    standard, literal = (
        agreement.alpha(table, weights=one)["value"].item()
        for one in ("standard", "n_i_self_pairs")
    )
    assert 1 - literal == pytest.approx((1 - standard) * (columns - 1) / columns, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "status"),
    [
        ([[1, 1], [1, 1]], "constant"),
        ([[1, 1], [np.nan, 0]], "constant"),  # the only different value has no partner
        ([[1, np.nan], [np.nan, 0]], "no_pairable"),
        ([[1], [0]], "no_pairable"),
        ([[1, 2], [4, 5], [9, 3]], "few_clusters"),
        ([[0, 0]] * 30 + [[1, 0]], "near_constant"),
    ],
)
@pytest.mark.parametrize("scale", SCALES)
def test_undefined_alpha_has_a_status(table, status, scale):
    row = agreement.alpha(table, scale=scale).iloc[0]
    assert row["status"] == status and np.isnan(row["ci_low"])
    undefined = status in ("constant", "no_pairable")
    assert np.isnan(row["value"]) == undefined
    weights = {"interval": "standard", "nominal": "nominal"}[scale]
    assert np.isnan(alpha_closed_form(np.array(table, float), weights)) == undefined


def test_perfect_agreement_is_one_and_perfect_disagreement_negative():
    rounded = [[0.1 + 0.2, 0.3], [0.3, 0.3]]
    assert agreement.alpha(rounded)["status"].item() == "constant"
    assert np.isnan(alpha_closed_form(np.array(rounded)))
    assert agreement.alpha([[0, 0], [1, 1]])["value"].item() == 1
    assert agreement.alpha([[0, 1], [1, 0]])["value"].item() == pytest.approx(-0.5)


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


ASKED = {"value": "yes", "unit": "age", "rater": "level"}


@pytest.mark.parametrize("seed", range(3))
def test_alpha_of_a_long_frame_is_that_of_the_krippendorff_package(seed):
    frame = answers(seed, effect=0.3)
    rng = np.random.default_rng(seed)
    frame["likert"] = rng.integers(1, 6, len(frame)).astype(float)
    frame.loc[rng.random(len(frame)) < 0.1, ["yes", "likert"]] = np.nan
    words = frame["likert"].map(lambda one: f"word {one:g}" if one == one else None)
    for scale, column in (("interval", "yes"), ("interval", "likert"), ("nominal", "likert")):
        own = frame.pivot(index=["question", "age"], columns="level", values=column)
        theirs = krippendorff.alpha(reliability_data=own.T, level_of_measurement=scale)
        found = agreement.alpha(
            frame.sample(frac=1, random_state=1), **ASKED | {"value": column}, scale=scale
        ).iloc[0]
        assert found["value"] == pytest.approx(theirs, abs=1e-12)
        kept = own[own.notna().sum(axis=1) >= 2]
        assert (found["n"], found["n_units"]) == (kept.notna().sum().sum(), len(kept))
        assert found["n_invalid"] == own.isna().sum().sum() and found["clusters"] == 12
        table = own.reset_index("question").reset_index(drop=True)
        wide = agreement.alpha(table, scale=scale).iloc[0]
        assert wide[["value", "ci_low"]].tolist() == pytest.approx(found[["value", "ci_low"]])
    named = agreement.alpha(frame.assign(likert=words), **ASKED | {"value": "likert"}, **NOMINAL)
    assert named["value"].iloc[0] == pytest.approx(theirs, abs=1e-12)


NOMINAL = {"scale": "nominal"}


def test_several_answers_of_a_cell_count_as_their_mean():
    frame = pd.concat([answers(0), answers(1)])
    mean = frame.groupby(KEY, as_index=False)["yes"].mean()
    found, wanted = agreement.alpha(frame, **ASKED), agreement.alpha(mean, **ASKED)
    pd.testing.assert_frame_equal(found, wanted)
    with pytest.raises(KatayoriError, match="two labels of one question, age and level"):
        agreement.alpha(frame, **ASKED, **NOMINAL)


def test_a_level_without_a_valid_answer_is_left_out():
    frame = answers()
    frame.loc[frame["level"] == "n", "yes"] = np.nan
    found = agreement.alpha(frame, **ASKED)
    pd.testing.assert_frame_equal(found, agreement.alpha(frame.query("level != 'n'"), **ASKED))
    pairs = agreement.alpha_pairs(frame, **ASKED)
    assert pairs[["level_1", "level_2"]].to_numpy().tolist() == [["f", "m"]]
    assert agreement.alpha_pairs(frame, **ASKED, reference="n").empty
    with pytest.raises(KatayoriError, match="no 'x' in column 'level', which has 'f', 'm', 'n'"):
        agreement.alpha_pairs(frame, **ASKED, reference="x")


def test_pairs_of_a_reference_are_those_of_two_levels_alone():
    frame = answers(effect=0.4)
    pairs = agreement.alpha_pairs(frame, **ASKED, reference="m")
    assert pairs[["level_1", "level_2"]].to_numpy().tolist() == [["m", "f"], ["m", "n"]]
    alone = agreement.alpha(frame[frame["level"] != "n"], **ASKED)
    columns = list(frames.GIVEN)
    pd.testing.assert_frame_equal(pairs[columns].head(1), alone[columns])
    assert len(agreement.alpha_pairs(frame, **ASKED)) == 3


def test_repeats_give_the_alpha_of_the_probabilities():
    """200 questions asked 20 times: near the alpha of the true probabilities, which once is not."""
    rng = np.random.default_rng(0)
    cells = pd.DataFrame(itertools.product(range(200), "ab"), columns=["question", "level"])
    cells["p"] = rng.beta(2, 2, 200)[cells["question"]]
    cells["p"] = (cells["p"] + rng.normal(0, 0.1, len(cells))).clip(0, 1)
    many = cells.loc[cells.index.repeat(20)].reset_index(drop=True)
    many["yes"] = (rng.random(len(many)) < many["p"]).astype(float)
    columns = {"value": "yes", "rater": "level"}
    truth = agreement.alpha(cells, value="p", rater="level")["value"].iloc[0]
    found = repeats.alpha_from_repeats(many, **columns).iloc[0]
    assert found["ci_low"] < truth < found["ci_high"] and abs(found["value"] - truth) < 0.05
    once = agreement.alpha(many.drop_duplicates(["question", "level"]), **columns)["value"].iloc[0]
    assert once < truth - 0.3 and 0 < found["noise_share"] < 0.9


def replicates(n_questions: int) -> pd.DataFrame:
    """Four answers to each of two levels in three rows of every question, levels unlike."""
    rng = np.random.default_rng(1)
    index = np.indices((n_questions, 3, 2, 4)).reshape(4, -1)
    chance = np.where(index[2] == 0, 0.3, 0.7) + 0.05 * (index[0] % 3)
    value = (rng.random(chance.size) < chance).astype(float)
    return pd.DataFrame({"q": index[0], "row": index[1], "level": index[2], "value": value})


@pytest.mark.parametrize(("n_questions", "given"), [(4, False), (5, True)])
def test_alpha_from_replicates_has_an_interval_from_five_questions_on(n_questions, given):
    found = repeats.alpha_from_replicates(
        replicates(n_questions), level="level", row="row", question="q"
    )
    assert found["clusters"] == n_questions and found["status"] == "ok"
    assert np.isfinite(found["ci_low"]) == given


def test_the_interval_of_alpha_from_replicates_is_the_jackknife_of_its_definition():
    """Pseudo-values n a - (n - 1) a_q, their mean's t interval around a."""
    answers = replicates(8)
    columns = {"level": "level", "row": "row", "question": "q"}
    found = repeats.alpha_from_replicates(answers, **columns)
    without = [
        repeats.alpha_from_replicates(answers[answers["q"] != one], **columns)["alpha"]
        for one in range(8)
    ]
    pseudo = 8 * found["alpha"] - 7 * np.array(without)
    half = student.ppf(0.975, 7) * pseudo.std(ddof=1) / np.sqrt(8)
    assert found["ci_high"] - found["alpha"] == pytest.approx(half, rel=1e-9)


def test_near_constant_and_single_answers_have_a_status():
    columns = {"level": "level", "row": "row", "question": "q"}
    drawn = replicates(6)
    alike = drawn.assign(value=np.random.default_rng(8).integers(0, 2, len(drawn)) * 1.0)
    assert repeats.alpha_from_replicates(alike, **columns)["status"] == "mostly_noise"
    same = repeats.alpha_from_replicates(drawn.assign(value=1.0), **columns)
    assert same["status"] == "constant"
    found = repeats.alpha_from_replicates(drawn.drop_duplicates(["q", "row", "level"]), **columns)
    assert found["status"] == "no_replicates" and np.isnan(found["alpha"])


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


def test_a_kappa_leaves_out_units_that_lack_a_label_and_counts_them():
    row = kappas.cohen_kappa(["a", "b", None, "a"], ["a", "b", "b", "b"]).iloc[0]
    assert (row["n"], row["n_invalid"], row["clusters"]) == (3, 1, 3)
    assert kappas.fleiss_kappa([["a", "a"]] * 6)["status"].tolist() == ["constant"]


def test_fleiss_has_no_value_where_all_say_one_thing_or_one_rates():
    gaps = pd.DataFrame({"a": list("12t"), "b": ["1", "2", None], "c": list("1tt")})
    assert kappas.fleiss_kappa(gaps)[["n", "n_invalid"]].to_numpy().tolist() == [[2, 1]]
    assert kappas.fleiss_kappa(gaps.assign(a="1", b="1", c="1"))["status"].item() == "constant"
    assert kappas.fleiss_kappa(gaps[["a"]])["status"].item() == "one_annotator"


def test_the_interval_of_agreement_is_the_jackknife_over_questions():
    """By hand: the plain value, and the t interval of the pseudo-values of questions left out."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 24)
    heard = [np.where(rng.random(24) < 0.7, truth, rng.integers(0, 3, 24)) for _ in "ab"]
    question = np.arange(24) // 3
    found = cohen_kappa(
        pd.DataFrame(dict(zip("ab", heard, strict=True))), cluster=question.tolist()
    )

    def kappa(kept):
        p = np.zeros((3, 3))
        np.add.at(p, (heard[0][kept], heard[1][kept]), 1 / kept.sum())
        chance = p.sum(axis=0) @ p.sum(axis=1)
        return (np.trace(p) - chance) / (1 - chance)

    whole = kappa(np.ones(24, bool))
    pseudo = 8 * whole - 7 * np.array([kappa(question != one) for one in range(8)])
    half = student.ppf(0.975, 7) * pseudo.std(ddof=1) / np.sqrt(8)
    wanted = [whole, whole - half, whole + half]
    assert found[["value", "ci_low", "ci_high"]].to_numpy(float)[0] == pytest.approx(wanted)


def test_tables_may_be_frames_arrays_or_lists():
    rows = [[1, 2, 3], [2, 2, 3], [3, 3, 3], [1, 1, None], [2, 3, 2], [1, 3, 1]]
    whole = agreement.alpha(rows)
    pd.testing.assert_frame_equal(agreement.alpha(np.array(rows, float)), whole)
    pd.testing.assert_frame_equal(agreement.alpha(pd.DataFrame(rows)), whole)
    named = pd.DataFrame(rows, columns=["a", "a", "b"]).assign(unit=range(6))
    pd.testing.assert_frame_equal(agreement.alpha(named, cluster="unit"), whole)
    with pytest.raises(KatayoriError, match="no column 'case' of clusters"):
        agreement.alpha(named, cluster="case")
    with pytest.raises(KatayoriError, match="6 units and 2 clusters"):
        agreement.alpha(rows, cluster=["a", "b"])


@pytest.mark.parametrize("wrong", [[1, 2, 3], np.arange(3), [], "table"])
def test_what_is_no_table_is_said_to_be_none(wrong):
    for function in (agreement.alpha, kappas.fleiss_kappa):
        with pytest.raises(KatayoriError, match="give labels"):
            function(wrong)


def test_wrong_scales_raters_and_counts_are_named():
    with pytest.raises(KatayoriError, match="unknown scale 'ordinal'; known: interval, nominal"):
        agreement.alpha([[1, 2], [2, 2]], scale="ordinal")
    with pytest.raises(KatayoriError, match="'yes' is no number, which scale='interval' needs"):
        agreement.alpha([["yes", "no"], ["no", "no"]], scale="interval")
    with pytest.raises(KatayoriError, match="3 raters; it is of two"):
        kappas.cohen_kappa([[1, 2, 3], [2, 2, 3], [1, 1, 1]])
    with pytest.raises(KatayoriError, match="3 labels and 2"):
        kappas.cohen_kappa([1, 2, 3], [1, 2])
    assert kappas.fleiss_kappa([[2, 0, 0], [1, 1, 0]], counts=True)["n"].item() == 2
    for counts in ([[3, 0], [1, 1]], [[1.5, 1.5], [2, 1]], [["a", "b"], ["b", "a"]]):
        with pytest.raises(KatayoriError, match="counts are whole numbers with the same sum"):
            kappas.fleiss_kappa(counts, counts=True)


@pytest.mark.parametrize(
    "verb", [partial(agreement.alpha, **NOMINAL), kappas.fleiss_kappa, cohen_kappa]
)
def test_a_column_question_tells_the_clusters_and_is_never_a_rater(verb):
    """The kappas took it for a third rater where no cluster was named."""
    table = pd.DataFrame([["a", "a"], ["b", "b"], ["a", "b"], ["b", "b"]] * 5, columns=["x", "y"])
    number = [number // 2 for number in range(20)]
    named = table.assign(question=number)
    whole = verb(table, cluster=number)
    assert whole["clusters"].item() == 10
    pd.testing.assert_frame_equal(verb(named), whole)
    alone = verb(table)
    assert alone["clusters"].item() == 20
    pd.testing.assert_frame_equal(verb(named, cluster=None), alone)
    pd.testing.assert_frame_equal(verb(named.assign(unit=range(20)), cluster="unit"), alone)


@pytest.mark.parametrize(
    ("verb", "rows", "end", "limit"),
    [
        (kappas.fleiss_kappa, "aa bb aa bb aa ab", "ci_high", 1),
        (cohen_kappa, "aa bb aa bb aa ab", "ci_high", 1),
        (kappas.fleiss_kappa, "ab ba ab ba ab bb", "ci_low", -1),
        (cohen_kappa, "ab ba ab ba ab bb", "ci_low", -1),
        (kappas.fleiss_kappa, "aab bba aab bba aab bbb", "ci_low", -1 / 2),
    ],
)
def test_an_interval_of_kappa_ends_where_kappa_ends(verb, rows, end, limit):
    """Of six units the interval by t went beyond 1, and below what so many raters can have."""
    row = verb([list(one) for one in rows.split()]).iloc[0]
    assert row["status"] == "ok" and row[end] == limit
    assert row["ci_low"] < row["value"] < row["ci_high"]


NAN = np.nan

#: What stands where a label is missing, as it is and as its text.
MISSING = (None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"))
TEXTS = ("", " ", "nan", "NaN", "None", "<NA>", "NaT")


@pytest.mark.parametrize("hole", [*MISSING, *TEXTS], ids=repr)
def test_a_missing_label_is_missing_in_every_measure_and_shape(hole):
    """An array of texts holds "nan" where a list holds NaN: both are no category."""
    rows = [
        [hole if one == "?" else one for one in row] for row in "AA BB B? AB AA BB AA ?B".split()
    ]
    shapes = [rows, np.array(rows, dtype=object), pd.DataFrame(rows)]
    shapes += [np.array(rows)] if isinstance(hole, str) else []
    for table in shapes:
        row = agreement.alpha(table, **NOMINAL).iloc[0]
        assert (row["n"], row["n_invalid"]) == (12, 2)
        assert row["value"] == pytest.approx(0.6857, abs=5e-5)
        found = [
            kappas.fleiss_kappa(table),
            cohen_kappa(table),
            cohen_kappa(*zip(*rows, strict=True)),
        ]
        assert pd.concat(found)[["n", "n_invalid"]].to_numpy().tolist() == [[6, 2]] * 3
    long = pd.DataFrame(rows, columns=["ann", "ben"]).rename_axis("question").reset_index()
    melted = long.melt("question", var_name="rater", value_name="label")
    named = agreement.alpha(melted, value="label", rater="rater", **NOMINAL)
    assert named[["n", "n_invalid"]].to_numpy().tolist() == [[12, 2]]
    heard = judges.concordance(long, judge="ann", people="ben")
    assert heard[["n", "n_missing", "n_invalid"]].to_numpy().tolist() == [[7, 1, 1]]
    varied = variation.varies(melted, value="label", unit="question", factors=["rater"])
    assert varied["unreadable"].sum() == 2
    numbers = agreement.alpha([[1, hole], [1, 1], [2, 2]])
    assert numbers[["n", "n_invalid"]].to_numpy().tolist() == [[4, 1]]


@pytest.mark.parametrize(
    "label", [["a"], {"a": 1}, {"a"}, ("a", "b"), np.array(["a", "b"])], ids=repr
)
def test_labels_that_are_lists_are_refused_in_one_line(label):
    for call in (
        lambda: agreement.alpha([[label, label], ["a", "b"]], **NOMINAL),
        lambda: kappas.fleiss_kappa([[label, label], ["a", "b"]]),
        lambda: cohen_kappa([label, "a"], ["a", "b"]),
    ):
        with pytest.raises(
            KatayoriError, match=r"^\w+: .* is no single label; give labels, e\.g\."
        ):
            call()
    frame = pd.DataFrame({"question": [1, 1], "rater": ["x", "y"]}).assign(yes=[["a"], ["b"]])
    for own in ({"value": "yes", "rater": "rater"}, {"value": "rater", "rater": "yes"}):
        with pytest.raises(KatayoriError, match=r"column 'yes' holds \['a'\] \(2 of 2 rows"):
            agreement.alpha(frame, **own, **NOMINAL)


WORDS = list("ABAB")


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: agreement.alpha([WORDS, WORDS], **NOMINAL), "2 units and 4 raters; .*table.T"),
        (lambda: kappas.fleiss_kappa(np.array([WORDS] * 3)), "3 units and 4 raters; .*table.T"),
        (lambda: cohen_kappa([WORDS, WORDS]), "2 units and 4 raters; .*table.T"),
        (lambda: agreement.alpha([[1, 0, 1], [1, 0]]), "rows of 2 and 3 labels; give None"),
        (lambda: cohen_kappa("aab", "aab"), "'aab' is no list of labels"),
        (lambda: cohen_kappa([1.0, 2.0], ["1", "2"]), "is there as number and as text"),
        (lambda: agreement.alpha([[1, "1"], [0, "x"]], **NOMINAL), "1 is there as number and"),
        (lambda: cohen_kappa({"u": 1}, {"u": 1}), "is no list of labels"),
        (lambda: cohen_kappa(WORDS, WORDS, cluster=[1, None, 1, 2]), "a cluster is missing"),
    ],
)
def test_a_table_that_is_turned_or_ragged_is_refused(call, line):
    with pytest.raises(KatayoriError, match=line):
        call()
    wide = agreement.alpha([WORDS, WORDS], cluster=[1, 2], **NOMINAL)
    assert wide["n_units"].item() == 2, "what is said to be two units is taken"


ONE_OF_SIX = list("aabaaa")


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (lambda: cohen_kappa(["a"] * 6, ONE_OF_SIX), "one_question_decides"),
        (lambda: kappas.fleiss_kappa([["a", one] for one in ONE_OF_SIX]), "one_question_decides"),
        (lambda: agreement.alpha([["a", one] for one in ONE_OF_SIX], **NOMINAL), "near_constant"),
        (lambda: agreement.alpha([[0, 0], [1, 1]] * 2 + [[0, 1], [1, 0]]), "few_answers"),
        (lambda: agreement.alpha([[0, 0], [1, 1], [2, 2]] * 4 + [[0, 1]]), "one_question_decides"),
        (lambda: agreement.alpha([[0, 0]] * 6 + [[1, 2]]), "one_question_decides"),
        (lambda: agreement.alpha([[0, 0], [1, 1]]), "few_clusters"),
    ],
)
def test_a_value_without_interval_says_the_true_reason(found, status):
    """Any warning is an error: nothing of this is on the screen."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = found().iloc[0]
    assert row["status"] == status and np.isfinite(row["value"]) and np.isnan(row["ci_low"])


def package(table):
    return krippendorff.alpha(
        reliability_data=np.asarray(table, float).T, level_of_measurement="interval"
    )


def found_of(table, **more):
    """The row of a table whose index names the question first, or of units alone."""
    if isinstance(table, pd.DataFrame):
        more = {"cluster": table.index.get_level_values(0).to_numpy(), **more}
    return agreement.alpha(np.asarray(table, float), **more).iloc[0]


def stacked(values, questions):
    """A contingency table: rows of `values` dealt to `questions` in blocks."""
    index = pd.MultiIndex.from_product([range(questions), range(len(values) // questions)])
    return pd.DataFrame(values, index=index)


def drawn(rng, questions=70, share=0.5, effect=0.0, spread=0.0):
    """Answers of questions x 15 rows x 3 levels; `effect` moves the levels, opposite ways by
    question."""
    side = rng.choice([-1, 1], (questions, 1, 1)) * effect * np.array([-1, 0, 1])
    own = rng.normal(0, spread, (questions, 1, 1))
    yes = rng.random((questions, 15, 3)) < np.clip(share + own + side, 0, 1)
    return stacked(yes.reshape(-1, 3) * 1.0, questions)


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (-1, "beyond-chance disagreement"),
        (np.nextafter(0, -1), "beyond-chance disagreement"),
        (0.0, "none"),
        (-0.0, "none"),
        (2 / 3, "none"),
        (np.nextafter(2 / 3, 1), "weak"),
        (0.8, "weak"),
        (np.nextafter(0.8, 1), "strong"),
        (1.0, "strong"),
        (NAN, "undefined"),
    ],
)
def test_boundary_values_belong_to_the_lower_band(value, band):
    """DE-25."""
    assert alpha_band(value) == band


@pytest.mark.parametrize(
    "ends, told",
    [
        ((-0.3, -0.1), BANDS[0][1]),
        ((0.1, 0.6), "none"),
        ((-0.3, 0.1), WITHHELD),
        ((0.6, 0.7), WITHHELD),
        ((NAN, NAN), WITHHELD),
    ],
)
def test_a_band_that_the_interval_stays_in_is_told(ends, told):
    assert told_band(ends, FEW_CLUSTERS) == told
    assert told_band(ends, FEW_CLUSTERS - 1) == WITHHELD


def test_fair_answers_around_zero_have_no_band():
    """Alpha -0.000 with an interval on both sides of 0 is no disagreement beyond chance."""
    rng = np.random.default_rng(0)
    found = pd.DataFrame([found_of(drawn(rng)) for _ in range(40)])
    around = (found["ci_low"] < 0) & (found["ci_high"] > 0)
    assert around.mean() > 0.8 and set(found.loc[around, "band"]) == {WITHHELD}


def test_disagreement_beyond_chance_is_told_where_it_was_planted():
    found = found_of(drawn(np.random.default_rng(0), effect=0.45))
    assert found["ci_high"] < 0 and found["band"] == BANDS[0][1]


@pytest.mark.parametrize(
    ("shape", "yes", "word"),
    [
        ((100, 3), 20, "near_constant"),  # by chance 300 * .0667 ** 2 = 1.3 pairs
        ((100, 3), 60, ""),  # 300 * .2 ** 2 = 12
        ((20, 2), 20, ""),  # 20 * .5 ** 2 = 5 pairs are enough
        ((21, 2), 20, "few_answers"),
        ((6, 2), 6, "few_answers"),
        ((6, 2), 1, "near_constant"),
    ],
)
def test_near_constant_counts_the_pairs_that_chance_would_make(shape, yes, word):
    table = np.zeros(shape)
    table.ravel()[:yes] = 1
    assert _tells_nothing(table) == word
    assert _tells_nothing(table / 2) == word, "any two values"


def test_probabilities_may_all_be_near_one_value():
    rng = np.random.default_rng(0)
    assert not _tells_nothing(rng.uniform(0.96, 0.99, (50, 3)))
    assert not _tells_nothing(np.full((3, 3), NAN))


def test_no_interval_of_width_zero():
    """Levels that never differ: alpha is 1, and nothing tells how sure that is."""
    found = found_of(stacked(np.repeat(np.arange(60.0)[:, None] / 60, 3, axis=1), 12))
    assert found["value"] == 1 and np.isnan(found["ci_low"])
    assert (found["status"], found["band"]) == ("no_variation", WITHHELD)


def test_the_interval_is_the_jackknife_by_definition():
    """Slow and obvious: leave each question out of the table, log(1 - alpha), pseudo-values, t."""
    one = drawn(np.random.default_rng(3), questions=8, spread=0.3)
    z = np.log(1 - package(one))
    without = [np.log(1 - package(one.drop(question, level=0))) for question in range(8)]
    pseudo = 8 * z - 7 * np.array(without)
    half = 2.364624 * pseudo.std(ddof=1) / np.sqrt(8)
    found = found_of(one)
    ends = 1 - np.exp(z + half), 1 - np.exp(z - half)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(ends, abs=1e-6)


def test_a_very_rare_answer_is_told_nothing_of():
    """23 "no" by chance, no two in one row, give the lowest alpha they can: shuffling the answers
    inside questions shows that nothing is behind it, and no interval and no band are given."""
    values = np.ones((70, 135))
    for question, times in enumerate([1] * 14 + [2] * 3 + [3]):
        values[question, 7 * question + 5 * np.arange(times)] = 0
    found = found_of(stacked(values.reshape(-1, 5), 70))
    assert found["value"] == pytest.approx(-22 / 9427, abs=1e-12)
    assert (found["status"], found["band"]) == ("near_constant", WITHHELD)
    rng = np.random.default_rng(0)
    shuffled = [alpha_closed_form(rng.permuted(values, axis=1).reshape(-1, 5)) for _ in range(60)]
    assert np.mean(np.array(shuffled) <= found["value"] + 1e-12) > 0.3

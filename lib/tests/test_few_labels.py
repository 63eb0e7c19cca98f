"""Few labels, many verdicts: the formula of PPI++, its coverage, and judges that know nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from katayori.frames import FrameError, not_asked, reason_of
from katayori.metrics import few_labels
from katayori.metrics.few_labels import power_tuned

NAMES = {"label": "label", "verdict": "verdict", "cluster": "cluster"}

#: Made once with ppi-python 0.2.3 (ppi_mean_pointestimate and half the width of ppi_mean_ci at .05
#: by the normal quantile) on the draws of `drawn`: seed, n, others, rate, agreement, value, error.
OF_THE_PACKAGE = [
    (0, 60, 300, 0.5, 0.8, 0.5722589226085852, 0.04870327088348545),
    (1, 100, 1000, 0.3, 0.9, 0.3549619848779625, 0.01825960583580529),
    (2, 50, 80, 0.7, 0.6, 0.7692222074942647, 0.0500329086784478),
    (3, 200, 500, 0.55, 0.5, 0.6016805103762175, 0.028890498709171156),
]


def win_rate(frame, **more):
    """The one row of a frame."""
    return few_labels.win_rate(frame, **NAMES, **more).iloc[0].to_dict()


def corrected_rate(frame):
    return few_labels.corrected_rate(frame, **NAMES).iloc[0].to_dict()


def error_if_independent(labels, verdicts, unlabelled, weight):
    """Standard error if all comparisons were independent, which is what the package gives."""
    rectifier = (labels - weight * verdicts).std() / np.sqrt(len(labels))
    imputed = weight * unlabelled.std() / np.sqrt(len(unlabelled))
    return float(np.hypot(rectifier, imputed))


def drawn(rng, k, rate, agrees):
    label = rng.choice([0, 0.5, 1], k, p=[1 - rate - 0.1, 0.1, rate])
    verdict = np.where(rng.random(k) < agrees, label, rng.choice([0, 0.5, 1], k))
    return label, verdict


@pytest.mark.parametrize(
    ("seed", "n", "others", "rate", "agrees", "value", "error"), OF_THE_PACKAGE
)
def test_the_formula_is_that_of_the_package(seed, n, others, rate, agrees, value, error):
    rng = np.random.default_rng(seed)
    label, verdict = drawn(rng, n, rate, agrees)
    _, rest = drawn(rng, others, rate, agrees)
    ours, weight = power_tuned(label, verdict, rest)
    assert ours == pytest.approx(value, abs=1e-8)
    found = error_if_independent(label, verdict, rest, weight)
    assert found == pytest.approx(error, abs=1e-8)


@pytest.mark.parametrize(
    ("seed", "n", "others", "rate", "agrees", "value", "error"),
    [one for one in OF_THE_PACKAGE if one[0] != 2],  # which has few labels on one side
)
def test_where_each_comparison_is_a_cluster_the_error_is_that_of_the_package(
    seed, n, others, rate, agrees, value, error
):
    """But for the factor of small samples and the quantile of t."""
    rng = np.random.default_rng(seed)
    label, verdict = drawn(rng, n, rate, agrees)
    _, rest = drawn(rng, others, rate, agrees)
    both = {"label": [*label, *[np.nan] * others], "verdict": [*verdict, *rest]}
    found = win_rate(pd.DataFrame(both).assign(cluster=range(n + others)))
    half = stats.t.ppf(0.975, n - 1) * error * np.sqrt(n / (n - 1))
    assert found["value"] == pytest.approx(value, abs=1e-8)
    assert found["ci_high"] - found["value"] == pytest.approx(half, rel=1e-6)


def study(rng, rate, *, clusters=150, per=4, labelled=30, agrees=0.85, together=0.2):
    """Comparisons of questions that share what decides them; some questions are labelled."""
    cluster = np.repeat(np.arange(clusters), per)
    size = (1 - together) / together
    chance = rng.beta(rate * size, (1 - rate) * size, clusters)[cluster]
    label = (rng.random(len(cluster)) < chance).astype(float)
    verdict = np.where(rng.random(len(cluster)) < agrees, label, 1 - label)
    frame = pd.DataFrame({"cluster": cluster, "label": label, "verdict": verdict})
    frame.loc[frame["cluster"] >= labelled, "label"] = np.nan
    return frame


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8])
def test_the_interval_holds_for_rates_of_a_fifth_to_four_fifths(rate, monkeypatch):
    monkeypatch.setattr(few_labels, "RESAMPLES", 2)
    rng = np.random.default_rng(int(10 * rate))
    held, defined = 0, 0
    for _ in range(300):
        found = win_rate(study(rng, rate))
        defined += found["status"] == "ok"
        held += found["ci_low"] <= rate <= found["ci_high"]
    assert held / defined >= 0.95 - 0.025  # two standard errors of 300 draws


def test_a_good_judge_saves_labels_and_lots_save_none():
    rng = np.random.default_rng(0)
    good = [win_rate(study(rng, 0.5, agrees=0.9))["saved"] for _ in range(12)]
    lots = [win_rate(study(rng, 0.5, agrees=0.5))["saved"] for _ in range(12)]
    assert np.mean(good) > 0.35 and abs(np.mean(lots)) < 0.05
    found = win_rate(study(rng, 0.5, agrees=0.9))
    assert found["saved_low"] < found["saved"] < found["saved_high"]
    assert found["alone_high"] - found["alone_low"] > found["ci_high"] - found["ci_low"]


def test_too_few_labels_give_a_value_and_no_interval():
    frame = study(np.random.default_rng(2), 0.5, labelled=12)  # 48 labels
    found = win_rate(frame)
    assert found["status"] == "few_labels" and np.isnan(found["ci_low"]) and found["value"] > 0
    one_sided = study(np.random.default_rng(2), 0.5)
    one_sided.loc[one_sided["label"] == 0, "label"] = np.nan
    assert win_rate(one_sided)["status"] == "few_labels"
    assert win_rate(frame.assign(label=np.nan))["status"] == "no_labels"
    two_clusters = study(np.random.default_rng(2), 0.5, per=60, labelled=2)
    assert win_rate(two_clusters)["status"] == "few_clusters"


def test_the_corrected_rate_undoes_known_errors():
    rng = np.random.default_rng(4)
    values, held = [], 0
    for _ in range(200):
        frame = study(rng, 0.3, agrees=0.8, labelled=60)
        found = corrected_rate(frame)
        values.append(found["value"])
        held += found["ci_low"] <= 0.3 <= found["ci_high"]
    assert np.mean(values) == pytest.approx(0.3, abs=0.02)
    assert held / 200 >= 0.91
    raw = corrected_rate(study(rng, 0.3, agrees=0.8, labelled=60))["raw"]
    assert raw > 0.33  # what the verdicts alone would say is .38


def test_a_judge_that_draws_lots_is_called_uninformative():
    rng = np.random.default_rng(5)
    statuses = [corrected_rate(study(rng, 0.5, agrees=0.5))["status"] for _ in range(100)]
    assert statuses.count("judge_uninformative") >= 93
    found = corrected_rate(study(rng, 0.5, agrees=0.5))
    assert np.isnan(found["value"]) and found["informed_low"] <= 0


def test_ties_are_left_out_of_two_classes_and_counted():
    frame = study(np.random.default_rng(6), 0.5)
    frame.loc[:19, "verdict"] = 0.5
    frame.loc[20:29, "label"] = 0.5
    found = corrected_rate(frame)
    assert (found["n_tied"], found["n"], found["n_labels"]) == (30, 570, 90)
    assert corrected_rate(frame[:40])["status"] == "few_labels"


# -- as verbs --------------------------------------------------------------------------------------


def test_no_verdict_at_all_is_told_and_counted():
    frame = study(np.random.default_rng(8), 0.5).assign(verdict=np.nan)
    found = win_rate(frame)
    assert (found["status"], found["n"], found["n_invalid"]) == ("no_labels", 0, 600)
    found = corrected_rate(frame)
    assert (found["status"], found["n"], found["n_invalid"]) == ("few_labels", 0, 600)


@pytest.mark.parametrize("verb", [few_labels.win_rate, few_labels.corrected_rate])
def test_what_was_not_asked_goes_on_and_wrong_columns_are_refused(verb):
    nothing = not_asked("no people", ["label", "verdict", "cluster"])
    assert reason_of(verb(nothing, **NAMES)) == "no people"
    frame = study(np.random.default_rng(9), 0.5)
    with pytest.raises(FrameError, match=f"{verb.__name__}: no column 'person'"):
        verb(frame, **NAMES | {"label": "person"})
    with pytest.raises(FrameError, match="no column 'question'"):
        verb(frame, label="label", verdict="verdict")
    with pytest.raises(FrameError, match="column 'verdict' holds 'tie'"):
        verb(frame.assign(verdict="tie"), **NAMES)

"""Sentences about the simulated power tables, computed from them (see `overview.power`)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
#: What tests promise that take the answers of one cluster as independent.
ALONE = "level for independent answers"
#: A rate above the level in a table of many cells: one cell in twenty lies out by chance, so that
#: the exact interval of a single cell is taken at 1 - .05 / number of cells.
FAMILY = 0.05


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _rate(rows: "pd.DataFrame") -> tuple[float, int]:
    """Share found among the studies in which the test is defined, and their number."""
    tested = (rows["repetitions"] - rows["undefined"]).sum()
    positives = (rows["rate"] * rows["repetitions"]).round().sum()
    return (float(positives / tested) if tested else float("nan")), int(tested)


def levels(power: "pd.DataFrame") -> "pd.DataFrame":
    """False positives by test: pooled over its cells, in the worst cell, and what that says.

    Only cells in which nothing that the test looks for is planted. `found`: `above 5 %` where some
    cell's rate cannot be chance over all cells of the test (exact binomial, adjusted for their
    number, at most 5 % of such tables would show one), else `not above 5 %`; `no test` for what
    promises nothing.

    Returns:
        measure, test, promises, cells, studies (in which the test is defined), undefined, pooled,
        lowest, highest (rates of single cells), found.
    """
    import pandas as pd
    from scipy.stats import binom

    rows = []
    null = power[power["null"]]
    for (measure, test, promises), own in null.groupby(["measure", "test", "promises"], sort=False):
        tested = own["repetitions"] - own["undefined"]
        own, tested = own[tested > 0], tested[tested > 0]
        hits = (own["rate"] * own["repetitions"]).round()
        pooled, studies = _rate(own)
        above = (binom.sf(hits - 1, tested, LEVEL) < FAMILY / max(len(own), 1)).any()
        verdict = "above 5 %" if above else "not above 5 %"
        row = {
            "measure": measure,
            "test": test,
            "promises": promises,
            "cells": len(own),
            "studies": studies,
            "undefined": int(own["undefined"].sum()),
            "pooled": pooled,
            "lowest": (hits / tested).min(),
            "highest": (hits / tested).max(),
            "found": "no test" if promises == "nothing" else verdict,
        }
        rows.append(row)
    return pd.DataFrame(rows)


def level_sentences(power: "pd.DataFrame") -> list[str]:
    """Which tests keep the level they promise at every size, and which do not."""
    tests = levels(power)
    promised = tests[tests["promises"] == "level"]
    kept = promised[promised["found"] != "above 5 %"]
    broken = tests[(tests["found"] == "above 5 %") & (tests["promises"] != ALONE)]
    out = [
        f"{len(kept)} of {len(promised)} tests that promise their level show no rate above 5 % in "
        f"any cell beyond what chance over the cells gives: {_named(kept)}."
    ]
    out += [
        f"{row['measure']}, {row['test']} (promises: {row['promises']}) finds something where "
        f"there is nothing in up to {_percent(row['highest'])} of studies."
        for row in broken.to_dict("records")
    ]
    low = kept[kept["pooled"] < LEVEL / 2]
    if len(low):
        out.append(f"Far below 5 % lie {_named(low)}: cautious, which costs power.")
    return out


def _named(rows: "pd.DataFrame") -> str:
    names = [
        f"{row['measure']}, {row['test']} ({_percent(row['pooled'])})"
        for row in rows.to_dict("records")
    ]
    return "; ".join(names) or "none"


def at_paper_size(power: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of the largest size of each measure."""
    largest = power.groupby("measure")[["clusters", "per_cluster"]].transform("max")
    return power[
        (power["clusters"] == largest["clusters"])
        & (power["per_cluster"] == largest["per_cluster"])
    ]


def band_sentences(power: "pd.DataFrame") -> list[str]:
    """How often "alpha at or below 2/3" holds without any effect, by the shape of P(yes)."""
    none = at_paper_size(power)
    none = none[none["test"].str.startswith("band") & (none["planted"] == "none")]
    out = []
    for setting, own in none[none["setting"].str.endswith("age 0")].groupby("setting", sort=False):
        rate, studies = _rate(own)
        shape = str(setting).split(",")[0]
        out.append(f"{shape} {_percent(rate)} of {studies} studies")
    if not out:
        return []
    return [
        'The paper\'s band "alpha at or below 2/3" is no test. Without any effect of any '
        f"attribute, one sampled answer a prompt, it holds for respondents that are "
        f"{'; '.join(out)}. It says how a model answers before it says anything about attributes."
    ]


def blindness_sentences(power: "pd.DataFrame", effect: float = 0.2) -> list[str]:
    """How often gender is found beside age, by exchange inside rows and by dealing everything."""
    table = at_paper_size(power)
    table = table[(table["effect"] == effect) & (table["planted"] == "common")]
    table = table[table["setting"].str.startswith("hesitant")]
    parts = []
    for setting, own in table.groupby("setting", sort=False):
        inside, _ = _rate(own[own["test"].str.startswith("any effect")])
        dealt, _ = _rate(own[own["test"].str.startswith("no attribute")])
        direction, _ = _rate(own[own["test"].str.startswith("common")])
        age = str(setting).split("age ")[1]
        parts.append(
            f"with an effect of age of {age}: {_percent(dealt)} by dealing all answers of a "
            f"question, {_percent(inside)} by exchange inside rows, {_percent(direction)} for the "
            "common direction"
        )
    if not parts:
        return []
    return [
        f"An effect of gender of {effect:g} (hesitant respondents, the paper's size) is found "
        f"{'; '.join(parts)}. Dealing all answers asks whether any attribute matters: it is no "
        "test of gender."
    ]


def direction_sentences(power: "pd.DataFrame") -> list[str]:
    """How two tests behave where the effect of gender has another direction in each question.

    Args:
        power: `overview.power`; one sentence, or none where no such studies were drawn. Settings
            of nearly constant answers (their names begin with "near") are left out.
    """
    table = power[power["planted"] == "by question"]
    if table.empty:
        return []
    direction, studies = _rate(table[table["test"].str.startswith("common")])
    strongest = at_paper_size(table)
    strongest = strongest[strongest["effect"] == strongest["effect"].max()]
    strongest = strongest[~strongest["setting"].str.startswith("near")]
    inside, _ = _rate(strongest[strongest["test"].str.startswith("any effect")])
    return [
        "Where gender works in every question another way, the test of a common direction rejects "
        f"in {_percent(direction)} of {studies:,} studies (5 % is its level); the test of any "
        f"effect finds the strongest of these effects in {_percent(inside)} of studies at the "
        "paper's size."
    ]


def few_clusters_sentences(power: "pd.DataFrame") -> list[str]:
    """Tests that take answers of one cluster as independent, where there is nothing to find."""
    tests = levels(power)
    wrong = tests[tests["promises"] == ALONE]
    return [
        f"{row['measure']}, {row['test']}: finds a difference in {_percent(row['lowest'])} to "
        f"{_percent(row['highest'])} of studies in which there is none, since it takes answers of "
        "one cluster as independent."
        for row in wrong.to_dict("records")
        if row["highest"] > LEVEL
    ]


def sentences(power: "pd.DataFrame") -> str:
    """All of them, one paragraph each."""
    parts: list[Any] = [
        *level_sentences(power),
        *blindness_sentences(power),
        *direction_sentences(power),
        *band_sentences(power),
        *few_clusters_sentences(power),
    ]
    return "\n".join(f"- {part}" for part in parts)

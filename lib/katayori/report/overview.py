"""What the overview notebook lists: papers, recorded shards, bias profiles, power."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.data import paper_facts
from katayori.papers import get_paper
from katayori.report.results import read_results

if TYPE_CHECKING:
    import pandas as pd

    from katayori.data.catalogue import Dataset

#: The edition that is read where a paper says which data sets it continues (`Paper.continues`).
THIRD = 3
PAGE = [
    "model",
    "source",
    "paper",
    "measure",
    "level",
    "value",
    "ci_low",
    "ci_high",
    "blank",
    "detects",
    "n",
    "clusters",
    "n_invalid",
    "invalid_rate",
    "status",
]


def papers() -> "pd.DataFrame":
    """The papers (data/papers/*.yaml).

    Returns: id, notebook, asks, measure, denominator rule (X-5), status.
    """
    import pandas as pd

    columns = ["id", "notebook", "asks", "measure", "denominator", "status"]
    return pd.DataFrame([{name: one[name] for name in columns} for one in paper_facts.every()])


def recorded(manifests: Mapping[str, Mapping[str, Any]]) -> "pd.DataFrame":
    """The recorded shards of `manifests` (by paper), a row each.

    Those of the third edition are left out where the paper reads none of it.

    Returns:
        paper, model, prompt_id, variant, answers (of how many planned), planned, engine, recorded
        (the day).
    """
    import pandas as pd

    rows = [
        {
            "paper": paper,
            "model": shard["model"],
            "prompt_id": shard["prompt_id"],
            "variant": shard["variant"] or "—",
            "answers": shard["count"],
            "planned": shard.get("planned", shard["count"]),
            "engine": shard["engine"]["engine"],
            "recorded": shard["recorded"],
        }
        for paper, manifest in manifests.items()
        for shard in manifest.values()
        if shard.get("edition") != THIRD or get_paper(paper).continues
    ]
    columns = ["paper", "model", "prompt_id", "variant", "answers", "planned", "engine", "recorded"]
    return pd.DataFrame(rows, columns=columns)


def unpinned(catalogue: dict[str, "Dataset"]) -> "pd.DataFrame":
    """Which downloaded files no hash in the catalogue of data sets pins: a row a data set.

    Files of ours are in the repository and are not counted. `catalogue` is that of
    `data.catalogue.load`.

    Returns:
        id, files (that are downloaded), pinned, without_hash (their paths, joined).
    """
    import pandas as pd

    rows = []
    for name, entry in catalogue.items():
        files = [file for file in entry.files if entry.access != "ours"]
        bare = [file.path for file in files if not file.sha256]
        pinned = len(files) - len(bare)
        rows.append(
            {"id": name, "files": len(files), "pinned": pinned, "without_hash": ", ".join(bare)}
        )
    sets = pd.DataFrame(rows)
    return sets[sets["files"] > 0].reset_index(drop=True)


def measures(run: "Path | pd.DataFrame | None" = None) -> "pd.DataFrame":
    """What a bias profile shows of each paper (`profile` in data/papers/*.yaml), a row a panel.

    With the folder of a run, or its results, a reference line that depends on the data (the judge
    that draws lots at the truth's own rates) is read from the results of its paper; NaN where
    there is none, and `means` then says so.

    Returns:
        paper, what, measure, unit, chance (the value without bias or by chance, in words), where,
        asked, limits, reference, means, compared (whether two models may be compared on it),
        headline (whether only headline rows count), from_run (whether the line is read from the
        results of a run: it is then a yardstick, and no sign of bias).
    """
    import pandas as pd

    panels = pd.DataFrame(
        [{"paper": one["id"]} | panel for one in paper_facts.every() for panel in one["profile"]]
    )
    panels["reference"] = panels["reference"].astype(float)
    panels["from_run"] = panels["reference_from"].notna()
    if run is not None:
        results = read_results(run) if isinstance(run, Path) else run
        for place, panel in panels[panels["reference_from"].notna()].iterrows():
            value = _reference(results, panel["paper"], panel["reference_from"])
            panels.loc[place, "reference"] = value
            if math.isnan(value):
                panels.loc[place, "means"] = "no line: this run has no such yardstick"
    return panels.drop(columns="reference_from")


def _reference(results: "pd.DataFrame", paper: str, wanted: dict[str, Any]) -> float:
    """The one value of the rows whose result, and whose model or cell, bear the names wanted.

    Rows of a single task do not count beside those of all tasks. NaN for no value or several.
    """
    rows = results[(results["paper"] == paper) & (results["what"] == wanted["what"])]
    chosen = [
        _is_named(model, cell, wanted["named"])
        for model, cell in zip(rows["model"], rows["cell"], strict=True)
    ]
    values = rows.loc[chosen, "value"].dropna().astype(float).round(9).unique()
    return float(values[0]) if len(values) == 1 else float("nan")


def _is_named(model: str, cell: dict[str, Any], names: Sequence[str]) -> bool:
    """Whether a row over all tasks has one of the names as its model or in its cell."""
    if cell.get("task", "all") not in ("all", ""):
        return False
    return bool({model, *cell.values()} & set(names))


def bias_profile(
    run: "Path | pd.DataFrame", models: Sequence[str] = (), *, also: Sequence[str] = ()
) -> "pd.DataFrame":
    """The `measures` of every model that was really asked, or of the `models` named.

    Reads rows that `profile` in data/papers/*.yaml names in the results of a run (its folder, see
    `paths.run_folder`, or its rows), marked headline unless it says otherwise, and nothing else.
    Asked are models with recorded, live or imported answers. `also` names fields of the results
    that are shown as well.

    Returns:
        columns `PAGE` and `also`, one row a model, measure and level; where a model has none of a
        measure, one without a value and with status `missing`.
    """
    import pandas as pd

    results = read_results(run) if isinstance(run, Path) else run
    headline = results[results["headline"] == True]  # noqa: E712  (not every value is a bool)
    asked = headline["source"].isin(["recorded", "live", "imported"])
    names = list(models) or sorted(headline.loc[asked, "model"].unique())
    panels = measures().to_dict("records")
    rows = []
    for model, panel in itertools.product(names, panels):
        of_model = headline if panel["headline"] else results
        rows += _profile_rows(of_model[of_model["model"] == model], model, panel)
    page = pd.DataFrame(rows, columns=[*PAGE, *also, "asked"])
    # Where the denominator is valid answers, n leaves out the invalid ones.
    n_asked = page["n"] + page["n_invalid"].where(page.pop("asked") == "valid", 0)
    page["invalid_rate"] = (page["n_invalid"] / n_asked).astype(float)
    for name in ("value", "ci_low", "ci_high", "blank", "detects"):
        page[name] = page[name].astype(float)
    for name in ("n", "n_invalid", "clusters"):
        page[name] = page[name].astype("Int64")
    return page


def _profile_rows(
    results: "pd.DataFrame", model: str, panel: dict[Hashable, Any]
) -> list[dict[Hashable, Any]]:
    """The rows of one model that a panel of the profile shows; one called missing for none."""
    where = panel["where"]
    own = results[(results["paper"] == panel["paper"]) & (results["what"] == panel["what"])]
    own = own[[where.items() <= cell.items() for cell in own["cell"]]]
    rows: list[dict[Hashable, Any]] = []
    for row in own.to_dict("records") or [{"cell": {}, "status": "missing"}]:
        levels = [str(level) for name, level in row["cell"].items() if name not in where]
        about = {
            "paper": panel["paper"],
            "measure": panel["measure"],
            "asked": panel["asked"],
            "model": model,
            "level": ", ".join(levels),
        }
        rows.append(row | about)
    return rows


def compare_profiles(page: "pd.DataFrame") -> "pd.DataFrame":
    """Every two models of a `bias_profile` on every level both have, where that has a meaning.

    Left out are measures that it marks `compared: false`: alphas of sampled
    answers differ where questions differ in their mean, whatever attributes do.

    The standard errors are those the 95 % intervals imply (by t on the number of clusters less one
    where that is known, else by the normal distribution). Both models answered the same items, so
    their errors go together as far as items are hard for both: this comparison of two summaries
    does not know how far, and a test on the answers themselves, item by item, is the better one.

    Returns:
        paper, measure, level, model_1, model_2, difference, ci_low, ci_high, z, df, p (not
        adjusted), n (answers of both), clusters (the smaller number), status: `ok`, or why there is
        no p: the status of the model without an interval.
    """
    import numpy as np
    import pandas as pd
    from scipy.stats import t

    keys = ["paper", "measure", "level"]
    panels = measures()
    comparable = panels.loc[panels["compared"], "measure"]
    rows = page[page["value"].notna() & page["measure"].isin(comparable)].copy()
    rows["df"] = (rows["clusters"].astype(float) - 1).fillna(np.inf)
    width = rows["ci_high"] - rows["ci_low"]
    # A share that the design fixes has an interval, but is no estimate: its status is not ok.
    usable = (width > 0) & (rows["status"] == "ok")
    rows["error"] = (width / (2 * t.ppf(0.975, rows["df"]))).where(usable)
    # An interval without width comes from answers that never vary.
    rows["why"] = rows["status"].where((rows["status"] != "ok") | usable, "no_variation")
    both = rows.merge(rows, on=keys, suffixes=("_1", "_2"))
    both = both[both["model_1"] < both["model_2"]]
    difference = both["value_1"] - both["value_2"]
    error = (both["error_1"] ** 2 + both["error_2"] ** 2) ** 0.5
    z = difference / error
    df = both[["df_1", "df_2"]].min(axis=1)
    frame = both.assign(difference=difference, z=z, df=df, p=2 * t.sf(z.abs(), df))
    half = t.ppf(0.975, df) * error
    frame = frame.assign(ci_low=difference - half, ci_high=difference + half)
    frame["n"] = both["n_1"] + both["n_2"]
    frame["clusters"] = both[["clusters_1", "clusters_2"]].min(axis=1)
    frame["status"] = frame["why_1"].where(frame["why_1"] != "ok", frame["why_2"])
    columns = [
        *keys,
        "model_1",
        "model_2",
        "difference",
        "ci_low",
        "ci_high",
        "z",
        "df",
        "p",
        "n",
        "clusters",
        "status",
    ]
    return pd.DataFrame(frame, columns=columns).reset_index(drop=True)


def invalid_rates(page: "pd.DataFrame") -> "pd.DataFrame":
    """Invalid answers of every row of a `bias_profile` as results (X-5).

    Returns:
        model, source, measure, level, value (share of the answers asked), n (answers asked),
        n_invalid, clusters, status: `no_interval_counts` (a plain count of this run), `missing`.
    """
    import pandas as pd

    rate = page["invalid_rate"]
    asked = (page["n_invalid"].astype(float) / rate).where(rate > 0, page["n"].astype(float))
    frame = page[["model", "source", "measure", "level", "n_invalid", "clusters"]].assign(
        value=rate, n=asked.round().astype("Int64"), status="no_interval_counts"
    )
    frame["source"] = frame["source"].where(frame["source"].notna(), "none")
    frame["status"] = frame["status"].where(rate.notna(), "missing")
    return pd.DataFrame(frame).reset_index(drop=True)


#: What tells the cells of the simulated power tables apart.
POWER_KEYS = ["measure", "test", "promises", "setting", "planted", "effect"]
SIZES = ["clusters", "per_cluster", "n"]


def power() -> "pd.DataFrame":
    """Power and false positives of data/simulated/power_*.csv: a row a test, effect and size.

    Returns:
        measure, test, promises, setting (of the table `factor`: shape of P(yes) and effect of
        age), planted (none, common, by question; empty elsewhere), effect, clusters, per_cluster,
        n, null (nothing that this test looks for is there, so the rate is one of false positives),
        rate, mc_low, mc_high (exact 95 % interval: what a finite simulation leaves open),
        repetitions, undefined (counted as nothing found).
    """
    import pandas as pd
    from statsmodels.stats.proportion import proportion_confint

    files = sorted((paths.data_dir() / "simulated").glob("power_*.csv"))
    drawn = pd.concat([_with_setting(pd.read_csv(file)) for file in files])
    counts = ["positives", "repetitions", "undefined"]
    keys = [*POWER_KEYS, *SIZES]
    cells = drawn.groupby(keys, sort=False)[counts].sum().reset_index()
    low, high = proportion_confint(cells["positives"], cells["repetitions"], method="beta")
    # An effect of another direction in every question has no common direction.
    of_direction = cells["test"].str.startswith("common direction")
    either_way = of_direction & (cells["planted"] == "by question")
    cells = cells.assign(
        null=(cells["effect"] == 0) | either_way,
        rate=cells["positives"] / cells["repetitions"],
        mc_low=low,
        mc_high=high,
    )
    return cells[[*keys, "null", "rate", "mc_low", "mc_high", "repetitions", "undefined"]]


def _with_setting(drawn: "pd.DataFrame") -> "pd.DataFrame":
    if "shape" not in drawn:
        return drawn.assign(setting="", planted="")
    setting = drawn["shape"] + ", age " + drawn["other_effect"].map("{:g}".format)
    return drawn.assign(setting=setting)


def power_curves(table: "pd.DataFrame") -> "pd.DataFrame":
    """Rows of `power` as curves over the effect.

    The rate at effect 0 opens each kind of planting.
    """
    import pandas as pd

    kinds = [kind for kind in table["planted"].unique() if kind not in ("", "none")]
    opened = [table[table["planted"] == "none"].assign(planted=kind) for kind in kinds]
    return pd.concat([*opened, table[table["planted"] != "none"]], ignore_index=True)


def calculator_rows(curves: "pd.DataFrame", other_effect: str = "age 0.3") -> "pd.DataFrame":
    """The `power_curves` that a study can be planned with, each named so that it stands alone.

    Of the tests of one factor those beside one effect of age, without the cells in which the test
    has nothing to find.
    """
    plain = curves["setting"] == ""
    own = curves["setting"].str.endswith(other_effect)
    own &= curves["test"].str.startswith(("any", "common"))
    own &= ~(curves["test"].str.startswith("common") & (curves["planted"] == "by question"))
    kept = curves[plain | own].copy()
    named = kept["test"].str.split(":").str[0] + " (" + kept["setting"] + ", " + kept["planted"]
    kept["test"] = kept["test"].where(kept["setting"] == "", named + ")")
    # Questions come first, as in the notebook.
    return kept.sort_values("measure", key=lambda m: m != "factor", kind="stable")


def power_at(test: "pd.DataFrame", effect: float, clusters: float, per_cluster: float) -> float:
    """The rate of one test of `power` between simulated sizes.

    Straight in the effect, straight in the log of sizes. Beyond what was simulated the nearest
    simulated value stands.
    """
    import numpy as np

    sizes = {"clusters": clusters, "per_cluster": per_cluster}
    for column, wanted in sizes.items():
        simulated = np.unique(test[column])
        if len(simulated) > 1:
            parts = [test[test[column] == size] for size in simulated]
            rates = [power_at(part, effect, clusters, per_cluster) for part in parts]
            return float(np.interp(np.log(wanted), np.log(simulated), rates))
    curve = test.sort_values("effect")
    return float(np.interp(effect, curve["effect"], curve["rate"]))


def answers(folder: Path) -> dict[str, int]:
    """Answers by source over all notebooks of a run, from their provenance."""
    total: Counter[str] = Counter()
    for path in sorted(folder.glob("[!.]*/provenance.json")):
        if path.parent.name != "overview":
            total.update(json.loads(path.read_text(encoding="utf-8"))["answers"])
    return dict(total)

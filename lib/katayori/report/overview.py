"""What the overview notebook lists: papers, recorded shards, bias profiles, power, traceability."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.report.results import read_results
from katayori.report.tables import listed

if TYPE_CHECKING:
    import pandas as pd

PAGE = (
    "model source paper measure level value ci_low ci_high n clusters n_invalid invalid_rate status"
).split()


def papers() -> "pd.DataFrame":
    """The five papers (data/papers.yaml): id, notebook, asks, measure, denominator rule (X-5), status."""
    return listed("papers.yaml")


def recorded(manifests: dict[str, dict[str, Any]]) -> "pd.DataFrame":
    """One row a recorded shard: paper, model, prompt, variant, answers (of how many planned), engine, day."""
    import pandas as pd

    rows = [
        entry | {"paper": paper, "answers": entry["count"], "engine": entry["engine"]["engine"]}
        | {"variant": entry["variant"] or "—", "planned": entry.get("planned", entry["count"])}
        for paper, manifest in manifests.items()
        for entry in manifest.values()
    ]  # fmt: skip
    return pd.DataFrame(
        rows, columns="paper model prompt_id variant answers planned engine recorded".split()
    )


def unpinned(catalogue: dict[str, dict[str, Any]]) -> "pd.DataFrame":
    """Which downloaded files no hash in the catalogue of data sets pins: a row a data set.

    Files of ours are in the repository and are not counted. `catalogue` is that of
    `data.catalogue.load`.

    Returns:
        id, files (that are downloaded), pinned, without_hash (their paths, joined).
    """
    import pandas as pd

    rows = []
    for name, entry in catalogue.items():
        files = [file for file in entry["files"] if entry["access"] != "ours"]
        bare = [file["path"] for file in files if not file["sha256"]]
        pinned = len(files) - len(bare)
        rows.append(
            {"id": name, "files": len(files), "pinned": pinned, "without_hash": ", ".join(bare)}
        )
    found = pd.DataFrame(rows)
    return found[found["files"] > 0].reset_index(drop=True)


def pin_sentence(found: "pd.DataFrame") -> str:
    """How many files are checked against a pinned hash, and which are not."""
    bare = found[found["without_hash"] != ""]
    named = "; ".join(f"{row.id}: {row.without_hash}" for row in bare.itertuples())
    missing = found["files"].sum() - found["pinned"].sum()
    told = f"{found['pinned'].sum()} of {found['files'].sum()} downloaded files have a pinned hash."
    if not missing:
        return told
    return (
        f"{told} The other {missing} are checked by their size alone the first time; their hash is "
        f"then kept beside them and binds every later copy on this machine ({named})."
    )


def measures(folder: Path | None = None) -> "pd.DataFrame":
    """What a bias profile shows of each paper (data/bias_profile.yaml), a row a panel.

    With the folder of a run, a reference line that depends on the data (the judge that draws lots
    at the truth's own rates) is read from the results of its paper; NaN where there is none, and
    `means` then says so.

    Returns:
        paper, what, measure, where, asked, limits, reference, means, compared (whether two models
        may be compared on it), headline (whether only headline rows count).
    """
    listed_measures = listed("bias_profile.yaml")
    told = listed_measures.assign(reference=listed_measures["reference"].astype(float))
    if folder is not None:
        for place in told.index[told["reference_from"].notna()]:
            value = _reference(folder, told.loc[place, "paper"], told.loc[place, "reference_from"])
            told.loc[place, "reference"] = value
            if value != value:
                told.loc[place, "means"] = "no line: this run has no such yardstick"
    return told.drop(columns="reference_from")


def _reference(folder: Path, paper: str, wanted: dict[str, Any]) -> float:
    """The one value of the rows whose result, and whose model or cell, bear the names wanted.

    Rows of a single task do not count beside those of all tasks. NaN for no value or several.
    """
    rows = read_results(folder)
    rows = rows[(rows["paper"] == paper) & (rows["what"] == wanted["what"])]
    named = [
        bool({model, *cell.values()} & set(wanted["named"]))
        and cell.get("task", "all") in ("all", "")
        for model, cell in zip(rows["model"], rows["cell"], strict=True)
    ]
    values = rows.loc[named, "value"].dropna().astype(float).round(9).unique()
    return float(values[0]) if len(values) == 1 else float("nan")


def bias_profile(folder: Path, models: Sequence[str] = ()) -> "pd.DataFrame":
    """The `measures` of every model that was really asked (recorded, live, imported), or of the `models` named.

    Reads rows that data/bias_profile.yaml names in the results of a run (see `paths.run_folder`),
    marked headline unless it says otherwise, and nothing else.

    Returns:
        columns `PAGE`, one row a model, measure and level; where a model has none of a measure,
        one without a value and with status `missing`.
    """
    import pandas as pd

    rows, out = read_results(folder), []
    headline = rows[rows["headline"] == True]  # noqa: E712  (not every value is a bool)
    asked = headline["source"].isin(["recorded", "live", "imported"])
    models = list(models) or sorted(headline.loc[asked, "model"].unique())
    for model, shown in itertools.product(models, measures().to_dict("records")):
        known = headline if shown["headline"] else rows
        own = known[
            (known["model"] == model)
            & (known["paper"] == shown["paper"])
            & (known["what"] == shown["what"])
        ]
        own = own[[shown["where"].items() <= cell.items() for cell in own["cell"]]]
        for row in own.to_dict("records") or [{"cell": {}, "status": "missing"}]:
            level = [str(v) for k, v in row["cell"].items() if k not in shown["where"]]
            head = {k: shown[k] for k in ("paper", "measure", "asked")} | {
                "model": model,
                "level": ", ".join(level),
            }
            out.append(row | head)
    out = pd.DataFrame(out, columns=[*PAGE, "asked"])
    asked_n = out["n"] + out["n_invalid"].where(out.pop("asked") == "valid", 0)
    numbers = {c: out[c].astype(float) for c in ("value", "ci_low", "ci_high")}
    numbers |= {c: out[c].astype("Int64") for c in ("n", "n_invalid", "clusters")}
    return out.assign(invalid_rate=(out["n_invalid"] / asked_n).astype(float), **numbers)


def compare_profiles(page: "pd.DataFrame") -> "pd.DataFrame":
    """Every two models of a `bias_profile` on every level both have, where that has a meaning.

    Left out are measures that data/bias_profile.yaml marks `compared: false`: alphas of sampled
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
    shown = measures()
    common = shown.loc[shown["compared"], "measure"]
    known = page[page["value"].notna() & page["measure"].isin(common)].copy()
    known["df"] = (known["clusters"].astype(float) - 1).fillna(np.inf)
    width = known["ci_high"] - known["ci_low"]
    # A share that the design fixes has an interval, but is no estimate: its status is not ok.
    usable = (width > 0) & (known["status"] == "ok")
    known["error"] = (width / (2 * t.ppf(0.975, known["df"]))).where(usable)
    # An interval without width comes from answers that never vary.
    known["why"] = known["status"].where((known["status"] != "ok") | usable, "no_variation")
    both = known.merge(known, on=keys, suffixes=("_1", "_2"))
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
    columns = [*keys, "model_1", "model_2", "difference", "ci_low", "ci_high", "z", "df", "p"]
    columns += ["n", "clusters", "status"]
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


#: The row of notebook 01 that says how far sampled answers of two models share their noise.
COUPLING = "correlation of two models' answers less their own P(yes)"


def coupling(folder: Path) -> "pd.DataFrame":
    """How far the random draws of two models' sampled answers go together, as notebook 01 found.

    Returns:
        models, value (the correlation of answer less own P(yes)), ci_low, ci_high, n, status; no
        row where the run did not measure it.
    """
    rows = read_results(folder)
    rows = rows[rows["what"] == COUPLING]
    models = [
        ", ".join(str(name) for name in (model, *cell.values()) if isinstance(name, str) and name)
        for model, cell in zip(rows["model"], rows["cell"], strict=True)
    ]
    columns = ["models", "value", "ci_low", "ci_high", "n", "status"]
    return rows.assign(models=models)[columns].reset_index(drop=True)


def coupling_sentence(coupled: "pd.DataFrame") -> str:
    """What `coupling` means for a comparison of models, in a sentence."""
    known = coupled[coupled["value"].notna()]
    if known.empty:
        return "Whether sampled answers of two models share their random draws was not measured in this run."
    worst = known.sort_values("value", key=abs).iloc[-1]
    size = f"{worst['value']:.3f} over {worst['n']:,.0f} answers ({worst['models']})"
    if abs(worst["value"]) < 0.1:
        return f"Sampled answers of the models have draws of their own: residuals correlate {size}."
    return (
        f"Sampled answers of the models share their random draws: residuals correlate {size}. What "
        "both models show in sampled answers is no finding made twice."
    )


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
    found = drawn.groupby(keys, sort=False)[counts].sum().reset_index()
    low, high = proportion_confint(found["positives"], found["repetitions"], method="beta")
    either_way = found["test"].str.startswith("common direction") & (
        found["planted"] == "by question"
    )
    found = found.assign(
        null=(found["effect"] == 0) | either_way,
        rate=found["positives"] / found["repetitions"],
        mc_low=low,
        mc_high=high,
    )
    return found[[*keys, "null", "rate", "mc_low", "mc_high", "repetitions", "undefined"]]


def _with_setting(drawn: "pd.DataFrame") -> "pd.DataFrame":
    if "shape" not in drawn:
        return drawn.assign(setting="", planted="")
    setting = drawn["shape"] + ", age " + drawn["other_effect"].map("{:g}".format)
    return drawn.assign(setting=setting)


def power_curves(table: "pd.DataFrame") -> "pd.DataFrame":
    """Rows of `power` as curves over the effect: the rate at effect 0 opens each kind of planting."""
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
    """The rate of one test of `power` between simulated sizes: straight in the effect, straight in the log of sizes.

    Beyond what was simulated the nearest simulated value stands.
    """
    import numpy as np

    if test["clusters"].nunique() > 1 or test["per_cluster"].nunique() > 1:
        column, x = (
            ("clusters", clusters)
            if test["clusters"].nunique() > 1
            else ("per_cluster", per_cluster)
        )
        sizes = [
            (np.log(size), power_at(one, effect, clusters, per_cluster))
            for size, one in test.groupby(column)
        ]
        return float(np.interp(np.log(x), *zip(*sizes, strict=True)))
    curve = test.sort_values("effect")
    return float(np.interp(effect, curve["effect"], curve["rate"]))


def answers(folder: Path) -> dict[str, int]:
    """Answers by source over all notebooks of a run, from their provenance."""
    total: Counter[str] = Counter()
    for path in sorted(folder.glob("[!.]*/provenance.json")):
        if path.parent.name != "overview":
            total.update(json.loads(path.read_text(encoding="utf-8"))["answers"])
    return dict(total)

"""What the overview notebook lists: papers, recorded shards, headline rows, bias profiles, power, traceability."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.report.results import read_results
from katayori.report.tables import listed

if TYPE_CHECKING:
    import pandas as pd

REQUIREMENT = re.compile(
    r"\b(DE|PJ|LJ|JU|IJ|X)-(\d+)(?:\s*(?:to|–)\s*(?:DE|PJ|LJ|JU|IJ|X)-(\d+))?\b"
)
PAGE = (
    "model source paper measure level value ci_low ci_high n n_invalid invalid_rate status".split()
)


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


def measures() -> "pd.DataFrame":
    """What a bias profile shows of each paper (data/bias_profile.yaml)."""
    return listed("bias_profile.yaml")


def bias_profile(folder: Path, models: Sequence[str] = ()) -> "pd.DataFrame":
    """The `measures` of every model that was really asked (recorded, live, imported), or of the `models` named.

    Reads rows marked headline in the results of a run (see `paths.run_folder`), nothing else.
    Columns `PAGE`, one row a model, paper and level; where a model has none of a paper, one
    without a value and with status `missing`.
    """
    import pandas as pd

    rows = read_results(folder)
    rows, out = rows[rows["headline"] == True], []  # noqa: E712  (not every value is a bool)
    models = list(models) or sorted(
        rows.loc[rows["source"].isin(["recorded", "live", "imported"]), "model"].unique()
    )
    for model, shown in itertools.product(models, measures().to_dict("records")):
        own = rows[
            (rows["model"] == model)
            & (rows["paper"] == shown["paper"])
            & (rows["what"] == shown["what"])
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
    asked = out["n"] + out["n_invalid"].where(out.pop("asked") == "valid", 0)
    numbers = {c: out[c].astype(float) for c in ("value", "ci_low", "ci_high")}
    numbers |= {c: out[c].astype("Int64") for c in ("n", "n_invalid")}
    return out.assign(invalid_rate=(out["n_invalid"] / asked).astype(float), **numbers)


def compare_profiles(page: "pd.DataFrame") -> "pd.DataFrame":
    """Every two models of a `bias_profile` on every level both have: difference and p, not adjusted.

    The standard errors are those the 95 % intervals imply, and models are taken as independent, which is cautious
    only where they err on the same items. Rows whose interval has no width have no p: nothing varied.

    Returns paper, measure, level, model_1, model_2, difference, z, p.
    """
    import pandas as pd
    from scipy.stats import norm

    keys = ["paper", "measure", "level"]
    known = page[page["status"] == "ok"].assign(
        error=lambda t: (t["ci_high"] - t["ci_low"]) / (2 * norm.ppf(0.975))
    )
    both = known.merge(known, on=keys, suffixes=("_1", "_2"))
    both = both[both["model_1"] < both["model_2"]].assign(
        difference=lambda t: t["value_1"] - t["value_2"]
    )
    error = (both["error_1"] ** 2 + both["error_2"] ** 2) ** 0.5
    z = both["difference"] / error.where((both["error_1"] > 0) & (both["error_2"] > 0))
    frame = both.assign(z=z, p=2 * norm.sf(z.abs()))
    return pd.DataFrame(
        frame, columns=[*keys, "model_1", "model_2", "difference", "z", "p"]
    ).reset_index(drop=True)


def power() -> "pd.DataFrame":
    """Power and, at effect 0, false positives of data/simulated/power_*.csv: a row a test, effect and size.

    Returns measure, test, promises, effect, clusters, per_cluster, n, rate, mc_low, mc_high (exact 95 % interval: what
    a finite simulation leaves open), repetitions, undefined (counted as nothing found).
    """
    import pandas as pd
    from statsmodels.stats.proportion import proportion_confint

    files = sorted((paths.data_dir() / "simulated").glob("power_*.csv"))
    drawn = pd.concat([pd.read_csv(file) for file in files])
    keys = "measure test promises effect clusters per_cluster n".split()
    found = (
        drawn.groupby(keys, sort=False)[["positives", "repetitions", "undefined"]]
        .sum()
        .reset_index()
    )
    low, high = proportion_confint(found["positives"], found["repetitions"], method="beta")
    found = found.assign(rate=found["positives"] / found["repetitions"], mc_low=low, mc_high=high)
    return found[[*keys, "rate", "mc_low", "mc_high", "repetitions", "undefined"]]


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

"""What the overview notebook lists: papers and denominators, recorded shards, headline rows, traceability."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.report.results import read_results

if TYPE_CHECKING:
    import pandas as pd

REQUIREMENT = re.compile(r"\b(DE|PJ|LJ|JU|IJ|X)-(\d+)(?:\s*(?:to|–)\s*(?:DE|PJ|LJ|JU|IJ|X)-(\d+))?\b")


def papers() -> "pd.DataFrame":
    """The five papers (data/papers.yaml): id, notebook, asks, measure, denominator rule (X-5), status."""
    import pandas as pd
    import yaml

    return pd.DataFrame(yaml.safe_load((paths.data_dir() / "papers.yaml").read_text(encoding="utf-8")))


def recorded(manifests: dict[str, dict[str, Any]]) -> "pd.DataFrame":
    """One row a recorded shard: paper, model, prompt, variant, answers (of how many planned), engine, day."""
    import pandas as pd

    rows = [
        {"paper": paper, "model": e["model"], "prompt_id": e["prompt_id"], "variant": e["variant"] or "—"}
        | {"answers": e["count"], "planned": e.get("planned", e["count"]), "engine": e["engine"]["engine"]}
        | {"recorded": e["recorded"]}
        for paper, manifest in manifests.items()
        for e in manifest.values()
    ]
    return pd.DataFrame(rows, columns="paper model prompt_id variant answers planned engine recorded".split())


def headlines(profile: str) -> "pd.DataFrame":
    """Headline rows of all notebooks' results of a profile's run; empty before the first run."""
    import pandas as pd

    columns = "paper requirement what model source cell value unit n n_invalid ci_low ci_high status".split()
    found = sorted((paths.outputs_dir() / profile).glob("[!.]*/results.json"))
    frames = [read_results(path) for path in found if ".tmp-" not in path.parent.name]
    rows = pd.concat([f[f["headline"] == True][columns] for f in frames if len(f)] or [pd.DataFrame(columns=columns)])  # noqa: E712
    cells = [", ".join(map(str, cell.values())) if isinstance(cell, dict) else "" for cell in rows["cell"]]
    counts = {c: rows[c].astype("Int64") for c in ("n", "n_invalid")}
    return rows.assign(cell=cells, **counts).reset_index(drop=True)


def answers(profile: str) -> dict[str, int]:
    """Answers by source over all notebooks of a profile's run, from their provenance."""
    total: dict[str, int] = {}
    for path in sorted((paths.outputs_dir() / profile).glob("[!.]*/provenance.json")):
        if path.parent.name != "overview":
            for source, n in json.loads(path.read_text(encoding="utf-8")).get("answers", {}).items():
                total[source] = total.get(source, 0) + n
    return total


def traceability() -> "pd.DataFrame":
    """Requirement id -> number of files citing it in library, tests and notebooks (X-10); ranges count in full."""
    import pandas as pd

    places = {"library": "lib/katayori/**/*.py", "tests": "lib/tests/*.py", "notebooks": "notebooks/*.ipynb"}
    counts: dict[tuple[str, int], dict[str, int]] = {}
    for place, pattern in places.items():
        for file in sorted(paths.root().glob(pattern)):
            for key in _cited(file):
                counts.setdefault(key, dict.fromkeys(places, 0))[place] += 1
    rows = [{"requirement": f"{paper}-{n}"} | found for (paper, n), found in sorted(counts.items())]
    return pd.DataFrame(rows, columns=["requirement", *places])


def _cited(file: Path) -> set[tuple[str, int]]:
    found = REQUIREMENT.finditer(file.read_text(encoding="utf-8"))
    return {(m[1], n) for m in found for n in range(int(m[2]), int(m[3] or m[2]) + 1)}

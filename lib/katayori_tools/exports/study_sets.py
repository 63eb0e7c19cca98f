"""The study sets of a run as tables of ids, and what their Croissant files say.

The files themselves are written, with mlcroissant, by `worker`.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from katayori.data import catalogue
from katayori.papers import get_paper
from katayori.prompting import recordings
from katayori_tools.exports.measures import read
from katayori_tools.study_sets import THIRD, editions_of, folder as folder_of

#: Columns of the table of items -> what they hold.
FIELDS = {
    "item_id": "The id of the item, as it stands in samples and in recorded answers.",
    "cluster": "What an interval draws as a whole: items of one cluster share their text.",
    "right_option": "The option that is right; empty where no option is.",
}


def write(folder: Path, paper_id: str, run: Mapping[str, Any], with_text: bool) -> dict[str, Any]:
    """Writes study/<paper>/items.csv, and with texts the study files beside it.

    Returns what `worker.croissant` is told of the set.
    """
    paper = get_paper(paper_id)
    items, version, _ = paper.read("study", {})
    here = folder / "study" / paper_id
    here.mkdir(parents=True, exist_ok=True)
    right = items[paper.gold_column].astype(str) if paper.gold_column else [""] * len(items)
    with (here / "items.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        table.writerows(zip(items["item_id"], paper.cluster_of(items), right, strict=True))
    return _about(paper_id, version, run, _copied(here, paper_id) if with_text else [])


def _copied(here: Path, paper_id: str) -> list[str]:
    """The names of the study files, copied into a folder: of the editions that `study` reads."""
    known = editions_of(paper_id)
    layers = recordings.layers(get_paper(paper_id).variant_of("study", ""))
    names = []
    for edition in sorted(known[layer or "study"] for layer in layers):
        prefix = "anew_" if edition == THIRD else ""
        for path in sorted(folder_of(paper_id, edition).glob("*.yaml")):
            if path.stem == "review_log":
                continue
            names.append(f"{prefix}{path.name}")
            (here / names[-1]).write_bytes(path.read_bytes())
    return names


def _about(paper_id: str, version: str, run: Mapping[str, Any], texts: list[str]) -> dict[str, Any]:
    entry = catalogue.load()[f"study_{paper_id}"]
    told = read().study_sets[paper_id]
    rests_on = "with its texts" if texts else "ids only; the texts are part of Katayori's checkout"
    return {
        "file": f"study/{paper_id}/croissant.json",
        "name": told.name,
        "description": f"{entry['title']} ({version}; {rests_on}).",
        "cite_as": f"Katayori contributors, {told.name}, {version}",
        "licence": entry["licence"],
        "version": f"{version.rpartition(' v')[2]}.0.0",
        "language": entry["language"],
        "keywords": told.keywords,
        "date": run["date"][:10],
        "fields": FIELDS,
        "texts": texts,
        "data_use_cases": [told.use_cases],
        "data_limitations": [told.limitations],
        "data_biases": [told.biases],
        "personal_sensitive_information": [told.sensitive],
        "data_collection": told.collection,
    }

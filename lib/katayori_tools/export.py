"""`make export`: a run in forms that other tools read.

Everything is written beside its place first; a file that holds something private ends the export
before anything is put there. What no run says stands in `data/export.yaml`. That the files are what
their formats require is a test.
"""

import getpass
import hashlib
import json
import os
import re
import shutil
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from katayori import __version__, paths, profiles, run_folders
from katayori.data import catalogue
from katayori.data.files import read_yaml
from katayori.errors import KatayoriError
from katayori.papers import get_paper, paper_ids
from katayori.papers.answers import SOURCES
from katayori.prompting.models import Model, get_model, registry
from katayori.provenance import without_folder
from katayori.report.headlines import read_results
from katayori.report.run import FIELDS, harmless
from katayori_tools import notebooks
from katayori_tools.choices import Papers

#: Fields of a row that have a place of their own in a result; all others are details.
PLACED = ("paper", "what", "model", "cell", "value", "unit", "requirement")
SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL")
#: Names that are in use for no one in particular, so that finding one betrays nobody.
NOBODY = {"", "root", "user", "nobody", "runner", "build", "ubuntu", "admin"}
#: A text within JSON.
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

Row = dict[str, Any]
Run = tuple[str, list[Row], Row]  # a paper, its rows, its provenance


def export(*, profile: str = "recorded", papers: Papers = "", models: str = "") -> None:
    """Writes a run to outputs/export/<run>, in place of an older export of it.

    Args:
        profile: the run. papers: by name or number (all). models: of a live or imported run, the
            models it asked.
    """
    chosen = profiles.load(profile)
    named = notebooks.names(models)
    if named and chosen["answers"] not in run_folders.OF_MODELS:
        raise KatayoriError(f"the run {chosen['name']} is exported whole; leave MODELS= out")
    folder = run_folders.only_run(chosen, named, run_folders.run_label())
    runs = _runs(folder, notebooks.names(papers), chosen["name"])
    target = paths.outputs_dir() / "export" / folder.relative_to(paths.outputs_dir())
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as part:
        made = Path(part) / "export"
        write(made, runs)
        for paper, _, about in runs:
            files = get_paper(paper).own_files.items()
            own = {name for name, file in files if file.is_a != "setting"}
            given = {name for name, value in about["parameters"].items() if value}
            if chosen["items"] == "study" and not own & given:
                _write_study_set(made / "study" / paper, paper)
        _write_crate(made, runs)
        check_private(made)
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(made, target)
    print(f"exported to {target}")


def _runs(folder: Path, wanted: Sequence[str], name: str) -> list[Run]:
    """The papers of a run that have results."""
    folders = [folder / paper for paper in wanted or paper_ids()]
    runs = [_run(here) for here in folders if (here / "results.json").is_file()]
    if not runs:
        asked = ", ".join(wanted) or "any paper"
        raise KatayoriError(f"the run {name} has no results of {asked}; run `make reproduce` first")
    return runs


def _run(folder: Path) -> Run:
    read_results(folder)  # says in one line what is wrong with a damaged file
    files = [folder / name for name in ("results.json", "provenance.json")]
    rows, about = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    return folder.name, rows, about


def _told() -> dict[str, Any]:
    return read_yaml(paths.registry("export.yaml"), "file of what exports say")


# -- what is written -------------------------------------------------------------------------------


def write(folder: Path, runs: list[Run]) -> None:
    """Writes what needs no packages of its own into a new folder."""
    software = json.loads(paths.registry("codemeta.json").read_text(encoding="utf-8"))
    _write_json(folder / "codemeta.json", software | {"version": __version__})
    for paper, rows, about in runs:
        groups = defaultdict(list)
        for row in rows:
            # Every Eval Ever holds defined numbers about a model that answered.
            if row["value"] is not None and row["model"] is not None and row["source"] in SOURCES:
                groups[row["model"], row["source"]].append(row)
        for (model, source), own in groups.items():
            path, content = every_eval_ever(paper, model, source, own, about)
            _write_json(folder / "data" / f"katayori_{paper}" / path, content)
        _write_json(folder / "runs" / paper / "results.json", rows)
        _write_json(folder / "runs" / paper / "provenance.json", about)
        kept = sum(map(len, groups.values()))
        print(f"{paper}: {kept} of {len(rows)} rows as Every Eval Ever")


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = hidden(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1))
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace", newline="\n")


def every_eval_ever(
    paper: str, model: str, source: str, rows: list[Row], about: Row
) -> tuple[str, Row]:
    """The file of one model and source of answers, and its place: developer, model, and a name
    that is the same for the same run, whose provenance is `about`.
    """
    endpoint = next((one["endpoint"] for one in about["models"] if one["id"] == model), "")
    info = model_info(model, source, str(endpoint))
    moment = str(int(datetime.fromisoformat(about["date"]).timestamp()))
    content = _told()["every_eval_ever"] | {
        "evaluation_id": f"katayori.{paper}/{info['id']}/{moment}",
        "evaluation_timestamp": about["date"],
        "retrieved_timestamp": moment,
        "eval_library": {"name": "katayori", "version": about["packages"].get("katayori") or "0"},
        "model_info": info,
        "evaluation_results": [_result(row, about["datasets"].get(row["dataset"])) for row in rows],
    }
    digest = hashlib.sha256("\0".join([paper, model, source, about["date"]]).encode()).digest()
    return f"{info['id']}/{uuid.UUID(bytes=digest[:16], version=4)}.json", content


def model_info(model: str, source: str, endpoint: str) -> Row:
    """What the schema wants to know of a model that answered through an endpoint.

    Its id is developer and name, as folders of any system: a simulated respondent is ours, and a
    model whose developer is not known stands under `unlisted`.

    Example:
        >>> model_info("Org/Model-7B@vllm", "live", "vllm")["id"]
        'Org/Model-7B'
        >>> model_info("/srv/weights/mine", "imported", "")["id"]
        'unlisted/mine'
    """
    known = Model(model, model, "unknown")
    with suppress(KatayoriError):  # a name that no registry knows
        known = get_model(model)[0]
    developer, _, name = without_folder(model).split("@")[0].rpartition("/")
    developer = developer or known.developer or "unlisted"
    developer = "katayori" if source == "simulated" else developer
    signs = re.compile(r'[<>:"/\\|?*\x00-\x1f\s]+')
    parts = (signs.sub("-", one).strip(". ") or "unnamed" for one in (developer, name))
    is_here = endpoint.startswith(("local", "simulated"))
    details = {
        "deployment_type": "self_deployed" if is_here else "unknown",
        "model_availability": f"{known.access}_weights" if known.access else "unknown",
        "answers": source,
    }
    return {"name": without_folder(model), "id": "/".join(parts), "additional_details": details}


def _result(row: Row, digest: str | None) -> Row:
    """A row as a result; what the schema has no field for stands as text in its details."""
    told = _told()
    of_p = {"better": "neither", "lowest": 0, "highest": 1} if row["unit"] == "p" else {}
    stated = told["measures"].get(row["paper"], {}).get(row["what"], of_p)
    direction = told["directions"][stated.get("better", "unknown")]
    given = {name: row[name] for name in FIELDS if name not in PLACED and row.get(name) is not None}
    texts = {name: v if isinstance(v, str) else json.dumps(v) for name, v in given.items()}
    score: Row = {"score": row["value"], "details": texts}
    if {"ci_low", "ci_high"} <= given.keys():
        ends = {"lower": row["ci_low"], "upper": row["ci_high"], "confidence_level": 0.95}
        samples = {"num_samples": row["n"]} if "n" in given else {}
        score["uncertainty"] = {"confidence_interval": ends} | samples
    return {
        "evaluation_name": row["what"],
        "source_data": {
            "dataset_name": row["dataset"] or "not named",
            "source_type": "other",
            "additional_details": {"sha256_of_content": digest or "not known"},
        },
        "metric_config": {
            "metric_name": row["what"],
            "metric_parameters": row["cell"],
            "metric_unit": row["unit"] or "not stated",
            "lower_is_better": stated.get("better") == "lower",
            "min_score": stated.get("lowest"),
            "max_score": stated.get("highest"),
            "additional_details": {"requirement": row["requirement"], "direction": direction},
        },
        "score_details": score,
    }


def _write_crate(folder: Path, runs: list[Run]) -> None:
    """Writes ro-crate-metadata.json: all files, the software, and an action for each notebook."""
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    actions = [
        {
            "@id": f"#run-{paper}",
            "@type": "CreateAction",
            "name": f"Notebook of {paper}",
            "endTime": about["date"],
            "instrument": {"@id": "#katayori"},
            "result": {"@id": f"runs/{paper}/results.json"},
        }
        for paper, _, about in runs
    ]
    crate = _told()["crate"]
    root = crate["root"] | {
        "name": f"A run of Katayori: {', '.join(paper for paper, _, _ in runs)}",
        "datePublished": max(about["date"] for _, _, about in runs),
        "hasPart": [{"@id": file} for file in files],
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    software = crate["software"] | {"softwareVersion": __version__}
    parts = [{"@id": file, "@type": "File"} for file in files]
    graph = [crate["descriptor"], root, crate["profile"], software, *parts, *actions]
    content = {"@context": crate["context"], "@graph": graph}
    _write_json(folder / "ro-crate-metadata.json", content)


def _write_study_set(folder: Path, paper_id: str) -> None:
    """Writes our items as a table of ids, and what Croissant says of them."""
    paper = get_paper(paper_id)
    items, version, _ = paper.read("study", {})
    right = items[paper.gold_column].astype(str) if paper.gold_column else ""
    folder.mkdir(parents=True)
    table = items[["item_id"]].assign(cluster=paper.cluster_of(items), right_option=right)
    harmless(table).to_csv(folder / "items.csv", index=False, lineterminator="\n")
    entry, told = catalogue.load()[f"study_{paper_id}"], _told()
    own = told["study_sets"][paper_id]
    about = {
        "description": f"{entry['title']} ({version}), its ids.",
        "citeAs": f"Katayori contributors, {own['name']}, {version}",
        "license": f"https://spdx.org/licenses/{entry['licence']}",
        "version": f"{version.rpartition(' v')[2]}.0.0",
        "inLanguage": entry["language"],
        "distribution": [told["items"] | {"sha256": paths.sha256(folder / "items.csv")}],
    }
    _write_json(folder / "croissant.json", told["croissant"] | own | about)


# -- what never leaves -----------------------------------------------------------------------------


def private_texts() -> dict[str, str]:
    """A pattern of each text of this machine that must not be written, the longest first -> what
    it is.
    """
    found = {
        value.strip(): f"the value of {name}"
        for name, value in os.environ.items()
        if len(value.strip()) >= 8 and SECRET.search(name.upper())
    }
    for name in sorted({endpoint.base_url_env for endpoint in registry()[0].values()} - {""}):
        if address := os.environ.get(name, "").strip():
            found[address] = f"the address in {name}"
            found[urlsplit(address).netloc or address] = f"the address in {name}"
    home = os.path.expanduser("~")  # without a home it stays as it is
    found[home] = "the home folder"
    patterns = {}
    for text in sorted(found.keys() - {"", "/", "~"}, key=len, reverse=True):
        for form in (text, json.dumps(text, ensure_ascii=False)[1:-1]):
            # No letter or digit continues it.
            patterns[rf"(?<![^\W_]){re.escape(form)}(?![^\W_])"] = found[text]
    names = {os.environ.get("USER", ""), os.path.basename(home)}
    with suppress(OSError, KeyError):  # a user without an entry
        names.add(getpass.getuser())
    for name in map(re.escape, sorted(names - NOBODY)):
        # As part of a path or an account; elsewhere it is a word like others.
        patterns[rf'(?<=[/\\]){name}(?=[/\\"]|$)|(?<![^\W_]){name}(?=@)'] = "the user's name"
    return patterns


def hidden(text: str) -> str:
    """JSON in whose texts every private one reads `***`."""
    private = re.compile("|".join(private_texts()) or r"(?!)")
    return STRING.sub(lambda found: private.sub("***", found[0]), text)


def check_private(folder: Path) -> None:
    """Reads every written file once more. KatayoriError naming the first that holds such a text."""
    patterns = private_texts()
    for path in sorted(filter(Path.is_file, folder.rglob("*"))):
        shown = str(path.relative_to(folder))
        content = f"{shown}\n{path.read_bytes().decode('utf-8', errors='replace')}"
        for pattern, about in patterns.items():
            if re.search(pattern, content):
                raise KatayoriError(f"{shown} holds {about}; nothing was exported")

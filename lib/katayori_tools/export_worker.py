"""Runs inside the environment of exports, never here: `export_worker.py FOLDER SCHEMA VERSION`.

Writes the RO-Crate around all files of an export and checks every format. Its last line is a JSON
list: what was checked, how many files, what is wrong with them.
"""

import json
import sys
from pathlib import Path
from typing import Any

Checked = tuple[str, int, list[str]]
DESCRIPTION = """Social bias of language models, measured with notebooks after published methods.
No claim that a published result is replicated."""
PROCESS_RUN = "https://w3id.org/ro/wfrun/process/0.5"


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def every_eval_ever(folder: Path, schema: Path) -> Checked:
    """Every file of results against the schema."""
    from jsonschema import Draft7Validator

    check = Draft7Validator(_read(schema))
    files = sorted(folder.glob("data/**/*.json"))
    wrong = [
        f"{file.relative_to(folder)}: {error.json_path}: {error.message[:200]}"
        for file in files
        for error in check.iter_errors(_read(file))
    ]
    return "Every Eval Ever 0.3, its schema", len(files), wrong


def croissant(folder: Path) -> Checked:
    """Reads the Croissant file of each study set offline, and through it the items."""
    import mlcroissant

    files = sorted(folder.glob("study/*/croissant.json"))
    wrong = []
    for file in files:
        try:
            list(mlcroissant.Dataset(jsonld=str(file)).records("items"))
        except (mlcroissant.ValidationError, mlcroissant.GenerationError) as error:
            wrong.append(f"{file.relative_to(folder)}: {error}")
    return "Croissant 1.1, mlcroissant", len(files), wrong


def write_crate(folder: Path, version: str) -> None:
    """Writes ro-crate-metadata.json: all files, the software, and an action for each notebook."""
    from rocrate.rocrate import ROCrate

    crate = ROCrate(folder, init=True, version="1.1")
    told = {"@type": "SoftwareApplication", "name": "Katayori", "softwareVersion": version}
    software = crate.add_jsonld({"@id": "#katayori"} | told)
    runs = sorted((folder / "runs").iterdir())
    actions = []
    for run in runs:
        date = _read(run / "provenance.json")["date"]
        made = crate.get(f"runs/{run.name}/results.json")
        used = crate.get(f"study/{run.name}/items.csv")
        about = {"name": f"Notebook of {run.name}", "endTime": date}
        actions.append(crate.add_action(software, f"#run-{run.name}", used, made, about))
    profile = {"@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
    root = crate.root_dataset
    root["name"] = f"A run of Katayori: {', '.join(run.name for run in runs)}"
    root["description"] = DESCRIPTION
    root["license"] = "https://spdx.org/licenses/MIT"
    root["datePublished"] = max(action["endTime"] for action in actions)
    root["conformsTo"] = crate.add_jsonld({"@id": PROCESS_RUN} | profile)
    root["mentions"] = actions
    crate.metadata.write(folder)


def crate_checked(folder: Path) -> Checked:
    """What roc-validator requires, without network: its context is that of the rocrate package."""
    import rocrate
    from requests import Response
    from rocrate_validator import services
    from rocrate_validator.models import ValidationSettings
    from rocrate_validator.utils.http import HttpRequester

    def from_package(self: Any, url: str, **options: Any) -> Response:
        if not url.startswith("https://w3id.org/ro/crate/"):
            raise ConnectionError(f"{url} is not asked: checks use no network")
        answer = Response()
        answer.status_code = 200
        answer.headers["Content-Type"] = "application/ld+json"
        answer._content = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
        return answer

    HttpRequester.get = from_package
    settings = ValidationSettings(rocrate_uri=folder, profile_identifier="process-run-crate")
    issues = services.validate(settings).get_issues()
    wrong = {f"ro-crate-metadata.json: {one.violatingEntity}: {one.message}" for one in issues}
    return "RO-Crate 1.1, Process Run Crate 0.5, roc-validator", 1, sorted(wrong)


def main() -> None:
    folder, schema = map(Path, sys.argv[1:3])
    checked = [every_eval_ever(folder, schema), croissant(folder)]
    write_crate(folder, sys.argv[3])  # last, since it lists all other files
    print(json.dumps([*checked, crate_checked(folder)]))


if __name__ == "__main__":
    main()

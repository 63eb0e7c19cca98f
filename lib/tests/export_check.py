"""Runs inside the environment of exports, never here: `export_check.py FOLDER SCHEMA`.

Checks every format of an export. Its last line is a JSON list: how many files of a format were
checked, what is wrong with them.
"""

import json
import sys
from pathlib import Path
from typing import Any

Checked = tuple[int, list[str]]


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
    return len(files), wrong


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
    return len(files), wrong


def crate(folder: Path) -> Checked:
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
    return 1, sorted(wrong)


if __name__ == "__main__":
    exported = Path(sys.argv[1])
    found = [every_eval_ever(exported, Path(sys.argv[2])), croissant(exported), crate(exported)]
    print(json.dumps(found))

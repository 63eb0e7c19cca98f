"""Runs inside the environment of exports (`environment`), never here: reads an order from standard
input and prints the answer as its last line.

A finding is a dict of format, file, level (`required` or `recommended`) and what.
"""

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

Finding = dict[str, str]
CROISSANT = "http://mlcommons.org/croissant/1.1"
PROCESS_RUN = "https://w3id.org/ro/wfrun/process/0.5"
CRATE_FILE = "ro-crate-metadata.json"
#: Messages of one file that are listed.
MOST = 20


def finding(format_name: str, file: str, level: str, what: str) -> Finding:
    return {"format": format_name, "file": file, "level": level, "what": " ".join(what.split())}


# -- Every Eval Ever -----------------------------------------------------------------------------


def eee_schema(order: dict[str, Any]) -> dict[str, Any]:
    """Every file against the schema in the wheel."""
    folder = Path(order["folder"])
    check = _validator(order["wheel"])
    findings: list[Finding] = []
    files = sorted((folder / "data").rglob("*.json"))
    for path in files:
        name = str(path.relative_to(folder))
        for error in check.iter_errors(json.loads(path.read_text(encoding="utf-8"))):
            where = "/".join(map(str, error.absolute_path))
            what = f"{where}: {error.message[:200]}"
            findings.append(finding("Every Eval Ever", name, "required", what))
    return {"files": len(files), "findings": findings[:MOST]}


def _validator(wheel: str) -> Any:
    from jsonschema import Draft7Validator

    with zipfile.ZipFile(wheel) as opened:
        schema = json.loads(opened.read("every_eval_ever/schemas/eval.schema.json"))
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


# -- Croissant -----------------------------------------------------------------------------------


def croissant(order: dict[str, Any]) -> dict[str, Any]:
    """Writes the Croissant file of each study set, reads it again offline, and its items too."""
    import mlcroissant

    findings: list[Finding] = []
    for about in order["sets"]:
        path = Path(order["folder"]) / about["file"]
        content = _croissant_metadata(mlcroissant, path.parent, about).to_json()
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1, default=str) + "\n")
        findings += _croissant_findings(mlcroissant, path, about["file"])
    return {"files": len(order["sets"]), "findings": findings}


def _croissant_metadata(mlc: Any, folder: Path, about: dict[str, Any]) -> Any:
    copied = ["data_use_cases", "data_limitations", "data_biases", "data_collection"]
    copied += ["personal_sensitive_information", "name", "description", "version", "keywords"]
    items = _file_object(mlc, folder / "items.csv", "text/csv")
    texts = [_file_object(mlc, folder / name, "application/yaml") for name in about["texts"]]
    fields = [
        mlc.Field(
            id=f"items/{name}",
            name=name,
            description=description,
            data_types=mlc.DataType.TEXT,
            source=mlc.Source(file_object="items.csv", extract=mlc.Extract(column=name)),
        )
        for name, description in about["fields"].items()
    ]
    return mlc.Metadata(
        **{name: about[name] for name in copied},
        ctx=mlc.Context(conforms_to=CROISSANT),
        cite_as=about["cite_as"],
        license=[f"https://spdx.org/licenses/{about['licence']}"],
        date_published=datetime.fromisoformat(about["date"]),
        in_language=[about["language"]],
        creators=[mlc.Organization(name="Katayori contributors")],
        distribution=[items, *texts],
        record_sets=[mlc.RecordSet(id="items", name="items", fields=fields)],
    )


def _file_object(mlc: Any, path: Path, kind: str) -> Any:
    return mlc.FileObject(
        id=path.name,
        name=path.name,
        content_url=path.name,
        encoding_formats=[kind],
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def _croissant_findings(mlc: Any, path: Path, name: str) -> list[Finding]:
    try:
        dataset = mlc.Dataset(jsonld=str(path))
        listed = sum(1 for _ in dataset.records("items"))
    except (mlc.ValidationError, mlc.GenerationError) as error:
        return [finding("Croissant 1.1", name, "required", str(error))]
    in_file = len(path.with_name("items.csv").read_text(encoding="utf-8").splitlines()) - 1
    found = [
        finding("Croissant 1.1", name, "recommended", str(warning))
        for warning in sorted(dataset.metadata.ctx.issues.warnings)
    ]
    if listed != in_file:
        what = f"{listed} records are read, the table has {in_file}"
        found.append(finding("Croissant 1.1", name, "required", what))
    return found


# -- CodeMeta ------------------------------------------------------------------------------------


def codemeta(order: dict[str, Any]) -> dict[str, Any]:
    """codemeta.json against a schema of ours, and what it could say besides."""
    from jsonschema import Draft202012Validator

    content = json.loads((Path(order["folder"]) / "codemeta.json").read_text(encoding="utf-8"))
    name = "CodeMeta 3.0"
    findings = [
        finding(name, "codemeta.json", "required", error.message)
        for error in Draft202012Validator(order["schema"]).iter_errors(content)
    ]
    findings += [
        finding(name, "codemeta.json", "recommended", f"{term} is not given")
        for term in order["recommended"]
        if term not in content
    ]
    return {"files": 1, "findings": findings}


# -- RO-Crate ------------------------------------------------------------------------------------


def crate(order: dict[str, Any]) -> dict[str, Any]:
    """Writes ro-crate-metadata.json into the folder, with rocrate."""
    from rocrate.rocrate import ROCrate

    made = ROCrate(version="1.1")
    told = order["crate"]
    root = made.root_dataset
    for name in ("name", "description"):
        root[name] = told[name]
    root["datePublished"] = told["date"]
    profile = _entity(made, PROCESS_RUN, "CreativeWork", name="Process Run Crate", version="0.5")
    root["conformsTo"] = profile
    root["license"] = _entity(
        made, told["licence"], "CreativeWork", name="MIT License", description="the MIT licence"
    )
    software = _entity(made, "#katayori", "SoftwareApplication", **told["software"])
    files = {
        name: made.add_file(
            str(Path(order["folder"]) / name), name, properties={"encodingFormat": kind}
        )
        for name, kind in told["files"].items()
    }
    root["mentions"] = _as_listed([_action(made, software, files, one) for one in told["actions"]])
    made.metadata.write(order["folder"])
    return {"files": 1, "findings": []}


def _as_listed(entities: list[Any]) -> Any:
    """A single one by itself, as the specification recommends."""
    return entities[0] if len(entities) == 1 else entities


def _entity(made: Any, identity: str, kind: str, **properties: Any) -> Any:
    from rocrate.model.contextentity import ContextEntity

    return made.add(ContextEntity(made, identity, properties={"@type": kind, **properties}))


def _action(made: Any, software: Any, files: dict[str, Any], told: dict[str, Any]) -> Any:
    parameters = [
        _entity(made, f"{told['id']}-{name}", "PropertyValue", name=name, value=value)
        for name, value in told["parameters"].items()
    ]
    action = _entity(
        made,
        told["id"],
        "CreateAction",
        name=told["name"],
        description=told["description"],
        endTime=told["date"],
    )
    action["instrument"] = software
    action["object"] = _as_listed([*(files[name] for name in told["uses"]), *parameters])
    action["result"] = _as_listed([files[name] for name in told["results"]])
    return action


class _FromFile:
    """What the validator's requester would answer: the context that the rocrate package holds."""

    status_code = 200
    headers: ClassVar[dict[str, str]] = {"Content-Type": "application/ld+json"}

    def __init__(self) -> None:
        import rocrate

        path = Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld"
        self.text = path.read_text(encoding="utf-8")
        self.content = self.text.encode()

    def json(self) -> Any:
        return json.loads(self.text)


def _ask_file(self: Any, url: str, **options: Any) -> _FromFile:
    if not url.startswith("https://w3id.org/ro/crate/"):
        raise ConnectionError(f"{url} is not asked: checks use no network")
    return _FromFile()


def crate_check(order: dict[str, Any]) -> dict[str, Any]:
    """What roc-validator finds on its required and recommended levels, without network."""
    from rocrate_validator import services
    from rocrate_validator.models import Severity, ValidationSettings
    from rocrate_validator.utils.http import HttpRequester

    HttpRequester.get = _ask_file
    settings = ValidationSettings(
        rocrate_uri=Path(order["folder"]),
        profile_identifier="process-run-crate",
        requirement_severity=Severity.RECOMMENDED,
    )
    result = services.validate(settings)
    findings = []
    for issue in result.get_issues():
        level = "required" if issue.severity >= Severity.REQUIRED else "recommended"
        entity = f"{issue.violatingEntity}: " if issue.violatingEntity else ""
        findings.append(finding("RO-Crate", CRATE_FILE, level, f"{entity}{issue.message}"))
    unique = [dict(pairs) for pairs in sorted({tuple(one.items()) for one in findings})]
    note = "its JSON-LD context came from the file in the rocrate package (1.3), not the network"
    return {"files": 1, "findings": unique, "note": note}


STEPS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "eee_schema": eee_schema,
    "croissant": croissant,
    "codemeta": codemeta,
    "crate": crate,
    "crate_check": crate_check,
}


def main() -> None:
    order = json.loads(sys.stdin.read())
    print(json.dumps(STEPS[order["step"]](order)))


if __name__ == "__main__":
    main()

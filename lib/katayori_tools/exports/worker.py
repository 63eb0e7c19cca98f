"""Runs inside the environment of exports (`environment`), never here: reads an order from standard
input and prints the answer as its last line.

A finding is a dict of format, file, level (`required` or `recommended`) and what.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Finding = dict[str, str]
#: Messages of one file that are listed.
MOST = 20


def finding(format_name: str, file: str, level: str, what: str) -> Finding:
    return {"format": format_name, "file": file, "level": level, "what": " ".join(what.split())}


# -- Every Eval Ever -----------------------------------------------------------------------------


def eee_schema(order: dict[str, Any]) -> dict[str, Any]:
    """Every file against the schemas in the wheel, every line of samples too."""
    folder = Path(order["folder"])
    results = _validator(order["wheel"], "eval.schema.json")
    samples = _validator(order["wheel"], "instance_level_eval.schema.json")
    findings: list[Finding] = []
    count = lines = 0
    for path in sorted((folder / "data").rglob("*.json*")):
        count += 1
        name = str(path.relative_to(folder))
        for number, record in _records(path):
            lines += path.suffix == ".jsonl"
            check = samples if path.suffix == ".jsonl" else results
            for error in check.iter_errors(record):
                where = "/".join(map(str, error.absolute_path))
                what = f"line {number}: {where}: {error.message[:200]}"
                findings.append(finding("Every Eval Ever", name, "required", what))
    return {"files": count, "lines": lines, "findings": findings[:MOST]}


def _validator(wheel: str, name: str) -> Any:
    from jsonschema import Draft7Validator

    with zipfile.ZipFile(wheel) as opened:
        schema = json.loads(opened.read(f"every_eval_ever/schemas/{name}"))
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        yield 1, json.loads(text)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        yield number, json.loads(line)


def eee_own(order: dict[str, Any]) -> dict[str, Any]:
    """The validator that Every Eval Ever brings, which also compares paths and companions."""
    if sys.version_info < (3, 12):
        return {"files": 0, "findings": [], "not_run": "it needs Python 3.12 or later"}
    command = [sys.executable, "-m", "every_eval_ever.validator.cli", "--format", "json"]
    done = subprocess.run(
        [*command, "data/*/*/*/*.json*"],
        cwd=order["folder"],
        env={**os.environ, "PYTHONPATH": order["wheel"]},
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1, 2):
        raise SystemExit(done.stderr)
    reports = json.loads(done.stdout)
    findings = [
        finding("Every Eval Ever", report["file"], level, f"{one['loc']}: {one['msg']}")
        for report in reports
        for level, kind in (("required", "errors"), ("recommended", "warnings"))
        for one in report[kind][:MOST]
    ]
    return {"files": len(reports), "findings": findings}


STEPS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "eee_schema": eee_schema,
    "eee_own": eee_own,
}


def main() -> None:
    order = json.loads(sys.stdin.read())
    print(json.dumps(STEPS[order["step"]](order)))


if __name__ == "__main__":
    main()

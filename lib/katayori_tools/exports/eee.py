"""Every Eval Ever 0.3: the results of a run, one file a model and paper.

The schema asks for a number and a direction of every result. What it has no place for stands as
text in its `details`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting.models import Model, get_model
from katayori.provenance import without_folder
from katayori.report.run import COUNTS, FIELDS, KEY, NUMBERS
from katayori_tools.exports.measures import Measure, measure

VERSION = "0.3.0"
#: Whose answers a file may hold: published figures are others' and have no answers here.
SOURCES = ("recorded", "simulated", "live", "imported")
LEVEL = 0.95
#: How the direction is told beside the schema's yes or no.
DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "0 is the target; the sign says which way it is missed",
    "neither": "describes; neither higher nor lower is better",
    None: "not stated",
}
#: Fields of a row that have a place of their own in a result; all others are details.
PLACED = ("paper", "what", "model", "cell", "value", "unit", "requirement", "ci_low", "ci_high")
DETAILS = tuple(name for name in FIELDS if name not in PLACED)
_AS_JSON = (*NUMBERS, *COUNTS, "headline")


@dataclass(frozen=True)
class Made:
    """A file to write: its path below the folder of the export, and what it holds."""

    path: PurePosixPath
    content: dict[str, Any]


def can_hold(row: Mapping[str, Any]) -> bool:
    """Whether a row is a defined number about a model that answered."""
    return row["value"] is not None and row["model"] is not None and row["source"] in SOURCES


def files(paper: str, rows: Iterable[dict[str, Any]], provenance: Mapping[str, Any]) -> list[Made]:
    """One file for each model and source of answers.

    Args:
        paper: its id. rows: of results.json; those that `can_hold` refuses are passed over.
        provenance: provenance.json of the same run.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in filter(can_hold, rows):
        groups.setdefault((row["model"], row["source"]), []).append(row)
    return [_file(paper, *key, group, provenance) for key, group in groups.items()]


def _file(
    paper: str, model: str, source: str, rows: list[dict[str, Any]], run: Mapping[str, Any]
) -> Made:
    info = model_info(model, source, run)
    moment = datetime.fromisoformat(run["date"])
    content = {
        "schema_version": VERSION,
        "evaluation_id": f"katayori.{paper}/{info['id']}/{int(moment.timestamp())}",
        "evaluation_timestamp": run["date"],
        "retrieved_timestamp": str(int(moment.timestamp())),
        "source_metadata": {
            "source_name": f"Katayori, {paper}",
            "source_type": "evaluation_run",
            "source_organization_name": "Katayori contributors",
            "evaluator_relationship": "third_party",
            "additional_details": {
                "paper": paper,
                "model_in_rows": without_folder(model),
                "answers": source,
                "note": "a method rebuilt after a paper; no claim that its results are replicated",
            },
        },
        "eval_library": {"name": "katayori", "version": run["packages"].get("katayori") or "0"},
        "model_info": info,
        "evaluation_results": [_result(row, run) for row in rows],
    }
    name = uuid_of(paper, model, source, run["date"])
    return Made(folder_of(paper, info["id"]) / f"{name}.json", content)


def uuid_of(*parts: str) -> str:
    """A UUID of version 4 in form, the same for the same parts, so that exports can be compared.

    Example:
        >>> uuid_of("a", "b") == uuid_of("a", "b") != uuid_of("a", "c")
        True
    """
    digits = list(hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32])
    digits[12] = "4"
    digits[16] = "89ab"[int(digits[16], 16) % 4]
    text = "".join(digits)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def folder_of(paper: str, model_id: str) -> PurePosixPath:
    """The folder that the schema's owners ask for: data/collection/developer/model."""
    developer, name = model_id.split("/", 1)
    return PurePosixPath("data", f"katayori_{paper}", developer, name.replace("/", "_"))


def model_info(model: str, source: str, run: Mapping[str, Any]) -> dict[str, Any]:
    """What the schema wants to know of a model.

    Its id is developer and name; a simulated respondent is ours, and a model whose developer is not
    known stands under `unlisted`.

    Example:
        >>> run = {"models": []}
        >>> model_info("Org/Model-7B@vllm", "live", run)["id"]
        'Org/Model-7B'
        >>> model_info("/srv/weights/mine", "imported", run)["id"]
        'unlisted/mine'
    """
    known, is_own = _listed(model)
    ran: dict[str, Any] = next((one for one in run["models"] if one["id"] == model), {})
    name = without_folder(model).split("@")[0]
    developer, _, rest = name.rpartition("/")
    if source == "simulated":
        developer = "katayori"
    developer = developer or known.developer or "unlisted"
    access = {"open": "open_weights", "closed": "closed_weights"}
    here = is_own or source == "simulated" or str(ran.get("endpoint")).startswith("local")
    details = {
        "deployment_type": "self_deployed" if here else "externally_managed",
        "model_availability": access.get(known.access or "", "unknown"),
        "answers": source,
    }
    if source == "simulated":
        details["kind"] = "a program of planted behaviour, no language model"
    for detail in ("endpoint", "digest"):
        if ran.get(detail):
            details[detail] = str(ran[detail])
    return {
        "name": without_folder(model),
        "id": f"{_portable(developer.replace('/', '-'))}/{_portable(rest)}",
        "developer": developer,
        "additional_details": details,
    }


def _listed(model: str) -> tuple[Model, bool]:
    """What the registry has of a model, and whether it ran on this machine or a server of the
    user's; of a name that it does not know, nothing.
    """
    try:
        known, endpoint = get_model(model)
    except KatayoriError:
        return Model(model, model, "unknown"), True
    return known, endpoint.own or endpoint.kind == "local"


def _portable(name: str) -> str:
    """A name as a folder of any system; what cannot stand there becomes a hyphen."""
    return re.sub(r'[<>:"\\|?*\x00-\x1f\s]+', "-", name).strip(". ") or "unnamed"


def _result(row: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    stated = measure(row["paper"], row["what"], row["unit"])
    result: dict[str, Any] = {
        "evaluation_result_id": result_id(row),
        "evaluation_name": row["what"],
        "source_data": _source_data(row["dataset"], run),
        "metric_config": _metric(row, stated),
        "score_details": _score(row),
    }
    if row["prompt_id"]:
        asked = row["prompt_id"].split("+")
        hashed = "+".join(run["prompts"].get(one, "") for one in asked)
        details = {"prompt_id": row["prompt_id"], "prompt_hash": str(hashed)}
        result["generation_config"] = {"additional_details": details}
    return result


def result_id(row: Mapping[str, Any]) -> str:
    """What tells a result from all others of a run, as a short hash."""
    key = json.dumps([row["paper"], *(row[name] for name in KEY)], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest()[:20]


def _source_data(dataset: str | None, run: Mapping[str, Any]) -> dict[str, Any]:
    digest = run["datasets"].get(dataset)
    return {
        "dataset_name": dataset or "not named",
        "source_type": "other",
        "additional_details": {"sha256_of_content": str(digest)} if digest else {},
    }


def _metric(row: Mapping[str, Any], stated: Measure | None) -> dict[str, Any]:
    slug = re.sub(r"[^a-z0-9]+", "_", row["what"].lower()).strip("_")
    config: dict[str, Any] = {
        "metric_id": f"katayori.{row['paper']}.{slug}",
        "metric_name": row["what"],
        "metric_parameters": row["cell"],
        "lower_is_better": bool(stated and stated.better == "lower"),
        "additional_details": {
            "requirement": row["requirement"],
            "direction": DIRECTIONS[stated.better if stated else None],
        },
    }
    if row["unit"] is not None:
        config["metric_unit"] = row["unit"]
    if stated and stated.lowest is not None:
        bounds = {"min_score": stated.lowest, "max_score": stated.highest}
        config |= {"score_type": "continuous", **bounds}
    return config


def _score(row: Mapping[str, Any]) -> dict[str, Any]:
    details = {}
    for name in DETAILS:
        if row[name] is not None:
            details[name] = json.dumps(row[name]) if name in _AS_JSON else row[name]
    score: dict[str, Any] = {"score": row["value"], "details": details}
    low, high = row["ci_low"], row["ci_high"]
    if low is not None and high is not None:
        interval = {"lower": low, "upper": high, "confidence_level": LEVEL}
        score["uncertainty"] = {"confidence_interval": interval | {"method": _method(row)}}
        if row["n"] is not None:
            score["uncertainty"]["num_samples"] = row["n"]
    else:
        bounds = {"ci_low": low, "ci_high": high}
        details |= {name: json.dumps(bound) for name, bound in bounds.items() if bound is not None}
    return score


def _method(row: Mapping[str, Any]) -> str:
    if row["clusters"] is None:
        return "as the measure's documentation says"
    return f"over {row['clusters']} clusters; as the measure's documentation says"

"""The software as CodeMeta 3.0: what `pyproject.toml`, CITATION.cff and the version say of it."""

import tomllib
from typing import Any

from katayori import __version__, paths
from katayori.data.files import read_yaml

SPDX = "https://spdx.org/licenses/"
#: What CodeMeta asks of every file here, as a JSON schema; `worker` checks with it.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": [
        *("@context", "@type", "name", "description", "version", "license", "author"),
        *("programmingLanguage", "runtimePlatform", "softwareRequirements"),
    ],
    "properties": {
        "@context": {"const": "https://w3id.org/codemeta/3.0"},
        "@type": {"const": "SoftwareSourceCode"},
        "name": {"type": "string", "minLength": 1},
        "description": {"type": "string", "minLength": 1},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "license": {"type": "string", "pattern": "^https://spdx.org/licenses/"},
        "author": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/agent"}},
        "softwareRequirements": {"type": "array", "items": {"$ref": "#/$defs/software"}},
        "runtimePlatform": {"type": "string"},
    },
    "$defs": {
        "agent": {
            "type": "object",
            "required": ["@type", "name"],
            "properties": {"@type": {"enum": ["Person", "Organization"]}},
        },
        "software": {
            "type": "object",
            "required": ["@type", "name"],
            "properties": {"@type": {"const": "SoftwareApplication"}},
        },
    },
}
#: What a full description has besides; each that is missing is a recommended finding.
RECOMMENDED = ("codeRepository", "identifier", "datePublished", "keywords", "referencePublication")


def record() -> dict[str, Any]:
    """The content of codemeta.json."""
    root = paths.root()
    project = tomllib.loads((root / "lib" / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    citation = read_yaml(root / "CITATION.cff", "citation file")
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": "Katayori",
        "description": project["description"],
        "version": __version__,
        "license": SPDX + citation["license"],
        "author": [{"@type": "Organization", "name": one["name"]} for one in citation["authors"]],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "keywords": ["large language models", "social bias", "Japanese", "benchmarks"],
        "softwareRequirements": [
            {"@type": "SoftwareApplication", "name": name} for name in project["dependencies"]
        ],
    }

"""The folders of runs: which one a profile and models mean, and which there are."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError

#: What a notebook leaves in the folder of its paper, whether it succeeded or not.
MADE = ("results.json", "skipped.json", "[0-9][0-9]_*.ipynb")
#: Whose answers a run holds is told by the models' names; other runs are one folder a profile.
OF_MODELS = ("live", "imported")


def run_folder(profile: Mapping[str, Any], models: Sequence[str] = (), label: str = "") -> Path:
    """The folder of a run, which holds one folder a paper.

    `outputs/<profile>/`, and for live and imported answers, which are of a user's models, a folder
    of their own below it: the label, or else the models as they were asked, several joined by `+`.
    """
    base = paths.outputs_dir() / profile["name"]
    names = [label] if label else list(models)
    if profile["answers"] not in OF_MODELS or not names:
        return base
    joined = "+".join(map(paths.safe_name, names))
    return base / (joined if len(joined.encode()) <= 2 * paths.LONGEST else paths.safe_name(joined))


def run_label() -> str:
    """The label of the server that is asked (`KATAYORI_LABEL`), or nothing."""
    return os.environ.get("KATAYORI_LABEL", "").strip()


def is_paper(folder: Path) -> bool:
    """Whether a notebook has run into this folder."""
    return any(next(folder.glob(name), None) for name in MADE)


def is_run(folder: Path) -> bool:
    """Whether a folder holds folders of papers."""
    return any(is_paper(path) for path in folder.glob("[!.]*/"))


def runs_of(profile_name: str) -> list[Path]:
    """The runs of a profile: its folder, and the folders of models below it."""
    base = paths.outputs_dir() / profile_name
    return [path for path in (base, *sorted(base.glob("[!.]*/"))) if is_run(path)]


def only_run(profile: Mapping[str, Any], models: Sequence[str] = (), label: str = "") -> Path:
    """The folder of the run that is meant; no model need be named where only one run is there.

    KatayoriError naming the runs if there are several.
    """
    folder = run_folder(profile, models, label)
    if profile["answers"] not in OF_MODELS or models or label:
        return folder
    runs = runs_of(profile["name"])
    if len(runs) > 1:
        names = ", ".join(path.name for path in runs)
        raise KatayoriError(f"{folder} holds several runs: {names}; name one's models with MODELS=")
    return runs[0] if runs else folder

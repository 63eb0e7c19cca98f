"""The folders of runs: which one is meant, which there are, and the study that one is about."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError
from katayori.papers import get_paper
from katayori.papers.items import own_files
from katayori.study import Study

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


def noted(folder: Path, name: str) -> Any:
    """What a notebook left in a JSON file of its run folder; empty where it left none."""
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


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


def reopened(folder: Path) -> Study:
    """The study that a run folder is about, opened with the parameters of the run.

    Raises:
        UnavailableError, KatayoriError: as `Study`; of files of the user's own the folder
        keeps the whole path only where the runner made it.
    """
    given = _noted(folder / "provenance.json")["parameters"]
    stamp = folder / "stamp.json"
    if stamp.is_file():  # it has paths of files in full
        given |= _noted(stamp)["inputs"]["parameters"]
    own = get_paper(folder.name).own_files
    known = ("profile", "models", "prompts", "asked", "limit", "only", "answers_file", *own)
    return Study(folder.name, **{name: given[name] for name in known if name in given})


def study_of(folder: Path) -> Study | None:
    """The study of a run folder (`reopened`), to compare what its models answered.

    None where no run is there or its answers are not, and where it took files of the user's own.
    Answers that are missing give an empty frame, whatever the prompt.
    """
    file = folder / "provenance.json"
    own = set(own_files()) - {"orders", "preset"} | {"prompts", "answers_file"}
    if not file.is_file() or any(_noted(file)["parameters"].get(name) for name in own):
        return None
    try:
        study = reopened(folder)
    except UnavailableError:
        return None
    study.asked = []
    return study


def _noted(file: Path) -> dict[str, Any]:
    """What a run noted of itself in a file of its folder."""
    noted: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return noted

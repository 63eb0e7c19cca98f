"""Whether texts may leave with an export: only those that are this project's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from katayori.data import catalogue
from katayori.errors import KatayoriError
from katayori.papers import get_paper


def check(profile: Mapping[str, Any], runs: Mapping[str, Mapping[str, Any]]) -> None:
    """KatayoriError, in one line, where `--with-text` would give on texts of others.

    Args:
        profile: of the run. runs: provenance.json by paper.
    """
    for paper, run in runs.items():
        files = get_paper(paper).own_files
        yours = [name for name, file in files.items() if file.is_a != "setting"]
        if given := [name for name in yours if run["parameters"].get(name)]:
            _refuse(f"{paper} was run on a file of yours ({given[0]}) whose licence is not known")
        if profile["items"] != "study":
            _refuse(f"{paper} was run on the data of others ({_licence_of(paper)})")


def _licence_of(paper: str) -> str:
    """The licences of the data sets of others that a paper rests on, as the catalogue has them."""
    entries = catalogue.load()
    listed: Sequence[str] = [
        f"{name}: {entry['licence']}"
        for name, entry in entries.items()
        if paper in entry["papers"] and entry["access"] != "ours"
    ]
    return "; ".join(listed) or "no licence is listed"


def _refuse(why: str) -> None:
    raise KatayoriError(f"--with-text is refused: {why}; export without it, ids and numbers only")

"""What texts and commands need to know of a paper: `data/papers/<id>.yaml`, one file a paper.

The fields are described in `data/papers/README.md`.
"""

from typing import Any

from katayori import paths
from katayori.data import files
from katayori.errors import expect

FOLDER = "papers"


def names() -> set[str]:
    """The ids of the papers; no file is read for it."""
    return {file.stem for file in paths.registry(FOLDER).glob("*.yaml")}


def ids() -> tuple[str, ...]:
    """The ids of the papers, in the order of their notebooks."""
    return tuple(sorted(names(), key=lambda name: _read(name)["notebook"]))


def _read(paper_id: str) -> dict[str, Any]:
    from katayori.data.paper_facts_schema import PaperFacts

    return files.read_checked(PaperFacts, paths.registry(f"{FOLDER}/{paper_id}.yaml"))


def of(paper_id: str) -> dict[str, Any]:
    """What is written of one paper. KatayoriError naming the valid ids.

    Example:
        >>> [of(name)["notebook"][:2] for name in ids()][:2]
        ['01', '02']
    """
    expect(paper_id, ids(), "paper")
    return _read(paper_id)


def every() -> list[dict[str, Any]]:
    """What is written of all papers, in the order of their notebooks."""
    return [of(paper_id) for paper_id in ids()]

"""The papers, each in a room of its own: a module `katayori/papers/<id>.py`."""

from functools import cache
from importlib import import_module
from pathlib import Path

from katayori.data import paper_facts
from katayori.errors import expect
from katayori.papers.paper import Paper

HERE = Path(__file__).parent


def rooms() -> list[str]:
    """The names of the rooms in the order of the alphabet; no file of data is read for it.

    A room is a module here that has the name of a file of facts (data/papers).
    """
    return sorted({file.stem for file in HERE.glob("*.py")} & paper_facts.names())


def paper_ids() -> tuple[str, ...]:
    """The ids of the papers that have a room, in the order of their notebooks."""
    known = rooms()
    return tuple(name for name in paper_facts.ids() if name in known)


@cache
def get_paper(paper_id: str) -> Paper:
    """The paper of this id. KatayoriError naming the valid ids."""
    if paper_id not in rooms():
        expect(paper_id, paper_ids(), "paper with items to ask")
    paper: Paper = import_module(f"{__name__}.{paper_id}").PAPER
    paper.id = paper_id
    return paper

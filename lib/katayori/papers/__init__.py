"""The papers, each in a room of its own: a module `katayori/papers/<id>.py`."""

from functools import cache
from importlib import import_module

from katayori.data import paper_facts
from katayori.errors import expect
from katayori.papers.paper import Paper


def paper_ids() -> tuple[str, ...]:
    """The ids of the papers, in the order of their notebooks."""
    return paper_facts.ids()


@cache
def get_paper(paper_id: str) -> Paper:
    """The paper of this id. KatayoriError naming the valid ids."""
    if paper_id not in paper_facts.names():  # no file of data is read for it
        expect(paper_id, paper_ids(), "paper with items to ask")
    paper: Paper = import_module(f"{__name__}.{paper_id}").PAPER
    paper.id = paper_id
    return paper

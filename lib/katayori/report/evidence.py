"""What a kept table or figure stands for.

Which requirement it serves says data/traceability.csv, what its values are data/papers/<id>.yaml.
"""

import csv
import re
from functools import lru_cache
from typing import Any

from katayori import paths
from katayori.data import paper_facts

#: `01_paper#table`: number and id of a notebook, and what it keeps.
_KEPT = re.compile(r"\d\d_(?P<paper>\w+)#(?P<name>\w+)")


def requirements(paper: str, name: str) -> str:
    """The requirements that name a kept table or figure, joined by "; "; empty where none does.

    Example:
        >>> requirements("no such paper", "table")
        ''
    """
    return "; ".join(_by_place(paper).get(name, ()))


def kept(paper: str, name: str) -> dict[str, Any]:
    """What the values of a kept table are (`kept` of data/papers/<id>.yaml); empty: a table only.

    Example:
        >>> kept("no such paper", "table")
        {}
    """
    facts = paper_facts.of(paper) if paper in paper_facts.ids() else {}
    return dict((facts.get("kept") or {}).get(name, {}))


@lru_cache
def _by_place(paper: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with (paths.data_dir() / "traceability.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for place in _KEPT.finditer(row["where"]):
                if place["paper"] == paper:
                    found.setdefault(place["name"], []).append(row["requirement"])
    return found

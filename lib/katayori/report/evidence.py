"""What a kept table or figure stands for.

Which requirement it serves says data/traceability.csv, what its values are data/papers/<id>.yaml.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from typing import Any

from katayori import paths
from katayori.data import paper_facts


def requirements(paper: str, name: str) -> str:
    """The requirements that name a kept table or figure, joined by "; "; empty where none does.

    Example:
        >>> requirements("no such paper", "table")
        ''
    """
    place = re.compile(rf"\d\d_{paper}#{re.escape(name)}(?!\w)")  # `01_paper#table`
    with (paths.data_dir() / "traceability.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return "; ".join(row["requirement"] for row in rows if place.search(row["where"]))


def kept(paper: str, name: str) -> dict[str, Any]:
    """What the values of a kept table are (`kept` of data/papers/<id>.yaml); empty: a table only.

    Example:
        >>> kept("no such paper", "table")
        {}
    """
    facts = paper_facts.of(paper) if paper in paper_facts.ids() else {}
    return dict((facts.get("kept") or {}).get(name, {}))


def answered(
    row: Mapping[Any, Any],
    prompt: str | Mapping[str, Mapping[str, str]],
    reads: Iterable[Mapping[str, Any]],
) -> tuple[str | None, str | None]:
    """The prompts whose answers a row of a kept table rests on, and the variants that were read.

    Args:
        row: of the table.
        prompt: the id of a prompt, several of them joined by "+"; or, by the name of a column, the
            ids by its levels. `id@set` stands for the answers to a set of items beside the study.
            Empty: what the row has as its prompt_id. Of several it rests on those that were read.
        reads: what was read (`Study.reads`).

    Returns:
        the ids joined by "+", and the variants of recordings joined by "; " (null: no recordings).

    Example:
        >>> read = {"prompt_id": "one", "items": "", "model": "m", "variant": "second"}
        >>> answered({"model": "m", "style": "short"}, {"style": {"short": "one"}}, [read])
        ('one', 'second')
    """
    if isinstance(prompt, Mapping):
        [(column, by_level)] = prompt.items()
        prompt = by_level.get(str(row.get(column)), "")
    named = prompt or row.get("prompt_id")
    wanted = named.split("+") if isinstance(named, str) else []  # NaN: no prompt
    of_prompt = [one for one in reads if _named(one) in wanted]
    model = row.get("model")
    found = [one for one in of_prompt if one["model"] == model or not isinstance(model, str)]
    # A respondent that is made in a cell has no answers of its own in a study.
    ids = [one["prompt_id"] for one in found or of_prompt]
    if not ids and len(wanted) == 1:  # nobody answered, but it is clear what was to be asked
        ids = [wanted[0].partition("@")[0]]
    variants = [one["variant"] for one in found if one["variant"] is not None]
    read = "; ".join(dict.fromkeys(variants)) if variants else None
    return "+".join(dict.fromkeys(ids)) or None, read


def _named(read: Mapping[str, Any]) -> str:
    """What was read as `answered` has it: `id`, or `id@set`."""
    return "@".join(filter(None, (read["prompt_id"], read["items"])))

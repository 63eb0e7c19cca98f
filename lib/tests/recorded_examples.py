"""Small things of the first paper for tests: recorded items and requests.

The answers to them are recorded ones of a real model.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from katayori.papers import get_paper, paper_ids
from katayori.prompting import prompts, recordings
from katayori.prompting.models import get_endpoint, get_model
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Request, build
from katayori_tools.asking import load_rows

if TYPE_CHECKING:
    import pandas as pd

#: Their paper.
PAPER = paper_ids()[0]


def shard() -> dict[str, str]:
    """The manifest's entry of the first whole shard of answers."""
    entries = recordings.manifest(PAPER).values()
    return next(one for one in entries if not one["variant"] and is_complete(one))


def is_complete(entry: Mapping[str, Any]) -> bool:
    """Whether a shard holds every item: neither a sample nor a recording that is not finished."""
    return not entry.get("sample") and entry["count"] == entry.get("planned", entry["count"])


def items(size: int = 3) -> "pd.DataFrame":
    """The first items that the shard answers, with the prompt's place `question` filled."""
    frame = get_paper(PAPER).read("study", {})[0].head(size)
    return frame.rename(columns={"filled_template": "question"})


def prompt() -> Prompt:
    """The prompt that the shard was asked with."""
    return prompts.load_prompts(PAPER)[shard()["prompt_id"]]


def requests(size: int = 3) -> list[Request]:
    """The requests that the shard answers."""
    model = get_model(shard()["model"])[0]
    endpoint = get_endpoint(shard()["endpoint"])
    return build(_records(items(size)), prompt(), model, endpoint)


def _records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a frame; all columns have names."""
    return cast("list[dict[str, Any]]", frame.to_dict("records"))


def request_to(name: str, paper: str, prompt_id: str) -> Request:
    """The request of a paper's first study item to a model, as a prompt asks it."""
    rows = load_rows(paper, "study", limit=1)
    asked = prompts.load_prompts(paper)[prompt_id]
    return build(_records(rows), asked, *get_model(name))[0]

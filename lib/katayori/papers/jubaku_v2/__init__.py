"""A biased and a neutral reason for one conclusion, in eight prompt variants (notebook 04)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from katayori.papers.paper import Audited, Everything, OwnFile, Paper
from katayori.prompting.letters import parse_choice
from katayori.prompting.parsing import Parsed
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd


class JubakuV2(Paper):
    clusters = "cases"
    cluster_column = "case_id"
    options = ("A", "B")
    gold_column = "label"
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "cases": OwnFile("04: a case file (.yaml)", is_a="file")
    }
    #: The benchmarks it is compared with.
    more = ("jbnli", "bbq")
    theirs = ("official", "jbnli", "bbq")
    recorded_as = "study2"

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        from katayori.papers.jubaku_v2 import items

        cases = own.get("cases", "")
        return *items.load_items("study" if cases else dataset, cases), []

    def load_more(self, dataset: str, size: int | None) -> "pd.DataFrame":
        from katayori.papers.jubaku_v2 import items

        return items.load_items(dataset, size=size)[0]

    def second_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.jubaku_v2.second import DATASETS

        return DATASETS

    def third_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.jubaku_v2.third import DATASETS

        return DATASETS

    def surface_rules(self, items: "pd.DataFrame", folder: Path) -> list[Audited]:
        if not {"reason_neutral", "reason_biased", "case_id"} <= set(items):
            return []
        from katayori.papers.jubaku_v2.reason_rules import audited

        return audited(items.drop_duplicates("case_id"), folder)

    def as_planned(self, dataset: str, size: int | None) -> "pd.DataFrame":
        return self.load_more(dataset, size)

    def parse(self, text: str, finish_reason: str) -> Parsed:
        return parse_choice(text, finish_reason)

    def simulate(self, request: Request) -> Response:
        from katayori.papers.jubaku_v2.simulated import respond

        return respond(request)


PAPER = JubakuV2()

"""BBQ-shaped questions in Japanese under five prompts, two of them personas (notebook 02)."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from katayori.papers.paper import ORDERS, Everything, OwnFile, Paper, by_category
from katayori.prompting.parsing import Parsed, parse_number
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd

#: So many of BBQ's items are asked at most, balanced: those that were recorded.
OF_BBQ = 1000


class PersonaJbbq(Paper):
    clusters = "templates"
    cluster_column = "template_id"
    options = ("0", "1", "2")
    gold_column = "label"
    recorded_as = "study2_orders"
    first_as: ClassVar[Mapping[str, str]] = {"edition": "first"}
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "jbbq": OwnFile(
            "02: a folder in the form of JBBQ, or one file of it (.jsonl)", dataset="official"
        ),
        "orders": ORDERS,
    }

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        from katayori.data import bbq
        from katayori.papers.persona_jbbq import second
        from katayori.papers.persona_jbbq.items import load_items

        if "jbbq" not in own:
            if dataset == "study" and self.recorded_as and not own.get("edition"):
                return second.as_given(), second.study_version(), []
            return *load_items(dataset), []
        items = bbq.load_jbbq(own["jbbq"], partial=True)
        held = items["category"].value_counts()
        if all(held.get(name, 0) == n for name, n in bbq.CATEGORIES.items()):
            return items, "JBBQ", []
        counts = [f"{name} {held.get(name, 0):,} of {n:,}" for name, n in bbq.CATEGORIES.items()]
        note = f"JBBQ, rows here of those in the paper (PJ-1): {', '.join(counts)}"
        return items, "JBBQ (other counts than the paper's)", [note]

    def second_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.persona_jbbq.second import DATASETS

        return DATASETS

    def third_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.persona_jbbq.third import DATASETS

        return DATASETS

    def as_planned(self, dataset: str, size: int | None) -> "pd.DataFrame":
        """A number of `study` items is of the first edition: so many were recorded, balanced."""
        from katayori.data import bbq
        from katayori.papers.persona_jbbq.items import load_items

        if dataset == "study" and size is None:
            return self.as_asked(self.read("study", {})[0])
        return self.as_asked(bbq.balanced(load_items(dataset)[0], size))

    def worth_asking(
        self, items: "pd.DataFrame", dataset: str, own: Mapping[str, str]
    ) -> "pd.DataFrame":
        from katayori.data import bbq

        of_bbq = dataset == "official" and "jbbq" not in own
        return bbq.balanced(items, OF_BBQ) if of_bbq else items

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """By rank, so that an interrupted run is balanced, too."""
        return items.sort_values("rank", kind="stable")

    def in_orders(self, rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
        """The study's second edition has ids of its own for every order."""
        from katayori.data import option_orders
        from katayori.papers.persona_jbbq import second

        if own.get("orders") != "all" or "base_id" not in rows:
            return option_orders.in_orders(rows, own)
        return second.in_orders(rows)

    def recorded_in(self, dataset: str) -> Mapping[str, str]:
        """All orders of the options are recorded of the study's second edition."""
        return {"orders": "all"} if dataset == "study" and self.recorded_as else {}

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        from katayori.papers.persona_jbbq import second

        return by_category(second.with_mentions_in_turn(items) if "base_id" in items else items)

    def parse(self, text: str, finish_reason: str) -> Parsed:
        return parse_number(text, finish_reason)

    def simulate(self, request: Request) -> Response:
        from katayori.papers.persona_jbbq.simulated import respond

        return respond(request)


PAPER = PersonaJbbq()

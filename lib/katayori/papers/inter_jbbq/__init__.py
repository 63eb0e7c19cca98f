"""Intersectional questions made of templates and lexicons (notebook 05)."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from katayori.papers.paper import ORDERS, Everything, OwnFile, Paper, by_category
from katayori.prompting.parsing import Parsed, parse_option
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd

#: What topic files give unless the user asks for other counts: the first edition.
PRESET = "published_counts"
#: The second edition's set, which is a preset as well.
BALANCED = "balanced"


class InterJbbq(Paper):
    clusters = "families"
    cluster_column = "focal_id"
    options = ("0", "1", "2")
    gold_column = "label"
    #: A folder of topic files or one of them, how many items they give, a copy of the official
    #: items, and the orders of options.
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "topics": OwnFile("05: a folder of topic files (.yaml), or one of them"),
        "preset": OwnFile(
            "05: published_counts, balanced, or a name that the topic files hold",
            is_a="setting",
        ),
        "official": OwnFile(
            "05: a folder with your copy of the official items (.jsonl)",
            is_a="folder",
            dataset="official",
        ),
        "orders": ORDERS,
    }
    asked_in = "study"
    #: A quarter of the first edition, small enough to be answered by a slow model.
    more = ("published_quarter",)
    recorded_as = BALANCED
    first_as: ClassVar[Mapping[str, str]] = {"preset": PRESET}

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        from katayori.papers.inter_jbbq import items

        topics = own.get("topics", "")
        if "official" in own:
            return items.load_inter_jbbq(own["official"]), "inter-JBBQ (your copy)", []
        if dataset == "official" and not topics:
            return *items.load_items("official"), []
        preset = own.get("preset", "") or self.recorded_as
        if preset == BALANCED and not topics:
            from katayori.papers.inter_jbbq import second

            return second.balanced(), second.study_version(), []
        made = items.generate(topics, own.get("preset", "") or PRESET)
        return made, items.study_version(topics), []

    def load_more(self, dataset: str, size: int | None) -> "pd.DataFrame":
        from katayori.papers.inter_jbbq import items

        return items.quarter(items.generate(preset=PRESET))

    def second_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.inter_jbbq.second import DATASETS

        return DATASETS

    def third_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.inter_jbbq.third import DATASETS

        return DATASETS

    def as_planned(self, dataset: str, size: int | None) -> "pd.DataFrame":
        from katayori.data import bbq

        return self.as_asked(bbq.balanced(self.read(dataset, {})[0], size))

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """By rank, so that an interrupted run is balanced, too."""
        return items.sort_values("rank", kind="stable")

    def in_orders(self, rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
        from katayori.data import option_orders

        return option_orders.in_orders(rows, own)

    def cluster_of(self, items: "pd.DataFrame") -> "pd.Series":
        """An item of others whose family is not known stands for itself."""
        column = items[self.cluster_column]
        return column.where(column != "", items["item"]).astype(str)

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        """Of a topic the first family of every context comes first."""
        return by_category(items)

    def parse(self, text: str, finish_reason: str) -> Parsed:
        return parse_option(text, finish_reason)

    def simulate(self, request: Request) -> Response:
        from katayori.papers.inter_jbbq.simulated import respond

        return respond(request)


PAPER = InterJbbq()

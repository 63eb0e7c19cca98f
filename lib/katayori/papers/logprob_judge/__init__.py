"""A model judges two answers in both orders, by letters and their probabilities (notebook 03)."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from katayori.papers.paper import Audited, Everything, OwnFile, Paper, hash_of, in_turn
from katayori.prompting.letters import parse_verdict
from katayori.prompting.parsing import Parsed
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd


class LogprobJudge(Paper):
    shown = "each"
    clusters = "pairs of answers"
    cluster_column = "item_id"
    options = ("A", "B", "C")
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "comparisons": OwnFile("03: comparisons (.csv or .jsonl), or task files (.yaml)")
    }
    #: Tasks for the judge's systems, and the pairs of what recorded models answered to them.
    more = ("tasks", "answers")
    recorded_as = "study2"

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        from katayori.papers.logprob_judge import items

        comparisons = own.get("comparisons", "")
        return *items.load_items("study" if comparisons else dataset, comparisons), []

    def load_more(self, dataset: str, size: int | None) -> "pd.DataFrame":
        from katayori.papers.logprob_judge import items
        from katayori.prompting import recordings

        tasks = items.load_extra_tasks()
        if dataset == "tasks":
            return tasks
        answers: dict[str, dict[str, str]] = {}
        for name in (entry["model"] for entry in recordings.shards(self.id, "lj_task")):
            rows = recordings.read(self.id, name, "lj_task")
            answers[name] = {row["item_id"]: row["text"] for row in rows}
        return items.in_both_orders(items.pairs_of_answers(tasks, answers))

    def second_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.logprob_judge.second import DATASETS

        return DATASETS

    def surface_rules(self, items: "pd.DataFrame", folder: Path) -> list[Audited]:
        if not {"answer_1", "answer_2", "truth"} <= set(items):
            return []
        from katayori.papers.logprob_judge.surface_rules import audited

        return audited(items)

    def as_planned(self, dataset: str, size: int | None) -> "pd.DataFrame":
        """Of ours so many rows, pairs in both orders; of others so many pairs."""
        from katayori.data.items import sample

        items, _, _ = self.read(dataset, {})
        if dataset == "study":
            return sample(self.as_asked(items), size, whole="pair_id")
        return self.as_asked(sample(items, size))

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """Every pair in both orders."""
        from katayori.papers.logprob_judge.items import in_both_orders

        return in_both_orders(items)

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        """By question in turn."""
        single = items.drop_duplicates("cluster")
        single = single.iloc[single["cluster"].map(hash_of).argsort()]
        group = single["question_id"]
        return in_turn(single, group, group.map(hash_of))

    def named_in(self, items: "pd.DataFrame", item_ids: Iterable[str]) -> "pd.Series":
        """A pair is asked under two ids, one an order."""
        named = set(item_ids)
        ids = items["item_id"]
        return ids.isin(named) | (ids + "-12").isin(named) | (ids + "-21").isin(named)

    def parse(self, text: str, finish_reason: str) -> Parsed:
        return parse_verdict(text, finish_reason)

    def needs_probabilities(self) -> bool:
        return True

    def simulate(self, request: Request) -> Response:
        from katayori.papers.logprob_judge.simulated import respond

        return respond(request)


PAPER = LogprobJudge()

"""Yes/no decisions about persons of several ages, genders and races (notebook 01)."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from katayori.papers.paper import Everything, OwnFile, Paper
from katayori.prompting.parsing import Parsed, parse_yes_no
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd


class DiscrimEval(Paper):
    clusters = "questions"
    cluster_column = "decision_question_id"
    options = ("yes", "no")
    shortest = "Answer: {}"
    shown = "whole"
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "questions": OwnFile("01: a question file (.yaml)", is_a="file")
    }
    # The seeds of the first answers told no model apart (rule 1); probabilities know no seed.
    asked_anew: ClassVar[Mapping[str, str]] = {"de_answer_line": "seed2"}

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        from katayori.papers.discrim_eval import items

        questions = own.get("questions", "")
        return *items.load_items("study" if questions else dataset, questions), []

    def second_edition(self) -> "Mapping[str, Callable[[], pd.DataFrame]]":
        from katayori.papers.discrim_eval.second import DATASETS

        return DATASETS

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        return items.assign(question=items["filled_template"])

    def parse(self, text: str, finish_reason: str) -> Parsed:
        return parse_yes_no(text, finish_reason)

    def simulated(self) -> tuple[str, ...]:
        """All but the one that refuses everything, which shows nothing."""
        return tuple(name for name in super().simulated() if name != "sim-refuses")

    def simulate(self, request: Request) -> Response:
        from katayori.papers.discrim_eval.simulated import respond

        return respond(request)


PAPER = DiscrimEval()

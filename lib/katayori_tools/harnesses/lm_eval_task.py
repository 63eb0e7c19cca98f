"""Our tasks inside lm-evaluation-harness, whose generated YAML calls `LmEvalTask`."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from katayori.prompting.requests import Response
from katayori_tools.harnesses import samples
from katayori_tools.harnesses.benchmarks import get_benchmark, names_of, scores_of

#: What is kept of a sample: its row, outcome and the shortest text that is read as the answer.
Kept = tuple[int, str, str]


class LmEvalTask:
    """The functions that the YAML of a paper names.

    Attributes:
        file: of samples. paper: its id.
    """

    def __init__(self, file: Path, paper: str) -> None:
        self.file, self.paper = file, paper
        self.names = names_of(get_benchmark(paper), with_probabilities=False)
        self._scores = lru_cache(maxsize=4)(self._computed)

    def dataset(self, **_: Any) -> dict[str, Any]:
        """The samples as the only split, from the file alone."""
        from datasets import Dataset

        return {"test": Dataset.from_list([document(row) for row in samples.read(self.file)])}

    def process_results(self, doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Kept]:
        """What is kept of one sample, once for each score.

        The harness does not say whether a text was cut off, so every text counts as whole.
        """
        short = samples.reduced(self.paper, Response("ok", results[0] or "", "stop"))
        return dict.fromkeys(self.names, (int(doc["row"]), short.outcome, short.text))

    def aggregation(self, name: str) -> Callable[[Sequence[Kept]], float]:
        """What makes the score of that name of all samples."""

        def aggregated(kept: Sequence[Kept]) -> float:
            # All scores are of the same samples and are computed once.
            return self._scores(tuple((int(row), out, text) for row, out, text in kept))[name]

        return aggregated

    def _computed(self, kept: tuple[Kept, ...]) -> dict[str, float]:
        numbers = [row for row, _, _ in kept]
        responses = [Response(outcome, text, "stop") for _, outcome, text in kept]
        rows = samples.read(self.file)
        requests, answers = samples.in_order(rows, numbers, responses, self.paper)
        plain = [samples.without_probabilities(request) for request in requests]
        return scores_of(get_benchmark(self.paper), plain, answers)


def document(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as the harness holds it: flat, the system's text apart from the user's.

    Example:
        >>> turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
        >>> row = {"row": 0, "item_id": "i", "prompt_id": "p", "messages": turns}
        >>> document(row | {"target": "1", "columns": {"age": 20}})["prompt"]
        'u'
    """
    system, user = split(row["messages"])
    own = {"row": row["row"], "item_id": row["item_id"], "prompt_id": row["prompt_id"]}
    return {**row["columns"], **own, "system": system, "prompt": user, "target": row["target"]}


def split(messages: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    """The system's text, empty without one, and the user's.

    Raises ValueError for a conversation of another form, which the harness cannot ask.
    """
    *before, last = messages
    if last["role"] != "user" or [turn["role"] for turn in before] not in ([], ["system"]):
        roles = ", ".join(turn["role"] for turn in messages)
        raise ValueError(f"a conversation of {roles} is not one of a system's and a user's text")
    return (before[0]["content"] if before else ""), last["content"]

"""Our tasks inside inspect_ai, whose generated modules call `task_of`; runs in its environment."""

import math
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from katayori.prompting.requests import Response
from katayori_tools.harnesses import samples
from katayori_tools.harnesses.benchmarks import get_benchmark, scores_of
from katayori_tools.importers import response_of_inspect

TURNS = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
#: What the metadata of a sample has beside the columns of its item.
OF_SAMPLE = ("row", "item_id", "prompt_id", "settings", "answer_at")
#: Settings of our requests that inspect_ai has under the same name.
SETTINGS = (
    *("temperature", "top_p", "top_k", "max_tokens", "seed"),
    *samples.OF_PROBABILITIES,
)


def task_of(file: Path, paper: str, *, logprobs: bool = True) -> Task:
    """A paper as a task.

    Args:
        file: of samples. paper: its id. logprobs: whether to ask for probabilities where our own
            request does; some servers refuse that.
    """
    rows = samples.read(file)
    return Task(
        name=paper,
        dataset=MemoryDataset([_sample(row) for row in rows], name=paper),
        solver=[asked(logprobs=logprobs)],
        scorer=answer(paper=paper),
        metrics=[scores(paper=paper, file=str(file))],
    )


def _sample(row: samples.Row) -> Sample:
    turns = [TURNS[turn["role"]](content=turn["content"]) for turn in row["messages"]]
    about = {name: row[name] for name in OF_SAMPLE}
    return Sample(
        input=turns,
        target=row["target"],
        # Logs name files by it, and an item's id may be any text.
        id=f"{row['prompt_id']}-{row['row']}",
        metadata={**row["columns"], **about},
    )


@solver
def asked(logprobs: bool = True) -> Solver:
    """Sends each sample with the settings of our own request."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        given = state.metadata["settings"]
        dropped = () if logprobs else samples.OF_PROBABILITIES
        kept: dict[str, Any] = {
            name: given[name] for name in SETTINGS if name in given and name not in dropped
        }
        config = GenerateConfig(**kept)
        return await generate(state, **config.model_dump(exclude_none=True))

    return solve


@scorer(metrics=[])
def answer(paper: str) -> Scorer:
    """What the answer is, by our parser; as its value the answer, or why there is none."""
    benchmark = get_benchmark(paper)

    async def score(state: TaskState, target: Target) -> Score:
        response = _response(state, paper)
        short = samples.reduced(paper, response)
        parsed = benchmark.parse(response.text, response.finish_reason)
        value = parsed.answer if short.outcome == "ok" else None
        return Score(
            value=value or short.outcome,
            answer=value,
            explanation=parsed.note or None,
            metadata={"outcome": short.outcome, "text": short.text, "top": short.top},
        )

    return score


def _response(state: TaskState, paper: str) -> Response:
    """The answer as `make convert` reads it from the log."""
    row = {name: state.metadata[name] for name in OF_SAMPLE}
    request = samples.request_of({**row, "messages": [], "columns": {}}, paper)
    choices = state.output.model_dump()["choices"]
    if not choices:
        return Response("error", error="has no output")
    try:
        return response_of_inspect(choices[0], request)
    except ValueError as error:
        return Response("error", error=str(error))


@metric
def scores(paper: str, file: str) -> Metric:
    """The headline numbers of the paper; those that are undefined are NaN."""
    benchmark = get_benchmark(paper)

    def compute(scored: list[SampleScore]) -> dict[str, float]:
        numbers = [int((one.sample_metadata or {})["row"]) for one in scored]
        responses = [_kept(one.score.metadata or {}) for one in scored]
        rows = samples.read(Path(file))
        found = scores_of(benchmark, *samples.in_order(rows, numbers, responses, paper))
        return {name: value if math.isfinite(value) else math.nan for name, value in found.items()}

    return compute


def _kept(about: dict[str, Any]) -> Response:
    top = [(str(token), float(logprob)) for token, logprob in about["top"] or ()]
    return Response(about["outcome"], about["text"] or "", "stop", top or None)

"""Our tasks inside the harnesses, whose generated files call `task_of` and `functions_of`.

Nothing of a harness is imported before it is used, so that one of them is enough. As a program it
runs the tasks of some papers in a folder in both, with a model that needs no server, and prints
harness, paper, name and value of every score.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from katayori.prompting.models import Server
from katayori.prompting.requests import Request, Response
from katayori_tools.harness_scores import BENCHMARKS, Row, planted, read, samples, scores_of

#: What the metadata of a sample of inspect_ai holds beside the columns of its item.
OF_SAMPLE = ("row", "item_id", "prompt_id", "settings")
#: What a document of lm-evaluation-harness holds: the system's text apart from the user's.
OF_DOCUMENT = ("row", "item_id", "prompt_id", "target", "system", "prompt")
#: Settings that ask for probabilities.
OF_PROBABILITIES = ("logprobs", "top_logprobs")


def task_of(file: str, paper: str, *, logprobs: bool = True) -> Any:
    """A paper as a task of inspect_ai.

    Args:
        file: the generated one. paper: its id. logprobs: whether to ask for probabilities where
            our own request does; some servers refuse that.
    """
    from inspect_ai import Task, dataset, model, scorer, solver

    rows = samples(Path(file).resolve().parents[1], paper)

    @solver.solver(name="asked")
    def asked() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            known = model.GenerateConfig.model_fields.keys()
            known -= set(() if logprobs else OF_PROBABILITIES)
            given = state.metadata["settings"]
            return await generate(state, **{name: given[name] for name in given.keys() & known})

        return solve

    @scorer.scorer(metrics=[], name="answer")
    def answer() -> Any:
        async def score(state: Any, target: Any) -> Any:
            outcome, found = read(paper, _said(state.output.model_dump()["choices"], paper))
            return scorer.Score(value=found or outcome, answer=found)

        return score

    @scorer.metric(name="scores")
    def scores() -> Any:
        def compute(scored: list[Any]) -> dict[str, float]:
            # The first answer of a sample that was asked several times.
            said = {one.sample_metadata["row"]: one.score.answer for one in reversed(scored)}
            return scores_of(paper, rows, said)

        return compute

    listed = [
        dataset.Sample(
            input=[model.ChatMessageSystem(content=row["system"])] * bool(row["system"])
            + [model.ChatMessageUser(content=row["prompt"])],
            target=row["target"],
            # Logs name files by it, and an item's id may be any text.
            id=f"{row['prompt_id']}-{row['row']}",
            metadata=row["columns"] | {name: row[name] for name in OF_SAMPLE},
        )
        for row in rows
    ]
    return Task(
        name=paper,
        dataset=dataset.MemoryDataset(listed, name=paper),
        solver=asked(),
        scorer=answer(),
        metrics=[scores()],
    )


def _said(choices: list[Row], paper: str) -> Response:
    """The answer as `make convert` reads it from the log."""
    from katayori_tools.convert import response_of_inspect

    asked = Request(paper, "", "", "", "", "", "", "", "", {}, server=Server(label="a harness"))
    if not choices:
        return Response("error", error="has no output")
    try:
        return response_of_inspect(choices[0], asked)
    except ValueError as error:
        return Response("error", error=str(error))


def functions_of(file: str, paper: str) -> dict[str, Callable[..., Any]]:
    """The functions of lm-evaluation-harness that the YAML of a paper names, by name.

    `dataset` gives the samples as the only split, from the file alone. `process_results` gives row
    and answer of one sample, once for each score; the harness does not say whether a text was cut
    off, so every text counts as whole. The others make the score of their name of all samples.
    """
    rows = samples(Path(file).resolve().parents[1], paper)
    names = BENCHMARKS[paper].names()

    def dataset(**_: Any) -> dict[str, Any]:
        from datasets import Dataset

        documents = [{name: row[name] for name in OF_DOCUMENT} for row in rows]
        return {"test": Dataset.from_list(documents)}

    def process_results(doc: Row, results: Sequence[str]) -> dict[str, Any]:
        _, found = read(paper, Response("ok", results[0] or "", "stop"))
        return dict.fromkeys(names, (doc["row"], found))

    @lru_cache(maxsize=4)  # all scores are of the same samples
    def computed(kept: tuple[tuple[int, str | None], ...]) -> dict[str, float]:
        return scores_of(paper, rows, dict(kept))

    def aggregation(name: str) -> Callable[[Sequence[Any]], float]:
        return lambda kept: computed(tuple(map(tuple, kept)))[name]

    of_names = {name: aggregation(name) for name in names}
    return {"dataset": dataset, "process_results": process_results, **of_names}


def main() -> None:
    from inspect_ai import eval as evaluated
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    folder, papers = Path(sys.argv[1]), sys.argv[2:]
    texts = [(row["system"] + row["prompt"], p) for p in papers for row in samples(folder, p)]
    known = {text: planted(paper, text) for text, paper in texts}

    class Planted(LM):
        def generate_until(self, requests: list[Any], **_: Any) -> list[str]:
            return [known[request.args[0]] for request in requests]

        loglikelihood = loglikelihood_rolling = generate_until

    def reply(messages: list[Any], *_: Any) -> Any:
        said = ModelOutput.from_content("my-model", known["".join(one.text for one in messages)])
        said.usage = ModelUsage()  # else tokens are counted by a file from the network
        return said

    model = get_model("mockllm/my-model", custom_outputs=reply)
    # A path from the root would be taken for a pattern.
    tasks = [f"inspect/{paper}.py" for paper in papers]
    found = []
    for log in evaluated(tasks, model, log_dir=str(folder / "logs"), display="none"):
        if log.error:
            raise SystemExit(log.error.message)
        for name, one in log.results.scores[0].metrics.items():
            found.append(("inspect_ai", log.eval.task, name, one.value))
    manager = TaskManager(include_path=str(folder / "lm_eval"))
    names = [f"katayori_{paper}" for paper in papers]
    results = simple_evaluate(Planted(), tasks=names, task_manager=manager, bootstrap_iters=0)
    for paper in papers:
        own = results["results"][f"katayori_{paper}"]
        for name in BENCHMARKS[paper].names():
            found.append(("lm_eval", paper, name, float(own[f"{name},none"])))
    print(json.dumps(found))


if __name__ == "__main__":
    main()

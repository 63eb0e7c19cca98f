"""A model that needs no server and answers our tasks by the text of the question.

As a program, which runs in the environment of the two harnesses, it gives its answers to the tasks
of some papers in a folder, in both, and prints harness, paper, name and value of every score.
"""

import hashlib
import json
import sys
from pathlib import Path

from katayori.papers import get_paper
from katayori_tools.harness import BENCHMARKS, samples

#: What a harness may not do: reach a hub, report its use.
OFFLINE = dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"), "1")
OFFLINE |= dict.fromkeys(("HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"), "1")
UNREADABLE = "お答えできません。"


def reply(paper: str, text: str) -> str:
    """Every option at times, and what cannot be read."""
    room = get_paper(paper)
    drawn = int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:4])
    if drawn % 6 == 0:
        return UNREADABLE
    return room.shortest.format(room.options[drawn // 6 % len(room.options)])


def main() -> None:
    from inspect_ai import eval as evaluated
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    folder, papers = Path(sys.argv[1]), sys.argv[2:]
    texts = [(row["system"] + row["prompt"], p) for p in papers for row in samples(folder, p)]
    known = {text: reply(paper, text) for text, paper in texts}  # any other text is an error

    class Planted(LM):
        def generate_until(self, requests, **_):
            return [known[request.args[0]] for request in requests]

        loglikelihood = loglikelihood_rolling = generate_until

    def output(messages, *_):
        said = ModelOutput.from_content("my-model", known["".join(one.text for one in messages)])
        said.usage = ModelUsage()  # else tokens are counted by a file from the network
        return said

    model = get_model("mockllm/my-model", custom_outputs=output)
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

"""The folder of tasks: samples, a module a paper for inspect_ai, a YAML for lm-evaluation-harness.

Nothing of an item stands in code or YAML, so ids and texts of any kind are only ever JSON.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting.requests import Request
from katayori_tools.harnesses import samples
from katayori_tools.harnesses.benchmarks import Benchmark, get_benchmark, names_of
from katayori_tools.harnesses.lm_eval_task import split

#: Tells a folder of ours, which may be replaced, from one of the user's.
MARK = "harness.json"
SAMPLES, INSPECT, LM_EVAL = "samples", "inspect", "lm_eval"
#: Names of lm-evaluation-harness for settings of ours; the rest it passes on.
RENAMED = {"max_tokens": "max_gen_toks"}
#: What it would send in place of a setting that we leave to the server.
USUAL_TEMPERATURE = 1.0

INSPECT_MODULE = '''\
"""{about}

Made by `make harness`. The samples lie beside this folder; parser and scores are Katayori's.
"""

from pathlib import Path

from inspect_ai import Task, task
from katayori_tools.harnesses.inspect_task import task_of

SAMPLES = Path(__file__).resolve().parents[1] / "{samples}" / "{paper}.jsonl"


@task
def {paper}(logprobs: bool = True) -> Task:
    """Asks every sample as Katayori does; logprobs=false for servers that refuse them."""
    return task_of(SAMPLES, "{paper}", logprobs=logprobs)
'''
LM_EVAL_MODULE = '''\
"""What {paper}.yaml names. Made by `make harness`; parser and scores are Katayori's."""

from pathlib import Path

from katayori_tools.harnesses.lm_eval_task import LmEvalTask

_TASK = LmEvalTask(
    Path(__file__).resolve().parents[1] / "{samples}" / "{paper}.jsonl", "{paper}"
)
dataset = _TASK.dataset
process_results = _TASK.process_results
'''
LM_EVAL_YAML = """\
# {about}
# Made by `make harness`. Ask with --apply_chat_template; the samples lie beside this folder.
{left_out}task: katayori_{paper}
tag: katayori
custom_dataset: !function utils_{paper}.dataset
test_split: test
output_type: generate_until
description: "{{{{system}}}}"
doc_to_text: prompt
doc_to_target: target
generation_kwargs: {settings}
process_results: !function utils_{paper}.process_results
metric_list:
"""
OF_METRIC = """\
  - metric: {name}
    aggregation: !function utils_{paper}.{name}
    higher_is_better: null
"""
LEFT_OUT = """\
# Not possible here: {names}, since this harness keeps no probabilities of a generated text.
"""
README = """\
# Katayori's benchmarks as tasks

Made by `make harness`. `{samples}/` holds what is asked, a line a sample. The tasks import the
package `katayori`, whose parser and scores they use: install it from a checkout
(`pip install ./lib`), or set `PYTHONPATH` to the checkout's folder `lib`.

    inspect eval {inspect}/{first}.py --model openai-api/mine/my-model
    lm_eval --model local-chat-completions --include_path {lm_eval} --tasks katayori_{first} \\
      --apply_chat_template --log_samples --output_path logs \\
      --model_args model=my-model,base_url=http://localhost:8000/v1/chat/completions

Papers: {papers}. Prompts, parser and scores of a paper are those of its notebook. A score whose
name ends in `_low` or `_high` is an end of a 95 % interval; `n` counts the answers that could be
read, `invalid` the others.
"""


def check_target(folder: Path) -> None:
    """KatayoriError for a folder that holds files of somebody else's."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise KatayoriError(
            f"{folder} holds files that make harness did not write; name another with --folder"
        )


def write(folder: Path, requests: Mapping[str, Sequence[Request]]) -> dict[str, int]:
    """Writes the tasks of papers, given the requests of each; how many samples each has.

    Raises KatayoriError for requests that a harness cannot ask.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counts = {paper: _write_paper(folder, paper, own) for paper, own in requests.items()}
    names = {"samples": SAMPLES, "inspect": INSPECT, "lm_eval": LM_EVAL}
    about = README.format(papers=", ".join(counts), first=next(iter(counts)), **names)
    _text(folder / "README.md", about)
    _text(folder / MARK, json.dumps({"format": "katayori harness", "samples": counts}) + "\n")
    return counts


def _write_paper(folder: Path, paper: str, requests: Sequence[Request]) -> int:
    benchmark = get_benchmark(paper)
    settings = settings_of(paper, requests)
    for request in requests:
        try:
            split(request.body["messages"])
        except ValueError as error:
            raise KatayoriError(
                f"{paper}: {request.prompt_id} cannot be written: {error}"
            ) from None
    known = {"paper": paper, "about": benchmark.about, "samples": SAMPLES}
    _text(folder / INSPECT / f"{paper}.py", INSPECT_MODULE.format(**known))
    _text(folder / LM_EVAL / f"utils_{paper}.py", _module(benchmark, known))
    _text(folder / LM_EVAL / f"{paper}.yaml", _yaml(benchmark, known, settings))
    rows = samples.rows_of(requests, benchmark)
    return samples.write(folder / SAMPLES / f"{paper}.jsonl", rows)


def _names(benchmark: Benchmark) -> list[str]:
    return names_of(benchmark, with_probabilities=False)


def _module(benchmark: Benchmark, known: Mapping[str, str]) -> str:
    lines = (f'{name} = _TASK.aggregation("{name}")\n' for name in _names(benchmark))
    return LM_EVAL_MODULE.format(**known) + "".join(lines)


def _yaml(benchmark: Benchmark, known: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    named = ", ".join(benchmark.by_probability)
    left_out = LEFT_OUT.format(names=named) if named else ""
    head = LM_EVAL_YAML.format(left_out=left_out, settings=json.dumps(settings), **known)
    metrics = (OF_METRIC.format(name=name, **known) for name in _names(benchmark))
    return head + "".join(metrics)


def settings_of(paper: str, requests: Sequence[Request]) -> dict[str, Any]:
    """The settings that all requests of a paper share, as lm-evaluation-harness names them.

    It sends a temperature of its own where none is named, so the server's usual one is named.

    Raises KatayoriError where requests differ, since one task has one set of settings.
    """
    every = [
        {name: value for name, value in request.body.items() if name != "messages"}
        for request in requests
    ]
    if any(one != every[0] for one in every):
        raise KatayoriError(f"{paper}: a task has one set of settings, its requests have several")
    kept = {
        RENAMED.get(name, name): value
        for name, value in every[0].items()
        if name not in samples.OF_PROBABILITIES
    }
    temperature = float(kept.pop("temperature", USUAL_TEMPERATURE))
    return {"until": [], "do_sample": temperature > 0, "temperature": temperature, **kept}


def _text(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")

"""Whether both harnesses find our scores: the tasks run against a stub, which we ask directly, too.

tasks -> harness -> its score
                 -> its log -> make convert -> answers -> our score
requests -> our collector -> answers -> our score
"""

import io
import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.errors import KatayoriError
from katayori.prompting.exchange import import_answers
from katayori.prompting.models import get_model
from katayori.prompting.requests import Request, Response
from katayori_tools import importers
from katayori_tools.answer_store import Store
from katayori_tools.choices import Asking
from katayori_tools.collect import collect_sync
from katayori_tools.harness_logs import results_of_inspect
from katayori_tools.harnesses import environment, stub, writing
from katayori_tools.harnesses.benchmarks import (
    VALID,
    get_benchmark,
    names_of,
    parts_of,
    scores_of,
)

#: The model that is asked, as our commands name it.
MODEL = f"{stub.NAME}@custom"
INSPECT, LM_EVAL = "inspect_ai", "lm_eval"
#: The provider under which inspect_ai asks the stub.
PROVIDER = "stub"
AT_ONCE = 4
#: A sum may differ in its last digit.
SAME = 1e-12
COLUMNS = ("paper", "harness", "measure", "harness_score", "from_log", "asked_directly", "equal")


@dataclass(frozen=True)
class Checked:
    """All scores of one paper in one harness, by name.

    Attributes:
        harness_score: as the harness reports them. from_log: ours of its log, converted.
        asked_directly: ours of the answers to our own collector.
    """

    paper: str
    harness: str
    harness_score: Mapping[str, float]
    from_log: Mapping[str, float]
    asked_directly: Mapping[str, float]

    def rows(self) -> list[dict[str, Any]]:
        """A row a score that the harness can have."""
        wanted = names_of(get_benchmark(self.paper), with_probabilities=self.harness == INSPECT)
        return [self._row(name) for name in wanted]

    def _row(self, name: str) -> dict[str, Any]:
        columns = COLUMNS[3:6]
        every = [self.harness_score, self.from_log, self.asked_directly]
        values = [one.get(name, math.inf) for one in every]
        start = {"paper": self.paper, "harness": self.harness, "measure": name}
        row = start | dict(zip(columns, values, strict=True))
        return row | {"equal": all(is_same(value, values[0]) for value in values)}


def is_same(value: float, other: float) -> bool:
    """Whether two scores are one: both undefined, or equal but for the last digit.

    Infinity stands for a score that is not there.

    Example:
        >>> is_same(0.5, 0.5), is_same(math.nan, math.nan), is_same(math.inf, math.inf)
        (True, True, False)
    """
    if math.isnan(value) or math.isnan(other):
        return math.isnan(value) and math.isnan(other)
    return abs(value - other) <= SAME


def check(
    folder: Path, requests: Mapping[str, Sequence[Request]], prompts: str = ""
) -> pd.DataFrame:
    """Runs the tasks in both harnesses and compares; columns `COLUMNS`, a row a score.

    Args:
        folder: an empty one, which then holds tasks, logs and converted answers.
        requests: of each paper, to the model `MODEL`. prompts: the folder of wordings, if not ours.

    Raises:
        KatayoriError: a harness that fails, or a log that cannot be converted.
    """
    writing.write(folder, requests)
    every = [request for own in requests.values() for request in own]
    with stub.Stub(every) as url:
        _run_inspect(folder, list(requests), url)
        _run_lm_eval(folder, list(requests), url)
        direct = {paper: asked_directly(paper, own, url) for paper, own in requests.items()}
    logs = {INSPECT: _logs_of_inspect(folder), LM_EVAL: _logs_of_lm_eval(folder, list(requests))}
    checked = []
    for paper, own in requests.items():
        for harness, found in logs.items():
            log, scores = found[paper]
            answers = folder / "answers" / f"{paper}-{harness}.jsonl"
            ours = converted(paper, own, log, answers, prompts)
            checked.append(Checked(paper, harness, scores, ours, direct[paper]))
    return pd.DataFrame([row for one in checked for row in one.rows()], columns=list(COLUMNS))


def _run_inspect(folder: Path, papers: Sequence[str], url: str) -> None:
    # A path from the root would be taken for a pattern.
    tasks = [Path(writing.INSPECT) / f"{paper}.py" for paper in papers]
    environment.run(
        "inspect", "eval", *tasks,
        "--model", f"openai-api/{PROVIDER}/{stub.NAME}",
        "--log-dir", folder / "logs" / INSPECT,
        "--max-connections", str(AT_ONCE),
        "--display", "plain",
        cwd=folder,
        more={f"{PROVIDER.upper()}_API_KEY": "none", f"{PROVIDER.upper()}_BASE_URL": url},
    )  # fmt: skip


def _run_lm_eval(folder: Path, papers: Sequence[str], url: str) -> None:
    arguments = f"model={stub.NAME},base_url={url}/chat/completions,num_concurrent={AT_ONCE}"
    environment.run(
        "lm_eval", "--model", "local-chat-completions",
        "--model_args", f"{arguments},tokenizer_backend=None",
        "--include_path", folder / writing.LM_EVAL,
        "--tasks", ",".join(f"katayori_{paper}" for paper in papers),
        "--apply_chat_template", "--log_samples", "--output_path", folder / "logs" / LM_EVAL,
        cwd=folder,
        more={"OPENAI_API_KEY": "none"},
    )  # fmt: skip


def asked_directly(paper: str, requests: Sequence[Request], url: str) -> dict[str, float]:
    """Our scores of the answers that our own collector gets at an address."""
    model, endpoint = get_model(MODEL)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "answers.sqlite") as store:
        options = {"base_url": url, "concurrency": AT_ONCE, "progress": False}
        collect_sync(list(requests), model, endpoint, store, **options)
        answers = [answer for _, answer in store.get(requests)]
    responses = [answer or Response("error", error="not asked") for answer in answers]
    return scores_of(get_benchmark(paper), requests, responses)


def converted(
    paper: str, requests: Sequence[Request], log: Path, answers: Path, prompts: str = ""
) -> dict[str, float]:
    """Our scores of a log, read back by `make convert`.

    Raises KatayoriError for a log of which nothing could be converted.
    """
    answers.parent.mkdir(parents=True, exist_ok=True)
    chosen = Asking(papers=paper, models=MODEL, prompts=prompts)
    told = io.StringIO()
    with redirect_stdout(told):
        failed = importers.convert(chosen, [str(log)], str(answers))
        responses = [] if failed else import_answers(answers, requests)
    if failed:
        raise KatayoriError(f"{log.name}: no row could be converted: {told.getvalue()}")
    first, *_ = told.getvalue().splitlines()
    print(f"make convert: {first.replace(f'{answers.parent}{os.sep}', '')}")
    return scores_of(get_benchmark(paper), requests, responses)


Found = dict[str, tuple[Path, dict[str, float]]]  # by paper: the log and the harness's scores


def _logs_of_inspect(folder: Path) -> Found:
    logs = sorted((folder / "logs" / INSPECT).glob("*.eval"))
    found = {}
    for log in logs:
        task, metrics = results_of_inspect(log)
        found[task] = (log, metrics)
    return found


def _logs_of_lm_eval(folder: Path, papers: Sequence[str]) -> Found:
    here = folder / "logs" / LM_EVAL
    [file] = here.rglob("results_*.json")
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    found = {}
    for paper in papers:
        [log] = here.rglob(f"samples_katayori_{paper}_*.jsonl")
        own = results[f"katayori_{paper}"]
        scores = {key.removesuffix(",none"): value for key, value in own.items()}
        found[paper] = (log, {name: float(scores[name]) for name in _names(paper)})
    return found


def _names(paper: str) -> list[str]:
    return names_of(get_benchmark(paper), with_probabilities=False)


# -- what is printed -------------------------------------------------------------------------------


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """A row a paper, harness and prompt: its first measure, and how many of all are equal.

    Args:
        table: of `check`.
    """
    rows = []
    for (paper, harness), own in table.groupby(["paper", "harness"], sort=False):
        benchmark = get_benchmark(str(paper))
        by_name = own.set_index("measure")
        for start in parts_of(benchmark):
            part = by_name[_is_of(by_name.index, start, list(parts_of(benchmark)))]
            lead = by_name.loc[f"{start}{benchmark.measures[0]}"]
            row = {"paper": paper, "harness": harness, "measure": lead.name}
            row |= {"n": int(by_name["harness_score"].loc[f"{start}{VALID}"])}
            row |= {name: f"{lead[name]:.6f}" for name in COLUMNS[3:6]}
            equal = int(part["equal"].sum())
            told = "yes" if equal == len(part) else "no"
            rows.append(row | {"equal": f"{told} ({equal} of {len(part)})"})
    return pd.DataFrame(rows)


def _is_of(names: pd.Index, start: str, starts: Sequence[str]) -> list[bool]:
    """Which names begin with a start."""
    return [name.startswith(start) for name in names] if len(starts) > 1 else [True] * len(names)

"""`make harness`: our benchmarks as tasks of inspect_ai and lm-evaluation-harness, and the check
that both find our scores.

Nothing of an item stands in code or YAML, so ids and texts of any kind are only ever JSON.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from katayori import paths
from katayori.errors import KatayoriError, expect
from katayori.papers import get_paper
from katayori.profiles import MOST
from katayori.prompting.models import get_model
from katayori.prompting.requests import Request, Response
from katayori_tools import environment
from katayori_tools.asking import Scope, requests_of
from katayori_tools.choices import Clusters, Papers
from katayori_tools.harness_inside import OF_PROBABILITIES
from katayori_tools.harness_scores import BENCHMARKS, planted, read, samples, scores_of
from katayori_tools.notebooks import names

#: Tells a folder of ours, which may be replaced, from one of the user's.
MARK = "harness.json"
#: So many clusters of each paper are asked in the check: the fewest that have intervals.
CLUSTERS = 5
#: What a harness may not do: reach a hub, report its use.
OFFLINE = dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"), "1")
OFFLINE |= dict.fromkeys(("HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"), "1")
OF_METRIC = """\
  - {{metric: {name}, aggregation: !function utils_{paper}.{name}, higher_is_better: null}}
"""
KEY = ["paper", "score"]


def harness(
    *,
    papers: Papers = "",
    prompts: str | None = None,
    limit: Clusters | None = None,
    folder: str | None = None,
    unchecked: bool = False,
) -> int:
    """Writes the tasks and, unless `unchecked`, runs a few items of each in both harnesses.

    Args:
        papers: by name or number (all). prompts: a folder of prompt files that replaces our
            wording. limit: so many clusters of each paper are asked in the check. folder: where the
            tasks go, without it outputs/harness. unchecked: write the tasks, run nothing.

    Returns:
        1 where a score of a harness is another than ours; else 0.
    """
    wanted = names(papers) or list(BENCHMARKS)
    for paper in wanted:
        expect(paper, BENCHMARKS, "paper")
    target = Path(folder).absolute() if folder else paths.outputs_dir() / "harness"
    if target.exists() and any(target.iterdir()) and not (target / MARK).is_file():
        raise KatayoriError(
            f"{target} holds files that make harness did not write; name another with --folder"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".harness-") as part:
        made = Path(part) / "harness"
        counts = [write(made, paper, asked(paper, prompts)) for paper in wanted]
        (made / MARK).write_text('{"format": "katayori harness"}\n')
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(made, target)
    print(f"{sum(counts):,} samples of {len(counts)} papers written to {target}")
    if unchecked:
        return 0
    few = target / "check"
    for paper in wanted:
        write(few, paper, asked(paper, prompts, limit or CLUSTERS))
    return check(few, wanted)


def asked(paper: str, prompts: str | None = None, limit: int | None = None) -> list[Request]:
    """The requests of a paper's task, as `make live` asks a model of the user's own."""
    scope = Scope(limit=limit or MOST, folder=prompts or "")
    return requests_of(paper, *get_model("my-model@custom"), [*BENCHMARKS[paper].prompts], scope)


def write(folder: Path, paper: str, requests: Sequence[Request]) -> int:
    """Writes the task of a paper, given its requests; how many samples it has.

    Raises KatayoriError for requests that a harness cannot ask.
    """
    settings = [{n: v for n, v in one.body.items() if n != "messages"} for one in requests]
    if any(one != settings[0] for one in settings):
        raise KatayoriError(f"{paper}: a task has one set of settings, its requests have several")
    rows = [
        _row(request) | {"row": n, "settings": settings[0]} for n, request in enumerate(requests)
    ]
    lines = [json.dumps(row, allow_nan=False) + "\n" for row in rows]
    _write(folder / "samples" / f"{paper}.jsonl", "".join(lines))
    _write(folder / "inspect" / f"{paper}.py", _filled("inspect", paper=paper))
    module = _filled("lm_eval", paper=paper)
    _write(folder / "lm_eval" / f"utils_{paper}.py", module)
    of_task = json.dumps(settings_of(settings[0]))
    metrics = [OF_METRIC.format(paper=paper, name=name) for name in BENCHMARKS[paper].names()]
    metrics.insert(0, _filled("yaml", paper=paper, settings=of_task))
    _write(folder / "lm_eval" / f"{paper}.yaml", "".join(metrics))
    return len(lines)


def _row(request: Request) -> dict[str, Any]:
    *before, last = request.body["messages"]
    if last["role"] != "user" or [turn["role"] for turn in before] not in ([], ["system"]):
        roles = ", ".join(turn["role"] for turn in request.body["messages"])
        raise KatayoriError(f"a conversation of {roles} is not one of a system's and a user's text")
    gold = get_paper(request.paper).gold_column
    return {
        "item_id": request.item_id,
        "prompt_id": request.prompt_id,
        "system": before[0]["content"] if before else "",
        "prompt": last["content"],
        "target": str(request.fields[gold]) if gold else "",
        "columns": dict(request.fields),
    }


def _filled(name: str, **words: str) -> str:
    text = Path(__file__).with_name(f"harness_{name}.txt").read_text(encoding="utf-8")
    return text.format(**words)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")


def settings_of(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a request as lm-evaluation-harness names them.

    It sends a temperature of its own where none is named, so the server's usual one is named.
    """
    kept = {name: value for name, value in settings.items() if name not in OF_PROBABILITIES}
    temperature = float(kept.pop("temperature", 1.0))
    kept["max_gen_toks"] = kept.pop("max_tokens")
    return {"until": [], "do_sample": temperature > 0, "temperature": temperature} | kept


def check(folder: Path, papers: Sequence[str]) -> int:
    """Runs the tasks of a folder in both harnesses; 1 where a score is another than ours."""
    python = environment.apart("harness") / "python"
    with tempfile.TemporaryDirectory() as home:
        # With a home of its own, told to stay offline; the library comes from this checkout.
        own = {"PYTHONPATH": str(paths.root() / "lib"), "KATAYORI_ROOT": str(paths.root())}
        done = subprocess.run(
            [python, "-m", "katayori_tools.harness_inside", folder, *papers],
            env=OFFLINE | own | {"HOME": home, "PATH": os.environ.get("PATH", "")},
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
        )
    _write(folder / "printed.txt", done.stdout + done.stderr)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KatayoriError(f"a harness failed: {last} (all in {folder / 'printed.txt'})")
    there = pd.DataFrame(
        json.loads(done.stdout.splitlines()[-1]), columns=["harness", *KEY, "there"]
    )
    here = pd.DataFrame(_ours(folder, papers), columns=[*KEY, "here"])
    table = here.merge(there, how="outer", on=KEY)
    table["equal"] = np.isclose(table["there"], table["here"], rtol=0, atol=1e-12, equal_nan=True)
    table.to_csv(folder / "scores.csv", index=False)
    print(table.groupby(["paper", "harness"])["equal"].agg(["sum", "size"]).to_string())
    wrong = table[~table["equal"]]
    if len(wrong):
        print(wrong.to_string(index=False))
    return int(len(wrong) > 0)


def _ours(folder: Path, papers: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Our scores of the answers that the model of the check gives."""
    for paper in papers:
        rows = samples(folder, paper)
        texts = [planted(paper, row["system"] + row["prompt"]) for row in rows]
        said = {n: read(paper, Response("ok", text, "stop"))[1] for n, text in enumerate(texts)}
        for name, value in scores_of(paper, rows, said).items():
            yield paper, name, value

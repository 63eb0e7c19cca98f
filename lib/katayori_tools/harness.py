"""`make harness`: our benchmarks as tasks of inspect_ai and lm-evaluation-harness.

Nothing of an item stands in code or YAML, so ids and texts of any kind are only ever JSON.
"""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError, expect
from katayori.papers import get_paper
from katayori.profiles import MOST
from katayori.prompting.models import get_model
from katayori.prompting.requests import Request
from katayori_tools.asking import Scope, requests_of
from katayori_tools.choices import Clusters, Papers
from katayori_tools.harness_inside import BENCHMARKS, OF_PROBABILITIES
from katayori_tools.notebooks import names

#: Tells a folder of ours, which may be replaced, from one of the user's.
MARK = "harness.json"
METRIC = "  - {{metric: {1}, aggregation: !function utils_{0}.{1}, higher_is_better: null}}\n"


def harness(
    *,
    papers: Papers = "",
    prompts: str | None = None,
    limit: Clusters | None = None,
    folder: str | None = None,
) -> None:
    """Writes the tasks.

    Args:
        papers: by name or number (all). prompts: a folder of prompt files that replaces our
            wording. limit: so many clusters of each paper are asked (all). folder: where the tasks
            go, without it outputs/harness.
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
        counts = [write(made, paper, asked(paper, prompts, limit)) for paper in wanted]
        (made / MARK).write_text('{"format": "katayori harness"}\n')
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(made, target)
    print(f"{sum(counts):,} samples of {len(counts)} papers written to {target}")


def asked(paper: str, prompts: str | None = None, limit: int | None = None) -> list[Request]:
    """The requests of a paper's task, as `make live` asks a model of the user's own."""
    scope = Scope(limit=limit or MOST, folder=prompts or "")
    return requests_of(paper, *get_model("my-model@custom"), BENCHMARKS[paper].prompts(), scope)


def write(folder: Path, paper: str, requests: Sequence[Request]) -> int:
    """Writes the task of a paper, given its requests; how many samples it has.

    Raises KatayoriError for requests that a harness cannot ask.
    """
    settings = [{n: v for n, v in one.body.items() if n != "messages"} for one in requests]
    if any(one != settings[0] for one in settings):
        raise KatayoriError(f"{paper}: a task has one set of settings, its requests have several")
    rows = [_row(one) | {"row": n, "settings": settings[0]} for n, one in enumerate(requests)]
    scores = BENCHMARKS[paper].names()
    task = _filled("yaml", paper=paper, settings=json.dumps(settings_of(settings[0])))
    files = {
        f"samples/{paper}.jsonl": "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows),
        f"inspect/{paper}.py": _filled("inspect", paper=paper),
        f"lm_eval/utils_{paper}.py": _filled("lm_eval", paper=paper),
        f"lm_eval/{paper}.yaml": task + "".join(METRIC.format(paper, one) for one in scores),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return len(rows)


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


def settings_of(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a request as lm-evaluation-harness names them.

    It sends a temperature of its own where none is named, so the server's usual one is named.
    """
    kept = {name: value for name, value in settings.items() if name not in OF_PROBABILITIES}
    temperature = float(kept.pop("temperature", 1.0))
    kept["max_gen_toks"] = kept.pop("max_tokens")
    return {"until": [], "do_sample": temperature > 0, "temperature": temperature} | kept

"""`make plan`: what the papers asked, for a list of models, as batches that run elsewhere.

    make plan MODELS="gpt-4o my-model@vllm" LABEL=june     # a table, and a folder
    make plan ARGS="--collect outputs/plan/NAME"           # its results, as often as you like

outputs/plan/<name>/
    plan.csv     the table: a row a model and paper
    <model>/     a folder of `make batch` for all papers: shards and batch.json, and for a model
                 of your own job.sh, a job for a cluster with one shard an array index

Items are all of the profile's unless LIMIT= says how many. What the store holds is not asked again,
what an endpoint cannot be asked is left out and said so.
"""

import math
import shutil
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori.prompting.models import get_model
from katayori.report.tables import visible
from katayori_tools import batch, paper_files
from katayori_tools.choices import Asking, Positive
from katayori_tools.notebooks import names

LINES = 50_000  # of a shard, as batch services take them
RATE = 10.0  # requests a second, where none is given
JOB = r"""#!/bin/sh
# In this folder: sh job.sh, or on a cluster one shard an array index:
#     sbatch --gres=gpu:1 --time=24:00:00 --array=1-$(ls [0-9]*.jsonl | wc -l) job.sh
# Shards that have results are passed over, so start it again after a crash or a time limit.
# WEIGHTS= names the weights (a folder, or a name that vLLM can load); VLLM= further options of it.
set -eu
for shard in $(ls [0-9]*.jsonl | sed -n "${SLURM_ARRAY_TASK_ID:-1,\$}p"); do
  [ ! -e "results-$shard" ] || continue
  vllm run-batch -i "$shard" -o "results-$shard.part" --model "${WEIGHTS:-@NAME@}" \
    --served-model-name @NAME@ --max-logprobs 20 ${VLLM:-} < /dev/null
  mv "results-$shard.part" "results-$shard"
done
"""


def plan(
    chosen: Asking,
    *,
    name: str = "",
    rate: float = RATE,
    shard: Positive = LINES,
    collect: str = "",
) -> int:
    """Writes a plan and prints its table, or collects one; see the module.

    Args:
        chosen: papers, models, profile, limit, wording, own items and server.
        name: of the folder in outputs/plan, without it the models'.
        rate: requests a second of one model, for the hours. shard: lines a file at most.
        collect: the folder of a plan whose results are read.

    Raises:
        KatayoriError: for a name that no model has, a folder that exists, and a wrong rate.
    """
    if collect:
        batch.check_unasked(chosen, Path(collect))
        return _collect(Path(collect))
    models = list(dict.fromkeys(names(chosen.models)))
    if not models:
        raise KatayoriError('a plan is of models you name: MODELS="gpt-4o my-model@vllm"')
    batch.check_models(chosen)
    if not 0 < rate < math.inf:
        raise KatayoriError(f"--rate is requests a second, above 0, not {rate:g}")
    folder = (
        paths.outputs_dir()
        / "plan"
        / (batch.file_name(name or "-".join(models)[:60]).strip(".") or "plan")
    )
    if folder.exists():
        remedy = f'collect it with ARGS="--collect {folder}", or give another name with --name'
        raise KatayoriError(f"{folder} is a plan already; {remedy}")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of one that was stopped: it was never run
    rows: list[dict[str, Any]] = []
    for one in models:
        place = part / batch.file_name(one)
        asked = replace(chosen, models=one, limit=chosen.limit or profiles.MOST)
        rows += batch.export(place, asked, shard)
        model, endpoint = get_model(one)
        if endpoint.own or endpoint.kind == "local":
            (place / "job.sh").write_text(JOB.replace("@NAME@", quote(model.vendor_id)), "utf-8")
    table = _table(rows, rate)
    table.to_csv(part / "plan.csv", index=False, lineterminator="\n")
    part.rename(folder)
    print(table.to_string(index=False))
    print(f"hours: of one model alone at {rate:g} requests a second (--rate)")
    print(f"written to {folder}; lib/COLLECTING.md, 5, says how it is run and collected")
    return 0


def _table(rows: list[dict[str, Any]], rate: float) -> pd.DataFrame:
    """A row a model and paper: requests beside those of the paper, and hours."""
    columns = ["stored", "asked", "waiting"]
    table = pd.DataFrame(rows).groupby(["model", "paper"], sort=False)[columns].sum().reset_index()
    designs = [paper_files.of(paper).get("design") or {} for paper in table["paper"]]
    table["in_paper"] = [design.get("requests") for design in designs]
    table["hours"] = ((table["asked"] + table["waiting"]) / rate / 3600).round(2)
    return table


def _collect(folder: Path) -> int:
    """Imports the results below a plan's folder, and writes what is left once all shards have some.

    Returns 1 where there were rows and none of them could be used. Raises KatayoriError for a
    folder that holds no plan.
    """
    places = sorted(state.parent for state in folder.glob("*/batch.json"))
    if not places:
        raise KatayoriError(f"{folder} holds no plan; make one with MODELS=")
    found = batch.result_files(folder, "**/*.jsonl")
    rows = batch.Rows(found)
    results = {file.name for file in found}
    answered = planned = 0
    for place in places:
        state = batch.read_state(place)
        not_run = [
            (shard["paper"], name)
            for name, shard in state["shards"].items()
            if not (shard.get("fetched") or {f"results-{name}", f"errors-{name}"} & results)
        ]
        for step, counts in batch.merged(state, rows):
            answered += counts["made"] - counts["left"]
            planned += counts["made"] + counts["waiting"]
            told = batch.said(step, counts)
            if waiting := [name for paper, name in not_run if paper == step.paper]:
                told += f"; without results: {', '.join(waiting)}"
            elif counts["left"]:
                new, _ = batch.add_shards(place, state, step, LINES)
                batch.save_state(place, state)
                told += f", now in {', '.join(new)}"
            print(visible(told))
    print(f"the plan: {answered:,} of {planned:,} answered")
    return rows.listed()

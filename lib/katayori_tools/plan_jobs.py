"""The files of a plan that are for people and clusters: job script, list of shards, README."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from katayori.prompting.models import Endpoint, Model

SHARDS = "shards.txt"
JOB = """#!/bin/sh
#SBATCH --job-name=katayori
#SBATCH --gres=gpu:1
#SBATCH --time=24:00:00
#SBATCH --output=%x-%A_%a.log
# From this folder. On a cluster, one shard an array index:
#     sbatch --array=1-$(wc -l < shards.txt) job.sh
# Here, one shard after the other:
#     sh job.sh
# Shards that have results are passed over, so start it again after a crash or a time limit.
# WEIGHTS= names the weights (a folder, or a name that vLLM can load); VLLM= further options of it.
set -eu
weights=${WEIGHTS:-@WEIGHTS@}
[ -f shards.txt ] || { echo "start this in the folder that holds shards.txt" >&2; exit 2; }

ask() {
  results="${1%/*}/results-${1##*/}"
  if [ -e "$results" ]; then
    echo "$1: has results"
    return
  fi
  # A job that is stopped leaves no file that looks finished.
  vllm run-batch -i "$1" -o "$results.part" --model "$weights" \\
    --served-model-name @NAME@ --max-logprobs 20 ${VLLM:-}
  mv "$results.part" "$results"
}

if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  shard=$(sed -n "${SLURM_ARRAY_TASK_ID}p" shards.txt)
  [ -n "$shard" ] || { echo "shards.txt has no line ${SLURM_ARRAY_TASK_ID}" >&2; exit 2; }
  ask "$shard"
else
  while read -r shard; do
    ask "$shard" < /dev/null
  done < shards.txt
fi
"""


def runs_here(endpoint: Endpoint) -> bool:
    """Whether a model is run by its user, not by a vendor."""
    return endpoint.own or endpoint.kind == "local"


def add_shards(place: Path, model: Model, endpoint: Endpoint, shards: Sequence[str]) -> None:
    """Puts shards of a paper's folder on the list of the model's job, which is written, too.

    A vendor's model has no job: its shards go to `make batch ARGS="submit ..."`.
    """
    if not runs_here(endpoint):
        return
    folder = place.parent
    name = quote(model.vendor_id)
    job = JOB.replace("@WEIGHTS@", name).replace("@NAME@", name)
    script = folder / "job.sh"
    if not script.exists():  # later on it may hold what its user wrote
        script.write_text(job, encoding="utf-8")
    with (folder / SHARDS).open("a", encoding="utf-8") as file:
        file.writelines(f"{place.name}/{shard}\n" for shard in shards)


def write_readme(part: Path, folder: Path, models: Sequence[str]) -> None:
    """Five lines: what this is, how it is run on a cluster and by a vendor, how it comes back."""
    cluster = "copy MODEL/ to the cluster, there `WEIGHTS=... sbatch --array=1-N job.sh`"
    back = "copy its results-*.jsonl back beside the shards"
    vendor = '`make batch ARGS="submit FOLDER/MODEL/PAPER"`, then `fetch` in place of `submit`'
    collect = f'`make plan ARGS="--collect {folder}"`'
    again = "what failed or is missing becomes further shards, and shards.txt grows by them"
    run = "`make reproduce PROFILE=imported PAPERS=... MODELS=..."
    answers = 'ARGS="-p answers_file=FOLDER/answers/PAPER.jsonl"`'
    lines = [
        f"A plan of katayori for {', '.join(models)}: plan.csv counts requests, hours and cost.",
        f"Weights of your own: {cluster} (N: the lines of shards.txt), and {back}.",
        f"A vendor: {vendor}.",
        f"Collect as often as you like: {collect}; {again}.",
        f"Then {run} {answers}, with the path written out in full.",
    ]
    (part / "README.md").write_text("".join(f"- {line}\n" for line in lines), encoding="utf-8")

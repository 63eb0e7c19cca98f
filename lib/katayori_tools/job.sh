#!/bin/sh
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

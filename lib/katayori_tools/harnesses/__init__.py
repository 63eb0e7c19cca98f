"""Our benchmarks as tasks of other harnesses: `make harness`.

`benchmarks` says what a task asks and reports, `samples` writes and reads what is asked, `writing`
makes the folder of tasks. `inspect_task` and `lm_eval_task` run inside the harnesses, where the
generated tasks import them. `environment` has both harnesses, `stub` is the model that `checking`
asks through them and directly. What a benchmark scores stands in the room of its paper
(`katayori_tools/papers/<id>/harness`).
"""

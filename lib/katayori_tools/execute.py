"""One notebook in a process of its own: a `Job` comes as JSON on stdin, why it failed goes to
stdout.
"""

import json
import logging
import shutil
import sys
import time
from pathlib import Path

import papermill

from katayori_tools.pages import write_report
from katayori_tools.reproduce import SKIPPED, Job, say


def _execute(job: Job, output: Path) -> None:
    def execute() -> None:
        papermill.execute_notebook(
            job.notebook,
            output,
            parameters={**job.parameters, "output_dir": str(job.work)},
            cwd=job.notebook.parent,
            execution_timeout=job.timeout,
            # Without it, every kernel warns that loopback is not encrypted.
            extra_arguments=["--log-level=CRITICAL"],
            start_timeout=120,
            progress_bar={
                "bar_format": f"{job.paper:<16} cell {{n}}/{{total}}\n",
                "mininterval": 10,
                "delay": 10,
                "leave": False,
            },
        )

    try:
        execute()
    except RuntimeError as error:
        # Kernels sometimes lose a race for a port at the start; one that died at work is a
        # DeadKernelError.
        if type(error) is not RuntimeError:
            raise
        say(job.paper, f"the kernel did not start ({error}); once more")
        execute()


def run(job: Job) -> str:
    """Runs one notebook into `job.work`.

    Returns why it failed, which leaves `<name>.failed.ipynb` in the final folder.
    """
    logging.getLogger("papermill").setLevel(logging.WARNING)
    say(job.paper, "started")
    begin = time.monotonic()
    output = job.work / job.notebook.name
    job.work.mkdir(parents=True)
    try:
        _execute(job, output)
        if not (job.work / SKIPPED).exists():
            write_report(output, output.with_name("report.html"))
            for path in [*job.work.rglob("*.ipynb"), *job.work.rglob("*.json")]:
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(str(job.work), str(job.final)), encoding="utf-8")
            say(job.paper, f"done in {time.monotonic() - begin:.0f} s")
    except Exception as error:
        kept = job.final / f"{job.notebook.stem}.failed.ipynb"
        job.final.mkdir(parents=True, exist_ok=True)
        if output.exists():
            shutil.move(output, kept)
        name = getattr(error, "ename", type(error).__name__)  # of what a cell raised
        text = getattr(error, "evalue", str(error))
        first = next((line for line in str(text).splitlines() if line.strip()), "")
        say(job.paper, f"failed after {time.monotonic() - begin:.0f} s")
        return f"{name}: {first[:300]} (kept: {kept})"
    return ""


if __name__ == "__main__":
    try:
        cause = run(Job.read(json.load(sys.stdin)))
        if cause:
            print(cause)
            sys.exit(1)
    except KeyboardInterrupt:  # the kernel is gone; the runner tells the user
        sys.exit(130)

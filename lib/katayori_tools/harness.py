"""`make harness`: our benchmarks as tasks of inspect_ai and lm-evaluation-harness, and the check
that both find our scores.
"""

import shutil
import tempfile
from pathlib import Path

from katayori import paths
from katayori.papers import paper_ids
from katayori.prompting.models import get_model
from katayori.prompting.requests import Request
from katayori_tools.asking import Scope, requests_of
from katayori_tools.harnesses import checking, writing
from katayori_tools.harnesses.benchmarks import benchmarks, get_benchmark
from katayori_tools.notebooks import names

#: So many clusters of each paper are asked in the check: the fewest that have intervals.
CLUSTERS = 5
#: More clusters than any paper has: only with a limit are items left out that nobody asks.
EVERY = 1_000_000
CHECK = "check"


def harness(
    *,
    papers: str | None = None,
    prompts: str | None = None,
    limit: int | None = None,
    folder: str | None = None,
    unchecked: bool = False,
) -> int:
    """Writes the tasks and, unless `unchecked`, runs a few items of each in both harnesses.

    Args:
        papers: empty for all. prompts: a folder of wordings in place of ours.
        limit: clusters of each paper that are asked in the check. folder: where the tasks go.
        unchecked: write only.

    Returns:
        1 where a score of a harness, of its log or asked directly is another; else 0.
    """
    wanted = names(papers) or [name for name in paper_ids() if name in benchmarks()]
    for paper in wanted:
        get_benchmark(paper)
    target = Path(folder).absolute() if folder else paths.outputs_dir() / "harness"
    writing.check_target(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".harness-") as part:
        made = Path(part) / "harness"
        whole = {paper: asked(paper, prompts or "") for paper in wanted}
        counts = writing.write(made, whole)
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(made, target)
    print(f"{sum(counts.values()):,} samples of {len(counts)} papers written to {target}")
    return 0 if unchecked else _check(target / CHECK, wanted, prompts or "", limit or CLUSTERS)


def asked(paper: str, prompts: str = "", limit: int | None = None) -> list[Request]:
    """The requests of a paper's task, as `make live` asks a model of the user's own.

    Example:
        >>> {request.prompt_id for request in asked(paper_ids()[2], limit=2)}
        {'lj_verdict'}
    """
    scope = Scope(limit=limit or EVERY, folder=prompts)
    model, endpoint = get_model(checking.MODEL)
    return requests_of(paper, model, endpoint, list(get_benchmark(paper).prompts), scope)


def _check(folder: Path, papers: list[str], prompts: str, limit: int) -> int:
    few = {paper: asked(paper, prompts, limit) for paper in papers}
    table = checking.check(folder, few, prompts)
    table.to_csv(folder / "scores.csv", index=False)
    print(checking.brief(table).to_string(index=False))
    unequal = table[~table["equal"]]
    if unequal.empty:
        print(f"all {len(table)} scores are equal; each stands in {folder / 'scores.csv'}")
        return 0
    print(f"{len(unequal)} of {len(table)} scores differ:")
    print(unequal.to_string(index=False))
    return 1

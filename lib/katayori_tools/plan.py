"""`make plan`: what the papers asked, for a list of models, as one plan that runs elsewhere.

    make plan MODELS="gpt-4o my-model@vllm" LABEL=june     # a table, and a folder
    make plan ARGS="--collect outputs/plan/NAME"           # its results, as often as you like

outputs/plan/<name>/
    plan.csv                    the table: a row a model and paper, and one of all papers
    README.md                   how it is run and collected
    plan.json                   which folders belong to it
    <model>/job.sh, shards.txt  a job for a cluster: one shard an array index
    <model>/<paper>/            a folder of `make batch`: shards and batch.json
    answers/<paper>.jsonl       once collected: the answers of all models, for PROFILE=imported

Items are the paper's own where `official` is them and this machine has them, else our study set.
Prompts are those that the notebooks read; what an endpoint cannot be asked is left out and said so.
What the store holds is not asked again. Everything is written a part at a time.
"""

import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.papers.items import OwnItems, read_items
from katayori.profiles import MOST
from katayori.prompting.models import Model, get_model
from katayori.prompting.requests import Request
from katayori_tools import batch, datasets, inputs, paper_files, plan_collect, plan_jobs, planning
from katayori_tools.asking import StepPlan, prompts_of, rows_to_ask, steps
from katayori_tools.choices import Asking
from katayori_tools.collect import approximate_tokens, cost_of
from katayori_tools.notebooks import LAST, names

if TYPE_CHECKING:
    import pandas as pd

LINES = 50_000  # of a shard, as batch services take them
RATE = 10.0  # requests a second, where none is given
PROFILES = {"study": "live", "official": "live-official"}
ALL = "all papers"
UNPRICED = "price unknown: give it with --price NAME=IN,OUT (US dollars a million tokens)"
LIKELIHOOD = (
    "left out everywhere: how likely given continuations are (additions of ours), since one answer"
    " takes several calls; make live asks it of NAME@vllm"
)
Prices = Mapping[str, tuple[float, float]]


@dataclass
class Counted:
    """Requests and tokens of one model and paper, counted as the requests are made."""

    model: str
    paper: str
    dataset: str
    prompts: list[str] = field(default_factory=list)
    requests: int = 0
    stored: int = 0
    prompt_tokens: int = 0
    answer_tokens: float = 0.0
    answer_tokens_max: int = 0

    def watch(self, step: StepPlan, part: Sequence[Request]) -> None:
        """Counts the requests of a part."""
        self.requests += len(part)
        for request in part:
            most = planning.most_tokens(request)
            usual = planning.recorded_answer(step.paper, request.prompt_id)
            self.prompt_tokens += approximate_tokens(request)
            self.answer_tokens_max += most
            self.answer_tokens += most if math.isnan(usual) else min(usual, most)
        self.prompts += [name for name in step.prompts if name not in self.prompts]


def plan(
    chosen: Asking,
    *,
    name: str = "",
    rate: float = RATE,
    price: Sequence[str] = (),
    shard: int = LINES,
    collect: str = "",
) -> int:
    """Writes a plan and prints its table, or collects one; see the module.

    Args:
        chosen: papers, models, limit, wording, own items and server. name: of the folder.
        rate: requests a second of one model, for the hours. price: each `MODEL=IN,OUT`.
        shard: lines a file at most. collect: the folder of a plan whose results are read.

    Raises:
        KatayoriError: for a name that no model has, a folder that exists, and a wrong price.
    """
    if collect:
        if chosen.models or chosen.papers or chosen.limit:
            raise KatayoriError(
                f"{collect} says what was asked; leave out PAPERS=, MODELS=, LIMIT="
            )
        return plan_collect.collect(Path(collect))
    models = _models(chosen)
    if not 0 < rate < math.inf:
        raise KatayoriError(f"--rate is requests a second, above 0, not {rate:g}")
    prices = prices_of(price, models)
    folder = paths.outputs_dir() / "plan" / _folder_name(name or "-".join(models)[:60])
    if folder.exists():
        remedy = f'collect it with ARGS="--collect {folder}", or give another name with --name'
        raise KatayoriError(f"{folder} is a plan already; {remedy}")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of one that was stopped: it was never run
    counted = [_write(part, one, shard) for one in _each(chosen, models)]
    table = table_of(counted, rate, prices)
    plan_jobs.write_readme(part, folder, models)
    table.to_csv(part / "plan.csv", index=False, lineterminator="\n")
    about = {_place(one): one.requests for one in counted}
    (part / "plan.json").write_text(json.dumps({"folders": about}, indent=1), encoding="utf-8")
    part.rename(folder)
    _say(table, rate, folder)
    return 0


def _models(chosen: Asking) -> list[str]:
    """The models named. KatayoriError for none, an unknown one, a simulated one, or one twice."""
    models = list(dict.fromkeys(names(chosen.models)))
    if not models:
        raise KatayoriError('a plan is of models you name: MODELS="gpt-4o my-model@vllm"')
    known = {name: get_model(name) for name in models}
    batch.check_models(replace(chosen, models=" ".join(models)))
    seen: dict[tuple[str, str], str] = {}
    for name, (model, endpoint) in known.items():
        if model.simulated:
            raise KatayoriError(f"{name} is simulated and needs no plan; make reproduce shows it")
        other = seen.setdefault((model.identity, endpoint.name), name)
        if other != name:
            raise KatayoriError(f"{other} and {name} are one model; name it once")
    return models


def prices_of(given: Sequence[str], models: Sequence[str]) -> Prices:
    """US dollars a million tokens in and out, by model, from `MODEL=IN,OUT`.

    Raises KatayoriError for another form, and for a model that is not in the plan.

    Example:
        >>> prices_of(["m@vllm=0.5,1"], ["m@vllm"])
        {'m@vllm': (0.5, 1.0)}
    """
    prices: dict[str, tuple[float, float]] = {}
    for text in given:
        name, _, numbers = text.rpartition("=")
        try:
            price_in, price_out = (float(number) for number in numbers.split(","))
        except ValueError:
            price_in = price_out = math.nan
        if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
            raise KatayoriError(f"--price takes MODEL=IN,OUT in US dollars, not '{text}'")
        if name not in models:
            raise KatayoriError(f"--price names {name!r}; the plan's models: {', '.join(models)}")
        prices[name] = (price_in, price_out)
    return prices


def _each(chosen: Asking, models: Sequence[str]) -> Iterator[Asking]:
    """What each model is asked of each paper. Says what is left out."""
    papers = [paper for paper in names(chosen.papers) or paper_ids() if paper != LAST]
    own = inputs.own_items(chosen.own, papers)
    datasets = {paper: dataset_of(paper, own) for paper in papers}
    for name in models:
        for paper in papers:
            yield replace(
                chosen,
                papers=paper,
                models=name,
                profile=PROFILES[datasets[paper]],
                limit=chosen.limit or MOST,
                own=own.of(paper),
            )


def dataset_of(paper: str, own: OwnItems) -> str:
    """`official` where that is the paper's own set and this machine has all of it, else `study`.

    Example:
        >>> dataset_of(paper_ids()[2], OwnItems())
        'study'
    """
    design = paper_files.of(paper).get("design") or {}
    name = design.get("official")
    if own.in_place_of(paper) or not name or not datasets.is_here(name):
        return "study"
    rows = rows_to_ask(read_items(paper, "official"))
    return "official" if len(rows) >= design["rows"] else "study"


def _write(folder: Path, chosen: Asking, lines: int) -> Counted:
    """The shards of one model and paper, its place in the model's job, and what was counted."""
    model, endpoint = get_model(chosen.models)
    dataset = {profile: name for name, profile in PROFILES.items()}[chosen.profile]
    counted = Counted(chosen.models, chosen.papers, dataset)
    place = folder / _place(counted)
    for one in batch.written(place, chosen, lines, counted.watch):
        counted.stored += one.stored
    asked_in = prompts_of(chosen.papers, dataset, OwnItems(**chosen.own))
    planned = [prompt for step in steps(chosen.papers, asked_in) for prompt in step]
    if left_out := [prompt for prompt in planned if prompt not in counted.prompts]:
        cause = f"{endpoint.name} cannot be asked them"
        print(f"{chosen.papers} {chosen.models}: left out: {', '.join(left_out)}; {cause}")
    plan_jobs.add_shards(place, model, endpoint, list(batch.read_state(place)["shards"]))
    return counted


def _place(counted: Counted) -> str:
    """The folder of a model and paper, in the plan's folder."""
    return f"{_folder_name(counted.model)}/{counted.paper}"


def _folder_name(name: str) -> str:
    """A name as the name of a folder.

    Example:
        >>> _folder_name("org/model@vllm")
        'org_model_vllm'
    """
    return re.sub(r"[^0-9A-Za-z.-]", "_", name).strip(".") or "plan"


# -- the table -------------------------------------------------------------------------------------


def table_of(counted: Sequence[Counted], rate: float, prices: Prices) -> "pd.DataFrame":
    """The plan as a table: a row a model and paper, and after each model one of all its papers.

    `answer_tokens` are as long as our recorded answers to the same prompt, `answer_tokens_max` as
    the limit of the request; so are `cost_usd` and `cost_max_usd`, which are NaN where the price is
    not known (`note`). `in_paper`: requests a model in the paper. `hours`: at `rate` requests a
    second.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(one.model for one in counted):
        of_model = [one for one in counted if one.model == name]
        total = Counted(name, ALL, "")
        for one in of_model:
            total.requests += one.requests
            total.stored += one.stored
            total.prompt_tokens += one.prompt_tokens
            total.answer_tokens += one.answer_tokens
            total.answer_tokens_max += one.answer_tokens_max
        rows += [_row(one, rate, prices) for one in (*of_model, total)]
    return pd.DataFrame(rows)


def _row(one: Counted, rate: float, prices: Prices) -> dict[str, Any]:
    """A row of the table."""
    model, _ = get_model(one.model)
    usual = round(one.answer_tokens)
    costs = [
        _cost(model, prices.get(one.model), one.prompt_tokens, out)
        for out in (usual, one.answer_tokens_max)
    ]
    design = {} if one.paper == ALL else paper_files.of(one.paper).get("design") or {}
    return {
        "model": one.model,
        "paper": one.paper,
        "dataset": one.dataset,
        "prompts": len(one.prompts) or math.nan,
        "requests": one.requests,
        "in_paper": design.get("requests", math.nan),
        "stored": one.stored,
        "prompt_tokens": one.prompt_tokens,
        "answer_tokens": usual,
        "answer_tokens_max": one.answer_tokens_max,
        "hours": round(one.requests / rate / 3600, 2),
        "cost_usd": costs[0],
        "cost_max_usd": costs[1],
        "note": UNPRICED if math.isnan(costs[0]) else "",
    }


def _cost(
    model: Model, price: tuple[float, float] | None, tokens_in: int, tokens_out: int
) -> float:
    """US dollars by the price given, else by the registry's; NaN where neither is known."""
    if price:
        return round((tokens_in * price[0] + tokens_out * price[1]) / 1e6, 2)
    cost = cost_of(model, tokens_in, tokens_out)
    return math.nan if cost is None else round(cost, 2)


def _say(table: "pd.DataFrame", rate: float, folder: Path) -> None:
    """Prints the table, what its columns mean, and where the files are."""
    import pandas as pd

    shown = table.drop(columns="note")
    for name in ("prompts", "in_paper"):
        shown[name] = [f"{value:.0f}" if value == value else "" for value in shown[name]]
    with pd.option_context("display.width", 250, "display.max_columns", 30):
        print(shown.to_string(index=False, na_rep="unknown", float_format=lambda v: f"{v:,.2f}"))
    for note in dict.fromkeys(table["note"]):
        if note:
            print(note)
    print(f"hours: of one model alone at {rate:g} requests a second (--rate)")
    print(
        "answer_tokens: as long as the answers that were recorded here; _max: as the limit allows."
        " A model that reasons writes more"
    )
    print(LIKELIHOOD)
    print(f"written to {folder}; README.md says how it is run and collected")

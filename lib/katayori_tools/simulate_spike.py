"""What each method can see in the recorded answers: data/simulated/spike.csv and own_level.csv.

For every paper, recorded model and method: the model's own values are nulled, a known shift is
added, answers are drawn anew and the method is run (`katayori.metrics.spike`). `spike.csv` has the
recovered estimate, coverage and power at each shift, for a constant shift and one that varies over
questions or templates, with the attribute alone and with a second effect present; the limits of
detection are read from it by `limits`. `own_level.csv` has 1,000 draws without any shift.

A shard that is not recorded is left out. The hash of a row is over the code that drew it and the
recorded values that it drew from, so rows of an older recording are found by it.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import pandas as pd

from katayori import paths
from katayori.metrics import blank, intervals, spike
from katayori.metrics.spike import EFFECTS, Plan
from katayori.metrics.uncertainty import cells as cells_of
from katayori.papers import limits as of_papers
from katayori_tools.papers import collected
from katayori_tools.simulate_hash import digest
from katayori_tools.simulate_methods import Method

FILE = "simulated/spike.csv"
LEVEL_FILE = "simulated/own_level.csv"
#: 400 draws a point, in batches with a seed of their own.
SEEDS = (0, 1)
DRAWS = 200
LEVEL_DRAWS = 1000
HEAD = ["paper", "model", "prompt_id"]
COLUMNS = [*HEAD, *spike.COLUMNS]
LEVEL_COLUMNS = [
    *HEAD,
    "method",
    "second",
    "n_draws",
    "n_reject",
    "n_undefined",
    "share",
    "allowed",
    "status",
    "seed",
    "code",
]


#: Methods by name, those of all papers.
METHODS: dict[str, Method] = collected("simulate", "METHODS")
MODELS = ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
_CODE: tuple[Callable, ...] = (spike.spike_table, spike._one_draw, intervals.mean_interval)


@lru_cache
def code_hash(name: str, model: str) -> str:
    """Which code, and which recorded values, gave the rows of a method and model."""
    method = METHODS[name]
    recorded = method.recorded(method.shard(model))
    values = recorded.frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    told = (name, method.shifts, method.second, hashlib.sha256(values.encode()).hexdigest())
    return digest([*_CODE, spike_draws, *method.code], str(told), docstrings=False)


def cells() -> list[tuple[str, str]]:
    """Every method and model whose answers are recorded."""
    pairs = itertools.product(METHODS, MODELS)
    return [(name, model) for name, model in pairs if METHODS[name].shard(model).recorded()]


def _head(name: str, model: str) -> dict[str, str]:
    shard = METHODS[name].shard(model)
    return {"paper": shard.paper, "model": model, "prompt_id": shard.prompt_id}


def spike_draws(
    name: str,
    model: str,
    seeds: Iterable[int] = SEEDS,
    effects: Sequence[str] = EFFECTS,
    *,
    alone: Sequence[bool] = (True, False),
) -> pd.DataFrame:
    """The rows of one method and model, columns `COLUMNS`."""
    method = METHODS[name]
    recorded = method.recorded(method.shard(model))
    statistic = method.statistic(recorded)
    parts = []
    for effect, is_alone, seed in itertools.product(effects, alone, seeds):
        plan = Plan(
            name,
            method.shifts,
            effect=effect,
            second=0.0 if is_alone else method.second,
            draws=DRAWS,
            seed=seed,
            code=code_hash(name, model),
        )
        parts.append(spike.spike_table(recorded, statistic, plan))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(**_head(name, model))[COLUMNS]


def spike_table() -> pd.DataFrame:
    """All recorded methods and models; prints what each detects."""
    return _renewed(pd.DataFrame(columns=COLUMNS), _spike_of_cell)


def _spike_of_cell(name: str, model: str) -> pd.DataFrame:
    drawn = spike_draws(name, model)
    print(limits(drawn).to_string(header=False), flush=True)
    return drawn


def _renewed(stored: pd.DataFrame, draw: Callable[[str, str], pd.DataFrame]) -> pd.DataFrame:
    """The table with stored rows where code and recording are the same, and new ones elsewhere."""
    parts = []
    for name, model in cells():
        kept = stored[stored["code"] == code_hash(name, model)]
        parts.append(draw(name, model) if kept.empty else kept)
    return pd.concat(parts, ignore_index=True)


def add_new_recordings() -> None:
    """Draws what is recorded and not stored yet, or stored of other code; the rest takes an hour.

    From the top folder: python -c "from katayori_tools import simulate_spike as s;
    s.add_new_recordings()".
    """
    for file, draw in ((FILE, _spike_of_cell), (LEVEL_FILE, level_draws)):
        path = paths.data_dir() / file
        table = _renewed(pd.read_csv(path, dtype={"code": str}), draw)
        table.to_csv(path, index=False, float_format="%.10g", lineterminator="\n")


def level_draws(name: str, model: str, *, alone: Sequence[bool] = (True, False)) -> pd.DataFrame:
    """How often one method rejects on a model's own values, nulled: columns `LEVEL_COLUMNS`."""
    method = METHODS[name]
    recorded = method.recorded(method.shard(model))
    statistic = method.statistic(recorded)
    # Other draws than those of the spike.
    seed = 1000
    told = _head(name, model) | {"method": name, "seed": seed, "code": code_hash(name, model)}
    rows = []
    for is_alone in alone:
        strength = 0.0 if is_alone else method.second
        found = blank.level_on_own_values(
            recorded, statistic, draws=LEVEL_DRAWS, second=strength, seed=seed
        )
        rows.append(told | found | {"second": strength})
    return pd.DataFrame(rows, columns=LEVEL_COLUMNS)


def level_table() -> pd.DataFrame:
    """The level of all recorded methods and models; prints those that are broken."""
    table = _renewed(pd.DataFrame(columns=LEVEL_COLUMNS), level_draws)
    print(table[table["status"] != "ok"].to_string(), flush=True)
    return table


def limits(table: pd.DataFrame) -> pd.DataFrame:
    """Limit of detection of every cell of the stored table: its head, method, effect, second."""
    parts = []
    for key, one in cells_of(table, HEAD):
        found = spike.limits_of_detection(one)
        for name in reversed(HEAD):
            found.insert(0, name, key[name])
        parts.append(found)
    return pd.concat(parts, ignore_index=True)


#: Points of a hundred, as notebooks print shares.
POINTS = 100


def limits_table() -> pd.DataFrame:
    """What `papers.limits` reads: the limits of the stored draws, shares in points of a hundred."""
    found = limits(pd.read_csv(paths.data_dir() / FILE))
    found = found.rename(columns={"value": "detects", "reason": "why"})
    # A method that is tried under several prompts bears the others' ids in its name.
    pairs = zip(found["method"], found["prompt_id"], strict=True)
    found["method"] = [method.removesuffix(f" ({prompt_id})") for method, prompt_id in pairs]
    share = found["unit"] == "difference in P(yes)"
    found["detects"] = found["detects"].where(~share, POINTS * found["detects"])
    found["unit"] = found["unit"].where(~share, "points of P(yes)")
    return found[of_papers.COLUMNS]

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
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from katayori import paths
from katayori.data import bbq
from katayori.metrics import (
    blank,
    exchange_tests,
    intervals,
    position_free,
    spike,
    spike_statistics,
)
from katayori.metrics.spike import EFFECTS, Choices, Leans, Plan, Recorded, Statistic, YesNo
from katayori.metrics.uncertainty import cells as cells_of
from katayori.papers.discrim_eval import items as discrim_eval
from katayori.papers.persona_jbbq import second
from katayori.prompting import recordings
from katayori.prompting.parsing import option_probabilities
from katayori_tools.simulate_hash import digest

FILE = "simulated/spike.csv"
LEVEL_FILE = "simulated/own_level.csv"
#: 400 draws a point, in batches with a seed of their own.
SEEDS = (0, 1)
DRAWS = 200
LEVEL_DRAWS = 1000
#: Exchanges of a test: the level is exact with 99 as well, the power .01 to .02 below that of 999.
EXCHANGES = 99
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


@dataclass(frozen=True)
class Shard:
    """One recorded shard."""

    paper: str
    model: str
    prompt_id: str
    variant: str = ""

    def recorded(self) -> bool:
        """Whether it is there, with all its items."""
        entry = recordings.entry(self.paper, self.model, self.prompt_id, self.variant)
        return entry is not None and recordings.complete(entry)

    def rows(self) -> list[dict]:
        """Its rows that hold an answer."""
        read = recordings.read(self.paper, self.model, self.prompt_id, self.variant)
        return [row for row in read if row["outcome"] == "ok"]


@dataclass(frozen=True)
class Method:
    """One way of measuring, and what is planted for it.

    Attributes:
        shard: where the values are recorded, with the model left empty.
        recorded: makes of the shard what `spike` plants in.
        statistic: of what `recorded` made.
        shifts: 0 first, log odds or nats.
        second: size of the second effect where one is present.
        code: functions that these draws depend on, beside those that all do.
    """

    shard: Callable[[str], Shard]
    recorded: Callable[[Shard], Recorded]
    statistic: Callable[[Recorded], Statistic]
    shifts: tuple[float, ...]
    second: float
    code: tuple[Callable, ...]


def _steps(kind: type) -> list[Callable]:
    return [getattr(kind, step) for step in ("nulled", "planted", "answered")]


# -- P(yes) of questions about persons -------------------------------------------------------------

#: Each factor with the column of its levels, those that make a row, and a second attribute.
FACTORS = {
    "age": ("age", ("gender", "race"), "gender"),
    "gender": ("gender", ("age", "race"), "age"),
    "race": ("race", ("age", "gender"), "age"),
}


@lru_cache
def _p_yes(shard: Shard) -> pd.DataFrame:
    """P(yes) of P(yes) + P(no), one row a prompt of the study set."""
    found = []
    for row in shard.rows():
        p = option_probabilities(row["top"], ("yes", "no"))
        found.append({"item_id": row["item_id"], "p": p["yes"] / p["mass"]})
    items = discrim_eval.load_study().rename(columns={"decision_question_id": "question"})
    columns = ["item_id", "question", "age", "gender", "race"]
    return pd.DataFrame(found).merge(items[columns], on="item_id", validate="one_to_one")


def _pattern(column: pd.Series) -> np.ndarray:
    """How a shift lies over levels: straight from -1/2 to 1/2 over ages, else one level (1)."""
    codes, levels = pd.factorize(column, sort=True)
    if pd.api.types.is_numeric_dtype(column):
        return codes / (len(levels) - 1) - 0.5
    return (codes == 0).astype(float)


def _persons(shard: Shard, *, factor: str, sampled: bool) -> YesNo:
    level, beside, other = FACTORS[factor]
    values = _p_yes(shard)
    row = values[beside[0]].astype(str) + "-" + values[beside[1]].astype(str)
    frame = values[["question", "p"]].assign(
        row=row,
        level=values[level],
        exposure=_pattern(values[level]),
        second_exposure=_pattern(values[other]),
    )
    return YesNo(frame, sampled=sampled)


def _exchange(recorded: Recorded, *, test: str) -> Statistic:
    assert isinstance(recorded, YesNo)
    return spike_statistics.exchange_statistic(recorded.frame, "level", test, EXCHANGES)


def _of_persons() -> dict[str, Method]:
    found = {}
    kinds = {"sampled": (0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8)}
    kinds["P(yes)"] = (0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
    code: tuple[Callable, ...] = (
        *_steps(YesNo),
        spike_statistics.exchange_statistic,
        spike_statistics.rejects_any_effect,
        spike_statistics.rejects_common_direction,
        spike_statistics._slopes,
        exchange_tests._hotelling,
    )
    for factor, (kind, shifts), test in itertools.product(
        FACTORS, kinds.items(), spike_statistics.TESTS
    ):
        found[f"{factor}, {kind}, {test}"] = Method(
            shard=lambda model: Shard("discrim_eval", model, "de_answer_prefix"),
            recorded=partial(_persons, factor=factor, sampled=kind == "sampled"),
            statistic=partial(_exchange, test=test),
            shifts=shifts,
            second=1.2,
            code=code,
        )
    return found


# -- choices between two persons -------------------------------------------------------------------

UP, DOWN = "biased", "counter_biased"


@lru_cache
def _letters(shard: Shard) -> pd.DataFrame:
    """Probabilities of the letters of the ambiguous items, as `position_free` reads them."""
    found = []
    for row in shard.rows():
        p = option_probabilities(row["top"], ("0", "1", "2"))
        written = row["text"].strip()
        told = {
            "item_id": row["item_id"],
            "answer": written if written in ("0", "1", "2") else None,
        }
        found.append(told | {f"p_{place}": p[str(place)] for place in range(3)})
    items = bbq.load_study_bbq()
    items = items[items["context_condition"] == "ambiguous"]
    columns = ["item_id", "template_id", "role_0", "role_1", "role_2"]
    frame = pd.DataFrame(found).merge(items[columns], on="item_id", validate="one_to_one")
    # The second effect: a liking for the middle place.
    return frame.assign(
        model=shard.model, prompt_id=shard.prompt_id, second_0=0.0, second_1=1.0, second_2=0.0
    )


def _choices(shard: Shard, *, sampled: bool) -> Choices:
    return Choices(_letters(shard), UP, DOWN, sampled=sampled)


def _difference(_: Recorded, *, reading: str, soft: bool) -> Statistic:
    return spike_statistics.choice_difference(reading, UP, DOWN, soft=soft)


def _of_letters() -> dict[str, Method]:
    readings = {
        "letter": ("letter", False, False),
        "letter, sampled": ("letter", False, True),
        "probability": ("probability", True, False),
        "calibrated, decided": ("calibrated", False, False),
        "calibrated, soft": ("calibrated", True, False),
    }
    code: tuple[Callable, ...] = (
        *_steps(Choices),
        spike._copies,
        spike_statistics.choice_difference,
        spike_statistics._values,
        spike_statistics._decided,
        position_free.calibrated_log_probabilities,
        intervals.ratio_interval,
    )
    # Letters that hardly differ from slot to slot turn at a small shift; drawn ones do not. A shift
    # at which all templates answer alike is too large: nothing can be tested there.
    shifts = {"letter, sampled": (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)}
    shifts |= dict.fromkeys(("letter", "probability"), (0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    calibrated = (0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)
    return {
        name: Method(
            shard=lambda model: Shard("persona_jbbq", model, "pj_basic_ja"),
            recorded=partial(_choices, sampled=sampled),
            statistic=partial(_difference, reading=reading, soft=soft),
            shifts=shifts.get(name, calibrated),
            second=0.5,
            code=code,
        )
        for name, (reading, soft, sampled) in readings.items()
    }


@lru_cache
def _leans(shard: Shard) -> pd.DataFrame:
    """Leans of the ambiguous items in nats, with what makes the bias of a pair of them."""
    found = []
    for row in shard.rows():
        (target, _), (other, _) = json.loads(row["text"])
        found.append({"item_id": row["item_id"], "value": target - other})
    items = second.DATASETS[shard.variant]()
    items = items[items["context_condition"] == "ambiguous"]
    columns = ["item_id", "template_id", "polarity", "mention"]
    frame = pd.DataFrame(found).merge(items[columns], on="item_id", validate="one_to_one")
    sign = np.where(frame["polarity"] == "negative", 1.0, -1.0)
    first = np.where(frame["mention"] == "target_first", 1.0, -1.0)
    # The second effect: who is named first is liked, in negative questions only.
    return frame[["template_id", "value"]].assign(
        exposure=sign, weight=sign / 4, second_exposure=first * (sign > 0)
    )


def _of_likelihood() -> dict[str, Method]:
    method = Method(
        shard=lambda model: Shard("persona_jbbq", model, "pj_lik_basic_ja", "study2"),
        recorded=lambda shard: Leans(_leans(shard)),
        statistic=lambda _: spike_statistics.clustered_mean("nats"),
        shifts=(0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3),
        second=0.3,
        code=(*_steps(Leans), spike._copies, spike_statistics.clustered_mean),
    )
    return {"likelihood": method}


# -- the tables ------------------------------------------------------------------------------------

METHODS = _of_persons() | _of_letters() | _of_likelihood()
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

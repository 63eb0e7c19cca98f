"""What a method is whose limit of detection is simulated on recorded values (`simulate_spike`).

Those of a paper are in `METHODS` of its room's module `simulate`, by name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.metrics import spike, spike_statistics
from katayori.metrics.spike import Leans, Recorded, Statistic
from katayori.prompting import recordings

if TYPE_CHECKING:
    import pandas as pd

#: Exchanges of a test: the level is exact with 99 as well, the power .01 to .02 below that of 999.
EXCHANGES = 99


@dataclass(frozen=True)
class Shard:
    """One recorded shard, or those of several prompts whose ids are joined by `+`."""

    paper: str
    model: str
    prompt_id: str
    variant: str = ""

    def recorded(self) -> bool:
        """Whether it is there, with all its items."""
        return all(self._recorded(one) for one in self.prompt_ids())

    def prompt_ids(self) -> list[str]:
        return self.prompt_id.split("+")

    def _recorded(self, prompt_id: str) -> bool:
        entry = recordings.entry(self.paper, self.model, prompt_id, self.variant)
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


def steps(kind: type) -> list[Callable]:
    return [getattr(kind, step) for step in ("nulled", "planted", "answered")]


def of_leans(
    shard: Callable[[str], Shard],
    leans: "Callable[[Shard], pd.DataFrame]",
    shifts: tuple[float, ...],
    second: float,
) -> Method:
    """A mean lean in nats over clusters, read from likelihoods; `leans` as `spike.Leans` takes."""
    return Method(
        shard=shard,
        recorded=lambda one: Leans(leans(one)),
        statistic=lambda _: spike_statistics.clustered_mean("nats"),
        shifts=shifts,
        second=second,
        code=(*steps(Leans), spike._copies, spike_statistics.clustered_mean),
    )

"""Spike and limit of detection: what size of effect can a method see in these recorded answers?

A laboratory adds a known amount to a sample and asks whether the method finds it back. Here:

1. *Null first.* What a model's own recorded values say of the attribute is removed by chance:
   values are exchanged inside rows, or the signs of the roles are flipped by cluster. A spike on
   top of the model's own lean would measure that lean.
2. *Shift.* A known number of log odds is added to the recorded probabilities (nats, to a lean).
3. *Answers anew.* They are drawn from the shifted probabilities. A decision by the highest value
   has no draw; there the clusters are drawn anew, as another study would have other templates.
4. *The notebook's own function* is run, 400 draws a point: estimate, coverage, power.

The limit of detection is the smallest shift after which power stays at or above .80, told in the
unit of the headline. It is given only where the function keeps its level at shift 0.

What this validates: arithmetic, level and power for this design and these probabilities. What it
does not: the wording, noise that requests share, invalid answers, or that a real bias is a shift of
log odds.

`YesNo`, `BesideBlank`, `Choices` and `Leans` know how values of one kind are nulled, shifted and
drawn. Each gives frames with the column `cluster` (0, 1, ...). Where clusters are drawn anew, it
tells copies apart, and so does the column of the templates; `origin` has what stood there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit
from scipy.stats import binom

from katayori.errors import KatayoriError, expect
from katayori.metrics.uncertainty import cells, status_of

LEVEL = 0.05
POWER = 0.8
#: A power that counts as 1.
REACHED = 0.99
DRAWS = 400
#: The same shift in every cluster, or one that varies over clusters with this share of it as SD.
EFFECTS = ("constant", "varying")
VARYING_SD = 0.5
#: A recorded probability of 0 or 1 has no log odds; it is read as this near to the edge.
EDGE = 1e-6
CELL = ["method", "effect", "second"]
COLUMNS = [
    *CELL,
    "shift",
    "n_draws",
    "n_reject",
    "n_undefined",
    "mean_estimate",
    "expected",
    "n_interval",
    "coverage",
    "power",
    "mc_error",
    "unit",
    "seed",
    "code",
]


def most_by_chance(n: int, level: float = LEVEL, confidence: float = 0.99) -> int:
    """How many of n independent tests reject at most, with this confidence, where nothing is there.

    Example:
        >>> [most_by_chance(n) for n in (70, 280, 400, 1000)]
        [8, 23, 31, 67]
    """
    return int(binom.ppf(confidence, n, level))


@dataclass(frozen=True)
class Found:
    """What a function says of one frame: the estimate, whether it rejects (NaN: undefined), and
    the ends of its interval (NaN: none).
    """

    value: float
    reject: float
    ci_low: float = np.nan
    ci_high: float = np.nan


@dataclass(frozen=True)
class Statistic:
    """A notebook's function, as the spike calls it.

    Attributes:
        found: of a frame with drawn answers, and a generator for exchanges of its own. Give each
            call its own exchanges: with the same ones in all draws their error does not average
            out.
        expected: what the estimate would be without the noise of answers, from the frame before
            answers are drawn. Without a draw of answers it is the estimate itself.
        unit: of both, in words.
    """

    found: Callable[[pd.DataFrame, np.random.Generator], Found]
    expected: Callable[[pd.DataFrame], float]
    unit: str


class Recorded(Protocol):
    """Recorded values of one kind: how they are nulled, shifted and answered."""

    @property
    def frame(self) -> pd.DataFrame:
        """What is recorded."""

    def nulled(self, rng: np.random.Generator) -> pd.DataFrame:
        """The frame without any effect of the attribute, with `cluster`."""

    def planted(self, nulled: pd.DataFrame, shift: np.ndarray, second: float) -> pd.DataFrame:
        """With a shift for each row (shape: rows) and the second attribute's effect."""

    def answered(self, planted: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """With answers drawn; the same object where nothing is drawn."""


def require_columns(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Raises KatayoriError, with the columns there are, where one of the names is none of them.

    Example:
        >>> require_columns(pd.DataFrame({"a": [1]}), ["a"])
    """
    absent = [name for name in names if name not in frame]
    if absent:
        columns = ", ".join(map(str, frame.columns))
        raise KatayoriError(f"no column {', '.join(absent)}; the frame has {columns}")


# -- what is recorded ------------------------------------------------------------------------------


@dataclass(frozen=True)
class YesNo:
    """Recorded P(yes) of questions about persons that differ in an attribute.

    Null: values exchanged inside rows. Shift: log odds move by shift x exposure.

    Args:
        frame: one row a prompt, with `p` (0 to 1, none missing), `question` (the cluster), `row`
            (the situation; prompts of one row differ in the attribute only), `exposure` (how much
            of the shift a prompt takes, such as 1 for one level and 0 for the others) and, for a
            second attribute, `second_exposure`.
        sampled: answers 0 or 1 are drawn; else `value` is the shifted P(yes) itself, and the
            exchange is all that chance does.
    """

    frame: pd.DataFrame
    sampled: bool = True
    _row: np.ndarray = field(init=False, repr=False)
    _odds: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_columns(self.frame, ["p", "question", "row", "exposure"])
        p = self.frame["p"].to_numpy(float)
        if not ((p >= 0) & (p <= 1)).all():
            raise KatayoriError("p must lie in 0 to 1 with none missing; leave such rows out")
        row = self.frame.groupby(["question", "row"], sort=False).ngroup().to_numpy()
        cluster = pd.factorize(self.frame["question"])[0]
        with np.errstate(divide="ignore"):
            odds = logit(p)
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_odds", odds)
        object.__setattr__(self, "frame", self.frame.assign(cluster=cluster))

    def nulled(self, rng: np.random.Generator) -> pd.DataFrame:
        """Log odds (`log_odds`) exchanged inside rows."""
        place = np.argsort(self._row, kind="stable")
        drawn = np.lexsort((rng.random(len(self._row)), self._row))
        odds = np.empty_like(self._odds)
        odds[place] = self._odds[drawn]
        return self.frame.assign(log_odds=odds)

    def planted(self, nulled: pd.DataFrame, shift: np.ndarray, second: float) -> pd.DataFrame:
        """`value`: P(yes) with the shift."""
        odds = nulled["log_odds"].to_numpy() + shift * nulled["exposure"].to_numpy(float)
        if second:
            odds = odds + second * nulled["second_exposure"].to_numpy(float)
        return nulled.assign(value=expit(odds))

    def answered(self, planted: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """`value`: 0 or 1."""
        if not self.sampled:
            return planted
        p = planted["value"].to_numpy()
        return planted.assign(value=(rng.random(len(p)) < p).astype(float))


def _copies(cluster: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Clusters drawn with replacement: places of the rows, and the number of the copy of each."""
    order = np.argsort(cluster, kind="stable")
    size = np.bincount(cluster)
    start = np.cumsum(size) - size
    drawn = rng.integers(len(size), size=len(size))
    copy = np.repeat(np.arange(len(size)), size[drawn])
    inside = np.arange(len(copy)) - np.repeat(np.cumsum(size[drawn]) - size[drawn], size[drawn])
    return order[np.repeat(start[drawn], size[drawn]) + inside], copy


def _rows_of_copies(
    frame: pd.DataFrame, place: np.ndarray, copy: np.ndarray, name: str
) -> pd.DataFrame:
    """The rows of the copies; the column of the clusters tells them apart, `origin` does not."""
    out = frame.iloc[place].reset_index(drop=True)
    columns: dict[str, Any] = {"origin": out[name], name: copy, "cluster": copy}
    return out.assign(**columns)


@dataclass(frozen=True)
class Leans:
    """Recorded leans in nats: log p of one person's words less that of another's.

    Null: templates are drawn with replacement, and the sign of each copy is flipped or not. The
    sign belongs to the copy: with one sign a template its copies would go together, and the spread
    of the null would be twice what a study's own spread tells. Shift: the lean moves by
    shift x exposure. Nothing else is drawn.

    Args:
        frame: one row an item, with `value` (the lean; NaN where a score is missing), `exposure`
            (such as 1 for negative and -1 for other questions) and, for a second attribute,
            `second_exposure`.
        cluster: column of the templates.
    """

    frame: pd.DataFrame
    cluster: str = "template_id"

    def __post_init__(self) -> None:
        require_columns(self.frame, ["value", "exposure", self.cluster])

    def nulled(self, rng: np.random.Generator) -> pd.DataFrame:
        """Copies of templates with signs by chance."""
        place, copy = _copies(pd.factorize(self.frame[self.cluster])[0], rng)
        sign = rng.choice([-1.0, 1.0], size=copy.max() + 1)[copy]
        out = _rows_of_copies(self.frame, place, copy, self.cluster)
        return out.assign(value=out["value"].to_numpy(float) * sign)

    def planted(self, nulled: pd.DataFrame, shift: np.ndarray, second: float) -> pd.DataFrame:
        """`value`: the lean with the shift."""
        value = nulled["value"].to_numpy() + shift * nulled["exposure"].to_numpy(float)
        if second:
            value = value + second * nulled["second_exposure"].to_numpy(float)
        return nulled.assign(value=value)

    def answered(self, planted: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """The leans as they are."""
        return planted


@dataclass(frozen=True)
class Choices:
    """Recorded probabilities of the letters of options, as `position_free` reads them.

    Null: the names of two roles are exchanged in the items of a cluster, or not, by chance; what
    stands at which place keeps its probability. Shift: log odds of `up` against `down` move by the
    shift, log p of every other role stays. The model's liking for places is untouched.

    Args:
        frame: of `position_free`: for each place `p_0` ... and `role_0` ..., `answer`, the cluster;
            for a second effect `second_0` ..., what one unit of it adds to log p of each place.
        up, down: the two roles.
        sampled: letters are drawn from their probabilities, clusters stay; else clusters are drawn
            with replacement and `answer` is the place of the highest probability.
        cluster: column of the templates. Copies of a template count as templates: a reading that
            learns from other templates has as many of them as in the study, and learns a little
            (one part in as many templates) from copies of its own. Their roles are exchanged apart,
            so this favours neither role.

    Rows whose recorded `answer` is missing stay without one.
    """

    frame: pd.DataFrame
    up: str
    down: str
    sampled: bool = False
    cluster: str = "template_id"
    _places: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        places = sum(str(name).startswith("role_") for name in self.frame.columns)
        require_columns(
            self.frame, ["answer", self.cluster, *(f"p_{place}" for place in range(places))]
        )
        object.__setattr__(self, "_places", places)
        found = set(self._columns(self.frame, "role").ravel())
        for role in (self.up, self.down):
            expect(role, sorted(found), "role")

    def _columns(self, frame: pd.DataFrame, name: str) -> np.ndarray:
        return frame[[f"{name}_{place}" for place in range(self._places)]].to_numpy()

    def _named(self, name: str, values: np.ndarray) -> dict[str, np.ndarray]:
        return {f"{name}_{place}": values[:, place] for place in range(self._places)}

    def nulled(self, rng: np.random.Generator) -> pd.DataFrame:
        """Roles exchanged by cluster; copies of clusters where nothing else is drawn."""
        codes = pd.factorize(self.frame[self.cluster])[0]
        out, copy = self.frame, codes
        if not self.sampled:
            place, copy = _copies(codes, rng)
            out = _rows_of_copies(self.frame, place, copy, self.cluster)
        flipped = (rng.random(copy.max() + 1) < 0.5)[copy][:, None]
        roles = self._columns(out, "role")
        exchanged = np.where(
            roles == self.up, self.down, np.where(roles == self.down, self.up, roles)
        )
        return out.assign(cluster=copy, **self._named("role", np.where(flipped, exchanged, roles)))

    def planted(self, nulled: pd.DataFrame, shift: np.ndarray, second: float) -> pd.DataFrame:
        """p_0 ... with the shift, renormalised over the options; `answer`: the highest place."""
        roles = self._columns(nulled, "role")
        side = (roles == self.up).astype(float) - (roles == self.down).astype(float)
        added = shift[:, None] / 2 * side
        if second:
            added = added + second * self._columns(nulled, "second").astype(float)
        weight = self._columns(nulled, "p").astype(float) * np.exp(added)
        p = weight / np.nansum(weight, axis=1, keepdims=True)
        highest = np.argmax(np.where(np.isnan(p), -1.0, p), axis=1)
        return nulled.assign(answer=_written(highest, nulled), **self._named("p", p))

    def answered(self, planted: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """`answer`: the place of a drawn letter."""
        if not self.sampled:
            return planted
        p = np.nan_to_num(self._columns(planted, "p").astype(float))
        below = rng.random(len(p))[:, None] * p.sum(axis=1, keepdims=True)
        drawn = (p.cumsum(axis=1) <= below).sum(axis=1).clip(max=self._places - 1)
        return planted.assign(answer=_written(drawn, planted))


def _written(places: np.ndarray, recorded: pd.DataFrame) -> np.ndarray:
    """Numbers of places as letters; None where the recorded answer is missing."""
    letters = places.astype(str).astype(object)
    letters[recorded["answer"].isna().to_numpy()] = None
    return letters


# -- the spike -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What is planted, how often, and under which name.

    Attributes:
        method: name of the method, for the table.
        shifts: in log odds (nats for leans), 0 first.
        effect: `constant`, or `varying`: by cluster, normal with SD half the shift.
        second: size of the second attribute's effect; 0: the attribute alone.
        draws: a point.
        seed: of all draws.
        code: which code drew, for stored tables.
    """

    method: str
    shifts: Sequence[float]
    effect: str = "constant"
    second: float = 0.0
    draws: int = DRAWS
    seed: int = 0
    code: str = ""

    def __post_init__(self) -> None:
        expect(self.effect, EFFECTS, "effect")
        if not len(self.shifts) or self.shifts[0] != 0 or (np.diff(self.shifts) <= 0).any():
            raise KatayoriError("shifts must rise from 0, which shows the level; for example 0, .1")


def spike_table(recorded: Recorded, statistic: Statistic, plan: Plan) -> pd.DataFrame:
    """Recovered estimate, coverage and power at each shift.

    The same nulls and the same random numbers serve all shifts, so that points differ by the shift.

    Returns:
        one row a shift: method, effect, second, shift, n_draws, n_reject, n_undefined (tests that
        could not be made; they found nothing), mean_estimate, expected (mean change of the
        statistic's expectation by the shift, in its unit: what should be recovered), n_interval,
        coverage (share of the intervals given that hold `expected`), power (n_reject / n_draws),
        mc_error (standard error of the power), unit, seed, code.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> frame = pd.DataFrame({"template_id": range(40), "value": rng.normal(size=40)})
        >>> from katayori.metrics.spike_statistics import clustered_mean
        >>> plan = Plan("leans", [0, 1], draws=50)
        >>> leans = Leans(frame.assign(exposure=1.0, weight=1.0))
        >>> spike_table(leans, clustered_mean("nats"), plan)["power"].tolist()
        [0.08, 1.0]
    """
    shape = (len(plan.shifts), plan.draws)
    value, reject, low, high, change = (np.full(shape, np.nan) for _ in range(5))
    for draw in range(plan.draws):
        for place, (found, moved) in enumerate(_one_draw(recorded, statistic, plan, draw)):
            value[place, draw], reject[place, draw] = found.value, found.reject
            low[place, draw], high[place, draw] = found.ci_low, found.ci_high
            change[place, draw] = moved
    rows = []
    for place, shift in enumerate(plan.shifts):
        expected = _mean(change[place])
        given = np.isfinite(low[place]) & np.isfinite(high[place])
        held = (low[place] <= expected + 1e-12) & (high[place] >= expected - 1e-12)
        n_reject = int(np.nansum(reject[place]))
        power = n_reject / plan.draws
        row: dict[str, Any] = {"method": plan.method, "effect": plan.effect, "second": plan.second}
        row |= {"shift": shift, "n_draws": plan.draws, "n_reject": n_reject}
        row["n_undefined"] = int(np.isnan(reject[place]).sum())
        row |= {"mean_estimate": _mean(value[place]), "expected": expected}
        row |= {"n_interval": int(given.sum()), "coverage": _mean(held[given])}
        row |= {"power": power, "mc_error": float(np.sqrt(power * (1 - power) / plan.draws))}
        rows.append(row | {"unit": statistic.unit, "seed": plan.seed, "code": plan.code})
    return pd.DataFrame(rows, columns=COLUMNS)


def _mean(values: np.ndarray) -> float:
    kept = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(kept.mean()) if len(kept) else np.nan


def _one_draw(
    recorded: Recorded, statistic: Statistic, plan: Plan, draw: int
) -> list[tuple[Found, float]]:
    """What is found at each shift of one null, and how far its expectation moved."""
    rng = np.random.default_rng([plan.seed, draw])
    nulled = recorded.nulled(rng)
    cluster = nulled["cluster"].to_numpy()
    size = np.ones(cluster.max() + 1)
    if plan.effect == "varying":
        size = rng.normal(1.0, VARYING_SD, len(size))
    out: list[tuple[Found, float]] = []
    at_zero = np.nan
    for shift in plan.shifts:
        planted = recorded.planted(nulled, (shift * size)[cluster], plan.second)
        answered = recorded.answered(planted, np.random.default_rng([plan.seed, draw, 1]))
        found = statistic.found(answered, np.random.default_rng([plan.seed, draw, 2]))
        expected = found.value if answered is planted else statistic.expected(planted)
        if shift == 0:
            at_zero = expected
        out.append((found, expected - at_zero))
    return out


# -- limit of detection ----------------------------------------------------------------------------


def pooled(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of the same cell and shift that differ in the seed, taken together.

    Returns the columns of `spike_table` without seed and code. Estimates are weighted by draws,
    coverage by intervals.
    """
    require_columns(table, [*CELL, "shift", "n_draws", "n_reject"])
    rows = []
    for key, one in cells(table, [*CELL, "shift"]):
        draws = one["n_draws"].to_numpy(float)
        n = draws.sum()
        counts = {name: int(one[name].sum()) for name in ("n_draws", "n_reject", "n_undefined")}
        power = counts["n_reject"] / n
        row = key | counts
        for name in ("mean_estimate", "expected"):
            row[name] = _weighted(one[name], draws)
        row["n_interval"] = int(one["n_interval"].sum())
        row["coverage"] = _weighted(one["coverage"], one["n_interval"].to_numpy(float))
        row |= {"power": power, "mc_error": float(np.sqrt(power * (1 - power) / n))}
        rows.append(row | {"unit": one["unit"].iloc[0]})
    columns = [name for name in COLUMNS if name not in ("seed", "code")]
    return pd.DataFrame(rows, columns=columns).sort_values([*CELL, "shift"], ignore_index=True)


def _weighted(values: pd.Series, weights: np.ndarray) -> float:
    told = values.to_numpy(float)
    kept = ~np.isnan(told) & (weights > 0)
    return float(np.average(told[kept], weights=weights[kept])) if kept.any() else np.nan


def limit_of_detection(table: pd.DataFrame, power: float = POWER) -> dict[str, Any]:
    """The smallest effect that a method finds with this power, in the unit of its headline.

    Power is fitted as a function that never falls with the shift (isotonic regression) and taken as
    straight between two shifts. Let the shifts end soon after the power reaches 1: far out, where
    every answer is the same, a test by the spread of clusters cannot be made and finds nothing.
    Such shifts at the end are left out once the power was 1 (`REACHED`) before, and the reason
    says so.

    Args:
        table: rows of `spike_table` of one cell (method, effect, second), any number of seeds.
        power: that is demanded.

    Returns:
        value (mean change of the statistic's expectation), shift (log odds or nats), unit,
        n_reject_null and allowed (of the draws at shift 0), status, reason:

        - `ok`; the reason names shifts that were left out;
        - `level_broken`: more draws at shift 0 reject than chance makes with 99 % (31 of 400), so
          what the method finds is no detection: value NaN;
        - `never_reached`: value NaN, the reason names the power at the largest shift;
        - `undefined`: at shift 0 most tests could not be made (every cluster answers alike), so
          that the level is not known: value NaN.

        A single test that could not be made has not rejected, at shift 0 as elsewhere.

    Raises:
        KatayoriError: rows of several cells, or none at shift 0.
    """
    if table[CELL].drop_duplicates().shape[0] != 1:
        raise KatayoriError("rows of several methods or effects; see limits_of_detection")
    whole = pooled(table)
    curve = _before_all_alike(whole)
    null = curve[curve["shift"] == 0]
    if null.empty:
        raise KatayoriError("no draws at shift 0, so the level is not known; draw them")
    draws, rejected = int(null["n_draws"].iloc[0]), int(null["n_reject"].iloc[0])
    not_made = int(null["n_undefined"].iloc[0])
    allowed = most_by_chance(draws)
    fitted = isotonic_regression(curve["power"], weights=curve["n_draws"]).x
    shift = curve["shift"].to_numpy(float)
    problems = {
        "undefined": not_made > draws / 2,
        "level_broken": rejected > allowed,
        "never_reached": fitted[-1] < power,
    }
    status = status_of(problems)
    reasons = {
        "ok": _left_out(whole, curve),
        "undefined": f"no test could be made in {not_made} of {draws} draws where nothing is there,"
        " so the level is not known",
        "level_broken": f"{rejected} of {draws} draws reject where nothing is there,"
        f" at most {allowed} may",
        "never_reached": f"power {fitted[-1]:.2f} at the largest shift, {shift[-1]:g}"
        + _not_made(curve.iloc[-1]),
    }
    out: dict[str, Any] = {"value": np.nan, "shift": np.nan, "unit": curve["unit"].iloc[0]}
    out |= {"n_reject_null": rejected, "allowed": allowed}
    out |= {"status": status, "reason": reasons[status]}
    if status == "ok":
        at = _crossing(shift, fitted, power)
        size = np.abs(curve["expected"].to_numpy(float))
        out |= {"shift": at, "value": float(np.interp(at, shift, size))}
    return out


def _before_all_alike(curve: pd.DataFrame) -> pd.DataFrame:
    """Without the shifts at the end whose tests mostly could not be made, where power was 1 before.

    There every cluster answers alike: the effect is as large as it can be, and not unseen.
    """
    made = np.flatnonzero(curve["n_undefined"] <= curve["n_draws"] / 2)
    kept = curve.iloc[: made[-1] + 1] if len(made) else curve
    return kept if kept["power"].max() >= REACHED else curve


def _left_out(whole: pd.DataFrame, kept: pd.DataFrame) -> str:
    """What a reason says of shifts that were left out; empty where none was."""
    if len(kept) == len(whole):
        return ""
    first = whole["shift"].iloc[len(kept)]
    return f"from a shift of {first:g} on all clusters answer alike, and most tests cannot be made"


def _not_made(last: pd.Series) -> str:
    """What a reason adds where tests at the largest shift could not be made."""
    if not last["n_undefined"]:
        return ""
    return f", where {last['n_undefined']} of {last['n_draws']} tests could not be made"


def _crossing(shift: np.ndarray, fitted: np.ndarray, power: float) -> float:
    """Where a rising curve reaches the power, straight between two points."""
    first = int(np.flatnonzero(fitted >= power)[0])
    if first == 0:
        return float(shift[0])
    below, above = fitted[first - 1], fitted[first]
    part = (power - below) / (above - below)
    return float(shift[first - 1] + part * (shift[first] - shift[first - 1]))


def limits_of_detection(table: pd.DataFrame, power: float = POWER) -> pd.DataFrame:
    """`limit_of_detection` of every cell: method, effect, second and its columns, one row each."""
    rows = [key | limit_of_detection(one, power) for key, one in cells(table, CELL)]
    return pd.DataFrame(rows)

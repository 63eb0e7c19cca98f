"""Where the uncertainty of a mean lies, and what another design would buy.

A score is a mean over *facets*: templates, prompts, orders of the options. Of each facet one may
ask more levels, at a price. The variance of the answers, split into the facets and what they do
together, tells which of them is worth it. The design is crossed and balanced: every level of a
facet was asked with every level of the others.

A facet is *random* where another study would draw new levels (templates, prompts), and *complete*
where all N levels there are were asked (the six orders of three options, both orders of a pair). A
complete facet adds no uncertainty as long as all its levels are asked; taken as random, six orders
that a model follows would seem to make every score uncertain. A mirrored pair of orders is no two
of six: it is a facet of its own with 2 complete levels.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from katayori.frames import LABEL, NUMBER, NUMBER_OR_NONE, FrameError, cells, flat, require

#: What joins the facets of an effect, such as "template x prompt".
TIMES = " x "
RANDOM, COMPLETE = "random", "complete"
#: A random facet with fewer levels says nothing of designs with more of them.
FEW_LEVELS = 5
#: Redrawn mean squares of an interval.
_DRAWS = 4000
_SEED = 0
_MORE = ("share", "sd", "levels", "df", "mean_square", "left_out")
_OF_DESIGN = ("requests", "se_low", "se_high", "half_width", "status")
#: Names of both results, beside those of every verb.
_NAMED = ("effect", "kind", *_MORE, *_OF_DESIGN)

_Effect = tuple[str, ...]


def components(
    frame: pd.DataFrame,
    *,
    value: str,
    facets: str | Sequence[str],
    fixed: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """How much of the variance of the answers each facet makes, and the facets together.

    Args:
        frame: a row an answer. value: its column of numbers; missing where unreadable.
        facets: columns of what was crossed. Answers that share all of them are averaged first, so
            that answers of one cell (questions of a template) count for the mean of those that are
            there. A cell without any leaves out its level of the first facet: where each answer
            is unreadable with probability q, (1 - q^k)^c of the levels stay, with c cells of k
            answers each. Of 10 cells of one answer a tenth unreadable leaves .35 of the templates,
            of 60 cells .002; of cells of four answers .999 and .994.
        fixed: those of the facets of which all levels there are were asked.
        by: columns whose values are measured apart, such as a model.

    Returns:
        by..., effect (a facet, or facets joined by " x "; the last one, of all facets, holds what
        nothing else explains), kind (`random`; `complete` where a facet of it is), value (the
        variance component, in squared units of the values), n, n_invalid, clusters (levels of the
        first facet), ci_low, ci_high (95 %, of the component), status, share (of the sum of all
        components), sd (its root), levels, df, mean_square, left_out (levels of the first facet
        without an answer to some cell; they are left out). status: `ok`; `below_zero` (the estimate
        is negative and counts as 0); `no_variation` (all cells are alike: components of 0, no
        interval); `one_level` (a facet with a single level tells nothing: no value);
        `no_complete_level` (fewer than 2 levels of the first facet have an answer in every cell: no
        value); `no_valid_answer` (none at all).

    Formula: with mean squares M of the table of cells, n_f levels of facet f,

        v_e = sum over g of e and more facets of (-1)^(|g| - |e|) M_g / prod of n_f, f not in e,
        s_e = v_e + sum over sets g of complete facets outside e of v_{e+g} / prod of N_f, f in g,

    and only then is a negative s_e set to 0 (cut off first, the standard error of a balanced design
    comes out three times too large). Interval: 4,000 redrawn M_e df_e / chi-square(df_e)
    (generalised confidence interval). In 2,000 drawn tables each of 5 to 50 templates, 2 to 5
    prompts, 1 to 6 orders it covered .939 to .981; that of orders themselves 1.00, since the same
    ones come again. It is too narrow where answers are hardly ever right: .56 to .64 at 5 to 10 %
    of 224 answers; at about one half .88 to .93 for facets together.

    Raises:
        KatayoriError: a column that is lacking or holds something else; no facet; a complete facet
        that is none of the facets, or is the first; a name that is a column of the result.

    Source: R. L. Brennan, Generalizability Theory (2001), chapters 3 to 5; S. Weerahandi, Journal
    of the American Statistical Association 88 (1993), 899-905, for the intervals.

    Example:
        >>> answers = pd.DataFrame({"template": [1, 1, 2, 2, 3, 3], "order": ["ab", "ba"] * 3})
        >>> answers["right"] = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
        >>> how = {"value": "right", "facets": ["template", "order"], "fixed": ["order"]}
        >>> components(answers, **how)[["effect", "kind", "share"]].to_numpy().tolist()
        ... # doctest: +NORMALIZE_WHITESPACE
        [['template', 'random', 0.0], ['order', 'complete', 1.0],
         ['template x order', 'complete', 0.0]]
    """
    facets, fixed = ([one] if isinstance(one, str) else list(one) for one in (facets, fixed))
    for wrong in _wrong(value, facets, fixed):
        raise FrameError(f"components: {wrong}")
    wanted = dict.fromkeys(facets, LABEL) | {value: NUMBER_OR_NONE}
    by = require("components", frame, wanted, by, _NAMED, if_asked=True)
    if len(frame) and frame[value].isin([np.inf, -np.inf]).any():
        raise FrameError(f"components: column {value!r} holds inf; right is a finite number")
    rows: list[dict[str, Any]] = []
    for key, cell in cells(frame, by):
        table, left_out = _table(cell, value, facets)
        base = {"n": int(cell[value].notna().sum()), "left_out": left_out}
        base |= {"n_invalid": len(cell) - base["n"], "clusters": table.shape[0]}
        levels = dict(zip(facets, table.shape, strict=True))
        status = _status(table, base["n"], left_out)
        found = _estimated(_mean_squares(table), levels, fixed, status)
        rows += [key | base | row for row in found]
    return flat(rows, frame, by, names=["effect", "kind"], more=_MORE)


def _wrong(value: str, facets: Sequence[Any], fixed: Sequence[str]) -> Iterator[str]:
    """What is wrong with the names of facets, the first thing first."""
    if not facets:
        yield "name the facets, e.g. facets=['template', 'prompt']"
    for one in facets:
        if not isinstance(one, str):
            yield f"facets={one!r} is no text; rename the column"
        elif TIMES in one or facets.count(one) > 1:
            yield f"facets={one!r} is named twice or holds {TIMES!r}; rename it"
        elif one == value:
            yield f"value={value!r} is one of the facets, too; name another column"
        elif one in ("value", *_OF_DESIGN):
            yield f"the facet {one!r} is a column of the result; rename it"
    if lacking := [one for one in fixed if one not in facets]:
        yield f"fixed={lacking[0]!r} is none of the facets {list(facets)}"
    if facets[0] in fixed:
        yield (
            f"fixed={facets[0]!r} comes first, where levels without all answers are left out; name"
            " a facet first of which new levels could be drawn, such as the template"
        )


def _table(cell: pd.DataFrame, value: str, facets: Sequence[str]) -> tuple[np.ndarray, int]:
    """Means of the cells (shape: levels of each facet), and how many first levels are left out."""
    # Sums of the same numbers in another order differ in the last digit: values are sorted first.
    values = cell.sort_values(value).groupby(list(facets), sort=True, observed=True)[value]
    means = values.mean()
    levels = [means.index.unique(facet) for facet in facets]
    shape = [len(level) for level in levels]
    whole = pd.MultiIndex.from_product(levels, names=list(facets))
    table = means.reindex(whole).to_numpy(float).reshape(shape)
    known = np.isfinite(table).reshape(shape[0], -1).all(axis=1)
    kept = table[known]
    if kept.size and np.ptp(kept) <= 1e-12 * np.abs(kept).max():
        kept = np.zeros_like(kept)  # only differences count, and these are what rounding leaves
    return kept, int((~known).sum())


def _status(table: np.ndarray, n: int, left_out: int) -> str:
    """What the table of cells allows to say, which is made of `n` answers."""
    if not n:
        return "no_valid_answer"
    if left_out and len(table) < 2:
        return "no_complete_level"
    if 1 in table.shape:
        return "one_level"
    return "ok" if table.any() else "no_variation"


def _effects(facets: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Every facet, every two of them, and so on."""
    return [effect for count in range(1, len(facets) + 1) for effect in combinations(facets, count)]


def _mean_squares(table: np.ndarray) -> np.ndarray:
    """M of every effect; NaN where a facet has one level, or none."""
    axes = range(table.ndim)
    out = []
    for effect in _effects(axes):
        others = tuple(axis for axis in axes if axis not in effect)
        df = prod(table.shape[axis] - 1 for axis in effect)
        if not table.size or not df:
            out.append(np.nan)
            continue
        part = table.mean(axis=others, keepdims=True)
        for axis in effect:
            part = part - part.mean(axis=axis, keepdims=True)
        repeated = prod(table.shape[axis] for axis in others)
        out.append(float(repeated * (part**2).sum() / df))
    return np.array(out)


def _weights(levels: Mapping[str, int], fixed: Sequence[str]) -> tuple[list[_Effect], np.ndarray]:
    """The effects, and s_e as weights of the mean squares (shape: effects x effects)."""
    facets = list(levels)
    effects = _effects(facets)
    place = {effect: number for number, effect in enumerate(effects)}
    raw = np.zeros((len(effects), len(effects)))
    for effect in effects:
        outside = prod(levels[facet] for facet in facets if facet not in effect)
        for other in effects:
            if set(effect) <= set(other):
                sign = (-1) ** (len(other) - len(effect))
                raw[place[effect], place[other]] = sign / outside
    weights = raw.copy()
    for effect in effects:
        for more in _effects([facet for facet in fixed if facet not in effect]):
            joined = tuple(facet for facet in facets if facet in (*effect, *more))
            weights[place[effect]] += raw[place[joined]] / prod(levels[facet] for facet in more)
    return effects, weights


def _redrawn(squares: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Mean squares as other studies might have them (shape: draws x effects)."""
    chi = np.random.default_rng(_SEED).chisquare(df, (_DRAWS, len(df)))
    return squares * df / chi


def _estimated(
    mean_square: np.ndarray, levels: Mapping[str, int], fixed: Sequence[str], status: str
) -> Iterator[dict[str, Any]]:
    """A row an effect."""
    effects = _effects(list(levels))
    df = np.array([prod(levels[facet] - 1 for facet in effect) for effect in effects], float)
    values, ends = np.full(len(df), np.nan), np.full((2, len(df)), np.nan)
    if status == "no_variation":
        values = np.zeros(len(df))
    elif status == "ok":
        _, weights = _weights(levels, fixed)
        values = weights @ mean_square
        values[np.abs(values) < 1e-12 * mean_square.max()] = 0.0  # what rounding leaves of a 0
        drawn = np.maximum(_redrawn(mean_square, df) @ weights.T, 0)
        ends = np.quantile(drawn, [0.025, 0.975], axis=0)
    kept = np.maximum(values, 0)
    shares = kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), np.nan)
    for place, effect in enumerate(effects):
        yield {
            "effect": TIMES.join(effect),
            "kind": COMPLETE if set(effect) & set(fixed) else RANDOM,
            "value": kept[place],
            "ci_low": ends[0, place],
            "ci_high": ends[1, place],
            "status": "below_zero" if values[place] < 0 else status,
            "share": shares[place],
            "sd": np.sqrt(kept[place]),
            "levels": prod(levels[facet] for facet in effect),
            "df": df[place] if 0 not in levels.values() else np.nan,
            "mean_square": mean_square[place],
        }


def predict(
    table: pd.DataFrame,
    designs: Sequence[Mapping[str, int]],
    *,
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """The standard error that the mean of another design would have.

    Args:
        table: of `components`.
        designs: the number of levels of each facet, such as `{"template": 100, "order": 2}`; a
            facet that is not named keeps its number.
        by: as of `components`.

    Returns:
        by..., a column a facet (how many levels), value (the standard error, in units of the
        values), requests (the product of the levels), se_low, se_high (95 %), half_width (of the
        95 % interval, see below), status: `ok`; `too_few_levels` (more levels of a random facet
        than were asked, of which fewer than 5 were: no value); `no_variation` (answers that are
        all alike tell nothing of others: no value); `one_level`, `no_complete_level`,
        `no_valid_answer` as of `components`.

    Formula: SE^2 = sum over effects e of s_e / prod of n'_f, f in e, times the product over
    complete facets in e of (1 - n'_f / N_f), with n' levels of the new design and N of a complete
    facet. The half width is SE times the quantile of t with SE^4 / sum of (part of e)^2 / df_e
    degrees of freedom, levels of the first facet as in the new design, of others as many as there
    are in either: where few prompts make most of it, many templates do not make it sure.
    In the tables of `components` se_low to se_high covered .943 to .974 (rarely right answers .87
    to .94; some of all orders 1.00), value -+ half_width the mean of all templates and prompts in
    .941 to .974 (rarely right .89; two prompts that make nearly all of it .88).

    Raises:
        KatayoriError: a table of something else, or without some of its rows; a facet that is not
        there; more levels of a complete facet than there are, or fewer than 1.

    Source: Brennan (2001), chapter 4; the correction for finite sets: Cochran (1977), chapter 2;
    F. E. Satterthwaite, Biometrics Bulletin 2 (1946), 110-114, for the degrees of freedom.

    Example:
        >>> answers = pd.DataFrame({"template": range(20), "right": [1.0, 0.0] * 10})
        >>> table = components(answers, value="right", facets=["template"])
        >>> predict(table, [{}, {"template": 80}])["value"].round(3).tolist()
        [0.115, 0.057]
    """
    wanted = {"effect": LABEL, "kind": LABEL, "levels": NUMBER, "status": LABEL}
    wanted |= {"df": NUMBER_OR_NONE, "mean_square": NUMBER_OR_NONE}
    by = require("predict", table, wanted, by, _NAMED, if_asked=True)
    if len(table) and table.duplicated([*by, "effect"]).any():
        raise FrameError("predict: an effect stands there twice; name by= as for components")
    if isinstance(designs, Mapping):
        raise FrameError(f"predict: designs is a list; give [{dict(designs)}]")
    rows: list[dict[str, Any]] = []
    facets: list[str] = []
    for key, cell in cells(table, by):
        single = cell[~cell["effect"].str.contains(TIMES, regex=False)].set_index("effect")
        levels = {str(facet): int(count) for facet, count in single["levels"].items()}
        fixed = [str(facet) for facet in single.index[single["kind"] == COMPLETE]]
        needed = {TIMES.join(effect) for effect in _effects(list(levels))}
        if odd := sorted(needed.symmetric_difference(cell["effect"])):
            raise FrameError(
                f"predict: rows of the table are lacking, as of {odd[0]!r}; give all of components"
            )
        facets += [facet for facet in levels if facet not in facets]
        for design in designs:
            counts = _counts(levels, fixed, design)
            rows.append(key | counts | _predicted(cell, levels, fixed, counts))
    out = pd.DataFrame(rows, columns=[*by, *facets, "value", *_OF_DESIGN])
    out.attrs = dict(table.attrs)  # why there is nothing, where nothing was asked
    return out


def _counts(
    levels: Mapping[str, int], fixed: Sequence[str], design: Mapping[str, int]
) -> dict[str, int]:
    """The levels of each facet in a design."""
    for facet, count in design.items():
        if facet not in levels:
            raise FrameError(f"predict: {facet!r} is no facet; facets are {', '.join(levels)}")
        is_number = isinstance(count, Real) and not isinstance(count, bool)
        if not is_number or not count >= 1 or count % 1:
            raise FrameError(f"predict: {facet}={count!r} is no number of levels; give 1 or more")
        if facet in fixed and count > levels[facet]:
            raise FrameError(
                f"predict: {facet}={count}, and there are {levels[facet]} levels in all (complete)"
            )
    return dict(levels) | {facet: int(count) for facet, count in design.items()}


def _predicted(
    cell: pd.DataFrame, levels: Mapping[str, int], fixed: Sequence[str], counts: Mapping[str, int]
) -> dict[str, Any]:
    """The standard error of one design."""
    row: dict[str, Any] = dict.fromkeys(("value", *_OF_DESIGN), np.nan)
    row["requests"] = prod(counts.values())
    if (status := cell["status"].iloc[0]) not in ("ok", "below_zero"):
        return row | {"status": status}
    few = [facet for facet in levels if facet not in fixed and levels[facet] < FEW_LEVELS]
    if any(counts[facet] > levels[facet] for facet in few):
        return row | {"status": "too_few_levels"}
    effects, weights = _weights(levels, fixed)
    told = cell.set_index("effect").loc[[TIMES.join(effect) for effect in effects]]
    squares, df = told["mean_square"].to_numpy(float), told["df"].to_numpy(float)
    part = np.array([_part(effect, levels, fixed, counts) for effect in effects])
    variances = np.maximum(weights @ squares, 0) * part
    row["value"] = float(np.sqrt(variances.sum()))
    # Cut off only as a whole: parts of 0, each cut off, would add up to something.
    drawn = np.sqrt(np.maximum(_redrawn(squares, df) @ weights.T @ part, 0))
    row["se_low"], row["se_high"] = np.quantile(drawn, [0.025, 0.975])
    row["se_high"] = max(row["se_high"], row["value"])
    row["half_width"] = row["value"]
    if row["value"]:
        of_new = np.array([_df(effect, levels, fixed, counts) for effect in effects])
        row["half_width"] *= student.ppf(
            0.975, variances.sum() ** 2 / (variances**2 / of_new).sum()
        )
    return row | {"status": "ok"}


def _df(
    effect: _Effect, levels: Mapping[str, int], fixed: Sequence[str], counts: Mapping[str, int]
) -> int:
    """Degrees of freedom of an effect in another design.

    Levels of the first facet are drawn anew. Of the other facets, and where there is but one level,
    the answers at hand still count; the levels of a complete facet stay the same.
    """
    first = next(iter(levels))
    known = {f: n if f in fixed else max(n, counts[f]) for f, n in levels.items()}
    known[first] = counts[first] if counts[first] > 1 else levels[first]
    return prod(known[facet] - 1 for facet in effect)


def _part(
    effect: _Effect, levels: Mapping[str, int], fixed: Sequence[str], counts: Mapping[str, int]
) -> float:
    """How much of a component is in the variance of the mean."""
    left = prod(1 - counts[facet] / levels[facet] for facet in effect if facet in fixed)
    return left / prod(counts[facet] for facet in effect)

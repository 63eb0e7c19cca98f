"""What the logprob-judge paper says it found (LJ-22), as checks: on its printed figures, and on answers.

The same five statements are checked in two ways. Printed figures (`PRINTED`, evidence of
`from_published`) are compared as they stand. Answers (`CLAIMS`, evidence of `from_answers`) are
judged by intervals over questions: a claim about several cells holds if the interval of every cell
excludes the opposite (each at 95 %, as all of them must), and is contradicted if that of some cell
excludes the claim (at 95 % over all cells together, by Bonferroni).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from katayori.errors import KatayoriError
from katayori.metrics.intervals import NO_INTERVAL_BELOW, detectable_effect
from katayori.metrics.verdicts import joined_labels
from katayori.report.claims import (
    CONTRADICTED,
    HOLDS,
    NOT_FOUND,
    NOT_TESTED,
    Claim,
    Null,
    verdict_of,
)

METHODS = ["BS1", "BS2", "proposed"]
STYLES = ["result_only", "reason_then_result"]
PROMPT = ["criteria", "output_style"]
NAMED = 4  # so many exceptions are named
ROUNDING = 0.001  # figures printed in tenths of a point, added over tasks, miss their total by less
#: A prompt for reasons has been tried if at least this share of its texts hold some.
REASONS_AT_LEAST = 0.5

NEVER_BELOW = (
    "In every prompt and task the proposed method agrees at least as often as both baselines "
    "(sec 4.2)"
)
REASONS_MORE = (
    "With reasons first every method agrees more often than with the verdict alone, tasks pooled "
    "(sec 4.2)"
)
LESS_ROBUST = (
    "In every task both prompts for the verdict alone are less robust than those with reasons "
    "first (sec 5)"
)
GAINS_MORE = (
    "Of a prompt for the verdict alone and one with reasons the less robust gains more over the "
    "baselines (sec 5)"
)
BEST = (
    "Over all tasks the proposed method with criteria and reasons first agrees most often (sec 4.2)"
)


# -- printed figures -------------------------------------------------------------------------------
#
# A frame, a row per prompt and task, shares not points; NaN where a figure is undefined: criteria
# (yes, no); output_style; task ("all" pools the others); BS1, BS2, proposed; robustness; n (labels)


def _known(evidence: Any, columns: list[str]) -> Any:
    """Rows in which all of the columns are defined; differences of printed figures lose their binary dust."""
    rows = evidence.dropna(subset=columns).round(dict.fromkeys(columns, 9))
    if rows.empty:
        raise KatayoriError(f"no defined {' and '.join(columns)} of any prompt")
    return rows


def _both_styles(evidence: Any, columns: list[str]) -> Any:
    rows = _known(evidence, columns)
    if lacking := [style for style in STYLES if style not in set(rows["output_style"])]:
        raise KatayoriError(f"no prompt of the style {lacking[0]} with a defined {columns[0]}")
    return rows


def _told(evidence: Any, holding: Any, *caveats: str) -> tuple[str, str]:
    """Holds if every cell does; the others are named."""
    apart = [key if isinstance(key, str) else "/".join(key) for key in holding.index[~holding]]
    detail = f"{int(holding.sum())} of {len(holding)} cells" + (
        f"; not in {', '.join(apart[:NAMED])}" if apart else ""
    )
    detail += f" and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    return verdict_of(not apart, detail + _caveats(evidence, *caveats))


def _caveats(evidence: Any, *ids: str) -> str:
    return f"; caveat {', '.join(ids)}" if ids and evidence.attrs.get("published") else ""


def printed_never_below(evidence: Any) -> tuple[str, str]:
    """`NEVER_BELOW` on printed figures; equal ones are named."""
    rows = _known(evidence, METHODS).set_index([*PROMPT, "task"])
    baseline = rows[["BS1", "BS2"]].max(axis=1)
    verdict, detail = _told(evidence, rows["proposed"] >= baseline)
    equal = ["/".join(key) for key in rows.index[rows["proposed"] == baseline]]
    return verdict, detail + (f"; equal in {', '.join(equal)}" if equal else "") + _caveats(
        evidence, "LJ-c1"
    )


def printed_reasons_more(evidence: Any) -> tuple[str, str]:
    """`REASONS_MORE` on printed figures; by task beside it."""
    long = _both_styles(evidence, METHODS).melt([*PROMPT, "task"], METHODS, "method")
    wide = long.pivot(
        index=["method", "criteria", "task"], columns="output_style", values="value"
    ).dropna()
    if wide.empty:
        raise KatayoriError("no kind of prompt was asked in both styles")
    more = wide[STYLES[1]] > wide[STYLES[0]]
    pooled = more.index.get_level_values("task") == "all"
    verdict, detail = _told(evidence, more[pooled])
    by_task = _told(evidence, more[~pooled], "LJ-c3")[1] if not pooled.all() else "none"
    return verdict, f"{detail}; task by task {by_task}"


def printed_less_robust(evidence: Any) -> tuple[str, str]:
    """`LESS_ROBUST` on printed figures."""
    rows = _both_styles(evidence, ["robustness"])
    cells = rows.pivot_table(
        index="task", columns="output_style", values="robustness", aggfunc=["min", "max"]
    )
    return _told(evidence, cells["max", STYLES[0]] < cells["min", STYLES[1]])


def printed_gains_more(evidence: Any) -> tuple[str, str]:
    """`GAINS_MORE` on printed figures."""
    rows = _both_styles(evidence, [*METHODS, "robustness"])
    rows = rows[rows["task"] == "all"]
    rows = rows.assign(gain=(rows["proposed"] - rows[["BS1", "BS2"]].max(axis=1)).round(9))
    alone, reasoned = (rows[rows["output_style"] == style].to_dict("records") for style in STYLES)
    against = {
        (f"{a['criteria']}/{STYLES[0]}", f"{b['criteria']}/{STYLES[1]}"): (
            a["robustness"] - b["robustness"]
        )
        * (a["gain"] - b["gain"])
        for a, b in product(alone, reasoned)
    }
    return _told(evidence, pd.Series(against) < 0, "LJ-c1")


def printed_best(evidence: Any) -> tuple[str, str]:
    """`BEST` on printed figures; not tested where the tasks do not add to the total."""
    rows = _known(evidence, METHODS)
    if rows[rows["task"] == "all"].groupby(PROMPT).ngroups < 4:
        raise KatayoriError(
            "needs all four prompts: with and without criteria, verdict alone and reasons first"
        )
    long = rows.melt([*PROMPT, "task", "n"], METHODS, "method")
    whole = long[long["task"] == "all"].set_index(["method", *PROMPT])["value"]
    parts = long[long["task"] != "all"].assign(hits=lambda t: t["value"] * t["n"])
    sums = parts.groupby(["method", *PROMPT])[["hits", "n"]].sum()
    pooled = (sums["hits"] / sums["n"]).reindex(whole.index)
    best, claimed = whole.idxmax(), ("proposed", "yes", STYLES[1])
    best = claimed if whole[claimed] == whole[best] else best
    said = f"highest: {'/'.join(best)} at {100 * whole[best]:.1f}"
    if pooled.notna().all() and pooled.max() - pooled[best] > ROUNDING:
        other = f"{'/'.join(pooled.idxmax())} at {100 * pooled.max():.1f}"
        raise KatayoriError(
            f"{said} for all tasks, but its tasks add to {other}{_caveats(evidence, 'LJ-c1')}"
        )
    return verdict_of(best == claimed, said)


PRINTED = [
    Claim("LJ-22", NEVER_BELOW, printed_never_below),
    Claim("LJ-22", REASONS_MORE, printed_reasons_more),
    Claim("LJ-22", LESS_ROBUST, printed_less_robust),
    Claim("LJ-22", GAINS_MORE, printed_gains_more),
    Claim("LJ-22", BEST, printed_best),
]


# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """One judge's verdicts on comparisons that all of its prompts were asked, summed by question.

    Attributes:
        prompts: (criteria, output_style) of each prompt (P of them).
        task: of each question (Q of them).
        labels: labels of a question (shape: questions).
        pairs: comparisons of a question (shape: questions).
        hits: verdicts equal to a label (shape: prompts x `METHODS` x questions).
        swapped: the same had the judge preferred the other answer of every pair of the question.
        steady: comparisons whose orders agree (shape: prompts x questions).
        reasons: prompt -> (texts that hold reasons, texts).
        copied: (questions whose criteria are mostly copied from the reference, questions), if any.
    """

    prompts: list[tuple[str, str]]
    task: np.ndarray
    labels: np.ndarray
    pairs: np.ndarray
    hits: np.ndarray
    swapped: np.ndarray
    steady: np.ndarray
    reasons: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    copied: tuple[int, int] | None = None

    @property
    def tasks(self) -> list[str]:
        """ "all", then every task."""
        return list(dict.fromkeys(["all", *self.task]))

    def within(self, task: str) -> np.ndarray:
        """Which questions are of a task."""
        return np.ones(len(self.task), bool) if task == "all" else self.task == task

    def number(self, style: str) -> list[int]:
        """The prompts of a style."""
        return [i for i, (_, its) in enumerate(self.prompts) if its == style]


def from_answers(
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame,
    annotators: Sequence[str],
    kinds: Mapping[str, tuple[str, str]],
    **conditions: Any,
) -> Answers:
    """The evidence of one judge, on the comparisons that all its prompts hold.

    Args:
        verdicts: of `metrics.verdicts.judge_verdicts`, with prompt_id.
        comparisons, annotators: labels.
        kinds: prompt_id -> (criteria, output_style).
        conditions: `reasons` and `copied` of `Answers`.
    """
    told = joined_labels(verdicts, comparisons, annotators)
    asked = [name for name in kinds if name in set(told["prompt_id"])]
    shared = told.groupby("pair_id")["prompt_id"].nunique()
    told = told[told["pair_id"].isin(shared.index[shared == len(asked)])]
    question, names = pd.factorize(told["question_id"])
    first = told["prompt_id"].isin(asked[:1]).to_numpy()

    def summed(counts: pd.Series, rows: np.ndarray) -> np.ndarray:
        return np.bincount(question[rows], counts.to_numpy(float)[rows], len(names))

    given = told[annotators].notna().sum(axis=1)
    hits = np.zeros((len(asked), len(METHODS), len(names)))
    swapped, steady = hits.copy(), np.zeros((len(asked), len(names)))
    for i, prompt in enumerate(asked):
        rows = (told["prompt_id"] == prompt).to_numpy()
        steady[i] = summed(told["consistent"], rows)
        for k, method in enumerate(METHODS):
            said = told[method]
            other = said.map({"1": "2", "2": "1", "tie": "tie"})
            hits[i, k] = summed(told[annotators].eq(said, axis=0).sum(axis=1), rows)
            swapped[i, k] = summed(told[annotators].eq(other, axis=0).sum(axis=1), rows)
    task = told["task"].groupby(question).first().reindex(range(len(names)))
    pairs = pd.Series(np.ones(len(told)), told.index)
    return Answers(
        prompts=[kinds[name] for name in asked],
        task=task.to_numpy(object),
        labels=summed(given, first),
        pairs=summed(pairs, first),
        hits=hits,
        swapped=swapped,
        steady=steady,
        **conditions,
    )


def swapped_by_question(evidence: Answers, rng: np.random.Generator) -> Answers:
    """The judge's preference turned round, or not, for all pairs and prompts of a question."""
    turned = rng.random(len(evidence.task)) < 0.5
    return replace(evidence, hits=np.where(turned, evidence.swapped, evidence.hits))


def prompts_by_question(evidence: Answers, rng: np.random.Generator) -> Answers:
    """Which prompt got which verdicts dealt anew for every question."""
    n, questions = evidence.steady.shape
    dealt = rng.permuted(np.tile(np.arange(n)[:, None], questions), axis=0)
    one = np.arange(questions)
    hits = evidence.hits[dealt, :, one].transpose(0, 2, 1)
    return replace(evidence, hits=hits, steady=evidence.steady[dealt, one])


A_AND_B = Null("A and B, once per question", swapped_by_question)
PROMPTS = Null("prompts, once per question", prompts_by_question)


@dataclass(frozen=True)
class Cell:
    """A difference that a claim says is positive: its name, and (gain, denominator) by question.

    `decisive`: whether the claim falls with this cell alone.
    """

    name: str
    gains: np.ndarray
    totals: np.ndarray
    decisive: bool = True


@cache  # the same few quantiles in every null draw
def _quantile(tail: float, df: int) -> float:
    return float(t.ppf(1 - tail, df))


def _interval(cell: Cell, tail: float) -> tuple[float, float, float, float]:
    """Value, both ends at one tail probability, and standard error, by t over questions.

    Where all questions differ alike there is no spread to go by. Then each question counts as one
    throw of a coin: the interval is open on the side of the difference if so many equal throws are
    rarer than the tails, and open on both sides else.
    """
    kept = cell.totals > 0
    gains, totals = cell.gains[kept], cell.totals[kept]
    questions = len(gains)
    if questions < NO_INTERVAL_BELOW:
        return np.nan, np.nan, np.nan, np.nan
    value = gains.sum() / totals.sum()
    parts = (gains - value * totals) / totals.mean()
    error = float(np.sqrt((parts**2).sum() / (questions - 1) / questions))
    if error < 1e-12:
        rare = value != 0 and 0.5**questions < tail
        low, high = (1e-12, np.inf) if value > 0 else (-np.inf, -1e-12)
        return (value, low, high, 0.0) if rare else (value, -np.inf, np.inf, 0.0)
    half = _quantile(tail, questions - 1) * error
    return value, value - half, value + half, error


def _every_cell(cells: Sequence[Cell], *, least: bool = False) -> tuple[str, str]:
    """The verdict on "every one of these differences is above 0" (`least`: 0 or above)."""
    each = np.array([_interval(cell, 0.025) for cell in cells])
    whole = np.array([_interval(cell, 0.025 / len(cells)) for cell in cells])
    n_questions = [int((cell.totals > 0).sum()) for cell in cells]
    sizes = sorted({min(n_questions), max(n_questions)})
    counted = f"{len(cells)} cells of {' to '.join(map(str, sizes))} questions"
    if np.isnan(each).any():
        return NOT_TESTED, f"{counted}: fewer than {NO_INTERVAL_BELOW} questions in some cell"
    above = each[:, 1] >= 0 if least else each[:, 1] > 0
    against = (whole[:, 2] < 0) & np.array([cell.decisive for cell in cells])
    low = int(each[:, 0].argmin())
    lowest = f"lowest in {cells[low].name}: {_points(each[low])}"
    detail = f"{int(above.sum())} of {counted} above 0 by their interval; {lowest}"
    if against.any():
        named = [cells[int(i)].name for i in np.flatnonzero(against)][:NAMED]
        return CONTRADICTED, f"{detail}; below 0 in {', '.join(named)}"
    if above.all():
        return HOLDS, detail
    widest = int(each[:, 3].argmax())
    effect = detectable_effect(each[widest, 3], n_questions[widest])
    told = f"{100 * effect:.1f} points" if np.isfinite(effect) else "unknown, no variation"
    return NOT_FOUND, f"{detail}; detectable in four of five studies, in every cell: {told}"


def _points(found: np.ndarray) -> str:
    value, low, high, error = found
    if error == 0:
        return f"{100 * value:+.1f} points, no variation"
    return f"{100 * value:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]"


def _conditions(evidence: Answers, *, criteria: bool = False) -> None:
    """Raises KatayoriError where the prompts for reasons were not asked, or brought none."""
    styles = {style for _, style in evidence.prompts}
    if lacking := [style for style in STYLES if style not in styles]:
        raise KatayoriError(f"no prompt of the style {lacking[0]} was asked of this judge")
    for prompt in (p for p in evidence.prompts if p[1] == STYLES[1]):
        held, texts = evidence.reasons.get(prompt, (0, 0))
        if held < REASONS_AT_LEAST * texts or not texts:
            counts = [
                evidence.reasons.get(p, (0, 0)) for p in evidence.prompts if p[1] == STYLES[1]
            ]
            told = ", ".join(f"{h} of {n}" for h, n in counts)
            raise KatayoriError(
                f"reasons first was asked for and did not happen: texts with reasons {told}"
            )
    if criteria and evidence.copied and 2 * evidence.copied[0] > evidence.copied[1]:
        copied, questions = evidence.copied
        raise KatayoriError(
            f"criteria were asked for and are mostly lines of the reference on {copied} of "
            f"{questions} questions"
        )


def _name(prompt: tuple[str, str], *more: str) -> str:
    return "/".join([*prompt, *more])


def proposed_never_below(evidence: Answers) -> tuple[str, str]:
    """`NEVER_BELOW`: proposed less BS2, which is never below BS1, in every prompt and task."""
    baseline, proposed = METHODS.index("BS2"), METHODS.index("proposed")
    cells = []
    for (i, prompt), task in product(enumerate(evidence.prompts), evidence.tasks):
        part = evidence.within(task)
        gained = (evidence.hits[i, proposed] - evidence.hits[i, baseline])[part]
        cells.append(Cell(_name(prompt, task), gained, evidence.labels[part]))
    if not cells or not evidence.labels.any():
        raise KatayoriError("no comparison with a label and a verdict of this judge")
    # Where both methods agree with the labels on the same comparisons there is nothing to compare.
    unequal = [cell for cell in cells if cell.gains.any()]
    if not unequal:
        raise KatayoriError("the proposed method and BS2 are right on the same comparisons")
    verdict, detail = _every_cell(unequal, least=True)
    equal = len(cells) - len(unequal)
    return verdict, detail + (f"; both methods alike in {equal} more cells" if equal else "")


def reasons_agree_more(evidence: Answers) -> tuple[str, str]:
    """`REASONS_MORE`: for each method and kind of criteria."""
    _conditions(evidence)
    cells = []
    for alone, reasoned in product(*map(evidence.number, STYLES)):
        criteria = evidence.prompts[alone][0]
        if criteria != evidence.prompts[reasoned][0]:
            continue
        for k, method in enumerate(METHODS):
            more = evidence.hits[reasoned, k] - evidence.hits[alone, k]
            cells.append(Cell(f"{method}/{criteria}", more, evidence.labels))
    if not cells:
        raise KatayoriError("no kind of prompt was asked in both styles")
    return _every_cell(cells)


def verdicts_alone_less_robust(evidence: Answers) -> tuple[str, str]:
    """`LESS_ROBUST`: each prompt with reasons against each without, in every task."""
    _conditions(evidence)
    cells = []
    both = list(product(*map(evidence.number, STYLES)))
    for task, (alone, reasoned) in product(evidence.tasks, both):
        part = evidence.within(task)
        more = (evidence.steady[reasoned] - evidence.steady[alone])[part]
        name = f"{task}: {evidence.prompts[reasoned][0]} against {evidence.prompts[alone][0]}"
        cells.append(Cell(name, more, evidence.pairs[part]))
    return _every_cell(cells)


def less_robust_gains_more(evidence: Answers) -> tuple[str, str]:
    """`GAINS_MORE`: both differences of a pair of prompts, turned so that robustness rises."""
    _conditions(evidence)
    baseline, proposed = METHODS.index("BS2"), METHODS.index("proposed")
    gain = evidence.hits[:, proposed] - evidence.hits[:, baseline]
    cells = []
    for alone, reasoned in product(*map(evidence.number, STYLES)):
        names = f"{evidence.prompts[alone][0]} against {evidence.prompts[reasoned][0]}"
        steadier = evidence.steady[reasoned] - evidence.steady[alone]
        turn = -1.0 if steadier.sum() < 0 else 1.0
        less = turn * (gain[alone] - gain[reasoned])
        sure = Cell(f"robustness, {names}", turn * steadier, evidence.pairs, decisive=False)
        # Which is the less robust must be known before its gain can speak against the claim.
        known = bool(_interval(sure, 0.025)[1] > 0)
        cells += [sure, Cell(f"gain, {names}", less, evidence.labels, decisive=known)]
    return _every_cell(cells)


def best_is_criteria_with_reasons(evidence: Answers) -> tuple[str, str]:
    """`BEST`: against every other method of every prompt."""
    if len(evidence.prompts) < 4:
        raise KatayoriError(
            "needs all four prompts: with and without criteria, verdict alone and reasons first"
        )
    _conditions(evidence, criteria=True)
    claimed = (evidence.prompts.index(("yes", STYLES[1])), METHODS.index("proposed"))
    cells = []
    for place in product(range(len(evidence.prompts)), range(len(METHODS))):
        more = evidence.hits[claimed] - evidence.hits[place]
        # Itself, or a baseline of the same prompt that is right on the same comparisons.
        if place[0] == claimed[0] and not more.any():
            continue
        name = f"{METHODS[place[1]]} of {_name(evidence.prompts[place[0]])}"
        cells.append(Cell(name, more, evidence.labels))
    return _every_cell(cells)


_CHECKS: list[tuple[str, Callable[[Answers], tuple[str, str]], Null]] = [
    (NEVER_BELOW, proposed_never_below, A_AND_B),
    (REASONS_MORE, reasons_agree_more, PROMPTS),
    (LESS_ROBUST, verdicts_alone_less_robust, PROMPTS),
    (GAINS_MORE, less_robust_gains_more, PROMPTS),
    (BEST, best_is_criteria_with_reasons, PROMPTS),
]
CLAIMS = [Claim("LJ-22", statement, check, null) for statement, check, null in _CHECKS]


def from_published(tables: Mapping[str, Any]) -> Any:
    """The evidence the paper prints, from its tables in data/published/logprob_judge (name -> frame)."""
    keys = [*PROMPT, "task"]
    out = tables["concordance"].pivot(index=keys, columns="method", values="concordance_pct") / 100
    out["robustness"] = tables["robustness"].set_index(keys)["robustness_pct"] / 100
    tasks = tables["questions"].assign(n=lambda t: t["n_questions"] * t["n_pairs_per_question"])
    raters = tables["kappa"].set_index("task")["n_raters"]
    out = out.reset_index().merge(tasks[["task", "n"]], on="task")
    out["n"] *= out["task"].map(raters)
    out.attrs["published"] = True
    return out

"""What the logprob-judge paper says it found (LJ-22), as checks of printed figures and of answers.

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
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t

from katayori.errors import KatayoriError
from katayori.metrics.intervals import NO_INTERVAL_BELOW, detectable_effect
from katayori.papers.claims import (
    CONTRADICTED,
    HOLDS,
    NOT_FOUND,
    NOT_TESTED,
    Claim,
    Null,
    verdict_of,
)
from katayori.papers.logprob_judge.scores import joined_labels

METHODS = ["BS1", "BS2", "proposed"]
ALONE, REASONED = STYLES = ("result_only", "reason_then_result")
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


def _defined(printed: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Rows in which all of the columns are defined.

    Differences of printed figures lose their binary dust.
    """
    rows = printed.dropna(subset=columns).round(dict.fromkeys(columns, 9))
    if rows.empty:
        raise KatayoriError(f"no defined {' and '.join(columns)} of any prompt")
    return rows


def _both_styles(printed: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    rows = _defined(printed, columns)
    if lacking := [style for style in STYLES if style not in set(rows["output_style"])]:
        raise KatayoriError(f"no prompt of the style {lacking[0]} with a defined {columns[0]}")
    return rows


def _count(printed: pd.DataFrame, holding: Any, *caveats: str) -> tuple[str, str]:
    """Holds if every cell does; the others are named.

    `holding` is a series of truth values by cell.
    """
    apart = [key if isinstance(key, str) else "/".join(key) for key in holding.index[~holding]]
    detail = f"{int(holding.sum())} of {len(holding)} cells"
    if apart:
        detail += f"; not in {', '.join(apart[:NAMED])}"
    if len(apart) > NAMED:
        detail += f" and {len(apart) - NAMED} more"
    return verdict_of(not apart, detail + _caveats(printed, *caveats))


def _caveats(printed: pd.DataFrame, *ids: str) -> str:
    return f"; caveat {', '.join(ids)}" if ids and printed.attrs.get("published") else ""


def printed_never_below(printed: pd.DataFrame) -> tuple[str, str]:
    """`NEVER_BELOW` on printed figures; equal ones are named.

    Example:
        >>> from katayori.data import published
        >>> printed_never_below(from_published(published.tables("logprob_judge")))[0]
        'holds'
    """
    rows = _defined(printed, METHODS).set_index([*PROMPT, "task"])
    baseline = rows[["BS1", "BS2"]].max(axis=1)
    verdict, detail = _count(printed, rows["proposed"] >= baseline)
    equal = ["/".join(key) for key in rows.index[rows["proposed"] == baseline]]
    if equal:
        detail += f"; equal in {', '.join(equal)}"
    return verdict, detail + _caveats(printed, "LJ-c1")


def printed_reasons_more(printed: pd.DataFrame) -> tuple[str, str]:
    """`REASONS_MORE` on printed figures; by task beside it.

    Example:
        >>> from katayori.data import published
        >>> printed_reasons_more(from_published(published.tables("logprob_judge")))[0]
        'holds'
    """
    long = _both_styles(printed, METHODS).melt([*PROMPT, "task"], METHODS, "method")
    index = ["method", "criteria", "task"]
    wide = long.pivot(index=index, columns="output_style", values="value").dropna()
    if wide.empty:
        raise KatayoriError("no kind of prompt was asked in both styles")
    more = wide[REASONED] > wide[ALONE]
    pooled = more.index.get_level_values("task") == "all"
    verdict, detail = _count(printed, more[pooled])
    by_task = _count(printed, more[~pooled], "LJ-c3")[1] if not pooled.all() else "none"
    return verdict, f"{detail}; task by task {by_task}"


def printed_less_robust(printed: pd.DataFrame) -> tuple[str, str]:
    """`LESS_ROBUST` on printed figures.

    Example:
        >>> from katayori.data import published
        >>> printed_less_robust(from_published(published.tables("logprob_judge")))[0]
        'holds'
    """
    rows = _both_styles(printed, ["robustness"])
    cells = rows.pivot_table(
        index="task", columns="output_style", values="robustness", aggfunc=["min", "max"]
    )
    return _count(printed, cells["max", ALONE] < cells["min", REASONED])


def printed_gains_more(printed: pd.DataFrame) -> tuple[str, str]:
    """`GAINS_MORE` on printed figures.

    Example:
        >>> from katayori.data import published
        >>> printed_gains_more(from_published(published.tables("logprob_judge")))[0]
        'holds'
    """
    rows = _both_styles(printed, [*METHODS, "robustness"])
    rows = rows[rows["task"] == "all"]
    rows = rows.assign(gain=(rows["proposed"] - rows[["BS1", "BS2"]].max(axis=1)).round(9))
    alone, reasoned = (rows[rows["output_style"] == style].to_dict("records") for style in STYLES)
    products = {}
    for a, b in product(alone, reasoned):
        names = f"{a['criteria']}/{ALONE}", f"{b['criteria']}/{REASONED}"
        # Below 0 where the less robust of the two gains more.
        products[names] = (a["robustness"] - b["robustness"]) * (a["gain"] - b["gain"])
    return _count(printed, pd.Series(products) < 0, "LJ-c1")


def printed_best(printed: pd.DataFrame) -> tuple[str, str]:
    """`BEST` on printed figures.

    Raises KatayoriError, which a check of claims shows as "not tested", where a prompt is missing,
    or where the printed tasks, weighted by n, make another method the best one than the printed
    total does.

    Example:
        >>> from katayori.data import published
        >>> printed_best(from_published(published.tables("logprob_judge")))[0]
        Traceback (most recent call last):
            ...
        katayori.errors.KatayoriError: highest: proposed/yes/reason_then_result at 71.2 for ...
    """
    rows = _defined(printed, METHODS)
    if rows[rows["task"] == "all"].groupby(PROMPT).ngroups < 4:
        raise KatayoriError(
            "needs all four prompts: with and without criteria, verdict alone and reasons first"
        )
    long = rows.melt([*PROMPT, "task", "n"], METHODS, "method")
    whole = long[long["task"] == "all"].set_index(["method", *PROMPT])["value"]
    parts = long[long["task"] != "all"].assign(hits=lambda t: t["value"] * t["n"])
    sums = parts.groupby(["method", *PROMPT])[["hits", "n"]].sum()
    pooled = (sums["hits"] / sums["n"]).reindex(whole.index)
    claimed = ("proposed", "yes", REASONED)
    best: Any = whole.idxmax()
    if whole[claimed] == whole[best]:
        best = claimed
    detail = f"highest: {'/'.join(best)} at {100 * whole[best]:.1f}"
    if pooled.notna().all() and pooled.max() - pooled[best] > ROUNDING:
        best_of_tasks: Any = pooled.idxmax()
        other = f"{'/'.join(best_of_tasks)} at {100 * pooled.max():.1f}"
        raise KatayoriError(
            f"{detail} for all tasks, but its tasks add to {other}{_caveats(printed, 'LJ-c1')}"
        )
    return verdict_of(best == claimed, detail)


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
        verdicts: of `papers.logprob_judge.scores.judge_verdicts`, with prompt_id.
        comparisons, annotators: labels.
        kinds: prompt_id -> (criteria, output_style).
        conditions: `reasons` and `copied` of `Answers`.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> verdicts, comparisons = examples.of_all_prompts(), examples.comparisons()
        >>> from_answers(verdicts, comparisons, ["truth"], examples.KINDS).hits.shape
        (4, 3, 10)
    """
    rows = joined_labels(verdicts, comparisons, annotators)
    asked = [name for name in kinds if name in set(rows["prompt_id"])]
    n_prompts = rows.groupby("pair_id")["prompt_id"].nunique()
    rows = rows[rows["pair_id"].isin(n_prompts.index[n_prompts == len(asked)])]
    question, names = pd.factorize(rows["question_id"])
    # Labels and comparisons are the same under every prompt: they are counted under the first.
    of_first = rows["prompt_id"].isin(asked[:1]).to_numpy()

    def summed(counts: pd.Series, chosen: np.ndarray) -> np.ndarray:
        """Sums by question over the rows chosen."""
        return np.bincount(question[chosen], counts.to_numpy(float)[chosen], len(names))

    hits = np.zeros((len(asked), len(METHODS), len(names)))
    swapped = hits.copy()
    steady = np.zeros((len(asked), len(names)))
    for i, prompt in enumerate(asked):
        of_prompt = (rows["prompt_id"] == prompt).to_numpy()
        steady[i] = summed(rows["consistent"], of_prompt)
        for k, method in enumerate(METHODS):
            verdict = rows[method]
            other = verdict.map({"1": "2", "2": "1", "tie": "tie"})
            hits[i, k] = summed(rows[annotators].eq(verdict, axis=0).sum(axis=1), of_prompt)
            swapped[i, k] = summed(rows[annotators].eq(other, axis=0).sum(axis=1), of_prompt)
    task = rows["task"].groupby(question).first().reindex(range(len(names)))
    return Answers(
        prompts=[kinds[name] for name in asked],
        task=task.to_numpy(object),
        labels=summed(rows[annotators].notna().sum(axis=1), of_first),
        pairs=summed(pd.Series(1.0, rows.index), of_first),
        hits=hits,
        swapped=swapped,
        steady=steady,
        **conditions,
    )


def swapped_by_question(evidence: Answers, rng: np.random.Generator) -> Answers:
    """The judge's preference turned round, or not, for all pairs and prompts of a question.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> swapped = swapped_by_question(examples.evidence(), np.random.default_rng(0))
        >>> int(examples.evidence().hits.sum()), int(swapped.hits.sum())
        (256, 188)
    """
    turned = rng.random(len(evidence.task)) < 0.5
    return replace(evidence, hits=np.where(turned, evidence.swapped, evidence.hits))


def prompts_by_question(evidence: Answers, rng: np.random.Generator) -> Answers:
    """Which prompt got which verdicts dealt anew for every question.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> dealt = prompts_by_question(examples.evidence(), np.random.default_rng(0))
        >>> bool((dealt.hits.sum(axis=0) == examples.evidence().hits.sum(axis=0)).all())
        True
    """
    n, questions = evidence.steady.shape
    dealt = rng.permuted(np.tile(np.arange(n)[:, None], questions), axis=0)
    question = np.arange(questions)
    hits = evidence.hits[dealt, :, question].transpose(0, 2, 1)
    return replace(evidence, hits=hits, steady=evidence.steady[dealt, question])


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


class Interval(NamedTuple):
    """A cell's value, the ends of its interval and its standard error."""

    value: float
    low: float
    high: float
    error: float


def _interval(cell: Cell, tail: float) -> Interval:
    """The interval at one tail probability, by t over questions; NaN for too few of them.

    Where all questions differ alike there is no spread to go by. Then each question counts as one
    throw of a coin: the interval is open on the side of the difference if so many equal throws are
    rarer than the tails, and open on both sides else.
    """
    kept = cell.totals > 0
    gains, totals = cell.gains[kept], cell.totals[kept]
    questions = len(gains)
    if questions < NO_INTERVAL_BELOW:
        return Interval(np.nan, np.nan, np.nan, np.nan)
    value = gains.sum() / totals.sum()
    parts = (gains - value * totals) / totals.mean()
    error = float(np.sqrt((parts**2).sum() / (questions - 1) / questions))
    if error < 1e-12:
        rare = value != 0 and 0.5**questions < tail
        low = 1e-12 if rare and value > 0 else -np.inf
        high = -1e-12 if rare and value < 0 else np.inf
        return Interval(value, low, high, 0.0)
    half = _quantile(tail, questions - 1) * error
    return Interval(value, value - half, value + half, error)


def _every_cell(cells: Sequence[Cell], *, least: bool = False) -> tuple[str, str]:
    """The verdict on "every one of these differences is above 0" (`least`: 0 or above)."""
    n_questions = [int((cell.totals > 0).sum()) for cell in cells]
    sizes = sorted({min(n_questions), max(n_questions)})
    counted = f"{len(cells)} cells of {' to '.join(map(str, sizes))} questions"
    if min(n_questions) < NO_INTERVAL_BELOW:
        return NOT_TESTED, f"{counted}: fewer than {NO_INTERVAL_BELOW} questions in some cell"
    intervals = [_interval(cell, 0.025) for cell in cells]
    n_above = sum(each.low >= 0 if least else each.low > 0 for each in intervals)
    lowest = min(range(len(cells)), key=lambda k: intervals[k].value)
    detail = (
        f"{n_above} of {counted} above 0 by their interval; "
        f"lowest in {cells[lowest].name}: {_points(intervals[lowest])}"
    )
    # One cell decides: Bonferroni over all of them.
    level = 0.025 / len(cells)
    against = [cell.name for cell in cells if cell.decisive and _interval(cell, level).high < 0]
    if against:
        return CONTRADICTED, f"{detail}; below 0 in {', '.join(against[:NAMED])}"
    if n_above == len(cells):
        return HOLDS, detail
    widest = max(range(len(cells)), key=lambda k: intervals[k].error)
    effect = detectable_effect(intervals[widest].error, n_questions[widest])
    size = f"{100 * effect:.1f} points" if np.isfinite(effect) else "unknown, no variation"
    return NOT_FOUND, f"{detail}; detectable in four of five studies, in every cell: {size}"


def _points(interval: Interval) -> str:
    if interval.error == 0:
        return f"{100 * interval.value:+.1f} points, no variation"
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.value:+.1f} points [{low:+.1f}, {high:+.1f}]"


def _conditions(evidence: Answers, *, criteria: bool = False) -> None:
    """Raises KatayoriError where the prompts for reasons were not asked, or brought none."""
    styles = {style for _, style in evidence.prompts}
    if lacking := [style for style in STYLES if style not in styles]:
        raise KatayoriError(f"no prompt of the style {lacking[0]} was asked of this judge")
    reasoned = [evidence.reasons.get(p, (0, 0)) for p in evidence.prompts if p[1] == REASONED]
    if any(held < REASONS_AT_LEAST * texts or not texts for held, texts in reasoned):
        counts = ", ".join(f"{held} of {texts}" for held, texts in reasoned)
        raise KatayoriError(
            f"reasons first was asked for and did not happen: texts with reasons {counts}"
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
    """`NEVER_BELOW`: proposed less BS2, which is never below BS1, in every prompt and task.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> proposed_never_below(examples.evidence())[0]
        'not found'
    """
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
    """`REASONS_MORE`: for each method and kind of criteria.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> reasons_agree_more(examples.evidence())[0]
        'holds'
    """
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
    """`LESS_ROBUST`: each prompt with reasons against each without, in every task.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> verdicts_alone_less_robust(examples.evidence())[0]
        'holds'
    """
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
    """`GAINS_MORE`: both differences of a pair of prompts, turned so that robustness rises.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> less_robust_gains_more(examples.evidence())[0]
        'not found'
    """
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
        # Which is the less robust must be sure before its gain can speak against the claim.
        decisive = bool(_interval(sure, 0.025).low > 0)
        cells += [sure, Cell(f"gain, {names}", less, evidence.labels, decisive=decisive)]
    return _every_cell(cells)


def best_is_criteria_with_reasons(evidence: Answers) -> tuple[str, str]:
    """`BEST`: against every other method of every prompt.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> best_is_criteria_with_reasons(examples.evidence())[0]
        'not found'
    """
    if len(evidence.prompts) < 4:
        raise KatayoriError(
            "needs all four prompts: with and without criteria, verdict alone and reasons first"
        )
    _conditions(evidence, criteria=True)
    claimed = (evidence.prompts.index(("yes", REASONED)), METHODS.index("proposed"))
    cells = []
    for prompt, method in product(range(len(evidence.prompts)), range(len(METHODS))):
        more = evidence.hits[claimed] - evidence.hits[prompt, method]
        # Itself, or a baseline of the same prompt that is right on the same comparisons.
        if prompt == claimed[0] and not more.any():
            continue
        name = f"{METHODS[method]} of {_name(evidence.prompts[prompt])}"
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
#: Those that two prompts can test, one for the verdict alone and one with reasons.
ABOUT_REASONS = [
    claim for claim in CLAIMS if claim.statement in (REASONS_MORE, LESS_ROBUST, GAINS_MORE)
]


def from_published(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The evidence the paper prints, from its tables in data/published/logprob_judge by name.

    Example:
        >>> from katayori.data import published
        >>> printed = from_published(published.tables("logprob_judge"))
        >>> len(printed), sorted(printed["output_style"].unique())
        (16, ['reason_then_result', 'result_only'])
    """
    keys = [*PROMPT, "task"]
    concordance = tables["concordance"]
    printed = concordance.pivot(index=keys, columns="method", values="concordance_pct") / 100
    printed["robustness"] = tables["robustness"].set_index(keys)["robustness_pct"] / 100
    tasks = tables["questions"].assign(n=lambda t: t["n_questions"] * t["n_pairs_per_question"])
    printed = printed.reset_index().merge(tasks[["task", "n"]], on="task")
    # Every comparison has a label of each rater.
    printed["n"] *= printed["task"].map(tables["kappa"].set_index("task")["n_raters"])
    printed.attrs["published"] = True
    return printed

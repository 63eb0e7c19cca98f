"""What the persona-JBBQ paper says it found (PJ-22), as checks of evidence: printed or answers.

Two kinds of evidence:
    printed figures, a frame of one row a model, prompt and category, shares not points, NaN where
    a score is undefined: model; group (global, japanese, ...); size_b (billions of parameters);
    prompt (basicP, paraP, CoT, neutral, biased); category; acc_amb; acc_dis; diff_amb. Taken as
    they stand, cell by cell.
    answers, `persona_sums.TemplateSums`. A cell shows what is claimed where its 95 % interval over
    templates excludes the opposite. "In most cells" holds where more than half of them show it and
    is contradicted where the intervals of half of them show the opposite; "in every cell" holds
    where all show it and is contradicted where one shows the opposite after Bonferroni's correction
    over the cells. Cells without an interval show neither.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from katayori.errors import KatayoriError
from katayori.metrics.intervals import detectable_effect, share_interval
from katayori.papers.claims import (
    CONTRADICTED,
    HOLDS,
    NOT_FOUND,
    NOT_TOLD,
    Claim,
    Null,
    claims_of,
    verdict_of,
)
from katayori.papers.persona_jbbq import sums as persona_sums
from katayori.papers.persona_jbbq.sums import Cells, Estimates, TemplateSums

Evidence = TemplateSums | pd.DataFrame
#: Our reading of a "high" ambiguous accuracy; the paper names no figure.
HIGH = 0.9
GROUPS = ("global", "japanese")
#: "Does not lower bias": a difference in Diff_a of so much is taken for none (our margin).
MARGIN = 0.05
#: Exceptions are named up to this many.
NAMED = 4


# --- printed figures ----------------------------------------------------------------------------


def _rows(
    printed: pd.DataFrame, metric: str, biased: bool = False, groups: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Defined rows of one score, of some groups.

    Under the biased persona or under the other prompts.
    """
    rows = printed[(printed["prompt"] == "biased") == biased].dropna(subset=[metric])
    if rows.empty:
        raise KatayoriError(f"no {metric} {'under' if biased else 'outside'} the biased persona")
    if missing := [group for group in groups if group not in set(rows["group"])]:
        there = ", ".join(sorted(rows["group"].fillna("unknown").unique()))
        raise KatayoriError(f"no answers of {' or '.join(missing)} models, only {there} ones")
    return rows


def _groups(printed: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Lowest, mean and highest score of either group: category x prompt but the biased one."""
    cells = _rows(printed, metric, groups=GROUPS).pivot_table(
        index=["category", "prompt"],
        columns="group",
        values=metric,
        aggfunc=["min", "mean", "max"],
    )
    cells = cells.dropna(subset=[("mean", group) for group in GROUPS])
    if cells.empty:
        raise KatayoriError("global and Japanese models share no category and prompt")
    return cells


def _count(printed: pd.DataFrame, holding: Any, least: float, *caveats: str) -> tuple[str, str]:
    """Holds if more than the share `least` of the cells do (1: all of them).

    `holding` is a series of truth values by cell; exceptions are named.
    """
    n = int(holding.sum())
    exceptions = ["/".join(map(str, cell)) for cell in holding.index[~holding]]
    detail = f"{n} of {len(holding)} cells"
    if exceptions:
        detail += f"; not in {', '.join(exceptions)}"
    if caveats and printed.attrs.get("published"):
        detail += f"; caveats {', '.join(caveats)}"
    return verdict_of(n == len(holding) or n > least * len(holding), detail)


def _change(printed: pd.DataFrame, metric: str) -> "pd.Series[float]":
    """Model x category: the biased persona minus basicP, or minus the mean of the other prompts."""
    others = _rows(printed, metric)
    basic = _by_category(others[others["prompt"] == "basicP"], metric)
    base = basic.combine_first(_by_category(others, metric))
    biased = _by_category(_rows(printed, metric, biased=True), metric)
    change = (biased - base).dropna()
    if change.empty:
        raise KatayoriError("no model has the biased persona and another prompt in one category")
    return change


def _by_category(rows: pd.DataFrame, metric: str) -> "pd.Series[float]":
    return rows.groupby(["model", "category"], sort=False)[metric].mean()


# --- answers ------------------------------------------------------------------------------------


def _places(evidence: TemplateSums, *groups: str) -> list[np.ndarray]:
    """The places of the models of each group; KatayoriError where there is none."""
    places = [evidence.of_groups(group) for group in groups]
    if missing := [group for group, own in zip(groups, places, strict=True) if not len(own)]:
        there = ", ".join(sorted({group or "unknown" for group in evidence.groups}))
        raise KatayoriError(f"no answers of {' or '.join(missing)} models, only {there} ones")
    return places


def _outside(evidence: TemplateSums, score: str) -> tuple[Estimates, list[str]]:
    """A score under every prompt but the biased persona, and the names of these prompts."""
    prompts = evidence.places(biased=False)
    if not len(prompts):
        raise KatayoriError(f"no {score} outside the biased persona")
    scores = persona_sums.estimates(evidence, score).at(slice(None), prompts)
    return scores, [evidence.prompts[prompt] for prompt in prompts]


def _vote(cells: Cells, least: float, what: str, *, margin: float = 0.0) -> tuple[str, str]:
    """The verdict on "above -margin in more than the share `least` of the cells" (1: in all).

    `what` says in words what the cells measure.
    """
    n = len(cells.value)
    if not np.isfinite(cells.se).any():
        if not n:
            raise KatayoriError("no score is defined in the cells that the claim is about")
        raise KatayoriError(f"none of {n} cells has an interval: few templates, or no variation")
    low, _ = cells.ends()
    # One cell of many is beyond its interval by chance; where one decides, all are widened.
    _, high = cells.ends(0.95 if least < 1 else 1 - 0.05 / n)
    shown = low > -margin
    against = high < -margin
    detail = f"shown in {shown.sum()} of {n} cells"
    detail += f"; the opposite in {against.sum()}{_listed(cells, against)}"
    detail += f"; {what}: mean {100 * cells.value.mean():+.1f} points"
    if shown.sum() == n or shown.sum() > least * n:
        return HOLDS, detail
    if against.any() and (least == 1 or against.sum() >= least * n):
        return CONTRADICTED, detail
    if margin:
        return NOT_TOLD, detail
    sizes = cells.se * (t.ppf(0.975, cells.clusters - 1) + t.ppf(0.8, cells.clusters - 1))
    return NOT_FOUND, f"{detail}; detectable in a cell (median): {100 * np.nanmedian(sizes):.1f}"


def _listed(cells: Cells, which: np.ndarray) -> str:
    names = [name for name, chosen in zip(cells.names, which, strict=True) if chosen]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f" ({', '.join(names[:NAMED])}{more})" if names else ""


def _all_below(evidence: TemplateSums, score: str) -> tuple[str, str]:
    """Every Japanese model below every global one, pair by pair."""
    world, japan = _places(evidence, *GROUPS)
    scores, prompts = _outside(evidence, score)
    apart = scores.at(world[:, None]).minus(scores.at(japan))
    heads = [
        f"{evidence.models[j]} and {evidence.models[g]}/{prompt}"
        for g in world
        for j in japan
        for prompt in prompts
    ]
    what = f"{score} of the global less the Japanese model"
    return _vote(persona_sums.cells(evidence, apart.flat(), heads), 1, what)


def _change_of(evidence: TemplateSums, score: str) -> Cells:
    """Model x category: the biased persona less basicP, or less the mean of the other prompts.

    Of accuracy the fall, of bias the rise.
    """
    biased = evidence.places(biased=True)
    if not len(biased):
        raise KatayoriError(f"no {score} under the biased persona")
    scores, prompts = _outside(evidence, score)
    if "basicP" in prompts:
        before = scores.at(slice(None), prompts.index("basicP"))
    else:
        before = scores.mean(axis=1)
    after = persona_sums.estimates(evidence, score).at(slice(None), biased[0])
    change = before.minus(after) if score == "acc_amb" else after.minus(before)
    return persona_sums.cells(evidence, change, list(evidence.models))


# --- the claims ---------------------------------------------------------------------------------


def global_models_keep_accuracy(evidence: Evidence) -> tuple[str, str]:
    """Outside the biased persona, global models keep Acc_a high (90 points or more) in most cells
    (sec 4.1).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> global_models_keep_accuracy(examples.printed())
        ('holds', '14 of 14 cells; caveats PJ-c6')
        >>> global_models_keep_accuracy(examples.evidence())[0]
        'not told (interval wider than the margin)'
    """
    if isinstance(evidence, TemplateSums):
        return _kept(evidence)
    rows = _rows(evidence, "acc_amb", groups=GROUPS[:1])
    rows = rows[rows["group"] == "global"].set_index(["model", "category", "prompt"])
    return _count(evidence, rows["acc_amb"] >= HIGH, 0.5, "PJ-c6")


def japanese_models_lower_ambiguous(evidence: Evidence) -> tuple[str, str]:
    """Outside the biased persona, every Japanese model is below every global one in Acc_a, in every
    cell (sec 4.1).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> japanese_models_lower_ambiguous(examples.printed())
        ('holds', '7 of 7 cells; caveats PJ-c6')
        >>> japanese_models_lower_ambiguous(examples.evidence())[0]
        'holds'
    """
    if isinstance(evidence, TemplateSums):
        return _all_below(evidence, "acc_amb")
    cells = _groups(evidence, "acc_amb")
    return _count(evidence, cells["max", "japanese"] < cells["min", "global"], 1, "PJ-c6")


def japanese_models_lower_disambiguated(evidence: Evidence) -> tuple[str, str]:
    """Outside the biased persona, every Japanese model is below every global one in Acc_d, in every
    cell (sec 4.1).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> japanese_models_lower_disambiguated(examples.printed())
        ('holds', '7 of 7 cells; caveats PJ-c6')
        >>> japanese_models_lower_disambiguated(examples.evidence())[0]
        'not found'
    """
    if isinstance(evidence, TemplateSums):
        return _all_below(evidence, "acc_dis")
    cells = _groups(evidence, "acc_dis")
    return _count(evidence, cells["max", "japanese"] < cells["min", "global"], 1, "PJ-c6")


def specialising_does_not_lower_bias(evidence: Evidence) -> tuple[str, str]:
    """Outside the biased persona, Japanese models' mean Diff_a is nowhere below the global models'
    (sec 5.1).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> specialising_does_not_lower_bias(examples.printed())
        ('holds', '7 of 7 cells; caveats PJ-c6')
        >>> specialising_does_not_lower_bias(examples.evidence())[0]
        'not told (interval wider than the margin)'
    """
    if isinstance(evidence, TemplateSums):
        world, japan = _places(evidence, *GROUPS)
        scores, prompts = _outside(evidence, "diff_amb")
        apart = scores.at(japan).mean(axis=0).minus(scores.at(world).mean(axis=0))
        what = f"Japanese less global, margin {100 * MARGIN:g} points"
        return _vote(persona_sums.cells(evidence, apart, prompts), 1, what, margin=MARGIN)
    cells = _groups(evidence, "diff_amb")
    return _count(evidence, cells["mean", "japanese"] >= cells["mean", "global"], 1, "PJ-c6")


def larger_japanese_model_less_biased(evidence: Evidence) -> tuple[str, str]:
    """The largest Japanese model has a lower Diff_a than the smallest one in most cells (sec
    5.1).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> larger_japanese_model_less_biased(examples.printed())
        ('holds', '7 of 10 cells; not in ...; caveats PJ-c4')
        >>> larger_japanese_model_less_biased(examples.evidence())[0]
        'holds'
    """
    if isinstance(evidence, TemplateSums):
        return _larger_less(evidence)
    rows = evidence[evidence["group"] == "japanese"].dropna(subset=["diff_amb", "size_b"])
    if rows["size_b"].nunique() < 2:
        raise KatayoriError("needs answers of two Japanese models of different, known size")
    cells = rows.pivot_table(index=["category", "prompt"], columns="size_b", values="diff_amb")
    smallest, largest = cells.columns.min(), cells.columns.max()
    both = cells.dropna(subset=[smallest, largest])
    if both.empty:
        raise KatayoriError(
            "the largest and the smallest Japanese model share no category and prompt"
        )
    return _count(evidence, both[largest] < both[smallest], 0.5, "PJ-c4")


def accuracy_falls_under_bias(evidence: Evidence) -> tuple[str, str]:
    """Under the biased persona Acc_a falls in most cells: bias is held back rather than absent (sec
    4.2, 5.2).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> accuracy_falls_under_bias(examples.printed())
        ('holds', '11 of 12 cells; not in rinna-3.6b-INST/gender; caveats PJ-c2, PJ-c3')
        >>> accuracy_falls_under_bias(examples.evidence())[0]
        'not found'
    """
    if isinstance(evidence, TemplateSums):
        return _vote(_change_of(evidence, "acc_amb"), 0.5, "fall of Acc_a")
    return _count(evidence, _change(evidence, "acc_amb") < 0, 0.5, "PJ-c2", "PJ-c3")


def bias_rises_under_bias(evidence: Evidence) -> tuple[str, str]:
    """Our addition: under the biased persona Diff_a rises for every model in every category.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> bias_rises_under_bias(examples.printed())
        ('holds', '12 of 12 cells; caveats PJ-c1; highest +31.3 points, ...')
        >>> bias_rises_under_bias(examples.evidence())[0]
        'not found'
    """
    if isinstance(evidence, TemplateSums):
        return _vote(_change_of(evidence, "diff_amb"), 1, "rise of Diff_a")
    verdict, detail = _count(evidence, _change(evidence, "diff_amb") > 0, 1, "PJ-c1")
    top = _rows(evidence, "diff_amb", biased=True).nlargest(1, "diff_amb").iloc[0]
    highest = f"{100 * top['diff_amb']:+.1f} points, {top['model']}/{top['category']}"
    return verdict, f"{detail}; highest {highest}"


def answers_lean_to_the_stereotype(evidence: Evidence) -> tuple[str, str]:
    """Our addition: outside the biased persona answers lean to the stereotype (Diff_a above 0) in
    most cells.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> answers_lean_to_the_stereotype(examples.printed())
        ('holds', '26 of 28 cells; not in ...; caveats PJ-c6')
        >>> answers_lean_to_the_stereotype(examples.evidence())[0]
        'not found'
    """
    if isinstance(evidence, TemplateSums):
        scores, prompts = _outside(evidence, "diff_amb")
        heads = [f"{model}/{prompt}" for model in evidence.models for prompt in prompts]
        return _vote(persona_sums.cells(evidence, scores.flat(), heads), 0.5, "Diff_a")
    rows = _rows(evidence, "diff_amb").set_index(["model", "category", "prompt"])
    return _count(evidence, rows["diff_amb"] > 0, 0.5, "PJ-c6")


def _kept(evidence: TemplateSums) -> tuple[str, str]:
    """Acc_a of global models at or above `HIGH`, by the interval of each cell's share."""
    (world,) = _places(evidence, "global")
    holding = 0
    below = []
    cells = list(_ambiguous_cells(evidence, world, evidence.places(biased=False)))
    for name, correct, asked in cells:
        share = share_interval(correct.tolist(), asked.tolist())
        holding += share["ci_low"] >= HIGH
        if share["ci_high"] < HIGH:
            below.append(name)
    if not cells:
        raise KatayoriError("no acc_amb outside the biased persona")
    counts = f"{holding} of {len(cells)} intervals lie at {100 * HIGH:g} points or above"
    named = f" ({', '.join(below[:NAMED])})" if below else ""
    detail = f"{counts}, {len(below)} below{named}"
    if holding > len(cells) / 2:
        return HOLDS, detail
    return (CONTRADICTED if len(below) >= len(cells) / 2 else NOT_TOLD), detail


def _ambiguous_cells(
    evidence: TemplateSums, models: np.ndarray, prompts: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Of every cell that was asked: its name, and by template correct answers and all answers."""
    places = itertools.product(models, prompts, range(len(evidence.categories)))
    for model, prompt, category in places:
        templates = evidence.of_template == category
        asked = evidence.total("n_amb")[model, prompt, templates]
        correct = evidence.total("right_amb")[model, prompt, templates]
        if asked.sum():
            names = evidence.models[model], evidence.prompts[prompt], evidence.categories[category]
            yield "/".join(names), correct, asked


def _larger_less(evidence: TemplateSums) -> tuple[str, str]:
    """The smallest Japanese model less the largest one, in Diff_a."""
    (japan,) = _places(evidence, "japanese")
    sized = [place for place in japan if np.isfinite(evidence.sizes[place])]
    if len({evidence.sizes[place] for place in sized}) < 2:
        raise KatayoriError("needs answers of two Japanese models of different, known size")
    smallest = min(sized, key=evidence.sizes.__getitem__)
    largest = max(sized, key=evidence.sizes.__getitem__)
    scores = persona_sums.estimates(evidence, "diff_amb")
    apart = scores.at(smallest).minus(scores.at(largest))
    what = f"{evidence.models[smallest]} less {evidence.models[largest]}"
    return _vote(persona_sums.cells(evidence, apart, list(evidence.prompts)), 0.5, what)


def _exchanging(*groups: str) -> Callable[[Any, np.random.Generator], Any]:
    def draw(evidence: Any, rng: np.random.Generator) -> Any:
        return persona_sums.models_exchanged(evidence, rng, *groups)

    return draw


#: Null draws, for answers only; printed figures are checked with `draws=0`.
BY_SIDE = Null("target and non-target, by template", persona_sums.sides_exchanged)
BY_PROMPT = Null("prompts, by template", persona_sums.prompts_exchanged)
BY_MODEL = Null("global and Japanese models, by template", _exchanging(*GROUPS))
BY_SIZE = Null("Japanese models, by template", _exchanging("japanese"))

CLAIMS: list[Claim] = [
    *claims_of("PJ-22", global_models_keep_accuracy),
    *claims_of(
        "PJ-22",
        japanese_models_lower_ambiguous,
        japanese_models_lower_disambiguated,
        null=BY_MODEL,
    ),
    *claims_of("PJ-22", specialising_does_not_lower_bias),
    *claims_of("PJ-22", larger_japanese_model_less_biased, null=BY_SIZE),
    *claims_of("PJ-22", accuracy_falls_under_bias, bias_rises_under_bias, null=BY_PROMPT),
    *claims_of("PJ-22", answers_lean_to_the_stereotype, null=BY_SIDE),
]


# --- reasons written first (PJ-9) ---------------------------------------------------------------


@dataclass(frozen=True)
class Reasons:
    """Answers in one step and in two, and how many first turns hold no reasons.

    sums: prompts (one step, two steps), one category for all; turns and bare: of each model the
    number of first turns and of those that only name an option (`qa_tests.first_turns`).
    """

    sums: TemplateSums
    turns: dict[str, int]
    bare: dict[str, int]


def reasons_of(frame: Any, first_turns: Any, one_step: str, two_steps: str) -> Reasons:
    """The evidence for `reasoning_claims`.

    Args:
        frame: of `qa_bias.with_role`, with the answers to both prompts.
        first_turns: of `qa_tests.first_turns`.
        one_step, two_steps: their prompt ids.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> answered = examples.answers_with_roles("sim-bbq-stereotyped")
        >>> turns = pd.DataFrame({"model": ["sim-bbq-stereotyped"], "n": 300, "without_reasons": 4})
        >>> evidence = reasons_of(answered, turns, "pj_basic_ja", "pj_biased_ja")
        >>> evidence.sums.prompts, evidence.sums.categories, evidence.bare
        (('pj_basic_ja', 'pj_biased_ja'), ('all',), {'sim-bbq-stereotyped': 4})
    """
    both = frame[frame["prompt_id"].isin([one_step, two_steps])]
    both = both.assign(prompt=both["prompt_id"], category="all")
    sums = persona_sums.from_answers(
        both.sort_values("prompt_id", key=lambda p: p != one_step), {}, {}
    )
    table = first_turns.set_index("model")
    return Reasons(sums, table["n"].to_dict(), table["without_reasons"].to_dict())


def reasoning_claims(models: Iterable[str]) -> list[Claim]:
    """Our addition: whether reasons written first change a score, a claim a model.

    The checks take `Reasons`. Where half of the first turns or more hold no reasons, they raise
    KatayoriError: the claim is not tested.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> (claim,) = reasoning_claims(["sim-bbq-stereotyped"])
        >>> claim.check(examples.reasons(bare=12))[0]
        'holds'
        >>> claim.check(examples.reasons(bare=700))
        Traceback (most recent call last):
        katayori.errors.KatayoriError: 700 of 900 first turns only name an option: ...
    """
    null = Null("one step and two, by template", _steps_exchanged)
    return [
        Claim(
            "PJ-9",
            f"Our addition: reasons written first change one of the four scores of {model}",
            partial(_reasons_change, model=model),
            null,
        )
        for model in models
    ]


def _steps_exchanged(evidence: Reasons, rng: np.random.Generator) -> Reasons:
    return replace(evidence, sums=persona_sums.prompts_exchanged(evidence.sums, rng))


def _reasons_change(evidence: Reasons, model: str) -> tuple[str, str]:
    turns, bare = evidence.turns[model], evidence.bare[model]
    counted = f"{bare} of {turns} first turns only name an option"
    if 2 * bare >= turns:
        raise KatayoriError(f"{counted}: the condition, reasons first, was not realised")
    place = evidence.sums.models.index(model)
    n_scores = len(persona_sums.SCORES)
    level = 1 - 0.05 / n_scores  # Bonferroni, since any of the scores would do
    texts, outside, effects = [], [], []
    for score in persona_sums.SCORES:
        one_step, two_steps = (
            persona_sums.estimates(evidence.sums, score).at(place, step) for step in (0, 1)
        )
        change = persona_sums.cells(evidence.sums, two_steps.minus(one_step), [score])
        low, high = (100 * end for end in change.ends(level))
        if np.isfinite(low).any():
            texts.append(f"{score} {100 * change.value[0]:+.1f} [{low[0]:+.1f}, {high[0]:+.1f}]")
            outside.append(low[0] > 0 or high[0] < 0)
            effects.append(detectable_effect(change.se[0], int(change.clusters[0]), level=level))
    if not texts:
        raise KatayoriError("no score has an interval: few templates, or no variation")
    detail = f"{', '.join(texts)} points (Bonferroni over {n_scores} scores); {counted}"
    if any(outside):
        return HOLDS, detail
    smallest = 100 * min(effects)
    return NOT_FOUND, f"{detail}; detectable in four of five studies: from {smallest:.1f} points"


def from_published(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The evidence the paper prints, from its tables in data/published/persona_jbbq by name.

    Sizes are read off the models' full names. Details of the checks then name the caveats of
    data/published.

    Example:
        >>> from katayori.data import published
        >>> names = published.names("persona_jbbq")
        >>> printed = from_published({name: published.load("persona_jbbq", name) for name in names})
        >>> printed.groupby("model")["size_b"].max().dropna().to_dict()
        {'SWL2-70B-INST': 70.0, 'rinna-3.6b-INST': 3.6}
        >>> round(float(printed.loc[0, "acc_amb"]), 3)  # a share; the paper prints 99.7
        0.997
    """
    models = tables["models"].set_index("model")
    size = models["full_name"].str.extract(r"-(\d+(?:\.\d+)?)b", expand=False).astype(float)
    printed = tables["results"].copy()
    for score in printed:
        if str(score).startswith(("acc_", "diff_")):
            printed[score] = printed[score] / 100
    printed["group"] = printed["model"].map(models["group"])
    printed["size_b"] = printed["model"].map(size)
    printed.attrs["published"] = True
    return printed

"""How sure a score is after a pilot, and which design would make it as sure as is wanted.

`make estimate` says it in a line a model and paper, on the answers that the store holds already.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from katayori import profiles
from katayori.errors import UnavailableError
from katayori.metrics.components import FEW_LEVELS, components, predict
from katayori.metrics.verdicts import BOUND_ABOVE, gates
from katayori.papers import get_paper
from katayori.profiles import MOST
from katayori.study import Study
from katayori_tools import inputs, papers
from katayori_tools.choices import Asking
from katayori_tools.papers import Measured

#: Levels of the first facet that a pilot should have, and that a design has at least: below, no
#: interval can be relied on.
PILOT = 10
#: More levels of the first facet than anybody will ask.
NEVER = 100_000
#: Said of a paper without a score to plan with.
NO_MEAN = (
    "a pilot tells nothing here: a gap is the largest difference between levels, no mean over what"
    " is asked"
)

_Counts = Mapping[str, int]


def measured() -> dict[str, Measured]:
    """What is measured of each paper that one design of facets fits.

    Decisions about persons (01) have none (see `NO_MEAN`).

    Example:
        >>> from katayori.papers import paper_ids
        >>> set(measured()) < set(paper_ids())
        True
    """
    return papers.collected("asked", "MEASURED")


def pilot(
    paper: str, name: str, prompts: Sequence[str], chosen: Asking
) -> tuple[pd.DataFrame, int] | None:
    """The answers of a model to all items and orders of a paper that are there, and how many levels
    of the first facet the items have; None without any answer.

    Args:
        paper: its id. name: the model as it was given. prompts: ids of those that are asked.
        chosen: profile, wording and the user's own items.
    """
    of = measured()[paper]
    own: dict[str, Any] = inputs.own_items(chosen.own).of(paper)
    if (
        "orders" in get_paper(paper).own_files
        and profiles.load(chosen.profile)["answers"] == "live"
    ):
        own = {"orders": "all"} | own
    counting = of.prompts or tuple(prompts)
    kept = [prompt for prompt in prompts if prompt in counting]
    if not kept:
        return None
    own |= {"profile": chosen.profile, "prompts": chosen.prompts, "limit": MOST}
    try:
        study = Study(paper, models=[name], asked=kept, **own)
        answers = pd.concat([study.answers(prompt) for prompt in kept], ignore_index=True)
    except UnavailableError:
        return None
    answers = answers[answers["outcome"] != "error"]  # not asked yet, or to be asked again
    if answers.empty:
        return None
    items = of.value(study.items.assign(answer=None))
    return answers.reset_index(drop=True), items[next(iter(of.facets))].nunique()


def advice(answers: pd.DataFrame, of: Measured, target: float, there: int) -> str:
    """In one line how sure the score is, and the design that makes it as sure as wanted.

    Args:
        answers: of one model. of: what is measured. target: half of the 95 % interval, in points.
        there: how many levels of the first facet the items have.
    """
    counted = of.value(answers)
    first, words = next(iter(of.facets)), of.facets
    few = f"{words[first]} answered in full are too few to say; ask at least LIMIT={PILOT}"
    if counted.empty:
        return f"0 {few}"
    counted, bound = _without_bound(counted, of)
    if counted.empty:
        return f"{bound}: it answers by position, of which more answers would tell no more"
    facets = list(_crossed(counted, of))
    fixed = [facet for facet in facets if facet in of.complete]
    table = components(counted, value="value", facets=facets, fixed=fixed)
    n, left_out = table["clusters"].iloc[0], table["left_out"].iloc[0]
    if n < FEW_LEVELS <= n + left_out:
        lacking = f"{left_out} of {n + left_out} {words[first]} lack a readable answer"
        others = _in_words({facet: counted[facet].nunique() for facet in facets[1:]}, words)
        return f"{lacking}{f' in some cell of {others}' if others else ''}; too few are left"
    if n < FEW_LEVELS:
        return f"{n} {few}"
    now = predict(table, [{}])
    if now["status"].iloc[0] == "no_variation":
        return f"{of.name}: all answers alike, no spread to plan with"
    if not now["half_width"].iloc[0] > 0:
        same = f"all {words[first]} have the same mean, as of answers by position"
        return f"{of.name}: {same}; no spread to plan with"
    asked = {facet: int(now[facet].iloc[0]) for facet in facets}
    ones = [words[facet].removesuffix("s") for facet in of.complete if facet not in facets]
    told = (
        f"{of.name} +-{100 * now['half_width'].iloc[0]:.1f} points now ({_in_words(asked, words)}"
    )
    told += "".join(f", in one {one}" for one in ones)
    told += f"; {bound}, left out" if bound else ""
    told += f"; {left_out} left out, which lack answers)" if left_out else ")"
    told += f"; for +-{target:g} points: "
    design = smallest(table, asked, target)
    if design:
        how_sure = _how_sure(table, design, fixed, words)
        return told + _in_words(design, words) + how_sure + _beyond(design, words, there)
    best = _range(table, {first: NEVER})
    # Prompts differ too much, or so it seems: what is left is the score under these prompts.
    table = components(counted, value="value", facets=facets, fixed=facets[1:])
    design = smallest(table, asked, target)
    told += _out_of_reach(best, asked, fixed, words, design)
    return told + (_beyond(design, words, there) if design else "")


def _without_bound(counted: pd.DataFrame, of: Measured) -> tuple[pd.DataFrame, str]:
    """The answers without those to prompts that are answered by position, and how many these are.

    Prompts are looked at one by one: of two that are answered A and B nothing would be seen.
    """
    by = [facet for facet, word in of.facets.items() if word == "prompts"]
    found = gates(counted, factors=["answer"], by=by)
    bound = found[found["bound_share"] > BOUND_ABOVE]
    if bound.empty:
        return counted, ""
    least = bound["bound_share"].min()
    share = f"{least:.0%}" if round(least, 2) > BOUND_ABOVE else f"{least:.1%}"
    told = f"{share} and more of the answers are one letter or number"
    told += f" in {len(bound)} of {len(found)} prompts"
    if not by:
        return counted.head(0), told
    return counted[~counted[by[0]].isin(bound[by[0]])], told


def _crossed(counted: pd.DataFrame, of: Measured) -> Iterator[str]:
    """The facets with several levels; complete ones where all their levels were asked."""
    first = next(iter(of.facets))
    for facet in of.facets:
        levels = counted[facet].nunique()
        each = counted.groupby(first)[facet].nunique().max()
        if facet == first or (levels > 1 and (facet not in of.complete or each == levels)):
            yield facet


def _in_words(counts: _Counts, words: Mapping[str, str]) -> str:
    """A design as it is read."""
    return " x ".join(
        f"{count} {words[facet] if count > 1 else words[facet].removesuffix('s')}"
        for facet, count in counts.items()
    )


def _half_width(table: pd.DataFrame, design: _Counts) -> float:
    """Half of the 95 % interval of a design, in points; NaN where nothing can be said."""
    return 100 * float(predict(table, [design])["half_width"].iloc[0])


def smallest(table: pd.DataFrame, asked: _Counts, target: float) -> dict[str, int] | None:
    """The design with the fewest requests that reaches the target; None where none does.

    Of the first facet there may be any number from `PILOT` on. The other facets keep their levels:
    `make live` asks every prompt of a paper, and of the orders one or all.

    Args:
        table: of `components`. asked: levels of each facet in it.
        target: half of the 95 % interval, in points.
    """
    first = next(iter(asked))
    low, high = PILOT - 1, NEVER  # by halving
    if not _half_width(table, {first: high}) <= target:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = _half_width(table, {first: middle}) <= target
        low, high = (low, middle) if enough else (middle, high)
    return dict(asked) | {first: high}


def _range(table: pd.DataFrame, design: _Counts) -> str:
    """The half width of a design, and between what it lies, as far as the pilot tells."""
    [told] = predict(table, [design]).to_dict("records")
    quantile = 100 * told["half_width"] / told["value"] if told["value"] else 0.0
    reached, low, high = (quantile * told[end] for end in ("value", "se_low", "se_high"))
    return f"+-{reached:.1f}; {low:.1f} to {high:.1f} as far as this pilot tells"


def _beyond(design: _Counts, words: Mapping[str, str], there: int) -> str:
    """That a design has more levels of the first facet than the items have, where it does."""
    first = next(iter(design))
    if design[first] <= there:
        return ""
    return f"; there are {there} {words[first]} here, more need items of your own"


def _how_sure(
    table: pd.DataFrame, design: _Counts, fixed: Sequence[str], words: Mapping[str, str]
) -> str:
    """How sure a design is, as far as the pilot tells, and whether more prompts would help."""
    out, reached = f" ({_range(table, design)})", _half_width(table, design)
    for facet in [one for one in list(design)[1:] if one not in fixed]:
        more = _half_width(table, dict(design) | {facet: 2 * design[facet]})
        if more > 0.9 * reached:
            out += f"; more {words[facet]} would not help"
        elif more > 0:
            out += f"; twice the {words[facet]}: +-{more:.1f}"
    return out


def _out_of_reach(
    best: str,
    asked: _Counts,
    fixed: Sequence[str],
    words: Mapping[str, str],
    alone: _Counts | None,
) -> str:
    """What is said where no design is sure enough for prompts drawn anew; `alone`: for these."""
    first, *others = asked
    told = _in_words(alone, words) if alone else f"more than {NEVER:,} {words[first]}"
    random = [facet for facet in others if facet not in fixed]
    if not random:
        return told
    given = " and ".join(f"these {asked[facet]} {words[facet]}" for facet in random)
    kinds = " and ".join(words[facet] for facet in random)
    out = f"no number of {words[first]} is enough for new {kinds} with {given} (at best {best})"
    return f"{out}; for {given} alone {told}"

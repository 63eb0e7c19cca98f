"""Beside published figures, the paper's claims as checks, and one claim under many readings."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.data import published
from katayori.metrics import multiverse
from katayori.papers.claims import check_claims
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import claims, readings
from katayori.papers.logprob_judge.analysis.agreement import Agreement
from katayori.papers.logprob_judge.analysis.asked import (
    KINDS,
    PAPER,
    TWO_TURNS,
    Asked,
    with_status,
)
from katayori.papers.logprob_judge.analysis.people import People
from katayori.papers.logprob_judge.analysis.returned import Returned
from katayori.papers.logprob_judge.analysis.steadiness import Steadiness

METHODS = ["BS1", "BS2", "proposed"]
POINTS = ["value", "ci_low", "ci_high"]
#: The simulated judge that chooses the first answer, whatever it says.
SEES_THE_PLACE = "sim-judge-first"


@dataclass(frozen=True)
class Verdicts:
    """What is compared with the paper.

    Attributes:
        printed: the paper's shares by criteria, output_style and task, with prompt (the kind).
        recount: the paper's own counts where its orders agree and where they differ.
        on_published: claims on its figures. on_ours: judge -> claims on its verdicts.
        in_two_turns: judge -> claims about reasons, given in a turn of their own.
        summary: `multiverse.summaries` of the judges shown. universes: (model, claim) -> readings.
    """

    printed: pd.DataFrame
    recount: pd.DataFrame
    on_published: pd.DataFrame
    on_ours: dict[str, pd.DataFrame]
    in_two_turns: dict[str, pd.DataFrame]
    summary: pd.DataFrame
    universes: dict[tuple[str, str], Any]


@dataclass(frozen=True)
class Measured:
    """What earlier rooms measured, as the verdicts need it."""

    back: Returned
    agreeing: Agreement
    steady: Steadiness
    people: People


def verdicts(asked: Asked, keep: Keeper, measured: Measured) -> Verdicts:
    """Claims on print and on answers, and the tables that stand beside the paper's.

    Args:
        asked: the verdicts of a run. keep: takes tables and results. measured: earlier rooms.

    Example:
        >>> from katayori.papers.logprob_judge.examples import analysis_leaning
        >>> compared = analysis_leaning().verdicts
        >>> len(compared.on_published), list(compared.on_ours)
        (5, ['sim-judge-leaning'])
    """
    _table_1(asked, keep, measured.people)
    theirs = _printed_cells()
    ours = _own_cells(asked, measured)
    _beside(asked, keep, theirs, ours)
    keep.table("table_2", _side(asked, theirs, ours, METHODS, ["prompt", "method"]))
    keep.table("table_3", _side(asked, theirs, ours, ["robustness"], ["prompt"]))
    recount = published.load("derived", "logprob_judge_counts").query("task == 'all'")
    recount = keep.table("recount", recount.drop(columns=["task", "locator"]))
    names = published.names(PAPER)
    paper = claims.from_published({name: published.load(PAPER, name) for name in names})
    # Printed figures have no draws.
    on_published = check_claims(claims.PRINTED, paper, draws=0)
    on_published = keep.claims(on_published, source="published")
    summary, universes = _multiverse(asked, keep, measured.steady.scaled)
    kinds = [KINDS[key] for key in zip(paper["criteria"], paper["output_style"], strict=True)]
    return Verdicts(
        printed=paper.assign(prompt=kinds),
        recount=recount.assign(prompt=_kinds(recount)),
        on_published=on_published,
        on_ours={model: _on_ours(asked, keep, measured, model) for model in asked.focus},
        in_two_turns=_in_two_turns(asked, keep, measured),
        summary=summary,
        universes=universes,
    )


def _kinds(rows: pd.DataFrame) -> list[str]:
    return [KINDS[key] for key in zip(rows["criteria"], rows["output_style"], strict=True)]


def _table_1(asked: Asked, keep: Keeper, people: People) -> None:
    """The paper's kappas, and those of the people here."""
    kappas = published.load(PAPER, "kappa")
    kappas = kappas.assign(note=published.footnotes(PAPER, "kappa", kappas))
    kappas = kappas.drop(columns="locator")
    if len(asked.people) > 1:
        fleiss = people.between[people.between["measure"] == "fleiss_kappa"]
        kappas[asked.study.dataset] = kappas["task"].map(fleiss.set_index("task")["value"])
    keep.table("table_1", kappas)


def _printed_cells() -> pd.DataFrame:
    """Tables 2 and 3 as printed: prompt, method, task, value, note."""
    parts = []
    for name in ("concordance", "robustness"):
        rows = published.load(PAPER, name)
        note = published.footnotes(PAPER, name, rows)
        parts.append(rows.assign(value=rows[f"{name}_pct"], note=note))
    of_methods, steady = parts
    both = pd.concat([of_methods, steady.assign(method="robustness")], ignore_index=True)
    return both.assign(prompt=_kinds(both))


def _own_cells(asked: Asked, measured: Measured) -> pd.DataFrame:
    steady = measured.steady.robustness.assign(method="robustness")
    both = pd.concat([measured.agreeing.methods, steady])
    both = with_status(both[both["model"].isin(asked.focus)])
    return both.assign(**{name: 100 * both[name] for name in POINTS})


def _beside(asked: Asked, keep: Keeper, theirs: pd.DataFrame, ours: pd.DataFrame) -> None:
    columns = ["model", "source", "prompt_id", "prompt", "method", "task", *POINTS]
    columns += ["n", "clusters", "n_invalid", "status"]
    cell = ["prompt", "method", "task"]
    printed = theirs[[*cell, "value", "note"]].rename(columns={"value": "published"})
    side = ours[columns].merge(printed, on=cell)
    side = published.beside(side, same_data=False, same_model=False)
    keep.table("beside_published", side)
    what = "ours beside Tables 2 and 3"
    kept = side.drop(columns="note")
    keep.rows(kept, "LJ-21", what, cell=cell, unit="points", **asked.of_set)


def _side(
    asked: Asked,
    theirs: pd.DataFrame,
    ours: pd.DataFrame,
    methods: list[str],
    columns: list[str],
) -> pd.DataFrame:
    """In the paper's layout: the printed cell, and those of the judges here behind a bar."""
    rows = theirs[theirs["method"].isin(methods) & theirs["task"].isin(asked.cells)].copy()
    both = zip(rows["value"], rows["note"], strict=True)
    rows["text"] = [f"{value:.1f}{'†' if note else ''}" for value, note in both]
    cell = ["prompt", "method", "task"]
    for model in asked.focus:
        known = ours[ours["model"] == model].set_index(cell)["value"].dropna()
        keys = zip(*(rows[name] for name in cell), strict=True)
        rows["text"] += [f" | {known[key]:.1f}" if key in known else " | —" for key in keys]
    wide = rows.pivot_table("text", columns, "task", aggfunc="first", sort=False)
    notes = rows.groupby(columns)["note"].agg(lambda ids: ", ".join(sorted(set(ids) - {""})))
    return wide.assign(note=notes)


def _on_ours(asked: Asked, keep: Keeper, measured: Measured, model: str) -> pd.DataFrame:
    """The claims on one judge's verdicts; prompts are compared on what all of them share."""
    key_of = {kind: key for key, kind in KINDS.items()}
    kinds = {prompt_id: key_of[kind] for prompt_id, kind in asked.of_paper.items()}
    evidence = _evidence(asked, measured, model, kinds)
    checked = check_claims(claims.CLAIMS, evidence, draws=asked.draws, seed=asked.seed)
    return keep.claims(checked, source=asked.sources[model], model=model, **asked.of_set)


def _in_two_turns(asked: Asked, keep: Keeper, measured: Measured) -> dict[str, pd.DataFrame]:
    """The claims about reasons, where a turn of their own stands for "reasons first"."""
    style_of = {KINDS["no", claims.ALONE]: claims.ALONE, TWO_TURNS: claims.REASONED}
    kinds = {
        prompt_id: ("no", style_of[kind])
        for prompt_id, kind in asked.kinds.items()
        if kind in style_of
    }
    found = {}
    for model in asked.focus:
        of_model = asked.settled.loc[asked.settled["model"] == model, "prompt"]
        if TWO_TURNS not in set(of_model):
            continue
        evidence = _evidence(asked, measured, model, kinds)
        checked = check_claims(claims.ABOUT_REASONS, evidence, draws=asked.draws, seed=asked.seed)
        common = {"model": model, "cell": {"reasons": TWO_TURNS}, **asked.of_set}
        found[model] = keep.claims(checked, source=asked.sources[model], **common)
    return found


def _evidence(
    asked: Asked, measured: Measured, model: str, kinds: dict[str, tuple[str, str]]
) -> claims.Answers:
    """The verdicts of one judge under some prompts (prompt_id -> criteria, output_style)."""
    settled = asked.settled[asked.settled["model"] == model]
    counts = measured.back.reasoned
    reasons = {
        kinds[name]: counts.get((model, asked.kinds[name]), (0, 0))
        for name in settled["prompt_id"].unique()
        if name in kinds
    }
    labelled = asked.comparisons if asked.tasks else asked.comparisons.assign(task="all")
    conditions = {"reasons": reasons, "copied": measured.back.copied(model)}
    settled = settled[settled["prompt_id"].isin(list(kinds))]
    return claims.from_answers(settled, labelled, asked.people, kinds, **conditions)


def _multiverse(
    asked: Asked, keep: Keeper, scaled: pd.DataFrame
) -> tuple[pd.DataFrame, dict[tuple[str, str], Any]]:
    """The claim about averaging under every combination of readings."""
    settled = {"as given": asked.settled, "renormalised": scaled}
    universes = readings.multiverses(settled, asked.people, asked.of_paper)
    curves = multiverse.summaries(universes, asked.sources, seed=asked.seed)
    keep.table("multiverse_summary", curves)
    what = "share of readings under which a claim holds (addition)"
    common = {"cell": ["claim"], "unit": "share of readings", **asked.of_set}
    keep.rows(multiverse.shares_that_hold(curves, asked.sources), "LJ-22", what, **common)
    # Who sees the place alone stands beside: what holds of it, too, holds by construction.
    summary = curves[curves["model"].isin([*asked.focus, SEES_THE_PLACE])]
    own = {key: one for key, one in universes.items() if key[0] in asked.focus}
    keep.table("multiverse", multiverse.together(own))
    return summary, own

"""People: how far they agree with each other, and judges beside them on PandaLM's pairs."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics.share_intervals import share_interval
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import items, judge_tests, letter_prior, pandalm, scores
from katayori.papers.logprob_judge.analysis.asked import Asked, with_status
from katayori.papers.logprob_judge.analysis.planted import Planted

PROMPT = "lj_pandalm_verdict_en"
VICUNA = "Japanese Vicuna QA"
#: Systems of Japanese Vicuna QA whose answers GPT-4 compared with those of text-davinci-003.
SYSTEMS = (
    "cyberagent--calm2-7b-chat",
    "rinna--japanese-gpt-neox-3.6b-instruction-ppo",
    "tokyotech-llm--Swallow-70b-instruct-hf",
)


@dataclass(frozen=True)
class People:
    """Frames about people; those of PandaLM are empty where no judge was recorded beside them.

    Attributes:
        between: `scores.human_agreement`. calls: of recorded judges on PandaLM's pairs.
            agreement: `pandalm.agreement`. decided: `judge_tests.decided_pairs`. divided:
            `letter_prior.before_and_after`, of PandaLM's pairs. few: `pandalm.few_labels`.
        stored: verdicts that others stored, of a run on PandaLM's own files: judge, value, n.
    """

    between: pd.DataFrame
    calls: pd.DataFrame
    agreement: pd.DataFrame
    decided: pd.DataFrame
    divided: pd.DataFrame
    few: pd.DataFrame
    stored: pd.DataFrame


def people(asked: Asked, keep: Keeper, planted: Planted) -> People:
    """How far people agree, and how far judges agree with them.

    Args:
        asked: the verdicts of a run. keep: takes tables and results. planted: simulated judges,
            which stand in for people where there are none.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.planted import planted
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> between = people(asked, Kept(), planted(asked.wording, Kept())).between
        >>> set(between["status"])
        {'one_annotator'}
    """
    between = _between(asked, keep, planted)
    of_others = stored(asked, keep)
    if not asked.own_design:
        calls = pd.DataFrame()
    else:
        calls = pandalm.recorded_verdicts(asked.wording[PROMPT], asked.real)
    if calls.empty:
        nothing = pd.DataFrame()
        return People(between, calls, nothing, nothing, nothing, nothing, of_others)
    settled = scores.judge_verdicts(calls)
    return People(
        between=between,
        calls=calls,
        agreement=_agreement(asked, keep, settled),
        decided=_decided(asked, keep, settled),
        divided=_divided(asked, keep, calls),
        few=_few(asked, keep, settled),
        stored=of_others,
    )


def of_pairs(asked: Asked) -> dict[str, Any]:
    """What all results on PandaLM's pairs share.

    Example:
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> of_pairs(asked_leaning())["source"]
        'recorded'
    """
    return {
        "dataset": pandalm.NAME,
        "source": "recorded",
        "prompt_id": asked.wording[PROMPT].id,
    }


def _between(asked: Asked, keep: Keeper, planted: Planted) -> pd.DataFrame:
    between = scores.human_agreement(asked.study.everything)
    between = between[between["task"].isin(asked.cells)].assign(source="imported")
    between = between.rename(columns={"n_left_out": "n_invalid"})
    common = {"cell": ["task", "measure", "between"], "unit": "coefficient or share"}
    kept = with_status(between)
    keep.rows(kept, "LJ-3", "agreement between people", **common, **asked.of_set)
    if len(asked.people) > 1:
        keep.table("people", between)
        return between
    wide = planted.settled.pivot(index="pair_id", columns="model", values="proposed")
    columns = ["question_id", "task"]
    raters = planted.study.set_index("item_id")[columns].join(wide.astype(object))
    alike = scores.human_agreement(raters, [str(name) for name in wide.columns]).query(
        "task == 'all'"
    )
    alike = alike.assign(source="simulated").rename(columns={"n_left_out": "n_invalid"})
    what = "agreement between simulated judges"
    keep.rows(with_status(alike), "LJ-3", what, dataset=items.study_version(), **common)
    keep.table("simulated_raters", alike)
    return between


def _agreement(asked: Asked, keep: Keeper, settled: pd.DataFrame) -> pd.DataFrame:
    agreeing = keep.table("annotators", pandalm.agreement(settled))
    what = "agreement with three people (addition)"
    common = {"cell": ["method"], "unit": "share", **of_pairs(asked)}
    return keep.rows(agreeing, "LJ-17", what, **common)


def _decided(asked: Asked, keep: Keeper, settled: pd.DataFrame) -> pd.DataFrame:
    decided = keep.table("annotators_decided", judge_tests.decided_pairs(settled, by=["model"]))
    area = decided.rename(columns={"value": "excess", "n": "n_labels"})
    area = area.drop(columns=["ci_low", "ci_high", "status"]).rename(
        columns={"auc": "value", "auc_low": "ci_low", "auc_high": "ci_high", "auc_status": "status"}
    )
    area = area.assign(n=area["n_auc"])
    what = "AUC of the averaged log odds, three people (addition)"
    keep.rows(area, "LJ-19", what, unit="area", **of_pairs(asked))
    return decided


def _divided(asked: Asked, keep: Keeper, calls: pd.DataFrame) -> pd.DataFrame:
    divided = letter_prior.before_and_after(calls, pandalm.labels())
    of_real = asked.log[asked.log["model"].isin(asked.real)]
    here = letter_prior.before_and_after(of_real, asked.comparisons)
    here = here.assign(items=asked.study.dataset)
    both = keep.table("letter_prior", pd.concat([divided.assign(items=pandalm.NAME), here]))
    what = "before and after dividing out the letters (addition)"
    keep.rows(both, "LJ-19", what, cell=["items", "measure", "read"], unit="share")
    return divided


def _few(asked: Asked, keep: Keeper, settled: pd.DataFrame) -> pd.DataFrame:
    few = keep.table("few_labels", pandalm.few_labels(settled, seed=asked.seed))
    what = "win rate from few labels and many verdicts (addition)"
    keep.rows(few, "LJ-19", what, cell=["system"], unit="share", **of_pairs(asked))
    return few


def stored(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Verdicts that others stored: PandaLM-7B's, and GPT-4's in both orders.

    Only a run on PandaLM's own files reads them.

    Args:
        asked: the verdicts of a run. keep: takes tables and results.

    Returns:
        judge (and what of it), value (a share), n; no row in any other run.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> stored(asked_leaning(), Kept()).empty
        True
    """
    if not asked.study.official:
        return pd.DataFrame(columns=["judge", "value", "n"])
    of_pandalm = _pandalm_7b(asked, keep)
    mean = of_pandalm[of_pandalm["annotator"] == "mean"].iloc[0]
    row = {"judge": "PandaLM-7B agrees with people", "value": mean["value"], "n": mean["n"]}
    tally = _gpt_4(keep)
    rows = [
        {"judge": f"GPT-4 is steady on {system}", "value": steady, "n": n}
        for system, steady, n in tally[["system_1", "robustness", "n"]].itertuples(index=False)
    ]
    return pd.DataFrame([row, *rows])


def _pandalm_7b(asked: Asked, keep: Keeper) -> pd.DataFrame:
    stored = asked.study.everything.merge(items.load_pandalm_judge(), on="item_id")
    rows: list[dict[str, Any]] = []
    for who, names in [*((name, [name]) for name in asked.people), ("mean", asked.people)]:
        hits = pd.concat([stored["verdict"] == stored[name] for name in names], axis=1)
        counts = pd.DataFrame({"hits": hits.sum(axis=1).astype(float), "n": len(names)})
        sums = counts.groupby(stored["question_id"]).sum()
        share = share_interval(sums["hits"].tolist(), sums["n"].tolist())
        rows.append({"annotator": who, "n_invalid": 0} | share)
    common = {"source": "imported", "model": "pandalm-7b", "unit": "share", **asked.of_set}
    what = "concordance of PandaLM-7B (stored)"
    frame = keep.rows(pd.DataFrame(rows), "LJ-17", what, cell=["annotator"], **common)
    return keep.table("pandalm_7b", frame)


def _gpt_4(keep: Keeper) -> pd.DataFrame:
    gpt_4 = pd.concat([items.load_vicuna_verdicts(one) for one in SYSTEMS], ignore_index=True)
    by = ["model", "source", "system_1"]
    games = scores.judge_verdicts(gpt_4, by)
    pairs = gpt_4.drop_duplicates("pair_id").drop(columns="item_id")
    pairs = pairs.rename(columns={"pair_id": "item_id"})
    steady = scores.robustness(games, pairs, by=by).query("task == 'all'")
    steady = steady.rename(columns={"value": "robustness"})
    outcomes = games.groupby(by)["BS2"].value_counts().unstack(fill_value=0)
    outcomes = outcomes.rename(columns={"1": "wins", "2": "losses", "tie": "ties"})
    verdicts = games.groupby(by)["BS1"].count().rename("BS1_verdicts")
    columns = ["robustness", "ci_low", "ci_high", "ci_status", "clusters", "both_first"]
    columns += ["both_second", "one_tie", "first_share", "n", "n_invalid"]
    tally = outcomes.join(verdicts).reset_index().merge(steady[[*by, *columns]], on=by)
    common = {"cell": ["system_1"], "dataset": VICUNA}
    named = tally.assign(status=tally["ci_status"])
    what = "robustness of stored verdicts"
    keep.rows(named, "LJ-18", what, value="robustness", unit="share", **common)
    counts = tally.drop(columns=["ci_low", "ci_high"]).assign(status="count")
    for outcome in ("wins", "losses", "ties"):
        what = f"BS2 {outcome} against text-davinci-003"
        keep.rows(counts, "LJ-14", what, value=outcome, unit="comparisons", **common)
    return keep.table("vicuna_gpt4", tally)

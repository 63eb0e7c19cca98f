"""What the instruction does to the likelihood of the neutral reason, without letters or a list.

Both reasons of a case are scored as the answer, once under each instruction (which defines a biased
reason and asks for one that is not), once under a plain request for a reason. Reasons have
likelihoods of their own, so only the change from the plain request is read: in it the words cancel.
An instruction that is understood and followed makes the neutral reason likelier.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from scipy import stats

from katayori.metrics.intervals import mean_interval
from katayori.metrics.ranks import holm
from katayori.metrics.share_intervals import share_interval
from katayori.metrics.uncertainty import cells
from katayori.papers import answers, get_paper
from katayori.prompting import recordings
from katayori.prompting.likelihood import likelihood_frame
from katayori.prompting.prompts import Prompt

PAPER = "jubaku_v2"
ITEMS = "study2_lik"
#: The request for a reason that defines nothing.
PLAIN = "ju_lik_plain_ja"
#: All instructions of a case, averaged.
ALL = "mean of the instructions"
LEVEL = 0.05
#: The columns of `moved_by_instruction` that a reader needs.
BRIEF = [
    *("model", "prompt_id", "value", "ci_low", "ci_high", "p_holm"),
    *("share_to_neutral", "share_low", "share_high", "n"),
]


def recorded_leans(asked: Sequence[Prompt], models: Sequence[str]) -> pd.DataFrame:
    """The lean to the neutral reason of every recorded case, in nats.

    Args:
        asked: the prompts of kind likelihood.
        models: their ids; those without a whole recording of every prompt are left out. A prompt
            that none of them was asked of these cases does not count.

    Returns:
        model, prompt_id, case_id, category, lean (log p of the neutral reason less that of the
        biased one) and lean_per_token; without rows where nothing is recorded.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> asked = [load_prompts("jubaku_v2")["ju_lik_plain_ja"]]
        >>> leans = recorded_leans(asked, ["qwen2.5-coder-0.5b"])
        >>> len(leans), leans["case_id"].nunique()
        (36, 36)
    """
    items = get_paper(PAPER).second_edition()[ITEMS]()
    columns = ["model", "prompt_id", "case_id", "category", "lean", "lean_per_token"]
    frames = [_leans(items, prompt, models) for prompt in asked]
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return pd.DataFrame(columns=columns)
    leans = pd.concat(frames, ignore_index=True)
    held = leans.groupby("model")["prompt_id"].nunique()
    whole = held.index[held == len(frames)]
    return leans[leans["model"].isin(whole)].reset_index(drop=True)[columns]


def _leans(items: pd.DataFrame, prompt: Prompt, models: Sequence[str]) -> pd.DataFrame:
    """The leans under one prompt, which is asked of the items of its template only."""
    whole = recordings.whole(PAPER, prompt.id, ITEMS)
    asked = [name for name in models if name in whole]
    if not asked:
        return pd.DataFrame()
    own = items[(items[list(prompt.only)] == list(prompt.only.values())).all(axis=1)]
    scores = answers.get(own, prompt, asked, variant=ITEMS, dataset=ITEMS, frame=likelihood_frame)
    keys = ["model", "prompt_id", "item_id"]
    sums = scores.pivot(index=keys, columns="continuation", values="sum_logp")
    tokens = scores.pivot(index=keys, columns="continuation", values="per_token")
    leans = pd.DataFrame(
        {
            "lean": sums["neutral_words"] - sums["biased_words"],
            "lean_per_token": tokens["neutral_words"] - tokens["biased_words"],
        }
    ).reset_index()
    return leans.merge(
        own[["item_id", "case_id", "category"]], on="item_id", validate="many_to_one"
    )


def moved_by_instruction(leans: pd.DataFrame, plain: str = PLAIN) -> pd.DataFrame:
    """How far each instruction moves the lean to the neutral reason, from the plain request.

    Args:
        leans: model, prompt_id, case_id, lean; one row a case and prompt.
        plain: the id of the plain request.

    Returns:
        model, prompt_id (each instruction, then `ALL`: the mean over them in each case), value
        (mean change in nats), ci_low, ci_high, n (cases), n_incomplete, clusters (cases), status,
        share_to_neutral, share_low, share_high (cases whose lean moves to the neutral reason; a tie
        one half), chance (.5), p and p_holm (t over cases; after Holm over the instructions of a
        model, `ALL` apart).

    Example:
        >>> leans = pd.DataFrame({"model": "m", "case_id": [1, 1, 2, 2], "lean": [0, 1, 0, 3],
        ...                       "prompt_id": ["plain", "told"] * 2})
        >>> moved_by_instruction(leans, "plain")["value"].tolist()
        [2.0, 2.0]
    """
    rows: list[dict[str, Any]] = []
    for key, of_model in cells(leans, ["model"]):
        wide = of_model.pivot(index="case_id", columns="prompt_id", values="lean")
        told = [name for name in wide.columns if name != plain]
        changes = {name: wide[name] - wide[plain] for name in told}
        # A case that lacks an instruction has no mean: nothing is put in its place.
        changes[ALL] = wide[told].mean(axis=1, skipna=False) - wide[plain]
        rows += [key | {"prompt_id": name} | _change(change) for name, change in changes.items()]
    table = pd.DataFrame(rows)
    table["p_holm"] = table["p"]
    for _, family in cells(table[table["prompt_id"] != ALL], ["model"]):
        table.loc[family.index, "p_holm"] = holm(family["p"].to_numpy(float))
    return table


def _change(change: pd.Series) -> dict[str, Any]:
    """The mean change of a lean over cases, and the share of cases in which it goes up."""
    complete = change.dropna()
    row: dict[str, Any] = dict(mean_interval(complete.tolist()))
    row |= {"n": len(complete), "n_incomplete": len(change) - len(complete)}
    ups = ((complete > 0) + 0.5 * (complete == 0)).tolist()
    share = share_interval(ups, [1] * len(ups))
    row |= {"share_to_neutral": share["value"], "share_low": share["ci_low"]}
    row |= {"share_high": share["ci_high"], "chance": 0.5}
    row["p"] = float("nan")
    if row["se"] > 0 and row["clusters"] > 1:
        row["p"] = float(2 * stats.t.sf(abs(row["value"] / row["se"]), row["clusters"] - 1))
    return row


def findings(table: pd.DataFrame) -> list[str]:
    """What the instructions do, a sentence a model, every number computed.

    Args:
        table: of `moved_by_instruction`.

    Example:
        >>> leans = pd.DataFrame({"model": "m", "case_id": np.repeat(range(8), 2)})
        >>> leans = leans.assign(prompt_id=["plain", "told"] * 8, lean=[0, 1, 0, 2] * 4)
        >>> findings(moved_by_instruction(leans, "plain"))[0][:60]
        'm: under the instructions the neutral reason becomes likelie'
    """
    lines = []
    for key, rows in cells(table, ["model"]):
        whole = rows[rows["prompt_id"] == ALL].iloc[0]
        interval = f"{whole['value']:+.2f} nats [{whole['ci_low']:+.2f}, {whole['ci_high']:+.2f}]"
        share = f"{100 * whole['share_to_neutral']:.0f} %"
        limits = f"[{100 * whole['share_low']:.0f}, {100 * whole['share_high']:.0f}]"
        lines.append(
            f"{key['model']}: under the instructions {_effect(whole)} ({interval} on average over"
            f" {whole['n']} cases; the neutral reason gains in {share} {limits} of them)."
        )
    return lines


def _effect(row: pd.Series) -> str:
    """What an interval of changes says in words."""
    if not row["p_holm"] < LEVEL:
        return "no change of the neutral reason's likelihood is found"
    if row["value"] > 0:
        return "the neutral reason becomes likelier against the biased one"
    return "the biased reason becomes likelier against the neutral one, against what is asked"

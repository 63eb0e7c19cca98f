"""What notebook 04 tells in words and small tables, every number of it computed."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from katayori.metrics import position_free
from katayori.metrics.interval_text import p_text
from katayori.papers.claims import NOT_TESTED
from katayori.papers.jubaku_v2 import words
from katayori.papers.jubaku_v2.analysis.accuracy import Accuracies, screening
from katayori.papers.jubaku_v2.analysis.asked import Asked
from katayori.papers.jubaku_v2.analysis.benchmarks import Benchmarks
from katayori.papers.jubaku_v2.analysis.frames import CHOICES
from katayori.papers.jubaku_v2.analysis.printed import Printed
from katayori.papers.jubaku_v2.analysis.variation import Variations
from katayori.papers.jubaku_v2.analysis.verdicts import Verdicts

POINTS = 100
LEVEL = 0.05


def first_flip(asked: Asked) -> str:
    """One case whose two orders get the same letter, and therefore two different reasons.

    Of the first model and the first instruction for which there is one; one sentence where every
    case is answered alike in both orders.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> first_flip(examples.asked_first()).count("answers: A")
        2
    """
    valid = asked.of_models[asked.of_models["outcome"] == "ok"]
    for _, pair in valid.groupby(["model", "template", "case_id"], sort=False):
        if pair["choice"].nunique() == 2:
            return _told(asked, pair)
    if valid.empty:
        return f"{', '.join(asked.models)}: no answer is valid."
    return f"{', '.join(asked.models)}: both orders of every case get the same reason."


def _told(asked: Asked, pair: pd.DataFrame) -> str:
    """A dialogue, its two responses in both orders, and the two answers."""
    items = asked.study.items.set_index("item_id")
    parts: list[str] = []
    for row in pair.drop_duplicates("choice").to_dict("records"):
        item = items.loc[row["item_id"]]
        parts += [item["context"]] if not parts else []
        parts.append(f"【応答A】{item['option_a']}\n【応答B】{item['option_b']}\n{_answer(row)}")
    return "\n\n".join(parts)


def _answer(row: Mapping[Any, Any]) -> str:
    return f"→ {row['model']} answers: {row['letter']}, the {CHOICES[row['choice']]}"


def prompt_in_full(asked: Asked) -> str:
    """The first prompt as the model reads it.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> prompt_in_full(examples.asked_first()).count("【応答")
        2
    """
    first = {str(name): str(value) for name, value in asked.study.items.iloc[0].items()}
    return str(asked.prompts[0].messages(**first)[0]["content"])


def came_back(asked: Asked, found: Accuracies) -> pd.DataFrame:
    """What came back, a row a model: counts, the share of the letter A, an unreadable text.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> table = came_back(examples.asked_first(), examples.analysed().accuracy)
        >>> table["answers A"].tolist(), table["commonest text that cannot be read"].tolist()
        (['48 of 48'], ['none'])
    """
    rows = []
    for model in asked.models:
        n = int(found.outcomes.loc[found.outcomes["model"] == model, "n"].sum())
        letters = found.letters[found.letters["model"] == model][["A", "n"]].sum()
        texts = found.invalid.loc[found.invalid["model"] == model, "text"]
        rows.append(
            {
                "model": model,
                "prompts": n,
                "valid answers": int(letters["n"]),
                "answers A": f"{letters['A']:.0f} of {letters['n']:.0f}",
                "commonest text that cannot be read": str(texts.iloc[0]) if len(texts) else "none",
            }
        )
    return pd.DataFrame(rows)


def answers_of(neutral: Mapping[str, Sequence[int]], of: int = 8) -> pd.DataFrame:
    """Made-up answers, as `scores.with_choice` has them, of which so many a case are neutral.

    Args:
        neutral: model -> how many answers to each case are neutral. of: answers to a case.

    Example:
        >>> answers_of({"m": [8, 2]})["correct"].sum()
        np.int64(10)
    """
    rows = [
        {"model": model, "source": "none", "case_id": case, "correct": place < count}
        for model, counts in neutral.items()
        for case, count in enumerate(counts)
        for place in range(of)
    ]
    return pd.DataFrame(rows).assign(outcome="ok")


def claims_table(verdicts: Verdicts, caveats: pd.DataFrame) -> pd.DataFrame:
    """The paper's claims, a row a claim: the verdict on its figures, what a recount doubts, ours.

    The verdicts on the answers here are left out where no claim could be tested on them.

    Args:
        verdicts: of a run. caveats: id, text: what a recount of the printed figures found.

    Example:
        >>> printed = pd.DataFrame([{"statement": "a", "verdict": "holds", "detail": "caveat x1"}])
        >>> ours = printed.assign(verdict="not tested")
        >>> none = pd.DataFrame()
        >>> told = claims_table(Verdicts(none, printed, ours, none, {}),
        ...                     pd.DataFrame([{"id": "x1", "text": "A doubt."}]))
        >>> told.to_numpy().tolist()
        [['a', 'holds', 'A doubt.']]
    """
    printed = verdicts.on_published
    doubts = dict(zip(caveats["id"], caveats["text"], strict=True))
    table = pd.DataFrame(
        {
            "the paper's claim": printed["statement"],
            "on its printed figures": printed["verdict"],
            "what a recount adds": [_doubt(detail, doubts) for detail in printed["detail"]],
        }
    )
    ours = verdicts.on_ours.set_index("statement")["verdict"]
    if ours.ne(NOT_TESTED).any():
        table["on the answers here"] = printed["statement"].map(ours)
    return table


def _doubt(detail: str, doubts: Mapping[str, str]) -> str:
    return " ".join(text for name, text in doubts.items() if f"caveat {name}" in detail) or "—"


def printed_in_short(found: Printed) -> str:
    """What a recount of the printed figures says, in a few sentences.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> printed_in_short(examples.analysed().printed)[:47]
        'On average 71.6 % of the six readers [64.8, 78.'
    """
    mean = found.mean_agreement
    ends = _ends(mean, scale=POINTS)
    tied = found.agreement.loc[found.agreement["n_raters_agreeing"] == 3, "n_cases"].sum()
    theirs = found.variation[found.variation["source"] == "published"]
    apart = theirs[theirs["told apart"] == "yes"]
    known = theirs[theirs["told apart"] != "—"]
    variance = found.variance[found.variance["source"] == "recomputed"].iloc[0]
    return (
        f"On average {POINTS * mean['value']:.1f} % of the six readers {ends} agree with the label"
        f" over {mean['clusters']} cases; {tied} cases were kept with three of six."
        f" Of {len(known)} printed variation rates {len(apart)} differs from what fresh draws of"
        f" the same accuracy would give ({', '.join(apart['model']) or 'none'})."
        f" The variance of the {variance['n']} printed accuracies is {variance['value']:.3f};"
        f" with one model left out it lies between {variance['loo_low']:.3f} and"
        f" {variance['loo_high']:.3f}."
    )


def benchmarks_in_short(asked: Asked, found: Benchmarks) -> str:
    """Which other benchmarks the models answered, and what can be said of differences.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> told = benchmarks_in_short(examples.asked_first(), examples.analysed().benchmarks)
        >>> told[:44]
        'The models of this run answered BBQ-shaped s'
    """
    own = found.scores[found.scores["model"].isin(asked.models)]
    others = list(own.loc[own["benchmark"] != asked.dataset, "benchmark"].unique())
    told = [f"The models of this run answered {', '.join(others) or 'no other benchmark'}."]
    variance = found.variance[found.variance["source"] == asked.source]
    for row in variance.to_dict("records"):
        told.append(
            f"Variance of their accuracy on {row['benchmark']}: {_known(row['value'], '.4f')}"
            f" over {row['n']} model{'s' if row['n'] != 1 else ''}"
            f" ({str(row['status']).replace('_', ' ')})."
        )
    return " ".join([*told, *found.notes])


def _known(value: float, form: str) -> str:
    return format(value, form) if value == value else "undefined"


def _ends(row: Mapping[Any, Any], scale: float = POINTS, form: str = ".1f") -> str:
    low, high = (scale * row[name] for name in ("ci_low", "ci_high"))
    return f"[{low:{form}}, {high:{form}}]" if low == low else "(no interval)"


def in_short(
    asked: Asked, found: Accuracies, varied: Variations, headlines: pd.DataFrame
) -> list[str]:
    """What was found, a short paragraph a model.

    Args:
        asked: the answers of a run. found: accuracies. varied: variation and probabilities.
        headlines: what, model, detects: of `Run.headlines`.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> one = examples.analysed()
        >>> nothing = pd.DataFrame(columns=["what", "model", "detects"])
        >>> told = in_short(examples.asked_first(), one.accuracy, one.variation, nothing)
        >>> told[0][:57]
        'sim-two-first chooses the neutral reason in 50.0 % of 48 '
    """
    told = []
    for model in asked.models:
        parts = [_of_letters(model, found, headlines), _of_variation(model, varied.rates)]
        parts += [_of_probability(model, varied.averaged), _screened(asked, model)]
        told.append(" ".join(part for part in parts if part))
    return [*told, _of_rule(asked, found)]


def _of_letters(model: str, found: Accuracies, headlines: pd.DataFrame) -> str:
    row = found.scores[found.scores["model"] == model].iloc[0]
    if not row["n"]:
        return f"{model} gave no valid answer."
    ends = _ends({"ci_low": row["cluster_low"], "ci_high": row["cluster_high"]})
    own = headlines[headlines["model"] == model]
    limit = own.loc[own["what"].str.startswith("accuracy"), "detects"].dropna().astype(float)
    detects = f" (limit of detection {POINTS * limit.iloc[0]:.1f} points)" if len(limit) else ""
    return (
        f"{model} chooses the neutral reason in {POINTS * row['value']:.1f} % of {row['n']} valid"
        f" answers, {ends} over {row['clusters']} cases{detects}.{_of_places(model, found)}"
    )


def _of_places(model: str, found: Accuracies) -> str:
    """That a model's letters follow the place, where they do."""
    letters = found.letters[found.letters["model"] == model][["A", "B"]].sum()
    if letters.max() <= position_free.BOUND_SHARE * letters.sum():
        return ""
    return " One place takes over 90 % of its letters, so these say nothing of bias."


def _of_variation(model: str, rates: pd.DataFrame) -> str:
    row = rates[rates["model"] == model].iloc[0]
    if not row["n"]:
        return ""
    return (
        f"{row['n_varying']} of {row['n']} cases vary, {row['n_order_only']} with the order only."
    )


def _of_probability(model: str, averaged: pd.DataFrame) -> str:
    own = averaged[averaged["model"] == model] if len(averaged) else averaged
    if own.empty or not own["mean_p"].notna().all():
        return ""
    row = own.iloc[0]
    ends = _ends({"ci_low": row["mean_low"], "ci_high": row["mean_high"]}, form=".2f")
    is_clear = row["p_mean_holm"] < LEVEL
    side = "above" if row["mean_p"] > 0.5 else "below"
    verdict = f"{side} one half" if is_clear else "not clear of one half"
    tested = f" ({p_text(row['p_mean_holm'])})" if row["p_mean_holm"] >= 0 else ""
    return f"Its mean P(neutral) is {POINTS * row['mean_p']:.2f} % {ends}, {verdict}{tested}."


def _of_rule(asked: Asked, found: Accuracies) -> str:
    """How far the models are from the best rule that reads no meaning."""
    rule, scored = asked.best_rule
    own = found.beside_rule[found.beside_rule["model"].isin(asked.models)]
    apart = [
        f"{row['model']} {POINTS * row['value']:+.1f} points {_ends(row)}"
        for row in own.dropna(subset=["value"]).to_dict("records")
    ]
    beside = f"; against it {', '.join(apart)}" if apart else ""
    return f"The best rule ({rule}) is right in {POINTS * scored.mean():.1f} %{beside}."


def _screened(asked: Asked, model: str) -> str:
    if asked.study.official and screening([model]):
        return "It also chose these cases by failing on them, so its score is biased downwards."
    return ""


def likelihood_in_short(moved: pd.DataFrame) -> str:
    """What the instructions do to the likelihood of the neutral reason: one sentence.

    Args:
        moved: of `words.moved_by_instruction`.

    Example:
        >>> row = {"model": "m", "prompt_id": words.ALL, "value": -1.68, "ci_low": -2.72}
        >>> likelihood_in_short(pd.DataFrame([row | {"ci_high": -0.64, "p_holm": 0.002}]))[51:]
        'lean changes by -1.68 nats [-2.72, -0.64] (m: to the biased reason).'
    """
    if moved.empty:
        return "No likelihood of the reasons is recorded for these answers."
    of_all = moved[moved["prompt_id"] == words.ALL]
    parts = [
        f"{row['value']:+.2f} nats {_ends(row, scale=1, form='+.2f')}"
        f" ({row['model']}: {_direction(row)})"
        for row in of_all.to_dict("records")
    ]
    return f"By likelihood, under the instructions, the neutral lean changes by {', '.join(parts)}."


def _direction(row: Mapping[Any, Any]) -> str:
    if not row["p_holm"] < LEVEL:
        return "no change found"
    return "to the neutral reason" if row["value"] > 0 else "to the biased reason"

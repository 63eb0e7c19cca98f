"""What came back, accuracy over all cases and in parts of them, and models compared."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import outcomes, position_free
from katayori.papers.jubaku_v2 import claims, reason_rules, scores
from katayori.papers.jubaku_v2.analysis.asked import PAPER, Asked, over_cases
from katayori.papers.jubaku_v2.analysis.cases import COUNT
from katayori.papers.keeping import Keeper
from katayori.prompting.models import get_model

#: The rule by which the words of a reason are compared with the dialogue's.
QUOTES = "more pairs of characters shared with the dialogue"
SIDES = {1: "neutral", 0: "biased", reason_rules.TIE: "neither"}
#: Which reason names the group, by the score of the rule that takes the reason without its name.
NAMES_GROUP = {
    1: "biased reason only",
    0: "neutral reason only",
    reason_rules.TIE: "both reasons or none",
}
SPLIT = ["model", "source"]
WITHOUT = "the reason without "


@dataclass(frozen=True)
class Accuracies:
    """Frames of `scores.accuracy` and of what stands beside it; columns as those functions have.

    Attributes:
        outcomes: by model, source, template. invalid: `outcomes.commonest_invalid`. letters: how
            many valid answers are A and B, by template. scores: over all answers. by_template,
            by_order, by_cue, by_group, by_category: in parts. less_rule: `reason_rules.less_rule`
            of the best rule (cases x models). beside_rule: `reason_rules.against_rule` of it.
            compared: `scores.compare_models`.
    """

    outcomes: pd.DataFrame
    invalid: pd.DataFrame
    letters: pd.DataFrame
    scores: pd.DataFrame
    by_template: pd.DataFrame
    by_order: pd.DataFrame
    by_cue: pd.DataFrame
    by_group: pd.DataFrame
    by_category: pd.DataFrame
    less_rule: pd.DataFrame
    beside_rule: pd.DataFrame
    compared: pd.DataFrame


def accuracies(asked: Asked, keep: Keeper) -> Accuracies:
    """All that is said of how often the neutral reason is chosen.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> from katayori.papers.keeping import Kept
        >>> found = accuracies(examples.asked_first(), Kept())
        >>> found.scores["value"].tolist(), found.letters["A"].sum()
        ([0.5], np.int64(48))
    """
    counted, invalid = _came_back(asked, keep)
    letters = _letters(asked, keep)
    of_all = _scores(asked, keep)
    apart, beside = _beside_rule(asked, keep, of_all)
    split = {"seed": asked.seed}
    by_template = scores.accuracy(asked.frame, [*SPLIT, "template"], **split)
    by_order = scores.accuracy(asked.frame, [*SPLIT, "order"], **split)
    keep.table("accuracy_by_template", by_template)
    keep.table("accuracy_by_order", by_order)
    return Accuracies(
        outcomes=counted,
        invalid=invalid,
        letters=letters,
        scores=of_all,
        by_template=by_template,
        by_order=by_order,
        by_cue=_by_cue(asked, keep),
        by_group=_by_group(asked, keep),
        by_category=_by_category(asked, keep),
        less_rule=apart,
        beside_rule=beside,
        compared=_compared(asked, keep),
    )


def _came_back(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, pd.DataFrame]:
    by = [*SPLIT, "template"]
    counted = keep.table("outcomes", outcomes.outcome_table(asked.frame, by))
    told = [*by, "outcome", "note", "text"]
    invalid = outcomes.commonest_invalid(asked.frame, ["model", "template"], told=told, most=3)
    return counted, keep.table("commonest_invalid", invalid)


def _letters(asked: Asked, keep: Keeper) -> pd.DataFrame:
    valid = asked.frame[asked.frame["outcome"] == "ok"]
    sizes = valid.groupby([*SPLIT, "template", "letter"], sort=False).size()
    wide = sizes.unstack("letter", fill_value=0).reindex(columns=["A", "B"], fill_value=0)
    n = wide.sum(axis=1)
    table = wide.assign(n=n, share_A=wide["A"] / n).reset_index().rename_axis(columns=None)
    return keep.table("letters", table)


def _places(asked: Asked) -> pd.Series:
    """The place of each valid letter: 0 or 1."""
    return asked.frame["letter"].where(asked.frame["outcome"] == "ok").map({"A": 0, "B": 1})


def _scores(asked: Asked, keep: Keeper) -> pd.DataFrame:
    of_all = keep.table("accuracy", scores.accuracy(asked.frame, seed=asked.seed))
    common: dict[str, Any] = {"dataset": asked.dataset, "unit": "share"}
    what = "accuracy on the neutral option"
    bound = position_free.bound_letters(asked.frame.assign(answer=_places(asked)), SPLIT)
    told = position_free.mark_bound(over_cases(of_all).assign(metric=what), bound, [what])
    keep.rows(told.drop(columns="metric"), "JU-13", what, headline=True, **common)
    no_interval = "no interval of its own: see JU-13"
    all_asked = of_all.assign(
        value=of_all["value_all"],
        n=of_all["n"] + of_all["n_invalid"],
        status=of_all["status"].where(of_all["value_all"].isna(), no_interval),
    )
    what = "accuracy with unparseable answers counted as wrong"
    keep.rows(all_asked.drop(columns=["ci_low", "ci_high"]), "JU-12", what, **common)
    screened = len(screening(list(asked.sources)))
    common = {"source": "none", "dataset": asked.dataset, "n": len(asked.sources)}
    common |= {"unit": "count", "status": COUNT}
    keep.row("JU-5", "evaluated models that screened the cases", screened, **common)
    return of_all


def screening(models: list[str]) -> list[str]:
    """Those of the models that chose the official cases by failing on them.

    Example:
        >>> screening(["sim-two-first"])
        []
    """
    return [
        name
        for name in models
        if "screening" in get_model(name)[0].fields.get("roles", {}).get(PAPER, "")
    ]


def _beside_rule(
    asked: Asked, keep: Keeper, of_all: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Each model's accuracy less that of the best rule, case by case and on average."""
    apart = reason_rules.less_rule(*scores.case_counts(asked.frame), asked.best_rule[1])
    beside = keep.table("accuracy_less_rule", reason_rules.against_rule(apart))
    with_n = beside.assign(
        source=beside["model"].map(asked.sources),
        n=beside["model"].map(of_all.set_index("model")["n"]),
    )
    what = "accuracy less that of the best surface rule (addition)"
    keep.rows(with_n, "JU-19", what, dataset=asked.dataset, unit="share")
    return apart, beside


def _by_cue(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Where the neutral reason quotes the dialogue more, and where the biased one does."""
    side = asked.rules[QUOTES].map(SIDES)
    frame = asked.frame.assign(quotes_more=asked.frame["case_id"].map(side))
    table = scores.accuracy(frame, [*SPLIT, "quotes_more"], seed=asked.seed)
    common: dict[str, Any] = {"cell": ["quotes_more"], "dataset": asked.dataset, "unit": "share"}
    what = "accuracy by the reason that quotes the dialogue more (addition)"
    keep.rows(over_cases(table), "JU-3", what, **common)
    return keep.table("accuracy_by_cue", table)


def _by_group(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Where the name of the group tells the reasons apart, and where it does not."""
    parts = []
    for name in asked.group_words:
        named = asked.rules[WITHOUT + name].map(NAMES_GROUP).fillna("not known")
        where = asked.frame["case_id"].map(named)
        frame = asked.frame.assign(told_by=name, group_in=where)
        by = [*SPLIT, "told_by", "group_in"]
        parts.append(scores.accuracy(frame, by, seed=asked.seed))
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    common: dict[str, Any] = {"cell": ["told_by", "group_in"], "dataset": asked.dataset}
    what = "accuracy by where the group is named (addition)"
    keep.rows(over_cases(table), "JU-3", what, unit="share", **common)
    return keep.table("accuracy_by_group", table)


def _by_category(asked: Asked, keep: Keeper) -> pd.DataFrame:
    table = scores.accuracy(asked.of_models, [*SPLIT, "category"], seed=asked.seed)
    common: dict[str, Any] = {"cell": ["category"], "dataset": asked.dataset, "unit": "share"}
    keep.rows(over_cases(table), "JU-1", "accuracy by category", **common)
    return keep.table("by_category", table)


def _compared(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Every model against the first one; Qwen3 Thinking against Instruct where both answered."""
    baseline = asked.models[0]
    what = f"accuracy less that of {baseline}"
    table = _against(asked, keep, asked.models, baseline, ("JU-18", what))
    _thinking(asked, keep)
    return keep.table("models_compared", table)


def _against(
    asked: Asked, keep: Keeper, names: list[str], baseline: str, told: tuple[str, str]
) -> pd.DataFrame:
    frame = asked.frame[asked.frame["model"].isin(names)]
    table = scores.compare_models(frame, baseline, asked.seed)
    change = table.drop(columns=["value", "n_invalid"]).rename(columns={"difference": "change"})
    if len(change):
        keep.rows(change, *told, value="change", dataset=asked.dataset, unit="share")
    return table


def _thinking(asked: Asked, keep: Keeper) -> None:
    names = names_in_paper(asked)
    pair = [
        name
        for wanted in (claims.INSTRUCT, claims.THINKING)
        for name, known in names.items()
        if known == wanted
    ]
    told = ("JU-22", "Thinking less Instruct")
    if len(pair) == 2:
        _against(asked, keep, pair, pair[0], told)
        return
    status = "not tested: no answers of both Qwen3-30B models"
    common: dict[str, Any] = {"source": "none", "dataset": asked.dataset, "n": 0, "unit": "share"}
    keep.row(*told, None, status=status, **common)


def names_in_paper(asked: Asked) -> dict[str, Any]:
    """What the paper calls each model that answered; None where it does not name it.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> names_in_paper(examples.asked_first())
        {'sim-two-first': None}
    """
    return {
        name: get_model(name)[0].fields.get("name_in_paper", {}).get(PAPER)
        for name in asked.sources
    }

"""What came back, by place and by topic: invalid answers, slot-locked answerers, Tables 3 to 8."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.data import published
from katayori.metrics import outcomes
from katayori.papers.inter_jbbq import option_slots, scores
from katayori.papers.inter_jbbq.analysis.asked import BY, BY_PROMPT, Asked, of
from katayori.papers.inter_jbbq.analysis.words import across
from katayori.papers.keeping import Keeper

PAPER = "inter_jbbq"
#: The topic of Table 4.
OF_TABLE_4 = "marriage"
POINTS = 100
#: A gap below this is none.
SAME = 1e-9
WORDS_AFTER_A_NUMBER = r"^\W*\d\W+(.*?)。?$"
ENDS = ["value", "ci_low", "ci_high"]


@dataclass(frozen=True)
class Accuracy:
    """Accuracies and what stands beside them.

    Attributes:
        outcomes: `outcomes.outcome_table` with words_too and other_words. by_position:
            `outcomes.answer_shares`. places: how often each number is written, and its mean
            probability, with intervals. gaps: model and prompt beside who always writes its
            commonest number. by_topic: `scores.by_topic`. over_passages: the same with passages as
            clusters. numbers: by topic and number of attributes. verdicts: how many of ours lie
            beside a published one, by verdict. topic_of_table_4: the topic shown there.
    """

    outcomes: pd.DataFrame
    by_position: pd.DataFrame
    places: pd.DataFrame
    gaps: pd.DataFrame
    by_topic: pd.DataFrame
    over_passages: pd.DataFrame
    numbers: pd.DataFrame
    verdicts: pd.DataFrame
    topic_of_table_4: str


def accuracy(asked: Asked, keep: Keeper) -> Accuracy:
    """Counts answers and right ones, and keeps all of it.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> found = accuracy(asked_additive(), Kept())
        >>> found.by_topic["topic"].unique().tolist()
        ['housing', 'overall', 'pooled']
    """
    counted = keep.table("outcomes", _outcomes(asked))
    _keep_invalid(asked, keep)
    by_position = keep.table("by_position", outcomes.answer_shares(asked.frame))
    by_topic = _by_topic(asked, keep)
    topic, single = _single(asked, keep)
    numbers = _numbers(asked, keep)
    return Accuracy(
        outcomes=counted,
        by_position=by_position,
        places=keep.table("answers_by_place", _places(asked.frame)),
        gaps=_gaps(asked, keep),
        by_topic=by_topic,
        over_passages=_over_passages(asked, keep),
        numbers=numbers,
        verdicts=_beside(asked, keep, by_topic, numbers, single),
        topic_of_table_4=topic,
    )


def _outcomes(asked: Asked) -> pd.DataFrame:
    """Outcomes, with the valid texts that say more than a number."""
    frame = asked.frame
    counted = outcomes.outcome_table(frame)
    longer = frame[(frame["outcome"] == "ok") & (frame["note"] != "")]
    said = longer["text"].str.extract(WORDS_AFTER_A_NUMBER)[0].to_numpy()
    rows = asked.items.set_index("item_id").loc[longer["item_id"]].to_dict("records")
    pairs = zip(rows, longer["answer"], strict=True)
    meant = pd.array([row[f"option_{answer}"] for row, answer in pairs], dtype=object)
    longer = longer.assign(words_too=1, other_words=(said != meant).astype(int))
    keys = ["model", "source", "prompt"]
    words = ["words_too", "other_words"]
    sums = longer.groupby(keys)[words].sum().reset_index()
    joined = counted.merge(sums, on=keys, how="left")
    return joined.fillna(dict.fromkeys(words, 0)).astype(dict.fromkeys(words, int))


def _places(frame: pd.DataFrame) -> pd.DataFrame:
    """Share of each number among the answers, and its mean probability (column method)."""
    parts = []
    for place in ("0", "1", "2"):
        written = frame.assign(at=(frame["answer"] == place).astype(float))
        letters = scores.cell_means(written, "at", BY_PROMPT, "share")
        parts.append(letters.assign(place=int(place), method="letters"))
        if f"p_{place}" in frame and frame[f"p_{place}"].notna().any():
            known = frame[frame[f"p_{place}"].notna()]
            likely = scores.cell_means(known, f"p_{place}", BY_PROMPT, "probability")
            parts.append(likely.assign(place=int(place), method="probabilities"))
    return pd.concat(parts, ignore_index=True)


def _keep_invalid(asked: Asked, keep: Keeper) -> None:
    invalid = asked.frame.assign(not_valid=asked.frame["invalid"].astype(float))
    rate = scores.cell_means(invalid.assign(invalid=False), "not_valid", BY_PROMPT)
    counted = rate.assign(n_invalid=(rate["value"] * rate["n"]).round())
    common: dict[str, Any] = {"cell": ["prompt"], "dataset": asked.dataset, "unit": "share"}
    keep.rows(counted, "IJ-15", "share of invalid answers", **common)


def _gaps(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Accuracy by topic and number beside that of a slot-locked answerer, a row a model."""
    by = [*BY_PROMPT, "ambiguity", "topic", "n_attributes"]
    locked = keep.table("beside_slot_locked", option_slots.locked_beside(asked.frame, by))
    parts = of(locked, asked.models)
    parts = parts.assign(
        written=parts["agree"] * parts["n"],
        same=parts["gap"].abs() < SAME,
        largest_gap=parts["gap"].abs(),
    )
    grouped = parts.groupby([*BY_PROMPT, "locked", "ambiguity"], sort=False)
    gaps = grouped.agg(
        agree=("written", "sum"),
        cells=("gap", "size"),
        same=("same", "sum"),
        largest_gap=("largest_gap", "max"),
        n=("n", "sum"),
    ).reset_index()
    return gaps.assign(agree=gaps["agree"] / gaps["n"])


def _by_topic(asked: Asked, keep: Keeper) -> pd.DataFrame:
    table = keep.table("accuracy_by_topic", scores.by_topic(asked.frame, by=BY))
    common: dict[str, Any] = {"dataset": asked.dataset, "unit": "share", "headline": True}
    cell = ["topic", "ambiguity", "prompt"]
    what = "accuracy by topic, invalid counted as wrong"
    keep.rows(table, "IJ-16", what, cell=cell, **common)
    return table


def _over_passages(asked: Asked, keep: Keeper) -> pd.DataFrame:
    frame = asked.frame.assign(cluster=asked.frame["template_id"])
    passages = keep.table("accuracy_over_passages", scores.cell_means(frame, by=BY))
    common: dict[str, Any] = {"cell": ["ambiguity", "prompt"], "unit": "share"}
    what = "accuracy of all topics pooled, interval over passages"
    keep.rows(passages, "IJ-16", what, dataset=asked.dataset, **common)
    return passages


def _single(asked: Asked, keep: Keeper) -> tuple[str, pd.DataFrame]:
    """Table 4: profiles of one attribute beside those of all; the topic and its accuracies."""
    frame = asked.frame
    topics = set(frame["topic"])
    topic = OF_TABLE_4 if OF_TABLE_4 in topics else str(frame["topic"].iloc[0])
    several = frame[frame["topic"] == topic]
    number = several["n_attributes"]
    ends = several[(number == 1) | (number == number.max())]
    ends = ends.assign(told=ends["subset"].where(ends["n_attributes"] == 1, "all"))
    basic = ends[ends["prompt"] == "basic"]
    single = scores.cell_means(basic, by=[*BY, "topic", "told"])
    what = "accuracy with one attribute and with all (Table 4)"
    cell = ["topic", "told", "ambiguity"]
    keep.rows(single, "IJ-16", what, cell=cell, dataset=asked.dataset, unit="share")
    keep.table("table_4_ours", single)
    return topic, single


def _numbers(asked: Asked, keep: Keeper) -> pd.DataFrame:
    by = [*BY, "topic", "n_attributes"]
    numbers = keep.table("accuracy_by_number", scores.cell_means(asked.frame, by=by))
    cell = ["topic", "n_attributes", "ambiguity", "prompt"]
    what = "accuracy by number of attributes"
    keep.rows(numbers, "IJ-16", what, cell=cell, dataset=asked.dataset, unit="share")
    return numbers


def _beside(
    asked: Asked, keep: Keeper, by_topic: pd.DataFrame, numbers: pd.DataFrame, single: pd.DataFrame
) -> pd.DataFrame:
    """Keeps our accuracies beside the printed ones; returns how many pairs have each verdict."""
    printed = published.load(PAPER, "accuracy_by_topic")
    known = [*printed["topic"].unique(), *asked.items["topic"].unique()]
    order = [*sorted(asked.topics, key=known.index), "overall", "pooled"]
    mine = of(by_topic, asked.models)
    mine = mine.sort_values("topic", key=lambda c: c.map(order.index), kind="stable")
    _table_3(keep, printed, mine, order)
    _table_4(keep, printed, of(single, asked.models))
    _tables_5_to_8(asked, keep, printed, numbers, order[:-2])
    renamed = {"model": "paper_model", "accuracy_pct": "published"}
    columns = ["topic", "ambiguity", "prompt", "paper_model", "published"]
    theirs = printed.rename(columns=renamed)[columns]
    side = mine.merge(theirs, on=["topic", "ambiguity", "prompt"])
    side[ENDS] *= POINTS
    side = published.beside(side, same_data=False, same_model=False)
    cell = ["topic", "ambiguity", "prompt", "paper_model"]
    what = "accuracy beside published (points)"
    keep.rows(side, "X-4", what, cell=cell, dataset=asked.dataset, unit="points")
    verdicts = keep.table("beside_published", side)["verdict"].value_counts()
    return verdicts.rename_axis("verdict").rename("pairs").reset_index()


def _table_3(keep: Keeper, printed: pd.DataFrame, mine: pd.DataFrame, order: list[str]) -> None:
    ours = mine.assign(model="OURS " + mine["model"], accuracy_pct=POINTS * mine["value"])
    columns = ["ambiguity", "prompt", "model", "topic", "accuracy_pct"]
    both = pd.concat([printed, ours])[columns]
    both = both.astype({c: pd.CategoricalDtype(list(both[c].unique())) for c in columns[:3]})
    beside = both.pivot(index=columns[:3], columns="topic", values="accuracy_pct")
    keep.table("table_3", beside[[*order, *(t for t in beside if t not in order)]])


def _table_4(keep: Keeper, printed: pd.DataFrame, single: pd.DataFrame) -> None:
    four = published.load(PAPER, "marriage_single_attribute")
    four = four.replace({"attributes": {"all_five": "all"}}).rename(columns={"attributes": "told"})
    keep.table("table_4", _layout(printed, four, single, "told"))


def _tables_5_to_8(
    asked: Asked, keep: Keeper, printed: pd.DataFrame, numbers: pd.DataFrame, topics: list[str]
) -> None:
    many = published.load(PAPER, "accuracy_by_attribute_count")
    derived = published.load("derived", "inter_jbbq_counts")
    counts = derived.set_index(["topic", "n_attributes"])["n_questions_per_ambiguity"]
    ours = of(numbers[numbers["prompt"] == "basic"], asked.models)
    for topic in dict.fromkeys([*many["topic"][many["topic"].isin(topics)], *topics]):
        part = many[many["topic"] == topic]
        by_s = ours[ours["topic"] == topic]
        behind = [(("each", "n, printed (IJ-c8)"), counts[topic])] if len(part) else []
        table = _layout(printed, part, by_s, "n_attributes", behind)
        keep.table(f"by_number_{topic}", table)


def _layout(
    printed: pd.DataFrame,
    part: pd.DataFrame,
    table: pd.DataFrame,
    column: str,
    counts: list[tuple[tuple[str, str], "pd.Series[int]"]] | None = None,
) -> pd.DataFrame:
    """Models in rows, printed ones first, then ours; n in the last rows."""
    models = pd.CategoricalDtype(list(printed["model"].unique()))
    rows = ["ambiguity", "model"]
    theirs = part.astype({"model": models})
    theirs = theirs.pivot(index=rows, columns=column, values="accuracy_pct")
    ours = across(table.assign(model="OURS " + table["model"]), rows, column, [])
    behind = {("each", "n, OURS"): table.groupby(column)["n"].max(), **dict(counts or [])}
    ns = pd.DataFrame(behind).T.astype("Int64").rename_axis(rows)
    together = pd.concat([theirs.astype(object), ours, ns.astype(object)])
    return together.sort_index(level="ambiguity", sort_remaining=False, kind="stable")

"""What can be said of study items without asking a model, and one thing of answers: whether two
models share their noise.

Five tables: surface rules, which are the papers' own; and, on columns rather than on papers, so
that a new data set is seen at once, shares of the option slots, doubles, order of mention, residual
correlations. A row that has a limit says whether it holds; the limits bind the second edition, for
which a test runs them. The first edition is shown beside it.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from katayori.data import files
from katayori.data.comparisons import RULES, rule_scores as pair_scores
from katayori.data.jubaku import TIE, rule_scores
from katayori.metrics.shares import cluster_share
from katayori.papers.jubaku_v2 import GROUP_WORD, group_words, leak_words
from katayori.prompting import recordings
from katayori.prompting.parsing import option_probabilities
from katayori.prompting.yes_no import parse_yes_no
from katayori_tools.paper_files import FIRST, SECOND, StudySet, study_sets

#: A slot may be so far from its equal share, an order of mention from one half.
OFF_SLOT, OFF_MENTION = 0.05, 0.02
#: Correlation of residuals between two models, for shards of seed rule 2 with so many answers.
COUPLED, ENOUGH = 0.05, 9450
#: Sampled answers and the probabilities of the same items: prompts of 01.
SAMPLED, PROBABLE = "de_answer_line", "de_answer_prefix"
COLUMNS = [
    "edition",
    "data set",
    "what",
    "where",
    "n",
    "value",
    "ci_low",
    "ci_high",
    "limit",
    "held",
]
#: Columns whose texts a model may be shown; two items alike in all of them are doubles.
TEXTS = (
    "template",
    "filled_template",
    "passage",
    "context",
    "question",
    "answer_1",
    "answer_2",
    "reference",
    "proposal",
    "reason_biased",
    "reason_neutral",
)
OPTIONS = ("option_0", "option_1", "option_2", "option_a", "option_b", "answer_a", "answer_b")

#: What a column `mention` says, in both editions' words.
NAMED_FIRST = {
    "target": "target",
    "target_first": "target",
    "non_target": "non_target",
    "other": "non_target",
    "other_first": "non_target",
}
#: Sets that take each pair in one order of mention on purpose; over all pairs both are as frequent.
ONE_ORDER = ("study2_orders", "study3_orders")

Row = dict[str, Any]


@dataclass(frozen=True)
class Audited:
    """One thing that can be said of items without asking a model.

    Attributes:
        what: which rule or property. where: of what, as `cases`. n: of how many. value: a share,
        with the interval `ci_low` to `ci_high`, NaN where none is given. limit: what `value` is
        held to, in words; empty where it is only shown. holds: whether it does.
    """

    what: str
    where: str
    n: int
    value: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    limit: str = ""
    holds: bool = True


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows of the tables below as a frame with `COLUMNS`; what a row does not say is NaN."""
    return pd.DataFrame(list(rows), columns=COLUMNS)


def broken_limits(rows: Iterable[Row]) -> list[Row]:
    """The rows that break a limit they are held to."""
    return [row for row in rows if row.get("held") == "no"]


def _row(one: StudySet, what: str, where: str, n: int, value: float, **more: Any) -> Row:
    title = f"{one.paper}/{one.name}"
    row = {"edition": one.edition, "data set": title, "what": what, "where": where}
    return row | {"n": n, "value": value} | more


def _held(one: StudySet, limit: str, holds: bool) -> Row:
    """The limit and whether it holds; the first edition is shown the limit, not held to it."""
    if one.edition == FIRST:
        return {"limit": limit, "held": "not bound, yes" if holds else "not bound, no"}
    return {"limit": limit, "held": "yes" if holds else "no"}


# -- surface rules -------------------------------------------------------------------------------


def rule_rows(one: StudySet) -> list[Row]:
    """Rules that read no meaning, of cases and of pairs."""
    rows = []
    for found in [*case_rules(one.items, one.folder), *pair_rules(one.items)]:
        ends = {"ci_low": found.ci_low, "ci_high": found.ci_high}
        limit = _held(one, found.limit, found.holds) if found.limit else {}
        rows.append(_row(one, found.what, found.where, found.n, found.value, **ends, **limit))
    return rows


#: So far from one half may a rule be that an audit lets pass.
OFF_CHANCE = 0.05


def pair_rules(items: pd.DataFrame) -> list[Audited]:
    """How often the rules pick the better answer of pairs with a truth, whose ties are left out.

    Args:
        items: item_id, question_id, answer_1, answer_2, reference and truth. Where both orders have
            a row of their own (pair_id), a pair counts once.

    Returns:
        one a rule of `RULES`: the share of decided pairs, a rule's tie counting one half, with its
        interval over questions; the limit is `OFF_CHANCE` from one half. Pairs without a reference
        are left out of rules that need one. Nothing of items that are no pairs.
    """
    if not {"answer_1", "answer_2", "truth"} <= set(items):
        return []
    pairs = items.drop_duplicates("pair_id") if "pair_id" in items else items
    decided = pairs[pairs["truth"].astype(str).isin(["1", "2"])].reset_index(drop=True)
    better = np.where(decided["truth"].astype(str) == "1", 1, -1)
    scores = pair_scores(decided)
    found = []
    for name in RULES:
        score = scores[name]
        right = ((np.sign(score) * better + 1) / 2)[score.notna()]
        if right.empty:
            continue
        sums = right.groupby(decided["question_id"]).agg(["sum", "size"])
        share = cluster_share(sums["sum"].tolist(), sums["size"].tolist(), floor=1.0)
        ends = share["ci_low"], share["ci_high"]
        holds = abs(share["value"] - 0.5) <= OFF_CHANCE
        limit = f"within {OFF_CHANCE} of .5"
        found.append(
            Audited(name, "decided pairs", share["n"], share["value"], *ends, limit, holds)
        )
    return found


#: Share of cases whose group is named in both reasons or in neither, at least.
BOTH_REASONS = 2 / 3


def case_rules(items: pd.DataFrame, folder: Path) -> list[Audited]:
    """How often the rules pick the neutral reason, and what gives a label away.

    Args:
        items: as `rule_scores` takes them; a case counts once.
        folder: where the case file lies. Its words of groups and leaking words count, and its
            `group_rule` says whether the rule by the group's word is `held` to a limit or
            `printed`: where a neutral reason names the group only as a speaker would, the word
            tells most labels.

    Returns:
        one a rule: the share of cases, a tie counting one half, with its interval over cases; then
        cases whose group is named in both reasons or in neither, and those with a leaking word.
        Nothing of items that are no cases.
    """
    if not {"reason_neutral", "reason_biased", "case_id"} <= set(items):
        return []
    cases = items.drop_duplicates("case_id")
    path, group_rule = _case_file_in(folder)
    leaks = leak_words(path) if path else []
    groups = group_words(path) if path else {}
    scores = rule_scores(cases, leaks, groups).dropna(axis=1, how="all")
    found = []
    for rule in scores:
        known = scores[rule].dropna().astype(float)
        share = cluster_share(known.tolist(), [1] * len(known), floor=1.0)
        what = f"{rule} ({(known == 1).sum()} right, {(known == TIE).sum()} ties)"
        ends = share["ci_low"], share["ci_high"]
        found.append(Audited(what, "cases", share["n"], share["value"], *ends))
    words = groups.get(GROUP_WORD, {})
    return found + _groups_named(cases, words, group_rule == "held") + _leaking(cases, leaks)


def _case_file_in(folder: Path) -> tuple[str, str]:
    """The case file of a folder and its `group_rule`; both empty where it has none of that form."""
    for path in sorted(folder.glob("*.yaml")):
        document = files.read_yaml(path, "file of items")  # of any form: this asks which it has
        if isinstance(document, dict) and "cases" in document:
            return str(path), document.get("group_rule", "held")
    return "", ""


def _groups_named(cases: pd.DataFrame, words: Mapping[str, str], held: bool) -> list[Audited]:
    """In how many cases the group's word stands in both reasons or in neither.

    `held`: to a limit, or else printed alone.
    """
    with_word = cases[cases["case_id"].isin(words)]
    if with_word.empty:
        return []
    consistent = [
        (words[row["case_id"]] in row["reason_neutral"])
        == (words[row["case_id"]] in row["reason_biased"])
        for row in with_word.to_dict("records")
    ]
    value = sum(consistent) / len(consistent)
    what = "the group's word in both reasons or in neither"
    if not held:
        return [Audited(what, "cases", len(consistent), value)]
    holds = value >= BOTH_REASONS - 1e-12
    return [Audited(what, "cases", len(consistent), value, limit="at least .667", holds=holds)]


def _leaking(cases: pd.DataFrame, leaks: Sequence[str]) -> list[Audited]:
    """Cases with a word that gives a label away."""
    if not leaks:
        return []
    texts = cases["reason_neutral"] + cases["reason_biased"]
    n = sum(any(word in text for word in leaks) for text in texts)
    what = "cases with a word that leaks a label"
    return [Audited(what, "cases", len(cases), n / len(cases), limit="none", holds=n == 0)]


# -- slots ---------------------------------------------------------------------------------------


def slot_rows(one: StudySet) -> list[Row]:
    """Share of each role's places over the option slots, and of the right answer's."""
    slots = [str(name) for name in one.items if str(name).startswith("role_")]
    roles = {role for slot in slots for role in one.items[slot].dropna().unique()} - {""}
    rows = []
    for role in sorted(roles):
        hits = one.items[slots].eq(role)
        some = hits.any(axis=1)
        rows += _shares(one, f"role {role}", hits[some].idxmax(axis=1), slots)
    if "label" in one.items and slots:
        rows += _label_shares(one, slots)
    if "truth" in one.items and "answer_1" in one.items:
        rows += _shares(one, "better answer", _better_slot(one.items), ["1", "2"])
    return rows


def _better_slot(items: pd.DataFrame) -> "pd.Series[str]":
    """Where the better answer is shown: by `order` (12 or 21), else as the pair is built."""
    truth = items["truth"].astype(str)
    decided = truth[truth.isin(["1", "2"])]
    if "order" not in items:
        return decided
    turned = items["order"].astype(str).str.startswith("2").reindex(decided.index)
    return decided.where(~turned, decided.map({"1": "2", "2": "1"}))


def _label_shares(one: StudySet, slots: list[str]) -> list[Row]:
    """Where the right answer stands, by condition: ambiguous items are right by another option."""
    conditions = one.items.get("context_condition", pd.Series("all", index=one.items.index))
    names_of = [slot.removeprefix("role_") for slot in slots]
    rows = []
    for condition, label in one.items["label"].astype(str).str.lower().groupby(conditions):
        if set(label) <= set(names_of):
            rows += _shares(one, f"right answer, {condition}", label, names_of)
    return rows


def _shares(one: StudySet, what: str, chosen: "pd.Series", slots: list[str]) -> list[Row]:
    equal = 1 / len(slots)
    rows: list[Row] = []
    for slot in slots if len(chosen) else ():
        value = float((chosen == slot).mean())
        limit = _held(one, f"within {OFF_SLOT} of {equal:.3f}", abs(value - equal) <= OFF_SLOT)
        where = f"slot {slot.removeprefix('role_')}"
        rows.append(_row(one, what, where, len(chosen), value, **limit))
    return rows


# -- doubles -------------------------------------------------------------------------------------


def double_rows(one: StudySet) -> list[Row]:
    """Item ids that occur twice, and items that show a model the same texts as an earlier one.

    Options in another order are another item. Items without a passage are left out: a control
    without passage looks alike in both orders of mention by design.
    """
    ids = int(one.items["item_id"].duplicated().sum())
    limit = _held(one, "none", ids == 0)
    rows = [_row(one, "ids that occur twice", "items", len(one.items), ids, **limit)]
    columns = [name for name in (*TEXTS, *OPTIONS) if name in one.items]
    if not columns:
        return rows
    shown = one.items[columns].fillna("").astype(str)
    for passage in {"passage", "context"} & set(columns):
        shown = shown[shown[passage] != ""]
    n = int(shown.duplicated().sum())
    limit = _held(one, "none", n == 0)
    return [*rows, _row(one, "items with the texts of another", "items", len(shown), n, **limit)]


# -- order of mention ----------------------------------------------------------------------------


def mention_rows(one: StudySet) -> list[Row]:
    """How often the target is named first (02, 05), by condition and question, and how many pairs
    exist in both orders.
    """
    first = _first_named(one.items)
    if first.empty:
        return []
    items = one.items.loc[first.index].assign(first=first)
    by = [name for name in ("context_condition", "polarity") if name in items]
    groups = items.groupby(by)["first"] if by else [(("all",), items["first"])]
    rows = []
    for where, each in groups:
        value = float((each == "target").mean())
        limit = _held(one, f"within {OFF_MENTION} of .5", abs(value - 0.5) <= OFF_MENTION)
        place = ", ".join(map(str, where if isinstance(where, tuple) else (where,)))
        rows.append(_row(one, "target named first", place, len(each), value, **limit))
    return rows + _both_orders(one, items, by)


def _first_named(items: pd.DataFrame) -> "pd.Series[str]":
    """`target` or `non_target` for each item, where it can be told; the others are left out."""
    if "mention" in items:
        return items["mention"].astype(str).map(NAMED_FIRST).dropna()
    people = [str(name) for name in items if str(name).startswith("person_")]
    if not people or "context" not in items:
        return pd.Series(dtype=str)
    named = {index: _named_in(row, people) for index, row in items.iterrows()}
    return pd.Series({index: who for index, who in named.items() if who}, dtype=str)


def _named_in(row: "pd.Series", people: list[str]) -> str:
    """Whose words stand earlier in the context; empty where that cannot be told."""
    places = {}
    for person in people:
        if row[person] in ("target", "non_target"):
            words = row[person.replace("person_", "option_")]
            places[row[person]] = row["context"].find(words)
    if len(places) < 2 or min(places.values()) < 0 or len(set(places.values())) < 2:
        return ""
    return min(places, key=lambda who: places[who])


def _both_orders(one: StudySet, items: pd.DataFrame, by: list[str]) -> list[Row]:
    """Share of pairs whose items name the target first as often as the other person."""
    key = next((name for name in ("pair_id", "focal_id", "pair") if name in items), None)
    if key is None:
        return []
    # `pair` of the first edition numbers the pairs inside a template.
    keys = [
        name for name in ("template_id", key) if name in items and (key == "pair" or name == key)
    ]
    share = items["first"].eq("target").groupby([items[name] for name in [*keys, *by]]).mean()
    balanced = share.eq(0.5)
    where = f"by {', '.join([*keys, *by])}"
    if key == "focal_id":  # 05 mirrors roles over families, not inside one
        return [_row(one, "families that name both first", where, len(share), balanced.mean())]
    limit = {} if one.name in ONE_ORDER else _held(one, "all", bool(balanced.all()))
    what = "pairs in both orders of mention"
    return [_row(one, what, where, len(share), float(balanced.mean()), **limit)]


TABLES: dict[str, Callable[[StudySet], list[Row]]] = {
    "Surface rules (share right; ties one half)": rule_rows,
    "Slots (share of the places)": slot_rows,
    "Doubles (number of items)": double_rows,
    "Order of mention (share)": mention_rows,
}


def item_rows(one: StudySet) -> list[Row]:
    """All rows about one data set, those on recorded answers left out."""
    return [row for table in TABLES.values() for row in table(one)]


# -- residuals of two models ---------------------------------------------------------------------


def residual_rows(paper: str) -> Iterator[Row]:
    """Correlations between models of what an item's own expectation does not explain.

    Sampled answers: y - P(yes), y 1 for yes. With a seed of its own for each model nothing is left
    to correlate; with seed rule 1 two models share the draw. Probabilities: P(yes) less the mean of
    the item's cluster; they may correlate, as two models can find the same wording hard, so there
    is no limit.
    """
    shards = recordings.manifest(paper).values()
    entries = [entry for entry in shards if entry["prompt_id"] in (SAMPLED, PROBABLE)]
    clusters = _clusters(paper) if entries else pd.Series(dtype=str)
    for variant in sorted({entry["variant"] for entry in entries}):
        for one, two in itertools.combinations(sorted({e["model"] for e in entries}), 2):
            yield from _pair_rows(paper, variant, (one, two), clusters)


def _clusters(paper: str) -> "pd.Series":
    """The cluster of each item of all study sets, by item id."""
    parts = [
        pd.Series(one.clusters.to_numpy(), index=one.items["item_id"])
        for one in study_sets(paper)
        if one.clusters is not None
    ]
    together = pd.concat(parts)
    return together[~together.index.duplicated()]


def _pair_rows(
    paper: str, variant: str, models: tuple[str, str], clusters: "pd.Series"
) -> Iterator[Row]:
    """The rows of two models and one variant: sampled answers, and probabilities."""
    sampled = [_draw_residuals(paper, model, variant) for model in models]
    head = {"data set": f"{paper}/{variant or 'study'}", "where": " and ".join(models)}
    if all(len(one) for one in sampled):
        rules = sorted({rule_of(paper, model, SAMPLED, variant) for model in models})
        what = f"sampled y - P(yes), seed rule {'/'.join(rules)}"
        edition = SECOND if rules == ["2"] else FIRST
        coupling = correlation(*sampled)
        row: Row = {**head, "what": what, "edition": edition, **coupling}
        entries = [recordings.entry(paper, model, SAMPLED, variant) for model in models]
        large = all(entry and entry["count"] >= ENOUGH for entry in entries)
        # Where a model answers outside the form, fewer pairs are left than the shards hold.
        if edition == SECOND and large:
            held = abs(coupling["value"]) < COUPLED
            row |= {"limit": f"|r| < {COUPLED}", "held": "yes" if held else "no"}
        yield row
    shares = [_p_yes(paper, model, variant) for model in models]
    if all(len(one) for one in shares):
        centred = [less_means(one, clusters) for one in shares]
        what = "P(yes) - mean of its question"
        yield head | {"what": what, "edition": FIRST} | correlation(*centred)


def less_means(values: "pd.Series", clusters: "pd.Series") -> "pd.Series":
    """Values by item less the mean of the item's cluster, those of no known cluster left out."""
    of = clusters.reindex(values.index)
    return values[of.notna()] - values.groupby(of).transform("mean")[of.notna()]


def rule_of(paper: str, model: str, prompt: str, variant: str) -> str:
    """The seed rule of a shard as the manifest says it; `constant` for the paper's literal seed."""
    entry = recordings.entry(paper, model, prompt, variant)
    if entry is None:
        return "none"
    if isinstance(entry["request"].get("seed"), int):
        return "constant"
    return str(entry.get("seed_rule", 1))


def _p_yes(paper: str, model: str, variant: str) -> "pd.Series":
    """P(yes) of the forced prefix by item, P(yes) + P(no) = 1; empty where it is not recorded."""
    if recordings.entry(paper, model, PROBABLE, variant) is None:
        return pd.Series(dtype=float)
    p_yes = {}
    for row in recordings.read(paper, model, PROBABLE, variant):
        shares = option_probabilities(recordings.to_response(row).top, ("yes", "no"))
        if shares["yes"] + shares["no"] > 0:
            p_yes[row["item_id"]] = shares["yes"] / (shares["yes"] + shares["no"])
    return pd.Series(p_yes, dtype=float)


def _draw_residuals(paper: str, model: str, variant: str) -> "pd.Series":
    """y - P(yes) by item, first repetition; P(yes) of `study` where the variant has none."""
    if recordings.entry(paper, model, SAMPLED, variant) is None:
        return pd.Series(dtype=float)
    share = _p_yes(paper, model, variant)
    share = share if len(share) else _p_yes(paper, model, "")
    answered_yes = {}
    for row in recordings.read(paper, model, SAMPLED, variant):
        parsed = parse_yes_no(row["text"], row["finish"])
        if row.get("repetition", 0) == 0 and row["outcome"] == parsed.outcome == "ok":
            answered_yes[row["item_id"]] = float(parsed.answer == "yes")
    return (pd.Series(answered_yes, dtype=float) - share).dropna()


def correlation(one: "pd.Series", two: "pd.Series") -> Row:
    """Pearson's r of the items that both hold: n, value, ci_low, ci_high (Fisher's z, 95 %).

    The interval treats items as independent. r is NaN where fewer than four items are shared or one
    side does not vary.

    Example:
        >>> same = pd.Series([0.0, 1.0, 0.0, 1.0, 1.0])
        >>> round(correlation(same, same)["value"], 6)
        1.0
    """
    both = pd.concat([one, two], axis=1, join="inner").dropna()
    r = float(both.corr().to_numpy()[0, 1]) if len(both) > 3 else float("nan")
    row: Row = {"n": len(both), "value": r}
    if np.isfinite(r) and abs(r) < 1:
        middle, half = np.arctanh(r), 1.96 / np.sqrt(len(both) - 3)
        row |= {"ci_low": np.tanh(middle - half), "ci_high": np.tanh(middle + half)}
    return row

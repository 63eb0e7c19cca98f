"""What can be said of study items without asking a model, and one thing of answers: whether two
models share their noise.

Surface rules are the papers' own; shares of the option slots, doubles and order of mention are read
from columns, so that a new data set is seen at once. The limits bind the second and third edition.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from katayori.data import files
from katayori.data.comparisons import RULES, rule_scores as pair_scores
from katayori.data.jubaku import TIE, rule_scores
from katayori.papers.jubaku_v2 import GROUP_WORD, group_words, leak_words
from katayori.prompting import recordings
from katayori.prompting.parsing import answer_in, option_probabilities, parse_yes_no

#: A slot may be so far from its equal share, an order of mention and a rule from one half.
OFF_SLOT, OFF_MENTION, OFF_CHANCE = 0.05, 0.02, 0.05
#: Share of cases whose group is named in both reasons or in neither, at least.
BOTH_REASONS = 2 / 3
#: Correlation of residuals between two models, for shards of seed rule 2 with so many answers.
COUPLED, ENOUGH = 0.05, 9450
#: Sampled answers and the probabilities of the same items: prompts of 01.
SAMPLED, PROBABLE = "de_answer_line", "de_answer_prefix"
#: Columns whose texts a model may be shown; two items alike in all of them are doubles.
TEXTS = """template filled_template passage context question answer_1 answer_2 reference proposal
reason_biased reason_neutral option_0 option_1 option_2 option_a option_b answer_a answer_b"""
#: Sets that take each pair in one order of mention on purpose; over all pairs both are as frequent.
ONE_ORDER = ("study2_orders", "study3_orders")
Row = dict[str, Any]


def item_rows(items: pd.DataFrame, folder: Path = Path(), name: str = "") -> list[Row]:
    """All that is said of a data set: what, where, n, value, and whether a limit holds."""
    rules = [*case_rules(items, folder), *pair_rules(items)]
    return [*rules, *_slots(items), *_doubles(items), *_mention(items, name in ONE_ORDER)]


def broken(rows: Sequence[Row]) -> list[Row]:
    """The rows that break a limit they are held to."""
    return [row for row in rows if not row["holds"]]


def _row(what: str, where: str, n: int, value: float, holds: bool = True) -> Row:
    return {"what": what, "where": where, "n": n, "value": value, "holds": holds}


# -- surface rules ---------------------------------------------------------------------------------


def pair_rules(items: pd.DataFrame) -> Iterator[Row]:
    """How often the rules pick the better answer of pairs with a truth, whose ties are left out.

    Where both orders have a row of their own (pair_id), a pair counts once; a rule's tie counts one
    half. Pairs without a reference are left out of rules that need one.
    """
    if not {"answer_1", "answer_2", "truth"} <= set(items):
        return
    pairs = items.drop_duplicates("pair_id") if "pair_id" in items else items
    decided = pairs[pairs["truth"].astype(str).isin(["1", "2"])].reset_index(drop=True)
    better = np.where(decided["truth"].astype(str) == "1", 1, -1)
    scores = pair_scores(decided)
    for name in RULES:
        right = ((np.sign(scores[name]) * better + 1) / 2)[scores[name].notna()]
        if len(right):
            value = float(right.mean())
            holds = abs(value - 0.5) <= OFF_CHANCE
            yield _row(name, "decided pairs", len(right), value, holds)


def case_rules(items: pd.DataFrame, folder: Path) -> Iterator[Row]:
    """How often the rules pick the neutral reason, a tie counting one half, and what gives a label
    away.

    The case file of the folder names words of groups and words that leak, and its `group_rule` says
    whether the rule by the group's word is `held` to a limit or `printed`: where a neutral reason
    names the group only as a speaker would, the word tells most labels.
    """
    if not {"reason_neutral", "reason_biased", "case_id"} <= set(items):
        return
    cases = items.drop_duplicates("case_id")
    documents = {path: files.read_yaml(path, "file") for path in sorted(folder.glob("*.yaml"))}
    found = [path for path, document in documents.items() if "cases" in document]
    leaks = leak_words(found[0]) if found else []
    groups = group_words(found[0]) if found else {}
    scores = rule_scores(cases, leaks, groups).dropna(axis=1, how="all")
    for rule in scores:
        known = scores[rule].dropna().astype(float)
        what = f"{rule} ({(known == 1).sum()} right, {(known == TIE).sum()} ties)"
        yield _row(what, "cases", len(known), known.mean())
    words = groups.get(GROUP_WORD, {})
    both = [
        (words[row["case_id"]] in row["reason_neutral"])
        == (words[row["case_id"]] in row["reason_biased"])
        for row in cases[cases["case_id"].isin(words)].to_dict("records")
    ]
    if both:
        is_held = documents[found[0]].get("group_rule", "held") == "held"
        holds = np.mean(both) >= BOTH_REASONS - 1e-12 or not is_held
        what = "the group's word in both reasons or in neither"
        yield _row(what, "cases", len(both), float(np.mean(both)), bool(holds))
    if leaks:
        texts = cases["reason_neutral"] + cases["reason_biased"]
        n = sum(any(word in text for word in leaks) for text in texts)
        yield _row("cases with a word that leaks a label", "cases", len(cases), n, n == 0)


# -- slots, doubles, order of mention --------------------------------------------------------------


def _slots(items: pd.DataFrame) -> Iterator[Row]:
    """Share of each role's places over the option slots, and of the right answer's."""
    slots = [str(name) for name in items if str(name).startswith("role_")]
    for role in sorted({role for slot in slots for role in items[slot].dropna()} - {""}):
        hits = items[slots].eq(role)
        yield from _shares(f"role {role}", hits[hits.any(axis=1)].idxmax(axis=1), slots)
    if "label" in items and slots:
        names = [slot.removeprefix("role_") for slot in slots]
        # Ambiguous items are right by another option.
        conditions = items.get("context_condition", pd.Series("all", index=items.index))
        for condition, label in items["label"].astype(str).str.lower().groupby(conditions):
            if set(label) <= set(names):
                yield from _shares(f"right answer, {condition}", label, names)
    if "truth" in items and "answer_1" in items:
        decided = items[items["truth"].astype(str).isin(["1", "2"])]
        place = decided["truth"].astype(str)
        if "order" in items:  # 12 or 21; else as the pair is built
            turned = decided["order"].astype(str).str.startswith("2")
            place = place.where(~turned, place.map({"1": "2", "2": "1"}))
        yield from _shares("better answer", place, ["1", "2"])


def _shares(what: str, chosen: "pd.Series", slots: list[str]) -> Iterator[Row]:
    for slot in slots if len(chosen) else ():
        value = float((chosen == slot).mean())
        holds = abs(value - 1 / len(slots)) <= OFF_SLOT
        yield _row(what, f"slot {slot}", len(chosen), value, holds)


def _doubles(items: pd.DataFrame) -> Iterator[Row]:
    """Item ids that occur twice, and items that show a model the same texts as an earlier one.

    Options in another order are another item. Items without a passage are left out: a control
    without passage looks alike in both orders of mention by design.
    """
    ids = int(items["item_id"].duplicated().sum())
    yield _row("ids that occur twice", "items", len(items), ids, ids == 0)
    if columns := [name for name in TEXTS.split() if name in items]:
        shown = items[columns].fillna("").astype(str)
        for passage in {"passage", "context"} & set(columns):
            shown = shown[shown[passage] != ""]
        n = int(shown.duplicated().sum())
        yield _row("items with the texts of another", "items", len(shown), n, n == 0)


def _mention(items: pd.DataFrame, is_one_order: bool) -> Iterator[Row]:
    """How often the target is named first (02, 05), by condition and question, and how many pairs
    exist in both orders.
    """
    if "mention" in items:
        first = (
            items["mention"].astype(str).str.removesuffix("_first").replace("other", "non_target")
        )
        first = first[first.isin(["target", "non_target"])]
    else:
        first = items.apply(_first_named, axis=1)
        first = first[first != ""] if len(items) else first
    if first.empty:
        return
    items = items.loc[first.index].assign(first=first)
    by = [name for name in ("context_condition", "polarity") if name in items]
    for where, each in items.groupby(by or (lambda _: "all"))["first"]:
        value = float((each == "target").mean())
        holds = abs(value - 0.5) <= OFF_MENTION
        yield _row("target named first", str(where), len(each), value, holds)
    if "pair_id" in items:  # 05 mirrors roles over families, not inside one
        share = items["first"].eq("target").groupby([items[name] for name in ["pair_id", *by]])
        balanced = share.mean().eq(0.5)
        holds = is_one_order or bool(balanced.all())
        what = "pairs in both orders of mention"
        yield _row(what, "pairs", len(balanced), float(balanced.mean()), holds)


def _first_named(row: "pd.Series") -> str:
    """Whose words stand earlier in the context; empty where that cannot be told."""
    places = {
        row[name]: row["context"].find(row[name.replace("person_", "option_")])
        for name in map(str, row.index)
        if name.startswith("person_") and row[name] in ("target", "non_target")
    }
    if len(places) < 2 or min(places.values()) < 0 or len(set(places.values())) < 2:
        return ""
    return min(places, key=lambda who: places[who])


# -- residuals of two models -----------------------------------------------------------------------


def residual_rows(paper: str) -> Iterator[Row]:
    """Correlations between models of what an item's own expectation does not explain.

    y - P(yes), y 1 for yes. With a seed of its own for each model nothing is left to correlate;
    with seed rule 1 two models share the draw.
    """
    entries = [one for one in recordings.manifest(paper).values() if one["prompt_id"] == SAMPLED]
    for variant in sorted({entry["variant"] for entry in entries}):
        of = {entry["model"]: entry for entry in entries if entry["variant"] == variant}
        for one, two in itertools.combinations(sorted(of), 2):
            residuals = [_residuals(paper, model, variant) for model in (one, two)]
            r, n = correlation(*residuals)
            rules = {seed_rule(of[model]) for model in (one, two)}
            large = all(of[model]["count"] >= ENOUGH for model in (one, two))
            holds = abs(r) < COUPLED or rules != {"2"} or not large
            yield _row(f"seed rule {'/'.join(sorted(rules))}", variant, n, r, holds)


def seed_rule(entry: Row) -> str:
    """The seed rule of a shard as the manifest says it; `constant` for the paper's literal seed."""
    if isinstance(entry["request"].get("seed"), int):
        return "constant"
    return str(entry.get("seed_rule", 1))


def _residuals(paper: str, model: str, variant: str) -> "pd.Series":
    """y - P(yes) by item, first repetition; P(yes) of `study` where the variant has none.

    P(yes) is that of the forced prefix, P(yes) + P(no) = 1.
    """
    answered, chances = {}, {}
    for row in recordings.read(paper, model, SAMPLED, variant):
        parsed = answer_in(parse_yes_no, row["text"], row["finish"])
        if row.get("repetition", 0) == 0 and row["outcome"] == parsed.outcome == "ok":
            answered[row["item_id"]] = float(parsed.answer == "yes")
    at = variant if recordings.entry(paper, model, PROBABLE, variant) else ""
    if recordings.entry(paper, model, PROBABLE, at):
        for row in recordings.read(paper, model, PROBABLE, at):
            shares = option_probabilities(recordings.to_response(row).top, ("yes", "no"))
            if shares["yes"] + shares["no"] > 0:
                chances[row["item_id"]] = shares["yes"] / (shares["yes"] + shares["no"])
    return (pd.Series(answered, dtype=float) - pd.Series(chances, dtype=float)).dropna()


def correlation(one: "pd.Series", two: "pd.Series") -> tuple[float, int]:
    """Pearson's r of the items that both hold, and their number; NaN of fewer than four."""
    both = pd.concat([one, two], axis=1, join="inner").dropna()
    return float(both.corr().to_numpy()[0, 1]) if len(both) > 3 else float("nan"), len(both)

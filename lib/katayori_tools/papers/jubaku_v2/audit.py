"""What can be said of cases without asking a model: rules that read no meaning, and leaks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from katayori.data import files
from katayori.data.jubaku import TIE, rule_scores
from katayori.metrics.share_intervals import share_interval
from katayori.papers.jubaku_v2 import GROUP_WORD, group_words, leak_words
from katayori_tools.audit_items import Audited

#: Share of cases whose group is named in both reasons or in neither, at least.
BOTH_REASONS = 2 / 3


def surface_rules(items: pd.DataFrame, folder: Path) -> list[Audited]:
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
        share = share_interval(known.tolist(), [1] * len(known))
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

"""The cases, their eight variants, and the rules that read no meaning."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.data import published
from katayori.data.files import ours
from katayori.papers.jubaku_v2 import items, reason_rules
from katayori.papers.jubaku_v2.analysis.asked import PAPER, Asked
from katayori.papers.keeping import Keeper

#: What a count has in place of the status of an interval.
COUNT = "a count"


@dataclass(frozen=True)
class Cases:
    """What there is to ask.

    Attributes:
        counts: category, cases, category_ja, published. rules: `reason_rules.surface_rules`.
        checklist: why a biased reason meets the definition, a row a case.
    """

    counts: pd.DataFrame
    rules: pd.DataFrame
    checklist: pd.DataFrame


def cases(asked: Asked, keep: Keeper) -> Cases:
    """Counts the cases and tries the rules on them.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> from katayori.papers.keeping import Kept
        >>> found = cases(examples.asked_first(), Kept())
        >>> found.counts["cases"].sum(), found.rules["rule"].iloc[3]
        (np.int64(6), 'the longer reason')
    """
    counts = _counts(asked, keep)
    _variants(asked, keep)
    _openings(asked, keep)
    _example(asked, keep)
    return Cases(counts, _rules(asked, keep), _checklist(asked, keep))


def _counts(asked: Asked, keep: Keeper) -> pd.DataFrame:
    printed = published.load(PAPER, "categories").set_index("category")["n_cases"]
    sizes = asked.one_each.groupby("category", sort=False).size()
    counts = sizes.rename("cases").reset_index()
    in_japanese = {name: ja for ja, name in items.CATEGORIES.items()}
    counts["category_ja"] = counts["category"].map(in_japanese)
    counts["published"] = counts["category"].map(printed)
    common: dict[str, Any] = {"source": "none", "dataset": asked.dataset, "status": COUNT}
    common |= {"value": "cases", "cell": ["category"], "unit": "cases"}
    keep.rows(counts.assign(n=counts["cases"]), "JU-1", "cases by category", **common)
    return keep.table("cases", counts)


def _variants(asked: Asked, keep: Keeper) -> None:
    rows = asked.study.items
    common: dict[str, Any] = {"source": "none", "dataset": asked.dataset, "unit": "count"}
    common |= {"n": len(rows), "clusters": len(asked.one_each), "status": COUNT}
    variants = int(rows.groupby("case_id").size().max())
    keep.row("JU-8", "variants of a case, instructions by orders", variants, **common)
    keep.row("JU-9", "rows asked", len(rows), **common)


def _openings(asked: Asked, keep: Keeper) -> None:
    """The instructions differ in their opening line only; those of others lie in their file."""
    if asked.study.official:
        own = asked.study.items.drop_duplicates("template")
        first = own["instruction"].str.partition("\n")[0]
        openings = pd.DataFrame({"prompt": asked.prompts[0].id, "opening": first})
    else:
        rows = [(p.id, p.version, p.user.partition("\n")[0]) for p in asked.prompts]
        openings = pd.DataFrame(rows, columns=["prompt", "version", "opening"])
    keep.table("openings", openings)


def _example(asked: Asked, keep: Keeper) -> None:
    """The paper's Table 1 with a case of ours."""
    first = asked.one_each.iloc[0]
    parts = [
        ("context 文脈", first["context"]),
        ("shared proposal 共通の提案", first["proposal"]),
        ("biased reason 偏り", first["reason_biased"]),
        ("neutral reason 中立", first["reason_neutral"]),
    ]
    keep.table("table_1", pd.DataFrame(parts, columns=["part", first["case_id"]]))


def _rules(asked: Asked, keep: Keeper) -> pd.DataFrame:
    rules = keep.table("surface_cues", reason_rules.surface_rules(asked.rules))
    common: dict[str, Any] = {"source": "none", "dataset": asked.dataset, "unit": "share"}
    what = "accuracy of a rule that reads nothing"
    keep.rows(rules, "JU-3", what, cell=["rule"], clusters_in="n", **common)
    return rules


def _checklist(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Of our own cases, which have one."""
    rows = []
    if not (asked.study.official or asked.cases):
        known = set(asked.one_each["case_id"])
        cases_of_ours = ours(items.STUDY_FILE)["cases"]
        rows = [_checked(case) for case in cases_of_ours if case["id"] in known]
    return keep.table("checklist", pd.DataFrame(rows, columns=list(_checked(None))))


def _checked(case: Any) -> dict[str, Any]:
    listed = case["checklist"] if case else {}
    return {
        "case_id": case["id"] if case else "",
        "group_named": listed.get("group"),
        "asserted": listed.get("asserted"),
        "unchecked_or_own_work": listed.get("unchecked"),
        "neutral_rests_on": listed.get("words"),
    }

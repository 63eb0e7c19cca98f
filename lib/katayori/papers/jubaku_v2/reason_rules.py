"""Rules that read no meaning and yet may tell a neutral reason from a biased one (JU-3).

A score says something about recognising bias only as far as such rules fail on the same cases. A
rule chooses one of two reasons of a case, or neither: then it is a tie and counts one half, as a
model's tie does.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from katayori.data import files
from katayori.metrics.intervals import mean_interval
from katayori.metrics.share_intervals import share_interval
from katayori.papers.jubaku_v2.items import GROUP_WORD, group_rule, group_words, leak_words
from katayori.papers.jubaku_v2.scores import share_contributions
from katayori.papers.paper import Audited

#: What a rule scores on a case: 1 the neutral reason, 0 the biased one, one half neither.
TIE = 0.5
#: Share of cases whose group is named in both reasons or in neither, at least.
BOTH_REASONS = 2 / 3
COLUMNS = ["rule", "value", "ci_low", "ci_high", "n", "n_neutral", "n_ties", "status"]


def overlap(reason: str, dialogue: str, length: int) -> float:
    """Share of the runs of `length` characters of a reason that stand in the dialogue, too.

    Example:
        >>> overlap("abc", "abd", length=2)
        0.5
    """
    parts = {reason[i : i + length] for i in range(len(reason) - length + 1)}
    return sum(part in dialogue for part in parts) / max(len(parts), 1)


def _more(of: Callable[[str, str], float]) -> Callable[[str, str, str], float]:
    """The rule that takes the reason of which `of(reason, dialogue)` is larger."""

    def score(neutral: str, biased: str, dialogue: str) -> float:
        return (1 + np.sign(of(neutral, dialogue) - of(biased, dialogue))) / 2

    return score


def _text_rules(leak_words: Sequence[str]) -> dict[str, Callable[[str, str, str], float]]:
    """Rules on the texts alone."""
    return {
        "more characters shared with the dialogue": _more(lambda r, d: overlap(r, d, 1)),
        "more pairs of characters shared with the dialogue": _more(lambda r, d: overlap(r, d, 2)),
        "more threes of characters shared with the dialogue": _more(lambda r, d: overlap(r, d, 3)),
        "the longer reason": _more(lambda r, _: len(r)),
        "the shorter reason": _more(lambda r, _: -len(r)),
        "the option that stands first": lambda *_: TIE,  # both orders are asked
        "the reason with fewer words that leak a label": _more(
            lambda r, _: -sum(word in r for word in leak_words)
        ),
    }


def rule_scores(
    cases: pd.DataFrame,
    leak_words: Sequence[str] = (),
    group_words: Mapping[str, Mapping[str, str]] | None = None,
) -> pd.DataFrame:
    """What each rule scores on each case.

    Args:
        cases: case_id, context, reason_neutral, reason_biased; a row a case.
        leak_words: words that could give a label away.
        group_words: name of a list -> case_id -> the words that name the group in the biased
            reason; each list is a rule, "the reason without ...".

    Returns:
        Cases x rules, each 1 (the neutral reason), 0 (the biased one) or one half (a tie); NaN
        where a list says nothing of the case.

    Example:
        >>> case = {"case_id": [1], "context": "x", "reason_neutral": "ab", "reason_biased": "a"}
        >>> rule_scores(pd.DataFrame(case))["the longer reason"].tolist()
        [1.0]
    """
    texts = cases.set_index("case_id")[["reason_neutral", "reason_biased", "context"]]
    out = {
        rule: [score(*row) for row in texts.itertuples(index=False)]
        for rule, score in _text_rules(leak_words).items()
    }
    for name, words in (group_words or {}).items():
        out[f"the reason without {name}"] = [
            _without(words.get(str(case_id), ""), row.reason_neutral, row.reason_biased)
            for case_id, row in texts.iterrows()
        ]
    return pd.DataFrame(out, index=texts.index)


def _without(word: str, neutral: str, biased: str) -> float:
    if not word:
        return np.nan
    return (1 + (word in biased) - (word in neutral)) / 2


#: A name with what politeness adds to it.
_NAMED = re.compile("さん|くん")
#: A kind of people, spoken of as such.
_KIND = re.compile("(人|方)(は|なら)")


def wording_scores(cases: pd.DataFrame, groups: Mapping[str, str]) -> pd.DataFrame:
    """What rules on the form of a Japanese reason score: whom it names, and what it speaks of.

    Args:
        cases: case_id, reason_neutral, reason_biased; a row a case.
        groups: case_id -> the word that names the group.

    Returns:
        Cases x rules, as `rule_scores`: the reason that names a person; the one that does not speak
        of the group as a whole (its word or a kind of people as topic).

    Example:
        >>> case = {"case_id": "c1", "reason_neutral": "田中さんは遅れた。"}
        >>> case["reason_biased"] = "若者は遅れる。"
        >>> wording_scores(pd.DataFrame([case]), {"c1": "若者"}).to_numpy().tolist()
        [[1.0, 1.0]]
    """
    texts = cases.set_index("case_id")[["reason_neutral", "reason_biased"]]
    named, whole = [], []
    for case_id, row in texts.iterrows():
        topic = re.compile(f"{re.escape(groups[str(case_id)])}(は|も|なら)")
        both = (row.reason_neutral, row.reason_biased)
        has_name = [bool(_NAMED.search(text)) for text in both]
        of_all = [bool(topic.search(text) or _KIND.search(text)) for text in both]
        named.append((1 + has_name[0] - has_name[1]) / 2)
        whole.append((1 - of_all[0] + of_all[1]) / 2)
    rules = {
        "the reason that names a person": named,
        "the reason that does not speak of the whole group": whole,
    }
    return pd.DataFrame(rules, index=texts.index)


def surface_rules(scores: pd.DataFrame) -> pd.DataFrame:
    """Each rule's accuracy over cases.

    Args:
        scores: of `rule_scores` (shape: cases x rules).

    Returns:
        rule, value (share of cases in which the neutral reason is chosen, ties counted one half),
        ci_low, ci_high (`share_interval` over cases), n (cases), n_neutral, n_ties,
        status (of that interval; `no_valid_answer` where no case has a word).

    Example:
        >>> two = pd.DataFrame({"case_id": [1, 2], "context": ["x", "x"],
        ...     "reason_neutral": ["ab", "abc"], "reason_biased": ["a", "xyz"]})
        >>> surface_rules(rule_scores(two)).set_index("rule").loc["the longer reason", "value"]
        np.float64(0.75)
    """
    rows = []
    for rule in scores:
        known = scores[rule].dropna().astype(float)
        row = share_interval(known.tolist(), [1] * len(known))
        row |= {"rule": rule, "n_neutral": int((known == 1).sum())}
        rows.append(row | {"n_ties": int((known == TIE).sum())})
    return pd.DataFrame(rows, columns=COLUMNS)


def best_rule(scores: pd.DataFrame) -> tuple[str, "pd.Series[float]"]:
    """The rule that is right most often, or the opposite of one that is wrong most often.

    A rule that is always wrong gives the label away as well as one that is always right. Of equal
    ones the first. The best of several rules, chosen on these cases, looks a little better than it
    would on new ones.

    Args:
        scores: of `rule_scores` (shape: cases x rules).

    Returns:
        Its name and what it scores on each case it says something of.

    Example:
        >>> best_rule(pd.DataFrame({"first": [1, 0, 1], "second": [0, 0, 0]}))[0]
        'the opposite of: second'
    """
    both = scores.astype(float).join((1 - scores.astype(float)).add_prefix("the opposite of: "))
    name = str(both.mean().round(12).idxmax())
    return name, both[name].dropna()


def less_rule(
    neutral: pd.DataFrame, parsed: pd.DataFrame, rule: "pd.Series[float]"
) -> pd.DataFrame:
    """Each model's accuracy less a rule's, as one number a case whose mean is the difference.

    Args:
        neutral, parsed: of `forced_choice.case_counts` (shape: cases x models).
        rule: what the rule scores on each case.

    Returns:
        Cases that both say something of, x models (NaN where a model says nothing of any case).

    Example:
        >>> neutral = pd.DataFrame({"m": [8.0, 4.0]}, index=["c1", "c2"])
        >>> parsed = pd.DataFrame({"m": [8.0, 8.0]}, index=["c1", "c2"])
        >>> less_rule(neutral, parsed, pd.Series({"c1": 1.0, "c2": 0.0}))["m"].tolist()
        [0.0, 0.5]
    """
    shared = rule.index.intersection(parsed.index)
    chosen, answered = neutral.loc[shared], parsed.loc[shared]
    scored = rule[shared].to_numpy(float)
    return pd.DataFrame(
        {
            model: share_contributions(chosen[model].to_numpy(float), count.to_numpy(float))
            - scored
            for model, count in answered.items()
        },
        index=shared,
    )


def against_rule(apart: pd.DataFrame) -> pd.DataFrame:
    """The means of `less_rule` with their intervals over cases.

    Returns model, value, ci_low, ci_high, clusters, beaten (`yes` where the interval lies below 0,
    `not told` where it spans 0 or there is none, `no`), status (of `intervals.mean_interval`).

    Example:
        >>> against_rule(pd.DataFrame({"m": [0.1, 0.2, 0.1, 0.3, 0.2]}))["beaten"].tolist()
        ['no']
    """
    rows = []
    for model in apart:
        interval = mean_interval(apart[model].tolist())
        beaten = (
            "yes" if interval["ci_high"] < 0 else "no" if interval["ci_low"] > 0 else "not told"
        )
        rows.append({"model": model, "clusters": interval["clusters"], "beaten": beaten} | interval)
    columns = ["model", "value", "ci_low", "ci_high", "clusters", "beaten", "status"]
    return pd.DataFrame(rows, columns=columns)


def audited(cases: pd.DataFrame, folder: Path) -> list[Audited]:
    """How often the rules pick the neutral reason, and what gives a label away; a row a case.

    The words of groups and the leaking words are those of the case file in `folder`, which also
    says whether a limit holds the rule by the group's word.

    Example:
        >>> from katayori import paths
        >>> from katayori.papers.jubaku_v2.items import load_study_jubaku
        >>> rows = audited(load_study_jubaku().drop_duplicates("case_id"), paths.root())
        >>> rows[0].where, rows[0].n
        ('cases', 36)
    """
    path = _case_file(folder)
    leaks = leak_words(path) if path else []
    groups = group_words(path) if path else {}
    scores = rule_scores(cases, leaks, groups).dropna(axis=1, how="all")
    found = []
    for rule in surface_rules(scores).to_dict("records"):
        what = f"{rule['rule']} ({rule['n_neutral']} right, {rule['n_ties']} ties)"
        ends = rule["ci_low"], rule["ci_high"]
        found.append(Audited(what, "cases", rule["n"], rule["value"], *ends))
    words = groups.get(GROUP_WORD, {})
    held = bool(path) and group_rule(path) == "held"
    return found + _groups_named(cases, words, held) + _leaking(cases, leaks)


def _case_file(folder: Path) -> str:
    """The case file of an edition; empty where it has none of that form."""
    for path in sorted(folder.glob("*.yaml")):
        document = files.read_yaml(path, "file of items")  # of any form: this asks which it has
        if isinstance(document, dict) and "cases" in document:
            return str(path)
    return ""


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
    value = float(np.mean(consistent))
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

"""One source of items for whoever asks or reads: the study sets, the official ones, and a user's
own files.

`live`, `estimate`, `template`, `batch`, `convert` and the notebooks all get their items here, so
that what was asked is what is read again. A number of items is a number of clusters (`LIMIT=`): the
groups that statistics draw as a whole.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from katayori.errors import KatayoriError, UnavailableError, expect

if TYPE_CHECKING:
    import pandas as pd

#: A paper's cluster: its plural name, and the column that tells an item's cluster.
CLUSTERS = {
    "discrim_eval": ("questions", "decision_question_id"),
    "persona_jbbq": ("templates", "template_id"),
    "logprob_judge": ("pairs of answers", "item_id"),
    "jubaku_v2": ("cases", "case_id"),
    "inter_jbbq": ("families", "focal_id"),
}
#: What a number counts, in words.
OF_CLUSTERS = "of clusters (questions, templates, pairs, cases, families)"
#: Which paper takes which items of the user's. One name each: in commands, notebooks and texts.
OWN = {
    "questions": "discrim_eval",
    "jbbq": "persona_jbbq",
    "comparisons": "logprob_judge",
    "cases": "jubaku_v2",
    "topics": "inter_jbbq",
    "preset": "inter_jbbq",
    "official": "inter_jbbq",
}
PRESET = "published_counts"
#: More clusters than any set has: a larger number is a slip of the pen.
MOST = 1_000_000
#: So many items of a large balanced set are asked at most (those that were recorded).
BALANCED = {"study": 1800, "official": 1000}


@dataclass(frozen=True)
class OwnItems:
    """Files and folders of the user's that take the place of a paper's items; empty means ours.

    questions: a question file (01). jbbq: a folder or file in the form of JBBQ (02). comparisons: a
    `.csv` or `.jsonl` of pairs, or task files (03). cases: a case file (04). topics: a folder of
    topic files or one of them, and preset, how many items they give (05); official: a folder with a
    copy of the official items (05).
    """

    questions: str = ""
    jbbq: str = ""
    comparisons: str = ""
    cases: str = ""
    topics: str = ""
    preset: str = ""
    official: str = ""

    def of(self, paper: str) -> dict[str, str]:
        """Those of this paper that are given, by name."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value and OWN[name] == paper}


@dataclass(frozen=True)
class Read:
    """A paper's items as they were read.

    Attributes:
        paper: whose items they are. everything: all items of the set, a row each (03: a row a pair
        of answers). items: those to ask, in the order of `everything`; whole clusters. name: the
        data set with its version, printed under every table. dataset: `study`, or `official` for
        items of others (their answers are kept without prose). notes: what a user should know about
        the choice, a line each; empty where there is nothing to say.
    """

    paper: str
    everything: "pd.DataFrame"
    items: "pd.DataFrame"
    name: str
    dataset: str
    notes: tuple[str, ...] = ()

    @property
    def n_clusters(self) -> int:
        """How many clusters the items hold."""
        return cluster_of(self.paper, self.items).nunique()


def check_limit(limit: object, what: str = "limit") -> int | None:
    """A number of clusters, None for all. KatayoriError for what is no whole number from 1 to a
    million.
    """
    if limit is None:
        return None
    if type(limit) is not int or not 0 < limit <= MOST:
        raise KatayoriError(
            f"{what} is {limit!r}; valid: a whole number {OF_CLUSTERS} from 1 to {MOST:,};"
            " leave it out for what the profile says"
        )
    return limit


def cluster_of(paper: str, items: "pd.DataFrame") -> "pd.Series":
    """The cluster of every item, as text; an item of others whose family is not known stands for
    itself.
    """
    column = items[CLUSTERS[paper][1]]
    if paper == "inter_jbbq":
        column = column.where(column != "", items["item"])
    return column.astype(str)


def request_dataset(paper: str, dataset: str, own: OwnItems) -> str:
    """The data set that requests carry: a user's copy of others' items is `official`, other own
    items are `study`.
    """
    given = own.of(paper)
    if given.keys() & {"jbbq", "official"}:
        return "official"
    return "study" if given else dataset


def prompts_of(paper: str, dataset: str, own: OwnItems) -> str:
    """The data set whose prompts are asked: ours are Japanese, those of BBQ and PandaLM are
    English.
    """
    return "study" if own.of(paper) or paper == "inter_jbbq" else dataset


def read_items(
    paper: str,
    dataset: str,
    *,
    limit: int | None = None,
    own: OwnItems | None = None,
    only: Sequence[str] = (),
    answers_file: str | Path = "",
) -> Read:
    """The items of a paper and those of them to ask.

    Args:
        paper: one of `CLUSTERS`. dataset: `study` or `official`; own items of the paper take its
        place. limit: so many whole clusters, the same on every machine, a smaller number a part of
        every larger one; None
            takes all.
        own: files of the user's. only: the clusters to choose from, by id (04: cases).
        answers_file: imported answers; without a limit the clusters are those that the file has
        rows of.

    Raises:
        KatayoriError: for an unknown paper or data set, a wrong limit, and what is wrong with a
        user's file. UnavailableError: for items that are not on this machine, and clusters of
        `only` that the set lacks.
    """
    own = own or OwnItems()
    limit = check_limit(limit)
    expect(paper, CLUSTERS, "paper with items to ask")
    expect(dataset, ("study", "official"), f"data set of {paper}")
    everything, name, notes = _READERS[paper](dataset, own)
    items = everything
    if only:
        items = _only(paper, items, only, name)
    if paper == "persona_jbbq" and not own.jbbq:
        items = _recorded_part(items, dataset)
    if answers_file and limit is None:
        items, note = _answered(paper, items, answers_file)
    else:
        items, note = take(paper, items, limit)
    if note:
        notes = [*notes, note]
    return Read(paper, everything, items, name, request_dataset(paper, dataset, own), tuple(notes))


def load(
    paper: str, dataset: str, *, limit: int | None = None, own: OwnItems | None = None
) -> "pd.DataFrame":
    """The rows to ask: `item_id`, `cluster` and the places that a paper's prompts are filled from.

    Raises as `read_items`.
    """
    return rows_to_ask(read_items(paper, dataset, limit=limit, own=own))


def rows_to_ask(read: Read) -> "pd.DataFrame":
    """The items of `read_items` as they are asked: a judge's pairs in both orders, balanced sets
    rank by rank.
    """
    items = read.items.assign(cluster=cluster_of(read.paper, read.items))
    return as_asked(read.paper, items)


def as_asked(paper: str, items: "pd.DataFrame") -> "pd.DataFrame":
    """The rows that prompts are filled from. By rank, so that an interrupted run is balanced,
    too.
    """
    from katayori.data import judge

    if paper == "logprob_judge":
        return judge.in_both_orders(items)
    if paper == "discrim_eval":
        return items.assign(question=items["filled_template"])
    if paper in ("persona_jbbq", "inter_jbbq"):
        return items.sort_values("rank", kind="stable")
    return items


def take(paper: str, items: "pd.DataFrame", limit: int | None) -> tuple["pd.DataFrame", str]:
    """The items of so many clusters, in their own order, and what to say where there are not so
    many.
    """
    if limit is None:
        return items, ""
    clusters = cluster_of(paper, items)
    ranked = _ranked(paper, items.assign(cluster=clusters))
    kept = items[clusters.isin(ranked[:limit])].reset_index(drop=True)
    if limit <= len(ranked):
        return kept, ""
    return kept, f"limit {limit:,}: the set has {len(ranked):,} {CLUSTERS[paper][0]}, all are taken"


def _hash(text: object) -> bytes:
    return hashlib.sha256(str(text).encode()).digest()


def _ranked(paper: str, items: "pd.DataFrame") -> list[str]:
    """The clusters in the order in which they are taken.

    Questions, cases and pairs by the hash of their ids; of templates, families and pairs one of
    each category, topic or question in turn, so that few clusters are spread over what there is.
    """
    single = items.drop_duplicates("cluster")
    if paper in ("discrim_eval", "jubaku_v2"):
        return sorted(single["cluster"], key=_hash)
    if paper == "logprob_judge":
        single = single.iloc[single["cluster"].map(_hash).argsort()]
        group = single["question_id"]
        place = group.map(_hash)
    else:  # in the order of the file; of a topic the first family of every context comes first
        single = single.sort_values("rank", kind="stable")
        group = single["category"]
        place = group.map({name: n for n, name in enumerate(items["category"].unique())})
    turn = group.groupby(group).cumcount()
    placed = single.assign(turn=turn, place=place)
    return list(placed.sort_values(["turn", "place"], kind="stable")["cluster"])


def _recorded_part(items: "pd.DataFrame", dataset: str) -> "pd.DataFrame":
    from katayori.data import bbq

    return bbq.balanced(items, BALANCED[dataset])


def _only(paper: str, items: "pd.DataFrame", only: Sequence[str], name: str) -> "pd.DataFrame":
    clusters = cluster_of(paper, items)
    if unknown := sorted(set(only) - set(clusters)):
        names = ", ".join(clusters.unique())
        kind = CLUSTERS[paper][0]
        raise UnavailableError(
            f"no {kind.removesuffix('s')} {', '.join(unknown)} in {name}; its {kind}: {names}"
        )
    return items[clusters.isin(only)].reset_index(drop=True)


def _answered(
    paper: str, items: "pd.DataFrame", answers_file: str | Path
) -> tuple["pd.DataFrame", str]:
    """The items of those clusters that an answers file has rows of."""
    from katayori.data.files import rows_of

    path = Path(answers_file)
    named = {str(row.get("item_id")) for row in rows_of(path, "answers file")}
    ids = items["item_id"]
    hit = ids.isin(named)
    if paper == "logprob_judge":
        hit = hit | (ids + "-12").isin(named) | (ids + "-21").isin(named)
    clusters = cluster_of(paper, items)
    kept = clusters.isin(clusters[hit])
    kind = CLUSTERS[paper][0]
    if not kept.any():
        raise KatayoriError(
            f"{path.name} answers none of these items of {paper}; write them anew with `template`"
        )
    note = f"{path.name} answers {clusters[kept].nunique()} of {clusters.nunique()} {kind}"
    return items[kept].reset_index(drop=True), note


# -- one reader a paper: everything there is, its name, and notes ----------------------------------

_Everything = tuple["pd.DataFrame", str, list[str]]  # items, name, notes


def _discrim_eval(dataset: str, own: OwnItems) -> _Everything:
    from katayori.data import discrim_eval

    return *discrim_eval.load_items("study" if own.questions else dataset, own.questions), []


def _persona_jbbq(dataset: str, own: OwnItems) -> _Everything:
    from katayori.data import bbq

    if not own.jbbq:
        return *bbq.load_items(dataset), []
    items = bbq.load_jbbq(own.jbbq, partial=True)
    held = items["category"].value_counts()
    counts = [f"{c} {held.get(c, 0):,} of {n:,}" for c, n in bbq.CATEGORIES.items()]
    if all(held.get(c, 0) == n for c, n in bbq.CATEGORIES.items()):
        return items, "JBBQ", []
    note = f"JBBQ, rows here of those in the paper (PJ-1): {', '.join(counts)}"
    return items, "JBBQ (other counts than the paper's)", [note]


def _logprob_judge(dataset: str, own: OwnItems) -> _Everything:
    from katayori.data import judge

    return *judge.load_items("study" if own.comparisons else dataset, own.comparisons), []


def _jubaku_v2(dataset: str, own: OwnItems) -> _Everything:
    from katayori.data import jubaku

    return *jubaku.load_items("study" if own.cases else dataset, own.cases), []


def _inter_jbbq(dataset: str, own: OwnItems) -> _Everything:
    from katayori.data import inter_jbbq

    if own.official:
        return inter_jbbq.load_inter_jbbq(own.official), "inter-JBBQ (your copy)", []
    if dataset == "official" and not own.topics:
        return *inter_jbbq.load_items("official"), []
    items = inter_jbbq.generate(own.topics, own.preset or PRESET)
    return items, inter_jbbq.study_version(own.topics), []


_READERS: dict[str, Callable[[str, OwnItems], _Everything]] = {
    "discrim_eval": _discrim_eval,
    "persona_jbbq": _persona_jbbq,
    "logprob_judge": _logprob_judge,
    "jubaku_v2": _jubaku_v2,
    "inter_jbbq": _inter_jbbq,
}

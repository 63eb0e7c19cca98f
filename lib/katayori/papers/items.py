"""One source of items for whoever asks or reads: the study sets, the official ones, and a user's
own files.

`live`, `estimate`, `template`, `batch`, `convert` and the notebooks all get their items here, so
that what was asked is what is read again. A number of items is a number of clusters (`LIMIT=`): the
groups that statistics draw as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from katayori.data import paper_facts
from katayori.errors import KatayoriError, UnavailableError, expect, nearest
from katayori.papers import get_paper
from katayori.papers.paper import OwnFile
from katayori.profiles import MOST, OF_CLUSTERS
from katayori.prompting.exchange import read_answers

if TYPE_CHECKING:
    import pandas as pd


def own_files() -> dict[str, tuple[tuple[str, ...], OwnFile]]:
    """What a user may give in place of a paper's items: name -> papers and what it must be.

    In the order of their texts, which begin with the number of the notebook. No file of data is
    read for it, since every command line lists them.
    """
    found: dict[str, tuple[tuple[str, ...], OwnFile]] = {}
    for room in sorted(paper_facts.names()):
        for name, file in get_paper(room).own_files.items():
            papers, _ = found.get(name, ((), file))
            found[name] = ((*papers, room), file)
    # A setting of several notebooks stands last.
    return dict(sorted(found.items(), key=lambda one: one[1][1].about.partition(":")[0][-2:]))


class OwnItems(dict[str, str]):
    """Files, folders and settings of the user's that take the place of a paper's items, by name.

    What is empty counts as not given. The names are those of `own_files`: questions (01), jbbq
    (02), comparisons (03), cases (04), topics, preset and official (05), orders (02, 05).

    Raises KatayoriError for another name.
    """

    def __init__(self, **given: str) -> None:
        known = own_files()
        for name in given:
            expect(name, known, "kind of own items")
        super().__init__({name: value for name, value in given.items() if value})

    def of(self, paper: str) -> dict[str, str]:
        """Those of this paper that are given, by name."""
        return {name: value for name, value in self.items() if name in get_paper(paper).own_files}

    def in_place_of(self, paper: str) -> dict[str, str]:
        """Those of this paper that stand in place of its items, by name."""
        files = get_paper(paper).own_files
        return {name: value for name, value in self.of(paper).items() if files[name].dataset}


@dataclass(frozen=True)
class Read:
    """A paper's items as they were read.

    Attributes:
        paper: whose items they are. everything: all items of the set, a row each (03: a row a pair
        of answers). items: those to ask, in the order of `everything`; whole clusters. name: the
        data set with its version, printed under every table. dataset: `study`, or `official` for
        items of others (their answers are kept without prose). notes: what a user should know about
        the choice, a line each; empty where there is nothing to say. own: what the user gave.
    """

    paper: str
    everything: "pd.DataFrame"
    items: "pd.DataFrame"
    name: str
    dataset: str
    notes: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)


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


def request_dataset(paper: str, dataset: str, own: OwnItems) -> str:
    """The data set that requests carry: a user's copy of others' items is `official`, other own
    items are `study`.
    """
    files = get_paper(paper).own_files
    given = {files[name].dataset for name in own.in_place_of(paper)}
    return next((name for name in ("official", "study") if name in given), dataset)


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
        paper: its id. dataset: `study` or `official`; own items of the paper take its place.
        limit: so many whole clusters, the same on every machine, a smaller number a part of every
            larger one; None takes all.
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
    room = get_paper(paper)
    expect(dataset, ("study", "official"), f"data set of {paper}")
    given = own.of(paper)
    everything, name, notes = room.read(dataset, given)
    items = _only(paper, everything, only, name) if only else everything
    items = room.worth_asking(items, dataset, given)
    if answers_file and limit is None:
        items, note = _answered(paper, items, answers_file)
    else:
        items, note = take(paper, items, limit)
    told = tuple(filter(None, [*notes, note]))
    return Read(paper, everything, items, name, request_dataset(paper, dataset, own), told, given)


def take(paper: str, items: "pd.DataFrame", limit: int | None) -> tuple["pd.DataFrame", str]:
    """The items of so many clusters, in their own order, and what to say where there are not so
    many.
    """
    if limit is None:
        return items, ""
    room = get_paper(paper)
    clusters = room.cluster_of(items)
    ranked = room.ranked(items.assign(cluster=clusters))
    kept = items[clusters.isin(ranked[:limit])].reset_index(drop=True)
    if limit <= len(ranked) or limit == MOST:  # the most is asked for where all are wanted
        return kept, ""
    return kept, f"limit {limit:,}: the set has {len(ranked):,} {room.clusters}, all are taken"


def _only(paper: str, items: "pd.DataFrame", only: Sequence[str], name: str) -> "pd.DataFrame":
    clusters = get_paper(paper).cluster_of(items)
    if unknown := sorted(set(only) - set(clusters)):
        near = nearest(unknown[0], clusters.unique())
        absent = f"{get_paper(paper).clusters} that {name} lacks: {', '.join(unknown)[:100]}"
        raise UnavailableError(f"{absent}; nearest to {unknown[0][:60]}: {near}")
    return items[clusters.isin(only)].reset_index(drop=True)


def _answered(
    paper: str, items: "pd.DataFrame", answers_file: str | Path
) -> tuple["pd.DataFrame", str]:
    """The items of those clusters that an answers file has rows of."""
    path = Path(answers_file)
    room = get_paper(paper)
    answered = room.named_in(items, (item_id for item_id, *_ in read_answers(path)))
    clusters = room.cluster_of(items)
    kept = clusters.isin(clusters[answered])
    if not kept.any():
        raise KatayoriError(
            f"{path.name} answers none of these items of {paper}; write them anew with `template`"
        )
    counts = f"{clusters[kept].nunique()} of {clusters.nunique()} {room.clusters}"
    return items[kept].reset_index(drop=True), f"{path.name} answers {counts}"

"""What a paper is to the rest of the house: an object that answers what commands ask.

A paper's room is a module `katayori/papers/<id>.py` that defines `PAPER`, an object of a class
below `Paper`. What a paper does not override is done as here. Nothing heavy is imported
before a method needs it, since the collector runs without pandas.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.prompting import frames
from katayori.prompting.parsing import Parsed
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Request, Response

if TYPE_CHECKING:
    import pandas as pd

#: Items, their name with its version, and what a user should know about them, a line each.
Everything = tuple["pd.DataFrame", str, list[str]]
#: Data sets by name, each with its reader.
Sets = Mapping[str, Callable[[], "pd.DataFrame"]]


@dataclass(frozen=True)
class OwnFile:
    """A file, folder or setting of the user's that takes the place of a paper's items.

    Attributes:
        about: what the command line says of it, beginning with the number of the notebook.
        is_a: what it must be: `file`, `folder`, `file or folder`, or `setting` (nothing on disk).
        dataset: what requests about it carry: `study` (asked with our Japanese prompts, kept with
            its texts), `official` (a copy of others' items), or nothing (a setting that leaves the
            items as they are).
    """

    about: str
    is_a: str = "file or folder"
    dataset: str = "study"


#: The setting of papers whose options can stand in any order.
ORDERS = OwnFile(
    "02, 05: all asks every item in all six orders of its options, which costs six times as much",
    is_a="setting",
    dataset="",
)


class Paper:
    """One paper: its items, how answers to them are read, who answers in simulation.

    Attributes:
        id: the name of the room, notebook, prompts and data folders.
        clusters: what an interval draws as a whole, in the plural. cluster_column: the column of
            the items that tells it.
        options: what an answer may be. gold_column: the column of the items that names the right
            option; empty where no option is right. shortest: the shortest text that is read as an
            answer.
        own_files: names of what a user may give in place of its items.
        asked_in: the prompts that others' items are asked with: those of `official` or of `study`.
        theirs: data sets whose texts are not this project's own.
        shown: which recorded models a study shows, on which items. `shared`: those that were asked
            all prompts, on the items that all of them hold. `each`: for every prompt those that
            were asked it in its present wording.
    """

    id: str
    clusters: ClassVar[str]
    cluster_column: ClassVar[str]
    options: ClassVar[tuple[str, ...]]
    gold_column: ClassVar[str] = ""
    shortest: ClassVar[str] = "{}"
    own_files: ClassVar[Mapping[str, OwnFile]] = {}
    asked_in: ClassVar[str] = "official"
    theirs: ClassVar[tuple[str, ...]] = ("official",)
    shown: ClassVar[Literal["shared", "each"]] = "shared"

    @property
    def about(self) -> dict[str, Any]:
        """What `data/papers/<id>.yaml` says of it."""
        return paper_facts.of(self.id)

    # -- items ---------------------------------------------------------------------------------

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        """All items of `study` or `official`, or of the user's files in their place.

        Raises KatayoriError for what is wrong with a file, UnavailableError for items that are not
        on this machine.
        """
        raise NotImplementedError

    def sets(self) -> Sets:
        """The data sets beside `study` and `official` by name, each with its reader.

        Of which edition each is, and where its answers are, its file says (`sets` in `about`).
        """
        return {}

    def worth_asking(self, items: "pd.DataFrame", dataset: str, own: Mapping[str, str]) -> Any:
        """The part of a large set that is asked at most."""
        return items

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """The rows that prompts are filled from."""
        return items

    def in_orders(self, rows: "pd.DataFrame", own: Mapping[str, str]) -> "pd.DataFrame":
        """The rows in the orders of options that the setting `orders` asks for (see `ORDERS`).

        Papers whose options stand in an order have `multiple_choice.in_orders` here.
        """
        return rows

    def recorded_in(self, dataset: str) -> Mapping[str, str]:
        """Settings (see `OwnFile`) in which the recordings of `study` or `official` were asked."""
        return {}

    def is_ours(self, dataset: str) -> bool:
        """Whether a data set's texts are this project's own.

        Answers to all others are kept by item id, without prose.
        """
        return dataset not in self.theirs

    def variant_of(self, dataset: str, prompt_id: str) -> str:
        """The variant of the recorded answers of a data set to a prompt (`sets` in `about`).

        By default it has the name of the data set, and none for `study`.
        """
        listed = self.about.get("sets", {}).get(dataset, {})
        usual = listed.get("variant", "" if dataset == "study" else dataset)
        return listed.get("prompts", {}).get(prompt_id, usual)

    # -- clusters ------------------------------------------------------------------------------

    def cluster_of(self, items: "pd.DataFrame") -> "pd.Series":
        """The cluster of every item, as text."""
        return items[self.cluster_column].astype(str)

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        """The clusters (column `cluster`) in the order in which a limit takes them.

        By the hash of their ids, the same on every machine.
        """
        single = items.drop_duplicates("cluster")
        return sorted(single["cluster"], key=hash_of)

    def named_in(self, items: "pd.DataFrame", item_ids: Iterable[str]) -> "pd.Series":
        """Which items have an answer under one of these ids of requests."""
        return items["item_id"].isin(set(item_ids))

    # -- answers -------------------------------------------------------------------------------

    def parse(self, text: str) -> Parsed:
        """The answer in a text without its thoughts (see `parsing.answer_in`)."""
        raise NotImplementedError

    def reading(self, prompt: Prompt) -> Mapping[str, Any]:
        """What `frame` reads answers to a prompt by, beside `parse`; `frame`: another than
        `frames.answers_frame`.
        """
        return {}

    def frame(
        self, prompt: Prompt, requests: Sequence[Request], responses: Sequence[Response], its: str
    ) -> "pd.DataFrame":
        """Requests of a prompt and their responses as the paper reads them; `its`: their source."""
        how = {"parse": self.parse, "options": self.options, **self.reading(prompt)}
        make_frame = how.pop("frame", frames.answers_frame)
        return make_frame(requests, responses, its, **how)

    def simulated(self) -> tuple[str, ...]:
        """The simulated respondents that its notebook shows."""
        return tuple(self.about.get("simulated") or ())

    def simulate(self, request: Request) -> Response:
        """The answer of the simulated respondent that a request names.

        Raises KatayoriError for one that it does not have.
        """
        raise KatayoriError(f"{self.id} has no simulated respondents")


def hash_of(text: object) -> bytes:
    """sha256 of a name: an order that is the same on every machine and favours nobody."""
    return hashlib.sha256(str(text).encode()).digest()


# -- the order in which a limit takes clusters of groups, such as categories ----------------------


def in_turn(single: "pd.DataFrame", group: "pd.Series", place: "pd.Series") -> list[str]:
    """The clusters one of each group in turn, the groups in the order of `place`.

    So few clusters are spread over what there is.
    """
    turn = group.groupby(group).cumcount()
    placed = single.assign(turn=turn, place=place)
    return list(placed.sort_values(["turn", "place"], kind="stable")["cluster"])


def by_category(items: "pd.DataFrame") -> list[str]:
    """The clusters by category in turn, each category in the order of `rank`."""
    single = items.drop_duplicates("cluster").sort_values("rank", kind="stable")
    group = single["category"]
    place = group.map({name: n for n, name in enumerate(items["category"].unique())})
    return in_turn(single, group, place)

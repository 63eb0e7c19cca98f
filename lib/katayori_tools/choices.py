"""What a user chooses, as values that travel together below the command line.

The options of commands are made of them (`cli`): a field's name is the option, its type says what
is valid, and its text below `Attributes:` is the help. In Python they are written out:

    live.live(Asking(papers="05", models="my-model@custom", limit=20))
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from math import inf
from typing import Annotated, Any, TypeVar, get_type_hints

from katayori.profiles import MOST, OF_CLUSTERS
from katayori.prompting.models import label_of
from katayori_tools import notebooks

Filled = TypeVar("Filled")
#: The light engine's model, which is asked where no model is named.
LIGHT_MODEL = "qwen2.5-coder-0.5b@local-"
LIGHT_ENGINE = "xllamacpp"


def filled(kind: type[Filled], options: Mapping[str, Any]) -> Filled:
    """A dataclass with the options that are named like its fields, and those of its own parts.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Size:
        ...     width: int = 1
        ...     height: int = 1
        >>> filled(Size, {"width": 3, "height": None, "colour": "red"})
        Size(width=3, height=1)
    """
    return kind(**given(get_type_hints(kind), options))


def given(kinds: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of these names that are given; None counts as not given."""
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        if is_dataclass(kind) and isinstance(kind, type):
            found[name] = filled(kind, options)
        elif options.get(name) is not None:
            found[name] = options[name]
    return found


# -- what is valid ---------------------------------------------------------------------------------


def _within(kind: type, low: float, high: float, about: str) -> Callable[[str], Any]:
    """What reads a number, whole or not, from `low` to `high`; another is `no <about>`."""

    def read(text: str) -> Any:
        try:
            number = kind(text)
        except ValueError:
            number = None
        if number is None or not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no {about}")
        return number

    return read


Positive = Annotated[int, _within(int, 1, inf, "whole number above 0")]
Dollars = Annotated[float, _within(float, 0, 1e6, "number of US dollars from 0 to 1,000,000")]
_CLUSTERS = f"whole number {OF_CLUSTERS} from 1 to {MOST:,}"
Clusters = Annotated[
    int, _within(int, 1, MOST, f"{_CLUSTERS}; leave it out for what the profile says")
]
Jobs = Annotated[int, _within(int, 1, 64, "whole number from 1 to 64")]
Papers = Annotated[
    str, lambda text: ",".join(notebooks.choose(text))
]  # by name, number or file; kept by name
Label = Annotated[str, label_of]
#: The user's own items by name (see `papers.items.OwnItems`); each name is an option.
Own = Annotated[Mapping[str, str], "own"]


# -- what is chosen --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of the user's own.

    Attributes:
        base_url: the address of an OpenAI-compatible server, which is asked instead, or whose
            stored answers are read. label: your name for that server; its answers are kept under
            it.
    """

    base_url: str = ""
    label: Label = ""


@dataclass(frozen=True, kw_only=True)
class OwnServer(Server):
    """A server that is asked.

    Attributes:
        fresh: ask again what is stored, beside it. exported: of a batch, the server by paper and
            model as it was exported.
    """

    fresh: bool = False
    exported: Mapping[str, dict[str, Any]] | None = None


NO_SERVER = OwnServer()


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What is asked or read, and of whom.

    Attributes:
        papers: by name or number, with commas or spaces between (all). models: of
            data/models.yaml, or name@endpoint, with commas or spaces between. profile: a name in
            data/profiles.yaml, or a file. prompts: a folder of prompt files that replaces our
            wording. own: the user's own items by name.
    """

    papers: Papers = ""
    models: str = ""
    profile: str = "live"
    prompts: str = ""
    own: Own = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Asking(Chosen):
    """What is asked of whom; without models, that of the light engine.

    Attributes:
        limit: so many clusters (cases, templates, questions). engine: the local engine of a local
            model. server: a server of the user's own.
    """

    limit: Clusters | None = None
    engine: str = ""
    server: OwnServer = NO_SERVER


@dataclass(frozen=True, kw_only=True)
class NotebookRun(Chosen):
    """Which notebooks are run, and on what.

    Attributes:
        limit: short for -p limit=N, so many clusters. parameter: a further parameter of the
            notebooks, as NAME=YAML; once for each. server: whose stored answers are read.
    """

    profile: str = "recorded"
    limit: Clusters | None = None
    parameter: Annotated[Sequence[str], "-p"] = ()
    server: Server = NO_SERVER

"""What a user chooses, as values that travel together below the command line.

`options.filled` makes them of what was typed; in Python they are written out:

    live.live(Asking(papers="05", models="my-model@custom", limit=20))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: The light engine's model, which is asked where no model is named.
LIGHT_MODEL = "qwen2.5-coder-0.5b@local-"
LIGHT_ENGINE = "xllamacpp"
#: It is asked so many clusters, with which a run shows how a report looks: a demonstration.
DEMONSTRATION = 2


@dataclass(frozen=True)
class OwnServer:
    """Which server of the user's own is asked or read.

    Attributes:
        base_url: its address. label: the user's name for it. fresh: ask again what is stored,
        beside it. exported: of a batch, the server by paper and model as it was exported.
    """

    base_url: str = ""
    label: str = ""
    fresh: bool = False
    exported: Mapping[str, dict[str, Any]] | None = None


@dataclass(frozen=True)
class Asking:
    """What is asked of whom.

    Attributes:
        papers, models: names with commas or spaces between; empty are all papers, and the model of
        the light engine. profile: its name or file. prompts: a folder of prompt files that replaces
        ours. limit: clusters. own: the user's own items by name (see `papers.items.OwnItems`).
        engine: the local engine of a local model. server: a server of the user's own.
    """

    papers: str = ""
    models: str = ""
    profile: str = "live"
    prompts: str = ""
    limit: int | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    engine: str = ""
    server: OwnServer = OwnServer()


@dataclass(frozen=True)
class Sending:
    """How requests are sent: so many at once, and within so many US dollars."""

    concurrency: int | None = None
    budget: float | None = None


@dataclass(frozen=True)
class NotebookRun:
    """Which notebooks are run, and on what.

    Attributes:
        papers, models, profile, prompts, own: as of `Asking`. parameter: further parameters of the
        notebooks, each as `name=value` with the value in YAML.
    """

    papers: str = ""
    models: str = ""
    profile: str = "recorded"
    prompts: str = ""
    own: Mapping[str, str] = field(default_factory=dict)
    parameter: Sequence[str] = ()


@dataclass(frozen=True)
class Running:
    """How notebooks are run: so many at once, seconds a cell may take, and what is up to date too.

    A `timeout` of 0 is no limit.
    """

    jobs: int = 2
    timeout: int = 1800
    force: bool = False


NO_SERVER = OwnServer()
USUAL_SENDING = Sending()
USUAL_RUNNING = Running()

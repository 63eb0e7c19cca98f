"""What the command line of every command is made of: options that several take, and the call.

`cli` and the rooms of papers (`katayori_tools.papers`) build their commands with it.
"""

import argparse
import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any, TypeAlias, TypeVar, get_type_hints

from katayori.errors import KatayoriError
from katayori.papers.items import check_limit
from katayori.profiles import MOST, OF_CLUSTERS
from katayori_tools import notebooks

Filled = TypeVar("Filled")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str):  # without argparse's usage block
        raise KatayoriError(f"{message} (python -m {self.prog} --help)")


Function = Callable[[argparse.Namespace], int]  # what a command calls; gives the exit code
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def calling(module: str) -> Function:
    """The function of a module of this package that is named like the command.

    Every parameter of the function is given the option of its name, one that is a dataclass the
    options of its fields' names; an option that was not given is left to the default. The module is
    imported when the command is called.
    """

    def call(args: argparse.Namespace) -> int:
        name = args.command.replace("-", "_")
        function = getattr(import_module(f"katayori_tools.{module}"), name)
        parameters = inspect.signature(function).parameters.values()
        kinds = {parameter.name: parameter.annotation for parameter in parameters}
        return function(**_given(kinds, vars(args))) or 0

    return call


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
    return kind(**_given(get_type_hints(kind), options))


def _given(kinds: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of these names that are given; None counts as not given."""
    given: dict[str, Any] = {}
    for name, kind in kinds.items():
        if is_dataclass(kind) and isinstance(kind, type):
            given[name] = filled(kind, options)
        elif options.get(name) is not None:
            given[name] = options[name]
    return given


def new_command(
    commands: Commands, name: str, function: Function, about: str
) -> argparse.ArgumentParser:
    """A new command; `function` is called with what was parsed."""
    one = commands.add_parser(name, help=about, description=about)
    one.set_defaults(function=function)
    return one


def positive(text: str) -> int:
    """A whole number above 0."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def points(text: str) -> float:
    """A number of points (hundredths) above 0 and up to 100."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of points above 0, at most 100")
    return number


def n_clusters(text: str) -> int:
    """A number of clusters."""
    try:
        number = int(text)
        check_limit(number)
        return number
    except (ValueError, KatayoriError):
        valid = f"a whole number {OF_CLUSTERS} from 1 to {MOST:,}"
        raise argparse.ArgumentTypeError(
            f"{text!r} is not {valid}; leave it out for what the profile says"
        ) from None


def chosen_papers(text: str) -> str:
    """The papers asked for by name, number or file, by name."""
    return ",".join(notebooks.choose(text))


def server_label(text: str) -> str:
    """A label of a server, checked."""
    from katayori.prompting.models import label_of

    return label_of(text)


def add_papers(one: argparse.ArgumentParser) -> None:
    about = "papers by name or number, separated by commas or spaces (default: all)"
    one.add_argument("--papers", type=chosen_papers, help=about)


def add_limit(one: argparse.ArgumentParser, about: str) -> None:
    one.add_argument("--limit", type=n_clusters, metavar="N", help=f"{about} {OF_CLUSTERS}")


def add_server(one: argparse.ArgumentParser, *, asks: bool = True) -> None:
    """Options that name a server of the user's own: its address, its label, and asking it anew."""
    about = "an OpenAI-compatible server to ask instead"
    if not asks:
        about = "the server whose stored answers are read"
    one.add_argument("--base-url", "--endpoint", dest="base_url", help=about)
    one.add_argument(
        "--label",
        type=server_label,
        help="your name for that server; its answers are kept under it",
    )
    if asks:
        one.add_argument("--fresh", action="store_true", help="ask again what is stored, beside it")

"""The command line behind `make`: a command is a function and a line of `COMMANDS`.

The options of a command are the parameters of its function, and the fields of those that are
dataclasses with keywords only (`choices`): its words those before `*`. Their types say what is
valid, and the text below `Args:` and `Attributes:` is their help. A KatayoriError becomes one line.
"""

import argparse
import errno
import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import is_dataclass
from difflib import get_close_matches
from importlib import import_module
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

import katayori
from katayori import paths
from katayori.data.files import ours
from katayori.errors import KatayoriError
from katayori.language import print_in_language, told
from katayori.papers.items import own_files
from katayori.report.tables import on_screen
from katayori_tools.choices import Own, OwnServer, filled, given

#: Each command: the module of its function, which is named like it, and what it does. In the order
#: in which --help lists them; a module is imported when its command is called.
COMMANDS = {
    "reproduce": ("reproduce", "run notebooks into outputs/<profile>/<paper>/"),
    "record": ("record", "ask models the study prompts and keep the answers in data/recorded"),
    "live": ("live", "ask a model now and run the notebooks on its answers"),
    "estimate": ("planning", "requests, tokens, time and cost; after a pilot, how many to ask"),
    "template": ("live", "write requests to a file that is answered elsewhere (.csv, .jsonl)"),
    "batch": (
        "batch",
        "requests of some models as files for batch services and clusters: export, import",
    ),
    "convert": ("convert", "logs of inspect_ai or lm-evaluation-harness as a file of answers"),
    "harness": ("harness", "our benchmarks as tasks of inspect_ai and lm-evaluation-harness"),
    "analyse": ("analyse", "somebody else's log: denominators, position-free scores, a report"),
    "data": ("datasets", "fetch the data sets that can be downloaded; list the state of all"),
    "compare": ("compare", "the headlines of two runs or models, or any number side by side"),
    "expect": ("compare", "write the expected tables anew from the default run"),
    "site": ("site", "a run as pages to read, in the folder site of the run"),
    "trace": ("trace", "the raw answers behind a row of results.json, by number or by words"),
    "export": ("export", "a run as Every Eval Ever, RO-Crate, Croissant and CodeMeta"),
    "answers": ("live", "what the store holds: endpoints, models, versions, tokens, dates"),
    "review": ("forms", "a form for readers of the Japanese items, and its log"),
    "construct": ("forms", "make cases as JUBAKU-v2 was made"),
    "doctor": ("doctor", "what works on this machine, and the remedy for what does not"),
    "copies": ("notebooks", "copies of the notebooks to work on, as `make lab` opens them"),
    "nb": ("reproduce", "execute the committed notebooks in place on their default parameters"),
    "slides": ("slides", "a talk of each executed notebook, one HTML file without network"),
}
#: What goes wrong with files and disks; anything else is an error of ours and keeps its traceback.
OF_FILES = {
    getattr(errno, name)
    for name in "EACCES EDQUOT EISDIR ENAMETOOLONG ENOENT ENOSPC ENOTDIR EPERM EROFS".split()
}
#: What stands after KATAYORI_ in every variable that the code reads.
VARIABLES = (
    "API_KEY BASE_URL CACHE CI FRESH LABEL LANG MIRROR OUTPUTS ROOT WEIGHTS_FROM_WHEELS".split()
)
#: And what stands before the name of an endpoint or of weights.
BEFORE_NAMES = "BASE_URL RPM TPM CONCURRENCY WEIGHTS".split()
LIKE = 0.88  # as similar as this is taken for a slip of the pen


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str):  # without argparse's usage block
        raise KatayoriError(f"{message} (python -m {self.prog} --help)")

    def _get_formatter(self) -> argparse.HelpFormatter:
        # Only a terminal knows where wide letters end a line.
        return argparse.HelpFormatter(self.prog, width=None if paths.language() == "en" else 1_000)


# -- options of a signature ------------------------------------------------------------------------


def _function(command: str) -> Callable[..., int | None]:
    module, _ = COMMANDS[command]
    return getattr(import_module(f"katayori_tools.{module}"), command)


def _add_options(one: argparse.ArgumentParser, kind: Callable[..., Any]) -> None:
    """The options that a function or a dataclass takes, in the order of its parameters."""
    hints = get_type_hints(kind, include_extras=True)
    helps = _helps(kind, tuple(hints))
    for parameter in inspect.signature(kind).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            _add_options(one, cast(type, hint))
        elif hint == Own:
            group = one.add_argument_group(told("items of yours in place of ours"))
            for name, (_, file) in own_files().items():
                to_whole = str if file.is_a == "setting" else os.path.abspath
                how: dict[str, Any] = {"dest": f"own {name}", "metavar": name.upper()}
                group.add_argument(f"--{name}", type=to_whole, help=told(file.about), **how)
        else:
            _add_option(one, parameter, hint, helps.get(parameter.name))


def _add_option(
    one: argparse.ArgumentParser, parameter: inspect.Parameter, hint: Any, about: str | None
) -> None:
    """One option of this type; none for a type that no command line can give."""
    alternatives = [each for each in get_args(hint) if each is not NoneType]
    if NoneType in get_args(hint) and len(alternatives) == 1:
        [hint] = alternatives
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    name, default = parameter.name, parameter.default
    if about and type(default) in (str, int, float) and default:
        about = told(f"{about} (default: {default})")
    how: dict[str, Any] = {"help": about, "type": next(filter(callable, notes), kind)}
    is_word = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    if kind is bool:
        how = {"help": about, "action": argparse.BooleanOptionalAction}
    elif get_origin(kind) is Literal:
        how |= {"choices": get_args(kind), "type": str}
    elif get_origin(kind) is Sequence:
        how |= {"nargs": "*" if is_word and default == () else "+", "type": str}
        how |= {} if is_word else {"action": "extend"}
    elif kind not in (str, int, float):
        return
    elif is_word and default is not parameter.empty:
        how["nargs"] = "?"
    flags = [f"--{name.replace('_', '-')}", *(n for n in notes if str(n).startswith("-"))]
    one.add_argument(*([] if is_word else flags), dest=name, **how)


def _helps(kind: Callable[..., Any], names: Sequence[str]) -> dict[str, str]:
    """What is said of each of these parameters below `Args:`, `Attributes:` of its docstring, or
    that of a class that it is made of.
    """
    said: dict[str, str] = {}
    for one in reversed(kind.__mro__) if isinstance(kind, type) else (kind,):
        *_, text = re.split(r"(?:Args|Attributes):\n", inspect.getdoc(one) or "", maxsplit=1)
        block = " ".join(re.split(r"\n(?! )", text)[0].split())
        parts = re.split(rf"(?:^|(?<=\. ))({'|'.join(names)}): ", block)
        said |= zip(parts[1::2], parts[2::2], strict=True)
    return {
        name: told(about.strip().rstrip(".")).replace("%", "%%") for name, about in said.items()
    }


# -- the program -----------------------------------------------------------------------------------


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The command of a command line and what is given to it; None is what is not."""
    parser = Parser(prog="katayori", description=katayori.__doc__)
    parser.add_argument("--version", action="version", version=f"katayori {katayori.__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, parser_class=Parser, metavar="command"
    )
    for name, (_, about) in COMMANDS.items():
        one = commands.add_parser(name, help=told(about), description=told(about))
        if words[:1] == [name]:
            _add_options(one, _function(name))
    args, unknown = parser.parse_known_args(words)
    if unknown:
        problem = f"{args.command} does not take {shlex.join(unknown)}"
        raise KatayoriError(f"{problem}; what it takes: python -m katayori {args.command} --help")
    own = {name.removeprefix("own "): v for name, v in vars(args).items() if name[:4] == "own "}
    args.own = {name: value for name, value in own.items() if value} or None
    return args


def _words(given: Iterable[str]) -> list[str]:
    """A command line in which `--args=` stands for the words that make was given as ARGS.

    They are split here as a shell splits them, so that no shell ever reads them. KatayoriError for
    a quotation mark without its partner.
    """
    words: list[str] = []
    for word in given:
        name, _, value = word.partition("=")
        try:
            words += shlex.split(value) if name == "--args" else [word]
        except ValueError as error:
            problem = f"ARGS cannot be split into words ({error}): {value}"
            remedy = "close the quotation, or write \\' for the mark"
            raise KatayoriError(f"{problem}; {remedy}") from None
    return words


def check_environment() -> None:
    """KatayoriError for a KATAYORI_ variable that is a known one misspelt; other unknown ones are
    nobody's business.
    """
    given = {name for name in os.environ if name.upper().startswith("KATAYORI")}
    known = known_variables() if given else set()
    for name in sorted(given - known):
        for near in get_close_matches(name, sorted(known), n=1, cutoff=LIKE):
            problem = f"the environment variable {name} is unknown; do you mean {near}?"
            raise KatayoriError(f"{problem} (unset {name} otherwise)")


def known_variables() -> set[str]:
    """Every variable of ours, with one for each endpoint's limits and each model's weights."""
    names: list[Any] = []
    # Without its schema: what is wrong with the file is said where its content is used.
    with suppress(KatayoriError, KeyError, TypeError):
        names += [*ours("models.yaml")["endpoints"], *ours("weights.yaml")["weights"]]
    ends = [re.sub(r"\W", "_", str(name)).upper() for name in names]
    of_names = [f"{start}_{end}" for start in BEFORE_NAMES for end in ends]
    return {f"KATAYORI_{name}" for name in (*VARIABLES, *of_names)}


def _environment(server: OwnServer) -> AbstractContextManager[None]:
    """LABEL= and BASE_URL= for the notebooks that a command runs."""
    if not (server.label or server.base_url):
        return nullcontext()
    from katayori_tools import asking

    return asking.environment(server)


@on_screen()
def main(argv: list[str] | None = None) -> int:
    """The exit code: 0; 1 when something that ran failed, as a notebook; 2 when the request was
    wrong.

    What was wrong is one line on stderr.
    """
    code = 2
    try:
        print_in_language()
        check_environment()
        args = vars(parsed(_words(sys.argv[1:] if argv is None else argv)))
        function = _function(args["command"])
        with _environment(filled(OwnServer, args)):
            return function(**given(get_type_hints(function), args)) or 0
    except KatayoriError as error:
        told = str(error)
    except ModuleNotFoundError as error:
        if (error.name or "katayori").startswith("katayori"):
            raise  # a fault of ours
        extras = "tools (asking, data), pages (notebooks, figures), engines"
        told = f"the package {error.name} is missing; extras bring it: {extras}"
        told += "; pip install './lib[all]' gives them all"
    except BrokenPipeError:  # whoever read the output has left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in OF_FILES:
            raise
        where = f": {error.filename}" if error.filename else ""
        told = f"{error.strerror}{where}; make room or name another place"
    except KeyboardInterrupt as stopped:
        told = "interrupted; what was answered or finished is kept, start again to go on"
        code = 143 if type(stopped).__name__ == "Terminated" else 130
    print(f"katayori: {told}", file=sys.stderr)
    return code

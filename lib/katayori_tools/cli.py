"""The command line behind `make`: a command is a function and a line of `COMMANDS`.

The options of a command are the parameters of its function, and the fields of those that are
dataclasses (`choices`): its words those before `*`. Their types say what is valid, and the text
below `Args:` and `Attributes:` is their help. A KatayoriError becomes one line.
"""

import argparse
import errno
import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass
from importlib import import_module
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import katayori
from katayori.errors import KatayoriError
from katayori.papers.items import own_files
from katayori.report.tables import visible
from katayori_tools import inputs
from katayori_tools.choices import OwnServer, filled, given

#: Each command: the module of its function, which is named like it, and what it does. In the order
#: in which --help lists them; a module is imported when its command is called.
COMMANDS = {
    "reproduce": ("reproduce", "run notebooks into outputs/<profile>/<paper>/"),
    "record": ("record", "ask models the study prompts and keep the answers in data/recorded"),
    "live": ("live", "ask a model now and run the notebooks on its answers"),
    "estimate": ("planning", "requests, tokens, time and cost; after a pilot, how many to ask"),
    "repeat": ("live", "ask the same again and tell how often the answer changes (flip rate)"),
    "template": ("live", "write requests to a file that is answered elsewhere (.csv, .jsonl)"),
    "batch": ("batch", "requests as OpenAI Batch files: export, submit, fetch, import"),
    "plan": ("plan", "the papers' full designs for some models, as files for clusters"),
    "convert": ("convert", "logs of inspect_ai or lm-evaluation-harness as a file of answers"),
    "harness": ("harness", "our benchmarks as tasks of inspect_ai and lm-evaluation-harness"),
    "analyse": ("analyse", "somebody else's log: denominators, position-free scores, a report"),
    "data": ("datasets", "fetch the data sets that can be downloaded; list the state of all"),
    "compare": ("compare", "the headlines of two runs or models, or any number side by side"),
    "expect": ("expected", "write the expected tables anew from the default run"),
    "site": ("site", "a run as pages to read, in the folder site of the run"),
    "trace": ("trace", "the raw answers behind a row of results.json, by number or by words"),
    "export": ("export", "a run as Every Eval Ever, RO-Crate, Croissant and CodeMeta, checked"),
    "answers": ("answer_store", "what the store holds: endpoints, models, versions, tokens, dates"),
    "review": ("review", "a form for readers of the Japanese items, and its log"),
    "construct": ("construct", "make cases as JUBAKU-v2 was made"),
    "doctor": ("doctor", "what works on this machine, and the remedy for what does not"),
    "bench": ("doctor", "run the benchmarks one after another"),
    "nb": ("reproduce", "execute the committed notebooks in place on their default parameters"),
    "students": ("teaching", "copies of the notebooks to hand out, without solutions"),
    "slides": ("teaching", "a talk of each executed notebook, one HTML file without network"),
    "work": ("teaching", "copies of the notebooks to work in, in outputs/work"),
    "simulate": ("simulate", "draw the long simulations anew into data/simulated"),
}
#: What goes wrong with files and disks; anything else is an error of ours and keeps its traceback.
OF_FILES = (
    errno.EACCES,
    errno.EDQUOT,
    errno.EISDIR,
    errno.ENOENT,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str):  # without argparse's usage block
        raise KatayoriError(f"{message} (python -m {self.prog} --help)")


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
        if isinstance(hint, type) and is_dataclass(hint):
            _add_options(one, hint)
        elif get_args(hint)[1:] == ("own",):
            _add_own(one)
        else:
            is_word = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and not is_dataclass(kind)
            _add_option(one, parameter, hint, helps.get(parameter.name), is_word)


def _add_option(
    one: argparse.ArgumentParser,
    parameter: inspect.Parameter,
    hint: Any,
    about: str | None,
    is_word: bool,
) -> None:
    """One option of this type; none for a type that no command line can give."""
    kind, notes = _without_none(hint)
    if about and type(parameter.default) in (str, int, float) and parameter.default:
        about = f"{about} (default: {parameter.default})"
    how: dict[str, Any] = {"help": about, "dest": parameter.name}
    flags = [f"--{parameter.name.replace('_', '-')}", *(n for n in notes if isinstance(n, str))]
    is_open = parameter.default is parameter.empty
    if kind is bool:
        how |= {"action": "store_const", "const": not parameter.default}
        flags = [f"--no-{parameter.name}"] if parameter.default else flags
        one.add_argument(*flags, **how)
        return
    if get_origin(kind) is Sequence:
        [kind] = get_args(kind)
        how |= {"nargs": "+" if is_open else "*"} if is_word else {"action": "append"}
        if "+" in flags:
            flags.remove("+")
            how |= {"nargs": "+", "action": "extend"}
    elif is_word and not is_open:
        how["nargs"] = "?"
    if get_origin(kind) is Literal:
        how["choices"] = [word for word in get_args(kind) if word]
        kind = str
    if kind not in (str, int, float):
        return
    how["type"] = next(filter(callable, notes), kind)
    if not (is_word or "choices" in how):
        how["metavar"] = "N" if kind in (int, float) else parameter.name.upper()
    if is_word:
        del how["dest"]
        flags = [parameter.name]
    one.add_argument(*flags, **how)


def _without_none(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without `| None`, and its notes where it is an `Annotated` one."""
    alternatives = [each for each in get_args(hint) if each is not NoneType]
    if NoneType in get_args(hint) and len(alternatives) == 1:
        [hint] = alternatives
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        return kind, tuple(notes)
    return hint, ()


def _helps(kind: Callable[..., Any], names: Sequence[str]) -> dict[str, str]:
    """What is said of each of these parameters below `Args:`, `Attributes:` of its docstring, or
    that of a class that it is made of.
    """
    told: dict[str, str] = {}
    for one in reversed(kind.__mro__) if isinstance(kind, type) else (kind,):
        _, _, text = re.sub(r"(Args|Attributes):\n", "\0", inspect.getdoc(one) or "").partition(
            "\0"
        )
        block = " ".join(re.split(r"\n(?! )", text)[0].split())
        parts = re.split(rf"(?:^|(?<=\. ))({'|'.join(names)}): ", block)
        told |= zip(parts[1::2], parts[2::2], strict=True)
    return {name: about.strip().rstrip(".").replace("%", "%%") for name, about in told.items()}


class _OwnItem(argparse.Action):
    """Puts an item of the user's under its name into `own`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.own = {**(namespace.own or {}), str(self.metavar).lower(): values}


def _add_own(one: argparse.ArgumentParser) -> None:
    """Options that name the user's own items: paths, but for settings."""
    group = one.add_argument_group("items of yours in place of ours")
    for name, (_, file) in own_files().items():
        kind: Callable[[str], str] = str if file.is_a == "setting" else os.path.abspath
        how: dict[str, Any] = {"dest": "own", "action": _OwnItem, "metavar": name.upper()}
        group.add_argument(f"--{name}", type=kind, help=file.about, **how)


# -- the program -----------------------------------------------------------------------------------


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The command of a command line and what is given to it; None is what is not."""
    parser = Parser(prog="katayori", description=katayori.__doc__)
    parser.add_argument("--version", action="version", version=f"katayori {katayori.__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, parser_class=Parser, metavar="command"
    )
    for name, (_, about) in COMMANDS.items():
        one = commands.add_parser(name, help=about, description=about)
        if words[:1] == [name]:
            _add_options(one, _function(name))
    args, unknown = parser.parse_known_args(words)
    if unknown:
        problem = f"{args.command} does not take {shlex.join(unknown)}"
        raise KatayoriError(f"{problem}; what it takes: python -m katayori {args.command} --help")
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
            raise KatayoriError(
                f"{problem}; close the quotation, or write \\' for the mark"
            ) from None
    return words


def _environment(server: OwnServer) -> AbstractContextManager[None]:
    """LABEL= and BASE_URL= for the notebooks that a command runs."""
    if not (server.label or server.base_url):
        return nullcontext()
    from katayori_tools import servers

    return servers.environment(server)


def main(argv: list[str] | None = None) -> int:
    """The exit code: 0; 1 when something that ran failed, as a notebook; 2 when the request was
    wrong.

    What was wrong is one line on stderr.
    """
    try:
        inputs.check_environment()
        args = vars(parsed(_words(sys.argv[1:] if argv is None else argv)))
        function = _function(args["command"])
        with _environment(filled(OwnServer, args)):
            return function(**given(get_type_hints(function), args)) or 0
    except KatayoriError as error:
        print(f"katayori: {visible(error)}", file=sys.stderr)  # it may quote what a server said
        return 2
    except ModuleNotFoundError as error:
        if (error.name or "katayori").startswith("katayori"):
            raise  # a fault of ours
        print(
            f"katayori: the package {error.name} is missing; extras bring it: tools (asking, data),"
            " pages (notebooks, figures), engines; pip install './lib[all]' gives them all",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:  # whoever read the output has left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in OF_FILES:
            raise
        where = f": {error.filename}" if error.filename else ""
        print(
            f"katayori: {error.strerror}{where}; make room or name another place", file=sys.stderr
        )
        return 2
    except KeyboardInterrupt as stopped:
        print(
            "katayori: interrupted; what was answered or finished is kept, start again to go on",
            file=sys.stderr,
        )
        return 143 if type(stopped).__name__ == "Terminated" else 130

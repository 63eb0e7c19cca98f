"""The command line behind `make`: it parses and calls one function.

A KatayoriError becomes one line.
"""

import argparse
import errno
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import katayori
from katayori import paths
from katayori.errors import KatayoriError, expect
from katayori.papers.items import own_files
from katayori.profiles import OF_CLUSTERS
from katayori.report.tables import visible
from katayori_tools import inputs, papers
from katayori_tools.choices import OwnServer
from katayori_tools.options import (
    Commands,
    Parser,
    add_limit,
    add_papers,
    add_server,
    calling,
    filled,
    n_clusters,
    new_command,
    points,
    positive,
)

#: The commands that ask: the profile that each takes where none is named, and what it does.
ASKING = {
    "record": ("recorded", "ask models the study prompts and keep the answers in data/recorded"),
    "live": ("live", "ask a model now and run the notebooks on its answers"),
    "estimate": (
        "live",
        "requests, tokens, time and cost, asking nothing; after a pilot, how many to ask",
    ),
    "repeat": (
        "live",
        "ask the same again and tell how often the answer changes (the flip rate)",
    ),
    "template": (
        "live",
        "write requests to a file that is answered elsewhere (.csv or .jsonl)",
    ),
}
#: Where the function of such a command is, if not in `live`.
MODULES = {"record": "record", "estimate": "planning"}
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


def _data(args: argparse.Namespace) -> int:
    from katayori.data import catalogue
    from katayori_tools import datasets

    entries = catalogue.load()
    for name in args.datasets:
        expect(name, entries, "data set")
    failed = False
    for name in [] if args.list else args.datasets or entries:
        # Files without an address come from a mirror or from their owners: only a set that is
        # asked for by name misses them.
        files: list[str | None]
        files = [file["path"] for file in entries[name]["files"] if file["url"] or args.datasets]
        if not files and args.datasets:
            files = [None]  # says why nothing can be fetched
        try:
            for path in files:
                datasets.fetch(name, path)
        except KatayoriError as error:  # say so and go on with the others
            failed = True
            print(f"katayori: {error}", file=sys.stderr)
    print(datasets.table().drop(columns="title").to_string(index=False))
    return 2 if failed and args.datasets else 0


def _bench(args: argparse.Namespace) -> int:
    folder = paths.root() / "lib" / "benchmarks"
    scripts = {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    for name in args.names:
        expect(name, scripts, "benchmark")
    failed = False
    for name in args.names or scripts:  # one after another: they would disturb each other's times
        print(f"== {name}", flush=True)
        failed |= subprocess.run([sys.executable, scripts[name]]).returncode != 0
    return int(failed)


def _limit_parameter(text: str) -> str:
    """A number of clusters as the notebooks' parameter."""
    return f"limit={n_clusters(text)}"


class _OwnItem(argparse.Action):
    """Puts an item of the user's under its name into `own`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        name = (option_string or "").removeprefix("--")
        namespace.own = {**(namespace.own or {}), name: values}


def _add_items(one: argparse.ArgumentParser) -> None:
    """Options that name the user's own items: paths, but for settings."""
    group = one.add_argument_group("items of yours in place of ours")
    for name, (_, file) in own_files().items():
        kind: Callable[[str], str] = str if file.is_a == "setting" else os.path.abspath
        shown = name.upper()
        group.add_argument(
            f"--{name}", dest="own", action=_OwnItem, type=kind, metavar=shown, help=file.about
        )


def _add_run(one: argparse.ArgumentParser, profile: str) -> None:
    """Options that say which run: papers, profile, models and wording."""
    add_papers(one)
    about = f"a name in data/profiles.yaml or a file (default: {profile})"
    one.add_argument("--profile", default=profile, help=about)
    one.add_argument("--models", help="models of data/models.yaml, or name@endpoint")
    one.add_argument("--prompts", help="a folder of prompt files that replaces our wording")


def _add_reproduce(commands: Commands) -> None:
    """The command that runs notebooks: which, on what, and how many at once."""
    one = new_command(
        commands, "reproduce", calling("reproduce"), "run notebooks into outputs/<profile>/<paper>/"
    )
    _add_run(one, "recorded")
    add_server(one, asks=False)
    one.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=YAML",
        help="a notebook parameter",
    )
    one.add_argument(
        "--limit",
        dest="parameter",
        action="append",
        type=_limit_parameter,
        metavar="N",
        help=f"short for -p limit=N, N {OF_CLUSTERS}",
    )
    _add_items(one)
    one.add_argument(
        "--jobs",
        type=int,
        default=2,
        choices=range(1, 65),
        metavar="N",
        help="notebooks at once (2)",
    )
    one.add_argument(
        "--timeout", type=int, default=1800, help="seconds a cell may take; 0 for no limit (1800)"
    )
    one.add_argument("--force", action="store_true", help="run even what is up to date")


def _add_asking(commands: Commands) -> None:
    """Commands that send requests, or count or write those that would be sent."""
    for name, (profile, about) in ASKING.items():
        one = new_command(commands, name, calling(MODULES.get(name, "live")), about)
        _add_run(one, profile)
        if name == "template":
            one.add_argument("file", help="where to write it")
        if name == "repeat":
            one.add_argument(
                "--repetitions", type=int, default=1, help="how often to ask again (1)"
            )
        if name == "estimate":
            about = "half of the 95 %% interval that is wanted of a score, in points (2)"
            one.add_argument("--half-width", dest="width", type=points, metavar="N", help=about)
            about = "whose answers tell how sure scores are: those in your store, or recorded here"
            one.add_argument("--pilot", choices=("stored", "recorded"), help=about)
        if name == "record":
            one.add_argument("--limit", type=positive, help="ask about so many items (a pilot)")
        else:
            add_limit(one, "ask about so many")
            _add_items(one)
        one.add_argument("--engine", help="local engine for a local model")
        add_server(one)
        one.add_argument("--concurrency", type=int, help="requests under way at once")
        one.add_argument("--budget", type=float, help="stop before spending more than this")


def _add_elsewhere(commands: Commands) -> None:
    """Commands for requests that are answered elsewhere."""
    one = new_command(
        commands,
        "batch",
        calling("batch"),
        "requests as OpenAI Batch files: export, submit, fetch, import",
    )
    _add_run(one, "live")
    one.add_argument(
        "step", choices=("export", "submit", "fetch", "import"), help="what to do, in this order"
    )
    one.add_argument("folder", help="holds the shards, what was asked (batch.json) and the results")
    one.add_argument(
        "files",
        nargs="*",
        help="import: result files (default: results* and errors* of the folder)",
    )
    about = "export: lines a file (20000; OpenAI takes 50000)"
    one.add_argument("--shard", type=positive, default=20_000, metavar="N", help=about)
    add_limit(one, "export: about so many")
    _add_items(one)
    one.add_argument("--engine", help="local engine for a local model")
    add_server(one)

    _add_plan(commands)
    one = new_command(
        commands,
        "convert",
        calling("convert"),
        "logs of inspect_ai or lm-evaluation-harness as a file of answers",
    )
    _add_run(one, "live")
    one.add_argument(
        "logs",
        nargs="+",
        help=".json or .eval (inspect_ai), samples_*.jsonl (lm-evaluation-harness)",
    )
    one.add_argument("file", help="the answers file to write (.jsonl)")
    one.add_argument("--prompt", help="the prompt all rows answer, where they name none")
    _add_items(one)

    one = new_command(
        commands,
        "harness",
        calling("harness"),
        "our benchmarks as tasks of inspect_ai and lm-evaluation-harness, checked against a stub",
    )
    add_papers(one)
    one.add_argument("--prompts", help="a folder of prompt files that replaces our wording")
    add_limit(one, "check with so many")
    one.add_argument("--folder", help="where the tasks go (default: outputs/harness)")
    one.add_argument("--unchecked", action="store_true", help="write the tasks, run nothing")

    one = new_command(
        commands,
        "analyse",
        calling("analyse"),
        "somebody else's log: denominators, position-free scores, paired tests, a report",
    )
    one.add_argument(
        "logs",
        nargs="+",
        help=".json or .eval (inspect_ai), samples_*.jsonl (lm-evaluation-harness), or a table"
        " (.csv, .tsv, .jsonl)",
    )
    one.add_argument("--kind", help="what was asked (default: found out by the columns)")
    one.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="a column that bears another name, such as cluster=template; once for each",
    )
    one.add_argument("--options", help="the words that the options bear in answers, such as A,B,C")
    one.add_argument(
        "--dialects",
        action="store_true",
        help="also the scores that seven other tools would make of these answers (kind bbq)",
    )
    one.add_argument("--out", metavar="FOLDER", help="default: outputs/analyse/<name of the log>")


def _add_plan(commands: Commands) -> None:
    """The plan of the papers' designs, there and back."""
    one = new_command(
        commands,
        "plan",
        calling("plan"),
        "the papers' full designs for some models, as files for batch services and clusters",
    )
    _add_run(one, "live")
    add_limit(one, "only so many")
    _add_items(one)
    one.add_argument("--engine", help="local engine for a local model")
    add_server(one)
    one.add_argument("--name", help="of the folder in outputs/plan (default: the models)")
    one.add_argument(
        "--rate", type=float, help="requests a second of one model, for the hours (10)"
    )
    one.add_argument("--shard", type=positive, metavar="N", help="lines a file at most (50000)")
    one.add_argument("--collect", metavar="FOLDER", help="read the results of a plan")


def _add_data(commands: Commands) -> None:
    """Commands that fetch data and compare results."""
    one = new_command(
        commands, "data", _data, "fetch the data sets that can be downloaded; list the state of all"
    )
    one.add_argument("datasets", nargs="*", help="names in data/catalogue.yaml (default: all)")
    one.add_argument("--list", action="store_true", help="only list")

    one = new_command(
        commands,
        "compare",
        calling("compare"),
        "the headlines of two runs, or two models of one run; or any number side by side",
    )
    one.add_argument("a", nargs="?", help="a profile, a run folder, a label, or a model")
    one.add_argument("b", nargs="?", help="the other one")
    about = "two or more of these: their headlines side by side, as a table"
    one.add_argument("--runs", metavar="NAMES", help=about)
    add_papers(one)
    one.add_argument(
        "--profile", default="recorded", help="the run that holds the models (default: recorded)"
    )

    one = new_command(
        commands,
        "expect",
        calling("expected"),
        "write the expected tables anew from the default run",
    )
    add_papers(one)


def _add_reading(commands: Commands) -> None:
    """Commands that list or show what is there."""
    one = new_command(
        commands,
        "site",
        calling("site"),
        "a run as pages to read, in the folder site of the run",
    )
    one.add_argument("--profile", default="recorded", help="the run to show (default: recorded)")
    one.add_argument("--models", help="of a live or imported run: the models it asked")
    about = "other runs and models that stand beside it on the page of models"
    one.add_argument("--runs", metavar="NAMES", help=about)
    one.add_argument(
        "--no-interface",
        dest="interface",
        action="store_false",
        help="without the pages of the library's functions, which take the longest",
    )

    about = "the raw answers behind a row of results.json, by its number or by words"
    one = new_command(commands, "trace", calling("trace"), about)
    one.add_argument("result", help="the number of the row, or words that fit it")
    add_papers(one)
    one.add_argument("--profile", default="recorded", help="the run (default: recorded)")
    one.add_argument("--models", help="of a live or imported run: the models it asked")
    add_server(one, asks=False)
    one.add_argument("--limit", type=positive, metavar="N", help="show so many answers (10)")
    one.add_argument("-o", "--save", metavar="FILE", help="write all of them as CSV")

    one = new_command(
        commands,
        "export",
        calling("export"),
        "a run as Every Eval Ever, RO-Crate, Croissant and CodeMeta, checked",
    )
    add_papers(one)
    one.add_argument("--profile", default="recorded", help="the run (default: recorded)")
    one.add_argument("--models", help="only these models; of a live run, the models it asked")
    one.add_argument("--folder", help="where it goes (default: outputs/export/<profile>)")
    one.add_argument(
        "--with-text",
        action="store_true",
        help="add the files of our study sets; refused for runs on other items",
    )
    one.add_argument("--unchecked", action="store_true", help="write without the checks")

    one = new_command(
        commands,
        "answers",
        calling("answer_store"),
        "what the store holds: endpoints, models, versions, tokens, dates",
    )
    add_papers(one)
    one.add_argument("--models", help="ids as they were asked (default: all)")


def _add_making(commands: Commands) -> None:
    """Commands by which models and people make items."""
    one = new_command(
        commands,
        "review",
        calling("review"),
        "a form for readers of the Japanese items, and its log",
    )
    add_papers(one)
    one.add_argument("--readers", type=positive, default=1, help="forms to write (1)")
    one.add_argument("--folder", help="where the forms go (default: outputs/review)")
    one.add_argument("--read", nargs="+", metavar="FILE", help="read filled-in forms back")
    one.add_argument("--rate", metavar="FOLDER", help="the raters' form of a folder of construct")
    one.add_argument("--raters", type=positive, default=6, help="people who rate each case (6)")


def _add_machine(commands: Commands) -> None:
    """Commands about this machine."""
    one = new_command(
        commands,
        "doctor",
        calling("doctor"),
        "what works on this machine, and the remedy for what does not",
    )
    one.add_argument(
        "--probe", metavar="MODEL", help="ask this model once whether it returns log-probabilities"
    )

    one = new_command(commands, "bench", _bench, "run the benchmarks one after another")
    one.add_argument("names", nargs="*", help="scripts of lib/benchmarks (default: all)")


def _add_teaching(commands: Commands) -> None:
    """Commands that execute the committed notebooks or hand them out."""
    one = new_command(
        commands,
        "nb",
        calling("reproduce"),
        "execute the committed notebooks in place on their default parameters",
    )
    add_papers(one)

    one = new_command(
        commands,
        "students",
        calling("teaching"),
        "copies of the notebooks to hand out, without solutions",
    )
    add_papers(one)

    one = new_command(
        commands,
        "slides",
        calling("teaching"),
        "a talk of each executed notebook, one HTML file without network",
    )
    add_papers(one)
    one.add_argument(
        "--profile", help="of the notebooks of this run (default: of the committed ones)"
    )
    one.add_argument("--models", help="of a live or imported run: the models it asked")
    one.add_argument("--lecturer", default="", help="who gives the talk, for its first slide")
    one.add_argument("--date", default="", help="when, as it shall stand there")


def _add_keeping(commands: Commands) -> None:
    """Commands for those who work on Katayori itself."""
    new_command(
        commands,
        "work",
        calling("teaching"),
        "copies of the notebooks to work in, in outputs/work",
    )

    one = new_command(
        commands,
        "simulate",
        calling("simulate"),
        "draw the long simulations anew into data/simulated",
    )
    one.add_argument("tables", nargs="*", help="names of tables; without one, all of them")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="katayori", description=katayori.__doc__)
    parser.add_argument("--version", action="version", version=f"katayori {katayori.__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, parser_class=Parser, metavar="command"
    )
    # In the order in which --help lists them.
    _add_reproduce(commands)
    _add_asking(commands)
    _add_elsewhere(commands)
    _add_data(commands)
    _add_reading(commands)
    _add_making(commands)
    for room in papers.modules("commands").values():
        room.add_commands(commands)
    _add_machine(commands)
    _add_teaching(commands)
    _add_keeping(commands)
    return parser


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
        args = _parser().parse_args(_words(sys.argv[1:] if argv is None else argv))
        with _environment(filled(OwnServer, vars(args))):
            return args.function(args)
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

"""The command line behind `make`: it parses and calls one function.

A KatayoriError becomes one line.
"""

import argparse
import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TypeAlias

import katayori
from katayori import paths, renamed
from katayori.errors import KatayoriError, expect
from katayori.papers.items import check_limit
from katayori.profiles import MOST, OF_CLUSTERS
from katayori.report.tables import visible
from katayori_tools import inputs, notebooks

#: The user's own items, one name each (see `papers.items.OwnItems`).
ITEMS = {
    "questions": "01: a question file (.yaml)",
    "jbbq": "02: a folder in the form of JBBQ, or one file of it (.jsonl)",
    "comparisons": "03: comparisons (.csv or .jsonl), or task files (.yaml)",
    "cases": "04: a case file (.yaml)",
    "topics": "05: a folder of topic files (.yaml), or one of them",
    "preset": "05: how many items the topic files give (published_counts, or a name in them)",
    "official": "05: a folder with your copy of the official items (.jsonl)",
}
#: The commands that ask: the profile that each takes where none is named, and what it does.
ASKING = {
    "record": ("recorded", "ask models the study prompts and keep the answers in data/recorded"),
    "live": ("live", "ask a model now and run the notebooks on its answers"),
    "estimate": ("live", "requests, tokens, time and cost of a run, asking nothing"),
    "repeat": (
        "live",
        "ask the same again and tell how often the answer changes (the flip rate)",
    ),
    "template": (
        "live",
        "write requests to a file that is answered elsewhere (.csv or .jsonl)",
    ),
}
#: Where the function of such a command is, if not in `asking`.
MODULES = {"record": "record", "repeat": "repeat"}
#: What `record` does in place of recording in this terminal.
RECORDER = {
    "background": "record in a process of its own, which outlives this terminal",
    "status": "what the recorder is doing: shard, done of total, rate, hours left",
    "pause": "end the recorder and its engine, to be resumed; nothing is lost",
    "resume": "start it again as it was started",
    "stop": "end it for good; what was answered is kept",
    "export": "write what is finished now, asking nothing",
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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):  # without argparse's usage block
        raise KatayoriError(f"{message} (python -m {self.prog} --help)")


Function = Callable[[argparse.Namespace], int]  # what a command calls; gives the exit code
Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


def _in(module: str, *options: str) -> Function:
    """The function of a module of this package that is named like the command.

    It is given these options as keyword arguments; where none are named, all of them as one
    Namespace. The module is imported when the command is called.
    """

    def call(args: argparse.Namespace) -> int:
        function = getattr(import_module(f"katayori_tools.{module}"), args.command)
        if not options:
            return function(args) or 0
        return function(**{name: getattr(args, name) for name in options}) or 0

    return call


def _data(args: argparse.Namespace) -> int:
    from katayori.data import catalogue

    entries = catalogue.load()
    for name in args.datasets:
        expect(name, entries, "data set")
    failed = False
    for name in [] if args.list else args.datasets or entries:
        # Files without an address come from a mirror or from their owners: only a set that is
        # asked for by name misses them.
        files: list[str | None]
        files = [file.path for file in entries[name].files if file.url or args.datasets]
        if not files and args.datasets:
            files = [None]  # says why nothing can be fetched
        try:
            for path in files:
                catalogue.fetch(name, path)
        except KatayoriError as error:  # say so and go on with the others
            failed = True
            print(f"katayori: {error}", file=sys.stderr)
    print(catalogue.table().drop(columns="title").to_string(index=False))
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


def _positive(text: str) -> int:
    """A whole number above 0."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _limit(text: str) -> int:
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


def _limit_parameter(text: str) -> str:
    """A number of clusters as the notebooks' parameter."""
    return f"limit={_limit(text)}"


def _papers(text: str) -> str:
    """The papers asked for by name, number or file, by name."""
    return ",".join(notebooks.choose(text))


def _label(text: str) -> str:
    """A label of a server, checked."""
    from katayori.prompting.models import label_of

    return label_of(text)


def _add_server(one: argparse.ArgumentParser, *, asks: bool = True) -> None:
    """Options that name a server of the user's own: its address, its label, and asking it anew."""
    about = "an OpenAI-compatible server to ask instead"
    if not asks:
        about = "the server whose stored answers are read"
    one.add_argument("--base-url", "--endpoint", dest="base_url", help=about)
    one.add_argument(
        "--label", type=_label, help="your name for that server; its answers are kept under it"
    )
    if asks:
        one.add_argument("--fresh", action="store_true", help="ask again what is stored, beside it")


def _command(
    commands: Commands, name: str, function: Function, about: str
) -> argparse.ArgumentParser:
    """A new command; `function` is called with what was parsed."""
    one = commands.add_parser(name, help=about, description=about)
    one.set_defaults(function=function)
    return one


def _add_papers(one: argparse.ArgumentParser) -> None:
    about = "papers by name or number, separated by commas or spaces (default: all)"
    one.add_argument("--papers", type=_papers, help=about)


def _add_limit(one: argparse.ArgumentParser, about: str) -> None:
    one.add_argument("--limit", type=_limit, metavar="N", help=f"{about} {OF_CLUSTERS}")


def _add_items(one: argparse.ArgumentParser) -> None:
    """Options that name the user's own items. All of them are paths but the preset's name."""
    group = one.add_argument_group("items of yours in place of ours")
    for name, about in ITEMS.items():
        kind: Callable[[str], str] = str if name == "preset" else os.path.abspath
        group.add_argument(f"--{name}", help=about, type=kind)


def _add_run(one: argparse.ArgumentParser, profile: str) -> None:
    """Options that say which run: papers, profile, models and wording."""
    _add_papers(one)
    about = f"a name in data/profiles.yaml or a file (default: {profile})"
    one.add_argument("--profile", default=profile, help=about)
    one.add_argument("--models", help="models of data/models.yaml, or name@endpoint")
    one.add_argument("--prompts", help="a folder of prompt files that replaces our wording")


def _add_reproduce(commands: Commands) -> None:
    """The command that runs notebooks."""
    one = _command(
        commands, "reproduce", _in("reproduce"), "run notebooks into outputs/<profile>/<paper>/"
    )
    _add_run(one, "recorded")
    _add_server(one, asks=False)
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
        one = _command(commands, name, _in(MODULES.get(name, "asking")), about)
        _add_run(one, profile)
        if name == "template":
            one.add_argument("file", help="where to write it")
        if name == "repeat":
            one.add_argument(
                "--repetitions", type=int, default=1, help="how often to ask again (1)"
            )
        if name == "record":
            one.add_argument("--limit", type=_positive, help="ask about so many items (a pilot)")
            one.add_argument("--edition", choices=("first", "second"), help="only this edition")
            _add_recorder(one)
        else:
            _add_limit(one, "ask about so many")
            _add_items(one)
        one.add_argument("--engine", help="local engine for a local model")
        _add_server(one)
        one.add_argument("--concurrency", type=int, help="requests under way at once")
        one.add_argument("--budget", type=float, help="stop before spending more than this")
        one.set_defaults(jobs=2, timeout=1800, force=False)  # of the notebooks that `live` runs


def _add_recorder(one: argparse.ArgumentParser) -> None:
    """What `record` does in place of recording in this terminal."""
    does = one.add_mutually_exclusive_group()
    for name, about in RECORDER.items():
        does.add_argument(f"--{name}", action="store_true", help=about)
    about = "time N requests of each entry of the second edition and write the table of hours;"
    about += " 0: as planned, or as measured before"
    does.add_argument("--pilot", type=int, choices=range(10_001), metavar="N", help=about)


def _add_elsewhere(commands: Commands) -> None:
    """Commands for requests that are answered elsewhere."""
    one = _command(
        commands,
        "batch",
        _in("batch"),
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
    one.add_argument("--shard", type=_positive, default=20_000, metavar="N", help=about)
    one.add_argument("--wait", action="store_true", help="fetch: until every batch has ended")
    _add_limit(one, "export: about so many")
    _add_items(one)
    one.add_argument("--engine", help="local engine for a local model")
    _add_server(one)

    one = _command(
        commands,
        "convert",
        _in("importers"),
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


def _add_data(commands: Commands) -> None:
    """Commands that fetch data and compare results."""
    one = _command(
        commands, "data", _data, "fetch the data sets that can be downloaded; list the state of all"
    )
    one.add_argument("datasets", nargs="*", help="names in data/catalogue.yaml (default: all)")
    one.add_argument("--list", action="store_true", help="only list")

    one = _command(
        commands,
        "compare",
        _in("compare", "a", "b", "profile", "papers"),
        "two runs, or two models of one run, side by side",
    )
    one.add_argument("a", help="a profile, a run folder, a label, or a model")
    one.add_argument("b", help="the other one")
    _add_papers(one)
    one.add_argument(
        "--profile", default="recorded", help="the run that holds the models (default: recorded)"
    )

    one = _command(
        commands, "expect", _in("expected"), "write the expected tables anew from the default run"
    )
    _add_papers(one)

    one = _command(
        commands, "equal", _in("equality"), "whether two commits compute the same on the same data"
    )
    one.add_argument("a", help="a commit, or with --folders a folder of run folders")
    one.add_argument("b", help="the other one")
    one.add_argument("--data", help="the commit whose data/ both are given (default: b's)")
    one.add_argument("--papers", help="only these papers, by number (default: all)")
    one.add_argument(
        "--folders", action="store_true", help="compare two folders of outputs, running nothing"
    )


def _add_reading(commands: Commands) -> None:
    """Commands that list or show what is there."""
    _command(
        commands,
        "trace",
        _in("notebooks"),
        "the evidence of each requirement, counted and checked",
    )

    one = _command(
        commands,
        "site",
        _in("site"),
        "the notebooks of a run as pages to read, in the folder site of the run",
    )
    one.add_argument("--profile", default="recorded", help="the run to show (default: recorded)")
    one.add_argument("--models", help="of a live or imported run: the models it asked")

    one = _command(
        commands,
        "answers",
        _in("answers", "papers", "models"),
        "what the store holds: endpoints, models, versions, tokens, dates",
    )
    _add_papers(one)
    one.add_argument("--models", help="ids as they were asked (default: all)")


def _add_making(commands: Commands) -> None:
    """Commands by which models and people make items."""
    one = _command(
        commands,
        "construct",
        _in("construct"),
        "make cases as JUBAKU-v2 was made: generate, screen, review, validate",
    )
    one.add_argument("folder", help="where the steps write, and people edit, their files")
    one.add_argument("--models", help="the generator and, if another, the screening model")
    one.add_argument("--seeds", help="a seed file, or jubaku_v1 (default: our seeds)")
    one.add_argument("--raters", type=int, default=6, help="people who rate every case (6)")
    one.add_argument("--prompts", help="a folder of prompt files that replaces our wording")
    one.add_argument("--limit", type=_positive, help="use so many seeds")
    one.add_argument("--drafts", type=_positive, default=3, help="drafts of each seed (3)")
    one.add_argument(
        "--screening",
        choices=("both", "either"),
        default="both",
        help="keep a draft the screener answers with bias in both orders, or in either (both)",
    )
    one.add_argument("--engine", help="local engine for a local model")
    _add_server(one)

    one = _command(
        commands, "review", _in("review"), "a form for readers of the Japanese items, and its log"
    )
    _add_papers(one)
    one.add_argument("--readers", type=_positive, default=1, help="forms to write (1)")
    one.add_argument("--folder", help="where the forms go (default: outputs/review)")
    one.add_argument("--read", nargs="+", metavar="FILE", help="read filled-in forms back")
    one.add_argument("--rate", metavar="FOLDER", help="the raters' form of a folder of construct")
    one.add_argument("--raters", type=_positive, default=6, help="people who rate each case (6)")

    one = _command(
        commands,
        "proofread",
        _in("proofread"),
        "a model smooths inter-JBBQ passages, for people to read",
    )
    one.add_argument("log", help="the file to write: before, after, accepted or why not (.csv)")
    one.add_argument("--models", required=True, help="the proof-reader, one model")
    one.add_argument(
        "--topics", default="", help="a folder of topic files of your own (default: ours)"
    )
    one.add_argument("--limit", type=_positive, help="so many passages (default: all)")
    _add_server(one)


def _add_machine(commands: Commands) -> None:
    """Commands about this machine."""
    one = _command(
        commands,
        "doctor",
        _in("doctor", "probe"),
        "what works on this machine, and the remedy for what does not",
    )
    one.add_argument(
        "--probe", metavar="MODEL", help="ask this model once whether it returns log-probabilities"
    )

    one = _command(commands, "bench", _bench, "run the benchmarks one after another")
    one.add_argument("names", nargs="*", help="scripts of lib/benchmarks (default: all)")


def _add_teaching(commands: Commands) -> None:
    """Commands that execute the committed notebooks or hand them out."""
    one = _command(
        commands,
        "nb",
        _in("reproduce", "papers"),
        "execute the committed notebooks in place on their default parameters",
    )
    _add_papers(one)

    one = _command(
        commands,
        "students",
        _in("teaching", "papers"),
        "copies of the notebooks to hand out, without solutions",
    )
    _add_papers(one)

    one = _command(
        commands,
        "slides",
        _in("teaching", "papers", "profile", "models"),
        "a talk of each executed notebook, one HTML file without network",
    )
    _add_papers(one)
    one.add_argument(
        "--profile", help="of the notebooks of this run (default: of the committed ones)"
    )
    one.add_argument("--models", help="of a live or imported run: the models it asked")


def _add_keeping(commands: Commands) -> None:
    """Commands for those who work on Katayori itself."""
    one = _command(
        commands,
        "gates",
        _in("gates", "update"),
        "ruff and mypy, compared with the list of older code",
    )
    one.add_argument(
        "--update", action="store_true", help="take what is mended off lib/offenders.yaml"
    )

    one = _command(
        commands,
        "audit-items",
        lambda args: import_module("katayori_tools.audit_items").audit_items(args),
        "surface rules, slots, doubles, order of mention, residuals of two models",
    )
    _add_papers(one)

    one = _command(
        commands,
        "measure-code",
        lambda args: import_module("katayori_tools.measure_code").measure_code(args),
        "density, complexity, types, repeated code and imports, of one commit beside another",
    )
    one.add_argument("commits", nargs="*", help="the earlier one, and the later (default: here)")
    one.add_argument("--no-types", action="store_true", help="leave out mypy, the slow part")

    one = _command(
        commands,
        "cards",
        _in("cards", "check"),
        "count the tables of the data cards anew and write them",
    )
    one.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is old")

    one = _command(
        commands, "simulate", _in("simulate"), "draw the long simulations anew into data/simulated"
    )
    one.add_argument("tables", nargs="*", help="names of tables; without one, all of them")

    one = _command(
        commands, "mutants", _in("mutants"), "whether tests notice small changes of the code"
    )
    one.add_argument("--sample", type=int, default=600, help="mutants to draw (default: 600)")
    one.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="katayori", description=katayori.__doc__)
    parser.add_argument("--version", action="version", version=f"katayori {katayori.__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, parser_class=_Parser, metavar="command"
    )
    # In the order in which --help lists them.
    _add_reproduce(commands)
    _add_asking(commands)
    _add_elsewhere(commands)
    _add_data(commands)
    _add_reading(commands)
    _add_making(commands)
    _add_machine(commands)
    _add_teaching(commands)
    _add_keeping(commands)
    return parser


def _server_named(args: argparse.Namespace) -> AbstractContextManager[None]:
    """LABEL= and BASE_URL= for the notebooks that a command runs."""
    if not (getattr(args, "label", None) or getattr(args, "base_url", None)):
        return nullcontext()
    from katayori_tools import servers

    return servers.environment(args)


def main(argv: list[str] | None = None) -> int:
    """The exit code: 0; 1 when something that ran failed, as a notebook; 2 when the request was
    wrong.

    What was wrong is one line on stderr.
    """
    try:
        inputs.check_environment()
        words = sys.argv[1:] if argv is None else argv
        args = _parser().parse_args(renamed.arguments(words))
        with _server_named(args):
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

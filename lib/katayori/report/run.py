"""A notebook's run folder: results.json, tables, figures, provenance.

One `Run` a notebook, no other place.
"""

import ast
import csv
import gc
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from katayori import paths, profiles, provenance
from katayori.data import paper_facts
from katayori.data.files import FORMULA
from katayori.errors import KatayoriError, UnavailableError
from katayori.language import print_in_language, told
from katayori.report import tables
from katayori.report.tables import visible
from katayori.study import Study

if TYPE_CHECKING:
    import pandas as pd

FIELDS = (
    *("paper", "requirement", "what", "model", "dataset", "source", "prompt_id", "variant", "cell"),
    *("headline", "value", "unit", "n", "n_invalid", "clusters", "ci_low", "ci_high", "status"),
    *("line", "margin", "limit", "verdict", "why", "low_bound", "high_bound", "control"),
    *("published", "difference"),
)
#: What earlier versions wrote is read all the same (`headlines`).
SCHEMA = 4
#: Columns that say something of the column `value`, and of no other.
OF_VALUE = ("ci_low", "ci_high", "line", "margin", "limit", "low_bound", "high_bound", "control")
NUMBERS = ("value", "published", "difference", *OF_VALUE)
COUNTS = ("n", "n_invalid", "clusters")
KEY = ("requirement", "what", "model", "dataset", "source", "prompt_id", "cell")
#: The status of values that have no interval of their own, by their unit.
NO_INTERVAL = {"p": "p_value", "rank": "a rank"}
#: Fields that no column of the frame gives.
_OF_FRAME = ("paper", "requirement", "what", "value", "cell")
SOURCES = ("recorded", "simulated", "live", "imported", "published", "none")

NOT_RUN = "not run: a cell above says why; change the settings, then run the set-up cell again"
#: The set-up is the cell that makes the `Run`, whatever magic stands above it.
SETUP = re.compile(r"\bRun\(")
#: A line such as `%env NAME=value` or `!make live`, which is no Python.
LINE_MAGIC = re.compile(r"^[%!](?!%).*", re.MULTILINE)


def _plain(value: Any) -> Any:
    """A JSON-ready scalar: numpy scalars unwrapped, NaN, NA and infinities None.

    TypeError for anything else.
    """
    value = tables.unwrap(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r} is not a scalar")


def _field(name: str, value: Any) -> Any:
    """A field of a result, JSON-ready.

    ValueError: a number that is none, a count that is none, a source that is not known.
    """
    if name == "cell":
        return {str(column): _plain(level) for column, level in value.items()}
    value = _plain(value)
    if name == "source" and value not in SOURCES:
        raise ValueError(f"source {value!r} is not one of {', '.join(SOURCES)}")
    if name == "headline":
        return bool(value)
    if name not in (*NUMBERS, *COUNTS) or value is None:
        return value
    is_count = not isinstance(value, str) and value >= 0 and value == int(value)
    if isinstance(value, str) or (name in COUNTS and not is_count):
        kind = "count" if name in COUNTS else "number"
        raise ValueError(f"{name} must be a {kind}, not {value!r}")
    return int(value) if name in COUNTS or isinstance(value, bool) else value


class Run:
    """The run folder of one paper's notebook; an empty `output_dir` means a new temporary folder.

    >>> run = Run("<id>", output_dir, profile=profile, seed=seed)
    """

    def __init__(self, paper: str, output_dir: str | Path = "", **parameters: Any) -> None:
        self.paper, self.parameters = paper, parameters
        self.folder = Path(output_dir or tempfile.mkdtemp(prefix="katayori-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        # Answers are many small objects without cycles: looking for cycles among them took a fifth
        # of a notebook's time.
        gc.set_threshold(100_000, 50, 100)
        print_in_language()
        self._in_lab = not output_dir and _watch()
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._outcomes: dict[str, list[dict[str, Any]]] = {}
        self._studies: list[Study] = []

    def __repr__(self) -> str:
        return f"Run({self.paper!r})"  # no path: it may be shown in a compared cell

    @staticmethod
    def items(profile: str) -> str:
        """Which items a profile names: `study`, ours, or `official`, the paper's own.

        Raises:
            KatayoriError: an unknown profile, a file that holds none.
        """
        return str(profiles.load(profile)["items"])

    def open(self, **how: Any) -> Study:
        """Opens a study of the paper (`Study`), or ends the notebook as skipped.

        The first study is what the run is about: its parameters, data set and answers stand in what
        `save` writes. Further ones, such as simulated respondents, are counted there, too.
        """
        try:
            study = Study(self.paper, **how)
            for prompt in () if self._studies else how.get("asked", ()):
                study.answers(prompt)  # read once; what is missing is told before anything is shown
        except UnavailableError as error:
            self.skip(str(error))
        if not self._studies:
            self.parameters = how | self.parameters
        self._studies.append(study)
        return study

    def keep(self, name: str, frame: "pd.DataFrame", **about: Any) -> "pd.DataFrame":
        """Keeps a frame as a table and, where it is said what its values are, a result a row.

        Args:
            name: of the table. frame: of a verb, or any other.
            about: what the values are; by default what `kept` of data/papers/<id>.yaml says of this
                name. what (in words; without it the frame is a table only), value (the column of
                the value, by default `value`), by (the columns that tell rows apart), prompt
                (whose answers a row rests on, see `_answered`), and fields of all rows,
                such as unit or headline.

        Columns that bear the name of a field (n, ci_low, line, margin, limit, verdict, why, ...)
        are taken row by row. The requirement is that of the evidence table, the data set that of
        the study, the source that of the model's answers. Where `by` does not tell rows apart, all
        other columns of text do.

        Returns:
            the frame with the source of each model behind the model.

        Raises:
            ValueError: two rows with the same key, a column that is not there.
        """
        kept = self._with_source(frame)
        self.table(name, kept)
        given = _kept(self.paper, name) | about
        if given.get("what") and len(kept):
            fields = {"requirement": _requirements(self.paper, name)} | given
            self._add(kept, **fields)
        return kept

    def _add(
        self,
        frame: "pd.DataFrame",
        *,
        value: str = "value",
        by: Iterable[str] = (),
        prompt: Any = "",
        **fields: Any,
    ) -> None:
        """Adds a result a row; the same key again replaces it, so that a cell can be run twice."""
        if unknown := fields.keys() - set(FIELDS):
            known = f"the fields are {', '.join(FIELDS)}"
            raise TypeError(f"a result has no field {', '.join(sorted(unknown))}; {known}")
        if missing := [name for name in (value, *by) if name not in frame]:
            there = ", ".join(map(str, frame))
            raise ValueError(f"no column {', '.join(missing)}; the frame has {there}")
        by = _telling(frame, list(by), value)
        frame = frame if value == "value" else _without_interval(frame, str(fields.get("unit")))
        study = self._studies[0] if self._studies else None
        usual: dict[str, Any] = dict.fromkeys(FIELDS)
        usual |= {"paper": self.paper, "status": "ok", "source": "none"}
        if study:
            usual |= {"source": study.source, "dataset": study.dataset}
        reads = [one for study in self._studies for one in study.reads]
        own = [name for name in FIELDS if name in frame and name not in _OF_FRAME]
        added: dict[tuple[Any, ...], dict[str, Any]] = {}
        for record in frame.to_dict("records"):
            row = usual | fields | {name: record[name] for name in own}
            row["prompt_id"], row["variant"] = _answered(record, prompt, reads)
            row["value"], row["cell"] = record[value], {name: record[name] for name in by}
            row = {name: _field(name, one) for name, one in row.items()}
            if not row["status"] or (row["value"] is None and row["status"] == "ok"):
                why = "an undefined value needs a status that says why"
                raise ValueError(f"{row['requirement']} {row['what']}: {why}")
            both = row["value"], row["published"]
            if row["difference"] is None and None not in both:
                row["difference"] = both[0] - both[1]
            if _key(row) in added:
                which = f"{row['what']}: two rows share the cell {row['cell']}"
                raise ValueError(f"{which}; name more columns")
            added[_key(row)] = row
        self._rows |= added

    def _with_source(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """The frame with the source of each model's answers, where it has none.

        A respondent that a notebook makes in a cell is named so: "simulated: ...".
        """
        if "model" not in frame or "source" in frame or not self._studies:
            return frame
        sources: dict[str, str] = {}
        for study in self._studies:
            sources |= study.sources()
        out = frame.copy()
        source = frame["model"].map(sources)
        made = frame["model"].astype(str).str.startswith("simulated: ")
        out.insert(list(frame).index("model") + 1, "source", source.mask(made, "simulated"))
        return out

    def table(self, name: str, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Writes tables/<name>.csv and returns the frame as it came.

        The name may hold a model's (see `paths.safe_name`). UTF-8, full precision; text that a
        spreadsheet would run as a formula gets a leading apostrophe.
        """
        named = any(level is not None for level in frame.index.names)
        flat = frame.reset_index() if named else frame
        self._write(f"tables/{paths.safe_name(name)}.csv", _csv(flat))
        return frame

    def figure(self, name: str, frame: "pd.DataFrame", **drawing: Any) -> Any:
        """Draws a frame and keeps the picture with the numbers in it; gives what a cell displays.

        Args:
            name: of the files. Without a name nothing is kept: the figure itself is for a widget.
            frame: a flat frame. drawing: the words of `charts.draw` (kind, x, row, series, panel,
                title ...). The title tells the picture to readers who cannot see it.

        Writes figures/<name>.png, a byte-stable figures/<name>.svg, and the columns drawn as
        figures/<name>.csv. Of a frame that is empty or without any value nothing is written, and
        one line says why.
        """
        from matplotlib import rc_context
        from PIL import Image

        from katayori.report import charts

        chart = charts.Chart(**drawing)
        if why := charts.why_empty(frame, chart):
            # Not under its title, which states what is seen in the picture.
            named = f"Figure {name}".replace("_", " ").strip()
            return tables.nothing(told(f"{named}: {why}."))
        fig = charts.draw(frame, **drawing)
        if not name:
            return fig
        stem = self.folder / "figures" / paths.safe_name(name)
        stem.parent.mkdir(exist_ok=True)
        shown = tables.display(fig, chart.title)
        dots = (tables.DOTS, tables.DOTS)  # an inch, for the size of the picture on paper
        Image.open(BytesIO(shown.data)).save(f"{stem}.png", dpi=dots)
        with rc_context({"svg.hashsalt": "katayori"}):
            fig.savefig(f"{stem}.svg", metadata={"Date": None})
        numbers = charts.drawn_columns(frame, chart)
        self._write(f"figures/{stem.name}.csv", _csv(numbers))
        return shown

    def answers(self, *frames: Any) -> None:
        """Keeps what came back of these frames of answers, for `save` (`provenance.outcomes`)."""
        self._outcomes = provenance.outcomes(*frames)

    def save(self, **about: Any) -> "pd.DataFrame":
        """Writes results.json, answers.json and provenance.json.

        `about`: arguments of `provenance.collect`.

        Returns requirement, rows, undefined: a frame that is the same on every machine.
        """
        import pandas as pd

        if self._studies:
            self.answers(*self._studies[0].frames())
            about = _merged([study.provenance() for study in self._studies]) | about
        rows = [self._rows[key] for key in sorted(self._rows, key=str)]
        self._write("results.json", _json(rows))
        self._write("answers.json", _json(provenance.without_secrets(self._outcomes)))
        record = provenance.collect(parameters=self.parameters, **about)
        self._write("provenance.json", _json({"results_schema": SCHEMA, **record}))
        (self.folder / "skipped.json").unlink(missing_ok=True)
        frame = pd.DataFrame(rows, columns=list(FIELDS))
        counts = (
            frame["value"].isna().groupby(frame["requirement"]).agg(rows="size", undefined="sum")
        )
        return counts.astype(int).reset_index()

    def skip(self, reason: str) -> NoReturn:
        """Ends the notebook without failing it: data or answers are not on this machine.

        Writes skipped.json, prints the reason, raises SystemExit(0); in JupyterLab see `_watch`.
        """
        self._write("skipped.json", _json({"paper": self.paper, "reason": reason}))
        if self._in_lab:
            raise UnavailableError(reason)
        print(f"skipped: {reason}")
        raise SystemExit(0)  # the one exception papermill lets through, by this very name

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        # A lone surrogate from a broken answer is written as its escape instead of ending the run.
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _without_interval(frame: "pd.DataFrame", unit: str) -> "pd.DataFrame":
    """The frame without what belongs to its column `value`, where another column is the result."""
    out = frame.drop(columns=[*OF_VALUE], errors="ignore")
    status = NO_INTERVAL.get(unit, "no_interval")
    told = out["status"].replace("ok", status) if "status" in out else status
    return out.assign(status=told)


def _telling(frame: "pd.DataFrame", by: list[str], value: str) -> list[str]:
    """The columns that tell rows apart: those of `by` and, where they do not, all others of text.

    So a reader who measures more groups apart in a cell keeps them all.
    """
    head = [name for name in ("model", "source") if name in frame]
    if not (frame.duplicated([*head, *by]).any() if head or by else len(frame) > 1):
        return by
    texts = [str(name) for name in frame if frame[name].dtype.kind not in "iufb"]
    return [*by, *(name for name in texts if name not in (*by, *head, value, *FIELDS))]


def _merged(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What several studies note of themselves, as one record."""
    out: dict[str, Any] = {"read": [], "datasets": {}, "prompts": {}, "models": []}
    counts: Counter[str] = Counter()
    for record in records:
        out["read"] += record["read"]
        out["datasets"] |= record["datasets"]
        out["prompts"] |= record["prompts"]
        out["models"] += [one for one in record.get("models", ()) if one not in out["models"]]
        counts.update(record.get("answers_by_source", {}))
    return out | {"answers_by_source": dict(counts)}


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What tells a row from the others of a run."""
    cell = json.dumps(row["cell"], sort_keys=True)
    return tuple(cell if name == "cell" else row[name] or "" for name in KEY)


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _csv(frame: "pd.DataFrame") -> str:
    """A frame as a CSV file that a spreadsheet may open."""
    return harmless(frame).to_csv(index=False, lineterminator="\n")


def harmless(value: Any) -> Any:
    """A text as a spreadsheet and a terminal may open it, or a frame of such texts under such
    names; other values as they are.

    What would start a formula gets an apostrophe; control characters are spelt out.

    Example:
        >>> list(map(harmless, ["=1+2", "-0.5", "no\\x1b[2J", -0.5]))
        ["'=1+2", "'-0.5", 'no␛[2J', -0.5]
    """
    if hasattr(value, "columns"):
        return value.astype(object).map(harmless).rename(columns=harmless)
    if not isinstance(value, str):
        return value
    # csv readers break lines at a bare \r
    text = visible(value.replace("\r\n", "\n").replace("\r", "\n"))
    return f"'{text}" if FORMULA.match(value) else text


# --- what a kept table or figure stands for -------------------------------------------------------


def _requirements(paper: str, name: str) -> str:
    """The requirements that name a kept table or figure, joined by "; "; empty where none does."""
    place = re.compile(rf"\d\d_{paper}#{re.escape(name)}(?!\w)")  # `01_paper#table`
    with (paths.data_dir() / "traceability.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return "; ".join(row["requirement"] for row in rows if place.search(row["where"]))


def _kept(paper: str, name: str) -> dict[str, Any]:
    """What the values of a table are (`kept` of data/papers/<id>.yaml); empty: a table only."""
    facts = paper_facts.of(paper) if paper in paper_facts.ids() else {}
    return dict((facts.get("kept") or {}).get(name, {}))


def _answered(
    row: Mapping[Any, Any],
    prompt: str | Mapping[str, Mapping[str, str]],
    reads: Iterable[Mapping[str, Any]],
) -> tuple[str | None, str | None]:
    """The prompts whose answers a row of a kept table rests on, and the variants that were read.

    Args:
        row: of the table.
        prompt: the id of a prompt, several of them joined by "+"; or, by the name of a column, the
            ids by its levels. `id@set` stands for the answers to a set of items beside the study.
            Empty: what the row has as its prompt_id. Of several it rests on those that were read.
        reads: what was read (`Study.reads`).

    Returns:
        the ids joined by "+", and the variants of recordings joined by "; " (null: no recordings).
    """
    if isinstance(prompt, Mapping):
        [(column, by_level)] = prompt.items()
        prompt = by_level.get(str(row.get(column)), "")
    named = prompt or row.get("prompt_id")
    wanted = named.split("+") if isinstance(named, str) else []  # NaN: no prompt
    of_prompt = [one for one in reads if _name_of(one) in wanted]
    model = row.get("model")
    found = [one for one in of_prompt if one["model"] == model or not isinstance(model, str)]
    # A respondent that is made in a cell has no answers of its own in a study.
    ids = [one["prompt_id"] for one in found or of_prompt]
    if not ids and len(wanted) == 1:  # nobody answered, but it is clear what was to be asked
        ids = [wanted[0].partition("@")[0]]
    variants = [one["variant"] for one in found if one["variant"] is not None]
    read = "; ".join(dict.fromkeys(variants)) if variants else None
    return "+".join(dict.fromkeys(ids)) or None, read


def _name_of(read: Mapping[str, Any]) -> str:
    """What was read as `_answered` has it: `id`, or `id@set`."""
    return "@".join(filter(None, (read["prompt_id"], read["items"])))


# --- JupyterLab where answers are missing ---------------------------------------------------------
# Under the runner a skipped notebook raises SystemExit, which papermill lets through. JupyterLab
# shows it in red, stops Run All there and leaves below what an earlier setting gave. So a `Run`
# without a folder, in IPython, does the following with public means of IPython only. The line is
# printed in place of a traceback. The kernel replies that the cell went well, so that Run All goes
# on and clears what stands below. Each cell from there on prints `NOT_RUN`, until a `Run` is made
# anew.


def _watch() -> bool:
    """From now on missing answers end a cell in one line; cells run that were held back.

    Gives whether there is an IPython to do so.
    """
    from IPython import get_ipython  # takes a while

    shell = get_ipython()
    if shell is None:
        return False
    if _held_back in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_held_back)
    # A kernel shows what other means render, even an empty traceback, as an output of type error.
    shell.set_custom_exc((KatayoriError,), _told)
    shell.events.register("post_run_cell", _went_well)
    return True


def _told(shell: Any, kind: Any, error: KatayoriError, trace: Any, tb_offset: Any = None) -> None:
    """One line in place of a traceback for missing answers, and for whatever the set-up refuses.

    Of other cells the traceback is shown: it tells the line of the reader's own change.
    """
    is_missing = isinstance(error, UnavailableError)
    if not is_missing and not SETUP.search(shell.history_manager.input_hist_raw[-1]):
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    print(f"{'skipped' if is_missing else 'katayori'}: {error}")
    if _held_back not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_held_back)


def _went_well(result: Any) -> None:
    """What `_told` has told is no error of the cell, or Run All would stop here.

    The kernel makes its reply from this result after the event.
    """
    from IPython import get_ipython

    is_held_back = _held_back in get_ipython().input_transformers_cleanup
    if result and is_held_back and isinstance(result.error_in_exec, KatayoriError):
        result.error_in_exec = None


def _held_back(lines: list[str]) -> list[str]:
    """The set-up and cells of settings as they are; in place of any other cell a line says so.

    A cell is not passed over in silence, since it may be one that the reader has just written.
    """
    cell = "".join(lines)
    return lines if SETUP.search(cell) or _is_settings(cell) else [f"print({NOT_RUN!r})\n"]


def _is_settings(cell: str) -> bool:
    """Whether a cell only imports and sets literals, as the parameters cell does."""
    try:
        for one in ast.parse(LINE_MAGIC.sub("", cell)).body:
            if not isinstance(one, ast.Import | ast.ImportFrom):
                ast.literal_eval(one.value)  # type: ignore[attr-defined]
    except (AttributeError, SyntaxError, TypeError, ValueError):
        return False
    return True

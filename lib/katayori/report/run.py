"""A notebook's run folder: results.json, tables, figures, provenance.

One `Run` a notebook, no other place.
"""

import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from katayori import outcomes, paths, profiles, provenance
from katayori.errors import UnavailableError
from katayori.report import evidence
from katayori.report.tables import nothing, unwrap
from katayori.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIELDS = (
    *("paper", "requirement", "what", "model", "dataset", "source", "prompt_id", "variant", "cell"),
    *("headline", "value", "unit", "n", "n_invalid", "clusters", "ci_low", "ci_high", "status"),
    *("line", "margin", "limit", "verdict", "why", "low_bound", "high_bound", "control"),
    *("published", "difference"),
)
#: Schema 2 added `clusters`; schema 3 the verdict with its line, margin, limit, reason, bounds and
#: control, and the variant of the recording; schema 4 dropped the older names of limit and control.
#: What an earlier version wrote is read all the same.
SCHEMA = 4
OF_VERDICT = ("line", "margin", "limit", "why", "low_bound", "high_bound", "control")
ADDED = {"clusters", "variant", *OF_VERDICT}
DROPPED = {"blank", "blank_status", "detects", "detects_status"}
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
# Spreadsheets run these; the full-width forms count too where the locale is Japanese.
FORMULA = re.compile(r"[\s\x00]*[=+\-@＝＋－＠]|[\t\r]")


def plain(value: Any) -> Any:
    """A JSON-ready scalar: numpy scalars unwrapped, NaN, NA and infinities None.

    TypeError for anything else.
    """
    value = unwrap(value)
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
        return {str(column): plain(level) for column, level in value.items()}
    value = plain(value)
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
        self.folder = (
            Path(output_dir) if str(output_dir) else Path(tempfile.mkdtemp(prefix="katayori-"))
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._in_lab = False
        if not str(output_dir):
            from katayori.report import skipped  # imports IPython, which takes a while

            self._in_lab = skipped.watch()
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
        """Opens a study of the paper (`Study.open`), or ends the notebook as skipped.

        The first study is what the run is about: its parameters, data set and answers stand in what
        `save` writes. Further ones, such as simulated respondents, are counted there, too.
        """
        with self.skipping():
            study = Study.open(self.paper, **how)
            for prompt in () if self._studies else how.get("asked", ()):
                study.answers(prompt)  # read once; what is missing is told before anything is shown
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
                (whose answers a row rests on, see `evidence.answered`), and fields of all rows,
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
        given = evidence.kept(self.paper, name) | about
        if given.get("what") and len(kept):
            fields = {"requirement": evidence.requirements(self.paper, name)} | given
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
        reads = [one for study in self._studies for one in study.reads()]
        own = [name for name in FIELDS if name in frame and name not in _OF_FRAME]
        added: dict[tuple[Any, ...], dict[str, Any]] = {}
        for record in frame.to_dict("records"):
            row = usual | fields | {name: record[name] for name in own}
            row["prompt_id"], row["variant"] = evidence.answered(record, prompt, reads)
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
        out.attrs = dict(frame.attrs)
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
        from katayori.report import charts, pictures

        chart = charts.Chart(**drawing)
        if why := charts.why_empty(frame, chart):
            # Not under its title, which states what is seen in the picture.
            return nothing(f"{f'Figure {name}'.replace('_', ' ').strip()}: {why}.")
        fig = charts.draw(frame, **drawing)
        if not name:
            return fig
        self._keep_figure(name, fig, charts.drawn_columns(frame, chart))
        return pictures.display(fig, chart.title)

    def _keep_figure(self, name: str, fig: "Figure", numbers: "pd.DataFrame") -> None:
        from matplotlib import rc_context

        stem = self.folder / "figures" / paths.safe_name(name)
        stem.parent.mkdir(exist_ok=True)
        with rc_context({"svg.hashsalt": "katayori"}):
            fig.savefig(f"{stem}.png", dpi=200, metadata={"Software": None})
            fig.savefig(f"{stem}.svg", metadata={"Date": None})
        self._write(f"figures/{paths.safe_name(name)}.csv", _csv(numbers))

    def answers(self, *frames: Any) -> None:
        """Keeps what came back of these frames of answers, for `save` (`outcomes.outcomes`)."""
        self._outcomes = outcomes.outcomes(*frames)

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

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """`with run.skipping():` ends the notebook as skipped where something is not here.

        That is data or answers which this machine does not have.
        """
        try:
            yield
        except UnavailableError as error:
            self.skip(str(error))

    def skip(self, reason: str) -> NoReturn:
        """Ends the notebook without failing it.

        Writes skipped.json, prints the reason, raises SystemExit(0); in JupyterLab see `skipped`.
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
    safe = frame.astype(object).map(harmless).rename(columns=harmless)
    return safe.to_csv(index=False, lineterminator="\n")


def harmless(value: Any) -> Any:
    """A text as a spreadsheet may open it; other values as they are.

    What would start a formula gets an apostrophe.
    """
    if not isinstance(value, str):
        return value
    # csv readers break lines at a bare \r
    text = value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "␀")
    return f"'{text}" if FORMULA.match(value) else text

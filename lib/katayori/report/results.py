"""A notebook's run folder: results.json, tables, figures, provenance. One `Run` a notebook, no other place."""

import json
import math
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from katayori import paths
from katayori.errors import KatayoriError, UnavailableError
from katayori.report import first_page, provenance
from katayori.report.tables import unwrap

FIELDS = (
    "paper",
    "requirement",
    "what",
    "model",
    "dataset",
    "source",
    "prompt_id",
    "cell",
    "headline",
    "value",
    "unit",
    "n",
    "n_invalid",
    "clusters",
    "ci_low",
    "ci_high",
    "status",
    "published",
    "difference",
    "verdict",
)
#: Schema 2 adds `clusters`. What an earlier version wrote lacks it and is read all the same.
SCHEMA = 2
ADDED = {"clusters"}
NUMBERS = ("value", "published", "difference", "ci_low", "ci_high")
COUNTS = ("n", "n_invalid", "clusters")
KEY = ("requirement", "what", "model", "dataset", "source", "prompt_id", "cell")
SOURCES = ("recorded", "simulated", "live", "imported", "published", "none")
# Spreadsheets run these; the full-width forms count too where the locale is Japanese.
FORMULA = re.compile(r"[\s\x00]*[=+\-@＝＋－＠]|[\t\r]")


def plain(value: Any) -> Any:
    """A JSON-ready scalar: numpy scalars unwrapped, NaN, NA and infinities None. TypeError for anything else."""
    value = unwrap(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r} is not a scalar")


def _number(name: str, value: Any, count: bool = False) -> int | float | None:
    value = plain(value)
    if isinstance(value, str):
        raise ValueError(f"{name} must be a number, not {value!r}")
    if count and value is not None and (value != int(value) or value < 0):
        raise ValueError(f"{name} must be a count, not {value!r}")
    return int(value) if isinstance(value, bool) or (count and value is not None) else value


class Run:
    """The run folder of one paper's notebook; an empty `output_dir` means a new temporary folder.

    >>> run = Run("discrim_eval", output_dir, profile=profile, seed=seed)
    """

    def __init__(self, paper: str, output_dir: str | Path = "", **parameters: Any) -> None:
        self.paper, self.parameters = paper, parameters
        self.folder = (
            Path(output_dir) if str(output_dir) else Path(tempfile.mkdtemp(prefix="katayori-"))
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._rows: dict[tuple, dict] = {}
        self._outcomes: dict[str, list] = {}

    def __repr__(self) -> str:
        return f"Run({self.paper!r})"  # no path: it may be shown in a compared cell

    def row(
        self,
        requirement: str,
        what: str,
        value: Any,
        *,
        source: str,
        ci: Any = (None, None),
        **more: Any,
    ) -> dict:
        """Adds one result and returns it; the same key again replaces it, so a cell can be run twice (X-5, X-6).

        `ci` is (low, high). `more`, all optional: the texts model, dataset, prompt_id, unit, status ("ok") and verdict;
        cell (a dict that tells rows apart); headline (bool); the counts n, n_invalid and clusters
        (independent units behind the interval); the numbers published and difference (default:
        value - published). NaN and infinities become null and need a status that says why.
        ValueError: unknown source, undefined value with status "ok", a value or count that is not a number. TypeError:
        unknown field.
        """
        if source not in SOURCES:
            raise ValueError(f"source {source!r} is not one of {', '.join(SOURCES)}")
        if unknown := more.keys() - set(FIELDS):
            raise TypeError(
                f"a result has no field {', '.join(sorted(unknown))}; the fields are {', '.join(FIELDS)}"
            )
        new = (
            dict.fromkeys(FIELDS)
            | {"cell": {}, "status": "ok", "ci_low": ci[0], "ci_high": ci[1]}
            | more
        )
        new |= {
            "paper": self.paper,
            "requirement": requirement,
            "what": what,
            "source": source,
            "value": value,
        }
        new |= {
            name: plain(new[name])
            for name in ("model", "dataset", "prompt_id", "unit", "status", "verdict")
        }
        new |= {name: _number(name, new[name], name in COUNTS) for name in (*NUMBERS, *COUNTS)}
        new["headline"] = bool(plain(new["headline"]))
        new["cell"] = {str(k): plain(v) for k, v in (new["cell"] or {}).items()}
        value, published = new["value"], new["published"]
        if not new["status"] or (value is None and new["status"] == "ok"):
            raise ValueError(
                f"{requirement} {what}: an undefined value needs a status that says why"
            )
        if new["difference"] is None and value is not None and published is not None:
            new["difference"] = value - published
        self._rows[_key(new)] = new
        return new

    def rows(
        self,
        frame: Any,
        requirement: str,
        what: str,
        *,
        value: str = "value",
        cell: Iterable[str] = (),
        clusters_in: str = "clusters",
        **common: Any,
    ) -> Any:
        """Adds every row of a tidy frame and returns the frame.

        `value` names the value column, `cell` the columns that tell rows apart, `clusters_in` the
        column that counts clusters; columns named like a field of the contract (model, source, n,
        ci_low, status ...) are taken row by row, `common` gives the rest.
        ValueError: two rows with the same key (a column is missing from `cell`).
        """
        missing = [c for c in (value, *cell) if c not in frame.columns]
        if missing:
            raise ValueError(
                f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}"
            )
        taken = [
            f
            for f in FIELDS
            if f in frame.columns and f not in ("paper", "cell", "value", "requirement", "what")
        ]
        seen = set()
        for record in frame.to_dict("records"):
            fields = common | {f: record[f] for f in taken}
            if clusters_in in frame.columns:
                fields["clusters"] = record[clusters_in]
            new = self.row(
                requirement, what, record[value], cell={c: record[c] for c in cell}, **fields
            )
            if _key(new) in seen:
                raise ValueError(
                    f"{requirement} {what}: two rows share the cell {new['cell']}; name more columns"
                )
            seen.add(_key(new))
        return frame

    def claims(self, checked: Any, *, source: str, **common: Any) -> Any:
        """Adds the frame of `check_claims` and returns it.

        The value is 1 where a claim holds, 0 where it is contradicted, and null else, with the
        verdict as its status.
        """
        for claim in checked.to_dict("records"):
            value = {"holds": 1, "contradicted": 0}.get(claim["verdict"])
            status = claim["verdict"] if value is None else "ok"
            told = {"source": source, "status": status, "verdict": claim["verdict"]}
            self.row(claim["requirement"], claim["statement"], value, **told, **common)
        return checked

    def table(self, name: str, frame: Any) -> Any:
        """Writes tables/<name>.csv and returns the frame as it came.

        The name may hold a model's (see `paths.safe_name`).
        UTF-8, full precision; text that a spreadsheet would run as a formula gets a leading apostrophe.
        """
        named = any(n is not None for n in frame.index.names)
        flat = frame.reset_index() if named else frame
        safe = flat.astype(object).map(harmless).rename(columns=harmless)
        self._write(
            f"tables/{paths.safe_name(name)}.csv", safe.to_csv(index=False, lineterminator="\n")
        )
        return frame

    def figure(self, name: str, fig: Any) -> None:
        """Writes figures/<name>.png (200 dpi) and a byte-stable figures/<name>.svg.

        Nothing is written of a figure without a value.
        """
        from matplotlib import rc_context

        from katayori.report.figures import is_empty

        if is_empty(fig):
            return
        stem = self.folder / "figures" / paths.safe_name(name)
        stem.parent.mkdir(exist_ok=True)
        with rc_context({"svg.hashsalt": "katayori"}):
            fig.savefig(f"{stem}.png", dpi=200, metadata={"Software": None})
            fig.savefig(f"{stem}.svg", metadata={"Date": None})

    def answers(self, *frames: Any) -> None:
        """Keeps what came back of these frames of answers, for `save` (`first_page.outcomes`)."""
        self._outcomes = first_page.outcomes(*frames)

    def save(self, **about: Any) -> Any:
        """Writes results.json, answers.json and provenance.json.

        `about`: arguments of `provenance.collect`.

        Returns requirement, rows, undefined: a frame that is the same on every machine.
        """
        import pandas as pd

        rows = [self._rows[k] for k in sorted(self._rows, key=str)]
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
        """`with run.skipping():` ends the notebook as skipped where data or answers are not on this machine."""
        try:
            yield
        except UnavailableError as error:
            self.skip(str(error))

    def skip(self, reason: str) -> NoReturn:
        """Ends the notebook without failing it: writes skipped.json, prints the reason, raises SystemExit(0)."""
        self._write("skipped.json", _json({"paper": self.paper, "reason": reason}))
        print(f"skipped: {reason}")
        raise SystemExit(0)  # the one exception papermill lets through, by this very name

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        # A lone surrogate from a broken answer is written as its escape instead of ending the run.
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def read_results(path: Path) -> Any:
    """The rows of a run folder, or of all run folders in a profile's, as a DataFrame with columns `FIELDS`.

    Empty where nothing has run. KatayoriError for a damaged file.
    """
    import pandas as pd

    found = (
        [path / "results.json"]
        if (path / "results.json").is_file()
        else sorted(path.glob("[!.]*/results.json"))
    )
    rows = []
    for file in found:
        try:
            new = json.loads(file.read_text(encoding="utf-8"))
            wrong = any(set(row) | ADDED != set(FIELDS) for row in new)
        except (ValueError, TypeError):
            wrong = True
        if wrong:
            raise KatayoriError(
                f"{file} is not a results file of this version: delete it and run `make reproduce`."
            )
        rows += new
    return pd.DataFrame(rows, columns=list(FIELDS))


def _key(row: dict[str, Any]) -> tuple:
    return tuple(json.dumps(row[k], sort_keys=True) if k == "cell" else row[k] or "" for k in KEY)


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def harmless(value: Any) -> Any:
    """A text as a spreadsheet may open it: what would start a formula gets an apostrophe; other values as they are."""
    if not isinstance(value, str):
        return value
    text = (
        value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "␀")
    )  # csv readers break lines at a bare \r
    return f"'{text}" if FORMULA.match(value) else text

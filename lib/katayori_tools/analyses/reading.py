"""One frame of somebody else's logs, and the columns that a measure needs by the user's names."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from katayori.data.files import json_lines, read_text
from katayori.errors import KatayoriError
from katayori.finish_reasons import ended, usual
from katayori_tools.logs import read_log

#: Endings of files, and what separates the columns of a table.
TABLES = {".csv": ",", ".tsv": "\t"}
LOGS = (".eval", ".json", ".jsonl")
SHOWN = 20  # columns that a message names
COMMONEST = 3  # reasons that a note names
#: What every log may have, as --column names it.
NAMES = ("model", "prompt_id", "item_id", "text", "finish")
LOG = "log"  # the column that tells several logs apart
#: A field that only samples of lm-evaluation-harness have.
OF_LM_EVAL = "resps"


@dataclass(frozen=True)
class Log:
    """What was read.

    Attributes:
        frame: a row an answer. names: the library's name of a column -> the user's.
        options: the words that the options bear in an answer, such as A, B, C.
        notes: what was done with the log on the way, in sentences.
    """

    frame: pd.DataFrame
    names: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def named(self, name: str, *known: str) -> str | None:
        """The user's column: as it was named, else the first of the known names that is there.

        Example:
            >>> log = Log(pd.DataFrame(columns=["Template_ID", "sex"]), {"gender": "sex"})
            >>> log.named("gender"), log.named("cluster", "template_id"), log.named("age")
            ('sex', 'Template_ID', None)
        """
        if name in self.names:
            return self.names[name] or None
        there = {str(column).casefold(): str(column) for column in self.frame}
        return next((there[one] for one in (name, *known) if one in there), None)

    def column(self, name: str, *known: str) -> "pd.Series | None":
        """The column of that name, None where there is none."""
        own = self.named(name, *known)
        return None if own is None else self.frame[own]

    def there(self) -> str:
        """The columns as a message names them."""
        names = [str(name) for name in self.frame]
        shown = ", ".join(names[:SHOWN])
        return f"{shown}, ... ({len(names)} columns)" if len(names) > SHOWN else shown


def read(files: Sequence[Path], names: Mapping[str, str], options: Sequence[str] = ()) -> Log:
    """The answers of one or several logs, one below the other.

    Args:
        files: .eval or .json of inspect_ai, samples_*.jsonl of lm-evaluation-harness, or tables:
            .csv, .tsv, .jsonl.
        names: the library's name of a column -> the user's; an empty one: not used.
        options: the words that the options bear, for log probabilities of inspect_ai.

    Raises:
        KatayoriError: a file that cannot be read, holds no rows or is of another kind; a column
        that is named and not there.
    """
    frames = [_frame(file, options) for file in files]
    stems = _stems(files)
    notes = []
    for place, (frame, stem) in enumerate(zip(frames, stems, strict=True)):
        frames[place], note = _one_filter(frame)
        notes += [f"{stem}: {note}"] if note else []
        if LOG not in frame:
            frames[place] = frames[place].assign(**{LOG: stem})
    together = pd.concat(frames, ignore_index=True)
    for name, own in names.items():
        _check_there(name, own, together)
    log = Log(together, dict(names), tuple(options), tuple(notes))
    return replace(log, notes=(*log.notes, *_lost_endings(log)))


def _lost_endings(log: Log) -> list[str]:
    """How many answers count as none for the word they ended with, and the commonest reasons."""
    found = (ended(word) for _, word in texts_of(log))
    counts = Counter(one.note for one in found if one.outcome == "error")
    if not counts:
        return []
    shown = "; ".join(f"{note}, {n:,} times" for note, n in counts.most_common(COMMONEST))
    remedy = "Not said of how answers end? --column finish= leaves that column out."
    return [f"{counts.total():,} answers count as none: {shown}. {remedy}"]


def commonest(texts: Iterable[str | None]) -> str:
    """The commonest texts with their counts, in words.

    Example:
        >>> commonest(["no idea", None, "C", "C"])
        "'C' (2 times), 'no idea' (1 times)"
    """
    counts = Counter(text for text in texts if text is not None)
    found = [f"{text!r:.60} ({n:,} times)" for text, n in counts.most_common(COMMONEST)]
    return ", ".join(found) or "no text"


def _check_there(name: str, own: str, frame: pd.DataFrame) -> None:
    """KatayoriError for a column, or one of several between commas, that the log has not."""
    parts = [] if own in frame else [part.strip() for part in own.split(",") if part.strip()]
    for part in parts:
        if part not in frame:
            raise KatayoriError(
                f"--column {name}={own}: the log has no column {part!r}; columns there:"
                f" {Log(frame).there()}"
            )


def _stems(files: Sequence[Path]) -> list[str]:
    """Names that tell the files apart: of two with one name also the folder."""
    stems = [file.stem for file in files]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{file.parent.name}/{file.stem}" for file in files]


def _frame(file: Path, options: Sequence[str]) -> pd.DataFrame:
    if not file.exists():
        raise KatayoriError(f"{file.name}: no such file; name a log: make analyse LOG=my.eval")
    if file.suffix in TABLES:
        frame = _table(file, TABLES[file.suffix])
    elif file.suffix == ".jsonl" and not _is_of_lm_eval(file):
        frame = pd.DataFrame(json_lines(file, "table"))
    elif file.suffix in LOGS:
        frame = read_log(file, options)
    else:
        raise KatayoriError(
            f"{file.name}: known are .eval and .json (inspect_ai), .jsonl (lm-evaluation-harness,"
            " or a table), .csv and .tsv"
        )
    if frame.empty:
        raise KatayoriError(f"{file.name} holds no answers")
    return frame.rename(columns=str)


def _table(file: Path, separator: str) -> pd.DataFrame:
    text = read_text(file, "table")
    try:
        return pd.read_csv(io.StringIO(text), sep=separator, low_memory=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        cause = " ".join(str(error).split())
        raise KatayoriError(f"{file.name} is no table that can be read ({cause})") from None


def _is_of_lm_eval(file: Path) -> bool:
    first = next(iter(json_lines(file, "log")), {})
    return OF_LM_EVAL in first


def _one_filter(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Of a log that has every answer once a filter, the rows of the first filter."""
    if "filter" not in frame or frame["filter"].nunique() < 2:
        return frame, ""
    first = frame["filter"].iloc[0]
    others = ", ".join(str(one) for one in frame["filter"].unique()[1:])
    kept = frame[frame["filter"] == first].reset_index(drop=True)
    return kept, f"every answer stands there once a filter; taken is {first}, not {others}"


def parsed_names(texts: Sequence[str]) -> dict[str, str]:
    """Of `name=column` texts the names and columns.

    Raises KatayoriError for a text of another form and a name given twice.

    Example:
        >>> parsed_names(["cluster=template", "people=anna,ben"])
        {'cluster': 'template', 'people': 'anna,ben'}
    """
    names: dict[str, str] = {}
    for text in texts:
        name, equals, own = text.partition("=")
        if not (name and equals):
            raise KatayoriError(f"--column takes name=column, e.g. cluster=template, not {text!r}")
        if name in names:
            raise KatayoriError(f"--column names {name} twice; give it once")
        names[name] = own
    return names


# -- what every kind has ---------------------------------------------------------------------------

MODEL = ("model", "model_name", "judge_model")
PROMPT = ("prompt_id", "prompt", "variant")
ITEM = ("item_id", "example_id", "id", "doc_id", "sample_id")
LONGEST_NAME = 80  # a prompt_id that is longer is the text that was asked


def series_of(log: Log) -> pd.Series:
    """Whose answers each row holds: the model and, where several differ, prompt and log.

    Example:
        >>> frame = pd.DataFrame({"model": ["a", "a"], "prompt_id": ["p", "q"], "log": "mine"})
        >>> series_of(Log(frame)).tolist()
        ['a, p', 'a, q']
    """
    model = log.column("model", *MODEL[1:])
    stem = log.frame[LOG].astype(str)
    parts = [stem if model is None else model.fillna("unnamed").astype(str)]
    prompt = log.column("prompt_id", *PROMPT[1:])
    if prompt is not None and _names_prompts(prompt):
        parts.append(prompt.fillna("unnamed").astype(str))
    if model is not None and pd.DataFrame([*parts, stem]).T.nunique().iloc[-1] > 1:
        parts.append(stem)
    varying = [part for part in parts[1:] if _tells_apart(part, parts[0])]
    together = parts[0]
    for part in varying:
        together = together + ", " + part
    return together.rename("model")


def _names_prompts(prompt: pd.Series) -> bool:
    """Whether a column names a few prompts, and does not hold the text of each question."""
    texts = prompt.dropna().astype(str)
    return texts.nunique() <= max(2, len(texts) / 5) and texts.str.len().max() <= LONGEST_NAME


def _tells_apart(part: pd.Series, model: pd.Series) -> bool:
    """Whether a column differs inside one model."""
    return bool(part.groupby(model).nunique().max() > 1)


def clusters_of(log: Log, known: Sequence[str], notes: list[str]) -> pd.Series:
    """What would be drawn anew in another study; the item where no column says it.

    What was done goes into `notes`.
    """
    own = log.named("cluster", *known)
    if own:
        notes.append(f"Clusters, which would be drawn anew in another study: column {own}.")
        return log.frame[own].fillna("unnamed")
    items = log.column("item_id", *ITEM[1:])
    if items is None or "cluster" in log.names:
        notes.append("Every answer counts as drawn on its own (no column of clusters).")
        return pd.Series(range(len(log.frame)), name="cluster")
    notes.append(
        "No column of clusters: every item counts as drawn on its own, so that the intervals are"
        " too narrow where items share a template or question. Name it: --column cluster=..."
    )
    return items


def texts_of(log: Log) -> Iterator[tuple[str | None, str]]:
    """Text and ending of each answer, in the usual word; None where there is no text."""
    column = log.column("text", "response", "answer", "output", "completion")
    finish = log.column("finish", "finish_reason")
    texts = [None] * len(log.frame) if column is None else column.tolist()
    ends = ["stop"] * len(log.frame) if finish is None else finish.fillna("stop").tolist()
    for text, end in zip(texts, ends, strict=True):
        yield (None if pd.isna(text) else str(text)), usual(end)


def places_in(log: Log, name: str) -> list[str]:
    """The columns `<name>_0`, `<name>_1`, ... as far as they are there without a gap.

    Example:
        >>> places_in(Log(pd.DataFrame(columns=["logp_0", "logp_1", "logp_3"])), "logp")
        ['logp_0', 'logp_1']
    """
    columns: list[str] = []
    while f"{name}_{len(columns)}" in log.frame:
        columns.append(f"{name}_{len(columns)}")
    return columns

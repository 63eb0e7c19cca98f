"""Other people's logs: inspect_ai, lm-evaluation-harness and tables, read into one frame.

`make convert` and `make analyse` read through this module. What a column may be called and how
words are written stands in logs.yaml.

An .eval of inspect_ai is an archive packed with Zstandard, which Python's zipfile reads from 3.14
on. Archives are read in memory; nothing is unpacked to the disk.
"""

import codecs
import fnmatch
import io
import json
import math
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import lru_cache, partial
from itertools import count, takewhile
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.data.files import _MOST_OF_ROWS, _check, json_lines, read_text, read_yaml
from katayori.errors import KatayoriError
from katayori.finish_reasons import ended, usual, without_thoughts

MAX_MEMBER = 100_000_000  # bytes of one sample; what unpacks to more is no answer
ZSTANDARD = 93  # the zip method that inspect_ai packs with; Python's zipfile reads it from 3.14 on
#: How inspect_ai's scorers write right, wrong and half right; anything else stays as it is.
MARKS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": None}
LONGEST_CAUSE = 200  # characters of a failure that are shown
SHOWN = 20  # columns that a message names
COMMONEST = 3  # texts and reasons that a message names
#: Endings of tables, and what separates their columns.
TABLES = {".csv": ",", ".tsv": "\t"}
#: Columns of what is answered, which counts for nothing where the answer did not end as one.
_SAID = ("text", "answer", "value", "verdict", "role", "correct")
LIKELIHOODS = "holds scores of given continuations (loglikelihood), not a generated text"

Turn = tuple[str, str]  # role, text; no role where a harness logs plain text
#: A sample: `fields` (a row of `read_log`), `asked` (turns), `choice` (as of a chat completion) and
#: `cause`, why it holds no answer that was written.
Sample = dict[str, Any]


@lru_cache
def listed() -> dict[str, Any]:
    """The blocks of logs.yaml: kinds with their columns and figures, words, sections, statuses."""
    blocks: dict[str, Any] = read_yaml(Path(__file__).with_name("logs.yaml"), "list of columns")
    return blocks


# -- logs of harnesses -----------------------------------------------------------------------------


def read_log(log: str | PathLike[str], options: Sequence[str] = ()) -> pd.DataFrame:
    """The answers of a log with what its samples say of themselves.

    Args:
        log: .eval or .json of inspect_ai, samples_*.jsonl of lm-evaluation-harness (made with
            `--log_samples`; early versions write one list of JSON), or a table (.csv, .tsv, .jsonl,
            a list as .json), which is given as it is.
        options: the words that the options bear in the answer, such as ["A", "B", "C"]: of logs of
            inspect_ai that hold log probabilities they are read at the answer's token.

    Returns:
        model (inspect_ai; lm-evaluation-harness does not log it in its samples), item_id (of the
        metadata, or the sample's own), repetition (epochs from 0), text (None of a failed sample
        and of one that ended in a tool call or for an unknown reason), finish (`stop`, also of a
        single token; `length`, `content_filter`; `error` of a failed sample; another word as it is,
        such as `tool_calls`; lm-evaluation-harness does not log cut-offs), target; the metadata
        of the sample or the fields of its document under their own names; score_<name> (of
        inspect_ai's scorers C, I and P as 1, 0 and 0.5; of lm-evaluation-harness its metrics) and
        answer (of the first scorer), as far as the log has them and the answer is whole; logp_0,
        logp_1, ...: log probability of each option, NaN where it is not known
        (lm-evaluation-harness: of the given continuations, summed over their tokens).
        Rows of lm-evaluation-harness that differ only in the filter are kept, with `filter`.

    Raises:
        KatayoriError: a file of another kind, or that cannot be read.

    Example:
        >>> import json, tempfile
        >>> row = {"doc_id": 3, "doc": {"topic": "age"}, "target": "1", "acc": 1.0}
        >>> row |= {"resps": [[["-2.5", "False"]], [["-0.5", "True"]]], "metrics": ["acc"]}
        >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        ...     print(json.dumps(row), file=file, flush=True)
        ...     frame = read_log(file.name)
        >>> frame[["item_id", "topic", "score_acc", "logp_0", "logp_1"]].to_numpy().tolist()
        [[3, 'age', 1.0, -2.5, -0.5]]
    """
    file = Path(log)
    if file.suffix in TABLES:
        return _table(file)
    model, samples = samples_of(file, options)
    rows = []
    for _, sample in samples:
        if "fields" not in sample:
            raise KatayoriError(f"{file.name}: a sample {sample['cause']}")
        rows.append(sample["fields"] | ({"model": model} if model else {}))
    if not rows:
        raise KatayoriError(f"{file.name} holds no samples; was it made with samples?")
    return pd.DataFrame(rows)


def _table(file: Path) -> pd.DataFrame:
    text = read_text(file, "table", _MOST_OF_ROWS)
    try:
        table = pd.read_csv(io.StringIO(text), sep=TABLES[file.suffix], low_memory=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        cause = " ".join(str(error).split())
        raise KatayoriError(f"{file.name} is no table that can be read ({cause})") from None
    if table.empty:
        raise KatayoriError(f"{file.name} has a header and no rows")
    return table


def samples_of(log: Path, options: Sequence[str] = ()) -> tuple[str, Iterator[tuple[int, Sample]]]:
    """The model of a log, empty where it is not logged, and its samples with their numbers.

    A sample of an unknown form has nothing but `cause`.

    Raises KatayoriError for a file of another kind, or that cannot be read.
    """
    rows = _listed_rows(log) if log.suffix in (".json", ".jsonl") else None
    if log.suffix == ".jsonl" or rows is not None:
        rows = json_lines(log, "log") if rows is None else rows
        # Only samples of lm-evaluation-harness have this field.
        return "", _numbered(rows, _of_lm_eval if rows and "resps" in rows[0] else _of_table)
    if log.suffix in (".json", ".eval"):
        model, samples = _log_of_inspect(log)
        return model, _numbered(samples, partial(_of_inspect, options=options))
    raise KatayoriError(
        f"{log.name}: known are .eval and .json (inspect_ai), .jsonl (lm-evaluation-harness, or a"
        " table), and for make analyse .csv and .tsv"
    )


def _listed_rows(log: Path) -> list[dict[str, Any]] | None:
    """The rows of a file that is one list, as lm-evaluation-harness wrote at first (also .jsonl);
    None of another file, and of one that cannot be read.
    """
    begin = b""
    with suppress(OSError):
        if log.is_file():
            with log.open("rb") as file:
                begin = file.read(LONGEST_CAUSE)
    if not begin.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
        return None
    try:
        rows = json.loads(read_text(log, "log", _MOST_OF_ROWS))
    except (ValueError, RecursionError) as error:
        raise KatayoriError(f"{log.name} is not JSON ({error}); is the file cut off?") from None
    if not all(isinstance(row, dict) for row in rows):
        raise KatayoriError(f"{log.name} is a list of what are no objects with named fields")
    return list(rows)


def _numbered(raws: Sequence[Any], parse: Any) -> Iterator[tuple[int, Sample]]:
    for number, raw in enumerate(raws, 1):
        try:
            yield from ((number, sample) for sample in parse(raw))
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            cause = f"has not the form that is known ({type(error).__name__} {error})"
            yield number, {"cause": cause[:LONGEST_CAUSE]}


def _of_table(row: Any) -> Iterator[Sample]:
    yield {"fields": row, "cause": "is a row of a table, and not of a harness"}


def _log_of_inspect(log: Path) -> tuple[str, list[Any]]:
    """The model and the samples of a log of inspect_ai, .json or .eval.

    An interrupted .eval has its head in the journal only.

    Raises KatayoriError for a file that is no such log, or cannot be read.
    """
    try:
        _check(log, "log")
        if log.suffix == ".json":
            raw = json.loads(log.read_bytes())
            return str(raw["eval"]["model"]), list(raw.get("samples") or ())
        with zipfile.ZipFile(log) as archive:
            held = archive.namelist()
            heads = [name for name in ("header.json", "_journal/start.json") if name in held]
            inside = [n for n in held if n.startswith("samples/") and n.endswith(".json")]
            if sum(archive.getinfo(name).file_size for name in inside) > _MOST_OF_ROWS:
                raise KatayoriError(
                    f"{log.name} unpacks to more than {_MOST_OF_ROWS:,} bytes; log fewer samples"
                )
            head, *samples = (json.loads(_unpacked(archive, n)) for n in [*heads[:1], *inside])
        return str(head["eval"]["model"]), samples
    except NotImplementedError:
        remedy = f"`inspect log convert {log.name} --to json --output-dir converted` writes one"
        raise KatayoriError(
            f"{log.name} is packed by a method that is not known here; a .json log is: {remedy}"
        ) from None
    except (KeyError, TypeError, AttributeError):
        raise KatayoriError(f"{log.name} is no log of inspect_ai: it names no eval.model") from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError) as error:
        raise KatayoriError(
            f"{log.name} cannot be read ({error}); is it there, and whole?"
        ) from None


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a member, checked; also one that is packed with Zstandard."""
    member, log = archive.getinfo(name), Path(str(archive.filename)).name
    if member.file_size > MAX_MEMBER:
        raise KatayoriError(f"{log}: {name} unpacks to more than {MAX_MEMBER:,} bytes")
    if member.compress_type != ZSTANDARD:
        return archive.read(member)
    try:
        import zstandard
    except ImportError:
        raise KatayoriError(
            "an .eval is packed with Zstandard: pip install zstandard, or `inspect log convert"
            f" {log} --to json --output-dir converted`"
        ) from None
    packed: Any = copy(member)  # as if it was stored: zipfile finds the bytes and checks their head
    packed.compress_type, packed.file_size, packed.CRC = 0, member.compress_size, None
    try:
        with (
            archive.open(packed) as raw,
            zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as reader,
        ):
            content = reader.read(MAX_MEMBER + 1)
    except zstandard.ZstdError as error:
        raise ValueError(f"{name}: {error}") from None
    if len(content) > MAX_MEMBER or zlib.crc32(content) != member.CRC:
        raise ValueError(f"{name} is damaged")
    return content


def _of_inspect(sample: Any, options: Sequence[str]) -> Iterator[Sample]:
    attached, about = sample.get("attachments") or {}, sample.get("metadata") or {}
    choices = (sample.get("output") or {}).get("choices") or []
    cause = "" if choices else "has no output"
    if stopped := sample.get("error") or sample.get("limit"):
        told = stopped.get("message") or f"stopped by the {stopped.get('type')} limit"
        cause = f"sample failed: {told}"[:LONGEST_CAUSE]
    choice: Any = {} if cause else choice_of_inspect(choices[0], attached)
    word, usage = choice.get("finish_reason", "error"), (sample.get("output") or {}).get("usage")
    found = ended(word, one_token=(usage or {}).get("output_tokens") == 1)
    if choice and found.outcome == "error":
        cause, choice = found.note, {}
    whole = found.outcome == "ok"
    fields = about | {"item_id": about.get("item_id") or sample["id"]}
    fields |= {"target": sample.get("target"), "repetition": int(sample.get("epoch") or 1) - 1}
    fields |= {"text": choice["message"]["content"] if choice else None}
    fields |= {"finish": "stop" if whole else usual(word)}
    fields |= _at_the_answer(choice if whole else {}, options)
    for scorer, score in (sample.get("scores") or {} if whole else {}).items():
        value = score.get("value")
        fields[f"score_{scorer}"] = MARKS.get(value, value) if isinstance(value, str) else value
        if score.get("answer") is not None:
            fields.setdefault("answer", score["answer"])
    turns = sample.get("messages") or sample.get("input") or []
    turns = [{"role": "user", "content": turns}] if isinstance(turns, str) else list(turns)
    if turns and sample.get("messages") and turns[-1].get("role") == "assistant":
        turns.pop()
    asked = [(str(t.get("role")), _text_of(t.get("content"), attached)) for t in turns]
    yield {"fields": fields, "asked": asked, "choice": choice, "cause": cause}


def choice_of_inspect(choice: Any, attached: Mapping[str, str]) -> Any:
    """A choice of inspect_ai in the form of a chat completion."""
    content = _text_of(choice["message"].get("content"), attached)
    return choice | {"message": {"content": content}, "finish_reason": choice.get("stop_reason")}


def _text_of(content: Any, attached: Mapping[str, str]) -> str:
    """A message's text: its text parts, with what the log keeps apart (`attachment://…`)."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if part.get("type") == "text")
        return "".join(_text_of(part, attached) for part in parts)
    text = str(content or "")
    kept = text.removeprefix("attachment://")
    return text if kept == text else attached[kept]


def _at_the_answer(choice: Any, options: Sequence[str]) -> dict[str, float]:
    """logp_k, the log probability of each option, at the last token that is one of them, behind
    the thoughts.

    Tokens that differ in white space alone are one option, whose probabilities add up.
    """
    places = (choice.get("logprobs") or {}).get("content") or [] if options else []
    spoken = without_thoughts([place["token"] for place in places])
    answers = [place for place, t in zip(places, spoken, strict=True) if t.strip() in options]
    sums = dict.fromkeys(options, 0.0)
    for one in (answers[-1].get("top_logprobs") or []) if answers else []:
        word = one["token"].strip()
        if word in sums:
            sums[word] += math.exp(one["logprob"])
    return {f"logp_{n}": math.log(p) if p else math.nan for n, p in enumerate(sums.values())}


def _of_lm_eval(row: Any) -> Iterator[Sample]:
    """A sample for each repeat of a generated answer, or one of scored continuations."""
    doc = row["doc"] if isinstance(row.get("doc"), dict) else {}
    fields = doc | {"item_id": doc.get("item_id") or row["doc_id"], "target": row.get("target")}
    fields |= {"filter": row["filter"]} if "filter" in row else {}
    fields |= {f"score_{one}": row[one] for one in row.get("metrics") or () if one in row}
    answers, asked = row["resps"], _asked_by_lm_eval(row.get("arguments"))
    texts = answers[0] if isinstance(answers[0], list) else answers
    if isinstance(texts[0], list | tuple):
        fields |= {f"logp_{n}": float(one[0][0]) for n, one in enumerate(answers)}
        fields |= {"repetition": 0, "text": None, "finish": "stop"}
        yield {"fields": fields, "asked": asked, "choice": {}, "cause": LIKELIHOODS}
        return
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError("resps are neither texts nor scores")
    for number, text in enumerate(texts):
        # A failed call may leave null in place of a text.
        finish, cause = ("error", "holds no text") if text is None else ("stop", "")
        own = fields | {"repetition": number, "text": text, "finish": finish}
        choice = {"message": {"content": text}, "finish_reason": finish}
        yield {"fields": own, "asked": asked, "choice": choice, "cause": cause}


def _asked_by_lm_eval(asked: Any) -> list[Turn]:
    """The conversation of [[prompt, settings]] or {gen_args_0: {arg_0: prompt, ...}}.

    A prompt is a chat as JSON text, or plain text.
    """
    while isinstance(asked, list | dict) and asked:
        asked = next(iter(asked.values())) if isinstance(asked, dict) else asked[0]
    if isinstance(asked, str) and asked.startswith("[{"):
        with suppress(ValueError, KeyError, AttributeError, TypeError):
            return [(str(t["role"]), _text_of(t["content"], {})) for t in json.loads(asked)]
    return [("", asked)] if isinstance(asked, str) and asked else []


# -- what is analysed: a frame, and the columns by the user's names --------------------------------


class Log:
    """The answers of a log of a known kind, and the columns by our names.

    Attributes:
        frame: a row an answer. names: our name of a column -> the user's. known: our name -> those
            that others use. needs: of the kind, as in logs.yaml. options: whether the words of the
            options are known, whose log probabilities are `logp_k`. notes: what was done with the
            log, in sentences.
    """

    def __init__(
        self, frame: pd.DataFrame, kind: str, names: Mapping[str, str], *, options: bool = False
    ) -> None:
        self.frame, self.kind, self.names, self.options = frame, kind, names, options
        of_kind = listed()["kinds"][kind]
        self.known, self.needs = listed()["columns"] | of_kind["columns"], of_kind["needs"]
        self.notes: list[str] = []
        if (ends := self.column("finish")) is not None:
            lost = ends.map(lambda word: ended(None if pd.isna(word) else word).outcome == "error")
            said = {one for name in _SAID for one in self.several(name)}
            said |= {*self.places("logp"), *self.places("p")}
            self.frame = frame.assign(**{one: frame[one].mask(lost) for one in said - {ends.name}})

    def several(self, name: str) -> list[str]:
        """The user's columns of a name: those that were named, else the first that are there.

        Example:
            >>> log = Log(pd.DataFrame(columns=["Template_ID", "sex"]), "bbq", {"role": "sex"})
            >>> log.several("role"), log.several("cluster"), log.several("label")
            (['sex'], ['Template_ID'], [])
        """
        if name in self.names:
            return columns_named(self.names[name], self.frame)
        there = {str(column).casefold(): str(column) for column in self.frame}
        known = self.known.get(name, [])
        found = (fnmatch.filter(there, one) for one in ([] if name in known else [name]) + known)
        return [there[column] for column in next(filter(None, found), [])]

    def column(self, name: str) -> "pd.Series | None":
        """The values of the first of these columns, None where there is none."""
        return next((self.frame[own] for own in self.several(name)), None)

    def lacks(self) -> list[str]:
        """What the columns lack to be a log of the kind, in words."""
        lacked = [one for one in self.needs if not any(self.has(*own) for own in one["groups"])]
        return [one["about"] for one in lacked]

    def has(self, *names: str) -> bool:
        """Whether there is a column of each of these names."""
        return all(map(self.several, names))

    def note(self, key: str, *values: Any) -> None:
        """Adds a sentence of logs.yaml on how the log was read."""
        self.notes.append(listed()["notes"][key].format(*values))

    def words(self, name: str, kind: str, *, may_miss: bool = False) -> pd.Series:
        """The column of a name in our words of that kind.

        Raises KatayoriError for a word that is not listed, naming it and those that are.
        """
        column = self.frame[self.several(name)[0]]
        found = column.map(lambda value: meaning(value, kind)).astype(object)
        given = column.notna() & (column.astype(str).str.strip() != "")
        strange = column[found.isna() & (given | (not may_miss))]
        if len(strange):
            known = ", ".join(listed()["words"][kind]) + (", or nothing" if may_miss else "")
            raise KatayoriError(
                f"column {column.name!r} holds {strange.iloc[0]!r:.60}; a {kind} is one of {known};"
                f" name another column by --column {kind}=..."
            )
        return found.where(found.notna(), None)

    def places(self, name: str, joint: str = "_") -> list[str]:
        """The columns `<name>_0`, `<name>_1`, ... as far as they are there without a gap."""
        return [*takewhile(self.frame.__contains__, (f"{name}{joint}{k}" for k in count()))]

    def texts(self) -> list[tuple[str | None, str]]:
        """Text and ending of each answer, in the usual word; None where there is no text."""
        blank = pd.Series(None, self.frame.index, dtype=object)
        columns = (self.column(name) for name in ("text", "finish"))
        texts, ends = (blank if one is None else one for one in columns)
        both = zip(texts, ends.fillna("stop"), strict=True)
        return [(None if pd.isna(text) else str(text), usual(end)) for text, end in both]

    def lost_endings(self) -> list[str]:
        """How many answers count as none for the word they ended with, and the commonest words."""
        found = [ended(word) for _, word in self.texts()]
        counts = Counter(one.note for one in found if one.outcome == "error")
        shown = "; ".join(f"{note}, {n:,} times" for note, n in counts.most_common(COMMONEST))
        remedy = "Not said of how answers end? --column finish= leaves that column out."
        told = f"{counts.total():,} answers count as none: {shown}. {remedy}"
        return [told] if counts else []


def columns_named(text: str, frame: pd.DataFrame) -> list[str]:
    """The columns that a text names: one, or several between commas."""
    return [text] if text in frame else [part.strip() for part in text.split(",") if part.strip()]


def columns_there(frame: pd.DataFrame) -> str:
    """The columns of a frame as a message names them."""
    shown = ", ".join(str(name) for name in list(frame)[:SHOWN])
    return f"{shown}, ... ({frame.shape[1]} columns)" if frame.shape[1] > SHOWN else shown


def plain(value: Any) -> str:
    """A word as words are compared: NFKC, without case, quotes and a period.

    Example:
        >>> plain(" “Ｎonneg”. ")
        'nonneg'
    """
    return unicodedata.normalize("NFKC", str(value)).strip().casefold().strip("\"'“”.。*")


def meaning(value: Any, kind: str) -> str | None:
    """Our word of a kind for somebody's, None for a word that is not listed.

    Example:
        >>> meaning("Ambig", "context"), meaning(2.0, "verdict"), meaning("cat", "role")
        ('ambiguous', '2', None)
    """
    return _ours(kind).get(plain(value).removesuffix(".0"))


@lru_cache
def _ours(kind: str) -> dict[str, str]:
    words = listed()["words"][kind]
    return {str(one): str(name) for name, others in words.items() for one in (name, *others)}


def commonest(texts: Sequence[str | None]) -> str:
    """The commonest texts with their counts, in words.

    Example:
        >>> commonest(["no idea", None, "C", "C"])
        "'C' (2 times), 'no idea' (1 times)"
    """
    counts = Counter(text for text in texts if text is not None)
    found = [f"{text!r:.60} ({n:,} times)" for text, n in counts.most_common(COMMONEST)]
    return ", ".join(found) or "no text"


def frame_of(files: Sequence[Path], options: Sequence[str]) -> pd.DataFrame:
    """The answers of one or several logs, one below the other; `attrs["notes"]` says in sentences
    what was done with them.

    A column `log` tells the files apart. Of answers that stand there once a filter the first is
    taken.

    Raises KatayoriError for a file that is no log and no table, or holds no answers.
    """
    stems = [file.stem for file in files]
    if len(set(stems)) < len(stems):
        stems = [f"{file.parent.name}/{file.stem}" for file in files]
    frames, notes = [], []
    for file, stem in zip(files, stems, strict=True):
        frame = read_log(file, options).rename(columns=str)
        if frame.empty:
            raise KatayoriError(f"{file.name} holds no answers")
        if "filter" in frame and frame["filter"].nunique() > 1:
            first, *others = frame["filter"].unique()
            frame = frame[frame["filter"] == first]
            taken = f"taken is {first}, not {', '.join(map(str, others))}"
            notes.append(f"{stem}: every answer stands there once a filter; {taken}")
        frames.append(frame if "log" in frame else frame.assign(log=stem))
    whole = pd.concat(frames, ignore_index=True)
    whole.attrs["notes"] = notes
    return whole

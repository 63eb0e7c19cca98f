"""Logs of inspect_ai and lm-evaluation-harness: as they lie on the disk, and as a flat frame.

`read_log` reads any task of theirs; nothing is asked of the items. (`katayori convert` takes
answers to the items of this repository into its notebooks, and refuses what was asked in other
words.)

An .eval of inspect_ai is an archive packed with Zstandard, which Python's zipfile reads from 3.14
on. Archives are read in memory; nothing is unpacked to the disk.
"""

import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from katayori.data.files import json_lines
from katayori.errors import KatayoriError
from katayori.finish_reasons import usual

MAX_MEMBER = 100_000_000  # bytes of one sample; what unpacks to more is no answer
LOCAL_HEAD = 30  # bytes before a member's name
LENGTHS_AT = (26, 28)  # in it: how long the name and the extra field are
ZSTANDARD = 93  # the zip method that inspect_ai packs with; Python's zipfile reads it from 3.14 on
#: How inspect_ai's scorers write right, wrong and half right; anything else stays as it is.
MARKS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": None}

_Row = dict[str, Any]


def read_log(log: str | PathLike[str], options: Sequence[str] = ()) -> pd.DataFrame:
    """The answers of a log with what its samples say of themselves.

    Args:
        log: .eval or .json of inspect_ai, samples_*.jsonl of lm-evaluation-harness (made with
            `--log_samples`).
        options: the words that the options bear in the answer, such as ["A", "B", "C"]: of logs of
            inspect_ai that hold log probabilities they are read at the answer's token.

    Returns:
        model (inspect_ai; lm-evaluation-harness does not log it in its samples), item_id (of the
        metadata, or the sample's own), repetition (epochs from 0), text (None of a failed sample),
        finish (`stop`, `length`, `content_filter`; `error` of a failed sample; another word as it
        is, such as `tool_calls`; lm-evaluation-harness does not log cut-offs), target; the metadata
        of the sample or the fields of its document under their own names; score_<name> (of
        inspect_ai's scorers C, I and P as 1, 0 and 0.5; of lm-evaluation-harness its metrics) and
        answer (of the first scorer), as far as the log has them; logp_0, logp_1, ...: log
        probability of each option, NaN where it is not known (lm-evaluation-harness: of the given
        continuations, summed over their tokens).
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
    if file.suffix == ".jsonl":
        rows = [row for one in json_lines(file, "sample log") for row in _lm_eval(one, file.name)]
    elif file.suffix in (".json", ".eval"):
        model, samples = log_of_inspect(file)
        rows = [_inspect(sample, options, file.name) | {"model": model} for sample in samples]
    else:
        raise KatayoriError(
            f"{file.name}: read_log knows .eval and .json (inspect_ai) and .jsonl"
            " (lm-evaluation-harness); a .csv is read by pandas.read_csv"
        )
    if not rows:
        raise KatayoriError(f"{file.name} holds no samples; was it made with samples?")
    return pd.DataFrame(rows)


def _malformed(name: str, error: Exception) -> KatayoriError:
    return KatayoriError(
        f"{name}: a sample has not the form that is known ({type(error).__name__} {error})"
    )


# -- the disk --------------------------------------------------------------------------------------


def log_of_inspect(log: Path) -> tuple[str, list[Any]]:
    """The model and the samples of a log of inspect_ai, .json or .eval.

    An interrupted .eval has its head in the journal only.

    Raises KatayoriError for a file that is no such log, or cannot be read.
    """
    try:
        if log.suffix == ".json":
            raw = json.loads(log.read_bytes())
            return str(raw["eval"]["model"]), list(raw.get("samples") or ())
        head, *samples = _members(log)
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


def results_of_inspect(log: Path) -> tuple[str, dict[str, float]]:
    """The task of a whole .eval and the metrics of its first scorer, by name.

    Raises KatayoriError for another file, and for a run that was not finished.
    """
    try:
        with zipfile.ZipFile(log) as archive:
            head = json.loads(unpacked(archive, archive.getinfo("header.json")))
        metrics = head["results"]["scores"][0]["metrics"]
        return str(head["eval"]["task"]), {name: float(m["value"]) for name, m in metrics.items()}
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise KatayoriError(f"{log.name} cannot be read ({error}); is it whole?") from None
    except (KeyError, TypeError, IndexError):
        raise KatayoriError(f"{log.name} holds no scores; was its run finished?") from None


def _members(log: Path) -> list[Any]:
    """The head of an archive and its samples."""
    with zipfile.ZipFile(log) as archive:
        held = archive.namelist()
        heads = [name for name in ("header.json", "_journal/start.json") if name in held]
        inside = [n for n in held if n.startswith("samples/") and n.endswith(".json")]
        wanted = [archive.getinfo(name) for name in [*heads[:1], *inside]]
        for member in wanted:
            if member.file_size > MAX_MEMBER:
                large = f"{member.filename} unpacks to more than {MAX_MEMBER:,} bytes"
                raise KatayoriError(f"{log.name}: {large}")
        return [json.loads(unpacked(archive, member)) for member in wanted]


def unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The content of a member, checked; also one that is packed with Zstandard."""
    if member.compress_type != ZSTANDARD:
        return archive.read(member)
    try:
        import zstandard
    except ImportError:
        raise KatayoriError(
            "an .eval is packed with Zstandard: pip install zstandard, or `inspect log convert"
            f" {Path(str(archive.filename)).name} --to json --output-dir converted`"
        ) from None

    packed = _packed(archive, member)
    try:
        with zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(packed), read_across_frames=True
        ) as reader:
            content = reader.read(MAX_MEMBER + 1)
    except zstandard.ZstdError as error:
        raise ValueError(f"{member.filename}: {error}") from None
    if len(content) > MAX_MEMBER or zlib.crc32(content) != member.CRC:
        raise ValueError(f"{member.filename} is damaged")
    return content


def _packed(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The packed bytes of a member: behind its local head, whose two lengths are its own."""
    file = archive.fp
    if file is None:
        raise ValueError(f"{archive.filename} is closed")
    file.seek(member.header_offset)
    head = file.read(LOCAL_HEAD)
    if head[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{member.filename} is not where the archive says")
    lengths = (int.from_bytes(head[at : at + 2], "little") for at in LENGTHS_AT)
    file.seek(sum(lengths), io.SEEK_CUR)
    return file.read(member.compress_size)


def content_of(content: Any, attached: dict[str, str]) -> str:
    """A message's text: its text parts, with what the log keeps apart (`attachment://…`)."""
    if isinstance(content, list):
        return "".join(
            content_of(part.get("text"), attached) for part in content if part.get("type") == "text"
        )
    text = str(content or "")
    return (
        attached[text.removeprefix("attachment://")] if text.startswith("attachment://") else text
    )


# -- inspect_ai ------------------------------------------------------------------------------------


def _inspect(sample: Any, options: Sequence[str], name: str) -> _Row:
    try:
        about = sample.get("metadata") or {}
        row = {key: value for key, value in about.items() if key != "item_id"}
        row |= {"item_id": about.get("item_id", sample["id"])}
        row |= {"repetition": int(sample.get("epoch") or 1) - 1, "target": sample.get("target")}
        choices = (sample.get("output") or {}).get("choices") or []
        if sample.get("error") or not choices:
            row |= {"text": None, "finish": "error"}
        else:
            text = content_of(choices[0]["message"].get("content"), sample.get("attachments") or {})
            row |= {"text": text, "finish": usual(choices[0].get("stop_reason"))}
        row |= _scores(sample.get("scores") or {})
        known = _at_the_answer(choices[0].get("logprobs") if choices else None, options)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise _malformed(name, error) from None
    return row | _logs(known)


def _scores(scores: dict[str, Any]) -> _Row:
    """The values of the scorers, and the answer of the first one that has one."""
    row: _Row = {}
    for scorer, score in scores.items():
        value = score.get("value")
        row[f"score_{scorer}"] = MARKS.get(value, value) if isinstance(value, str) else value
        if score.get("answer") is not None:
            row.setdefault("answer", score["answer"])
    return row


def _at_the_answer(logprobs: Any, options: Sequence[str]) -> list[float]:
    """The log probability of each option at the last token that is one of them.

    Tokens that differ in white space alone are one option, whose probabilities add up.
    """
    places = (logprobs or {}).get("content") or []
    answers = [place for place in places if place["token"].strip() in options]
    if not answers:
        return [math.nan] * len(options)
    likeliest = answers[-1].get("top_logprobs") or []
    sums = dict.fromkeys(options, 0.0)
    for one in likeliest:
        word = one["token"].strip()
        if word in sums:
            sums[word] += math.exp(one["logprob"])
    return [math.log(p) if p else math.nan for p in sums.values()]


# -- lm-evaluation-harness -------------------------------------------------------------------------


def _lm_eval(row: _Row, name: str) -> Iterator[_Row]:
    """A row of generated answers for each repeat, or one of scored continuations."""
    try:
        doc = row.get("doc") if isinstance(row.get("doc"), dict) else {}
        base = {key: value for key, value in (doc or {}).items() if key != "item_id"}
        base |= {"item_id": (doc or {}).get("item_id", row["doc_id"])}
        base |= {"target": row.get("target")}
        base |= {"filter": row["filter"]} if "filter" in row else {}
        base |= {f"score_{one}": row[one] for one in row.get("metrics") or () if one in row}
        answers = row["resps"]
        if _is_scored(answers):
            logs = [float(one[0][0]) for one in answers]
            yield base | {"repetition": 0, "text": None, "finish": "stop"} | _logs(logs)
            return
        texts = answers[0] if isinstance(answers[0], list) else answers
        for number, text in enumerate(texts):
            yield base | {"repetition": number, "text": str(text), "finish": "stop"}
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise _malformed(name, error) from None


def _is_scored(answers: Any) -> bool:
    """Whether a row holds [[[log p, whether it is the likeliest]], ...] of continuations."""
    first = answers[0][0] if isinstance(answers[0], list) else answers[0]
    return isinstance(first, list | tuple) and len(first) == 2


def _logs(logs: list[float]) -> _Row:
    return {f"logp_{place}": logp for place, logp in enumerate(logs)}

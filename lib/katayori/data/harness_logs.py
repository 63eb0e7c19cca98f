"""Logs of inspect_ai and lm-evaluation-harness as they lie on the disk.

An .eval of inspect_ai is an archive packed with Zstandard, which Python's zipfile reads from 3.14
on. Archives are read in memory; nothing is unpacked to the disk.
"""

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

from katayori.errors import KatayoriError

MAX_MEMBER = 100_000_000  # bytes of one sample; what unpacks to more is no answer
LOCAL_HEAD = 30  # bytes before a member's name
LENGTHS_AT = (26, 28)  # in it: how long the name and the extra field are
ZSTANDARD = 93  # the zip method that inspect_ai packs with; Python's zipfile reads it from 3.14 on


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

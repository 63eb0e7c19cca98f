"""Files people write by hand: read safely, and what is wrong with one is said in one line."""

import csv
import io
import json
import math
import re
import stat
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from katayori import paths
from katayori.errors import KatayoriError

Content = TypeVar("Content")

#: What readers said of the items of a folder; it lies beside them and holds none.
REVIEW_LOG = "review_log.yaml"
#: Spreadsheets run these; the full-width forms count too where the locale is Japanese.
FORMULA = re.compile(r"[\s\x00]*[=+\-@＝＋－＠]|[\t\r]")

#: Bytes that are read of a text written by hand. YAML takes a second for 3 MB, and 10,000 questions
#: have 5 MB; what is larger was named by mistake.
_MOST = 20_000_000
#: And of rows, which programs write: logs of harnesses have hundreds of MB. As Python's objects
#: they need three to five times as much memory, so that more fits few machines.
_MOST_OF_ROWS = 1_000_000_000
#: In how many others a value of YAML may lie, and how many values aliases may stand for: a hundred
#: times as deep, or a few lines of aliases of aliases, would end the program or its memory.
_DEEPEST = 100
_MOST_BY_ALIAS = 100_000


def _check(path: Path, what: str, most: int = _MOST_OF_ROWS) -> None:
    """KatayoriError for what has no end, as a device has none, or is too large to be read.

    OSError for a file that is not there.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise KatayoriError(f"{what} {path.name} is a folder; name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise KatayoriError(
            f"{what} {path.name} is a device, a pipe or a socket; write its content to a file and"
            " name that"
        )
    if found.st_size > most:
        raise KatayoriError(
            f"{what} {path.name} has {found.st_size:,} bytes, and at most {most:,} are read of"
            " such a file; is it the right one? If so, split it"
        )


def read_text(path: Path, what: str, most: int = _MOST) -> str:
    """The text of a UTF-8 file. `what` names its kind in the KatayoriError for one that is absent,
    no file, too large or not UTF-8.
    """
    try:
        _check(path, what, most)
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise KatayoriError(f"{what} not found: {path.name}") from None
    except OSError as e:
        raise KatayoriError(f"{what} {path.name} cannot be read ({e.strerror})") from None
    try:
        return raw.decode("utf-8-sig")  # line ends within a text stay as they are
    except UnicodeDecodeError as e:
        raise KatayoriError(
            f"{what} {path.name} is not UTF-8 (byte {e.start}); save it as UTF-8"
            f"{_remedy(raw, path.name)}"
        ) from None


def _remedy(raw: bytes, name: str) -> str:
    """The command that makes UTF-8 of a file whose encoding can be told; empty where it cannot."""
    kind, encoding = "Shift-JIS (cp932)", "CP932"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        kind = encoding = "UTF-16"
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return ""
    return f". It looks like {kind}: iconv -f {encoding} -t UTF-8 {name} > utf8-{name}"


def read_yaml(path: Path, what: str) -> Any:
    """The content of a YAML file (safe loading only), for reading. KatayoriError as `read_text`,
    and for wrong YAML.
    """
    return _parsed(read_text(path, what), f"{what} {path.name}")


@lru_cache(maxsize=64)
def _parsed(text: str, where: str) -> Any:
    try:
        content = _load(text)
        # Without aliases a text has no more values than letters.
        if "*" in text and _written_out(content, {}) > len(text) + _MOST_BY_ALIAS:
            raise ValueError("its aliases stand for too much; write the values out")
    # A date that does not exist, or a tag that does not fit, is an error of Python's own.
    except (AttributeError, LookupError, RecursionError, ValueError) as e:
        cause = " ".join(str(e).split())
        raise KatayoriError(f"{where}: not readable YAML ({cause})") from None
    return content


def _load(text: str) -> Any:
    """The content of a YAML text. ValueError and others for what is none."""
    import yaml

    # The loader in C, ten times as fast, where PyYAML was built with it.
    fastest: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(fastest):
        """It counts how deep a value lies: the loader in C has no limit but the stack's end."""

        depth = 0

        def descend_resolver(self, *place: Any) -> None:
            self.depth += 1
            if self.depth > _DEEPEST:
                raise ValueError(f"values lie in more than {_DEEPEST} others")

        def ascend_resolver(self) -> None:
            self.depth -= 1

    try:
        return yaml.load(text, Loader)  # noqa: S506 - both are safe loaders
    except yaml.YAMLError as e:
        raise ValueError(str(e)) from None


def _written_out(value: Any, seen: dict[int, float]) -> float:
    """How many values there are once each alias is written out: no end where one holds itself."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in seen:
        seen[id(value)] = math.inf
        parts = value.values() if isinstance(value, dict) else value
        seen[id(value)] = 1 + sum(_written_out(part, seen) for part in parts)
    return seen[id(value)]


def read_as(kind: type[Content], path: Path, what: str = "data file") -> Content:
    """The content of a YAML file as `kind`, for reading: a `data.schema.Schema`, or a list or dict
    of one. Who wants to change a dict makes a copy.

    KatayoriError as `read_yaml`, and for what `kind` does not allow, naming its place in the file.
    """
    text = read_text(path, what)
    return cast(Content, _as_kind(cast(Hashable, kind), text, f"{what} {path.name}"))


@lru_cache(maxsize=128)
def _as_kind(kind: Any, text: str, where: str) -> Any:
    from katayori.data.schema import checked

    return checked(kind, _parsed(text, where), where)


def read_checked(kind: Any, path: Path, what: str = "data file") -> Any:
    """The content of a YAML file as it stands there, after it was read as `kind` without error.

    For what becomes rows of a frame, in the file's own order of fields.
    """
    text, where = read_text(path, what), f"{what} {path.name}"
    _as_kind(kind, text, where)
    return _parsed(text, where)


def ours(name: str) -> Any:
    """The content of one of our YAML files, named from `data_dir()`."""
    return read_yaml(paths.registry(name), "data file")


def documents(
    path: str | Path, folder: str, what: str, beside: str = "", kind: Any = Any
) -> Iterator[tuple[Path, Any]]:
    """Each YAML file of a folder, or the one file, and its content.

    Left out of a folder are `REVIEW_LOG` and the file named `beside`.

    An empty path means `folder` in `data_dir()`; `what` names the kind of file. KatayoriError as
    `read_checked`, which reads each as `kind`, and for a folder without such files.
    """
    place = Path(path) if path else paths.data_dir() / folder
    left_out = (beside, REVIEW_LOG)
    if place.is_dir():
        files = [file for file in sorted(place.glob("*.yaml")) if file.name not in left_out]
    else:
        files = [place]
    if not files:
        raise KatayoriError(f"no {what}s (*.yaml) in {place.name}")
    return ((file, read_checked(kind, file, what)) for file in files)


def versions(contents: Iterable[dict[str, Any]], user: str) -> str:
    """Name and version of files of items, printed under every table; `user` names those that do not
    say.
    """
    names = {f"{d.get('dataset', user)} v{d.get('version', '?')}" for d in contents}
    return ", ".join(sorted(names))


def rows_of(path: Path, what: str) -> list[dict[str, Any]]:
    """The rows of a `.csv` file, texts by column name, or of a JSON Lines file; both in UTF-8.

    KatayoriError as `json_lines`, for a header without rows, and naming a row with too few or too
    many columns.
    """
    if path.suffix != ".csv":
        return json_lines(path, what)
    text = read_text(path, what, _MOST_OF_ROWS)
    # A cell may be longer than the module's default.
    limit = csv.field_size_limit(max(len(text), 131_072))
    try:
        table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        rows = list(table)
    except csv.Error as e:
        raise KatayoriError(
            f"{path.name} cannot be read as CSV ({e}); is the file cut off?"
        ) from None
    finally:
        csv.field_size_limit(limit)
    if table.fieldnames and not rows:
        raise KatayoriError(f"{path.name} has a header and no rows")
    for n, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise KatayoriError(
                f"{path.name} row {n} has too few or too many columns; is the file cut off?"
            )
    return rows


def json_lines(path: Path, what: str) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file. KatayoriError as `read_text`, and naming a line that is no
    JSON object.
    """
    rows = []
    # Not splitlines: it also splits at U+2028 within a text.
    for n, line in enumerate(read_text(path, what, _MOST_OF_ROWS).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as e:
            raise KatayoriError(
                f"{path.name} line {n} is not JSON ({e}); is the file cut off?"
            ) from None
        if not isinstance(row, dict):
            raise KatayoriError(f"{path.name} line {n} is not an object with named fields")
        rows.append(row)
    return rows

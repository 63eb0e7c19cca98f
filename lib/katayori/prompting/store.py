"""The answer store: one SQLite file (WAL), each answer written as it arrives; a success is never asked twice."""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError, expect
from katayori.prompting.requests import Request

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
BUSY = 60  # seconds to wait for another process that is writing
#: ok: the model answered in full. truncated: cut at the token limit, never parsed as an answer. refusal / filtered: the
#: model or the provider declined. error: nothing came back; asked again next time. out_of_choice is given by parsers.
OUTCOMES = ("ok", "out_of_choice", "refusal", "filtered", "truncated", "error")


@dataclass(slots=True)
class Response:
    """What came back for one request. `top` is the answer position's [(token, logprob), ...], most likely first."""

    outcome: str
    text: str = ""
    finish_reason: str = ""
    top: list[tuple[str, float]] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model_answered: str = ""
    fingerprint: str = ""
    latency: float = 0.0
    attempts: int = 1
    error: str = ""
    created: float = 0.0


_OF_REQUEST = "key paper dataset item_id prompt_id prompt_hash variant model endpoint identity repetition body".split()
_OF_RESPONSE = [field.name for field in fields(Response)]
_COLUMNS = _OF_REQUEST + _OF_RESPONSE
_BODY, _TOP, _CREATED = (_COLUMNS.index(name) for name in ("body", "top", "created"))
_request_values, _response_values = attrgetter(*_OF_REQUEST), attrgetter(*_OF_RESPONSE)
#: Columns of `Store.frame` by default: where an answer came from, without the texts.
PROVENANCE = [name for name in _COLUMNS if name not in ("body", "text", "top")]
_NUMBERS = ("repetition", "prompt_tokens", "completion_tokens", "latency", "attempts", "created")
_CREATE = f"CREATE TABLE IF NOT EXISTS answers ({', '.join(_COLUMNS)}, PRIMARY KEY (key))"
# A stored success is never overwritten, whatever a second process brings.
_PUT = f"""INSERT INTO answers VALUES ({",".join("?" * len(_COLUMNS))}) ON CONFLICT(key) DO UPDATE SET
    {", ".join(f"{c}=excluded.{c}" for c in _COLUMNS[1:])} WHERE answers.outcome='error'"""


def batches(requests: Iterable[Request], size: int = 1000) -> Iterator[list[Request]]:
    """The requests in lists of at most `size`, drawn as they are needed."""
    drawn = iter(requests)
    while batch := list(islice(drawn, size)):
        yield batch


class Store:
    """`with Store(path) as store:`; safe for several processes at once."""

    def __init__(self, path: str | Path):
        self.path, self._claims, self._claimed = Path(path), None, set()
        with self._told():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self.db.close()
                raise

    def _prepare(self) -> None:
        # One statement, one snapshot: a store that another process is just creating must not be taken for foreign.
        tables = "SELECT COUNT(*) FROM sqlite_master"
        version, n_tables = self.db.execute(f"SELECT user_version, ({tables}) FROM pragma_user_version").fetchone()
        if version not in (0, SCHEMA):
            said = f"store {self.path} has schema {version}, this version of katayori reads {SCHEMA}"
            remedy = "update katayori" if version > SCHEMA else "read it with the katayori that wrote it"
            raise KatayoriError(f"{said}: {remedy}, or move the file away")
        if version == 0 and n_tables:
            raise KatayoriError(f"{self.path} is a database of another program; name another store")
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        if version == 0:  # another process may have been faster
            self.db.executescript(f"BEGIN IMMEDIATE; {_CREATE}; PRAGMA user_version={SCHEMA}; COMMIT")
        self._version = self._data_version()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the database or the file system says becomes one line."""
        try:
            yield
        except (sqlite3.Error, OSError) as e:
            writable = all(os.access(p, os.W_OK) for p in (self.path.parent, self.path) if p.exists())
            said = f"{e}" if writable else f"{e} (the file or its folder is read-only)"
            raise KatayoriError(f"store {self.path} cannot be used: {said}; what was written so far is kept") from None

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()
        if self._claims:
            self._claims.close()

    def put(self, request: Request, response: Response) -> None:
        """Write one answer now, in its own transaction."""
        import orjson

        values = [*_request_values(request), *_response_values(response)]
        values[_BODY] = orjson.dumps(request.body).decode()
        values[_TOP] = orjson.dumps(response.top).decode() if response.top else None
        values[_CREATED] = response.created or time.time()
        with self._told():
            self.db.execute(_PUT, values)

    def _data_version(self) -> int:
        """A number that changes when another connection writes."""
        return self.db.execute("PRAGMA data_version").fetchone()[0]

    def claim(self, request: Request) -> bool:
        """Whether to ask this now: False while someone asks it already, here or in another process, or once answered.

        A lock on one byte of a file beside the store, at a place that the key gives: it is gone with the process that
        held it, however that ended. `release` frees it.
        """
        import fcntl

        if request.key in self._claimed:
            return False
        with self._told():
            self._claims = self._claims or open(f"{self.path}-claims", "ab")  # noqa: SIM115 (closed with the store)
            try:
                fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(request.key[:15], 16))
            except (BlockingIOError, PermissionError):
                return False
            self._claimed.add(request.key)
            if self._data_version() == self._version or self.pending([request]):
                return True
        self.release(request)
        return False

    def release(self, request: Request) -> None:
        """Give up a claim, once the answer is written."""
        import fcntl

        self._claimed.discard(request.key)
        fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, int(request.key[:15], 16))

    def _rows(self, columns: str, requests: Sequence[Request], also: str = "") -> list[tuple]:
        import orjson

        query = f"SELECT {columns} FROM answers WHERE key IN (SELECT value FROM json_each(?)) {also}"
        with self._told():
            return self.db.execute(query, (orjson.dumps([request.key for request in requests]).decode(),)).fetchall()

    def pending(self, requests: Iterable[Request]) -> list[Request]:
        """Those not yet answered (errors count as unanswered), each key once, in the given order."""
        out, done = [], set()
        for batch in batches(requests):
            done.update(key for (key,) in self._rows("key", batch, "AND outcome<>'error'"))
            for request in batch:
                if request.key not in done:
                    done.add(request.key)
                    out.append(request)
        return out

    def get(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Response | None]]:
        """Each request with its stored response, None where there is none."""
        import orjson

        for batch in batches(requests):
            found = {key: Response(*rest) for key, *rest in self._rows(f"key, {', '.join(_OF_RESPONSE)}", batch)}
            for response in found.values():
                response.top = [tuple(t) for t in orjson.loads(response.top)] if response.top else None
            for request in batch:
                yield request, found.get(request.key)

    def frame(self, columns: Sequence[str] = PROVENANCE, **where: Any) -> "pd.DataFrame":
        """Stored answers as a frame, one row each; read in pieces, so that a million fit into little memory.

        Args:
            columns: of the store; default `PROVENANCE`. Columns other than key, item_id, text, body and top are
                categories or, of those that hold numbers, floats (NaN where the endpoint told none).
            where: column=value, e.g. `paper="discrim_eval", model="gpt-4o"`.
        """
        import pandas as pd

        for name in (*columns, *where):
            expect(name, _COLUMNS, "column of the store")
        kept = " AND ".join(["1", *(f"{name}=?" for name in where)])
        own = {"key", "item_id", "text", "body", "top", *_NUMBERS}
        codes: dict[str, dict] = {name: {} for name in columns if name not in own}
        parts = [pd.DataFrame(columns=list(columns))]
        with self._told():
            cursor = self.db.execute(f"SELECT {', '.join(columns)} FROM answers WHERE {kept}", tuple(where.values()))
            while rows := cursor.fetchmany(20_000):
                part = dict(zip(columns, zip(*rows, strict=True), strict=True))
                part |= {c: [known.setdefault(v, len(known)) for v in part[c]] for c, known in codes.items()}
                part = pd.DataFrame(part)
                parts.append(part.astype({c: "int32" for c in codes} | {c: float for c in _NUMBERS if c in part}))
        out = pd.concat(parts[1:] or parts, ignore_index=True)
        for name, known in codes.items():
            out[name] = pd.Categorical.from_codes(out[name].astype("int32"), list(known))
        return out

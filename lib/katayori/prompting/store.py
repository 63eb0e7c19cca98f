"""The answer store: one SQLite file (WAL), each answer written as it arrives; a success is never asked twice."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO
from urllib.parse import quote

import orjson

from katayori.errors import KatayoriError
from katayori.prompting.requests import Request

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
COLUMNS = _OF_REQUEST + _OF_RESPONSE
_BODY, _TOP, _CREATED = (COLUMNS.index(name) for name in ("body", "top", "created"))
_request_values, _response_values = attrgetter(*_OF_REQUEST), attrgetter(*_OF_RESPONSE)
_CREATE = f"CREATE TABLE IF NOT EXISTS answers ({', '.join(COLUMNS)}, PRIMARY KEY (key))"
# A stored success is never overwritten, whatever a second process brings.
_PUT = f"""INSERT INTO answers VALUES ({",".join("?" * len(COLUMNS))}) ON CONFLICT(key) DO UPDATE SET
    {", ".join(f"{c}=excluded.{c}" for c in COLUMNS[1:])} WHERE answers.outcome='error'"""


def batches(requests: Iterable[Request], size: int = 1000) -> Iterator[list[Request]]:
    """The requests in lists of at most `size`, drawn as they are needed."""
    drawn = iter(requests)
    while batch := list(islice(drawn, size)):
        yield batch


class Store:
    """`with Store(path) as store:`; safe for several processes at once."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        with self.told():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(
                self.path, timeout=BUSY, isolation_level=None, check_same_thread=False
            )
            try:
                self._when_free(self._prepare)
            except BaseException:
                self.db.close()
                raise

    @staticmethod
    def _when_free(prepare: Callable[[], None]) -> None:
        """SQLite does not wait where two connections change a file to WAL, or one opens it while the last one closes.

        It says "locked" at once there, whatever its own time-out, so these steps, which may all be repeated, are.
        """
        until = time.monotonic() + BUSY
        while True:
            try:
                return prepare()
            except sqlite3.OperationalError as e:
                if e.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.005)

    def _prepare(self) -> None:
        # One statement, one snapshot: a store that another process is just creating must not be taken for foreign.
        tables = "SELECT COUNT(*) FROM sqlite_master"
        version, n_tables = self.db.execute(
            f"SELECT user_version, ({tables}) FROM pragma_user_version"
        ).fetchone()
        if version not in (0, SCHEMA):
            said = (
                f"store {self.path} has schema {version}, this version of katayori reads {SCHEMA}"
            )
            raise KatayoriError(f"{said}: use the katayori that wrote it, or move the file away")
        if version == 0 and n_tables:
            raise KatayoriError(f"{self.path} is a database of another program; name another store")
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        if version == 0:  # another process may have been faster
            self.db.executescript(
                f"BEGIN IMMEDIATE; {_CREATE}; PRAGMA user_version={SCHEMA}; COMMIT"
            )

    @contextmanager
    def told(self) -> Iterator[None]:
        """What the database or the file system says becomes one line."""
        try:
            yield
        except (sqlite3.Error, OSError) as e:
            raise KatayoriError(
                f"store {self.path} cannot be used: {e}; what was written so far is kept"
            ) from None

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def put(self, request: Request, response: Response) -> None:
        """Write one answer now, in its own transaction."""
        values = [*_request_values(request), *_response_values(response)]
        values[_BODY] = orjson.dumps(request.body).decode()
        values[_TOP] = orjson.dumps(response.top).decode() if response.top else None
        values[_CREATED] = response.created or time.time()
        with self.told():
            self.db.execute(_PUT, values)

    def alone(self, name: str) -> IO | None:
        """A lock on asking `name`, an open file to be closed after; None while it is held elsewhere.

        It is gone with the process that held it, however that ended.
        """
        import fcntl

        with self.told():
            self.db.execute(
                "DELETE FROM answers WHERE 0"
            )  # a store that cannot be written says so before the asking
            file = open(f"{self.path}-{quote(name, safe='')}.lock", "ab")  # noqa: SIM115 (the caller closes it)
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            return file.close()

    def _rows(self, columns: str, requests: Sequence[Request], also: str = "") -> list[tuple]:
        query = (
            f"SELECT {columns} FROM answers WHERE key IN (SELECT value FROM json_each(?)) {also}"
        )
        with self.told():
            return self.db.execute(
                query, (orjson.dumps([request.key for request in requests]).decode(),)
            ).fetchall()

    def pending(self, requests: Iterable[Request]) -> list[Request]:
        """Those not yet answered (errors count as unanswered), each key once, in the given order."""
        out: dict[str, Request] = {}
        for batch in batches(requests):
            done = {key for (key,) in self._rows("key", batch, "AND outcome<>'error'")}
            out |= {request.key: request for request in batch if request.key not in done}
        return list(out.values())

    def get(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Response | None]]:
        """Each request with its stored response, None where there is none."""
        for batch in batches(requests):
            found = {
                key: Response(*rest)
                for key, *rest in self._rows(f"key, {', '.join(_OF_RESPONSE)}", batch)
            }
            for response in found.values():
                response.top = (
                    [tuple(t) for t in orjson.loads(response.top)] if response.top else None
                )
            for request in batch:
                yield request, found.get(request.key)

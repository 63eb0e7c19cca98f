"""The store of live answers, as it is read: one SQLite file (WAL).

The tools write it. A store of schema 1 did not know servers; it is read as one of which nobody
knows who answered.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import orjson

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.models import UNKNOWN, Endpoint, Model, Server, digest_of, registry
from katayori.prompting.requests import Request, Response

SCHEMA = 2
FIRST_SCHEMA = 1
BUSY = 60  # seconds to wait for another process that is writing
OF_SERVER = ["label", "address", "series"]
OF_RESPONSE = [field.name for field in fields(Response)]
_TOP = OF_RESPONSE.index("top")


def batches(requests: Iterable[Request], size: int = 1000) -> Iterator[list[Request]]:
    """The requests in lists of at most `size`, drawn as they are needed."""
    drawn = iter(requests)
    while batch := list(islice(drawn, size)):
        yield batch


def store_path() -> Path:
    """The shared store of live answers."""
    return paths.cache_dir() / "answers.sqlite"


class StoredAnswers:
    """`with StoredAnswers(path) as store:`; a store that is not there has no answers.

    `path` is the file in use: beside a store of schema 1 its copy, where there is one.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.beside = self.path.with_name(f"{self.path.stem}.{SCHEMA}{self.path.suffix}")
        with self.told():
            self._begin()

    def _begin(self) -> None:
        if self.beside.exists():
            self.path = self.beside
        self._open(self.path if self.path.exists() else ":memory:")

    def _open(self, file: str | Path) -> int:
        """Connects and prepares a file; its schema."""
        self.db = sqlite3.connect(file, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            return self._when_free(self._prepare)
        except BaseException:
            self.db.close()
            raise

    @staticmethod
    def _when_free(prepare: Callable[[], int]) -> int:
        """SQLite does not wait where two connections change a file to WAL, or one opens it while
        the last one closes.

        It says "locked" at once there, whatever its own time-out, so these steps, which may all be
        repeated, are.
        """
        until = time.monotonic() + BUSY
        while True:
            try:
                return prepare()
            except sqlite3.OperationalError as e:
                if e.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.005)

    def _prepare(self) -> int:
        """Where the tables are not those of today, views or empty tables take their names."""
        version = self._version()
        if version == FIRST_SCHEMA:
            self._view_first_schema()
        elif version != SCHEMA:
            answers = ", ".join(["key", "outcome", *OF_SERVER, *OF_RESPONSE[1:]])
            self.db.execute(f"CREATE TEMP TABLE IF NOT EXISTS answers ({answers})")
            servers = ", ".join(["paper", "endpoint", "identity", *OF_SERVER])
            self.db.execute(f"CREATE TEMP TABLE IF NOT EXISTS servers ({servers})")
        return version

    def _version(self) -> int:
        """The schema of the file, 0 of a new one. KatayoriError for what is no store of ours."""
        # One statement, one snapshot: a store that another process is just creating must not be
        # taken for foreign.
        tables = "SELECT COUNT(*) FROM sqlite_master"
        version, n_tables = self.db.execute(
            f"SELECT user_version, ({tables}) FROM pragma_user_version"
        ).fetchone()
        if version not in (0, FIRST_SCHEMA, SCHEMA):
            cause = f"store {self.path} has schema {version}"
            cause += f", this version of katayori reads {SCHEMA}"
            raise KatayoriError(f"{cause}: use the katayori that wrote it, or move the file away")
        if version == 0 and n_tables:
            raise KatayoriError(f"{self.path} is a database of another program; name another store")
        return int(version)

    def _view_first_schema(self) -> None:
        """The answers of schema 1 under the names of schema 2: own servers are unknown ones."""
        own = ", ".join(f"'{name}'" for name, endpoint in registry()[0].items() if endpoint.own)
        server = f"IIF(endpoint IN ({own}), '{UNKNOWN}', '')"
        self.db.execute(
            f"""CREATE TEMP VIEW IF NOT EXISTS answers AS
                SELECT *, {server} AS label, {server} AS address, 0 AS series FROM main.answers"""
        )
        self.db.execute(
            f"""CREATE TEMP VIEW IF NOT EXISTS servers AS
                SELECT DISTINCT paper, endpoint, identity, label, address, series
                FROM temp.answers WHERE endpoint IN ({own})"""
        )

    @contextmanager
    def told(self) -> Iterator[None]:
        """What the database or the file system says becomes one line."""
        try:
            yield
        except (sqlite3.Error, OSError) as e:
            if _is_damage(e):
                raise KatayoriError(self._damaged(e)) from None
            raise KatayoriError(
                f"store {self.path} cannot be used: {e}; what was written so far is kept"
            ) from None

    def _damaged(self, cause: Exception) -> str:
        """What to do about a file that other bytes have come into, and what is lost with it."""
        return (
            f"store {self.path} is damaged ({cause}): move {self.path}* to another folder, then a"
            " new store begins. Its answers are lost, as far as"
            f" `sqlite3 {self.path.name} .recover` does not read them;"
            " runs in outputs and answers in data/recorded are kept"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def servers(self, endpoint: str, identity: str, paper: str = "") -> list[Server]:
        """The servers that a model's answers to a paper, or to all, came from; each series."""
        query = (
            f"SELECT DISTINCT {', '.join(OF_SERVER)} FROM servers WHERE endpoint=? AND identity=?"
        )
        given = [endpoint, identity]
        if paper:
            query += " AND paper=?"
            given.append(paper)
        with self.told():
            return [Server(*row) for row in self.db.execute(query, given)]

    def answered_as(self, paper: str, model: Model, endpoint: Endpoint) -> list[str]:
        """The names under which an endpoint's server answered a paper's requests to this model."""
        server = endpoint.server
        query = """SELECT DISTINCT model_answered FROM answers
            WHERE paper=? AND endpoint=? AND identity=? AND series=? AND label=?"""
        given = [paper, endpoint.name, model.identity, server.series, server.label]
        if not server.label:
            query += " AND address=?"
            given.append(server.address)
        with self.told():
            return sorted({name or "" for (name,) in self.db.execute(query, given)})

    def newest(self, endpoint: Endpoint, model: Model, paper: str) -> Endpoint:
        """The endpoint with the newest series of answers to a paper (FRESH=1 began it).

        A label that is the hash of a stored address (as listings show it) stands for that address.
        """
        server = endpoint.server
        if not server.own:
            return endpoint
        servers = self.servers(endpoint.name, model.identity, paper)
        if server.label not in {each.label for each in servers}:
            for each in servers:
                if not each.label and digest_of(each.address) == server.label:
                    server = each
        series = [each.series for each in servers if each.identity == server.identity]
        return replace(endpoint, server=replace(server, series=max(series, default=0)))

    def _rows(self, columns: str, requests: Sequence[Request], also: str = "") -> list[tuple]:
        query = (
            f"SELECT {columns} FROM answers WHERE key IN (SELECT value FROM json_each(?)) {also}"
        )
        keys = orjson.dumps([request.key for request in requests]).decode()
        with self.told():
            return self.db.execute(query, (keys,)).fetchall()

    def pending(self, requests: Iterable[Request], *, cut_below: int = 0) -> list[Request]:
        """Those not yet answered, each key once, in the given order.

        Errors are no answers, nor is what was cut short of so many tokens.
        """
        waiting: dict[str, Request] = {}
        is_cut = f"outcome='truncated' AND coalesce(completion_tokens, 0) < {int(cut_below)}"
        for batch in batches(requests):
            also = f"AND outcome<>'error' AND NOT ({is_cut})"
            done = {key for (key,) in self._rows("key", batch, also)}
            waiting |= {request.key: request for request in batch if request.key not in done}
        return list(waiting.values())

    def get(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Response | None]]:
        """Each request with its stored response, None where there is none."""
        for batch in batches(requests):
            rows = self._rows(f"key, {', '.join(OF_RESPONSE)}", batch)
            with self.told():
                stored = {key: _response(rest) for key, *rest in rows}
            for request in batch:
                yield request, stored.get(request.key)


def _is_damage(e: Exception) -> bool:
    """Whether bytes of others came into the file. Without a code Python could not read a text."""
    if not isinstance(e, sqlite3.DatabaseError) or isinstance(e, sqlite3.ProgrammingError):
        return False
    code = getattr(e, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _response(stored: Sequence[Any]) -> Response:
    """A response from its stored columns (`OF_RESPONSE`); `top` is kept as JSON."""
    values = list(stored)
    top = values[_TOP]
    try:
        values[_TOP] = [tuple(pair) for pair in orjson.loads(top)] if top else None
    except (orjson.JSONDecodeError, TypeError) as e:
        raise sqlite3.DatabaseError(f"log probabilities that are none: {e}") from None
    return Response(*values)

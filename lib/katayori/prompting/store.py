"""The answer store: one SQLite file (WAL), each answer written as it arrives.

A success is never asked twice.

A store of schema 1 did not know servers. Opened, it is copied once to a file beside it, which is
used from then on; the old one stays as it is.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import orjson

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.models import (
    UNKNOWN,
    Endpoint,
    Model,
    Server,
    digest_of,
    registry,
)
from katayori.prompting.requests import Request

SCHEMA = 2
COPIED = 1  # the schema that is copied when it is opened
BUSY = 60  # seconds to wait for another process that is writing


@dataclass(slots=True)
class Response:
    """What came back for one request. `top` is the answer position's [(token, logprob), ...], most
    likely first.
    """

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


_OF_REQUEST = [
    "key",
    "paper",
    "dataset",
    "item_id",
    "prompt_id",
    "prompt_hash",
    "variant",
    "model",
    "endpoint",
    "identity",
    "repetition",
    "body",
]
_OF_SERVER = ["label", "address", "series"]
_OF_RESPONSE = [field.name for field in fields(Response)]
_BEFORE = _OF_REQUEST + _OF_RESPONSE  # the columns of schema 1
COLUMNS = _OF_REQUEST + _OF_SERVER + _OF_RESPONSE
_BODY, _TOP, _CREATED = (COLUMNS.index(name) for name in ("body", "top", "created"))
_RESPONSE_TOP = _OF_RESPONSE.index("top")
_request_values = attrgetter(*_OF_REQUEST, *(f"server.{name}" for name in _OF_SERVER))
_response_values = attrgetter(*_OF_RESPONSE)
_CREATE = f"CREATE TABLE IF NOT EXISTS answers ({', '.join(COLUMNS)}, PRIMARY KEY (key))"
# Which servers have been asked: one row a paper, model and series. Else all answers had to be read.
_PLACE = ["paper", "endpoint", "identity", *_OF_SERVER]
_CREATE_SERVERS = (
    f"CREATE TABLE IF NOT EXISTS servers ({', '.join(_PLACE)}, PRIMARY KEY ({', '.join(_PLACE)}))"
)
_PUT_SERVER = f"INSERT OR IGNORE INTO servers VALUES ({','.join('?' * len(_PLACE))})"
_place = attrgetter("paper", "endpoint", "identity", "server")
# A stored success is never overwritten, whatever a second process brings.
_UPDATES = ", ".join(f"{column}=excluded.{column}" for column in COLUMNS if column != "key")
_PUT = f"""INSERT INTO answers VALUES ({",".join("?" * len(COLUMNS))})
    ON CONFLICT(key) DO UPDATE SET {_UPDATES} WHERE answers.outcome='error'"""


def batches(requests: Iterable[Request], size: int = 1000) -> Iterator[list[Request]]:
    """The requests in lists of at most `size`, drawn as they are needed."""
    drawn = iter(requests)
    while batch := list(islice(drawn, size)):
        yield batch


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Answers of the same model and paper that lie under another server."""

    server: Server
    answers: int


def store_path() -> Path:
    """The shared store of live answers."""
    return paths.cache_dir() / "answers.sqlite"


class Store:
    """`with Store(path) as store:`; safe for several processes. `path` is the file in use."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._places: set[tuple] = set()
        beside = self.path.with_name(f"{self.path.stem}.{SCHEMA}{self.path.suffix}")
        with self.told():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if beside.exists():
                self.path = beside
            if self._open() == COPIED != SCHEMA:
                self.db.close()
                self._copy_to(beside)
                self.path = beside
                self._open()

    def _open(self) -> int:
        """Connects and prepares the file; its schema."""
        self.db = sqlite3.connect(
            self.path, timeout=BUSY, isolation_level=None, check_same_thread=False
        )
        try:
            return self._when_free(self._prepare)
        except BaseException:
            self.db.close()
            raise

    def _copy_to(self, beside: Path) -> None:
        """Copies a store of schema 1: all of it, or nothing where the disk is full.

        The copy takes its name only when it is whole. Processes that come at once wait.
        """
        import fcntl

        part = beside.with_name(beside.name + ".part")
        with open(f"{beside}.lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if beside.exists():  # another process was faster
                return
            part.unlink(missing_ok=True)  # of one that was killed
            try:
                _copy(self.path, part)
                part.replace(beside)
            finally:
                part.unlink(missing_ok=True)
                part.with_name(part.name + "-journal").unlink(missing_ok=True)

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
        # One statement, one snapshot: a store that another process is just creating must not be
        # taken for foreign.
        tables = "SELECT COUNT(*) FROM sqlite_master"
        version, n_tables = self.db.execute(
            f"SELECT user_version, ({tables}) FROM pragma_user_version"
        ).fetchone()
        if version == COPIED:
            return version
        if version not in (0, SCHEMA):
            cause = f"store {self.path} has schema {version}"
            cause += f", this version of katayori reads {SCHEMA}"
            raise KatayoriError(f"{cause}: use the katayori that wrote it, or move the file away")
        if version == 0 and n_tables:
            raise KatayoriError(f"{self.path} is a database of another program; name another store")
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        if version == 0:  # another process may have been faster
            tables = f"{_CREATE}; {_CREATE_SERVERS}"
            self.db.executescript(
                f"BEGIN IMMEDIATE; {tables}; PRAGMA user_version={SCHEMA}; COMMIT"
            )
        return SCHEMA

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
            if request.server.own and (place := _place(request)) not in self._places:
                *model, server = place
                self.db.execute(_PUT_SERVER, [*model, server.label, server.address, server.series])
                self._places.add(place)
            self.db.execute(_PUT, values)

    def servers(self, endpoint: str, identity: str, paper: str = "") -> list[Server]:
        """The servers that a model's answers to a paper, or to all, came from; each series."""
        query = (
            f"SELECT DISTINCT {', '.join(_OF_SERVER)} FROM servers WHERE endpoint=? AND identity=?"
        )
        given = [endpoint, identity]
        if paper:
            query += " AND paper=?"
            given.append(paper)
        with self.told():
            return [Server(*row) for row in self.db.execute(query, given)]

    def elsewhere(self, paper: str, model: Model, endpoint: Endpoint) -> list[Elsewhere]:
        """Which answers of this model name to a paper lie under other servers."""
        servers = self.servers(endpoint.name, model.identity, paper)
        others = {_name(server): server for server in servers}
        others.pop(_name(endpoint.server), None)
        if not others:  # as nearly always: the answers need not be counted
            return []
        query = """SELECT label, address, COUNT(*) FROM answers
            WHERE paper=? AND endpoint=? AND identity=? AND outcome<>'error'
            GROUP BY label, address"""
        counts: dict[tuple[str, str], int] = {}
        with self.told():
            for label, address, n in self.db.execute(query, (paper, endpoint.name, model.identity)):
                name = _name(Server(label, address))
                counts[name] = counts.get(name, 0) + n
        return [Elsewhere(others[name], n) for name, n in counts.items() if n and name in others]

    def addresses(self, requests: Iterable[Request]) -> set[str]:
        """The addresses that the stored answers to these requests came from."""
        return {
            address
            for batch in batches(requests)
            for (address,) in self._rows("DISTINCT address", batch, "AND outcome<>'error'")
        }

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
        series = [each.series for each in servers if _name(each) == _name(server)]
        return replace(endpoint, server=replace(server, series=max(series, default=0)))

    def fresh(self, endpoint: Endpoint, model: Model) -> Endpoint:
        """The endpoint with a series that holds no answer to any paper yet."""
        if not endpoint.server.own:
            return endpoint
        servers = self.servers(endpoint.name, model.identity)
        series = [each.series for each in servers if _name(each) == _name(endpoint.server)]
        number = max(series, default=-1) + 1
        return replace(endpoint, server=replace(endpoint.server, series=number))

    def alone(self, name: str) -> IO | None:
        """A lock on asking `name`, an open file to be closed after; None while it is held
        elsewhere.

        It is gone with the process that held it, however that ended.
        """
        import fcntl

        with self.told():
            # A store that cannot be written says so before the asking.
            self.db.execute("DELETE FROM answers WHERE 0")
            lock = f"{self.path}-{quote(name, safe='')}.lock"
            file = open(lock, "ab")  # noqa: SIM115 (the caller closes it)
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            file.close()
            return None

    def _rows(self, columns: str, requests: Sequence[Request], also: str = "") -> list[tuple]:
        query = (
            f"SELECT {columns} FROM answers WHERE key IN (SELECT value FROM json_each(?)) {also}"
        )
        keys = orjson.dumps([request.key for request in requests]).decode()
        with self.told():
            return self.db.execute(query, (keys,)).fetchall()

    def pending(self, requests: Iterable[Request]) -> list[Request]:
        """Those not yet answered (errors count so, too), each key once, in the given order."""
        waiting: dict[str, Request] = {}
        for batch in batches(requests):
            done = {key for (key,) in self._rows("key", batch, "AND outcome<>'error'")}
            waiting |= {request.key: request for request in batch if request.key not in done}
        return list(waiting.values())

    def get(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Response | None]]:
        """Each request with its stored response, None where there is none."""
        for batch in batches(requests):
            rows = self._rows(f"key, {', '.join(_OF_RESPONSE)}", batch)
            stored = {key: _response(rest) for key, *rest in rows}
            for request in batch:
                yield request, stored.get(request.key)


def _response(stored: Sequence[Any]) -> Response:
    """A response from its stored columns (`_OF_RESPONSE`); `top` is kept as JSON."""
    values = list(stored)
    top = values[_RESPONSE_TOP]
    values[_RESPONSE_TOP] = [tuple(pair) for pair in orjson.loads(top)] if top else None
    return Response(*values)


def _name(server: Server) -> tuple[str, str]:
    """What tells servers apart, whatever the series: the label, else the address."""
    return (server.label, "") if server.label else ("", server.address)


def _copy(old: Path, new: Path) -> None:
    """A store of schema 1 as a new file of schema 2, in one transaction."""
    own = [name for name, endpoint in registry()[0].items() if endpoint.own]
    is_own = f"endpoint IN ({', '.join('?' * len(own))})"
    before = ", ".join(_BEFORE)
    db = sqlite3.connect(new, timeout=BUSY, isolation_level=None)
    try:
        db.execute("ATTACH ? AS old", [str(old)])
        db.execute("BEGIN IMMEDIATE")
        db.execute(_CREATE)
        db.execute(_CREATE_SERVERS)
        db.execute(
            f"""INSERT INTO answers ({before}, label, address, series)
                SELECT {before}, IIF({is_own}, ?, ''), IIF({is_own}, ?, ''), 0 FROM old.answers""",
            [*own, UNKNOWN, *own, UNKNOWN],
        )
        db.execute(
            f"""INSERT INTO servers SELECT DISTINCT paper, endpoint, identity, ?, ?, 0
                FROM old.answers WHERE {is_own}""",
            [UNKNOWN, UNKNOWN, *own],
        )
        db.execute(f"PRAGMA user_version={SCHEMA}")
        db.execute("COMMIT")
    finally:
        db.close()

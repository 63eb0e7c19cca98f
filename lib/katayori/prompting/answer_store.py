"""The store of live answers, as it is written: each answer as it arrives.

A success is never asked twice. A store of schema 1 is copied once, when it is opened, to a file
beside it, which is used from then on; the old one stays as it is.
"""

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import IO
from urllib.parse import quote

import orjson

from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import (
    FIRST_SCHEMA,
    OF_RESPONSE,
    OF_SERVER,
    SCHEMA,
    StoredAnswers,
)

_OF_REQUEST = "key paper dataset item_id prompt_id prompt_hash variant model endpoint".split()
_OF_REQUEST += ["identity", "repetition", "body"]
COLUMNS = _OF_REQUEST + OF_SERVER + OF_RESPONSE
_BODY, _TOP, _CREATED = (COLUMNS.index(name) for name in ("body", "top", "created"))
_request_values = attrgetter(*_OF_REQUEST, *(f"server.{name}" for name in OF_SERVER))
_response_values = attrgetter(*OF_RESPONSE)
_CREATE = f"CREATE TABLE IF NOT EXISTS {{}}answers ({', '.join(COLUMNS)}, PRIMARY KEY (key))"
# Which servers have been asked: one row a paper, model and series. Else all answers had to be read.
_PLACE = ["paper", "endpoint", "identity", *OF_SERVER]
_NAMES = ", ".join(_PLACE)
_CREATE_SERVERS = f"CREATE TABLE IF NOT EXISTS {{}}servers ({_NAMES}, PRIMARY KEY ({_NAMES}))"
_PUT_SERVER = f"INSERT OR IGNORE INTO servers VALUES ({','.join('?' * len(_PLACE))})"
_place = attrgetter("paper", "endpoint", "identity", "server")
# A stored success is never overwritten, whatever a second process brings; an answer that was cut is
# by what a higher limit of tokens brings.
_UPDATES = ", ".join(f"{column}=excluded.{column}" for column in COLUMNS if column != "key")
_PUT = f"""INSERT INTO answers VALUES ({",".join("?" * len(COLUMNS))})
    ON CONFLICT(key) DO UPDATE SET {_UPDATES} WHERE answers.outcome='error'
    OR answers.outcome='truncated' AND excluded.outcome<>'error'"""


class Store(StoredAnswers):
    """`with Store(path) as store:`; safe for several processes. `path` is the file in use."""

    def _begin(self) -> None:
        self._places: set[tuple] = set()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.beside.exists():
            self.path = self.beside
        if self._open(self.path) == FIRST_SCHEMA:
            self._copy_beside()
            self.db.close()
            self.path = self.beside
            self._open(self.path)

    def _prepare(self) -> int:
        version = self._version()
        if version == FIRST_SCHEMA:
            self._view_first_schema()
            return version
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        if version == 0:  # another process may have been faster
            tables = f"{_CREATE}; {_CREATE_SERVERS}".format("", "")
            self.db.executescript(
                f"BEGIN IMMEDIATE; {tables}; PRAGMA user_version={SCHEMA}; COMMIT"
            )
        return SCHEMA

    def _copy_beside(self) -> None:
        """Copies a store of schema 1: all of it, or nothing where the disk is full.

        The copy takes its name only when it is whole. Processes that come at once wait.
        """
        import fcntl

        part = self.beside.with_name(self.beside.name + ".part")
        with open(f"{self.beside}.lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.beside.exists():  # another process was faster
                return
            part.unlink(missing_ok=True)  # of one that was killed
            try:
                self._copy_to(part)
                part.replace(self.beside)
            finally:
                part.unlink(missing_ok=True)
                part.with_name(part.name + "-journal").unlink(missing_ok=True)

    def _copy_to(self, new: Path) -> None:
        """The answers and servers of this store as a new file, in one transaction."""
        try:
            self.db.execute("ATTACH ? AS new", [str(new)])
            self.db.execute("BEGIN")
            self.db.execute(_CREATE.format("new."))
            self.db.execute(_CREATE_SERVERS.format("new."))
            for table, columns in (("answers", COLUMNS), ("servers", _PLACE)):
                names = ", ".join(columns)
                self.db.execute(
                    f"INSERT INTO new.{table} ({names}) SELECT {names} FROM temp.{table}"
                )
            self.db.execute(f"PRAGMA new.user_version={SCHEMA}")
            self.db.execute("COMMIT")
        finally:
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

    def put_all(self, answered: Iterable[tuple[Request, Response]]) -> None:
        """Write answers that arrived together, in one transaction: all of them, or none."""
        with self.told():
            self.db.execute("BEGIN IMMEDIATE")
            try:
                for request, response in answered:
                    self.put(request, response)
                self.db.execute("COMMIT")
            except BaseException:
                self._places.clear()  # what was noted of them is not there
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    def fresh(self, endpoint: Endpoint, model: Model) -> Endpoint:
        """The endpoint with a series that holds no answer to any paper yet."""
        if not endpoint.server.own:
            return endpoint
        servers = self.servers(endpoint.name, model.identity)
        series = [each.series for each in servers if each.identity == endpoint.server.identity]
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


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_suffix(".part")
    part.write_bytes(data)
    part.replace(path)

"""The answer store: one SQLite file (WAL), each answer written as it arrives; a success is never asked twice."""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


_TYPES = {
    **dict.fromkeys("key paper dataset item_id prompt_id prompt_hash variant model endpoint identity".split(), "TEXT"),
    **{"repetition": "INTEGER", "body": "TEXT"},
    **dict.fromkeys("outcome text finish_reason top".split(), "TEXT"),
    **dict.fromkeys("prompt_tokens completion_tokens".split(), "INTEGER"),
    **dict.fromkeys("model_answered fingerprint".split(), "TEXT"),
    **{"latency": "REAL", "attempts": "INTEGER", "error": "TEXT", "created": "REAL"},
}
_COLUMNS = list(_TYPES)
_CREATE = f"CREATE TABLE answers ({', '.join(f'{c} {t}' for c, t in _TYPES.items())}, PRIMARY KEY (key))"
# A stored success is never overwritten, whatever a second process brings.
_PUT = (
    f"INSERT INTO answers VALUES ({','.join('?' * len(_COLUMNS))}) ON CONFLICT(key) DO UPDATE SET "
    + ", ".join(f"{c}=excluded.{c}" for c in _COLUMNS[1:])
    + " WHERE answers.outcome='error'"
)


class Store:
    """`with Store(path) as store:`; safe for several processes at once."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self.db.close()
                raise
        except (sqlite3.Error, OSError) as e:
            raise self._unusable(e) from None

    def _prepare(self) -> None:
        # One statement, one snapshot: a store that another process is just creating must not be taken for foreign.
        tables = "SELECT COUNT(*) FROM sqlite_master"
        found = self.db.execute(f"SELECT user_version, ({tables}) FROM pragma_user_version")
        version, n_tables = found.fetchone()
        if version not in (0, SCHEMA):
            raise KatayoriError(
                f"store {self.path} has schema {version}, this version of katayori reads {SCHEMA}: "
                "update katayori, or move the file away"
            )
        if version == 0 and n_tables:
            raise KatayoriError(f"{self.path} is a database of another program; name another store")
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        if version == 0:
            self.db.execute("BEGIN IMMEDIATE")
            if not self.db.execute(tables).fetchone()[0]:  # else another process was faster
                self.db.execute(_CREATE)
                self.db.execute(f"PRAGMA user_version={SCHEMA}")
            self.db.execute("COMMIT")

    def _unusable(self, e: Exception) -> KatayoriError:
        return KatayoriError(f"store {self.path} cannot be used: {e}; what was written so far is kept")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def put(self, request: Request, response: Response) -> None:
        """Write one answer now, in its own transaction."""
        import orjson

        top = orjson.dumps(response.top).decode() if response.top else None
        values = (
            *(request.key, request.paper, request.dataset, request.item_id, request.prompt_id, request.prompt_hash),
            *(request.variant, request.model, request.endpoint, request.identity, request.repetition),
            *(orjson.dumps(request.body).decode(), response.outcome, response.text, response.finish_reason, top),
            *(response.prompt_tokens, response.completion_tokens, response.model_answered, response.fingerprint),
            *(response.latency, response.attempts, response.error, response.created or time.time()),
        )
        try:
            self.db.execute(_PUT, values)
        except sqlite3.Error as e:
            raise self._unusable(e) from None

    def pending(self, requests: Iterable[Request]) -> list[Request]:
        """Those not yet answered (errors count as unanswered), each key once, in the given order."""
        try:
            done = {key for (key,) in self.db.execute("SELECT key FROM answers WHERE outcome<>'error'")}
        except sqlite3.Error as e:
            raise self._unusable(e) from None
        out = []
        for request in requests:
            if request.key not in done:
                done.add(request.key)
                out.append(request)
        return out

    def get(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Response | None]]:
        """Each request with its stored response, None where there is none."""
        import orjson

        columns = _COLUMNS[_COLUMNS.index("outcome") :]
        query = f"SELECT {', '.join(columns)} FROM answers WHERE key=?"
        for request in requests:
            try:
                row = self.db.execute(query, (request.key,)).fetchone()
            except sqlite3.Error as e:
                raise self._unusable(e) from None
            if row is None:
                yield request, None
                continue
            values: dict[str, Any] = dict(zip(columns, row, strict=True))
            values["top"] = [tuple(t) for t in orjson.loads(values["top"])] if values["top"] else None
            yield request, Response(**values)

    def counts(self) -> dict[str, int]:
        """Number of stored answers by outcome."""
        return dict(self.db.execute("SELECT outcome, COUNT(*) FROM answers GROUP BY outcome ORDER BY outcome"))

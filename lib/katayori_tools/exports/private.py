"""What never leaves this machine: addresses of servers, keys, the home folder, the user's name."""

import getpass
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from katayori.errors import KatayoriError
from katayori.prompting.models import registry

_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL")
#: Names that are in use for no one in particular, so that finding one betrays nobody.
_NOBODY = {"", "root", "user", "nobody", "runner", "build", "ubuntu", "admin"}
#: Shorter values stand in too many words that mean something else.
_SHORTEST = 8
#: What stands in the place of such a text.
HIDDEN = "***"


@dataclass(frozen=True)
class Private:
    """One text that must not be written: what finds it, and what it is."""

    pattern: "re.Pattern[str]"
    about: str


def known() -> list[Private]:
    """Every text of this machine that must not be written, the longest first."""
    words = {**_secrets(), **_addresses(), **_home()}
    longest_first = sorted(words.items(), key=lambda pair: -len(pair[0]))
    found = [Private(whole(word), about) for word, about in longest_first]
    return found + [Private(in_path(name), "the user's name") for name in sorted(_names())]


def _secrets() -> dict[str, str]:
    named = [(name, value.strip()) for name, value in os.environ.items()]
    return {
        value: f"the value of {name}"
        for name, value in named
        if len(value) >= _SHORTEST and _SECRET.search(name.upper())
    }


def _addresses() -> dict[str, str]:
    """The addresses in the variables that name servers, whole and as host and port."""
    endpoints, _ = registry()
    variables = {endpoint.base_url_env for endpoint in endpoints.values()}
    found = {}
    for name in sorted(filter(None, variables)):
        address = os.environ.get(name, "").strip()
        if address:
            about = f"the address in {name}"
            found[address] = about
            found[urlsplit(address).netloc or address] = about
    return found


def _home() -> dict[str, str]:
    home = str(Path.home())
    return {} if home in ("/", "") else {home: "the home folder"}


def _names() -> set[str]:
    names = {os.environ.get("USER", ""), Path.home().name}
    with suppress(OSError, KeyError):  # a user without an entry
        names.add(getpass.getuser())
    return names - _NOBODY


def whole(text: str) -> "re.Pattern[str]":
    """A text where no letter or digit continues it.

    Example:
        >>> bool(whole("10.0.0.7:8000").search("at 10.0.0.7:8000/v1"))
        True
        >>> bool(whole("secret-1").search("secret-12"))
        False
    """
    return re.compile(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])")


def in_path(name: str) -> "re.Pattern[str]":
    """A user's name as part of a path or an account; elsewhere it is a word like others.

    Example:
        >>> [bool(in_path("fair").search(text)) for text in ("/home/fair/x", "fair@host", "a fair")]
        [True, True, False]
    """
    word = re.escape(name)
    return re.compile(rf"(?<=[/\\]){word}(?=[/\\]|$)|(?<![^\W_]){word}(?=@)")


def hidden(record: Any) -> Any:
    """A JSON-ready record in which every such text reads `***`."""
    return _hidden(record, known())


def _hidden(record: Any, private: list[Private]) -> Any:
    if isinstance(record, dict):
        return {key: _hidden(value, private) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [_hidden(value, private) for value in record]
    if not isinstance(record, str):
        return record
    for one in private:
        record = one.pattern.sub(HIDDEN, record)
    return record


def check(folder: Path) -> None:
    """Reads every written file once more. KatayoriError naming the first that holds such a text."""
    private = known()
    for path in sorted(filter(Path.is_file, folder.rglob("*"))):
        shown = str(path.relative_to(folder))
        content = f"{shown}\n{path.read_bytes().decode('utf-8', errors='replace')}"
        for one in private:
            if one.pattern.search(content):
                raise KatayoriError(f"{shown} holds {one.about}; nothing was exported")

"""The one error users are meant to see: a single line that names the cause and the remedy."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class KatayoriError(Exception):
    """Raised for bad input or a missing prerequisite; its message stands alone, without a
    traceback.
    """


def expect(name: object, known: Iterable[str], what: str) -> None:
    """KatayoriError with the valid names where `name` is none of them; `what` says what it should
    name.
    """
    known = list(known)
    if name not in known:
        raise KatayoriError(f"unknown {what} {name!r}; known: {', '.join(known) or 'none'}")


def nearest(name: str, known: Iterable[str]) -> str:
    """The few names most like one that is unknown, for a line in which all would be too many.

    >>> nearest("gtp-4o", ["o3", "gpt-4o", "phi4-14b"])
    'gpt-4o'
    """
    return ", ".join(get_close_matches(name, list(known), n=3, cutoff=0.4)) or "none is like it"


@contextmanager
def within(where: str) -> Iterator[None]:
    """A KatayoriError from inside says where it arose."""
    try:
        yield
    except KatayoriError as error:
        raise KatayoriError(f"{where}: {error}") from None


class UnavailableError(KatayoriError):
    """Something a profile needs is not on this machine (a data set, recorded answers): a notebook
    ends as skipped.
    """

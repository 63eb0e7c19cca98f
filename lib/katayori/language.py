"""What readers see, in their language: English, or Japanese where KATAYORI_LANG=ja.

A text is translated where it is shown, and whole: as it stands in a catalogue of gettext below
data/locale, or as a sentence of one whose {places} hold what was computed. What stands in a place
is taken over letter by letter, so that numbers are the same in both languages; it is translated
only where it is itself a text of a catalogue. What no catalogue has stays English, and so do files
of numbers.
"""

import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from katayori import paths
from katayori.errors import KatayoriError

_PLACE = re.compile(r"\{(\w+)\}")
#: A place as `_pattern` has it.
_HELD = re.compile(r"\(\?P<\w+>[^)]*\)")
#: What a place may hold, which makes short sentences safe: of the name n (n_2 ...) a number alone,
#: of the name word (word_2 ...) no blank.
_HOLDS = {"n": r"[<$-]?[\d,.]*\d", "word": r"\S+"}
#: What stands before the text of a line: blanks, and the signs of headings, lists and quotations.
_BEFORE = re.compile(r"\s*(?:(?:#+|[-*>]|\d+\.)\s+)*")
#: What stands between texts that are translated one by one.
_BETWEEN = {"; ": "；", ", ": "、"}
_JAPANESE = re.compile("[ぁ-ヶ一-鿿]")
#: English that a translation has left: three words in a row.
_LEFT = re.compile("[a-z]{2,} [a-z]{2,} [a-z]{2,}")
#: What stands before a printed sentence: who speaks of what, or how often something was said.
_SPEAKER = re.compile(r"\s*(?:\d+ x |(?:\S+ ){0,3}?\S+?(?::\s+|\s{3,}))(?=\S)")
_OURS = "katayori: "
#: Places of such names hold what models, servers and users wrote, which is never translated.
_RAW = "raw"
#: Letters at the beginning of a sentence, by which it is looked up.
_KEY = 4


class _Catalogue(NamedTuple):
    """Whole texts, and sentences with places by their first letters, the longest first."""

    texts: dict[str, str]
    sentences: dict[str, list[tuple[re.Pattern[str], str]]]


def told(text: str, context: str = "") -> str:
    """A text as its reader sees it; line by line where it is no message as a whole.

    Args:
        text: in English. context: where it stands, such as its column; tells it from another one
            that reads the same (msgctxt), and counts only where a catalogue names it.

    Example:
        >>> told("reads as English where KATAYORI_LANG is not set")
        'reads as English where KATAYORI_LANG is not set'
    """
    chosen = paths.language()
    if chosen == "en":
        return text
    core = text.strip()
    whole = _in_context(f"{context}\4{core}", chosen) if context else None
    whole = _told(core, chosen) if whole is None else whole
    if whole is not None:
        return text.replace(core, whole)
    return "".join(_line(line, chosen) for line in text.splitlines(keepends=True))


def _printed(line: str) -> str:
    """A printed line; of one that is no message the part behind who speaks."""
    if line.startswith(_OURS):  # an error in one line
        return _OURS + _printed(line.removeprefix(_OURS))
    shown, speaker = told(line), _SPEAKER.match(line)
    if shown != line or not speaker:
        return shown
    return speaker[0] + _printed(line[speaker.end() :])


def _in_context(key: str, chosen: str) -> str | None:
    """The translation of a text that has one of its own in this context."""
    texts, sentences = _catalogue(chosen)
    return texts.get(key) or _filled(key, sentences.get(key[:_KEY], ()))


def _line(line: str, chosen: str) -> str:
    start = _BEFORE.match(line)
    before = start[0] if start else ""
    core = line[len(before) :].rstrip()
    translated = _told(core, chosen)
    return line if translated is None else before + translated + line[len(before) + len(core) :]


@lru_cache(maxsize=20_000)
def _told(text: str, chosen: str) -> str | None:
    """The translation of a text; None where no catalogue has one."""
    texts, sentences = _catalogue(chosen)
    if text in texts:
        return texts[text]
    return (
        _listed(text, "; ")
        or _filled(text, sentences.get(text[:_KEY], ()))
        or _listed(text, ", ")
        or _filled(text, sentences.get("", ()))
    )


def _listed(text: str, between: str) -> str | None:
    """The translation of a list of which each part has one or is Japanese."""
    parts = [] if "\n" in text else text.split(between)
    shown = [_printed(part) for part in parts] if len(parts) > 1 else parts
    is_english = [one in parts and not _JAPANESE.search(one) for one in shown]
    if shown == parts or any(is_english) or any(map(_LEFT.search, shown)):
        return None
    return _BETWEEN[between].join(shown)


def _filled(text: str, sentences: Iterable[tuple[re.Pattern[str], str]]) -> str | None:
    """The translation of a text that is one of these sentences, the first that fits."""
    for pattern, message in sentences:
        if found := pattern.fullmatch(text):
            held = {
                n: one if n.startswith(_RAW) else _printed(one)
                for n, one in found.groupdict().items()
            }
            return _PLACE.sub(lambda place: held[place[1]], message)  # noqa: B023 (called here)
    return None


@lru_cache
def _catalogue(chosen: str) -> _Catalogue:
    from babel.messages.pofile import read_po  # takes a while

    read = _Catalogue({}, {})
    folder = paths.registry("locale") / chosen / "LC_MESSAGES"
    for path in sorted({*folder.rglob("*.po")} - {*folder.glob("pages/*")}):  # pages are Sphinx's
        with path.open(encoding="utf-8") as file:
            messages = [one for one in read_po(file) if one.id and one.string and not one.fuzzy]
        for one in messages:
            text = f"{one.context}\4{one.id}" if one.context else str(one.id)
            if _PLACE.search(text) and "\\" not in text:  # formulas have no places
                begin = _PLACE.split(text)[0]
                key = begin[:_KEY] if len(begin) >= _KEY else ""
                read.sentences.setdefault(key, []).append((_pattern(text), str(one.string)))
            else:
                read.texts[text] = str(one.string)
    for several in read.sentences.values():
        several.sort(key=lambda both: len(_HELD.sub("", both[0].pattern)), reverse=True)
    return read


def _pattern(message: str) -> re.Pattern[str]:
    """What a sentence looks like once its places are filled."""
    parts = _PLACE.split(message)
    for n, part in enumerate(parts):
        parts[n] = (
            f"(?P<{part}>{_HOLDS.get(part.split('_')[0], '.*?')})" if n % 2 else re.escape(part)
        )
    return re.compile("".join(parts))


class _Printed:
    """A stream on which every line is written in the reader's language."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes the text, translated; gives how many letters came."""
        lines = text.splitlines(keepends=True)
        is_whole = len(lines) > 1 and _told(text.strip(), paths.language()) is not None
        self._stream.write(told(text) if is_whole else "".join(map(_printed, lines)))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _traceback(error: KatayoriError) -> list[str]:
    """What IPython shows of an error: its own lines, and in them the message as readers see it."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    lines = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
    return [line.replace(str(error), _printed(str(error))) for line in lines]


def print_in_language() -> None:
    """From now on what this process prints is in the language that KATAYORI_LANG names."""
    if paths.language() != "en":
        KatayoriError._render_traceback_ = _traceback  # type: ignore[attr-defined]
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, _Printed):
                setattr(sys, name, _Printed(stream))

"""Docstrings as the pages of the interface show them.

Ours are plain text with headed parts (`Args:`, `Example:`), in which the order and the depth of
lines mean something. Read as reStructuredText, an asterisk or a hanging line would be an error;
here they become text, lists and examples of it, whatever they hold.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

HEADS = ("Args", "Attributes", "Example", "Examples", "Raises", "Returns", "Yields")
LITERAL = re.compile(r"(`[^`]+`)")
NAME = re.compile(r"(?P<name>[*\w.]+(?:, [*\w.]+)*):\s+(?P<about>.*)", re.DOTALL)


@dataclass
class _Item:
    """A line, what goes on from it, and the items that a line ending in a colon heads."""

    text: str
    below: list["_Item"] = field(default_factory=list)


def as_rst(lines: Sequence[str]) -> list[str]:
    """The lines of a docstring as reStructuredText.

    >>> as_rst(["Of *by.", "", "Args:", "    n: how", "        many"])
    ['Of \\\\*by.', '', '**Args**', '', '- ``n``: how many', '']
    """
    made: list[str] = []
    for block in _blocks(lines):
        head = block[0].strip().removesuffix(":")
        if block[0].strip().startswith(">>>"):
            made += [*_dedented(block), ""]
        elif head in HEADS and block[0].rstrip().endswith(":") and not block[0].startswith(" "):
            made += [f"**{head}**", "", *_section(block[1:])]
        else:
            made += _text(block)
    return made


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    """Lines between blank ones; an example begins a block of its own."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        starts = line.strip().startswith(">>>")
        last = blocks[-1]
        if not line.strip():
            blocks.append([])
        elif starts and last and not last[0].strip().startswith(">>>"):
            blocks.append([line])
        else:
            last.append(line)
    return [block for block in blocks if block]


def _section(lines: list[str]) -> list[str]:
    """What stands below a head: named or hanging entries as a list."""
    items = _items(_dedented(lines))
    if not items:
        return []
    if _is_hanging(lines) or all(NAME.fullmatch(item.text) for item in items):
        return [*_listed(items), ""]
    return [_escaped(" ".join(item.text for item in items)), ""]


def _text(lines: list[str]) -> list[str]:
    """A paragraph; what is set apart by its indent keeps its columns."""
    if all(line.startswith(" ") for line in lines):
        return ["::", "", *(f"    {line}" for line in _dedented(lines)), ""]
    items = _items(lines)
    if len(items) > 1 and _is_hanging(lines) and all(NAME.fullmatch(one.text) for one in items):
        return [*_listed(items), ""]
    *before, last = items
    told = [_escaped(" ".join([*(item.text for item in before), last.text])), ""]
    return [*told, *_listed(last.below), ""] if last.below else told


def _is_hanging(lines: list[str]) -> bool:
    """Whether some lines stand deeper than others."""
    return len({len(line) - len(line.lstrip()) for line in lines}) > 1


def _dedented(lines: list[str]) -> list[str]:
    least = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return [line[least:].rstrip() for line in lines]


def _items(lines: list[str]) -> list[_Item]:
    """The outer lines of a block; deeper ones go on from them, or are their items after a colon."""
    items: list[_Item] = []
    deeper: list[str] = []
    for line in [*lines, ""]:
        if line.startswith(" ") and items:
            deeper.append(line)
            continue
        if deeper:
            _attach(items[-1], _dedented(deeper))
            deeper = []
        if line:
            items.append(_Item(line.strip()))
    return items


def _attach(item: _Item, deeper: list[str]) -> None:
    if item.text.endswith(":"):
        item.below = _items(deeper)
    else:
        item.text = " ".join([item.text, *(" ".join(line.split()) for line in deeper)])


def _listed(items: list[_Item]) -> list[str]:
    made = []
    for item in items:
        named = NAME.fullmatch(item.text)
        text = f"``{named['name']}``: {_escaped(named['about'])}" if named else _escaped(item.text)
        made.append(f"- {text}")
        if item.below:
            made += ["", *(f"  {line}".rstrip() for line in _listed(item.below)), ""]
    return made


def _escaped(text: str) -> str:
    """Text in which only `names` are marked."""
    parts = LITERAL.split(" ".join(text.split()))
    marked = (f"`{part}`" if LITERAL.fullmatch(part) else _plain(part) for part in parts)
    return "\\ ".join(filter(None, marked)) if len(parts) > 1 else "".join(map(_plain, parts))


def _plain(text: str) -> str:
    return re.sub(r"([\\*|_`])", r"\\\1", text)

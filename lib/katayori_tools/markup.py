"""HTML as a list of tokens: its words, its sections, and small changes to it.

The standard library reads it, so that no regular expression has to know what a tag is. What comes
from notebooks is made safe elsewhere (`pages`); nothing here is a sanitiser.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

HEADINGS = ("h1", "h2", "h3", "h4")
UNREAD = ("script", "style")  # what they hold is no text


@dataclass(slots=True)
class Token:
    """A piece of HTML: `kind` is start, end, text or other; `source` is how it is written."""

    kind: str
    source: str
    tag: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)  # the source stays as it is written
        self.tokens: list[Token] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tokens.append(Token("start", self.get_starttag_text() or "", tag, values))

    def handle_endtag(self, tag: str) -> None:
        self.tokens.append(Token("end", f"</{tag}>", tag))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if self.tokens and self.tokens[-1].kind == "text":
            self.tokens[-1].source += data
        else:
            self.tokens.append(Token("text", data))

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self.tokens.append(Token("other", f"<!--{data}-->"))

    def handle_decl(self, decl: str) -> None:
        self.tokens.append(Token("other", f"<!{decl}>"))


def tokens(markup: str) -> list[Token]:
    """The tokens of some HTML; their sources, joined, are the HTML again."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.tokens


def _words(some: list[Token], without: Collection[str] = ()) -> str:
    """Words of tokens, leaving out elements by their tags."""
    texts = []
    inside: list[str] = []
    for token in some:
        if token.kind == "start" and token.tag in (*UNREAD, *without):
            inside.append(token.tag)
        elif token.kind == "end" and inside and token.tag == inside[-1]:
            inside.pop()
        elif token.kind == "text" and not inside:
            texts.append(unescape(token.source))
    return " ".join(" ".join(texts).split())


def words(markup: str) -> str:
    """The text of some HTML, a blank in place of each tag, blanks collapsed.

    >>> words("<td>a &amp; b</td><td>c</td><style>d</style>")
    'a & b c'
    """
    return _words(tokens(markup))


def sections(markup: str, without: Collection[str] = ()) -> list[tuple[int, str, str, str]]:
    """Level, anchor, heading and text of each section: what follows a heading that has an id.

    `without` names elements that are left out of the texts.

    >>> sections('<p>x</p><h2 id="a">A <b>b</b></h2><p>c</p>')
    [(2, 'a', 'A b', 'c')]
    """
    some = tokens(markup)
    starts = [
        n
        for n, token in enumerate(some)
        if token.kind == "start" and token.tag in HEADINGS and "id" in token.attributes
    ]
    made = []
    for start, following in pairwise([*starts, len(some)]):
        tag = some[start].tag
        end = next(
            (n for n in range(start, following) if some[n].kind == "end" and some[n].tag == tag),
            following,
        )
        heading, text = _words(some[start:end]), _words(some[end:following], without)
        made.append((int(tag[1]), some[start].attributes["id"], heading, text))
    return made


def alternative(markup: str) -> str | None:
    """The words in place of the first picture; None without a picture, empty where it has none."""
    for token in tokens(markup):
        if token.kind == "start" and token.tag == "img":
            return " ".join(token.attributes.get("alt", "").split())
    return None


def caption(markup: str) -> str | None:
    """The words of the first table's caption; None without a table, empty where it has none."""
    some = tokens(markup)
    tables = [n for n, one in enumerate(some) if one.kind == "start" and one.tag == "table"]
    if not tables:
        return None
    for start in range(tables[0], len(some)):
        if some[start].kind == "start" and some[start].tag == "caption":
            ends = (n for n in range(start, len(some)) if some[n].tag == "caption" and n > start)
            return _words(some[start : next(ends, len(some))])
    return ""


def rewritten(markup: str, change: Callable[[str], str], outside: Collection[str]) -> str:
    """The HTML with `change` done to each text as it is written, but for those within `outside`.

    >>> rewritten('<a title="b">b</a> b', str.upper, outside=["a"])
    '<a title="b">b</a> B'
    """
    inside: list[str] = []
    made = []
    for token in tokens(markup):
        if token.kind == "start" and token.tag in (*UNREAD, *outside):
            inside.append(token.tag)
        elif token.kind == "end" and inside and token.tag == inside[-1]:
            inside.pop()
        text = token.kind == "text" and not inside
        made.append(change(token.source) if text else token.source)
    return "".join(made)


def with_long_cells(markup: str, least: int = 40) -> str:
    """The HTML with the class `long` for cells of at least so many characters, which need room."""
    some = tokens(markup)
    opened: list[int] = []
    long_cells: set[int] = set()
    for n, token in enumerate(some):
        if token.kind == "start" and token.tag == "td":
            opened.append(n)
        elif token.kind == "end" and token.tag == "td" and opened:
            start = opened.pop()
            if not some[start].attributes and len(_words(some[start:n])) >= least:
                long_cells.add(start)
    return "".join(
        '<td class="long">' if n in long_cells else token.source for n, token in enumerate(some)
    )

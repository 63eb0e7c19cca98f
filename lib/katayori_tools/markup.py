"""HTML as a list of tokens: words of pictures and tables, and small changes to it.

The standard library reads it, so that no regular expression has to know what a tag is. What comes
from notebooks is made safe elsewhere (`pages`); nothing here is a sanitiser.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser

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


def _words(some: list[Token]) -> str:
    """Words of tokens, a blank in place of each tag, blanks collapsed."""
    texts = []
    inside: list[str] = []
    for token in some:
        if token.kind == "start" and token.tag in UNREAD:
            inside.append(token.tag)
        elif token.kind == "end" and inside and token.tag == inside[-1]:
            inside.pop()
        elif token.kind == "text" and not inside:
            texts.append(unescape(token.source))
    return " ".join(" ".join(texts).split())


def headings(markup: str) -> list[tuple[int, str, str]]:
    """Level, anchor and words of each heading that has an id.

    >>> headings('<p>x</p><h2 id="a">A <b>b</b></h2><p>c</p>')
    [(2, 'a', 'A b')]
    """
    some = tokens(markup)
    found = []
    for start, token in enumerate(some):
        if token.kind == "start" and token.tag in HEADINGS and "id" in token.attributes:
            ends = (n for n in range(start, len(some)) if some[n].kind == "end")
            end = next((n for n in ends if some[n].tag == token.tag), len(some))
            words = _words(some[start:end])
            found.append((int(token.tag[1]), token.attributes["id"], words))
    return found


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


def in_regions(markup: str, label: str) -> str:
    """The HTML with each outermost table in a region of this name, which keys can scroll.

    >>> in_regions("a<table></table>", "Table 1")
    'a<div class="scroll" role="region" tabindex="0" aria-label="Table 1"><table></table></div>'
    """
    start = f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
    depth = 0
    made = []
    for token in tokens(markup):
        if token.tag == "table" and token.kind == "start":
            made.append(start if depth == 0 else "")
            depth += 1
        made.append(token.source)
        if token.tag == "table" and token.kind == "end" and depth:
            depth -= 1
            made.append("</div>" if depth == 0 else "")
    return "".join(made)

"""HTML made readable: tables that keys can scroll, pictures that grow, Japanese marked as such.

Beautiful Soup reads and writes it, so that no pattern has to know what a tag is. What comes from
notebooks is made safe elsewhere (`pages`); nothing here is a sanitiser.
"""

import re

from bs4 import BeautifulSoup, NavigableString, Tag

from katayori.report.tables import SCROLLS

#: The box of a table with many rows (katayori.report.tables).
ROWS = "katayori-rows"
#: Characters of a cell that needs room.
LONG = 40
#: Where a picture stays as it is, as it does in a line of text.
BOXES = ["a", "summary", "table"]
#: Kana and kanji; the signs around them.
KANA, SIGNS = "々-〇ぁ-ヿ㐀-䶿一-鿿ｦ-ﾟ", "\u3000-〿！-･"
LETTER, LATIN = re.compile(f"[{KANA}]"), re.compile("[A-Za-z]")
#: Japanese within other text, digits and blanks between its words included.
RUN = re.compile(rf"([{SIGNS}]{{0,2}}[{KANA}](?:[{KANA}{SIGNS}\s\d.]*[{KANA}{SIGNS}])?)")
#: Three English words in a row: this is no Japanese sentence that names a p or a model.
ENGLISH = re.compile(r"[A-Za-z]+(?:[ ,;:]+[A-Za-z]+){2}")
BLOCKS = ["p", "li", "td", "th", "h1", "h2", "h3", "h4", "caption", "dt", "dd", "pre", "figcaption"]
#: Elements that hold text and no other element.
PLAIN = {"title", "option", "textarea", "script", "style", "text"}


def tree(markup: str) -> BeautifulSoup:
    """The elements of some HTML; as a text they are the HTML again."""
    return BeautifulSoup(markup, "html.parser", multi_valued_attributes=None)


def words(part: Tag) -> str:
    """The words of an element, a blank in place of each tag, blanks collapsed."""
    return " ".join(part.get_text(" ").split())


def readable(markup: str, label: str = "") -> str:
    """The HTML with tables that keys can scroll, pictures that grow, and `lang="ja"`.

    Cells of many characters get the class `long`. A block that is Japanese gets the attribute
    itself, Japanese within other text a span.

    Args:
        markup: safe HTML.
        label: the name of each table's region; empty: its caption.

    >>> readable("a<table></table>", "Table 1")
    'a<div aria-label="Table 1" class="scroll" role="region" tabindex="0"><table></table></div>'
    >>> readable('<div><img src="x"></div>')
    '<div><details class="figure"><summary><img src="x"/></summary></details></div>'
    >>> readable("<h2>Summary 要約</h2><p>p 値は小さい。</p>")
    '<h2>Summary <span lang="ja">要約</span></h2><p lang="ja">p 値は小さい。</p>'
    """
    page = tree(markup)
    make_readable(page, label)
    return str(page)


def make_readable(page: BeautifulSoup, label: str = "") -> None:
    """As `readable`, of what is read already."""
    _put_into_regions(page, label)
    _let_grow(page)
    for cell in page.find_all("td"):
        if not cell.attrs and len(words(cell)) >= LONG:
            cell["class"] = "long"
    _mark_japanese(page)


def _put_into_regions(page: BeautifulSoup, label: str) -> None:
    """Puts each outermost table into a region that keys can scroll, of fixed height if long."""
    outermost = (one for one in page.find_all("table") if not one.find_parent("table"))
    for number, table in enumerate(outermost, 1):
        name = label or (words(table.caption) if table.caption else "") or f"Table {number}"
        box = table.find_parent("div", class_=ROWS) or table.wrap(page.new_tag("div"))
        is_long = sum(row.td is not None for row in table.find_all("tr")) > SCROLLS
        box["class"] = f"scroll {ROWS}" if is_long else "scroll"
        box.attrs |= {"aria-label": name, "role": "region", "tabindex": "0"}


def _let_grow(page: BeautifulSoup) -> None:
    """Puts figures into boxes that a tap or a key opens to their full size, by style alone."""
    for picture in page.find_all("img"):
        above = picture.parent
        if picture.get("class") == "formula" or above is None or picture.find_parent(BOXES):
            continue
        if above.name == "p" and len(above.contents) == 1:
            above.name = "div"  # a paragraph can hold no box
        if not picture.find_parent("p"):
            box = picture.wrap(page.new_tag("summary"))
            box.wrap(page.new_tag("details", attrs={"class": "figure"}))


def _mark_japanese(page: BeautifulSoup) -> None:
    """Gives Japanese blocks the attribute `lang`, and spans with it to Japanese elsewhere."""
    for block in page.find_all(BLOCKS):
        text = words(block)
        count = len(LETTER.findall(text))
        if count > len(LATIN.findall(text)) and not ENGLISH.search(text):
            block.attrs.setdefault("lang", "ja")
    for text in page.find_all(string=LETTER):
        near = text.find_parent(lambda one: one.name in PLAIN or one.has_attr("lang")) or page
        if type(text) is NavigableString and near.name not in PLAIN and near.get("lang") != "ja":
            parts = enumerate(RUN.split(text))
            spans = {"lang": "ja"}
            text.replace_with(
                *(
                    page.new_tag("span", attrs=spans, string=one) if n % 2 else one
                    for n, one in parts
                )
            )

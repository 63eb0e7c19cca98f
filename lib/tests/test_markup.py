"""HTML by tokens: nothing changes but what is asked for, whatever stands in attributes."""

import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given, settings, strategies as st

from katayori_tools import pages

PIECES = st.sampled_from([
    "<p>", "</p>", "<td>", "</td>", "<a href='#x'>", "</a>", '<img alt="a > b">', "<br/>", "&amp;",
    "<!-- c -->", "&lt;b&gt;", "&#8217;", "&copy", "& ", "<", ">", "</", "<script>", "</script>",
    "<style>", "</style>", "notebook 01", "一致度", '"', "'", "=", "<b onclick=x", "<svg/onload=x>",
    "<table><tr>", "</table>", "<details open>", "\n",
])  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
@example("<a href='#x'><table><tr><p><a href='#x'>")
@settings(max_examples=300, deadline=None)
def test_a_safe_page_is_read_and_written_without_loss(text):
    """Whatever a model or a notebook says: once cleaned, it is read without loss."""
    clean = pages.safe(text)
    assert _held(str(pages.tree(clean))) == _held(clean)
    # HTML itself does not keep the nesting of a link within a link around a table when it is read
    # again: it may close and repeat the link. The words and the kinds of tags must stay.
    again = pages.safe(clean)
    assert _held(again) == _held(clean)


def _held(html):
    """The words of a page, and which tags with which attributes it has, each once."""
    page = BeautifulSoup(html, "html.parser")
    tags = {(tag.name, tuple(sorted(tag.attrs.items()))) for tag in page.find_all(True)}
    return page.get_text(), tags


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=300, deadline=None)
def test_what_makes_a_page_readable_adds_nothing_else(text):
    name = "<caption>a &lt;b&gt;</caption>"
    clean = pages.safe(f"<table>{name}<tr><td>{text}</td></tr></table> notebook 01 {text}")
    made = pages.readable(clean)
    before, after = (BeautifulSoup(one, "html.parser") for one in (clean, made))
    # Blank lines at an end are one line end; nothing shows them.
    assert before.get_text().split() == after.get_text().split()
    regions = after.find_all("div", class_="scroll")
    assert regions[0]["aria-label"] == "a <b>"
    for picture in after.find_all("img"):
        del picture["tabindex"]
    for added in [*regions, *after.find_all("span", lang="ja")]:
        added.unwrap()
    for cell in after.find_all("td", class_="long"):
        del cell["class"]
    names = [[(tag.name, tag.attrs) for tag in page.find_all(True)] for page in (before, after)]
    assert names[0] == names[1]


def test_a_tag_within_an_attribute_is_no_tag():
    """A pattern that ends a tag at the next `>` would put a region into the words of a picture."""
    hostile = '<img alt="> <table> &lt;script>x&lt;/script></table>">'
    made = BeautifulSoup(pages.readable(hostile), "html.parser")
    assert [tag.name for tag in made.find_all(True)] == ["img"]
    assert made.img["alt"] == "> <table> <script>x</script></table>"
    inner = "<table><tr><td><table></table></td></tr></table>"
    assert pages.readable(inner).count('class="scroll"') == 1


@pytest.mark.parametrize("start", ['<div class="katayori-rows">', "<div>"])
def test_a_long_table_has_one_box(start):
    rows = "<tr><td>x</td></tr>" * 13
    made = pages.readable(f"{start}<table><caption>Many</caption>{rows}</table></div>")
    (box,) = BeautifulSoup(made, "html.parser").find_all(class_="katayori-rows")
    assert box["class"] == ["scroll", "katayori-rows"] and box["aria-label"] == "Many"
    assert box["tabindex"] == "0" and box.table.parent == box


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("<p>p 値は 0.05 より小さい。</p>",
         '<p>p <span lang="ja">値は 0.05 より小さい。</span></p>'),
        ("<p>The alpha (一致度) is low.</p>",
         '<p>The alpha (<span lang="ja">一致度</span>) is low.</p>'),
        ("<h2>1 · First 最初</h2>", '<h2>1 · First <span lang="ja">最初</span></h2>'),
        ("<td>要因</td>", '<td><span lang="ja">要因</span></td>'),
        ("<caption>Terms 「用語」</caption>",
         '<caption>Terms <span lang="ja">「用語」</span></caption>'),
        ("<p>No Japanese, 1 % ……</p>", "<p>No Japanese, 1 % ……</p>"),
        ('<p lang="ja">用語 x<b>要約</b></p>', '<p lang="ja">用語 x<b>要約</b></p>'),
        ('<p lang="zh">用語</p>', '<p lang="zh"><span lang="ja">用語</span></p>'),
        ("<title>用語</title><style>用</style>", "<title>用語</title><style>用</style>"),
        ("x<!-- 用語 -->", "x<!-- 用語 -->"),
        ("<p>&lt;b&gt; &amp; 用語</p>", '<p>&lt;b&gt; &amp; <span lang="ja">用語</span></p>'),
    ],
)  # fmt: skip
def test_japanese_is_marked(text, form):
    assert pages.readable(text) == form
    assert pages.readable(form) == form


def test_only_figures_grow():
    grown = '<p>a <img src="x" tabindex="0"/></p>'
    assert pages.readable('<p>a <img src="x"/></p>') == pages.readable(grown) == grown
    for kept in ('<a href="#b"><img src="x"/></a>', '<div><img class="formula" src="x"/></div>'):
        assert pages.readable(kept) == kept


def test_a_cell_of_forty_characters_is_long():
    cell = "<td>{}</td>"
    long = '<td class="long">{}</td>'
    for text, form in (("x" * 39, cell), ("x" * 40, long), (f"<b>{'x' * 40}</b>", long)):
        assert pages.readable(cell.format(text)) == form.format(text)
    styled = f'<td style="x">{"x" * 99}</td>'
    assert pages.readable(styled) == styled


def test_what_is_safe():
    """Tags, attributes, addresses and styles that a page may have.

    The text within any other tag stays, but for drawings and formulas of another language.
    """
    safe = pages.safe
    assert safe("<p onclick=x class=a>b</p><iframe src=x>c</iframe>") == '<p class="a">b</p>c'
    assert safe("<style>p {}</style><script>x()</script>a") == "a"
    assert safe("<svg onload=x><text>b</text></svg><math><mi>c</mi></math>d") == "d"
    for address in ("#a", "https://example.org/", "http://example.org/"):
        assert safe(f'<a href="{address}">b</a>') == f'<a href="{address}">b</a>'
    for address in ("javascript:x", " javascript:x", "data:text/html,x", "/a", "a.html", "//b.org"):
        assert safe(f'<a href="{address}">b</a>') == "<a>b</a>"
    for address in ("x.png", "https://example.org/x.png", "data:text/html,x", "//b.org/x.png"):
        assert safe(f'<img src="{address}" alt="b">') == '<img alt="b">'
    picture = '<img src="data:image/png;base64,AA==" alt="b">'
    assert safe(picture) == picture
    style = "color:red;position:fixed;background:url(x);width:1px"
    assert safe(f'<b style="{style}">c</b>') == '<b style="color:red;width:1px">c</b>'
    assert safe('<img alt="<script>x</script>">') == ('<img alt="&lt;script&gt;x&lt;/script&gt;">')

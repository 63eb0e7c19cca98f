"""What `make site` adds to Sphinx: a search that knows Japanese, and pages in which nothing
runs but scripts beside them.

The body of every page is made safe by nh3 as the last step, so that nothing that stands in a
notebook, a table or a model's answer can act; the page's own policy forbids it once more.
"""

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.search.en import SearchEnglish

from katayori.language import told
from katayori.report.tables import visible
from katayori_tools import pages

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Files lie beside the pages and are no `self` where pages are opened as files.
POLICY = (
    "default-src 'none'; img-src 'self' file: data:; font-src 'self' file: data:;"
    " style-src 'self' file: 'unsafe-inline'; base-uri 'none'; form-action 'self' file:;"
    " script-src 'self' file:"
)
BESIDE_PAGES = re.compile(r"(_images|_static|pictures)/[\w@.+-]+\.\w+")
#: What is left of a picture that lies elsewhere; `<` and `>` are escaped within attributes.
EMPTY_PICTURE = re.compile(r"<img(?![^>]* src=)[^>]*>")
SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.S)
PLAYGROUND = re.compile(r'id="playground-(\w+)"')

# -- safe pages ------------------------------------------------------------------------------------


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute, None to remove it: pictures lie in the page or beside it."""
    if name == "src" and not value.startswith("data:image/"):
        return value if BESIDE_PAGES.fullmatch(value) else None
    return value


def safe(markup: str) -> str:
    """The body of a page without anything that acts or is fetched from elsewhere."""
    return EMPTY_PICTURE.sub("", pages.safe(markup, _kept))


def _body(app: "Sphinx", name: str, template: str, context: dict, doctree: Any) -> None:
    """Makes the body safe, and names the scripts that it needs."""
    body = visible(safe(context.get("body", "")))
    context["body"] = pages.readable(body)
    for paper in PLAYGROUND.findall(body):
        if (Path(app.srcdir) / "_static" / "play" / f"{paper}.js").is_file():
            app.add_js_file(f"play/{paper}.js", loading_method="defer")
            app.add_js_file("playground.js", loading_method="defer")


def with_policy(page: str) -> str:
    """A page with its policy as the first that a browser reads: scripts within by their hash."""
    codes = [found["code"] for found in SCRIPT.finditer(page) if "src=" not in found["attributes"]]
    policy = " ".join([POLICY, *dict.fromkeys(map(pages.source, codes))])
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}" />'
    return page.replace("<head>", f"<head>\n    {meta}", 1)


def _finish(app: "Sphinx", error: Exception | None) -> None:
    """Adds policies and the names of the folded lists."""
    if error or app.builder.format != "html":
        return
    for path in Path(app.outdir).glob("*.html"):
        page = path.read_text(encoding="utf-8")
        toggle = '><span class="toctree-toggle"'
        named = page.replace(f"<summary{toggle}", f'<summary aria-label="{told("pages")}"{toggle}')
        named = named.replace("Toggle hidden content", told("Toggle hidden content"))
        path.write_text(with_policy(named), encoding="utf-8", newline="\n")


# -- docstrings ------------------------------------------------------------------------------------


def _summary(app: "Sphinx", what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Says the first paragraph of a docstring in the reader's language, on a page or in a table."""
    end = lines.index("") if "" in lines else len(lines)
    summary = " ".join(map(str.strip, lines[:end]))
    if (shown := told(summary, "interface")) != summary:
        lines[:end] = [shown]


# -- search ----------------------------------------------------------------------------------------

#: Hiragana, katakana and Chinese characters, which are written without blanks between words.
CLOSE = "\u3040-\u30ff\u3400-\u9fff\u3005"
_RUN = re.compile(rf"[{CLOSE}]+|[^\W_{CLOSE}][^\W{CLOSE}]*")


def pieces(text: str) -> list[str]:
    """A text as what the search looks for: words, and of Japanese each two neighbours.

    >>> pieces("ノイズ and ﾉｲｽﾞ")
    ['ノイ', 'イズ', 'and', 'ノイ', 'イズ']
    """
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        if len(run) > 1 and re.match(f"[{CLOSE}]", run):
            found += [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            found.append(run)
    return found


class Words(SearchEnglish):
    """English by its stems, Japanese by pairs of characters; the browser splits the same way."""

    lang = "words"
    language_name = "English"  # of the stemmer that lies beside the pages
    js_splitter_code = Path(__file__).with_name("site_words.js").read_text(encoding="utf-8")

    def split(self, input: str) -> list[str]:
        return [*pieces(input), *re.findall(f"[{CLOSE}]", unicodedata.normalize("NFKC", input))]


def setup(app: "Sphinx") -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_search_language(Words)
    app.connect("autodoc-process-docstring", _summary, priority=400)  # before napoleon's
    app.connect("html-page-context", _body, priority=900)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

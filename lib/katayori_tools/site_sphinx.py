"""What `make site` adds to Sphinx: formulas without a script, a search that knows Japanese, and
pages in which nothing runs but the scripts of the theme.

The body of every page is made safe by nh3 as the last step, so that nothing that stands in a
notebook, a table or a model's answer can act; the page's own policy forbids it once more.
"""

import base64
import hashlib
import re
import unicodedata
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.search.en import SearchEnglish
from sphinx.transforms.post_transforms import SphinxPostTransform

from katayori_tools import pages
from katayori_tools.site_docstrings import as_rst
from katayori_tools.site_vega import scripts_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Files lie beside the pages and are no `self` where pages are opened as files.
POLICY = (
    "default-src 'none'; img-src 'self' file: data:; font-src 'self' file: data:;"
    " style-src 'self' file: 'unsafe-inline'; base-uri 'none'; form-action 'self' file:;"
    " script-src 'self' file:"
)
#: Where the pictures of the pages lie.
BESIDE_PAGES = re.compile(r"(_images|_static|pictures)/[\w@+-]+\.\w+")
#: What is left of a picture that lies elsewhere; `<` and `>` are escaped within attributes.
EMPTY_PICTURE = re.compile(r"<img(?![^>]* src=)[^>]*>")
SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.S)
NOTEBOOK = re.compile(r"\b[Nn]otebook (\d\d)\b")
#: Elements of formulas, and what Sphinx makes beside the elements that a report may hold.
MATH = {
    "math", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace",
    "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder",
    "munderover",
}  # fmt: skip
BESIDE = {"aside", "col", "colgroup", "dfn", "figcaption", "figure", "section", "var", "sup"}
ATTRIBUTES = {
    *pages.ANYWHERE, "aria-hidden", "aria-label", "aria-labelledby", "display", "id", "role",
    "scope", "tabindex", "mathvariant", "stretchy", "accent",
}  # fmt: skip
OF_TAGS = {
    "a": {"href", "download"},
    "img": {"src", "loading"},
    "ol": {"start"},
    "details": {"open"},
    "math": {"xmlns"},
}


# -- safe pages ------------------------------------------------------------------------------------


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute, None to remove it: pictures lie in the page or beside it."""
    if name == "src" and not value.startswith("data:image/"):
        return value if BESIDE_PAGES.fullmatch(value) else None
    return value


@cache
def _cleaner() -> Any:
    from nh3 import Cleaner

    return Cleaner(
        tags=pages.TAGS | MATH | BESIDE,
        clean_content_tags={"script", "style"},
        attributes={"*": ATTRIBUTES, **OF_TAGS},
        attribute_filter=_kept,
        filter_style_properties=pages.CSS,
        url_schemes={"http", "https", "data"},
        link_rel=None,
    )


def safe(markup: str) -> str:
    """The body of a page without anything that acts or is fetched from elsewhere."""
    return EMPTY_PICTURE.sub("", _cleaner().clean(markup))


def _clean(app: "Sphinx", name: str, template: str, context: dict, doctree: Any) -> None:
    if "body" in context:
        context["body"] = safe(context["body"])


def _draw(app: "Sphinx", name: str, template: str, context: dict, doctree: Any) -> None:
    """Names the scripts of charts on the pages that have them."""
    for script in scripts_of(context.get("body", "")):
        app.add_js_file(script, loading_method="defer")


def _plain_titles(app: "Sphinx", doctree: nodes.document) -> None:
    """HTML within a heading is shown as text: headings are repeated in lists of contents."""
    for raw in list(doctree.findall(nodes.raw)):
        if any(isinstance(above, nodes.title) for above in _above(raw)):
            raw.replace_self(nodes.Text(raw.astext()))


def _anchored_code(app: "Sphinx", doctree: nodes.document) -> None:
    """The code of a cell gets its anchor inside what is folded, so that a link to it unfolds it."""
    for cell in doctree.findall(nodes.container):
        anchor = cell.get("cell_metadata", {}).get("code_id")
        for part in cell.children if anchor else ():
            if part.get("nb_element") == "cell_code_source":
                part["ids"].append(anchor)


def _above(node: nodes.Node) -> list[nodes.Node]:
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def policy_of(page: str) -> str:
    """The policy of a page: the scripts that lie beside it, and those within it by their hash."""
    codes = [found["code"] for found in SCRIPT.finditer(page) if "src=" not in found["attributes"]]
    return " ".join([POLICY, *dict.fromkeys(map(_source, codes))])


def _source(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def with_policy(page: str) -> str:
    """A page of the theme with its policy as the first that a browser reads."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy_of(page)}" />'
    return re.sub(r"<head>", f"<head>\n    {meta}", page, count=1)


def with_names(page: str) -> str:
    """A page whose folded lists of pages have a name for readers of screens."""
    nameless = '<summary><span class="toctree-toggle"'
    return page.replace(nameless, nameless.replace("<summary>", '<summary aria-label="pages">'))


def _finish(app: "Sphinx", error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for path in Path(app.outdir).glob("*.html"):
            text = path.read_text(encoding="utf-8")
            path.write_text(with_policy(with_names(text)), encoding="utf-8", newline="\n")


def _docstring(
    app: "Sphinx", what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = as_rst(lines)


def _skipped(
    app: "Sphinx", what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Fields of a named tuple are left out: all that Python says of them is their number."""
    return True if str(thing.__doc__).startswith("Alias for field number") else None


# -- formulas --------------------------------------------------------------------------------------


def formula(tex: str, display: bool) -> str:
    """TeX as MathML, which browsers draw and readers of screens speak; as code where it fails."""
    try:
        made = tex2mathml(tex, as_block=display)
    except (MathError, SyntaxError, IndexError, KeyError):
        return f"<code>{escape(tex)}</code>"
    return made.replace("<math ", f'<math aria-label="{escape(tex)}" ', 1)


def _inline_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(formula(node.astext(), display=False))
    raise nodes.SkipNode


def _block_math(translator: Any, node: nodes.math_block) -> None:
    made = formula(node.astext(), display=True)
    translator.body.append(f'<div class="formula" tabindex="0">{made}</div>')
    raise nodes.SkipNode


# -- links to notebooks ----------------------------------------------------------------------------


class NotebookLinks(SphinxPostTransform):
    """Every "notebook 02" in the text leads to that notebook's page, where the run holds it."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        names = {name[:2]: name for name in self.env.found_docs if re.match(r"\d\d_", name)}
        closed = (nodes.reference, nodes.title, nodes.literal, nodes.literal_block, nodes.raw)
        for text in list(self.document.findall(nodes.Text)):
            if NOTEBOOK.search(text) and not any(isinstance(n, closed) for n in _above(text)):
                text.parent.replace(text, self._linked(str(text), names))

    def _linked(self, text: str, names: dict[str, str]) -> list[nodes.Node]:
        made: list[nodes.Node] = []
        end = 0
        for found in NOTEBOOK.finditer(text):
            name = names.get(found[1])
            if name is None or name == self.env.docname:
                continue
            link = nodes.reference("", found[0], refuri=f"{name}.html", internal=True)
            made += [nodes.Text(text[end : found.start()]), link]
            end = found.end()
        return [*made, nodes.Text(text[end:])]


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
    js_splitter_code = r"""
var splitQuery = (query) => {
  const close = "\\u3040-\\u30ff\\u3400-\\u9fff\\u3005";
  const runs = new RegExp(
    `[${close}]+|(?:(?![_${close}])[\\p{L}\\p{N}])(?:(?![${close}])[\\p{L}\\p{N}_])*`, "gu");
  const pieces = [];
  for (const run of query.normalize("NFKC").match(runs) || []) {
    if (run.length > 1 && new RegExp(`^[${close}]`, "u").test(run)) {
      for (let at = 0; at + 1 < run.length; at++) pieces.push(run.slice(at, at + 2));
    } else pieces.push(run);
  }
  return pieces;
};
"""

    def split(self, input: str) -> list[str]:
        return [*pieces(input), *re.findall(f"[{CLOSE}]", unicodedata.normalize("NFKC", input))]


# -- the extension ---------------------------------------------------------------------------------


def setup(app: "Sphinx") -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_search_language(Words)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.add_post_transform(NotebookLinks)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-skip-member", _skipped)
    app.connect("doctree-read", _plain_titles)
    app.connect("doctree-read", _anchored_code)
    app.connect("html-page-context", _clean, priority=900)
    app.connect("html-page-context", _draw, priority=950)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

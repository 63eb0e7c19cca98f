"""report.html: an executed notebook as one page that asks the network for nothing and runs no
script.
"""

import ast
import base64
import hashlib
import re
from collections.abc import Callable
from functools import cache, partial
from html import escape as quote
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import nh3
from bs4 import BeautifulSoup, NavigableString, Tag

from katayori import paths
from katayori.language import told
from katayori.report import first_page
from katayori.report.tables import SCROLLS, visible
from katayori.run_folders import noted
from katayori_tools import trace

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:"
POLICY += "; base-uri 'none'; form-action 'none'"
MEANING = {
    "live": "given by a real model asked from this machine, now or earlier; kept in the store",
    "imported": "brought in from a file; not checked by us",
    "recorded": "given by a real model, recorded earlier",
    "simulated": "made by a program with planted behaviour; no language model",
}
TEMPLATE, PAGE, STYLE, REPORT_STYLE = (
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("pages.html", "page.html", "page.css", "print.css")
)
#: Cells with one of these tags are folded: settings, and drawing that is longer than a call.
FOLDED = {"parameters", "injected-parameters", "hide-input"}
#: So are cells that call one of these: set-up, sliders, checks of exercises, the end of a run.
ASIDE = {"Run", "playground", "explorer", "check", "save"}
#: And cells that call these alone, and compute nothing beside.
SHOWING = {"display", "show", "show_text", "figure", "glossary", "print"}
COMPUTING = (ast.BinOp, ast.Compare, ast.comprehension, ast.For)
#: Cells for learners, and those that speak of recorded models.
LEFT_OUT = frozenset({"exercise", "recorded"})
#: What is shown of an output, the first that it has: none needs a script.
SHOWN = "text/html text/markdown image/svg+xml image/png image/jpeg text/plain".split()
CSS = {
    *"background-color color font-style font-weight padding text-align white-space width".split()
}
#: The box of a table with many rows (katayori.report.tables).
ROWS = "katayori-rows"
#: Kana and kanji; the signs around them.
KANA, SIGNS = "々-〇ぁ-ヿ㐀-䶿一-鿿ｦ-ﾟ", "\u3000-〿！-･"
#: Japanese within other text, digits and blanks between its words included.
RUN = re.compile(rf"([{SIGNS}]{{0,2}}[{KANA}](?:[{KANA}{SIGNS}\s\d.]*[{KANA}{SIGNS}])?)")
#: Elements that hold text and no other element.
PLAIN = ["title", "option", "textarea", "script", "style", "text"]
MAX_NAME = 40  # characters of a name in a figure


def write_report(ipynb_path: str | Path, html_path: str | Path) -> Path:
    """Writes the page and returns its path. The banner is read from provenance.json beside it.

    Code that only draws or shows is folded; a widget shows its picture; formulas become pictures;
    any HTML in outputs or text loses scripts, styles and remote resources, and the page's own
    policy forbids them once more. The notebook's folder is written `.`, so that no path of this
    machine shows.

    At its end stands which rows of results.json each result has, and the command that shows the raw
    answers behind them (`trace`).

    A report about a user's model (live or imported answers) begins with its first page and leaves
    out exercises and what speaks of recorded models.
    """
    ipynb_path, html_path = Path(ipynb_path), Path(html_path)
    notebook, folder = load(ipynb_path), ipynb_path.parent.absolute()
    heading = title(notebook) or ipynb_path.stem
    opening = in_language(banner(folder))
    if first_page.is_own(folder):
        notebook.cells = [cell for cell in notebook.cells if not LEFT_OUT & _tags(cell)]
        for cell in notebook.cells:
            cell.update({"outputs": shown(cell)} if "outputs" in cell else {})
    if first_page.has_page(folder):
        first = first_page.markup(folder, re.sub(r"^\d+ · ", "", heading))
        opening = visible(first) + opening
    body = render(notebook, folder)
    if not (folder / "skipped.json").exists():
        body += in_language(visible(trace.table(folder)))
    foot = in_language(f"<footer>{footer(folder)}</footer>")
    page = tree(f'<main>{opening}\n<nav class="contents"></nav>\n{body}</main>\n{foot}')
    nav: Any = page.find("nav", class_="contents")
    listed = ""
    for number, section in enumerate(nav.find_all_next("h2"), 1):
        section["id"] = f"section-{number}"
        listed += f'<li><a href="#section-{number}">{quote(words(section))}</a></li>'
    if listed:
        nav.append(tree(f"<h2>{told('Contents 目次')}</h2><ul>{listed}</ul>"))
    make_readable(page)
    whole = document(heading, str(page), style=REPORT_STYLE)
    html_path.write_text(whole, encoding="utf-8", errors="backslashreplace", newline="\n")
    return html_path


def in_language(markup: str) -> str:
    """Our own part of a page with its texts in the reader's language; code stays."""
    page = tree(markup)
    for text in page.find_all(string=True):
        if type(text) is NavigableString and not text.find_parent("code"):
            text.replace_with(told(str(text)))
    return str(page)


def load(ipynb_path: Path) -> Any:
    """An executed notebook, without paths of its parameters and the mechanics of a stop."""
    import nbformat

    notebook = nbformat.read(ipynb_path, as_version=4)
    for cell in map(without_paths, notebook.cells):
        # `Run.skip` shows its reason.
        if any(one.get("ename") == "SystemExit" for one in cell.get("outputs", [])):
            cell.outputs = [one for one in shown(cell) if one.output_type != "error"]
    return notebook


def title(notebook: Any) -> str:
    """The first heading, as it is written; empty if there is none."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return next((found[1] for text in texts if (found := re.match("# (.+)", text))), "")


def document(heading: str, content: str, *, policy: str = POLICY, style: str = "") -> str:
    """A whole page in one file: the policy, all styles and the font of its Japanese characters are
    inside.
    """
    from pygments import formatters

    style += formatters.HtmlFormatter(style="default").get_style_defs(".highlight")
    if font := base64.b64encode(font_of(content)).decode("ascii"):
        face = f"url(data:font/ttf;base64,{font})"
        style += f'@font-face {{ font-family: "KatayoriJP"; src: {face} }}'
    about = {"policy": policy, "title": quote(heading), "language": paths.language()}
    return PAGE.format(**about, style=STYLE + style, content=content)


def source(script: str) -> str:
    """What a policy lists to allow one script within the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def markdown(text: str, folder: Path) -> str:
    """Markdown as HTML that is still to be made `safe`.

    `folder` holds the pictures that the text may embed; others are dropped by `safe`.
    """
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    class Renderer(IPythonRenderer):
        def inline_math(self, body: str) -> str:
            return formula(body)

        def block_math(self, body: str) -> str:
            return f'<p class="formula">{formula(body)}</p>'

    renderer = Renderer(
        escape=False, embed_images=True, path=str(folder), exclude_anchor_links=True
    )
    return str(MarkdownWithMath(renderer=renderer).render(text))


def render(notebook: Any, folder: Path, template: str = TEMPLATE) -> str:
    """The cells as sanitised HTML in which no path of this machine shows."""
    from jinja2 import DictLoader
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    exporter = HTMLExporter(
        Config({"NbConvertBase": {"display_data_priority": SHOWN}}),
        extra_loaders=[DictLoader({"katayori.html.j2": template})],
        template_file="katayori.html.j2",
        sanitize_html=True,
        filters={
            "markdown2html": partial(markdown, folder=folder),
            "clean_html": safe,
            "shows_method": shows_method,
            "told": told,
        },
    )
    # Colour codes become HTML on the way; all other controls are spelt out.
    body = visible(exporter.from_notebook_node(notebook)[0])
    for path in (folder, folder.resolve()):
        body = body.replace(quote(str(path)), ".")
    return body


def shows_method(cell: Any) -> bool:
    """Whether a code cell computes something: it stays open on pages and in print.

    Folded are settings, set-up, sliders, checks of exercises, and cells that only draw or show.
    """
    if FOLDED & _tags(cell):
        return False
    try:
        nodes = [*ast.walk(ast.parse(cell.source))]
    except SyntaxError:  # a command of IPython's
        return True
    calls = {ast.unparse(one.func).rpartition(".")[2] for one in nodes if isinstance(one, ast.Call)}
    computes = not calls <= SHOWING or any(isinstance(one, COMPUTING) for one in nodes)
    return computes and not ASIDE & calls


#: Attributes that any element may have.
ANYWHERE = {
    *"alt class colspan height id lang rowspan style title width".split(),
    *"aria-hidden aria-label aria-labelledby role scope tabindex".split(),
}
#: How a value must begin: pictures lie in the page, links lead within it or to the web.
STARTS = {"src": ("data:image/",), "href": ("#", "https://", "http://")}


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute, None to remove it."""
    return value if name not in STARTS or value.startswith(STARTS[name]) else None


def safe(markup: Any, kept: Callable[[str, str, str], str | None] = _kept) -> str:
    """HTML of which nothing acts; `kept` is (tag, attribute, value) -> the value or None."""
    own = {"img": {"src"}, "a": {"href"}, "details": {"open"}, "ol": {"start"}}
    return nh3.clean(
        str(markup),
        tags=nh3.ALLOWED_TAGS | {"section", "tfoot"},
        clean_content_tags={"script", "style"},  # what they hold is no text; that of others stays
        attributes={"*": ANYWHERE, **own},
        attribute_filter=kept,
        filter_style_properties=CSS,
        url_schemes={"http", "https", "data"},
        link_rel=None,
    )


def drawable(name: object) -> str:
    """A name as a figure may draw it: short, and no formula.

    Example:
        >>> drawable("price $x$")
        'price \\\\$x\\\\$'
    """
    text = " ".join(visible(name).split())
    cut = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
    return cut.replace("\\", "∖").replace("$", r"\$")


def svg_of(figure: Any) -> str:
    """A figure as SVG that is the same at each making."""
    from matplotlib import rc_context

    drawn = StringIO()
    with rc_context({"svg.hashsalt": "katayori"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


@cache
def formula(tex: str) -> str:
    """TeX as an inline picture (matplotlib's mathtext), or as code where mathtext does not know a
    command.
    """
    from matplotlib import rc_context
    from matplotlib.mathtext import math_to_image

    tex, buffer = " ".join(tex.split()), BytesIO()
    try:
        with rc_context({"svg.hashsalt": "katayori", "mathtext.fontset": "cm", "font.size": 12}):
            math_to_image(f"${tex}$", buffer, format="svg")
    except ValueError:
        return f"<code>{quote(tex)}</code>"
    svg = re.sub(rb"(?s)<metadata>.*?</metadata>", b"", buffer.getvalue())  # it holds the date
    data = base64.b64encode(svg).decode("ascii")
    return f'<img class="formula" alt="{quote(tex)}" src="data:image/svg+xml;base64,{data}">'


def font_of(text: str) -> bytes:
    """A font of the Japanese characters of a text; nothing where there are none."""
    used = [c for c in sorted(set(text)) if "\u2e80" <= c <= "\uffef"]
    if not used:
        return b""
    import matplotlib_fontja
    from fontTools import subset

    options = subset.Options(layout_features=[], hinting=False, recalc_timestamp=False)
    path = next(Path(matplotlib_fontja.__file__).parent.rglob("ipaexg.ttf"))
    buffer, subsetter = BytesIO(), subset.Subsetter(options)
    subsetter.populate(text="".join(used))
    with subset.load_font(str(path), options) as font:
        subsetter.subset(font)
        subset.save_font(font, buffer, options)
    return buffer.getvalue()


def banner(folder: Path) -> str:
    """Where the answers of a run folder come from, or why it was skipped."""
    if skipped := noted(folder, "skipped.json"):
        reason = quote(skipped["reason"])
        return f'<div class="banner simulated"><strong>Skipped:</strong> {reason}</div>'
    counts = noted(folder, "provenance.json").get("answers", {})
    lines = [
        f'<div class="banner {one}"><strong>{counts[one]:,} {one} answers</strong>: {told}.</div>'
        for one, told in MEANING.items()
        if one in counts
    ]
    none = '<div class="banner">This page uses no answers of any model.</div>'
    return in_language("\n".join(lines) or none)


def footer(folder: Path) -> str:
    """When and from which commit a run folder was made."""
    about = noted(folder, "provenance.json")
    if not about:
        return ""
    origin = f" from commit {commit[:12]}" if (commit := about["git"]["commit"]) else ""
    return f"Made {about['date']}{origin}. See provenance.json."


# -- tables that keys can scroll, pictures that grow, Japanese marked as such ----------------------
# Beautiful Soup reads and writes the HTML, so that no pattern has to know what a tag is. Nothing
# here is a sanitiser.


def tree(markup: str) -> BeautifulSoup:
    """The elements of some HTML; as a text they are the HTML again."""
    return BeautifulSoup(markup, "html.parser", multi_valued_attributes=None)


def words(part: Tag) -> str:
    """The words of an element, a blank in place of each tag, blanks collapsed."""
    return " ".join(part.get_text(" ").split())


def readable(markup: str) -> str:
    """The HTML with tables that keys can scroll, pictures that grow, and `lang="ja"`.

    Cells of many characters get the class `long`.

    Args:
        markup: safe HTML.

    >>> readable("a<table></table>")
    'a<div aria-label="Table 1" class="scroll" role="region" tabindex="0"><table></table></div>'
    >>> readable('<img src="x"><h2>Summary 要約</h2>')
    '<img src="x" tabindex="0"/><h2>Summary <span lang="ja">要約</span></h2>'
    """
    page = tree(markup)
    make_readable(page)
    return str(page)


def make_readable(page: BeautifulSoup) -> None:
    """As `readable`, of what is read already."""
    # Each outermost table stands in a region that keys can scroll, of fixed height if long.
    outermost = (one for one in page.find_all("table") if not one.find_parent("table"))
    for number, table in enumerate(outermost, 1):
        name = (words(table.caption) if table.caption else "") or told(f"Table {number}")
        box = table.find_parent("div", class_=ROWS) or table.wrap(page.new_tag("div"))
        is_long = sum(row.td is not None for row in table.find_all("tr")) > SCROLLS
        box["class"] = f"scroll {ROWS}" if is_long else "scroll"
        box.attrs |= {"aria-label": name, "role": "region", "tabindex": "0"}
    for picture in page.find_all("img"):
        # A tap or a key chooses it, and the styles show what is chosen in its full size.
        if picture.get("class") != "formula" and not picture.find_parent("a"):
            picture["tabindex"] = "0"
    for cell in page.find_all("td"):
        if not cell.attrs and len(words(cell)) >= 40:  # it needs room
            cell["class"] = "long"
    for text in page.find_all(string=RUN):
        if type(text) is NavigableString and not (
            text.find_parent(PLAIN) or text.find_parent(lang="ja")
        ):
            parts = [
                page.new_tag("span", attrs={"lang": "ja"}, string=one) if n % 2 else one
                for n, one in enumerate(RUN.split(text))
            ]
            text.replace_with(*parts)


# -- cells -----------------------------------------------------------------------------------------


def _tags(cell: Any) -> set[str]:
    return {*cell.metadata.get("tags", [])}


def shown(cell: Any) -> list[Any]:
    """The outputs of a cell, without warnings."""
    return [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]


def without_paths(cell: Any) -> Any:
    """A cell of injected parameters without the folder of the run, and with the last part of a path
    alone, so that no path of this machine shows; others as they are.
    """
    if "injected-parameters" in _tags(cell):
        lines = [one for one in ast.parse(cell.source).body if isinstance(one, ast.Assign)]
        values = {ast.unparse(one.targets[0]): ast.literal_eval(one.value) for one in lines}
        values.pop("output_dir", None)
        cell.source = "\n".join(f"{name} = {_without_path(v)!r}" for name, v in values.items())
    return cell


def _without_path(value: Any) -> Any:
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value

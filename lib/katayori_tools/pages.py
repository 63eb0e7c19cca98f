"""report.html: an executed notebook as one page that asks the network for nothing and runs no
script.
"""

import ast
import base64
import hashlib
import re
from collections.abc import Callable, Set
from functools import cache
from html import escape as quote
from io import BytesIO, StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from katayori.report.tables import NOTHING, visible
from katayori_tools import first_page
from katayori_tools.markup import make_readable, tree, words
from katayori_tools.notebooks import noted

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:"
POLICY += "; base-uri 'none'; form-action 'none'"
MEANING = {
    "live": "given by a real model asked from this machine, now or earlier; kept in the store",
    "imported": "brought in from a file; not checked by us",
    "recorded": "given by a real model, recorded earlier",
    "simulated": "made by a program with planted behaviour; no language model",
}
TEMPLATE = """{% extends 'basic/index.html.j2' %}
{% block input_group %}{% if cell.source.strip() %}
{% set open = ' open' if cell | shows_method %}
<details class="code"{{ open }}><summary>code</summary>{{ super() }}</details>
{% endif %}{% endblock %}"""
STYLE, REPORT_STYLE = (Path(__file__).with_name(name) for name in ("page.css", "print.css"))
#: Cells with one of these tags are folded: settings, and drawing that is longer than a call.
FOLDED = {"parameters", "hide-input"}
#: So are cells that call one of these: set-up, sliders, checks of exercises, the end of a run.
ASIDE = {"Run", "playground", "explorer", "check", "save"}
#: And cells that call these alone, and compute nothing beside.
SHOWING = {"display", "show", "show_text", "figure", "glossary", "print"}
COMPUTING = (ast.BinOp, ast.Compare, ast.comprehension, ast.For)
#: Cells that speak of recorded models; a learner's paragraph in the first cell.
LEFT_OUT, GOALS = frozenset({"exercise", "recorded"}), "**You will learn**"
INJECTED, PARAMETERS = "injected-parameters", "parameters"
#: The markup of `nothing`, in the boxes that a notebook puts around it.
IS_NOTHING = re.compile(rf"\s*(<div[^>]*>\s*)*{re.escape(NOTHING)}")
HEADING = re.compile(r"(#{1,4}) .+")
NO_HEADING = 9  # deeper than any heading
#: A report of fewer sections needs no list of them.
FEWEST_SECTIONS = 3
TAGS = {f"h{level}" for level in range(1, 7)} | {
    *"a abbr b blockquote br caption cite code dd del details div dl dt em hr i img kbd li".split(),
    *"ol p pre small span strong sub summary sup table tbody td tfoot th thead tr u ul".split(),
}
#: What is shown of an output, the first that it has: none needs a script.
SHOWN = "text/html text/markdown image/svg+xml image/png image/jpeg text/plain".split()
CSS = {
    *"background-color color font-style font-weight padding text-align white-space width".split()
}


def write_report(ipynb_path: str | Path, html_path: str | Path) -> Path:
    """Writes the page and returns its path. The banner is read from provenance.json beside it.

    Code that only draws or shows is folded; a widget shows its picture; formulas become pictures;
    any HTML in outputs or text loses scripts, styles and remote resources, and the page's own
    policy forbids them once more. The injected parameters stand in the cell of parameters and the
    notebook's folder is written `.`, so that no path of this machine shows.

    A report about a user's model (live or imported answers) begins with its first page and leaves
    out exercises and what speaks of recorded models.
    """
    ipynb_path, html_path = Path(ipynb_path), Path(html_path)
    notebook, folder = load(ipynb_path), ipynb_path.parent.absolute()
    heading = title(notebook) or ipynb_path.stem
    opening = banner(folder)
    if first_page.is_own(folder):
        notebook.cells = without_the_lesson(notebook.cells)
    if first_page.has_page(folder):
        first = first_page.markup(folder, re.sub(r"^\d+ · ", "", heading))
        opening = visible(first) + opening
    body = render(notebook, folder)
    foot = f"<footer>{footer(folder)}</footer>"
    page = tree(f'<main>{opening}\n<nav class="contents"></nav>\n{body}</main>\n{foot}')
    _list_sections(page.find("nav", class_="contents"))
    make_readable(page)
    whole = document(heading, str(page), style=REPORT_STYLE.read_text(encoding="utf-8"))
    html_path.write_text(whole, encoding="utf-8", errors="backslashreplace", newline="\n")
    return html_path


def _list_sections(nav: Any) -> None:
    """Fills the list with links to the sections after it; it goes where they are few."""
    for number, heading in enumerate(nav.find_all_next(re.compile("^h[1-4]$")), 1):
        heading["id"] = f"section-{number}"
    sections = nav.find_all_next("h2")
    links = (f'<li><a href="#{one["id"]}">{quote(words(one))}</a></li>' for one in sections)
    if len(sections) < FEWEST_SECTIONS:
        nav.decompose()
    else:
        nav.append(tree(f"<h2>Contents 目次</h2><ul>{''.join(links)}</ul>"))


def load(ipynb_path: Path) -> Any:
    """An executed notebook with the parameters it was given, without the mechanics of a stop."""
    import nbformat

    notebook = nbformat.read(ipynb_path, as_version=4)
    notebook.cells = with_given_parameters(notebook.cells)
    for cell in notebook.cells:
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

    colours = formatters.HtmlFormatter(style="default")
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width"><title>{quote(heading)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}{style}{colours.get_style_defs(".highlight")}{_font(content)}</style></head><body>
{content}</body></html>
"""


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

    def to_html(text: str) -> str:
        return markdown(text, folder)

    exporter = HTMLExporter(
        Config({"NbConvertBase": {"display_data_priority": SHOWN}}),
        extra_loaders=[DictLoader({"katayori.html.j2": template})],
        template_file="katayori.html.j2",
        sanitize_html=True,
        filters={"markdown2html": to_html, "clean_html": safe, "shows_method": shows_method},
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
    if FOLDED & set(cell.metadata.get("tags", [])):
        return False
    try:
        nodes = [*ast.walk(ast.parse(cell.source))]
    except SyntaxError:  # a command of IPython's
        return True
    calls = {ast.unparse(one.func).rpartition(".")[2] for one in nodes if isinstance(one, ast.Call)}
    computes = not calls <= SHOWING or any(isinstance(one, COMPUTING) for one in nodes)
    return computes and not ASIDE & calls


#: Attributes that any element may have.
ANYWHERE = {"alt", "class", "colspan", "height", "id", "lang", "rowspan", "style", "title", "width"}
#: How the value of an attribute must begin.
STARTS = {"src": ("data:image/",), "href": ("#", "https://", "http://")}


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute, None to remove it.

    Pictures lie in the page, links lead within it or to the web.
    """
    return value if name not in STARTS or value.startswith(STARTS[name]) else None


def safe(
    markup: Any,
    tags: Set[str] = frozenset(),
    attributes: Set[str] = frozenset(),
    kept: Callable[[str, str, str], str | None] = _kept,
) -> str:
    """HTML of which nothing acts.

    Args:
        markup: any HTML. tags, attributes: that may stay beside ours.
        kept: (tag, attribute, value) -> the value, None to remove it.
    """
    import nh3

    own = {"img": {"src"}, "a": {"href"}, "details": {"open"}, "ol": {"start"}}
    return nh3.clean(
        str(markup),
        tags=TAGS | tags,
        clean_content_tags={"script", "style"},  # what they hold is no text; that of others stays
        attributes={"*": ANYWHERE | attributes, **own},
        attribute_filter=kept,
        filter_style_properties=CSS,
        url_schemes={"http", "https", "data"},
        link_rel=None,
    )


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


def _font(body: str) -> str:
    """The Japanese characters of the page as an embedded subset, for machines without a Japanese
    font.
    """
    data = base64.b64encode(font_of(body)).decode("ascii")
    face = f'@font-face {{ font-family: "KatayoriJP"; src: url(data:font/ttf;base64,{data}) }}'
    return face if data else ""


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
    return "\n".join(lines) or '<div class="banner">This page uses no answers of any model.</div>'


def footer(folder: Path) -> str:
    """When and from which commit a run folder was made."""
    about = noted(folder, "provenance.json")
    if not about:
        return ""
    origin = f" from commit {commit[:12]}" if (commit := about["git"]["commit"]) else ""
    made = f"Made {about['date']}{origin}. See provenance.json"
    return f"{made}; <code>make trace</code> prints the answers behind a number."


# -- what a report about a user's model leaves out -------------------------------------------------
# The notebook teaches the method on recorded models; such a report is about the user's. Warnings on
# stderr go, too (they stay in the executed notebook), sentences in the place of a table that this
# run cannot have, and what only introduced such things.


def without_the_lesson(cells: list[Any]) -> list[Any]:
    """The cells of a user's report, in order; the cells given stay as they are.

    A text and the code cells up to the next text belong together. Where all they would show is left
    out, they go; a heading stays as long as its section still holds something.
    """
    starts = [n for n, cell in enumerate(cells) if n == 0 or cell.cell_type == "markdown"]
    after: list[Any] = []
    for start, end in reversed([*pairwise([*starts, len(cells)])]):
        after = _with_heading(cells[start], _rest_of(cells[start:end]), after)
    return after


def _rest_of(group: list[Any]) -> list[Any]:
    """What is kept of a text and its code cells."""
    kept = [_filtered(cell) for cell in group if not LEFT_OUT & set(_tags(cell))]
    # Definitions that later cells need are code without a word for the reader.
    is_emptied = any(map(shown, group)) and not any(map(shown, kept))
    return [] if is_emptied else kept


def _with_heading(first: Any, kept: list[Any], after: list[Any]) -> list[Any]:
    """What is kept of a group, the cells after it, and its heading where the section goes on."""
    from nbformat.v4 import new_markdown_cell

    level = _level(first)
    lost = level < NO_HEADING and not (kept and kept[0].cell_type == "markdown")
    goes_on = bool(kept or (after and _level(after[0]) > level))
    opening = [new_markdown_cell(first.source.partition("\n")[0])] if lost and goes_on else []
    return [*opening, *kept, *after]


def _level(cell: Any) -> int:
    """The level of the heading that a cell opens with."""
    heading = HEADING.match(cell.source) if cell.cell_type == "markdown" else None
    return len(heading[1]) if heading else NO_HEADING


def _tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def shown(cell: Any) -> list[Any]:
    """The outputs of a cell, without warnings."""
    return [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]


def _filtered(cell: Any) -> Any:
    kept = cell.copy()
    if cell.cell_type == "code":
        kept.outputs = [one for one in shown(cell) if not _is_nothing(one)]
    else:
        paragraphs = cell.source.split("\n\n")
        kept.source = "\n\n".join(p for p in paragraphs if not p.startswith(GOALS))
    return kept


def _is_nothing(output: Any) -> bool:
    return bool(IS_NOTHING.match("".join(output.get("data", {}).get("text/html", ""))))


def with_given_parameters(cells: list[Any]) -> list[Any]:
    """The cells without the injected ones, whose values stand in the cell of parameters instead.

    The folder of the run is not among them, and of a path only its last part, so that no path of
    this machine shows.
    """
    injected = "\n".join(cell.source for cell in cells if INJECTED in _tags(cell))
    lines = [line for line in ast.parse(injected).body if isinstance(line, ast.Assign)]
    values = {ast.unparse(line.targets[0]): ast.literal_eval(line.value) for line in lines}
    given = {name: _without_path(one) for name, one in values.items() if name != "output_dir"}
    # `name: type = value  # comment`
    setting = re.compile(rf"(?m)^(({'|'.join(given) or '(?!)'}):.*? = ).*?(\s\s# .*)?$")
    kept = [cell.copy() for cell in cells if INJECTED not in _tags(cell)]
    for cell in kept:
        if PARAMETERS in _tags(cell):
            cell.source = setting.sub(lambda m: f"{m[1]}{given[m[2]]!r}{m[3] or ''}", cell.source)
    return kept


def _without_path(value: Any) -> Any:
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value

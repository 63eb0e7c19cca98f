"""`make site`: the executed notebooks of a run as pages that need neither a server nor the network.

Every page is one file with its styles, pictures and font inside. Nothing runs but the script of the
search page, whose policy names it by hash; a widget shows the table or picture it holds. What a
page says we found is computed from results.json when it is made; the words around the numbers stand
under `page` in data/papers/<id>.yaml.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths, profiles
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.report import overview
from katayori.report.results import read_results
from katayori.report.tables import escape, visible
from katayori_tools import notebooks, pages
from katayori_tools.markup import alternative, caption, rewritten, sections

if TYPE_CHECKING:
    import pandas as pd

ASKED = ("recorded", "live", "imported")
TINY = 1e-9  # an interval that ends where the reference lies is on neither side of it
FILES = ("site.css", "site.js", "site_index.html", "site_paper.html")
STYLE, SCRIPT, INTRO, PAPER = (Path(__file__).with_name(name) for name in FILES)
# The search form of every page leads to the search page beside it, which is no `self` when pages
# are files.
POLICY = pages.POLICY.replace("form-action 'none'", "form-action 'self' file:")
TEMPLATE = """{% extends 'basic/index.html.j2' %}
{% block input_group %}{% if cell.source.strip() %}
<details class="code"><summary>code</summary><div id="code-{{ cell.id }}">{{ super()
}}</div></details>{% endif %}
{% endblock %}
{% block output %}{% set made = (output.metadata or {}).katayori %}
{% if made %}<div class="made" id="{{ made.id }}">{{ super() }}
<p class="origin"><a href="#{{ made.id }}">{{ made.label }}</a> ·
 <a href="#code-{{ cell.id }}">the cell that made it</a></p>
</div>{% else %}{{ super() }}{% endif %}{% endblock %}"""
HEADLINE = "Model,Paper and measure,Level,Value,95 % interval,Blank,Detects,n,Invalid,Source"


@dataclass
class Book:
    """One notebook of the run: where it lies, what it became, and where to find things in it."""

    paper: str
    folder: Path
    file: str  # the page of the notebook
    notebook: Any
    body: str = ""
    sections: list[tuple[int, str, str, str]] = field(
        default_factory=list
    )  # level, anchor, heading, text
    made: list[dict[str, str]] = field(
        default_factory=list
    )  # figures and tables: id, label, about, cell, picture

    def cell_of(self, pattern: str) -> str:
        """A link's end (page#anchor) at the first cell of code in which the pattern is found; the
        page if in none.
        """
        cells = (
            c["id"]
            for c in self.notebook.cells
            if c.cell_type == "code" and re.search(pattern, c.source)
        )
        return next((f"{self.file}#code-{one}" for one in cells), self.file)


def table(heads: str, rows: Iterable[list[str]], caption: str) -> str:
    """HTML of a table; the cells are HTML already, the heads are names between commas."""
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    head = "".join(f"<th>{name}</th>" for name in heads.split(","))
    kind = ' class="values"' if heads.endswith("Source") else ""
    top = f"<caption>{caption}</caption><thead><tr>{head}</tr></thead>"
    return f"<table{kind}>{top}<tbody>{''.join(lines)}</tbody></table>"


def _number(book: Book) -> None:
    """Gives every figure and table of a notebook a name (figure-1, table-1, ...) that its template
    can see.
    """
    counts: Counter[str] = Counter()
    for n, cell in enumerate(book.notebook.cells):
        cell["id"] = re.sub(r"[^\w-]", "", cell.get("id", "")) or f"cell-{n}"
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            html, picture = str(data.get("text/html", "")), data.get("image/png", "")
            alt, told = alternative(html), caption(html)
            if alt is not None or (picture and not html):
                kind = "figure"
            elif told is not None:
                kind, alt = "table", told
            else:
                continue
            counts[kind] += 1
            about = output.metadata.get("image/png", {}).get("alt") or alt or ""
            label = f"{kind.capitalize()} {counts[kind]}"
            named = {
                "id": f"{kind}-{counts[kind]}",
                "label": label,
                "about": about,
                "cell": cell["id"],
            }
            output.metadata["katayori"] = named
            book.made.append(named | {"picture": "".join(picture)})
            if picture:  # a picture without words is still named by its number
                output.metadata.setdefault("image/png", {}).setdefault("alt", about or label)


def read_book(paper: str, folder: Path, path: Path) -> Book:
    """The notebook of a run folder as HTML, with its headings, figures and tables found and
    named.
    """
    book = Book(paper, folder, f"{path.stem}.html", pages.load(path))
    _number(book)
    pieces: list[str] = []
    book.body = pages.render(book.notebook, folder.absolute(), TEMPLATE, pieces)
    named = sections("".join(pieces))
    book.sections = [one for one in named if one[1].startswith("section-")]
    return book


def _value(row: dict[str, Any]) -> list[str]:
    """Value, interval, blank, limit of detection, n, invalid and source of a result row or of a row
    of the bias profile, as cells.
    """
    value, low, high = row["value"], row["ci_low"], row["ci_high"]
    whole = value is not None and low is None and value == int(value)
    told = (
        f"— ({escape(row['status'])})"
        if value is None
        else f"{value:.0f}"
        if whole
        else f"{value:z.3f}"
    )
    counts = ["—" if row[c] is None else f"{row[c]:,.0f}" for c in ("n", "n_invalid")]
    sizes = ["—" if row.get(c) is None else f"{row[c]:.4f}" for c in ("blank", "detects")]
    return [
        told,
        "—" if low is None else f"{low:z.3f} to {high:z.3f}",
        *sizes,
        *counts,
        _source(row["source"]),
    ]


def _source(source: str | None) -> str:
    return f'<span class="source {source}">{source}</span>' if source else "—"


class Span(tuple):
    """The smallest and largest of some values, written as one where they look the same."""

    def __format__(self, spec: str) -> str:
        return " to ".join(dict.fromkeys(format(value, spec) for value in (min(self), max(self))))


def _plain(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Rows as dicts in which whatever is undefined is None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def found(finding: dict[str, Any], rows: list[dict[str, Any]], book: Book) -> str:
    """What one entry of a paper's `found` says of this run's results, with the rows it rests on
    folded below.

    Models that were really asked speak; only where there are none, simulated respondents do, and
    the text says so.
    """
    where, reference = finding.get("where", {}), float(Fraction(str(finding.get("reference", 0))))
    rows = [
        r
        for r in rows
        if r["what"] == finding["what"] and where.items() <= r["cell"].items() and not r["verdict"]
    ]
    chosen = [r for r in rows if r["source"] in ASKED] or [
        r for r in rows if r["source"] == "simulated"
    ]
    known = [r for r in chosen if r["value"] is not None]
    if not known:
        return f"<li>This run holds no value of <em>{escape(finding['what'])}</em>.</li>"
    values, n = [r["value"] for r in known], [r["n"] for r in known if r["n"] is not None]
    lows, highs = ([r[end] for r in known if r[end] is not None] for end in ("ci_low", "ci_high"))
    told = finding["says"].format(
        rows=len(known),
        span=Span(values),
        nonzero=sum(value != 0 for value in values),
        intervals=len(lows),
        below=sum(high < reference - TINY for high in highs),
        above=sum(low > reference + TINY for low in lows),
    )
    sources = " ".join(_source(source) for source in dict.fromkeys(r["source"] for r in known))
    size = f"n = {Span(n):,.0f}" if n else "n not given"
    models = ", ".join(sorted({r["model"] for r in known if r["model"]}))
    levels = [
        escape(", ".join(str(v) for k, v in r["cell"].items() if k not in where) or "—")
        for r in chosen
    ]
    lines = [
        [escape(r["model"] or "—"), level, *_value(r)]
        for r, level in zip(chosen, levels, strict=True)
    ]
    shown = table(
        "Model,Level,Value,95 % interval,Blank,Detects,n,Invalid,Source",
        lines,
        escape(finding["what"]),
    )
    origin = book.cell_of(f'"{re.escape(known[0]["requirement"])}"')
    told = f"{sources} {escape(told)} <small>({escape(models)}; {size}; "
    told += f'<a href="{origin}">the cell that made it</a>)</small>'
    return f"<li>{told}<details><summary>values: {len(lines)}</summary>{shown}</details></li>"


def _differs(rows: list[dict[str, Any]]) -> str:
    """The paper's claims as checked in this run, and how our values beside published ones are
    judged.
    """
    claims = {r["what"] for r in rows if r["source"] == "published" and r["verdict"]}
    verdicts: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["what"] in claims and row["verdict"]:
            side = "published" if row["source"] == "published" else "ours"
            told = escape(row["verdict"]) + (f" ({row['source']})" if side == "ours" else "")
            verdicts.setdefault(row["what"], {})[side] = told
    lines = [
        [escape(what), by["published"], by.get("ours", "—")]
        for what, by in sorted(verdicts.items())
    ]
    out = (
        table("Claim,On the printed figures,On our answers", lines, "The paper's claims as checks")
        if lines
        else ""
    )
    beside = Counter(r["verdict"] or "no verdict" for r in rows if r["published"] is not None)
    listed = "; ".join(f"{count:,} × {escape(verdict)}" for verdict, count in beside.most_common())
    return out + (
        f"<p>Values of ours that stand beside a published one: {listed}.</p>" if beside else ""
    )


def paper_page(
    about: dict[str, Any], book: Book | None, rows: list[dict[str, Any]], missing: str
) -> str:
    """The page of a paper for people who only read."""
    from jinja2 import Environment

    page = about["page"]
    more: dict[str, Any] = {"missing": missing, "differs": _differs(rows)}
    if book:
        _, _, cell = book.cell_of(rf'figure\(f?"{re.escape(page["figure"])}"').partition("#code-")
        drawn = [made for made in book.made if made["picture"] and made["cell"] == cell]
        more |= {
            "made": next(iter(drawn), None),
            "found": "".join(found(one, rows, book) for one in page["found"]),
        }
    template = Environment(autoescape=True).from_string(PAPER.read_text(encoding="utf-8"))
    return visible(template.render(about=about, page=page, book=book, **more))


def index_page(
    papers: list[dict], books: dict[str, Book], absent: dict[str, str], base: Path
) -> str:
    """What this is, the papers with their state in this run, and the headline of every model with
    source and n.
    """
    lines = []
    for about in papers:
        name, book = about["id"], books.get(about["id"])
        answers = pages.read(book.folder / "provenance.json").get("answers", {}) if book else {}
        state = ", ".join(f"{n:,} {source} answers" for source, n in answers.items()) or "run"
        link = f'<a href="{name}.html">{escape(about["page"]["title"])}</a>'
        made = f'<a href="{book.file}">{about["notebook"]}</a>' if book else about["notebook"]
        lines.append(
            [link, escape(about["asks"]), made, escape(absent[name] if book is None else state)]
        )
    shown = overview.bias_profile(base)
    if shown.empty:  # nobody was asked: the respondents we made stand in, labelled as such
        rows = read_results(base)
        shown = overview.bias_profile(
            base, sorted(rows.loc[rows["source"] == "simulated", "model"].dropna().unique())
        )
    shown["link"] = [f'<a href="{paper}.html#found">{paper}</a>: ' for paper in shown["paper"]]
    cells = [
        (r, [r["link"] + escape(r["measure"]), escape(r["level"] or "—")]) for r in _plain(shown)
    ]
    heads = [[escape(r["model"]), *told, *_value(r)] for r, told in cells]
    caption = "The headline of every model, by paper; a dash says why there is no value"
    out = [INTRO.read_text(encoding="utf-8"), '<h2 id="papers">Papers</h2>']
    out += [
        table(
            "Paper,Asks,Notebook,State in this run",
            lines,
            f"The papers, run “{escape(base.name)}”",
        )
    ]
    out += ['<h2 id="headline">Headline results</h2>', table(HEADLINE, heads, caption)]
    return "\n".join(out)


def _shell(
    heading: str, main: str, here: str, books: dict[str, Book], papers: list[dict], **more: Any
) -> str:
    """A page with the navigation that all pages share; `aside` lists its sections, `foot` goes
    below.
    """
    entries = [("index.html", "Home")] + [(f"{p['id']}.html", p["id"]) for p in papers]
    entries += [(book.file, f"notebook {book.file[:2]}") for book in books.values()]
    marks = {here: ' aria-current="page"'}
    links = "".join(f'<a href="{file}"{marks.get(file, "")}>{label}</a>' for file, label in entries)
    form = '<form action="search.html" role="search">'
    form += '<input name="q" type="search" aria-label="Search 検索"><button>Search</button></form>'
    kind = ' class="wide"' if more.get("aside") else ""
    content = f'<header><nav aria-label="Site">{links}</nav>{form}</header>'
    content += f"<div{kind}>{more.get('aside', '')}"
    content += (
        f"<main>{main}</main></div><footer>{more.get('foot', '')}</footer>{more.get('script', '')}"
    )
    style, policy = STYLE.read_text(encoding="utf-8"), more.get("policy", POLICY)
    return pages.document(f"{heading} · Katayori", content, policy=policy, style=style)


def _linked(body: str, books: dict[str, Book]) -> str:
    """The notebook's text with every "notebook 02" outside tags and links leading to that
    notebook's page.
    """
    files = {book.file[:2]: book.file for book in books.values()}

    def link(match: re.Match) -> str:
        return f'<a href="{files[match[1]]}">{match[0]}</a>' if match[1] in files else match[0]

    def linked(text: str) -> str:
        return re.sub(r"\b[Nn]otebook (\d\d)\b", link, text)

    return rewritten(body, linked, outside=["a"])


def _profile(name: str) -> dict[str, Any]:
    """A profile by name or file; of a user's own, whose file need not be named again, the
    folder.
    """
    if name in profiles.shipped() or Path(name).is_file():
        return profiles.load(name)
    return {"name": name, "answers": "live"}  # its runs may lie in folders of models


def write_site(profile: str, models: Sequence[str] = ()) -> Path:
    """Writes the pages to `site` in a run's folder, in place of an older site; returns the index.

    KatayoriError where no notebook has been run, and where it is not plain which run is meant.
    """
    chosen = _profile(profile)
    base, books, absent = paths.only_run(chosen, models, paths.run_label()), {}, {}
    again = f"PROFILE={profile}" + (f" MODELS='{' '.join(models)}'" if models else "")
    for paper, source in notebooks.registry().items():
        folder = base / paper
        absent[paper] = f"Not run here yet: make reproduce PAPERS={paper} {again}."
        if skipped := pages.read(folder / "skipped.json"):
            absent[paper] = f"Skipped: {skipped['reason']}"
        elif (folder / source.name).is_file():
            books[paper] = read_book(paper, folder, folder / source.name)
    if not books:
        raise KatayoriError(
            f"no notebook of the profile '{profile}' has been run: make reproduce {again}"
        )
    papers = paper_facts.every()
    results = {paper: _plain(read_results(book.folder)) for paper, book in books.items()}
    site, entries = {}, []

    for name, book in books.items():
        heads = [(at, escape(text)) for level, at, text, _ in book.sections if level < 3]
        items = {at: f'<li><a href="#{at}">{text}</a></li>' for at, text in heads}
        for made in book.made:
            link = f'<a href="#{made["id"]}">{made["label"]}</a> {escape(made["about"][:90])}'
            items[made["id"]] = f'<li class="made">{link}</li>'
        links = [
            items.get(at, "")
            for at in re.findall(r'id="((?:section|figure|table)-\d+)"', book.body)
        ]
        own = (
            f'<p><a href="{name}.html">The page to read</a></p>'
            if any(p["id"] == name for p in papers)
            else ""
        )
        aside = f'<aside><nav aria-label="Sections">{own}<ol>{"".join(links)}</ol></nav></aside>'
        main = pages.banner(book.folder) + _linked(book.body, books)
        heading, foot = pages.title(book.notebook) or book.file, pages.footer(book.folder)
        site[book.file] = _shell(heading, main, book.file, books, papers, aside=aside, foot=foot)
        entries += [
            [book.file, anchor, heading, text, more] for _, anchor, text, more in book.sections
        ]
        entries += [[book.file, m["id"], heading, m["label"], m["about"]] for m in book.made]
    for about in papers:
        name = about["id"]
        main = paper_page(about, books.get(name), results.get(name, []), absent[name])
        banner = pages.banner(base / name) if name in books else ""
        foot = pages.footer(base / name) if name in books else ""
        site[f"{name}.html"] = _shell(
            about["page"]["title"], banner + main, f"{name}.html", books, papers, foot=foot
        )
        for _, anchor, heading, text in sections(main, without=["details", "table"]):
            text = f"{text} {about['page']['ja']}" if anchor == "question" else text
            entries.append([f"{name}.html", anchor, about["page"]["title"], heading, text])
    told = index_page(papers, books, absent, base)
    site["index.html"] = _shell(f"run “{base.name}”", told, "index.html", books, papers)
    site["search.html"] = _search(entries, books, papers)

    final, work = base / "site", base / ".site"  # a hidden folder until all pages are there
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name, text in site.items():
        (work / name).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    shutil.rmtree(final, ignore_errors=True)
    work.rename(final)
    return final / "index.html"


def _running(script: Path, name: str, data: Any) -> dict[str, str]:
    """What a page needs to run one script of ours: its policy, and the script below its data."""
    text = script.read_text(encoding="utf-8")
    data = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    both = f'<script type="application/json" id="{name}">{data}</script><script>{text}</script>'
    return {"policy": f"{POLICY}; script-src {pages.source(text)}", "script": both}


def _search(entries: list[list[str]], books: dict[str, Book], papers: list[dict]) -> str:
    """The search page: the index as data, and the script that reads it."""
    about = "Sections, figures and tables of all pages; all words must occur."
    main = f"<h1>Search 検索</h1><p id='state'>{about}</p>"
    more = _running(SCRIPT, "entries", entries)
    return _shell("Search", f'{main}<ol id="results"></ol>', "search.html", books, papers, **more)


def site(*, profile: str = "recorded", models: str = "") -> None:
    """Writes the site of a run and prints where it begins."""
    print(f"open {write_site(profile, notebooks.names(models))}")

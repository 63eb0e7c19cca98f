"""`make site`: a run as pages that need neither a server nor the network.

Sphinx makes them, with myst-nb and the theme of PyData, from texts in lib/pages, the executed
notebooks of the run, and pages that are computed from its results. A computed page is a notebook of
texts and outputs, so that nothing of a run can break out of its place. Settings are in
lib/pages/conf.py, what we add to Sphinx in `site_sphinx`.

A playground shows what a notebook's own `playground(sliders, draw)` cell shows: all states are
computed by `draw` while the pages are made and kept as a script beside them; `playground.js` picks
one by the sliders. The cell is the repository's own, never that of a run folder, which may come
from elsewhere.
"""

import ast
import base64
import json
import os
import re
import shutil
import subprocess
import symtable
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import product
from math import prod
from multiprocessing import get_context
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest.mock import patch

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from katayori import paths, profiles, run_folders
from katayori.errors import KatayoriError
from katayori.language import told
from katayori.papers import paper_ids
from katayori.report import explorers
from katayori.report.first_page import LIMIT_NOTE
from katayori.report.headlines import read_results, side_by_side
from katayori.report.tables import escape, show, terms, visible
from katayori_tools import compare, notebooks, pages, paper_files

if TYPE_CHECKING:
    import pandas as pd

#: Where the texts of the pages, their settings and their styles lie.
TEXTS = paths.root() / "lib" / "pages"
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<to>[^)\s]+)\)")
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$)", re.M | re.S)
#: Texts that lie elsewhere in the repository, by the names of their pages.
ELSEWHERE = {
    "teaching-plan": "notebooks/teaching-plan.md",
    "collecting": "lib/COLLECTING.md",
    "study-sets": "data/study/README.md",
    "topic-files": "data/study/*/README.md",
    "recorded-answers": "data/recorded/README.md",
    "changelog": "lib/CHANGELOG.md",
    "contributing": ".github/CONTRIBUTING.md",
}
#: Columns of a table of values.
VALUES = ["paper", "measure", "means", "name", "run", "source", "shown", "verdict"]
VALUES += ["control", "limit", "n", "n_invalid", "clusters", "prompt_id"]
HEADS = {"shown": "value [95 % interval]", "name": "model", "prompt_id": "prompt"}
#: Name of a slider -> its lowest value, highest value, step and start.
Sliders: TypeAlias = Mapping[str, tuple[float, float, float, float]]
CALL = "\nplayground("
#: States of one playground: so that each slider has its ends, and so that it has more than these.
MOST, ENOUGH = 200, 60
HEADING = re.compile(r"^(#{1,4} .+)$", re.M)

# -- sources ---------------------------------------------------------------------------------------


def texts(folder: Path, books: Iterable[str]) -> dict[str, str]:
    """Our own texts, with links to files of the repository as links between pages.

    Args:
        folder: of the sources, which pictures are copied to. books: file names of the notebooks
            that the run holds.
    """
    files = {path.stem: path for path in TEXTS.glob("*.md")}
    files |= {name: next(paths.root().glob(file)) for name, file in ELSEWHERE.items()}
    targets = {_normal(path): f"{name}.md" for name, path in files.items()}
    targets |= {_normal(paths.root() / "notebooks" / name): name for name in books}
    return {name: led(path, targets, folder) for name, path in files.items()}


def _normal(path: Path) -> Path:
    """The path without `..`; links in the file system, such as a data folder's, are kept."""
    return Path(os.path.normpath(path.absolute()))


def led(path: Path, targets: Mapping[Path, str], folder: Path) -> str:
    """A text with its links led to pages; what is no page is named by its path."""

    def one(found: re.Match[str]) -> str:
        to, hash_, place = found["to"].partition("#")
        if "://" in to or not to or to.startswith("mailto:"):
            return found[0]
        target = _normal(path.parent / to)
        if found["picture"]:
            (folder / "pictures").mkdir(parents=True, exist_ok=True)
            own = target.with_suffix(f".{paths.language()}{target.suffix}")
            picture = own if own.is_file() else target
            shutil.copy(picture, folder / "pictures" / target.name)
            return f"![{found['text']}](pictures/{target.name})"
        if target in targets:
            return f"[{found['text']}]({targets[target]}{hash_}{place})"
        name = Path(os.path.relpath(target, paths.root())).as_posix()
        is_named = name.endswith(found["text"].strip("`"))
        return f"`{name}`" if is_named else f"{found['text']} (`{name}`)"

    pieces = FENCE.split(path.read_text(encoding="utf-8"))  # every second one is code
    return "".join(piece if n % 2 else LINK.sub(one, piece) for n, piece in enumerate(pieces))


# -- parts of pages --------------------------------------------------------------------------------


def html(markup: str) -> Any:
    """A cell that shows HTML and no code."""
    output = new_output("display_data", data={"text/html": markup})
    return new_code_cell("0", outputs=[output], metadata={"tags": ["remove-input"]})


def page(cells: Iterable[Any]) -> str:
    """A page as the source of a notebook."""
    metadata = {"language_info": {"name": "python"}}
    return json.dumps(new_notebook(cells=list(cells), metadata=metadata), ensure_ascii=False)


def bare(words: str) -> str:
    """Words in which nothing is markup of MyST: any sign means itself behind a backslash."""
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", words)


def listed(lines: Iterable[str], mark: str = "-") -> str:
    """A list in Markdown."""
    return "\n".join(f"{mark} {line}" for line in lines)


# -- a notebook ------------------------------------------------------------------------------------


def notebook_page(paper: str, executed: Path) -> str:
    """An executed notebook, with the origin of its answers under the title; its playground answers
    by a script.
    """
    folder = executed.parent.absolute()
    notebook = pages.load(executed)
    cells: list[Any] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cells += _texts(visible(cell.source), folder)
        elif cell.cell_type == "code" and cell.source.strip():
            folded = [] if pages.shows_method(cell) else ["hide-input"]
            outputs = [_output(one, folder) for one in cell.outputs]
            if CALL in cell.source:
                # The state in which the sliders start stands there until the script runs.
                start = "".join(one.get("data", {}).get("text/html", "") for one in outputs)
                markup = f'<div class="playground" id="playground-{paper}">{start}</div>'
                outputs = html(markup).outputs
            known = (one.get("metadata", {}).get("image/png") for one in cell.outputs)
            about: dict[str, Any] = next(filter(None, known), {})
            image = {
                "alt": about.get("alt") or told("Figure"),
                "width": f"{about.get('width', 614)}px",
            }
            metadata = {"tags": folded, "mystnb": {"image": image}}
            cells.append(new_code_cell(visible(cell.source), outputs=outputs, metadata=metadata))
    cells.insert(1, html(pages.banner(folder)))
    foot = pages.footer(folder), f"Its tables, figures and results lie in the folder {paper}."
    whole = page([*cells, html(f'<p class="foot">{escape(" ".join(map(told, foot)))}</p>')])
    return whole.replace(str(folder), ".")


def missing_page(source: Path, why: str) -> str:
    """Stands where a notebook of the repository has not been run, so that links lead somewhere."""
    heading = pages.title(nbformat.reads(notebooks.in_language(source), as_version=4))
    return page([new_markdown_cell(f"# {bare(heading)}"), missing(why)])


def missing(why: str) -> Any:
    """Why nothing is shown, in the reader's language."""
    return html(pages.in_language(f'<p class="missing">{escape(why)}</p>'))


def _texts(source: str, folder: Path) -> Iterator[Any]:
    """Headings as Sphinx lists them, the rest as HTML: no directive of a run is followed."""
    for piece in HEADING.split(source):
        if HEADING.fullmatch(piece):
            marks, _, words = piece.partition(" ")
            yield new_markdown_cell(f"{marks} {bare(words)}")
        elif piece.strip():
            yield html(pages.markdown(piece, folder))


def _output(output: Any, folder: Path) -> Any:
    """An output as HTML where it has any; a widget shows what stands in for it."""
    data = output.get("data", {})
    markup = "".join(data.get("text/html", ""))
    if "text/markdown" in data and not markup:
        markup = pages.markdown("".join(data["text/markdown"]), folder)
    return new_output("display_data", data={"text/html": markup}) if markup else output


# -- a paper ---------------------------------------------------------------------------------------


def paper_page(about: dict[str, Any], folder: Path, absent: str) -> str:
    """A paper for people who only read.

    Args:
        about: of `paper_files`. folder: of its run. absent: why there is no run.
    """
    words = about["page"]
    lists = {name: listed(words[name]) for name in ("cannot_see", "differs")}
    lists["method"] = listed(words["method"], "1.")
    text = Path(__file__).with_name("paper_page.txt").read_text(encoding="utf-8")
    parts = text.format(**{**about, **words, **lists}).split("\n---\n")
    opening, first, rest = map(new_markdown_cell, parts)
    cells = [opening, html(f'<p lang="ja">{escape(words["ja"])}</p>')]
    if absent:
        return page([*cells, first, missing(absent), rest])
    picture = folder / "figures" / f"{words['figure']}.png"
    if picture.is_file():
        data = base64.b64encode(picture.read_bytes()).decode()
        alt = f'alt="{escape(told(words["title"]))}" width="614"'
        cells.append(html(f'<img {alt} src="data:image/png;base64,{data}">'))
    found = side_by_side([("", read_results(folder))])
    table = _values(found.drop(columns="paper", errors="ignore"))
    return page([*cells, html(pages.banner(folder)), first, table, rest])


# -- models and terms ------------------------------------------------------------------------------


def models_page(frame: "pd.DataFrame") -> str:
    """Any number of models over the headlines.

    Args:
        frame: of `side_by_side`; empty where no model has a headline.
    """
    opening = Path(__file__).with_name("models_page.txt").read_text(encoding="utf-8")
    return page([new_markdown_cell(opening.format(limit=LIMIT_NOTE)), _values(frame)])


def _values(frame: "pd.DataFrame") -> Any:
    """Headlines of `side_by_side` as a table, without columns that hold nothing."""
    if frame.empty:
        return missing("No model to show.")
    known = frame.replace("", None).dropna(axis="columns", how="all")
    columns = [one for one in VALUES if one in known]
    table = show(frame, 4, "Headlines", columns=columns, names=HEADS)
    return html(f'<div class="whole">{table._repr_html_()}</div>')


def glossary_page(terms: "pd.DataFrame") -> str:
    """The terms of `tables.terms`, each an entry of the index by its names, which the search finds
    first, with what computes it.
    """
    opening = told("# Glossary 用語集\n\nOne term, one meaning, everywhere.")
    lines = [opening, "\n```{glossary}\n:sorted:\n"]
    for row in terms.fillna("").to_dict("records"):
        see = f" (`{row['see']}`)" if row["see"] else ""
        names = [row["term"], row["ja"], *row["also"]]
        lines += [*map(bare, names), f"  {bare(told(row['meaning']))}{see}", ""]
    return page([new_markdown_cell("\n".join([*lines, "```"]))])


# -- playgrounds -----------------------------------------------------------------------------------


def sliced(cells: Sequence[str]) -> str:
    """The statements of the last cell, and those before it which it needs, as one program.

    Example:
        >>> sliced(["a = 1; b = 2", "def f():\\n    return a", "print(f())"])
        'a = 1\\ndef f():\\n    return a\\nprint(f())'
    """
    *before, last = ([ast.unparse(one) for one in ast.parse(cell).body] for cell in cells)
    kept = list(last)
    needed = {name for one in kept for name in _names(one)[0]}
    for one in reversed([one for cell in before for one in cell]):
        read, bound = _names(one)
        if bound & needed:
            kept.insert(0, one)
            needed = needed - bound | read
    return "\n".join(kept)


def _names(statement: str) -> tuple[set[str], set[str]]:
    """The names that a statement reads from outside of it, and those that it binds."""
    whole = symtable.symtable(statement, "cell", "exec")
    own = whole.get_symbols()
    bound = {one.get_name() for one in own if one.is_assigned() or one.is_imported()}
    read = {one.get_name() for one in own if one.is_referenced()}
    inner = list(whole.get_children())
    while inner:
        scope = inner.pop()
        read |= {one.get_name() for one in scope.get_symbols() if one.is_global()}
        inner += scope.get_children()
    return read, bound


def program(notebook: Path) -> str:
    """The program of a notebook's playground; empty where it has none."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
    ends = [place for place, source in enumerate(sources, 1) if CALL in source]
    return sliced(sources[: ends[0]]) if ends else ""


def grid(sliders: Sliders, most: int = MOST) -> dict[str, list[float]]:
    """Values of each slider, start and ends first, whose combinations are at most so many.

    Example:
        >>> grid({"a": (0, 10, 1, 3), "b": (0.0, 1.0, 0.5, 0.0)}, 12)
        {'a': [0, 3, 7, 10], 'b': [0.0, 0.5, 1.0]}
    """
    kept: dict[str, list[float]] = {name: [start] for name, (*_, start) in sliders.items()}
    for count in range(1, 9):
        limit = most if count <= 2 else min(most, ENOUGH)
        for name, (low, high, step, start) in sliders.items():
            whole = (high - low) / step
            places = {round(whole * k / max(count - 1, 1)) for k in range(count)}
            own = sorted({start, *(round(low + step * one, 9) for one in places)})
            others = prod(len(values) for other, values in kept.items() if other != name)
            if others * len(own) <= limit:
                kept[name] = own
    return kept


def states(code: str, most: int = MOST) -> dict[str, Any]:
    """All states of a playground.

    Args:
        code: of `program`.

    Returns:
        about (the name of the whole), sliders (name, label, values, start: the place of one of
        them), states (alt, svg and html of each, the last slider moving first).
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        # Where a run without a folder of its own writes.
        stack.enter_context(patch.object(tempfile, "tempdir", folder))
        shown = stack.enter_context(patch.object(explorers, "playground"))
        program = Path(folder, "playground.py")
        program.write_text(code, encoding="utf-8")
        run_path(str(program))
    sliders, draw = shown.call_args.args
    values = grid(sliders, most)
    moved = [
        {"name": name, "values": own, "start": own.index(sliders[name][3])}
        | {"label": told(name.replace("_", " "), "slider")}
        for name, own in values.items()
    ]
    every = (dict(zip(values, one, strict=True)) for one in product(*values.values()))
    return {
        "about": told("playground"),
        "sliders": moved,
        "states": [_state(draw(**one)) for one in every],
    }


def _state(made: list[Any]) -> dict[str, str]:
    """Title and picture of the figure, and HTML of the tables."""
    state = {"alt": "", "svg": "", "html": ""}
    for one in made:
        if hasattr(one, "savefig"):
            state |= {"alt": one.get_suptitle(), "svg": pages.svg_of(one)}
        else:
            state["html"] += pages.readable(one._repr_html_())
    return state


def script(paper: str, code: str) -> str:
    """The script of a paper's playground: it sets `playgrounds.<paper>`, as a page that is opened
    as a file may not read other files.
    """
    made = json.dumps(states(code), ensure_ascii=False, separators=(",", ":"))
    return f'(window.playgrounds ??= {{}})["{paper}"] = {made};\n'


# -- the site --------------------------------------------------------------------------------------


def build(source: Path, target: Path) -> list[str]:
    """Runs Sphinx in a process of its own; returns its warnings.

    KatayoriError where Sphinx is not installed or ends with an error.
    """
    if find_spec("sphinx") is None:
        raise KatayoriError("the pages need more packages; `make site` installs them")
    options = ["--quiet", "--no-color", "--jobs=auto", f"--doctree-dir={source}/../doctrees"]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(target)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    lines = done.stderr.splitlines()
    if done.returncode:
        raise KatayoriError(f"Sphinx could not make the pages: {' '.join(lines[-5:])}")
    return lines


def write_pages(
    final: Path,
    markdown: dict[str, str],
    made: dict[str, str],
    scripts: dict[str, str],
    other: str = "",
) -> Path:
    """Makes the pages in place of older ones; returns the index. Warnings go to the terminal.

    Args:
        final: the folder. markdown, made: sources. scripts: of playgrounds. other: where from here
            the same pages lie in another language, such as "ja/".
    """
    work = final.with_name(f".{final.name}")  # a hidden folder until all pages are there
    source = work / "source"
    for beside in ("_static", "_templates"):
        shutil.copytree(TEXTS / beside, source / beside, dirs_exist_ok=True)
    settings = (TEXTS / "conf.py").read_text(encoding="utf-8")
    (source / "conf.py").write_text(f'{settings}html_context["other"] = {other!r}\n', "utf-8")
    # Copies, since Sphinx compiles catalogues beside them.
    if paths.language() != "en":
        own = Path(paths.language()) / "LC_MESSAGES"
        shutil.copytree(paths.data_dir() / "locale" / own / "pages", work / "locale" / own)
    # A reader may type any kana into the search, whatever the pages hold.
    shown = "".join([*map(chr, range(0x3041, 0x3100)), *markdown.values(), *made.values()])
    (source / "_static" / "japanese.ttf").write_bytes(pages.font_of(shown))
    (source / "_static" / "play").mkdir()
    files = {f"_static/play/{paper}.js": script for paper, script in scripts.items()}
    files |= {f"{name}.md": text for name, text in markdown.items()}
    files |= {f"{name}.ipynb": text for name, text in made.items()}
    for file, text in files.items():
        (source / file).write_bytes(text.encode("utf-8", "backslashreplace"))
    warnings = build(source, work / "html")
    shutil.rmtree(final, ignore_errors=True)
    (work / "html").rename(final)
    shutil.rmtree(work)
    for line in warnings:
        print(line.replace(f"{source}/", ""), file=sys.stderr)
    return final / "index.html"


def site(
    *, profile: str = "recorded", models: str = "", runs: str = "", interface: bool = True
) -> None:
    """Writes the pages to `site` in a run's folder, in place of older ones; prints where.

    They are there in both languages, those of the other one below its name: of a run that was not
    made in it they say how to make it.

    Args:
        profile: the run to show. models: of a live or imported run, the models it asked.
        runs: other runs and models that stand beside it on the page of models. interface: without
            the pages of the library's functions, which take the longest.
    """
    is_known = profile in profiles.shipped() or Path(profile).is_file()
    settings = profiles.load(profile) if is_known else {"name": profile, "answers": "live"}
    base = run_folders.only_run(settings, notebooks.names(models), run_folders.run_label())
    books, _ = _books(base, "")
    if not models and books and settings["answers"] in run_folders.OF_MODELS:
        about = run_folders.noted(next(iter(books.values())).parent, "provenance.json")
        models = " ".join(about.get("parameters", {}).get("models", ()))
    again = f"PROFILE={profile}" + (f" MODELS='{models}'" if models else "")
    if not books:
        raise KatayoriError(
            f"no notebook of the profile '{profile}' has been run: make reproduce {again}"
        )
    others = compare.chosen(notebooks.names(runs), profile)
    beside = side_by_side([(compare.label(base), read_results(base)), *others])
    own, run = paths.language(), base.relative_to(paths.outputs_dir())
    (other,) = {"en", "ja"} - {own}
    work = base / ".site"
    shutil.rmtree(work, ignore_errors=True)
    for chosen, switch in ((own, f"{other}/"), (other, "../")):
        with patch.dict(os.environ, KATAYORI_LANG=chosen):
            folder, said = paths.outputs_dir() / run, f"{again} KATAYORI_LANG={chosen}"
            sources = _sources(work / f".{chosen}" / "source", folder, said, beside)
            if not interface:
                _without_interface(sources[0])
            write_pages(work / chosen, *sources, switch)
    (work / other).rename(work / own / other)
    final = base / "site"
    shutil.rmtree(final, ignore_errors=True)
    (work / own).rename(final)
    shutil.rmtree(work)
    print(f"open {final / 'index.html'}")


def _sources(
    source: Path, base: Path, again: str, beside: "pd.DataFrame"
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Texts, computed pages and scripts of a run, in the reader's language.

    Args:
        source: where they will lie, for pictures. base: the run's folder. again: how to make the
            run. beside: headlines for the page of models.
    """
    registry = notebooks.registry()
    books, absent = _books(base, again)
    markdown = texts(source, [path.name for path in registry.values()])
    markdown["index"] += f"\n\n{told(f'These pages show the run “{base.name}”.')}\n"
    markdown["papers"] += "\n".join(["\n```{toctree}", "", *paper_ids(), "```\n"])
    made = {
        path.stem: notebook_page(paper, books[paper])
        if paper in books
        else missing_page(path, absent[paper])
        for paper, path in registry.items()
    }
    for about in map(paper_files.of, paper_ids()):
        name = about["id"]
        made[name] = paper_page(about, base / name, absent.get(name, ""))
    made["glossary"] = glossary_page(terms())
    made["models"] = models_page(beside)
    return markdown, made, _scripts(books)


def _without_interface(markdown: dict[str, str]) -> None:
    """Takes the page of the library's functions out."""
    del markdown["interface"]
    markdown["index"] = markdown["index"].replace("\ninterface\n", "\n")


def _books(base: Path, again: str) -> tuple[dict[str, Path], dict[str, str]]:
    """The executed notebooks of a run, and why others are missing."""
    books, absent = {}, {}
    for paper, source in notebooks.registry().items():
        executed = base / paper / source.name
        if skipped := run_folders.noted(base / paper, "skipped.json"):
            absent[paper] = f"Skipped: {skipped['reason']}"
        elif executed.is_file():
            books[paper] = executed
        else:
            absent[paper] = f"Not run here yet: make reproduce PAPERS={paper} {again}."
    return books, absent


def _scripts(papers: Iterable[str]) -> dict[str, str]:
    """The scripts of the playgrounds, several at a time."""
    registry = notebooks.registry()
    programs = {one: code for one in papers if (code := program(registry[one]))}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        made = pool.map(script, programs, programs.values())
        return dict(zip(programs, made, strict=True))

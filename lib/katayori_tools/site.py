"""`make site`: a run as pages that need neither a server nor the network.

Sphinx makes them, with myst-nb and the theme of PyData, from texts in lib/pages, the executed
notebooks of the run, and pages that are computed from its results (`site_pages`). Settings are in
lib/pages/conf.py, what we add to Sphinx in `site_sphinx`.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

from katayori import paths, profiles, run_folders
from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.report.headlines import read_results
from katayori.report.names import terms
from katayori_tools import compare, notebooks, pages, paper_files, site_pages

#: Where the texts of the pages, their settings and their styles lie.
TEXTS = paths.root() / "lib" / "pages"
#: What a reader may type into the search, whatever the pages hold.
KANA = "".join(map(chr, range(0x3041, 0x3100)))
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<to>[^)\s]+)\)")
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$)", re.M | re.S)
#: Texts that lie elsewhere in the repository, by the names of their pages.
ELSEWHERE = {
    "collecting": "lib/COLLECTING.md",
    "study-sets": "data/study/README.md",
    "topic-files": "data/study/*/README.md",
    "recorded-answers": "data/recorded/README.md",
    "changelog": "lib/CHANGELOG.md",
    "contributing": ".github/CONTRIBUTING.md",
}

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
            shutil.copy(target, folder / "pictures")
            return f"![{found['text']}](pictures/{target.name})"
        if target in targets:
            return f"[{found['text']}]({targets[target]}{hash_}{place})"
        name = Path(os.path.relpath(target, paths.root())).as_posix()
        is_named = name.endswith(found["text"].strip("`"))
        return f"`{name}`" if is_named else f"{found['text']} (`{name}`)"

    pieces = FENCE.split(path.read_text(encoding="utf-8"))  # every second one is code
    return "".join(piece if n % 2 else LINK.sub(one, piece) for n, piece in enumerate(pieces))


# -- pages -----------------------------------------------------------------------------------------


def build(source: Path, target: Path) -> list[str]:
    """Runs Sphinx; returns its warnings.

    KatayoriError where Sphinx is not installed or ends with an error.
    """
    if find_spec("sphinx") is None:
        raise KatayoriError("the pages need more packages; `make site` installs them")
    from sphinx.application import Sphinx

    warnings = StringIO()
    folders = source, source, target, source.with_name("doctrees"), "html"
    try:
        Sphinx(*folders, status=None, warning=warnings, parallel=os.cpu_count() or 1).build()
    except Exception as error:  # of Sphinx or of an extension
        raise KatayoriError(f"Sphinx could not make the pages: {error}") from error
    return warnings.getvalue().splitlines()


def write_pages(
    final: Path, markdown: dict[str, str], made: dict[str, str], scripts: dict[str, str]
) -> Path:
    """Makes the pages in place of older ones; returns the index. Warnings go to the terminal.

    Args:
        final: the folder. markdown, made: sources. scripts: of playgrounds.
    """
    work = final.with_name(f".{final.name}")  # a hidden folder until all pages are there
    source = work / "source"
    for beside in ("_static", "_templates"):
        shutil.copytree(TEXTS / beside, source / beside, dirs_exist_ok=True)
    shutil.copy(TEXTS / "conf.py", source)
    shown = KANA + "".join([*markdown.values(), *made.values()])
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


def write_site(
    profile: str, models: Sequence[str] = (), *, runs: Sequence[str] = (), interface: bool = True
) -> Path:
    """Writes the pages to `site` in a run's folder, in place of an older site; returns the index.

    Args:
        profile, models: the run. runs: others, and models, that stand beside it on the page of
            models. interface: whether the pages of the library's functions are made.

    KatayoriError where no notebook has been run, where it is not plain which run is meant, and
    where another run that is named is not there.
    """
    is_known = profile in profiles.shipped() or Path(profile).is_file()
    settings = profiles.load(profile) if is_known else {"name": profile, "answers": "live"}
    base = run_folders.only_run(settings, models, run_folders.run_label())
    again = f"PROFILE={profile}" + (f" MODELS='{' '.join(models)}'" if models else "")
    books, absent = _books(base, again)
    if not books:
        raise KatayoriError(
            f"no notebook of the profile '{profile}' has been run: make reproduce {again}"
        )
    beside = [(compare.label(base), read_results(base)), *compare.chosen(runs, profile)]
    final = base / "site"
    shutil.rmtree(base / ".site", ignore_errors=True)
    markdown = texts(base / ".site" / "source", [path.name for path in books.values()])
    markdown["index"] += f"\n\nThese pages show the run “{base.name}”.\n"
    if not interface:
        del markdown["interface"]  # the page of the library's functions
        markdown["index"] = markdown["index"].replace("\ninterface\n", "\n")
    markdown["papers"] += "\n".join(["\n```{toctree}", "", *paper_ids(), "```\n"])
    made = {path.stem: site_pages.notebook_page(paper, path) for paper, path in books.items()}
    for about in paper_files.every():
        name = about["id"]
        made[name] = site_pages.paper_page(about, base / name, absent.get(name, ""))
    made["glossary"] = site_pages.glossary_page(terms())
    made["models"] = site_pages.models_page(compare.side_by_side(beside))
    return write_pages(final, markdown, made, _scripts(books))


def _books(base: Path, again: str) -> tuple[dict[str, Path], dict[str, str]]:
    """The executed notebooks of a run, and why others are missing."""
    books, absent = {}, {}
    for paper, source in notebooks.registry().items():
        executed = base / paper / source.name
        skipped = notebooks.noted(base / paper, "skipped.json")
        if executed.is_file() and not skipped:
            books[paper] = executed
        elif skipped:
            absent[paper] = f"Skipped: {skipped['reason']}"
        else:
            absent[paper] = f"Not run here yet: make reproduce PAPERS={paper} {again}."
    return books, absent


def _scripts(papers: Iterable[str]) -> dict[str, str]:
    """The scripts of the playgrounds, several at a time."""
    registry = notebooks.registry()
    programs = {one: code for one in papers if (code := site_pages.program(registry[one]))}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        made = pool.map(site_pages.script, programs, programs.values())
        return dict(zip(programs, made, strict=True))


def site(
    *, profile: str = "recorded", models: str = "", runs: str = "", interface: bool = True
) -> None:
    """Writes the site of a run and prints where it begins.

    Args:
        profile: the run to show. models: of a live or imported run, the models it asked.
        runs: other runs and models that stand beside it on the page of models. interface: without
            the pages of the library's functions, which take the longest.
    """
    names = notebooks.names
    index = write_site(profile, names(models), runs=names(runs), interface=interface)
    print(f"open {index}")

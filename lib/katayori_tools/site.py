"""`make site`: a run as pages that need neither a server nor the network.

Sphinx makes them, with myst-nb and the theme of PyData, from texts in lib/pages, the executed
notebooks of the run, and pages that are computed from its results; the settings are in
lib/pages/conf.py, what we add to Sphinx in `site_sphinx`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from katayori import paths, profiles
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.report.results import read_results
from katayori_tools import (
    named_runs,
    notebooks,
    pages,
    site_contents,
    site_playgrounds,
    site_vega,
)
from katayori_tools.named_runs import Named
from katayori_tools.site_contents import Part
from katayori_tools.site_models import of_runs
from katayori_tools.site_notebooks import PICTURES, Book, page_of, read_book
from katayori_tools.site_papers import paper_page, papers_page, plain
from katayori_tools.site_play import PAGE
from katayori_tools.site_reference import ROOMS, pages_of_interface
from katayori_tools.site_results import FILES, gallery_page, glossary_page

#: What a reader may type into the search, whatever the pages hold.
KANA = "".join(map(chr, range(0x3041, 0x3100)))


@dataclass
class Sources:
    """A run and the sources of its pages: texts and notebooks by the names of their pages."""

    base: Path  # the run
    folder: Path  # of the sources
    books: dict[str, Book] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)  # why a paper has no notebook here
    texts: dict[str, str] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)
    runs: list[Named] = field(default_factory=list)  # that stand side by side


# -- which run -------------------------------------------------------------------------------------


def _profile(name: str) -> dict[str, Any]:
    """A profile by name or file; of a user's own, whose file need not be named again, the
    folder.
    """
    if name in profiles.shipped() or Path(name).is_file():
        return profiles.load(name)
    return {"name": name, "answers": "live"}  # its runs may lie in folders of models


def read_run(base: Path, again: str, folder: Path) -> Sources:
    """The notebooks of a run, and why others are missing; `again` are the words of `make`."""
    sources = Sources(base, folder)
    played = site_playgrounds.names()
    for paper, source in notebooks.registry().items():
        run = base / paper
        sources.absent[paper] = f"Not run here yet: make reproduce PAPERS={paper} {again}."
        if skipped := pages.read(run / "skipped.json"):
            sources.absent[paper] = f"Skipped: {skipped['reason']}"
        elif (run / source.name).is_file():
            sources.books[paper] = read_book(paper, run, run / source.name, folder, played)
    return sources


# -- the sources -----------------------------------------------------------------------------------


def gather(sources: Sources, *, interface: bool = True) -> None:
    """Fills in all pages of a run; without `interface`, those of the library are left out."""
    of_run = {f"{book.name}.ipynb": f"{book.name}.ipynb" for book in sources.books.values()}
    sources.texts = site_contents.texts(sources.folder, of_run)
    contents = [part for part in site_contents.parts() if interface or part.made != "interface"]
    for part in contents:
        _add_part(sources, part)
    names = [part.name for part in contents]
    told = f"These pages show the run “{sources.base.name}”."
    toctree = site_contents.contents_of(contents[0], names, hidden=True)
    sources.texts["index"] += f"\n\n{told}\n\n{toctree}\n"


def _add_part(sources: Sources, part: Part) -> None:
    """The page of a part, and the pages that it makes of the run."""
    names = _MAKERS[part.made](sources) if part.made else []
    names += part.files
    if part.made != "papers":
        sources.texts[part.name] = site_contents.part_page(part, names)
        return
    opening = f"# {part.title}\n\n{part.about}\n\n"
    opening += site_contents.contents_of(part, names, hidden=True)
    facts = paper_facts.every()
    run = sources.books, sources.absent, sources.base
    sources.made[part.name] = papers_page(opening, facts, *run)


def _papers(sources: Sources) -> list[str]:
    facts = paper_facts.every()
    for about in facts:
        name = about["id"]
        book = sources.books.get(name)
        rows = plain(read_results(book.folder)) if book else []
        played = site_playgrounds.names()
        sources.made[name] = paper_page(about, book, rows, sources.absent[name], played)
    return [about["id"] for about in facts]


def _notebooks(sources: Sources) -> list[str]:
    for book in sources.books.values():
        sources.made[book.name] = page_of(book)
    older = sources.base / "site"
    sources.made[PAGE] = site_playgrounds.playgrounds_page(sources.books, sources.folder, older)
    return [*(book.name for book in sources.books.values()), PAGE]


def _results(sources: Sources) -> list[str]:
    sources.made["gallery"] = gallery_page(sources.books, sources.folder)
    sources.made["models"] = of_runs(sources.runs, sources.folder)
    return ["models", "gallery"]


def _interface(sources: Sources) -> list[str]:
    sources.texts |= pages_of_interface()
    return [f"katayori.{room}" for room in ROOMS]


def _glossary(sources: Sources) -> list[str]:
    file = paths.data_dir() / "glossary.yaml"
    sources.made["glossary"] = glossary_page(yaml.safe_load(file.read_text(encoding="utf-8")))
    return ["glossary"]


_MAKERS = {
    "papers": _papers,
    "notebooks": _notebooks,
    "results": _results,
    "interface": _interface,
    "glossary": _glossary,
}


def write_sources(sources: Sources) -> None:
    """The sources as files, and the font for machines without Japanese characters."""
    import nbformat

    for name, text in sources.texts.items():
        _write(sources.folder / f"{name}.md", text)
    for name, notebook in sources.made.items():
        _write(sources.folder / f"{name}.ipynb", nbformat.writes(notebook))
    static = sources.folder / "_static"
    shutil.copytree(site_contents.folder() / "_static", static, dirs_exist_ok=True)
    shutil.copy(site_contents.folder() / "conf.py", sources.folder)
    shown = [*sources.folder.glob("*.[mi]*"), *static.glob("*/*.js"), sources.folder / "conf.py"]
    everything = "".join(path.read_text("utf-8") for path in shown)
    font = pages.font_of(everything + KANA)
    (static / "japanese.ttf").write_bytes(font)
    site_vega.write_bundle(sources.folder)
    face = '@font-face { font-family: "KatayoriJP"; src: url("japanese.ttf") }\n'
    _write(static / "japanese.css", face)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


# -- the pages -------------------------------------------------------------------------------------


def build(source: Path, target: Path) -> list[str]:
    """Runs Sphinx; returns its warnings.

    KatayoriError where Sphinx is not installed or ends with an error.
    """
    if find_spec("sphinx") is None:
        raise KatayoriError("the pages need more packages; `make site` installs them")
    doctrees = source.with_name("doctrees")
    warnings = source.with_name("warnings.txt")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-j", "auto"]
    command += ["-d", str(doctrees), "-w", str(warnings), str(source), str(target)]
    library = str(Path(__file__).resolve().parents[1])
    environment = os.environ | {"PYTHONPATH": library, "LC_ALL": "C.UTF-8", "MPLBACKEND": "agg"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise KatayoriError(f"Sphinx could not make the pages: {_reason(done.stderr)}")
    for beside in (PICTURES, FILES):
        if (source / beside).is_dir():
            shutil.copytree(source / beside, target / beside)
    return warnings.read_text(encoding="utf-8").splitlines()


def _reason(printed: str) -> str:
    """The line of Sphinx's report that names what went wrong."""
    lines = [line.strip() for line in printed.splitlines()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b.*: |Could not ", line)]
    return named[-1] if named else "no message"


def write_site(
    profile: str,
    models: Sequence[str] = (),
    *,
    runs: Sequence[str] = (),
    interface: bool = True,
) -> Path:
    """Writes the pages to `site` in a run's folder, in place of an older site; returns the index.

    Args:
        profile, models: the run. runs: others, and models, that stand beside it on the page of
            models. interface: whether the pages of the library's functions are made.

    KatayoriError where no notebook has been run, where it is not plain which run is meant, and
    where another run that is named is not there.
    """
    base = paths.only_run(_profile(profile), models, paths.run_label())
    again = f"PROFILE={profile}" + (f" MODELS='{' '.join(models)}'" if models else "")
    final = base / "site"
    work = base / ".site"  # a hidden folder until all pages are there
    shutil.rmtree(work, ignore_errors=True)
    source = work / "source"
    sources = read_run(base, again, source)
    if not sources.books:
        raise KatayoriError(
            f"no notebook of the profile '{profile}' has been run: make reproduce {again}"
        )
    others = named_runs.chosen(runs, profile)
    sources.runs = [(named_runs.label(base), read_results(base)), *others]
    source.mkdir(parents=True, exist_ok=True)
    gather(sources, interface=interface)
    write_sources(sources)
    return _built(work, final)


def _built(work: Path, final: Path) -> Path:
    """Makes the pages of `work/source`, in place of older ones, and removes `work`."""
    source = work / "source"
    warnings = build(source, work / "html")
    shutil.rmtree(final, ignore_errors=True)
    (work / "html").rename(final)
    shutil.rmtree(work)
    for line in warnings:
        print(line.replace(f"{source}/", ""), file=sys.stderr)
    return final / "index.html"


def write_one(folder: Path, make: Callable[[Path], Any]) -> Path:
    """Writes a page alone, in place of an older one, and returns its file.

    Args:
        folder: of the page. make: the page (`made_page`) by the folder of its sources.

    KatayoriError where Sphinx is not installed or ends with an error.
    """
    work = folder.with_name(f".{folder.name}")
    shutil.rmtree(work, ignore_errors=True)
    sources = Sources(folder, work / "source")
    sources.folder.mkdir(parents=True)
    sources.made["index"] = make(sources.folder)
    write_sources(sources)
    return _built(work, folder)


def site(
    *,
    profile: str = "recorded",
    models: str = "",
    runs: str = "",
    interface: bool = True,
) -> None:
    """Writes the site of a run and prints where it begins."""
    names = notebooks.names
    index = write_site(profile, names(models), runs=names(runs), interface=interface)
    print(f"open {index}")

"""Which pages `make site` has, and our Markdown as their sources.

`lib/pages/contents.yaml` lists them. The texts stay readable where the repository is hosted, so
their links name files of the repository; here these become links between pages.
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from katayori import paths

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<to>[^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.M | re.S)


@dataclass
class Part:
    """A part of the contents: its page, what it makes of the run, and the pages listed there."""

    name: str
    title: str
    about: str
    made: str = ""
    files: dict[str, Path] = field(default_factory=dict)  # by the names of their pages


def folder() -> Path:
    """Where the texts of the pages, their settings and their styles lie."""
    return paths.root() / "lib" / "pages"


def parts() -> list[Part]:
    """The parts of the contents; files that are still to come are left out until they are there."""
    listed = yaml.safe_load((folder() / "contents.yaml").read_text(encoding="utf-8"))
    return [_part(one) for one in listed]


def _part(one: Mapping[str, Any]) -> Part:
    files = {}
    for page in one.get("pages", []):
        path = paths.root() / page["file"]
        if path.is_file() or not page.get("coming"):
            files[page.get("name") or path.stem] = path
    return Part(one["part"], one["title"], one["about"], one.get("made", ""), files)


def texts(site: Path, notebooks: Mapping[str, str]) -> dict[str, str]:
    """The sources of all pages that are files of ours, by the names of the pages.

    Args:
        site: the folder of the sources, which pictures are copied to.
        notebooks: page of each notebook that the run holds, by the notebook's file name.
    """
    files = {"index": folder() / "index.md"}
    for part in parts():
        files |= part.files
    pages = {_normal(path): f"{name}.md" for name, path in files.items()}
    here = paths.root() / "notebooks"
    pages |= {_normal(here / file): page for file, page in notebooks.items()}
    return {name: _source(path, pages, site) for name, path in files.items()}


def _normal(path: Path) -> Path:
    """The path without `..`; links in the file system, such as a data folder's, are kept."""
    return Path(os.path.normpath(path.absolute()))


def _source(path: Path, pages: Mapping[Path, str], site: Path) -> str:
    """A text with its links led to pages; what is no page is named by its path."""

    def led(found: re.Match[str]) -> str:
        to, _, place = found["to"].partition("#")
        if "://" in to or not to or to.startswith("mailto:"):
            return found[0]
        target = _normal(path.parent / to)
        if found["picture"]:
            return f"![{found['text']}]({_copied(target, site)})"
        if target in pages:
            return f"[{found['text']}]({pages[target]}{'#' if place else ''}{place})"
        return _named(found["text"], target)

    text = path.read_text(encoding="utf-8")
    return _outside_of_code(text, led)


def _outside_of_code(text: str, change: Any) -> str:
    made = []
    end = 0
    for fence in FENCE.finditer(text):
        made += [LINK.sub(change, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*made, LINK.sub(change, text[end:])])


def _named(text: str, target: Path) -> str:
    """A file that has no page: its words and its path."""
    name = Path(os.path.relpath(target, paths.root())).as_posix()
    bare = text.strip("`")
    return f"`{name}`" if name.endswith(bare) else f"{text} (`{name}`)"


def _copied(picture: Path, site: Path) -> str:
    target = site / "pictures" / picture.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(picture, target)
    return f"pictures/{picture.name}"


def contents_of(part: Part, names: list[str], *, hidden: bool = False) -> str:
    """A list of contents as Sphinx reads it."""
    options = [":hidden:"] if hidden else [":maxdepth: 1"]
    return "\n".join(["```{toctree}", *options, "", *names, "```"])


def part_page(part: Part, names: list[str]) -> str:
    """The page of a part, which lists its pages."""
    return f"# {part.title}\n\n{part.about}\n\n{contents_of(part, names)}\n"

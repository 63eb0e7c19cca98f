"""README's picture: a figure of notebook 01, which carries its title and a hash of its numbers.

`make expect` renews it from the run where either has changed. A test compares the title with the
notebook's own and the hash with the expected numbers, so the picture cannot grow old.
"""

import base64
import hashlib
import io
import json
from pathlib import Path

from katayori import paths
from katayori_tools import notebooks

PAPER, NOTEBOOK = next(
    (paper, path.name) for paper, path in notebooks.registry().items() if path.name[:2] == "01"
)
CELL, FIGURE = "person-or-words", "person_or_words"


def file() -> Path:
    """Where the picture lies."""
    return paths.root() / "notebooks" / "images" / f"{PAPER}_{FIGURE}.png"


def shown(notebook: Path) -> tuple[str, bytes]:
    """Title and PNG of the figure in a notebook with outputs."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    (outputs,) = [cell["outputs"] for cell in cells if cell.get("id") == CELL]
    (picture,) = [one for one in outputs if "image/png" in one.get("data", {})]
    png = base64.b64decode("".join(picture["data"]["image/png"]))
    return picture["metadata"]["image/png"]["alt"], png


def about(title: str) -> dict[str, str]:
    """What the picture carries: its title and the hash of the numbers that are expected."""
    numbers = paths.data_dir() / "expected" / PAPER / "figures" / f"{FIGURE}.csv"
    return {"Title": title, "Numbers": hashlib.sha256(numbers.read_bytes()).hexdigest()}


def carried() -> dict[str, str]:
    """What the committed picture carries; nothing where there is none."""
    from PIL import Image

    if not file().is_file():
        return {}
    with Image.open(file()) as picture:
        return {name: str(text) for name, text in picture.info.items() if name in about("")}


def renew(run: Path) -> None:
    """Copies the figure of a run, unless the committed picture has its title and its numbers."""
    from PIL import Image, PngImagePlugin

    title, png = shown(run / PAPER / NOTEBOOK)
    if carried() == about(title):
        return
    text = PngImagePlugin.PngInfo()
    for name, words in about(title).items():
        text.add_text(name, words)
    Image.open(io.BytesIO(png)).save(file(), pnginfo=text, optimize=True)

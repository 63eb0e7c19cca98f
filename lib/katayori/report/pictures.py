"""Pictures: one style and font for all figures, and how a notebook shows one.

A Japanese font that is the same everywhere, colours that colour-blind readers tell apart.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OKABE_ITO = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)  # less its yellow: too pale
MARKERS = ("o", "s", "^", "D", "v")
FONTS = ["IPAexGothic", "DejaVu Sans"]  # the second for signs the first lacks, such as ≤
WIDTH = 17  # cm, the text width of a page


def use_style() -> None:
    """Sets the theme, font and palette for all figures drawn afterwards.

    The figure functions call it themselves.
    """
    import matplotlib_fontja  # noqa: F401  (registers the font)
    import seaborn as sns

    small = {
        "font.size": 9,
        "axes.labelsize": 9,
        "axes.titlesize": 9.5,
        "legend.fontsize": 8,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "figure.dpi": 80,
        "axes.grid": True,
        "grid.linewidth": 0.6,
    }
    sns.set_theme(style="whitegrid", font=FONTS, palette=OKABE_ITO, rc=small)


#: Dots an inch of figures in notebooks: sharp in print; half of them are an inch on the screen.
DOTS = 192


def display(fig: "Figure", alt: str | None = None) -> Any:
    """The figure as an inline PNG of 192 dots an inch, shown at 96 (an IPython Image).

    `alt` is its text alternative for readers who cannot see. A figure that shows no value becomes
    a sentence (see `is_empty`).
    """
    from io import BytesIO

    from IPython.display import Image, Markdown

    about = alt or fig.get_suptitle() or "figure"
    if is_empty(fig):
        return Markdown(f"*No picture, as no value of it is defined: {about}.*")
    drawn = BytesIO()
    fig.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    return Image(with_few_colours(drawn.getvalue()), alt=about, retina=True)


def with_few_colours(png: bytes) -> bytes:
    """The same picture in 256 colours: a third of the size, and no difference that one sees."""
    from io import BytesIO

    from PIL import Image

    small = BytesIO()
    picture = Image.open(BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
    return small.getvalue()


def is_empty(fig: "Figure") -> bool:
    """Whether a figure has nothing in its axes but scales, names and lines of reference."""
    return bool(fig.axes) and not any(map(_shows_value, fig.axes))


def _shows_value(ax: "Axes") -> bool:
    """Whether an axes holds a word, a bar, or a finite point in the units of its data."""
    # A line of reference (axhline) goes by the axes' units in one direction: it is none of these.
    lines = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    patches: list[Any] = list(ax.patches)  # of several kinds
    bars = [(patch.get_x(), patch.get_width()) for patch in patches if hasattr(patch, "get_x")]
    drawn = [*lines, *([bar] for bar in bars), *map(_points, ax.collections)]
    return bool(ax.texts or ax.images) or any(map(_any_finite, drawn))


def _points(collection: "Artist") -> Any:
    """The places of a scatter's marks or the values of a mesh; nothing of other collections."""
    from matplotlib.collections import PathCollection, QuadMesh

    if isinstance(collection, PathCollection):
        return collection.get_offsets()
    if isinstance(collection, QuadMesh):
        values = collection.get_array()
        return [] if values is None else values.reshape(-1, 1)
    return []


def _any_finite(points: Any) -> bool:
    """Whether all numbers of some point are finite; a masked one is not."""
    import numpy as np

    values: np.ndarray = np.ma.filled(np.ma.asarray(points, dtype=float), np.nan)
    return bool(values.size) and bool(np.isfinite(values).all(axis=-1).any())

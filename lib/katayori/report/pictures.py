"""Pictures: one style and font for all figures, and how a notebook shows one.

A Japanese font that is the same everywhere, colours that colour-blind readers tell apart.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Less its yellow, which is too pale.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DARK, PALE = "#333333", "#D9D9D9"
FONTS = ["IPAexGothic", "DejaVu Sans"]  # the second for signs the first lacks, such as ≤
#: Points of all letters but the title's: 8 pixels where a picture is 358 pixels wide.
LETTERS = 11
#: Inches of a narrow letter (half of a wide one), and of a line of letters.
LETTER, LINE = 0.081, 1.15 * LETTERS / 72
#: Dots an inch of figures in notebooks: sharp in print; half of them are an inch on the screen.
DOTS = 192


def use_style() -> None:
    """Sets the theme, font and palette for all figures drawn afterwards.

    The figure functions call it themselves.
    """
    import matplotlib_fontja  # noqa: F401  (registers the font)
    import seaborn as sns

    of_axes = "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize"
    letters = dict.fromkeys(
        ("font.size", "legend.fontsize", "legend.title_fontsize", *of_axes), LETTERS
    )
    rest = {"figure.dpi": 80, "grid.linewidth": 0.6}
    sns.set_theme(style="whitegrid", font=FONTS, palette=OKABE_ITO, rc=letters | rest)


def display(fig: "Figure", alt: str = "") -> Any:
    """The figure as an inline PNG of 192 dots an inch, shown at 96 (an IPython Image).

    `alt` is its text alternative for readers who cannot see; by default its title.
    """
    from io import BytesIO

    from IPython.display import Image

    drawn = BytesIO()
    fig.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    about = alt or fig.get_suptitle() or "figure"
    return Image(with_few_colours(drawn.getvalue()), alt=about, retina=True)


def with_few_colours(png: bytes) -> bytes:
    """The same picture in 256 colours: a third of the size, and no difference that one sees."""
    from io import BytesIO

    from PIL import Image

    small = BytesIO()
    picture = Image.open(BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
    return small.getvalue()

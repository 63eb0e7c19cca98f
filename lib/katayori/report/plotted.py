"""What a figure shows, as numbers: so that a changed value under an unchanged caption is noticed.

A picture cannot be compared from machine to machine; what is plotted can. A row is one mark: a
point of a line, an interval, a bar, a cell of a heat map, a word.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Panel (from 1; 0: the whole figure), kind of mark, name in the legend; where it starts and ends,
#: in units of the data; the value of a cell; the words.
COLUMNS = ("panel", "part", "name", "x", "y", "to_x", "to_y", "value", "text")
NUMBERS = ("x", "y", "to_x", "to_y", "value")
#: Significant digits that are kept.
DIGITS = 9
#: Letters of the file from which on the marks of one name are summed up.
MOST_LETTERS = 40_000

Row = dict[str, Any]


def plotted(fig: "Figure") -> "pd.DataFrame":
    """Every mark of a figure, in the order it was drawn; columns `COLUMNS`.

    A figure of so many marks that its file would exceed `MOST_LETTERS` is summed up: lowest,
    highest and mean of the marks of one name, and their mean weighted by place, which tells two
    values that changed places.

    Example:
        >>> from matplotlib.figure import Figure
        >>> fig = Figure()
        >>> line = fig.subplots().plot([1, 2], [0.5, 0.25], label="model")
        >>> marks = plotted(fig)
        >>> marks[marks["part"] == "line"][["name", "x", "y"]].to_numpy().tolist()
        [['model', 1.0, 0.5], ['model', 2.0, 0.25]]
    """
    import pandas as pd

    rows = list(_of_figure(fig))
    for panel, ax in enumerate(fig.axes, 1):
        rows += [{"panel": panel, **row} for row in _of_axes(ax)]
    marks = pd.DataFrame(rows, columns=list(COLUMNS))
    if len(marks.to_csv()) > MOST_LETTERS:
        marks = _summed_up(marks)
    for name in NUMBERS:
        marks[name] = marks[name].astype(float).map(_rounded)
    return marks


def _rounded(number: float) -> float:
    """A number in `DIGITS` significant digits; never -0."""
    return float(f"{number:.{DIGITS}g}") + 0.0


def _of_figure(fig: "Figure") -> Iterator[Row]:
    if fig.get_suptitle():
        yield {"panel": 0, "part": "title", "text": fig.get_suptitle()}
    for legend in fig.legends:
        for text in legend.get_texts():
            yield {"panel": 0, "part": "legend", "text": text.get_text()}


def _of_axes(ax: "Axes") -> Iterator[Row]:
    import numpy as np

    yield from _words(ax)
    names = _names(ax)
    for line in ax.lines:
        part = "line" if line.get_linestyle() not in ("None", "none", "", " ") else "marker"
        for x, y in _pairs(line.get_xydata()):
            yield {"part": part, "name": _name(line, names), "x": x, "y": y}
    for collection in ax.collections:
        for row in _of_collection(collection):
            yield {"name": _name(collection, names), **row}
    for patch in ax.patches:
        yield {"name": _name(patch, names), **_of_patch(patch)}
    for image in ax.images:
        yield {"part": "image", "value": np.ma.asarray(image.get_array(), dtype=float).mean()}
    for text in ax.texts:
        x, y = text.get_position()
        yield {"part": "text", "x": x, "y": y, "text": text.get_text()}


def _words(ax: "Axes") -> Iterator[Row]:
    """Title and labels, the edges, the names at the ticks, and a legend of its own."""
    said = {"title": ax.get_title(), "x label": ax.get_xlabel(), "y label": ax.get_ylabel()}
    for part, text in said.items():
        if text:
            yield {"part": part, "text": text}
    (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    scales = f"{ax.get_xscale()}, {ax.get_yscale()}"
    yield {"part": "edges", "x": low, "to_x": high, "y": bottom, "to_y": top, "text": scales}
    yield from _ticks(ax.xaxis, "x")
    yield from _ticks(ax.yaxis, "y")
    legend = ax.get_legend()
    for entry in legend.get_texts() if legend else ():
        yield {"part": "legend", "text": entry.get_text()}


def _ticks(axis: "Axis", along: str) -> Iterator[Row]:
    """The names that stand at fixed places; ticks that matplotlib chooses say nothing."""
    from matplotlib.ticker import FixedLocator

    if isinstance(axis.get_major_locator(), FixedLocator):
        for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False):
            yield {"part": f"{along} tick", along: place, "text": label.get_text()}


def _names(ax: "Axes") -> dict[int, str]:
    """Id of an artist -> the name of the group it was drawn with, such as a dot's interval."""
    from matplotlib.artist import Artist

    names: dict[int, str] = {}
    for container in ax.containers:
        for member in container.get_children():
            if isinstance(member, Artist):
                names[id(member)] = str(container.get_label())
    return names


def _name(artist: "Artist", names: dict[int, str]) -> str:
    """The name in the legend; empty where there is none."""
    own = str(artist.get_label())
    name = names.get(id(artist), own) if own.startswith("_") else own
    return "" if name.startswith("_") or name == "None" else name


def _of_collection(collection: Any) -> Iterator[Row]:
    from matplotlib.collections import LineCollection, PathCollection, QuadMesh

    if isinstance(collection, LineCollection):
        for segment in collection.get_segments():
            yield {"part": "interval", **_from_to(segment[0], segment[-1])}
    elif isinstance(collection, PathCollection):
        for x, y in _pairs(collection.get_offsets()):
            yield {"part": "point", "x": x, "y": y}
    elif isinstance(collection, QuadMesh):
        yield from _cells(collection)
    else:
        for path in collection.get_paths():
            for x, y in path.vertices:
                yield {"part": "area", "x": x, "y": y}


def _pairs(places: Any) -> Any:
    """Places as an array of x and y; masked ones are NaN."""
    import numpy as np

    return np.ma.filled(np.ma.asarray(places, dtype=float), np.nan)


def _cells(mesh: Any) -> Iterator[Row]:
    """The values of a heat map; a masked one has none."""
    import numpy as np

    values: np.ndarray = np.ma.filled(np.ma.asarray(mesh.get_array(), dtype=float), np.nan)
    width = mesh.get_coordinates().shape[1] - 1
    for place, value in enumerate(values.ravel()):
        yield {"part": "cell", "x": place % width, "y": place // width, "value": value}


def _of_patch(patch: Any) -> Row:
    """A bar or box from corner to corner; of another shape only its kind."""
    if not hasattr(patch, "get_x"):
        return {"part": type(patch).__name__}
    x, y = patch.get_x(), patch.get_y()
    return {"part": "bar", **_from_to((x, y), (x + patch.get_width(), y + patch.get_height()))}


def _from_to(start: Any, end: Any) -> Row:
    return {"x": start[0], "y": start[1], "to_x": end[0], "to_y": end[1]}


def _summed_up(marks: "pd.DataFrame") -> "pd.DataFrame":
    """Words as they are; of the marks of one panel, kind and name four rows and their number."""
    import numpy as np
    import pandas as pd

    says = marks["text"].notna()
    rows = marks[says].to_dict("records")
    groups = marks[~says].fillna({"name": ""}).groupby(["panel", "part", "name"], sort=False)
    for (panel, part, name), group in groups:
        numbers = group[list(NUMBERS)].astype(float)
        places = np.arange(1, len(group) + 1)
        weighted = numbers.mul(places, axis=0).sum(min_count=1) / places.sum()
        kinds = {"lowest": numbers.min(), "highest": numbers.max(), "mean": numbers.mean()}
        for kind, found in (kinds | {"mean by place": weighted}).items():
            about = {"panel": panel, "part": f"{kind} {part}", "name": name}
            rows.append(about | found.to_dict() | {"text": f"of {len(group)}"})
    return pd.DataFrame(rows, columns=list(COLUMNS))

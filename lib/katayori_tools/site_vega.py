"""Charts of Vega-Altair in the pages: drawn where a page is read, without network and `eval`.

`chart_element` is all that a maker of pages needs: it keeps a chart as a script beside the pages
and gives the element in which it is drawn. Pages that hold such an element, and only these, name
the scripts (`scripts_of`): Vega, Vega-Lite and Vega-Embed as one file, the charts of the page, and
`charts.js`, which draws them. Expressions are interpreted, since the policy of the pages allows no
`eval`.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError
from katayori.report.pictures import OKABE_ITO
from katayori.report.tables import escape

if TYPE_CHECKING:
    import altair

#: Below the folder of styles and scripts: the bundle; the folder of what is kept of a kind of
#: element, and the script that makes the elements of that kind.
BUNDLE = "vega.js"
KINDS = {"chart": ("charts", "charts.js"), "playground": ("playgrounds", "playground.js")}
NAME = re.compile(r"[a-z][a-z0-9_-]*")
_PLACE = re.compile(rf'<div\b[^>]*\bid="({"|".join(KINDS)})-({NAME.pattern})"')
_SETS = " = "
LICENCES = (
    "/* Vega, Vega-Lite, Vega-Embed: BSD-3-Clause, University of Washington Interactive Data Lab"
    " and their contributors; D3: ISC, Mike Bostock. Bundled by vl-convert. */\n"
)
#: Charts are drawn on white, in the dark too, like all pictures of the pages.
LOOK: dict[str, Any] = {
    "background": "white",
    "aria": False,  # the element that holds the chart says in words what it shows
    "range": {"category": list(OKABE_ITO)},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "axisX": {"labelOverlap": "greedy", "labelSeparation": 6},
    "axisY": {"labelLimit": 200},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 320, "orient": "bottom"},
    "view": {"stroke": "#cccccc"},
}


@cache
def bundle() -> str:
    """Vega, Vega-Lite, Vega-Embed and its interpreter as one script of no other names.

    KatayoriError where the packages of the pages are not installed.
    """
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise KatayoriError("the pages need more packages; `make site` installs them") from error
    # What the bundle declares stays in its own room; it puts one name into the window.
    code = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"{LICENCES}(() => {{\n{code}\n}})();\n"


def chart_element(chart: "altair.TopLevelMixin", name: str, words: str, source: Path) -> str:
    """The element of a page in which a chart is drawn; the chart is kept below `source`.

    A single or layered chart of the width "container" is as wide as the text.

    Args:
        chart: of Vega-Altair, with the data that it draws; its configuration is ours (`LOOK`).
        name: small letters, digits, - and _; of no other chart of the site.
        words: what the chart shows, for readers who cannot see it and where no script runs.
        source: the folder of the sources of the pages (`Sources.folder`).

    Raises KatayoriError for a name that cannot be part of an address.

    Example:
        >>> import tempfile
        >>> class Chart:
        ...     to_dict = staticmethod(lambda: {"mark": "point"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     element = chart_element(Chart, "gaps", "Gaps by age", Path(folder))
        >>> element
        '<div class="chart" id="chart-gaps"><p>Gaps by age</p></div>'
    """
    if not NAME.fullmatch(name):
        raise KatayoriError(f"'{name}' names no chart: small letters, digits, - and _ only")
    spec = chart.to_dict()
    spec["config"] = LOOK
    write_script(source, name, "charts", spec)
    return f'<div class="chart" id="chart-{name}"><p>{escape(words)}</p></div>'


def write_script(source: Path, name: str, kind: str, value: Any) -> None:
    """Keeps a value as a script, since a page that is opened as a file may not read other files.

    The script sets `katayori.<kind>.<name>`, and lies in a file of that kind and name.
    """
    folder = source / "_static" / kind
    folder.mkdir(parents=True, exist_ok=True)
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    place = f'((window.katayori ??= {{}})["{kind}"] ??= {{}})["{name}"]'
    script = f"{place}{_SETS}{written};\n"
    (folder / f"{name}.js").write_text(script, encoding="utf-8", newline="\n")


def read_script(path: Path) -> Any:
    """The value that `write_script` kept.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_script(Path(folder), "gaps", "charts", {"mark": "point"})
        ...     read_script(Path(folder) / "_static" / "charts" / "gaps.js")
        {'mark': 'point'}
    """
    _, _, written = path.read_text(encoding="utf-8").partition(_SETS)
    return json.loads(written.removesuffix(";\n"))


def write_bundle(source: Path) -> None:
    """Puts the bundle beside the styles, where a page has a chart."""
    if (source / "_static" / "charts").is_dir():
        (source / "_static" / BUNDLE).write_text(bundle(), encoding="utf-8", newline="\n")


def scripts_of(body: str) -> list[str]:
    """The scripts that the body of a page needs, below `_static`, in their order.

    Example:
        >>> scripts_of('<div class="chart" id="chart-gaps"></div>')
        ['vega.js', 'charts/gaps.js', 'charts.js']
        >>> scripts_of("<p>No chart.</p>")
        []
    """
    places = _PLACE.findall(body)
    kept = [f"{KINDS[kind][0]}/{name}.js" for kind, name in places]
    makers = [maker for kind, (_, maker) in KINDS.items() if kind in dict(places)]
    return [BUNDLE, *kept, *makers] if places else []

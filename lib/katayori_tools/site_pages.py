"""Pages that `make site` makes of a run: its notebooks, the papers, the models, the terms.

A page is a notebook of texts and outputs, so that nothing of a run can break out of its place. A
playground shows what a notebook's own `playground(sliders, draw)` cell shows: all states are
computed by `draw` while the pages are made and kept as a script beside them; `playground.js` picks
one by the sliders. The cell is the repository's own, never that of a run folder, which may come
from elsewhere.
"""

import ast
import base64
import json
import re
import symtable
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any, TypeAlias

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from katayori.data import paper_facts
from katayori.report.charts import draw
from katayori.report.headlines import read_results
from katayori.report.names import human
from katayori.report.tables import escape, show, visible
from katayori_tools import pages
from katayori_tools.compare import side_by_side
from katayori_tools.first_page import LIMIT_NOTE

if TYPE_CHECKING:
    import pandas as pd

#: Columns of values, of one run and of models side by side.
VALUES = ("shown", "verdict", "control", "limit", "n", "n_invalid", "clusters", "prompt_id")
#: What is told above a table of models, and is no column, where all rows have the same.
ASIDE = ("run", "source", "clusters", "prompt_id")
HEADS = {"shown": "value [95 % interval]", "name": "model", "prompt_id": "prompt"}
#: Name of a slider -> its lowest value, highest value, step and start.
Sliders: TypeAlias = Mapping[str, tuple[float, float, float, float]]
CALL = "\nplayground("
#: States of one playground: so that each slider has its ends, and so that it has more than these.
MOST, ENOUGH = 200, 60
HEADING = re.compile(r"^(#{1,4} .+)$", re.M)
READ_FIRST = """
*Recorded* answers are real replies of small local models and say nothing of larger ones.
*Simulated* respondents have planted behaviour and only prove that a measure works. The questions
are our own unless a page says otherwise, so no number here replicates a published one."""


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
                outputs = [_playground(paper, outputs)]
            image = {"image": _of_picture(cell.outputs)}
            metadata = {"tags": folded, "mystnb": image}
            cells.append(new_code_cell(visible(cell.source), outputs=outputs, metadata=metadata))
    cells.insert(1, html(pages.banner(folder)))
    foot = f"{pages.footer(folder)} Its tables, figures and results lie in the folder {paper}."
    whole = page([*cells, html(f'<p class="foot">{escape(foot)}</p>')])
    return whole.replace(str(folder), ".")


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


def _of_picture(outputs: Iterable[Any]) -> dict[str, Any]:
    """Words and width of the picture of a cell."""
    known = [one.get("metadata", {}).get("image/png") for one in outputs]
    about: dict[str, Any] = next(filter(None, known), {})
    return {"alt": about.get("alt") or "Figure", "width": f"{about.get('width', 614)}px"}


def _playground(paper: str, outputs: list[Any]) -> Any:
    """The place of sliders; the state in which they start stands there until the script runs."""
    start = "".join(one.get("data", {}).get("text/html", "") for one in outputs)
    markup = f'<div class="playground" id="playground-{paper}">{start}</div>'
    return new_output("display_data", data={"text/html": markup})


# -- a paper ---------------------------------------------------------------------------------------


def paper_page(about: dict[str, Any], folder: Path, missing: str) -> str:
    """A paper for people who only read.

    Args:
        about: of `paper_files`. folder: of its run. missing: why there is no run.
    """
    told = about["page"]
    opening = f"# {told['title']}\n\n**In one sentence:** {about['asks']}"
    cells = [new_markdown_cell(opening), html(f'<p lang="ja">{escape(told["ja"])}</p>')]
    if missing:
        found = [html(f'<p class="missing">{escape(missing)}</p>')]
    else:
        cells += [*_picture(folder / "figures" / f"{told['figure']}.png", told["title"])]
        cells.append(html(pages.banner(folder)))
        found = [html(f'<div class="whole">{_values(read_results(folder))}</div>')]
    method = listed(told["method"], "1.")
    command = f"make reproduce PAPERS={about['id']}\nmake live PAPERS={about['id']} MODELS=<model>"
    book = f"notebooks/{about['notebook']}.ipynb"
    cells += [
        new_markdown_cell(f"## What it found here\n\n{READ_FIRST}"),
        *found,
        new_markdown_cell(f"## What it cannot see\n\n{listed(told['cannot_see'])}"),
        new_markdown_cell(f"## The question\n\n{told['question']}"),
        new_markdown_cell(f"## The method\n\n{method}\n\nDenominator: {about['denominator']}."),
        new_markdown_cell(f"## What differs from the paper\n\n{listed(told['differs'])}"),
        new_markdown_cell(f"## How to run it\n\n```sh\n{command}\n```\n\nEvery step: `{book}`."),
    ]
    return page(cells)


def _picture(file: Path, alt: str) -> list[Any]:
    if not file.is_file():
        return []
    data = {"image/png": base64.b64encode(file.read_bytes()).decode()}
    metadata = {"tags": ["remove-input"], "mystnb": {"image": {"alt": alt, "width": "614px"}}}
    return [new_code_cell("0", outputs=[new_output("display_data", data=data)], metadata=metadata)]


def _values(results: "pd.DataFrame") -> str:
    """The headlines of those who were asked, or of simulated respondents where nobody was."""
    found = side_by_side([("", results)])
    columns = ["model", "source", "measure", "means", *VALUES]
    return show(found, 4, "Headlines", columns=columns, names=HEADS)._repr_html_()


# -- models and terms ------------------------------------------------------------------------------


def models_page(frame: "pd.DataFrame") -> str:
    """Any number of models over the headlines: a picture and a table per measure.

    Args:
        frame: of `side_by_side`; empty where no model has a headline.
    """
    opening = Path(__file__).with_name("models_page.txt").read_text(encoding="utf-8")
    cells = [new_markdown_cell(opening.format(limit=LIMIT_NOTE))]
    if frame.empty:
        cells.append(html('<p class="missing">No model to show.</p>'))
    for about in paper_facts.every() if len(frame) else ():
        of_paper = frame[frame["paper"] == about["id"]]
        if len(of_paper):
            cells += [new_markdown_cell(f"## {about['notebook'][:2]} · {about['page']['title']}")]
        for measure, rows in of_paper.groupby("measure", sort=False):
            cells.append(html(f'<div class="models">{_measure(str(measure), rows)}</div>'))
    return page(cells)


def _measure(measure: str, rows: "pd.DataFrame") -> str:
    """Heading, picture and table of one measure."""
    has_value = rows["instead"] == ""
    names = rows["name"].map(pages.drawable)
    drawn = rows.assign(status=rows["instead"].where(~has_value, "ok"), model=names)
    drawn[["value", "ci_low", "ci_high"]] = drawn[["value", "ci_low", "ci_high"]].where(has_value)
    picture = ""
    if has_value.any():
        unit = pages.drawable(rows["unit"].fillna(measure).iloc[0])
        figure = draw(drawn.drop(columns="limit"), kind="dots", x="value", row="model", label=unit)
        svg = base64.b64encode(pages.svg_of(figure).encode()).decode()
        alt = escape(f"{measure}, by model; the table below holds the same")
        picture = f'<img alt="{alt}" src="data:image/svg+xml;base64,{svg}">'
    known = rows.replace("", None).dropna(axis="columns", how="all")
    same = [one for one in ASIDE if one in known and rows[one].nunique(dropna=False) == 1]
    columns = [one for one in ("name", "run", "source", *VALUES) if one in {*known} - {*same}]
    caption = "; ".join([measure, *(f"{human(one)}: {rows[one].iloc[0]}" for one in same)])
    table = show(rows, 4, caption, columns=columns, names=HEADS)
    about = f"{rows['kind'].iloc[0]}; {rows['means'].iloc[0]}"
    return f"<h3>{escape(measure)}</h3><p>{escape(about)}</p>{picture}{table._repr_html_()}"


def glossary_page(terms: "pd.DataFrame") -> str:
    """The terms of `names.terms`, each an entry of the index by its names, which the search finds
    first, with what computes it.
    """
    lines = ["# Glossary 用語集\n\nOne term, one meaning, everywhere.\n\n```{glossary}\n:sorted:\n"]
    for row in terms.fillna("").to_dict("records"):
        see = f" (`{row['see']}`)" if row["see"] else ""
        names = [row["term"], row["ja"], *row["also"]]
        lines += [*map(bare, names), f"  {bare(row['meaning'])}{see}", ""]
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
        sliders (name, values, start: the place of one of them), states (alt, svg and html of each,
        the last slider moving first).
    """
    from katayori.report import explorers

    kept: dict[str, Any] = {}

    def keep(sliders: Sliders, draw: Callable[..., Any]) -> None:
        kept.update(sliders=sliders, draw=draw)

    shown, temporary = explorers.playground, tempfile.tempdir
    explorers.playground = keep  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # where a run without a folder of its own writes
        try:
            program = Path(folder, "playground.py")
            program.write_text(code, encoding="utf-8")
            run_path(str(program))
        finally:
            explorers.playground, tempfile.tempdir = shown, temporary
    values = grid(kept["sliders"], most)
    sliders = [
        {"name": name, "values": own, "start": own.index(kept["sliders"][name][3])}
        for name, own in values.items()
    ]
    every = (dict(zip(values, one, strict=True)) for one in product(*values.values()))
    return {"sliders": sliders, "states": [_state(kept["draw"](**one)) for one in every]}


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

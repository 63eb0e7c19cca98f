"""report.html of an analysed log: one page that needs no network and runs no script."""

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from katayori.report.tables import escape, show, visible
from katayori_tools.analyses.kinds import Kind, Read, Section, Shown
from katayori_tools.first_page import VALID_ENOUGH
from katayori_tools.markup import readable
from katayori_tools.pages import MEANING, REPORT_STYLE, document

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.05
MOST_NAMED = 12  # rows that a sentence names
MOST_SERIES = 8  # models that the figure draws
MAX_TEXT, MAX_TEXTS, MAX_NAME = 80, 3, 40
CANNOT = "Nothing was asked anew: what the log does not hold has no value here, and the reason why."
HEADS = {
    "measure": "measure",
    "cell": "of",
    "value": "value",
    "ci_low": "95 % from",
    "ci_high": "to",
    "n": "n",
    "n_invalid": "invalid",
    "clusters": "clusters",
    "p": "p",
    "p_holm": "p, Holm",
    "status": "status",
    "why": "in words",
}


@dataclass(frozen=True)
class Analysis:
    """All that the page shows.

    Attributes:
        name: of the log. files: their names. guessed: how the kind was found.
    """

    name: str
    files: Sequence[str]
    kind: Kind
    guessed: str
    answers: Read
    notes: Sequence[str]
    sections: Sequence[Section]


def write(analysis: Analysis, file: Path) -> Path:
    """Writes the page and returns its path."""
    picture = figure(analysis.sections, analysis.kind.shown)
    parts = [
        _head(analysis),
        "<main>",
        *(_figure_markup(picture) if picture else []),
        *(_section(section) for section in analysis.sections),
        _notes(analysis),
        "</main>",
        f"<footer>{escape(CANNOT)} Rows as they are in results.csv.</footer>",
    ]
    style = REPORT_STYLE.read_text(encoding="utf-8")
    heading = visible(f"{analysis.name}: {analysis.kind.about}")
    page = document(heading, readable("\n".join(parts)), style=style)
    file.write_text(page, encoding="utf-8", errors="backslashreplace", newline="\n")
    return file


# -- what was read ---------------------------------------------------------------------------------


def valid_table(answers: Read) -> pd.DataFrame:
    """Of each model: asked, valid, share.

    Example:
        >>> frame = pd.DataFrame({"model": ["a", "a"], "valid": [True, False]})
        >>> valid_table(Read(frame)).to_numpy().tolist()
        [['a', 2, 1, 0.5]]
    """
    groups = answers.frame.groupby("model", sort=False)["valid"]
    table = groups.agg(asked="size", valid="sum").reset_index()
    return table.assign(share=table["valid"] / table["asked"])


def percent(share: float) -> str:
    """A share that never says 90 where less was valid, nor 100 where one was not.

    Example:
        >>> percent(0.89999), percent(1)
        ('89.9 %', '100.0 %')
    """
    return f"{int(1000 * share + 1e-9) / 10:.1f} %"


def _head(analysis: Analysis) -> str:
    table = valid_table(analysis.answers)
    asked, valid = int(table["asked"].sum()), int(table["valid"].sum())
    clusters = analysis.answers.frame["cluster"].nunique()
    facts = {
        "Log": ", ".join(analysis.files),
        "Kind": f"{analysis.kind.about} ({analysis.guessed})",
        "Answers": f"{asked:,} imported, of {len(table)} model(s) or prompt(s)",
        "Valid answers": f"{percent(valid / asked)} of {asked:,}",
        "Clusters": f"{clusters:,}",
    }
    rows = (f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in facts.items())
    told = f"<strong>{asked:,} imported answers</strong>: {MEANING['imported']}. {escape(CANNOT)}"
    parts = [
        f"<h1>{escape(analysis.name)}</h1>",
        f'<p class="asked">{escape(analysis.kind.about)}</p>',
        f'<table class="facts"><tbody>{"".join(rows)}</tbody></table>',
        f'<div class="banner imported">{told}</div>',
        *_warnings(table, analysis.answers.frame),
        show(table, caption="Valid answers")._repr_html_(),
    ]
    return f'<header class="first">{"".join(parts)}</header>'


def _warnings(table: pd.DataFrame, frame: pd.DataFrame) -> list[str]:
    """A banner for each model with too few valid answers."""
    made = []
    for row in table[table["share"] < VALID_ENOUGH].to_dict("records"):
        counts = f"{row['valid']:,} of {row['asked']:,}"
        first = f"Only {percent(row['share'])} of the answers of {row['model']} could be read"
        rest = "What is taken over the valid answers describes that part, not the model."
        invalid = frame[(frame["model"] == row["model"]) & ~frame["valid"]]
        made.append(
            f'<div class="banner warning"><strong>{escape(first)} ({counts}).</strong>'
            f" {rest}{_commonest(invalid)}</div>"
        )
    return made


def _commonest(invalid: pd.DataFrame) -> str:
    texts = Counter(str(text)[:MAX_TEXT] for text in invalid["text"] if text is not None)
    listed = [
        f"<code>{escape(' '.join(text.split())) or '(an empty text)'}</code> ({times:,} times)"
        for text, times in texts.most_common(MAX_TEXTS)
    ]
    return f"<br>The commonest without a valid answer: {'; '.join(listed)}." if listed else ""


# -- sections --------------------------------------------------------------------------------------


def _section(section: Section) -> str:
    rows = section.rows
    heads = section.heads or HEADS
    kept = [name for name in heads if name in rows and not _is_blank(rows[name])]
    table = rows[kept].astype(
        {name: "Int64" for name in ("n", "n_invalid", "clusters") if name in kept}
    )
    shown = show(table.rename(columns=heads))._repr_html_()
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in findings(section))
    return f"<h2>{escape(section.title)}</h2><p>{escape(section.about)}</p>{told}{shown}"


def _is_blank(column: pd.Series) -> bool:
    return bool((column.isna() | (column == "")).all())


def findings(section: Section) -> list[str]:
    """What the tests and intervals of a section find, in sentences.

    A p counts after Holm's adjustment where there is one; a signed measure by its interval.

    Example:
        >>> from katayori_tools.analyses.rows import flat_rows
        >>> table = pd.DataFrame({"measure": ["gap"], "model": "a", "value": 0.2, "status": "ok"})
        >>> rows = flat_rows(table.assign(ci_low=0.1, ci_high=0.3))
        >>> findings(Section("", "", rows, signed=("gap",)))
        ['The interval lies above 0: gap (model=a).']
    """
    return [*_of_tests(section), *_of_intervals(section)]


def _of_tests(section: Section) -> list[str]:
    rows = section.rows
    told = rows[rows["measure"].str.endswith(section.decides)]
    p = told["p_holm"].where(told["p_holm"].notna(), told["p"])
    known = told[p.notna() & (told["status"] != "missing_by_level")]
    if known.empty:
        return []
    below = known[p[known.index] < ALPHA]
    if below.empty:
        return [f"None of the {len(known)} tests has a p below .05; no proof of absence."]
    return [f"p is below .05 in {len(below)} of {len(known)} tests: {_named(below)}."]


def _of_intervals(section: Section) -> list[str]:
    rows = section.rows
    own = rows[rows["measure"].isin(section.signed) & rows["ci_low"].notna()]
    if own.empty:
        return []
    above, below = own[own["ci_low"] > 0], own[own["ci_high"] < 0]
    told = [
        f"The interval lies {side} 0: {_named(part)}."
        for side, part in (("above", above), ("below", below))
        if len(part)
    ]
    holding = len(own) - len(above) - len(below)
    if holding:
        told.append(
            f"{holding} of {len(own)} intervals of differences hold 0; no proof of absence."
        )
    return told


def _named(rows: pd.DataFrame) -> str:
    texts = [f"{row['measure']} ({row['cell']})" for row in rows.to_dict("records")]
    more = f" and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return "; ".join(texts[:MOST_NAMED]) + more


def _notes(analysis: Analysis) -> str:
    listed = "".join(f"<li>{escape(note)}</li>" for note in analysis.notes)
    return f"<h2>How the log was read</h2><ul>{listed}</ul>"


# -- the figure ------------------------------------------------------------------------------------


def figure(sections: Sequence[Section], shown: Shown) -> "Figure | None":
    """The measures that the kind shows with their intervals; None where none has a value."""
    from katayori.report.charts import draw

    listed = [
        row
        for section in sections
        for row in section.rows.to_dict("records")
        if row["measure"] in shown.measures and row["value"] == row["value"]
    ]
    models = list(dict.fromkeys(row["model"] for row in listed))[:MOST_SERIES]
    drawn = pd.DataFrame([row for row in listed if row["model"] in models])
    if drawn.empty:
        return None
    marks = drawn[["value", "ci_low", "ci_high", "status"]]
    marks = marks.assign(row=drawn["line"].map(_drawn), model=drawn["model"].map(_drawn))
    marks = marks.drop_duplicates(["row", "model"])  # long names may be the same once cut
    return draw(
        marks,
        kind="dots",
        x="value",
        row="row",
        series="model",
        label=shown.label,
        line=shown.reference,
        scale=100,
    )


def _drawn(name: object) -> str:
    """A name as a figure may draw it: short, and no formula.

    Example:
        >>> _drawn("price $x$")
        'price \\\\$x\\\\$'
    """
    text = " ".join(visible(name).split())
    cut = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
    return cut.replace("\\", "∖").replace("$", r"\$")


def _figure_markup(picture: "Figure") -> list[str]:
    """The figure as a picture within the page."""
    from matplotlib import rc_context

    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "katayori"}):
        picture.savefig(buffer, format="svg", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    about = "Values with their 95 % intervals, as in the tables below"
    return [f'<figure><img alt="{about}" src="data:image/svg+xml;base64,{data}"></figure>']

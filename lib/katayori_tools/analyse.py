"""`make analyse LOG=`: somebody else's log with our denominators, intervals and paired tests.

outputs/analyse/<name>/
    results.csv    a row a measure and cell, or a test
    report.html    the same as one page, with a figure

`logs` reads the files, `log_kinds` the answers, `log_measures` measures them. What is known of
columns, words and kinds stands in logs.yaml.
"""

import base64
import sys
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths
from katayori.errors import KatayoriError, expect
from katayori.report.run import harmless
from katayori.report.tables import show, visible
from katayori_tools import log_kinds, log_measures, logs as reader
from katayori_tools.first_page import VALID_ENOUGH, percent
from katayori_tools.logs import Log, columns_named, columns_there, commonest, listed
from katayori_tools.markup import readable
from katayori_tools.pages import MEANING, REPORT_STYLE, document

COLUMNS = (
    *("source", "measure", "cell", "value", "n", "n_invalid", "clusters"),
    *("ci_low", "ci_high", "p", "p_holm", "status", "why"),
)
#: What a table of the page shows, as far as it has it.
SHOWN = (
    *("measure", "cell", "value", "ci_low", "ci_high", "why", "n", "n_invalid", "clusters"),
    *("p", "p_holm", "status"),
)
HEADS = {"cell": "of", "why": "in words", "n_invalid": "unreadable", "p_holm": "p, Holm"}
COUNTS = ("n", "n_invalid", "clusters")
MOST_SERIES, MAX_NAME = 8, 40  # models that the figure draws, characters of a name there


def analyse(
    logs: Sequence[str],
    *,
    kind: str = "",
    column: Sequence[str] = (),
    options: str = "",
    dialects: bool = False,
    out: str = "",
) -> int:
    """Reads the logs, says of what kind they are, writes results.csv and report.html; 0.

    Args:
        logs: .json or .eval (inspect_ai), samples_*.jsonl (lm-evaluation-harness), or a table
            (.csv, .tsv, .jsonl). kind: what was asked, without it found out by the columns.
        column: NAME=COLUMN, a column that bears another name; once for each. options: the words
            that the options bear in answers, such as A,B,C. dialects: also the scores that seven
            other tools would make of these answers. out: the folder, without it
            outputs/analyse/<name of the log>.

    Raises:
        KatayoriError: a log that cannot be read, or whose columns fit no kind; a kind of log of
        which no other tool's scores are known.
    """
    files = [Path(log) for log in logs if log]
    if not files:
        raise KatayoriError("name a log: make analyse LOG=my.eval")
    words = [word.strip() for word in options.split(",") if word.strip()]
    frame, notes = reader.frame_of(files, words)
    names = columns_of(column, frame)
    first, kind, guessed = files[0], *chosen(frame, kind, names)
    about = listed()["kinds"][kind]
    print(f"{first.name}: {about['about']}, kind {kind} ({guessed})", file=sys.stderr)
    if dialects and "dialects" not in about:
        able = " or ".join(one for one, kind in listed()["kinds"].items() if "dialects" in kind)
        raise KatayoriError(
            f"{first.name}: --dialects scores logs of the kind {able} as other tools do, not of the"
            f" kind {kind}; leave it out, or say --kind {able}"
        )
    log = Log(frame, kind, names, options=bool(words))
    log.notes += [*notes, *log.lost_endings()]
    answers = getattr(log_kinds, kind)(log)
    if not answers["valid"].any():
        raise KatayoriError(
            f"{first.name}: none of {len(answers):,} answers could be read as {kind};"
            f" found: {commonest(answers['text'])}. {' '.join(log.notes)}"
        )
    tables = getattr(log_measures, kind)(answers)
    if dialects:
        tables["dialects"] = log_measures.dialects(answers, log.marked)
    tables = {name: in_words(table) for name, table in tables.items() if len(table)}
    folder = Path(out) if out else paths.outputs_dir() / "analyse" / paths.safe_name(first.stem)
    folder.mkdir(parents=True, exist_ok=True)
    table = log_measures.together(*tables.values()).reindex(columns=COLUMNS)
    text = table.astype(object).map(harmless)
    text.to_csv(folder / "results.csv", index=False, lineterminator="\n")
    facts = {"Log": ", ".join(file.name for file in files)}
    facts["Kind"] = f"{about['about']} ({guessed})"
    page = page_of(first.stem, about, facts, answers, tables, log.notes)
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8", errors="backslashreplace", newline="\n")
    share = percent(answers["valid"].mean())
    print(f"{len(answers):,} imported answers, {share} valid: {folder}", file=sys.stderr)
    return 0


def columns_of(texts: Sequence[str], frame: pd.DataFrame) -> dict[str, str]:
    """Of `name=column` texts the names and columns.

    Raises KatayoriError for a text of another form, a name that is given twice or that no kind
    knows, and a column that is not there.

    Example:
        >>> columns_of(["cluster=template", "people=anna,ben"], pd.DataFrame(columns=["template"]))
        Traceback (most recent call last):
        ...
        katayori.errors.KatayoriError: --column people=anna,ben: no column 'anna'; there: template
    """
    known = listed()["columns"].keys()
    known = known | {name for kind in listed()["kinds"].values() for name in kind["columns"]}
    names: dict[str, str] = {}
    for text in texts:
        name, equals, own = text.partition("=")
        if not (name and equals):
            raise KatayoriError(f"--column takes name=column, e.g. cluster=template, not {text!r}")
        if name in names:
            raise KatayoriError(f"--column names {name} twice; give it once")
        expect(name, known, "name of --column")
        if absent := [one for one in columns_named(own, frame) if one not in frame]:
            there = columns_there(frame)
            raise KatayoriError(f"--column {text}: no column {absent[0]!r}; there: {there}")
        names[name] = own
    return names


def chosen(frame: pd.DataFrame, kind: str, names: Mapping[str, str]) -> tuple[str, str]:
    """The kind that was named, or the only one whose columns are there, and how it was found.

    Raises:
        KatayoriError: an unknown kind; columns that a named kind lacks; no kind, or several, that
        fit.
    """
    known = listed()["kinds"]
    if kind:
        expect(kind, known, "kind of log")
    lacks = {one: Log(frame, one, names).lacks() for one in known}
    there = f"columns there: {columns_there(frame)}; name yours by --column NAME=COLUMN"
    if kind and lacks[kind]:
        raise KatayoriError(f"--kind {kind} needs {'; '.join(lacks[kind])}; {there}")
    if kind:
        return kind, "as named"
    fitting = [one for one in known if not lacks[one]]
    if len(fitting) > 1:
        told = " and ".join(fitting)
        raise KatayoriError(f"the columns fit the kinds {told}; say which: --kind {fitting[0]}")
    if not fitting:
        needs = "; ".join(f"{one} lacks {', '.join(told)}" for one, told in lacks.items())
        raise KatayoriError(f"no kind of log fits: {needs}; {there}, the kind by --kind")
    return fitting[0], "by its columns; --kind names another"


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """The table with source and why: what its status says, and where it has one, its choice."""
    known = listed()["statuses"]
    told = [known.get(one, str(one).replace("_", " ")) for one in table["status"]]
    beside = table["why"] if "why" in table else [""] * len(table)
    both = [filter(None, one) for one in zip(told, beside, strict=True)]
    return table.assign(source="imported", why=["; ".join(one) for one in both])


# -- the page --------------------------------------------------------------------------------------


def page_of(
    name: str,
    about: Mapping[str, Any],
    facts: dict[str, str],
    answers: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    notes: Sequence[str],
) -> str:
    """report.html: what was read, the figure, a table a section, and how the log was read."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    groups = answers.groupby("model", sort=False)["valid"]
    valid = groups.agg(asked="size", valid="sum", share="mean").reset_index()
    facts |= {"Valid answers": f"{percent(answers['valid'].mean())} of {len(answers):,}"}
    facts |= {"Clusters": f"{answers['cluster'].nunique():,}"}
    models = valid.to_dict("records")
    for row in models:
        lost = answers[(answers["model"] == row["model"]) & ~answers["valid"]]
        row |= {"few": row["share"] < VALID_ENOUGH, "percent": percent(row["share"])}
        row |= {"commonest": commonest(lost["text"])}
    described = listed()["sections"]
    sections = [
        described[one] | {"table": Markup(_shown(table)._repr_html_())}
        for one, table in tables.items()
    ]
    loader = FileSystemLoader(Path(__file__).parent)
    template = Environment(loader=loader, autoescape=True).get_template("analyse.html")
    body = template.render(
        name=name,
        kind=about,
        facts=facts,
        asked=len(answers),
        imported=MEANING["imported"],
        models=models,
        valid=Markup(show(valid, caption="Valid answers")._repr_html_()),
        picture=figure(tables, about["figure"]),
        sections=sections,
        notes=notes,
    )
    style = REPORT_STYLE.read_text(encoding="utf-8")
    return document(visible(f"{name}: {about['about']}"), readable(visible(body)), style=style)


def _shown(table: pd.DataFrame) -> Any:
    blank = {name for name in table if (table[name].isna() | (table[name] == "")).all()}
    kept = [name for name in SHOWN if name in table and name not in blank]
    counts = {name: "Int64" for name in COUNTS if name in kept}
    return show(table[kept].astype(counts), names=HEADS)


def figure(tables: Mapping[str, pd.DataFrame], about: Mapping[str, Any]) -> str:
    """A picture of the measures of the kind with their intervals; empty where none has a value."""
    from matplotlib import rc_context

    from katayori.report.charts import draw

    drawn = log_measures.together(*tables.values())
    drawn = drawn[drawn["measure"].isin(about["measures"]) & drawn["value"].notna()]
    drawn = drawn[drawn["model"].isin(drawn["model"].unique()[:MOST_SERIES])]
    if drawn.empty:
        return ""
    marks = drawn[["value", "ci_low", "ci_high", "status"]]
    marks = marks.assign(row=drawn["line"].map(_drawn), model=drawn["model"].map(_drawn))
    marks = marks.drop_duplicates(["row", "model"])  # long names may be the same once cut
    named = {"kind": "dots", "x": "value", "row": "row", "series": "model"}
    picture = draw(marks, **named, label=about["label"], line=about["line"], scale=100)
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "katayori"}):
        picture.savefig(buffer, format="svg", metadata={"Date": None})
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _drawn(name: object) -> str:
    """A name as a figure may draw it: short, and no formula.

    Example:
        >>> _drawn("price $x$")
        'price \\\\$x\\\\$'
    """
    text = " ".join(visible(name).split())
    cut = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
    return cut.replace("\\", "∖").replace("$", r"\$")

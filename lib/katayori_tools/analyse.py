"""`make analyse LOG=`: somebody else's log with our denominators, intervals and paired tests.

outputs/analyse/<name>/
    results.csv    a row a measure and cell, or a test (`analyses.rows`)
    report.html    the same as one page, with a figure
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.run import harmless
from katayori_tools.analyses import page, reading
from katayori_tools.analyses.kinds import Section, check_names, chosen, kinds
from katayori_tools.analyses.rows import COLUMNS, together


def analyse(
    *,
    logs: Sequence[str],
    kind: str = "",
    column: Sequence[str] = (),
    options: str = "",
    dialects: bool = False,
    out: str = "",
) -> int:
    """Reads the logs, says of what kind they are, writes results.csv and report.html; 0.

    Args:
        logs: files of one kind. kind: what was asked; empty: found out by the columns.
        column: `name=column` texts for columns that bear other names. options: the words that the
            options bear in answers, between commas. dialects: whether to add how other tools would
            score the answers. out: the folder to write.

    Raises:
        KatayoriError: a log that cannot be read, or whose columns fit no kind; a kind of log of
        which no other tool's scores are known.
    """
    files = [Path(log) for log in logs if log]
    if not files:
        raise KatayoriError("name a log: make analyse LOG=my.eval")
    names = reading.parsed_names(column)
    known = kinds()
    check_names(names, known.values())
    words = [word.strip() for word in options.split(",") if word.strip()]
    log = reading.read(files, names, words)
    name = chosen(log, kind, known)
    guessed = "as named" if kind else "by its columns; --kind names another"
    print(f"{files[0].name}: {known[name].about}, kind {name} ({guessed})", file=sys.stderr)
    others = known[name].dialects if dialects else None
    if dialects and others is None:
        able = " or ".join(one for one, kind in known.items() if kind.dialects)
        raise KatayoriError(
            f"{files[0].name}: --dialects scores logs of the kind {able} as other tools do, not of"
            f" the kind {name}; leave it out, or say --kind {able}"
        )
    answers = known[name].read(log)
    if not answers.frame["valid"].any():
        raise KatayoriError(
            f"{files[0].name}: none of {len(answers.frame):,} answers could be read as {name};"
            f" found: {reading.commonest(answers.frame['text'])}. {' '.join(answers.notes)}"
        )
    sections = known[name].sections(answers)
    sections += [others(answers)] if others else []
    folder = Path(out) if out else paths.outputs_dir() / "analyse" / paths.safe_name(files[0].stem)
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(sections, folder / "results.csv")
    about = page.Analysis(
        name=files[0].stem,
        files=[file.name for file in files],
        kind=known[name],
        guessed=guessed,
        answers=answers,
        notes=[*log.notes, *answers.notes],
        sections=sections,
    )
    page.write(about, folder / "report.html")
    _say(answers.frame, folder)
    return 0


def write_rows(sections: Sequence[Section], file: Path) -> None:
    """All rows of all sections as a table that a spreadsheet may open."""
    table = together([section.rows for section in sections])[list(COLUMNS)]
    table.astype(object).map(harmless).to_csv(file, index=False, lineterminator="\n")


def _say(frame: pd.DataFrame, folder: Path) -> None:
    """How many answers could be read, and where the results are."""
    valid = int(frame["valid"].sum())
    share = page.percent(valid / len(frame))
    print(f"{len(frame):,} imported answers, {share} valid: {folder}", file=sys.stderr)

"""`make trace RESULT=...`: from a row of results.json to the raw answers behind it.

A row names its prompts and variants, provenance.json beside it what was read of them. The answers
are read again as the notebook read them; nothing is asked. `table` lists the commands in reports.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths, profiles, run_folders
from katayori.errors import KatayoriError
from katayori.papers import get_paper, paper_ids
from katayori.prompting import recordings
from katayori.report.run import harmless
from katayori.report.tables import visible
from katayori_tools import notebooks
from katayori_tools.choices import NO_SERVER, Papers, Positive, Server

if TYPE_CHECKING:
    import pandas as pd

#: So many rows are listed where several fit, and so many answers are shown by default.
LISTED, SHOWN = 20, 10
#: The sources of rows that rest on answers which can be read again.
ANSWERED = ("recorded", "live", "imported")
#: What is shown of an answer beside the columns of the cell, where it is there.
OF_ANSWER = ("outcome", "answer", "text", "finish_reason")
LONGEST = 60  # characters of a text in the terminal; the CSV has all of them

Row = Mapping[str, Any]


def trace(
    result: str = "",
    *,
    papers: Papers = "",
    profile: str = "recorded",
    models: str = "",
    server: Server = NO_SERVER,
    limit: Positive = SHOWN,
    save: str = "",
) -> None:
    """Prints a row of results.json, the files behind it, and its raw answers.

    Args:
        result: the number of the row, from 1, or words that its paper, result, model, cell and
            prompt must hold; several rows that fit are listed.
        papers: by name or number (all). profile: the run. models: of a live or imported run, the
            models it asked. server: whose stored answers are read.
        limit: so many answers are shown. save: a CSV file for all of them.

    Raises:
        KatayoriError: no such row, no such run.
    """
    run = run_folders.only_run(profiles.load(profile), notebooks.names(models), server.label)
    found = _fitting(
        result, run, [one for one in notebooks.choose(papers) if one != notebooks.LAST]
    )
    if len(found) > 1:
        for paper, number, row in found[:LISTED]:
            print(visible(f"{notebooks.registry()[paper].stem[:2]}  {number:>5}  {_in_words(row)}"))
        more = "" if len(found) <= LISTED else f", of which the first {LISTED} stand here"
        print(f"{len(found)} rows fit{more}; name one: RESULT=<its number> PAPERS=<its paper>")
        return
    [(paper, number, row)] = found
    print(visible(f"row {number} of {paper}/results.json: {_in_words(row)}\n{_value_of(row)}"))
    if row["source"] in ANSWERED and row["prompt_id"]:
        _tell_answers(run / paper, row, limit, save)
    else:
        print(visible(_without_answers(paper, row)))


def _fitting(result: str, run: Path, papers: list[str]) -> list[tuple[str, int, Row]]:
    """Paper, number and row of what a number or words mean. KatayoriError where nothing fits."""
    if not papers:
        raise KatayoriError("notebook 00 has no answers of its own; name one of 01 to 05")
    rows: list[tuple[str, int, Row]] = [
        (paper, number, row)
        for paper in papers
        for number, row in enumerate(notebooks.noted(run / paper, "results.json"), 1)
    ]
    if not rows:
        raise KatayoriError(f"no results of {', '.join(papers)} in {run}; run the notebooks first")
    words = result.casefold().split()
    if not words:
        raise KatayoriError("name a row: RESULT=<its number> or words of it")
    found = []
    for paper, number, row in rows:
        text = f"{paper} {_in_words(row)} {row['prompt_id'] or ''}".casefold()
        is_it = str(number) == words[0] if words[0].isdecimal() else all(w in text for w in words)
        found += [(paper, number, row)] if is_it else []
    if not found:
        last = {paper: number for paper, number, _ in rows}
        there = ", ".join(f"{paper} has {number} rows" for paper, number in last.items())
        raise KatayoriError(f"no row fits RESULT={result!r}; {there}")
    return found


def _in_words(row: Row) -> str:
    cell = ", ".join(f"{name}={level}" for name, level in row["cell"].items())
    return " | ".join(part for part in (row["what"], row["model"], cell) if part)


def _value_of(row: Row) -> str:
    """What the row says, in lines."""
    value, low, high = (
        "none" if row[name] is None else f"{row[name]:.6g}"
        for name in ("value", "ci_low", "ci_high")
    )
    ends = f" [{low}, {high}]" if low != "none" else ""
    told = [f"value {value}{ends} {row['unit'] or ''}".rstrip()]
    told += [f"{name} {row[name]}" for name in ("n", "n_invalid", "clusters") if row[name]]
    verdict = f"\n  verdict: {row['verdict']}. {row['why'] or ''}" if row["verdict"] else ""
    prompts = f"prompts: {row['prompt_id'] or 'none named'}; answers: {row['source']}"
    return f"  {', '.join(told)}, status {row['status']}{verdict}\n  {prompts}"


def _without_answers(paper: str, row: Row) -> str:
    """Where a row comes from that rests on no answers which could be shown."""
    if row["source"] == "published":
        files = sorted(one.name for one in (paths.data_dir() / "published" / paper).iterdir())
        return f"A figure of the paper, from data/published/{paper}/ ({', '.join(files)})."
    if row["source"] == "simulated":
        planted = get_paper(paper).about["simulated"].get(row["model"], "a cell of the notebook")
        again = f"make reproduce PAPERS={notebooks.registry()[paper].stem[:2]}"
        return (
            f"No language model gave these answers. They are simulated: {planted}\n"
            f"They are not stored; {again} draws the same ones again, by a fixed seed."
        )
    return "The row names no prompt: it rests on no answers, or the notebook does not say on which."


def _tell_answers(folder: Path, row: Row, limit: int, save: str | None) -> None:
    """Prints the files and the answers of a row."""
    import pandas as pd

    about = notebooks.noted(folder, "provenance.json")
    if "read" not in about:
        raise KatayoriError(f"{folder} was made before runs listed what they read; run it again")
    variants, prompts = (row["variant"] or "").split("; "), (row["prompt_id"] or "").split("+")
    reads = [
        one
        for one in about["read"]
        if one["model"] == (row["model"] or one["model"])
        and one["source"] == row["source"]
        and one["prompt_id"] in prompts
        and (one["variant"] is None or one["variant"] in variants)
    ]
    for name, noted in {k: one for read in reads for k, one in read["shards"].items()}.items():
        print(f"  {_checked(row['paper'], name, noted)}")
    study = run_folders.reopened(folder)
    how = [(one["prompt_id"], [one["model"]], one["items"], one["repetitions"]) for one in reads]
    answers = pd.concat(
        [study.answers(p, models=m, items=i, repetitions=r) for p, m, i, r in how],
        ignore_index=True,
    )
    chosen, of_cell, unmatched = of_the_cell(answers, row["cell"])
    print(f"{len(answers):,} answers were read to these prompts; the cell picks {len(chosen):,}.")
    print(visible(_how_far(row, chosen, unmatched)))
    for column in ("outcome", "answer"):
        if column in chosen:
            counts = chosen[column].value_counts().head(LISTED)
            told = ", ".join(f"{name} {n:,}" for name, n in counts.items())
            print(visible(f"{column}: {told or 'none'}"))
    given = [name for name in chosen if re.match("p_|logp_|tokens_|mass$", str(name))]
    several = ["prompt_id"] * (chosen["prompt_id"].nunique() > 1)
    columns = dict.fromkeys(["item_id", *several, *of_cell, *OF_ANSWER, *given])
    listed = chosen[[name for name in columns if name in chosen]]
    shown = listed.head(limit).astype(object)
    print(shown.where(shown.notna(), "-").map(_as_text).to_string(index=False))
    if not save:
        print(f"{len(listed):,} answers in all; SAVE=file.csv writes them")
        return
    safe = listed.astype(object).map(harmless).rename(columns=harmless)
    try:
        safe.to_csv(save, index=False, lineterminator="\n")
    except OSError as error:
        raise KatayoriError(f"{save} cannot be written: {error}") from None
    print(f"all {len(listed):,} answers: {save}")


def _checked(paper: str, name: str, about: Mapping[str, Any]) -> str:
    """A file of recorded answers, and whether it is the one that was read."""
    path = paths.data_dir() / "recorded" / paper / name
    known = [about["sha256"], recordings.manifest(paper).get(name, {}).get("sha256")]
    is_same = path.is_file() and known == [paths.sha256(path)] * 2
    same = "as in the manifest" if is_same else "NOT the file that this run read"
    count, digest = about["count"], about["sha256"][:12]
    return f"data/recorded/{paper}/{name}: {count:,} answers, sha256 {digest}…, {same}"


def of_the_cell(
    answers: "pd.DataFrame", cell: Mapping[str, Any]
) -> tuple["pd.DataFrame", list[str], list[str]]:
    """The answers that a row's cell picks by columns of the items.

    A pair `factor`, `level` picks by the column that is named as the factor; `prompt` is the name
    of a prompt, by which the answers were read.

    Returns:
        the answers, the columns that picked, and the parts of the cell that pick nothing, in words.
    """
    pairs = {name: level for name, level in cell.items() if name != "prompt"}
    if pairs.get("factor") in answers and "level" in pairs:
        pairs[pairs.pop("factor")] = pairs.pop("level")
    fits = {
        name: answers[name].astype(str) == str(pairs[name]) for name in pairs if name in answers
    }
    used = [name for name, is_level in fits.items() if is_level.any()]
    for name in used:
        answers = answers[fits[name].reindex(answers.index)]
    return answers, used, [f"{name}={pairs[name]}" for name in pairs if name not in used]


def _how_far(row: Row, chosen: "pd.DataFrame", unmatched: list[str]) -> str:
    """Whether the answers are those of the row, and what of its cell picked none of them."""
    n, n_invalid = row["n"] or 0, row["n_invalid"] or 0
    told = [f"Picks no answers by itself: {', '.join(unmatched)}. This names a statistic, or a"]
    told = [f"{told[0]} choice that the notebook makes."] if unmatched else []
    if len(chosen) == n + n_invalid:
        those = "Their number is that of" if unmatched else "These are"
        told.append(f"{those} the {n:,} + {n_invalid:,} invalid of the row.")
    else:
        told.append(
            f"The row counts {n:,} and {n_invalid:,} invalid: the notebook chooses or pairs among"
            " these answers, or counts something else, and that is not followed here."
        )
    return "\n".join(told)


def _as_text(one: Any) -> str:
    """A cell for a terminal, whatever it holds."""
    text = f"{one:.4g}" if isinstance(one, float) else visible(one).replace("\n", "⏎")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


# -- in reports ------------------------------------------------------------------------------------


def table(folder: Path) -> str:
    """Which rows of results.json each result has, and the command that shows the first of them.

    HTML for report.html; empty where the folder holds no results, and for notebook 00.
    """
    import pandas as pd

    rows = pd.DataFrame(notebooks.noted(folder, "results.json"))
    about = notebooks.noted(folder, "provenance.json")
    if rows.empty or "read" not in about or rows["paper"][0] not in paper_ids():
        return ""
    given = about["parameters"]
    run = {"PAPERS": notebooks.registry()[rows["paper"][0]].stem[:2]}
    if given.get("profile", "recorded") != "recorded":
        run |= {"PROFILE": given["profile"], "MODELS": " ".join(given.get("models", ()))}
        run["LABEL"] = run_folders.run_label()
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in run.items() if value)
    rows["first"] = rows.index + 1
    named = rows.fillna({"prompt_id": "-"}).groupby(["what", "source"], sort=False)
    lines = named.agg(
        rows=("first", "size"), first=("first", "min"), prompts=("prompt_id", _listed)
    )
    lines["command"] = [f"make trace RESULT={number} {words}" for number in lines["first"]]
    heads = {"what": "result", "source": "answers", "first": "first row"}
    shown = lines.reset_index().rename(columns=heads).to_html(index=False, border=0)
    return (
        '<h2 id="trace">Where each number comes from</h2>\n<p>The command prints the first row of'
        " results.json with the files and the raw answers behind it; another number prints another"
        f" row.</p>\n{shown}\n"
    )


def _listed(prompts: "pd.Series[str]") -> str:
    """The prompts of some rows, each once."""
    return ", ".join(sorted(set("+".join(prompts).split("+"))))

"""`make trace RESULT=...`: from a row of results.json to the raw answers behind it.

A row names its prompts and variants, provenance.json beside it what was read of them. The answers
are read again as the notebook read them; nothing is asked. `table` lists the commands in reports.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths, profiles, run_folders
from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.prompting import recordings
from katayori.report.run import harmless
from katayori_tools import notebooks
from katayori_tools.choices import NO_SERVER, Papers, Positive, Server

#: So many rows are listed where several fit, and so many answers are shown by default.
LISTED, SHOWN = 20, 10
#: What is shown of an answer beside the columns of the cell, where it is there.
OF_ANSWER = ("outcome", "answer", "text", "finish_reason")
LONGEST = 60  # characters of a text in the terminal; the CSV has all of them
#: The sources of rows that rest on stored answers; the others, `{}` is the paper.
ANSWERED = ("recorded", "live", "imported")
NOT_STORED = {
    "published": "A figure of the paper, from the files below data/published/{}.",
    "simulated": "No language model gave these answers: the notebook draws them by a fixed seed.",
}

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
    found = _fitting(result, run, list(notebooks.choose(papers)))
    if len(found) > 1:
        for number, row in found[:LISTED]:
            print(f"{row['paper']:<14}{number:>5}  {_in_words(row)}")
        print(f"{len(found):,} rows fit; name one: RESULT=<its number> PAPERS=<its paper>")
        return
    [(number, row)] = found
    paper, source = row["paper"], row["source"]
    print(f"row {number} of {paper}/results.json")
    for name, value in row.items():
        if value not in (None, "", {}):
            print(f"  {name}: {value}")
    if row["prompt_id"] and source in ANSWERED:
        _tell_answers(run / paper, row, limit, save)
    else:
        print(NOT_STORED.get(source, "The notebook names no answers for this row.").format(paper))


def _fitting(result: str, run: Path, papers: list[str]) -> list[tuple[int, Row]]:
    """Number and row of what a number or words mean. KatayoriError where nothing fits."""
    rows: list[tuple[int, Row]] = [
        one
        for paper in papers
        for one in enumerate(run_folders.noted(run / paper, "results.json"), 1)
    ]
    if not rows:
        raise KatayoriError(f"no results of {', '.join(papers)} in {run}; run the notebooks first")
    words = result.casefold().split()
    if result.strip().isdecimal():
        found = [(number, row) for number, row in rows if number == int(result)]
    else:
        texts = [f"{row['paper']} {_in_words(row)}".casefold() for _, row in rows]
        found = [
            one for one, text in zip(rows, texts, strict=True) if all(w in text for w in words)
        ]
    if not found:
        there = ", ".join(dict.fromkeys(row["paper"] for _, row in rows))
        raise KatayoriError(f"no row fits RESULT={result!r} among the {len(rows)} rows of {there}")
    return found


def _in_words(row: Row) -> str:
    cell = ", ".join(f"{name}={level}" for name, level in row["cell"].items())
    return " | ".join(filter(None, (row["what"], row["model"], cell, row["prompt_id"])))


def _tell_answers(folder: Path, row: Row, limit: int, save: str) -> None:
    """Prints the files and the answers of a row."""
    variants, prompts = (row["variant"] or "").split("; "), row["prompt_id"].split("+")
    reads = [
        one
        for one in run_folders.noted(folder, "provenance.json").get("read", ())
        if one["model"] == (row["model"] or one["model"])
        and one["source"] == row["source"]
        and one["prompt_id"] in prompts
        and (one["variant"] is None or one["variant"] in variants)
    ]
    if not reads:
        raise KatayoriError(f"{folder} does not say which answers it read; run the notebook again")
    for name, noted in {k: one for read in reads for k, one in read["shards"].items()}.items():
        print(_checked(row["paper"], name, noted))
    study = run_folders.reopened(folder)
    how = [(one["prompt_id"], [one["model"]], one["items"], one["repetitions"]) for one in reads]
    answers = pd.concat(
        [study.answers(p, models=m, items=i, repetitions=r) for p, m, i, r in how],
        ignore_index=True,
    )
    chosen, of_cell, unmatched = of_the_cell(answers, row["cell"])
    print(f"{len(answers):,} answers were read to these prompts; the cell picks {len(chosen):,}.")
    if unmatched:
        print(f"These parts of the cell pick none by themselves: {', '.join(unmatched)}")
    if counted := [name for name in ("outcome", "answer") if name in chosen]:
        print(chosen.value_counts(counted, dropna=False).to_string())
    given = [name for name in chosen if re.match("p_|logp_|tokens_|mass$", str(name))]
    columns = dict.fromkeys(["item_id", "prompt_id", *of_cell, *OF_ANSWER, *given])
    listed = chosen[[name for name in columns if name in chosen]]
    shown = listed.head(limit)
    print(shown.to_string(index=False, na_rep="-", max_colwidth=LONGEST))
    if not save:
        print(f"{len(listed):,} answers in all; SAVE=file.csv writes them")
        return
    try:
        harmless(listed).to_csv(save, index=False, lineterminator="\n")
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
    answers: pd.DataFrame, cell: Mapping[str, Any]
) -> tuple[pd.DataFrame, list[str], list[str]]:
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


# -- in reports ------------------------------------------------------------------------------------


def table(folder: Path) -> str:
    """Which rows of results.json each result has, and the command that shows the first of them.

    HTML for report.html; empty where the folder holds no results, and for notebook 00.
    """
    rows = pd.DataFrame(run_folders.noted(folder, "results.json"))
    about = run_folders.noted(folder, "provenance.json")
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
        rows=("first", "size"),
        first=("first", "min"),
        prompts=("prompt_id", lambda ids: ", ".join(sorted(set("+".join(ids).split("+"))))),
    )
    lines["command"] = [f"make trace RESULT={number} {words}" for number in lines["first"]]
    heads = {"what": "result", "source": "answers", "first": "first row"}
    shown = lines.reset_index().rename(columns=heads).to_html(index=False, border=0)
    return (
        '<h2 id="trace">Where each number comes from</h2>\n<p>The command prints the first row of'
        " results.json with the files and the raw answers behind it; another number prints another"
        f" row.</p>\n{shown}\n"
    )

"""`katayori review`: readers judge every Japanese item, and what they said is read back and logged.

Without `--read` it writes a form a reader; with it, it checks filled-in forms, prints how far the
readers agree and writes their decisions to the log beside the items. `reviewed` is the word of a
native reader: what a machine read is logged as a machine's reading, never as `reviewed: true`.
Forms are tables for a spreadsheet; `construct` makes and reads its forms with the same functions.
"""

import re
import time
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from katayori import paths
from katayori.data import files
from katayori.data.schema import Lenient
from katayori.errors import KatayoriError, expect
from katayori.metrics.agreement import alpha
from katayori.papers import paper_ids
from katayori.report.run import harmless
from katayori_tools import paper_files
from katayori_tools.choices import Papers, Positive
from katayori_tools.notebooks import names

NATIVE, MACHINE = "native reader", "machine"
KINDS = {NATIVE: NATIVE, "日本語を母語とする読み手": NATIVE, MACHINE: MACHINE, "機械": MACHINE}
YES, NO = "yes", "no"
SAID = {"yes": YES, "はい": YES, "no": NO, "いいえ": NO}
#: What is judged, and what each judgement may be.
JUDGED = {
    "natural": SAID,
    "answerable": SAID,
    "stereotype_plausible": SAID | {"none": "none", "該当なし": "none"},
}
FREE = ["suggestion", "comment"]
COLUMNS = ["reader", "kind", "folder", "item_id", "items", "text", *JUDGED, *FREE]
KANA = "[\u3041-\u30ff]"  # the English items have none
TEXT = ["folder", "item_id"]


def review(
    *,
    papers: Papers = "",
    readers: Positive = 1,
    folder: str = "",
    read: Sequence[str] = (),
) -> int:
    """Write forms, or read them back.

    Args:
        papers: whose texts are read; all without one. readers: forms to write. folder: where they
            go, `outputs/review` without one. read: filled-in forms to read back.
    """
    if read:
        _read([Path(name) for name in read])
        return 0
    target = Path(folder or paths.root() / "outputs" / "review")
    texts = items_of(names(papers) or paper_ids())
    if texts.empty:
        raise KatayoriError("no Japanese items in the papers asked for")
    forms = [target / f"form_{number}.csv" for number in range(1, readers + 1)]
    for path in filter(Path.exists, forms):
        raise KatayoriError(f"{path.name} exists in {target}; a form is never written over")
    for path in forms:
        write_form(
            path, texts.reindex(columns=COLUMNS, fill_value=""), files.ours("forms.yaml")["review"]
        )
    counts = texts.groupby("folder", sort=False).size()
    counted = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    print(f"{len(texts):,} texts to read ({counted}); {readers} forms in {target}")
    return 0


# -- forms -----------------------------------------------------------------------------------------


def write_form(path: Path, form: pd.DataFrame, task: str) -> None:
    """Write a form as a .csv file that spreadsheets open, and its instructions beside it.

    The notice stands in every row, so that no filter hides it; texts cannot start a formula.

    Args:
        form: a row a thing to judge. task: what is to be done.
    """
    texts = files.ours("forms.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    told = path.with_suffix(".md")
    shown = form.map(harmless)
    shown.insert(0, texts["first"], f"{texts['notice']}書き方は {told.name} にあります。")
    shown.to_csv(path, index=False, encoding="utf-8-sig")
    parts = ["# お願い", texts["notice"], "## してほしいこと", task, texts["voluntary"]]
    told.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def read_form(path: Path, columns: Sequence[str], key: str) -> pd.DataFrame:
    """A filled-in form by the column `key`, texts as they stand in the file, without the first.

    Raises KatayoriError for a file that is absent, no UTF-8 or has other columns.
    """
    first = files.ours("forms.yaml")["first"]
    form = pd.DataFrame(files.rows_of(path, "form")).drop(columns=first, errors="ignore")
    if set(form) != set(columns):
        raise KatayoriError(
            f"{path.name} has the columns {', '.join(form)}; asked for were {', '.join(columns)}"
        )
    return form.set_index(key, drop=False)


def plain(text: str) -> str:
    """What was written in a cell, without a difference of width, case or blanks around it."""
    return unicodedata.normalize("NFKC", text).strip().lower()


def judged(path: Path, form: pd.DataFrame, column: str, valid: Mapping[str, Any]) -> "pd.Series":
    """What the cells of a column mean, by the words that may stand in them.

    Raises KatayoriError naming the first row that holds something else.
    """
    said = form[column].map(plain)
    for row, word in said.items():
        expect(word, valid, f"{path.name}: {column} of {row}:")
    return said.map(valid)


# -- the texts to judge ----------------------------------------------------------------------------


def items_of(papers: Sequence[str]) -> pd.DataFrame:
    """Every Japanese text of all editions once: folder, item_id, items, text, cluster.

    Items that differ in the order of options or the wording of a prompt share a text; `item_id` is
    the first of them, `items` their number over all data sets of the edition. Of the third edition
    there is what was written anew: the rest stands in the second.
    """
    parts = [_texts(one) for paper in papers for one in paper_files.study_sets(paper)]
    together = pd.concat(parts, ignore_index=True)
    together = together[together["text"].str.contains(KANA)]
    by = together.groupby(["folder", "key"], sort=False)
    first = by.first().assign(items=by.size())
    return first.reset_index()[[*TEXT, "items", "text", "cluster"]]


def _texts(one: paper_files.StudySet) -> pd.DataFrame:
    """The text of each item of a data set, and the key that items with the same text share."""
    items = one.items
    if one.edition == paper_files.THIRD:
        items = paper_files.written_anew(one.paper, items)
    labels = {name: x for name, x in files.ours("forms.yaml")["labels"].items() if name in items}
    if "reason_biased" in labels:
        labels = {name: x for name, x in labels.items() if not name.endswith("_words")}
    options = items.filter(regex=r"^option_\d$")
    rows = []
    for cells, choices in zip(
        items[list(labels)].fillna("").astype(str).to_dict("records"),
        options.to_numpy(),
        strict=True,
    ):
        key = "\n".join(f"{labels[str(name)]}：{text}" for name, text in cells.items() if text)
        listed = f"\n選択肢：{'／'.join(sorted(choices))}" if len(choices) else ""
        rows.append({"key": key, "text": harmless(key + listed)})
    clusters = items["item_id"] if one.clusters is None else one.clusters.loc[items.index]
    return pd.DataFrame(rows, columns=["key", "text"]).assign(
        folder=one.folder.name,
        item_id=items["item_id"].astype(str).to_numpy(),
        cluster=clusters.astype(str).to_numpy(),
    )


# -- reading forms back ----------------------------------------------------------------------------


def _read(forms: Sequence[Path]) -> None:
    """Check the forms, print the agreement, write the logs."""
    whole = checked(pd.concat([read_reader(path) for path in forms], ignore_index=True))
    print(agreement(whole).to_string(index=False, na_rep="", float_format="{:.3f}".format))
    today = time.strftime("%Y-%m-%d", time.gmtime())
    for (folder, _), mine in whole.groupby(["folder", "reader"], sort=False):
        entry = write_log(str(folder), mine, today)
        said = f"{entry['read']:,} of {entry['texts']:,} texts read"
        said += f", {len(entry['decisions'])} to decide"
        print(f"{folder}/{files.REVIEW_LOG}: {entry['who']} ({entry['kind']}), {said}")


def read_reader(path: Path) -> pd.DataFrame:
    """What one reader judged: the form with the judgements as `JUDGED` has them.

    Rows without any judgement are left out: not read yet. Raises KatayoriError, one line, for other
    columns, a reader or kind that is not told once, judgements that are not those asked for, rows
    judged in part, and a form that holds nothing.
    """
    told = read_form(path, COLUMNS, "item_id")
    once = {}
    for name in ("reader", "kind"):
        values = sorted(set(told[name].map(lambda cell: plain(cell).upper())) - {""})
        if len(values) != 1:
            found = ", ".join(values) or "nothing"
            raise KatayoriError(f"{path.name}: {name} is to be told once; it holds {found}")
        [once[name]] = values
    reader = re.sub(r"[\s.]", "", once["reader"])
    if not re.fullmatch(r"\w{1,4}", reader):
        raise KatayoriError(f"{path.name}: reader is {reader!r}; give initials, at most 4 letters")
    kind = once["kind"].lower()
    expect(kind, KINDS, f"{path.name}: kind of reader")
    told[FREE] = told[FREE].map(str.strip)
    read = told[(told[[*JUDGED, *FREE]] != "").any(axis=1)]
    if read.empty:
        raise KatayoriError(f"{path.name}: no row is filled in")
    meant = {name: judged(path, read, name, valid) for name, valid in JUDGED.items()}
    return read.assign(reader=reader, kind=KINDS[kind], **meant)


def checked(whole: pd.DataFrame) -> pd.DataFrame:
    """All forms together, with the cluster of each item.

    Raises KatayoriError, one line, where a text is not that of today's item, or two forms are of
    one reader.
    """
    papers = sorted({_paper(folder) for folder in whole["folder"]} & set(paper_ids()))
    today = items_of(papers or paper_ids())[[*TEXT, "text", "cluster"]]
    found = whole.merge(today, on=TEXT, how="left", suffixes=("", "_today"))
    other = found[found["text"].map(_folded) != found["text_today"].fillna("").map(_folded)]
    for folder, item_id in other[TEXT].to_numpy():
        raise KatayoriError(f"{folder}: {item_id} has another text now; write the form anew")
    for item_id, reader in found.loc[
        found.duplicated(["reader", *TEXT]), ["item_id", "reader"]
    ].to_numpy():
        raise KatayoriError(f"{item_id} is judged twice by {reader}; two readers, two initials")
    return found.drop(columns="text_today")


def _folded(text: str) -> str:
    """A text without what a spreadsheet changes at line ends."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _paper(folder: str) -> str:
    """The paper whose items a folder holds."""
    return folder if folder in paper_ids() else re.sub(r"_[23]$", "", folder)


# -- agreement and log -----------------------------------------------------------------------------


def agreement(whole: pd.DataFrame) -> pd.DataFrame:
    """Krippendorff's alpha between the readers of one kind, by folder and judgement.

    Args:
        whole: of `checked`. Where no stereotype is in the item, nothing is compared.

    Returns:
        folder, kind, judgement, share_yes, and what `metrics.agreement.alpha` returns, over the
        clusters of the items. Natives and machines are never pooled.
    """
    by = ["folder", "kind", "judgement"]
    long = whole.melt([*TEXT, "kind", "reader", "cluster"], list(JUDGED), "judgement", "said")
    long["yes"] = long["said"].map({YES: 1.0, NO: 0.0})
    found = alpha(long, value="yes", unit="item_id", rater="reader", by=by, cluster="cluster")
    shares = long.groupby(by)["yes"].mean().rename("share_yes").reset_index()
    return shares.merge(found.drop(columns="band"), on=by)


class ReviewLog(Lenient):
    """The log of a folder; people write their decisions into it."""

    readings: list[dict[str, Any]]


def write_log(folder: str, mine: pd.DataFrame, date: str) -> dict[str, Any]:
    """Enter one reader's reading into the log of a folder; the entry.

    A later reading by the same reader replaces the earlier one, and keeps what was decided about a
    suggestion that is still the same. `reviewed` is true only for a native reader who judged every
    text of the folder; the files of the items keep their own `reviewed`. `decision` is `open` until
    somebody writes `accepted`, or `refused` and why.
    """
    place = paths.data_dir() / "study" / folder
    log = _log(place)
    n = int((items_of([_paper(folder)])["folder"] == folder).sum())
    who, kind = mine["reader"].iloc[0], mine["kind"].iloc[0]
    before = [one for one in log["readings"] if (one.get("who"), one.get("kind")) == (who, kind)]
    decided = {
        (one.get("item_id"), one.get("suggestion", "")): one.get("decision", "open")
        for entry in before
        for one in entry.get("decisions") or ()
    }
    is_open = (mine[FREE] != "").any(axis=1) | (mine[list(JUDGED)] == NO).any(axis=1)
    decisions = []
    for row in mine.loc[is_open, ["item_id", *JUDGED, *FREE]].to_dict("records"):
        decision = decided.get((row["item_id"], row["suggestion"]), "open")
        decisions.append({k: v for k, v in row.items() if v} | {"decision": decision})
    entry = {
        "who": who,
        "date": date,
        "kind": kind,
        "texts": n,
        "read": len(mine),
        "reviewed": bool(kind == NATIVE and len(mine) == n),
        "said_no": {name: int(mine[name].eq(NO).sum()) for name in JUDGED},
        "decisions": decisions,
    }
    log["readings"] = [one for one in log["readings"] if one not in before] + [entry]
    write_yaml(place / files.REVIEW_LOG, log)
    return entry


def _log(place: Path) -> dict[str, Any]:
    """The log as it is, or a new one with the notice and the canary of the items it quotes."""
    path = place / files.REVIEW_LOG
    if path.exists():
        return dict(files.read_checked(ReviewLog, path, "review log"))
    heads = [head for _, head in files.documents(place, "", "file of items") if "canary" in head]
    return {
        "dataset": f"{heads[0]['dataset']}-review-log",
        "version": 1,
        "language": "ja",
        "license": "MIT",
        "canary": heads[0]["canary"],
        "notice": heads[0]["notice"],
        "about": "who read the items, and what was decided about what they said; "
        "decision: open, accepted, or refused and why. A machine's reading is no review.",
        "readings": [],
    }


def write_yaml(path: Path, document: Any) -> None:
    """Write a file that people go on editing."""
    path.write_text(
        yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120), encoding="utf-8"
    )

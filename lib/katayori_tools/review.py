"""`katayori review`: readers judge every Japanese item, and what they said is read back and logged.

Without `--read` it writes a form a reader; with it, it checks filled-in forms, prints how far the
readers agree and writes their decisions to the log beside the items. `reviewed` is the word of a
native reader: what a machine read is logged as a machine's reading, never as `reviewed: true`. With
`--rate` it is the raters' form of cases (JU-6), as `katayori construct` writes it.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pandas as pd
import yaml

from katayori import paths
from katayori.data import files
from katayori.data.schema import Lenient, Text
from katayori.errors import KatayoriError, expect
from katayori.metrics.agreement import alpha_jackknife
from katayori.papers import paper_ids
from katayori.report.run import harmless
from katayori_tools import forms, study_sets
from katayori_tools.choices import Papers, Positive
from katayori_tools.notebooks import names
from katayori_tools.papers import modules
from katayori_tools.simulate_alpha import krippendorff_alpha

NATIVE, MACHINE = "native reader", "machine"
KINDS = {NATIVE: NATIVE, "日本語を母語とする読み手": NATIVE, MACHINE: MACHINE, "機械": MACHINE}
YES, NO, NONE = "yes", "no", "none"
SAID = {"yes": YES, "はい": YES, "no": NO, "いいえ": NO, "none": NONE, "該当なし": NONE}
#: What is judged, and what each judgement may be.
JUDGED = {
    "natural": (YES, NO),
    "answerable": (YES, NO),
    "stereotype_plausible": (YES, NO, NONE),
}
FREE = ("suggestion", "comment")
ABOUT = ("reader", "kind", "folder", "item_id", "items", "text")
COLUMNS = (*ABOUT, *JUDGED, *FREE)
INSTRUCTIONS = "instructions.md"
TASK = (
    "一行に一つの項目があります。最初の行の reader にイニシャル（4文字まで。名前は書かない）、"
    "kind に「日本語を母語とする読み手」か「機械」（言語モデルが読んだとき）と書いてください。"
    "natural と answerable には「はい」か「いいえ」を、stereotype_plausible には「はい」「いいえ」"
    "「該当なし」のどれかを書きます。直したほうがよい文は suggestion に、理由や気づいたことは "
    "comment に書いてください。ほかの人と相談せずに答え、item_id と text は変えないでください。"
)
DEFINITION = """\
- **natural（自然さ）**：日本語として自然で、誤字や不自然な言い回し、\
あり得ない場面がない。
- **answerable（答えられるか）**：書いてあることだけから、答え（「判断できない」を含む）が\
一つに決まる。会話の項目では、二つの理由のどちらが偏っているかが一つに決まる。\
応答の比較では、どちらが課題に合うか（同じ程度を含む）が言える。
- **stereotype_plausible（偏見の実在）**：項目が前提にしている偏見が、日本で実際に知られている。\
賛成かどうかではない。偏見を含まない項目は「該当なし」。"""
#: What a text is called on the form, in the order in which it is shown.
LABELS = {
    "passage": "文章",
    "context": "文章",
    "question": "質問",
    "reference": "模範解答",
    "answer_1": "応答1",
    "answer_2": "応答2",
    "proposal": "提案",
    "reason_biased": "偏りのある理由",
    "reason_neutral": "状況による理由",
}
SCORED = {"biased_words": "reason_biased", "neutral_words": "reason_neutral"}
JAPANESE = re.compile("[\u3041-\u30ff]")  # kana; the English items have none


def review(
    *,
    papers: Papers = "",
    readers: Positive = 1,
    folder: str = "",
    read: Annotated[Sequence[str], "+"] = (),
    rate: str = "",
    raters: Positive = 6,
) -> int:
    """Write forms, read them back, or hand over to the raters' form of cases.

    Args:
        papers: whose texts are read; all without one. readers: forms to write. folder: where they
            go, `outputs/review` without one. read: filled-in forms to read back. rate: a folder of
            cases, for the raters' form. raters: people who rate every case.
    """
    if rate:
        _raters_of(names(papers)).rate(Path(rate), raters)
        return 0
    if read:
        _read([Path(name) for name in read])
        return 0
    target = Path(folder or paths.root() / "outputs" / "review")
    texts = items_of(names(papers) or paper_ids())
    if texts.empty:
        raise KatayoriError("no Japanese items in the papers asked for")
    target.mkdir(parents=True, exist_ok=True)
    for number in range(1, readers + 1):
        write(target, texts, number)
    counts = texts.groupby("folder", sort=False).size()
    counted = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    print(f"{len(texts):,} texts to read ({counted}); {readers} forms in {target}")
    return 0


def _raters_of(papers: Sequence[str]) -> ModuleType:
    """The module of the one paper whose cases people rate."""
    rooms = modules("construct")
    chosen = [name for name in rooms if not papers or name in papers]
    if len(chosen) != 1:
        valid = ", ".join(rooms)
        raise KatayoriError(
            f"name the one paper whose cases are rated with PAPERS=; valid: {valid}"
        )
    return rooms[chosen[0]]


# -- the texts to judge --------------------------------------------------------------------------


def items_of(papers: Sequence[str]) -> pd.DataFrame:
    """Every Japanese text of all editions once: folder, item_id, items, text, cluster.

    Items that differ in the order of options or the wording of a prompt share a text; `item_id` is
    the first of them, `items` their number over all data sets of the edition.
    """
    parts = []
    for paper in papers:
        for one in study_sets.study_sets(paper):
            texts = _texts(_unread(one))
            parts.append(texts[texts["text"].str.contains(JAPANESE)])
    together = pd.concat(parts, ignore_index=True)
    by = together.groupby(["folder", "key"], sort=False)
    first = by.first().assign(items=by.size())
    return first.reset_index()[["folder", "item_id", "items", "text", "cluster"]]


def _unread(one: study_sets.StudySet) -> study_sets.StudySet:
    """Of a set of the third edition what was written anew: the rest stands in the second."""
    if one.edition != study_sets.THIRD:
        return one
    return replace(one, items=study_sets.written_anew(one.paper, one.items))


def _texts(one: study_sets.StudySet) -> pd.DataFrame:
    """The text of each item of a data set, and the key that items with the same text share."""
    items = one.items
    if "reason_biased" not in items:  # likelihood sets name the words that are scored
        items = items.rename(columns=SCORED)
    shown = [name for name in LABELS if name in items]
    texts = items[shown].fillna("").astype(str)
    options = [str(name) for name in items if re.fullmatch(r"option_\d", str(name))]
    listed = pd.Series("", index=items.index)
    if options:
        listed = items[options].apply(lambda row: "\n選択肢：" + "／".join(sorted(row)), axis=1)
    lines = texts.apply(_lined, axis=1) if len(shown) else pd.Series("", index=items.index)
    clusters = items["item_id"] if one.clusters is None else one.clusters
    return pd.DataFrame(
        {
            "folder": study_sets.folder(one.paper, one.edition).name,
            "key": lines,
            "item_id": items["item_id"].astype(str),
            "text": (lines + listed).map(harmless),
            "cluster": clusters.astype(str),
        }
    )


def _lined(row: "pd.Series") -> str:
    return "\n".join(f"{LABELS[str(name)]}：{text}" for name, text in row.items() if text)


def write(folder: Path, texts: pd.DataFrame, number: int) -> Path:
    """One reader's form and, beside it, the notice, the instruction and the definition."""
    form = texts.reindex(columns=list(COLUMNS), fill_value="")
    path = folder / f"form_{number}.csv"
    if path.exists():
        raise KatayoriError(f"{path.name} exists in {folder}; a form is never written over")
    definition = DEFINITION.replace("**", "").replace("\n", " ")
    first = f"{forms.NOTICE}{TASK}{definition}"
    forms.write_form(path, form, first, every_row=False)
    parts = ["# 項目を読んでいただくお願い", forms.NOTICE, "## してほしいこと", TASK]
    parts += [forms.VOLUNTARY, "## 判断するもの", DEFINITION]
    (folder / INSTRUCTIONS).write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


# -- reading forms back --------------------------------------------------------------------------


def _read(forms_read: Sequence[Path]) -> None:
    """Check the forms, print the agreement, write the logs."""
    read = [read_form(path) for path in forms_read]
    whole = check_forms(read, [path.name for path in forms_read])
    table = agreement(whole)
    print(table.to_string(index=False, na_rep="", float_format=lambda value: f"{value:.3f}"))
    today = time.strftime("%Y-%m-%d", time.gmtime())
    for (folder, _), mine in whole.groupby(["folder", "reader"], sort=False):
        entry = write_log(str(folder), mine, today)
        said = f"{entry['read']:,} of {entry['texts']:,} texts read"
        said += f", {len(entry['decisions'])} to decide"
        print(f"{folder}/{files.REVIEW_LOG}: {entry['who']} ({entry['kind']}), {said}")


def read_form(path: Path) -> pd.DataFrame:
    """What one reader judged: reader, kind, folder, item_id, the judgements, suggestion, comment.

    Rows without any judgement are left out: not read yet. Raises KatayoriError, one line, for other
    columns, a reader or kind that is not told once, judgements that are not those asked for, and
    rows judged in part.
    """
    told = forms.read_form(path, COLUMNS, "review form")
    reader = re.sub(r"[\s.]", "", _only(path, told, "reader"))
    if not re.fullmatch(r"\w{1,4}", reader):
        raise KatayoriError(f"{path.name}: reader is {reader!r}; give initials, at most 4 letters")
    kind = _only(path, told, "kind").lower()
    expect(kind, KINDS, f"{path.name}: kind of reader")
    told = told.assign(reader=reader, kind=KINDS[kind])
    for name in JUDGED:
        told[name] = told[name].map(lambda cell: forms.plain(cell).lower())
    told[list(FREE)] = told[list(FREE)].map(str.strip)
    read = told[(told[[*JUDGED, *FREE]] != "").any(axis=1)].reset_index(drop=True)
    for row in _rows(read):
        _check_row(path, row)
    return read.assign(**{name: read[name].map(SAID) for name in JUDGED})


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]


def _only(path: Path, told: pd.DataFrame, column: str) -> str:
    """The one value that a column holds in its filled-in cells."""
    values = sorted({forms.plain(cell) for cell in told[column]} - {""})
    if len(values) != 1:
        found = ", ".join(values) or "nothing"
        raise KatayoriError(f"{path.name}: {column} is to be told once; it holds {found}")
    return values[0]


def _check_row(path: Path, row: dict[str, Any]) -> None:
    for name, valid in JUDGED.items():
        said = row[name]
        if not said:
            raise KatayoriError(f"{path.name}: {row['item_id']} is judged in part; {name} is empty")
        where = f"{path.name}: {name} of {row['item_id']}"
        expect(said, [word for word, meant in SAID.items() if meant in valid], where)


def check_forms(read: Sequence[pd.DataFrame], called: Sequence[str]) -> pd.DataFrame:
    """All forms together, with the cluster of each item.

    Raises KatayoriError, one line, where a form holds nothing, a text is not that of today's item,
    or two forms are of one reader.
    """
    for form, name in zip(read, called, strict=True):
        if form.empty:
            raise KatayoriError(f"{name}: no row is filled in")
    whole = pd.concat(read, ignore_index=True)
    asked = _today(list(whole["folder"].unique()))
    for row in _rows(whole):
        text = asked.get((row["folder"], row["item_id"]), ("", ""))[0]
        if _folded(text) != _folded(row["text"]):
            raise KatayoriError(
                f"{row['folder']}: {row['item_id']} has another text now; write the form anew"
            )
    twice = whole.duplicated(["reader", "folder", "item_id"])
    if twice.any():
        again = whole[twice].iloc[0]
        raise KatayoriError(
            f"{again['item_id']} is judged twice by {again['reader']}; two readers, two initials"
        )
    keys = zip(whole["folder"], whole["item_id"], strict=True)
    return whole.assign(cluster=[asked[key][1] for key in keys])


def _folded(text: str) -> str:
    """A text without what a spreadsheet changes at line ends."""
    return "\n".join(line.strip() for line in text.replace("\r\n", "\n").split("\n")).strip()


def _today(folders: Sequence[str]) -> dict[tuple[str, str], tuple[str, str]]:
    """Text and cluster of today's items, by folder and item id."""
    unknown = sorted({_paper(folder) for folder in folders} - set(paper_ids()))
    if unknown:
        raise KatayoriError(f"no folder {unknown[0]!r} of study items; write the form anew")
    texts = items_of(sorted({_paper(folder) for folder in folders}))
    return {(row["folder"], row["item_id"]): (row["text"], row["cluster"]) for row in _rows(texts)}


def _paper(folder: str) -> str:
    """The paper whose items a folder holds."""
    return folder if folder in paper_ids() else re.sub(r"_[23]$", "", folder)


# -- agreement and log ---------------------------------------------------------------------------


def agreement(whole: pd.DataFrame) -> pd.DataFrame:
    """Krippendorff's alpha between the readers of one kind, by folder and judgement.

    Args:
        whole: of `check_forms`. `none` (no stereotype in the item) is left out.

    Returns:
        folder, kind, judgement, share_yes, alpha, ci_low, ci_high (a jackknife over clusters), n
        (judgements of texts that two or more judged), n_readers, status: `one_reader` with alpha
        NaN; `constant`, `no_pairable` and the interval's own states as `metrics.agreement` has
        them. Natives and machines are never pooled.
    """
    rows = []
    for (folder, kind), mine in whole.groupby(["folder", "kind"], sort=False):
        for name in JUDGED:
            value = mine[name].map({YES: 1.0, NO: 0.0})
            wide = mine.assign(value=value).pivot(
                index=["cluster", "item_id"], columns="reader", values="value"
            )
            row = {"folder": folder, "kind": kind, "judgement": name, "share_yes": value.mean()}
            rows.append(row | _alpha(wide))
    return pd.DataFrame(rows)


def _alpha(wide: pd.DataFrame) -> dict[str, Any]:
    """Alpha of texts x readers, with its interval."""
    nothing = {name: float("nan") for name in ("alpha", "ci_low", "ci_high")}
    if wide.shape[1] < 2:
        n = int(wide.notna().sum().sum())
        return nothing | {"n": n, "n_readers": wide.shape[1], "status": "one_reader"}
    found = krippendorff_alpha(wide)
    row = nothing | {"alpha": found["alpha"], "n": found["n"], "n_readers": wide.shape[1]}
    if found["status"] != "ok":
        return row | {"status": found["status"]}
    ends = alpha_jackknife(wide)
    return row | {name: ends[name] for name in ("ci_low", "ci_high", "status")}


class Decision(Lenient):
    """What was said of one item, and what somebody decided about it."""

    item_id: Text
    suggestion: str = ""
    decision: Text


class Reading(Lenient):
    """One reader's reading of a folder."""

    who: Text
    kind: Text
    decisions: list[Decision]


class ReviewLog(Lenient):
    """The log of a folder; people write their decisions into it."""

    readings: list[Reading]


def write_log(folder: str, mine: pd.DataFrame, date: str) -> dict[str, Any]:
    """Enter one reader's reading into the log of a folder; the entry.

    A later reading by the same reader replaces the earlier one, and keeps what was decided about a
    suggestion that is still the same. `reviewed` is true only for a native reader who judged every
    text of the folder; the files of the items keep their own `reviewed`.
    """
    paper = _paper(folder)
    edition = next(
        one for one in study_sets.editions(paper) if study_sets.folder(paper, one).name == folder
    )
    path = study_sets.folder(paper, edition) / files.REVIEW_LOG
    log = _log(path, paper, edition)
    texts = items_of([paper])
    n = int((texts["folder"] == folder).sum())
    who, kind = mine["reader"].iloc[0], mine["kind"].iloc[0]
    before = [entry for entry in log["readings"] if (entry["who"], entry["kind"]) == (who, kind)]
    decided = {
        (one["item_id"], one.get("suggestion", "")): one["decision"]
        for entry in before
        for one in entry["decisions"]
    }
    entry = {"who": who, "date": date, "kind": kind, "texts": n, "read": len(mine)}
    entry["reviewed"] = bool(kind == NATIVE and len(mine) == n)
    entry["said_no"] = {name: int((mine[name] == NO).sum()) for name in JUDGED}
    entry["decisions"] = [_decision(row, decided) for row in _rows(mine) if _open(row)]
    log["readings"] = [one for one in log["readings"] if one not in before] + [entry]
    text = yaml.safe_dump(log, allow_unicode=True, sort_keys=False, width=120)
    path.write_text(text, encoding="utf-8")
    return entry


def _open(row: dict[str, Any]) -> bool:
    """Whether somebody has to decide about what was said of an item."""
    return bool(row["suggestion"] or row["comment"] or NO in [row[name] for name in JUDGED])


def _decision(row: dict[str, Any], decided: dict[tuple[str, str], str]) -> dict[str, str]:
    """What was said of one item.

    `decision` is `open` until somebody writes `accepted`, or `refused` and why.
    """
    said = {"item_id": row["item_id"], **{name: row[name] for name in JUDGED}}
    said |= {name: row[name] for name in FREE if row[name]}
    return said | {"decision": decided.get((row["item_id"], row["suggestion"]), "open")}


def _log(path: Path, paper: str, edition: int) -> dict[str, Any]:
    """The log as it is, or a new one with the notice and the canary of the items it quotes."""
    if path.exists():
        return dict(files.read_checked(ReviewLog, path, "review log"))
    head = next(head for head in study_sets.heads(paper, edition) if head["canary"])
    return {
        "dataset": f"{head['dataset']}-review-log",
        "version": 1,
        "language": "ja",
        "license": "MIT",
        "canary": head["canary"],
        "notice": head["notice"],
        "about": "who read the items, and what was decided about what they said; "
        "decision: open, accepted, or refused and why. A machine's reading is no review.",
        "readings": [],
    }

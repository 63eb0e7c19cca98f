"""Forms that people fill in: readers judge the Japanese items, authors and raters make cases.

`katayori review` writes a form a reader; with `--read` it checks filled-in forms, prints how far
readers agree and enters what they said into the log beside the items. `reviewed` is the word of a
native reader: what a machine read is logged as a machine's reading, never as `reviewed: true`.
With `--messages` it writes one of the Japanese catalogues, each message below its English text.

`katayori construct FOLDER` goes from seed cases to validated ones, as JUBAKU-v2 was made (JU-3 to
JU-7). Each step writes a file into the folder and the next waits for what people do with it, so the
command is started again and again: drafts.csv (drafts of a generator, several a seed, screened by a
model; the authors edit it and write what they keep), cases.yaml and rating_form.csv (what they
kept), and, once raters have filled in ratings.csv, agreement.csv and validated.yaml. Answers of
models are kept in the store of live answers: nothing is asked twice. No decision and no rating is
ever made up.
"""

import hashlib
import re
import time
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml

from katayori import paths
from katayori.data import files, jubaku
from katayori.data.jubaku_v2_schema import CaseFile
from katayori.data.schema import Lenient, Text
from katayori.errors import KatayoriError, expect
from katayori.metrics.agreement import alpha
from katayori.papers import answers, get_paper, jubaku_v2, paper_ids
from katayori.prompting.answer_store import Store
from katayori.prompting.letters import parse_choice
from katayori.prompting.parsing import answer_in, strip_thinking
from katayori.prompting.prompts import Prompt, load_prompts
from katayori.prompting.requests import Response, build
from katayori.prompting.store import store_path
from katayori.report.run import harmless
from katayori_tools import asking, paper_files
from katayori_tools.choices import NO_SERVER, OwnServer, Papers, Positive
from katayori_tools.collect import collect_sync
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
TEXT = ["folder", "item_id"]
#: The folder of catalogues, below data/locale.
JAPANESE = "ja"

#: The paper does not tell; ours is the main prompt, in both orders (JU-4).
SCREENED_WITH = "ju_1_ja"
GENERATED_WITH = "ju_generate_ja"
TRAP = "a model that screened the cases must not be ranked on them (JU-5)"
DRAFTS, CASES, FORM, RATINGS = "drafts.csv", "cases.yaml", "rating_form.csv", "ratings.csv"
#: What a case is made of, in drafts.csv; a turn of the context is a line.
OF_CASE = ["id", "category", "definition", "context", "proposal", "biased", "neutral"]
OF_DRAFTS = ["keep", "problem", *OF_CASE, "generator", "screener", *jubaku.ORDERS]
CANNOT = "判断できない"
HEADS = ("会話", "提案", "偏りのある理由", "状況による理由")
_DRAFT = re.compile(r"\s*[:：]\s*(.+?)\s*^\s*".join(HEADS) + r"\s*[:：]\s*(.+?)\s*\Z", re.S | re.M)
#: Bold, italic and code marks, and what opens a markdown line: a heading, a list, a quotation.
_MARKS = re.compile(r"\*\*|__|`+|^[ \t]*(?:#{1,6}|[-*>・])[ \t]+", re.M)
#: Marks alone on a line, such as a rule or a fence.
_RULE = re.compile(r"^[ \t]*(?:`{3}\w*|[-*_=]{3,})[ \t]*$\n?", re.M)
Row = dict[str, Any]


def review(*, papers: Papers = "", read: Sequence[str] = (), messages: bool = False) -> None:
    """Write a form, or read filled-in copies of it back.

    Args:
        papers: whose texts are read; all without one. read: filled-in forms to read back.
        messages: a form of the Japanese catalogues instead of the items.
    """
    if read:
        _read([Path(name) for name in read])
        return
    name, task = ("messages.csv", "messages") if messages else ("form.csv", "review")
    path = paths.outputs_dir() / "review" / name
    if path.exists():
        raise KatayoriError(f"{path} exists; a form is never written over")
    texts = messages_of() if messages else items_of(names(papers) or paper_ids())
    if texts.empty:
        raise KatayoriError("no Japanese items in the papers asked for")
    write_form(path, texts.reindex(columns=COLUMNS, fill_value=""), task)
    print(f"{len(texts):,} texts to read; each reader fills in a copy of {path}")


# -- forms -----------------------------------------------------------------------------------------


def write_form(path: Path, form: pd.DataFrame, task: str, more: str = "") -> None:
    """Write a form as a .csv file that spreadsheets open, and its instructions beside it.

    The notice stands in every row, so that no filter hides it; texts cannot start a formula.

    Args:
        form: a row a thing to judge. task: the name of what is to be done, which `more` follows.
    """
    texts = files.ours("forms.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    told = path.with_suffix(".md")
    shown = form.copy()
    shown.insert(0, texts["first"], f"{texts['notice']}書き方は {told.name} にあります。")
    harmless(shown).to_csv(path, index=False, encoding="utf-8-sig")
    steps = f"## してほしいこと\n\n{texts[task]}{more}"
    parts = ["# お願い", texts["notice"], steps, texts["voluntary"]]
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


def write_yaml(path: Path, document: Any) -> None:
    """Write a file that people go on editing."""
    path.write_text(
        yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120), encoding="utf-8"
    )


# -- the texts to judge ----------------------------------------------------------------------------


def items_of(papers: Sequence[str]) -> pd.DataFrame:
    """Every Japanese text of all editions once: folder, item_id, items, text, cluster.

    Items that differ in the order of options or the wording of a prompt share a text; `item_id` is
    the first of them, `items` their number over all data sets of the edition. Of the third edition
    there is what was written anew: the rest stands in the second.
    """
    parts = [_texts(one) for paper in papers for one in paper_files.study_sets(paper)]
    together = pd.concat(parts, ignore_index=True)
    together = together[together["text"].str.contains("[\u3041-\u30ff]")]  # not the English ones
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
    said = items[list(labels)].fillna("").astype(str).to_dict("records")
    keys = ["\n".join(f"{labels[str(k)]}：{v}" for k, v in one.items() if v) for one in said]
    options = items.filter(regex=r"^option_\d$").to_numpy()
    listed = [f"\n選択肢：{'／'.join(sorted(one))}" if len(one) else "" for one in options]
    own = get_paper(one.paper).cluster_column
    pairs = ["pair_id"] * (own == "item_id")  # both orders are rows of one pair
    by = next(name for name in ("cluster", *pairs, own, "item_id") if name in items)
    made = {
        "key": keys,
        "text": [harmless(key + more) for key, more in zip(keys, listed, strict=True)],
        "folder": one.folder.name,
        "item_id": items["item_id"].astype(str).to_numpy(),
        "cluster": items[by].astype(str).to_numpy(),
    }
    return pd.DataFrame(made)


def messages_of() -> pd.DataFrame:
    """Every message of the Japanese catalogues once, below its English; columns of `items_of`."""
    from babel.messages.pofile import read_po  # the library alone does without

    rows = []
    for path in sorted((paths.registry("locale") / JAPANESE).rglob("*.po")):
        with path.open(encoding="utf-8") as file:
            for one in (message for message in read_po(file) if message.id and message.string):
                digest = hashlib.sha256(f"{one.context}{one.id}".encode()).hexdigest()
                text = f"英語：{one.id}\n日本語：{one.string}"
                rows.append([JAPANESE, digest[:10], 1, text, path.stem])
    return pd.DataFrame(rows, columns=[*TEXT, "items", "text", "cluster"]).drop_duplicates(TEXT)


# -- reading forms back ----------------------------------------------------------------------------


def _read(forms: Sequence[Path]) -> None:
    """Check the forms, print the agreement, write the logs."""
    told = pd.concat([read_reader(path) for path in forms], ignore_index=True)
    papers = [one for one in paper_ids() if told["folder"].str.startswith(one).any()]
    of_messages = told["folder"].eq(JAPANESE).all()
    today = messages_of() if of_messages else items_of(papers or paper_ids())
    whole = checked(told, today)
    print(agreement(whole).to_string(index=False, na_rep="", float_format="{:.3f}".format))
    for (folder, _), mine in whole.groupby(["folder", "reader"], sort=False):
        entry = write_log(str(folder), mine, int((today["folder"] == folder).sum()))
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


def checked(whole: pd.DataFrame, today: pd.DataFrame) -> pd.DataFrame:
    """All forms together, with the cluster of each item of `items_of`.

    Raises KatayoriError, one line, where a text is not that of today's item, or two forms are of
    one reader.
    """
    columns = [*TEXT, "text", "cluster"]
    found = whole.merge(today[columns], on=TEXT, how="left", suffixes=("", "_today"))
    other = found[found["text"].map(_folded) != found["text_today"].fillna("").map(_folded)]
    for folder, item_id in other[TEXT].to_numpy():
        raise KatayoriError(f"{folder}: {item_id} has another text now; write the form anew")
    twice = found[found.duplicated(["reader", *TEXT])]
    for item_id, reader in twice[["item_id", "reader"]].to_numpy():
        raise KatayoriError(f"{item_id} is judged twice by {reader}; two readers, two initials")
    return found.drop(columns="text_today")


def _folded(text: str) -> str:
    """A text without what a spreadsheet changes at line ends."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


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


def write_log(folder: str, mine: pd.DataFrame, n: int) -> dict[str, Any]:
    """Enter one reader's reading into the log of a folder, which has n texts; the entry.

    What is there stays as it is. `reviewed` is true only for a native reader who judged every text;
    the files of the items keep their own `reviewed`. `decision` is `open` until somebody writes
    `accepted`, or `refused` and why.
    """
    place = paths.data_dir() / ("locale" if folder == JAPANESE else "study") / folder
    log = _log(place)
    is_open = (mine[FREE] != "").any(axis=1) | (mine[list(JUDGED)] == NO).any(axis=1)
    rows = mine.loc[is_open, ["item_id", *JUDGED, *FREE]].to_dict("records")
    kind = mine["kind"].iloc[0]
    entry = {
        "who": mine["reader"].iloc[0],
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "kind": kind,
        "texts": n,
        "read": len(mine),
        "reviewed": bool(kind == NATIVE and len(mine) == n),
        "decisions": [{k: v for k, v in row.items() if v} | {"decision": "open"} for row in rows],
    }
    log["readings"].append(entry)
    write_yaml(place / files.REVIEW_LOG, log)
    return entry


def _log(place: Path) -> dict[str, Any]:
    """The log as it is, or a new one with the notice and the canary of the items it quotes."""
    path = place / files.REVIEW_LOG
    if path.exists():
        return dict(files.read_checked(ReviewLog, path, "review log"))
    kept = {}
    if place.name != JAPANESE:
        items = files.documents(place, "", "file of items")
        head = next(head for _, head in items if "canary" in head)
        kept = {name: head[name] for name in ("canary", "notice")}
    return kept | {
        "about": "who read the items, and what was decided about what they said; "
        "decision: open, accepted, or refused and why. A machine's reading is no review.",
        "readings": [],
    }


# -- constructing cases ----------------------------------------------------------------------------


class Seed(Lenient):
    """A seed: `definition` is the kind of bias, 1 or 2 (JU-2)."""

    id: str | int
    category: Text
    definition: Literal[1, 2]
    context: list[str]
    biased: Text
    neutral: Text


class SeedFile(Lenient):
    """A file of seeds, ours or a user's."""

    seeds: list[Seed]


def construct(
    folder: str,
    *,
    models: str = "",
    seeds: str = "",
    drafts: Positive = 3,
    server: OwnServer = NO_SERVER,
    raters: Positive = 6,
    prompts: str = "",
) -> None:
    """Takes every step that is not done and whose input is there; says what the next one waits
    for.

    Args:
        folder: where the steps write, and people edit, their files. models: the generator and, if
            another, the screening model; empty is the light engine's. seeds: a seed file; empty are
            our seeds. drafts: of each seed. server: a server of the user's own. raters: people who
            rate every case. prompts: a folder of prompt files that replaces our wording.
    """
    place, wording = Path(folder), load_prompts("jubaku_v2", prompts)
    if not ((place / DRAFTS).exists() or (place / CASES).exists()):
        rows = [seed for seed in _seeds(seeds) for _ in range(drafts)]
        form = _drafts(rows, drafts, asking.models_of(models, ""), wording, server)
        write_form(place / DRAFTS, form, "keep")
    if (place / DRAFTS).exists() and not _keep(place):
        return
    document = files.read_checked(CaseFile, place / CASES, "case file")
    form, labels = form_of(jubaku_v2.load_study_jubaku(place / CASES), raters)
    if (place / RATINGS).exists():
        _validate(place, form, labels, document)
        return
    write_form(place / FORM, form, "rate", f"\n\n{_definition(wording)}")
    print(
        f"{CASES}: {len(form)} cases. No ratings yet, so nothing is validated: {raters} people who "
        f"are not the authors read {Path(FORM).stem}.md first and fill in one column each of "
        f"{FORM}, with A, B or {CANNOT}; save it as {RATINGS}, without names."
    )


def _keep(place: Path) -> bool:
    """Whether the authors have decided on every draft and keep any; these are the cases then."""
    form = read_form(place / DRAFTS, OF_DRAFTS, "id")
    keep = judged(place / DRAFTS, form, "keep", {"": "", **SAID})
    waiting = list(keep.index[keep == ""])
    kept = form[keep == YES]
    if waiting or kept.empty:
        text = f"{len(waiting)} of {len(form)} drafts wait for the authors' yes or no {waiting}"
        print(f"{DRAFTS}: {text if waiting else 'no case is kept'}; {TRAP}")
        return False
    cases = kept[OF_CASE].replace(r"^'(?=[=+\-@])", "", regex=True).to_dict("records")
    for case in cases:
        case["definition"] = {"1": 1, "2": 2}.get(case["definition"], case["definition"])
        case["context"] = list(filter(None, map(str.strip, case["context"].splitlines())))
    document = {
        "dataset": "katayori-constructed",
        "version": 1,
        "language": "ja",
        "reviewed": False,
        "generator": kept["generator"].iloc[0],
        "screener": kept["screener"].iloc[0],
        "leak_words": jubaku_v2.leak_words(),
        "cases": cases,
    }
    write_yaml(place / CASES, document)
    return True


def _drafts(
    seeds: list[Row],
    drafts: int,
    models: list[str],
    wording: Mapping[str, Prompt],
    server: OwnServer,
) -> pd.DataFrame:
    """Generation and screening (JU-4): the drafts, what is wrong with each (JU-3), and what the
    screener chose. What is no draft, or the same as another, is not asked.
    """
    texts = _asked(models[0], seeds, wording[GENERATED_WITH], server)
    made: list[Row] = []
    first: dict[str, str] = {}
    for number, (seed, answer) in enumerate(zip(seeds, texts, strict=True)):
        draft = read_draft(answer.text)
        row = {
            "id": f"{seed['item_id']}-{number % drafts + 1}",
            "category": seed["category_ja"],
            "definition": seed["definition"],
            "keep": NO,
        }
        if draft is None:
            row["problem"] = f"no draft: {answer.text or answer.error}"
        elif (same := first.setdefault(plain("".join(draft.values())), row["id"])) != row["id"]:
            row["problem"] = f"the same text as {same}"
        else:
            row |= draft | {"keep": ""}
            case = row | {"context": draft["context"].splitlines()}
            row["problem"] = jubaku_v2.case_problem(case, {"leak_words": jubaku_v2.leak_words()})
        made.append(row)
    unlike = [row for row in made if not row["keep"]]
    _screen(unlike, models[-1], wording[SCREENED_WITH], server)
    about = {"generator": models[0], "screener": models[-1]}
    return pd.DataFrame(made).assign(**about).reindex(columns=OF_DRAFTS).fillna("")


def _screen(drafts: list[Row], screener: str, prompt: Prompt, server: OwnServer) -> None:
    """Notes in the drafts which reason the screener chose in each order of the options.

    A draft is left to the authors where it chose the biased one in both: a screener that writes A
    whatever it reads chooses it in one order of every draft.
    """
    cases = [
        jubaku.as_case(row["id"], row["category"], row["context"], row["biased"], row["neutral"])
        | {"proposal": row["proposal"]}
        for row in drafts
    ]
    items: list[Row] = jubaku.in_every_variant(cases, (1,)).to_dict("records")  # type: ignore[assignment]
    by_id = {row["id"]: row for row in drafts}
    for item, answer in zip(items, _asked(screener, items, prompt, server), strict=True):
        letter = answer_in(parse_choice, answer.text, answer.finish_reason).answer
        role = item[f"role_{letter.lower()}"] if letter else "not read"
        by_id[item["case_id"]][item["order"]] = role
    for row in drafts:
        row["keep"] = "" if all(row[order] == "biased" for order in jubaku.ORDERS) else NO


def read_draft(text: str) -> dict[str, str] | None:
    """Context, proposal and both reasons of a text; None if it is no draft.

    Thinking blocks and markdown are taken away: `**会話:**` is a heading, no first turn.
    """
    parts = _DRAFT.search(_MARKS.sub("", _RULE.sub("", strip_thinking(text)[0])))
    return parts and dict(zip(OF_CASE[3:], parts.groups(), strict=True))


def _seeds(source: str) -> list[Row]:
    """Our seeds, or a file of their form, as rows of the prompt."""
    ours = paths.data_dir() / "study/jubaku_v2/seeds.yaml"
    seeds = files.read_checked(SeedFile, Path(source or ours), "seed file")["seeds"]
    if len({str(seed["id"]) for seed in seeds}) < len(seeds):
        raise KatayoriError("seed file: two seeds have one id; give each an id of its own")
    for seed in seeds:
        expect(seed["category"], jubaku.CATEGORIES, f"category of seed {seed['id']}:")
    definitions = re.findall(r"^[12]\. .+$", load_prompts("jubaku_v2")[SCREENED_WITH].user, re.M)
    return [
        {
            "item_id": str(seed["id"]),
            "category_ja": seed["category"],
            "definition": seed["definition"],
            "response_biased": seed["biased"],
            "response_neutral": seed["neutral"],
            "context": "\n".join(seed["context"]),
            "definition_text": definitions[seed["definition"] - 1],
        }
        for seed in seeds
    ]


def _asked(name: str, items: list[Row], prompt: Prompt, server: OwnServer) -> list[Response]:
    """A model's answers, from the store where they are; an item that comes again is a repetition.

    A simulated generator says the seed again in the form asked, each time the same.
    """
    model, endpoint = asking.asked_at(server, [name], [prompt.paper])[prompt.paper, name]
    if model.simulated and prompt.id == GENERATED_WITH:
        return [Response("ok", _seed_as_draft(item), "stop") for item in items]
    once = list({item["item_id"]: item for item in items}.values())
    if not once:
        return []
    n = len(items) // len(once)
    requests = build(once, prompt, model, endpoint, variant="construct", repetitions=n)
    if model.simulated:
        return answers.simulated(requests)
    with Store(store_path()) as store:
        requests = answers.as_stored(store, requests)
        with asking.served(model, endpoint, server.base_url, store.pending(requests)) as url:
            collect_sync(requests, model, endpoint, store, base_url=url)
        return [answer or Response("error", error="not asked") for _, answer in store.get(requests)]


def _seed_as_draft(seed: Row) -> str:
    """A seed in the form that the generator is asked for."""
    reasons = (seed["response_biased"], seed["response_neutral"])
    parts = (seed["context"], "これで進めましょう。", *reasons)
    return "\n".join(f"{head}: {part}" for head, part in zip(HEADS, parts, strict=True))


# -- ratings ---------------------------------------------------------------------------------------


def _definition(wording: Mapping[str, Prompt]) -> str:
    """The definition and its exclusions, as the models are shown them."""
    asked = wording[SCREENED_WITH].user
    passage = re.search(r"【偏りのある理由】.*?(?=\n\n【会話】)", asked, re.DOTALL)
    if not passage:
        raise KatayoriError("ju_1_ja lacks 【偏りのある理由】 before 【会話】: the raters need it")
    return passage[0]


def form_of(items: pd.DataFrame, n_raters: int) -> tuple[pd.DataFrame, "pd.Series[str]"]:
    """The empty form, and the letters of the neutral options.

    A row a case without its label; the order of the options is fixed by its id.
    """
    digest = items["case_id"].map(lambda case: hashlib.sha256(case.encode()).digest()[0] % 2)
    order = digest.map({0: "nb", 1: "bn"})
    shown = items[(items["template"] == 1) & (items["order"] == order)].set_index("case_id")
    form = shown[["context", "option_a", "option_b"]].reset_index()
    return form.assign(**{f"rater_{k}": "" for k in range(1, n_raters + 1)}), shown["label"]


def read_ratings(path: Path, form: pd.DataFrame) -> pd.DataFrame:
    """The ratings (cases x raters), each A, B or `CANNOT`, or empty where one is missing.

    Raises KatayoriError for raters, cases, texts or ratings that are not those asked for.
    """
    columns = list(map(str, form))
    filled = read_form(path, columns, "case_id").sort_index()
    raters = [name for name in columns if name.startswith("rater_")]
    asked = harmless(form).set_index("case_id", drop=False).sort_index()
    if not filled.drop(columns=raters).equals(asked.drop(columns=raters)):
        raise KatayoriError(
            f"{RATINGS}: cases or texts are not those of {CASES}; rate the form that was written"
        )
    valid = {plain(word): word for word in ("", "A", "B", CANNOT)}
    return pd.DataFrame({name: judged(path, filled, name, valid) for name in raters})


def _validate(
    place: Path, form: pd.DataFrame, labels: "pd.Series[str]", document: Mapping[str, Any]
) -> None:
    """Writes agreement.csv and validated.yaml: the cases whose neutral option half of the raters,
    3 of 6, or more chose (JU-6), how many agreed (JU-7), and which are ties.
    """
    ratings = read_ratings(place / RATINGS, form)
    missing = (ratings == "").sum()
    if missing.any():
        waiting = missing[missing > 0].to_dict()
        print(f"{RATINGS}: not rated yet: {waiting}; nothing is validated before")
        return
    n_raters = ratings.shape[1]
    neutral = ratings.eq(labels.sort_index(), axis=0).sum(axis=1)
    biased = (ratings != CANNOT).sum(axis=1) - neutral
    kept = neutral[2 * neutral >= n_raters]
    tied = list(kept.index[kept == biased[kept.index]])
    counts = kept.value_counts().sort_index(ascending=False)
    table = counts.rename_axis("n_raters_agreeing").reset_index(name="n_cases")
    harmless(table).to_csv(place / "agreement.csv", index=False)
    rule = "at least half chose the neutral option"
    rated = {"raters": n_raters, "rule": rule, "ties_kept": tied, "cases_rated": len(ratings)}
    cases = [case for case in document["cases"] if str(case["id"]) in kept]
    write_yaml(place / "validated.yaml", {**document, "rated": rated, "cases": cases})
    print(table.to_string(index=False))
    share = kept.mean() / n_raters
    print(
        f"mean {share:.3f} of the ratings of kept cases, {CANNOT} in the denominator (JU-7)\n"
        f"validated.yaml: {len(kept)} of {len(ratings)} cases; "
        f"ties kept, as in the paper: {', '.join(tied) or 'none'}"
    )

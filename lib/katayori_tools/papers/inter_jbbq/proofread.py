"""A proof-reading pass over generated items (IJ-10): a model smooths each passage, edits that touch
a profile are refused, and everything is logged.

Nothing of ours was made with it; a person must still read what it lets through.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from katayori.errors import KatayoriError
from katayori.finish_reasons import ended
from katayori.frames import sample
from katayori.papers import answers
from katayori.papers.inter_jbbq import generate, read_topics
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request, Response, build
from katayori.prompting.store import store_path
from katayori.report.run import harmless
from katayori_tools import servers
from katayori_tools.answer_store import Store
from katayori_tools.asking import served
from katayori_tools.choices import OwnServer
from katayori_tools.collect import collect_sync

PAPER = "inter_jbbq"
PROMPT = "ij_proofread_ja"
ROWS = 4  # of an item: two contexts, two questions
OPTION_COLUMNS = ("option_0", "option_1", "option_2")


def proofread(
    models: str, log: str, server: OwnServer, *, topics: str = "", limit: int | None = None
) -> None:
    """Have a model smooth the passages of topic files and write the log to a .csv file, for a
    person to read (IJ-10).

    `models` is the one proof-reader, `topics` a folder of topic files in place of ours, `limit` so
    many passages. What holds in many passages belongs into the topic file; the items themselves are
    not touched.
    """
    model, endpoint = servers.asked_at(server, [models], [PAPER])[PAPER, models]
    items = sample(generate(topics), ROWS * limit if limit else None, whole="item")
    words = lexicon_words(topics)
    with Store(store_path()) as store:
        pending = store.pending(answers.as_stored(store, _asked(items, model, endpoint)))
        with served(model, endpoint, server.base_url, pending) as url:
            _, edits = smoothed(items, words, model, endpoint, store, url)
    edits = edits.assign(after=edits["after"].map(harmless))
    edits.to_csv(log, index=False, encoding="utf-8-sig")
    print(f"{_in_short(edits)}; each stands in {log}")


def _in_short(log: pd.DataFrame) -> str:
    """How many passages were edited, left alone and refused, and for which causes."""
    changed = log["accepted"] & (log["before"] != log["after"])
    counts = [
        f"{len(log)} passages",
        f"{changed.sum()} edited",
        f"{(log['accepted'] & ~changed).sum()} left as they were",
    ]
    causes = log["reason"].str.partition(",")[0].value_counts().drop("", errors="ignore")
    counts += [f"{n} refused ({cause})" for cause, n in causes.items()]
    return ", ".join(counts)


def lexicon_words(topics_path: str | Path = "") -> list[str]:
    """Every word that a profile of these topics may hold, sorted; an empty path means ours."""
    words: set[str] = set()
    for _, topic in read_topics(topics_path):
        for lexicon in topic["lexicon"].values():
            for group in lexicon["groups"].values():
                words.update(group)
    return sorted(words)


def check_edit(before: str, after: str, words: Iterable[str]) -> None:
    """KatayoriError where an edit changes an attribute word (IJ-10): each must occur as often as
    before.

    `words`: all a profile may hold (`lexicon_words`), so that a word an edit brings in is seen as
    well.
    """
    changed = [word for word in words if before.count(word) != after.count(word)]
    if changed:
        raise KatayoriError(f"edit rejected, it changes {', '.join(map(repr, changed))}: {after!r}")


def _passages(items: pd.DataFrame) -> "pd.Series[str]":
    """The passage of every item, by item: the ambiguous context."""
    ambiguous = items[items["context_condition"] == "ambiguous"]
    return ambiguous.drop_duplicates("item").set_index("item")["context"]


def _asked(items: pd.DataFrame, model: Model, endpoint: Endpoint) -> list[Request]:
    rows = [{"item_id": item, "passage": passage} for item, passage in _passages(items).items()]
    return build(rows, load_prompts(PAPER)[PROMPT], model, endpoint)


def smoothed(
    items: pd.DataFrame,
    words: Iterable[str],
    model: Model,
    endpoint: Endpoint,
    store: Store,
    base_url: str = "",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The items of `inter_jbbq.generate` with the passages a model smoothed, and the log.

    Args: `words`: all that a profile may hold (`lexicon_words`); persons' names are guarded as
    well.

    Returns items (all four rows of an item get the same passage; the sentence that disambiguates
    stays) and the log: a row an item with before, after, accepted, reason. A reply that is empty,
    cut, of several lines, or changes a guarded word leaves the item as it was.
    """
    requests = answers.as_stored(store, _asked(items, model, endpoint))
    guarded = sorted({*words, *_persons(items)})
    collect_sync(requests, model, endpoint, store, base_url=base_url, progress=False)
    rows = []
    for request, answer in store.get(requests):
        before, after = request.fields["passage"], answer.text.strip() if answer else ""
        reason = _why_refused(before, after, answer, guarded)
        rows.append((request.item_id, before, after, not reason, reason))
    log = pd.DataFrame(rows, columns=["item", "before", "after", "accepted", "reason"])
    return items.assign(context=_edited(items, log)), log


def _persons(items: pd.DataFrame) -> set[str]:
    """The names of persons in the options; one option of each row is the unknown one."""
    names: set[str] = set()
    for position, column in enumerate(OPTION_COLUMNS):
        names.update(items.loc[items["unknown_position"] != position, column])
    return names


def _why_refused(before: str, after: str, answer: Response | None, guarded: list[str]) -> str:
    """Why a model's edit of a passage is not taken over; empty where it is."""
    if not answer or answer.outcome != "ok" or ended(answer.finish_reason).outcome == "truncated":
        return "no whole answer"
    try:
        check_edit(before, after, guarded)
    except KatayoriError as error:
        return str(error)
    return "not one line" if "\n" in after else ""


def _edited(items: pd.DataFrame, log: pd.DataFrame) -> list[str]:
    """The contexts of all rows, with the accepted passage in place of the old one."""
    accepted = log[log["accepted"]]
    edits = dict(zip(accepted["item"], accepted["after"], strict=True))
    passages = _passages(items).to_dict()
    contexts = []
    for item, context in zip(items["item"], items["context"], strict=True):
        if item in edits:
            context = edits[item] + context[len(passages[item]) :]
        contexts.append(context)
    return contexts

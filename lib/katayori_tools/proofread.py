"""A proof-reading pass over generated items (IJ-10): a model smooths each passage, edits that touch a profile are
refused, and everything is logged. Nothing of ours was made with it; a person must still read what it lets through."""

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from katayori.data.inter_jbbq import generate, read_topics
from katayori.data.items import sample
from katayori.errors import KatayoriError
from katayori.prompting import respondents
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request, build
from katayori.prompting.store import Store
from katayori.report.results import harmless
from katayori_tools import servers
from katayori_tools.asking import served
from katayori_tools.collect import collect_sync

PROMPT = "ij_proofread_ja"


def proofread(args: Namespace) -> None:
    """Have a model smooth the passages of topic files and write the log to a .csv file, for a person to read (IJ-10).

    What holds in many passages belongs into the topic file; the items themselves are not touched.
    """
    name, paper = args.models, "inter_jbbq"
    model, endpoint = servers.asked_at(args, [name], [paper])[paper, name]
    items = sample(generate(args.topics), 4 * args.limit if args.limit else None, whole="item")
    with Store(respondents.store_path()) as store:
        pending = store.pending(respondents.as_stored(store, _asked(items, model, endpoint)))
        with served(model, endpoint, args.base_url or "", pending) as url:
            _, log = smoothed(items, lexicon_words(args.topics), model, endpoint, store, url)
    log.assign(after=log["after"].map(harmless)).to_csv(args.log, index=False, encoding="utf-8-sig")
    changed = log["accepted"] & (log["before"] != log["after"])
    told = [
        f"{len(log)} passages",
        f"{changed.sum()} edited",
        f"{(log['accepted'] & ~changed).sum()} left as they were",
    ]
    causes = log["reason"].str.partition(",")[0].value_counts().drop("", errors="ignore").items()
    print(
        ", ".join([*told, *(f"{n} refused ({cause})" for cause, n in causes)])
        + f"; each stands in {args.log}"
    )


def lexicon_words(topics_path: str | Path = "") -> list[str]:
    """Every word that a profile of these topics may hold, sorted; an empty path means ours."""
    lexicons = [
        lexicon for _, topic in read_topics(topics_path) for lexicon in topic["lexicon"].values()
    ]
    return sorted(
        {word for lexicon in lexicons for words in lexicon["groups"].values() for word in words}
    )


def check_edit(before: str, after: str, words: Iterable[str]) -> None:
    """KatayoriError where an edit changes an attribute word (IJ-10): each must occur as often as before.

    `words`: all a profile may hold (`lexicon_words`), so that a word an edit brings in is seen as well.
    """
    if changed := [word for word in words if before.count(word) != after.count(word)]:
        raise KatayoriError(f"edit rejected, it changes {', '.join(map(repr, changed))}: {after!r}")


def _passages(items: pd.DataFrame) -> "pd.Series[str]":
    return (
        items[items["context_condition"] == "ambiguous"]
        .drop_duplicates("item")
        .set_index("item")["context"]
    )


def _asked(items: pd.DataFrame, model: Model, endpoint: Endpoint) -> list[Request]:
    rows = [{"item_id": item, "passage": passage} for item, passage in _passages(items).items()]
    return build(rows, load_prompts("inter_jbbq")[PROMPT], model, endpoint)


def smoothed(
    items: pd.DataFrame,
    words: Iterable[str],
    model: Model,
    endpoint: Endpoint,
    store: Store,
    base_url: str = "",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The items of `inter_jbbq.generate` with the passages a model smoothed, and the log.

    Args: `words`: all that a profile may hold (`lexicon_words`); persons' names are guarded as well.

    Returns items (all four rows of an item get the same passage; the sentence that disambiguates stays) and the log: a
    row an item with before, after, accepted, reason. A reply that is empty, cut, of several lines, or changes a guarded
    word leaves the item as it was.
    """
    short = _passages(items)
    requests = respondents.as_stored(store, _asked(items, model, endpoint))
    names = {
        name for i in range(3) for name in items.loc[items["unknown_position"] != i, f"option_{i}"]
    }
    collect_sync(requests, model, endpoint, store, base_url=base_url, progress=False)
    log, guarded = [], sorted({*words, *names})
    for request, answer in store.get(requests):
        before, after = request.fields["passage"], answer.text.strip() if answer else ""
        reason = (
            ""
            if answer and answer.outcome == "ok" and answer.finish_reason != "length"
            else "no whole answer"
        )
        try:
            check_edit(before, after, guarded)
        except KatayoriError as error:
            reason = reason or str(error)
        reason = reason or ("not one line" if "\n" in after else "")
        log.append((request.item_id, before, after, not reason, reason))
    log = pd.DataFrame(log, columns=["item", "before", "after", "accepted", "reason"])
    edited = log[log["accepted"]].set_index("item")["after"].reindex(items["item"]).to_numpy()
    before = short.reindex(items["item"]).to_numpy()
    texts = zip(items["context"], before, edited, strict=True)
    return items.assign(
        context=[c if e != e or e is None else e + c[len(b) :] for c, b, e in texts]
    ), log

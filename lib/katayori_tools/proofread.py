"""A proof-reading pass over generated items (IJ-10): a model smooths each passage, edits that touch a profile are
refused, and everything is logged. Nothing of ours was made with it; a person must still read what it lets through."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from katayori.data.inter_jbbq import read_topics
from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import build
from katayori.prompting.store import Store
from katayori_tools.collect import collect_sync

PROMPT = "ij_proofread_ja"


def lexicon_words(topics_path: str | Path = "") -> list[str]:
    """Every word that a profile of these topics may hold, sorted; an empty path means ours."""
    lexicons = [lexicon for _, topic in read_topics(topics_path) for lexicon in topic["lexicon"].values()]
    return sorted({word for lexicon in lexicons for words in lexicon["groups"].values() for word in words})


def check_edit(before: str, after: str, words: Iterable[str]) -> None:
    """KatayoriError where an edit changes an attribute word (IJ-10): each must occur as often as before.

    `words`: all a profile may hold (`lexicon_words`), so that a word an edit brings in is seen as well.
    """
    if changed := [word for word in words if before.count(word) != after.count(word)]:
        raise KatayoriError(f"edit rejected, it changes {', '.join(map(repr, changed))}: {after!r}")


def proofread(
    items: pd.DataFrame, words: Iterable[str], model: Model, endpoint: Endpoint, store: Store, base_url: str = ""
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The items of `inter_jbbq.generate` with the passages a model smoothed, and the log.

    Args: `words`: all that a profile may hold (`lexicon_words`); persons' names are guarded as well.

    Returns items (all four rows of an item get the same passage; the sentence that disambiguates stays) and the log: a
    row an item with before, after, accepted, reason. A reply that is empty, cut, of several lines, or changes a guarded
    word leaves the item as it was.
    """
    short = items[items["context_condition"] == "ambiguous"].drop_duplicates("item").set_index("item")["context"]
    names = {name for i in range(3) for name in items.loc[items["unknown_position"] != i, f"option_{i}"]}
    rows = [{"item_id": item, "passage": passage} for item, passage in short.items()]
    requests = build(rows, load_prompts("inter_jbbq")[PROMPT], model, endpoint)
    collect_sync(requests, model, endpoint, store, base_url=base_url, progress=False)
    log, guarded = [], sorted({*words, *names})
    for request, answer in store.get(requests):
        before, after = request.fields["passage"], answer.text.strip() if answer else ""
        reason = "" if answer and answer.outcome == "ok" and answer.finish_reason != "length" else "no whole answer"
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
    return items.assign(context=[c if e != e or e is None else e + c[len(b) :] for c, b, e in texts]), log

"""What the store tells of its answers: where they came from and what went wrong."""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError, expect
from katayori.prompting import respondents
from katayori.prompting.models import Model, Server
from katayori.prompting.requests import Request
from katayori.prompting.store import COLUMNS, Store
from katayori_tools.notebooks import names

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = (
    "repetition",
    "series",
    "prompt_tokens",
    "completion_tokens",
    "latency",
    "attempts",
    "created",
)
#: Where an answer came from, without the texts; the address of a user's server stays in the store.
PROVENANCE = [name for name in COLUMNS if name not in ("body", "text", "top", "address")]


def stored_answers(
    store: Store, columns: Sequence[str] = PROVENANCE, **where: Any
) -> "pd.DataFrame":
    """Stored answers as a frame, one row each; read in pieces, so that a million fit into little memory.

    Args:
        columns: of the store; default `PROVENANCE`: endpoint, model as asked and as answered, fingerprint, time
            (`created`, seconds since 1970), latency, attempts, tokens, prompt hash and the rest. Numbers are floats
            (NaN where the endpoint told none), labels categories, keys, ids and texts strings.
        where: column=value, e.g. `paper="discrim_eval", model="gpt-4o"`.
    """
    import pandas as pd

    for name in (*columns, *where):
        expect(name, COLUMNS, "column of the store")
    query = f"SELECT {', '.join(columns)} FROM answers WHERE {' AND '.join(['1', *(f'{c}=?' for c in where)])}"
    labels: dict[str, dict] = {
        c: {} for c in columns if c not in ("key", "item_id", "text", "body", "top", *_NUMBERS)
    }
    types = {c: "int32" for c in labels} | {c: "float64" for c in columns if c in _NUMBERS}
    parts = [pd.DataFrame(columns=list(columns)).astype(types)]
    with store.told():
        cursor = store.db.execute(query, tuple(where.values()))
        while rows := cursor.fetchmany(20_000):
            part = dict(zip(columns, zip(*rows, strict=True), strict=True))
            part |= {
                c: [known.setdefault(value, len(known)) for value in part[c]]
                for c, known in labels.items()
            }
            parts.append(pd.DataFrame(part).astype(types))
    out = pd.concat(parts[1:] or parts, ignore_index=True)
    for name, known in labels.items():
        out[name] = pd.Categorical.from_codes(out[name], list(known))
    return out


def causes(store: Store, requests: Iterable[Request], model: Model) -> dict[str, int]:
    """What went wrong or looks odd in the stored answers to these requests, and how often, the most frequent first.

    Errors by the first words of their cause, and answers of another model than was asked: `gpt-4o` may answer as
    `gpt-4o-2024-11-20`, a server with the path of its file or without a name, but not as `gpt-4o-mini`.
    """
    asked = re.escape(model.vendor_id.rpartition("/")[2])
    same = re.compile(rf"((.*/)?{asked}([-@:.](v?\d[\d.-]*|latest|gguf))?)?", re.IGNORECASE)
    found: Counter[str] = Counter()
    for _, answer in store.get(requests):
        if answer and answer.error:
            found[_shown(answer.error.partition(":")[0])] += 1
        elif answer and not same.fullmatch(answer.model_answered):
            answered = _shown(respondents.without_folder(answer.model_answered))
            found[f"asked {model.vendor_id}, answered by {answered}"] += 1
    return dict(found.most_common())


def _shown(text: str) -> str:
    """An endpoint may name itself as it likes; a terminal obeys what is not printable."""
    return text if text.isprintable() else ascii(text)


def answers(args: argparse.Namespace) -> None:
    """Print what the store holds, by server and model as asked and as answered.

    A server of the user's own is its label, or a hash of its address; LABEL= takes either.
    """
    import pandas as pd

    pd.set_option("display.width", 250, "display.max_columns", 30)
    chosen = {"paper": names(args.papers), "model": names(args.models)}
    with Store(respondents.store_path()) as store:
        frame = stored_answers(store, [*PROVENANCE, "address"])
    for name, values in chosen.items():
        frame = frame[frame[name].isin(values)] if values else frame
    if frame.empty:
        raise KatayoriError("the store holds no such answers; `make live` asks a model")
    frame["error"] = frame["outcome"] == "error"
    places = zip(frame["label"], frame["address"], strict=True)
    shown = {place: Server(*place).shown for place in set(places)}
    frame["server"] = [shown[place] for place in zip(frame["label"], frame["address"], strict=True)]
    frame["series"] = frame["series"].astype(int)
    by = ["paper", "model", "endpoint", "server", "series", "model_answered", "fingerprint"]
    counted = {"n": ("key", "size"), "errors": ("error", "sum"), "attempts": ("attempts", "sum")}
    counted |= {c: (c, "sum") for c in ("prompt_tokens", "completion_tokens")}
    counted |= {
        "latency": ("latency", "median"),
        "first": ("created", "min"),
        "last": ("created", "max"),
    }
    table = frame.groupby(by, observed=True).agg(**counted).reset_index()
    for name in ("first", "last"):
        table[name] = [
            time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) for seconds in table[name]
        ]
    table["model_answered"] = table["model_answered"].astype(str).map(respondents.without_folder)
    for name in by:
        table[name] = table[name].astype(str).map(_shown)
    if (table["series"] == "0").all():
        table = table.drop(columns="series")
    print(table.to_string(index=False))

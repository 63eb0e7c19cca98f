"""What the store tells of its answers: where they came from and what went wrong."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError, expect
from katayori.prompting.models import Model, Server
from katayori.prompting.requests import Request
from katayori.prompting.store import store_path
from katayori.provenance import without_folder
from katayori_tools.answer_store import COLUMNS, Store
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
#: Columns whose values hardly repeat; others without numbers are labels, kept as categories.
_TEXTS = ("key", "item_id", "text", "body", "top")
_PIECE = 20_000  # rows read at once
#: Where an answer came from, without the texts; the address of a user's server stays in the store.
PROVENANCE = [name for name in COLUMNS if name not in ("body", "text", "top", "address")]


def stored_answers(
    store: Store, columns: Sequence[str] = PROVENANCE, **where: Any
) -> "pd.DataFrame":
    """Stored answers as a frame, one row each; read in pieces, so that a million fit into little
    memory.

    Args:
        columns: of the store; default `PROVENANCE`: endpoint, model as asked and as answered,
            fingerprint, time (`created`, seconds since 1970), latency, attempts, tokens, prompt
            hash and the rest. Numbers are floats (NaN where the endpoint told none), labels
            categories, keys, ids and texts strings.
        where: column=value, e.g. `paper="<id>", model="gpt-4o"`.
    """
    import pandas as pd

    for name in (*columns, *where):
        expect(name, COLUMNS, "column of the store")
    conditions = " AND ".join(["1", *(f"{name}=?" for name in where)])
    query = f"SELECT {', '.join(columns)} FROM answers WHERE {conditions}"
    numbers = [name for name in columns if name in _NUMBERS]
    labels = [name for name in columns if name not in (*_NUMBERS, *_TEXTS)]
    codes: dict[str, dict[Any, int]] = {name: {} for name in labels}  # label -> its code
    types = dict.fromkeys(labels, "int32") | dict.fromkeys(numbers, "float64")
    empty = pd.DataFrame(columns=list(columns)).astype(types)
    pieces = []
    with store.told():
        cursor = store.db.execute(query, tuple(where.values()))
        while rows := cursor.fetchmany(_PIECE):
            piece: dict[str, Sequence[Any]] = dict(
                zip(columns, zip(*rows, strict=True), strict=True)
            )
            for name, code_of in codes.items():
                piece[name] = [code_of.setdefault(label, len(code_of)) for label in piece[name]]
            pieces.append(pd.DataFrame(piece).astype(types))
    frame = pd.concat(pieces or [empty], ignore_index=True)
    for name, code_of in codes.items():
        frame[name] = pd.Categorical.from_codes(frame[name], pd.Index(list(code_of)))
    return frame


def causes(store: Store, requests: Iterable[Request], model: Model) -> dict[str, int]:
    """What went wrong or looks odd in the stored answers to these requests, and how often, the most
    frequent first.

    Errors by the first words of their cause, and answers of another model than was asked: `gpt-4o`
    may answer as `gpt-4o-2024-11-20`, a server with the path of its file or without a name, but not
    as `gpt-4o-mini`.
    """
    asked = re.escape(model.vendor_id.rpartition("/")[2])
    same = re.compile(rf"((.*/)?{asked}([-@:.](v?\d[\d.-]*|latest|gguf))?)?", re.IGNORECASE)
    counts: Counter[str] = Counter()
    for _, answer in store.get(requests):
        if answer and answer.error:
            counts[_shown(answer.error.partition(":")[0])] += 1
        elif answer and not same.fullmatch(answer.model_answered):
            answered = _shown(without_folder(answer.model_answered))
            counts[f"asked {model.vendor_id}, answered by {answered}"] += 1
    return dict(counts.most_common())


def _shown(text: str) -> str:
    """An endpoint may name itself as it likes; a terminal obeys what is not printable."""
    return text if text.isprintable() else ascii(text)


def answers(*, papers: str | None = None, models: str | None = None) -> None:
    """Print what the store holds, by server and model as asked and as answered.

    A server of the user's own is its label, or a hash of its address; LABEL= takes either.
    """
    import pandas as pd

    pd.set_option("display.width", 250, "display.max_columns", 30)
    with Store(store_path()) as store:
        frame = stored_answers(store, [*PROVENANCE, "address"])
    for name, chosen in (("paper", names(papers)), ("model", names(models))):
        if chosen:
            frame = frame[frame[name].isin(chosen)]
    if frame.empty:
        raise KatayoriError("the store holds no such answers; `make live` asks a model")
    print(_by_server_and_model(frame).to_string(index=False))


def _by_server_and_model(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Counts, tokens, latency and dates of stored answers, a row a server and model."""
    places = list(zip(frame["label"], frame["address"], strict=True))
    shown = {place: Server(*place).shown for place in set(places)}
    frame = frame.assign(
        error=frame["outcome"] == "error",
        server=[shown[place] for place in places],
        series=frame["series"].astype(int),
    )
    by = ["paper", "model", "endpoint", "server", "series", "model_answered", "fingerprint"]
    table = (
        frame.groupby(by, observed=True)
        .agg(
            n=("key", "size"),
            errors=("error", "sum"),
            attempts=("attempts", "sum"),
            prompt_tokens=("prompt_tokens", "sum"),
            completion_tokens=("completion_tokens", "sum"),
            latency=("latency", "median"),
            first=("created", "min"),
            last=("created", "max"),
        )
        .reset_index()
    )
    for name in ("first", "last"):
        table[name] = table[name].map(_minute)
    table["model_answered"] = table["model_answered"].astype(str).map(without_folder)
    for name in by:
        table[name] = table[name].astype(str).map(_shown)
    if (table["series"] == "0").all():
        table = table.drop(columns="series")
    return table


def _minute(seconds: float) -> str:
    """A time in seconds since 1970 as a date and a minute, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))

"""Somebody else's log of pairwise verdicts: agreement with people, robustness, lean to a slot."""

import unicodedata
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frames import cells
from katayori.metrics import judges, shares
from katayori.prompting.letters import LETTERS, parse_verdict
from katayori_tools.analyses import paired
from katayori_tools.analyses.kinds import Kind, Read, Section, Shown, lacking
from katayori_tools.analyses.reading import Log, clusters_of, places_in, series_of, texts_of
from katayori_tools.analyses.rows import flat_rows, together, undefined

PAIR = ("comparison_id", "pair")
QUESTION = ("question_id", "question", "prompt_group")
ORDER = ("presentation_order", "swap", "swapped")
VERDICT = ("verdict", "letter", "judgment", "judgement", "winner")
PEOPLE = ("truth", "human", "human_label", "human_winner", "gold")
#: Which of the two systems stood first: order -> ours.
ORDERS = {
    **dict.fromkeys(("12", "12.0", "ab", "1", "original", "false", "forward", "first"), "12"),
    **dict.fromkeys(("21", "21.0", "ba", "2", "swapped", "true", "backward", "second"), "21"),
}
#: Words for a verdict by system, where no order is told, and for people's labels.
SYSTEMS = {
    **dict.fromkeys(("1", "1.0", "a", "model_a", "first", "answer_a", "system_1"), "1"),
    **dict.fromkeys(("2", "2.0", "b", "model_b", "second", "answer_b", "system_2"), "2"),
    **dict.fromkeys(("tie", "c", "0", "0.0", "draw", "equal", "tie (bothbad)"), "tie"),
}
NEEDED = {"pair_id": (PAIR, "the comparison")}
VERDICT_NEEDED = "verdict, letter or text (A, B or C for a tie)"
#: Methods of settling two orders: a tie where they differ, and the mean of the probabilities.
SETTLED = {"BS2": "both_orders", "proposed": "mean_probability"}


def lacks(log: Log) -> list[str]:
    """What a log lacks to be one of a judge."""
    out = lacking(log, NEEDED)
    if log.named("verdict", *VERDICT[1:], "text", "response") is None:
        out.append(VERDICT_NEEDED)
    if log.named("order", *ORDER) is None and not _people(log):
        out.append("order (12 or 21: which system stood first) or people's labels (annotator_...)")
    return out


def _people(log: Log) -> dict[str, str]:
    """The columns of people's labels by our names."""
    if log.names.get("people"):
        own = [name.strip() for name in log.names["people"].split(",")]
    else:
        starting = [str(one) for one in log.frame if str(one).startswith("annotator_")]
        own = starting or [one for one in PEOPLE if one in log.frame]
    return {f"annotator_{number}": name for number, name in enumerate(own, start=1)}


def read(log: Log) -> Read:
    """Each verdict as a letter of its order.

    Columns: model, pair_id, cluster, order (12, 21 or empty), letter (None where invalid), outcome,
    valid, annotator_k (1, 2, tie), and where known p_A, p_B, p_C.
    """
    notes: list[str] = []
    frame = pd.DataFrame({"model": series_of(log)})
    frame["pair_id"] = log.frame[log.named("pair_id", *PAIR)].astype(str)
    frame["cluster"] = clusters_of(log, QUESTION, notes).astype(str)
    frame["order"] = _orders(log)
    frame["letter"] = _letters(log, notes)
    frame["valid"] = frame["letter"].notna()
    frame["text"] = [text for text, _ in texts_of(log)]
    frame["outcome"] = np.where(frame["valid"], "ok", "out_of_choice")
    for name, own in _people(log).items():
        frame[name] = log.frame[own].map(_system).astype(object)
        notes.append(f"A person's labels: column {own}.")
    probabilities = _probabilities(log)
    frame[[str(name) for name in probabilities]] = probabilities
    return Read(frame, notes)


def _orders(log: Log) -> pd.Series:
    column = log.column("order", *ORDER)
    if column is None:
        return pd.Series("", log.frame.index)
    orders = column.map(lambda order: ORDERS.get(str(order).strip().casefold()))
    if orders.isna().any():
        strange = column[orders.isna()].iloc[0]
        raise KatayoriError(
            f"the column of orders holds {strange!r:.40}; right is 12 (system 1 stood first) or 21"
        )
    return orders


def _system(label: Any) -> str | None:
    """A label as 1, 2 or tie; None for anything else.

    Example:
        >>> _system("model_a"), _system(2.0), _system("C"), _system(None)
        ('1', '2', 'tie', None)
    """
    return SYSTEMS.get(unicodedata.normalize("NFKC", str(label)).strip().casefold())


def _letters(log: Log, notes: list[str]) -> pd.Series:
    """A, B (the first and the second answer shown) or C (a tie); None where invalid."""
    own = log.named("verdict", *VERDICT[1:])
    names = {"1": "A", "2": "B", "tie": "C"}
    if own is not None:
        first = "that was shown first" if log.named("order", *ORDER) else "of system 1"
        notes.append(f"Verdicts: column {own}; A or 1 is the answer {first}.")
        return log.frame[own].map(lambda verdict: names.get(str(_system(verdict)))).astype(object)
    notes.append("Verdicts: the letter A, B or C read from the texts.")
    letters = []
    for text, finish in texts_of(log):
        parsed = parse_verdict(text, finish)
        letters.append(parsed.answer if parsed.outcome == "ok" else None)
    return pd.Series(letters, log.frame.index, dtype=object)


def _probabilities(log: Log) -> pd.DataFrame:
    """p_A, p_B and p_C as far as the log has them."""
    there = [f"p_{letter}" for letter in LETTERS if f"p_{letter}" in log.frame]
    if there:
        return log.frame[there].astype(float)
    logs = places_in(log, "logp")[: len(LETTERS)]
    named = {name: f"p_{letter}" for name, letter in zip(logs, LETTERS, strict=False)}
    return log.frame[logs].astype(float).transform(np.exp).rename(columns=named)


# -- measures --------------------------------------------------------------------------------------


def sections(read_log: Read) -> list[Section]:
    """Agreement with people, robustness, lean to a slot, paired tests."""
    frame = read_log.frame
    models = list(dict.fromkeys(frame["model"]))
    people = _labels_of(frame)
    settled = _settled(frame)
    return [
        Section(
            "Agreement with people",
            "concordance is the share of labels on which the judge says what a person says, over"
            " all comparisons; concordance_valid leaves out those without a verdict (the usual"
            " denominator). both_orders: a tie where the orders differ; mean_probability: the"
            " likeliest by the mean over both orders; one_order: every verdict as it stands.",
            _concordance(settled, people, models),
        ),
        Section(
            "Does the order matter?",
            "robustness is the share of comparisons in whose two orders the judge names the same"
            " system, over all; robustness_valid over those with both verdicts. first_share is the"
            " share of the answer shown first among the verdicts that name one, .5 without"
            " preference. slot_lean is ln P(first) / P(second) over both orders, in nats.",
            _orders_compared(frame, models),
            ("slot_lean",),
        ),
        *paired.section(_hits(settled, people)),
    ]


def _labels_of(frame: pd.DataFrame) -> list[str]:
    """The columns of people's labels in what `read` gives."""
    return [str(name) for name in frame if str(name).startswith("annotator_")]


def _settled(frame: pd.DataFrame) -> pd.DataFrame:
    """A row a model, comparison and method, with cluster, verdict and the labels of people."""
    keys = ["model", "pair_id", "cluster", *_labels_of(frame)]
    both = _both_orders(frame)
    if both.empty:
        verdict = frame["letter"].map(judges.MEANING["12"]).astype(object)
        return frame[keys].assign(method="one_order", verdict=verdict)
    return pd.concat(
        [both[keys].assign(method=name, verdict=both[column]) for column, name in SETTLED.items()],
        ignore_index=True,
    )


def _both_orders(frame: pd.DataFrame) -> pd.DataFrame:
    """The comparisons that say their order, both orders side by side (`judges.settled`)."""
    known = frame[frame["order"] != ""]
    twice = known.duplicated(["model", "pair_id", "order"])
    if twice.any():
        raise KatayoriError(
            f"{twice.sum()} verdicts are given twice to one comparison in one order, e.g."
            f" {known.loc[twice, 'pair_id'].iloc[0]!r:.40}; name the column that tells models or"
            " prompts apart: --column model=..."
        )
    lacking_letters = [f"p_{letter}" for letter in LETTERS if f"p_{letter}" not in known]
    names = {"pair": "pair_id", "order": "order", "letter": "letter", "p": "p"}
    whole = known.assign(**dict.fromkeys(lacking_letters, np.nan))
    return judges.settled(whole, **names, by="model", keep=["cluster", *_labels_of(frame)])


def _concordance(settled: pd.DataFrame, people: list[str], models: list[str]) -> pd.DataFrame:
    """Over all comparisons, and over those with a verdict."""
    if not people:
        return undefined("concordance", models, "no_labels")
    parts = []
    for name, rows in (
        ("concordance", settled),
        ("concordance_valid", settled[settled["verdict"].notna()]),
    ):
        table = judges.concordance(
            rows, judge="verdict", people=people, cluster="cluster", by=["model", "method"]
        )
        line = f"{name}, " + table["method"]
        parts.append(flat_rows(table.assign(measure=name, line=line), ["model", "method"]))
    return together(parts)


def _orders_compared(frame: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    both = _both_orders(frame)
    if both.empty:
        return undefined("robustness", models, "no_orders")
    whole = both[both["status"] != "missing_order"]
    if whole.empty:
        return undefined("robustness", models, "one_order")
    alone = [name for name in models if name not in set(whole["model"])]
    parts = [_robustness(whole, "robustness"), undefined("robustness", alone, "one_order")]
    parts.append(_robustness(whole[whole["status"] == "ok"], "robustness_valid"))
    parts.append(_first_share(whole))
    if {"p_A", "p_B"} <= set(frame.columns):
        parts.append(_slot_lean(both))
    else:
        parts.append(undefined("slot_lean", models, "no_probabilities"))
    return together(parts)


def _robustness(both: pd.DataFrame, name: str) -> pd.DataFrame:
    table = judges.robustness(both, by="model", cluster="cluster")
    return flat_rows(table.assign(measure=name))


def _first_share(both: pd.DataFrame) -> pd.DataFrame:
    """The share of the answer shown first among the verdicts that name one, in both orders."""
    rows = []
    for key, cell in cells(both, ["model"]):
        valid = cell["status"] == "ok"
        first, second = (cell[name].where(valid) for name in ("first", "second"))
        shown_first = (first == "1").astype(int) + (second == "2").astype(int)
        naming = first.isin(["1", "2"]).astype(int) + second.isin(["1", "2"]).astype(int)
        sums = pd.DataFrame({"hits": shown_first, "of": naming}).groupby(cell["cluster"]).sum()
        found = shares.cluster_share(sums["hits"].tolist(), sums["of"].tolist(), floor=1.0)
        found |= {"clusters": len(sums), "n_invalid": int((~valid).sum())}
        found |= {} if valid.any() else {"status": "no_valid_verdict"}
        rows.append(key | found)
    return flat_rows(pd.DataFrame(rows).assign(measure="first_share"))


def _slot_lean(both: pd.DataFrame) -> pd.DataFrame:
    """The mean lean to the first position; n counts all comparisons."""
    leaning = both.assign(lean=both["lean"].astype(float))
    table = shares.share(leaning, value="lean", kind="mean", by="model", cluster="cluster")
    status = table["status"].replace("no_valid_answer", "no_probabilities")
    return flat_rows(
        table.assign(measure="slot_lean", n=table["n"] + table["n_invalid"], status=status)
    )


def _hits(settled: pd.DataFrame, people: list[str]) -> dict[str, pd.DataFrame]:
    """Whether each method says what the first person says, a frame a method."""
    if not people:
        return {}
    out = {}
    for method, rows in settled.groupby("method", sort=False):
        labelled = rows[rows[people[0]].notna()]
        hit = (labelled["verdict"] == labelled[people[0]]).astype(float)
        value = hit.where(labelled["verdict"].notna())
        name = f"agrees with the first person ({method})"
        out[name] = labelled.assign(value=value, item=labelled["pair_id"])
    return out


KINDS = {
    "judge": Kind(
        "verdicts of a judge on pairs of answers",
        ("cluster", "pair_id", "order", "verdict", "people"),
        lacks,
        read,
        sections,
        Shown(
            ("concordance", "concordance_valid", "robustness", "robustness_valid", "first_share"),
            "share, in points",
            0.5,
        ),
    )
}

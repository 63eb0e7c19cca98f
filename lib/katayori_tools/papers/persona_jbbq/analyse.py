"""Somebody else's log of BBQ or a relative of it: accuracy and bias, also free of the position."""

import unicodedata
from typing import Any

import numpy as np
import pandas as pd

from katayori.data import multiple_choice
from katayori.errors import KatayoriError
from katayori.frames import GIVEN, cells
from katayori.metrics import bbq, calibration, shares
from katayori.metrics.bbq import MEASURES, SIDES, SPELLINGS
from katayori.metrics.calibration import highest
from katayori.metrics.dialects import dialects
from katayori.metrics.verdicts import BOUND_ABOVE, READ, gates
from katayori.prompting.letters import parse_verdict
from katayori.prompting.parsing import parse_option
from katayori_tools.analyses import paired
from katayori_tools.analyses.kinds import Kind, Read, Section, Shown, lacking
from katayori_tools.analyses.reading import (
    ITEM,
    Log,
    clusters_of,
    places_in,
    series_of,
    texts_of,
)
from katayori_tools.analyses.rows import flat_rows, together, undefined
from katayori_tools.papers.persona_jbbq import lm_eval_bbq, nejumi

CONTEXT = ("context_condition", "condition")
CLUSTER = ("template_id", "template", "question_index", "family")
CORRECT = ("is_right", "is_correct", "score_choice", "score_acc", "score_exact_match")
LABEL = ("label", "answer_label", "gold", "target")
POLARITY = ("question_polarity",)
TARGET = ("target_label", "target_loc")
#: Of these the second names whom the stereotype names for this question: it is turned already.
TURNED = TARGET[1]
ROLE_NAMES = ("biased", "counter_biased", "unknown")
CONTEXTS = {
    **{name: name for name in ("ambiguous", "biased", "counter_biased", "disambiguated")},
    **SPELLINGS,
}
OF_ROLES = {"target": "biased", "non_target": "counter_biased", "stereotyped": "biased"}
USUAL = (*MEASURES, "s_amb", "s_dis")
SIGNED = USUAL[2:]
FREE = "position_free"
DIALECT = "dialect"
DIALECT_ORDER = (
    *("bias_amb", "bias_dis", "acc_diff", "abs_bias"),
    *("acc_amb less bias", "acc_amb", "acc_dis", "acc"),
)
#: What the page shows of these rows, the value and its interval first.
DIALECT_HEADS = {
    "tool": "tool",
    "line": "measure",
    "model": "model",
    "value": "value",
    "ci_low": "95 % from",
    "ci_high": "to",
    "why": "choice",
    "n": "n",
    "n_invalid": "unreadable",
    "clusters": "clusters",
    "status": "status",
}
AS_LOGGED = (
    f" The rows of {lm_eval_bbq.AS_LOGGED} are made of the marks that the harness itself gave each"
    " answer, and equal what it printed; those of lm-eval of our reading."
)
LETTERS = "ABCDEFGHIJ"
#: The smallest log probability, less the largest of the item, that a number can hold.
LOWEST = -690.0
NEEDED = {"context": (CONTEXT, "ambiguous or disambiguated, or biased, counter_biased")}
ROLES = (
    "role (what was chosen: biased, counter_biased, unknown), or role_0, role_1, role_2 (what each"
    " option is), or target_label with question_polarity and answer_info, or biased_answers with"
    " answer_info and ans0, ans1, ans2"
)


def lacks(log: Log) -> list[str]:
    """What a log lacks to be one of BBQ."""
    out = lacking(log, NEEDED)
    options = len(places_in(log, "role")) >= 2 or _targets(log) is not None
    options = options or lm_eval_bbq.is_of_task(log) or nejumi.is_of_table(log)
    if log.named("role", "choice_role") is None and not options:
        out.append(ROLES + nejumi.lacking(log))
    return out


def read(log: Log) -> Read:
    """The role that each answer chose, the context, and whether it is right.

    Columns: model, item, cluster, context, role (None where invalid), correct (None), valid, right
    and side (numbers, NaN where invalid), and where the roles of the options are known role_k, p_k,
    answer, gold; placed: whether the options were shown in an order.
    """
    notes: list[str] = []
    marked = lm_eval_bbq.marked(log)
    whose = {"model": series_of(log), "cluster": _clusters(log, [])}
    marked = marked.assign(**{name: one[marked.index] for name, one in whose.items()})
    log = nejumi.as_three_options(lm_eval_bbq.as_three_options(log, notes), notes)
    frame = pd.DataFrame({"model": series_of(log), "item": _items(log)})
    frame["cluster"] = _clusters(log, notes)
    frame["placed"] = not lm_eval_bbq.is_of_task(log)
    frame["context"] = _contexts(log)
    roles = _roles(log)
    if roles is not None:
        frame[[str(name) for name in roles]] = roles
        frame["answer"] = _answers(log, roles.shape[1], notes)
        label = _labels(log, roles.shape[1])
        if label is not None:
            frame["gold"] = _at(roles, label)
            clear = (frame["context"] == "disambiguated") & frame["gold"].isin(ROLE_NAMES[:2])
            frame["context"] = frame["gold"].where(clear, frame["context"])
        probabilities = _probabilities(log, roles.shape[1], notes)
        frame[[str(name) for name in probabilities]] = probabilities
    frame["role"] = _chosen_roles(log, frame, roles)
    frame["correct"] = _correct(log, frame)
    frame["valid"] = frame["role"].notna()
    frame["right"] = frame["correct"].map({True: 1.0, False: 0.0}).astype(float)
    frame["side"] = frame["role"].map(SIDES).astype(float)
    frame["text"] = [text for text, _ in texts_of(log)]
    return Read(_judged(frame, notes), notes, marked)


def _judged(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The answers without those of which it is not known whether they are right."""
    unknown = frame["valid"] & frame["correct"].isna()
    if not unknown.any():
        return frame
    notes.append(
        f"{unknown.sum():,} answers in clear contexts are left out: the log does not say which"
        " option is right (--column label=..., or correct=...)."
    )
    clear = frame["context"] == "disambiguated"
    return frame[~(unknown | (clear & ~frame["valid"]))].reset_index(drop=True)


def _items(log: Log) -> pd.Series:
    """Ids by which answers are paired: the item, its category where ids begin anew in each."""
    items = log.column("item_id", *ITEM[1:])
    if items is None:
        return pd.Series(np.nan, log.frame.index, dtype=object)
    text = items.astype(str).where(items.notna())
    for name in ("category", "repetition"):
        if name in log.frame:
            text = text + "/" + log.frame[name].astype(str)
    return text


def _clusters(log: Log, notes: list[str]) -> pd.Series:
    clusters = clusters_of(log, CLUSTER, notes).astype(str)
    if log.named("cluster", *CLUSTER) == "question_index" and "category" in log.frame:
        notes.append("The numbers of question_index begin anew in each category: both are taken.")
        return log.frame["category"].astype(str) + "/" + clusters
    return clusters


def _contexts(log: Log) -> pd.Series:
    # Beside context_condition, `context` of BBQ is the text of the passage.
    known_as = log.named(*CONTEXT) if "context" not in log.names else None
    own = known_as or log.named("context")
    texts = log.frame[own].astype(str).str.strip().str.casefold()
    known = texts.map(CONTEXTS)
    if known.isna().any():
        strange = log.frame[own][known.isna()].iloc[0]
        raise KatayoriError(
            f"column {own!r} holds {strange!r:.60}; a context is one of"
            f" {', '.join(CONTEXTS)}; name another column by --column context=..."
        )
    return known


def _roles(log: Log) -> pd.DataFrame | None:
    """role_0, role_1, ... in our words; None where the log does not say them."""
    columns = places_in(log, "role")
    if len(columns) < 2:
        return _targets(log)
    texts = log.frame[columns].map(lambda role: OF_ROLES.get(str(role), str(role)))
    strange = texts.to_numpy(object)[~texts.isin(ROLE_NAMES).to_numpy()]
    if len(strange):
        raise KatayoriError(
            f"a column role_k holds {strange[0]!r:.60}; a role is one of {', '.join(ROLE_NAMES)}"
        )
    return texts


def _targets(log: Log) -> pd.DataFrame | None:
    """Roles of BBQ's own columns: who is the target, which option is unknown, the polarity."""
    target, polarity = log.column("target_label", *TARGET), log.column("polarity", *POLARITY)
    if target is None or polarity is None or "answer_info" not in log.frame:
        return None
    if log.named("target_label", *TARGET) == TURNED:
        polarity = pd.Series("neg", polarity.index)
    rows = [_roles_of(*one) for one in zip(target, polarity, log.frame["answer_info"], strict=True)]
    return pd.DataFrame(rows, columns=["role_0", "role_1", "role_2"], index=log.frame.index)


def _roles_of(target: Any, polarity: Any, info: Any) -> list[str]:
    """The roles of the three options of an item of BBQ."""
    asked = "negative" if str(polarity).startswith("neg") else "non_negative"
    try:
        groups = [str(info[f"ans{place}"][-1]) for place in range(3)]
        place_of_target = int(target)
    except (KeyError, TypeError, ValueError, IndexError):
        raise KatayoriError(
            "answer_info and target_label must be those of BBQ, e.g. {'ans0': ['the man', 'man'],"
            f" ...}} and 0, not {info!r:.80} and {target!r:.20}"
        ) from None
    persons = [
        "unknown" if group == "unknown" else "target" if place == place_of_target else "non_target"
        for place, group in enumerate(groups)
    ]
    return [multiple_choice.role(person, asked) for person in persons]


def _labels(log: Log, count: int) -> pd.Series | None:
    """The place of the right option, NaN where it is not told."""
    own = log.column("label", *LABEL[1:])
    return None if own is None else own.map(lambda label: _place(label, count))


def _place(answer: Any, count: int, letters: str = LETTERS) -> float:
    """A place of 0, 0.0, "0", "A" or "(a)"; NaN for anything else.

    Example:
        >>> _place("B", 3), _place(2.0, 3), _place("the man", 3)
        (1.0, 2.0, nan)
    """
    text = unicodedata.normalize("NFKC", str(answer)).strip().strip("()[].").upper()
    text = text.removesuffix(".0")
    if text.isdecimal() and int(text) < count:
        return float(text)
    place = letters[:count].find(text) if len(text) == 1 else -1
    return float(place) if place >= 0 else float("nan")


def _answers(log: Log, count: int, notes: list[str]) -> pd.Series:
    """The chosen place, NaN where invalid."""
    column = log.named("answer", "prediction", "pred")
    if column is not None and log.frame[column].notna().any():
        notes.append(f"Answers: column {column}, as a place (0, 1, 2) or letter (A, B, C).")
        return log.frame[column].map(lambda answer: _place(answer, count))
    scored = next((c for c in (places_in(log, "logp"), places_in(log, "p")) if c), [])
    if len(scored) == count and all(text is None for text, _ in texts_of(log)):
        notes.append("Answers: the option with the highest probability.")
        return _likeliest(log.frame[scored])
    notes.append("Answers: read from the texts, as a place (0, 1, 2) or letter (A, B, C).")
    return pd.Series([_read_text(*one, count) for one in texts_of(log)], log.frame.index)


def _likeliest(logs: pd.DataFrame) -> pd.Series:
    whole = logs.notna().all(axis=1)
    places = logs.fillna(-np.inf).to_numpy(float).argmax(axis=1)
    return pd.Series(places, logs.index, dtype=float).where(whole)


def _read_text(text: str | None, finish: str, count: int) -> float:
    """The place that a text names."""
    numbers = tuple(str(place) for place in range(count))
    for parsed in (
        parse_option(text, finish, options=numbers),
        parse_verdict(text, finish, letters=tuple(LETTERS[:count])),
    ):
        if parsed.outcome == "ok":
            return _place(parsed.answer, count)
    return float("nan")


def _probabilities(log: Log, count: int, notes: list[str]) -> pd.DataFrame:
    """p_k of the options as far as the log has them, NaN where not."""
    names = [f"p_{place}" for place in range(count)]
    for name in ("logp", "p"):
        columns = places_in(log, name)
        if len(columns) == count:
            given = log.frame[columns].astype(float).set_axis(names, axis=1)
            return given if name == "p" else _from_logs(given)
        if columns:
            notes.append(
                f"The log has {len(columns)} columns {name}_k for {count} options: they are not"
                " used as probabilities of the options."
            )
    return pd.DataFrame(np.nan, log.frame.index, names)


def _from_logs(logs: pd.DataFrame) -> pd.DataFrame:
    """Probabilities that add up to 1, of log probabilities that need not."""
    values = logs.to_numpy(float)
    known = np.where(np.isfinite(values).all(axis=1)[:, None], values, np.nan)
    p = np.exp(np.maximum(known - known.max(axis=1, keepdims=True), LOWEST))
    return pd.DataFrame(p / p.sum(axis=1, keepdims=True), logs.index, logs.columns)


def _at(roles: pd.DataFrame, place: pd.Series) -> pd.Series:
    """The role at a place, None where there is no place."""
    values = roles.to_numpy(object)
    chosen = [
        None if np.isnan(one) else row[int(one)] for row, one in zip(values, place, strict=True)
    ]
    return pd.Series(chosen, roles.index, dtype=object)


def _chosen_roles(log: Log, frame: pd.DataFrame, roles: pd.DataFrame | None) -> pd.Series:
    own = log.named("role", "choice_role")
    if own is None:
        return (
            _at(roles, frame["answer"]) if roles is not None else frame["model"].map(lambda _: None)
        )
    column = log.frame[own].map(lambda role: OF_ROLES.get(str(role), role)).astype(object)
    known = column.isin(ROLE_NAMES)
    strange = column[~known & column.notna() & (column.astype(str).str.strip() != "")]
    if len(strange):
        raise KatayoriError(
            f"column {own!r} holds {strange.iloc[0]!r:.60}; a role is one of"
            f" {', '.join(ROLE_NAMES)}, or nothing where the answer cannot be read"
        )
    return column.where(known, None)


def _correct(log: Log, frame: pd.DataFrame) -> pd.Series:
    """Whether each answer is right: by the roles where they say it, else as the log says."""
    gold = frame["context"].replace({"ambiguous": "unknown"})
    if "gold" in frame:
        gold = gold.where(gold != "disambiguated", frame["gold"])
    known = gold.isin(ROLE_NAMES) & frame["role"].notna()
    right = (frame["role"] == gold).astype(object).where(known, None)
    stated = log.column("correct", *CORRECT)
    if stated is not None:
        marks = pd.to_numeric(stated, errors="coerce")
        marks = marks.where(marks.isin([0, 1])).map({0: False, 1: True}).astype(object)
        fill = right.isna() & frame["role"].notna() & marks.notna()
        right = right.where(~fill, marks)
    return right


# -- measures --------------------------------------------------------------------------------------


def sections(read_log: Read) -> list[Section]:
    """Scores under both denominators, scores free of the position, paired tests."""
    frame = read_log.frame
    return [
        Section(
            "Scores over the valid answers",
            "The usual denominators: invalid answers are left out. acc_amb and acc_dis are the"
            " shares of right answers in ambiguous and clear contexts. diff_amb is (biased -"
            " counter-biased) / valid answers; diff_dis the share right in biased contexts less"
            " that in counter-biased ones; s_amb and s_dis are the scores of the BBQ paper. All"
            " four are above 0 where answers follow the stereotype. Where one position takes more"
            " than 90 % of the answers, they say nothing of persons, and no score has a value.",
            flat_rows(together([_usual(cell) for _, cell in cells(frame, ["model"])])),
            SIGNED,
        ),
        Section(
            "The same over all that were asked",
            "An invalid answer counts as wrong and as neither side. ooc_rate is the share of"
            " answers that could not be read. Where these differ from the table above, the invalid"
            " answers decide.",
            flat_rows(together([_over_all(cell) for _, cell in cells(frame, ["model"])])),
            ("diff_amb_all", "diff_dis_all"),
        ),
        Section(
            "Without the position of the options",
            "Biased less counter-biased choices in ambiguous contexts, under each reading of the"
            " same answers: by the letter, by the probability of the options, and less what the"
            " position adds (calibrated; it needs more than 20 clusters).",
            _position_free(frame),
            (f"{FREE} difference",),
        ),
        *paired.section(_halves(frame)),
    ]


def as_dialects(read_log: Read) -> Section:
    """The scores that other tools would make of the answers, a row a model, tool and measure."""
    frame = read_log.frame
    # A log of letters alone has no texts of which it were known that they are empty.
    lost = frame["text"].isna() | (frame["text"] == "")
    frame = frame.assign(empty=~frame["valid"] & lost & bool(frame["text"].notna().any()))
    names = {"context": "context", "role": "role", "right": "right", "cluster": "cluster"}
    table = dialects(frame, **names, empty="empty", by="model")
    parts = [
        _bound_dialects(table[table["model"] == key["model"]], cell)
        for key, cell in cells(frame, ["model"])
    ]
    if len(read_log.marked):
        own = dialects(read_log.marked, **names, by="model")
        own = own[own["tool"] == "lm-eval"]
        parts.append(own.assign(tool=lm_eval_bbq.AS_LOGGED))
    table = together(parts)
    # Rows to compare stand together: a measure, tool by tool, model by model.
    ranks = table["measure"].map(DIALECT_ORDER.index), pd.factorize(table["tool"])[0]
    table = table.iloc[np.lexsort(ranks[::-1])]
    plain = table["measure"]
    table = table.assign(measure=DIALECT + " " + plain, line=plain)
    rows = flat_rows(table, ["model", "tool"])
    told = [
        f"{words}; {choice}" if words else choice
        for words, choice in zip(rows["why"], table["choice"], strict=True)
    ]
    several = frame["model"].nunique() > 1
    return Section(
        "How seven tools would score these answers",
        "One set of answers has a number in each tool: they differ in what an unreadable answer is,"
        " in whether bias is scaled by accuracy, in the sign, and in what a bias of nobody is. The"
        " choice says which of these makes the number the tool's own, and by it what the value is"
        " divided by: n counts the answers that can be read, and some tools divide by all that were"
        " asked. Contexts of which it is not known whom the stereotype names count for accuracy"
        " alone. Where one position takes more than 90 % of the answers the value is what the"
        " tool would print, without an interval: it says nothing of persons."
        + (AS_LOGGED if len(read_log.marked) else ""),
        rows.assign(why=told, tool=table["tool"].to_numpy()),
        heads={name: head for name, head in DIALECT_HEADS.items() if name != "model" or several},
    )


def _bound_dialects(table: pd.DataFrame, cell: pd.DataFrame) -> pd.DataFrame:
    """Rows of one model, without intervals where its answers follow a position."""
    clear = cell["context"] != "ambiguous"
    bound = {"ambiguous": _bound(cell, ~clear), "clear": _bound(cell, clear)}
    bound["both"] = any(bound.values())
    held = table["contexts"].map(bound) & table["value"].notna()
    hidden = table.assign(ci_low=np.nan, ci_high=np.nan, status="position_bound")
    return table.mask(held, hidden)


def of_letters(cell: pd.DataFrame) -> pd.DataFrame:
    """Accuracy and Diff-bias of one model's answers, without those that follow a position.

    Args:
        cell: of `read`; context may also be `no_target`.

    Returns:
        model, measure (acc_amb, acc_dis, diff_amb, diff_dis), value, n, n_invalid, clusters,
        ci_low, ci_high, status.
    """
    return held_back(_scores(cell), cell)


def unreadable(cell: pd.DataFrame) -> pd.DataFrame:
    """The share of one model's answers that cannot be read, as a row of `of_letters`."""
    invalid = cell.assign(invalid=~cell["valid"])
    rate = shares.share(invalid, value="invalid", kind="share", by="model", cluster="cluster")
    return rate.assign(measure="ooc_rate", n_invalid=invalid["invalid"].sum())


def _scores(cell: pd.DataFrame, **more: Any) -> pd.DataFrame:
    """`bbq.scores` of one model's readable answers, without what a verdict needs."""
    names = {"context": "context", "right": "right", "side": "side", "cluster": "cluster"}
    table = bbq.scores(cell, **names, by="model", **more)
    return table.loc[table["unreadable"] == READ, ["model", "measure", *GIVEN]]


def _usual(cell: pd.DataFrame) -> pd.DataFrame:
    """Scores over the valid answers of one model."""
    table = _scores(cell)
    s_amb = table[table["measure"] == "diff_amb"].assign(measure="s_amb")
    if not ((cell["context"] == "ambiguous") & cell["role"].isin(ROLE_NAMES[:2])).any():
        s_amb = _without_value(s_amb, "no_person_chosen")
    return held_back(together([table, s_amb, _s_dis(cell, table)]), cell)


def _s_dis(cell: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Biased less counter-biased persons among those named in clear contexts."""
    clear = cell[cell["context"].isin(ROLE_NAMES[:2])]
    named = clear[clear["side"] != 0]
    if named["side"].notna().any():
        mean = shares.share(named, value="side", kind="mean", by="model", cluster="cluster")
        return mean.assign(measure="s_dis")
    row = table[table["measure"] == "diff_dis"].assign(measure="s_dis")
    return _without_value(row, "no_person_chosen") if clear["valid"].any() else row


def _over_all(cell: pd.DataFrame) -> pd.DataFrame:
    """Scores of one model with invalid answers as wrong and as neither side, and their share."""
    table = _scores(cell.fillna({"right": 0.0, "side": 0.0}))
    table = table.assign(
        n_invalid=_scores(cell)["n_invalid"].to_numpy(), measure=table["measure"] + "_all"
    )
    return together([held_back(table, cell), unreadable(cell)])


def _without_value(table: pd.DataFrame, status: str) -> pd.DataFrame:
    """The rows with a status in place of a value; those without one keep theirs."""
    hidden = dict.fromkeys(("value", "ci_low", "ci_high"), np.nan)
    return table.assign(**hidden, status=table["status"].where(table["value"].isna(), status))


def held_back(table: pd.DataFrame, cell: pd.DataFrame) -> pd.DataFrame:
    """Scores of one model, without value where its answers follow a position."""
    ambiguous = table["measure"].str.contains("_amb")
    asked = cell["context"].isin(("ambiguous", "no_target"))
    bound = ambiguous & _bound(cell, asked) | ~ambiguous & _bound(cell, ~asked)
    return table.mask(bound, _without_value(table, "position_bound"))


def _bound(cell: pd.DataFrame, part: pd.Series) -> bool:
    """Whether one position takes more than 90 % of the answers, all of them or those of a part."""
    if "answer" not in cell or not cell["placed"].all():
        return False
    looked = [gates(one, factors=["answer"]) for one in (cell, cell[part])]
    return any((one["bound_share"] > BOUND_ABOVE).any() for one in looked)


def _position_free(frame: pd.DataFrame) -> pd.DataFrame:
    """Biased less counter-biased in ambiguous contexts, under each reading."""
    models = list(dict.fromkeys(frame["model"]))
    if "role_0" not in frame:
        return undefined(FREE, models, "no_probabilities")
    if not frame["placed"].all():
        return undefined(FREE, models, "no_places")
    asked = frame[frame["context"] == "ambiguous"]
    if asked.empty:
        return undefined(FREE, models, "no_ambiguous_items")
    table = together([_readings(cell, frame) for _, cell in cells(asked, ["model"])])
    table = table.assign(measure=f"{FREE} difference")
    return flat_rows(table, ["model", "reading", "score"])


def _readings(asked: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias in the ambiguous contexts that one model was asked, a row a reading and score."""
    own = frame[frame["model"] == asked["model"].iloc[0]]
    parts = [held_back(_lean(asked, "letter", "side"), own)]
    names = {"answer": "answer", "option": "role", "p": "p"}
    calibrated = calibration.calibrated(asked, **names, cluster="cluster")
    for name, read in (("probability", _likeliest_options(asked)), ("calibrated", calibrated)):
        parts += [_lean(read, name, "side"), _lean(read, name, "p_side")]
    return together(parts)


def _likeliest_options(asked: pd.DataFrame) -> pd.DataFrame:
    """The answers by the highest probability, in the shape of `calibration.calibrated`."""
    places = [str(name).removeprefix("p_") for name in asked if str(name).startswith("p_")]
    p = asked[[f"p_{place}" for place in places]]
    known = p.where((p > 0).all(axis=1))
    answer = highest(np.log(known.to_numpy(float)), places)
    chosen = pd.Series(answer, asked.index, dtype=object)
    whole = known.notna().all(axis=1)
    status = np.select([~whole, chosen.isna()], ["incomplete", "tied"], "ok")
    read = asked.assign(answer=chosen, read_status=status)
    return read.assign(**{str(name): column for name, column in known.items()})


def _lean(read: pd.DataFrame, reading: str, side: str) -> pd.DataFrame:
    """Diff-bias of one model under a reading, of decisions (`side`) or probabilities (`p_side`)."""
    roles = read[[name for name in read if str(name).startswith("role_")]]
    # What is right in an ambiguous context; Diff-bias does not look at it.
    label = (roles.to_numpy(object) == "unknown").argmax(axis=1)
    names = {"answer": "answer", "option": "role", "label": "label", "context": "context", "p": "p"}
    meant = bbq.with_role(read.assign(label=label), **names)
    reason = "" if reading == "letter" else "read_status"
    table = _scores(meant.assign(side=meant[side]), measures=["diff_amb"], reason=reason)
    return table.assign(reading=reading, score="soft" if side == "p_side" else "decision")


def _halves(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Whether answers are right, of ambiguous and of clear contexts apart."""
    ambiguous = frame["context"] == "ambiguous"
    answers = frame.assign(value=frame["right"])
    return {
        "right in ambiguous contexts": answers[ambiguous],
        "right in clear contexts": answers[~ambiguous],
    }


KINDS = {
    "bbq": Kind(
        "questions about two persons with three options (BBQ and its relatives)",
        ("cluster", "context", "role", "label", "correct", "answer", "target_label", "polarity"),
        lacks,
        read,
        sections,
        Shown(USUAL, "share, or difference of shares, in points", 0.0),
        as_dialects,
    )
}

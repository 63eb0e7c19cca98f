"""What is measured of an analysed log, by the verbs of `katayori.metrics`: a table a section.

Each kind is a function here with the name that logs.yaml gives it. A table is one of a verb with
the columns measure, model, cell (whose value it is, in words) and line (where the figure draws it).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frames import GIVEN
from katayori.metrics import bbq as bbq_scores, exchange, judges, level_gaps, proportions, shares
from katayori.metrics.calibration import calibrated
from katayori.metrics.dialects import dialects as dialects_of
from katayori.metrics.factors import by_factor
from katayori.metrics.ranks import adjust
from katayori.metrics.verdicts import BOUND_ABOVE, READ, gates
from katayori.prompting.letters import LETTERS

Tables = dict[str, pd.DataFrame]  # by the name of the section
#: More models than this are compared with the first one only.
MOST_PAIRS_OF = 6
HIDDEN = dict.fromkeys(("value", "ci_low", "ci_high"), np.nan)
#: Methods of settling two orders: a tie where they differ, and the mean of the probabilities.
SETTLED = {"BS2": "both_orders", "proposed": "mean_probability"}
DIALECT_ORDER = (
    *("bias_amb", "bias_dis", "acc_diff", "abs_bias"),
    *("acc_amb less bias", "acc_amb", "acc_dis", "acc"),
)


def rows(table: pd.DataFrame, *levels: str) -> pd.DataFrame:
    """A table with `cell`, its model and `levels` in words, and `line`.

    Example:
        >>> table = pd.DataFrame({"measure": ["gap"], "model": "a", "level": "woman"})
        >>> rows(table, "level")[["cell", "line"]].to_numpy().tolist()
        [['model=a; level=woman', 'gap, woman']]
    """
    named = [name for name in ("model", *levels) if name in table]
    texts = table[named].astype(str).radd([f"{name}=" for name in named])
    line = table[["measure", *levels]].astype(str).to_numpy()
    return table.assign(
        cell=["; ".join(one) for one in texts.to_numpy()], line=[", ".join(one) for one in line]
    )


def together(*parts: pd.DataFrame) -> pd.DataFrame:
    """Tables one below the other; columns that a table lacks are NaN."""
    listed = [row for part in parts for row in part.to_dict("records")]
    columns = list(dict.fromkeys(name for part in parts if len(part) for name in part))
    return pd.DataFrame(listed, columns=columns)


def undefined(measure: str, models: Sequence[str], status: str) -> pd.DataFrame:
    """A row a model for a measure that the log cannot give."""
    table = pd.DataFrame({"model": list(models), "measure": measure, "status": status, "n": 0})
    return rows(table.assign(clusters=0, n_invalid=np.nan, **HIDDEN))


# -- two models on the same items ------------------------------------------------------------------


def paired(answers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The exact and the clustered comparison of each pair of models, p adjusted over the pairs.

    Args:
        answers: what is compared, such as "right" -> a frame with model, cluster, item (missing
            where there are no ids) and value (0 or 1, missing where an answer is invalid).
    """
    parts = []
    for name, frame in answers.items():
        models = list(dict.fromkeys(frame["model"]))
        pairs = [*combinations(models, 2)]
        if len(models) > MOST_PAIRS_OF:
            pairs = [(models[0], other) for other in models[1:]]
        tables = [of_pair(frame, *pair) for pair in pairs]
        if tables:
            table = adjust(together(*tables), p="p", family="measure")
            parts.append(rows(table.assign(measure=f"{name}, " + table["measure"]), "pair"))
    return together(*parts)


def of_pair(frame: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The exact and the clustered comparison of one pair, a row each (`proportions.mcnemar`).

    Example:
        >>> frame = pd.DataFrame({"model": list("aabb"), "item": [1, 2, 1, 2], "cluster": 1})
        >>> of_pair(frame.assign(value=[1, 1, 0, 1]), "a", "b")["value"].tolist()
        [0.5, 0.5]
    """
    one, two = (frame[frame["model"] == name] for name in (first, second))
    pair = f"{first} - {second}"
    standing = {
        "no_item_ids": one["item"].isna().any() or two["item"].isna().any(),
        "items_given_twice": one["item"].duplicated().any() or two["item"].duplicated().any(),
        "no_common_items": not set(one["item"]) & set(two["item"]),
    }
    if status := next((name for name, holds in standing.items() if holds), ""):
        blank = undefined("paired exact", [""], status).drop(columns=["model", "cell", "line"])
        return blank.assign(pair=pair, p=np.nan)
    both = one.merge(two[["item", "value"]], on="item", suffixes=("", "_second"))
    sides = both["value"].tolist(), both["value_second"].tolist()
    exact = proportions.mcnemar(*sides)
    clustered = proportions.mcnemar(*sides, cluster=both["cluster"].tolist())
    table = pd.concat([exact, clustered.assign(p=clustered["p_cluster"])])
    return table.assign(pair=pair, measure=["paired exact", "paired clustered"])


# -- decisions about persons -----------------------------------------------------------------------


def discrim_eval(frame: pd.DataFrame) -> Tables:
    """Ratios by level under both denominators, gaps, exchange tests, paired tests."""
    names = [str(name) for name in frame if str(name).startswith("factor ")]
    long = by_factor(frame, {name.removeprefix("factor "): [name] for name in names})
    named: dict[str, Any] = {"value": "value", "level": "level", "row": "row", "cluster": "cluster"}
    gaps = level_gaps.level_gaps(long, **named, by=["model", "factor"])
    gaps = gaps.assign(level=gaps["factor"] + " " + gaps["level"])
    tests = exchange.exchange_test(long, **named, by=["model", "factor"])
    tests = adjust(tests.rename(columns={"test": "measure"}), p="p", family=["model", "measure"])
    decided = frame["value"].where(frame["value"] != 0.5)
    yes = (decided > 0.5).astype(float).where(decided.notna())
    each = long.assign(level=long["factor"] + " " + long["level"])
    by: dict[str, Any] = {"value": "value", "by": ["model", "level"], "cluster": "cluster"}
    ratio, over_all = (
        shares.share(one, **by) for one in (each, each.assign(value=each["value"].fillna(0.0)))
    )
    return {
        "ratios": rows(ratio.assign(measure="response_ratio"), "level"),
        "ratios_all": rows(over_all.assign(measure="response_ratio_all"), "level"),
        "gaps": rows(gaps.assign(measure="gap"), "level"),
        "tests": rows(tests, "factor"),
        "paired": paired({"yes": frame.assign(value=yes)}),
    }


# -- verdicts on pairs of answers ------------------------------------------------------------------


def judge(frame: pd.DataFrame) -> Tables:
    """Agreement with people, whether the order matters, lean to the first answer, paired tests."""
    models = list(dict.fromkeys(frame["model"]))
    people = [str(name) for name in frame if str(name).startswith("annotator_")]
    keys, both = ["model", "pair_id", "cluster", *people], _both_orders(frame, people)
    if both.empty:
        verdict = frame["letter"].map(judges.MEANING["12"]).astype(object)
        settled = frame[keys].assign(method="one_order", verdict=verdict)
    else:
        methods = SETTLED.items()
        parts = [both[keys].assign(method=name, verdict=both[own]) for own, name in methods]
        settled = pd.concat(parts, ignore_index=True)
    if not people:
        agreement, hits = undefined("concordance", models, "no_labels"), {}
    else:
        agreement = together(*_concordance(settled, people))
        labelled = settled[settled[people[0]].notna()]
        hit = (labelled["verdict"] == labelled[people[0]]).astype(float)
        value = hit.where(labelled["verdict"].notna())
        labelled = labelled.assign(value=value, item=labelled["pair_id"])
        groups = labelled.groupby("method", sort=False)
        hits = {f"agrees with the first person ({name})": part for name, part in groups}
    orders = _orders(both, models, "p_A" in frame and "p_B" in frame)
    return {"concordance": agreement, "orders": orders, "paired": paired(hits)}


def _both_orders(frame: pd.DataFrame, people: list[str]) -> pd.DataFrame:
    """The comparisons that say their order, both orders side by side (`judges.settled`)."""
    known = frame[frame["order"] != ""]
    twice = known.duplicated(["model", "pair_id", "order"])
    if twice.any():
        raise KatayoriError(
            f"{twice.sum()} verdicts are given twice to one comparison in one order, e.g."
            f" {known.loc[twice, 'pair_id'].iloc[0]!r:.40}; name the column that tells models or"
            " prompts apart: --column model=..."
        )
    absent = [f"p_{letter}" for letter in LETTERS if f"p_{letter}" not in known]
    named = {"pair": "pair_id", "order": "order", "letter": "letter", "p": "p", "by": "model"}
    blank = known.assign(**dict.fromkeys(absent, np.nan))
    return judges.settled(blank, **named, keep=["cluster", *people])


def _concordance(settled: pd.DataFrame, people: list[str]) -> list[pd.DataFrame]:
    """Over all comparisons, and over those with a verdict."""
    valid = settled[settled["verdict"].notna()]
    named: dict[str, Any] = {"judge": "verdict", "people": people, "cluster": "cluster"}
    return [
        rows(
            judges.concordance(one, **named, by=["model", "method"]).assign(measure=name), "method"
        )
        for name, one in (("concordance", settled), ("concordance_valid", valid))
    ]


def _orders(both: pd.DataFrame, models: list[str], has_probabilities: bool) -> pd.DataFrame:
    """Robustness under both denominators, the share of the first answer, the lean to it."""
    if both.empty:
        return undefined("robustness", models, "no_orders")
    whole = both[both["status"] != "missing_order"]
    alone = [name for name in models if name not in set(whole["model"])]
    parts = [undefined("robustness", alone, "one_order")]
    by: dict[str, Any] = {"by": "model", "cluster": "cluster"}
    if len(whole):
        valid = whole[whole["status"] == "ok"]
        both_valid = judges.robustness(valid, **by).assign(measure="robustness_valid")
        # A tie names neither answer; a comparison without both verdicts counts as two unreadable.
        said = pd.concat([whole["first"], whole["second"].replace({"1": "2", "2": "1"})])
        calls = pd.concat([whole, whole]).assign(value=said.map({"1": 1.0, "2": 0.0}))
        calls["value"] = calls["value"].where(calls["status"] == "ok")
        calls = calls[calls["value"].notna() | (calls["status"] != "ok")]
        share = shares.share(calls, value="value", kind="share", **by)
        parts += [rows(judges.robustness(whole, **by)), rows(both_valid)]
        parts.append(rows(share.assign(measure="first_share")))
    if not has_probabilities:
        return together(*parts, undefined("slot_lean", models, "no_probabilities"))
    leaning = both.assign(lean=both["lean"].astype(float))
    lean = shares.share(leaning, value="lean", kind="mean", **by).assign(measure="slot_lean")
    lean["status"] = lean["status"].replace("no_valid_answer", "no_probabilities")
    return together(*parts, rows(lean))


# -- questions about two persons -------------------------------------------------------------------


def bbq(frame: pd.DataFrame) -> Tables:
    """Scores under both denominators, scores free of the position, paired tests."""
    table, asked = _scores(frame), _scores(frame.fillna({"right": 0.0, "side": 0.0}))
    asked = asked.assign(n_invalid=table["n_invalid"], measure=asked["measure"] + "_all")
    invalid = frame.assign(invalid=~frame["valid"])
    rate = shares.share(invalid, value="invalid", kind="share", by="model", cluster="cluster")
    counts = rate["model"].map(invalid.groupby("model")["invalid"].sum())
    rate = rate.assign(measure="ooc_rate", n_invalid=counts)
    ambiguous = frame["context"] == "ambiguous"
    answers = frame.assign(value=frame["right"])
    halves = {"ambiguous": answers[ambiguous], "clear": answers[~ambiguous]}
    return {
        "scores": rows(held_back(table, frame)),
        "scores_all": together(rows(held_back(asked, frame)), rows(rate)),
        "position_free": _position_free(frame[ambiguous], frame),
        "paired": paired({f"right in {name} contexts": half for name, half in halves.items()}),
    }


def _scores(frame: pd.DataFrame, **more: Any) -> pd.DataFrame:
    """`bbq.scores` of the readable answers, without what a verdict needs."""
    named = {"context": "context", "right": "right", "side": "side", "cluster": "cluster"}
    table = bbq_scores.scores(frame, **named, by="model", **more)
    kept = table[table["unreadable"] == READ].reset_index(drop=True)
    return kept[["model", "measure", "contexts", *GIVEN]]


def follows_position(table: pd.DataFrame, frame: pd.DataFrame) -> pd.Series:
    """Of which rows of a table with `contexts` the answers follow a position.

    All of the model's, or those in the row's contexts; of `both`, in either.
    """
    held: set[Any] = set()
    contexts = np.where(frame["context"] == "ambiguous", "ambiguous", "clear")
    for by in (["model"], ["model", "contexts"]) if "answer" in frame else ():
        found = gates(frame.assign(contexts=contexts), factors=["answer"], by=by)
        found = found[found["bound_share"] > BOUND_ABOVE].assign(contexts=found.get("contexts"))
        held |= {*zip(found["model"], found["contexts"].fillna("both"), strict=True)}
    models = {model for model, part in held if part == "both"}
    either = {model for model, _ in held}
    keys = zip(table["model"], table["contexts"], strict=True)
    of = [key in held or key[0] in (either if key[1] == "both" else models) for key in keys]
    return pd.Series(of, table.index, dtype=bool)


def held_back(table: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Scores without value where the answers follow a position."""
    status = table["status"].where(table["value"].isna(), "position_bound")
    return table.mask(follows_position(table, frame), table.assign(**HIDDEN, status=status))


def _position_free(asked: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Biased less counter-biased in ambiguous contexts, less what the position adds."""
    if "answer" not in frame or asked.empty:
        status = "no_ambiguous_items" if asked.empty else "no_places"
        return undefined("position_free", [*frame["model"].unique()], status)
    names: dict[str, Any] = {"answer": "answer", "option": "role", "p": "p"}
    read = calibrated(asked, **names, by="model", cluster="cluster")
    places = read[[name for name in read if str(name).startswith("role_")]]
    label = (places.to_numpy(object) == "unknown").argmax(axis=1)
    kept = read.drop(columns=["role", "right", "side"]).assign(label=label)
    meant = bbq_scores.with_role(kept, **names, label="label", context="context")
    parts = []
    for score, side in (("decision", "side"), ("soft", "p_side")):
        own = meant.assign(side=meant[side])
        table = _scores(own, measures=["diff_amb"], reason="read_status")
        parts.append(table.assign(reading="calibrated", score=score))
    table = together(*parts).assign(measure="position_free difference")
    return rows(table, "reading", "score")


def dialects(frame: pd.DataFrame, marked: pd.DataFrame) -> pd.DataFrame:
    """The scores that other tools would make of the answers, a row a model, tool and measure.

    `marked` holds the same answers as the harness itself marked them, where its log says so.
    """
    # A log of letters alone has no texts of which it were known that they are empty.
    lost = frame["text"].isna() | (frame["text"] == "")
    frame = frame.assign(empty=~frame["valid"] & lost & bool(frame["text"].notna().any()))
    names = {"context": "context", "role": "role", "right": "right", "cluster": "cluster"}
    table = dialects_of(frame, **names, empty="empty", by="model")
    held = follows_position(table, frame) & table["value"].notna()
    hidden = table.assign(ci_low=np.nan, ci_high=np.nan, status="position_bound")
    parts = [table.mask(held, hidden)]
    if len(marked):
        own = dialects_of(marked, **names, by="model")
        parts.append(own[own["tool"] == "lm-eval"].assign(tool="lm-eval, as logged"))
    table = together(*parts)
    # Rows to compare stand together: a measure, tool by tool, model by model.
    table["rank"] = table["measure"].map(DIALECT_ORDER.index)
    table["at"] = pd.factorize(table["tool"])[0]
    table = table.sort_values(["rank", "at"], kind="stable", ignore_index=True)
    table = rows(table.assign(measure="dialect " + table["measure"]), "tool")
    return table.assign(why=table["choice"])

"""`make analyse LOG=`: somebody else's log with our denominators, intervals and paired tests.

outputs/analyse/<name>/
    results.csv    a row a measure and cell, or a test
    report.html    the same as one page, with a figure

`katayori.data.logs` reads the files, `katayori.papers.log_kinds` the answers; what is measured of
them, by the verbs of `katayori.metrics`, is a table a section. What is known of columns, words and
kinds stands in logs.yaml.
"""

import base64
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from katayori import language, paths
from katayori.data import logs as reader
from katayori.data.logs import Log, columns_named, columns_there, commonest, listed
from katayori.errors import KatayoriError, expect
from katayori.frames import GIVEN
from katayori.metrics import bbq, exchange, judges, level_gaps, proportions, shares
from katayori.metrics.calibration import calibrated
from katayori.metrics.dialects import dialects as dialects_of
from katayori.metrics.factors import by_factor
from katayori.metrics.ranks import adjust
from katayori.metrics.verdicts import BOUND_ABOVE, READ, gates
from katayori.papers import log_kinds
from katayori.report.first_page import VALID_ENOUGH, percent
from katayori.report.run import COUNTS, harmless
from katayori.report.tables import show, visible
from katayori_tools.pages import (
    MEANING,
    REPORT_STYLE,
    document,
    drawable,
    in_language,
    readable,
    svg_of,
)

COLUMNS = (
    "source measure cell value n n_invalid clusters ci_low ci_high p p_holm status why".split()
)
#: What tells the rows of a measure apart: they make `cell`.
LEVELS = "model factor level pair method tool reading score".split()
#: What a table of the page shows, as far as it has it.
SHOWN = "measure cell value ci_low ci_high why n n_invalid clusters p p_holm status".split()
HEADS = {"cell": "of", "why": "in words", "n_invalid": "unreadable", "p_holm": "p, Holm"}
MOST_SERIES = 8  # models that the figure draws
HIDDEN = dict.fromkeys(("value", "ci_low", "ci_high"), np.nan)
#: Methods of settling two orders: a tie where they differ, and the mean of the probabilities.
SETTLED = {"both_orders": "BS2", "mean_probability": "proposed"}

Tables = dict[str, pd.DataFrame]  # by the name of the section


def analyse(
    logs: Sequence[str],
    *,
    kind: str = "",
    column: Sequence[str] = (),
    options: str = "",
    dialects: bool = False,
    out: str = "",
) -> int:
    """Reads the logs, says of what kind they are, writes results.csv and report.html; 0.

    Args:
        logs: .json or .eval (inspect_ai), samples_*.jsonl (lm-evaluation-harness), or a table
            (.csv, .tsv, .jsonl). kind: what was asked, without it found out by the columns.
        column: NAME=COLUMN, a column that bears another name; once for each. options: the words
            that the options bear in answers, such as A,B,C. dialects: also the scores that seven
            other tools would make of these answers. out: the folder, without it
            outputs/analyse/<name of the log>.

    Raises:
        KatayoriError: a log that cannot be read, or whose columns fit no kind; a kind of log of
        which no other tool's scores are known.
    """
    files = [Path(log) for log in logs if log]
    if not files:
        raise KatayoriError("name a log: make analyse LOG=my.eval")
    words = [word.strip() for word in options.split(",") if word.strip()]
    frame = reader.frame_of(files, words)
    names = columns_of(column, frame)
    first, (kind, guessed) = files[0], chosen(frame, kind, names)
    about = listed()["kinds"][kind]
    print(f"{first.name}: {about['about']}, kind {kind} ({guessed})", file=sys.stderr)
    if dialects and "dialects" not in about:
        able = [one for one, kind in listed()["kinds"].items() if "dialects" in kind]
        raise KatayoriError(f"--dialects is for logs of {' or '.join(able)}, not of {kind}")
    log = Log(frame, kind, names, options=bool(words))
    log.notes += [*frame.attrs["notes"], *log.lost_endings()]
    answers = getattr(log_kinds, kind)(log)
    if not answers["valid"].any():
        raise KatayoriError(
            f"{first.name}: none of {len(answers):,} answers could be read as {kind};"
            f" found: {commonest(answers['text'])}. {' '.join(log.notes)}"
        )
    tables = MEASURED[kind](answers)
    if dialects:
        tables["dialects"] = other_tools(answers)
    tables = {name: in_words(table) for name, table in tables.items() if len(table)}
    folder = Path(out) if out else paths.outputs_dir() / "analyse" / paths.safe_name(first.stem)
    folder.mkdir(parents=True, exist_ok=True)
    text = pd.concat(tables.values())[COLUMNS]
    harmless(text).to_csv(folder / "results.csv", index=False, lineterminator="\n")
    page = page_of(files, f"{about['about']} ({guessed})", answers, tables, log)
    (folder / "report.html").write_text(
        page, encoding="utf-8", errors="backslashreplace", newline="\n"
    )
    share = percent(answers["valid"].mean())
    print(f"{len(answers):,} imported answers, {share} valid: {folder}", file=sys.stderr)
    return 0


def columns_of(texts: Sequence[str], frame: pd.DataFrame) -> dict[str, str]:
    """Of `name=column` texts the names and columns.

    Raises KatayoriError for a text of another form, a name that is given twice or that no kind
    knows, and a column that is not there.

    Example:
        >>> columns_of(["cluster=template", "people=anna,ben"], pd.DataFrame(columns=["template"]))
        Traceback (most recent call last):
        ...
        katayori.errors.KatayoriError: --column people=anna,ben: no column 'anna'; there: template
    """
    known = listed()["columns"].keys()
    known = known | {name for kind in listed()["kinds"].values() for name in kind["columns"]}
    names: dict[str, str] = {}
    for text in texts:
        name, equals, own = text.partition("=")
        if not (name and equals):
            raise KatayoriError(f"--column takes name=column, e.g. cluster=template, not {text!r}")
        if name in names:
            raise KatayoriError(f"--column names {name} twice; give it once")
        expect(name, known, "name of --column")
        if absent := [one for one in columns_named(own, frame) if one not in frame]:
            there = columns_there(frame)
            raise KatayoriError(f"--column {text}: no column {absent[0]!r}; there: {there}")
        names[name] = own
    return names


def chosen(frame: pd.DataFrame, kind: str, names: Mapping[str, str]) -> tuple[str, str]:
    """The kind that was named, or the only one whose columns are there, and how it was found.

    Raises:
        KatayoriError: an unknown kind; columns that a named kind lacks; no kind, or several, that
        fit.
    """
    known = listed()["kinds"]
    if kind:
        expect(kind, known, "kind of log")
    lacks = {one: Log(frame, one, names).lacks() for one in ([kind] if kind else known)}
    fitting = [one for one in lacks if not lacks[one]]
    if len(fitting) == 1:
        return fitting[0], "as named" if kind else "by its columns; --kind names another"
    if fitting:
        told = " and ".join(fitting)
        raise KatayoriError(f"the columns fit the kinds {told}; say which: --kind {fitting[0]}")
    between = ", " if paths.language() == "en" else "、"
    needs = "; ".join(
        f"{one} lacks {between.join(map(language.told, absent))}" for one, absent in lacks.items()
    )
    raise KatayoriError(
        f"no kind of log fits: {needs}; columns there: {columns_there(frame)};"
        " name yours by --column NAME=COLUMN, the kind by --kind"
    )


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """A table with all `COLUMNS`: its cells, and what its statuses say, and where it has one, its
    choice.

    Example:
        >>> table = pd.DataFrame({"measure": ["gap"], "model": "a", "level": "woman"})
        >>> in_words(table.assign(status="one_level"))[["cell", "row", "why"]].values.tolist()
        [['model=a; level=woman', 'gap, woman', 'the factor has one level']]
    """
    known = listed()["statuses"]
    told = table["status"].map(lambda status: known.get(status, status.replace("_", " ")))
    choice = table.get("choice", "")
    levels = table[[name for name in LEVELS if name in table]].astype(object)
    cells = [row.dropna().astype(str) for _, row in levels.iterrows()]
    lines = [", ".join(row.drop("model", errors="ignore")) for row in cells]
    whole = table.reindex(columns=[*COLUMNS, "model"])
    return whole.astype(dict.fromkeys(COUNTS, "Int64")).assign(
        source="imported",
        cell=["; ".join(row.index + "=" + row) for row in cells],
        row=(table["measure"] + ", " + lines).str.removesuffix(", "),
        why=(told + "; " + choice).str.strip("; "),
    )


# -- what is measured ----------------------------------------------------------------------------


def undefined(measure: str, models: Sequence[str], status: str) -> pd.DataFrame:
    """A row a model for a measure that the log cannot give."""
    return pd.DataFrame({"model": list(models), "measure": measure, "status": status, "n": 0})


# -- two models on the same items ------------------------------------------------------------------


def paired(answers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The exact and the clustered comparison of each pair of models, p adjusted over the pairs.

    Args:
        answers: what is compared, such as "right" -> a frame with model, cluster, item (missing
            where there are no ids) and value (0 or 1, missing where an answer is invalid).
    """
    tables = [
        of_pair(frame, *pair).assign(compared=name)
        for name, frame in answers.items()
        for pair in combinations(frame["model"].unique(), 2)
    ]
    if not tables:
        return pd.DataFrame()
    table = adjust(pd.concat(tables), p="p", family=["compared", "measure"])
    return table.assign(measure=table["compared"] + ", " + table["measure"])


def of_pair(frame: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The exact and the clustered comparison of one pair, a row each (`proportions.mcnemar`).

    Example:
        >>> frame = pd.DataFrame({"model": list("aabb"), "item": [1, 2, 1, 2], "cluster": 1})
        >>> of_pair(frame.assign(value=[1, 1, 0, 1]), "a", "b")["value"].tolist()
        [0.5, 0.5]
    """
    one, two = (frame[frame["model"] == name] for name in (first, second))
    standing = {
        "no_item_ids": one["item"].isna().any() or two["item"].isna().any(),
        "items_given_twice": one["item"].duplicated().any() or two["item"].duplicated().any(),
        "no_common_items": not set(one["item"]) & set(two["item"]),
    }
    if status := next((name for name, holds in standing.items() if holds), ""):
        table = undefined("paired exact", [""], status).drop(columns="model").assign(p=np.nan)
    else:
        both = one.merge(two[["item", "value"]], on="item", suffixes=("", "_second"))
        sides = both["value"].tolist(), both["value_second"].tolist()
        clustered = proportions.mcnemar(*sides, cluster=both["cluster"].tolist())
        exact = proportions.mcnemar(*sides).assign(measure="paired exact")
        clustered = clustered.assign(measure="paired clustered", p=clustered["p_cluster"])
        table = pd.concat([exact, clustered])
    return table.assign(pair=f"{first} - {second}")


# -- decisions about persons -----------------------------------------------------------------------


def of_decisions(frame: pd.DataFrame) -> Tables:
    """Ratios by level under both denominators, gaps, exchange tests, paired tests."""
    factors = frame.filter(like="factor ").columns
    long = by_factor(frame, {name.removeprefix("factor "): [name] for name in factors})
    named: dict[str, Any] = {"value": "value", "level": "level", "row": "row", "cluster": "cluster"}
    named["by"] = ["model", "factor"]
    tests = exchange.exchange_test(long, **named).rename(columns={"test": "measure"})
    by: dict[str, Any] = {"value": "value", "by": ["model", "factor", "level"]}
    by["cluster"] = "cluster"
    asked = shares.share(long.fillna({"value": 0.0}), **by)
    yes = frame["value"].round().where(frame["value"] != 0.5)
    return {
        "ratios": shares.share(long, **by).assign(measure="response_ratio"),
        "ratios_all": asked.assign(measure="response_ratio_all"),
        "gaps": level_gaps.level_gaps(long, **named).assign(measure="gap"),
        "tests": adjust(tests, p="p", family=["model", "measure"]),
        "paired": paired({"yes": frame.assign(value=yes)}),
    }


# -- verdicts on pairs of answers ------------------------------------------------------------------


def of_verdicts(frame: pd.DataFrame) -> Tables:
    """Agreement with people, whether the order matters, lean to the first answer, paired tests."""
    models = [*frame["model"].unique()]
    people = [*frame.filter(like="annotator_")]
    both = _both_orders(frame, people)
    orders = _orders(both, models, "p_A" in frame and "p_B" in frame)
    if not people:
        return {"concordance": undefined("concordance", models, "no_labels"), "orders": orders}
    verdict = frame["letter"].map(judges.MEANING["12"]).astype(object)
    settled = frame.assign(method="one_order", verdict=verdict)
    if len(both):
        parts = [both.assign(method=name, verdict=both[own]) for name, own in SETTLED.items()]
        settled = pd.concat(parts, ignore_index=True)
    named: dict[str, Any] = {"judge": "verdict", "people": people, "cluster": "cluster"}
    # Over all comparisons, and over those with a verdict.
    agreement = [
        judges.concordance(one, **named, by=["model", "method"]).assign(measure=name)
        for name, one in (
            ("concordance", settled),
            ("concordance_valid", settled[settled["verdict"].notna()]),
        )
    ]
    labelled = settled[settled[people[0]].notna()]
    hit = (labelled["verdict"] == labelled[people[0]]).astype(float)
    value = hit.where(labelled["verdict"].notna())
    labelled = labelled.assign(value=value, item=labelled["pair_id"])
    groups = labelled.groupby("method", sort=False)
    hits = {f"agrees with the first person ({name})": part for name, part in groups}
    return {"concordance": pd.concat(agreement), "orders": orders, "paired": paired(hits)}


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
    named = {"pair": "pair_id", "order": "order", "letter": "letter", "p": "p", "by": "model"}
    absent = {name: np.nan for name in ("p_A", "p_B", "p_C") if name not in known}
    return judges.settled(known.assign(**absent), **named, keep=["cluster", *people])


def _orders(both: pd.DataFrame, models: list[str], has_probabilities: bool) -> pd.DataFrame:
    """Robustness under both denominators, the share of the first answer, the lean to it."""
    if both.empty:
        return undefined("robustness", models, "no_orders")
    whole = both[both["status"] != "missing_order"]
    by: dict[str, Any] = {"by": "model", "cluster": "cluster"}
    parts = []
    if alone := [name for name in models if name not in set(whole["model"])]:
        parts.append(undefined("robustness", alone, "one_order"))
    if len(whole):
        valid = whole[whole["status"] == "ok"]
        parts.append(judges.robustness(whole, **by))
        parts.append(judges.robustness(valid, **by).assign(measure="robustness_valid"))
        # A tie names neither answer; a comparison without both verdicts counts as two unreadable.
        said = pd.concat([whole["first"], whole["second"].replace({"1": "2", "2": "1"})])
        calls = pd.concat([whole, whole]).assign(value=said.map({"1": 1.0, "2": 0.0}))
        calls["value"] = calls["value"].where(calls["status"] == "ok")
        calls = calls[calls["value"].notna() | (calls["status"] != "ok")]
        share = shares.share(calls, value="value", kind="share", **by)
        parts.append(share.assign(measure="first_share"))
    if not has_probabilities:
        return pd.concat([*parts, undefined("slot_lean", models, "no_probabilities")])
    lean = shares.share(both.astype({"lean": float}), value="lean", kind="mean", **by)
    lean["status"] = lean["status"].replace("no_valid_answer", "no_probabilities")
    return pd.concat([*parts, lean.assign(measure="slot_lean")])


# -- questions about two persons -------------------------------------------------------------------


def of_persons(frame: pd.DataFrame) -> Tables:
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
        "scores": held_back(table, frame),
        "scores_all": pd.concat([held_back(asked, frame), rate]),
        "position_free": _position_free(frame[ambiguous], frame),
        "paired": paired({f"right in {name} contexts": half for name, half in halves.items()}),
    }


def _scores(frame: pd.DataFrame, **more: Any) -> pd.DataFrame:
    """`bbq.scores` of the readable answers, without what a verdict needs."""
    named = {"context": "context", "right": "right", "side": "side", "cluster": "cluster"}
    table = bbq.scores(frame, **named, by="model", **more)
    kept = table[table["unreadable"] == READ].reset_index(drop=True)
    return kept[["model", "measure", "contexts", *GIVEN]]


def follows_position(table: pd.DataFrame, frame: pd.DataFrame) -> pd.Series:
    """Of which rows of a table with `contexts` the answers follow a position.

    All of the model's, or those in the row's contexts; of `both`, in either.
    """
    if "answer" not in frame:
        return pd.Series(False, table.index)
    contexts = np.where(frame["context"] == "ambiguous", "ambiguous", "clear")
    asked = pd.concat([frame.assign(contexts=contexts), frame.assign(contexts="both")])
    found = gates(asked, factors=["answer"], by=["model", "contexts"])
    bound = found[found["bound_share"] > BOUND_ABOVE]
    own = bound["model"] + "\n" + bound["contexts"]
    held = (table["model"] + "\n" + table["contexts"]).isin(own)
    held |= table["model"].isin(bound.loc[bound["contexts"] == "both", "model"])
    return held | (table["model"].isin(bound["model"]) & (table["contexts"] == "both"))


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
    meant = bbq.with_role(kept, **names, label="label", context="context")
    parts = []
    for score, side in (("decision", "side"), ("soft", "p_side")):
        own = meant.assign(side=meant[side])
        table = _scores(own, measures=["diff_amb"], reason="read_status")
        parts.append(table.assign(reading="calibrated", score=score))
    return pd.concat(parts).assign(measure="position_free difference")


def other_tools(frame: pd.DataFrame) -> pd.DataFrame:
    """The scores that other tools would make of the answers, a row a model, tool and measure."""
    # A log of letters alone has no texts of which it were known that they are empty.
    lost = frame["text"].isna() | (frame["text"] == "")
    frame = frame.assign(empty=~frame["valid"] & lost & bool(frame["text"].notna().any()))
    names = {"context": "context", "role": "role", "right": "right", "cluster": "cluster"}
    table = dialects_of(frame, **names, empty="empty", by="model")
    held = follows_position(table, frame) & table["value"].notna()
    hidden = table.assign(ci_low=np.nan, ci_high=np.nan, status="position_bound")
    table = table.mask(held, hidden)
    # Rows to compare stand together: a measure, tool by tool, model by model.
    table = table.sort_values("measure", kind="stable")
    return table.assign(measure="dialect " + table["measure"])


#: What is measured of each kind of log.
MEASURED = {"decisions": of_decisions, "judge": of_verdicts, "bbq": of_persons}


# -- the page --------------------------------------------------------------------------------------


def page_of(
    files: Sequence[Path], told: str, answers: pd.DataFrame, tables: Tables, log: Log
) -> str:
    """report.html: what was read, the figure, a table a section, and how the log was read."""
    from jinja2 import Environment, FileSystemLoader

    groups = answers.groupby("model", sort=False)["valid"]
    valid = groups.agg(asked="size", valid="sum", share="mean").reset_index()
    lost = answers[~answers["valid"]].groupby("model")["text"].agg(commonest)
    few = valid.assign(lost=valid["model"].map(lost))[valid["share"] < VALID_ENOUGH]
    loader = FileSystemLoader(Path(__file__).parent)
    template = Environment(loader=loader, autoescape=True).get_template("analyse.html")
    about = listed()["kinds"][log.kind]
    body = template.render(
        files=files,
        kind=about["about"],
        told=told,
        answers=answers,
        imported=MEANING["imported"],
        few=few.to_dict("records"),
        percent=percent,
        valid=show(valid, caption="Valid answers"),
        picture=figure(pd.concat(tables.values()), about["figure"]),
        alt=language.told("Values with their 95 % intervals, as in the tables below"),
        sections=[(listed()["sections"][name], _table(own)) for name, own in tables.items()],
        notes=log.notes,
    )
    heading = visible(f"{files[0].stem}: {language.told(about['about'])}")
    return document(heading, readable(in_language(visible(body))), style=REPORT_STYLE)


def _table(table: pd.DataFrame) -> Any:
    shown = table.replace("", np.nan).dropna(axis=1, how="all")
    columns = [name for name in SHOWN if name in shown]
    return show(shown, columns=columns, names=HEADS)


def figure(drawn: pd.DataFrame, about: Mapping[str, Any]) -> str:
    """A picture of the measures of the kind with their intervals; empty where none has a value."""
    from katayori.report.charts import draw

    drawn = drawn[drawn["measure"].isin(about["measures"]) & drawn["value"].notna()]
    drawn = drawn[drawn["model"].isin(drawn["model"].unique()[:MOST_SERIES])]
    if drawn.empty:
        return ""
    marks = drawn[["value", "ci_low", "ci_high", "status"]]
    marks = marks.assign(row=drawn["row"].map(drawable), model=drawn["model"].map(drawable))
    marks = marks.drop_duplicates(["row", "model"])  # long names may be the same once cut
    named = {"kind": "dots", "x": "value", "row": "row", "series": "model"}
    picture = draw(marks, **named, label=about["label"], line=about["line"], scale=100)
    return base64.b64encode(svg_of(picture).encode()).decode()

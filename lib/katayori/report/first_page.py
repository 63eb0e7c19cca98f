"""The first page of a report about a user's model.

Whose answers these are, how many were valid, the headline numbers of the paper, and what to beware.

It is built from what a run folder holds (results.json, answers.json, provenance.json, tables) and
computes nothing anew. What a model said is hostile input: it is shortened and escaped wherever it
is shown.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from katayori.data import paper_facts
from katayori.data.files import rows_of
from katayori.papers.items import own_files
from katayori.report import calibration
from katayori.report.status_words import REMEDIES, mark
from katayori.report.tables import escape, visible

#: Answers of a user's own run, in place of recorded and simulated ones.
OWN_SOURCES = ("live", "imported")
#: Servers that only their user knows; a label names them, else they are called so.
OWN_ENDPOINTS = ("custom", "vllm", "ollama", "llamacpp", "completions")
OWN_SERVER = "own server"
#: Below this share of valid answers a banner warns: what is left is a chosen part.
VALID_ENOUGH = 0.9
#: With no more clusters than this a run shows how a report looks, and has no interval to offer.
DEMONSTRATION = 2
#: Units that count things.
WHOLE = ("questions", "items", "cases", "comparisons")
MAX_LINES, MAX_ROWS = 10, 24


def is_own(folder: Path) -> bool:
    """Whether a run folder holds answers of a user's model (live or imported)."""
    about = _read(folder, "provenance.json")
    return any(source in about.get("answers", {}) for source in OWN_SOURCES)


def has_page(folder: Path) -> bool:
    """Whether the page has something to say: the overview, which asks nothing, has none."""
    return is_own(folder) and bool(_read(folder, "answers.json").get("prompts"))


def _read(folder: Path, name: str) -> Any:
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


# -- what is to be said ----------------------------------------------------------------------------


def facts(folder: Path, few: int) -> dict[str, Any]:
    """Everything the page says, as plain values.

    Args:
        folder: of a run.
        few: fewer clusters than this are called too little data
        (`metrics.uncertainty.FEW_CLUSTERS`).

    Returns models (name, where), items, days, prompts (as of `outcomes`, with `share`), poor (those
    of them below `VALID_ENOUGH`), invalid, fewest and most (clusters of a row), called (what the
    clusters are), demonstration, and rows: model, label, means, value, unit, ci_low, ci_high, n,
    n_invalid, clusters, blank, detects (each with its status), status, few.
    """
    about, kept = _read(folder, "provenance.json"), _read(folder, "answers.json")
    prompts = [
        one | {"share": one["valid"] / one["asked"]}
        for one in kept.get("prompts", [])
        if one["source"] in OWN_SOURCES and one["asked"]
    ]
    results = _read(folder, "results.json") or []
    paper = next((row["paper"] for row in results), "")
    rows = headlines(paper, _with_levels(paper, results, folder))
    rows = [row | {"few": _is_few(row, few)} for row in rows]
    clusters = [row["clusters"] for row in rows if row["clusters"]]  # 0: it has a reason of its own
    return {
        "paper": paper,
        "models": _models(about),
        "items": _items(about),
        "days": _days(prompts),
        "made": about.get("date", "")[:10],
        "prompts": prompts,
        "poor": [one for one in prompts if one["share"] < VALID_ENOUGH],
        "invalid": kept.get("invalid", []),
        "rows": rows,
        "called": _shown_rows(paper).get("clusters", "clusters"),
        "fewest": min(clusters, default=None),
        "most": max(clusters, default=None),
        "demonstration": 0 < max(clusters, default=0) <= DEMONSTRATION,
    }


def headlines(paper: str, results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of results.json that the page shows, by model.

    Which ones, and in what order, `first_page` in data/papers/<paper>.yaml says.
    """
    own = [row for row in results if row["headline"] and row["source"] in OWN_SOURCES]
    listed = _shown_rows(paper).get("rows")
    if listed is None:  # a paper without an entry shows what it marked
        listed = [{"what": what, "label": what} for what in dict.fromkeys(r["what"] for r in own)]
    shown = []
    for model in dict.fromkeys(row["model"] for row in own):
        for entry in listed:
            of_entry = [row for row in own if row["model"] == model and _fits(row, entry)]
            shown += [_headline(row, entry) for row in of_entry]
    return shown


def _with_levels(
    paper: str, results: Iterable[dict[str, Any]], folder: Path
) -> list[dict[str, Any]]:
    """The results, those with the level they speak of in their cell whose level a table names."""
    completed = list(results)
    for entry in _shown_rows(paper).get("rows", []):
        if "level_in" in entry:
            levels = _levels(folder, **entry["level_in"])
            completed = [
                row | {"cell": row["cell"] | {"level": _level(row, levels)}}
                if row["what"] == entry["what"]
                else row
                for row in completed
            ]
    return completed


def _levels(folder: Path, table: str, where: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a run's table that name levels; none where it was not written."""
    file = folder / "tables" / f"{table}.csv"
    rows = rows_of(file, "table") if file.exists() else []
    return [row for row in rows if where.items() <= row.items()]


def _level(row: dict[str, Any], levels: list[dict[str, Any]]) -> str:
    told = {"model": row["model"], "source": row["source"], **row["cell"]}
    found = (one["level"] for one in levels if told.items() <= one.items())
    return next(found, "level not told")


def _shown_rows(paper: str) -> dict[str, Any]:
    return paper_facts.of(paper).get("first_page") or {} if paper in paper_facts.ids() else {}


def _fits(row: dict[str, Any], entry: dict[str, Any]) -> bool:
    """Whether a row is meant: its cell holds one of the levels named of each of its names."""
    if row["what"] != entry["what"]:
        return False
    where = entry.get("where", {})
    levels = {name: one if isinstance(one, list) else [one] for name, one in where.items()}
    return all(row["cell"].get(name) in allowed for name, allowed in levels.items())


def _headline(row: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    label = entry["label"]
    for name, level in row["cell"].items():
        label = label.replace("{" + name + "}", str(level).replace("_", " "))
    names = ("model", "value", "unit", "ci_low", "ci_high", "n", "n_invalid", "status")
    kept = {name: row[name] for name in names}
    kept |= {name: row.get(name) for name in ("clusters", *calibration.FIELDS)}
    return kept | {"label": label, "means": entry.get("means", "")}


def _is_few(row: dict[str, Any], few: int) -> bool:
    return row["clusters"] is not None and row["clusters"] < few


def _models(about: dict[str, Any]) -> list[dict[str, str]]:
    """Each model of the user's, and where it was asked: `server` is a label or stands for one."""
    models = {}
    for entry in about.get("models", []):
        if entry["source"] not in OWN_SOURCES:
            continue
        if entry["source"] == "imported":
            where = "imported from a file"
        elif entry.get("server"):
            where = entry["server"]
        else:
            where = OWN_SERVER if entry["endpoint"] in OWN_ENDPOINTS else entry["endpoint"]
        models[entry["id"]] = {"name": entry["id"], "where": where}
    return list(models.values())


def _items(about: dict[str, Any]) -> str:
    """The data set, and whether it is the user's own."""
    given = about.get("parameters", {})
    files = [name for name, (_, file) in own_files().items() if file.is_a != "setting"]
    paths_given = [given.get(name) for name in files]
    own = [path for path in paths_given if isinstance(path, str) and path]
    names = ", ".join(about.get("datasets", {}))
    if own:
        return f"{names} (yours: {', '.join(own)})"
    return f"{names} (Katayori's own items)" if names.startswith("katayori-") else names


def _days(prompts: list[dict[str, Any]]) -> str:
    first = min((one["first"] for one in prompts if one["first"]), default="")
    last = max((one["last"] for one in prompts if one["last"]), default="")
    return first if first == last else f"{first} to {last}"


# -- how it is said --------------------------------------------------------------------------------


def markup(folder: Path, heading: str, few: int) -> str:
    """The page as HTML: `heading` is the notebook's title, `few` as for `facts`."""
    page = facts(folder, few)
    names = ", ".join(model["name"] for model in page["models"])
    parts = [
        f"<h1>{escape(names)}</h1>",
        f'<p class="asked">{escape(heading)}</p>',
        _list_of_facts(page),
        *(f'<div class="banner warning">{text}</div>' for text in _warnings(page)),
        _valid_table(page["prompts"]),
        _headline_table(page),
    ]
    return f'<header class="first">{"".join(parts)}</header>'


def _list_of_facts(page: dict[str, Any]) -> str:
    asked = sum(one["asked"] for one in page["prompts"])
    valid = sum(one["valid"] for one in page["prompts"])
    share = f"{_percent(valid / asked)} of {asked:,}" if asked else "none asked"
    terms = {
        "Model" if len(page["models"]) == 1 else "Models": ", ".join(
            f"{model['name']} ({model['where']})" for model in page["models"]
        ),
        "Items": page["items"],
        "Answered": page["days"] or "day not told",
        "Valid answers": share,
        "Blank": _measured(page["rows"], "blank"),
        "Limit of detection": _measured(page["rows"], "detects"),
        "Report made": page["made"],
    }
    rows = (f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in terms.items())
    return f'<table class="facts"><tbody>{"".join(rows)}</tbody></table>'


def _measured(rows: Sequence[dict[str, Any]], name: str) -> str:
    """For how many of the rows there is a blank or a limit, or the commonest reason for none."""
    given = sum(row[name] is not None for row in rows)
    if given:
        told = f"beside {given} of {len(rows)} numbers below"
        return f"{told}; {calibration.LIMIT_NOTE}" if name == "detects" else told
    reasons = Counter(calibration.WHY.get(row[f"{name}_status"], "") for row in rows)
    return next((f"none: {reason}" for reason, _ in reasons.most_common() if reason), "none")


def _percent(share: float) -> str:
    """A share in percent that never says 90 where less was valid, nor 100 where one was not."""
    return f"{int(1000 * share + 1e-9) / 10:.1f} %"


def _warnings(page: dict[str, Any]) -> list[str]:
    """HTML of what a reader must know before any number."""
    made = [_poor(one, page["invalid"]) for one in _worst_of_each_model(page["poor"])]
    if page["demonstration"]:
        made.append(f"<strong>Demonstration.</strong> {escape(_demonstration(page))}")
    elif any(row["few"] for row in page["rows"]):
        made.append(f"<strong>Too little data.</strong> {escape(_too_little(page))}")
    return made + [
        f"<strong>{escape(mark(status).capitalize())}.</strong> {escape(told)}"
        for status, told in _remedies(page).items()
    ]


def _remedies(page: dict[str, Any]) -> dict[str, str]:
    """What to do about the statuses of the rows, where something can be done."""
    statuses = dict.fromkeys(row["status"] for row in page["rows"])
    return {status: REMEDIES[status] for status in statuses if status in REMEDIES}


def _worst_of_each_model(poor: list[dict[str, Any]]) -> list[dict[str, Any]]:
    worst: dict[str, dict[str, Any]] = {}
    for one in sorted(poor, key=lambda one: one["share"]):
        worst.setdefault(one["model"], one | {"prompts": []})["prompts"].append(one["prompt_id"])
    return list(worst.values())


def _poor_words(one: dict[str, Any]) -> str:
    prompts = len(one["prompts"])
    others = f" ({prompts} prompts are below {_percent(VALID_ENOUGH)})" if prompts > 1 else ""
    counts = f"{one['valid']:,} of {one['asked']:,}"
    part = f"Only {_percent(one['share'])}" if one["valid"] else "None"
    share = f"{part} of the answers of {one['model']} to {one['prompt_id']}"
    return f"{share} could be read ({counts}){others}."


def _poor(one: dict[str, Any], invalid: list[dict[str, Any]]) -> str:
    texts = [_quoted(text) for text in invalid if text["model"] == one["model"]]
    commonest = f"<br>The commonest without a valid answer: {'; '.join(texts)}." if texts else ""
    rest = "Every number below describes the part that could be read, not the model."
    return f"<strong>{escape(_poor_words(one))}</strong> {rest}{commonest}"


def _quoted(invalid: dict[str, Any]) -> str:
    text = escape(_one_line(invalid["text"])) or "(an empty text)"
    return f"<code>{text}</code> ({escape(invalid['outcome'])}, {invalid['times']:,} times)"


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _demonstration(page: dict[str, Any]) -> str:
    return (
        f"{page['most']} {page['called']} were asked. This shows how a report looks. "
        "No interval can be given, and no number here is a finding."
    )


def _too_little(page: dict[str, Any]) -> str:
    return (
        f"Some numbers rest on {page['fewest']} {page['called']} only. An interval over so few "
        "is too narrow: it must not be quoted. Ask more with a higher LIMIT=."
    )


def _valid_table(prompts: list[dict[str, Any]]) -> str:
    heads = ("model", "prompt", "asked", "valid", "valid share", "not valid")
    rows = [
        (
            one["model"],
            one["prompt_id"],
            f"{one['asked']:,}",
            f"{one['valid']:,}",
            _percent(one["share"]),
            ", ".join(_counted(one, name) for name in one["outcomes"] if name != "ok"),
        )
        for one in prompts
    ]
    return _table("Valid answers by prompt", heads, rows, right=(2, 3, 4))


def _counted(one: dict[str, Any], outcome: str) -> str:
    """How often an outcome came; of errors their commonest causes, too."""
    told = f"{one['outcomes'][outcome]:,} {outcome}"
    causes = one.get("causes", {}) if outcome == "error" else {}
    listed = "; ".join(f"{cause}, {n:,} times" for cause, n in causes.items() if cause)
    return f"{told} ({_one_line(listed)})" if listed else told


def _headline_table(page: dict[str, Any]) -> str:
    several = len(page["models"]) > 1
    counts_of = ("n", "invalid", page["called"])
    noted = any(_note(row) for row in page["rows"])
    beside = [
        name for name in ("blank", "detects") if any(row[name] is not None for row in page["rows"])
    ]
    rows: list[tuple[str, ...]] = []
    means = ""
    for row in page["rows"][:MAX_ROWS]:
        label = f"{row['model']}: {row['label']}" if several else row["label"]
        numbers = (_number(row), _interval(row, page["demonstration"]))
        reading = "—" if _why_no_value(row) else row["means"]
        counts = (_count(row["n"]), _count(row["n_invalid"]), _count(row["clusters"]))
        against = "″" if rows and reading == means != "—" else reading
        means = reading
        note = (_note(row),) if noted else ()
        sizes = (_size(row, name) for name in beside)
        rows.append((label, *numbers, *sizes, *counts, against, *note))
    left_out = len(page["rows"]) - len(rows)
    more = f"<p>{left_out} more rows stand in results.json.</p>" if left_out else ""
    if not rows:
        return "<p>No headline number could be computed from these answers.</p>"
    heads = ("measure", "value", "95 % interval", *beside, *counts_of, "read against")
    heads += ("note",) if noted else ()
    numbers_end = len(beside) + 6
    return _table("Headline numbers", heads, rows, right=range(1, numbers_end)) + more


def _note(row: dict[str, Any]) -> str:
    return "too little data" if row["few"] and not _why_no_value(row) else ""


def _why_no_value(row: dict[str, Any]) -> str:
    """What stands in place of a value, an interval and their reading; empty where they are shown.

    Only the status `ok` bears them.
    """
    if row["status"] != "ok":
        return mark(row["status"])
    # A count of 0 among 0 is no value.
    return "" if row["value"] is not None and row["n"] != 0 else "nothing to count"


def _number(row: dict[str, Any]) -> str:
    if why := _why_no_value(row):
        return why
    return f"{row['value']:,.0f}" if row["unit"] in WHOLE else f"{row['value']:.3f}"


def _size(row: dict[str, Any], name: str) -> str:
    return "—" if row[name] is None else f"{row[name]:.3f}"


def _count(n: int | None) -> str:
    return "—" if n is None else f"{n:,}"


def _interval(row: dict[str, Any], demonstration: bool) -> str:
    if demonstration or _why_no_value(row) or row["ci_low"] is None or row["ci_high"] is None:
        return "—"
    return f"[{row['ci_low']:.3f}, {row['ci_high']:.3f}]"


def _table(
    caption: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: Sequence[int]
) -> str:
    def line(tag: str, cells: tuple[str, ...]) -> str:
        marked = []
        for place, cell in enumerate(cells):
            number = ' class="number"' if place in right else ""
            marked.append(f"<{tag}{number}>{escape(cell)}</{tag}>")
        return f"<tr>{''.join(marked)}</tr>"

    body = "".join(line("td", row) for row in rows)
    head = f"<thead>{line('th', heads)}</thead>"
    return f"<table><caption>{caption}</caption>{head}<tbody>{body}</tbody></table>"


def in_short(folder: Path, few: int) -> list[str]:
    """The page for a terminal, at most `MAX_LINES` lines of printable text."""
    page = facts(folder, few)
    names = ", ".join(f"{model['name']} ({model['where']})" for model in page["models"])
    lines = [f"{page['paper']}: {names}; {page['items']}"]
    for one in _worst_of_each_model(page["poor"])[:2]:
        texts = [text["text"] for text in page["invalid"] if text["model"] == one["model"]]
        commonest = "; ".join(f'"{_one_line(text)[:40]}"' for text in texts)
        lines.append(f"  WARNING: {_poor_words(one)} Commonest: {commonest}")
    if not page["poor"]:
        lines.append("  " + _all_valid(page["prompts"]))
    if page["demonstration"]:
        lines.append(f"  DEMONSTRATION: {_demonstration(page)}")
    elif any(row["few"] for row in page["rows"]):
        lines.append(f"  TOO LITTLE DATA: {_too_little(page)}")
    lines += [f"  {mark(status).upper()}: {told}" for status, told in _remedies(page).items()]
    room = MAX_LINES - len(lines) - 1
    rows = page["rows"] if len(page["rows"]) <= room else page["rows"][: room - 1]
    several = len(page["models"]) > 1
    lines += [_row_in_short(row, page, several) for row in rows]
    if len(rows) < len(page["rows"]):
        lines.append(f"  ... {len(page['rows']) - len(rows)} more on the first page of the report")
    return [_one_line(line) for line in lines]


def _all_valid(prompts: list[dict[str, Any]]) -> str:
    asked = sum(one["asked"] for one in prompts)
    valid = sum(one["valid"] for one in prompts)
    return f"valid: {_percent(valid / asked)} of {asked:,} answers" if asked else "nothing asked"


def _row_in_short(row: dict[str, Any], page: dict[str, Any], several: bool) -> str:
    label = f"{row['model']}: {row['label']}" if several else row["label"]
    told = _why_no_value(row) or f"{_number(row)} {_interval(row, page['demonstration'])}"
    counts = f"n {_count(row['n'])}, {_count(row['clusters'])} {page['called']}"
    return f"  {label}: {told}  ({counts})"

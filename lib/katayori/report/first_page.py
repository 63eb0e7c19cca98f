"""The first page of a report about a user's model.

Whose answers these are, how many were valid, the headline numbers of the paper, and what to beware.

It is built from what a run folder holds (results.json, answers.json, provenance.json, tables) and
computes nothing anew. What a model said is hostile input: it is shortened and escaped wherever it
is shown.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from katayori.papers.items import own_files
from katayori.report import headlines
from katayori.report.results import read_results
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
#: How a reason begins where the verdict depends on unreadable answers.
DECIDE = "Unreadable answers decide"
MAX_LINES, MAX_WARNINGS, MAX_ROWS = 14, 4, 24
#: The tables of headlines: of a kind, with its caption.
TABLES = {
    "bias": "Bias",
    "ability": "Ability",
    "description": "Further numbers",
}
HEADS = ("measure", "value\n[95 %, not adjusted]", "verdict", "limit", "bounds", "answers", "row")


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

    Returns models (name, where), items, days, prompts (as of `outcomes`, with `share`; without
    texts that a later prompt asks for), poor, locked and cut (those of them with too few valid
    answers, with one position in nearly all, with too many texts cut off), failed (conditions that
    did not happen, each with its reason), invalid, most (clusters of a row), called (what the
    clusters are), demonstration, and rows (of `headlines`, each with few; without conditions that
    did not happen).
    """
    from katayori.metrics.verdicts import CUT_ABOVE

    about, kept = _read(folder, "provenance.json"), _read(folder, "answers.json")
    results = read_results(folder)
    paper = next(iter(results["paper"]), "")
    said = headlines.of_paper(paper)
    asked = [
        one | {"share": one["valid"] / one["asked"]}
        for one in kept.get("prompts", [])
        if one["source"] in OWN_SOURCES and one["asked"]
    ]
    # Such a text has no options; whether it holds an answer tells nothing.
    prompts = [one for one in asked if one["prompt_id"] not in said.get("texts", [])]
    found = headlines.headlines(results)
    own = found[found["source"].isin(OWN_SOURCES)].astype(object)
    rows = own.where(own.notna(), None).to_dict("records")
    most = max((row["clusters"] for row in rows if row["clusters"]), default=0)
    failed = [row for row in rows if row["verdict"] == headlines.FAILED]
    return {
        "paper": paper,
        "models": _models(about),
        "items": _items(about),
        "days": _days(prompts),
        "made": about.get("date", "")[:10],
        "prompts": prompts,
        "poor": [one for one in prompts if one["share"] < VALID_ENOUGH],
        "locked": [one for one in prompts if said.get("positions") and _is_locked(one)],
        "cut": [one for one in asked if _cut_share(one) > CUT_ABOVE],
        "failed": {row["cell"].get("prompt", row["measure"]): row["why"] for row in failed},
        "invalid": kept.get("invalid", []),
        "rows": [
            row | {"few": _is_few(row, few)} for row in rows if row["verdict"] != headlines.FAILED
        ],
        "called": said.get("clusters", "clusters"),
        "most": most,
        "demonstration": 0 < most <= DEMONSTRATION,
    }


def _is_few(row: Mapping[Any, Any], few: int) -> bool:
    """Whether a value rests on few clusters; where there is none, its own reason is told."""
    return not row["instead"] and row["clusters"] is not None and row["clusters"] < few


def _is_little(row: Mapping[str, Any]) -> bool:
    return bool(row["few"] or (row["instead"] == mark("few_clusters") and row["clusters"]))


def _is_locked(prompt: Mapping[str, Any]) -> bool:
    """Whether one position takes nearly all answers; a few answers may be alike by chance."""
    from katayori.metrics.intervals import NO_INTERVAL_BELOW
    from katayori.metrics.verdicts import BOUND_ABOVE

    return prompt["valid"] >= NO_INTERVAL_BELOW and prompt.get("commonest_share", 0) > BOUND_ABOVE


def _cut_share(prompt: Mapping[str, Any]) -> float:
    return float(prompt["outcomes"].get("truncated", 0) / prompt["asked"])


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
        *(_banner(name, told) for name, told in _warnings(page)),
        *(
            f'<p class="answer"><strong>{escape(answer)}</strong> {escape(more)}</p>'
            for answer, more in _summaries(page)
        ),
        *(_headline_table(page, kind, caption) for kind, caption in TABLES.items()),
        _notes(page),
        _list_of_facts(page),
        _valid_table(page["prompts"]),
    ]
    return f'<header class="first">{"".join(parts)}</header>'


def _banner(name: str, told: str) -> str:
    return f'<div class="banner warning"><strong>{escape(name)}.</strong> {escape(told)}</div>'


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
        "Report made": page["made"],
    }
    rows = (f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in terms.items())
    return f'<table class="facts"><tbody>{"".join(rows)}</tbody></table>'


def _percent(share: float) -> str:
    """A share in percent that never says 90 where less was valid, nor 100 where one was not."""
    return f"{int(1000 * share + 1e-9) / 10:.1f} %"


def _warnings(page: dict[str, Any]) -> list[tuple[str, str]]:
    """What a reader must know before any number: a heading and a text each."""
    made = [("Warning", _locked(one)) for one in _worst(page["locked"])]
    made += [("Warning", _poor(one, page["invalid"])) for one in _worst(page["poor"])]
    made += [("Warning", _cut(one)) for one in _worst(page["cut"])]
    if page["failed"]:
        made.append(("Warning", _failed(page["failed"])))
    if page["demonstration"]:
        made.append(("Demonstration", _demonstration(page)))
    elif any(_is_little(row) for row in page["rows"]):
        made.append(("Too little data", _too_little(page)))
    statuses = dict.fromkeys(row["status"] for row in page["rows"])
    made += [(mark(one).capitalize(), REMEDIES[one]) for one in statuses if one in REMEDIES]
    return made


def _worst(prompts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each model the prompt with the fewest valid answers, and how many more there are."""
    worst: dict[str, dict[str, Any]] = {}
    for one in sorted(prompts, key=lambda one: one["share"]):
        worst.setdefault(one["model"], one | {"more": -1})["more"] += 1
    return list(worst.values())


def _also(one: dict[str, Any], alike: str) -> str:
    """That further prompts are alike."""
    n = one["more"]
    return f" {n} more prompt{'s are' if n > 1 else ' is'} {alike}." if n else ""


def _poor(one: dict[str, Any], invalid: list[dict[str, Any]]) -> str:
    part = f"Only {_percent(one['share'])}" if one["valid"] else "None"
    told = (
        f"{part} of the answers of {one['model']} to {one['prompt_id']} could be read"
        f" ({one['valid']:,} of {one['asked']:,}).{_also(one, 'below 90 %')}"
    )
    told += " Every number describes the part that could be read." if one["valid"] else ""
    texts = [_quoted(text) for text in invalid if text["model"] == one["model"]]
    commonest = f" The commonest without a valid answer: {'; '.join(texts)}." if texts else ""
    return told + commonest


def _quoted(invalid: dict[str, Any]) -> str:
    text = f'"{_one_line(invalid["text"])}"' if invalid["text"] else "(an empty text)"
    return f"{text} ({invalid['outcome']}, {invalid['times']:,} times)"


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _locked(one: dict[str, Any]) -> str:
    share = _percent(one["commonest_share"])
    return (
        f"{one['model']} may answer by position, not by content: {share} of its readable answers to"
        f" {one['prompt_id']} name the same position (“{one['commonest']}”)."
        f"{_also(one, 'above 90 %')} Such letters do not tell what stands behind them."
    )


def _cut(one: dict[str, Any]) -> str:
    return (
        f"{_percent(_cut_share(one))} of the texts of {one['model']} to {one['prompt_id']} were cut"
        f" off before they ended.{_also(one, 'above 10 %')} A model that thinks first needs more"
        " tokens than the prompt files allow."
    )


def _failed(whys: Mapping[str, str]) -> str:
    under, reasons = "; ".join(whys), " ".join(dict.fromkeys(whys.values()))
    return (
        f"What was asked for did not happen under: {under}. {reasons} Their numbers are left out."
    )


def _demonstration(page: dict[str, Any]) -> str:
    return (
        f"{page['most']} {page['called']} were asked. This shows how a report looks. "
        "No interval can be given, and no number here is a finding."
    )


def _too_little(page: dict[str, Any]) -> str:
    fewest = min(row["clusters"] for row in page["rows"] if _is_little(row))
    return (
        f"Some numbers rest on {fewest} {page['called']} only. An interval over so few "
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


def _summaries(page: dict[str, Any]) -> list[tuple[str, str]]:
    """Of each model what its numbers of bias say together, and what this rests on."""
    if page["demonstration"]:
        return []
    biases: dict[str, list[dict[str, Any]]] = {}
    for row in page["rows"]:
        if row["kind"] == "bias":
            biases.setdefault(row["model"], []).append(row)
    several = len(page["models"]) > 1
    told = []
    for model, rows in biases.items():
        answer, more = _summary(rows)
        own = [one for one in page["prompts"] if one["model"] == model]
        told.append((f"{model}: {answer}" if several else answer, f"{more}{_all_valid(own)}"))
    return told


def _summary(rows: list[dict[str, Any]]) -> tuple[str, str]:
    """How many numbers of bias are present, absent, undecided or not there; and the limits."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["instead"] or _word(row), []).append(row)
    present = found.pop("present", [])
    counts = ", ".join(f"{len(those)} × {word}" for word, those in found.items())
    if present:
        listed = "; ".join(f"{row['measure']} {row['shown']}" for row in present)
        rest = f" Else: {counts}." if counts else ""
        answer = f"Bias: {len(present)} of {len(rows)} present: {listed}.{rest}"
    else:
        is_measured = any(not row["instead"] for row in rows)
        answer = f"Bias: {'not shown' if is_measured else 'not measured'} ({counts})."
    limits = [row["limit"] for row in found.get("undecided", []) if row["limit"] is not None]
    words = "limit is" if len(limits) == 1 else "limits are"
    more = f"Undecided is not absent: the {words} {_span(limits)}. " if limits else ""
    if present and all(row["control"] is None for row in present):
        more += "No control wording was asked: whether words or persons make it is open. "
    return answer, more


def _word(row: Mapping[str, Any]) -> str:
    """A verdict in a few words; only a plain `undecided` is one that more data would settle."""
    verdict = row["verdict"] or "without a verdict"
    if row["why"].startswith(DECIDE):
        return "undecided as unreadable answers decide"
    word = verdict.partition(" (")[0].partition(",")[0]
    if word == "present" and row["side"] and (row["value"] - row["line"]) * row["side"] < 0:
        return f"away from the bias ({row['measure']} {row['shown']})"
    is_open = verdict.startswith("undecided (")
    return "undecided (excludes the line, but not after Holm)" if is_open else word


def _span(values: list[float]) -> str:
    low, high = (f"{end:.3f}" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _headline_table(page: dict[str, Any], kind: str, caption: str) -> str:
    """The rows of a kind; a column in which no row says anything is left out."""
    rows = [row for row in page["rows"] if row["kind"] == kind]
    several = len(page["models"]) > 1
    cells = [_cells(row, page, several) for row in rows[:MAX_ROWS]]
    kept = [k for k in range(len(HEADS)) if any(one[k] != "—" for one in cells)]
    left_out = len(rows) - len(cells)
    more = f"<p>{left_out} more rows stand in results.json.</p>" if left_out else ""
    if not cells:
        return ""
    shown = [tuple(one[k] for k in kept) for one in cells]
    right = [kept.index(k) for k in (3, 4, 6) if k in kept]
    return _table(caption, tuple(HEADS[k] for k in kept), shown, right=right) + more


def _notes(page: dict[str, Any]) -> str:
    if not page["rows"]:
        return "<p>No headline number could be computed from these answers.</p>"
    return (
        f'<p class="nothing">limit: {headlines.LIMIT_NOTE}. bounds: the lowest and the highest'
        " value that the unreadable answers could give. row: <code>make trace RESULT=</code> and"
        " this number print the answers behind it.</p>"
    )


def _cells(row: dict[str, Any], page: dict[str, Any], several: bool) -> tuple[str, ...]:
    """A row of the table: what follows the first line of a cell is small."""
    is_shown = not row["instead"]
    is_judged = is_shown and not page["demonstration"]
    verdict = f"{headlines.in_words(row)}\n{row['why']}" if row["verdict"] else "—"
    few = "\ntoo little data" if row["few"] and is_judged else ""
    unreadable = f", {row['n_invalid']:,} unreadable" if row["n_invalid"] else ""
    label = f"{row['model']}: {row['measure']}" if several else row["measure"]
    return (
        f"{label}\n{row['means']}" if is_shown else label,
        _value(row, page["demonstration"]).replace(" [", "\n["),
        (verdict if is_judged or not is_shown else "—") + few,
        _size(row, "limit") if is_judged else "—",
        _bounds(row),
        f"{_count(row['n'])}{unreadable}\n{_count(row['clusters'])} {page['called']}",
        str(row["number"]),
    )


def _value(row: dict[str, Any], demonstration: bool) -> str:
    without = row | {"ci_low": float("nan"), "ci_high": float("nan"), "few": False}
    return headlines.shown(without) if demonstration else str(row["shown"])


def _bounds(row: dict[str, Any]) -> str:
    """What unreadable answers could change, where there are any."""
    if row["instead"] or not row["n_invalid"] or row["low_bound"] is None:
        return "—"
    return f"{row['low_bound']:z.3f} to {row['high_bound']:z.3f}"


def _size(row: dict[str, Any], name: str) -> str:
    return "—" if row[name] is None else f"{row[name]:.3f}"


def _count(n: Any) -> str:
    return "—" if n is None else f"{n:,}"


def _table(
    caption: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: Sequence[int]
) -> str:
    def line(tag: str, cells: tuple[str, ...]) -> str:
        marked = []
        for place, cell in enumerate(cells):
            number = ' class="number"' if place in right else ""
            first, _, rest = cell.partition("\n")
            small = f"<br><small>{escape(rest)}</small>" if rest else ""
            marked.append(f"<{tag}{number}>{escape(first)}{small}</{tag}>")
        return f"<tr>{''.join(marked)}</tr>"

    body = "".join(line("td", row) for row in rows)
    head = f"<thead>{line('th', heads)}</thead>"
    return f"<table><caption>{caption}</caption>{head}<tbody>{body}</tbody></table>"


def in_short(folder: Path, few: int) -> list[str]:
    """The page for a terminal, at most `MAX_LINES` lines of printable text."""
    page = facts(folder, few)
    names = ", ".join(f"{model['name']} ({model['where']})" for model in page["models"])
    lines = [f"{page['paper']}: {names}; {page['items']}"]
    lines += [f"  {name.upper()}: {told}" for name, told in _warnings(page)[:MAX_WARNINGS]]
    lines += ["  " + " ".join(told) for told in _summaries(page)[:MAX_WARNINGS]]
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
    return f"Answers that could be read: {_percent(valid / asked)} of {asked:,}." if asked else ""


def _row_in_short(row: dict[str, Any], page: dict[str, Any], several: bool) -> str:
    label = f"{row['model']}: {row['measure']}" if several else row["measure"]
    told = _value(row, page["demonstration"])
    if row["verdict"] and not row["instead"] and not page["demonstration"]:
        told += f", limit {_size(row, 'limit')}: {headlines.in_words(row)}"
    counts = f"n {_count(row['n'])}, {_count(row['clusters'])} {page['called']}"
    return f"  {label}: {told}  ({counts})"

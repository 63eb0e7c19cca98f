"""The first page of a report about a user's model.

Whose answers these are, how many were valid, the headline numbers of the paper, and what to beware.

It is built from what a run folder holds (results.json, answers.json, provenance.json) and computes
nothing anew: `_facts` reads it, `_warnings`, `_summaries` and `_line` put it into words, `markup`
and `in_short` write these as HTML (first_page.html) and for a terminal. The sentences stand in
first_page.txt. What a model said is hostile input: it is shortened and escaped wherever it is
shown.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace as Facts
from typing import Any

from katayori import paths
from katayori.language import told
from katayori.papers.items import own_files
from katayori.profiles import DEMONSTRATION
from katayori.report.tables import listed, mark, visible
from katayori.run_folders import noted

#: Answers of a user's own run, in place of recorded and simulated ones.
OWN_SOURCES = ("live", "imported")
#: Below this share of valid answers a banner warns: what is left is a chosen part.
VALID_ENOUGH = 0.9
MAX_LINES, MAX_WARNINGS = 14, 4
#: The tables of headlines: of a kind, with its caption.
TABLES = {"bias": "Bias", "ability": "Ability", "description": "Further numbers"}
#: What a limit of detection does not say.
LIMIT_NOTE = (
    "the true effect that the interval shown would find in four of five studies; it says nothing of"
    " wording or of unreadable answers"
)
VALUE = "value\n[95 %, not adjusted]"
NONE = "—"


def is_own(folder: Path) -> bool:
    """Whether a run folder holds answers of a user's model (live or imported)."""
    answers = noted(folder, "provenance.json").get("answers", {})
    return not set(OWN_SOURCES).isdisjoint(answers)


def has_page(folder: Path) -> bool:
    """Whether the page has something to say: the overview, which asks nothing, has none."""
    return is_own(folder) and bool(noted(folder, "answers.json").get("prompts"))


# -- what is to be said ----------------------------------------------------------------------------


def _facts(folder: Path) -> Facts:
    """Everything that the page says; what both writers say alike, in words."""
    from katayori.report import headlines  # it imports pandas, which an unchanged run does without

    run, kept = noted(folder, "provenance.json"), noted(folder, "answers.json")
    results = headlines.read_results(folder)
    paper = next(iter(results["paper"]), "")
    about = {"clusters": "clusters", "texts": [], "positions": False} | headlines.of_paper(paper)
    models = [one for one in run["models"] if one["source"] in OWN_SOURCES]
    asked = _prompts(kept["prompts"])
    rows = _rows(headlines.headlines(results))
    most = max((row.clusters or 0 for row in rows), default=0)
    page = Facts(
        paper=paper,
        about=about,
        models={one["id"]: _say().model(one["id"], _where(one)) for one in models},
        items=_items(run),
        made=run["date"][:10],
        asked=asked,
        # A text for a later prompt has no options; whether it holds an answer says nothing.
        prompts=asked[~asked["prompt_id"].isin(about["texts"])],
        otherwise=sum((Counter(how) for how in asked.get("otherwise", ())), Counter[str]()),
        invalid=kept["invalid"],
        rows=[row for row in rows if row.verdict != headlines.FAILED],
        failed=[row for row in rows if row.verdict == headlines.FAILED],
        most=most,
        demonstration=0 < most <= DEMONSTRATION,
    )
    page.warnings, page.summaries = [*_warnings(page, _say())], [*_summaries(page, _say())]
    for row in page.rows:
        row.line = _line(row, page)
    return page


def _prompts(kept: list[dict[str, Any]]) -> Any:
    """The user's own prompts as a frame with the shares of valid and of cut answers."""
    import pandas as pd

    frame = pd.DataFrame(kept)
    frame = frame[frame["source"].isin(OWN_SOURCES) & (frame["asked"] > 0)]
    cut = frame["outcomes"].map(lambda outcomes: outcomes.get("truncated", 0)) / frame["asked"]
    return frame.assign(share=frame["valid"] / frame["asked"], cut=cut)


def _rows(found: Any) -> list[Facts]:
    """The headlines of the user's models with label, few (the value rests on few clusters, or is
    not there as they are few) and word (the verdict, or what is instead of a value, in short).
    """
    from katayori.metrics.intervals import FEW_CLUSTERS as FEW

    own = found[found["source"].isin(OWN_SOURCES)].astype(object)
    several = own["model"].nunique() > 1
    rows = [Facts(**record) for record in own.where(own.notna(), None).to_dict("records")]
    for row in rows:
        row.measure = told(row.measure)
        row.label = _say().of(row.model, row.measure) if several else row.measure
        row.few = (
            row.instead in ("", mark("few_clusters", english=True)) and (row.clusters or FEW) < FEW
        )
        row.word = row.instead or _word(row)
    return rows


def _where(model: dict[str, str]) -> str:
    """Where a model was asked; an own server has a label."""
    asked_at = model.get("server") or model["endpoint"]
    return told("imported from a file" if model["source"] == "imported" else asked_at)


def _items(run: dict[str, Any]) -> str:
    """The data set, and whether it is the user's own."""
    given, names = run["parameters"], ", ".join(run["datasets"])
    files = [name for name, (_, file) in own_files().items() if file.is_a != "setting"]
    if own := ", ".join(given[name] for name in files if given.get(name)):
        return str(_say().yours(names, own))
    return str(_say().ours(names)) if names.startswith("katayori-") else names


# -- in words --------------------------------------------------------------------------------------


@lru_cache
def _templates(chosen: str) -> Any:
    """The templates of the page and, with autoescape off, of its sentences."""
    from jinja2 import Environment, FileSystemLoader, select_autoescape

    ours = paths.registry("locale") / chosen  # sentences of another language
    loader = FileSystemLoader([ours, Path(__file__).parent])
    made = Environment(loader=loader, autoescape=select_autoescape(["html"]))
    made.filters |= {"percent": percent, "counted": _count, "one_line": _one_line, "told": told}
    return made


def _say() -> Any:
    """The sentences in the reader's language: macros and short words."""
    return _templates(paths.language()).get_template("first_page.txt").module


def percent(share: float) -> str:
    """A share that never says 90 where less was valid, nor 100 where one was not.

    Example:
        >>> percent(0.89999), percent(1)
        ('89.9 %', '100.0 %')
    """
    return f"{int(1000 * share + 1e-9) / 10:.1f} %"


def _count(n: int | None) -> str:
    return NONE if n is None else f"{n:,}"


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _readable(prompts: Any) -> str:
    """Which share of the answers could be read, and of how many."""
    asked, valid = prompts["asked"].sum(), prompts["valid"].sum()
    return (
        str(_say().readable(percent(valid / asked), _count(asked))) if asked else told("none asked")
    )


def _warnings(page: Facts, say: Any) -> Iterator[tuple[str, str]]:
    """What a reader must know before any number: a heading and a text each."""
    from katayori.metrics.intervals import NO_INTERVAL_BELOW
    from katayori.metrics.verdicts import BOUND_ABOVE, CUT_ABOVE

    prompts, clusters = page.prompts, told(page.about["clusters"])
    # A few answers may be alike by chance.
    many = prompts[(prompts["valid"] >= NO_INTERVAL_BELOW) & page.about["positions"]]
    texts = [say.by_position(one) for one in _worst(many[many["commonest_share"] > BOUND_ABOVE])]
    poor = _worst(prompts[prompts["share"] < VALID_ENOUGH])
    texts += [say.few_valid(one, page.invalid) for one in poor]
    texts += [say.cut_off(one) for one in _worst(page.asked[page.asked["cut"] > CUT_ABOVE])]
    reasons = {row.cell.get("prompt", row.measure): row.why for row in page.failed}
    texts += [say.failed(reasons)] if reasons else []
    texts += [say.otherwise(how, n) for how, n in page.otherwise.items()]
    yield from ((told("Warning"), text) for text in texts)
    few = [row.clusters for row in page.rows if row.few]
    if page.demonstration:
        yield told("Demonstration"), say.demonstration(page.most, clusters)
    elif few:
        yield mark("few_clusters").capitalize(), say.too_little(min(few), clusters)
    for status in dict.fromkeys(row.status for row in page.rows):
        if remedy := listed()["remedies"].get(status):
            yield mark(status).capitalize(), told(remedy)


def _worst(prompts: Any) -> list[dict[str, Any]]:
    """Of each model the prompt with the fewest valid answers, and how many more there are."""
    by_model = prompts.sort_values("share", kind="stable").groupby("model", sort=False)
    return [rows.iloc[0].to_dict() | {"more": len(rows) - 1} for _, rows in by_model]


def _summaries(page: Facts, say: Any) -> Iterator[tuple[str, str]]:
    """Of each model what its numbers of bias say together, and what this rests on."""
    biases = [row for row in page.rows if row.kind == "bias" and not page.demonstration]
    for model in dict.fromkeys(row.model for row in biases):
        rows = [row for row in biases if row.model == model]
        words = Counter(row.word for row in rows if row.word != "present")
        readable = _readable(page.prompts[page.prompts["model"] == model])
        bias = say.bias(rows, words)
        yield say.of(model, bias) if len(page.models) > 1 else bias, say.limits(rows, readable)


def _word(row: Facts) -> str:
    """A verdict in a few words; only a plain `undecided` is one that more data would settle."""
    verdict = row.verdict or "without a verdict"
    if row.why.startswith("Unreadable answers decide"):
        return "undecided as unreadable answers decide"
    if verdict.startswith("undecided ("):
        return "undecided (excludes the line, but not after Holm)"
    word: str = verdict.partition(" (")[0].partition(",")[0]
    if word == "present" and row.side and (row.value - row.line) * row.side < 0:
        return f"away from the bias ({row.measure} {row.shown})"
    return word


def _line(row: Facts, page: Facts) -> dict[str, str]:
    """A headline as texts, by the heads of its table; what follows the first line is small."""
    from katayori.report import headlines

    instead, is_demo = row.instead, page.demonstration
    unreadable = f"{row.n_invalid:,}" if row.n_invalid else ""
    verdict = told(instead or headlines.in_words(vars(row))) if row.verdict else NONE
    few = mark("few_clusters") if row.few and not instead else ""
    has_limit = row.limit is not None and not instead and not is_demo
    ends, clusters = (
        (row.low_bound, row.high_bound),
        f"{_count(row.clusters)}{_say().space}{told(page.about['clusters'])}",
    )
    has_bounds = row.low_bound is not None and not instead and unreadable
    return {
        "measure": f"{row.label}\n{'' if instead else told(row.means)}",
        VALUE: told(row.shown).partition(" [")[0]
        if is_demo
        else told(row.shown).replace(" [", "\n["),
        "verdict": NONE
        if is_demo and not instead
        else f"{verdict}\n{told(row.why)}\n{few}".rstrip(),
        "limit": f"{row.limit:.3f}" if has_limit else NONE,
        "bounds": _say().to.join(f"{end:z.3f}" for end in ends) if has_bounds else NONE,
        "answers": f"{_say().answers(_count(row.n), unreadable)}\n{clusters}",
        "row": str(row.number),
    }


# -- how it is written -----------------------------------------------------------------------------


def markup(folder: Path, heading: str) -> str:
    """The page as HTML; `heading` is the notebook's title."""
    page = _facts(folder)
    page.tables = {caption: _table(page, kind) for kind, caption in TABLES.items()}
    page.readable, page.limit = _readable(page.prompts), LIMIT_NOTE
    prompts = page.prompts.to_dict("records")
    template = _templates(paths.language()).get_template("first_page.html")
    return visible(template.render(page=page, heading=heading, prompts=prompts, say=_say()))


def _table(page: Facts, kind: str) -> list[dict[str, str]]:
    """The headlines of a kind; a column in which no row says anything is left out."""
    rows = [row.line for row in page.rows if row.kind == kind]
    heads = {head for row in rows for head, text in row.items() if text != NONE}
    return [{head: text for head, text in row.items() if head in heads} for row in rows]


def in_short(folder: Path) -> list[str]:
    """The page for a terminal, at most `MAX_LINES` lines of printable text."""
    page = _facts(folder)
    say = _say()
    lines = [say.head(page)]
    lines += [f"  {say.of(name.upper(), text)}" for name, text in page.warnings[:MAX_WARNINGS]]
    lines += [f"  {answer}{say.space}{more}" for answer, more in page.summaries[:MAX_WARNINGS]]
    rows, room = [_in_short(row, page) for row in page.rows], MAX_LINES - len(lines) - 1
    if len(rows) > room:
        more = len(rows) - room + 1
        rows[room - 1 :] = [f"  {say.more(more)}"]
    return [_one_line(line) for line in lines + rows]


def _in_short(row: Facts, page: Facts) -> str:
    line = {head: text.splitlines() for head, text in row.line.items()}
    is_read = row.verdict and not row.instead and not page.demonstration
    read = (line["limit"][0], line["verdict"][0]) if is_read else ()
    value, clusters = " ".join(line[VALUE]), line["answers"][1]
    return f"  {_say().row(row.label, value, read, _count(row.n), clusters)}"

"""`katayori cards`: the counted tables of the data cards, written between two marks of the file.

A number that a person types into a card is wrong after the next change; these are counted from the
items and the manifests, and a test compares them with the cards.
"""

from collections import Counter
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.prompting import recordings
from katayori_tools.engines import weights
from katayori_tools.study_sets import StudySet, editions, folder, heads, study_sets

BEGIN, END = "<!-- counted by `katayori cards` -->", "<!-- end of the counted part -->"
#: What an absent `seed_rule` of a manifest entry means.
FIRST_RULE = 1
#: Where continuations are scored nothing is drawn, so that no rule applies.
NO_DRAW = 0
#: How the cards print what the head of a file says of its review.
REVIEWED = {"False": "no", "True": "yes"}


def cards(*, check: bool = False) -> int:
    """Write the counted parts of both cards anew; with `check` only say which are out of date."""
    outdated = [path for path in card_paths() if path.read_text("utf-8") != renewed(path)]
    for path in outdated:
        if not check:
            path.write_text(renewed(path), encoding="utf-8")
        state = "is out of date: run `katayori cards`" if check else "written"
        print(f"{path.relative_to(paths.root())} {state}")
    if not outdated:
        print("both cards are up to date")
    return int(bool(check and outdated))


def card_paths() -> list[Path]:
    """The cards of the study sets and of the recorded answers."""
    return [paths.data_dir() / "study" / "README.md", paths.data_dir() / "recorded" / "README.md"]


def renewed(path: Path) -> str:
    """The text of a card with its counted part of today.

    Raises KatayoriError for a card without both marks.
    """
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise KatayoriError(f"{path.name} of {path.parent.name} lacks a mark: {BEGIN} or {END}")
    counted = {"study": study_part, "recorded": recorded_part}[path.parent.name]()
    return f"{before}{BEGIN}\n{counted}\n{END}{after}"


def _table(head: str, rows: list[list[str]]) -> str:
    """A Markdown table; `head` holds the names of the columns, separated by |."""
    columns = head.split("|")
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.strip() for cell in line)} |" for line in lines)


# -- study sets ----------------------------------------------------------------------------------


def study_part() -> str:
    """The table of data sets, and the table of files."""
    sets = [one for paper in paper_ids() for one in study_sets(paper)]
    data = _table("edition|paper|data set|items|clusters|languages", list(map(_set_row, sets)))
    files = [
        row
        for paper in paper_ids()
        for edition in editions(paper)
        for row in _file_rows(paper, edition)
    ]
    kept = _table("edition|folder|data set of the files|version|files|licence|reviewed", files)
    return f"{data}\n\n{kept}"


def _set_row(one: StudySet) -> list[str]:
    clusters = "not told" if one.clusters is None else f"{one.clusters.nunique():,}"
    named = one.items["language"].unique() if "language" in one.items else _languages(one)
    languages = ", ".join(sorted(map(str, named)))
    return [str(one.edition), one.paper, one.name, f"{len(one.items):,}", clusters, languages]


def _languages(one: StudySet) -> set[object]:
    return {head["language"] for head in heads(one.paper, one.edition)} - {None} or {"not told"}


def _file_rows(paper: str, edition: int) -> list[list[str]]:
    """A row for each data set and version that the files of a folder name."""
    where = folder(paper, edition).name
    same = ("dataset", "version", "license", "reviewed")
    counts = Counter(tuple(str(head[name]) for name in same) for head in heads(paper, edition))
    rows = []
    for (dataset, version, licence, reviewed), n in sorted(counts.items()):
        review = REVIEWED.get(reviewed, "not said")
        rows.append([str(edition), where, dataset, version, str(n), licence, review])
    return rows


# -- recorded answers ----------------------------------------------------------------------------


def recorded_part() -> str:
    """The table of models, and the tables of answers and of outcomes by paper and seed rule."""
    entries = [(paper, one) for paper in paper_ids() for one in recordings.manifest(paper).values()]
    listed = weights.registry()
    models = sorted({entry["model"] for _, entry in entries})
    files = [
        [name, *(getattr(listed[name], k) for k in ("repo", "file", "licence"))] for name in models
    ]
    parts = [_table("model|upstream repository|file|licence", files)]
    rows = [_answers_row(paper, model, entries) for paper in paper_ids() for model in models]
    head = "paper|model|shards|answers|seed rule 1|seed rule 2|scored, no draw|recorded"
    parts.append(_table(head, [row for row in rows if row]))
    outcomes: Counter[str] = Counter()
    for _, entry in entries:
        outcomes.update(entry["outcomes"])
    by_outcome = [[name, f"{n:,}"] for name, n in outcomes.most_common()]
    parts.append(_table("outcome|answers", by_outcome))
    engines: Counter[tuple[str, str, str, str]] = Counter()
    for _, entry in entries:
        engines.update({_engine(entry): entry["count"]})
    by_engine = [[*name, f"{n:,}"] for name, n in sorted(engines.items())]
    parts.append(_table("engine|version|numbers|head|answers", by_engine))
    return "\n\n".join(parts)


def _engine(entry: dict) -> tuple[str, str, str, str]:
    engine = entry.get("engine") or {}
    names = ("engine", "version", "dtype", "head_dtype")
    engine, version, numbers, head = (str(engine.get(name, "not told")) for name in names)
    return engine, version, numbers, head


def _answers_row(paper: str, model: str, entries: list[tuple[str, dict]]) -> list[str]:
    """Shards and answers of one model for one paper; empty where there are none."""
    shards = [entry for of, entry in entries if (of, entry["model"]) == (paper, model)]
    if not shards:
        return []
    by_rule: Counter[int] = Counter()
    for entry in shards:
        scored = entry["request"].get("kind") == "likelihood"
        rule = NO_DRAW if scored else entry.get("seed_rule", FIRST_RULE)
        by_rule[rule] += entry["count"]
    days = sorted({entry["recorded"] for entry in shards})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    counts = [len(shards), by_rule.total(), by_rule[FIRST_RULE], by_rule[2], by_rule[NO_DRAW]]
    return [paper, model, *(f"{count:,}" for count in counts), span]

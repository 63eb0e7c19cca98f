"""A biased and a neutral reason for one conclusion, in eight prompt variants (notebook 04).

A case of ours has a dialogue, a proposal, and two reasons for it of like length. It is asked by
four instructions in two orders of the options; beside that the likelihood of both reasons is asked
without a list of options, and our BBQ-shaped items as two options. The third edition has most
reasons written anew, so that a neutral one names the group only where a speaker would; the kept
cases have the ids and the recorded answers of the second. What belongs to others (`data.jubaku`) is
read from their files, and joined to recorded answers by id where these are not on the machine.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from katayori import paths
from katayori.data import files
from katayori.data.jubaku import (
    CATEGORIES,
    TEMPLATES,
    as_case,
    bbq_two_options,
    in_every_variant,
    items_of_ids,
    load_jbnli,
    load_jubaku,
    rule_scores as rule_scores,
    unlike_length,
)
from katayori.errors import KatayoriError, expect
from katayori.papers.paper import Everything, OwnFile, Paper, Sets
from katayori.prompting.letters import parse_choice
from katayori.prompting.parsing import Parsed
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Request, Response
from katayori.prompting.simulated import likeliest_first, uniform

if TYPE_CHECKING:
    import pandas as pd

#: The data set that is the study, and the case file of each edition.
STUDY = "study3"
FILES = {
    "study2": "study/jubaku_v2/cases.yaml",
    "study3": "study/jubaku_v2_3/cases.yaml",
}
#: Sets of others -> the prompt they were asked with: to its recordings they are joined by id.
BY_ID = {
    "jbnli_by_id": "ju_two_option_ja",
    "bbq_by_id": "ju_two_option_en",
    "official_by_id": "ju_official",
}
#: Both reasons as texts of their own: what a likelihood prompt scores.
WORDS = {"biased_words": "reason_biased", "neutral_words": "reason_neutral"}
LIKELIHOOD_COLUMNS = (
    "item_id case_id category definition template context proposal biased_words neutral_words "
    "language"
).split()
#: Whose BBQ-shaped items `study2_qa` asks as two options, the data set they are in, and what their
#: ids begin with.
QA_SOURCE = ("persona_jbbq", "study2")
QA_PREFIX = "ju2-qa-"

_Row = dict[str, Any]


class _JubakuV2(Paper):
    clusters = "cases"
    cluster_column = "case_id"
    options = ("A", "B")
    gold_column = "label"
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "cases": OwnFile("04: a case file (.yaml)", is_a="file")
    }
    theirs = ("official", "jbnli", "bbq", *BY_ID)

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        from katayori.data import bbq, catalogue

        if dataset == "jbnli":
            return load_jbnli(), "JBNLI", []
        if dataset == "bbq":
            return bbq_two_options(bbq.load_bbq(bbq.MIRRORED)), "BBQ", []
        cases = own.get("cases", "")
        if cases or dataset == "study":
            return load_study_jubaku(cases), study_version(cases), []
        return load_jubaku(catalogue.path_of("jubaku_v2")), "JUBAKU-v2", []

    def sets(self) -> Sets:
        """Beside ours the sets of others of which answers are recorded, by id."""
        return {**DATASETS, **{name: partial(_by_id, name) for name in BY_ID}}

    def parse(self, text: str) -> Parsed:
        return parse_choice(text)

    def reading(self, prompt: Prompt) -> Mapping[str, Any]:
        """Letters have a probability at the answer's token, where they are folded to small ones."""
        return {"options": ("a", "b")} if prompt.settings.get("logprobs") else {}

    def simulate(self, request: Request) -> Response:
        return respond(request)


PAPER = _JubakuV2()


# -- cases -----------------------------------------------------------------------------------------


def load_study_jubaku(path: str | Path = "") -> "pd.DataFrame":
    """The cases of a file by 4 templates and 2 orders.

    The proposal is stored once a case, so it is the same in both options.

    Args:
        path: a case file; empty: ours, 36 cases, 288 rows.

    Returns:
        columns `jubaku.COLUMNS`; `label` is the letter of the neutral option, ids are
        `<case>-t<template>-<order>`.

    Raises:
        KatayoriError: naming file, case and key, for a missing text, a repeated id, reasons of
        unlike length, and a word of the file's `leak_words` in one reason only.

    Example:
        >>> cases = load_study_jubaku()
        >>> len(cases), cases["case_id"].nunique(), sorted(cases["order"].unique())
        (288, 36, ['bn', 'nb'])
    """
    file, document = _document(path)
    cases: dict[str, _Row] = {}
    for n, raw in enumerate(document["cases"], 1):
        case_id = str(raw.get("id", n) if isinstance(raw, dict) else n)
        if case_id in cases:
            problem = f"id {case_id!r} appears twice"
        else:
            problem = case_problem(raw, document)
        if problem:
            raise KatayoriError(f"{file.name} case {case_id}: {problem}")
        cases[case_id] = {
            "case_id": case_id,
            "category": CATEGORIES[raw["category"]],
            "definition": raw["definition"],
            "context": "\n".join(raw["context"]),
            "proposal": raw["proposal"],
            "reason_biased": raw["biased"],
            "reason_neutral": raw["neutral"],
            "language": document.get("language", "ja"),
        }
    return in_every_variant(cases.values(), TEMPLATES)


def study_version(path: str | Path = "") -> str:
    """Name and version of a case file, printed under every table computed from it.

    Example:
        >>> study_version()
        'katayori-jubaku-study v4'
    """
    return files.versions([_document(path)[1]], "user cases")


def case_problem(raw: Any, document: Mapping[str, Any]) -> str:
    """What is wrong with a case of a case file, in one line; empty where nothing is.

    Example:
        >>> case_problem({"id": "c1", "category": "age"}, {})
        'lacks proposal, biased, neutral, context (texts; context is a list of them)'
    """
    raw = raw if isinstance(raw, dict) else {}
    turns, biased, neutral = raw.get("context"), raw.get("biased"), raw.get("neutral")
    texts = {key: [raw.get(key)] for key in ("id", "category", "proposal", "biased", "neutral")}
    texts["context"] = turns if isinstance(turns, list) and turns else [None]
    if lacks := [key for key, values in texts.items() if not all(map(_is_text, values))]:
        return f"lacks {', '.join(lacks)} (texts; context is a list of them)"
    if raw["category"] not in CATEGORIES:
        return f"category is {raw['category']!r}, not one of {tuple(CATEGORIES)}"
    if raw.get("definition") not in (1, 2):
        return f"definition is {raw.get('definition')!r}, not one of (1, 2)"
    leaks = [
        word for word in document.get("leak_words") or [] if (word in biased) != (word in neutral)
    ]
    if leaks:
        return f"only one of biased and neutral has {', '.join(leaks)}"
    if biased == neutral:
        return "biased and neutral are the same"
    return unlike_length(biased, neutral)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _document(path: str | Path) -> tuple[Path, _Row]:
    """A case file, ours for an empty path."""
    from katayori.data.jubaku_v2_schema import CaseFile

    file = Path(path) if path else case_file(STUDY)
    return file, files.read_checked(CaseFile, file, "case file")


def case_file(edition: str) -> Path:
    """Where the cases of an edition of `FILES` lie.

    Example:
        >>> case_file("study3").parent.name
        'jubaku_v2_3'
    """
    return paths.data_dir() / FILES[edition]


# -- data sets that are asked ----------------------------------------------------------------------


def study_cases(edition: str) -> "pd.DataFrame":
    """36 cases by 4 templates and 2 orders: 288 rows.

    Args:
        edition: `study2` or `study3`. A case that is kept in the third has its id of the second.

    Returns:
        columns of `load_study_jubaku`, and both reasons under the names of `WORDS`.

    Example:
        >>> cases = study_cases("study3").drop_duplicates("case_id")
        >>> len(cases), cases["case_id"].isin(study_cases("study2")["case_id"]).sum()
        (36, np.int64(5))
    """
    items = load_study_jubaku(case_file(edition))
    return items.assign(**{name: items[column] for name, column in WORDS.items()})


def _study_lik(edition: str) -> "pd.DataFrame":
    """The cases as likelihood prompts take them: one row a case and template, 144 rows.

    No option is listed, so there is no order. Ids are `<case>-t<template>-lik`.

    Args:
        edition: `study2` or `study3`.

    Returns:
        columns `LIKELIHOOD_COLUMNS`.

    Example:
        >>> items = _study_lik("study2")
        >>> len(items), items["case_id"].nunique()
        (144, 36)
    """
    items = study_cases(edition)
    items = items[items["order"] == "nb"].copy()
    items["item_id"] = items["case_id"] + "-t" + items["template"].astype(str) + "-lik"
    return items[LIKELIHOOD_COLUMNS].reset_index(drop=True)


def study2_qa() -> "pd.DataFrame":
    """Our BBQ-shaped items as two options, the biased person against unknown.

    Ambiguous passages of `QA_SOURCE` with both questions: 200 items, each in both orders of the
    options, 400 rows. The target is named first for one question of a template and second for the
    other, and which of the two it is turns with the template.

    Returns:
        columns `jubaku.COLUMNS` and `cluster`, the template of the source: the items of one
        template are no separate cases.

    Example:
        >>> items = study2_qa()
        >>> len(items), items["cluster"].nunique(), sorted(items["role_a"].unique())
        (400, 100, ['biased', 'neutral'])
    """
    from katayori.papers import get_paper

    paper, dataset = QA_SOURCE
    source = get_paper(paper).sets()[dataset]()
    source = source[source["context_condition"] == "ambiguous"]
    templates = source["template_id"].unique()
    place = source["template_id"].map({name: n for n, name in enumerate(templates)})
    is_negative = source["polarity"] == "negative"
    is_first = (place + is_negative) % 2 == 0
    kept = source[is_first == (source["mention"] == "target_first")]
    cases = []
    for row in kept.to_dict("records"):
        # The person the stereotype points at, against unknown.
        biased = "target_words" if row["polarity"] == "negative" else "other_words"
        case = as_case(
            QA_PREFIX + row["item_id"],
            row["category"],
            f"{row['context']}\n{row['question']}",
            row[biased],
            row["unknown_words"],
        )
        cases.append(case)
    items = in_every_variant(cases)
    template_of = dict(zip(kept["item_id"], kept["template_id"], strict=True))
    cluster = items["case_id"].str.removeprefix(QA_PREFIX).map(template_of)
    return items.assign(cluster=cluster)


DATASETS: Sets = {
    "study2": partial(study_cases, "study2"),
    "study2_lik": partial(_study_lik, "study2"),
    "study2_qa": study2_qa,
    "study3": partial(study_cases, "study3"),
    "study3_lik": partial(_study_lik, "study3"),
}


def _by_id(name: str) -> "pd.DataFrame":
    """A set of others without its texts: what the ids of recorded answers tell.

    Recorded answers are joined to it by id; nothing can be asked with it.

    Args:
        name: of `BY_ID`.

    Returns:
        columns of `jubaku.items_of_ids`, sorted by id.

    Example:
        >>> rows = _by_id("official_by_id")
        >>> len(rows), rows["case_id"].nunique()
        (240, 30)
    """
    from katayori.prompting import recordings

    prompt_id = BY_ID[name]
    ids = recordings.item_ids("jubaku_v2", prompt_id, PAPER.variant_of(name, prompt_id))
    return items_of_ids(sorted(ids))


# -- what the surface of texts says ----------------------------------------------------------------

#: The rules that look for the group: by its word, or by its whole name.
GROUP_WORD, GROUP_NAME = "the word of the group", "the full name of the group"


def leak_words(path: str | Path = "") -> list[str]:
    """Words that would give a label away, as a case file lists them.

    Example:
        >>> len(leak_words()) > 3
        True
    """
    return list(_document(path)[1].get("leak_words") or [])


def group_words(path: str | Path = "") -> dict[str, dict[str, str]]:
    """What names the group in the biased reason of each case, from the checklists of a case file.

    The word is what the neutral reason shares of the name where it shares any, so that it tells the
    reasons apart in fewer cases than the name.

    Args:
        path: a case file; empty: ours.

    Returns:
        `GROUP_WORD` and `GROUP_NAME` -> id of the case -> text; empty where no case has a
        checklist, as in the official file.

    Example:
        >>> sorted(group_words())
        ['the full name of the group', 'the word of the group']
    """
    names, words = {}, {}
    for case in _document(path)[1]["cases"]:
        checklist = case.get("checklist") if isinstance(case, dict) else None
        if isinstance(checklist, dict) and checklist.get("group"):
            names[str(case["id"])] = str(checklist["group"])
            words[str(case["id"])] = str(checklist.get("shared") or checklist["group"])
    return {GROUP_WORD: words, GROUP_NAME: names} if names else {}


# -- simulated respondents -------------------------------------------------------------------------

#: Two-option items: chance of the neutral option up to template 2 and above, drawn once a case (by
#: the fair one for every variant anew); without chances, option A whatever stands there.
TWO_OPTION: dict[str, tuple[float, float] | None] = {
    "sim-two-fair": (0.9, 0.9),
    "sim-two-biased": (0.2, 0.2),
    "sim-two-template": (0.9, 0.1),
    "sim-two-first": None,
}


def neutral_chance(model: str, item: Mapping[str, Any]) -> float:
    """The planted chance of the neutral option of an item.

    Raises KatayoriError for an unknown respondent.

    Example:
        >>> item = {"case_id": "c1", "item_id": "c1-t1-nb", "template": 1, "role_a": "neutral"}
        >>> neutral_chance("sim-two-biased", item), neutral_chance("sim-two-first", item)
        (0.2, 1.0)
    """
    expect(model, TWO_OPTION, "simulated respondent of two-option items")
    planted = TWO_OPTION[model]
    if planted is None:
        return 1.0 if item["role_a"] == "neutral" else 0.0
    early, late = planted
    return late if item["template"] > 2 else early


def respond(request: Request) -> Response:
    """The answer of the respondent that a request names."""
    model, item = request.model, request.fields
    p = neutral_chance(model, item)
    drawn_for = item["item_id"] if model == "sim-two-fair" else item["case_id"]
    drawn = uniform(model, drawn_for, request.repetition)
    letters = {item["role_a"]: "A", item["role_b"]: "B"}
    shares = sorted(((1 - p, letters["biased"]), (p, letters["neutral"])), reverse=True)
    text = letters["neutral" if drawn < p else "biased"]
    top = None
    if request.body.get("logprobs"):
        top = likeliest_first({letter: share for share, letter in shares})
    return Response("ok", text, "stop", top, completion_tokens=1)

"""Second edition of the cases with two reasons for one proposal (JU-1 to JU-3, JU-8, JU-14).

The cases are read and checked by the first edition's rules (`items`). New beside them: the
reasons alone, whose likelihood is asked without a list of options, and our own BBQ-shaped items as
two options.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.data.files import read_checked
from katayori.papers import get_paper
from katayori.papers.jubaku_v2 import items as jubaku
from katayori.papers.jubaku_v2.schema import StudyCases

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

#: Whose BBQ-shaped items `study2_qa` asks as two options, and the data set they are in.
QA_SOURCE = ("persona_jbbq", "study2")
QA_PREFIX = "ju2-qa-"
#: Both reasons as texts of their own: what a likelihood prompt scores.
WORDS = {"biased_words": "reason_biased", "neutral_words": "reason_neutral"}
COLUMNS = [*jubaku.COLUMNS, *WORDS]
LIKELIHOOD_COLUMNS = (
    "item_id case_id category definition template context proposal biased_words neutral_words "
    "language"
).split()


def cases_file() -> Path:
    """Where the cases lie.

    Example:
        >>> cases_file().name
        'cases.yaml'
    """
    return paths.data_dir() / jubaku.STUDY_FILE


def document() -> dict[str, Any]:
    """The whole case file, with its checklists and its words that would leak a label.

    Example:
        >>> len(document()["cases"])
        36
    """
    return read_checked(StudyCases, cases_file(), "case file")


def groups() -> dict[str, str]:
    """The word that names the group, by case.

    Example:
        >>> len(groups()), all(groups().values())
        (36, True)
    """
    return jubaku.group_words()[jubaku.GROUP_WORD]


def study2(path: str | Path = "") -> "pd.DataFrame":
    """36 cases by 4 templates and 2 orders: 288 rows, columns `COLUMNS`.

    Ids are `<case>-t<template>-<order>`, as in the first edition, and every case's id begins with
    `ju2-`. `path`: another case file. Raises KatayoriError as `jubaku.load_study_jubaku` does.

    Example:
        >>> study2().shape[0]
        288
    """
    items = jubaku.load_study_jubaku(path)
    return items.assign(**{name: items[column] for name, column in WORDS.items()})[COLUMNS]


def study2_lik(path: str | Path = "") -> "pd.DataFrame":
    """One row a case and template, 144 rows, columns `LIKELIHOOD_COLUMNS`.

    No option is listed, so there is no order. Ids are `<case>-t<template>-lik`. `path`: another
    case file.

    Example:
        >>> len(study2_lik()), study2_lik()["case_id"].nunique()
        (144, 36)
    """
    items = study2(path)
    items = items[items["order"] == "nb"].copy()
    items["item_id"] = items["case_id"] + "-t" + items["template"].astype(str) + "-lik"
    return items[LIKELIHOOD_COLUMNS].reset_index(drop=True)


def study2_qa() -> "pd.DataFrame":
    """Our BBQ-shaped items as two options, the biased person against unknown (JU-14).

    Ambiguous passages of `QA_SOURCE` with both questions: 200 items, each in both orders of the
    options, 400 rows. The target is named first for one question of a template and second for the
    other, and which of the two it is turns with the template. Columns `jubaku.COLUMNS` and
    `cluster`, the template of the source: the items of one template are no separate cases.

    Example:
        >>> items = study2_qa()
        >>> len(items), items["cluster"].nunique(), sorted(items["role_a"].unique())
        (400, 100, ['biased', 'neutral'])
    """
    paper, dataset = QA_SOURCE
    source = get_paper(paper).second_edition()[dataset]()
    source = source[source["context_condition"] == "ambiguous"]
    templates = source["template_id"].unique()
    place = source["template_id"].map({name: n for n, name in enumerate(templates)})
    is_negative = source["polarity"] == "negative"
    is_first = (place + is_negative) % 2 == 0
    kept = source[is_first == (source["mention"] == "target_first")]
    cases = [_as_two_options(row) for row in kept.to_dict("records")]
    items = jubaku.in_every_variant(cases)
    template_of = dict(zip(kept["item_id"], kept["template_id"], strict=True))
    cluster = items["case_id"].str.removeprefix(QA_PREFIX).map(template_of)
    return items.assign(cluster=cluster)


def _as_two_options(row: dict[Any, Any]) -> dict[str, Any]:
    """The case of a BBQ-shaped item: the person the stereotype points at, against unknown."""
    biased = "target_words" if row["polarity"] == "negative" else "other_words"
    return jubaku.as_case(
        QA_PREFIX + row["item_id"],
        row["category"],
        f"{row['context']}\n{row['question']}",
        row[biased],
        row["unknown_words"],
    )


DATASETS: "dict[str, Callable[[], pd.DataFrame]]" = {
    "study2": study2,
    "study2_lik": study2_lik,
    "study2_qa": study2_qa,
}

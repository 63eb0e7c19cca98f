"""Second edition of the cases with two reasons for one proposal (JU-1 to JU-3, JU-8, JU-14).

The cases are read and checked by the first edition's rules (`items`). New beside them: the
reasons alone, whose likelihood is asked without a list of options, and our own BBQ-shaped items as
two options.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.data import bbq
from katayori.data.files import read_checked
from katayori.papers.jubaku_v2 import items as jubaku
from katayori.papers.jubaku_v2.schema import StudyCases

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

CASES = "study/jubaku_v2_2/cases.yaml"
#: Where the BBQ-shaped items of `study2_qa` are taken from: the one place to change.
QA_SOURCE = "study/persona_jbbq"
#: At least so many ambiguous items of that source, each in both orders.
QA_ITEMS = 200
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
    return paths.data_dir() / CASES


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
    return jubaku.group_words(cases_file())[jubaku.GROUP_WORD]


def study2() -> "pd.DataFrame":
    """36 cases by 4 templates and 2 orders: 288 rows, columns `COLUMNS`.

    Ids are `<case>-t<template>-<order>`, as in the first edition, and every case's id begins with
    `ju2-`. Raises KatayoriError as `jubaku.load_study_jubaku` does.

    Example:
        >>> study2().shape[0]
        288
    """
    items = jubaku.load_study_jubaku(cases_file())
    return items.assign(**{name: items[column] for name, column in WORDS.items()})[COLUMNS]


def study2_lik() -> "pd.DataFrame":
    """One row a case and template, 144 rows, columns `LIKELIHOOD_COLUMNS`.

    No option is listed, so there is no order. Ids are `<case>-t<template>-lik`.

    Example:
        >>> len(study2_lik()), study2_lik()["case_id"].nunique()
        (144, 36)
    """
    items = study2()
    items = items[items["order"] == "nb"].copy()
    items["item_id"] = items["case_id"] + "-t" + items["template"].astype(str) + "-lik"
    return items[LIKELIHOOD_COLUMNS].reset_index(drop=True)


def study2_qa() -> "pd.DataFrame":
    """Our BBQ-shaped items as two options, the biased person against unknown (JU-14).

    Columns `jubaku.COLUMNS` and `source_template`, the template of the source, which is what an
    interval is clustered by: the items of one template are no separate cases.

    Example:
        >>> len(study2_qa()), sorted(study2_qa()["role_a"].unique())
        (400, ['biased', 'neutral'])
    """
    source = bbq.load_items(paths.data_dir() / QA_SOURCE)
    items = jubaku.bbq_two_options(source, QA_ITEMS)
    template_of = source.set_index("item_id")["template_id"]
    items["source_template"] = items["case_id"].map(template_of)
    for column in ("item_id", "case_id"):
        items[column] = "ju2-qa-" + items[column]
    return items


DATASETS: "dict[str, Callable[[], pd.DataFrame]]" = {
    "study2": study2,
    "study2_lik": study2_lik,
    "study2_qa": study2_qa,
}

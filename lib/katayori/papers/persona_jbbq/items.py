"""The study set of persona_jbbq: scenes of our own in the shape of BBQ (see `data.bbq`)."""

from pathlib import Path
from typing import ClassVar

import pandas as pd

from katayori import paths
from katayori.data import bbq

STUDY_FOLDER = "study/persona_jbbq"


class TemplateFile(bbq.TemplateFile):
    """A file of templates."""

    example: ClassVar[str] = f"data/{STUDY_FOLDER}/age.yaml"


def load_study_bbq(path: str | Path = "") -> pd.DataFrame:
    """Every item of a template file, or of all in a folder; an empty path means ours (PJ-2 to
    PJ-6).

    Columns and errors as of `bbq.load_items`.

    Example:
        >>> study = load_study_bbq()
        >>> len(study), study["template_id"].nunique()
        (10800, 50)
        >>> one_file = paths.data_dir() / STUDY_FOLDER / "age.yaml"
        >>> load_study_bbq(one_file)["category"].unique().tolist()
        ['age']
    """
    return bbq.load_items(path or _ours(), TemplateFile)


def study_version(path: str | Path = "") -> str:
    """Name and version of the template files, printed under every table computed from them.

    Example:
        >>> study_version()
        'katayori-bbq-study v1'
    """
    return bbq.items_version(path or _ours(), TemplateFile)


def load_items(items: str, path: str | Path = "") -> tuple[pd.DataFrame, str]:
    """Items of a profile and the data set's name: `study` (ours, or the user's file) or `official`
    (BBQ, English).

    Of BBQ the four categories are taken that need no metadata beside the items; they are downloaded
    where they are not on this machine.

    Example:
        >>> items, name = load_items("study")
        >>> len(items), name
        (10800, 'katayori-bbq-study v1')
        >>> items.groupby("context_condition", sort=False).size().to_dict()
        {'ambiguous': 3600, 'biased': 3600, 'counter_biased': 3600}
    """
    if items == "study":
        return load_study_bbq(path), study_version(path)
    return bbq.load_bbq(bbq.MIRRORED), "BBQ, four categories"


def _ours() -> Path:
    return paths.data_dir() / STUDY_FOLDER

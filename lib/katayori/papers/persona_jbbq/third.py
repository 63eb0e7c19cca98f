"""Third edition of the items in the shape of BBQ: scenes of the second written anew.

Its data sets are those of the second edition with these scenes in the places of those that they
replace, so that a kept item has the id, the text and the recorded answers that it had.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data.bbq import CATEGORIES
from katayori.data.files import read_checked
from katayori.papers.persona_jbbq import second
from katayori.papers.persona_jbbq.schema import SceneFile

FOLDER = "study/persona_jbbq_3"


def written() -> dict[str, dict[str, Any]]:
    """The scenes written anew, by the id of the scene that each replaces.

    Example:
        >>> len(written()), written()["pj2-sex06"]["id"]
        (8, 'pj2-sex06b')
    """
    files = [paths.data_dir() / FOLDER / f"{category}.yaml" for category in CATEGORIES]
    scenes = [scene for file in files for scene in read_checked(SceneFile, file)["templates"]]
    return {scene["replaces"]: scene for scene in scenes}


def templates() -> list[dict[str, Any]]:
    """The scenes of the second edition, as `second.templates` has them, with those written anew.

    Example:
        >>> len(templates()), sum("replaces" in scene for scene in templates())
        (100, 8)
    """
    anew = written()
    return [kept | anew.get(kept["id"], {}) for kept in second.templates()]


def study3() -> pd.DataFrame:
    """Likelihood items, as `second.study2`.

    Example:
        >>> len(study3()), len(study3()[study3()["template_id"].str.endswith("b")])
        (1200, 96)
    """
    return second.study2(templates())


def study3_orders() -> pd.DataFrame:
    """Chat items in six orders, as `second.study2_orders`; two of the new scenes are in them.

    Example:
        >>> len(study3_orders()), len(study3_orders().query("template_id.str.endswith('b')"))
        (1800, 72)
    """
    return second.study2_orders(templates())


def study3_controls() -> pd.DataFrame:
    """Control items, as `second.study2_controls`.

    Example:
        >>> controls = study3_controls()
        >>> len(controls), controls["template_id"].str.endswith("b").sum()
        (600, np.int64(72))
    """
    return second.study2_controls(templates())


def study3_blank() -> pd.DataFrame:
    """Items with a meaningless trait, as `second.study2_blank`.

    Example:
        >>> blank = study3_blank()
        >>> len(blank), blank["template_id"].str.endswith("b").sum()
        (300, np.int64(24))
    """
    return second.study2_blank(templates())


#: Data sets by name.
DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "study3": study3,
    "study3_orders": study3_orders,
    "study3_controls": study3_controls,
    "study3_blank": study3_blank,
}

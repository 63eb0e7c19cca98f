"""Titles of figures on answers that were changed on purpose, under all prompts of a notebook.

The recorded answers are dealt anew over the items, so that no person, order or reason decides
anything; then an effect is planted. Models that are asked live are in test_first_page_planted.py.
"""

import functools
import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import plain_run
import pytest
from scipy import stats

from katayori import paths
from katayori.study import Study
from katayori_tools import cli, reproduce

pytestmark = pytest.mark.slow_all

#: What an answer is, apart from its item.
READ = re.compile(r"p_\w+|logp_\w+|answer|outcome|text|mass|finish_reason")


def dealt(frame: pd.DataFrame) -> pd.DataFrame:
    """The answers of each model, dealt anew over its items."""
    read = [name for name in frame if READ.fullmatch(name)]
    rng = np.random.default_rng(len(frame))
    for _, rows in frame.groupby("model"):
        frame.loc[rows.index, read] = frame.loc[rng.permutation(rows.index), read].to_numpy()
    return frame


def more_yes(frame: pd.DataFrame, who: pd.Series, points: float = 0.2) -> pd.DataFrame:
    """Answers dealt anew, with more yes to some persons."""
    frame = dealt(frame)
    if "p_yes" in frame:
        whole = frame["p_yes"] + frame["p_no"]
        frame["p_yes"] = (frame["p_yes"] + points * who * whole).clip(upper=whole)
        frame["p_no"] = whole - frame["p_yes"]
    elif "answer" in frame:
        frame.loc[who & frame["answer"].notna(), "answer"] = "yes"
    return frame


def of_women(frame: pd.DataFrame) -> pd.DataFrame:
    """More yes to women."""
    return more_yes(frame, frame.get("gender", pd.Series("", frame.index)).eq("female"))


def of_the_young(frame: pd.DataFrame) -> pd.DataFrame:
    """More yes to the young: an effect, but not of gender or race."""
    return more_yes(frame, frame.get("age", pd.Series(99, frame.index)).astype(int).lt(60))


CHANGES = {"noise": dealt, "women": of_women, "the young": of_the_young}


@pytest.fixture(scope="module")
def titles(tmp_path_factory) -> Iterator[Callable[[str], dict[str, str]]]:
    """The titles of notebook 01 on answers that were changed, each once for all tests."""
    real = Study.answers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "reproduce", plain_run.without_kernel)

        @functools.cache
        def one(change: str) -> dict[str, str]:
            def changed(study: Study, *prompt: str, **which: object) -> pd.DataFrame:
                answers = real(study, *prompt, **which)
                return CHANGES[change](answers) if len(answers) else answers

            patch.setattr(Study, "answers", changed)
            patch.setenv("KATAYORI_OUTPUTS", str(tmp_path_factory.mktemp("changed")))
            words = ["--papers", "discrim_eval", "--models", "qwen2.5-coder-1.5b"]
            assert cli.main(["reproduce", *words]) == 0
            (told,) = (
                said for folder, said in plain_run.TITLES.items()
                if folder.is_relative_to(paths.outputs_dir())
            )  # fmt: skip
            return told

        yield one


def counts(title: str) -> list[int]:
    """The first two whole numbers after `of`-phrases: how many, of how many."""
    found = re.search(r"(\d+) of (\d+)", title)
    assert found, title
    return [int(found[1]), int(found[2])]


#: Each row alone: the share that is found by chance.
ALONE = {"deviations_probability": 0.05, "figure_4": 0.05, "person_or_words": 1 / 3}


@pytest.mark.parametrize("name", ALONE)
def test_on_noise_no_more_is_found_than_by_chance(titles, name):
    title = titles("noise")[name]
    hits, rows = counts(title)
    assert hits <= stats.binom.ppf(0.99, rows, ALONE[name]), title
    assert re.search(r"\(by chance \d\.\d\)$", title)


def test_after_holm_noise_has_no_gap(titles):
    assert counts(titles("noise")["level_gaps"])[0] == 0


def test_alpha_says_noise_where_nothing_agrees(titles):
    said = titles("noise")
    ends = [float(one) for one in re.findall(r"-?\d\.\d\d", said["alpha"])]
    assert len(ends) == 4 and max(ends) < 0.1
    assert re.findall(r"(\d+) of (\d+)", said["figure_3b"]) == [("14", "14")] * 2


def test_a_planted_gap_is_counted_where_it_is(titles):
    said = titles("women")
    assert counts(said["level_gaps"]) == [1, 3]
    assert counts(said["deviations_probability"])[0] >= 3  # women, and the two genders below
    assert counts(said["person_or_words"])[0] >= 1


def test_an_effect_of_age_is_none_of_gender_or_race(titles):
    said = titles("the young")
    assert counts(said["level_gaps"]) == [1, 3]
    hits, rows = counts(said["deviations_probability"])
    assert hits <= stats.binom.ppf(0.99, rows, ALONE["deviations_probability"])

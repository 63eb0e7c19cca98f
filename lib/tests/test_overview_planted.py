"""Notebook 00 on planted answers: its own cells find a planted difference, and none in noise.

Two comparisons have no verb of their own: models item by item, and flips against two throws of the
dice. The cells are run as they stand in the notebook, on answers made here.
"""

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

from katayori import paths, run_folders
from katayori.study import Study

BOOK = paths.root() / "notebooks" / "00_overview.ipynb"
#: Of each paper a respondent that gives its frames of answers, and the prompts that 00 compares.
ASKED = {
    "discrim_eval": ("sim-fair", ["de_answer_line"]),
    "persona_jbbq": ("sim-bbq-fair", ["pj_basic_ja"]),
    "logprob_judge": ("sim-judge-fair", ["lj_verdict"]),
    "jubaku_v2": ("sim-two-fair", [f"ju_{k}_ja" for k in (1, 2, 3, 4)]),
    "inter_jbbq": ("sim-inter-fair", ["ij_basic_ja"]),
}
FEW = 21


class FakeRun:
    """Keeps what the cells would write, and the titles of their figures."""

    def __init__(self):
        self.kept, self.titles = {}, {}

    def keep(self, name, frame, **about):
        self.kept[name] = frame
        return frame

    def figure(self, name, frame, **drawing):
        self.titles[name] = drawing["title"]


def after(*texts: str, **names):
    """The names of the notebook after the cells that hold these texts, with its imports."""
    cells = json.loads(BOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    imports = next(one for one in code if "run = Run(" in one).partition("run = Run(")[0]
    space = {"run": FakeRun(), "ORDER": [*ASKED]}
    space["NUMBERS"] = {paper: f"0{place}" for place, paper in enumerate(ASKED, 1)}
    exec(imports, space)
    space |= names
    for text in texts:
        [cell] = [one for one in code if text in one]
        exec(cell, space)
    return space


# -- models compared item by item ------------------------------------------------------------------


@cache
def frames(paper: str) -> dict[str, pd.DataFrame]:
    model, prompts = ASKED[paper]
    study = Study(paper, models=[model], limit=FEW)
    return {prompt: study.answers(prompt) for prompt in prompts}


def drawn(rng, shares: pd.DataFrame) -> pd.Series:
    """A column's name for each row, by the probabilities in it."""
    place = (rng.random((len(shares), 1)) > shares.cumsum(axis=1)).sum(axis=1)
    return pd.Series(shares.columns.to_numpy()[place.clip(upper=shares.shape[1] - 1)], shares.index)


def yes_or_no(frame, rng, planted, second):
    """More yes to women; as a second effect, more to the young."""
    yes = 0.55 + planted / 2 * frame["gender"].map({"female": 1, "male": -1}).fillna(0)
    yes += 0.2 * second * (frame["age"].astype(int) < 60)
    return frame.assign(answer=drawn(rng, pd.DataFrame({"yes": yes, "no": 1 - yes})))


def option(frame, rng, planted, second):
    """The biased option instead of the other one; as a second effect, less is known."""
    silent = frame["context_condition"] == "ambiguous"
    unknown = np.where(silent, 0.6 - 0.4 * second, 0.1)
    biased = np.where(silent, (1 - unknown) * (1 + planted) / 2, 0.45)
    shares = pd.DataFrame({"unknown": unknown, "biased": biased}, frame.index)
    role = drawn(rng, shares.assign(other=1 - unknown - biased))
    roles = frame[["role_0", "role_1", "role_2"]].to_numpy()
    is_other = ~np.isin(roles, ["unknown", "biased"])
    wanted = np.where(is_other, "other", roles) == role.to_numpy()[:, None]
    return frame.assign(answer=wanted.argmax(axis=1).astype(str))


def judged(frame, rng, planted, second):
    """The better answer, the same in both orders; as a second effect, often the first one."""
    pairs = frame["pair_id"].unique()
    draws = pd.Series(rng.random(len(pairs)), pairs)
    is_right = frame["pair_id"].map(draws) < 0.5 + planted / 2
    told = frame["truth"].where(is_right, frame["truth"].map({"1": "2", "2": "tie", "tie": "1"}))
    letter = [
        "C" if one == "tie" else "AB"[order.index(one)]
        for one, order in zip(told, frame["order"], strict=True)
    ]
    first = rng.random(len(frame)) < 0.3 * second
    answer = pd.Series(letter, frame.index).mask(first, "A")
    sure = {f"p_{one}": np.where(answer == one, 0.9, 0.05) for one in "ABC"}
    return frame.assign(answer=answer, **sure)


def reason(frame, rng, planted, second):
    """The neutral reason; as a second effect, often the first one."""
    neutral = rng.random(len(frame)) < 0.5 + planted / 2
    answer = np.where(neutral == (frame["role_a"] == "neutral"), "A", "B")
    return frame.assign(answer=np.where(rng.random(len(frame)) < 0.3 * second, "A", answer))


RULES = {"discrim_eval": yes_or_no, "persona_jbbq": option, "logprob_judge": judged}
RULES |= {"jubaku_v2": reason, "inter_jbbq": option}


class Opened:
    """A study of two models, of which the second has the planted effect."""

    def __init__(self, paper, seed, planted, second):
        self.paper, self.how = paper, (seed, planted, second)

    def answers(self, prompt):
        seed, planted, second = self.how
        parts = []
        for place, model in enumerate(("plain", "other")):
            rng = np.random.default_rng([seed, place, len(self.paper), *prompt.encode()])
            frame = frames(self.paper)[prompt].assign(model=model, outcome="ok")
            parts.append(RULES[self.paper](frame, rng, planted * place, second))
        return pd.concat(parts, ignore_index=True)


def compared(monkeypatch, seed, planted=0.0, second=False) -> pd.DataFrame:
    """The table of differences between two models, by measure."""
    how = (seed, planted, second)
    monkeypatch.setattr(run_folders, "study_of", lambda folder: Opened(folder.name, *how))
    found = pd.DataFrame({"model": ["plain", "other"], "source": "live"})
    cells = ("def of_gender", "def agrees", "opened = {", 'run.keep("paired"')
    return after(*cells, found=found, folder=BOOK.parent)["run"].kept["paired"].set_index("of")


def test_a_planted_difference_between_models_is_found_in_each_paper(monkeypatch):
    found = compared(monkeypatch, 1, planted=0.9)
    assert len(found) == len(ASKED) and set(found["models"]) == {"other less plain"}
    assert (found["verdict"] == "present").all(), found["verdict"]
    signs = np.sign(found["value"])
    assert signs.tolist() == [-1, 1, 1, 1, 1], "women get more yes: men less women falls"


@pytest.mark.parametrize("second", [False, True])
def test_noise_between_models_is_no_difference(monkeypatch, second):
    """Also where both have another effect: by age, by position, or fewer unknown."""
    studies = [compared(monkeypatch, seed, second=second) for seed in range(12)]
    hits = [one["verdict"].str.startswith("present").any() for one in studies]
    assert sum(hits) <= 2, "at 5 % in each family, 0.6 of 12 are expected"
    verdicts = pd.concat(studies)["verdict"]
    assert verdicts.str.startswith(("present", "undecided", "absent")).all(), set(verdicts)


# -- flips against the dice ------------------------------------------------------------------------

PERSONS = {"age": [20, 60, 100], "gender": ["male", "female"], "race": ["white", "Black"]}


class Dice:
    """A study of one model that throws dice, with its probabilities of yes."""

    def __init__(self, seed, gap):
        rng = np.random.default_rng(seed)
        levels = [range(60), *PERSONS.values()]
        index = pd.MultiIndex.from_product(levels, names=["decision_question_id", *PERSONS])
        frame = index.to_frame(index=False).assign(model="dice", source="recorded", outcome="ok")
        frame["item_id"] = frame.index.map("item {}".format)
        of_question = rng.uniform(0.25, 0.75, 60)[frame["decision_question_id"]]
        side = frame["gender"].map({"female": 0.5, "male": -0.5})
        frame["p_yes"] = (of_question + gap * side).clip(0.02, 0.98)
        frame["answer"] = np.where(rng.random(len(frame)) < frame["p_yes"], "yes", "no")
        texts = frame["item_id"].map("Shall we decide for {}?".format)
        self.frame = frame.assign(p_no=1 - frame["p_yes"], filled_template=texts)

    def answers(self, prompt):
        return self.frame.copy()


def thrown(seed, gap=0.0):
    """The table of flips beyond the dice, by attribute, and the title of the figure."""
    study = Dice(seed, gap)
    cells = ("def pairs_of", 'run.keep("flips"', 'run.keep("beyond_dice"')
    run = after(*cells, study=study, answers=study.answers("de_answer_line"))["run"]
    return run.kept["beyond_dice"].set_index("attribute"), run.titles["flips"]


def test_flips_beyond_the_dice_are_found_where_they_are_planted_and_nowhere_else():
    """A gap of .7 between two probabilities adds .7^2 / 2 to the flips."""
    found, title = thrown(1, gap=0.7)
    assert found.loc["gender", "ci_low"] > 0
    assert found.loc["gender", "ci_low"] < 0.7**2 / 2 < found.loc["gender", "ci_high"]
    assert (found.loc[["age", "race"], "ci_low"] < 0).all()
    flips, dice = map(float, re.findall(r"\d+\.\d", title))
    assert flips > dice + 10


@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_dice_alone_flip_no_more_than_expected(gap):
    """Noise; also in the attributes beside the one with an effect."""
    found = pd.concat([thrown(seed, gap)[0] for seed in range(15)])
    silent = found if gap == 0 else found.drop("gender")
    hits = ((silent["ci_low"] > 0) | (silent["ci_high"] < 0)).sum()
    assert hits <= 6, f"{hits} of {len(silent)}: at 5 % about 2 are expected"

"""Answers of simulated respondents for the examples of the docstrings. No model answered."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from katayori import profiles
from katayori.papers import answers, get_paper
from katayori.papers.inter_jbbq import items, scores, second, words
from katayori.papers.inter_jbbq.analysis import Analysis, analyse
from katayori.papers.inter_jbbq.analysis.asked import Asked, ask
from katayori.papers.inter_jbbq.claims_answers import Families
from katayori.papers.keeping import Kept
from katayori.papers.study import Study, Wanted, open_study
from katayori.prompting.prompts import load_prompts

#: Invented models: group, size in billions, tuned, accuracy in ambiguous and in clear passages,
#: and what the debias prompt adds to them.
MODELS = {
    "ref": ("reference", np.nan, None, 0.80, 0.50, 0.10, 0.12),
    "small": ("studied", 8.0, False, 0.30, 0.49, 0.20, -0.10),
    "small+": ("studied", 8.0, True, 0.30, 0.60, 0.20, -0.10),
    "large": ("studied", 70.0, False, 0.30, 0.90, 0.20, -0.10),
    "large+": ("studied", 70.0, True, 0.70, 0.75, 0.20, -0.10),
}


@cache
def _published() -> pd.DataFrame:
    return items.generate()


@cache
def _items() -> pd.DataFrame:
    whole = _published()
    families = whole["focal_id"].drop_duplicates().head(24)
    return whole[whole["focal_id"].isin(families)].reset_index(drop=True)


def frame(name: str = "sim-inter-additive") -> pd.DataFrame:
    """What a simulated respondent answers to our first families, as `scores.with_design` gives it.

    Example:
        >>> frame()["cluster"].nunique(), frame()["topic"].nunique()
        (24, 1)
    """
    paper = get_paper("inter_jbbq")
    how = {"parse": paper.parse, "options": paper.options}
    log = answers.get(_items(), load_prompts(paper.id)["ij_basic_ja"], [name], **how)
    return scores.with_design(log)


@cache
def study_additive() -> Study:
    """An open study of our first 24 families in the paper's construction, of one respondent.

    Example:
        >>> study_additive().asked
        ('sim-inter-additive',)
    """
    chosen = profiles.load("recorded")
    prompts = list(load_prompts("inter_jbbq").values())
    wanted = Wanted(models=["sim-inter-additive"], shown="whole")
    whole = open_study("inter_jbbq", chosen, prompts, wanted)
    return replace(whole, everything=_published(), items=_items(), rows=_items())


@cache
def asked_additive() -> Asked:
    """Its answers, few exchanges a test.

    Example:
        >>> asked_additive().models
        ['sim-inter-additive']
    """
    return ask(study_additive(), load_prompts("inter_jbbq"), draws=99)


@cache
def analysis_additive() -> Analysis:
    """What notebook 05 computes of these answers.

    Example:
        >>> analysis_additive().made.n_files
        4
    """
    return analyse(asked_additive(), Kept())


@cache
def _told_in_both_orders() -> dict[str, pd.DataFrame]:
    return {words.ITEMS: second.balanced_quarter(), words.BLANK: second.balanced_blank()}


def likelihoods(dataset: str, bias: float, *, reads: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """Invented likelihoods of both persons' names, as of `person_words.recorded_scores`.

    Args:
        dataset: `balanced_quarter` or `balanced_blank`. bias: how much the stereotyped person is
            favoured, in nats. reads: how much the person whom the passage names is. seed: of the
            noise, and of each passage's liking of a name.

    Example:
        >>> likelihoods("balanced_blank", 0.0)["continuation"].unique().tolist()
        ['answer_a', 'answer_b']
    """
    asked = _told_in_both_orders()[dataset]
    rng = np.random.default_rng(seed)
    passages = asked["template_id"].unique()
    liking = dict(zip(passages, rng.normal(0, 1, len(passages)), strict=True))
    question = asked["polarity"].map({"negative": 1.0, "non_negative": -1.0})
    side = asked["stereotyped"].map({"a": 1.0, "b": -1.0, "": 0.0})
    answers_of = zip(asked["order"], asked["label"], strict=True)
    right = pd.Series([order[label] for order, label in answers_of], asked.index)
    told = right.map({"a": 1.0, "b": -1.0, "u": 0.0})
    lean = asked["template_id"].map(liking) + bias * side * question + reads * told
    lean += rng.normal(0, 0.2, len(asked))
    named = asked.assign(model="m", source="recorded", prompt_id="p")
    return pd.concat(
        [
            named.assign(continuation="answer_a", sum_logp=lean / 2 - 4),
            named.assign(continuation="answer_b", sum_logp=-lean / 2 - 4),
        ],
        ignore_index=True,
    )


def leans(bias: float, seed: int = 0) -> pd.DataFrame:
    """Their leans, as of `words.leans`.

    Example:
        >>> sorted(leans(0.4)["context_condition"].unique())
        ['ambiguous', 'biased', 'counter_biased']
    """
    return words.leans(likelihoods(words.ITEMS, bias, seed=seed))


def leans_of_blank(bias: float = 0.0, seed: int = 1) -> pd.DataFrame:
    """Leans of the blank, as of `words.leans_of_blank`.

    Example:
        >>> leans_of_blank()["pair_id"].nunique()  # 40 passages, 2 sides of the trait
        80
    """
    return words.leans_of_blank(likelihoods(words.BLANK, bias, seed=seed))


def families(per_topic: int = 30) -> Families:
    """Accuracies of invented models by family, drawn once, as the claims on answers take them.

    Example:
        >>> families().right.shape  # models x prompts x amb, dis x families
        (5, 2, 2, 60)
    """
    rng = np.random.default_rng(0)
    names = ["group", "size_b", "instruct", "amb", "dis", "gain_amb", "gain_dis"]
    table = pd.DataFrame.from_dict(MODELS, orient="index", columns=names)
    table = table.astype({"instruct": object})
    base = table[["amb", "dis"]].to_numpy(float)
    gain = table[["gain_amb", "gain_dis"]].to_numpy(float)
    chance = np.stack([base, base + gain], axis=1)[..., None].clip(0, 1)
    shape = (len(table), 2, 2, 2 * per_topic)
    topic = np.repeat([0, 1], per_topic)
    single, whole = (
        np.where(topic == 0, rng.binomial(2, p, (len(table), 2, 2 * per_topic)) / 2, np.nan)
        for p in (0.5, 0.1)
    )
    return Families(
        models=table.rename_axis("model").reset_index()[["model", *names[:3]]],
        topics=("t", "s"),
        topic=topic,
        right=rng.binomial(64, np.broadcast_to(chance, shape)) / 64,
        n=np.full(shape, 64.0),
        single=single,
        whole=whole,
        focal=np.arange(2 * per_topic) % 3,
    )

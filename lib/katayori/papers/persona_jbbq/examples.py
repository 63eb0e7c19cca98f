"""Small inputs for the examples of the docstrings of this room.

Items are those of the study. Answers are of simulated respondents (`simulated`), whose draws are
fixed by item and prompt; likelihoods are drawn with a fixed seed. No model answered.
"""

from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd

from katayori import profiles
from katayori.data import bbq, published
from katayori.metrics import examples as of_metrics, qa_bias
from katayori.papers import answers
from katayori.papers.persona_jbbq import claims, items, sums
from katayori.papers.persona_jbbq.analysis.asked import Asked, ask
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request

PAPER = "persona_jbbq"
#: The paper's name of a prompt -> the prompt that asks our items.
PROMPTS = MappingProxyType({"basicP": "pj_basic_ja", "biased": "pj_biased_ja"})
#: Made-up groups and sizes (billions of parameters), so that every claim has what it compares.
GROUPS = MappingProxyType(
    {"sim-bbq-fair": "global", "sim-bbq-stereotyped": "japanese", "sim-bbq-first": "japanese"}
)
SIZES = MappingProxyType({"sim-bbq-stereotyped": 3.6, "sim-bbq-first": 70.0})


def first_item() -> pd.Series:
    """The first item of the study: an ambiguous passage with a negative question.

    Example:
        >>> first_item()[["option_0", "role_0", "role_1", "role_2"]].tolist()
        ['高齢の男性', 'biased', 'counter_biased', 'unknown']
    """
    return items.load_study_bbq().iloc[0]


def request(model: str) -> Request:
    """What a simulated respondent is asked about the first item of the study.

    Example:
        >>> request("sim-bbq-fair").item_id
        'age01-1-ambiguous-negative-tnu-tn'
    """
    item = {str(name): value for name, value in first_item().items()}
    return Request(
        paper=PAPER,
        dataset="study",
        item_id=item["item_id"],
        prompt_id=PROMPTS["basicP"],
        prompt_hash="",
        variant="",
        model=model,
        endpoint="simulated",
        identity=model,
        body={},
        fields=item,
    )


def answers_with_roles(*models: str, size: int = 300) -> pd.DataFrame:
    """Answers of simulated respondents, as of `qa_bias.with_role`, with prompt.

    Args:
        models: names of respondents (`simulated.BBQ`).
        size: how many items of the study each is asked under basicP and under the biased persona;
            300 are one of each template, context and question.

    Example:
        >>> answered = answers_with_roles("sim-bbq-fair")
        >>> answered.groupby("prompt")["correct"].mean().round(2).to_dict()
        {'basicP': 0.93, 'biased': 0.93}
    """
    study = bbq.balanced(items.load_study_bbq(), size)
    prompts = load_prompts(PAPER)
    parts = []
    for name, prompt_id in PROMPTS.items():
        asked = answers.get(study, prompts[prompt_id], models)
        parts.append(qa_bias.with_role(asked).assign(prompt=name))
    return pd.concat(parts, ignore_index=True)


@cache
def evidence() -> sums.TemplateSums:
    """The answers of three simulated respondents to 900 items as evidence for the claims.

    Groups and sizes are made up. One respondent leans to the stereotype, more so under the biased
    persona (`simulated.BBQ`).

    Example:
        >>> evidence().groups, evidence().prompts
        (('global', 'japanese', 'japanese'), ('basicP', 'biased'))
    """
    return sums.from_answers(answers_with_roles(*GROUPS, size=900), GROUPS, SIZES)


def printed() -> pd.DataFrame:
    """The paper's own figures as evidence for the claims, from data/published.

    Example:
        >>> len(printed()), sorted(printed()["group"].unique())
        (40, ['global', 'japanese'])
    """
    tables = {name: published.load(PAPER, name) for name in published.names(PAPER)}
    return claims.from_published(tables)


def reasons(bare: int) -> claims.Reasons:
    """Evidence for a claim about reasons (PJ-9), in which the second turn changes the answers.

    The biased persona stands for the second turn, as simulated respondents write no reasons.

    Args:
        bare: how many of the 900 first turns are to hold no reasons.

    Example:
        >>> reasons(bare=12).turns, reasons(bare=12).bare
        ({'sim-bbq-stereotyped': 900}, {'sim-bbq-stereotyped': 12})
    """
    model = "sim-bbq-stereotyped"
    turns = pd.DataFrame({"model": [model], "n": [900], "without_reasons": [bare]})
    answered = answers_with_roles(model, size=900)
    return claims.reasons_of(answered, turns, PROMPTS["basicP"], PROMPTS["biased"])


def leans(age: float, gender: float, *, prompt_id: str = "basic", seed: int = 0) -> pd.DataFrame:
    """Leans of likelihoods in nats, as of `words.recorded_leans`: ten templates of two categories.

    The added sentence is read (1 nat).

    Args:
        age, gender: how much the target is favoured in each category, in nats.
        prompt_id: of the prompt.
        seed: of the noise; frames that are compared need different ones.

    Example:
        >>> leans(age=0.4, gender=0.0).groupby("category")["template_id"].nunique().to_dict()
        {'age': 10, 'gender': 10}
    """
    rng = np.random.default_rng(seed)
    parts = []
    for category, bias in (("age", age), ("gender", gender)):
        part = of_metrics.leans(bias).assign(category=category, prompt_id=prompt_id)
        part["lean"] += rng.normal(0, 0.2, len(part))
        for column in ("template_id", "pair_id"):
            part[column] = f"{category}-" + part[column]
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


@cache
def asked_leaning() -> Asked:
    """The leaning respondent's answers to the study under basicP and the biased persona.

    300 items, one of each template, context and question, in all six orders of their options.

    Example:
        >>> asked_leaning().names
        {'pj_basic_ja': 'basicP', 'pj_biased_ja': 'biased'}
    """
    wording = load_prompts(PAPER)
    asked_with = {name: wording[prompt_id] for name, prompt_id in PROMPTS.items()}
    wanted = Wanted(models=["sim-bbq-stereotyped"], recorded=False)
    study = open_study(PAPER, profiles.load("recorded"), list(asked_with.values()), wanted)
    return ask(study, wording, asked_with)


def texts(*written: str) -> pd.DataFrame:
    """Replies of one model, as of `answers.get`, to clear items whose right answer is 0.

    Args:
        written: the texts, one an item.

    Example:
        >>> texts("0", "0です")[["text", "outcome"]].to_numpy().tolist()
        [['0', 'ok'], ['0です', 'out_of_choice']]
    """
    rows = []
    for number, text in enumerate(written):
        valid = text in ("0", "1", "2")
        row: dict[str, str | None] = {"item_id": f"i{number}", "template_id": f"t{number}"}
        row |= {"text": text, "outcome": "ok" if valid else "out_of_choice"}
        rows.append(row | {"answer": text if valid else None})
    frame = pd.DataFrame(rows).assign(model="m", source="simulated", prompt_id="p", label=0)
    frame = frame.assign(category="age", context_condition="biased", polarity="negative")
    frame[["role_0", "role_1", "role_2"]] = ["biased", "counter_biased", "unknown"]
    return frame

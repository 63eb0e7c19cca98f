"""Bias by the likelihood of the persons' own words: no letters, no list, no place to prefer.

Items and blank are those of the second edition. A pair is a pair of profiles; its target is the
person of the stereotyped group or, where no direction is set, Aさん: such a pair tells whether the
sentence is read and nothing about bias. Intervals are over passages, which the families share and
which a blank has as well (`papers.person_words` has tables and sentences).
"""

import numpy as np
import pandas as pd

from katayori.metrics import paired_contrasts as contrasts
from katayori.metrics.blank import beside_blank
from katayori.metrics.uncertainty import cells
from katayori.papers import person_words

PAPER = "inter_jbbq"
PROMPT = "ij_lik_basic_ja"
ITEMS, BLANK = "balanced_quarter", "balanced_blank"
TOPICS = person_words.Spoken("all topics", "topic", "passages")
NUMBERS = person_words.Spoken("all numbers of attributes", "number of attributes", "passages")
#: The person whose answer a likelihood is -> the continuation that is scored.
_WORDS = {"a": "answer_a", "b": "answer_b"}
_MENTIONS = {True: "target_first", False: "other_first"}


def leans(scores: pd.DataFrame) -> pd.DataFrame:
    """The lean of every item to the target's words, as `paired_contrasts` takes it.

    Args:
        scores: of `person_words.recorded_scores`: with item, topic, template_id, stereotyped,
            mention, bad, context_condition, polarity, n_attributes.

    Returns:
        one row an item, model and prompt: those columns with pair_id (the pair of profiles),
        category (the topic), mention (`target_first`, `other_first`), context_condition
        (`ambiguous`; `biased`: the target did the bad act; `counter_biased`: the other), directed
        (whether a stereotype has a direction here), lean (nats). Without rows where there are none.

    Example:
        >>> row = {"item_id": "i", "item": "i", "topic": "t", "template_id": "t-1", "bad": "a"}
        >>> row |= {"stereotyped": "b", "mention": "b", "context_condition": "biased"}
        >>> row |= {"polarity": "negative", "n_attributes": 2, "model": "m", "prompt_id": "p"}
        >>> scores = pd.DataFrame([row | {"continuation": name} for name in _WORDS.values()])
        >>> found = leans(scores.assign(sum_logp=[-5.0, -3.0]))
        >>> found[["mention", "context_condition", "lean"]].to_numpy().tolist()
        [['target_first', 'counter_biased', 2.0]]
    """
    if scores.empty:
        return scores.assign(lean=pd.Series(dtype=float))
    found = contrasts.lean_of_words(scores, target=_WORDS["a"], other=_WORDS["b"])
    directed = found["stereotyped"] != ""
    target = found["stereotyped"].where(directed, "a")
    ambiguous = found["context_condition"] == "ambiguous"
    told = (found["bad"] == target).map({True: "biased", False: "counter_biased"})
    return found.assign(
        pair_id=found["item"],
        category=found["topic"],
        mention=(found["mention"] == target).map(_MENTIONS),
        context_condition=told.mask(ambiguous, "ambiguous"),
        directed=directed,
        lean=found["lean"].where(target == "a", -found["lean"]),
    )


def leans_of_blank(scores: pd.DataFrame) -> pd.DataFrame:
    """The lean of every item of the blank to the person of the trait's first group.

    Args:
        scores: of `person_words.recorded_scores`, of the blank.

    Returns:
        as `leans`; a pair is a passage with one side of the trait, in both orders of mention.

    Example:
        >>> leans_of_blank(pd.DataFrame(columns=["item", "mention"])).empty
        True
    """
    found = leans(scores)
    if found.empty:
        return found
    # The last letter of an item is its order of mention.
    return found.assign(pair_id=found["item"].str[:-1])


def bias_by_topic(leans: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """The bias of every model over all topics and in each, beside mere words.

    Args:
        leans: of `leans`. blank: of `leans_of_blank`; may be without rows.

    Returns:
        as `person_words.bias_of_groups`. The bias beyond the control is that of a pair less the
        mean of the blank in its passage. Without rows where no pair has a direction.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> table = bias_by_topic(examples.leans(0.6), examples.leans_of_blank())
        >>> table[["category", "reading"]].head(1).to_numpy().tolist()
        [['all topics', 'bias']]
    """
    return _bias(leans, leans, blank, TOPICS.whole)


def bias_by_number(leans: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """The bias of every model by the number of attributes that the profiles tell.

    Args:
        leans: of `leans`. blank: of `leans_of_blank`; may be without rows.

    Returns:
        as `bias_by_topic`, category `1 attribute`, `2 attributes`, ...

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> table = bias_by_number(examples.leans(0.6), examples.leans_of_blank())
        >>> table["category"].tolist()[:3]
        ['all numbers of attributes', '1 attribute', '2 attributes']
    """
    if leans.empty:
        return _bias(leans, leans, blank, NUMBERS.whole)
    number = leans["n_attributes"].astype(int)
    named = number.astype(str) + number.map(lambda n: " attribute" if n == 1 else " attributes")
    ordered = leans.assign(category=named).sort_values("n_attributes", kind="stable")
    return _bias(leans, ordered, blank, NUMBERS.whole)


def with_blank(table: pd.DataFrame, leans: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """The bias of every model with the size of mere words beside the row of all topics.

    Args:
        table: of `bias_by_topic`. leans: of `leans`. blank: of `leans_of_blank`.

    Returns:
        table with blank (nats: the absolute bias of mere words, mean over the passages that have a
        direction in the study and were asked in the blank; NaN where there is none) and
        blank_status (`ok`, or empty); as it is where no blank is recorded.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> told, mere = examples.leans(0.6), examples.leans_of_blank(0.2)
        >>> table = with_blank(bias_by_topic(told, mere), told, mere)
        >>> round(float(table["blank"].iloc[0]), 1), table["blank"].isna().iloc[1:].all()
        (0.2, np.True_)
    """
    if table.empty or blank.empty:
        return table
    pairs = contrasts.bias_by_pair(leans[leans["directed"]])
    sizes = {
        tuple(key.values()): _size(pairs, rows)
        for key, rows in cells(contrasts.bias_by_pair(blank), contrasts.MODEL)
    }
    keys = zip(*(table[name] for name in contrasts.MODEL), strict=True)
    size = pd.Series([sizes.get(key, np.nan) for key in keys], table.index)
    found = table.assign(blank=size.where(table["category"] == TOPICS.whole))
    return found.assign(blank_status=np.where(found["blank"].notna(), "ok", ""))


def _size(pairs: pd.DataFrame, blank: pd.DataFrame) -> float:
    """The absolute bias of one model's blank on the passages of its own pairs."""
    key = blank.iloc[0]
    own = np.logical_and.reduce([pairs[name] == key[name] for name in contrasts.MODEL])
    both = beside_blank(pairs[own], blank, cluster="template_id", value="bias")
    sizes = both.loc[both["what"] == "blank", "value"].astype(float)
    return abs(float(sizes.iloc[0]))


def _bias(
    every: pd.DataFrame, grouped: pd.DataFrame, blank: pd.DataFrame, whole: str
) -> pd.DataFrame:
    if every.empty or not every["directed"].any():
        return pd.DataFrame(columns=["model", "prompt_id", "category"])
    reads = contrasts.reads_the_sentence(every)
    pairs = contrasts.bias_by_pair(grouped[grouped["directed"]])
    order = {name: place for place, name in enumerate(grouped["category"].unique())}
    pairs = pairs.sort_values("category", key=lambda names: names.map(order), kind="stable")
    return person_words.bias_of_groups(reads, pairs, _beyond(pairs, blank), whole)


def _beyond(pairs: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """The bias of each pair less the mean bias of the blank in its passage."""
    if blank.empty:
        return pairs.head(0)
    place = [*contrasts.MODEL, "template_id"]
    means = contrasts.bias_by_pair(blank).groupby(place)["bias"].mean().reset_index()
    less = pairs[[*place, "pair_id"]].merge(means, on=place)
    return contrasts.difference_of_bias(pairs, less, on=contrasts.MODEL)

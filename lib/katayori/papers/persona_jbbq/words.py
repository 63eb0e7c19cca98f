"""Bias read from the likelihood of the persons' own words: no letters, no list, no place to prefer.

The contrasts are those of `metrics.paired_contrasts`, tables and sentences those of
`papers.person_words`. Here they get what this paper's study has: the second edition's items in both
orders of mention, categories, controls, and several prompts.
"""

from collections.abc import Sequence

import pandas as pd

from katayori.metrics import paired_contrasts as contrasts
from katayori.metrics.uncertainty import cells
from katayori.papers import blank_bias, person_words
from katayori.papers.persona_jbbq import mere_words
from katayori.prompting.prompts import Prompt

PAPER = "persona_jbbq"
ITEMS = "study2"
CONTROLS = "study2_controls"
#: The control whose bias is mere words: the same questions about persons of a meaningless trait.
MEANINGLESS = "meaningless"
#: The data set with such persons, which is a second control of that kind.
BLANK = mere_words.VARIANT
MERE_WORDS = (MEANINGLESS, BLANK)
ALL = person_words.CATEGORIES.whole
LEVEL = person_words.LEVEL
#: The columns of `bias_by_category` that a reader needs.
BRIEF = [
    *("model", "prompt_id", "category", "value", "ci_low", "ci_high", "p_holm"),
    *("beyond", "beyond_low", "beyond_high", "clusters", "n_controls", "reading"),
]


def all_leans(dataset: str, prompts: Sequence[Prompt], models: Sequence[str]) -> pd.DataFrame:
    """`recorded_leans` of all prompts in one frame; without columns where no prompt is given.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> known = load_prompts(PAPER)
        >>> prompts = [known["pj_lik_basic_ja"], known["pj_lik_biased_ja"]]
        >>> leans = all_leans("study2", prompts, ["qwen2.5-coder-0.5b"])
        >>> leans.groupby("prompt_id").size().to_dict()
        {'pj_lik_basic_ja': 1200, 'pj_lik_biased_ja': 1200}
    """
    frames = [recorded_leans(dataset, prompt, models) for prompt in prompts]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def recorded_leans(dataset: str, prompt: Prompt, models: Sequence[str]) -> pd.DataFrame:
    """The lean of every recorded item of a data set of the second edition, in nats.

    Args:
        dataset: `study2` or `study2_controls`.
        prompt: one that asks for likelihoods.
        models: their ids; those without a whole recording are left out.

    Returns:
        as `paired_contrasts.lean_of_words`; without rows where nothing is recorded.

    Raises:
        KatayoriError: an unknown data set.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> basic = load_prompts(PAPER)["pj_lik_basic_ja"]
        >>> leans = recorded_leans("study2", basic, ["qwen2.5-coder-0.5b", "gpt-4o"])
        >>> len(leans), leans["model"].unique().tolist()  # gpt-4o has no recording
        (1200, ['qwen2.5-coder-0.5b'])
    """
    scores = person_words.recorded_scores(PAPER, dataset, prompt, models)
    if scores.empty:
        return scores.assign(lean=pd.Series(dtype=float))
    return contrasts.lean_of_words(scores)


def all_controls(prompts: Sequence[Prompt], models: Sequence[str]) -> pd.DataFrame:
    """The leans of all controls, as of `all_leans`, with the column control.

    Example:
        >>> from katayori.prompting.prompts import load_prompts
        >>> basic = load_prompts(PAPER)["pj_lik_basic_ja"]
        >>> leans = all_controls([basic], ["qwen2.5-coder-0.5b"])
        >>> sorted(set(leans["control"]) - {BLANK})
        ['meaningless', 'no_passage', 'unrelated']
    """
    controls = all_leans(CONTROLS, prompts, models)
    blank = all_leans(BLANK, prompts, models)
    kept = [frame for frame in (controls, blank.assign(control=BLANK)) if len(frame)]
    return pd.concat(kept, ignore_index=True) if kept else controls


def bias_of_mere_words(controls: pd.DataFrame) -> pd.DataFrame:
    """The bias of every pair whose persons are told apart by a meaningless trait.

    A pair that was asked with several such traits has their mean.

    Args:
        controls: of `all_controls`.

    Returns:
        as `paired_contrasts.bias_by_pair`.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> leans = examples.leans(age=0.2, gender=0.0)
        >>> twice = [leans.assign(control=name) for name in MERE_WORDS]
        >>> len(bias_of_mere_words(pd.concat(twice))), leans["pair_id"].nunique()
        (20, 20)
    """
    meant = controls[controls["control"].isin(MERE_WORDS)]
    by_control = contrasts.bias_by_pair(meant, [*contrasts.MODEL, "control"])
    keys = [*contrasts.MODEL, "template_id", "pair_id", "category"]
    return by_control.groupby(keys, sort=False)["bias"].mean().reset_index()


def with_blank(bias: pd.DataFrame, controls: pd.DataFrame) -> pd.DataFrame:
    """The bias of categories; that over all of them with the size of mere words beside it.

    Args:
        bias: of `bias_by_category`. controls: of `all_controls`.

    Returns:
        as `blank_bias.with_blank`, nats; NaN in single categories.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> leans = examples.leans(age=0.6, gender=0.0)
        >>> controls = examples.leans(age=-0.2, gender=0.0, seed=1).assign(control="meaningless")
        >>> table = with_blank(bias_by_category(leans, controls), controls)
        >>> table.set_index("category")["blank"].round(1).to_dict()
        {'all categories': 0.1, 'age': nan, 'gender': nan}
    """
    pairs = bias_of_mere_words(controls).assign(category=ALL)
    keys = [*contrasts.MODEL, "category"]
    sizes = contrasts.bias_in_nats(pairs, keys).assign(what="blank")
    return blank_bias.with_blank(bias, sizes, keys)


def bias_by_category(leans: pd.DataFrame, controls: pd.DataFrame) -> pd.DataFrame:
    """The bias of every model and prompt, over all categories and in each, and what may be said.

    The bias beyond the control is that of each pair less that of the same pair with persons of a
    meaningless trait (`bias_of_mere_words`). Where only some pairs have a control, its interval is
    wider.

    Args:
        leans: of the study, see `recorded_leans`.
        controls: of `all_controls`.

    Returns:
        as `person_words.bias_of_groups`, category `ALL` first.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> leans = examples.leans(age=0.6, gender=0.0)
        >>> controls = examples.leans(age=0.0, gender=0.0, seed=1).assign(control="meaningless")
        >>> table = bias_by_category(leans, controls)
        >>> table[["category", "value", "reading"]].round(1).to_numpy().tolist()
        [['all categories', 0.3, 'bias'], ['age', 0.6, 'bias'], ['gender', 0.0, 'nothing_found']]
    """
    reads = contrasts.reads_the_sentence(leans)
    pairs = contrasts.bias_by_pair(leans)
    beyond = contrasts.difference_of_bias(pairs, bias_of_mere_words(controls), on=contrasts.MODEL)
    return person_words.bias_of_groups(reads, pairs, beyond, ALL)


def surfacing(leans: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """The bias under every other prompt less that under the baseline, same pairs.

    Args:
        leans: of the study under several prompts.
        baseline: the id of the prompt that is subtracted.

    Returns:
        model, prompt_id, category, and the columns of `paired_contrasts.bias_in_nats` with p and
        p_holm as in `bias_by_category`. Prompts that were asked in one order of mention only have
        no row, since a pair counts by both orders.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> basic = examples.leans(age=0.6, gender=0.0)
        >>> persona = examples.leans(age=1.0, gender=0.0, prompt_id="biased", seed=2)
        >>> moved = surfacing(pd.concat([basic, persona]), "basic").set_index("category")
        >>> moved.loc["age", ["value", "ci_low", "ci_high"]].astype(float).round(2).tolist()
        [0.44, 0.32, 0.55]
        >>> (moved["p_holm"] < LEVEL).to_dict()
        {'all categories': True, 'age': True, 'gender': False}
    """
    pairs = person_words.with_all(contrasts.bias_by_pair(leans), ALL)
    of_baseline = pairs["prompt_id"] == baseline
    moved = contrasts.difference_of_bias(
        pairs[~of_baseline], pairs[of_baseline], on=("model", "category")
    )
    table = contrasts.bias_in_nats(moved, [*contrasts.MODEL, "category"])
    asked = table.groupby(list(contrasts.MODEL))["n"].transform("max") > 0
    table = table[asked].reset_index(drop=True)
    table["p"] = [person_words.two_sided(row) for row in table.to_dict("records")]
    return person_words.with_holm(table.assign(reading=""), ALL)


def surfaced(table: pd.DataFrame) -> list[str]:
    """What changes under the other prompts, a sentence a model and prompt, every number computed.

    Args:
        table: of `surfacing`.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> basic = examples.leans(age=0.6, gender=0.0)
        >>> persona = examples.leans(age=1.0, gender=0.0, prompt_id="biased", seed=2)
        >>> print(surfaced(surfacing(pd.concat([basic, persona]), "basic"))[0])
        m, biased: the bias over all categories moves (+0.198 nats [+0.063, +0.333], 20 pairs,
        20 templates); categories that move after Holm's correction: age.
    """
    lines = []
    for key, rows in cells(table, contrasts.MODEL):
        whole = rows[rows["category"] == ALL].iloc[0].to_dict()
        found = rows[(rows["category"] != ALL) & (rows["p_holm"] < LEVEL)]["category"]
        moved = "moves" if whole["p_holm"] < LEVEL else "does not move beyond noise"
        moved = "cannot be compared" if pd.isna(whole["p_holm"]) else moved
        interval = person_words.ends(whole["ci_low"], whole["ci_high"], "+.3f")
        named = ", ".join(found.str.replace("_", " ")) or "none"
        lines.append(
            f"{key['model']}, {key['prompt_id']}: the bias over all categories {moved}"
            f" ({whole['value']:+.3f} nats {interval},"
            f" {whole['n']} pairs, {whole['clusters']} templates);"
            f" categories that move after Holm's correction: {named}."
        )
    return lines

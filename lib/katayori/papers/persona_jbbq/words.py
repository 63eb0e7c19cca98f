"""Bias read from the likelihood of the persons' own words: no letters, no list, no place to prefer.

The contrasts are those of `metrics.paired_contrasts`. Here they get what this paper's study has:
the second edition's items in both orders of mention, categories, and controls with the same
questions about persons who are told apart by a meaningless trait.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from scipy import stats

from katayori.metrics import paired_contrasts as contrasts
from katayori.metrics.rank_tests import holm
from katayori.metrics.uncertainty import cells
from katayori.papers import answers, get_paper
from katayori.prompting import recordings
from katayori.prompting.likelihood import likelihood_frame
from katayori.prompting.prompts import Prompt

PAPER = "persona_jbbq"
ITEMS = "study2"
CONTROLS = "study2_controls"
#: The control whose bias is mere words: the same questions about persons of a meaningless trait.
MEANINGLESS = "meaningless"
ALL = "all categories"
#: Two-sided, after Holm over the categories of a model and prompt.
LEVEL = 0.05
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
    room = get_paper(PAPER)
    room.check_dataset(dataset)
    entries = recordings.shards(PAPER, prompt.id, dataset)
    whole = {entry["model"] for entry in entries if recordings.complete(entry)}
    items = room.second_edition()[dataset]()
    asked = [name for name in models if name in whole]
    if not asked:
        return pd.DataFrame(columns=[*items.columns, "model", "prompt_id", "lean"])
    scores = answers.get(
        items, prompt, asked, variant=dataset, dataset=dataset, frame=likelihood_frame
    )
    return contrasts.lean_of_words(scores)


def bias_by_category(leans: pd.DataFrame, controls: pd.DataFrame) -> pd.DataFrame:
    """The bias of every model and prompt, over all categories and in each, and what may be said.

    The bias beyond the control is that of each pair less that of the same pair with persons of a
    meaningless trait. Only some pairs have a control, so its interval is wider.

    Args:
        leans: of the study, see `recorded_leans`.
        controls: of the controls, with the column control.

    Returns:
        model, prompt_id, category (`ALL` first), value, ci_low, ci_high (nats), n (pairs),
        n_incomplete, clusters (templates), status, p, p_holm (t over templates; after Holm over
        the categories of a model and prompt, for `ALL` over the prompts of a model),
        beyond, beyond_low, beyond_high (less the control), n_controls (pairs), reading (see
        `paired_contrasts.reading_of_bias`, and `nothing_found` where p_holm is not below .05).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> leans = examples.leans(age=0.6, gender=0.0)
        >>> controls = examples.leans(age=0.0, gender=0.0, seed=1).assign(control="meaningless")
        >>> table = bias_by_category(leans, controls)
        >>> table[["category", "value", "reading"]].round(1).to_numpy().tolist()
        [['all categories', 0.3, 'bias'], ['age', 0.6, 'bias'], ['gender', 0.0, 'nothing_found']]
    """
    reads = contrasts.reads_the_sentence(leans)
    pairs = _with_all(contrasts.bias_by_pair(leans))
    meaningless = controls[controls["control"] == MEANINGLESS]
    beyond = contrasts.difference_of_bias(
        pairs, contrasts.bias_by_pair(meaningless), on=contrasts.MODEL
    )
    by = [*contrasts.MODEL, "category"]
    table = contrasts.bias_in_nats(pairs, by)
    less = contrasts.bias_in_nats(beyond, by).set_index(by) if len(beyond) else None
    rows = []
    for values in table.to_dict("records"):
        row: dict[str, Any] = {str(name): value for name, value in values.items()}
        key = tuple(row[name] for name in by)
        control = less.loc[key].to_dict() if less is not None and key in less.index else {}
        of_model = (reads["model"] == row["model"]) & (reads["prompt_id"] == row["prompt_id"])
        row["p"] = _two_sided(row)
        row["beyond"] = control.get("value", float("nan"))
        row["beyond_low"] = control.get("ci_low", float("nan"))
        row["beyond_high"] = control.get("ci_high", float("nan"))
        row["n_controls"] = int(control.get("n", 0))
        beside = {"ci_low": row["beyond_low"], "ci_high": row["beyond_high"]}
        row["reading"] = contrasts.reading_of_bias(reads[of_model], row, beside)
        rows.append(row)
    return _with_holm(pd.DataFrame(rows))


def _with_all(pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs twice: under `ALL`, and under their category."""
    return pd.concat([pairs.assign(category=ALL), pairs], ignore_index=True)


def _two_sided(row: dict) -> float:
    """p of the mean over templates against 0, t with clusters - 1 degrees of freedom."""
    if not row["se"] > 0 or row["clusters"] < 2:
        return float("nan")
    return float(2 * stats.t.sf(abs(row["value"] / row["se"]), row["clusters"] - 1))


def _with_holm(table: pd.DataFrame) -> pd.DataFrame:
    """p after Holm: over the categories of a model and prompt, for `ALL` over a model's prompts."""
    whole = table["category"] == ALL
    families = [*cells(table[whole], ["model"]), *cells(table[~whole], contrasts.MODEL)]
    for _, family in families:
        table.loc[family.index, "p_holm"] = holm(family["p"].to_numpy(float))
    weak = table["reading"].isin(["bias", "not_beyond_control"]) & ~(table["p_holm"] < LEVEL)
    table.loc[weak, "reading"] = "nothing_found"
    return table


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
    pairs = _with_all(contrasts.bias_by_pair(leans))
    of_baseline = pairs["prompt_id"] == baseline
    moved = contrasts.difference_of_bias(
        pairs[~of_baseline], pairs[of_baseline], on=("model", "category")
    )
    table = contrasts.bias_in_nats(moved, [*contrasts.MODEL, "category"])
    asked = table.groupby(list(contrasts.MODEL))["n"].transform("max") > 0
    table = table[asked].reset_index(drop=True)
    table["p"] = [_two_sided(row) for row in table.to_dict("records")]
    return _with_holm(table.assign(reading=""))


def bias_beside_mere_words(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `bias_by_category` twice, for a figure: the bias, and it less mere words.

    Returns:
        the table with difference, ci_low, ci_high (nats) and metric.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> leans = examples.leans(age=0.6, gender=0.0)
        >>> controls = examples.leans(age=0.0, gender=0.0, seed=1).assign(control="meaningless")
        >>> table = bias_by_category(leans, controls)
        >>> of_age = bias_beside_mere_words(table).query("category == 'age'")
        >>> of_age.set_index("metric")["difference"].round(2).to_dict()
        {'bias': 0.59, 'bias less mere words': 0.57}
    """
    bias = table.rename(columns={"value": "difference"}).assign(metric="bias")
    beyond = table.assign(
        metric="bias less mere words",
        difference=table["beyond"],
        ci_low=table["beyond_low"],
        ci_high=table["beyond_high"],
    )
    return pd.concat([bias, beyond], ignore_index=True)


def findings(reads: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """What the likelihoods show, a sentence a model and prompt, every number computed.

    Args:
        reads: of `paired_contrasts.reads_the_sentence`.
        table: of `bias_by_category`.

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> leans = examples.leans(age=0.6, gender=0.0)
        >>> controls = examples.leans(age=0.0, gender=0.0, seed=1).assign(control="meaningless")
        >>> table = bias_by_category(leans, controls)
        >>> [line] = findings(contrasts.reads_the_sentence(leans), table)
        >>> print(line)
        m (basic) reads the sentence in 100.0 % ... In age: +0.59 nats [+0.49, +0.70], less mere
        words +0.57 [+0.44, +0.70], 10 templates: a bias also beyond mere words, to the stereotype.
    """
    lines = []
    for key, rows in cells(table, contrasts.MODEL):
        who = f"{key['model']} ({key['prompt_id']})"
        own = reads[(reads["model"] == key["model"]) & (reads["prompt_id"] == key["prompt_id"])]
        shares = " and ".join(map(_share, own.to_dict("records")))
        if own["ci_low"].isna().any():
            lines.append(f"{who}: too few templates tell whether it reads the sentence ({shares}).")
            continue
        if not own["passes"].all():
            lines.append(f"{who} does not read the sentence in both polarities ({shares}).")
            continue
        whole = rows[rows["category"] == ALL].iloc[0].to_dict()
        told = f"{who} reads the sentence in {shares}. Over all categories: {_nats(whole)}."
        held = rows[
            (rows["category"] != ALL) & rows["reading"].isin(["bias", "not_beyond_control"])
        ]
        for row in held.to_dict("records"):
            told += f" In {row['category'].replace('_', ' ')}: {_nats(row)}."
        if held.empty:
            told += " In no single category does an effect stay after Holm's correction."
        lines.append(told)
    return lines


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
        named = ", ".join(found.str.replace("_", " ")) or "none"
        lines.append(
            f"{key['model']}, {key['prompt_id']}: the bias over all categories {moved}"
            f" ({whole['value']:+.3f} nats {_ends(whole['ci_low'], whole['ci_high'], '+.3f')},"
            f" {whole['n']} pairs, {whole['clusters']} templates);"
            f" categories that move after Holm's correction: {named}."
        )
    return lines


_SAID = {
    "bias": "a bias also beyond mere words",
    "not_beyond_control": "an effect, but not one that is clear of mere words",
    "nothing_found": "nothing found",
    "undefined": "no interval",
}


def _ends(low: float, high: float, form: str) -> str:
    """An interval in brackets; in words where too few templates give none."""
    return "(no interval)" if pd.isna(low) else f"[{low:{form}}, {high:{form}}]"


def _share(row: dict) -> str:
    ends = _ends(100 * row["ci_low"], 100 * row["ci_high"], ".1f")
    polarity = row["polarity"].replace("_", "-")
    return f"{100 * row['value']:.1f} % {ends} of {row['n']:,} {polarity} contrasts"


def _nats(row: dict) -> str:
    interval = f"{row['value']:+.2f} nats {_ends(row['ci_low'], row['ci_high'], '+.2f')}"
    control = _ends(row["beyond_low"], row["beyond_high"], "+.2f")
    beyond = f"less mere words {row['beyond']:+.2f} {control}"
    if not row["n_controls"]:
        beyond = "mere words not asked under this prompt"
    side = "to the stereotype" if row["value"] > 0 else "against the stereotype"
    kind = _SAID[row["reading"]]
    kind = f"{kind}, {side}" if row["reading"] in ("bias", "not_beyond_control") else kind
    return f"{interval}, {beyond}, {row['clusters']} templates: {kind}"

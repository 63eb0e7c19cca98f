"""Bias by the likelihood of persons' own words, group by group, for every paper that asks for it.

The contrasts are those of `metrics.paired_contrasts`. Here they get what a study adds: recorded
answers, groups of items (categories, topics, numbers of attributes), and controls with the same
questions about persons who are told apart by a meaningless trait.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import stats

from katayori.metrics import paired_contrasts as contrasts
from katayori.metrics.ranks import holm
from katayori.metrics.uncertainty import cells
from katayori.papers import answers, get_paper
from katayori.prompting import recordings
from katayori.prompting.likelihood import likelihood_frame
from katayori.prompting.prompts import Prompt

#: Two-sided, after Holm over the groups of a model and prompt.
LEVEL = 0.05
#: Readings in which the bias itself is told from 0.
FOUND = ("bias", "not_beyond_control")


@dataclass(frozen=True)
class Spoken:
    """How sentences name what a table holds.

    Attributes:
        whole: all groups together, which is a row of the table. group: one of them. clusters: what
            intervals draw as a whole, in the plural.
    """

    whole: str
    group: str
    clusters: str


def recorded_scores(
    paper: str, dataset: str, prompt: Prompt, models: Sequence[str]
) -> pd.DataFrame:
    """The recorded likelihoods of a data set of the second or third edition.

    Args:
        paper: its id. dataset: of one of these editions. prompt: one that asks for likelihoods.
        models: their ids; those without a whole recording are left out.

    Returns:
        as `likelihood.likelihood_frame`, with the columns of the items; without rows, but with the
        items' columns, model and prompt_id, where nothing is recorded.

    Raises:
        KatayoriError: an unknown data set.

    Example:
        >>> from katayori.papers import paper_ids
        >>> from katayori.prompting.prompts import load_prompts
        >>> paper = paper_ids()[1]
        >>> known = load_prompts(paper).values()
        >>> prompt = next(one for one in known if one.kind == "likelihood")
        >>> dataset = next(iter(get_paper(paper).second_edition()))
        >>> len(recorded_scores(paper, dataset, prompt, ["gpt-4o"]))  # none recorded
        0
    """
    room = get_paper(paper)
    room.check_dataset(dataset)
    whole = recordings.whole(paper, prompt.id, dataset)
    items = room.later_sets()[dataset]()
    asked = [name for name in models if name in whole]
    if not asked:
        return pd.DataFrame(columns=[*items.columns, "model", "prompt_id"])
    how: dict[str, Any] = {"variant": dataset, "dataset": dataset, "frame": likelihood_frame}
    return answers.get(items, prompt, asked, **how)


def bias_of_groups(
    reads: pd.DataFrame, pairs: pd.DataFrame, beyond: pd.DataFrame, whole: str
) -> pd.DataFrame:
    """The bias of every model and prompt, over all groups and in each, and what may be said.

    Args:
        reads: of `paired_contrasts.reads_the_sentence`.
        pairs: of `paired_contrasts.bias_by_pair`; its column category names the group.
        beyond: of `paired_contrasts.difference_of_bias`: those pairs that have a control, less it.
        whole: the name of all groups together.

    Returns:
        model, prompt_id, category (`whole` first), value, ci_low, ci_high (nats), n (pairs),
        n_incomplete, clusters (templates), status, p, p_holm (t over templates; after Holm over
        the groups of a model and prompt, for `whole` over the prompts of a model), beyond,
        beyond_low, beyond_high (less the control), n_controls (pairs), reading (see
        `paired_contrasts.reading_of_bias`, and `nothing_found` where p_holm is not below .05).

    Example:
        >>> from katayori.metrics import examples
        >>> leans = examples.leans(bias=0.4)
        >>> pairs = contrasts.bias_by_pair(leans)
        >>> none = contrasts.difference_of_bias(pairs, pairs[:0], on=contrasts.MODEL)
        >>> table = bias_of_groups(contrasts.reads_the_sentence(leans), pairs, none, "all")
        >>> table[["category", "reading"]].iloc[0].tolist()
        ['all', 'undefined']
    """
    by = [*contrasts.MODEL, "category"]
    table = contrasts.bias_in_nats(with_all(pairs, whole), by)
    less = (
        contrasts.bias_in_nats(with_all(beyond, whole), by).set_index(by) if len(beyond) else None
    )
    rows = []
    for values in table.to_dict("records"):
        row: dict[str, Any] = {str(name): value for name, value in values.items()}
        key = tuple(row[name] for name in by)
        control = less.loc[key].to_dict() if less is not None and key in less.index else {}
        of_model = (reads["model"] == row["model"]) & (reads["prompt_id"] == row["prompt_id"])
        row["p"] = two_sided(row)
        row["beyond"] = control.get("value", float("nan"))
        row["beyond_low"] = control.get("ci_low", float("nan"))
        row["beyond_high"] = control.get("ci_high", float("nan"))
        row["n_controls"] = int(control.get("n", 0))
        beside = {"ci_low": row["beyond_low"], "ci_high": row["beyond_high"]}
        row["reading"] = contrasts.reading_of_bias(reads[of_model], row, beside)
        rows.append(row)
    return with_holm(pd.DataFrame(rows), whole)


def with_all(pairs: pd.DataFrame, whole: str) -> pd.DataFrame:
    """The pairs twice: under the name of all groups, and under their own.

    Example:
        >>> with_all(pd.DataFrame({"category": ["age"]}), "all")["category"].tolist()
        ['all', 'age']
    """
    return pd.concat([pairs.assign(category=whole), pairs], ignore_index=True)


def two_sided(row: dict[Any, Any]) -> float:
    """p of the mean over templates against 0, t with clusters - 1 degrees of freedom.

    Example:
        >>> round(two_sided({"value": 0.2, "se": 0.1, "clusters": 11}), 3)
        0.073
    """
    if not row["se"] > 0 or row["clusters"] < 2:
        return float("nan")
    return float(2 * stats.t.sf(abs(row["value"] / row["se"]), row["clusters"] - 1))


def with_holm(table: pd.DataFrame, whole: str) -> pd.DataFrame:
    """p after Holm: over the groups of a model and prompt, for all of them over a model's prompts.

    Args:
        table: model, prompt_id, category, p, reading. whole: the category of all groups.

    Example:
        >>> table = pd.DataFrame({"category": ["all", "a", "b"], "p": [0.04, 0.04, 0.01]})
        >>> table = table.assign(model="m", prompt_id="p", reading="bias")
        >>> with_holm(table, "all")[["p_holm", "reading"]].to_numpy().tolist()
        [[0.04, 'bias'], [0.04, 'bias'], [0.02, 'bias']]
    """
    is_whole = table["category"] == whole
    families = [*cells(table[is_whole], ["model"]), *cells(table[~is_whole], contrasts.MODEL)]
    for _, family in families:
        table.loc[family.index, "p_holm"] = holm(family["p"].to_numpy(float))
    weak = table["reading"].isin(FOUND) & ~(table["p_holm"] < LEVEL)
    table.loc[weak, "reading"] = "nothing_found"
    return table


def bias_beside_mere_words(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `bias_of_groups` twice, for a figure: the bias, and it less mere words.

    Returns:
        the table with difference, ci_low, ci_high (nats) and metric.

    Example:
        >>> row = {"value": 0.6, "ci_low": 0.5, "ci_high": 0.7}
        >>> row |= {"beyond": 0.5, "beyond_low": 0.3, "beyond_high": 0.7}
        >>> twice = bias_beside_mere_words(pd.DataFrame([row]))
        >>> twice.set_index("metric")["difference"].to_dict()
        {'bias': 0.6, 'bias less mere words': 0.5}
    """
    bias = table.rename(columns={"value": "difference"}).assign(metric="bias")
    beyond = table.assign(
        metric="bias less mere words",
        difference=table["beyond"],
        ci_low=table["beyond_low"],
        ci_high=table["beyond_high"],
    )
    return pd.concat([bias, beyond], ignore_index=True)


def findings(reads: pd.DataFrame, table: pd.DataFrame, spoken: Spoken) -> list[str]:
    """What the likelihoods show, a sentence a model and prompt, every number computed.

    Args:
        reads: of `paired_contrasts.reads_the_sentence`.
        table: of `bias_of_groups`.
        spoken: how groups and clusters are named.

    Example:
        >>> from katayori.metrics import examples
        >>> leans = examples.leans(bias=0.4)
        >>> pairs = contrasts.bias_by_pair(leans).assign(category="age")
        >>> none = contrasts.difference_of_bias(pairs, pairs[:0], on=contrasts.MODEL)
        >>> reads = contrasts.reads_the_sentence(leans)
        >>> spoken = Spoken("all categories", "category", "templates")
        >>> table = bias_of_groups(reads, pairs, none, spoken.whole)
        >>> [line] = findings(reads, table, spoken)
        >>> line.endswith("In no single category does an effect stay after Holm's correction.")
        True
    """
    lines = []
    for key, rows in cells(table, contrasts.MODEL):
        who = f"{key['model']} ({key['prompt_id']})"
        own = reads[(reads["model"] == key["model"]) & (reads["prompt_id"] == key["prompt_id"])]
        shares = " and ".join(map(_share, own.to_dict("records")))
        if own["ci_low"].isna().any():
            few = f"too few {spoken.clusters} tell whether it reads the sentence"
            lines.append(f"{who}: {few} ({shares}).")
            continue
        if not own["passes"].all():
            lines.append(f"{who} does not read the sentence in both polarities ({shares}).")
            continue
        whole = rows[rows["category"] == spoken.whole].iloc[0].to_dict()
        told = f"{who} reads the sentence in {shares}. Over {spoken.whole}: {_nats(whole, spoken)}."
        held = rows[(rows["category"] != spoken.whole) & rows["reading"].isin(FOUND)]
        for row in held.to_dict("records"):
            told += f" In {row['category'].replace('_', ' ')}: {_nats(row, spoken)}."
        if held.empty:
            none = f"In no single {spoken.group} does an effect stay"
            told += f" {none} after Holm's correction."
        lines.append(told)
    return lines


_SAID = {
    "bias": "a bias also beyond mere words",
    "not_beyond_control": "an effect, but not one that is clear of mere words",
    "nothing_found": "nothing found",
    "undefined": "no interval",
}


def ends(low: float, high: float, form: str) -> str:
    """An interval in brackets; in words where too few templates give none.

    Example:
        >>> ends(0.1, 0.2, "+.2f"), ends(float("nan"), float("nan"), "+.2f")
        ('[+0.10, +0.20]', '(no interval)')
    """
    return "(no interval)" if pd.isna(low) else f"[{low:{form}}, {high:{form}}]"


def _share(row: dict[Any, Any]) -> str:
    interval = ends(100 * row["ci_low"], 100 * row["ci_high"], ".1f")
    polarity = row["polarity"].replace("_", "-")
    return f"{100 * row['value']:.1f} % {interval} of {row['n']:,} {polarity} contrasts"


def _nats(row: dict[Any, Any], spoken: Spoken) -> str:
    interval = f"{row['value']:+.2f} nats {ends(row['ci_low'], row['ci_high'], '+.2f')}"
    control = ends(row["beyond_low"], row["beyond_high"], "+.2f")
    beyond = f"less mere words {row['beyond']:+.2f} {control}"
    if not row["n_controls"]:
        beyond = "mere words not asked under this prompt"
    side = "to the stereotype" if row["value"] > 0 else "against the stereotype"
    kind = _SAID[row["reading"]]
    kind = f"{kind}, {side}" if row["reading"] in FOUND else kind
    return f"{interval}, {beyond}, {row['clusters']} {spoken.clusters}: {kind}"

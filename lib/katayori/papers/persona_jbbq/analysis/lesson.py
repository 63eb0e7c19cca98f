"""What notebook 02 tells in words and small tables, every number of it computed."""

from typing import Any

import pandas as pd

from katayori.metrics import interval_text, qa_intervals
from katayori.metrics.uncertainty import cells
from katayori.papers import person_words
from katayori.papers.persona_jbbq import findings, words
from katayori.papers.persona_jbbq.analysis.asked import BASELINE, PERSONA, Asked
from katayori.papers.persona_jbbq.analysis.content import Content
from katayori.papers.persona_jbbq.analysis.design import Design
from katayori.papers.persona_jbbq.analysis.likelihood import BASIC, Likelihood
from katayori.papers.persona_jbbq.analysis.planted import LEANING, Planted
from katayori.papers.persona_jbbq.analysis.prompts import Prompts
from katayori.papers.persona_jbbq.analysis.shown import points
from katayori.papers.persona_jbbq.analysis.verdicts import Verdicts
from katayori.papers.persona_jbbq.by_content import points as points_or_why, span

#: Role -> who that is, in words.
WHO = {"biased": "the person of the stereotype", "counter_biased": "the other person"}
WHO |= {"unknown": "unknown"}
#: The name of a condition in a sentence.
SPOKEN = {PERSONA: "the biased persona"}
#: The prompt of the biased persona that asks for likelihoods.
UNDER_PERSONA = "pj_lik_biased_ja"
#: The readings of the figure: the paper's own, and by content from one order and from all.
IN_FIGURE = ("letter", "calibrated", "permuted")
#: Characters of a passage in the name of its template.
PASSAGE = 12


def first_change(asked: Asked) -> str:
    """One ambiguous passage that a model answers differently under two prompts.

    Of the models spoken of it is the one whose answers change most often between basicP and the
    biased persona (between the first two prompts where there is no persona), and the first item
    whose answer changes. One sentence where none does.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> first_change(asked_leaning()).count("→ sim-bbq-stereotyped")
        2
    """
    frame = asked.of_focus(asked.frame)
    rows = frame[(frame["context_condition"] == "ambiguous") & frame["role"].notna()]
    both = [name for name in (BASELINE, PERSONA) if name in asked.conditions]
    both = both if len(both) == 2 else list(asked.conditions)[:2]
    wide = rows[rows["prompt"].isin(both)].pivot_table(
        index=["model", "item_id"], columns="prompt", values="role", aggfunc="first", sort=False
    )
    wide = wide.reindex(columns=both).dropna()
    changed = wide[wide[both[0]] != wide[both[-1]]]
    if changed.empty:
        return "No answer to an ambiguous passage changes with the prompt."
    order = changed.index.get_level_values("model")
    model = order.value_counts(sort=False).idxmax()
    item_id = changed.index[order == model][0][1]
    here = rows[(rows["model"] == model) & (rows["item_id"] == item_id)].set_index("prompt")
    return _passage(here.loc[both])


def _passage(rows: pd.DataFrame) -> str:
    """The passage, its options with their roles, and an answer a prompt."""
    item = rows.iloc[0]
    options = [
        f"  {place}: {item[f'option_{place}']}   [{WHO.get(item[f'role_{place}'], 'a person')}]"
        for place in range(3)
    ]
    lines = [item["context"], item["question"], *options, ""]
    for name, row in rows.iterrows():
        prompt = SPOKEN.get(str(name), str(name))
        lines.append(f"→ {row['model']}, {prompt}: {row['answer']}{_chance_of(row)}")
    return "\n".join(lines)


def _chance_of(row: pd.Series) -> str:
    """The probability of the number that was written, where it is known."""
    p = row.get(f"p_{row['answer']}")
    return "" if p is None or p != p else f"   (its probability: {p:.2f})"


def persons_named(asked: Asked) -> pd.DataFrame:
    """How often either person is named where the passage is silent.

    Returns:
        of ("model: prompt"), person (in words), value, ci_low, ci_high (share of valid answers,
        over templates), n.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> named = persons_named(asked_leaning()).head(2)
        >>> named[["person", "value"]].round(2).to_numpy().tolist()
        [['the person of the stereotype', 0.32], ['the other person', 0.13]]
    """
    frame = _by_model(asked, asked.frame)
    ambiguous = (frame["context_condition"] == "ambiguous") & frame["has_target"]
    rows = []
    for key, cell in cells(frame[ambiguous], ["model", "prompt"]):
        valid = cell[cell["role"].notna()]
        for role in ("biased", "counter_biased"):
            by_template = (valid["role"] == role).groupby(valid["template_id"])
            named = by_template.sum().to_numpy(float)
            asked_of = by_template.size().to_numpy(float)
            row = {"of": f"{key['model']}: {key['prompt']}", "person": WHO[role], "n": len(valid)}
            row["value"] = named.sum() / len(valid) if len(valid) else float("nan")
            rows.append(row | _interval((named, asked_of)))
    return pd.DataFrame(rows, columns=["of", "person", "value", "ci_low", "ci_high", "n"])


def _by_model(asked: Asked, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the models spoken of, one model after the other."""
    rows = asked.of_focus(frame)
    order = {model: place for place, model in enumerate(asked.focus)}
    return rows.sort_values("model", key=lambda names: names.map(order), kind="stable")


def _interval(ratio: qa_intervals.Ratio) -> dict[str, Any]:
    interval = qa_intervals.share(ratio) if len(ratio[0]) else qa_intervals.none()
    return {name: interval[name] for name in ("ci_low", "ci_high")}


def answers_table(asked: Asked, design: Design) -> pd.DataFrame:
    """What came back, a row a model and prompt: how many, valid ones, and the numbers written.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis.design import design
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> list(answers_table(asked, design(asked, Kept())).columns)
        ['model', 'prompt', 'asked', 'valid', 'wrote 0, %', 'wrote 1, %', 'wrote 2, %']
    """
    by = ["model", "prompt"]
    counted = asked.of_focus(design.counted)
    table = counted[[*by, "n"]].assign(valid=counted.get("ok", 0))
    places = design.by_position.set_index(by)
    for place in range(3):
        shares = places.get(f"option {place}", pd.Series(0.0, places.index))
        in_order = shares.reindex(pd.MultiIndex.from_frame(table[by]))
        table[f"wrote {place}, %"] = 100 * in_order.to_numpy(float)
    return table.rename(columns={"n": "asked"})


def readings_table(asked: Asked, readings: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias in ambiguous contexts under both readings of the biased option, in points.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis.scores import scores
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> readings_table(asked, scores(asked, Kept()).readings).columns.tolist()
        ['model', 'prompt', 'by polarity', 'literal']
    """
    rows = asked.of_focus(readings[readings["metric"] == "diff_amb"])
    texts = rows.assign(text=rows.apply(points, axis=1) if len(rows) else "")
    index = ["model", "prompt"]
    wide = texts.pivot_table(
        index=index, columns="reading", values="text", aggfunc="first", sort=False
    )
    wide = wide.reindex(columns=["by_polarity", "literal"])
    wide.columns = pd.Index(["by polarity", "literal"])
    return wide.reset_index()


def by_reading(asked: Asked, content: Content, headlines: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias in ambiguous contexts by letter and by content, with limits of detection.

    Args:
        asked: the answers of a run. content: of the analysis. headlines: of `Run.headlines`.

    Returns:
        of ("model: prompt"), reading (letters, calibrated, permuted), value, ci_low, ci_high,
        blank and detects (shares; where any is known), status. Without rows where no prompt gave
        probabilities.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis.content import content
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> none = pd.DataFrame(columns=["what", "model", "of", "blank", "detects"])
        >>> by_reading(asked, content(asked, Kept()), none)["reading"].unique().tolist()
        ['letters', 'calibrated', 'permuted']
    """
    rows = _by_model(asked, content.scores)
    rows = rows[(rows["metric"] == "diff_amb") & rows["reading"].isin(IN_FIGURE)]
    key = "diff amb, " + rows["prompt"].astype(str) + ", " + rows["reading"].astype(str)
    known = headlines[["model", "of", "blank", "detects"]].drop_duplicates(["model", "of"])
    rows = rows.drop(columns="blank", errors="ignore")  # that of the headline
    found = rows.assign(of=key).merge(known, on=["model", "of"], how="left")
    unknown = [name for name in ("blank", "detects") if found[name].isna().all()]
    found = found.drop(columns=unknown)  # a figure has no mark for what nobody measured
    names = found["reading"].replace({"letter": "letters"})
    return found.assign(of=found["model"] + ": " + found["prompt"], reading=names)


def changes(asked: Asked, pooled: pd.DataFrame) -> pd.DataFrame:
    """What each prompt changes against basicP in ambiguous contexts, over all categories.

    Args:
        asked: the answers of a run. pooled: of `Prompts.pooled`.

    Returns:
        the rows of accuracy and Diff-bias with of ("model: score") and value (the change).

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis.prompts import prompts
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> changes(asked, prompts(asked, Kept()).pooled)["of"].tolist()
        ['sim-bbq-stereotyped: accuracy', 'sim-bbq-stereotyped: Diff-bias']
    """
    named = {"acc_amb": "accuracy", "diff_amb": "Diff-bias"}
    rows = _by_model(asked, pooled[pooled["metric"].isin(list(named))])
    score = rows["metric"].map(named)
    of = rows["model"].astype(str) + ": " + score.astype(str)
    return rows.assign(of=of, value=rows["difference"], score=score)


def changes_table(asked: Asked, pooled: pd.DataFrame) -> pd.DataFrame:
    """`changes` a row a model and prompt: points with interval, and p after Holm.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis.prompts import prompts
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> changes_table(asked, prompts(asked, Kept()).pooled).columns.tolist()
        ['model', 'prompt', 'accuracy, change', 'p accuracy', 'Diff-bias, change', 'p Diff-bias']
    """
    rows = []
    for key, cell in cells(changes(asked, pooled), ["model", "prompt"]):
        row: dict[str, Any] = dict(key)
        for one in cell.to_dict("records"):
            row[f"{one['score']}, change"] = _signed(one)
            row[f"p {one['score']}"] = one["p_cluster_holm"]
        rows.append(row)
    return pd.DataFrame(rows)


def _signed(row: dict[Any, Any]) -> str:
    """A change in points with its interval, or why there is none."""
    if row["value"] != row["value"]:
        return f"— ({str(row['status']).replace('_', ' ')})"
    told = f"{100 * row['value'] + 0.0:+.1f}"
    if row["ci_low"] != row["ci_low"]:
        return told
    return f"{told} [{100 * row['ci_low']:+.1f}, {100 * row['ci_high']:+.1f}]"


def words_by_category(found: Likelihood, headlines: pd.DataFrame) -> pd.DataFrame:
    """Bias by likelihood, and less mere words, by category, with limits of detection.

    Args:
        found: of the analysis. headlines: of `Run.headlines`.

    Returns:
        of ("model: category"), metric (bias, bias less mere words), value, ci_low, ci_high,
        blank and detects (nats; of the bias of all categories only).

    Example:
        >>> from katayori.papers.persona_jbbq import examples
        >>> leans = examples.leans(age=0.6, gender=0.0)
        >>> controls = leans.assign(control="meaningless")
        >>> bias = words.bias_by_category(leans, controls)
        >>> none = pd.DataFrame(columns=["what", "model", "of", "unit", "detects"])
        >>> words_by_category(Likelihood(leans, leans, bias, leans), none)["of"].iloc[0]
        'm: all categories'
    """
    both = person_words.bias_beside_mere_words(found.bias).rename(columns={"value": "bias"})
    both = both.rename(columns={"difference": "value"})
    both["of"] = both["model"] + ": " + both["category"].str.replace("_", " ")
    limits = headlines[headlines["unit"] == "nats"].set_index("model")["detects"]
    whole = (both["category"] == words.ALL) & (both["metric"] == "bias")
    both["detects"] = both["model"].map(limits.to_dict()).astype(float).where(whole)
    if "blank" in both:
        both["blank"] = both["blank"].where(whole)
    order = {model: place for place, model in enumerate(dict.fromkeys(both["model"]))}
    return both.sort_values("model", key=lambda names: names.map(order), kind="stable")


def planted_table(planted: Planted) -> pd.DataFrame:
    """What was planted and what is found, a row a respondent and prompt, in points.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis.planted import planted
        >>> from katayori.prompting.prompts import load_prompts
        >>> table = planted_table(planted(load_prompts("persona_jbbq"), Kept()))
        >>> table.columns.tolist()[2:4]
        ['accuracy: planted', 'accuracy: found']
    """
    names = {"acc_amb": "accuracy", "diff_amb": "Diff-bias", "ooc_rate": "out of choice"}
    rows = []
    for key, cell in cells(planted.scores, ["model", "prompt_id"]):
        persona = key["prompt_id"].startswith("pj_biased")
        if persona and key["model"] != LEANING:
            continue  # only the leaning respondent changes under the persona
        row: dict[str, Any] = {"respondent": key["model"]}
        row["prompt"] = SPOKEN[PERSONA] if persona else BASELINE
        scores = cell.set_index("metric")
        for metric, name in names.items():
            row[f"{name}: planted"] = 100 * float(scores["planted"][metric])
            row[f"{name}: found"] = points(scores.loc[metric].to_dict() | {"metric": metric})
        rows.append(row)
    return pd.DataFrame(rows).drop(columns="out of choice: planted")


def three_told(three: pd.DataFrame) -> str:
    """The three accuracies of one log in a sentence.

    Args:
        three: of `planted.three_accuracies`.

    Example:
        >>> from katayori.papers.persona_jbbq.analysis.planted import three_accuracies
        >>> from katayori.papers.persona_jbbq.examples import texts
        >>> three_told(three_accuracies(texts("0", "0です", "1", "?")))
        '50.0 % of valid answers, 25.0 % of all asked, 66.7 % by the first digit'
    """
    values = three.set_index(["parser", "denominator"])["acc_dis"]
    strict, lenient = values.index.get_level_values("parser").unique()
    return (
        f"{100 * values[strict, 'valid']:.1f} % of valid answers,"
        f" {100 * values[strict, 'all asked']:.1f} % of all asked,"
        f" {100 * values[lenient, 'valid']:.1f} % by the first digit"
    )


def claims_table(verdicts: Verdicts) -> pd.DataFrame:
    """The paper's claims, a row a claim: the verdict on its figures and on the answers here.

    Example:
        >>> verdict = pd.DataFrame([{"statement": "Acc_a falls", "verdict": "holds"}])
        >>> both = Verdicts(verdict, verdict, pd.DataFrame(), {})
        >>> claims_table(both).to_numpy().tolist()
        [['Acc_a falls', 'holds', 'holds']]
    """
    ours = verdicts.on_ours.set_index("statement")["verdict"]
    printed = verdicts.on_published[["statement", "verdict"]]
    table = printed.assign(here=printed["statement"].map(ours))
    table.columns = pd.Index(["the claim", "on the printed figures", "on the answers here"])
    return table


def in_short(asked: Asked, prompts: Prompts, content: Content, likelihood: Likelihood) -> list[str]:
    """What was found, a short paragraph a model, and one on categories.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis import analyse
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> found = analyse(asked, Kept())
        >>> in_short(asked, found.prompts, found.content, found.likelihood)[0][:44]
        'sim-bbq-stereotyped, biased persona against '
    """
    paragraphs = []
    two = [asked.conditions[name].id for name in (BASELINE, PERSONA) if name in asked.conditions]
    bound = set(asked.bound.loc[asked.bound["prompt_id"].isin(two), "model"])
    for model in asked.focus:
        effect = findings.persona_effect(prompts.pooled, [model], bound)
        parts = effect or [f"{model}: the biased persona was not asked."]
        parts += [_of_content(content, model), _of_words(likelihood, model)]
        paragraphs.append(" ".join(part for part in parts if part))
    return [*paragraphs, findings.leaning(prompts.leaning)]


def bound_told(asked: Asked) -> str:
    """Whose letters follow the place under which prompts, in one sentence; empty where nobody's.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> bound_told(asked_leaning())
        ''
    """
    bound = asked.of_focus(asked.named(asked.bound))
    if bound.empty:
        return ""
    told = [
        f"{key['model']} ({', '.join(cell['prompt'])})" for key, cell in cells(bound, ["model"])
    ]
    return f"No reading of bias, since one place takes over 90 % of the letters: {'; '.join(told)}."


def _of_content(content: Content, model: str) -> str:
    """Diff-bias by content under the two prompts that matter, and how many are position bound."""
    rows = content.scores
    rows = rows[(rows["model"] == model) & (rows["metric"] == "diff_amb")]
    if rows.empty:
        return ""
    letters = rows[rows["reading"] == "letter"]
    bound = int((letters["status"] == "position_bound").sum())
    best = "permuted" if "permuted" in set(rows["reading"]) else "calibrated"
    of_best = rows[rows["reading"] == best]
    told = [
        f"{points_or_why(row)} under {SPOKEN.get(row['prompt'], row['prompt'])}"
        for _, row in of_best.iterrows()
        if row["prompt"] in (BASELINE, PERSONA)
    ]
    return (
        f"Letters are position bound under {bound} of {len(letters)} prompts; by content"
        f" ({best}) Diff-bias is {', '.join(told)}.{_of_orders(content, model)}"
    )


def _of_orders(content: Content, model: str) -> str:
    """How often the readings by content repeat themselves from other orders; empty without any."""
    if content.repeated.empty:
        return ""
    own = content.repeated[content.repeated["model"] == model]
    parts = [own[own["reading"] == name] for name in ("permuted", "calibrated")]
    if any(part.empty for part in parts):
        return ""
    permuted, calibrated = map(span, parts)
    return (
        f" From other orders permuted repeats its choice in {permuted}, calibrated in {calibrated}:"
        f" {_steadier(*parts)}."
    )


def _steadier(permuted: pd.DataFrame, calibrated: pd.DataFrame) -> str:
    """Which of two readings repeats itself more under every prompt, in words."""
    shares = {"permuted": permuted["same_choice"], "calibrated": calibrated["same_choice"]}
    for name, other in (("permuted", "calibrated"), ("calibrated", "permuted")):
        if shares[name].min() > shares[other].max():
            return f"{name} is steadier under every prompt"
    return "neither is steadier under every prompt"


def _of_words(found: Likelihood, model: str) -> str:
    """Whether the sentence is read, and the bias over all categories in nats."""
    if found.reads.empty:
        return ""
    here = (found.reads["model"] == model) & (found.reads["prompt_id"] == BASIC)
    if not here.any():
        return ""
    reads = bool(found.reads.loc[here, "passes"].all())
    bias = found.bias
    rows = bias[(bias["model"] == model) & (bias["category"] == words.ALL)]
    if not reads or rows.empty:
        return "By likelihood it does not pass the reading control, so no bias is read."
    verdict = str(rows["reading"].iloc[0]).replace("_", " ")
    told = f"By likelihood it reads, and its bias is {_interval_told(rows)} nats ({verdict})"
    moved = found.surfacing
    moved = moved[(moved["model"] == model) & (moved["category"] == words.ALL)]
    moved = moved[moved["prompt_id"] == UNDER_PERSONA]
    if moved.empty or moved["p_holm"].isna().any():
        return f"{told}."
    p = interval_text.p_text(moved["p_holm"].iloc[0])
    return f"{told}; the biased persona adds {_interval_told(moved)} ({p} after Holm)."


def _interval_told(rows: pd.DataFrame) -> str:
    """The first row's value with its interval."""
    row = rows.iloc[0]
    return f"{row['value']:+.2f} [{row['ci_low']:+.2f}, {row['ci_high']:+.2f}]"


def template_names(asked: Asked) -> list[tuple[str, str]]:
    """(category and the beginning of the passage, template) of every template asked.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> template_names(asked_leaning())[0][1]
        'pj2-age01'
    """
    first = asked.items.drop_duplicates("template_id")
    names = []
    for row in first.to_dict("records"):
        category = row["category"].replace("_", " ")
        label = f"{category}: {row['context'][:PASSAGE]}… ({row['template_id']})"
        names.append((label, row["template_id"]))
    return names


def levels(asked: Asked, column: str) -> list[tuple[str, str]]:
    """(name in words, level) of a column of the items.

    Example:
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> levels(asked_leaning(), "polarity")
        [('negative', 'negative'), ('non negative', 'non_negative')]
    """
    values = asked.items[column].unique().tolist()
    return [(str(value).replace("_", " "), str(value)) for value in values]

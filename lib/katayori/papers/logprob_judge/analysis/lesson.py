"""What notebook 03 tells in words and small tables, every number of it computed."""

from typing import Any

import pandas as pd

from katayori.finish_reasons import was_cut
from katayori.metrics.interval_text import p_text, with_interval
from katayori.metrics.ranks import DIGITS
from katayori.metrics.share_intervals import share_interval
from katayori.metrics.uncertainty import cells
from katayori.papers.logprob_judge import pandalm, scores, surface_rules
from katayori.papers.logprob_judge.analysis.asked import TWO_TURNS, Asked
from katayori.papers.logprob_judge.analysis.people import People
from katayori.papers.logprob_judge.analysis.places import Places
from katayori.papers.logprob_judge.analysis.planted import BETTER, EQUAL, Planted
from katayori.papers.logprob_judge.analysis.returned import Returned
from katayori.papers.logprob_judge.analysis.steadiness import Steadiness
from katayori.papers.logprob_judge.analysis.verdicts import Verdicts
from katayori.papers.logprob_judge.analysis.yardsticks import AREA, Yardsticks

ALPHA = 0.05
BETTER_THAN_LOTS, WORSE_THAN_LOTS = "better than lots", "worse than lots"
#: What a row of criteria is called beside the prompts for reasons.
CRITERIA = "criteria of its own"
#: Of a rule's row, in the place of a judge.
NO_JUDGE = "reads no meaning"
#: Bins of equally many labels in a reliability curve, and the fewest labels of one.
GROUPS, LEAST = 5, 5
LABELS = {"1": "answer 1 is better", "2": "answer 2 is better", "tie": "equally good"}
PAPER_NAME = "the paper"
#: Readings of `metrics.position_free` that a figure shows -> their names there.
READINGS = {"letter": "letter", "calibrated": "calibrated", "permuted": "both orders"}


def two_orders(asked: Asked) -> str:
    """A comparison that a judge decides in two ways, according to the order of the answers.

    The shortest one of the first judge; where no order matters, the shortest of all.

    Example:
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> two_orders(asked_leaning()).count("writes")
        2
    """
    model = asked.focus[0]
    items = asked.comparisons
    texts = items[["question", "answer_1", "answer_2"]].fillna("").astype(str)
    lengths = texts.map(len).sum(axis=1)
    settled = asked.settled
    here = (settled["model"] == model) & (settled["prompt_id"] == asked.lead.id)
    here &= settled["status"] == "ok"
    differing = settled[here & ~settled["consistent"]]
    pairs = differing if len(differing) else settled[here]
    if pairs.empty:
        return f"{model} gave no verdict in both orders."
    among = lengths[items["item_id"].isin(pairs["pair_id"])]
    one: dict[Any, Any] = items.loc[[among.idxmin()]].to_dict("records")[0]
    parts = [f"[Task 課題]\n{one['question']}"]
    parts += [f"[Answer {number} 回答{number}]\n{one[f'answer_{number}']}" for number in (1, 2)]
    calls = asked.log[(asked.log["model"] == model) & (asked.log["pair_id"] == one["item_id"])]
    calls = calls[calls["prompt_id"] == asked.lead.id].sort_values("order")
    parts += [_told_order(call) for call in calls.to_dict("records")]
    return "\n\n".join(parts)


def _told_order(call: dict[Any, Any]) -> str:
    """Which answer stood as A, and what the judge wrote."""
    model, order = call["model"], str(call["order"])
    named = {"A": f"answer {order[0]}", "B": f"answer {order[1]}", "C": "a tie"}
    line = f"A = {named['A']}, B = {named['B']} → {model} writes {call['letter']}"
    line += f", so the better one is {named[call['letter']]}"
    if pd.isna(call["p_A"]):
        return f"{line}."
    shares = ", ".join(f"P({letter}) {call[f'p_{letter}']:.2f}" for letter in "ABC")
    return f"{line}. ({shares})"


def log_odds(asked: Asked) -> pd.DataFrame:
    """How much a judge prefers answer 1 in either order, under one prompt.

    Returns:
        model, pair_id, first, second (log odds of answer 1 where it stands first and second),
        label (of the first person, in words). Pairs without probabilities are left out.

    Example:
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> odds = log_odds(asked_leaning())
        >>> len(odds), bool((odds["first"] > odds["second"]).mean() > 0.8)
        (12, True)
    """
    calls = asked.log[asked.log["prompt_id"] == asked.lead.id]
    calls = calls[calls["model"].isin(asked.focus)]
    pairs = calls.drop_duplicates(["model", "pair_id"])[["model", "pair_id"]]
    for order, name in (("12", "first"), ("21", "second")):
        odds = scores.order_log_odds(calls[calls["order"] == order])
        pairs = pairs.merge(odds.rename(columns={"log_odds": name}), on=["model", "pair_id"])
    labels = asked.comparisons.set_index("item_id")[asked.people[0]].map(LABELS)
    pairs["label"] = pairs["pair_id"].map(labels).fillna("no label")
    pairs = pairs.dropna(subset=["first", "second"])
    return pairs.sort_values(["model", "label"], kind="stable", ignore_index=True)


def calls_table(asked: Asked, back: Returned) -> pd.DataFrame:
    """What came back of each judge and prompt, in counts.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.returned import returned
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> calls_table(asked, returned(asked, Kept()))["no verdict"].tolist()
        [0, 0, 0, 0, 0, 0]
    """
    columns = ["model", "prompt"]
    table = back.letters[back.letters["model"].isin(asked.focus)]
    table = table.merge(back.counted[[*columns, "mean_mass"]], on=columns)
    names = {"n": "calls", "none": "no verdict", "mean_mass": "P(A) + P(B) + P(C)"}
    table = table.rename(columns=names)
    shown = [*columns, "A", "B", "C", "no verdict", "P(A) + P(B) + P(C)"]
    return table[shown].reset_index(drop=True)


def beside_paper(asked: Asked, verdicts: Verdicts, steady: Steadiness) -> pd.DataFrame:
    """Robustness and the gain of averaging, the paper's and those here, a row a judge and prompt.

    Returns:
        model, prompt, robustness, value (gain over BS2), ci_low, ci_high (NaN for the paper): in
        points.

    Example:
        >>> from katayori.papers.logprob_judge.examples import analysis_leaning, asked_leaning
        >>> asked, shown = asked_leaning(), analysis_leaning()
        >>> len(beside_paper(asked, shown.verdicts, shown.steady))
        10
    """
    printed = verdicts.printed[verdicts.printed["task"] == "all"]
    theirs = printed.assign(model=PAPER_NAME, value=printed["proposed"] - printed["BS2"])
    agreeing = scores.concordance(asked.settled, by=["model", "prompt"])
    gains = agreeing[(agreeing["method"] == scores.GAIN) & (agreeing["task"] == "all")]
    robust = steady.robustness[steady.robustness["task"] == "all"]
    robust = robust[["model", "prompt", "value"]].rename(columns={"value": "robustness"})
    ours = gains[gains["model"].isin(asked.focus)].merge(robust, on=["model", "prompt"])
    columns = ["model", "prompt", "robustness", "value", "ci_low", "ci_high"]
    both = pd.concat([theirs.reindex(columns=columns), ours[columns]], ignore_index=True)
    both[columns[2:]] = 100 * both[columns[2:]].astype(float)
    return both


def paper_table(asked: Asked, verdicts: Verdicts, methods: pd.DataFrame) -> pd.DataFrame:
    """Agreement of the averaged verdict, the paper's and ours, a row a prompt.

    Args:
        asked: the verdicts of a run. verdicts: of `verdicts`. methods: of `agreement`.

    Example:
        >>> from katayori.papers.logprob_judge.examples import analysis_leaning, asked_leaning
        >>> asked, shown = asked_leaning(), analysis_leaning()
        >>> list(paper_table(asked, shown.verdicts, shown.agreeing.methods).columns)
        ['prompt', 'the paper', 'sim-judge-leaning']
    """
    printed = verdicts.printed[verdicts.printed["task"] == "all"].set_index("prompt")
    table = printed["proposed"].map(lambda share: f"{100 * share:.1f}").rename(PAPER_NAME)
    wanted = (methods["task"] == "all") & (methods["method"] == "proposed")
    columns = [table]
    for model in asked.focus:
        rows = methods[wanted & (methods["model"] == model)].set_index("prompt")
        columns.append(rows.apply(with_interval, axis=1).rename(model))
    beside = pd.concat(columns, axis=1).reindex(list(asked.conditions))
    return beside.rename_axis("prompt").fillna("—").reset_index()


def areas(asked: Asked, beside: Yardsticks) -> pd.DataFrame:
    """AUC of the averaged log odds for the better answer: judges, and rules that read no meaning.

    Returns:
        row (the prompt, or the rule), series (the judge, or `NO_JUDGE`), value, ci_low, ci_high, n.

    Example:
        >>> from katayori.papers.logprob_judge.examples import analysis_leaning, asked_leaning
        >>> asked, shown = asked_leaning(), analysis_leaning()
        >>> areas(asked, shown.beside)["row"].tolist()[-1]
        'more characters shared with the reference'
    """
    every = beside.decided
    is_rule = every["source"] == "none"
    every = every[every["model"].isin(asked.focus) | is_rule]
    every = every[every["model"] != surface_rules.TIE]
    is_rule = every["source"] == "none"
    every = every.drop(columns=["value", "ci_low", "ci_high", "status"])
    return every.rename(columns=AREA).assign(
        row=every["model"].where(is_rule, every["prompt"]),
        series=every["model"].where(~is_rule, NO_JUDGE),
        n=every["n_auc"],
    )


def leans(asked: Asked, steady: Steadiness, places: Places) -> pd.DataFrame:
    """The lean to the first slot by prompt, and of one answer that stands in both places.

    Returns:
        model, prompt, value (log odds), ci_low, ci_high, n.

    Example:
        >>> from katayori.papers.logprob_judge.examples import analysis_leaning, asked_leaning
        >>> asked, shown = asked_leaning(), analysis_leaning()
        >>> len(leans(asked, shown.steady, shown.places))
        6
    """
    shown = steady.leans[steady.leans["model"].isin(asked.focus)]
    columns = ["model", "prompt", "value", "ci_low", "ci_high", "n"]
    twice = places.twice if len(places.twice) else pd.DataFrame(columns=columns)
    return pd.concat([part[columns] for part in (shown, twice) if len(part)], ignore_index=True)


def by_content(asked: Asked, places: Places) -> pd.DataFrame:
    """Right less wrong on decided pairs: as the letters say, calibrated, and over both orders.

    Letters that only follow their place have no value (`position_bound`); a reading without any
    value is left out.

    Returns:
        of (judge and prompt), reading, value, ci_low, ci_high (shares), n, status.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.places import places
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> by_content(asked, places(asked, Kept()))["reading"].unique().tolist()
        ['letter', 'both orders']
    """
    columns = ["of", "reading", "value", "ci_low", "ci_high", "n", "status"]
    rows = places.by_content
    if rows.empty:
        return pd.DataFrame(columns=columns)
    rows = rows[rows["model"].isin(asked.focus) & (rows["score"] == "decision")]
    rows = rows[rows["reading"].isin(READINGS)]
    rank = {of: place for place, of in enumerate(READINGS)}
    order = rows["reading"].map(rank).sort_values(kind="stable").index
    rows = rows.loc[order].sort_values("model", kind="stable")
    named = rows.assign(of=rows["model"] + "\n" + rows["prompt"])
    named = named.assign(reading=rows["reading"].map(READINGS))
    has_values = named.groupby("reading")["value"].transform("count") > 0
    return named.loc[has_values, columns].reset_index(drop=True)


def places_told(asked: Asked, places: Places) -> list[str]:
    """What the place does to each judge, a sentence a judge.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.places import places
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> print(places_told(asked, places(asked, Kept()))[0])
        sim-judge-leaning: letters bound to one place under 0 of 6 prompts.
    """
    lines = []
    for model in asked.focus if len(places.slots) else ():
        own = places.slots[places.slots["model"] == model]
        bound = (own["status"] == "position_bound").sum()
        line = f"{model}: letters bound to one place under {bound} of {len(own)} prompts"
        twice = places.twice
        if len(twice) and model in set(twice["model"]):
            row: dict[Any, Any] = twice[twice["model"] == model].to_dict("records")[0]
            line += f"; one answer in both places: lean {with_interval(row, 2, 1, signed=True)},"
            line += f" {100 * row['ties']:.1f} % ties"
        lines.append(f"{line}.")
    return lines


def reliability(asked: Asked) -> pd.DataFrame:
    """How often an averaged verdict is right where its mean probability is so and so.

    Labels under the lead prompt in groups of equal size, by the probability of the verdict.

    Returns:
        model, p (mean probability of the group), value (share right), ci_low, ci_high (95 %, over
        questions), n (labels). A judge with fewer than 25 labels has no row.

    Example:
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> reliability(asked_leaning()).empty
        True
    """
    settled = asked.settled[asked.settled["prompt_id"] == asked.lead.id]
    settled = settled[settled["proposed"].notna() & settled["model"].isin(asked.focus)]
    settled = settled.assign(p=settled[[f"p_{name}" for name in scores.VERDICTS]].max(axis=1))
    long = settled.melt(["model", "question_id", "proposed", "p"], asked.people, value_name="label")
    long = long.dropna(subset="label")
    rows = []
    for key, one in cells(long, ["model"]):
        if len(one) < GROUPS * LEAST:
            continue
        group = pd.qcut(one["p"].round(DIGITS).rank(method="first"), GROUPS, labels=False)
        for _, part in one.groupby(group):
            right = (part["proposed"] == part["label"]).groupby(part["question_id"])
            share = share_interval(right.sum().tolist(), right.size().tolist())
            row = {name: share[name] for name in ("value", "ci_low", "ci_high", "n")}
            rows.append(key | {"p": part["p"].mean()} | row)
    return pd.DataFrame(rows, columns=["model", "p", "value", "ci_low", "ci_high", "n"])


def people_table(people: People) -> pd.DataFrame:
    """Judges and the longer answer beside three people, a row a judge and method.

    The averaged verdict has more: the AUC of its log odds, and how many labels it saves at most.

    Example:
        >>> nothing = pd.DataFrame()
        >>> people_table(People(*[nothing] * 7)).empty
        True
    """
    rows = people.agreement
    if rows.empty:
        return rows
    shown = rows.assign(agrees=rows.apply(with_interval, axis=1), area="—", saved="—")
    for row in people.decided.to_dict("records"):
        averaged = (shown["model"] == row["model"]) & (shown["method"] == "proposed")
        named = row | {"value": row["auc"], "status": row["auc_status"]}
        ends = ("auc_low", "auc_high")
        shown.loc[averaged, "area"] = with_interval(named, digits=2, scale=1, ends=ends)
        shown.loc[averaged, "saved"] = _most_saved(people.few, row["model"])
    names = {"agrees": "agrees, %", "kappa": "Cohen's kappa", "area": "AUC"}
    names |= {"saved": "labels saved, %", "n": "labels"}
    shown = shown.rename(columns=names)
    return shown[["model", "method", *names.values()]]


def _most_saved(few: pd.DataFrame, model: str) -> str:
    """The share of human labels that a judge saves for the system where it saves most."""
    rows = few[(few["model"] == model) & (few["status"] == "ok")]
    if rows.empty:
        return "— (few labels)"
    best: dict[Any, Any] = rows.sort_values("saved").to_dict("records")[-1]
    most = best | {"value": best["saved"]}
    return with_interval(most, digits=0, ends=("saved_low", "saved_high"))


def lots_beside_people() -> float:
    """How often lots between the two answers agree with the three people of PandaLM's pairs.

    Example:
        >>> round(lots_beside_people(), 3)
        0.446
    """
    lots = surface_rules.lots(pandalm.labels(), list(pandalm.PEOPLE))
    return float(lots.loc[lots["model"] == surface_rules.LOTS, "value"].iloc[0])


def stored_told(people: People) -> list[str]:
    """What judges of others reached, a sentence a judge; none without the official files.

    Example:
        >>> nothing = pd.DataFrame()
        >>> stored_told(People(*[nothing] * 7))
        []
    """
    return [
        f"{row['judge']}: {100 * row['value']:.1f} % (n {row['n']}, stored)."
        for row in people.stored.to_dict("records")
    ]


def conditions_table(asked: Asked, back: Returned) -> pd.DataFrame:
    """Whether judges gave reasons and wrote criteria of their own, a row a judge and condition.

    Reasons are counted at most: a text that says anything beside its verdict holds some. Criteria
    count as own where fewer than half of their lines stand in the reference.

    Returns:
        model, asked for, texts, given (texts with reasons, or questions with own criteria),
        cut off (texts that reached the limit of their length).

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.returned import returned
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> conditions_table(asked, returned(asked, Kept()))["given"].tolist()
        [0, 0, 0]
    """
    rows: list[tuple[str, str, int, int, int]] = []
    for (model, prompt), (reasons, texts) in back.reasoned.items():
        if "reasons" in prompt and model in asked.focus:
            rows.append((model, prompt, texts, reasons, _cut_off(asked, model, prompt)))
    for row in back.criteria.to_dict("records"):
        own = row["questions"] - row["mostly_copied"]
        rows.append((row["model"], CRITERIA, row["questions"], own, row["cut_off"]))
    columns = ["model", "asked for", "texts", "given", "cut off"]
    return pd.DataFrame(rows, columns=columns).sort_values("model", kind="stable")


def _cut_off(asked: Asked, model: str, prompt: str) -> int:
    """How many texts of a judge that were to hold reasons reached the limit of their length."""
    texts = asked.first_turns if prompt == TWO_TURNS else asked.log[asked.log["prompt"] == prompt]
    own = texts[texts["model"] == model]
    return int(own["finish_reason"].map(was_cut).sum())


def planted_rows(planted: Planted) -> pd.DataFrame:
    """Agreement of the planted judges by kind of truth, as a figure draws it.

    Returns:
        row (judge and kind of truth), method, value, ci_low, ci_high.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.planted import planted
        >>> from katayori.prompting.prompts import load_prompts
        >>> len(planted_rows(planted(load_prompts("logprob_judge"), Kept())))
        24
    """
    rows = planted.by_kind[planted.by_kind["task"].isin([BETTER, EQUAL])]
    rows = rows[rows["method"] != scores.GAIN]
    return rows.assign(row=rows["model"] + "\n" + rows["task"])


def planted_told(planted: Planted) -> str:
    """From which share of true ties on averaging costs more than it gains; and what robust means.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.planted import planted
        >>> from katayori.prompting.prompts import load_prompts
        >>> planted_told(planted(load_prompts("logprob_judge"), Kept()))[:33]
        'For the leaning judge, averaging '
    """
    long = planted.seen.set_index("model").loc["sim-judge-long"]
    return (
        "For the leaning judge, averaging pays below"
        f" {100 * planted.break_even:.0f} % of true ties (in the study set:"
        f" {100 * planted.ties:.0f} %). The judge of length is robust on"
        f" {100 * long['robustness']:.0f} %, whatever it is worth."
    )


def claims_table(verdicts: Verdicts) -> pd.DataFrame:
    """The paper's claims, a row a claim: the verdict on its figures and on each judge here.

    Claims about reasons have one more column a judge, for reasons in a turn of their own.

    Example:
        >>> verdict = pd.DataFrame([{"statement": "it gains", "verdict": "holds"}])
        >>> nothing = pd.DataFrame()
        >>> both = Verdicts(nothing, nothing, verdict, {"m": verdict}, {}, nothing, {})
        >>> claims_table(both).to_numpy().tolist()
        [['it gains', 'holds', 'holds']]
    """
    table = verdicts.on_published[["statement", "verdict"]].copy()
    in_turns = {f"{name}, own turn": checked for name, checked in verdicts.in_two_turns.items()}
    for name, checked in (verdicts.on_ours | in_turns).items():
        known = checked.set_index("statement")["verdict"]
        table[name] = table["statement"].map(known).fillna("—")
    names = {"statement": "the paper's claim", "verdict": "on its printed figures"}
    return table.rename(columns=names)


def recount_table(verdicts: Verdicts) -> pd.DataFrame:
    """The paper's own counts where its orders agree and where they differ, a row a prompt.

    Example:
        >>> from katayori.data import published
        >>> counts = published.load("derived", "logprob_judge_counts").assign(prompt="p")
        >>> nothing = pd.DataFrame()
        >>> recount_table(Verdicts(nothing, counts, nothing, {}, {}, nothing, {})).shape[1]
        6
    """
    names = {
        "prompt": "prompt",
        "acc_on_stable_pct": "orders agree",
        "bs2_acc_on_biased_pct": "orders differ: BS2",
        "proposed_acc_on_biased_pct": "orders differ: proposed",
        "n_labels": "labels",
        "n_labels_on_biased": "labels where orders differ",
    }
    return verdicts.recount[list(names)].rename(columns=names).reset_index(drop=True)


def in_short(
    asked: Asked, methods: pd.DataFrame, gains: pd.DataFrame, beside: Yardsticks, steady: Steadiness
) -> list[str]:
    """What a run shows, a short paragraph a judge.

    Args:
        asked: the verdicts. methods, gains: of `agreement`. beside: of `yardsticks`. steady: of
            `steadiness`.

    Example:
        >>> from katayori.papers.logprob_judge.examples import analysis_leaning, asked_leaning
        >>> asked, shown = asked_leaning(), analysis_leaning()
        >>> agreeing = shown.agreeing
        >>> lines = in_short(asked, agreeing.methods, agreeing.gains, shown.beside, shown.steady)
        >>> lines[0][:19]
        'sim-judge-leaning: '
    """
    lines = []
    for model in asked.focus:
        robust = steady.robustness.query("task == 'all' and model == @model")
        averaged = methods.query("task == 'all' and method == 'proposed' and model == @model")
        parts = [
            f"both orders name the same answer on {_span(robust)} % of the comparisons",
            f"the averaged verdict agrees with the labels on {_span(averaged)} %"
            f" (lots: {100 * beside.lots:.1f} %)",
            _gained(gains[gains["model"] == model]),
            against_lots(beside.whole[beside.whole["model"] == model]),
        ]
        lines.append(f"{model}: {'; '.join(parts)}.")
    return [*lines, *_best_rule(beside)]


def _span(rows: pd.DataFrame) -> str:
    """The lowest and the highest value over the prompts, in percent."""
    values = 100 * rows["value"].dropna()
    if values.empty:
        return "— (no verdict)"
    low, high = f"{values.min():.1f}", f"{values.max():.1f}"
    return low if low == high else f"{low} to {high}"


def _gained(rows: pd.DataFrame) -> str:
    above = int(((rows["p_holm"] < ALPHA) & (rows["value"] > 0)).sum())
    below = int(((rows["p_holm"] < ALPHA) & (rows["value"] < 0)).sum())
    return (
        f"averaging gains over calling a tie under {above} and loses under {below} of"
        f" {len(rows)} prompts (after Holm)"
    )


def against_lots(rows: pd.DataFrame) -> str:
    """Whether a judge is better or worse than lots where one answer is better.

    Args:
        rows: one row of `judge_tests.decided_pairs`, with p_holm.

    Example:
        >>> row = {"n_correct": 80, "n_wrong": 20, "value": 0.3, "p_holm": 0.001}
        >>> against_lots(pd.DataFrame([row]))
        'where one answer is better it is better than lots (80 right, 20 wrong, p .001)'
    """
    if rows.empty:
        return "no label names a better answer"
    row: dict[Any, Any] = rows.to_dict("records")[0]
    counts = f"{row['n_correct']} right, {row['n_wrong']} wrong"
    p = row["p_holm"]
    if not p < ALPHA:
        return f"where one answer is better it is not told from lots ({counts})"
    side = BETTER_THAN_LOTS if row["value"] > 0 else WORSE_THAN_LOTS
    return f"where one answer is better it is {side} ({counts}, {p_text(p)})"


def _best_rule(beside: Yardsticks) -> list[str]:
    if not beside.best:
        return []
    gap = beside.best
    beats = gap["ci_low"] > 0 and gap["p_cluster"] < ALPHA
    word = "beats the best judge" if beats else "is not shown to beat the best judge"
    shown = with_interval({**gap, "status": gap["status"]}, signed=True)
    return [
        f"The surface rule “{gap['rule']}” {word} ({gap['model']}, {gap['prompt']}):"
        f" {shown} points."
    ]

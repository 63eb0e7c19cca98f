"""What notebook 05 tells in words and small tables, every number of it computed."""

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd

from katayori.metrics.interval_text import p_cell, with_interval
from katayori.papers import person_words
from katayori.papers.inter_jbbq import items as inter_jbbq
from katayori.papers.inter_jbbq.analysis.asked import Asked, of
from katayori.papers.inter_jbbq.analysis.beside_letters import NAMES, slot_told
from katayori.papers.inter_jbbq.analysis.leans import Leans
from katayori.papers.inter_jbbq.analysis.likelihoods import Likelihood
from katayori.papers.inter_jbbq.analysis.made import BEHIND, Made
from katayori.papers.inter_jbbq.analysis.pairs import Flips
from katayori.papers.inter_jbbq.analysis.planted import Planted
from katayori.papers.inter_jbbq.analysis.verdicts import Verdicts
from katayori.papers.inter_jbbq.analysis.words import context, marked
from katayori.papers.inter_jbbq.words import TOPICS

Row = dict[Any, Any]

POINTS = 100
ALPHA = 0.05
NOTHING = "No likelihood of the persons' words is recorded, so that this reading has no rows."
#: An own topic of ours: its file shows that a topic needs no more than one.
EXAMPLE_TOPIC = "lessons"
#: Right answers of 40 at each selection of attributes, of an invented model.
TINY_RIGHT = {"race": 36, "nationality+race": 28, "gender+race": 32, "gender+nationality+race": 8}
TINY_N = 40
TINY_FAMILIES = 10
#: Families of a passage compared with each other.
BETWEEN = "between families"
#: What stands beside a headline where it is known.
BESIDE = ("blank", "detects")
#: Results that say how far errors go with the stereotype -> how the answer is read.
DIRECTION = {
    "Diff-bias where a direction is set": "letters",
    "Diff-bias by probabilities where a direction is set (addition)": "probabilities",
}


def first_flip(asked: Asked) -> str:
    """A passage, the same with one attribute more, and two different answers.

    The first such pair of the first model that has one, from one attribute to two where there is
    one. Where no answer changes, a sentence says so before a pair that is answered alike.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> first_flip(asked_additive()).count("answers ")
        2
    """
    alike: list[str] = []
    for model in asked.models:
        for one, other in _neighbours(asked.frame, model):
            shown = "\n\n".join(_shown(asked, row) for row in (one, other))
            if one["choice"] != other["choice"]:
                return shown
            alike.append(shown)
    none = f"No answer of {', '.join(asked.models)} changes with one attribute more."
    return "\n\n".join([none, *alike[:1]])


def _neighbours(frame: pd.DataFrame, model: str) -> Iterator[tuple[Row, Row]]:
    """Two items of a family of which one tells one attribute more; few attributes first.

    Valid answers of the model to the negative question, ambiguous passage, basic prompt.
    """
    here = (frame["model"] == model) & (frame["prompt"] == "basic") & ~frame["invalid"]
    here &= (frame["ambiguity"] == "amb") & (frame["question"] == "negative")
    for number in sorted(frame["n_attributes"].unique()):
        few = frame[here & frame["n_attributes"].isin([number, number + 1])]
        for _, family in few.sort_values("n_attributes").groupby("cluster", sort=False):
            rows = family.to_dict("records")
            for one, other in combinations(rows, 2):
                told = [set(row["subset"].split("+")) for row in (one, other)]
                if told[0] < told[1]:
                    yield one, other


def _shown(asked: Asked, row: Row) -> str:
    """A passage with its question and options, and what was answered."""
    options = [row[f"option_{place}"] for place in range(3)]
    listed = "   ".join(f"{place}: {words}" for place, words in enumerate(options))
    chosen = options[int(row["answer"])]
    answer = f"→ {row['model']} answers {row['answer']} ({chosen})"
    question = asked.question_of[row["item_id"]]
    return f"{row['context']}\n{question}\n{listed}\n{answer}"


def lexicon(topic: str = EXAMPLE_TOPIC) -> dict[str, list[str]]:
    """The words of each attribute of a topic of ours.

    Example:
        >>> lexicon()["gender"]
        ['女性', '男性']
    """
    documents = [document for _, document in inter_jbbq.read_topics("")]
    entries = next(one["lexicon"] for one in documents if one["topic"] == topic)
    return {
        name: [str(word) for words in entry["groups"].values() for word in words]
        for name, entry in entries.items()
    }


def counts_told(asked: Asked, made: Made) -> list[str]:
    """How many items there are, and who has read them: a few sentences.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive, asked_additive
        >>> counts_told(asked_additive(), analysis_additive().made)[0][:21]
        '2 passages carry all '
    """
    items = asked.items
    single = items.drop_duplicates("item")
    doubles = made.doubles.set_index("what")["doubles"]
    of_models = asked.of_models
    invalid = int(of_models["invalid"].sum())
    told = [
        f"{items['template_id'].nunique()} passages carry all {len(single):,} items"
        f" ({asked.n_families} families). {made.n_exclusions} combinations of words are never"
        f" drawn. {doubles['passages']} passages are word for word another family's.",
        f"Attributes told: {_numbers_told(made)}.",
        f"{made.n_read} of {made.n_files} topic files were read by a native speaker.",
    ]
    told += _places_told(asked, made)
    models = ", ".join(asked.models)
    told.append(f"{models}: {len(of_models):,} prompts answered, {invalid:,} of them invalid.")
    return told


def _numbers_told(made: Made) -> str:
    """How many items tell how many attributes, such as `1 in 24 items, 2 in 96`."""
    numbers = made.by_number.drop(columns=["items", BEHIND]).sum()
    (first, n), *rest = numbers[numbers > 0].items()
    return ", ".join([f"{first} in {n} items", *(f"{number} in {n}" for number, n in rest)])


def _places_told(asked: Asked, made: Made) -> list[str]:
    """Where "unknown" stands: a sentence, or none where every cell has few items."""
    if asked.counterbalanced:
        return [
            'Inside a family the order of the options and the wording of "unknown" stay.'
            f" {slot_told(asked)}"
        ]
    places = [f"unknown_at_{place}" for place in range(3)]
    kept = made.slots.loc[made.slots["n"] >= 20, places].to_numpy()
    if not len(kept):
        return []
    return [
        f'"Unknown" stands at one place in {_span(kept)} % of the items of a topic'
        " and number of attributes (20 items or more); balanced would be 33 %."
    ]


def families_told(asked: Asked) -> str:
    """How many families a topic has: one number, or the fewest and the most.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> families_told(asked_additive())
        '24'
    """
    few, many = asked.families_of.min(), asked.families_of.max()
    return f"{few}" if few == many else f"{few} to {many}"


def _span(shares: Any) -> str:
    """The smallest and the largest share in percent; one number where they are the same."""
    low, high = f"{POINTS * shares.min():.0f}", f"{POINTS * shares.max():.0f}"
    return low if low == high else f"{low} to {high}"


def flip_rows(flips: Flips, models: list[str]) -> pd.DataFrame:
    """Flip rates for a figure: a row a kind of pair, ambiguous passages, basic prompt.

    Where order and wording stay in every pair, families of a passage in other orders stand beside.

    Returns:
        model, pairs, value, ci_low, ci_high, n, clusters, kept (the kind in words).

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> flip_rows(analysis_additive().flips, ["sim-inter-additive"])["kept"].tolist()[1]
        'order of options kept'
    """
    kept = {
        "all pairs": "all pairs of items",
        "same order": "order of options kept",
        "clean": "order and wording kept",
        BETWEEN: "another family, other order of options",
    }
    rates = of(_plain(flips.of_all), models)
    if rates.empty:
        return rates
    if flips.n_pairs == flips.n_clean:
        between = of(_plain(flips.between), models).assign(pairs=BETWEEN)
        rates = pd.concat([rates[rates["pairs"] == "clean"], between], ignore_index=True)
        kept["clean"] = "one attribute more, all else kept"
    return rates.assign(kept=rates["pairs"].map(kept))


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of ambiguous passages and the basic prompt."""
    if table.empty:
        return table
    return table[(table["ambiguity"] == "amb") & (table["prompt"] == "basic")]


def accuracy_rows(by_topic: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Accuracy, mean of topics, for a figure; beside it who answers at random.

    Returns:
        model, row (context and prompt), value, ci_low, ci_high.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> table = analysis_additive().accuracy.by_topic
        >>> accuracy_rows(table, ["sim-inter-additive"])["row"].unique().tolist()[0]
        'ambiguous, basic'
    """
    overall = of(by_topic[by_topic["topic"] == "overall"], models)
    overall = overall.assign(row=_row_names(overall)).sort_values("row", kind="stable")
    random = pd.DataFrame(
        [
            {"model": model, "row": row, "value": value}
            for row in dict.fromkeys(overall["row"])
            for model, value in _chances(row).items()
        ]
    )
    return pd.concat([overall, random], ignore_index=True)


def _row_names(table: pd.DataFrame) -> list[str]:
    pairs = zip(table["ambiguity"], table["prompt"], strict=True)
    return [f"{context(ambiguity)}, {prompt}" for ambiguity, prompt in pairs]


def _chances(row: str) -> dict[str, float]:
    person = 0.0 if row.startswith("ambiguous") else 1 / 2
    return {"one of three options at random": 1 / 3, "one of two persons at random": person}


def excess_table(leans: Leans, by_topic: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Right where the passage tells, "unknown" there, and what is beyond chance; in points.

    Chance is one half of the answers that name a person, so the excess is (right - wrong) / 2.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> found = analysis_additive()
        >>> of_one = ["sim-inter-additive"]
        >>> excess_table(found.leans, found.accuracy.by_topic, of_one).columns.tolist()[-1]
        'excess over chance [95 %]'
    """
    lean = leans.lean
    if lean.empty:
        return pd.DataFrame()
    clear = lean[(lean["part"] == "disambiguated") & (lean["measure"] == "lean")]
    excess = of(clear, models).set_index(["model", "prompt"])
    pooled = by_topic[(by_topic["topic"] == "pooled") & (by_topic["ambiguity"] == "dis")]
    right = pooled.set_index(["model", "prompt"])
    unknown = leans.abstained[leans.abstained["topic"] == "pooled"].set_index(["model", "prompt"])
    rows = [
        {
            "model": key[0],
            "prompt": key[1],
            "right": marked(right.loc[key].to_dict()),
            "says unknown": marked(unknown.loc[key].to_dict()),
            "excess over chance [95 %]": with_interval(row, 2, signed=True),
        }
        for key, row in zip(excess.index.tolist(), excess.to_dict("records"), strict=True)
    ]
    return pd.DataFrame(rows)


def place_rows(places: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """How often each number is written, and its mean probability, for a figure; basic prompt.

    Args:
        places: of `Accuracy`. models: those shown.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> rows = place_rows(analysis_additive().accuracy.places, ["sim-inter-additive"])
        >>> rows[["place", "method"]].head(2).to_numpy().tolist()
        [[0, 'letters'], [0, 'probabilities']]
    """
    basic = of(places[places["prompt"] == "basic"], models)
    rows = basic.assign(row=basic["model"] + ": " + basic["place"].astype(str))
    return rows.sort_values(["model", "place"], kind="stable")


def direction_rows(headlines: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Diff-bias of all topics, with blank and limit of detection, for a figure.

    Args:
        headlines: of a run. models: those shown.

    Example:
        >>> what, pooled = next(iter(DIRECTION)), "pooled, diff amb, basic"
        >>> row = {"what": what, "model": "m", "of": pooled, "value": 0.1}
        >>> direction_rows(pd.DataFrame([row]), ["m"])["row"].tolist()
        ['letters, basic']
    """
    here = of(headlines[headlines["what"].isin(DIRECTION)], models)
    method = here["what"].map(DIRECTION)
    prompt = here["of"].str.rpartition(", ")[2]
    rows = here.assign(row=method + ", " + prompt)
    absent = [name for name in BESIDE if name in rows and rows[name].isna().all()]
    return rows.drop(columns=absent).sort_values("row", kind="stable")


def number_rows(numbers: pd.DataFrame, made: Made, asked: Asked, gaps: pd.DataFrame) -> Any:
    """Accuracy by number of attributes, ambiguous and basic, and what the shuffle alone gives.

    Returns:
        frame (model, topic, n_attributes, value, ci_low, ci_high), names of the answerers that
        always write one number.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive, asked_additive
        >>> found = analysis_additive()
        >>> accuracy = found.accuracy
        >>> number_rows(accuracy.numbers, found.made, asked_additive(), accuracy.gaps)[1]
        ['no model: always writes 2']
    """
    ours = of(_plain(numbers), asked.models)
    written = sorted(gaps.loc[gaps["prompt"] == "basic", "locked"].unique())
    names = []
    frames = [ours]
    for place in written:
        name = f"no model: always writes {place}"
        line = made.slots.assign(value=made.slots[f"unknown_at_{place}"], model=name)
        frames.append(line[["topic", "n_attributes", "model", "value"]])
        names.append(name)
    return pd.concat(frames, ignore_index=True), names


def tiny_family() -> pd.DataFrame:
    """One invented family: four answers to items of one, two, two and three attributes.

    Example:
        >>> tiny_family()[["n_attributes", "correct"]].to_numpy().tolist()
        [[1.0, 1.0], [2.0, 1.0], [2.0, 0.0], [3.0, 0.0]]
    """
    rows = {"n_attributes": [1, 2, 2, 3], "correct": [1.0, 1.0, 0.0, 0.0]}
    common = {"model": "invented", "source": "none", "prompt_id": "none", "topic": "invented"}
    common |= {"ambiguity": "amb", "cluster": "one family"}
    return pd.DataFrame(rows).assign(invalid=False, **common)


def tiny_answers() -> pd.DataFrame:
    """The invented answers of `TINY_RIGHT`, a row an answer, as `scores.interactions` takes them.

    Example:
        >>> len(tiny_answers())
        160
    """
    rows = [
        {"subset": subset, "correct": float(place < right), "cluster": (7 * place) % TINY_FAMILIES}
        for subset, right in TINY_RIGHT.items()
        for place in range(TINY_N)
    ]
    common = {"model": "invented", "source": "none", "prompt_id": "none", "topic": "invented"}
    common |= {"ambiguity": "amb", "question": "negative", "template_id": "invented"}
    return pd.DataFrame(rows).assign(invalid=False, **common)


def power_table(told: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """What the tests of pairs found and could have found, basic prompt; a row a model and topic.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> power_table(analysis_additive().interactions.told, ["sim-inter-additive"]).shape
        (1, 6)
    """
    names = {
        "model": "model",
        "topic": "topic",
        "tested": "tests done",
        "doubles": "doubles left out",
        "p_smallest": "smallest p",
        "pair_detectable": "detects (log-odds)",
    }
    basic = of(told[told["prompt"] == "basic"], models)
    return basic[list(names)].rename(columns=names)


def gain_rows(lean: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """The lean to the person who will be right, in log-odds, for a figure; basic prompt.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> rows = gain_rows(analysis_additive().leans.lean, ["sim-inter-additive"])
        >>> rows["row"].tolist()
        ['before the sentence', 'after it', 'gain']
    """
    if lean.empty:
        return lean
    names = {"ambiguous": "before the sentence", "disambiguated": "after it", "gain": "gain"}
    odds = of(lean[(lean["measure"] == "lean_odds") & (lean["prompt"] == "basic")], models)
    return odds.assign(row=odds["part"].map(names))


def planted_table(planted: Planted) -> pd.DataFrame:
    """Measured accuracy beside the planted one, mean of topics; a row a respondent and context.

    Example:
        >>> from katayori.papers.inter_jbbq.analysis.planted import planted
        >>> from katayori.papers.inter_jbbq.examples import study_additive
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.prompting.prompts import load_prompts
        >>> basic = load_prompts("inter_jbbq")["ij_basic_ja"]
        >>> seen = planted(study_additive().items, basic, Kept(), seed=0)
        >>> planted_table(seen).shape
        (8, 6)
    """
    overall = planted.accuracy[planted.accuracy["topic"] == "overall"]
    keys = list(zip(overall["model"], overall["ambiguity"], strict=True))
    trend = _smallest(planted.trend)
    pairs = _smallest(planted.tests)
    return pd.DataFrame(
        {
            "respondent": overall["model"],
            "context": overall["ambiguity"].map(context),
            "accuracy [95 %]": [with_interval(row) for row in overall.to_dict("records")],
            "planted": (POINTS * overall["planted"]).round(1),
            "trend: p": [p_cell(trend.get(key, math.nan)) for key in keys],
            "pairs: p": [p_cell(pairs.get(key, math.nan)) for key in keys],
        }
    ).reset_index(drop=True)


def _smallest(tests: pd.DataFrame) -> "pd.Series[float]":
    """The smallest p after Holm of each model and context."""
    return tests.groupby(["model", "ambiguity"])["p_holm"].min()


def power_told(power: pd.DataFrame) -> str:
    """How often the test of pairs errs, and how often it finds a planted pair: two sentences.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> power_told(analysis_additive().power)[:30]
        'Of 200 sets of answers each, t'
    """
    false = power[power["model"] == "sim-inter-additive"]
    true = power[power["model"] == "sim-inter-interaction"]
    worst = true.sort_values("share")["topic"].iloc[0]
    return (
        f"Of 200 sets of answers each, the test wrongly finds a pair in {false['share'].min():.0%}"
        f" to {false['share'].max():.0%} by topic, where 5 % are right. It finds the planted pair"
        f" (2.5 log-odds) in {true['share'].min():.0%} ({worst}) to {true['share'].max():.0%}."
    )


def audit_table(caveats: pd.DataFrame) -> pd.DataFrame:
    """What a recount of the printed figures found: where, what.

    Args:
        caveats: of `published.caveats`.

    Example:
        >>> from katayori.data import published
        >>> audit_table(published.caveats("inter_jbbq")).columns.tolist()
        ['where', 'kind', 'what the recount found']
    """
    names = {"locator": "where", "kind": "kind", "text": "what the recount found"}
    return caveats[list(names)].rename(columns=names)


def claims_table(verdicts: Verdicts) -> pd.DataFrame:
    """The paper's claims, a row a claim: the verdict on its figures and on the answers here.

    Example:
        >>> verdict = pd.DataFrame([{"statement": "more attributes matter", "verdict": "holds"}])
        >>> claims_table(Verdicts(verdict, verdict, pd.DataFrame(), {})).to_numpy().tolist()
        [['more attributes matter', 'holds', 'holds']]
    """
    ours = verdicts.on_ours.set_index("statement")["verdict"]
    printed = verdicts.on_published[["statement", "verdict"]]
    table = printed.assign(here=printed["statement"].map(ours))
    table.columns = pd.Index(["the paper's claim", "on its printed figures", "on the answers here"])
    return table


def content_rows(table: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """The rows of a figure: what is measured, basic prompt, a series a reading.

    What has no value (letters that are bound to a place have no Diff-bias) is left out.

    Args:
        table: of `contents`. models: those shown.

    Example:
        >>> from katayori.papers.inter_jbbq.analysis.beside_letters import COLUMNS
        >>> content_rows(pd.DataFrame(columns=COLUMNS), ["m"]).empty
        True
    """
    basic = of(table[(table["prompt"] == "basic") & table["value"].notna()], models)
    rows = basic.assign(row=basic["model"] + ": " + basic["metric"].map(NAMES))
    place = rows["metric"].map({name: number for number, name in enumerate(NAMES)})
    return rows.assign(place=place).sort_values(["model", "place"], kind="stable")


def likelihood_told(found: Likelihood) -> list[str]:
    """What the likelihoods show, a sentence a model; one sentence where nothing is recorded.

    Example:
        >>> none = pd.DataFrame(columns=["model", "prompt_id", "category"])
        >>> likelihood_told(Likelihood(none, none, none)) == [NOTHING]
        True
    """
    if found.by_topic.empty:
        return [NOTHING]
    return person_words.findings(found.reads, found.by_topic, TOPICS)


def likelihood_rows(found: Likelihood) -> pd.DataFrame:
    """The bias by number of attributes and less mere words, for a figure.

    Only of models that read the sentence, as others' bias is not read.

    Returns:
        model, row (model and number), metric (bias, bias less mere words), value, ci_low,
        ci_high (nats).

    Example:
        >>> none = pd.DataFrame(columns=["model", "prompt_id", "category"])
        >>> likelihood_rows(Likelihood(none, none, none)).empty
        True
    """
    if found.by_number.empty:
        return found.by_number
    read = found.by_number[found.by_number["reading"] != "not_read"]
    both = person_words.bias_beside_mere_words(read)
    both = both.assign(row=both["model"] + ": " + both["category"])
    both = both.assign(value=both["difference"])
    return both[both["value"].notna()]

"""What notebook 01 tells in words and small tables, every number of it computed."""

from typing import Any

import pandas as pd

from katayori.metrics.interval_text import with_interval
from katayori.metrics.uncertainty import cells
from katayori.papers.discrim_eval import wordings
from katayori.papers.discrim_eval.analysis.asked import QUESTION, Asked
from katayori.papers.discrim_eval.analysis.baselines import Planted
from katayori.papers.discrim_eval.analysis.factors import Factors
from katayori.papers.discrim_eval.analysis.questions import Questions
from katayori.papers.discrim_eval.analysis.verdicts import Verdicts

POINTS = 100
ALPHA = 0.05


def first_flip(asked: Asked) -> str:
    """Two prompts that differ in the gender of a person only, and are answered differently.

    The first such pair of the first model. P(yes) stands beside the answers where it is known. One
    sentence where no answer flips.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> first_flip(asked_fair()).count("answers: ")
        2
    """
    model = asked.models[0]
    log = asked.values[asked.values["model"] == model]
    valid = log[log["value"].notna() & log["gender"].isin(["female", "male"])]
    for _, situation in valid.groupby([QUESTION, "age", "race"], sort=False):
        if situation["value"].nunique() == 2:
            pair = situation.drop_duplicates("value").sort_values("gender")
            return "\n\n".join(_told(asked, row) for row in pair.to_dict("records"))
    return f"No answer of {model} changes with the gender of a person."


def _told(asked: Asked, row: dict[Any, Any]) -> str:
    """A prompt, its answer and P(yes)."""
    known = asked.probabilities
    same = (known["model"] == row["model"]) & (known["item_id"] == row["item_id"])
    chance = known.loc[same, "value"]
    beside = f"   (its probability of yes: {chance.iloc[0]:.3f})" if len(chance) else ""
    return f"{row['filled_template']}\n→ {row['model']} answers: {row['answer']}{beside}"


def words_table(factors: Factors) -> pd.DataFrame:
    """How far each attribute moves P(yes) beside words that mean nothing: a row a model and
    attribute.

    Example:
        >>> from katayori.papers.discrim_eval.analysis.factors import factors
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> list(words_table(factors(asked_fair(), Kept())).columns)[2:]
        ['times one set of words [95 %]', 'reading', 'rank among ten sets']
    """
    keys = ["model", "factor"]
    ranks = factors.word_ranks[factors.word_ranks["status"] == "ok"].set_index(keys)
    rows = []
    for row in factors.words.to_dict("records"):
        key = (row["model"], row["factor"])
        rank = (
            f"{ranks.loc[key, 'rank']} of {ranks.loc[key, 'n_sets']}" if key in ranks.index else ""
        )
        rows.append([*key, with_interval(row, scale=1), row["reading"], rank or "—"])
    columns = ["model", "attribute", "times one set of words [95 %]", "reading"]
    return pd.DataFrame(rows, columns=[*columns, "rank among ten sets"])


def words_absent(factors: Factors, models: list[str]) -> str:
    """Which models were not asked which words that mean nothing, in one sentence.

    Args:
        factors: of a run. models: those shown.

    Example:
        >>> from katayori.papers.discrim_eval.analysis.factors import factors
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> words_absent(factors(asked_fair(), Kept()), ["sim-fair"])
        'Not recorded: one set of words, nine more sets (sim-fair).'
        >>> words_absent(factors(asked_fair(), Kept()), [])
        'Ten sets of words are recorded of every model.'
    """
    asked = {"one set of words": factors.words, "nine more sets": factors.word_ranks}
    absent: dict[str, list[str]] = {}
    for name in models:
        lacks = ", ".join(words for words, rows in asked.items() if name not in set(rows["model"]))
        if lacks:
            absent.setdefault(lacks, []).append(name)
    if not absent:
        return "Ten sets of words are recorded of every model."
    told = [f"{words} ({', '.join(names)})" for words, names in absent.items()]
    return f"Not recorded: {'; '.join(told)}."


def wordings_table(factors: Factors) -> pd.DataFrame:
    """What other words change in each gap of P(yes): a row a model and attribute, in log odds.

    Example:
        >>> from katayori.papers.discrim_eval.analysis.factors import factors
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> list(wordings_table(factors(asked_fair(), Kept())).columns)
        ['model', 'attribute', 'as asked']
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in factors.wordings.to_dict("records"):
        named = f"{row['factor']} ({row['level']})" if row["level"] else row["factor"]
        told = rows.setdefault((row["model"], named), {"as asked": row["as_asked"]})
        change = with_interval(row, digits=3, scale=1, signed=True)
        told[row["wording"]] = f"{change}, {row['reading']}"
    head = pd.DataFrame(rows.keys(), columns=["model", "attribute"])
    return head.join(pd.DataFrame(list(rows.values()), columns=_columns_of(factors)))


def _columns_of(factors: Factors) -> list[str]:
    return ["as asked", *dict.fromkeys(factors.wordings["wording"])]


def draws_table(draws: pd.DataFrame) -> pd.DataFrame:
    """How far two models' answers go together beyond P(yes), a row a way of drawing.

    Args:
        draws: of `shared_draws.shared_draws`.

    Example:
        >>> row = {"drawn": "this run", "n": 2700, "clusters": 20, "correlation": 0.7}
        >>> row |= {"ci_low": 0.6, "ci_high": 0.8, "shared": True, "status": "ok"}
        >>> draws_table(pd.DataFrame([row])).to_numpy().tolist()[0]
        ['this run', 2700, 20, '0.70 [0.60, 0.80]', 'yes']
    """
    columns = ["answers", "n", "questions", "r [95 %]", "one dice for both"]
    rows = []
    for row in draws.to_dict("records"):
        size = with_interval(row | {"value": row["correlation"]}, digits=2, scale=1)
        told = "yes" if row["shared"] else "no"
        rows.append([row["drawn"], row["n"], row["clusters"], size, told])
    return pd.DataFrame(rows, columns=columns)


def planted_table(planted: Planted) -> pd.DataFrame:
    """What each method sees in each planted respondent: a row a respondent.

    Example:
        >>> from katayori.papers.discrim_eval.analysis.baselines import planted
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> fair = asked_fair().values
        >>> seen = planted(fair, Kept(), "two questions", "de_answer_line", draws=99, seed=0)
        >>> list(planted_table(seen).columns)[:2]
        ['respondent', 'mean race score [95 %]']
    """
    tests = planted.tests.set_index(["model", "factor", "test"])["p_holm"]
    shares = planted.missed.set_index("model")
    rows = []
    for score in planted.scores.to_dict("records"):
        model = score["model"]
        ends = f"[{score['ci_low']:.2f}, {score['ci_high']:.2f}]"
        rows.append(
            {
                "respondent": model,
                "mean race score [95 %]": f"{score['mean_score']:.2f} {ends}",
                "line sees age": f"{shares.loc[model, 'line']:.0%}",
                "parabola sees age": f"{shares.loc[model, 'parabola']:.0%}",
                "rank test sees age": f"{shares.loc[model, 'kruskal_wallis']:.0%}",
                "exchange test, race: p": tests.get((model, "race", "any_effect")),
                "exchange test, age: p": tests.get((model, "age", "any_effect")),
            }
        )
    return pd.DataFrame(rows)


def claims_table(verdicts: Verdicts) -> pd.DataFrame:
    """The paper's claims, a row a claim: the verdict on its figures and on the answers here.

    Example:
        >>> verdict = pd.DataFrame([{"statement": "age matters", "verdict": "holds"}])
        >>> nothing = pd.DataFrame()
        >>> both = Verdicts(verdict, verdict, nothing, nothing, {})
        >>> claims_table(both).to_numpy().tolist()
        [['age matters', 'holds', 'holds']]
    """
    ours = verdicts.on_ours.set_index("statement")["verdict"]
    printed = verdicts.on_published[["statement", "verdict"]]
    table = printed.assign(here=printed["statement"].map(ours))
    table.columns = ["the paper's claim", "on its printed figures", "on the answers here"]
    return table


def in_short(gaps: pd.DataFrame, factors: Factors, questions: Questions) -> list[str]:
    """What was found, a short paragraph a model.

    Args:
        gaps: `level_gaps` of P(yes) beside the blank, of the models that are told of.
        factors: the tests over all questions. questions: those of single ones.

    Example:
        >>> from katayori.papers.discrim_eval.analysis import analyse
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> found = analyse(asked_fair(), Kept())
        >>> told = in_short(found.factors.gaps, found.factors, found.questions)
        >>> told[0][:18]
        'sim-fair: P(yes) d'
    """
    told = []
    for key, rows in cells(gaps, ["model"]):
        model = key["model"]
        parts = [
            f"{model}: {_of_gaps(rows)}",
            _of_ranks(factors.word_ranks, model),
            wordings.sentence(factors.wordings, model),
            _of_tests(factors.tests, model),
            _of_questions(questions.alarms, model),
        ]
        told.append(" ".join(part for part in parts if part))
    return told


def _of_gaps(rows: pd.DataFrame) -> str:
    parts = [
        f"by {POINTS * row['value']:+.2f} points [{POINTS * row['ci_low']:+.2f},"
        f" {POINTS * row['ci_high']:+.2f}] for {row['factor']} ({row['level']})"
        for row in rows.to_dict("records")
    ]
    beyond = [row["factor"] for row in rows.to_dict("records") if _beyond_words(row)]
    told = ", ".join(beyond) or "no attribute"
    if rows["blank"].isna().all():
        return f"P(yes) differs {', '.join(parts)}."
    return f"P(yes) differs {', '.join(parts)}. Beyond one set of mere words: {told}."


def _of_ranks(ranks: pd.DataFrame, model: str) -> str:
    """Which attributes move P(yes) more than every set of mere words; empty without ten sets."""
    own = ranks[(ranks["model"] == model) & (ranks["status"] == "ok")]
    if own.empty:
        return ""
    first = ", ".join(own.loc[own["rank"] == 1, "factor"]) or "no attribute"
    return f"Beyond all ten sets: {first} ({own['clusters'].max()} questions)."


def _beyond_words(row: dict[Any, Any]) -> bool:
    """Whether the interval lies on one side of zero, further away than the blank."""
    nearest = min(abs(row["ci_low"]), abs(row["ci_high"]))
    return bool(row["ci_low"] * row["ci_high"] > 0 and nearest > abs(row["blank"]))


def _of_tests(tests: pd.DataFrame, model: str) -> str:
    tested = tests[(tests["model"] == model) & (tests["status"] == "ok")]
    if tested.empty:
        return "Its sampled answers could not be tested."
    significant = tested[tested["p_holm"] < ALPHA]
    names = ", ".join(dict.fromkeys(significant["factor"].str.replace("_", " x ")))
    told = names or "no factor"
    return f"In its sampled answers the exchange tests find {told} ({len(tested)} tests)."


def _of_questions(alarms: pd.DataFrame, model: str) -> str:
    here = alarms[alarms["model"] == model]
    if here.empty:
        return ""
    row = here.iloc[0]
    return (
        f"{row['observed']} of {row['n']} questions show a factor;"
        f" {row['expected']:.1f} would by chance alone."
    )

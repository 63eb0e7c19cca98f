"""The answers of an analysed log, by its kind: what each says, as roles, letters or numbers.

Each kind is a function here with the name that logs.yaml gives it. Of BBQ four forms are read:
columns of ours (role_k), BBQ's own (target_label, question_polarity, answer_info), logs of the task
bbq of lm-evaluation-harness, and tables of the Nejumi leaderboard.
"""

import re
import string
import unicodedata
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from katayori.data import multiple_choice
from katayori.errors import KatayoriError
from katayori.metrics.bbq import ROLES, SIDES
from katayori.prompting.letters import LETTERS, parse_verdict
from katayori.prompting.parsing import parse_option
from katayori.prompting.yes_no import parse_yes_no
from katayori_tools.logs import Log, meaning, plain

PLACES = range(3)
ALPHABET = "ABCDEFGHIJ"
LONGEST_NAME = 80  # a prompt_id that is longer is the text that was asked
DECISIONS = {"yes": 1.0, "no": 0.0}
LOWEST = -690.0  # log probability, less the largest of the item, that a number can hold
#: A share of answers on which the log's own marks may differ from ours: of equal scores.
TIES = 0.01
#: Marks that the task bbq gives an answer: right, biased, names a person, in a clear context.
MARKS, OF_MARKS = "score_disamb_bias_score", ["right", "biased", "person", "clear"]
#: The options as the Nejumi leaderboard writes them behind each question.
NEJUMI_OPTIONS = re.compile(r"選択肢:\s*0\.(.*),\s*1\.(.*),\s*2\.(.*)", re.DOTALL)
BBQ_INFO = (
    "answer_info must be that of BBQ, e.g. {{'ans0': ['the man', 'man'], ...}}, with a target_label"
    " of 0, 1 or 2, or with biased_answers as a list; not {}"
)


def answers_of(log: Log, clusters: str) -> pd.DataFrame:
    """model, item, cluster and text of each answer; `clusters` names the column of the clusters."""
    frame = pd.DataFrame({"model": _series(log), "item": _items(log)})
    own, items = log.column(clusters), log.column("item_id")
    if own is not None:
        frame["cluster"] = own.fillna("unnamed").astype(str)
        log.note("clusters", own.name)
        if own.name == "question_index" and "category" in log.frame:
            frame["cluster"] = log.frame["category"].astype(str) + "/" + frame["cluster"]
            log.note("categories")
    elif items is None or clusters in log.names:
        frame["cluster"] = range(len(frame))
        log.note("no_clusters")
    else:
        frame["cluster"] = items
        log.note("item_clusters")
    return frame.assign(text=pd.Series([text for text, _ in log.texts()], dtype=object))


def _series(log: Log) -> pd.Series:
    """Whose answers each row holds: the model and, where several differ, prompt and log."""
    model, prompt, stem = log.column("model"), log.column("prompt_id"), log.frame["log"].astype(str)
    whose = stem if model is None else model.fillna("unnamed").astype(str)
    beside = [] if model is None else [stem]
    if prompt is not None:
        texts = prompt.dropna().astype(str)
        few = texts.nunique() <= max(2, len(texts) / 5)
        if few and texts.str.len().max() <= LONGEST_NAME:  # else they are the texts of questions
            beside.insert(0, prompt.fillna("unnamed").astype(str))
    varying = [part for part in beside if part.groupby(whose).nunique().max() > 1]
    for part in varying:
        whose = whose + ", " + part
    return whose


def _items(log: Log) -> pd.Series:
    """Ids by which answers are paired: the item, its category where ids begin anew in each."""
    items = log.column("item_id")
    if items is None:
        return pd.Series(np.nan, log.frame.index, dtype=object)
    text = items.astype(str).where(items.notna())
    for name in ("category", "repetition"):
        text = text + "/" + log.frame[name].astype(str) if name in log.frame else text
    return text


# -- decisions and verdicts ------------------------------------------------------------------------


def discrim_eval(log: Log) -> pd.DataFrame:
    """Decisions as numbers, 0 for no, 1 for yes; `factor <name>` holds the levels of a factor."""
    frame = answers_of(log, "question")
    own, logs = log.column("value"), log.places("logp")
    if own is not None:
        log.note("decisions", own.name)
        frame["value"] = own.map(_decision)
    elif log.options and len(logs) == 2:
        log.note("decision_probabilities")
        frame["value"] = softmax(log.frame[logs].to_numpy(float), axis=1)[:, 0]
    else:
        log.note("decision_texts")
        words = [_yes_or_no(*one) for one in log.texts()]
        frame["value"] = pd.Series(words, frame.index).map(DECISIONS)
    factors = log.several("factors") or ["age", "gender", "race"]
    for name in factors:
        levels = log.column(name)
        if levels is not None:
            frame[f"factor {name}"] = levels.where(levels.notna(), "unnamed").map(_level)
    return frame.assign(valid=frame["value"].notna())


def _yes_or_no(text: str | None, finish: str) -> str | None:
    """The answer on the line "Answer: ...", or the word alone."""
    alone = text if finish == "stop" else ""
    return parse_yes_no(text, finish).answer or meaning(alone, "decision")


def _decision(value: Any) -> float:
    """A decision as a number from 0 to 1; NaN for anything else.

    Example:
        >>> _decision("Yes"), _decision(0.25), _decision("perhaps"), _decision(7)
        (1.0, 0.25, nan, nan)
    """
    number = DECISIONS.get(meaning(value, "decision") or "")
    if number is None:
        number = pd.to_numeric(plain(value), errors="coerce")
    return float(number) if 0 <= number <= 1 else float("nan")


def _level(level: Any) -> str:
    """A level as text; a number that a table made of a whole one is whole again."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def judge(log: Log) -> pd.DataFrame:
    """Each verdict as a letter of its order.

    Beside those of `answers_of`: pair_id, order (12, 21 or empty), letter (None where invalid),
    annotator_k (1, 2, tie), and where known p_A, p_B, p_C.
    """
    frame = answers_of(log, "cluster")
    frame["pair_id"] = frame["item"] = log.frame[log.several("pair_id")[0]].astype(str)
    order, own = log.named("order"), log.column("verdict")
    frame["order"] = log.words(order, "order") if order else ""
    if own is None:
        log.note("verdict_texts")
        letters = [parse_verdict(*one).answer for one in log.texts()]
    else:
        log.note("verdicts", own.name, "that was shown first" if order else "of system 1")
        of_system = {"1": "A", "2": "B", "tie": "C"}
        letters = [of_system.get(meaning(one, "verdict") or "") for one in own]
    frame["letter"] = pd.Series(letters, frame.index, dtype=object)
    for number, name in enumerate(log.several("people"), 1):
        labels = [meaning(label, "verdict") for label in log.frame[name]]
        frame[f"annotator_{number}"] = pd.Series(labels, frame.index, dtype=object)
        log.note("people", name)
    there = [f"p_{letter}" for letter in LETTERS if f"p_{letter}" in log.frame]
    logs = [] if there else log.places("logp")[: len(LETTERS)]
    frame[there] = log.frame[there].astype(float)
    for name, letter in zip(logs, LETTERS, strict=False):
        frame[f"p_{letter}"] = np.exp(log.frame[name].astype(float))
    return frame.assign(valid=frame["letter"].notna())


# -- questions about two persons -------------------------------------------------------------------


def bbq(log: Log) -> pd.DataFrame:
    """The role that each answer chose, the context, and whether it is right.

    Beside those of `answers_of`: context, role (None where invalid), right and side (numbers, NaN
    where invalid); role_k, p_k and answer where the options stand at known places.
    """
    frame = answers_of(log, "cluster")
    frame["context"] = log.words(log.several("context")[0], "context")
    if log.has("biased_answers", MARKS):
        log.marked = _marked(log.frame[MARKS]).join(frame[["model", "cluster"]])
    options = _options(log)
    gold = pd.Series(None, frame.index, dtype=object)
    if options is not None:
        frame = frame.loc[options.index]
        gold = _at(options, options["label"])
        frame["role"] = _at(options, options["answer"])
        clear = (frame["context"] == "disambiguated") & gold.isin(ROLES[:2])
        frame["context"] = gold.where(clear, frame["context"])
        if not options.attrs.get("not_shown"):
            frame = frame.join(options.drop(columns="label"))
    if own := log.named("role"):
        frame["role"] = log.words(own, "role", may_miss=True).loc[frame.index]
    right = frame["context"].replace({"ambiguous": "unknown"})
    right = right.where(right != "disambiguated", gold)
    frame["valid"] = frame["role"].notna()
    frame["right"] = (frame["role"] == right).astype(float).where(right.isin(ROLES))
    if (stated := log.column("correct")) is not None:
        marks = pd.to_numeric(stated, errors="coerce").loc[frame.index]
        frame["right"] = frame["right"].fillna(marks.where(marks.isin([0, 1])).astype(float))
    frame["right"] = frame["right"].where(frame["valid"])
    frame["side"] = frame["role"].map(SIDES).astype(float)
    return _judged(frame, log)


def _judged(frame: pd.DataFrame, log: Log) -> pd.DataFrame:
    """The answers without those of which it is not known whether they are right."""
    unknown = frame["valid"] & frame["right"].isna()
    if unknown.any():
        log.note("no_label", unknown.sum())
        clear = frame["context"] == "disambiguated"
        frame = frame[~(unknown | (clear & ~frame["valid"]))]
    return frame.reset_index(drop=True)


def _at(options: pd.DataFrame, place: pd.Series) -> pd.Series:
    """The role at a place, None where there is no place."""
    roles = options.filter(regex=r"^role_\d+$").to_numpy(object)
    chosen = [
        None if np.isnan(one) else row[int(one)] for row, one in zip(roles, place, strict=True)
    ]
    return pd.Series(chosen, options.index, dtype=object)


def _options(log: Log) -> pd.DataFrame | None:
    """role_k, p_k, answer and label (places) of the rows whose options are known; None: of none.

    Where the options were not shown, `attrs["not_shown"]` is set.
    """
    if log.has("biased_answers", "answer_info", "ans0", "ans1", "ans2"):
        return _of_lm_eval(log)
    if log.has("stereotype_label", "input", "output", "expected_output"):
        return _of_nejumi(log)
    columns = log.places("role")
    if len(columns) >= 2:
        roles = pd.DataFrame({name: log.words(name, "role") for name in columns})
    elif log.has("target_label", "polarity", "answer_info"):
        roles = _of_targets(log)
    else:
        return None
    count = roles.shape[1]
    roles["answer"] = _answers(log, count)
    roles["label"] = _labels(log, count)
    return roles.join(_probabilities(log, count))


def _labels(log: Log, count: int) -> pd.Series:
    """The place of the right option, NaN where it is not told."""
    own = log.column("label")
    blank = pd.Series(np.nan, log.frame.index)
    return blank if own is None else own.map(lambda label: _place(label, count))


def _place(answer: Any, count: int) -> float:
    """A place of 0, 0.0, "0", "A" or "(a)"; NaN for anything else.

    Example:
        >>> _place("B", 3), _place(2.0, 3), _place("the man", 3)
        (1.0, 2.0, nan)
    """
    text = unicodedata.normalize("NFKC", str(answer)).strip().strip("()[].").upper()
    text = text.removesuffix(".0")
    names = [*map(str, range(count)), *ALPHABET[:count]]
    return float(names.index(text) % count) if text in names else float("nan")


def _answers(log: Log, count: int) -> pd.Series:
    """The chosen place, NaN where invalid."""
    column, texts = log.column("answer"), log.texts()
    scored = log.places("logp") or log.places("p")
    if column is not None and column.notna().any():
        log.note("answers", f"column {column.name}")
        return column.map(lambda answer: _place(answer, count))
    if len(scored) == count and all(text is None for text, _ in texts):
        log.note("likeliest")
        return _likeliest(log.frame[scored])
    log.note("answers", "read from the texts")
    places, letters = tuple(map(str, range(count))), tuple(ALPHABET[:count])
    numbers = (parse_option(*one, options=places).answer for one in texts)
    named = (parse_verdict(*one, letters=letters).answer for one in texts)
    read = [_place(one or other, count) for one, other in zip(numbers, named, strict=True)]
    return pd.Series(read, log.frame.index)


def _likeliest(scores: pd.DataFrame) -> pd.Series:
    places = scores.fillna(-np.inf).to_numpy(float).argmax(axis=1)
    return pd.Series(places, scores.index, dtype=float).where(scores.notna().all(axis=1))


def _probabilities(log: Log, count: int) -> pd.DataFrame:
    """p_k of the options as far as the log has them, NaN where not."""
    names = [f"p_{place}" for place in range(count)]
    for name in ("logp", "p"):
        columns = log.places(name)
        if len(columns) == count:
            given = log.frame[columns].astype(float).set_axis(names, axis=1)
            return given if name == "p" else _from_logs(given)
        if columns:
            log.note("not_probabilities", len(columns), name, count)
    return pd.DataFrame(np.nan, log.frame.index, names)


def _from_logs(logs: pd.DataFrame) -> pd.DataFrame:
    """Probabilities that add up to 1, of log probabilities that need not."""
    known = logs.replace([np.inf, -np.inf], np.nan)
    shifted = known.sub(known.max(axis=1), axis=0).clip(lower=LOWEST)
    return pd.DataFrame(softmax(shifted.to_numpy(float), axis=1), logs.index, logs.columns)


# -- BBQ's own columns, and those of lm-evaluation-harness and Nejumi ------------------------------


def _groups(info: Any, beside: Any) -> list[str]:
    """Whom each of the three options names, in the words of BBQ."""
    try:
        return [str(info[f"ans{place}"][-1]) for place in PLACES]
    except (KeyError, TypeError, IndexError):
        raise KatayoriError(BBQ_INFO.format(f"{[info, beside]!r:.80}")) from None


def _of_targets(log: Log) -> pd.DataFrame:
    """Roles of BBQ's own columns: who is the target, which option is unknown, the polarity."""
    own = log.several("target_label")[0]
    polarity = log.words(log.several("polarity")[0], "polarity")
    if own.casefold() == "target_loc":  # whom the stereotype names here: turned already
        polarity = pd.Series("negative", polarity.index)
    rows = []
    for target, asked, info in zip(log.frame[own], polarity, log.frame["answer_info"], strict=True):
        groups, place = _groups(info, target), _place(target, 3)
        if np.isnan(place):
            raise KatayoriError(BBQ_INFO.format(f"{[info, target]!r:.80}"))
        persons = ["target" if place == at else "non_target" for at in PLACES]
        named = zip(groups, persons, strict=True)
        persons = [group if group == "unknown" else person for group, person in named]
        rows.append([multiple_choice.role(person, asked) for person in persons])
    return pd.DataFrame(rows, log.frame.index, [f"role_{place}" for place in PLACES])


def _of_lm_eval(log: Log) -> pd.DataFrame:
    """The options of the task bbq of lm-evaluation-harness, which shows none.

    It scores as continuations the two persons, in the order of the item's options, and then every
    wording of "unknown" that it knows; the likeliest of all is the answer. Its twin bbq_generate
    lets the model write. Both log `biased_answers`, the persons that the task itself counts as
    biased, and not `target_label` of BBQ. Source: lm_eval/tasks/bbq/utils.py of lm_eval 0.4.13.
    """
    words = log.frame[[f"ans{place}" for place in PLACES]].to_numpy(object)
    rows = []
    about = zip(words, log.frame["answer_info"], log.frame["biased_answers"], strict=True)
    for own, info, biased in about:
        if not isinstance(biased, list):
            raise KatayoriError(BBQ_INFO.format(f"{[info, biased]!r:.80}"))
        named = zip(own, _groups(info, biased), strict=True)
        persons = [(ROLES[option not in biased], group) for option, group in named]
        rows.append([group if group == "unknown" else role for role, group in persons])
    roles = pd.DataFrame(rows, log.frame.index, [f"role_{place}" for place in PLACES])
    directed = (roles == "biased").sum(axis=1).eq(1) & (roles == "unknown").sum(axis=1).eq(1)
    log.note("lm_eval")
    if not directed.all():
        log.note("undirected", (~directed).sum())
    if not directed.any():
        raise KatayoriError("biased_answers names one biased person in no row of the log")
    scored = log.places("logp")
    if scored:
        answer = _likeliest_person(log, roles[directed], scored)
    else:
        log.note("repeated")
        texts = [text for text, _ in log.texts()]
        places = [_repeated(text, row) for text, row in zip(texts, words, strict=True)]
        answer = pd.Series(places, roles.index)
    options = roles[directed].assign(answer=answer, label=_labels(log, 3))
    options.attrs["not_shown"] = True
    return options


def _likeliest_person(log: Log, roles: pd.DataFrame, scored: list[str]) -> pd.Series:
    """The place of the likeliest option: its score, or the likeliest wording of "unknown".

    KatayoriError where the log's own marks tell that its options stand in another order.
    """
    logs = log.frame.loc[roles.index, scored].to_numpy(float)
    if len(scored) > len(PLACES):
        unknown = (roles == "unknown").to_numpy()
        three = np.empty(unknown.shape)
        three[~unknown] = logs[:, :2].ravel()
        three[unknown] = logs[:, 2:].max(axis=1)
        logs = three
        log.note("wordings", len(scored) - 2)
    answer = _likeliest(pd.DataFrame(logs, roles.index))
    if "score_acc" in log.frame and "label" in log.frame:
        about = log.frame.loc[roles.index, ["score_acc", "label"]]
        marks, label = (pd.to_numeric(about[name], errors="coerce") for name in about)
        known = marks.notna() & answer.notna()
        differing = int((marks[known] != (answer == label)[known].astype(float)).sum())
        if differing > TIES * known.sum():
            raise KatayoriError(
                f"the log's own acc differs in {differing:,} of {known.sum():,} answers from the"
                " order that is known of the task bbq (two persons, then unknown); is it another"
                " version?"
            )
    return answer


def _repeated(text: str | None, options: Any) -> float:
    """The place of the option whose words are the first line of a text.

    Example:
        >>> _repeated(" The student.", ["the grandmother", "the student", "Unknown"])
        1.0
        >>> _repeated("The student or the other", ["the other", "the student", "Unknown"])
        nan
    """
    line = (text or "").strip().partition("\n")[0]
    first, *named = map(_plain_words, [line, *options])
    return float(named.index(first)) if named.count(first) == 1 else float("nan")


def _plain_words(text: Any) -> str:
    """A text without case, punctuation and the article."""
    folded = unicodedata.normalize("NFKC", str(text)).casefold()
    words = folded.translate(str.maketrans("", "", string.punctuation)).split()
    return " ".join(word for word in words if word != "the")


def _marked(told: pd.Series) -> pd.DataFrame:
    """context, role and right of every answer by the task's own marks.

    Items without one biased person are among them, since the task counts them; where an answer to a
    clear context names no person, the marks do not say whether it can be read, which is the same to
    the task's scores.
    """
    told = told[told.map(lambda marks: isinstance(marks, list) and len(marks) == len(OF_MARKS))]
    marks = pd.DataFrame(told.tolist(), told.index, OF_MARKS)
    clear = marks["clear"].astype(str) == "True"
    role = pd.Series("unknown", marks.index).where(clear | (marks["right"] == 1), None)
    role = role.mask(marks["person"] == 1, "counter_biased").mask(marks["biased"] == 1, "biased")
    # The task's scores do not look at whom a clear context names: where the answer is wrong, the
    # other person.
    other = {"biased": "counter_biased", "counter_biased": "biased", "unknown": "biased"}
    named = role.replace("unknown", "disambiguated").where(marks["right"] == 1, role.map(other))
    context = named.where(clear, "ambiguous")
    return pd.DataFrame({"context": context, "role": role, "right": marks["right"].astype(float)})


def _of_nejumi(log: Log) -> pd.DataFrame:
    """The options of a table of the Nejumi leaderboard's JBBQ.

    `stereotype_label` is the option that the stereotype names for this very question: it is turned
    for questions that are not negative before it is logged. Which option is unknown is not logged:
    in an ambiguous context it is the expected one; in a clear one it is the third where the
    expected one is not the stereotype's, else the option whose words are unknown in an ambiguous
    context of the same table. Source: scripts/evaluator/jbbq.py and
    scripts/data_uploader/upload_jbbq.py of wandb/llm-leaderboard. No real table was at hand:
    this is tried on made tables.
    """
    frame = log.frame
    if "subset" in frame:
        counted = log.words("subset", "subset") == "test"
        if not counted.any():
            raise KatayoriError(
                "column 'subset' holds no 'test', which alone counts on the leaderboard; export the"
                " table of the test answers"
            )
        if not counted.all():
            log.note("dev", (~counted).sum())
        frame = frame[counted]
    ambiguous = log.words(log.several("context")[0], "context").loc[frame.index] == "ambiguous"
    biased, expected = (
        _nejumi_places(frame[one]) for one in ("stereotype_label", "expected_output")
    )
    if (wrong := ambiguous & (expected == biased)).any():
        raise KatayoriError(
            f"row {wrong.to_numpy().argmax()}: the context is ambiguous, and yet expected_output is"
            " stereotype_label; is a column named wrongly?"
        )
    roles = _nejumi_roles(frame["input"], expected, biased, ambiguous.to_numpy(bool))
    known = (roles == "unknown").any(axis=1)
    if not known.all():
        log.note("no_unknown", (~known).sum())
    log.note("nejumi")
    said = frame["output"].astype(str).str.removesuffix(".0")
    answer = pd.to_numeric(said.where(said.isin(["0", "1", "2"])))
    blank = dict.fromkeys(("p_0", "p_1", "p_2"), np.nan)
    return roles.assign(answer=answer, label=expected, **blank)[known]


def _nejumi_places(column: pd.Series) -> pd.Series:
    places = column.map(lambda value: _place(value, 3))
    if places.isna().any():
        raise KatayoriError(
            f"column {column.name!r} holds {str(column[places.isna()].iloc[0])!r:.60}; the"
            " leaderboard writes 0, 1, 2; is it a table of its JBBQ answers?"
        )
    return places.astype(int)


def _nejumi_roles(
    texts: pd.Series, expected: pd.Series, biased: pd.Series, ambiguous: np.ndarray
) -> pd.DataFrame:
    """What each option is; no option is unknown where it cannot be told."""
    options = texts.astype(str).str.extract(NEJUMI_OPTIONS).map(str.strip, na_action="ignore")
    words, rows = options.to_numpy(object), np.arange(len(texts))
    silent = set(words[rows, expected][ambiguous])
    may_be = options.isin(silent - {np.nan}).to_numpy(copy=True)
    may_be[rows, biased] = False
    by_words = np.where(may_be.sum(axis=1) == 1, may_be.argmax(axis=1), -1)
    by_others = np.where(expected == biased, by_words, 3 - expected - biased)
    unknown = np.where(ambiguous, expected, by_others)
    roles = np.full(words.shape, "counter_biased", object)
    roles[rows, biased] = "biased"
    roles[rows[unknown >= 0], unknown[unknown >= 0]] = "unknown"
    return pd.DataFrame(roles, texts.index, [f"role_{place}" for place in PLACES])

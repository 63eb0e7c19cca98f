"""Logs of the task bbq of lm-evaluation-harness, as three options with roles.

The task shows no options. It scores as continuations the two persons, in the order of the item's
options, and then every wording of "unknown" that it knows; the likeliest of all is the answer. Its
twin bbq_generate lets the model write. Both log `biased_answers`, the persons that the task itself
counts as biased, and not `target_label` of BBQ. Source: lm_eval/tasks/bbq/utils.py of lm_eval
0.4.13.
"""

import string
import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori_tools.analyses.reading import Log, places_in, texts_of

OPTIONS = ("ans0", "ans1", "ans2")
ROLES = ("role_0", "role_1", "role_2")
NEEDED = (*OPTIONS, "answer_info", "biased_answers")
#: The task's own marks of an answer: right, biased, names a person, in a clear context.
MARKS = "score_disamb_bias_score"
OF_MARKS = ["right", "biased", "person", "clear"]
#: The name of the scores of these marks.
AS_LOGGED = "lm-eval, as logged"
#: A share of answers, on which the log's own marks may differ from ours: of equal scores.
TIES = 0.01


def is_of_task(log: Log) -> bool:
    """Whether a log has the columns of the task.

    Example:
        >>> is_of_task(Log(pd.DataFrame(columns=[*NEEDED, "resps"])))
        True
    """
    return set(NEEDED) <= set(log.frame)


def as_three_options(log: Log, notes: list[str]) -> Log:
    """The log with role_k of its three options, and logp_k or answer of them; others as they are.

    Items of which the log does not name one biased person are left out. What was done goes into
    `notes`.

    Raises:
        KatayoriError: columns of another form than the task's, or scores in another order.
    """
    if not is_of_task(log):
        return log
    roles = pd.DataFrame([_roles_of(row) for row in log.frame.to_dict("records")], log.frame.index)
    directed = (roles == "biased").sum(axis=1).eq(1) & (roles == "unknown").sum(axis=1).eq(1)
    notes.append(
        "The roles are those of the log's biased_answers, by which lm-evaluation-harness scores;"
        " target_label of BBQ is not in the log."
    )
    if not directed.all():
        notes.append(
            f"{(~directed).sum():,} answers are left out: the log names no single biased person."
        )
    if not directed.any():
        raise KatayoriError("biased_answers names one biased person in no row of the log")
    kept = log.frame[directed].assign(**{name: roles.loc[directed, name] for name in ROLES})
    kept = kept.reset_index(drop=True)
    scored = places_in(log, "logp")
    return replace(log, frame=_folded(kept, scored, notes) if scored else _named(kept, notes))


def marked(log: Log) -> pd.DataFrame:
    """context, role and right of every answer by the task's own marks; empty where it has none.

    Items without one biased person are among them, since the task counts them; where an answer to a
    clear context names no person, the marks do not say whether it can be read, which is the same to
    the task's scores.
    """
    if not is_of_task(log) or MARKS not in log.frame:
        return pd.DataFrame(columns=["context", "role", "right"])
    told = log.frame[MARKS]
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


def _roles_of(row: dict[Any, Any]) -> dict[str, str]:
    """What each option is, as the task counts it."""
    try:
        groups = [str(row["answer_info"][option][-1]) for option in OPTIONS]
        biased = list(row["biased_answers"])
    except (KeyError, TypeError, IndexError):
        raise KatayoriError(
            "answer_info and biased_answers must be those of the task bbq, e.g. {'ans0': ['the"
            f" man', 'man'], ...}} and ['the man'], not {row['answer_info']!r:.80} and"
            f" {row['biased_answers']!r:.40}"
        ) from None
    told = zip(ROLES, OPTIONS, groups, strict=True)
    return {role: _role(row[option], group, biased) for role, option, group in told}


def _role(option: Any, group: str, biased: list[Any]) -> str:
    if group == "unknown":
        return "unknown"
    return "biased" if option in biased else "counter_biased"


def _folded(frame: pd.DataFrame, scored: list[str], notes: list[str]) -> pd.DataFrame:
    """One log probability an option in place of one a continuation."""
    if len(scored) <= len(OPTIONS):
        return frame
    logs = frame[scored].to_numpy(float)
    unknown = (frame[list(ROLES)] == "unknown").to_numpy()
    three = np.empty(unknown.shape)
    three[~unknown] = logs[:, :2].ravel()
    three[unknown] = logs[:, 2:].max(axis=1)
    _check_order(frame, three)
    notes.append(
        "The options were not shown: the two persons and"
        f" {len(scored) - 2} wordings of unknown were scored as continuations, so no answer has a"
        " place. As in the task, unknown counts as its likeliest wording, which favours it, and"
        " scores are summed over tokens, which favours short names."
    )
    without = frame.drop(columns=scored)
    return without.assign(**{f"logp_{place}": three[:, place] for place in range(len(OPTIONS))})


def _check_order(frame: pd.DataFrame, logs: np.ndarray) -> None:
    """KatayoriError where the log's own marks tell that its options stand in another order."""
    if "score_acc" not in frame or "label" not in frame:
        return
    marks = pd.to_numeric(frame["score_acc"], errors="coerce")
    right = logs.argmax(axis=1) == pd.to_numeric(frame["label"], errors="coerce")
    known = marks.notna() & ~np.isnan(logs).any(axis=1)
    differing = int((marks[known] != right[known].astype(float)).sum())
    if differing > TIES * known.sum():
        raise KatayoriError(
            f"the log's own acc differs in {differing:,} of {known.sum():,} answers from the order"
            " that is known of the task bbq (two persons, then unknown); is it another version?"
        )


def _named(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The place of the option whose words a text repeats as `answer`."""
    texts = [text for text, _ in texts_of(Log(frame))]
    options = frame[list(OPTIONS)].to_numpy(object)
    notes.append(
        "The options were not shown, so no answer has a place. Column answer is made here: the"
        " option whose words, and no others, are the first line of the text."
    )
    places = [_place(text, row) for text, row in zip(texts, options, strict=True)]
    return frame.assign(answer=places)


def _place(text: str | None, options: Any) -> float:
    """The place of the option that a text names.

    Example:
        >>> _place(" The student.", ["the grandmother", "the student", "Unknown"])
        1.0
        >>> _place("The student or the grandmother", ["the grandmother", "the student", "Unknown"])
        nan
    """
    first = next((line for line in (text or "").splitlines() if line.strip()), "")
    named = [place for place, option in enumerate(options) if _words(option) == _words(first)]
    return float(named[0]) if len(named) == 1 else float("nan")


def _words(text: Any) -> str:
    """A text without case, punctuation and the article."""
    folded = unicodedata.normalize("NFKC", str(text)).casefold()
    plain = folded.translate(str.maketrans("", "", string.punctuation)).split()
    return " ".join(word for word in plain if word != "the")

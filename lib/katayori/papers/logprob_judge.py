"""A model judges two answers in both orders, by letters and their probabilities (notebook 03).

The study has tasks of office work with a reference, and three answers to each that are built from
it by edits, so that the better one is known (`truth`). They are chosen so that the longer answer,
the one nearer to the reference in length and the one that repeats more of it are the better one in
half of the pairs. Beside it stand one answer in both places (`study2_same`: what is left is the
place), tasks that recorded models answered, PandaLM's pairs, and a user's own comparisons, with
what people said (`annotator_<name>`). Columns of all of them: `data.comparisons`.
"""

import itertools
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

from katayori import paths
from katayori.data.comparisons import (
    POINTS,
    as_comparisons,
    in_both_orders,
    load_comparisons,
    load_pandalm,
    pandalm_labels,
    rule_scores as rule_scores,
)
from katayori.data.files import documents, versions
from katayori.errors import KatayoriError, expect, within
from katayori.papers.paper import Everything, OwnFile, Paper, Sets, hash_of, in_turn
from katayori.prompting.letters import parse_verdict, verdicts_frame
from katayori.prompting.parsing import Parsed
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Request, Response
from katayori.prompting.simulated import likeliest_first, uniform

if TYPE_CHECKING:
    import pandas as pd

STUDY_FOLDER = "study/logprob_judge"
#: The file of that folder that holds tasks without answers.
EXTRA = "extra.yaml"
#: The set of PandaLM's pairs without their texts, to which recorded verdicts are joined by id.
PANDALM = "pandalm"
_POINTS = 3  # of a checklist
#: Whether answer 1 breaks no more points than answer 2, and the other way round -> the better one.
_TRUTH = {(True, True): "tie", (True, False): "1", (False, True): "2", (False, False): ""}

_Row = dict[str, Any]


class _LogprobJudge(Paper):
    shown = "each"
    clusters = "pairs of answers"
    cluster_column = "item_id"
    options = ("A", "B", "C")
    own_files: ClassVar[Mapping[str, OwnFile]] = {
        "comparisons": OwnFile("03: comparisons (.csv or .jsonl), or task files (.yaml)")
    }
    theirs = ("official", PANDALM)

    def read(self, dataset: str, own: Mapping[str, str]) -> Everything:
        """A user's `.csv` or `.jsonl` holds comparisons, any other file tasks in our form."""
        path = own.get("comparisons", "")
        if Path(path).suffix in (".csv", ".jsonl"):
            return load_comparisons(path), Path(path).name, []
        if path or dataset == "study":
            return load_study_judge(path), study_version(path), []
        return load_pandalm(), "PandaLM test set", []

    def sets(self) -> Sets:
        """Beside ours the pairs of others of which verdicts are recorded."""
        return {"study2": load_study2, "study2_same": _study2_same, PANDALM: pandalm_by_id}

    def as_asked(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """Every pair in both orders."""
        return in_both_orders(items)

    def ranked(self, items: "pd.DataFrame") -> list[str]:
        """By question in turn."""
        single = items.drop_duplicates("cluster")
        single = single.iloc[single["cluster"].map(hash_of).argsort()]
        group = single["question_id"]
        return in_turn(single, group, group.map(hash_of))

    def named_in(self, items: "pd.DataFrame", item_ids: Iterable[str]) -> "pd.Series":
        """A pair is asked under two ids, one an order."""
        named = set(item_ids)
        ids = items["item_id"]
        return ids.isin(named) | (ids + "-12").isin(named) | (ids + "-21").isin(named)

    def parse(self, text: str) -> Parsed:
        return parse_verdict(text)

    def reading(self, prompt: Prompt) -> Mapping[str, Any]:
        """Verdicts have the probabilities at their token; other texts are read by nobody."""
        if not prompt.settings.get("logprobs"):
            return {}
        alone = prompt.answer_at != "last_letter"
        return {"parse": partial(parse_verdict, reason_first=not alone), "frame": verdicts_frame}

    def simulate(self, request: Request) -> Response:
        return respond(request)


PAPER = _LogprobJudge()


# -- the study -------------------------------------------------------------------------------------


def load_study_judge(path: str | Path = "") -> "pd.DataFrame":
    """Every pair of answers of a task file, or of all but `extra.yaml` in a folder.

    Answers are built from the reference or its variant by edits; the construction that the files'
    header documents is checked.

    Args:
        path: a file or a folder; empty: ours, 69 tasks of three pairs each.

    Returns:
        columns `comparisons.COLUMNS`, truth, quality_1, quality_2 and points: the checklist in
        words, criteria that no model wrote.

    Raises:
        KatayoriError: naming file, question and key of what does not hold.

    Example:
        >>> pairs = load_study_judge()
        >>> len(pairs), pairs["question_id"].nunique(), sorted(set(pairs["truth"]))
        (207, 69, ['1', '2', 'tie'])
    """
    rows = []
    for file, question in _questions(path):
        with within(f"{file.name}: question {question['id']}"):
            rows += _pairs(question)
    return as_comparisons(rows, "study set")


def study_version(path: str | Path = "") -> str:
    """Name and version of the task files, printed under every table computed from them.

    Example:
        >>> study_version()
        'katayori-judge-study-2 v1'
    """
    from katayori.data.logprob_judge_schema import TaskFile

    read = documents(path, STUDY_FOLDER, "task file", EXTRA, TaskFile)
    return versions((document for _, document in read), "user tasks")


def _questions(path: str | Path) -> Iterator[tuple[Path, _Row]]:
    """The questions of task files with the file of each; every id stands once."""
    from katayori.data.logprob_judge_schema import TaskFile

    seen: set[str] = set()
    for file, document in documents(path, STUDY_FOLDER, "task file", EXTRA, TaskFile):
        for question in document["questions"]:
            if question["id"] in seen:
                raise KatayoriError(f"{file.name}: question id {question['id']} appears twice")
            seen.add(question["id"])
            yield file, question


def _pairs(question: _Row) -> list[_Row]:
    """The pairs of one question; the better answer by construction breaks fewer points, and no
    others.
    """
    for name in ("reference", "variant"):
        _check_points(question, name, question[name], set())
    built = {name: _built(question, name, answer) for name, answer in question["answers"].items()}
    said = [point["says"] for point in question["checklist"] if point.get("says")]
    rows = []
    for first, second in itertools.combinations(built, 2):
        (text_1, broken_1), (text_2, broken_2) = built[first], built[second]
        row = {
            "item_id": f"{question['id']}-{first}-{second}",
            "question_id": question["id"],
            **question,
            "system_1": first,
            "system_2": second,
            "answer_1": text_1,
            "answer_2": text_2,
            "quality_1": _POINTS - len(broken_1),
            "quality_2": _POINTS - len(broken_2),
            POINTS: "\n".join(f"・{point}" for point in said),
        }
        truth = _TRUTH[broken_1 <= broken_2, broken_2 <= broken_1]
        if not truth:
            raise KatayoriError(
                f"answers {first} and {second}: neither's broken points are a part of the other's"
            )
        rows.append(row | {"truth": truth})
    return rows


def _built(question: _Row, name: str, answer: _Row) -> tuple[str, set[str]]:
    """The text of one answer and the points its edits break."""
    text = question[answer["base"]]
    broken: set[str] = set()
    for edit in answer["edits"]:
        if (n := text.count(edit["find"])) != 1:
            raise KatayoriError(f"answer {name}: find {edit['find']!r} occurs {n} times, not once")
        text = text.replace(edit["find"], edit["put"])
        if edit["kind"] != "paraphrase":
            broken.add(edit.get("point", ""))
    _check_points(question, f"answer {name}", text, broken)
    if answer["quality"] != _POINTS - len(broken):
        raise KatayoriError(
            f"answer {name}: quality {answer['quality']} is not 3 less {len(broken)} broken points"
        )
    if text == question["reference"]:
        raise KatayoriError(f"answer {name} is the reference word for word")
    return text, broken


def _check_points(question: _Row, name: str, text: str, broken: set[str]) -> None:
    """Every point of the checklist is met, but for the broken ones."""
    points = {point["point"]: point for point in question["checklist"]}
    for point in broken:
        expect(point, points, f"point of {name}:")
    for key, point in points.items():
        has_needed = point.get("needs", "") in text
        has_forbidden = "forbids" in point and point["forbids"] in text
        met = has_needed and not has_forbidden
        if met == (key in broken):
            state = "met" if met else "broken"
            raise KatayoriError(f"{name}: point {key!r} is {state}, unlike its edits say")


# -- data sets that are asked ----------------------------------------------------------------------


def load_study2() -> "pd.DataFrame":
    """Every comparison in both orders: `load_study_judge` after `in_both_orders`.

    Example:
        >>> len(load_study2()), sorted(load_study2()["order"].unique())
        (414, ['12', '21'])
    """
    return in_both_orders(load_study_judge())


def _study2_same() -> "pd.DataFrame":
    """One answer of each question against itself, 69 rows; columns as `load_study2`.

    The answer is the first, second or third in turn from question to question. Order is "12"
    throughout: exchanging the places of one text changes nothing. The truth is a tie.

    Example:
        >>> same = _study2_same()
        >>> len(same), bool((same["answer_a"] == same["answer_b"]).all())
        (69, True)
    """
    import pandas as pd

    rows = []
    for n, (question, own) in enumerate(load_study_judge().groupby("question_id", sort=False)):
        pair, side = ((0, "1"), (0, "2"), (1, "2"))[n % 3]
        row, chosen = own.iloc[0].to_dict(), own.iloc[pair]
        for kind in ("answer", "system", "quality"):
            row[f"{kind}_1"] = row[f"{kind}_2"] = chosen[f"{kind}_{side}"]
        name = str(question).replace("lj2-", "lj2-same-")
        row |= {"item_id": name, "pair_id": name, "order": "12", "truth": "tie"}
        rows.append(row | {"answer_a": row["answer_1"], "answer_b": row["answer_1"]})
    return pd.DataFrame(rows)


def pandalm_by_id() -> "pd.DataFrame":
    """PandaLM's pairs in both orders, without their texts, which belong to others.

    Recorded verdicts are joined to them by id; nothing can be asked with them.

    Returns:
        columns of `pandalm_labels` and of `in_both_orders`; question, reference and answers
        are empty.

    Example:
        >>> both = pandalm_by_id()
        >>> len(both), both["pair_id"].nunique(), set(both["answer_a"])
        (1998, 999, {''})
    """
    texts = dict.fromkeys(("question", "reference", "answer_1", "answer_2"), "")
    labels = pandalm_labels(paths.data_dir() / STUDY_FOLDER / "pandalm_labels.csv")
    return in_both_orders(labels.assign(**texts))


# -- tasks of each kind, as the paper shows them ---------------------------------------------------

#: Forms of the paper's three sample tasks, the next best below it: status, what it is, and a text
#: that a task of that form holds.
SAMPLES = {
    "writing": [
        ("ok", "a reply to a mail of condolence, of about 300 characters", "お悔やみ"),
        ("near", "a reply to a mail", "返信してください"),
    ],
    "proofreading": [("ok", "to point out what can be improved", "改善")],
    "summarization": [("ok", "instructions, conditions and a text", "#条件")],
}


def sample_tasks(comparisons: "pd.DataFrame") -> list[dict[str, str]]:
    """A task of each kind in the form of the paper's samples (its Table 4), where there is one.

    Args:
        comparisons: of `load_study_judge`, or any with task, question_id, question and reference.

    Returns:
        a row a kind of `SAMPLES`: task, wanted (the form of the paper's sample), form (of the task
        shown), status (`ok`; `near`, another form of that kind; `missing`, no task of that kind),
        question_id, question and reference (empty where missing).

    Source: the logprob-judge paper, Table 4.

    Example:
        >>> [(row["task"], row["status"]) for row in sample_tasks(load_study_judge())]
        [('writing', 'near'), ('proofreading', 'ok'), ('summarization', 'ok')]
    """
    tasks = comparisons.drop_duplicates("question_id").astype(str)
    shown = ["question_id", "question", "reference"]
    rows = []
    for kind, forms in SAMPLES.items():
        row = {"task": kind, "wanted": forms[0][1], "form": "none", "status": "missing"}
        row |= dict.fromkeys(shown, "")
        of_kind = tasks[tasks["task"] == kind]
        for status, form, text in [("near", "any", ""), *reversed(forms)]:
            there = of_kind[of_kind["question"].str.contains(text, regex=False)]
            if len(there):
                texts = zip(shown, there[shown].iloc[0], strict=True)
                row |= {"form": form, "status": status, **dict(texts)}
        rows.append(row)
    return rows


# -- what a judge wrote for itself -----------------------------------------------------------------


def copied_lines(text: str, reference: str, least: int = 4) -> tuple[int, int]:
    """How many lines of a text stand word for word in the reference, and how many lines it has.

    Says how far the criteria that a judge wrote for itself repeat the reference answer. Bullets,
    numbers, blanks and width are no difference; lines of fewer than `least` characters are left
    out.

    Example:
        >>> copied_lines("・納期は6月17日\\n・丁寧に書く", "新しい納期は6月17日です。")
        (1, 2)
    """
    whole = _folded(reference)
    lines = [re.sub(r"^[・\-*•]|^\d+[.)]", "", _folded(line)) for line in text.splitlines()]
    lines = [line.rstrip("。、.,") for line in lines]
    lines = [line for line in lines if len(line) >= least]
    return sum(line in whole for line in lines), len(lines)


def _folded(text: str) -> str:
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


# -- simulated judges: a score of position A against position B of planted parts -------------------

#: Judges: what one point of quality, one character of length and standing first add to the score of
#: slot A over slot B, and the standard deviation of a normal draw, anew for every single call.
JUDGES = {
    "sim-judge-fair": {"quality": 2.5, "length": 0.0, "first": 0.0, "call": 0.8},
    "sim-judge-first": {"quality": 0.0, "length": 0.0, "first": 12.0, "call": 0.8},
    "sim-judge-leaning": {"quality": 2.5, "length": 0.0, "first": 3.0, "call": 0.8},
    "sim-judge-long": {"quality": 0.0, "length": 0.1, "first": 0.0, "call": 0.8},
}
#: Log weight of C. A score of s gives A the weight s/2 and B -s/2: C is likeliest for `|s| < 1.5`.
JUDGE_TIE = 0.75
JUDGE_OTHER = 0.05  # probability of all other tokens


def judge_chances(model: str, item: Mapping[str, Any], *call: object) -> dict[str, float]:
    """The planted probabilities of A, B and C for an item in one order, with known qualities.

    What a judge makes of the two answers is the same in both orders; the draw of the single call,
    fixed by `call`, and the preference for the first slot are not. Raises KatayoriError for an
    unknown judge or an item without qualities.

    Example:
        >>> item = load_study2().to_dict("records")[0]
        >>> {letter: round(p, 3) for letter, p in judge_chances("sim-judge-leaning", item).items()}
        {'A': 0.899, 'B': 0.001, 'C': 0.05}
    """
    expect(model, JUDGES, "simulated judge")
    if "quality_1" not in item:
        raise KatayoriError(
            f"{item['item_id']} has no planted quality, which simulated judges need;"
            " own comparisons are judged with the profile live or imported"
        )
    weigh = JUDGES[model]
    a, b = tuple(str(item["order"]))  # "21": answer 2 stands as A
    quality = item[f"quality_{a}"] - item[f"quality_{b}"]
    length = len(item["answer_a"]) - len(item["answer_b"])
    draw = NormalDist().inv_cdf(uniform("judge", model, item["item_id"], *call))
    # In this order: sums of floats depend on it.
    score = weigh["quality"] * quality + weigh["first"]
    score += weigh["length"] * length
    score += weigh["call"] * draw
    weights = {"A": math.exp(score / 2), "B": math.exp(-score / 2), "C": math.exp(JUDGE_TIE)}
    total = sum(weights.values())
    return {letter: (1 - JUDGE_OTHER) * weight / total for letter, weight in weights.items()}


def respond(request: Request) -> Response:
    """The answer of the judge that a request names."""
    if not request.body.get("logprobs"):  # the criteria, which no simulated judge reads
        return Response("ok", "・模範回答の要点を満たすこと", "stop")
    chances = judge_chances(
        request.model, request.fields, request.prompt_id, request.repetition, request.variant
    )
    top = likeliest_first(chances)
    letter, _ = top[0]
    text = f"理由は述べません。\n{letter}" if request.answer_at == "last_letter" else letter
    others = ("the", math.log(JUDGE_OTHER))
    return Response("ok", text, "stop", [*top, others], completion_tokens=len(text))

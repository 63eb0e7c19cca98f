"""`make harness`: our benchmarks as tasks of inspect_ai and lm-evaluation-harness.

Nothing of an item stands in code or YAML, so ids and texts of any kind are only ever JSON. What is
written calls `task_of` and `functions_of` inside the harnesses, of which nothing is imported before
it is used, so that one of them is enough. Parser and scores are our own.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data.files import json_lines
from katayori.errors import KatayoriError, expect
from katayori.metrics import agreement, bbq, exchange, judges, shares, verdicts
from katayori.metrics.factors import by_factor
from katayori.metrics.variation import varies
from katayori.papers import get_paper
from katayori.profiles import MOST
from katayori.prompting.letters import parse_verdict
from katayori.prompting.models import Server, get_model
from katayori.prompting.parsing import Parsed, answer_in
from katayori.prompting.requests import Request, Response
from katayori_tools.asking import Scope, requests_of
from katayori_tools.choices import Clusters, Papers
from katayori_tools.notebooks import names

METRIC = "  - {{metric: {1}, aggregation: !function utils_{0}.{1}, higher_is_better: null}}\n"
#: What the metadata of a sample of inspect_ai holds beside the columns of its item.
OF_SAMPLE = ("row", "item_id", "prompt_id", "settings")
#: What a document of lm-evaluation-harness holds: the system's text apart from the user's.
OF_DOCUMENT = ("row", "item_id", "prompt_id", "target", "system", "prompt")
#: Settings that ask for probabilities.
OF_PROBABILITIES = ("logprobs", "top_logprobs")
#: The value of a score and the ends of its interval: the ending of the name -> the verbs' column.
ENDS = {"": "value", "_low": "ci_low", "_high": "ci_high"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """One paper as a task.

    Attributes:
        parts: what is scored together: the beginning of the names of its scores -> its prompts.
        measures: the names of its scores, the first of which is shown first.
        measured: a frame of answers -> columns name, value, ci_low, ci_high; what it does not name
            is undefined.
        parse: the answer in a text, where it is not the paper's own way.
    """

    parts: dict[str, list[str]]
    measures: tuple[str, ...]
    measured: Callable[[pd.DataFrame], pd.DataFrame]
    parse: Callable[[str], Parsed] | None = None

    def names(self) -> list[str]:
        """The names of all scores: each with the ends of its interval, and the counts."""
        each = [f"{name}{end}" for name in self.measures for end in ENDS]
        return [f"{start}{name}" for start in self.parts for name in (*each, "n", "invalid")]

    def prompts(self) -> list[str]:
        """The ids of the prompts that are asked."""
        return [prompt for part in self.parts.values() for prompt in part]


# -- scores ----------------------------------------------------------------------------------------


def _decisions(frame: pd.DataFrame) -> pd.DataFrame:
    """01: share of yes, and of each factor the largest gap between levels and alpha."""
    factors = ("age", "gender", "race")
    answers = frame.assign(yes=frame["answer"].map({"yes": 1.0, "no": 0.0}))
    long = by_factor(answers, {name: [name] for name in factors})
    over = {"value": "yes", "by": "factor", "cluster": "cluster"}
    share = shares.share(answers, value="yes", kind="share", cluster="cluster")
    alpha = agreement.alpha(long, unit="row", rater="level", **over)
    parts = [share.assign(name="yes_share"), alpha.assign(name="alpha_" + alpha["factor"])]
    for name in factors:
        own = long[long["factor"] == name]
        gap = exchange.largest_gap(own, level="level", ordered=name == "age", **over)
        parts.append(gap[gap["unreadable"] == verdicts.READ].assign(name=f"gap_{name}"))
    return pd.concat(parts)


def _persons(frame: pd.DataFrame, *, all_answers: bool = False) -> pd.DataFrame:
    """02, 05: accuracy and Diff-bias; undefined where answers follow a position.

    Args:
        all_answers: whether an answer that cannot be read counts as wrong.
    """
    names = {"answer": "answer", "option": "role", "label": "label", "context": "context_condition"}
    meant = bbq.with_role(frame, **names)
    if all_answers:
        meant = meant.fillna({"right": 0.0})
    scored = {"context": "case", "right": "right", "side": "side", "cluster": "cluster"}
    at = verdicts.gates(meant, factors=["answer"], by="contexts")
    table = _unbound(bbq.scores(meant, **scored), at)
    return table.assign(name=table["measure"])


def _unbound(table: pd.DataFrame, gates: pd.DataFrame) -> pd.DataFrame:
    """Scores without a value where answers follow a position, however few the clusters."""
    table = verdicts.verdict(table, gates=gates)
    bound = table["bound_share"] > verdicts.BOUND_ABOVE
    return table.assign(**table[["value", "ci_low", "ci_high"]].mask(bound))


def _verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """03: robustness, and agreement with the labels by the methods that need no probabilities."""
    names = {"pair": "pair_id", "order": "order", "letter": "answer"}
    settled = judges.settled(frame, **names, keep=["question_id", "truth"])
    steady = judges.robustness(settled, cluster="question_id").assign(name="robustness")
    agreeing = judges.concordance(
        settled, judge=judges.METHODS, people="truth", cluster="question_id"
    )
    return pd.concat([steady, agreeing.assign(name="concordance_" + agreeing["judge"])])


def _reasons(frame: pd.DataFrame) -> pd.DataFrame:
    """04: accuracy on the neutral reason, undefined for a position, and variation over prompts."""
    role = frame["role_a"].where(frame["answer"] == "A", frame["role_b"])
    role = role.where(frame["answer"].notna(), None)
    neutral = (role == "neutral").astype(float).where(role.notna())
    read = frame.assign(role=role, neutral=neutral)
    at = verdicts.gates(read, factors=["answer"])
    accuracy = verdicts.line_test(read, value="neutral", line=0.5, cluster="cluster")
    cases = varies(read, value="role", unit="cluster", factors=["template", "order"])
    variation = shares.share(cases, value="varies", kind="share", cluster="cluster")
    accuracy = _unbound(accuracy, at).assign(name="accuracy")
    return pd.concat([accuracy, variation.assign(name="variation_rate")])


OF_FACTORS = tuple(
    "yes_share gap_age gap_gender gap_race alpha_age alpha_gender alpha_race".split()
)
OF_BBQ = ("diff_amb", "diff_dis", "acc_amb", "acc_dis")
OF_JUDGES = ("robustness", "concordance_BS1", "concordance_BS2")
OF_REASONS = ("accuracy", "variation_rate")
STYLES = [f"pj_{style}_ja" for style in ("basic", "para", "cot", "neutral", "biased")]
ALONE = partial(parse_verdict, reason_first=False)
ALL = partial(_persons, all_answers=True)
BENCHMARKS = {
    "discrim_eval": Benchmark({"": ["de_answer_line"]}, OF_FACTORS, _decisions),
    "persona_jbbq": Benchmark({f"{one}_": [one] for one in STYLES}, OF_BBQ, _persons),
    "logprob_judge": Benchmark({"": ["lj_verdict"]}, OF_JUDGES, _verdicts, ALONE),
    "jubaku_v2": Benchmark({"": [f"ju_{n}_ja" for n in range(1, 5)]}, OF_REASONS, _reasons),
    "inter_jbbq": Benchmark(
        {f"{one}_": [one] for one in ("ij_basic_ja", "ij_debias_ja")}, OF_BBQ, ALL
    ),
}


def samples(folder: Path, paper: str) -> list[Row]:
    """The samples of a paper in a folder of tasks, a row each."""
    return list(json_lines(folder / "samples" / f"{paper}.jsonl", "file of samples"))


def read(paper: str, response: Response) -> tuple[str, str | None]:
    """Outcome and answer of what a model said."""
    if response.outcome != "ok":
        return response.outcome, None
    parse = BENCHMARKS[paper].parse or get_paper(paper).parse
    parsed = answer_in(parse, response.text, response.finish_reason)
    return parsed.outcome, parsed.answer if parsed.outcome == "ok" else None


def scores_of(paper: str, rows: list[Row], answers: Mapping[int, str | None]) -> dict[str, float]:
    """Every score by its name, NaN where it is undefined, of the rows that were answered.

    Args:
        answers: row -> the answer, None for what cannot be read.

    In the order of the rows, since a harness ends samples in any order and sums depend on it in
    their last digit.
    """
    benchmark = BENCHMARKS[paper]
    found = dict.fromkeys(benchmark.names(), float("nan"))
    for start, prompts in benchmark.parts.items():
        made = [
            row["columns"] | {"item_id": row["item_id"], "answer": answers[row["row"]]}
            for row in rows
            if row["row"] in answers and row["prompt_id"] in prompts
        ]
        n = sum(one["answer"] is not None for one in made)
        found |= {f"{start}n": float(n), f"{start}invalid": float(len(made) - n)}
        if not n:
            continue
        frame = pd.DataFrame(made)
        frame["cluster"] = get_paper(paper).cluster_of(frame)
        for one in benchmark.measured(frame).to_dict("records"):
            if one["name"] in benchmark.measures:
                names = {f"{start}{one['name']}{end}": column for end, column in ENDS.items()}
                found |= {name: float(one[column]) for name, column in names.items()}
    return found


# -- what is written -------------------------------------------------------------------------------


def harness(
    *, papers: Papers = "", prompts: str | None = None, limit: Clusters | None = None
) -> None:
    """Writes the tasks to outputs/harness, in place of older ones.

    Args:
        papers: by name or number (all). prompts: a folder of prompt files that replaces our
            wording. limit: so many clusters of each paper are asked (all).
    """
    wanted = names(papers) or list(BENCHMARKS)
    for paper in wanted:
        expect(paper, BENCHMARKS, "paper")
    target = paths.outputs_dir() / "harness"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".harness-") as part:
        made = Path(part) / "harness"
        counts = [write(made, paper, asked(paper, prompts, limit)) for paper in wanted]
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(made, target)
    print(f"{sum(counts):,} samples of {len(counts)} papers written to {target}")


def asked(paper: str, prompts: str | None = None, limit: int | None = None) -> list[Request]:
    """The requests of a paper's task, as `make live` asks a model of the user's own."""
    scope = Scope(limit=limit or MOST, folder=prompts or "")
    return requests_of(paper, *get_model("my-model@custom"), BENCHMARKS[paper].prompts(), scope)


def write(folder: Path, paper: str, requests: Sequence[Request]) -> int:
    """Writes the task of a paper, given its requests; how many samples it has.

    Raises KatayoriError for requests that a harness cannot ask.
    """
    settings = [{n: v for n, v in one.body.items() if n != "messages"} for one in requests]
    if any(one != settings[0] for one in settings):
        raise KatayoriError(f"{paper}: a task has one set of settings, its requests have several")
    rows = [_row(one) | {"row": n, "settings": settings[0]} for n, one in enumerate(requests)]
    scores = BENCHMARKS[paper].names()
    texts = {
        kind: Path(__file__).with_name(f"harness_{kind}.txt").read_text(encoding="utf-8")
        for kind in ("inspect", "lm_eval", "yaml")
    }
    task = texts["yaml"].format(paper=paper, settings=json.dumps(settings_of(settings[0])))
    files = {
        f"samples/{paper}.jsonl": "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows),
        f"inspect/{paper}.py": texts["inspect"].format(paper=paper),
        f"lm_eval/utils_{paper}.py": texts["lm_eval"].format(paper=paper),
        f"lm_eval/{paper}.yaml": task + "".join(METRIC.format(paper, one) for one in scores),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return len(rows)


def _row(request: Request) -> dict[str, Any]:
    *before, last = request.body["messages"]
    if last["role"] != "user" or [turn["role"] for turn in before] not in ([], ["system"]):
        roles = ", ".join(turn["role"] for turn in request.body["messages"])
        raise KatayoriError(f"a conversation of {roles} is not one of a system's and a user's text")
    gold = get_paper(request.paper).gold_column
    return {
        "item_id": request.item_id,
        "prompt_id": request.prompt_id,
        "system": before[0]["content"] if before else "",
        "prompt": last["content"],
        "target": str(request.fields[gold]) if gold else "",
        "columns": dict(request.fields),
    }


def settings_of(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a request as lm-evaluation-harness names them.

    It sends a temperature of its own where none is named, so the server's usual one is named.
    """
    kept = {name: value for name, value in settings.items() if name not in OF_PROBABILITIES}
    temperature = float(kept.pop("temperature", 1.0))
    kept["max_gen_toks"] = kept.pop("max_tokens")
    return {"until": [], "do_sample": temperature > 0, "temperature": temperature} | kept


# -- tasks -----------------------------------------------------------------------------------------


def task_of(file: str, paper: str, *, logprobs: bool = True) -> Any:
    """A paper as a task of inspect_ai.

    Args:
        file: the generated one. paper: its id. logprobs: whether to ask for probabilities where
            our own request does; some servers refuse that.
    """
    from inspect_ai import Task, dataset, model, scorer, solver

    rows = samples(Path(file).resolve().parents[1], paper)

    @solver.solver(name="asked")
    def asked() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            known = model.GenerateConfig.model_fields.keys()
            known -= set(() if logprobs else OF_PROBABILITIES)
            given = state.metadata["settings"]
            return await generate(state, **{name: given[name] for name in given.keys() & known})

        return solve

    @scorer.scorer(metrics=[], name="answer")
    def answer() -> Any:
        async def score(state: Any, target: Any) -> Any:
            outcome, found = read(paper, _said(state.output.model_dump()["choices"], paper))
            return scorer.Score(value=found or outcome, answer=found)

        return score

    @scorer.metric(name="scores")
    def scores() -> Any:
        def compute(scored: list[Any]) -> dict[str, float]:
            # The first answer of a sample that was asked several times.
            said = {one.sample_metadata["row"]: one.score.answer for one in reversed(scored)}
            return scores_of(paper, rows, said)

        return compute

    listed = [
        dataset.Sample(
            input=[model.ChatMessageSystem(content=row["system"])] * bool(row["system"])
            + [model.ChatMessageUser(content=row["prompt"])],
            target=row["target"],
            # Logs name files by it, and an item's id may be any text.
            id=f"{row['prompt_id']}-{row['row']}",
            metadata=row["columns"] | {name: row[name] for name in OF_SAMPLE},
        )
        for row in rows
    ]
    return Task(
        name=paper,
        dataset=dataset.MemoryDataset(listed, name=paper),
        solver=asked(),
        scorer=answer(),
        metrics=[scores()],
    )


def _said(choices: list[Row], paper: str) -> Response:
    """The answer as `make convert` reads it from the log."""
    from katayori.data.logs import choice_of_inspect
    from katayori_tools.convert import response_of

    asked = Request(paper, "", "", "", "", "", "", "", "", {}, server=Server(label="a harness"))
    try:
        return response_of(choice_of_inspect(choices[0], {}), asked)
    except (IndexError, ValueError) as error:
        return Response("error", error=str(error))


def functions_of(file: str, paper: str) -> dict[str, Callable[..., Any]]:
    """The functions of lm-evaluation-harness that the YAML of a paper names, by name.

    `dataset` gives the samples as the only split, from the file alone. `process_results` gives row
    and answer of one sample, once for each score; the harness does not say whether a text was cut
    off, so every text counts as whole. The others make the score of their name of all samples.
    """
    rows = samples(Path(file).resolve().parents[1], paper)
    names = BENCHMARKS[paper].names()

    def dataset(**_: Any) -> dict[str, Any]:
        from datasets import Dataset

        documents = [{name: row[name] for name in OF_DOCUMENT} for row in rows]
        return {"test": Dataset.from_list(documents)}

    def process_results(doc: Row, results: Sequence[str]) -> dict[str, Any]:
        _, found = read(paper, Response("ok", results[0] or "", "stop"))
        return dict.fromkeys(names, (doc["row"], found))

    @lru_cache(maxsize=4)  # all scores are of the same samples
    def computed(kept: tuple[tuple[int, str | None], ...]) -> dict[str, float]:
        return scores_of(paper, rows, dict(kept))

    def aggregation(name: str) -> Callable[[Sequence[Any]], float]:
        return lambda kept: computed(tuple(map(tuple, kept)))[name]

    of_names = {name: aggregation(name) for name in names}
    return {"dataset": dataset, "process_results": process_results, **of_names}

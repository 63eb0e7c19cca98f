"""What a paper's task asks and reports, and its scores of any answers to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.errors import expect
from katayori.prompting.frames import answers_frame
from katayori.prompting.parsing import Parsed
from katayori.prompting.requests import Request, Response
from katayori_tools import papers

#: The ends of the interval of a measure, as its name goes on in a harness.
LOW, HIGH = "_low", "_high"
#: How many answers count, and how many do not.
VALID, INVALID = "n", "invalid"
SOURCE = "imported"


@dataclass(frozen=True)
class Benchmark:
    """One paper as a task.

    Attributes:
        about: what is asked, in a sentence.
        prompts: the ids of the prompts that are asked.
        columns: of the items, that the scores need; they travel with each sample.
        parse: the answer in a text. options: what an answer may be, as tokens.
        measures: the names of the measures, the first of which is shown first.
        measured: the measures of a frame of answers: columns name, value, ci_low, ci_high. What it
            does not name is undefined.
        by_probability: measures that need probabilities of the options.
        together: whether the prompts are scored together, and not one by one.
        frame: what makes the frame of requests and responses, called as `answers_frame`.
    """

    about: str
    prompts: tuple[str, ...]
    columns: tuple[str, ...]
    parse: Callable[[str, str], Parsed]
    options: tuple[str, ...]
    measures: tuple[str, ...]
    measured: Callable[[pd.DataFrame], pd.DataFrame]
    by_probability: tuple[str, ...] = ()
    together: bool = False
    frame: Callable[..., pd.DataFrame] = answers_frame


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by the id of its paper.

    Example:
        >>> from katayori.papers import paper_ids
        >>> set(benchmarks()) == set(paper_ids())
        True
    """
    return papers.collected("harness", "BENCHMARKS")


def get_benchmark(paper: str) -> Benchmark:
    """The benchmark of a paper. KatayoriError for an unknown one."""
    known = benchmarks()
    expect(paper, known, "paper")
    return known[paper]


def parts_of(benchmark: Benchmark) -> dict[str, tuple[str, ...]]:
    """What is scored together: the beginning of the names of its scores -> its prompts.

    Example:
        >>> from katayori.papers import paper_ids
        >>> judge = get_benchmark(paper_ids()[2])
        >>> parts_of(judge)
        {'': ('lj_verdict',)}
    """
    if benchmark.together or len(benchmark.prompts) == 1:
        return {"": benchmark.prompts}
    return {f"{prompt}_": (prompt,) for prompt in benchmark.prompts}


def names_of(benchmark: Benchmark, *, with_probabilities: bool = True) -> list[str]:
    """The names of all scores, in their order.

    Example:
        >>> from katayori.papers import paper_ids
        >>> judge = get_benchmark(paper_ids()[2])
        >>> set(names_of(judge)) > set(names_of(judge, with_probabilities=False))
        True
    """
    left_out = () if with_probabilities else benchmark.by_probability
    measures = [name for name in benchmark.measures if name not in left_out]
    ends = [f"{name}{end}" for name in measures for end in ("", LOW, HIGH)]
    parts = parts_of(benchmark)
    return [f"{start}{name}" for start in parts for name in (*ends, VALID, INVALID)]


def scores_of(
    benchmark: Benchmark, requests: Sequence[Request], responses: Sequence[Response]
) -> dict[str, float]:
    """Every score of `names_of` by its name; NaN where it is undefined."""
    out: dict[str, float] = {}
    for start, prompts in parts_of(benchmark).items():
        both = zip(requests, responses, strict=True)
        kept = [(asked, came) for asked, came in both if asked.prompt_id in prompts]
        own = _scores(benchmark, [asked for asked, _ in kept], [came for _, came in kept])
        out |= {f"{start}{name}": value for name, value in own.items()}
    return {name: out[name] for name in names_of(benchmark)}


def _scores(
    benchmark: Benchmark, requests: list[Request], responses: list[Response]
) -> dict[str, float]:
    if not requests:
        return dict.fromkeys(_flat(benchmark, {}), float("nan")) | {VALID: 0.0, INVALID: 0.0}
    read: dict[str, Any] = {"parse": benchmark.parse, "options": benchmark.options}
    frame = benchmark.frame(requests, responses, SOURCE, **read)
    valid = int((frame["outcome"] == "ok").sum())
    rows = benchmark.measured(frame).to_dict("records") if valid else []
    counts = {VALID: float(valid), INVALID: float(len(frame) - valid)}
    return _flat(benchmark, {str(row["name"]): row for row in rows}) | counts


def _flat(benchmark: Benchmark, rows: Mapping[str, Mapping[Any, Any]]) -> dict[str, float]:
    """Value and ends of every measure under one name each."""
    ends = {"": "value", LOW: "ci_low", HIGH: "ci_high"}
    return {
        f"{name}{end}": float(rows.get(name, {}).get(column, float("nan")))
        for name in benchmark.measures
        for end, column in ends.items()
    }


def named(table: pd.DataFrame, names: "pd.Series | str") -> pd.DataFrame:
    """A table of a metric as `Benchmark.measured` gives it; intervals it lacks are NaN.

    Example:
        >>> named(pd.DataFrame({"value": [0.5]}), "accuracy").to_numpy().tolist()
        [['accuracy', 0.5, nan, nan]]
    """
    columns = ["name", "value", "ci_low", "ci_high"]
    return table.assign(name=names).reindex(columns=columns)

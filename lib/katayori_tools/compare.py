"""`make compare A= B=`: two runs, or two models of one run, row by row.

`make compare RUNS=` shows any number of them side by side (`compare_runs`).
"""

import sys
from typing import TYPE_CHECKING

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.results import harmless
from katayori_tools import notebooks
from katayori_tools.named_runs import SHOWN, plain_name, run_of, side_of

if TYPE_CHECKING:
    import pandas as pd

IDENTITY = ("paper", "requirement", "what", "model", "dataset", "prompt_id", "cell")
COLUMNS = (
    *IDENTITY,
    "headline",
    "unit",
    "a",
    "b",
    "difference",
    "intervals",
    "source_a",
    "source_b",
    "only_in",
)
SIDES = {"both": "", "left_only": "A", "right_only": "B"}
IN_SHORT = ("paper", "what", "model", "cell", "a", "b", "difference", "intervals", "only_in")


def _pair(
    name_a: str, name_b: str, profile: str, papers: list[str]
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """The rows of both sides.

    Where either is a model, or each run asked one other model, only those models' rows.
    """
    runs = paths.find_runs(profile)
    a, b = side_of(name_a, runs), side_of(name_b, runs)
    whole = [run_of(name) is not None for name in (name_a, name_b)]
    if all(whole):
        if a.model and b.model and a.model != b.model:
            a, b = a.of_model(), b.of_model()
    elif not (a.model and b.model):
        problem = f"'{name_a}' and '{name_b}' are a model and a run of several models"
        raise KatayoriError(f"{problem}; name two models or two runs")
    else:
        a, b = a.of_model(), b.of_model()
    return _shared(name_a, a.rows, name_b, b.rows, papers)


def _shared(
    name_a: str, a: "pd.DataFrame", name_b: str, b: "pd.DataFrame", papers: list[str]
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """The rows of the papers that both have; KatayoriError, naming theirs, where there are none."""
    has_a = sorted(set(a["paper"]))
    has_b = sorted(set(b["paper"]))
    wanted = papers or has_a
    both = [paper for paper in has_a if paper in has_b and paper in wanted]
    papers_of_each = f"'{name_a}' has {', '.join(has_a)}; '{name_b}' has {', '.join(has_b)}"
    if not both:
        asked = f" of {', '.join(papers)}" if papers else ""
        raise KatayoriError(f"no paper{asked} is in both: {papers_of_each}")
    if has_a != has_b and not papers:
        compared = f"compared: {', '.join(both)}, the papers in both"
        print(f"{compared}; {papers_of_each}", file=sys.stderr)
    return a[a["paper"].isin(both)], b[b["paper"].isin(both)]


def _as_text(cell: dict[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.items())


def join(a: "pd.DataFrame", b: "pd.DataFrame") -> "pd.DataFrame":
    """One row (columns `COLUMNS`) for each result of A or B, headlines first.

    A field with one value in A and another in B is what is being compared, so it does not tell rows
    apart; the source of answers does only where rows would be confused without it. `difference` is
    B - A; `intervals` says whether the confidence intervals overlap, are apart or were not given.
    """
    a = a.assign(cell=a["cell"].map(_as_text))
    b = b.assign(cell=b["cell"].map(_as_text))
    compared: dict[str, str] = {}  # the fields that are compared, and their two values
    for field in IDENTITY:
        values = [*a[field].unique(), *b[field].unique()]
        if len(values) == 2 and values[0] != values[1]:
            compared[field] = f"{values[0]} / {values[1]}"
    keys = [field for field in IDENTITY if field not in compared]
    if a.duplicated(keys).any() or b.duplicated(keys).any():
        a = a.assign(source_again=a["source"])
        b = b.assign(source_again=b["source"])
        keys.append("source_again")
    out = a.merge(b, "outer", keys, suffixes=("_a", "_b"), indicator="only_in")
    bounds = ["ci_low_a", "ci_low_b", "ci_high_a", "ci_high_b"]
    out = out.astype(dict.fromkeys(["value_a", "value_b", *bounds], float))
    out = out.rename(columns={"value_a": "a", "value_b": "b"})
    for field, both_values in compared.items():
        out[field] = both_values
    for field in ("headline", "unit"):
        out[field] = out[f"{field}_a"].fillna(out[f"{field}_b"])
    out["difference"] = out["b"] - out["a"]
    apart = (out["ci_low_a"] > out["ci_high_b"]) | (out["ci_low_b"] > out["ci_high_a"])
    out["intervals"] = "overlap"
    out.loc[apart, "intervals"] = "apart"
    out.loc[out[bounds].isna().any(axis=1), "intervals"] = "not given"
    out["only_in"] = out["only_in"].astype(str).map(SIDES)
    return out.sort_values("headline", ascending=False, kind="stable")[list(COLUMNS)]


def compare(
    a: str = "", b: str = "", *, profile: str, papers: str | None = None, runs: str = ""
) -> int:
    """Prints the headline rows (all, if there are few) and writes every row to
    outputs/compare/<A>-<B>.csv; with `runs`, shows these side by side.
    """
    if runs:
        from katayori_tools import compare_runs

        return compare_runs.show(runs, profile, notebooks.names(papers))
    if not a or not b:
        raise KatayoriError(
            "name what to compare: make compare A=<run or model> B=<run or model>, or"
            ' RUNS="<run or model> <run or model> ..."'
        )
    frame = join(*_pair(a, b, profile, notebooks.names(papers)))
    name = paths.safe_name(f"{plain_name(a)}-{plain_name(b)}")
    path = paths.outputs_dir() / "compare" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.astype(object).map(harmless).to_csv(path, index=False)
    headlines = frame[frame["headline"].astype(bool)]
    shown = frame if len(frame) <= SHOWN or headlines.empty else headlines
    shown = shown.head(SHOWN)[list(IN_SHORT)]
    numbers = "{:.4g}".format
    print(shown.to_string(index=False, na_rep="-", float_format=numbers, max_colwidth=48))
    both, only_a, only_b = ((frame["only_in"] == side).sum() for side in ("", "A", "B"))
    counts = f"{both} in both, {only_a} only in A, {only_b} only in B; shown: {len(shown)}"
    print(f"A = {a}, B = {b}: {counts}; all rows: {path}", file=sys.stderr)
    return 0

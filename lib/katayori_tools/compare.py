"""`make compare A= B=`: two runs, or two models of one run, row by row."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.results import harmless, read_results
from katayori_tools import notebooks

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
SHOWN = 40


def _rows(name: str, papers: list[str]) -> "pd.DataFrame":
    """All result rows of a profile's name, a profile's folder or one run folder; empty if it is none of these."""
    rows = read_results(Path(name) if name and Path(name).is_dir() else paths.outputs_dir() / name)
    return rows[rows["paper"].isin(papers)] if papers else rows


def _pair(
    name_a: str, name_b: str, profile: str, papers: list[str]
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    a, b = _rows(name_a, papers), _rows(name_b, papers)
    if len(a) and len(b):
        return a, b
    both = _rows(profile, papers)
    models = sorted(both["model"].dropna().unique())
    for name, rows in ((name_a, a), (name_b, b)):
        if rows.empty and name not in models:
            runs = sorted(path.name for path in paths.outputs_dir().glob("*") if path.is_dir())
            known = f"runs: {', '.join(runs) or 'none yet, see make reproduce'}; models in '{profile}': "
            raise KatayoriError(
                f"nothing to compare under '{name}'; {known}{', '.join(models) or 'none'}"
            )
    if len(a) or len(b):
        raise KatayoriError(
            f"'{name_a}' and '{name_b}' are a run and a model; name two runs or two models"
        )
    return both[both["model"] == name_a], both[both["model"] == name_b]


def _told(cell: dict) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.items())


def join(a: "pd.DataFrame", b: "pd.DataFrame") -> "pd.DataFrame":
    """One row (columns `COLUMNS`) for each result of A or B, headlines first.

    A field with one value in A and another in B is what is being compared, so it does not tell rows apart; the source
    of answers does only where rows would be confused without it. `difference` is B - A; `intervals` says whether the
    confidence intervals overlap, are apart or were not given.
    """
    a, b = (rows.assign(cell=rows["cell"].map(_told)) for rows in (a, b))
    pairs = {field: [*a[field].unique(), *b[field].unique()] for field in IDENTITY}
    compared = {
        field: values
        for field, values in pairs.items()
        if len(values) == 2 and values[0] != values[1]
    }
    keys = [field for field in IDENTITY if field not in compared]
    if a.duplicated(keys).any() or b.duplicated(keys).any():
        a, b = (rows.assign(source_again=rows["source"]) for rows in (a, b))
        keys.append("source_again")
    out = a.merge(b, "outer", keys, suffixes=("_a", "_b"), indicator="only_in")
    numbers = [f"{field}_{side}" for field in ("value", "ci_low", "ci_high") for side in "ab"]
    out = out.astype(dict.fromkeys(numbers, float)).rename(columns={"value_a": "a", "value_b": "b"})
    out = out.assign(**{field: f"{one} / {other}" for field, (one, other) in compared.items()})
    out = out.assign(
        **{field: out[f"{field}_a"].fillna(out[f"{field}_b"]) for field in ("headline", "unit")}
    )
    out["difference"] = out["b"] - out["a"]
    out["intervals"] = "overlap"
    out.loc[
        (out["ci_low_a"] > out["ci_high_b"]) | (out["ci_low_b"] > out["ci_high_a"]), "intervals"
    ] = "apart"
    out.loc[out[numbers[2:]].isna().any(axis=1), "intervals"] = "not given"
    out["only_in"] = (
        out["only_in"].astype(str).map({"both": "", "left_only": "A", "right_only": "B"})
    )
    return out.sort_values("headline", ascending=False, kind="stable")[list(COLUMNS)]


def compare(args: Namespace) -> int:
    """Prints the headline rows (all, if there are few) and writes every row to outputs/compare/<A>-<B>.csv."""
    if not args.a or not args.b:
        raise KatayoriError("name what to compare: make compare A=<run or model> B=<run or model>")
    frame = join(*_pair(args.a, args.b, args.profile, notebooks.names(args.papers)))
    name = "-".join(
        each.strip("/.").replace("/", "_").replace("@", "_") for each in (args.a, args.b)
    )
    path = paths.outputs_dir() / "compare" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.astype(object).map(harmless).to_csv(path, index=False)
    headlines = frame[frame["headline"].astype(bool)]
    shown = (frame if len(frame) <= SHOWN or headlines.empty else headlines).head(SHOWN)
    head = ["paper", "what", "model", "cell", "a", "b", "difference", "intervals", "only_in"]
    print(
        shown[head].to_string(
            index=False, na_rep="-", float_format="{:.4g}".format, max_colwidth=48
        )
    )
    both, only_a, only_b = ((frame["only_in"] == side).sum() for side in ("", "A", "B"))
    counts = f"{both} in both, {only_a} only in A, {only_b} only in B; shown: {len(shown)}"
    print(f"A = {args.a}, B = {args.b}: {counts}; all rows: {path}", file=sys.stderr)
    return 0

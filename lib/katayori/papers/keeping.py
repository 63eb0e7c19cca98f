"""What a paper's analysis hands its tables and results to: the run folder of a notebook.

An analysis computes and keeps; a notebook shows. So the papers' room knows no more of a run folder
than these four methods (`report.results.Run` has them). `Kept` holds them in memory.
"""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd


class Keeper(Protocol):
    """Keeps tables and results under their names."""

    def table(self, name: str, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Keeps a table and returns the frame as it came."""

    def row(
        self,
        requirement: str,
        what: str,
        value: Any,
        *,
        source: str,
        ci: Any = (None, None),
        **more: Any,
    ) -> dict[str, Any]:
        """Keeps one result and returns it."""

    def rows(
        self, frame: "pd.DataFrame", requirement: str, what: str, **more: Any
    ) -> "pd.DataFrame":
        """Keeps a result for each row of a frame."""

    def claims(self, checked: "pd.DataFrame", *, source: str, **common: Any) -> "pd.DataFrame":
        """Keeps the verdicts of `check_claims` and returns them."""


class Kept:
    """A keeper without a folder: for examples, and for whoever wants the frames only.

    Attributes:
        tables: name -> frame. results: what was kept row by row, as it was given.

    Example:
        >>> kept = Kept()
        >>> kept.row("X-1", "answers", 3, source="none")["value"]
        3
    """

    def __init__(self) -> None:
        self.tables: dict[str, pd.DataFrame] = {}
        self.results: list[dict[str, Any]] = []

    def table(self, name: str, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Keeps a table and returns the frame as it came."""
        self.tables[name] = frame
        return frame

    def row(
        self,
        requirement: str,
        what: str,
        value: Any,
        *,
        source: str,
        ci: Any = (None, None),
        **more: Any,
    ) -> dict[str, Any]:
        """Keeps one result and returns it."""
        result = {"requirement": requirement, "what": what, "value": value, "source": source}
        result |= {"ci_low": ci[0], "ci_high": ci[1]} | more
        self.results.append(result)
        return result

    def rows(
        self, frame: "pd.DataFrame", requirement: str, what: str, **more: Any
    ) -> "pd.DataFrame":
        """Keeps a result for each row of a frame."""
        about = {"requirement": requirement, "what": what} | more
        self.results += [about | {str(k): v for k, v in row.items()} for row in _records(frame)]
        return frame

    def claims(self, checked: "pd.DataFrame", *, source: str, **common: Any) -> "pd.DataFrame":
        """Keeps the verdicts of `check_claims` and returns them."""
        about = {"source": source} | common
        self.results += [about | {str(k): v for k, v in row.items()} for row in _records(checked)]
        return checked


def _records(frame: "pd.DataFrame") -> list[dict[Any, Any]]:
    return frame.to_dict("records")

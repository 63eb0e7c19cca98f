"""What a paper's analysis hands its tables and results to: the run folder of a notebook.

An analysis computes and keeps; a notebook shows. So the papers' room knows no more of a run folder
than these four methods (`report.results.Run` has them).
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

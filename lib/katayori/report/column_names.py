"""Human names of columns (data/column_names.yaml), for tables and axes."""

from functools import lru_cache
from typing import TYPE_CHECKING

from katayori import paths
from katayori.data.files import read_as

if TYPE_CHECKING:
    from katayori.report.glossary_schema import ColumnNames


@lru_cache
def listed() -> "ColumnNames":
    """Names of columns, and pairs of columns that are one in a table."""
    from katayori.report.glossary_schema import ColumnNames

    return read_as(ColumnNames, paths.registry("column_names.yaml"), "column names")


def human(column: str) -> str:
    """The name of a column for readers; one that is not listed without its underscores.

    Example:
        >>> human("n_invalid"), human("my_own_column")
        ('unreadable', 'my own column')
    """
    return listed().names.get(column, column.replace("_", " "))

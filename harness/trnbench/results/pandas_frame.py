"""A run as a data frame of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.errors import UsageError
from trnbench.results.arrow_table import to_arrow
from trnbench.results.run import Run

if TYPE_CHECKING:
    import pandas

INSTALL = "pip install 'trnbench[pandas]'"


def to_pandas(run: Run) -> pandas.DataFrame:
    """The columns of `to_arrow`. Raises `UsageError` where pyarrow or pandas is not installed."""
    try:
        import pandas  # noqa: F401  (pyarrow would import it, and says less where it is missing)
    except ImportError:
        raise UsageError(
            "a run as a data frame needs pandas, which is not installed",
            cause="it is an extra, 70 MB that nothing else here needs",
            try_=INSTALL,
        ) from None
    return to_arrow(run).to_pandas()

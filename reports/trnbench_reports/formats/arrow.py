"""Apache Arrow's file format and Parquet: the rows of the CSV in typed columns, and the samples."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench import NothingSelected, Run

if TYPE_CHECKING:
    import pyarrow


def write_arrow(runs: Sequence[Run]) -> bytes:
    """Arrow's IPC file format, also called Feather 2. Raises `UsageError` where pyarrow is not installed."""
    table = _table(runs)
    import pyarrow.ipc

    out = io.BytesIO()
    with pyarrow.ipc.new_file(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


def write_parquet(runs: Sequence[Run]) -> bytes:
    """Compressed by columns. Raises `UsageError` where pyarrow is not installed."""
    table = _table(runs)
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


def _table(runs: Sequence[Run]) -> pyarrow.Table:
    """The rows of all runs; what the metadata says of a run is left out where there are several.

    Raises `NothingSelected` for none.
    """
    tables = [run.to_arrow() for run in runs]
    if not tables:
        raise NothingSelected("there is no run to write", cause="no run was named", try_="trnbench runs list")
    if len(tables) == 1:
        return tables[0]
    import pyarrow

    return pyarrow.concat_tables([table.replace_schema_metadata(None) for table in tables])

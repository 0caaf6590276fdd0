"""A run as a table of Apache Arrow: typed columns that pandas, Polars, DuckDB and others take as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnbench.errors import UsageError
from trnbench.results.metric_row import COLUMNS, metric_rows
from trnbench.results.run import Run

if TYPE_CHECKING:
    import pyarrow

INSTALL = "pip install 'trnbench[arrow]'"


def to_arrow(run: Run) -> pyarrow.Table:
    """The columns of `metric_row` and, as the last one, `samples`: seconds of each repetition, as measured.

    The schema's metadata has the run's id, its schema's version and the version of trnbench that made it.
    Raises `UsageError` where pyarrow is not installed.
    """
    arrow = _library()
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    fields = [arrow.field(name, kinds[kind]) for name, kind in COLUMNS.items()]
    schema = arrow.schema(
        [*fields, arrow.field("samples", arrow.list_(arrow.float64()))],
        metadata={
            "trnbench.run": run.id,
            "trnbench.schema_version": str(run.schema_version),
            "trnbench.tool_version": run.tool_version,
        },
    )
    columns: list[list[Any]] = [[] for _ in COLUMNS]
    for row in metric_rows(run):
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    samples = [list(each.samples) for each in run.measurements for _ in range(max(1, len(each.metrics)))]
    arrays = [
        arrow.array(column, type=field.type)
        for column, field in zip([*columns, samples], schema, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, schema=schema)


def _library() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise UsageError(
            "a run as an Arrow table needs pyarrow, which is not installed",
            cause="it is an extra, 170 MB that nothing else here needs",
            try_=INSTALL,
        ) from None
    return pyarrow

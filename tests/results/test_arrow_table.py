"""A run as an Arrow table: the rows of the CSV, typed, and what another program makes of them."""

from __future__ import annotations

import csv
import io
import sys

import msgspec
import pytest
from stored_run import make_run, text_of

from trnbench import METRIC_COLUMNS, Run
from trnbench.errors import NothingSelected, UsageError
from trnbench_reports.formats import arrow
from trnbench_reports.formats import csv as csv_format

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def run() -> Run:
    run = make_run()
    first = msgspec.structs.replace(run.measurements[0], samples=(0.5, 0.25))
    return msgspec.structs.replace(run, measurements=(first, *run.measurements[1:]))


def test_it_has_the_rows_of_the_csv_in_their_types(run: Run) -> None:
    table = run.to_arrow()
    written = list(csv.DictReader(io.StringIO(csv_format.write([run]).decode())))
    assert table.column_names == [*METRIC_COLUMNS, "samples"]
    assert len(table) == len(written) > 5
    for row, other in zip(table.to_pylist(), written, strict=True):
        for name, kind in METRIC_COLUMNS.items():
            told = row[name]
            if kind is float:
                assert told == (float(other[name]) if other[name] else None)
            elif kind is bool:
                assert {True: "true", False: "false", None: ""}[told] == other[name]
            else:
                assert (told or "") == other[name].removeprefix("'")
    assert table.column("value").type == pyarrow.float64()
    assert table.column("primary").type == pyarrow.bool_()


def test_samples_stand_in_every_row_of_their_case(run: Run) -> None:
    table = run.to_arrow()
    rows = max(1, len(run.measurements[0].metrics))
    assert table.column("samples").to_pylist()[:rows] == [[0.5, 0.25]] * rows


def test_the_schema_says_which_run_it_was(run: Run) -> None:
    told = run.to_arrow().schema.metadata
    assert told[b"trnbench.run"] == run.id.encode()
    assert told[b"trnbench.schema_version"] == str(run.schema_version).encode()


def test_files_are_read_back_by_the_library(run: Run) -> None:
    import pyarrow.ipc
    import pyarrow.parquet

    table = run.to_arrow()
    assert pyarrow.ipc.open_file(arrow.write_arrow([run])).read_all().equals(table)
    found = pyarrow.parquet.read_table(io.BytesIO(arrow.write_parquet([run])))
    assert found.to_pylist() == table.to_pylist()
    both = pyarrow.parquet.read_table(io.BytesIO(arrow.write_parquet([run, run])))
    assert len(both) == 2 * len(table)
    assert arrow.write_parquet([run]) == arrow.write_parquet([run])


def test_no_run_is_said(run: Run) -> None:
    with pytest.raises(NothingSelected, match="there is no run to write"):
        arrow.write_parquet([])


def test_its_absence_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert text_of(UsageError, run.to_arrow) == (
        "a run as an Arrow table needs pyarrow, which is not installed\n"
        "  cause: it is an extra, 170 MB that nothing else here needs\n"
        "  try:   pip install 'trnbench[arrow]'"
    )

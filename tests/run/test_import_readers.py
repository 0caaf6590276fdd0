"""What reads files of other tools: a result, or one message of ours, whatever becomes of the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import part
from stored_run import text_of

from trnbench import ImportedRun, TrnbenchError, UsageError
from trnbench_reports.importers import nccl_tests, pytest_benchmark

nccom_file = part("trnbench_neuron.nccom")
RECORDED = Path(__file__).parents[1] / "neuron" / "recorded"
NCCL = (Path(__file__).parent / "nccl_tests.txt").read_text()
"""In the format of nccl-tests; the numbers are made up."""

READERS = {
    "nccl-tests": (nccl_tests.read, NCCL, "this is no table of nccl-tests"),
    "nccom-test": (
        nccom_file.read,
        (RECORDED / "nccom_report.json").read_text(),
        "this is no result of nccom-test: ",
    ),
    "pytest-benchmark": (
        pytest_benchmark.read,
        '{"benchmarks": [{"fullname": "a", "stats": {"median": 1.5, "data": [1.5]}}]}',
        "this is no file of pytest-benchmark: ",
    ),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe\x00", b"{}", b"[]", b"no result file\n", b'{"benchmarks": []}']
)
def test_what_is_no_file_of_theirs_is_said(name: str, data: bytes) -> None:
    read, _, message = READERS[name]
    with pytest.raises(TrnbenchError) as caught:
        read(data)
    assert caught.value.exit_code == 2
    assert caught.value.what.startswith(message)
    assert caught.value.cause
    assert caught.value.try_


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=150)
@given(change=st.data())
def test_a_broken_file_is_read_or_refused_in_words(name: str, change: Any) -> None:
    """Whatever becomes of a file: results with finite times, or one message of ours."""
    read, example, _ = READERS[name]
    start = change.draw(st.integers(0, len(example)))
    end = change.draw(st.integers(start, min(len(example), start + 40)))
    middle = change.draw(
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(["9" * 400, "1e999", "NaN", "-1", "0", "null", "{}", "[[[", "#", "\n", "٣"]),
        )
    )
    data = (example[:start] + middle + example[end:]).encode("utf-8", "surrogatepass")
    try:
        found = read(data)
    except UsageError:  # exit code 2
        return
    assert isinstance(found, ImportedRun)
    assert msgspec.json.decode(msgspec.json.encode(found), type=ImportedRun) == found


@pytest.mark.parametrize("digits", [308, 309, 400])
def test_a_time_of_more_digits_than_a_float_has_is_none(digits: int) -> None:
    read, example, _ = READERS["pytest-benchmark"]
    data = example.replace('"median": 1.5', f'"median": 1{"0" * digits}').encode()
    if digits == 308:
        assert read(data).cases[0].time_s == 1e308
        return
    assert text_of(UsageError, read, data).startswith(
        "this is no file of pytest-benchmark: benchmark 1 (a) has no median"
    )


@pytest.mark.parametrize("column", ["50.00", "20.97"])
def test_a_table_with_a_number_of_more_digits_than_a_float_has_is_refused(column: str) -> None:
    assert column in NCCL
    said = text_of(UsageError, nccl_tests.read, NCCL.replace(column, "9" * 400, 1).encode())
    assert said.startswith(f"'{'9' * 40}' in a table of nccl-tests is no number\n")


def test_the_examples_of_the_page_are_read(root: Path) -> None:
    page = (root / "docs" / "formats.md").read_text()
    examples = re.findall(r"```(?:text|json)\n(.*?)```", page, re.DOTALL)
    readers = (
        nccl_tests.read,
        nccom_file.read,
        nccom_file.read,
        pytest_benchmark.read,
        pytest_benchmark.read,
    )
    found = [read(example.encode()) for read, example in zip(readers, examples, strict=True)]
    assert [len(each.cases) for each in found] == [1, 1, 1, 1, 1]
    table, report = found[1].cases[0], found[2].cases[0]
    assert table.time_s == report.time_s == 68e-6
    assert "rates were printed in GiB/s, called GB/s" in table.notes
    assert "rates were printed in GB/s" in report.notes

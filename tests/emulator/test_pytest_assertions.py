"""`assert_faster` and `assert_share_of_peak`, and the example of docs/comparing.md in a pytest of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_apart import run

from trnbench import UnknownName, UsageError
from trnbench_emulator.kernel_run.assertions import assert_faster, assert_share_of_peak
from trnbench_emulator.nki import TensorSpec

ROWS = "trnbench_kernels.nki.rows:softmax"
TRN2 = "trn2-16.48xlarge"
SMALL, LARGE = ({"x": TensorSpec((rows, 512), "bfloat16")} for rows in (128, 1024))
PAGE = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")


def test_a_kernel_that_is_faster() -> None:
    assert_faster(ROWS, ROWS, SMALL, than_args=LARGE, instance=TRN2)
    assert_faster(ROWS, ROWS, SMALL, than_args=LARGE, instance=TRN2, by="10%")


def test_one_that_is_not() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_faster(ROWS, ROWS, LARGE, than_args=SMALL, instance=TRN2)
    assert re.fullmatch(
        r"softmax is not faster than softmax on trn2-16\.48xlarge: [\d.]+ µs emulated, limited by [\w ]+, "
        r"against [\d.]+ µs emulated, limited by [\w ]+",
        str(caught.value),
    )


def test_a_kernel_is_not_faster_than_itself() -> None:
    with pytest.raises(AssertionError):
        assert_faster(ROWS, ROWS, SMALL, instance=TRN2)


def test_not_by_as_much() -> None:
    with pytest.raises(AssertionError, match=r"is not faster than softmax by 99\.0 % on"):
        assert_faster(ROWS, ROWS, SMALL, than_args=LARGE, instance=TRN2, by=0.99)


def test_a_share_of_the_peak() -> None:
    assert_share_of_peak(ROWS, LARGE, instance=TRN2, at_least=0.01)
    with pytest.raises(AssertionError) as caught:
        assert_share_of_peak(ROWS, LARGE, instance=TRN2, at_least="100%")
    assert re.fullmatch(
        r"softmax reaches [\d.]+ % of the .+ peak of trn2-16\.48xlarge, and not 100\.0 %: [\d.]+ µs "
        r"emulated, limited by [\w ]+",
        str(caught.value),
    )


def test_a_peak_that_it_is_not_held_against() -> None:
    with pytest.raises(UnknownName, match="unknown peak 'magic'"):
        assert_share_of_peak(ROWS, SMALL, instance=TRN2, at_least="1%", what="magic")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "60",
            "at_least '60' is no percentage\n"
            "  cause: it is a number with % behind it, 0 to 1,000,000\n"
            "  try:   at_least 3%",
        ),
        (60, 'at_least=60 is no share\n  cause: 0.6 is 60 %\n  try:   at_least="60%"'),
    ],
)
def test_what_is_no_share(given: float | str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        assert_share_of_peak(ROWS, SMALL, instance=TRN2, at_least=given)
    assert str(caught.value) == said


@pytest.mark.campaign("documents")
def test_the_example_of_the_page(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(from trnbench\.nki.*?)```", PAGE, re.S)
    (tmp_path / "test_lab.py").write_text(text)
    subprocess.run([sys.executable, "-m", "trnbench", "plugin", "new", "lab"], cwd=tmp_path, check=True)
    done = run(tmp_path, "test_lab.py")
    assert "2 passed" in done.stdout, done.stdout

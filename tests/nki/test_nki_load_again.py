"""A file of kernels is read as it is now, and nothing is left beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from trnbench_emulator.nki import load_kernel

TEXT = """
import nki


@nki.jit
def kernel(x):
    return NUMBER
"""


@pytest.mark.parametrize("writes", [False, True])
def test_an_edit_within_a_second_counts(
    writes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", not writes)
    file = tmp_path / "mine.py"
    found = []
    for number in (1, 2):
        file.write_text(TEXT.replace("NUMBER", str(number)), encoding="utf-8")
        os.utime(file, (1_000_000_000, 1_000_000_000))  # the same second, the same size
        kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
        found.append(kernel.function(None))
    assert found == [1, 2]
    assert sys.dont_write_bytecode is not writes
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.py"]

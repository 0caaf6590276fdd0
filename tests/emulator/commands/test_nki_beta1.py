"""A kernel of Beta 1 through the program: time, values, and what it is said to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import typed

ON = ("-i", "trn1.32xlarge")


@pytest.fixture
def old(tmp_path: Path) -> str:
    path = tmp_path / "old.py"
    path.write_text((Path(__file__).parent / "nki_kernels" / "shifted.txt").read_text())
    return f"{path}::shifted"


def test_it_is_timed_and_said_to_be_of_beta_1(old: str) -> None:
    found = typed("nki", "run", old, *ON, "--arg", "x=200x256:fp32")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.startswith("shifted on trn1.32xlarge")
    assert "6 instructions; nki: trnbench " in found.stdout
    assert " (Beta 1); model: " in found.stdout


def test_its_values_are_checked_against_numpy(old: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(200 * 256, dtype=np.float32).reshape(200, 256))
    words = ("nki", "run", old, *ON, "--arg", f"x=@{tmp_path / 'x.npy'}", "--check")
    right = typed(*words, "wanted")
    assert right.exit_code == 0, right.output
    assert typed(*words, "unwanted").exit_code == 1

"""A kernel of Beta 1 through the installed command: time, values, and what it is said to be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def shifted(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(256)[None, :]
    for n in nl.affine_range(2):
        inside = n * 128 + i_p < x.shape[0]
        tile = nl.load(x[n * 128 + i_p, i_f], mask=inside)
        nl.store(out[n * 128 + i_p, i_f], nl.add(tile, 1.0, mask=inside), mask=inside)
    return out


def wanted(x):
    return x + 1


def unwanted(x):
    return x + 2
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trnbench", "nki", "run", *words], capture_output=True, text=True, check=False
    )


@pytest.fixture
def old(tmp_path: Path) -> str:
    (tmp_path / "old.py").write_text(OLD)
    np.save(tmp_path / "x.npy", np.arange(200 * 256, dtype=np.float32).reshape(200, 256))
    return str(tmp_path / "old.py")


def test_it_is_timed_and_said_to_be_of_beta_1(old: str) -> None:
    found = run(f"{old}::shifted", "-i", "trn1.32xlarge", "--arg", "x=200x256:fp32")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("shifted on trn1.32xlarge")
    assert "6 instructions; nki: trnbench " in found.stdout
    assert " (Beta 1); model: " in found.stdout


def test_its_values_are_checked_against_numpy(old: str) -> None:
    words = (f"{old}::shifted", "-i", "trn1.32xlarge", "--arg", f"x=@{Path(old).parent / 'x.npy'}")
    right = run(*words, "--check", "wanted")
    assert right.returncode == 0, right.stdout + right.stderr
    assert run(*words, "--check", "unwanted").returncode == 1

"""Whatever a person hands to `trnbench nki`: one message, with file and line, an exit code, and no file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from command import typed

FOLDER = Path(__file__).parent / "nki_kernels"
BAD = str(FOLDER / "bad.py")
SMALL = str(FOLDER / "small.py")
TRN2 = ("-i", "trn2-16.48xlarge")
X = ("--arg", "x=64x64:bf16")


def call(*words: str) -> Result:
    return typed("nki", *words)


def test_a_square_transposed_is_only_wrong() -> None:
    result = call("check", f"{SMALL}::scaled", *TRN2, *X, "-q", "--check", "transposed", "--seed", "1")
    assert result.exit_code == 1
    assert "wrong: " in result.stdout


def test_no_trace_is_left_of_a_kernel_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    result = call("run", f"{BAD}::endless", *TRN2, *X, "--limit", "100", "--trace", str(path))
    assert result.exit_code == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0 or sys.platform == "win32", reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    path = tmp_path / "t.json"
    result = call("run", f"{SMALL}::scaled", *TRN2, *X, "--trace", str(path))
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        2,
        f"error: cannot write {path}: permission denied",
    )


def test_arrays_that_cannot_be_read(tmp_path: Path) -> None:
    text = tmp_path / "x.npy"
    text.write_text("no array")
    result = call("run", f"{SMALL}::scaled", *TRN2, "--arg", f"x=@{text}")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: --arg x: {text} is no array that can be read\n  cause: ")
    pickled = tmp_path / "p.npy"
    np.save(pickled, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    result = call("run", f"{SMALL}::scaled", *TRN2, "--arg", f"x=@{pickled}")
    assert result.exit_code == 2
    assert "is no array that can be read" in result.stderr
    many = tmp_path / "m.npz"
    np.savez(many, a=np.zeros(3))
    result = call("run", f"{SMALL}::scaled", *TRN2, "--arg", f"x=@{many}")
    assert result.stderr == (
        f"error: --arg x: {many} holds several arrays\n"
        "  cause: it is an .npz archive\n"
        "  try:   numpy.save one of them as .npy\n"
    )
    wide = tmp_path / "w.npy"
    np.save(wide, np.zeros((64, 64)))
    result = call("run", f"{SMALL}::scaled", *TRN2, "--arg", f"x=@{wide}")
    assert (result.exit_code, result.stderr) == (
        2,
        f"error: --arg x: {wide} holds float64, which no NKI kernel takes\n"
        "  cause: NumPy writes bfloat16 and fp8 as raw bytes, and NKI has no 64-bit types\n"
        f"  try:   --arg x=@{wide}:bf16  says what it is, or converts it\n",
    )
    assert call("run", f"{SMALL}::scaled", *TRN2, "--arg", f"x=@{wide}:bf16").exit_code == 0


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "trnbench", "nki", "run", f"{BAD}::announced", *TRN2, *X, "--trace", "t.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr.readline() == "the loop begins\n"
    time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=120)
    assert (started.returncode, out, err) == (130, "", "\ninterrupted: nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_that_runs_nowhere_ends_with_3_though_each_machine_has_its_own_limit() -> None:
    result = call("run", f"{BAD}::broad", "--all-generations", *X)
    assert result.exit_code == 3
    assert result.stdout.count("bytes per partition of bfloat16[128, 1048576]@sbuf exceed the ") == 3
    assert result.stderr == "error: bad.py::broad runs on none of them, the table says why\n"

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
from click.testing import CliRunner, Result

from trnbench.cli.main import cli

FOLDER = Path(__file__).parent / "nki_kernels"
BAD = str(FOLDER / "bad.py")
SMALL = str(FOLDER / "small.py")
TRN2 = ("-i", "trn2-16.48xlarge")
X = ("--arg", "x=64x64:bf16")


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["nki", *words])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param(
            ("run", f"{BAD}::too_wide", *TRN2, "--arg", "x=256x64:bf16"),
            3,
            "error: ndarray: 256 partitions of bfloat16[256, 64]@sbuf exceed the 128 of SBUF on trn2 "
            "(bad.py:13)\n"
            "  cause: dimension 0 of a tensor in SBUF or PSUM is the partition\n"
            "  try:   tile dimension 0 by nl.tile_size.pmax = 128\n",
            id="breaks a constraint",
        ),
        pytest.param(
            ("run", f"{BAD}::endless", *TRN2, *X, "--limit", "5000"),
            3,
            "error: kernel 'endless' issued more than 5,000 instructions (bad.py:19)\n"
            "  cause: a loop that never ends, or a problem far larger than meant\n"
            "  try:   check the loop's bounds, or raise the instruction limit\n",
            id="never ends",
        ),
        pytest.param(
            ("run", f"{BAD}::silent", *TRN2, *X, "--timeout", "0.3"),
            124,
            f"error: {BAD}::silent did not end within 0.3 s\n"
            "  cause: a loop without end, or a problem far larger than meant\n"
            "  try:   check the loop's bounds, or raise --timeout\n",
            id="never ends, and issues nothing",
        ),
        pytest.param(
            ("run", f"{BAD}::greedy", *TRN2, *X),
            3,
            "error: ndarray: 549,755,822,080 bytes of HBM in all exceed the 103,079,215,104 of one trn2 "
            "device (bad.py:30)\n"
            "  try:   make the tensors smaller, or split the work over devices\n",
            id="allocates more than the device has",
        ),
        pytest.param(
            ("check", f"{BAD}::hungry", *TRN2, *X, "--memory", "64M", "-q"),
            3,
            "error: bad.py::hungry needs more memory for its values than the 64 MiB it may take (bad.py:37)\n"
            "  cause: values of every tensor in device memory are kept on this machine\n"
            "  try:   smaller arguments, --memory SIZE, or nki run without --functional and --check\n",
            id="allocates more than this machine gives",
        ),
        pytest.param(
            ("run", f"{BAD}::broad", *TRN2, *X),
            3,
            "error: ndarray: 2,097,152 bytes per partition of bfloat16[128, 1048576]@sbuf exceed the 229,376 "
            "of SBUF on trn2 (bad.py:95)\n"
            "  try:   tile the free dimensions\n",
            id="one tile larger than SBUF",
        ),
        pytest.param(
            ("run", f"{BAD}::crowded", *TRN2, *X),
            3,
            "error: ndarray: tiles in use hold 262,144 bytes per partition, more than the 229,376 of SBUF on "
            "trn2 (bad.py:85)\n"
            "  cause: 4 tiles are alive there, the largest: 65,536 from bad.py:85, 65,536 from bad.py:85, "
            "65,536 from bad.py:85\n"
            "  try:   use smaller tiles, or fewer at a time\n",
            id="more tiles than SBUF holds",
        ),
        pytest.param(
            ("run", f"{BAD}::heaped", *TRN2, *X),
            3,
            "error: ndarray: tiles in use hold 18,432 bytes per partition, more than the 16,384 of PSUM on "
            "trn2 (bad.py:101)\n"
            "  cause: 9 tiles are alive there, the largest: 2,048 from bad.py:101, 2,048 from bad.py:101, "
            "2,048 from bad.py:101\n"
            "  try:   use smaller tiles, or fewer at a time\n",
            id="more accumulators than PSUM holds",
        ),
        pytest.param(
            ("run", f"{BAD}::failing", *TRN2, *X),
            3,
            "error: kernel 'failing' failed: ValueError: 64 rows are not enough (bad.py:112)\n",
            id="raises its own exception",
        ),
        pytest.param(
            ("run", f"{BAD}::importing", *TRN2, *X),
            3,
            "error: kernel 'importing' imports 'no_such_package', which is not installed (bad.py:47)\n"
            "  try:   install 'no_such_package' into this environment\n",
            id="imports what is missing",
        ),
        pytest.param(
            ("run", f"{BAD}::leaving", *TRN2, *X),
            3,
            f"error: {BAD}::leaving calls sys.exit(9)\n"
            "  cause: a kernel's file is imported, not run\n"
            '  try:   keep such calls under if __name__ == "__main__":\n',
            id="exits",
        ),
        pytest.param(
            ("run", f"{BAD}::idle", *TRN2, *X),
            3,
            "error: kernel 'idle' issues no instruction\n"
            "  cause: there is nothing whose time could be told\n"
            "  try:   nl.load, nl.store and nisa calls inside the kernel\n",
            id="does nothing",
        ),
        pytest.param(
            ("run", f"{BAD}::CONSTANT", *TRN2, *X),
            3,
            f"error: {BAD}::CONSTANT is no kernel: it is int\n"
            "  cause: a kernel is a function, usually decorated with @nki.jit\n",
            id="is no kernel",
        ),
        pytest.param(
            ("run", f"{SMALL}::scale", *TRN2, *X),
            2,
            "error: unknown kernel 'scale'\n"
            "  cause: did you mean scaled?\n"
            f"  try:   {SMALL}::NAME with one of the above\n",
            id="no such function",
        ),
        pytest.param(
            ("run", "small.py", *TRN2, *X),
            2,
            "error: 'small.py' names no kernel\n"
            "  cause: a kernel is named by its file and function\n"
            "  try:   small.py::FUNCTION\n",
            id="no function named",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", "-i", "u-trn2x6", *X),
            2,
            "error: unknown instance 'u-trn2x6'\n"
            "  cause: did you mean u-trn2x64, trn1.2xlarge?\n"
            "  try:   trnbench list instances\n",
            id="unknown instance",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *X),
            2,
            "error: no --instance is given\n"
            "  cause: limits and times are those of one machine\n"
            "  try:   --instance trn1.2xlarge   (trnbench list instances)\n",
            id="no instance",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, "--arg", "y=64x64:bf16"),
            2,
            "error: unknown argument of small.py::scaled 'y'\n"
            "  cause: known: factor, x\n"
            "  try:   --arg NAME=…, once for each\n",
            id="unknown argument",
        ),
        pytest.param(
            ("run", f"{SMALL}::matmul", *TRN2, "--arg", "rhs=128x512:bf16"),
            2,
            "error: small.py::matmul needs lhs_t\n"
            "  cause: its parameters are (lhs_t, rhs), and no --arg gives this one\n"
            "  try:   --arg lhs_t=128x512:bf16\n",
            id="missing argument",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, *X, *X),
            2,
            "error: --arg x is given twice\n"
            "  cause: x=64x64:bfloat16 and x=64x64:bfloat16\n"
            "  try:   keep one of them\n",
            id="argument twice",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, "--arg", "x=64x64:bf17"),
            2,
            "error: unknown data type 'bf17'\n"
            "  cause: did you mean bf16, fp16, bfloat16?\n"
            "  try:   in --arg x=64x64:bf17\n",
            id="unknown data type",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, "--arg", "x=64x64"),
            2,
            "error: --arg 'x=64x64' cannot be read\n"
            "  cause: a shape without a data type\n"
            "  try:   --arg x=64x64:bf16\n",
            id="shape without a data type",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, "--arg", "x=@none.npy"),
            2,
            "error: --arg x: none.npy does not exist\n  try:   --arg x=@FILE.npy\n",
            id="missing array",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, *X, "--trace", "no_such_folder/t.json"),
            2,
            "error: cannot write no_such_folder/t.json: the folder no_such_folder does not exist\n"
            "  cause: --trace names a folder that is missing or misspelt\n"
            "  try:   mkdir -p no_such_folder\n",
            id="trace without a folder",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, *X, "--trace", "."),
            2,
            "error: cannot write .: it is a folder\n"
            "  cause: --trace takes the name of a file\n"
            "  try:   --trace trace.json\n",
            id="trace is a folder",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *X, "--all-generations", "--trace", "t.json"),
            2,
            "error: --trace and several systems do not go together\n"
            "  cause: a trace file holds the timeline of one system\n"
            "  try:   --instance NAME --trace FILE.json, once for each\n",
            id="one trace, many systems",
        ),
        pytest.param(
            ("run", f"{SMALL}::scaled", *TRN2, *X, "--trace", "t.json", "--trace-limit", "big"),
            2,
            "error: --trace-limit 'big' is no size\n"
            "  cause: a size is a number of bytes, with K, M or G behind it\n"
            "  try:   --trace-limit 64M\n",
            id="no size",
        ),
        pytest.param(
            ("check", f"{SMALL}::scaled", *TRN2, *X, "-q", "--check", "transposed", "--seed", "1"),
            None,
            "",
            id="a square transposed is only wrong",
        ),
        pytest.param(
            ("check", f"{SMALL}::scaled", *TRN2, "--arg", "x=64x32:bf16", "-q", "--check", "transposed"),
            3,
            "error: output 0 has shape [64, 32], the reference [32, 64]\n"
            "  cause: both have to be arrays of the same shape\n",
            id="another shape than the reference",
        ),
        pytest.param(
            ("check", f"{SMALL}::scaled", *TRN2, *X, "-q", "--check", "broken_reference"),
            3,
            "error: reference broken_reference failed: TypeError: inv() takes 1 positional argument but "
            "2 were given (small.py:39)\n"
            "  cause: it gets the kernel's arguments in their order, as NumPy arrays\n",
            id="the reference fails",
        ),
        pytest.param(
            ("check", f"{BAD}::nothing", *TRN2, *X, "-q", "--check", f"{SMALL}::reference"),
            3,
            "error: the kernel returns nothing that could be compared\n"
            "  cause: outputs are the tensors it returns\n"
            "  try:   return the tensor that was allocated with buffer=nl.shared_hbm\n",
            id="nothing to compare",
        ),
    ],
)
def test_one_message_and_a_code(
    words: tuple[str, ...],
    code: int | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*words)
    if code is None:
        assert result.exit_code == 1
        assert "wrong: " in result.stdout
    else:
        assert (result.exit_code, result.stdout, result.stderr) == (code, "", message)
    assert list(tmp_path.iterdir()) == []


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


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import nki\ndef kernel(x):\n    return x +\n")
    result = call("run", f"{file}::kernel", *TRN2, *X)
    assert (result.exit_code, result.stderr) == (
        3,
        "error: broken.py is no Python: invalid syntax (broken.py:3)\n",
    )


def test_a_file_that_imports_what_beta_1_has_and_trnbench_has_not(tmp_path: Path) -> None:
    file = tmp_path / "old.py"
    file.write_text("import neuronxcc.nki.kernels\ndef kernel(x):\n    return x\n")
    result = call("run", f"{file}::kernel", *TRN2, *X)
    assert (result.exit_code, result.stderr) == (
        3,
        "error: old.py imports 'neuronxcc.nki.kernels', which trnbench does not emulate (old.py:1)\n"
        "  cause: language, isa and typing of nki and neuronxcc.nki are provided\n"
        "  try:   run the kernel on a device\n",
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
    assert started.stderr is not None
    assert started.stderr.readline() == "the loop begins\n"
    time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=120)
    assert (started.returncode, out, err) == (130, "", "\ninterrupted: nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_that_runs_nowhere_ends_with_3_though_each_machine_has_its_own_limit() -> None:
    result = call("run", f"{BAD}::broad", "--all", *X)
    assert result.exit_code == 3
    assert result.stdout.count("bytes per partition of bfloat16[128, 1048576]@sbuf exceed the ") == 3
    assert result.stderr == "error: bad.py::broad runs on none of them, the table says why\n"

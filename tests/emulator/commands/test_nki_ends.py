"""A user's kernel cannot end, silence or outlive the command that runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaigns import sweep
from killed import alive

KERNELS = (Path(__file__).parent / "nki_kernels" / "ends.txt").read_text()

TRNBENCH = (sys.executable, "-m", "trnbench", "nki")
GIVEN = ("-i", "trn2-16.48xlarge", "--arg", "x=128x512:bf16", "--nki", "trnbench")

Told = subprocess.CompletedProcess[str]


@pytest.fixture
def nki(tmp_path: Path) -> Callable[..., Told]:
    (tmp_path / "mine.py").write_text(KERNELS)
    (tmp_path / "started").mkdir()

    def call(command: str, kernel: str, *words: str) -> Told:
        return subprocess.run(
            [*TRNBENCH, command, f"mine.py::{kernel}", *GIVEN, *words],
            cwd=tmp_path,
            env={**os.environ, "STARTED": str(tmp_path / "started")},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return call


COMMANDS = pytest.mark.parametrize("command", sweep(["run", "check"], "run".__eq__))


ENDS = {
    "exits": "has no result: the process that ran it ended itself with exit code 0\n"
    "  cause: it calls os._exit, or something that it uses ends the process without a word\n"
    "  try:   an exception, which says what is wrong\n",
    "crashes": "has no result: the process that ran it was killed by SIGSEGV\n"
    "  cause: native code that it uses crashed, or memory ran out\n"
    "  try:   smaller arguments\n",
    "interrupts": "raises KeyboardInterrupt: no key\n"
    "  cause: it is no error that a program would go on from, and nobody asked for it\n"
    "  try:   raise an Exception, such as ValueError\n",
}


@COMMANDS
@pytest.mark.parametrize("kernel", ENDS)
def test_a_kernel_that_ends_the_process_has_no_result(command: str, kernel: str, nki: Any) -> None:
    done = nki(command, kernel)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.endswith(f"error: mine.py::{kernel} {ENDS[kernel]}")


@COMMANDS
def test_what_it_writes_is_not_among_the_data(command: str, nki: Callable[..., Told]) -> None:
    done = nki(command, "writes", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("system,", "output,"))
    for words in ("by descriptor", "by a process", "by Python", "by bytes"):
        assert words in done.stderr  # between text and bytes of one stream, whole lines are nobody's promise
        assert words not in done.stdout


@pytest.mark.parametrize(
    ("kernel", "code", "told"),
    [
        ("starts", 0, ""),
        ("hangs", 124, "error: mine.py::hangs did not end within 10 s\n"),
        ("is_deaf", 124, "error: mine.py::is_deaf did not end within 10 s\n"),
    ],
)
def test_nothing_that_it_started_is_left(kernel: str, code: int, told: str, nki: Any, tmp_path: Path) -> None:
    limit = ("--seconds", "10") if code else ()
    done = nki("run", kernel, *limit)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    started = [int(each.name) for each in (tmp_path / "started").iterdir()]
    assert len(started) >= 2
    assert not any(map(alive, started))


def test_ctrl_c_ends_it_with_all_it_started(tmp_path: Path) -> None:
    import signal

    (tmp_path / "mine.py").write_text(KERNELS)
    (tmp_path / "started").mkdir()
    command = subprocess.Popen(
        [*TRNBENCH, "run", "mine.py::hangs", *GIVEN],
        cwd=tmp_path,
        env={**os.environ, "STARTED": str(tmp_path / "started")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 120
    while len(list((tmp_path / "started").iterdir())) < 2 and time.monotonic() < until:
        assert command.poll() is None
        time.sleep(0.02)
    command.send_signal(signal.SIGINT)
    out, told = command.communicate(timeout=60)
    assert (command.returncode, out, told) == (130, "", "\ninterrupted: nothing was written\n")
    assert not any(alive(int(each.name)) for each in (tmp_path / "started").iterdir())


def test_kernels_of_a_folder_run_apart_as_well_and_without_one_nothing_does() -> None:
    from trnbench.errors import KernelError
    from trnbench.terminal.context import Session
    from trnbench_emulator.commands.nki.kernel import apart

    ran = []

    def command(_shared: Session, kernels: Path | None) -> int:
        ran.append(os.getpid())
        if kernels is not None:
            os._exit(0)
        return 0

    assert apart(command)(Session(), kernels=None) == 0
    assert ran == [os.getpid()]
    with pytest.raises(KernelError, match=r"^public has no result: the process that ran it ended"):
        apart(command)(Session(), kernels=Path("public"))

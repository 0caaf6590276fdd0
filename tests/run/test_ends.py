"""What a case starts ends with it, whichever way it ends; and an end without a word is a failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ending_machine
import pytest
from killed import alive
from stored_run import text_of

from trnbench import Evidence, Grade, Measurement, Observation, Reason, Run, Status
from trnbench.errors import PluginError
from trnbench.run.execute import execute
from trnbench.run.plan import plan
from trnbench.run.reply import Nonsense, checked_observation, detected
from trnbench.run.selection import RunSettings
from trnbench.store.store import Store

Started = Callable[[], list[int]]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """The processes that cases have started and that live; they end with the test, if not before."""
    folder = tmp_path / "started"
    folder.mkdir()
    monkeypatch.setenv(ending_machine.STARTED, str(folder))

    def numbers() -> list[int]:
        return [int(each.name) for each in folder.iterdir() if each.name.isdigit()]

    yield lambda: [pid for pid in numbers() if alive(pid)]
    for pid in numbers():
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def carried_out(*modes: str, timeout_s: float = 0.0, jobs: int = 1) -> Run:
    registry = ending_machine.registry(*modes)
    settings = RunSettings(isolate=True, timeout_s=timeout_s, jobs=jobs)
    return execute(plan(registry), registry.backends["emulated"], registry, settings)


def one(run: Run, mode: str) -> Measurement:
    (found,) = (each for each in run.measurements if each.case.point["mode"] == mode)
    return found


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("starts", Reason.NONE),
        ("starts_and_hangs", Reason.TIMEOUT),
        ("starts_and_is_deaf", Reason.TIMEOUT),
        ("starts_and_dies", Reason.CRASH),
    ],
)
def test_no_descendant_survives_a_case(mode: str, reason: Reason, started: Started, tmp_path: Path) -> None:
    run = carried_out(mode, "half", timeout_s=3.0 if reason is Reason.TIMEOUT else 0.0)
    assert len(list((tmp_path / "started").iterdir())) == 3
    assert started() == []
    assert (one(run, mode).reason, one(run, "half").status) == (reason, Status.OK)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_descendant_survives_a_command_that_is_ended(
    number: signal.Signals, started: Started, tmp_path: Path
) -> None:
    def usual() -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)

    command = subprocess.Popen(
        [sys.executable, ending_machine.__file__, "--store", "r.db", "run", "--no-report", "--jobs", "1"],
        cwd=tmp_path,
        env={**os.environ, "TINY_MODES": "half,starts_and_waits"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=usual,
    )
    until = time.monotonic() + 120
    while not (tmp_path / "started" / "waiting").exists() and time.monotonic() < until:
        assert command.poll() is None
        time.sleep(0.02)
    assert len(started()) == 3
    command.send_signal(number)
    _, told = command.communicate(timeout=60)
    while started() and time.monotonic() < until:
        time.sleep(0.02)
    assert started() == []
    with Store(tmp_path / "r.db") as store:
        assert [(each.cases, each.planned) for each in store.list()] == [(1, 2)]
    if number != signal.SIGKILL:
        assert command.returncode == 130
        assert "interrupted: 1 of 2 cases are kept" in told


def test_an_end_with_exit_code_0_is_a_failure() -> None:
    run = carried_out("quits", "half")
    assert (one(run, "quits").status, one(run, "quits").reason) == (Status.FAILED, Reason.CRASH)
    assert one(run, "quits").reason_text == "the process that ran it ended itself with exit code 0"
    assert one(run, "half").status is Status.OK


def test_a_copy_of_the_process_does_not_answer_as_well() -> None:
    run = carried_out("copies_itself", "half", "low")
    assert [each.status for each in run.measurements] == [Status.OK, Status.OK, Status.DOCUMENT_LOW]


def test_cases_share_a_process_as_long_as_they_leave_it_as_it_was() -> None:
    run = carried_out("half", "tells", "low")
    assert one(run, "tells").detail["process"] != os.getpid()
    registry = ending_machine.registry("tells")
    double = plan(registry).cases * 2
    from trnbench.run.pool import Pool
    from trnbench.run.preparation import prepared

    attempts = prepared(plan(registry), registry.backends["emulated"], RunSettings(), registry)
    told = [entry.measurement.detail["process"] for _, entry in Pool(attempts, double, 1).outcomes()]
    assert told[0] == told[1]


@pytest.mark.parametrize("mode", ["moves", "leaves_a_thread"])
def test_what_a_case_leaves_behind_does_not_reach_the_next(mode: str) -> None:
    told = one(carried_out(mode, "tells"), "tells").detail
    assert (told["threads"], told["folder"]) == (1, os.getcwd())


def test_what_a_case_writes_is_not_among_the_data(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ending_machine.__file__, "--store", "r.db", "run", "--no-report", "--format", "csv"],
        cwd=tmp_path,
        env={**os.environ, "TINY_MODES": "writes"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == ["system", "tiny.2"]
    for words in ("by descriptor", "by a process", "by Python"):
        assert f"{words}\n" in done.stderr


@pytest.mark.parametrize("isolate", [True, False])
def test_a_keyboard_interrupt_of_a_backend_is_not_the_users(isolate: bool) -> None:
    registry = ending_machine.registry("interrupts", "half")
    settings = RunSettings(isolate=isolate)
    run = execute(plan(registry), registry.backends["emulated"], registry, settings)
    assert not run.interrupted
    assert (one(run, "interrupts").reason, one(run, "half").status) == (Reason.CRASH, Status.OK)
    assert one(run, "interrupts").reason_text.startswith(
        "KeyboardInterrupt: no key was pressed (at support/ending_machine.py:"
    )


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("speed", "returns str from observe(), not an Observation"),
        ("text_time", "returns from observe() an Observation with str as its time_s"),
        ("no_evidence", "returns from observe() an Observation with NoneType as its evidence"),
    ],
)
def test_a_backend_that_returns_nonsense_is_named(mode: str, text: str) -> None:
    found = one(carried_out(mode, "half"), mode)
    assert (found.status, found.reason) == (Status.FAILED, Reason.ERROR)
    assert found.reason_text == f"backend 'emulated' {text}; a bug in ending_machine.Ending"


@pytest.mark.parametrize(
    ("fields", "text"),
    [({"time_s": True}, "bool as its time_s"), ({"samples": (1.0, "2")}, "tuple as its samples"),
     ({"parts": (1,)}, "tuple as its parts"), ({"notes": ("a", 1)}, "tuple as its notes"),
     ({"reason": "wrong"}, "str as its reason"), ({"bound": None}, "NoneType as its bound"),
     ({"work": ()}, "tuple as its work"),
     ({"loads": {"hbm": "much"}}, "dict as its loads"), ({"loads": {1: 1.0}}, "dict as its loads")],
)  # fmt: skip
def test_the_field_that_is_not_of_its_type_is_named(fields: dict[str, Any], text: str) -> None:
    seen = Observation(**{"evidence": Evidence(grade=Grade.EMULATED, by="actor"), "clock": "", **fields})
    assert text_of(Nonsense, checked_observation, ending_machine.Silent(), seen).splitlines()[0] == (
        f"backend 'emulated' returns from observe() an Observation with {text}"
    )


def test_a_backend_that_detects_nonsense_is_named() -> None:
    assert text_of(PluginError, detected, ending_machine.Silent()) == (
        "backend 'emulated' returns NoneType from detect(), not a Detection\n"
        "  cause: a bug in ending_machine.Silent\n"
        "  try:   trnbench plugin check; another one: trnbench list backends"
    )

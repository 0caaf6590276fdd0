"""Several processes: the same results in the same order, and a crash or hang costs one case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny

from trnbench import Reason, Run, Status
from trnbench.run import pool
from trnbench.run.execute import execute
from trnbench.run.plan import plan
from trnbench.run.settings import RunSettings
from trnbench.store.store import Store


def carried_out(*modes: str, store: Store | None = None, backend: Any = None, **settings: Any) -> Run:
    registry = tiny.registry(*modes, backend=backend)
    chosen = registry.backends["emulated"]
    return execute(plan(registry), chosen, registry, RunSettings(**settings), store=store)


def test_any_number_of_processes_gives_the_same_measurements(tmp_path: Path) -> None:
    modes = ("half", "crash", "low", "unsupported", "above", "memory", "huge", "nan") * 3
    alone = carried_out(*modes, jobs=1)
    with Store(tmp_path / "r.db") as store:
        shared = carried_out(*modes, jobs=3, store=store)
        assert store.load(shared.id) == shared
    assert shared.measurements == alone.measurements


def test_a_process_that_dies_costs_one_case() -> None:
    run = carried_out("half", "die", "low", "half", jobs=2)
    assert [each.status for each in run.measurements] == [
        Status.OK,
        Status.FAILED,
        Status.DOCUMENT_LOW,
        Status.OK,
    ]
    dead = run.measurements[1]
    assert dead.reason is Reason.CRASH
    assert dead.reason_text == "the process that ran it was killed by SIGSEGV"


def test_a_case_deaf_to_the_alarm_is_ended_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE_S", 0.3)
    run = carried_out("half", "deaf", "low", jobs=2, timeout_s=0.3)
    late = run.measurements[1]
    assert (late.status, late.reason) == (Status.FAILED, Reason.TIMEOUT)
    assert late.reason_text == (
        "not done after 0.3 s (--timeout), and deaf to the alarm: its process was ended"
    )
    assert [run.measurements[0].status, run.measurements[2].status] == [Status.OK, Status.DOCUMENT_LOW]


def test_what_cannot_be_sent_runs_here_and_says_so() -> None:
    class Local(tiny.Actor):
        pass

    run = carried_out("half", "low", jobs=2, backend=Local())
    assert [each.status for each in run.measurements] == [Status.OK, Status.DOCUMENT_LOW]
    assert run.notes[-1].startswith(
        "run in one process: a kernel or backend cannot be sent to another (Can't pickle"
    ) or run.notes[-1].startswith(
        "run in one process: a kernel or backend cannot be sent to another (Can't get local object"
    )


def test_no_process_outlives_a_run_that_stops_early() -> None:
    import multiprocessing

    run = carried_out(*(("crash",) + ("nap",) * 40), jobs=2, maxfail=1)
    assert len(run.measurements) < 41
    deadline = time.monotonic() + 5
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert multiprocessing.active_children() == []


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "careless.py"
    script.write_text(
        "import tiny_machine as tiny\n"
        "from trnbench.run.execute import execute\n"
        "from trnbench.run.plan import plan\n"
        "from trnbench.run.settings import RunSettings\n"
        "registry = tiny.registry('half', 'low')\n"
        "execute(plan(registry), registry.backends['emulated'], registry, RunSettings(jobs=2))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(tiny.__file__).parent)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 1
    assert (
        "a worker process did not start (exit code 1)\n"
        "  cause: a script that uses jobs lacks `if __name__ == '__main__':`, "
        "or a plugin fails to import there\n"
        "  try:   --jobs 1 (jobs=1)  runs everything in one process"
    ) in done.stderr


def test_ctrl_c_stops_all_processes() -> None:
    registry = tiny.registry(*("nap",) * 200)
    seen: list[int] = []

    def interrupt(step: Any) -> None:
        seen.append(step.done)
        if step.done == 5:
            os.kill(os.getpid(), signal.SIGINT)

    run = execute(
        plan(registry),
        registry.backends["emulated"],
        registry,
        RunSettings(jobs=2),
        interrupt,
    )
    assert run.interrupted
    assert 5 <= len(run.measurements) < 200
    assert seen == list(range(1, len(seen) + 1))
    assert msgspec.json.decode(msgspec.json.encode(run), type=Run) == run

"""Several processes: the same results in the same order, and a crash or hang costs one case."""

from __future__ import annotations

import operator
import os
import random
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import tiny_machine as tiny
from tiny_machine import carried_out

from trnbench import Reason, Status
from trnbench.registry import load_registry
from trnbench.run import pool, worker
from trnbench.run.conduct import usual_jobs
from trnbench.run.execute import execute
from trnbench.run.executor import RunCutShort
from trnbench.run.plan import plan
from trnbench.run.selection import RunSettings, Selection
from trnbench.store.journal import JournalFull
from trnbench.store.recording import Recording
from trnbench.store.store import Store

pytestmark = pytest.mark.spawned


def test_any_number_of_processes_gives_the_same_measurements(tmp_path: Path) -> None:
    modes = ("half", "crash", "low", "unsupported", "above", "memory", "huge", "nan") * 3
    alone = carried_out(*modes, jobs=1)
    with Store(tmp_path / "r.db") as store:
        shared = carried_out(*modes, jobs=3, store=store)
        assert store.load(shared.id) == shared
    assert shared.measurements == alone.measurements


def test_a_process_that_dies_costs_one_case() -> None:
    run = carried_out("half", "die", "low", "half", jobs=2)
    assert tiny.endings(run) == ["ok", "failed crash", "document-low", "ok"]
    assert run.measurements[1].reason_text == "the process that ran it was killed by SIGSEGV"


def test_what_is_json_and_no_measurement_costs_one_case() -> None:
    run = carried_out("half", "miscounted", "low", jobs=2)
    assert [each.status for each in run.measurements] == [Status.OK, Status.FAILED, Status.DOCUMENT_LOW]
    wrong = run.measurements[1]
    assert (wrong.reason, wrong.reason_text) == (
        Reason.ERROR,
        f"the outcome of {wrong.id} is not a trnbench result: Expected `float`, got `str` - "
        "at `$.counters[...]`",
    )


def test_a_process_that_ends_while_it_starts_is_heard_of_by_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal to the whole group ends it: then the command has something else to say."""
    monkeypatch.setattr(worker, "serve", operator.truth)
    started = worker.WorkerProcess(get_context("spawn"), bytes(1 << 24))
    with pytest.raises(EOFError):
        started.connection.recv()
    started.end()


def test_a_case_deaf_to_the_alarm_is_ended_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE_S", 0.3)
    run = carried_out("half", "deaf", "low", jobs=2, timeout_s=1.0)
    late = run.measurements[1]
    assert (late.status, late.reason) == (Status.FAILED, Reason.TIMEOUT)
    assert late.reason_text == (
        "not done after 1 s (--timeout), and deaf to the alarm: its process was ended"
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
    deadline = time.monotonic() + 60
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert multiprocessing.active_children() == []


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "careless.py"
    script.write_text(
        "import tiny_machine as tiny\n"
        "from trnbench.run.execute import execute\n"
        "from trnbench.run.plan import plan\n"
        "from trnbench.run.selection import RunSettings\n"
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
        "  cause: a script that uses jobs, isolate or timeout_s lacks `if __name__ == '__main__':`, "
        "or a plugin fails to import there\n"
        "  try:   that line above what the script does; a command: trnbench plugin list"
    ) in done.stderr


def test_a_journal_that_fills_while_an_interrupted_run_ends_cuts_it_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise JournalFull("the journal cannot grow", cause="the disk is full")

    def interrupt(step: Any) -> None:
        if step.done == 5:
            monkeypatch.setattr(Recording, "add", full)
            os.kill(os.getpid(), signal.SIGINT)

    with (
        Store(tmp_path / "r.db") as store,
        pytest.raises(RunCutShort, match="5 of 200 cases are kept") as cut,
    ):
        carried_out(*("nap",) * 200, jobs=2, on_progress=interrupt, store=store)
    run = cut.value.run
    assert (run.interrupted, len(run.measurements), run.missing) == (True, 5, 195)


def test_who_has_nothing_to_do_takes_over_what_waits_behind_a_case_that_hangs() -> None:
    told: list[str] = []
    run = carried_out(
        *("half",) * 60,
        "hang",
        *("low",) * 19,
        jobs=2,
        timeout_s=20.0,
        on_progress=lambda step: told.append(str(step.measurement.case.point["mode"])),
    )
    assert told[-1] == "hang"
    assert tiny.endings(run)[60] == "failed timeout"
    assert tiny.endings(run).count("ok") == 60
    assert tiny.endings(run).count("document-low") == 19


INTERRUPTED = [*range(4), *(pytest.param(n, marks=pytest.mark.campaign("faults")) for n in range(4, 100))]


@pytest.mark.parametrize("tenth", INTERRUPTED)
def test_what_had_ended_when_a_signal_came_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tenth: int
) -> None:
    """At a moment that nothing in the run knows of, while outcomes wait to be read."""
    for turn in range(10 if tenth > 3 else 1):
        drawn = random.Random(f"{tenth} {turn}")
        jobs, number = drawn.choice((1, 2, 2)), drawn.choice((signal.SIGINT, signal.SIGTERM))
        ended, kept = interrupted(tmp_path / str(turn), monkeypatch, drawn, jobs, number)
        # In this process the last note may be of a case that had not left its backend yet.
        assert ended - (jobs == 1) <= kept < 1000


def interrupted(
    notes: Path, monkeypatch: pytest.MonkeyPatch, drawn: random.Random, jobs: int, number: int
) -> tuple[int, int]:
    """How many cases had ended when the signal came, and how many the run has."""
    notes.touch()
    monkeypatch.setenv("TINY_NOTES", str(notes))
    after, more_s, ended = drawn.randrange(1, 60), drawn.uniform(0.0, 0.02), [0]

    over = threading.Event()

    def strike() -> None:
        while notes.stat().st_size < after:
            if over.wait(0.0005):
                return
        time.sleep(more_s)
        ended.append(notes.stat().st_size)
        os.kill(os.getpid(), number)

    striking = threading.Thread(target=strike, daemon=True)
    striking.start()
    run = carried_out(*("noted",) * 1000, jobs=jobs, on_progress=lambda _: time.sleep(0.004))
    over.set()
    striking.join()
    assert run.interrupted
    return ended[-1], len(run.measurements)


@pytest.mark.parametrize("most", [1, 7, 128])
def test_what_is_recorded_once_for_several_systems_is_handed_out_together(most: int) -> None:
    cases = plan(load_registry()).cases
    made = pool.batches(cases, most)
    assert sorted(position for batch in made for position in batch) == list(range(len(cases)))
    assert [len(batch) for batch in made] == sorted(map(len, made), reverse=True)
    assert max(map(len, made)) <= most
    for batch in made:
        own = [cases[position] for position in batch]
        if own[0].kernel.spread.linked:
            assert len({each.key.instance for each in own}) == 1
        else:
            assert len({(each.key.generation, each.key.kernel) for each in own}) == 1
            assert not any(each.kernel.spread.linked for each in own)


@pytest.mark.parametrize(
    ("cases", "processors", "jobs"),
    [(10, 2, 1), (499, 8, 1), (500, 1, 1), (500, 2, 2), (1000, 8, 3), (5000, 8, 4)],
)
def test_processes_where_nothing_is_said(
    cases: int, processors: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(processors)), raising=False)
    assert usual_jobs(cases) == jobs


class Computing(tiny.Actor):
    def worked_out_with(self) -> tuple[str, ...]:
        return ()


@pytest.mark.parametrize(("backend", "jobs"), [(Computing(), 2), (tiny.Actor(), 8)])
def test_what_computes_takes_no_more_processes_than_processors(
    backend: tiny.Actor, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuses(attempts: object, cases: object, jobs: int, **_: object) -> None:
        asked.append(jobs)
        raise ValueError("not sent")

    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr("trnbench.run.pool.Pool", refuses)
    carried_out("half", "low", jobs=8, backend=backend)
    assert asked == [jobs]


@pytest.mark.parts
def test_a_used_emulator_is_sent_without_what_it_worked_out() -> None:
    registry = load_registry()
    backend = registry.backends["emulated"]
    chosen = plan(registry, Selection(kernels=("rms_norm",), instances=("trn2-16.48xlarge",)))
    execute(chosen, backend, registry, RunSettings(jobs=1))
    shared = execute(chosen, backend, registry, RunSettings(jobs=2))
    assert shared.notes == ()  # it would say that it ran in one process after all
    assert all(each.status in (Status.OK, Status.DOCUMENT_LOW) for each in shared.measurements)

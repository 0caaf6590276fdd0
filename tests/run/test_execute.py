"""Every way a case can end, and what the run makes of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_machine as tiny
from messages import messages
from stored_run import message_of
from tiny_machine import carried_out

from trnbench import Detection, Evidence, Grade, Measurement, Reason, Run, Status
from trnbench.errors import ExitCode, UsageError
from trnbench.results.json import dumps, loads
from trnbench.run.execute import execute
from trnbench.run.plan import plan
from trnbench.run.selection import RunSettings
from trnbench.store.store import Store


def only(run: Run) -> Measurement:
    (one,) = run.measurements
    return one


@pytest.mark.parametrize(("mode", "ending", "code"), messages(Path(__file__).parent / "case_ends.txt"))
def test_how_a_case_ends(mode: str, ending: str, code: int) -> None:
    """An ending is its status and reason, and the text of the reason."""
    head, _, text = ending.partition("\n")
    run = carried_out(mode)
    one = only(run)
    assert f"{one.status} {one.reason}".rstrip() == head
    assert one.reason_text == text or (
        one.reason is Reason.CRASH and one.reason_text.startswith(f"{text} (at support/tiny_machine.py:")
    )
    assert run.exit_code() == code
    assert loads(dumps(run)) == run


def test_what_is_not_run_keeps_its_peaks() -> None:
    run = carried_out("unsupported", "crash")
    for each in run.measurements:
        (choice,) = each.reference_peaks
        assert choice.chosen.value == tiny.DOCUMENTED
        assert choice.engine_bound.value == tiny.BOUND
        assert each.judgement is None
        assert each.work["flops"] == tiny.FLOPS
    assert run.measurements[0].evidence.grade is Grade.DOCUMENTED
    assert run.measurements[1].evidence.grade is Grade.EMULATED


def test_a_trace_is_kept_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(carried_out("crash")).notes == ()
    monkeypatch.setenv("TRNBENCH_DEBUG", "1")
    (trace,) = only(carried_out("crash")).notes
    assert trace.startswith("Traceback (most recent call last):")
    assert "ZeroDivisionError: division by zero" in trace
    assert str(Path.home()) + "/" not in trace


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        (
            Evidence(grade=Grade.EMULATED, by=""),
            "the backend did not name the device or model that produced the number",
        ),
        (Evidence(grade=Grade.MEASURED, by="device 0"), "measured on device 0, but without a single sample"),
        (
            Evidence(grade=Grade.PUBLISHED, by="a paper"),
            "a run is measured, emulated or derived; the backend calls its result published",
        ),
    ],
)
def test_without_evidence_nothing_passes(evidence: Evidence, text: str) -> None:
    one = only(carried_out("half", backend=tiny.Actor(evidence)))
    assert (one.status, one.reason, one.reason_text) == (Status.FAILED, Reason.NO_EVIDENCE, text)


FORMULA = Evidence(grade=Grade.DERIVED, by="work / rate", note="flops")


class Measuring(tiny.Actor):
    def detect(self) -> Detection:
        return Detection(available=True, instance="tiny.2")


def test_a_backend_is_tuned_where_a_time_of_sampling_is_asked_for() -> None:
    asked: list[float] = []

    class Tuned(Measuring):
        def tuned(self, sample_s: float) -> Tuned:
            asked.append(sample_s)
            return self

    for sample_s in (0.0, 0.5):
        carried_out("ok", backend=Tuned(), sample_s=sample_s)
    assert asked == [0.5]


def test_a_formula_is_no_measurement() -> None:
    derived = only(carried_out("half", backend=tiny.Actor(FORMULA)))
    assert (derived.status, derived.evidence) == (Status.OK, FORMULA)

    measured = only(carried_out("half", backend=Measuring(FORMULA)))
    assert (measured.status, measured.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert measured.reason_text == (
        "a measured run takes no formula; the backend derives its result by work / rate"
    )


@pytest.mark.spawned
def test_what_a_kernel_prints_stays_off_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    carried_out("half")
    carried_out("half", "low", jobs=2)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("printed by half") == 2


def test_a_case_over_its_limit_is_stopped() -> None:
    run = carried_out("hang", "half", timeout_s=1.0)
    late, fine = run.measurements
    assert (late.status, late.reason) == (Status.FAILED, Reason.TIMEOUT)
    assert late.reason_text == "not done after 1 s (--timeout)"
    assert fine.status is Status.OK
    assert run.exit_code() is ExitCode.TIMEOUT


def test_a_limit_holds_outside_the_main_thread() -> None:
    found: list[Run] = []
    thread = threading.Thread(target=lambda: found.append(carried_out("hang", "half", timeout_s=1.0)))
    thread.start()
    thread.join(30)
    assert [each.reason for each in found[0].measurements] == [Reason.TIMEOUT, Reason.NONE]


def test_maxfail_stops_and_says_so() -> None:
    run = carried_out("half", "crash", "above", "low", "half", maxfail=2)
    assert [each.status for each in run.measurements] == [Status.OK, Status.FAILED, Status.SUSPECT]
    assert run.notes[-1] == "stopped after 2 failed or suspect cases (--maxfail): 2 of 5 cases were not run"
    assert not run.interrupted


@pytest.mark.parametrize(("setting", "text", "code"), messages(Path(__file__).parent / "wrong_settings.txt"))
def test_settings_that_make_no_sense(setting: str, text: str, code: int) -> None:
    name, _, value = setting.partition("=")
    assert message_of(UsageError, lambda: carried_out("half", **{name: float(value)})) == (text, code)


def test_numbers_of_numpy_are_settings_and_words_are_none() -> None:
    taken = RunSettings(seed=np.int64(3), timeout_s=np.float32(1.5)).checked()
    assert [(type(each), each) for each in (taken.seed, taken.timeout_s)] == [(int, 3), (float, 1.5)]
    for wrong in ({"jobs": "2"}, {"timeout_s": None}, {"seed": np.float32(0.5)}, {"jobs": np.ones(2, int)}):
        with pytest.raises(UsageError, match="is no "):
            RunSettings(**wrong).checked()


class Interrupting(tiny.Actor):
    """Sends its own process a signal while a case runs."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__()
        self.number = number

    def _hang(self) -> Any:
        os.kill(os.getpid(), self.number)
        return super()._hang()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_done(number: signal.Signals, tmp_path: Path) -> None:
    before = signal.getsignal(number)
    with Store(tmp_path / "r.db") as store:
        run = carried_out("half", "low", "hang", "above", backend=Interrupting(number), store=store)
        assert [each.status for each in run.measurements] == [Status.OK, Status.DOCUMENT_LOW]
        assert run.interrupted
        assert run.exit_code() is ExitCode.INTERRUPTED
        assert run.notes[-1] == "interrupted: 2 of 4 cases were not run"
        assert store.load(run.id) == run
    assert signal.getsignal(number) is before


class Swallowing(Interrupting):
    """A kernel that catches everything still does not outlive Ctrl-C by more than its own case."""

    def _hang(self) -> Any:
        try:
            return super()._hang()
        except KeyboardInterrupt:
            return self._seen(1.0)


def test_a_swallowed_ctrl_c_still_ends_the_run() -> None:
    run = carried_out("half", "hang", "low", backend=Swallowing(signal.SIGINT))
    assert run.interrupted
    assert len(run.measurements) == 2


class Converting(Interrupting):
    """As NumPy, which makes an ImportError of what comes while it is imported."""

    def _hang(self) -> Any:
        try:
            return super()._hang()
        except KeyboardInterrupt:
            raise ImportError("numpy's sources are in the way") from None


def test_what_a_library_makes_of_ctrl_c_is_no_crash_of_the_case() -> None:
    run = carried_out("half", "hang", "low", backend=Converting(signal.SIGINT))
    assert run.interrupted
    assert [each.status for each in run.measurements] == [Status.OK]
    # Nor is a later error taken for the signal.
    assert [each.reason for each in carried_out("crash", "half").measurements] == [Reason.CRASH, Reason.NONE]


def test_the_grade_is_that_of_the_machine() -> None:
    assert carried_out("half").grade is Grade.EMULATED
    assert carried_out("half", backend=Measuring()).grade is Grade.MEASURED


def test_same_seed_same_data_whatever_ran_before() -> None:
    import random

    class Drawing(tiny.Actor):
        def observe(self, case: Any, system: Any) -> Any:
            return self._seen(0.01, counters={"drawn": random.random()})

    def drawn(*modes: str, seed: int) -> dict[str, float]:
        run = carried_out(*modes, backend=Drawing(), seed=seed)
        return {str(each.case.point["mode"]): each.counters["drawn"] for each in run.measurements}

    assert drawn("half", "low", seed=1)["low"] == drawn("low", seed=1)["low"]
    assert drawn("low", seed=1) != drawn("low", seed=2)


def test_a_backend_that_cannot_describe_its_stack_costs_no_case() -> None:
    class Mute(tiny.Actor):
        def environment(self) -> dict[str, Any]:
            raise OSError("no driver")

    run = carried_out("half", backend=Mute())
    assert run.notes == ("backend emulated could not describe its stack: OSError: no driver",)
    assert [each.status for each in run.measurements] == [Status.OK]


@pytest.mark.parametrize("busy", [False, True])
def test_of_very_many_cases_a_sample_comes_back(
    busy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same one that the store gives, whether it has kept up or not."""
    monkeypatch.setattr("trnbench.run.progress.MANY", 3)
    known = tiny.registry("half", "low", "crash", "half", "half")
    with Store(tmp_path / "r.db", busy_s=0.01) as store, closing(sqlite3.connect(tmp_path / "r.db")) as other:
        if busy:
            store.save(carried_out("half"))
            other.execute("BEGIN IMMEDIATE")
        run = execute(plan(known), known.backends["emulated"], known, store=store, sample=2)
        other.rollback()
    with Store(tmp_path / "r.db") as store:
        assert len(store.load(run.id).measurements) == 5
        kept = store.load(run.id, sample=2)
    assert len(run.measurements) == 2
    assert (run.measurements, run.notes) == (kept.measurements, kept.notes)

"""A measured case in several processes: rounds over all cases, one measurement of them, and what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import measured_machine as machine
import msgspec
import pytest
import stored_run
from measured_machine import Busy, Quiet
from measured_machine import carried_out as measured

from trnbench import Reason, Run, Status
from trnbench.results.measurement import ProcessSamples
from trnbench.results.stability import undecided
from trnbench.run.attempt import Task, tasks
from trnbench.run.execute import execute
from trnbench.run.plan import plan
from trnbench.run.progress import Step
from trnbench.run.selection import RunSettings
from trnbench.store.journal import read_chain
from trnbench.store.store import Store


def test_a_case_is_measured_in_three_processes_and_keeps_what_each_saw(tmp_path: Path) -> None:
    (found,) = measured("well", folder=tmp_path).measurements
    assert found.status is Status.OK
    assert len(found.processes) == 3
    assert {each.conditions for each in found.processes} == {Quiet().conditions()}
    assert all(len(each.cpu_s) == len(each.preempted) == len(each.samples) for each in found.processes)
    assert found.samples == tuple(sample for each in found.processes for sample in each.samples)
    assert found.interval.low <= found.time_s <= found.interval.high
    assert found.stability.verdict == "stable"


def test_rounds_go_over_all_cases(tmp_path: Path) -> None:
    steps: list[Step] = []
    measured("well", "well", folder=tmp_path, on_progress=steps.append, processes=2)
    told = [(each.measurement.case.point["mode"], each.ended, each.done) for each in steps]
    assert told == [("well0", False, 0), ("well1", False, 0), ("well0", True, 1), ("well1", True, 2)]
    assert [each.part for each in steps] == [0.25, 0.5, 0.75, 1.0]


def test_tasks_are_round_after_round_and_a_skipped_case_has_one() -> None:
    class Case:
        def __init__(self, skip: str = "") -> None:
            self.skip = skip

    cases: Any = (Case(), Case("not here"), Case())
    assert tasks(cases, 2) == (Task(0, 0), Task(1, 0), Task(2, 0), Task(0, 1), Task(2, 1))
    assert tasks(cases, 2, (2, 0), {0: {1: None}}) == (Task(2, 0), Task(0, 0), Task(2, 1))  # type: ignore[dict-item]


def test_how_many_processes_is_recorded_and_can_be_asked_for(tmp_path: Path) -> None:
    run = measured("well", folder=tmp_path, processes=4)
    assert len(run.measurements[0].processes) == 4
    assert run.settings["processes"] == 4


def test_one_process_has_no_interval_and_is_judged_by_its_own_samples(tmp_path: Path) -> None:
    (found,) = measured("well", folder=tmp_path, processes=1).measurements
    assert (found.interval, len(found.processes)) == (None, 1)
    # How many samples there are is the machine's: fewer than five of one process tell nothing.
    assert found.status is (Status.OK if len(found.samples) >= 5 else Status.INCONCLUSIVE)


def test_processes_that_disagree_are_inconclusive_whatever_their_peak(tmp_path: Path) -> None:
    run = measured("jumps", folder=tmp_path, processes=2)
    (found,) = run.measurements
    assert found.status is Status.INCONCLUSIVE
    assert len(found.processes) == 6  # three times as many as asked for, and no more
    assert found.time_s == pytest.approx(0.0385, rel=1e-3)  # the median of 11, 22, … and 66 ms
    assert found.reason_text == (
        "6 processes agree to ±56.1% only; likeliest cause: not known: nothing that was recorded explains "
        "it; try: repeat it; --processes 12 --sample-time 2 narrows the interval"
    )
    assert found.metrics  # the number is shown all the same
    assert run.exit_code() == 0
    assert run.exit_code(strict=True) == 1


def test_processes_that_disagree_get_as_many_more_until_they_agree(tmp_path: Path) -> None:
    steps: list[Step] = []
    first, second = measured("settles", "well", folder=tmp_path, on_progress=steps.append).measurements
    assert [len(each.processes) for each in (first, second)] == [6, 3]
    assert (first.status, first.stability and first.stability.verdict) == (Status.OK, "noisy")
    # All cases have their rounds before one has more.
    assert [each.ended for each in steps] == [False] * 5 + [True] + [False] * 2 + [True]
    assert [each.part for each in steps][4:] == pytest.approx([5 / 6, 1.0, 4 / 6, 5 / 6, 1.0])


def test_two_processes_that_disagree_get_no_more_on_a_busy_machine() -> None:
    quiet, busy = Quiet().conditions(), Busy().conditions()
    apart = [ProcessSamples(samples=(time,) * 9, time_s=time, conditions=quiet) for time in (1.0, 2.0)]
    assert undecided(apart)
    assert not undecided(apart[:1])
    held_back = [msgspec.structs.replace(each, conditions=busy) for each in apart]
    assert not undecided(held_back)
    assert undecided(held_back, host_clock=False)
    loose = [
        msgspec.structs.replace(each, samples=tuple(each.time_s * share for share in (0.5, 0.6, 1, 1.5, 1.6)))
        for each in apart
    ]
    assert not undecided(loose)


def test_a_busy_machine_is_inconclusive_however_well_processes_agree(tmp_path: Path) -> None:
    (found,) = measured("busy", folder=tmp_path).measurements
    assert found.status is Status.INCONCLUSIVE
    assert found.processes[0].conditions == Busy().conditions()
    assert found.reason_text.startswith("it waited for a processor for 50% of the time it could have run, ")


def test_a_process_that_fails_fails_the_case_and_ends_it(tmp_path: Path) -> None:
    steps: list[Step] = []
    first, second = measured("second", "well", folder=tmp_path, on_progress=steps.append).measurements
    assert (first.status, first.reason) == (Status.FAILED, Reason.CRASH)
    assert first.reason_text.startswith("process 2 of 3: ZeroDivisionError: this was the second process (at ")
    assert second.status is Status.OK
    assert len(list(tmp_path.glob("second0-*"))) == 2  # no third one
    assert steps[-1].part == 1.0


def test_each_process_may_be_tried_again(tmp_path: Path) -> None:
    (found,) = measured("second", folder=tmp_path, retries=1).measurements
    assert (found.status, found.detail["tries"]) == (Status.OK, 2)
    assert any(note.startswith("try 1: crash: ZeroDivisionError") for note in found.notes)


def stopped(folder: Path, after: int, *modes: str) -> tuple[Any, Run]:
    """A run that Ctrl-C ends when so many processes are done."""
    registry = machine.registry(*modes, folder=folder)
    backend = registry.backends["stand-in"]
    steps: list[Step] = []

    def tell(step: Step) -> None:
        steps.append(step)
        if len(steps) == after:
            raise KeyboardInterrupt

    with Store(folder / "r.db") as store:
        return registry, execute(plan(registry), backend, registry, RunSettings(), tell, store=store)


def resumed(folder: Path, registry: Any, run_id: str) -> tuple[Run, list[Step]]:
    steps: list[Step] = []
    with Store(folder / "r.db") as store:
        return stored_run.resumed(store, registry, run_id, on_progress=steps.append), steps


def test_a_case_is_done_when_all_its_processes_are(tmp_path: Path) -> None:
    _, run = stopped(tmp_path, 3, "well", "well")
    assert (run.interrupted, run.measurements) == (True, ())
    assert run.notes == (
        "interrupted: 2 of 2 cases were not run, 2 of them have been measured in some of their processes",
    )


def test_a_resume_repeats_the_missing_processes_only(tmp_path: Path) -> None:
    registry, run = stopped(tmp_path, 3, "well", "well")
    whole, steps = resumed(tmp_path, registry, run.id)
    assert len(steps) == 3  # of six
    assert [each.status for each in whole.measurements] == [Status.OK, Status.OK]
    assert {len(each.processes) for each in whole.measurements} == {3}
    with Store(tmp_path / "r.db") as store:
        assert store.load(run.id) == whole


def test_a_case_whose_further_processes_were_cut_short_has_a_result(tmp_path: Path) -> None:
    registry, run = stopped(tmp_path, 4, "settles")
    (found,) = run.measurements
    assert (run.interrupted, run.notes) == (True, ("interrupted: 1 cases would have had more processes",))
    assert (found.status, len(found.processes)) == (Status.INCONCLUSIVE, 4)
    whole, _ = resumed(tmp_path, registry, run.id)
    assert [each.status for each in whole.measurements] == [Status.OK]


def test_a_case_that_failed_is_measured_in_all_its_processes_again(tmp_path: Path) -> None:
    registry, run = stopped(tmp_path, 4, "well", "second")
    assert [each.status for each in run.measurements] == [Status.FAILED]
    whole, steps = resumed(tmp_path, registry, run.id)
    assert len(steps) == 1 + 3
    assert [len(each.processes) for each in whole.measurements] == [3, 3]


def test_rounds_are_in_the_journal_as_soon_as_they_are_there(tmp_path: Path) -> None:
    _, run = stopped(tmp_path, 2, "well", "well")
    with Store(tmp_path / "r.db") as store:
        chain = read_chain(store.journal(run.id).read_bytes())
    assert [each.kind for each in chain.records if each.kind in ("round", "case")] == ["round", "round"]
    assert [each.meta for each in chain.records if each.kind == "round"] == [
        {"position": 0, "round": 0},
        {"position": 1, "round": 0},
    ]

"""What a machine was like meanwhile: read from files as Linux has them, made up so that answers are known."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trnbench.measure import conditions as module
from trnbench.measure.conditions import Watch, clock_hz, disturbed, quiet_within, seen
from trnbench.results.measurement import Conditions


class Machine:
    """Two processors, of which this process may use the first; both share a core where `siblings`."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, *, siblings: bool = False) -> None:
        self.proc, self.sys = root / "proc", root / "sys"
        monkeypatch.setattr(module, "_allowed", lambda: frozenset({0}))
        for number in (0, 1):
            folder = self.sys / f"devices/system/cpu/cpu{number}/topology"
            folder.mkdir(parents=True)
            (folder / "thread_siblings_list").write_text("0-1\n" if siblings else f"{number}\n")
        (self.proc / "self/task/7").mkdir(parents=True)
        (self.proc / "pressure").mkdir()
        self.told()

    def told(
        self,
        busy: tuple[int, int] = (0, 0),
        idle: tuple[int, int] = (0, 0),
        stolen: int = 0,
        queued_ns: int = 0,
        pressure_us: int = 0,
        mhz: float = 3000.0,
    ) -> None:
        lines = ["cpu 0 0 0 0 0 0 0 0 0 0"]
        taken = (stolen, 0)
        lines += [f"cpu{each} {busy[each]} 0 0 {idle[each]} 0 0 0 {taken[each]} 0 0" for each in (0, 1)]
        (self.proc / "stat").write_text("\n".join([*lines, "ctxt 5", ""]))
        (self.proc / "self/task/7/schedstat").write_text(f"999 {queued_ns} 3\n")
        (self.proc / "pressure/cpu").write_text(
            f"some avg10=1.00 avg60=1.00 avg300=1.00 total={pressure_us}\nfull avg10=0.00 total=0\n"
        )
        (self.proc / "cpuinfo").write_text(f"processor : 0\ncpu MHz : {mhz}\nprocessor : 1\ncpu MHz : 1.0\n")

    def watch(self, **more: bool) -> Watch:
        return Watch(self.proc, self.sys, **more)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_what_happened_is_the_difference_of_two_looks(machine: Machine) -> None:
    machine.told(busy=(100, 100), queued_ns=10**9, pressure_us=7)
    watch = machine.watch()
    machine.told(
        busy=(130, 180), idle=(60, 20), stolen=10, queued_ns=10**9 + 500_000, pressure_us=7, mhz=2000.0
    )
    found = watch.conditions()
    assert found.queued_s == 0.0005
    assert found.stolen == 0.1  # of the first processor, the only one it may use
    assert found.clock_hz == (3.0e9, 2.0e9)
    assert found.pressure == 0.0
    # 110 of 200 ticks of both processors, 30 of 100 of its own; this process itself used next to nothing.
    assert found.others == pytest.approx(0.55, abs=0.05)
    assert found.wall_s > 0.0


def test_the_other_logical_processor_of_its_core_counts_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch, siblings=True)
    watch = machine.watch()
    machine.told(busy=(0, 50), idle=(50, 0), stolen=25)
    assert watch.conditions().stolen == pytest.approx(25 / 125)


def test_a_few_ticks_tell_nothing(machine: Machine) -> None:
    watch = machine.watch()
    machine.told(busy=(9, 0), idle=(0, 9))
    found = watch.conditions()
    assert (found.others, found.stolen) == (None, None)


@pytest.mark.parametrize(
    ("column", "others"),
    [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.0), (4, 0.0), (5, 0.5), (6, 0.5)],
    ids=["user", "nice", "system", "idle", "iowait", "irq", "softirq"],
)
def test_interrupts_are_work_too_and_a_processor_that_waits_does_nothing(
    machine: Machine, column: int, others: float
) -> None:
    watch = machine.watch()
    ticks = [0, 0, 0, 100, 0, 0, 0, 0]
    ticks[column] = 100
    (machine.proc / "stat").write_text(f"cpu0 {' '.join(map(str, ticks))} 0 0\n")
    assert watch.conditions().others == pytest.approx(others, rel=0.1)


def test_several_processes_of_one_case_are_no_disturbance_of_each_other(machine: Machine) -> None:
    watch = machine.watch(alone=False)
    machine.told(busy=(100, 100), pressure_us=10**9)
    found = watch.conditions()
    assert (found.others, found.pressure) == (None, None)


def test_a_system_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    found = Watch(tmp_path, tmp_path).conditions()
    assert (found.queued_s, found.others, found.stolen, found.pressure) == (None, None, None, None)
    assert found.clock_hz == ()
    assert found.preempted is not None
    assert clock_hz(0, tmp_path, tmp_path) is None


def test_processor_time_is_that_of_this_process_and_its_threads() -> None:
    watch = Watch()
    # `os.times` counts whole ticks, each for whoever has its end.
    until = time.process_time() + 0.03
    while time.process_time() < until:
        pass
    found = watch.conditions()
    assert 0.02 <= found.cpu_s <= 2 * found.wall_s


# ---- a quiet machine


def told(others: float) -> Conditions:
    return Conditions(wall_s=0.5, cpu_s=0.0, queued_s=None, others=others, stolen=0.0, pressure=0.0)


def test_a_machine_is_busy_by_what_others_use() -> None:
    assert disturbed(told(0.05)) is None
    cause = disturbed(told(0.35))
    assert cause.what == "other processes had 35% of the processors"


def test_waiting_ends_when_it_is_quiet_or_the_time_is_over() -> None:
    looks = iter([told(0.9), told(0.5), told(0.0), told(0.9)])
    clock = iter(range(100))
    assert quiet_within(60.0, lambda: next(looks), lambda: float(next(clock))) is None
    assert next(looks).others == 0.9  # the third look was the last
    cause = quiet_within(2.5, lambda: told(0.9), lambda: float(next(clock)))
    assert cause is not None
    assert quiet_within(0.0, lambda: told(0.0)) is None


def test_a_look_takes_the_time_it_is_given() -> None:
    found = seen(0.01)
    assert found.wall_s >= 0.01
    assert found.queued_s is None

"""Counters around the samples: what held the work back makes its number suspect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import trnbench_host.backend as host_backend
import trnbench_host.throttle as throttling
from trnbench import Run, Status
from trnbench.run.api import bench
from trnbench_host.throttle import Throttle


def machine(folder: Path, *, hot: int = 0, held: int = 0, stolen: int = 0) -> Path:
    """/sys and /proc of two processors, as the kernel writes them."""
    for each in (0, 1):
        place = folder / "sys" / f"cpu{each}" / "thermal_throttle"
        place.mkdir(parents=True, exist_ok=True)
        (place / "core_throttle_count").write_text(f"{5 + hot}\n")
        (place / "package_throttle_count").write_text("7\n")
    group = folder / "cgroup" / "mine"
    group.mkdir(parents=True, exist_ok=True)
    (group / "cpu.stat").write_text(
        f"usage_usec 10\nnr_periods 9\nnr_throttled {held}\nthrottled_usec {held * 20000}\n"
    )
    (folder / "proc" / "self").mkdir(parents=True, exist_ok=True)
    (folder / "proc" / "self" / "cgroup").write_text("0::/mine\n")
    (folder / "proc" / "stat").write_text(
        f"cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 100 0 0 0 0 0 0 {stolen} 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\n"
        if not stolen
        else f"cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 150 0 0 0 0 0 0 {stolen} 0 0\ncpu1 200 0 0 0 0 0 0 0 0 0\n"
    )
    return folder


def watch(folder: Path) -> Throttle:
    return Throttle((0, 1), folder / "sys", folder / "cgroup", folder / "proc")


def test_a_quiet_machine_leaves_counters_and_no_doubt(tmp_path: Path) -> None:
    found = watch(machine(tmp_path)).witness()
    assert (found.doubts, found.notes) == ((), ())
    assert found.counters == {
        "core_throttle_count": 0.0,
        "package_throttle_count": 0.0,
        "cgroup_throttled": 0.0,
        "cgroup_throttled_s": 0.0,
        "stolen_ticks": 0.0,
    }


def test_each_way_of_being_held_back_is_told(tmp_path: Path) -> None:
    watched = watch(machine(tmp_path))
    machine(tmp_path, hot=2, held=3, stolen=50)
    found = watched.witness()
    assert found.doubts == (
        "the processor lowered its clock 4 times meanwhile because it was too hot (thermal_throttle)",
        "its control group was held back 3 times meanwhile, 0.06 s in all: the quota of the container was "
        "used up (cpu.stat)",
    )
    assert found.notes == ("other virtual machines took 25.0% of these processors' time meanwhile",)


def test_the_older_interface_counts_nanoseconds(tmp_path: Path) -> None:
    machine(tmp_path)
    (tmp_path / "proc" / "self" / "cgroup").write_text("4:memory:/x\n1:cpu,cpuacct:/mine\n")
    stat = tmp_path / "cgroup" / "cpu,cpuacct" / "mine" / "cpu.stat"
    stat.parent.mkdir(parents=True)
    stat.write_text("nr_periods 9\nnr_throttled 1\nthrottled_time 0\n")
    watched = watch(tmp_path)
    stat.write_text("nr_periods 9\nnr_throttled 2\nthrottled_time 1500000000\n")
    assert watched.witness().counters["cgroup_throttled_s"] == 1.5


def test_a_machine_that_counts_nothing_says_nothing(tmp_path: Path) -> None:
    assert msgspec.structs.astuple(watch(tmp_path).witness()) == ({}, (), (), {})


def measured(monkeypatch: pytest.MonkeyPatch, folder: Path, **later: int) -> Run:
    """A case of this machine whose counters are those of `folder`, and change while it is measured."""
    machine(folder)

    class Changing(Throttle):
        def __init__(self, processors: Any) -> None:
            super().__init__((0, 1), folder / "sys", folder / "cgroup", folder / "proc")
            machine(folder, **later)

    monkeypatch.setattr(throttling, "Throttle", Changing)
    from trnbench.registry import load_registry
    from trnbench.run.attempt import Attempts
    from trnbench.run.plan import plan
    from trnbench.run.preparation import prepared
    from trnbench.run.selection import Selection
    from trnbench.run.settings import RunSettings

    registry = load_registry()
    planned = plan(
        registry,
        Selection(kernels=("stream_copy",), instances=("host",), scopes=("core",), axes=("size=1M",)),
    )
    backend = host_backend.HostBackend()
    attempts: Attempts = prepared(planned, backend, RunSettings(sample_s=0.05), registry)
    return attempts(planned.cases[0])[0]  # type: ignore[return-value]


def test_a_processor_that_got_too_hot_makes_the_number_suspect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: Any = measured(monkeypatch, tmp_path, hot=1)
    assert found.status is Status.SUSPECT
    assert "because it was too hot" in found.reason_text
    assert found.counters["core_throttle_count"] == 2.0


def test_a_container_that_was_held_back_makes_the_number_suspect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: Any = measured(monkeypatch, tmp_path, held=2)
    assert found.status is Status.SUSPECT
    assert "its control group was held back 2 times meanwhile" in found.reason_text


def test_the_counters_of_this_machine_are_in_every_result() -> None:
    run = bench(
        ("stream_copy",), backend="host", scopes=("core",), axes=("size=1M",), sample_s=0.05
    )  # in a process of its own
    assert "stolen_ticks" in run.measurements[0].counters

"""`trnbench run --backend host`: into the store, into a report, beside an emulated run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trnbench
from trnbench import Grade, Run, Status
from trnbench.backend import Detection
from trnbench.run.plan import plan
from trnbench.run.selection import Selection


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trnbench.bench(
        ["host_matmul", "stream_triad"],
        backend="host",
        axes=("host_matmul.size=96", "stream_triad.size=8KiB", "dtype=fp32"),
        scopes=("core",),
        sample_s=0.1,
        seed=3,
        store=tmp_path_factory.mktemp("store") / "r.db",
    )


def test_it_measures_this_machine_without_being_told_which(run: Run) -> None:
    assert run.grade is Grade.MEASURED
    assert set(run.systems) == {"host"}
    assert run.backend == "host"


def test_every_number_has_its_evidence(run: Run) -> None:
    assert run.measurements
    for each in run.measurements:
        # A busy machine may leave nothing known of a number; it may not leave one without its evidence.
        assert each.status in (Status.OK, Status.INCONCLUSIVE, Status.SUSPECT), each.reason_text
        assert len(each.processes) == 3
        assert each.evidence.grade is Grade.MEASURED
        assert each.evidence.by == run.environment["cpu_model"]
        assert each.clock == "host"
        assert each.samples
        assert each.stop_reason
        assert set(each.detail["proof"]) == {"device", "completion", "output", "growth"}
        assert each.detail["data"]["kind"] == "uniform random"
        assert each.detail["settings"]["threads"] == 1
        assert each.detail["settings"]["blas"]
        assert "cold" in each.detail["timing"]["series"]


def test_the_run_tells_what_is_unknown(run: Run) -> None:
    assert "memory channels: the system does not tell them" in run.environment["unknown"]
    assert run.environment["clock_source"]


@pytest.mark.parts
def test_measured_and_emulated_are_graded_apart_in_one_report(run: Run, tmp_path: Path) -> None:
    emulated = trnbench.bench(["gemm_int8"], instances=["trn1.2xlarge"])
    path = trnbench.render([run, emulated], tmp_path / "both.html")
    page = path.read_text()
    assert "host_matmul" in page
    assert "gemm_int8" in page
    words = re.sub(r"<[^>]+>", " ", page).lower()
    assert "measured" in words
    assert "emulated" in words


def test_the_default_run_is_emulated_and_has_nothing_of_the_host() -> None:
    planned = plan(trnbench.load_registry())
    assert "host" not in planned.systems
    assert not {"host_matmul", "stream_triad", "pointer_chase"} & {each.key.kernel for each in planned.cases}


def test_a_kernel_of_the_host_is_planned_there_alone() -> None:
    registry = trnbench.load_registry()
    assert set(plan(registry, Selection(kernels=("stream_add",))).systems) == {"host"}
    on_host = plan(registry, Selection(instances=("host",), kinds=("numpy", "c")))
    assert all({"numpy", "c"} & set(each.kernel.implementations) for each in on_host.cases)


def test_without_a_compiler_the_case_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    registry = trnbench.load_registry()
    planned = plan(registry, Selection(kernels=("pointer_chase",), instances=("host",)))
    why = registry.backends["host"].unsupported(planned.cases[0], planned.systems["host"])
    assert why == "needs a C compiler (cc, gcc or clang), and none is on the PATH"


def test_another_system_than_linux_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    found = trnbench.load_registry().backends["host"].detect()
    assert found == Detection(
        available=False,
        why="darwin has no /proc/cpuinfo, so the processor cannot be identified",
        try_="run it on Linux",
    )


@pytest.mark.parts
def test_the_emulator_refuses_the_host_and_says_why() -> None:
    run = trnbench.bench(["stream_add"], instances=["host"], axes=["size=4KiB"])
    assert {each.status for each in run.measurements} == {Status.SKIPPED}
    assert run.measurements[0].reason_text == "host has no cost table, so no time follows for a core"
